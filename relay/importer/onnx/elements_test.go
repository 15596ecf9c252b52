package onnx

import (
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	pb "github.com/texel-ml/texel/relay/importer/onnx/onnxpb"
	"github.com/texel-ml/texel/tensor"
)

// codesOf is a tensor of a narrow float.
func codesOf(d tensor.DType, shape tensor.Shape, list ...float64) *tensor.Tensor {
	return (&tensor.Wide{DType: d, Shape: shape, F: list}).Narrow()
}

// TestElementTypesBesideFloat are of operators that are defined on real numbers and take other elements, too.
func TestElementTypesBesideFloat(t *testing.T) {
	const f8 = tensor.Float8E4M3FN
	constant := func(name string, x *tensor.Tensor) *pb.TensorProto {
		number := map[tensor.DType]int32{f8: 17, tensor.Float32: 1, tensor.Int64: 7}[x.DType]
		return &pb.TensorProto{Name: proto.String(name), DataType: proto.Int32(number), Dims: int64sOf(x.Shape), RawData: x.Data}
	}
	for _, c := range []struct {
		node   *pb.NodeProto
		inputs []*pb.ValueInfoProto
		known  []*pb.TensorProto
		args   []*tensor.Tensor
		want   *tensor.Tensor
	}{
		{op("Shrink", names("x"), names("y"), attr("bias", 1.5), attr("lambd", 1.0)), values(value("x", 3, 5)), nil,
			[]*tensor.Tensor{tensor.Of(tensor.Int8, tensor.Shape{5}, int8(-3), -1, 0, 1, 4)}, tensor.Of(tensor.Int8, tensor.Shape{5}, int8(-1), 0, 0, 0, 2)},
		{op("GridSample", names("x", "g"), names("y"), attr("mode", "nearest"), attr("align_corners", 1)), values(value("x", 6, 1, 1, 2, 2), value("g", 1, 1, 1, 2, 2)), nil,
			[]*tensor.Tensor{tensor.Of(tensor.Int32, tensor.Shape{1, 1, 2, 2}, int32(1<<30+1), 2, 3, 4), tensor.Of(tensor.Float32, tensor.Shape{1, 1, 2, 2}, float32(-1), -1, 1, 1)},
			tensor.Of(tensor.Int32, tensor.Shape{1, 1, 1, 2}, int32(1<<30+1), 4)},
		{op("Col2Im", names("x", "image", "block"), names("y")), values(value("x", 2, 1, 2, 2)),
			[]*pb.TensorProto{constant("image", tensor.Of(tensor.Int64, tensor.Shape{2}, int64(1), 3)), constant("block", tensor.Of(tensor.Int64, tensor.Shape{2}, int64(1), 2))},
			[]*tensor.Tensor{tensor.Of(tensor.Uint8, tensor.Shape{1, 2, 2}, uint8(1), 2, 3, 4)}, tensor.Of(tensor.Uint8, tensor.Shape{1, 1, 1, 3}, uint8(1), 5, 4)},
		{op("Col2Im", names("x", "image", "block"), names("y")), values(value("x", 9, 1, 2, 2)),
			[]*pb.TensorProto{constant("image", tensor.Of(tensor.Int64, tensor.Shape{2}, int64(1), 3)), constant("block", tensor.Of(tensor.Int64, tensor.Shape{2}, int64(1), 2))},
			[]*tensor.Tensor{tensor.Of(tensor.Bool, tensor.Shape{1, 2, 2}, false, true, true, false)}, tensor.Of(tensor.Bool, tensor.Shape{1, 1, 1, 3}, false, true, false)},
		{op("HannWindow", names("n"), names("y"), attr("output_datatype", 6)), nil, []*pb.TensorProto{constant("n", tensor.Of(tensor.Int64, tensor.Shape{}, int64(4)))},
			nil, tensor.Of(tensor.Int32, tensor.Shape{4}, int32(0), 0, 1, 0)},
		{op("Attention", names("q", "k", "v"), names("y"), attr("q_num_heads", 1), attr("kv_num_heads", 1)), values(value("q", 1, 1, 1, 2), value("k", 1, 1, 1, 2), value("v", 10, 1, 1, 2)), nil,
			[]*tensor.Tensor{normal(1, 1, 2), normal(1, 1, 2), codesOf(tensor.Float16, tensor.Shape{1, 1, 2}, 0.5, -2)}, tensor.Of(tensor.Float32, tensor.Shape{1, 1, 2}, float32(0.5), -2)},
		// (3 - 1)·0.5 · (1.75 - 0.25)·2 = 3, and 3 / 0.75 + 1 = 5
		{op("QLinearMatMul", names("a", "sa", "za", "b", "sb", "zb", "sy", "zy"), names("y")), values(value("a", 17, 1, 1), value("b", 17, 1, 1)), []*pb.TensorProto{
			constant("sa", scale(0.5)), constant("za", codesOf(f8, tensor.Shape{}, 1)), constant("sb", scale(2)), constant("zb", codesOf(f8, tensor.Shape{}, 0.25)),
			constant("sy", scale(0.75)), constant("zy", codesOf(f8, tensor.Shape{}, 1))},
			[]*tensor.Tensor{codesOf(f8, tensor.Shape{1, 1}, 3), codesOf(f8, tensor.Shape{1, 1}, 1.75)}, codesOf(f8, tensor.Shape{1, 1}, 5)},
	} {
		g := graphOf(c.inputs, values(value("y", 0)), c.node)
		g.Initializer = c.known
		module, _ := load(t, model(22, g), Options{})
		require.Equal(t, c.want, compute(t, module, c.args...)[0], c.node.GetOpType())
	}
}
