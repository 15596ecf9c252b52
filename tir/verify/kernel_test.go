package verify_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/texel-ml/texel/diag"
	"github.com/texel-ml/texel/tensor"
	"github.com/texel-ml/texel/tir"
	"github.com/texel-ml/texel/tir/tirtext"
	"github.com/texel-ml/texel/tir/verify"
)

// row returns the row behind the first pass of a name.
func row(t *testing.T, name string) verify.Stage {
	for _, s := range verify.Stages() {
		if s.After == name {
			return s
		}
	}
	t.Fatalf("no row %s", name)
	return verify.Stage{}
}

const grouped = `kernel k(A: float32[8, 32], out C: float32[8, 32]):
  for b in range(0, 8, kind=bound, thread="blockIdx.x"):
    for t in range(0, 32, kind=bound, thread="threadIdx.x"):
      allocate S: float32[32] shared:
        for k in range(0, 2):
          S[t] = A[b, t]
          barrier shared
          C[b, t] = S[31 - t]
          barrier shared
`

// Each edit of a legal kernel makes it illegal behind lift-threads on a GPU.
func TestKernelOfGroups(t *testing.T) {
	check := func(text string, s verify.Stage, on verify.On) error {
		k, err := tirtext.ParseKernel("k", text)
		require.NoError(t, err, text)
		return verify.Kernel(k, s, on)
	}
	lifted := row(t, "lift-threads")
	require.NoError(t, check(grouped, lifted, verify.GPU))
	require.NoError(t, check(grouped, verify.Final(), verify.GPU))
	for _, c := range []struct{ from, to, want string }{
		{"range(0, 2)", "range(0, 2 - t // 31)", "a barrier stands in a loop whose bounds that work-items may decide differently"},
		{"range(0, 2)", "range(0, int64(A[b, 0]))", ""},
		{"range(0, 2)", "range(0, int64(S[0]))", "a barrier stands in a loop whose bounds that work-items may decide differently"},
		{"range(0, 2)", "range(t, 2)", "a barrier stands in a loop whose bounds that work-items may decide differently"},
		{"range(0, 2)", "range(0, 2, kind=vectorized)", "a barrier stands in a vectorized loop that work-items may decide differently"},
		{"          barrier shared\n          C", "          if t < 31:\n            barrier shared\n          C", "a barrier stands in a condition that work-items may decide differently"},
		{"          barrier shared\n          C", "          if b < 7 and k < 1:\n            barrier shared\n          C", ""},
		{"          barrier shared\n          C", "          let x = t // 32:\n            if x < 1:\n              barrier shared\n          C", "a barrier stands in a condition that work-items may decide differently"},
		{"          barrier shared\n          C", "          while S[0] < 1.0:\n            barrier shared\n          C", "a barrier stands in a while loop that work-items may decide differently"},
		{"barrier shared\n          C", "barrier local\n          C", "a barrier of scope local, wanted shared or global"},
		{"S: float32[32] shared", "S: float32[32]", "allocation of S in scope global"},
		{"S: float32[32] shared", "S: float32[32] shared attrs {\"double_buffer\": \"1\"}", "the allocation of S still asks for a double buffer"},
		{"S: float32[32] shared", "S: float32[32] strides [0] shared", "strides [0] of buffer S of shape (32,) put two elements in one place"},
		{"for k in range(0, 2)", "for k in range(0, 2, kind=bound, thread=\"blockIdx.y\")", "loop k is bound to blockIdx.y and is not outermost, or a second one"},
		{"for t in range(0, 32, kind=bound, thread=\"threadIdx.x\")", "for t in range(0, 32, kind=bound, thread=\"blockIdx.x\")",
			"loop t inside b is bound to blockIdx.x too, with another extent or a body that depends on both"},
		{"for t in range(0, 32, kind=bound, thread=\"threadIdx.x\")", "for t in range(0, 32, kind=bound, thread=\"vthread\")", "loop t is still bound"},
		{"for t in range(0, 32, kind=bound, thread=\"threadIdx.x\")", "for t in range(0, 32, kind=bound, thread=\"threadIdx.w\")", `loop t is bound to "threadIdx.w", which is no grid axis`},
		{"for b in range(0, 8", "for b in range(0, int64(A[0, 0])", "loop b is bound to blockIdx.x and has no constant, positive extent"},
		{"S[t] = A[b, t]", "A[b, t] = 0.0", "input A is written"},
	} {
		text := strings.Replace(grouped, c.from, c.to, 1)
		require.NotEqual(t, grouped, text)
		err := check(text, lifted, verify.GPU)
		if c.want == "" {
			require.NoError(t, err, text)
			continue
		}
		require.EqualError(t, err, "verify: k: behind lift-threads: "+c.want, text)
		require.True(t, errors.Is(err, diag.ErrInternal))
	}
	require.EqualError(t, check(grouped, row(t, "double-buffer"), verify.GPU), "verify: k: behind double-buffer: there is a barrier")
	require.EqualError(t, check(grouped, lifted, verify.CPU), "verify: k: behind lift-threads: there is a barrier")
	require.EqualError(t, check(grouped, verify.Final(), verify.CPU), "verify: k: behind size-scratch: loop b is still bound")
	siblings := "kernel k(out C: float32[8]):\n  for t in range(0, 8, kind=bound, thread=\"threadIdx.x\"):\n    C[t] = 1.0\n  for u in range(0, 4, kind=bound, thread=\"threadIdx.x\"):\n    C[u] = 2.0\n"
	require.NoError(t, check(siblings, row(t, "insert-barriers"), verify.GPU))
	require.EqualError(t, check(siblings, lifted, verify.GPU), "verify: k: behind lift-threads: loop t is bound to threadIdx.x and is not outermost, or a second one")
}

