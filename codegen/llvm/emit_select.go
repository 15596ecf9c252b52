package llvm

import (
	"github.com/texel-ml/texel/tensor"
	"github.com/texel-ml/texel/tir"
)

// lazy reports whether an expression may only be evaluated where it is asked for: it touches memory. heavy also counts
// functions that cost more than a branch.
func (e *emitter) lazy(x tir.Expr, heavy bool) bool {
	found := false
	tir.Walk(x, func(n any) bool {
		switch n := n.(type) {
		case *tir.Load:
			found = found || e.ssa[n.Buffer] == nil
		case *tir.Call:
			found = found || heavy && n.Fn < tir.Floor && n.Fn != tir.Sqrt && n.Fn != tir.Rsqrt || n.Fn == tir.FloatMod
		}
		return !found
	})
	return found
}

// selectExpr emits a Select. Only a chosen side touches memory.
func (e *emitter) selectExpr(x *tir.Select) *val {
	lanes := max(x.Then.Type().Lanes, x.Else.Type().Lanes)
	c := e.expr(x.Cond)
	if c.splat != nil {
		c = c.splat
	}
	side := func(y tir.Expr) *val { return e.broadcastTo(e.expr(y), lanes) }
	if c.isInt {
		if c.n != 0 {
			return side(x.Then)
		}
		return side(x.Else)
	}
	_, n := split(c.t)
	if n == 1 {
		if !e.lazy(x.Then, true) && !e.lazy(x.Else, true) {
			return e.sel(c, side(x.Then), side(x.Else))
		}
		return e.branch(c, func() *val { return side(x.Then) }, func() *val { return side(x.Else) })
	}
	// The padding of a convolution: a load where the mask holds, else something at hand.
	if l, ok := x.Then.(*tir.Load); ok && !e.lazy(x.Else, false) {
		if v := e.loadWhere(l, c, side(x.Else)); v != nil {
			return v
		}
	}
	if l, ok := x.Else.(*tir.Load); ok && !e.lazy(x.Then, false) {
		if v := e.loadWhere(l, e.not(c), side(x.Then)); v != nil {
			return v
		}
	}
	a, b := e.where(x.Then, c, lanes), (*val)(nil)
	if e.lazy(x.Else, false) {
		b = e.where(x.Else, e.not(c), lanes)
	} else {
		b = side(x.Else)
	}
	return e.sel(c, a, b)
}

// where evaluates x in the lanes of c; the others are undefined.
func (e *emitter) where(x tir.Expr, c *val, lanes int) *val {
	if !e.lazy(x, false) {
		return e.broadcastTo(e.expr(x), lanes)
	}
	return e.masked(c, func() *val { return e.broadcastTo(e.expr(x), lanes) })
}

// loadWhere is a masked load with the value of the other lanes, or nil when a plain masked load does not do.
func (e *emitter) loadWhere(l *tir.Load, c, rest *val) *val {
	b := l.Buffer
	if e.ssa[b] != nil || b.DType == tensor.Bool {
		return nil
	}
	for _, i := range l.Indices {
		if e.lazy(i, false) {
			return nil
		}
	}
	v := e.flatten(b, l.Indices)
	if _, n := split(c.t); v.lanes != n || v.uniform() || e.inside(b, l.Indices, n) {
		return nil
	}
	if e.mask != nil {
		c = e.narrow(e.mask, c)
	}
	return e.maskedLoad(b, e.memory(b), v, c, rest)
}

// logical is And or Or, lazy in the second operand.
func (e *emitter) logical(x *tir.Binary, lanes int) *val {
	and := x.Op == tir.And
	a := e.broadcastTo(e.expr(x.A), lanes)
	short := e.int(a.t, 1)
	if and {
		short = e.int(a.t, 0)
	}
	if a.isInt {
		if a.n == short.n {
			return short
		}
		return e.broadcastTo(e.expr(x.B), lanes)
	}
	if !e.lazy(x.B, false) {
		b := e.broadcastTo(e.expr(x.B), lanes)
		if b.isInt {
			if b.n == short.n {
				return short
			}
			return a
		}
		if and {
			return e.op(a.t, "and $0, %1", a, b)
		}
		return e.op(a.t, "or $0, %1", a, b)
	}
	ask := a
	if !and {
		ask = e.not(a)
	}
	if lanes == 1 {
		return e.branch(ask, func() *val { return e.expr(x.B) }, func() *val { return short })
	}
	b := e.masked(ask, func() *val { return e.broadcastTo(e.expr(x.B), lanes) })
	// A select and not an and: the lanes that were not asked are undefined.
	if and {
		return e.op(a.t, "select $0, $1, $2", a, b, short)
	}
	return e.op(a.t, "select $0, $1, $2", a, short, b)
}
