package opencl

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/texel-ml/texel/artifact"
	"github.com/texel-ml/texel/diag"
	"github.com/texel-ml/texel/runtime"
	"github.com/texel-ml/texel/tensor"
)

func TestRun(t *testing.T) {
	m := open(t, chain().write(t))
	require.Equal(t, int64(4*n), m.Plan().ArenaBytes, "twice works in place")
	in := instance(t, m)
	for run := range 20 {
		fill(in.Input(0), float32(run))
		require.NoError(t, in.Run(context.Background()))
		checkChain(t, in)
	}
	mem := in.Memory()
	require.Equal(t, int64(4*n), mem.Arena)
	require.Equal(t, int64(16), mem.Weights)
	x := tensor.New(tensor.Float32, tensor.Shape{n})
	fill(x.Data, 3)
	out, err := in.Infer(context.Background(), map[string]*tensor.Tensor{"x": x})
	require.NoError(t, err)
	require.Equal(t, wantChain(floats(x.Data)[9], 9), floats(out["y"].Data)[9])
}

func TestNothingIsAllocated(t *testing.T) {
	in := instance(t, open(t, chain().write(t)))
	fill(in.Input(0), 1)
	require.NoError(t, in.Run(context.Background()))
	require.Zero(t, testing.AllocsPerRun(50, func() {
		if err := in.Run(context.Background()); err != nil {
			t.Error(err)
		}
	}))
}

func TestInstancesAreApart(t *testing.T) {
	m := open(t, chain().write(t))
	var group sync.WaitGroup
	for i := range 4 {
		in := instance(t, m)
		group.Go(func() {
			fill(in.Input(0), float32(10*i))
			for range 20 {
				if err := in.Run(context.Background()); err != nil {
					t.Error(err)
					return
				}
				if x, y := floats(in.Input(0))[7], floats(in.Output(0))[7]; wantChain(x, 7) != y {
					t.Errorf("instance %d: %v gives %v", i, x, y)
				}
			}
		})
	}
	group.Wait()
}

func TestImage(t *testing.T) {
	m := newModel()
	m.input("x", 4, 16, 4)
	m.output("y", tensor.Float32, 4, 16, 4)
	m.plan.Pools = append(m.plan.Pools, artifact.Pool{Name: "image", Kind: artifact.ImagePool, Width: 16, Height: 4, Bytes: 4 * 16 * 16})
	m.tensor("image", "m", tensor.Float32, 4, 16, 4).Image = &artifact.Image{Width: 16, Height: 4, Format: "rgba32f"}
	m.add(kernel("fill", 64, 0, nil, "m", "x"), kernel("fetch", 64, 16, nil, "y", "m"))
	in := instance(t, open(t, m.write(t)))
	fill(in.Input(0), 2)
	require.NoError(t, in.Run(context.Background()))
	require.Equal(t, floats(in.Input(0)), floats(in.Output(0)))
	err := in.RunSteps(context.Background(), func(int) error {
		_, err := in.Tensor(2)
		return err
	})
	require.ErrorIs(t, err, diag.ErrUnsupported)
	require.ErrorContains(t, err, "m: reading back an image")
}

