package llvm

import (
	"math"

	"github.com/texel-ml/texel/tensor"
	"github.com/texel-ml/texel/tir"
)

// expr emits an expression.
func (e *emitter) expr(x tir.Expr) *val {
	switch x := x.(type) {
	case *tir.Var:
		v := e.vars[x]
		if v == nil {
			e.fail("variable %s is not bound", x.Name)
		}
		return v
	case *tir.Int:
		return e.int(regElem(x.DType), x.Value)
	case *tir.Float:
		return e.constant(x.DType, x.Value, 1)
	case *tir.Binary:
		return e.binary(x)
	case *tir.Not:
		return e.not(e.expr(x.A))
	case *tir.Select:
		return e.selectExpr(x)
	case *tir.Cast:
		return e.cast(e.expr(x.A), x.A.Type(), x.DType)
	case *tir.Load:
		return e.load(x)
	case *tir.Call:
		return e.intrinsic(x)
	case *tir.Ramp:
		return e.ramp(e.expr(x.Base), e.expr(x.Stride), x.Lanes)
	case *tir.Broadcast:
		return e.broadcast(e.expr(x.A), x.Lanes)
	}
	e.fail("unknown expression %T", x)
	return nil
}

// constant returns a floating-point constant of an element type, rounded to it.
func (e *emitter) constant(d tensor.DType, v float64, lanes int) *val {
	switch d {
	case tensor.Float32:
		return e.float(vec("float", lanes), float64(float32(v)))
	case tensor.Float64:
		return e.float(vec("double", lanes), v)
	case tensor.Float16:
		return e.float(vec("half", lanes), v)
	case tensor.BFloat16:
		b := math.Float32bits(float32(v))
		if v != v {
			return e.int(vec("i16", lanes), 0x7fc0)
		}
		b += 0x7fff + b>>16&1
		c := e.int(vec("i16", lanes), int64(b>>16))
		return c
	}
	e.unsupported("constant of element type %v", d)
	return nil
}

// binary emits a binary operation.
func (e *emitter) binary(x *tir.Binary) *val {
	t := x.A.Type()
	t.Lanes = max(t.Lanes, x.B.Type().Lanes)
	if x.Op.IsLogical() {
		return e.logical(x, t.Lanes)
	}
	if t.DType.IsFloat() {
		if v := e.contract(x, t); v != nil {
			return v
		}
	}
	a, b := e.broadcastTo(e.expr(x.A), t.Lanes), e.broadcastTo(e.expr(x.B), t.Lanes)
	switch {
	case t.DType.IsFloat() && x.Op.IsCompare():
		return e.floatCompare(x.Op, e.up(a, t), e.up(b, t))
	case t.DType.IsFloat():
		return e.down(e.floatBinary(x.Op, e.up(a, t), e.up(b, t)), t)
	case x.Op.IsCompare():
		return e.intCompare(x.Op, t.DType, a, b)
	}
	return e.intBinary(x.Op, t.DType, a, b)
}

func (e *emitter) broadcastTo(v *val, lanes int) *val {
	if _, n := split(v.t); n == lanes {
		return v
	}
	return e.broadcast(v, lanes)
}

// contract turns a·b + c, c + a·b, a·b - c and c - a·b into a fused multiply-add.
func (e *emitter) contract(x *tir.Binary, t tir.Type) *val {
	if x.Op != tir.Add && x.Op != tir.Sub {
		return nil
	}
	up := func(y tir.Expr) *val { return e.up(e.broadcastTo(e.expr(y), t.Lanes), t) }
	if m, ok := x.A.(*tir.Binary); ok && m.Op == tir.Mul {
		a, b, c := up(m.A), up(m.B), up(x.B)
		if x.Op == tir.Sub {
			c = e.op(c.t, "fneg $0", c)
		}
		return e.down(e.call("fma", a.t, a, b, c), t)
	}
	if m, ok := x.B.(*tir.Binary); ok && m.Op == tir.Mul {
		c, a, b := up(x.A), up(m.A), up(m.B)
		if x.Op == tir.Sub {
			a = e.op(a.t, "fneg $0", a)
		}
		return e.down(e.call("fma", a.t, a, b, c), t)
	}
	return nil
}

// up returns a float in the type that it is computed in: float16 where the processor does not compute in it, and
// bfloat16 always, become float32.
func (e *emitter) up(v *val, t tir.Type) *val {
	_, n := split(v.t)
	to := vec("float", n)
	switch {
	case t.DType == tensor.Float16 && !e.m.nativeHalf():
		return e.op(to, "fpext $0 to "+string(to), v)
	case t.DType == tensor.BFloat16:
		w := vec(i32, n)
		wide := e.op(w, "shl $0, %1", e.op(w, "zext $0 to "+string(w), v), e.int(w, 16))
		return e.op(to, "bitcast $0 to "+string(to), wide)
	}
	return v
}

