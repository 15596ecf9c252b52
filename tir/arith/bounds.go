package arith

import (
	"github.com/texel-ml/texel/tensor"
	"github.com/texel-ml/texel/tir"
)

// maxFacts bounds how many facts are added up to bound one expression.
const maxFacts = 2

// bounds returns the range of l, using facts.
func (a *Analyzer) bounds(l linear) interval {
	out, exact := a.reach(l)
	if len(l.terms) == 0 || l.over {
		return out
	}
	narrowed := out
	if len(l.terms) > 1 && a.splits < maxSplits {
		narrowed = a.splitExtremum(l, narrowed)
	}
	if a.depth < maxFacts && len(a.facts) > 0 {
		narrowed = a.useFacts(l, narrowed)
	}
	if !exact && !narrowed.finite() && (len(l.terms) > 1 || l.terms[0].k != 1 || l.c != 0) {
		return out // bounds of the sum, which may have wrapped around
	}
	return narrowed
}

// useFacts narrows the range of l. A fact f < 0 gives r·f <= -r, so that m·l = r·f + (m·l - r·f) is at most the bound of
// m·l - r·f, less r.
func (a *Analyzer) useFacts(l linear, out interval) interval {
	a.depth++
	defer func() { a.depth-- }()
	for _, f := range a.facts {
		for _, t := range f.terms {
			k := l.find(t.atom)
			if k == 0 {
				continue
			}
			g := gcd(k, t.k)
			m, r := t.k/g, k/g
			if m < 0 {
				m, r = -m, -r
			}
			if m > 1 && a.depth > 1 {
				continue // not worth the time
			}
			scaled := l
			if m > 1 {
				scaled = l.scale(m)
			}
			rest := a.bounds(scaled.plus(f, -r))
			if hi, fits := add(rest.hi, -r); fits && r > 0 && rest.hi < maxInt {
				out.hi = min(out.hi, floorDiv(hi, m))
			}
			if lo, fits := add(rest.lo, -r); fits && r < 0 && rest.lo > minInt {
				out.lo = max(out.lo, ceilDiv(lo, m))
			}
		}
	}
	return between(out.lo, out.hi)
}

// reach returns the range of l by the ranges of its terms alone, and whether l is exact: whether its value is the sum of
// its terms, because it cannot have wrapped around. What may have wrapped is anything.
func (a *Analyzer) reach(l linear) (out interval, exact bool) {
	if l.over {
		return anything, false
	}
	if len(l.terms) == 0 {
		return between(l.c, l.c), true
	}
	out = interval{l.c, l.c}
	index, known := out, true // the same, with indices of unknown range counted as such
	fits := l.c > minInt && l.c < maxInt
	for _, t := range l.terms {
		b := a.atomBounds(t.atom)
		if !b.finite() {
			if !a.isIndex(t.atom, b) {
				if len(l.terms) == 1 && t.k == 1 && l.c == 0 {
					return b, false
				}
				return anything, false
			}
			if known {
				index, known = out, false
			}
		}
		s, ok := b.scale(t.k)
		sum, ok2 := out.plus(s)
		if !known {
			w, ok3 := b.assumed().scale(t.k)
			sure, ok4 := index.plus(w)
			index, fits = sure, fits && ok3 && ok4
		}
		out, fits = sum, fits && ok && ok2
	}
	if !fits {
		return anything, false
	}
	return out, true
}

// exact reports whether the value of l is the sum of its terms: it cannot have wrapped around.
func (a *Analyzer) exact(l linear) bool {
	if !a.wide && small(l) {
		return true
	}
	_, exact := a.reach(l)
	return exact
}

// small reports whether l is exact as long as every variable is within maxIndex: few variables, times little.
func small(l linear) bool {
	const terms, factor = 16, 1 << 18 // 16·2¹⁸·2⁴⁰ + 2⁶⁰ < 2⁶³
	if l.over || len(l.terms) > terms || l.c < -1<<60 || l.c > 1<<60 {
		return false
	}
	for _, t := range l.terms {
		if _, ok := t.atom.(*tir.Var); !ok || t.k < -factor || t.k > factor {
			return false
		}
	}
	return true
}

// isIndex reports whether e, of the unbounded range b, may be taken to be far from the ends of int64: a variable of
// unknown range, or an expression of such and of small ones. What is loaded may be anything.
func (a *Analyzer) isIndex(e tir.Expr, b interval) bool {
	if _, ok := e.(*tir.Var); ok {
		return b.lo <= maxIndex && b.hi >= -maxIndex
	}
	index, unknown := true, false
	tir.Walk(e, func(n any) bool {
		switch n := n.(type) {
		case *tir.Load, *tir.Call:
			index = false
		case *tir.Cast:
			index = index && n.A.Type().DType.IsInt()
		case *tir.Var:
			b, ok := a.vars[n]
			switch {
			case !ok || !b.finite():
				unknown = true
				index = index && (!ok || b.lo <= maxIndex && b.hi >= -maxIndex)
			case b.lo < -maxIndex || b.hi > maxIndex:
				index = false
			}
		}
		return index
	})
	return index && unknown
}

// maxSplits bounds how many minima and maxima are taken apart to bound one expression.
const maxSplits = 3

