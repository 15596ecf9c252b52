package te_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/texel-ml/texel/diag"
	"github.com/texel-ml/texel/schedule/te"
	"github.com/texel-ml/texel/tensor"
	"github.com/texel-ml/texel/tir"
	"github.com/texel-ml/texel/tir/tirtext"
)

// before is the index of an earlier row.
func before(t tir.Expr, steps int) tir.Expr { return tir.Minus(t, tir.I(steps)) }

// cumulative is the running sum of the rows of an m × n matrix.
func cumulative(m, n int) (x, s *te.Tensor) {
	x, s = te.Placeholder("X", tensor.Float32, m, n), te.Placeholder("S", tensor.Float32, m, n)
	first := te.Compute("S_init", tensor.Float32, dims(1, n), func(i []tir.Expr) tir.Expr { return x.At(tir.I(0), i[1]) })
	next := te.Compute("S_update", tensor.Float32, dims(m, n), func(i []tir.Expr) tir.Expr {
		return tir.Plus(s.At(before(i[0], 1), i[1]), x.At(i...))
	})
	te.Scan("sum", te.Recurrence{State: s, Init: first, Update: next})
	return x, s
}

// TestScanForm shows the block form of a recurrence with a stage in the step.
func TestScanForm(t *testing.T) {
	x, s := te.Placeholder("X", tensor.Float32, 5, 4), te.Placeholder("S", tensor.Float32, 5, 4)
	first := te.Compute("S_init", tensor.Float32, dims(1, 4), func(i []tir.Expr) tir.Expr { return x.At(tir.I(0), i[1]) })
	twice := te.Compute("twice", tensor.Float32, dims(5, 4), func(i []tir.Expr) tir.Expr {
		return tir.Times(s.At(before(i[0], 1), i[1]), f32(2))
	})
	next := te.Compute("S_update", tensor.Float32, dims(5, 4), func(i []tir.Expr) tir.Expr { return tir.Plus(twice.At(i...), x.At(i...)) })
	te.Scan("cell", te.Recurrence{State: s, Init: first, Update: next})
	require.Equal(t, `func f(X: float32[5, 4], out S: float32[5, 4]):
  block root():
    for i0 in range(0, 1):
      for i1 in range(0, 4):
        block S_init(i0@2: spatial[1] = i0, i1@2: spatial[4] = i1):
          reads X[0 +: 1, i1@2 +: 1]
          writes S[i0@2 +: 1, i1@2 +: 1]
          S[i0@2, i1@2] = X[0, i1@2]
    for t in range(0, 4):
      block cell(t@2: ordered[4] = t):
        reads S[t@2 +: 1, 0 +: 4], X[t@2 + 1 +: 1, 0 +: 4]
        writes S[t@2 + 1 +: 1, 0 +: 4]
        alloc twice: float32[4] scratch
        for i1@3 in range(0, 4):
          block twice(i1@4: spatial[4] = i1@3):
            reads S[t@2 +: 1, i1@4 +: 1]
            writes twice[i1@4 +: 1]
            twice[i1@4] = S[t@2, i1@4] * 2.0
        for i1@5 in range(0, 4):
          block S_update(i1@6: spatial[4] = i1@5):
            reads twice[i1@6 +: 1], X[t@2 + 1 +: 1, i1@6 +: 1]
            writes S[t@2 + 1 +: 1, i1@6 +: 1]
            S[t@2 + 1, i1@6] = twice[i1@6] + X[t@2 + 1, i1@6]
`, tirtext.Print(te.Func("f", []*te.Tensor{x}, []*te.Tensor{s}, twice)))
}

// TestScanOfSeveralRows is the Fibonacci series modulo 1000: two rows come first, two are read. The state has no axis
// but the time.
func TestScanOfSeveralRows(t *testing.T) {
	s := te.Placeholder("S", tensor.Int32, 12)
	first := te.Compute("first", tensor.Int32, dims(2), func(i []tir.Expr) tir.Expr { return tir.As(tensor.Int32, i[0]) })
	next := te.Compute("next", tensor.Int32, dims(12), func(i []tir.Expr) tir.Expr { return tir.Plus(s.At(before(i[0], 1)), s.At(before(i[0], 2))) })
	te.Scan("fibonacci", te.Recurrence{State: s, Init: first, Update: next})
	out := run(t, te.Func("f", nil, []*te.Tensor{s}))
	require.Equal(t, []int64{0, 1, 1, 2, 3, 5, 8, 13, 21, 34, 55, 89}, out[0].I)
}

