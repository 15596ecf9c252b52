package relaygen

import (
	"slices"

	"github.com/texel-ml/texel/relay"
	"github.com/texel-ml/texel/tensor"
)

// index returns indices of a shape for an axis of n elements, a few of them outside.
func (g *Gen) index(shape tensor.Shape, n int) relay.Expr {
	d := pick(g, indices...)
	if g.one(3) {
		return g.exactly(d, shape)
	}
	return g.integers(d, shape, -n, n-1+g.n(2))
}

// indexRows read and write elements at computed places.
func indexRows() map[string]func(g *Gen) relay.Expr {
	return map[string]func(g *Gen) relay.Expr{
		"take": func(g *Gen) relay.Expr {
			x := g.movable(1, 4)
			shape := relay.Tensor(x).Shape
			axis := g.n(len(shape))
			a := &relay.TakeAttrs{Axis: g.signed(axis, len(shape)), Mode: pick(g, "clip", "wrap")}
			return g.call("take", a, x, g.index(g.shape(g.n(3)), shape[axis]))
		},
		"gather": func(g *Gen) relay.Expr {
			x := g.movable(1, 4)
			shape := relay.Tensor(x).Shape
			axis := g.n(len(shape))
			return g.call("gather", &relay.AxisAttrs{Axis: g.signed(axis, len(shape))}, x, g.index(g.part(shape, axis), shape[axis]))
		},
		"gather_nd": func(g *Gen) relay.Expr {
			x := g.movable(1, 4)
			shape := relay.Tensor(x).Shape
			batch := g.n(min(len(shape), 2))
			m := g.from(1, len(shape)-batch)
			at := append(append(tensor.Shape{m}, shape[:batch]...), g.shape(g.n(2))...)
			return g.call("gather_nd", &relay.GatherNDAttrs{BatchDims: batch}, x, g.index(at, slices.Min(shape[batch:batch+m])))
		},
		"scatter_elements": func(g *Gen) relay.Expr {
			x, reduction := g.scattered()
			t := relay.Tensor(x)
			axis := g.n(len(t.Shape))
			part := g.part(t.Shape, axis)
			a := &relay.ScatterElementsAttrs{Axis: g.signed(axis, len(t.Shape)), Reduction: reduction}
			return g.call("scatter_elements", a, x, g.index(part, t.Shape[axis]), g.exactly(t.DType, part))
		},
		"scatter_nd": func(g *Gen) relay.Expr {
			x, mode := g.scattered()
			t := relay.Tensor(x)
			m := g.from(1, len(t.Shape))
			places := g.shape(g.n(2))
			at := append(tensor.Shape{m}, places...)
			updates := append(places.Clone(), t.Shape[m:]...)
			return g.call("scatter_nd", &relay.ScatterNDAttrs{Mode: mode}, x, g.index(at, slices.Min(t.Shape[:m])), g.exactly(t.DType, updates))
		},
		"argwhere": func(g *Gen) relay.Expr {
			return g.call("argwhere", nil, g.of([]tensor.DType{tensor.Bool, tensor.Int32}, 1, 3))
		},
		"reverse_sequence": func(g *Gen) relay.Expr {
			x := g.movable(2, 4)
			shape := relay.Tensor(x).Shape
			p := g.permutation(len(shape))
			a := &relay.ReverseSequenceAttrs{SeqAxis: g.signed(p[0], len(shape)), BatchAxis: g.signed(p[1], len(shape))}
			return g.call("reverse_sequence", a, x, g.integers(pick(g, indices...), tensor.Shape{shape[p[1]]}, 0, shape[p[0]]))
		},
	}
}

// part draws a shape that addresses data along axis.
func (g *Gen) part(shape tensor.Shape, axis int) tensor.Shape {
	s := shape.Clone()
	for i := range s {
		s[i] = g.from(1, s[i])
	}
	s[axis] = g.extent()
	return s
}

// scattered draws data and how updates join it.
func (g *Gen) scattered() (x relay.Expr, reduction string) {
	if g.flip() {
		return g.number(1, 3), pick(g, "add", "mul", "min", "max")
	}
	return g.movable(1, 3), "update"
}

// sortRows order elements, and run along them.
func sortRows() map[string]func(g *Gen) relay.Expr {
	all := map[string]func(g *Gen) relay.Expr{}
	for _, name := range []string{"sort", "argsort"} {
		all[name] = func(g *Gen) relay.Expr {
			x := g.number(1, 4)
			return g.call(name, &relay.SortAttrs{Axis: g.axis(len(relay.Tensor(x).Shape)), IsAscend: g.flip(), DType: pick(g, indices...)}, x)
		}
	}
	all["topk"] = func(g *Gen) relay.Expr {
		x := g.number(1, 4)
		shape := relay.Tensor(x).Shape
		axis := g.n(len(shape))
		return g.call("topk", &relay.TopKAttrs{K: g.from(1, shape[axis]), Axis: g.signed(axis, len(shape)), IsAscend: g.flip(), DType: pick(g, indices...)}, x)
	}
	all["unique"] = func(g *Gen) relay.Expr {
		x := g.number(1, 3)
		return g.call("unique", &relay.UniqueAttrs{Axis: g.axis(len(relay.Tensor(x).Shape)), Sorted: g.flip()}, x)
	}
	for _, name := range []string{"cumsum", "cumprod"} {
		all[name] = func(g *Gen) relay.Expr {
			x := g.clipped(g.number(1, 4), -1.5, 1.5)
			return g.call(name, &relay.ScanAttrs{Axis: g.axis(len(relay.Tensor(x).Shape)), Exclusive: g.flip(), Reverse: g.flip()}, x)
		}
	}
	all["vision.non_max_suppression"] = func(g *Gen) relay.Expr {
		batch, classes, n := g.from(1, 2), g.from(1, 2), g.from(1, 5)
		boxes := g.exactly(g.float, tensor.Shape{batch, n, 4})
		scores := g.exactly(g.float, tensor.Shape{batch, classes, n})
		limit := func(d tensor.DType, values ...float64) relay.Expr {
			if g.one(4) {
				return g.exactly(d, tensor.Shape{})
			}
			return g.same(d, tensor.Shape{}, pick(g, values...))
		}
		a := &relay.NonMaxSuppressionAttrs{MostBoxes: g.from(0, 3), CenterPointBox: g.flip()}
		return g.call("vision.non_max_suppression", a, boxes, scores, limit(tensor.Int64, 2, 0, 5), limit(tensor.Float32, 0.5, 0, 0.3), limit(tensor.Float32, negInf, 0))
	}
	return all
}
