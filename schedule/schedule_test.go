package schedule_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/texel-ml/texel/diag"
	"github.com/texel-ml/texel/schedule"
	"github.com/texel-ml/texel/schedule/te"
	"github.com/texel-ml/texel/tensor"
	"github.com/texel-ml/texel/tir"
	"github.com/texel-ml/texel/tir/tirtext"
)

// reluOfProduct is R[i, j] = max(Σ_k A[i, k]·B[k, j], 0) over a 10 × 24 result.
func reluOfProduct() *tir.Func {
	a, b := te.Placeholder("A", tensor.Float32, 10, 32), te.Placeholder("B", tensor.Float32, 32, 24)
	c := te.Sum("C", tensor.Float32, []int{10, 24}, []int{32}, func(i, r []tir.Expr) tir.Expr {
		return tir.Times(a.At(i[0], r[0]), b.At(r[0], i[1]))
	})
	relu := te.Compute("R", tensor.Float32, []int{10, 24}, func(i []tir.Expr) tir.Expr {
		return tir.Bin(tir.Max, c.At(i...), tir.Const(tensor.Float32, 0))
	})
	return te.Func("product", []*te.Tensor{a, b}, []*te.Tensor{relu}, c)
}

// TestBadTraces has texts that are no traces.
func TestBadTraces(t *testing.T) {
	for _, text := range []string{"split", "l1 = split(", "x1 = get_block(\"C\")", "b0 = get_block(\"C\")\nl0 = get_loops(b7)",
		"b0 = get_block(C)", "b0 = get_block(\"C\", 1)", "l0 = get_block(\"C\")", "b0 = get_block(\"C\")\nl0, v0, l2 = get_loops(b0)", "b0 = get_block(\"C\")\nl0, l1, l2 = get_loops(b0)\nvectorize(l1, l0)", "b0 = nonsense(\"C\")", "b0, b1 = get_block(\"C\")", "b0 = get_block(\"C\")\nl0, l1, l2 = get_loops(b0)\nl3 = split(l0, [x])"} {
		trace, err := schedule.ParseTrace("trace", text)
		if err == nil {
			err = schedule.New(reluOfProduct()).Replay(trace)
		}
		require.ErrorIs(t, err, diag.ErrInvalid, text)
	}
}

// TestLargeNumber has a number that fits no operand.
func TestLargeNumber(t *testing.T) {
	_, err := schedule.ParseTrace("t", "b0 = get_block(\"C\")\nl1, l2 = split(l0, [0, 99999999999999])")
	require.EqualError(t, err, "t:2:24: trace: the number 99999999999999 is outside -2147483648 to 2147483647")
}

// TestIllegalProgram has a function that is refused before any step.
func TestIllegalProgram(t *testing.T) {
	f, err := tirtext.Parse("f", "func f(A: float32[4], out C: float32[4]):\n  for i in range(0, 4):\n    C[i] = A[i]\n")
	require.NoError(t, err)
	s := schedule.New(f)
	require.ErrorIs(t, s.Err(), diag.ErrInvalid)
	require.ErrorContains(t, s.Replay(&schedule.Trace{}), "verify: f: the body is no root block")
	require.Same(t, f, s.Func())
}

// TestRefusedFactors has numbers of factors that no list should be made of.
func TestRefusedFactors(t *testing.T) {
	for _, step := range []string{"sample_perfect_tile(l0, %s, 16)", "sample_partitioned_tile(l0, %s, 0, 2)"} {
		for _, n := range []string{"-1", "0", "17", "2000000000"} {
			trace, err := schedule.ParseTrace("t", "b0 = get_block(\"C\")\nl0, l1, l2 = get_loops(b0)\nv0 = "+strings.Replace(step, "%s", n, 1))
			require.NoError(t, err)
			require.ErrorContains(t, schedule.New(reluOfProduct()).Replay(trace), "wants "+n+" factors; wanted 1 to 16")
		}
	}
}

// TestAttempt shows that a refused attempt leaves nothing behind.
func TestAttempt(t *testing.T) {
	s := schedule.New(reluOfProduct())
	before := tirtext.Print(s.Func())
	require.False(t, s.Attempt(func() {
		s.Split(s.Loops(s.Block("R")).At(1), 0, 16)
		s.ComputeInline(s.Block("C"))
	}))
	require.NoError(t, s.Err())
	require.Empty(t, s.Trace().Steps)
	require.Equal(t, before, tirtext.Print(s.Func()))
	require.True(t, s.Attempt(func() { s.Fuse(s.Loops(s.Block("R")).Slice()...) }))
	require.NotEqual(t, before, tirtext.Print(s.Func()))
}
