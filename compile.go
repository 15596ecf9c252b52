package texel

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/texel-ml/texel/artifact"
	"github.com/texel-ml/texel/codegen/llvm"
	"github.com/texel-ml/texel/diag"
	"github.com/texel-ml/texel/memplan"
	"github.com/texel-ml/texel/relay"
	"github.com/texel-ml/texel/relay/batch"
	"github.com/texel-ml/texel/relay/importer/onnx"
	"github.com/texel-ml/texel/relay/relaytext"
	graphpasses "github.com/texel-ml/texel/relay/transform"
	"github.com/texel-ml/texel/target"
	"github.com/texel-ml/texel/tensor"
	"github.com/texel-ml/texel/tir"
	"github.com/texel-ml/texel/tir/tirtext"
)

// Version is the version of the compiler.
const Version = "0.1.0"

// Compiled is a compiled model that is not written yet. Close releases the model's file.
type Compiled struct {
	header   artifact.Header
	source   *relay.Module // as imported
	variants []*variant
	keepIR   bool
	closed   bool
	notes    []diag.Note
}

// variant is the model compiled for one target.
type variant struct {
	target   *target.Target
	features []string      // of the machine, needed to run
	module   *relay.Module // after the graph passes
	main     *region
	units    []*unit
	plan     *artifact.Plan
	data     map[string][]byte         // weights by digest
	digests  map[*tensor.Tensor]string // of constants
	code     []artifact.Code
	layers   []layer
}

// Compile compiles the model in the file at path: ONNX (.onnx), or Relay text (.relay) with what lies beside it.
//
// Errors are *diag.Error: ErrInvalid for a damaged or illegal model, ErrUnsupported for what is legal and not done
// here, ErrMissing when LLVM's tools are not installed. Compile looks at ctx between steps and kernels.
func Compile(ctx context.Context, path string, opts Options) (c *Compiled, err error) {
	j := &job{opts: opts, notes: &diag.Notes{}}
	defer func() {
		if r := recover(); r != nil {
			err = diag.Internal(j.step, path, "%v\n%s", r, debug.Stack())
		}
		if err != nil && c != nil {
			c.Close()
			c = nil
		}
	}()
	if err := checkValues(opts.Values); err != nil {
		return nil, err
	}
	if opts.MaxTrips < 0 {
		return nil, diag.Invalid("options", "max-trips", "wanted a number from 0, found %d", opts.MaxTrips)
	}
	if err := opts.check(); err != nil {
		return nil, err
	}
	targets, err := parseTargets(opts.Targets)
	if err != nil {
		return nil, err
	}
	if len(opts.Targets) == 0 {
		j.notes.Add(diag.Default, "options", "target", "not given: this host, %s with vectors of %d bits", targets[0].CPU, targets[0].VectorBits)
	}
	c = &Compiled{keepIR: opts.KeepIR}
	j.progress("import", 0, 1)
	if c.source, err = Import(ctx, path, opts, j.notes); err != nil {
		return c, err
	}
	if j.axes, err = j.leaveOpen(ctx, path, c.source); err != nil {
		return c, err
	}
	if c.header, err = header(path, opts); err != nil {
		return c, err
	}
	for _, t := range targets {
		v, err := j.variant(ctx, c.source, t)
		if err != nil {
			return c, err
		}
		c.variants = append(c.variants, v)
	}
	c.notes = j.notes.List()
	return c, nil
}

// Import reads a model as a module of relay, its dimensions bound by opts. Notes go to notes, which may be nil.
func Import(ctx context.Context, path string, opts Options, notes *diag.Notes) (*relay.Module, error) {
	return importModel(ctx, path, opts, 1, notes)
}

