package schedule

import "github.com/texel-ml/texel/tir"

// Tile cuts two nested loops into rectangles of fo × fi iterations, outermost loop first. It is two splits and a reorder in
// one step; tiles at the far ends are guarded, as by Split:
//
//	for i in 0..64                     for io in 0..8
//	  for j in 0..96     factors         for jo in 0..6
//	    B(i, j)          8, 16    →        for ii in 0..8
//	                                         for ji in 0..16
//	                                           B(8·io + ii, 16·jo + ji)
//
// The loops must lie on one chain. It refuses what Split and Reorder refuse.
func (s *Schedule) Tile(outer, inner Loop, fo, fi int) []Loop {
	return s.TileBy(outer, inner, Ints(fo, fi)...)
}

// TileBy is Tile with factors that may have been drawn; there must be two of them.
func (s *Schedule) TileBy(outer, inner Loop, factors ...Int) []Loop {
	const step = "tile"
	none := make([]Loop, 4)
	if s.err != nil {
		return none
	}
	if len(factors) != 2 {
		s.refuse(step, "", "has %d factors; wanted one for each of the two loops", len(factors))
		return none
	}
	var fors []*tir.For
	for i, l := range []Loop{outer, inner} {
		if f := factors[i]; f.value <= 0 {
			s.refuse(step, "", "factor %d is %d; wanted a positive number", i, f.value)
			return none
		}
		parts := s.splitLoop(step, l, Guard, []Int{{}, factors[i]})
		if parts == nil {
			return none
		}
		fors = append(fors, parts...)
	}
	order := []*tir.For{fors[0], fors[2], fors[1], fors[3]} // io, jo, ii, ji
	loops := make([]Loop, len(order))
	for i, f := range order {
		loops[i].v = f.Var
	}
	if !s.reorderLoops(step, loops) {
		return none
	}
	out := s.loopsOver(order)
	s.record(step, operands(outer, inner, factors), out)
	return out
}
