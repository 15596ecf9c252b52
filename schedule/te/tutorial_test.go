package te_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/texel-ml/texel/internal/numtest"
	"github.com/texel-ml/texel/schedule"
	"github.com/texel-ml/texel/schedule/te"
	"github.com/texel-ml/texel/tensor"
	"github.com/texel-ml/texel/tir"
)

// The examples of the pages of TVM's documentation on tensor expressions, each compared with plain loops.

// tensors is short for a list of stages.
type tensors = []*te.Tensor

// requireClose wants numbers within what sums of n products may be off.
func requireClose(t testing.TB, want []float64, got *tensor.Wide, n int) {
	t.Helper()
	r := numtest.Relative(got.DType, n, 4)
	require.NoError(t, numtest.Compare(got.Narrow(), floats(got.DType, got.Shape, want...), numtest.Tolerance{Rel: r, Max: r}))
}

// Working with operators: C = A + B, split and in parallel.
func TestTutorialVectorAdd(t *testing.T) {
	const n = 37
	a, b := te.Placeholder("A", tensor.Float32, n), te.Placeholder("B", tensor.Float32, n)
	c := te.Compute("C", tensor.Float32, a.Shape(), func(i []tir.Expr) tir.Expr { return tir.Plus(a.At(i...), b.At(i...)) })
	s := schedule.New(te.Func("add", tensors{a, b}, tensors{c}))
	parts := s.Split(s.Loops(s.Block("C")).At(0), 0, 8)
	s.Parallel(parts[0])
	s.Vectorize(parts[1])
	require.NoError(t, s.Err())
	out := run(t, s.Func())
	for i := range n {
		require.Equal(t, out[0].F[i]+out[1].F[i], out[2].F[i])
	}
}

// Working with operators: matrix multiplication, blocked, with the loops permuted, vectors, the packed operand, a write
// cache and the blocks in parallel.
func TestTutorialBlockedMatmul(t *testing.T) {
	const m, n, k, tile = 24, 40, 16, 8
	a, b := te.Placeholder("A", tensor.Float32, m, k), te.Placeholder("B", tensor.Float32, k, n)
	packed := te.Compute("packed", tensor.Float32, dims(n/tile, k, tile), func(i []tir.Expr) tir.Expr {
		return b.At(i[1], tir.Plus(tir.Times(i[0], tir.I(tile)), i[2]))
	})
	c := te.Sum("C", tensor.Float32, dims(m, n), dims(k), func(i, r []tir.Expr) tir.Expr {
		return tir.Times(a.At(i[0], r[0]), packed.At(tir.Bin(tir.FloorDiv, i[1], tir.I(tile)), r[0], tir.Bin(tir.FloorMod, i[1], tir.I(tile))))
	})
	s := schedule.New(te.Func("matmul", tensors{a, b}, tensors{c}, packed))
	l := s.Loops(s.Block("C")).Want(3)
	x, y, depth := s.Split(l[0], 0, tile), s.Split(l[1], 0, tile), s.Split(l[2], 0, 4)
	s.Reorder(x[0], y[0], depth[0], x[1], depth[1], y[1])
	s.DecomposeReduction(s.Block("C"), depth[0])
	s.Vectorize(y[1])
	s.Unroll(depth[1])
	s.Parallel(x[0])
	s.Vectorize(s.Loops(s.Block("packed")).At(2))
	require.NoError(t, s.Err())
	out := run(t, s.Func())
	want := make([]float64, m*n)
	for i := range m {
		for j := range n {
			for p := range k {
				want[i*n+j] += out[0].F[i*k+p] * out[1].F[p*n+j]
			}
		}
	}
	requireClose(t, want, out[2], k)
}

