package lower

import (
	"math"

	"github.com/texel-ml/texel/relay"
	"github.com/texel-ml/texel/tensor"
	"github.com/texel-ml/texel/tir"
)

var elementwiseRules = map[string]OpRule{"elementwise": lowerElementwise}

// element is the value of one element of an elementwise operator. x are its operands' elements, of type d or, where d
// is float16 or bfloat16, in float32; the result is converted to the result's type afterwards.
type element func(a any, d tensor.DType, x []tir.Expr) tir.Expr

func lowerElementwise(s *Site) ([]Operand, error) {
	name := s.Call.Op.Name
	if rule := specialElements[name]; rule != nil {
		return rule(s)
	}
	f := elements[name]
	if f == nil {
		return nil, s.Unsupported("no element definition")
	}
	d := working(s.In[0].DType)
	return s.Result(func(i []tir.Expr) tir.Expr {
		x := make([]tir.Expr, len(s.In))
		for n, in := range s.In {
			x[n] = in.wide(i...)
		}
		return tir.As(s.Out().DType, f(s.Call.Attrs, d, x))
	})
}

// specialElements are the elementwise operators that read their operands along an axis, need an index, only move their
// operand, or convert it.
var specialElements = map[string]OpRule{
	"copy": lowerCopy, "where": lowerWhere, "trilu": lowerTrilu,
	"nn.bias_add": perChannel(func(x, c tir.Expr) tir.Expr { return tir.Plus(x, c) }),
	"nn.prelu": perChannel(func(x, c tir.Expr) tir.Expr {
		return tir.Sel(tir.Lt(x, like(x, 0)), tir.Times(x, c), x)
	}),
	"power": lowerPower,
	"cast":  lowerCast, "reinterpret": lowerReinterpret,
	"qnn.quantize": lowerQuantize, "qnn.dequantize": lowerDequantize,
}

func lowerCopy(s *Site) ([]Operand, error) {
	return s.Result(func(i []tir.Expr) tir.Expr { return s.In[0].At(i...) })
}

func lowerWhere(s *Site) ([]Operand, error) {
	return s.Result(func(i []tir.Expr) tir.Expr {
		return tir.Sel(s.In[0].At(i...), s.In[1].At(i...), s.In[2].At(i...))
	})
}

func lowerTrilu(s *Site) ([]Operand, error) {
	a := attrs[relay.TriluAttrs](s)
	rank := len(s.Out().Shape)
	return s.Result(func(i []tir.Expr) tir.Expr {
		diagonal, column := offset(i[rank-2], a.K), i[rank-1]
		keep := tir.Bin(tir.LE, column, diagonal)
		if a.Upper {
			keep = tir.Bin(tir.GE, column, diagonal)
		}
		return tir.Sel(keep, s.In[0].At(i...), num(s.Out().DType, 0))
	})
}

// perChannel defines out[…, c, …] = f(data[…, c, …], vector[c]), c along the axis of the attributes.
func perChannel(f func(x, c tir.Expr) tir.Expr) OpRule {
	return func(s *Site) ([]Operand, error) {
		axis := relay.NormalAxis(attrs[relay.AxisAttrs](s).Axis, len(s.Out().Shape))
		return s.Result(func(i []tir.Expr) tir.Expr {
			return tir.As(s.Out().DType, f(s.In[0].wide(i...), s.In[1].wide(i[axis])))
		})
	}
}

func call(f tir.Intrinsic) element {
	return func(_ any, _ tensor.DType, x []tir.Expr) tir.Expr { return fn(f, x...) }
}

func binary(op tir.BinaryOp) element {
	return func(_ any, _ tensor.DType, x []tir.Expr) tir.Expr { return tir.Bin(op, x[0], x[1]) }
}

// floatOnly applies an intrinsic to floats; an integer stays as it is.
func floatOnly(f tir.Intrinsic) element {
	return func(_ any, d tensor.DType, x []tir.Expr) tir.Expr {
		if !d.IsFloat() {
			return x[0]
		}
		return fn(f, x[0])
	}
}

