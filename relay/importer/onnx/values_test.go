package onnx

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/texel-ml/texel/diag"
	"github.com/texel-ml/texel/relay"
	pb "github.com/texel-ml/texel/relay/importer/onnx/onnxpb"
	"github.com/texel-ml/texel/tensor"
)

// TestValuesThatAreKnownWhenTheModelRuns computes each with the value as an input and, for the same answer, as a constant.
func TestValuesThatAreKnownWhenTheModelRuns(t *testing.T) {
	x := normal(3, 4)
	for _, c := range []struct {
		op    string
		attrs []*pb.AttributeProto
		list  []int64 // of the value
	}{
		{"Trilu", nil, []int64{-9, -1, 0, 1, 9}},
		{"Trilu", []*pb.AttributeProto{attr("upper", 0)}, []int64{-9, -1, 0, 1, 9}},
		{"CumSum", nil, []int64{-2, -1, 0, 1}},
		{"CumSum", []*pb.AttributeProto{attr("exclusive", 1), attr("reverse", 1)}, []int64{0, 1}},
		{"CumProd", nil, []int64{0, 1}},
		{"TopK", []*pb.AttributeProto{attr("axis", 1)}, []int64{0, 1, 3, 4}},
		{"TopK", []*pb.AttributeProto{attr("axis", 0), attr("largest", 0)}, []int64{2}},
	} {
		for _, v := range c.list {
			m := model(28, graphOf(values(value("x", 1, 3, 4), value("v", 7, 1)), values(value("y", 1)), op(c.op, names("x", "v"), names("y"), c.attrs...)))
			if c.op == "TopK" {
				m.Graph.Node[0].Output = names("y", "places")
			} else {
				m.Graph.Input = values(value("x", 1, 3, 4), value("v", 7))
			}
			number := tensor.Of(tensor.Int64, tensor.Shape{}, v)
			if c.op == "TopK" {
				number.Shape = tensor.Shape{1}
			}
			open, _ := load(t, m, Options{})
			bound, _ := load(t, m, Options{Values: map[string]*tensor.Tensor{"v": number}})
			got, want := compute(t, open, x, number), compute(t, bound, x)
			what := fmt.Sprintf("%s %v of %d", c.op, c.attrs, v)
			if x, ok := open.Extents["y"]; ok { // the rows that are real
				require.Equal(t, []int64{v}, tensor.View[int64](got[x.Output]), what)
				w := tensor.Widen(got[0])
				shape := w.Shape.Clone()
				shape[x.Axis] = int(v)
				cut := tensor.NewWide(w.DType, shape)
				for i := range cut.F {
					at := []int{i / shape[1], i % shape[1]}
					cut.F[i] = w.F[at[0]*w.Shape[1]+at[1]]
				}
				got[0] = cut.Narrow()
			}
			require.Equal(t, want[0], got[0], what)
		}
	}
}

// TestAnExtentThatANumberDecidesIsAskedFor is of a model that computes on with the first k.
func TestAnExtentThatANumberDecidesIsAskedFor(t *testing.T) {
	m := model(17, graphOf(values(value("x", 1, 3, 4), value("k", 7, 1)), values(value("z", 1)), op("TopK", names("x", "k"), names("y", "places")),
		op("ReduceSum", names("y"), names("z"))))
	refuse(t, m, Options{}, diag.ErrUnsupported, `the extent of axis 1 of operand 0 must be known to compile; give the input's value with --input k=…`)
	module, _ := load(t, m, Options{Values: map[string]*tensor.Tensor{"k": tensor.Of(tensor.Int64, tensor.Shape{1}, int64(2))}})
	require.Empty(t, module.Extents)
	require.Equal(t, tensor.Shape{1, 1}, relay.Tensor(module.Main().Body).Shape)
}
