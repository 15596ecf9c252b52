package onnx

import (
	"math"

	"github.com/texel-ml/texel/relay"
	"github.com/texel-ml/texel/tensor"
)

// unary is an operator of relay on the one operand.
func unary(name string) func(*node) []relay.Expr {
	return func(n *node) []relay.Expr { return one(n.call(name, nil, n.in(0))) }
}

// identity gives its operand.
func identity(n *node) []relay.Expr { return one(n.in(0)) }

// broadcasting is an operator of relay on two operands that broadcast.
func broadcasting(name string) func(*node) []relay.Expr {
	return func(n *node) []relay.Expr {
		a, b := n.operands()
		return one(n.call(name, nil, a, b))
	}
}

// operands returns both operands of a broadcasting operator. Before opset 7 the second one was aligned by the
// attributes broadcast and axis: its first axis is axis of the first operand.
func (n *node) operands() (a, b relay.Expr) {
	a, b = n.in(0), n.in(1)
	n.sameType(a, b)
	if n.opset >= 7 || !n.flag("broadcast", false) || !n.has("axis") {
		return a, b
	}
	axis := n.axis(n.int("axis", 0), n.rank(a))
	shape := n.known(b).Clone()
	for axis+len(shape) < n.rank(a) {
		shape = append(shape, 1)
	}
	return a, n.reshape(b, shape)
}

func (n *node) sameType(a, b relay.Expr) {
	n.wants(n.dtype(a) == n.dtype(b), "operands have types %v and %v, wanted one type", n.dtype(a), n.dtype(b))
}

// variadic folds an operator over the operands from the left.
func variadic(name string) func(*node) []relay.Expr {
	return func(n *node) []relay.Expr {
		list := n.all(1)
		sum := list[0]
		for _, e := range list[1:] {
			n.sameType(sum, e)
			sum = n.call(name, nil, sum, e)
		}
		return one(sum)
	}
}

// mean is the sum of the operands divided by their number.
func mean(n *node) []relay.Expr {
	sum := variadic("add")(n)[0]
	return one(n.mul(sum, n.like(sum, 1/float64(len(n.args)))))
}

// div divides; integers round toward zero.
func div(n *node) []relay.Expr {
	a, b := n.operands()
	return one(n.div(a, b))
}

// pow gives the type of the base; the exponent may have another one.
func pow(n *node) []relay.Expr {
	x, y := n.in(0), n.in(1)
	if n.opset < 7 {
		x, y = n.operands()
	}
	d := n.dtype(x)
	if n.dtype(y) == d {
		return one(n.call("power", nil, x, y))
	}
	if n.isFloat(x) {
		return one(n.call("power", nil, x, n.cast(y, d)))
	}
	wide := tensor.Float64 // an integer base under a real exponent
	return one(n.cast(n.call("power", nil, n.cast(x, wide), n.cast(y, wide)), d))
}

// mod takes the sign of the divisor, or with fmod that of the dividend.
func mod(n *node) []relay.Expr {
	a, b := n.operands()
	if n.flag("fmod", false) {
		return one(n.call("fmod", nil, a, b))
	}
	return one(n.call("mod", nil, a, b))
}

func bitShift(n *node) []relay.Expr {
	a, b := n.operands()
	switch dir := n.str("direction", ""); dir {
	case "LEFT":
		return one(n.call("left_shift", nil, a, b))
	case "RIGHT":
		return one(n.call("right_shift", nil, a, b))
	default:
		n.failInvalid("direction %q, wanted LEFT or RIGHT", dir)
		return nil
	}
}

// isInf finds infinities of the signs that the attributes name.
func isInf(n *node) []relay.Expr {
	attrs := &relay.IsInfAttrs{DetectPositive: n.flag("detect_positive", true), DetectNegative: n.flag("detect_negative", true)}
	return one(n.call("isinf", attrs, n.in(0)))
}

// where takes x where the condition holds and y elsewhere.
func where(n *node) []relay.Expr {
	n.sameType(n.in(1), n.in(2))
	return one(n.where(n.in(0), n.in(1), n.in(2)))
}

// activations

// activation is an operator of relay whose attributes come from the node's.
func activation(name string, attrs func(*node) any) func(*node) []relay.Expr {
	return func(n *node) []relay.Expr { return one(n.call(name, attrs(n), n.in(0))) }
}

// alpha reads the one factor of an activation.
func alpha(otherwise float64) func(*node) any {
	return func(n *node) any { return &relay.AlphaAttrs{Alpha: n.float("alpha", otherwise)} }
}

func seluAttrs(n *node) any {
	alpha, gamma := 1.67326319217681884765625, 1.05070102214813232421875
	if n.opset < 6 {
		alpha, gamma = 1.6732, 1.0507
	}
	return &relay.SeluAttrs{Alpha: n.float("alpha", alpha), Gamma: n.float("gamma", gamma)}
}

func hardSigmoidAttrs(n *node) any {
	return &relay.HardSigmoidAttrs{Alpha: n.float("alpha", 0.2), Beta: n.float("beta", 0.5)}
}

// shrink is x + bias below -lambd, x - bias above lambd, else 0. Integers are computed as float64.
func shrink(n *node) []relay.Expr {
	x := n.in(0)
	d, wide := n.dtype(x), n.dtype(x)
	if !d.IsFloat() {
		wide = tensor.Float64
	}
	attrs := &relay.ShrinkAttrs{Bias: n.float("bias", 0), Lambd: n.float("lambd", 0.5)}
	return one(n.cast(n.call("nn.shrink", attrs, n.cast(x, wide)), d))
}

func geluAttrs(n *node) any { return &relay.GeluAttrs{Approximate: n.str("approximate", "none")} }

