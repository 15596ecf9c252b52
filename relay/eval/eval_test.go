package eval_test

import (
	"context"
	"errors"
	"math"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/texel-ml/texel/diag"
	"github.com/texel-ml/texel/relay"
	"github.com/texel-ml/texel/relay/eval"
	"github.com/texel-ml/texel/tensor"
)

var core = relay.Core()

func call(t testing.TB, op string, attrs any, args ...relay.Expr) relay.Expr {
	t.Helper()
	c, err := relay.NewCall(core.Lookup(op), args, attrs, diag.Pos{Node: op})
	require.NoError(t, err)
	return c
}

func apply(t testing.TB, f relay.Expr, args ...relay.Expr) relay.Expr {
	t.Helper()
	c, err := relay.NewCallFn(f, args, diag.Pos{})
	require.NoError(t, err)
	return c
}

func variable(name string, d tensor.DType, shape ...int) *relay.Var {
	return relay.NewVar(name, &relay.TensorType{Shape: append(tensor.Shape{}, shape...), DType: d}, diag.Pos{})
}

func fn(body relay.Expr, params ...*relay.Var) *relay.Function {
	return relay.NewFunction(params, body, false, nil, diag.Pos{})
}

func floats(v ...float64) *tensor.Wide {
	return &tensor.Wide{DType: tensor.Float32, Shape: tensor.Shape{len(v)}, F: v}
}

func boolean(v int64) *tensor.Wide {
	return &tensor.Wide{DType: tensor.Bool, Shape: tensor.Shape{}, I: []int64{v}}
}

func run(t testing.TB, f *relay.Function, inputs ...relay.Value) relay.Value {
	t.Helper()
	v, err := eval.Run(context.Background(), f, inputs)
	require.NoError(t, err)
	return v
}

func TestFunctionsLetsAndBranches(t *testing.T) {
	x, c := variable("x", tensor.Float32, 2), variable("c", tensor.Bool)
	p := variable("p", tensor.Float32, 2)
	// A closure that reads x of the function around it, called twice, from inside a branch.
	add := fn(call(t, "add", nil, p, x), p)
	twice := apply(t, add, apply(t, add, x))
	v := variable("v", tensor.Float32, 2)
	let := relay.NewLet(v, twice, call(t, "multiply", nil, v, v), diag.Pos{})
	branch, err := relay.NewIf(c, let, call(t, "negative", nil, x), diag.Pos{})
	require.NoError(t, err)
	f := fn(relay.NewTuple([]relay.Expr{branch, x}, diag.Pos{}), x, c)
	in := floats(1, 2)
	require.Equal(t, relay.Values{floats(9, 36), in}, run(t, f, in, boolean(1)))
	require.Equal(t, relay.Values{floats(-1, -2), in}, run(t, f, in, boolean(0)))
}

func TestAFunctionIsAValue(t *testing.T) {
	p, x := variable("p", tensor.Float32, 1), variable("x", tensor.Float32, 1)
	body := fn(call(t, "exp", nil, p), p)
	f := relay.NewVar("f", body.Type(), diag.Pos{})
	require.Equal(t, floats(1), run(t, fn(relay.NewLet(f, body, apply(t, f, x), diag.Pos{}), x), floats(0)))
}

func TestOnlyTheTakenBranchIsComputed(t *testing.T) {
	x, c := variable("x", tensor.Float32, 1), variable("c", tensor.Bool)
	shared := call(t, "exp", nil, x)
	branch, err := relay.NewIf(c, call(t, "log", nil, shared), call(t, "tan", nil, shared), diag.Pos{})
	require.NoError(t, err)
	var seen []string
	observe := eval.Options{Observe: func(e relay.Expr, _ relay.Value) error {
		if c, ok := e.(*relay.Call); ok {
			seen = append(seen, c.Op.Name)
		}
		return nil
	}}
	_, err = observe.Run(context.Background(), fn(branch, x, c), []relay.Value{floats(1), boolean(0)})
	require.NoError(t, err)
	require.Equal(t, []string{"exp", "tan"}, seen)

	stop := errors.New("enough")
	_, err = eval.Options{Observe: func(relay.Expr, relay.Value) error { return stop }}.Run(context.Background(), fn(branch, x, c),
		[]relay.Value{floats(1), boolean(0)})
	require.ErrorIs(t, err, stop)
}

func TestDeepGraphsDoNotOverflow(t *testing.T) {
	x := variable("x", tensor.Float32, 1)
	one := relay.NewConstant(tensor.Of(tensor.Float32, tensor.Shape{1}, float32(1)), "", diag.Pos{})
	var chain relay.Expr = x
	for range 100_000 {
		chain = call(t, "add", nil, chain, one)
	}
	require.Equal(t, floats(100_000), run(t, fn(chain, x), floats(0)))

	// let v1 = 1; let v2 = v1 + 1; … vn
	vars := make([]*relay.Var, 50_000)
	for i := range vars {
		vars[i] = variable("v", tensor.Float32, 1)
	}
	var let relay.Expr = vars[len(vars)-1]
	for i := len(vars) - 1; i > 0; i-- {
		let = relay.NewLet(vars[i], call(t, "add", nil, vars[i-1], one), let, diag.Pos{})
	}
	let = relay.NewLet(vars[0], one, let, diag.Pos{})
	require.Equal(t, floats(50_000), run(t, fn(let)))
}