// splitExtremum narrows b by taking one minimum or maximum in l apart: k·max(x, y) + rest with k > 0 is the larger of
// k·x + rest and k·y + rest.
func (a *Analyzer) splitExtremum(l linear, b interval) interval {
	for _, t := range l.terms {
		e, ok := t.atom.(*tir.Binary)
		if !ok || e.Op != tir.Min && e.Op != tir.Max {
			continue
		}
		p, q := a.lin(e.A), a.lin(e.B)
		if !a.exact(p) || !a.exact(q) {
			continue
		}
		a.splits++
		rest := l.plus(linear{terms: []term{t}}, -1)
		x, y := a.bounds(rest.plus(p, t.k)), a.bounds(rest.plus(q, t.k))
		a.splits--
		if (e.Op == tir.Max) == (t.k > 0) {
			return interval{max(b.lo, x.lo, y.lo), min(b.hi, max(x.hi, y.hi))}
		}
		return interval{max(b.lo, min(x.lo, y.lo)), min(b.hi, x.hi, y.hi)}
	}
	return b
}

// atomBounds returns the range of an expression.
func (a *Analyzer) atomBounds(e tir.Expr) interval {
	if v, ok := e.(*tir.Var); ok {
		if b, ok := a.vars[v]; ok {
			return b
		}
		return typeBounds(v.DType)
	}
	whole := typeBounds(e.Type().DType)
	switch n := e.(type) {
	case *tir.Int:
		if n.DType != tensor.Uint64 || n.Value >= 0 {
			return between(n.Value, n.Value)
		}
	case *tir.Broadcast:
		return a.valueBounds(n.A)
	case *tir.Ramp:
		first := a.valueBounds(n.Base)
		reach, fits := a.valueBounds(n.Stride).scale(int64(n.Lanes - 1))
		last, fits2 := first.plus(reach)
		if fits && fits2 {
			return first.union(last).within(whole)
		}
	case *tir.Select:
		return a.valueBounds(n.Then).union(a.valueBounds(n.Else))
	case *tir.Cast:
		if from := n.A.Type().DType; from == tensor.Bool || from.IsInt() && from != tensor.Uint64 {
			if b := a.valueBounds(n.A); b.lo >= whole.lo && b.hi <= whole.hi && n.DType != tensor.Bool {
				return b
			}
		}
	case *tir.Binary:
		if n.A.Type().DType == tensor.Int64 && n.Op < tir.EQ {
			return a.binaryBounds(n)
		}
	}
	return whole
}

// valueBounds is atomBounds for expressions that may also be sums.
func (a *Analyzer) valueBounds(e tir.Expr) interval {
	if b, ok := e.(*tir.Binary); ok && (b.Op == tir.Add || b.Op == tir.Sub) && b.Type() == tir.Index {
		return a.bounds(a.lin(e))
	}
	return a.atomBounds(e)
}

func (a *Analyzer) binaryBounds(n *tir.Binary) interval {
	x, y := a.valueBounds(n.A), a.valueBounds(n.B)
	if x.empty() || y.empty() {
		return anything // never evaluated
	}
	switch n.Op {
	case tir.Add, tir.Sub: // of lanes, or a sum that was left as it is because it may wrap
		if n.Op == tir.Sub {
			y, _ = y.scale(-1)
		}
		if sum, _ := x.plus(y); sum.finite() {
			return sum
		}
	case tir.Mul:
		if x.finite() || a.isIndex(n.A, x) {
			if y.finite() || a.isIndex(n.B, y) {
				return x.times(y)
			}
		}
	case tir.Min:
		return interval{min(x.lo, y.lo), min(x.hi, y.hi)}
	case tir.Max:
		return interval{max(x.lo, y.lo), max(x.hi, y.hi)}
	case tir.FloorDiv, tir.Div:
		return x.quotient(y, n.Op == tir.FloorDiv)
	case tir.FloorMod, tir.Mod:
		if n.Op == tir.FloorMod && y.lo == y.hi && y.lo > 0 {
			return a.modBounds(n.A, x, y.lo)
		}
		return x.remainder(y, n.Op == tir.FloorMod)
	case tir.BitAnd:
		if y.lo >= 0 {
			return interval{0, y.hi}
		}
		if x.lo >= 0 {
			return interval{0, x.hi}
		}
	case tir.Shr:
		if y.lo == y.hi && y.lo >= 0 && y.lo < 63 && x.finite() {
			return interval{x.lo >> y.lo, x.hi >> y.lo}
		}
	}
	return anything
}

// modBounds returns the range of x%%c: what is m·n + r in x is g·n + r%%g in the remainder, where g divides m and c.
func (a *Analyzer) modBounds(x tir.Expr, b interval, c int64) interval {
	if b.finite() && floorDiv(b.lo, c) == floorDiv(b.hi, c) {
		return interval{floorMod(b.lo, c), floorMod(b.hi, c)}
	}
	if x.Type() != tir.Index {
		return interval{0, c - 1}
	}
	s := a.modular(a.lin(x))
	g := gcd(c, s.m)
	d := floorMod(s.r, g)
	return interval{d, c - g + d}
}
