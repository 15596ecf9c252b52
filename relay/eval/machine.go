package eval

import (
	"context"

	"github.com/texel-ml/texel/diag"
	"github.com/texel-ml/texel/relay"
	"github.com/texel-ml/texel/tensor"
)

// closure is the value of a function: its code, and the frame in which its free variables are bound.
type closure struct {
	fn    *relay.Function
	scope *frame
}

// plan says how often each node of a function is used, so that its value can be dropped after the last time.
type plan struct {
	uses   map[relay.Expr]int
	pinned map[relay.Expr]bool // variables that nested functions read: kept until the call ends
}

// frame is one call of a function that is being evaluated.
type frame struct {
	fn      *closure
	plan    *plan
	uses    map[relay.Expr]int // uses left
	values  map[relay.Expr]relay.Value
	stack   []relay.Expr // what is to be computed; the last one first
	caller  *frame
	waiting relay.Expr // the call in the caller that this frame computes, or the loop of which it computes a round
	rounds  *rounds    // the loop that this frame is in
}

// machine evaluates one function with an explicit stack of frames.
type machine struct {
	ctx     context.Context
	observe func(relay.Expr, relay.Value) error
	plans   map[*relay.Function]*plan
	top     *frame
	depth   int
}

// maxDepth bounds calls within calls; relay functions cannot call themselves, so only their nesting counts.
const maxDepth = 10000

func (m *machine) plan(fn *relay.Function) *plan {
	if p := m.plans[fn]; p != nil {
		return p
	}
	p := &plan{uses: relay.Users(fn.Body), pinned: map[relay.Expr]bool{}}
	p.uses[fn.Body]++ // the result
	for e := range relay.PostOrder(fn.Body, false) {
		nested, ok := e.(*relay.Function)
		if !ok {
			continue
		}
		for inner := range relay.PostOrder(nested, true) {
			if v, ok := inner.(*relay.Var); ok {
				p.pinned[v] = true
			}
		}
	}
	m.plans[fn] = p
	return p
}

// enter begins a call.
func (m *machine) enter(c *closure, args []relay.Value, waiting relay.Expr) error {
	if m.depth == maxDepth {
		return diag.Unsupported(step, "call", "more than %d calls within each other", maxDepth).At(c.fn.Pos())
	}
	p := m.plan(c.fn)
	f := &frame{fn: c, plan: p, uses: make(map[relay.Expr]int, len(p.uses)), values: map[relay.Expr]relay.Value{},
		stack: []relay.Expr{c.fn.Body}, caller: m.top, waiting: waiting}
	for e, n := range p.uses {
		f.uses[e] = n
	}
	for i, param := range c.fn.Params {
		f.values[param] = args[i]
	}
	m.top = f
	m.depth++
	return nil
}

// run evaluates until the outermost call has its result.
func (m *machine) run() (relay.Value, error) {
	for {
		f := m.top
		if len(f.stack) == 0 {
			v := f.values[f.fn.fn.Body]
			m.top = f.caller
			m.depth--
			if m.top == nil {
				return v, nil
			}
			if err := m.returned(m.top, f.waiting, v); err != nil {
				return nil, err
			}
			continue
		}
		e := f.stack[len(f.stack)-1]
		if _, ok := f.values[e]; ok {
			f.stack = f.stack[:len(f.stack)-1]
			continue
		}
		if err := m.compute(f, e); err != nil {
			return nil, err
		}
	}
}

// returned takes what a call, or a round of a loop, has given.
func (m *machine) returned(f *frame, waiting relay.Expr, v relay.Value) error {
	if _, ok := waiting.(*relay.Loop); ok {
		f.rounds.take(v.(relay.Values))
		return m.round(f)
	}
	return m.done(f, waiting, v)
}

// done records the value of e and drops those of its operands that nothing else needs.
func (m *machine) done(f *frame, e relay.Expr, v relay.Value) error {
	if m.observe != nil {
		switch e.(type) {
		case *relay.Var, *relay.Function:
		default:
			if err := m.observe(e, v); err != nil {
				return err
			}
		}
	}
	f.values[e] = v
	f.stack = f.stack[:len(f.stack)-1]
	for _, o := range relay.Operands(e) {
		if _, nested := e.(*relay.Function); nested {
			break
		}
		if f.uses[o]--; f.uses[o] == 0 && !f.plan.pinned[o] {
			delete(f.values, o)
		}
	}
	return nil
}

