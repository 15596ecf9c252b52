package irgen

import (
	"math"

	"github.com/texel-ml/texel/tensor"
	"github.com/texel-ml/texel/tir"
)

// bounded is an expression with a bound of its magnitude. Without Rounded it is an integer, in every type.
type bounded struct {
	e    tir.Expr
	most float64
}

// exact is the magnitude up to which sums and products of two values of a type are kept. Beyond it integers may wrap
// around, and floats are clamped: float16 holds integers up to 2,048, float32 up to 2²⁴.
func exact(d tensor.DType) float64 {
	switch d {
	case tensor.BFloat16:
		return 128
	case tensor.Float16:
		return 1 << 10
	case tensor.Float32:
		return 1 << 20
	case tensor.Float64:
		return 1 << 40
	}
	if d.Kind() == tensor.Unsigned {
		return math.Ldexp(1, d.Bits())
	}
	return math.Ldexp(1, d.Bits()-1)
}

// within returns x with a magnitude of at most most.
func within(x bounded, most float64) bounded {
	d := x.e.Type().DType
	if x.most <= most {
		return x
	}
	if !d.IsFloat() && most >= exact(d) {
		return bounded{x.e, exact(d)}
	}
	most = math.Floor(most)
	e := tir.Minimum(x.e, tir.Const(d, most))
	if d.IsFloat() || d.Kind() == tensor.Signed {
		e = tir.Maximum(e, tir.Const(d, -most))
	}
	return bounded{e, most}
}

// kept returns what an operation made, clamped where its type would round it.
func kept(e tir.Expr, most float64) bounded {
	d := e.Type().DType
	if d.IsFloat() && most > exact(d) {
		return within(bounded{e, most}, 3)
	}
	return bounded{e, min(most, exact(d))}
}

// as converts x, clamped to what the type holds exactly.
func as(d tensor.DType, x bounded) bounded {
	from := x.e.Type().DType
	if from == d {
		return x
	}
	if d.IsFloat() {
		x = within(x, exact(d))
	}
	if from.Kind() == tensor.Signed && d.Kind() == tensor.Unsigned { // below 0 it wraps around
		x.most = math.Inf(1)
	}
	return bounded{tir.As(d, x.e), min(x.most, exact(d))}
}

// element draws the expression of one element of type d from x, what is mainly read.
func (g *generator) element(d tensor.DType, x bounded, dom *domain, v vars) bounded {
	e := as(d, x)
	for range g.IntN(3) {
		e = g.operation(e, dom, v)
	}
	return e
}

// operand draws a second operand: another element, a variable's value or a constant.
func (g *generator) operand(d tensor.DType, dom *domain, v vars) bounded {
	all, extents := append(append([]tir.Expr{}, v.i...), v.r...), append(dom.shape(), dom.reduce...)
	switch k := g.IntN(5); {
	case k == 3 && len(all) > 0:
		n := g.IntN(len(all))
		return as(d, bounded{all[n], float64(extents[n])})
	case k == 4:
		c := g.IntN(5) - 1
		if d.Kind() == tensor.Unsigned {
			c = max(c, 0)
		}
		return bounded{tir.Const(d, float64(c)), float64(max(c, -c))}
	}
	return as(d, g.other(dom, v))
}

// operation applies one operation to a, with a drawn operand where it takes two.
func (g *generator) operation(a bounded, dom *domain, v vars) bounded {
	d := a.e.Type().DType
	most := func(b bounded) float64 { return max(a.most, b.most) }
	binary := func(f func(a, b tir.Expr) tir.Expr, most func(b bounded) float64) bounded {
		b := g.operand(d, dom, v)
		return kept(f(a.e, b.e), most(b))
	}
	switch k := g.IntN(13); k {
	default:
		return binary(tir.Plus, func(b bounded) float64 { return a.most + b.most })
	case 2:
		return binary(tir.Minus, func(b bounded) float64 {
			if d.Kind() == tensor.Unsigned { // below 0 it wraps around
				return math.Inf(1)
			}
			return a.most + b.most
		})
	case 3, 4:
		return binary(tir.Times, func(b bounded) float64 { return a.most * b.most })
	case 5:
		return binary(tir.Maximum, most)
	case 6:
		return binary(tir.Minimum, most)
	case 7:
		return bounded{tir.Sel(g.condition(dom, v), a.e, tir.Const(d, 0)), a.most}
	case 8:
		return binary(func(a, b tir.Expr) tir.Expr { return tir.Sel(tir.Lt(a, b), b, a) }, most)
	case 9:
		if d.Kind() == tensor.Unsigned {
			return a
		}
		return bounded{tir.Abs.Of(a.e), a.most}
	case 10:
		if d.IsFloat() {
			return kept(tir.Minus(tir.Const(d, 1), a.e), a.most+1)
		}
		c := 2 + g.IntN(4)
		return bounded{tir.Bin(tir.FloorMod, a.e, tir.Const(d, float64(c))), float64(c - 1)}
	case 11:
		if d.IsFloat() {
			return bounded{tir.Floor.Of(a.e), a.most + 1}
		}
		return bounded{tir.Bin(tir.FloorDiv, a.e, tir.Const(d, 2)), a.most}
	case 12:
		if !g.o.Rounded || !d.IsFloat() {
			return within(a, 3)
		}
		return g.rounded(a)
	}
}

// rounded applies a function whose results are no integers. Their magnitude is small.
func (g *generator) rounded(a bounded) bounded {
	d := a.e.Type().DType
	one := tir.Const(d, 1)
	switch g.IntN(4) {
	case 1:
		return bounded{tir.Over(a.e, tir.Plus(tir.Abs.Of(a.e), one)), 1}
	case 2:
		return bounded{tir.Sqrt.Of(tir.Abs.Of(a.e)), math.Sqrt(a.most) + 1}
	case 3:
		return bounded{tir.Exp.Of(within(a, 2).e), 8}
	}
	return bounded{tir.Tanh.Of(a.e), 1}
}

// condition draws one of the iteration variables.
func (g *generator) condition(dom *domain, v vars) tir.Expr {
	all, extents := append(append([]tir.Expr{}, v.i...), v.r...), append(dom.shape(), dom.reduce...)
	if len(all) == 0 {
		return tir.True
	}
	n, m := g.IntN(len(all)), g.IntN(len(all))
	switch g.IntN(4) {
	case 1: // a triangle
		return tir.Le(all[n], all[m])
	case 2: // a checkerboard
		return tir.Eq(tir.Bin(tir.FloorMod, tir.Plus(all[n], all[m]), tir.I(2)), tir.I(0))
	case 3:
		return tir.Any(tir.Eq(all[n], tir.I(0)), tir.Gt(all[m], tir.I(extents[m]/2)))
	}
	return tir.Lt(all[n], tir.I(1+extents[n]/2))
}
