package relaytext

import (
	"slices"
	"strings"

	"github.com/texel-ml/texel/diag"
	"github.com/texel-ml/texel/relay"
	"github.com/texel-ml/texel/tensor"
)

// spread repeats a list of one entry for each axis.
func spread(list []int, n int) []int {
	if len(list) != 1 {
		return list
	}
	return slices.Repeat(list, n)
}

// sides gives a padding its two sides: one entry is for all, one an axis is for both sides.
func sides(list []int, rank int) []int {
	if len(list) == 1 {
		return slices.Repeat(list, 2*rank)
	}
	if len(list) == rank {
		return append(slices.Clone(list), list...)
	}
	return list
}

// textAttrs returns the attributes of the text for an operator of our table.
func textAttrs[T any](c *call, name string) *T {
	if op := c.b.r.ops.Lookup(name); op != nil {
		if attrs, ok := relay.TextAttrs(op).(*T); ok {
			c.fill(attrs)
			return attrs
		}
	}
	return defaults[T](c, name) // the error says what is missing
}

// convolution takes paddings and strides as Relay writes them.
func convolution(name string, rank int) func(c *call) relay.Expr {
	return func(c *call) relay.Expr {
		a := textAttrs[relay.ConvAttrs](c, name)
		a.Padding, a.Strides, a.Dilation = sides(a.Padding, rank), spread(a.Strides, rank), spread(a.Dilation, rank)
		a.KernelSize = spread(a.KernelSize, rank)
		return c.op(name, a, c.args[0], c.depthwiseWeight(a))
	}
}

// depthwiseWeight returns the weight of a convolution. Of one whose groups are the channels, Relay's weight is (C, M,
// kernel) with M results a channel, where ours is (C·M, 1, kernel).
func (c *call) depthwiseWeight(a *relay.ConvAttrs) relay.Expr {
	w := c.tensorOf(1)
	l, err := tensor.ParseLayout(a.KernelLayout)
	if err != nil || a.Groups < 2 || l.Fits(w.Shape) != nil || !l.Plain() {
		return c.args[1]
	}
	o, i := l.Index('O'), l.Index('I')
	data, err := tensor.ParseLayout(a.DataLayout)
	if err != nil || data.Fits(c.tensorOf(0).Shape) != nil || o < 0 || i != o+1 || w.Shape[i] == 1 ||
		w.Shape[o] != a.Groups || data.Extent(c.tensorOf(0).Shape, 'C') != a.Groups {
		return c.args[1]
	}
	shape := w.Shape.Clone()
	shape[o], shape[i] = shape[o]*shape[i], 1
	return c.reshape(c.args[1], shape...)
}

// transposedConvolution takes paddings and strides as Relay writes them.
func transposedConvolution(name string, rank int) func(c *call) relay.Expr {
	return func(c *call) relay.Expr {
		a := textAttrs[relay.ConvTransposeAttrs](c, name)
		a.Padding, a.Strides, a.Dilation = sides(a.Padding, rank), spread(a.Strides, rank), spread(a.Dilation, rank)
		a.KernelSize, a.OutputPadding = spread(a.KernelSize, rank), spread(a.OutputPadding, rank)
		return c.op(name, a, c.args...)
	}
}

// pool takes paddings and strides as Relay writes them.
func pool(name string, rank int) func(c *call) relay.Expr {
	return func(c *call) relay.Expr {
		a := textAttrs[relay.PoolAttrs](c, name)
		a.Padding, a.Strides, a.Dilation = sides(a.Padding, rank), spread(a.Strides, rank), spread(a.Dilation, rank)
		a.PoolSize = spread(a.PoolSize, rank)
		return c.op(name, a, c.args...)
	}
}

// adaptivePool is one operator of our table for all ranks. Without sizes every extent stays.
func adaptivePool(kind, layout string) func(c *call) relay.Expr {
	name := "nn.adaptive_" + kind + "_pool2d"
	return func(c *call) relay.Expr {
		a := &relay.AdaptivePoolAttrs{Layout: layout}
		c.fill(a)
		if l, err := tensor.ParseLayout(a.Layout); err == nil && l.Fits(c.tensorOf(0).Shape) == nil {
			spatial := strings.NewReplacer("N", "", "C", "").Replace(l.Letters())
			a.OutputSize = spread(a.OutputSize, len(spatial))
			for i := range len(spatial) {
				if len(a.OutputSize) == i {
					a.OutputSize = append(a.OutputSize, l.Extent(c.tensorOf(0).Shape, spatial[i]))
				}
			}
		}
		return c.op(name, a, c.args...)
	}
}

// batchFlatten keeps the first axis and joins the others.
func (c *call) batchFlatten() relay.Expr {
	shape := c.tensorOf(0).Shape
	if len(shape) == 0 {
		c.fail(diag.Invalid, "the operand is a scalar")
		return nil
	}
	return c.reshape(c.args[0], shape[0], shape[1:].Elems())
}

// matmul has an attribute that follows from the weight.
func (c *call) matmul() relay.Expr {
	units := attr(c, "units", 0)
	e := c.named("nn.matmul")
	if out := c.typeOf(e).Shape; units != 0 && e != nil && out[len(out)-1] != units {
		c.fail(diag.Invalid, "units=%d, but the result has %v", units, out)
	}
	return e
}

