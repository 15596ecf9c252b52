package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/texel-ml/texel"
	"github.com/texel-ml/texel/codegen/llvm"
	"github.com/texel-ml/texel/codegen/opencl"
	"github.com/texel-ml/texel/target"
	"github.com/texel-ml/texel/tir"
	"github.com/texel-ml/texel/tir/tirtext"
	looppasses "github.com/texel-ml/texel/tir/transform"
)

type buildFlags struct {
	target    string
	trace     string
	output    string
	emit      string
	dump      string
	startAt   string
	stopAfter string
	workers   int
	bench     bool
	stats     bool
	json      bool
	device    string
	threads   int
	rounds    int
	maxSteps  int64
	checkTime time.Duration
	args      argFlags
}

// buildResult is the contract of build --json.
type buildResult struct {
	Function string             `json:"function"`
	Target   string             `json:"target"`
	Tune     string             `json:"tune,omitempty"` // the processor whose scheduling LLVM follows
	BuildMS  float64            `json:"build_ms"`
	Code     int                `json:"code_bytes"`
	Flops    int64              `json:"flops"`
	Kernels  []builtKernel      `json:"kernels"`
	Stats    *llvm.Stats        `json:"stats,omitempty"`
	Bench    *texel.BenchResult `json:"bench,omitempty"`
	Drawn    []string           `json:"drawn_inputs,omitempty"`
}

type builtKernel struct {
	Name    string `json:"name"`
	Grid    int    `json:"grid"` // of a processor
	Scratch int    `json:"scratch_bytes"`
}

func (a *app) buildCommand() *cobra.Command {
	f := &buildFlags{}
	c := &cobra.Command{
		Use:   "build X.tir",
		Short: "generates code for a loop function, and measures it",
		Args:  args("a .tir file"),
		RunE:  func(c *cobra.Command, args []string) error { return a.build(c.Context(), args[0], f) },
	}
	c.Flags().StringVar(&f.target, "target", "", "RECORD or RECORD/API (default: this host)")
	c.Flags().StringVar(&f.trace, "trace", "", "file of a schedule trace that is replayed on the function first")
	c.Flags().StringVarP(&f.output, "output", "o", "", "the shared object to write; with --stop-after, the .tir")
	c.Flags().StringVar(&f.emit, "emit", "", "tir,llvm,asm,opencl=DIR: write these forms")
	c.Flags().StringVar(&f.dump, "dump", "", "folder for the .tir after the trace and after each loop pass")
	c.Flags().StringVar(&f.startAt, "start-at", "", "first loop pass that runs on a program (default: the one behind its stage)")
	c.Flags().StringVar(&f.stopAfter, "stop-after", "", "print the program behind this loop pass")
	c.Flags().IntVar(&f.workers, "jobs", 0, "modules compiled at once (0: one a processor)")
	c.Flags().BoolVar(&f.bench, "bench", false, "check the results and time the code")
	c.Flags().BoolVar(&f.stats, "stats", false, "static cost of the code, by its assembly and llvm-mca")
	c.Flags().BoolVar(&f.json, "json", false, "print one JSON document")
	c.Flags().StringVar(&f.device, "device", "", "of --bench: cpu, opencl or opencl:NUMBER (default: the target's)")
	c.Flags().IntVar(&f.threads, "threads", 1, "of --bench: threads of the cpu")
	c.Flags().IntVar(&f.rounds, "rounds", 0, "of --bench: measured samples (0: as many as fit in a second)")
	c.Flags().Int64Var(&f.maxSteps, "max-steps", 200_000_000, "of --bench: iterations that the interpreter may take to check results")
	c.Flags().DurationVar(&f.checkTime, "check-time", 20*time.Second, "of --bench: how long the interpreter may take to check results (0: no limit)")
	f.args.add(c)
	return c
}

// check refuses flags that make no sense, before anything is read.
func (f *buildFlags) check() error {
	for _, x := range []struct{ flag, pass string }{{"start-at", f.startAt}, {"stop-after", f.stopAfter}} {
		if _, err := looppasses.FindPass(x.pass); x.pass != "" && err != nil {
			return usage("--%s wants a loop pass, found %q", x.flag, x.pass)
		}
	}
	if f.stopAfter != "" && (f.bench || f.stats || f.json || f.emit != "") {
		return usage("--stop-after leaves no code for --bench, --stats, --json and --emit")
	}
	if f.threads < 1 || f.threads > maxThreads {
		return usage("--threads wants 1 to %d, found %d", maxThreads, f.threads)
	}
	if f.rounds < 0 {
		return usage("--rounds wants a number from 0, found %d", f.rounds)
	}
	if f.maxSteps < 1 {
		return usage("--max-steps wants a number from 1, found %d", f.maxSteps)
	}
	if f.checkTime < 0 {
		return usage("--check-time wants a time from 0, such as 90s, found %v", f.checkTime)
	}
	if f.workers < 0 {
		return usage("--jobs wants a number from 0, found %d", f.workers)
	}
	if f.device != "" {
		return (&deviceFlags{device: f.device}).check()
	}
	return nil
}

