package llvm

import (
	"math"
	"math/big"

	"github.com/texel-ml/texel/tir"
)

// Slow exact functions as the oracle of float64: 512 bits, more for the reduction of large angles.

const bigPrec = 512

func bf(x float64) *big.Float { return new(big.Float).SetPrec(bigPrec).SetFloat64(x) }

func bnew() *big.Float { return new(big.Float).SetPrec(bigPrec) }

func badd(a, b *big.Float) *big.Float { return bnew().Add(a, b) }
func bsub(a, b *big.Float) *big.Float { return bnew().Sub(a, b) }
func bmul(a, b *big.Float) *big.Float { return bnew().Mul(a, b) }
func bdiv(a, b *big.Float) *big.Float { return bnew().Quo(a, b) }

var bigLn2 = func() *big.Float { // Σ 1/(k·2^k)
	s := bnew()
	for k := 1; k < bigPrec+8; k++ {
		t := bdiv(bf(1), bf(float64(k)))
		s = badd(s, t.SetMantExp(t, -k))
	}
	return s
}()

// bigPi has the precision of the largest angles: 16·atan(1/5) - 4·atan(1/239).
var bigPi = func() *big.Float {
	const prec = 1800
	arctan := func(n int64) *big.Float {
		x := new(big.Float).SetPrec(prec).Quo(new(big.Float).SetPrec(prec).SetInt64(1), new(big.Float).SetPrec(prec).SetInt64(n))
		sq := new(big.Float).SetPrec(prec).Mul(x, x)
		s, p := new(big.Float).SetPrec(prec), x
		for k := int64(1); k < 2000; k += 2 {
			t := new(big.Float).SetPrec(prec).Quo(p, new(big.Float).SetPrec(prec).SetInt64(k))
			if k%4 == 1 {
				s.Add(s, t)
			} else {
				s.Sub(s, t)
			}
			p = new(big.Float).SetPrec(prec).Mul(p, sq)
		}
		return s
	}
	a, b := arctan(5), arctan(239)
	a.Mul(a, new(big.Float).SetInt64(16))
	return a.Sub(a, b.Mul(b, new(big.Float).SetInt64(4)))
}()

func bigExp(x *big.Float) *big.Float {
	q, _ := bdiv(x, bigLn2).Float64()
	k := math.Round(q)
	r := bsub(x, bmul(bf(k), bigLn2))
	r.SetMantExp(r, -32)
	s, t := bf(1), bf(1)
	for n := 1; n < 18; n++ {
		t = bdiv(bmul(t, r), bf(float64(n)))
		s = badd(s, t)
	}
	for range 32 {
		s = bmul(s, s)
	}
	return s.SetMantExp(s, int(k))
}

func bigLog(x *big.Float) *big.Float {
	m := bnew()
	e := x.MantExp(m)
	f, _ := m.Float64()
	y := bf(math.Log(f))
	for range 3 {
		p := bigExp(y)
		d := bdiv(bsub(m, p), badd(m, p))
		y = badd(y, badd(d, d))
	}
	return badd(y, bmul(bf(float64(e)), bigLn2))
}

func bigSqrt(x *big.Float) *big.Float { return bnew().Sqrt(x) }

// bigSinCos reduces by π/2 and sums the series.
func bigSinCos(x float64) (sin, cos *big.Float) {
	half := new(big.Float).SetPrec(1800).Quo(bigPi, big.NewFloat(2))
	bx := new(big.Float).SetPrec(1800).SetFloat64(x)
	q := new(big.Float).SetPrec(1800).Quo(bx, half)
	n, _ := new(big.Float).SetPrec(1800).Add(q, big.NewFloat(math.Copysign(0.5, x))).Int(nil)
	r := new(big.Float).SetPrec(1800).Sub(bx, new(big.Float).SetPrec(1800).Mul(new(big.Float).SetPrec(1800).SetInt(n), half))
	r = bnew().Set(r)
	s, c, t := bnew(), bnew(), bf(1)
	for k := 0; k < 90; k++ {
		term := bnew().Set(t)
		if k%4 >= 2 {
			term.Neg(term)
		}
		if k%2 == 0 {
			c = badd(c, term)
		} else {
			s = badd(s, term)
		}
		t = bdiv(bmul(t, r), bf(float64(k+1)))
	}
	switch new(big.Int).And(n, big.NewInt(3)).Int64() {
	case 0:
		return s, c
	case 1:
		return c, s.Neg(s)
	case 2:
		return s.Neg(s), c.Neg(c)
	}
	return c.Neg(c), s
}

// bigAtan halves the angle eight times and sums the series.
func bigAtan(x *big.Float) *big.Float {
	y := bnew().Set(x)
	for range 8 {
		y = bdiv(y, badd(bf(1), bigSqrt(badd(bf(1), bmul(y, y)))))
	}
	sq, s, p := bmul(y, y), bnew(), y
	for k := 1; k < 140; k += 2 {
		t := bdiv(p, bf(float64(k)))
		if k%4 == 1 {
			s = badd(s, t)
		} else {
			s = bsub(s, t)
		}
		p = bmul(p, sq)
	}
	return s.SetMantExp(s, 8)
}

