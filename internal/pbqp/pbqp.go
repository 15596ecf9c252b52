// Package pbqp solves partitioned boolean quadratic problems: each node takes one of its labels, at a cost of the node's
// own and one for each edge, and the sum is to be least:
//
//	minimise Σ_v c_v(x_v) + Σ_(u,v) M_uv(x_u, x_v)
//
// An infinite cost forbids a label or a pair of labels.
//
// Nodes of degree 0, 1 and 2 are removed without loss (R0, RI and RII), which solves every series-parallel graph; so are
// labels that another label of their node is never worse than, and edges whose matrix is a sum of a row and a column. What is left is
// searched, connected part by connected part: branch and bound, whose bound is that of costs moved between nodes and edges
// until no move helps (max-sum diffusion). The search has a budget; behind it, the best labels found are returned with the
// gap to the bound.
//
// The reductions are those of B. Scholz and E. Eckstein, "Register allocation for irregular architectures", LCTES 2002;
// instead of their heuristic for the rest the search follows L. Hames and B. Scholz, "Nearly optimal register allocation
// with PBQP", JMLC 2006. Diffusion: T. Werner, "A linear programming approach to max-sum problem: a review", PAMI 2007.
package pbqp

import (
	"fmt"
	"math"
)

// Problem is a set of nodes with labels, and edges with matrices of costs. The zero value has none.
type Problem struct {
	costs [][]float64
	edges []pair
}

// pair is the matrix of one edge: m[i·n+j] is the cost of label i of u with label j of v, which has n labels.
type pair struct {
	u, v int
	m    []float64
}

// Infinite forbids a label, or a pair of labels.
var Infinite = math.Inf(1)

// Node adds a node with a cost for each label, and returns its number: 0, 1, 2, …
func (p *Problem) Node(costs ...float64) int {
	p.costs = append(p.costs, append([]float64(nil), costs...))
	return len(p.costs) - 1
}

// Nodes returns the number of nodes.
func (p *Problem) Nodes() int { return len(p.costs) }

// Edges returns the number of edges, those between the same two nodes counted one by one.
func (p *Problem) Edges() int { return len(p.edges) }

// Add adds c to the cost of a label.
func (p *Problem) Add(node, label int, c float64) { p.costs[node][label] += c }

// Edge adds an edge between two nodes; cost(i, j) is that of label i of u with label j of v. Edges between the same two
// nodes add up; one from a node to itself adds cost(i, i) to its labels.
func (p *Problem) Edge(u, v int, cost func(i, j int) float64) {
	if u == v {
		for i := range p.costs[u] {
			p.costs[u][i] += cost(i, i)
		}
		return
	}
	n := len(p.costs[v])
	m := make([]float64, len(p.costs[u])*n)
	for i := range p.costs[u] {
		for j := range n {
			m[i*n+j] = cost(i, j)
		}
	}
	p.edges = append(p.edges, pair{u, v, m})
}

// Cost returns what a labelling costs, one label a node.
func (p *Problem) Cost(labels []int) float64 {
	sum := 0.0
	for v, i := range labels {
		sum += p.costs[v][i]
	}
	for _, e := range p.edges {
		sum += e.m[labels[e.u]*len(p.costs[e.v])+labels[e.v]]
	}
	return sum
}

// Alternatives returns, for each node, what each of its labels costs by itself and with its neighbours, while these keep
// theirs.
func (p *Problem) Alternatives(labels []int) [][]float64 {
	all := make([][]float64, len(p.costs))
	for v, costs := range p.costs {
		all[v] = append([]float64(nil), costs...)
	}
	for _, e := range p.edges {
		n := len(p.costs[e.v])
		for i := range p.costs[e.u] {
			all[e.u][i] += e.m[i*n+labels[e.v]]
		}
		for j := range n {
			all[e.v][j] += e.m[labels[e.u]*n+j]
		}
	}
	return all
}

// Options of Solve.
type Options struct {
	// Budget is how many nodes and edges the search may visit, those of a part counted each time that its bound is computed;
	// 0 is DefaultBudget. Reductions are free, and so is the labelling that is made when nothing is left of the budget.
	Budget int
	// Start is a labelling that the result must not be worse than; nil: none is known.
	Start []int
}

