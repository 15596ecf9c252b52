package schedule

import (
	"slices"

	"github.com/texel-ml/texel/tir"
	"github.com/texel-ml/texel/tir/arith"
)

// Blockize makes one block of loop l and what is inside it, a nest of loops around one block. The new block has the
// variables that the loops outside drive, and the old block stands inside it, with the loops inside and what is left of
// its variables:
//
//	for io in 0..4                    for io in 0..4
//	  for ii in 0..4                    C_o(o = io):
//	    C(i = 4·io + ii)       →          for ii in 0..4
//	                                        C(i = 4·o + ii)
//
// Where loops outside drive a reduce variable, the new block has the initial value; its update is the old block:
//
//	for ko in 0..8                    for ko in 0..8
//	  for ii, ki in 0..4                C_o(o = ko):
//	    C(ii, 4·ko + ki)       →          init: for ii: C_init(ii)
//	                                      for ii, ki: C(ii, 4·o + ki)
//
// The new block reads and writes the boxes that the old one touches inside, and is moved and tensorized as one. It refuses
// when the part of a variable inside does not fit between the steps of the part outside, as for a window that slides.
func (s *Schedule) Blockize(l Loop) Block {
	const step = "blockize"
	at := s.loop(step, l)
	if at == nil {
		return Block{}
	}
	c := s.cut(step, at)
	if c == nil {
		return Block{}
	}
	outer := c.block()
	if outer == nil {
		return Block{}
	}
	s.replaceIn(at, at.loop, outer)
	out := s.blockNamed(outer.Block.Name)
	s.record(step, operands(l), out)
	return out
}

// cutting parts a nest into loops outside and inside of a new block.
type cutting struct {
	s      *Schedule
	p      *place // of the old block
	inner  []*tir.For
	inside map[*tir.Var]bool // variables of inner
	a      *arith.Analyzer   // knows the loops
	in     *arith.Analyzer   // knows the new block's variables and the loops inside

	iters  []tir.IterVar // of the new block
	steps  []tir.Expr    // their values
	values []tir.Expr    // of the old block's variables inside
	outer  tir.Expr      // the guard of the new block
	where  tir.Expr      // the guard of the old one
}

// cut parts the variables and the guard of the block below loop at; nil when it refuses.
func (s *Schedule) cut(step string, at *place) *cutting {
	name := at.loop.Var.Name
	inside := realizesIn(at.loop.Body)
	if len(inside) != 1 {
		s.refuse(step, name, "has %d blocks inside, wanted one", len(inside))
		return nil
	}
	p := s.block(step, Block{name: inside[0].realize.Block.Name})
	if old := p.realize.Block; old.Init != nil && runsInOrder(old) {
		s.refuse(step, name, "block %s has an initial value and runs in order; wanted spatial and reduce variables", old.Name)
		return nil
	}
	if p.alone() > len(at.loops) {
		s.refuse(step, name, "has conditions between its loops and block %s; wanted a nest of loops", p.realize.Block.Name)
		return nil
	}
	c := &cutting{s: s, p: p, inner: p.loops[len(at.loops):], inside: map[*tir.Var]bool{}, a: p.analyzer()}
	for _, f := range c.inner {
		_, lo := tir.AsInt(f.Min)
		if n, ok := tir.AsInt(f.Extent); !lo || !ok || n < 1 {
			s.refuse(step, f.Var.Name, "has bounds that are computed, or no iteration; wanted constant ones")
			return nil
		}
		c.inside[f.Var] = true
	}
	for i, iv := range p.realize.Block.Iters {
		if !c.iter(iv, p.realize.Values[i]) {
			s.refuse(step, name, "the value of %s is not a multiple of a step outside and less than a step inside", iv.Var.Name)
			return nil
		}
	}
	c.in = (&place{blocks: p.blocks}).analyzer()
	for _, iv := range c.iters {
		c.in.Bind(iv.Var, 0, int64(iv.Extent))
	}
	for _, f := range c.inner {
		c.in.BindLoop(f)
	}
	for _, cond := range tir.Conjuncts(p.realize.Where) {
		if !c.guard(cond) {
			s.refuse(step, name, "the guard of %s cannot be said of the variables of a block", p.realize.Block.Name)
			return nil
		}
	}
	for i, iv := range c.iters { // what runs is inside the old variables, and so inside the new ones
		leave := c.a.Assume(c.outer)
		last := c.a.Simplify(tir.Lt(c.steps[i], tir.I(iv.Extent)))
		leave()
		if !tir.IsConst(last, 1) {
			c.outer = tir.All(c.outer, last)
		}
	}
	for i, iv := range p.realize.Block.Iters {
		c.values[i] = c.in.Simplify(c.values[i])
		leave := c.in.Assume(c.where)
		last := c.in.Simplify(tir.Lt(c.values[i], tir.I(iv.Extent)))
		leave()
		if !tir.IsConst(last, 1) { // in the last of the new block's instances
			c.where = tir.All(c.where, last)
		}
	}
	return c
}

