package transform

import (
	"context"
	"slices"

	"github.com/texel-ml/texel/relay"
)

// RecognizeChannelShuffle finds a split of an axis into groups, its transpose and the join.
//
//	reshape(transpose(reshape(x, (N, g, C/g, …)), (0, 2, 1, …)), (N, C, …))  →  channel_shuffle(x, g)
func RecognizeChannelShuffle(_ context.Context, m *relay.Module, o *Options) (*relay.Module, error) {
	return rewrite("recognize-channel-shuffle", m, o, func(r *rewriter, c *relay.Call) (relay.Expr, error) {
		if c.Op.Name != "reshape" {
			return nil, nil
		}
		turn, ok := is(c.Args[0], "transpose")
		if !ok {
			return nil, nil
		}
		apart, ok := is(turn.Args[0], "reshape")
		if !ok || !sameShape(apart.Args[0], c) {
			return nil, nil
		}
		whole, parts := relay.Tensor(c).Shape, relay.Tensor(apart).Shape
		if len(parts) != len(whole)+1 {
			return nil, nil
		}
		perm := relay.Permutation(turn.Attrs.(*relay.TransposeAttrs).Axes, len(parts))
		for axis := range whole {
			swap := make([]int, len(parts))
			for i := range swap {
				swap[i] = i
			}
			swap[axis], swap[axis+1] = axis+1, axis
			if slices.Equal(perm, swap) && parts[:axis].Equal(whole[:axis]) && parts[axis+2:].Equal(whole[axis+1:]) && parts[axis] > 0 {
				r.note("channel_shuffle of %d groups", parts[axis])
				return r.call("channel_shuffle", &relay.ChannelShuffleAttrs{Groups: parts[axis], Axis: axis}, apart.Args[0])
			}
		}
		return nil, nil
	})
}
