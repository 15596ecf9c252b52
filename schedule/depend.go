package schedule

import (
	"fmt"
	"slices"

	"github.com/texel-ml/texel/tir"
	"github.com/texel-ml/texel/tir/arith"
)

// What primitives ask about the blocks inside a statement: whether nothing else is there, what they touch, whether what
// they read was written before in the same run of the statement, whether they may run twice.

// outsideBlocks says what stands in st that is no loop, sequence or block, or reads a buffer outside of blocks; it is
// empty when there is nothing.
func outsideBlocks(st tir.Stmt) string {
	switch n := st.(type) {
	case *tir.For:
		if tir.ReadsMemory(n.Min) || tir.ReadsMemory(n.Extent) {
			return fmt.Sprintf("a bound of loop %s reads a buffer", n.Var.Name)
		}
		return outsideBlocks(n.Body)
	case *tir.Seq:
		for _, c := range n.Stmts {
			if what := outsideBlocks(c); what != "" {
				return what
			}
		}
	case *tir.BlockRealize:
		for _, v := range n.Values {
			if tir.ReadsMemory(v) {
				return fmt.Sprintf("a variable of block %s takes a value that is read from a buffer", n.Block.Name)
			}
		}
		if n.Where != nil && tir.ReadsMemory(n.Where) {
			return fmt.Sprintf("the condition of block %s reads a buffer", n.Block.Name)
		}
	default:
		return "a statement stands outside of blocks"
	}
	return ""
}

// loads reports whether a buffer is read below root.
func loads(root any, buf *tir.Buffer) bool {
	found := false
	tir.Walk(root, func(n any) bool {
		l, ok := n.(*tir.Load)
		found = found || ok && l.Buffer == buf
		return !found
	})
	return found
}

// loadsOf reports whether a block reads a buffer, by its statements or as it declares: a reduction does not declare that
// it reads its result.
func loadsOf(b *tir.Block, buf *tir.Buffer) bool {
	return loads(b.Init, buf) || loads(b.Body, buf) || reads(b, buf)
}

// changes reports whether a block reads elements of a buffer that it writes and did not write itself before: those that
// other instances wrote, or others blocks.
func changes(b *tir.Block, buf *tir.Buffer) bool {
	if !writes(b, buf) || !loadsOf(b, buf) {
		return false
	}
	if b.Opaque || b.Init != nil || !holdsRealize(b) {
		return true
	}
	a := arith.New()
	bindIters(a, b)
	return outsideBlocks(b.Body) != "" || !flowOf(b.Body, a).fed(buf)
}

// changed returns a buffer that a block without an initial value changes, or nil.
func changed(b *tir.Block) *tir.Buffer {
	for _, w := range b.Writes {
		if b.Init == nil && changes(b, w.Buffer) {
			return w.Buffer
		}
	}
	return nil
}

// flow looks at the blocks inside a statement.
type flow struct {
	a      *arith.Analyzer
	places []*place        // of the blocks in order of execution, with the loops inside the statement
	maybe  map[*place]bool // those inside conditions: they may not run
	vague  map[*place]bool // those whose values may use the variables of lets: nothing is known of what they touch
}

// flowOf looks at the blocks inside the body of the loop at p, or inside the block scope for which p stands.
func flowOf(st tir.Stmt, a *arith.Analyzer) *flow {
	f := &flow{a: a, maybe: map[*place]bool{}, vague: map[*place]bool{}}
	f.visit(st, nil, false, false)
	for _, c := range f.places {
		for _, l := range c.loops {
			a.BindSpan(l) // a block beside may stand in loops that have no iteration
		}
	}
	return f
}

// running starts a scope in which the block at c runs, so that the loops around it do.
func (f *flow) running(c *place) (leave func()) {
	leave = f.a.Scope()
	for _, l := range c.loops {
		f.a.BindLoop(l)
	}
	return leave
}

// beside looks at the blocks of the scope that p, a block, stands in.
func (s *Schedule) beside(p *place) *flow {
	return flowOf(s.scopeOf(p), (&place{blocks: p.blocks}).analyzer())
}

