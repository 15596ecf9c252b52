package schedule

import "github.com/texel-ml/texel/tir"

// Tail says what Split does with the iterations past the end of a loop that its factors do not divide.
type Tail string

// The tail policies, shown by a loop of 10 iterations that is split by [0, 4]. The letters are the iterations of the
// inner loop, a dot is an iteration that does nothing.
const (
	// Guard, the default, runs the iterations past the end without an effect. It is always legal.
	//
	//	|abcd|abcd|ab..|        for o in 0..3
	//	0    4    8   10          for i in 0..4
	//	                            B(4·o + i)  where 4·o + i < 10
	Guard Tail = "guard"

	// ShiftInwards starts the last tile earlier, so that it ends at the end: all tiles are whole and no iteration has a
	// condition, and what two tiles share is computed twice. It is legal for a loop that drives spatial variables only and
	// stands in no loop of a reduction, around blocks that find what they read as they found it the first time.
	//
	//	|abcd|abcd|             for o in 0..3
	//	       |abcd|             for i in 0..4
	//	0    4 6  8 10              B(min(4·o, 6) + i)
	ShiftInwards Tail = "shift_inwards"

	// RoundUp computes iterations past the end as well, into padding: each buffer that the blocks inside write gets room
	// for them. It is legal where those are intermediate buffers and the loop alone is the value of a spatial variable of
	// each block. What the blocks read in the padding is either there (an input that is longer, a buffer that was rounded
	// up before) or replaced by 0 under a condition; nobody reads what they write there.
	//
	//	|abcd|abcd|ab**|        for o in 0..3
	//	0    4    8   10 12       for i in 0..4
	//	                            B(4·o + i), a block over 12: T[4·o + i] = 4·o + i < 10 ? … : 0
	RoundUp Tail = "round_up"
)

// maxIterations bounds the product of extents, so that an index stays far from the end of 64 bits.
const maxIterations = 1 << 48

// Split cuts l into nested loops, outermost first, one for each factor; at most one factor may be 0 and is then chosen
// so that the product covers the loop. Where the product exceeds the extent, the iterations past the end are guarded:
//
//	for i in 0..10                for o in 0..3
//	  B(i)             →            for i in 0..4
//	                                  B(4·o+i)  where 4·o+i < 10
//
// A loop that starts elsewhere than at 0 gives loops from 0. A loop whose extent is computed can be split when its first
// factor is 0. SplitBy has other policies for the tail.
func (s *Schedule) Split(l Loop, factors ...int) []Loop {
	return s.SplitBy(l, Guard, Ints(factors...)...)
}

// SplitBy is Split with a policy for the iterations past the end. A factor may be a number that was drawn; the trace then
// names it. When the factors divide the loop the policy does not matter.
func (s *Schedule) SplitBy(l Loop, tail Tail, factors ...Int) []Loop {
	fors := s.splitLoop("split", l, tail, factors)
	if fors == nil {
		return make([]Loop, len(factors))
	}
	out := s.loopsOver(fors)
	args := operands(l, factors)
	if tail != Guard {
		args = append(args, string(tail))
	}
	s.record("split", args, out)
	return out
}

// split applies a step of a trace.
func split(c *Call) {
	tail := Guard
	if c.Len() > 2 {
		tail = Tail(c.Text(2))
	}
	c.Give(c.S.SplitBy(c.Loop(0), tail, c.Ints(1)...))
}

// splitLoop is one split of a loop, without its record; nil when it was refused.
func (s *Schedule) splitLoop(step string, l Loop, tail Tail, factors []Int) []*tir.For {
	p := s.loop(step, l)
	if p == nil {
		return nil
	}
	c := &cut{s: s, step: step, p: p, loop: p.loop, tail: tail}
	if !c.plan(factors) {
		return nil
	}
	var body tir.Stmt
	ok := true
	switch {
	case c.whole:
		body = c.bind(c.loop.Body, c.index)
	case tail == ShiftInwards:
		body, ok = c.shiftInwards()
	case tail == RoundUp:
		body, ok = c.roundUp()
	default:
		body = guard(c.bind(c.loop.Body, c.index), tir.Bin(tir.LT, c.index, c.loop.Extent))
	}
	if !ok {
		return nil
	}
	body = simplifyBindings(body, p, c.fors...)
	c.fors[0].Attrs = c.loop.Attrs
	s.swap(c.loop, nestOf(c.fors, body))
	return c.fors
}

