package schedule

import (
	"slices"

	"github.com/texel-ml/texel/tir"
	"github.com/texel-ml/texel/tir/arith"
)

// ReverseComputeAt moves the block b, a consumer, into the body of loop l, behind the blocks there that write what it reads:
// each iteration computes what it can of b from the part that they wrote.
//
//	for io in 0..8                for io in 0..8
//	  for ii in 0..8                for ii in 0..8: A(8·io + ii)
//	    A(8·io + ii)          →     for b in 0..8: B(8·io + b)
//	for i in 0..64: B(i)
//
// b reads what the iteration writes at one variable an axis, as above, or in windows that lie side by side, as a pool whose
// stride is its width does; or all of an axis that each iteration writes whole. All blocks that write what it reads must stand
// inside l or before it. Elements of b that iterations share are computed in each of them.
//
// It refuses when b is opaque or changes what it reads; when some of what it reads is written in another iteration than the
// rest, or is not complete because l drives the reduction that makes it; and when blocks between the two places touch what b
// writes. Iterations that write different elements compute different ones of b: a parallel loop around may stay one.
func (s *Schedule) ReverseComputeAt(b Block, l Loop) { s.ReverseComputeAtPlace(b, l, LastPlace) }

// ReverseComputeAtPlace is ReverseComputeAt with the number of the statement of l's body before which b shall stand,
// LastPlace or FirstPlace.
func (s *Schedule) ReverseComputeAtPlace(b Block, l Loop, index int) {
	const step = "reverse_compute_at"
	m := s.placing(step, b, l)
	if m == nil {
		return
	}
	made := map[*tir.Buffer]bool{}
	for _, c := range m.inner.places {
		for _, w := range c.realize.Block.Writes {
			if reads(m.block, w.Buffer) {
				made[w.Buffer] = true
			}
		}
	}
	if len(made) == 0 {
		m.refuse("reads nothing that is written inside %s", l.v.Name)
		return
	}
	wanted, ok := m.supply(made)
	if !ok {
		return
	}
	st := m.nest(wanted)
	if !m.put(st, index, func(body []tir.Stmt) (first, last int) { return m.behindWriters(body), len(body) }) || !m.settled() {
		return
	}
	args := operands(b, l)
	if index != LastPlace {
		args = append(args, index)
	}
	s.record(step, args)
}

// reverseComputeAt applies a step of a trace.
func reverseComputeAt(c *Call) {
	index := LastPlace
	if c.Len() > 2 {
		index = c.Number(2)
	}
	c.S.ReverseComputeAtPlace(c.Block(0), c.Loop(1), index)
}

// supply returns which values of the block's spatial variables find all that they read of one of the buffers in what an
// iteration writes; of a variable that is not in the answer, all. Variables are bounded by one buffer alone: all that the
// block declares to read of it is written in some iteration, so that each instance has one that computes it.
func (m *placing) supply(bufs map[*tir.Buffer]bool) (map[*tir.Var]tir.Range, bool) {
	a := m.inner.a
	bindIters(a, m.block)
	for _, r := range m.block.Reads {
		if !bufs[r.Buffer] {
			continue
		}
		out := map[*tir.Var]tir.Range{}
		written := m.writtenPart(r.Buffer)
		for i, g := range r.Ranges {
			v, k, base, width, ok := m.window(g)
			if !ok || written == nil {
				continue
			}
			lo, n, ok := windows(a, written[i], k, base, width)
			if ok && out[v].Min == nil {
				out[v] = tir.Range{Min: lo, Extent: tir.I(int(n))}
			}
		}
		bounded := false
		for v, g := range out {
			n, _ := tir.AsInt(g.Extent)
			bounded = bounded || int(n) < m.extentOf(v)
		}
		if bounded {
			if !inBuffer(m.block, r) || !m.writtenInFull(r) {
				return nil, m.refuse("loop %s does not write all of what it may read of %s, so that some of its instances would have no iteration", m.at.loop.Var.Name, r.Buffer.Name)
			}
			return out, true
		}
	}
	return nil, true
}

// writtenInFull reports whether a block inside the loop writes all of a region that the block reads where it stands now,
// over all iterations of the loops that they do not share.
func (m *placing) writtenInFull(r tir.Region) bool {
	all := m.s.beside(m.p)
	at := slices.IndexFunc(all.places, func(c *place) bool { return c.realize == m.p.realize })
	return slices.ContainsFunc(all.places[:at], func(w *place) bool {
		return slices.ContainsFunc(w.loops, func(l *tir.For) bool { return l.Var == m.at.loop.Var }) && all.covers(w, all.places[at], r)
	})
}

func (m *placing) extentOf(v *tir.Var) int {
	for _, iv := range m.block.Iters {
		if iv.Var == v {
			return iv.Extent
		}
	}
	return 0
}

// writtenPart is the box around what an iteration writes of a buffer.
func (m *placing) writtenPart(buf *tir.Buffer) []tir.Range {
	var box []tir.Range
	for _, c := range m.inner.places {
		for _, w := range c.realize.Block.Writes {
			if w.Buffer == buf {
				box = m.around(box, m.inner.box(c, w, 0), buf)
			}
		}
	}
	return box
}

// window takes a range that the block reads, over all values of its reduce variables, as k·v + base and width - 1 more, for
// a spatial variable v.
func (m *placing) window(g tir.Range) (v *tir.Var, k, base, width int64, ok bool) {
	a := m.inner.a
	over := map[*tir.Var]tir.Range{}
	for _, iv := range m.block.Iters {
		if iv.Kind != tir.Spatial {
			over[iv.Var] = tir.Range{Min: tir.I(0), Extent: tir.I(iv.Extent)}
		}
	}
	_, fixed := tir.AsInt(g.Extent)
	all, ok := swept(a, g, over)
	if !fixed || !ok {
		return nil, 0, 0, 0, false
	}
	width, _ = tir.AsInt(all.Extent)
	coeffs, rest, linear := a.Linear(all.Min)
	base, known := tir.AsInt(rest)
	if !linear || !known || len(coeffs) != 1 {
		return nil, 0, 0, 0, false
	}
	for v, k = range coeffs {
	}
	spatial := slices.ContainsFunc(m.block.Iters, func(iv tir.IterVar) bool { return iv.Var == v && iv.Kind == tir.Spatial })
	return v, k, base, width, spatial && k > 0
}

// windows returns from which v on how many windows k·v + base, width wide, lie in r, where r is made of whole ones: they do
// not overlap, r starts where one starts, and ends before the next.
func windows(a *arith.Analyzer, r tir.Range, k, base, width int64) (lo tir.Expr, n int64, ok bool) {
	extent, known := tir.AsInt(r.Extent)
	start := tir.Minus(r.Min, tir.I(int(base)))
	if !known || width > k || extent%k != 0 || !a.Prove(tir.Eq(tir.Bin(tir.FloorMod, start, tir.I(int(k))), tir.I(0))) {
		return nil, 0, false
	}
	return a.Simplify(tir.Bin(tir.FloorDiv, start, tir.I(int(k)))), extent / k, true
}
