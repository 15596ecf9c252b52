package relay

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/texel-ml/texel/diag"
	"github.com/texel-ml/texel/tensor"
)

// sums adds w to x in each round and stacks what x was; n says how many rounds there are.
func sums(t *testing.T) (l Loop, params []*Var) {
	t.Helper()
	n, x, w := typed("n", tensor.Int64), typed("x", tensor.Float32, 2), typed("w", tensor.Float32, 2)
	round, state, add := typed("round", tensor.Int64), typed("state", tensor.Float32, 2), typed("add", tensor.Float32, 2)
	body := fn(NewTuple([]Expr{call(t, "add", nil, state, add), state}, diag.Pos{}), round, state, add)
	return Loop{Trip: n, State: []Expr{x}, Captured: []Expr{w}, Max: 5, Body: body}, []*Var{n, x, w}
}

func TestTheValueOfALoop(t *testing.T) {
	l, params := sums(t)
	loop, err := NewLoop(l, diag.Pos{})
	require.NoError(t, err)
	require.Equal(t, "(Tensor[(2,), float32], Tensor[(5, 2), float32], Tensor[(1,), int64])", loop.Type().String())
	m := module(loop, []string{"last", "all", "rounds"}, params...)
	require.NoError(t, VerifyOps(m, Core()))
	require.Equal(t, `#[version = "0.0.5"]
def @main(%n: Tensor[(), int64], %x: Tensor[(2,), float32], %w: Tensor[(2,), float32]) -> (Tensor[(2,), float32], Tensor[(5, 2), float32], Tensor[(1,), int64]) {
  %0 = fn (%round: Tensor[(), int64], %state: Tensor[(2,), float32], %add: Tensor[(2,), float32]) -> (Tensor[(2,), float32], Tensor[(2,), float32]) {
    %1 = add(%state, %add) /* ty=Tensor[(2,), float32] */;
    (%1, %state) /* ty=(Tensor[(2,), float32], Tensor[(2,), float32]) */
  };
  loop(%0, (%n,), (), (%x,), (%w,), max_rounds=5) /* ty=(Tensor[(2,), float32], Tensor[(5, 2), float32], Tensor[(1,), int64]) */
}
#[metadata]
{
  "outputs": ["last","all","rounds"]
}
`, Print(m))
}

func TestIllegalLoopsAreRefused(t *testing.T) {
	scalarBool, number := typed("c", tensor.Bool), typed("k", tensor.Float32)
	round, state := typed("round", tensor.Int64), typed("state", tensor.Float32, 2)
	gives := func(list ...Expr) *Function { return fn(NewTuple(list, diag.Pos{}), round, state) }
	for _, c := range []struct {
		text   string
		kind   error
		change func(l *Loop)
	}{
		{"a loop without trip count and condition", diag.ErrInvalid, func(l *Loop) { l.Trip = nil }},
		{"trip count of type Tensor[(), float32], wanted an int64 of shape ()", diag.ErrInvalid, func(l *Loop) { l.Trip = number }},
		{"condition of type Tensor[(), float32], wanted a bool of shape ()", diag.ErrInvalid, func(l *Loop) { l.Cond = number }},
		{"at most -1 rounds", diag.ErrInvalid, func(l *Loop) { l.Max = -1 }},
		{"1 values of the state and 0 captured ones", diag.ErrInvalid, func(l *Loop) { l.Captured = nil }},
		{"wanted the round, an int64 of shape ()", diag.ErrInvalid, func(l *Loop) { l.Body = fn(l.Body.Body, number, state, typed("add", tensor.Float32, 2)) }},
		{`the body takes "add" of type Tensor[(2,), float32], found Tensor[(), float32]`, diag.ErrInvalid, func(l *Loop) { l.Captured = []Expr{number} }},
		{`the body takes "state" of type Tensor[(2,), float32], found (Tensor[(), float32],)`, diag.ErrInvalid, func(l *Loop) {
			l.State = []Expr{NewTuple([]Expr{number}, diag.Pos{})}
		}},
		{"the body gives Tensor[(2,), float32], wanted a tuple of 1 values or more", diag.ErrInvalid, func(l *Loop) { l.Captured, l.Body = nil, fn(state, round, state) }},
		{"wanted a tuple of 2 values or more", diag.ErrInvalid, func(l *Loop) { l.Cond, l.Captured, l.Body = scalarBool, nil, gives(state) }},
		{"the body gives a condition of type Tensor[(2,), float32], wanted a bool", diag.ErrInvalid, func(l *Loop) { l.Cond = scalarBool }},
		{`"state" has type Tensor[(), int64] behind a round, and Tensor[(2,), float32] before`, diag.ErrInvalid, func(l *Loop) { l.Captured, l.Body = nil, gives(round) }},
		{"1 parts are stacked, and the number of rounds has no limit", diag.ErrInvalid, func(l *Loop) { l.Max = 0 }},
		{"a part has type (Tensor[(2,), float32],), wanted a tensor", diag.ErrInvalid, func(l *Loop) {
			l.Captured, l.Body = nil, gives(state, NewTuple([]Expr{state}, diag.Pos{}))
		}},
		{"a stack of type Tensor[(1152921504606846976, 2), float32] is too large", diag.ErrUnsupported, func(l *Loop) { l.Max = 1 << 60 }},
	} {
		l, _ := sums(t)
		c.change(&l)
		_, err := NewLoop(l, diag.Pos{Node: "n1"})
		require.ErrorContains(t, err, c.text)
		require.ErrorIs(t, err, c.kind, c.text)
		var e *diag.Error
		require.ErrorAs(t, err, &e)
		require.Equal(t, "n1", e.Pos.Node, c.text)
	}
	_, err := NewIf(number, state, state, diag.Pos{})
	require.ErrorContains(t, err, "condition of type Tensor[(), float32], wanted a bool of shape ()")
}

