package lower

import (
	"github.com/texel-ml/texel/schedule"
	"github.com/texel-ml/texel/tir"
)

// How the members of a nest are computed. A map runs as vectors along its last axis. A reduction is one of
//
//	tile     the part that is needed is one row of at most a few vectors: they are accumulators in registers
//	tiles    more is needed: it is computed in such tiles, which are copied to memory
//	rows     elements that are reduced lie side by side: partial sums in the lanes of vectors, added up at the end

// prepare decides how a member is computed, and makes the blocks that this needs while its nest still stands alone.
func (p *plain) prepare(m *member) {
	if !m.reduces || p.s.Err() != nil {
		return
	}
	def := p.s.Definition(m.block)
	list := accessesOf(def)
	var last, inner tir.IterVar
	lastAxis := lastLong(m.extents)
	at := 0
	for _, iv := range def.Iters {
		if iv.Kind != tir.Spatial {
			inner = iv
			continue
		}
		if at == lastAxis {
			last = iv
		}
		at++
	}
	lanes := p.t.Lanes(max(32, m.buf.DType.Bits()))
	across := false // vectors along the last axis of the result
	var along float64
	if lastAxis >= 0 {
		n := min(m.extents[lastAxis], lanes)
		cost, contiguous := vectorCost(list, last.Var, n, m.buf)
		along = cost / float64(n)
		across = contiguous && n >= min(4, lanes) || n > 1 && inner.Extent < 8
	}
	n := min(inner.Extent/2, lanes)
	if n >= 4 {
		cost, contiguous := vectorCost(list, inner.Var, n, m.buf)
		if contiguous && (!across || cost/float64(n) < 0.75*along) && p.s.Attempt(func() { p.rows(m, inner.Extent, lanes) }) {
			return
		}
	}
	elems := 1
	for _, e := range m.extents {
		elems *= e
	}
	if lastAxis < 0 || elems == m.extents[lastAxis] && elems <= p.tile(def)*lanes {
		return // one tile
	}
	p.s.Attempt(func() {
		acc := m.block
		m.block = p.s.CacheWrite(m.block, tir.Local)
		m.acc = acc
	})
	if m.acc == (schedule.Block{}) {
		return
	}
	if !p.s.Has(blockName(p.s, m.block)) {
		m.acc = schedule.Block{}
	}
}

// rows cuts the last reduce axis into lanes, which become partial results:
//
//	P[i, l] = Σ_k x[i, k·F + l], l < F = u vectors; Q[i, l] = Σ_u P; R[i, 0…3] = Σ Q; result = Σ R
func (p *plain) rows(m *member, n, lanes int) {
	s := p.s
	lanes = min(lanes, powerBelow(n/2))
	u := 1
	for u < 4 && n >= 4*u*lanes {
		u *= 2
	}
	partial := []schedule.Block{}
	cut := func(factors ...int) {
		loops := s.Loops(m.block).Slice()
		if s.Err() != nil {
			return
		}
		parts := s.Split(loops[len(loops)-1], factors...)
		b := s.RFactor(parts[len(parts)-1], -1)
		partial = append(partial, b)
		if s.Err() == nil {
			s.SetScope(b, tir.Local)
		}
	}
	cut(0, u*lanes)
	if u > 1 {
		cut(u, lanes)
	}
	if lanes >= 8 {
		cut(lanes/4, 4)
	}
	m.partial = partial
}

// powerBelow returns the largest power of two that is at most n, at least 1.
func powerBelow(n int) int {
	p := 1
	for 2*p <= n {
		p *= 2
	}
	return p
}

// scope says where the member's part is held: in registers while it is small.
func (p *plain) scope(m *member) {
	if p.s.Err() != nil || m.buf == nil {
		return
	}
	b := p.s.Definition(m.block)
	if b == nil || b.Writes[0].Buffer.Scope != tir.Global {
		return
	}
	elems := 1
	for _, e := range m.extents {
		elems *= e
	}
	scope := tir.Scratch
	if elems == 1 || m.reduces && m.partial == nil && m.acc == (schedule.Block{}) && elems <= max(4, p.t.VectorRegisters/2)*p.t.Lanes(m.buf.DType.Bits()) {
		scope = tir.Local
	}
	if !m.reduces && len(m.extents) > 0 && elems == m.extents[len(m.extents)-1] && elems <= 2*p.t.Lanes(m.buf.DType.Bits()) {
		scope = tir.Local
	}
	p.s.SetScope(m.block, scope)
}

// own returns the loops of a block itself, without those that it was moved into: one for each of its variables.
func (p *plain) own(b schedule.Block) (spatial, reduce []schedule.Loop) {
	def, loops := p.s.Definition(b), p.s.Loops(b).Slice()
	if p.s.Err() != nil || len(loops) < len(def.Iters) {
		return nil, nil
	}
	loops = loops[len(loops)-len(def.Iters):]
	for n, iv := range def.Iters {
		if iv.Kind == tir.Spatial {
			spatial = append(spatial, loops[n])
		} else {
			reduce = append(reduce, loops[n])
		}
	}
	return spatial, reduce
}

