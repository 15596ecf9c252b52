package schedule

import "github.com/texel-ml/texel/tir"

// CacheWrite lets block b write to a new buffer in the given scope, and adds a block that copies it to where b wrote
// before. It returns the copying block, which stands after b's nest.
func (s *Schedule) CacheWrite(b Block, scope tir.Scope) Block {
	p := s.block("cache_write", b)
	if p == nil {
		return Block{}
	}
	block := p.realize.Block
	if block.Opaque || len(block.Writes) != 1 {
		s.refuse("cache_write", b.name, "writes %d regions or is opaque; wanted one region", len(block.Writes))
		return Block{}
	}
	buf := block.Writes[0].Buffer
	cache := s.cacheOf("cache_write", buf, scope)
	if cache == nil {
		return Block{}
	}
	s.changeBlock(p.realize, buf, cache)
	name := s.blockName(cache.Name + "_back")
	top := s.topOf(b.name)
	copyNest := s.copyNest(name, cache, buf)
	s.setRoot(swap(s.fn.Root().Body, top, &tir.Seq{Stmts: []tir.Stmt{top, copyNest}}), append(append([]*tir.Buffer{}, s.fn.Root().Allocs...), cache))
	s.flattenRoot()
	out := s.blockNamed(name)
	s.record("cache_write", operands(b, string(scope)), out)
	return out
}