// DefaultBudget is about half a second.
const DefaultBudget = 1 << 18

// Solution is the result of Solve.
type Solution struct {
	Labels []int
	Cost   float64 // of the labels
	Bound  float64 // no labelling costs less; as Cost, except for rounding, when the labels are optimal
	Stats  Stats
}

// Stats says how a problem was solved.
type Stats struct {
	R0, RI, RII int // nodes removed by degree before the search
	Fixed       int // nodes that had one label left
	Dominated   int // labels that another one was never worse than
	Searched    int // nodes left to the search
	Visits      int // of the search, as Options.Budget counts them
	Exhausted   bool
}

// Gap is how much more the labels cost at most than the best ones; 0 when they are optimal.
func (s *Solution) Gap() float64 {
	if gap := s.Cost - s.Bound; gap > slack(s.Cost) {
		return gap
	}
	return 0
}

// slack is what costs of size c may be apart by rounding alone.
func slack(c float64) float64 { return 1e-9 * max(1, math.Abs(c)) }

// InfeasibleError says that no labelling has a finite cost: every label of Node is forbidden by others.
type InfeasibleError struct{ Node int }

// Error names the node by its number.
func (e *InfeasibleError) Error() string {
	return fmt.Sprintf("no label of node %d goes together with the others", e.Node)
}

// BudgetError says that the search ended before it found any labelling of finite cost.
type BudgetError struct{ Budget int }

// Error names the budget.
func (e *BudgetError) Error() string {
	return fmt.Sprintf("no labelling of finite cost was found in %d visits", e.Budget)
}

// check refuses costs that are no numbers, and nodes without labels.
func (p *Problem) check(o Options) error {
	wrong := func(c float64) bool { return math.IsNaN(c) || math.IsInf(c, -1) }
	for v, costs := range p.costs {
		if len(costs) == 0 {
			return &InfeasibleError{v}
		}
		for i, c := range costs {
			if wrong(c) {
				return fmt.Errorf("label %d of node %d costs %v", i, v, c)
			}
		}
	}
	for _, e := range p.edges {
		for k, c := range e.m {
			if n := len(p.costs[e.v]); wrong(c) {
				return fmt.Errorf("label %d of node %d with label %d of node %d costs %v", k/n, e.u, k%n, e.v, c)
			}
		}
	}
	if o.Budget < 0 {
		return fmt.Errorf("a budget of %d visits", o.Budget)
	}
	if o.Start != nil && len(o.Start) != len(p.costs) {
		return fmt.Errorf("%d labels to start from, for %d nodes", len(o.Start), len(p.costs))
	}
	for v, i := range o.Start {
		if i < 0 || i >= len(p.costs[v]) {
			return fmt.Errorf("label %d to start from, of %d of node %d", i, len(p.costs[v]), v)
		}
	}
	return nil
}

// Solve returns labels of least cost, or the best that the budget allows. It is deterministic. Errors: *InfeasibleError
// when there are none, *BudgetError when none was found, others for a problem that is not well formed.
func (p *Problem) Solve(o Options) (*Solution, error) {
	if err := p.check(o); err != nil {
		return nil, err
	}
	if o.Budget == 0 {
		o.Budget = DefaultBudget
	}
	best := math.Inf(1)
	if o.Start != nil {
		best = p.Cost(o.Start)
	}
	s := &search{budget: o.Budget, infeasible: -1}
	g := newGraph(p)
	labels := make([]int, len(p.costs))
	r := s.solve(g, best, labels)
	sol := &Solution{Labels: labels, Cost: math.Inf(1), Stats: g.stats}
	sol.Stats.Visits, sol.Stats.Exhausted = s.visits, s.exhausted()
	if !math.IsInf(r.cost, 1) {
		sol.Cost = p.Cost(labels)
	}
	switch {
	case best < sol.Cost: // what costs no less than the start was not looked for
		sol.Labels, sol.Cost = append([]int(nil), o.Start...), best
	case !math.IsInf(sol.Cost, 1):
	case s.exhausted():
		return nil, &BudgetError{o.Budget}
	default:
		return nil, &InfeasibleError{s.infeasible}
	}
	sol.Bound = min(r.bound, sol.Cost)
	return sol, nil
}