// importModel is Import with a batch where the model leaves it open.
func importModel(ctx context.Context, path string, opts Options, batch int, notes *diag.Notes) (*relay.Module, error) {
	var m *relay.Module
	var err error
	switch ext := strings.ToLower(filepath.Ext(path)); ext {
	case ".onnx":
		var list []diag.Note
		m, list, err = onnx.Import(ctx, path, onnx.Options{InputShapes: opts.InputShapes, Dims: opts.Dims, Values: opts.Values, MaxTrips: opts.MaxTrips,
			FreezeDefaults: opts.FreezeDefaults, Batch: batch})
		for _, n := range list {
			notes.Append(n)
		}
	case ".relay":
		for name := range opts.Dims {
			return nil, diag.Invalid("import", path, "dimension %q is given, but Relay text names no dimensions; give the shapes of inputs", name)
		}
		m, err = relaytext.Import(ctx, path, relaytext.Options{Ops: opts.Extend.ops(), Shapes: opts.InputShapes, Values: opts.Values,
			FreezeDefaults: opts.FreezeDefaults, Batch: batch, Notes: notes})
	case ".tflite":
		return nil, diag.Unsupported("import", path, "tflite models are not read yet")
	default:
		return nil, diag.Invalid("import", path, "wanted a .onnx, .tflite or .relay model, found %q", filepath.Base(path))
	}
	if err != nil {
		return nil, err
	}
	names := slices.Clone(m.Outputs)
	for _, p := range m.Main().Params {
		names = append(names, p.Name)
	}
	for _, name := range names {
		if !utf8.ValidString(name) { // the plan is JSON
			m.Close()
			return nil, diag.Invalid("import", path, "the name %q of an input or output is not text", name)
		}
	}
	return m, nil
}

// checkValues refuses values whose data is not what type and shape say.
func checkValues(values map[string]*tensor.Tensor) error {
	for name, v := range values {
		if v == nil {
			return diag.Invalid("options", name, "the value of this input is nil")
		}
		if n := v.Shape.Elems(); n < 0 || v.DType.Bits() == 0 || len(v.Data) != v.DType.Bytes(n) {
			return diag.Invalid("options", name, "a value of %v of shape %v has %d bytes of data", v.DType, v.Shape, len(v.Data))
		}
	}
	return nil
}

func parseTargets(names []string) ([]*target.Target, error) {
	if len(names) == 0 {
		names = []string{"host"}
	}
	var all []*target.Target
	for _, n := range names {
		t, err := target.Parse(n)
		if err != nil {
			return nil, err
		}
		all = append(all, t)
	}
	return all, nil
}

// header says what was compiled, with which options that change the result.
func header(path string, opts Options) (artifact.Header, error) {
	h := artifact.Header{Producer: artifact.Producer{Name: "texel", Version: Version, Generator: "LLVM " + strconv.Itoa(llvm.Version)}}
	f, err := os.Open(path)
	if err != nil {
		return h, diag.Invalid("import", path, "cannot read the model").By(err)
	}
	defer f.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, f); err != nil {
		return h, diag.Invalid("import", path, "cannot read the model").By(err)
	}
	h.Model = artifact.Model{Name: filepath.Base(path), Digest: hex.EncodeToString(sum.Sum(nil))}
	h.Options = opts.Settings()
	return h, nil
}

// Settings are the options that change what is compiled, as far as they are not the default.
func (o Options) Settings() []artifact.Setting {
	var list []artifact.Setting
	set := func(name, value string) { list = append(list, artifact.Setting{Name: name, Value: value}) }
	for name, shape := range o.InputShapes {
		set("input-shape."+name, tensor.Shape(shape).String())
	}
	for name, n := range o.Dims {
		set("dim."+name, strconv.Itoa(n))
	}
	for name, v := range o.Values {
		sum := sha256.Sum256(v.Data)
		set("value."+name, fmt.Sprintf("%v %v %x", v.DType, v.Shape, sum[:8]))
	}
	if o.MaxTrips > 0 {
		set("max-trips", strconv.Itoa(o.MaxTrips))
	}
	if o.FreezeDefaults {
		set("freeze-defaults", "true")
	}
	if n := o.OptLevel.Number(); n != 3 {
		set("opt-level", strconv.Itoa(n))
	}
	if o.Precision != Float32 {
		set("precision", o.Precision.String())
	}
	if o.KeepFloat32 != nil {
		set("keep-float32", o.KeepFloat32.String())
	}
	if o.FastMath {
		set("fast-math", "true")
	}
	if o.KeepIR {
		set("keep-ir", "true")
	}
	if o.Extend.Name != "" {
		set("extension", o.Extend.Name)
	}
	slices.SortFunc(list, func(a, b artifact.Setting) int { return strings.Compare(a.Name, b.Name) })
	return list
}

