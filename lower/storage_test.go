package lower

import (
	"context"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/texel-ml/texel/diag"
	"github.com/texel-ml/texel/internal/numtest"
	"github.com/texel-ml/texel/relay"
	"github.com/texel-ml/texel/relay/eval"
	"github.com/texel-ml/texel/schedule/te"
	"github.com/texel-ml/texel/target"
	"github.com/texel-ml/texel/tensor"
)

func storageTypes() (list []tensor.DType) {
	for _, d := range tensor.DTypes() {
		if d.IsStorage() {
			list = append(list, d)
		}
	}
	return list
}

func computedTypes() (list []tensor.DType) {
	for _, d := range tensor.DTypes() {
		if !d.IsStorage() {
			list = append(list, d)
		}
	}
	return list
}

// exact holds a function with one operand against the reference, signs of zeros included.
func exact(t *testing.T, op string, attrs any, tgt *target.Target, in ...*tensor.Tensor) {
	c := opCase{op: op, attrs: attrs}
	for _, x := range in {
		c.in = append(c.in, &relay.TensorType{DType: x.DType, Shape: x.Shape})
	}
	fn, err := c.function()
	require.NoError(t, err, "%v", c)
	require.NoError(t, checkWithin(fn, in, tgt, func(tensor.DType) numtest.Tolerance { return numtest.Tolerance{SignedZero: true} }), "%v", c)
}

// TestEveryCodeIsConverted casts every value of every storage type to every other type.
func TestEveryCodeIsConverted(t *testing.T) {
	targets := hosts(t)
	for n, from := range storageTypes() {
		t.Run(from.String(), func(t *testing.T) {
			for k, to := range tensor.DTypes() {
				for _, mode := range modes(to) {
					exact(t, "cast", mode, targets[(n+k)%2], numtest.Codes(from))
				}
			}
		})
	}
}

// modes are the ways to cast to a type.
func modes(to tensor.DType) (list []any) {
	saturate, round := []bool{true}, []string{"up"}
	if to.IsStorage() && to.IsFloat() {
		saturate = append(saturate, false)
	}
	if to == tensor.Float8E8M0 {
		round = append(round, "down", "nearest")
	}
	for _, s := range saturate {
		for _, r := range round {
			list = append(list, &relay.CastAttrs{DType: to, Saturate: s, RoundMode: r})
		}
	}
	return list
}

// TestConversionsTurnWhereTheyShould casts to every storage type from the values around each step.
func TestConversionsTurnWhereTheyShould(t *testing.T) {
	targets := hosts(t)
	for n, to := range storageTypes() {
		t.Run(to.String(), func(t *testing.T) {
			for k, from := range computedTypes() {
				for _, mode := range modes(to) {
					exact(t, "cast", mode, targets[(n+k)%2], numtest.Turns(from, to))
				}
			}
		})
	}
}

// TestBitsOfEveryType reads the bits of each type as each of equal width. The reference does not keep the bits of a NaN.
func TestBitsOfEveryType(t *testing.T) {
	targets := hosts(t)
	for n, from := range tensor.DTypes() {
		x := numtest.Turns(from, tensor.Float8E4M3FN)
		if from.IsStorage() {
			x = numtest.Codes(from)
		}
		if w := tensor.Widen(x); w.F != nil {
			w.F = slices.DeleteFunc(w.F, math.IsNaN)
			w.Shape = tensor.Shape{len(w.F)}
			x = w.Narrow()
		}
		for k, to := range tensor.DTypes() {
			if from.Bits() == to.Bits() && to != tensor.Bool && from != tensor.Bool {
				exact(t, "reinterpret", &relay.CastAttrs{DType: to, Saturate: true, RoundMode: "up"}, targets[(n+k)%2], x)
			}
		}
	}
}

// TestQuantizeToStorageTypes has ties, ends of the range and a zero point.
func TestQuantizeToStorageTypes(t *testing.T) {
	targets := hosts(t)
	scales := []*tensor.Tensor{tensor.Of[float32](tensor.Float32, tensor.Shape{2}, 0.5, 3), tensor.Of(tensor.Float64, tensor.Shape{2}, 0.5, 0.3)}
	for n, d := range storageTypes() {
		if d == tensor.Float8E8M0 { // has no zero point
			continue
		}
		zero := tensor.NewWide(d, tensor.Shape{2})
		if d.IsFloat() {
			zero.F[1] = 1.5
		} else {
			zero.I[1] = 1
		}
		for k, scale := range scales {
			for _, saturate := range []bool{true, false} {
				x := numtest.Turns(scale.DType, d)
				x.Shape = tensor.Shape{2, x.Elems() / 2}
				exact(t, "qnn.quantize", &relay.QuantizeAttrs{Axis: 0, OutDType: d, Saturate: saturate}, targets[(n+k)%2], x, scale, zero.Narrow())
			}
			x := numtest.Codes(d)
			x.Shape = tensor.Shape{2, x.Elems() / 2}
			exactly := tensor.Of[float32](tensor.Float32, tensor.Shape{2}, 0.5, 4)
			exact(t, "qnn.dequantize", &relay.DequantizeAttrs{Axis: 0}, targets[(n+k)%2], x, exactly, zero.Narrow())
		}
	}
}

