package relaytext

import (
	"math"

	"github.com/texel-ml/texel/diag"
	"github.com/texel-ml/texel/relay"
	"github.com/texel-ml/texel/tensor"
)

// specialReshape resolves the numbers of a shape that are no extents: 0 takes the operand's extent, −1 what is left, −2
// the other axes, −3 the product of two, −4 splits one in the two that follow. With reverse the list is read from its end.
func (c *call) specialReshape(reverse bool) relay.Expr {
	shape := attr(c, "newshape", []int(nil))
	zero := attr(c, "allowzero", false)
	reverse = attr(c, "reverse", reverse)
	from := c.tensorOf(0).Shape.Clone()
	if reverse {
		reverseInts(shape)
		reverseInts(from)
	}
	out, ok := resolveShape(shape, from, zero)
	if !ok {
		c.fail(diag.Invalid, "newshape=%v does not fit %v", shape, c.tensorOf(0))
		return nil
	}
	if reverse {
		reverseInts(out)
	}
	return c.reshape(c.args[0], out...)
}

func reverseInts(list []int) {
	for i, j := 0, len(list)-1; i < j; i, j = i+1, j-1 {
		list[i], list[j] = list[j], list[i]
	}
}

// resolveShape returns the extents that a shape with special numbers means for an operand.
func resolveShape(shape []int, from tensor.Shape, allowZero bool) (out []int, ok bool) {
	at, open := 0, -1 // the next axis of the operand; where −1 stands in the result
	take := func() int {
		if at >= len(from) {
			ok = false
			return 1
		}
		at++
		return from[at-1]
	}
	if shape == nil {
		return nil, true
	}
	out, ok = make([]int, 0, len(shape)), true
	for i := 0; i < len(shape) && ok; i++ {
		switch n := shape[i]; {
		case n == 0 && !allowZero:
			out = append(out, take())
		case n >= 0:
			out = append(out, n)
			at++
		case n == -1:
			ok = open < 0
			open = len(out)
			out = append(out, 1)
			at++
		case n == -2:
			for at < len(from) {
				out = append(out, take())
			}
		case n == -3:
			a, b := take(), take()
			out = append(out, a*b)
		case n == -4 && i+2 < len(shape):
			whole, a, b := take(), shape[i+1], shape[i+2]
			if a == -1 && b > 0 {
				a = whole / b
			} else if b == -1 && a > 0 {
				b = whole / a
			}
			ok = ok && a >= 0 && b >= 0
			out = append(out, a, b)
			i += 2
		default:
			ok = false
		}
	}
	if open >= 0 && ok {
		rest := tensor.Shape(out).Elems()
		if ok = rest > 0; ok {
			out[open] = from.Elems() / rest
		}
	}
	return out, ok
}

// reshapeLike takes the shape of another operand, or a part of it for a part of the axes.
func (c *call) reshapeLike() relay.Expr {
	lhs, rhs := c.tensorOf(0).Shape, c.tensorOf(1).Shape
	bounds := func(side string, rank int) (from, to int) {
		from, to = attr(c, side+"_begin", 0), rank
		if !c.none(side + "_end") {
			to = attr(c, side+"_end", rank)
		}
		from, to = relay.NormalAxis(from, rank), relay.NormalAxis(to, rank)
		if from < 0 || to > rank || from > to {
			c.fail(diag.Invalid, "axes %d to %d of %s are outside rank %d", from, to, side, rank)
			return 0, 0
		}
		return from, to
	}
	lFrom, lTo := bounds("lhs", len(lhs))
	rFrom, rTo := bounds("rhs", len(rhs))
	out := append(lhs[:lFrom].Clone(), rhs[rFrom:rTo]...)
	return c.reshape(c.args[0], append(out, lhs[lTo:]...)...)
}

// broadcastTo has an element type, which is the operand's.
func (c *call) broadcastTo() relay.Expr {
	attr(c, "dtype", tensor.Invalid)
	return c.named("broadcast_to")
}

// noAxis reports whether a call has no axis: Relay then takes its operand as a vector.
func (c *call) noAxis() bool { return c.none("axis") }

// flat returns operand i as a vector.
func (c *call) flat(i int) relay.Expr {
	if t := c.tensorOf(i); len(t.Shape) != 1 {
		return c.reshape(c.args[i], t.Shape.Elems())
	}
	return c.args[i]
}

