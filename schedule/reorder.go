package schedule

import (
	"fmt"
	"slices"
	"sync"

	"github.com/texel-ml/texel/tir"
)

// Reorder puts the given loops into the given order, outermost first, in the places that they hold now. They must lie
// on one chain: from the outermost to the innermost, each loop's body is the next loop.
//
//	for i                           for k
//	  for j        reorder(k, i)      for j
//	    for k            →              for i
//	      C(i, j, k)                      C(i, j, k)
//
// The iterations of a block may run in another order as far as its spatial instances are independent, and its reduce
// instances combine by an associative and commutative operation. It refuses
//   - a loop inside one that its bounds depend on;
//   - a loop that computes elements again (compute_at, split by shift_inwards) inside a loop of the reduction: the element
//     would get parts of the sum twice;
//   - an order in which another instance than the one that writes the initial value comes first;
//   - a loop of an ordered variable further inside than it was;
//   - loops around blocks that change the same elements in different iterations;
//   - parallel, vectorized or bound loops whose iterations would then share elements.
//
// A single loop stays where it is; to name none is refused.
func (s *Schedule) Reorder(loops ...Loop) {
	const step = "reorder"
	if len(loops) == 0 {
		s.refuse(step, "", "has no loops; wanted one at least")
	}
	if s.reorderLoops(step, loops) {
		s.record(step, listOf(loops))
	}
}

// reorderLoops is one reordering, without its record.
func (s *Schedule) reorderLoops(step string, loops []Loop) bool {
	want := map[*tir.Var]bool{}
	for _, l := range loops {
		if s.loop(step, l) == nil {
			return false
		}
		if want[l.v] {
			s.refuse(step, l.v.Name, "is given twice")
			return false
		}
		want[l.v] = true
	}
	if len(loops) < 2 {
		return s.err == nil // one stays where it is
	}
	top := s.find(func(st tir.Stmt) bool {
		f, ok := st.(*tir.For)
		return ok && want[f.Var]
	})
	chain := s.chainOf(step, top.loop, want)
	if chain == nil {
		return false
	}
	byVar := map[*tir.Var]*tir.For{}
	for _, f := range chain {
		byVar[f.Var] = f
	}
	order := slices.Clone(chain)
	next := 0
	for i, f := range chain {
		if want[f.Var] {
			order[i] = byVar[loops[next].v]
			next++
		}
	}
	r := &reordering{s: s, step: step, top: top, chain: chain, order: order}
	if !r.bounds() || !r.blocks() {
		return false
	}
	s.swap(top.loop, nestOf(order, chain[len(chain)-1].Body))
	if why := s.mayOverlap(order); why != "" {
		s.refuse(step, top.loop.Var.Name, "in the new order, %s", why)
		return false
	}
	return true
}

// chainOf returns the loops from top to the last of those that are wanted, when each stands directly inside the one before.
func (s *Schedule) chainOf(step string, top *tir.For, want map[*tir.Var]bool) []*tir.For {
	var chain []*tir.For
	left := len(want)
	for f := top; ; {
		chain = append(chain, f)
		if want[f.Var] {
			left--
		}
		if left == 0 {
			return chain
		}
		next, ok := f.Body.(*tir.For)
		if !ok {
			s.refuse(step, f.Var.Name, "has more than one loop in its body; wanted a single chain")
			return nil
		}
		f = next
	}
}

// reordering is one application of Reorder.
type reordering struct {
	s            *Schedule
	step         string
	top          *place
	chain, order []*tir.For // the loops as they stand, and as they will
}

// bounds checks that each loop finds the loops that its bounds depend on outside.
func (r *reordering) bounds() bool {
	for i, f := range r.order {
		for _, o := range r.order[i+1:] {
			if tir.Uses(f.Min, o.Var) || tir.Uses(f.Extent, o.Var) {
				r.s.refuse(r.step, f.Var.Name, "has a bound that depends on loop %s, which would stand inside it", o.Var.Name)
				return false
			}
		}
	}
	return true
}

// crossing is a pair of loops that change sides: in moves inside out.
type crossing struct{ in, out *tir.For }

func (r *reordering) crossings() []crossing {
	at := map[*tir.For]int{}
	for i, f := range r.order {
		at[f] = i
	}
	var list []crossing
	for i, x := range r.chain {
		for _, y := range r.chain[i+1:] {
			if at[y] < at[x] {
				list = append(list, crossing{x, y})
			}
		}
	}
	return list
}