// TestStorageTypesAreMoved has every operator that moves elements work on every storage type, of shapes whose rows do not
// end with a byte.
func TestStorageTypesAreMoved(t *testing.T) {
	index := typ(tensor.Int64, 3, 5, 2)
	places := func(i int, w *tensor.Wide) {
		for n := range w.I {
			if w.DType == tensor.Int64 {
				w.I[n] = int64(n*7) % 3
			}
		}
	}
	var cases []opCase
	for _, d := range storageTypes() {
		x, one := typ(d, 3, 5, 7), typ(d)
		image := typ(d, 1, 4, 2, 6)
		start := -3.0
		if d == tensor.Float8E8M0 { // has no sign
			start = 1
		}
		cases = append(cases,
			opCase{op: "copy", in: []*relay.TensorType{x}},
			opCase{op: "copy", in: []*relay.TensorType{one}},
			opCase{op: "copy", in: []*relay.TensorType{typ(d, 3, 0)}},
			opCase{op: "reshape", attrs: &relay.ReshapeAttrs{NewShape: []int{7, 15}}, in: []*relay.TensorType{x}},
			opCase{op: "transpose", attrs: &relay.TransposeAttrs{Axes: []int{2, 0, 1}}, in: []*relay.TensorType{x}},
			opCase{op: "broadcast_to", attrs: &relay.ShapeAttrs{Shape: []int{3, 3, 7}}, in: []*relay.TensorType{typ(d, 3, 1, 7)}},
			opCase{op: "full", attrs: &relay.FullAttrs{Shape: []int{3, 3}}, in: []*relay.TensorType{one}},
			opCase{op: "tile", attrs: &relay.TileAttrs{Reps: []int{1, 2, 3}}, in: []*relay.TensorType{x}},
			opCase{op: "repeat", attrs: &relay.RepeatAttrs{Repeats: 3, Axis: 2}, in: []*relay.TensorType{x}},
			opCase{op: "reverse", attrs: &relay.AxisAttrs{Axis: 2}, in: []*relay.TensorType{x}},
			opCase{op: "layout_transform", attrs: &relay.LayoutTransformAttrs{SrcLayout: "NCHW", DstLayout: "NHWC"}, in: []*relay.TensorType{image}},
			opCase{op: "nn.space_to_depth", attrs: &relay.BlockAttrs{BlockSize: 2, Layout: "NCHW", Mode: "DCR"}, in: []*relay.TensorType{image}},
			opCase{op: "nn.depth_to_space", attrs: &relay.BlockAttrs{BlockSize: 2, Layout: "NCHW", Mode: "CRD"}, in: []*relay.TensorType{image}},
			opCase{op: "channel_shuffle", attrs: &relay.ChannelShuffleAttrs{Groups: 2, Axis: 1}, in: []*relay.TensorType{image}},
			opCase{op: "concatenate", attrs: &relay.ConcatAttrs{Axis: 2}, in: []*relay.TensorType{x, typ(d, 3, 5, 2), typ(d, 3, 5, 1)}, tuple: true},
			opCase{op: "stack", attrs: &relay.ConcatAttrs{Axis: 1}, in: []*relay.TensorType{x, x}, tuple: true},
			opCase{op: "split", attrs: &relay.SplitAttrs{Indices: []int{1, 4}, Axis: 2}, in: []*relay.TensorType{x}},
			opCase{op: "strided_slice", attrs: &relay.StridedSliceAttrs{Begin: []int{1}, End: []int{7}, Strides: []int{2}, Axes: []int{2}}, in: []*relay.TensorType{x}},
			opCase{op: "nn.pad", attrs: &relay.PadAttrs{PadWidth: []int{1, 0, -1, 2, 2, 1}, PadMode: "constant"}, in: []*relay.TensorType{x, one}},
			opCase{op: "nn.pad", attrs: &relay.PadAttrs{PadWidth: []int{0, 0, 1, 1, 2, 1}, PadMode: "reflect"}, in: []*relay.TensorType{x, one}},
			opCase{op: "take", attrs: &relay.TakeAttrs{Axis: 2, Mode: "clip"}, in: []*relay.TensorType{x, typ(tensor.Int64, 2, 2)}, fill: places},
			opCase{op: "gather", attrs: &relay.AxisAttrs{Axis: 2}, in: []*relay.TensorType{x, index}, fill: places},
			opCase{op: "gather_nd", attrs: &relay.GatherNDAttrs{}, in: []*relay.TensorType{x, typ(tensor.Int64, 2, 5)}, fill: places},
			opCase{op: "scatter_elements", attrs: &relay.ScatterElementsAttrs{Axis: 2, Reduction: "update"}, in: []*relay.TensorType{x, index, typ(d, 3, 5, 2)}, fill: places},
			opCase{op: "scatter_nd", attrs: &relay.ScatterNDAttrs{Mode: "update"}, in: []*relay.TensorType{x, typ(tensor.Int64, 2, 4), typ(d, 4, 7)}, fill: places},
			opCase{op: "reverse_sequence", attrs: &relay.ReverseSequenceAttrs{SeqAxis: 2, BatchAxis: 0}, in: []*relay.TensorType{x, typ(tensor.Int64, 3)}, fill: places},
			opCase{op: "where", in: []*relay.TensorType{typ(tensor.Bool, 3, 1, 7), x, typ(d, 5, 1)}},
			opCase{op: "trilu", attrs: &relay.TriluAttrs{Upper: true}, in: []*relay.TensorType{x}},
			opCase{op: "zeros", attrs: &relay.FullAttrs{Shape: []int{3, 3}, DType: d}},
			opCase{op: "ones", attrs: &relay.FullAttrs{Shape: []int{3, 3}, DType: d}},
			opCase{op: "eye", attrs: &relay.EyeAttrs{Shape: []int{3, 5}, K: 1, DType: d}},
			opCase{op: "arange", attrs: &relay.ArangeAttrs{Start: start, Stop: 4.5, Step: 1, DType: d}},
		)
		if d.IsFloat() {
			cases = append(cases, opCase{op: "isnan", in: []*relay.TensorType{typ(d, 256)}, fill: everyCode},
				opCase{op: "isinf", in: []*relay.TensorType{typ(d, 256)}, fill: everyCode})
		}
	}
	runCases(t, cases)
}