// at returns the place of a realization, or nil.
func (f *flow) at(r *tir.BlockRealize) *place {
	for _, c := range f.places {
		if c.realize == r {
			return c
		}
	}
	return nil
}

func (f *flow) visit(st tir.Stmt, loops []*tir.For, maybe, vague bool) {
	switch n := st.(type) {
	case *tir.For:
		maybe = maybe || tir.ReadsMemory(n.Min) || tir.ReadsMemory(n.Extent)
		f.visit(n.Body, append(loops[:len(loops):len(loops)], n), maybe, vague)
	case *tir.Seq:
		for _, c := range n.Stmts {
			f.visit(c, loops, maybe, vague)
		}
	case *tir.If:
		f.visit(n.Then, loops, true, vague)
		f.visit(n.Else, loops, true, vague)
	case *tir.Let:
		f.visit(n.Body, loops, maybe, true)
	case *tir.BlockRealize:
		c := &place{realize: n, loops: loops}
		f.places, f.maybe[c], f.vague[c] = append(f.places, c), maybe, vague || tir.ReadsMemory(n.Where) || slices.ContainsFunc(n.Values, func(e tir.Expr) bool { return tir.ReadsMemory(e) })
	}
}

// insideOf looks at the blocks inside a loop.
func insideOf(p *place) *flow {
	a := p.analyzer()
	a.BindLoop(p.loop)
	return flowOf(p.loop.Body, a)
}

// box returns what the realization at c touches of a region as its loops from the given one on run. An axis on which
// that is not known is whole.
func (f *flow) box(c *place, r tir.Region, from int) []tir.Range {
	over := rangesOf(c.loops[from:])
	out := whole(r.Buffer)
	for i, g := range bound(c.realize, r).Ranges {
		if t, ok := swept(f.a, g, over); ok {
			out[i] = t
		}
	}
	return out
}

// bound is a region of a block with the values of its realization put in.
func bound(r *tir.BlockRealize, region tir.Region) tir.Region {
	return substRegion(region, bindings(r))
}

// bindings are the values of a block's variables.
func bindings(r *tir.BlockRealize) map[*tir.Var]tir.Expr {
	bind := map[*tir.Var]tir.Expr{}
	for i, iv := range r.Block.Iters {
		bind[iv.Var] = r.Values[i]
	}
	return bind
}

// substRegion puts expressions in the place of variables.
func substRegion(r tir.Region, to map[*tir.Var]tir.Expr) tir.Region {
	out := tir.Region{Buffer: r.Buffer, Ranges: make([]tir.Range, len(r.Ranges))}
	for i, g := range r.Ranges {
		out.Ranges[i] = tir.Range{Min: tir.Subst(g.Min, to), Extent: tir.Subst(g.Extent, to)}
	}
	return out
}

// fed reports whether each element of buf that the blocks read was written before, whole, in the same iteration of the
// loops that writer and reader share, or is carried by a rolling buffer from earlier iterations of loops in here.
func (f *flow) fed(buf *tir.Buffer) bool {
	if f.rolls(buf) {
		return true
	}
	for i, c := range f.places {
		block := c.realize.Block
		var needs []tir.Region
		for _, r := range block.Reads {
			if r.Buffer == buf {
				needs = append(needs, r)
			}
		}
		if changes(block, buf) && (block.Init == nil || !f.complete(c, 0)) { // else its first instance writes what the others read
			for _, r := range block.Writes {
				if r.Buffer == buf {
					needs = append(needs, r)
				}
			}
		}
		for _, r := range needs {
			found := false
			for _, w := range f.places[:i] {
				found = found || f.covers(w, c, r)
			}
			if !found {
				return false
			}
		}
	}
	return true
}

// complete reports whether all reduce instances of an element run within one iteration of the loops before the given one.
func (f *flow) complete(c *place, from int) bool {
	inside := map[*tir.Var]bool{}
	for _, l := range c.loops[from:] {
		inside[l.Var] = true
	}
	for i, iv := range c.realize.Block.Iters {
		if iv.Kind != tir.Spatial && usesOthers(c.realize.Values[i], inside) {
			return false
		}
	}
	return true
}

