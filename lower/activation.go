package lower

import (
	"math"

	"github.com/texel-ml/texel/relay"
	"github.com/texel-ml/texel/tensor"
	"github.com/texel-ml/texel/tir"
)

// The activations. Where a formula would give NaN for an infinite operand although its limit exists, the operand is
// bounded first; a NaN stays one everywhere.

func elemRelu(_ any, d tensor.DType, x []tir.Expr) tir.Expr {
	if d.Kind() == tensor.Unsigned {
		return x[0]
	}
	return tir.Maximum(x[0], num(d, 0))
}

func negativePart(x, below tir.Expr) tir.Expr { return tir.Sel(tir.Lt(x, like(x, 0)), below, x) }

func elemLeakyRelu(a any, d tensor.DType, x []tir.Expr) tir.Expr {
	return negativePart(x[0], tir.Times(x[0], num(d, a.(*relay.AlphaAttrs).Alpha)))
}

// expm1 is e^x − 1 for x ≤ 0, with an absolute error of a unit in the last place of 1.
func expm1(x tir.Expr) tir.Expr { return tir.Minus(fn(tir.Exp, x), like(x, 1)) }

func elemElu(a any, d tensor.DType, x []tir.Expr) tir.Expr {
	return negativePart(x[0], tir.Times(expm1(x[0]), num(d, a.(*relay.AlphaAttrs).Alpha)))
}

func elemSelu(a any, d tensor.DType, x []tir.Expr) tir.Expr {
	at := a.(*relay.SeluAttrs)
	return tir.Sel(tir.Lt(x[0], num(d, 0)), tir.Times(expm1(x[0]), num(d, at.Gamma*at.Alpha)), tir.Times(x[0], num(d, at.Gamma)))
}

func elemCelu(a any, d tensor.DType, x []tir.Expr) tir.Expr {
	alpha := num(d, a.(*relay.AlphaAttrs).Alpha)
	return negativePart(x[0], tir.Times(expm1(tir.Over(x[0], alpha)), alpha))
}

func elemThresholdedRelu(a any, d tensor.DType, x []tir.Expr) tir.Expr {
	return tir.Sel(tir.Bin(tir.LE, x[0], num(d, a.(*relay.AlphaAttrs).Alpha)), num(d, 0), x[0])
}

func elemHardSigmoid(a any, d tensor.DType, x []tir.Expr) tir.Expr {
	at := a.(*relay.HardSigmoidAttrs)
	y := tir.Plus(tir.Times(x[0], num(d, at.Alpha)), num(d, at.Beta))
	return tir.Maximum(tir.Minimum(y, num(d, 1)), num(d, 0))
}

// elemHardSwish: below −3 the product is 0, so x may be raised to −3, where the inner sum is 0 without a lower bound.
func elemHardSwish(_ any, d tensor.DType, x []tir.Expr) tir.Expr {
	m, c := tir.Maximum(x[0], num(d, -3)), sixth(d)
	return tir.Times(m, tir.Minimum(tir.Plus(tir.Times(m, num(d, c)), num(d, 3*c)), num(d, 1)))
}

// sixth is the number of type d next below 1/6. Its threefold is a number of type d too, so that −3·sixth + 3·sixth is 0 whether
// or not the product is rounded.
func sixth(d tensor.DType) float64 {
	if d == tensor.Float64 {
		return math.Nextafter(1.0/6, 0)
	}
	return float64(math.Nextafter32(1.0/6, 0))
}

func elemSwish(a any, d tensor.DType, x []tir.Expr) tir.Expr {
	beta := a.(*relay.SwishAttrs).Beta
	largest := math.MaxFloat32
	if d == tensor.Float64 {
		largest = math.MaxFloat64
	}
	bounded := tir.Maximum(x[0], num(d, -largest))
	if beta < 0 {
		bounded = tir.Minimum(x[0], num(d, largest))
	}
	arg := x[0]
	if beta != 1 {
		arg = tir.Times(arg, num(d, beta))
	}
	return tir.Times(bounded, fn(tir.Sigmoid, arg))
}

func elemGelu(a any, d tensor.DType, x []tir.Expr) tir.Expr {
	half, one := tir.Times(x[0], num(d, 0.5)), num(d, 1)
	if a.(*relay.GeluAttrs).Approximate == "tanh" {
		k := math.Sqrt(2 / math.Pi)
		inner := tir.Times(x[0], tir.Plus(tir.Times(square(x[0]), num(d, k*0.044715)), num(d, k)))
		return tir.Times(half, tir.Plus(fn(tir.Tanh, inner), one))
	}
	return tir.Times(half, tir.Plus(fn(tir.Erf, tir.Times(x[0], num(d, math.Sqrt2/2))), one))
}

// elemSoftplus: log(e^x + 1) = max(x, 0) + log(1 + e^−|x|), which cannot overflow.
func elemSoftplus(_ any, d tensor.DType, x []tir.Expr) tir.Expr {
	e := fn(tir.Exp, tir.Times(fn(tir.Abs, x[0]), num(d, -1)))
	return tir.Plus(tir.Maximum(x[0], num(d, 0)), log1p(e))
}

// log1p is log(1 + e) for e in [0, 1] to a few units in the last place: what rounding 1 + e to u loses is put back by the
// factor e / (u − 1).
func log1p(e tir.Expr) tir.Expr {
	u := tir.Plus(e, like(e, 1))
	kept := tir.Minus(u, like(e, 1))
	return tir.Sel(tir.Eq(kept, like(e, 0)), e, tir.Times(fn(tir.Log, u), tir.Over(e, kept)))
}

func elemSoftsign(_ any, d tensor.DType, x []tir.Expr) tir.Expr {
	return tir.Over(x[0], tir.Plus(fn(tir.Abs, x[0]), num(d, 1)))
}

// elemMish: tanh(log(1 + e)) = n / (n + 2) with e = e^x and n = e·(e + 2); beyond 40 it is 1.
func elemMish(_ any, d tensor.DType, x []tir.Expr) tir.Expr {
	e := fn(tir.Exp, tir.Minimum(x[0], num(d, 40)))
	n := tir.Times(e, tir.Plus(e, num(d, 2)))
	return tir.Times(x[0], tir.Over(n, tir.Plus(n, num(d, 2))))
}

func elemShrink(a any, d tensor.DType, x []tir.Expr) tir.Expr {
	at := a.(*relay.ShrinkAttrs)
	above := tir.Sel(tir.Gt(x[0], num(d, at.Lambd)), tir.Minus(x[0], num(d, at.Bias)), num(d, 0))
	return tir.Sel(tir.Lt(x[0], num(d, -at.Lambd)), tir.Plus(x[0], num(d, at.Bias)), above)
}
