package lower

import (
	"slices"

	"github.com/texel-ml/texel/cost"
	"github.com/texel-ml/texel/schedule"
	"github.com/texel-ml/texel/schedule/te"
	"github.com/texel-ml/texel/target"
	"github.com/texel-ml/texel/tir"
)

// taskFlops is how much work one grid step should hold at least: some ten microseconds, far above what claiming it costs.
const taskFlops = 2 << 20

// byteFlops is how many operations a core does in the time in which it reads a byte of a weight from memory.
const byteFlops = 5

// widenedPanels is how many panels a task multiplies its data with at least, when it has to be widened first.
const widenedPanels = 4

// widePanel returns the weight in float32 when its panels, which are kept in half precision, are widened one by one into
// scratch, for all tiles of a task; nil when tiles widen what they load.
func widePanel(d *Definition, tiles int, t *target.Target) *te.Tensor {
	depth := 1
	for _, n := range d.Anchor.Stage.Extents()[len(d.Anchor.Stage.Shape()):] {
		depth *= n
	}
	if !cost.HoldsPanel(tiles, depth, d.Anchor.Block, t) {
		return nil
	}
	return d.Anchor.Panel
}

// scheduleConv shapes a convolution whose result has its channels innermost and whose weight is packed in panels:
//
//	grid (batch · blocks of rows · groups of panels)
//	  padded operand of the block, in scratch
//	  panels · rows · tiles of pixels
//	    accumulators of tile (pixels × vectors of channels) = 0
//	    window · input channels
//	      accumulators += pixel broadcast · vector of the panel
//	    epilogue and store
//
// A panel is read again for each tile of the block, so it stays in the first or second cache.
func scheduleConv(s *schedule.Schedule, d *Definition, t *target.Target) {
	shape := d.Outputs[0].Shape()
	rank := len(shape)
	channels, pixels, rows := shape[rank-1], shape[rank-2], 1
	for _, n := range shape[1 : rank-2] {
		rows *= n
	}
	flops := 2 * convFlops(d)
	tl, _ := cost.RegisterTile(pixels, channels, d.Anchor.Block, t)
	deep := 1 // rows of pixels in a tile: narrow images leave registers for more than one
	if rank == 4 && tl.Rows == pixels {
		deep = max(1, min(rows, cost.MostRows(tl.Vectors, t)/pixels))
	}
	tiles := ceilDiv(pixels, tl.Rows)
	panels := ceilDiv(channels, d.Anchor.Block)

	tasks := max(1, min(64, int(max(flops, byteFlops*float64(weightBytes(d)))/taskFlops)))
	rowBlocks, tileBlocks := min(ceilDiv(rows, deep), tasks), 1
	if rows == 1 {
		tileBlocks = min(tiles, tasks)
	}
	groups := max(1, min(panels, tasks/max(1, rowBlocks*tileBlocks)))
	most := panels
	if d.Anchor.Widens { // for each group anew
		most = ceilDiv(panels, widenedPanels)
		groups = min(groups, most)
	}
	if weightBytes(d) > t.L2/2 { // panels outside, so that each is read from memory once
		groups = min(most, tasks)
		rowBlocks = max(1, min(ceilDiv(rows, deep), tasks/groups))
		tileBlocks = max(1, min(tiles, tasks/groups))
	}

	panel := widePanel(d, ceilDiv(rows, rowBlocks*deep)*ceilDiv(tiles, tileBlocks), t)
	anchor, out := anchorBlocks(s, d, panel)
	axes := s.Loops(out).Slice()
	if s.Err() != nil {
		return
	}
	c := s.Split(axes[rank-1], groups, 0, d.Anchor.Block)
	w := s.Split(axes[rank-2], tileBlocks, 0, tl.Rows)
	var row schedule.Loop
	outer := []schedule.Loop{axes[0]}
	body := []schedule.Loop{c[1]}
	var inner []schedule.Loop
	if rank > 3 {
		row = axes[1]
		if rank > 4 {
			row = s.Fuse(axes[1 : rank-2]...)
		}
		h := s.Split(row, rowBlocks, 0, deep)
		outer, body, inner = append(outer, h[0]), append(body, h[1]), append(inner, h[2])
	}
	inner = append(inner, w[2])
	outer = append(outer, w[0], c[0])
	body = append(body, w[1])
	s.Reorder(slices.Concat(outer, body, inner, c[2:])...)
	grid := parallelAll(s, outer)
	s.ComputeAt(anchor, w[1])
	if d.Anchor.Pad != nil {
		if d.Anchor.Widens && s.Extent(c[1]) == 1 { // used by one tile only
			grid = w[1]
		}
		placePad(s, d, grid, t)
	}
	if panel != nil {
		hold(s, panel, c[1], t)
	}

	shapeTile(s, d.Anchor, anchor, tl, func(reduce []schedule.Loop) {
		unrollShort(s, reduce, deep*tl.Rows*tl.Vectors)
		if last := reduce[len(reduce)-1]; weightBytes(d) >= t.L2/4 && s.Extent(last) >= 16 {
			s.Annotate(last, tir.Prefetch, d.Anchor.Weight.Buffer.Name) // the next panel, while this one is used
		}
	})
	for _, l := range inner {
		s.Unroll(l)
	}
	vectorizeAxis(s, c[2], tl.Lanes)
}

