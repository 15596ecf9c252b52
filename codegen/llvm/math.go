package llvm

import (
	"fmt"
	"math"

	"github.com/llir/llvm/ir"
	"github.com/llir/llvm/ir/enum"

	"github.com/texel-ml/texel/tensor"
	"github.com/texel-ml/texel/tir"
)

// Own mathematics, for any number of lanes: there is no libm to call, and it has no vectors.
//
// exp, log, tanh, erf and sigmoid of float32 are computed in float32, in place. All other functions exist for float64 and
// are internal functions of the module; float32 goes through them, which leaves hardly more than the last rounding.
// float16 and bfloat16 go through float32. The largest errors, in units of the last place, as the test measures them
// over all magnitudes, are in MathError. Infinities, NaN, zeros with their sign and subnormal numbers are right.

// MathError returns the largest error of an intrinsic on values of type d in units of the last place of the result: 0.5
// is a correctly rounded result. ok is false where nothing is approximated.
func MathError(f tir.Intrinsic, d tensor.DType) (ulp float64, ok bool) {
	e, ok := mathErrors[f]
	switch {
	case !ok:
		return 0, false
	case d == tensor.Float64:
		return e.f64, true
	case d == tensor.Float32:
		return e.f32, true
	}
	return 0.51, true // float32's error is below the rounding of the narrow types
}

var mathErrors = map[tir.Intrinsic]struct{ f32, f64 float64 }{
	tir.Exp:     {1, 1},
	tir.Log:     {1, 1},
	tir.Tanh:    {2.8, 2.5},
	tir.Erf:     {1.1, 1},
	tir.Sigmoid: {2.4, 2.2},
	tir.Rsqrt:   {1.5, 1.5},
	tir.Sin:     {0.51, 0.8},
	tir.Cos:     {0.51, 0.8},
	tir.Tan:     {0.51, 2.2},
	tir.Asin:    {0.51, 1.8},
	tir.Acos:    {0.51, 1},
	tir.Atan:    {0.51, 1},
	tir.Sinh:    {0.51, 2.2},
	tir.Cosh:    {0.51, 1.5},
	tir.Asinh:   {0.51, 2.2},
	tir.Acosh:   {0.51, 2.2},
	tir.Atanh:   {0.51, 2.2},
	tir.Pow:     {0.51, 1},
}

// intrinsic emits a Call.
func (e *emitter) intrinsic(x *tir.Call) *val {
	t := x.Args[0].Type()
	for _, a := range x.Args {
		t.Lanes = max(t.Lanes, a.Type().Lanes)
	}
	args := make([]*val, len(x.Args))
	for i, a := range x.Args {
		args[i] = e.broadcastTo(e.expr(a), t.Lanes)
	}
	if !t.DType.IsFloat() {
		return e.intIntrinsic(x.Fn, t, args)
	}
	if x.Fn == tir.Bits {
		to := regType(x.Type().WithLanes(t.Lanes))
		return e.op(to, "bitcast $0 to "+string(to), args[0])
	}
	if t.DType == tensor.Float16 && e.m.nativeHalf() {
		if v := e.direct(x.Fn, args); v != nil {
			return v
		}
		f := vec("float", t.Lanes)
		for i := range args {
			args[i] = e.op(f, "fpext $0 to "+string(f), args[i])
		}
		h := regType(t)
		return e.op(h, "fptrunc $0 to "+string(h), e.floatIntrinsic(x.Fn, args))
	}
	for i := range args {
		args[i] = e.up(args[i], t)
	}
	r := e.floatIntrinsic(x.Fn, args)
	if x.Fn == tir.IsNaN || x.Fn == tir.IsInf {
		return r
	}
	return e.down(r, t)
}

func (e *emitter) intIntrinsic(f tir.Intrinsic, t tir.Type, args []*val) *val {
	a := args[0]
	switch {
	case f == tir.FromBits:
		to := regType(tir.Type{DType: f.Result(t.DType), Lanes: t.Lanes})
		return e.op(to, "bitcast $0 to "+string(to), a)
	case f == tir.Floor || f == tir.Ceil || f == tir.Round || f == tir.Trunc:
		return a
	case f == tir.FMA:
		return e.op(a.t, "add $0, %1", e.op(a.t, "mul $0, %1", a, args[1]), args[2])
	case f == tir.Pow:
		lanes := make([]*val, t.Lanes)
		for i := range lanes {
			lanes[i] = e.intPow(e.lane(a, i), e.lane(args[1], i), t.DType.Kind() == tensor.Signed)
		}
		return e.build(lanes)
	case f == tir.BitNot:
		return e.op(a.t, "xor $0, %1", a, e.int(a.t, -1))
	case f == tir.Abs && t.DType.Kind() == tensor.Signed:
		name := "llvm.abs." + mangle(a.t)
		e.m.declare(name, a.t, a.t, i1)
		return e.op(a.t, fmt.Sprintf("call %s @%s($0, i1 false)", a.t, name), a)
	case f == tir.Abs:
		return a
	case f == tir.IsNaN || f == tir.IsInf:
		return e.int(vec(i1, t.Lanes), 0)
	}
	e.fail("intrinsic %s of %v", f, t.DType)
	return nil
}

