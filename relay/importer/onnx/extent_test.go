package onnx

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/texel-ml/texel/diag"
	"github.com/texel-ml/texel/relay"
	pb "github.com/texel-ml/texel/relay/importer/onnx/onnxpb"
	"github.com/texel-ml/texel/tensor"
)

// picked is a model that takes the rows of x (4, 3) that a condition picks, and computes y of them by nodes that call them r.
func picked(outputType int32, nodes ...*pb.NodeProto) *pb.ModelProto {
	m := model(17, graphOf(values(value("x", float32Type, 4, 3), value("which", boolType, 4)), values(value("y", outputType)),
		append([]*pb.NodeProto{op("Compress", names("x", "which"), names("r"), attr("axis", 0))}, nodes...)...))
	m.Graph.Initializer = []*pb.TensorProto{floats("two", nil, 2), floats("row", []int64{1, 3}, 5, 6, 7), floats("all", []int64{4, 3}, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12),
		floats("w", []int64{3, 2}, 1, 2, 3, 4, 5, 6), int64s("first", []int64{1}, 0), int64s("second", []int64{1}, 1), int64s("both", []int64{2}, 0, 2), int64s("three", []int64{1}, 3)}
	return m
}

// TestOperatorsKeepRowsApart computes with picked rows when the model runs and, for the same answer, with rows that are
// picked at compile time, so that their number is known.
func TestOperatorsKeepRowsApart(t *testing.T) {
	x := tensor.Of(tensor.Float32, tensor.Shape{4, 3}, float32(1), 2, 0, 0, 1, 2, 2, 0, 1, -1, -2, 1)
	for _, c := range []struct {
		name   string
		output int32
		axis   int // of y that is bounded; -1: none
		nodes  []*pb.NodeProto
	}{
		{"a scalar", 1, 0, []*pb.NodeProto{op("Mul", names("r", "two"), names("y"))}},
		{"a row for all", 1, 0, []*pb.NodeProto{op("Add", names("row", "r"), names("y"))}},
		{"the same rows", 1, 0, []*pb.NodeProto{op("Exp", names("r"), names("e")), op("Sub", names("e", "r"), names("y"))}},
		{"three of them", 1, 0, []*pb.NodeProto{op("Greater", names("r", "two"), names("g")), op("Where", names("g", "r", "row"), names("y"))}},
		{"more axes in front", 1, 1, []*pb.NodeProto{op("Unsqueeze", names("all", "first"), names("one")), op("Gather", names("one", "first"), names("g"), attr("axis", 1)), op("Mul", names("r", "g"), names("y"))}},
		{"turned", 1, 1, []*pb.NodeProto{op("Transpose", names("r"), names("y"), attr("perm", []int{1, 0}))}},
		{"turned about", 1, 1, []*pb.NodeProto{op("Transpose", names("r"), names("y"))}},
		{"axes added", 1, 1, []*pb.NodeProto{op("Unsqueeze", names("r", "both"), names("y"))}},
		{"axes added and taken away", 1, 0, []*pb.NodeProto{op("Unsqueeze", names("r", "both"), names("u")), op("Squeeze", names("u", "both"), names("y"))}},
		{"elements of rows", 1, 0, []*pb.NodeProto{op("Gather", names("r", "second"), names("y"), attr("axis", 1))}},
		{"a part of rows", 1, 0, []*pb.NodeProto{op("Slice", names("r", "second", "three", "second"), names("y"))}},
		{"rows as indices", 1, 0, []*pb.NodeProto{op("Cast", names("r"), names("i"), attr("to", 7)), op("Gather", names("w", "i"), names("y"), attr("axis", 0))}},
		{"rows as indices of an inner axis", 1, 1, []*pb.NodeProto{op("Cast", names("r"), names("i"), attr("to", 7)), op("Gather", names("all", "i"), names("y"), attr("axis", 1))}},
		{"rows as places", 1, 0, []*pb.NodeProto{op("Slice", names("r", "first", "three", "second", "second"), names("p")), op("Slice", names("p", "second", "three", "second"), names("q")),
			op("Cast", names("q"), names("i"), attr("to", 7)), op("GatherND", names("all", "i"), names("y"))}},
		{"a product", 1, 0, []*pb.NodeProto{op("MatMul", names("r", "w"), names("y"))}},
		{"softmax of rows", 1, 0, []*pb.NodeProto{op("Softmax", names("r"), names("y"))}},
		{"sums of rows", 1, 0, []*pb.NodeProto{op("ReduceSum", names("r", "second"), names("y"), attr("keepdims", 0))}},
		{"maxima of rows", 1, 0, []*pb.NodeProto{op("ReduceMax", names("r"), names("y"), attr("axes", []int{1}))}},
		{"sums of turned rows", 1, 0, []*pb.NodeProto{op("Transpose", names("r"), names("u")), op("ReduceSum", names("u", "first"), names("y"), attr("keepdims", 0))}},
		{"places of maxima", 7, 0, []*pb.NodeProto{op("ArgMax", names("r"), names("y"), attr("axis", 1), attr("keepdims", 0))}},
		{"the shape", 7, -1, []*pb.NodeProto{op("Shape", names("r"), names("y"))}},
		{"a part of the shape", 7, -1, []*pb.NodeProto{op("Shape", names("r"), names("y"), attr("start", 1))}},
		{"the size", 7, -1, []*pb.NodeProto{op("Size", names("r"), names("y"))}},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := picked(c.output, c.nodes...)
			open, _ := load(t, m, Options{})
			if c.axis < 0 {
				require.Empty(t, open.Extents)
			} else {
				require.Equal(t, relay.Extent{Axis: c.axis, Output: 1}, open.Extents["y"])
			}
			for _, which := range [][]bool{{true, false, true, false}, {false, false, true, false}, {true, true, true, true}, {false, true, true, true}} {
				v := tensor.Of(tensor.Bool, tensor.Shape{4}, which...)
				bound, _ := load(t, m, Options{Values: map[string]*tensor.Tensor{"which": v}})
				got, want := compute(t, open, x, v), compute(t, bound, x)
				if c.axis >= 0 {
					got[0] = cutAxis(got[0], c.axis, int(tensor.View[int64](got[1])[0]))
				}
				require.Equal(t, want[0], got[0])
			}
		})
	}
}

