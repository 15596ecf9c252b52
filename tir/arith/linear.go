package arith

import (
	"slices"

	"github.com/texel-ml/texel/tensor"
	"github.com/texel-ml/texel/tir"
)

// linear is Σ k·atom + c. Its terms are sorted, with distinct atoms and no zero coefficient.
type linear struct {
	terms []term
	c     int64
	over  bool // a coefficient left int64: the terms say nothing
}

type term struct {
	atom tir.Expr
	k    int64
}

// maxProduct bounds the terms that multiplying out two sums may give.
const maxProduct = 64

func constant(c int64) linear { return linear{c: c} }

func (a *Analyzer) single(atom tir.Expr) linear {
	if c, ok := tir.AsInt(atom); ok {
		return constant(c)
	}
	l := linear{terms: []term{{atom, 1}}}
	if len(a.facts) > 0 && a.depth == 0 {
		if b := a.bounds(l); b.lo == b.hi && b.finite() {
			a.hit(foldFact)
			return constant(b.lo)
		}
	}
	return l
}

// sum returns x + y, and marks l when that leaves int64.
func (l *linear) sum(x, y int64) int64 {
	s, fits := add(x, y)
	l.over = l.over || !fits
	return s
}

// product returns x · y, and marks l when that leaves int64.
func (l *linear) product(x, y int64) int64 {
	p, fits := mul(x, y)
	l.over = l.over || !fits
	return p
}

// plus returns l + k·o, not sorted.
func (l linear) plus(o linear, k int64) linear {
	if len(o.terms) == 0 {
		l.c = l.sum(l.c, l.product(k, o.c))
		l.over = l.over || o.over
		return l
	}
	out := linear{terms: make([]term, len(l.terms), len(l.terms)+len(o.terms)), over: l.over || o.over}
	copy(out.terms, l.terms)
	out.c = out.sum(l.c, out.product(k, o.c))
	zero := false
	for _, t := range o.terms {
		zero = out.add(t.atom, out.product(k, t.k)) || zero
	}
	if zero {
		out.terms = slices.DeleteFunc(out.terms, func(t term) bool { return t.k == 0 })
	}
	return out
}

// shifted returns l + c.
func (l linear) shifted(c int64) linear {
	l.c = l.sum(l.c, c)
	return l
}

// add adds k·atom in place, and reports whether it leaves a zero coefficient.
func (l *linear) add(atom tir.Expr, k int64) bool {
	for i := range l.terms {
		if tir.Equal(l.terms[i].atom, atom) {
			l.terms[i].k = l.sum(l.terms[i].k, k)
			return l.terms[i].k == 0
		}
	}
	l.terms = append(l.terms, term{atom, k})
	return k == 0
}

func (l linear) scale(k int64) linear {
	if k == 0 {
		return linear{over: l.over}
	}
	out := linear{terms: make([]term, len(l.terms)), over: l.over}
	out.c = out.product(l.c, k)
	for i, t := range l.terms {
		out.terms[i] = term{t.atom, out.product(t.k, k)}
	}
	return out
}

func (l linear) find(atom tir.Expr) int64 {
	for _, t := range l.terms {
		if tir.Equal(t.atom, atom) {
			return t.k
		}
	}
	return 0
}

// sorted returns l with its terms in order.
func (a *Analyzer) sorted(l linear) linear {
	less := func(x, y term) int { return a.compareAtoms(x.atom, y.atom) }
	if !slices.IsSortedFunc(l.terms, less) {
		l.terms = slices.Clone(l.terms)
		slices.SortStableFunc(l.terms, less)
	}
	return l
}

// expr builds the tree: positive terms lead, negative ones are subtracted, the constant is last.
func (l linear) expr() tir.Expr {
	if len(l.terms) == 0 {
		return &tir.Int{DType: tensor.Int64, Value: l.c}
	}
	c := l.c
	var out tir.Expr
	lead := slices.IndexFunc(l.terms, func(t term) bool { return t.k > 0 })
	if lead >= 0 {
		out = scaled(l.terms[lead].atom, l.terms[lead].k)
	} else if c > 0 {
		out, c = &tir.Int{DType: tensor.Int64, Value: c}, 0
	}
	for i, t := range l.terms {
		switch {
		case i == lead:
		case out == nil:
			out = scaled(t.atom, t.k)
		case t.k > 0 || t.k == minInt:
			out = &tir.Binary{Op: tir.Add, A: out, B: scaled(t.atom, t.k)}
		default:
			out = &tir.Binary{Op: tir.Sub, A: out, B: scaled(t.atom, -t.k)}
		}
	}
	switch {
	case c > 0 || c == minInt:
		out = &tir.Binary{Op: tir.Add, A: out, B: &tir.Int{DType: tensor.Int64, Value: c}}
	case c < 0:
		out = &tir.Binary{Op: tir.Sub, A: out, B: &tir.Int{DType: tensor.Int64, Value: -c}}
	}
	return out
}

