package onnx

import (
	"math"
	"slices"

	"github.com/texel-ml/texel/relay"
	pb "github.com/texel-ml/texel/relay/importer/onnx/onnxpb"
	"github.com/texel-ml/texel/tensor"
)

// constant is a value that stands in an attribute.
func constant(n *node) []relay.Expr {
	switch {
	case n.has("value"):
		return one(n.constant(n.tensorAttr("value")))
	case n.has("value_float"):
		return one(n.scalar(tensor.Float32, n.float("value_float", 0)))
	case n.has("value_int"):
		return one(n.constant(tensor.Of(tensor.Int64, tensor.Shape{}, int64(n.int("value_int", 0)))))
	case n.has("value_floats"):
		list := n.attr("value_floats", pb.AttributeProto_FLOATS).GetFloats()
		return one(n.constant(tensor.Of(tensor.Float32, tensor.Shape{len(list)}, list...)))
	case n.has("value_ints"):
		return one(n.constInts(n.ints("value_ints", nil)...))
	case n.has("sparse_value"):
		t, err := n.im.src.sparse(n.attr("sparse_value", pb.AttributeProto_SPARSE_TENSOR).GetSparseTensor(), "attribute sparse_value", n.pos)
		if err != nil {
			n.fail(err)
		}
		return one(n.constant(t))
	case n.has("value_string"), n.has("value_strings"):
		n.failUnsupported("a constant of strings")
	}
	n.failInvalid("a constant without a value")
	return nil
}

// shapeOf is the extents of axes start to end.
func shapeOf(n *node) []relay.Expr {
	s := n.known(n.in(0))
	clamp := func(v int) int {
		if v < 0 {
			v += len(s)
		}
		return min(max(v, 0), len(s))
	}
	start, end := clamp(n.int("start", 0)), clamp(n.int("end", len(s)))
	end = max(start, end)
	x, bounded := n.im.extents[n.in(0)]
	if !bounded || x.axis < start || x.axis >= end {
		return one(n.constInts(s[start:end]...))
	}
	var parts []relay.Expr
	for _, e := range []relay.Expr{n.constInts(s[start:x.axis]...), x.count, n.constInts(s[x.axis+1 : end]...)} {
		if n.shape(e)[0] > 0 {
			parts = append(parts, e)
		}
	}
	return one(n.concat(parts, 0))
}

func size(n *node) []relay.Expr {
	s := n.known(n.in(0))
	if x, ok := n.im.extents[n.in(0)]; ok {
		others := s[:x.axis].Elems() * s[x.axis+1:].Elems()
		return one(n.mul(n.reshape(x.count, tensor.Shape{}), n.scalar(tensor.Int64, float64(others))))
	}
	return one(n.constant(tensor.Of(tensor.Int64, tensor.Shape{}, int64(s.Elems()))))
}

// reshape changes the shape: 0 keeps the extent of the same axis unless allowzero is set, -1 is what remains.
func reshape(n *node) []relay.Expr {
	x := n.in(0)
	target, ok := n.attrOrInts("shape", 1, 5)
	n.wants(ok, "the target shape is missing")
	return one(n.reshape(x, n.target(x, target, n.flag("allowzero", false))))
}

func (n *node) target(x relay.Expr, target []int, allowZero bool) tensor.Shape {
	from := n.known(x)
	shape, infer, rest := make(tensor.Shape, len(target)), -1, 1
	for i, d := range target {
		switch {
		case d == -1 && infer < 0:
			infer = i
			continue
		case d == 0 && !allowZero:
			n.wants(i < len(from), "target %v keeps axis %d of an operand of shape %v", target, i, from)
			d = from[i]
		case d < 0:
			n.failInvalid("target shape %v", target)
		}
		shape[i] = d
		n.wants(d == 0 || rest <= math.MaxInt/d, "target shape %v is larger than memory", target)
		rest *= d
	}
	if infer >= 0 {
		n.wants(rest != 0 && from.Elems()%rest == 0, "%d elements of shape %v do not fill target %v", from.Elems(), from, target)
		shape[infer] = from.Elems() / rest
	}
	n.wants(shape.Elems() == from.Elems(), "%d elements of shape %v do not fill target %v", from.Elems(), from, target)
	return shape
}

