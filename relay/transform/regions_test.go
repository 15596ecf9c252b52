package transform

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/texel-ml/texel/diag"
	"github.com/texel-ml/texel/relay"
	"github.com/texel-ml/texel/tensor"
)

func (g *graph) variable(name string, d tensor.DType, shape ...int) *relay.Var {
	return relay.NewVar(name, &relay.TensorType{Shape: append(tensor.Shape{}, shape...), DType: d}, diag.Pos{})
}

func (g *graph) fn(body relay.Expr, params ...*relay.Var) *relay.Function {
	return relay.NewFunction(params, body, false, nil, diag.Pos{})
}

func (g *graph) apply(fn *relay.Function, args ...relay.Expr) relay.Expr {
	c, err := relay.NewCallFn(fn, args, diag.Pos{})
	require.NoError(g.t, err)
	return c
}

// regional is a branch with a loop in it: each function has a product with 1, and multiplies by a constant that it is given,
// twice in the body of the loop; and it is given a value that it does not use.
func regional(g *graph) *relay.Module {
	c, x := g.variable("c", tensor.Bool), g.variable("x", tensor.Float32, 2)
	g.params = []*relay.Var{c, x}
	product := func(x, k relay.Expr) relay.Expr { return g.mul(g.mul(x, g.scalar(1)), k) }

	round, s, k, unused := g.variable("round", tensor.Int64), g.variable("s", tensor.Float32, 2), g.variable("k", tensor.Float32, 2), g.variable("u", tensor.Float32, 2)
	body := g.fn(g.tuple(product(s, g.mul(k, k))), round, s, k, unused)
	y, k2, u2 := g.variable("y", tensor.Float32, 2), g.variable("k", tensor.Float32, 2), g.variable("u", tensor.Float32, 2)
	trip := relay.NewConstant(tensor.Of(tensor.Int64, tensor.Shape{}, int64(3)), "", diag.Pos{})
	loop, err := relay.NewLoop(relay.Loop{Trip: trip, State: []relay.Expr{product(y, k2)}, Captured: []relay.Expr{k2, y}, Body: body}, diag.Pos{})
	require.NoError(g.t, err)
	then := g.fn(g.get(loop, 0), y, k2, u2)
	z := g.variable("z", tensor.Float32, 2)
	els := g.fn(product(z, g.scalar(2)), z)
	weight := g.positive(2)
	i, err := relay.NewIf(c, g.apply(then, x, weight, x), g.apply(els, product(x, weight)), diag.Pos{})
	require.NoError(g.t, err)
	return g.module(i)
}

// regionsOf returns main and the regions in it, outermost first.
func regionsOf(f *relay.Function) []*relay.Function {
	all := []*relay.Function{f}
	for e := range relay.PostOrder(f, false) {
		if nested, ok := e.(*relay.Function); ok && nested != f && !nested.Primitive {
			all = append(all, regionsOf(nested)...)
		}
	}
	return all
}

func TestPassesRunInRegions(t *testing.T) {
	g := newGraph(t)
	before := regional(g)
	require.NoError(t, relay.VerifyOps(before, g.ops))
	o := &Options{Ops: g.ops, Notes: &diag.Notes{}, Verify: true}
	after, err := Run(context.Background(), before, Passes(), o)
	require.NoError(t, err)
	sameAnswers(t, before, after)
	var params []int
	for _, f := range regionsOf(after.Main()) {
		params = append(params, len(f.Params))
		calls := 0
		for e := range relay.PostOrder(f, false) {
			if c, ok := e.(*relay.Call); ok && c.Op != nil {
				require.Fail(t, "an operator is in no kernel", c.Op.Name)
			} else if fn, ok := e.(*relay.Function); ok && fn.Primitive {
				calls++
				require.Equal(t, 1, operators(&relay.Module{Funcs: map[string]*relay.Function{"main": fn}}), "the product with 1 is gone, those of constants are one")
			}
		}
		require.Equal(t, 1, calls)
	}
	require.Equal(t, []int{2, 1, 2, 1}, params, "main; then, its weight inside; the loop's round and state; else")
}

// TestRewritesAreCountedOverRegions stops behind each rewrite of main and of the regions in turn.
func TestRewritesAreCountedOverRegions(t *testing.T) {
	g := newGraph(t)
	before := regional(g)
	remove := Passes()[2:3]
	require.Equal(t, "remove-identities", remove[0].Name)
	rewrites := func(most int) (n int) {
		o := &Options{Ops: g.ops, Notes: &diag.Notes{}, Verify: true, MaxRewrites: most, Rewrote: func(r Rewrite) {
			n++
			require.Equal(t, n, r.Number)
		}}
		after, err := Run(context.Background(), before, remove, o)
		require.NoError(t, err)
		sameAnswers(t, before, after)
		return n
	}
	require.Equal(t, 4, rewrites(0))
	for most := 1; most <= 4; most++ {
		require.Equal(t, most, rewrites(most))
	}
}

