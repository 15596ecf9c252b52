package schedule

import (
	"strconv"

	"github.com/texel-ml/texel/tir"
)

// Block returns the block named name.
func (s *Schedule) Block(name string) Block {
	b := Block{name: name}
	if s.block("get_block", b) == nil {
		return b
	}
	b.id = s.id("b")
	s.record("get_block", nil, []string{strconv.Quote(name)}, b.id)
	return b
}

// Loops returns the loops around b, outermost first.
func (s *Schedule) Loops(b Block) []Loop {
	p := s.block("get_loops", b)
	if p == nil {
		return nil
	}
	list := s.handles(p.loops)
	s.record("get_loops", []string{b.id}, nil, loopIDs(list)...)
	return list
}

// handles returns handles of loops that the trace has not named yet, in order.
func (s *Schedule) handles(fors []*tir.For) []Loop {
	base := s.named("l")
	list := make([]Loop, len(fors))
	for i, f := range fors {
		list[i] = Loop{v: f.Var, id: "l" + strconv.Itoa(base+i)}
	}
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
