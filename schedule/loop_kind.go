package schedule

import (
	"fmt"
	"slices"
	"strings"

	"github.com/texel-ml/texel/tir"
)

// maxCopies bounds how often unrolling writes a body, through all unrolled loops around it.
const maxCopies = 1 << 16

// setKind changes a loop's kind. The iterations of a parallel and of a vectorized loop run at the same time: they may drive
// spatial variables only, and touch different elements, or a buffer, not a global one, whose every use is inside and
// which each iteration fills for itself.
func (s *Schedule) setKind(step string, l Loop, kind tir.LoopKind) {
	p := s.loop(step, l)
	if p == nil {
		return
	}
	n, known := tir.AsInt(p.loop.Extent)
	switch {
	case kind != tir.Parallel && !known:
		s.refuse(step, l.v.Name, "wants a constant extent")
		return
	case kind == tir.Unrolled:
		if copies := unrolledCopies(p); n > 0 && copies > maxCopies/n {
			s.refuse(step, l.v.Name, "%d iterations inside unrolled loops of %d make more than %d copies of the body; wanted at most that", n, copies, maxCopies)
			return
		}
	default:
		if why := s.mayNotOverlap(p, kind, ""); why != "" {
			s.refuse(step, l.v.Name, "%s", why)
			return
		}
	}
	c := *p.loop
	c.Kind, c.Thread = kind, ""
	s.swap(p.loop, &c)
	s.record(step, operands(l))
}

// unrolledCopies is how often unrolling the loops around and inside the one at p writes its body.
func unrolledCopies(p *place) int64 {
	copies := int64(1)
	for _, f := range slices.Concat(p.outer, p.loops, allLoops(p.loop.Body)) {
		if n, ok := tir.AsInt(f.Extent); ok && f.Kind == tir.Unrolled && n > 0 {
			if copies > maxCopies/n {
				return maxCopies
			}
			copies *= n
		}
	}
	return copies
}

// mayNotOverlap says why the iterations of the loop at p may not run at the same time; it is empty when they may.
func (s *Schedule) mayNotOverlap(p *place, kind tir.LoopKind, thread string) string {
	if what := outsideBlocks(p.loop.Body); what != "" {
		return what + "; wanted loads and stores in blocks alone"
	}
	f := insideOf(p)
	for _, r := range allRealizes(p.loop.Body) {
		for i, value := range r.Values {
			if iv := r.Block.Iters[i]; iv.Kind != tir.Spatial && tir.Uses(value, p.loop.Var) {
				return fmt.Sprintf("drives the %v variable %s of block %s; wanted only spatial ones", iv.Kind, iv.Var.Name, r.Block.Name)
			}
		}
		if r.Block.Opaque && kind == tir.Vectorized {
			return fmt.Sprintf("block %s is opaque", r.Block.Name)
		}
	}
	loops := []*tir.For{p.loop}
	for _, buf := range f.written() {
		if s.onlyInside(p, buf, kind, thread) {
			if f.fed(buf) {
				continue
			}
			if again(slices.Concat(p.outer, p.loops)) { // what is used in one such loop only is taken to be its iterations' own
				return fmt.Sprintf("%s may carry values from one iteration of the loops around to the next; wanted a buffer that each iteration fills for itself", buf.Name)
			}
		}
		if x, y := f.meet(buf, loops, false); x != nil {
			return fmt.Sprintf("block %s writes %s where block %s accesses it in another iteration; wanted iterations that touch different elements, or a buffer that each fills for itself",
				x.realize.Block.Name, buf.Name, y.realize.Block.Name)
		}
	}
	return ""
}

// again reports whether loops have more than one iteration together.
func again(loops []*tir.For) bool {
	return slices.ContainsFunc(loops, func(l *tir.For) bool { n, known := tir.AsInt(l.Extent); return !known || n > 1 })
}

// written returns the buffers that the blocks write, in order.
func (f *flow) written() []*tir.Buffer {
	var list []*tir.Buffer
	seen := map[*tir.Buffer]bool{}
	for _, c := range f.places {
		for _, w := range c.realize.Block.Writes {
			if !seen[w.Buffer] {
				seen[w.Buffer] = true
				list = append(list, w.Buffer)
			}
		}
	}
	return list
}

// onlyInside reports whether each iteration of the loop at p, of the given kind, has a buffer for itself: every access is
// inside.
func (s *Schedule) onlyInside(p *place, buf *tir.Buffer, kind tir.LoopKind, thread string) bool {
	if slices.Contains(s.fn.Params, buf) || !ownsMemory(kind, thread, buf.Scope) {
		return false
	}
	return accessesOf(s.fn.Root().Body, buf) == accessesOf(p.loop, buf)
}

// ownsMemory reports whether each iteration of a loop has memory of a scope for itself. Global memory and textures are one for
// all; shared memory is one for each work-group.
func ownsMemory(kind tir.LoopKind, thread string, scope tir.Scope) bool {
	switch scope {
	case tir.Global, tir.Texture:
		return false
	case tir.Shared:
		return kind == tir.Parallel || kind == tir.Bound && strings.HasPrefix(thread, "blockIdx.")
	}
	return true
}

