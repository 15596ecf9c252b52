package llvm

import (
	"fmt"

	"github.com/texel-ml/texel/tensor"
	"github.com/texel-ml/texel/tir"
)

// A loop that updates the same elements of a buffer in memory in each iteration (a reduction into an output, or into a
// local buffer that other loops index by their variables) would load and store them each time. promote finds such
// buffers: all accesses in the loop are at offsets that do not change in it and differ by constants, and each element
// is accessed in every iteration whatever its conditions, so that it exists. Its elements are loaded before the loop,
// are values in it, and are stored after it.

// promoted is a buffer whose elements are values during a loop.
type promoted struct {
	b   *tir.Buffer
	m   *memory
	set *slotSet
}

// candidate collects the accesses of one buffer in a loop.
type candidate struct {
	spans  map[span]int
	sure   map[span]bool // accessed in every iteration
	base   linear
	first  bool // base is not set yet
	failed bool
}

// promote decides for the loop over body with variable v, emits the loads, and returns what is to be stored behind the
// loop by demote.
func (e *emitter) promote(v *tir.Var, body tir.Stmt) []promoted {
	p := &promoter{e: e, inner: map[*tir.Var]bool{v: true}, of: map[*tir.Buffer]*candidate{}}
	tir.Walk(body, func(n any) bool {
		switch n := n.(type) {
		case *tir.For:
			p.inner[n.Var] = true
		case *tir.Let:
			p.inner[n.Var] = true
		case *tir.Store:
			if b := n.Buffer; p.of[b] == nil && e.ssa[b] == nil && e.mems[b] != nil && b.DType != tensor.Bool {
				p.of[b] = &candidate{spans: map[span]int{}, sure: map[span]bool{}, first: true}
				p.order = append(p.order, b)
			}
		}
		return true
	})
	if len(p.order) == 0 {
		return nil
	}
	tir.Walk(body, func(n any) bool {
		if a, ok := n.(*tir.Allocate); ok {
			delete(p.of, a.Buffer)
		}
		return true
	})
	p.stmt(body, true)
	var out []promoted
	for _, b := range p.order {
		if c := p.of[b]; c != nil && !c.failed {
			if set := c.slots(2*e.m.t.VectorRegisters, len(e.slots)); set != nil {
				out = append(out, e.lift(b, set))
			}
		}
	}
	return out
}

// slots makes values of the accesses, at most limit; nil when an element might not exist.
func (c *candidate) slots(limit, first int) *slotSet {
	lo, hi := int(^uint(0)>>1), 0
	for s := range c.spans {
		lo, hi = min(lo, s.start), max(hi, s.start+s.lanes)
	}
	if hi-lo > 64*limit {
		return nil
	}
	sure := make([]bool, hi-lo)
	relative := map[span]int{}
	for s := range c.spans {
		relative[span{s.start - lo, s.lanes}] = 0
		for i := range s.lanes {
			sure[s.start-lo+i] = sure[s.start-lo+i] || c.sure[s]
		}
	}
	set := makeSlots(hi-lo, relative, first)
	for i, slot := range set.of {
		if slot >= 0 && !sure[i] {
			return nil
		}
	}
	if len(set.lanes) > limit {
		return nil
	}
	base := c.base.plus(linear{c: int64(lo)}, 1)
	set.base = &base
	return set
}

// lift loads the elements of a buffer.
func (e *emitter) lift(b *tir.Buffer, set *slotSet) promoted {
	m := e.mems[b]
	for i, n := range set.lanes {
		t := vec(m.elem, n)
		e.slots = append(e.slots, e.fetch(b, m, set.base.plus(linear{c: int64(set.start[i])}, 1), t))
		e.plan.types = append(e.plan.types, t)
	}
	e.ssa[b] = set
	return promoted{b, m, set}
}

// demote stores the elements of promoted buffers.
func (e *emitter) demote(list []promoted) {
	for i := len(list) - 1; i >= 0; i-- {
		p := list[i]
		for k := range p.set.lanes {
			if v := e.slots[p.set.first+k]; v != nil {
				l := p.set.base.plus(linear{c: int64(p.set.start[k])}, 1)
				e.act(fmt.Sprintf("store $0, $1, align %d%s", p.m.alignOf(l), p.m.stores), v, e.pointer(p.m, l))
			}
		}
		e.slots, e.plan.types = e.slots[:p.set.first], e.plan.types[:p.set.first]
		e.ssa[p.b] = nil
		e.wrote(p.b)
	}
}

type promoter struct {
	e     *emitter
	inner map[*tir.Var]bool // bound in the loop
	of    map[*tir.Buffer]*candidate
	order []*tir.Buffer
}

// stmt visits a statement; sure says that it runs in every iteration.
func (p *promoter) stmt(s tir.Stmt, sure bool) {
	switch s := s.(type) {
	case *tir.For:
		p.expr(s.Min, sure)
		p.expr(s.Extent, sure)
		n, ok := tir.AsInt(s.Extent)
		p.stmt(s.Body, sure && ok && n > 0)
	case *tir.Store:
		for _, i := range s.Indices {
			p.expr(i, sure)
		}
		p.expr(s.Value, sure)
		p.access(s.Buffer, s.Indices, sure)
	case *tir.Seq:
		for _, c := range s.Stmts {
			p.stmt(c, sure)
		}
	case *tir.If:
		p.expr(s.Cond, sure)
		p.stmt(s.Then, false)
		p.stmt(s.Else, false)
	case *tir.While:
		p.expr(s.Cond, sure)
		p.stmt(s.Body, false)
	case *tir.Let:
		p.expr(s.Value, sure)
		p.stmt(s.Body, sure)
	case *tir.Allocate:
		p.stmt(s.Body, sure)
	case *tir.Evaluate:
		p.expr(s.Value, sure)
	}
}

func (p *promoter) expr(x tir.Expr, sure bool) {
	tir.Walk(x, func(n any) bool {
		switch n := n.(type) {
		case *tir.Select:
			p.expr(n.Cond, sure)
			p.expr(n.Then, false)
			p.expr(n.Else, false)
			return false
		case *tir.Binary:
			if n.Op.IsLogical() {
				p.expr(n.A, sure)
				p.expr(n.B, false)
				return false
			}
		case *tir.Load:
			p.access(n.Buffer, n.Indices, sure)
		}
		return true
	})
}

// access notes an access of a candidate.
func (p *promoter) access(b *tir.Buffer, indices []tir.Expr, sure bool) {
	c := p.of[b]
	if c == nil || c.failed {
		return
	}
	for _, i := range indices {
		tir.Walk(i, func(n any) bool {
			switch n := n.(type) {
			case *tir.Var:
				c.failed = c.failed || p.inner[n]
			case *tir.Load, *tir.Call:
				c.failed = true
			}
			return !c.failed
		})
	}
	if c.failed {
		return
	}
	v := p.e.flatten(b, indices)
	if v.generic != nil || !v.uniform() && !v.contiguous() {
		c.failed = true
		return
	}
	if c.first {
		c.base, c.first = v.base, false
	}
	d := v.base.plus(c.base, -1)
	if !d.isConst() || d.c < -1<<20 || d.c > 1<<20 {
		c.failed = true
		return
	}
	s := span{start: int(d.c), lanes: v.lanes}
	if v.uniform() {
		s.lanes = 1
	}
	c.spans[s] = 0
	c.sure[s] = c.sure[s] || sure
}
