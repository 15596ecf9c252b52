package lower

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/texel-ml/texel/diag"
	"github.com/texel-ml/texel/internal/numtest"
	"github.com/texel-ml/texel/relay"
	"github.com/texel-ml/texel/relay/eval"
	"github.com/texel-ml/texel/schedule"
	"github.com/texel-ml/texel/target"
	"github.com/texel-ml/texel/tensor"
	"github.com/texel-ml/texel/tir"
	"github.com/texel-ml/texel/tir/interp"
	"github.com/texel-ml/texel/tir/tirtext"
	"github.com/texel-ml/texel/tir/transform"
)

func typ(d tensor.DType, shape ...int) *relay.TensorType {
	return &relay.TensorType{DType: d, Shape: append(tensor.Shape{}, shape...)}
}

func f32(shape ...int) *relay.TensorType { return typ(tensor.Float32, shape...) }

// opCase is one operator on operands of the given types.
type opCase struct {
	op    string
	attrs any
	in    []*relay.TensorType
	tuple bool                        // the operands are the fields of one tuple
	fill  func(i int, w *tensor.Wide) // changes the random operands
}

func (c opCase) String() string { return fmt.Sprintf("%s %v %+v", c.op, c.in, c.attrs) }

var ops = relay.Core()

// function returns the case as a fused function.
func (c opCase) function() (*relay.Function, error) {
	op := ops.Lookup(c.op)
	if op == nil {
		return nil, fmt.Errorf("no operator %q", c.op)
	}
	attrs := c.attrs
	if attrs == nil && op.NewAttrs != nil {
		attrs = op.NewAttrs()
	}
	var params []*relay.Var
	var args []relay.Expr
	for i, t := range c.in {
		v := relay.NewVar(fmt.Sprintf("x%d", i), t, diag.Pos{})
		params, args = append(params, v), append(args, v)
	}
	if c.tuple {
		args = []relay.Expr{relay.NewTuple(args, diag.Pos{})}
	}
	call, err := relay.NewCall(op, args, attrs, diag.Pos{})
	if err != nil {
		return nil, err
	}
	return relay.NewFunction(params, call, true, nil, diag.Pos{}), nil
}

// randomWide returns small numbers: floats of both signs, integers around 0.
func randomWide(rng *rand.Rand, t *relay.TensorType) *tensor.Wide {
	w := tensor.NewWide(t.DType, t.Shape)
	for i := range w.F {
		w.F[i] = rng.NormFloat64()
	}
	for i := range w.I {
		switch {
		case t.DType == tensor.Bool:
			w.I[i] = rng.Int64N(2)
		case t.DType.Kind() == tensor.Unsigned:
			w.I[i] = rng.Int64N(7)
		default:
			w.I[i] = rng.Int64N(13) - 6
		}
	}
	return w
}

// interpret runs a lowered function, as blocks or as kernels.
func interpret(r *Result, in []*tensor.Tensor, asKernels bool) ([]*tensor.Tensor, error) {
	args := append([]*tensor.Tensor{}, in...)
	for i, t := range in { // lowering may view a parameter under another shape of the same memory
		p := r.Func.Params[i]
		args[i] = &tensor.Tensor{DType: t.DType, Shape: p.Shape, Data: t.Data}
		if t.DType.IsStorage() { // of which it takes the bytes
			args[i].DType = p.DType
		}
	}
	var outs []*tensor.Tensor
	buffers := map[*tir.Buffer]*tensor.Tensor{}
	for i, p := range r.Func.Params {
		if i >= len(in) {
			t := r.Consts[p]
			if t == nil {
				t = tensor.New(p.DType, tensor.Shape(p.Shape))
				for n := range t.Data {
					t.Data[n] = 0xee
				}
				outs = append(outs, t)
			}
			args = append(args, t)
		}
		buffers[p] = args[i]
	}
	if !asKernels {
		return outs, interp.Run(context.Background(), r.Func, args, interp.Options{})
	}
	kernels, _, err := transform.Lower(r.Func, transform.Options{})
	if err != nil {
		return nil, err
	}
	return outs, interp.RunKernels(context.Background(), kernels, buffers, interp.Options{Races: true})
}

// check compares a function, lowered for a target, with the reference.
func check(fn *relay.Function, in []*tensor.Tensor, tgt *target.Target) error {
	return checkWithin(fn, in, tgt, func(d tensor.DType) numtest.Tolerance {
		tol := numtest.Documented(d)
		tol.Rel, tol.Max, tol.Abs = min(tol.Rel, 2e-2), min(tol.Max, 2e-2), 3e-4
		return tol
	})
}

