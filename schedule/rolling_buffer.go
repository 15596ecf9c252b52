package schedule

import (
	"fmt"
	"strconv"

	"github.com/texel-ml/texel/tir"
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
	axis, err := strconv.Atoi(text)
	if !ok || err != nil || axis < 0 {
		return -1
	}
	return axis
}

// rolled states what must be true where run x reads a rolling buffer: an element that it reads was written in this
// iteration of the loops that carry the buffer, or in an earlier one, and nothing that lies in the same place was written
// since. It is said of the indices before they are taken modulo the window.
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
	w := writers[0]
	if len(writers) != 1 || axis >= len(a.buffer.Shape) || !w.known {
		l.fault(key, "%s is a rolling buffer, of %d writers; wanted one, with bounds that are known", a.buffer.Name, len(writers))
		return true
	}
	size := int64(a.buffer.Shape[axis])
	carry, err := carriers(w, x)
	if err != nil {
		l.fault(key, "%s is a rolling buffer: %v", a.buffer.Name, err)
		return true
	}
	read, ok := unrolled(a.side, axis, size)
	if !ok {
		l.fault(key, "block %s reads the rolling buffer %s at an index that is not modulo its window of %d", x.block.Name, a.buffer.Name, size)
		return true
	}
	shared := common(w, x)
	fixed := x.vars[:shared]
	read.Vars = append(append([]proof.Var{}, x.vars[shared:]...), read.Vars...)
	read.Where = tir.All(x.where, read.Where)
	var now, later []proof.Side // what was written up to the iteration, and what is written after it
	for _, side := range w.writes(a.buffer, carry.from) {
		side, ok := unrolled(side, axis, size)
		if !ok {
			l.fault(key, "block %s writes the rolling buffer %s at an index that is not modulo its window of %d", w.block.Name, a.buffer.Name, size)
			return true
		}
		now = append(now, carry.other(side, tir.LE))
		later = append(later, carry.other(side, tir.GT))
	}
	l.claim(key, &proof.Claim{Kind: proof.Cover, Subject: key, Fixed: fixed, Side: read, By: now})
	turns := int64(1)
	for _, f := range w.vars[carry.from:shared] {
		turns = min(turns*max(f.Extent, 1), proof.Budget)
	}
	l.claim(key+" before it is overwritten", &proof.Claim{Kind: proof.Disjoint, Subject: key + " before it is overwritten", Fixed: fixed, Side: beyond(read, axis, size, turns), By: now})
	for _, side := range w.writes(a.buffer, shared) {
		side, _ := unrolled(side, axis, size)
		l.claim(key+" in order", &proof.Claim{Kind: proof.Disjoint, Subject: fmt.Sprintf("%s writes %s in order", w.block.Name, a.buffer.Name),
			Fixed: w.vars[:shared], Side: beyond(side, axis, -size, turns), By: later})
	}
	return true
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

// beyond is a side moved along an axis by the multiples of size, from 1 to turns.
func beyond(s proof.Side, axis int, size, turns int64) proof.Side {
	q := tir.NewVar("q")
	s.Vars = append(append([]proof.Var{}, s.Vars...), proof.Var{Var: q, Min: 1, Extent: turns})
	s.Map = append([]tir.Expr{}, s.Map...)
	s.Map[axis] = tir.Plus(s.Map[axis], tir.Times(q, tir.I(int(size))))
	return s
}

// carrying are the loops across whose iterations a rolling buffer carries values, and their order.
type carrying struct {
	from int                   // the first of them among the loops that writer and reader share
	time tir.Expr              // the order of their iterations
	turn map[*tir.Var]*tir.Var // the same loops at another time
}

// carriers returns the loops that drive the ordered variable of a rolling writer: the innermost ones that it shares with
// the reader. They must be serial, and their order that of the variable.
func carriers(w, x *instances) (*carrying, error) {
	c := &carrying{turn: map[*tir.Var]*tir.Var{}}
	for i, iv := range w.block.Iters {
		if iv.Kind == tir.Ordered {
			c.time = w.values[i]
		}
	}
	if c.time == nil {
		return nil, fmt.Errorf("block %s has no ordered variable", w.block.Name)
	}
	shared := common(w, x)
	for c.from = shared; c.from > 0; c.from-- {
		f := w.loops[c.from-1]
		if w.vars[c.from-1].Extent > 1 && !tir.Uses(c.time, f.Var) {
			break
		}
		if f.Kind != tir.Serial && f.Kind != tir.Unrolled {
			return nil, fmt.Errorf("%v loop %s carries its values; wanted a serial one", f.Kind, f.Var.Name)
		}
		c.turn[f.Var] = tir.NewVar(f.Var.Name)
	}
	for i, f := range w.loops {
		if (i < c.from || i >= shared) && tir.Uses(c.time, f.Var) {
			return nil, fmt.Errorf("loop %s drives the ordered variable and stands apart from the others that do", f.Var.Name)
		}
	}
	an := analyzer(nil)
	coeffs, rest, ok := an.Linear(c.time)
	if _, constant := tir.AsInt(rest); !ok || !constant {
		return nil, fmt.Errorf("the ordered variable of %s is not linear", w.block.Name)
	}
	reach := int64(0) // of the loops further in
	for i := shared - 1; i >= c.from; i-- {
		k, n := coeffs[w.loops[i].Var], w.vars[i].Extent
		if n > 1 && k <= reach {
			return nil, fmt.Errorf("loop %s does not run in the order of the ordered variable", w.loops[i].Var.Name)
		}
		reach += k * (n - 1)
	}
	return c, nil
}

// other returns a side of the writer, over the carrying loops and those inside, at another time, which compares with the
// present one.
func (c *carrying) other(s proof.Side, op tir.BinaryOp) proof.Side {
	bind := map[*tir.Var]tir.Expr{}
	for v, other := range c.turn {
		bind[v] = other
	}
	out := proof.Side{Where: tir.All(tir.Subst(s.Where, bind), tir.Bin(op, tir.Subst(c.time, bind), c.time))}
	for _, v := range s.Vars {
		if other := c.turn[v.Var]; other != nil {
			v.Var = other
		}
		out.Vars = append(out.Vars, v)
	}
	for _, e := range s.Map {
		out.Map = append(out.Map, tir.Subst(e, bind))
	}
	return out
}
