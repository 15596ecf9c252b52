package batch

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/texel-ml/texel/diag"
	"github.com/texel-ml/texel/relay"
	"github.com/texel-ml/texel/tensor"
)

// sized is a graph in the size of one row or of several.
type sized struct {
	t *testing.T
	n int
}

func (s *sized) input(name string, shape ...int) *relay.Var {
	return relay.NewVar(name, &relay.TensorType{Shape: shape, DType: f32}, diag.Pos{})
}

func (s *sized) number(d tensor.DType, v int64) relay.Expr {
	w := tensor.NewWide(d, tensor.Shape{})
	for i := range w.I {
		w.I[i] = v
	}
	for i := range w.F {
		w.F[i] = float64(v)
	}
	return relay.NewConstant(w.Narrow(), "", diag.Pos{})
}

func (s *sized) call(op string, attrs any, args ...relay.Expr) relay.Expr {
	c, err := relay.NewCall(relay.Core().Lookup(op), args, attrs, diag.Pos{Node: op})
	require.NoError(s.t, err)
	return c
}

func (s *sized) reshape(e relay.Expr, shape ...int) relay.Expr {
	return s.call("reshape", &relay.ReshapeAttrs{NewShape: shape}, e)
}

func (s *sized) module(result relay.Expr, params ...*relay.Var) *relay.Module {
	fn := relay.NewFunction(params, result, false, nil, diag.Pos{})
	m := &relay.Module{Funcs: map[string]*relay.Function{"main": fn}, Outputs: []string{"y"}}
	if t, ok := result.Type().(*relay.TupleType); ok {
		m.Outputs = []string{"y", "z", "u", "v"}[:len(t.Fields)]
	}
	return m
}

// body adds a captured value to the state in every round; of the state, rows are in parts along axis 0.
func (s *sized) body() *relay.Function {
	i := relay.NewVar("i", &relay.TensorType{Shape: tensor.Shape{}, DType: tensor.Int64}, diag.Pos{})
	state, captured := s.input("s", 2*s.n), s.input("c", 2*s.n)
	return relay.NewFunction([]*relay.Var{i, state, captured}, relay.NewTuple([]relay.Expr{s.call("add", nil, state, captured)}, diag.Pos{}), false, nil, diag.Pos{})
}

func (s *sized) loop(body *relay.Function, state, captured relay.Expr) relay.Expr {
	l, err := relay.NewLoop(relay.Loop{Trip: s.number(tensor.Int64, 3), State: []relay.Expr{state}, Captured: []relay.Expr{captured}, Body: body}, diag.Pos{Node: "turns"})
	require.NoError(s.t, err)
	e, err := relay.NewTupleGet(l, 0, diag.Pos{})
	require.NoError(s.t, err)
	return e
}

