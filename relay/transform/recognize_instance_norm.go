package transform

import (
	"context"
	"slices"

	"github.com/texel-ml/texel/relay"
)

// RecognizeInstanceNorm finds instance normalisation that is written as reductions: as RecognizeLayerNorm, over all axes but
// the first and one more, that of the channels.
func RecognizeInstanceNorm(_ context.Context, m *relay.Module, o *Options) (*relay.Module, error) {
	return rewrite("recognize-instance-norm", m, o, func(r *rewriter, c *relay.Call) (relay.Expr, error) {
		return r.norm(c, func(axes []int, rank int) (string, int) {
			for axis := 1; axis < rank && len(axes) == rank-2 && len(axes) > 1; axis++ {
				if !slices.Contains(axes, axis) && !slices.Contains(axes, 0) {
					return "nn.instance_norm", axis
				}
			}
			return "", 0
		})
	}, normScale, normCenter)
}
