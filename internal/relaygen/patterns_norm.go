package relaygen

import (
	"github.com/texel-ml/texel/relay"
	"github.com/texel-ml/texel/tensor"
)

// normPatterns are normalisations that are written out.
func normPatterns() map[string]func(g *Gen) relay.Expr {
	return map[string]func(g *Gen) relay.Expr{"recognize-layer-norm": (*Gen).layerNorm}
}

// meanOver is the mean over axes that are kept, or rarely over others.
func (g *Gen) meanOver(x relay.Expr, axes ...int) relay.Expr {
	rank := len(relay.Tensor(x).Shape)
	if g.miss() {
		axes = []int{g.n(rank)}
	}
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

func (g *Gen) layerNorm() relay.Expr {
	x := g.real(2, 4)
	rank := len(relay.Tensor(x).Shape)
	axis := rank - 1
	if g.one(4) {
		axis = g.n(rank)
	}
	d := g.sub(x, g.meanOver(g.other(x), axis))
	if relay.Tensor(d).Shape.Elems() != relay.Tensor(x).Shape.Elems() {
		d = x
	}
	v := g.add(g.meanOver(g.squared(g.other(d)), axis), g.same(g.float, tensor.Shape{}, pick(g, 1e-5, 1e-3)))
	return g.scaledAlong(g.overRoot(d, v), axis)
}
