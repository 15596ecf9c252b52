package relaytext_test

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/texel-ml/texel/diag"
	"github.com/texel-ml/texel/internal/relaygen"
	"github.com/texel-ml/texel/relay"
	"github.com/texel-ml/texel/relay/eval"
	"github.com/texel-ml/texel/relay/relaytext"
	"github.com/texel-ml/texel/tensor"
)

func inlined(t *testing.T, text string) *relay.Module {
	t.Helper()
	m, err := relaytext.Parse("t", text, relaytext.Options{})
	require.NoError(t, err)
	m, err = relaytext.Inline(m)
	require.NoError(t, err)
	require.NoError(t, relay.VerifyOps(m, relay.Core()))
	return m
}

func TestFunctionsAreInlined(t *testing.T) {
	m := inlined(t, `
def @main(%x: float32, %c: bool) {
  %0 = exp(%x);
  let %scale = 2f;
  let %f = fn (%a: float32) { @twice(%a) + %0 * %scale };   // has what is around it
  let %g = fn (%h: fn (float32) -> float32, %a: float32, Primitive=0) { %h(%h(%a)) };
  %1 = fn (%p: (float32, float32), Primitive=1) { subtract(%p.0, %p.1) };
  %2 = if (True) { %g(%f, %x) } else { log(%x) };
  if (%c) { %1((%2, %0)) } else { let %y = negative(%2); %y }
}
def @twice(%x: float32) { let %x = %x + %x; %x }
`)
	require.Equal(t, `def @main(%x: Tensor[(), float32], %c: Tensor[(), bool]) -> Tensor[(), float32] {
  %0 = add(%x, %x) /* ty=Tensor[(), float32] */;
  %1 = exp(%x) /* ty=Tensor[(), float32] */;
  %2 = multiply(%1, 2f) /* ty=Tensor[(), float32] */;
  %3 = add(%0, %2) /* ty=Tensor[(), float32] */;
  %4 = add(%3, %3) /* ty=Tensor[(), float32] */;
  %5 = multiply(%1, 2f) /* ty=Tensor[(), float32] */;
  %6 = add(%4, %5) /* ty=Tensor[(), float32] */;
  if (%c) {
    %7 = (%6, %1) /* ty=(Tensor[(), float32], Tensor[(), float32]) */;
    %8 = %7.0 /* ty=Tensor[(), float32] */;
    %9 = %7.1 /* ty=Tensor[(), float32] */;
    subtract(%8, %9) /* ty=Tensor[(), float32] */
  } else {
    negative(%6) /* ty=Tensor[(), float32] */
  } /* ty=Tensor[(), float32] */
}
`, relay.PrintFunction("main", m.Main()))
	require.Len(t, m.Funcs, 1)
}

func TestLoopsAreKept(t *testing.T) {
	m := inlined(t, `
def @main(%n: int64, %x: float32) {
  let %y = exp(%x);
  loop(@body, (%n,), (), (%y,), (), max_rounds=0).0
}
def @body(%i: int64, %s: float32) { let %r = (@twice(%s),); %r }
def @twice(%x: float32) { %x * 2f }
`)
	require.Equal(t, `def @main(%n: Tensor[(), int64], %x: Tensor[(), float32]) -> Tensor[(), float32] {
  %0 = exp(%x) /* ty=Tensor[(), float32] */;
  %1 = fn (%i: Tensor[(), int64], %s: Tensor[(), float32]) -> (Tensor[(), float32],) {
    %2 = multiply(%s, 2f) /* ty=Tensor[(), float32] */;
    (%2,) /* ty=(Tensor[(), float32],) */
  };
  %3 = loop(%1, (%n,), (), (%0,), (), max_rounds=0) /* ty=(Tensor[(), float32], Tensor[(1,), int64]) */;
  %3.0 /* ty=Tensor[(), float32] */
}
`, relay.PrintFunction("main", m.Main()))
}

// A module without lets and calls is left as it is.
func TestNothingToInline(t *testing.T) {
	m, err := relaytext.Parse("t", "def @main(%x: float32, %c: bool) { if (%c) { exp(%x) } else { (%x, %x).0 } }", relaytext.Options{})
	require.NoError(t, err)
	again, err := relaytext.Inline(m)
	require.NoError(t, err)
	require.Same(t, m.Main(), again.Main())
}

func TestWhatCannotBeInlinedIsRefused(t *testing.T) {
	m, err := relaytext.Parse("t", "def @main(%x: float32) { let %f = fn (%a: float32) { %a }; let %t = (%f, %x); %t.1 }", relaytext.Options{})
	require.NoError(t, err)
	_, err = relaytext.Inline(m)
	require.ErrorIs(t, err, diag.ErrUnsupported)
	require.ErrorContains(t, err, "function: a function is a value here; it can only be called")
	// Each function calls the next one twice.
	var b strings.Builder
	b.WriteString("def @main(%x: float32) { @f0(%x) }\n")
	for i := range 40 {
		b.WriteString("def @f" + itoa(i) + "(%x: float32) { @f" + itoa(i+1) + "(@f" + itoa(i+1) + "(%x)) }\n")
	}
	b.WriteString("def @f40(%x: float32) { exp(%x) }\n")
	m, err = relaytext.Parse("t", b.String(), relaytext.Options{})
	require.NoError(t, err)
	_, err = relaytext.Inline(m)
	require.ErrorIs(t, err, diag.ErrUnsupported)
	require.ErrorContains(t, err, "more than 400000 nodes when functions are inlined")
}

// Long chains of lets are inlined without a stack for each.
func TestLongChainsAreInlined(t *testing.T) {
	m, err := relaytext.Inline(lets(t, 20_000))
	require.NoError(t, err)
	require.NotContains(t, relay.PrintFunction("main", m.Main()), "let")
}

// Random graphs with lets, branches and functions compute the same when they are inlined, and when their branches become
// functions.
func TestInliningKeepsAnswers(t *testing.T) {
	ops, branches := relay.Core(), 0
	for seed := range uint64(200) {
		choose := relaygen.Seeded(seed)
		m := relaygen.Module(ops, choose, relaygen.Options{Control: true})
		text := relay.Print(m)
		again, err := relaytext.Inline(m)
		require.NoError(t, err, text)
		require.NoError(t, relay.VerifyOps(again, ops), text)
		closed, err := relay.CloseBranches(again.Main())
		require.NoError(t, err, text)
		require.NoError(t, relay.VerifyOps(&relay.Module{Funcs: map[string]*relay.Function{"main": closed}, Outputs: again.Outputs}, ops), text)
		for e := range relay.PostOrder(closed, true) {
			if branch, ok := e.(*relay.If); ok {
				branches++
				require.IsType(t, &relay.Function{}, branch.Then.(*relay.Call).Fn, text)
				require.IsType(t, &relay.Function{}, branch.Else.(*relay.Call).Fn, text)
			}
		}
		var args []*tensor.Tensor
		for _, p := range m.Main().Params {
			w := tensor.NewWide(relay.Tensor(p).DType, relay.Tensor(p).Shape)
			for i := range w.F {
				w.F[i] = float64(choose(17)-8) / 8
			}
			for i := range w.I {
				w.I[i] = int64(choose(2))
			}
			args = append(args, w.Narrow())
		}
		want, err := eval.Tensors(context.Background(), m.Main(), args)
		require.NoError(t, err, text)
		for _, f := range []*relay.Function{again.Main(), closed} {
			got, err := eval.Tensors(context.Background(), f, args)
			require.NoError(t, err, text)
			require.Equal(t, want, got, text)
		}
	}
	require.Greater(t, branches, 10)
}
