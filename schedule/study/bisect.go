package study

import (
	"context"
	"errors"

	"github.com/texel-ml/texel/diag"
	"github.com/texel-ml/texel/schedule"
	"github.com/texel-ml/texel/tir"
)

// First is the first step of a trace that is at fault.
type First struct {
	Number int // of the step, from 1
	Step   schedule.Step
	Fault  *Fault
	Before *tir.Func // what the steps before left
	After  *tir.Func // what the step made; nil when it was refused
}

// Bisect returns the first step of a trace after which the function fails or computes something else than the program, or
// nil when no step does. Steps are taken without their proofs, which would stop at a step that is merely unproven; a step
// that is refused all the same is at fault itself. A fault that a later step repairs counts all the same, when
// the search meets it. Where the interpreter would need more than MaxSteps, nothing is known, and the error is ErrUnsupported.
func Bisect(ctx context.Context, program *tir.Func, t *schedule.Trace, opts Options) (*First, error) {
	j, err := newJudge(ctx, program, opts)
	if err != nil {
		return nil, err
	}
	// states[n] is the function after n steps.
	states, refused := prefixes(program, t, opts)
	if len(states) == 1 && refused == nil {
		return nil, nil
	}
	at := func(n int) (*Fault, error) {
		f := j.fault(ctx, states[max(0, n-1)], states[n])
		if f != nil && f.Kind == TooLong {
			return nil, diag.Unsupported("bisect", "", "the function behind step %d", n).By(f.Err)
		}
		return f, context.Cause(ctx)
	}
	last, err := at(len(states) - 1)
	if err != nil {
		return nil, err
	}
	if last == nil {
		if refused == nil {
			return nil, nil
		}
		return &First{len(states), t.Steps[len(states)-1], refused, states[len(states)-1], nil}, nil
	}
	good, bad := 0, len(states)-1
	fault := last
	for bad-good > 1 {
		mid := (good + bad) / 2
		f, err := at(mid)
		if err != nil {
			return nil, err
		}
		if f == nil {
			good = mid
		} else {
			bad, fault = mid, f
		}
	}
	if bad == 0 {
		return nil, diag.Invalid("bisect", program.Name, "the program itself fails").By(fault)
	}
	return &First{bad, t.Steps[bad-1], fault, states[good], states[bad]}, nil
}

// prefixes replays a trace and returns the function before it and after each step, and why the next step was refused.
func prefixes(program *tir.Func, t *schedule.Trace, opts Options) (states []*tir.Func, refused *Fault) {
	states = []*tir.Func{program}
	defer func() {
		if r := recover(); r != nil {
			refused = &Fault{Panics, diag.Internal("replay", program.Name, "%v", r)}
		}
	}()
	trusting := schedule.Options{Primitives: opts.Primitives, Trust: true}
	observing := trusting
	observing.Observe = func(_ schedule.Step, _, after *tir.Func) { states = append(states, after) }
	if err := schedule.NewWith(program, observing).Replay(t); err != nil {
		taken := len(states) - 1
		if schedule.NewWith(program, trusting).Replay(&schedule.Trace{Steps: t.Steps[:taken]}) != nil { // it was taken, but its line is wrong
			states = states[:taken]
		}
		kind := Refused
		if errors.Is(err, diag.ErrInternal) {
			kind = Panics
		}
		return states, &Fault{kind, err}
	}
	return states, nil
}
