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

// intPow is x to the power of n by squaring, wrapped. A negative n gives what 1/x^|n| truncates to.
func (e *emitter) intPow(x, n *val, signed bool) *val {
	name := "upow"
	if signed {
		name = "spow"
	}
	return e.callMath(name, []*val{x, n}, func(s *emitter, in []*val) *val {
		x, n, t := in[0], in[1], in[0].t
		zero, one := s.int(t, 0), s.int(t, 1)
		entry, loop, out := s.b, s.newBlock(), s.newBlock()
		// What a negative exponent gives: 1 for 1, ±1 for -1, else 0. Only 1 and -1 keep that size in the loop too.
		less := s.int(i1, 0)
		if signed {
			less = s.here(i1, "icmp slt $0, 0", n)
		}
		unit := s.here(i1, "icmp ult $0, 3", s.here(t, "add $0, 1", x)) // -1, 0, 1
		live := s.here(i1, "and $0, %1", unit, s.here(i1, "icmp ne $0, 0", x))
		base := s.here(t, "select $0, $1, $2", less, s.here(t, "select $0, $1, $2", live, x, zero), x)
		s.br(loop)
		s.at(loop)
		left, power, product := s.phi(t), s.phi(t), s.phi(t)
		l, p, r := s.wrap(left, t, 0), s.wrap(power, t, 0), s.wrap(product, t, 0)
		odd := s.here(i1, "trunc $0 to i1", l)
		r2 := s.here(t, "select $0, $1, $2", odd, s.here(t, "mul $0, %1", r, p), r)
		p2 := s.here(t, "mul $0, %1", p, p)
		l2 := s.here(t, "lshr $0, 1", l)
		incoming(left, n.Value, entry)
		incoming(left, l2.Value, loop)
		incoming(power, base.Value, entry)
		incoming(power, p2.Value, loop)
		incoming(product, one.Value, entry)
		incoming(product, r2.Value, loop)
		s.condBr(s.here(i1, "icmp eq $0, 0", l2).Value, out, loop)
		s.at(out)
		return r2
	})
}
