package transform

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/texel-ml/texel/diag"
	"github.com/texel-ml/texel/relay"
)

// TestPassesKeepAnswersOfGeneratedGraphs runs all passes on random graphs of the operators that they rewrite.
func TestPassesKeepAnswersOfGeneratedGraphs(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		g := newGraph(t)
		seed := rapid.Uint64().Draw(rt, "seed")
		g.r = rand.New(rand.NewPCG(seed, 1))
		before := g.module(generate(g, rapid.IntRange(3, 14).Draw(rt, "operators"), func(n int) int {
			return rapid.IntRange(0, n-1).Draw(rt, "choice")
		}))
		o := &Options{Ops: g.ops, Notes: &diag.Notes{}, Verify: true}
		after, err := Run(context.Background(), before, Passes(), o)
		require.NoError(rt, err)
		sameAnswers(rt, before, after)
	})
}

// generate builds a graph of values (1, 4, 5, 5) and vectors from choices.
func generate(g *graph, operators int, choose func(n int) int) relay.Expr {
	const c, side = 4, 5
	values := []relay.Expr{g.input("a", 1, c, side, side), g.input("b", 1, c, side, side)}
	pick := func() relay.Expr { return values[len(values)-1-choose(min(3, len(values)))] }
	channels := func() relay.Expr {
		if choose(2) == 0 {
			return g.weights(1, c, 1, 1)
		}
		return g.positive(c, 1, 1)
	}
	makers := []func() relay.Expr{
		func() relay.Expr { return g.conv(pick(), c, c, 3, 1, 1) },
		func() relay.Expr { return g.conv(pick(), c, c, 1, 0, 1) },
		func() relay.Expr { return g.conv(pick(), c, c, 3, 1, 4) },
		func() relay.Expr {
			return g.get(g.call("nn.batch_norm", nil, pick(), g.positive(c), g.weights(c), g.weights(c), g.positive(c)), 0)
		},
		func() relay.Expr { return g.mul(pick(), channels()) },
		func() relay.Expr { return g.add(pick(), channels()) },
		func() relay.Expr { return g.bias(pick(), c, 1) },
		func() relay.Expr { return g.div(pick(), g.scalar(float64(1+choose(3)))) },
		func() relay.Expr { return g.add(pick(), pick()) },
		func() relay.Expr { return g.mul(g.call("tanh", nil, pick()), pick()) },
		func() relay.Expr { return g.call("nn.relu", nil, pick()) },
		func() relay.Expr {
			x := pick()
			return g.mul(x, g.div(g.clip(g.add(x, g.scalar(3)), 0, 6), g.scalar(6)))
		},
		func() relay.Expr {
			x := pick()
			y := g.call("nn.relu", nil, g.bias(g.conv(g.call("nn.global_avg_pool2d", nil, x), 2, c, 1, 0, 1), 2, 1))
			return g.mul(x, g.call("sigmoid", nil, g.conv(y, c, 2, 1, 0, 1)))
		},
		func() relay.Expr { return layerNorm(g, pick(), 3, choose(2) == 0) },
		func() relay.Expr {
			return g.reshape(g.transpose(g.reshape(pick(), 1, 2, 2, side, side), 0, 2, 1, 3, 4), 1, c, side, side)
		},
		func() relay.Expr { return g.transpose(g.transpose(pick(), 0, 2, 3, 1), 0, 3, 1, 2) },
		func() relay.Expr {
			x := g.call("nn.pad", &relay.PadAttrs{PadWidth: []int{0, 0, 0, 0, 1, 1, 1, 1}, PadMode: "constant"}, pick(), g.scalar(0))
			return g.conv(x, c, c, 3, 0, 1)
		},
		func() relay.Expr {
			parts := g.call("split", &relay.SplitAttrs{Indices: []int{1}, Axis: 1}, pick())
			return g.call("concatenate", &relay.ConcatAttrs{Axis: 1}, g.tuple(g.get(parts, 1), g.get(parts, 0)))
		},
	}
	for range operators {
		values = append(values, makers[choose(len(makers))]())
	}
	if choose(3) == 0 {
		return g.tuple(values[len(values)-1], pick())
	}
	return values[len(values)-1]
}

// TestRunRefusesUnknownPasses names the pass.
func TestRunRefusesUnknownPasses(t *testing.T) {
	g := newGraph(t)
	m := g.module(g.call("exp", nil, g.input("x", 2)))
	_, err := Run(context.Background(), m, Passes(), &Options{Ops: g.ops, Stop: "fuse"})
	require.ErrorIs(t, err, diag.ErrInvalid)
	require.ErrorContains(t, err, `fuse: is no graph pass`)
}

// TestRunStartsStopsAndObserves sees exactly the passes asked for.
func TestRunStartsStopsAndObserves(t *testing.T) {
	g := newGraph(t)
	m := g.module(g.call("exp", nil, g.input("x", 2)))
	var seen []string
	o := &Options{Ops: g.ops, Start: "fold-constants", Stop: "recognize-layer-norm", Observe: func(i int, p Pass, m *relay.Module) error {
		seen = append(seen, fmt.Sprintf("%d %s", i, p.Name))
		return nil
	}}
	_, err := Run(context.Background(), m, Passes(), o)
	require.NoError(t, err)
	require.Equal(t, []string{"3 fold-constants", "4 recognize-activations", "5 recognize-layer-norm"}, seen)
}
