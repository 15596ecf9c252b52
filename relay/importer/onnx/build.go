package onnx

import (
	"slices"

	"github.com/texel-ml/texel/relay"
	"github.com/texel-ml/texel/tensor"
)

// Short names for the calls that rows are made of. What changes nothing makes no call.

func (n *node) add(a, b relay.Expr) relay.Expr { return n.call("add", nil, a, b) }
func (n *node) sub(a, b relay.Expr) relay.Expr { return n.call("subtract", nil, a, b) }
func (n *node) mul(a, b relay.Expr) relay.Expr { return n.call("multiply", nil, a, b) }
func (n *node) div(a, b relay.Expr) relay.Expr { return n.call("divide", nil, a, b) }
func (n *node) exp(x relay.Expr) relay.Expr    { return n.call("exp", nil, x) }

func (n *node) where(condition, x, y relay.Expr) relay.Expr {
	return n.call("where", nil, condition, x, y)
}

// clip bounds x by low and high.
func (n *node) clip(x relay.Expr, low, high float64) relay.Expr {
	return n.call("clip", &relay.ClipAttrs{AMin: low, AMax: high}, x)
}

func (n *node) cast(x relay.Expr, d tensor.DType) relay.Expr {
	if n.dtype(x) == d {
		return x
	}
	return n.call("cast", &relay.CastAttrs{DType: d, Saturate: true, RoundMode: "up"}, x)
}

func (n *node) reshape(x relay.Expr, shape tensor.Shape) relay.Expr {
	if n.shape(x).Equal(shape) {
		return x
	}
	if c, ok := x.(*relay.Constant); ok && c.Value.Elems() == shape.Elems() { // the same bytes
		return relay.NewConstant(&tensor.Tensor{DType: c.Value.DType, Shape: shape.Clone(), Data: c.Value.Data}, c.Name, n.pos)
	}
	return n.call("reshape", &relay.ReshapeAttrs{NewShape: shape}, x)
}

func (n *node) transpose(x relay.Expr, perm []int) relay.Expr {
	if slices.IsSorted(perm) {
		return x
	}
	return n.call("transpose", &relay.TransposeAttrs{Axes: perm}, x)
}

func (n *node) broadcastTo(x relay.Expr, shape tensor.Shape) relay.Expr {
	n.allocatable(shape)
	if n.shape(x).Equal(shape) {
		return x
	}
	if len(n.shape(x)) == 0 {
		return n.call("full", &relay.FullAttrs{Shape: shape}, x)
	}
	return n.call("broadcast_to", &relay.ShapeAttrs{Shape: shape}, x)
}

func (n *node) tile(x relay.Expr, reps []int) relay.Expr {
	return n.call("tile", &relay.TileAttrs{Reps: reps}, x)
}

// maxJoined is how many operands one concatenation has; more are joined in steps, since the expression of one element of the
// result tries them in turn.
const maxJoined = 128

func (n *node) concat(list []relay.Expr, axis int) relay.Expr {
	for len(list) > maxJoined {
		var joined []relay.Expr
		for part := range slices.Chunk(list, maxJoined) {
			joined = append(joined, n.concat(part, axis))
		}
		list = joined
	}
	if len(list) == 1 {
		return list[0]
	}
	return n.call("concatenate", &relay.ConcatAttrs{Axis: axis}, n.tuple(list...))
}

// split cuts an axis into parts whose extents add up to the axis's.
func (n *node) split(x relay.Expr, parts []int, axis int) []relay.Expr {
	if len(parts) == 1 {
		return one(x)
	}
	var at []int
	sum := 0
	for _, p := range parts[:len(parts)-1] {
		sum += p
		at = append(at, sum)
	}
	return n.fields(n.call("split", &relay.SplitAttrs{Indices: at, Axis: axis}, x))
}