// TestScanWithOneRow has no step: all rows come first.
func TestScanWithOneRow(t *testing.T) {
	x, s := cumulative(1, 3)
	out := run(t, te.Func("f", []*te.Tensor{x}, []*te.Tensor{s}), floats(tensor.Float32, dims(1, 3), 1, 2, 3))
	require.Equal(t, []float64{1, 2, 3}, out[1].F)
}

// TestScanReadsEarlierRows has reads that are rows before under their condition only, or by their clamp.
func TestScanReadsEarlierRows(t *testing.T) {
	const m = 6
	x, s := te.Placeholder("X", tensor.Float32, m), te.Placeholder("S", tensor.Float32, m)
	first := te.Compute("first", tensor.Float32, dims(1), func(i []tir.Expr) tir.Expr { return x.At(i[0]) })
	next := te.Compute("next", tensor.Float32, dims(m), func(i []tir.Expr) tir.Expr {
		third := tir.Sel(tir.Ge(i[0], tir.I(3)), s.At(before(i[0], 3)), f32(0))
		early := s.At(tir.Maximum(before(i[0], 4), tir.I(0)))
		return tir.Plus(tir.Plus(third, early), tir.Plus(s.At(before(i[0], 1)), x.At(i[0])))
	})
	te.Scan("s", te.Recurrence{State: s, Init: first, Update: next})
	in := []float64{1, 2, 3, 4, 5, 6}
	want := make([]float64, m)
	for n := range want {
		want[n] = in[n]
		if n > 0 {
			want[n] += want[max(n-4, 0)] + want[n-1]
		}
		if n >= 3 {
			want[n] += want[n-3]
		}
	}
	out := run(t, te.Func("f", []*te.Tensor{x}, []*te.Tensor{s}), floats(tensor.Float32, dims(m), in...))
	require.Equal(t, want, out[1].F)
}

// TestScanWithReductions is a recurrent layer, h[t] = tanh(W·h[t-1] + X[t]), whose first row is a reduction too, and whose
// result later stages read.
func TestScanWithReductions(t *testing.T) {
	const steps, n = 7, 5
	x, w := te.Placeholder("X", tensor.Float64, steps, n), te.Placeholder("W", tensor.Float64, n, n)
	h := te.Placeholder("H", tensor.Float64, steps, n)
	first := te.Sum("first", tensor.Float64, dims(1, n), dims(n), func(i, r []tir.Expr) tir.Expr { return tir.Times(w.At(i[1], r[0]), x.At(i[0], r[0])) })
	dot := te.Sum("dot", tensor.Float64, dims(steps, n), dims(n), func(i, r []tir.Expr) tir.Expr {
		return tir.Times(w.At(i[1], r[0]), h.At(before(i[0], 1), r[0]))
	})
	next := te.Compute("next", tensor.Float64, dims(steps, n), func(i []tir.Expr) tir.Expr { return tir.Tanh.Of(tir.Plus(dot.At(i...), x.At(i...))) })
	te.Scan("rnn", te.Recurrence{State: h, Init: first, Update: next})
	last := te.Sum("last", tensor.Float64, nil, dims(n), func(_, r []tir.Expr) tir.Expr { return h.At(tir.I(steps-1), r[0]) })
	out := run(t, te.Func("f", []*te.Tensor{x, w}, []*te.Tensor{last}, h, dot))
	xs, ws := out[0].F, out[1].F
	row := make([]float64, n)
	for step := range steps {
		next := make([]float64, n)
		for i := range next {
			for k := range n {
				if step == 0 {
					next[i] += ws[i*n+k] * xs[k]
				} else {
					next[i] += ws[i*n+k] * row[k]
				}
			}
			if step > 0 {
				next[i] = math.Tanh(next[i] + xs[step*n+i])
			}
		}
		row = next
	}
	sum := 0.0
	for _, v := range row {
		sum += v
	}
	require.InDelta(t, sum, out[2].F[0], 1e-12)
}

