package relaygen

import (
	"maps"

	"github.com/texel-ml/texel/relay"
	"github.com/texel-ml/texel/tensor"
)

// rows has a maker of calls for each operator, by its name.
var rows = table(elementwiseRows(), broadcastRows(), reduceRows(), normRows(), shapeRows(), sliceRows(), createRows(), indexRows(), heavyRows(),
	poolRows(), imageRows(), sortRows(), quantizeRows())

func table(families ...map[string]func(g *Gen) relay.Expr) map[string]func(g *Gen) relay.Expr {
	all := map[string]func(g *Gen) relay.Expr{}
	for _, f := range families {
		maps.Copy(all, f)
	}
	return all
}

// elementwiseRows are the operators of one operand that keep its shape.
func elementwiseRows() map[string]func(g *Gen) relay.Expr {
	all := map[string]func(g *Gen) relay.Expr{}
	plain := func(operand func(g *Gen) relay.Expr, names ...string) {
		for _, name := range names {
			all[name] = func(g *Gen) relay.Expr { return g.call(name, nil, operand(g)) }
		}
	}
	within := func(low, high float64, names ...string) {
		plain(func(g *Gen) relay.Expr { return g.clipped(g.real(0, 5), low, high) }, names...)
	}
	plain(func(g *Gen) relay.Expr { return g.number(0, 5) }, "abs", "negative", "sign", "ceil", "floor", "round", "trunc", "nn.relu")
	plain(func(g *Gen) relay.Expr { return g.real(0, 5) }, "sigmoid", "tanh", "erf", "sin", "cos", "atan", "asinh", "isnan", "nn.softplus",
		"nn.softsign", "nn.hard_swish", "nn.mish")
	within(-4, 4, "exp", "sinh", "cosh")
	within(0.125, 8, "log", "sqrt", "rsqrt", "reciprocal")
	within(-0.875, 0.875, "asin", "acos", "atanh", "tan")
	within(1.125, 8, "acosh")
	plain(func(g *Gen) relay.Expr { return g.of([]tensor.DType{tensor.Bool}, 0, 5) }, "logical_not")
	plain(func(g *Gen) relay.Expr { return g.of(integers, 0, 5) }, "bitwise_not")
	plain(func(g *Gen) relay.Expr { return g.movable(0, 5) }, "copy")

	with := func(name string, attrs func(g *Gen) any) {
		all[name] = func(g *Gen) relay.Expr { return g.call(name, attrs(g), g.real(0, 5)) }
	}
	alpha := func(g *Gen) any { return &relay.AlphaAttrs{Alpha: pick(g, 1, 0.25, 0.1, 1.5)} }
	for _, name := range []string{"nn.leaky_relu", "nn.elu", "nn.celu", "nn.thresholded_relu"} {
		with(name, alpha)
	}
	with("isinf", func(g *Gen) any { return &relay.IsInfAttrs{DetectNegative: g.flip(), DetectPositive: g.flip()} })
	with("nn.selu", func(g *Gen) any {
		return &relay.SeluAttrs{Alpha: pick(g, 1.67326319217681884765625, 1.5), Gamma: pick(g, 1.05, 1)}
	})
	with("nn.hard_sigmoid", func(g *Gen) any { return &relay.HardSigmoidAttrs{Alpha: pick(g, 0.2, 1./6), Beta: pick(g, 0.5, 0.25)} })
	with("nn.swish", func(g *Gen) any { return &relay.SwishAttrs{Beta: pick(g, 1, 1.5)} })
	with("nn.gelu", func(g *Gen) any { return &relay.GeluAttrs{Approximate: pick(g, "none", "tanh")} })
	with("nn.shrink", func(g *Gen) any { return &relay.ShrinkAttrs{Bias: pick(g, 0, 0.25), Lambd: pick(g, 0.5, 0.75)} })
	all["clip"] = (*Gen).clip
	all["cast"] = (*Gen).cast
	all["reinterpret"] = (*Gen).reinterpret
	all["trilu"] = func(g *Gen) relay.Expr {
		return g.call("trilu", &relay.TriluAttrs{Upper: g.flip(), K: g.from(-1, 1)}, g.number(2, 4))
	}
	for _, name := range []string{"nn.bias_add", "nn.prelu"} {
		all[name] = func(g *Gen) relay.Expr {
			x := g.real(1, 4)
			if name == "nn.bias_add" {
				x = g.number(1, 4)
			}
			t := relay.Tensor(x)
			axis := g.axis(len(t.Shape))
			return g.call(name, &relay.AxisAttrs{Axis: axis}, x, g.leaf(t.DType, tensor.Shape{t.Shape[relay.NormalAxis(axis, len(t.Shape))]}))
		}
	}
	return all
}

func (g *Gen) clip() relay.Expr {
	x := g.number(0, 5)
	a := &relay.ClipAttrs{AMin: pick(g, 0., -1, 1), AMax: pick(g, 6., 1, 2)}
	if relay.Tensor(x).DType.IsFloat() {
		a = g.bounds()
	}
	return g.call("clip", a, x)
}

