package proof

import "github.com/texel-ml/texel/tir"

// number evaluates an expression at a point; bools are 0 and 1.
type number func(point []int64) int64

// evaluator compiles expressions over variables that have slots. It reports false for what it does not know: loads,
// floats, calls. A division by zero makes the point fail.
type evaluator struct {
	slots []Var
	bad   bool // a division by zero was met
}

func (ev *evaluator) compile(e tir.Expr) (number, bool) {
	switch n := e.(type) {
	case *tir.Int:
		v := n.Value
		return func([]int64) int64 { return v }, true
	case *tir.Var:
		i := index(ev.slots, n)
		return func(p []int64) int64 { return p[i] }, i >= 0
	case *tir.Not:
		a, ok := ev.compile(n.A)
		return func(p []int64) int64 { return 1 - a(p) }, ok
	case *tir.Select:
		c, ok1 := ev.compile(n.Cond)
		t, ok2 := ev.compile(n.Then)
		f, ok3 := ev.compile(n.Else)
		return func(p []int64) int64 {
			if c(p) != 0 {
				return t(p)
			}
			return f(p)
		}, ok1 && ok2 && ok3
	case *tir.Binary:
		if f, ok := ev.sum(n); ok {
			return f, true
		}
		a, ok1 := ev.compile(n.A)
		b, ok2 := ev.compile(n.B)
		if !ok1 || !ok2 {
			return nil, false
		}
		return ev.binary(n.Op, a, b)
	}
	return nil, false
}

// sum compiles a sum of variables times numbers, as most indices are. It wraps around as the operators of the sum do.
func (ev *evaluator) sum(e tir.Expr) (number, bool) {
	type term struct {
		slot   int
		factor int64
	}
	var terms []term
	c := int64(0)
	for _, t := range addends(e) {
		switch n := t.expr.(type) {
		case *tir.Int:
			c += t.factor * n.Value
		case *tir.Var:
			i := index(ev.slots, n)
			if i < 0 {
				return nil, false
			}
			terms = append(terms, term{i, t.factor})
		default:
			return nil, false
		}
	}
	return func(p []int64) int64 {
		sum := c
		for _, t := range terms {
			sum += t.factor * p[t.slot]
		}
		return sum
	}, true
}

// asNumber is 1 for true.
func asNumber(t bool) int64 {
	if t {
		return 1
	}
	return 0
}

func (ev *evaluator) binary(op tir.BinaryOp, a, b number) (number, bool) {
	divide := func(f func(x, y int64) int64) (number, bool) {
		return func(p []int64) int64 {
			y := b(p)
			if y == 0 {
				ev.bad = true
				return 0
			}
			return f(a(p), y)
		}, true
	}
	switch op {
	case tir.Add:
		return func(p []int64) int64 { return a(p) + b(p) }, true
	case tir.Sub:
		return func(p []int64) int64 { return a(p) - b(p) }, true
	case tir.Mul:
		return func(p []int64) int64 { return a(p) * b(p) }, true
	case tir.Min:
		return func(p []int64) int64 { return min(a(p), b(p)) }, true
	case tir.Max:
		return func(p []int64) int64 { return max(a(p), b(p)) }, true
	case tir.Div:
		return divide(func(x, y int64) int64 { return x / y })
	case tir.Mod:
		return divide(func(x, y int64) int64 { return x % y })
	case tir.FloorDiv:
		return divide(floorDiv)
	case tir.FloorMod:
		return divide(func(x, y int64) int64 { return x - y*floorDiv(x, y) })
	case tir.EQ:
		return func(p []int64) int64 { return asNumber(a(p) == b(p)) }, true
	case tir.NE:
		return func(p []int64) int64 { return asNumber(a(p) != b(p)) }, true
	case tir.LT:
		return func(p []int64) int64 { return asNumber(a(p) < b(p)) }, true
	case tir.LE:
		return func(p []int64) int64 { return asNumber(a(p) <= b(p)) }, true
	case tir.GT:
		return func(p []int64) int64 { return asNumber(a(p) > b(p)) }, true
	case tir.GE:
		return func(p []int64) int64 { return asNumber(a(p) >= b(p)) }, true
	case tir.And:
		return func(p []int64) int64 {
			if a(p) == 0 {
				return 0
			}
			return b(p)
		}, true
	case tir.Or:
		return func(p []int64) int64 {
			if a(p) != 0 {
				return 1
			}
			return b(p)
		}, true
	}
	return nil, false
}

func floorDiv(x, y int64) int64 {
	q := x / y
	if x%y != 0 && (x < 0) != (y < 0) {
		q--
	}
	return q
}
