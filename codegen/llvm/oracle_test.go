package llvm

import (
	"context"
	"fmt"
	"math"
	"math/rand"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/texel-ml/texel/tensor"
	"github.com/texel-ml/texel/tir"
	"github.com/texel-ml/texel/tir/interp"
)

// dtypes are the element types that kernels compute in.
func dtypes() []tensor.DType {
	var list []tensor.DType
	for _, d := range tensor.DTypes() {
		if !d.IsStorage() {
			list = append(list, d)
		}
	}
	return list
}

// machines runs f natively and on emulated AArch64 processors with and without arithmetic in float16.
func machines(t *testing.T, kernels []*tir.Kernel, f func(t *testing.T, m machine)) {
	t.Run("native", func(t *testing.T) { f(t, newNative(t, hostTarget(t), kernels)) })
	t.Run("avx2", func(t *testing.T) { f(t, newNative(t, avx2(t), kernels)) })
	t.Run("aarch64", func(t *testing.T) { f(t, newEmulated(t, bigCore(t), kernels)) })
	t.Run("old aarch64", func(t *testing.T) { f(t, newEmulated(t, oldCore(t), kernels)) })
}

// samples fills a tensor with numbers that tell operations apart: ends of the range, halves, and for floats the special
// ones.
func samples(r *rand.Rand, d tensor.DType, n int) *tensor.Tensor {
	w := tensor.NewWide(d, tensor.Shape{n})
	special := []float64{0, math.Copysign(0, -1), 1, -1, 0.5, -0.5, 1.5, 2.5, -2.5, math.Inf(1), math.Inf(-1), math.NaN(), 1e30, -1e30, 1e5, 65504,
		65520, 3e9, -3e9, 2147483647, 127.5, 255.5, -128.5, 1e-8, 6e-8, 1e-40, 0.1, 1.00390625, 1.01171875, 1e19, -1e19, 9.3e18}
	for i := range n {
		switch {
		case d.IsFloat() && i < len(special):
			w.F[i] = special[i]
		case d.IsFloat():
			w.F[i] = r.NormFloat64() * 100
		case d == tensor.Bool:
			w.I[i] = int64(r.Intn(2))
		default:
			lo, hi := tensor.IntRange(d)
			switch i % 5 {
			case 0:
				w.I[i] = lo
			case 1:
				w.I[i] = hi
			case 2:
				w.I[i] = tensor.Wrap(d, int64(r.Uint64()))
			default:
				w.I[i] = tensor.Wrap(d, int64(r.Intn(20)-10))
			}
		}
	}
	if d.IsFloat() {
		r.Shuffle(n, func(i, j int) { w.F[i], w.F[j] = w.F[j], w.F[i] })
	} else {
		r.Shuffle(n, func(i, j int) { w.I[i], w.I[j] = w.I[j], w.I[i] })
	}
	return w.Narrow()
}

func clone(list []*tensor.Tensor) []*tensor.Tensor {
	out := make([]*tensor.Tensor, len(list))
	for i, x := range list {
		out[i] = &tensor.Tensor{DType: x.DType, Shape: x.Shape, Data: append([]byte(nil), x.Data...)}
	}
	return out
}

// requireSame compares tensors exactly; NaN equals NaN.
func requireSame(t testing.TB, want, got *tensor.Tensor, format string, args ...any) {
	a, b := tensor.Widen(want), tensor.Widen(got)
	for i := range a.F {
		if a.F[i] != b.F[i] && !(math.IsNaN(a.F[i]) && math.IsNaN(b.F[i])) {
			require.Failf(t, "values differ", "%s: element %d is %v, wanted %v", fmt.Sprintf(format, args...), i, b.F[i], a.F[i])
		}
	}
	for i := range a.I {
		if a.I[i] != b.I[i] {
			require.Failf(t, "values differ", "%s: element %d is %d, wanted %d", fmt.Sprintf(format, args...), i, b.I[i], a.I[i])
		}
	}
}

// check runs a kernel on a machine and in the interpreter and compares all parameters.
func check(t testing.TB, m machine, index int, k *tir.Kernel, args []*tensor.Tensor, scalars []int64, describe string) {
	want, got := clone(args), clone(args)
	bound := map[*tir.Var]int64{}
	for i, v := range k.Scalars {
		bound[v] = scalars[i]
	}
	require.NoError(t, interp.RunKernel(context.Background(), k, want, interp.Options{Scalars: bound}), describe)
	m.run(t, index, got, scalars)
	for i := range want {
		requireSame(t, want[i], got[i], "kernel %s, parameter %s\n%s", k.Name, k.Params[i].Name, describe)
	}
}

const opElems = 96

