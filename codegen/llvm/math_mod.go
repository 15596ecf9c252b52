package llvm

import "math"

// floatMod is C's fmod: x - y·trunc(x/y), exact, with the sign of x. float32 goes through float64, which holds the same
// result.
func (e *emitter) floatMod(x, y *val) *val {
	elem, n := split(x.t)
	if elem != "double" {
		d := vec("double", n)
		r := e.floatMod(e.op(d, "fpext $0 to "+string(d), x), e.op(d, "fpext $0 to "+string(d), y))
		return e.op(x.t, "fptrunc $0 to "+string(x.t), r)
	}
	lanes := make([]*val, n)
	for i := range lanes {
		lanes[i] = e.callMath("fmod", []*val{e.lane(x, i), e.lane(y, i)}, longDivision)
	}
	return e.build(lanes)
}

// longDivision divides the mantissas as integers, eleven bits of the quotient at a time, and keeps the rest.
func longDivision(s *emitter, in []*val) *val {
	m, x, y := s.math("double"), in[0], in[1]
	ax, ay := m.abs(x), m.abs(y)
	small, divide, loop, done, out := s.newBlock(), s.newBlock(), s.newBlock(), s.newBlock(), s.newBlock()
	ordinary := s.newBlock()
	entry := s.b
	// Infinite x, zero y and NaN have no result; the quotient below is NaN for them.
	fine := m.both(m.cmp("olt", ax, m.inf()), m.cmp("ogt", ay, m.k(0)))
	s.condBr(fine.Value, ordinary, out)
	s.at(ordinary)
	s.condBr(m.cmp("olt", ax, ay).Value, small, divide)
	s.at(small)
	s.br(out)

	s.at(divide)
	mx, ex := s.mantissa(m, ax)
	my, ey := s.mantissa(m, ay)
	first := s.here(i64, "urem $0, %1", mx, my)
	steps := s.here(i64, "sub $0, %1", ex, ey)
	s.br(loop)
	s.at(loop)
	left, rest := s.phi(i64), s.phi(i64)
	l, r := s.wrap(left, i64, 0), s.wrap(rest, i64, 0)
	k := s.here(i64, "call i64 @llvm.umin.i64($0, i64 11)", l)
	s.m.declare("llvm.umin.i64", i64, i64, i64)
	r2 := s.here(i64, "urem $0, %1", s.here(i64, "shl $0, %1", r, k), my)
	l2 := s.here(i64, "sub $0, %1", l, k)
	incoming(left, steps.Value, divide)
	incoming(left, l2.Value, loop)
	incoming(rest, first.Value, divide)
	incoming(rest, r2.Value, loop)
	s.condBr(s.here(i1, "icmp eq $0, 0", l2).Value, done, loop)

	s.at(done)
	f := s.here("double", "sitofp $0 to double", r2)
	e := s.here(i64, "sub $0, %1", ey, m.ik(1075))
	half := s.here(i64, "ashr $0, %1", e, m.ik(1))
	pow := func(i *val) *val {
		b := s.here(i64, "shl $0, %1", s.here(i64, "add $0, %1", i, m.ik(1023)), m.ik(52))
		return s.here("double", "bitcast $0 to double", b)
	}
	f = s.here("double", "fmul $0, %1", s.here("double", "fmul $0, %1", f, pow(half)), pow(s.here(i64, "sub $0, %1", e, half)))
	s.m.declare("llvm.copysign.f64", tok("double"), "double", "double")
	f = s.here("double", "call double @llvm.copysign.f64($0, $1)", f, x)
	s.br(out)

	s.at(out)
	p := s.phi("double")
	incoming(p, konst{"double", floatText("double", math.NaN())}, entry)
	incoming(p, x.Value, small)
	incoming(p, f.Value, done)
	r3 := s.wrap(p, "double", 0)
	return s.here("double", "select $0, $1, $2", s.here(i1, "fcmp uno $0, %1", x, y), s.here("double", "fadd $0, %1", x, y), r3)
}

// mantissa takes a > 0 apart: an integer of 53 bits and an exponent, a = mant·2^(exp-1075).
func (s *emitter) mantissa(m fm, a *val) (mant, exp *val) {
	bits := s.here(i64, "bitcast $0 to i64", a)
	exp = s.here(i64, "lshr $0, %1", bits, m.ik(52))
	frac := s.here(i64, "and $0, %1", bits, m.ik(1<<52-1))
	s.m.declare("llvm.ctlz.i64", i64, i64, i1)
	zeros := s.here(i64, "sub $0, %1", s.here(i64, "call i64 @llvm.ctlz.i64($0, i1 false)", frac), m.ik(11))
	subnormal := s.here(i1, "icmp eq $0, 0", exp)
	full := s.here(i64, "or $0, %1", frac, m.ik(1<<52))
	shifted := s.here(i64, "shl $0, %1", frac, s.here(i64, "and $0, %1", zeros, m.ik(63)))
	mant = s.here(i64, "select $0, $1, $2", subnormal, shifted, full)
	exp = s.here(i64, "select $0, $1, $2", subnormal, s.here(i64, "sub $0, %1", m.ik(1), zeros), exp)
	return mant, exp
}
