package texel

import (
	"math"

	"github.com/texel-ml/texel/internal/numtest"
	"github.com/texel-ml/texel/relay"
	"github.com/texel-ml/texel/tensor"
)

// attention bounds the error of softmax(scale·Q·Kᵀ + mask)·V with N keys of D elements. An error s of the scores changes the
// weights by 2·s in all, as in a softmax, and by 2 at most; the result is a mean of V's elements:
//
//	s = Relative(d, D, 1)·(|scale|·√D·|q|·|k| + |mask|) + |scale|·√D·(|k|·error(q) + |q|·error(k)) + error(mask)
//	error(out) = |v|·(min(2·s, 2) + Relative(d, N, 3)) + error(v)
//
// A mask of large finite numbers takes keys away as -∞ does, but makes s large: nothing but 2·|v| is known then.
func (b *deviation) attention(c *relay.Call, a *relay.AttentionAttrs, d tensor.DType) float64 {
	depth, keys := attended(c, a)
	q, k, v, mask := c.Args[0], c.Args[1], c.Args[2], c.Args[3]
	root := math.Abs(a.Scale) * math.Sqrt(float64(depth))
	s := numtest.Relative(d, depth, 1)*(root*b.size[q]*b.size[k]+b.size[mask]) + root*(b.size[k]*b.err[q]+b.size[q]*b.err[k]) + b.err[mask]
	if math.IsNaN(s) { // 0 · ∞
		s = math.Inf(1)
	}
	return b.size[v]*(math.Min(2*s, 2)+numtest.Relative(d, keys, 3)) + b.err[v]
}
