package onnx

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/texel-ml/texel/diag"
	"github.com/texel-ml/texel/relay"
	"github.com/texel-ml/texel/relay/batch"
	pb "github.com/texel-ml/texel/relay/importer/onnx/onnxpb"
	"github.com/texel-ml/texel/tensor"
)

// chain is a random model of inputs x (N, 3, 4) and z (N, 4), grown node by node.
type chain struct {
	*rand.Rand
	nodes  []*pb.NodeProto
	consts []*pb.TensorProto
	made   []string       // values
	shape  []tensor.Shape // of made, with a batch of 1
}

func (c *chain) model(output string) *pb.ModelProto {
	m := model(17, graphOf(values(value("x", float32Type, "N", 3, 4), value("z", float32Type, "N", 4)), values(value(output, float32Type)), c.nodes...))
	m.Graph.Initializer = c.consts
	return m
}

// name returns a name that is new.
func (c *chain) name() string { return fmt.Sprintf("v%d", len(c.nodes)+len(c.consts)) }

func (c *chain) ints(list ...int) string {
	name := c.name()
	to := []int64{}
	for _, v := range list {
		to = append(to, int64(v))
	}
	c.consts = append(c.consts, int64s(name, []int64{int64(len(to))}, to...))
	return name
}

func (c *chain) floats(shape ...int) string {
	name := c.name()
	list, dims := make([]float32, tensor.Shape(shape).Elems()), []int64{}
	for _, d := range shape {
		dims = append(dims, int64(d))
	}
	for i := range list {
		list[i] = float32(math.Round(8*c.NormFloat64()) / 8)
	}
	c.consts = append(c.consts, floats(name, dims, list...))
	return name
}

func (c *chain) node(what string, in []string, attrs ...*pb.AttributeProto) string {
	name := c.name()
	c.nodes = append(c.nodes, op(what, in, names(name), attrs...))
	return name
}

// grow adds an operator, and others that it needs; the result is float32.
func (c *chain) grow() string {
	last := len(c.made) - 1 - c.IntN(min(len(c.made), 3))
	v, s := c.made[last], c.shape[last]
	other := c.made[c.IntN(len(c.made))]
	axis := 0
	if len(s) > 0 {
		axis = c.IntN(len(s))
	}
	count := func() string { return c.node("Gather", names(c.node("Shape", names(v)), c.ints(0)), attr("axis", 0)) }
	switch c.IntN(32) {
	case 0:
		return c.node("Relu", names(v))
	case 1:
		return c.node("Add", names(v, other))
	case 2:
		return c.node("Mul", names(v, c.floats(append(tensor.Shape{}, s[axis:]...)...)))
	case 3:
		return c.node("MatMul", names(v, c.floats(s[len(s)-1], 2)))
	case 4:
		return c.node("MatMul", names(v, c.node("Transpose", names(v), attr("perm", slices.Concat(seq(len(s)-2), []int{len(s) - 1, len(s) - 2})))))
	case 5, 6:
		return c.node("Transpose", names(v), attr("perm", c.Perm(len(s))))
	case 7:
		return c.node("Reshape", names(v, c.ints(-1, s[len(s)-1])))
	case 8:
		return c.node("Reshape", names(v, c.ints(0, -1)))
	case 9:
		return c.node("Reshape", names(v, c.node("Concat", names(count(), c.ints(-1)), attr("axis", 0))))
	case 10:
		return c.node("Reshape", names(v, c.node("Concat", names(c.ints(2), count(), c.ints(-1)), attr("axis", 0))))
	case 11:
		return c.node("Flatten", names(v), attr("axis", c.IntN(3)))
	case 12:
		return c.node("Softmax", names(v), attr("axis", axis))
	case 13:
		return c.node("ReduceMean", names(v), attr("axes", []int{axis}), attr("keepdims", c.IntN(2)))
	case 14:
		return c.node("ReduceSum", names(v, c.ints(axis)), attr("keepdims", c.IntN(2)))
	case 15:
		return c.node("Concat", names(v, v), attr("axis", axis))
	case 16:
		one := s.Clone()
		one[axis] = 1
		return c.node("Concat", names(v, c.floats(one...)), attr("axis", axis))
	case 17:
		return c.node("Slice", names(v, c.ints(0), c.ints(1+c.IntN(3)), c.ints(axis)))
	case 18:
		return c.node("Gather", names(v, c.ints(0)), attr("axis", axis))
	case 19:
		return c.node("Add", names(v, c.node("Expand", names(c.floats(1), c.node("Shape", names(v))))))
	case 20:
		return c.node("Concat", names(v, c.node("Expand", names(c.floats(1, 1, 4), c.node("Concat", names(count(), c.ints(1), c.ints(1)), attr("axis", 0))))), attr("axis", 1))
	case 21:
		reps := slices.Repeat([]int{1}, len(s))
		reps[axis] = 2
		return c.node("Tile", names(v, c.ints(reps...)))
	case 22:
		return c.node("Squeeze", names(v))
	case 23:
		return c.node("Unsqueeze", names(v, c.ints(c.IntN(3))))
	case 24:
		pads := make([]int, 2*len(s))
		pads[axis] = 1
		return c.node("Pad", names(v, c.ints(pads...)))
	case 25:
		return c.node("CumSum", names(v, c.ints(axis)))
	case 26:
		return c.node("Cast", names(c.node("ArgMax", names(v), attr("axis", axis), attr("keepdims", c.IntN(2)))), attr("to", 1))
	case 27:
		return c.node("Where", names(c.node("Greater", names(v, other)), v, other))
	case 28:
		return c.node("Div", names(v, c.node("Cast", names(c.node("Size", names(v))), attr("to", 1))))
	case 29:
		return c.node("Add", names(v, c.node("ConstantOfShape", names(c.node("Shape", names(v))))))
	case 30:
		return c.node("Gather", names(c.floats(3, 2), c.node("Cast", names(c.node("Clip", names(v, c.floats(), c.floats()))), attr("to", 7))))
	}
	return c.node("LayerNormalization", names(v, c.floats(s[len(s)-1])))
}

