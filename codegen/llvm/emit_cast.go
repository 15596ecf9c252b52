package llvm

import (
	"fmt"

	"github.com/texel-ml/texel/tensor"
	"github.com/texel-ml/texel/tir"
)

// cast converts a value of type from, lane by lane.
func (e *emitter) cast(v *val, from tir.Type, d tensor.DType) *val {
	if from.DType == d {
		return v
	}
	e.computable(d)
	_, n := split(v.t)
	if v.splat != nil && !v.isInt {
		from.Lanes = 1
		return e.broadcast(e.cast(v.splat, from, d), n)
	}
	to := tir.Type{DType: d, Lanes: n}
	switch {
	case from.DType.IsFloat() && d.IsFloat():
		return e.floatToFloat(v, from, to)
	case from.DType.IsFloat() && d == tensor.Bool:
		u := e.up(v, from)
		return e.op(regType(to), "fcmp une $0, %1", u, e.float(u.t, 0))
	case from.DType.IsFloat():
		u := e.up(v, from)
		sign := "s"
		if d.Kind() == tensor.Unsigned {
			sign = "u"
		}
		t := regType(to)
		name := fmt.Sprintf("llvm.fpto%si.sat.%s.%s", sign, mangle(t), mangle(u.t))
		e.m.declare(name, t, u.t)
		return e.op(t, fmt.Sprintf("call %s @%s($0)", t, name), u)
	case d.IsFloat():
		return e.intToFloat(v, from, to)
	case d == tensor.Bool:
		return e.op(regType(to), "icmp ne $0, %1", v, e.int(v.t, 0))
	}
	return e.intToInt(v, from, to)
}

func (e *emitter) intToInt(v *val, from, to tir.Type) *val {
	t := regType(to)
	a, b := from.DType.Bits(), to.DType.Bits()
	if from.DType == tensor.Bool {
		a = 1
	}
	if v.isInt {
		n := v.n
		switch { // constants hold their bits in an int64 of their own sign
		case from.DType == tensor.Bool:
			n &= 1
		case from.DType.Kind() == tensor.Unsigned && a < 64:
			n &= 1<<a - 1
		}
		return e.int(t, wrapInt(n, to.DType))
	}
	switch {
	case a == b:
		return v
	case a > b:
		return e.op(t, "trunc $0 to "+string(t), v)
	case from.DType.Kind() == tensor.Signed:
		r := e.op(t, "sext $0 to "+string(t), v)
		if b == 64 {
			e.rangeOf(r, -1<<(a-1), 1<<(a-1)-1)
		}
		return r
	}
	r := e.op(t, "zext $0 to "+string(t), v)
	if b == 64 {
		e.rangeOf(r, 0, 1<<a-1)
	}
	return r
}

func wrapInt(n int64, d tensor.DType) int64 {
	shift := 64 - d.Bits()
	if d.Kind() == tensor.Unsigned {
		return int64(uint64(n) << shift >> shift)
	}
	return n << shift >> shift
}

func (e *emitter) intToFloat(v *val, from, to tir.Type) *val {
	_, n := split(v.t)
	if from.DType == tensor.Bool { // a select of two constants
		return e.sel(v, e.constant(to.DType, 1, n), e.constant(to.DType, 0, n))
	}
	inst := "sitofp"
	if from.DType.Kind() == tensor.Unsigned {
		inst = "uitofp"
	}
	// Through the narrowest type that keeps what to keeps: float16 ends at 65504, so float32's rounding of larger
	// numbers does not show; bfloat16 needs the numbers exact before it rounds.
	through := regElem(to.DType)
	switch {
	case to.DType == tensor.Float16:
		through = "float"
	case to.DType == tensor.BFloat16:
		if through = "float"; from.DType.Bits() > 16 {
			through = "double"
		}
	}
	t := vec(through, n)
	r := e.op(t, inst+" $0 to "+string(t), v)
	r.notNaN = true
	switch {
	case to.DType == tensor.Float16:
		h := vec("half", n)
		return e.op(h, "fptrunc $0 to "+string(h), r)
	case to.DType == tensor.BFloat16 && through == "double":
		return e.toBFloat(e.narrowOdd(r))
	case to.DType == tensor.BFloat16:
		return e.toBFloat(r)
	}
	return r
}

func (e *emitter) floatToFloat(v *val, from, to tir.Type) *val {
	_, n := split(v.t)
	t := regType(to)
	if to.DType == tensor.BFloat16 || to.DType == tensor.Float16 {
		if from.DType == tensor.Float64 {
			v = e.narrowOdd(v)
		} else if from.DType == tensor.BFloat16 {
			v = e.up(v, from)
		} else if from.DType == tensor.Float16 {
			f := vec("float", n)
			v = e.op(f, "fpext $0 to "+string(f), v)
		}
		if to.DType == tensor.BFloat16 {
			return e.toBFloat(v)
		}
		return e.op(t, "fptrunc $0 to "+string(t), v)
	}
	if from.DType == tensor.BFloat16 {
		if v = e.up(v, from); to.DType == tensor.Float32 {
			return v
		}
	}
	name := "fpext"
	if from.DType == tensor.Float64 {
		name = "fptrunc"
	}
	r := e.op(t, name+" $0 to "+string(t), v)
	r.notNaN = v.notNaN
	return r
}

// narrowOdd rounds float64 to float32 to odd: toward zero, with the last bit set when anything was lost. A further
// rounding to a narrower type then gives what one rounding would have given.
func (e *emitter) narrowOdd(v *val) *val {
	_, n := split(v.t)
	f, d, w, c := vec("float", n), v.t, vec(i32, n), vec(i1, n)
	r := e.op(f, "fptrunc $0 to "+string(f), v)
	back := e.op(d, "fpext $0 to "+string(d), r)
	b := e.op(w, "bitcast $0 to "+string(w), r)
	further := e.op(c, "fcmp ogt $0, %1", e.call("fabs", d, back), e.call("fabs", d, v))
	b = e.sel(further, e.op(w, "sub $0, %1", b, e.int(w, 1)), b)
	lost := e.op(c, "fcmp one $0, %1", back, v)
	b = e.sel(lost, e.op(w, "or $0, %1", b, e.int(w, 1)), b)
	return e.op(f, "bitcast $0 to "+string(f), b)
}