// unrollShort unrolls the innermost reduce loops as long as all of their multiply-adds stay below a hundred or so: with few
// input channels a loop would be shorter than what it costs. body is the number of multiply-adds of one step.
func unrollShort(s *schedule.Schedule, reduce []schedule.Loop, body int) {
	const most, short = 128, 8
	for i := len(reduce) - 1; i > 0; i-- {
		n := s.Extent(reduce[i])
		if n > short || body*n > most {
			return
		}
		body *= n
		s.Unroll(reduce[i])
	}
}

// parallelAll makes nested loops parallel, outermost first, and returns the innermost: together they are the grid.
func parallelAll(s *schedule.Schedule, loops []schedule.Loop) schedule.Loop {
	for _, l := range loops {
		s.Parallel(l)
	}
	return loops[len(loops)-1]
}

// shapeTile shapes the loops that ComputeAt made around an anchor: the reduction outside, pixels unrolled and channels as
// vectors inside; and likewise the block that clears the accumulators.
func shapeTile(s *schedule.Schedule, a *Anchor, anchor schedule.Block, tl cost.Tile, unroll func(reduce []schedule.Loop)) {
	spatial, reduce := innerLoops(s, anchor, a.Stage)
	rank := len(spatial)
	pixels, channel := spatial[max(0, rank-3):rank-1], spatial[rank-1]
	s.Reorder(append(slices.Concat(reduce, pixels), channel)...)
	s.DecomposeReduction(anchor, reduce[0])
	unroll(reduce)
	wide := s.Extent(channel) > 1
	for _, l := range pixels {
		s.Unroll(l)
	}
	vectorizeAxis(s, channel, tl.Lanes)

	around := s.Loops(anchor).Slice()
	var clear []schedule.Loop // axes of extent 1 have no loop here
	for _, l := range s.Loops(s.Block(a.Stage.Buffer.Name + "_init")).Slice() {
		if !slices.ContainsFunc(around, l.Same) {
			clear = append(clear, l)
		}
	}
	for i, l := range clear {
		if wide && i == len(clear)-1 {
			vectorizeAxis(s, l, tl.Lanes)
		} else {
			s.Unroll(l)
		}
	}
}

// placePad computes the padded or widened operand once a grid step.
func placePad(s *schedule.Schedule, d *Definition, grid schedule.Loop, t *target.Target) {
	hold(s, d.Anchor.Pad, grid, t)
}

// hold computes an operand in scratch, once an iteration of a loop, with vectors along its innermost axis.
func hold(s *schedule.Schedule, operand *te.Tensor, at schedule.Loop, t *target.Target) {
	b := stage(s, operand)
	s.SetScope(b, tir.Scratch)
	s.ComputeAt(b, at)
	spatial, _ := innerLoops(s, b, operand)
	last := spatial[len(spatial)-1]
	if n := s.Extent(last); n > t.Lanes(32) {
		parts := s.Split(last, 0, t.Lanes(32))
		s.Vectorize(parts[1])
	} else if n > 1 {
		s.Vectorize(last)
	}
}

