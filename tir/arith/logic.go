package arith

import (
	"github.com/texel-ml/texel/tir"
)

// logical simplifies and and or, the second operand under what the first says.
func (a *Analyzer) logical(n *tir.Binary) tir.Expr {
	x := a.Simplify(n.A)
	if x.Type().Lanes > 1 {
		y := a.Simplify(n.B)
		if out, ok := decided(n.Op, x, y); ok {
			a.hit(logicDecided)
			return out
		}
		return tir.Bin(n.Op, x, y)
	}
	if v, ok := tir.AsInt(x); ok {
		a.hit(logicDecided)
		if (v != 0) == (n.Op == tir.And) {
			return a.Simplify(n.B)
		}
		return x
	}
	undo := a.under(x, n.Op == tir.And)
	y := a.Simplify(n.B)
	undo()
	if out, ok := decided(n.Op, x, y); ok {
		a.hit(logicDecided)
		return out
	}
	if Pure(y) { // the first operand may follow from the second
		undo := a.under(y, n.Op == tir.And)
		x2 := a.Simplify(x)
		undo()
		if v, ok := tir.AsInt(x2); ok && (v != 0) == (n.Op == tir.And) {
			a.hit(logicImplied)
			return y
		}
	}
	return tir.Bin(n.Op, x, y)
}

// decided returns x op y where one of them is constant in all lanes.
func decided(op tir.BinaryOp, x, y tir.Expr) (tir.Expr, bool) {
	if v, ok := tir.AsInt(x); ok {
		if (v != 0) == (op == tir.And) {
			return y, true
		}
		return x, true
	}
	if v, ok := tir.AsInt(y); ok {
		if (v != 0) == (op == tir.And) {
			return x, true
		}
		return y, true
	}
	return nil, false
}

// negate returns not x; was is the node that x came from.
func (a *Analyzer) negate(x tir.Expr, was *tir.Not) tir.Expr {
	switch n := x.(type) {
	case *tir.Int:
		a.hit(notConst)
		return truth(n.Value == 0)
	case *tir.Broadcast:
		a.hit(notBroadcast)
		return &tir.Broadcast{A: a.Simplify(&tir.Not{A: n.A}), Lanes: n.Lanes}
	case *tir.Not:
		a.hit(notNot)
		return n.A
	case *tir.Binary:
		if n.Op.IsLogical() {
			a.hit(notLogic)
			op := tir.And
			if n.Op == tir.And {
				op = tir.Or
			}
			return a.Simplify(&tir.Binary{Op: op, A: &tir.Not{A: n.A}, B: &tir.Not{A: n.B}})
		}
		if !n.A.Type().DType.IsFloat() && n.Op.IsCompare() {
			a.hit(notCompare)
			return a.Simplify(&tir.Binary{Op: opposite[n.Op-tir.EQ], A: n.A, B: n.B})
		}
	}
	if x == was.A {
		return a.known(was)
	}
	return a.known(&tir.Not{A: x})
}

// opposite holds, for the comparisons from EQ on, the one that holds where it does not.
var opposite = [...]tir.BinaryOp{tir.NE, tir.EQ, tir.GE, tir.GT, tir.LE, tir.LT}

// known replaces a condition that was assumed, or whose opposite was.
func (a *Analyzer) known(c tir.Expr) tir.Expr {
	for _, t := range a.truths {
		switch {
		case tir.Equal(t, c):
			a.hit(assumedTrue)
			return tir.True
		case negates(t, c) || negates(c, t):
			a.hit(assumedFalse)
			return tir.False
		}
	}
	return c
}

// negates reports whether c is the opposite of t, as simplified conditions are written.
func negates(t, c tir.Expr) bool {
	if n, ok := t.(*tir.Not); ok {
		return tir.Equal(n.A, c)
	}
	p, ok := t.(*tir.Binary)
	q, ok2 := c.(*tir.Binary)
	if !ok || !ok2 || p.A.Type() != tir.Index {
		return false
	}
	switch {
	case p.Op == tir.EQ && q.Op == tir.NE:
		return tir.Equal(p.A, q.A) && tir.Equal(p.B, q.B)
	case p.Op == tir.LT && q.Op == tir.LE:
		return tir.Equal(p.A, q.B) && tir.Equal(p.B, q.A)
	}
	return false
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
