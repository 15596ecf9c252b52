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

func ceilDiv(a, b int64) int64 { return -floorDiv(-a, b) }

func floorMod(a, b int64) int64 { return a - floorDiv(a, b)*b }

func gcd(a, b int64) int64 {
	for b != 0 {
		a, b = b, a%b
	}
	return max(a, -a)
}

// divide simplifies the four divisions.
func (a *Analyzer) divide(op tir.BinaryOp, x, y linear) linear {
	quotient := op == tir.Div || op == tir.FloorDiv
	if len(y.terms) == 0 && y.c == 1 {
		if quotient {
			a.hit(divOne)
			return x
		}
		a.hit(modOne)
		return linear{}
	}
	bx, by := a.bounds(x), a.bounds(y)
	if (op == tir.Div || op == tir.Mod) && bx.lo >= 0 && by.lo > 0 {
		a.hit(truncToFloor)
		op += tir.FloorDiv - tir.Div
	}
	floor := op == tir.FloorDiv || op == tir.FloorMod
	exact := floor && a.exact(x)
	if exact && len(y.terms) == 0 && y.c != 0 && y.c > minInt {
		if quotient {
			return a.floorDiv(x, y.c)
		}
		return a.floorMod(x, y.c)
	}
	if exact && by.lo > 0 && bx.lo >= 0 && a.exact(y) && a.bounds(a.sorted(x.plus(y, -1))).hi < 0 {
		a.hit(divSmaller)
		if quotient {
			return linear{}
		}
		return x
	}
	if len(x.terms) == 0 && x.c == 0 && by.lo > 0 {
		a.hit(divZero)
		return linear{}
	}
	return a.single(tir.Bin(op, x.expr(), y.expr()))
}

// undivided returns l//c or l%%c as one term.
func (a *Analyzer) undivided(op tir.BinaryOp, l linear, c int64) linear {
	return a.single(&tir.Binary{Op: op, A: l.expr(), B: tir.I(int(c))})
}

