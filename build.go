package texel

import (
	"context"
	"fmt"
	"maps"
	"runtime/debug"
	"slices"
	"strconv"

	"github.com/texel-ml/texel/artifact"
	"github.com/texel-ml/texel/codegen/llvm"
	"github.com/texel-ml/texel/codegen/opencl"
	"github.com/texel-ml/texel/diag"
	"github.com/texel-ml/texel/schedule"
	"github.com/texel-ml/texel/target"
	"github.com/texel-ml/texel/tensor"
	"github.com/texel-ml/texel/tir"
	"github.com/texel-ml/texel/tir/tirtext"
	looppasses "github.com/texel-ml/texel/tir/transform"
	"github.com/texel-ml/texel/tir/verify"
)

// BuildOptions of Build and BuildKernels. The zero value builds for this machine's processor.
type BuildOptions struct {
	// Target is the machine to build for, RECORD or RECORD/API as package target has them. Empty is "host".
	Target string
	// Trace is replayed on the function before it is lowered. Nil leaves the function as it is.
	Trace *schedule.Trace
	// Primitives are what a trace may use besides the built-in primitives.
	Primitives []schedule.Primitive
	// StartAt names the first loop pass that runs on kernels: the one behind the pass that made them. Empty takes them as
	// fully lowered. Of a pass that stands twice in the list the name means the first; its place in front of it, as in
	// 07_simplify, means exactly one.
	StartAt string
	// StopAfter names the last loop pass; Built then has kernels and no code. "" runs all.
	StopAfter string
	// Dump is called with the function behind the trace (schedule.tir), the kernels behind each loop pass
	// (03_lift-grid.tir) and the forms that Emit names. Nil dumps nothing; an error ends the build.
	Dump func(name string, text func() string) error
	// Emit names forms of the generated code that Dump wants to see too: "llvm", "asm", "opencl".
	Emit []string
	// Workers is how many modules are compiled at once; 0 is one a processor.
	Workers int
	// TempDir is where the code generator's files are kept while it runs; "" is the system's folder.
	TempDir string
}

// Built is a function with its code. It is only read after it was made, and may be shared.
type Built struct {
	name    string
	opts    BuildOptions
	target  *target.Target
	source  *tir.Func // before the trace; nil for kernels
	fn      *tir.Func // after the trace; nil for kernels
	given   []*tir.Kernel
	kernels []*tir.Kernel
	params  []*tir.Buffer // inputs, then outputs
	outputs int
	scalars []*tir.Var
	between []*tir.Buffer // what one kernel hands to the next
	entry   []string      // of each kernel, in the code
	code    []artifact.Code
	needs   []string // features of the processor, or extensions of the device
	object  *llvm.Object
}

// Build generates code for a function in block form: the trace is replayed on it, the loop passes make kernels of it, and
// the target's generator makes code of these.
//
// Errors are *diag.Error: ErrInvalid for a function that is not legal or a trace that does not fit it, ErrUnsupported for
// what the target cannot do, ErrMissing when LLVM's tools are not installed. Build looks at ctx between steps.
func Build(ctx context.Context, f *tir.Func, o BuildOptions) (b *Built, err error) {
	b = &Built{name: f.Name, opts: o, source: f, params: f.Params, outputs: f.Outputs, scalars: f.Scalars}
	defer func() {
		if err != nil {
			b = nil
		}
	}()
	defer b.guard(&err)
	if b.target, err = parseTarget(o.Target); err != nil {
		return nil, err
	}
	if o.StartAt != "" {
		place, err := looppasses.FindPass(o.StartAt)
		if err != nil {
			return nil, err
		}
		if place != 0 {
			return nil, diag.Invalid("build", f.Name, "a function in block form enters the loop passes at the first, not at %s", o.StartAt)
		}
	}
	if err := verify.Verify(f); err != nil {
		return nil, err
	}
	if b.fn, err = b.scheduled(f); err != nil {
		return nil, err
	}
	if err := fitsDevice(b.fn.Body, b.target); err != nil {
		return nil, err
	}
	opts := loweringFor(b.target)
	lowered := *b.fn
	lowered.Name = symbol(f.Name)
	kernels, between, err := looppasses.LowerBlocks(&lowered, opts)
	if err != nil {
		return nil, err
	}
	b.given, b.between = kernels, between
	if err := b.dumpKernels(0, kernels); err != nil {
		return nil, err
	}
	if place, err := looppasses.FindPass(o.StopAfter); o.StopAfter != "" && err == nil && place == 0 {
		b.kernels = kernels
		return b, nil
	}
	return b, b.lower(ctx, 1)
}