// flatten makes two axes: those before axis, and the others.
func flatten(n *node) []relay.Expr {
	x := n.in(0)
	axis := n.int("axis", 1)
	n.wants(axis >= -n.rank(x) && axis <= n.rank(x), "axis %d is out of range for %d axes", axis, n.rank(x))
	if axis < 0 {
		axis += n.rank(x)
	}
	return one(n.flattenAt(x, axis))
}

func (n *node) flattenAt(x relay.Expr, axis int) relay.Expr {
	s := n.known(x)
	return n.reshape(x, tensor.Shape{s[:axis].Elems(), s[axis:].Elems()})
}

func squeeze(n *node) []relay.Expr {
	x := n.in(0)
	s := n.known(x)
	list, ok := n.attrOrInts("axes", 1, 13)
	if !ok {
		for a, d := range s {
			if d == 1 {
				list = append(list, a)
			}
		}
	}
	list = n.axes(list, len(s))
	shape := tensor.Shape{}
	for a, d := range s {
		if !slices.Contains(list, a) {
			shape = append(shape, d)
		} else if d != 1 {
			n.failInvalid("axis %d of shape %v is not 1", a, s)
		}
	}
	return one(n.reshape(x, shape))
}

func unsqueeze(n *node) []relay.Expr {
	x := n.in(0)
	list, ok := n.attrOrInts("axes", 1, 13)
	n.wants(ok, "axes are missing")
	rank := n.rank(x) + len(list)
	list = n.axes(list, rank)
	from, shape := n.known(x), tensor.Shape{}
	for a := range rank {
		if slices.Contains(list, a) {
			shape = append(shape, 1)
		} else {
			shape, from = append(shape, from[0]), from[1:]
		}
	}
	return one(n.reshape(x, shape))
}

func transpose(n *node) []relay.Expr {
	x := n.in(0)
	perm := make([]int, n.rank(x))
	for i := range perm {
		perm[i] = len(perm) - 1 - i
	}
	perm = n.ints("perm", perm)
	n.wants(len(perm) == n.rank(x), "perm %v for %d axes", perm, n.rank(x))
	return one(n.transpose(x, n.axes(perm, n.rank(x))))
}

// expand broadcasts to a shape, where an extent of 1 keeps the operand's.
func expand(n *node) []relay.Expr {
	target, ok := n.intsAt(1, "the target shape")
	n.wants(ok, "the target shape is missing")
	x := n.in(0)
	return one(n.broadcastTo(x, n.broadcast(n.known(x), target)))
}

// broadcast is the shape that a and b broadcast to.
func (n *node) broadcast(a, b tensor.Shape) tensor.Shape {
	out := make(tensor.Shape, max(len(a), len(b)))
	for i := range out {
		da, db := 1, 1
		if k := i - (len(out) - len(a)); k >= 0 {
			da = a[k]
		}
		if k := i - (len(out) - len(b)); k >= 0 {
			db = b[k]
		}
		n.wants(da == db || da == 1 || db == 1, "shapes %v and %v do not broadcast", a, b)
		n.wants(da >= 0 && db >= 0, "shapes %v and %v", a, b)
		out[i] = da
		if da == 1 {
			out[i] = db
		}
	}
	n.allocatable(out)
	return out
}

// allocatable refuses a result that no memory holds, before anything computes with its size.
func (n *node) allocatable(s tensor.Shape) {
	if e := s.Elems(); e < 0 || e > math.MaxInt/128 {
		n.failInvalid("a result of shape %v is larger than memory", s)
	}
}

// tile repeats the operand along each axis.
func tile(n *node) []relay.Expr {
	x := n.in(0)
	if n.opset < 6 { // tiles and the axis were two scalars
		reps := slices.Repeat([]int{1}, n.rank(x))
		reps[n.axis(n.intAt(2, "the axis", 0), n.rank(x))] = n.intAt(1, "the repeats", 1)
		return one(n.tile(x, reps))
	}
	reps, ok := n.intsAt(1, "the repeats")
	n.wants(ok && len(reps) == n.rank(x), "%d repeats for %d axes", len(reps), n.rank(x))
	return one(n.tile(x, reps))
}

func concat(n *node) []relay.Expr {
	list := n.all(1)
	rank := n.rank(list[0])
	for _, e := range list {
		n.sameType(list[0], e)
		n.wants(n.rank(e) == rank, "operands have %d and %d axes", rank, n.rank(e))
	}
	otherwise := 1
	if n.opset >= 4 {
		n.wants(n.has("axis"), "the axis is missing")
	}
	return one(n.concat(list, n.axis(n.int("axis", otherwise), rank)))
}

