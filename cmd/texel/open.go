package main

import (
	"context"
	"errors"
	"maps"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/texel-ml/texel"
	"github.com/texel-ml/texel/artifact"
	"github.com/texel-ml/texel/diag"
	"github.com/texel-ml/texel/internal/scratch"
	"github.com/texel-ml/texel/relay/importer/onnx"
	"github.com/texel-ml/texel/relay/relaytext"
	"github.com/texel-ml/texel/tensor"
)

// modelFlags are the flags of every command that takes a model: how it is compiled.
type modelFlags struct {
	target      string
	inputShapes []string
	dims        []string
	maxTrips    int
	optLevel    string
	precision   string
	keepWide    string
	fastMath    bool
	keepIR      bool
	noCache     bool
	workers     int
}

func (f *modelFlags) add(c *cobra.Command) {
	c.Flags().StringArrayVar(&f.inputShapes, "input-shape", nil, "shape of an input, name=1,3,224,224")
	c.Flags().StringArrayVar(&f.dims, "dim", nil, "extent of a named dimension, batch=1")
	c.Flags().IntVar(&f.maxTrips, "max-trips", 0, "rounds of a loop that collects values, where only a run knows their number")
	c.Flags().StringVar(&f.optLevel, "opt-level", "3", "0 to 3: how much the graph is optimised")
	c.Flags().StringVar(&f.precision, "precision", "float32", "float32, float16, bfloat16 or mixed: in which type values and weights are kept")
	c.Flags().StringVar(&f.keepWide, "keep-float32", "", "REGEXP of the names of operators that --precision leaves in float32")
	c.Flags().BoolVar(&f.fastMath, "fast-math", false, "allow rewrites of the graph that round differently, or lose the sign of a zero")
	c.Flags().IntVar(&f.workers, "jobs", 0, "kernels compiled at once (0: one a processor)")
}

// options returns what the flags say. given are inputs whose shapes bind what the model leaves open.
func (f *modelFlags) options(given map[string]*tensor.Tensor) (texel.Options, error) {
	o := texel.Options{MaxTrips: f.maxTrips, FastMath: f.fastMath, KeepIR: f.keepIR, Workers: f.workers, InputShapes: map[string][]int{}, Dims: map[string]int{}}
	var err error
	if o.OptLevel, err = texel.ParseOptLevel(f.optLevel); err != nil {
		return o, usageError{err}
	}
	if o.Precision, err = texel.ParsePrecision(f.precision); err != nil {
		return o, usageError{err}
	}
	if f.keepWide != "" {
		if o.KeepFloat32, err = texel.KeepPattern(f.keepWide); err != nil {
			return o, usageError{err}
		}
	}
	switch wide := o.Precision == texel.Float32; {
	case !wide && o.OptLevel.Number() < 3:
		return o, usage("--precision %s goes with --opt-level 3 only", f.precision)
	case wide && f.keepWide != "":
		return o, usage("--keep-float32 goes with --precision float16, bfloat16 or mixed")
	}
	if f.target != "" {
		o.Targets = strings.Split(f.target, ",")
	}
	if f.workers < 0 {
		return o, usage("--jobs wants a number from 0, found %d", f.workers)
	}
	if f.maxTrips < 0 {
		return o, usage("--max-trips wants a number from 0, found %d", f.maxTrips)
	}
	for _, s := range f.dims {
		name, value, _ := strings.Cut(s, "=")
		n, err := strconv.Atoi(value)
		if err != nil || n < 0 || name == "" {
			return o, usage("--dim wants name=extent, found %q", s)
		}
		o.Dims[name] = n
	}
	for _, s := range f.inputShapes {
		name, value, found := strings.Cut(s, "=")
		shape, err := parseInts(value)
		if err != nil || name == "" || !found {
			return o, usage("--input-shape wants name=1,3,224,224, found %q", s)
		}
		if _, twice := o.InputShapes[name]; twice {
			return o, diag.Unsupported("compile", name, "several shapes of one input in one artifact are not in this version")
		}
		o.InputShapes[name] = shape
	}
	for name, t := range given {
		if _, set := o.InputShapes[name]; !set {
			o.InputShapes[name] = t.Shape
		}
	}
	return o, nil
}

func parseInts(s string) ([]int, error) {
	list := []int{}
	if strings.TrimSpace(s) == "" || s == "()" {
		return list, nil
	}
	for _, part := range strings.Split(strings.Trim(s, "()"), ",") {
		n, err := strconv.Atoi(strings.TrimSpace(part))
		if err != nil {
			return nil, err
		}
		list = append(list, n)
	}
	return list, nil
}

// deviceFlags are the flags of every command that runs something.
type deviceFlags struct {
	device  string
	threads int
	batch   int // 0: as the inputs have
}

func (f *deviceFlags) add(c *cobra.Command) {
	c.Flags().StringVar(&f.device, "device", "cpu", "cpu, opencl or opencl:NUMBER")
	c.Flags().IntVar(&f.threads, "threads", 0, "threads of the cpu (0: one a processor)")
}

