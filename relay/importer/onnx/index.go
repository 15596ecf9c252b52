package onnx

import (
	"slices"

	"github.com/texel-ml/texel/relay"
	"github.com/texel-ml/texel/tensor"
)

// wrapped checks indices into an axis: relay's operators take negative ones as they are. Constant indices outside the
// axis are refused.
func (n *node) wrapped(index relay.Expr, extents ...int) relay.Expr {
	d := n.dtype(index)
	n.wants(d.IsInt(), "indices of type %v, wanted integers", d)
	if c, ok := index.(*relay.Constant); ok {
		for i, v := range tensor.Widen(c.Value).I {
			extent := int64(extents[i%len(extents)])
			n.wants(v >= -extent && v < extent, "index %d is out of range for an axis of extent %d", v, extent)
		}
	}
	if d != tensor.Int64 && d != tensor.Int32 {
		return n.cast(index, tensor.Int64)
	}
	return index
}

// gather takes slices of an axis.
func gather(n *node) []relay.Expr {
	x := n.in(0)
	axis := n.axis(n.int("axis", 0), n.rank(x))
	return one(n.take(x, n.wrapped(n.in(1), n.known(x)[axis]), axis))
}

// gatherElements takes, for each element of the indices, the element whose place along axis is the index.
func gatherElements(n *node) []relay.Expr {
	x := n.in(0)
	axis := n.axis(n.int("axis", 0), n.rank(x))
	n.wants(n.rank(x) == n.rank(n.in(1)), "operands have %d and %d axes", n.rank(x), n.rank(n.in(1)))
	return one(n.gather(x, n.wrapped(n.in(1), n.known(x)[axis]), axis))
}

// gatherND takes slices by tuples of indices, which stand along the last axis.
func gatherND(n *node) []relay.Expr {
	x, index := n.in(0), n.in(1)
	batch := n.int("batch_dims", 0)
	s := n.known(index)
	n.wants(len(s) > 0, "indices without an axis")
	k := s[len(s)-1]
	n.wants(batch >= 0 && batch < len(s) && batch+k <= n.rank(x) && k > 0, "indices of shape %v and batch_dims %d for %d axes", s, batch, n.rank(x))
	return one(n.gatherND(x, n.wrapped(index, n.known(x)[batch:batch+k]...), batch))
}

// scatterElements writes updates at places along an axis; reduction says what becomes of the old value.
func scatterElements(n *node) []relay.Expr {
	x, index, updates := n.in(0), n.in(1), n.in(2)
	n.sameType(x, updates)
	axis := n.axis(n.int("axis", 0), n.rank(x))
	n.wants(n.rank(index) == n.rank(x) && n.shape(index).Equal(n.shape(updates)), "indices of shape %v, updates of shape %v, data of shape %v",
		n.shape(index), n.shape(updates), n.shape(x))
	return one(n.scatterElements(x, n.wrapped(index, n.known(x)[axis]), updates, axis, n.reduction()))
}

// scatterND writes slices at tuples of indices, which stand along the last axis.
func scatterND(n *node) []relay.Expr {
	x, index, updates := n.in(0), n.in(1), n.in(2)
	n.sameType(x, updates)
	s := n.known(index)
	n.wants(len(s) > 0 && s[len(s)-1] <= n.rank(x) && s[len(s)-1] > 0, "indices of shape %v for data of shape %v", s, n.shape(x))
	k := s[len(s)-1]
	want := append(s[:len(s)-1].Clone(), n.known(x)[k:]...)
	n.wants(n.shape(updates).Equal(want), "updates of shape %v, wanted %v", n.shape(updates), want)
	return one(n.scatterND(x, n.wrapped(index, n.known(x)[:k]...), updates, n.reduction()))
}

// reduction is the relay name of the attribute reduction.
func (n *node) reduction() string {
	switch r := n.str("reduction", "none"); r {
	case "none":
		return "update"
	case "add", "mul", "min", "max":
		return r
	default:
		n.failInvalid("reduction %q", r)
		return ""
	}
}

