package relay

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/texel-ml/texel/diag"
	"github.com/texel-ml/texel/tensor"
)

// either is a branch on the variable c.
func either(t *testing.T, c, then, otherwise Expr) Expr {
	t.Helper()
	e, err := NewIf(c, then, otherwise, diag.Pos{})
	require.NoError(t, err)
	return e
}

func TestBranchesBecomeFunctions(t *testing.T) {
	c, d, x := typed("c", tensor.Bool), typed("d", tensor.Bool), typed("x", tensor.Float32)
	exp := call(t, "exp", nil, x)
	pair := NewTuple([]Expr{x, exp}, diag.Pos{})
	get := func(tuple Expr, i int) Expr {
		e, err := NewTupleGet(tuple, i, diag.Pos{})
		require.NoError(t, err)
		return e
	}
	swapped := NewTuple([]Expr{get(pair, 1), get(pair, 0)}, diag.Pos{})
	two := scalar(tensor.Float32, float32(2))
	for _, v := range []struct {
		name, want string
		body       Expr
	}{
		{"what is outside is captured once, a constant is not", `def @main(%c: Tensor[(), bool], %d: Tensor[(), bool], %x: Tensor[(), float32]) -> Tensor[(), float32] {
  %0 = exp(%x) /* ty=Tensor[(), float32] */;
  %1 = if (%c) {
    %2 = fn (%c0: Tensor[(), float32]) -> Tensor[(), float32] {
      %3 = multiply(%c0, 2f) /* ty=Tensor[(), float32] */;
      add(%3, %c0) /* ty=Tensor[(), float32] */
    };
    %2(%0) /* ty=Tensor[(), float32] */
  } else {
    %4 = fn (%x_1: Tensor[(), float32]) -> Tensor[(), float32] {
      %5 = multiply(%x_1, %x_1) /* ty=Tensor[(), float32] */;
      negative(%5) /* ty=Tensor[(), float32] */
    };
    %4(%x) /* ty=Tensor[(), float32] */
  } /* ty=Tensor[(), float32] */;
  add(%1, %0) /* ty=Tensor[(), float32] */
}
`, call(t, "add", nil, either(t, c, call(t, "add", nil, call(t, "multiply", nil, exp, two), exp), call(t, "negative", nil, call(t, "multiply", nil, x, x))), exp)},
		{"results from outside, and no result of its own", `def @main(%c: Tensor[(), bool], %d: Tensor[(), bool], %x: Tensor[(), float32]) -> Tensor[(), float32] {
  if (%c) {
    %0 = fn (%x_1: Tensor[(), float32]) -> Tensor[(), float32] {
      %x_1
    };
    %0(%x) /* ty=Tensor[(), float32] */
  } else {
    %1 = fn () -> Tensor[(), float32] {
      2f
    };
    %1() /* ty=Tensor[(), float32] */
  } /* ty=Tensor[(), float32] */
}
`, either(t, c, x, two)},
		{"tuples are captured by their fields", `def @main(%c: Tensor[(), bool], %d: Tensor[(), bool], %x: Tensor[(), float32]) -> Tensor[(), float32] {
  %0 = exp(%x) /* ty=Tensor[(), float32] */;
  %1 = (%x, %0) /* ty=(Tensor[(), float32], Tensor[(), float32]) */;
  %2 = if (%c) {
    %3 = fn (%c0: Tensor[(), float32], %c1: Tensor[(), float32]) -> (Tensor[(), float32], Tensor[(), float32]) {
      (%c0, %c1) /* ty=(Tensor[(), float32], Tensor[(), float32]) */
    };
    %4 = %1.0 /* ty=Tensor[(), float32] */;
    %5 = %1.1 /* ty=Tensor[(), float32] */;
    %3(%4, %5) /* ty=(Tensor[(), float32], Tensor[(), float32]) */
  } else {
    %6 = fn (%c0_1: Tensor[(), float32], %c1_1: Tensor[(), float32]) -> (Tensor[(), float32], Tensor[(), float32]) {
      %7 = (%c0_1, %c1_1) /* ty=(Tensor[(), float32], Tensor[(), float32]) */;
      %8 = %7.1 /* ty=Tensor[(), float32] */;
      %9 = %7.0 /* ty=Tensor[(), float32] */;
      (%8, %9) /* ty=(Tensor[(), float32], Tensor[(), float32]) */
    };
    %10 = %1.0 /* ty=Tensor[(), float32] */;
    %11 = %1.1 /* ty=Tensor[(), float32] */;
    %6(%10, %11) /* ty=(Tensor[(), float32], Tensor[(), float32]) */
  } /* ty=(Tensor[(), float32], Tensor[(), float32]) */;
  %12 = %2.0 /* ty=Tensor[(), float32] */;
  %13 = %1.1 /* ty=Tensor[(), float32] */;
  add(%12, %13) /* ty=Tensor[(), float32] */
}
`, call(t, "add", nil, get(either(t, c, pair, swapped), 0), get(pair, 1))},
	} {
		t.Run(v.name, func(t *testing.T) {
			f := fn(v.body, c, d, x)
			got, err := CloseBranches(f)
			require.NoError(t, err)
			require.Equal(t, v.want, PrintFunction("main", got))
			require.NoError(t, VerifyOps(module(got.Body, []string{"y"}, c, d, x), Core()))
			again, err := CloseBranches(got)
			require.NoError(t, err)
			require.Same(t, got, again)
		})
	}
}

