package study

import (
	"context"
	"errors"
	"slices"

	"github.com/texel-ml/texel/diag"
	"github.com/texel-ml/texel/schedule"
	"github.com/texel-ml/texel/tir"
	"github.com/texel-ml/texel/tir/verify"
)

// Reduced is what is left of a failing program and its trace.
type Reduced struct {
	Program *tir.Func
	Trace   *schedule.Trace // ends with the refused step when that is the fault
	Fault   *Fault
	Tries   int
}

// Reduce shrinks a program and a trace while they fail in the same way: it leaves out steps with what depends on them, makes
// their numbers smaller, leaves out stages and results, makes extents smaller and expressions simpler, until nothing more can go
// (delta debugging, Zeller and Hildebrandt, TSE 2002). It gives back the smallest it found when ctx ends. It is an error when
// nothing fails.
func Reduce(ctx context.Context, program *tir.Func, t *schedule.Trace, opts Options) (*Reduced, error) {
	if err := verify.Verify(program); err != nil {
		return nil, err
	}
	r := &reducer{ctx: ctx, opts: opts}
	first := r.try(program, t.Steps)
	if first == nil {
		if err := context.Cause(ctx); err != nil {
			return nil, err
		}
		if r.unknown != nil {
			return nil, r.unknown
		}
		return nil, diag.Invalid("reduce", program.Name, "nothing fails: the steps are taken, and the function computes what the program computes")
	}
	r.kind, r.step, r.best = first.fault.Kind, first.step, first
	for changed := true; changed && ctx.Err() == nil; {
		changed = r.dropSteps()
		changed = r.smallerNumbers() || changed
		changed = r.smallerProgram() || changed
	}
	return &Reduced{r.best.program, &schedule.Trace{Steps: r.best.steps}, r.best.fault, r.tries}, nil
}

// attempt is a program with steps that fail.
type attempt struct {
	program *tir.Func
	steps   []schedule.Step
	fault   *Fault
	step    string // the primitive that was refused or panicked
}

type reducer struct {
	ctx   context.Context
	opts  Options
	kind  FaultKind
	step  string
	best  *attempt
	tries int

	unknown error // why the last program could not be interpreted: whether it fails is not known then
}

// accept keeps a smaller pair when it fails in the same way.
func (r *reducer) accept(program *tir.Func, steps []schedule.Step) bool {
	if r.ctx.Err() != nil {
		return false
	}
	a := r.try(program, steps)
	if a == nil || a.fault.Kind != r.kind || a.step != r.step {
		return false
	}
	r.best = a
	return true
}

// try takes the steps that can be taken and returns what fails, or nil. Steps whose operands are gone are left out, and
// so are refused ones, unless a refusal is what is looked for.
func (r *reducer) try(program *tir.Func, steps []schedule.Step) *attempt {
	r.tries++
	l := &lenient{named: map[schedule.Handle]any{}}
	l.s = schedule.NewWith(program, schedule.Options{Primitives: r.opts.Primitives, Trust: true})
	for _, step := range steps {
		err := l.take(step)
		if err == nil {
			continue
		}
		kind := Refused
		if errors.Is(err, diag.ErrInternal) {
			kind = Panics
		}
		if r.kind == "" || r.kind == kind && r.step == step.Name {
			return &attempt{program, append(slices.Clone(l.s.Trace().Steps), l.canonical(step)), &Fault{kind, err}, step.Name}
		}
	}
	j, err := newJudge(r.ctx, program, r.opts)
	if r.unknown = err; err != nil {
		return nil
	}
	f := j.fault(r.ctx, program, l.s.Func())
	if f != nil && f.Kind == TooLong {
		r.unknown = f.Err
		return nil
	}
	if f != nil && r.ctx.Err() == nil {
		return &attempt{program, l.s.Trace().Steps, f, ""}
	}
	return nil
}

// lenient replays steps of which earlier ones may be missing.
type lenient struct {
	s     *schedule.Schedule
	named map[schedule.Handle]any // what the handles of the steps stand for
}

var errGone = errors.New("an operand is gone")

