package te_test

import (
	"context"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/texel-ml/texel/diag"
	"github.com/texel-ml/texel/schedule/te"
	"github.com/texel-ml/texel/tensor"
	"github.com/texel-ml/texel/tir"
	"github.com/texel-ml/texel/tir/interp"
	"github.com/texel-ml/texel/tir/tirtext"
	"github.com/texel-ml/texel/tir/transform"
	"github.com/texel-ml/texel/tir/verify"
)

// list is what the functions of a definition return.
type list = []tir.Expr

func dims(n ...int) []int { return n }

func types(d ...tensor.DType) []tensor.DType { return d }

func f32(v float64) tir.Expr { return tir.Const(tensor.Float32, v) }

// ramp fills a buffer with small numbers that repeat after a while.
func ramp(b *tir.Buffer) *tensor.Tensor {
	w := tensor.NewWide(b.DType, b.Shape)
	for i := range w.F {
		w.F[i] = float64((i*37+11)%23)/4 - 2
	}
	for i := range w.I {
		w.I[i] = tensor.Wrap(b.DType, int64((i*5+3)%9-4))
	}
	return w.Narrow()
}

// run verifies a function, wants its text to be stable, runs its block form and its kernels, wants the same bits from
// both, and returns all parameters.
func run(t testing.TB, f *tir.Func, args ...*tensor.Tensor) []*tensor.Wide {
	t.Helper()
	text := tirtext.Print(f)
	require.NoError(t, verify.Verify(f), text)
	again, err := tirtext.Parse("f", text)
	require.NoError(t, err, text)
	require.Equal(t, text, tirtext.Print(again))

	given := map[*tir.Buffer]*tensor.Tensor{}
	for i, b := range f.Params {
		if i >= len(args) {
			args = append(args, ramp(b))
		}
		given[b] = &tensor.Tensor{DType: b.DType, Shape: b.Shape, Data: append([]byte(nil), args[i].Data...)}
	}
	ctx := context.Background()
	require.NoError(t, interp.Run(ctx, f, args, interp.Options{}), text)
	kernels, _, err := transform.Lower(f, transform.Options{})
	require.NoError(t, err, text)
	require.NoError(t, interp.RunKernels(ctx, kernels, given, interp.Options{Races: true}), text)
	out := make([]*tensor.Wide, len(args))
	for i, a := range args {
		require.Equal(t, string(a.Data), string(given[f.Params[i]].Data), "%s of\n%s", f.Params[i].Name, text)
		out[i] = tensor.Widen(a)
	}
	return out
}

// floats makes a tensor of numbers.
func floats(d tensor.DType, shape []int, v ...float64) *tensor.Tensor {
	w := tensor.NewWide(d, shape)
	copy(w.F, v)
	return w.Narrow()
}

var nan, inf = math.NaN(), math.Inf(1)

// requireFloat wants the same number with the same sign; NaN is NaN.
func requireFloat(t testing.TB, want, got float64, format string, args ...any) {
	t.Helper()
	if !math.IsNaN(want) || !math.IsNaN(got) {
		require.Equal(t, math.Float64bits(want), math.Float64bits(got), append([]any{format}, args...)...)
	}
}

// TestIdentities reduces an empty box: what is left is the identity, in the type.
func TestIdentities(t *testing.T) {
	reduce := map[string]func(string, tensor.DType, []int, []int, func(i, r []tir.Expr) tir.Expr) *te.Tensor{
		"sum": te.Sum, "prod": te.Prod, "max": te.Max, "min": te.Min}
	for _, c := range []struct {
		kind string
		d    tensor.DType
		want float64
	}{
		{"sum", tensor.Float16, 0}, {"prod", tensor.Int8, 1}, {"max", tensor.Float32, -inf}, {"max", tensor.Float16, -inf},
		{"max", tensor.Int8, -128}, {"max", tensor.Uint8, 0}, {"max", tensor.Bool, 0}, {"min", tensor.Float32, inf}, {"min", tensor.Int8, 127},
		{"min", tensor.Uint8, 255}, {"min", tensor.Int32, math.MaxInt32}, {"min", tensor.Bool, 1}, {"max", tensor.Int64, math.MinInt64},
	} {
		x := te.Placeholder("X", c.d, 2, 0)
		y := reduce[c.kind]("Y", c.d, dims(2), dims(0), func(i, r []tir.Expr) tir.Expr { return x.At(i[0], r[0]) })
		out := run(t, te.Func("f", []*te.Tensor{x}, []*te.Tensor{y}))[1]
		got := append([]float64{}, out.F...)
		for _, v := range out.I {
			got = append(got, float64(v))
		}
		require.Equal(t, []float64{c.want, c.want}, got, "%s of no %v", c.kind, c.d)
	}
}