// direct emits what the processor does itself, or returns nil.
func (e *emitter) direct(f tir.Intrinsic, a []*val) *val {
	x := a[0]
	_, n := split(x.t)
	switch f {
	case tir.Sqrt:
		return e.call("sqrt", x.t, x)
	case tir.Rsqrt:
		return e.op(x.t, "fdiv $0, %1", e.float(x.t, 1), e.call("sqrt", x.t, x))
	case tir.Floor:
		return e.call("floor", x.t, x)
	case tir.Ceil:
		return e.call("ceil", x.t, x)
	case tir.Round:
		return e.call("roundeven", x.t, x)
	case tir.Trunc:
		return e.call("trunc", x.t, x)
	case tir.Abs:
		return e.call("fabs", x.t, x)
	case tir.FMA:
		return e.call("fma", x.t, a...)
	case tir.IsNaN:
		return e.op(vec(i1, n), "fcmp uno $0, %0", x)
	case tir.IsInf:
		return e.op(vec(i1, n), "fcmp oeq $0, %1", e.call("fabs", x.t, x), e.float(x.t, math.Inf(1)))
	}
	return nil
}

// floatIntrinsic is an intrinsic of float32 or float64.
func (e *emitter) floatIntrinsic(f tir.Intrinsic, a []*val) *val {
	if v := e.direct(f, a); v != nil {
		return v
	}
	if f == tir.FloatMod {
		return e.floatMod(a[0], a[1])
	}
	m := e.math(a[0].t)
	if !m.wide {
		switch f {
		case tir.Exp:
			return m.exp32(a[0])
		case tir.Log:
			return m.log32(a[0])
		case tir.Tanh:
			return m.tanh32(a[0])
		case tir.Erf:
			return m.erf32(a[0])
		case tir.Sigmoid:
			return m.sigmoid32(a[0])
		}
	}
	return e.callMath(f.String(), a, func(s *emitter, in []*val) *val {
		w := s.math(vec("double", m.n))
		args := make([]*val, len(in))
		for i := range in {
			if args[i] = in[i]; !m.wide {
				args[i] = s.op(w.f, "fpext $0 to "+string(w.f), in[i])
			}
		}
		r := w.function(f, args, !m.wide)
		if !m.wide {
			r = s.op(m.f, "fptrunc $0 to "+string(m.f), r)
		}
		return r
	})
}

// function is an intrinsic of float64. quick says that the result is rounded to float32 afterwards.
func (m fm) function(f tir.Intrinsic, a []*val, quick bool) *val {
	x := a[0]
	switch f {
	case tir.Exp:
		return m.exp(x, nil, 0)
	case tir.Log:
		return m.log(x)
	case tir.Tanh:
		return m.tanh(x)
	case tir.Sigmoid:
		return m.sigmoid(x)
	case tir.Erf:
		return m.erf(x)
	case tir.Sin:
		return m.circular(x, 0)
	case tir.Cos:
		return m.circular(x, 1)
	case tir.Tan:
		return m.div(m.circular(x, 0), m.circular(x, 1))
	case tir.Asin:
		return m.asin(x)
	case tir.Acos:
		return m.acos(x)
	case tir.Atan:
		return m.atan(x)
	case tir.Sinh:
		return m.sinh(x)
	case tir.Cosh:
		return m.cosh(x)
	case tir.Asinh:
		return m.asinh(x)
	case tir.Acosh:
		return m.acosh(x)
	case tir.Atanh:
		return m.atanh(x)
	case tir.Pow:
		return m.pow(x, a[1], quick)
	}
	m.e.unsupported("intrinsic %s", f)
	return nil
}

// callMath calls an internal function of the module, which body defines at the first call. A name stands for one body.
func (e *emitter) callMath(name string, args []*val, body func(s *emitter, in []*val) *val) *val {
	t := args[0].t
	full := "texel." + name + "." + mangle(t)
	if e.m.declared[full] == nil {
		params := make([]*ir.Param, len(args))
		in := make([]*val, len(args))
		for i, a := range args {
			params[i] = ir.NewParam("", a.t)
		}
		f := ir.NewFunc(full, t, params...)
		f.Linkage, f.FuncAttrs = enum.LinkageInternal, e.m.attrs
		e.m.declared[full] = f
		s := newEmitter(e.m, f)
		s.kernel, s.plan = &tir.Kernel{Name: full}, &plan{}
		for i, p := range params {
			in[i] = s.wrap(p, args[i].t, 0)
		}
		r := body(s, in)
		s.b.Term = ir.NewRet(r.Value)
		e.m.Funcs = append(e.m.Funcs, f)
		f.Parent = e.m.Module
	}
	tmpl := "call " + string(t) + " @" + full + "("
	for i := range args {
		if i > 0 {
			tmpl += ", "
		}
		tmpl += fmt.Sprintf("$%d", i)
	}
	return e.op(t, tmpl+")", args...)
}

