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
