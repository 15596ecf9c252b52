package relaytext

import (
	"github.com/texel-ml/texel/diag"
	"github.com/texel-ml/texel/relay"
	"github.com/texel-ml/texel/tensor"
)

// zeroPoint returns a zero point in the quantized type: Relay has it as int32.
func (c *call) zeroPoint(e relay.Expr, d tensor.DType) relay.Expr {
	k, ok := e.(*relay.Constant)
	if !ok || k.Value.DType == d || k.Value.DType.IsFloat() || !d.IsInt() || k.Value.Check() != nil {
		return c.cast(e, d)
	}
	w := tensor.Widen(k.Value)
	for _, v := range w.I {
		if tensor.Wrap(d, v) != v {
			c.fail(diag.Invalid, "a zero point is %d, which %v does not have", v, d)
			return nil
		}
	}
	w.DType = d
	return relay.NewConstant(w.Narrow(), k.Name, c.pos)
}

// quantize is our operator of that name but for the type of the zero point.
func (c *call) quantize() relay.Expr {
	a := textAttrs[relay.QuantizeAttrs](c, "qnn.quantize")
	return c.op("qnn.quantize", a, c.args[0], c.args[1], c.zeroPoint(c.args[2], a.OutDType))
}

// dequantize is our operator of that name but for the type of the zero point.
func (c *call) dequantize() relay.Expr {
	a := textAttrs[relay.DequantizeAttrs](c, "qnn.dequantize")
	return c.op("qnn.dequantize", a, c.args[0], c.args[1], c.zeroPoint(c.args[2], c.tensorOf(0).DType))
}

// real returns the numbers that quantized ones stand for.
func (c *call) real(data, scale, zero relay.Expr, axis int) relay.Expr {
	return c.op("qnn.dequantize", &relay.DequantizeAttrs{Axis: axis}, data, scale, c.zeroPoint(zero, c.typeOf(data).DType))
}

// quantized returns numbers in their quantized form.
func (c *call) quantized(data, scale, zero relay.Expr, axis int, d tensor.DType) relay.Expr {
	a := defaults[relay.QuantizeAttrs](c, "qnn.quantize")
	a.Axis, a.OutDType = axis, d
	return c.op("qnn.quantize", a, data, scale, c.zeroPoint(zero, d))
}

// requantize goes through the real numbers, so that a tie is rounded to the even one.
func (c *call) requantize() relay.Expr {
	axis, d := attr(c, "axis", -1), attr(c, "out_dtype", tensor.Int8)
	attr(c, "rounding", "")
	attr(c, "compute_dtype", "")
	return c.quantized(c.real(c.args[0], c.args[1], c.args[2], axis), c.args[3], c.args[4], axis, d)
}

// quantizedUnary computes an operator on the real numbers. The operands are data, its scale and zero point, and those of
// the result.
func quantizedUnary(name string) func(c *call) relay.Expr {
	return func(c *call) relay.Expr {
		op := c.b.r.ops.Lookup(name)
		if op == nil {
			return c.op(name, nil)
		}
		attrs := relay.TextAttrs(op)
		c.fill(attrs)
		e := c.make(op, attrs, []relay.Expr{c.real(c.args[0], c.args[1], c.args[2], -1)})
		return c.quantized(e, c.args[3], c.args[4], -1, c.tensorOf(0).DType)
	}
}

// quantizedPool is quantizedUnary of an average pool.
func (c *call) quantizedPool() relay.Expr {
	data, d := c.args, c.tensorOf(0).DType
	c.args = []relay.Expr{c.real(data[0], data[1], data[2], -1)}
	if c.err != nil {
		return nil
	}
	return c.quantized(pool("nn.avg_pool2d", 2)(c), data[3], data[4], -1, d)
}

// quantizedBinary computes an operator on the real numbers. The operands are both, scale and zero point of each, and
// those of the result.
func quantizedBinary(name string) func(c *call) relay.Expr {
	return func(c *call) relay.Expr {
		lhs := c.real(c.args[0], c.args[2], c.args[3], attr(c, "lhs_axis", -1))
		rhs := c.real(c.args[1], c.args[4], c.args[5], attr(c, "rhs_axis", -1))
		return c.quantized(c.op(name, nil, lhs, rhs), c.args[6], c.args[7], -1, c.tensorOf(0).DType)
	}
}

// quantizedConcatenate brings the fields of a tuple to one scale. The operands are tuples of data, scales and zero
// points, and the scale and zero point of the result.
func (c *call) quantizedConcatenate() relay.Expr {
	var n [3]int
	for i := range n {
		t, ok := c.args[i].Type().(*relay.TupleType)
		if !ok {
			c.fail(diag.Invalid, "operand %d has type %v, wanted a tuple", i, c.args[i].Type())
			return nil
		}
		n[i] = len(t.Fields)
	}
	if n[0] == 0 || n[1] != n[0] || n[2] != n[0] {
		c.fail(diag.Invalid, "%d tensors have %d scales and %d zero points", n[0], n[1], n[2])
		return nil
	}
	parts := make([]relay.Expr, n[0])
	for i := range parts {
		parts[i] = c.real(c.part(c.args[0], i), c.part(c.args[1], i), c.part(c.args[2], i), -1)
	}
	joined := c.op("concatenate", &relay.ConcatAttrs{Axis: attr(c, "axis", 0)}, c.tuple(parts...))
	return c.quantized(joined, c.args[3], c.args[4], -1, c.typeOf(c.part(c.args[0], 0)).DType)
}

// part returns a field of a tuple without taking one apart that is written here.
func (c *call) part(e relay.Expr, i int) relay.Expr {
	if t, ok := e.(*relay.Tuple); ok {
		return t.Fields[i]
	}
	return c.get(e, i)
}

// quantizedProduct is a convolution or a product of whole numbers: both operands less their zero points, as int32. The
// operands are data, weight, the zero points of both and the scales of both, which the requantize behind it uses.
func quantizedProduct(name string) func(c *call) relay.Expr {
	return func(c *call) relay.Expr {
		var whole [2]relay.Expr
		for i := range whole {
			whole[i] = c.cast(c.args[i], tensor.Int32)
			zero, ok := c.args[2+i].(*relay.Constant)
			if !ok || zero.Value.Elems() != 1 {
				c.fail(diag.Unsupported, "a zero point of type %v that is computed or a list; wanted one constant", c.args[2+i].Type())
				return nil
			}
			if z := c.number(2+i, "zero point"); z != 0 {
				whole[i] = c.op("subtract", nil, whole[i], c.scalar(tensor.Int32, z))
			}
		}
		if c.err != nil {
			return nil
		}
		c.args = whole[:]
		if d := attr(c, "out_dtype", tensor.Int32); d != tensor.Int32 {
			c.fail(diag.Unsupported, "out_dtype=%v; int32 is supported", d)
		}
		switch name {
		case "nn.conv2d":
			return convolution(name, 2)(c)
		case "nn.conv2d_transpose":
			return transposedConvolution(name, 2)(c)
		}
		return c.named(name)
	}
}
