package schedule

import (
	"slices"

	"github.com/texel-ml/texel/tir"
)

// Merge makes one nest of nests that stand one behind the other. Of each nest it takes the loops from the outermost one to
// the given one, which must have the same extents; what stood inside the given loops then stands in one body, in order:
//
//	for i: for j: A(i, j)                    for i
//	for k: for l: B(k, l)       j, l    →      for j
//	                                             A(i, j)
//	                                             B(i, j)
//
// It returns the new loops, outermost first. The nests must be next to each other, with serial loops without attributes, one
// inside the other. Now B runs before later iterations of A: it refuses when B reads what these write, or writes what they
// access. What B reads of A must be whole and complete in the same iteration.
func (s *Schedule) Merge(loops ...Loop) List[Loop] {
	const step = "merge"
	if s.err == nil && len(loops) < 2 {
		s.refuse(step, "", "has %d loops; wanted two at least", len(loops))
	}
	var nests []*nest
	for _, l := range loops {
		p := s.loop(step, l)
		if p == nil {
			return List[Loop]{}
		}
		n := nestUp(p)
		if !s.mergeable(step, n, nests) {
			return List[Loop]{}
		}
		nests = append(nests, n)
	}
	if s.err != nil {
		return List[Loop]{}
	}
	slices.SortFunc(nests, func(x, y *nest) int { return x.at - y.at })
	for i, n := range nests[1:] {
		if n.at != nests[i].at+1 {
			s.refuse(step, n.loops[0].Var.Name, "does not stand right behind loop %s", nests[i].loops[0].Var.Name)
			return List[Loop]{}
		}
	}
	fors, bodies := s.mergedLoops(nests)
	first := nests[0]
	around := slices.Clone(fors)
	for i := range bodies {
		bodies[i] = simplifyBindings(bodies[i], first.p.in(first.loops[0]), around...)
	}
	if !s.mayInterleave(step, first, fors, bodies) {
		return List[Loop]{}
	}
	st := nestOf(fors, flat(tir.Block1(bodies...)))
	list := slices.Clone(first.seq.Stmts)
	list = slices.Replace(list, first.at, first.at+len(nests), st)
	s.replaceIn(first.p, first.seq, tir.Block1(list...))
	out := s.loopsOver(fors)
	s.record(step, listOf(loops), out)
	return List[Loop]{s, step, first.loops[0].Var.Name, out}
}

// nest is a chain of loops, each directly inside the one before, that stands in a sequence.
type nest struct {
	p     *place // of the innermost loop
	loops []*tir.For
	seq   *tir.Seq // nil: it stands in none
	at    int      // its place there
}

// nestUp returns the loops around the one at p up to the sequence that they stand in.
func nestUp(p *place) *nest {
	n := &nest{p: p, loops: []*tir.For{p.loop}}
	for i := len(p.path) - 2; i >= 0; i-- {
		switch st := p.path[i].(type) {
		case *tir.For:
			n.loops = append([]*tir.For{st}, n.loops...)
			continue
		case *tir.Seq:
			n.seq, n.at = st, slices.Index(st.Stmts, p.path[i+1])
		}
		break
	}
	return n
}

// in is the place of a loop that stands around p, or is the loop at p.
func (p *place) in(f *tir.For) *place {
	c := *p
	c.loops = p.loops[:min(len(p.loops), max(0, slices.IndexFunc(append(slices.Clip(p.loops), p.loop), func(l *tir.For) bool { return l == f })))]
	return &c
}

// mergeable checks a nest against those before it.
func (s *Schedule) mergeable(step string, n *nest, others []*nest) bool {
	name := n.p.loop.Var.Name
	for _, f := range n.loops {
		if f.Kind != tir.Serial || len(f.Attrs) > 0 {
			s.refuse(step, f.Var.Name, "is %v or has attributes; wanted serial loops without: shape the merged one", f.Kind)
			return false
		}
	}
	if n.seq == nil {
		s.refuse(step, name, "stands in no sequence; wanted nests one behind the other")
		return false
	}
	if what := outsideBlocks(n.p.loop.Body); what != "" {
		s.refuse(step, name, "%s; wanted loads and stores in blocks alone", what)
		return false
	}
	if len(others) == 0 {
		return true
	}
	first := others[0]
	if n.seq != first.seq || slices.ContainsFunc(others, func(o *nest) bool { return o.at == n.at }) {
		s.refuse(step, name, "does not stand in the same sequence as loop %s, in another nest", first.p.loop.Var.Name)
		return false
	}
	same := len(n.loops) == len(first.loops)
	to, a := map[*tir.Var]tir.Expr{}, first.p.in(first.loops[0]).analyzer()
	for i := range min(len(n.loops), len(first.loops)) {
		f, g := n.loops[i], first.loops[i]
		same = same && a.Prove(tir.Eq(tir.Subst(f.Extent, to), g.Extent))
		a.BindLoop(g)
		to[f.Var] = tir.Plus(g.Var, tir.Minus(tir.Subst(f.Min, to), g.Min))
	}
	if !same {
		s.refuse(step, name, "has other loops around it than loop %s; wanted as many, of the same extents", first.p.loop.Var.Name)
	}
	return same
}