// TestReduceWithoutAxes has reductions over no axis: the initial value and the one element, where the condition holds.
func TestReduceWithoutAxes(t *testing.T) {
	x := te.Placeholder("X", tensor.Float32, 3)
	y := te.Reduce("Y", tensor.Float32, dims(3), nil, f32(10), tir.Plus, func(i, _ []tir.Expr) tir.Expr { return x.At(i...) })
	z := te.Reduce("Z", tensor.Float32, dims(3), nil, f32(10), tir.Plus, func(i, _ []tir.Expr) tir.Expr { return x.At(i...) })
	z.Where(func(i, r []tir.Expr) tir.Expr { return tir.Lt(i[0], tir.I(2)) })
	out := run(t, te.Func("f", []*te.Tensor{x}, []*te.Tensor{y, z}), floats(tensor.Float32, dims(3), 1, 2, 3))
	require.Equal(t, []float64{11, 12, 13}, out[1].F)
	require.Equal(t, []float64{11, 12, 10}, out[2].F)
}

// TestArgMaxAndMin has ties, NaN, infinities and rows of the worst element only.
func TestArgMaxAndMin(t *testing.T) {
	rows := []struct {
		v               []float64
		most, least     int64
		highest, lowest float64
	}{
		{[]float64{1, 3, 3, 1}, 1, 0, 3, 1},
		{[]float64{-inf, -inf, -inf, -inf}, 0, 0, -inf, -inf},
		{[]float64{inf, inf, 2, 2}, 0, 2, inf, 2},
		{[]float64{2, nan, 1, nan}, 1, 2, nan, 1},
		{[]float64{nan, nan, nan, nan}, 0, 0, nan, nan},
		{[]float64{nan, inf, nan, nan}, 0, 1, nan, inf},
		{[]float64{math.Copysign(0, -1), 0, 0, 0}, 0, 0, math.Copysign(0, -1), math.Copysign(0, -1)},
		{[]float64{0, math.Copysign(0, -1), 0, -1}, 0, 3, 0, -1},
	}
	for _, d := range types(tensor.Float32, tensor.Float16, tensor.Float64) {
		x := te.Placeholder("X", d, len(rows), 2, 2)
		at := func(i, r []tir.Expr) tir.Expr { return x.At(i[0], r[0], r[1]) }
		p, v := te.ArgMax("most", tensor.Int32, d, dims(len(rows)), dims(2, 2), at)
		q, w := te.ArgMin("least", tensor.Int64, d, dims(len(rows)), dims(2, 2), at)
		var flat []float64
		for _, r := range rows {
			flat = append(flat, r.v...)
		}
		out := run(t, te.Func("f", []*te.Tensor{x}, []*te.Tensor{p, v, q, w}), floats(d, x.Shape(), flat...))
		for n, r := range rows {
			require.Equal(t, r.most, out[1].I[n], "place of the most of %v", r.v)
			requireFloat(t, r.highest, out[2].F[n], "most of %v", r.v)
			require.Equal(t, r.least, out[3].I[n], "place of the least of %v", r.v)
			requireFloat(t, r.lowest, out[4].F[n], "least of %v", r.v)
		}
	}
}

