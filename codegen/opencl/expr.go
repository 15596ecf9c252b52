package opencl

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/texel-ml/texel/tensor"
	"github.com/texel-ml/texel/tir"
)

// The precedences of C, loosest first.
const (
	condPrec = iota
	orPrec
	andPrec
	bitOrPrec
	bitXorPrec
	bitAndPrec
	eqPrec
	relPrec
	shiftPrec
	addPrec
	mulPrec
	unaryPrec
	primary
)

// code is the text of an expression. wide says of an int64 scalar that its type in C is long, not int.
type code struct {
	s    string
	prec int
	wide bool
}

// at returns the text for a place that binds as tightly as prec.
func (c code) at(prec int) string {
	if c.prec < prec {
		return "(" + c.s + ")"
	}
	return c.s
}

func call(name string, args ...string) code {
	return code{s: name + "(" + strings.Join(args, ", ") + ")", prec: primary}
}

func cast(typ string, x code) code {
	return code{s: "(" + typ + ")" + x.at(unaryPrec), prec: unaryPrec}
}

// expr writes an expression: a value of its register type, but that an int64 scalar is int where it fits, and that a
// scalar of less than 32 bits may be int with a value of its type.
func (e *emitter) expr(x tir.Expr) code {
	t := x.Type()
	if t.Lanes > 1 {
		return e.vector(x)
	}
	switch n := x.(type) {
	case *tir.Var:
		return code{s: e.name(n), prec: primary, wide: e.wide[n]}
	case *tir.Int:
		return e.intConst(n.DType, n.Value)
	case *tir.Float:
		return e.floatConst(n.DType, n.Value)
	case *tir.Ramp:
		return e.expr(n.Base)
	case *tir.Broadcast:
		return e.expr(n.A)
	case *tir.Not:
		return code{s: "!" + e.expr(n.A).at(unaryPrec), prec: unaryPrec}
	case *tir.Select:
		a, b := e.expr(n.Then), e.expr(n.Else)
		return code{s: e.expr(n.Cond).at(orPrec) + " ? " + a.at(orPrec) + " : " + b.at(condPrec), prec: condPrec, wide: a.wide || b.wide}
	case *tir.Cast:
		return e.cast(n)
	case *tir.Load:
		return e.load(n)
	case *tir.Call:
		return e.intrinsic(n)
	case *tir.Binary:
		return e.binary(n)
	}
	e.fail("expression %T", x)
	return code{}
}

func (e *emitter) intConst(d tensor.DType, v int64) code {
	s := strconv.FormatInt(v, 10)
	c := code{prec: primary}
	switch d {
	case tensor.Bool:
		c.s = strconv.FormatBool(v != 0)
		return c
	case tensor.Uint32:
		c.s = strconv.FormatUint(uint64(uint32(v)), 10) + "u"
		return c
	case tensor.Uint64:
		c.s = strconv.FormatUint(uint64(v), 10) + "ul"
		return c
	case tensor.Int64:
		if c.wide = !fitsInt(v, v); c.wide {
			s += "L"
		}
	}
	switch {
	case v == math.MinInt64:
		s, c.prec = "(-9223372036854775807L - 1)", primary
	case v == math.MinInt32:
		s, c.prec = "(-2147483647 - 1)", primary
	case v < 0:
		c.prec = unaryPrec
	}
	c.s = s
	return c
}

func (e *emitter) floatConst(d tensor.DType, v float64) code {
	e.checkType(d)
	c := code{prec: primary}
	suffix, bits := "f", 32
	switch {
	case d == tensor.Float64:
		suffix, bits = "", 64
	case d == tensor.Float16 && !e.inFloat(d):
		suffix = "h"
	}
	switch {
	case math.IsNaN(v) || math.IsInf(v, 0):
		c.s = map[bool]string{true: "NAN", false: "INFINITY"}[math.IsNaN(v)]
		if math.IsInf(v, -1) {
			c.s, c.prec = "-"+c.s, unaryPrec
		}
		if suffix != "f" {
			return cast(e.registerType(d, 1), c)
		}
		return c
	case math.Signbit(v):
		c.prec = unaryPrec
	}
	c.s = strconv.FormatFloat(v, 'g', -1, bits)
	if !strings.ContainsAny(c.s, ".e") {
		c.s += ".0"
	}
	c.s += suffix
	return c
}

