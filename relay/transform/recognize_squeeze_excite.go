package transform

import (
	"context"
	"slices"

	"github.com/texel-ml/texel/relay"
	"github.com/texel-ml/texel/tensor"
)

// RecognizeSqueezeExcite finds the scale of a squeeze-and-excite block. The product of the scale with the data stays: the
// next convolution reads it as a prologue.
//
//	gate(w2 · act(w1 · pool(x) + b1) + b2)  →  squeeze_excite(x, w1, b1, w2, b2)
//
// with convolutions of one element or dense layers for the products, act one of relu, swish, hard_swish, and gate one of
// sigmoid, hard_sigmoid.
func RecognizeSqueezeExcite(_ context.Context, m *relay.Module, o *Options) (*relay.Module, error) {
	return rewrite("recognize-squeeze-excite", m, o, squeezeExcite, func(r *rewriter, c *relay.Call) (relay.Expr, error) {
		if c.Op.Name != "reshape" {
			return nil, nil
		}
		return r.reshaped(c) // of the scale, that the pattern had in another shape
	})
}

func squeezeExcite(r *rewriter, c *relay.Call) (relay.Expr, error) {
	attrs := &relay.SqueezeExciteAttrs{}
	switch c.Op.Name {
	case "sigmoid":
		attrs.Gate = "sigmoid"
	case "nn.hard_sigmoid":
		a := c.Attrs.(*relay.HardSigmoidAttrs)
		attrs.Gate, attrs.GateAlpha, attrs.GateBeta = "hard_sigmoid", a.Alpha, a.Beta
	default:
		return nil, nil
	}
	t := relay.Tensor(c)
	hidden, w2, b2, ok := r.layer(unshaped(c.Args[0]))
	if !ok {
		return nil, nil
	}
	act, ok := unshaped(hidden).(*relay.Call)
	if !ok || act.Op == nil || !r.single(act) {
		return nil, nil
	}
	switch act.Op.Name {
	case "nn.relu":
		attrs.Activation = "relu"
	case "nn.hard_swish":
		attrs.Activation = "hard_swish"
	case "nn.swish":
		if act.Attrs.(*relay.SwishAttrs).Beta != 1 {
			return nil, nil
		}
		attrs.Activation = "swish"
	default:
		return nil, nil
	}
	pooled, w1, b1, ok := r.layer(unshaped(act.Args[0]))
	if !ok {
		return nil, nil
	}
	x, layout, ok := globalMean(unshaped(pooled))
	if !ok {
		return nil, nil
	}
	if s := w2.Value.Shape; s[0] != w1.Value.Shape[1] || s[1] != w1.Value.Shape[0] {
		return nil, nil
	}
	attrs.Layout = layout
	r.note("squeeze and excite of %d channels through %d", w1.Value.Shape[1], w1.Value.Shape[0])
	y, err := r.call("nn.squeeze_excite", attrs, x, w1, b1, w2, b2)
	if err != nil || relay.Tensor(y).Shape.Equal(t.Shape) {
		return y, err
	}
	return r.call("reshape", &relay.ReshapeAttrs{NewShape: t.Shape.Clone()}, y)
}

// unshaped skips reshapes that add or remove axes of extent 1.
func unshaped(e relay.Expr) relay.Expr {
	for {
		c, ok := is(e, "reshape")
		if !ok || !slices.Equal(unitless(relay.Tensor(c).Shape), unitless(relay.Tensor(c.Args[0]).Shape)) {
			return e
		}
		e = c.Args[0]
	}
}

func unitless(s tensor.Shape) []int {
	return slices.DeleteFunc(slices.Clone(s), func(d int) bool { return d == 1 })
}

// layer matches a product with constant weights over the channels of one position, with a bias or without. It returns
// the weights as (O, I).
func (r *rewriter) layer(e relay.Expr) (x relay.Expr, w, b *relay.Constant, ok bool) {
	if biased, is := is(e, "nn.bias_add"); is {
		if b, ok = biased.Args[1].(*relay.Constant); !ok || !r.single(e) {
			return nil, nil, nil, false
		}
		e = unshaped(biased.Args[0])
	}
	a, ok := anchorOf(e)
	if !ok || a.transposeConv || a.groups != 1 || a.window != 1 || a.padded || !r.single(e) {
		return nil, nil, nil, false
	}
	if conv, isConv := a.call.Attrs.(*relay.ConvAttrs); isConv && slices.ContainsFunc(conv.Strides, func(s int) bool { return s != 1 }) {
		return nil, nil, nil, false
	}
	v := a.weight.Value
	s := v.Shape
	flat := &tensor.Tensor{DType: v.DType, Shape: tensor.Shape{s[a.out], s[a.in]}, Data: v.Data}
	if a.in < a.out { // (I, O)
		flat.Shape = tensor.Shape{s[a.in], s[a.out]}
		turned, err := tensor.Relayout(flat, tensor.MustLayout("IO"), tensor.MustLayout("OI"))
		if err != nil {
			return nil, nil, nil, false
		}
		flat = turned
	}
	if b == nil {
		b = r.constantAs(v.DType, tensor.Shape{s[a.out]}, make([]float64, s[a.out]))
	}
	// only one position: every other axis of the operand but the batch and the channels is 1
	for axis, d := range relay.Tensor(a.call.Args[0]).Shape {
		if axis != 0 && axis != a.dataChannels && d != 1 {
			return nil, nil, nil, false
		}
	}
	return a.call.Args[0], relay.NewConstant(flat, a.weight.Name, a.weight.Pos()), b, true
}

// globalMean matches the mean over all spatial axes.
func globalMean(e relay.Expr) (x relay.Expr, layout string, ok bool) {
	if c, is := is(e, "nn.global_avg_pool2d"); is {
		return c.Args[0], c.Attrs.(*relay.GlobalPoolAttrs).Layout, true
	}
	c, isMean := is(e, "mean")
	if !isMean {
		return nil, "", false
	}
	rank := len(relay.Tensor(c.Args[0]).Shape)
	if rank < 3 || rank > 5 {
		return nil, "", false
	}
	a := c.Attrs.(*relay.ReduceAttrs)
	for axis, reduced := range relay.ReducedAxes(a.Axis, a.Exclude, rank) {
		if reduced != (axis >= 2) {
			return nil, "", false
		}
	}
	return c.Args[0], "NC" + []string{3: "W", 4: "HW", 5: "DHW"}[rank], true
}