// cut is one split of a loop.
type cut struct {
	s    *Schedule
	step string
	p    *place
	loop *tir.For
	tail Tail

	fors  []*tir.For // the new loops, outermost first
	tile  int        // iterations of one iteration of the first of them
	total int        // iterations of all of them
	index tir.Expr   // which iteration of the old loop they stand for, from 0
	whole bool       // they have as many iterations as the old loop
}

func (c *cut) refuse(format string, args ...any) bool {
	c.s.refuse(c.step, c.loop.Var.Name, format, args...)
	return false
}

// plan checks the loop and the factors, and makes the new loops.
func (c *cut) plan(factors []Int) bool {
	f := c.loop
	if c.tail != Guard && c.tail != ShiftInwards && c.tail != RoundUp {
		return c.refuse("no such tail policy %q; wanted %q, %q or %q", string(c.tail), Guard, ShiftInwards, RoundUp)
	}
	if f.Kind == tir.Bound {
		return c.refuse("is bound to %s; split it first, then bind its parts", f.Thread)
	}
	if what := outsideBlocks(f.Body); what != "" {
		return c.refuse("%s; wanted loads and stores in blocks alone", what)
	}
	if tir.ReadsMemory(f.Min) || tir.ReadsMemory(f.Extent) {
		return c.refuse("a bound of the loop reads a buffer; wanted one that is known before the loops around run")
	}
	if o := c.p.decided(f); o != nil {
		return c.refuse("drives a reduction and starts where loop %s is, whose iterations are independent; wanted to split it first", o.Var.Name)
	}
	list, open := make([]int, len(factors)), -1
	c.tile, c.total = 1, 1
	for i, n := range factors {
		switch list[i] = n.value; {
		case n.value == 0 && open < 0:
			open = i
			continue
		case n.value <= 0:
			return c.refuse("factor %d is %d; wanted a positive number, and at most one 0", i, n.value)
		case n.value > maxIterations/c.total:
			return c.refuse("the factors %v make more than %d iterations", values(factors), maxIterations)
		}
		c.total *= n.value
		if i > 0 {
			c.tile *= n.value
		}
	}
	if len(list) == 0 {
		return c.refuse("has no factor; wanted at least one")
	}
	var first tir.Expr
	extent, known := tir.AsInt(f.Extent)
	switch {
	case !known && open != 0:
		return c.refuse("has a computed extent; wanted 0 as the first factor, and as no other")
	case !known:
		first = c.p.analyzer().Simplify(tir.Bin(tir.FloorDiv, tir.Plus(f.Extent, tir.I(c.tile-1)), tir.I(c.tile)))
	case open >= 0:
		list[open] = max(0, (int(extent)+c.total-1)/c.total)
		c.total *= list[open]
		if open > 0 {
			c.tile *= list[open]
		}
	}
	if known && extent <= 0 && open < 0 {
		return c.refuse("has no iterations; wanted 0 as a factor")
	}
	if known && c.total < int(extent) {
		return c.refuse("factors %v cover %d iterations of %d", values(factors), c.total, extent)
	}
	c.whole = known && c.total == max(0, int(extent)) || !known && c.tile == 1
	c.index = tir.I(0)
	for _, n := range list {
		v := c.s.newVar(f.Var.Name)
		c.fors = append(c.fors, &tir.For{Var: v, Min: tir.I(0), Extent: tir.I(n), Kind: f.Kind})
		c.index = tir.Plus(tir.Times(c.index, tir.I(n)), v)
	}
	if first != nil {
		c.fors[0].Extent = first
	}
	return true
}

// bind puts the iteration with the given number in the old variable's place.
func (c *cut) bind(body tir.Stmt, index tir.Expr) tir.Stmt {
	return tir.SubstStmt(body, map[*tir.Var]tir.Expr{c.loop.Var: tir.Plus(c.loop.Min, index)})
}

func values(list []Int) []int {
	out := make([]int, len(list))
	for i, n := range list {
		out[i] = n.value
	}
	return out
}
