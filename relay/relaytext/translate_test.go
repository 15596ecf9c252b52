package relaytext_test

import (
	"context"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/texel-ml/texel/diag"
	"github.com/texel-ml/texel/relay"
	"github.com/texel-ml/texel/relay/eval"
	"github.com/texel-ml/texel/relay/relaytext"
	"github.com/texel-ml/texel/tensor"
)

// floats and whole make tensors.
func floats(shape tensor.Shape, v ...float32) *tensor.Tensor {
	return tensor.Of(tensor.Float32, shape, v...)
}

func whole(d tensor.DType, shape tensor.Shape, v ...int64) *tensor.Tensor {
	return (&tensor.Wide{DType: d, Shape: shape, I: v}).Narrow()
}

// count is a tensor of 0, 1, 2, …
func count(shape ...int) *tensor.Tensor {
	t := tensor.New(tensor.Float32, shape)
	for i := range tensor.View[float32](t) {
		tensor.View[float32](t)[i] = float32(i)
	}
	return t
}

// evaluate reads a lone expression and computes it.
func evaluate(t *testing.T, text string, args ...*tensor.Tensor) []*tensor.Tensor {
	t.Helper()
	m, err := relaytext.Parse("t", text, relaytext.Options{})
	require.NoError(t, err, text)
	got, err := eval.Tensors(context.Background(), m.Main(), args)
	require.NoError(t, err, text)
	return got
}

