package relaygen

import (
	"slices"

	"github.com/texel-ml/texel/relay"
	"github.com/texel-ml/texel/tensor"
)

// normPatterns are normalisations that are written out.
func normPatterns() map[string]func(g *Gen) relay.Expr {
	return map[string]func(g *Gen) relay.Expr{
		"recognize-layer-norm": func(g *Gen) relay.Expr {
			x := g.real(2, 4)
			axis := len(relay.Tensor(x).Shape) - 1
			if g.one(4) {
				axis = g.n(axis + 1)
			}
			return g.normOver(x, axis, axis)
		},
		"recognize-instance-norm": func(g *Gen) relay.Expr {
			x := g.planes()
			if g.flip() {
				return g.normOver(x, 1, 2, 3)
			}
			return g.normOver(x, 3, 1, 2)
		},
		"recognize-group-norm": (*Gen).groupNorm,
		"recognize-softmax":    (*Gen).softmax,
		"recognize-rms-norm": func(g *Gen) relay.Expr {
			x := g.real(2, 4)
			axis := g.n(len(relay.Tensor(x).Shape))
			v := g.add(g.meanOver(g.squared(g.other(x)), axis), g.same(g.float, tensor.Shape{}, pick(g, 1e-5, 1e-3)))
			return g.mul(g.overRoot(x, v), g.vectorAlong(x, axis))
		},
	}
}

// meanOver is the mean over axes that are kept, or rarely over others.
func (g *Gen) meanOver(x relay.Expr, axes ...int) relay.Expr {
	rank := len(relay.Tensor(x).Shape)
	if g.miss() {
		axes = []int{g.n(rank)}
	}
	axes = slices.Clone(axes)
	for i := range axes {
		axes[i] = g.signed(axes[i], rank)
	}
	return g.mid(g.call("mean", &relay.ReduceAttrs{Axis: axes, Keepdims: true}, x))
}

func (g *Gen) squared(x relay.Expr) relay.Expr {
	if g.flip() {
		return g.mid(g.call("power", nil, x, g.k(2)))
	}
	return g.mul(x, g.other(x))
}

// overRoot is d / √v, in one of four ways.
func (g *Gen) overRoot(d, v relay.Expr) relay.Expr {
	switch g.n(4) {
	case 0:
		return g.div(d, g.unary("sqrt", v))
	case 1:
		return g.mul(d, g.unary("rsqrt", v))
	case 2:
		return g.mul(d, g.unary("reciprocal", g.unary("sqrt", v)))
	}
	return g.mul(d, g.div(g.k(1), g.unary("sqrt", v)))
}

// scaledAlong multiplies by a constant along the last axis, or rarely another, and adds one.
func (g *Gen) scaledAlong(y relay.Expr, axis int) relay.Expr {
	if !g.one(4) {
		y = g.mul(y, g.vectorAlong(y, axis))
	}
	if !g.one(4) {
		y = g.add(y, g.vectorAlong(y, axis))
	}
	return y
}

// normOver normalises x over axes, with scale and offset along axis, as one quotient or as TensorFlow writes it.
func (g *Gen) normOver(x relay.Expr, axis int, axes ...int) relay.Expr {
	mean := g.meanOver(g.other(x), axes...)
	d := g.sub(x, mean)
	variance := g.meanOver(g.squared(g.other(d)), axes...)
	epsilon := pick(g, 1e-5, 1e-3)
	if g.one(3) { // as JAX writes it, where it is not near 0
		variance = g.sub(g.meanOver(g.squared(g.other(x)), axes...), g.squared(g.other(mean)))
		epsilon = 0.5
		if g.flip() {
			variance = pick(g, g.unary("nn.relu", variance), g.mid(g.call("clip", &relay.ClipAttrs{AMin: 0, AMax: 0.25}, variance)))
		}
	}
	v := g.add(variance, g.same(g.float, tensor.Shape{}, epsilon))
	if g.flip() {
		return g.scaledAlong(g.overRoot(d, v), axis)
	}
	s := g.unary("rsqrt", v)
	if g.flip() {
		s = g.mul(s, g.vectorAlong(x, axis))
	}
	if g.one(3) {
		return g.mul(d, s)
	}
	shift := g.mul(g.other(mean), s)
	if g.flip() {
		return g.sub(g.mul(x, s), shift)
	}
	return g.add(g.mul(x, s), g.sub(g.vectorAlong(x, axis), shift))
}

// groupNorm normalises the rows that groups of channels are, without or with a scale inside.
func (g *Gen) groupNorm() relay.Expr {
	groups, each := g.from(1, 3), g.from(1, 3)
	n, h, w := g.from(1, 2), g.from(1, 3), g.from(2, 3)
	x := g.exactly(g.float, tensor.Shape{n, groups * each, h, w})
	one, zero := g.same(g.float, tensor.Shape{groups}, 1), g.same(g.float, tensor.Shape{groups}, 0)
	a := &relay.NormAttrs{Axis: 1, Epsilon: g.epsilon(), Scale: g.flip(), Center: g.flip()}
	name, rows := "nn.instance_norm", []int{n, groups, each * h * w}
	if g.flip() {
		name, a.Axis = "nn.layer_norm", len(rows)-1
		if g.flip() {
			rows, a.Axis = []int{n * groups, each * h * w}, 1
		}
		one, zero = g.same(g.float, tensor.Shape{each * h * w}, 1), g.same(g.float, tensor.Shape{each * h * w}, 0)
	}
	if g.miss() {
		one = g.constant(g.float, relay.Tensor(one).Shape)
	}
	y := g.mid(g.call(name, a, g.mid(g.reshaped(x, rows...)), one, zero))
	back := []int{n, groups * each, h, w}
	if g.miss() {
		back = []int{n, groups * each, w, h}
	}
	return g.scaledAlong(g.reshaped(y, back...), 1)
}

// softmax is one, its logarithm or that of the sum, with the maximum subtracted or without.
func (g *Gen) softmax() relay.Expr {
	x := g.clipped(g.real(2, 3), -4, 4)
	rank := len(relay.Tensor(x).Shape)
	axes := []int{g.n(rank)}
	if g.miss() {
		axes = g.some(rank)
	}
	reduce := func(name string, x relay.Expr) relay.Expr {
		over := axes
		if g.miss() {
			over = []int{g.n(rank)}
		}
		return g.mid(g.call(name, &relay.ReduceAttrs{Axis: over, Keepdims: !g.miss() || rank > 2}, x))
	}
	d := x
	var most relay.Expr
	if g.flip() {
		most = reduce("max", g.other(x))
		if _, ok := relay.BroadcastShape(relay.Tensor(most).Shape, relay.Tensor(x).Shape); !ok {
			return most
		}
		d = g.sub(x, most)
	}
	e := g.unary("exp", d)
	s := reduce("sum", g.other(e))
	if _, ok := relay.BroadcastShape(relay.Tensor(s).Shape, relay.Tensor(e).Shape); !ok {
		return s
	}
	switch g.n(4) {
	case 0:
		return g.div(e, s)
	case 1:
		return g.mul(e, g.unary("reciprocal", s))
	case 2:
		return g.sub(g.other(d), g.unary("log", s))
	}
	if most == nil {
		return g.unary("log", s)
	}
	return g.binary("add", most, g.unary("log", s))
}
