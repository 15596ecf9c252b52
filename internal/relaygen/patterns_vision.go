package relaygen

import (
	"github.com/texel-ml/texel/relay"
	"github.com/texel-ml/texel/tensor"
)

// visionPatterns are the post-processing of detectors.
func visionPatterns() map[string]func(g *Gen) relay.Expr {
	return map[string]func(g *Gen) relay.Expr{"recognize-non-max-suppression": (*Gen).suppression}
}

// suppression is greedy non-maximum suppression written out, of one class or two. Some boxes are turned inside out; no score is NaN,
// which has no place among others.
func (g *Gen) suppression() relay.Expr {
	g.careful = 15
	defer func() { g.careful = 0 }()
	n, steps := g.from(2, 6), g.from(2, 4)
	boxes := g.leaf(g.float, tensor.Shape{n, 4})
	if !g.one(4) {
		low := g.call("strided_slice", &relay.StridedSliceAttrs{Begin: []int{0}, End: []int{2}, Axes: []int{1}}, boxes)
		high := g.call("add", nil, low, g.numbers(g.float, tensor.Shape{n, 2}, 0.25, 3))
		boxes = g.call("concatenate", &relay.ConcatAttrs{Axis: 1}, g.tuple(low, high))
	}
	w := &suppressor{g: g, boxes: boxes, n: n, steps: steps, fill: pick(g, negInf, 0., -1), explicit: g.n(3), threshold: pick(g, 0.25, 0.1, 0.4), quotient: g.flip(), mask: g.one(3)}
	if w.mask {
		w.fill = 0
	}
	var list []relay.Expr
	for range g.from(1, 2) {
		scores := g.leaf(g.float, tensor.Shape{n})
		if w.fill == 0 || !g.miss() {
			scores = g.call("sigmoid", nil, scores)
		}
		if w.fill == 0 && g.miss() {
			scores = g.call("negative", nil, scores)
		}
		list = append(list, w.run(scores)...)
	}
	if g.flip() {
		list = append(list, list[0])
	}
	return g.call("concatenate", &relay.ConcatAttrs{}, g.tuple(list...))
}

// suppressor writes the steps of one class.
type suppressor struct {
	g               *Gen
	boxes           relay.Expr
	n, steps        int
	fill, threshold float64
	explicit        int // 0: a box takes itself out by its overlap; 1: by its place; 2: fill is written to its place
	quotient, mask  bool
}

// column is coordinate i of a tensor whose last axis has four.
func (w *suppressor) column(x relay.Expr, i int) relay.Expr {
	axis := len(relay.Tensor(x).Shape) - 1
	if w.g.miss() {
		i = w.g.n(4)
	}
	return w.g.reshaped(w.g.call("strided_slice", &relay.StridedSliceAttrs{Begin: []int{i}, End: []int{i + 1}, Axes: []int{axis}}, x), relay.Tensor(x).Shape.Elems()/4)
}

func (w *suppressor) take(x, at relay.Expr) relay.Expr {
	return w.g.call("take", &relay.TakeAttrs{Mode: "clip"}, x, at)
}

// run returns the places and scores of the steps, as vectors of one.
func (w *suppressor) run(scores relay.Expr) []relay.Expr {
	g := w.g
	side := func(x relay.Expr, i int) relay.Expr { // from lower to upper, cut at 0 or not
		d := g.sub(w.column(x, i+2), w.column(x, i))
		if !w.quotient && !g.miss() {
			return g.unary("nn.relu", d)
		}
		return d
	}
	area := g.mul(side(w.boxes, 0), side(w.boxes, 1))
	state := scores
	var list []relay.Expr
	for k := range w.steps {
		at, best := w.best(state)
		list = append(list, g.reshaped(g.call("cast", &relay.CastAttrs{DType: g.float, Saturate: true, RoundMode: "up"}, at), 1), g.reshaped(best, 1))
		if k == w.steps-1 {
			return list
		}
		chosen := w.take(w.boxes, at)
		shared := func(i int) relay.Expr {
			low := g.binary("maximum", w.column(w.boxes, i), w.column(chosen, i))
			high := g.binary("minimum", w.column(w.boxes, i+2), w.column(chosen, i+2))
			return g.unary("nn.relu", g.sub(high, low))
		}
		both := g.mul(shared(0), shared(1))
		own := g.mul(side(chosen, 0), side(chosen, 1))
		if g.flip() {
			own = w.take(area, at)
		}
		union := g.sub(g.add(area, own), g.other(both))
		threshold := w.threshold
		if g.miss() {
			threshold *= 2
		}
		state = w.without(state, at, both, union, threshold)
	}
	return list
}

// best is the place and the value of the largest element.
func (w *suppressor) best(state relay.Expr) (at, best relay.Expr) {
	g := w.g
	if g.flip() {
		both := g.call("topk", &relay.TopKAttrs{K: 1, Axis: -1, DType: pick(g, indices...)}, state)
		return g.get(both, 1), g.get(both, 0)
	}
	a := &relay.ArgReduceAttrs{Axis: []int{0}, DType: pick(g, indices...), Keepdims: g.flip(), SelectLastIndex: g.miss()}
	at = g.call("argmax", a, state)
	if g.flip() {
		return at, w.take(state, at)
	}
	return at, g.call("max", &relay.ReduceAttrs{Axis: []int{0}, Keepdims: g.flip()}, state)
}

// without takes out of a state what overlaps the best box.
func (w *suppressor) without(state, at, both, union relay.Expr, threshold float64) relay.Expr {
	g := w.g
	var out relay.Expr
	if w.quotient {
		out = g.call("greater", nil, g.div(both, union), g.k(threshold))
	} else {
		out = g.call("greater", nil, both, g.mul(union, g.k(threshold)))
	}
	fill := g.same(g.float, tensor.Shape{}, w.fill)
	if w.explicit == 1 {
		places := tensor.NewWide(relay.Tensor(at).DType, tensor.Shape{w.n})
		for i := range places.I {
			places.I[i] = int64(i)
		}
		self := g.call("equal", nil, relay.NewConstant(places.Narrow(), "", g.pos("places")), at)
		out = g.binary("logical_or", out, self)
	}
	next := g.mid(g.call("where", nil, out, fill, g.other(state)))
	if w.mask {
		keep := g.call("cast", &relay.CastAttrs{DType: g.float, Saturate: true, RoundMode: "up"}, g.call("logical_not", nil, out))
		next = g.mul(g.other(state), keep)
	}
	if w.explicit == 2 {
		value := g.same(g.float, tensor.Shape{1}, w.fill)
		next = g.mid(g.call("scatter_elements", &relay.ScatterElementsAttrs{Reduction: "update"}, next, g.reshaped(at, 1), value))
	}
	return next
}
