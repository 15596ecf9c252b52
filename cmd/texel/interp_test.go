package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/texel-ml/texel/internal/npy"
	"github.com/texel-ml/texel/tensor"
	"github.com/texel-ml/texel/tir/tirtext"
)

func TestInterp(t *testing.T) {
	x := newTool(t)
	path := x.file("m.tir", tirtext.Print(matmul(2, 3, 2)))
	a := x.npy("a.npy", tensor.Of[float32](tensor.Float32, tensor.Shape{2, 3}, 1, 2, 3, 4, 5, 6))
	b := x.npy("b.npy", tensor.Of[float32](tensor.Float32, tensor.Shape{3, 2}, 1, 0, 0, 1, 1, 1))
	want := tensor.Of[float32](tensor.Float32, tensor.Shape{2, 2}, 4, 5, 10, 11)
	out := filepath.Join(t.TempDir(), "out")
	text := x.ok("interp", path, "--input", "A="+a, "--input", "B="+b, "--output", out)
	require.Contains(t, text, "C (2, 2) float32  min 4  max 11  mean 7.5\n")
	require.Regexp(t, `(?m)^sha256 of C: [0-9a-f]{64}$`, text)
	require.NotContains(t, text, "drawn")
	got, err := npy.ReadFile(filepath.Join(out, "C.npy"))
	require.NoError(t, err)
	require.Equal(t, want, got)

	archive := filepath.Join(t.TempDir(), "in.npz")
	f, err := os.Create(archive)
	require.NoError(t, err)
	ta, err := npy.ReadFile(a)
	require.NoError(t, err)
	require.NoError(t, npy.WriteArchive(f, []npy.Named{{Name: "A", Tensor: ta}}))
	require.NoError(t, f.Close())
	require.Contains(t, x.ok("interp", path, "--input", archive), "drawn with seed 0: B\n")

	// The seed decides what is drawn; float64 rounds once.
	first := x.ok("interp", path, "--seed", "1")
	require.Contains(t, first, "drawn with seed 1: A, B\n")
	require.Equal(t, first, x.ok("interp", path, "--seed", "1"))
	require.NotEqual(t, first, x.ok("interp", path, "--seed", "2"))
	long := x.file("long.tir", tirtext.Print(matmul(8, 500, 8)))
	digest := func(args ...string) string {
		_, d, _ := strings.Cut(x.ok(append([]string{"interp", long}, args...)...), "sha256")
		return d
	}
	require.NotEqual(t, digest(), digest("--float64"))
	require.Equal(t, digest(), digest("--races"))

	// The kernels of a program run one after the other.
	kernels := x.ok("interp", x.file("k.tir", twoKernels), "--input", x.npy("v.npy", tensor.Of[float32](tensor.Float32, tensor.Shape{8}, 0, 1, 2, 3, 4, 5, 6, 7)))
	require.Contains(t, kernels, "C (8,) float32  min 0  max 56")
	require.NotContains(t, kernels, "T (8,)")
	require.Contains(t, x.ok("interp", x.file("s.tir", "kernel s(out B: int64[], scalar n: int64):\n  B[] = n * 2\n"), "--scalar", "n=21"), "min 42")
}

func TestInterpRefuses(t *testing.T) {
	x := newTool(t)
	const f = `func f(A: float32[4], I: int64[4], out B: float32[4]):
  block root():
    for i in range(0, 4, kind=parallel):
      block B(v: spatial[4] = i):
        reads A[0 +: 4], I[v +: 1]
        writes B[v +: 1]
        B[v] = A[I[v]]
`
	path := x.file("f.tir", f)
	require.Contains(t, x.ok("interp", path), "drawn", "indices are drawn as zeros")
	index := x.npy("i.npy", tensor.Of[int64](tensor.Int64, tensor.Shape{4}, 0, 1, 4, 0))
	x.refused(3, "interp: A: index 4 of axis 0 is outside [0, 4) at i = 2, v = 2", "interp", path, "--input", "I="+index)
	x.refused(3, "above the limit of 3 steps", "interp", path, "--max-steps", "3")
	x.refused(3, "arguments: A: wanted float32 of shape (4,), found int64 of shape (4,)", "interp", path, "--input", "A="+index)
	x.refused(3, "no input has this name; the inputs are A, I", "interp", path, "--input", "B="+index)
	x.refused(3, "cannot read the array", "interp", path, "--input", "A=none.npy")
	x.refused(2, "--input wants name=x.npy", "interp", path, "--input", "A="+squeezenet+"/cat.png")
	x.refused(2, "--max-steps wants", "interp", path, "--max-steps", "-1")
	x.refused(2, "--scalar wants name=number", "interp", path, "--scalar", "n=x")
	x.refused(3, "no scalar argument has this name", "interp", path, "--scalar", "n=1")
	x.refused(3, "give it with --scalar n=NUMBER", "interp", x.file("s.tir", "kernel s(out B: int64[], scalar n: int64):\n  B[] = n\n"))
	x.refused(3, "cannot be", "interp", path, "--output", path)

	race := strings.Replace(f, "writes B[v +: 1]\n        B[v] = A[I[v]]", "writes B[0 +: 4]\n        B[v // 2] = A[I[v]]", 1)
	require.Contains(t, x.ok("interp", x.file("r.tir", race)), "sha256")
	x.refused(3, "element [0] is written by one and used by another iteration of a parallel loop", "interp", x.file("r.tir", race), "--races")

	// What is not legal is refused with the verifier's words, and the interpreter's when it stumbles too.
	beyond := strings.Replace(f, "reads A[0 +: 4]", "reads A[0 +: 2]", 1)
	x.refused(3, "b.tir:4:13: verify: B: ", "interp", x.file("b.tir", strings.Replace(beyond, "A[I[v]]", "A[v]", 1)))
	x.refused(3, "element [2] of A is in no region that the block declares", "interp", x.file("b.tir", strings.Replace(beyond, "A[I[v]]", "A[v]", 1)))
	x.refused(3, "t.tir:7:16: tirtext: wanted a value of float32, found int64", "interp", x.file("t.tir", strings.Replace(f, "A[I[v]]", "I[v]", 1)))
	x.refused(3, "l.tir:2:20: tirtext: wanted a value of float32, found int64", "interp", x.file("l.tir", "kernel k(out B: float32[4]):\n  let x: float32 = 3:\n    B[0] = x\n"))
	x.refused(3, "build: first: buffer T is no parameter of the program and not between its kernels", "interp", x.file("k.tir", strings.Replace(twoKernels, "between T: float32[8]\n", "", 1)))
	x.refused(3, "verify: first: behind reading: input A is written", "interp", x.file("k.tir", strings.Replace(twoKernels, "T[g] = A[g] + 1.0", "A[g] = 1.0", 1)))
	x.refused(4, "more than 268435456 elements", "interp", x.file("h.tir", "kernel h(A: int8[2000000000], out B: int8[1]):\n  B[0] = A[0]\n"))
}

func TestInterpIsInterrupted(t *testing.T) {
	x := newTool(t)
	path := x.file("m.tir", tirtext.Print(matmul(2000, 2000, 2000)))
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("enough"))
	var out, err strings.Builder
	a := &app{in: strings.NewReader(""), out: &out, err: &err, env: func(string) string { return "" }}
	require.Equal(t, 130, a.run(ctx, []string{"interp", path}), err.String())
}