// mergedLoops returns the new loops, and the bodies over them.
func (s *Schedule) mergedLoops(nests []*nest) ([]*tir.For, []tir.Stmt) {
	first := nests[0]
	fors, to := s.copiesOf(first.loops)
	bodies := []tir.Stmt{tir.SubstStmt(first.p.loop.Body, to)}
	for _, n := range nests[1:] {
		own := map[*tir.Var]tir.Expr{}
		for i, f := range n.loops {
			own[f.Var] = tir.Plus(fors[i].Var, tir.Minus(tir.Subst(f.Min, own), fors[i].Min))
		}
		bodies = append(bodies, tir.SubstStmt(n.p.loop.Body, own))
	}
	return fors, bodies
}

// mayInterleave checks that each body may run before later iterations of those in front of it.
func (s *Schedule) mayInterleave(step string, n *nest, loops []*tir.For, bodies []tir.Stmt) bool {
	a := n.p.in(n.loops[0]).analyzer()
	for _, l := range loops {
		a.BindLoop(l)
	}
	f := flowOf(flat(tir.Block1(bodies...)), a)
	body := make([]int, len(f.places)) // which body a block is in
	for i, c := range f.places {
		body[i] = slices.IndexFunc(bodies, func(b tir.Stmt) bool {
			return slices.ContainsFunc(realizesIn(b), func(x *place) bool { return x.realize == c.realize })
		})
	}
	for j, y := range f.places {
		for i, x := range f.places[:j] {
			if body[i] == body[j] {
				continue
			}
			if buf := s.clash(f, x, y, loops, f.places[:j]); buf != nil {
				s.refuse(step, n.loops[0].Var.Name, "block %s accesses %s where block %s does in another iteration: it would run before it",
					y.realize.Block.Name, buf.Name, x.realize.Block.Name)
				return false
			}
		}
	}
	return true
}

// clash returns a buffer by which y needs a later iteration of x than its own, or the other way round; nil if there is none.
func (s *Schedule) clash(f *flow, x, y *place, loops []*tir.For, before []*place) *tir.Buffer {
	bx, by := x.realize.Block, y.realize.Block
	for _, w := range bx.Writes {
		for _, r := range by.Reads { // what y reads of it is there in the same iteration, or is not of x at all
			if r.Buffer != w.Buffer || s.functional(w.Buffer) && slices.ContainsFunc(before, func(c *place) bool { return f.covers(c, y, r) }) {
				continue
			}
			if !f.disjoint(x, w, y, r, loops) {
				return w.Buffer
			}
		}
		for _, r := range by.Writes {
			if r.Buffer == w.Buffer && !apart(f.a, loops, f.touch(x, w, loops), f.touch(y, r, loops), true) {
				return w.Buffer
			}
		}
	}
	for _, r := range bx.Reads {
		for _, w := range by.Writes {
			if r.Buffer == w.Buffer && !apart(f.a, loops, f.touch(x, r, loops), f.touch(y, w, loops), true) {
				return w.Buffer
			}
		}
	}
	return nil
}

// disjoint reports whether two regions certainly have no element in common, in whatever iterations.
func (f *flow) disjoint(x *place, w tir.Region, y *place, r tir.Region, loops []*tir.For) bool {
	bx, okx := sweptBox(f.a, f.touch(x, w, loops), loops)
	by, oky := sweptBox(f.a, f.touch(y, r, loops), loops)
	if !okx || !oky {
		return false
	}
	for i := range bx {
		if f.a.Prove(tir.Le(tir.Plus(bx[i].Min, bx[i].Extent), by[i].Min)) || f.a.Prove(tir.Le(tir.Plus(by[i].Min, by[i].Extent), bx[i].Min)) {
			return true
		}
	}
	return false
}