// A branch within a branch, and one in the body of a loop: each takes what it needs, through those around it.
func TestInnerBranchesBecomeFunctions(t *testing.T) {
	c, d, x := typed("c", tensor.Bool), typed("d", tensor.Bool), typed("x", tensor.Float32)
	exp := call(t, "exp", nil, x)
	inner := either(t, d, call(t, "log", nil, exp), call(t, "sin", nil, x))
	f := fn(call(t, "add", nil, either(t, c, call(t, "negative", nil, inner), x), exp), c, d, x)
	got, err := CloseBranches(f)
	require.NoError(t, err)
	require.Equal(t, `def @main(%c: Tensor[(), bool], %d: Tensor[(), bool], %x: Tensor[(), float32]) -> Tensor[(), float32] {
  %0 = exp(%x) /* ty=Tensor[(), float32] */;
  %1 = if (%c) {
    %2 = fn (%c0: Tensor[(), float32], %x_1: Tensor[(), float32], %d_1: Tensor[(), bool]) -> Tensor[(), float32] {
      %3 = if (%d_1) {
        %4 = fn (%c0_1: Tensor[(), float32]) -> Tensor[(), float32] {
          log(%c0_1) /* ty=Tensor[(), float32] */
        };
        %4(%c0) /* ty=Tensor[(), float32] */
      } else {
        %5 = fn (%x_2: Tensor[(), float32]) -> Tensor[(), float32] {
          sin(%x_2) /* ty=Tensor[(), float32] */
        };
        %5(%x_1) /* ty=Tensor[(), float32] */
      } /* ty=Tensor[(), float32] */;
      negative(%3) /* ty=Tensor[(), float32] */
    };
    %2(%0, %x, %d) /* ty=Tensor[(), float32] */
  } else {
    %6 = fn (%x_3: Tensor[(), float32]) -> Tensor[(), float32] {
      %x_3
    };
    %6(%x) /* ty=Tensor[(), float32] */
  } /* ty=Tensor[(), float32] */;
  add(%1, %0) /* ty=Tensor[(), float32] */
}
`, PrintFunction("main", got))

	l, params := sums(t)
	state, add := l.Body.Params[1], l.Body.Params[2]
	flag := typed("flag", tensor.Bool)
	l.Captured = append(l.Captured, c)
	l.Body = fn(NewTuple([]Expr{either(t, flag, call(t, "add", nil, state, add), state), state}, diag.Pos{}), append(l.Body.Params, flag)...)
	loop, err := NewLoop(l, diag.Pos{})
	require.NoError(t, err)
	got, err = CloseBranches(fn(loop, append(params, c)...))
	require.NoError(t, err)
	require.Equal(t, `def @main(%n: Tensor[(), int64], %x: Tensor[(2,), float32], %w: Tensor[(2,), float32], %c: Tensor[(), bool]) -> (Tensor[(2,), float32], Tensor[(5, 2), float32], Tensor[(1,), int64]) {
  %0 = fn (%round: Tensor[(), int64], %state: Tensor[(2,), float32], %add: Tensor[(2,), float32], %flag: Tensor[(), bool]) -> (Tensor[(2,), float32], Tensor[(2,), float32]) {
    %1 = if (%flag) {
      %2 = fn (%state_1: Tensor[(2,), float32], %add_1: Tensor[(2,), float32]) -> Tensor[(2,), float32] {
        add(%state_1, %add_1) /* ty=Tensor[(2,), float32] */
      };
      %2(%state, %add) /* ty=Tensor[(2,), float32] */
    } else {
      %3 = fn (%state_2: Tensor[(2,), float32]) -> Tensor[(2,), float32] {
        %state_2
      };
      %3(%state) /* ty=Tensor[(2,), float32] */
    } /* ty=Tensor[(2,), float32] */;
    (%1, %state) /* ty=(Tensor[(2,), float32], Tensor[(2,), float32]) */
  };
  loop(%0, (%n,), (), (%x,), (%w, %c), max_rounds=5) /* ty=(Tensor[(2,), float32], Tensor[(5, 2), float32], Tensor[(1,), int64]) */
}
`, PrintFunction("main", got))
}

// A call that is a branch and is used elsewhere too, or that both branches share, is made outside.
func TestSharedCallsAreNoBranches(t *testing.T) {
	c, x := typed("c", tensor.Bool), typed("x", tensor.Float32)
	made := func(op string, primitive bool) Expr {
		p := typed("p", tensor.Float32)
		e, err := NewCallFn(NewFunction([]*Var{p}, call(t, op, nil, p), primitive, nil, diag.Pos{}), []Expr{x}, diag.Pos{})
		require.NoError(t, err)
		return e
	}
	called, other, primitive := made("exp", false), made("log", false), made("log", true)
	for _, v := range []struct {
		body Expr
		same bool
	}{
		{either(t, c, called, other), true},
		{either(t, c, called, called), false},
		{call(t, "add", nil, either(t, c, called, other), other), false},
		{either(t, c, called, primitive), false},
	} {
		f := fn(v.body, c, x)
		got, err := CloseBranches(f)
		require.NoError(t, err)
		require.Equal(t, v.same, got == f, PrintFunction("main", got))
		users := Users(got)
		for e := range PostOrder(got, false) {
			if branch, ok := e.(*If); ok {
				for _, side := range []Expr{branch.Then, branch.Else} {
					require.Equal(t, 1, users[side])
					require.False(t, side.(*Call).Fn.(*Function).Primitive)
				}
			}
		}
	}
}
