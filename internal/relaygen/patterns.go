package relaygen

import (
	"slices"

	"github.com/texel-ml/texel/relay"
	"github.com/texel-ml/texel/tensor"
)

// patterns has a maker for each group of operators that a graph pass looks for, by the pass's name. About one time in four
// something is different: a constant, an operand, an axis, or a value in the middle that others read too.
var patterns = table(activationPatterns(), simplePatterns(), movePatterns(), heavyPatterns(), normPatterns(), visionPatterns(), blockPatterns(), attentionPatterns())

// miss reports whether this place of a pattern is to be different.
func (g *Gen) miss() bool { return g.one(16 * (1 + g.careful)) }

// k is a constant of one element, of any shape that broadcasts: v, or rarely another number.
func (g *Gen) k(v float64) relay.Expr {
	if g.miss() {
		v = pick(g, v+1, v*1.0625, -v)
	}
	return g.same(g.float, tensor.Shape(slices.Repeat([]int{1}, g.n(2))), v)
}

// mid keeps a value in the middle of a pattern for others, rarely.
func (g *Gen) mid(e relay.Expr) relay.Expr {
	if g.miss() {
		g.values = append(g.values, e)
	}
	return e
}

// other is x, or rarely another value of its type.
func (g *Gen) other(x relay.Expr) relay.Expr {
	if g.miss() {
		return g.exactly(relay.Tensor(x).DType, relay.Tensor(x).Shape)
	}
	return x
}

func (g *Gen) unary(name string, x relay.Expr) relay.Expr { return g.mid(g.call(name, nil, x)) }

// binary applies an operator to two values in any order.
func (g *Gen) binary(name string, a, b relay.Expr) relay.Expr {
	if g.flip() {
		a, b = b, a
	}
	return g.mid(g.call(name, nil, a, b))
}

func (g *Gen) add(a, b relay.Expr) relay.Expr { return g.binary("add", a, b) }
func (g *Gen) mul(a, b relay.Expr) relay.Expr { return g.binary("multiply", a, b) }
func (g *Gen) sub(a, b relay.Expr) relay.Expr { return g.mid(g.call("subtract", nil, a, b)) }
func (g *Gen) div(a, b relay.Expr) relay.Expr { return g.mid(g.call("divide", nil, a, b)) }

// times is x · v, written as a product or a quotient.
func (g *Gen) times(x relay.Expr, v float64) relay.Expr {
	if g.flip() {
		return g.div(x, g.k(1/v))
	}
	return g.mul(x, g.k(v))
}

// bounded is x between two bounds, in one of three ways.
func (g *Gen) bounded(x relay.Expr, low, high float64) relay.Expr {
	switch g.n(3) {
	case 0:
		return g.binary("minimum", g.binary("maximum", x, g.k(low)), g.k(high))
	case 1:
		if low == 0 {
			return g.binary("minimum", g.unary("nn.relu", x), g.k(high))
		}
	}
	return g.mid(g.call("clip", &relay.ClipAttrs{AMin: low, AMax: high}, x))
}

func activationPatterns() map[string]func(g *Gen) relay.Expr {
	return map[string]func(g *Gen) relay.Expr{"recognize-activations": func(g *Gen) relay.Expr {
		x := g.real(1, 4)
		return pick(g, (*Gen).hardSwish, (*Gen).swish, (*Gen).gelu, (*Gen).mish, (*Gen).leaky, (*Gen).hardSigmoid, (*Gen).softplus)(g, x)
	}}
}

func (g *Gen) hardSigmoid(x relay.Expr) relay.Expr {
	if g.flip() {
		return g.bounded(g.add(g.times(x, 0.25), g.k(0.5)), 0, 1)
	}
	return g.times(g.bounded(g.add(x, g.k(3)), 0, 6), 1./6)
}

func (g *Gen) hardSwish(x relay.Expr) relay.Expr {
	gate := func() relay.Expr { return g.bounded(g.add(g.other(x), g.k(3)), 0, 6) }
	switch g.n(3) {
	case 0:
		return g.mul(x, g.hardSigmoid(g.other(x)))
	case 1:
		return g.times(g.mul(x, gate()), 1./6)
	}
	return g.mul(g.times(x, 1./6), gate())
}

func (g *Gen) swish(x relay.Expr) relay.Expr {
	inner := g.other(x)
	if g.flip() {
		inner = g.mul(inner, g.k(1.5))
	}
	return g.mul(x, g.unary("sigmoid", inner))
}

