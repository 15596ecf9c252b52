package interp

import (
	"math/rand/v2"

	"github.com/texel-ml/texel/tensor"
	"github.com/texel-ml/texel/tir"
)

// Draw says how arguments of a function are drawn. The zero value draws floats of a normal distribution.
type Draw struct {
	// Seed starts the generator: the same seed draws the same numbers.
	Seed uint64
	// Whole makes floats whole numbers from -3 to 3, so that sums of them are exact in every order.
	Whole bool
	// Code is what the arguments are for: inputs of integers whose elements it uses as an index, for a bound or in the
	// condition of a while are 0, because hardly any other number would be legal.
	Code []tir.Stmt
	// Output is what the elements of outputs are; true for a bool where it is not 0.
	Output int64
}

// Tensors returns tensors for parameters, of which the last are outputs. Integers are from -3 to 3, those without a sign
// from 0 to 3.
func (d Draw) Tensors(params []*tir.Buffer, outputs int) []*tensor.Tensor {
	steering := steeringBuffers(d.Code)
	args := make([]*tensor.Tensor, len(params))
	for n, b := range params {
		w := tensor.NewWide(b.DType, b.Shape)
		switch {
		case n >= len(params)-outputs:
			d.fill(w)
		case !steering[b]:
			d.draw(w, rand.New(rand.NewPCG(d.Seed, uint64(n))))
		}
		args[n] = w.Narrow()
	}
	return args
}

func (d Draw) fill(w *tensor.Wide) {
	out := d.Output
	if w.DType == tensor.Bool {
		out = min(out, 1)
	}
	for i := range w.F {
		w.F[i] = float64(out)
	}
	for i := range w.I {
		w.I[i] = out
	}
}

func (d Draw) draw(w *tensor.Wide, r *rand.Rand) {
	for i := range w.F {
		if d.Whole {
			w.F[i] = float64(r.IntN(7) - 3)
		} else {
			w.F[i] = r.NormFloat64()
		}
	}
	for i := range w.I {
		switch w.DType.Kind() {
		case tensor.Signed:
			w.I[i] = int64(r.IntN(7) - 3)
		case tensor.Boolean:
			w.I[i] = int64(r.IntN(2))
		default:
			w.I[i] = int64(r.IntN(4))
		}
	}
}

// steeringBuffers are those whose elements decide where or how often something is done.
func steeringBuffers(code []tir.Stmt) map[*tir.Buffer]bool {
	found := map[*tir.Buffer]bool{}
	mark := func(list ...tir.Expr) {
		for _, e := range list {
			tir.Walk(e, func(n any) bool {
				if l, ok := n.(*tir.Load); ok && l.Buffer.DType.IsInt() {
					found[l.Buffer] = true
				}
				return true
			})
		}
	}
	for _, body := range code {
		tir.Walk(body, func(n any) bool {
			switch n := n.(type) {
			case *tir.Load:
				mark(n.Indices...)
			case *tir.Store:
				mark(n.Indices...)
			case *tir.For:
				mark(n.Min, n.Extent)
			case *tir.While:
				mark(n.Cond)
			case *tir.BlockRealize:
				mark(n.Values...)
			case *tir.Let:
				if n.Var.DType.IsInt() {
					mark(n.Value)
				}
			}
			return true
		})
	}
	return found
}
