package texel_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/texel-ml/texel"
	"github.com/texel-ml/texel/diag"
	"github.com/texel-ml/texel/internal/numtest"
	"github.com/texel-ml/texel/schedule"
	"github.com/texel-ml/texel/schedule/te"
	"github.com/texel-ml/texel/tensor"
	"github.com/texel-ml/texel/tir"
	"github.com/texel-ml/texel/tir/interp"
	"github.com/texel-ml/texel/tir/tirtext"
	looppasses "github.com/texel-ml/texel/tir/transform"
)

// product is R = relu(A·B) with A of (m, k) and B of (k, n).
func product(m, k, n int) *tir.Func {
	a, b := te.Placeholder("A", tensor.Float32, m, k), te.Placeholder("B", tensor.Float32, k, n)
	c := te.Sum("C", tensor.Float32, []int{m, n}, []int{k}, func(i, r []tir.Expr) tir.Expr {
		return tir.Times(a.At(i[0], r[0]), b.At(r[0], i[1]))
	})
	relu := te.Compute("R", tensor.Float32, []int{m, n}, func(i []tir.Expr) tir.Expr {
		return tir.Bin(tir.Max, c.At(i...), tir.Const(tensor.Float32, 0))
	})
	return te.Func("product", []*te.Tensor{a, b}, []*te.Tensor{relu}, c)
}

// A function is built with a trace, called on tensors and measured.
func ExampleBuild() {
	a, b := te.Placeholder("A", tensor.Float32, 64, 32), te.Placeholder("B", tensor.Float32, 32, 48)
	c := te.Sum("C", tensor.Float32, []int{64, 48}, []int{32}, func(i, r []tir.Expr) tir.Expr {
		return tir.Times(a.At(i[0], r[0]), b.At(r[0], i[1]))
	})
	f := te.Func("matmul", []*te.Tensor{a, b}, []*te.Tensor{c})
	s := schedule.New(f)
	l := s.Loops(s.Block("C")).Want(3)
	j := s.Split(l[1], 0, 16)
	s.Reorder(l[0], j[0], l[2], j[1])
	s.Parallel(l[0])
	s.Vectorize(j[1])
	check(s.Err())

	ctx := context.Background()
	built, err := texel.Build(ctx, f, texel.BuildOptions{Trace: s.Trace()})
	check(err)
	call, err := built.Load(texel.CallOptions{Threads: 1})
	check(err)
	defer call.Close()
	args, err := built.RandomArgs(0) // A, B and C
	check(err)
	check(call.Run(ctx, args...))
	times, err := call.Time(ctx, texel.TimeOptions{For: 10 * time.Millisecond}, args...)
	check(err)
	fmt.Println(args[2].Shape, built.Work().Flops, times.Min > 0)
	// Output: (64, 48) 196608 true
}

func TestBuiltFunctionsComputeWhatTheirDefinitionSays(t *testing.T) {
	f := product(10, 33, 20)
	s := schedule.New(f)
	tile := s.Split(s.Loops(s.Block("R")).At(0), 0, 4)
	s.ComputeAt(s.Block("C"), tile[0])
	s.Parallel(tile[0])
	require.NoError(t, s.Err())
	for _, trace := range []*schedule.Trace{nil, s.Trace()} {
		b, err := texel.Build(t.Context(), f, texel.BuildOptions{Trace: trace})
		require.NoError(t, err)
		args, err := b.RandomArgs(5)
		require.NoError(t, err)
		want, err := b.RandomArgs(5)
		require.NoError(t, err)
		require.Equal(t, want, args, "the same seed")
		require.NoError(t, interp.Run(t.Context(), f, want, interp.Options{}))
		for _, threads := range []int{1, 3} {
			call, err := b.Load(texel.CallOptions{Threads: threads})
			require.NoError(t, err)
			require.NoError(t, call.Run(t.Context(), args...))
			rel := numtest.Relative(tensor.Float32, 33, 2)
			require.NoError(t, numtest.Compare(args[2], want[2], numtest.Tolerance{Rel: rel, Max: rel}))
			require.NoError(t, call.Close())
			require.NoError(t, call.Close())
			require.ErrorIs(t, call.Run(t.Context(), args...), diag.ErrInvalid)
		}
	}
}