// covers reports whether the writer at w, which runs before the reader at c, certainly writes all that c reads of a
// region in the same iteration of the loops that both share.
func (f *flow) covers(w, c *place, r tir.Region) bool {
	defer f.running(c)()
	shared := together(w.loops, c.loops)
	if f.maybe[w] || f.vague[w] || f.vague[c] || !writes(w.realize.Block, r.Buffer) || !f.complete(w, shared) {
		return false
	}
	need := f.box(c, r, shared)
	for _, out := range w.realize.Block.Writes {
		if out.Buffer == r.Buffer && f.dense(w, out, shared) && f.a.Covers(f.box(w, out, shared), need) {
			return true
		}
	}
	return false
}

// dense reports whether the realization at c certainly writes every element of the box of a region that lies in the
// buffer, as its loops from the given one on run.
func (f *flow) dense(c *place, r tir.Region, from int) bool {
	if !certain(c.realize.Block, r) {
		return false
	}
	for _, l := range c.loops[from:] {
		if least, _, ok := f.a.Bounds(l.Extent); !ok || least < 1 {
			return false // it may not run
		}
	}
	region := bound(c.realize, r)
	widths := make([]int64, len(region.Ranges))
	for i, g := range region.Ranges {
		n, known := tir.AsInt(g.Extent)
		if !known || tir.ReadsMemory(g.Min) {
			return false
		}
		widths[i] = n
	}
	leave := f.a.Scope()
	defer leave()
	whole := touch{ranges: region.Ranges}
	loops, whole, _ := digits(f.a, c.loops[from:], whole, whole, true)
	return dense(f.a, minsOf(whole.ranges), widths, rangesOf(loops)) && harmless(f.a, c.realize.Where, minsOf(region.Ranges), widths, r.Buffer)
}

func minsOf(list []tir.Range) []tir.Expr {
	out := make([]tir.Expr, len(list))
	for i, g := range list {
		out[i] = g.Min
	}
	return out
}

// certain reports whether each instance of a block writes all of a region that it declares: by a plain store, or by a
// nest of loops of its own.
func certain(b *tir.Block, r tir.Region) bool {
	if b.Opaque {
		return false
	}
	for _, st := range []tir.Stmt{b.Init, b.Body} {
		if storesAt(st, r) {
			return true
		}
		if st == nil || outsideBlocks(st) != "" {
			continue
		}
		a := arith.New()
		bindIters(a, b)
		f := flowOf(st, a)
		for _, c := range f.places {
			for _, w := range c.realize.Block.Writes {
				if w.Buffer == r.Buffer && !f.maybe[c] && !f.vague[c] && f.complete(c, 0) && f.dense(c, w, 0) && a.Covers(f.box(c, w, 0), r.Ranges) {
					return true
				}
			}
		}
	}
	return false
}

// storesAt reports whether st stores to the element that a region is, without a condition.
func storesAt(st tir.Stmt, r tir.Region) bool {
	switch n := st.(type) {
	case *tir.Store:
		if n.Buffer != r.Buffer {
			return false
		}
		for i, e := range n.Indices {
			if !tir.IsConst(r.Ranges[i].Extent, 1) || !tir.Equal(r.Ranges[i].Min, e) {
				return false
			}
		}
		return true
	case *tir.Let:
		return storesAt(n.Body, r)
	case *tir.Seq:
		for _, c := range n.Stmts {
			if storesAt(c, r) {
				return true
			}
		}
	}
	return false
}

// mayRepeat says why the blocks inside may not run twice in one iteration of what stands around, or is empty: when they
// do, they find what they found before and write the same.
func (f *flow) mayRepeat() string {
	for _, c := range f.places {
		block := c.realize.Block
		if !f.complete(c, 0) {
			return fmt.Sprintf("block %s reduces or runs in order over a loop around", block.Name)
		}
		if buf := changed(block); buf != nil && !f.fed(buf) {
			return fmt.Sprintf("block %s changes %s, which it reads", block.Name, buf.Name)
		}
		for _, w := range block.Writes {
			if !f.fed(w.Buffer) {
				return fmt.Sprintf("%s is read before block %s writes it", w.Buffer.Name, block.Name)
			}
		}
	}
	return ""
}