var elements = map[string]element{
	"add": binary(tir.Add), "subtract": binary(tir.Sub), "multiply": binary(tir.Mul),
	"maximum": binary(tir.Max), "minimum": binary(tir.Min),
	"divide": elemDivide, "mod": elemMod, "fmod": elemFmod,
	"equal": binary(tir.EQ), "not_equal": binary(tir.NE), "less": binary(tir.LT), "less_equal": binary(tir.LE),
	"greater": binary(tir.GT), "greater_equal": binary(tir.GE),
	"logical_and": binary(tir.And), "logical_or": binary(tir.Or), "logical_xor": binary(tir.NE),
	"bitwise_and": binary(tir.BitAnd), "bitwise_or": binary(tir.BitOr), "bitwise_xor": binary(tir.BitXor),
	"left_shift": elemShl, "right_shift": elemShr,
	"logical_not": func(_ any, _ tensor.DType, x []tir.Expr) tir.Expr { return &tir.Not{A: x[0]} },
	"bitwise_not": call(tir.BitNot),
	"exp":         call(tir.Exp), "log": call(tir.Log), "sqrt": call(tir.Sqrt), "rsqrt": call(tir.Rsqrt), "erf": call(tir.Erf),
	"sin": call(tir.Sin), "cos": call(tir.Cos), "tan": call(tir.Tan), "asin": call(tir.Asin), "acos": call(tir.Acos),
	"atan": call(tir.Atan), "sinh": call(tir.Sinh), "cosh": call(tir.Cosh), "tanh": call(tir.Tanh), "asinh": call(tir.Asinh),
	"acosh": call(tir.Acosh), "atanh": call(tir.Atanh), "sigmoid": call(tir.Sigmoid),
	"floor": floatOnly(tir.Floor), "ceil": floatOnly(tir.Ceil), "round": floatOnly(tir.Round), "trunc": floatOnly(tir.Trunc),
	"isnan": call(tir.IsNaN), "isinf": elemIsInf,
	"abs": elemAbs, "negative": elemNegative, "sign": elemSign, "clip": elemClip,
	"reciprocal": func(_ any, _ tensor.DType, x []tir.Expr) tir.Expr { return reciprocal(x[0]) },

	"nn.relu": elemRelu, "nn.leaky_relu": elemLeakyRelu, "nn.elu": elemElu, "nn.selu": elemSelu, "nn.celu": elemCelu,
	"nn.thresholded_relu": elemThresholdedRelu, "nn.hard_sigmoid": elemHardSigmoid, "nn.hard_swish": elemHardSwish,
	"nn.swish": elemSwish, "nn.gelu": elemGelu, "nn.softplus": elemSoftplus, "nn.softsign": elemSoftsign, "nn.mish": elemMish,
	"nn.shrink": elemShrink,
}

func elemAbs(_ any, d tensor.DType, x []tir.Expr) tir.Expr {
	switch {
	case d.IsFloat():
		return fn(tir.Abs, x[0])
	case d.Kind() == tensor.Signed:
		return tir.Maximum(x[0], tir.Minus(num(d, 0), x[0])) // the least integer is its own negation
	}
	return x[0]
}

func elemNegative(_ any, d tensor.DType, x []tir.Expr) tir.Expr {
	if d.IsFloat() {
		return tir.Times(x[0], num(d, -1))
	}
	return tir.Minus(num(d, 0), x[0])
}

func elemSign(_ any, d tensor.DType, x []tir.Expr) tir.Expr {
	below := x[0] // 0 or NaN
	if d.Kind() != tensor.Unsigned {
		below = tir.Sel(tir.Lt(x[0], num(d, 0)), num(d, -1), x[0])
	}
	return tir.Sel(tir.Gt(x[0], num(d, 0)), num(d, 1), below)
}

