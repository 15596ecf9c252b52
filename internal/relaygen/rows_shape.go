package relaygen

import (
	"slices"

	"github.com/texel-ml/texel/relay"
	"github.com/texel-ml/texel/tensor"
)

// shapeRows rearrange elements.
func shapeRows() map[string]func(g *Gen) relay.Expr {
	return map[string]func(g *Gen) relay.Expr{
		"reshape": func(g *Gen) relay.Expr {
			x := g.movable(0, 5)
			return g.reshaped(x, g.factored(relay.Tensor(x).Shape.Elems())...)
		},
		"expand_dims": func(g *Gen) relay.Expr {
			x := g.movable(0, 4)
			return g.call("expand_dims", &relay.ExpandDimsAttrs{Axis: g.axis(len(relay.Tensor(x).Shape) + 1), NumNewaxis: g.from(1, 2)}, x)
		},
		"squeeze": func(g *Gen) relay.Expr {
			x := g.movable(0, 5)
			if g.flip() {
				return g.call("squeeze", nil, x)
			}
			axes := []int{}
			for i, d := range relay.Tensor(x).Shape {
				if d == 1 && g.flip() {
					axes = append(axes, i)
				}
			}
			return g.call("squeeze", &relay.SqueezeAttrs{Axis: axes}, x)
		},
		"transpose": func(g *Gen) relay.Expr {
			x := g.movable(0, 5)
			if g.one(5) {
				return g.call("transpose", nil, x)
			}
			rank := len(relay.Tensor(x).Shape)
			axes := g.permutation(rank)
			for i := range axes {
				axes[i] = g.signed(axes[i], rank)
			}
			return g.call("transpose", &relay.TransposeAttrs{Axes: axes}, x)
		},
		"broadcast_to": func(g *Gen) relay.Expr {
			x := g.of(append(slices.Clone(integers), g.float), 0, 4)
			shape := relay.Tensor(x).Shape.Clone()
			for i := range shape {
				if shape[i] == 1 && g.flip() {
					shape[i] = g.extent()
				}
			}
			if len(shape) < 4 && g.flip() {
				shape = append(tensor.Shape{g.extent()}, shape...)
			}
			return g.call("broadcast_to", &relay.ShapeAttrs{Shape: shape}, x)
		},
		"tile": func(g *Gen) relay.Expr {
			x := g.number(0, 3)
			return g.call("tile", &relay.TileAttrs{Reps: g.list(g.from(0, len(relay.Tensor(x).Shape)+1), 1, 3)}, x)
		},
		"repeat": func(g *Gen) relay.Expr {
			x := g.number(1, 4)
			return g.call("repeat", &relay.RepeatAttrs{Repeats: g.from(1, 3), Axis: g.axis(len(relay.Tensor(x).Shape))}, x)
		},
		"reverse": func(g *Gen) relay.Expr {
			x := g.movable(1, 4)
			return g.call("reverse", &relay.AxisAttrs{Axis: g.axis(len(relay.Tensor(x).Shape))}, x)
		},
		"layout_transform":  (*Gen).layoutTransform,
		"nn.space_to_depth": (*Gen).spaceToDepth,
		"nn.depth_to_space": (*Gen).depthToSpace,
		"channel_shuffle": func(g *Gen) relay.Expr {
			x := g.movable(1, 4)
			shape := relay.Tensor(x).Shape
			axis := g.n(len(shape))
			return g.call("channel_shuffle", &relay.ChannelShuffleAttrs{Groups: g.divisor(shape[axis]), Axis: g.signed(axis, len(shape))}, x)
		},
	}
}

// factored draws a shape of n elements.
func (g *Gen) factored(n int) []int {
	shape := []int{}
	for len(shape) < 4 && n > 1 && !g.one(3) {
		d := g.divisor(n)
		shape, n = append(shape, d), n/d
	}
	if n > 1 || g.flip() {
		shape = append(shape, n)
	}
	return shape
}

func (g *Gen) layoutTransform() relay.Expr {
	a := &relay.LayoutTransformAttrs{SrcLayout: pick(g, "NCHW", "NHWC", "NCHW4c"), DstLayout: pick(g, "NHWC", "NCHW", "NCHW4c", "NCHW2c")}
	src := tensor.MustLayout(a.SrcLayout)
	var x relay.Expr
	if src.Block('C') > 1 {
		x = g.exactly(g.float, tensor.Shape{1, g.from(1, 2), 2, 3, 4})
		if g.flip() {
			a.Channels = 4*relay.Tensor(x).Shape[1] - g.n(4)
		}
	} else {
		x = g.real(4, 4)
	}
	return g.call("layout_transform", a, x)
}

func (g *Gen) block() *relay.BlockAttrs {
	return &relay.BlockAttrs{BlockSize: g.from(1, 3), Layout: pick(g, "NCHW", "NHWC"), Mode: pick(g, "DCR", "CRD")}
}

func (g *Gen) spaceToDepth() relay.Expr {
	a := g.block()
	n, c, h, w := g.from(1, 2), g.from(1, 3), a.BlockSize*g.from(1, 3), a.BlockSize*g.from(1, 3)
	return g.call("nn.space_to_depth", a, g.exactly(g.float, arranged(a.Layout, n, c, h, w)))
}

func (g *Gen) depthToSpace() relay.Expr {
	a := g.block()
	n, c, h, w := g.from(1, 2), a.BlockSize*a.BlockSize*g.from(1, 2), g.from(1, 3), g.from(1, 3)
	return g.call("nn.depth_to_space", a, g.exactly(g.float, arranged(a.Layout, n, c, h, w)))
}

