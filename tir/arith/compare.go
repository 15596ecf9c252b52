package arith

import (
	"slices"

	"github.com/texel-ml/texel/tir"
)

func truth(b bool) tir.Expr {
	if b {
		return tir.True
	}
	return tir.False
}

// compare simplifies a comparison of scalar index expressions to a constant, to x < y, x == y or x != y.
func (a *Analyzer) compare(op tir.BinaryOp, x, y tir.Expr) tir.Expr {
	p, q := a.lin(x), a.lin(y)
	d := p.plus(q, -1)
	if len(d.terms) == 0 && d.c == 0 && !d.over {
		a.hit(compareSame)
		return truth(op == tir.EQ || op == tir.LE || op == tir.GE)
	}
	if !a.exact(p) || !a.exact(q) {
		return a.compareRanges(op, p, q)
	}
	if far := int64(1) << 61; a.wide || max(p.c, q.c, -p.c, -q.c) >= far { // the difference may leave int64
		if out := a.compareRanges(op, p, q); out == tir.Expr(tir.True) || out == tir.Expr(tir.False) {
			return out
		}
	}
	d = a.sorted(a.recombine(d))
	out, ok := tir.Expr(nil), false
	switch op {
	case tir.LT:
		out, ok = a.negative(d)
	case tir.LE:
		out, ok = a.negative(d.shifted(-1))
	case tir.GT:
		out, ok = a.negative(d.scale(-1))
	case tir.GE:
		out, ok = a.negative(d.scale(-1).shifted(-1))
	default:
		out, ok = a.zero(op, d)
	}
	if !ok {
		return a.compareRanges(op, p, q)
	}
	return out
}

// compareRanges decides a comparison by the ranges of its sides alone.
func (a *Analyzer) compareRanges(op tir.BinaryOp, p, q linear) tir.Expr {
	bp, bq := a.bounds(p), a.bounds(q)
	switch op {
	case tir.GT:
		op, p, q, bp, bq = tir.LT, q, p, bq, bp
	case tir.GE:
		op, p, q, bp, bq = tir.LE, q, p, bq, bp
	}
	apart := bp.hi < bq.lo || bq.hi < bp.lo
	switch {
	case op == tir.LT && bp.hi < bq.lo, op == tir.LE && bp.hi <= bq.lo, op == tir.NE && apart:
		a.hit(compareRanges)
		return tir.True
	case op == tir.LT && bp.lo >= bq.hi, op == tir.LE && bp.lo > bq.hi, op == tir.EQ && apart:
		a.hit(compareRanges)
		return tir.False
	}
	return tir.Bin(op, p.expr(), q.expr())
}

// zero simplifies d == 0 and d != 0. It reports false where an operand of the result could wrap around.
func (a *Analyzer) zero(op tir.BinaryOp, d linear) (tir.Expr, bool) {
	if d.over {
		return nil, false
	}
	b := a.bounds(d)
	g := int64(0)
	for _, t := range d.terms {
		g = gcd(g, t.k)
	}
	switch {
	case b.lo == 0 && b.hi == 0:
		a.hit(equalDecided)
		return truth(op == tir.EQ), true
	case b.lo > 0 || b.hi < 0:
		a.hit(equalDecided)
		return truth(op == tir.NE), true
	}
	if s := a.modular(d); g > 0 && d.c%g != 0 || s.r != 0 {
		a.hit(equalModular)
		return truth(op == tir.NE), true
	}
	if d.terms[0].k < 0 {
		d = d.scale(-1)
	}
	if g > 1 {
		a.hit(equalDivided)
		d = divided(d, g)
	}
	return a.sides(op, d)
}

func divided(d linear, g int64) linear {
	out := linear{terms: make([]term, len(d.terms)), c: floorDiv(d.c, g), over: d.over}
	for i, t := range d.terms {
		out.terms[i] = term{t.atom, t.k / g}
	}
	return out
}

// sides writes d op 0 as left op right with only positive coefficients. It reports false where a side could wrap around.
func (a *Analyzer) sides(op tir.BinaryOp, d linear) (tir.Expr, bool) {
	l, r := linear{over: d.over}, linear{over: d.over}
	for _, t := range d.terms {
		if t.k > 0 {
			l.terms = append(l.terms, t)
		} else {
			r.terms = append(r.terms, term{t.atom, -t.k})
		}
	}
	if len(l.terms) == 0 {
		l.c = d.c
	} else {
		r.c = -d.c
	}
	if !a.exact(l) || !a.exact(r) {
		return nil, false
	}
	return &tir.Binary{Op: op, A: l.expr(), B: r.expr()}, true
}

// negative simplifies d < 0. It reports false where an operand of the result could wrap around.
func (a *Analyzer) negative(d linear) (tir.Expr, bool) {
	for {
		if d.over {
			return nil, false
		}
		b := a.bounds(d)
		if b.hi < 0 || b.lo >= 0 {
			a.hit(lessDecided)
			return truth(b.hi < 0), true
		}
		simpler, ok := a.lessSteps(d)
		if !ok {
			simpler, ok = a.lessOfQuotient(d)
		}
		if !ok {
			return a.sides(tir.LT, d)
		}
		d = a.sorted(simpler)
	}
}

// lessSteps drops from d < 0 what is smaller than the steps of the rest: g·X + rest < 0 is X < 0 where 0 <= rest < g.
func (a *Analyzer) lessSteps(d linear) (linear, bool) {
	g := int64(0)
	steps := make([]int64, 0, len(d.terms))
	for _, t := range d.terms {
		g = gcd(g, t.k)
		steps = append(steps, max(t.k, -t.k))
	}
	if g > 1 { // g·X + k < 0 is X + k//g < 0
		a.hit(lessDivided)
		return divided(d, g), true
	}
	slices.Sort(steps)
	steps = slices.Compact(steps)
	for i := len(steps) - 1; i >= 0 && len(d.terms) > 1; i-- {
		if steps[i] == 1 {
			break
		}
		if big, _, ok := a.splitBy(d, steps[i]); ok {
			a.hit(lessCarryFree)
			return big, true
		}
	}
	return linear{}, false
}

// lessOfQuotient takes the only quotient out of d < 0.
func (a *Analyzer) lessOfQuotient(d linear) (linear, bool) {
	at := -1
	for i, t := range d.terms {
		if q, ok := t.atom.(*tir.Binary); ok && q.Op == tir.FloorDiv {
			if at >= 0 {
				return linear{}, false
			}
			at = i
		}
	}
	if at < 0 {
		return linear{}, false
	}
	q, k := d.terms[at].atom.(*tir.Binary), d.terms[at].k
	c, ok := tir.AsInt(q.B)
	if !ok || c <= 0 || k != 1 && k != -1 {
		return linear{}, false
	}
	rest := d.plus(linear{terms: d.terms[at : at+1]}, -1)
	for _, t := range rest.terms { // the digits of one number are better left as they are
		if m, ok := t.atom.(*tir.Binary); ok && m.Op == tir.FloorMod && tir.Equal(m.A, q.A) {
			return linear{}, false
		}
	}
	x := a.lin(q.A)
	hit := lessDiv
	var out linear
	if k == 1 { // x//c + y < 0 is x + c·y < 0
		out = x.plus(rest, c)
	} else { // -(x//c) + y < 0 is x//c >= y + 1, x >= c·(y+1)
		hit = lessNegatedDiv
		out = rest.shifted(1).scale(c).plus(x, -1).shifted(-1)
	}
	out = a.recombine(out)
	if out.over || !a.exact(x) {
		return linear{}, false
	}
	a.hit(hit)
	return out, true
}
