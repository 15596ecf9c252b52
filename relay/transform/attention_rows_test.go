package transform

import (
	"math"

	"github.com/texel-ml/texel/relay"
	"github.com/texel-ml/texel/tensor"
)

// heads are the queries, keys and values of two heads with 5 places, of 4 elements.
func (g *graph) heads() (q, k, v relay.Expr) {
	return g.input("q", 1, 2, 5, 4), g.input("k", 1, 2, 5, 4), g.input("v", 1, 2, 5, 4)
}

// scores is q·kᵀ.
func (g *graph) scores(q, k relay.Expr) relay.Expr {
	return g.call("nn.matmul", &relay.MatmulAttrs{TransposeB: true}, q, k)
}

// attend is softmax(scores)·v, along an axis.
func (g *graph) attend(scores, v relay.Expr, axis int) relay.Expr {
	return g.call("nn.matmul", nil, g.call("nn.softmax", &relay.AxisAttrs{Axis: axis}, scores), v)
}

var attentionRows = []row{
	{name: "as_pytorch_writes_it", why: "the scores over the root of the number of elements", build: func(g *graph) relay.Expr {
		q, k, v := g.heads()
		return g.attend(g.div(g.scores(q, k), g.scalar(2)), v, -1)
	}},
	{name: "scaled_operands", why: "queries and keys by the fourth root, as torch.onnx and ONNX's Attention write it, and a mask of the keys", build: func(g *graph) relay.Expr {
		q, k, v := g.heads()
		s := g.scores(g.mul(q, g.scalar(math.Sqrt2/2)), g.mul(k, g.scalar(math.Sqrt2/2)))
		return g.attend(g.add(g.input("mask", 1, 1, 1, 5), s), v, 3)
	}},
	{name: "turned", why: "operands as the products read them: queries and values in columns, keys side by side", build: func(g *graph) relay.Expr {
		s := g.call("nn.matmul", &relay.MatmulAttrs{TransposeA: true}, g.input("q", 4, 5), g.input("k", 4, 6))
		return g.call("nn.matmul", &relay.MatmulAttrs{TransposeB: true}, g.call("nn.softmax", nil, s), g.input("v", 3, 6))
	}},
	{name: "every_factor", why: "of queries, of keys and of scores, and shared keys", build: func(g *graph) relay.Expr {
		s := g.scores(g.mul(g.input("q", 2, 5, 4), g.scalar(0.5)), g.div(g.input("k", 6, 4), g.scalar(4)))
		return g.attend(g.add(g.mul(g.div(s, g.scalar(2)), g.scalar(3)), g.input("mask", 5, 6)), g.input("v", 2, 6, 3), -1)
	}},
	{name: "shared_factor", why: "a factor that others read stays where it is", build: func(g *graph) relay.Expr {
		q, k, v := g.heads()
		scaled := g.mul(q, g.scalar(0.5))
		return g.tuple(g.attend(g.scores(scaled, k), v, -1), scaled)
	}},
	{name: "shared_scores", why: "what others read must exist: the scores before the mask, behind it, and the weights", keeps: true, build: func(g *graph) relay.Expr {
		q, k, v := g.heads()
		s := g.scores(q, k)
		masked := g.add(g.scores(v, k), g.input("mask", 5, 5))
		w := g.call("nn.softmax", nil, g.scores(k, q))
		return g.tuple(g.attend(s, v, -1), s, g.attend(masked, v, -1), masked, g.call("nn.matmul", nil, w, v), w)
	}},
	{name: "along_queries", why: "a softmax over the queries", keeps: true, build: func(g *graph) relay.Expr {
		q, k, v := g.heads()
		return g.attend(g.scores(q, k), v, -2)
	}},
	{name: "larger_mask", why: "the mask, or the values, make more batches than there are products", keeps: true, build: func(g *graph) relay.Expr {
		q, k, v := g.heads()
		return g.tuple(g.attend(g.add(g.scores(q, k), g.input("mask", 3, 1, 5, 5)), v, -1), g.attend(g.scores(q, k), g.input("w", 3, 2, 5, 4), -1))
	}},
	{name: "scaled_mask", why: "the mask is scaled too", keeps: true, build: func(g *graph) relay.Expr {
		q, k, v := g.heads()
		return g.attend(g.mul(g.add(g.scores(q, k), g.input("mask", 5, 5)), g.scalar(0.5)), v, -1)
	}},
	{name: "factor_of_places", why: "a factor that differs from place to place", keeps: true, build: func(g *graph) relay.Expr {
		q, k, v := g.heads()
		return g.attend(g.mul(g.scores(q, k), g.input("f", 5)), v, -1)
	}},
	{name: "few_queries", why: "scores of three rows, or of four with 17 elements a key, take less than panels", keeps: true, build: func(g *graph) relay.Expr {
		return g.tuple(g.attend(g.scores(g.input("q", 3, 4), g.input("k", 5, 4)), g.input("v", 5, 4), -1),
			g.attend(g.scores(g.input("p", 4, 13), g.input("l", 5, 13)), g.input("w", 5, 4), -1))
	}},
	{name: "constant_operands", why: "a product with a constant is a dense layer", keeps: true, build: func(g *graph) relay.Expr {
		table := of(tensor.Float32, tensor.Shape{5, 4}, slicesOf(20)...)
		return g.tuple(g.attend(g.scores(g.input("q", 6, 4), table), g.input("v", 5, 4), -1), g.attend(g.scores(g.input("p", 6, 4), g.input("k", 5, 4)), table, -1))
	}},
	{name: "on_a_gpu", why: "each product has a kernel, and its scores are in memory anyway", keeps: true, arguments: 16, build: func(g *graph) relay.Expr {
		q, k, v := g.heads()
		return g.attend(g.scores(q, k), v, -1)
	}},
}

// slicesOf counts to n in steps of an eighth.
func slicesOf(n int) []float32 {
	list := make([]float32, n)
	for i := range list {
		list[i] = float32(i) / 8
	}
	return list
}
