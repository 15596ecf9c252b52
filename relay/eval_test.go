package relay

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/texel-ml/texel/diag"
	"github.com/texel-ml/texel/tensor"
)

// example is one application of an operator with the values that were worked out by hand.
type example struct {
	op    string
	attrs any // nil: the defaults
	in    []Value
	want  Value
}

var nan, inf = math.NaN(), math.Inf(1)

func dims(d ...int) tensor.Shape { return append(tensor.Shape{}, d...) }

// f32 is a float32 array.
func f32(shape tensor.Shape, v ...float64) *tensor.Wide {
	return &tensor.Wide{DType: tensor.Float32, Shape: shape, F: v}
}

// num is an integer or bool array.
func num(d tensor.DType, shape tensor.Shape, v ...int64) *tensor.Wide {
	return &tensor.Wide{DType: d, Shape: shape, I: v}
}

func i64(shape tensor.Shape, v ...int64) *tensor.Wide { return num(tensor.Int64, shape, v...) }

func boolean(shape tensor.Shape, v ...int64) *tensor.Wide { return num(tensor.Bool, shape, v...) }

// vec is a float32 vector.
func vec(v ...float64) *tensor.Wide { return f32(dims(len(v)), v...) }

// count is an array 0, 1, 2, …
func count(shape ...int) *tensor.Wide {
	w := tensor.NewWide(tensor.Float32, dims(shape...))
	for i := range w.F {
		w.F[i] = float64(i)
	}
	return w
}

// with returns an operator's default attributes changed by f.
func with[A any](op string, f func(a *A)) any {
	a := Core().Lookup(op).NewAttrs().(*A)
	f(a)
	return a
}

// exprOf returns a parameter of the value's type, or a tuple of them.
func exprOf(v Value) Expr {
	switch v := v.(type) {
	case *tensor.Wide:
		return NewVar("x", &TensorType{v.Shape, v.DType}, diag.Pos{})
	case Values:
		fields := make([]Expr, len(v))
		for i, f := range v {
			fields[i] = exprOf(f)
		}
		return NewTuple(fields, diag.Pos{})
	}
	panic(fmt.Sprintf("value of type %T", v))
}

// apply evaluates an operator on values.
func apply(t *testing.T, e example) (Value, Type) {
	t.Helper()
	op := Core().Lookup(e.op)
	require.NotNil(t, op, "operator %s", e.op)
	args := make([]Expr, len(e.in))
	for i, v := range e.in {
		args[i] = exprOf(v)
	}
	call, err := NewCall(op, args, e.attrs, diag.Pos{})
	require.NoError(t, err)
	v, err := op.Eval(&EvalSite{Op: op, Args: e.in, Attrs: call.Attrs, Type: call.Type()})
	require.NoError(t, err)
	return v, call.Type()
}

func requireValue(t *testing.T, want, got Value, typ Type) {
	t.Helper()
	if list, ok := want.(Values); ok {
		fields := typ.(*TupleType).Fields
		require.Len(t, got, len(list))
		require.Len(t, fields, len(list))
		for i := range list {
			requireValue(t, list[i], got.(Values)[i], fields[i])
		}
		return
	}
	w, g := want.(*tensor.Wide), got.(*tensor.Wide)
	require.True(t, TypeEqual(&TensorType{w.Shape, w.DType}, typ), "wanted %v of %v, inferred %v", w.Shape, w.DType, typ)
	require.True(t, TypeEqual(&TensorType{g.Shape, g.DType}, typ), "value has %v of %v, inferred %v", g.Shape, g.DType, typ)
	require.Len(t, g.F, len(w.F))
	if len(w.I) > 0 || len(g.I) > 0 {
		require.Equal(t, w.I, g.I)
	}
	d := tensor.Compare(g, w, 1e-6, 1e-9)
	require.Zero(t, d.Outside, "wanted %v, got %v", w.F, g.F)
}

