package lower

import (
	"math"

	"github.com/texel-ml/texel/schedule"
	"github.com/texel-ml/texel/schedule/te"
	"github.com/texel-ml/texel/target"
	"github.com/texel-ml/texel/tensor"
	"github.com/texel-ml/texel/tir"
)

// The schedule of functions without a heavy operator, and of those whose heavy operator no special rule takes.
//
// Stages that are cheap are put into their readers. What is left is the results, and the reductions and kept stages that
// they are made of. A single result and its stages become one nest:
//
//	grid (axes of the result that all stages share)
//	  stage 1 of this part, in registers or scratch
//	  stage 2 …
//	  the result's part
//
// so that a softmax, a normalisation or a pool with its epilogue is one kernel. Reductions run as vectors over the last
// axis of their result where its elements lie side by side (pools with channels innermost), and as vectors over the last
// axis that is reduced where those do (rows).

// plain schedules one function.
type plain struct {
	s *schedule.Schedule
	d *Definition
	t *target.Target
}

// schedulePlain never fails: what it cannot do well, it does simply.
func schedulePlain(s *schedule.Schedule, d *Definition, t *target.Target) {
	p := &plain{s, d, t}
	kept := p.inline()
	for _, o := range d.Outputs {
		if tensor.Shape(o.Shape()).Elems() == 0 {
			return // nothing runs
		}
	}
	opaque := false
	for _, st := range kept {
		opaque = opaque || st.IsOpaque()
	}
	if len(d.Outputs) == 1 && !opaque && s.Attempt(func() { p.group(d.Outputs[0], kept[:len(kept)-1]) }) {
		return
	}
	for _, st := range kept {
		if st.IsOpaque() || s.Attempt(func() { p.group(st, nil) }) {
			continue
		}
		s.Attempt(func() { p.simple(st) })
	}
}

// inline puts stages into their readers and returns those that stay, in order. A stage that is large and read several
// times stays.
func (p *plain) inline() []*te.Tensor {
	result := map[*te.Tensor]bool{}
	for _, o := range p.d.Outputs {
		result[o] = true
	}
	var kept []*te.Tensor
	const large = 96
	for _, st := range p.d.Stages {
		stays := result[st] || st.ReduceAxes() > 0 || st.IsOpaque() || p.d.Kept[st] || p.d.readByOpaque(st)
		if !stays && p.s.Has(st.Buffer.Name) {
			b := stage(p.s, st)
			if sizeOf(p.s.Definition(b).Body) > large && p.readers(st) > 1 {
				stays = true
			} else {
				stays = !p.s.Attempt(func() { p.s.ComputeInline(b) })
			}
		}
		if stays {
			kept = append(kept, st)
		}
	}
	return kept
}

// readers returns how often the stages read st.
func (p *plain) readers(st *te.Tensor) int {
	n := 0
	for _, other := range p.d.Stages {
		if other == st || other.IsOpaque() || !p.s.Has(other.Buffer.Name) {
			continue
		}
		loadsOf(p.s.Definition(p.s.Block(other.Buffer.Name)), st.Buffer, func([]tir.Expr) { n++ })
	}
	return n
}

// readByOpaque reports whether an opaque stage reads st.
func (d *Definition) readByOpaque(st *te.Tensor) bool {
	for _, o := range d.Stages {
		for _, in := range o.OpaqueInputs() {
			if in == st {
				return true
			}
		}
	}
	return false
}

// simple shapes the nest of one stage without moving anything into it: vectors along the last axis where that is no
// reduction, the other axes in parallel.
func (p *plain) simple(st *te.Tensor) {
	loops := p.s.Loops(stage(p.s, st))
	rank := len(st.Shape())
	if rank == 0 || len(loops) < rank {
		return
	}
	spatial, reduce := loops[:rank], loops[rank:]
	outer := spatial[:rank-1]
	if n := st.Shape()[rank-1]; n >= 4 {
		parts := p.s.Split(spatial[rank-1], 0, min(n, p.t.Lanes(st.DType().Bits())))
		p.s.Reorder(append(append([]schedule.Loop{parts[0]}, reduce...), parts[1])...)
		p.s.Vectorize(parts[1])
	}
	if len(outer) > 0 {
		p.s.Parallel(p.s.Fuse(outer...))
	}
}

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

