package onnx

import (
	"github.com/texel-ml/texel/relay"
	"github.com/texel-ml/texel/tensor"
)

// quantizeLinear is saturate(round(x / scale) + zero point): one scale, one along an axis, or one a block.
func quantizeLinear(n *node) []relay.Expr {
	x, scale := n.in(0), n.in(1)
	d := tensor.Uint8
	if n.int("output_dtype", 0) != 0 {
		d = n.dtypeOf(n.int("output_dtype", 0))
	}
	zero := n.opt(2)
	if zero != nil {
		n.wants(!n.has("output_dtype") || n.int("output_dtype", 0) == 0 || d == n.dtype(zero), "output_dtype %v, but the zero point is %v", d, n.dtype(zero))
		d = n.dtype(zero)
	}
	if n.int("precision", 0) != 0 {
		p := n.dtypeOf(n.int("precision", 0))
		x, scale = n.cast(x, p), n.cast(scale, p)
	}
	if x, ok := n.expandBlocks(&scale, &zero, x, d); ok {
		return one(n.quantizeWide(x, scale, zero, d))
	}
	if n.dtype(x) != tensor.Int32 && !n.isFloat(x) {
		x = n.cast(x, n.dtype(scale))
	}
	return one(n.quantize(x, scale, zero, d, n.int("axis", 1)))
}

// quantize makes the call with scalar or per-axis scale and zero point.
func (n *node) quantize(x, scale, zero relay.Expr, d tensor.DType, axis int) relay.Expr {
	scale, zero, axis = n.quantum(x, scale, zero, d, axis)
	return n.call("qnn.quantize", &relay.QuantizeAttrs{Axis: axis, OutDType: d, Saturate: n.flag("saturate", true)}, x, scale, zero)
}

// quantum makes scalars of one-element scale and zero point, and a zero point where there is none.
func (n *node) quantum(x, scale, zero relay.Expr, d tensor.DType, axis int) (relay.Expr, relay.Expr, int) {
	if elems(n.typ(scale)) == 1 {
		scale, axis = n.reshape(scale, tensor.Shape{}), 0
	} else {
		axis = n.axis(axis, n.rank(x))
	}
	if zero == nil {
		zero = n.broadcastTo(n.scalar(d, 0), n.shape(scale))
	} else if elems(n.typ(zero)) == 1 {
		zero = n.reshape(zero, tensor.Shape{})
	}
	n.wants(n.dtype(zero) == d, "the zero point has type %v, wanted %v", n.dtype(zero), d)
	return scale, zero, axis
}

// expandBlocks repeats the scale and zero point of a blocked quantization along the axis, so that they have the
// operand's shape. It reports false when the quantization is not blocked.
func (n *node) expandBlocks(scale, zero *relay.Expr, x relay.Expr, d tensor.DType) (relay.Expr, bool) {
	size := n.int("block_size", 0)
	if size == 0 {
		return x, false
	}
	s := n.known(x)
	axis := n.axis(n.int("axis", 1), len(s))
	n.wants(size > 0 && n.rank(*scale) == len(s), "block_size %d with a scale of shape %v for an operand of shape %v", size, n.shape(*scale), s)
	if d.Bits() < 8 || d.IsStorage() {
		for _, e := range []*relay.Expr{zero} {
			if *e != nil {
				*e = n.cast(*e, tensor.Int32)
			}
		}
	}
	for _, e := range []*relay.Expr{scale, zero} {
		if *e == nil {
			continue
		}
		wide := n.call("repeat", &relay.RepeatAttrs{Repeats: size, Axis: axis}, *e)
		n.wants(n.shape(wide)[axis] >= s[axis], "%d blocks of %d for an axis of extent %d", n.shape(*e)[axis], size, s[axis])
		*e = n.sliceAxis(wide, axis, 0, s[axis])
		n.wants(n.shape(*e).Equal(s), "a scale of shape %v for an operand of shape %v", n.shape(*scale), s)
	}
	return x, true
}

// quantizeWide quantizes with scale and zero point of the operand's shape.
func (n *node) quantizeWide(x, scale, zero relay.Expr, d tensor.DType) relay.Expr {
	y := n.div(n.cast(x, n.dtype(scale)), scale)
	if d.IsFloat() {
		if zero != nil {
			y = n.add(y, n.cast(zero, n.dtype(scale)))
		}
		return n.call("cast", &relay.CastAttrs{DType: d, Saturate: n.flag("saturate", true), RoundMode: "up"}, y)
	}
	y = n.call("round", nil, y)
	if zero != nil {
		y = n.add(y, n.cast(zero, n.dtype(scale)))
	}
	low, high := bounds(d)
	return n.cast(n.clip(y, low, high), d)
}

// bounds is the range of an integer type.
func bounds(d tensor.DType) (low, high float64) {
	if d.Kind() == tensor.Unsigned {
		return 0, float64(uint64(1)<<d.Bits() - 1)
	}
	return -float64(int64(1) << (d.Bits() - 1)), float64(int64(1)<<(d.Bits()-1) - 1)
}

