package schedule

import (
	"github.com/texel-ml/texel/tir"
)

// Block returns the block named name. The refusal of another name lists those there are.
func (s *Schedule) Block(name string) Block {
	if s.err == nil && s.findBlock(name) == nil {
		s.refuse("get_block", name, "no block has this name%s", thereAre(name, s.blockNames()))
	}
	if s.err != nil {
		return Block{name: name}
	}
	b := s.blockNamed(name)
	s.record("get_block", operands(name), b)
	return b
}

// Loops returns the loops around b, outermost first. Of a block inside another block, these are the loops inside the
// other one.
func (s *Schedule) Loops(b Block) List[Loop] {
	const step = "get_loops"
	p := s.block(step, b)
	if p == nil {
		return List[Loop]{}
	}
	list := s.loopsOver(p.loops)
	s.record(step, operands(b), list)
	return List[Loop]{s, step, b.name, list}
}

// Producers returns the blocks that write what b reads, in the order in which they run. Like all queries it looks at the
// blocks of b's scope: those that stand beside b in the root block, or in the same block around.
func (s *Schedule) Producers(b Block) List[Block] {
	const step = "get_producers"
	p := s.block(step, b)
	if p == nil {
		return List[Block]{}
	}
	list := s.blocksOf(producersOf(s.scopeOf(p), p.realize.Block))
	s.record(step, operands(b), list)
	return List[Block]{s, step, b.name, list}
}

// Consumers returns the blocks that read what b writes, in the order in which they run.
func (s *Schedule) Consumers(b Block) List[Block] {
	const step = "get_consumers"
	p := s.block(step, b)
	if p == nil {
		return List[Block]{}
	}
	list := s.blocksOf(consumersOf(s.scopeOf(p), p.realize.Block))
	s.record(step, operands(b), list)
	return List[Block]{s, step, b.name, list}
}

// ChildBlocks returns the blocks directly inside b, in the order in which they run; the blocks inside those are not
// among them. An opaque block has none.
func (s *Schedule) ChildBlocks(b Block) List[Block] {
	const step = "get_child_blocks"
	p := s.block(step, b)
	if p == nil {
		return List[Block]{}
	}
	var inside []*place
	if block := p.realize.Block; !block.Opaque {
		inside = append(realizesIn(block.Init), realizesIn(block.Body)...)
	}
	list := s.blocksOf(inside)
	s.record(step, operands(b), list)
	return List[Block]{s, step, b.name, list}
}

// LoopBlocks is ChildBlocks of a loop: the blocks inside l, without those inside other blocks.
func (s *Schedule) LoopBlocks(l Loop) List[Block] {
	const step = "get_child_blocks"
	p := s.loop(step, l)
	if p == nil {
		return List[Block]{}
	}
	list := s.blocksOf(realizesIn(p.loop.Body))
	s.record(step, operands(l), list)
	return List[Block]{s, step, l.v.Name, list}
}

// getChildBlocks applies get_child_blocks to a block or a loop.
func getChildBlocks(c *Call) {
	if c.Len() > 0 {
		if l, ok := c.operand(0).(Loop); ok {
			c.Give(c.S.LoopBlocks(l))
			return
		}
	}
	c.Give(c.S.ChildBlocks(c.Block(0)))
}

// OutputBlocks returns the blocks that write a result of the function, in the order in which they run; the blocks inside
// those are not among them.
func (s *Schedule) OutputBlocks() List[Block] {
	const step = "get_output_blocks"
	if s.err != nil {
		return List[Block]{}
	}
	results := s.fn.Params[len(s.fn.Params)-s.fn.Outputs:]
	var found []*place
	for _, c := range realizesIn(s.fn.Root().Body) {
		for _, buf := range results {
			if writes(c.realize.Block, buf) {
				found = append(found, c)
				break
			}
		}
	}
	list := s.blocksOf(found)
	s.record(step, nil, list)
	return List[Block]{s, step, "", list}
}

// scopeOf returns the statement that holds the blocks beside p: the body of the block around.
func (s *Schedule) scopeOf(p *place) tir.Stmt {
	around := s.fn.Root()
	if r := p.scope(); r != nil {
		around = r.Block
	}
	for _, st := range []tir.Stmt{around.Init, around.Body} {
		for _, c := range realizesIn(st) {
			if c.realize == p.realize {
				return st
			}
		}
	}
	return around.Body
}

// producersOf returns the blocks of a scope that write what b reads.
func producersOf(scope tir.Stmt, b *tir.Block) []*place {
	return among(scope, b, func(c *tir.Block) bool { return feeds(c, b) })
}

// consumersOf returns the blocks of a scope that read what b writes.
func consumersOf(scope tir.Stmt, b *tir.Block) []*place {
	return among(scope, b, func(c *tir.Block) bool { return feeds(b, c) })
}

func among(scope tir.Stmt, b *tir.Block, match func(*tir.Block) bool) []*place {
	var list []*place
	for _, c := range realizesIn(scope) {
		if c.realize.Block != b && match(c.realize.Block) {
			list = append(list, c)
		}
	}
	return list
}

// feeds reports whether to reads a buffer that from writes.
func feeds(from, to *tir.Block) bool {
	for _, r := range to.Reads {
		if writes(from, r.Buffer) {
			return true
		}
	}
	return false
}

// blocksOf returns handles of the blocks at places, in order.
func (s *Schedule) blocksOf(places []*place) []Block {
	list := make([]Block, len(places))
	for i, p := range places {
		list[i] = s.blockNamed(p.realize.Block.Name)
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
