package pbqp

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// random returns a problem of n nodes with up to most labels, in which each pair of nodes has an edge with the given probability.
// Some costs are infinite, some equal.
func random(r *rand.Rand, n, most int, density, forbidden float64) *Problem {
	p := &Problem{}
	cost := func() float64 {
		switch x := r.Float64(); {
		case x < forbidden:
			return Infinite
		case x < forbidden+0.2:
			return float64(r.IntN(3))
		}
		return 10*r.Float64() - 2
	}
	for range n {
		costs := make([]float64, 1+r.IntN(most))
		for i := range costs {
			costs[i] = cost()
		}
		p.Node(costs...)
	}
	for u := range n {
		for v := range n {
			if u != v && r.Float64() < density/2 {
				p.Edge(u, v, func(i, j int) float64 { return cost() })
			}
		}
	}
	return p
}

// brute goes through all labellings.
func brute(p *Problem) float64 {
	best := math.Inf(1)
	labels := make([]int, p.Nodes())
	for {
		best = min(best, p.Cost(labels))
		v := 0
		for v < len(labels) {
			if labels[v]++; labels[v] < len(p.costs[v]) {
				break
			}
			labels[v] = 0
			v++
		}
		if v == len(labels) {
			return best
		}
	}
}

// TestSolveIsOptimal compares thousands of small problems with all their labellings.
func TestSolveIsOptimal(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	searched, infeasible := 0, 0
	for k := range 6000 {
		p := random(r, 1+r.IntN(8), 1+r.IntN(4), r.Float64(), []float64{0, 0, 0.1, 0.4}[k%4])
		if k%3 == 0 {
			p = random(r, 5+r.IntN(3), 4, 1, []float64{0, 0.1}[k%2])
		}
		want := brute(p)
		s, err := p.Solve(Options{})
		if math.IsInf(want, 1) {
			infeasible++
			var e *InfeasibleError
			require.ErrorAs(t, err, &e)
			require.Less(t, e.Node, p.Nodes())
			require.GreaterOrEqual(t, e.Node, 0)
			continue
		}
		require.NoError(t, err)
		require.InDelta(t, want, s.Cost, 1e-9, "problem %d", k)
		require.Equal(t, p.Cost(s.Labels), s.Cost)
		require.InDelta(t, want, s.Bound, 1e-6)
		require.Zero(t, s.Gap())
		if s.Stats.Searched > 0 {
			searched++
		}
	}
	require.Greater(t, searched, 500)
	require.Greater(t, infeasible, 100)
}

// TestSeriesParallelGraphsNeedNoSearch solves chains of diamonds, as networks of residual blocks are, of any size.
func TestSeriesParallelGraphsNeedNoSearch(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for _, blocks := range []int{1, 10, 5000} {
		p := &Problem{}
		node := func() int { return p.Node(r.Float64(), r.Float64(), r.Float64()) }
		edge := func(u, v int) { p.Edge(u, v, func(i, j int) float64 { return r.Float64() }) }
		last := node()
		for range blocks {
			a, b, c, join := node(), node(), node(), node()
			edge(last, a)
			edge(a, b)
			edge(b, join)
			edge(last, c)
			edge(c, join)
			edge(last, join)
			last = join
		}
		s, err := p.Solve(Options{})
		require.NoError(t, err)
		require.Zero(t, s.Stats.Searched)
		require.Zero(t, s.Stats.Visits)
		require.Equal(t, p.Nodes(), s.Stats.R0+s.Stats.RI+s.Stats.RII+s.Stats.Fixed)
		require.InDelta(t, s.Cost, s.Bound, 1e-6)
	}
}

// cut is a two-label problem with submodular edges, whose optimum is a minimal cut.
func cut(r *rand.Rand, n int, density float64) (*Problem, *network) {
	p, f := &Problem{}, newNetwork(n+2)
	source, sink := n, n+1
	for v := range n {
		a, b := 10*r.Float64(), 10*r.Float64()
		p.Node(a, b) // label 0 is the side of the source
		f.add(v, sink, a)
		f.add(source, v, b)
	}
	for u := range n {
		for v := range u {
			if r.Float64() >= density {
				continue
			}
			a, b := 5*r.Float64(), 5*r.Float64()
			p.Edge(u, v, func(i, j int) float64 {
				switch {
				case i == 0 && j == 1:
					return a
				case i == 1 && j == 0:
					return b
				}
				return 0
			})
			f.add(u, v, a)
			f.add(v, u, b)
		}
	}
	return p, f
}