// dequantizeLinear is (x - zero point) · scale.
func dequantizeLinear(n *node) []relay.Expr {
	x, scale, zero := n.in(0), n.in(1), n.opt(2)
	out := n.dtype(scale)
	if n.int("output_dtype", 0) != 0 {
		out = n.dtypeOf(n.int("output_dtype", 0))
	}
	d := n.dtype(x)
	if zero != nil {
		n.wants(n.dtype(zero) == d, "the zero point has type %v, wanted %v", n.dtype(zero), d)
	}
	if x, ok := n.expandBlocks(&scale, &zero, x, d); ok {
		y := n.cast(x, n.dtype(scale))
		if zero != nil {
			y = n.sub(y, n.cast(zero, n.dtype(scale)))
		}
		return one(n.cast(n.mul(y, scale), out))
	}
	return one(n.dequantize(x, scale, zero, n.int("axis", 1), out))
}

func (n *node) dequantize(x, scale, zero relay.Expr, axis int, out tensor.DType) relay.Expr {
	scale, zero, axis = n.quantum(x, scale, zero, n.dtype(x), axis)
	return n.call("qnn.dequantize", &relay.DequantizeAttrs{Axis: axis, OutDType: out}, x, scale, zero)
}

// dynamicQuantizeLinear finds scale and zero point of uint8 from the operand's range, which includes 0.
func dynamicQuantizeLinear(n *node) []relay.Expr {
	x := n.in(0)
	axes := []int{}
	for a := range n.rank(x) {
		axes = append(axes, a)
	}
	zero := n.like(x, 0)
	low := n.call("minimum", nil, n.reduce("min", x, axes, false), zero)
	high := n.call("maximum", nil, n.reduce("max", x, axes, false), zero)
	// the scale is stored, so it is rounded before it is used
	scale := n.call("cast", &relay.CastAttrs{DType: n.dtype(x), Saturate: true, RoundMode: "up"}, n.div(n.sub(high, low), n.like(x, 255)))
	safe := n.where(n.call("equal", nil, scale, zero), n.like(x, 1), scale)
	point := n.cast(n.call("round", nil, n.clip(n.div(n.call("negative", nil, low), safe), 0, 255)), tensor.Uint8)
	return []relay.Expr{n.quantize(x, safe, point, tensor.Uint8, 0), scale, point}
}

// centred is x minus its zero point in int32, in float32 when x is a narrow float; a vector of zero points lies along axis.
func (n *node) centred(x, zero relay.Expr, axis int) relay.Expr {
	d := tensor.Int32
	if n.isFloat(x) {
		d = tensor.Float32
	}
	wide := n.cast(x, d)
	if zero == nil {
		return wide
	}
	n.wants(n.dtype(zero) == n.dtype(x), "the zero point has type %v, wanted %v", n.dtype(zero), n.dtype(x))
	return n.sub(wide, n.along(n.cast(zero, d), n.rank(x), axis))
}

// along reshapes a vector so that it broadcasts along an axis of rank axes. Scalars and higher ranks stay.
func (n *node) along(v relay.Expr, rank, axis int) relay.Expr {
	s := n.known(v)
	if s.Elems() == 1 {
		return n.reshape(v, tensor.Shape{})
	}
	if len(s) != 1 {
		return v
	}
	shape := make(tensor.Shape, 0, rank)
	for a := range rank {
		if a == axis {
			shape = append(shape, s[0])
		} else {
			shape = append(shape, 1)
		}
	}
	return n.reshape(v, shape)
}

func matMulInteger(n *node) []relay.Expr {
	a, b := n.in(0), n.in(1)
	return one(n.matmulAny(n.centred(a, n.opt(2), n.rank(a)-2), n.centred(b, n.opt(3), n.rank(b)-1)))
}

func convInteger(n *node) []relay.Expr {
	x, w := n.in(0), n.in(1)
	return one(n.conv(n.centred(x, n.opt(2), 1), n.centred(w, n.opt(3), 0), tensor.Invalid))
}

// qLinearConv is a convolution of the integers without their zero points: a padded element is the real 0.
func qLinearConv(n *node) []relay.Expr {
	x, w := n.in(0), n.in(3)
	sum := n.conv(n.centred(x, n.in(2), 1), n.centred(w, n.in(5), 0), tensor.Invalid)
	if bias := n.opt(8); bias != nil {
		sum = n.biased(sum, n.cast(bias, tensor.Int32))
	}
	rank := n.rank(x)
	scale := n.mul(n.along(n.in(1), rank, 1), n.along(n.in(4), rank, 1))
	return one(n.requantize(sum, scale, n.in(6), n.in(7)))
}

func qLinearMatMul(n *node) []relay.Expr {
	a, b := n.in(0), n.in(3)
	sum := n.matmulAny(n.centred(a, n.in(2), n.rank(a)-2), n.centred(b, n.in(5), n.rank(b)-1))
	rank := n.rank(sum)
	scale := n.mul(n.along(n.in(1), rank, rank-2), n.along(n.in(4), rank, rank-1))
	return one(n.requantize(sum, scale, n.in(6), n.in(7)))
}

// requantize gives sum · scale in the quantized form that the last two operands describe.
func (n *node) requantize(sum, scale, outScale, outZero relay.Expr) relay.Expr {
	real := n.mul(n.cast(sum, tensor.Float32), n.cast(scale, tensor.Float32))
	return n.quantize(real, n.cast(outScale, tensor.Float32), outZero, n.dtype(outZero), 1)
}
