package cpu

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	goruntime "runtime"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/texel-ml/texel/artifact"
	"github.com/texel-ml/texel/diag"
	"github.com/texel-ml/texel/runtime"
	"github.com/texel-ml/texel/tensor"
)

func checkChain(t testing.TB, in *runtime.Instance, base float32) {
	x, y := floats(in.Input(0)), floats(in.Output(0))
	for i := range y {
		require.Equal(t, wantChain(x[i], i), y[i], "element %d of base %v", i, base)
	}
}

func TestRun(t *testing.T) {
	m := open(t, chain().write(t, nil))
	for _, threads := range []int{0, 1, 2, 5} {
		in := instance(t, m, threads)
		for run := range 20 {
			fill(in.Input(0), float32(run))
			require.NoError(t, in.Run(context.Background()))
			checkChain(t, in, float32(run))
		}
	}
	require.Equal(t, int64(4*n), m.Plan().ArenaBytes, "twice works in place")
}

func TestInfer(t *testing.T) {
	in := instance(t, open(t, chain().write(t, nil)), 2)
	x := tensor.New(tensor.Float32, tensor.Shape{n})
	fill(x.Data, 3)
	first, err := in.Infer(context.Background(), map[string]*tensor.Tensor{"x": x})
	require.NoError(t, err)
	kept := bytes.Clone(first["y"].Data)
	fill(x.Data, 5)
	_, err = in.Infer(context.Background(), map[string]*tensor.Tensor{"x": x})
	require.NoError(t, err)
	require.Equal(t, kept, first["y"].Data, "results belong to the caller")

	odd := append(make([]byte, 1), x.Data...)[1:]
	out, err := in.Infer(context.Background(), map[string]*tensor.Tensor{"x": {DType: tensor.Float32, Shape: tensor.Shape{n}, Data: odd}})
	require.NoError(t, err)
	require.Equal(t, wantChain(floats(x.Data)[1], 1), floats(out["y"].Data)[1])

	for want, inputs := range map[string]map[string]*tensor.Tensor{
		`z: no such input, the inputs are x`:                                  {"x": x, "z": x},
		`x: input is missing, the inputs are x`:                               {},
		`x: wanted float32 of shape (4096,), found float32 of shape (64, 64)`: {"x": {DType: tensor.Float32, Shape: tensor.Shape{64, 64}, Data: x.Data}},
		`x: wanted float32 of shape (4096,), found int32 of shape (4096,)`:    {"x": {DType: tensor.Int32, Shape: tensor.Shape{n}, Data: x.Data}},
		`x: float32 of shape (4096,) needs 16384 bytes, found 16380`:          {"x": {DType: tensor.Float32, Shape: tensor.Shape{n}, Data: x.Data[4:]}},
	} {
		_, err := in.Infer(context.Background(), inputs)
		require.ErrorIs(t, err, diag.ErrInvalid)
		require.ErrorContains(t, err, want)
	}
	require.ErrorContains(t, in.BindInput(0, odd), "must start at a multiple of the element's 4 bytes")
	require.ErrorContains(t, in.BindOutput(1, odd), "no output 1, there are 1")
}

func TestUnboundInput(t *testing.T) {
	in := instance(t, open(t, chain().write(t, nil)), 1)
	require.ErrorContains(t, in.Run(context.Background()), "x: input is not bound")
}

func TestNothingIsAllocated(t *testing.T) {
	m := open(t, chain().write(t, nil))
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	for _, threads := range []int{1, 2} {
		in := instance(t, m, threads)
		fill(in.Input(0), 1)
		for _, c := range []context.Context{context.Background(), ctx} {
			require.NoError(t, in.Run(c))
			allocs := testing.AllocsPerRun(200, func() {
				if err := in.Run(c); err != nil {
					t.Error(err)
				}
			})
			require.Zero(t, allocs, "%d threads", threads)
		}
	}
}

func TestMemoryIsFlat(t *testing.T) {
	in := instance(t, open(t, chain().write(t, nil)), 2)
	fill(in.Input(0), 1)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	resident := func() int {
		text, err := os.ReadFile("/proc/self/statm")
		require.NoError(t, err)
		pages, err := strconv.Atoi(string(bytes.Fields(text)[1]))
		require.NoError(t, err)
		return pages * os.Getpagesize()
	}
	for range 50 {
		require.NoError(t, in.Run(ctx))
	}
	goruntime.GC()
	before := resident()
	for range 2000 {
		require.NoError(t, in.Run(ctx))
	}
	require.Less(t, resident()-before, 1<<20)
}

