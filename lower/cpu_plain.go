package lower

import (
	"github.com/texel-ml/texel/schedule"
	"github.com/texel-ml/texel/schedule/te"
	"github.com/texel-ml/texel/target"
)

// schedulePlain shapes functions without a heavy operator, and those whose heavy operator no special rule takes: stages
// that are no reduction and no result are inlined, and each remaining nest runs its outer axes in parallel and its
// innermost axis as vectors.
func schedulePlain(s *schedule.Schedule, d *Definition, t *target.Target) {
	result := map[*te.Tensor]bool{}
	for _, o := range d.Outputs {
		result[o] = true
	}
	var kept []*te.Tensor
	for _, st := range d.Stages {
		if result[st] || st.ReduceAxes() > 0 || st.IsOpaque() || d.readByOpaque(st) {
			kept = append(kept, st)
			continue
		}
		s.ComputeInline(stage(s, st))
	}
	for _, st := range kept {
		if !st.IsOpaque() && len(st.Shape()) > 0 && s.Err() == nil {
			plainNest(s, st, t)
		}
	}
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

// plainNest shapes the loops of one stage.
func plainNest(s *schedule.Schedule, st *te.Tensor, t *target.Target) {
	loops := s.Loops(stage(s, st))
	if s.Err() != nil {
		return
	}
	rank := len(st.Shape())
	spatial, reduce := loops[:rank], loops[rank:]
	lanes := t.Lanes(st.DType().Bits())
	last := spatial[rank-1]
	extent := st.Shape()[rank-1]
	outer := spatial[:rank-1]
	if extent > 4*lanes && rank == 1 {
		parts := s.Split(last, 0, 4*lanes)
		outer, last = append(append([]schedule.Loop{}, outer...), parts[0]), parts[1]
	}
	if extent >= 4 {
		n := min(lanes, extent)
		parts := s.Split(last, 0, n)
		s.Reorder(append(append([]schedule.Loop{parts[0]}, reduce...), parts[1])...)
		s.Vectorize(parts[1])
	}
	if len(outer) > 0 {
		s.Parallel(s.Fuse(outer...))
	}
}