// to returns the target: the one that is named, or that of the device.
func (f *buildFlags) to() (*target.Target, error) {
	name := f.target
	if name == "" && f.device != "" {
		var err error
		if name, err = texel.DeviceTarget(f.device); err != nil {
			return nil, err
		}
	}
	if name == "" {
		name = "host"
	}
	return target.Parse(name)
}

// emitted returns the forms of --emit and its folder.
func (f *buildFlags) emitted(t *target.Target) (forms []string, dir string, err error) {
	if f.emit == "" {
		return nil, "", nil
	}
	list, dir, _ := strings.Cut(f.emit, "=")
	if dir == "" {
		return nil, "", usage("--emit wants tir,llvm,asm,opencl=DIR, found %q", f.emit)
	}
	made := map[string]bool{"tir": true, "llvm": t.API == target.Native, "asm": t.API == target.Native, "opencl": t.API == target.OpenCL}
	for _, form := range strings.Split(list, ",") {
		goes, known := made[form]
		if !known {
			return nil, "", usage("--emit wants tir, llvm, asm or opencl, found %q", form)
		}
		if !goes {
			return nil, "", usage("--emit %s: code for %s does not go through it", form, t)
		}
		forms = append(forms, form)
	}
	return forms, dir, nil
}

func (a *app) build(ctx context.Context, path string, f *buildFlags) error {
	if err := f.check(); err != nil {
		return err
	}
	t, err := f.to()
	if err != nil {
		return err
	}
	forms, dir, err := f.emitted(t)
	if err != nil {
		return err
	}
	if f.output != "" && f.stopAfter == "" && t.API != target.Native {
		return usage("-o wants a target with one shared object; the sources for %s are written by --emit opencl=DIR", t)
	}
	p, err := readLoops(path)
	if err != nil {
		return err
	}
	opts := texel.BuildOptions{Target: t.String(), StartAt: f.startAt, StopAfter: f.stopAfter, Emit: forms, Workers: f.workers}
	if f.trace != "" {
		if opts.Trace, err = readTrace(f.trace); err != nil {
			return err
		}
	}
	if opts.Dump, err = buildDumper(f.dump, dir, forms); err != nil {
		return err
	}
	start := time.Now()
	b, err := buildLoops(ctx, p, opts)
	if err != nil {
		return err
	}
	took := time.Since(start)
	if f.stopAfter != "" {
		text := tirtext.PrintProgram(b.Program())
		if f.output != "" {
			return writeText(f.output, text)
		}
		_, err := io.WriteString(a.out, text)
		return err
	}
	if slices.Contains(forms, "tir") {
		for _, k := range b.Program().Kernels {
			if err := writeBelow(dir, "code/"+k.Name+".tir", tirtext.PrintKernel(k)); err != nil {
				return err
			}
		}
	}
	if f.output != "" {
		code := b.Code()[0].Data
		if err := writeFile(f.output, func(w io.Writer) error { _, err := io.Copy(w, bytes.NewReader(code)); return err }); err != nil {
			return err
		}
	}
	return a.reportBuild(ctx, p, b, took, f)
}

// buildLoops builds a function or a program.
func buildLoops(ctx context.Context, p *loops, opts texel.BuildOptions) (b *texel.Built, err error) {
	if p.fn != nil {
		b, err = texel.Build(ctx, p.fn, opts)
	} else {
		b, err = texel.BuildProgram(ctx, p.program, opts)
	}
	return b, p.placed(err)
}

// buildDumper returns what takes the dumps: .tir files below dump, code below emit.
func buildDumper(dump, emit string, forms []string) (func(string, func() string) error, error) {
	ends := map[string]bool{".ll": slices.Contains(forms, "llvm"), ".s": slices.Contains(forms, "asm"), ".cl": slices.Contains(forms, "opencl")}
	if dump == "" && emit == "" {
		return nil, nil
	}
	return func(name string, text func() string) error {
		if ends[filepath.Ext(name)] {
			return writeBelow(emit, name, text())
		}
		if dump == "" {
			return nil
		}
		return writeBelow(dump, name, text())
	}, nil
}

// reportBuild measures what the flags ask for, and prints it.
func (a *app) reportBuild(ctx context.Context, p *loops, b *texel.Built, took time.Duration, f *buildFlags) error {
	r := &buildResult{Function: b.Name(), Target: b.Target().String(), Tune: b.Target().Tune, BuildMS: ms(took), Flops: b.Work().Flops}
	for _, c := range b.Code() {
		r.Code += len(c.Data)
	}
	for _, k := range b.Program().Kernels {
		r.Kernels = append(r.Kernels, builtKernel{k.Name, k.GridExtent, k.Scratch})
	}
	var err error
	if f.stats {
		if r.Stats, err = b.Stats(ctx); err != nil {
			return err
		}
	}
	if f.bench {
		o := texel.BenchOptions{Threads: f.threads, Samples: f.rounds, Device: f.device, MaxSteps: f.maxSteps, CheckTime: f.checkTime}
		if f.checkTime == 0 {
			o.CheckTime = -1
		}
		if o.Args, o.Scalars, r.Drawn, err = f.args.arguments(p); err != nil {
			return err
		}
		bar := a.progressBar()
		o.Progress = bar.report
		r.Bench, err = b.Bench(ctx, o)
		bar.stop()
		if err != nil {
			return err
		}
	}
	if f.json {
		e := json.NewEncoder(a.out)
		e.SetIndent("", "  ")
		return e.Encode(r)
	}
	a.printBuild(r, b)
	return nil
}

