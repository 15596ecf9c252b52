// Package schedule shapes loops. A Schedule holds a function in block form; each primitive checks that it may be
// applied, rewrites the function, and records itself in the trace. A trace replays to the same function.
//
// The first step that is refused sets Err, a typed error that names the step, the block or loop, what was wanted and
// what was found; the steps after it do nothing, and what they give stands for nothing. So a rule reads as a list of steps
// and is checked once at its end.
//
// Names and meaning of the primitives are TensorIR's (Feng et al., "TensorIR: An Abstraction for Automatic Tensorized
// Program Optimization", ASPLOS 2023). Primitives, in primitives.go, is their table; each has a file of its name.
package schedule

import (
	"fmt"
	"strconv"

	"github.com/texel-ml/texel/diag"
	"github.com/texel-ml/texel/tir"
	"github.com/texel-ml/texel/tir/verify"
)

// Schedule is a function and the steps that shaped it.
type Schedule struct {
	fn      *tir.Func
	program *tir.Func // what the schedule began with
	proven  *proven
	legal   *tir.Func // what the last step that was accepted left
	taken   *tir.Func // what the last step of the trace left
	trace   *Trace
	err     error
	opts    Options
	fresh   int // names of variables that were made

	blocks, loops, ints int    // handles that were named
	inside              int    // primitives of the options that are being applied: their steps are not recorded
	draws               draws  // the decisions of the step that is being taken
	random              uint64 // state of the generator
}

// Options of a schedule. The zero value has the built-in primitives alone.
type Options struct {
	// Primitives are more rows of the table, which compose built-in primitives.
	Primitives []Primitive
	// Intrinsics are more tensor instructions, which stand before the built-in ones of the same name.
	Intrinsics []Intrinsic
	// Seed starts the generator of the sampling primitives: the same seed draws the same numbers.
	Seed uint64
	// Trust leaves out the proof of each step that the function still means the same.
	Trust bool
	// Observe, where set, sees each step that is recorded, and the function before and after it.
	Observe func(step Step, before, after *tir.Func)
}

// Block names a block of the function.
type Block struct {
	name string
	id   Handle // in the trace
}

// Name is the block's name in the function.
func (b Block) Name() string { return b.name }

// Loop names a loop of the function.
type Loop struct {
	v  *tir.Var
	id Handle
}

// Int is a number, and its handle when a sampling primitive drew it.
type Int struct {
	value int
	id    Handle
}

// Value is the number.
func (n Int) Value() int { return n.value }

// Ints are numbers that were not drawn.
func Ints(list ...int) []Int {
	out := make([]Int, len(list))
	for i, n := range list {
		out[i].value = n
	}
	return out
}

// New starts a schedule of f, which must be in block form.
func New(f *tir.Func) *Schedule { return NewWith(f, Options{}) }

// NewWith starts a schedule of f, which must be in block form, with options. Where f is not legal, the verifier's words
// are the schedule's first error.
func NewWith(f *tir.Func, opts Options) *Schedule {
	err := verify.Verify(f)
	f = withOwnVars(f)
	return &Schedule{err: err, fn: f, program: f, proven: newProven(), legal: f, taken: f, trace: &Trace{}, opts: opts, random: opts.Seed}
}

// Fork returns a copy of the schedule whose sampling primitives draw from another seed.
func (s *Schedule) Fork(seed uint64) *Schedule {
	c := *s
	c.trace = &Trace{Steps: s.trace.Steps[:len(s.trace.Steps):len(s.trace.Steps)]}
	c.random = seed
	c.proven = newProven()
	return &c
}

// Func returns the function as it is now.
func (s *Schedule) Func() *tir.Func { return s.fn }

// Trace returns the steps taken so far.
func (s *Schedule) Trace() *Trace { return s.trace }

// Err returns the first error, or nil.
func (s *Schedule) Err() error { return s.err }

// refuse records why a step cannot be taken.
func (s *Schedule) refuse(step, node, format string, args ...any) {
	s.fail(diag.Invalid(step, node, format, args...))
}

// refuseBy records that a step cannot be taken because of another package's error.
func (s *Schedule) refuseBy(step, node string, err error) {
	s.fail(diag.Invalid(step, node, "the buffer cannot be there").By(err))
}

// fail records the first error. The function is then what the steps before left.
func (s *Schedule) fail(err error) {
	if s.err == nil {
		s.err, s.fn = err, s.legal
	}
}

func (s *Schedule) newVar(name string) *tir.Var {
	s.fresh++
	return tir.NewVar(fmt.Sprintf("%s_%d", name, s.fresh))
}

// record ends a step: it is accepted, and stands in the trace unless it is part of another primitive's.
func (s *Schedule) record(name string, args []Value, gave ...any) {
	s.declare()
	if s.err == nil && s.fn != s.legal && !s.opts.Trust && !neutral(name) {
		s.prove(name, keepsOrder(name, args))
	}
	if s.err != nil {
		return
	}
	s.legal = s.fn
	if s.inside > 0 {
		return
	}
	step := Step{Name: name, Args: args, Decision: s.draws.decision()}
	s.draws = draws{left: s.draws.left}
	for _, g := range gave {
		step.Outs = append(step.Outs, handlesOf(g)...)
	}
	s.trace.Steps = append(s.trace.Steps, step)
	before := s.taken
	s.taken = s.fn
	if s.opts.Observe != nil {
		s.opts.Observe(step, before, s.fn)
	}
}

// handlesOf returns the handles of a result: of a block, a loop, a number or a list of them.
func handlesOf(g any) []Handle {
	switch v := valueOf(g).(type) {
	case Handle:
		return []Handle{v}
	case []Value:
		list := make([]Handle, len(v))
		for i, x := range v {
			list[i] = x.(Handle)
		}
		return list
	}
	return nil
}

// blockNamed returns a handle of the block with that name.
func (s *Schedule) blockNamed(name string) Block {
	b := Block{name: name}
	if s.inside == 0 {
		b.id = Handle("b" + strconv.Itoa(s.blocks))
		s.blocks++
	}
	return b
}

// loopOver returns a handle of the loop over v.
func (s *Schedule) loopOver(v *tir.Var) Loop {
	l := Loop{v: v}
	if s.inside == 0 {
		l.id = Handle("l" + strconv.Itoa(s.loops))
		s.loops++
	}
	return l
}

// loopsOver returns handles of loops, in order.
func (s *Schedule) loopsOver(fors []*tir.For) []Loop {
	list := make([]Loop, len(fors))
	for i, f := range fors {
		list[i] = s.loopOver(f.Var)
	}
	return list
}

// drawn returns a handle of a number that was drawn.
func (s *Schedule) drawn(value int) Int {
	n := Int{value: value}
	if s.inside == 0 {
		n.id = Handle("v" + strconv.Itoa(s.ints))
		s.ints++
	}
	return n
}

// renamed gives a result a handle of its own in the trace.
func (s *Schedule) renamed(result any) any {
	switch r := result.(type) {
	case Block:
		return s.blockNamed(r.name)
	case Loop:
		return s.loopOver(r.v)
	case Int:
		return s.drawn(r.value)
	}
	return result
}

// setBody replaces the body of the function.
func (s *Schedule) setBody(body tir.Stmt) {
	f := *s.fn
	f.Body = body
	s.fn = &f
}

// setRoot replaces body and allocations of the root block.
func (s *Schedule) setRoot(body tir.Stmt, allocs []*tir.Buffer) {
	root := *s.fn.Root()
	root.Body, root.Allocs = body, allocs
	s.setBody(&tir.BlockRealize{Block: &root})
}