// scheduled replays the trace on f.
func (b *Built) scheduled(f *tir.Func) (*tir.Func, error) {
	if b.opts.Trace == nil {
		return f, nil
	}
	s := schedule.NewWith(f, schedule.Options{Primitives: b.opts.Primitives})
	if err := s.Replay(b.opts.Trace); err != nil {
		return nil, err
	}
	if err := s.Err(); err != nil {
		return nil, err
	}
	if b.opts.Dump != nil {
		if err := b.opts.Dump("schedule.tir", func() string { return tirtext.Print(s.Func()) }); err != nil {
			return nil, err
		}
	}
	return s.Func(), nil
}

// BuildKernels generates code for the kernels of one function, in the order in which they run, that some or all loop
// passes were run on already: what a dump of Build holds. Kernels share a buffer or a scalar where they have the same
// pointer. Signature says what the parameters of the whole are.
func BuildKernels(ctx context.Context, name string, kernels []*tir.Kernel, o BuildOptions) (b *Built, err error) {
	b = &Built{name: name, opts: o, given: slices.Clone(kernels)}
	defer func() {
		if err != nil {
			b = nil
		}
	}()
	defer b.guard(&err)
	if b.target, err = parseTarget(o.Target); err != nil {
		return nil, err
	}
	if o.Trace != nil {
		return nil, diag.Invalid("build", name, "a trace shapes a function in block form, and these are kernels")
	}
	place := len(looppasses.Passes())
	if o.StartAt != "" {
		if place, err = looppasses.FindPass(o.StartAt); err != nil {
			return nil, err
		}
		if place == 0 {
			return nil, diag.Invalid("build", name, "%s takes a function in block form, and these are kernels", o.StartAt)
		}
	}
	for i, k := range kernels {
		if err := CheckKernel(k); err != nil {
			return nil, err
		}
		if err := fitsDevice(k.Body, b.target); err != nil {
			return nil, err
		}
		c := *k
		c.Name = symbol(k.Name)
		b.given[i] = &c
	}
	b.params, b.outputs = Signature(b.given)
	if b.outputs == 0 {
		return nil, diag.Invalid("build", name, "no kernel writes a buffer that its caller sees")
	}
	for _, k := range b.given {
		for _, p := range k.Params {
			if p.Scope == tir.Texture && !slices.Contains(b.between, p) {
				b.between = append(b.between, p)
			}
		}
		for _, v := range k.Scalars {
			if !slices.Contains(b.scalars, v) {
				b.scalars = append(b.scalars, v)
			}
		}
	}
	if place == len(looppasses.Passes()) {
		for _, k := range b.given {
			if err := looppasses.CheckLowered(k, loweringFor(b.target)); err != nil {
				return nil, diag.Invalid("build", k.Name, "the kernel is not fully lowered, and no loop pass was named to start at: %v", err)
			}
		}
	}
	return b, b.lower(ctx, place)
}

// Signature returns the parameters of kernels that run one after the other: what they only read, then what they write.
// Buffers of scope texture between them are no parameters.
func Signature(kernels []*tir.Kernel) (params []*tir.Buffer, outputs int) {
	var reads, writes []*tir.Buffer
	for _, k := range kernels {
		for _, b := range k.Params[len(k.Params)-k.Outputs:] {
			if b.Scope != tir.Texture && !slices.Contains(writes, b) {
				writes = append(writes, b)
			}
		}
	}
	for _, k := range kernels {
		for _, b := range k.Params {
			if b.Scope != tir.Texture && !slices.Contains(writes, b) && !slices.Contains(reads, b) {
				reads = append(reads, b)
			}
		}
	}
	return append(reads, writes...), len(writes)
}

// CheckKernel returns an error when a kernel, at any stage of the loop passes, is not legal: a name that is not in scope, an
// operand of the wrong type, a block. Build checks functions with package verify.
func CheckKernel(k *tir.Kernel) error {
	plain := *k
	plain.Body = (&tir.Mapper{Stmt: func(s tir.Stmt) tir.Stmt { // the kinds of loops are what the passes are for
		f, ok := s.(*tir.For)
		if !ok || f.Kind == tir.Serial {
			return s
		}
		c := *f
		c.Kind = tir.Serial
		return &c
	}}).MapStmt(k.Body)
	if err := looppasses.CheckLowered(&plain, looppasses.Options{Device: looppasses.GPU}); err != nil {
		if e, ok := err.(*diag.Error); ok { // of the user's text it is no bug of ours
			return diag.Invalid("build", k.Name, "%s", e.Message)
		}
		return err
	}
	return nil
}

