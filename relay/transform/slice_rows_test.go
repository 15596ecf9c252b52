package transform

import "github.com/texel-ml/texel/relay"

var sliceRows = []row{
	{name: "two_halves_of_the_channels", why: "each part is a slice of the operand", build: func(g *graph) relay.Expr {
		s := g.call("split", &relay.SplitAttrs{Indices: []int{3}, Axis: 1}, g.input("x", 1, 8, 2, 2))
		return g.tuple(g.get(s, 0), g.call("nn.relu", nil, g.get(s, 1)))
	}},
	{name: "a_tuple_that_is_the_result", why: "the parts are not taken one by one, so nothing is known of their readers", keeps: true, build: func(g *graph) relay.Expr {
		return g.call("split", &relay.SplitAttrs{Indices: []int{1}, Axis: -1}, g.input("x", 2, 3))
	}},
}

var denseRows = []row{
	{name: "a_constant_matrix_on_the_right", why: "its transpose is a weight of nn.dense", build: func(g *graph) relay.Expr {
		return g.call("nn.matmul", &relay.MatmulAttrs{}, g.input("x", 2, 5, 3), g.weights(3, 4))
	}},
	{name: "a_constant_that_is_transposed_already", why: "it is the weight itself", build: func(g *graph) relay.Expr {
		return g.call("nn.matmul", &relay.MatmulAttrs{TransposeB: true}, g.input("x", 5, 3), g.weights(4, 3))
	}},
	{name: "two_computed_matrices", why: "there is no weight", keeps: true, build: func(g *graph) relay.Expr {
		return g.call("nn.matmul", &relay.MatmulAttrs{}, g.input("x", 5, 3), g.input("y", 3, 4))
	}},
	{name: "a_batch_of_constant_matrices", why: "a weight has two axes", keeps: true, build: func(g *graph) relay.Expr {
		return g.call("nn.matmul", &relay.MatmulAttrs{}, g.input("x", 2, 5, 3), g.weights(2, 3, 4))
	}},
}