func TestBuildRefuses(t *testing.T) {
	x, other := te.Placeholder("X", tensor.Float32, 4, 4), te.Placeholder("Q", tensor.Float32, 4)
	one := func(f func(i []tir.Expr) tir.Expr) *te.Tensor { return te.Compute("Y", tensor.Float32, dims(4), f) }
	at := func(i []tir.Expr) tir.Expr { return x.At(i[0], i[0]) }
	a, b := te.Placeholder("A", tensor.Float32, 4), te.Placeholder("B", tensor.Float32, 4)
	nothing := te.Statement{Body: &tir.Evaluate{Value: tir.I(0)}}
	te.Extern([]*te.Tensor{a}, []*te.Tensor{b}, nothing)
	te.Extern([]*te.Tensor{b}, []*te.Tensor{a}, nothing)
	half := te.Placeholder("half", tensor.Float32, 4)
	te.Extern([]*te.Tensor{half, nil}, []*te.Tensor{nil}, nothing)
	unread := te.Placeholder("unread", tensor.Float32, 4)
	te.Extern([]*te.Tensor{unread}, []*te.Tensor{nil}, nothing)
	twice := one(at)
	te.Extern([]*te.Tensor{twice}, nil, nothing)
	mid := te.Compute("T", tensor.Float32, dims(4), at)
	for _, c := range []struct {
		want    string
		outputs []*te.Tensor
		stages  []*te.Tensor
	}{
		{"Y: 1 indices for buffer X of shape (4, 4)", []*te.Tensor{one(func(i []tir.Expr) tir.Expr { return x.At(i[0]) })}, nil},
		{"Y: index 0 of X is float32, wanted int64", []*te.Tensor{one(func(i []tir.Expr) tir.Expr { return x.At(f32(0), i[0]) })}, nil},
		{"Y: the element of Y is int64, wanted float32", []*te.Tensor{one(func(i []tir.Expr) tir.Expr { return i[0] })}, nil},
		{"Y: operands of + are float32 and int64, wanted one type", []*te.Tensor{one(func(i []tir.Expr) tir.Expr { return tir.Plus(at(i), i[0]) })}, nil},
		{"Y: the element of Y is missing", []*te.Tensor{one(func(i []tir.Expr) tir.Expr { return nil })}, nil},
		{"Y: it reads Q, which is neither an input of the function nor one of the given stages", []*te.Tensor{one(func(i []tir.Expr) tir.Expr { return other.At(i...) })}, nil},
		{"Y: it reads T, which is neither an input of the function nor one of the given stages", []*te.Tensor{one(func(i []tir.Expr) tir.Expr { return mid.At(i...) })}, nil},
		{"A: stages need each other: A, B, A", []*te.Tensor{a}, nil},
		{"half: a result is missing", []*te.Tensor{half}, nil},
		{"unread: it reads a tensor, which is neither an input of the function nor one of the given stages", []*te.Tensor{unread}, nil},
		{"Y: it is defined twice", []*te.Tensor{twice}, nil},
		{"Q: it is to be an output and nothing computes it", []*te.Tensor{other}, nil},
		{"T: it is given as an output twice", []*te.Tensor{mid, mid}, nil},
		{"f: the function has no output", nil, nil},
		{"f: a tensor is missing", []*te.Tensor{mid}, []*te.Tensor{nil}},
		{"Y: it is limited by a condition but is no reduction", []*te.Tensor{one(at).Where(func(i, r []tir.Expr) tir.Expr { return tir.True })}, nil},
		{"Y: the condition is int64, wanted bool", []*te.Tensor{
			te.Sum("Y", tensor.Float32, dims(4), dims(4), func(i, r []tir.Expr) tir.Expr { return x.At(i[0], r[0]) }).Where(func(i, r []tir.Expr) tir.Expr { return r[0] })}, nil},
		{"Y: operands of + are float32 and float16, wanted one type", []*te.Tensor{
			te.Sum("Y", tensor.Float32, dims(4), dims(4), func(i, r []tir.Expr) tir.Expr { return tir.As(tensor.Float16, x.At(i[0], r[0])) })}, nil},
		{"Y: the initial value of Y is int64, wanted float32", []*te.Tensor{
			te.Reduce("Y", tensor.Float32, dims(4), dims(4), tir.I(0), tir.Plus, func(i, r []tir.Expr) tir.Expr { return x.At(i[0], r[0]) })}, nil},
		{"Y: axis i0 has extent -4", []*te.Tensor{te.Compute("Y", tensor.Float32, dims(-4), at)}, nil},
		{"Y: axis r0 has extent -4", []*te.Tensor{te.Sum("Y", tensor.Float32, dims(4), dims(-4), func(i, r []tir.Expr) tir.Expr { return x.At(i[0], r[0]) })}, nil},
		{"Y: 2 results need 2 elements, found 1", te.ComputeMany("Y", types(tensor.Float32, tensor.Int64), dims(4), func(i []tir.Expr) []tir.Expr { return list{at(i)} }), nil},
		{"Y: the element of Y_v1 is float32, wanted int64", te.ComputeMany("Y", types(tensor.Float32, tensor.Int64), dims(4), func(i []tir.Expr) []tir.Expr { return list{at(i), at(i)} }), nil},
		{"Y: its reducer has no identity or no combination", te.CommReducer{}.Reduce("Y", types(tensor.Float32), dims(4), dims(4), nil), nil},
	} {
		f, err := te.Build("f", []*te.Tensor{x}, c.outputs, c.stages...)
		require.EqualError(t, err, "te: "+c.want)
		require.ErrorIs(t, err, diag.ErrInvalid)
		require.Nil(t, f)
		require.PanicsWithError(t, "te: "+c.want, func() { te.Func("f", []*te.Tensor{x}, c.outputs, c.stages...) })
	}
	line := te.Placeholder("line", tensor.Float32, 300)
	along := func(_, r []tir.Expr) tir.Expr { return line.At(r...) }
	for d, want := range map[tensor.DType]string{tensor.Uint8: "the place of one of 300 elements does not fit into uint8", tensor.Float32: "the place is float32, wanted an integer"} {
		p, _ := te.ArgMin("P", d, tensor.Float32, nil, dims(300), along)
		_, err := te.Build("f", []*te.Tensor{line}, []*te.Tensor{p})
		require.EqualError(t, err, "te: P: "+want)
	}
	_, err := te.Build("f", []*te.Tensor{x, x}, []*te.Tensor{mid})
	require.EqualError(t, err, "te: X: it is given as an input twice")
	_, err = te.Build("f", []*te.Tensor{x, mid}, []*te.Tensor{mid})
	require.EqualError(t, err, "te: T: it is given as an input and is computed")
}
