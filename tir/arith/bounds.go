package arith

import (
	"math"

	"github.com/texel-ml/texel/tensor"
	"github.com/texel-ml/texel/tir"
)

const (
	minInt = math.MinInt64 // stands for minus infinity
	maxInt = math.MaxInt64 // stands for infinity
)

// interval is [lo, hi].
type interval struct{ lo, hi int64 }

var anything = interval{minInt, maxInt}

func addSat(a, b int64) int64 {
	switch {
	case a == minInt || b == minInt:
		return minInt
	case a == maxInt || b == maxInt:
		return maxInt
	}
	s := a + b
	if a > 0 && b > 0 && s < 0 {
		return maxInt
	}
	if a < 0 && b < 0 && s >= 0 {
		return minInt
	}
	return s
}

func mulSat(a, b int64) int64 {
	if a == 0 || b == 0 {
		return 0
	}
	neg := (a < 0) != (b < 0)
	p := a * b
	if a == minInt || b == minInt || a == maxInt || b == maxInt || p/b != a || p == minInt {
		if neg {
			return minInt
		}
		return maxInt
	}
	return p
}

func (b interval) scale(k int64) interval {
	if k >= 0 {
		return interval{mulSat(b.lo, k), mulSat(b.hi, k)}
	}
	return interval{mulSat(b.hi, k), mulSat(b.lo, k)}
}

func (b interval) union(o interval) interval { return interval{min(b.lo, o.lo), max(b.hi, o.hi)} }

func (b interval) finite() bool { return b.lo > minInt && b.hi < maxInt }

// maxFacts bounds how many facts are added up to bound one expression.
const maxFacts = 2

// bounds returns the range of l, using facts.
func (a *Analyzer) bounds(l linear) interval {
	out := interval{l.c, l.c}
	for _, t := range l.terms {
		b := a.atomBounds(t.atom).scale(t.k)
		out = interval{addSat(out.lo, b.lo), addSat(out.hi, b.hi)}
	}
	if len(l.terms) > 1 && a.splits < maxSplits {
		out = a.splitExtremum(l, out)
	}
	if a.depth == maxFacts || len(a.facts) == 0 || len(l.terms) == 0 {
		return out
	}
	a.depth++
	defer func() { a.depth-- }()
	// A fact f < 0 gives r·f <= -r, so that l = r·f + (l - r·f) is at most the bound of l - r·f, less r.
	for _, f := range a.facts {
		for _, t := range f.terms {
			k := l.find(t.atom)
			if k == 0 || k%t.k != 0 {
				continue
			}
			r := k / t.k
			rest := a.bounds(l.plus(f, -r))
			if r > 0 {
				out.hi = min(out.hi, addSat(rest.hi, -r))
			} else {
				out.lo = max(out.lo, addSat(rest.lo, -r))
			}
		}
	}
	return out
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
		a.splits++
		rest := l.plus(linear{terms: []term{t}}, -1)
		x, y := a.bounds(rest.plus(a.lin(e.A), t.k)), a.bounds(rest.plus(a.lin(e.B), t.k))
		a.splits--
		if (e.Op == tir.Max) == (t.k > 0) {
			return interval{max(b.lo, x.lo, y.lo), min(b.hi, max(x.hi, y.hi))}
		}
		return interval{max(b.lo, min(x.lo, y.lo)), min(b.hi, x.hi, y.hi)}
	}
	return b
}

func typeBounds(d tensor.DType) interval {
	bits := d.Bits()
	switch {
	case d == tensor.Bool:
		return interval{0, 1}
	case d.Kind() == tensor.Signed && bits < 64:
		return interval{-1 << (bits - 1), 1<<(bits-1) - 1}
	case d.Kind() == tensor.Unsigned && bits < 64:
		return interval{0, 1<<bits - 1}
	}
	return anything
}

// atomBounds returns the range of an expression.
func (a *Analyzer) atomBounds(e tir.Expr) interval {
	whole := typeBounds(e.Type().DType)
	switch n := e.(type) {
	case *tir.Var:
		if b, ok := a.vars[n]; ok {
			return b
		}
	case *tir.Int:
		if n.DType != tensor.Uint64 || n.Value >= 0 {
			return interval{n.Value, n.Value}
		}
	case *tir.Broadcast:
		return a.valueBounds(n.A)
	case *tir.Ramp:
		b, s := a.valueBounds(n.Base), a.valueBounds(n.Stride)
		last := s.scale(int64(n.Lanes - 1))
		return b.union(interval{addSat(b.lo, last.lo), addSat(b.hi, last.hi)})
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

// valueBounds is bounds for index expressions that may be sums.
func (a *Analyzer) valueBounds(e tir.Expr) interval {
	if b, ok := e.(*tir.Binary); ok && b.Type() == tir.Index {
		switch b.Op {
		case tir.Add, tir.Sub:
			return a.bounds(a.lin(e))
		}
	}
	return a.atomBounds(e)
}

func (a *Analyzer) binaryBounds(n *tir.Binary) interval {
	x, y := a.valueBounds(n.A), a.valueBounds(n.B)
	if x.lo > x.hi || y.lo > y.hi {
		return anything // never evaluated
	}
	switch n.Op {
	case tir.Add:
		return interval{addSat(x.lo, y.lo), addSat(x.hi, y.hi)}
	case tir.Sub:
		return interval{addSat(x.lo, mulSat(y.hi, -1)), addSat(x.hi, mulSat(y.lo, -1))}
	case tir.Mul:
		p, q, r, s := mulSat(x.lo, y.lo), mulSat(x.lo, y.hi), mulSat(x.hi, y.lo), mulSat(x.hi, y.hi)
		return interval{min(p, q, r, s), max(p, q, r, s)}
	case tir.Min:
		return interval{min(x.lo, y.lo), min(x.hi, y.hi)}
	case tir.Max:
		return interval{max(x.lo, y.lo), max(x.hi, y.hi)}
	case tir.FloorDiv, tir.Div:
		if y.lo <= 0 || n.Op == tir.Div && x.lo < 0 {
			return anything
		}
		out := interval{minInt, maxInt}
		if x.lo > minInt {
			out.lo = min(floorDiv(x.lo, y.lo), floorDiv(x.lo, y.hi))
		}
		if x.hi < maxInt {
			out.hi = max(floorDiv(x.hi, y.lo), floorDiv(x.hi, y.hi))
		}
		return out
	case tir.FloorMod, tir.Mod:
		if y.lo <= 0 || n.Op == tir.Mod && x.lo < 0 {
			return anything
		}
		out := interval{0, addSat(y.hi, -1)}
		if y.lo == y.hi {
			return a.modBounds(n.A, x, y.lo)
		}
		if x.lo >= 0 {
			out.hi = min(out.hi, x.hi)
		}
		return out
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

// modBounds returns the range of x%%c: a multiple of g plus d when c and the coefficients of x have the divisor g.
func (a *Analyzer) modBounds(x tir.Expr, b interval, c int64) interval {
	if b.finite() && b.lo <= b.hi && floorDiv(b.lo, c) == floorDiv(b.hi, c) {
		return interval{floorMod(b.lo, c), floorMod(b.hi, c)}
	}
	if x.Type() != tir.Index {
		return interval{0, c - 1}
	}
	l := a.lin(x)
	g := c
	for _, t := range l.terms {
		g = gcd(g, t.k)
	}
	d := floorMod(l.c, g)
	return interval{d, c - g + d}
}
