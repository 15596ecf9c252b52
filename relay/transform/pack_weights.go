package transform

import (
	"context"

	"github.com/texel-ml/texel/relay"
)

// PackWeights makes the copies of constants to the layouts that choose-layout gave them, and the reshapes and transposes
// of constants that it left.
func PackWeights(_ context.Context, m *relay.Module, o *Options) (*relay.Module, error) {
	return rewrite("pack-weights", m, o, func(r *rewriter, c *relay.Call) (relay.Expr, error) {
		switch c.Op.Name {
		case "layout_transform", "reshape", "transpose":
			return r.fold(c, true)
		}
		return nil, nil
	})
}