// accessesOf is how many loads and stores below root access buf.
func accessesOf(root any, buf *tir.Buffer) int {
	n := 0
	tir.Walk(root, func(x any) bool {
		switch x := x.(type) {
		case *tir.Load:
			if x.Buffer == buf {
				n++
			}
		case *tir.Store:
			if x.Buffer == buf {
				n++
			}
		}
		return true
	})
	return n
}

// meet returns a block that writes buf and one that accesses it, where iterations of the loops that differ may touch the
// same element; nil when there are none. All loops of the blocks that are not among loops stand inside them.
func (f *flow) meet(buf *tir.Buffer, loops []*tir.For, later bool) (x, y *place) {
	for _, x := range f.places {
		for _, w := range x.realize.Block.Writes {
			if w.Buffer != buf {
				continue
			}
			for _, y := range f.places {
				if x == y && runsInOrder(x.realize.Block) {
					continue // by what its ordered variable means
				}
				for _, r := range slices.Concat(y.realize.Block.Writes, y.realize.Block.Reads) {
					if r.Buffer == buf && !apart(f.a, loops, f.touch(x, w, loops), f.touch(y, r, loops), later) {
						return x, y
					}
				}
			}
		}
	}
	return nil, nil
}

func runsInOrder(b *tir.Block) bool {
	return slices.ContainsFunc(b.Iters, func(iv tir.IterVar) bool { return iv.Kind == tir.Ordered })
}

// keepsToItself reports whether one block alone accesses a buffer, each instance its own elements.
func (f *flow) keepsToItself(buf *tir.Buffer) bool {
	n := 0
	for _, c := range f.places {
		b := c.realize.Block
		if reads(b, buf) && !runsInOrder(b) {
			return false
		}
		if writes(b, buf) || reads(b, buf) {
			n++
		}
	}
	return n == 1
}

// touch is a region of the block at c, over the given loops and the others of the block.
func (f *flow) touch(c *place, r tir.Region, loops []*tir.For) touch {
	t := touch{ranges: bound(c.realize, r).Ranges}
	for _, l := range c.loops {
		inside := true
		for _, o := range loops {
			inside = inside && o.Var != l.Var
		}
		if inside {
			t.inside = append(t.inside, l)
		}
	}
	return t
}

// concurrent returns the places of those of loops whose iterations run at the same time; what is in an opaque block has none.
func (s *Schedule) concurrent(loops []*tir.For) []*place {
	var list []*place
	for _, l := range loops {
		if l.Kind == tir.Serial || l.Kind == tir.Unrolled {
			continue
		}
		if at := s.findLoop(l.Var); at != nil {
			list = append(list, at)
		}
	}
	return list
}

// sharedBy says which of the buffers iterations of a parallel, vectorized or bound loop share, after a block was moved; it is
// empty when there is none. A buffer that each iteration has for itself is as it was.
func (s *Schedule) sharedBy(which func(buf *tir.Buffer) bool) string {
	for _, at := range s.concurrent(allLoops(s.fn.Root().Body)) {
		l, f := at.loop, insideOf(at)
		for _, buf := range f.written() {
			if !which(buf) || s.onlyInside(at, buf, l.Kind, l.Thread) {
				continue
			}
			if what := outsideBlocks(at.loop.Body); what != "" {
				return fmt.Sprintf("iterations of the %v loop %s may share %s: %s", l.Kind, l.Var.Name, buf.Name, what)
			}
			if x, y := f.meet(buf, []*tir.For{l}, false); x != nil {
				return fmt.Sprintf("iterations of the %v loop %s would share %s: block %s writes what block %s accesses in another one; wanted a buffer of which each has its own, used inside alone: in scratch or local memory, or where each is a work-group, in shared memory",
					l.Kind, l.Var.Name, buf.Name, x.realize.Block.Name, y.realize.Block.Name)
			}
		}
	}
	return ""
}

// unshared reports whether no iterations of a parallel, vectorized or bound loop share a buffer; it refuses the step where they do.
func (s *Schedule) unshared(step, node string, buf *tir.Buffer) bool {
	why := s.sharedBy(func(b *tir.Buffer) bool { return b == buf })
	if why != "" {
		s.refuse(step, node, "%s", why)
	}
	return why == ""
}

// kindsAround says why iterations of a parallel, vectorized or bound loop around a block may not run at the same time any
// more; it is empty when they may.
func (s *Schedule) kindsAround(block string) string {
	p := s.block("", Block{name: block})
	return s.mayOverlap(slices.Concat(p.outer, p.loops))
}

// kindsInside is kindsAround for a loop and those inside it.
func (s *Schedule) kindsInside(f *tir.For) string {
	return s.mayOverlap(append(allLoops(f.Body), f))
}

func (s *Schedule) mayOverlap(loops []*tir.For) string {
	for _, at := range s.concurrent(loops) {
		l := at.loop
		if why := s.mayNotOverlap(at, l.Kind, l.Thread); why != "" {
			return "in the " + l.Kind.String() + " loop " + l.Var.Name + ", " + why
		}
	}
	return ""
}
