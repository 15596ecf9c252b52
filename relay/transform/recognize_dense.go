package transform

import (
	"context"

	"github.com/texel-ml/texel/diag"
	"github.com/texel-ml/texel/relay"
)

// RecognizeDense turns a matrix product with a constant matrix on the right into nn.dense, whose weight is packed at
// compile time:
//
//	nn.matmul(a, B)  →  nn.dense(a, Bᵀ)    a of rank 2 or more, B (K, N) constant
func RecognizeDense(_ context.Context, m *relay.Module, o *Options) (*relay.Module, error) {
	body, err := relay.Rewrite(m.Main(), func(_, e relay.Expr) (relay.Expr, error) {
		c, ok := e.(*relay.Call)
		if !ok || c.Op == nil {
			return e, nil
		}
		a, ok := c.Attrs.(*relay.MatmulAttrs)
		if !ok || a.TransposeA || len(relay.Tensor(c.Args[0]).Shape) < 2 {
			return e, nil
		}
		k, ok := c.Args[1].(*relay.Constant)
		if !ok || len(k.Value.Shape) != 2 {
			return e, nil
		}
		weight := relay.Expr(k)
		if !a.TransposeB {
			t, err := relay.NewCall(o.Ops.Lookup("transpose"), []relay.Expr{k}, &relay.TransposeAttrs{Axes: []int{1, 0}}, c.Pos())
			if err != nil {
				return nil, err
			}
			weight = t
		}
		dense, err := relay.NewCall(o.Ops.Lookup("nn.dense"), []relay.Expr{c.Args[0], weight}, &relay.DenseAttrs{OutDType: a.OutDType}, c.Pos())
		if err != nil {
			return nil, err
		}
		o.Notes.Add(diag.Rewrote, "recognize-dense", nodeName(c), "%s with a constant matrix is nn.dense", c.Op.Name)
		return dense, nil
	})
	if err != nil {
		return nil, err
	}
	return m.WithMain(body.(*relay.Function)), nil
}