func swishAttrs(n *node) any { return &relay.SwishAttrs{Beta: n.float("alpha", 1)} }

// swiGLU is swish(a) b.
func swiGLU(n *node) []relay.Expr {
	n.sameType(n.in(0), n.in(1))
	return one(n.mul(n.call("nn.swish", swishAttrs(n), n.in(0)), n.in(1)))
}

// prelu is x for x > 0 and slope x elsewhere. A slope of rank 1 belonged to the channels before opset 7.
func prelu(n *node) []relay.Expr {
	x, slope := n.in(0), n.in(1)
	n.sameType(x, slope)
	s := n.known(slope)
	if n.opset < 7 && len(s) == 1 && n.rank(x) > 2 && s[0] != 1 {
		s = slopeShape(s[0], n.rank(x))
		slope = n.reshape(slope, s)
	}
	if x := n.known(x); n.isFloat(slope) && len(x) >= 2 && s.Equal(slopeShape(x[1], len(x))) {
		return one(n.call("nn.prelu", &relay.AxisAttrs{Axis: 1}, n.in(0), n.reshape(slope, tensor.Shape{x[1]})))
	}
	return one(n.where(n.call("less", nil, x, n.like(x, 0)), n.mul(x, slope), x))
}

// slopeShape is (C, 1, …, 1), which broadcasts along axis 1 of rank axes.
func slopeShape(channels, rank int) tensor.Shape {
	s := tensor.Shape{channels}
	for len(s) < rank-1 {
		s = append(s, 1)
	}
	return s
}

// clip is min(high, max(low, x)). The bounds were attributes before opset 11; a bound that is left out is absent.
func clip(n *node) []relay.Expr {
	x := n.in(0)
	if n.opset < 11 {
		if n.has("min") {
			x = n.call("maximum", nil, x, n.like(x, n.float("min", 0)))
		}
		if n.has("max") {
			x = n.call("minimum", nil, x, n.like(x, n.float("max", 0)))
		}
		if n.has("min") && n.has("max") && n.isFloat(x) && n.float("min", 0) <= n.float("max", 0) {
			x = n.clip(n.in(0), n.float("min", 0), n.float("max", 0))
		}
		return one(x)
	}
	low, lowKnown := n.bound(1)
	high, highKnown := n.bound(2)
	if lowKnown && highKnown && n.isFloat(x) && low <= high {
		return one(n.clip(x, low, high))
	}
	for i, op := range []string{"", "maximum", "minimum"} {
		if e := n.opt(i); i > 0 && e != nil {
			n.sameType(x, e)
			n.wants(elems(n.typ(e)) == 1, "bound %d has shape %v, wanted a scalar", i, n.shape(e))
			x = n.call(op, nil, x, n.reshape(e, tensor.Shape{}))
		}
	}
	return one(x)
}

// bound returns the known scalar bound of a Clip.
func (n *node) bound(i int) (float64, bool) {
	e := n.opt(i)
	if e == nil || !smallConstant(e) {
		return 0, false
	}
	n.sameType(n.in(0), e)
	return n.scalarAt(i, "a bound", 0), true
}

// types

func cast(n *node) []relay.Expr {
	number := n.int("to", 0)
	if n.opset < 6 && n.has("to") && n.attrs["to"].GetType() != 2 {
		for k, d := range dtypes { // a name before opset 6
			if name := n.str("to", ""); castName(d) == name {
				number = int(k)
			}
		}
	}
	return one(n.castTo(n.in(0), number))
}

// castName is the name of an element type as Cast wrote it before opset 6.
func castName(d tensor.DType) string {
	switch d {
	case tensor.Float32:
		return "FLOAT"
	case tensor.Float64:
		return "DOUBLE"
	}
	return upper(d.String())
}

func upper(s string) string {
	b := []byte(s)
	for i, c := range b {
		if c >= 'a' && c <= 'z' {
			b[i] = c - 'a' + 'A'
		}
	}
	return string(b)
}

func (n *node) castTo(x relay.Expr, number int) relay.Expr { return n.convertTo(x, n.dtypeOf(number)) }

// convertTo is a cast with the node's attributes. Floats become integers below a byte by way of int32, whose low bits
// are kept, as the format's tests have it.
func (n *node) convertTo(x relay.Expr, d tensor.DType) relay.Expr {
	if d == n.dtype(x) {
		return x
	}
	if d.IsInt() && d.Bits() < 8 && n.isFloat(x) {
		x = n.cast(x, tensor.Int32)
	}
	return n.call("cast", &relay.CastAttrs{DType: d, Saturate: n.flag("saturate", true), RoundMode: n.str("round_mode", "up")}, x)
}

// dtypeOf returns the element type with the format's number.
func (n *node) dtypeOf(number int) tensor.DType {
	n.wants(number >= 0 && number <= math.MaxInt32, "element type %d does not exist", number)
	d, err := dtype(int32(number), n.proto.GetOpType(), n.pos)
	if err != nil {
		n.fail(err)
	}
	return d
}

func castLike(n *node) []relay.Expr { return one(n.convertTo(n.in(0), n.dtype(n.in(1)))) }

// bitCast reads the same bits as another type of the same width.
func bitCast(n *node) []relay.Expr {
	d, x := n.dtypeOf(n.int("to", 0)), n.in(0)
	n.wants(d.Bits() == n.dtype(x).Bits(), "%v and %v have different widths", n.dtype(x), d)
	if d == n.dtype(x) {
		return one(x)
	}
	return one(n.call("reinterpret", &relay.CastAttrs{DType: d, Saturate: true, RoundMode: "up"}, x))
}