// blocks checks the blocks inside.
func (r *reordering) blocks() bool {
	inner := r.chain[len(r.chain)-1].Body
	if what := outsideBlocks(inner); what != "" {
		r.s.refuse(r.step, r.top.loop.Var.Name, "%s; wanted loads and stores in blocks alone", what)
		return false
	}
	f := insideOf(r.top)
	crossings := r.crossings()
	for _, c := range f.places {
		c.loops = append([]*tir.For{r.chain[0]}, c.loops...)
		if why := r.instances(f, c, crossings); why != "" {
			r.s.refuse(r.step, r.top.loop.Var.Name, "%s", why)
			return false
		}
	}
	for _, buf := range f.written() {
		if r.s.functional(buf) && (f.fed(buf) || f.keepsToItself(buf)) {
			continue
		}
		if x, y := f.meet(buf, r.unreduced(f, buf), false); x != nil {
			r.s.refuse(r.step, r.top.loop.Var.Name, "block %s writes %s where block %s accesses it in another iteration; their order counts",
				x.realize.Block.Name, buf.Name, y.realize.Block.Name)
			return false
		}
	}
	return true
}

// unreduced returns the loops of the chain that drive no reduce variable of the blocks that write buf: along those, parts
// of a sum come in any order.
func (r *reordering) unreduced(f *flow, buf *tir.Buffer) []*tir.For {
	var list []*tir.For
	for _, l := range r.chain {
		reduces := false
		for _, c := range f.places {
			reduces = reduces || writes(c.realize.Block, buf) && drives(c.realize, l.Var, tir.Reduce)
		}
		if !reduces {
			list = append(list, l)
		}
	}
	return list
}

// instances says why the instances of a block may not run in the new order.
func (r *reordering) instances(f *flow, c *place, crossings []crossing) string {
	block := c.realize.Block
	kinds := map[*tir.For]map[tir.IterKind]bool{}
	for _, l := range r.chain {
		kinds[l] = r.kindsOf(c, l)
	}
	first := sync.OnceValue(func() bool { return r.startsFirst(f, c) })
	once := sync.OnceValue(func() bool { return r.computesOnce(f, c) })
	for _, x := range crossings {
		in, out := kinds[x.in], kinds[x.out]
		switch {
		case in[tir.Ordered]:
			return fmt.Sprintf("loop %s runs block %s in order; it may not move inside loop %s", x.in.Var.Name, block.Name, x.out.Var.Name)
		case in[tir.Reduce] && out[tir.Reduce] && block.Init != nil:
			if !first() {
				return fmt.Sprintf("in the new order the first instance of block %s may not be the one that writes the initial value", block.Name)
			}
		case (out[tir.Reduce] || out[tir.Ordered]) && !in[tir.Reduce]:
			if !once() {
				return fmt.Sprintf("loop %s may compute elements of block %s again; it may not move inside loop %s, which reduces", x.in.Var.Name, block.Name, x.out.Var.Name)
			}
		}
	}
	return ""
}

// kindsOf returns which kinds of variables of a block a loop drives.
func (r *reordering) kindsOf(c *place, f *tir.For) map[tir.IterKind]bool {
	kinds := map[tir.IterKind]bool{}
	for i, iv := range c.realize.Block.Iters {
		if tir.Uses(c.realize.Values[i], f.Var) {
			kinds[iv.Kind] = true
		}
	}
	return kinds
}

// startsFirst reports whether the instance that writes the initial value comes first whatever the order of the loops that
// drive reduce variables: it is the one where all of them are at their start.
func (r *reordering) startsFirst(f *flow, c *place) bool {
	start := map[*tir.Var]tir.Expr{}
	for _, l := range c.loops {
		kinds := r.kindsOf(c, l)
		if !kinds[tir.Reduce] {
			continue
		}
		if kinds[tir.Spatial] {
			return false
		}
		start[l.Var] = tir.Subst(l.Min, start)
	}
	for i, iv := range c.realize.Block.Iters {
		if iv.Kind == tir.Reduce && !f.a.Prove(tir.Eq(tir.Subst(c.realize.Values[i], start), tir.I(0))) {
			return false
		}
	}
	for _, cond := range tir.Conjuncts(c.realize.Where) {
		if tir.UsesAny(cond, start) && !f.a.Prove(tir.Subst(cond, start)) {
			return false
		}
	}
	return true
}

// computesOnce reports whether, in the new order, the loops inside the first loop of the reduction that drive no reduce
// variable certainly compute each element once.
func (r *reordering) computesOnce(f *flow, c *place) bool {
	at := slices.IndexFunc(r.order, func(l *tir.For) bool {
		k := r.kindsOf(c, l)
		return k[tir.Reduce] || k[tir.Ordered]
	})
	var loops []*tir.For
	for _, l := range append(slices.Clone(r.order[at:]), c.loops[len(r.chain):]...) {
		if k := r.kindsOf(c, l); !k[tir.Reduce] && !k[tir.Ordered] {
			loops = append(loops, l)
		}
	}
	t := touch{}
	for i, iv := range c.realize.Block.Iters {
		if iv.Kind == tir.Spatial {
			t.ranges = append(t.ranges, tir.Range{Min: c.realize.Values[i], Extent: tir.I(1)})
		}
	}
	for _, l := range append(slices.Clone(r.order[at:]), c.loops[len(r.chain):]...) {
		if !slices.Contains(loops, l) {
			t.inside = append(t.inside, l)
		}
	}
	return apart(f.a, loops, t, t, false)
}
