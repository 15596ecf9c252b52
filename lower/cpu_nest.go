package lower

import (
	"slices"

	"github.com/texel-ml/texel/schedule"
	"github.com/texel-ml/texel/schedule/te"
	"github.com/texel-ml/texel/tir"
)

// member is a stage that is computed inside the nest of the result.
type member struct {
	st      *te.Tensor
	block   schedule.Block
	buf     *tir.Buffer
	axis    []int // for each axis of the stage, the axis of the result that it is, or -1
	extents []int // what one part of the result needs of each axis
	reduces bool
	acc     schedule.Block   // registers that a reduction fills before block copies them
	partial []schedule.Block // what rfactor made, the first is computed first
}

// nestPlan is a result and the stages that it is made of, in order of computation.
type nestPlan struct {
	out     schedule.Block
	def     *tir.Block
	shape   []int
	members []*member
	common  []bool // the axes of the result that all members share
	last    int    // the last axis longer than 1, or -1
	vector  int    // how many elements along it are computed together
	side    int    // an axis that is walked in squares with it, or -1
}

// group makes one nest of a result and the stages that it is made of, in order of computation.
func (p *plain) group(out *te.Tensor, stages []*te.Tensor) {
	if len(out.Shape()) == 0 && out.ReduceAxes() == 0 && len(stages) == 0 {
		return
	}
	n := p.gather(out, stages)
	if p.s.Err() != nil {
		return
	}
	n.common, n.last, n.vector, n.side = p.common(n.def, n.members), lastLong(n.shape), 1, -1
	if n.last >= 0 {
		n.vector = p.vectorLength(n.shape[n.last], p.lanes(n.def, n.members), p.most(n.members, n.common[n.last]))
		if len(n.members) == 0 {
			var most int
			if n.side, most = scatter(n.def, n.last, min(n.vector, p.t.Lanes(32))); most == 1 && n.vector > 1 {
				p.walk(p.s.Loops(n.out).Slice(), n.side, n.last, n.def)
				return
			}
			n.vector = min(n.vector, most)
		}
	}
	p.predict(n.members, n.shape, n.common, n.vector)
	for _, m := range n.members {
		p.prepare(m)
	}
	p.shape(n)
}

// gather returns the blocks of a nest. A result that is a reduction itself becomes a member: accumulators that are copied.
func (p *plain) gather(out *te.Tensor, stages []*te.Tensor) *nestPlan {
	s := p.s
	n := &nestPlan{out: stage(s, out), shape: out.Shape()}
	for _, st := range stages {
		n.members = append(n.members, &member{st: st, block: stage(s, st), buf: st.Buffer, reduces: st.ReduceAxes() > 0})
	}
	if out.ReduceAxes() > 0 {
		m := &member{st: out, block: n.out, reduces: true}
		n.out = s.CacheWrite(m.block, tir.Local)
		if s.Err() == nil {
			m.buf = s.Definition(m.block).Writes[0].Buffer
		}
		n.members = append(n.members, m)
	}
	n.def = s.Definition(n.out)
	return n
}

// shape makes the loops of the result, the grid outside, and moves the members into them.
func (p *plain) shape(n *nestPlan) {
	s := p.s
	loops := s.Loops(n.out).Slice()
	if s.Err() != nil {
		return
	}
	var outer, inner, turned, vector []schedule.Loop
	for axis, l := range loops[len(loops)-len(n.shape):] {
		if axis == n.last && n.vector > 1 {
			parts := s.Split(l, 0, n.vector)
			l, vector = parts[0], parts[1:]
		}
		if axis == n.side {
			parts := s.Split(l, 0, squareSide)
			l, turned = parts[0], parts[1:]
		}
		if n.common[axis] || len(n.members) == 0 {
			outer = append(outer, l)
		} else {
			inner = append(inner, l)
		}
	}
	if order := slices.Concat(outer, inner, turned, vector); len(order) > 0 { // a single element has none
		s.Reorder(order...)
	}
	work := p.work(n.def, n.members)
	single := len(outer) == 0 && work < 1<<23 // all members in one kernel, which then runs on one thread
	chain := p.parallel(outer, work)
	for _, l := range vector {
		vectors(s, l, p.t.Lanes(32))
	}
	if p.guarded(n.def, n.members) {
		for _, l := range append(append([]schedule.Loop{}, chain...), inner...) {
			if s.Extent(l) > 1 {
				s.Annotate(l, tir.Partition, "border")
			}
		}
	}
	for k := len(n.members) - 1; k >= 0; k-- { // a stage moves when all that reads it has
		m := n.members[k]
		if len(chain) > 0 {
			s.ComputeAt(m.block, chain[len(chain)-1])
		}
		if len(chain) > 0 || single {
			p.scope(m)
		}
		p.place(m, chain, len(chain) == 0 && !single)
	}
}

// common reports which axes of the result are an axis of every member too, read at the result's own place.
func (p *plain) common(def *tir.Block, members []*member) []bool {
	s := p.s
	axisOf := map[*tir.Var]int{} // of the variables of every reader
	rank := 0
	for _, iv := range def.Iters {
		if iv.Kind == tir.Spatial {
			axisOf[iv.Var] = rank
			rank++
		}
	}
	readers := []*tir.Block{def}
	for n := len(members) - 1; n >= 0; n-- {
		m := members[n]
		own := s.Definition(m.block)
		if own == nil {
			return make([]bool, rank)
		}
		m.axis = make([]int, len(m.st.Shape()))
		for j := range m.axis {
			m.axis[j] = -2 // not read yet
		}
		for _, r := range readers {
			loadsOf(r, m.buf, func(indices []tir.Expr) {
				for j, e := range indices {
					at := -1
					if v, ok := e.(*tir.Var); ok {
						if a, known := axisOf[v]; known {
							at = a
						}
					}
					if m.axis[j] != -2 && m.axis[j] != at {
						at = -1
					}
					m.axis[j] = at
				}
			})
		}
		j := 0
		for _, iv := range own.Iters {
			if iv.Kind != tir.Spatial {
				continue
			}
			if j < len(m.axis) && m.axis[j] >= 0 {
				axisOf[iv.Var] = m.axis[j]
			}
			j++
		}
		readers = append(readers, own)
	}
	common := make([]bool, rank)
	for a := range common {
		common[a] = true
		for _, m := range members {
			has := false
			for _, at := range m.axis {
				has = has || at == a
			}
			common[a] = common[a] && has
		}
	}
	n := 0
	for _, iv := range def.Iters {
		if iv.Kind == tir.Spatial {
			common[n] = common[n] && (iv.Extent > 1 || len(members) == 0)
			n++
		}
	}
	return common
}

// predict fills in what one part of the result, a vector of v elements along the last axis, needs of each member.
func (p *plain) predict(members []*member, shape []int, common []bool, v int) {
	last := lastLong(shape)
	for _, m := range members {
		m.extents = append([]int{}, m.st.Shape()...)
		for j, at := range m.axis {
			switch {
			case at < 0 || !common[at]:
			case at == last:
				m.extents[j] = min(v, m.extents[j])
			default:
				m.extents[j] = 1
			}
		}
	}
}
