package lower

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/texel-ml/texel/relay"
	"github.com/texel-ml/texel/tensor"
)

// edges puts the special values at the front of float operands, shifted by the operand's number.
func edges(i int, w *tensor.Wide) {
	list := special(w.DType)
	for n := range w.F {
		if n < len(list) {
			w.F[n] = list[(n+7*i)%len(list)]
		}
	}
	lo, hi := tensor.IntRange(w.DType)
	ints := []int64{0, 1, lo, hi, -1, 2, 3, 7, 31, 8}
	for n := range w.I {
		if n < len(ints) && w.DType.IsInt() {
			w.I[n] = tensor.Wrap(w.DType, ints[(n+3*i)%len(ints)])
		}
	}
}

func TestElementwise(t *testing.T) {
	var cases []opCase
	for _, op := range ops.Ops() {
		if op.Lower != "elementwise" {
			continue
		}
		for _, d := range []tensor.DType{tensor.Float32, tensor.Float16, tensor.BFloat16, tensor.Float64, tensor.Int8, tensor.Int32,
			tensor.Int64, tensor.Uint8, tensor.Uint32, tensor.Uint64, tensor.Bool} {
			c := opCase{op: op.Name, fill: edges}
			switch op.Name {
			case "cast", "reinterpret", "qnn.quantize", "qnn.dequantize", "power", "nn.bias_add", "nn.prelu", "trilu", "where":
				continue
			}
			shapes := [][]int{{3, 17}, {17}}
			for i := range op.Args {
				c.in = append(c.in, typ(d, shapes[i]...))
			}
			if _, err := c.function(); err != nil {
				continue // the operator does not take the type
			}
			cases = append(cases, c)
		}
	}
	runCases(t, cases)
}

func TestElementwiseAttributes(t *testing.T) {
	f := f32(5, 9)
	half := typ(tensor.Float16, 5, 9)
	runCases(t, []opCase{
		{op: "clip", attrs: &relay.ClipAttrs{AMin: -1, AMax: 6}, in: []*relay.TensorType{f}, fill: edges},
		{op: "clip", attrs: &relay.ClipAttrs{AMin: 3, AMax: 1}, in: []*relay.TensorType{f}, fill: edges},
		{op: "clip", attrs: &relay.ClipAttrs{AMin: math.Inf(-1), AMax: 300}, in: []*relay.TensorType{typ(tensor.Uint8, 9)}, fill: edges},
		{op: "clip", attrs: &relay.ClipAttrs{AMin: -3, AMax: 3}, in: []*relay.TensorType{typ(tensor.Int64, 9)}, fill: edges},
		{op: "isinf", attrs: &relay.IsInfAttrs{DetectPositive: true}, in: []*relay.TensorType{f}, fill: edges},
		{op: "isinf", attrs: &relay.IsInfAttrs{DetectNegative: true}, in: []*relay.TensorType{f}, fill: edges},
		{op: "isinf", attrs: &relay.IsInfAttrs{}, in: []*relay.TensorType{f}, fill: edges},
		{op: "nn.leaky_relu", attrs: &relay.AlphaAttrs{Alpha: 0.2}, in: []*relay.TensorType{half}, fill: edges},
		{op: "nn.celu", attrs: &relay.AlphaAttrs{Alpha: 0.5}, in: []*relay.TensorType{f}, fill: edges},
		{op: "nn.thresholded_relu", attrs: &relay.AlphaAttrs{Alpha: 0.7}, in: []*relay.TensorType{f}, fill: edges},
		{op: "nn.hard_sigmoid", attrs: &relay.HardSigmoidAttrs{Alpha: 1.0 / 6, Beta: 0.5}, in: []*relay.TensorType{f}, fill: edges},
		{op: "nn.gelu", attrs: &relay.GeluAttrs{Approximate: "tanh"}, in: []*relay.TensorType{f}, fill: edges},
		{op: "nn.swish", attrs: &relay.SwishAttrs{Beta: -1.5}, in: []*relay.TensorType{f}, fill: edges},
		{op: "nn.shrink", attrs: &relay.ShrinkAttrs{Bias: 0.25, Lambd: 0.5}, in: []*relay.TensorType{f}, fill: edges},
		{op: "nn.bias_add", attrs: &relay.AxisAttrs{Axis: -1}, in: []*relay.TensorType{f32(2, 5, 9), f32(9)}},
		{op: "nn.bias_add", attrs: &relay.AxisAttrs{Axis: 1}, in: []*relay.TensorType{typ(tensor.Int32, 2, 5, 9), typ(tensor.Int32, 5)}},
		{op: "nn.prelu", attrs: &relay.AxisAttrs{Axis: 1}, in: []*relay.TensorType{f32(2, 5, 9), f32(5)}, fill: edges},
		{op: "trilu", attrs: &relay.TriluAttrs{Upper: true, K: -1}, in: []*relay.TensorType{f32(2, 5, 9)}},
		{op: "trilu", attrs: &relay.TriluAttrs{K: 2}, in: []*relay.TensorType{typ(tensor.Int64, 5, 9)}},
		{op: "where", in: []*relay.TensorType{typ(tensor.Bool, 5, 1), f32(9), f32(2, 1, 9)}},
		{op: "where", in: []*relay.TensorType{typ(tensor.Bool, 9), typ(tensor.Bool, 9), typ(tensor.Bool, 1)}},
		{op: "power", in: []*relay.TensorType{f32(9), f32(9)}, fill: func(_ int, w *tensor.Wide) {
			for i := range w.F {
				w.F[i] = math.Abs(w.F[i])
			}
		}},
		{op: "power", in: []*relay.TensorType{typ(tensor.Int32, 40), typ(tensor.Int32, 40)}, fill: edges},
		{op: "power", in: []*relay.TensorType{typ(tensor.Uint8, 4, 5), typ(tensor.Uint8, 5)}},
		{op: "power", in: []*relay.TensorType{typ(tensor.Int64, 4, 5), typ(tensor.Int64)}},
	})
}