// Reduction: the sum of rows, its reduction split, then factored so that lanes hold partial sums.
func TestTutorialReduction(t *testing.T) {
	const n, m = 6, 48
	a := te.Placeholder("A", tensor.Float32, n, m)
	b := te.Sum("B", tensor.Float32, dims(n), dims(m), func(i, r []tir.Expr) tir.Expr { return a.At(i[0], r[0]) })
	f := te.Func("rows", tensors{a}, tensors{b})
	s := schedule.New(f)
	s.Split(s.Loops(s.Block("B")).At(1), 0, 16)
	require.NoError(t, s.Err())
	split := run(t, s.Func())

	s = schedule.New(f)
	ki := s.Split(s.Loops(s.Block("B")).At(1), 0, 16)[1]
	s.RFactor(ki, 1)
	require.NoError(t, s.Err())
	factored := run(t, s.Func())
	want := make([]float64, n)
	for i := range n {
		for k := range m {
			want[i] += split[0].F[i*m+k]
		}
	}
	requireClose(t, want, split[1], m)
	requireClose(t, want, factored[1], m)
}

// Reduction: one element of a convolution is a reduction over two axes.
func TestTutorialConvolutionByReduction(t *testing.T) {
	const n, m, k = 9, 7, 3
	in, kernel := te.Placeholder("Input", tensor.Float32, n, m), te.Placeholder("Filter", tensor.Float32, k, k)
	out := te.Sum("Output", tensor.Float32, dims(n-2, m-2), dims(k, k), func(i, r []tir.Expr) tir.Expr {
		return tir.Times(in.At(tir.Plus(i[0], r[0]), tir.Plus(i[1], r[1])), kernel.At(r[0], r[1]))
	})
	got := run(t, te.Func("f", tensors{in, kernel}, tensors{out}))
	want := make([]float64, (n-2)*(m-2))
	for i := range n - 2 {
		for j := range m - 2 {
			for p := range k {
				for q := range k {
					want[i*(m-2)+j] += got[0].F[(i+p)*m+j+q] * got[1].F[p*k+q]
				}
			}
		}
	}
	requireClose(t, want, got[2], k*k)
}

// Reduction: a commutative reducer of one's own, here a product.
func TestTutorialCommutativeReducer(t *testing.T) {
	const n, m = 5, 4
	product := te.CommReducer{
		Identity: func(ds []tensor.DType) list { return list{tir.Const(ds[0], 1)} },
		Combine:  func(x, y list) list { return list{tir.Times(x[0], y[0])} },
	}
	a := te.Placeholder("A", tensor.Float32, n, m)
	b := product.Reduce("B", types(tensor.Float32), dims(n), dims(m), func(i, r list) list { return list{a.At(i[0], r[0])} })
	out := run(t, te.Func("f", tensors{a}, b))
	want := make([]float64, n)
	for i := range n {
		want[i] = 1
		for k := range m {
			want[i] *= out[0].F[i*m+k]
		}
	}
	requireClose(t, want, out[1], m)
}

// Intrinsics and math functions: exponentials, and functions made of others.
func TestTutorialMathFunctions(t *testing.T) {
	const n = 40
	a := te.Placeholder("A", tensor.Float32, n)
	fns := []struct {
		of   func(x tir.Expr) tir.Expr
		want func(x float64) float64
	}{
		{func(x tir.Expr) tir.Expr { return tir.Exp.Of(x) }, math.Exp},
		{func(x tir.Expr) tir.Expr { return tir.Log.Of(tir.Abs.Of(x)) }, func(x float64) float64 { return math.Log(math.Abs(x)) }},
		{func(x tir.Expr) tir.Expr { return tir.Pow.Of(tir.Abs.Of(x), f32(1.5)) }, func(x float64) float64 { return math.Pow(math.Abs(x), 1.5) }},
		{func(x tir.Expr) tir.Expr { return tir.Times(x, tir.Sigmoid.Of(x)) }, func(x float64) float64 { return x / (1 + math.Exp(-x)) }},
		{func(x tir.Expr) tir.Expr {
			return tir.Over(tir.Sin.Of(x), tir.Plus(tir.Sqrt.Of(tir.Abs.Of(x)), f32(1)))
		},
			func(x float64) float64 { return math.Sin(x) / (math.Sqrt(math.Abs(x)) + 1) }},
		{func(x tir.Expr) tir.Expr { return tir.Maximum(tir.Tanh.Of(x), tir.Floor.Of(x)) }, func(x float64) float64 { return math.Max(math.Tanh(x), math.Floor(x)) }},
	}
	var outs tensors
	for _, f := range fns {
		outs = append(outs, te.Compute("B", tensor.Float32, a.Shape(), func(i []tir.Expr) tir.Expr { return f.of(a.At(i...)) }))
	}
	out := run(t, te.Func("f", tensors{a}, outs))
	for n, f := range fns {
		want := make([]float64, len(out[0].F))
		for i, x := range out[0].F {
			want[i] = f.want(x)
		}
		requireClose(t, want, out[1+n], 1)
	}
}

