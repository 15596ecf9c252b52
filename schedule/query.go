package schedule

import "github.com/texel-ml/texel/tir"

// Block returns the block named name.
func (s *Schedule) Block(name string) Block {
	if s.block("get_block", Block{name: name}) == nil {
		return Block{name: name}
	}
	b := s.blockNamed(name)
	s.record("get_block", operands(name), b)
	return b
}

// Loops returns the loops around b, outermost first.
func (s *Schedule) Loops(b Block) []Loop {
	p := s.block("get_loops", b)
	if p == nil {
		return nil
	}
	list := s.loopsOver(p.loops)
	s.record("get_loops", operands(b), list)
	return list
}

// Same reports whether l and o are the same loop; handles of one loop may differ.
func (l Loop) Same(o Loop) bool { return l.v == o.v }

// Extent returns the number of iterations of l, or 0 when it is not constant.
func (s *Schedule) Extent(l Loop) int {
	p := s.loop("extent", l)
	if p == nil {
		return 0
	}
	n, _ := tir.AsInt(p.loop.Extent)
	return int(n)
}
