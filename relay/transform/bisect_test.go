package transform

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/texel-ml/texel/diag"
	"github.com/texel-ml/texel/internal/relaygen"
	"github.com/texel-ml/texel/relay"
	"github.com/texel-ml/texel/relay/eval"
	"github.com/texel-ml/texel/tensor"
)

// evaluated returns a check that a module computes what m computes.
func evaluated(t *testing.T, m *relay.Module) func(*relay.Module) error {
	args := relaygen.Inputs(m.Main(), 1)
	want, err := eval.Tensors(context.Background(), m.Main(), args)
	require.NoError(t, err)
	return func(m *relay.Module) error {
		got, err := eval.Tensors(context.Background(), m.Main(), args)
		if err != nil {
			return err
		}
		for i := range want {
			if d := tensor.Compare(tensor.Widen(got[i]), tensor.Widen(want[i]), 1e-5, 1e-5); d.Outside > 0 {
				return fmt.Errorf("output %d: %g, wanted %g", i, d.Got, d.Want)
			}
		}
		return nil
	}
}

// planted is a pass that replaces tanh by erf, and is right for the operands named in fine: those are replaced by a copy.
func planted(fine func(c *relay.Call) bool) Pass {
	return Pass{Name: "planted", Run: func(_ context.Context, m *relay.Module, o *Options) (*relay.Module, error) {
		return rewrite("planted", m, o, func(r *rewriter, c *relay.Call) (relay.Expr, error) {
			switch {
			case c.Op.Name != "tanh" || c.Pos().Node == "done":
				return nil, nil
			case fine(c):
				r.pos = diag.Pos{Node: "done"}
				y, err := r.call("tanh", nil, c.Args[0])
				if err != nil {
					return nil, err
				}
				return r.call("copy", nil, y)
			}
			return r.call("erf", nil, c.Args[0])
		})
	}}
}

// chainOf is tanh, n times.
func chainOf(g *graph, n int) relay.Expr {
	y := g.mul(g.input("x", 3), g.scalar(1))
	for i := range n {
		c, err := relay.NewCall(g.ops.Lookup("tanh"), []relay.Expr{y}, nil, diag.Pos{Node: fmt.Sprint("tanh", i)})
		require.NoError(g.t, err)
		y = c
	}
	return y
}

// TestBisectFindsTheRewriteAtFault plants a fault in each of the places of a chain.
func TestBisectFindsTheRewriteAtFault(t *testing.T) {
	for at := range 7 {
		g := newGraph(t)
		m := g.module(chainOf(g, 7))
		name := fmt.Sprint("tanh", at)
		passes := append(Passes()[:6:6], planted(func(c *relay.Call) bool { return c.Pos().Node != name }), Passes()[6])
		c, err := Bisect(context.Background(), m, passes, &Options{Ops: g.ops}, evaluated(t, m))
		require.NoError(t, err)
		require.NotNil(t, c)
		require.Equal(t, "planted", c.Pass)
		require.Equal(t, 7, c.Rewrites)
		require.Equal(t, at+1, c.Rewrite.Number)
		require.Equal(t, name, c.Rewrite.Node)
		require.Contains(t, Describe(c.Rewrite.Before), "tanh(")
		require.Contains(t, Describe(c.Rewrite.After), "erf(")
		require.ErrorContains(t, c.Fault, "output 0")
		require.NotNil(t, c.After)
		require.Equal(t, []string{"infer-type", "simplify-inference", "remove-identities", "fold-constants", "canonicalize", "simplify-expr"}, c.Fine)
	}
}

// TestBisectOfPassesThatAreRight finds nothing in any of them.
func TestBisectOfPassesThatAreRight(t *testing.T) {
	m := relaygen.Module(relay.Core(), relaygen.Seeded(4), relaygen.Options{Patterns: []string{"fold-scale-axis", "recognize-activations"}, DType: tensor.Float32})
	c, err := Bisect(context.Background(), m, Passes(), &Options{Ops: relay.Core()}, evaluated(t, m))
	require.NoError(t, err)
	require.Nil(t, c)
}

// TestBisectOfPassesThatFail has a pass that fails, one that makes an illegal module at its second rewrite, and one that does
// not work node by node.
func TestBisectOfPassesThatFail(t *testing.T) {
	failing := Pass{Name: "failing", Run: func(context.Context, *relay.Module, *Options) (*relay.Module, error) {
		return nil, diag.Internal("failing", "", "does not like it")
	}}
	illegal := Pass{Name: "illegal", Run: func(_ context.Context, m *relay.Module, o *Options) (*relay.Module, error) {
		return rewrite("illegal", m, o, func(r *rewriter, c *relay.Call) (relay.Expr, error) {
			switch {
			case c.Op.Name != "tanh":
			case c.Pos().Node == "tanh1":
				return r.call("copy", nil, c.Args[0])
			case c.Pos().Node == "tanh2":
				return relay.NewVar("nowhere", c.Type(), diag.Pos{}), nil
			}
			return nil, nil
		})
	}}
	whole := Pass{Name: "whole", Run: func(_ context.Context, m *relay.Module, o *Options) (*relay.Module, error) {
		main := m.Main()
		zero := relay.NewConstant(tensor.New(tensor.Float32, tensor.Shape{3}), "", diag.Pos{})
		return m.WithMain(relay.NewFunction(main.Params, zero, false, nil, diag.Pos{})), nil
	}}
	for _, r := range []struct {
		pass     Pass
		rewrites int
		number   int
		fault    string
	}{{failing, 0, 0, "does not like it"}, {illegal, 2, 2, "nowhere"}, {whole, 0, 0, "output 0: 0"}} {
		t.Run(r.pass.Name, func(t *testing.T) {
			g := newGraph(t)
			m := g.module(chainOf(g, 4))
			ok := func(*relay.Module) error { return nil }
			if r.pass.Name == "whole" {
				ok = evaluated(t, m)
			}
			c, err := Bisect(context.Background(), m, []Pass{r.pass}, &Options{Ops: g.ops}, ok)
			require.NoError(t, err)
			require.NotNil(t, c)
			require.Equal(t, r.pass.Name, c.Pass)
			require.Equal(t, r.rewrites, c.Rewrites)
			require.Equal(t, r.number, c.Rewrite.Number)
			require.ErrorContains(t, c.Fault, r.fault)
		})
	}
}

// TestBisectLooksAtItsContext ends when it is cancelled.
func TestBisectLooksAtItsContext(t *testing.T) {
	g := newGraph(t)
	m := g.module(chainOf(g, 4))
	ctx, cancel := context.WithCancel(context.Background())
	_, err := Bisect(ctx, m, []Pass{planted(func(*relay.Call) bool { return false })}, &Options{Ops: g.ops}, func(*relay.Module) error {
		cancel()
		return ctx.Err()
	})
	require.ErrorIs(t, err, context.Canceled)
}