func TestTheBodyOfALoopReadsOnlyItsParameters(t *testing.T) {
	l, params := sums(t)
	round, state := typed("round", tensor.Int64), typed("state", tensor.Float32, 2)
	l.Captured, l.Body = nil, fn(NewTuple([]Expr{call(t, "add", nil, state, params[2])}, diag.Pos{}), round, state)
	loop, err := NewLoop(l, diag.Pos{})
	require.NoError(t, err)
	require.ErrorContains(t, Verify(module(loop, []string{"a", "b"}, params...)), "w: a primitive function, or the body of a loop, in \"main\" reads a variable that is not its parameter")
}

func TestLoopsAreRewrittenAndCompared(t *testing.T) {
	l, params := sums(t)
	loop, err := NewLoop(l, diag.Pos{Node: "l"})
	require.NoError(t, err)
	m := module(loop, []string{"last", "all", "rounds"}, params...)
	same, err := Rewrite(m.Main(), func(_, e Expr) (Expr, error) { return e, nil })
	require.NoError(t, err)
	require.Same(t, m.Main(), same)

	// each operand in turn becomes another one
	n2, x2 := scalar(tensor.Int64, int64(3)), call(t, "exp", nil, params[1])
	body2 := NewFunction(l.Body.Params, l.Body.Body, false, map[string]string{"hash": "2"}, diag.Pos{})
	for from, to := range map[Expr]Expr{params[0]: n2, params[1]: x2, params[2]: x2, l.Body: body2} {
		changed, err := Rewrite(loop, func(_, e Expr) (Expr, error) {
			if e == from {
				return to, nil
			}
			return e, nil
		})
		require.NoError(t, err)
		require.Equal(t, "l", changed.Pos().Node)
		require.Contains(t, Operands(changed), to)
		require.NotContains(t, Operands(changed), from)
	}

	for _, change := range []func(l *Loop){
		func(l *Loop) { l.Max = 6 },
		func(l *Loop) { l.Trip, l.Cond = nil, scalar(tensor.Bool, true) },
		func(l *Loop) { l.State, l.Captured = append(l.State, l.Captured...), nil },
	} {
		other, _ := sums(t)
		other.State, other.Captured, other.Trip = l.State, l.Captured, l.Trip
		require.NoError(t, Compare(m, module(must(t, other), m.Outputs, params...)))
		change(&other)
		given := other.Body.Body.(*Tuple).Fields
		if other.Cond != nil {
			given = append([]Expr{scalar(tensor.Bool, true)}, given...)
		}
		if other.Captured == nil {
			given = append(append([]Expr{}, given...), given[1])
			given[1] = other.Body.Params[2]
		}
		other.Body = fn(NewTuple(given, diag.Pos{}), other.Body.Params...)
		require.Error(t, Compare(m, module(must(t, other), m.Outputs, params...)))
	}
}

func must(t *testing.T, l Loop) *Loop {
	t.Helper()
	loop, err := NewLoop(l, diag.Pos{})
	require.NoError(t, err)
	return loop
}