// repeatFlat repeats the elements of its operand as a vector.
func (c *call) repeatFlat() relay.Expr {
	return c.op("repeat", &relay.RepeatAttrs{Repeats: attr(c, "repeats", 1)}, c.flat(0))
}

// take may have no axis, and a mode that promises indices inside.
func (c *call) take() relay.Expr {
	if n := attr(c, "batch_dims", 0); n != 0 {
		c.fail(diag.Unsupported, "batch_dims=%d; 0 is supported", n)
	}
	data, a := c.args[0], &relay.TakeAttrs{}
	if c.noAxis() {
		data = c.flat(0)
	} else {
		a.Axis = attr(c, "axis", 0)
	}
	if a.Mode = attr(c, "mode", "clip"); a.Mode == "fast" {
		a.Mode = "clip"
	}
	return c.op("take", a, data, c.args[1])
}

// split may have a number of equal parts instead of places.
func (c *call) split() relay.Expr {
	for i, a := range c.attrs {
		n, ok := a.value.(int64)
		if a.name != "indices_or_sections" || !ok {
			continue
		}
		c.used[i] = true
		t, axis := c.tensorOf(0), attr(c, "axis", 0)
		at := relay.NormalAxis(axis, len(t.Shape))
		if at < 0 || at >= len(t.Shape) || n < 1 || n > int64(t.Shape[at]) || t.Shape[at]%int(n) != 0 {
			c.fail(diag.Invalid, "axis %d of %v does not split in %d equal parts", axis, t, n)
			return nil
		}
		places := make([]int, n-1)
		for i := range places {
			places[i] = (i + 1) * (t.Shape[at] / int(n))
		}
		return c.op("split", &relay.SplitAttrs{Indices: places, Axis: axis}, c.args[0])
	}
	return c.named("split")
}

// stridedSlice may have fewer strides than axes, and sizes for ends.
func (c *call) stridedSlice() relay.Expr {
	mode := attr(c, "slice_mode", "end")
	a := textAttrs[relay.StridedSliceAttrs](c, "strided_slice")
	for a.Strides != nil && len(a.Strides) < len(a.Begin) {
		a.Strides = append(a.Strides, 1)
	}
	switch mode {
	case "end":
	case "size":
		a.Strides = nil
		shape := c.tensorOf(0).Shape
		for i := range a.End {
			axis := i
			if i < len(a.Axes) {
				axis = relay.NormalAxis(a.Axes[i], len(shape))
			}
			if i >= len(a.Begin) || axis < 0 || axis >= len(shape) {
				break // which inference refuses
			}
			if a.Begin[i] < 0 {
				a.Begin[i] += shape[axis]
			}
			if a.End[i] == -1 {
				a.End[i] = shape[axis]
			} else {
				a.End[i] += a.Begin[i]
			}
		}
	default:
		c.fail(diag.Invalid, "slice_mode=%q, wanted end or size", mode)
	}
	return c.op("strided_slice", a, c.args[0])
}

// sliceLike cuts axes to the extents of another operand.
func (c *call) sliceLike() relay.Expr {
	shape, like := c.tensorOf(0).Shape, c.tensorOf(1).Shape
	axes := attr(c, "axes", []int(nil))
	if len(axes) == 0 {
		for i := range min(len(shape), len(like)) {
			axes = append(axes, i)
		}
	}
	a := &relay.StridedSliceAttrs{Axes: axes}
	for _, axis := range axes {
		at, of := relay.NormalAxis(axis, len(shape)), relay.NormalAxis(axis, len(like))
		if at < 0 || at >= len(shape) || of < 0 || of >= len(like) || like[of] > shape[at] {
			c.fail(diag.Invalid, "axis %d of %v cannot be cut to that of %v", axis, shape, like)
			return nil
		}
		a.Begin, a.End = append(a.Begin, 0), append(a.End, like[of])
	}
	return c.op("strided_slice", a, c.args[0])
}

// scatter is scatter_elements by a former name.
func scatter(reduction string) func(c *call) relay.Expr {
	return func(c *call) relay.Expr {
		return c.op("scatter_elements", &relay.ScatterElementsAttrs{Axis: attr(c, "axis", 0), Reduction: reduction}, c.args...)
	}
}