// oneHot puts values[1] at the index along a new axis and values[0] elsewhere. An index outside gives no hot element.
func oneHot(n *node) []relay.Expr {
	index, values := n.in(0), n.in(2)
	depth := n.intAt(1, "the depth", 0)
	n.wants(elems(n.typ(values)) == 2, "values of shape %v, wanted two", n.shape(values))
	if !n.dtype(index).IsInt() {
		index = n.cast(index, tensor.Int64)
	}
	attrs := &relay.OneHotAttrs{Depth: depth, Axis: n.axis(n.int("axis", -1), n.rank(index)+1)}
	scalar := func(i int) relay.Expr { return n.reshape(n.sliceAxis(values, 0, i, i+1), tensor.Shape{}) }
	return one(n.call("one_hot", attrs, index, scalar(1), scalar(0)))
}

// reverseSequence reverses the first sequence_lens[b] elements of each batch b along time_axis.
func reverseSequence(n *node) []relay.Expr {
	return one(n.call("reverse_sequence", &relay.ReverseSequenceAttrs{SeqAxis: n.int("time_axis", 0), BatchAxis: n.int("batch_axis", 1)}, n.in(0), n.in(1)))
}

// compress takes the elements of an axis, or of the flat operand, where the condition holds. How many that are is known
// when the model runs; the result has room for all.
func compress(n *node) []relay.Expr {
	x, condition := n.in(0), n.in(1)
	axis := 0
	if n.has("axis") {
		axis = n.axis(n.int("axis", 0), n.rank(x))
	} else {
		x = n.reshape(x, tensor.Shape{n.known(x).Elems()})
	}
	n.wants(n.rank(condition) == 1, "a condition of shape %v", n.shape(condition))
	extent := min(n.known(condition)[0], n.known(x)[axis])
	condition = n.sliceAxis(condition, 0, 0, extent)
	if smallConstant(condition) {
		var index []int
		for i, v := range n.value(condition, "the condition").I {
			if v != 0 {
				index = append(index, i)
			}
		}
		return one(n.take(x, n.constInts(index...), axis))
	}
	found := n.call("argwhere", nil, condition)
	places := n.reshape(n.field(found, 0), tensor.Shape{extent})
	return one(n.bounded(n.take(x, places, axis), axis, n.field(found, 1)))
}

// nonZero gives the places of the elements that are not 0, one a column. Their number is known when the model runs; the
// result has room for every element.
func nonZero(n *node) []relay.Expr {
	found := n.call("argwhere", nil, n.in(0))
	places := n.transpose(n.field(found, 0), []int{1, 0})
	return one(n.bounded(places, 1, n.field(found, 1)))
}

// unique gives the distinct elements of the operand, or its distinct slices along axis; where each comes first, which of
// them each element is, and how often each comes. How many there are is known when the model runs, unless the operand is.
func unique(n *node) []relay.Expr {
	x := n.in(0)
	axis := 0
	if n.has("axis") {
		axis = n.axis(n.int("axis", 0), n.rank(x))
	} else {
		x = n.reshape(x, tensor.Shape{n.known(x).Elems()})
	}
	list := n.fields(n.call("unique", &relay.UniqueAttrs{Axis: axis, Sorted: n.flag("sorted", true)}, x))
	first, inverse, counts, number := list[0], list[1], list[2], list[3]
	if smallConstant(number) {
		k := int(n.value(number, "the number of distinct elements").I[0])
		first, counts = n.sliceAxis(first, 0, 0, k), n.sliceAxis(counts, 0, 0, k)
		return []relay.Expr{n.take(x, first, axis), first, inverse, counts}
	}
	return []relay.Expr{n.bounded(n.take(x, first, axis), axis, number), n.bounded(first, 0, number), inverse, n.bounded(counts, 0, number)}
}

