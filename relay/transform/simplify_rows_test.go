package transform

import (
	"math"

	"github.com/texel-ml/texel/diag"
	"github.com/texel-ml/texel/relay"
	"github.com/texel-ml/texel/tensor"
)

// typed is an input of an element type.
func (g *graph) typed(name string, d tensor.DType, shape ...int) relay.Expr {
	v := relay.NewVar(name, &relay.TensorType{Shape: append(tensor.Shape{}, shape...), DType: d}, diag.Pos{})
	g.params = append(g.params, v)
	return v
}

// of is a constant of one type.
func of[T tensor.Native](d tensor.DType, shape tensor.Shape, values ...T) relay.Expr {
	return relay.NewConstant(tensor.Of(d, shape, values...), "", diag.Pos{})
}

func (g *graph) cast(x relay.Expr, d tensor.DType) relay.Expr {
	return g.call("cast", &relay.CastAttrs{DType: d, Saturate: true, RoundMode: "up"}, x)
}

func (g *graph) sum(x relay.Expr, keep bool, axes ...int) relay.Expr {
	return g.call("sum", &relay.ReduceAttrs{Axis: axes, Keepdims: keep}, x)
}

func (g *graph) slice(x relay.Expr, axis, begin, end int) relay.Expr {
	return g.call("strided_slice", &relay.StridedSliceAttrs{Begin: []int{begin}, End: []int{end}, Axes: []int{axis}}, x)
}

func (g *graph) join(axis int, fields ...relay.Expr) relay.Expr {
	return g.call("concatenate", &relay.ConcatAttrs{Axis: axis}, g.tuple(fields...))
}

