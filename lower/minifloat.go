package lower

import (
	"github.com/texel-ml/texel/relay"
	"github.com/texel-ml/texel/tensor"
	"github.com/texel-ml/texel/tir"
)

// Conversions between float32 and the bits of narrower floats, in integer arithmetic that vectorizes and that needs no
// subnormal float32 of the device, but for the least power of two of float8_e8m0fnu, which is one.

const (
	float32Mantissa = 23
	float32Bias     = 127
	float32Inf      = 0xff << float32Mantissa
	float32NaN      = 0x7fc00000
)

// Short forms of operations on uint32.

func word(v int) tir.Expr                   { return &tir.Int{DType: tensor.Uint32, Value: int64(v)} }
func masked(a tir.Expr, mask int) tir.Expr  { return tir.Bin(tir.BitAnd, a, word(mask)) }
func raised(a tir.Expr, bits int) tir.Expr  { return tir.Bin(tir.Shl, a, word(bits)) }
func dropped(a tir.Expr, bits int) tir.Expr { return tir.Bin(tir.Shr, a, word(bits)) }

// powerOfTwo returns 2^e as a float32.
func powerOfTwo(e int) float64 {
	v := 1.0
	for ; e > 0; e-- {
		v *= 2
	}
	for ; e < 0; e++ {
		v /= 2
	}
	return v
}

// decoded returns the float32 that has the bits b, a uint32, in type d, which has at most 16 bits.
func decoded(d tensor.DType, b tir.Expr) tir.Expr {
	f := tensor.FormOf(d)
	if !f.Signed {
		least := tir.Sel(tir.Eq(b, word(0)), word(1<<(float32Mantissa-1)), raised(b, float32Mantissa))
		return fn(tir.FromBits, tir.Sel(tir.Eq(b, word(f.NaN)), word(float32NaN), least))
	}
	magnitude := masked(b, f.SignBit()-1)
	small := tir.Times(tir.As(tensor.Float32, tir.As(tensor.Int32, magnitude)), num(tensor.Float32, powerOfTwo(1-f.Bias-f.Mantissa)))
	normal := tir.Plus(raised(magnitude, float32Mantissa-f.Mantissa), word((float32Bias-f.Bias)<<float32Mantissa))
	v := tir.Sel(tir.Lt(magnitude, word(1<<f.Mantissa)), fn(tir.Bits, small), normal)
	switch inf := f.Largest() + 1; {
	case f.Inf:
		v = tir.Sel(tir.Lt(magnitude, word(inf)), v, tir.Sel(tir.Eq(magnitude, word(inf)), word(float32Inf), word(float32NaN)))
	case f.NaN == inf && !f.NoNegativeZero():
		v = tir.Sel(tir.Eq(magnitude, word(f.NaN)), word(float32NaN), v)
	}
	v = tir.Bin(tir.BitOr, v, raised(dropped(b, f.Exponent+f.Mantissa), 31))
	if f.NoNegativeZero() {
		v = tir.Sel(tir.Eq(b, word(f.NaN)), word(float32NaN), v)
	}
	return fn(tir.FromBits, v)
}

// encoded returns the bits, a uint32, of the float32 x in type d, as ONNX's Cast rounds and saturates.
func encoded(d tensor.DType, x tir.Expr, a *relay.CastAttrs) tir.Expr {
	f := tensor.FormOf(d)
	if !f.Signed {
		return encodedPower(f, x, a)
	}
	b := fn(tir.Bits, x)
	magnitude := masked(b, 1<<31-1)
	isNaN := tir.Gt(magnitude, word(float32Inf))
	code := rounded(f, magnitude, x)
	over := word(f.Largest())
	switch {
	case a.Saturate || f.NaN < 0:
		code = tir.Minimum(code, over)
	case f.Inf:
		code = tir.Minimum(code, word(f.Largest()+1))
	default:
		code = tir.Sel(tir.Gt(code, over), word(f.NaN), code)
	}
	sign := masked(dropped(b, 31-f.Exponent-f.Mantissa), f.SignBit())
	switch {
	case f.NoNegativeZero(): // the NaN is −0's bits
		code = tir.Sel(tir.Eq(code, word(0)), code, tir.Bin(tir.BitOr, code, sign))
		return tir.Sel(isNaN, word(f.NaN), code)
	case f.NaN < 0:
		return tir.Sel(isNaN, word(0), tir.Bin(tir.BitOr, code, sign))
	}
	return tir.Bin(tir.BitOr, tir.Sel(isNaN, word(f.NaN), code), sign)
}

// rounded returns the bits of |x|, whose float32 bits are given, to nearest, a tie to the even one, and beyond the largest
// finite number something larger.
func rounded(f tensor.FloatForm, magnitude, x tir.Expr) tir.Expr {
	drop := float32Mantissa - f.Mantissa
	odd := masked(dropped(magnitude, drop), 1)
	up := tir.Plus(tir.Plus(magnitude, word(1<<(drop-1)-1)), odd)
	normal := tir.Minus(dropped(up, drop), word((float32Bias-f.Bias)<<f.Mantissa))
	// Below the least normal number the last place is fixed: adding 2^23 of it rounds to it.
	shift := powerOfTwo(float32Mantissa)
	places := tir.Plus(tir.Times(fn(tir.Abs, x), num(tensor.Float32, powerOfTwo(f.Bias+f.Mantissa-1))), num(tensor.Float32, shift))
	small := tir.Minus(fn(tir.Bits, places), word((float32Bias+float32Mantissa)<<float32Mantissa))
	return tir.Sel(tir.Lt(magnitude, word((float32Bias+1-f.Bias)<<float32Mantissa)), small, normal)
}

// encodedPower is encoded for the type of the powers of two, whose bits are float32's exponent: of the magnitude of x,
// since it has no sign.
func encodedPower(f tensor.FloatForm, x tir.Expr, a *relay.CastAttrs) tir.Expr {
	const one = 1 << float32Mantissa // bits of the least normal number, 2^−126
	more, half := 0, one             // what rounds up: of a mantissa, and between 2^−127, half of one, and 2^−126
	switch a.RoundMode {
	case "up":
		more, half = one-1, one/2+1
	case "nearest":
		more, half = one/2, one/2+one/4
	}
	b := masked(fn(tir.Bits, x), 1<<31-1)
	code := tir.Sel(tir.Lt(b, word(one)), tir.Sel(tir.Lt(b, word(half)), word(0), word(1)), dropped(tir.Plus(b, word(more)), float32Mantissa))
	code = tir.Minimum(code, word(f.Largest()))
	outside := tir.Gt(b, word(float32Inf))
	if !a.Saturate {
		outside = either(tir.Lt(b, word(one/2)), tir.Gt(b, word(f.Largest()<<float32Mantissa)))
	}
	return tir.Sel(outside, word(f.NaN), code)
}

// toOdd returns a float64 as a float32 whose last bit is 1 when anything was lost. Rounding it further gives what rounding
// x at once gives.
func toOdd(x tir.Expr) tir.Expr {
	near := tir.As(tensor.Float32, x)
	back := tir.As(tensor.Float64, near)
	b := fn(tir.Bits, near)
	b = tir.Sel(tir.Gt(fn(tir.Abs, back), fn(tir.Abs, x)), tir.Minus(b, word(1)), b)
	return fn(tir.FromBits, tir.Sel(tir.Ne(back, x), tir.Bin(tir.BitOr, b, word(1)), b))
}