// slice takes begin, begin+stride, … before end on every axis. With a negative stride an end of -1 is before the first.
func (n *node) slice(x relay.Expr, begin, end, stride []int) relay.Expr {
	whole := true
	stop := slices.Clone(end)
	for a, d := range n.known(x) {
		whole = whole && begin[a] == 0 && end[a] == d && stride[a] == 1
		if stride[a] < 0 && end[a] < 0 {
			stop[a] = -d - 1 // counted from the end, as the operator has it
		}
		if stride[a] < 0 && begin[a] < 0 { // an empty axis
			stop[a] = begin[a]
		}
	}
	if whole {
		return x
	}
	return n.call("strided_slice", &relay.StridedSliceAttrs{Begin: begin, End: stop, Strides: stride}, x)
}

// sliceAxis takes begin to end of one axis.
func (n *node) sliceAxis(x relay.Expr, axis, begin, end int) relay.Expr {
	if begin == 0 && end == n.known(x)[axis] {
		return x
	}
	return n.call("strided_slice", &relay.StridedSliceAttrs{Begin: []int{begin}, End: []int{end}, Strides: []int{1}, Axes: []int{axis}}, x)
}

// take gathers along an axis; the axis is replaced by the axes of the indices.
func (n *node) take(x, index relay.Expr, axis int) relay.Expr {
	return n.call("take", &relay.TakeAttrs{Axis: axis, Mode: "clip"}, x, index)
}

// gather takes for each index the element at its own place but along the axis. Indices may cover a part of the other
// axes only.
func (n *node) gather(x, index relay.Expr, axis int) relay.Expr {
	return n.call("gather", &relay.AxisAttrs{Axis: axis}, x, index)
}

// gatherND takes slices by tuples of indices along the last axis; relay has them along the first one.
func (n *node) gatherND(x, index relay.Expr, batch int) relay.Expr {
	return n.call("gather_nd", &relay.GatherNDAttrs{BatchDims: batch}, x, n.lastFirst(index))
}

func (n *node) lastFirst(x relay.Expr) relay.Expr {
	rank := n.rank(x)
	perm := []int{rank - 1}
	for a := range rank - 1 {
		perm = append(perm, a)
	}
	return n.transpose(x, perm)
}

func (n *node) scatterElements(x, index, updates relay.Expr, axis int, reduction string) relay.Expr {
	return n.call("scatter_elements", &relay.ScatterElementsAttrs{Axis: axis, Reduction: reduction}, x, index, updates)
}

func (n *node) scatterND(x, index, updates relay.Expr, reduction string) relay.Expr {
	return n.call("scatter_nd", &relay.ScatterNDAttrs{Mode: reduction}, x, n.lastFirst(index), updates)
}

func (n *node) reduce(op string, x relay.Expr, axes []int, keep bool) relay.Expr {
	if axes == nil {
		axes = []int{}
	}
	return n.call(op, &relay.ReduceAttrs{Axis: axes, Keepdims: keep}, x)
}

func (n *node) argReduce(op string, x relay.Expr, axis int, keep, last bool) relay.Expr {
	return n.call(op, &relay.ArgReduceAttrs{Axis: []int{axis}, Keepdims: keep, SelectLastIndex: last, DType: tensor.Int64}, x)
}

// matmul is the product over the last axis of a and the one before the last of b, both of two axes or more.
func (n *node) matmul(a, b relay.Expr) relay.Expr { return n.matmulT(a, b, false, false) }

func (n *node) matmulT(a, b relay.Expr, transposeA, transposeB bool) relay.Expr {
	return n.call("nn.matmul", &relay.MatmulAttrs{TransposeA: transposeA, TransposeB: transposeB}, a, b)
}

// zeros is a constant-free tensor of zeros.
func (n *node) zeros(shape tensor.Shape, d tensor.DType) relay.Expr {
	return n.broadcastTo(n.scalar(d, 0), shape)
}

// floats is a constant of rank 1 of the element type.
func (n *node) floats1(d tensor.DType, list []float64) relay.Expr {
	return n.constShape(d, tensor.Shape{len(list)}, list)
}

// constShape is a constant of the element type; numbers are cut to integers where it is one.
func (n *node) constShape(d tensor.DType, shape tensor.Shape, list []float64) relay.Expr {
	w := &tensor.Wide{DType: d, Shape: shape, F: list}
	if !d.IsFloat() {
		w.F, w.I = nil, make([]int64, len(list))
		for i, v := range list {
			w.I[i] = int64(v)
		}
	}
	return n.constant(w.Narrow())
}
