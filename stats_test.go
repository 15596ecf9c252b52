package texel

import (
	"context"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/texel-ml/texel/diag"
	"github.com/texel-ml/texel/target"
	"github.com/texel-ml/texel/tensor"
	"github.com/texel-ml/texel/tir"
	"github.com/texel-ml/texel/tir/interp"
	"github.com/texel-ml/texel/tir/tirtext"
)

func parsedFunc(t require.TestingT, text string) *tir.Func {
	f, err := tirtext.Parse("f", text)
	require.NoError(t, err)
	return f
}

const guarded = `func guarded(A: float32[10, 7], out C: float32[10]):
  block root():
    for io in range(0, 3):
      for ii in range(0, 4):
        for k in range(0, 7):
          block C(v: spatial[10] = io * 4 + ii, r: reduce[7] = k) where io * 4 + ii < 10:
            reads A[v +: 1, 0 +: 7]
            writes C[v +: 1]
            init:
              C[v] = A[v, 0] * 2.0
            C[v] = C[v] + A[v, r] * A[v, r]
`

func TestCountWork(t *testing.T) {
	w := CountWork(parsedFunc(t, guarded))
	require.Equal(t, LoopWork{Flops: 10*7*2 + 10, Steps: 3 + 3*4 + 3*4*7, Exact: true, Type: tensor.Float32, Reduction: 7}, w)

	for _, c := range []struct {
		text  string
		flops int64
		ints  int64
		exact bool
	}{
		{"kernel k(A: float32[8], out C: float32[8]) grid g = 2:\n  C[ramp(g * 4, 1, 4)] = fma(A[ramp(g * 4, 1, 4)], broadcast(2.0, 4), broadcast(1.0, 4))\n", 16, 0, true},
		{"kernel k(A: float64[8], out C: float64[8]):\n  for i in range(0, 8):\n    for j in range(0, i):\n      C[i] = C[i] / A[j]\n", 28, 0, true},
		{"kernel k(A: float32[8], out C: float32[8]):\n  for i in range(0, 8):\n    if i %% 3 == 1:\n      C[i] = A[i] - 1.0\n    else:\n      C[i] = exp(A[i]) * 2.0 + 1.0\n", 3 + 5*2, 0, true},
		{"kernel k(A: float32[8], I: int64[8], out C: float32[8]):\n  for i in range(0, 8):\n    if I[i] > 0:\n      C[i] = A[I[i] + 1] + 1.0\n", 8, 0, false},
		{"kernel k(I: int32[8], out C: int32[8]):\n  for i in range(0, 8):\n    C[i] = I[i] * I[7 - i] + 1_int32\n", 0, 16, true},
		{"kernel k(A: float32[8], out C: float32[8]):\n  for i in range(0, 8):\n    let n = i // 4:\n      if n < 1:\n        C[i] = select(i < 2, A[i] * 3.0 + 1.0, A[i])\n", 8, 0, true},
		{"kernel k(out C: float32[8]):\n  for i in range(0, 8):\n    C[i] = max(C[i], -C[i])\n", 0, 0, true},
	} {
		text := strings.ReplaceAll(c.text, "-C[i]", "0.0")
		k, err := tirtext.ParseKernel("k", text)
		require.NoError(t, err, text)
		w := CountKernelWork([]*tir.Kernel{k})
		require.Equal(t, []any{c.flops, c.ints, c.exact}, []any{w.Flops, w.IntOps, w.Exact}, text)
	}
	k, err := tirtext.ParseKernel("k", "kernel k(A: float64[8], out C: float64[8]):\n  C[0] = A[0] * A[1]\n")
	require.NoError(t, err)
	require.Equal(t, tensor.Float64, CountKernelWork([]*tir.Kernel{k}).Type)

	// Counts that no number holds, and loops that are not looked at one by one.
	huge := "for i in range(0, 2000000000):\n  for j in range(0, 2000000000):\n    for k in range(0, 2000000000):\n      C[0] = C[0] * 2.0\n"
	k, err = tirtext.ParseKernel("k", "kernel k(out C: float32[1]):\n"+indented(huge, 1))
	require.NoError(t, err)
	w = CountKernelWork([]*tir.Kernel{k})
	require.Equal(t, int64(math.MaxInt64), w.Flops)
	require.True(t, w.Exact)
	k, err = tirtext.ParseKernel("k", "kernel k(out C: float32[1]):\n"+indented("for i in range(0, 2000000000):\n  if i > 5:\n    C[0] = C[0] * 2.0\n", 1))
	require.NoError(t, err)
	w = CountKernelWork([]*tir.Kernel{k})
	require.Equal(t, int64(2000000000), w.Flops)
	require.False(t, w.Exact)
}

func indented(text string, levels int) string {
	var b strings.Builder
	for l := range strings.Lines(text) {
		b.WriteString(strings.Repeat("  ", levels) + l)
	}
	return b.String()
}

