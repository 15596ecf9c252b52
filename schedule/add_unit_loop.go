package schedule

import "github.com/texel-ml/texel/tir"

// AddUnitLoop puts a loop of one iteration directly around block b, so that other blocks can be computed there:
//
//	B()          for u in 0..1
//	      →        B()
func (s *Schedule) AddUnitLoop(b Block) Loop {
	p := s.block("add_unit_loop", b)
	if p == nil {
		return Loop{}
	}
	f := &tir.For{Var: s.newVar("u"), Min: tir.I(0), Extent: tir.I(1), Body: p.realize}
	s.swap(p.realize, f)
	out := s.loopOver(f.Var)
	s.record("add_unit_loop", operands(b), out)
	return out
}