// fm writes arithmetic on floats of one type, float32 or float64, of any number of lanes.
type fm struct {
	e    *emitter
	f    tok // the floats
	i    tok // integers of the same width
	c    tok // conditions
	n    int
	wide bool // float64
}

func (e *emitter) math(t tok) fm {
	elem, n := split(t)
	m := fm{e: e, f: t, i: vec(i32, n), c: vec(i1, n), n: n, wide: elem == "double"}
	if m.wide {
		m.i = vec(i64, n)
	}
	return m
}

// k is a constant, rounded to the type.
func (m fm) k(x float64) *val {
	if !m.wide {
		x = float64(float32(x))
	}
	return m.e.float(m.f, x)
}

func (m fm) ik(n int64) *val { return m.e.int(m.i, n) }

func (m fm) bin(op string, a, b *val) *val { return m.e.op(a.t, op+" $0, %1", a, b) }

func (m fm) add(a, b *val) *val     { return m.bin("fadd", a, b) }
func (m fm) sub(a, b *val) *val     { return m.bin("fsub", a, b) }
func (m fm) mul(a, b *val) *val     { return m.bin("fmul", a, b) }
func (m fm) div(a, b *val) *val     { return m.bin("fdiv", a, b) }
func (m fm) neg(a *val) *val        { return m.e.op(a.t, "fneg $0", a) }
func (m fm) fma(a, b, c *val) *val  { return m.e.call("fma", m.f, a, b, c) }
func (m fm) fms(a, b, c *val) *val  { return m.fma(a, b, m.neg(c)) } // a·b - c
func (m fm) fnma(a, b, c *val) *val { return m.fma(m.neg(a), b, c) } // c - a·b
func (m fm) abs(a *val) *val        { return m.e.call("fabs", m.f, a) }
func (m fm) sqrt(a *val) *val       { return m.e.call("sqrt", m.f, a) }

func (m fm) sel(c, a, b *val) *val            { return m.e.sel(c, a, b) }
func (m fm) cmp(op string, a, b *val) *val    { return m.e.op(m.c, "fcmp "+op+" $0, %1", a, b) }
func (m fm) bits(a *val) *val                 { return m.e.op(m.i, "bitcast $0 to "+string(m.i), a) }
func (m fm) float(a *val) *val                { return m.e.op(m.f, "bitcast $0 to "+string(m.f), a) }
func (m fm) both(a, b *val) *val              { return m.bin("and", a, b) }
func (m fm) either(a, b *val) *val            { return m.bin("or", a, b) }
func (m fm) nan() *val                        { return m.k(math.NaN()) }
func (m fm) inf() *val                        { return m.k(math.Inf(1)) }
func (m fm) copysign(a, sign *val) *val       { return m.e.call("copysign", m.f, a, sign) }
func (m fm) atMost(a *val, x float64) *val    { return m.e.extremum(false, a, m.k(x)) }
func (m fm) atLeast(a *val, x float64) *val   { return m.e.extremum(true, a, m.k(x)) }
func (m fm) within(a *val, l, h float64) *val { return m.atLeast(m.atMost(a, h), l) }

// poly is c[0] + x·(c[1] + x·(c[2] + …)).
func (m fm) poly(x *val, c ...float64) *val {
	p := m.k(c[len(c)-1])
	for i := len(c) - 2; i >= 0; i-- {
		p = m.fma(p, x, m.k(c[i]))
	}
	return p
}

// magic is 1.5·2^(bits of the mantissa): added to a small number it leaves the number rounded to an integer in the
// lowest bits, so that neither a conversion nor a rounding instruction is needed.
func (m fm) magic() float64 {
	if m.wide {
		return 0x1.8p52
	}
	return 0x1.8p23
}

// round returns x·scale rounded to an integer n, as a float and as an integer. |n| must be small.
func (m fm) round(x *val, scale float64) (n, i *val) {
	t := m.fma(x, m.k(scale), m.k(m.magic()))
	return m.sub(t, m.k(m.magic())), m.bin("sub", m.bits(t), m.bits(m.k(m.magic())))
}

// toFloat returns a small integer as a float.
func (m fm) toFloat(i *val) *val {
	return m.sub(m.float(m.bin("add", i, m.bits(m.k(m.magic())))), m.k(m.magic()))
}

// pow2 is 2^i for i in the range of normal numbers.
func (m fm) pow2(i *val) *val {
	if m.wide {
		return m.float(m.bin("shl", m.bin("add", i, m.ik(1023)), m.ik(52)))
	}
	return m.float(m.bin("shl", m.bin("add", i, m.ik(127)), m.ik(23)))
}

// scale is a·2^i for any i, in two steps, so that the result may be subnormal or overflow.
func (m fm) scale(a, i *val) *val {
	half := m.bin("ashr", i, m.ik(1))
	return m.mul(m.mul(a, m.pow2(half)), m.pow2(m.bin("sub", i, half)))
}

// two is the exact sum of a and b as a rounded sum and its error.
func (m fm) two(a, b *val) (s, err *val) {
	s = m.add(a, b)
	v := m.sub(s, a)
	return s, m.add(m.sub(a, m.sub(s, v)), m.sub(b, v))
}