var canonicalRows = []row{
	{name: "constants_on_the_right", why: "2 + x, 0 < x", build: func(g *graph) relay.Expr {
		x := g.input("x", 3)
		return g.call("where", nil, g.call("less", nil, g.scalar(0), x), g.add(g.scalar(2), x), x)
	}},
	{name: "minus_a_constant", why: "x - k is x + (-k); k - x stays", build: func(g *graph) relay.Expr {
		x := g.call("subtract", nil, g.input("x", 3), g.weights(3))
		return g.call("subtract", nil, g.scalar(2), x)
	}},
	{name: "divided_by_powers_of_two", why: "exactly a multiplication", build: func(g *graph) relay.Expr {
		return g.div(g.input("x", 3), of(tensor.Float32, tensor.Shape{3}, float32(4), -0.5, 1))
	}},
	{name: "divided_by_three", why: "1/3 is no float: it stays", keeps: true, build: func(g *graph) relay.Expr {
		return g.div(g.input("x", 3), of(tensor.Float32, tensor.Shape{3}, float32(4), 3, 1))
	}},
	{name: "minus_one_and_reciprocals", why: "x · -1, 1 / y, 1 / √z", build: func(g *graph) relay.Expr {
		x := g.call("exp", nil, g.input("x", 3))
		return g.tuple(g.mul(x, g.scalar(-1)), g.div(g.scalar(1), x), g.div(g.scalar(1), g.call("sqrt", nil, g.add(x, g.scalar(1)))))
	}},
	{name: "powers", why: "x², x¹, x⁻¹, and roots of what is never negative", build: func(g *graph) relay.Expr {
		x := g.input("x", 3)
		power := func(e relay.Expr, k float64) relay.Expr { return g.call("power", nil, e, g.scalar(k)) }
		y := g.add(power(x, 2), power(x, 1))
		return g.tuple(y, power(g.call("exp", nil, x), -1), power(power(x, 2), 0.5))
	}},
	{name: "power_of_a_half", why: "√-∞ is no number, (-∞)^½ is ∞: what may be negative stays", keeps: true, build: func(g *graph) relay.Expr {
		return g.call("power", nil, g.input("x", 3), g.scalar(0.5))
	}},
	{name: "sum_over_count", why: "a sum over its number of terms is a mean", build: func(g *graph) relay.Expr {
		return g.div(g.sum(g.input("x", 2, 3), true, -1), g.scalar(3))
	}},
	{name: "sum_over_another_number", why: "a sum of three over two is none", keeps: true, build: func(g *graph) relay.Expr {
		return g.div(g.sum(g.input("x", 2, 3), true, 1), g.scalar(3.5))
	}},
	{name: "equal_elements", why: "one element is enough where the other operand has the shape", build: func(g *graph) relay.Expr {
		return g.add(g.input("x", 2, 2), of(tensor.Float32, tensor.Shape{2, 2}, float32(6), 6, 6, 6))
	}},
	{name: "equal_elements_that_widen", why: "where it has not, the constant gives the shape", keeps: true, build: func(g *graph) relay.Expr {
		return g.add(g.input("x", 1, 2), of(tensor.Float32, tensor.Shape{2, 2}, float32(6), 6, 6, 6))
	}},
	{name: "equal_slopes", why: "prelu with one slope is leaky relu", build: func(g *graph) relay.Expr {
		return g.call("nn.prelu", nil, g.input("x", 1, 2, 3), of(tensor.Float32, tensor.Shape{2}, float32(0.25), 0.25))
	}},
	{name: "tile", why: "along axes of extent 1 a tile is a broadcast", build: func(g *graph) relay.Expr {
		return g.call("tile", &relay.TileAttrs{Reps: []int{2, 1, 3}}, g.input("x", 4, 1))
	}},
	{name: "tile_of_more", why: "along others it is not", keeps: true, build: func(g *graph) relay.Expr {
		return g.call("tile", &relay.TileAttrs{Reps: []int{2, 3}}, g.input("x", 4, 1))
	}},
	{name: "product_and_axes", why: "batch_matmul is matmul; axes count from the front", build: func(g *graph) relay.Expr {
		y := g.call("nn.batch_matmul", nil, g.input("x", 2, 3, 4), g.input("y", 2, 5, 4))
		return g.call("max", &relay.ReduceAttrs{Axis: []int{0}, Exclude: true}, y)
	}},
	{name: "relu", why: "max(x, 0)", build: func(g *graph) relay.Expr {
		return g.call("maximum", nil, g.scalar(0), g.input("x", 5))
	}},
	{name: "relu6", why: "min(max(x, 0), 6)", build: func(g *graph) relay.Expr {
		return g.call("minimum", nil, g.call("maximum", nil, g.input("x", 5), g.scalar(0)), g.scalar(6))
	}},
	{name: "no_bounds", why: "max(x, -∞), min(x, ∞)", build: func(g *graph) relay.Expr {
		x := g.call("maximum", nil, g.call("exp", nil, g.input("x", 5)), g.scalar(math.Inf(-1)))
		return g.call("tanh", nil, g.call("minimum", nil, x, g.scalar(math.Inf(1))))
	}},
	{name: "clip_with_crossed_bounds", why: "the minimum wins where the bounds cross: two clips", build: func(g *graph) relay.Expr {
		return g.call("minimum", nil, g.call("nn.relu", nil, g.input("x", 5)), g.scalar(-1))
	}},
	{name: "kept_axes", why: "axes that a reduction drops and a reshape brings back", build: func(g *graph) relay.Expr {
		return g.sub(g.input("x", 2, 3), g.reshape(g.call("max", &relay.ReduceAttrs{Axis: []int{1}}, g.input("y", 2, 3)), 2, 1))
	}},
	{name: "other_axes", why: "of another shape it stays", keeps: true, build: func(g *graph) relay.Expr {
		return g.reshape(g.sum(g.input("y", 2, 3, 4), false, 1), 2, 4, 1)
	}},
	{name: "equal_nodes", why: "what is written twice is one node, so that a pattern that names it twice is found", build: func(g *graph) relay.Expr {
		x := g.input("x", 3)
		return g.mul(g.call("tanh", nil, x), g.call("tanh", nil, x))
	}},
}

