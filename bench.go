package texel

import (
	"context"
	"fmt"
	"math"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/texel-ml/texel/diag"
	"github.com/texel-ml/texel/internal/numtest"
	"github.com/texel-ml/texel/target"
	"github.com/texel-ml/texel/tensor"
	"github.com/texel-ml/texel/tir"
	"github.com/texel-ml/texel/tir/interp"
	looppasses "github.com/texel-ml/texel/tir/transform"
)

// BenchOptions of Built.Bench. The zero value measures one thread for a second on random numbers.
type BenchOptions struct {
	// Threads is how many threads share a call; 0 is one.
	Threads int
	// For and Samples are those of TimeOptions.
	For     time.Duration
	Samples int
	// Device and Scalars are those of CallOptions.
	Device  string
	Scalars map[string]int64
	// Args are the tensors of the parameters; nil are those of RandomArgs with Seed.
	Args []*tensor.Tensor
	Seed uint64
	// MaxSteps is how many iterations of loops the interpreter may take to check the results; 0 is 200 million.
	MaxSteps int64
	// CheckTime is how long the interpreter may take for that; 0 is 20 s, below 0 there is no limit.
	CheckTime time.Duration
	// Progress is called as Options.Progress is, with steps "interpret" (in seconds), "reference" and "measure".
	Progress func(Progress)
}

// BenchResult is what Built.Bench measured. Rates and shares are at the median unless they are called best.
type BenchResult struct {
	Target   string  `json:"target"`
	Threads  int     `json:"threads"`
	MedianMS float64 `json:"median_ms"`
	MinMS    float64 `json:"min_ms"`
	P95MS    float64 `json:"p95_ms"`
	Samples  int     `json:"samples"`
	Batch    int     `json:"batch"` // calls a sample
	// Flops is that of LoopWork; FlopsExact says that it is no estimate. IntOps count where there are no Flops.
	Flops      int64   `json:"flops"`
	IntOps     int64   `json:"int_ops"`
	FlopsExact bool    `json:"flops_exact"`
	GFLOPS     float64 `json:"gflops"`
	BestGFLOPS float64 `json:"best_gflops"` // of the fastest sample
	// MeasuredPeak is what independent multiply-adds of whole vectors reach in the same run, on the same number of
	// threads; 0 where none was measured. RecordPeak is what the units of the target record do at the clock that was
	// measured beside it: FlopsPerCycle · ClockGHz on as many cores as there are threads for. The record's own clock is
	// not used: systems show the base clock, or the momentary one. Both are GFLOP/s of PeakType.
	MeasuredPeak float64 `json:"measured_peak_gflops"`
	RecordPeak   float64 `json:"record_peak_gflops"`
	ClockGHz     float64 `json:"clock_ghz"`
	PeakType     string  `json:"peak_type,omitempty"`
	OfMeasured   float64 `json:"of_measured_peak"`
	BestMeasured float64 `json:"best_of_measured_peak"`
	OfRecord     float64 `json:"of_record_peak"`
	// Checked says what the results were compared with before they were timed, or why they were not.
	Checked string `json:"checked"`
}

// interpreterSteps are some seconds of the interpreter. interpreterTime ends it where it is slower, or where the number of its
// steps depends on data.
const (
	interpreterSteps = 200_000_000
	interpreterTime  = 20 * time.Second
)