func scaled(e tir.Expr, k int64) tir.Expr {
	if k == 1 {
		return e
	}
	return &tir.Binary{Op: tir.Mul, A: e, B: &tir.Int{DType: tensor.Int64, Value: k}}
}

// lin returns the canonical form of a scalar int64 expression, never an overflown one.
func (a *Analyzer) lin(e tir.Expr) linear {
	switch n := e.(type) {
	case *tir.Int:
		return constant(n.Value)
	case *tir.Var:
		a.rank(n)
		if b, ok := a.vars[n]; ok && b.lo == b.hi {
			a.hit(foldVar)
			return constant(b.lo)
		}
		return linear{terms: []term{{n, 1}}}
	}
	if l, ok := a.memo[e]; ok {
		return l
	}
	l := a.sorted(a.linOf(e))
	a.remember(e, l)
	return l
}

func (a *Analyzer) linOf(e tir.Expr) linear {
	b, ok := e.(*tir.Binary)
	if !ok {
		out := a.simp(e)
		if _, changed := out.(*tir.Binary); changed {
			return a.lin(out)
		}
		return a.single(out)
	}
	if b.Op > tir.Max {
		return a.single(tir.Bin(b.Op, a.Simplify(b.A), a.Simplify(b.B)))
	}
	x, y := a.lin(b.A), a.lin(b.B)
	l := a.arithmetic(b.Op, x, y)
	if l.over { // left as it is
		return a.single(&tir.Binary{Op: b.Op, A: x.expr(), B: y.expr()})
	}
	return l
}

// arithmetic applies one of the operators from Add to Max.
func (a *Analyzer) arithmetic(op tir.BinaryOp, x, y linear) linear {
	switch op {
	case tir.Add, tir.Sub:
		k := int64(1)
		if op == tir.Sub {
			k = -1
		}
		sum := x.plus(y, k)
		if len(sum.terms) < len(x.terms)+len(y.terms) {
			a.hit(collect)
		}
		return a.recombine(sum)
	case tir.Mul:
		return a.multiply(x, y)
	case tir.Min, tir.Max:
		return a.extremum(op, x, y)
	}
	return a.divide(op, x, y)
}

// multiply multiplies out sums; what is not linear becomes a product of atoms in order.
func (a *Analyzer) multiply(x, y linear) linear {
	if len(x.terms) == 0 {
		return a.recombine(y.scale(x.c))
	}
	if len(y.terms) == 0 {
		return a.recombine(x.scale(y.c))
	}
	if len(x.terms)*len(y.terms) > maxProduct {
		p, q := x.expr(), y.expr()
		if a.compareAtoms(p, q) > 0 {
			p, q = q, p
		}
		return a.single(&tir.Binary{Op: tir.Mul, A: p, B: q})
	}
	if len(x.terms) > 1 || x.c != 0 || len(y.terms) > 1 || y.c != 0 {
		a.hit(distribute)
	}
	out := x.scale(y.c).plus(linear{terms: y.terms}, x.c)
	for _, s := range x.terms {
		for _, t := range y.terms {
			out = out.plus(linear{terms: []term{{a.product(s.atom, t.atom), 1}}}, out.product(s.k, t.k))
		}
	}
	return out
}

func (a *Analyzer) product(x, y tir.Expr) tir.Expr {
	var factors []tir.Expr
	var split func(e tir.Expr)
	split = func(e tir.Expr) {
		if b, ok := e.(*tir.Binary); ok && b.Op == tir.Mul {
			split(b.A)
			split(b.B)
			return
		}
		factors = append(factors, e)
	}
	split(x)
	split(y)
	if !slices.IsSortedFunc(factors, a.compareAtoms) {
		a.hit(orderFactors)
		slices.SortStableFunc(factors, a.compareAtoms)
	}
	out := factors[0]
	for _, f := range factors[1:] {
		out = &tir.Binary{Op: tir.Mul, A: out, B: f}
	}
	return out
}