// split cuts an axis into parts of given extents, of equal extents, or with num_outputs of equal extents but the last.
func split(n *node) []relay.Expr {
	x := n.in(0)
	axis := n.axis(n.int("axis", 0), n.rank(x))
	extent := n.known(x)[axis]
	parts, given := n.attrOrInts("split", 1, 13)
	if !given {
		count := n.int("num_outputs", len(n.proto.GetOutput()))
		n.wants(count > 0 && count <= max(len(n.proto.GetOutput()), 1), "%d outputs", count)
		size := (extent + count - 1) / count
		n.wants(n.opset >= 18 || extent%count == 0, "axis %d of extent %d has no %d equal parts", axis, extent, count)
		for i := range count {
			parts = append(parts, max(0, min(size, extent-i*size)))
		}
	}
	sum := 0
	for _, p := range parts {
		n.wants(p >= 0 && p <= extent, "parts %v of axis %d of extent %d", parts, axis, extent)
		sum += p
	}
	n.wants(sum == extent, "parts %v of axis %d have sum %d, wanted %d", parts, axis, sum, extent)
	return n.split(x, parts, axis)
}

// slice takes start, start+step, … before end along each of the axes.
func slice(n *node) []relay.Expr {
	x := n.in(0)
	s := n.known(x)
	var starts, ends, axes, steps []int
	var hasAxes, hasSteps bool
	if n.opset < 10 {
		starts, ends = n.ints("starts", nil), n.ints("ends", nil)
		axes, hasAxes = n.ints("axes", nil), n.has("axes")
	} else {
		if y := n.slideSlice(x); y != nil {
			return one(y)
		}
		starts, _ = n.intsAt(1, "the starts")
		ends, _ = n.intsAt(2, "the ends")
		axes, hasAxes = n.intsAt(3, "the axes")
		steps, hasSteps = n.intsAt(4, "the steps")
	}
	if !hasAxes {
		for i := range starts {
			axes = append(axes, i)
		}
	}
	if !hasSteps {
		steps = slices.Repeat([]int{1}, len(starts))
	}
	n.wants(len(starts) == len(ends) && len(starts) == len(axes) && len(starts) == len(steps),
		"%d starts, %d ends, %d axes, %d steps", len(starts), len(ends), len(axes), len(steps))
	begin, end, stride := make([]int, len(s)), slices.Clone(s), slices.Repeat([]int{1}, len(s))
	for i, a := range n.axes(axes, len(s)) {
		begin[a], end[a], stride[a] = n.sliceBounds(starts[i], ends[i], steps[i], s[a])
	}
	return one(n.slice(x, begin, end, stride))
}

// sliceBounds clamps the bounds of a slice to the axis. For a negative step the end may be -1: before the first
// element. An empty slice has begin = end.
func (n *node) sliceBounds(start, end, step, extent int) (int, int, int) {
	n.wants(step != 0, "a step of 0")
	step = min(max(step, -math.MaxInt32), math.MaxInt32)
	fix := func(v, low, high int) int {
		if v < 0 {
			if v += extent; v < low {
				v = low
			}
		}
		return min(max(v, low), high)
	}
	if step > 0 {
		start, end = fix(start, 0, extent), fix(end, 0, extent)
		return start, max(start, end), step
	}
	start, end = fix(start, -1, extent-1), fix(end, -1, extent-1)
	return start, min(start, end), step
}

