package lower

import (
	"math"

	"github.com/texel-ml/texel/schedule"
	"github.com/texel-ml/texel/tir"
)

// squareSide is the side of the squares in which two axes are walked when a block turns them, so that the cache lines of both
// sides are used before they leave the cache.
const squareSide = 16

// scatter returns how many elements along an axis, the last one longer than 1, a block should compute together. Of what
// it does little else with than move, that is any number when they lie side by side, a vector of lanes when it takes a few
// shuffles, else one. side is another axis along which a load that is strided along the given one is contiguous, or -1.
func scatter(def *tir.Block, axis, lanes int) (side, most int) {
	side, most = -1, math.MaxInt
	var spatial []tir.IterVar
	for _, iv := range def.Iters {
		if iv.Kind == tir.Spatial {
			spatial = append(spatial, iv)
		}
	}
	moves := weightOf(def) < 8
	last := spatial[axis].Var
	for _, x := range accessesOf(def) {
		if x.store || !x.irregular[last] && x.step[last] >= 0 && x.step[last] <= 1 {
			continue
		}
		if moves {
			most = min(most, lanes)
			if 4*x.windows(def, spatial[axis], lanes) > lanes {
				most = 1
			}
		}
		for n, iv := range spatial[:axis] {
			if x.step[iv.Var] == 1 && !x.irregular[iv.Var] && iv.Extent > squareSide && spatial[axis].Extent > squareSide {
				side = n
			}
		}
	}
	return side, most
}

// walk shapes a block that moves elements one by one, in squares when it turns two axes.
func (p *plain) walk(loops []schedule.Loop, side, last int, def *tir.Block) {
	s := p.s
	outer := append([]schedule.Loop{}, loops[:last]...) // the axes behind have one element
	if side >= 0 {
		rows, columns := s.Split(loops[side], 0, squareSide), s.Split(loops[last], 0, squareSide)
		outer[side] = rows[0]
		outer = append(outer, columns[0])
		s.Reorder(append(append([]schedule.Loop{}, outer...), rows[1], columns[1])...)
		p.parallel(outer, p.work(def, nil))
		s.Unroll(columns[1])
		return
	}
	n := s.Extent(loops[last])
	if step := largestDivisor(n, squareSide); step > 1 {
		parts := s.Split(loops[last], 0, step)
		outer = append(outer, parts[0])
		s.Unroll(parts[1])
	}
	outer = p.parallel(outer, p.work(def, nil))
	if placed(def) {
		for _, l := range outer {
			s.Annotate(l, tir.Partition, "border")
		}
	}
}

// largestDivisor returns the largest divisor of n that is at most most.
func largestDivisor(n, most int) int {
	for d := min(n, most); d > 1; d-- {
		if n%d == 0 {
			return d
		}
	}
	return 1
}
