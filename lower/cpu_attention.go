package lower

import (
	"slices"

	"github.com/texel-ml/texel/cost"
	"github.com/texel-ml/texel/schedule"
	"github.com/texel-ml/texel/schedule/te"
	"github.com/texel-ml/texel/target"
	"github.com/texel-ml/texel/tir"
)

// tiledAttention accepts an attention whose keys and values are in panels, followed only by stages of the shape of its result.
func tiledAttention(d *Definition, t *target.Target) bool {
	a := d.attention
	if t.Kind != target.CPU || a == nil || a.keyPanel == 0 || d.Anchor != nil || len(d.Outputs) != 1 {
		return false
	}
	after := false
	own := a.stages()
	for _, st := range d.Stages {
		mine := slices.Contains(own, st)
		if st.IsExtern() || !mine && (st.ReduceAxes() > 0 || d.Kept[st]) || after && !sameShape(st.Shape(), d.Outputs[0].Shape()) || !noneEmpty(st.Extents()) {
			return false
		}
		after = after || st == a.sums
	}
	return true
}

// stages returns the stages of the attention, besides its result.
func (a *attended) stages() []*te.Tensor {
	return []*te.Tensor{a.queries, a.keys, a.values, a.products, a.scores, a.most, a.weights, a.total, a.sums}
}

// attentionTasks is how many grid steps there are at least, where there are as many tiles of rows.
const attentionTasks = 16

// attentionRows is how many tiles of rows a grid step computes: as many as leave what it holds in half of the second cache, but
// no more than leave enough steps.
func attentionRows(a *attended, tile int, t *target.Target) int {
	shape := a.scores.Shape()
	rank := len(shape)
	rows, keys, depth := shape[rank-2], shape[rank-1], a.queries.Shape()[len(a.queries.Shape())-1]
	batch := 1
	for _, n := range shape[:rank-2] {
		batch *= n
	}
	tiles := ceilDiv(rows, tile)
	held := int(t.L2/2)/4 - tile*keys
	most := max(1, held/(keys+depth)/tile)
	blocks := max(ceilDiv(tiles, most), min(tiles, ceilDiv(attentionTasks, batch)))
	return ceilDiv(tiles, blocks)
}

// scheduleAttention shapes softmax(Q·Kᵀ)·V so that the scores never exist as a whole:
//
//	panels of keys; panels of values
//	grid (batch · blocks of rows of queries)
//	  the queries of the block, scaled, in scratch
//	  the scores of the block with all keys, in scratch: for each panel of keys, tiles as in scheduleMatmul
//	  tiles of rows
//	    the largest score of each row; the exponentials, in scratch; their sum
//	    panels of values: accumulators += exponential · vector of the panel; epilogue and store
func scheduleAttention(s *schedule.Schedule, d *Definition, t *target.Target) {
	if !s.Attempt(func() { attentionTiles(s, d, t) }) {
		schedulePlain(s, d, t)
	}
}

func attentionTiles(s *schedule.Schedule, d *Definition, t *target.Target) {
	a, out := d.attention, d.Outputs[0]
	for _, st := range d.Stages {
		if st != out && !slices.Contains(a.stages(), st) {
			s.ComputeInline(stage(s, st))
		}
	}
	p := &plain{s, d, t}
	shape := out.Shape()
	rank := len(shape)
	tl, _ := cost.RegisterTile(shape[rank-2], shape[rank-1], a.valuePanel, t)
	rows := attentionRows(a, tl.Rows, t)

	var members []*member
	for _, st := range []*te.Tensor{a.most, a.weights, a.total} {
		m := &member{st: st, block: stage(s, st), buf: st.Buffer, reduces: st.ReduceAxes() > 0, extents: slices.Clone(st.Shape())}
		for n := range m.extents[:rank-2] {
			m.extents[n] = 1
		}
		m.extents[rank-2] = tl.Rows
		p.prepare(m)
		members = append(members, m)
	}
	sums := stage(s, a.sums)
	s.SetScope(sums, tir.Local)
	axes := s.Loops(stage(s, out)).Slice()
	if s.Err() != nil {
		return
	}
	row := s.Split(axes[rank-2], 0, rows, tl.Rows)
	panel := s.Split(axes[rank-1], 0, a.valuePanel)
	outer := append(slices.Clone(axes[:rank-2]), row[0])
	s.Reorder(append(slices.Clone(outer), row[1], panel[0], row[2], panel[1])...)
	grid := parallelAll(s, outer)
	s.ComputeAt(sums, panel[0])
	shapeTile(s, &Anchor{Stage: a.sums}, sums, tl, func([]schedule.Loop) {})
	s.Unroll(row[2])
	vectorizeAxis(s, panel[1], tl.Lanes)

	chain := append(slices.Clone(outer), row[1])
	for k := len(members) - 1; k >= 0; k-- {
		s.ComputeAt(members[k].block, row[1])
		p.scope(members[k])
		p.place(members[k], chain, false)
	}
	scoreTiles(s, a, grid, t)
	hold(s, a.queries, grid, t)
	p.group(a.keys, nil)
	p.group(a.values, nil)
}

// scoreTiles computes the scores of a grid step, panel by panel of keys.
func scoreTiles(s *schedule.Schedule, a *attended, grid schedule.Loop, t *target.Target) {
	scores, products := stage(s, a.scores), stage(s, a.products)
	s.SetScope(scores, tir.Scratch)
	s.SetScope(products, tir.Local)
	s.ComputeAt(scores, grid)
	own, _ := innerLoops(s, scores, a.scores)
	rank := len(own)
	tl, _ := cost.RegisterTile(s.Extent(own[rank-2]), a.scores.Shape()[rank-1], a.keyPanel, t)
	row, panel := s.Split(own[rank-2], 0, tl.Rows), s.Split(own[rank-1], 0, a.keyPanel)
	s.Reorder(panel[0], row[0], row[1], panel[1])
	s.ComputeAt(products, row[0])
	shapeTile(s, &Anchor{Stage: a.products}, products, tl, func([]schedule.Loop) {})
	s.Unroll(row[1])
	vectorizeAxis(s, panel[1], tl.Lanes)
}
