package relaygen

import (
	"slices"

	"github.com/texel-ml/texel/relay"
	"github.com/texel-ml/texel/tensor"
)

// movePatterns are movements of elements that join or cancel, or that are one operator.
func movePatterns() map[string]func(g *Gen) relay.Expr {
	return map[string]func(g *Gen) relay.Expr{
		"simplify-moves":            (*Gen).moves,
		"recognize-channel-shuffle": (*Gen).shuffle,
		"recognize-depth-to-space":  (*Gen).blocks,
		"split-args": func(g *Gen) relay.Expr { // the rows join a few
			return rows[pick(g, "concatenate", "stack")](g)
		},
		"slice-splits": func(g *Gen) relay.Expr {
			split := rows["split"](g)
			return g.get(split, g.n(len(split.Type().(*relay.TupleType).Fields)))
		},
		"pack-weights": func(g *Gen) relay.Expr {
			w := g.constant(g.float, tensor.Shape{2, 3, 1, 1})
			if g.miss() {
				w = g.input(g.float, tensor.Shape{2, 3, 1, 1})
			}
			w = g.call("layout_transform", &relay.LayoutTransformAttrs{SrcLayout: "OIHW", DstLayout: "OHWI4o"}, w)
			return g.add(w, g.exactly(g.float, tensor.Shape{1, 1, 1, 3, 4}))
		},
	}
}

func (g *Gen) moves() relay.Expr {
	x := g.movable(1, 4)
	t := relay.Tensor(x)
	rank := len(t.Shape)
	axis := g.n(rank)
	join := func(fields ...relay.Expr) relay.Expr {
		at := axis
		if other := g.n(rank); (g.miss() || !joinable(fields, axis)) && joinable(fields, other) {
			at = other
		}
		if !joinable(fields, at) {
			return fields[0]
		}
		return g.mid(g.call("concatenate", &relay.ConcatAttrs{Axis: g.signed(at, rank)}, g.tuple(fields...)))
	}
	cut := func(x relay.Expr, begin, end int) relay.Expr {
		return g.mid(g.call("strided_slice", &relay.StridedSliceAttrs{Begin: []int{begin}, End: []int{end}, Axes: []int{axis}}, x))
	}
	switch g.n(9) {
	case 0:
		return join(x, join(x, x))
	case 1: // neighbouring slices, or not quite
		at := g.n(t.Shape[axis] + 1)
		return join(cut(x, 0, at), cut(g.other(x), at, max(at, t.Shape[axis]-boolInt(g.miss()))))
	case 2: // a slice of one part
		n := t.Shape[axis]
		begin := g.n(2 * n)
		return cut(join(x, g.other(x)), begin, begin+1+g.n(n))
	case 3:
		parts := g.call("split", &relay.SplitAttrs{Indices: []int{t.Shape[axis] - boolInt(g.miss())}, Axis: axis}, join(x, x))
		return g.get(parts, g.n(2))
	case 4:
		return g.sliced(g.mid(g.sliced(x)))
	case 5:
		x = g.number(1, 3)
		rank = len(relay.Tensor(x).Shape)
		value := g.same(relay.Tensor(x).DType, tensor.Shape{}, 1)
		again := value
		if g.miss() {
			again = g.same(relay.Tensor(x).DType, tensor.Shape{}, 0)
		}
		low := -boolInt(g.miss() && slices.Min(relay.Tensor(x).Shape) > 2)
		inner := g.call("nn.pad", &relay.PadAttrs{PadMode: "constant", PadWidth: g.list(2*rank, low, 2)}, x, value)
		return g.call("nn.pad", &relay.PadAttrs{PadMode: "constant", PadWidth: g.list(2*rank, 0, 2)}, g.mid(inner), again)
	case 6: // places in equal steps, or not
		n := g.from(1, 3)
		first, step := g.n(t.Shape[axis]), pick(g, 1, -1, 2)
		w := tensor.NewWide(tensor.Int64, tensor.Shape{n})
		for i := range w.I {
			w.I[i] = int64(first + i*step)
		}
		return g.call("take", &relay.TakeAttrs{Axis: axis, Mode: pick(g, "clip", "wrap")}, x, relay.NewConstant(w.Narrow(), "", g.pos("places")))
	case 7:
		x = g.real(1, 4)
		wide := relay.Tensor(x).Shape
		y := g.call("broadcast_to", &relay.ShapeAttrs{Shape: wide}, g.exactly(g.float, vector(wide, g.n(len(wide)))))
		if g.miss() {
			x = g.call("sum", &relay.ReduceAttrs{Axis: []int{0}, Keepdims: true}, x)
		}
		return g.add(g.mid(y), x)
	}
	return pick(g, (*Gen).transposedProduct, (*Gen).undone)(g)
}