func TestCast(t *testing.T) {
	var cases []opCase
	all := []tensor.DType{tensor.Float32, tensor.Float16, tensor.BFloat16, tensor.Float64, tensor.Int8, tensor.Int16, tensor.Int32,
		tensor.Int64, tensor.Uint8, tensor.Uint16, tensor.Uint32, tensor.Uint64, tensor.Bool}
	for _, from := range all {
		for _, to := range all {
			cases = append(cases, opCase{op: "cast", attrs: &relay.CastAttrs{DType: to, RoundMode: "up", Saturate: true},
				in: []*relay.TensorType{typ(from, 21)}, fill: edges})
		}
	}
	for _, pair := range [][2]tensor.DType{{tensor.Int8, tensor.Uint8}, {tensor.Uint64, tensor.Int64}, {tensor.Float32, tensor.Float32}} {
		cases = append(cases, opCase{op: "reinterpret", attrs: &relay.CastAttrs{DType: pair[1], RoundMode: "up"},
			in: []*relay.TensorType{typ(pair[0], 21)}, fill: edges})
	}
	runCases(t, cases)
}

func TestQuantize(t *testing.T) {
	positive := func(i int, w *tensor.Wide) {
		for n := range w.F {
			if i == 1 {
				w.F[n] = 0.01 + math.Abs(w.F[n])/8
			}
		}
	}
	var cases []opCase
	for _, d := range []tensor.DType{tensor.Int8, tensor.Uint8, tensor.Int16, tensor.Int32} {
		cases = append(cases,
			opCase{op: "qnn.quantize", attrs: &relay.QuantizeAttrs{Axis: 1, OutDType: d},
				in: []*relay.TensorType{f32(3, 5, 7), f32(5), typ(d, 5)}, fill: positive},
			opCase{op: "qnn.quantize", attrs: &relay.QuantizeAttrs{Axis: -1, OutDType: d},
				in: []*relay.TensorType{typ(tensor.Int32, 33), f32(), typ(d)}, fill: positive},
			opCase{op: "qnn.dequantize", attrs: &relay.DequantizeAttrs{Axis: -1},
				in: []*relay.TensorType{typ(d, 3, 7), f32(7), typ(d)}, fill: positive})
	}
	runCases(t, cases)
}

// TestHardSwishIsZeroBelow has the inner sum at −3 with a fused multiply-add and without.
func TestHardSwishIsZeroBelow(t *testing.T) {
	c := sixth(tensor.Float64)
	require.InEpsilon(t, 1.0/6, c, 0x1p-50)
	require.Zero(t, math.FMA(-3, c, 3*c))
	require.Zero(t, float64(-3*c)+3*c)
	c = sixth(tensor.Float32)
	require.InEpsilon(t, 1.0/6, c, 0x1p-23)
	require.Equal(t, 3*c, float64(float32(3*c)), "the threefold is a float32")
	require.Zero(t, math.FMA(-3, c, 3*c))
	require.Zero(t, float32(-3*float32(c))+float32(3*c))
}
