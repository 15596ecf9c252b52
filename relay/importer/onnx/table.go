package onnx

import "github.com/texel-ml/texel/relay"

// row is one operator of the format. What changed between versions is inside the function, which asks for n.opset.
type row struct {
	name    string
	convert func(n *node) []relay.Expr
}

type rowKey struct{ domain, name string }

// rowsByName indexes the tables.
func rowsByName() map[rowKey]*row {
	rows := map[rowKey]*row{}
	for domain, list := range map[string][]row{"": defaultRows(), microsoftDomain: microsoftRows()} {
		for i := range list {
			rows[rowKey{domain, list[i].name}] = &list[i]
		}
	}
	return rows
}

// defaultRows are the operators of the default domain, by family.
func defaultRows() []row {
	return []row{
		// one operand, each element by itself
		{"Abs", unary("abs")},
		{"Acos", unary("acos")},
		{"Acosh", unary("acosh")},
		{"Asin", unary("asin")},
		{"Asinh", unary("asinh")},
		{"Atan", unary("atan")},
		{"Atanh", unary("atanh")},
		{"BitwiseNot", unary("bitwise_not")},
		{"Ceil", unary("ceil")},
		{"Cos", unary("cos")},
		{"Cosh", unary("cosh")},
		{"Erf", unary("erf")},
		{"Exp", unary("exp")},
		{"Floor", unary("floor")},
		{"Identity", identity},
		{"IsInf", isInf},
		{"IsNaN", unary("isnan")},
		{"Log", unary("log")},
		{"Neg", unary("negative")},
		{"Not", unary("logical_not")},
		{"Reciprocal", unary("reciprocal")},
		{"Round", unary("round")},
		{"Sign", unary("sign")},
		{"Sin", unary("sin")},
		{"Sinh", unary("sinh")},
		{"Sqrt", unary("sqrt")},
		{"Tan", unary("tan")},
		{"Cast", cast},
		{"CastLike", castLike},
		{"BitCast", bitCast},

		// activations
		{"Celu", activation("nn.celu", alpha(1))},
		{"Clip", clip},
		{"Elu", activation("nn.elu", alpha(1))},
		{"Gelu", activation("nn.gelu", geluAttrs)},
		{"HardSigmoid", activation("nn.hard_sigmoid", hardSigmoidAttrs)},
		{"HardSwish", unary("nn.hard_swish")},
		{"LeakyRelu", activation("nn.leaky_relu", alpha(0.01))},
		{"Mish", unary("nn.mish")},
		{"PRelu", prelu},
		{"Relu", unary("nn.relu")},
		{"Selu", activation("nn.selu", seluAttrs)},
		{"Shrink", shrink},
		{"Sigmoid", unary("sigmoid")},
		{"Softplus", unary("nn.softplus")},
		{"Softsign", unary("nn.softsign")},
		{"SwiGLU", swiGLU},
		{"Swish", activation("nn.swish", swishAttrs)},
		{"Tanh", unary("tanh")},
		{"ThresholdedRelu", activation("nn.thresholded_relu", alpha(1))},

		// operands that broadcast
		{"Add", broadcasting("add")},
		{"And", broadcasting("logical_and")},
		{"BitShift", bitShift},
		{"BitwiseAnd", broadcasting("bitwise_and")},
		{"BitwiseOr", broadcasting("bitwise_or")},
		{"BitwiseXor", broadcasting("bitwise_xor")},
		{"Div", div},
		{"Equal", broadcasting("equal")},
		{"Greater", broadcasting("greater")},
		{"GreaterOrEqual", broadcasting("greater_equal")},
		{"Less", broadcasting("less")},
		{"LessOrEqual", broadcasting("less_equal")},
		{"Max", variadic("maximum")},
		{"Mean", mean},
		{"Min", variadic("minimum")},
		{"Mod", mod},
		{"Mul", broadcasting("multiply")},
		{"Or", broadcasting("logical_or")},
		{"Pow", pow},
		{"Sub", broadcasting("subtract")},
		{"Sum", variadic("add")},
		{"Where", where},
		{"Xor", broadcasting("logical_xor")},

		// shapes and filled tensors
		{"CenterCropPad", centerCropPad},
		{"Concat", concat},
		{"Constant", constant},
		{"ConstantOfShape", constantOfShape},
		{"DepthToSpace", block("nn.depth_to_space")},
		{"Expand", expand},
		{"EyeLike", eyeLike},
		{"Flatten", flatten},
		{"Pad", pad},
		{"Range", rangeOf},
		{"Reshape", reshape},
		{"Shape", shapeOf},
		{"Size", size},
		{"Slice", slice},
		{"SpaceToDepth", block("nn.space_to_depth")},
		{"Split", split},
		{"Squeeze", squeeze},
		{"Tile", tile},
		{"Transpose", transpose},
		{"Trilu", trilu},
		{"Unsqueeze", unsqueeze},

		// computed places
		{"Compress", compress},
		{"Gather", gather},
		{"GatherElements", gatherElements},
		{"GatherND", gatherND},
		{"NonZero", nonZero},
		{"OneHot", oneHot},
		{"ReverseSequence", reverseSequence},
		{"Scatter", scatterElements},
		{"ScatterElements", scatterElements},
		{"ScatterND", scatterND},
		{"TensorScatter", tensorScatter},
		{"Unique", unique},

		// reductions, scans and order
		{"ArgMax", arg("argmax")},
		{"ArgMin", arg("argmin")},
		{"CumProd", cumulative("cumprod")},
		{"CumSum", cumulative("cumsum")},
		{"Hardmax", hardmax},
		{"LogSoftmax", softmax("nn.log_softmax")},
		{"LpNormalization", lpNormalization},
		{"ReduceL1", reduce("sum", 18, absOf, nil)},
		{"ReduceL2", reduce("sum", 18, squareOf, rootOf)},
		{"ReduceLogSum", reduce("sum", 18, nil, logOf)},
		{"ReduceLogSumExp", reduce("logsumexp", 18, nil, nil)},
		{"ReduceMax", reduce("max", 18, nil, nil)},
		{"ReduceMean", reduce("mean", 18, nil, nil)},
		{"ReduceMin", reduce("min", 18, nil, nil)},
		{"ReduceProd", reduce("prod", 18, nil, nil)},
		{"ReduceSum", reduce("sum", 13, nil, nil)},
		{"ReduceSumSquare", reduce("sum", 18, squareOf, nil)},
		{"Softmax", softmax("nn.softmax")},
		{"TopK", topK},

		// convolutions, pools and products
		{"AveragePool", averagePool},
		{"Col2Im", col2Im},
		{"Conv", conv},
		{"ConvTranspose", convTranspose},
		{"DeformConv", deformConv},
		{"Det", det},
		{"Gemm", gemm},
		{"GlobalAveragePool", globalPool("nn.global_avg_pool2d", "mean")},
		{"GlobalLpPool", globalLpPool},
		{"GlobalMaxPool", globalPool("nn.global_max_pool2d", "max")},
		{"LpPool", lpPool},
		{"MatMul", matMul},
		{"MaxPool", maxPool},
		{"MaxRoiPool", maxRoiPool},
		{"MaxUnpool", maxUnpool},

		// normalisations
		{"BatchNormalization", batchNorm},
		{"Dropout", dropout},
		{"GroupNormalization", groupNorm},
		{"InstanceNormalization", instanceNorm},
		{"LRN", lrn},
		{"LayerNormalization", layerNorm},
		{"MeanVarianceNormalization", meanVarianceNorm},
		{"RMSNormalization", rmsNorm},
		{"SimplifiedLayerNormalization", simplifiedLayerNorm},

		// sequences
		{"Attention", attention},
		{"CausalConvWithState", causalConvWithState},
		{"GRU", recurrent(3, []string{"Sigmoid", "Tanh"}, gruCell)},
		{"LSTM", recurrent(4, []string{"Sigmoid", "Tanh", "Tanh"}, lstmCell)},
		{"LinearAttention", linearAttention},
		{"RNN", recurrent(1, []string{"Tanh"}, rnnCell)},
		{"RotaryEmbedding", rotaryEmbedding},

		// control flow whose course is known
		{"If", ifElse},
		{"Loop", loop},
		{"Scan", scan},

		// losses and sums of products
		{"Einsum", einsum},
		{"NegativeLogLikelihoodLoss", negativeLogLikelihood},
		{"SoftmaxCrossEntropyLoss", softmaxCrossEntropy},

		// signals
		{"BlackmanWindow", raisedCosine(0.42, -0.5, 0.08)},
		{"DFT", dft},
		{"HammingWindow", raisedCosine(25./46, -21./46)},
		{"HannWindow", raisedCosine(0.5, -0.5)},
		{"MelWeightMatrix", melWeightMatrix},
		{"STFT", stft},

		// pictures and detection
		{"AffineGrid", affineGrid},
		{"GridSample", gridSample},
		{"NonMaxSuppression", nonMaxSuppression},
		{"Resize", resize},
		{"RoiAlign", roiAlign},
		{"Upsample", upsample},

		// quantized
		{"ConvInteger", convInteger},
		{"DequantizeLinear", dequantizeLinear},
		{"DynamicQuantizeLinear", dynamicQuantizeLinear},
		{"MatMulInteger", matMulInteger},
		{"QLinearConv", qLinearConv},
		{"QLinearMatMul", qLinearMatMul},
		{"QuantizeLinear", quantizeLinear},
	}
}

