package transform

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/texel-ml/texel/cost"
	"github.com/texel-ml/texel/diag"
	"github.com/texel-ml/texel/internal/pbqp"
	"github.com/texel-ml/texel/internal/relaygen"
	"github.com/texel-ml/texel/relay"
	"github.com/texel-ml/texel/target"
	"github.com/texel-ml/texel/tensor"
)

// twoWays lets a convolution be computed with its channels innermost, or, dearer by the given microseconds, outermost.
func twoWays(dearer float64) func(*relay.Call, tensor.DType) []cost.Candidate {
	return func(c *relay.Call, _ tensor.DType) []cost.Candidate {
		a, ok := c.Attrs.(*relay.ConvAttrs)
		if !ok || a.DataLayout != "NCHW" {
			return nil
		}
		return []cost.Candidate{{Algorithm: "fast", Data: "NHWC", Kernel: "HWIO", Out: "NHWC", Cost: 1},
			{Algorithm: "slow", Data: "NCHW", Kernel: "OIHW", Out: "NCHW", Cost: 1 + dearer}}
	}
}

// assigned runs the pass alone.
func assigned(t *testing.T, m *relay.Module, candidates func(*relay.Call, tensor.DType) []cost.Candidate) (*relay.Module, []diag.Note) {
	host, err := target.Parse("x86-64-v3")
	require.NoError(t, err)
	notes := &diag.Notes{}
	o := &Options{Ops: relay.Core(), Notes: notes, Target: host, Candidates: candidates, Verify: true}
	after, err := Run(context.Background(), m, []Pass{{"assign", "", Assign}}, o)
	require.NoError(t, err)
	return after, notes.List()
}

// count returns how many calls of an operator there are.
func count(m *relay.Module, op string) int {
	n := 0
	for e := range relay.PostOrder(m.Main(), false) {
		if _, ok := is(e, op); ok {
			n++
		}
	}
	return n
}

// TestAssignLooksAhead has chains where the cheapest choice of one operator is not part of the cheapest choice of all.
func TestAssignLooksAhead(t *testing.T) {
	// A copy of 64·64·64 floats takes 131072 cycles, about 43 µs at 3 GHz.
	for _, x := range []struct {
		name       string
		dearer     float64
		convs      int
		transposes int
	}{
		{"one convolution does not pay for two copies", 50, 1, 0},
		{"three do", 50, 3, 2},
	} {
		g := newGraph(t)
		y := g.input("x", 1, 64, 64, 64)
		for range x.convs {
			y = g.call("nn.relu", nil, g.conv(y, 64, 64, 1, 0, 1))
		}
		after, notes := assigned(t, g.module(y), twoWays(x.dearer))
		require.Equal(t, x.transposes, count(after, "transpose"), "%s\n%v", x.name, notes)
	}
}

// TestAssignCopiesOnce has a value that two operators want in another order than it is made in.
func TestAssignCopiesOnce(t *testing.T) {
	g := newGraph(t)
	y := g.conv(g.input("x", 1, 8, 16, 16), 8, 8, 3, 1, 1)
	a, b := g.call("cumsum", &relay.ScanAttrs{Axis: 1}, y), g.call("cumsum", &relay.ScanAttrs{Axis: 2}, y)
	m := g.module(g.tuple(a, b, g.conv(y, 4, 8, 1, 0, 1)))
	after, notes := assigned(t, m, twoWays(1000))
	require.Equal(t, 3, count(after, "transpose"), "of the input, of y and of the last result\n%v", notes)
	require.Contains(t, notes[len(notes)-1].Text, "optimal")
	sameAnswers(t, m, after)
}