// arranged is the shape of an image in NCHW or NHWC.
func arranged(layout string, n, c, h, w int) tensor.Shape {
	if layout == "NHWC" {
		return tensor.Shape{n, h, w, c}
	}
	return tensor.Shape{n, c, h, w}
}

// sliceRows join, cut and pad tensors.
func sliceRows() map[string]func(g *Gen) relay.Expr {
	return map[string]func(g *Gen) relay.Expr{
		"concatenate": func(g *Gen) relay.Expr {
			x := g.movable(1, 4)
			t := relay.Tensor(x)
			axis := g.n(len(t.Shape))
			fields := []relay.Expr{x}
			for range g.n(4) {
				shape := t.Shape.Clone()
				shape[axis] = g.extent()
				fields = append(fields, g.exactly(t.DType, shape))
			}
			return g.call("concatenate", &relay.ConcatAttrs{Axis: g.signed(axis, len(t.Shape))}, g.tuple(fields...))
		},
		"stack": func(g *Gen) relay.Expr {
			x := g.movable(0, 3)
			t := relay.Tensor(x)
			fields := []relay.Expr{x}
			for range g.n(3) {
				fields = append(fields, g.exactly(t.DType, t.Shape))
			}
			return g.call("stack", &relay.ConcatAttrs{Axis: g.axis(len(t.Shape) + 1)}, g.tuple(fields...))
		},
		"split": func(g *Gen) relay.Expr {
			x := g.movable(1, 4)
			shape := relay.Tensor(x).Shape
			axis := g.n(len(shape))
			at := g.list(g.n(3), 0, shape[axis])
			slices.Sort(at)
			return g.call("split", &relay.SplitAttrs{Indices: at, Axis: g.signed(axis, len(shape))}, x)
		},
		"strided_slice": (*Gen).slice,
		"nn.pad": func(g *Gen) relay.Expr {
			x := g.number(1, 4)
			t := relay.Tensor(x)
			a := &relay.PadAttrs{PadMode: pick(g, "constant", "edge", "reflect", "wrap")}
			for _, d := range t.Shape {
				low := 0
				if d > 3 {
					low = -1
				}
				a.PadWidth = append(a.PadWidth, g.from(low, 2), g.from(low, 2))
			}
			value := g.same(t.DType, tensor.Shape{}, pick(g, 0., 1))
			if g.one(6) {
				value = g.input(t.DType, tensor.Shape{})
			}
			return g.call("nn.pad", a, x, value)
		},
	}
}

// slice takes a part of some axes that has an element at least.
func (g *Gen) slice() relay.Expr {
	x := g.movable(1, 4)
	shape := relay.Tensor(x).Shape
	a := &relay.StridedSliceAttrs{}
	axes := g.permutation(len(shape))[:g.from(1, len(shape))]
	if g.one(3) { // the first ones, without a list
		slices.Sort(axes)
		for i := range axes {
			axes[i] = i
		}
	} else {
		a.Axes = []int{}
	}
	strided := g.one(3)
	for _, axis := range axes {
		d := shape[axis]
		begin := g.n(d)
		end := begin + 1 + g.n(d-begin)
		stride := 1
		if strided {
			if stride = pick(g, 1, 2, -1); stride < 0 {
				begin, end = end-1, begin-1
				if end < 0 {
					end = -d - 1
				}
			}
			a.Strides = append(a.Strides, stride)
		}
		if stride > 0 && end == d && g.flip() {
			end = 1 << 30
		}
		if g.one(4) {
			begin -= d
		}
		a.Begin, a.End = append(a.Begin, begin), append(a.End, end)
		if a.Axes != nil {
			a.Axes = append(a.Axes, g.signed(axis, len(shape)))
		}
	}
	return g.call("strided_slice", a, x)
}

// createRows make tensors from attributes.
func createRows() map[string]func(g *Gen) relay.Expr {
	all := map[string]func(g *Gen) relay.Expr{
		"full": func(g *Gen) relay.Expr {
			d := pick(g, g.float, tensor.Int64, tensor.Bool)
			return g.call("full", &relay.FullAttrs{Shape: g.shape(g.n(4)), DType: pick(g, tensor.Invalid, d)}, g.leaf(d, pick(g, tensor.Shape{}, tensor.Shape{1})))
		},
		"arange": func(g *Gen) relay.Expr {
			a := &relay.ArangeAttrs{Start: float64(g.from(0, 3)), Step: pick(g, 1, 2, 0.5), DType: pick(g, g.float, tensor.Int64, tensor.Int32)}
			if a.DType != g.float {
				a.Step = pick(g, 1., 2)
			}
			a.Stop = a.Start + a.Step*float64(g.from(1, 5))
			return g.call("arange", a)
		},
		"eye": func(g *Gen) relay.Expr {
			return g.call("eye", &relay.EyeAttrs{Shape: g.shape(2), K: g.from(-1, 1), DType: pick(g, g.float, tensor.Int32)})
		},
		"one_hot": func(g *Gen) relay.Expr {
			x := g.of(indices, 0, 3)
			d := pick(g, g.float, tensor.Int64)
			a := &relay.OneHotAttrs{Depth: g.from(1, 4), Axis: g.axis(len(relay.Tensor(x).Shape) + 1), DType: pick(g, tensor.Invalid, d)}
			return g.call("one_hot", a, x, g.same(d, tensor.Shape{}, 1), g.same(d, tensor.Shape{}, pick(g, 0., -1)))
		},
	}
	for _, name := range []string{"zeros", "ones"} {
		all[name] = func(g *Gen) relay.Expr {
			return g.call(name, &relay.FullAttrs{Shape: g.shape(g.n(4)), DType: pick(g, g.float, tensor.Int64, tensor.Bool)})
		}
	}
	return all
}