// slideSlice is a slice of one axis whose start or end is known when the model runs: the result has room for every
// element of the axis, or for those between where both move alike. It gives nil when both are known now, or when there is
// more than one axis.
func (n *node) slideSlice(x relay.Expr) relay.Expr {
	known := func(e relay.Expr) bool { _, err := n.im.evaluate(e); return err == nil }
	start, end := n.in(1), n.in(2)
	if known(start) && known(end) || elems(n.typ(start)) != 1 || elems(n.typ(end)) != 1 {
		return nil
	}
	axis, step := 0, 1
	if list, ok := n.intsAt(3, "the axes"); ok {
		n.wants(len(list) == 1, "%d axes", len(list))
		axis = list[0]
	}
	if list, ok := n.intsAt(4, "the steps"); ok {
		n.wants(len(list) == 1, "%d steps", len(list))
		step = list[0]
	}
	axis = n.axis(axis, n.rank(x))
	extent := n.known(x)[axis]
	n.wants(step != 0, "a step of 0")
	if extent == 0 || extent > 1<<24 || step < -extent || step > extent {
		return nil
	}
	if count, ok := n.im.window(start, end, extent); ok && step == 1 {
		return n.take(x, n.add(n.reshape(n.cast(start, tensor.Int64), tensor.Shape{1}), n.iota(count, 0)), axis)
	}
	num := func(v int) relay.Expr { return n.constInts(v) }
	low, high := 0, extent
	if step < 0 {
		low, high = -1, extent-1
	}
	bound := func(e relay.Expr) relay.Expr { // counted from the front and clamped
		e = n.reshape(n.cast(e, tensor.Int64), tensor.Shape{1})
		e = n.where(n.call("less", nil, e, num(0)), n.call("maximum", nil, n.add(e, num(extent)), num(low)), e)
		return n.call("minimum", nil, n.call("maximum", nil, e, num(low)), num(high))
	}
	from, to := bound(start), bound(end)
	room := (extent + max(step, -step) - 1) / max(step, -step)
	steps := n.mul(n.iota(room, 0), num(step))
	distance := n.sub(to, from)
	if step < 0 {
		distance = n.sub(from, to)
	}
	size := max(step, -step)
	count := n.call("divide", nil, n.add(n.call("maximum", nil, distance, num(0)), num(size-1)), num(size))
	index := n.call("minimum", nil, n.call("maximum", nil, n.add(from, steps), num(0)), num(extent-1))
	return n.bounded(n.take(x, index, axis), axis, count)
}

// pad adds elements around: begins of every axis, then ends. Negative widths crop.
func pad(n *node) []relay.Expr {
	x := n.in(0)
	rank := n.rank(x)
	var widths, axes []int
	var value relay.Expr = n.like(x, 0)
	hasAxes := false
	if n.opset < 11 {
		name := "pads"
		if n.opset < 2 {
			name = "paddings"
		}
		widths = n.ints(name, nil)
		value = n.like(x, n.float("value", 0))
	} else {
		widths, _ = n.intsAt(1, "the pads")
		if e := n.opt(2); e != nil && elems(n.typ(e)) > 0 {
			n.sameType(x, e)
			value = n.reshape(e, tensor.Shape{})
		}
		axes, hasAxes = n.intsAt(3, "the axes")
	}
	if hasAxes {
		axes = n.axes(axes, rank)
		n.wants(len(widths) == 2*len(axes), "%d pads for %d axes", len(widths), len(axes))
		full := make([]int, 2*rank)
		for i, a := range axes {
			full[a], full[rank+a] = widths[i], widths[len(axes)+i]
		}
		widths = full
	}
	n.wants(len(widths) == 2*rank, "%d pads for %d axes", len(widths), rank)
	return one(n.padAny(x, widths[:rank], widths[rank:], n.str("mode", "constant"), value))
}

// padAny pads with any mode; negative widths cut off.
func (n *node) padAny(x relay.Expr, before, after []int, mode string, value relay.Expr) relay.Expr {
	s := n.known(x)
	switch mode {
	case "constant", "edge", "reflect", "wrap":
	default:
		n.failInvalid("mode %q, wanted constant, edge, reflect or wrap", mode)
	}
	width := make([]int, 0, 2*len(s))
	for a := range s {
		width = append(width, before[a], after[a])
	}
	return n.call("nn.pad", &relay.PadAttrs{PadWidth: width, PadMode: mode}, x, value)
}

// centerCropPad crops or pads axes about their centre.
func centerCropPad(n *node) []relay.Expr {
	x := n.in(0)
	s := n.known(x)
	target, ok := n.intsAt(1, "the target shape")
	n.wants(ok, "the target shape is missing")
	axes := n.ints("axes", nil)
	if !n.has("axes") {
		for a := range s {
			axes = append(axes, a)
		}
	}
	axes = n.axes(axes, len(s))
	n.wants(len(axes) == len(target), "%d extents for %d axes", len(target), len(axes))
	before, after := make([]int, len(s)), make([]int, len(s))
	for i, a := range axes {
		n.wants(target[i] >= 0, "target shape %v", target)
		if add := target[i] - s[a]; add >= 0 {
			before[a], after[a] = add/2, add-add/2
		} else {
			before[a] = -(-add / 2)
			after[a] = add - before[a]
		}
	}
	return one(n.padAny(x, before, after, "constant", n.like(x, 0)))
}

