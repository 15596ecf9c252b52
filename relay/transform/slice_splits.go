package transform

import (
	"context"

	"github.com/texel-ml/texel/relay"
)

// SliceSplits replaces each part of a split by a slice of its own, which becomes part of the index map of whoever reads
// it, so that nothing is copied.
func SliceSplits(_ context.Context, m *relay.Module, o *Options) (*relay.Module, error) {
	body, err := relay.Rewrite(m.Main(), func(_, e relay.Expr) (relay.Expr, error) {
		g, ok := e.(*relay.TupleGet)
		if !ok {
			return e, nil
		}
		c, ok := g.Tuple.(*relay.Call)
		if !ok || c.Op == nil || c.Op.Name != "split" {
			return e, nil
		}
		a := c.Attrs.(*relay.SplitAttrs)
		shape := relay.Tensor(c.Args[0]).Shape
		axis := relay.NormalAxis(a.Axis, len(shape))
		begin := 0
		if g.Index > 0 {
			begin = a.Indices[g.Index-1]
		}
		end := begin + relay.Tensor(g).Shape[axis]
		return relay.NewCall(o.Ops.Lookup("strided_slice"), []relay.Expr{c.Args[0]},
			&relay.StridedSliceAttrs{Begin: []int{begin}, End: []int{end}, Axes: []int{axis}}, c.Pos())
	})
	if err != nil {
		return nil, err
	}
	return m.WithMain(body.(*relay.Function)), nil
}