// iter parts the value of one variable into step·(the new variable) + what is inside.
func (c *cutting) iter(iv tir.IterVar, value tir.Expr) bool {
	out, in, ok := c.part(c.a.Simplify(value))
	if !ok {
		return false
	}
	lo, hi, ok := c.a.Bounds(in)
	if !ok {
		return false
	}
	step, rest := stepOf(c.a.Simplify(tir.Plus(out, tir.I(int(lo)))))
	switch {
	case step == 0: // nothing of it is outside
		c.values = append(c.values, c.a.Simplify(value))
		return true
	case hi == lo:
		step, rest = 1, 0 // nothing of it is inside
	case step <= rest+hi-lo:
		return false
	}
	move := tir.I(int(lo - rest))
	out, in = c.a.Simplify(tir.Plus(out, move)), tir.Minus(in, move)
	first := c.a.Simplify(tir.Bin(tir.FloorDiv, out, tir.I(int(step))))
	extent := (int64(iv.Extent) + step - 1) / step
	if _, last, ok := c.a.Bounds(first); ok {
		extent = max(1, min(extent, last+1))
	}
	v := c.s.newVar(iv.Var.Name)
	c.iters = append(c.iters, tir.IterVar{Var: v, Extent: int(extent), Kind: iv.Kind})
	c.steps = append(c.steps, first)
	c.values = append(c.values, tir.Plus(tir.Times(v, tir.I(int(step))), in))
	return true
}

// part returns the parts of a sum outside and inside; it reports false when one of its terms is both.
func (c *cutting) part(e tir.Expr) (out, in tir.Expr, ok bool) {
	out, in, ok = tir.I(0), tir.I(0), true
	for _, t := range termsOf(e, 1) {
		term := tir.Times(t.atom, tir.I(int(t.k)))
		switch uses := tir.UsesAny(t.atom, c.inside); {
		case !uses:
			out = tir.Plus(out, term)
		case !usesOthers(t.atom, c.inside) && !tir.ReadsMemory(t.atom):
			in = tir.Plus(in, term)
		default:
			ok = false
		}
	}
	return out, in, ok
}

// stepOf returns the largest step in whose multiples a sum goes, and where it starts: step·n + rest, 0 ≤ rest < step. Of a
// constant the step is 0.
func stepOf(e tir.Expr) (step, rest int64) {
	for _, t := range termsOf(e, 1) {
		if n, ok := tir.AsInt(t.atom); ok {
			rest += t.k * n
			continue
		}
		for a := t.k; a != 0; {
			step, a = a, step%a
		}
	}
	if step = max(step, -step); step != 0 {
		rest = (rest%step + step) % step
	}
	return step, rest
}

// sumTerm is one of a sum: k·atom.
type sumTerm struct {
	atom tir.Expr
	k    int64
}