// Scan and recurrent kernel: the cumulative sum of rows.
func TestTutorialScan(t *testing.T) {
	const m, n = 7, 6
	x, s := cumulative(m, n)
	out := run(t, te.Func("f", tensors{x}, tensors{s}))
	sum := make([]float64, n)
	for row := range m {
		for i := range n {
			sum[i] += out[0].F[row*n+i]
			require.Equal(t, sum[i], out[1].F[row*n+i])
		}
	}
}

// Scan and recurrent kernel: several stages in a cell.
func TestTutorialMultiStageScan(t *testing.T) {
	const m, n = 6, 5
	x, s := te.Placeholder("X", tensor.Float32, m, n), te.Placeholder("S", tensor.Float32, m, n)
	first := te.Compute("init", tensor.Float32, dims(1, n), func(i []tir.Expr) tir.Expr { return x.At(tir.I(0), i[1]) })
	s1 := te.Compute("s1", tensor.Float32, dims(m, n), func(i []tir.Expr) tir.Expr { return tir.Times(s.At(before(i[0], 1), i[1]), f32(2)) })
	s2 := te.Compute("s2", tensor.Float32, dims(m, n), func(i []tir.Expr) tir.Expr { return tir.Plus(s1.At(i...), x.At(i...)) })
	te.Scan("cell", te.Recurrence{State: s, Init: first, Update: s2})
	out := run(t, te.Func("f", tensors{x}, tensors{s}, s1))
	row := make([]float64, n)
	for t0 := range m {
		for i := range n {
			row[i] = 2*row[i] + out[0].F[t0*n+i]
			require.Equal(t, row[i], out[1].F[t0*n+i])
		}
	}
}

// Scan and recurrent kernel: two states of different shapes.
func TestTutorialMultipleStates(t *testing.T) {
	const m, n, l = 5, 4, 3
	x := te.Placeholder("X", tensor.Float32, m, n)
	s1, s2 := te.Placeholder("S1", tensor.Float32, m, n), te.Placeholder("S2", tensor.Float32, m, l)
	init1 := te.Compute("init1", tensor.Float32, dims(1, n), func(i []tir.Expr) tir.Expr { return x.At(tir.I(0), i[1]) })
	init2 := te.Compute("init2", tensor.Float32, dims(1, l), func(i []tir.Expr) tir.Expr { return f32(0) })
	update1 := te.Compute("update1", tensor.Float32, dims(m, n), func(i []tir.Expr) tir.Expr { return tir.Plus(s1.At(before(i[0], 1), i[1]), x.At(i...)) })
	update2 := te.Compute("update2", tensor.Float32, dims(m, l), func(i []tir.Expr) tir.Expr {
		return tir.Plus(s2.At(before(i[0], 1), i[1]), s1.At(before(i[0], 1), tir.I(0)))
	})
	te.Scan("scan", te.Recurrence{State: s1, Init: init1, Update: update1}, te.Recurrence{State: s2, Init: init2, Update: update2})
	out := run(t, te.Func("f", tensors{x}, tensors{s1, s2}))
	a, b := make([]float64, n), make([]float64, l)
	for t0 := range m {
		for i := range b {
			b[i] += a[0]
			require.Equal(t, b[i], out[2].F[t0*l+i])
		}
		for i := range a {
			a[i] += out[0].F[t0*n+i]
			require.Equal(t, a[i], out[1].F[t0*n+i])
		}
	}
}