// operators has the spelling and the precedence of each operator that C has. What a lower precedence than a comparison's
// has is written with parentheses around its operands, as compilers ask.
var operators = map[tir.BinaryOp]struct {
	s    string
	prec int
}{
	tir.Add: {"+", addPrec}, tir.Sub: {"-", addPrec}, tir.Mul: {"*", mulPrec}, tir.Div: {"/", mulPrec}, tir.Mod: {"%", mulPrec},
	tir.BitAnd: {"&", bitAndPrec}, tir.BitOr: {"|", bitOrPrec}, tir.BitXor: {"^", bitXorPrec}, tir.Shl: {"<<", shiftPrec}, tir.Shr: {">>", shiftPrec},
	tir.EQ: {"==", eqPrec}, tir.NE: {"!=", eqPrec}, tir.LT: {"<", relPrec}, tir.LE: {"<=", relPrec}, tir.GT: {">", relPrec}, tir.GE: {">=", relPrec},
	tir.And: {"&&", andPrec}, tir.Or: {"||", orPrec},
}

// infix joins two operands by an operator of C.
func infix(op tir.BinaryOp, a, b code) code {
	o := operators[op]
	left, right := o.prec, o.prec+1
	switch {
	case op == tir.Add || op == tir.Mul || op == tir.Sub || op == tir.Div || op == tir.Mod || op.IsCompare():
	case op == tir.And || op == tir.Or:
		right = o.prec // they associate
		if op == tir.Or {
			left, right = bitOrPrec, bitOrPrec
			if a.prec == orPrec {
				left = orPrec
			}
		}
	default:
		left, right = unaryPrec, unaryPrec
	}
	return code{s: a.at(left) + " " + o.s + " " + b.at(right), prec: o.prec}
}

// binary writes an operation on scalars.
func (e *emitter) binary(x *tir.Binary) code {
	d := x.A.Type().DType
	switch {
	case d.IsFloat():
		return e.floatBinary(x.Op, d, 1, e.expr(x.A), e.expr(x.B))
	case x.Op == tir.FloorDiv || x.Op == tir.FloorMod:
		return e.floorDivision(x)
	}
	a, b := e.expr(x.A), e.expr(x.B)
	if x.Op >= tir.EQ {
		return infix(x.Op, a, b)
	}
	if d == tensor.Int64 && x.Op != tir.Shl && x.Op != tir.Shr {
		return e.index(x, a, b)
	}
	if x.Op == tir.Min || x.Op == tir.Max {
		typ := memoryType(d)
		return call(x.Op.String(), e.typed(d, typ, x.A, a), e.typed(d, typ, x.B, b))
	}
	if x.Op == tir.Shl || x.Op == tir.Shr {
		return e.shift(x, a, b)
	}
	c := infix(x.Op, a, b)
	switch {
	case d == tensor.Bool || x.Op == tir.BitAnd || x.Op == tir.BitOr || x.Op == tir.BitXor || x.Op == tir.Mod:
	case d.Bits() < 32:
		return cast(memoryType(d), c) // C computes in int
	case d == tensor.Int32 && overflows(x.Op):
		return wrapped(x.Op, "int", "uint", a, b)
	}
	return c
}

// shift shifts by an amount of which C takes only the low bits, while tir gives 0, or the sign, from the width on.
func (e *emitter) shift(x *tir.Binary, a, b code) code {
	d := x.A.Type().DType
	typ := memoryType(d)
	c := code{}
	if n, ok := tir.AsInt(x.B); ok && n >= 0 && n < int64(d.Bits()) {
		if d == tensor.Int64 {
			a = long(a)
		}
		c = infix(x.Op, a, b)
		if x.Op == tir.Shl && d.Bits() < 32 {
			c = cast(typ, c)
		}
	} else {
		past := "0"
		if x.Op == tir.Shr && d.Kind() == tensor.Signed {
			past = "a < 0 ? -1 : 0"
		}
		name := map[tir.BinaryOp]string{tir.Shl: "texel_shl_", tir.Shr: "texel_shr_"}[x.Op] + typ
		c = call(e.helper(name, typ, fmt.Sprintf("(%s a, %s b)", typ, typ),
			fmt.Sprintf("b >= 0 && b < %d ? a %s b : (%s)", d.Bits(), operators[x.Op].s, past)), a.s, b.s)
	}
	c.wide = d == tensor.Int64
	return c
}

