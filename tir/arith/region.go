package arith

import (
	"github.com/texel-ml/texel/tir"
)

// Touched returns the box that an access with the given indices touches while the variables of over sweep their
// ranges: for each axis a minimum over the remaining variables and a constant extent. The box is exact per axis for
// affine indices (its ends are touched, strides may leave holes) and never too small. It reports false when an index
// has no such box, for example because it is loaded from a buffer.
func (a *Analyzer) Touched(indices []tir.Expr, over map[*tir.Var]tir.Range) ([]tir.Range, bool) {
	out := make([]tir.Range, len(indices))
	for i, e := range indices {
		s, ok := a.sweepVector(e, over)
		if !ok {
			return nil, false
		}
		out[i] = tir.Range{Min: s.min.expr(), Extent: tir.I(int(s.last + 1))}
	}
	return out, true
}

// span is [min, min+last].
type span struct {
	min  linear
	last int64
}

func (a *Analyzer) sweepVector(e tir.Expr, over map[*tir.Var]tir.Range) (span, bool) {
	switch n := e.(type) {
	case *tir.Broadcast:
		return a.sweep(a.lin(n.A), over)
	case *tir.Ramp:
		s, ok := a.sweep(a.lin(n.Base), over)
		stride, isConst := tir.AsInt(a.Simplify(n.Stride))
		if !ok || !isConst {
			return s, false
		}
		reach := stride * int64(n.Lanes-1)
		if reach < 0 {
			s.min.c += reach
			reach = -reach
		}
		s.last += reach
		return s, true
	}
	if e.Type() != tir.Index {
		return span{}, false
	}
	return a.sweep(a.lin(e), over)
}

func (a *Analyzer) sweep(l linear, over map[*tir.Var]tir.Range) (span, bool) {
	out := span{min: constant(l.c)}
	for _, t := range l.terms {
		if !tir.UsesAny(t.atom, over) {
			out.min = out.min.plus(linear{terms: []term{t}}, 1)
			continue
		}
		s, ok := a.sweepAtom(t.atom, over)
		if !ok || mulSat(s.last, t.k) == maxInt || mulSat(s.last, t.k) == minInt {
			return out, false
		}
		out.min = out.min.plus(s.min, t.k)
		if t.k < 0 {
			out.min.c += t.k * s.last
			out.last -= t.k * s.last
		} else {
			out.last += t.k * s.last
		}
	}
	out.min = a.sorted(a.recombine(out.min))
	return out, true
}

func (a *Analyzer) sweepAtom(e tir.Expr, over map[*tir.Var]tir.Range) (span, bool) {
	switch n := e.(type) {
	case *tir.Var:
		r := over[n]
		_, extent, ok := a.Bounds(r.Extent)
		if !ok {
			return a.constantSpan(e)
		}
		s, ok := a.sweep(a.lin(r.Min), without(over, n))
		s.last += max(extent-1, 0)
		return s, ok
	case *tir.Binary:
		x, okx := a.sweep(a.lin(n.A), over)
		c, isConst := tir.AsInt(n.B)
		switch n.Op {
		case tir.FloorDiv:
			if okx && isConst && c > 0 && a.exact(x.min) {
				r := a.bounds(a.floorMod(x.min, c)) // the largest remainder reaches farthest
				if !r.finite() {
					r.hi = c - 1
				}
				return span{a.floorDiv(x.min, c), (r.hi + x.last) / c}, true
			}
		case tir.FloorMod:
			if okx && isConst && c > 0 && a.exact(x.min) {
				m := a.floorMod(x.min, c)
				if r := a.bounds(m); r.finite() && r.hi+x.last < c {
					return span{m, x.last}, true
				}
				return span{constant(0), c - 1}, true
			}
		case tir.Min, tir.Max:
			y, oky := a.sweep(a.lin(n.B), over)
			if okx && oky {
				// both ends move at most as far as their operands' do
				return span{a.extremum(n.Op, x.min, y.min), max(x.last, y.last)}, true
			}
		}
	case *tir.Select:
		x, okx := a.sweep(a.lin(n.Then), over)
		y, oky := a.sweep(a.lin(n.Else), over)
		if okx && oky {
			if s, ok := a.join(x, y); ok {
				return s, true
			}
		}
	}
	return a.constantSpan(e)
}

// constantSpan is the whole range of an expression.
func (a *Analyzer) constantSpan(e tir.Expr) (span, bool) {
	b := a.atomBounds(e)
	if !b.finite() || b.hi < b.lo || b.hi-b.lo < 0 {
		return span{}, false
	}
	return span{constant(b.lo), b.hi - b.lo}, true
}

func without(over map[*tir.Var]tir.Range, v *tir.Var) map[*tir.Var]tir.Range {
	out := make(map[*tir.Var]tir.Range, len(over))
	for w, r := range over {
		if w != v {
			out[w] = r
		}
	}
	return out
}

// join returns the smallest span around both.
func (a *Analyzer) join(x, y span) (span, bool) {
	lo := a.extremum(tir.Min, x.min, y.min)
	xe, ye := x.min, y.min
	xe.c += x.last
	ye.c += y.last
	hi := a.extremum(tir.Max, xe, ye)
	if b := a.bounds(a.sorted(hi.plus(lo, -1))); b.hi < maxInt && b.hi >= 0 {
		return span{lo, b.hi}, true
	}
	// max(p, q) - min(r, s) is the largest of four differences
	last := int64(0)
	for _, e := range []linear{xe, ye} {
		for _, m := range []linear{x.min, y.min} {
			b := a.bounds(a.sorted(e.plus(m, -1)))
			if b.hi == maxInt {
				return span{}, false
			}
			last = max(last, b.hi)
		}
	}
	return span{lo, last}, true
}

func (a *Analyzer) spanOf(r tir.Range) (span, bool) {
	_, extent, ok := a.Bounds(r.Extent)
	return span{a.lin(r.Min), max(extent-1, 0)}, ok
}

// Union returns the smallest box with constant extents around two boxes of the same rank. It reports false when the
// distance between them has no constant bound.
func (a *Analyzer) Union(x, y []tir.Range) ([]tir.Range, bool) {
	if len(x) != len(y) {
		return nil, false
	}
	out := make([]tir.Range, len(x))
	for i := range x {
		p, okp := a.spanOf(x[i])
		q, okq := a.spanOf(y[i])
		if !okp || !okq {
			return nil, false
		}
		s, ok := a.join(p, q)
		if !ok {
			return nil, false
		}
		out[i] = tir.Range{Min: s.min.expr(), Extent: tir.I(int(s.last + 1))}
	}
	return out, true
}

// Covers reports whether the box outer certainly contains the box inner.
func (a *Analyzer) Covers(outer, inner []tir.Range) bool {
	if len(outer) != len(inner) {
		return false
	}
	for i, o := range outer {
		n := inner[i]
		if !a.Prove(&tir.Binary{Op: tir.LE, A: o.Min, B: n.Min}) ||
			!a.Prove(&tir.Binary{Op: tir.LE, A: tir.Plus(n.Min, n.Extent), B: tir.Plus(o.Min, o.Extent)}) {
			return false
		}
	}
	return true
}
