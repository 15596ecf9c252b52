package arith_test

import (
	"testing"

	"github.com/texel-ml/texel/tensor"
	"github.com/texel-ml/texel/tir"
	"github.com/texel-ml/texel/tir/arith"
	"pgregory.net/rapid"
)

// eval is the definition of index expressions; ok is false where a division is undefined.
func eval(e tir.Expr, env map[*tir.Var]int64) (v int64, ok bool) {
	truth := func(b bool) (int64, bool) {
		if b {
			return 1, true
		}
		return 0, true
	}
	switch n := e.(type) {
	case *tir.Var:
		return env[n], true
	case *tir.Int:
		return n.Value, true
	case *tir.Not:
		v, ok = eval(n.A, env)
		return 1 - v, ok
	case *tir.Select:
		c, ok := eval(n.Cond, env)
		if !ok {
			return 0, false
		}
		if c != 0 {
			return eval(n.Then, env)
		}
		return eval(n.Else, env)
	case *tir.Binary:
		a, ok := eval(n.A, env)
		if !ok {
			return 0, false
		}
		if n.Op == tir.And && a == 0 || n.Op == tir.Or && a != 0 {
			return a, true
		}
		b, ok := eval(n.B, env)
		if !ok {
			return 0, false
		}
		switch n.Op {
		case tir.Add:
			return a + b, true
		case tir.Sub:
			return a - b, true
		case tir.Mul:
			return a * b, true
		case tir.Div, tir.Mod, tir.FloorDiv, tir.FloorMod:
			if b == 0 {
				return 0, false
			}
			q, r := a/b, a%b
			if (n.Op == tir.FloorDiv || n.Op == tir.FloorMod) && r != 0 && (r < 0) != (b < 0) {
				q, r = q-1, r+b
			}
			if n.Op == tir.Div || n.Op == tir.FloorDiv {
				return q, true
			}
			return r, true
		case tir.Min:
			return min(a, b), true
		case tir.Max:
			return max(a, b), true
		case tir.LT:
			return truth(a < b)
		case tir.LE:
			return truth(a <= b)
		case tir.GT:
			return truth(a > b)
		case tir.GE:
			return truth(a >= b)
		case tir.EQ:
			return truth(a == b)
		case tir.NE:
			return truth(a != b)
		case tir.And, tir.Or:
			return b, true
		}
	}
	panic("unexpected node")
}

type space struct {
	vars []*tir.Var
	lo   []int64
	ext  []int64
}

func drawSpace(t *rapid.T) space {
	s := space{}
	for _, name := range []string{"i", "j", "k"} {
		s.vars = append(s.vars, tir.NewVar(name))
		s.lo = append(s.lo, int64(rapid.SampledFrom([]int{0, 0, 0, 1, -3, 5}).Draw(t, "lo")))
		s.ext = append(s.ext, int64(rapid.SampledFrom([]int{1, 2, 3, 4, 7, 8}).Draw(t, "ext")))
	}
	return s
}

func (s space) analyzer() *arith.Analyzer {
	a := arith.New()
	for i, v := range s.vars {
		a.Bind(v, s.lo[i], s.ext[i])
	}
	return a
}

func (s space) each(f func(env map[*tir.Var]int64)) {
	env := map[*tir.Var]int64{}
	var walk func(i int)
	walk = func(i int) {
		if i == len(s.vars) {
			f(env)
			return
		}
		for v := s.lo[i]; v < s.lo[i]+s.ext[i]; v++ {
			env[s.vars[i]] = v
			walk(i + 1)
		}
	}
	walk(0)
}

