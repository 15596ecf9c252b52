package proof

import (
	"slices"

	"github.com/texel-ml/texel/tir"
)

// unshifted takes out of each axis what only fixed variables add to it, where that is the same on all sides: at every value
// of the fixed variables the sides are then shifted alike, and whether values are equal does not change.
func unshifted(sides []Side) []Side {
	own := map[*tir.Var]bool{}
	for _, s := range sides {
		for _, v := range s.Vars {
			own[v.Var] = true
		}
	}
	out := make([]Side, len(sides))
	for i, s := range sides {
		out[i] = s
		out[i].Map = slices.Clone(s.Map)
	}
	rests := make([]tir.Expr, len(sides))
	for axis, e := range sides[0].Map {
		rest, shift := apart(e, own)
		rests[0] = rest
		same := len(shift) > 0
		for i := 1; same && i < len(sides); i++ {
			rest, fixed := apart(sides[i].Map[axis], own)
			rests[i], same = rest, sameAddends(shift, fixed)
		}
		for i := range out {
			if same {
				out[i].Map[axis] = rests[i]
			}
		}
	}
	return out
}

// addend is a term of a sum: an expression that is no sum, and its factor.
type addend struct {
	expr   tir.Expr
	factor int64
}

// apart cuts a sum into the terms that use variables of own, with the constants, and the others.
func apart(e tir.Expr, own map[*tir.Var]bool) (tir.Expr, []addend) {
	var rest tir.Expr = tir.I(0)
	var fixed []addend
	for _, t := range addends(e) {
		if _, isConst := t.expr.(*tir.Int); isConst || tir.UsesAny(t.expr, own) {
			rest = tir.Plus(rest, tir.Times(t.expr, tir.I(int(t.factor))))
			continue
		}
		at := -1
		for i, f := range fixed {
			if tir.Equal(f.expr, t.expr) {
				at = i
			}
		}
		if at < 0 {
			fixed = append(fixed, t)
		} else {
			fixed[at].factor += t.factor
		}
	}
	return rest, fixed
}

// addends are the terms of a sum, in order.
func addends(e tir.Expr) []addend { return addendsOf(e, 1, make([]addend, 0, 4)) }

// addendsOf adds those of e times a factor to a list.
func addendsOf(e tir.Expr, factor int64, list []addend) []addend {
	if b, ok := e.(*tir.Binary); ok {
		switch b.Op {
		case tir.Add:
			return addendsOf(b.B, factor, addendsOf(b.A, factor, list))
		case tir.Sub:
			return addendsOf(b.B, -factor, addendsOf(b.A, factor, list))
		case tir.Mul:
			const most = 1 << 31 // so that no product overflows
			if n, ok := tir.AsInt(b.B); ok && n > -most && n < most && factor > -most && factor < most {
				return addendsOf(b.A, factor*n, list)
			}
			if n, ok := tir.AsInt(b.A); ok && n > -most && n < most && factor > -most && factor < most {
				return addendsOf(b.B, factor*n, list)
			}
		}
	}
	return append(list, addend{e, factor})
}

func sameAddends(a, b []addend) bool {
	if len(a) != len(b) {
		return false
	}
	for _, x := range a {
		found := false
		for _, y := range b {
			found = found || x.factor == y.factor && tir.Equal(x.expr, y.expr)
		}
		if !found {
			return false
		}
	}
	return true
}
