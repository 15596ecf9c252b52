package arith

import (
	"slices"

	"github.com/texel-ml/texel/tensor"
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
	if d := p.plus(q, -1); len(d.terms) == 0 && d.c == 0 {
		return truth(op == tir.EQ || op == tir.LE || op == tir.GE)
	}
	if !a.exact(p) || !a.exact(q) {
		bp, bq := a.bounds(p), a.bounds(q)
		switch op {
		case tir.GT, tir.GE:
			p, q, bp, bq = q, p, bq, bp
			op = map[tir.BinaryOp]tir.BinaryOp{tir.GT: tir.LT, tir.GE: tir.LE}[op]
		}
		switch {
		case op == tir.LT && bp.hi < bq.lo, op == tir.LE && bp.hi <= bq.lo, op == tir.NE && (bp.hi < bq.lo || bq.hi < bp.lo):
			return tir.True
		case op == tir.LT && bp.lo >= bq.hi, op == tir.LE && bp.lo > bq.hi, op == tir.EQ && (bp.hi < bq.lo || bq.hi < bp.lo):
			return tir.False
		}
		return tir.Bin(op, p.expr(), q.expr())
	}
	d := a.sorted(a.recombine(p.plus(q, -1)))
	switch op {
	case tir.LT:
		return a.negative(d)
	case tir.LE:
		d.c--
		return a.negative(d)
	case tir.GT:
		return a.negative(d.scale(-1))
	case tir.GE:
		d = d.scale(-1)
		d.c--
		return a.negative(d)
	}
	b := a.bounds(d)
	g := int64(0)
	for _, t := range d.terms {
		g = gcd(g, t.k)
	}
	switch {
	case b.lo == 0 && b.hi == 0:
		return truth(op == tir.EQ)
	case b.lo > 0 || b.hi < 0 || g > 0 && d.c%g != 0:
		return truth(op == tir.NE)
	}
	if d.terms[0].k < 0 {
		d = d.scale(-1)
	}
	if g > 1 {
		d = divided(d, g)
	}
	left, right := sides(d)
	return &tir.Binary{Op: op, A: left, B: right}
}

func divided(d linear, g int64) linear {
	out := linear{make([]term, len(d.terms)), floorDiv(d.c, g)}
	for i, t := range d.terms {
		out.terms[i] = term{t.atom, t.k / g}
	}
	return out
}

// sides writes d as left - right with only positive coefficients.
func sides(d linear) (left, right tir.Expr) {
	var l, r linear
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
	return l.expr(), r.expr()
}

// negative simplifies d < 0.
func (a *Analyzer) negative(d linear) tir.Expr {
again:
	b := a.bounds(d)
	if b.hi < 0 {
		return tir.True
	}
	if b.lo >= 0 {
		return tir.False
	}
	g := int64(0)
	var steps []int64
	for _, t := range d.terms {
		g = gcd(g, t.k)
		steps = append(steps, max(t.k, -t.k))
	}
	if g > 1 { // g·X + k < 0 is X + k//g < 0
		d = divided(d, g)
		goto again
	}
	slices.Sort(steps)
	steps = slices.Compact(steps)
	for i := len(steps) - 1; i >= 0 && len(d.terms) > 1; i-- {
		if big, _, ok := a.splitBy(d, steps[i]); ok && steps[i] > 1 { // g·X + rest < 0 is X < 0
			d = a.sorted(big)
			goto again
		}
	}
	at := -1
	for i, t := range d.terms {
		if q, ok := t.atom.(*tir.Binary); ok && q.Op == tir.FloorDiv {
			if at >= 0 {
				at = -2
				break
			}
			at = i
		}
	}
	if at >= 0 {
		q := d.terms[at].atom.(*tir.Binary)
		if c, ok := tir.AsInt(q.B); ok && c > 0 && a.small(d, c) {
			rest := d.plus(linear{terms: []term{d.terms[at]}}, -1)
			switch d.terms[at].k {
			case 1: // x//c + y < 0 is x + c·y < 0
				d = a.sorted(a.recombine(a.lin(q.A).plus(rest, c)))
				goto again
			case -1: // -(x//c) + y < 0 is x//c >= y + 1, x >= c·(y+1)
				rest.c++
				d = rest.scale(c).plus(a.lin(q.A), -1)
				d.c--
				d = a.sorted(a.recombine(d))
				goto again
			}
		}
	}
	left, right := sides(d)
	return &tir.Binary{Op: tir.LT, A: left, B: right}
}

