// Package study holds tools for people who study schedules: what each step of a trace did and what was proven of it, the
// first step after which a function computes something else, and the smallest program and trace that still fail.
package study

import (
	"context"
	"errors"
	"fmt"

	"github.com/texel-ml/texel/diag"
	"github.com/texel-ml/texel/schedule"
	"github.com/texel-ml/texel/tensor"
	"github.com/texel-ml/texel/tir"
	"github.com/texel-ml/texel/tir/interp"
	"github.com/texel-ml/texel/tir/verify"
)

// Options of the tools. The zero value interprets functions on drawn arguments.
type Options struct {
	// Primitives are more rows of the table of primitives.
	Primitives []schedule.Primitive
	// Seed draws the arguments: small integers, so that sums are exact in every order.
	Seed uint64
	// MaxSteps bounds the iterations of one interpretation. 0 is 100 million. A function that takes more is ErrUnsupported.
	MaxSteps int64
	// Count returns how many iterations a function takes, and whether that is no estimate; nil is not known.
	Count func(f *tir.Func) (steps int64, exact bool)
	// Run computes a function on arguments, those of the outputs last; nil interprets it. A back end goes here.
	Run func(ctx context.Context, f *tir.Func, args []*tensor.Tensor) error
	// Tolerance bounds the difference of an element from that of the program, relative to the larger of 1 and the largest
	// element of the output. 0 is exact.
	Tolerance float64
}

func (o Options) withDefaults() Options {
	if o.MaxSteps == 0 {
		o.MaxSteps = 100_000_000
	}
	return o
}

// Fault is what is wrong with a function.
type Fault struct {
	Kind FaultKind
	Err  error
}

// FaultKind says which check found a fault.
type FaultKind string

// The kinds of fault.
const (
	Refused FaultKind = "refused"        // the step was not taken
	Illegal FaultKind = "illegal"        // the function does not verify
	Unsound FaultKind = "unsound"        // a claim does not hold
	Failed  FaultKind = "failed"         // the function cannot be run
	Differs FaultKind = "another result" // it computes something else
	Panics  FaultKind = "internal error" // the step, or a tool, panicked
	TooLong FaultKind = "too long"       // it takes more than Options.MaxSteps: whether it is at fault is not known
)

// Error is the fault's text.
func (f *Fault) Error() string { return fmt.Sprintf("%s: %v", f.Kind, f.Err) }

// Unwrap returns the cause.
func (f *Fault) Unwrap() error { return f.Err }

// Arguments draws arguments for a function: whole numbers from -3 to 3, or from 0 to 3 in types without a sign, but zeros where
// elements say where or how often something is done. Those of the outputs are 0.
func Arguments(f *tir.Func, seed uint64) []*tensor.Tensor {
	return interp.Draw{Seed: seed, Whole: true, Code: []tir.Stmt{f.Body}}.Tensors(f.Params, f.Outputs)
}

// maxElems is how many elements the parameters may have together. They are drawn twice, and the interpreter takes up to 25
// bytes for each.
const maxElems = 1 << 26

// judge compares functions with the program that they were made of.
type judge struct {
	opts     Options
	program  *tir.Func
	want     []*tensor.Tensor
	unproven map[string]bool // the obligations that the program itself does not fulfil, by their keys
}

// newJudge interprets the program once.
func newJudge(ctx context.Context, program *tir.Func, opts Options) (*judge, error) {
	j := &judge{opts: opts.withDefaults(), program: program, unproven: map[string]bool{}}
	if err := verify.Verify(program); err != nil {
		return nil, err
	}
	elems := 0
	for _, b := range program.Params {
		if elems += max(0, b.Elems()); elems > maxElems {
			return nil, diag.Unsupported("interp", b.Name, "the parameters have more than %d elements together; a smaller function of the same form is compared sooner", maxElems)
		}
	}
	if steps, exact := j.count(program); exact && steps > j.opts.MaxSteps {
		return nil, j.tooLong(program)
	}
	j.want = Arguments(program, opts.Seed)
	if err := interp.Run(ctx, program, j.want, interp.Options{MaxSteps: j.opts.MaxSteps}); err != nil {
		if ranOut(ctx, err) {
			return nil, j.tooLong(program)
		}
		return nil, err
	}
	for _, o := range schedule.Obligations(program, program, program) {
		if o.Check() != nil {
			j.unproven[o.Key] = true
		}
	}
	return j, nil
}

