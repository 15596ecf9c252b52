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
		if e.Type() == tir.Index && !tir.UsesAny(e, over) {
			out[i] = tir.Range{Min: a.lin(e).expr(), Extent: tir.I(1)}
			continue
		}
		s, ok := a.sweepVector(e, over)
		if !ok || !a.exactSpan(s) {
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

// plus adds k times another span. It reports false when its reach leaves int64.
func (s span) plus(o span, k int64) (span, bool) {
	reach, fits := mul(o.last, k)
	s.min = s.min.plus(o.min, k)
	if reach < 0 {
		s.min = s.min.shifted(reach)
		reach = -reach
	}
	last, fits2 := end(add(s.last, reach))
	s.last = last
	return s, fits && fits2 && !s.min.over
}

// exactSpan reports whether no value of a span wraps around.
func (a *Analyzer) exactSpan(s span) bool { return a.exact(s.min) && a.exact(s.min.shifted(s.last)) }

func (a *Analyzer) sweepVector(e tir.Expr, over map[*tir.Var]tir.Range) (span, bool) {
	switch n := e.(type) {
	case *tir.Broadcast:
		return a.sweepIndex(n.A, over)
	case *tir.Ramp:
		s, ok := a.sweepIndex(n.Base, over)
		stride, isConst := tir.AsInt(a.Simplify(n.Stride))
		if !ok || !isConst {
			return s, false
		}
		s, ok = s.plus(span{last: int64(n.Lanes - 1)}, stride)
		return s, ok
	}
	if e.Type() != tir.Index {
		return span{}, false
	}
	return a.sweepIndex(e, over)
}

func (a *Analyzer) sweepIndex(e tir.Expr, over map[*tir.Var]tir.Range) (span, bool) {
	l := a.lin(e)
	if tir.UsesAny(e, over) && !a.exact(l) {
		return span{}, false
	}
	return a.sweep(l, over)
}

// sweep returns the span of an exact l.
func (a *Analyzer) sweep(l linear, over map[*tir.Var]tir.Range) (out span, ok bool) {
	out = span{min: constant(l.c)}
	for _, t := range l.terms {
		s := span{min: linear{terms: []term{{t.atom, 1}}}}
		if tir.UsesAny(t.atom, over) {
			if s, ok = a.sweepAtom(t.atom, over); !ok {
				return out, false
			}
		}
		if out, ok = out.plus(s, t.k); !ok {
			return out, false
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
		if !ok {
			return a.constantSpan(e)
		}
		return s.plus(span{last: max(extent, 1) - 1}, 1)
	case *tir.Binary:
		if s, ok := a.sweepBinary(n, over); ok {
			return s, true
		}
	case *tir.Select:
		x, okx := a.sweepIndex(n.Then, over)
		y, oky := a.sweepIndex(n.Else, over)
		if okx && oky {
			if s, ok := a.join(x, y); ok {
				return s, true
			}
		}
	}
	return a.constantSpan(e)
}

func (a *Analyzer) sweepBinary(n *tir.Binary, over map[*tir.Var]tir.Range) (span, bool) {
	if n.Op < tir.FloorDiv || n.Op > tir.Max {
		return span{}, false
	}
	x, ok := a.sweepIndex(n.A, over)
	if !ok || !a.exactSpan(x) {
		return span{}, false
	}
	if n.Op == tir.Min || n.Op == tir.Max {
		y, ok := a.sweepIndex(n.B, over)
		if !ok || !a.exactSpan(y) {
			return span{}, false
		}
		// both ends move at most as far as their operands' do
		return span{a.extremum(n.Op, x.min, y.min), max(x.last, y.last)}, true
	}
	c, isConst := tir.AsInt(n.B)
	if !isConst || c <= 0 {
		return span{}, false
	}
	m := a.floorMod(x.min, c) // the largest remainder reaches farthest
	r := a.bounds(m)
	if !r.finite() {
		r.hi = c - 1
	}
	reach, fits := add(r.hi, x.last)
	switch {
	case !fits:
		return span{}, false
	case n.Op == tir.FloorDiv:
		return span{a.floorDiv(x.min, c), reach / c}, true
	case r.finite() && reach < c:
		return span{m, x.last}, true
	}
	return span{constant(0), c - 1}, true
}

// constantSpan is the whole range of an expression.
func (a *Analyzer) constantSpan(e tir.Expr) (span, bool) {
	b := a.atomBounds(e)
	last, fits := end(add(b.hi, -b.lo))
	if !b.finite() || b.empty() || !fits {
		return span{}, false
	}
	return span{constant(b.lo), last}, true
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
	xe, ye := x.min.shifted(x.last), y.min.shifted(y.last)
	if !a.exactSpan(x) || !a.exactSpan(y) {
		return span{}, false
	}
	lo := a.extremum(tir.Min, x.min, y.min)
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
	return span{a.lin(r.Min), max(extent, 1) - 1}, ok
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