var exprRows = []row{
	{name: "integer_zero", why: "x + 0 of integers", build: func(g *graph) relay.Expr {
		return g.call("abs", nil, g.add(g.typed("x", tensor.Int32, 3), of(tensor.Int32, tensor.Shape{}, int32(0))))
	}},
	{name: "negative_zero", why: "x + (-0) is x for every x", build: func(g *graph) relay.Expr {
		return g.call("tanh", nil, g.add(g.input("x", 3), g.scalar(math.Copysign(0, -1))))
	}},
	{name: "positive_zero", why: "-0 + 0 is 0: it stays", keeps: true, build: func(g *graph) relay.Expr {
		return g.call("reciprocal", nil, g.add(g.input("x", 3), g.scalar(0)))
	}},
	{name: "negatives", why: "x + (-y), x - (-y), -(-x), |-x|", build: func(g *graph) relay.Expr {
		x, y := g.input("x", 3), g.call("negative", nil, g.input("y", 3))
		return g.tuple(g.add(x, y), g.call("subtract", nil, x, y), g.call("negative", nil, y), g.call("abs", nil, y))
	}},
	{name: "absolute_of_unsigned", why: "the negative of an unsigned number is another", keeps: true, build: func(g *graph) relay.Expr {
		return g.call("abs", nil, g.call("negative", nil, g.typed("x", tensor.Uint8, 3)))
	}},
	{name: "roundings", why: "a whole number is not rounded again", build: func(g *graph) relay.Expr {
		return g.call("floor", nil, g.call("abs", nil, g.call("abs", nil, g.call("ceil", nil, g.call("round", nil, g.input("x", 3))))))
	}},
	{name: "clips", why: "clips of each other are one; crossed bounds give the upper", build: func(g *graph) relay.Expr {
		x := g.input("x", 3)
		return g.tuple(g.clip(g.clip(x, 0, 6), 1, 9), g.call("nn.relu", nil, g.clip(x, -1, 1)), g.clip(g.call("nn.relu", nil, x), -2, -1))
	}},
	{name: "clip_without_an_upper_bound", why: "is relu", build: func(g *graph) relay.Expr { return g.clip(g.input("x", 3), 0, math.Inf(1)) }},
	{name: "extremes", why: "constants of chained maxima join", build: func(g *graph) relay.Expr {
		x := g.typed("x", tensor.Int32, 3)
		y := g.call("maximum", nil, g.call("maximum", nil, x, of(tensor.Int32, tensor.Shape{}, int32(1))), of(tensor.Int32, tensor.Shape{3}, int32(0), 2, 1))
		return g.call("minimum", nil, y, y)
	}},
	{name: "maximum_of_minimum", why: "different ones stay", keeps: true, build: func(g *graph) relay.Expr {
		x := g.typed("x", tensor.Int32, 3)
		return g.call("maximum", nil, g.call("minimum", nil, x, of(tensor.Int32, tensor.Shape{}, int32(1))), of(tensor.Int32, tensor.Shape{}, int32(0)))
	}},
	{name: "casts", why: "through a type that holds every value, or to the low bits", build: func(g *graph) relay.Expr {
		a := g.cast(g.cast(g.typed("a", tensor.Int8, 3), tensor.Int32), tensor.Int64)
		b := g.cast(g.cast(g.typed("b", tensor.Int64, 3), tensor.Int32), tensor.Int8)
		c := g.cast(g.cast(g.typed("c", tensor.Float16, 3), tensor.Float64), tensor.Float32)
		return g.tuple(a, b, c)
	}},
	{name: "narrow_casts", why: "what does not hold every value rounds or wraps", keeps: true, build: func(g *graph) relay.Expr {
		a := g.cast(g.cast(g.typed("a", tensor.Int32, 3), tensor.Int8), tensor.Int32)
		b := g.cast(g.cast(g.typed("b", tensor.Float32, 3), tensor.Float16), tensor.Float32)
		c := g.cast(g.cast(g.typed("c", tensor.Int32, 3), tensor.Float64), tensor.Int8)
		return g.tuple(a, b, c)
	}},
	{name: "negations", why: "of comparisons; integers have no NaN", build: func(g *graph) relay.Expr {
		x, y := g.typed("x", tensor.Int32, 3), g.typed("y", tensor.Int32, 3)
		a := g.input("a", 3)
		not := func(e relay.Expr) relay.Expr { return g.call("logical_not", nil, e) }
		return g.tuple(not(g.call("less", nil, x, y)), not(g.call("equal", nil, a, a)), not(not(g.call("less", nil, a, a))))
	}},
	{name: "negation_of_less", why: "not (NaN < 1) holds, NaN ≥ 1 does not", keeps: true, build: func(g *graph) relay.Expr {
		return g.call("logical_not", nil, g.call("less", nil, g.input("x", 3), g.scalar(1)))
	}},
	{name: "choices", why: "of the same, and by a condition that is negated or known", build: func(g *graph) relay.Expr {
		c, x, y := g.typed("c", tensor.Bool, 3), g.input("x", 3), g.input("y", 3)
		first := g.call("where", nil, g.call("logical_not", nil, c), x, y)
		second := g.call("where", nil, relay.NewConstant(&tensor.Tensor{DType: tensor.Bool, Shape: tensor.Shape{3}, Data: []byte{0, 0, 0}}, "", diag.Pos{}), x, first)
		return g.call("where", nil, c, second, second)
	}},
	{name: "reductions", why: "sums of sums are one, with and without kept axes", build: func(g *graph) relay.Expr {
		x := g.input("x", 2, 3, 4, 5)
		return g.tuple(g.sum(g.sum(x, true, 3), true, 1), g.sum(g.sum(x, false, 1), false, 2, 0))
	}},
	{name: "reductions_of_units", why: "over axes of extent 1 nothing is reduced", build: func(g *graph) relay.Expr {
		return g.call("max", &relay.ReduceAttrs{Axis: []int{0, 2}}, g.input("x", 1, 3, 1))
	}},
	{name: "sum_of_maximum", why: "different reductions stay", keeps: true, build: func(g *graph) relay.Expr {
		return g.sum(g.call("max", &relay.ReduceAttrs{Axis: []int{1}}, g.input("x", 2, 3)), false, 0)
	}},
}