// tensorScatter writes the rows of an update into a cache from write_indices on along an axis, around its end when
// the mode is circular.
func tensorScatter(n *node) []relay.Expr {
	past, update := n.in(0), n.in(1)
	n.sameType(past, update)
	s, u := n.known(past), n.known(update)
	n.wants(len(s) >= 2 && len(s) == len(u), "a cache of shape %v and an update of shape %v", s, u)
	axis := n.axis(n.int("axis", -2), len(s))
	n.wants(axis > 0, "axis %d is the batch", axis)
	n.wants(u[axis] <= s[axis], "%d new rows in a cache of %d", u[axis], s[axis])
	mode := n.str("mode", "linear")
	n.wants(mode == "linear" || mode == "circular", "mode %q, wanted linear or circular", mode)
	at := n.reshape(n.iota(u[axis], 0), append(slices.Repeat([]int{1}, axis), append([]int{u[axis]}, slices.Repeat([]int{1}, len(s)-axis-1)...)...))
	if start := n.opt(2); start != nil {
		at = n.add(at, n.cast(n.reshape(start, append(tensor.Shape{s[0]}, slices.Repeat([]int{1}, len(s)-1)...)), tensor.Int64))
		if mode == "circular" {
			at = n.call("mod", nil, at, n.scalar(tensor.Int64, float64(s[axis])))
		}
	}
	return one(n.scatterElements(past, n.broadcastTo(at, u), update, axis, "update"))
}

// reductions

// reduce is a reduction over the axes, which were an attribute before opset since. before maps the operand, after
// the reduced value.
func reduce(op string, since int, before, after func(*node, relay.Expr) relay.Expr) func(*node) []relay.Expr {
	return func(n *node) []relay.Expr {
		x := n.in(0)
		axes, _ := n.attrOrInts("axes", 1, since)
		keep := n.flag("keepdims", true)
		if len(axes) == 0 && n.flag("noop_with_empty_axes", false) {
			return one(n.reduced(x, before, after))
		}
		if len(axes) == 0 {
			for a := range n.rank(x) {
				axes = append(axes, a)
			}
		}
		if before != nil {
			x = before(n, x)
		}
		y := n.reduce(op, x, n.axes(axes, n.rank(x)), keep)
		if after != nil {
			y = after(n, y)
		}
		return one(y)
	}
}

// reduced is a reduction over no axis: each element by itself.
func (n *node) reduced(x relay.Expr, before, after func(*node, relay.Expr) relay.Expr) relay.Expr {
	if before != nil {
		x = before(n, x)
	}
	if after != nil {
		x = after(n, x)
	}
	return x
}

func absOf(n *node, x relay.Expr) relay.Expr    { return n.call("abs", nil, x) }
func squareOf(n *node, x relay.Expr) relay.Expr { return n.mul(x, x) }

// rootOf and logOf are of the type of their operand: an integer's root is rounded toward zero.
func rootOf(n *node, x relay.Expr) relay.Expr { return n.asFloat(x, "sqrt") }
func logOf(n *node, x relay.Expr) relay.Expr  { return n.asFloat(x, "log") }

func (n *node) asFloat(x relay.Expr, op string) relay.Expr {
	if d := n.dtype(x); !d.IsFloat() {
		return n.cast(n.call(op, nil, n.cast(x, tensor.Float64)), d)
	}
	return n.call(op, nil, x)
}

// arg is the place of the largest or smallest element along an axis.
func arg(op string) func(*node) []relay.Expr {
	return func(n *node) []relay.Expr {
		x := n.in(0)
		axis := n.axis(n.int("axis", 0), n.rank(x))
		return one(n.argReduce(op, x, axis, n.flag("keepdims", true), n.flag("select_last_index", false)))
	}
}

// cumulative is a running sum or product along an axis, which is operand 1. Of one that is known when the model runs, the
// result is chosen among those of all axes.
func cumulative(op string) func(*node) []relay.Expr {
	return func(n *node) []relay.Expr {
		x := n.in(0)
		along := func(axis int) relay.Expr {
			return n.call(op, &relay.ScanAttrs{Axis: axis, Exclusive: n.flag("exclusive", false), Reverse: n.flag("reverse", false)}, x)
		}
		if n.knownAt(1) {
			list, ok := n.intsAt(1, "the axis")
			n.wants(ok && len(list) == 1, "the axis is missing")
			return one(along(n.axis(list[0], n.rank(x))))
		}
		axis, rank := n.cast(n.scalarOf(n.in(1)), tensor.Int64), n.rank(x)
		n.wants(rank > 0, "an operand without an axis")
		axis = n.call("mod", nil, axis, n.scalar(tensor.Int64, float64(rank))) // a negative one counts from the end
		y := along(rank - 1)
		for a := rank - 2; a >= 0; a-- {
			y = n.where(n.call("equal", nil, axis, n.scalar(tensor.Int64, float64(a))), along(a), y)
		}
		return one(y)
	}
}