// need puts the operands that have no value yet on the stack, the first one on top, and reports whether there are any.
func (f *frame) need(list ...relay.Expr) bool {
	missing := false
	for i := len(list) - 1; i >= 0; i-- {
		if _, ok := f.values[list[i]]; !ok {
			f.stack = append(f.stack, list[i])
			missing = true
		}
	}
	return missing
}

// lookup returns the value of a variable in a frame or in those around its function.
func (f *frame) lookup(v *relay.Var) (relay.Value, bool) {
	for s := f; s != nil; s = s.fn.scope {
		if value, ok := s.values[v]; ok {
			return value, true
		}
	}
	return nil, false
}

// compute takes one step towards the value of e, the top of f's stack: it asks for operands, enters a call or records
// the value.
func (m *machine) compute(f *frame, e relay.Expr) error {
	switch e := e.(type) {
	case *relay.Constant:
		if err := e.Value.Check(); err != nil {
			return diag.Invalid(step, "constant", "constant %q", e.Name).By(err).At(e.Pos())
		}
		return m.done(f, e, tensor.Widen(e.Value))
	case *relay.Var:
		v, ok := f.lookup(e)
		if !ok {
			return diag.Invalid(step, e.Name, "variable is not bound").At(e.Pos())
		}
		return m.done(f, e, v)
	case *relay.Function:
		return m.done(f, e, &closure{e, f})
	case *relay.Tuple:
		if f.need(e.Fields...) {
			return nil
		}
		return m.done(f, e, f.list(e.Fields))
	case *relay.TupleGet:
		if f.need(e.Tuple) {
			return nil
		}
		return m.done(f, e, f.values[e.Tuple].(relay.Values)[e.Index])
	case *relay.Let:
		if f.need(e.Value) {
			return nil
		}
		f.values[e.Var] = f.values[e.Value]
		if f.need(e.Body) {
			return nil
		}
		return m.done(f, e, f.values[e.Body])
	case *relay.If:
		if f.need(e.Cond) {
			return nil
		}
		branch := e.Else
		if c, ok := f.values[e.Cond].(*tensor.Wide); ok && len(c.I) == 1 {
			if c.I[0] != 0 {
				branch = e.Then
			}
		} else {
			return diag.Invalid(step, "if", "condition has type %v, wanted a scalar bool", e.Cond.Type()).At(e.Pos())
		}
		if f.need(branch) {
			return nil
		}
		return m.done(f, e, f.values[branch])
	case *relay.Loop:
		if f.need(relay.Operands(e)...) {
			return nil
		}
		f.rounds = f.begin(e)
		return m.round(f)
	case *relay.Call:
		return m.call(f, e)
	}
	return diag.Internal(step, "", "unknown expression %T", e)
}

func (f *frame) list(exprs []relay.Expr) relay.Values {
	values := make(relay.Values, len(exprs))
	for i, e := range exprs {
		values[i] = f.values[e]
	}
	return values
}

// maxValue bounds the elements of one value, which take eight bytes each: more would end the program instead of the evaluation.
const maxValue = 1 << 31

func (m *machine) call(f *frame, e *relay.Call) error {
	if f.need(relay.Operands(e)...) {
		return nil
	}
	if err := context.Cause(m.ctx); err != nil {
		return err
	}
	args := f.list(e.Args)
	if e.Fn != nil {
		c, ok := f.values[e.Fn].(*closure)
		if !ok {
			return diag.Invalid(step, "call", "%v cannot be applied", e.Fn.Type()).At(e.Pos())
		}
		return m.enter(c, args, e)
	}
	if e.Op.Eval == nil {
		return diag.Unsupported(step, e.Op.Name, "operator has no reference").At(e.Pos())
	}
	if t := relay.Tensor(e); t != nil && t.Shape.Elems() > maxValue {
		return diag.Unsupported(step, e.Op.Name, "the value has %d elements; the reference holds at most %d", t.Shape.Elems(), maxValue).At(e.Pos())
	}
	v, err := e.Op.Eval(&relay.EvalSite{Op: e.Op, Args: args, Attrs: e.Attrs, Type: e.Type(), Done: m.ctx.Done()})
	if err != nil {
		return diag.Internal(step, e.Op.Name, "reference failed").By(err).At(e.Pos())
	}
	if err := context.Cause(m.ctx); err != nil { // the value may be unfinished
		return err
	}
	return m.done(f, e, v)
}
