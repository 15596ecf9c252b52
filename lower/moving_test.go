package lower

import (
	"testing"

	"github.com/texel-ml/texel/relay"
	"github.com/texel-ml/texel/tensor"
)

func one(t ...*relay.TensorType) []*relay.TensorType { return t }

func TestShape(t *testing.T) {
	x := f32(2, 6, 4, 8)
	runCases(t, []opCase{
		{op: "reshape", attrs: &relay.ReshapeAttrs{NewShape: []int{2, 24, 8}}, in: one(x)},
		{op: "reshape", attrs: &relay.ReshapeAttrs{NewShape: []int{12, 32}}, in: one(x)},
		{op: "reshape", attrs: &relay.ReshapeAttrs{NewShape: []int{2, 3, 2, 32, 1}}, in: one(x)},
		{op: "reshape", attrs: &relay.ReshapeAttrs{NewShape: []int{16, 24}}, in: one(x)},
		{op: "reshape", attrs: &relay.ReshapeAttrs{NewShape: []int{}}, in: one(f32(1, 1))},
		{op: "reshape", attrs: &relay.ReshapeAttrs{NewShape: []int{1, 1}}, in: one(f32())},
		{op: "reshape", attrs: &relay.ReshapeAttrs{NewShape: []int{0, 5}}, in: one(f32(2, 0))},
		{op: "expand_dims", attrs: &relay.ExpandDimsAttrs{Axis: 1, NumNewaxis: 2}, in: one(f32(3, 5))},
		{op: "squeeze", attrs: &relay.SqueezeAttrs{}, in: one(f32(1, 3, 1, 5))},
		{op: "transpose", attrs: &relay.TransposeAttrs{}, in: one(x)},
		{op: "transpose", attrs: &relay.TransposeAttrs{Axes: []int{0, 2, 3, 1}}, in: one(x)},
		{op: "transpose", attrs: &relay.TransposeAttrs{Axes: []int{0, 2, 1}}, in: one(typ(tensor.Int8, 2, 33, 19))},
		{op: "broadcast_to", attrs: &relay.ShapeAttrs{Shape: []int{4, 3, 5}}, in: one(f32(3, 1))},
		{op: "full", attrs: &relay.FullAttrs{Shape: []int{4, 3}}, in: one(f32(1))},
		{op: "tile", attrs: &relay.TileAttrs{Reps: []int{2, 1, 3}}, in: one(f32(3, 5))},
		{op: "tile", attrs: &relay.TileAttrs{Reps: []int{2}}, in: one(f32(3, 5))},
		{op: "tile", attrs: &relay.TileAttrs{Reps: []int{0, 2}}, in: one(f32(3, 5))},
		{op: "repeat", attrs: &relay.RepeatAttrs{Repeats: 3, Axis: -1}, in: one(f32(3, 5))},
		{op: "repeat", attrs: &relay.RepeatAttrs{Repeats: 2, Axis: 0}, in: one(f32(3, 5))},
		{op: "repeat", attrs: &relay.RepeatAttrs{Repeats: 0, Axis: 0}, in: one(f32(3, 5))},
		{op: "reverse", attrs: &relay.AxisAttrs{Axis: -1}, in: one(f32(3, 21))},
		{op: "layout_transform", attrs: &relay.LayoutTransformAttrs{SrcLayout: "NCHW", DstLayout: "NHWC"}, in: one(f32(1, 20, 5, 7))},
		{op: "layout_transform", attrs: &relay.LayoutTransformAttrs{SrcLayout: "NCHW", DstLayout: "NCHW16c"}, in: one(f32(1, 20, 5, 7))},
		{op: "layout_transform", attrs: &relay.LayoutTransformAttrs{SrcLayout: "NCHW16c", DstLayout: "NCHW", Channels: 20}, in: one(f32(1, 2, 5, 7, 16))},
		{op: "layout_transform", attrs: &relay.LayoutTransformAttrs{SrcLayout: "NCHW4c", DstLayout: "NCHW16c", Channels: 6}, in: one(f32(1, 2, 3, 3, 4))},
		{op: "layout_transform", attrs: &relay.LayoutTransformAttrs{SrcLayout: "OIHW", DstLayout: "OHWI8o"}, in: one(f32(12, 3, 2, 2))},
		{op: "nn.space_to_depth", attrs: &relay.BlockAttrs{BlockSize: 2, Layout: "NCHW", Mode: "DCR"}, in: one(x)},
		{op: "nn.space_to_depth", attrs: &relay.BlockAttrs{BlockSize: 2, Layout: "NHWC", Mode: "CRD"}, in: one(x)},
		{op: "nn.depth_to_space", attrs: &relay.BlockAttrs{BlockSize: 2, Layout: "NCHW", Mode: "DCR"}, in: one(f32(1, 12, 3, 4))},
		{op: "nn.depth_to_space", attrs: &relay.BlockAttrs{BlockSize: 2, Layout: "NCHW", Mode: "CRD"}, in: one(f32(1, 12, 3, 4))},
		{op: "nn.depth_to_space", attrs: &relay.BlockAttrs{BlockSize: 2, Layout: "NHWC", Mode: "DCR"}, in: one(f32(1, 3, 4, 32))},
		{op: "channel_shuffle", attrs: &relay.ChannelShuffleAttrs{Groups: 2, Axis: -1}, in: one(f32(1, 3, 3, 32))},
		{op: "channel_shuffle", attrs: &relay.ChannelShuffleAttrs{Groups: 3, Axis: 1}, in: one(f32(1, 12, 3, 3))},
	})
}

