package pbqp

import (
	"cmp"
	"math"
	"slices"
)

// search is one call of Solve.
type search struct {
	budget, visits int
	infeasible     int // the first node that was found to have no label, or -1
}

func (s *search) exhausted() bool { return s.visits > s.budget }

// result is what is known of a graph: the cost of the labelling found, infinite when there is none, and a bound of every
// labelling's cost. Where the bound reaches the limit of the call the cost may be infinite though there are labellings.
type result struct{ cost, bound float64 }

// useful is what a labelling must cost less than to be better than one that costs limit.
func useful(limit float64) float64 {
	if math.IsInf(limit, 1) {
		return limit
	}
	return limit - slack(limit)
}

// solve labels the nodes of g, which it consumes; labellings that cost limit or more are of no use.
func (s *search) solve(g *graph, limit float64, labels []int) result {
	g.reduce()
	if g.dead >= 0 {
		if s.infeasible < 0 {
			s.infeasible = g.dead
		}
		return result{math.Inf(1), math.Inf(1)}
	}
	g.stats.Searched = g.live
	if s.exhausted() {
		return g.dive(labels)
	}
	parts := g.parts()
	bound := g.base
	for _, c := range parts {
		s.visits += c.size()
		c.diffuse()
		bound += c.bound()
	}
	r := result{g.base, g.base}
	for _, c := range parts {
		own := c.bound()
		if bound >= useful(limit) {
			return result{math.Inf(1), bound}
		}
		// The other parts cost their bounds at least.
		found := s.branch(c, limit-(bound-own), labels)
		r.cost += found.cost
		r.bound += found.bound
		bound += found.bound - own
		if math.IsInf(found.cost, 1) {
			return result{math.Inf(1), bound}
		}
	}
	g.label(labels)
	return r
}

// dive labels what is left of g by taking the most promising label of one node after the other.
func (g *graph) dive(labels []int) result {
	r := result{math.Inf(1), g.bound()}
	for g.live > 0 {
		v := g.busiest()
		best := g.promising(v)[0]
		g.keep(v, func(i int) bool { return i == best })
		g.drain()
		if g.dead >= 0 {
			return r
		}
	}
	r.cost = g.base
	g.label(labels)
	return r
}

// branch searches a connected part of which no node has fewer than three neighbours: it fixes the node with the most of
// them to each of its labels in turn, the most promising one first. Without budget it takes that one only.
func (s *search) branch(c *graph, limit float64, labels []int) result {
	lowest := c.bound()
	if c.cut(lowest, limit) {
		r := s.solve(c, limit, labels)
		return result{r.cost, min(r.bound, max(lowest, limit))}
	}
	v := c.busiest()
	r := result{math.Inf(1), math.Inf(1)}
	var best []int
	order := c.promising(v)
	for n, i := range order {
		last := n == len(order)-1 || s.exhausted()
		child := c
		if !last {
			child = c.clone()
		}
		child.keep(v, func(k int) bool { return k == i })
		found := s.solve(child, min(limit, r.cost), labels)
		r.bound = min(r.bound, found.bound)
		if found.cost < r.cost {
			r.cost, best = found.cost, c.take(labels)
		}
		if last && n < len(order)-1 {
			r.bound = lowest // the other labels were not looked at
			break
		}
	}
	c.give(best, labels)
	r.bound = min(r.cost, max(r.bound, lowest))
	return r
}

// cut removes labels with which every labelling costs limit or more, and reports whether there were any.
func (g *graph) cut(lowest, limit float64) bool {
	found := false
	for v := range g.costs {
		if g.gone[v] {
			continue
		}
		room := useful(limit) - lowest + slices.Min(g.costs[v])
		n := len(g.costs[v])
		g.keep(v, func(i int) bool { return g.costs[v][i] < room })
		if found = found || len(g.costs[v]) < n; g.dead >= 0 {
			break
		}
	}
	return found
}

// take returns the labels of the nodes of g, give writes them back.
func (g *graph) take(labels []int) []int {
	list := make([]int, len(g.names))
	for v, name := range g.names {
		list[v] = labels[name]
	}
	return list
}

func (g *graph) give(list, labels []int) {
	for v, i := range list {
		labels[g.names[v]] = i
	}
}

// busiest returns the node with the most neighbours.
func (g *graph) busiest() int {
	best := -1
	for v := range g.costs {
		if !g.gone[v] && (best < 0 || g.deg[v] > g.deg[best]) {
			best = v
		}
	}
	return best
}