// TestBuildOfPrograms has what lies between kernels, in a program that was read from text.
func TestBuildOfPrograms(t *testing.T) {
	const text = `program both(A: float32[4], out C: float32[4], scalar n: int64) after "12_size-scratch"
between T: float32[4, 2] strides [8, 2]

kernel one(A: float32[4], out T: float32[4, 2] strides [8, 2], scalar n: int64) grid g = 4:
  T[g, 1] = A[g] * float32(n)

kernel two(T: float32[4, 2] strides [8, 2], out C: float32[4], scalar n: int64):
  for i in range(0, 4):
    C[i] = T[3 - i, 1] + float32(n)
`
	g, err := tirtext.ParseProgram("both", text)
	require.NoError(t, err)
	b, err := texel.BuildProgram(t.Context(), g, texel.BuildOptions{})
	require.NoError(t, err)
	require.Equal(t, text, tirtext.PrintProgram(b.Program()))
	_, err = b.Load(texel.CallOptions{})
	require.ErrorContains(t, err, "load: n: the scalar argument has no value")
	call, err := b.Load(texel.CallOptions{Threads: 1, Scalars: map[string]int64{"n": 3}})
	require.NoError(t, err)
	defer call.Close()
	in, out := tensor.Of[float32](tensor.Float32, tensor.Shape{4}, 1, 2, 3, 4), tensor.New(tensor.Float32, tensor.Shape{4})
	require.NoError(t, call.Run(t.Context(), in, out))
	require.Equal(t, []float32{15, 12, 9, 6}, tensor.View[float32](out))

	// Programs that go wrong.
	change := func(f func(g *tir.Program)) error {
		c := *g
		f(&c)
		_, err := texel.BuildProgram(t.Context(), &c, texel.BuildOptions{})
		require.ErrorIs(t, err, diag.ErrInvalid)
		return err
	}
	require.ErrorContains(t, change(func(g *tir.Program) { g.Scalars = nil }), "build: one: scalar n is none of the program")
	require.ErrorContains(t, change(func(g *tir.Program) { g.Between = nil }), "build: one: buffer T is no parameter of the program and not between its kernels")
	require.ErrorContains(t, change(func(g *tir.Program) { g.Params, g.Between = append(g.Between[:1:1], g.Params...), nil }), "buffer T is written, and is an input")
	require.ErrorContains(t, change(func(g *tir.Program) { g.Kernels = nil }), "a program of 0 kernels")
	require.ErrorContains(t, change(func(g *tir.Program) { g.Stage = "fuse" }), "no pass has this name")
}