func TestOperatorsGiveTheValuesWorkedOutByHand(t *testing.T) {
	for i, e := range slices.Concat(elementwiseExamples, tensorExamples, movingExamples) {
		t.Run(fmt.Sprintf("%s_%d", e.op, i), func(t *testing.T) {
			got, typ := apply(t, e)
			requireValue(t, e.want, got, typ)
		})
	}
}

func TestEveryRowIsCompleteAndHasAnExample(t *testing.T) {
	tried := map[string]bool{}
	for _, e := range slices.Concat(elementwiseExamples, tensorExamples, movingExamples) {
		tried[e.op] = true
	}
	for _, op := range Core().Ops() {
		require.NotEmpty(t, op.Doc, op.Name)
		require.NotNil(t, op.Infer, op.Name)
		require.NotNil(t, op.Eval, op.Name)
		require.NotEmpty(t, op.Lower, op.Name)
		require.NotEmpty(t, op.Class.String(), op.Name)
		require.True(t, tried[op.Name], "%s has no example", op.Name)
		if op.NewAttrs != nil {
			fields := AttrFields(op.NewAttrs())
			require.NotEmpty(t, fields, op.Name)
			for _, f := range fields {
				require.NotEmpty(t, FormatAttr(f.Value), "%s.%s", op.Name, f.Name)
			}
		}
	}
}

func unary(op string, in, want *tensor.Wide) example {
	return example{op: op, in: []Value{in}, want: want}
}

func binary(op string, a, b, want *tensor.Wide) example {
	return example{op: op, in: []Value{a, b}, want: want}
}