// addBatch adds the flag of the commands that run a batch.
func (f *deviceFlags) addBatch(c *cobra.Command) {
	c.Flags().IntVar(&f.batch, "batch", 0, "rows of a model whose batch is open (0: as the inputs have, or 1)")
}

// maxThreads is how many threads an instance takes.
const maxThreads = 1024

func (f *deviceFlags) check() error {
	kind, number, numbered := strings.Cut(f.device, ":")
	switch kind {
	case "cpu", "opencl":
		if _, err := strconv.ParseUint(number, 10, 16); numbered && (err != nil || kind == "cpu") {
			return usage("--device wants cpu, opencl or opencl:NUMBER, found %q", f.device)
		}
	case "vulkan", "remote", "adb":
		return diag.Unsupported("device", f.device, "this device is not in this version; cpu and opencl are")
	default:
		return usage("--device wants cpu, opencl, vulkan, remote:ADDR or adb, found %q", f.device)
	}
	if f.batch < 0 || f.batch > artifact.MaxBatch {
		return usage("--batch wants 1 to %d, found %d", artifact.MaxBatch, f.batch)
	}
	if f.threads < 0 || f.threads > maxThreads {
		return usage("--threads wants 0 to %d, found %d", maxThreads, f.threads)
	}
	return nil
}

// compileFor chooses the target of a model that is to run on the device, where none is given.
func (f *deviceFlags) compileFor(o *texel.Options) error {
	if len(o.Targets) > 0 {
		return nil
	}
	to, err := texel.DeviceTarget(f.device)
	o.Targets = []string{to}
	return err
}

func (f *deviceFlags) count() int {
	if f.threads > 0 {
		return f.threads
	}
	return runtime.GOMAXPROCS(0)
}

// tunedFlags are the flags of the contract that need tuning records.
type tunedFlags struct {
	records string
	fastRun bool
}

func (f *tunedFlags) add(c *cobra.Command) {
	c.Flags().StringVar(&f.records, "records", "", "not in this version")
	c.Flags().BoolVar(&f.fastRun, "fast-run", false, "not in this version")
}

func (f *tunedFlags) refuse() error {
	if f.records != "" || f.fastRun {
		return diag.Unsupported("records", "--records, --fast-run", "tuning is not in this version")
	}
	return nil
}

// opened is a model that is ready to run, and how it came to be.
type opened struct {
	*texel.Model
	path      string // of the artifact
	name      string // of what the user gave
	compileMS float64
	cached    bool
	loadMS    float64
	close     func()
}

func isArtifact(path string) bool { return strings.EqualFold(filepath.Ext(path), ".texel") }

// open loads an artifact, or compiles a model through the cache and loads the result. What the model leaves open is bound by the
// shapes of given, but for a batch that can stay open.
func (a *app) open(ctx context.Context, path string, m *modelFlags, d *deviceFlags, given map[string]*tensor.Tensor) (*opened, error) {
	if err := d.check(); err != nil {
		return nil, err
	}
	if isArtifact(path) {
		return a.load(&opened{path: path, name: path, close: func() {}}, d, nil)
	}
	if err := nameInputs(path, given); err != nil {
		return nil, err
	}
	opts, err := m.options(given)
	if err != nil {
		return nil, err
	}
	if err := d.compileFor(&opts); err != nil {
		return nil, err
	}
	apart, err := batchApart(path, m, opts, given)
	if err != nil {
		return nil, err
	}
	if apart != nil {
		o, err := a.compiled(ctx, path, *apart, m.noCache, d)
		if err != nil || takes(o.Model, given) {
			return o, err
		}
		o.Close()
		o.close()
	}
	return a.compiled(ctx, path, opts, m.noCache, d)
}

// takes reports whether a model runs on arrays of these shapes.
func takes(m *texel.Model, given map[string]*tensor.Tensor) bool {
	return !slices.ContainsFunc(m.Inputs(), func(in artifact.Port) bool {
		t := given[in.Name]
		return t != nil && in.Open == nil && !t.Shape.Equal(in.Shape)
	})
}