// filled tensors

// constantOfShape is filled with one value.
func constantOfShape(n *node) []relay.Expr {
	target, ok := n.intsAt(0, "the shape")
	n.wants(ok, "the shape is missing")
	for _, d := range target {
		n.wants(d >= 0, "shape %v", target)
	}
	n.allocatable(target)
	value := n.scalar(tensor.Float32, 0)
	if t := n.tensorAttr("value"); t != nil {
		n.wants(t.Elems() == 1, "value has %d elements, wanted one", t.Elems())
		value = n.constant(&tensor.Tensor{DType: t.DType, Shape: tensor.Shape{}, Data: t.Data})
	}
	return one(n.broadcastTo(value, target))
}

// rangeOf counts from start by delta before limit.
func rangeOf(n *node) []relay.Expr {
	start, limit, delta := n.in(0), n.in(1), n.in(2)
	d := n.dtype(start)
	n.sameType(start, limit)
	n.sameType(start, delta)
	a, b, by := n.scalarAt(0, "the start", 0), n.scalarAt(1, "the limit", 0), n.scalarAt(2, "the delta", 0)
	n.wants(by != 0, "a delta of 0")
	const exact = 1 << 53 // beyond it the attributes do not hold every integer
	n.wants(math.Abs(a) <= exact && math.Abs(b) <= exact && math.Abs(by) <= exact, "a range from %g to %g by %g", a, b, by)
	return one(n.call("arange", &relay.ArangeAttrs{Start: a, Stop: b, Step: by, DType: d}))
}

// eyeLike has ones on diagonal k.
func eyeLike(n *node) []relay.Expr {
	x := n.in(0)
	s, d := n.known(x), n.dtype(x)
	n.wants(len(s) == 2, "an operand of shape %v, wanted two axes", s)
	if n.has("dtype") {
		d = n.dtypeOf(n.int("dtype", 0))
	}
	return one(n.call("eye", &relay.EyeAttrs{Shape: s, K: n.int("k", 0), DType: d}))
}

// iota is 0 … count-1 as int64, with trailing axes of extent 1 behind it.
func (n *node) iota(count, trailing int) relay.Expr {
	list := n.call("arange", &relay.ArangeAttrs{Stop: float64(count), Step: 1, DType: tensor.Int64})
	return n.reshape(list, append(tensor.Shape{count}, slices.Repeat([]int{1}, trailing)...))
}

// trilu keeps the part at and above diagonal k, or at and below it.
func trilu(n *node) []relay.Expr {
	x, upper := n.in(0), n.flag("upper", true)
	s := n.known(x)
	n.wants(len(s) >= 2, "an operand of shape %v, wanted matrices", s)
	k := 0
	if !n.knownAt(1) {
		n.wants(elems(n.typ(n.in(1))) == 1, "%v diagonals, wanted one", n.shape(n.in(1)))
		above := n.sub(n.iota(s[len(s)-1], 0), n.iota(s[len(s)-2], 1)) // how far an element lies above the main diagonal
		compare := "greater_equal"
		if !upper {
			compare = "less_equal"
		}
		return one(n.where(n.call(compare, nil, above, n.cast(n.scalarOf(n.in(1)), tensor.Int64)), x, n.like(x, 0)))
	}
	if list, ok := n.intsAt(1, "the diagonal"); ok {
		n.wants(len(list) == 1, "%d diagonals, wanted one", len(list))
		k = min(max(list[0], -math.MaxInt32), math.MaxInt32) // beyond every axis is far enough
	}
	return one(n.call("trilu", &relay.TriluAttrs{Upper: upper, K: k}, x))
}

// block is nn.depth_to_space or nn.space_to_depth.
func block(name string) func(*node) []relay.Expr {
	return func(n *node) []relay.Expr {
		n.wants(n.rank(n.in(0)) == 4, "an operand of shape %v, wanted four axes", n.shape(n.in(0)))
		return one(n.call(name, &relay.BlockAttrs{BlockSize: n.int("blocksize", 0), Layout: "NCHW", Mode: n.str("mode", "DCR")}, n.in(0)))
	}
}