// Bench checks the results of the code and times it. The check is against the interpreter running the function before the
// trace; where that would take too long, against the code of the function before the trace. A result outside its tolerance
// is diag.ErrNumeric, and nothing is timed.
//
// On a processor the peak is measured in slices between those of the function, by a kernel of independent multiply-adds
// that the same generator made for the same target, and with it the clock; the best slice of each counts.
func (b *Built) Bench(ctx context.Context, o BenchOptions) (r *BenchResult, err error) {
	defer b.guard(&err)
	if o.Threads < 0 {
		return nil, diag.Invalid("bench", b.name, "wanted 0 or more threads, found %d", o.Threads)
	}
	o.Threads = max(1, o.Threads)
	if o.MaxSteps == 0 {
		o.MaxSteps = interpreterSteps
	}
	if o.CheckTime == 0 {
		o.CheckTime = interpreterTime
	}
	if o.Progress == nil {
		o.Progress = func(Progress) {}
	}
	if o.Args == nil {
		if o.Args, err = b.RandomArgs(o.Seed); err != nil {
			return nil, err
		}
	}
	c, err := b.Load(CallOptions{Threads: o.Threads, Device: o.Device, Scalars: o.Scalars})
	if err != nil {
		return nil, err
	}
	defer c.Close()
	work := b.Work()
	r = &BenchResult{Target: b.target.String(), Threads: o.Threads, Flops: work.Flops, IntOps: work.IntOps, FlopsExact: work.Exact}
	if r.Checked, err = b.check(ctx, c, o); err != nil {
		return nil, err
	}
	var peak *Peak
	if b.target.API == target.Native && work.Flops > 0 {
		d := peakType(work.Type)
		if peak, err = NewPeak(ctx, b.target.String(), d, o.Threads, b.opts.TempDir); err != nil {
			return nil, err
		}
		defer peak.Close()
		r.PeakType = d.String()
	}
	o.Progress(Progress{Step: "measure"})
	times, err := c.interleaved(ctx, o, peak, r)
	if err != nil {
		return nil, err
	}
	r.MedianMS, r.MinMS, r.P95MS, r.Samples, r.Batch = ms(times.Median), ms(times.Min), ms(times.P95), times.Samples, times.Batch
	r.GFLOPS, r.BestGFLOPS = float64(work.Flops)/float64(times.Median.Nanoseconds()), float64(work.Flops)/float64(times.Min.Nanoseconds())
	if peak != nil {
		r.RecordPeak = b.target.FlopsPerCycle(peak.dtype.Bits()) * r.ClockGHz * float64(min(o.Threads, b.target.Cores))
		r.OfMeasured, r.BestMeasured, r.OfRecord = r.GFLOPS/r.MeasuredPeak, r.BestGFLOPS/r.MeasuredPeak, r.GFLOPS/r.RecordPeak
	}
	return r, nil
}

func ms(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1e6 }

// peakType is the type whose peak a function is held against: what is narrower than float32 is computed in it.
func peakType(d tensor.DType) tensor.DType {
	if d == tensor.Float64 {
		return d
	}
	return tensor.Float32
}

// turns is how often function and peak take turns.
const turns = 5

// interleaved times the function in turns with the peak, so that both see the same machine.
func (c *Callable) interleaved(ctx context.Context, o BenchOptions, peak *Peak, r *BenchResult) (*Times, error) {
	if o.For <= 0 {
		o.For = time.Second
	}
	if peak == nil {
		return c.Time(ctx, TimeOptions{For: o.For, Samples: o.Samples}, o.Args...)
	}
	end, err := c.begin(ctx, o.Args)
	if err != nil {
		return nil, err
	}
	defer end()
	batch, err := c.warm(ctx, o.For/5)
	if err != nil {
		return nil, err
	}
	var samples []time.Duration
	start := time.Now()
	for turn := 0; turn < turns && (len(samples) < 3 || time.Since(start) < 3*o.For); turn++ {
		g, err := peak.Measure(ctx, o.For/20)
		if err != nil {
			return nil, err
		}
		r.MeasuredPeak, r.ClockGHz = math.Max(r.MeasuredPeak, g), math.Max(r.ClockGHz, coreClock())
		if len(samples) == 0 || samples[0] < o.For/20 { // what the peak drove out of the caches comes back
			if _, err := c.sample(ctx, batch); err != nil {
				return nil, err
			}
		}
		for begin := time.Now(); ; {
			took, err := c.sample(ctx, batch)
			if err != nil {
				return nil, err
			}
			samples = append(samples, took)
			if o.Samples > 0 && len(samples) >= o.Samples*(turn+1)/turns || o.Samples <= 0 && time.Since(begin) >= o.For/turns {
				break
			}
		}
	}
	return summary(samples, batch), nil
}