// TestScanOfManyResults updates both states by one stage: a running maximum and how often it was reached, and reads the
// update of one for an output.
func TestScanOfManyResults(t *testing.T) {
	const m = 9
	x := te.Placeholder("X", tensor.Int32, m)
	top, count := te.Placeholder("top", tensor.Int32, m), te.Placeholder("count", tensor.Int32, m)
	one := func(i []tir.Expr) tir.Expr { return tir.Const(tensor.Int32, 1) }
	next := te.ComputeMany("next", types(tensor.Int32, tensor.Int32), dims(m), func(i []tir.Expr) []tir.Expr {
		last, here := top.At(before(i[0], 1)), x.At(i[0])
		n := count.At(before(i[0], 1))
		return list{tir.Maximum(last, here), tir.Sel(tir.Gt(here, last), one(i), tir.Sel(tir.Eq(here, last), tir.Plus(n, one(i)), n))}
	})
	te.Scan("runs",
		te.Recurrence{State: top, Init: te.Compute("a", tensor.Int32, dims(1), func(i []tir.Expr) tir.Expr { return x.At(i[0]) }), Update: next[0]},
		te.Recurrence{State: count, Init: te.Compute("b", tensor.Int32, dims(1), one), Update: next[1]})
	w := tensor.NewWide(tensor.Int32, dims(m))
	copy(w.I, []int64{3, 1, 3, 5, 4, 5, 5, 2, 6})
	out := run(t, te.Func("f", []*te.Tensor{x}, []*te.Tensor{top, count}), w.Narrow())
	require.Equal(t, []int64{3, 3, 3, 5, 5, 5, 5, 5, 6}, out[1].I)
	require.Equal(t, []int64{1, 1, 2, 1, 1, 2, 3, 3, 1}, out[2].I)
}

// TestScanStatesReadEachOther has a second state that reads the row of the first which the same step makes, an input as
// first rows, and a later scan over the result.
func TestScanStatesReadEachOther(t *testing.T) {
	const m, n = 5, 3
	x, begin := te.Placeholder("X", tensor.Float32, m, n), te.Placeholder("begin", tensor.Float32, 1, n)
	a, b := te.Placeholder("A", tensor.Float32, m, n), te.Placeholder("B", tensor.Float32, m, n)
	nextA := te.Compute("nextA", tensor.Float32, dims(m, n), func(i []tir.Expr) tir.Expr { return tir.Plus(a.At(before(i[0], 1), i[1]), x.At(i...)) })
	nextB := te.Compute("nextB", tensor.Float32, dims(m, n), func(i []tir.Expr) tir.Expr {
		return tir.Minus(nextA.At(i...), b.At(before(i[0], 1), tir.Minus(tir.I(n-1), i[1])))
	})
	te.Scan("ab", te.Recurrence{State: a, Init: begin, Update: nextA}, te.Recurrence{State: b, Init: begin, Update: nextB})
	c := te.Placeholder("C", tensor.Float32, m, n)
	first := te.Compute("C_init", tensor.Float32, dims(1, n), func(i []tir.Expr) tir.Expr { return b.At(i...) })
	nextC := te.Compute("C_update", tensor.Float32, dims(m, n), func(i []tir.Expr) tir.Expr { return tir.Plus(c.At(before(i[0], 1), i[1]), b.At(i...)) })
	te.Scan("c", te.Recurrence{State: c, Init: first, Update: nextC})
	out := run(t, te.Func("f", []*te.Tensor{x, begin}, []*te.Tensor{c}, a, b))
	var as, bs, cs [m][n]float64
	for step := range m {
		for i := range n {
			if step == 0 {
				as[0][i], bs[0][i], cs[0][i] = out[1].F[i], out[1].F[i], out[1].F[i]
				continue
			}
			as[step][i] = as[step-1][i] + out[0].F[step*n+i]
			bs[step][i] = as[step][i] - bs[step-1][n-1-i]
			cs[step][i] = cs[step-1][i] + bs[step][i]
			require.Equal(t, cs[step][i], out[2].F[step*n+i])
		}
	}
}