// floorDiv returns l//c for an exact l and a constant c other than 0, taking out what c divides: (a·c + b)//c → a + b//c.
func (a *Analyzer) floorDiv(l linear, c int64) linear {
	if c < 0 {
		neg := l.scale(-1)
		if !a.exact(neg) {
			return a.undivided(tir.FloorDiv, l, c)
		}
		a.hit(divNegative)
		return a.floorDiv(neg, -c)
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
	r = a.sorted(r)
	rest, ok := a.divRest(r, c)
	if !ok {
		return a.undivided(tir.FloorDiv, l, c)
	}
	if len(q.terms) > 0 || q.c != 0 {
		a.hit(divTakeOut)
		rest = q.plus(rest, 1)
	}
	return a.sorted(rest)
}

// divRest divides what c divides no term of. Its constant is in [0, c). It reports false when r may wrap around.
func (a *Analyzer) divRest(r linear, c int64) (linear, bool) {
	if m, ok := a.quotient(r, c); ok {
		if len(r.terms) > 0 {
			a.hit(divOneValue)
		}
		return constant(m), true
	}
	if len(r.terms) == 1 && r.terms[0].k == 1 {
		if b, ok := r.terms[0].atom.(*tir.Binary); ok {
			if l, ok := a.divDivided(b, r.c, c); ok {
				return l, true
			}
		}
	}
	if !a.exact(r) {
		return linear{}, false
	}
	if x, ok := a.mirrored(r, c); ok {
		a.hit(divMirrored)
		return a.floorDiv(x, c).scale(-1), true
	}
	if big, _, g, ok := a.carryFree(r, c); ok {
		a.hit(divCarryFree)
		return a.floorDiv(big, c/g), true
	}
	return a.undivided(tir.FloorDiv, r, c), true
}

// mirrored returns x where r is c-1-x with no negative coefficient in x.
func (a *Analyzer) mirrored(r linear, c int64) (linear, bool) {
	if r.c != c-1 || slices.ContainsFunc(r.terms, func(t term) bool { return t.k > 0 }) {
		return linear{}, false
	}
	x := r.shifted(-r.c).scale(-1)
	return x, a.exact(x)
}

// divDivided divides a quotient or a remainder b, plus n, by c once more.
func (a *Analyzer) divDivided(b *tir.Binary, n, c int64) (linear, bool) {
	k, isConst := tir.AsInt(b.B)
	if !isConst || k <= 0 {
		return linear{}, false
	}
	switch b.Op {
	case tir.FloorDiv:
		x := a.lin(b.A)
		all, fits := mul(k, c)
		add, fits2 := mul(n, k)
		if y := x.shifted(add); fits && fits2 && a.exact(x) && a.exact(y) {
			a.hit(divDiv)
			return a.floorDiv(y, all), true
		}
	case tir.FloorMod:
		if x := a.lin(b.A); n == 0 && k%c == 0 && a.exact(x) {
			a.hit(divMod)
			return a.floorMod(a.floorDiv(x, c), k/c), true
		}
	}
	return linear{}, false
}

// floorMod returns l%%c for an exact l and a constant c other than 0.
func (a *Analyzer) floorMod(l linear, c int64) linear {
	if c < 0 {
		neg := l.scale(-1)
		if !a.exact(neg) {
			return a.undivided(tir.FloorMod, l, c)
		}
		a.hit(modNegative)
		return a.floorMod(neg, -c).scale(-1)
	}
	if c == 1 {
		return linear{}
	}
	r := linear{c: floorMod(l.c, c)}
	for _, t := range l.terms {
		k := t.k % c
		if k != t.k {
			a.hit(modReduce)
		}
		if k == 0 {
			continue
		}
		if b, ok := a.residue(t.atom, k, c); ok {
			a.hit(modModular)
			r.c = floorMod(r.c+b, c)
			continue
		}
		r.terms = append(r.terms, term{t.atom, k})
	}
	r = a.sorted(r)
	if m, ok := a.quotient(r, c); ok {
		if len(r.terms) > 0 {
			a.hit(modOneQuotient)
		}
		return r.shifted(-m * c)
	}
	if !a.exact(r) {
		return a.undivided(tir.FloorMod, l, c)
	}
	if x, ok := a.mirrored(r, c); ok {
		a.hit(modMirrored)
		return a.floorMod(x, c).scale(-1).shifted(c - 1)
	}
	if l, ok := a.modOfMod(r, c); ok {
		return l
	}
	if l, ok := a.joinModulo(r, c); ok {
		return l
	}
	if big, rest, g, ok := a.carryFree(r, c); ok {
		if l := rest.plus(a.floorMod(big, c/g), g); !l.over {
			a.hit(modCarryFree)
			return a.sorted(a.recombine(l))
		}
	}
	return a.undivided(tir.FloorMod, r, c)
}

// modOfMod drops a remainder inside of r%%c: k·(x%%m) → k·x where c divides k·m.
func (a *Analyzer) modOfMod(r linear, c int64) (linear, bool) {
	for i, t := range r.terms {
		b, ok := t.atom.(*tir.Binary)
		if !ok || b.Op != tir.FloorMod {
			continue
		}
		m, ok := tir.AsInt(b.B)
		if p, fits := mul(t.k, m); !ok || m <= 0 || !fits || p%c != 0 {
			continue
		}
		x := a.lin(b.A)
		rest := linear{terms: slices.Delete(slices.Clone(r.terms), i, i+1), c: r.c}
		if l := a.recombine(rest.plus(x, t.k)); a.exact(x) && a.exact(l) {
			a.hit(modMod)
			return a.floorMod(l, c), true
		}
	}
	return linear{}, false
}

// joinModulo undoes a split inside of r%%c: k·(x%%m) + n·(x//m) → k·x where c divides n - k·m.
func (a *Analyzer) joinModulo(r linear, c int64) (linear, bool) {
	if len(r.terms) < 2 {
		return linear{}, false
	}
	for _, t := range r.terms {
		b, ok := t.atom.(*tir.Binary)
		if !ok || b.Op != tir.FloorMod {
			continue
		}
		m, ok := tir.AsInt(b.B)
		if !ok || m <= 0 || c > maxIndex {
			continue
		}
		x := a.lin(b.A)
		if !a.exact(x) {
			continue
		}
		q := a.floorDiv(x, m)
		rest, found := r.plus(linear{terms: []term{t}}, -1), len(q.terms) > 0
		for _, s := range q.terms {
			n := rest.find(s.atom)
			want, fits := mul(floorMod(t.k, c), floorMod(m, c))
			want, fits2 := mul(floorMod(want, c), floorMod(s.k, c))
			found = found && n != 0 && fits && fits2 && floorMod(n-want, c) == 0
			rest = rest.plus(linear{terms: []term{{s.atom, n}}}, -1)
		}
		// the constants of x and of x//m go with them
		shift, fits := mul(t.k, m)
		shift, fits2 := mul(shift, q.c)
		if l := rest.plus(x, t.k).shifted(-shift); found && fits && fits2 && a.exact(l) {
			a.hit(joinInMod)
			return a.floorMod(l, c), true
		}
	}
	return linear{}, false
}

// quotient returns the constant that r//c is, if it is one.
func (a *Analyzer) quotient(r linear, c int64) (int64, bool) {
	b := a.bounds(r)
	if !b.finite() || b.empty() {
		return 0, false
	}
	m := floorDiv(b.lo, c)
	_, fits := mul(m, c)
	return m, fits && m == floorDiv(b.hi, c)
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

// splitBy writes r as g·big + rest with 0 <= rest < g, if the ranges show that what g does not divide stays within one
// multiple of g: the terms that it does not divide, or what remains of them.
func (a *Analyzer) splitBy(r linear, g int64) (big, rest linear, ok bool) {
	big.c, rest.c = floorDiv(r.c, g), floorMod(r.c, g)
	large := false
	for _, t := range r.terms {
		if t.k%g == 0 {
			big.terms = append(big.terms, term{t.atom, t.k / g})
		} else {
			rest.terms = append(rest.terms, t)
			large = large || t.k > g || t.k < -g
		}
	}
	m, ok := a.quotient(rest, g)
	for _, div := range [...]func(x, y int64) int64{floorDiv, ceilDiv} {
		if ok || !large {
			break
		}
		big.terms, rest.terms = nil, nil
		for _, t := range r.terms {
			k := div(t.k, g)
			if k != 0 {
				big.terms = append(big.terms, term{t.atom, k})
			}
			if k*g != t.k {
				rest.terms = append(rest.terms, term{t.atom, t.k - k*g})
			}
		}
		m, ok = a.quotient(rest, g)
	}
	if !ok {
		return big, rest, false
	}
	big, rest = big.shifted(m), rest.shifted(-m*g)
	return big, rest, !big.over && !rest.over
}