func TestInstancesShareAModule(t *testing.T) {
	m := open(t, chain().write(t, nil))
	var group sync.WaitGroup
	for g := range 6 {
		in := instance(t, m, 1+g%3)
		group.Go(func() {
			for run := range 50 {
				fill(in.Input(0), float32(100*g+run))
				if err := in.Run(context.Background()); err != nil {
					t.Error(err)
					return
				}
				x, y := floats(in.Input(0)), floats(in.Output(0))
				for i := range y {
					if y[i] != wantChain(x[i], i) {
						t.Errorf("instance %d, run %d: element %d is %v", g, run, i, y[i])
						return
					}
				}
			}
		})
	}
	group.Wait()
}

func TestOneGoroutineAtATime(t *testing.T) {
	in := instance(t, open(t, chain().write(t, nil)), 1)
	in.Input(0)
	started, goOn, ended := make(chan bool), make(chan bool), make(chan error)
	go func() {
		ended <- in.RunSteps(context.Background(), func(pos int) error {
			if pos == 0 {
				started <- true
				<-goOn
			}
			return nil
		})
	}()
	<-started
	err := in.Run(context.Background())
	require.ErrorIs(t, err, diag.ErrInvalid)
	require.ErrorContains(t, err, "instance is in use by another goroutine")
	_, err = in.Infer(context.Background(), nil)
	require.ErrorContains(t, err, "instance is in use by another goroutine")
	goOn <- true
	require.NoError(t, <-ended)
	require.NoError(t, in.Run(context.Background()))
}

// soon runs with a context that ends after 20 ms and returns how much later the run ended: the least of five, since
// the machine may be busy.
func soon(t *testing.T, in *runtime.Instance) time.Duration {
	least := time.Hour
	for range 5 {
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
		begin := time.Now()
		require.ErrorIs(t, in.Run(ctx), context.DeadlineExceeded)
		least = min(least, time.Since(begin)-20*time.Millisecond)
		cancel()
	}
	return least
}

func TestCancel(t *testing.T) {
	m := open(t, long().write(t, nil))
	for _, threads := range []int{1, 2} {
		in := instance(t, m, threads)
		in.Input(0)
		require.Less(t, soon(t, in), 100*time.Millisecond)
		gone, cancel := context.WithCancel(context.Background())
		cancel()
		require.ErrorIs(t, in.Run(gone), context.Canceled)
	}
}

func TestTheRunAfterACancelledOneIsWhole(t *testing.T) {
	mod := newModel()
	mod.input("x", n)
	mod.output("y", n)
	mod.add(mod.kernel("spin", n, 16, []int64{2000}, "y", "x"))
	in := instance(t, open(t, mod.write(t, nil)), 2)
	fill(in.Input(0), 1)
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Millisecond)
	defer cancel()
	for in.Run(ctx) == nil {
	}
	require.NoError(t, in.Run(context.Background()))
	for i, v := range floats(in.Output(0)) {
		require.Equal(t, 2*floats(in.Input(0))[i], v)
	}
}

func TestCloseEndsARun(t *testing.T) {
	m := open(t, long().write(t, nil))
	in, err := m.New(runtime.InstanceOptions{Threads: 2})
	require.NoError(t, err)
	in.Input(0)
	ended := make(chan error)
	go func() { ended <- in.Run(context.Background()) }()
	time.Sleep(20 * time.Millisecond)
	require.NoError(t, in.Close())
	require.ErrorContains(t, <-ended, "closed")
	require.ErrorContains(t, in.Run(context.Background()), "instance is closed")
	require.NoError(t, in.Close())
}

func TestModuleOutlivesItsClose(t *testing.T) {
	m, err := runtime.Open(chain().write(t, nil), runtime.Options{Devices: []runtime.Device{Device{}}})
	require.NoError(t, err)
	in, err := m.New(runtime.InstanceOptions{Threads: 2})
	require.NoError(t, err)
	require.NoError(t, m.Close())
	require.NoError(t, m.Close())
	fill(in.Input(0), 1)
	require.NoError(t, in.Run(context.Background()))
	checkChain(t, in, 1)
	_, err = m.New(runtime.InstanceOptions{})
	require.ErrorContains(t, err, "module is closed")
	require.NoError(t, in.Close())
}