func (g *Gen) gelu(x relay.Expr) relay.Expr {
	inner := g.other(x)
	if g.flip() {
		inner = g.unary("erf", g.times(inner, 0.7071067811865476))
	} else {
		inner = g.unary("tanh", g.geluCubic(inner))
	}
	one := g.add(inner, g.k(1))
	switch g.n(3) {
	case 0:
		return g.mul(g.times(x, 0.5), one)
	case 1:
		return g.times(g.mul(x, one), 0.5)
	}
	return g.mul(x, g.times(one, 0.5))
}

// geluCubic is √(2/π) (x + 0.044715 x³), in one of two ways.
func (g *Gen) geluCubic(x relay.Expr) relay.Expr {
	const root, cubic = 0.7978845608028654, 0.044715
	if g.flip() {
		cube := g.call("power", nil, x, g.k(3))
		if g.flip() {
			cube = g.mul(g.mul(x, x), x)
		}
		return g.times(g.add(x, g.mul(cube, g.k(cubic))), root)
	}
	return g.mul(g.mul(x, g.k(root)), g.add(g.k(1), g.mul(g.mul(x, x), g.k(cubic))))
}

func (g *Gen) softplus(x relay.Expr) relay.Expr {
	return g.unary("log", g.add(g.unary("exp", g.clipped(x, -4, 4)), g.k(1)))
}

func (g *Gen) mish(x relay.Expr) relay.Expr {
	x = g.clipped(x, -4, 4)
	soft := g.unary("nn.softplus", g.other(x))
	if g.flip() {
		soft = g.unary("log", g.add(g.unary("exp", g.other(x)), g.k(1)))
	}
	return g.mul(x, g.unary("tanh", soft))
}

func (g *Gen) leaky(x relay.Expr) relay.Expr {
	scaled := g.times(g.other(x), 0.25)
	if g.flip() {
		return g.binary("maximum", x, scaled)
	}
	test := g.call(pick(g, "less", "less_equal"), nil, g.other(x), g.k(0))
	if g.flip() {
		return g.call("where", nil, g.call(pick(g, "greater", "greater_equal"), nil, x, g.k(0)), x, scaled)
	}
	return g.call("where", nil, test, scaled, x)
}

// simplePatterns are chains of operators that cancel or join.
func simplePatterns() map[string]func(g *Gen) relay.Expr {
	return map[string]func(g *Gen) relay.Expr{
		"simplify-inference": func(g *Gen) relay.Expr { return g.get(rows["nn.batch_norm"](g), g.n(3)) },
		"remove-identities": func(g *Gen) relay.Expr {
			x := g.number(1, 4)
			shape := relay.Tensor(x).Shape
			switch g.n(6) {
			case 0:
				return g.reshaped(g.mid(g.reshaped(x, g.factored(shape.Elems())...)), shape...)
			case 1:
				p := g.permutation(len(shape))
				return g.call("transpose", &relay.TransposeAttrs{Axes: g.permutation(len(shape))}, g.mid(g.call("transpose", &relay.TransposeAttrs{Axes: p}, x)))
			case 2:
				return g.call("copy", nil, g.call("squeeze", nil, g.mid(g.call("expand_dims", &relay.ExpandDimsAttrs{Axis: g.axis(len(shape) + 1), NumNewaxis: 1}, x))))
			case 3:
				return g.call("cast", &relay.CastAttrs{DType: relay.Tensor(x).DType, Saturate: true, RoundMode: "up"}, x)
			case 4:
				x = g.real(1, 4)
				return g.div(g.mul(x, g.k(1)), g.k(1))
			}
			return g.get(g.tuple(x, g.unary("negative", x)), g.n(2))
		},
		"remove-copies": (*Gen).turns,
		"fold-constants": func(g *Gen) relay.Expr {
			shape := g.shape(g.n(3))
			k := g.binary("add", g.constant(g.float, shape), g.constant(g.float, shape))
			return g.add(g.unary(pick(g, "tanh", "sigmoid", "floor"), k), g.exactly(g.float, shape))
		},
		"canonicalize":                    (*Gen).canonical,
		"simplify-expr":                   (*Gen).simplifiable,
		"fast-math":                       (*Gen).fast,
		"eliminate-common-subexpressions": (*Gen).twice,
	}
}