// group makes one nest of a result and the stages that it is made of, in order of computation.
func (p *plain) group(out *te.Tensor, stages []*te.Tensor) {
	s := p.s
	if len(out.Shape()) == 0 && out.ReduceAxes() == 0 && len(stages) == 0 {
		return
	}
	b := stage(s, out)
	var members []*member
	for _, st := range stages {
		m := &member{st: st, block: stage(s, st), buf: st.Buffer, reduces: st.ReduceAxes() > 0}
		members = append(members, m)
	}
	if out.ReduceAxes() > 0 {
		back := s.CacheWrite(b, tir.Local)
		if s.Err() != nil {
			return
		}
		members = append(members, &member{st: out, block: b, buf: s.Definition(b).Writes[0].Buffer, reduces: true})
		b = back
	}
	if s.Err() != nil {
		return
	}
	def := s.Definition(b)
	shape := out.Shape()
	common := p.common(def, members)
	rank := len(shape)
	last := lastLong(shape)
	tileLast := last >= 0 && common[last]
	v := 1
	if last >= 0 {
		v = p.vectorLength(shape[last], p.lanes(def, members), p.most(members, tileLast))
	}
	var axes []int // shared with all members
	for n := range shape {
		if common[n] {
			axes = append(axes, n)
		}
	}
	side, scattered := -1, false
	if len(members) == 0 && last >= 0 {
		var most int
		if side, most = scatter(def, last, min(v, p.t.Lanes(32))); most < v {
			v, scattered = most, most == 1
		}
	}
	p.predict(members, shape, common, v)
	for _, m := range members {
		p.prepare(m)
	}

	// The result's own loops.
	loops := s.Loops(b)
	if s.Err() != nil {
		return
	}
	var outer, inner []schedule.Loop
	var vector schedule.Loop
	for n := range rank {
		l := loops[len(loops)-rank+n]
		switch {
		case n == last && v > 1:
			parts := s.Split(l, 0, v)
			vector = parts[1]
			l = parts[0]
			fallthrough
		default:
			if common[n] {
				outer = append(outer, l)
			} else {
				inner = append(inner, l)
			}
		}
	}
	if scattered {
		p.walk(outer, side, last, def)
		return
	}
	order := append(append([]schedule.Loop{}, outer...), inner...)
	if v > 1 {
		order = append(order, vector)
	}
	s.Reorder(order...)
	if len(members) == 0 {
		outer = append(outer, inner...)
		inner = nil
	}
	work := p.work(def, members)
	single := len(outer) == 0 && work < 1<<23 // all members in one kernel, which then runs on one thread
	chain := p.parallel(outer, work)
	if v > 1 {
		vectors(s, vector, p.t.Lanes(32))
	}
	if p.guarded(def, members) {
		for _, l := range append(append([]schedule.Loop{}, chain...), inner...) {
			if s.Extent(l) > 1 {
				s.Annotate(l, "partition", "border")
			}
		}
	}
	for n := len(members) - 1; n >= 0; n-- { // a stage moves when all that reads it has
		m := members[n]
		if len(chain) > 0 {
			s.ComputeAt(m.block, chain[len(chain)-1])
		}
		if len(chain) > 0 || single {
			p.scope(m)
		}
		p.place(m, chain, len(chain) == 0 && !single)
	}
}