func TestDefaultInput(t *testing.T) {
	mod := newModel()
	mod.input("x", 4)
	mod.input("bias", 4).Default = "bias.default"
	mod.output("y", 4)
	mod.weight("bias.default", 10, 20, 30, 40)
	mod.add(mod.kernel("add", 4, 4, []int64{4}, "y", "x", "bias"))
	in := instance(t, open(t, mod.write(t, nil)), 1)
	x := tensor.Of[float32](tensor.Float32, tensor.Shape{4}, 1, 2, 3, 4)
	out, err := in.Infer(context.Background(), map[string]*tensor.Tensor{"x": x})
	require.NoError(t, err)
	require.Equal(t, []float32{11, 22, 33, 44}, floats(out["y"].Data))
	own := floats(in.Input(1))
	require.Equal(t, []float32{10, 20, 30, 40}, own, "a copy that may be written")
	own[0] = 0
	require.NoError(t, in.Run(context.Background()))
	require.Equal(t, []float32{1, 22, 33, 44}, floats(in.Output(0)))
}

func TestOutputIsCutToItsExtent(t *testing.T) {
	mod := newModel()
	mod.input("x", 3, 5)
	mod.tensor("arena", "count", tensor.Int64)
	mod.output("y", 3, 5).Extent = []artifact.Extent{{Axis: 1, Tensor: "count"}}
	l := mod.kernel("positive", 1, 1, []int64{3, 5}, "y", "x")
	l.Buffers, l.Writes = append(l.Buffers, "count"), append(l.Writes, "count")
	mod.add(l)
	in := instance(t, open(t, mod.write(t, nil)), 1)
	for _, c := range []struct{ first, want []float32 }{
		{[]float32{1, -1, 2, -1, 3}, []float32{1, 2, 3, 10, 12, 14, 20, 22, 24}},
		{[]float32{-1, -1, -1, -1, -1}, []float32{}},
		{[]float32{1, 2, 3, 4, 5}, []float32{1, 2, 3, 4, 5, 10, 11, 12, 13, 14, 20, 21, 22, 23, 24}},
	} {
		copy(floats(in.Input(0)), append(c.first, 10, 11, 12, 13, 14, 20, 21, 22, 23, 24))
		require.NoError(t, in.Run(context.Background()))
		require.Equal(t, tensor.Shape{3, len(c.want) / 3}, in.OutputShape(0))
		require.Len(t, floats(in.Output(0)), len(c.want))
		require.Equal(t, c.want, append([]float32{}, floats(in.Output(0))...))
	}
}

// doubling is y = x 2^k for the first k at which the result is at least 100, with at most limit turns.
func doubling(trip, limit int64) *model {
	m := newModel()
	m.input("x", 1)
	m.output("y", 1)
	m.weight("zero", 0)
	m.tensor("arena", "v", tensor.Float32, 1)
	m.tensor("arena", "next", tensor.Float32, 1)
	m.tensor("arena", "go", tensor.Bool)
	m.tensor("arena", "trip", tensor.Int64)
	m.tensor("arena", "turn", tensor.Int64)
	m.add(m.kernel("add", 1, 1, []int64{1}, "v", "x", "zero"), m.kernel("below", 1, 1, []int64{100}, "go", "v"), m.kernel("number", 1, 1, []int64{trip}, "trip"))
	m.add(artifact.Launch{Kind: artifact.ControlLaunch, Name: "loop", Reads: []string{"go", "trip"}, Writes: []string{"turn"},
		Control: &artifact.Control{Kind: artifact.Loop, Cond: "go", Trip: "trip", Iter: "turn", Max: limit, Body: "body"}})
	m.add(artifact.Launch{Kind: artifact.CopyLaunch, Name: "out", Reads: []string{"v"}, Writes: []string{"y"}})
	m.plan.Regions = []artifact.Region{{Name: "body", Launches: []artifact.Launch{
		m.kernel("twice", 1, 1, nil, "next", "v"),
		{Kind: artifact.CopyLaunch, Name: "carry", Reads: []string{"next"}, Writes: []string{"v"}},
		m.kernel("below", 1, 1, []int64{100}, "go", "v"),
	}}}
	return m
}