func (g *Gen) canonical() relay.Expr {
	x := g.real(1, 4)
	shape := relay.Tensor(x).Shape
	switch g.n(9) {
	case 0:
		return g.call(pick(g, "add", "multiply", "maximum"), nil, g.k(2), x)
	case 1:
		return g.call("where", nil, g.call(pick(g, "less", "less_equal", "equal"), nil, g.k(0.5), x), x, g.k(1))
	case 2:
		return g.sub(x, g.constant(g.float, vector(shape, g.n(len(shape)))))
	case 3:
		return g.div(x, g.k(pick(g, 4, 0.5, -2, 3)))
	case 4:
		return g.call("power", nil, g.unary(pick(g, "abs", "exp", "tanh"), g.clipped(x, -4, 4)), g.k(pick(g, 2, 1, -1, 0.5, -0.5, 3)))
	case 5:
		return g.add(x, g.same(g.float, shape, 0.75))
	case 6:
		a := &relay.ReduceAttrs{Axis: []int{g.axis(len(shape))}, Keepdims: g.flip()}
		return g.div(g.mid(g.call("sum", a, x)), g.k(float64(shape[relay.NormalAxis(a.Axis[0], len(shape))])))
	case 7:
		axis := g.n(len(shape))
		return g.call("nn.prelu", &relay.AxisAttrs{Axis: axis}, x, g.same(g.float, tensor.Shape{shape[axis]}, 0.25))
	}
	return g.div(g.k(1), g.unary("sqrt", g.clipped(x, 0.25, 4)))
}

func (g *Gen) simplifiable() relay.Expr {
	switch g.n(10) {
	case 0:
		x := g.of(integers, 0, 3)
		return g.binary("add", x, g.same(relay.Tensor(x).DType, tensor.Shape{}, pick(g, 0., 1)))
	case 1:
		x := g.real(0, 4)
		return pick(g, g.add, g.sub)(x, g.unary("negative", g.exactly(g.float, relay.Tensor(x).Shape)))
	case 2:
		return g.unary(pick(g, "abs", "negative"), g.unary(pick(g, "negative", "abs"), g.number(0, 4)))
	case 3:
		steps := []string{"floor", "ceil", "round", "trunc", "sign", "nn.relu", "abs"}
		return g.unary(pick(g, steps...), g.unary(pick(g, steps...), g.real(0, 4)))
	case 4:
		x := g.mid(g.call("clip", g.bounds(), g.real(0, 4)))
		return g.call("clip", g.bounds(), pick(g, x, g.unary("nn.relu", x)))
	case 5:
		x := g.of(integers, 0, 3)
		d, name := relay.Tensor(x).DType, pick(g, "maximum", "minimum")
		return g.call(name, nil, g.mid(g.call(pick(g, name, "maximum"), nil, x, g.same(d, tensor.Shape{}, 1))), g.same(d, pick(g, tensor.Shape{}, tensor.Shape{1}), 3))
	case 6:
		cast := func(x relay.Expr, d tensor.DType) relay.Expr {
			return g.mid(g.call("cast", &relay.CastAttrs{DType: d, Saturate: true, RoundMode: "up"}, x))
		}
		x := g.of([]tensor.DType{tensor.Int8, tensor.Uint8, tensor.Int32, tensor.Bool, tensor.Int16, tensor.Uint32}, 0, 3)
		return cast(cast(x, pick(g, tensor.Int32, tensor.Int64, tensor.Float32, tensor.Int8, tensor.Float64, tensor.Uint8)), pick(g, tensor.Int8, tensor.Int32, tensor.Int64, tensor.Uint16, tensor.Bool))
	case 7:
		x := g.number(0, 4)
		test := g.mid(g.call(pick(g, "less", "equal", "greater_equal"), nil, x, g.partner(x)))
		return g.unary("logical_not", test)
	case 8:
		x := g.real(0, 4)
		test := g.exactly(tensor.Bool, relay.Tensor(x).Shape)
		return g.call("where", nil, pick(g, test, g.call("logical_not", nil, test)), g.other(x), x)
	}
	x := g.number(2, 4)
	name := pick(g, "sum", "max", "mean", "prod", "min")
	reduce := func(x relay.Expr, keep bool) relay.Expr {
		return g.mid(g.call(name, &relay.ReduceAttrs{Axis: []int{g.axis(len(relay.Tensor(x).Shape))}, Keepdims: keep}, x))
	}
	keep := g.flip()
	return reduce(reduce(g.clipped(x, -1.5, 1.5), keep), keep != g.miss())
}

func (g *Gen) fast() relay.Expr {
	x := g.real(1, 4)
	shape := relay.Tensor(x).Shape
	switch g.n(4) {
	case 0:
		return g.add(x, g.k(0))
	case 1:
		return g.div(x, g.k(3))
	case 2:
		y := g.clipped(g.exactly(g.float, vector(shape, g.n(len(shape)))), 0.5, 4)
		return g.div(x, g.mid(y))
	}
	return g.div(x, g.unary("sqrt", g.clipped(x, 0.25, 4)))
}

// twice computes the same, or almost the same, two times.
func (g *Gen) twice() relay.Expr {
	x, seed := g.real(1, 4), float64(g.n(3))
	one := func() relay.Expr {
		return g.call(pick(g, "add", "add", "subtract"), nil, g.call("tanh", nil, x), g.same(g.float, tensor.Shape{}, seed))
	}
	return g.mul(one(), one())
}
