package texel

import (
	"context"
	"fmt"
	"maps"
	"runtime/debug"
	"slices"
	"sync"

	"github.com/texel-ml/texel/artifact"
	"github.com/texel-ml/texel/codegen/llvm"
	"github.com/texel-ml/texel/codegen/opencl"
	"github.com/texel-ml/texel/diag"
	"github.com/texel-ml/texel/schedule"
	"github.com/texel-ml/texel/target"
	"github.com/texel-ml/texel/tir"
	"github.com/texel-ml/texel/tir/tirtext"
	looppasses "github.com/texel-ml/texel/tir/transform"
	"github.com/texel-ml/texel/tir/verify"
)

// BuildOptions of Build and BuildProgram. The zero value builds for this machine's processor.
type BuildOptions struct {
	// Target is the machine to build for, RECORD or RECORD/API as package target has them. Empty is "host".
	Target string
	// Trace is replayed on the function before it is lowered. Nil leaves the function as it is.
	Trace *schedule.Trace
	// Primitives are what a trace may use besides the built-in primitives.
	Primitives []schedule.Primitive
	// StartAt names the first loop pass that runs on a program. Empty is the one behind its stage; a program without a
	// stage is taken as fully lowered. Of a pass that stands twice in the list the name means the first; its place in
	// front of it, as in 11_simplify, means exactly one.
	StartAt string
	// StopAfter names the last loop pass; Built then has kernels and no code. "" runs all.
	StopAfter string
	// Dump is called with the function behind the trace (schedule.tir), the program behind each loop pass
	// (07_lift-grid.tir) and the forms that Emit names. Nil dumps nothing; an error ends the build.
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
	source  *tir.Func    // before the trace; nil for a program
	fn      *tir.Func    // after the trace; nil for a program
	given   *tir.Program // nil for a function
	program *tir.Program // as the last loop pass left it
	entry   []string     // of each kernel, in the code
	code    []artifact.Code
	needs   []string // features of the processor, or extensions of the device
	object  *llvm.Object
	work    func() LoopWork // counts once
}

// Build generates code for a function in block form: the trace is replayed on it, the loop passes make kernels of it, and
// the target's generator makes code of these.
//
// Errors are *diag.Error: ErrInvalid for a function that is not legal or a trace that does not fit it, ErrUnsupported for
// what the target cannot do, ErrMissing when LLVM's tools are not installed. Build looks at ctx between steps.
func Build(ctx context.Context, f *tir.Func, o BuildOptions) (*Built, error) {
	b := &Built{name: f.Name, opts: o, source: f}
	return b.made(func() error { return b.buildFunc(ctx, f) })
}

// made finds the target and lets steps do the rest. A panic of ours is an error.
func (b *Built) made(steps func() error) (_ *Built, err error) {
	defer b.guard(&err)
	b.work = sync.OnceValue(b.count)
	if b.target, err = parseTarget(b.opts.Target); err != nil {
		return nil, err
	}
	if err := steps(); err != nil {
		return nil, err
	}
	return b, nil
}

func (b *Built) buildFunc(ctx context.Context, f *tir.Func) (err error) {
	if b.opts.StartAt != "" {
		place, err := looppasses.FindPass(b.opts.StartAt)
		if err != nil {
			return err
		}
		if place != 0 {
			return diag.Invalid("build", f.Name, "a function in block form enters the loop passes at the first, not at %s", b.opts.StartAt)
		}
	}
	if err := verify.Verify(f); err != nil {
		return err
	}
	if b.fn, err = b.scheduled(f); err != nil {
		return err
	}
	if err := fitsDevice(b.fn.Body, b.target); err != nil {
		return err
	}
	lowered := *b.fn
	lowered.Name = symbol(f.Name)
	return b.lower(ctx, func(opts looppasses.Options) (*tir.Program, error) { return looppasses.LowerProgram(&lowered, opts) })
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
	if b.opts.Dump != nil {
		if err := b.opts.Dump("schedule.tir", func() string { return tirtext.Print(s.Func()) }); err != nil {
			return nil, err
		}
	}
	return s.Func(), nil
}

// BuildProgram generates code for kernels that some or all loop passes were run on already: what a dump of Build holds.
// The passes go on behind the one that the program names as its stage, or at StartAt.
func BuildProgram(ctx context.Context, g *tir.Program, o BuildOptions) (*Built, error) {
	b := &Built{name: g.Name, opts: o, given: g}
	return b.made(func() error { return b.buildProgram(ctx, g) })
}

func (b *Built) buildProgram(ctx context.Context, g *tir.Program) error {
	if b.opts.Trace != nil {
		return diag.Invalid("build", g.Name, "a trace shapes a function in block form, and these are kernels")
	}
	if err := CheckProgram(g); err != nil {
		return err
	}
	place, err := nextPass(g, b.opts.StartAt)
	if err != nil {
		return err
	}
	c := *g
	c.Kernels = make([]*tir.Kernel, len(g.Kernels))
	names := map[string]bool{}
	for i, k := range g.Kernels {
		if err := fitsDevice(k.Body, b.target); err != nil {
			return err
		}
		if err := behind(k, place-1, b.target); err != nil {
			return err
		}
		named := *k
		named.Name = symbol(k.Name)
		if names[named.Name] {
			return diag.Invalid("build", k.Name, "two kernels have this name")
		}
		names[named.Name], c.Kernels[i] = true, &named
	}
	c.Stage = looppasses.PassName(place - 1)
	return b.lower(ctx, func(opts looppasses.Options) (*tir.Program, error) { return looppasses.Continue(&c, opts) })
}

