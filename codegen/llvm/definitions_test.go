package llvm

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/texel-ml/texel/internal/irgen"
	"github.com/texel-ml/texel/schedule"
	"github.com/texel-ml/texel/schedule/te"
	"github.com/texel-ml/texel/tensor"
	"github.com/texel-ml/texel/tir"
	"github.com/texel-ml/texel/tir/interp"
	"github.com/texel-ml/texel/tir/tirtext"
	"github.com/texel-ml/texel/tir/transform"
)

// program is a function, scheduled or not, with its kernels.
type program struct {
	f       *tir.Func
	kernels []*tir.Kernel
	first   int // of the kernels in the shared object
}

// programs lowers functions; kernels get names of their own.
func programs(t *testing.T, list []*tir.Func) (all []program, kernels []*tir.Kernel) {
	for n, f := range list {
		low, _, err := transform.Lower(f, transform.Options{})
		require.NoError(t, err, tirtext.Print(f))
		p := program{f, low, len(kernels)}
		for i, k := range low {
			k.Name = fmt.Sprintf("f%d_%d", n, i)
			kernels = append(kernels, k)
		}
		all = append(all, p)
	}
	return all, kernels
}

// requireRuns runs the kernels of a program in order and compares with the interpreter's run of the block form.
func (p program) requireRuns(t *testing.T, m machine, args []*tensor.Tensor, describe string) {
	want := clone(args)
	require.NoError(t, interp.Run(context.Background(), p.f, want, interp.Options{}), describe)
	buffers := map[*tir.Buffer]*tensor.Tensor{}
	for i, b := range p.f.Params {
		buffers[b] = clone(args)[i]
	}
	for i, k := range p.kernels {
		given := make([]*tensor.Tensor, len(k.Params))
		for n, b := range k.Params {
			if buffers[b] == nil {
				buffers[b] = tensor.New(b.DType, b.Shape)
			}
			given[n] = buffers[b]
		}
		m.run(t, p.first+i, given, nil)
	}
	for i, b := range p.f.Params {
		requireSame(t, want[i], buffers[b], "%s, parameter %s\n%s", describe, b.Name, tirtext.Print(p.f))
	}
}

// reductions are all kinds of reduction of a type, over the rows or the columns of a matrix, and a recurrence over each.
func reductionsOf(d tensor.DType) []*tir.Func {
	const n = 19
	type reducer func(name string, d tensor.DType, shape, extents []int, f func(i, r []tir.Expr) tir.Expr) *te.Tensor
	var list []*tir.Func
	for axis := range 2 {
		x := te.Placeholder("X", d, n, n)
		at := func(i, r []tir.Expr) tir.Expr {
			if axis == 0 {
				return x.At(r[0], i[0])
			}
			return x.At(i[0], r[0])
		}
		shape := []int{n}
		add := func(outs ...*te.Tensor) { list = append(list, te.Func("f", []*te.Tensor{x}, outs)) }
		for _, r := range []reducer{te.Sum, te.Prod, te.Max, te.Min} {
			add(r("Y", d, shape, shape, at))
			add(r("Y", d, shape, shape, at).Where(func(i, r []tir.Expr) tir.Expr { return tir.Le(r[0], i[0]) }))
		}
		p, v := te.ArgMax("Y", tensor.Int32, d, shape, shape, at)
		add(p, v)
		q, w := te.ArgMin("Y", tensor.Int64, d, shape, shape, at)
		add(q, w)
		add(maxAndCount(d, n, at)...)
		s := te.Placeholder("S", d, n, n)
		row := func(i []tir.Expr) tir.Expr { return at(i[1:], i[:1]) }
		first := te.Compute("first", d, []int{1, n}, row)
		next := te.Compute("next", d, []int{n, n}, func(i []tir.Expr) tir.Expr {
			return tir.Plus(s.At(tir.Minus(i[0], tir.I(1)), tir.Minus(tir.I(n-1), i[1])), row(i))
		})
		te.Scan("scan", te.Recurrence{State: s, Init: first, Update: next})
		add(s)
	}
	return list
}

// maxAndCount is the largest element and how often it occurs.
func maxAndCount(d tensor.DType, n int, at func(i, r []tir.Expr) tir.Expr) []*te.Tensor {
	zero, one := tir.Const(tensor.Int32, 0), tir.Const(tensor.Int32, 1)
	often := te.CommReducer{
		Identity: func([]tensor.DType) []tir.Expr { return []tir.Expr{tir.Lowest(d), zero} },
		Combine: func(x, y []tir.Expr) []tir.Expr {
			m := tir.Maximum(x[0], y[0])
			return []tir.Expr{m, tir.Plus(tir.Sel(tir.Eq(x[0], m), x[1], zero), tir.Sel(tir.Eq(y[0], m), y[1], zero))}
		},
	}
	return often.Reduce("Y", []tensor.DType{d, tensor.Int32}, []int{n}, []int{n}, func(i, r []tir.Expr) []tir.Expr {
		return []tir.Expr{at(i, r), one}
	})
}

// vectorized runs the reduction of a function for all its elements at once, the reduction outside.
func vectorized(t *testing.T, f *tir.Func) *tir.Func {
	s := schedule.New(f)
	l := s.Loops(s.Block("Y")).Want(2)
	s.Reorder(l[1], l[0])
	s.Vectorize(s.Split(l[0], 0, 8)[1])
	require.NoError(t, s.Err())
	return s.Func()
}

// TestReductionsAndRecurrences compares all kinds of reduction with the interpreter, one element after the other and
// eight at once.
func TestReductionsAndRecurrences(t *testing.T) {
	var list []*tir.Func
	for _, d := range []tensor.DType{tensor.Float32, tensor.Float16, tensor.Int32, tensor.Int8, tensor.Uint8} {
		for _, f := range reductionsOf(d) {
			list = append(list, f)
			if f.Root().Allocs == nil && len(f.Params) > 1 && f.Params[1].Name != "S" {
				list = append(list, vectorized(t, f))
			}
		}
	}
	all, kernels := programs(t, list)
	machines(t, kernels, func(t *testing.T, m machine) {
		for n, p := range all {
			for seed := range uint64(2) { // small numbers: ties, and sums that are exact
				p.requireRuns(t, m, irgen.Args(p.f, seed), fmt.Sprint("function ", n))
			}
		}
	})
}

// TestRandomDefinitions compares random functions, tuples and recurrences among them.
func TestRandomDefinitions(t *testing.T) {
	var list []*tir.Func
	for seed := range uint64(150) {
		list = append(list, irgen.Make(irgen.Seed(seed), irgen.Options{Tuples: true, Scans: true}))
	}
	all, kernels := programs(t, list)
	machines(t, kernels, func(t *testing.T, m machine) {
		for n, p := range all {
			p.requireRuns(t, m, irgen.Args(p.f, uint64(n)), fmt.Sprint("seed ", n))
		}
	})
}
