package llvm

import (
	"fmt"
	"math"
	"strings"

	"github.com/llir/llvm/ir"
	"github.com/llir/llvm/ir/constant"
	"github.com/llir/llvm/ir/enum"
)

// Circular functions. Up to 2^30, x = n·π/2 + r by a value of π/2 in three floats with exact products; beyond, by the
// bits of 4/π that matter for x (Payne and Hanek), lane by lane.

const (
	pio2    = 0x1.921fb54442d18p+0
	pio2b   = 0x1.1a62633145c07p-54
	pio2c   = -0x1.f1976b7ed8fbcp-110
	trigFar = 0x1p30
)

// circular is sin(x + shift·π/2).
func (m fm) circular(x *val, shift int64) *val {
	e := m.e
	near := m.circularNear(x, shift)
	if m.n == 1 {
		return e.branch(m.cmp("oge", m.abs(x), m.k(trigFar)), func() *val { return e.trigFar(x, shift) }, func() *val { return near })
	}
	far := m.cmp("oge", m.abs(x), m.k(trigFar))
	some := e.any(far)
	return e.branch(some, func() *val {
		lanes := make([]*val, m.n)
		for i := range lanes {
			old := e.lane(near, i)
			lanes[i] = e.branch(e.lane(far, i), func() *val { return e.trigFar(e.lane(x, i), shift) }, func() *val { return old })
		}
		return e.build(lanes)
	}, func() *val { return near })
}

func (m fm) circularNear(x *val, shift int64) *val {
	xc := m.within(x, -trigFar, trigFar)
	n, i := m.round(xc, 2/math.Pi)
	p := m.mul(n, m.k(pio2))
	pLow := m.fms(n, m.k(pio2), p)
	a := m.sub(xc, p) // exact
	s1, e1 := m.two(a, m.neg(pLow))
	b := m.mul(n, m.k(pio2b))
	bLow := m.fms(n, m.k(pio2b), b)
	s2, e2 := m.two(s1, m.neg(b))
	low := m.sub(m.add(e1, e2), m.fma(n, m.k(pio2c), bLow))
	r := m.add(s2, low)
	low = m.sub(low, m.sub(r, s2))
	v := m.quadrant(r, low, m.bin("add", i, m.ik(shift)))
	v = m.sel(m.cmp("oeq", m.abs(x), m.inf()), m.nan(), v)
	if shift == 0 { // keeps the sign of zero
		v = m.sel(m.cmp("oeq", x, m.k(0)), x, v)
	}
	return m.sel(m.cmp("uno", x, x), x, v)
}

// quadrant is sin(r + low + q·π/2) for |r| ≤ π/4. The polynomials are those of FreeBSD's msun (Sun Microsystems, 1993:
// "permission to use, copy, modify, and distribute this software is freely granted").
func (m fm) quadrant(r, low, q *val) *val {
	z := m.mul(r, r)
	half := m.k(0.5)
	ps := m.poly(z, 8.33333333332248946124e-03, -1.98412698298579493134e-04, 2.75573137070700676789e-06, -2.50507602534068634195e-08, 1.58969099521155010221e-10)
	v := m.mul(z, r)
	sin := m.sub(r, m.fnma(v, m.k(-1.66666666666666324348e-01), m.fms(z, m.fnma(v, ps, m.mul(half, low)), low)))
	pc := m.mul(z, m.poly(z, 4.16666666666666019037e-02, -1.38888888888741095749e-03, 2.48015872894767294178e-05, -2.75573143513906633035e-07, 2.08757232129817482790e-09, -1.13596475577881948265e-11))
	hz := m.mul(half, z)
	w := m.sub(m.k(1), hz)
	cos := m.add(w, m.add(m.sub(m.sub(m.k(1), w), hz), m.fms(z, pc, m.mul(r, low))))
	isCos := m.e.op(m.c, "icmp ne $0, %1", m.bin("and", q, m.ik(1)), m.ik(0))
	s := m.sel(isCos, cos, sin)
	flip := m.bin("shl", m.bin("and", q, m.ik(2)), m.ik(62))
	return m.float(m.bin("xor", m.bits(s), flip))
}

// fourOverPi are the binary digits of 4/π; the first word is its integer part.
var fourOverPi = []uint64{
	0x0000000000000001, 0x45f306dc9c882a53, 0xf84eafa3ea69bb81, 0xb6c52b3278872083, 0xfca2c757bd778ac3,
	0x6e48dc74849ba5c0, 0x0c925dd413a32439, 0xfc3bd63962534e7d, 0xd1046bea5d768909, 0xd338e04d68befc82,
	0x7323ac7306a673e9, 0x3908bf177bf25076, 0x3ff12fffbc0b301f, 0xde5e2316b414da3e, 0xda6cfd9e4f96136e,
	0x9e8c7ecd3cbfd45a, 0xea4f758fd7cbe2f6, 0x7a0e73ef14a525d4, 0xd7f6bf623f1aba10, 0xac06608df8f6d757,
}