// TestCountWorkAgainstExecution counts by brute force: every instance adds one to a counter in the program itself.
func TestCountWorkAgainstExecution(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n, f := rapid.IntRange(1, 20).Draw(t, "n"), rapid.IntRange(1, 8).Draw(t, "f")
		below, mod := rapid.IntRange(-2, 22).Draw(t, "below"), rapid.IntRange(1, 5).Draw(t, "mod")
		i, j := tir.NewVar("i"), tir.NewVar("j")
		c := &tir.Buffer{Name: "C", DType: tensor.Float32, Shape: []int{1}, Scope: tir.Global}
		zero := []tir.Expr{tir.I(0)}
		one := &tir.Store{Buffer: c, Indices: zero, Value: tir.Plus(&tir.Load{Buffer: c, Indices: zero}, tir.Const(tensor.Float32, 1))}
		at := tir.Plus(tir.Times(i, tir.I(f)), j)
		body := tir.Stmt(&tir.If{Cond: tir.Bin(tir.And, tir.Lt(at, tir.I(below)), tir.Ne(tir.Bin(tir.FloorMod, at, tir.I(mod)), tir.I(0))), Then: one})
		body = &tir.For{Var: j, Min: tir.I(0), Extent: tir.Bin(tir.Min, tir.I(f), tir.Minus(tir.I(n), tir.Times(i, tir.I(f)))), Body: body}
		body = &tir.For{Var: i, Min: tir.I(0), Extent: tir.I((n + f - 1) / f), Body: body}
		k := &tir.Kernel{Name: "k", Params: []*tir.Buffer{c}, Outputs: 1, GridExtent: 1, Body: body}
		out := tensor.New(tensor.Float32, tensor.Shape{1})
		if err := InterpretProgram(context.Background(), KernelProgram(k), []*tensor.Tensor{out}, interp.Options{}); err != nil {
			t.Fatal(err)
		}
		w := CountKernelWork([]*tir.Kernel{k})
		if got := int64(tensor.View[float32](out)[0]); w.Flops != got || !w.Exact {
			t.Fatalf("counted %d (exact %v), ran %d:\n%s", w.Flops, w.Exact, got, tirtext.PrintKernel(k))
		}
	})
}

// TestBenchFindsWrongCode lets the code be that of another function.
func TestBenchFindsWrongCode(t *testing.T) {
	right := parsedFunc(t, guarded)
	wrong := parsedFunc(t, strings.Replace(guarded, "C[v] + A[v, r] * A[v, r]", "C[v] + A[v, r] * A[v, 0]", 1))
	b, err := Build(t.Context(), wrong, BuildOptions{})
	require.NoError(t, err)
	r, err := b.Bench(t.Context(), BenchOptions{Samples: 3})
	require.NoError(t, err)
	require.Equal(t, "the interpreter", r.Checked)
	b.source = right
	_, err = b.Bench(t.Context(), BenchOptions{Samples: 3})
	require.ErrorIs(t, err, diag.ErrNumeric)
	require.ErrorContains(t, err, "bench: C: the result differs from that of the interpreter")
}

func TestRandomTensorsSteerNothing(t *testing.T) {
	f := parsedFunc(t, `func f(A: float32[4], I: int32[4], U: uint8[4], B: bool[4], out C: float32[4], out D: int32[4]):
  block root():
    for i in range(0, 4):
      if B[i]:
        C[i] = A[int64(I[i])]
      D[i] = int32(U[i])
`)
	args, err := RandomTensors(1, f.Params, f.Outputs, f.Body)
	require.NoError(t, err)
	require.Equal(t, []int32{0, 0, 0, 0}, tensor.View[int32](args[1]))
	require.NotEqual(t, []float32{0, 0, 0, 0}, tensor.View[float32](args[0]))
	require.NotEqual(t, []uint8{0, 0, 0, 0}, tensor.View[uint8](args[2]))
	for _, v := range tensor.View[uint8](args[2]) {
		require.Less(t, v, uint8(8))
	}
	other, err := RandomTensors(2, f.Params, f.Outputs, f.Body)
	require.NoError(t, err)
	require.NotEqual(t, args[0], other[0])
	_, err = RandomTensors(1, []*tir.Buffer{{Name: "X", DType: tensor.Int8, Shape: []int{1 << 20, 1 << 20}}}, 0)
	require.ErrorIs(t, err, diag.ErrUnsupported)
}

// TestPeakIsThatOfTheUnits compares the measured peak with what the record's units do at the clock of the same moment. A core
// that the table of cores does not know may have twice as many.
func TestPeakIsThatOfTheUnits(t *testing.T) {
	host, err := target.Host()
	require.NoError(t, err)
	for _, d := range []tensor.DType{tensor.Float32, tensor.Float64} {
		p, err := NewPeak(t.Context(), "host", d, 1, "")
		require.NoError(t, err)
		ghz := coreClock()
		g, err := p.Measure(t.Context(), 20*time.Millisecond)
		require.NoError(t, err)
		require.NoError(t, p.Close())
		ghz = max(ghz, coreClock())
		require.Greater(t, ghz, 0.3)
		require.Less(t, ghz, 10.0)
		units := host.FlopsPerCycle(d.Bits()) * ghz
		require.Greater(t, g, units/3, "far from what the units do")
		require.Less(t, g, units*2.2, "more than the units do: the kernel is not what it says")
	}
}