// termsOf returns the terms of k·e.
func termsOf(e tir.Expr, k int64) []sumTerm {
	if b, ok := e.(*tir.Binary); ok {
		n, isConst := tir.AsInt(b.B)
		switch {
		case b.Op == tir.Add:
			return append(termsOf(b.A, k), termsOf(b.B, k)...)
		case b.Op == tir.Sub:
			return append(termsOf(b.A, k), termsOf(b.B, -k)...)
		case b.Op == tir.Mul && isConst:
			return termsOf(b.A, k*n)
		}
	}
	if tir.IsConst(e, 0) {
		return nil
	}
	return []sumTerm{{e, k}}
}

// guard puts a condition where it belongs: at the new block when it is about loops outside, else at the old one, said of the
// new block's variables.
func (c *cutting) guard(cond tir.Expr) bool {
	if !tir.UsesAny(cond, c.inside) {
		c.outer = tir.All(c.outer, cond)
		return true
	}
	b, ok := cond.(*tir.Binary)
	if ok && b.Op.IsCompare() && b.A.Type() == tir.Index {
		if d, ok := c.said(c.a.Simplify(tir.Minus(b.A, b.B))); ok {
			c.where = tir.All(c.where, c.in.Simplify(&tir.Binary{Op: b.Op, A: d, B: tir.I(0)}))
			return true
		}
	}
	to := map[*tir.Var]tir.Expr{}
	for i, e := range c.steps {
		if v, ok := e.(*tir.Var); ok {
			to[v] = c.iters[i].Var
		}
	}
	cond = tir.Subst(cond, to)
	c.where = tir.All(c.where, c.in.Simplify(cond))
	return !c.usesOutside(cond)
}

// said says a sum over the new block's variables in the place of the loops outside.
func (c *cutting) said(e tir.Expr) (tir.Expr, bool) {
	out, in, ok := c.part(e)
	if !ok {
		return nil, false
	}
	for i, step := range c.steps {
		list := termsOf(step, 1)
		for _, t := range termsOf(c.a.Simplify(out), 1) {
			if len(list) > 0 && tir.Equal(t.atom, list[0].atom) && t.k%list[0].k == 0 {
				k := tir.I(int(t.k / list[0].k))
				out = c.a.Simplify(tir.Minus(out, tir.Times(step, k)))
				in = tir.Plus(in, tir.Times(c.iters[i].Var, k))
				break
			}
		}
	}
	if c.usesOutside(out) {
		return nil, false
	}
	return c.in.Simplify(tir.Plus(out, in)), true
}

// usesOutside reports whether e uses a loop outside of the new block.
func (c *cutting) usesOutside(e tir.Expr) bool {
	for _, f := range c.p.loops[:len(c.p.loops)-len(c.inner)] {
		if tir.Uses(e, f.Var) {
			return true
		}
	}
	return false
}

// block returns the realization of the new block.
func (c *cutting) block() *tir.BlockRealize {
	s, old := c.s, c.p.realize.Block
	b := &tir.Block{Name: s.blockName(old.Name + "_o"), Iters: c.iters}
	update := *old
	reduces := false
	for _, iv := range c.iters {
		reduces = reduces || iv.Kind == tir.Reduce
	}
	if old.Init != nil && reduces {
		b.Init = c.initial(s.blockName(old.Name + "_init"))
		update.Init = nil
	}
	b.Body = nestOf(c.inner, &tir.BlockRealize{Values: c.values, Where: c.where, Block: &update})
	b.Reads, b.Writes = c.boxes(old.Reads), c.boxes(old.Writes)
	return &tir.BlockRealize{Values: c.steps, Where: c.outer, Block: b}
}

