package transform

import (
	"github.com/texel-ml/texel/cost"
	"github.com/texel-ml/texel/relay"
	"github.com/texel-ml/texel/tensor"
)

// narrowIsDear prices convolutions and dense layers by the vectors of eight channels that they begin.
func narrowIsDear(c *relay.Call, _ tensor.DType) []cost.Candidate {
	switch c.Op.Name {
	case "nn.conv2d":
		return []cost.Candidate{{Algorithm: "direct", Data: "NHWC", Kernel: "HWIO", Out: "NHWC", Cost: float64((relay.Tensor(c).Shape[1] + 7) / 8)}}
	case "nn.dense":
		shape := relay.Tensor(c).Shape
		return []cost.Candidate{{Algorithm: "direct", Kernel: "NK8n", Cost: float64((shape[len(shape)-1] + 7) / 8)}}
	}
	return nil
}

var parallelRows = []row{
	{name: "narrow_convolutions", why: "with the biases and the activation that all have", build: func(g *graph) relay.Expr {
		x := g.input("x", 1, 3, 4, 4)
		one := func(n int) relay.Expr { return g.call("nn.relu", nil, g.bias(g.conv(x, n, 3, 3, 1, 1), n, 1)) }
		return g.tuple(one(2), one(3), g.call("tanh", nil, one(1)))
	}},
	{name: "joined_again", why: "their slices are joined in the same order: nothing is left of them", build: func(g *graph) relay.Expr {
		x := g.input("x", 1, 3, 4, 4)
		return g.join(1, x, g.conv(x, 2, 3, 1, 0, 1), g.conv(x, 4, 3, 1, 0, 1))
	}},
	{name: "dense_layers", why: "the products of queries, keys and values", build: func(g *graph) relay.Expr {
		x := g.input("x", 2, 5, 3)
		one := func() relay.Expr { return g.bias(g.call("nn.dense", nil, x, g.weights(2, 3)), 2, 2) }
		return g.mul(one(), g.add(one(), one()))
	}},
	{name: "wide_enough", why: "two of eight channels fill their vectors already, and slices are copies", keeps: true, build: func(g *graph) relay.Expr {
		x := g.input("x", 1, 3, 4, 4)
		return g.tuple(g.conv(x, 8, 3, 3, 1, 1), g.conv(x, 8, 3, 3, 1, 1))
	}},
	{name: "other_windows", why: "windows of other sizes, or strides, are another operator", keeps: true, build: func(g *graph) relay.Expr {
		x := g.input("x", 1, 3, 4, 4)
		return g.tuple(g.conv(x, 2, 3, 3, 1, 1), g.conv(x, 2, 3, 1, 0, 1), g.conv(x, 2, 3, 3, 0, 1))
	}},
	{name: "other_operands", why: "different operands have nothing in common", keeps: true, build: func(g *graph) relay.Expr {
		return g.tuple(g.conv(g.input("x", 1, 3, 4, 4), 2, 3, 3, 1, 1), g.conv(g.input("z", 1, 3, 4, 4), 2, 3, 3, 1, 1))
	}},
}