// shapeOf is a constant: every shape is known.
func (c *call) shapeOf() relay.Expr {
	shape := c.tensorOf(0).Shape
	return c.integers(c.indexType(), tensor.Shape{len(shape)}, shape...)
}

// size is a constant too.
func (c *call) size() relay.Expr {
	return c.integers(c.indexType(), tensor.Shape{}, c.tensorOf(0).Shape.Elems())
}

// indexType returns the attribute dtype, an integer type.
func (c *call) indexType() tensor.DType {
	d := attr(c, "dtype", tensor.Int32)
	if d == tensor.Invalid {
		return tensor.Int32
	}
	if !d.IsInt() || d.IsStorage() {
		c.fail(diag.Invalid, "dtype=%v, wanted an integer type", d)
		return tensor.Int32
	}
	return d
}

// arange has its bounds as operands, which must be constants; attributes repeat them.
func (c *call) arange() relay.Expr {
	a := &relay.ArangeAttrs{Start: c.number(0, "start"), Stop: c.number(1, "stop"), Step: c.number(2, "step"), DType: c.tensorOf(0).DType}
	for _, name := range []string{"start", "stop", "step"} {
		c.find(name)
	}
	if d := attr(c, "dtype", tensor.Invalid); d != tensor.Invalid {
		a.DType = d
	}
	return c.op("arange", a)
}

// scan may have no axis, and an element type to add up in.
func scan(name string) func(c *call) relay.Expr {
	return func(c *call) relay.Expr {
		data, a := c.args[0], &relay.ScanAttrs{}
		if c.noAxis() {
			data = c.flat(0)
		}
		c.fill(a)
		return c.op(name, a, c.cast(data, attr(c, "dtype", tensor.Invalid)))
	}
}

// topK may give one of its two results.
func (c *call) topK() relay.Expr {
	kind := attr(c, "ret_type", "both")
	e := c.named("topk")
	switch kind {
	case "both":
		return e
	case "values":
		return c.get(e, 0)
	case "indices":
		return c.get(e, 1)
	}
	c.fail(diag.Invalid, "ret_type=%q, wanted both, values or indices", kind)
	return nil
}

// trilu has the diagonal as an operand, which must be a constant.
func (c *call) trilu() relay.Expr {
	k := c.number(1, "diagonal")
	if k != math.Trunc(k) || math.Abs(k) > math.MaxInt32 {
		c.fail(diag.Invalid, "the diagonal is %v, wanted a whole number", k)
		return nil
	}
	return c.op("trilu", &relay.TriluAttrs{Upper: attr(c, "upper", true), K: int(k)}, c.args[0])
}

// meshgrid is a tuple of the operands, each along its own axis and repeated along the others.
func (c *call) meshgrid() relay.Expr {
	t, ok := c.args[0].Type().(*relay.TupleType)
	if !ok {
		c.fail(diag.Invalid, "the operand has type %v, wanted a tuple", c.args[0].Type())
		return nil
	}
	indexing := attr(c, "indexing", "ij")
	if indexing != "ij" && indexing != "xy" {
		c.fail(diag.Invalid, "indexing=%q, wanted ij or xy", indexing)
	}
	axis := make([]int, len(t.Fields))
	shape := make([]int, len(t.Fields))
	for i, f := range t.Fields {
		axis[i] = i
		if indexing == "xy" && i < 2 && len(t.Fields) > 1 {
			axis[i] = 1 - i
		}
		v, ok := f.(*relay.TensorType)
		if !ok || len(v.Shape) > 1 {
			c.fail(diag.Invalid, "field %d has type %v, wanted a vector", i, f)
			return nil
		}
		shape[axis[i]] = v.Shape.Elems()
	}
	fields := make([]relay.Expr, len(t.Fields))
	for i := range fields {
		along := make([]int, len(shape))
		for j := range along {
			along[j] = 1
		}
		along[axis[i]] = shape[axis[i]]
		fields[i] = c.op("broadcast_to", &relay.ShapeAttrs{Shape: shape}, c.reshape(c.get(c.args[0], i), along...))
	}
	return c.tuple(fields...)
}