// trigFar is sin(x + shift·π/2) of a finite scalar with |x| ≥ 2^30; infinities and NaN give NaN.
func (e *emitter) trigFar(x *val, shift int64) *val {
	return e.callMath(fmt.Sprintf("far%d", shift), []*val{x}, func(s *emitter, in []*val) *val {
		m, x := s.math("double"), in[0]
		r, low, q := s.payneHanek(m.abs(x))
		// sin(-a) = -sin a and cos(-a) = cos a.
		v := m.quadrant(r, low, m.bin("add", q, m.ik(shift)))
		if shift == 0 {
			v = m.sel(m.cmp("olt", x, m.k(0)), m.neg(v), v)
		}
		return m.sel(m.cmp("olt", m.abs(x), m.inf()), v, m.nan())
	})
}

// payneHanek is a = (4j + q)·π/2 + r + low. With P the 128 bits of a·4/π modulo 8 as a fixed-point fraction of 8, the top
// two bits are the quadrant and the others, taken as a signed number, the rest in quarters of a turn.
func (s *emitter) payneHanek(a *val) (r, low, q *val) {
	m := s.math("double")
	const i128 = tok("i128")
	s.table()
	bits := m.bits(a)
	exp := m.bin("sub", m.bin("lshr", bits, m.ik(52)), m.ik(1023+52-61))
	mant := m.bin("or", m.bin("and", bits, m.ik(1<<52-1)), m.ik(1<<52))
	// Infinities would read beyond the table.
	digit := s.call("umin", i64, m.bin("lshr", exp, m.ik(6)), m.ik(int64(len(fourOverPi)-4)))
	shift := m.bin("and", exp, m.ik(63))
	var word [4]*val
	for i := range word {
		p := s.op(ptr, fmt.Sprintf("getelementptr [%d x i64], ptr @texel.fourOverPi, i64 0, $0", len(fourOverPi)), m.bin("add", digit, m.ik(int64(i))))
		word[i] = s.here(i64, "load i64, $0, align 8", p)
	}
	var z [3]*val
	for i := range z {
		z[i] = s.wideOf(i128, s.call("fshl", i64, word[i], word[i+1], shift))
	}
	wm := s.wideOf(i128, mant)
	c := func(n int64) *val { return s.int(i128, n) }
	p := m.bin("shl", m.bin("mul", z[0], wm), c(64))
	p = m.bin("add", p, m.bin("mul", z[1], wm))
	p = m.bin("add", p, m.bin("lshr", m.bin("mul", z[2], wm), c(64)))
	rest := m.bin("shl", p, c(2))
	negative := s.op(i1, "icmp slt $0, 0", rest)
	q = m.bin("add", s.op(i64, "trunc $0 to i64", m.bin("lshr", p, c(126))), s.op(i64, "zext $0 to i64", negative))
	size := s.sel(negative, m.bin("sub", c(0), rest), rest)
	s.m.declare("llvm.ctlz.i128", i128, i128, i1)
	zeros := s.op(i128, "call i128 @llvm.ctlz.i128($0, i1 false)", size)
	norm := m.bin("shl", size, m.bin("and", zeros, c(127)))
	high := s.op(i64, "trunc $0 to i64", m.bin("lshr", norm, c(75)))                           // 53 bits
	next := s.op(i64, "trunc $0 to i64", m.bin("and", m.bin("lshr", norm, c(22)), c(1<<53-1))) // 53 more
	// norm is a fraction of 2^128 of a quarter turn, shifted left by zeros: 2^-53-zeros for the integer in high.
	unit := m.pow2(m.bin("sub", m.ik(-53), s.op(i64, "trunc $0 to i64", zeros)))
	zh := m.mul(s.op("double", "sitofp $0 to double", high), unit)
	zl := m.mul(m.mul(s.op("double", "sitofp $0 to double", next), unit), m.k(0x1p-53))
	r = m.mul(zh, m.k(pio2))
	low = m.add(m.fms(zh, m.k(pio2), r), m.fma(zh, m.k(pio2b), m.mul(zl, m.k(pio2))))
	sign := s.sel(negative, m.k(-1), m.k(1))
	return m.mul(r, sign), m.mul(low, sign), q
}

func (s *emitter) wideOf(t tok, v *val) *val { return s.op(t, "zext $0 to "+string(t), v) }

