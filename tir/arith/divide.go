package arith

import (
	"slices"

	"github.com/texel-ml/texel/tir"
)

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b != 0 && (a < 0) != (b < 0) {
		q--
	}
	return q
}

func floorMod(a, b int64) int64 { return a - floorDiv(a, b)*b }

func gcd(a, b int64) int64 {
	for b != 0 {
		a, b = b, a%b
	}
	return max(a, -a)
}

// divide simplifies the four divisions.
func (a *Analyzer) divide(op tir.BinaryOp, x, y linear) linear {
	if len(y.terms) == 0 && y.c == 1 {
		if op == tir.Div || op == tir.FloorDiv {
			return x
		}
		return linear{}
	}
	bx, by := a.bounds(x), a.bounds(y)
	if (op == tir.Div || op == tir.Mod) && bx.lo >= 0 && by.lo > 0 {
		if op == tir.Div {
			op = tir.FloorDiv
		} else {
			op = tir.FloorMod
		}
	}
	floor := op == tir.FloorDiv || op == tir.FloorMod
	if floor && len(y.terms) == 0 && y.c != 0 && y.c > minInt && a.exact(x) {
		if op == tir.FloorDiv {
			return a.floorDiv(x, y.c)
		}
		return a.floorMod(x, y.c)
	}
	if floor && by.lo > 0 && bx.lo >= 0 && a.exact(x) && a.exact(y) && a.bounds(a.sorted(x.plus(y, -1))).hi < 0 {
		if op == tir.FloorDiv { // 0 <= x < y
			return linear{}
		}
		return x
	}
	if len(x.terms) == 0 && x.c == 0 && by.lo > 0 {
		return linear{}
	}
	return a.single(tir.Bin(op, x.expr(), y.expr()))
}

// floorDiv returns l//c for a constant c other than 0, taking out what c divides: (a·c + b)//c → a + b//c.
func (a *Analyzer) floorDiv(l linear, c int64) linear {
	if c < 0 {
		return a.floorDiv(l.scale(-1), -c)
	}
	if c == 1 {
		return l
	}
	q, r := linear{c: floorDiv(l.c, c)}, linear{c: floorMod(l.c, c)}
	for _, t := range l.terms {
		if t.k%c == 0 {
			q.terms = append(q.terms, term{t.atom, t.k / c})
		} else {
			r.terms = append(r.terms, t)
		}
	}
	return a.sorted(q.plus(a.divRest(a.sorted(r), c), 1))
}

// divRest divides what c divides no term of. Its constant is in [0, c).
func (a *Analyzer) divRest(r linear, c int64) linear {
	if m, ok := a.quotient(r, c); ok {
		return constant(m)
	}
	if len(r.terms) == 1 && r.terms[0].k == 1 {
		if b, ok := r.terms[0].atom.(*tir.Binary); ok {
			k, isConst := tir.AsInt(b.B)
			switch {
			case !isConst || k <= 0 || k > maxInt/c || r.c > maxInt/k:
			case b.Op == tir.FloorDiv: // (x//k + d)//c → (x + d·k)//(k·c)
				return a.floorDiv(a.lin(b.A).plus(constant(r.c*k), 1), k*c)
			case b.Op == tir.FloorMod && r.c == 0 && k%c == 0: // (x%%k)//c → (x//c)%%(k/c)
				return a.floorMod(a.floorDiv(a.lin(b.A), c), k/c)
			}
		}
	}
	if big, _, g, ok := a.carryFree(r, c); ok { // (g·X + rest)//c → X//(c/g) where 0 <= rest < g
		return a.floorDiv(big, c/g)
	}
	return a.single(&tir.Binary{Op: tir.FloorDiv, A: r.expr(), B: tir.I(int(c))})
}

// floorMod returns l%%c for a constant c other than 0.
func (a *Analyzer) floorMod(l linear, c int64) linear {
	if c < 0 {
		return a.floorMod(l.scale(-1), -c).scale(-1)
	}
	if c == 1 {
		return linear{}
	}
	r := linear{c: floorMod(l.c, c)}
	for _, t := range l.terms {
		if k := t.k % c; k != 0 {
			r.terms = append(r.terms, term{t.atom, k})
		}
	}
	r = a.sorted(r)
	if m, ok := a.quotient(r, c); ok {
		r.c -= m * c
		return r
	}
	for i, t := range r.terms { // k·(x%%m) → k·x where c divides k·m
		b, ok := t.atom.(*tir.Binary)
		if !ok || b.Op != tir.FloorMod {
			continue
		}
		if m, ok := tir.AsInt(b.B); ok && m > 0 && m <= maxInt/max(t.k, -t.k) && t.k*m%c == 0 {
			rest := linear{slices.Delete(slices.Clone(r.terms), i, i+1), r.c}
			return a.floorMod(a.recombine(rest.plus(a.lin(b.A), t.k)), c)
		}
	}
	if big, rest, g, ok := a.carryFree(r, c); ok { // (g·X + rest)%%c → g·(X%%(c/g)) + rest
		return a.sorted(a.recombine(rest.plus(a.floorMod(big, c/g), g)))
	}
	return a.single(&tir.Binary{Op: tir.FloorMod, A: r.expr(), B: tir.I(int(c))})
}

// quotient returns the constant that r//c is, if it is one.
func (a *Analyzer) quotient(r linear, c int64) (int64, bool) {
	b := a.bounds(r)
	if b.lo == minInt || b.hi == maxInt || b.lo > b.hi {
		return 0, false
	}
	m := floorDiv(b.lo, c)
	return m, m == floorDiv(b.hi, c)
}

// carryFree writes r as g·big + rest with 0 <= rest < g, g > 1 dividing c: the largest such g.
func (a *Analyzer) carryFree(r linear, c int64) (big, rest linear, g int64, ok bool) {
	var candidates []int64
	for _, t := range r.terms {
		if g := gcd(c, t.k); g > 1 && g < c {
			candidates = append(candidates, g)
		}
	}
	slices.Sort(candidates)
	candidates = slices.Compact(candidates)
	for i := len(candidates) - 1; i >= 0; i-- {
		if big, rest, ok := a.splitBy(r, candidates[i]); ok {
			return big, rest, candidates[i], true
		}
	}
	return linear{}, linear{}, 0, false
}

// splitBy writes r as g·big + rest with 0 <= rest < g, if the ranges show that the terms that g does not divide stay
// within one multiple of g.
func (a *Analyzer) splitBy(r linear, g int64) (big, rest linear, ok bool) {
	big.c, rest.c = floorDiv(r.c, g), floorMod(r.c, g)
	for _, t := range r.terms {
		if t.k%g == 0 {
			big.terms = append(big.terms, term{t.atom, t.k / g})
		} else {
			rest.terms = append(rest.terms, t)
		}
	}
	m, ok := a.quotient(rest, g)
	if !ok {
		return big, rest, false
	}
	big.c += m
	rest.c -= m * g
	return big, rest, true
}
