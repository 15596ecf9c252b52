package transform_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/texel-ml/texel/tir"
	"github.com/texel-ml/texel/tir/tirtext"
	"github.com/texel-ml/texel/tir/transform"
)

const tiled = `func f(A: float32[64, 32], out C: float32[64, 32]):
  block root():
    alloc S: float32[64, 32] shared
    for by in range(0, 8, kind=bound, thread="blockIdx.x"):
      for ty in range(0, 8, kind=bound, thread="threadIdx.x"):
        for x in range(0, 32):
          block S(u: spatial[64] = by * 8 + ty, v: spatial[32] = x):
            reads A[u +: 1, v +: 1]
            writes S[u +: 1, v +: 1]
            S[u, v] = A[u, v]
      for tx in range(0, 8, kind=bound, thread="threadIdx.x"):
        for c in range(0, 4, kind=vectorized):
          for y in range(0, 8, kind=unrolled):
            block C(w: spatial[64] = by * 8 + y, z: spatial[32] = tx * 4 + c):
              reads S[w +: 1, z +: 1]
              writes C[w +: 1, z +: 1]
              C[w, z] = S[w, z] * 2.0
`

// On a GPU bound loops stay, shared memory is one tile, and the rest is as on a CPU.
func TestGPU(t *testing.T) {
	f, err := tirtext.Parse("tiled", tiled)
	require.NoError(t, err)
	require.NoError(t, sameResults(f, transform.Options{Device: transform.GPU}))
	kernels, between, err := transform.Lower(f, transform.Options{Device: transform.GPU})
	require.NoError(t, err)
	require.Empty(t, between)
	require.Len(t, kernels, 1)
	text := tirtext.PrintKernel(kernels[0])
	require.Contains(t, text, `  for by in range(0, 8, kind=bound, thread="blockIdx.x"):
    for ty in range(0, 8, kind=bound, thread="threadIdx.x"):
      allocate S: float32[8, 32] shared:
        for x in range(0, 32):
          S[ty, x] = A[by * 8 + ty, x]
        barrier shared
        C[by * 8, ramp(ty * 4, 1, 4)] = S[0, ramp(ty * 4, 1, 4)] * broadcast(2.0, 4)
`)
	require.Nil(t, kernels[0].Grid)
	_, _, err = transform.Lower(f, transform.Options{})
	require.EqualError(t, err, "lift-grid: by: the loop is bound to blockIdx.x, and a processor has no work-items; wanted a parallel loop")
}

func TestStopAfterAndObserve(t *testing.T) {
	f, err := tirtext.Parse("tiled", tiled)
	require.NoError(t, err)
	var seen []string
	opts := transform.Options{Device: transform.GPU, StopAfter: "lift-grid", Observe: func(pass string, kernels []*tir.Kernel) {
		require.Len(t, kernels, 1)
		seen = append(seen, pass)
	}}
	_, _, err = transform.Lower(f, opts)
	require.NoError(t, err)
	require.Equal(t, []string{"lower-blocks", "simplify", "compact-buffers", "expand-vthreads", "double-buffer", "insert-barriers", "lift-threads", "lift-grid"}, seen)
	_, _, err = transform.Lower(f, transform.Options{StopAfter: "lift"})
	require.ErrorContains(t, err, "lower: lift: no pass has this name; the passes are 00_lower-blocks")
	_, _, err = transform.Lower(f, transform.Options{StartAt: "lift-grid"})
	require.EqualError(t, err, `lower: f: the passes of a function cannot start at "lift-grid"; wanted kernels`)
}
