package transform

import (
	"context"

	"github.com/texel-ml/texel/relay"
	"github.com/texel-ml/texel/tensor"
)

// RecognizeLayerNorm finds layer normalisation over one axis that is written as reductions.
//
//	d = x - mean(x); d / √(mean(d²) + ε)  →  layer_norm(x, 1, 0)
//	layer_norm(x, 1, 0) · γ               →  layer_norm(x, γ, 0)
//	layer_norm(x, γ, 0) + β               →  layer_norm(x, γ, β)
func RecognizeLayerNorm(_ context.Context, m *relay.Module, o *Options) (*relay.Module, error) {
	return rewrite("recognize-layer-norm", m, o, normalised, normScale, normCenter)
}

// meanOf matches the mean over one axis that is kept.
func meanOf(e relay.Expr) (x relay.Expr, axis int, ok bool) {
	c, ok := is(e, "mean")
	if !ok {
		return nil, 0, false
	}
	a := c.Attrs.(*relay.ReduceAttrs)
	rank := len(relay.Tensor(c.Args[0]).Shape)
	if len(a.Axis) != 1 || !a.Keepdims || a.Exclude {
		return nil, 0, false
	}
	return c.Args[0], relay.NormalAxis(a.Axis[0], rank), true
}

// normalised matches d / √(mean(d²) + ε), or d · rsqrt(…), with d = x - mean(x).
func normalised(r *rewriter, c *relay.Call) (relay.Expr, error) {
	var d, variance relay.Expr
	switch c.Op.Name {
	case "divide":
		if root, ok := is(c.Args[1], "sqrt"); ok {
			d, variance = c.Args[0], root.Args[0]
		}
	case "multiply":
		commuted(c, "multiply", func(a, b relay.Expr) bool {
			root, ok := is(b, "rsqrt")
			if !ok {
				if one, isReciprocal := is(b, "reciprocal"); isReciprocal {
					root, ok = is(one.Args[0], "sqrt")
				}
			}
			if ok {
				d, variance = a, root.Args[0]
			}
			return ok
		})
	}
	if d == nil {
		return nil, nil
	}
	centred, ok := is(d, "subtract")
	if !ok {
		return nil, nil
	}
	x, axis, ok := meanOf(centred.Args[1])
	if !ok || x != centred.Args[0] {
		return nil, nil
	}
	var epsilon float64
	var square relay.Expr
	if !commuted(variance, "add", func(a, b relay.Expr) bool {
		v, ok := number(b)
		e, along, isMean := meanOf(a)
		epsilon, square = v, e
		return ok && isMean && along == axis
	}) {
		return nil, nil
	}
	if n, k, ok := powerOf(square, d); !ok || n != 2 || k != 1 {
		return nil, nil
	}
	t := relay.Tensor(x)
	size := tensor.Shape{t.Shape[axis]}
	ones := make([]float64, size[0])
	for i := range ones {
		ones[i] = 1
	}
	r.note("layer norm was written as several operators")
	attrs := &relay.NormAttrs{Axis: axis, Epsilon: epsilon}
	return r.call("nn.layer_norm", attrs, x, r.constantAs(t.DType, size, ones), r.constantAs(t.DType, size, make([]float64, size[0])))
}

// joinNorm returns the layer norm that is operand a of c, when b is a constant along its axis.
func (r *rewriter) joinNorm(c *relay.Call, name string, free func(*relay.NormAttrs) bool) (norm *relay.Call, v []float64) {
	commuted(c, name, func(a, b relay.Expr) bool {
		n, ok := is(a, "nn.layer_norm")
		if !ok || !r.single(a) || !free(n.Attrs.(*relay.NormAttrs)) || !sameShape(a, c) {
			return false
		}
		shape := relay.Tensor(a).Shape
		list, ok := channelVector(b, shape, relay.NormalAxis(n.Attrs.(*relay.NormAttrs).Axis, len(shape)))
		if ok {
			norm, v = n, list
		}
		return ok
	})
	return norm, v
}

func normScale(r *rewriter, c *relay.Call) (relay.Expr, error) {
	norm, v := r.joinNorm(c, "multiply", func(a *relay.NormAttrs) bool { return !a.Scale && !a.Center })
	if norm == nil {
		return nil, nil
	}
	a := *norm.Attrs.(*relay.NormAttrs)
	a.Scale = true
	gamma := r.constantAs(relay.Tensor(c).DType, tensor.Shape{len(v)}, v)
	return r.call("nn.layer_norm", &a, norm.Args[0], gamma, norm.Args[2])
}

func normCenter(r *rewriter, c *relay.Call) (relay.Expr, error) {
	norm, v := r.joinNorm(c, "add", func(a *relay.NormAttrs) bool { return !a.Center })
	if norm == nil {
		return nil, nil
	}
	a := *norm.Attrs.(*relay.NormAttrs)
	a.Center = true
	beta := r.constantAs(relay.Tensor(c).DType, tensor.Shape{len(v)}, v)
	return r.call("nn.layer_norm", &a, norm.Args[0], norm.Args[1], beta)
}