// scheduleDepthwise shapes a depthwise convolution whose result has its channels innermost:
//
//	grid (batch · rows)
//	  tiles of pixels · vectors of channels
//	    accumulators = 0; window: accumulators += vector of the operand · vector of the weight; store
//
// Taps outside the operand are guarded; partition-loops cuts the guards away from the inner tiles. One vector of
// channels at a time leaves registers for the weights of a window.
func scheduleDepthwise(s *schedule.Schedule, d *Definition, t *target.Target) {
	anchor, out := anchorBlocks(s, d)
	shape := d.Anchor.Stage.Shape()
	rank := len(shape)
	channels, pixels := shape[rank-1], shape[rank-2]
	tl := cost.Tile{Rows: depthwiseTile(pixels), Vectors: 1, Lanes: min(t.Lanes(32), channels)}

	axes := s.Loops(out).Slice()
	if s.Err() != nil {
		return
	}
	c := s.Split(axes[rank-1], 0, tl.Lanes)
	w := s.Split(axes[rank-2], 0, tl.Rows)
	outer := axes[:rank-2]
	s.Reorder(append(append([]schedule.Loop{}, outer...), w[0], c[0], w[1], c[1])...)
	s.Annotate(w[0], tir.Partition, "border")
	parallelAll(s, outer)
	s.ComputeAt(anchor, c[0])
	shapeTile(s, d.Anchor, anchor, tl, func(reduce []schedule.Loop) { unrollWindow(s, reduce, tl) })
	s.Unroll(w[1])
	vectorizeAxis(s, c[1], tl.Lanes)
}

// unrollWindow unrolls the inner axes of a window, as many as leave few multiply-adds in a tile: a window of 31 × 31 keeps its
// loop over rows. Three spatial axes have so many kinds of border, each with code of its own, that less is unrolled.
func unrollWindow(s *schedule.Schedule, window []schedule.Loop, tl cost.Tile) {
	most := 512
	if len(window) > 3 {
		most = 32
	}
	first, body := len(window), tl.Rows
	for first > 0 && body*s.Extent(window[first-1]) <= most {
		first--
		body *= s.Extent(window[first])
	}
	for _, r := range window[first:] {
		s.Unroll(r)
	}
}

// depthwiseTile returns how many pixels of a row are computed together: a divisor of the row where there is one.
func depthwiseTile(pixels int) int {
	for _, m := range []int{7, 8, 6, 5, 4} {
		if pixels%m == 0 {
			return m
		}
	}
	return min(pixels, 6)
}

// scheduleDense shapes a product with a packed weight like a convolution of one row: the rows of the left operand are the
// pixels.
func scheduleDense(s *schedule.Schedule, d *Definition, t *target.Target) {
	shape := d.Outputs[0].Shape()
	rank := len(shape)
	channels := shape[rank-1]
	var panel *te.Tensor
	tl := cost.Tile{Rows: 1, Vectors: 1, Lanes: min(t.Lanes(32), channels)}
	if rank >= 2 && shape[rank-2] > 1 {
		tl, _ = cost.RegisterTile(shape[rank-2], channels, d.Anchor.Block, t)
		panel = widePanel(d, ceilDiv(shape[rank-2], tl.Rows), t)
	}
	anchor, out := anchorBlocks(s, d, panel)
	axes := s.Loops(out).Slice()
	if s.Err() != nil {
		return
	}
	var grid, pixel schedule.Loop
	groups := ceilDiv(channels, d.Anchor.Block)
	if d.Anchor.Widens { // for each group anew
		groups = ceilDiv(groups, widenedPanels)
	}
	c := s.Split(axes[rank-1], groups, 0, d.Anchor.Block)
	if rank == 1 || shape[rank-2] == 1 {
		grid = parallelAll(s, append(append([]schedule.Loop{}, axes[:rank-1]...), c[0]))
		s.ComputeAt(anchor, c[1])
	} else {
		w := s.Split(axes[rank-2], 0, tl.Rows)
		pixel = w[1]
		outer := append(append([]schedule.Loop{}, axes[:rank-2]...), c[0])
		s.Reorder(append(append([]schedule.Loop{}, outer...), c[1], w[0], w[1], c[2])...)
		grid = parallelAll(s, outer)
		s.ComputeAt(anchor, w[0])
	}
	if d.Anchor.Pad != nil {
		placePad(s, d, grid, t)
	}
	if panel != nil {
		hold(s, panel, c[1], t)
	}
	shapeTile(s, d.Anchor, anchor, tl, func([]schedule.Loop) {})
	if pixel != (schedule.Loop{}) {
		s.Unroll(pixel)
	}
	vectorizeAxis(s, c[2], tl.Lanes)
}

// convFlops returns the multiply-adds of the anchor.
func convFlops(d *Definition) float64 {
	n := 1.0
	for _, e := range d.Anchor.Stage.Extents() {
		n *= float64(e)
	}
	return n
}

func weightBytes(d *Definition) int64 {
	n := int64(d.Anchor.Weight.DType().Bits() / 8)
	for _, e := range d.Anchor.Weight.Shape() {
		n *= int64(e)
	}
	return n
}