// check compares the results of c with those of something slower and simpler, and says with what.
func (b *Built) check(ctx context.Context, c *Callable, o BenchOptions) (string, error) {
	got := cloneArgs(o.Args)
	if err := c.Run(ctx, got...); err != nil {
		return "", err
	}
	want := cloneArgs(o.Args)
	how, why := "the interpreter", ""
	work := b.Work()
	if work.Steps > o.MaxSteps {
		why = fmt.Sprintf("the interpreter would take %d steps, more than %d", work.Steps, o.MaxSteps)
	} else if done, err := b.interpret(ctx, want, o); err != nil {
		return "", err
	} else if !done {
		why = fmt.Sprintf("the interpreter did not end within %v (--check-time); it has %d steps to take", o.CheckTime, work.Steps)
	}
	switch {
	case why == "":
	case b.source == nil || b.opts.Trace == nil || len(b.opts.Trace.Steps) == 0 || b.target.API != target.Native:
		return "not compared: " + why + ", and there is no other form of the function", nil
	default:
		how = "the code of the function before the trace, as " + why
		o.Progress(Progress{Step: "reference"})
		want = cloneArgs(o.Args)
		if err := b.runUnscheduled(ctx, want, o); err != nil {
			return "", err
		}
	}
	reduction := work.Reduction
	if reduction == 0 {
		reduction = numtest.Unknown
	}
	for i := len(got) - b.program.Outputs; i < len(got); i++ {
		rel := numtest.Relative(got[i].DType, reduction, 16)
		if err := numtest.Compare(got[i], want[i], numtest.Tolerance{Rel: rel, Max: rel}); err != nil {
			return "", diag.Numeric("bench", b.program.Params[i].Name, "the result differs from that of %s", how).By(err)
		}
	}
	return how, nil
}

// interpret runs what was given, before the trace, in the interpreter; done is false where the time was over.
func (b *Built) interpret(ctx context.Context, args []*tensor.Tensor, o BenchOptions) (done bool, err error) {
	opts := interp.Options{Scalars: map[*tir.Var]int64{}}
	for _, v := range b.program.Scalars {
		opts.Scalars[v] = o.Scalars[v.Name]
	}
	limited := ctx
	if o.CheckTime > 0 {
		var cancel context.CancelFunc
		limited, cancel = context.WithTimeout(ctx, o.CheckTime)
		defer cancel()
	}
	defer o.countSeconds("interpret", o.CheckTime)()
	if b.source != nil {
		err = interp.Run(limited, b.source, args, opts)
	} else {
		err = InterpretProgram(limited, b.given, args, opts)
	}
	if err != nil && limited.Err() != nil && ctx.Err() == nil {
		return false, nil
	}
	return err == nil, err
}

// countSeconds reports a step's seconds, of at most limit, until stop is called.
func (o BenchOptions) countSeconds(step string, limit time.Duration) (stop func()) {
	end := make(chan struct{})
	var wait sync.WaitGroup
	wait.Go(func() {
		tick := time.NewTicker(time.Second)
		defer tick.Stop()
		for n := 0; ; n++ {
			total := int(max(0, limit) / time.Second) // 0 where there is no limit
			o.Progress(Progress{Step: step, Done: min(n, total), Total: total})
			select {
			case <-tick.C:
			case <-end:
				return
			}
		}
	})
	return func() { close(end); wait.Wait() }
}

// runUnscheduled runs the code of the function before the trace.
func (b *Built) runUnscheduled(ctx context.Context, args []*tensor.Tensor, o BenchOptions) error {
	plain, err := Build(ctx, b.source, BuildOptions{Target: b.target.String(), Workers: b.opts.Workers, TempDir: b.opts.TempDir})
	if err != nil {
		return err
	}
	c, err := plain.Load(CallOptions{Threads: o.Threads, Device: o.Device, Scalars: o.Scalars})
	if err != nil {
		return err
	}
	defer c.Close()
	return c.Run(ctx, args...)
}

