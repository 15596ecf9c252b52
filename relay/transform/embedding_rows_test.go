package transform

import (
	"math"

	"github.com/texel-ml/texel/relay"
	"github.com/texel-ml/texel/tensor"
)

// compared is a 1 where x (…, 1) is one of the numbers, on the last axis.
func compared[T tensor.Native](g *graph, x relay.Expr, numbers ...T) relay.Expr {
	return g.cast(g.call("equal", nil, x, of(relay.Tensor(x).DType, tensor.Shape{len(numbers)}, numbers...)), tensor.Float32)
}

func (g *graph) oneHot(x relay.Expr, depth, axis int) relay.Expr {
	return g.call("one_hot", &relay.OneHotAttrs{Depth: depth, Axis: axis}, x, g.scalar(1), g.scalar(0))
}

var embeddingRows = []row{
	{name: "compared", why: "x is compared with every row's number; what is in no row is zero", build: func(g *graph) relay.Expr {
		return g.call("nn.matmul", &relay.MatmulAttrs{}, compared(g, g.typed("x", tensor.Int32, 2, 3, 1), int32(1), int32(2)), g.weights(2, 4))
	}},
	{name: "one_hot", why: "as the operator, and through a reshape", build: func(g *graph) relay.Expr {
		h := g.reshape(g.oneHot(g.typed("x", tensor.Int64, 2, 3), 3, -1), 6, 3)
		return g.tuple(g.call("nn.dense", &relay.DenseAttrs{}, h, g.weights(4, 3)), g.call("nn.batch_matmul", &relay.MatmulAttrs{TransposeB: true}, h, g.weights(4, 3)))
	}},
	{name: "small_integers", why: "for which no number below the first is left", build: func(g *graph) relay.Expr {
		return g.call("nn.matmul", &relay.MatmulAttrs{}, compared(g, g.typed("x", tensor.Uint8, 5, 1), uint8(0), uint8(1), uint8(2)), g.weights(3, 2))
	}},
	{name: "computed_of_the_table", why: "a bias, a number for each column and an activation", build: func(g *graph) relay.Expr {
		rows := g.call("take", &relay.TakeAttrs{Mode: "clip"}, g.weights(5, 3), g.typed("x", tensor.Int32, 2, 2))
		return g.call("nn.gelu", &relay.GeluAttrs{Approximate: "none"}, g.mul(g.bias(rows, 3, -1), g.weights(1, 1, 3)))
	}},
	{name: "numbers_in_disorder", why: "or an axis that is not the last", keeps: true, build: func(g *graph) relay.Expr {
		x := g.typed("x", tensor.Int64, 3, 1)
		h := compared(g, x, int64(2), int64(1), int64(0))
		return g.tuple(g.call("nn.matmul", &relay.MatmulAttrs{}, h, g.weights(3, 4)),
			g.call("nn.matmul", &relay.MatmulAttrs{}, g.oneHot(g.reshape(x, 3), 3, 0), g.weights(3, 4)))
	}},
	{name: "infinite_row", why: "0 · ∞ is no number", keeps: true, build: func(g *graph) relay.Expr {
		w := of(tensor.Float32, tensor.Shape{2, 1}, float32(1), float32(math.Inf(1)))
		return g.call("nn.matmul", &relay.MatmulAttrs{}, compared(g, g.typed("x", tensor.Int32, 3, 1), int32(0), int32(1)), w)
	}},
	{name: "other_readers", why: "of the rows, or of the table; and a number for each place", keeps: true, build: func(g *graph) relay.Expr {
		take := func(table relay.Expr, x relay.Expr) relay.Expr {
			return g.call("take", &relay.TakeAttrs{Mode: "clip"}, table, x)
		}
		x, shared := g.typed("x", tensor.Int32, 2), g.weights(3, 2)
		rows := take(g.weights(4, 2), x)
		return g.tuple(rows, g.exp(rows), g.exp(take(shared, x)), shared, g.mul(take(g.weights(2, 2), x), g.weights(2, 1)))
	}},
}