// initial returns the nest of a block that writes the initial value of what is inside.
func (c *cutting) initial(name string) tir.Stmt {
	s, old := c.s, c.p.realize.Block
	init := &tir.Block{Name: name}
	inside := &tir.BlockRealize{Values: c.values, Block: old}
	zero := map[*tir.Var]tir.Expr{} // reduce variables at the first instance
	for _, iv := range c.iters {
		if iv.Kind == tir.Reduce {
			zero[iv.Var] = tir.I(0)
		}
	}
	for _, f := range c.inner {
		if drives(inside, f.Var, tir.Reduce) && !drives(inside, f.Var, tir.Spatial) {
			zero[f.Var] = f.Min
		}
	}
	where := tir.All(c.in.Simplify(tir.Subst(c.where, zero)))
	var loops []*tir.For
	for _, f := range c.inner {
		if drives(inside, f.Var, tir.Spatial) || where != nil && tir.Uses(where, f.Var) {
			loops = append(loops, f)
		}
	}
	loops, to := s.copiesOf(loops)
	bind := map[*tir.Var]tir.Expr{}
	var values []tir.Expr
	for i, iv := range old.Iters {
		if iv.Kind == tir.Spatial {
			v := s.newVar(iv.Var.Name)
			bind[iv.Var] = v
			init.Iters = append(init.Iters, tir.IterVar{Var: v, Extent: iv.Extent, Kind: tir.Spatial})
			values = append(values, tir.Subst(c.values[i], to))
		}
	}
	init.Body = tir.SubstStmt(old.Init, bind)
	init.Reads, init.Writes = initRegions(old, init, bind)
	return nestOf(loops, &tir.BlockRealize{Values: values, Where: tir.Subst(where, to), Block: init})
}

// boxes returns the parts of regions that the old block touches inside, one box a buffer where they have one.
func (c *cutting) boxes(list []tir.Region) []tir.Region {
	bind := bindings(&tir.BlockRealize{Values: c.values, Block: c.p.realize.Block})
	over := rangesOf(c.inner)
	var out []tir.Region
next:
	for _, r := range list {
		if slices.Contains(c.p.realize.Block.Allocs, r.Buffer) {
			continue // it does not exist outside of the old block
		}
		box := make([]tir.Range, len(r.Ranges))
		for n, g := range r.Ranges {
			box[n] = c.box(g, bind, over, r.Buffer.Shape[n])
		}
		for i, o := range out {
			if o.Buffer != r.Buffer {
				continue
			}
			if both, ok := c.union(r.Buffer, o.Ranges, box); ok {
				out[i].Ranges = both
				continue next
			}
		}
		out = append(out, tir.Region{Buffer: r.Buffer, Ranges: box})
	}
	return out
}

// union returns the box around two, axis by axis: all of an axis where one of them is.
func (c *cutting) union(buf *tir.Buffer, a, b []tir.Range) ([]tir.Range, bool) {
	out := make([]tir.Range, len(a))
	for n := range a {
		whole := func(g tir.Range) bool { return tir.IsConst(g.Min, 0) && tir.IsConst(g.Extent, int64(buf.Shape[n])) }
		switch {
		case whole(a[n]):
			out[n] = a[n]
		case whole(b[n]):
			out[n] = b[n]
		default:
			u, ok := c.in.Union(a[n:n+1], b[n:n+1])
			if !ok {
				return nil, false
			}
			out[n] = u[0]
		}
	}
	return out, true
}

// box returns what one axis of a region becomes; all of the axis where that is not known.
func (c *cutting) box(g tir.Range, bind map[*tir.Var]tir.Expr, over map[*tir.Var]tir.Range, shape int) tir.Range {
	whole := tir.Range{Min: tir.I(0), Extent: tir.I(shape)}
	width, ok := tir.AsInt(g.Extent)
	if !ok || hasLoad(g.Min) {
		return whole
	}
	t, ok := c.in.Touched([]tir.Expr{c.in.Simplify(tir.Subst(g.Min, bind))}, over)
	if !ok {
		return whole
	}
	n, ok := tir.AsInt(t[0].Extent)
	if !ok || c.usesOutside(t[0].Min) || n+width-1 > int64(shape) {
		return whole
	}
	return tir.Range{Min: t[0].Min, Extent: tir.I(int(n + width - 1))}
}