// joinable reports whether tensors differ along the axis alone.
func joinable(fields []relay.Expr, axis int) bool {
	for _, f := range fields {
		for i, d := range relay.Tensor(f).Shape {
			if i != axis && d != relay.Tensor(fields[0]).Shape[i] {
				return false
			}
		}
	}
	return true
}

func boolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

// sliced takes a part of x, with strides.
func (g *Gen) sliced(x relay.Expr) relay.Expr {
	a := &relay.StridedSliceAttrs{}
	for axis, d := range relay.Tensor(x).Shape {
		if d == 0 || g.flip() {
			continue
		}
		begin, stride := g.n(d), pick(g, 1, 2, -1)
		end := begin + 1 + g.n(d-begin)
		if stride < 0 {
			end = -d - 1
		}
		a.Axes, a.Begin, a.End, a.Strides = append(a.Axes, axis), append(a.Begin, begin), append(a.End, end), append(a.Strides, stride)
	}
	return g.call("strided_slice", a, x)
}

func (g *Gen) transposedProduct() relay.Expr {
	x := g.real(2, 4)
	rank := len(relay.Tensor(x).Shape)
	swap := make([]int, rank)
	for i := range swap {
		swap[i] = i
	}
	swap[rank-2], swap[rank-1] = rank-1, rank-2
	if g.miss() {
		swap = g.permutation(rank)
	}
	y := g.mid(g.call("transpose", &relay.TransposeAttrs{Axes: swap}, x))
	s := relay.Tensor(y).Shape
	if g.flip() {
		return g.call("nn.matmul", nil, y, g.exactly(g.float, tensor.Shape{s[rank-1], 3}))
	}
	return g.call("nn.matmul", nil, g.exactly(g.float, tensor.Shape{3, s[rank-2]}), y)
}

// undone is an operator and its inverse, or one with other attributes.
func (g *Gen) undone() relay.Expr {
	switch g.n(3) {
	case 0:
		x := g.movable(1, 4)
		rank := len(relay.Tensor(x).Shape)
		axis := g.n(rank)
		again := axis
		if g.miss() {
			again = g.n(rank)
		}
		return g.call("reverse", &relay.AxisAttrs{Axis: again}, g.mid(g.call("reverse", &relay.AxisAttrs{Axis: axis}, x)))
	case 1:
		x := g.real(4, 4)
		y := g.mid(g.call("layout_transform", &relay.LayoutTransformAttrs{SrcLayout: "NCHW", DstLayout: pick(g, "NHWC", "NCHW4c")}, x))
		if len(relay.Tensor(y).Shape) == 5 {
			return g.call("layout_transform", &relay.LayoutTransformAttrs{SrcLayout: "NCHW4c", DstLayout: "NCHW"}, y)
		}
		return g.call("layout_transform", &relay.LayoutTransformAttrs{SrcLayout: "NHWC", DstLayout: pick(g, "NCHW", "NHCW")}, y)
	}
	a := g.block()
	b := *a
	if g.miss() {
		b.Mode = "CRD"
	}
	x := g.exactly(g.float, arranged(a.Layout, 1, a.BlockSize*a.BlockSize, 2*a.BlockSize, a.BlockSize))
	if g.flip() {
		return g.call("nn.depth_to_space", &b, g.mid(g.call("nn.space_to_depth", a, x)))
	}
	return g.call("nn.space_to_depth", &b, g.mid(g.call("nn.depth_to_space", a, x)))
}