// What each column of the table says is refused where it says so.
func TestRows(t *testing.T) {
	const head = "kernel k(A: float32[8], out C: float32[8])"
	for _, c := range []struct {
		text    string
		allowed func(verify.Stage) verify.On
	}{
		{head + ":\n  for i in range(0, 8, kind=parallel):\n    C[i] = A[i]\n", func(s verify.Stage) verify.On { return s.Parallel }},
		{head + ":\n  for i in range(0, 8, kind=vectorized):\n    C[i] = A[i]\n", func(s verify.Stage) verify.On { return s.Vectorized }},
		{head + ":\n  for i in range(0, 8, kind=unrolled):\n    C[i] = A[i]\n", func(s verify.Stage) verify.On { return s.Unrolled }},
		{head + ":\n  for i in range(0, 8, kind=bound, thread=\"vthread\"):\n    C[i] = A[i]\n", func(s verify.Stage) verify.On { return s.Vthread }},
		{head + ":\n  for i in range(0, 8, kind=bound, thread=\"threadIdx.x\"):\n    C[i] = A[i]\n", func(s verify.Stage) verify.On { return s.Bound }},
		{head + ":\n  C[0] = A[0]\n  for i in range(0, 8, kind=bound, thread=\"threadIdx.x\"):\n    C[i] = A[i]\n", func(s verify.Stage) verify.On { return s.Nested }},
		{head + ":\n  allocate T: float32[1] local attrs {\"double_buffer\": \"1\"}:\n    C[0] = A[0]\n", func(s verify.Stage) verify.On { return s.Halves }},
		{head + ":\n  C[0] = A[0]\n  barrier shared\n", func(s verify.Stage) verify.On { return s.Barriers }},
		{head + " grid g = 8:\n  C[g] = A[g]\n", func(s verify.Stage) verify.On { return s.Grid }},
		{head + ":\n  C[ramp(0, 2, 4)] = A[ramp(0, 1, 4)]\n", func(verify.Stage) verify.On { return verify.Both }},
		{head + ":\n  C[broadcast(0, 4)] = A[ramp(0, 1, 4)]\n", func(s verify.Stage) verify.On { return verify.Both &^ s.Final }},
	} {
		k, err := tirtext.ParseKernel("k", c.text)
		require.NoError(t, err)
		for _, s := range verify.Stages() {
			for _, on := range []verify.On{verify.CPU, verify.GPU} {
				err := verify.Kernel(k, s, on)
				require.Equal(t, c.allowed(s)&on != 0, err == nil, "behind %s: %v\n%s", s.After, err, c.text)
			}
		}
	}
}

