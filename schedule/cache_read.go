package schedule

import "github.com/texel-ml/texel/tir"

// CacheRead lets block b read its operand buffer number i (counted among the distinct buffers that it reads) through a
// new buffer in the given scope, and adds a block that fills it. It returns the filling block, which stands before b's
// nest.
func (s *Schedule) CacheRead(b Block, i int, scope tir.Scope) Block {
	p := s.block("cache_read", b)
	if p == nil {
		return Block{}
	}
	buf := operand(p.realize.Block, i)
	if buf == nil || p.realize.Block.Opaque {
		s.refuse("cache_read", b.name, "has no operand buffer %d that can be cached", i)
		return Block{}
	}
	cache := s.cacheOf("cache_read", buf, scope)
	if cache == nil {
		return Block{}
	}
	s.changeBlock(p.realize, buf, cache)
	name := s.blockName(cache.Name)
	top := s.topOf(b.name)
	copyNest := s.copyNest(name, buf, cache)
	s.setRoot(swap(s.fn.Root().Body, top, &tir.Seq{Stmts: []tir.Stmt{copyNest, top}}), append(append([]*tir.Buffer{}, s.fn.Root().Allocs...), cache))
	s.flattenRoot()
	out := s.blockNamed(name)
	s.record("cache_read", operands(b, i, string(scope)), out)
	return out
}
