package relaygen

import (
	"fmt"

	"github.com/texel-ml/texel/relay"
	"github.com/texel-ml/texel/tensor"
)

// structure draws what is not an operator: a let, a branch, a function that is called, a region, or a field of a tuple.
func (g *Gen) structure() {
	switch g.n(5) {
	case 0:
		g.let()
	case 1:
		g.keep(g.branch())
	case 2:
		g.keep(g.function())
	case 3:
		if g.depth < 2 {
			g.keep(g.region())
		}
	default:
		x, y := g.movable(0, 4), g.movable(0, 4)
		g.keep(g.get(g.tuple(x, y), g.n(2)))
	}
}

// let binds a value to a name for all that is made from here on.
func (g *Gen) let() {
	value := g.movable(0, 4)
	v := relay.NewVar(fmt.Sprintf("v%d", len(g.wrap)), value.Type(), g.pos("let"))
	g.wrap = append(g.wrap, func(body relay.Expr) relay.Expr { return relay.NewLet(v, value, body, g.pos("let")) })
	g.values = append(g.values, v)
}

// branch takes one of two values by a condition.
func (g *Gen) branch() relay.Expr {
	cond := g.exactly(tensor.Bool, tensor.Shape{})
	x := g.real(0, 4)
	then, otherwise := g.call("tanh", nil, x), g.call("negative", nil, x)
	e, err := relay.NewIf(cond, then, otherwise, g.pos("if"))
	if err != nil {
		panic(fmt.Sprintf("relaygen: %v", err))
	}
	return e
}

// function applies a function of its own, one or two times.
func (g *Gen) function() relay.Expr {
	x := g.real(0, 3)
	p, q := relay.NewVar("p", x.Type(), g.pos("p")), relay.NewVar("q", x.Type(), g.pos("q"))
	var body relay.Expr = g.call("add", nil, g.call("sigmoid", nil, p), q)
	pair := g.flip()
	if pair {
		body = g.tuple(body, g.call("multiply", nil, p, q))
	}
	var attrs map[string]string
	if g.flip() {
		attrs = map[string]string{"Composite": "texel.test"}
	}
	f := relay.NewFunction([]*relay.Var{p, q}, body, g.flip(), attrs, g.pos("fn"))
	apply := func(a, b relay.Expr) relay.Expr {
		c, err := relay.NewCallFn(f, []relay.Expr{a, b}, g.pos("call"))
		if err != nil {
			panic(fmt.Sprintf("relaygen: %v", err))
		}
		return c
	}
	first := apply(x, x)
	if pair {
		first = g.get(first, g.n(2))
	}
	if g.flip() {
		return first
	}
	return apply(first, x)
}