// TestWhatInnerFunctionsReadStays has a function in a region that reads a parameter of the region.
func TestWhatInnerFunctionsReadStays(t *testing.T) {
	g := newGraph(t)
	x, y := g.variable("x", tensor.Float32, 2), g.variable("y", tensor.Float32, 2)
	free, z := g.variable("free", tensor.Float32, 2), g.variable("z", tensor.Float32, 2)
	g.params = []*relay.Var{x}
	outer := g.fn(g.apply(g.fn(g.mul(y, free), y), g.mul(z, g.scalar(1))), free, z)
	before := g.module(g.apply(outer, g.positive(2), x))
	after, err := Run(context.Background(), before, Passes()[2:3], &Options{Ops: g.ops, Notes: &diag.Notes{}, Verify: true})
	require.NoError(t, err)
	sameAnswers(t, before, after)
	require.Equal(t, []*relay.Var{free, z}, regionsOf(after.Main())[1].Params)
}

// TestWhatIsGivenForNothingGoes has a loop and a branch of which only some fields are used: state a depends on b, and c on
// nothing but itself.
func TestWhatIsGivenForNothingGoes(t *testing.T) {
	g := newGraph(t)
	c, n := g.variable("c", tensor.Bool), g.variable("n", tensor.Int64)
	x := g.variable("x", tensor.Float32, 2)
	g.params = []*relay.Var{c, n, x}
	round, a, b, own := g.variable("round", tensor.Int64), g.variable("a", tensor.Float32, 2), g.variable("b", tensor.Float32, 2), g.variable("own", tensor.Float32, 2)
	body := g.fn(g.tuple(g.add(a, b), g.mul(b, b), g.mul(own, own), g.add(a, a), g.add(own, b)), round, a, b, own)
	loop, err := relay.NewLoop(relay.Loop{Trip: n, State: []relay.Expr{x, x, x}, Max: 4, Body: body}, diag.Pos{})
	require.NoError(t, err)
	side := func(k float64) relay.Expr {
		p := g.variable("p", tensor.Float32, 2)
		return g.apply(g.fn(g.tuple(g.mul(p, g.scalar(k)), g.add(p, p), g.add(p, g.scalar(k))), p), x)
	}
	i, err := relay.NewIf(c, side(2), side(3), diag.Pos{})
	require.NoError(t, err)
	run := func(fields ...relay.Expr) (*relay.Loop, *relay.If) {
		before := g.module(g.tuple(fields...))
		require.NoError(t, relay.Verify(before))
		after, err := Run(context.Background(), before, Passes()[2:3], &Options{Ops: g.ops, Notes: &diag.Notes{}, Verify: true})
		require.NoError(t, err)
		sameAnswers(t, before, after)
		var l *relay.Loop
		var branch *relay.If
		for e := range relay.PostOrder(after.Main(), false) {
			switch e := e.(type) {
			case *relay.Loop:
				l = e
			case *relay.If:
				branch = e
			}
		}
		return l, branch
	}

	l, branch := run(g.get(loop, 0), g.get(i, 1))
	require.Equal(t, "(Tensor[(2,), float32], Tensor[(2,), float32], Tensor[(1,), int64])", l.Type().String(), "a, and b that it needs")
	require.Equal(t, "(Tensor[(2,), float32],)", branch.Type().String())
	l, branch = run(g.get(loop, 4), g.get(loop, 5), g.get(i, 0), g.get(i, 2))
	require.Equal(t, "(Tensor[(2,), float32], Tensor[(2,), float32], Tensor[(4, 2), float32], Tensor[(1,), int64])", l.Type().String(), "b and c, and the second part")
	require.Equal(t, "(Tensor[(2,), float32], Tensor[(2,), float32])", branch.Type().String())
	l, _ = run(g.get(loop, 1), g.get(loop, 5))
	require.Equal(t, "(Tensor[(2,), float32], Tensor[(1,), int64])", l.Type().String())
	l, _ = run(g.get(loop, 5))
	require.Equal(t, loop.Type(), l.Type(), "a loop of nothing but rounds stays what it is")
	l, _ = run(g.get(loop, 0), g.get(loop, 1), g.get(loop, 2), g.get(loop, 3), g.get(loop, 4))
	require.Equal(t, loop.Type(), l.Type())
}

// TestADecidedBranchIsTheSideThatIsTaken has conditions that folding makes constants, one in a side of the other.
func TestADecidedBranchIsTheSideThatIsTaken(t *testing.T) {
	g := newGraph(t)
	x := g.input("x", 2)
	yes := relay.NewConstant(tensor.Of(tensor.Bool, tensor.Shape{}, true), "", diag.Pos{})
	branch := func(cond, v relay.Expr, then func(p relay.Expr) relay.Expr) relay.Expr {
		p, q := g.variable("p", tensor.Float32, 2), g.variable("q", tensor.Float32, 2)
		i, err := relay.NewIf(cond, g.apply(g.fn(then(p), p), v), g.apply(g.fn(g.call("tan", nil, q), q), v), diag.Pos{})
		require.NoError(t, err)
		return i
	}
	no := g.call("logical_not", nil, yes)
	body := branch(g.call("logical_not", nil, no), g.call("sin", nil, x), func(p relay.Expr) relay.Expr {
		return g.add(branch(no, p, func(p relay.Expr) relay.Expr { return g.call("exp", nil, p) }), p)
	})
	before := g.module(body)
	require.NoError(t, relay.Verify(before))
	after, err := Run(context.Background(), before, Passes()[3:4], &Options{Ops: g.ops, Notes: &diag.Notes{}, Verify: true})
	require.NoError(t, err)
	sameAnswers(t, before, after)
	require.Len(t, regionsOf(after.Main()), 1)
	require.NotContains(t, relay.Print(after), "if (")
	require.NotContains(t, relay.Print(after), "exp(")
}
