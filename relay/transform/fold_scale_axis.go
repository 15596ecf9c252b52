package transform

import (
	"context"
	"slices"

	"github.com/texel-ml/texel/relay"
	"github.com/texel-ml/texel/tensor"
)

// FoldScaleAxis moves factors that are constant for each channel into weights.
//
//	conv(x, w) · s                →  conv(x, w · s)                 s along w's output channels
//	bias_add(conv(x, w), b) · s   →  bias_add(conv(x, w · s), b·s)
//	relu(conv(x, w)) · s          →  relu(conv(x, w · s))           s above 0; likewise leaky_relu and pools
//	conv(x · s, w)                →  conv(x, w · s)                 s along w's input channels
//	conv(bias_add(x, b), w)       →  bias_add(conv(x, w), Σ w·b)    a window of one element without padding
//
// and the same for dense layers and transposed convolutions. A convolution whose value is used elsewhere too keeps its
// weights. A bias of one element added behind the convolution becomes its bias.
func FoldScaleAxis(_ context.Context, m *relay.Module, o *Options) (*relay.Module, error) {
	r := &rewriter{step: "fold-scale-axis", o: o}
	return r.settle(m, scaleBehind, scaleBefore, biasBehindScale)
}

// anchor is a heavy operator with constant weights, and the axes of these that hold output and input channels.
type anchor struct {
	call          *relay.Call
	weight        *relay.Constant
	out, in       int // axes of the weight
	groups        int
	channels      int // axis of the value
	dataChannels  int // axis of the data
	window        int // elements of the window
	padded        bool
	transposeConv bool
}

func anchorOf(e relay.Expr) (a anchor, ok bool) {
	c, isCall := e.(*relay.Call)
	if !isCall || c.Op == nil || c.Op.Class != relay.OutFusable {
		return a, false
	}
	w, isConstant := c.Args[1].(*relay.Constant)
	if !isConstant || !computable(w) || w.Value.DType != relay.Tensor(c).DType {
		return a, false
	}
	a = anchor{call: c, weight: w, groups: 1, window: 1}
	switch attrs := c.Attrs.(type) {
	case *relay.ConvAttrs:
		return a.conv(attrs.DataLayout, attrs.OutLayout, attrs.KernelLayout, attrs.Groups, attrs.Padding)
	case *relay.ConvTransposeAttrs:
		a.transposeConv = true
		return a.conv(attrs.DataLayout, attrs.OutLayout, attrs.KernelLayout, attrs.Groups, attrs.Padding)
	case *relay.DenseAttrs:
		if attrs.WeightLayout != "" && attrs.WeightLayout != "NK" {
			return a, false
		}
		a.out, a.in = 0, 1
	case *relay.MatmulAttrs:
		if len(w.Value.Shape) != 2 || attrs.TransposeA {
			return a, false
		}
		a.out, a.in = 1, 0
		if attrs.TransposeB {
			a.out, a.in = 0, 1
		}
	default:
		return a, false
	}
	a.channels, a.dataChannels = len(relay.Tensor(c).Shape)-1, len(relay.Tensor(c.Args[0]).Shape)-1
	return a, true
}

func (a anchor) conv(data, out, kernel string, groups int, padding []int) (anchor, bool) {
	dl, err1 := tensor.ParseLayout(data)
	kl, err2 := tensor.ParseLayout(kernel)
	ch, ok := plainAxis(data, out)
	if err1 != nil || err2 != nil || !ok || !dl.Plain() || !kl.Plain() {
		return a, false
	}
	a.groups, a.channels, a.dataChannels = groups, ch, dl.Index('C')
	a.out, a.in = kl.Index('O'), kl.Index('I')
	s := a.weight.Value.Shape
	a.window = s.Elems() / max(s[a.out]*s[a.in], 1)
	a.padded = slices.ContainsFunc(padding, func(p int) bool { return p != 0 })
	return a, true
}

// outIndex returns the output channel, and inIndex the input channel, of a place in the weight.
func (a anchor) outIndex(o, i int) int {
	if a.transposeConv { // weight (C, O/groups): the group is that of the input channel
		return i/(a.weight.Value.Shape[a.in]/a.groups)*a.weight.Value.Shape[a.out] + o
	}
	return o
}