// topK gives the k largest or smallest elements along an axis, and their places. Of a k that is known when the model runs
// the results have room for all.
func topK(n *node) []relay.Expr {
	x := n.in(0)
	axis := n.axis(n.int("axis", -1), n.rank(x))
	attrs := &relay.TopKAttrs{K: n.known(x)[axis], Axis: axis, IsAscend: !n.flag("largest", true), DType: tensor.Int64}
	if n.opset >= 10 && !n.knownAt(1) {
		count := n.reshape(n.cast(n.scalarOf(n.in(1)), tensor.Int64), tensor.Shape{1})
		count = n.clipInt(count, attrs.K)
		list := n.fields(n.call("topk", attrs, x))
		return []relay.Expr{n.bounded(list[0], axis, count), n.bounded(list[1], axis, count)}
	}
	k := n.int("k", 0)
	if n.opset >= 10 {
		k = n.intAt(1, "k", 0)
	}
	n.wants(k >= 0 && k <= attrs.K, "k is %d for an axis of extent %d", k, attrs.K)
	attrs.K = k
	return n.fields(n.call("topk", attrs, x))
}

// clipInt keeps integers from 0 to most.
func (n *node) clipInt(x relay.Expr, most int) relay.Expr {
	return n.call("minimum", nil, n.call("maximum", nil, x, n.like(x, 0)), n.like(x, float64(most)))
}

// normalisations along axes

// softmax is e^(x-m) / Σ e^(x-m). Before opset 13 the operand was flattened to two axes at axis, 1 by default.
func softmax(op string) func(*node) []relay.Expr {
	return func(n *node) []relay.Expr {
		x := n.in(0)
		return one(n.flattenedBefore13(x, func(x relay.Expr, axis int) relay.Expr { return n.call(op, &relay.AxisAttrs{Axis: axis}, x) }))
	}
}

func (n *node) flattenedBefore13(x relay.Expr, f func(relay.Expr, int) relay.Expr) relay.Expr {
	if n.opset >= 13 {
		return f(x, n.axis(n.int("axis", -1), n.rank(x)))
	}
	s := n.known(x)
	axis := n.int("axis", 1)
	if axis < 0 {
		axis = n.axis(axis, len(s))
	}
	n.wants(axis <= len(s), "axis %d is out of range for %d axes", axis, len(s))
	if axis == len(s)-1 {
		return f(x, axis)
	}
	return n.reshape(f(n.flattenAt(x, axis), 1), s)
}

// hardmax is 1 at the first largest element along the axis and 0 elsewhere.
func hardmax(n *node) []relay.Expr {
	return one(n.flattenedBefore13(n.in(0), func(x relay.Expr, axis int) relay.Expr {
		at := n.argReduce("argmax", x, axis, true, false)
		places := n.cast(n.iota(n.known(x)[axis], n.rank(x)-1-axis), n.dtype(at))
		return n.cast(n.call("equal", nil, places, at), n.dtype(x))
	}))
}

// lpNormalization divides by the norm along an axis.
func lpNormalization(n *node) []relay.Expr {
	x := n.in(0)
	axis := []int{n.axis(n.int("axis", -1), n.rank(x))}
	var norm relay.Expr
	switch p := n.int("p", 2); p {
	case 1:
		norm = n.reduce("sum", absOf(n, x), axis, true)
	case 2:
		norm = n.call("sqrt", nil, n.reduce("sum", n.mul(x, x), axis, true))
	default:
		n.failInvalid("p is %d, wanted 1 or 2", p)
	}
	zero := n.call("equal", nil, norm, n.like(x, 0)) // 0/0 is 0 here
	return one(n.div(x, n.where(zero, n.like(x, 1), norm)))
}