func elemIsInf(a any, d tensor.DType, x []tir.Expr) tir.Expr {
	at := a.(*relay.IsInfAttrs)
	switch {
	case at.DetectNegative && at.DetectPositive:
		return fn(tir.IsInf, x[0])
	case at.DetectPositive:
		return tir.Eq(x[0], num(d, math.Inf(1)))
	case at.DetectNegative:
		return tir.Eq(x[0], num(d, math.Inf(-1)))
	}
	return tir.False
}

func elemClip(a any, d tensor.DType, x []tir.Expr) tir.Expr {
	at := a.(*relay.ClipAttrs)
	if !d.IsFloat() {
		lo, hi := saturated(d, at.AMin), saturated(d, at.AMax)
		return tir.Minimum(tir.Maximum(x[0], lo), hi)
	}
	y := x[0]
	if !math.IsInf(at.AMin, -1) {
		y = tir.Maximum(y, num(d, at.AMin))
	}
	if !math.IsInf(at.AMax, 1) {
		y = tir.Minimum(y, num(d, at.AMax))
	}
	return y
}

// saturated returns v truncated to an integer of type d, or the end of d's range that it exceeds.
func saturated(d tensor.DType, v float64) tir.Expr {
	lo, hi := tensor.IntRange(d)
	top := float64(hi)
	if d == tensor.Uint64 {
		top = float64(uint64(hi))
	}
	switch v = math.Trunc(v); {
	case v <= float64(lo):
		return &tir.Int{DType: d, Value: lo}
	case v >= top:
		return &tir.Int{DType: d, Value: hi}
	case d == tensor.Uint64:
		return &tir.Int{DType: d, Value: int64(uint64(v))}
	}
	return &tir.Int{DType: d, Value: int64(v)}
}

// divisor returns y where dividing by it is defined for every dividend, and 1 where y is 0 or, in a signed type, −1,
// whose quotient may not exist.
func divisor(y tir.Expr) tir.Expr {
	bad := tir.Eq(y, like(y, 0))
	if y.Type().DType.Kind() == tensor.Signed {
		bad = either(bad, tir.Eq(y, like(y, -1)))
	}
	return tir.Sel(bad, like(y, 1), y)
}

func elemDivide(_ any, d tensor.DType, x []tir.Expr) tir.Expr {
	if d.IsFloat() {
		return tir.Over(x[0], x[1])
	}
	q := tir.Over(x[0], divisor(x[1]))
	if d.Kind() == tensor.Signed {
		q = tir.Sel(tir.Eq(x[1], num(d, -1)), tir.Minus(num(d, 0), x[0]), q)
	}
	return tir.Sel(tir.Eq(x[1], num(d, 0)), num(d, 0), q)
}

func elemMod(_ any, d tensor.DType, x []tir.Expr) tir.Expr {
	switch d.Kind() {
	case tensor.Float:
		r, zero := fn(tir.FloatMod, x[0], x[1]), num(d, 0)
		apart := either(both(tir.Lt(r, zero), tir.Gt(x[1], zero)), both(tir.Gt(r, zero), tir.Lt(x[1], zero)))
		// a remainder of 0 has the divisor's sign, too
		signed := tir.Sel(tir.Lt(x[1], zero), num(d, math.Copysign(0, -1)), zero)
		return tir.Sel(apart, tir.Plus(r, x[1]), tir.Sel(tir.Bin(tir.EQ, r, zero), signed, r))
	case tensor.Signed:
		return tir.Bin(tir.FloorMod, x[0], divisor(x[1]))
	}
	return tir.Bin(tir.Mod, x[0], divisor(x[1]))
}

func elemFmod(_ any, d tensor.DType, x []tir.Expr) tir.Expr {
	if d.IsFloat() {
		return fn(tir.FloatMod, x[0], x[1])
	}
	return tir.Bin(tir.Mod, x[0], divisor(x[1]))
}

// beyond reports that a shift by y leaves no bit: y is negative or reaches the width of its type. within is y reduced to
// the width, by which shifting is defined.
func beyond(d tensor.DType, y tir.Expr) (out, within tir.Expr) {
	out = tir.Bin(tir.GE, y, num(d, float64(d.Bits())))
	if d.Kind() == tensor.Signed {
		out = either(out, tir.Lt(y, num(d, 0)))
	}
	return out, tir.Bin(tir.BitAnd, y, num(d, float64(d.Bits()-1)))
}