var moveRows = []row{
	{name: "joins", why: "a concatenate of concatenates is one", build: func(g *graph) relay.Expr {
		a, b, c := g.input("a", 2, 1), g.input("b", 2, 2), g.input("c", 2, 3)
		return g.join(1, a, g.join(-1, b, c))
	}},
	{name: "join_used_twice", why: "an inner one that others read stays", keeps: true, build: func(g *graph) relay.Expr {
		inner := g.join(1, g.input("b", 2, 2), g.input("c", 2, 3))
		return g.tuple(inner, g.join(1, g.input("a", 2, 1), inner))
	}},
	{name: "neighbouring_slices", why: "all of x again, and a longer slice", build: func(g *graph) relay.Expr {
		x := g.input("x", 2, 6)
		return g.tuple(g.join(1, g.slice(x, 1, 0, 4), g.slice(x, 1, 4, 6)), g.join(1, g.slice(x, 1, 1, 3), g.slice(x, 1, 3, 5), g.slice(x, 1, 0, 1)))
	}},
	{name: "slices_out_of_order", why: "x turned round is another value", keeps: true, build: func(g *graph) relay.Expr {
		x := g.input("x", 2, 6)
		return g.join(1, g.slice(x, 1, 4, 6), g.slice(x, 1, 0, 4))
	}},
	{name: "slice_of_a_join", why: "it lies in one part, or is that part", build: func(g *graph) relay.Expr {
		x := g.join(0, g.input("a", 2, 3), g.input("b", 4, 3))
		return g.tuple(g.slice(x, 0, 2, 6), g.slice(x, 0, 3, 5))
	}},
	{name: "slice_across_parts", why: "it lies in two", keeps: true, build: func(g *graph) relay.Expr {
		return g.slice(g.join(0, g.input("a", 2, 3), g.input("b", 4, 3)), 0, 1, 3)
	}},
	{name: "split_of_a_join", why: "the parts are there already", build: func(g *graph) relay.Expr {
		s := g.call("split", &relay.SplitAttrs{Indices: []int{2}}, g.join(0, g.input("a", 2, 3), g.input("b", 4, 3)))
		return g.mul(g.get(s, 0), g.sum(g.get(s, 1), true, 0))
	}},
	{name: "slice_of_a_slice", why: "places and strides compose", build: func(g *graph) relay.Expr {
		x := g.call("strided_slice", &relay.StridedSliceAttrs{Begin: []int{9}, End: []int{-20}, Strides: []int{-2}}, g.input("x", 10))
		return g.call("strided_slice", &relay.StridedSliceAttrs{Begin: []int{4}, End: []int{0}, Strides: []int{-1}}, x)
	}},
	{name: "pads", why: "with one value they add up", build: func(g *graph) relay.Expr {
		pad := func(x relay.Expr, w ...int) relay.Expr {
			return g.call("nn.pad", &relay.PadAttrs{PadWidth: w, PadMode: "constant"}, x, g.scalar(2))
		}
		return pad(pad(g.input("x", 3), 1, 2), 0, 1)
	}},
	{name: "pad_that_cuts", why: "what is cut off was padding or not", keeps: true, build: func(g *graph) relay.Expr {
		pad := func(x relay.Expr, w ...int) relay.Expr {
			return g.call("nn.pad", &relay.PadAttrs{PadWidth: w, PadMode: "constant"}, x, g.scalar(2))
		}
		return pad(pad(g.input("x", 3), 1, 2), -1, 1)
	}},
	{name: "known_places", why: "in equal steps they are a slice; one place without an axis is reshaped", build: func(g *graph) relay.Expr {
		x := g.input("x", 6, 2)
		take := func(k relay.Expr) relay.Expr { return g.call("take", nil, x, k) }
		return g.tuple(take(of(tensor.Int64, tensor.Shape{3}, int64(4), 2, 0)), take(of(tensor.Int64, tensor.Shape{}, int64(-1))))
	}},
	{name: "places_outside", why: "they are clamped", keeps: true, build: func(g *graph) relay.Expr {
		return g.call("take", nil, g.input("x", 6, 2), of(tensor.Int64, tensor.Shape{2}, int64(5), 6))
	}},
	{name: "needless_broadcast", why: "the sum broadcasts by itself", build: func(g *graph) relay.Expr {
		return g.add(g.input("x", 2, 3), g.call("broadcast_to", &relay.ShapeAttrs{Shape: []int{2, 3}}, g.input("y", 3)))
	}},
	{name: "broadcast_of_both", why: "one of them gives the shape", build: func(g *graph) relay.Expr {
		wide := func(name string) relay.Expr {
			return g.call("broadcast_to", &relay.ShapeAttrs{Shape: []int{2, 3}}, g.input(name, 3))
		}
		return g.add(wide("x"), wide("y"))
	}},
	{name: "transposed_operands", why: "a product reads its matrices either way", build: func(g *graph) relay.Expr {
		return g.call("nn.matmul", nil, g.transpose(g.input("x", 2, 4, 3), 0, 2, 1), g.transpose(g.input("y", 2, 5, 4), 0, 2, 1))
	}},
	{name: "keys_of_attention", why: "the transpose of the heads moves rows, that of the matrices is the product's", build: func(g *graph) relay.Expr {
		return g.call("nn.matmul", nil, g.input("x", 1, 2, 3, 4), g.transpose(g.input("y", 1, 5, 2, 4), 0, 2, 3, 1))
	}},
	{name: "operand_with_other_axes", why: "the batch is no axis of the matrix", keeps: true, build: func(g *graph) relay.Expr {
		return g.call("nn.matmul", nil, g.input("x", 2, 3, 4), g.transpose(g.input("y", 4, 2, 5), 1, 0, 2))
	}},
	{name: "inverses", why: "reverse, space to depth and layouts back", build: func(g *graph) relay.Expr {
		x := g.input("x", 1, 4, 2, 2)
		reverse := func(e relay.Expr) relay.Expr { return g.call("reverse", &relay.AxisAttrs{Axis: 1}, e) }
		layout := func(e relay.Expr, a, b string) relay.Expr {
			return g.call("layout_transform", &relay.LayoutTransformAttrs{SrcLayout: a, DstLayout: b}, e)
		}
		block := &relay.BlockAttrs{BlockSize: 2, Layout: "NCHW", Mode: "DCR"}
		return g.tuple(reverse(reverse(x)), layout(layout(x, "NCHW", "NHWC"), "NHWC", "NCHW"), g.call("nn.depth_to_space", block, g.call("nn.space_to_depth", block, x)))
	}},
}

var fastRows = []row{
	{name: "zero", why: "x + 0", build: func(g *graph) relay.Expr {
		return g.call("tanh", nil, g.add(g.input("x", 3), g.scalar(0)))
	}},
	{name: "constant_divisor", why: "x / 3", build: func(g *graph) relay.Expr { return g.div(g.input("x", 3), g.scalar(3)) }},
	{name: "tiny_divisor", why: "the reciprocal of a number this small is infinite", keeps: true, build: func(g *graph) relay.Expr {
		return g.div(g.input("x", 3), g.scalar(1e-40))
	}},
	{name: "root", why: "x / √y", build: func(g *graph) relay.Expr {
		return g.div(g.input("x", 3), g.call("sqrt", nil, g.call("exp", nil, g.input("y", 3))))
	}},
	{name: "divisor_of_rows", why: "one reciprocal a row", build: func(g *graph) relay.Expr {
		return g.div(g.input("x", 2, 4), g.call("exp", nil, g.input("y", 2, 1)))
	}},
	{name: "divisor_of_all", why: "as many divisors as quotients", keeps: true, build: func(g *graph) relay.Expr {
		return g.div(g.input("x", 2, 4), g.call("exp", nil, g.input("y", 2, 4)))
	}},
}