// control doubles x while it is below 50, at most n times, and then adds w where the result is below 60.
func control() *model {
	m := newModel()
	m.input("x", 64)
	m.output("y", tensor.Float32, 64)
	m.weight("w", 1)
	m.tensor("arena", "a", tensor.Float32, 64)
	m.tensor("arena", "t", tensor.Float32, 64)
	m.tensor("arena", "go", tensor.Bool)
	m.tensor("arena", "trip", tensor.Int64)
	m.tensor("arena", "turn", tensor.Int64)
	copyOf := func(to, from string) artifact.Launch {
		return artifact.Launch{Kind: artifact.CopyLaunch, Name: to + "=" + from, Reads: []string{from}, Writes: []string{to}}
	}
	m.add(copyOf("a", "x"), kernel("below", 1, 0, []int64{50}, "go", "a"), kernel("count", 1, 0, []int64{9}, "trip"))
	m.plan.Launches = append(m.plan.Launches, artifact.Launch{Kind: artifact.ControlLaunch, Name: "loop", Reads: []string{"go", "trip"}, Writes: []string{"turn"},
		Control: &artifact.Control{Kind: artifact.Loop, Cond: "go", Trip: "trip", Iter: "turn", Max: 5, Body: "body"}})
	m.add(kernel("below", 1, 0, []int64{60}, "go", "a"))
	m.plan.Launches = append(m.plan.Launches, artifact.Launch{Kind: artifact.ControlLaunch, Name: "if", Reads: []string{"go"},
		Control: &artifact.Control{Kind: artifact.If, Cond: "go", Body: "then", Else: "else"}})
	m.plan.Regions = []artifact.Region{
		{Name: "body", Launches: []artifact.Launch{kernel("twice", 64, 64, nil, "t", "a"), copyOf("a", "t"), kernel("below", 1, 0, []int64{50}, "go", "a")}},
		{Name: "then", Launches: []artifact.Launch{kernel("add", 64, 0, []int64{1}, "y", "a", "w")}},
		{Name: "else", Launches: []artifact.Launch{copyOf("y", "a")}},
	}
	return m
}

// stacked doubles x while its first element is below 50, in 4 turns at most, and stacks what it was; an if is around the
// stacking.
func stacked() *model {
	m := newModel()
	m.input("x", 64)
	m.input("none", 4, 64)
	m.output("all", tensor.Float32, 4, 64).Extent = []artifact.Extent{{Axis: 0, Tensor: "n"}}
	m.tensor("arena", "a", tensor.Float32, 64)
	m.tensor("arena", "t", tensor.Float32, 64)
	m.tensor("arena", "go", tensor.Bool)
	m.tensor("arena", "n", tensor.Int64)
	copyOf := func(to, from string) artifact.Launch {
		return artifact.Launch{Kind: artifact.CopyLaunch, Name: to + "=" + from, Reads: []string{from}, Writes: []string{to}}
	}
	m.add(copyOf("all", "none"), copyOf("a", "x"), kernel("below", 1, 0, []int64{50}, "go", "a"),
		artifact.Launch{Kind: artifact.ControlLaunch, Name: "loop", Reads: []string{"go"}, Writes: []string{"n"},
			Control: &artifact.Control{Kind: artifact.Loop, Cond: "go", Count: "n", Max: 4, Body: "body"}})
	m.plan.Regions = []artifact.Region{
		{Name: "body", Launches: []artifact.Launch{
			{Kind: artifact.ControlLaunch, Name: "if", Reads: []string{"go"}, Control: &artifact.Control{Kind: artifact.If, Cond: "go", Body: "then"}},
			kernel("twice", 64, 64, nil, "t", "a"), copyOf("a", "t"), kernel("below", 1, 0, []int64{50}, "go", "a"),
		}},
		{Name: "then", Launches: []artifact.Launch{{Kind: artifact.CopyLaunch, Name: "stack", Stack: true, Reads: []string{"a", "all"}, Writes: []string{"all"}}}},
	}
	return m
}

func TestStacksAreCutToTheTurns(t *testing.T) {
	in := instance(t, open(t, stacked().write(t)))
	for _, profile := range []bool{false, true} {
		in.Profile(profile)
		in.Input(1)
		for x, turns := range map[float32]int{20: 2, 200: 0, 7: 3, 6: 4} {
			fill(in.Input(0), x)
			require.NoError(t, in.Run(context.Background()))
			require.Equal(t, tensor.Shape{turns, 64}, in.OutputShape(0))
			var want []float32
			for turn := range turns {
				for _, v := range floats(in.Input(0)) {
					want = append(want, v*float32(int(1)<<turn))
				}
			}
			require.Equal(t, want, floats(in.Output(0)))
		}
	}
	fill(in.Input(0), 6)
	require.NoError(t, in.Run(context.Background()))
	runs := map[string]int{}
	for _, x := range in.Times() {
		runs[x.Kernel] += x.Runs
	}
	require.Equal(t, map[string]int{"twice": 4, "below": 5}, runs)
}

