package schedule

import (
	"slices"

	"github.com/texel-ml/texel/tir"
)

// ComputeAt moves the block b, a producer, into the body of loop l: each iteration computes just the part of b's output
// that its consumers inside l read.
//
//	for i in 0..64: A(i)          for io in 0..8
//	for io in 0..8            →     for a in 0..8: A(8·io + a)
//	  for ii in 0..8                for ii in 0..8: B(8·io + ii)
//	    B(8·io + ii)
//
// b may write several buffers, each at places that follow from one variable an axis. Where the part that is read is not known
// on an axis, as behind an index that is loaded, each iteration computes all of it. Parts past the end of a buffer are
// guarded; parts that iterations share are computed in each of them.
//
// It refuses when an output of b is a result of the function, is written elsewhere, or is read outside l; when b is opaque or
// changes what it reads; and when what b reads is not there in time, or is changed in between.
func (s *Schedule) ComputeAt(b Block, l Loop) { s.ComputeAtPlace(b, l, LastPlace) }

// ComputeAtPlace is ComputeAt with the number of the statement of l's body before which b shall stand, LastPlace or
// FirstPlace.
func (s *Schedule) ComputeAtPlace(b Block, l Loop, index int) {
	const step = "compute_at"
	if s.placed(step, b, l) {
		return
	}
	m := s.placing(step, b, l)
	if m == nil {
		return
	}
	outs := map[*tir.Buffer]bool{}
	var own []*tir.Buffer
	for _, w := range m.block.Writes {
		if outs[w.Buffer] {
			continue
		}
		outs[w.Buffer] = true
		own = append(own, w.Buffer)
		if !s.writesAlone(step, m.block, w.Buffer) || !m.readInside(w.Buffer) {
			return
		}
	}
	read := map[*tir.Buffer][]tir.Range{}
	for _, c := range m.inner.places {
		for _, r := range c.realize.Block.Reads {
			if outs[r.Buffer] {
				read[r.Buffer] = m.around(read[r.Buffer], m.inner.box(c, r, 0), r.Buffer)
			}
		}
	}
	st := m.nest(m.demand(read))
	if !m.put(st, index, func(body []tir.Stmt) (first, last int) {
		readers := slices.IndexFunc(body, func(c tir.Stmt) bool {
			return slices.ContainsFunc(own, func(buf *tir.Buffer) bool { return readsBuffer(c, buf) })
		})
		if readers < 0 {
			readers = len(body) - 1
		}
		return m.behindWriters(body[:readers+1]), readers
	}) || !m.settled() {
		return
	}
	args := operands(b, l)
	if index != LastPlace {
		args = append(args, index)
	}
	s.record(step, args)
}

// computeAt applies a step of a trace.
func computeAt(c *Call) {
	index := LastPlace
	if c.Len() > 2 {
		index = c.Number(2)
	}
	c.S.ComputeAtPlace(c.Block(0), c.Loop(1), index)
}

// readInside checks that all that reads a buffer stands inside the loop.
func (m *placing) readInside(buf *tir.Buffer) bool {
	total, here := 0, 0
	for _, r := range runsOf(m.s.fn.Root().Body) {
		if r.realize.Block == m.block || inside(m.block, r.realize.Block) || !loadsOf(r.realize.Block, buf) {
			continue
		}
		total++
		if slices.ContainsFunc(r.loops, func(f *tir.For) bool { return f.Var == m.at.loop.Var }) {
			here++
		}
	}
	if here == 0 || here != total {
		return m.refuse("%d of the %d blocks that read %s stand inside %s; wanted all", here, total, buf.Name, m.at.loop.Var.Name)
	}
	if m.s.strayLoads(buf) {
		return m.refuse("%s is read outside of blocks, by a bound, a condition or the value of a variable", buf.Name)
	}
	return true
}

// around is the box around two of a buffer's; an axis on which there is none is whole.
func (m *placing) around(x, y []tir.Range, buf *tir.Buffer) []tir.Range {
	if x == nil {
		return y
	}
	out := make([]tir.Range, len(x))
	for i := range x {
		var ok bool
		if out[i], ok = join(m.inner.a, x[i], y[i]); !ok {
			out[i] = tir.Range{Min: tir.I(0), Extent: tir.I(buf.Shape[i])}
		}
	}
	return out
}

// demand returns which values of the block's spatial variables write the boxes that are read; of a variable that is not in
// the answer, all.
func (m *placing) demand(read map[*tir.Buffer][]tir.Range) map[*tir.Var]tir.Range {
	a := m.inner.a
	spatial, all := map[*tir.Var]bool{}, map[*tir.Var]bool{}
	for _, iv := range m.block.Iters {
		spatial[iv.Var] = iv.Kind == tir.Spatial
		a.Bind(iv.Var, 0, int64(iv.Extent))
	}
	out := map[*tir.Var]tir.Range{}
	for _, w := range m.block.Writes {
		if read[w.Buffer] == nil {
			continue // nobody reads it
		}
		for i, g := range w.Ranges {
			coeffs, rest, linear := a.Linear(g.Min)
			base, known := tir.AsInt(rest)
			width, fixed := tir.AsInt(g.Extent)
			first := m.largest(coeffs)
			for v, k := range coeffs {
				if n := m.extentOf(v); v != first && k > 0 && spatial[v] {
					width += k * int64(n-1) // all values of the others
				}
			}
			for v, k := range coeffs {
				if v != first || !spatial[v] || !linear || !known || !fixed {
					all[v] = true
					continue
				}
				r, ok := dividedRange(m.inner, read[w.Buffer][i], k, base, width)
				if ok {
					out[v], ok = join(a, out[v], r)
				}
				if !ok {
					all[v] = true
				}
			}
			tir.Walk(rest, func(n any) bool {
				if v, ok := n.(*tir.Var); ok {
					all[v] = true
				}
				return true
			})
		}
	}
	for v := range all {
		delete(out, v)
	}
	return out
}

// largest returns the variable that moves an index most, nil where one moves it back or is no spatial variable.
func (m *placing) largest(coeffs map[*tir.Var]int64) *tir.Var {
	var first *tir.Var
	for _, iv := range m.block.Iters {
		switch k, used := coeffs[iv.Var]; {
		case !used:
		case k <= 0 || iv.Kind != tir.Spatial:
			return nil
		case first == nil || k > coeffs[first]:
			first = iv.Var
		}
	}
	return first
}

// dividedRange returns the values of v whose k·v + base, and width - 1 more, meets r.
func dividedRange(f *flow, r tir.Range, k, base, width int64) (tir.Range, bool) {
	if k == 1 && base == 0 && width == 1 {
		return r, true
	}
	lo := f.a.Simplify(tir.Bin(tir.FloorDiv, tir.Plus(r.Min, tir.I(int(k-base-width))), tir.I(int(k))))
	hi := tir.Bin(tir.FloorDiv, tir.Plus(tir.Plus(r.Min, r.Extent), tir.I(int(-1-base))), tir.I(int(k)))
	_, n, ok := f.a.Bounds(f.a.Simplify(tir.Minus(hi, lo)))
	return tir.Range{Min: lo, Extent: tir.I(int(n + 1))}, ok
}

func spatialIters(b *tir.Block) []tir.IterVar {
	var list []tir.IterVar
	for _, iv := range b.Iters {
		if iv.Kind == tir.Spatial {
			list = append(list, iv)
		}
	}
	return list
}

func readsBuffer(st tir.Stmt, buf *tir.Buffer) bool {
	for _, c := range realizesIn(st) {
		if reads(c.realize.Block, buf) {
			return true
		}
	}
	return false
}
