package texel

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"
	"unsafe"

	"github.com/texel-ml/texel/artifact"
	"github.com/texel-ml/texel/diag"
	"github.com/texel-ml/texel/memplan"
	"github.com/texel-ml/texel/runtime"
	"github.com/texel-ml/texel/target"
	"github.com/texel-ml/texel/tensor"
	"github.com/texel-ml/texel/tir"
)

// CallOptions say how a built function runs. The zero value uses every core.
type CallOptions struct {
	// Threads is how many threads share a call; 0 is one for each core that the process may use. Devices with threads of
	// their own ignore it.
	Threads int
	// Device is "cpu", "opencl" or "opencl:i". Empty is the target's own, the first of its kind.
	Device string
	// Scalars are the values of the scalar arguments, by name.
	Scalars map[string]int64
}

// Callable is a built function that is loaded on a device. One goroutine at a time may use it; a second one waits.
type Callable struct {
	built   *Built
	program runtime.Program
	runner  runtime.Runner
	memory  [][]byte // of the parameters
	mu      sync.Mutex
	closed  bool
}

// Load makes the function ready to run in this process. Close frees it.
//
// Errors are *diag.Error: ErrMissing when this machine cannot run the code, ErrUnsupported for parameters whose elements do
// not lie densely in memory, ErrInvalid for a scalar without a value.
func (b *Built) Load(o CallOptions) (c *Callable, err error) {
	defer b.guard(&err)
	if o.Threads < 0 || o.Threads > 1024 {
		return nil, diag.Invalid("load", b.name, "wanted 0 to 1024 threads, found %d", o.Threads)
	}
	if len(b.code) == 0 {
		return nil, diag.Invalid("load", b.name, "the build stopped behind a loop pass: there is no code to run")
	}
	device := o.Device
	if device == "" {
		device = string(b.target.API)
	}
	list, err := devices(device)
	if err != nil {
		return nil, err
	}
	if api := list[0].API(); api != string(b.target.API) {
		return nil, diag.Invalid("load", b.name, "the code is for %s, and device %s takes code for %s", b.target, device, api)
	}
	plan, err := b.plan(o.Scalars)
	if err != nil {
		return nil, err
	}
	v := &artifact.Variant{Name: b.name, Target: b.target.String(), API: string(b.target.API), Arch: b.target.Arch, Features: b.needs}
	if err := list[0].Usable(v); err != nil {
		return nil, err
	}
	code := map[string][]byte{}
	for _, file := range b.code {
		code[file.Name] = file.Data
	}
	c = &Callable{built: b}
	if c.program, err = list[0].Load(runtime.Loading{Variant: v, Plan: plan, Code: code}); err != nil {
		return nil, err
	}
	if c.runner, err = c.program.New(runtime.InstanceOptions{Threads: o.Threads}); err != nil {
		return nil, errors.Join(err, c.program.Close())
	}
	g := b.program
	inputs := len(g.Params) - g.Outputs
	for i, p := range g.Params {
		data := aligned(p.DType.Bytes(p.Elems()))
		c.memory = append(c.memory, data)
		if i < inputs {
			c.runner.BindInput(i, data)
		} else {
			c.runner.BindOutput(i-inputs, data)
		}
	}
	return c, nil
}

// aligned returns zeroed memory that starts at a multiple of 64 bytes.
func aligned(n int) []byte {
	raw := make([]byte, n+63)
	at := int(-uintptr(unsafe.Pointer(unsafe.SliceData(raw))) % 64)
	return raw[at : at+n : at+n]
}

