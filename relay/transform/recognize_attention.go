package transform

import (
	"context"
	"math"

	"github.com/texel-ml/texel/relay"
	"github.com/texel-ml/texel/target"
	"github.com/texel-ml/texel/tensor"
)

// RecognizeAttention finds attention that is written as two products with a softmax between them, for a processor.
//
//	softmax(Q·Kᵀ)·V                     →  attention(Q, K, V, 0, scale=1)
//	softmax((a·Q)·(b·Kᵀ)·c + mask)·V    →  attention(Q, K, V, mask, scale=a·b·c)
//
// a, b and c are factors or divisors of one element, each of which may be missing; mask does not make the scores larger. Nobody
// else reads the scores, which then need not exist. A few queries have few scores, and stay as they are. On a GPU all does.
func RecognizeAttention(_ context.Context, m *relay.Module, o *Options) (*relay.Module, error) {
	if o.Target != nil && o.Target.Kind == target.GPU {
		return m, nil
	}
	return rewrite("recognize-attention", m, o, attentionOf)
}

// fewQueries reports whether m queries are too few for a register tile, or have scores that take less than the panels of keys of d
// elements and of values of e: these are d + e elements for each key, the scores and the weights 2·m, and copies to the order of
// heads, which panels replace, as much again.
func fewQueries(m, d, e int) bool { return m < 4 || 4*m < d+e }

func attentionOf(r *rewriter, c *relay.Call) (relay.Expr, error) {
	outer, ok := computedProduct(c)
	if !ok || outer.TransposeA {
		return nil, nil
	}
	weights, ok := is(c.Args[0], "nn.softmax")
	if !ok || !r.single(weights) {
		return nil, nil
	}
	scores, rank := relay.Tensor(weights).Shape, len(relay.Tensor(weights).Shape)
	out := relay.Tensor(c).Shape
	if relay.NormalAxis(weights.Attrs.(*relay.AxisAttrs).Axis, rank) != rank-1 || len(out) != rank || !out[:rank-2].Equal(scores[:rank-2]) ||
		scores[rank-1] == 0 {
		return nil, nil
	}
	product, mask, scale := r.scoresOf(weights.Args[0])
	if product == nil {
		return nil, nil
	}
	inner := product.Attrs.(*relay.MatmulAttrs)
	queries := relay.Tensor(product.Args[0]).Shape
	depth := queries[len(queries)-1]
	if inner.TransposeA {
		depth = queries[len(queries)-2]
	}
	if fewQueries(scores[rank-2], depth, out[rank-1]) {
		return nil, nil
	}
	q, a := r.factorOf(product.Args[0])
	k, b := r.factorOf(product.Args[1])
	scale *= a * b
	if math.IsNaN(scale) || math.IsInf(scale, 0) {
		return nil, nil
	}
	if mask == nil {
		mask = r.constantAs(relay.Tensor(c).DType, tensor.Shape{}, []float64{0})
	}
	r.note("nn.attention was written as several operators")
	return r.call("nn.attention", &relay.AttentionAttrs{Scale: scale, TransposeQ: inner.TransposeA, TransposeK: !inner.TransposeB,
		TransposeV: outer.TransposeB}, q, k, c.Args[1], mask)
}

// computedProduct matches a product of matrices of floats of one type, of which the right ones are no constant.
func computedProduct(e relay.Expr) (*relay.MatmulAttrs, bool) {
	c, ok := is(e, "nn.matmul")
	if !ok || isConstant(c.Args[1]) {
		return nil, false
	}
	d := relay.Tensor(c).DType
	return c.Attrs.(*relay.MatmulAttrs), d.IsFloat() && relay.Tensor(c.Args[0]).DType == d && relay.Tensor(c.Args[1]).DType == d
}

// scoresOf matches product · scale + mask, of which nobody else reads anything; mask is nil where there is none.
func (r *rewriter) scoresOf(e relay.Expr) (product *relay.Call, mask relay.Expr, scale float64) {
	if p, k := r.scaledProduct(e); p != nil {
		return p, nil, k
	}
	commuted(e, "add", func(x, y relay.Expr) bool {
		if !r.single(e) || !sameShape(x, e) {
			return false
		}
		product, scale = r.scaledProduct(x)
		mask = y
		return product != nil
	})
	return product, mask, scale
}

// scaledProduct matches product · scale.
func (r *rewriter) scaledProduct(e relay.Expr) (*relay.Call, float64) {
	x, scale := r.factorOf(e)
	if _, ok := computedProduct(x); !ok || !r.single(x) {
		return nil, 0
	}
	return x.(*relay.Call), scale
}

// factorOf takes the constant factors off a value that is read once.
func (r *rewriter) factorOf(e relay.Expr) (x relay.Expr, factor float64) {
	factor = 1
	for r.single(e) {
		y, k, ok := times(e)
		if !ok {
			break
		}
		e, factor = y, factor*k
	}
	return e, factor
}