// small reports whether the constants of d can be multiplied by c.
func (a *Analyzer) small(d linear, c int64) bool {
	ok := mulSat(d.c+1, c) < maxInt && mulSat(d.c-1, c) > minInt
	for _, t := range d.terms {
		p := mulSat(t.k, c)
		ok = ok && p < maxInt && p > minInt
	}
	return ok
}

// logical simplifies and and or, the second operand under what the first says.
func (a *Analyzer) logical(n *tir.Binary) tir.Expr {
	x := a.Simplify(n.A)
	given := x
	if n.Op == tir.Or {
		given = &tir.Not{A: x}
	}
	if x.Type().Lanes > 1 {
		return foldLogical(n.Op, x, a.Simplify(n.B))
	}
	if v, ok := tir.AsInt(x); ok {
		if (v != 0) == (n.Op == tir.And) {
			return a.Simplify(n.B)
		}
		return x
	}
	undo := a.Assume(given)
	y := a.Simplify(n.B)
	undo()
	if v, ok := tir.AsInt(y); ok {
		if (v != 0) == (n.Op == tir.And) {
			return x
		}
		return y
	}
	if Pure(y) { // the first operand may follow from the second
		given = y
		if n.Op == tir.Or {
			given = &tir.Not{A: y}
		}
		undo := a.Assume(given)
		x2 := a.Simplify(x)
		undo()
		if v, ok := tir.AsInt(x2); ok && (v != 0) == (n.Op == tir.And) {
			return y
		}
	}
	return tir.Bin(n.Op, x, y)
}

func foldLogical(op tir.BinaryOp, x, y tir.Expr) tir.Expr {
	if v, ok := tir.AsInt(x); ok {
		if (v != 0) == (op == tir.And) {
			return y
		}
		return x
	}
	if v, ok := tir.AsInt(y); ok {
		if (v != 0) == (op == tir.And) {
			return x
		}
		return y
	}
	return tir.Bin(op, x, y)
}

// Pure reports whether e may be evaluated anywhere: it loads nothing and divides by constants only.
func Pure(e tir.Expr) bool {
	ok := true
	tir.Walk(e, func(n any) bool {
		switch n := n.(type) {
		case *tir.Load:
			ok = false
		case *tir.Binary:
			if n.Op >= tir.Div && n.Op <= tir.FloorMod {
				c, isConst := tir.AsInt(n.B)
				ok = ok && isConst && c != 0
			}
		}
		return ok
	})
	return ok
}

// negate returns not x; was is the node that x came from.
func (a *Analyzer) negate(x tir.Expr, was *tir.Not) tir.Expr {
	switch n := x.(type) {
	case *tir.Int:
		return truth(n.Value == 0)
	case *tir.Broadcast:
		return &tir.Broadcast{A: a.Simplify(&tir.Not{A: n.A}), Lanes: n.Lanes}
	case *tir.Not:
		return n.A
	case *tir.Binary:
		if n.Op.IsLogical() {
			op := tir.And
			if n.Op == tir.And {
				op = tir.Or
			}
			return a.Simplify(&tir.Binary{Op: op, A: &tir.Not{A: n.A}, B: &tir.Not{A: n.B}})
		}
		if !n.A.Type().DType.IsFloat() && n.Op.IsCompare() {
			inverse := map[tir.BinaryOp]tir.BinaryOp{tir.EQ: tir.NE, tir.NE: tir.EQ, tir.LT: tir.GE, tir.GE: tir.LT,
				tir.GT: tir.LE, tir.LE: tir.GT}
			return a.Simplify(&tir.Binary{Op: inverse[n.Op], A: n.A, B: n.B})
		}
	}
	if x == was.A {
		return a.known(was)
	}
	return a.known(&tir.Not{A: x})
}

// known replaces a condition that was assumed, or whose opposite was.
func (a *Analyzer) known(c tir.Expr) tir.Expr {
	for _, t := range a.truths {
		if tir.Equal(t, c) {
			return tir.True
		}
		if n, ok := t.(*tir.Not); ok && tir.Equal(n.A, c) {
			return tir.False
		}
		if n, ok := c.(*tir.Not); ok && tir.Equal(n.A, t) {
			return tir.False
		}
	}
	return c
}

