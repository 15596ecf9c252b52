package transform

import (
	"context"

	"github.com/texel-ml/texel/relay"
)

// RecognizeDense turns a matrix product with a constant matrix on the right into nn.dense, whose weight is packed at
// compile time:
//
//	nn.matmul(a, B)  →  nn.dense(a, Bᵀ)    a of rank 2 or more, B (K, N) constant
func RecognizeDense(_ context.Context, m *relay.Module, o *Options) (*relay.Module, error) {
	return rewrite("recognize-dense", m, o, func(r *rewriter, c *relay.Call) (relay.Expr, error) {
		a, ok := c.Attrs.(*relay.MatmulAttrs)
		if !ok || a.TransposeA || len(relay.Tensor(c.Args[0]).Shape) < 2 {
			return nil, nil
		}
		k, ok := c.Args[1].(*relay.Constant)
		if !ok || len(k.Value.Shape) != 2 {
			return nil, nil
		}
		weight := relay.Expr(k)
		if !a.TransposeB {
			t, err := r.call("transpose", &relay.TransposeAttrs{Axes: []int{1, 0}}, k)
			if err != nil {
				return nil, err
			}
			weight = t
		}
		r.note("%s with a constant matrix is nn.dense", c.Op.Name)
		return r.call("nn.dense", &relay.DenseAttrs{OutDType: a.OutDType}, c.Args[0], weight)
	})
}
