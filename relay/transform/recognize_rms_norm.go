package transform

import (
	"context"

	"github.com/texel-ml/texel/relay"
	"github.com/texel-ml/texel/tensor"
)

// RecognizeRmsNorm finds normalisation by the root of the mean square over one axis that is written as reductions.
//
//	x / √(mean(x²) + ε)  →  rms_norm(x, 1)
//	rms_norm(x, 1) · γ   →  rms_norm(x, γ)
func RecognizeRmsNorm(_ context.Context, m *relay.Module, o *Options) (*relay.Module, error) {
	return rewrite("recognize-rms-norm", m, o, rootMeanSquare, rmsScale)
}

func rootMeanSquare(r *rewriter, c *relay.Call) (relay.Expr, error) {
	x, v := overRoot(c)
	if x == nil {
		return nil, nil
	}
	var of statistic
	epsilon, ok := overEpsilon(v, func(a relay.Expr) bool {
		var is bool
		of, is = meanSquare(a)
		return is
	})
	if !ok || of.x != x || len(of.axes) != 1 {
		return nil, nil
	}
	t := relay.Tensor(x)
	r.note("nn.rms_norm was written as several operators")
	return r.call("nn.rms_norm", &relay.RMSNormAttrs{Axis: of.axes[0], Epsilon: epsilon}, x, r.vector(t.DType, t.Shape[of.axes[0]], 1))
}

func rmsScale(r *rewriter, c *relay.Call) (to relay.Expr, err error) {
	commuted(c, "multiply", func(a, b relay.Expr) bool {
		n, ok := is(a, "nn.rms_norm")
		if !ok || !r.single(n) || !sameShape(a, c) || !all(n.Args[1], 1) {
			return false
		}
		shape := relay.Tensor(n).Shape
		list, ok := channelVector(b, shape, relay.NormalAxis(n.Attrs.(*relay.RMSNormAttrs).Axis, len(shape)))
		if ok {
			to, err = r.call("nn.rms_norm", n.Attrs, n.Args[0], r.constantAs(relay.Tensor(c).DType, tensor.Shape{len(list)}, list))
		}
		return ok
	})
	return to, err
}