// fitsDevice refuses loops of the other class of targets, before a pass stumbles over them.
func fitsDevice(body tir.Stmt, t *target.Target) (err error) {
	tir.Walk(body, func(n any) bool {
		f, ok := n.(*tir.For)
		switch {
		case !ok || err != nil:
		case f.Kind == tir.Bound && t.Kind == target.CPU:
			err = diag.Unsupported("build", f.Var.Name, "the loop is bound to %s, and target %s is a processor, which has no grid axes", f.Thread, t)
		case f.Kind == tir.Parallel && t.Kind == target.GPU:
			err = diag.Unsupported("build", f.Var.Name, "the loop is parallel, and target %s wants it bound to a grid axis", t)
		}
		return err == nil
	})
	return err
}

// lower runs the loop passes from a place on and generates the code.
func (b *Built) lower(ctx context.Context, place int) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	opts := loweringFor(b.target)
	opts.StopAfter = b.opts.StopAfter
	var failed error
	at := place
	opts.Observe = func(_ string, kernels []*tir.Kernel) {
		if failed == nil {
			failed = b.dumpKernels(at, kernels)
		}
		at++
	}
	var err error
	if b.kernels, err = looppasses.Resume(b.given, place, opts); err != nil {
		return err
	}
	if failed != nil || opts.StopAfter != "" {
		return failed
	}
	return b.generate(ctx)
}

// dumpKernels hands the kernels behind a pass to Dump.
func (b *Built) dumpKernels(place int, kernels []*tir.Kernel) error {
	if b.opts.Dump == nil {
		return nil
	}
	return b.opts.Dump(looppasses.PassName(place)+".tir", func() string { return PrintKernels(kernels) })
}

// PrintKernels returns the text of kernels one after the other. Different buffers that they pass among each other have
// different names in it, so that names tell which are the same.
func PrintKernels(kernels []*tir.Kernel) string {
	names, taken := map[*tir.Buffer]*tir.Buffer{}, map[string]bool{}
	text := ""
	for i, k := range kernels {
		for _, p := range k.Params {
			if names[p] == nil {
				c := *p
				for n := 2; taken[c.Name]; n++ {
					c.Name = p.Name + "_" + strconv.Itoa(n)
				}
				names[p], taken[c.Name] = &c, true
			}
			if to := names[p]; to.Name != p.Name {
				k = renamed(k, p, to)
			}
		}
		if i > 0 {
			text += "\n"
		}
		text += tirtext.PrintKernel(k)
	}
	return text
}

// renamed returns k with a parameter replaced.
func renamed(k *tir.Kernel, from, to *tir.Buffer) *tir.Kernel {
	c := *k
	c.Params = slices.Clone(k.Params)
	c.Params[slices.Index(c.Params, from)] = to
	c.Body = tir.ReplaceBuffer(k.Body, from, to, nil)
	return &c
}

// LinkKernels returns kernels that were read from text with the buffers and scalars of one name made one. The same name
// with another type, shape or scope is an error.
func LinkKernels(kernels []*tir.Kernel) ([]*tir.Kernel, error) {
	out := slices.Clone(kernels)
	bufs, vars, names := map[string]*tir.Buffer{}, map[string]*tir.Var{}, map[string]bool{}
	for i := range out {
		if names[out[i].Name] {
			return nil, diag.Invalid("build", out[i].Name, "two kernels have this name")
		}
		names[out[i].Name] = true
		for _, p := range out[i].Params {
			first := bufs[p.Name]
			if first == nil {
				bufs[p.Name] = p
				continue
			}
			if first.DType != p.DType || !slices.Equal(first.Shape, p.Shape) || !slices.Equal(first.Strides, p.Strides) || first.Scope != p.Scope {
				return nil, diag.Invalid("build", p.Name, "the buffer is %v %v %s in one kernel and %v %v %s in %s", first.DType, tensor.Shape(first.Shape),
					first.Scope, p.DType, tensor.Shape(p.Shape), p.Scope, out[i].Name)
			}
			if slices.Contains(out[i].Params, first) {
				return nil, diag.Invalid("build", p.Name, "two parameters of %s have this name", out[i].Name)
			}
			out[i] = renamed(out[i], p, first)
		}
		for j, v := range out[i].Scalars {
			first := vars[v.Name]
			if first == nil {
				vars[v.Name] = v
				continue
			}
			if first.DType != v.DType {
				return nil, diag.Invalid("build", v.Name, "the scalar is %v in one kernel and %v in %s", first.DType, v.DType, out[i].Name)
			}
			c := *out[i]
			c.Scalars = slices.Clone(c.Scalars)
			c.Scalars[j] = first
			c.Body = tir.SubstStmt(c.Body, map[*tir.Var]tir.Expr{v: first})
			out[i] = &c
		}
	}
	return out, nil
}

