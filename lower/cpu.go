package lower

import (
	"slices"

	"github.com/texel-ml/texel/schedule"
	"github.com/texel-ml/texel/schedule/te"
	"github.com/texel-ml/texel/target"
	"github.com/texel-ml/texel/tir"
)

// cpuRules are the schedule rules of processors, the most special first.
func cpuRules() []ScheduleRule {
	return []ScheduleRule{
		{"cpu-block", convBlock, scheduleBlock},
		{"cpu-conv", anchored("conv"), scheduleConv},
		{"cpu-depthwise", anchored("depthwise"), scheduleDepthwise},
		{"cpu-dense", anchored("dense"), scheduleDense},
		{"cpu-conv-transpose", phasedTranspose, scheduleTransposed},
		{"cpu-matmul", plainProduct, scheduleMatmul},
		{"cpu-attention", tiledAttention, scheduleAttention},
		{"cpu-plain", func(*Definition, *target.Target) bool { return true }, schedulePlain},
	}
}

// anchored accepts definitions with one result whose anchor is of the given kind, has its weight packed in panels along
// the innermost axis of its result, and is followed only by stages of the same shape.
func anchored(kind string) func(*Definition, *target.Target) bool {
	return func(d *Definition, t *target.Target) bool {
		a := d.Anchor
		if t.Kind != target.CPU || a == nil || d.Then != nil || a.Kind != kind || len(d.Outputs) != 1 || (a.Block == 0 && kind != "depthwise") {
			return false
		}
		after := false
		for _, st := range d.Stages {
			if after && !samePixels(st.Shape(), a.Stage.Shape()) {
				return false
			}
			after = after || st == a.Stage
		}
		return true
	}
}

// samePixels reports whether two shapes differ at most in their last axis; an anchor's may be padded there.
func samePixels(a, b []int) bool {
	return len(a) == len(b) && sameShape(a[:len(a)-1], b[:len(b)-1])
}

func sameShape(a, b []int) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

// anchorBlocks prepares an anchored function: stages other than the anchor, its padded or widened operand, the result and
// those in keep are inlined, and the anchor's result becomes local. It returns the anchor's block and the result's.
func anchorBlocks(s *schedule.Schedule, d *Definition, keep ...*te.Tensor) (anchor, out schedule.Block) {
	keep = append(keep, d.Anchor.Stage, d.Anchor.Pad, d.Outputs[0])
	for _, st := range d.Stages {
		if !slices.Contains(keep, st) {
			s.ComputeInline(s.Block(st.Buffer.Name))
		}
	}
	anchor = s.Block(d.Anchor.Stage.Buffer.Name)
	if d.Anchor.Stage == d.Outputs[0] {
		return anchor, s.CacheWrite(anchor, tir.Local)
	}
	s.SetScope(anchor, tir.Local)
	return anchor, s.Block(d.Outputs[0].Buffer.Name)
}

// innerLoops returns the loops that ComputeAt made around an anchor's block: one for each axis of its result, then one
// for each reduce axis.
func innerLoops(s *schedule.Schedule, b schedule.Block, st *te.Tensor) (spatial, reduce []schedule.Loop) {
	loops := s.Loops(b).Slice()
	n := len(st.Shape()) + st.ReduceAxes()
	if len(loops) < n {
		return make([]schedule.Loop, len(st.Shape())), make([]schedule.Loop, st.ReduceAxes())
	}
	inner := loops[len(loops)-n:]
	return inner[:len(st.Shape())], inner[len(st.Shape()):]
}

// vectorizeAxis runs l as unrolled vectors of the given number of lanes.
func vectorizeAxis(s *schedule.Schedule, l schedule.Loop, lanes int) {
	if n := s.Extent(l); n <= lanes {
		s.Vectorize(l)
		return
	}
	parts := s.Split(l, 0, lanes)
	s.Unroll(parts[0])
	s.Vectorize(parts[1])
}

// ceilDiv returns ⌈a/b⌉.
func ceilDiv(a, b int) int { return (a + b - 1) / b }

// stage returns the block of a stage.
func stage(s *schedule.Schedule, t *te.Tensor) schedule.Block { return s.Block(t.Buffer.Name) }