// plan says what a call does: one launch a kernel.
func (b *Built) plan(scalars map[string]int64) (*artifact.Plan, error) {
	p := &planner{target: b.target, index: map[string]int{}, taken: map[string]bool{}, plan: &artifact.Plan{Format: artifact.PlanFormat,
		Function: "main", Target: b.target.String(), Pools: []artifact.Pool{{Name: arenaPool, Kind: artifact.Arena}, {Name: ioPool, Kind: artifact.External}}}}
	bound := map[*tir.Buffer]string{}
	g := b.program
	for i, x := range g.Params {
		if x.Scope != tir.Global || x.Strides != nil && !slices.Equal(x.Strides, tensor.Shape(x.Shape).Strides()) {
			return nil, diag.Unsupported("load", x.Name, "a parameter of scope %s with strides %v; what a caller hands over lies densely in global memory", x.Scope, x.Strides)
		}
		if x.DType.Bits()%8 != 0 {
			return nil, diag.Unsupported("load", x.Name, "a parameter of %v, whose elements share bytes", x.DType)
		}
		if bound[x] != "" {
			return nil, diag.Unsupported("load", x.Name, "one buffer is two parameters")
		}
		bound[x] = p.add(artifact.Tensor{Name: x.Name, DType: x.DType, Shape: x.Shape, Pool: ioPool})
		port := artifact.Port{Name: bound[x], DType: x.DType, Shape: x.Shape, Tensor: bound[x]}
		if i < len(g.Params)-g.Outputs {
			p.plan.Inputs = append(p.plan.Inputs, port)
		} else {
			p.plan.Outputs = append(p.plan.Outputs, port)
		}
	}
	for _, x := range g.Between {
		dense := *x
		if x.Strides != nil { // padding between rows is part of it
			dense.Shape, dense.Strides = []int{extentOf(x)}, nil
		}
		name, err := p.between(x.Name, &dense)
		if err != nil {
			return nil, err
		}
		bound[x] = name
	}
	work := b.Work()
	for i, k := range g.Kernels {
		l := artifact.Launch{Kind: artifact.KernelLaunch, Name: k.Name, Kernel: b.entry[i], Flops: work.Flops / int64(len(g.Kernels))}
		if err := geometry(&l, k, b.target); err != nil {
			return nil, err
		}
		for j, x := range k.Params {
			t, ok := bound[x]
			if !ok {
				return nil, diag.Internal("load", k.Name, "buffer %s is neither parameter nor intermediate", x.Name)
			}
			l.Buffers = append(l.Buffers, t)
			list := &l.Reads
			if j >= len(k.Params)-k.Outputs {
				list = &l.Writes
			}
			*list = append(*list, t)
			l.Traffic += p.tensor(t).Bytes
		}
		for _, v := range k.Scalars {
			n, ok := scalars[v.Name]
			if !ok {
				return nil, diag.Invalid("load", v.Name, "the scalar argument has no value")
			}
			l.Scalars = append(l.Scalars, n)
		}
		l.Chunk = chunk(l, b.target)
		p.plan.Launches = append(p.plan.Launches, l)
		kernel := artifact.Kernel{Name: b.entry[i], Scratch: int64(k.Scratch)}
		if b.target.API != target.Native {
			kernel.File = b.code[i].Name
		}
		p.plan.Kernels = append(p.plan.Kernels, kernel)
	}
	if err := memplan.Assign(p.plan, memoryFor(b.target)); err != nil {
		return nil, err
	}
	if err := p.plan.Check(); err != nil {
		return nil, diag.Internal("load", b.name, "the plan does not pass its check").By(err)
	}
	return p.plan, nil
}

// extentOf returns the number of elements from the first to the last of a buffer.
func extentOf(b *tir.Buffer) int {
	last := 1
	for i, d := range b.Shape {
		if d == 0 {
			return 0
		}
		last += (d - 1) * b.Strides[i]
	}
	return last
}

// Run calls the function on tensors in the order of its parameters; those of the outputs are overwritten. It returns the
// context's error within about 100 ms after the context is done, and the outputs are then undefined.
func (c *Callable) Run(ctx context.Context, args ...*tensor.Tensor) error {
	end, err := c.begin(ctx, args)
	if err != nil {
		return err
	}
	defer end()
	if err := c.call(ctx); err != nil {
		return err
	}
	for i := len(args) - c.built.program.Outputs; i < len(args); i++ {
		copy(args[i].Data, c.memory[i])
	}
	return nil
}

// begin has the function to itself, with its arguments in place, and lets the end of ctx cancel its calls, until end is called.
func (c *Callable) begin(ctx context.Context, args []*tensor.Tensor) (end func(), err error) {
	c.mu.Lock()
	if err := c.bind(args); err != nil {
		c.mu.Unlock()
		return nil, err
	}
	stop := c.watch(ctx)
	return func() {
		stop()
		c.mu.Unlock()
	}, nil
}

// bind copies arguments to the memory of the parameters, where they are aligned.
func (c *Callable) bind(args []*tensor.Tensor) error {
	if c.closed {
		return diag.Invalid("run", c.built.name, "the function is closed")
	}
	if err := fitParams(c.built.name, c.built.program.Params, args); err != nil {
		return err
	}
	for i, t := range args {
		copy(c.memory[i], t.Data)
	}
	return nil
}

