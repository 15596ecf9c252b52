package llvm

import "math"

// Exponentials. x = n·ln 2 + r with |r| ≤ ln 2 / 2, e^x = 2^n · e^r. The high part of ln 2 has so few bits that its
// product with n is exact.

const (
	log2e  = math.Log2E
	hi32   = 0x1.62e4p-1     // ln 2, 15 bits
	lo32   = 0x1.7f7d1cp-20  // the rest
	hi64   = 0x1.62e42feep-1 // ln 2, 32 bits
	lo64   = 0x1.a39ef35793c76p-33
	least  = -104.0 // e^least is 0 in float32
	most   = 89.0   // e^most is infinite
	least6 = -746.0 // the same in float64
	most6  = 712.0  // beyond infinity, for callers that halve the result
)

// expm1Tail32 is (e^r - 1 - r) / r² on |r| ≤ ln 2 / 2, a minimax polynomial.
var expm1Tail32 = []float64{4.99999851e-1, 1.66664720e-1, 4.16695364e-2, 8.37312452e-3, 1.37805939e-3}

func (m fm) reduce32(x *val) (r, i *val) {
	n, i := m.round(x, log2e)
	r = m.fnma(n, m.k(hi32), x)
	return m.fnma(n, m.k(lo32), r), i
}

func (m fm) exp32(x *val) *val {
	r, i := m.reduce32(m.within(x, least, most))
	p := m.fma(m.fma(m.poly(r, expm1Tail32...), r, m.k(1)), r, m.k(1))
	return m.scale(p, i)
}

// sigmoid32 is 1/(1+e^-x): with e = e^-|x|, which cannot overflow, 1/(1+e) for x ≥ 0 and e/(1+e) below.
func (m fm) sigmoid32(x *val) *val {
	e := m.exp32(m.neg(m.abs(x)))
	return m.div(m.sel(m.cmp("olt", x, m.k(0)), e, m.k(1)), m.add(e, m.k(1)))
}

// tanh32 is E/(E+2) with E = e^2|x| - 1. Above 2|x| = 20 it is 1.
func (m fm) tanh32(x *val) *val {
	a := m.abs(x)
	r, i := m.reduce32(m.atMost(m.add(a, a), 20))
	s := m.pow2(i)
	em1 := m.fma(m.mul(r, r), m.poly(r, expm1Tail32...), r)
	e := m.fma(s, em1, m.sub(s, m.k(1)))
	return m.copysign(m.div(e, m.add(e, m.k(2))), x)
}

// expTail is (e^r - 1 - r) / r² by its Taylor series up to r^13/13!.
var expTail = []float64{1.0 / 2, 1.0 / 6, 1.0 / 24, 1.0 / 120, 1.0 / 720, 1.0 / 5040, 1.0 / 40320, 1.0 / 362880, 1.0 / 3628800,
	1.0 / 39916800, 1.0 / 479001600, 1.0 / 6227020800}

// reduce is x = n·ln 2 + r + err.
func (m fm) reduce(x *val) (r, err, i *val) {
	n, i := m.round(x, log2e)
	h := m.fnma(n, m.k(hi64), x)
	t := m.mul(n, m.k(lo64))
	r = m.sub(h, t)
	return r, m.sub(m.sub(h, r), t), i
}

// exp is 2^k · e^(x+lo); lo may be nil, and is small except where the result is 0 or infinite anyway.
func (m fm) exp(x, lo *val, k int64) *val {
	r, err, i := m.reduce(m.within(x, least6, most6))
	tail := m.mul(m.mul(r, r), m.poly(r, expTail...))
	em1 := m.add(tail, m.add(r, m.fma(err, r, err)))
	if lo != nil {
		e := m.add(tail, r)
		err = m.add(err, m.within(lo, -0x1p-20, 0x1p-20))
		em1 = m.add(e, m.fma(err, e, err))
	}
	p := m.add(em1, m.k(1))
	if k != 0 {
		i = m.bin("add", i, m.ik(k))
	}
	return m.scale(p, i)
}

// expm1 is e^x - 1 for x ≤ 709.
func (m fm) expm1(x *val) *val {
	r, err, i := m.reduce(m.within(x, -50, 709))
	s := m.pow2(i)
	em1 := m.add(r, m.fma(m.mul(r, r), m.poly(r, expTail...), m.fma(err, r, err)))
	return m.fma(s, em1, m.sub(s, m.k(1)))
}

func (m fm) sigmoid(x *val) *val {
	e := m.exp(m.neg(m.abs(x)), nil, 0)
	return m.div(m.sel(m.cmp("olt", x, m.k(0)), e, m.k(1)), m.add(e, m.k(1)))
}

func (m fm) tanh(x *val) *val {
	a := m.abs(x)
	e := m.expm1(m.atMost(m.add(a, a), 44))
	return m.copysign(m.div(e, m.add(e, m.k(2))), x)
}

// sinh is (E + E/(E+1))/2 with E = e^|x| - 1, and e^|x|/2 where 1/E no longer counts.
func (m fm) sinh(x *val) *val {
	a := m.abs(x)
	e := m.expm1(m.atMost(a, 30))
	near := m.mul(m.k(0.5), m.add(e, m.div(e, m.add(e, m.k(1)))))
	return m.copysign(m.sel(m.cmp("ogt", a, m.k(22)), m.exp(m.atMost(a, 711), nil, -1), near), x)
}

func (m fm) cosh(x *val) *val {
	a := m.abs(x)
	e := m.exp(m.atMost(a, 30), nil, 0)
	near := m.fma(m.k(0.5), e, m.div(m.k(0.5), e))
	return m.sel(m.cmp("ogt", a, m.k(22)), m.exp(m.atMost(a, 711), nil, -1), near)
}
