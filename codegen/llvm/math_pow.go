package llvm

import "math"

// pow is x^y = e^(y·log|x|) with the cases of IEEE 754. The logarithm and the product are sums of two floats, unless
// quick: then one is enough for a result that is rounded to float32.
func (m fm) pow(x, y *val, quick bool) *val {
	a := m.abs(x)
	inf, zero, one := m.inf(), m.k(0), m.k(1)
	// Far exponents give 0, 1 or infinity just as well when they are this large.
	const far = 0x1p65
	yc := m.within(y, -far, far)
	safe := m.sel(m.both(m.cmp("ogt", a, zero), m.cmp("olt", a, inf)), a, one)
	var r *val
	if quick {
		r = m.exp(m.mul(yc, m.log(safe)), nil, 0)
	} else {
		h, l := m.log2sum(safe)
		p := m.mul(yc, h)
		r = m.exp(p, m.fma(yc, l, m.fms(yc, h, p)), 0)
	}

	yNegative := m.cmp("olt", y, zero)
	whole := m.cmp("oeq", m.e.call("floor", m.f, y), y)
	half := m.mul(y, m.k(0.5))
	odd := m.both(whole, m.cmp("one", m.e.call("floor", m.f, half), half))
	// x is 0 or infinite.
	edge := m.either(m.cmp("oeq", a, zero), m.cmp("oeq", a, inf))
	vanish := m.e.op(m.c, "xor $0, %1", m.cmp("oeq", a, inf), m.e.not(yNegative))
	r = m.sel(edge, m.sel(vanish, zero, inf), r)
	// y is infinite.
	grows := m.e.op(m.c, "xor $0, %1", m.cmp("ogt", a, one), yNegative)
	yInf := m.cmp("oeq", m.abs(y), inf)
	r = m.sel(yInf, m.sel(grows, inf, zero), r)
	r = m.sel(m.both(yInf, m.cmp("oeq", a, one)), one, r)
	// Negative bases: odd exponents negate, exponents that are no integers have no result.
	negative := m.e.op(m.c, "icmp slt $0, %1", m.bits(x), m.ik(0))
	r = m.sel(m.both(negative, odd), m.neg(r), r)
	bad := m.both(m.both(m.cmp("olt", x, zero), m.e.not(whole)), m.cmp("one", x, m.k(math.Inf(-1))))
	r = m.sel(bad, m.nan(), r)
	r = m.sel(m.cmp("uno", x, y), m.nan(), r)
	return m.sel(m.either(m.cmp("oeq", y, zero), m.cmp("oeq", x, one)), one, r)
}
