package lower

import (
	"slices"

	"github.com/texel-ml/texel/cost"
	"github.com/texel-ml/texel/schedule"
	"github.com/texel-ml/texel/schedule/te"
	"github.com/texel-ml/texel/target"
	"github.com/texel-ml/texel/tir"
)

// convBlock accepts what fuse-blocks makes: convolutions of images, channels innermost, each of which reads the one before.
func convBlock(d *Definition, t *target.Target) bool {
	if t.Kind != target.CPU || d.Anchor == nil || len(d.Then) == 0 || len(d.Outputs) != 1 {
		return false
	}
	for _, a := range d.anchors() {
		if a.Kind != "depthwise" && (a.Kind != "conv" || a.Block == 0) || len(a.Stage.Shape()) != 4 || a.Data == nil {
			return false
		}
	}
	return true
}

// anchors returns the heavy operators in the order of computation.
func (d *Definition) anchors() []*Anchor {
	if d.Anchor == nil {
		return nil
	}
	return append([]*Anchor{d.Anchor}, d.Then...)
}

// blockRows is how many rows of the result a grid step computes: as many as leave what it holds in half of the second cache,
// but not so many that there are fewer than four steps.
func blockRows(d *Definition, t *target.Target) int {
	rows := d.Outputs[0].Shape()[1]
	best := 1
	for n := 2; n <= max(1, rows/4); n++ {
		if heldBytes(d, n) > t.L2/2 {
			break
		}
		best = n
	}
	return best
}

// heldBytes is what a grid step holds that computes n rows of the result.
func heldBytes(d *Definition, n int) int64 {
	anchors := d.anchors()
	total := int64(0)
	for i := len(anchors) - 1; i > 0; i-- {
		a := anchors[i]
		data := a.Data.Shape()
		stride := max(1, data[1]/max(1, a.Stage.Shape()[1]))
		n = (n-1)*stride + a.Stage.Extents()[len(a.Stage.Shape())]
		total += int64(n) * int64(data[2]) * int64(data[3]) * int64(a.Data.DType().Bits()/8)
	}
	return total
}

// scheduleBlock shapes convolutions of which each reads the one before, so that no tensor between them ever exists as a whole:
//
//	grid (batch · blocks of rows)
//	  the rows of the first that the block needs, in scratch: tiles of pixels as in scheduleConv
//	  the rows of the second that it needs, in scratch: tiles as in scheduleDepthwise
//	  the rows of the last: tiles as in scheduleConv, epilogue and store
//
// Rows that two blocks need are computed by both.
func scheduleBlock(s *schedule.Schedule, d *Definition, t *target.Target) {
	anchors := d.anchors()
	held := make([]*te.Tensor, len(anchors)) // what each makes for the next, and the result
	for i := range anchors {
		held[i] = d.Outputs[0]
		if i+1 < len(anchors) {
			held[i] = anchors[i+1].Data
		}
	}
	for _, st := range d.Stages {
		if !slices.Contains(held, st) && !slices.ContainsFunc(anchors, func(a *Anchor) bool { return a.Stage == st }) {
			s.ComputeInline(s.Block(st.Buffer.Name))
		}
	}
	sums, blocks := make([]schedule.Block, len(anchors)), make([]schedule.Block, len(anchors))
	for i, a := range anchors {
		sums[i], blocks[i] = stage(s, a.Stage), stage(s, held[i])
		if a.Stage == held[i] {
			blocks[i] = s.CacheWrite(sums[i], tir.Local)
		} else {
			s.SetScope(sums[i], tir.Local)
		}
		if i+1 < len(anchors) {
			s.SetScope(blocks[i], tir.Scratch)
		}
	}
	last := len(anchors) - 1
	axes := s.Loops(blocks[last]).Want(4)
	h := s.Split(axes[1], 0, blockRows(d, t))
	grid := parallelAll(s, []schedule.Loop{axes[0], h[0]})
	for i := last; i >= 0; i-- { // readers first: what they need is known when they stand in the grid
		if i < last {
			s.ComputeAt(blocks[i], grid)
		}
		loops := s.Loops(blocks[i])
		shapeRows(s, anchors[i], sums[i], [3]schedule.Loop{loops.At(-3), loops.At(-2), loops.At(-1)}, t)
	}
}

// shapeRows shapes one convolution over rows of pixels of channels.
func shapeRows(s *schedule.Schedule, a *Anchor, sum schedule.Block, loops [3]schedule.Loop, t *target.Target) {
	row, pixels, channels := loops[0], s.Extent(loops[1]), s.Extent(loops[2])
	if a.Kind == "depthwise" {
		tl := cost.Tile{Rows: depthwiseTile(pixels), Vectors: 1, Lanes: min(t.Lanes(32), channels)}
		c := s.Split(loops[2], 0, tl.Lanes)
		w := s.Split(loops[1], 0, tl.Rows)
		s.Reorder(row, w[0], c[0], w[1], c[1])
		s.Annotate(w[0], tir.Partition, "border")
		s.ComputeAt(sum, c[0])
		shapeTile(s, a, sum, tl, func(reduce []schedule.Loop) { unrollWindow(s, reduce, tl) })
		s.Unroll(w[1])
		vectorizeAxis(s, c[1], tl.Lanes)
		return
	}
	tl, _ := cost.RegisterTile(pixels, channels, a.Block, t)
	c := s.Split(loops[2], 0, a.Block)
	w := s.Split(loops[1], 0, tl.Rows)
	s.Reorder(c[0], row, w[0], w[1], c[1])
	s.ComputeAt(sum, w[0])
	shapeTile(s, a, sum, tl, func(reduce []schedule.Loop) { unrollShort(s, reduce, tl.Rows*tl.Vectors) })
	s.Unroll(w[1])
	vectorizeAxis(s, c[1], tl.Lanes)
}