// take applies a step. Its results get the step's names, as far as there are any.
func (l *lenient) take(step schedule.Step) (err error) {
	operands := make([]any, len(step.Args))
	for i, v := range step.Args {
		if operands[i], err = l.operand(v); err != nil {
			return nil // left out
		}
	}
	defer func() {
		if p := recover(); p != nil {
			err = diag.Internal("replay", step.Name, "%v", p)
		}
	}()
	var gave []any
	l.s.Attempt(func() {
		gave = l.s.Do(step.Name, operands...).Slice()
		err = l.s.Err()
	})
	for i, o := range step.Outs {
		if err == nil && i < len(gave) {
			l.named[o] = gave[i]
		}
	}
	return err
}

func (l *lenient) operand(v schedule.Value) (any, error) {
	switch v := v.(type) {
	case schedule.Handle:
		if x, ok := l.named[v]; ok {
			return x, nil
		}
		return nil, errGone
	case []schedule.Value:
		list := make([]any, len(v))
		for i, x := range v {
			var err error
			if list[i], err = l.operand(x); err != nil {
				return nil, err
			}
		}
		return list, nil
	}
	return v, nil
}

// canonical returns a step with the handles that the schedule's own trace has.
func (l *lenient) canonical(step schedule.Step) schedule.Step {
	out := step
	out.Args = make([]schedule.Value, len(step.Args))
	for i, v := range step.Args {
		out.Args[i] = l.rename(v)
	}
	return out
}

func (l *lenient) rename(v schedule.Value) schedule.Value {
	switch v := v.(type) {
	case schedule.Handle:
		return schedule.HandleOf(l.named[v])
	case []schedule.Value:
		list := make([]schedule.Value, len(v))
		for i, x := range v {
			list[i] = l.rename(x)
		}
		return list
	}
	return v
}

// dropSteps leaves out runs of steps, long ones first.
func (r *reducer) dropSteps() (changed bool) {
	for n := len(r.best.steps); n > 0; n /= 2 {
		for at := len(r.best.steps) - n; at >= 0; at-- {
			at = min(at, len(r.best.steps)-n)
			if at < 0 {
				break
			}
			less := append(slices.Clone(r.best.steps[:at]), r.best.steps[at+n:]...)
			if before := len(r.best.steps); r.accept(r.best.program, less) {
				changed = changed || len(r.best.steps) < before
			}
		}
	}
	return changed
}

// smallerNumbers makes the numbers of the steps smaller, and lists shorter.
func (r *reducer) smallerNumbers() (changed bool) {
	for i := 0; i < len(r.best.steps); i++ {
		for a := 0; i < len(r.best.steps) && a < len(r.best.steps[i].Args); a++ {
			list := smaller(r.best.steps[i].Args[a])
			if h, ok := r.best.steps[i].Args[a].(schedule.Handle); ok {
				list = earlier(r.best.steps[:i], h)
			}
			for _, v := range list {
				steps := slices.Clone(r.best.steps)
				steps[i].Args = slices.Clone(steps[i].Args)
				steps[i].Args[a] = v
				if r.accept(r.best.program, steps) {
					changed = true
					break
				}
			}
		}
	}
	return changed
}

// earlier returns the handles of h's kind that steps name before it: with one of them, the step that gave h may go.
func earlier(steps []schedule.Step, h schedule.Handle) []schedule.Value {
	var list []schedule.Value
	for _, s := range steps {
		for _, o := range s.Outs {
			if o == h || len(list) == 8 {
				return list
			}
			if o[0] == h[0] {
				list = append(list, o)
			}
		}
	}
	return list
}

// smaller returns simpler values than v, the simplest first.
func smaller(v schedule.Value) []schedule.Value {
	var list []schedule.Value
	switch v := v.(type) {
	case int:
		for _, n := range []int{0, 1, 2, v / 2, v - 1} {
			if n >= 0 && n < v && !slices.Contains(list, schedule.Value(n)) {
				list = append(list, n)
			}
		}
	case []schedule.Value:
		for i := range v {
			list = append(list, append(slices.Clone(v[:i]), v[i+1:]...))
		}
		for i, x := range v {
			for _, y := range smaller(x) {
				c := slices.Clone(v)
				c[i] = y
				list = append(list, c)
			}
		}
	}
	return list
}
