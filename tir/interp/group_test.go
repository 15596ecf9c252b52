package interp_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/texel-ml/texel/diag"
	"github.com/texel-ml/texel/tensor"
	"github.com/texel-ml/texel/tir"
	"github.com/texel-ml/texel/tir/interp"
	"github.com/texel-ml/texel/tir/tirtext"
)

// reverse turns each tile of four around, through shared memory, twice.
const reverse = `kernel reverse(A: float32[8], out C: float32[8]):
  for b in range(0, 2, kind=bound, thread="blockIdx.x"):
    for t in range(0, 4, kind=bound, thread="threadIdx.x"):
      allocate S: float32[4] shared:
        allocate L: float32[1] local:
          for k in range(0, 2):
            S[t] = A[b * 4 + t] + float32(k)
            barrier shared
            L[0] = S[3 - t]
            barrier shared
          C[b * 4 + t] = L[0]
`

func runFloats(text string, n, m int, opts interp.Options) ([]float32, error) {
	k, err := tirtext.ParseKernel("kernel", text)
	if err != nil {
		return nil, err
	}
	w := tensor.NewWide(tensor.Float32, tensor.Shape{n})
	for i := range w.F {
		w.F[i] = float64(i)
	}
	out := tensor.New(tensor.Float32, tensor.Shape{m})
	err = interp.RunKernel(context.Background(), k, []*tensor.Tensor{w.Narrow(), out}, opts)
	return tensor.View[float32](out), err
}

func TestGroups(t *testing.T) {
	for _, opts := range []interp.Options{{}, {Races: true}, {Float64: true, Races: true}} {
		got, err := runFloats(reverse, 8, 8, opts)
		require.NoError(t, err)
		require.Equal(t, []float32{4, 3, 2, 1, 8, 7, 6, 5}, got)
	}
}

// Each edit of the kernel makes it wrong on a device; the place is named.
func TestGroupRefusals(t *testing.T) {
	first := "            S[t] = A[b * 4 + t] + float32(k)\n            barrier shared\n"
	for _, c := range []struct{ from, to, want string }{
		{first, strings.Replace(first, "            barrier shared\n", "", 1),
			"interp: S: element [3] is read before it is written, at b = 0, t = 0, k = 0"},
		{"            L[0] = S[3 - t]\n            barrier shared\n", "            L[0] = S[3 - t]\n",
			"interp: S: element [1] is written and read by different iterations of a parallel loop, at b = 0, t = 2, k = 0"},
		{"            barrier shared\n            L", "            if t < 3:\n              barrier shared\n            L",
			"interp: reverse: work-items [0 0 0] and [3 0 0] of a group do not come to the same barrier at b = 0, t = 0, k = 0"},
		{"            barrier shared\n            L", "            if t < 3:\n              barrier shared\n            else:\n              barrier shared\n            L",
			"interp: reverse: work-items [0 0 0] and [3 0 0] of a group do not come to the same barrier at b = 0, t = 0, k = 0"},
		{"range(0, 2):", "range(0, 2 - t // 3):",
			"interp: reverse: work-items [0 0 0] and [3 0 0] of a group do not come to the same barrier at b = 0, t = 0, k = 1"},
		{"S[t] = A", "S[t // 2] = A",
			"interp: S: element [0] is written by one and used by another iteration of a parallel loop, at b = 0, t = 1, k = 0"},
		{"C[b * 4 + t]", "C[t]",
			"interp: C: element [0] is written by one and used by another iteration of a parallel loop, at b = 1, t = 0"},
		{"barrier shared\n            L", "barrier local\n            L", "interp: reverse: a barrier of scope local, wanted shared or global"},
		{"range(0, 4, kind", "range(0, 70000, kind", "interp: reverse: a group has 70000 work-items, the interpreter has at most 65536"},
		{"L: float32[1]", "L: float32[100000000]", "interp: reverse: the allocated buffers have above 268435456 elements together"},
		{"range(0, 4, kind", "range(0, 4 + b, kind", "interp: reverse: loop t is bound to threadIdx.x and has no constant extent"},
	} {
		text := strings.Replace(reverse, c.from, c.to, 1)
		require.NotEqual(t, reverse, text)
		_, err := runFloats(text, 8, 8, interp.Options{Races: !strings.Contains(c.want, "barrier")})
		require.EqualError(t, err, c.want, text)
		require.True(t, errors.Is(err, diag.ErrInvalid))
	}
}

