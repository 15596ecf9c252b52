package transform

import (
	"context"

	"github.com/texel-ml/texel/relay"
	"github.com/texel-ml/texel/tensor"
)

// CombineConstants joins factors and biases that follow each other, and gives biases the form bias_add.
//
//	conv(x) + b, b a constant for each channel  →  bias_add(conv(x), b)
//	bias_add(bias_add(x, b), c)                 →  bias_add(x, b + c)
//	(x · a) · b, (x / a) · b                    →  x · ab
//	(x + a) + b, (x - a) + b                    →  x + (a + b)
func CombineConstants(_ context.Context, m *relay.Module, o *Options) (*relay.Module, error) {
	r := &rewriter{step: "combine-constants", o: o}
	return r.settle(m, biasForm, biasOfBias, factorOfFactor, termOfTerm)
}

// heavyAxis returns the axis of channels of the value of a convolution, product or a bias on one.
func heavyAxis(e relay.Expr) (axis int, ok bool) {
	c, isCall := e.(*relay.Call)
	if !isCall || c.Op == nil {
		return 0, false
	}
	switch a := c.Attrs.(type) {
	case *relay.ConvAttrs:
		return plainAxis(a.DataLayout, a.OutLayout)
	case *relay.ConvTransposeAttrs:
		return plainAxis(a.DataLayout, a.OutLayout)
	case *relay.DenseAttrs, *relay.MatmulAttrs:
		return len(relay.Tensor(e).Shape) - 1, true
	case *relay.AxisAttrs:
		if c.Op.Name == "nn.bias_add" {
			return relay.NormalAxis(a.Axis, len(relay.Tensor(e).Shape)), true
		}
	}
	return 0, false
}

func plainAxis(data, out string) (int, bool) {
	if out == "" {
		out = data
	}
	l, err := tensor.ParseLayout(out)
	if err != nil || !l.Plain() {
		return 0, false
	}
	return l.Index('C'), true
}

// term matches x + v or x - v for a constant vector v along axis.
func term(e relay.Expr, axisOf func(x relay.Expr) (int, bool)) (x relay.Expr, axis int, v []float64, ok bool) {
	try := func(a, b relay.Expr) bool {
		at, has := axisOf(a)
		if !has || !sameShape(a, e) {
			return false
		}
		list, is := channelVector(b, relay.Tensor(e).Shape, at)
		if is {
			x, axis, v, ok = a, at, list, true
		}
		return is
	}
	if commuted(e, "add", try) {
		return
	}
	if c, minus := is(e, "subtract"); minus && try(c.Args[0], c.Args[1]) {
		negative := make([]float64, len(v))
		for i, f := range v {
			negative[i] = -f
		}
		v = negative
	}
	return
}

// biasForm makes a bias_add of a constant that is added to a heavy operator's value.
func biasForm(r *rewriter, c *relay.Call) (relay.Expr, error) {
	x, axis, v, ok := term(c, heavyAxis)
	if !ok {
		return nil, nil
	}
	return r.joinBias(x, axis, v)
}

// joinBias adds v to x, into the bias that x has already.
func (r *rewriter) joinBias(x relay.Expr, axis int, v []float64) (relay.Expr, error) {
	if inner, ok := is(x, "nn.bias_add"); ok && r.single(x) {
		if k, ok := inner.Args[1].(*relay.Constant); ok {
			sum := append([]float64{}, tensor.Widen(k.Value).F...)
			for i := range sum {
				sum[i] += v[i]
			}
			x, v = inner.Args[0], sum
		}
	}
	bias := r.constantAs(relay.Tensor(x).DType, tensor.Shape{len(v)}, v)
	return r.call("nn.bias_add", &relay.AxisAttrs{Axis: axis}, x, bias)
}

func biasOfBias(r *rewriter, c *relay.Call) (relay.Expr, error) {
	if c.Op.Name != "nn.bias_add" {
		return nil, nil
	}
	inner, ok := is(c.Args[0], "nn.bias_add")
	axis, _ := heavyAxis(c)
	k, known := c.Args[1].(*relay.Constant)
	if !ok || !known || !k.Value.DType.IsFloat() || !r.single(inner) {
		return nil, nil
	}
	if at, _ := heavyAxis(inner); at != axis {
		return nil, nil
	}
	if _, ok := inner.Args[1].(*relay.Constant); !ok {
		return nil, nil
	}
	return r.joinBias(inner, axis, tensor.Widen(k.Value).F)
}

// factorOfFactor joins two one-element factors.
func factorOfFactor(r *rewriter, c *relay.Call) (relay.Expr, error) {
	outer, k, ok := times(c)
	if !ok {
		return nil, nil
	}
	inner, v, ok := times(outer)
	if !ok || !r.single(outer) {
		return nil, nil
	}
	return r.call("multiply", nil, inner, r.constantAs(relay.Tensor(c).DType, tensor.Shape{}, []float64{k * v}))
}

// termOfTerm joins two one-element terms.
func termOfTerm(r *rewriter, c *relay.Call) (relay.Expr, error) {
	first := func(x relay.Expr) (int, bool) { return 0, len(relay.Tensor(x).Shape) > 0 }
	outer, _, v, ok := oneTerm(c, first)
	if !ok || !r.single(outer) {
		return nil, nil
	}
	inner, _, w, ok := oneTerm(outer, first)
	if !ok {
		return nil, nil
	}
	return r.call("add", nil, inner, r.constantAs(relay.Tensor(c).DType, tensor.Shape{}, []float64{v + w}))
}

// oneTerm is term for a constant of one element.
func oneTerm(e relay.Expr, axisOf func(relay.Expr) (int, bool)) (relay.Expr, int, float64, bool) {
	c, ok := e.(*relay.Call)
	if !ok || c.Op == nil || c.Op.Name != "add" && c.Op.Name != "subtract" {
		return nil, 0, 0, false
	}
	if _, a := number(c.Args[0]); !a {
		if _, b := number(c.Args[1]); !b {
			return nil, 0, 0, false
		}
	}
	x, axis, v, ok := term(e, axisOf)
	if !ok || len(v) == 0 {
		return nil, 0, 0, false
	}
	return x, axis, v[0], true
}