func TestSlice(t *testing.T) {
	pad := func(mode string, width ...int) *relay.PadAttrs {
		return &relay.PadAttrs{PadWidth: width, PadMode: mode}
	}
	x := f32(5, 7)
	v := f32()
	cases := []opCase{
		{op: "concatenate", attrs: &relay.ConcatAttrs{Axis: -1}, in: one(f32(3, 16), f32(3, 32), f32(3, 0), f32(3, 5)), tuple: true},
		{op: "concatenate", attrs: &relay.ConcatAttrs{Axis: 0}, in: one(f32(1, 17), f32(4, 17)), tuple: true},
		{op: "concatenate", attrs: &relay.ConcatAttrs{Axis: 0}, in: one(f32(0, 17), f32(0, 17)), tuple: true},
		{op: "stack", attrs: &relay.ConcatAttrs{Axis: -1}, in: one(f32(3, 4), f32(3, 4), f32(3, 4)), tuple: true},
		{op: "stack", attrs: &relay.ConcatAttrs{Axis: 0}, in: one(f32(), f32()), tuple: true},
		{op: "split", attrs: &relay.SplitAttrs{Indices: []int{2, 2, 5}, Axis: 1}, in: one(x)},
		{op: "split", attrs: &relay.SplitAttrs{Axis: 0}, in: one(x)},
		{op: "strided_slice", attrs: &relay.StridedSliceAttrs{Begin: []int{1, -3}, End: []int{5, 100}, Strides: []int{2, 1}}, in: one(x)},
		{op: "strided_slice", attrs: &relay.StridedSliceAttrs{Begin: []int{-1}, End: []int{-100}, Strides: []int{-2}, Axes: []int{1}}, in: one(x)},
		{op: "strided_slice", attrs: &relay.StridedSliceAttrs{Begin: []int{3}, End: []int{3}}, in: one(x)},
	}
	for _, mode := range []string{"constant", "edge", "reflect", "wrap"} {
		cases = append(cases,
			opCase{op: "nn.pad", attrs: pad(mode, 1, 2, 3, 0), in: one(x, v)},
			opCase{op: "nn.pad", attrs: pad(mode, 11, 0, 0, 15), in: one(x, v)},
			opCase{op: "nn.pad", attrs: pad(mode, -1, 2, 3, -2), in: one(x, v)},
			opCase{op: "nn.pad", attrs: pad(mode, 2, 2, 0, 0), in: one(f32(1, 5), v)},
			opCase{op: "nn.pad", attrs: pad(mode, 0, 0, 0, 0), in: one(x, v)})
	}
	runCases(t, cases)
}

