package lower

import (
	"math"

	"github.com/texel-ml/texel/schedule"
	"github.com/texel-ml/texel/tir"
)

// scatter returns how many elements along an axis, the last one longer than 1, a block that does little else than move them
// should move together: any number when they lie side by side, a vector of lanes when it takes a few shuffles, else one;
// side is another axis along which a load is contiguous, or -1.
func scatter(def *tir.Block, axis, lanes int) (side, most int) {
	side, most = -1, math.MaxInt
	if weightOf(def) >= 8 {
		return side, most
	}
	var spatial []tir.IterVar
	for _, iv := range def.Iters {
		if iv.Kind == tir.Spatial {
			spatial = append(spatial, iv)
		}
	}
	for _, x := range accessesOf(def) {
		if x.store {
			continue
		}
		last := spatial[axis].Var
		if x.irregular[last] || x.step[last] > 1 || x.step[last] < 0 {
			most = min(most, lanes)
			if 4*x.windows(def, spatial[axis], lanes) > lanes {
				most = 1
			}
		}
		for n, iv := range spatial[:axis] {
			if x.step[iv.Var] == 1 && !x.irregular[iv.Var] && iv.Extent > 1 {
				side = n
			}
		}
	}
	return side, most
}

// walk shapes a block that moves elements one by one: in squares of both axes when it turns them, so that the cache lines
// of both sides are used before they leave the cache.
func (p *plain) walk(loops []schedule.Loop, side, last int, def *tir.Block) {
	s := p.s
	const square = 16
	outer := append([]schedule.Loop{}, loops[:last]...) // the axes behind have one element
	if side >= 0 && s.Extent(loops[side]) > square && s.Extent(loops[last]) > square {
		rows, columns := s.Split(loops[side], 0, square), s.Split(loops[last], 0, square)
		outer[side] = rows[0]
		outer = append(outer, columns[0])
		s.Reorder(append(append([]schedule.Loop{}, outer...), rows[1], columns[1])...)
		p.parallel(outer, p.work(def, nil))
		s.Unroll(columns[1])
		return
	}
	n := s.Extent(loops[last])
	if step := largestDivisor(n, square); step > 1 {
		parts := s.Split(loops[last], 0, step)
		outer = append(outer, parts[0])
		s.Unroll(parts[1])
	}
	outer = p.parallel(outer, p.work(def, nil))
	if placed(def) {
		for _, l := range outer {
			s.Annotate(l, "partition", "border")
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