// count is Options.Count, or 0 where nothing is known.
func (j *judge) count(f *tir.Func) (steps int64, exact bool) {
	if j.opts.Count == nil {
		return 0, false
	}
	return j.opts.Count(f)
}

// ranOut reports whether the interpreter ended because of MaxSteps: that or the context stops a run, all else is a fault of the
// function and says so itself.
func ranOut(ctx context.Context, err error) bool {
	var e *diag.Error
	return ctx.Err() == nil && errors.As(err, &e) && e.Step == "interp" && e.Message == "run stopped"
}

// tooLong is the error of a function that takes more than MaxSteps.
func (j *judge) tooLong(f *tir.Func) error {
	needs, give := "", "a larger limit (--max-steps)"
	if steps, exact := j.count(f); steps > j.opts.MaxSteps {
		needs, give = fmt.Sprintf(", as it needs %d", steps), fmt.Sprintf("--max-steps %d", steps)
		if !exact {
			needs = fmt.Sprintf(", as it needs up to %d", steps)
		}
	}
	return diag.Unsupported("interp", f.Name, "above the limit of %d steps%s: give %s, or a smaller function of the same form", j.opts.MaxSteps, needs, give)
}

// fault returns what is wrong with f, or nil; before is what the step before left.
func (j *judge) fault(ctx context.Context, before, f *tir.Func) (fault *Fault) {
	defer func() {
		if r := recover(); r != nil {
			fault = &Fault{Panics, fmt.Errorf("%v", r)}
		}
	}()
	if err := verify.Verify(f); err != nil {
		return &Fault{Illegal, err}
	}
	args := Arguments(f, j.opts.Seed)
	run := j.opts.Run
	if run == nil {
		run = func(ctx context.Context, f *tir.Func, args []*tensor.Tensor) error {
			return interp.Run(ctx, f, args, interp.Options{MaxSteps: j.opts.MaxSteps, Races: true})
		}
	}
	if err := run(ctx, f, args); err != nil {
		if j.opts.Run == nil && ranOut(ctx, err) {
			return &Fault{TooLong, j.tooLong(f)}
		}
		return &Fault{Failed, err}
	}
	if err := j.differs(args); err != nil {
		return &Fault{Differs, err}
	}
	for _, o := range schedule.Obligations(j.program, before, f) {
		if j.unproven[o.Key] { // the program is held against its own results alone
			continue
		}
		if err := o.Check(); err != nil {
			return &Fault{Unsound, diag.Invalid("prove", "", "the function would not mean the same").By(err)}
		}
	}
	return nil
}

// differs compares results with the program's.
func (j *judge) differs(args []*tensor.Tensor) error {
	for n := len(args) - j.program.Outputs; n < len(args); n++ {
		name := j.program.Params[n].Name
		want, got := tensor.Widen(j.want[n]), tensor.Widen(args[n])
		for i, w := range want.I {
			if got.I[i] != w {
				return diag.Numeric("compare", name, "element %d is %d, wanted %d", i, got.I[i], w)
			}
		}
		scale := 1.0
		for _, w := range want.F {
			scale = max(scale, w, -w)
		}
		for i, w := range want.F {
			d := got.F[i] - w
			if w != got.F[i] && (w == w || got.F[i] == got.F[i]) && !(max(d, -d) <= j.opts.Tolerance*scale) {
				return diag.Numeric("compare", name, "element %d is %v, wanted %v", i, got.F[i], w)
			}
		}
	}
	return nil
}
