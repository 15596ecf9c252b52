package schedule

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/texel-ml/texel/tir"
	"github.com/texel-ml/texel/tir/arith"
	"github.com/texel-ml/texel/tir/proof"
)

// RollingBuffer lets a block that is computed at a loop of its readers keep what the next iteration needs again. The
// buffer, the n-th that block b writes, shrinks to the window that one iteration reads; an element lies where its index,
// modulo the size of the window, says; and b computes only what came new into the window, the whole window once:
//
//	for y in 0..16                                    for y in 0..16
//	  for a in 0..3, x: H(y + a, x): H[y + a, x]  →     for a in 0..3, x: H(y + a, x) where y == 0 or a >= 2: H[(y + a) %% 3, x]
//	  for x: Y(y, x) reads H[y .. y + 2, x]             for x: Y(y, x) reads H[y %% 3 .. (y + 2) %% 3, x]
//
// The loop is the innermost around b and its readers; b gets an ordered variable that runs with it, since from now on its
// iterations depend on each other.
//
// What is checked: the loop is serial; b is the only block to write the buffer, at its own spatial variables, and stands
// alone in its nest; all readers stand in the loop, behind b; in each iteration b computes a dense box, which moves along
// one axis by a constant that is less than its size; what is read is inside. The buffer must not be global: each
// iteration of a parallel loop around needs one of its own.
func (s *Schedule) RollingBuffer(b Block, n int) {
	const step = "rolling_buffer"
	buf := s.bufferOf(step, b, Write, n)
	if buf == nil || !s.canMove(step, b, buf) {
		return
	}
	if buf.Scope == tir.Global {
		s.refuse(step, b.name, "%s is in global memory; wanted shared, local or scratch (see set_scope)", buf.Name)
		return
	}
	r := &rolling{s: s, step: step, b: b, p: s.plainBlock(step, b), buf: buf}
	if !r.place() || !r.window() {
		return
	}
	r.rewrite()
	s.record(step, operands(b, n))
}

// rolling is one application of RollingBuffer.
type rolling struct {
	s      *Schedule
	step   string
	b      Block
	p      *place
	buf    *tir.Buffer
	level  *level
	loop   *tir.For
	others []*place
	axis   int      // along which the window moves
	size   int      // of the window
	move   int      // in one iteration
	first  tir.Expr // where the window begins
	iter   int      // the block's variable of the axis
}

func (r *rolling) refuse(format string, args ...any) bool {
	r.s.refuse(r.step, r.b.name, format, args...)
	return false
}

// place finds the loop, and checks who uses the buffer where.
func (r *rolling) place() bool {
	block := r.p.realize.Block
	if len(block.Writes) != 1 {
		return r.refuse("writes %d regions; wanted one", len(block.Writes))
	}
	for _, iv := range block.Iters {
		if iv.Kind == tir.Ordered {
			return r.refuse("has the ordered variable %s", iv.Var.Name)
		}
	}
	for _, u := range r.s.users(r.buf) {
		if u.realize != r.p.realize {
			r.others = append(r.others, u)
		}
	}
	if len(r.others) == 0 {
		return r.refuse("nothing reads %s", r.buf.Name)
	}
	r.level = r.s.levelAround([]*place{r.p}, r.others)
	r.loop = r.level.loop()
	if r.loop == nil || r.loop.Kind != tir.Serial {
		return r.refuse("%s is written and read in no serial loop; wanted compute_at one of its reader", r.buf.Name)
	}
	lo, okLo := tir.AsInt(r.loop.Min)
	extent, ok := tir.AsInt(r.loop.Extent)
	if !ok || !okLo || extent < 2 {
		return r.refuse("loop %s from %d has computed bounds, or less than two iterations", r.loop.Var.Name, lo)
	}
	at := r.level.index(r.p)
	for _, u := range r.others {
		if writes(u.realize.Block, r.buf) || r.level.index(u) <= at {
			return r.refuse("block %s writes %s too, or reads it before it is written or outside %s", u.realize.Block.Name, r.buf.Name, r.loop.Var.Name)
		}
	}
	if alone := realizesIn(r.level.stmts[at]); len(alone) != 1 {
		return r.refuse("%d blocks stand in its nest inside %s; wanted it alone", len(alone), r.loop.Var.Name)
	}
	if f := reduces(r.p.realize, r.level.loops); f != nil {
		return r.refuse("loop %s drives its reduction; wanted the whole of it inside %s", f.Var.Name, r.loop.Var.Name)
	}
	return true
}