// vector simplifies a binary on int64 vectors: what is affine in the lane becomes a Ramp or a Broadcast.
func (a *Analyzer) vector(n *tir.Binary) tir.Expr {
	lanes := n.A.Type().Lanes
	if n.Op.IsCompare() {
		bx, sx, okx := a.affine(n.A)
		by, sy, oky := a.affine(n.B)
		if okx && oky {
			if sx == sy {
				return &tir.Broadcast{A: a.Simplify(&tir.Binary{Op: n.Op, A: bx, B: by}), Lanes: lanes}
			}
			first := a.Simplify(&tir.Binary{Op: n.Op, A: bx, B: by})
			end := tir.I(int((sx - sy) * int64(lanes-1)))
			last := a.Simplify(&tir.Binary{Op: n.Op, A: tir.Plus(bx, end), B: by})
			f, okf := tir.AsInt(first)
			l, okl := tir.AsInt(last)
			if okf && okl && f == l && n.Op >= tir.LT { // monotone in the lane
				return &tir.Broadcast{A: first, Lanes: lanes}
			}
		}
		return tir.Bin(n.Op, a.Simplify(n.A), a.Simplify(n.B))
	}
	if base, stride, ok := a.affine(n); ok {
		if stride == 0 {
			return &tir.Broadcast{A: base, Lanes: lanes}
		}
		return &tir.Ramp{Base: base, Stride: tir.I(int(stride)), Lanes: lanes}
	}
	return tir.Bin(n.Op, a.Simplify(n.A), a.Simplify(n.B))
}

// affine writes an int64 vector as base + stride·lane with a constant stride.
func (a *Analyzer) affine(e tir.Expr) (base tir.Expr, stride int64, ok bool) {
	switch n := e.(type) {
	case *tir.Broadcast:
		return a.Simplify(n.A), 0, true
	case *tir.Ramp:
		stride, ok = tir.AsInt(a.Simplify(n.Stride))
		return a.Simplify(n.Base), stride, ok
	case *tir.Binary:
		if n.A.Type().DType != tensor.Int64 {
			return nil, 0, false
		}
		x, sx, okx := a.affine(n.A)
		y, sy, oky := a.affine(n.B)
		if !okx || !oky {
			return nil, 0, false
		}
		lanes := int64(e.Type().Lanes)
		c, isConst := tir.AsInt(y)
		isConst = isConst && sy == 0
		if _, _, bounded := a.Bounds(x); (n.Op == tir.Div || n.Op == tir.Mod) && isConst {
			// toward zero is toward minus infinity where nothing is negative
			if lo, _, _ := a.Bounds(x); !bounded || lo < 0 || lo+sx*(lanes-1) < 0 {
				return nil, 0, false
			}
		}
		switch n.Op {
		case tir.Add:
			return a.Simplify(tir.Plus(x, y)), sx + sy, true
		case tir.Sub:
			return a.Simplify(tir.Minus(x, y)), sx - sy, true
		case tir.Mul:
			if d, ok := tir.AsInt(x); ok && sx == 0 {
				return a.Simplify(tir.Times(x, y)), sy * d, true
			}
			if isConst || sx == 0 && sy == 0 {
				return a.Simplify(tir.Times(x, y)), sx * c, true
			}
		case tir.FloorDiv, tir.FloorMod, tir.Div, tir.Mod:
			if isConst && c > 0 {
				return a.affineDivide(n.Op == tir.FloorDiv || n.Op == tir.Div, x, sx, c, lanes)
			}
		case tir.Min, tir.Max:
			if sx == 0 && sy == 0 {
				return a.Simplify(tir.Bin(n.Op, x, y)), 0, true
			}
		}
	}
	return nil, 0, false
}

func (a *Analyzer) affineDivide(quotient bool, x tir.Expr, s, c, lanes int64) (tir.Expr, int64, bool) {
	q := a.Simplify(&tir.Binary{Op: tir.FloorDiv, A: x, B: tir.I(int(c))})
	r := a.Simplify(&tir.Binary{Op: tir.FloorMod, A: x, B: tir.I(int(c))})
	if s%c == 0 {
		if quotient {
			return q, s / c, true
		}
		return r, 0, true
	}
	lo, hi, ok := a.Bounds(r)
	if !ok || lo+min(s*(lanes-1), 0) < 0 || hi+max(s*(lanes-1), 0) >= c {
		return nil, 0, false
	}
	if quotient {
		return q, 0, true
	}
	return r, s, true
}