func (a anchor) inIndex(o, i int) int {
	if a.transposeConv {
		return i
	}
	return o/(a.weight.Value.Shape[a.out]/a.groups)*a.weight.Value.Shape[a.in] + i
}

// scaled returns the weight multiplied by s, which has a factor for each output channel (out) or each input channel.
func (r *rewriter) scaled(a anchor, s []float64, out bool) *relay.Constant {
	v := a.weight.Value
	axis, index := a.in, a.inIndex
	if out {
		axis, index = a.out, a.outIndex
	}
	strides := v.Shape.Strides()
	to := tensor.New(v.DType, v.Shape)
	if oneAxis := len(s) == v.Shape[axis]; oneAxis && v.DType == tensor.Float32 { // the common case, without a copy in float64
		scale(tensor.View[float32](to), tensor.View[float32](v), s, strides[axis])
	} else {
		w := tensor.Widen(v)
		for p := range w.F {
			w.F[p] *= s[index(p/strides[a.out]%v.Shape[a.out], p/strides[a.in]%v.Shape[a.in])]
		}
		to = w.Narrow()
	}
	return relay.NewConstant(to, a.weight.Name, a.weight.Pos())
}

// scale multiplies by the factors in turn, each for stride elements.
func scale(to, from []float32, factors []float64, stride int) {
	for len(from) > 0 {
		for _, f := range factors {
			part := to[:stride]
			for q, v := range from[:stride] {
				part[q] = float32(float64(v) * f)
			}
			to, from = to[stride:], from[stride:]
		}
	}
}

// remade is the anchor's call with another operand or weight. It keeps its name in the model.
func (r *rewriter) remade(a anchor, data, weight relay.Expr) (relay.Expr, error) {
	return relay.NewCall(a.call.Op, []relay.Expr{data, weight}, a.call.Attrs, a.call.Pos())
}

// factorAlong matches x · v for a constant vector v along axis.
func factorAlong(e relay.Expr, axisOf func(x relay.Expr) (int, bool)) (x relay.Expr, v []float64, ok bool) {
	try := func(a, b relay.Expr) bool {
		axis, has := axisOf(a)
		if !has || !sameShape(a, e) {
			return false
		}
		list, is := channelVector(b, relay.Tensor(e).Shape, axis)
		if is {
			x, v, ok = a, list, true
		}
		return is
	}
	if commuted(e, "multiply", try) {
		return
	}
	if c, division := is(e, "divide"); division && try(c.Args[0], c.Args[1]) {
		inverse := make([]float64, len(v))
		for i, f := range v {
			if f == 0 {
				return nil, nil, false
			}
			inverse[i] = 1 / f
		}
		v = inverse
	}
	return
}

// carries are the operators that a factor of each channel passes, with whether it must be positive to.
var carries = map[string]bool{"nn.relu": true, "nn.leaky_relu": true, "nn.max_pool1d": true, "nn.max_pool2d": true, "nn.max_pool3d": true,
	"nn.global_max_pool2d": true, "nn.avg_pool1d": false, "nn.avg_pool2d": false, "nn.avg_pool3d": false, "nn.global_avg_pool2d": false}

// carriedFrom goes down from e through operators that a factor passes. It returns them, the last first, and what stands below.
func (r *rewriter) carriedFrom(e relay.Expr) (through []*relay.Call, below relay.Expr, positive bool) {
	for {
		c, ok := e.(*relay.Call)
		if !ok || c.Op == nil || !r.single(c) {
			return through, e, positive
		}
		must, ok := carries[c.Op.Name]
		if !ok {
			return through, e, positive
		}
		through, e, positive = append(through, c), c.Args[0], positive || must
	}
}

// keepsChannels reports whether an operator that a factor passes leaves the places along axis apart.
func keepsChannels(c *relay.Call, axis int) bool {
	layout := ""
	switch a := c.Attrs.(type) {
	case *relay.PoolAttrs:
		layout = a.Layout
	case *relay.GlobalPoolAttrs:
		layout = a.Layout
	default:
		return true
	}
	at, ok := plainAxis(layout, "")
	return ok && at == axis
}