func TestControl(t *testing.T) {
	in := instance(t, open(t, control().write(t)))
	for x, want := range map[float32]float32{7: 57, 40: 80, 55: 56, 70: 70} {
		fill(in.Input(0), x)
		require.NoError(t, in.Run(context.Background()))
		require.Equal(t, want, floats(in.Output(0))[0])
	}
	fill(in.Input(0), 0.5)
	err := in.Run(context.Background())
	require.ErrorIs(t, err, diag.ErrUnsupported)
	require.ErrorContains(t, err, "loop takes more than 5 turns")
	fill(in.Input(0), 7)
	in.Profile(true)
	require.NoError(t, in.Run(context.Background()))
	require.Equal(t, float32(57), floats(in.Output(0))[0], "after an error, with time stamps")
}

func TestSteps(t *testing.T) {
	in := instance(t, open(t, chain().write(t)))
	fill(in.Input(0), 5)
	var seen []float32
	require.NoError(t, in.RunSteps(context.Background(), func(pos int) error {
		data, err := in.Tensor([]int{3, 4, 1}[pos]) // a, b, y
		if err == nil {
			seen = append(seen, floats(data)[1])
		}
		return err
	}))
	require.Equal(t, []float32{8, 16, 18}, seen)
	stop := errors.New("enough")
	require.ErrorIs(t, in.RunSteps(context.Background(), func(int) error { return stop }), stop)
}

func TestProfile(t *testing.T) {
	in := instance(t, open(t, chain().write(t)))
	fill(in.Input(0), 5)
	require.NoError(t, in.Run(context.Background()))
	require.Empty(t, in.Times())
	in.Profile(true)
	for range 3 {
		require.NoError(t, in.Run(context.Background()))
		times := in.Times()
		require.Len(t, times, 3)
		require.Equal(t, "twice", times[1].Kernel)
		require.Positive(t, times[1].Duration)
		require.Less(t, times[0].Start, times[2].Start)
		checkChain(t, in)
	}
	in.Profile(false)
	require.NoError(t, in.Run(context.Background()))
	require.Empty(t, in.Times())
	checkChain(t, in)
}