// External tensor functions: a product written as a statement, and a stage that reads its result.
func TestTutorialExternalFunction(t *testing.T) {
	const n, l, m = 4, 5, 3
	a, b, bias := te.Placeholder("A", tensor.Float32, n, l), te.Placeholder("B", tensor.Float32, l, m), te.Placeholder("bias", tensor.Float32)
	c := te.Placeholder("C", tensor.Float32, n, m)
	i, j, k := tir.NewVar("i"), tir.NewVar("j"), tir.NewVar("k")
	loop := func(v *tir.Var, extent int, body ...tir.Stmt) tir.Stmt {
		return &tir.For{Var: v, Min: tir.I(0), Extent: tir.I(extent), Body: tir.Block1(body...)}
	}
	put := func(e tir.Expr) tir.Stmt { return &tir.Store{Buffer: c.Buffer, Indices: list{i, j}, Value: e} }
	te.Extern(tensors{c}, tensors{a, b}, te.Statement{
		Body: loop(i, n, loop(j, m, put(f32(0)), loop(k, l, put(tir.Plus(c.At(i, j), tir.Times(a.At(i, k), b.At(k, j))))))),
	})
	d := te.Compute("D", tensor.Float32, dims(n, m), func(i []tir.Expr) tir.Expr { return tir.Plus(c.At(i...), bias.At()) })
	require.True(t, c.IsExtern())
	require.Equal(t, tensors{a, b}, c.ExternInputs())
	out := run(t, te.Func("f", tensors{a, b, bias}, tensors{d}, c))
	want := make([]float64, n*m)
	for i := range n {
		for j := range m {
			for k := range l {
				want[i*m+j] += out[0].F[i*l+k] * out[1].F[k*m+j]
			}
			want[i*m+j] += out[2].F[0]
		}
	}
	requireClose(t, want, out[3], l)
}

// Compute and reduce with tuple inputs: a stage of two results.
func TestTutorialTupleInputs(t *testing.T) {
	const m, n = 4, 6
	a0, a1 := te.Placeholder("A0", tensor.Float32, m, n), te.Placeholder("A1", tensor.Int32, m, n)
	b := te.ComputeMany("B", types(tensor.Float32, tensor.Int32), dims(m, n), func(i []tir.Expr) []tir.Expr {
		return list{tir.Plus(a0.At(i...), f32(2)), tir.Times(a1.At(i...), tir.Const(tensor.Int32, 3))}
	})
	s := schedule.New(te.Func("f", tensors{a0, a1}, b))
	s.Vectorize(s.Split(s.Loops(s.Block("B")).At(1), 0, 4)[1])
	require.NoError(t, s.Err())
	out := run(t, s.Func())
	for i := range m * n {
		require.Equal(t, out[0].F[i]+2, out[2].F[i])
		require.Equal(t, out[1].I[i]*3, out[3].I[i])
	}
}

// Reduction with tuple inputs: argmax over pairs of a given index and a value, by a reducer of one's own.
func TestTutorialArgMax(t *testing.T) {
	const m, n = 6, 11
	idx, val := te.Placeholder("idx", tensor.Int32, m, n), te.Placeholder("val", tensor.Float32, m, n)
	argmax := te.CommReducer{
		Identity: func(ds []tensor.DType) list { return list{tir.Const(ds[0], -1), tir.Lowest(ds[1])} },
		Combine: func(x, y list) list {
			first := tir.Ge(x[1], y[1])
			return list{tir.Sel(first, x[0], y[0]), tir.Sel(first, x[1], y[1])}
		},
	}
	out := argmax.Reduce("T", types(tensor.Int32, tensor.Float32), dims(m), dims(n), func(i, r list) list {
		return list{idx.At(i[0], r[0]), val.At(i[0], r[0])}
	})
	p, v := te.ArgMax("P", tensor.Int32, tensor.Float32, dims(m), dims(n), func(i, r list) tir.Expr { return val.At(i[0], r[0]) })
	got := run(t, te.Func("f", tensors{idx, val}, append(out, p, v)))
	for i := range m {
		best := 0
		for k := range n {
			if got[1].F[i*n+k] > got[1].F[i*n+best] {
				best = k
			}
		}
		require.Equal(t, got[0].I[i*n+best], got[2].I[i])
		require.Equal(t, got[1].F[i*n+best], got[3].F[i])
		require.Equal(t, int64(best), got[4].I[i])
		require.Equal(t, got[1].F[i*n+best], got[5].F[i])
	}
}