// network is a graph of capacities; flow is Edmonds and Karp's algorithm.
type network struct{ capacity [][]float64 }

func newNetwork(n int) *network {
	f := &network{make([][]float64, n)}
	for v := range f.capacity {
		f.capacity[v] = make([]float64, n)
	}
	return f
}

func (f *network) add(u, v int, c float64) { f.capacity[u][v] += c }

func (f *network) flow(source, sink int) float64 {
	sum := 0.0
	for {
		from := make([]int, len(f.capacity))
		for v := range from {
			from[v] = -1
		}
		from[source] = source
		for queue := []int{source}; len(queue) > 0 && from[sink] < 0; queue = queue[1:] {
			for v, c := range f.capacity[queue[0]] {
				if c > 1e-12 && from[v] < 0 {
					from[v] = queue[0]
					queue = append(queue, v)
				}
			}
		}
		if from[sink] < 0 {
			return sum
		}
		least := math.Inf(1)
		for v := sink; v != source; v = from[v] {
			least = min(least, f.capacity[from[v]][v])
		}
		for v := sink; v != source; v = from[v] {
			f.capacity[from[v]][v] -= least
			f.capacity[v][from[v]] += least
		}
		sum += least
	}
}

// TestTwoLabelsAreAMinimalCut compares problems of two labels with submodular costs with maximal flows.
func TestTwoLabelsAreAMinimalCut(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for k := range 300 {
		n := 2 + r.IntN(40)
		p, f := cut(r, n, []float64{0.05, 0.2, 0.6}[k%3])
		s, err := p.Solve(Options{})
		require.NoError(t, err)
		require.InDelta(t, f.flow(n, n+1), s.Cost, 1e-6, "%d nodes", n)
		require.Zero(t, s.Gap())
	}
}

// TestBudget has problems that are too hard for the budget: the labels are legal, the gap is stated and true.
func TestBudget(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	for range 20 {
		p := random(r, 12, 3, 1, 0)
		want := brute(p)
		s, err := p.Solve(Options{Budget: 1})
		require.NoError(t, err)
		require.LessOrEqual(t, s.Bound, want+1e-9)
		require.GreaterOrEqual(t, s.Cost, want-1e-9)
	}
	hard := random(r, 120, 4, 1, 0)
	var costs []float64
	for _, budget := range []int{1, 2000, 20000} {
		s, err := hard.Solve(Options{Budget: budget})
		require.NoError(t, err)
		require.True(t, s.Stats.Exhausted)
		require.Positive(t, s.Gap())
		require.LessOrEqual(t, s.Stats.Visits, budget+120*121/2)
		require.Equal(t, hard.Cost(s.Labels), s.Cost)
		costs = append(costs, s.Cost)
	}
	require.LessOrEqual(t, costs[2], costs[0])
}

// TestStart keeps a labelling that the search does not improve.
func TestStart(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 10))
	p := random(r, 60, 4, 1, 0)
	good, err := p.Solve(Options{Budget: 20000})
	require.NoError(t, err)
	s, err := p.Solve(Options{Budget: 1, Start: good.Labels})
	require.NoError(t, err)
	require.LessOrEqual(t, s.Cost, good.Cost)
	small := random(r, 8, 3, 1, 0)
	best, err := small.Solve(Options{})
	require.NoError(t, err)
	again, err := small.Solve(Options{Start: best.Labels})
	require.NoError(t, err)
	require.Equal(t, best.Cost, again.Cost)
	require.Zero(t, again.Gap())
}