func TestCancel(t *testing.T) {
	m := newModel()
	m.input("x", n)
	m.output("y", tensor.Float32, n)
	from := "x"
	for i := range 400 { // some seconds in all
		to := []string{"a", "b"}[i%2]
		if i < 2 {
			m.tensor("arena", to, tensor.Float32, n)
		}
		m.add(kernel("spin", n, 0, []int64{3000}, to, from))
		from = to
	}
	m.add(kernel("spin", n, 0, []int64{1}, "y", from))
	in := instance(t, open(t, m.write(t)))
	fill(in.Input(0), 1)
	for range 2 {
		ctx, cancel := context.WithTimeout(context.Background(), 150*time.Millisecond)
		defer cancel()
		start := time.Now()
		err := in.Run(ctx)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.Less(t, time.Since(start), 1500*time.Millisecond)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	require.ErrorIs(t, in.Run(ctx), context.Canceled)
}

func TestMissing(t *testing.T) {
	_, err := List("libNoSuchOpenCL.so.9")
	require.ErrorIs(t, err, diag.ErrMissing)
	require.ErrorContains(t, err, "the OpenCL library is not installed; on Debian: apt-get install ocl-icd-libopencl1 pocl-opencl-icd")
	_, err = List("libc.so.6")
	require.ErrorIs(t, err, diag.ErrMissing)
	require.ErrorContains(t, err, "clGetPlatformIDs: the OpenCL library lacks this function")

	path := chain().write(t)
	_, err = runtime.Open(path, runtime.Options{Devices: []runtime.Device{Device{Library: "libNoSuchOpenCL.so.9"}}})
	require.ErrorIs(t, err, diag.ErrMissing)
	_, err = tryOpen(t, chain().write(t, "cl_khr_of_another_device"))
	require.ErrorIs(t, err, diag.ErrMissing)
	require.ErrorContains(t, err, "lacks cl_khr_of_another_device")
	_, err = runtime.Open(path, runtime.Options{Devices: []runtime.Device{Device{Index: 99}}})
	require.ErrorIs(t, err, diag.ErrMissing)
	require.ErrorContains(t, err, "there is no device 99, this machine has")
}

func TestList(t *testing.T) {
	all, err := List("")
	if errors.Is(err, diag.ErrMissing) {
		t.Skip(err)
	}
	require.NoError(t, err)
	for _, d := range all {
		require.NotEmpty(t, d.Name)
		require.NotEmpty(t, d.Platform)
		require.Positive(t, d.WorkGroup)
		require.Positive(t, d.MaxAllocBytes)
		require.Positive(t, d.BufferAlignment)
	}
}

func TestLoadRefuses(t *testing.T) {
	for want, c := range map[string]struct {
		kind   error
		change func(m *model)
	}{
		"does not build the kernel": {diag.ErrInternal, func(m *model) { m.files["twice"] = "__kernel void twice(__global float* y) { y[0] = nothing_here; }" }},
		"nothing_here":              {diag.ErrInternal, func(m *model) { m.files["twice"] = "__kernel void twice(__global float* y) { y[0] = nothing_here; }" }},
		"wanted one":                {diag.ErrInvalid, func(m *model) { m.files["twice"] = sources["twice"] + sources["count"] }},
		"pool on device \"npu\"": {diag.ErrUnsupported, func(m *model) {
			m.plan.Pools = append(m.plan.Pools, artifact.Pool{Name: "far", Kind: artifact.Arena, Device: "npu"})
		}},
		"images over a buffer": {diag.ErrUnsupported, func(m *model) {
			m.plan.Pools = append(m.plan.Pools, artifact.Pool{Name: "views", Kind: artifact.ImageOverBuffer})
		}},
		"image of 2000000000 x 1": {diag.ErrUnsupported, func(m *model) {
			m.plan.Pools = append(m.plan.Pools, artifact.Pool{Name: "wide", Kind: artifact.ImagePool, Width: 2e9, Height: 1})
		}},
	} {
		m := chain()
		c.change(m)
		_, err := tryOpen(t, m.write(t))
		require.ErrorIs(t, err, c.kind, want)
		require.ErrorContains(t, err, want)
	}
	for want, change := range map[string]func(m *model){
		"unknown image format \"rgb565\"": func(m *model) {
			m.plan.Pools = append(m.plan.Pools, artifact.Pool{Name: "image", Kind: artifact.ImagePool, Width: 16, Height: 4, Bytes: 1024})
			m.tensor("image", "m", tensor.Float32, 4, 16, 4).Image = &artifact.Image{Width: 16, Height: 4, Format: "rgb565"}
		},
		"clSetKernelArg of a scalar gives INVALID_ARG_INDEX": func(m *model) { m.plan.Launches[1].Scalars = []int64{1} },
	} {
		m := chain()
		change(m)
		module := open(t, m.write(t))
		_, err := module.New(runtime.InstanceOptions{})
		require.Error(t, err)
		require.ErrorContains(t, err, want)
	}
	program, err := Device{}.Load(runtime.Loading{Variant: &artifact.Variant{}, Code: map[string][]byte{}, Plan: &artifact.Plan{
		Pools:   []artifact.Pool{{Name: "arena", Kind: artifact.Arena, Bytes: 256}},
		Tensors: []artifact.Tensor{{Name: "a", DType: tensor.Float32, Shape: tensor.Shape{4}, Bytes: 16, Pool: "arena", Offset: 64}},
	}})
	require.NoError(t, err)
	defer program.Close()
	_, err = program.New(runtime.InstanceOptions{})
	require.ErrorIs(t, err, diag.ErrUnsupported)
	require.ErrorContains(t, err, "a: tensor is at byte 64 of its pool")
}