// The numbers that translated operators give are those of their definition.
func TestTranslatedOperatorsCompute(t *testing.T) {
	s := func(n ...int) tensor.Shape { return n }
	for text, c := range map[string]struct {
		args []*tensor.Tensor
		want []float64
	}{
		"free_var %x: Tensor[(4), float32]; floor_divide(%x, 2f)":                                                                                                   {[]*tensor.Tensor{floats(s(4), 3, -3, 4, -4)}, []float64{1, -2, 2, -2}},
		"free_var %x: Tensor[(4), int32]; floor_divide(%x, -2)":                                                                                                     {[]*tensor.Tensor{whole(tensor.Int32, s(4), 3, -3, 4, -4)}, []float64{-2, 1, -2, 2}},
		"free_var %x: Tensor[(2), float32]; trunc_divide(%x, 2f)":                                                                                                   {[]*tensor.Tensor{floats(s(2), 3, -3)}, []float64{1, -1}},
		"free_var %x: Tensor[(2), int32]; trunc_divide(%x, 2)":                                                                                                      {[]*tensor.Tensor{whole(tensor.Int32, s(2), 3, -3)}, []float64{1, -1}},
		"free_var %x: Tensor[(2), int32]; (mod(%x, 3))":                                                                                                             {[]*tensor.Tensor{whole(tensor.Int32, s(2), 4, -4)}, []float64{1, -1}},
		"free_var %x: Tensor[(2), int32]; (floor_mod(%x, 3))":                                                                                                       {[]*tensor.Tensor{whole(tensor.Int32, s(2), 4, -4)}, []float64{1, 2}},
		"free_var %x: Tensor[(2), int32]; (trunc_mod(%x, 3))":                                                                                                       {[]*tensor.Tensor{whole(tensor.Int32, s(2), 4, -4)}, []float64{1, -1}},
		"free_var %x: Tensor[(2), float32]; log2(%x)":                                                                                                               {[]*tensor.Tensor{floats(s(2), 8, 0.5)}, []float64{3, -1}},
		"free_var %x: Tensor[(2), float32]; log10(%x)":                                                                                                              {[]*tensor.Tensor{floats(s(2), 1000, 0.1)}, []float64{3, -1}},
		"free_var %x: Tensor[(3), float32]; isfinite(%x)":                                                                                                           {[]*tensor.Tensor{floats(s(3), 1, float32(math.Inf(1)), float32(math.NaN()))}, []float64{1, 0, 0}},
		"free_var %c: Tensor[(3), int32]; where(%c, 1f, 2f)":                                                                                                        {[]*tensor.Tensor{whole(tensor.Int32, s(3), 0, 5, -1)}, []float64{2, 1, 1}},
		"free_var %x: Tensor[(1, 3), float32]; variance(%x, 2f, axis=[1])":                                                                                          {[]*tensor.Tensor{floats(s(1, 3), 1, 2, 6)}, []float64{17. / 3}},
		"free_var %x: Tensor[(3), float32]; variance(%x, 2f, unbiased=True)":                                                                                        {[]*tensor.Tensor{floats(s(3), 1, 2, 6)}, []float64{17. / 2}},
		"free_var %x: Tensor[(2, 2), float32]; cumsum(%x)":                                                                                                          {[]*tensor.Tensor{count(2, 2)}, []float64{0, 1, 3, 6}},
		"free_var %x: Tensor[(2), float32]; repeat(%x, repeats=2)":                                                                                                  {[]*tensor.Tensor{count(2)}, []float64{0, 0, 1, 1}},
		"free_var %x: Tensor[(2, 2), float32]; take(%x, 2)":                                                                                                         {[]*tensor.Tensor{count(2, 2)}, []float64{2}},
		"free_var %x: Tensor[(4, 1), float32]; split(%x, indices_or_sections=2).1":                                                                                  {[]*tensor.Tensor{count(4, 1)}, []float64{2, 3}},
		"free_var %x: Tensor[(5), float32]; strided_slice(%x, begin=[1], end=[2], slice_mode=\"size\")":                                                             {[]*tensor.Tensor{count(5)}, []float64{1, 2}},
		"free_var %x: Tensor[(5), float32]; strided_slice(%x, begin=[-3], end=[-1], slice_mode=\"size\")":                                                           {[]*tensor.Tensor{count(5)}, []float64{2, 3, 4}},
		"free_var %x: Tensor[(3, 3), float32]; slice_like(%x, reshape(%x, newshape=[9, 1]), axes=[1])":                                                              {[]*tensor.Tensor{count(3, 3)}, []float64{0, 3, 6}},
		"free_var %x: Tensor[(2, 2), float32]; nn.mirror_pad(%x, mode=\"REFLECT\", pad_width=[[0, 0], [1, 0]])":                                                     {[]*tensor.Tensor{count(2, 2)}, []float64{1, 0, 1, 3, 2, 3}},
		"free_var %x: Tensor[(2), float32]; nn.pad(%x, pad_value=9f, pad_width=[[1, 2]])":                                                                           {[]*tensor.Tensor{count(2)}, []float64{9, 0, 1, 9, 9}},
		"free_var %x: Tensor[(1, 1, 2, 2), float32]; nn.upsampling(%x, scale_h=2, scale_w=1)":                                                                       {[]*tensor.Tensor{count(1, 1, 2, 2)}, []float64{0, 1, 0, 1, 2, 3, 2, 3}},
		"free_var %x: Tensor[(1, 1, 1, 3), float32]; nn.upsampling(%x, scale_h=1, scale_w=1.66667, method=\"bilinear\", align_corners=True)":                        {[]*tensor.Tensor{count(1, 1, 1, 3)}, []float64{0, 0.5, 1, 1.5, 2}},
		"free_var %x: Tensor[(1, 1, 1, 1, 2), float32]; nn.upsampling3d(%x, scale_w=2, method=\"nearest_neighbor\", coordinate_transformation_mode=\"asymmetric\")": {[]*tensor.Tensor{count(1, 1, 1, 1, 2)}, []float64{0, 0, 1, 1}},
		"free_var %x: Tensor[(1, 1, 2), float32]; image.resize1d(%x, size=[4], method=\"nearest_neighbor\", coordinate_transformation_mode=\"asymmetric\", rounding_method=\"\")": {[]*tensor.Tensor{count(1, 1, 2)}, []float64{0, 0, 1, 1}},
		"free_var %x: Tensor[(1, 1, 2, 2), float32]; free_var %g: Tensor[(1, 2, 1, 2), float32]; image.grid_sample(%x, %g)": {
			[]*tensor.Tensor{count(1, 1, 2, 2), floats(s(1, 2, 1, 2), -1, 1, -1, 1)}, []float64{0, 3}}, // x of both points, then y of both
		"arange(1, 8, 3, dtype=\"int32\")":                                         {nil, []float64{1, 4, 7}},
		"free_var %x: Tensor[(2, 3), float32]; shape_of(%x)":                       {[]*tensor.Tensor{count(2, 3)}, []float64{2, 3}},
		"free_var %x: Tensor[(2, 2), float32]; trilu(%x, 1)":                       {[]*tensor.Tensor{count(2, 2)}, []float64{0, 1, 0, 0}},
		"free_var %x: Tensor[(2), float32]; meshgrid((%x, %x), indexing=\"xy\").0": {[]*tensor.Tensor{count(2)}, []float64{0, 1, 0, 1}},
		"free_var %x: Tensor[(2), float32]; meshgrid((%x, %x)).0":                  {[]*tensor.Tensor{count(2)}, []float64{0, 0, 1, 1}},
		"free_var %x: Tensor[(2), float32]; nn.leaky_relu(%x)":                     {[]*tensor.Tensor{floats(s(2), 4, -4)}, []float64{4, -1}},
		"free_var %x: Tensor[(1, 2, 1, 1), float32]; free_var %w: Tensor[(2, 2, 1, 1), float32]; nn.conv2d(%x, %w, groups=2)": { // channel c times each of its two weights
			[]*tensor.Tensor{floats(s(1, 2, 1, 1), 1, 10), floats(s(2, 2, 1, 1), 1, 2, 3, 4)}, []float64{1, 2, 30, 40}},
		"free_var %x: Tensor[(1, 1, 2, 2), uint8]; free_var %w: Tensor[(1, 1, 1, 1), int8]; qnn.conv2d(%x, %w, 128, 1, 0.5f, 0.5f, padding=[0, 1])": { // padding stands for 0
			[]*tensor.Tensor{whole(tensor.Uint8, s(1, 1, 2, 2), 128, 129, 130, 0), whole(tensor.Int8, s(1, 1, 1, 1), 3)}, []float64{0, 0, 2, 0, 0, 4, -256, 0}},
		"free_var %x: Tensor[(1, 2), uint8]; free_var %w: Tensor[(1, 2), int8]; qnn.dense(%x, %w, 10, -1, 0.5f, 0.5f)": {
			[]*tensor.Tensor{whole(tensor.Uint8, s(1, 2), 11, 13), whole(tensor.Int8, s(1, 2), 1, 2)}, []float64{11}},
		"free_var %x: Tensor[(2), int8]; qnn.requantize(%x, 0.5f, 10, 0.25f, -3, out_dtype=\"int8\")":      {[]*tensor.Tensor{whole(tensor.Int8, s(2), 12, 127)}, []float64{1, 127}},
		"free_var %x: Tensor[(2), int8]; qnn.add(%x, %x, 0.5f, 0, 0.25f, 2, 0.5f, 1)":                      {[]*tensor.Tensor{whole(tensor.Int8, s(2), 4, -2)}, []float64{6, -3}},
		"free_var %x: Tensor[(1), int8]; qnn.concatenate((%x, %x), (0.5f, 1f), (0, 1), 0.5f, 0)":           {[]*tensor.Tensor{whole(tensor.Int8, s(1), 4)}, []float64{4, 6}},
		"free_var %x: Tensor[(1, 1, 2, 2), int8]; qnn.avg_pool2d(%x, 0.5f, 0, 0.25f, 1, pool_size=[2, 2])": {[]*tensor.Tensor{whole(tensor.Int8, s(1, 1, 2, 2), 2, 4, 6, 8)}, []float64{11}},
	} {
		got := tensor.Widen(evaluate(t, text, c.args...)[0])
		values := got.F
		for _, v := range got.I {
			values = append(values, float64(v))
		}
		require.InDeltaSlice(t, c.want, values, 1e-6, text)
	}
}