func TestOperatorsThatMixRowsAreRefused(t *testing.T) {
	for text, nodes := range map[string][]*pb.NodeProto{
		"of axis 0 of operand 0":                 {op("ReduceSum", names("r", "first"), names("y"))},
		"Softmax_node":                           {op("Softmax", names("r"), names("y"), attr("axis", 0))},
		"Concat_node":                            {op("Concat", names("r", "r"), names("y"), attr("axis", 0))},
		"Flatten_node":                           {op("Flatten", names("r"), names("y"), attr("axis", 0))},
		"of axis 0 of operand 1":                 {op("Add", names("all", "r"), names("y"))},
		"Gather_node":                            {op("Gather", names("r", "first"), names("y"))},
		"of axis 1 of operand 1":                 {op("Transpose", names("r"), names("u")), op("MatMul", names("all", "u"), names("y"))},
		"operand 0 is known only when the model": {op("ReduceMax", names("r"), names("y"))},
	} {
		refuse(t, picked(1, nodes...), Options{}, diag.ErrUnsupported, text, "is known only when the model runs")
	}
	// rows of two pickings
	m := picked(1, op("Compress", names("x", "others"), names("s"), attr("axis", 0)), op("Add", names("r", "s"), names("y")))
	m.Graph.Input = append(m.Graph.Input, value("others", boolType, 4))
	refuse(t, m, Options{}, diag.ErrUnsupported, "the extent of axis 0 of operand 0 is known only when the model runs")
}