// refused says why some operators of the default domain have no row.
var refused = map[string]string{
	"Bernoulli":          "the result is a random draw",
	"Multinomial":        "the result is a random draw",
	"RandomNormal":       "the result is a random draw",
	"RandomNormalLike":   "the result is a random draw",
	"RandomUniform":      "the result is a random draw",
	"RandomUniformLike":  "the result is a random draw",
	"ConcatFromSequence": "sequences are not done here",
	"SequenceAt":         "sequences are not done here",
	"SequenceConstruct":  "sequences are not done here",
	"SequenceEmpty":      "sequences are not done here",
	"SequenceErase":      "sequences are not done here",
	"SequenceInsert":     "sequences are not done here",
	"SequenceLength":     "sequences are not done here",
	"SequenceMap":        "sequences are not done here",
	"SplitToSequence":    "sequences are not done here",
	"Optional":           "optional values are not done here",
	"OptionalGetElement": "optional values are not done here",
	"OptionalHasElement": "optional values are not done here",
	"RegexFullMatch":     "text is not done here",
	"StringConcat":       "text is not done here",
	"StringNormalizer":   "text is not done here",
	"StringSplit":        "text is not done here",
	"TfIdfVectorizer":    "text is not done here",
	"ImageDecoder":       "pictures are decoded by the program that runs the model",
}