// A barrier orders shared memory, one of global scope all memory that work-items of a group share; none orders groups.
func TestBarrierScopes(t *testing.T) {
	text := `kernel k(A: float32[8], out C: float32[8]):
  for b in range(0, 2, kind=bound, thread="blockIdx.x"):
    for t in range(0, 4, kind=bound, thread="threadIdx.x"):
      C[b * 4 + t] = A[b * 4 + t]
      barrier global
      if t < 2:
        C[b * 4 + t] = C[b * 4 + 3 - t] + 1.0
`
	got, err := runFloats(text, 8, 8, interp.Options{Races: true})
	require.NoError(t, err)
	require.Equal(t, []float32{4, 3, 2, 3, 8, 7, 6, 7}, got)
	_, err = runFloats(strings.Replace(text, "global", "shared", 1), 8, 8, interp.Options{Races: true})
	require.EqualError(t, err, "interp: C: element [3] is written and read by different iterations of a parallel loop, at b = 0, t = 0")
	_, err = runFloats(strings.Replace(text, "C[b * 4 + 3 - t]", "C[7 - t]", 1), 8, 8, interp.Options{Races: true})
	require.EqualError(t, err, "interp: C: element [6] is written by one and used by another iteration of a parallel loop, at b = 1, t = 2")
}

// Loops beside each other that are bound to one axis are of the same work-items; outside of them the first one stores.
const siblings = `kernel k(A: float32[8], out C: float32[8]):
  for b in range(0, 2, kind=bound, thread="blockIdx.x"):
    allocate S: float32[5] shared:
      allocate L: float32[1] local:
        L[0] = 1.0
        S[4] = L[0] + 9.0
        for t in range(0, 4, kind=bound, thread="threadIdx.x"):
          S[t] = A[b * 4 + t]
          L[0] = L[0] + A[t]
        barrier shared
        for u in range(0, 2, kind=bound, thread="threadIdx.x"):
          C[b * 4 + u] = S[3 - u] + S[4]
          C[b * 4 + 2 + u] = L[0]
`

func TestSiblingLoops(t *testing.T) {
	got, err := runFloats(siblings, 8, 8, interp.Options{Races: true})
	require.NoError(t, err)
	require.Equal(t, []float32{13, 12, 1, 2, 17, 16, 1, 2}, got)
	// as loops that run one after the other, local memory is one
	got, err = runFloats(siblings, 8, 8, interp.Options{Races: true, SerialThreads: true})
	require.ErrorContains(t, err, "element [0] is written", "L passes from iteration to iteration")
	require.NotNil(t, got)
	// without a barrier both loops are of work-items that do not wait
	_, err = runFloats(strings.Replace(siblings, "        barrier shared\n", "", 1), 8, 8, interp.Options{Races: true})
	require.ErrorContains(t, err, "interp: S: element [3] is read before it is written")
	got, err = runFloats(strings.NewReplacer("        barrier shared\n", "", "          L[0] = L[0] + A[t]\n", "").Replace(siblings), 8, 8,
		interp.Options{Races: true, SerialThreads: true})
	require.NoError(t, err)
	require.Equal(t, []float32{13, 12, 1, 1, 17, 16, 1, 1}, got)
}

// Where loops run one after the other, each iteration of a nest may fill what all share.
func TestNestedLoopsOfOneAxis(t *testing.T) {
	text := `kernel k(A: float32[8], out C: float32[4]):
  allocate S: float32[4] shared:
    for t in range(0, 4, kind=bound, thread="threadIdx.x"):
      for u in range(0, 4, kind=bound, thread="threadIdx.x"):
        S[u] = A[u]
      barrier shared
      C[t] = S[3 - t]
`
	for _, serial := range []bool{false, true} {
		got, err := runFloats(text, 8, 4, interp.Options{Races: true, SerialThreads: serial})
		require.NoError(t, err)
		require.Equal(t, []float32{3, 2, 1, 0}, got)
	}
	_, err := runFloats(strings.Replace(text, "S[u] = A[u]", "S[u] = A[t]", 1), 8, 4, interp.Options{Races: true, SerialThreads: true})
	require.ErrorContains(t, err, "interp: S: element [0] is written by one and used by another iteration of a parallel loop, at t = 1, u = 0")
}