// operators is a kernel with one output for each binary operator of a type.
func operators(d tensor.DType, lanes int) *tir.Kernel {
	a, b := buffer("a", d, opElems), buffer("b", d, opElems)
	k := &tir.Kernel{Name: fmt.Sprintf("ops_%v_%d", d, lanes), Grid: tir.NewVar("g"), GridExtent: opElems / lanes}
	i := tir.Expr(k.Grid)
	if lanes > 1 {
		i = span1(tir.Times(k.Grid, tir.I(lanes)), lanes)
	}
	k.Params = []*tir.Buffer{a, b}
	var body []tir.Stmt
	for op := tir.Add; op <= tir.Or; op++ {
		bitwise := op >= tir.BitAnd && op <= tir.Shr
		if d.IsFloat() && bitwise || op.IsLogical() && d != tensor.Bool || d == tensor.Bool && op < tir.BitAnd || d == tensor.Bool && (op == tir.Shl || op == tir.Shr) {
			continue
		}
		if d.IsFloat() && op == tir.FloorDiv { // the quotient is rounded before the floor
			continue
		}
		x, y := tir.Expr(at(a, i)), tir.Expr(at(b, i))
		if !d.IsFloat() && (op == tir.Div || op == tir.Mod || op == tir.FloorDiv || op == tir.FloorMod) {
			one := tir.Expr(&tir.Int{DType: d, Value: 1}) // the interpreter refuses zero
			zero := tir.Expr(&tir.Int{DType: d, Value: 0})
			if lanes > 1 {
				one, zero = &tir.Broadcast{A: one, Lanes: lanes}, &tir.Broadcast{A: zero, Lanes: lanes}
			}
			y = &tir.Select{Cond: &tir.Binary{Op: tir.EQ, A: y, B: zero}, Then: one, Else: y}
		}
		e := &tir.Binary{Op: op, A: x, B: y}
		out := buffer("out"+fmt.Sprint(int(op)), e.Type().DType, opElems)
		k.Params = append(k.Params, out)
		k.Outputs++
		body = append(body, put(out, e, i))
	}
	k.Body = &tir.Seq{Stmts: body}
	return k
}

func TestOperators(t *testing.T) {
	var kernels []*tir.Kernel
	for _, d := range dtypes() {
		kernels = append(kernels, operators(d, 1), operators(d, 8), operators(d, 32))
	}
	machines(t, kernels, func(t *testing.T, m machine) {
		r := rand.New(rand.NewSource(7))
		for i, k := range kernels {
			args := make([]*tensor.Tensor, len(k.Params))
			for j, p := range k.Params {
				args[j] = samples(r, p.DType, opElems)
			}
			check(t, m, i, k, args, nil, "")
		}
	})
}

// conversions is a kernel with one output for each type converted to.
func conversions(d tensor.DType, lanes int) *tir.Kernel {
	a := buffer("a", d, opElems)
	k := &tir.Kernel{Name: fmt.Sprintf("cast_%v_%d", d, lanes), Grid: tir.NewVar("g"), GridExtent: opElems / lanes, Params: []*tir.Buffer{a}}
	i := tir.Expr(k.Grid)
	if lanes > 1 {
		i = span1(tir.Times(k.Grid, tir.I(lanes)), lanes)
	}
	var body []tir.Stmt
	for _, to := range dtypes() {
		out := buffer("out_"+to.String(), to, opElems)
		k.Params = append(k.Params, out)
		k.Outputs++
		body = append(body, put(out, &tir.Cast{DType: to, A: at(a, i)}, i))
	}
	k.Body = &tir.Seq{Stmts: body}
	return k
}

func TestConversions(t *testing.T) {
	var kernels []*tir.Kernel
	for _, d := range dtypes() {
		kernels = append(kernels, conversions(d, 1), conversions(d, 8), conversions(d, 32))
	}
	machines(t, kernels, func(t *testing.T, m machine) {
		r := rand.New(rand.NewSource(8))
		for i, k := range kernels {
			args := make([]*tensor.Tensor, len(k.Params))
			for j, p := range k.Params {
				args[j] = samples(r, p.DType, opElems)
			}
			check(t, m, i, k, args, nil, "")
		}
	})
}

// TestIntrinsicsOfAllTypes runs what is exact in every type that has it.
func TestIntrinsicsOfAllTypes(t *testing.T) {
	var kernels []*tir.Kernel
	for _, d := range dtypes() {
		for _, lanes := range []int{1, 8} {
			k := &tir.Kernel{Name: fmt.Sprintf("fn_%v_%d", d, lanes), Grid: tir.NewVar("g"), GridExtent: opElems / lanes}
			i := tir.Expr(k.Grid)
			if lanes > 1 {
				i = span1(tir.Times(k.Grid, tir.I(lanes)), lanes)
			}
			var ins []tir.Expr
			for j := range 3 {
				k.Params = append(k.Params, buffer(fmt.Sprint("x", j), d, opElems))
				ins = append(ins, at(k.Params[j], i))
			}
			var body []tir.Stmt
			for _, f := range tir.Intrinsics() {
				switch f {
				case tir.Floor, tir.Ceil, tir.Round, tir.Trunc, tir.Abs, tir.IsNaN, tir.IsInf:
				case tir.Bits, tir.FromBits:
					if f.Result(d) == tensor.Invalid {
						continue
					}
				case tir.Sqrt, tir.FloatMod:
					if !d.IsFloat() {
						continue
					}
				case tir.FMA:
					if d == tensor.Float16 || d == tensor.BFloat16 { // through float32: rounded twice
						continue
					}
				case tir.BitNot, tir.Pow:
					if d.IsFloat() || f == tir.Pow && d == tensor.Uint64 {
						continue
					}
				default:
					continue
				}
				if d == tensor.Bool && f != tir.BitNot {
					continue
				}
				e := &tir.Call{Fn: f, Args: ins[:operandsOf(f)]}
				out := buffer("out_"+f.String(), e.Type().DType, opElems)
				k.Params = append(k.Params, out)
				k.Outputs++
				body = append(body, put(out, e, i))
			}
			k.Body = &tir.Seq{Stmts: body}
			kernels = append(kernels, k)
		}
	}
	machines(t, kernels, func(t *testing.T, m machine) {
		r := rand.New(rand.NewSource(9))
		for i, k := range kernels {
			args := make([]*tensor.Tensor, len(k.Params))
			for j, p := range k.Params {
				args[j] = samples(r, p.DType, opElems)
			}
			check(t, m, i, k, args, nil, "")
		}
	})
}