func TestLoop(t *testing.T) {
	for _, c := range []struct {
		trip, limit int64
		x, want     float32
	}{{1000, 0, 3, 192}, {2, 0, 3, 12}, {0, 0, 3, 3}, {1000, 50, 200, 200}} {
		in := instance(t, open(t, doubling(c.trip, c.limit).write(t, nil)), 2)
		floats(in.Input(0))[0] = c.x
		require.NoError(t, in.Run(context.Background()))
		require.Equal(t, c.want, floats(in.Output(0))[0])
	}
	in := instance(t, open(t, doubling(1000, 3).write(t, nil)), 1)
	floats(in.Input(0))[0] = 1
	err := in.Run(context.Background())
	require.ErrorIs(t, err, diag.ErrUnsupported)
	require.ErrorContains(t, err, "loop takes more than 3 turns")
}

// stacked doubles x while it is below 100, in 4 turns at most, and stacks what it was; an if is around the stacking.
func stacked() *model {
	m := newModel()
	m.input("x", 1)
	m.output("all", 4).Extent = []artifact.Extent{{Axis: 0, Tensor: "n"}}
	m.weight("zero", 0)
	m.weight("none", 0, 0, 0, 0)
	m.tensor("arena", "v", tensor.Float32, 1)
	m.tensor("arena", "next", tensor.Float32, 1)
	m.tensor("arena", "go", tensor.Bool)
	m.tensor("arena", "n", tensor.Int64)
	carry := func(to, from string) artifact.Launch {
		return artifact.Launch{Kind: artifact.CopyLaunch, Name: to, Reads: []string{from}, Writes: []string{to}}
	}
	m.add(carry("all", "none"), carry("v", "x"), m.kernel("below", 1, 1, []int64{100}, "go", "v"),
		artifact.Launch{Kind: artifact.ControlLaunch, Name: "loop", Reads: []string{"go"}, Writes: []string{"n"},
			Control: &artifact.Control{Kind: artifact.Loop, Cond: "go", Count: "n", Max: 4, Body: "body"}})
	m.plan.Regions = []artifact.Region{
		{Name: "body", Launches: []artifact.Launch{
			{Kind: artifact.ControlLaunch, Name: "if", Reads: []string{"go"}, Control: &artifact.Control{Kind: artifact.If, Cond: "go", Body: "then"}},
			m.kernel("twice", 1, 1, nil, "next", "v"), carry("v", "next"), m.kernel("below", 1, 1, []int64{100}, "go", "v"),
		}},
		{Name: "then", Launches: []artifact.Launch{{Kind: artifact.CopyLaunch, Name: "stack", Stack: true, Reads: []string{"v", "all"}, Writes: []string{"all"}}}},
	}
	return m
}

func TestStacksAreCutToTheTurns(t *testing.T) {
	in := instance(t, open(t, stacked().write(t, nil)), 1)
	for x, want := range map[float32][]float32{20: {20, 40, 80}, 200: nil, 12.5: {12.5, 25, 50}, 7: {7, 14, 28, 56}} {
		floats(in.Input(0))[0] = x
		require.NoError(t, in.Run(context.Background()))
		require.Equal(t, want, floats(in.Output(0)))
		require.Equal(t, tensor.Shape{len(want)}, in.OutputShape(0))
	}
	floats(in.Input(0))[0] = 1
	require.ErrorContains(t, in.Run(context.Background()), "loop takes more than 4 turns")
}

// A launch in a loop is accounted for with all its turns.
func TestProfileOfALoop(t *testing.T) {
	in := instance(t, open(t, doubling(5, 0).write(t, nil)), 1)
	in.Profile(true)
	floats(in.Input(0))[0] = 1
	for range 2 {
		require.NoError(t, in.Run(context.Background()))
	}
	runs := map[string]int{}
	for _, x := range in.Times() {
		runs[x.Kernel] += x.Runs
	}
	require.Equal(t, map[string]int{"add": 1, "number": 1, "twice": 5, "below": 6}, runs)
}

func TestEndlessLoopIsCancelled(t *testing.T) {
	in := instance(t, open(t, doubling(1<<62, 0).write(t, nil)), 1)
	floats(in.Input(0))[0] = 0
	require.Less(t, soon(t, in), 100*time.Millisecond)
}