// A reader is not forgotten when another reads after it, and lanes are iterations too.
func TestRaces(t *testing.T) {
	for _, kind := range []string{"parallel", "vectorized", `bound, thread="blockIdx.x"`, `bound, thread="vthread"`} {
		text := `kernel k(A: float32[8], out C: float32[8]):
  C[2] = 0.0
  for i in range(0, 3, kind=` + kind + `):
    if i < 2:
      C[i] = C[2] + A[i]
    else:
      C[2] = 1.0
`
		_, err := runFloats(text, 8, 8, interp.Options{Races: true, SerialThreads: true})
		require.EqualError(t, err, "interp: C: element [2] is written by one and used by another iteration of a parallel loop, at i = 2")
		_, err = runFloats(strings.Replace(text, "C[2] + A[i]", "A[2] + A[i]", 1), 8, 8, interp.Options{Races: true, SerialThreads: true})
		require.NoError(t, err)
		_, err = runFloats(text, 8, 8, interp.Options{SerialThreads: true})
		require.NoError(t, err)
	}
	// the readers of the first loop are past when the second begins
	_, err := runFloats(`kernel k(A: float32[8], out C: float32[8]):
  C[0] = 0.0
  for i in range(0, 2, kind=parallel):
    C[i + 1] = C[0]
  for i in range(0, 2, kind=parallel):
    C[i] = A[i]
`, 8, 8, interp.Options{Races: true})
	require.NoError(t, err)
	_, err = runFloats("kernel k(A: float32[8], out C: float32[8]):\n  C[ramp(3, 0, 2)] = A[ramp(0, 1, 2)]\n", 8, 8, interp.Options{Races: true})
	require.EqualError(t, err, "interp: C: element [3] is written by two lanes of one vector, outside any loop")
}

func TestOverlappingArguments(t *testing.T) {
	k := kernel(t, "kernel k(A: float32[4], out C: float32[4]):\n  C[0] = A[3]\n")
	both := tensor.New(tensor.Float32, tensor.Shape{6})
	part := func(from int) *tensor.Tensor {
		return &tensor.Tensor{DType: tensor.Float32, Shape: tensor.Shape{4}, Data: both.Data[4*from : 4*from+16]}
	}
	err := interp.RunKernel(context.Background(), k, []*tensor.Tensor{part(0), part(2)}, interp.Options{})
	require.EqualError(t, err, "interp: C: the output shares memory with A")
}

// Whatever a program spends its time on, it stops soon.
func TestCancel(t *testing.T) {
	vectors := strings.Repeat("    C[ramp(0, 1, 4096)] = A[ramp(0, 1, 4096)] * broadcast(2.0, 4096) + C[ramp(0, 1, 4096)]\n", 500)
	for name, body := range map[string]string{
		"loop":      "  for i in range(0, 1000000000000):\n    C[i %% 8] = A[0]\n",
		"empty":     "  for i in range(0, 9223372036854775807):\n    pass\n",
		"while":     "  while A[0] == A[0]:\n    pass\n",
		"vectors":   "  for i in range(0, 1000000):\n" + vectors,
		"groups":    "  for i in range(0, 1000000000, kind=bound, thread=\"blockIdx.x\"):\n    for j in range(0, 2, kind=bound, thread=\"threadIdx.x\"):\n      barrier shared\n",
		"few items": "  for i in range(0, 1000000000, kind=bound, thread=\"blockIdx.x\"):\n    for j in range(0, 1000000000, kind=bound, thread=\"blockIdx.y\"):\n      pass\n",
	} {
		k := kernel(t, "kernel k(A: float32[4096], out C: float32[4096]):\n"+body)
		args := []*tensor.Tensor{tensor.New(tensor.Float32, tensor.Shape{4096}), tensor.New(tensor.Float32, tensor.Shape{4096})}
		best := time.Hour // of a few tries: others may have the processor for longer than the bound
		for try := 0; try < 5 && best > 120*time.Millisecond; try++ {
			ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
			start := time.Now()
			err := interp.RunKernel(ctx, k, args, interp.Options{})
			best = min(best, time.Since(start))
			cancel()
			require.ErrorIs(t, err, context.DeadlineExceeded, name)
		}
		require.LessOrEqual(t, best, 120*time.Millisecond, name)
		if name != "vectors" {
			err := interp.RunKernel(context.Background(), k, args, interp.Options{MaxSteps: 1000})
			require.ErrorContains(t, err, "above the limit of 1000 steps", name)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	args := []*tensor.Tensor{tensor.New(tensor.Float32, tensor.Shape{1})}
	require.ErrorIs(t, interp.RunKernel(ctx, kernel(t, "kernel k(out C: float32[1]):\n  C[0] = 1.0\n"), args, interp.Options{}), context.Canceled)
}

// Every type of node runs.
func TestEveryNode(t *testing.T) {
	for i, n := range tir.Nodes() {
		k := tir.NodesFunc(i)
		args := []*tensor.Tensor{tensor.New(tensor.Float32, tensor.Shape{8, 8}), tensor.New(tensor.Float32, tensor.Shape{8})}
		require.NoError(t, interp.RunKernel(context.Background(), k, args, interp.Options{Races: true, Scalars: map[*tir.Var]int64{k.Scalars[0]: 3}}), "%T", n)
	}
}
