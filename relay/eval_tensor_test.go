package relay

import (
	"math"

	"github.com/texel-ml/texel/tensor"
)

func pool(op string, f func(a *PoolAttrs)) any { return with(op, f) }

var tensorExamples = []example{
	// A 3×3 image with a 2×2 kernel of ones, then strided with padding.
	{"nn.conv2d", nil, []Value{count(1, 1, 3, 3), f32(dims(1, 1, 2, 2), 1, 1, 1, 1)}, f32(dims(1, 1, 2, 2), 8, 12, 20, 24)},
	{"nn.conv2d", with("nn.conv2d", func(a *ConvAttrs) { a.Strides, a.Padding = []int{2, 2}, []int{1, 0, 0, 1} }),
		[]Value{count(1, 1, 3, 3), f32(dims(1, 1, 2, 2), 1, 10, 100, 1000)},
		// Windows start in row −1 and at columns 0 and 2, column 3 being padding.
		f32(dims(1, 1, 2, 2), 100*0+1000*1, 100*2, 3+10*4+100*6+1000*7, 5+100*8)},
	{"nn.conv2d", with("nn.conv2d", func(a *ConvAttrs) { a.Dilation = []int{2, 2} }),
		[]Value{count(1, 1, 3, 3), f32(dims(1, 1, 2, 2), 1, 10, 100, 1000)}, f32(dims(1, 1, 1, 1), 0+20+600+8000)},
	{"nn.conv2d", with("nn.conv2d", func(a *ConvAttrs) { a.Groups, a.Channels, a.KernelSize = 2, 4, []int{1, 1} }),
		[]Value{f32(dims(1, 2, 1, 2), 1, 2, 3, 4), f32(dims(4, 1, 1, 1), 1, 10, 100, 1000)},
		f32(dims(1, 4, 1, 2), 1, 2, 10, 20, 300, 400, 3000, 4000)},
	// The same numbers, channels last and blocked.
	{"nn.conv2d", with("nn.conv2d", func(a *ConvAttrs) { a.DataLayout, a.KernelLayout, a.Groups = "NHWC", "HWIO", 2 }),
		[]Value{f32(dims(1, 1, 2, 2), 1, 3, 2, 4), f32(dims(1, 1, 1, 4), 1, 10, 100, 1000)},
		f32(dims(1, 1, 2, 4), 1, 10, 300, 3000, 2, 20, 400, 4000)},
	{"nn.conv2d", with("nn.conv2d", func(a *ConvAttrs) { a.DataLayout, a.KernelLayout = "NCHW2c", "OHWI4o" }),
		[]Value{f32(dims(1, 1, 1, 1, 2), 1, 2), f32(dims(1, 1, 1, 2, 4), 1, 2, 3, 4, 10, 20, 30, 40)},
		f32(dims(1, 2, 1, 1, 2), 21, 42, 63, 84)},
	{"nn.conv2d", with("nn.conv2d", func(a *ConvAttrs) { a.OutLayout = "NCHW4c" }),
		[]Value{f32(dims(1, 1, 1, 1), 2), f32(dims(4, 1, 1, 1), 1, 2, 3, 4)}, f32(dims(1, 1, 1, 1, 4), 2, 4, 6, 8)},
	{"nn.conv2d", with("nn.conv2d", func(a *ConvAttrs) { a.OutDType = tensor.Int32 }),
		[]Value{num(tensor.Int8, dims(1, 2, 1, 1), 100, 100), num(tensor.Int8, dims(1, 2, 1, 1), 100, 3)},
		num(tensor.Int32, dims(1, 1, 1, 1), 10300)},
	// Three output channels in a weight packed by four.
	{"nn.conv2d", with("nn.conv2d", func(a *ConvAttrs) { a.KernelLayout, a.Channels = "OHWI4o", 3 }),
		[]Value{f32(dims(1, 1, 1, 1), 2), f32(dims(1, 1, 1, 1, 4), 1, 2, 3, 0)}, f32(dims(1, 3, 1, 1), 2, 4, 6)},
	{"nn.conv2d", with("nn.conv2d", func(a *ConvAttrs) { a.KernelLayout, a.Channels, a.Groups = "OHWI4o", 3, 3 }),
		[]Value{f32(dims(1, 3, 1, 1), 2, 3, 4), f32(dims(1, 1, 1, 1, 4), 1, 2, 3, 0)}, f32(dims(1, 3, 1, 1), 2, 6, 12)},
	{"nn.conv1d", with("nn.conv1d", func(a *ConvAttrs) { a.Padding = []int{1, 1} }),
		[]Value{f32(dims(1, 1, 3), 1, 2, 3), f32(dims(1, 1, 3), 1, 10, 100)}, f32(dims(1, 1, 3), 210, 321, 32)},
	{"nn.conv3d", nil, []Value{count(1, 1, 2, 2, 2), f32(dims(1, 1, 2, 2, 2), 1, 0, 0, 0, 0, 0, 0, 10)}, f32(dims(1, 1, 1, 1, 1), 70)},

	{"nn.conv1d_transpose", with("nn.conv1d_transpose", func(a *ConvTransposeAttrs) { a.Strides, a.OutputPadding = []int{2}, []int{1} }),
		[]Value{f32(dims(1, 1, 2), 1, 2), f32(dims(1, 1, 3), 1, 10, 100)}, f32(dims(1, 1, 6), 1, 10, 102, 20, 200, 0)},
	{"nn.conv2d_transpose", with("nn.conv2d_transpose", func(a *ConvTransposeAttrs) { a.Padding = []int{0, 1, 0, 0} }),
		[]Value{f32(dims(1, 1, 1, 2), 1, 2), f32(dims(1, 1, 1, 2), 1, 10)}, f32(dims(1, 1, 1, 2), 12, 20)},
	{"nn.conv2d_transpose", with("nn.conv2d_transpose", func(a *ConvTransposeAttrs) { a.Groups = 2 }),
		[]Value{f32(dims(1, 2, 1, 1), 1, 2), f32(dims(2, 2, 1, 1), 1, 2, 3, 4)}, f32(dims(1, 4, 1, 1), 1, 2, 6, 8)},
	{"nn.conv3d_transpose", nil, []Value{f32(dims(1, 1, 1, 1, 1), 3), count(1, 1, 1, 2, 2)}, f32(dims(1, 1, 1, 2, 2), 0, 3, 6, 9)},

	{"nn.dense", nil, []Value{f32(dims(2, 3), 1, 2, 3, 4, 5, 6), f32(dims(2, 3), 1, 0, 1, 0, 1, 0)}, f32(dims(2, 2), 4, 2, 10, 5)},
	{"nn.dense", &DenseAttrs{Units: 3, WeightLayout: "NK2n"}, []Value{f32(dims(1, 2), 1, 10), f32(dims(2, 2, 2), 1, 2, 3, 4, 5, 0, 6, 0)},
		f32(dims(1, 3), 31, 42, 65)},
	{"nn.matmul", nil, []Value{f32(dims(2, 1, 2), 1, 2, 3, 4), f32(dims(2, 1), 10, 1)}, f32(dims(2, 1, 1), 12, 34)},
	{"nn.matmul", &MatmulAttrs{TransposeA: true, TransposeB: true}, []Value{f32(dims(2, 1), 1, 2), f32(dims(3, 2), 1, 2, 3, 4, 5, 6)},
		f32(dims(1, 3), 5, 11, 17)},
	{"nn.batch_matmul", nil, []Value{f32(dims(1, 1, 2), 1, 2), f32(dims(2, 1, 2), 1, 2, 3, 4)}, f32(dims(2, 1, 1), 5, 11)},
	{"nn.matmul", nil, []Value{num(tensor.Int32, dims(1, 1), 1<<20), num(tensor.Int32, dims(1, 1), 1<<12)}, num(tensor.Int32, dims(1, 1), 0)},

	{"nn.max_pool2d", pool("nn.max_pool2d", func(a *PoolAttrs) { a.PoolSize = []int{2, 2} }), []Value{count(1, 1, 3, 3)}, f32(dims(1, 1, 2, 2), 4, 5, 7, 8)},
	{"nn.max_pool2d", pool("nn.max_pool2d", func(a *PoolAttrs) { a.PoolSize, a.Padding, a.Strides = []int{2, 2}, []int{1, 1, 0, 0}, []int{2, 2} }),
		[]Value{f32(dims(1, 1, 2, 2), -4, -3, -2, nan)}, f32(dims(1, 1, 1, 1), -4)},
	{"nn.max_pool1d", pool("nn.max_pool1d", func(a *PoolAttrs) { a.PoolSize, a.Dilation = []int{2}, []int{2} }),
		[]Value{num(tensor.Int8, dims(1, 1, 4), -4, -3, -2, -8)}, num(tensor.Int8, dims(1, 1, 2), -2, -3)},
	{"nn.max_pool3d", pool("nn.max_pool3d", func(a *PoolAttrs) { a.PoolSize = []int{2, 2, 2} }), []Value{count(1, 1, 2, 2, 2)}, f32(dims(1, 1, 1, 1, 1), 7)},
	{"nn.max_pool2d", pool("nn.max_pool2d", func(a *PoolAttrs) { a.PoolSize, a.Layout = []int{1, 2}, "NHWC" }),
		[]Value{f32(dims(1, 1, 2, 2), 1, 4, 3, 2)}, f32(dims(1, 1, 1, 2), 3, 4)},
	{"nn.max_pool2d_with_argmax", pool("nn.max_pool2d_with_argmax", func(a *PoolAttrs) { a.PoolSize, a.Strides = []int{2, 2}, []int{2, 2} }),
		[]Value{f32(dims(1, 2, 2, 2), 1, 9, 9, 0, 5, 1, 1, 7)}, Values{f32(dims(1, 2, 1, 1), 9, 7), i64(dims(1, 2, 1, 1), 1, 7)}},
	// The window that ceil mode adds holds one column of the input and one beyond it.
	{"nn.avg_pool2d", pool("nn.avg_pool2d", func(a *PoolAttrs) {
		a.PoolSize, a.Strides, a.CeilMode, a.CountIncludePad = []int{1, 2}, []int{1, 2}, true, true
	}), []Value{f32(dims(1, 1, 1, 3), 2, 4, 6)}, f32(dims(1, 1, 1, 2), 3, 6)},
	{"nn.avg_pool2d", pool("nn.avg_pool2d", func(a *PoolAttrs) { a.PoolSize, a.Padding, a.CountIncludePad = []int{1, 2}, []int{0, 1, 0, 0}, true }),
		[]Value{f32(dims(1, 1, 1, 2), 2, 4)}, f32(dims(1, 1, 1, 2), 1, 3)},
	{"nn.avg_pool1d", pool("nn.avg_pool1d", func(a *PoolAttrs) { a.PoolSize, a.Padding = []int{2}, []int{1, 0} }),
		[]Value{f32(dims(1, 1, 2), 2, 4)}, f32(dims(1, 1, 2), 2, 3)},
	{"nn.avg_pool3d", pool("nn.avg_pool3d", func(a *PoolAttrs) { a.PoolSize = []int{1, 2, 2} }), []Value{count(1, 1, 1, 2, 2)}, f32(dims(1, 1, 1, 1, 1), 1.5)},
	{"nn.global_avg_pool2d", nil, []Value{count(1, 2, 2, 2)}, f32(dims(1, 2, 1, 1), 1.5, 5.5)},
	{"nn.global_avg_pool2d", &GlobalPoolAttrs{"NCW"}, []Value{count(1, 2, 2)}, f32(dims(1, 2, 1), 0.5, 2.5)},
	{"nn.global_max_pool2d", &GlobalPoolAttrs{"NHWC2c"}, []Value{f32(dims(1, 1, 2, 1, 2), 1, 5, 3, 2)}, f32(dims(1, 1, 1, 1, 2), 3, 5)},
	{"nn.adaptive_avg_pool2d", &AdaptivePoolAttrs{[]int{1, 2}, "NCHW"}, []Value{count(1, 1, 1, 3)}, f32(dims(1, 1, 1, 2), 0.5, 1.5)},
	{"nn.adaptive_max_pool2d", &AdaptivePoolAttrs{[]int{2, 1}, "NCHW"}, []Value{count(1, 1, 2, 2)}, f32(dims(1, 1, 2, 1), 1, 3)},

	{"sum", nil, []Value{count(2, 3)}, f32(dims(), 15)},
	{"sum", &ReduceAttrs{Axis: []int{0}}, []Value{count(2, 3)}, f32(dims(3), 3, 5, 7)},
	{"sum", &ReduceAttrs{Axis: []int{-1}, Keepdims: true}, []Value{count(2, 3)}, f32(dims(2, 1), 3, 12)},
	{"sum", &ReduceAttrs{Axis: []int{0}, Exclude: true}, []Value{count(2, 3)}, f32(dims(2), 3, 12)},
	{"sum", &ReduceAttrs{Axis: []int{}}, []Value{count(2)}, count(2)},
	{"sum", &ReduceAttrs{Axis: []int{1}}, []Value{num(tensor.Int8, dims(1, 2), 100, 100)}, num(tensor.Int8, dims(1), -56)},
	{"sum", &ReduceAttrs{Axis: []int{0}}, []Value{f32(dims(0, 2))}, f32(dims(2), 0, 0)},
	{"mean", &ReduceAttrs{Axis: []int{1}}, []Value{count(2, 3)}, f32(dims(2), 1, 4)},
	{"mean", nil, []Value{num(tensor.Int32, dims(2), -3, 0)}, num(tensor.Int32, dims(), -1)},
	{"prod", nil, []Value{vec(2, 3, 4)}, f32(dims(), 24)},
	{"max", &ReduceAttrs{Axis: []int{0}}, []Value{f32(dims(2, 2), 1, nan, 3, 2)}, vec(3, nan)},
	{"max", &ReduceAttrs{Axis: []int{0}}, []Value{num(tensor.Int8, dims(0, 1))}, num(tensor.Int8, dims(1), -128)},
	{"min", nil, []Value{vec(2, -3, 4)}, f32(dims(), -3)},
	{"logsumexp", nil, []Value{vec(1000, 1000)}, f32(dims(), 1000+math.Ln2)},
	{"all", nil, []Value{boolean(dims(2), 1, 0)}, boolean(dims(), 0)},
	{"any", &ReduceAttrs{Axis: []int{1}}, []Value{boolean(dims(2, 2), 1, 0, 0, 0)}, boolean(dims(2), 1, 0)},
	{"argmax", &ArgReduceAttrs{Axis: []int{1}, DType: tensor.Int64}, []Value{f32(dims(2, 3), 1, 3, 3, 5, nan, 9)}, i64(dims(2), 1, 1)},
	{"argmax", &ArgReduceAttrs{Axis: []int{1}, DType: tensor.Int32, SelectLastIndex: true, Keepdims: true}, []Value{f32(dims(1, 3), 1, 3, 3)},
		num(tensor.Int32, dims(1, 1), 2)},
	{"argmin", &ArgReduceAttrs{DType: tensor.Int64}, []Value{f32(dims(2, 2), 3, 2, 1, 5)}, i64(dims(), 2)},

	{"nn.softmax", nil, []Value{f32(dims(1, 2), 1000, 1000+math.Ln2)}, f32(dims(1, 2), 1.0/3, 2.0/3)},
	{"nn.softmax", &AxisAttrs{0}, []Value{f32(dims(2, 2), 0, 0, math.Ln2*2, 0)}, f32(dims(2, 2), 0.2, 0.5, 0.8, 0.5)},
	{"nn.log_softmax", nil, []Value{vec(0, 0)}, vec(-math.Ln2, -math.Ln2)},
	{"nn.batch_norm", &BatchNormAttrs{1, 0, true, true}, []Value{f32(dims(1, 2, 1), 3, 5), vec(2, 3), vec(1, 1), vec(1, 1), vec(4, 4)},
		Values{f32(dims(1, 2, 1), 3, 7), vec(1, 1), vec(4, 4)}},
	{"nn.layer_norm", &NormAttrs{-1, 0, true, true}, []Value{f32(dims(1, 2), 1, 3), vec(1, 10), vec(0, 1)}, f32(dims(1, 2), -1, 11)},
	{"nn.instance_norm", &NormAttrs{1, 0, true, true}, []Value{f32(dims(1, 2, 2), 1, 3, 10, 30), vec(1, 2), vec(0, 1)}, f32(dims(1, 2, 2), -1, 1, -1, 3)},
	{"nn.rms_norm", &RMSNormAttrs{-1, 2}, []Value{f32(dims(2, 2), 1, 3, 0, -2), vec(1, 10)}, f32(dims(2, 2), 1/math.Sqrt(7), 30/math.Sqrt(7), 0, -10)},
	// Of scores 0 and ln 2 the weights are 1/3 and 2/3; the mask adds ln 3 to the first, or takes the second away.
	{"nn.attention", &AttentionAttrs{Scale: 0.5}, []Value{f32(dims(1, 2), 2, 4), f32(dims(2, 2), 2, -1, math.Ln2, 0), f32(dims(2, 1), 3, 6), f32(dims(), 0)},
		f32(dims(1, 1), 5)},
	{"nn.attention", &AttentionAttrs{Scale: 1, TransposeQ: true, TransposeK: true, TransposeV: true},
		[]Value{f32(dims(1, 2), 1, 1), f32(dims(1, 2), 0, math.Ln2), f32(dims(1, 2), 3, 6), f32(dims(2, 2), math.Log(3), 0, 0, math.Inf(-1))}, f32(dims(2, 1), 4.2, 3)},
	{"nn.attention", &AttentionAttrs{Scale: 1}, []Value{f32(dims(2, 1, 1, 1), 1, 2), f32(dims(1, 2, 1), 0, math.Ln2), f32(dims(2, 1), 3, 6), f32(dims(2, 1, 1, 1), 7, 9)},
		f32(dims(2, 1, 1, 1), 5, 5.4)},
	{"nn.group_norm", &GroupNormAttrs{1, 1, 0, true, true}, []Value{f32(dims(1, 2, 2), 1, 1, 3, 3), vec(1, 2), vec(0, 1)}, f32(dims(1, 2, 2), -1, -1, 3, 3)},
	{"nn.lrn", &LRNAttrs{2, 1, 1, 2, 1}, []Value{f32(dims(1, 3, 1), 1, 2, 3)}, f32(dims(1, 3, 1), 1.0/6, 2.0/14, 3.0/10)},
	{"nn.l2_normalize", &L2NormalizeAttrs{1e-12, []int{1}}, []Value{f32(dims(2, 2), 3, 4, 0, 0)}, f32(dims(2, 2), 0.6, 0.8, 0, 0)},
	{"nn.squeeze_excite", &SqueezeExciteAttrs{"relu", "hard_sigmoid", 0.5, 0.5, "NCHW", ""},
		// Means 1 and 3; hidden relu(1 − 3 + 1) = 0 and 4; second layer 4·0.1 + 0.1 and 4·0.2.
		[]Value{f32(dims(1, 2, 1, 2), 0, 2, 2, 4), f32(dims(2, 2), 1, -1, 1, 1), vec(1, 0), f32(dims(2, 2), 9, 0.1, 9, 0.2), vec(0.1, 0)},
		f32(dims(1, 2, 1, 1), 0.75, 0.9)},
	{"nn.squeeze_excite", &SqueezeExciteAttrs{"relu", "sigmoid", 0, 0, "NHWC4c", "OI"},
		[]Value{f32(dims(1, 1, 1, 1, 4), 1, 0, 0, 0), f32(dims(1, 2), 1, 1), vec(0), f32(dims(2, 1), 0, 1000), vec(0, 0)},
		f32(dims(1, 1, 1, 1, 4), 0.5, 1, 0, 0)},
	// The first example with its weights turned.
	{"nn.squeeze_excite", &SqueezeExciteAttrs{"relu", "hard_sigmoid", 0.5, 0.5, "NCHW", "IO"},
		[]Value{f32(dims(1, 2, 1, 2), 0, 2, 2, 4), f32(dims(2, 2), 1, 1, -1, 1), vec(1, 0), f32(dims(2, 2), 9, 9, 0.1, 0.2), vec(0.1, 0)},
		f32(dims(1, 2, 1, 1), 0.75, 0.9)},
}
