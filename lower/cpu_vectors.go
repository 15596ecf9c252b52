package lower

import (
	"github.com/texel-ml/texel/schedule"
	"github.com/texel-ml/texel/tir"
)

// How long vectors are, and how many tasks a nest is cut into.

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

// lastLong returns the last axis that is longer than 1, or -1.
func lastLong(shape []int) int {
	for n := len(shape) - 1; n >= 0; n-- {
		if shape[n] > 1 {
			return n
		}
	}
	return -1
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
