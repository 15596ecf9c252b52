package pbqp

import (
	"math"
	"slices"
)

// graph is a problem while it is taken apart. Its nodes have numbers of their own; names are those of the problem.
type graph struct {
	names []int
	costs [][]float64
	ids   [][]int // the problem's labels that a node has left
	edges [][]*edge
	deg   []int
	live  int
	gone  []bool
	base  float64  // what is paid whatever the labels of the nodes that are left
	trail []record // nodes removed, in order
	queue []int    // nodes to look at
	dead  int      // the problem's node that has no label left, or -1
	stats Stats
}

// edge has the costs of u's labels, the rows, with v's.
type edge struct {
	u, v int
	m    []float64
	gone bool
}

// record is what it takes to label a removed node once its neighbours are labelled.
type record struct {
	node  int
	costs []float64
	ids   []int
	edges []*edge
	other [][]int // the labels that the other end of each edge had
}

func newGraph(p *Problem) *graph {
	n := len(p.costs)
	g := emptyGraph(n)
	for v, costs := range p.costs {
		g.names[v] = v
		g.costs[v] = append([]float64(nil), costs...)
		g.ids[v] = make([]int, len(costs))
		for i := range costs {
			g.ids[v][i] = i
		}
		g.queue = append(g.queue, v)
	}
	for _, e := range p.edges {
		g.join(e.u, e.v, append([]float64(nil), e.m...))
	}
	return g
}

func emptyGraph(n int) *graph {
	return &graph{names: make([]int, n), costs: make([][]float64, n), ids: make([][]int, n), edges: make([][]*edge, n),
		deg: make([]int, n), gone: make([]bool, n), live: n, dead: -1}
}

// index returns where the matrix has label i of v with label j of the other end.
func (e *edge) index(g *graph, v, i, j int) int {
	if e.u == v {
		return i*len(g.costs[e.v]) + j
	}
	return j*len(g.costs[e.v]) + i
}

func (e *edge) at(g *graph, v, i, j int) float64 { return e.m[e.index(g, v, i, j)] }

func (e *edge) other(v int) int { return e.u + e.v - v }

// around returns the edges of v, and forgets those that are gone.
func (g *graph) around(v int) []*edge {
	list := g.edges[v]
	if len(list) == g.deg[v] {
		return list
	}
	kept := list[:0]
	for _, e := range list {
		if !e.gone {
			kept = append(kept, e)
		}
	}
	g.edges[v] = kept
	return kept
}

// between returns the edge of two nodes, or nil.
func (g *graph) between(u, v int) *edge {
	if g.deg[u] > g.deg[v] {
		u, v = v, u
	}
	for _, e := range g.around(u) {
		if e.other(u) == v {
			return e
		}
	}
	return nil
}

// join adds the matrix m, u's labels the rows, to the edge of two nodes.
func (g *graph) join(u, v int, m []float64) {
	e := g.between(u, v)
	if e == nil {
		e = &edge{u: u, v: v, m: m}
		g.edges[u], g.edges[v] = append(g.around(u), e), append(g.around(v), e)
		g.deg[u]++
		g.deg[v]++
	} else {
		nu, nv := len(g.costs[u]), len(g.costs[v])
		for i := range nu {
			for j := range nv {
				if e.u == u {
					e.m[i*nv+j] += m[i*nv+j]
				} else {
					e.m[j*nu+i] += m[i*nv+j]
				}
			}
		}
	}
	g.settle(e)
}

// settle moves what is common to the rows and the columns of an edge to its nodes, and drops the edge when nothing is left.
func (g *graph) settle(e *edge) {
	nu, nv := len(g.costs[e.u]), len(g.costs[e.v])
	large := 1.0
	for _, c := range e.m {
		if !math.IsInf(c, 1) {
			large = max(large, math.Abs(c))
		}
	}
	for i := range nu {
		row := e.m[i*nv : (i+1)*nv]
		g.costs[e.u][i] += takeLeast(len(row), func(j int) *float64 { return &row[j] })
	}
	for j := range nv {
		g.costs[e.v][j] += takeLeast(nu, func(i int) *float64 { return &e.m[i*nv+j] })
	}
	g.queue = append(g.queue, e.u, e.v)
	for _, c := range e.m {
		if c > 1e-13*large {
			return
		}
	}
	g.drop(e)
}

// takeLeast subtracts the least of n numbers from all of them and returns it; infinite ones become 0 when all are.
func takeLeast(n int, at func(int) *float64) float64 {
	least := math.Inf(1)
	for k := range n {
		least = min(least, *at(k))
	}
	for k := range n {
		switch c := at(k); {
		case math.IsInf(least, 1):
			*c = 0
		case !math.IsInf(*c, 1):
			*c -= least
		}
	}
	return least
}

func (g *graph) drop(e *edge) {
	e.gone = true
	g.deg[e.u]--
	g.deg[e.v]--
}

// keep leaves a node only the labels for which stays holds.
func (g *graph) keep(v int, stays func(i int) bool) {
	var left []int
	for i := range g.costs[v] {
		if stays(i) {
			left = append(left, i)
		}
	}
	if len(left) == len(g.costs[v]) {
		return
	}
	costs, ids := make([]float64, len(left)), make([]int, len(left))
	for k, i := range left {
		costs[k], ids[k] = g.costs[v][i], g.ids[v][i]
	}
	for _, e := range g.around(v) {
		o := e.other(v)
		n := len(g.costs[o])
		m := make([]float64, len(left)*n)
		for k, i := range left {
			for j := range n {
				if c := e.at(g, v, i, j); e.u == v {
					m[k*n+j] = c
				} else {
					m[j*len(left)+k] = c
				}
			}
		}
		e.m = m
	}
	g.costs[v], g.ids[v] = costs, ids
	g.queue = append(g.queue, v)
	for _, e := range append([]*edge(nil), g.around(v)...) {
		g.settle(e)
	}
	if len(left) == 0 && g.dead < 0 {
		g.dead = g.names[v]
	}
}