func bigErf(x float64) *big.Float {
	if math.Abs(x) > 7 {
		return bf(math.Copysign(1, x))
	}
	b := bf(x)
	sq, s, p := bmul(b, b), bnew(), b // Σ (-1)^n x^(2n+1) / (n! (2n+1))
	for n := 0; n < 400; n++ {
		t := bdiv(p, bf(float64(2*n+1)))
		if n%2 == 0 {
			s = badd(s, t)
		} else {
			s = bsub(s, t)
		}
		p = bdiv(bmul(p, sq), bf(float64(n+1)))
	}
	return bdiv(badd(s, s), bigSqrt(bnew().Set(bigPi)))
}

// exact returns f(x, y) as a float64 and what that lacks, by big numbers; ok is false for special values, where Go's
// functions are right.
func exact(f tir.Intrinsic, x, y float64) (hi, lo float64, ok bool) {
	if math.IsNaN(x) || math.IsInf(x, 0) || x == 0 {
		return 0, 0, false
	}
	tiny := math.Abs(x) < 0x1p-150
	b, one := bf(x), bf(1)
	var r *big.Float
	odd := func(g func() *big.Float) {
		if tiny {
			r = b
		} else {
			r = g()
		}
	}
	e2 := func() (p, m *big.Float) { p = bigExp(b); return p, bdiv(one, p) }
	switch f {
	case tir.Exp:
		if x > 709.8 || x < -745.2 {
			return 0, 0, false
		}
		r = bigExp(b)
	case tir.Log:
		if x < 0 {
			return 0, 0, false
		}
		if r = bigLog(b); x == 1 {
			return 0, 0, false
		}
	case tir.Sigmoid:
		if math.Abs(x) > 745 {
			return 0, 0, false
		}
		r = bdiv(one, badd(one, bigExp(bf(-x))))
	case tir.Tanh, tir.Sinh, tir.Cosh:
		if math.Abs(x) > 710.4 || f == tir.Tanh && math.Abs(x) > 300 {
			return 0, 0, false
		}
		switch p, m := e2(); f {
		case tir.Tanh:
			odd(func() *big.Float { return bdiv(bsub(p, m), badd(p, m)) })
		case tir.Sinh:
			odd(func() *big.Float { return bmul(bf(0.5), bsub(p, m)) })
		default:
			r = bmul(bf(0.5), badd(p, m))
		}
	case tir.Erf:
		r = bigErf(x)
	case tir.Sin, tir.Cos, tir.Tan:
		s, c := bigSinCos(x)
		switch f {
		case tir.Sin:
			odd(func() *big.Float { return s })
		case tir.Cos:
			r = c
		default:
			odd(func() *big.Float { return bdiv(s, c) })
		}
	case tir.Asin, tir.Acos:
		if math.Abs(x) >= 1 {
			return 0, 0, false
		}
		s := bigAtan(bdiv(b, bigSqrt(bsub(one, bmul(b, b)))))
		if f == tir.Asin {
			odd(func() *big.Float { return s })
		} else {
			r = bsub(bdiv(bnew().Set(bigPi), bf(2)), s)
		}
	case tir.Atan:
		odd(func() *big.Float { return bigAtan(b) })
	case tir.Asinh:
		a := bnew().Abs(b)
		odd(func() *big.Float {
			l := bigLog(badd(a, bigSqrt(badd(one, bmul(a, a)))))
			if x < 0 {
				l.Neg(l)
			}
			return l
		})
	case tir.Acosh:
		if x <= 1 {
			return 0, 0, false
		}
		r = bigLog(badd(b, bigSqrt(bsub(bmul(b, b), one))))
	case tir.Atanh:
		if math.Abs(x) >= 1 {
			return 0, 0, false
		}
		odd(func() *big.Float { return bmul(bf(0.5), bigLog(bdiv(badd(one, b), bsub(one, b)))) })
	case tir.Rsqrt:
		if x < 0 {
			return 0, 0, false
		}
		r = bdiv(one, bigSqrt(b))
	case tir.Pow:
		if x < 0 || math.IsNaN(y) || math.IsInf(y, 0) {
			return 0, 0, false
		}
		p := bmul(bf(y), bigLog(b))
		if q, _ := p.Float64(); math.Abs(q) > 744 || q > 709.7 {
			return 0, 0, false
		}
		r = bigExp(p)
	default:
		return 0, 0, false
	}
	hi, _ = r.Float64()
	if math.IsInf(hi, 0) {
		return hi, 0, true
	}
	lo, _ = bsub(r, bf(hi)).Float64()
	return hi, lo, true
}