// fitParams refuses arguments that are not what the parameters say.
func fitParams(name string, params []*tir.Buffer, args []*tensor.Tensor) error {
	if len(args) != len(params) {
		return diag.Invalid("run", name, "wanted %d tensors, found %d", len(params), len(args))
	}
	for i, p := range params {
		found := "none"
		if args[i] != nil {
			found = fmt.Sprintf("%v of shape %v", args[i].DType, args[i].Shape)
		}
		if args[i] == nil || args[i].DType != p.DType || !slices.Equal(args[i].Shape, p.Shape) {
			return diag.Invalid("run", p.Name, "wanted a tensor of %v and shape %v, found %s", p.DType, tensor.Shape(p.Shape), found)
		}
		if err := args[i].Check(); err != nil {
			return diag.Invalid("run", p.Name, "the tensor is damaged").By(err)
		}
	}
	return nil
}

// watch cancels calls when ctx ends, until stop is called.
func (c *Callable) watch(ctx context.Context) (stop func()) {
	c.runner.Cancel(false)
	ended := make(chan struct{})
	cancel := context.AfterFunc(ctx, func() {
		c.runner.Cancel(true)
		close(ended)
	})
	return func() {
		if !cancel() {
			<-ended // or it would meet the next call
		}
	}
}

// call runs the kernels once on what is bound.
func (c *Callable) call(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	err := c.runner.Run(nil)
	if errors.Is(err, runtime.ErrCancelled) && ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}

// TimeOptions say how long to measure. The zero value takes about a second.
type TimeOptions struct {
	// For is how long; 0 is a second. It is preceded by a fifth of it that warms up.
	For time.Duration
	// Samples is how many samples to take; 0 is as many as fit, at least 5.
	Samples int
}

// Times are the durations of calls. A call shorter than 50 µs is measured in batches, and a sample is then the mean of its batch.
type Times struct {
	Median  time.Duration
	Min     time.Duration
	P95     time.Duration
	Samples int
	Batch   int // calls a sample
}

// leastSample is how long a sample takes at least, so that reading the clock costs nothing.
const leastSample = 50 * time.Microsecond

// Time measures calls on the given tensors, whose outputs it does not touch. What it measures is the call alone, with all
// memory in place.
func (c *Callable) Time(ctx context.Context, o TimeOptions, args ...*tensor.Tensor) (*Times, error) {
	end, err := c.begin(ctx, args)
	if err != nil {
		return nil, err
	}
	defer end()
	if o.For <= 0 {
		o.For = time.Second
	}
	var samples []time.Duration
	batch, err := c.warm(ctx, o.For/5)
	if err != nil {
		return nil, err
	}
	for begin := time.Now(); ; {
		took, err := c.sample(ctx, batch)
		if err != nil {
			return nil, err
		}
		samples = append(samples, took)
		if o.Samples > 0 && len(samples) >= o.Samples || o.Samples <= 0 && time.Since(begin) >= o.For && len(samples) >= 5 {
			return summary(samples, batch), nil
		}
	}
}

// warm calls for a while and returns how many calls make a sample.
func (c *Callable) warm(ctx context.Context, d time.Duration) (batch int, err error) {
	batch = 1
	for begin := time.Now(); ; {
		took, err := c.sample(ctx, batch)
		if err != nil {
			return 0, err
		}
		if took*time.Duration(batch) < leastSample && batch < 1<<16 {
			batch *= 2
			continue
		}
		if time.Since(begin) >= d {
			return batch, nil
		}
	}
}

// sample returns the mean time of a batch of calls.
func (c *Callable) sample(ctx context.Context, batch int) (time.Duration, error) {
	start := time.Now()
	for range batch {
		if err := c.call(ctx); err != nil {
			return 0, err
		}
	}
	return time.Since(start) / time.Duration(batch), nil
}

func summary(samples []time.Duration, batch int) *Times {
	s := slices.Sorted(slices.Values(samples))
	return &Times{Median: s[len(s)/2], Min: s[0], P95: s[min(len(s)-1, len(s)*95/100)], Samples: len(s), Batch: batch}
}

// Close frees the function. A call that is in progress ends first.
func (c *Callable) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil
	}
	c.closed = true
	return errors.Join(c.runner.Close(), c.program.Close())
}
