package transform

import (
	"maps"
	"slices"

	"github.com/texel-ml/texel/tir"
)

// env evaluates index expressions for values of their variables.
type env struct{ vars map[*tir.Var]int64 }

// sweep calls f for each iteration of nested loops, until f returns false or a bound cannot be told; it reports whether it
// came to the end.
func (e *env) sweep(loops []*tir.For, f func() bool) bool {
	if len(loops) == 0 {
		return f()
	}
	n := loops[0]
	lo, ok := e.value(n.Min)
	extent, known := e.value(n.Extent)
	if !ok || !known {
		return false
	}
	for i := range extent {
		e.vars[n.Var] = lo + i
		if !e.sweep(loops[1:], f) {
			return false
		}
	}
	return true
}

// later calls f with the variables as they are in later iterations of a loop, for every iteration of the loops inside of it,
// until f returns false.
func (e *env) later(carried *tir.For, loops []*tir.For, f func(*env) bool) bool {
	at := slices.Index(loops, carried)
	lo, ok := e.value(carried.Min)
	extent, known := e.value(carried.Extent)
	if !ok || !known {
		return false
	}
	to := &env{maps.Clone(e.vars)}
	for v := e.vars[carried.Var] + 1; v < lo+extent; v++ {
		to.vars[carried.Var] = v
		if !to.sweep(loops[at+1:], func() bool { return f(to) }) {
			return false
		}
	}
	return true
}

// value evaluates an expression of integers or bools without loads.
func (e *env) value(x tir.Expr) (int64, bool) {
	switch n := x.(type) {
	case *tir.Int:
		return n.Value, true
	case *tir.Var:
		v, ok := e.vars[n]
		return v, ok
	case *tir.Not:
		v, ok := e.value(n.A)
		return 1 - v, ok
	case *tir.Select:
		c, ok := e.value(n.Cond)
		if !ok {
			return 0, false
		}
		if c != 0 {
			return e.value(n.Then)
		}
		return e.value(n.Else)
	case *tir.Binary:
		a, ok := e.value(n.A)
		if !ok {
			return 0, false
		}
		if n.Op == tir.And && a == 0 || n.Op == tir.Or && a != 0 {
			return a, true
		}
		b, ok := e.value(n.B)
		if !ok || n.A.Type() != tir.Index && n.A.Type() != tir.Bool {
			return 0, false
		}
		return binary(n.Op, a, b)
	}
	return 0, false
}

func binary(op tir.BinaryOp, a, b int64) (int64, bool) {
	bit := func(v bool) (int64, bool) {
		if v {
			return 1, true
		}
		return 0, true
	}
	switch op {
	case tir.Add:
		return a + b, true
	case tir.Sub:
		return a - b, true
	case tir.Mul:
		return a * b, true
	case tir.FloorDiv, tir.FloorMod, tir.Div, tir.Mod:
		if b == 0 {
			return 0, false
		}
		q := a / b
		if op == tir.FloorDiv || op == tir.FloorMod {
			q = floorDiv(a, b)
		}
		if op == tir.FloorDiv || op == tir.Div {
			return q, true
		}
		return a - q*b, true
	case tir.Min:
		return min(a, b), true
	case tir.Max:
		return max(a, b), true
	case tir.EQ:
		return bit(a == b)
	case tir.NE:
		return bit(a != b)
	case tir.LT:
		return bit(a < b)
	case tir.LE:
		return bit(a <= b)
	case tir.GT:
		return bit(a > b)
	case tir.GE:
		return bit(a >= b)
	case tir.And, tir.Or:
		return bit(b != 0)
	}
	return 0, false
}