// table adds the digits of 4/π to the module.
func (s *emitter) table() {
	if s.m.hasTable {
		return
	}
	s.m.hasTable = true
	words := make([]string, len(fourOverPi))
	for i, w := range fourOverPi {
		words[i] = fmt.Sprintf("i64 %d", int64(w))
	}
	g := ir.NewGlobalDef("texel.fourOverPi", constText{konst{tok(fmt.Sprintf("[%d x i64]", len(words))), "[" + strings.Join(words, ", ") + "]"}})
	g.Linkage, g.Immutable, g.Align = enum.LinkageInternal, true, 16
	s.m.Globals = append(s.m.Globals, g)
}

// constText makes a konst an initializer.
type constText struct{ konst }

// IsConstant makes it a constant of llir.
func (constText) IsConstant() {}

var _ constant.Constant = constText{}

// asinRational is (asin(x) - x)/x³ as a function of x² ≤ 1/4, from the same source as the polynomials above.
func (m fm) asinRational(z *val) *val {
	p := m.poly(z, 1.66666666666666657415e-01, -3.25565818622400915405e-01, 2.01212532134862925881e-01, -4.00555345006794114027e-02, 7.91534994289814532176e-04, 3.47933107596021167570e-05)
	q := m.poly(z, 1, -2.40339491173441421878e+00, 2.02094576023350569471e+00, -6.88283971605453293030e-01, 7.70381505559019352791e-02)
	return m.mul(z, m.div(p, q))
}

// arcs returns what asin and acos share: for |x| < 1/2 r with asin x = x + x·r; otherwise s and w with
// asin √((1-|x|)/2) = s + w.
func (m fm) arcs(x *val) (near, r, s, w *val) {
	a := m.abs(x)
	near = m.cmp("olt", a, m.k(0.5))
	z := m.sel(near, m.mul(x, x), m.mul(m.sub(m.k(1), a), m.k(0.5)))
	r = m.asinRational(z)
	s = m.sqrt(z)
	c := m.div(m.fnma(s, s, z), m.add(s, s)) // what the root lacks
	c = m.sel(m.cmp("ogt", s, m.k(0)), c, m.k(0))
	return near, r, s, m.fma(r, s, c)
}

// asin is NaN beyond 1, by the square root.
func (m fm) asin(x *val) *val {
	near, r, s, w := m.arcs(x)
	two := m.k(2)
	far := m.sub(m.k(pio2), m.fms(two, m.add(s, w), m.k(0x1.1a62633145c07p-54)))
	return m.sel(near, m.fma(x, r, x), m.copysign(far, x))
}

func (m fm) acos(x *val) *val {
	near, r, s, w := m.arcs(x)
	low := m.k(0x1.1a62633145c07p-54)
	mid := m.sub(m.k(pio2), m.sub(x, m.fnma(x, r, low)))
	sum := m.add(s, w)
	positive := m.add(sum, sum)
	negative := m.sub(m.k(2*pio2), m.mul(m.k(2), m.add(s, m.sub(w, low))))
	return m.sel(near, mid, m.sel(m.cmp("olt", x, m.k(0)), negative, positive))
}

// atan reduces to |t| ≤ 0.66 by atan a = π/4 + atan((a-1)/(a+1)) and π/2 - atan(1/a); the rational function is that of
// the Cephes library.
func (m fm) atan(x *val) *val {
	a := m.abs(x)
	middle, far := m.cmp("ogt", a, m.k(0.66)), m.cmp("ogt", a, m.k(2.41421356237309504880))
	num := m.sel(far, m.k(-1), m.sel(middle, m.sub(a, m.k(1)), a))
	den := m.sel(far, a, m.sel(middle, m.add(a, m.k(1)), m.k(1)))
	t := m.div(num, den)
	z := m.mul(t, t)
	p := m.poly(z, -6.485021904942025371773e+01, -1.228866684490136173410e+02, -7.500855792314704667340e+01, -1.615753718733365076637e+01, -8.750608600031904122785e-01)
	q := m.poly(z, 1.945506571482613964425e+02, 4.853903996359136964868e+02, 4.328810604912902668951e+02, 1.650270098316988542046e+02, 2.485846490142306297962e+01, 1)
	v := m.fma(t, m.mul(z, m.div(p, q)), t)
	const more = 6.123233995736765886130e-17
	base := m.sel(far, m.k(math.Pi/2), m.sel(middle, m.k(math.Pi/4), m.k(0)))
	low := m.sel(far, m.k(more), m.sel(middle, m.k(more/2), m.k(0)))
	return m.copysign(m.add(base, m.add(v, low)), x)
}