// remove takes v out of the graph; its label follows from those of its neighbours.
func (g *graph) remove(v int) {
	r := record{node: v, costs: g.costs[v], ids: g.ids[v], edges: append([]*edge(nil), g.around(v)...)}
	for _, e := range r.edges {
		r.other = append(r.other, g.ids[e.other(v)])
		g.drop(e)
		g.queue = append(g.queue, e.other(v))
	}
	g.trail = append(g.trail, r)
	g.gone[v] = true
	g.live--
}

// reduce removes nodes and labels as long as that loses nothing.
func (g *graph) reduce() {
	for g.drain(); g.dead < 0 && g.prune(); {
		g.drain()
	}
}

// drain looks at the nodes that something has changed for, until nothing changes.
func (g *graph) drain() {
	for len(g.queue) > 0 && g.dead < 0 {
		v := g.queue[len(g.queue)-1]
		g.queue = g.queue[:len(g.queue)-1]
		if !g.gone[v] {
			g.look(v)
		}
	}
}

// look removes a node that has one label left, or at most two neighbours.
func (g *graph) look(v int) {
	g.keep(v, func(i int) bool { return !math.IsInf(g.costs[v][i], 1) })
	switch {
	case g.dead >= 0 || g.gone[v]:
	case len(g.costs[v]) == 1:
		g.fix(v)
	case g.deg[v] == 0:
		g.base += slices.Min(g.costs[v])
		g.remove(v)
		g.stats.R0++
	case g.deg[v] == 1:
		g.foldOne(v)
		g.stats.RI++
	case g.deg[v] == 2:
		g.foldTwo(v)
		g.stats.RII++
	}
}

// fix removes a node that has one label: its neighbours pay the row of that label.
func (g *graph) fix(v int) {
	g.base += g.costs[v][0]
	for _, e := range g.around(v) {
		o := e.other(v)
		for j := range g.costs[o] {
			g.costs[o][j] += e.at(g, v, 0, j)
		}
	}
	g.remove(v)
	g.stats.Fixed++
}

// foldOne is RI: each label of the neighbour pays the best answer of v.
func (g *graph) foldOne(v int) {
	e := g.around(v)[0]
	o := e.other(v)
	for j := range g.costs[o] {
		least := math.Inf(1)
		for i, c := range g.costs[v] {
			least = min(least, c+e.at(g, v, i, j))
		}
		g.costs[o][j] += least
	}
	g.remove(v)
}

// foldTwo is RII: each pair of labels of the neighbours pays the best answer of v.
func (g *graph) foldTwo(v int) {
	list := g.around(v)
	e, f := list[0], list[1]
	a, b := e.other(v), f.other(v)
	n := len(g.costs[b])
	m := make([]float64, len(g.costs[a])*n)
	for j := range g.costs[a] {
		for k := range n {
			least := math.Inf(1)
			for i, c := range g.costs[v] {
				least = min(least, c+e.at(g, v, i, j)+f.at(g, v, i, k))
			}
			m[j*n+k] = least
		}
	}
	g.remove(v)
	g.join(a, b, m)
}

// prune removes labels that another label of their node is never worse than, and reports whether there were any.
func (g *graph) prune() bool {
	found := false
	for v := range g.costs {
		if g.gone[v] {
			continue
		}
		worse := make([]bool, len(g.costs[v]))
		any := false
		for i := len(worse) - 1; i >= 0; i-- {
			for j := range worse {
				if j != i && !worse[j] && g.neverWorse(v, j, i) {
					worse[i], any = true, true
					break
				}
			}
		}
		if any {
			found = true
			before := len(g.costs[v])
			g.keep(v, func(i int) bool { return !worse[i] })
			g.stats.Dominated += before - len(g.costs[v])
		}
	}
	return found
}

// neverWorse reports whether label a of v costs at most what label b does, whatever the neighbours' labels.
func (g *graph) neverWorse(v, a, b int) bool {
	most := g.costs[v][a] - g.costs[v][b]
	for _, e := range g.around(v) {
		apart := math.Inf(-1)
		for j := range g.costs[e.other(v)] {
			if cb := e.at(g, v, b, j); !math.IsInf(cb, 1) {
				apart = max(apart, e.at(g, v, a, j)-cb)
			}
		}
		if math.IsInf(apart, 1) {
			return false
		}
		most += apart
	}
	return most <= 0
}

// label gives the removed nodes their labels, the last one first; the others have theirs. labels are by the problem's nodes.
func (g *graph) label(labels []int) {
	for k := len(g.trail) - 1; k >= 0; k-- {
		r := g.trail[k]
		best, least := 0, math.Inf(1)
		for i, c := range r.costs {
			for n, e := range r.edges {
				j := slices.Index(r.other[n], labels[g.names[e.other(r.node)]])
				if e.u == r.node {
					c += e.m[i*len(r.other[n])+j]
				} else {
					c += e.m[j*len(r.costs)+i]
				}
			}
			if c < least {
				best, least = i, c
			}
		}
		labels[g.names[r.node]] = r.ids[best]
	}
}