// Blocks of space in the batch: the definition, position by position, and back.
func TestSpaceAndBatch(t *testing.T) {
	x := count(2, 3, 4, 2)
	got := evaluate(t, "free_var %x: Tensor[(2, 3, 4, 2), float32]; nn.space_to_batch_nd(%x, block_shape=[2, 2], paddings=[[1, 0], [0, 2]], pad_value=-1f)", x)[0]
	require.Equal(t, tensor.Shape{8, 2, 3, 2}, got.Shape)
	in, out := tensor.View[float32](x), tensor.View[float32](got)
	for b := range 8 {
		for h := range 2 {
			for w := range 3 {
				for c := range 2 {
					row, col, want := 2*h+b/2/2-1, 2*w+b/2%2, float32(-1) // block offset before batch
					if row >= 0 && col < 4 {
						want = in[((b%2*3+row)*4+col)*2+c]
					}
					require.Equal(t, want, out[((b*2+h)*3+w)*2+c], "%d %d %d %d", b, h, w, c)
				}
			}
		}
	}
	back := evaluate(t, "free_var %x: Tensor[(8, 2, 3, 2), float32]; nn.batch_to_space_nd(%x, block_shape=[2, 2], crops=[[1, 0], [0, 2]])", got)[0]
	require.Equal(t, x, back)
}