// window finds the axis along which the window moves.
func (r *rolling) window() bool {
	block := r.p.realize.Block
	a := analyzer(r.level.loops)
	region := block.Writes[0]
	made, ok := partOf(a, r.level.below(r.p), region)
	if !ok || !made.exact {
		return r.refuse("what one iteration of %s writes of %s is no box, or not all of one", r.loop.Var.Name, r.buf.Name)
	}
	var below []*place
	for _, u := range r.others {
		below = append(below, r.level.below(u))
	}
	read, ok := partsOf(a, below, r.buf, false)
	if !ok || !a.Covers(made.box, read.box) {
		return r.refuse("what one iteration of %s reads of %s is not shown to be in what it writes", r.loop.Var.Name, r.buf.Name)
	}
	r.axis = -1
	for i, g := range made.box {
		next := tir.Subst(g.Min, map[*tir.Var]tir.Expr{r.loop.Var: tir.Plus(r.loop.Var, tir.I(1))})
		move, fixed := tir.AsInt(a.Simplify(tir.Minus(next, g.Min)))
		size, _ := tir.AsInt(g.Extent)
		switch {
		case fixed && move == 0:
			continue
		case !fixed || move < 0 || move >= size:
			return r.refuse("the window of axis %d of %s, %d wide, moves by %d, or back or unevenly; wanted windows that overlap", i, r.buf.Name, size, move)
		case r.axis >= 0:
			return r.refuse("the window moves along axes %d and %d of %s; wanted one", r.axis, i, r.buf.Name)
		}
		r.axis, r.size, r.move, r.first = i, int(size), int(move), g.Min
	}
	if r.axis < 0 {
		return r.refuse("the window of %s does not move with %s; wanted compute_at a loop that moves it", r.buf.Name, r.loop.Var.Name)
	}
	r.iter = -1
	for n, iv := range block.Iters {
		if region.Ranges[r.axis].Min == tir.Expr(iv.Var) && tir.IsConst(region.Ranges[r.axis].Extent, 1) {
			r.iter = n
		}
	}
	if r.iter < 0 {
		return r.refuse("writes axis %d of %s at a computed place; wanted a variable of its own", r.axis, r.buf.Name)
	}
	return true
}

// rewrite makes indices modular and lets the block compute what is new.
func (r *rolling) rewrite() {
	s := r.s
	lo, _ := tir.AsInt(r.loop.Min)
	extent, _ := tir.AsInt(r.loop.Extent)
	a := analyzer(append(r.level.loops[:len(r.level.loops):len(r.level.loops)], r.level.below(r.p).loops...))
	c := *r.p.realize
	fresh := tir.Bin(tir.GE, c.Values[r.iter], tir.Plus(r.first, tir.I(r.size-r.move)))
	c.Where = tir.All(c.Where, tir.Bin(tir.Or, tir.Bin(tir.EQ, r.loop.Var, r.loop.Min), a.Simplify(fresh)))
	block := *c.Block
	time := tir.IterVar{Var: s.newVar(r.loop.Var.Name), Extent: int(extent), Kind: tir.Ordered}
	block.Iters = append(block.Iters[:len(block.Iters):len(block.Iters)], time)
	c.Values = append(c.Values[:len(c.Values):len(c.Values)], tir.Minus(r.loop.Var, tir.I(int(lo))))
	block.Attrs = changedAttrs(block.Attrs, func(attrs map[string]string) { attrs[tir.RollingBuffer] = strconv.Itoa(r.axis) })
	c.Block = &block

	to := *r.buf
	to.Shape = append([]int{}, r.buf.Shape...)
	to.Shape[r.axis] = r.size
	size := tir.I(r.size)
	w := rewriting{from: r.buf, to: &to}
	w.indices = func(idx []tir.Expr) []tir.Expr {
		out := append([]tir.Expr{}, idx...)
		out[r.axis] = tir.Bin(tir.FloorMod, idx[r.axis], size)
		return out
	}
	w.box = func(box []tir.Range) []tir.Range {
		out := append([]tir.Range{}, box...)
		if tir.IsConst(box[r.axis].Extent, 1) {
			out[r.axis].Min = tir.Bin(tir.FloorMod, box[r.axis].Min, size)
		} else {
			out[r.axis] = tir.Range{Min: tir.I(0), Extent: size}
		}
		return out
	}
	body := w.in(swap(s.fn.Root().Body, r.p.realize, &c))
	allocs := append([]*tir.Buffer{}, s.fn.Root().Allocs...)
	for i, b := range allocs {
		if b == r.buf {
			allocs[i] = &to
		}
	}
	s.setRoot(body, allocs)
}