// extremum simplifies min and max by the sign of the difference.
func (a *Analyzer) extremum(op tir.BinaryOp, x, y linear) linear {
	d := a.sorted(x.plus(y, -1))
	if b := a.bounds(d); b.hi <= 0 || b.lo >= 0 {
		same := len(d.terms) == 0 && d.c == 0
		if same || a.exact(x) && a.exact(y) {
			a.hit(minDecided + rule(op-tir.Min))
			if (b.hi <= 0) == (op == tir.Min) {
				return x
			}
			return y
		}
	}
	p, q := x.expr(), y.expr()
	if a.compareAtoms(p, q) > 0 {
		p, q = q, p
	}
	return a.single(&tir.Binary{Op: op, A: p, B: q})
}

// recombine undoes splits: joinDivMod, joinModMod and joinInDiv.
func (a *Analyzer) recombine(l linear) linear {
	for again := true; again && len(l.terms) > 1 && !l.over; {
		again = false
		for i, t := range l.terms {
			b, ok := t.atom.(*tir.Binary)
			if !ok || b.Op != tir.FloorMod && b.Op != tir.FloorDiv {
				continue
			}
			m, ok := tir.AsInt(b.B)
			if !ok || m <= 0 {
				continue
			}
			joined, ok := l, false
			if b.Op == tir.FloorMod {
				joined, ok = a.joinRemainder(l, i, b, m)
			} else {
				joined, ok = a.joinDividend(l, i, b, m)
			}
			if ok && !joined.over {
				l, again = joined, true
				break
			}
		}
	}
	return l
}

// joinRemainder joins term i of l, k·(y%%m), with k·m·(y//m) or with k·m·((y//m)%%n).
func (a *Analyzer) joinRemainder(l linear, i int, mod *tir.Binary, m int64) (linear, bool) {
	t := l.terms[i]
	step, fits := mul(t.k, m)
	y := a.lin(mod.A)
	if !fits || !a.exact(y) {
		return l, false
	}
	q := a.floorDiv(y, m)
	if l.has(q, step) {
		a.hit(joinDivMod)
		return l.plus(linear{terms: l.terms[i : i+1]}, -1).plus(y, t.k).plus(q, -step), true
	}
	for j, s := range l.terms {
		outer, ok := s.atom.(*tir.Binary)
		if j == i || !ok || outer.Op != tir.FloorMod || s.k != step {
			continue
		}
		n, ok := tir.AsInt(outer.B)
		if !ok || n <= 0 || n > maxInt/m || len(q.terms) == 0 || !tir.Equal(outer.A, a.sorted(q).expr()) {
			continue
		}
		a.hit(joinModMod)
		both := linear{terms: []term{t, s}}
		return l.plus(both, -1).plus(a.floorMod(y, m*n), t.k), true
	}
	return l, false
}

// joinDividend joins term i of l, k·((j·(x%%n) + z)//m), with k·(j·n/m)·(x//n).
func (a *Analyzer) joinDividend(l linear, i int, div *tir.Binary, m int64) (linear, bool) {
	y := a.lin(div.A)
	for p, r := range y.terms {
		mod, ok := r.atom.(*tir.Binary)
		if !ok || mod.Op != tir.FloorMod || len(y.terms) == 1 {
			continue
		}
		n, ok := tir.AsInt(mod.B)
		whole, fits := mul(r.k, n)
		if !ok || n <= 0 || !fits || whole%m != 0 {
			continue
		}
		x, k := a.lin(mod.A), l.terms[i].k
		step, fits := mul(k, whole/m)
		z := y.plus(linear{terms: y.terms[p : p+1]}, -1).plus(x, r.k)
		if !fits || !a.exact(x) || !a.exact(y) || !a.exact(z) {
			continue
		}
		if q := a.floorDiv(x, n); l.has(q, step) {
			a.hit(joinInDiv)
			return l.plus(linear{terms: l.terms[i : i+1]}, -1).plus(q, -step).plus(a.floorDiv(a.sorted(z), m), k), true
		}
	}
	return l, false
}

// has reports whether k·q, of which there is something besides the constant, is part of l.
func (l linear) has(q linear, k int64) bool {
	for _, s := range q.terms {
		if p, fits := mul(k, s.k); !fits || l.find(s.atom) != p {
			return false
		}
	}
	return len(q.terms) > 0
}
