package transform

import "github.com/texel-ml/texel/tir"

// env holds values of variables for index expressions that are compiled against it.
type env struct {
	slots map[*tir.Var]int
	vals  []int64
	bad   bool // a value was asked for that there is not: a division by zero
}

func newEnv() *env { return &env{slots: map[*tir.Var]int{}} }

// slot returns the place of a variable's value, which it gives it.
func (e *env) slot(v *tir.Var) int {
	i, ok := e.slots[v]
	if !ok {
		i = len(e.vals)
		e.slots[v] = i
		e.vals = append(e.vals, 0)
	}
	return i
}

// nest is a loop nest over variables of an env.
type nest struct {
	e     *env
	loops []nestLoop
}

type nestLoop struct {
	slot       int
	lo, extent func() int64
}

// nest compiles loops, outer first, and gives their variables places. It reports false when a bound depends on something
// else than variables that have a place.
func (e *env) nest(loops []*tir.For) (*nest, bool) {
	n := &nest{e: e}
	for _, f := range loops {
		lo, ok := e.compile(f.Min)
		extent, known := e.compile(f.Extent)
		if !ok || !known {
			return nil, false
		}
		n.loops = append(n.loops, nestLoop{e.slot(f.Var), lo, extent})
	}
	return n, true
}

// sweep calls f for each iteration, until f returns false; it reports whether it came to the end.
func (n *nest) sweep(f func() bool) bool { return n.from(0, f) }

func (n *nest) from(i int, f func() bool) bool {
	if i == len(n.loops) {
		return f()
	}
	l := &n.loops[i]
	lo, extent := l.lo(), l.extent()
	for v := lo; v < lo+extent; v++ {
		n.e.vals[l.slot] = v
		if !n.from(i+1, f) {
			return false
		}
	}
	return !n.e.bad
}

// later calls f for the iterations of loop i behind the present one, with all iterations of the loops inside.
func (n *nest) later(i int, f func() bool) bool {
	l := &n.loops[i]
	for v, end := n.e.vals[l.slot]+1, l.lo()+l.extent(); v < end; v++ {
		n.e.vals[l.slot] = v
		if !n.from(i+1, f) {
			return false
		}
	}
	return !n.e.bad
}

// compile returns what evaluates an expression of integers and bools over variables that have a place, without loads.
func (e *env) compile(x tir.Expr) (func() int64, bool) {
	switch n := x.(type) {
	case *tir.Int:
		v := n.Value
		return func() int64 { return v }, true
	case *tir.Var:
		i, ok := e.slots[n]
		return func() int64 { return e.vals[i] }, ok
	case *tir.Not:
		a, ok := e.compile(n.A)
		return func() int64 { return 1 - a() }, ok
	case *tir.Select:
		c, okC := e.compile(n.Cond)
		a, okA := e.compile(n.Then)
		b, okB := e.compile(n.Else)
		return func() int64 {
			if c() != 0 {
				return a()
			}
			return b()
		}, okC && okA && okB
	case *tir.Binary:
		if t := n.A.Type(); t != tir.Index && t != tir.Bool {
			return nil, false
		}
		a, okA := e.compile(n.A)
		b, okB := e.compile(n.B)
		if !okA || !okB {
			return nil, false
		}
		return e.binary(n.Op, a, b)
	}
	return nil, false
}

func truth(v bool) int64 {
	if v {
		return 1
	}
	return 0
}

func (e *env) binary(op tir.BinaryOp, a, b func() int64) (func() int64, bool) {
	switch op {
	case tir.Add:
		return func() int64 { return a() + b() }, true
	case tir.Sub:
		return func() int64 { return a() - b() }, true
	case tir.Mul:
		return func() int64 { return a() * b() }, true
	case tir.FloorDiv, tir.FloorMod, tir.Div, tir.Mod:
		floors, remainder := op == tir.FloorDiv || op == tir.FloorMod, op == tir.Mod || op == tir.FloorMod
		return func() int64 {
			x, y := a(), b()
			if y == 0 {
				e.bad = true
				return 0
			}
			q := x / y
			if floors {
				q = floorDiv(x, y)
			}
			if remainder {
				return x - q*y
			}
			return q
		}, true
	case tir.Min:
		return func() int64 { return min(a(), b()) }, true
	case tir.Max:
		return func() int64 { return max(a(), b()) }, true
	case tir.EQ:
		return func() int64 { return truth(a() == b()) }, true
	case tir.NE:
		return func() int64 { return truth(a() != b()) }, true
	case tir.LT:
		return func() int64 { return truth(a() < b()) }, true
	case tir.LE:
		return func() int64 { return truth(a() <= b()) }, true
	case tir.GT:
		return func() int64 { return truth(a() > b()) }, true
	case tir.GE:
		return func() int64 { return truth(a() >= b()) }, true
	case tir.And:
		return func() int64 { return truth(a() != 0 && b() != 0) }, true
	case tir.Or:
		return func() int64 { return truth(a() != 0 || b() != 0) }, true
	}
	return nil, false
}

// points compiles expressions, all or none.
func (e *env) points(list []tir.Expr) ([]func() int64, bool) {
	out := make([]func() int64, 0, len(list))
	for _, x := range list {
		f, ok := e.compile(x)
		if !ok {
			return nil, false
		}
		out = append(out, f)
	}
	return out, true
}