func TestIf(t *testing.T) {
	mod := newModel()
	mod.input("x", 1)
	mod.output("y", 1)
	mod.weight("ten", 10)
	mod.tensor("arena", "small", tensor.Bool)
	mod.add(mod.kernel("below", 1, 1, []int64{5}, "small", "x"), artifact.Launch{Kind: artifact.ControlLaunch, Name: "if", Reads: []string{"small"},
		Control: &artifact.Control{Kind: artifact.If, Cond: "small", Body: "then", Else: "else"}})
	mod.plan.Regions = []artifact.Region{
		{Name: "then", Launches: []artifact.Launch{mod.kernel("add", 1, 1, []int64{1}, "y", "x", "ten")}},
		{Name: "else", Launches: []artifact.Launch{mod.kernel("twice", 1, 1, nil, "y", "x")}},
	}
	in := instance(t, open(t, mod.write(t, nil)), 1)
	for x, want := range map[float32]float32{2: 12, 7: 14} {
		floats(in.Input(0))[0] = x
		require.NoError(t, in.Run(context.Background()))
		require.Equal(t, want, floats(in.Output(0))[0])
	}
}

func TestRunSteps(t *testing.T) {
	in := instance(t, open(t, chain().write(t, nil)), 2)
	fill(in.Input(0), 1)
	var seen []int
	require.NoError(t, in.RunSteps(context.Background(), func(pos int) error {
		seen = append(seen, pos)
		if pos == 0 {
			a, err := in.Tensor(3)
			require.NoError(t, err)
			require.Equal(t, floats(in.Input(0))[1]+2, floats(a)[1])
		}
		return nil
	}))
	require.Equal(t, []int{0, 1, 2}, seen)
	checkChain(t, in, 1)
	stop := diag.Numeric("check", "a", "too far")
	require.ErrorIs(t, in.RunSteps(context.Background(), func(int) error { return stop }), stop)
}

func TestProfile(t *testing.T) {
	mod := newModel()
	mod.input("x", 64)
	mod.output("y", 64)
	mod.tensor("arena", "a", tensor.Float32, 64)
	mod.add(mod.kernel("spin", 64, 64, []int64{100_000}, "a", "x"), mod.kernel("spin", 64, 64, []int64{10_000}, "y", "a"))
	in := instance(t, open(t, mod.write(t, nil)), 1)
	in.Input(0)
	require.Empty(t, in.Times())
	in.Profile(true)
	run := func() (whole time.Duration, times []runtime.Timing) {
		begin := time.Now()
		require.NoError(t, in.Run(context.Background()))
		return time.Since(begin), in.Times()
	}
	whole, times := run()
	plausible := func() bool { // ten times the work takes at least four times as long, and both make most of the whole
		both := times[0].Duration + times[1].Duration
		return times[0].Duration > 4*times[1].Duration && both > whole/2 && both < whole*3/2
	}
	for try := 0; try < 50 && !plausible(); try++ { // on a busy machine a run may be interrupted
		whole, times = run()
	}
	require.Len(t, times, 2)
	require.True(t, plausible(), "%v of %v in no run", times, whole)
	require.Equal(t, "a", times[0].Name)
	require.Equal(t, "spin", times[0].Kernel)
	require.Zero(t, times[0].Start)
	require.GreaterOrEqual(t, times[1].Start, times[0].Duration)
	in.Profile(false)
	require.NoError(t, in.Run(context.Background()))
	require.Empty(t, in.Times())
}

func TestMemoryAccount(t *testing.T) {
	in := instance(t, open(t, chain().write(t, nil)), 3)
	m := in.Memory()
	require.Equal(t, int64(4*n), m.Arena)
	require.Equal(t, int64(3*64), m.Scratch)
	require.Equal(t, int64(16), m.Weights)
	require.Zero(t, m.Ports)
	in.Input(0)
	require.Equal(t, int64(4*n), in.Memory().Ports)
}

