package opencl

import (
	"fmt"

	"github.com/texel-ml/texel/tensor"
	"github.com/texel-ml/texel/tir"
)

// cast converts as tir does: float to integer truncates and saturates with NaN giving 0, an integer wraps, and bool is
// "not equal to zero".
func (e *emitter) cast(x *tir.Cast) code {
	from, to, n := x.A.Type().DType, x.DType, x.A.Type().Lanes
	a := e.expr(x.A)
	typ := e.registerType(to, n)
	switch {
	case from == to:
		return a
	case to == tensor.Bool && n > 1:
		zero := "(" + e.registerType(from, n) + ")(0)"
		return e.mask(infix(tir.NE, a, code{s: zero, prec: unaryPrec}), e.registerBits(from), n)
	case to == tensor.Bool:
		zero := code{s: "0", prec: primary}
		if from.IsFloat() {
			zero = e.floatConst(from, 0)
		}
		return infix(tir.NE, a, zero)
	case from == tensor.Bool && n > 1:
		return call("convert_"+typ, code{s: a.at(unaryPrec) + " & 1", prec: bitAndPrec}.s)
	case from == tensor.Bool:
		c := cast(typ, a)
		c.wide = to == tensor.Int64
		return c
	case from.IsFloat() && !to.IsFloat():
		c := call("convert_"+typ+"_sat_rtz", a.s)
		c.wide = to == tensor.Int64
		return c
	case to.IsFloat() && e.inFloat(to):
		return e.roundTo(to, from, n, a)
	case n > 1:
		if typ == e.registerType(from, n) { // float16 to float32 where both are float
			return a
		}
		return call("convert_"+typ, a.s)
	case typ == e.registerType(from, 1):
		return a
	case to == tensor.Int64:
		return long(a)
	}
	return cast(typ, a)
}

// roundTo rounds to a type that is float in registers.
func (e *emitter) roundTo(to, from tensor.DType, n int, a code) code {
	float := vectorType("float", n)
	if typ := e.registerType(from, n); typ != float && (from != tensor.Float64 || to == tensor.BFloat16) {
		if n > 1 {
			a = call("convert_"+float, a.s)
		} else {
			a = cast(float, a)
		}
		from = tensor.Float32
	}
	if to == tensor.BFloat16 {
		return call(e.bfloat16Bits(n, true), a.s)
	}
	typ := e.registerType(from, n)
	suffix := ""
	if n > 1 {
		suffix = fmt.Sprint(n)
	}
	// vstore_half3 and vload_half3 need room for three, an array gives it for every width.
	body := fmt.Sprintf("ushort h[%d];\nvstore_half%s_rte(x, 0, (half*)h);\nreturn vload_half%s(0, (half*)h);", n, suffix, suffix)
	return call(e.helperBody("texel_round_half_"+typ, float, "("+typ+" x)", body), a.s)
}

// bfloat16Bits returns the function that rounds floats to bfloat16, ties to even: to its bits, or to the float of the
// rounded value.
func (e *emitter) bfloat16Bits(n int, asFloat bool) string {
	float, uint, ushort := vectorType("float", n), vectorType("uint", n), vectorType("ushort", n)
	// A NaN keeps its upper bits and becomes quiet, so that rounding does not make it an infinity.
	rounded := "(u + 0x7fffu + ((u >> 16) & 1u)) >> 16"
	quiet := "(u >> 16) | 0x40u"
	pick := fmt.Sprintf("isnan(x) ? %s : %s", quiet, rounded)
	if n > 1 {
		pick = fmt.Sprintf("select(%s, %s, isnan(x))", rounded, quiet)
	}
	if asFloat {
		return e.helperBody("texel_round_bfloat16_"+float, float, "("+float+" x)",
			fmt.Sprintf("%s u = as_%s(x);\nreturn as_%s((%s) << 16);", uint, uint, float, pick))
	}
	return e.helperBody("texel_bfloat16_"+float, ushort, "("+float+" x)",
		fmt.Sprintf("%s u = as_%s(x);\nreturn convert_%s(%s);", uint, uint, ushort, pick))
}
