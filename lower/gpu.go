package lower

import (
	"slices"

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
// Stages that are no reduction and no result are inlined; a reduction whose elements are read once each, by a stage of
// its own shape, is computed where it is read. Each remaining stage is a kernel and its result is in global memory. A
// stage without axes runs in one work-item.
func scheduleGPUPlain(s *schedule.Schedule, d *Definition, t *target.Target) {
	result := map[*te.Tensor]bool{}
	for _, o := range d.Outputs {
		result[o] = true
	}
	var kept []*te.Tensor
	for _, st := range d.Stages {
		if result[st] || st.ReduceAxes() > 0 || st.IsExtern() || d.readByOpaque(st) {
			kept = append(kept, st)
			continue
		}
		s.ComputeInline(stage(s, st))
	}
	parts := map[*te.Tensor][]*te.Tensor{} // a stage and the reductions that are computed where it reads them
	for i, st := range kept {
		if st.IsExtern() || s.Err() != nil {
			continue
		}
		rank := len(st.Shape())
		if st.ReduceAxes() > 0 && !result[st] && rank > 0 {
			if reader := elementReader(s.Func(), st, kept[i+1:]); reader != nil {
				parts[reader] = append(parts[reader], st)
				continue
			}
		}
		b := stage(s, st)
		if st.ReduceAxes() == 0 {
			item := bindElements(s, b, rank, t)
			for _, p := range parts[st] {
				s.SetScope(stage(s, p), tir.Local)
				reduceAt(s, p, item)
			}
			continue
		}
		out := s.CacheWrite(b, tir.Local)
		if item := bindElements(s, out, rank, t); rank > 0 {
			reduceAt(s, st, item)
		}
	}
}

// reduceAt computes a reduction in a work-item, its initial value in front of all its loops.
func reduceAt(s *schedule.Schedule, st *te.Tensor, item schedule.Loop) {
	b := stage(s, st)
	s.ComputeAt(b, item)
	if _, reduce := innerLoops(s, b, st); s.Err() == nil {
		s.DecomposeReduction(b, reduce[0])
	}
}

// elementReader returns the stage that alone reads st, element i for its own element i, or nil.
func elementReader(f *tir.Func, st *te.Tensor, stages []*te.Tensor) *te.Tensor {
	var only *te.Tensor
	readers := 0
	tir.Walk(f.Body, func(n any) bool {
		r, ok := n.(*tir.BlockRealize)
		if !ok {
			return true
		}
		for _, region := range r.Block.Reads {
			if region.Buffer != st.Buffer {
				continue
			}
			readers++
			i := slices.IndexFunc(stages, func(s *te.Tensor) bool { return s.Buffer.Name == r.Block.Name })
			if i < 0 || stages[i].ReduceAxes() > 0 || stages[i].IsExtern() || len(region.Ranges) != len(r.Block.Iters) {
				readers++ // not one that takes it in
				continue
			}
			for axis, g := range region.Ranges {
				if iv := r.Block.Iters[axis]; g.Min != tir.Expr(iv.Var) && (iv.Extent > 1 || !tir.IsConst(g.Min, 0)) {
					readers++
				}
			}
			only = stages[i]
		}
		return true
	})
	if readers != 1 {
		return nil
	}
	return only
}

// bindElements runs the first n loops around b, its spatial axes, as a grid of one dimension, and returns the loop over
// the work-items of a group.
func bindElements(s *schedule.Schedule, b schedule.Block, n int, t *target.Target) schedule.Loop {
	loops := s.Loops(b).Slice()
	if s.Err() != nil || n == 0 || len(loops) < n {
		return schedule.Loop{}
	}
	all := s.Fuse(loops[:n]...)
	parts := s.Split(all, 0, min(gpuGroup, t.GPU.WorkGroup, max(1, s.Extent(all))))
	s.Bind(parts[0], "blockIdx.x")
	s.Bind(parts[1], "threadIdx.x")
	return parts[1]
}