func elemShl(_ any, d tensor.DType, x []tir.Expr) tir.Expr {
	out, y := beyond(d, x[1])
	return tir.Sel(out, num(d, 0), tir.Bin(tir.Shl, x[0], y))
}

func elemShr(_ any, d tensor.DType, x []tir.Expr) tir.Expr {
	out, y := beyond(d, x[1])
	if d.Kind() == tensor.Signed {
		return tir.Bin(tir.Shr, x[0], tir.Sel(out, num(d, float64(d.Bits()-1)), y))
	}
	return tir.Sel(out, num(d, 0), tir.Bin(tir.Shr, x[0], y))
}

// lowerPower defines x^y. Small constant exponents are products; other integer powers are computed by squaring in a
// loop.
func lowerPower(s *Site) ([]Operand, error) {
	d := working(s.Out().DType)
	n, small := smallExponent(s.In[1])
	if !small && !d.IsFloat() {
		return integerPower(s), nil
	}
	return s.Result(func(i []tir.Expr) tir.Expr {
		x := s.In[0].wide(i...)
		if !small {
			return tir.As(s.Out().DType, fn(tir.Pow, x, s.In[1].wide(i...)))
		}
		y := num(d, 1)
		for k := range n {
			if k == 0 {
				y = x
				continue
			}
			y = tir.Times(y, x)
		}
		return tir.As(s.Out().DType, y)
	})
}

// smallExponent returns an exponent that is the constant 0, 1, 2, 3 or 4.
func smallExponent(o Operand) (int, bool) {
	v := math.NaN()
	switch c := o.Scalar.(type) {
	case *tir.Float:
		v = c.Value
	case *tir.Int:
		v = float64(c.Value)
	}
	return int(v), v >= 0 && v <= 4 && v == math.Trunc(v)
}

// integerPower computes x^y by squaring: r = 1; while y is not 0: multiply r by x where y is odd, square x, halve y. A
// negative exponent truncates 1/x^|y|, which is 0 unless x is 1 or −1.
func integerPower(s *Site) []Operand {
	out := s.Out()
	d := out.DType
	ins := []Operand{s.stored(0), s.stored(1)}
	r, x, y := register("r", d), register("x", d), register("y", d)
	return s.Opaque([]*relay.TensorType{out}, ins, []*tir.Buffer{r.buf, x.buf, y.buf}, func(o []*tir.Buffer) tir.Stmt {
		return nest(out.Shape, func(i []tir.Expr) tir.Stmt {
			odd := tir.Eq(tir.Bin(tir.BitAnd, y.get(), num(d, 1)), num(d, 1))
			step := tir.Block1(
				&tir.If{Cond: odd, Then: r.set(tir.Times(r.get(), x.get()))},
				x.set(square(x.get())),
				y.set(tir.Bin(tir.Shr, y.get(), num(d, 1))),
			)
			body := []tir.Stmt{r.set(num(d, 1)), x.set(ins[0].At(i...)), y.set(ins[1].At(i...))}
			if d.Kind() == tensor.Signed {
				one, minus := tir.Eq(x.get(), num(d, 1)), tir.Eq(x.get(), num(d, -1))
				unit := tir.Sel(one, num(d, 1), tir.Sel(both(minus, odd), num(d, -1), tir.Sel(minus, num(d, 1), num(d, 0))))
				body = append(body, &tir.If{Cond: tir.Lt(y.get(), num(d, 0)), Then: tir.Block1(r.set(unit), y.set(num(d, 0)))})
			}
			body = append(body, &tir.While{Cond: tir.Bin(tir.NE, y.get(), num(d, 0)), Body: step},
				&tir.Store{Buffer: o[0], Indices: i, Value: r.get()})
			return tir.Block1(body...)
		})
	})
}
