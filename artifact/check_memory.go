package artifact

import (
	"cmp"
	"slices"
)

// cells is the abstract memory: each space is cut where a tensor starts or ends, and each piece holds the index of
// the tensor that was last written there, or nothing.
type cells struct {
	lo, hi []int32 // tensor → its range of cells
	count  int
}

const (
	nothing = int32(-1)
	mixed   = int32(-2) // different things on different paths
)

// cut makes the cells.
func (c *checker) cut() {
	n := len(c.plan.Tensors)
	type edge struct {
		space int32
		at    int64
	}
	edges := make([]edge, 0, 2*n)
	for t := range n {
		lo, hi := c.span(t)
		edges = append(edges, edge{c.space[t], lo}, edge{c.space[t], hi})
	}
	order := func(a, b edge) int { return cmp.Or(cmp.Compare(a.space, b.space), cmp.Compare(a.at, b.at)) }
	slices.SortFunc(edges, order)
	edges = slices.Compact(edges)
	c.cells = cells{lo: make([]int32, n), hi: make([]int32, n), count: len(edges)}
	for t := range n {
		lo, hi := c.span(t)
		a, _ := slices.BinarySearchFunc(edges, edge{c.space[t], lo}, order)
		b, _ := slices.BinarySearchFunc(edges, edge{c.space[t], hi}, order)
		c.cells.lo[t], c.cells.hi[t] = int32(a), int32(b)
	}
}

// memory walks the launches over the abstract memory.
func (c *checker) memory() error {
	c.cut()
	state := make([]int32, c.cells.count)
	for i := range state {
		state[i] = nothing
	}
	for t := range c.plan.Tensors {
		if c.fixed[t] && int(c.root[t]) == t {
			c.store(state, t)
		}
	}
	if err := c.walk(state, 0, len(c.steps)); err != nil {
		return err
	}
	for _, out := range c.plan.Outputs {
		if err := c.load(state, c.tensor[out.Tensor], "output", out.Name); err != nil {
			return err
		}
		for _, e := range out.Extent {
			if err := c.load(state, c.tensor[e.Tensor], "extent of output", out.Name); err != nil {
				return err
			}
		}
	}
	return nil
}

// walk runs the steps from, up to but without to, on state.
func (c *checker) walk(state []int32, from, to int) error {
	for at := from; at < to; at = c.steps[at].End {
		s := c.steps[at]
		l := s.Launch
		for _, r := range l.Reads {
			if err := c.load(state, c.tensor[r], "launch", l.Name); err != nil {
				return err
			}
		}
		if l.Control != nil {
			if err := c.control(state, s); err != nil {
				return err
			}
			continue
		}
		for _, w := range l.Writes {
			c.store(state, c.tensor[w])
		}
		if c.work > maxWork {
			return bad(l.Name, "plan is too intricate to be checked")
		}
	}
	return nil
}

// control runs both branches of an if, or a loop until nothing changes, and keeps what holds on every path.
func (c *checker) control(state []int32, s Step) error {
	k := s.Launch.Control
	if c.work += 3 * len(state); c.work > maxWork {
		return bad(s.Launch.Name, "plan is too intricate to be checked")
	}
	if k.Kind == If {
		other := slices.Clone(state)
		if err := c.walk(state, s.Pos+1, s.Split); err != nil {
			return err
		}
		if err := c.walk(other, s.Split, s.End); err != nil {
			return err
		}
		meet(state, other)
		return nil
	}
	for {
		turn := slices.Clone(state)
		for _, r := range s.Launch.Reads {
			if r == k.Cond {
				if err := c.load(turn, c.tensor[r], "loop", s.Launch.Name); err != nil {
					return err
				}
			}
		}
		if k.Iter != "" {
			c.store(turn, c.tensor[k.Iter])
		}
		if err := c.walk(turn, s.Pos+1, s.End); err != nil {
			return err
		}
		if !meet(state, turn) {
			break
		}
		if c.work += 3 * len(state); c.work > maxWork {
			return bad(s.Launch.Name, "plan is too intricate to be checked")
		}
	}
	if k.Count != "" {
		c.store(state, c.tensor[k.Count])
	}
	return nil
}

// meet keeps in a what a and b agree on, and reports whether a changed.
func meet(a, b []int32) (changed bool) {
	for i := range a {
		if a[i] != b[i] && a[i] != mixed {
			a[i], changed = mixed, true
		}
	}
	return changed
}

func (c *checker) store(state []int32, t int) {
	lo, hi := c.cells.lo[t], c.cells.hi[t]
	c.work += int(hi - lo)
	for i := lo; i < hi; i++ {
		state[i] = int32(t)
	}
}

// load checks that every cell of t holds t, or a tensor of the same memory that makes up a part of it; a tensor that
// no launch writes by name is a view and may hold any tensor of the same memory.
func (c *checker) load(state []int32, t int, what, who string) error {
	lo, hi := c.cells.lo[t], c.cells.hi[t]
	c.work += int(hi - lo)
	own := c.owned[t] || c.fixed[t] && int(c.root[t]) == t
	for i := lo; i < hi; i++ {
		w := state[i]
		if w == int32(t) {
			continue
		}
		name := c.plan.Tensors[t].Name
		if w == nothing {
			return bad(who, "%s reads %s before it is written", what, name)
		}
		if w == mixed {
			return bad(who, "%s reads %s, which is not there on every path", what, name)
		}
		part := c.cells.lo[w] >= lo && c.cells.hi[w] <= hi && hi-lo > c.cells.hi[w]-c.cells.lo[w]
		if c.root[w] != c.root[t] || own && !part {
			return bad(who, "%s reads %s, over which %s was written", what, name, c.plan.Tensors[w].Name)
		}
	}
	return nil
}
