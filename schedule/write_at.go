package schedule

import (
	"slices"

	"github.com/texel-ml/texel/tir"
)

// WriteAt lets the blocks inside loop l that write the n-th of the buffers that block b writes, b among them, write to a
// new buffer in the given scope; blocks inside l that read it read the new one. Each iteration of l then copies what was
// written. It returns the copying block.
//
//	for io                              for io
//	  for ii, k: C(8·io + ii, k)    →     for ii, k: C(8·io + ii, k), which writes C_local
//	                                      for c0, c1: C_local_back(8·io + c0, c1): C[…] = C_local[…]
//
// It refuses when l stands inside a loop that drives a reduction of b, when a block outside l writes the buffer too, and
// when the first block inside that uses the buffer does not give it its value.
func (s *Schedule) WriteAt(l Loop, b Block, n int, scope tir.Scope) Block {
	const step = "write_at"
	p, at := s.insideLoop(step, b, l)
	if p == nil {
		return Block{}
	}
	buf := result(p.realize.Block, n)
	if buf == nil {
		s.refuse(step, b.name, "writes no buffer number %d", n)
		return Block{}
	}
	body := bodyOf(at)
	var writers, readers []*place
	last := 0
	for _, u := range s.users(buf) {
		block := u.realize.Block
		inside := slices.Contains(u.path, tir.Stmt(at.loop))
		first := len(writers)+len(readers) == 0
		switch {
		case !inside && writes(block, buf):
			s.refuse(step, b.name, "block %s writes %s outside %s", block.Name, buf.Name, l.v.Name)
			return Block{}
		case !inside:
		case block.Opaque:
			s.refuse(step, b.name, "block %s uses %s inside %s and is opaque", block.Name, buf.Name, l.v.Name)
			return Block{}
		case first && (!writes(block, buf) || block.Init == nil && loads(block.Body, buf)):
			s.refuse(step, b.name, "block %s inside %s uses a value of %s from before; wanted one that is written inside first", block.Name, l.v.Name, buf.Name)
			return Block{}
		case writes(block, buf):
			writers = append(writers, u)
			last = max(last, body.index(u))
		default:
			readers = append(readers, u)
		}
	}
	name := s.writeThrough(step, b, buf, scope, writers, readers, body, last, false)
	if name == "" {
		return Block{}
	}
	out := s.blockNamed(name)
	s.record(step, operands(l, b, n, string(scope)), out)
	return out
}