// nextPass returns the place of the first pass that is to run on a program; behind the last one, none is.
func nextPass(g *tir.Program, startAt string) (int, error) {
	switch {
	case startAt != "":
		place, err := looppasses.FindPass(startAt)
		if err == nil && place == 0 {
			err = diag.Invalid("build", g.Name, "%s takes a function in block form, and these are kernels", startAt)
		}
		return place, err
	case g.Stage != "":
		place, err := looppasses.FindPass(g.Stage)
		return place + 1, err
	}
	return len(looppasses.Passes()), nil
}

// KernelProgram returns the program of one kernel, whose parameters are the kernel's.
func KernelProgram(k *tir.Kernel) *tir.Program {
	return &tir.Program{Name: k.Name, Params: k.Params, Outputs: k.Outputs, Scalars: k.Scalars, Kernels: []*tir.Kernel{k}}
}

// anyStage is a row that lets a kernel hold what it may hold behind some pass, on some device.
var anyStage = verify.Stage{After: "reading", Parallel: verify.Both, Vectorized: verify.Both, Unrolled: verify.Both, Vthread: verify.Both,
	Bound: verify.Both, Nested: verify.Both, Halves: verify.Both, Barriers: verify.Both, Grid: verify.Both}

// CheckProgram returns an error when a program is not legal at any stage: a kernel uses a name that is not in scope or a
// buffer that the program does not have, or an operand has the wrong type. Functions are checked by package verify.
func CheckProgram(g *tir.Program) error {
	if len(g.Kernels) == 0 || g.Outputs < 1 || g.Outputs > len(g.Params) {
		return diag.Invalid("build", g.Name, "a program of %d kernels with %d outputs of %d parameters", len(g.Kernels), g.Outputs, len(g.Params))
	}
	inputs := g.Params[:len(g.Params)-g.Outputs]
	for _, k := range g.Kernels {
		if err := ofTheUser(verify.Kernel(k, anyStage, verify.Both)); err != nil {
			return err
		}
		for i, p := range k.Params {
			switch writes := i >= len(k.Params)-k.Outputs; {
			case !slices.Contains(g.Params, p) && !slices.Contains(g.Between, p):
				return diag.Invalid("build", k.Name, "buffer %s is no parameter of the program and not between its kernels", p.Name)
			case writes && slices.Contains(inputs, p):
				return diag.Invalid("build", k.Name, "buffer %s is written, and is an input of the program", p.Name)
			}
		}
		for _, v := range k.Scalars {
			if !slices.Contains(g.Scalars, v) {
				return diag.Invalid("build", k.Name, "scalar %s is none of the program", v.Name)
			}
		}
	}
	return nil
}

// behind checks that a kernel of a user is what the pass at a place makes for a target.
func behind(k *tir.Kernel, place int, t *target.Target) error {
	on := verify.CPU
	if t.Kind == target.GPU {
		on = verify.GPU
	}
	return ofTheUser(verify.Kernel(k, verify.Stages()[place], on))
}

// ofTheUser returns the error of a check as one of the user's input: a kernel that was read is no bug of ours.
func ofTheUser(err error) error {
	if e, ok := err.(*diag.Error); ok {
		return diag.Invalid(e.Step, e.Node, "%s", e.Message)
	}
	return err
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

// lower lets run do the loop passes, hands what they make to Dump, and generates the code.
func (b *Built) lower(ctx context.Context, run func(looppasses.Options) (*tir.Program, error)) (err error) {
	if err := ctx.Err(); err != nil {
		return err
	}
	opts := loweringFor(b.target)
	opts.StopAfter = b.opts.StopAfter
	var failed error
	opts.Dump = func(g *tir.Program) {
		if failed == nil && b.opts.Dump != nil {
			failed = b.opts.Dump(g.Stage+".tir", func() string { return tirtext.PrintProgram(g) })
		}
	}
	if b.program, err = run(opts); err != nil {
		return err
	}
	if failed != nil || opts.StopAfter != "" {
		return failed
	}
	return b.generate(ctx)
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
	out, err := llvm.Build(ctx, b.program.Kernels, b.target, llvm.Options{Workers: b.opts.Workers, TempDir: b.opts.TempDir,
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
	for _, k := range b.program.Kernels {
		b.entry = append(b.entry, k.Name)
	}
	b.object, b.needs, b.code = out, b.target.Features, []artifact.Code{{Name: "kernels.so", Data: out.SO}}
	return nil
}

func (b *Built) generateOpenCL() error {
	for _, k := range b.program.Kernels {
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

// Func returns the function as the trace left it; nil for a program.
func (b *Built) Func() *tir.Func { return b.fn }

// Program returns the parameters, and the kernels as the last loop pass left them. It must not be changed.
func (b *Built) Program() *tir.Program { return b.program }

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
	return fmt.Sprintf("%s for %s, kernels: %d", b.name, b.target, len(b.program.Kernels))
}
