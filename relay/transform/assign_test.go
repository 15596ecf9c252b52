package transform

import (
	"context"
	"math/rand/v2"
	"slices"
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

// TestAssignOfABranchOfSeveralRanks has a value of four axes that is read in two orders beside one of three: the orders of
// the one are none of the other.
func TestAssignOfABranchOfSeveralRanks(t *testing.T) {
	g := newGraph(t)
	x, v, c := g.input("x", 1, 8, 6, 6), g.input("v", 2, 3, 4), g.variable("c", tensor.Bool)
	g.params = append(g.params, c)
	side := func(op string) relay.Expr {
		p, q := g.variable("p", tensor.Float32, 1, 8, 6, 6), g.variable("q", tensor.Float32, 2, 3, 4)
		return g.apply(g.fn(g.tuple(g.call(op, nil, p), g.call(op, nil, q)), p, q), x, v)
	}
	both, err := relay.NewIf(c, side("tanh"), side("negative"), diag.Pos{})
	require.NoError(t, err)
	y := g.get(both, 0)
	m := g.module(g.tuple(g.conv(y, 8, 8, 3, 1, 1), g.conv(y, 4, 8, 1, 0, 1), g.call("nn.relu", nil, y), g.transpose(g.get(both, 1), 0, 2, 1)))
	after, notes := assigned(t, m, channelsLast)
	require.Equal(t, 4, count(after, "transpose"), "of y once, of the results of the convolutions, and the model's own\n%v", notes)
	sameAnswers(t, m, after)
}

// inOrder returns a tensor, or the fields of a tuple, with axis i at at[i] (back: the other way round).
func (g *graph) inOrder(e relay.Expr, at []int, back bool) relay.Expr {
	if t, ok := e.Type().(*relay.TupleType); ok {
		fields := make([]relay.Expr, len(t.Fields))
		for i := range fields {
			fields[i] = g.inOrder(g.get(e, i), at, back)
		}
		return g.tuple(fields...)
	}
	rank := len(relay.Tensor(e).Shape)
	from, to := []int(nil), at
	if back {
		from, to = at, nil
	}
	return g.transpose(e, turn(from, to, rank)...)
}

// TestFollowers holds each row of the table of followers, on random calls whose operand lies in random orders, to the operator
// in the model's order.
func TestFollowers(t *testing.T) {
	for name, follow := range followers {
		t.Run(name, func(t *testing.T) {
			followed := 0
			r := rand.New(rand.NewPCG(1, 2))
			for seed := range uint64(150) {
				rows := []string{name}
				if name == "reshape" {
					rows = []string{"nn.conv2d", "reshape"}
				}
				m := relaygen.Module(relay.Core(), relaygen.Seeded(seed), relaygen.Options{Operators: 3, Rows: rows, DType: tensor.Float32})
				g := newGraph(t)
				g.params = m.Main().Params
				var last *relay.Call
				for e := range relay.PostOrder(m.Main(), false) {
					if c, ok := is(e, name); ok {
						last = c
					}
				}
				if last == nil || name == "reshape" && len(relay.Tensor(last.Args[0]).Shape) == 0 {
					continue
				}
				fields := tensors(last.Args[0].Type())
				at := r.Perm(len(fields[0].Shape))
				attrs, out, ok := follow(last, at)
				if !ok || tidy(at) == nil {
					continue
				}
				args := slices.Clone(last.Args)
				args[0] = g.inOrder(args[0], at, false)
				moved, err := relay.NewCall(last.Op, args, attrs, diag.Pos{})
				require.NoError(t, err, "seed %d", seed)
				sameAnswers(t, g.module(last), g.module(g.inOrder(moved, out, true)))
				followed++
			}
			require.Greater(t, followed, 5)
		})
	}
}

// TestReshapedOrder has reshapes that only add and take axes of extent 1, and some that do more.
func TestReshapedOrder(t *testing.T) {
	for _, x := range []struct {
		from, to tensor.Shape
		at, want []int
		ok       bool
	}{
		{tensor.Shape{1, 8, 5, 1}, tensor.Shape{1, 8, 5}, []int{0, 3, 1, 2}, []int{0, 2, 1}, true},
		{tensor.Shape{1, 8, 5}, tensor.Shape{1, 8, 5, 1}, []int{0, 2, 1}, []int{0, 3, 1, 2}, true},
		{tensor.Shape{1, 8, 5}, tensor.Shape{1, 8, 1, 5}, []int{0, 2, 1}, []int{0, 3, 1, 2}, true},
		{tensor.Shape{2, 8, 5}, tensor.Shape{2, 8, 1, 5}, []int{0, 2, 1}, []int{0, 3, 1, 2}, true},
		{tensor.Shape{2, 8, 5, 5}, tensor.Shape{1, 2, 8, 5, 5}, []int{0, 3, 1, 2}, []int{0, 1, 4, 2, 3}, true},
		{tensor.Shape{1, 8, 1, 1}, tensor.Shape{1, 8}, []int{0, 3, 1, 2}, nil, true},
		{tensor.Shape{1, 1, 1}, tensor.Shape{1}, []int{2, 1, 0}, nil, true},
		{tensor.Shape{1, 1}, tensor.Shape{}, []int{1, 0}, nil, true},
		{tensor.Shape{2, 0, 3}, tensor.Shape{2, 0, 1, 3}, []int{0, 2, 1}, []int{0, 3, 1, 2}, true},
		{tensor.Shape{2, 8, 5}, tensor.Shape{2, 40}, []int{0, 2, 1}, nil, false},
		{tensor.Shape{2, 8, 5}, tensor.Shape{2, 5, 8}, []int{0, 2, 1}, nil, false},
		{tensor.Shape{2, 8, 5}, tensor.Shape{2, 8, 5, 2}, []int{0, 2, 1}, nil, false},
		{tensor.Shape{2, 8, 5}, tensor.Shape{2, 8}, []int{0, 2, 1}, nil, false},
	} {
		got, ok := reshapedOrder(x.from, x.to, x.at)
		require.Equal(t, x.ok, ok, "%v as %v", x.from, x.to)
		require.Equal(t, x.want, got, "%v as %v", x.from, x.to)
	}
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

// TestAssignKeepsPackedWeights has weights that the model has packed, with and without padding in the last panel, and one that
// only has another order of axes.
func TestAssignKeepsPackedWeights(t *testing.T) {
	both := func(c *relay.Call, _ tensor.DType) []cost.Candidate {
		if c.Op.Name == "nn.dense" {
			return []cost.Candidate{{Algorithm: "direct", Kernel: "NK8n", Cost: 1}}
		}
		return channelsLast(c, tensor.Invalid)
	}
	conv := func(layout string, channels int) any {
		a := relay.Core().Lookup("nn.conv2d").NewAttrs().(*relay.ConvAttrs)
		a.KernelLayout, a.Channels = layout, channels
		return a
	}
	for _, x := range []struct {
		name, op     string
		attrs        any
		data, weight tensor.Shape
		packed       tensor.Shape // the weight behind the pass
	}{
		{"whole panels", "nn.conv2d", conv("OHWI4o", 0), tensor.Shape{1, 2, 5, 5}, tensor.Shape{2, 3, 3, 2, 4}, tensor.Shape{2, 3, 3, 2, 4}},
		{"no whole panels", "nn.conv2d", conv("OHWI4o", 6), tensor.Shape{1, 2, 5, 5}, tensor.Shape{2, 3, 3, 2, 4}, tensor.Shape{2, 3, 3, 2, 4}},
		{"another order", "nn.conv2d", conv("HWOI", 0), tensor.Shape{1, 2, 5, 5}, tensor.Shape{3, 3, 6, 2}, tensor.Shape{3, 3, 2, 6}},
		{"dense", "nn.dense", &relay.DenseAttrs{WeightLayout: "NK4n", Units: 6}, tensor.Shape{3, 5}, tensor.Shape{2, 5, 4}, tensor.Shape{2, 5, 4}},
		{"dense in another order", "nn.dense", &relay.DenseAttrs{WeightLayout: "KN"}, tensor.Shape{3, 5}, tensor.Shape{5, 6}, tensor.Shape{1, 5, 8}},
	} {
		for _, p := range []Precision{{}, {Store: tensor.Float16}} {
			t.Run(x.name+" "+p.Store.String(), func(t *testing.T) {
				g := newGraph(t)
				m := g.module(g.call("nn.relu", nil, g.call(x.op, x.attrs, g.input("x", x.data...), g.weights(x.weight...))))
				host, err := target.Parse("x86-64-v3")
				require.NoError(t, err)
				after, err := Run(context.Background(), m, []Pass{{"assign", "", Assign}, {"pack-weights", "", PackWeights}},
					&Options{Ops: g.ops, Notes: &diag.Notes{}, Target: host, Candidates: both, Verify: true, Precision: p})
				require.NoError(t, err)
				nearAnswers(t, m, after, 8*tensor.Epsilon(tensor.Float16), x.name)
				for e := range relay.PostOrder(after.Main(), false) {
					if c, ok := is(e, x.op); ok {
						require.Equal(t, x.packed, relay.Tensor(c.Args[1]).Shape)
					}
				}
			})
		}
	}
}