// scatter returns how many elements along an axis, the last one longer than 1, a block that does little else than move them
// should move together: any number when they lie side by side, a vector of lanes when it takes a few shuffles, else one;
// side is another axis along which a load is contiguous, or -1.
func scatter(def *tir.Block, axis, lanes int) (side, most int) {
	side, most = -1, math.MaxInt
	if weightOf(def) >= 8 {
		return side, most
	}
	var spatial []tir.IterVar
	for _, iv := range def.Iters {
		if iv.Kind == tir.Spatial {
			spatial = append(spatial, iv)
		}
	}
	for _, x := range accessesOf(def) {
		if x.store {
			continue
		}
		last := spatial[axis].Var
		if x.irregular[last] || x.step[last] > 1 || x.step[last] < 0 {
			most = min(most, lanes)
			if 4*x.windows(def, spatial[axis], lanes) > lanes {
				most = 1
			}
		}
		for n, iv := range spatial[:axis] {
			if x.step[iv.Var] == 1 && !x.irregular[iv.Var] && iv.Extent > 1 {
				side = n
			}
		}
	}
	return side, most
}

// walk shapes a block that moves elements one by one: in squares of both axes when it turns them, so that the cache lines
// of both sides are used before they leave the cache.
func (p *plain) walk(loops []schedule.Loop, side, last int, def *tir.Block) {
	s := p.s
	const square = 16
	outer := append([]schedule.Loop{}, loops[:last]...) // the axes behind have one element
	if side >= 0 && s.Extent(loops[side]) > square && s.Extent(loops[last]) > square {
		rows, columns := s.Split(loops[side], 0, square), s.Split(loops[last], 0, square)
		outer[side] = rows[0]
		outer = append(outer, columns[0])
		s.Reorder(append(append([]schedule.Loop{}, outer...), rows[1], columns[1])...)
		p.parallel(outer, p.work(def, nil))
		s.Unroll(columns[1])
		return
	}
	n := s.Extent(loops[last])
	if step := largestDivisor(n, square); step > 1 {
		parts := s.Split(loops[last], 0, step)
		outer = append(outer, parts[0])
		s.Unroll(parts[1])
	}
	outer = p.parallel(outer, p.work(def, nil))
	if placed(def) {
		for _, l := range outer {
			s.Annotate(l, "partition", "border")
		}
	}
}

// largestDivisor returns the largest divisor of n that is at most most.
func largestDivisor(n, most int) int {
	for d := min(n, most); d > 1; d-- {
		if n%d == 0 {
			return d
		}
	}
	return 1
}