// typed returns an operand of a function of C, whose operands must have the same type.
func (e *emitter) typed(d tensor.DType, typ string, x tir.Expr, c code) string {
	switch x.(type) {
	case *tir.Load, *tir.Cast, *tir.Var, *tir.Call:
		return c.s
	}
	if d.Bits() < 32 {
		return cast(typ, c).s
	}
	return c.s
}

// overflows reports whether op on signed operands can leave the range of its type, which C leaves undefined.
func overflows(op tir.BinaryOp) bool { return op == tir.Add || op == tir.Sub || op == tir.Mul }

// wrapped computes in the unsigned type.
func wrapped(op tir.BinaryOp, signed, unsigned string, a, b code) code {
	c := cast(signed, infix(op, cast(unsigned, a), cast(unsigned, b)))
	c.wide = signed == "long"
	return c
}

// index writes an operation on int64. Operands that are int stay int where the result certainly fits.
func (e *emitter) index(x *tir.Binary, a, b code) code {
	narrow := !a.wide && !b.wide
	if narrow {
		lo, hi, ok := e.a.Bounds(x)
		narrow = ok && fitsInt(lo, hi)
	}
	switch {
	case x.Op == tir.Min || x.Op == tir.Max:
		if a.wide != b.wide {
			a, b = long(a), long(b)
		}
		c := call(x.Op.String(), a.s, b.s)
		c.wide = a.wide
		return c
	case narrow:
		return infix(x.Op, a, b)
	case overflows(x.Op) && (isData(x.A) || isData(x.B)):
		return wrapped(x.Op, "long", "ulong", a, b)
	case !a.wide:
		a = long(a)
	}
	c := infix(x.Op, a, b)
	c.wide = true
	return c
}

// long makes an int64 scalar a long.
func long(c code) code {
	if c.wide {
		return c
	}
	c = cast("long", c)
	c.wide = true
	return c
}

func fitsInt(lo, hi int64) bool { return lo >= math.MinInt32 && hi <= math.MaxInt32 }

// isData reports whether an integer comes from memory, so that nothing keeps its arithmetic from overflowing.
func isData(x tir.Expr) bool {
	found := false
	tir.Walk(x, func(n any) bool {
		_, load := n.(*tir.Load)
		found = found || load
		return !found
	})
	return found
}

// floorDivision rounds toward minus infinity. Where both operands certainly are not negative it is C's division.
func (e *emitter) floorDivision(x *tir.Binary) code {
	d := x.A.Type().DType
	op := tir.Div
	name := "div"
	if x.Op == tir.FloorMod {
		op, name = tir.Mod, "mod"
	}
	a, b := e.expr(x.A), e.expr(x.B)
	loA, _, okA := e.a.Bounds(x.A)
	loB, _, okB := e.a.Bounds(x.B)
	if d.Kind() == tensor.Unsigned || d == tensor.Int64 && okA && okB && loA >= 0 && loB >= 0 {
		if d == tensor.Int64 {
			c := infix(op, a, b)
			c.wide = a.wide || b.wide
			return c
		}
		return infix(op, a, b)
	}
	typ := memoryType(d)
	if d == tensor.Int64 && !a.wide && !b.wide {
		typ = "int"
	}
	body := "a / b - (a % b != 0 && (a ^ b) < 0)"
	if op == tir.Mod {
		body = "a % b + (a % b != 0 && (a ^ b) < 0 ? b : 0)"
	}
	c := call(e.helper("texel_floor"+name+"_"+typ, typ, fmt.Sprintf("(%s a, %s b)", typ, typ), body), a.s, b.s)
	c.wide = typ == "long"
	return c
}