// rolls reports whether buf is a rolling buffer that only loops in here carry. That what is read of it is there is said by
// the claims about the function.
func (f *flow) rolls(buf *tir.Buffer) bool {
	for _, c := range f.places {
		if !writes(c.realize.Block, buf) || c.realize.Block.Attrs[tir.RollingBuffer] == "" {
			continue
		}
		own := map[*tir.Var]bool{}
		for _, l := range c.loops {
			own[l.Var] = true
		}
		for i, iv := range c.realize.Block.Iters {
			if iv.Kind == tir.Ordered {
				return !usesOthers(c.realize.Values[i], own)
			}
		}
	}
	return false
}

// rolls returns the axis of a buffer that a run keeps in a rolling way, and -1 of another run.
func (x *instances) rolls() int {
	text, ok := x.block.Attrs[tir.RollingBuffer]
	if !ok {
		return -1
	}
	axis, err := strconv.Atoi(text)
	if err != nil || axis < 0 {
		return -1
	}
	return axis
}

// rolled states what must be true where run x reads a rolling buffer, of indices before they are taken modulo its window.
// Let P(t) be what the writer would make at time t of the loops that carry the buffer if it made all anew, and W(t) ⊆ P(t)
// what it makes. Then what is read at t is in P(t); P(t) lies in a window of the buffer's extent, so that no two elements of
// it share a place; and P(t) without W(t) is in P(t - 1), nothing at the beginning. So by induction all of P(t) is there
// when it is read. The times follow each other one by one.
//
// It reports false where no writer of the buffer is rolling.
func (l *lawyer) rolled(key string, x *instances, a access) bool {
	writers := l.writers[a.buffer]
	axis := -1
	for _, w := range writers {
		axis = max(axis, w.rolls())
	}
	if axis < 0 {
		return false
	}
	if err := l.roll(key, writers, x, a, axis); err != nil {
		l.fault(key, "%s is a rolling buffer: %v", a.buffer.Name, err)
	}
	return true
}

