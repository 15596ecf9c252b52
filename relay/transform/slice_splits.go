package transform

import (
	"context"

	"github.com/texel-ml/texel/relay"
)

// SliceSplits replaces each part of a split by a slice of its own, which becomes part of the index map of whoever reads
// it, so that nothing is copied.
func SliceSplits(_ context.Context, m *relay.Module, o *Options) (*relay.Module, error) {
	return rewriteExpr("slice-splits", m, o, func(r *rewriter, e relay.Expr) (relay.Expr, error) {
		g, ok := e.(*relay.TupleGet)
		if !ok {
			return nil, nil
		}
		c, ok := is(g.Tuple, "split")
		if !ok {
			return nil, nil
		}
		a := c.Attrs.(*relay.SplitAttrs)
		shape := relay.Tensor(c.Args[0]).Shape
		axis := relay.NormalAxis(a.Axis, len(shape))
		begin, end := a.Part(g.Index, shape[axis])
		return r.sliceOf(c.Args[0], axis, begin, end)
	})
}