// functional reports whether each element of a buffer certainly gets one value, whenever it is written: one block writes
// it, and different spatial instances of that block write different elements.
func (s *Schedule) functional(buf *tir.Buffer) bool {
	var writer *tir.Block
	for _, r := range allRealizes(s.fn.Root().Body) {
		if !writes(r.Block, buf) || !r.Block.Opaque && holdsRealize(r.Block) {
			continue
		}
		if writer != nil {
			return false
		}
		writer = r.Block
	}
	if writer == nil {
		return true
	}
	return s.distinct(writer, buf, s.around(buf))
}

// around returns the blocks in which a buffer lives, outermost first: each instance of the last of them has its own.
func (s *Schedule) around(buf *tir.Buffer) []*tir.BlockRealize {
	p := s.find(func(st tir.Stmt) bool {
		r, ok := st.(*tir.BlockRealize)
		return ok && slices.Contains(r.Block.Allocs, buf)
	})
	if p == nil {
		return nil
	}
	return append(slices.Clip(p.blocks), p.realize)
}

// varOf reports whether v is a variable of one of the blocks, or a scalar argument.
func (s *Schedule) varOf(v *tir.Var, blocks []*tir.BlockRealize) bool {
	return slices.Contains(s.fn.Scalars, v) || slices.ContainsFunc(blocks, func(r *tir.BlockRealize) bool {
		return slices.ContainsFunc(r.Block.Iters, func(iv tir.IterVar) bool { return iv.Var == v })
	})
}

// distinct reports whether different spatial instances of a block certainly write different elements of a buffer, in one
// instance of the blocks around.
func (s *Schedule) distinct(writer *tir.Block, buf *tir.Buffer, around []*tir.BlockRealize) bool {
	if slices.ContainsFunc(foreign(writer), func(v *tir.Var) bool { return !s.varOf(v, around) }) {
		return false
	}
	a := arith.New()
	var loops, inside []*tir.For
	for _, iv := range writer.Iters {
		a.Bind(iv.Var, 0, int64(iv.Extent))
		l := &tir.For{Var: iv.Var, Min: tir.I(0), Extent: tir.I(iv.Extent)}
		if iv.Kind == tir.Spatial {
			loops = append(loops, l)
		} else {
			inside = append(inside, l)
		}
	}
	for i, w := range writer.Writes {
		for _, o := range writer.Writes[i:] {
			if w.Buffer == buf && o.Buffer == buf && !apart(a, loops, touch{w.Ranges, inside}, touch{o.Ranges, inside}, false) {
				return false
			}
		}
	}
	return true
}

// holdsRealize reports whether other blocks stand inside a block.
func holdsRealize(b *tir.Block) bool {
	return holdsBlock(b.Init) || holdsBlock(b.Body)
}

// foreign returns the variables that a block uses and that are not its own, in order of appearance: of blocks and loops
// around, or scalars.
func foreign(b *tir.Block) []*tir.Var {
	own := map[*tir.Var]bool{}
	for _, iv := range b.Iters {
		own[iv.Var] = true
	}
	var out []*tir.Var
	for _, st := range []tir.Stmt{b.Init, b.Body} {
		tir.Walk(st, func(n any) bool { // parents first: a variable is known before its uses are met
			switch n := n.(type) {
			case *tir.For:
				own[n.Var] = true
			case *tir.Let:
				own[n.Var] = true
			case *tir.BlockRealize:
				for _, iv := range n.Block.Iters {
					own[iv.Var] = true
				}
			case *tir.Var:
				if !own[n] {
					own[n] = true
					out = append(out, n)
				}
			}
			return true
		})
	}
	return out
}

// inBuffer reports whether a region that a block declares certainly lies in its buffer, for each instance.
func inBuffer(b *tir.Block, r tir.Region) bool {
	a := arith.New()
	bindIters(a, b)
	for i, g := range r.Ranges {
		least, _, ok := a.Bounds(g.Min)
		_, end, ok2 := a.Bounds(a.Simplify(tir.Plus(g.Min, g.Extent)))
		if !ok || !ok2 || least < 0 || end > int64(r.Buffer.Shape[i]) {
			return false
		}
	}
	return true
}