// promising returns the labels of v by what they cost with the best answers of its neighbours.
func (g *graph) promising(v int) []int {
	order := make([]int, len(g.costs[v]))
	price := append([]float64(nil), g.costs[v]...)
	for i := range order {
		order[i] = i
		for _, e := range g.around(v) {
			o := e.other(v)
			least := math.Inf(1)
			for j, c := range g.costs[o] {
				least = min(least, c+e.at(g, v, i, j))
			}
			price[i] += least
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(price[a], price[b]) })
	return order
}

// size is the number of nodes and edges.
func (g *graph) size() int {
	n := 0
	for v, d := range g.deg {
		if !g.gone[v] {
			n += d
		}
	}
	return g.live + n/2
}

// clone returns a copy of a part, which has no trail yet.
func (g *graph) clone() *graph { return g.part(g.alive()) }

func (g *graph) alive() []int {
	var list []int
	for v := range g.costs {
		if !g.gone[v] {
			list = append(list, v)
		}
	}
	return list
}

// part returns a copy of the given nodes and the edges between them; nothing has been looked at there.
func (g *graph) part(nodes []int) *graph {
	c := emptyGraph(len(nodes))
	at := make(map[int]int, len(nodes))
	for k, v := range nodes {
		at[v] = k
		c.names[k], c.costs[k], c.ids[k] = g.names[v], slices.Clone(g.costs[v]), g.ids[v]
	}
	for k, v := range nodes {
		for _, e := range g.around(v) {
			if e.u != v {
				continue
			}
			o := at[e.v]
			n := &edge{u: k, v: o, m: slices.Clone(e.m)}
			c.edges[k], c.edges[o] = append(c.edges[k], n), append(c.edges[o], n)
			c.deg[k]++
			c.deg[o]++
		}
		c.queue = append(c.queue, k)
	}
	return c
}

// parts returns the connected parts of what is left, each a graph of its own.
func (g *graph) parts() []*graph {
	seen := make([]bool, len(g.costs))
	var list []*graph
	for _, v := range g.alive() {
		if seen[v] {
			continue
		}
		seen[v] = true
		nodes := []int{v}
		for k := 0; k < len(nodes); k++ {
			for _, e := range g.around(nodes[k]) {
				if o := e.other(nodes[k]); !seen[o] {
					seen[o] = true
					nodes = append(nodes, o)
				}
			}
		}
		slices.Sort(nodes)
		list = append(list, g.part(nodes))
	}
	return list
}

// bound returns what every labelling of g costs at least: each node and each edge its own least cost. The rows and columns of
// edges have been settled, so that those of edges are 0.
func (g *graph) bound() float64 {
	sum := g.base
	for v, costs := range g.costs {
		if !g.gone[v] && len(costs) > 0 {
			sum += slices.Min(costs)
		}
	}
	return sum
}

// mostSweeps bounds the sweeps of one diffusion.
const mostSweeps = 24

// diffuse moves costs between nodes and edges, which changes no labelling's cost, so that bound grows: a node takes from
// each of its edges what a label costs there at least, and shares the sum evenly between itself and them.
func (g *graph) diffuse() {
	last := g.bound()
	for range mostSweeps {
		for v := range g.costs {
			if !g.gone[v] {
				g.share(v)
			}
		}
		now := g.spread()
		if now-last <= 1e-4*max(1e-9, math.Abs(last)) {
			break
		}
		last = now
	}
	for v := range g.costs {
		for _, e := range slices.Clone(g.around(v)) {
			if e.u == v {
				g.settle(e)
			}
		}
	}
}

// share is one node's part of a sweep.
func (g *graph) share(v int) {
	list := g.around(v)
	rows := make([]float64, len(list))
	for i := range g.costs[v] {
		total := g.costs[v][i]
		for n, e := range list {
			rows[n] = math.Inf(1)
			for j := range g.costs[e.other(v)] {
				rows[n] = min(rows[n], e.at(g, v, i, j))
			}
			total += rows[n]
		}
		if math.IsInf(total, 1) {
			continue
		}
		each := total / float64(len(list)+1)
		g.costs[v][i] = each
		for n, e := range list {
			for j := range g.costs[e.other(v)] {
				e.m[e.index(g, v, i, j)] += each - rows[n]
			}
		}
	}
}

// spread is bound while edges are not settled.
func (g *graph) spread() float64 {
	sum := g.bound()
	for v := range g.costs {
		for _, e := range g.around(v) {
			if e.u == v {
				sum += slices.Min(e.m)
			}
		}
	}
	return sum
}
