package schedule

import (
	"slices"

	"github.com/texel-ml/texel/tir"
	"github.com/texel-ml/texel/tir/arith"
)

// The places in a loop's body where compute_at and reverse_compute_at put a block.
const (
	LastPlace  = -1 // as late as may be: before the first reader; for reverse_compute_at at the end
	FirstPlace = -2 // as early as may be: behind the last block that writes what is read
)

// placing is one application of ComputeAt or ReverseComputeAt.
type placing struct {
	s     *Schedule
	step  string
	p     *place // of the block
	at    *place // of the loop
	block *tir.Block
	inner *flow      // the blocks inside the loop, without the one that moves
	keep  []tir.Expr // what of the block's condition must go with it
}

// placing checks the block and the loop.
func (s *Schedule) placing(step string, b Block, l Loop) *placing {
	p, at := s.block(step, b), s.loop(step, l)
	if p == nil || at == nil {
		return nil
	}
	m := &placing{s: s, step: step, p: p, at: at, block: p.realize.Block}
	if m.block.Opaque || len(m.block.Writes) == 0 {
		m.refuse("is opaque")
		return nil
	}
	if slices.ContainsFunc(p.path, func(st tir.Stmt) bool { _, is := st.(*tir.If); return is }) {
		m.refuse("stands inside a condition; wanted one that always runs")
		return nil
	}
	if p.scope() != at.scope() {
		m.refuse("stands inside another block than loop %s", l.v.Name)
		return nil
	}
	if what := outsideBlocks(at.loop.Body); what != "" {
		m.refuse("in loop %s, %s; wanted loads and stores in blocks alone", l.v.Name, what)
		return nil
	}
	for _, f := range allLoops(m.block.Body) {
		around := slices.Concat(at.outer, at.loops, []*tir.For{at.loop})
		if i := slices.IndexFunc(around, func(o *tir.For) bool { return o.Axis() >= 0 && o.Axis() == f.Axis() }); i >= 0 {
			m.refuse("its loop %s is bound to %s, as loop %s around the place is", f.Var.Name, f.Thread, around[i].Var.Name)
			return nil
		}
	}
	if buf := changed(m.block); buf != nil {
		m.refuse("changes %s, which it reads; wanted a block that may run again", buf.Name)
		return nil
	}
	for _, w := range m.block.Writes {
		if !s.distinct(m.block, w.Buffer, p.blocks) {
			m.refuse("different instances of it may write one element of %s, and the last decides", w.Buffer.Name)
			return nil
		}
	}
	if !m.condition() {
		return nil
	}
	m.inner = insideOf(at)
	m.inner.places = slices.DeleteFunc(m.inner.places, func(c *place) bool { return c.realize == p.realize })
	return m
}

func (m *placing) refuse(format string, args ...any) bool {
	m.s.refuse(m.step, m.block.Name, format, args...)
	return false
}

// condition takes the block's condition apart: what keeps its variables in their range goes with the loops.
func (m *placing) condition() bool {
	r := m.p.realize
	a := m.p.analyzer()
	own := map[*tir.Var]bool{}
	for _, v := range r.Values {
		if w, ok := v.(*tir.Var); ok {
			own[w] = true
		}
	}
	for _, b := range m.p.blocks {
		for _, iv := range b.Block.Iters {
			own[iv.Var] = true
		}
	}
	for _, v := range m.s.fn.Scalars {
		own[v] = true
	}
	for _, cond := range tir.Conjuncts(r.Where) {
		if outOfRange(a, r, cond) {
			continue
		}
		if usesOthers(cond, own) || tir.ReadsMemory(cond) {
			return m.refuse("its guard is not over its own variables; wanted %s before its loops are split", m.step)
		}
		m.keep = append(m.keep, cond)
	}
	return true
}

// outOfRange reports whether a variable of a realized block is out of its range where a condition does not hold.
func outOfRange(a *arith.Analyzer, r *tir.BlockRealize, cond tir.Expr) bool {
	leave := a.Assume(tir.Negate(cond))
	defer leave()
	for i, v := range r.Values {
		if a.Prove(tir.Ge(v, tir.I(r.Block.Iters[i].Extent))) || a.Prove(tir.Lt(v, tir.I(0))) {
			return true
		}
	}
	return false
}