// Every type of node is either checked or said to be left.
func TestEveryNode(t *testing.T) {
	for i, n := range tir.Nodes() {
		err := verify.Kernel(tir.NodesFunc(i), row(t, "insert-barriers"), verify.GPU)
		switch n.(type) {
		case *tir.BlockRealize:
			require.EqualError(t, err, "verify: k: behind insert-barriers: a BlockRealize is left")
		case *tir.Allocate:
			require.EqualError(t, err, "verify: k: behind insert-barriers: the allocation of T still asks for a double buffer")
		default:
			require.NoError(t, err, "%T", n)
		}
		k := tir.NodesFunc(i)
		f := &tir.Func{Name: "f", Params: k.Params, Outputs: 1, Scalars: k.Scalars,
			Body: &tir.BlockRealize{Block: &tir.Block{Name: "root", Body: &tir.BlockRealize{Block: &tir.Block{Name: "b", Opaque: true, Body: &tir.Seq{Stmts: []tir.Stmt{
				k.Body, &tir.Store{Buffer: k.Params[1], Indices: []tir.Expr{tir.I(0)}, Value: tir.Const(tensor.Float32, 1)}}},
				Reads: []tir.Region{tir.Whole(k.Params[0])}, Writes: []tir.Region{tir.Whole(k.Params[1])}}}}}}
		err = verify.Verify(f)
		switch n.(type) {
		case *tir.BlockRealize:
			require.EqualError(t, err, "verify: b: the block is inside an opaque block")
		case *tir.Barrier:
			require.EqualError(t, err, "verify: b: a barrier stands in a function; the loop passes put them")
		default:
			require.NoError(t, err, "%T", n)
		}
	}
}

// What the parser refuses too can be built.
func TestMalformedKernels(t *testing.T) {
	out := &tir.Buffer{Name: "C", DType: tensor.Float32, Shape: []int{8}, Scope: tir.Global}
	image := &tir.Buffer{Name: "I", DType: tensor.Float32, Shape: []int{2, 3, 4}, Scope: tir.Texture, Folding: &tir.Folding{Width: []int{1}, Height: []int{0}}}
	one := tir.Const(tensor.Float32, 1)
	i := tir.NewVar("i")
	store := func(v tir.Expr, idx tir.Expr) tir.Stmt {
		return &tir.Store{Buffer: out, Indices: []tir.Expr{idx}, Value: v}
	}
	texel := func(at tir.Expr) tir.Stmt {
		v := tir.Expr(one)
		if n := at.Type().Lanes; n > 1 {
			v = &tir.Broadcast{A: one, Lanes: n}
		}
		return &tir.Store{Buffer: image, Indices: []tir.Expr{tir.I(0), tir.I(0), at}, Value: v}
	}
	ramp := func(base, lanes int) tir.Expr { return &tir.Ramp{Base: tir.I(base), Stride: tir.I(1), Lanes: lanes} }
	for _, c := range []struct {
		body tir.Stmt
		want string
	}{
		{nil, "a statement is missing"},
		{&tir.For{Min: tir.I(0), Extent: tir.I(1), Body: store(one, tir.I(0))}, "a loop has no variable"},
		{&tir.BlockRealize{Block: &tir.Block{}}, "a BlockRealize is left"},
		{store(one, i), "variable i is not in scope"},
		{store(one, tir.True), "index 0 of C is bool, wanted int64"},
		{store(&tir.Broadcast{A: one, Lanes: 4}, &tir.Broadcast{A: tir.I(0), Lanes: 4}), "index 0 of a store to C is a vector, but not a ramp along the last axis longer than 1"},
		{&tir.If{Cond: &tir.Broadcast{A: tir.True, Lanes: 4}, Then: store(one, tir.I(0))}, "a condition is bool of 4 lanes, wanted bool"},
		{texel(ramp(0, 4)), ""},
		{texel(ramp(0, 2)), "texture I is written a part of a texel at a time; wanted all 4 elements of its last axis at once (no device writes a part of a texel); vectorize the loop over it"},
		{texel(tir.I(1)), "texture I is written a part of a texel at a time; wanted all 4 elements of its last axis at once (no device writes a part of a texel); vectorize the loop over it"},
	} {
		err := verify.Kernel(&tir.Kernel{Name: "k", Params: []*tir.Buffer{image, out}, Outputs: 2, GridExtent: 1, Body: c.body}, verify.Final(), verify.GPU)
		if c.want == "" {
			require.NoError(t, err)
			continue
		}
		require.EqualError(t, err, "verify: k: behind size-scratch: "+c.want)
	}
	for _, k := range []*tir.Kernel{
		{Params: []*tir.Buffer{out}, Outputs: 1, GridExtent: 4, Body: store(one, tir.I(0))},
		{Params: []*tir.Buffer{out}, Outputs: 2, GridExtent: 1, Body: store(one, tir.I(0))},
		{Params: []*tir.Buffer{out, out}, Outputs: 1, GridExtent: 1, Body: store(one, tir.I(0))},
		{Params: []*tir.Buffer{out}, Outputs: 1, GridExtent: 1, Scratch: -1, Body: store(one, tir.I(0))},
	} {
		require.Error(t, verify.Kernel(k, verify.Final(), verify.CPU))
	}
}
