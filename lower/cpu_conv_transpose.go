package lower

import (
	"github.com/texel-ml/texel/cost"
	"github.com/texel-ml/texel/schedule"
	"github.com/texel-ml/texel/schedule/te"
	"github.com/texel-ml/texel/target"
	"github.com/texel-ml/texel/tir"
)

// phasedTranspose accepts a transposed convolution whose sum is taken apart by phases, followed by stages of the result's
// shape.
func phasedTranspose(d *Definition, t *target.Target) bool {
	a := d.Anchor
	if t.Kind != target.CPU || a == nil || a.Kind != "conv_transpose" || len(d.Outputs) != 1 || len(d.Kept) > 0 {
		return false
	}
	shape := d.Outputs[0].Shape()
	after := false
	for _, st := range d.Stages {
		if after && !sameShape(st.Shape(), shape) || st != a.Stage && st.ReduceAxes() > 0 || st.IsExtern() {
			return false
		}
		after = after || st == a.Stage
	}
	return a.Stage != d.Outputs[0] && len(a.Stage.Shape()) == 2*len(shape)-2 && noneEmpty(a.Stage.Extents())
}

// scheduleTransposed shapes a transposed convolution taken apart by phases:
//
//	grid (batch · rows of q · panels of channels)
//	  phases of rows · tiles of q along the last axis · phases of the last axis
//	    accumulators of tile (places × vectors of channels) = 0
//	    window elements of the phase · input channels
//	      accumulators += element of data · vector of the weight
//	    epilogue and store
func scheduleTransposed(s *schedule.Schedule, d *Definition, t *target.Target) {
	tiles := transposedTiles
	if narrow(d, t) {
		tiles = narrowTiles
	}
	if !s.Attempt(func() { tiles(s, d, t) }) {
		schedulePlain(s, d, t)
	}
}

// narrow reports whether a result has so few channels that vectors run along its last spatial axis, all phases at once.
func narrow(d *Definition, t *target.Target) bool {
	shape := d.Anchor.Stage.Shape()
	rank := len(shape)
	accumulators := shape[rank-1]
	for n := 2; n < rank; n += 2 {
		accumulators *= shape[n]
	}
	return 4*shape[rank-1] <= t.Lanes(32) && shape[rank-3] >= 4 && accumulators <= t.VectorRegisters/2
}

// narrowTiles shapes a transposed convolution of few channels: the accumulators are vectors of places of the last axis, one
// for each phase and channel, and share what they read of data.
func narrowTiles(s *schedule.Schedule, d *Definition, t *target.Target) {
	anchor, out := anchorBlocks(s, d, d.Anchor.Panel)
	shape := d.Anchor.Stage.Shape()
	rank := len(shape)
	axes := s.Loops(out).Slice()
	if s.Err() != nil {
		return
	}
	last := len(axes) - 1
	w := s.Split(axes[last-1], 0, min(t.Lanes(32), shape[rank-3]), shape[rank-2])
	outer, phases := []schedule.Loop{axes[0]}, []schedule.Loop{}
	for n := 1; n < last-1; n++ {
		parts := s.Split(axes[n], 0, shape[2*n])
		outer, phases = append(outer, parts[0]), append(phases, parts[1])
	}
	phases = append(phases, w[2], axes[last])
	s.Reorder(append(append(append(append([]schedule.Loop{}, outer...), w[0]), phases...), w[1])...)
	grid := parallelAll(s, outer)
	if placed(s.Definition(anchor)) {
		for _, l := range append(append([]schedule.Loop{}, outer...), w[0]) {
			s.Annotate(l, tir.Partition, "border")
		}
	}
	s.ComputeAt(anchor, w[0])
	holdOperands(s, d.Anchor, grid, t)
	spatial, reduce := innerLoops(s, anchor, d.Anchor.Stage)
	var order []int
	inner := append([]schedule.Loop{}, reduce...)
	for n := range rank {
		if n != rank-3 {
			order, inner = append(order, n), append(inner, spatial[n])
		}
	}
	s.Reorder(append(inner, spatial[rank-3])...)
	init := s.DecomposeReduction(anchor, reduce[0])
	s.TransformLayout(anchor, schedule.Write, 0, schedule.Permutation(append(order, rank-3)...))
	for n, l := range spatial {
		if n != rank-3 {
			s.Unroll(l)
		}
	}
	s.Vectorize(spatial[rank-3])
	loops := s.Loops(init).Slice()
	if s.Err() != nil {
		return
	}
	own := loops[len(outer)+1:] // inside the tiles
	for n, l := range own {
		if n == len(own)-1 {
			s.Vectorize(l)
		} else {
			s.Unroll(l)
		}
	}
	for _, l := range phases {
		s.Unroll(l)
	}
	s.Vectorize(w[1])
}

// holdOperands widens the operands that are kept in half precision once a grid step.
func holdOperands(s *schedule.Schedule, a *Anchor, grid schedule.Loop, t *target.Target) {
	for _, operand := range []*te.Tensor{a.Pad, a.Panel} {
		if operand != nil {
			hold(s, operand, grid, t)
		}
	}
}

func transposedTiles(s *schedule.Schedule, d *Definition, t *target.Target) {
	anchor, out := anchorBlocks(s, d, d.Anchor.Panel)
	shape := d.Anchor.Stage.Shape()
	rank := len(shape)
	places, phases, channels := shape[rank-3], shape[rank-2], shape[rank-1]
	axes := s.Loops(out).Slice()
	if s.Err() != nil {
		return
	}
	block, _ := cost.PanelWidth(places, channels, t)
	block = min(block, channels)
	tl, _ := cost.RegisterTile(places, channels, block, t)
	last := len(axes) - 1
	c := s.Split(axes[last], 0, block)
	w := s.Split(axes[last-1], 0, tl.Rows, phases)
	outer, body := []schedule.Loop{axes[0]}, []schedule.Loop{}
	for n := 1; n < last-1; n++ {
		parts := s.Split(axes[n], 0, shape[2*n])
		outer, body = append(outer, parts[0]), append(body, parts[1])
	}
	outer = append(outer, c[0])
	body = append(body, w[0], w[2])
	s.Reorder(append(append(append([]schedule.Loop{}, outer...), body...), w[1], c[1])...)
	grid := parallelAll(s, outer)
	if placed(s.Definition(anchor)) {
		for _, l := range append(append([]schedule.Loop{}, outer...), body...) {
			s.Annotate(l, tir.Partition, "border")
		}
	}
	s.ComputeAt(anchor, w[2])
	holdOperands(s, d.Anchor, grid, t)
	spatial, reduce := innerLoops(s, anchor, d.Anchor.Stage)
	s.Reorder(append(append([]schedule.Loop{}, reduce...), spatial[rank-3], spatial[rank-1])...)
	init := s.DecomposeReduction(anchor, reduce[0])
	s.Unroll(spatial[rank-3])
	vectorizeAxis(s, spatial[rank-1], tl.Lanes)
	loops := s.Loops(init).Slice()
	if s.Err() != nil {
		return
	}
	if tl.Rows > 1 && len(loops) > 1 {
		s.Unroll(loops[len(loops)-2])
	}
	if channels > 1 {
		vectorizeAxis(s, loops[len(loops)-1], tl.Lanes)
	}
	s.Unroll(w[1])
	vectorizeAxis(s, c[1], tl.Lanes)
}
