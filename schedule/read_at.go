package schedule

import (
	"slices"

	"github.com/texel-ml/texel/tir"
)

// ReadAt lets all blocks inside loop l read the operand buffer number n of block b, one of them, through a new buffer in
// the given scope. Each iteration of l first copies what its blocks read. It returns the copying block.
//
//	for io                              for io
//	  for ii, k: C(8·io + ii, k)    →     for c0, c1: A_shared(8·io + c0, c1): A_shared[…] = A[…]
//	                                      for ii, k: C(8·io + ii, k), which reads A_shared
//
// It refuses when a block inside l writes the buffer, unless it stands before all that read it, and when what is read has
// no constant extent.
func (s *Schedule) ReadAt(l Loop, b Block, n int, scope tir.Scope) Block {
	const step = "read_at"
	p, at := s.insideLoop(step, b, l)
	if p == nil {
		return Block{}
	}
	buf := operand(p.realize.Block, n)
	if buf == nil {
		s.refuse(step, b.name, "reads no buffer number %d", n)
		return Block{}
	}
	users := s.users(buf)
	var readers []*place
	for _, u := range users {
		if !reads(u.realize.Block, buf) || !slices.Contains(u.path, tir.Stmt(at.loop)) {
			continue
		}
		if u.realize.Block.Opaque {
			s.refuse(step, b.name, "block %s reads %s inside %s and is opaque", u.realize.Block.Name, buf.Name, l.v.Name)
			return Block{}
		}
		readers = append(readers, u)
	}
	name := s.readThrough(step, b, buf, scope, readers, users, bodyOf(at), false)
	if name == "" {
		return Block{}
	}
	out := s.blockNamed(name)
	s.record(step, operands(l, b, n, string(scope)), out)
	return out
}

// insideLoop finds a block and a loop around it, both in the function's own scope.
func (s *Schedule) insideLoop(step string, b Block, l Loop) (p, at *place) {
	p = s.plainBlock(step, b)
	at = s.loop(step, l)
	if p == nil || at == nil {
		return nil, nil
	}
	if !slices.Contains(p.path, tir.Stmt(at.loop)) {
		s.refuse(step, b.name, "does not stand inside %s", l.v.Name)
		return nil, nil
	}
	return p, at
}

// bodyOf is the level of a loop's body.
func bodyOf(at *place) *level {
	return levelOf(append(slices.Clone(at.path), at.loop.Body))
}