func (s space) index(t *rapid.T, depth int) tir.Expr {
	if depth == 0 || rapid.IntRange(0, 5).Draw(t, "leaf") == 0 {
		if rapid.IntRange(0, 3).Draw(t, "const") == 0 {
			return tir.I(rapid.IntRange(-9, 40).Draw(t, "c"))
		}
		return rapid.SampledFrom(s.vars).Draw(t, "v")
	}
	divisor := func() tir.Expr {
		return tir.I(rapid.SampledFrom([]int{2, 3, 4, 6, 8, 12, 16, -2, -3, 1}).Draw(t, "d"))
	}
	switch rapid.IntRange(0, 9).Draw(t, "op") {
	case 0, 1:
		return op(tir.Add, s.index(t, depth-1), s.index(t, depth-1))
	case 2:
		return op(tir.Sub, s.index(t, depth-1), s.index(t, depth-1))
	case 3:
		return op(tir.Mul, s.index(t, depth-1), tir.I(rapid.SampledFrom([]int{-2, -1, 2, 3, 4, 8, 16}).Draw(t, "m")))
	case 4:
		return op(tir.FloorDiv, s.index(t, depth-1), divisor())
	case 5:
		return op(tir.FloorMod, s.index(t, depth-1), divisor())
	case 6:
		kinds := []tir.BinaryOp{tir.Div, tir.Mod, tir.FloorDiv, tir.FloorMod, tir.Mul}
		return op(rapid.SampledFrom(kinds).Draw(t, "kind"), s.index(t, depth-1), s.index(t, depth-1))
	case 7:
		return op(rapid.SampledFrom([]tir.BinaryOp{tir.Min, tir.Max}).Draw(t, "m"), s.index(t, depth-1), s.index(t, depth-1))
	case 8:
		return &tir.Select{Cond: s.cond(t, depth-1), Then: s.index(t, depth-1), Else: s.index(t, depth-1)}
	}
	x := s.index(t, depth-1) // a split that may be fused again
	d := divisor()
	return op(tir.Add, op(tir.Mul, op(tir.FloorDiv, x, d), d), op(tir.FloorMod, x, d))
}

func (s space) cond(t *rapid.T, depth int) tir.Expr {
	if depth > 0 {
		switch rapid.IntRange(0, 5).Draw(t, "logic") {
		case 0:
			return op(tir.And, s.cond(t, depth-1), s.cond(t, depth-1))
		case 1:
			return op(tir.Or, s.cond(t, depth-1), s.cond(t, depth-1))
		case 2:
			return &tir.Not{A: s.cond(t, depth-1)}
		}
	}
	compare := []tir.BinaryOp{tir.LT, tir.LE, tir.GT, tir.GE, tir.EQ, tir.NE}
	return op(rapid.SampledFrom(compare).Draw(t, "cmp"), s.index(t, max(depth, 0)), s.index(t, max(depth-1, 0)))
}

// Simplify keeps the value of every expression wherever it has one, is stable, and Bounds holds.
func TestSimplifyKeepsValues(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawSpace(t)
		a := s.analyzer()
		given := tir.Expr(tir.True)
		if rapid.Bool().Draw(t, "assume") {
			given = s.cond(t, 1)
		}
		var e tir.Expr
		if rapid.Bool().Draw(t, "bool") {
			e = s.cond(t, 3)
		} else {
			e = s.index(t, 4)
		}
		leave := a.Assume(given)
		got := a.Simplify(e)
		lo, hi, bounded := int64(0), int64(0), false
		if e.Type().DType == tensor.Int64 {
			lo, hi, bounded = a.Bounds(e)
		}
		if again := a.Simplify(got); !tir.Equal(again, got) {
			t.Fatalf("%s -> %s -> %s", show(e), show(got), show(again))
		}
		leave()
		s.each(func(env map[*tir.Var]int64) {
			if holds, ok := eval(given, env); !ok || holds == 0 {
				return
			}
			want, ok := eval(e, env)
			if !ok {
				return
			}
			if have, ok := eval(got, env); !ok || have != want {
				t.Fatalf("given %s: %s = %d, simplified %s = %d at %v %v", show(given), show(e), want, show(got), have, s.lo, s.ext)
			}
			if bounded && (want < lo || want > hi) {
				t.Fatalf("given %s: %s = %d is outside [%d, %d]", show(given), show(e), want, lo, hi)
			}
		})
	})
}

// Touched contains every index that a sweep reaches, and for affine indices touches its ends.
func TestTouchedCovers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawSpace(t)
		a := s.analyzer()
		e := s.index(t, 3)
		over := map[*tir.Var]tir.Range{}
		for i, v := range s.vars[1:] {
			over[v] = tir.Range{Min: tir.I(int(s.lo[i+1])), Extent: tir.I(int(s.ext[i+1]))}
		}
		box, ok := a.Touched([]tir.Expr{e}, over)
		if !ok {
			return
		}
		extent, _ := tir.AsInt(box[0].Extent)
		s.each(func(env map[*tir.Var]int64) {
			v, ok := eval(e, env)
			lo, defined := eval(box[0].Min, env)
			if ok && defined && (v < lo || v >= lo+extent) {
				t.Fatalf("%s = %d is outside %s = %d, extent %d", show(e), v, show(box[0].Min), lo, extent)
			}
		})
	})
}