// job is one call of Compile.
type job struct {
	opts  Options
	notes *diag.Notes
	axes  *batch.Axes // of the batch, where it stays open
	step  string      // for a panic's message
	mu    sync.Mutex
}

func (j *job) progress(step string, done, total int) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.step = step
	if j.opts.Progress != nil {
		j.opts.Progress(Progress{Step: step, Done: done, Total: total})
	}
}

func (j *job) dump(name string, text func() string) error {
	if j.opts.Dump == nil {
		return nil
	}
	return j.opts.Dump(name, text)
}

// variant compiles the module for one target: graph passes, one loop function a fused function, code, and a plan.
func (j *job) variant(ctx context.Context, m *relay.Module, t *target.Target) (*variant, error) {
	v := &variant{target: t, features: t.Features}
	var err error
	j.progress("graph", 0, 0)
	if v.module, err = j.graph(ctx, m, t); err != nil {
		return nil, err
	}
	if j.opts.StopAfter != "" {
		return v, nil
	}
	if err := j.plan(ctx, v); err != nil {
		return nil, err
	}
	j.progress("generate", 0, len(v.units))
	v.code, err = j.generate(ctx, v)
	return v, err
}

// plan lowers the graph of v, and plans it.
func (j *job) plan(ctx context.Context, v *variant) error {
	t := v.target
	var err error
	if v.main, err = newRegion(v.module.Main(), nil, memoryFor(t).Alignment); err != nil {
		return err
	}
	v.units = findUnits(v.main)
	j.progress("lower", 0, len(v.units))
	if err := lowerUnits(ctx, v.units, j.opts.Extend.tables(), t, j.opts.Workers, j.notes, func(n int) { j.progress("lower", n, len(v.units)) }); err != nil {
		return err
	}
	if err := j.dumpUnits(v.units); err != nil {
		return err
	}
	j.progress("plan", 0, 1)
	p, err := newPlan(v.module, t, v.main, j.notes)
	if err != nil {
		return err
	}
	v.plan, v.data, v.digests, v.layers = p.plan, p.data, p.digests, p.layers
	open(v.plan, j.axes, batchName(v.module))
	if err := memplan.Assign(v.plan, memoryFor(t)); err != nil {
		return err
	}
	if err := v.plan.Check(); err != nil {
		return diag.Internal("plan", "main", "the plan does not pass its check").By(err)
	}
	return nil
}

// generate makes the files of kernels for a target.
func (j *job) generate(ctx context.Context, v *variant) ([]artifact.Code, error) {
	t := v.target
	var kernels []*tir.Kernel
	for _, u := range v.units {
		kernels = append(kernels, u.kernels...)
	}
	switch t.API {
	case target.Native:
	case target.OpenCL:
		return j.openclCode(kernels, v)
	default:
		return nil, diag.Unsupported("generate", t.String(), "no code generator for targets behind %s", t.API)
	}
	out, err := llvm.Build(ctx, kernels, t, llvm.Options{Workers: j.opts.Workers, TempDir: j.opts.TempDir,
		KeepIR: slices.Contains(j.opts.Emit, "llvm"), KeepAsm: slices.Contains(j.opts.Emit, "asm")})
	if err != nil {
		return nil, err
	}
	for end, texts := range map[string]map[string]string{".ll": out.LL, ".s": out.Asm} {
		for name, text := range texts {
			if err := j.dump("code/"+name+end, func() string { return text }); err != nil {
				return nil, err
			}
		}
	}
	return []artifact.Code{{Name: "kernels.so", Data: out.SO}}, nil
}

func (j *job) dumpUnits(units []*unit) error {
	for i, u := range units {
		if err := j.dump(fmt.Sprintf("lower/%03d_%s.trace", i, u.name), func() string { return u.trace }); err != nil {
			return err
		}
		for _, k := range u.kernels {
			if err := j.dump(fmt.Sprintf("lower/%03d_%s.tir", i, k.Name), func() string { return tirtext.PrintKernel(k) }); err != nil {
				return err
			}
		}
	}
	return nil
}