// lastLong returns the last axis that is longer than 1, or -1.
func lastLong(shape []int) int {
	for n := len(shape) - 1; n >= 0; n-- {
		if shape[n] > 1 {
			return n
		}
	}
	return -1
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

// lanes returns the lanes of a vector of the widest type that the blocks touch along their last axes.
func (p *plain) lanes(def *tir.Block, members []*member) int {
	bits := 8
	note := func(b *tir.Block) {
		var last *tir.Var
		for _, iv := range b.Iters {
			if iv.Kind == tir.Spatial && (iv.Extent > 1 || last == nil) {
				last = iv.Var
			}
		}
		for _, x := range accessesOf(b) {
			if x.store || x.irregular[last] || x.step[last] != 0 {
				bits = max(bits, x.buf.DType.Bits())
			}
		}
	}
	note(def)
	for _, m := range members {
		note(p.s.Definition(m.block))
	}
	return max(1, p.t.Lanes(bits))
}

// most returns how many vectors are done together: two, or four accumulators of a reduction, whose latencies overlap then.
// A long reduction over rows of one large array has as many as there are registers, so that it reads whole rows.
func (p *plain) most(members []*member, tileLast bool) int {
	if len(members) == 0 || !tileLast {
		return 2
	}
	for _, m := range members {
		if m.reduces && p.streams(p.s.Definition(m.block)) {
			return max(4, p.t.VectorRegisters/2)
		}
	}
	return 4
}

// streams reports whether a reduction has many steps and uses each element of an operand once.
func (p *plain) streams(b *tir.Block) bool {
	steps, spatial := 1, 0
	var vars []*tir.Var
	for _, iv := range b.Iters {
		switch {
		case iv.Kind != tir.Spatial:
			steps *= iv.Extent
			vars = append(vars, iv.Var)
		case iv.Extent > 1:
			spatial++
			vars = append(vars, iv.Var)
		}
	}
	if steps < 32 || spatial != 1 {
		return false
	}
	for _, x := range accessesOf(b) {
		once := !x.store
		for _, v := range vars {
			once = once && !x.irregular[v] && x.step[v] != 0
		}
		if once {
			return true
		}
	}
	return false
}

// vectorLength returns how many elements of an axis of n are done together: the whole axis when it is short, a multiple
// of the lanes that divides it where there is one; at most the given number of vectors.
func (p *plain) vectorLength(n, lanes, most int) int {
	if n <= most*lanes {
		return max(n, 1)
	}
	for u := most; u >= 1; u-- {
		if n%(u*lanes) == 0 {
			return u * lanes
		}
	}
	if most > 4 {
		return ceilDiv(ceilDiv(n, ceilDiv(n, most*lanes)), lanes) * lanes
	}
	if n >= 16*lanes {
		return 2 * lanes
	}
	return lanes
}

// work estimates the instructions of the whole nest.
func (p *plain) work(def *tir.Block, members []*member) float64 {
	total := 0.0
	add := func(b *tir.Block) {
		n := weightOf(b)
		for _, iv := range b.Iters {
			n *= float64(iv.Extent)
		}
		total += n
	}
	add(def)
	for _, m := range members {
		add(p.s.Definition(m.block))
		for _, b := range append(append([]schedule.Block{}, m.partial...), m.acc) {
			if b != (schedule.Block{}) {
				add(p.s.Definition(b))
			}
		}
	}
	return total
}

// taskWork is the number of instructions that one task should hold at least, some ten microseconds.
const taskWork = 64 << 10

// parallel makes the grid of the outermost loops, as many as give enough tasks, and returns the loops that are left,
// outermost first. A loop that is longer than needed is cut.
func (p *plain) parallel(loops []schedule.Loop, work float64) []schedule.Loop {
	s := p.s
	tasks := min(64, int(work/taskWork))
	if tasks < 2 || len(loops) == 0 {
		return loops
	}
	var grid []schedule.Loop
	rest := append([]schedule.Loop{}, loops...)
	have := 1
	for len(rest) > 0 && 2*have <= tasks {
		l, n := rest[0], s.Extent(rest[0])
		want := ceilDiv(tasks, have)
		if d := cutOf(n, want); d < n {
			parts := s.Split(l, d, 0)
			grid = append(grid, parts[0])
			rest = append([]schedule.Loop{parts[1]}, rest[1:]...)
			break
		}
		grid, rest, have = append(grid, l), rest[1:], have*n
	}
	parallelAll(s, grid)
	return append(grid, rest...)
}

// cutOf returns in how many parts a loop of n is cut when at least want are wanted: the least divisor of n from want to
// 8·want, or else every iteration, which costs little as the driver takes several parts at once, or else want.
func cutOf(n, want int) int {
	for d := want; d <= min(8*want, n); d++ {
		if n%d == 0 {
			return d
		}
	}
	if n <= 64*want {
		return n
	}
	return want
}

// vectors runs l as one vector, or as several that are unrolled when it is longer than four.
func vectors(s *schedule.Schedule, l schedule.Loop, lanes int) {
	if s.Extent(l) > 4*lanes {
		vectorizeAxis(s, l, lanes)
		return
	}
	if s.Extent(l) > 1 {
		s.Vectorize(l)
	}
}

// guarded reports whether a block reads through a Select that depends on its place, as borders and joined tensors do.
func (p *plain) guarded(def *tir.Block, members []*member) bool {
	if placed(def) {
		return true
	}
	for _, m := range members {
		b := m.block
		if m.acc != (schedule.Block{}) {
			b = m.acc
		}
		if d := p.s.Definition(b); d != nil && placed(d) {
			return true
		}
	}
	return false
}

// placed reports whether a Select of the block compares indices.
func placed(b *tir.Block) bool {
	found := false
	tir.Walk(b.Body, func(n any) bool {
		if sel, ok := n.(*tir.Select); ok {
			tir.Walk(sel.Cond, func(c any) bool {
				if bin, ok := c.(*tir.Binary); ok && bin.Op.IsCompare() && bin.A.Type() == tir.Index {
					found = true
				}
				return !found
			})
		}
		return !found
	})
	return found
}