// bounds are those of a clip, one of them sometimes missing, sometimes crossed.
func (g *Gen) bounds() *relay.ClipAttrs {
	low, high := []float64{0, -1, 0.5, negInf}, []float64{6, 1, 0.25, posInf}
	return &relay.ClipAttrs{AMin: low[g.n(4)], AMax: high[g.n(4)]}
}

func (g *Gen) cast() relay.Expr {
	to := pick(g, tensor.Float32, tensor.Float16, tensor.Float64, tensor.BFloat16, tensor.Int32, tensor.Int64, tensor.Int8, tensor.Uint8, tensor.Bool,
		tensor.Int4, tensor.Float8E4M3FN, tensor.Float8E8M0, tensor.Float4E2M1)
	x := g.movable(0, 5)
	if to == tensor.Float8E8M0 { // holds powers of two above zero
		x = g.clipped(g.real(0, 5), 0.125, 8)
	}
	a := &relay.CastAttrs{DType: to, Saturate: !g.one(4), RoundMode: pick(g, "up", "down", "nearest")}
	if from := relay.Tensor(x).DType; from.IsFloat() && !to.IsFloat() && to != tensor.Bool { // outside the range the result is unspecified
		lo, _ := tensor.IntRange(to)
		a.Saturate = true
		return g.call("cast", a, g.call("cast", &relay.CastAttrs{DType: to, Saturate: true, RoundMode: "up"}, g.inRange(x, max(float64(lo), -4), 4)))
	}
	return g.call("cast", a, x)
}

// inRange clips x to what the element type that it is cast to holds. A storage type is cast to a float first.
func (g *Gen) inRange(x relay.Expr, low, high float64) relay.Expr {
	if relay.Tensor(x).DType.IsStorage() {
		x = g.call("cast", &relay.CastAttrs{DType: tensor.Float32, Saturate: true, RoundMode: "up"}, x)
	}
	return g.call("clip", &relay.ClipAttrs{AMin: low, AMax: high}, x)
}

func (g *Gen) reinterpret() relay.Expr {
	pairs := [][2]tensor.DType{{tensor.Int32, tensor.Uint32}, {tensor.Uint32, tensor.Int32}, {tensor.Int64, tensor.Uint64}, {tensor.Int8, tensor.Uint8},
		{tensor.Float32, tensor.Int32}, {tensor.Float16, tensor.Uint16}}
	p := pairs[g.n(len(pairs))]
	return g.call("reinterpret", &relay.CastAttrs{DType: p[1], Saturate: !g.one(4), RoundMode: pick(g, "up", "down")}, g.of([]tensor.DType{p[0]}, 0, 4))
}

// broadcastRows are the operators of two operands that broadcast, and where.
func broadcastRows() map[string]func(g *Gen) relay.Expr {
	all := map[string]func(g *Gen) relay.Expr{}
	pair := func(operand func(g *Gen) relay.Expr, names ...string) {
		for _, name := range names {
			all[name] = func(g *Gen) relay.Expr {
				x := operand(g)
				y := g.partner(x)
				if g.flip() {
					x, y = y, x
				}
				return g.call(name, nil, x, y)
			}
		}
	}
	pair(func(g *Gen) relay.Expr { return g.number(0, 5) }, "add", "subtract", "multiply", "maximum", "minimum", "equal", "not_equal", "less",
		"less_equal", "greater", "greater_equal")
	pair(func(g *Gen) relay.Expr { return g.of([]tensor.DType{tensor.Bool}, 0, 5) }, "logical_and", "logical_or", "logical_xor")
	pair(func(g *Gen) relay.Expr { return g.of(integers, 0, 5) }, "bitwise_and", "bitwise_or", "bitwise_xor")
	for _, name := range []string{"divide", "mod", "fmod"} {
		all[name] = func(g *Gen) relay.Expr {
			x := g.number(0, 5)
			return g.call(name, nil, x, g.clipped(g.partner(x), 0.5, 4))
		}
	}
	for _, name := range []string{"left_shift", "right_shift"} {
		all[name] = func(g *Gen) relay.Expr {
			x := g.of(integers, 0, 5)
			t := relay.Tensor(x)
			return g.call(name, nil, x, g.integers(t.DType, pick(g, tensor.Shape{}, t.Shape), 0, 9))
		}
	}
	all["power"] = func(g *Gen) relay.Expr {
		x := g.number(0, 5)
		d := relay.Tensor(x).DType
		if !d.IsFloat() {
			return g.call("power", nil, x, g.integers(d, tensor.Shape{}, 0, 3))
		}
		if g.flip() {
			return g.call("power", nil, x, g.same(d, tensor.Shape{}, pick(g, 2., 3, 1)))
		}
		return g.call("power", nil, g.clipped(x, 0.25, 3), g.clipped(g.partner(x), -2, 2))
	}
	all["where"] = func(g *Gen) relay.Expr {
		x := g.number(0, 5)
		t := relay.Tensor(x)
		return g.call("where", nil, g.exactly(tensor.Bool, pick(g, t.Shape, tensor.Shape{})), x, g.partner(x))
	}
	return all
}