// pairs returns the attribute that lists two numbers an axis, flat: before 0, after 0, before 1, …
func (c *call) pairs(name string) []int {
	a := c.find(name)
	if a == nil {
		c.fail(diag.Invalid, "%s is missing", name)
		return nil
	}
	list, ok := a.value.([]any)
	flat := make([]int, 0, 2*len(list))
	for _, x := range list {
		if pair, nested := x.([]any); nested && len(pair) == 2 {
			before, isInt := pair[0].(int64)
			after, alsoInt := pair[1].(int64)
			flat, ok = append(flat, int(before), int(after)), ok && isInt && alsoInt
		} else {
			ok = false
		}
	}
	if !ok {
		c.wrong(a, "a list of pairs of whole numbers")
	}
	return flat
}

// pad has its value as an operand, and in older texts as an attribute.
func (c *call) pad() relay.Expr {
	a := &relay.PadAttrs{PadWidth: c.pairs("pad_width"), PadMode: attr(c, "pad_mode", "constant")}
	d := c.tensorOf(0).DType
	var value relay.Expr
	switch len(c.args) {
	case 1:
		value = c.scalar(d, attr(c, "pad_value", 0.0))
	case 2:
		value = c.cast(c.args[1], d)
	default:
		c.fail(diag.Invalid, "wants 1 or 2 operands, found %d", len(c.args))
		return nil
	}
	return c.op("nn.pad", a, c.args[0], value)
}

// mirrorPad mirrors at the border without the border.
func (c *call) mirrorPad() relay.Expr {
	if mode := attr(c, "mode", "SYMMETRIC"); mode != "REFLECT" {
		c.fail(diag.Unsupported, "mode=%q repeats the border; REFLECT is supported", mode)
	}
	a := &relay.PadAttrs{PadWidth: c.pairs("pad_width"), PadMode: "reflect"}
	return c.op("nn.pad", a, c.args[0], c.scalar(c.tensorOf(0).DType, 0))
}

// blocks returns the attributes of the two operators that move blocks of spatial axes to the batch and back.
func (c *call) blocks(margin string) (shape tensor.Shape, block, margins []int) {
	block = attr(c, "block_shape", []int{1, 1})
	margins = c.pairs(margin)
	shape = c.tensorOf(0).Shape.Clone()
	if len(shape) < 1+len(block) || len(margins) != 2*len(block) || slices.ContainsFunc(block, func(b int) bool { return b < 1 }) {
		c.fail(diag.Invalid, "block_shape=%v and %s of %d axes do not fit %v", block, margin, len(margins)/2, c.tensorOf(0))
		return shape, nil, nil
	}
	return shape, block, margins
}

// spaceToBatch moves blocks of the spatial axes, padded, to the front of the batch.
func (c *call) spaceToBatch() relay.Expr {
	value := attr(c, "pad_value", 0.0)
	shape, block, margins := c.blocks("paddings")
	if c.err != nil {
		return nil
	}
	width := make([]int, 2*len(shape))
	copy(width[2:], margins)
	padded := c.op("nn.pad", &relay.PadAttrs{PadWidth: width, PadMode: "constant"}, c.args[0], c.scalar(c.tensorOf(0).DType, value))
	shape = c.typeOf(padded).Shape.Clone()
	split, order, out := []int{shape[0]}, []int{}, []int{shape[0]}
	var after []int
	for i, b := range block {
		if shape[1+i]%b != 0 {
			c.fail(diag.Invalid, "axis %d of %v is no multiple of %d", 1+i, shape, b)
			return nil
		}
		split = append(split, shape[1+i]/b, b)
		order = append(order, 2+2*i)
		after = append(after, 1+2*i)
		out[0] *= b
		out = append(out, shape[1+i]/b)
	}
	order = append(append(order, 0), after...)
	for i := 1 + len(block); i < len(shape); i++ {
		order = append(order, len(split))
		split, out = append(split, shape[i]), append(out, shape[i])
	}
	return c.reshape(c.transpose(c.reshape(padded, split...), order...), out...)
}

// batchToSpace moves blocks from the front of the batch to the spatial axes, and crops these.
func (c *call) batchToSpace() relay.Expr {
	shape, block, margins := c.blocks("crops")
	if c.err != nil {
		return nil
	}
	batch := shape[0]
	var split []int
	for _, b := range block {
		split = append(split, b)
		if batch%b != 0 {
			c.fail(diag.Invalid, "a batch of %d is no multiple of the blocks %v", shape[0], block)
			return nil
		}
		batch /= b
	}
	n := len(block)
	split = append(append(split, batch), shape[1:]...)
	order, whole := []int{n}, []int{batch}
	begin, end, axes := []int{}, []int{}, []int{}
	for i, b := range block {
		order = append(order, n+1+i, i)
		whole = append(whole, shape[1+i]*b)
		begin, end, axes = append(begin, margins[2*i]), append(end, shape[1+i]*b-margins[2*i+1]), append(axes, 1+i)
	}
	for i := 1 + n; i < len(shape); i++ {
		order, whole = append(order, n+i), append(whole, shape[i])
	}
	e := c.reshape(c.transpose(c.reshape(c.args[0], split...), order...), whole...)
	return c.op("strided_slice", &relay.StridedSliceAttrs{Begin: begin, End: end, Axes: axes}, e)
}