// TestEdges adds edges in both directions, several between the same nodes, and one from a node to itself.
func TestEdges(t *testing.T) {
	p := &Problem{}
	a, b := p.Node(0, 1), p.Node(0, 0, 5)
	p.Edge(a, b, func(i, j int) float64 { return float64(10*i + j) })
	p.Edge(b, a, func(j, i int) float64 { return float64(3 * (2 - j)) })
	p.Edge(b, b, func(i, j int) float64 { return float64(100 * i * (2 - j)) })
	require.Equal(t, 3, len(p.costs[b]))
	require.Equal(t, 10+1.0+1+3+100, p.Cost([]int{1, 1}))
	require.Equal(t, 2, p.Edges())
	s, err := p.Solve(Options{})
	require.NoError(t, err)
	require.Equal(t, []int{0, 0}, s.Labels)
	require.Equal(t, 6.0, s.Cost)
	p.Add(a, 0, Infinite)
	s, err = p.Solve(Options{})
	require.NoError(t, err)
	require.Equal(t, []int{1, 0}, s.Labels)
	require.Equal(t, 17.0, s.Cost)
}

// TestErrors has problems without an answer.
func TestErrors(t *testing.T) {
	apart := func(i, j int) float64 { return Infinite }
	for _, x := range []struct {
		name string
		make func(p *Problem) Options
		want string
	}{
		{"no label", func(p *Problem) Options { p.Node(1); p.Node(); return Options{} }, "no label of node 1 goes together with the others"},
		{"all forbidden", func(p *Problem) Options { p.Node(0); p.Node(Infinite, Infinite); return Options{} }, "no label of node 1 goes together with the others"},
		{"an edge forbids all", func(p *Problem) Options { p.Node(0, 1); p.Node(0, 2); p.Edge(0, 1, apart); return Options{} }, "no label of node 0 goes together with the others"},
		{"not a number", func(p *Problem) Options { p.Node(0, math.NaN()); return Options{} }, "label 1 of node 0 costs NaN"},
		{"minus infinity on an edge", func(p *Problem) Options {
			p.Node(0, 1)
			p.Node(0, 1, 2)
			p.Edge(0, 1, func(i, j int) float64 { return []float64{0, math.Inf(-1)}[i*j/2] })
			return Options{}
		}, "label 1 of node 0 with label 2 of node 1 costs -Inf"},
		{"budget", func(p *Problem) Options { p.Node(0); return Options{Budget: -1} }, "a budget of -1 visits"},
		{"start of another problem", func(p *Problem) Options { p.Node(0); return Options{Start: []int{0, 0}} }, "2 labels to start from, for 1 nodes"},
		{"start with another label", func(p *Problem) Options { p.Node(0); return Options{Start: []int{1}} }, "label 1 to start from, of 1 of node 0"},
	} {
		p := &Problem{}
		_, err := p.Solve(x.make(p))
		require.EqualError(t, err, x.want, x.name)
	}
}

// TestUncolourable forbids all labellings, which only the search finds: five nodes that must all differ have four labels.
func TestUncolourable(t *testing.T) {
	p := &Problem{}
	for range 5 {
		p.Node(0, 1, 2, 3)
	}
	for u := range 5 {
		for v := range u {
			p.Edge(u, v, func(i, j int) float64 {
				if i == j {
					return Infinite
				}
				return 0
			})
		}
	}
	_, err := p.Solve(Options{})
	var e *InfeasibleError
	require.ErrorAs(t, err, &e)
	_, err = p.Solve(Options{Budget: 1})
	var b *BudgetError
	require.ErrorAs(t, err, &b)
	require.EqualError(t, err, "no labelling of finite cost was found in 1 visits")
}

// TestSameEveryTime solves one problem twice.
func TestSameEveryTime(t *testing.T) {
	p := random(rand.New(rand.NewPCG(11, 12)), 30, 4, 0.5, 0)
	a, err := p.Solve(Options{})
	require.NoError(t, err)
	b, err := p.Solve(Options{})
	require.NoError(t, err)
	require.Equal(t, a, b)
}

// TestStar has a node with very many neighbours, each with one other neighbour.
func TestStar(t *testing.T) {
	p := &Problem{}
	r := rand.New(rand.NewPCG(13, 14))
	hub, last := p.Node(0, 1), p.Node(0, 1)
	for range 20000 {
		v := p.Node(r.Float64(), r.Float64())
		p.Edge(hub, v, func(i, j int) float64 { return r.Float64() })
		p.Edge(v, last, func(i, j int) float64 { return r.Float64() })
	}
	s, err := p.Solve(Options{})
	require.NoError(t, err)
	require.Zero(t, s.Stats.Searched)
	require.InDelta(t, s.Cost, s.Bound, 1e-6)
}
