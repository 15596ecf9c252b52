package transform

import (
	"context"
	"math"

	"github.com/texel-ml/texel/relay"
	"github.com/texel-ml/texel/tensor"
)

// SimplifyInference replaces what is only needed in training.
//
//	batch_norm(x, γ, β, μ, σ²).0  →  bias_add(x · s, β - μ·s), s = γ / √(σ² + ε)
func SimplifyInference(_ context.Context, m *relay.Module, o *Options) (*relay.Module, error) {
	return rewriteExpr("simplify-inference", m, o, func(r *rewriter, e relay.Expr) (relay.Expr, error) {
		get, ok := e.(*relay.TupleGet)
		if !ok {
			return nil, nil
		}
		norm, ok := is(get.Tuple, "nn.batch_norm")
		if !ok {
			return nil, nil
		}
		if get.Index > 0 { // mean and variance as they are
			return norm.Args[2+get.Index], nil
		}
		return r.batchNorm(norm)
	})
}

func (r *rewriter) batchNorm(norm *relay.Call) (relay.Expr, error) {
	a := norm.Attrs.(*relay.BatchNormAttrs)
	t := relay.Tensor(norm.Args[0])
	axis := relay.NormalAxis(a.Axis, len(t.Shape))
	channels := t.Shape[axis]
	var known [4][]float64 // γ, β, μ, σ²
	constant := true
	for i := range known {
		c, ok := norm.Args[1+i].(*relay.Constant)
		if constant = constant && ok; constant {
			known[i] = tensor.Widen(c.Value).F
		}
	}
	if !constant {
		return r.batchNormCalls(norm, a, t, axis)
	}
	scale, shift := make([]float64, channels), make([]float64, channels)
	for i := range channels {
		scale[i] = 1 / math.Sqrt(known[3][i]+a.Epsilon)
		if a.Scale {
			scale[i] *= known[0][i]
		}
		shift[i] = -known[2][i] * scale[i]
		if a.Center {
			shift[i] += known[1][i]
		}
	}
	y, err := r.call("multiply", nil, norm.Args[0], r.constantAs(t.DType, along(channels, axis, len(t.Shape)), scale))
	if err != nil {
		return nil, err
	}
	return r.call("nn.bias_add", &relay.AxisAttrs{Axis: axis}, y, r.constantAs(t.DType, tensor.Shape{channels}, shift))
}

// batchNormCalls does the same with calls where the operands are not constants.
func (r *rewriter) batchNormCalls(norm *relay.Call, a *relay.BatchNormAttrs, t *relay.TensorType, axis int) (relay.Expr, error) {
	var failed error
	call := func(name string, attrs any, args ...relay.Expr) relay.Expr {
		if failed != nil {
			return norm.Args[0]
		}
		e, err := r.call(name, attrs, args...)
		if err != nil {
			failed = err
			return norm.Args[0]
		}
		return e
	}
	epsilon := r.constantAs(t.DType, tensor.Shape{}, []float64{a.Epsilon})
	scale := call("rsqrt", nil, call("add", nil, norm.Args[4], epsilon))
	if a.Scale {
		scale = call("multiply", nil, scale, norm.Args[1])
	}
	shift := call("negative", nil, call("multiply", nil, norm.Args[3], scale))
	if a.Center {
		shift = call("add", nil, shift, norm.Args[2])
	}
	wide := call("reshape", &relay.ReshapeAttrs{NewShape: along(t.Shape[axis], axis, len(t.Shape))}, scale)
	y := call("nn.bias_add", &relay.AxisAttrs{Axis: axis}, call("multiply", nil, norm.Args[0], wide), shift)
	return y, failed
}