func TestVariantsThatCannotRunHere(t *testing.T) {
	for want, change := range map[string]func(*string, *[]string){
		"needs a processor of architecture pdp-11": func(arch *string, _ *[]string) { *arch = "pdp-11" },
		"lacks: amx-quantum":                       func(_ *string, f *[]string) { *f = []string{"amx-quantum"} },
	} {
		_, err := runtime.Open(chain().write(t, change), runtime.Options{Devices: []runtime.Device{Device{}}})
		require.ErrorIs(t, err, diag.ErrMissing)
		require.ErrorContains(t, err, want)
	}
	path := chain().write(t, nil)
	_, err := runtime.Open(path, runtime.Options{})
	require.ErrorContains(t, err, `no device for api "cpu" is linked in`)
	_, err = runtime.Open(path, runtime.Options{Devices: []runtime.Device{Device{}}, Shapes: map[string]tensor.Shape{"x": {7}}})
	require.ErrorIs(t, err, diag.ErrInvalid)
	require.ErrorContains(t, err, "wanted shape (7,), compiled for (4096,)")
	_, err = runtime.Open(path, runtime.Options{Devices: []runtime.Device{Device{}}, Target: "cortex-a55"})
	require.ErrorContains(t, err, "wanted target cortex-a55")
}

func TestLadder(t *testing.T) {
	lacking := func(_ *string, f *[]string) { *f = []string{"amx-quantum"} }
	for _, change := range []func(*string, *[]string){nil, lacking} {
		mod := chain()
		mod.spare = mod.plan
		m := open(t, mod.write(t, change))
		want := "host"
		if change != nil {
			want = "spare"
		}
		require.Equal(t, want, m.Variant().Target)
		in := instance(t, m, 1)
		fill(in.Input(0), 1)
		require.NoError(t, in.Run(context.Background()))
		checkChain(t, in, 1)
	}
}

func TestMissingKernel(t *testing.T) {
	mod := chain()
	mod.plan.Kernels = append(mod.plan.Kernels, artifact.Kernel{Name: "nowhere"})
	_, err := runtime.Open(mod.write(t, nil), runtime.Options{Devices: []runtime.Device{Device{}}})
	require.ErrorIs(t, err, diag.ErrInvalid)
	require.ErrorContains(t, err, "code does not export nowhere")
}

func TestLibraryThroughAFile(t *testing.T) {
	code, err := os.ReadFile(filepath.Join("testdata", "twin_"+goruntime.GOARCH+".so"))
	require.NoError(t, err)
	dir := t.TempDir()
	l, err := openTemp("kernels.so", code, dir)
	require.NoError(t, err)
	_, err = l.symbol("texel_run")
	require.NoError(t, err)
	require.NoError(t, l.close())
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Empty(t, left)
	_, err = openLibrary("bad.so", []byte("not code"), dir)
	require.ErrorIs(t, err, diag.ErrMissing)
}

func BenchmarkRun(b *testing.B) {
	mod := newModel()
	mod.input("x", 1)
	mod.output("y", 1)
	mod.weight("zero", 0)
	prev := "x"
	for i := range 63 {
		name := "t" + strconv.Itoa(i)
		mod.tensor("arena", name, tensor.Float32, 1)
		mod.add(mod.kernel("add", 1, 1, []int64{1}, name, prev, "zero"))
		prev = name
	}
	mod.add(mod.kernel("add", 1, 1, []int64{1}, "y", prev, "zero"))
	in := instance(b, open(b, mod.write(b, nil)), 1)
	in.Input(0)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	for b.Loop() {
		if err := in.Run(ctx); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/64, "ns/launch")
}

// TestMemoryThatIsNotThere has an output, and a tensor of the arena, of 32 TiB.
func TestMemoryThatIsNotThere(t *testing.T) {
	const huge = 1 << 43
	result := newModel()
	result.input("x", n)
	result.output("y", huge)
	result.add(result.kernel("add", 1, 1, nil, "y", "x"))
	in := instance(t, open(t, result.write(t, nil)), 1)
	_, err := in.Infer(context.Background(), map[string]*tensor.Tensor{"x": tensor.New(tensor.Float32, tensor.Shape{n})})
	require.ErrorIs(t, err, diag.ErrMissing)
	require.ErrorContains(t, err, "y: 35184372088832 bytes of memory are not to be had")
	require.NoError(t, in.BindInput(0, make([]byte, 4*n)))
	require.ErrorIs(t, in.Run(context.Background()), diag.ErrMissing)

	between := newModel()
	between.input("x", n)
	between.tensor("arena", "t", tensor.Float32, huge)
	between.output("y", n)
	between.add(between.kernel("add", 1, 1, nil, "t", "x"), between.kernel("add", 1, 1, nil, "y", "t"))
	_, err = open(t, between.write(t, nil)).New(runtime.InstanceOptions{Threads: 2})
	require.ErrorIs(t, err, diag.ErrMissing)
}
