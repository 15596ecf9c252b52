package transform_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/texel-ml/texel/diag"
	"github.com/texel-ml/texel/tensor"
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
	require.Contains(t, text, `for by in range(0, 8, kind=bound, thread="blockIdx.x"):
    allocate S: float32[8, 32] shared:
      for ty in range(0, 8, kind=bound, thread="threadIdx.x"):`)
	require.Contains(t, text, "C[by * 8 + 7, ramp(tx * 4, 1, 4)] = S[7, ramp(tx * 4, 1, 4)] * broadcast(2.0, 4)")
	require.Nil(t, kernels[0].Grid)
	_, _, err = transform.Lower(f, transform.Options{})
	require.EqualError(t, err, "check-lowered: f: loop by is still bound")
}

func TestStopAfterAndObserve(t *testing.T) {
	f, err := tirtext.Parse("tiled", tiled)
	require.NoError(t, err)
	var seen []string
	opts := transform.Options{StopAfter: "lift-grid", Observe: func(pass string, kernels []*tir.Kernel) {
		require.Len(t, kernels, 1)
		seen = append(seen, pass)
	}}
	_, _, err = transform.Lower(f, opts)
	require.NoError(t, err)
	require.Equal(t, []string{"lower-blocks", "simplify", "compact-buffers", "lift-grid"}, seen)
	_, _, err = transform.Lower(f, transform.Options{StopAfter: "lift"})
	require.EqualError(t, err, `lower: f: no pass is named "lift"`)
}

func TestCheckLowered(t *testing.T) {
	out := &tir.Buffer{Name: "C", DType: tensor.Float32, Shape: []int{8}, Scope: tir.Global}
	one := tir.Const(tensor.Float32, 1)
	i := tir.NewVar("i")
	store := func(v tir.Expr, idx tir.Expr) tir.Stmt {
		return &tir.Store{Buffer: out, Indices: []tir.Expr{idx}, Value: v}
	}
	loop := func(kind tir.LoopKind, thread string) tir.Stmt {
		return &tir.For{Var: i, Min: tir.I(0), Extent: tir.I(8), Kind: kind, Thread: thread, Body: store(one, i)}
	}
	vector := &tir.Broadcast{A: tir.I(0), Lanes: 4}
	global := &tir.Buffer{Name: "G", DType: tensor.Float32, Shape: []int{8}, Scope: tir.Global}
	for _, c := range []struct {
		body tir.Stmt
		gpu  bool
		want string
	}{
		{loop(tir.Serial, ""), false, ""},
		{loop(tir.Bound, "blockIdx.x"), true, ""},
		{loop(tir.Bound, "blockIdx.q"), true, `loop i is bound to "blockIdx.q", which is no grid axis`},
		{loop(tir.Vectorized, ""), false, "loop i is still vectorized"},
		{loop(tir.Parallel, ""), true, "loop i is still parallel"},
		{&tir.BlockRealize{Block: &tir.Block{}}, false, "a BlockRealize is left"},
		{store(one, i), false, "variable i is not in scope"},
		{store(&tir.Broadcast{A: one, Lanes: 4}, vector), false, "index 0 of a store to C is a vector, but not a ramp along the last axis longer than 1"},
		{&tir.If{Cond: &tir.Broadcast{A: tir.True, Lanes: 4}, Then: store(one, tir.I(0))}, false, "a condition is bool of 4 lanes, wanted bool"},
		{&tir.Allocate{Buffer: global, Body: store(one, tir.I(0))}, false, "allocation of G in scope global"},
		{nil, false, "a statement is missing"},
	} {
		opts := transform.Options{}
		if c.gpu {
			opts.Device = transform.GPU
		}
		err := transform.CheckLowered(&tir.Kernel{Name: "k", Params: []*tir.Buffer{out}, Outputs: 1, GridExtent: 1, Body: c.body}, opts)
		if c.want == "" {
			require.NoError(t, err)
			continue
		}
		require.EqualError(t, err, "check-lowered: k: "+c.want)
		require.True(t, errors.Is(err, diag.ErrInternal))
	}
}