// InterpretProgram runs the kernels of a program one after the other in the interpreter, on tensors in the order of its
// parameters; those of the outputs are overwritten.
func InterpretProgram(ctx context.Context, g *tir.Program, args []*tensor.Tensor, opts interp.Options) error {
	if err := fitParams(g.Name, g.Params, args); err != nil {
		return err
	}
	buffers := map[*tir.Buffer]*tensor.Tensor{}
	for i, p := range g.Params {
		buffers[p] = args[i]
	}
	for _, k := range g.Kernels {
		opts.SerialThreads = !looppasses.Lifted(k) // a dump of a pass before that
		if err := interp.RunKernels(ctx, []*tir.Kernel{k}, buffers, opts); err != nil {
			return err
		}
	}
	return nil
}

func cloneArgs(args []*tensor.Tensor) []*tensor.Tensor {
	out := make([]*tensor.Tensor, len(args))
	for i, t := range args {
		c := *t
		c.Data = slices.Clone(t.Data)
		out[i] = &c
	}
	return out
}

// RandomArgs returns tensors for the parameters of a function; see RandomTensors.
func (b *Built) RandomArgs(seed uint64) ([]*tensor.Tensor, error) {
	if b.source != nil {
		return RandomTensors(seed, b.source.Params, b.source.Outputs, b.source.Body)
	}
	bodies := make([]tir.Stmt, len(b.given.Kernels))
	for i, k := range b.given.Kernels {
		bodies[i] = k.Body
	}
	return RandomTensors(seed, b.given.Params, b.given.Outputs, bodies...)
}

// maxArgBytes bounds the arguments that RandomTensors makes: drawing takes twice as much, and whoever compares keeps results
// twice.
const maxArgBytes = 1 << 31

// RandomTensors returns tensors for parameters: floats of a normal distribution, integers from -3 to 3 or from 0 to 3,
// but zeros where bodies use the elements as indices, for bounds or in the condition of a while, and for the outputs. The
// same seed gives the same numbers.
func RandomTensors(seed uint64, params []*tir.Buffer, outputs int, bodies ...tir.Stmt) ([]*tensor.Tensor, error) {
	total := 0
	for _, p := range params {
		n := p.Elems()
		if n >= 0 && n <= maxArgBytes {
			total += p.DType.Bytes(n)
		}
		if n < 0 || n > maxArgBytes || total > maxArgBytes {
			return nil, diag.Unsupported("arguments", p.Name, "the arguments up to this one, of shape %v, are above %d bytes", tensor.Shape(p.Shape), maxArgBytes)
		}
	}
	return interp.Draw{Seed: seed, Code: bodies}.Tensors(params, outputs), nil
}

// Peak measures the peak of multiply-adds of a target that can run here.
type Peak struct {
	c     *Callable
	dtype tensor.DType
	args  []*tensor.Tensor
	flops float64 // a call
}

// peakTurns is how many multiply-adds each accumulator gets in a call: some 0.2 ms of them.
const peakTurns = 20_000

// NewPeak builds a kernel of independent multiply-adds on whole vectors of d, Float32 or Float64, for a target's
// processor. There are enough accumulators to hide the latency of the units, and all of them stay in registers.
func NewPeak(ctx context.Context, to string, d tensor.DType, threads int, tempDir string) (*Peak, error) {
	t, err := parseTarget(to)
	if err != nil {
		return nil, err
	}
	if t.API != target.Native || d != tensor.Float32 && d != tensor.Float64 {
		return nil, diag.Unsupported("peak", t.String(), "the peak of %v is measured on processors, for float32 and float64", d)
	}
	threads = max(1, threads)
	k, flops := peakKernel(t, d, threads)
	b, err := BuildProgram(ctx, KernelProgram(k), BuildOptions{Target: to, TempDir: tempDir})
	if err != nil {
		return nil, err
	}
	p := &Peak{dtype: d, flops: flops}
	if p.c, err = b.Load(CallOptions{Threads: threads}); err != nil {
		return nil, err
	}
	for _, x := range b.program.Params {
		p.args = append(p.args, tensor.New(x.DType, x.Shape))
	}
	factor := tensor.NewWide(d, p.args[0].Shape)
	for i := range factor.F {
		factor.F[i] = 0.999
		if i >= len(factor.F)/2 {
			factor.F[i] = 0.001 // the sums stay near 1
		}
	}
	p.args[0] = factor.Narrow()
	return p, nil
}

