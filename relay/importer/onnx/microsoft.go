package onnx

import (
	"maps"
	"slices"

	"google.golang.org/protobuf/proto"

	"github.com/texel-ml/texel/relay"
	pb "github.com/texel-ml/texel/relay/importer/onnx/onnxpb"
	"github.com/texel-ml/texel/tensor"
)

// microsoftDomain is that of the operators which ONNX Runtime puts into the models that it optimizes.
const microsoftDomain = "com.microsoft"

// microsoftRows are the operators of com.microsoft, by family.
func microsoftRows() []row {
	return []row{
		// as in the default domain
		{"ExpandDims", expandDims},
		{"GatherND", newest(gatherND)},
		{"GridSample", atOpset(16, gridSample)},
		{"Pad", newest(pad)},
		{"Trilu", newest(trilu)},
		{"Unique", uniqueInPlace},

		// activations
		{"BiasGelu", geluOf("none")},
		{"FastGelu", geluOf("tanh")},
		{"Gelu", geluOf("none")},
		{"QuickGelu", quickGelu},

		// convolutions and products with what follows
		{"FusedConv", fusedConv},
		{"FusedGemm", fusedGemm},
		{"FusedMatMul", fusedMatMul},
		{"TransposeMatMul", fusedMatMul},
		{"NhwcMaxPool", nhwcMaxPool},

		// normalisations of sums
		{"EmbedLayerNormalization", embedLayerNorm},
		{"SkipLayerNormalization", skipLayerNorm},
		{"SkipSimplifiedLayerNormalization", skipRMSNorm},

		// attention
		{"Attention", microsoftAttention},
		{"MultiHeadAttention", multiHeadAttention},
		{"RotaryEmbedding", microsoftRotary},

		// quantized
		{"DequantizeLinear", newest(dequantizeLinear)},
		{"DynamicQuantizeMatMul", dynamicQuantizeMatMul},
		{"MatMulInteger16", matMulInteger16},
		{"MatMulIntegerToFloat", matMulIntegerToFloat},
		{"MatMulNBits", matMulNBits},
		{"MulInteger", mulInteger},
		{"QGemm", qGemm},
		{"QLinearAdd", qLinearAdd},
		{"QLinearAveragePool", qLinearAveragePool},
		{"QLinearConcat", qLinearConcat},
		{"QLinearConv", channelsLast(qLinearConv)},
		{"QLinearGlobalAveragePool", qLinearGlobalPool},
		{"QLinearLeakyRelu", qLinearOf(activation("nn.leaky_relu", alpha(0.01)))},
		{"QLinearMul", qLinearMul},
		{"QLinearReduceMean", qLinearReduceMean},
		{"QLinearSigmoid", qLinearOf(unary("sigmoid"))},
		{"QLinearSoftmax", qLinearSoftmax},
		{"QLinearWhere", qLinearWhere},
		{"QuantizeLinear", newest(quantizeLinear)},
	}
}

// atOpset reads the node as one of the default domain in the given version.
func atOpset(opset int, f func(*node) []relay.Expr) func(*node) []relay.Expr {
	return func(n *node) []relay.Expr {
		m := *n
		m.opset = opset
		return f(&m)
	}
}

func newest(f func(*node) []relay.Expr) func(*node) []relay.Expr { return atOpset(newestOpset, f) }

// with returns a node of the newest default domain with other operands and some attributes set.
func (n *node) with(attrs []*pb.AttributeProto, args ...relay.Expr) *node {
	m := *n
	m.opset, m.args, m.attrs = newestOpset, args, maps.Clone(n.attrs)
	for _, a := range attrs {
		m.attrs[a.GetName()] = a
	}
	return &m
}

func intAttr(name string, v int) *pb.AttributeProto {
	return &pb.AttributeProto{Name: &name, Type: pb.AttributeProto_INT.Enum(), I: proto.Int64(int64(v))}
}

func floatAttr(name string, v float64) *pb.AttributeProto {
	return &pb.AttributeProto{Name: &name, Type: pb.AttributeProto_FLOAT.Enum(), F: proto.Float32(float32(v))}
}

// expandDims inserts an axis of extent 1 at a known place.
func expandDims(n *node) []relay.Expr {
	x := n.in(0)
	axis := n.axis(n.intAt(1, "the axis", 0), n.rank(x)+1)
	return one(n.reshape(x, slices.Insert(n.known(x).Clone(), axis, 1)))
}

