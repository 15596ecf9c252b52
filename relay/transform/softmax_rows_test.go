package transform

import "github.com/texel-ml/texel/relay"

func (g *graph) most(x relay.Expr, keep bool, axes ...int) relay.Expr {
	return g.call("max", &relay.ReduceAttrs{Axis: axes, Keepdims: keep}, x)
}

func (g *graph) exp(x relay.Expr) relay.Expr { return g.call("exp", nil, x) }
func (g *graph) log(x relay.Expr) relay.Expr { return g.call("log", nil, x) }

var softmaxRows = []row{
	{name: "softmax", why: "exponentials below the maximum over their sum", build: func(g *graph) relay.Expr {
		x := g.input("x", 2, 5)
		e := g.exp(g.sub(x, g.most(x, true, 1)))
		return g.div(e, g.sum(e, true, -1))
	}},
	{name: "without_maximum", why: "which the operator subtracts by itself", build: func(g *graph) relay.Expr {
		e := g.exp(g.input("x", 2, 5))
		return g.mul(g.call("reciprocal", nil, g.sum(e, true, 0)), e)
	}},
	{name: "log_softmax", why: "with the maximum, and of logsumexp", build: func(g *graph) relay.Expr {
		x := g.input("x", 2, 5)
		d := g.sub(x, g.most(x, true, 1))
		return g.tuple(g.sub(d, g.log(g.sum(g.exp(d), true, 1))), g.sub(x, g.call("logsumexp", &relay.ReduceAttrs{Axis: []int{0}, Keepdims: true}, x)))
	}},
	{name: "log_sum_exp", why: "over two axes, with and without the maximum", build: func(g *graph) relay.Expr {
		x := g.input("x", 2, 5, 3)
		m := g.most(x, true, 0, 2)
		return g.tuple(g.add(m, g.log(g.sum(g.exp(g.sub(x, m)), true, 0, 2))), g.log(g.sum(g.exp(x), false, 0, 1)))
	}},
	{name: "maximum_of_all", why: "the maximum over other axes may be far above: it stays subtracted", build: func(g *graph) relay.Expr {
		x := g.input("x", 2, 5)
		e := g.exp(g.sub(x, g.most(x, true, 0, 1)))
		return g.div(e, g.sum(e, true, 1))
	}},
	{name: "sum_of_others", why: "over the sum of something else, or over two axes", keeps: true, build: func(g *graph) relay.Expr {
		x, z := g.input("x", 2, 5), g.input("z", 2, 5)
		return g.tuple(g.div(g.exp(x), g.sum(g.exp(z), true, 1)), g.div(g.exp(x), g.sum(g.exp(x), true, 0, 1)))
	}},
	{name: "sum_of_rows", why: "a sum that is broadcast along another axis", keeps: true, build: func(g *graph) relay.Expr {
		e := g.exp(g.input("x", 3, 3))
		return g.div(e, g.sum(e, false, 1))
	}},
}