// peakKernel returns acc[c] = acc[c] · x + y, again and again, for several vectors acc[c], once a thread.
func peakKernel(t *target.Target, d tensor.DType, threads int) (k *tir.Kernel, flops float64) {
	lanes, chains := t.Lanes(d.Bits()), min(24, t.VectorRegisters-4)
	in := &tir.Buffer{Name: "factors", DType: d, Shape: []int{2, lanes}, Scope: tir.Global}
	out := &tir.Buffer{Name: "sums", DType: d, Shape: []int{threads, chains, lanes}, Scope: tir.Global}
	acc := &tir.Buffer{Name: "acc", DType: d, Shape: []int{chains, lanes}, Scope: tir.Local}
	g, turn := tir.NewVar("g"), tir.NewVar("turn")
	all := &tir.Ramp{Base: tir.I(0), Stride: tir.I(1), Lanes: lanes}
	at := func(b *tir.Buffer, i ...tir.Expr) tir.Expr { return &tir.Load{Buffer: b, Indices: append(i, all)} }
	put := func(b *tir.Buffer, v tir.Expr, i ...tir.Expr) tir.Stmt {
		return &tir.Store{Buffer: b, Indices: append(i, all), Value: v}
	}
	var first, step, last []tir.Stmt
	for c := range chains {
		n := tir.I(c)
		first = append(first, put(acc, &tir.Broadcast{A: tir.Const(d, float64(c)/8), Lanes: lanes}, n))
		step = append(step, put(acc, tir.FMA.Of(at(acc, n), at(in, tir.I(0)), at(in, tir.I(1))), n))
		last = append(last, put(out, at(acc, n), g, n))
	}
	loop := &tir.For{Var: turn, Min: tir.I(0), Extent: tir.I(peakTurns), Body: &tir.Seq{Stmts: step}}
	return &tir.Kernel{Name: "peak", Params: []*tir.Buffer{in, out}, Outputs: 1, Grid: g, GridExtent: threads,
		Body: &tir.Allocate{Buffer: acc, Body: &tir.Seq{Stmts: slices.Concat(first, []tir.Stmt{loop}, last)}}}, 2 * float64(chains*lanes*peakTurns*threads)
}

// Measure returns the GFLOP/s of the fastest of the calls that fit in d.
func (p *Peak) Measure(ctx context.Context, d time.Duration) (float64, error) {
	end, err := p.c.begin(ctx, p.args)
	if err != nil {
		return 0, err
	}
	defer end()
	best := time.Hour
	for begin, n := time.Now(), 0; n < 3 || time.Since(begin) < d; n++ {
		took, err := p.c.sample(ctx, 1)
		if err != nil {
			return 0, err
		}
		best = min(best, took)
	}
	return p.flops / float64(best.Nanoseconds()), nil
}

// Close frees the kernel.
func (p *Peak) Close() error { return p.c.Close() }

// A slice of coreClock is short, so that most of them are not interrupted.
const (
	clockSlices = 40
	clockTurns  = 4096
	clockChain  = 16 // operations a turn
)

// coreClock measures the clock of the core that this runs on, in GHz, in some milliseconds: each operation of a chain of
// additions and exclusive ors waits for the one before it, and takes a cycle on every processor that code is made for.
func coreClock() float64 {
	best := time.Hour
	x := uint64(time.Now().UnixNano()) // nothing that the compiler knows
	a, b := x|1, ^x
	for range clockSlices {
		begin := time.Now()
		for range clockTurns {
			x = (((x + a) ^ b) + a) ^ b
			x = (((x + a) ^ b) + a) ^ b
			x = (((x + a) ^ b) + a) ^ b
			x = (((x + a) ^ b) + a) ^ b
		}
		best = min(best, time.Since(begin))
	}
	runtime.KeepAlive(x)
	return clockChain * clockTurns / float64(best.Nanoseconds())
}