// floatBinary writes an operation on floats of n lanes.
func (e *emitter) floatBinary(op tir.BinaryOp, d tensor.DType, n int, a, b code) code {
	typ := e.registerType(d, n)
	switch op {
	case tir.Min, tir.Max:
		less := map[tir.BinaryOp]string{tir.Min: "<", tir.Max: ">"}[op]
		body := fmt.Sprintf("a %s b || isnan(a) ? a : b", less)
		if n > 1 {
			body = fmt.Sprintf("select(b, a, (a %s b) | isnan(a))", less)
		}
		return call(e.helper(fmt.Sprintf("texel_%v_%s", op, typ), typ, fmt.Sprintf("(%s a, %s b)", typ, typ), body), a.s, b.s)
	case tir.FloorDiv:
		return call("floor", infix(tir.Div, a, b).s)
	case tir.Mod:
		return call("fmod", a.s, b.s)
	case tir.Add, tir.Sub, tir.Mul, tir.Div:
		return infix(op, a, b)
	}
	if !op.IsCompare() {
		e.fail("operator %v on %v", op, d)
	}
	return infix(op, a, b)
}

// intrinsic writes a function of scalars or vectors.
func (e *emitter) intrinsic(x *tir.Call) code {
	t := x.Args[0].Type()
	args := make([]code, len(x.Args))
	texts := make([]string, len(x.Args))
	for i, a := range x.Args {
		args[i] = e.expr(a)
		texts[i] = args[i].s
	}
	d := t.DType
	if !d.IsFloat() {
		return e.intIntrinsic(x, args)
	}
	typ := e.registerType(d, t.Lanes)
	name := x.Fn.String()
	switch x.Fn {
	case tir.Abs:
		name = "fabs"
	case tir.Round:
		name = "rint" // the device rounds to nearest even
	case tir.Sigmoid:
		one := e.floatConst(d, 1).s
		return call(e.helper("texel_sigmoid_"+typ, typ, "("+typ+" x)", fmt.Sprintf("%s / (%s + exp(-x))", one, one)), texts...)
	case tir.Bits:
		return call("as_"+e.registerType(x.Fn.Result(d), t.Lanes), texts...)
	case tir.IsNaN, tir.IsInf:
		c := call(name, texts...)
		if t.Lanes > 1 {
			return e.mask(c, e.registerBits(d), t.Lanes)
		}
		return c
	case tir.BitNot:
		e.fail("bitnot of %v", d)
	}
	return call(name, texts...)
}

func (e *emitter) intIntrinsic(x *tir.Call, args []code) code {
	t := x.Args[0].Type()
	d := t.DType
	typ := e.registerType(d, t.Lanes)
	switch {
	case x.Fn == tir.FromBits:
		return call("as_"+e.registerType(x.Fn.Result(d), t.Lanes), args[0].s)
	case x.Fn == tir.BitNot && d != tensor.Bool:
		c := code{s: "~" + args[0].at(unaryPrec), prec: unaryPrec, wide: args[0].wide}
		if t.Lanes == 1 && d.Bits() < 32 {
			return cast(typ, c)
		}
		return c
	case x.Fn == tir.Abs && d.Kind() == tensor.Unsigned:
		return args[0]
	case x.Fn == tir.Abs && d.Kind() == tensor.Signed && t.Lanes > 1:
		return call("as_"+typ, call("abs", args[0].s).s)
	case x.Fn == tir.Abs && d.Kind() == tensor.Signed:
		c := cast(typ, call("abs", cast(typ, args[0]).s))
		c.wide = d == tensor.Int64
		return c
	case x.Fn == tir.IsNaN || x.Fn == tir.IsInf:
		if t.Lanes > 1 {
			return code{s: "(" + e.registerType(tensor.Bool, t.Lanes) + ")(0)", prec: primary}
		}
		return code{s: "false", prec: primary}
	}
	e.fail("intrinsic %v of %v", x.Fn, d)
	return code{}
}

// helper adds a function in front of the kernel, once, and returns its name.
func (e *emitter) helper(name, result, params, value string) string {
	return e.helperBody(name, result, params, "return "+value+";")
}

func (e *emitter) helperBody(name, result, params, body string) string {
	e.helpers[name] = fmt.Sprintf("static %s %s%s\n{\n    %s\n}\n", result, name, params, strings.ReplaceAll(body, "\n", "\n    "))
	return name
}