// batchApart returns options that leave axis 0 of inputs open where the model does, and bind the other axes to those of given as
// opts does. Nil is that there are none.
func batchApart(path string, m *modelFlags, opts texel.Options, given map[string]*tensor.Tensor) (*texel.Options, error) {
	inputs, err := inputsOf(path)
	if err != nil {
		return nil, err
	}
	user, err := m.options(nil)
	if err != nil {
		return nil, err
	}
	found := false
	apart := opts
	apart.InputShapes, apart.Dims = maps.Clone(opts.InputShapes), maps.Clone(opts.Dims)
	for _, in := range inputs {
		t := given[in.Name]
		if _, bound := user.InputShapes[in.Name]; t == nil || bound || len(in.Shape) == 0 || len(t.Shape) != len(in.Shape) || in.Shape[0] != tensor.Unknown || in.Dims == nil {
			continue
		}
		if _, bound := user.Dims[in.Dims[0]]; bound && in.Dims[0] != "" {
			continue
		}
		for axis, name := range in.Dims {
			if axis == 0 || in.Shape[axis] != tensor.Unknown {
				continue
			}
			if old, bound := apart.Dims[name]; name == "" || name == in.Dims[0] || bound && old != t.Shape[axis] {
				return nil, nil
			}
			apart.Dims[name] = t.Shape[axis]
		}
		delete(apart.InputShapes, in.Name)
		found = true
	}
	if !found {
		return nil, nil
	}
	return &apart, nil
}

// compiled compiles a model through the cache and loads the result.
func (a *app) compiled(ctx context.Context, path string, opts texel.Options, noCache bool, d *deviceFlags) (*opened, error) {
	o := &opened{path: path, name: path, close: func() {}}
	build := func() error { return a.artifactOf(ctx, o, opts, noCache) }
	if err := build(); err != nil {
		return nil, err
	}
	return a.load(o, d, build)
}

// load loads an artifact; one of the cache that is damaged is built anew.
func (a *app) load(o *opened, d *deviceFlags, build func() error) (*opened, error) {
	start := time.Now()
	load := func() (*texel.Model, error) {
		return texel.Load(o.path, texel.LoadOptions{Threads: d.count(), Device: d.device, Batch: d.batch, CacheDir: a.verifiedDir()})
	}
	model, err := load()
	if errors.Is(err, diag.ErrInvalid) && o.cached { // since it was kept; it is only a copy
		(&cacheEntry{path: o.path}).remove()
		if err := build(); err != nil {
			return nil, err
		}
		start = time.Now()
		model, err = load()
	}
	if err != nil {
		o.close()
		return nil, err
	}
	o.Model, o.loadMS = model, ms(time.Since(start))
	return o, nil
}

// inputsOf returns the inputs of the model at path, in order; none for a format that has to be compiled to know.
func inputsOf(path string) ([]onnx.Input, error) {
	switch strings.ToLower(filepath.Ext(path)) {
	case ".onnx":
		sig, err := onnx.ReadSignature(path)
		if err != nil {
			return nil, err
		}
		return sig.Inputs, nil
	case ".relay":
		list, err := relaytext.ReadInputs(path)
		inputs := make([]onnx.Input, len(list))
		for i, in := range list {
			inputs[i] = onnx.Input{Name: in.Name, DType: in.DType, Shape: in.Shape, Dims: make([]string, len(in.Shape)), Default: in.Default}
		}
		return inputs, err
	}
	return nil, nil
}

// nameInputs checks the names of arrays against the model's inputs, and gives the one without a name that of the only
// input.
func nameInputs(path string, given map[string]*tensor.Tensor) error {
	if len(given) == 0 {
		return nil
	}
	inputs, err := inputsOf(path)
	if err != nil || inputs == nil {
		return err
	}
	var names []string
	for _, in := range inputs {
		names = append(names, in.Name)
	}
	if t := given[""]; t != nil && len(names) == 1 {
		delete(given, "")
		given[names[0]] = t
	}
	for name := range given {
		if !slices.Contains(names, name) {
			return diag.Invalid("run", name, "no input has this name; the inputs are %s", strings.Join(names, ", "))
		}
	}
	return nil
}

// artifactOf finds the artifact of a model in the cache, or compiles it.
func (a *app) artifactOf(ctx context.Context, o *opened, opts texel.Options, noCache bool) error {
	bar := a.progressBar()
	defer bar.stop()
	opts.Progress = bar.report
	build := func(path string) error {
		c, err := texel.Compile(ctx, o.name, opts)
		if err != nil {
			return err
		}
		defer c.Close()
		if err := c.WriteFile(path); err != nil {
			return notKept{err}
		}
		return nil
	}
	store, err := a.openCache()
	if err == nil && !noCache && !strings.EqualFold(filepath.Ext(o.name), ".tflite") { // the cache knows contents, not formats
		entry, err := store.get(o.name, opts, build)
		if err == nil {
			o.path, o.compileMS, o.cached = entry.path, entry.CompileMS, entry.hit
			return nil
		}
		if !errors.As(err, new(notKept)) {
			return err
		}
	}
	dir, err := scratch.New("", "run")
	if err != nil {
		return err
	}
	o.path, o.close = filepath.Join(dir.Path, "model.texel"), func() { dir.Close() }
	start := time.Now()
	if err := build(o.path); err != nil {
		o.close()
		return err
	}
	o.compileMS, o.cached = ms(time.Since(start)), false
	return nil
}

// notKept is the error of an artifact that could not be written: a cache without room costs only time.
type notKept struct{ error }

func (n notKept) Unwrap() error { return n.error }

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