func TestOperatorsThatDoNotFitAreRefused(t *testing.T) {
	const x, y = "free_var %x: Tensor[(2, 3), float32]; ", "free_var %i: Tensor[(2, 3), int8]; "
	for text, want := range map[string]string{
		x + "reshape(%x, newshape=[4, -1, -1])":                                 "reshape: newshape=[4 -1 -1] does not fit Tensor[(2, 3), float32]",
		x + "reshape(%x, newshape=[0, 0, 0])":                                   "does not fit",
		x + "reshape(%x, newshape=[-3, -3])":                                    "does not fit",
		x + "reshape(%x, newshape=[-4, 1])":                                     "does not fit",
		x + "reshape(%x, newshape=[-5])":                                        "does not fit",
		x + "reshape(%x, newshape=[0, -1, 0])":                                  "does not fit",
		x + "reshape(%x, newshape=[4])":                                         "newshape=[4] does not have the 6 elements",
		x + "reshape_like(%x, %x, lhs_begin=3)":                                 "reshape_like: axes 3 to 2 of lhs are outside rank 2",
		x + "split(%x, indices_or_sections=2, axis=1)":                          "split: axis 1 of Tensor[(2, 3), float32] does not split in 2 equal parts",
		x + "split(%x, indices_or_sections=0)":                                  "does not split in 0 equal parts",
		x + "strided_slice(%x, begin=[0], end=[1], slice_mode=\"x\")":           `slice_mode="x", wanted end or size`,
		x + "slice_like(%x, reshape(%x, newshape=[6]))":                         "slice_like: axis 0 of (2, 3) cannot be cut to that of (6,)",
		x + "take(%x, 0, axis=0, batch_dims=1)":                                 "take: batch_dims=1; 0 is supported",
		x + "arange(0f, sum(%x), 1f)":                                           "arange: the stop is computed; wanted a constant",
		x + "arange(0f, 1f)":                                                    "arange: wants 3 operands, found 2",
		x + "trilu(%x, 0.5f)":                                                   "trilu: the diagonal is 0.5, wanted a whole number",
		x + "topk(%x, ret_type=\"all\")":                                        `topk: ret_type="all", wanted both, values or indices`,
		x + "shape_of(%x, dtype=\"float32\")":                                   "shape_of: dtype=float32, wanted an integer type",
		x + "meshgrid(%x)":                                                      "meshgrid: the operand has type Tensor[(2, 3), float32], wanted a tuple",
		x + "meshgrid((%x, %x))":                                                "meshgrid: field 0 has type Tensor[(2, 3), float32], wanted a vector",
		x + "meshgrid((1f, 2f), indexing=\"no\")":                               `meshgrid: indexing="no", wanted ij or xy`,
		x + "nn.pad(%x)":                                                        "nn.pad: pad_width is missing",
		x + "nn.pad(%x, pad_width=[1, 1])":                                      "nn.pad: pad_width=[1, 1], wanted a list of pairs of whole numbers",
		x + "nn.pad(%x, %x, %x, pad_width=[[0, 0]])":                            "nn.pad: wants 1 or 2 operands, found 3",
		x + "nn.mirror_pad(%x, pad_width=[[0, 0], [0, 0]])":                     `nn.mirror_pad: mode="SYMMETRIC" repeats the border; REFLECT is supported`,
		x + "nn.upsampling(%x, scale_h=2)":                                      `nn.upsampling: layout="NCHW" does not fit Tensor[(2, 3), float32]`,
		x + "nn.upsampling3d(%x)":                                               `nn.upsampling3d: layout="NCDHW" does not fit`,
		x + "nn.upsampling(expand_dims(%x, axis=0, num_newaxis=2), scale_h=-2)": "nn.upsampling: an extent of 2 scaled by -2 has no size",
		x + "image.resize2d(expand_dims(%x, axis=0, num_newaxis=2), size=[1, 1], method=\"area\")": `image.resize2d: method="area", wanted nearest_neighbor, linear or cubic`,
		x + "image.resize1d(%x, size=[1])":                                                          `image.resize1d: layout="NCW" does not fit`,
		x + "nn.batch_flatten(1f)":                                                                  "nn.batch_flatten: the operand is a scalar",
		x + "nn.batch_flatten((%x, %x))":                                                            "nn.batch_flatten: operand 0 has type (Tensor[(2, 3), float32], Tensor[(2, 3), float32]), wanted a tensor",
		x + "nn.matmul(%x, %x, units=4, transpose_b=True)":                                          "nn.matmul: units=4, but the result has (2, 2)",
		x + "nn.space_to_batch_nd(%x, block_shape=[2], paddings=[[0, 0]])":                          "nn.space_to_batch_nd: axis 1 of (2, 3) is no multiple of 2",
		x + "nn.space_to_batch_nd(%x, block_shape=[0], paddings=[[0, 0]])":                          "nn.space_to_batch_nd: block_shape=[0] and paddings of 1 axes do not fit",
		x + "nn.batch_to_space_nd(%x, block_shape=[4], crops=[[0, 0]])":                             "nn.batch_to_space_nd: a batch of 2 is no multiple of the blocks [4]",
		x + "vision.all_class_non_max_suppression(%x, %x, 1, 2f, 3f, output_format=\"tensorflow\")": `output_format="tensorflow"; onnx is supported`,
		y + "qnn.conv2d(%i, %i, %i, 0, 1f, 1f)":                                                     "qnn.conv2d: a zero point of type Tensor[(2, 3), int8] that is computed or a list; wanted one constant",
		y + "qnn.dense(%i, %i, 0, 0, 1f, 1f, out_dtype=\"int16\")":                                  "qnn.dense: out_dtype=int16; int32 is supported",
		y + "qnn.dequantize(%i, 1f, 200)":                                                           "qnn.dequantize: a zero point is 200, which int8 does not have",
		y + "qnn.concatenate(%i, (1f,), (0,), 1f, 0)":                                               "qnn.concatenate: operand 0 has type Tensor[(2, 3), int8], wanted a tuple",
		y + "qnn.concatenate((%i,), (1f, 1f), (0,), 1f, 0)":                                         "qnn.concatenate: 1 tensors have 2 scales and 1 zero points",
	} {
		_, err := relaytext.Parse("t", text, relaytext.Options{})
		require.ErrorContains(t, err, want, text)
		refused(t, err)
	}
	// A table without an operator that another one is written with.
	small := relay.NewTable(nil)
	for text, want := range map[string]string{
		"ones_like(1f)":     "ones_like: is written as ones, which is not in the table of operators",
		"fast_exp(1f)":      "fast_exp: is written as exp, which is not in the table of operators",
		"nn.conv2d(1f, 1f)": "nn.conv2d: is written as nn.conv2d, which is not in the table of operators",
	} {
		_, err := relaytext.Parse("t", text, relaytext.Options{Ops: small})
		require.ErrorIs(t, err, diag.ErrUnsupported)
		require.ErrorContains(t, err, want)
	}
}