// checkWithin is check with a tolerance for each element type.
func checkWithin(fn *relay.Function, in []*tensor.Tensor, tgt *target.Target, tolerance func(tensor.DType) numtest.Tolerance) error {
	want, err := eval.Tensors(context.Background(), fn, in)
	if err != nil {
		return fmt.Errorf("reference: %w", err)
	}
	r, err := Func(fn, "f", Core(), tgt, nil)
	if err != nil {
		return err
	}
	if err := replays(fn, r, tgt); err != nil {
		return err
	}
	for _, kernels := range []bool{false, true} {
		got, err := interpret(r, in, kernels)
		if err != nil {
			return fmt.Errorf("kernels=%v: %w\n%v", kernels, err, r.Trace)
		}
		if len(got) != len(want) {
			return fmt.Errorf("%d results, wanted %d", len(got), len(want))
		}
		for i, g := range got {
			d := want[i].DType
			if d.IsStorage() { // of a storage type a kernel holds the bytes
				g.DType = d
			}
			g = &tensor.Tensor{DType: g.DType, Shape: want[i].Shape, Data: g.Data}
			if err := numtest.Compare(g, want[i], tolerance(d)); err != nil {
				return fmt.Errorf("kernels=%v result %d: %w\n%v", kernels, i, err, r.Trace)
			}
		}
	}
	return nil
}

// replays reports an error when the trace of a lowered function does not lead to it again, each of its steps proven.
func replays(fn *relay.Function, r *Result, tgt *target.Target) error {
	rules := &Tables{Ops: Core().Ops, Extra: []ScheduleRule{{Name: "replay",
		Takes: func(*Definition, *target.Target) bool { return true },
		Apply: func(s *schedule.Schedule, _ *Definition, _ *target.Target) {
			if err := s.Replay(r.Trace); err != nil {
				s.Block(err.Error()) // no block has this name, which makes it the error
			}
		}}}}
	again, err := Func(fn, r.Func.Name, rules, tgt, nil)
	if err != nil {
		return fmt.Errorf("replay: %w", err)
	}
	if got, want := tirtext.Print(again.Func), tirtext.Print(r.Func); got != want {
		return fmt.Errorf("the trace leads to another function:\n%s\nwanted\n%s\n%v", got, want, r.Trace)
	}
	return nil
}

func (c opCase) inputs(rng *rand.Rand) []*tensor.Tensor {
	in := make([]*tensor.Tensor, len(c.in))
	for i, t := range c.in {
		w := randomWide(rng, t)
		if c.fill != nil {
			c.fill(i, w)
		}
		in[i] = w.Narrow()
	}
	return in
}

func hosts(t *testing.T) []*target.Target {
	var list []*target.Target
	for _, name := range []string{"x86-64-v4", "cortex-a76"} {
		h, err := target.Parse(name)
		require.NoError(t, err)
		list = append(list, h)
	}
	return list
}

func runCases(t *testing.T, cases []opCase) {
	targets := hosts(t)
	rng := rand.New(rand.NewPCG(1, 2))
	for n, c := range cases {
		t.Run(fmt.Sprintf("%d_%s", n, c.op), func(t *testing.T) {
			fn, err := c.function()
			require.NoError(t, err, "%v", c)
			require.NoError(t, check(fn, c.inputs(rng), targets[n%len(targets)]), "%v", c)
		})
	}
}

// TestEveryOperatorIsLowered holds the operator table against the rules.
func TestEveryOperatorIsLowered(t *testing.T) {
	rules, used := Core().Ops, map[string]bool{}
	for _, op := range ops.Ops() {
		require.Contains(t, rules, op.Lower, op.Name)
		used[op.Lower] = true
		if op.Lower == "elementwise" {
			require.True(t, elements[op.Name] != nil || specialElements[op.Name] != nil, op.Name)
		}
	}
	for key := range rules {
		require.Contains(t, used, key)
	}
}

// special spreads the values at which functions change over an operand.
func special(d tensor.DType) []float64 {
	return []float64{0, math.Copysign(0, -1), 1, -1, 0.5, 1.5, 2.5, -0.5, -1.5, -2.5, 3, -3, 6, 20, -20, 50, -50, math.Inf(1), math.Inf(-1), math.NaN()}
}