func (l *lawyer) roll(key string, writers []*instances, x *instances, a access, axis int) error {
	w := writers[0]
	if len(writers) != 1 || axis >= len(a.buffer.Shape) || !w.known {
		return fmt.Errorf("it has %d writers; wanted one, in loops with bounds that are known", len(writers))
	}
	size := int64(a.buffer.Shape[axis])
	shared := common(w, x)
	c, err := carriers(w, shared)
	if err != nil {
		return err
	}
	read, ok := unrolled(a.side, axis, size)
	if !ok {
		return fmt.Errorf("block %s reads it at an index that is not modulo its window of %d", x.block.Name, size)
	}
	read = x.over(shared, read)
	whole, ok := w.unguarded(a.buffer, shared, c)
	if ok {
		whole.side, ok = unrolled(whole.side, axis, size)
	}
	if !ok {
		return fmt.Errorf("block %s writes it at more than one place, at an index that is not modulo its window of %d, or without a condition on what is new", w.block.Name, size)
	}
	before, ok := c.at(whole.side, tir.Minus(c.time, tir.I(1)), w.vars[c.from:shared])
	now, _ := c.at(whole.side, c.time, w.vars[c.from:shared])
	if !ok {
		return fmt.Errorf("what block %s writes does not depend on the order of the loops that carry it alone", w.block.Name)
	}
	fixed := w.vars[:shared]
	claim := func(what string, kind proof.Kind, side proof.Side, by ...proof.Side) {
		l.claim(key+what, &proof.Claim{Kind: kind, Subject: key + what, Fixed: fixed, Side: side, By: by})
	}
	claim("", proof.Cover, read, whole.side)
	kept := whole.side
	kept.Where = tir.All(kept.Where, negated(whole.fresh))
	claim(" that is kept", proof.Cover, kept, before)
	claim(" at its time", proof.Cover, now, whole.side)
	first := kept // at the beginning nothing is kept: it would be a row that there is not
	first.Where, first.Map = tir.All(first.Where, tir.Bin(tir.EQ, c.time, tir.I(0))), first.Map[axis:axis+1]
	claim(" that is kept at the beginning", proof.Cover, first, proof.Side{Map: []tir.Expr{tir.I(math.MinInt32)}})
	rows := whole.side
	rows.Map = rows.Map[axis : axis+1]
	claim(" in its window", proof.Cover, rows, w.windowOf(rows, shared, size))
	l.claim(key+" in order", &proof.Claim{Kind: proof.Monotone, Subject: key + " in order", Fixed: w.vars[:c.from],
		Side: proof.Side{Vars: w.vars[c.from:shared], Map: []tir.Expr{c.time}}})
	l.claim(key+" one by one", &proof.Claim{Kind: proof.Bijection, Subject: key + " one by one", Fixed: w.vars[:c.from],
		Side: proof.Side{Vars: w.vars[c.from:shared], Map: []tir.Expr{c.time}}, Range: []int64{c.turns}})
	var sums []tir.Expr
	for i, iv := range w.block.Iters {
		if iv.Kind == tir.Reduce {
			sums = append(sums, w.values[i])
		}
	}
	if len(sums) > 0 {
		l.claim(key+" when complete", &proof.Claim{Kind: proof.Constant, Subject: "reduction " + w.block.Name, Fixed: fixed, Side: proof.Side{Map: sums}})
	}
	return nil
}

// unrolled takes the modulo off the index of an axis.
func unrolled(s proof.Side, axis int, size int64) (proof.Side, bool) {
	m, ok := s.Map[axis].(*tir.Binary)
	switch {
	case ok && m.Op == tir.FloorMod && tir.IsConst(m.B, size):
		s.Map = append([]tir.Expr{}, s.Map...)
		s.Map[axis] = m.A
	case size != 1:
		return s, false
	}
	return s, true
}

// unguarded is what a rolling block would write without the condition on what is new, and that condition.
type unguarded struct {
	side  proof.Side
	fresh tir.Expr
}

// unguarded returns what a rolling block writes over its loops from the given one on: the last of its conditions that is a
// choice and depends on a carrying loop is the one on what is new.
func (x *instances) unguarded(b *tir.Buffer, from int, c *carrying) (unguarded, bool) {
	var u unguarded
	found := false
	for _, a := range x.effects {
		if !a.store || a.init || a.buffer != b {
			continue
		}
		if found || !a.known {
			return u, false
		}
		found, u.side = true, a.side
	}
	conds := tir.Conjuncts(x.where)
	for i := len(conds) - 1; i >= 0 && u.fresh == nil; i-- {
		if o, ok := conds[i].(*tir.Binary); ok && o.Op == tir.Or && tir.UsesAny(o, c.loops) {
			u.fresh = conds[i]
			conds = append(conds[:i:i], conds[i+1:]...)
		}
	}
	u.side.Vars = slices.Concat(x.vars[from:], u.side.Vars)
	u.side.Where = tir.All(append(conds, u.side.Where)...)
	return u, found && u.fresh != nil
}

// negated is the condition that cond does not hold, as a conjunction where it is a choice.
func negated(cond tir.Expr) tir.Expr {
	opposite := map[tir.BinaryOp]tir.BinaryOp{tir.EQ: tir.NE, tir.NE: tir.EQ, tir.LT: tir.GE, tir.GE: tir.LT, tir.GT: tir.LE, tir.LE: tir.GT}
	if b, ok := cond.(*tir.Binary); ok {
		if b.Op == tir.Or {
			return tir.All(negated(b.A), negated(b.B))
		}
		if op, compares := opposite[b.Op]; compares {
			return &tir.Binary{Op: op, A: b.A, B: b.B}
		}
	}
	return &tir.Not{A: cond}
}

