package eval_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/texel-ml/texel/diag"
	"github.com/texel-ml/texel/relay"
	"github.com/texel-ml/texel/relay/eval"
	"github.com/texel-ml/texel/tensor"
)

func loop(t *testing.T, l relay.Loop) *relay.Loop {
	t.Helper()
	made, err := relay.NewLoop(l, diag.Pos{Node: "loop"})
	require.NoError(t, err)
	return made
}

func tuple(fields ...relay.Expr) *relay.Tuple { return relay.NewTuple(fields, diag.Pos{}) }

func integer(v int64) *tensor.Wide {
	return &tensor.Wide{DType: tensor.Int64, Shape: tensor.Shape{}, I: []int64{v}}
}

func ints(v ...int64) *tensor.Wide {
	return &tensor.Wide{DType: tensor.Int64, Shape: tensor.Shape{len(v)}, I: v}
}

// fibonacci hands (a, b) on as (b, a + b) while b is below limit, n times at most, and stacks a and the round.
func fibonacci(t *testing.T) *relay.Function {
	t.Helper()
	n, limit, go_ := variable("n", tensor.Int64), variable("limit", tensor.Int64), variable("go", tensor.Bool)
	a0, b0 := variable("a0", tensor.Int64), variable("b0", tensor.Int64)
	round, a, b, most := variable("round", tensor.Int64), variable("a", tensor.Int64), variable("b", tensor.Int64), variable("most", tensor.Int64)
	sum := call(t, "add", nil, a, b)
	body := fn(tuple(call(t, "less", nil, sum, most), b, sum, a, round), round, a, b, most)
	return fn(loop(t, relay.Loop{Trip: n, Cond: go_, State: []relay.Expr{a0, b0}, Captured: []relay.Expr{limit}, Max: 8, Body: body}), n, limit, go_, a0, b0)
}

func TestLoops(t *testing.T) {
	f := fibonacci(t)
	for _, c := range []struct {
		name     string
		n, limit int64
		begins   int64
		a, b     int64
		rounds   int64
	}{
		{"ends by the trip count", 5, 100, 1, 5, 8, 5},
		{"ends by the condition", 8, 20, 1, 13, 21, 7},
		{"fills its room", 8, 100, 1, 21, 34, 8},
		{"the condition never holds", 5, 100, 0, 0, 1, 0},
		{"no rounds", 0, 100, 1, 0, 1, 0},
		{"a negative trip count is none", -3, 100, 1, 0, 1, 0},
	} {
		as, rounds := ints(0, 0, 0, 0, 0, 0, 0, 0), ints(0, 0, 0, 0, 0, 0, 0, 0)
		x, y := int64(0), int64(1)
		for i := range c.rounds {
			as.I[i], rounds.I[i] = x, i
			x, y = y, x+y
		}
		got := run(t, f, integer(c.n), integer(c.limit), boolean(c.begins), integer(0), integer(1))
		require.Equal(t, relay.Values{integer(c.a), integer(c.b), as, rounds, ints(c.rounds)}, got, c.name)
	}
	_, err := eval.Run(context.Background(), f, []relay.Value{integer(20), integer(1 << 40), boolean(1), integer(0), integer(1)})
	require.ErrorIs(t, err, diag.ErrUnsupported)
	require.ErrorContains(t, err, "more than 8 rounds")
}

// A loop in a loop in a branch: Σ_{i<n} Σ_{j<i} x.
func TestLoopsNest(t *testing.T) {
	x0, n := variable("x", tensor.Float32, 1), variable("n", tensor.Int64)
	j, s, x := variable("j", tensor.Int64), variable("s", tensor.Float32, 1), variable("x", tensor.Float32, 1)
	inner := fn(tuple(call(t, "add", nil, s, x)), j, s, x)
	i, sum, each := variable("i", tensor.Int64), variable("sum", tensor.Float32, 1), variable("each", tensor.Float32, 1)
	turn := loop(t, relay.Loop{Trip: i, State: []relay.Expr{sum}, Captured: []relay.Expr{each}, Body: inner})
	first, err := relay.NewTupleGet(turn, 0, diag.Pos{})
	require.NoError(t, err)
	zero := relay.NewConstant(tensor.Of(tensor.Float32, tensor.Shape{1}, float32(0)), "", diag.Pos{})
	outer := loop(t, relay.Loop{Trip: n, State: []relay.Expr{zero}, Captured: []relay.Expr{x0}, Body: fn(tuple(first), i, sum, each)})
	total, err := relay.NewTupleGet(outer, 0, diag.Pos{})
	require.NoError(t, err)
	c := variable("c", tensor.Bool)
	branch, err := relay.NewIf(c, total, x0, diag.Pos{})
	require.NoError(t, err)
	f := fn(branch, x0, n, c)
	require.Equal(t, floats(20), run(t, f, floats(2), integer(5), boolean(1)))
	require.Equal(t, floats(2), run(t, f, floats(2), integer(5), boolean(0)))

	rounds := 0
	stop := errors.New("enough")
	o := eval.Options{Observe: func(e relay.Expr, _ relay.Value) error {
		if c, ok := e.(*relay.Call); ok && c.Op.Name == "add" {
			if rounds++; rounds == 7 {
				return stop
			}
		}
		return nil
	}}
	_, err = o.Run(context.Background(), f, []relay.Value{floats(2), integer(5), boolean(1)})
	require.ErrorIs(t, err, stop)
}

func TestAnEndlessLoopIsCancelled(t *testing.T) {
	go_, round := variable("go", tensor.Bool), variable("round", tensor.Int64)
	yes := relay.NewConstant(tensor.Of(tensor.Bool, tensor.Shape{}, true), "", diag.Pos{})
	f := fn(loop(t, relay.Loop{Cond: go_, Body: fn(tuple(yes), round)}), go_)
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer cancel()
	_, err := eval.Run(ctx, f, []relay.Value{boolean(1)})
	require.ErrorIs(t, err, context.DeadlineExceeded)
}
