package tirtext_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/texel-ml/texel/diag"
	"github.com/texel-ml/texel/tir/tirtext"
)

func TestPlace(t *testing.T) {
	const text = `# a comment that says block C
func f(A: float32[4], out C: float32[4]):
  block root():
    alloc T: float32[4]
    for i in range(0, 4):
      block T(v: spatial[4] = i):
        reads A[v +: 1]
        writes T[v +: 1]
        T[v] = A[v]
    for i@2 in range(0, 4):
      for $"for" in range(0, 1):
        block f(w: spatial[4] = i@2):
          reads T[w +: 1]
          writes C[w +: 1]
          C[w] = T[w]
    for j in range(0, 1):
      block $"a block"(u: spatial[1] = j):
        writes C[u +: 1]
        C[u] = 1.0
`
	at := func(line, col int) diag.Pos { return diag.Pos{File: "t", Line: line, Col: col} }
	for name, want := range map[string]diag.Pos{
		"T": at(6, 13), "root": at(3, 9), "j": at(16, 9), "for": at(11, 11), "a block": at(17, 13),
		"f": at(12, 15), // the block, not the function
		"i": {},         // two loops
		"C": {}, "A": {}, "v": {}, "": {}, "range": {},
	} {
		require.Equal(t, want, tirtext.Place("t", text, name), name)
	}
	require.Equal(t, at(1, 6), tirtext.Place("t", "func g(out C: int8[1]):\n  C[0] = 1_int8\n", "g"))
	require.Equal(t, at(3, 8), tirtext.Place("t", "program p(out C: int8[1])\n\nkernel k(out C: int8[1]):\n  C[0] = 1_int8\n", "k"))
	require.Equal(t, at(1, 9), tirtext.Place("t", "program p(out C: int8[1])\n\nkernel k(out C: int8[1]):\n  C[0] = 1_int8\n", "p"))
	require.Zero(t, tirtext.Place("t", "func f(\x00", "f"))
	require.Zero(t, tirtext.Place("t", "", "f"))
}
