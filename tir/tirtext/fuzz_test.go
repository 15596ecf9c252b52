package tirtext_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/texel-ml/texel/diag"
	"github.com/texel-ml/texel/tir"
	"github.com/texel-ml/texel/tir/tirtext"
)

// refused wants an error of a user's text, with its place.
func refused(t *testing.T, err error) {
	require.True(t, errors.Is(err, diag.ErrInvalid), "%v", err)
	var d *diag.Error
	require.True(t, errors.As(err, &d))
	require.Positive(t, d.Pos.Line)
	require.Positive(t, d.Pos.Col)
}

// Any text gives a tree that prints and parses again, or an error with its place; never a panic.
func FuzzParse(f *testing.F) {
	f.Add("func f(A: float32[4], out C: float32[4]):\n  for i in range(0, 4, kind=vectorized):\n    C[i] = A[i] * 2.0 + select(i < 2, 1.0, -inf)\n")
	f.Add("func f(out C: int8[2, 2]) attrs {\"a\": \"b\"}:\n  block root():\n    alloc T: int8[2] local\n    let x = 3 // 2:\n      C[0, x] = int8(x)\n")
	f.Add("func f(A: float32[4, 4] strides [8, 1], out C: float32[4] texture fold [] [] [], scalar n: int64):\n  block root():\n    for i in range(0, n, kind=bound, thread=\"blockIdx.x\"):\n" +
		"      block b(v: spatial[4] = i, r: reduce[4] = 3 - i) where i %% 2 == 0 and not i < 1:\n        reads A[v +: 1, 0 +: 4]\n        writes C[v +: 1]\n        init:\n          C[v] = 0.0\n        C[v] = max(C[v], A[v, r])\n")
	f.Add("func $\"for\"(out C: bool[]):\n  while false:\n    seq:\n      pass\n")
	f.Fuzz(func(t *testing.T, text string) {
		fn, err := tirtext.Parse("fuzz", text)
		if err != nil {
			refused(t, err)
			return
		}
		printed := tirtext.Print(fn)
		again, err := tirtext.Parse("fuzz", printed)
		require.NoError(t, err, printed)
		require.Equal(t, printed, tirtext.Print(again))
		require.True(t, tir.Isomorphic(fn, again), printed)
	})
}

// FuzzParseProgram is the same for kernels and what is between them.
func FuzzParseProgram(f *testing.F) {
	f.Add("program f(A: float32[64], out C: float32[64]) after \"simplify\"\nbetween T: float32[64]\n\nkernel f(A: float32[64], out T: float32[64]) grid g = 64:\n  T[g] = A[g] * 2.0\n\n" +
		"kernel f_1(T: float32[64], out C: float32[64]) grid g = 64 group 4 scratch 12:\n  C[ramp(g, 1, 4)] = broadcast(T[63 - g], 4)\n")
	f.Add("program f(out C: int8[2], scalar n: int64)\nkernel k(out C: int8[2], scalar n: int64):\n  allocate S: int8[2] shared attrs {\"double_buffer\": \"1\"}:\n    S[0] = int8(n)\n    barrier shared\n    C[0] = S[0]\n")
	f.Fuzz(func(t *testing.T, text string) {
		g, err := tirtext.ParseProgram("fuzz", text)
		if err != nil {
			refused(t, err)
			return
		}
		printed := tirtext.PrintProgram(g)
		again, err := tirtext.ParseProgram("fuzz", printed)
		require.NoError(t, err, printed)
		require.Equal(t, printed, tirtext.PrintProgram(again))
		require.True(t, tir.Isomorphic(g, again), printed)
	})
}
