package onnx

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/texel-ml/texel/diag"
	"github.com/texel-ml/texel/relay"
	pb "github.com/texel-ml/texel/relay/importer/onnx/onnxpb"
)

// typed reports whether err is nil or says what is wrong with the model.
func typed(err error) bool {
	return err == nil || errors.Is(err, diag.ErrInvalid) || errors.Is(err, diag.ErrUnsupported)
}

// FuzzImport changes small models. Whatever comes out must be a module that verifies, or a typed error.
func FuzzImport(f *testing.F) {
	for _, m := range fuzzSeeds() {
		f.Add(bytesOf(f, m))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > 1<<16 {
			return
		}
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		m, _, err := ImportBytes(ctx, "model.onnx", data, Options{Dims: map[string]int{"N": 3}, MaxTrips: 9})
		if !typed(err) {
			t.Fatalf("an error without a kind: %v", err)
		}
		if err == nil {
			if err := relay.Verify(m); err != nil {
				t.Fatalf("an illegal module: %v", err)
			}
		}
	})
}

// fuzzSeeds are small models of many operators.
func fuzzSeeds() []*pb.ModelProto {
	x := value("x", 1, 1, 4, 6, 6)
	y := values(value("y", 1))
	one := func(opset int64, weights []*pb.TensorProto, nodes ...*pb.NodeProto) *pb.ModelProto {
		g := graphOf(values(x), y, nodes...)
		g.Initializer = weights
		return model(opset, g)
	}
	w := floats("w", []int64{2, 4, 1, 1}, 1, 2, 3, 4, 5, 6, 7, 8)
	c := floats("c", []int64{4}, 1, 2, 3, 4)
	branch := graphOf(nil, y, op("Relu", names("x"), names("y")))
	yes := &pb.TensorProto{Name: new(string), DataType: new(int32), Int32Data: []int32{1}}
	*yes.Name, *yes.DataType = "yes", 9
	body := graphOf(values(value("i", 7), value("go", 9), value("s", 1)), values(value("go", 9), value("r", 1)), op("Add", names("s", "s"), names("r")))
	lstm, _ := (&layer{op: "LSTM", direction: "bidirectional", steps: 40, lens: make([]int32, batchSize), x: make([]float32, 240), w: make([]float32, 64), r: make([]float32, 128), b: make([]float32, 64)}).model()
	return []*pb.ModelProto{
		reshapeModel(),
		one(17, []*pb.TensorProto{w}, op("Conv", names("x", "w"), names("y"), attr("pads", []int{1, 1, 0, 0}), attr("strides", []int{2, 1}))),
		one(17, []*pb.TensorProto{w}, op("ConvTranspose", names("x", "v"), names("y")), op("Relu", names("w"), names("v"))),
		one(15, []*pb.TensorProto{c}, op("BatchNormalization", names("x", "c", "c", "c", "c"), names("y"))),
		one(11, nil, op("MaxPool", names("x"), names("y", "i"), attr("kernel_shape", []int{2, 2}), attr("ceil_mode", 1))),
		one(13, []*pb.TensorProto{int64s("k", []int64{1}, 2)}, op("TopK", names("x", "k"), names("y", "i"), attr("axis", 1))),
		one(13, []*pb.TensorProto{int64s("a", []int64{4}, 0, 0, 1, 1), int64s("b", []int64{4}, 9, -1, -1, 3)}, op("Slice", names("x", "a", "b"), names("y"))),
		one(13, []*pb.TensorProto{int64s("p", []int64{8}, 0, 0, 1, 1, 0, 0, 1, -1)}, op("Pad", names("x", "p"), names("y"), attr("mode", "reflect"))),
		one(13, []*pb.TensorProto{floats("r", []int64{0}), floats("s", []int64{4}, 1, 1, 2, 2)}, op("Resize", names("x", "r", "s"), names("y"), attr("mode", "linear"))),
		one(17, nil, op("Split", names("x"), names("y", "z"), attr("axis", 1)), op("Concat", names("z", "y"), names("q"), attr("axis", 1))),
		one(17, []*pb.TensorProto{yes}, op("If", names("yes"), names("y"), attr("then_branch", branch), attr("else_branch", branch))),
		one(17, []*pb.TensorProto{int64s("n", nil, 3)}, op("Loop", names("n", "", "x"), names("y"), attr("body", body))),
		summing("n", "go"),
		counting(1000, value("s", 1, 3), op("If", names("on"), names("next"), attr("then_branch", graphOf(nil, values(value("t", 1)), op("Add", names("s", "x"), names("t")))),
			attr("else_branch", graphOf(nil, values(value("s", 1)))))),
		picked(1, op("Transpose", names("r"), names("t")), op("ReduceSum", names("t", "first"), names("y"))),
		lstm,
		one(13, nil, op("Einsum", names("x", "x"), names("y"), attr("equation", "bchw,bcwk->bhk"))),
		one(13, []*pb.TensorProto{floats("s", nil, 0.5)}, op("QuantizeLinear", names("x", "s"), names("q")), op("DequantizeLinear", names("q", "s"), names("y"))),
		one(13, nil, op("NonZero", names("x"), names("y"))),
		one(13, []*pb.TensorProto{int64s("s", []int64{2}, 1000000, 1000000)}, op("ConstantOfShape", names("s"), names("y"))),
	}
}
