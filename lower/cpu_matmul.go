package lower

import (
	"github.com/texel-ml/texel/cost"
	"github.com/texel-ml/texel/schedule"
	"github.com/texel-ml/texel/schedule/te"
	"github.com/texel-ml/texel/target"
	"github.com/texel-ml/texel/tir"
)

// plainProduct accepts products whose right operand is not packed, of enough rows and columns for a register tile.
func plainProduct(d *Definition, t *target.Target) bool {
	a := d.Anchor
	if t.Kind != target.CPU || a == nil || a.Kind != "dense" || a.Block != 0 || len(d.Outputs) != 1 || a.Weight == nil || len(d.Kept) > 0 {
		return false
	}
	shape := a.Stage.Shape()
	rank := len(shape)
	after := false
	for _, st := range d.Stages {
		if after && !sameShape(st.Shape(), shape) || st.IsExtern() || st != a.Stage && st.ReduceAxes() > 0 {
			return false
		}
		after = after || st == a.Stage
	}
	if rank < 2 || a.Stage.ReduceAxes() != 1 || a.Weight.Buffer.DType.Bits() != 32 {
		return false
	}
	extents := a.Stage.Extents()
	return shape[rank-2] >= 4 && shape[rank-1] >= t.Lanes(32)/2 && extents[rank] >= 4 && noneEmpty(extents)
}

func noneEmpty(extents []int) bool {
	for _, n := range extents {
		if n == 0 {
			return false
		}
	}
	return true
}

// scheduleMatmul shapes a product whose right operand is made at run time:
//
//	grid (batch · panels of columns)
//	  the panel of the right operand, in scratch, when it is transposed or used often
//	  tiles of rows
//	    accumulators of tile (rows × vectors of columns) = 0
//	    k: accumulators += element of the left operand · vector of the panel
//	    epilogue and store
func scheduleMatmul(s *schedule.Schedule, d *Definition, t *target.Target) {
	if !s.Attempt(func() { matmulTiles(s, d, t) }) {
		schedulePlain(s, d, t)
	}
}

func matmulTiles(s *schedule.Schedule, d *Definition, t *target.Target) {
	anchor, out := anchorBlocks(s, d, d.Anchor.Panel)
	shape := d.Anchor.Stage.Shape()
	rank := len(shape)
	rows, columns := shape[rank-2], shape[rank-1]
	depth := d.Anchor.Stage.Extents()[rank]
	axes := s.Loops(out).Slice()
	if s.Err() != nil {
		return
	}
	block, _ := cost.PanelWidth(rows, columns, t)
	block = min(block, columns)
	tl, _ := cost.RegisterTile(rows, columns, block, t)
	operand, turned, ok := rightOperand(s.Definition(anchor), d.Anchor.Weight)
	if !ok {
		refusePlain(s, anchor)
		return
	}

	panels := s.Split(axes[rank-1], 0, block)
	tiles := s.Split(axes[rank-2], 0, tl.Rows)
	outer := append(append([]schedule.Loop{}, axes[:rank-2]...), panels[0])
	s.Reorder(append(append([]schedule.Loop{}, outer...), tiles[0], tiles[1], panels[1])...)
	grid := parallelAll(s, outer)
	s.ComputeAt(anchor, tiles[0])

	if d.Anchor.Pad != nil {
		placePad(s, d, grid, t)
	}
	packed := turned || rows >= 32 || rows >= 16 && columns%128 == 0
	switch fits := int64(depth*block*4) <= t.L2; {
	case d.Anchor.Panel != nil && fits:
		panel := stage(s, d.Anchor.Panel)
		s.SetScope(panel, tir.Scratch)
		s.ComputeAt(panel, grid)
		packPanel(s, panel, turned, t)
	case d.Anchor.Panel != nil:
		refusePlain(s, anchor)
		return
	case packed && fits:
		panel := s.CacheRead(anchor, operand, tir.Scratch)
		s.ComputeAt(panel, grid)
		packPanel(s, panel, turned, t)
	case turned:
		refusePlain(s, anchor)
		return
	}

	shapeTile(s, d.Anchor, anchor, tl, func([]schedule.Loop) {})
	s.Unroll(tiles[1])
	vectorizeAxis(s, panels[1], tl.Lanes)
}

// refusePlain makes the attempt fail where this schedule has no form for the operands.
func refusePlain(s *schedule.Schedule, b schedule.Block) { s.ComputeInline(b) }

// rightOperand returns which of the buffers that a product reads is the right operand, and whether its columns lie apart
// and its depth side by side.
func rightOperand(def *tir.Block, weight *te.Tensor) (operand int, turned, ok bool) {
	if def == nil || len(def.Iters) < 3 {
		return 0, false, false
	}
	column, depth := def.Iters[len(def.Iters)-2].Var, def.Iters[len(def.Iters)-1].Var
	loads := 0
	for _, x := range accessesOf(def) {
		if x.buf != weight.Buffer {
			continue
		}
		loads++
		switch {
		case x.irregular[column] || x.irregular[depth]:
			return 0, false, false
		case x.step[column] == 1:
		case x.step[depth] == 1:
			turned = true
		default:
			return 0, false, false
		}
	}
	seen := map[*tir.Buffer]bool{}
	for _, r := range def.Reads {
		if r.Buffer == weight.Buffer {
			return len(seen), turned, loads == 1
		}
		seen[r.Buffer] = true
	}
	return 0, false, false
}

// packPanel copies a panel of the right operand: rows of columns as vectors; from a transposed operand in squares.
func packPanel(s *schedule.Schedule, panel schedule.Block, turned bool, t *target.Target) {
	loops := s.Loops(panel).Slice()
	def := s.Definition(panel)
	if s.Err() != nil || len(def.Iters) < 2 {
		return
	}
	rank := len(def.Iters)
	own := loops[len(loops)-rank:]
	if !turned {
		vectorizeAxis(s, own[rank-1], t.Lanes(32))
		return
	}
	order := make([]int, rank)
	for n := range order {
		order[n] = n
	}
	order[rank-2], order[rank-1] = rank-1, rank-2
	s.TransformLayout(panel, schedule.Write, 0, schedule.Permutation(order...))
	column, depth := s.Split(own[rank-2], 0, 16), own[rank-1]
	s.Reorder(column[0], depth, column[1])
	s.Unroll(column[1])
}