var elementwiseExamples = []example{
	unary("abs", vec(-1.5, 0, 2, nan), vec(1.5, 0, 2, nan)),
	unary("abs", num(tensor.Int8, dims(3), -128, -3, 4), num(tensor.Int8, dims(3), -128, 3, 4)),
	unary("negative", num(tensor.Int32, dims(2), 3, math.MinInt32), num(tensor.Int32, dims(2), -3, math.MinInt32)),
	unary("sign", vec(-2, 0, 5, nan), vec(-1, 0, 1, nan)),
	unary("sign", num(tensor.Uint64, dims(2), -1, 0), num(tensor.Uint64, dims(2), 1, 0)),
	unary("exp", vec(0, 1, math.Inf(-1)), vec(1, math.E, 0)),
	unary("log", vec(1, math.E, -1, 0), vec(0, 1, nan, math.Inf(-1))),
	unary("sqrt", vec(9, -1), vec(3, nan)),
	unary("rsqrt", vec(4, 0), vec(0.5, inf)),
	unary("reciprocal", vec(4, -0.5), vec(0.25, -2)),
	unary("sigmoid", vec(0, 1000, -1000), vec(0.5, 1, 0)),
	unary("tanh", vec(0, 100), vec(0, 1)),
	unary("erf", vec(0, 1), vec(0, 0.8427007929497149)),
	unary("sin", vec(0, math.Pi/2), vec(0, 1)),
	unary("cos", vec(0, math.Pi), vec(1, -1)),
	unary("tan", vec(math.Pi/4), vec(1)),
	unary("asin", vec(1, 2), vec(math.Pi/2, nan)),
	unary("acos", vec(1, 0), vec(0, math.Pi/2)),
	unary("atan", vec(1), vec(math.Pi/4)),
	unary("sinh", vec(1), vec(1.1752011936438014)),
	unary("cosh", vec(1), vec(1.5430806348152437)),
	unary("asinh", vec(1), vec(0.881373587019543)),
	unary("acosh", vec(1, 0), vec(0, nan)),
	unary("atanh", vec(0.5), vec(0.5493061443340549)),
	unary("ceil", vec(1.2, -1.2), vec(2, -1)),
	unary("floor", vec(1.8, -1.2, 2.9999999999), vec(1, -2, 3)), // the last one is 3 in float32
	unary("floor", num(tensor.Int32, dims(1), 7), num(tensor.Int32, dims(1), 7)),
	unary("round", vec(0.5, 1.5, 2.5, -0.5, -1.5), vec(0, 2, 2, 0, -2)),
	unary("trunc", vec(1.8, -1.8), vec(1, -1)),
	unary("logical_not", boolean(dims(2), 0, 1), boolean(dims(2), 1, 0)),
	unary("bitwise_not", num(tensor.Uint8, dims(1), 0x0f), num(tensor.Uint8, dims(1), 0xf0)),
	unary("bitwise_not", num(tensor.Int16, dims(1), 0), num(tensor.Int16, dims(1), -1)),
	unary("isnan", vec(nan, 1), boolean(dims(2), 1, 0)),
	unary("isinf", vec(inf, -inf, 1e39, nan), boolean(dims(4), 1, 1, 1, 0)), // 1e39 is no float32
	{"isinf", &IsInfAttrs{false, true}, []Value{vec(inf, -inf)}, boolean(dims(2), 1, 0)},
	unary("copy", num(tensor.Int4, dims(2), -8, 7), num(tensor.Int4, dims(2), -8, 7)),
	{"cast", &CastAttrs{DType: tensor.Int32, RoundMode: "up"}, []Value{vec(-1.7, 1.7, 1e20, nan)}, num(tensor.Int32, dims(4), -1, 1, math.MaxInt32, 0)},
	{"cast", &CastAttrs{DType: tensor.Uint64, RoundMode: "up"}, []Value{vec(0x1p63)}, num(tensor.Uint64, dims(1), math.MinInt64)},
	{"cast", &CastAttrs{DType: tensor.Float32, RoundMode: "up"}, []Value{num(tensor.Uint64, dims(1), -1)}, vec(0x1p64)},
	{"cast", &CastAttrs{DType: tensor.Int8, RoundMode: "up"}, []Value{i64(dims(3), 200, -129, 5)}, num(tensor.Int8, dims(3), -56, 127, 5)},
	{"cast", &CastAttrs{DType: tensor.Bool, RoundMode: "up"}, []Value{vec(0, 0.5, nan)}, boolean(dims(3), 0, 1, 1)},
	{"cast", &CastAttrs{DType: tensor.Float16, RoundMode: "up"}, []Value{vec(1.00048828125, 1.00146484375, 70000)},
		&tensor.Wide{DType: tensor.Float16, Shape: dims(3), F: []float64{1, 1.001953125, inf}}},
	{"cast", &CastAttrs{DType: tensor.Float8E4M3FN, Saturate: true, RoundMode: "up"}, []Value{vec(1.0625, 1000, -inf)},
		&tensor.Wide{DType: tensor.Float8E4M3FN, Shape: dims(3), F: []float64{1, 448, -448}}},
	{"cast", &CastAttrs{DType: tensor.Float8E4M3FN, RoundMode: "up"}, []Value{vec(464, 464.5, 465, 1000)},
		&tensor.Wide{DType: tensor.Float8E4M3FN, Shape: dims(4), F: []float64{448, nan, nan, nan}}},
	{"cast", &CastAttrs{DType: tensor.Float8E5M2, RoundMode: "up"}, []Value{vec(1e6, -1e6)},
		&tensor.Wide{DType: tensor.Float8E5M2, Shape: dims(2), F: []float64{inf, -inf}}},
	{"cast", &CastAttrs{DType: tensor.Float8E8M0, Saturate: true, RoundMode: "up"}, []Value{vec(1, 1.1, 3, 0)},
		&tensor.Wide{DType: tensor.Float8E8M0, Shape: dims(4), F: []float64{1, 2, 4, 0x1p-127}}},
	{"cast", &CastAttrs{DType: tensor.Float8E8M0, Saturate: true, RoundMode: "nearest"}, []Value{vec(1.4, 1.5, 3.1)},
		&tensor.Wide{DType: tensor.Float8E8M0, Shape: dims(3), F: []float64{1, 2, 4}}},
	{"reinterpret", &CastAttrs{DType: tensor.Int32, RoundMode: "up"}, []Value{vec(1)}, num(tensor.Int32, dims(1), 0x3f800000)},
	{"clip", &ClipAttrs{-1, 1}, []Value{vec(-3, 0.5, 3, nan)}, vec(-1, 0.5, 1, nan)},
	{"clip", &ClipAttrs{3, -1}, []Value{vec(-5, 5)}, vec(-1, -1)},
	{"clip", &ClipAttrs{math.Inf(-1), 2}, []Value{i64(dims(2), math.MinInt64, 5)}, i64(dims(2), math.MinInt64, 2)},

	unary("nn.relu", vec(-1, 2, nan), vec(0, 2, nan)),
	unary("nn.relu", num(tensor.Int8, dims(2), -5, 5), num(tensor.Int8, dims(2), 0, 5)),
	{"nn.leaky_relu", &AlphaAttrs{0.1}, []Value{vec(-1, 2)}, vec(-0.1, 2)},
	{"nn.elu", &AlphaAttrs{2}, []Value{vec(-1, 2)}, vec(2*(1/math.E-1), 2)},
	{"nn.selu", &SeluAttrs{2, 3}, []Value{vec(-1, 1)}, vec(6*(1/math.E-1), 3)},
	{"nn.celu", &AlphaAttrs{2}, []Value{vec(-2, 1)}, vec(2*(1/math.E-1), 1)},
	{"nn.thresholded_relu", &AlphaAttrs{2}, []Value{vec(1, 2, 3)}, vec(0, 0, 3)},
	{"nn.hard_sigmoid", &HardSigmoidAttrs{0.5, 0.6}, []Value{vec(-2, 0.2, 1)}, vec(0, 0.7, 1)},
	unary("nn.hard_swish", vec(-4, 0, 3, 1, -inf), vec(0, 0, 3, 4.0/6, 0)),
	{"nn.swish", &SwishAttrs{2}, []Value{vec(0, 1, -inf)}, vec(0, 0.8807970779778823, 0)},
	unary("nn.gelu", vec(0, 1), vec(0, 0.8413447460685429)),
	{"nn.gelu", &GeluAttrs{"tanh"}, []Value{vec(1)}, vec(0.8411919906082768)},
	unary("nn.softplus", vec(0, 1000), vec(math.Ln2, 1000)),
	unary("nn.softsign", vec(-3, 1), vec(-0.75, 0.5)),
	unary("nn.mish", vec(0, 1000), vec(0, 1000)),
	{"nn.shrink", &ShrinkAttrs{1, 1.5}, []Value{vec(-2, -1, 0, 2)}, vec(-1, 0, 0, 1)},
	binary("nn.bias_add", count(1, 2, 2), vec(10, 20), f32(dims(1, 2, 2), 10, 11, 22, 23)),
	{"nn.bias_add", &AxisAttrs{-1}, []Value{count(1, 2, 2), vec(10, 20)}, f32(dims(1, 2, 2), 10, 21, 12, 23)},
	binary("nn.prelu", f32(dims(1, 2, 2), -1, 1, -1, 1), vec(0.5, 0.25), f32(dims(1, 2, 2), -0.5, 1, -0.25, 1)),

	binary("add", f32(dims(2, 1), 1, 2), vec(10, 20, 30), f32(dims(2, 3), 11, 21, 31, 12, 22, 32)),
	binary("add", num(tensor.Uint8, dims(1), 250), num(tensor.Uint8, dims(1), 10), num(tensor.Uint8, dims(1), 4)),
	binary("subtract", f32(dims(), 1), f32(dims(), 3), f32(dims(), -2)),
	binary("multiply", num(tensor.Int8, dims(1), 100), num(tensor.Int8, dims(1), 3), num(tensor.Int8, dims(1), 44)),
	binary("divide", vec(1, -1, 0), vec(0, 2, 0), vec(inf, -0.5, nan)),
	binary("divide", num(tensor.Int32, dims(3), -7, 7, 1), num(tensor.Int32, dims(3), 2, -2, 0), num(tensor.Int32, dims(3), -3, -3, 0)),
	binary("divide", num(tensor.Uint64, dims(1), -1), num(tensor.Uint64, dims(1), 2), num(tensor.Uint64, dims(1), math.MaxInt64)),
	binary("power", vec(2, 4), vec(10, 0.5), vec(1024, 2)),
	binary("power", i64(dims(4), 3, -2, 1, 5), i64(dims(4), 4, 3, -5, -1), i64(dims(4), 81, -8, 1, 0)),
	binary("mod", vec(5, -5, 5), vec(3, 3, -3), vec(2, 1, -1)),
	binary("mod", i64(dims(3), -5, 5, 5), i64(dims(3), 3, -3, 0), i64(dims(3), 1, -1, 0)),
	binary("fmod", vec(-5, 5), vec(3, -3), vec(-2, 2)),
	binary("fmod", i64(dims(2), -5, 5), i64(dims(2), 3, -3), i64(dims(2), -2, 2)),
	binary("maximum", vec(1, nan, 2), vec(3, 0, nan), vec(3, nan, nan)),
	binary("maximum", num(tensor.Uint64, dims(1), -1), num(tensor.Uint64, dims(1), 1), num(tensor.Uint64, dims(1), -1)),
	binary("minimum", vec(1, nan, inf), vec(3, inf, nan), vec(1, nan, nan)),
	binary("equal", vec(1, nan), vec(1, nan), boolean(dims(2), 1, 0)),
	binary("not_equal", boolean(dims(2), 1, 0), boolean(dims(2), 1, 1), boolean(dims(2), 0, 1)),
	binary("less", num(tensor.Uint64, dims(1), -1), num(tensor.Uint64, dims(1), 1), boolean(dims(1), 0)),
	binary("less_equal", vec(1, 2, 3), vec(2), boolean(dims(3), 1, 1, 0)),
	binary("greater", vec(1, 2, 3), vec(2), boolean(dims(3), 0, 0, 1)),
	binary("greater_equal", i64(dims(3), 1, 2, 3), i64(dims(1), 2), boolean(dims(3), 0, 1, 1)),
	binary("logical_and", boolean(dims(4), 0, 0, 1, 1), boolean(dims(4), 0, 1, 0, 1), boolean(dims(4), 0, 0, 0, 1)),
	binary("logical_or", boolean(dims(4), 0, 0, 1, 1), boolean(dims(4), 0, 1, 0, 1), boolean(dims(4), 0, 1, 1, 1)),
	binary("logical_xor", boolean(dims(4), 0, 0, 1, 1), boolean(dims(4), 0, 1, 0, 1), boolean(dims(4), 0, 1, 1, 0)),
	binary("bitwise_and", i64(dims(1), 12), i64(dims(1), 10), i64(dims(1), 8)),
	binary("bitwise_or", i64(dims(1), 12), i64(dims(1), 10), i64(dims(1), 14)),
	binary("bitwise_xor", i64(dims(1), 12), i64(dims(1), 10), i64(dims(1), 6)),
	binary("left_shift", num(tensor.Uint8, dims(3), 1, 255, 1), num(tensor.Uint8, dims(3), 3, 4, 8), num(tensor.Uint8, dims(3), 8, 240, 0)),
	binary("right_shift", num(tensor.Int8, dims(2), -8, 8), num(tensor.Int8, dims(2), 1, 9), num(tensor.Int8, dims(2), -4, 0)),
	binary("right_shift", num(tensor.Uint64, dims(1), -1), num(tensor.Uint64, dims(1), 63), num(tensor.Uint64, dims(1), 1)),
	{"where", nil, []Value{boolean(dims(2, 1), 1, 0), vec(1, 2), f32(dims(), 9)}, f32(dims(2, 2), 1, 2, 9, 9)},
}
