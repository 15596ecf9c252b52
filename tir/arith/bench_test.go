package arith_test

import (
	"testing"

	"github.com/texel-ml/texel/tir"
	"github.com/texel-ml/texel/tir/arith"
)

// convIndices are the indices, guards and choices of a blocked convolution over a fused, imperfectly split grid, as the
// loop passes meet them.
func convIndices() (loops []*tir.For, guard tir.Expr, exprs []tir.Expr) {
	loop := func(name string, extent int) *tir.Var {
		v := tir.NewVar(name)
		loops = append(loops, &tir.For{Var: v, Min: tir.I(0), Extent: tir.I(extent)})
		return v
	}
	g, t, u, c, kh, kw := loop("g", 56*8), loop("t", 5), loop("u", 12), loop("c", 64), loop("kh", 3), loop("kw", 3)
	row, panel := mod(g, 56), div(g, 56)
	col := add(mul(t, 12), u)
	guard = lt(col, 56)
	h, w := sub(add(row, kh), 1), sub(add(col, kw), 1)
	inside := func(e tir.Expr) tir.Expr { return op(tir.And, op(tir.GE, e, 0), lt(e, 56)) }
	exprs = []tir.Expr{
		guard, h, w,
		op(tir.And, inside(h), inside(w)),
		add(mul(add(mul(h, 56), w), 64), c),
		add(mul(add(mul(panel, 64), c), 9), add(mul(kh, 3), kw)),
		div(add(mul(add(mul(row, 56), col), 64), c), 64),
		mod(add(mul(add(mul(row, 56), col), 64), c), 64),
		add(mul(div(add(mul(t, 12), u), 4), 4), mod(add(mul(t, 12), u), 4)),
		div(mod(g, 112), 56),
		op(tir.Min, sub(56, mul(t, 12)), 12),
		op(tir.Max, op(tir.Min, add(h, 1), 56), 0),
		&tir.Select{Cond: inside(w), Then: w, Else: op(tir.Min, op(tir.Max, w, 0), 55)},
		lt(div(add(mul(row, 56), col), 8), 392),
		op(tir.EQ, add(mul(panel, 8), mod(c, 8)), add(mul(kh, 8), 3)),
	}
	return loops, guard, exprs
}

// BenchmarkSimplify simplifies the expressions of a convolution, in the open and under the guard of the tail.
func BenchmarkSimplify(b *testing.B) {
	loops, guard, exprs := convIndices()
	b.ReportAllocs()
	for b.Loop() {
		a := arith.New()
		for _, f := range loops {
			a.BindLoop(f)
		}
		for _, e := range exprs {
			a.Simplify(e)
		}
		leave := a.Assume(guard)
		for _, e := range exprs {
			a.Simplify(e)
		}
		leave()
	}
}

// BenchmarkBijective proves what a fuse, an uneven split and a second split of both loops make.
func BenchmarkBijective(b *testing.B) {
	d, v := over(7, 5, 40, 9)
	inner := add(mul(v[1], 7), v[0])
	whole := add(mul(v[2], 31), inner)
	d.Where = op(tir.And, lt(inner, 31), lt(whole, 1220))
	values := []tir.Expr{div(whole, 10), mod(whole, 10), v[3]}
	for b.Loop() {
		if how, err := arith.Bijective(d, values, []int64{122, 10, 9}); err != nil || how != arith.Algebra {
			b.Fatal(how, err)
		}
	}
}