// scaleBehind folds a factor into the weights of the operator whose value it scales.
func scaleBehind(r *rewriter, c *relay.Call) (relay.Expr, error) {
	x, s, ok := factorAlong(c, func(x relay.Expr) (int, bool) {
		_, below, _ := r.carriedFrom(x)
		return heavyAxis(below)
	})
	if !ok || !r.single(x) {
		return nil, nil
	}
	through, x, positive := r.carriedFrom(x)
	axis, _ := heavyAxis(x)
	if slices.ContainsFunc(through, func(c *relay.Call) bool { return !keepsChannels(c, axis) }) || !r.single(x) {
		return nil, nil
	}
	if positive && slices.ContainsFunc(s, func(f float64) bool { return !(f > 0) }) {
		return nil, nil
	}
	y, err := r.scaledHeavy(x, s)
	if y == nil || err != nil {
		return nil, err
	}
	for _, call := range slices.Backward(through) {
		if y, err = relay.NewCall(call.Op, []relay.Expr{y}, call.Attrs, call.Pos()); err != nil {
			return nil, err
		}
	}
	return y, nil
}

// scaledHeavy returns x, a heavy operator's value with or without a bias, with its channels multiplied by s.
func (r *rewriter) scaledHeavy(x relay.Expr, s []float64) (relay.Expr, error) {
	biased, hasBias := is(x, "nn.bias_add")
	heavy := x
	var bias *relay.Constant
	if hasBias {
		heavy = biased.Args[0]
		var ok bool
		if bias, ok = biased.Args[1].(*relay.Constant); !ok || !r.single(heavy) {
			return nil, nil
		}
	}
	a, ok := anchorOf(heavy)
	if !ok {
		return nil, nil
	}
	if axis, _ := heavyAxis(x); axis != a.channels {
		return nil, nil
	}
	y, err := r.remade(a, a.call.Args[0], r.scaled(a, s, true))
	if err != nil {
		return nil, err
	}
	r.note("a factor of each channel went into the weights of %s", nodeName(a.call))
	if !hasBias {
		return y, nil
	}
	b := tensor.Widen(bias.Value)
	scaledBias := make([]float64, len(b.F))
	for i := range b.F {
		scaledBias[i] = b.F[i] * s[i]
	}
	return relay.NewCall(biased.Op, []relay.Expr{y, r.constantAs(b.DType, b.Shape, scaledBias)}, biased.Attrs, biased.Pos())
}

// scaleBefore folds a factor of the operand, and a bias of it where there is no padding, into the weights.
func scaleBefore(r *rewriter, c *relay.Call) (relay.Expr, error) {
	a, ok := anchorOf(c)
	if !ok || !r.single(c.Args[0]) {
		return nil, nil
	}
	if x, s, ok := factorAlong(c.Args[0], func(relay.Expr) (int, bool) { return a.dataChannels, true }); ok {
		r.note("a factor of each input channel went into the weights of %s", nodeName(c))
		return r.remade(a, x, r.scaled(a, s, false))
	}
	if a.window != 1 || a.padded || a.groups != 1 || a.transposeConv {
		return nil, nil
	}
	x, _, b, ok := term(c.Args[0], func(relay.Expr) (int, bool) { return a.dataChannels, true })
	if k, is := is(c.Args[0], "nn.bias_add"); is && !ok {
		if v, isConstant := k.Args[1].(*relay.Constant); isConstant && relay.NormalAxis(k.Attrs.(*relay.AxisAttrs).Axis, len(relay.Tensor(k).Shape)) == a.dataChannels {
			x, b, ok = k.Args[0], tensor.Widen(v.Value).F, true
		}
	}
	if !ok {
		return nil, nil
	}
	w := tensor.Widen(a.weight.Value)
	strides := w.Shape.Strides()
	sum := make([]float64, w.Shape[a.out])
	for p, v := range w.F {
		sum[p/strides[a.out]%w.Shape[a.out]] += v * b[p/strides[a.in]%w.Shape[a.in]]
	}
	y, err := r.remade(a, x, a.weight)
	if err != nil {
		return nil, err
	}
	r.note("a bias of each input channel went into the bias of %s", nodeName(c))
	return r.call("nn.bias_add", &relay.AxisAttrs{Axis: a.channels}, y, r.constantAs(w.DType, tensor.Shape{len(sum)}, sum))
}

// biasBehindScale gives what is added behind a folded factor the form of a bias.
func biasBehindScale(r *rewriter, c *relay.Call) (relay.Expr, error) {
	if to, err := biasForm(r, c); to != nil || err != nil {
		return to, err
	}
	return biasOfBias(r, c)
}
