package transform

import (
	"context"

	"github.com/texel-ml/texel/relay"
	"github.com/texel-ml/texel/tensor"
)

// RecognizeGroupNorm finds group normalisation that is written as a normalisation of the channels of each group together:
//
//	reshape(norm(reshape(x, (N, G, …))), (N, C, …))  →  group_norm(x, 1, 0), norm over all axes behind G
//
// where norm is instance_norm, or layer_norm of one axis behind (N, G) or N·G, without scale and offset. These are joined
// then, as those of layer_norm are.
func RecognizeGroupNorm(_ context.Context, m *relay.Module, o *Options) (*relay.Module, error) {
	return rewrite("recognize-group-norm", m, o, normOfGroups, normScale, normCenter)
}

func normOfGroups(r *rewriter, c *relay.Call) (relay.Expr, error) {
	if c.Op.Name != "reshape" {
		return nil, nil
	}
	n, ok := r.normOf(c.Args[0])
	if !ok || !plain(n) {
		return nil, nil
	}
	apart, ok := is(n.call.Args[0], "reshape")
	if !ok || !sameShape(apart.Args[0], c) {
		return nil, nil
	}
	whole, parts := relay.Tensor(c).Shape, relay.Tensor(apart).Shape
	if len(whole) < 2 || whole.Elems() == 0 {
		return nil, nil
	}
	rows := 0 // how many groups there are in all batches
	switch {
	case n.call.Op.Name == "nn.instance_norm" && n.axis == 1 && parts[0] == whole[0]:
		rows = parts[0] * parts[1]
	case n.call.Op.Name == "nn.layer_norm" && n.axis == len(parts)-1:
		rows = parts[:len(parts)-1].Elems()
	}
	if rows == 0 || rows%whole[0] != 0 || whole[1]%(rows/whole[0]) != 0 {
		return nil, nil
	}
	groups, t := rows/whole[0], relay.Tensor(c)
	r.note("nn.group_norm of %d groups was written as %s", groups, n.call.Op.Name)
	attrs := &relay.GroupNormAttrs{NumGroups: groups, Axis: 1, Epsilon: n.call.Attrs.(*relay.NormAttrs).Epsilon}
	return r.call("nn.group_norm", attrs, apart.Args[0], r.vector(t.DType, whole[1], 1), r.vector(t.DType, whole[1], 0))
}

// plain reports whether a layer_norm or instance_norm has neither scale nor offset.
func plain(n normed) bool {
	if _, ok := n.call.Attrs.(*relay.NormAttrs); !ok {
		return false
	}
	return (!n.scale || all(n.call.Args[1], 1)) && (!n.center || all(n.call.Args[2], 0))
}

// all reports whether every element of a floating-point constant is v.
func all(e relay.Expr, v float64) bool {
	k, ok := e.(*relay.Constant)
	if !ok || !computable(k) {
		return false
	}
	for _, x := range tensor.Widen(k.Value).F {
		if x != v {
			return false
		}
	}
	return true
}