// lastLong returns the place of the last loop of more than one iteration, or of the last loop.
func (p *plain) lastLong(loops []schedule.Loop) int {
	for n := len(loops) - 1; n >= 0; n-- {
		if p.s.Extent(loops[n]) > 1 {
			return n
		}
	}
	return len(loops) - 1
}

// place shapes the loops of a member, which stands inside the loops of chain; alone says that its nest is a kernel.
func (p *plain) place(m *member, chain []schedule.Loop, alone bool) {
	s := p.s
	if s.Err() != nil {
		return
	}
	if m.partial != nil {
		p.placeRows(m, chain, alone)
		return
	}
	spatial, reduce := p.own(m.block)
	if m.reduces && m.acc == (schedule.Block{}) {
		p.accumulate(m.block, spatial, reduce)
		return
	}
	if len(spatial) == 0 {
		return
	}
	at := p.lastLong(spatial)
	last := spatial[at]
	lanes := p.t.Lanes(max(m.buf.DType.Bits(), 32))
	n := s.Extent(last)
	most := 2
	if m.reduces {
		most = p.tile(s.Definition(m.acc))
	}
	v := p.vectorLength(n, lanes, most)
	parts := []schedule.Loop{last}
	if v > 1 && v < n {
		parts = s.Split(last, 0, v)
	}
	outer := append(append([]schedule.Loop{}, spatial[:at]...), parts[:len(parts)-1]...)
	if alone {
		outer = p.parallel(outer, p.work(s.Definition(m.block), nil)*float64(max(1, m.st.ReduceAxes()*16)))
	}
	if m.reduces {
		inside := last
		if len(outer) > 0 {
			inside = outer[len(outer)-1]
		} else if len(parts) == 1 {
			u := s.Split(last, 1, 0)
			inside, parts = u[0], []schedule.Loop{u[1]}
		}
		s.ComputeAt(m.acc, inside)
		spatial, reduce := p.own(m.acc)
		p.accumulate(m.acc, spatial, reduce)
	}
	if v > 1 {
		vectors(s, parts[len(parts)-1], p.t.Lanes(32))
	}
}

// tile returns how many vectors of accumulators a reduction has.
func (p *plain) tile(b *tir.Block) int {
	if b != nil && p.streams(b) {
		return max(4, p.t.VectorRegisters/2)
	}
	return 4
}

// accumulate runs a reduction whose result is a tile: the last axis as vectors inside the loops of the reduction, which
// are unrolled while they are few.
func (p *plain) accumulate(b schedule.Block, spatial, reduce []schedule.Loop) {
	s := p.s
	if len(reduce) == 0 || s.Err() != nil {
		return
	}
	few, width := 1, 0
	var last schedule.Loop
	if len(spatial) > 0 {
		last = spatial[p.lastLong(spatial)]
		width = s.Extent(last)
	}
	for _, r := range reduce {
		few *= s.Extent(r)
	}
	if len(spatial) > 0 {
		s.Reorder(append(append([]schedule.Loop{}, reduce...), last)...)
	}
	init := s.DecomposeReduction(b, reduce[0])
	if len(spatial) > 0 {
		vectors(s, last, p.t.Lanes(32))
	}
	if few <= 16 {
		for _, r := range reduce {
			s.Unroll(r)
		}
	}
	if loops := s.Loops(init).Slice(); len(loops) > 0 && len(spatial) > 0 {
		if l := loops[len(loops)-1]; s.Extent(l) == width {
			vectors(s, l, p.t.Lanes(32))
		}
	}
}

// placeRows puts the partial results of a reduction over rows where the reduction is.
func (p *plain) placeRows(m *member, chain []schedule.Loop, alone bool) {
	s := p.s
	spatial, reduce := p.own(m.block)
	if len(spatial) > 0 && alone {
		rest := p.parallel(spatial, p.work(s.Definition(m.partial[0]), nil))
		if s.Err() != nil {
			return
		}
		spatial = rest
	}
	var at schedule.Loop
	switch {
	case len(spatial) > 0:
		at = spatial[len(spatial)-1]
	case len(chain) > 0:
		at = chain[len(chain)-1]
	}
	s.Unroll(reduce[len(reduce)-1])
	for n := len(m.partial) - 1; n >= 0; n-- {
		b := m.partial[n]
		if at != (schedule.Loop{}) {
			s.ComputeAt(b, at)
		}
		spatial, reduce := p.own(b)
		if s.Err() != nil || len(spatial) == 0 {
			return
		}
		lane := spatial[len(spatial)-1]
		s.Reorder(append(append([]schedule.Loop{}, reduce...), lane)...)
		if s.Extent(lane) <= 4 && n > 0 { // the last step, on scalars
			s.Unroll(lane)
			for _, r := range reduce {
				s.Unroll(r)
			}
			continue
		}
		s.Vectorize(lane)
		init := s.DecomposeReduction(b, reduce[0])
		if n > 0 {
			for _, r := range reduce {
				s.Unroll(r)
			}
		}
		if loops := s.Loops(init).Slice(); len(loops) > 0 {
			s.Vectorize(loops[len(loops)-1])
		}
	}
}

// blockName returns the name of a block that a schedule knows.
func blockName(s *schedule.Schedule, b schedule.Block) string {
	if d := s.Definition(b); d != nil {
		return d.Name
	}
	return ""
}