func (g *Gen) shuffle() relay.Expr {
	groups, each := g.from(1, 3), g.from(1, 3)
	x := g.exactly(g.float, append(tensor.Shape{g.from(1, 2), groups * each}, g.list(g.n(3), 1, 3)...))
	s := relay.Tensor(x).Shape
	apart := append(tensor.Shape{s[0], groups, each}, s[2:]...)
	if g.miss() {
		apart[1], apart[2] = each, groups
	}
	axes := make([]int, len(apart))
	for i := range axes {
		axes[i] = i
	}
	axes[1], axes[2] = 2, 1
	if g.miss() {
		axes = g.permutation(len(apart))
	}
	turned := g.mid(g.call("transpose", &relay.TransposeAttrs{Axes: axes}, g.mid(g.reshaped(x, apart...))))
	return g.reshaped(turned, s...)
}

// blocks is a depth to space, or its inverse, written as moves.
func (g *Gen) blocks() relay.Expr {
	n, c, b, h, w := g.from(1, 2), g.from(1, 2), g.from(1, 3), g.from(1, 3), g.from(1, 3)
	turn := func(x relay.Expr, apart, axes, whole []int) relay.Expr {
		if g.miss() {
			axes = g.permutation(6)
		}
		return g.reshaped(g.mid(g.call("transpose", &relay.TransposeAttrs{Axes: axes}, g.mid(g.reshaped(x, apart...)))), whole...)
	}
	switch deep := []int{n, c * b * b, h, w}; g.n(4) {
	case 0:
		return turn(g.exactly(g.float, deep), []int{n, c, b, b, h, w}, []int{0, 1, 4, 2, 5, 3}, []int{n, c, h * b, w * b})
	case 1:
		return turn(g.exactly(g.float, deep), []int{n, b, b, c, h, w}, []int{0, 3, 4, 1, 5, 2}, []int{n, c, h * b, w * b})
	case 2:
		return turn(g.exactly(g.float, []int{n, c, h * b, w * b}), []int{n, c, h, b, w, b}, []int{0, 1, 3, 5, 2, 4}, deep)
	}
	return turn(g.exactly(g.float, []int{n, h, w, b * b * c}), []int{n, h, w, b, b, c}, []int{0, 1, 3, 2, 4, 5}, []int{n, h * b, w * b, c})
}

// turns are transposes and reshapes in turn, most of which only add or drop axes of extent 1.
func (g *Gen) turns() relay.Expr {
	x := g.want(func(t *relay.TensorType) bool { return len(t.Shape) >= 2 && len(t.Shape) <= 4 && t.Shape.Elems() > 0 }, func() relay.Expr {
		return g.leaf(g.float, append(tensor.Shape{1}, g.list(g.from(1, 3), 1, 3)...))
	})
	for range g.from(2, 5) {
		shape := relay.Tensor(x).Shape
		if g.flip() {
			x = g.mid(g.call("transpose", &relay.TransposeAttrs{Axes: g.permutation(len(shape))}, x))
			continue
		}
		next := []int{}
		for _, d := range shape {
			if d != 1 || g.flip() {
				next = append(next, d)
			}
		}
		if len(next) < 5 {
			at := g.n(len(next) + 1)
			next = slices.Insert(next, at, 1)
		}
		if g.miss() {
			next = g.factored(shape.Elems())
		}
		x = g.mid(g.reshaped(x, next...))
	}
	return x
}