func TestCreate(t *testing.T) {
	var cases []opCase
	for _, d := range []tensor.DType{tensor.Float32, tensor.Float16, tensor.Int32, tensor.Int64, tensor.Uint8, tensor.Float64} {
		cases = append(cases,
			opCase{op: "zeros", attrs: &relay.FullAttrs{Shape: []int{3, 5}, DType: d}},
			opCase{op: "ones", attrs: &relay.FullAttrs{Shape: []int{}, DType: d}},
			opCase{op: "arange", attrs: &relay.ArangeAttrs{Start: 1, Stop: 20, Step: 3, DType: d}},
			opCase{op: "arange", attrs: &relay.ArangeAttrs{Start: 10, Stop: 0.3, Step: -0.5, DType: d}},
			opCase{op: "eye", attrs: &relay.EyeAttrs{Shape: []int{3, 5}, K: 1, DType: d}},
			opCase{op: "one_hot", attrs: &relay.OneHotAttrs{Depth: 7, Axis: -1}, in: one(typ(tensor.Int64, 3, 4), typ(d), typ(d))},
			opCase{op: "one_hot", attrs: &relay.OneHotAttrs{Depth: 7, Axis: 0}, in: one(typ(tensor.Int32, 4), typ(d, 1), typ(d, 1))})
	}
	runCases(t, cases)
}

func TestIndex(t *testing.T) {
	x, i := f32(5, 6, 7), typ(tensor.Int64, 3, 4)
	cases := []opCase{
		{op: "argwhere", in: one(typ(tensor.Bool, 4, 5))},
		{op: "argwhere", in: one(f32())},
		{op: "argwhere", in: one(typ(tensor.Int32, 3, 0))},
		{op: "argwhere", in: one(typ(tensor.Float16, 9)), fill: edges},
		{op: "reverse_sequence", attrs: &relay.ReverseSequenceAttrs{SeqAxis: 1, BatchAxis: 0}, in: one(x, typ(tensor.Int64, 5))},
		{op: "reverse_sequence", attrs: &relay.ReverseSequenceAttrs{SeqAxis: 0, BatchAxis: 2}, in: one(x, typ(tensor.Int32, 7))},
		{op: "gather_nd", attrs: &relay.GatherNDAttrs{}, in: one(x, typ(tensor.Int64, 2, 4))},
		{op: "gather_nd", attrs: &relay.GatherNDAttrs{}, in: one(x, typ(tensor.Int32, 3, 4, 2))},
		{op: "gather_nd", attrs: &relay.GatherNDAttrs{BatchDims: 1}, in: one(x, typ(tensor.Int64, 1, 5, 3))},
		{op: "scatter_nd", attrs: &relay.ScatterNDAttrs{Mode: "update"}, in: one(x, typ(tensor.Int64, 2, 4), f32(4, 7))},
		{op: "scatter_nd", attrs: &relay.ScatterNDAttrs{Mode: "add"}, in: one(typ(tensor.Float16, 5), typ(tensor.Int64, 1, 9), typ(tensor.Float16, 9))},
		{op: "gather", attrs: &relay.AxisAttrs{Axis: 1}, in: one(x, typ(tensor.Int64, 4, 9, 7))},
		{op: "gather", attrs: &relay.AxisAttrs{Axis: -1}, in: one(typ(tensor.Int8, 3, 5), typ(tensor.Int32, 3, 17))},
	}
	for _, mode := range []string{"clip", "wrap"} {
		for axis := range 3 {
			cases = append(cases, opCase{op: "take", attrs: &relay.TakeAttrs{Axis: axis, Mode: mode}, in: one(x, i)})
		}
		cases = append(cases, opCase{op: "take", attrs: &relay.TakeAttrs{Axis: 0, Mode: mode}, in: one(f32(5), typ(tensor.Int32))})
	}
	for _, mode := range []string{"update", "add", "mul", "min", "max"} {
		cases = append(cases, opCase{op: "scatter_elements", attrs: &relay.ScatterElementsAttrs{Axis: 1, Reduction: mode},
			in: one(x, typ(tensor.Int64, 4, 9, 7), f32(4, 9, 7))},
			opCase{op: "scatter_elements", attrs: &relay.ScatterElementsAttrs{Axis: 0, Reduction: mode},
				in: one(typ(tensor.Int32, 5), typ(tensor.Int32, 12), typ(tensor.Int32, 12))})
	}
	runCases(t, cases)
}

