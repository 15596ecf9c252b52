package relay

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/texel-ml/texel/diag"
	"github.com/texel-ml/texel/tensor"
)

func param(d tensor.DType, shape ...int) Expr {
	return NewVar("x", &TensorType{dims(shape...), d}, diag.Pos{})
}

func fp(shape ...int) Expr { return param(tensor.Float32, shape...) }

func TestIllegalOperandsAreNamed(t *testing.T) {
	core := Core()
	for _, c := range []struct {
		op    string
		attrs any
		args  []Expr
		kind  error
		text  string
	}{
		{"add", nil, []Expr{fp(2), fp(tensor.Unknown)}, diag.ErrUnsupported, "add: axis 0 of operand rhs has no known extent in Tensor[(?,), float32]; bind it before type inference"},
		{"add", nil, []Expr{fp(2), fp(3)}, diag.ErrInvalid, "add: shapes [(2,) (3,)] do not broadcast together"},
		{"add", nil, []Expr{fp(2), param(tensor.Int32, 2)}, diag.ErrInvalid, "operand rhs has element type int32, operand lhs has float32"},
		{"add", nil, []Expr{param(tensor.Int4, 2), param(tensor.Int4, 2)}, diag.ErrUnsupported, "operand lhs has storage type int4, which is not computed in; cast it first"},
		{"add", nil, []Expr{fp(2)}, diag.ErrInvalid, "wants 2 operands [lhs rhs], found 1"},
		{"logical_and", nil, []Expr{fp(2), fp(2)}, diag.ErrInvalid, "operands have type float32, wanted bool"},
		{"exp", nil, []Expr{param(tensor.Int32, 2)}, diag.ErrInvalid, "operand data has type int32, wanted a floating-point type"},
		{"exp", nil, []Expr{NewTuple([]Expr{fp(1)}, diag.Pos{})}, diag.ErrInvalid, "operand data has type (Tensor[(1,), float32],), wanted a tensor"},
		{"nn.conv2d", nil, []Expr{fp(1, 3, 8, 8), fp(4, 2, 3, 3)}, diag.ErrInvalid, "data has 3 channels, but weight takes 2 in each of 1 groups"},
		{"nn.conv2d", nil, []Expr{fp(1, 3, 8), fp(4, 3, 3, 3)}, diag.ErrInvalid, "layout NCHW has 4 axes, shape (1, 3, 8) has 3"},
		{"nn.conv2d", nil, []Expr{fp(1, 3, 2, 8), fp(4, 3, 3, 3)}, diag.ErrInvalid, "window of 3 with dilation 1 is larger than padded extent 2 of axis H"},
		{"nn.conv2d", with("nn.conv2d", func(a *ConvAttrs) { a.Strides = []int{0, 1} }), []Expr{fp(1, 3, 8, 8), fp(4, 3, 3, 3)}, diag.ErrInvalid,
			"strides=[0 1] has an entry outside 1…2147483647"},
		{"nn.conv2d", with("nn.conv2d", func(a *ConvAttrs) { a.Padding = []int{1, 1} }), []Expr{fp(1, 3, 8, 8), fp(4, 3, 3, 3)}, diag.ErrInvalid,
			"padding=[1 1] has 2 entries, wanted 4"},
		{"nn.conv2d", with("nn.conv2d", func(a *ConvAttrs) { a.Groups = 3 }), []Expr{fp(1, 3, 8, 8), fp(4, 1, 3, 3)}, diag.ErrInvalid,
			"4 output channels are no multiple of 3 groups"},
		{"nn.conv2d", &PoolAttrs{}, []Expr{fp(1, 3, 8, 8), fp(4, 3, 3, 3)}, diag.ErrInternal, "attributes have type *relay.PoolAttrs"},
		{"nn.conv2d_transpose", nil, []Expr{fp(1, 3, 8, 8), fp(4, 2, 3, 3)}, diag.ErrInvalid, "data has 3 channels, weight takes 4, groups are 1"},
		{"nn.dense", nil, []Expr{fp(1, 3), fp(4, 2)}, diag.ErrInvalid, "data (1, 3) has 3 features, weight (4, 2) takes 2"},
		{"nn.matmul", nil, []Expr{fp(2, 1, 3), fp(3, 3, 1)}, diag.ErrInvalid, "batch axes of (2, 1, 3) and (3, 3, 1) do not broadcast together"},
		{"nn.max_pool2d", with("nn.max_pool2d", func(a *PoolAttrs) { a.Layout = "NCWX" }), []Expr{fp(1, 1, 2, 2)}, diag.ErrInvalid, "layout NCWX, wanted one with the axes N, C and spatial ones"},
		{"nn.bias_add", nil, []Expr{fp(1, 3), fp(2)}, diag.ErrInvalid, "operand bias has shape (2,), wanted (3,), the extent of axis 1"},
		{"nn.softmax", &AxisAttrs{2}, []Expr{fp(1, 3)}, diag.ErrInvalid, "axis 2 is outside rank 2"},
		{"sum", &ReduceAttrs{Axis: []int{0, -2}}, []Expr{fp(1, 3)}, diag.ErrInvalid, "axis -2 is given twice in [0 -2]"},
		{"argmax", nil, []Expr{fp(0, 3)}, diag.ErrInvalid, "axis 0 of Tensor[(0, 3), float32] is empty"},
		{"reshape", &ReshapeAttrs{[]int{-1, 2}}, []Expr{fp(2, 3)}, diag.ErrInvalid, "newshape=[-1 2] does not have the 6 elements"},
		{"transpose", &TransposeAttrs{[]int{0, 0}}, []Expr{fp(2, 3)}, diag.ErrInvalid, "axis 0 is given twice"},
		{"tile", &TileAttrs{[]int{1 << 30, 1 << 30}}, []Expr{fp(2, 3)}, diag.ErrUnsupported, "is too large"},
		{"concatenate", &ConcatAttrs{1}, []Expr{NewTuple([]Expr{fp(2, 3), fp(3, 3)}, diag.Pos{})}, diag.ErrInvalid, "field 1 has type Tensor[(3, 3), float32], field 0 has Tensor[(2, 3), float32]; they may differ only along axis 1"},
		{"concatenate", nil, []Expr{fp(2)}, diag.ErrInvalid, "wanted a tuple of tensors"},
		{"split", &SplitAttrs{[]int{2, 1}, 0}, []Expr{fp(3)}, diag.ErrInvalid, "do not cut the 3 elements of axis 0"},
		{"strided_slice", &StridedSliceAttrs{Begin: []int{0}, End: []int{1}, Strides: []int{0}}, []Expr{fp(3)}, diag.ErrInvalid, "wanted none that is 0"},
		{"nn.pad", &PadAttrs{[]int{-3, 0}, "constant"}, []Expr{fp(2), fp()}, diag.ErrInvalid, "cuts more than axis 0"},
		{"take", nil, []Expr{fp(2), fp(1)}, diag.ErrInvalid, "operand indices has type float32, wanted int64 or int32"},
		{"gather", nil, []Expr{fp(2, 2), param(tensor.Int64, 1, 3)}, diag.ErrInvalid, "indices of shape (1, 3) exceed data of shape (2, 2) along axis 1"},
		{"scatter_nd", nil, []Expr{fp(2, 2), param(tensor.Int64, 1, 3), fp(3, 1)}, diag.ErrInvalid, "updates have shape (3, 1), wanted (3, 2)"},
		{"topk", &TopKAttrs{K: 4, Axis: 0, DType: tensor.Int64}, []Expr{fp(3)}, diag.ErrInvalid, "k=4 is outside the 3 elements"},
		{"cast", nil, []Expr{fp(3)}, diag.ErrInvalid, "dtype is not set"},
		{"image.resize", with("image.resize", func(a *ResizeAttrs) { a.Size, a.Method = []int{1}, "area" }), []Expr{fp(3)}, diag.ErrInvalid, `method="area", wanted one of`},
		{"vision.non_max_suppression", nil, []Expr{fp(1, 3, 4), fp(1, 2, 4), param(tensor.Int64), fp(), fp()}, diag.ErrInvalid, "wanted (B, N, 4) and (B, C, N)"},
		{"vision.non_max_suppression", nil, []Expr{fp(1, 3, 4), fp(1, 2, 3), fp(), fp(), fp()}, diag.ErrInvalid,
			"operand max_output_boxes_per_class has type Tensor[(), float32], wanted a number"},
		{"vision.non_max_suppression", nil, []Expr{fp(1, 3, 4), fp(1, 2, 3), param(tensor.Int64), fp(1), fp()}, diag.ErrInvalid,
			"operand iou_threshold has type Tensor[(1,), float32], wanted a number"},
		{"qnn.dequantize", nil, []Expr{param(tensor.Int8, 3), fp(2), param(tensor.Int8)}, diag.ErrInvalid, "operand input_scale has shape (2,), wanted (3,)"},
		{"nn.squeeze_excite", with("nn.squeeze_excite", func(a *SqueezeExciteAttrs) { a.Gate = "tanh" }),
			[]Expr{fp(1, 2, 1, 1), fp(1, 2), fp(1), fp(2, 1), fp(2)}, diag.ErrUnsupported, `gate="tanh"`},
	} {
		_, err := NewCall(core.Lookup(c.op), c.args, c.attrs, diag.Pos{Node: "n1"})
		require.ErrorContains(t, err, c.text, c.op)
		require.ErrorIs(t, err, c.kind, c.op)
		var e *diag.Error
		require.True(t, errors.As(err, &e))
		require.Equal(t, "n1", e.Pos.Node)
		require.Equal(t, "infer-type", e.Step)
		require.Equal(t, c.op, e.Node)
	}
}