// windowOf is an interval of the given size that begins where the rows of a side begin, as index algebra sees it. That they
// lie in it is a claim.
func (x *instances) windowOf(rows proof.Side, from int, size int64) proof.Side {
	a := analyzer(x.loops)
	over := map[*tir.Var]tir.Range{}
	for _, v := range rows.Vars {
		a.Bind(v.Var, v.Min, v.Extent)
		over[v.Var] = tir.Range{Min: tir.I(int(v.Min)), Extent: tir.I(int(v.Extent))}
	}
	var first tir.Expr = tir.I(0)
	if box, ok := a.Touched(rows.Map, over); ok {
		first = box[0].Min
	}
	k := tir.NewVar("k")
	return proof.Side{Vars: []proof.Var{{Var: k, Extent: size}}, Map: []tir.Expr{tir.Plus(first, k)}}
}

// carrying are the loops across whose iterations a rolling buffer carries values, and their order.
type carrying struct {
	from  int      // the first of them among the loops that writer and reader share
	time  tir.Expr // the order of their iterations, from 0
	turns int64    // how many there are
	loops map[*tir.Var]bool
}

// carriers returns the loops that drive the ordered variable of a rolling writer: the innermost ones of those that it shares
// with a reader. They must be serial.
func carriers(w *instances, shared int) (*carrying, error) {
	c := &carrying{turns: 1, loops: map[*tir.Var]bool{}}
	for i, iv := range w.block.Iters {
		if iv.Kind == tir.Ordered {
			c.time = w.values[i]
		}
	}
	if c.time == nil {
		return nil, fmt.Errorf("block %s has no ordered variable", w.block.Name)
	}
	for c.from = shared; c.from > 0; c.from-- {
		f := w.loops[c.from-1]
		if w.vars[c.from-1].Extent > 1 && !tir.Uses(c.time, f.Var) {
			break
		}
		if f.Kind != tir.Serial && f.Kind != tir.Unrolled {
			return nil, fmt.Errorf("%v loop %s carries its values; wanted a serial one", f.Kind, f.Var.Name)
		}
		c.loops[f.Var] = true
		if c.turns *= w.vars[c.from-1].Extent; c.turns > proof.Budget {
			return nil, fmt.Errorf("its loops have above %d iterations", proof.Budget)
		}
	}
	for i, f := range w.loops {
		if (i < c.from || i >= shared) && tir.Uses(c.time, f.Var) {
			return nil, fmt.Errorf("loop %s drives its ordered variable and stands apart from the others that do", f.Var.Name)
		}
	}
	return c, nil
}

// at returns a side of the writer as it is at another time: the innermost of the carrying loops is what the time and the
// others leave of it. It reports false when the side does not depend on the time alone.
func (c *carrying) at(s proof.Side, time tir.Expr, loops []proof.Var) (proof.Side, bool) {
	a := arith.New()
	coeffs, _, ok := a.Linear(c.time)
	last := -1
	for i, v := range loops {
		if coeffs[v.Var] == 1 {
			last = i
		}
	}
	if !ok || last < 0 {
		return s, false
	}
	own := loops[last].Var
	now := tir.NewVar("t")
	value := tir.Minus(now, tir.Minus(c.time, own)) // of the innermost loop at time now
	others := map[*tir.Var]bool{}
	for _, v := range loops {
		others[v.Var] = true
	}
	put := func(e tir.Expr) tir.Expr {
		e = a.Simplify(tir.Subst(e, map[*tir.Var]tir.Expr{own: value}))
		ok = ok && (e == nil || !tir.UsesAny(e, others))
		return tir.Subst(e, map[*tir.Var]tir.Expr{now: time})
	}
	out := proof.Side{Vars: s.Vars}
	for _, e := range tir.Conjuncts(s.Where) {
		out.Where = tir.All(out.Where, put(e))
	}
	for _, e := range s.Map {
		out.Map = append(out.Map, put(e))
	}
	return out, ok
}