func TestValuesAreDroppedAfterTheirLastUse(t *testing.T) {
	const n = 1 << 20
	x := variable("x", tensor.Float32, n)
	var chain relay.Expr = x
	for range 64 { // 512 MB if all were kept
		chain = call(t, "negative", nil, chain)
	}
	var peak uint64
	o := eval.Options{Observe: func(relay.Expr, relay.Value) error {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		peak = max(peak, m.HeapAlloc)
		return nil
	}}
	_, err := o.Run(context.Background(), fn(chain, x), []relay.Value{tensor.NewWide(tensor.Float32, tensor.Shape{n})})
	require.NoError(t, err)
	require.Less(t, peak, uint64(100<<20))
}

func TestCancellationEndsALongOperator(t *testing.T) {
	a, b := variable("a", tensor.Float32, 4096, 4096), variable("b", tensor.Float32, 4096, 4096)
	product := call(t, "nn.matmul", nil, a, b) // a minute of work
	ctx, cancel := context.WithCancel(context.Background())
	zero := tensor.NewWide(tensor.Float32, tensor.Shape{4096, 4096})
	time.AfterFunc(50*time.Millisecond, cancel)
	start := time.Now()
	_, err := eval.Run(ctx, fn(product, a, b), []relay.Value{zero, zero})
	require.ErrorIs(t, err, context.Canceled)
	require.Less(t, time.Since(start), 2*time.Second)
}

func TestWrongInputsAreNamed(t *testing.T) {
	x := variable("x", tensor.Float32, 2)
	f := fn(x, x)
	for _, in := range [][]relay.Value{
		nil,
		{floats(1)},
		{relay.Values{}},
		{&tensor.Wide{DType: tensor.Int32, Shape: tensor.Shape{2}, I: []int64{1, 2}}},
		{&tensor.Wide{DType: tensor.Float32, Shape: tensor.Shape{2}, F: []float64{1}}},
	} {
		_, err := eval.Run(context.Background(), f, in)
		require.ErrorIs(t, err, diag.ErrInvalid)
	}
	_, err := eval.Run(context.Background(), f, []relay.Value{floats(1)})
	require.EqualError(t, err, "eval: x: input does not have type Tensor[(2,), float32]: eval: found (1,) of float32 with 1 elements")
}

func TestTensorsRoundTheResult(t *testing.T) {
	x := variable("x", tensor.Float32, 1)
	third := call(t, "divide", nil, x, relay.NewConstant(tensor.Of(tensor.Float32, tensor.Shape{}, float32(3)), "", diag.Pos{}))
	out, err := eval.Tensors(context.Background(), fn(relay.NewTuple([]relay.Expr{third, x}, diag.Pos{}), x),
		[]*tensor.Tensor{tensor.Of(tensor.Float32, tensor.Shape{1}, float32(1))})
	require.NoError(t, err)
	require.Len(t, out, 2)
	require.Equal(t, []float32{float32(1.0 / 3)}, tensor.View[float32](out[0]))
}

// Rounding happens only where a node asks for it: in float16 the sum would lose the one.
func TestNothingIsRoundedInBetween(t *testing.T) {
	x := variable("x", tensor.Float16, 1)
	big := relay.NewConstant(tensor.Of(tensor.Float16, tensor.Shape{1}, tensor.EncodeFloat(tensor.Float16, 4096)), "", diag.Pos{})
	sum := call(t, "add", nil, x, big)
	back := call(t, "subtract", nil, sum, big)
	half := &tensor.Wide{DType: tensor.Float16, Shape: tensor.Shape{1}, F: []float64{1}}
	require.Equal(t, 1.0, run(t, fn(back, x), half).(*tensor.Wide).F[0])
	require.False(t, math.IsNaN(tensor.Round(tensor.Float16, 4097)))
	require.Equal(t, 4096.0, tensor.Round(tensor.Float16, 4097))
}

func BenchmarkPointwise(b *testing.B) {
	x, w := variable("x", tensor.Float32, 1, 96, 56, 56), variable("w", tensor.Float32, 96, 96, 1, 1)
	f := fn(call(b, "nn.conv2d", nil, x, w), x, w)
	in := []relay.Value{tensor.NewWide(tensor.Float32, tensor.Shape{1, 96, 56, 56}), tensor.NewWide(tensor.Float32, tensor.Shape{96, 96, 1, 1})}
	for b.Loop() {
		run(b, f, in...)
	}
	b.ReportMetric(96*96*56*56*float64(b.N)/b.Elapsed().Seconds()/1e9, "GMAC/s")
}
