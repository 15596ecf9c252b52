package interp_test

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/texel-ml/texel/tensor"
	"github.com/texel-ml/texel/tir/interp"
	"github.com/texel-ml/texel/tir/tirtext"
)

const halo = `func halo(X: float32[10], out Y: float32[8]):
  block root():
    alloc T: float32[10] scratch
    for t in range(0, 2, kind=parallel):
      for a in range(0, 6):
        block T(i: spatial[10] = t * 4 + a):
          reads X[i +: 1]
          writes T[i +: 1]
          T[i] = X[i]
      for b in range(0, 4):
        block Y(j: spatial[8] = t * 4 + b):
          reads T[j +: 1], T[j + 2 +: 1]
          writes Y[j +: 1]
          Y[j] = T[j] + T[j + 2]
`

// TestPrivateOfAnIteration has tiles that run at the same time and make the rows between them twice: each has a buffer of
// its own. A tile that reads what another made finds nothing.
func TestPrivateOfAnIteration(t *testing.T) {
	run := func(text string) error {
		f, err := tirtext.Parse("halo", text)
		require.NoError(t, err)
		x, y := tensor.New(tensor.Float32, []int{10}), tensor.New(tensor.Float32, []int{8})
		return interp.Run(context.Background(), f, []*tensor.Tensor{x, y}, interp.Options{Races: true})
	}
	require.NoError(t, run(halo))
	require.ErrorContains(t, run(strings.Replace(halo, " scratch", "", 1)), "another iteration of a parallel loop", "global memory is one for all")
	short := strings.Replace(halo, "range(0, 6)", "range(0, 5)", 1)
	require.ErrorContains(t, run(short), "element [5] is read before it is written")
	late := strings.Replace(halo, "t * 4 + a)", "max(t * 4 + a, 2))", 1) // tile 0 leaves out what it reads; none but itself could have it
	require.ErrorContains(t, run(late), "element [0] is read before it is written")
	other := strings.Replace(halo, "t * 4 + a)", "select(t < 1, a, min(5 + a, 9)))", 1)
	require.ErrorContains(t, run(other), "element [4] is read before it is written") // which tile 0 made, for itself
}