// nest returns new loops around the block, one for each variable in the block's order: over the wanted range where there is
// one, else over all of the variable's.
func (m *placing) nest(wanted map[*tir.Var]tir.Range) tir.Stmt {
	a := m.inner.a
	var loops []*tir.For
	var where tir.Expr
	own := map[*tir.Var]tir.Expr{}
	values := make([]tir.Expr, len(m.block.Iters))
	for i, iv := range m.block.Iters {
		extent, lo := iv.Extent, tir.Expr(tir.I(0))
		if r, ok := wanted[iv.Var]; ok {
			if n, known := tir.AsInt(r.Extent); known && int(n) < extent {
				extent, lo = int(n), r.Min
			}
		}
		v := m.s.newVar(iv.Var.Name)
		f := &tir.For{Var: v, Min: tir.I(0), Extent: tir.I(extent)}
		a.BindLoop(f)
		loops = append(loops, f)
		values[i] = a.Simplify(tir.Plus(lo, v))
		if old, ok := m.p.realize.Values[i].(*tir.Var); ok {
			own[old] = values[i]
		}
		if extent < iv.Extent {
			where = tir.All(where, a.Simplify(tir.Ge(values[i], tir.I(0))), a.Simplify(tir.Lt(values[i], tir.I(iv.Extent))))
		}
	}
	for _, cond := range m.keep {
		where = tir.All(where, a.Simplify(tir.Subst(cond, own)))
	}
	return nestOf(loops, &tir.BlockRealize{Values: values, Where: where, Block: m.block})
}

// put moves the block, as st, to a place in the loop's body. The place may be anywhere from the number of statements first to
// the number last; index says where.
func (m *placing) put(st tir.Stmt, index int, bounds func(body []tir.Stmt) (first, last int)) bool {
	root := swap(m.s.fn.Root().Body, m.p.realize, nil)
	target := findLoop(root, m.at.loop.Var)
	body := statementsOf(target.Body)
	first, last := bounds(body)
	switch {
	case first > last:
		return m.refuse("block %s, which writes what it reads, and a block that reads what it writes stand in one statement of loop %s; wanted a loop further inside",
			m.writer(body[last]), target.Var.Name)
	case index == LastPlace:
		index = last
	case index == FirstPlace:
		index = first
	}
	if index < first || index > last {
		return m.refuse("cannot stand at place %d of loop %s; wanted one from %d to %d, or -1 for the last or -2 for the first of them", index, target.Var.Name, first, last)
	}
	runs := runsOf(m.s.fn.Root().Body)
	to := 0
	if index < len(body) {
		to = numberOf(runs, body[index])
	} else {
		inside := runsOf(body[len(body)-1])
		to = slices.IndexFunc(runs, func(r *run) bool { return r.realize == inside[len(inside)-1].realize }) + 1
	}
	move := m.s.moveOf(m.block, to, slices.Concat(m.at.outer, m.at.loops, []*tir.For{m.at.loop}))
	if why := move.inputs(false); why != "" {
		return m.refuse("%s", why)
	}
	if why := move.outputs(); why != "" {
		return m.refuse("%s", why)
	}
	c := *target
	c.Body = tir.Block1(slices.Insert(slices.Clone(body), index, st)...)
	m.s.setRoot(swap(root, target, &c), m.s.fn.Root().Allocs)
	return true
}

// settled checks the block in its new place against the blocks that share a loop with it: its instances may run in other
// iterations of that loop than before. What it reads must be written in the same iteration. What others read of it there is:
// each iteration computes what they read, or all that can be computed, which is what it did before and more.
func (m *placing) settled() bool {
	p := m.s.block(m.step, Block{name: m.block.Name})
	all := m.s.beside(p)
	own := slices.IndexFunc(all.places, func(c *place) bool { return c.realize == p.realize })
	at := all.places[own]
	for _, r := range m.block.Reads {
		shared, found := false, false
		for i, w := range all.places {
			if i != own && writes(w.realize.Block, r.Buffer) {
				shared = shared || together(w.loops, at.loops) > 0
				found = found || i < own && all.covers(w, at, r)
			}
		}
		if shared && !found {
			return m.refuse("an iteration of %s does not write all of what it would read of %s there, or not completely", m.at.loop.Var.Name, r.Buffer.Name)
		}
	}
	if why := m.s.sharedBy(func(buf *tir.Buffer) bool { return reads(m.block, buf) || writes(m.block, buf) }); why != "" {
		return m.refuse("%s", why)
	}
	return true
}

// writer names a block below st that writes what the block reads.
func (m *placing) writer(st tir.Stmt) string {
	for _, r := range runsOf(st) {
		for _, w := range r.realize.Block.Writes {
			if loadsOf(m.block, w.Buffer) {
				return r.realize.Block.Name
			}
		}
	}
	return ""
}

// behindWriters is the number of the statements up to the last one that writes what the block reads.
func (m *placing) behindWriters(body []tir.Stmt) int {
	n := 0
	for i, st := range body {
		if m.writer(st) != "" {
			n = i + 1
		}
	}
	return n
}

func findLoop(body tir.Stmt, v *tir.Var) *tir.For {
	var found *tir.For
	tir.Walk(body, func(n any) bool {
		if f, ok := n.(*tir.For); ok && f.Var == v && found == nil {
			found = f
		}
		return found == nil
	})
	return found
}

// join returns the range around two; the zero range is none yet. It reports false where there is no such range.
func join(a *arith.Analyzer, x, y tir.Range) (tir.Range, bool) {
	if x.Min == nil {
		return y, true
	}
	u, ok := a.Union([]tir.Range{x}, []tir.Range{y})
	if !ok {
		return tir.Range{}, false
	}
	return u[0], true
}