// uniqueInPlace gives the distinct elements in the order in which they occur, which of them each element is, and how often
// each comes.
func uniqueInPlace(n *node) []relay.Expr {
	list := unique(n.with([]*pb.AttributeProto{intAttr("sorted", 0)}, n.args...))
	return []relay.Expr{list[0], list[2], list[3]}
}

// geluOf is x/2 · (1 + erf(x/√2)) of the sum of the operands, or its approximation.
func geluOf(approximate string) func(*node) []relay.Expr {
	return func(n *node) []relay.Expr {
		x := n.in(0)
		if bias := n.opt(1); bias != nil {
			n.sameType(x, bias)
			x = n.add(x, bias)
		}
		return one(n.call("nn.gelu", &relay.GeluAttrs{Approximate: approximate}, x))
	}
}

// quickGelu is x · sigmoid(alpha · x).
func quickGelu(n *node) []relay.Expr {
	return one(n.call("nn.swish", &relay.SwishAttrs{Beta: n.float("alpha", 1.702)}, n.in(0)))
}

// activated applies the activation that the node names; parameter i of it is given, or otherwise.
func (n *node) activated(x relay.Expr, given func(i int, otherwise float64) float64) relay.Expr {
	switch name := n.str("activation", ""); name {
	case "", "Identity":
		return x
	case "Relu":
		return n.call("nn.relu", nil, x)
	case "Sigmoid":
		return n.call("sigmoid", nil, x)
	case "Tanh":
		return n.call("tanh", nil, x)
	case "Softplus":
		return n.call("nn.softplus", nil, x)
	case "Softsign":
		return n.call("nn.softsign", nil, x)
	case "HardSwish":
		return n.call("nn.hard_swish", nil, x)
	case "Elu":
		return n.call("nn.elu", &relay.AlphaAttrs{Alpha: given(0, 1)}, x)
	case "LeakyRelu":
		return n.call("nn.leaky_relu", &relay.AlphaAttrs{Alpha: given(0, 0.01)}, x)
	case "ThresholdedRelu":
		return n.call("nn.thresholded_relu", &relay.AlphaAttrs{Alpha: given(0, 1)}, x)
	case "HardSigmoid":
		return n.call("nn.hard_sigmoid", &relay.HardSigmoidAttrs{Alpha: given(0, 0.2), Beta: given(1, 0.5)}, x)
	case "Clip":
		return n.clip(x, given(0, -tensor.MaxFinite(tensor.Float32)), given(1, tensor.MaxFinite(tensor.Float32)))
	default:
		n.failUnsupported("activation %q", name)
		return nil
	}
}

// fusedConv is activation(conv(X, W) + B + Z).
func fusedConv(n *node) []relay.Expr {
	y := conv(n)[0]
	if z := n.opt(3); z != nil {
		n.sameType(y, z)
		y = n.add(y, z)
	}
	params := n.floats("activation_params")
	return one(n.activated(y, func(i int, otherwise float64) float64 {
		if i < len(params) {
			return params[i]
		}
		return otherwise
	}))
}

// fusedGemm is activation(alpha · A · B + beta · C).
func fusedGemm(n *node) []relay.Expr {
	names := []string{"activation_alpha", "activation_beta", "activation_gamma"}
	return one(n.activated(newest(gemm)(n)[0], func(i int, otherwise float64) float64 { return n.float(names[i], otherwise) }))
}

// fusedMatMul is alpha · A · B. Before the product, transBatch turns the first axis behind the batch axes, and trans the last
// two.
func fusedMatMul(n *node) []relay.Expr {
	side := func(i int, transBatch, trans string) relay.Expr {
		x := n.in(i)
		rank := n.rank(x)
		if n.flag(transBatch, false) && rank > 2 {
			perm := []int{}
			for a := 1; a < rank-1; a++ {
				perm = append(perm, a)
			}
			x = n.transpose(x, append(perm, 0, rank-1))
		}
		if n.flag(trans, false) && rank > 1 {
			perm := make([]int, rank)
			for a := range perm {
				perm[a] = a
			}
			perm[rank-2], perm[rank-1] = rank-1, rank-2
			x = n.transpose(x, perm)
		}
		return x
	}
	n.sameType(n.in(0), n.in(1))
	return one(n.scaled(n.matmulAny(side(0, "transBatchA", "transA"), side(1, "transBatchB", "transB")), n.float("alpha", 1)))
}

// channels moves the last axis behind the first one, or back.
func (n *node) channels(x relay.Expr, back bool) relay.Expr {
	rank := n.rank(x)
	perm := []int{0, rank - 1}
	for a := 1; a < rank-1; a++ {
		perm = append(perm, a)
	}
	if back {
		inverse := make([]int, rank)
		for to, from := range perm {
			inverse[from] = to
		}
		perm = inverse
	}
	return n.transpose(x, perm)
}

