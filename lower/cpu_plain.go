package lower

import (
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
		opaque = opaque || st.IsExtern()
	}
	if len(d.Outputs) == 1 && !opaque && s.Attempt(func() { p.group(d.Outputs[0], kept[:len(kept)-1]) }) {
		return
	}
	for _, st := range kept {
		if st.IsExtern() || s.Attempt(func() { p.group(st, nil) }) {
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
		stays := result[st] || st.ReduceAxes() > 0 || st.IsExtern() || p.d.Kept[st] || p.d.readByOpaque(st)
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
		if other == st || other.IsExtern() || !p.s.Has(other.Buffer.Name) {
			continue
		}
		loadsOf(p.s.Definition(p.s.Block(other.Buffer.Name)), st.Buffer, func([]tir.Expr) { n++ })
	}
	return n
}

// readByOpaque reports whether an opaque stage reads st.
func (d *Definition) readByOpaque(st *te.Tensor) bool {
	for _, o := range d.Stages {
		for _, in := range o.ExternInputs() {
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
	loops := p.s.Loops(stage(p.s, st)).Slice()
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
