package llvm

import "math"

// Logarithms. x = 2^k · m.

// log32 has m in [2/3, 4/3] and a minimax polynomial for log(1+f), f = m - 1.
func (m fm) log32(x *val) *val {
	small := m.cmp("olt", x, m.k(0x1p-126))
	a := m.sel(small, m.mul(x, m.k(0x1p23)), x)
	k0 := m.sel(small, m.k(-23), m.k(0))
	ia := m.bits(a)
	e := m.bin("and", m.bin("sub", ia, m.bits(m.k(0.666666667))), m.ik(-1<<23))
	f := m.sub(m.float(m.bin("sub", ia, e)), m.k(1))
	k := m.add(m.e.op(m.f, "sitofp $0 to "+string(m.f), m.bin("ashr", e, m.ik(23))), k0)
	s := m.mul(f, f)
	r := m.fma(m.k(-0.130310059), s, m.k(-0.121483512))
	t := m.fma(m.k(0.140869141), s, m.k(0.139814854))
	r = m.fma(r, s, m.k(-0.166846126))
	t = m.fma(t, s, m.k(0.200120345))
	r = m.fma(r, s, m.k(-0.249996200))
	r = m.fma(t, f, r)
	r = m.fma(r, f, m.k(0.333331972))
	r = m.fma(r, f, m.k(-0.5))
	r = m.fma(r, s, f)
	r = m.fma(k, m.k(math.Ln2), r)
	return m.logEdges(x, r)
}

// logEdges puts in log of 0, of infinity, of NaN and of negative numbers.
func (m fm) logEdges(x, r *val) *val {
	r = m.sel(m.cmp("ult", x, m.inf()), r, x)                // infinity, NaN
	r = m.sel(m.cmp("olt", x, m.k(0)), m.nan(), r)           // negative
	r = m.sel(m.cmp("oeq", x, m.k(0)), m.k(math.Inf(-1)), r) // 0
	return m.sel(m.cmp("uno", x, x), x, r)
}

// split64 takes x > 0 apart: m in [√½, √2] and k as a float.
func (m fm) split64(x *val) (k, mant *val) {
	small := m.cmp("olt", x, m.k(0x1p-1022))
	a := m.sel(small, m.mul(x, m.k(0x1p54)), x)
	ia := m.bits(a)
	e := m.bin("and", m.bin("sub", ia, m.bits(m.k(math.Sqrt2/2))), m.ik(-1<<52))
	k = m.toFloat(m.bin("ashr", e, m.ik(52)))
	return m.add(k, m.sel(small, m.k(-54), m.k(0))), m.float(m.bin("sub", ia, e))
}

// The coefficients of log, log(1+f) = f - s·(f - R(s²)) with s = f/(2+f), are those of FreeBSD's msun (Sun Microsystems,
// 1993: "permission to use, copy, modify, and distribute this software is freely granted").
func (m fm) log(x *val) *val {
	k, mant := m.split64(x)
	f := m.sub(mant, m.k(1))
	s := m.div(f, m.add(m.k(2), f))
	z := m.mul(s, s)
	r := m.mul(z, m.poly(z, 6.666666666666735130e-01, 3.999999999940941908e-01, 2.857142874366239149e-01,
		2.222219843214978396e-01, 1.818357216161805012e-01, 1.531383769920937332e-01, 1.479819860511658591e-01))
	hfsq := m.mul(m.mul(m.k(0.5), f), f)
	low := m.fma(s, m.add(hfsq, r), m.mul(k, m.k(lo64)))
	return m.logEdges(x, m.fma(k, m.k(hi64), m.sub(f, m.sub(hfsq, low))))
}

// log2sum is log x as a sum of two floats, with about 65 correct bits, for finite x > 0. log m = 2·atanh(s), of whose
// series the first two terms are computed in pairs of floats.
func (m fm) log2sum(x *val) (h, l *val) {
	k, mant := m.split64(x)
	f := m.sub(mant, m.k(1))
	d := m.add(mant, m.k(1))
	dLow := m.sub(mant, m.sub(d, m.k(1)))
	s := m.div(f, d)
	sLow := m.div(m.fnma(s, dLow, m.fnma(s, d, f)), d)
	z := m.mul(s, s)
	zLow := m.fma(m.add(s, s), sLow, m.fms(s, s, z))
	u := m.mul(s, z) // s³
	uLow := m.add(m.fms(s, z, u), m.fma(s, zLow, m.mul(sLow, z)))
	const third, thirdLow = 0x1.5555555555555p-1, 0x1.5555555555555p-55 // 2/3
	v := m.mul(u, m.k(third))
	vLow := m.add(m.fms(u, m.k(third), v), m.fma(u, m.k(thirdLow), m.mul(uLow, m.k(third))))
	tail := m.mul(m.mul(u, z), m.poly(z, 2.0/5, 2.0/7, 2.0/9, 2.0/11, 2.0/13, 2.0/15, 2.0/17, 2.0/19, 2.0/21, 2.0/23, 2.0/25))
	h1, e1 := m.two(m.mul(k, m.k(hi64)), m.add(s, s))
	h2, e2 := m.two(h1, v)
	low := m.add(m.add(e1, e2), m.fma(k, m.k(lo64), m.add(m.add(sLow, sLow), m.add(vLow, tail))))
	h = m.add(h2, low)
	return h, m.sub(low, m.sub(h, h2))
}

// log1p is log(1+x): log u with u = 1+x rounded, and the first-order correction of that rounding.
func (m fm) log1p(x *val) *val {
	u := m.add(x, m.k(1))
	c := m.div(m.sub(x, m.sub(u, m.k(1))), u)
	r := m.add(m.log(u), c)
	return m.sel(m.both(m.cmp("olt", u, m.inf()), m.cmp("ogt", u, m.k(0))), r, m.log(u))
}

// asinh is log1p(a + a²/(1 + √(a²+1))) with a = |x|, and log a + ln 2 for large a.
func (m fm) asinh(x *val) *val {
	a := m.abs(x)
	q := m.mul(a, a)
	near := m.log1p(m.add(a, m.div(q, m.add(m.k(1), m.sqrt(m.add(q, m.k(1)))))))
	far := m.add(m.log(a), m.k(math.Ln2))
	return m.copysign(m.sel(m.cmp("ogt", a, m.k(0x1p28)), far, near), x)
}

// acosh is log1p(t + √(2t + t²)) with t = x - 1, and log x + ln 2 for large x.
func (m fm) acosh(x *val) *val {
	t := m.sub(x, m.k(1))
	near := m.log1p(m.add(t, m.sqrt(m.fma(t, t, m.add(t, t)))))
	r := m.sel(m.cmp("ogt", x, m.k(0x1p28)), m.add(m.log(x), m.k(math.Ln2)), near)
	return m.sel(m.cmp("olt", x, m.k(1)), m.nan(), r)
}

// atanh is log1p(2a/(1-a))/2 with a = |x|.
func (m fm) atanh(x *val) *val {
	a := m.abs(x)
	r := m.mul(m.k(0.5), m.log1p(m.div(m.add(a, a), m.sub(m.k(1), a))))
	return m.copysign(m.sel(m.cmp("ogt", a, m.k(1)), m.nan(), r), x)
}