func TestBuildRefusesBadArguments(t *testing.T) {
	f := product(2, 3, 4)
	ctx := t.Context()
	b, err := texel.Build(ctx, f, texel.BuildOptions{})
	require.NoError(t, err)
	call, err := b.Load(texel.CallOptions{})
	require.NoError(t, err)
	defer call.Close()
	args, err := b.RandomArgs(0)
	require.NoError(t, err)
	require.ErrorContains(t, call.Run(ctx, args[:2]...), "run: product: wanted 3 tensors, found 2")
	require.ErrorContains(t, call.Run(ctx, args[0], nil, args[2]), "run: B: wanted a tensor of float32 and shape (3, 4), found none")
	require.ErrorContains(t, call.Run(ctx, args[0], args[0], args[2]), "found float32 of shape (2, 3)")
	short := *args[0]
	short.Data = short.Data[:8]
	require.ErrorContains(t, call.Run(ctx, &short, args[1], args[2]), "run: A: the tensor is damaged")
	_, err = b.Load(texel.CallOptions{Device: "tpu"})
	require.ErrorIs(t, err, diag.ErrInvalid)
	_, err = b.Load(texel.CallOptions{Threads: -1})
	require.ErrorContains(t, err, "wanted 0 to 1024 threads, found -1")
	_, err = b.Bench(ctx, texel.BenchOptions{Threads: -1})
	require.ErrorIs(t, err, diag.ErrInvalid)
	stopped, err := texel.Build(ctx, f, texel.BuildOptions{StopAfter: "unroll"})
	require.NoError(t, err)
	_, err = stopped.Load(texel.CallOptions{})
	require.ErrorContains(t, err, "there is no code to run")
	_, err = stopped.Stats(ctx)
	require.ErrorIs(t, err, diag.ErrUnsupported)
	_, err = texel.NewPeak(ctx, "host", tensor.Int8, 1, "")
	require.ErrorIs(t, err, diag.ErrUnsupported)

	illegal := *f
	illegal.Outputs = 4
	_, err = texel.Build(ctx, &illegal, texel.BuildOptions{})
	require.ErrorIs(t, err, diag.ErrInvalid)
	_, err = texel.Build(ctx, &tir.Func{Name: "empty"}, texel.BuildOptions{})
	require.ErrorIs(t, err, diag.ErrInvalid)
	_, err = texel.BuildProgram(ctx, &tir.Program{}, texel.BuildOptions{})
	require.ErrorIs(t, err, diag.ErrInvalid)
}

func TestBuildHonoursItsContext(t *testing.T) {
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	f := product(4, 4, 4)
	_, err := texel.Build(ended, f, texel.BuildOptions{})
	require.ErrorIs(t, err, context.Canceled)

	long := product(600, 600, 600)
	s := schedule.New(long)
	s.Parallel(s.Loops(s.Block("C")).At(0))
	b, err := texel.Build(t.Context(), long, texel.BuildOptions{Trace: s.Trace()})
	require.NoError(t, err)
	call, err := b.Load(texel.CallOptions{Threads: 1})
	require.NoError(t, err)
	defer call.Close()
	args, err := b.RandomArgs(0)
	require.NoError(t, err)
	soon, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	start := time.Now()
	_, err = call.Time(soon, texel.TimeOptions{For: time.Minute}, args...)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.Less(t, time.Since(start), 10*time.Second)
	require.NoError(t, call.Run(t.Context(), args...), "the next call is not cancelled")
}

// TestNamesOfFunctions has names that code generators do not take as they are.
func TestNamesOfFunctions(t *testing.T) {
	for _, name := range []string{"", "a b", "7up", "texel_run", "memcpy", "größe", "float", "llvm.x"} {
		f := product(2, 2, 2)
		f.Name = name
		for _, to := range []string{"host", "pocl"} {
			b, err := texel.Build(t.Context(), f, texel.BuildOptions{Target: to})
			require.NoError(t, err, "%q", name)
			require.NotEmpty(t, b.Code())
			require.Equal(t, name, b.Name())
		}
	}
}

func TestBuildDumps(t *testing.T) {
	dir := t.TempDir()
	f := product(4, 5, 6)
	var names []string
	o := texel.BuildOptions{Emit: []string{"llvm", "asm"}, Trace: &schedule.Trace{}, Dump: func(name string, text func() string) error {
		names = append(names, name)
		return os.WriteFile(filepath.Join(dir, filepath.Base(name)), []byte(text()), 0o644)
	}}
	b, err := texel.Build(t.Context(), f, o)
	require.NoError(t, err)
	want := []string{"schedule.tir"}
	for i := range looppasses.Passes() {
		want = append(want, looppasses.PassName(i)+".tir")
	}
	require.Equal(t, append(want, "code/kernels000.ll", "code/pool.ll", "code/kernels000.s", "code/pool.s"), names)
	text, err := os.ReadFile(filepath.Join(dir, want[len(want)-1]))
	require.NoError(t, err)
	require.Equal(t, tirtext.PrintProgram(b.Program()), string(text))
	o.Dump = func(string, func() string) error { return diag.Missing("dump", "", "no room") }
	_, err = texel.Build(t.Context(), f, o)
	require.ErrorIs(t, err, diag.ErrMissing)
}