func TestPoolsCountWindowsAsTheSpecificationDoes(t *testing.T) {
	require.Equal(t, 2, PoolExtent(5, 3, 2, 0, 0, 1, false))
	require.Equal(t, 2, PoolExtent(5, 3, 2, 0, 0, 1, true))
	require.Equal(t, 3, PoolExtent(6, 3, 2, 0, 0, 1, true))
	require.Equal(t, 1, PoolExtent(1, 1, 2, 0, 1, 1, true)) // a second window would start in the padding at the end
	require.Equal(t, 1, PoolExtent(5, 3, 1, 0, 0, 2, false))
}

// Inference must never panic, whatever the operands.
func TestInferenceRefusesWhatItDoesNotKnow(t *testing.T) {
	odd := []Expr{
		fp(), fp(0), fp(2, 3), fp(1, 4, 5, 6), fp(1, 2, 3, 4, 5, 6), fp(tensor.Unknown, 2), fp(1<<40, 1<<40),
		param(tensor.Bool, 2), param(tensor.Int64, 1), param(tensor.Int2, 3), param(tensor.Float8E4M3FN, 2, 2),
		NewTuple(nil, diag.Pos{}), NewTuple([]Expr{fp(1), NewTuple(nil, diag.Pos{})}, diag.Pos{}),
		NewFunction(nil, fp(1), false, nil, diag.Pos{}),
	}
	for _, op := range Core().Ops() {
		args := make([]Expr, len(op.Args))
		total := 1
		for range min(len(args), 2) {
			total *= len(odd)
		}
		for i := range total {
			for k := range args {
				args[k] = odd[i%len(odd)]
				if k == 0 {
					args[k] = odd[i/len(odd)%len(odd)]
				}
			}
			call, err := NewCall(op, args, nil, diag.Pos{})
			require.True(t, (call == nil) != (err == nil), op.Name)
			if err == nil && tensorElems(call.Type()) < 1000 {
				require.NoError(t, evaluates(op, call), op.Name)
			}
		}
	}
}

func tensorElems(t Type) int {
	switch t := t.(type) {
	case *TensorType:
		return t.Shape.Elems()
	case *TupleType:
		n := 0
		for _, f := range t.Fields {
			n += tensorElems(f)
		}
		return n
	}
	return 0
}

// evaluates runs the reference on zeros.
func evaluates(op *Op, call *Call) error {
	args := make([]Value, len(call.Args))
	for i, a := range call.Args {
		args[i] = zero(a.Type())
	}
	_, err := op.Eval(&EvalSite{Op: op, Args: args, Attrs: call.Attrs, Type: call.Type()})
	return err
}

func zero(t Type) Value {
	if list, ok := t.(*TupleType); ok {
		v := make(Values, len(list.Fields))
		for i, f := range list.Fields {
			v[i] = zero(f)
		}
		return v
	}
	return tensor.NewWide(t.(*TensorType).DType, t.(*TensorType).Shape)
}