func everyCode(_ int, w *tensor.Wide) {
	for i, v := range tensor.Widen(numtest.Codes(w.DType)).F {
		w.F[i] = v
	}
}

// TestStorageTypesInsideAFunction converts to a storage type and back between other operators, with a constant and with two
// results that share a stage.
func TestStorageTypesInsideAFunction(t *testing.T) {
	for _, d := range storageTypes() {
		b := &builder{}
		x := b.param(tensor.Shape{5, 9})
		to := &relay.CastAttrs{DType: d, Saturate: true, RoundMode: "up"}
		back := &relay.CastAttrs{DType: tensor.Float32, Saturate: true, RoundMode: "up"}
		narrow := b.call("cast", to, x)
		turned := b.call("transpose", &relay.TransposeAttrs{Axes: []int{1, 0}}, narrow)
		one := tensor.NewWide(d, tensor.Shape{})
		if d.IsFloat() {
			one.F[0] = 1
		} else {
			one.I[0] = 1
		}
		wide := b.call("cast", back, b.call("nn.pad", &relay.PadAttrs{PadWidth: []int{1, 1, 0, 1}, PadMode: "constant"}, turned,
			relay.NewConstant(one.Narrow(), "", diag.Pos{})))
		again := b.call("cast", to, b.call("multiply", nil, wide, wide))
		body := relay.NewTuple([]relay.Expr{narrow, turned, again, narrow, wide}, diag.Pos{})
		fn := relay.NewFunction(b.params, body, true, nil, diag.Pos{})
		for _, tgt := range hosts(t) {
			in := tensor.NewWide(tensor.Float32, tensor.Shape{5, 9})
			for i := range in.F {
				in.F[i] = float64(i-22) / 8
			}
			require.NoError(t, checkWithin(fn, []*tensor.Tensor{in.Narrow()}, tgt, func(tensor.DType) numtest.Tolerance { return numtest.Tolerance{} }), "%v", d)
		}
	}
}

// TestPackedParametersAreBytes says how the kernels see a tensor of elements below a byte.
func TestPackedParametersAreBytes(t *testing.T) {
	for _, c := range []struct {
		d     tensor.DType
		shape tensor.Shape
		in    []int
		as    tensor.DType
	}{
		{tensor.Int4, tensor.Shape{3, 5}, []int{8}, tensor.Uint8},
		{tensor.Uint2, tensor.Shape{3, 3}, []int{3}, tensor.Uint8},
		{tensor.Float4E2M1, tensor.Shape{}, []int{1}, tensor.Uint8},
		{tensor.Float8E5M2, tensor.Shape{3, 5}, []int{3, 5}, tensor.Uint8},
		{tensor.Int4, tensor.Shape{0, 5}, []int{0}, tensor.Uint8},
	} {
		v := relay.NewVar("x", &relay.TensorType{DType: c.d, Shape: c.shape}, diag.Pos{})
		fn := relay.NewFunction([]*relay.Var{v}, v, true, nil, diag.Pos{})
		def, err := Define(fn, Core(), hosts(t)[0])
		require.NoError(t, err)
		for _, x := range []*te.Tensor{def.Inputs[0], def.Outputs[0]} {
			require.Equal(t, c.as, x.DType(), "%v", c)
			require.Equal(t, c.in, append([]int{}, x.Shape()...), "%v", c)
		}
		if c.shape.Elems() > 0 {
			want, err := eval.Tensors(context.Background(), fn, []*tensor.Tensor{tensor.New(c.d, c.shape)})
			require.NoError(t, err)
			require.Len(t, want[0].Data, def.Outputs[0].Shape()[0]*max(1, tensor.Shape(def.Outputs[0].Shape()[1:]).Elems()), fmt.Sprint(c))
		}
	}
}