func TestScanRefuses(t *testing.T) {
	const m, n = 5, 3
	x := te.Placeholder("X", tensor.Float32, m, n)
	state := func() *te.Tensor { return te.Placeholder("S", tensor.Float32, m, n) }
	first := func(rows int) *te.Tensor {
		return te.Compute("first", tensor.Float32, dims(rows, n), func(i []tir.Expr) tir.Expr { return x.At(i...) })
	}
	over := func(name string, s *te.Tensor, back int) *te.Tensor {
		return te.Compute(name, tensor.Float32, dims(m, n), func(i []tir.Expr) tir.Expr { return s.At(before(i[0], back), i[1]) })
	}
	scan := func(s, first, next *te.Tensor) *te.Tensor {
		te.Scan("scan", te.Recurrence{State: s, Init: first, Update: next})
		return s
	}
	build := func(outs []*te.Tensor, stages ...*te.Tensor) error {
		_, err := te.Build("f", []*te.Tensor{x}, outs, stages...)
		require.ErrorIs(t, err, diag.ErrInvalid)
		return err
	}
	s := state()
	same := over("next", s, 0)
	require.EqualError(t, build([]*te.Tensor{scan(s, first(1), same)}), "te: next: it reads a row of S that may not be computed yet; wanted one from 0 to the time - 1")
	s = state()
	require.EqualError(t, build([]*te.Tensor{scan(s, first(1), over("next", s, 2))}), "te: next: it reads a row of S that may not be computed yet; wanted one from 0 to the time - 1")
	s = state()
	require.EqualError(t, build([]*te.Tensor{scan(s, first(0), over("next", s, 1))}), "te: scan: its inits give 0 of 5 rows; wanted 1 at least")
	s = state()
	require.EqualError(t, build([]*te.Tensor{scan(s, first(6), over("next", s, 1))}), "te: scan: its inits give 6 of 5 rows; wanted 1 at least")
	s = state()
	flat := te.Compute("flat", tensor.Float32, dims(m), func(i []tir.Expr) tir.Expr { return f32(0) })
	require.EqualError(t, build([]*te.Tensor{scan(s, first(1), flat)}), "te: scan: the update of S is float32 [5], wanted float32 [5 3]")
	s = state()
	require.EqualError(t, build([]*te.Tensor{scan(s, flat, over("next", s, 1))}), "te: scan: the first rows of S are float32 [5], wanted float32 [5 3]")
	s = state()
	require.EqualError(t, build([]*te.Tensor{scan(s, first(1), x)}), "te: scan: the update of S is no stage of expressions")
	s = state()
	require.EqualError(t, build([]*te.Tensor{scan(s, nil, over("next", s, 1))}), "te: scan: a state, its first rows or its update is missing")
	scalar := te.Placeholder("Z", tensor.Float32)
	require.EqualError(t, build([]*te.Tensor{scan(scalar, scalar, scalar)}), "te: scan: state Z has no axis for the time")

	s = state()
	mid := over("mid", s, 1)
	ahead := te.Compute("next", tensor.Float32, dims(m, n), func(i []tir.Expr) tir.Expr { return mid.At(before(i[0], 1), i[1]) })
	require.EqualError(t, build([]*te.Tensor{scan(s, first(1), ahead)}, mid), "te: next: it reads mid at another time than its own")

	s = state()
	mid = over("mid", s, 1)
	next := te.Compute("next", tensor.Float32, dims(m, n), func(i []tir.Expr) tir.Expr { return mid.At(i...) })
	scan(s, first(1), next)
	require.EqualError(t, build([]*te.Tensor{s, mid}), "te: mid: it is computed within the steps of scan and is an output; wanted the state")
	outside := te.Compute("outside", tensor.Float32, dims(m, n), func(i []tir.Expr) tir.Expr { return mid.At(i...) })
	require.EqualError(t, build([]*te.Tensor{s, outside}, mid), "te: mid: it is computed within the steps of scan and is read by outside; wanted the state")
	require.EqualError(t, build([]*te.Tensor{outside, s}, mid), "te: mid: it is computed within the steps of scan, and something outside reads it; wanted the state")

	s = state()
	short := te.Compute("short", tensor.Float32, dims(n), func(i []tir.Expr) tir.Expr { return s.At(tir.I(0), i[0]) })
	next = te.Compute("next", tensor.Float32, dims(m, n), func(i []tir.Expr) tir.Expr { return short.At(i[1]) })
	require.EqualError(t, build([]*te.Tensor{scan(s, first(1), next)}, short), "te: short: it is computed within the steps of scan and has shape [3]; wanted a first axis of 5")

	s = state()
	statement := te.Placeholder("statement", tensor.Float32, m, n)
	te.Extern([]*te.Tensor{statement}, []*te.Tensor{s}, te.Statement{Body: &tir.Evaluate{Value: tir.I(0)}})
	next = te.Compute("next", tensor.Float32, dims(m, n), func(i []tir.Expr) tir.Expr { return statement.At(i...) })
	require.EqualError(t, build([]*te.Tensor{scan(s, first(1), next)}, statement), "te: statement: it needs a state of scan within a step; wanted a stage of expressions there")

	a, b := state(), state()
	shared := over("next", a, 1)
	te.Scan("scan", te.Recurrence{State: a, Init: first(1), Update: shared}, te.Recurrence{State: b, Init: first(1), Update: shared})
	require.EqualError(t, build([]*te.Tensor{a}), "te: scan: next is the update of two states")

	s = state()
	first1 := first(1)
	scan(s, first1, over("next", s, 1))
	used := te.Compute("used", tensor.Float32, dims(1, n), func(i []tir.Expr) tir.Expr { return first1.At(i...) })
	f, err := te.Build("f", []*te.Tensor{x}, []*te.Tensor{s, used}, first1)
	require.NoError(t, err, "the first rows are a stage of their own when another reads them")
	run(t, f)
}
