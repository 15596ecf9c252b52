package opencl

import (
	"fmt"
	"strings"

	"github.com/texel-ml/texel/tensor"
	"github.com/texel-ml/texel/tir"
)

// vector writes an expression of several lanes.
func (e *emitter) vector(x tir.Expr) code {
	t := x.Type()
	typ := e.registerType(t.DType, t.Lanes)
	switch n := x.(type) {
	case *tir.Broadcast:
		return e.splat(n.A, t)
	case *tir.Not:
		return code{s: "~" + e.expr(n.A).at(unaryPrec), prec: unaryPrec}
	case *tir.Cast:
		return e.cast(n)
	case *tir.Load:
		return e.load(n)
	case *tir.Call:
		return e.intrinsic(n)
	case *tir.Select:
		return e.vectorSelect(n, typ)
	case *tir.Binary:
		return e.vectorBinary(n)
	case *tir.Ramp:
		return e.eachLane(x)
	}
	e.fail("expression %T", x)
	return code{}
}

// splat copies a scalar to all lanes.
func (e *emitter) splat(x tir.Expr, t tir.Type) code {
	c := e.expr(x)
	if t.DType == tensor.Bool {
		c = code{s: c.at(orPrec) + " ? -1 : 0", prec: condPrec}
	}
	return code{s: fmt.Sprintf("(%s)(%s)", e.registerType(t.DType, t.Lanes), c.s), prec: unaryPrec}
}

// eachLane writes a vector as the list of its lanes: what no operation on vectors gives, and what must stay lazy.
func (e *emitter) eachLane(x tir.Expr) code {
	t := x.Type()
	parts := make([]string, t.Lanes)
	for i := range parts {
		c := e.expr(lane(x, i))
		if t.DType == tensor.Bool {
			c = code{s: c.at(orPrec) + " ? -1 : 0", prec: condPrec}
		}
		parts[i] = c.s
	}
	return code{s: fmt.Sprintf("(%s)(%s)", e.registerType(t.DType, t.Lanes), strings.Join(parts, ", ")), prec: unaryPrec}
}

// lane returns lane i of a vector as a scalar expression.
func lane(x tir.Expr, i int) tir.Expr {
	m := &tir.Mapper{Expr: func(e tir.Expr) tir.Expr {
		switch n := e.(type) {
		case *tir.Ramp:
			return tir.Plus(n.Base, tir.Times(n.Stride, &tir.Int{DType: n.Stride.Type().DType, Value: int64(i)}))
		case *tir.Broadcast:
			return n.A
		}
		return e
	}}
	return m.MapExpr(x)
}

// lazy reports whether evaluating x where its value is not wanted could fail: it loads or divides integers.
func lazy(x tir.Expr) bool {
	found := false
	tir.Walk(x, func(n any) bool {
		switch n := n.(type) {
		case *tir.Load:
			found = true
		case *tir.Binary:
			if divides := n.Op >= tir.Div && n.Op <= tir.FloorMod; divides && !n.A.Type().DType.IsFloat() {
				_, constant := tir.AsInt(n.B)
				found = found || !constant
			}
		}
		return !found
	})
	return found
}

// vectorSelect chooses lane by lane.
func (e *emitter) vectorSelect(x *tir.Select, typ string) code {
	cond := x.Cond
	if b, ok := cond.(*tir.Broadcast); ok {
		cond = b.A
	}
	if cond.Type().Lanes == 1 {
		return code{s: e.expr(cond).at(orPrec) + " ? " + e.expr(x.Then).at(orPrec) + " : " + e.expr(x.Else).at(condPrec), prec: condPrec}
	}
	if lazy(x.Then) || lazy(x.Else) {
		return e.eachLane(x)
	}
	t := x.Type()
	mask := e.expr(cond)
	if bits := e.registerBits(t.DType); bits != 32 {
		mask = call("convert_"+vectorType(signedOf(bits), t.Lanes), mask.s)
	}
	return call("select", e.expr(x.Else).s, e.expr(x.Then).s, mask.s)
}

// signedOf is the signed integer type of a width.
func signedOf(bits int) string {
	return map[int]string{8: "char", 16: "short", 32: "int", 64: "long"}[bits]
}

// mask makes an int mask of the result of a comparison of operands of the given width.
func (e *emitter) mask(c code, bits, lanes int) code {
	if bits == 32 {
		return c
	}
	return call("convert_"+vectorType("int", lanes), c.s)
}

func (e *emitter) vectorBinary(x *tir.Binary) code {
	t := x.A.Type()
	d := t.DType
	switch {
	case x.Op.IsLogical() && lazy(x.B):
		return e.eachLane(x)
	case x.Op.IsLogical():
		op := map[tir.BinaryOp]tir.BinaryOp{tir.And: tir.BitAnd, tir.Or: tir.BitOr}[x.Op]
		return infix(op, e.expr(x.A), e.expr(x.B))
	case (x.Op == tir.FloorDiv || x.Op == tir.FloorMod) && !d.IsFloat():
		return e.eachLane(x)
	case x.Op == tir.Shl || x.Op == tir.Shr:
		if n, ok := tir.AsInt(x.B); !ok || n < 0 || n >= int64(d.Bits()) {
			return e.eachLane(x)
		}
	}
	a, b := e.expr(x.A), e.expr(x.B)
	var c code
	switch {
	case d.IsFloat():
		c = e.floatBinary(x.Op, d, t.Lanes, a, b)
	case x.Op == tir.Min || x.Op == tir.Max:
		return call(x.Op.String(), a.s, b.s)
	default:
		c = infix(x.Op, a, b)
	}
	if x.Op.IsCompare() {
		return e.mask(c, e.registerBits(d), t.Lanes)
	}
	return c
}