// graph runs the graph passes.
func (j *job) graph(ctx context.Context, m *relay.Module, t *target.Target) (*relay.Module, error) {
	o := j.opts.graphOptions(t, j.notes)
	o.Stop, o.Verify = j.opts.StopAfter, j.opts.Verify
	o.Observe = func(i int, p graphpasses.Pass, m *relay.Module) error {
		return j.dump(fmt.Sprintf("%02d_%s.relay", i, p.Name), func() string { return relay.Print(m) })
	}
	return graphpasses.Run(ctx, m, graphPasses(j.opts.OptLevel, &j.opts.Extend), o)
}

// Notes returns every default taken, every fallback and every choice, in the order of the steps.
func (c *Compiled) Notes() []diag.Note { return c.notes }

// Plan returns the plan of the first target; nil when Options.StopAfter named a pass.
func (c *Compiled) Plan() *artifact.Plan { return c.variants[0].plan }

// ExternalFiles returns the files beside the model at path that hold its external data.
func ExternalFiles(path string) ([]string, error) {
	switch strings.ToLower(filepath.Ext(path)) {
	case ".onnx":
		s, err := onnx.ReadSignature(path)
		if err != nil {
			return nil, err
		}
		return s.Files, nil
	case ".relay":
		return relaytext.Files(path), nil
	}
	return nil, nil
}

// Targets returns the names of the targets, best first.
func (c *Compiled) Targets() []string {
	var names []string
	for _, v := range c.variants {
		names = append(names, v.target.String())
	}
	return names
}

// Module returns the graph as it was imported.
func (c *Compiled) Module() *relay.Module { return c.source }

// Optimised returns the graph of the first target as the graph passes left it.
func (c *Compiled) Optimised() *relay.Module { return c.variants[0].module }

// WriteFile writes the artifact at path: whole, or not at all. The same model, options and version give the same bytes.
func (c *Compiled) WriteFile(path string) (err error) {
	if c.closed {
		return diag.Invalid("write", path, "the compiled model is closed")
	}
	if c.Plan() == nil {
		return diag.Invalid("write", path, "compiling stopped behind a graph pass: there is no code to write")
	}
	w, err := artifact.Create(path, c.header)
	if err != nil {
		return err
	}
	defer w.Close()
	for _, v := range c.variants {
		for _, x := range v.plan.Weights {
			if _, err := w.Weight(v.data[x.Digest]); err != nil {
				return err
			}
		}
	}
	for i, v := range c.variants {
		if err := v.writeGraph(w, i); err != nil {
			return err
		}
	}
	if err := w.File(artifact.ModelEntry, []byte(relay.PrintOptions{Spans: true}.Print(c.source))); err != nil {
		return err
	}
	cert, err := c.certificate().encode()
	if err != nil {
		return diag.Internal("write", artifact.CertificateEntry, "does not encode").By(err)
	}
	if err := w.File(artifact.CertificateEntry, cert); err != nil {
		return err
	}
	if c.keepIR {
		if err := c.writeIR(w); err != nil {
			return err
		}
	}
	for _, v := range c.variants {
		if err := w.Variant(v.target.String(), string(v.target.API), v.target.Arch, v.features, v.plan, v.code); err != nil {
			return err
		}
	}
	return w.Commit()
}

// writeIR adds the loop functions of every kernel, ir/VARIANT/KERNEL.tir.
func (c *Compiled) writeIR(w *artifact.Writer) error {
	for i, v := range c.variants {
		for _, u := range v.units {
			for _, k := range u.kernels {
				if err := w.File(fmt.Sprintf("ir/%d/%s.tir", i, k.Name), []byte(tirtext.PrintKernel(k))); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// Close releases the model's file. The Compiled must not be used afterwards.
func (c *Compiled) Close() error {
	if c.source == nil || c.closed {
		return nil
	}
	c.closed = true
	return c.source.Close()
}