func TestImage(t *testing.T) {
	resize := func(method, transform string, size []int, more func(a *relay.ResizeAttrs)) opCase {
		a := ops.Lookup("image.resize2d").NewAttrs().(*relay.ResizeAttrs)
		a.Method, a.CoordinateTransform, a.Size = method, transform, size
		if more != nil {
			more(a)
		}
		return opCase{op: "image.resize2d", attrs: a, in: one(f32(1, 3, 5, 6))}
	}
	var cases []opCase
	for _, method := range []string{"nearest_neighbor", "linear", "cubic"} {
		for _, transform := range []string{"half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners", "asymmetric"} {
			for _, size := range [][]int{{10, 12}, {5, 6}, {3, 2}, {1, 17}} {
				cases = append(cases, resize(method, transform, size, nil))
			}
		}
		cases = append(cases,
			resize(method, "half_pixel", []int{3, 2}, func(a *relay.ResizeAttrs) { a.Antialias = true }),
			resize(method, "half_pixel", []int{7, 9}, func(a *relay.ResizeAttrs) { a.CubicExclude = true }),
			resize(method, "tf_crop_and_resize", []int{7, 4}, func(a *relay.ResizeAttrs) {
				a.Roi, a.ExtrapolationValue = []float64{-0.2, 0.4, 0.8, 1.5}, 9
			}),
			resize(method, "asymmetric", []int{12, 7}, func(a *relay.ResizeAttrs) { a.Scales, a.RoundingMethod = []float64{2.4, 1.3}, "ceil" }))
		c := resize(method, "half_pixel", []int{9, 6}, func(a *relay.ResizeAttrs) { a.Layout = "NHWC" })
		c.in = one(f32(1, 4, 3, 20))
		cases = append(cases, c)
		c = resize(method, "half_pixel", []int{9, 6, 4}, func(a *relay.ResizeAttrs) { a.Axes = []int{1, 2, -1} })
		c.op, c.in = "image.resize", one(typ(tensor.Float16, 2, 4, 3, 5))
		cases = append(cases, c)
		c = resize(method, "half_pixel", []int{9, 6}, nil)
		c.in = one(typ(tensor.Uint8, 1, 2, 4, 3))
		cases = append(cases, c)
	}
	for _, method := range []string{"nearest", "bilinear", "bicubic"} {
		for _, mode := range []string{"zeros", "border", "reflection"} {
			for _, corners := range []bool{false, true} {
				a := &relay.GridSampleAttrs{Method: method, PaddingMode: mode, AlignCorners: corners, Layout: "NCHW"}
				cases = append(cases, opCase{op: "image.grid_sample", attrs: a, in: one(f32(2, 3, 4, 5), f32(2, 3, 6, 2))},
					opCase{op: "image.grid_sample", attrs: a, in: one(f32(1, 2, 1, 5), f32(1, 4, 20, 2)), fill: func(i int, w *tensor.Wide) {
						if i == 1 {
							edges(i, w)
						}
					}})
				if method == "bicubic" && corners {
					continue // 64 taps: once for each mode
				}
				b := *a
				b.Layout = "NCDHW"
				cases = append(cases, opCase{op: "image.grid_sample", attrs: &b, in: one(f32(1, 2, 3, 4, 5), f32(1, 2, 3, 2, 3))})
			}
		}
	}
	runCases(t, cases)
}
