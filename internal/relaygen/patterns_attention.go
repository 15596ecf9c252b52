package relaygen

import (
	"github.com/texel-ml/texel/relay"
	"github.com/texel-ml/texel/tensor"
)

// attentionPatterns are softmax(Q·Kᵀ)·V that is written out.
func attentionPatterns() map[string]func(g *Gen) relay.Expr {
	return map[string]func(g *Gen) relay.Expr{"recognize-attention": (*Gen).attention}
}

// matrices is a value of matrices, turned or not.
func (g *Gen) matrices(batch tensor.Shape, rows, columns int, turned bool) relay.Expr {
	if turned {
		rows, columns = columns, rows
	}
	return g.clipped(g.exactly(g.float, append(batch.Clone(), rows, columns)), -2, 2)
}

// scaledMaybe is x with up to two constant factors.
func (g *Gen) scaledMaybe(x relay.Expr) relay.Expr {
	for range pick(g, 0, 1, 0, 2) {
		x = g.times(x, pick(g, 0.5, 0.25, -0.75))
	}
	return x
}

// attention has heads as batch axes, factors before and behind the first product, and a mask; about one time in four the scores are
// read elsewhere, the softmax runs along another axis, or the mask is larger than the scores.
func (g *Gen) attention() relay.Expr {
	batch := tensor.Shape{}
	for range g.n(3) {
		batch = append(batch, g.from(1, 3))
	}
	m, n, d, e := g.from(3, 6), g.from(1, 5), g.from(1, 3), g.from(1, 3)
	inner := &relay.MatmulAttrs{TransposeA: g.one(4), TransposeB: g.flip()}
	outer := &relay.MatmulAttrs{TransposeB: g.one(4)}
	keys := batch
	if g.one(6) && len(batch) > 0 {
		keys = batch[1:]
	}
	q := g.scaledMaybe(g.matrices(batch, m, d, inner.TransposeA))
	k := g.scaledMaybe(g.matrices(keys, n, d, !inner.TransposeB))
	scores := g.scaledMaybe(g.mid(g.call("nn.matmul", inner, q, k)))
	if g.flip() {
		mask := append(batch.Clone(), m, n)
		for i := range mask {
			if g.flip() {
				mask[i] = 1
			}
		}
		mask = mask[g.n(len(mask)):]
		if g.miss() {
			mask = append(tensor.Shape{2}, append(batch.Clone(), m, n)...)
		}
		scores = g.add(scores, g.leaf(g.float, mask))
		batch = relay.Tensor(scores).Shape[:len(relay.Tensor(scores).Shape)-2]
	}
	rank := len(relay.Tensor(scores).Shape)
	axis := rank - 1
	if g.miss() {
		axis = g.n(rank)
	}
	weights := g.mid(g.call("nn.softmax", &relay.AxisAttrs{Axis: g.signed(axis, rank)}, scores))
	return g.call("nn.matmul", outer, weights, g.matrices(batch, n, e, outer.TransposeB))
}

// attentionRow is the operator.
func (g *Gen) attentionRow() relay.Expr {
	a := &relay.AttentionAttrs{Scale: pick(g, 1, 0.5, -0.25), TransposeQ: g.one(4), TransposeK: g.one(3), TransposeV: g.one(4)}
	batch := g.shape(g.n(3))
	m, n, d, e := g.from(1, 5), g.from(1, 5), g.from(1, 3), g.from(1, 3)
	q, k := g.matrices(batch, m, d, a.TransposeQ), g.matrices(batch[g.n(len(batch)+1):], n, d, a.TransposeK)
	mask := pick(g, tensor.Shape{}, tensor.Shape{n}, tensor.Shape{m, 1}, append(batch.Clone(), m, n))
	return g.call("nn.attention", a, q, k, g.matrices(batch, n, e, a.TransposeV), g.leaf(g.float, mask))
}