// down returns a float computed by up's type in the type of t, rounded to nearest even.
func (e *emitter) down(v *val, t tir.Type) *val {
	_, n := split(v.t)
	switch {
	case t.DType == tensor.Float16 && !e.m.nativeHalf():
		to := vec("half", n)
		return e.op(to, "fptrunc $0 to "+string(to), v)
	case t.DType == tensor.BFloat16:
		return e.toBFloat(v)
	}
	return v
}

// toBFloat rounds float32 to bfloat16: add half of the last place, less one when the last bit is even; a NaN stays one.
func (e *emitter) toBFloat(v *val) *val {
	_, n := split(v.t)
	w, h := vec(i32, n), vec("i16", n)
	b := e.op(w, "bitcast $0 to "+string(w), v)
	odd := e.op(w, "and $0, %1", e.op(w, "lshr $0, %1", b, e.int(w, 16)), e.int(w, 1))
	r := e.op(w, "add $0, %1", e.op(w, "add $0, %1", b, e.int(w, 0x7fff)), odd)
	nan := e.op(w, "or $0, %1", b, e.int(w, 0x400000))
	r = e.sel(e.op(vec(i1, n), "fcmp uno $0, %0", v), nan, r)
	return e.op(h, "trunc $0 to "+string(h), e.op(w, "lshr $0, %1", r, e.int(w, 16)))
}

// floatBinary is an arithmetic operation on floats that the processor computes in.
func (e *emitter) floatBinary(op tir.BinaryOp, a, b *val) *val {
	switch op {
	case tir.Add:
		return e.op(a.t, "fadd $0, %1", a, b)
	case tir.Sub:
		return e.op(a.t, "fsub $0, %1", a, b)
	case tir.Mul:
		return e.op(a.t, "fmul $0, %1", a, b)
	case tir.Div:
		return e.op(a.t, "fdiv $0, %1", a, b)
	case tir.Min, tir.Max:
		return e.extremum(op == tir.Max, a, b)
	case tir.Mod:
		return e.floatMod(a, b)
	case tir.FloorDiv:
		return e.call("floor", a.t, e.op(a.t, "fdiv $0, %1", a, b))
	case tir.FloorMod:
		r := e.floatMod(a, b)
		_, n := split(a.t)
		c := vec(i1, n)
		zero := e.float(a.t, 0)
		differ := e.op(c, "xor $0, %1", e.op(c, "fcmp olt $0, %1", r, zero), e.op(c, "fcmp olt $0, %1", b, zero))
		mend := e.op(c, "and $0, %1", differ, e.op(c, "fcmp one $0, %1", r, zero))
		return e.sel(mend, e.op(a.t, "fadd $0, %1", r, b), r)
	}
	e.fail("operator %s on floats", op)
	return nil
}

// extremum is min or max where a NaN in either operand gives NaN. On x86 minps and maxps return the second operand when
// one is a NaN: an operand that is known to be a number goes first, and one instruction does it (relu, clip); otherwise
// NaN of the first operand is put back.
func (e *emitter) extremum(isMax bool, a, b *val) *val {
	if e.m.t.Arch == "aarch64" {
		name := "minimum"
		if isMax {
			name = "maximum"
		}
		r := e.call(name, a.t, a, b)
		r.notNaN = a.notNaN && b.notNaN
		return r
	}
	cmp := "fcmp olt $0, %1"
	if isMax {
		cmp = "fcmp ogt $0, %1"
	}
	_, n := split(a.t)
	c := vec(i1, n)
	if b.notNaN && !a.notNaN {
		a, b = b, a
	}
	r := e.op(a.t, "select $0, $1, $2", e.op(c, cmp, a, b), a, b)
	r.notNaN = a.notNaN && b.notNaN
	if a.notNaN {
		return r
	}
	return e.op(a.t, "select $0, $1, $2", e.op(c, "fcmp uno $0, %0", a), a, r)
}

func (e *emitter) floatCompare(op tir.BinaryOp, a, b *val) *val {
	_, n := split(a.t)
	name := map[tir.BinaryOp]string{tir.EQ: "oeq", tir.NE: "une", tir.LT: "olt", tir.LE: "ole", tir.GT: "ogt", tir.GE: "oge"}[op]
	return e.op(vec(i1, n), "fcmp "+name+" $0, %1", a, b)
}