// Schedule primitives on stages of several results: both stay together when the loops are shaped.
func TestTutorialTupleReduceInPlace(t *testing.T) {
	const m, n = 5, 8
	a := te.Placeholder("A", tensor.Float32, m, n)
	both := te.CommReducer{
		Identity: func(ds []tensor.DType) list { return list{tir.Const(ds[0], 0), tir.Lowest(ds[1])} },
		Combine:  func(x, y list) list { return list{tir.Plus(x[0], y[0]), tir.Maximum(x[1], y[1])} },
	}
	b := both.Reduce("B", types(tensor.Float32, tensor.Float32), dims(m), dims(n), func(i, r list) list {
		return list{a.At(i[0], r[0]), tir.Times(a.At(i[0], r[0]), a.At(i[0], r[0]))}
	})
	c := te.Compute("C", tensor.Float32, dims(m), func(i []tir.Expr) tir.Expr { return tir.Plus(b[0].At(i...), b[1].At(i...)) })
	s := schedule.New(te.Func("f", tensors{a}, tensors{c}, b...))
	l := s.Loops(s.Block("B")).Want(2)
	s.DecomposeReduction(s.Block("B"), l[1])
	s.Unroll(s.Split(l[1], 0, 4)[1])
	require.NoError(t, s.Err())
	out := run(t, s.Func())
	for i := range m {
		sum, most := 0.0, math.Inf(-1)
		for k := range n {
			v := out[0].F[i*n+k]
			sum, most = sum+v, math.Max(most, v*v)
		}
		require.Equal(t, sum+most, out[1].F[i])
	}
}

// Convolution with padding: the padded image is a stage, written in the layout that the loops like.
func TestTutorialConvolutionWithPadding(t *testing.T) {
	const size, in, out, batch, kernel, pad, stride = 7, 3, 4, 2, 3, 1, 2
	const outSize = (size-kernel+2*pad)/stride + 1
	a, w := te.Placeholder("A", tensor.Float32, size, size, in, batch), te.Placeholder("W", tensor.Float32, kernel, kernel, in, out)
	padded := te.Compute("Apad", tensor.Float32, dims(size+2*pad, size+2*pad, in, batch), func(i []tir.Expr) tir.Expr {
		y, x := tir.Minus(i[0], tir.I(pad)), tir.Minus(i[1], tir.I(pad))
		return tir.Sel(tir.All(tir.Within(y, 0, size), tir.Within(x, 0, size)), a.At(y, x, i[2], i[3]), f32(0))
	})
	b := te.Sum("B", tensor.Float32, dims(outSize, outSize, out, batch), dims(in, kernel, kernel), func(i, r []tir.Expr) tir.Expr {
		y, x := tir.Plus(tir.Times(i[0], tir.I(stride)), r[1]), tir.Plus(tir.Times(i[1], tir.I(stride)), r[2])
		return tir.Times(padded.At(y, x, r[0], i[3]), w.At(r[1], r[2], r[0], i[2]))
	})
	s := schedule.New(te.Func("conv", tensors{a, w}, tensors{b}, padded))
	s.ComputeInline(s.Block("Apad"))
	l := s.Loops(s.Block("B")).Want(7)
	s.Reorder(l[0], l[1], l[4], l[5], l[6], l[2], l[3])
	require.NoError(t, s.Err())
	got := run(t, s.Func())
	want := make([]float64, len(got[2].F))
	for y := range outSize {
		for x := range outSize {
			for f := range out {
				for n := range batch {
					sum := 0.0
					for ky := range kernel {
						for kx := range kernel {
							for c := range in {
								yy, xx := y*stride+ky-pad, x*stride+kx-pad
								if yy >= 0 && yy < size && xx >= 0 && xx < size {
									sum += got[0].F[((yy*size+xx)*in+c)*batch+n] * got[1].F[((ky*kernel+kx)*in+c)*out+f]
								}
							}
						}
					}
					want[((y*outSize+x)*out+f)*batch+n] = sum
				}
			}
		}
	}
	requireClose(t, want, got[2], in*kernel*kernel)
}
