package interp

import (
	"math"

	"github.com/texel-ml/texel/tensor"
	"github.com/texel-ml/texel/tir"
)

// unary are the intrinsics of one float argument, in float64.
var unary = map[tir.Intrinsic]func(float64) float64{
	tir.Exp: math.Exp, tir.Log: math.Log, tir.Sqrt: math.Sqrt, tir.Sin: math.Sin, tir.Cos: math.Cos, tir.Tan: math.Tan,
	tir.Asin: math.Asin, tir.Acos: math.Acos, tir.Atan: math.Atan, tir.Sinh: math.Sinh, tir.Cosh: math.Cosh, tir.Tanh: math.Tanh,
	tir.Asinh: math.Asinh, tir.Acosh: math.Acosh, tir.Atanh: math.Atanh, tir.Erf: math.Erf, tir.Floor: math.Floor,
	tir.Ceil: math.Ceil, tir.Round: math.RoundToEven, tir.Trunc: math.Trunc, tir.Abs: math.Abs,
	tir.Rsqrt:   func(v float64) float64 { return 1 / math.Sqrt(v) },
	tir.Sigmoid: func(v float64) float64 { return 1 / (1 + math.Exp(-v)) },
}

func (c *compiler) call(n *tir.Call) code {
	bad := code{zeroInt, zeroFloat}
	arity := 1
	switch n.Fn {
	case tir.Pow, tir.FloatMod:
		arity = 2
	case tir.FMA:
		arity = 3
	}
	if len(n.Args) != arity {
		c.fail("%v has %d arguments, wanted %d", n.Fn, len(n.Args), arity)
		return bad
	}
	t := n.Args[0].Type()
	if n.Fn.Result(t.DType) == tensor.Invalid {
		c.fail("%v of %v", n.Fn, t.DType)
		return bad
	}
	for _, a := range n.Args[1:] {
		if a.Type() != t {
			c.fail("arguments of %v are %v and %v", n.Fn, t, a.Type())
			return bad
		}
	}
	if !t.DType.IsFloat() {
		return c.intCall(n, t.DType)
	}
	args := make([]func(*frame) float64, arity)
	for i, a := range n.Args {
		args[i] = c.float(a)
	}
	round := c.round(t.DType)
	if round == nil {
		round = func(v float64) float64 { return v }
	}
	x := args[0]
	switch n.Fn {
	case tir.Bits:
		if t.DType == tensor.Float64 {
			return code{i: func(f *frame) int64 { return int64(math.Float64bits(x(f))) }}
		}
		return code{i: func(f *frame) int64 { return int64(math.Float32bits(float32(x(f)))) }}
	case tir.IsNaN:
		return code{i: func(f *frame) int64 { return bit(math.IsNaN(x(f))) }}
	case tir.IsInf:
		return code{i: func(f *frame) int64 { return bit(math.IsInf(x(f), 0)) }}
	case tir.Pow:
		return code{f: func(f *frame) float64 { return round(math.Pow(x(f), args[1](f))) }}
	case tir.FloatMod:
		return code{f: func(f *frame) float64 { return round(math.Mod(x(f), args[1](f))) }}
	case tir.FMA:
		if c.round(t.DType) == nil {
			return code{f: func(f *frame) float64 { return math.FMA(x(f), args[1](f), args[2](f)) }}
		}
		return code{f: func(f *frame) float64 { return round(addOdd(x(f)*args[1](f), args[2](f))) }}
	}
	fn, ok := unary[n.Fn]
	if !ok {
		c.fail("%v of %v", n.Fn, t.DType)
		return bad
	}
	return code{f: func(f *frame) float64 { return round(fn(x(f))) }}
}

// addOdd returns a + b rounded to odd: when anything is lost, the last bit is 1. A rounding to a narrower type then gives
// what one rounding of the exact sum gives; products of two float32 are exact in float64.
func addOdd(a, b float64) float64 {
	s := a + b
	bb := s - a
	lost := (a - (s - bb)) + (b - bb) // Knuth's TwoSum
	if bits := math.Float64bits(s); lost != 0 && !math.IsNaN(lost) && bits&1 == 0 {
		if (lost > 0) == (s > 0) {
			return math.Float64frombits(bits + 1)
		}
		return math.Float64frombits(bits - 1)
	}
	return s
}

// intCall compiles the intrinsics that integers have too.
func (c *compiler) intCall(n *tir.Call, d tensor.DType) code {
	x := c.int(n.Args[0])
	wrap := func(v int64) int64 { return tensor.Wrap(d, v) }
	switch n.Fn {
	case tir.FromBits:
		if d == tensor.Uint64 {
			return code{f: func(f *frame) float64 { return math.Float64frombits(uint64(x(f))) }}
		}
		return code{f: func(f *frame) float64 { return float64(math.Float32frombits(uint32(x(f)))) }}
	case tir.Abs:
		if d.Kind() != tensor.Signed {
			return code{i: x}
		}
		return code{i: func(f *frame) int64 {
			v := x(f)
			return wrap(max(v, -v))
		}}
	case tir.BitNot:
		if d == tensor.Bool {
			return code{i: func(f *frame) int64 { return 1 - x(f) }}
		}
		return code{i: func(f *frame) int64 { return wrap(^x(f)) }}
	case tir.Floor, tir.Ceil, tir.Round, tir.Trunc:
		return code{i: x}
	case tir.IsNaN, tir.IsInf:
		return code{i: zeroInt}
	case tir.Pow:
		y := c.int(n.Args[1])
		return code{i: func(f *frame) int64 { return intPow(x(f), y(f), wrap) }}
	case tir.FMA:
		y, z := c.int(n.Args[1]), c.int(n.Args[2])
		return code{i: func(f *frame) int64 { return wrap(x(f)*y(f) + z(f)) }}
	}
	c.fail("%v of %v", n.Fn, d)
	return code{zeroInt, zeroFloat}
}

// intPow is x to the power of n, wrapped; for negative n what 1/x^|n| truncates to.
func intPow(x, n int64, wrap func(int64) int64) int64 {
	if n < 0 {
		switch x {
		case 1:
			return 1
		case -1:
			return 1 - 2*(n&1)
		}
		return 0
	}
	out := int64(1)
	for ; n > 0; n >>= 1 {
		if n&1 != 0 {
			out = wrap(out * x)
		}
		x = wrap(x * x)
	}
	return out
}
