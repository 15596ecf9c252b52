package transform

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/texel-ml/texel/diag"
	"github.com/texel-ml/texel/relay"
	"github.com/texel-ml/texel/target"
)

// deepNet is a graph of at least n operators: residual blocks of decomposed activations, norms, attention-like moves and
// joins, so that every kind of pass has something to do.
func deepNet(g *graph, n int) *relay.Module {
	x := g.input("x", 1, 4, 6, 6)
	made := 0
	count := func(e relay.Expr, k int) relay.Expr {
		made += k
		return e
	}
	for made < n {
		y := count(g.bias(g.mul(g.conv(x, 4, 4, 3, 1, 1), g.weights(4, 1, 1)), 4, 1), 3)
		y = count(g.mul(y, g.div(g.clip(g.add(y, g.scalar(3)), 0, 6), g.scalar(6))), 4)
		y = count(g.add(g.mul(layerNorm(g, y, 3, true), g.weights(6)), g.weights(6)), 9)
		y = count(g.reshape(g.transpose(g.reshape(y, 1, 2, 2, 6, 6), 0, 2, 1, 3, 4), 1, 4, 6, 6), 3)
		y = count(g.join(1, g.slice(y, 1, 0, 2), g.call("tanh", nil, g.slice(y, 1, 2, 4))), 5)
		y = count(g.transpose(g.transpose(y, 0, 2, 3, 1), 0, 3, 1, 2), 2)
		x = count(g.add(g.call("maximum", nil, y, g.scalar(0)), x), 2)
	}
	return g.module(x)
}

// TestPassesTakeTimeInProportion runs all passes on a graph of 20,000 operators.
func TestPassesTakeTimeInProportion(t *testing.T) {
	host, err := target.Parse("x86-64-v3")
	require.NoError(t, err)
	g := newGraph(t)
	m := deepNet(g, 20_000)
	start := time.Now()
	_, err = Run(context.Background(), m, Passes(), &Options{Ops: g.ops, Notes: &diag.Notes{}, Target: host, Candidates: channelsLast})
	require.NoError(t, err)
	require.Less(t, time.Since(start), time.Minute, "a pass takes more than time in proportion to the operators")
}

// BenchmarkPasses runs all passes on graphs of 5,000 and of 20,000 operators.
func BenchmarkPasses(b *testing.B) {
	host, err := target.Parse("x86-64-v3")
	require.NoError(b, err)
	for name, n := range map[string]int{"5000": 5_000, "20000": 20_000} {
		b.Run(name, func(b *testing.B) {
			g := newGraph(b)
			m := deepNet(g, n)
			for b.Loop() {
				_, err := Run(context.Background(), m, Passes(), &Options{Ops: g.ops, Notes: &diag.Notes{}, Target: host, Candidates: channelsLast})
				require.NoError(b, err)
			}
		})
	}
}