// TestAssignTellsThePrices has what was not taken, with what it would have cost there.
func TestAssignTellsThePrices(t *testing.T) {
	g := newGraph(t)
	_, notes := assigned(t, g.module(g.conv(g.input("x", 1, 64, 64, 64), 64, 64, 1, 0, 1)), twoWays(10))
	require.Equal(t, "chose: assign: nn.conv2d: slow NCHW OIHW NCHW, 11.0 µs", notes[0].String())
	require.Len(t, notes[0].Other, 1)
	require.Equal(t, "fast NHWC HWIO NHWC", notes[0].Other[0].Name)
	host, err := target.Parse("x86-64-v3")
	require.NoError(t, err)
	copies := 2 * cost.Micros(cost.Copy(4*64*64*64), host)
	require.InDelta(t, 1+copies, notes[0].Other[0].Cost, 1e-6)
	require.Equal(t, "chose: assign: main: 2 nodes, 1 edges, 11.0 µs in all (choosing one by one: 11.0 µs), gap 0.0 µs: optimal; reductions R0 1, RI 0, RII 0, fixed 1", notes[1].String())
}

// TestAssignIsNoWorseThanOneByOne compares the labels with those that are chosen operator by operator, on random graphs and
// in all precisions.
func TestAssignIsNoWorseThanOneByOne(t *testing.T) {
	host, err := target.Parse("x86-64-v4")
	require.NoError(t, err)
	better, shared := 0, 0
	for seed := range uint64(1200) {
		m := relaygen.Module(relay.Core(), relaygen.Seeded(seed), relaygen.Options{Operators: 3 + int(seed%20), DType: tensor.Float32,
			Rows: []string{"nn.conv2d", "transpose", "add", "nn.relu", "concatenate", "cumsum", "nn.max_pool2d", "split", "multiply", "mean"}})
		o := &Options{Ops: relay.Core(), Target: host, Candidates: twoWays(0.01),
			Precision: []Precision{{}, {Store: tensor.Float16}, {Store: tensor.Float16, Mixed: true}}[seed%3]}
		a := newAssignment(m.Main(), o)
		a.findOrders()
		if o.Precision.Store != tensor.Invalid {
			a.findStores()
			a.findHalves()
		}
		a.findLabels()
		p := a.problem()
		greedy := a.oneByOne(p)
		s, err := p.Solve(pbqp.Options{})
		require.NoError(t, err)
		require.Less(t, p.Cost(greedy), pbqp.Infinite, "seed %d: labels that do not go together", seed)
		require.LessOrEqual(t, s.Cost, p.Cost(greedy)+1e-9, "seed %d", seed)
		require.Zero(t, s.Gap(), "seed %d", seed)
		if s.Cost < p.Cost(greedy)-1e-9 {
			better++
		}
		for _, c := range a.choices {
			if c.shared >= 0 {
				shared++
			}
		}
	}
	require.Greater(t, better, 20, "looking ahead never paid")
	require.Greater(t, shared, 50, "no value was read in several orders")
}

// TestAssignOfAnOutput keeps a value in the model's order where it is both read and an output.
func TestAssignOfAnOutput(t *testing.T) {
	g := newGraph(t)
	y := g.conv(g.input("x", 1, 8, 6, 6), 8, 8, 3, 1, 1)
	m := g.module(g.tuple(y, g.conv(y, 8, 8, 3, 1, 1)))
	after, _ := assigned(t, m, channelsLast)
	require.True(t, relay.TypeEqual(m.Main().Type(), after.Main().Type()))
	sameAnswers(t, m, after)
}

// TestAssignOfLargeGraphs goes through 20,000 operators, each of which reads the last value and one some way back.
func TestAssignOfLargeGraphs(t *testing.T) {
	g := newGraph(t)
	g.params = nil
	values := []relay.Expr{g.input("x", 1, 4, 3, 3)}
	w := g.weights(4, 4, 1, 1)
	attrs := g.ops.Lookup("nn.conv2d").NewAttrs()
	for i := range 10000 {
		last := values[len(values)-1]
		y := g.call("nn.conv2d", attrs, last, w)
		values = append(values, g.add(y, values[max(0, len(values)-7-i%5)]))
	}
	after, notes := assigned(t, g.module(values[len(values)-1]), twoWays(0.5))
	require.Equal(t, 10000, count(after, "nn.conv2d"))
	require.Contains(t, notes[len(notes)-1].Text, "gap 0.0 µs: optimal")
}
