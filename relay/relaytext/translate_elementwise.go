package relaytext

import (
	"math"

	"github.com/texel-ml/texel/relay"
	"github.com/texel-ml/texel/tensor"
)

// floorDivide is ⌊x/y⌋; of integers it is (x − x mod y) / y, which divides evenly.
func (c *call) floorDivide() relay.Expr {
	x, y := c.args[0], c.args[1]
	if c.tensorOf(0).DType.IsFloat() {
		return c.op("floor", nil, c.op("divide", nil, x, y))
	}
	return c.op("divide", nil, c.op("subtract", nil, x, c.op("mod", nil, x, y)), y)
}

// truncDivide is x/y without its fraction, as the division of integers is.
func (c *call) truncDivide() relay.Expr {
	quotient := c.op("divide", nil, c.args[0], c.args[1])
	if c.tensorOf(0).DType.IsFloat() {
		return c.op("trunc", nil, quotient)
	}
	return quotient
}

// logarithm is log(x) / log(base).
func logarithm(base float64) func(c *call) relay.Expr {
	return func(c *call) relay.Expr {
		return c.op("multiply", nil, c.op("log", nil, c.args[0]), c.scalar(c.tensorOf(0).DType, 1/math.Log(base)))
	}
}

// isFinite is neither NaN nor infinite.
func (c *call) isFinite() relay.Expr {
	return c.op("logical_not", nil, c.op("logical_or", nil, c.op("isnan", nil, c.args[0]), c.op("isinf", nil, c.args[0])))
}

// filled is a tensor of zeros or ones.
func (c *call) filled(name string, t *relay.TensorType) relay.Expr {
	return c.op(name, &relay.FullAttrs{Shape: t.Shape, DType: t.DType})
}

// full is a tensor of one value, which is brought to its element type.
func (c *call) full(t *relay.TensorType, value relay.Expr) relay.Expr {
	return c.op("full", &relay.FullAttrs{Shape: t.Shape}, c.cast(value, t.DType))
}

// fullOf is full, whose value Relay brings to the element type.
func (c *call) fullOf() relay.Expr {
	attrs := &relay.FullAttrs{}
	c.fill(attrs)
	c.args[0] = c.cast(c.args[0], attrs.DType)
	return c.op("full", attrs, c.args[0])
}

// numericCondition reports whether the condition of a where is a number.
func (c *call) numericCondition() bool {
	return len(c.args) == 3 && relay.Tensor(c.args[0]) != nil && c.tensorOf(0).DType != tensor.Bool
}

// where takes a number other than 0 for true.
func (c *call) where() relay.Expr {
	condition := c.op("not_equal", nil, c.args[0], c.scalar(c.tensorOf(0).DType, 0))
	return c.op("where", nil, condition, c.args[1], c.args[2])
}

// dropout does nothing outside of training: a tuple of the operand and a mask of ones.
func (c *call) dropout() relay.Expr {
	attr(c, "rate", 0.5)
	return c.tuple(c.args[0], c.filled("ones", c.tensorOf(0)))
}

// variance is Σ (x − mean)² / n along the axes, or / (n − 1) with unbiased; the mean is an operand.
func (c *call) variance() relay.Expr {
	attrs := &relay.ReduceAttrs{}
	c.fill(attrs)
	unbiased := attr(c, "unbiased", false)
	t := c.tensorOf(0)
	difference := c.op("subtract", nil, c.args[0], c.args[1])
	squares := c.op("multiply", nil, difference, difference)
	if !unbiased {
		return c.op("mean", attrs, squares)
	}
	sum := c.op("sum", attrs, squares)
	n := c.typeOf(sum).Shape.Elems()
	if n > 0 {
		n = t.Shape.Elems() / n
	}
	return c.op("divide", nil, sum, c.scalar(t.DType, float64(n-1)))
}
