package relay

import (
	"math"

	"github.com/texel-ml/texel/tensor"
)

func resize(f func(a *ResizeAttrs)) any { return with("image.resize", f) }

func grid(f func(a *GridSampleAttrs)) any { return with("image.grid_sample", f) }

var movingExamples = []example{
	{"reshape", &ReshapeAttrs{[]int{3, 2}}, []Value{count(2, 3)}, count(3, 2)},
	{"expand_dims", &ExpandDimsAttrs{-1, 2}, []Value{count(2)}, count(2, 1, 1)},
	{"squeeze", nil, []Value{count(1, 2, 1)}, count(2)},
	{"squeeze", &SqueezeAttrs{[]int{-1}}, []Value{count(1, 2, 1)}, count(1, 2)},
	{"transpose", nil, []Value{count(2, 3)}, f32(dims(3, 2), 0, 3, 1, 4, 2, 5)},
	{"transpose", &TransposeAttrs{[]int{0, 2, -2}}, []Value{count(1, 2, 2)}, f32(dims(1, 2, 2), 0, 2, 1, 3)},
	{"broadcast_to", &ShapeAttrs{[]int{2, 2}}, []Value{f32(dims(2, 1), 1, 2)}, f32(dims(2, 2), 1, 1, 2, 2)},
	{"tile", &TileAttrs{[]int{2, 1, 2}}, []Value{count(1, 2)}, f32(dims(2, 1, 4), 0, 1, 0, 1, 0, 1, 0, 1)},
	{"repeat", &RepeatAttrs{2, 0}, []Value{count(2, 2)}, f32(dims(4, 2), 0, 1, 0, 1, 2, 3, 2, 3)},
	{"reverse", &AxisAttrs{1}, []Value{count(2, 2)}, f32(dims(2, 2), 1, 0, 3, 2)},
	{"layout_transform", &LayoutTransformAttrs{"NCHW", "NCHW2c", 0}, []Value{count(1, 3, 1, 2)},
		f32(dims(1, 2, 1, 2, 2), 0, 2, 1, 3, 4, 0, 5, 0)},
	{"layout_transform", &LayoutTransformAttrs{"NCHW2c", "NHWC", 3}, []Value{f32(dims(1, 2, 1, 1, 2), 1, 2, 3, 4)}, f32(dims(1, 1, 1, 3), 1, 2, 3)},
	{"nn.space_to_depth", &BlockAttrs{2, "NCHW", "DCR"}, []Value{count(1, 2, 2, 2)}, f32(dims(1, 8, 1, 1), 0, 4, 1, 5, 2, 6, 3, 7)},
	{"nn.space_to_depth", &BlockAttrs{2, "NCHW", "CRD"}, []Value{count(1, 2, 2, 2)}, f32(dims(1, 8, 1, 1), 0, 1, 2, 3, 4, 5, 6, 7)},
	{"nn.depth_to_space", &BlockAttrs{2, "NCHW", "DCR"}, []Value{f32(dims(1, 8, 1, 1), 0, 4, 1, 5, 2, 6, 3, 7)}, count(1, 2, 2, 2)},
	{"nn.depth_to_space", &BlockAttrs{2, "NCHW", "CRD"}, []Value{f32(dims(1, 8, 1, 1), 0, 1, 2, 3, 4, 5, 6, 7)}, count(1, 2, 2, 2)},
	{"nn.depth_to_space", &BlockAttrs{2, "NHWC", "DCR"}, []Value{count(1, 1, 2, 4)}, f32(dims(1, 2, 4, 1), 0, 1, 4, 5, 2, 3, 6, 7)},
	{"channel_shuffle", &ChannelShuffleAttrs{2, 1}, []Value{count(1, 6)}, f32(dims(1, 6), 0, 3, 1, 4, 2, 5)},
	{"trilu", &TriluAttrs{true, 1}, []Value{count(2, 3)}, f32(dims(2, 3), 0, 1, 2, 0, 0, 5)},
	{"trilu", &TriluAttrs{false, 0}, []Value{count(2, 3)}, f32(dims(2, 3), 0, 0, 0, 3, 4, 0)},

	{"concatenate", &ConcatAttrs{1}, []Value{Values{count(2, 1), count(2, 2)}}, f32(dims(2, 3), 0, 0, 1, 1, 2, 3)},
	{"stack", &ConcatAttrs{-1}, []Value{Values{count(2), vec(5, 6)}}, f32(dims(2, 2), 0, 5, 1, 6)},
	{"split", &SplitAttrs{[]int{1, 1}, 1}, []Value{count(2, 3)}, Values{f32(dims(2, 1), 0, 3), f32(dims(2, 0)), f32(dims(2, 2), 1, 2, 4, 5)}},
	{"strided_slice", &StridedSliceAttrs{Begin: []int{1}, End: []int{math.MaxInt}, Strides: []int{2}}, []Value{count(6)}, vec(1, 3, 5)},
	{"strided_slice", &StridedSliceAttrs{Begin: []int{-1}, End: []int{math.MinInt}, Strides: []int{-3}, Axes: []int{-1}}, []Value{count(8)}, vec(7, 4, 1)},
	{"strided_slice", &StridedSliceAttrs{Begin: []int{5}, End: []int{2}}, []Value{count(8)}, f32(dims(0))},
	{"strided_slice", &StridedSliceAttrs{Begin: []int{100}, End: []int{2}, Strides: []int{math.MinInt}}, []Value{count(8)}, vec(7)},
	{"nn.pad", &PadAttrs{[]int{1, 2}, "constant"}, []Value{vec(1, 2), f32(dims(), 9)}, vec(9, 1, 2, 9, 9)},
	{"nn.pad", &PadAttrs{[]int{-1, 1}, "constant"}, []Value{vec(1, 2), f32(dims(), 9)}, vec(2, 9)},
	{"nn.pad", &PadAttrs{[]int{2, 1}, "reflect"}, []Value{vec(1, 2, 3), f32(dims(), 0)}, vec(3, 2, 1, 2, 3, 2)},
	{"nn.pad", &PadAttrs{[]int{0, 0, 1, 1}, "edge"}, []Value{count(2, 2), f32(dims(), 0)}, f32(dims(2, 4), 0, 0, 1, 1, 2, 2, 3, 3)},
	{"nn.pad", &PadAttrs{[]int{1, 2}, "wrap"}, []Value{vec(1, 2, 3), f32(dims(), 0)}, vec(3, 1, 2, 3, 1, 2)},
	{"full", &FullAttrs{Shape: []int{2}}, []Value{num(tensor.Bool, dims(), 1)}, boolean(dims(2), 1, 1)},
	{"zeros", &FullAttrs{[]int{2}, tensor.Int8}, nil, num(tensor.Int8, dims(2), 0, 0)},
	{"ones", &FullAttrs{[]int{1, 2}, tensor.Float32}, nil, f32(dims(1, 2), 1, 1)},
	{"arange", &ArangeAttrs{10, 6, -3, tensor.Float32}, nil, vec(10, 7)},
	{"arange", &ArangeAttrs{0, 3, 1, tensor.Int64}, nil, i64(dims(3), 0, 1, 2)},
	{"eye", &EyeAttrs{[]int{2, 3}, 1, tensor.Float32}, nil, f32(dims(2, 3), 0, 1, 0, 0, 0, 1)},
	{"one_hot", &OneHotAttrs{Depth: 3, Axis: 0}, []Value{i64(dims(2), -1, 0), vec(5), vec(2)}, f32(dims(3, 2), 2, 5, 2, 2, 5, 2)},
	{"one_hot", &OneHotAttrs{Depth: 2, Axis: -1}, []Value{i64(dims(2), 1, 7), vec(1), vec(0)}, f32(dims(2, 2), 0, 1, 0, 0)},

	{"take", &TakeAttrs{1, "clip"}, []Value{count(2, 3), i64(dims(1, 2), -1, 9)}, f32(dims(2, 1, 2), 2, 2, 5, 5)},
	{"take", &TakeAttrs{0, "wrap"}, []Value{count(3), i64(dims(2), 4, -4)}, vec(1, 2)},
	{"take", &TakeAttrs{0, "clip"}, []Value{count(2, 2), i64(dims(), 1)}, vec(2, 3)},
	{"gather", &AxisAttrs{1}, []Value{count(2, 2), i64(dims(2, 2), 0, 0, -1, 0)}, f32(dims(2, 2), 0, 0, 3, 2)},
	{"gather", &AxisAttrs{0}, []Value{count(3, 2), i64(dims(1, 2), 2, 1)}, f32(dims(1, 2), 4, 3)},
	{"gather_nd", nil, []Value{count(2, 2), i64(dims(2, 1), 1, -1)}, vec(3)},
	{"gather_nd", nil, []Value{count(2, 2), i64(dims(1, 2), 1, 0)}, f32(dims(2, 2), 2, 3, 0, 1)},
	{"gather_nd", &GatherNDAttrs{1}, []Value{count(2, 2, 1), i64(dims(1, 2), 1, 0)}, f32(dims(2, 1), 1, 2)},
	{"scatter_elements", &ScatterElementsAttrs{0, "update"}, []Value{count(3, 1), i64(dims(2, 1), -1, 7), f32(dims(2, 1), 9, 8)}, f32(dims(3, 1), 0, 1, 9)},
	{"scatter_elements", &ScatterElementsAttrs{1, "add"}, []Value{count(1, 2), i64(dims(1, 2), 1, 1), f32(dims(1, 2), 5, 6)}, f32(dims(1, 2), 0, 12)},
	{"scatter_elements", &ScatterElementsAttrs{0, "max"}, []Value{i64(dims(2), 5, 5), i64(dims(2), 0, 1), i64(dims(2), 4, 6)}, i64(dims(2), 5, 6)},
	{"scatter_nd", &ScatterNDAttrs{"mul"}, []Value{count(2, 2), i64(dims(1, 1), 1), f32(dims(1, 2), 10, 100)}, f32(dims(2, 2), 0, 1, 20, 300)},
	{"scatter_nd", &ScatterNDAttrs{"min"}, []Value{count(2, 2), i64(dims(2, 2), 0, 1, 1, 1), vec(-1, 9)}, f32(dims(2, 2), 0, -1, 2, 3)},
	{"argwhere", nil, []Value{f32(dims(2, 2), 0, 1, 2, 0)}, Values{i64(dims(4, 2), 0, 1, 1, 0, -1, -1, -1, -1), i64(dims(1), 2)}},
	{"reverse_sequence", &ReverseSequenceAttrs{0, 1}, []Value{count(3, 2), i64(dims(2), 2, 3)}, f32(dims(3, 2), 2, 5, 0, 3, 4, 1)},

	{"image.resize2d", with("image.resize2d", func(a *ResizeAttrs) {
		a.Size, a.Layout, a.Method, a.CoordinateTransform, a.RoundingMethod = []int{1, 4}, "NHWC", "nearest_neighbor", "asymmetric", "floor"
	}), []Value{f32(dims(1, 1, 2, 2), 1, 2, 3, 4)}, f32(dims(1, 1, 4, 2), 1, 2, 1, 2, 3, 4, 3, 4)},
	{"image.resize", resize(func(a *ResizeAttrs) { a.Size = []int{4} }), []Value{vec(0, 4)}, vec(0, 1, 3, 4)},
	{"image.resize", resize(func(a *ResizeAttrs) {
		a.Size, a.CoordinateTransform, a.Method, a.RoundingMethod = []int{2}, "tf_half_pixel_for_nn", "nearest_neighbor", "floor"
	}), []Value{vec(0, 1, 2, 3)}, vec(1, 3)},
	{"image.resize", resize(func(a *ResizeAttrs) { a.Size, a.CoordinateTransform = []int{3}, "align_corners" }), []Value{vec(0, 4)}, vec(0, 2, 4)},
	{"image.resize", resize(func(a *ResizeAttrs) { a.Size, a.Antialias = []int{2}, true }), []Value{vec(0, 0, 8, 8)}, vec(1, 7)}, // the first reads (0, 0, 0, 8) with weights 1/8, 3/8, 3/8, 1/8
	{"image.resize", resize(func(a *ResizeAttrs) { a.Size, a.Method = []int{4}, "cubic" }), []Value{vec(0, 4)},
		// At −1/4 and 1/4 of a step between two samples whose neighbours repeat them.
		vec(4*-0.1054687500, 4*0.2265625-4*0.0, 4*(1-0.2265625), 4*(1+0.1054687500))},
	{"image.resize", resize(func(a *ResizeAttrs) {
		a.Size, a.CoordinateTransform, a.Roi, a.ExtrapolationValue = []int{3}, "tf_crop_and_resize", []float64{0, 2}, 9
	}), []Value{vec(0, 4)}, vec(0, 4, 9)},
	{"image.resize", resize(func(a *ResizeAttrs) {
		a.Size, a.Scales, a.Method, a.RoundingMethod = []int{7}, []float64{1.5}, "nearest_neighbor", "floor"
	}), []Value{vec(0, 1, 2, 3, 4)}, vec(0, 0, 1, 1, 2, 3, 3)},
	{"image.resize", resize(func(a *ResizeAttrs) { a.Size, a.Axes = []int{1}, []int{-1} }), []Value{num(tensor.Uint8, dims(1, 2), 1, 2)},
		num(tensor.Uint8, dims(1, 1), 2)}, // 1.5 to even
	{"image.grid_sample", grid(func(a *GridSampleAttrs) { a.AlignCorners = true }),
		[]Value{f32(dims(1, 1, 2, 2), 0, 1, 2, 3), f32(dims(1, 1, 3, 2), -1, -1, 0, 0, 1, 3)}, f32(dims(1, 1, 1, 3), 0, 1.5, 0)},
	{"image.grid_sample", grid(func(a *GridSampleAttrs) { a.Method, a.PaddingMode = "nearest", "border" }),
		[]Value{f32(dims(1, 1, 2, 2), 0, 1, 2, 3), f32(dims(1, 1, 2, 2), 5, -1, nan, 0.9)}, f32(dims(1, 1, 1, 2), 1, 2)},
	{"image.grid_sample", grid(func(a *GridSampleAttrs) { a.Method, a.PaddingMode, a.AlignCorners = "bicubic", "reflection", true }),
		[]Value{f32(dims(1, 1, 1, 3), 0, 1, 2), f32(dims(1, 1, 2, 2), 0, 0, 2, 0)}, f32(dims(1, 1, 1, 2), 1, 1)},

	{"vision.non_max_suppression", &NonMaxSuppressionAttrs{2, false},
		// Boxes 0 and 1 overlap by 0.9 / 1.1, box 2 is apart, box 3 has too low a score.
		[]Value{f32(dims(1, 4, 4), 0, 0, 1, 1, 0, 0.1, 1, 1.1, 1, 6, 0, 5, 8, 8, 9, 9), f32(dims(1, 1, 4), 0.8, 0.9, 0.3, 0.1), i64(dims(), 2), f32(dims(), 0.5), f32(dims(), 0.1)},
		Values{i64(dims(2, 3), 0, 0, 1, 0, 0, 2), i64(dims(1), 2)}},
	{"vision.non_max_suppression", &NonMaxSuppressionAttrs{3, true},
		[]Value{f32(dims(1, 2, 4), 0.5, 0.5, 1, 1, 0.6, 0.5, 1, 1), f32(dims(1, 2, 2), 0.5, 0.5, 0.1, 0.2), i64(dims(), 9), f32(dims(), 0.5), f32(dims(), math.Inf(-1))},
		Values{i64(dims(4, 3), 0, 0, 0, 0, 1, 1, -1, -1, -1, -1, -1, -1), i64(dims(1), 2)}},

	{"sort", &SortAttrs{0, true, tensor.Int64}, []Value{f32(dims(3, 1), nan, 2, -1)}, f32(dims(3, 1), -1, 2, nan)},
	{"argsort", &SortAttrs{-1, false, tensor.Int32}, []Value{vec(1, 3, 3, 2)}, num(tensor.Int32, dims(4), 1, 2, 3, 0)},
	{"topk", &TopKAttrs{2, 0, false, tensor.Int64}, []Value{f32(dims(3, 2), 1, 6, 5, 2, 3, 4)}, Values{f32(dims(2, 2), 5, 6, 3, 4), i64(dims(2, 2), 1, 0, 2, 2)}},
	{"unique", nil, []Value{vec(2, 1, math.NaN(), 1, 3, 2, math.NaN())},
		Values{i64(dims(7), 1, 0, 4, 2, -1, -1, -1), i64(dims(7), 1, 0, 3, 0, 2, 1, 3), i64(dims(7), 2, 2, 1, 2, 0, 0, 0), i64(dims(1), 4)}},
	{"unique", &UniqueAttrs{0, false}, []Value{vec(2, 1, math.Copysign(0, -1), 1, 3, 0, 2)},
		Values{i64(dims(7), 0, 1, 2, 4, -1, -1, -1), i64(dims(7), 0, 1, 2, 1, 3, 2, 0), i64(dims(7), 2, 2, 2, 1, 0, 0, 0), i64(dims(1), 4)}},
	{"unique", &UniqueAttrs{-1, true}, []Value{f32(dims(2, 3), 1, 0, 1, 5, 4, 5)},
		Values{i64(dims(3), 1, 0, -1), i64(dims(3), 1, 0, 1), i64(dims(3), 1, 2, 0), i64(dims(1), 2)}},
	{"topk", &TopKAttrs{1, -1, true, tensor.Int64}, []Value{num(tensor.Uint64, dims(2), -1, 1)}, Values{num(tensor.Uint64, dims(1), 1), i64(dims(1), 1)}},
	{"cumsum", nil, []Value{vec(1, 2, 3)}, vec(1, 3, 6)},
	{"cumsum", &ScanAttrs{1, true, true}, []Value{f32(dims(1, 3), 1, 2, 3)}, f32(dims(1, 3), 5, 3, 0)},
	{"cumprod", &ScanAttrs{0, true, false}, []Value{i64(dims(3), 2, 3, 4)}, i64(dims(3), 1, 2, 6)},

	{"qnn.quantize", &QuantizeAttrs{-1, tensor.Uint8, true}, []Value{vec(0.5, 1.5, 2.5, -600, 600), f32(dims(), 1), num(tensor.Uint8, dims(), 128)},
		num(tensor.Uint8, dims(5), 128, 130, 130, 0, 255)},
	{"qnn.quantize", &QuantizeAttrs{0, tensor.Int8, true}, []Value{f32(dims(2, 1), 4, -400), vec(2, 3), num(tensor.Int8, dims(2), 1, 0)},
		num(tensor.Int8, dims(2, 1), 3, -128)},
	{"qnn.dequantize", &DequantizeAttrs{Axis: 0}, []Value{num(tensor.Uint8, dims(2, 1), 130, 5), vec(2, 3), num(tensor.Uint8, dims(2), 128, 6)},
		f32(dims(2, 1), 4, -3)},
	{"qnn.dequantize", nil, []Value{num(tensor.Int4, dims(1), -8), f32(dims(), 0.5), num(tensor.Int4, dims(), 0)}, vec(-4)},
}