// generate makes the code.
func (b *Built) generate(ctx context.Context) error {
	switch b.target.API {
	case target.Native:
		return b.generateNative(ctx, slices.Contains(b.opts.Emit, "asm"))
	case target.OpenCL:
		return b.generateOpenCL()
	}
	return diag.Unsupported("build", b.target.String(), "no code generator for targets behind %s", b.target.API)
}

func (b *Built) generateNative(ctx context.Context, asm bool) error {
	out, err := llvm.Build(ctx, b.kernels, b.target, llvm.Options{Workers: b.opts.Workers, TempDir: b.opts.TempDir,
		KeepIR: slices.Contains(b.opts.Emit, "llvm"), KeepAsm: asm})
	if err != nil {
		return err
	}
	for _, form := range []struct {
		end   string
		texts map[string]string
	}{{".ll", out.LL}, {".s", out.Asm}} {
		for _, name := range slices.Sorted(maps.Keys(form.texts)) {
			if err := b.dump("code/"+name+form.end, form.texts[name]); err != nil {
				return err
			}
		}
	}
	b.entry = nil
	for _, k := range b.kernels {
		b.entry = append(b.entry, k.Name)
	}
	b.object, b.needs, b.code = out, b.target.Features, []artifact.Code{{Name: "kernels.so", Data: out.SO}}
	return nil
}

func (b *Built) generateOpenCL() error {
	for _, k := range b.kernels {
		out, err := opencl.Emit(k, b.target)
		if err != nil {
			return err
		}
		b.entry = append(b.entry, out.Name)
		b.code = append(b.code, artifact.Code{Name: out.Name + ".cl", Data: []byte(out.Source)})
		for _, x := range out.Extensions {
			if !slices.Contains(b.needs, x) {
				b.needs = append(b.needs, x)
			}
		}
		if slices.Contains(b.opts.Emit, "opencl") {
			if err := b.dump("code/"+out.Name+".cl", out.Source); err != nil {
				return err
			}
		}
	}
	slices.Sort(b.needs)
	return nil
}

func (b *Built) dump(name, text string) error {
	if b.opts.Dump == nil {
		return nil
	}
	return b.opts.Dump(name, func() string { return text })
}

// guard turns a panic of ours into an error.
func (b *Built) guard(err *error) {
	if r := recover(); r != nil {
		*err = diag.Internal("build", b.name, "%v\n%s", r, debug.Stack())
	}
}

func parseTarget(name string) (*target.Target, error) {
	if name == "" {
		name = "host"
	}
	return target.Parse(name)
}

// symbol returns a name that code generators take for a kernel.
func symbol(name string) string {
	s := identifier(name)
	switch {
	case s == "":
		return "f"
	case s[0] >= '0' && s[0] <= '9' || slices.Contains([]string{"texel_run", "texel_worker", "texel_quit", "memcpy", "memset"}, s):
		return "_" + s
	}
	return s
}

// Name returns the name of the function.
func (b *Built) Name() string { return b.name }

// Target returns what the code is for. It must not be changed.
func (b *Built) Target() *target.Target { return b.target }

// Func returns the function as the trace left it; nil for kernels.
func (b *Built) Func() *tir.Func { return b.fn }

// Kernels returns the kernels as the last loop pass left them, in the order in which they run.
func (b *Built) Kernels() []*tir.Kernel { return b.kernels }

// Params returns the parameters, inputs and then outputs, and how many outputs there are.
func (b *Built) Params() (params []*tir.Buffer, outputs int) { return b.params, b.outputs }

// Scalars returns the scalar arguments.
func (b *Built) Scalars() []*tir.Var { return b.scalars }

// Code returns the files of code: one shared object for a processor, one source a kernel for a device behind OpenCL;
// none when StopAfter named a pass.
func (b *Built) Code() []artifact.Code { return b.code }

// Stats returns the static cost of the kernels, from their assembly and llvm-mca; nothing runs, so the target may be any
// processor. Errors are diag.ErrUnsupported for other devices and diag.ErrMissing without llvm-mca.
func (b *Built) Stats(ctx context.Context) (s *llvm.Stats, err error) {
	defer b.guard(&err)
	if b.object == nil {
		return nil, diag.Unsupported("stats", b.name, "static cost is known of native code only, and there is none for %s", b.target)
	}
	if b.object.Asm == nil {
		quiet := *b
		quiet.opts.Dump = nil
		if err := quiet.generateNative(ctx, true); err != nil {
			return nil, err
		}
		return quiet.Stats(ctx)
	}
	return b.object.Stats(ctx, b.entry, b.target, llvm.StatsOptions{TempDir: b.opts.TempDir})
}

// String says what was built.
func (b *Built) String() string {
	return fmt.Sprintf("%s for %s, kernels: %d", b.name, b.target, len(b.kernels))
}