// channelsLast lets an operator on (N, C, spatial) work on (N, spatial, C) where the node says so.
func channelsLast(f func(*node) []relay.Expr) func(*node) []relay.Expr {
	return func(n *node) []relay.Expr {
		if !n.flag("channels_last", false) {
			return newest(f)(n)
		}
		args := slices.Clone(n.args)
		n.wants(n.rank(n.in(0)) >= 3, "an operand of shape %v", n.shape(n.in(0)))
		args[0] = n.channels(n.in(0), false)
		return one(n.channels(f(n.with(nil, args...))[0], true))
	}
}

// nhwcMaxPool is MaxPool on (N, spatial, C).
func nhwcMaxPool(n *node) []relay.Expr {
	return channelsLast(maxPool)(n.with([]*pb.AttributeProto{intAttr("channels_last", 1)}, n.args...))
}

// summed is the sum of an operand, a skipped one that broadcasts to it, and a bias along the last axis.
func (n *node) summed(x, skip, bias relay.Expr) relay.Expr {
	n.sameType(x, skip)
	shape := n.known(x)
	sum := n.add(x, skip)
	if bias != nil {
		sum = n.add(sum, bias)
	}
	n.wants(n.shape(sum).Equal(shape), "a sum of shape %v for an operand of shape %v", n.shape(sum), shape)
	return sum
}

// skipEpsilon is the least variance of normalisations of sums.
const skipEpsilon = 1e-12

// skipLayerNorm normalises input + skip + bias over the last axis; it also gives the mean, 1/√(var + epsilon) and the sum.
func skipLayerNorm(n *node) []relay.Expr {
	sum := n.summed(n.in(0), n.in(1), n.opt(4))
	epsilon := floatAttr("epsilon", n.float("epsilon", skipEpsilon))
	out := layerNorm(n.with([]*pb.AttributeProto{epsilon}, sum, n.in(2), n.opt(3)))
	for len(out) < 3 {
		out = append(out, nil)
	}
	return append(out, sum)
}

// skipRMSNorm divides input + skip + bias by the root of the mean of its squares; it also gives the sum.
func skipRMSNorm(n *node) []relay.Expr {
	sum := n.summed(n.in(0), n.in(1), n.opt(3))
	epsilon := floatAttr("epsilon", n.float("epsilon", skipEpsilon))
	return []relay.Expr{rmsNorm(n.with([]*pb.AttributeProto{epsilon}, sum, n.in(2)))[0], nil, nil, sum}
}

// simplifiedLayerNorm is RMSNormalization before it had that name; it also gives 1/√(mean of x² + epsilon).
func simplifiedLayerNorm(n *node) []relay.Expr {
	if n.wantsOutput(1) {
		n.failUnsupported("the inverse deviation as a result")
	}
	return rmsNorm(n)
}

// embedLayerNorm looks words, positions and segments up, adds them and normalises over the last axis. It also gives how many
// words each row of the mask has, and the sum.
func embedLayerNorm(n *node) []relay.Expr {
	ids := n.in(0)
	s := n.known(ids)
	n.wants(len(s) == 2, "words of shape %v, wanted a batch of sequences", s)
	look := func(table, index relay.Expr) relay.Expr {
		n.wants(n.rank(table) == 2, "a table of shape %v", n.shape(table))
		return n.take(table, n.wrapped(index, n.known(table)[0]), 0)
	}
	sum := look(n.in(2), ids)
	if at := n.opt(8); at != nil {
		sum = n.add(sum, look(n.in(3), at))
	} else {
		n.wants(n.known(n.in(3))[0] >= s[1], "%d positions for sequences of %d", n.known(n.in(3))[0], s[1])
		sum = n.add(sum, n.sliceAxis(n.in(3), 0, 0, s[1]))
	}
	if segments := n.opt(1); segments != nil {
		sum = n.add(sum, look(n.in(4), segments))
	}
	epsilon := floatAttr("epsilon", n.float("epsilon", skipEpsilon))
	y := layerNorm(n.with([]*pb.AttributeProto{epsilon}, sum, n.in(5), n.in(6)))[0]
	words := n.zeros(tensor.Shape{s[0]}, tensor.Int32)
	if mask := n.opt(7); mask != nil {
		words = n.reduce("sum", n.cast(n.call("equal", nil, mask, n.like(mask, 1)), tensor.Int32), []int{1}, false)
	}
	return []relay.Expr{y, words, sum}
}
