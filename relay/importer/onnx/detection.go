package onnx

import (
	"math"

	"github.com/texel-ml/texel/relay"
	"github.com/texel-ml/texel/tensor"
)

// nonMaxSuppression selects boxes by score. The limits may be computed. The result has room for the most boxes; how many
// are real is known when the model runs.
func nonMaxSuppression(n *node) []relay.Expr {
	boxes, scores := n.in(0), n.in(1)
	limit := func(i int, d tensor.DType, otherwise float64) relay.Expr {
		e := n.opt(i)
		if e == nil {
			return n.scalar(d, otherwise)
		}
		n.wants(n.known(e).Elems() == 1, "limit %d of shape %v, wanted one number", i, n.shape(e))
		return n.reshape(n.cast(e, d), tensor.Shape{})
	}
	s := n.known(boxes)
	n.wants(len(s) == 3, "boxes of shape %v", s)
	attrs := &relay.NonMaxSuppressionAttrs{MostBoxes: s[1], CenterPointBox: n.flag("center_point_box", false)}
	if n.knownAt(2) {
		attrs.MostBoxes = min(max(n.intAt(2, "the number of boxes", 0), 0), s[1])
	}
	both := n.call("vision.non_max_suppression", attrs, boxes, scores, limit(2, tensor.Int64, 0), limit(3, tensor.Float32, 0), limit(4, tensor.Float32, math.Inf(-1)))
	return one(n.bounded(n.field(both, 0), 0, n.field(both, 1)))
}

// roiAlign pools regions of an image: each cell is the mean or the largest of samples, which are interpolated.
func roiAlign(n *node) []relay.Expr {
	x, rois, batch := n.in(0), n.in(1), n.in(2)
	s, r := n.known(x), n.known(rois)
	n.wants(len(s) == 4 && len(r) == 2 && r[1] == 4 && n.shape(batch).Equal(tensor.Shape{r[0]}), "an image of shape %v, regions of shape %v and batch indices of shape %v", s, r, n.shape(batch))
	rows, cols := n.int("output_height", 1), n.int("output_width", 1)
	samples := n.int("sampling_ratio", 0)
	scale := n.float("spatial_scale", 1)
	if samples == 0 {
		n.failUnsupported("sampling_ratio 0, which depends on the regions")
	}
	n.wants(rows > 0 && cols > 0 && samples > 0 && rows*samples <= 1<<12 && cols*samples <= 1<<12 && r[0] <= 1<<16, "%d × %d cells of %d² samples", rows, cols, samples)
	shift := 0.0
	half := n.opset >= 16 && n.str("coordinate_transformation_mode", "half_pixel") == "half_pixel"
	if half {
		shift = 0.5
	}
	count := r[0]
	side := func(low, high, cells, extent int) (at relay.Expr) { // (R, cells·samples): where the samples lie
		corner := func(i int) relay.Expr {
			return n.sub(n.mul(n.sliceAxis(rois, 1, i, i+1), n.like(x, scale)), n.like(x, shift))
		}
		start := corner(low)
		length := n.sub(corner(high), start)
		if !half {
			length = n.call("maximum", nil, length, n.like(x, 1))
		}
		fractions := make([]float64, cells*samples)
		for i := range fractions {
			fractions[i] = (float64(i) + 0.5) / float64(cells*samples)
		}
		return n.add(start, n.mul(length, n.constShape(n.dtype(x), tensor.Shape{1, cells * samples}, fractions)))
	}
	// A sample between -1 and the extent is clamped to the image; one outside is 0.
	weights := func(at relay.Expr, extent int) relay.Expr { // (R, cells·samples, extent)
		inside := n.call("logical_and", nil, n.call("greater_equal", nil, at, n.like(x, -1)), n.call("less_equal", nil, at, n.like(x, float64(extent))))
		clamped := n.reshape(n.clip(at, 0, float64(extent-1)), append(n.shape(at).Clone(), 1))
		places := make([]float64, extent)
		for i := range places {
			places[i] = float64(i)
		}
		distance := absOf(n, n.sub(clamped, n.floats1(n.dtype(x), places)))
		w := n.call("nn.relu", nil, n.sub(n.like(x, 1), distance))
		return n.mul(w, n.cast(n.reshape(inside, append(n.shape(at).Clone(), 1)), n.dtype(x)))
	}
	if n.str("mode", "avg") == "max" {
		return one(n.roiMax(x, n.wrapped(batch, s[0]), side(1, 3, rows, s[2]), side(0, 2, cols, s[3]), rows, cols, samples))
	}
	wy, wx := weights(side(1, 3, rows, s[2]), s[2]), weights(side(0, 2, cols, s[3]), s[3])
	picked := n.take(x, n.wrapped(batch, s[0]), 0) // (R, C, H, W)
	wy = n.reshape(wy, tensor.Shape{count, 1, rows * samples, s[2]})
	wx = n.reshape(wx, tensor.Shape{count, 1, cols * samples, s[3]})
	n.wants(n.str("mode", "avg") == "avg", "mode %q, wanted avg or max", n.str("mode", "avg"))
	y := n.matmulT(n.matmul(wy, picked), wx, false, true) // (R, C, rows·samples, cols·samples)
	y = n.reshape(y, tensor.Shape{count, s[1], rows, samples, cols, samples})
	return one(n.reduce("mean", y, []int{3, 5}, false))
}