// TestGraphs has what the random operators lack: loops, branches, outputs, and what differs between the sizes.
func TestGraphs(t *testing.T) {
	for _, c := range []struct {
		name  string
		build func(s *sized) *relay.Module
		want  any // *Axes, or the error
	}{
		{"a loop over rows in one part", func(s *sized) *relay.Module {
			x := s.input("x", s.n, 2)
			flat := s.reshape(x, 2*s.n)
			return s.module(s.loop(s.body(), flat, flat), x)
		}, &Axes{map[string]int{"x": 0}, map[string]int{"y": 0}}},
		{"an output in two parts", func(s *sized) *relay.Module {
			x := s.input("x", 2, s.n)
			flat := s.reshape(x, 2*s.n)
			return s.module(s.loop(s.body(), flat, flat), x)
		}, "batch: y: the rows of this output lie in 2 parts along axis 0"},
		{"an output in two parts, taken apart", func(s *sized) *relay.Module {
			x := s.input("x", 2, s.n)
			flat := s.reshape(x, 2*s.n)
			return s.module(s.reshape(s.loop(s.body(), flat, flat), 2, s.n), x)
		}, &Axes{map[string]int{"x": 1}, map[string]int{"y": 1}}},
		{"a state in another order than what is added", func(s *sized) *relay.Module {
			x, z := s.input("x", s.n, 2), s.input("z", 2, s.n)
			return s.module(s.loop(s.body(), s.reshape(x, 2*s.n), s.reshape(z, 2*s.n)), x, z)
		}, `node "add": batch: add mixes the rows of the batch, or is not known to keep them apart`},
		{"one body of two loops, which have rows in other places", func(s *sized) *relay.Module {
			x, z := s.input("x", s.n, 2), s.input("z", 2, s.n)
			body, a, b := s.body(), s.reshape(x, 2*s.n), s.reshape(z, 2*s.n)
			return s.module(relay.NewTuple([]relay.Expr{s.loop(body, a, a), s.reshape(s.loop(body, b, b), 2, s.n)}, diag.Pos{}), x, z)
		}, `node "turns": batch: a loop mixes the rows of the batch, or is not known to keep them apart`},
		{"a branch that is the same for all rows", func(s *sized) *relay.Module {
			x, p := s.input("x", s.n, 2), s.input("p")
			e, err := relay.NewIf(s.call("greater", nil, p, s.number(f32, 0)), s.call("exp", nil, x), x, diag.Pos{})
			require.NoError(s.t, err)
			return s.module(e, x, p)
		}, &Axes{map[string]int{"x": 0}, map[string]int{"y": 0}}},
		{"a branch on all rows", func(s *sized) *relay.Module {
			x := s.input("x", s.n, 2)
			e, err := relay.NewIf(s.call("greater", nil, s.call("max", nil, x), s.number(f32, 0)), s.call("exp", nil, x), x, diag.Pos{})
			require.NoError(s.t, err)
			return s.module(e, x)
		}, `node "max": batch: max mixes the rows of the batch, or is not known to keep them apart`},
		{"outputs with rows, without, and of what is shared", func(s *sized) *relay.Module {
			x, w := s.input("x", 3, s.n), s.input("w", 4)
			return s.module(relay.NewTuple([]relay.Expr{s.call("exp", nil, x), s.call("exp", nil, w), s.number(f32, 1)}, diag.Pos{}), x, w)
		}, &Axes{map[string]int{"x": 1}, map[string]int{"y": 1}}},
		{"a constant for each row", func(s *sized) *relay.Module {
			x := s.input("x", s.n, 2)
			w := tensor.NewWide(f32, tensor.Shape{s.n, 2})
			for i := range w.F {
				w.F[i] = float64(i % 2)
			}
			return s.module(s.call("add", nil, x, relay.NewConstant(w.Narrow(), "", diag.Pos{})), x)
		}, &Axes{map[string]int{"x": 0}, map[string]int{"y": 0}}},
		{"a constant that counts rows", func(s *sized) *relay.Module {
			x := s.input("x", s.n, 2)
			w := tensor.NewWide(f32, tensor.Shape{s.n, 2})
			for i := range w.F {
				w.F[i] = float64(i)
			}
			return s.module(s.call("add", nil, x, relay.NewConstant(w.Narrow(), "rank", diag.Pos{Node: "rank"})), x)
		}, `node "rank": batch: a value of type Tensor[(3, 2), float32] depends on the batch`},
		{"a constant that several rows make a call of", func(s *sized) *relay.Module {
			x := s.input("x", s.n, 2)
			zero := s.number(f32, 0)
			e := s.call("full", &relay.FullAttrs{Shape: []int{s.n, 2}}, zero)
			if s.n == 1 {
				e = relay.NewConstant(tensor.New(f32, tensor.Shape{1, 2}), "", diag.Pos{})
			}
			return s.module(s.call("add", nil, x, e), x)
		}, &Axes{map[string]int{"x": 0}, map[string]int{"y": 0}}},
		{"another operator", func(s *sized) *relay.Module {
			x := s.input("x", s.n, 2)
			op := "exp"
			if s.n > 1 {
				op = "log"
			}
			return s.module(s.call(op, nil, x), x)
		}, `node "log": batch: is exp of type Tensor[(1, 2), float32] with 1 row, and log of type Tensor[(3, 2), float32] with 3`},
		{"another attribute", func(s *sized) *relay.Module {
			x := s.input("x", s.n, 2)
			return s.module(s.call("clip", &relay.ClipAttrs{AMin: 0, AMax: float64(s.n)}, x), x)
		}, `node "clip": batch: is clip of type Tensor[(1, 2), float32] with 1 row, and clip of type Tensor[(3, 2), float32] with 3`},
		{"rows in two axes", func(s *sized) *relay.Module {
			x := s.input("x", s.n, s.n)
			return s.module(s.call("exp", nil, x), x)
		}, "batch: x: the input has type Tensor[(1, 1), float32] with a batch of 1, and Tensor[(3, 3), float32] with 3"},
		{"elements of half a byte", func(s *sized) *relay.Module {
			x := relay.NewVar("x", &relay.TensorType{Shape: tensor.Shape{s.n, 3}, DType: tensor.Int4}, diag.Pos{})
			return s.module(s.call("cast", &relay.CastAttrs{DType: f32, Saturate: true, RoundMode: "up"}, x), x)
		}, "batch: x: the elements of this input, int4, are no whole bytes, so that rows are not"},
	} {
		t.Run(c.name, func(t *testing.T) {
			one, many := c.build(&sized{t, 1}), c.build(&sized{t, 3})
			axes, err := Apart(t.Context(), one, many, 3)
			if want, ok := c.want.(string); ok {
				require.EqualError(t, err, want)
				require.ErrorIs(t, err, diag.ErrUnsupported)
				return
			}
			require.NoError(t, err)
			require.Equal(t, c.want, axes)
		})
	}
}
