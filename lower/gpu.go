package lower

import (
	"github.com/texel-ml/texel/schedule"
	"github.com/texel-ml/texel/schedule/te"
	"github.com/texel-ml/texel/target"
	"github.com/texel-ml/texel/tir"
)

// gpuRules are the schedule rules of devices behind OpenCL and Vulkan.
func gpuRules() []ScheduleRule {
	return []ScheduleRule{
		{"gpu-plain", func(_ *Definition, t *target.Target) bool { return t.Kind == target.GPU }, scheduleGPUPlain},
	}
}

// gpuGroup is the number of work-items a group where the shape leaves the choice: a multiple of every wave, and small
// enough for any register file.
const gpuGroup = 64

// scheduleGPUPlain gives each element of a result to one work-item:
//
//	work-groups (blockIdx.x)
//	  work-items (threadIdx.x), guarded past the end
//	    accumulator = 0
//	    reduce axes: accumulator += …
//	    store
//
// Stages that are no reduction and no result are inlined; each remaining stage is a kernel and its result is in global
// memory. A stage without axes runs in one work-item.
func scheduleGPUPlain(s *schedule.Schedule, d *Definition, t *target.Target) {
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
		if st.IsOpaque() || s.Err() != nil {
			continue
		}
		b := stage(s, st)
		if st.ReduceAxes() == 0 {
			bindElements(s, b, len(st.Shape()), t)
			continue
		}
		out := s.CacheWrite(b, tir.Local)
		if item := bindElements(s, out, len(st.Shape()), t); len(st.Shape()) > 0 {
			s.ComputeAt(b, item)
		}
	}
}

// bindElements runs the first n loops around b, its spatial axes, as a grid of one dimension, and returns the loop over
// the work-items of a group.
func bindElements(s *schedule.Schedule, b schedule.Block, n int, t *target.Target) schedule.Loop {
	loops := s.Loops(b)
	if s.Err() != nil || n == 0 || len(loops) < n {
		return schedule.Loop{}
	}
	all := s.Fuse(loops[:n]...)
	parts := s.Split(all, 0, min(gpuGroup, t.GPU.WorkGroup, max(1, s.Extent(all))))
	s.Bind(parts[0], "blockIdx.x")
	s.Bind(parts[1], "threadIdx.x")
	return parts[1]
}