func seq(n int) []int {
	list := []int{}
	for i := range n {
		list = append(list, i)
	}
	return list
}

// TestRandomModelsKeepRowsApart holds random models whose batch is said to be apart to their evaluation: n rows give what each gives
// alone, for numbers of rows that the proof did not look at.
func TestRandomModelsKeepRowsApart(t *testing.T) {
	apart, mixed, rounds := 0, 0, 1500
	if testing.Short() {
		rounds = 200
	}
	for seed := range rounds {
		c := &chain{Rand: rand.New(rand.NewPCG(uint64(seed), 17)), made: []string{"x", "z"}, shape: []tensor.Shape{{1, 3, 4}, {1, 4}}}
		for range 2 + c.IntN(6) {
			nodes, consts := len(c.nodes), len(c.consts)
			made, s := c.try(t)
			if made == "" {
				c.nodes, c.consts = c.nodes[:nodes], c.consts[:consts]
				continue
			}
			c.made, c.shape = append(c.made, made), append(c.shape, s)
		}
		if len(c.made) == 2 {
			continue
		}
		m := c.model(c.made[len(c.made)-1])
		one, _ := load(t, m, Options{})
		require.Equal(t, "N", one.Batch)
		var axes *batch.Axes
		for _, n := range []int{2, 7} {
			many, _, err := ImportBytes(t.Context(), "model.onnx", bytesOf(t, m), Options{Batch: n})
			var found *batch.Axes
			if err == nil {
				found, err = batch.Apart(t.Context(), one, many, n)
			}
			if axes = found; err != nil {
				require.NotErrorIs(t, err, diag.ErrInternal)
				break
			}
		}
		if axes == nil {
			mixed++
			continue
		}
		at, open := axes.Outputs[one.Outputs[0]]
		if open {
			apart++
		}
		for _, n := range []int{3, 4} {
			many, _ := load(t, m, Options{Batch: n})
			var all []*tensor.Tensor
			for _, p := range many.Main().Params {
				w := tensor.NewWide(tensor.Float32, relay.Tensor(p).Shape)
				for i := range w.F {
					w.F[i] = math.Round(16*c.NormFloat64()) / 16
				}
				all = append(all, w.Narrow())
			}
			whole := compute(t, many, all...)[0]
			for r := range n {
				var row []*tensor.Tensor
				for _, a := range all {
					row = append(row, rowAt(a, 0, r, n))
				}
				want := compute(t, one, row...)[0]
				got := whole
				if open {
					got = rowAt(whole, at, r, n)
				}
				require.Equal(t, want.Shape, got.Shape, "seed %d", seed)
				for i, v := range tensor.View[float32](want) {
					require.InDelta(t, v, tensor.View[float32](got)[i], 1e-5*(1+math.Abs(float64(v))), "seed %d, row %d of %d, element %d:\n%v", seed, r, n, i, relay.Print(many))
				}
			}
		}
	}
	t.Logf("%d models with rows that are apart, %d that mix them", apart, mixed)
	require.Greater(t, apart, rounds/10)
	require.Greater(t, mixed, rounds/10)
}

// try grows the model; "" is that it became illegal.
func (c *chain) try(t *testing.T) (made string, s tensor.Shape) {
	defer func() {
		if recover() != nil { // it drew an axis that is not there
			made = ""
		}
	}()
	made = c.grow()
	m, _, err := ImportBytes(t.Context(), "model.onnx", bytesOf(t, c.model(made)), Options{})
	if err != nil {
		return "", nil
	}
	out := relay.Tensor(m.Main().Body)
	if out == nil || out.Shape.Elems() < 1 || out.Shape.Elems() > 500 || len(out.Shape) == 0 {
		return "", nil
	}
	return made, out.Shape
}

// rowAt returns row r of n along an axis.
func rowAt(a *tensor.Tensor, axis, r, n int) *tensor.Tensor {
	shape := a.Shape.Clone()
	shape[axis] /= n
	parts := shape[:axis].Elems()
	piece := len(a.Data) / parts / n
	out := &tensor.Tensor{DType: a.DType, Shape: shape}
	for i := range parts {
		out.Data = append(out.Data, a.Data[(i*n+r)*piece:][:piece]...)
	}
	return out
}

// TestABatchOfAnyExtent binds what the model leaves open, and names it.
func TestABatchOfAnyExtent(t *testing.T) {
	for _, c := range []struct {
		dims []any
		name string
	}{{[]any{"N", 3}, "N"}, {[]any{nil, 3}, "?"}, {[]any{"?", 3}, "?"}, {[]any{2, 3}, ""}} {
		m, notes := load(t, reluOf(c.dims...), Options{Batch: 5})
		require.Equal(t, c.name, m.Batch)
		if c.name != "" {
			require.Equal(t, 5, relay.Tensor(m.Main().Params[0]).Shape[0])
			require.Contains(t, notes[0].String(), "taken as a batch of 5")
		}
	}
	m, _ := load(t, reluOf("N", 3), Options{Batch: 5, Dims: map[string]int{"N": 2}})
	require.Empty(t, m.Batch)
	two := model(17, graphOf(values(value("a", float32Type, nil, 3), value("b", float32Type, "N", 3)), values(value("y", float32Type)), op("Add", names("a", "b"), names("y"))))
	m, _ = load(t, two, Options{})
	require.Equal(t, "N", m.Batch, "a name says more")
}