func (a *app) printBuild(r *buildResult, b *texel.Built) {
	tune := ""
	if r.Tune != "" && r.Tune != r.Target {
		tune = " (" + r.Tune + ")"
	}
	fmt.Fprintf(a.out, "%s for %s%s: kernels %d, code %.1f kB, %.0f ms\n", r.Function, r.Target, tune, len(r.Kernels), float64(r.Code)/1e3, r.BuildMS)
	for i, k := range r.Kernels {
		fmt.Fprintf(a.out, "kernel %s: grid %s, scratch %d bytes\n", k.Name, gridOf(b.Program().Kernels[i], b.Target()), k.Scratch)
	}
	if r.Stats != nil {
		a.printStats(r.Stats)
	}
	if r.Bench != nil {
		if len(r.Drawn) > 0 {
			fmt.Fprintf(a.out, "drawn inputs: %s\n", strings.Join(r.Drawn, ", "))
		}
		a.printBuildBench(r.Bench)
	}
}

// gridOf prints the grid of a kernel.
func gridOf(k *tir.Kernel, t *target.Target) string {
	if t.Kind == target.CPU {
		return fmt.Sprint(k.GridExtent)
	}
	grid, group, err := opencl.Geometry(k)
	if err != nil {
		return "none"
	}
	return fmt.Sprintf("%v in groups of %v", grid, group)
}

func (a *app) printStats(s *llvm.Stats) {
	model := s.Model
	if s.StandsFor != "" {
		model += ", which stands for " + s.StandsFor
	}
	for _, k := range s.Kernels {
		fmt.Fprintf(a.out, "static %s: %d instructions, %d vector registers, %d spills, %d reloads, %d stack references\n", k.Kernel, k.Instructions,
			k.VectorRegisters, k.Spills, k.Reloads, k.StackReferences)
		for _, l := range k.Loops {
			fmt.Fprintf(a.out, "  loop %s: %d instructions, %d fma, %d loads, %d stores, %d vector registers, %d stack references; %.2f cycles an iteration",
				l.Label, l.Instructions, l.FMAs, l.Loads, l.Stores, l.VectorRegisters, l.StackReferences, l.Cycles)
			if l.FMAs > 0 {
				fmt.Fprintf(a.out, ", fma issue %.1f %%", 100*l.FMAIssue)
			}
			if l.Blocks > 1 {
				fmt.Fprintf(a.out, " (all of its %d blocks in a row)", l.Blocks)
			}
			if l.Calls > 0 {
				fmt.Fprintf(a.out, " (and %d calls)", l.Calls)
			}
			fmt.Fprintln(a.out)
		}
	}
	fmt.Fprintf(a.out, "cycles by llvm-mca's model of %s\n", model)
}

func (a *app) printBuildBench(r *texel.BenchResult) {
	samples := fmt.Sprintf("%d samples", r.Samples)
	if r.Batch > 1 {
		samples += fmt.Sprintf(" of %d calls", r.Batch)
	}
	fmt.Fprintf(a.out, "threads %d: median %.4g ms, min %.4g, p95 %.4g (%s)\n", r.Threads, r.MedianMS, r.MinMS, r.P95MS, samples)
	about := ""
	if !r.FlopsExact {
		about = "about "
	}
	switch {
	case r.Flops > 0:
		fmt.Fprintf(a.out, "%.2f GFLOP/s, best %.2f (%s%d operations a call)\n", r.GFLOPS, r.BestGFLOPS, about, r.Flops)
	case r.IntOps > 0:
		fmt.Fprintf(a.out, "%.2f Gop/s of integers (%s%d operations a call)\n", float64(r.IntOps)/r.MedianMS/1e6, about, r.IntOps)
	}
	if r.MeasuredPeak > 0 {
		fmt.Fprintf(a.out, "peak of multiply-adds measured here %.1f GFLOP/s %s: %.1f %% of it, best %.1f %%\n", r.MeasuredPeak, r.PeakType, 100*r.OfMeasured, 100*r.BestMeasured)
		fmt.Fprintf(a.out, "peak of the units in record %s, at %.2f GHz measured here, %.1f GFLOP/s: %.1f %% of it\n", r.Target, r.ClockGHz, r.RecordPeak, 100*r.OfRecord)
	}
	if strings.HasPrefix(r.Checked, "not ") {
		fmt.Fprintf(a.out, "results %s\n", r.Checked)
	} else {
		fmt.Fprintf(a.out, "results checked against %s\n", r.Checked)
	}
}