// maxRoiPool gives the largest element in each cell of regions (R, 5): the batch, x and y of the first and of the last pixel.
// A cell without a pixel is 0. Rows and columns are taken one after the other.
func maxRoiPool(n *node) []relay.Expr {
	x, rois := n.in(0), n.in(1)
	s, r := n.known(x), n.known(rois)
	n.sameType(x, rois)
	n.wants(len(s) == 4 && len(r) == 2 && r[1] == 5, "an image of shape %v and regions of shape %v", s, r)
	cells := n.intsLen("pooled_shape", 2, 0, 1)
	n.wants(cells[0] <= 1<<12 && cells[1] <= 1<<12 && r[0] <= 1<<16, "%d regions of %v cells", r[0], cells)
	d, scale := n.dtype(x), n.float("spatial_scale", 1)
	field := func(i int) relay.Expr { return n.sliceAxis(rois, 1, i, i+1) } // (R, 1)
	// The pixels of each cell along one axis: (R, cells, extent).
	inside := func(first, last, cells, extent int) relay.Expr {
		pixel := func(i int) relay.Expr { // halves round up
			return n.call("floor", nil, n.add(n.mul(field(i), n.scalar(d, scale)), n.scalar(d, 0.5)))
		}
		start := pixel(first)
		length := n.call("maximum", nil, n.add(n.sub(pixel(last), start), n.scalar(d, 1)), n.scalar(d, 1))
		edge := func(round string, plus float64) relay.Expr { // (R, cells, 1)
			at := n.mul(n.cast(n.add(n.iota(cells, 0), n.scalar(tensor.Int64, plus)), d), n.div(length, n.scalar(d, float64(cells))))
			return n.reshape(n.add(n.call(round, nil, at), start), tensor.Shape{r[0], cells, 1})
		}
		place := n.cast(n.iota(extent, 0), d)
		return n.call("logical_and", nil, n.call("greater_equal", nil, place, edge("floor", 0)), n.call("less", nil, place, edge("ceil", 1)))
	}
	least := n.scalar(d, math.Inf(-1))
	picked := n.take(x, n.wrapped(n.reshape(n.cast(field(0), tensor.Int64), tensor.Shape{r[0]}), s[0]), 0) // (R, C, H, W)
	columns := n.reshape(inside(1, 3, cells[1], s[3]), tensor.Shape{r[0], 1, 1, cells[1], s[3]})
	y := n.reduce("max", n.where(columns, n.reshape(picked, tensor.Shape{r[0], s[1], s[2], 1, s[3]}), least), []int{4}, false)
	rows := n.reshape(inside(2, 4, cells[0], s[2]), tensor.Shape{r[0], 1, cells[0], s[2], 1})
	y = n.reduce("max", n.where(rows, n.reshape(y, tensor.Shape{r[0], s[1], 1, s[2], cells[1]}), least), []int{3}, false)
	return one(n.where(n.call("equal", nil, y, least), n.scalar(d, 0), y))
}

// roiMax is the largest of the four weighed corners of every sample in a cell. atY (R, rows·samples) and atX are the
// places of the samples.
func (n *node) roiMax(x, batch, atY, atX relay.Expr, rows, cols, samples int) relay.Expr {
	s, d := n.known(x), n.dtype(x)
	count := n.known(batch)[0]
	type corner struct{ index, weight relay.Expr }
	// the lower and the upper corner of each sample along one axis; a sample outside the image weighs nothing
	corners := func(at relay.Expr, extent int, shape tensor.Shape) [2]corner {
		inside := n.call("logical_and", nil, n.call("greater_equal", nil, at, n.like(at, -1)), n.call("less_equal", nil, at, n.like(at, float64(extent))))
		clamped := n.clip(at, 0, float64(extent-1))
		low := n.clip(n.call("floor", nil, clamped), 0, float64(max(extent-1, 0)))
		part := n.sub(clamped, low)
		weigh := func(w relay.Expr) relay.Expr { return n.reshape(n.mul(w, n.cast(inside, d)), shape) }
		place := func(i relay.Expr) relay.Expr { return n.reshape(n.cast(i, tensor.Int64), shape) }
		high := n.clip(n.add(low, n.like(at, 1)), 0, float64(extent-1))
		return [2]corner{{place(low), weigh(n.sub(n.like(at, 1), part))}, {place(high), weigh(part)}}
	}
	ys := corners(atY, s[2], tensor.Shape{count, rows * samples, 1, 1})
	xs := corners(atX, s[3], tensor.Shape{count, 1, cols * samples, 1})
	full := tensor.Shape{count, rows * samples, cols * samples, 1}
	first := n.broadcastTo(n.reshape(n.cast(batch, tensor.Int64), tensor.Shape{count, 1, 1, 1}), full)
	pixels := n.transpose(x, []int{0, 2, 3, 1})
	var most relay.Expr
	for _, y := range ys {
		for _, c := range xs {
			at := n.concat([]relay.Expr{first, n.broadcastTo(y.index, full), n.broadcastTo(c.index, full)}, 3)
			v := n.mul(n.gatherND(pixels, at, 0), n.mul(y.weight, c.weight)) // (R, rows·samples, cols·samples, C)
			if most == nil {
				most = v
			} else {
				most = n.call("maximum", nil, most, v)
			}
		}
	}
	most = n.reshape(most, tensor.Shape{count, rows, samples, cols, samples, s[1]})
	return n.transpose(n.reduce("max", most, []int{2, 4}, false), []int{0, 3, 1, 2})
}
