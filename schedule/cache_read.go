package schedule

import "github.com/texel-ml/texel/tir"

// CacheRead lets block b read its operand buffer number i (counted among the distinct buffers that it reads) through a
// new buffer in the given scope, and adds a block that fills it. It returns the filling block.
//
//	for i, j: C(i, j): … B[…] …     →     for c0, c1: B_local(c0, c1): B_local[c0, c1] = B[c0, c1]
//	                                      for i, j: C(i, j): … B_local[…] …
//
// The filling block stands before b's nest and copies the whole buffer. Where the buffer is written in b's own nest, it
// stands there, behind the block that writes it, and copies what b reads in one iteration of the loops that both share:
//
//	for io                                for io
//	  for a: A(8·io + a)                    for a: A(8·io + a)
//	  for ii: B(8·io + ii)          →       for c0: A_local(8·io + c0)
//	                                        for ii: B(8·io + ii)
//
// It refuses an opaque block, one that also writes the buffer (see CacheInplace), and a buffer that is written between
// the copy and its use.
func (s *Schedule) CacheRead(b Block, i int, scope tir.Scope) Block {
	return s.CacheReadWith(b, i, scope, Caching{})
}

// CacheReadWith is CacheRead for several blocks, or for the part of the buffer that they read.
func (s *Schedule) CacheReadWith(b Block, i int, scope tir.Scope, with Caching) Block {
	const step = "cache_read"
	p := s.plainBlock(step, b)
	if p == nil {
		return Block{}
	}
	buf := operand(p.realize.Block, i)
	if buf == nil {
		s.refuse(step, b.name, "has no operand buffer %d that can be cached", i)
		return Block{}
	}
	readers := []*place{p}
	for _, c := range with.Consumers {
		q := s.plainBlock(step, c)
		if q == nil {
			return Block{}
		}
		if !reads(q.realize.Block, buf) {
			s.refuse(step, c.name, "does not read %s; wanted consumers of it", buf.Name)
			return Block{}
		}
		if q.realize != p.realize {
			readers = append(readers, q)
		}
	}
	users := s.users(buf)
	var writers []*place
	for _, w := range users {
		if writes(w.realize.Block, buf) {
			writers = append(writers, w)
		}
	}
	l := s.levelAround(readers, writers)
	name := s.readThrough(step, b, buf, scope, readers, users, l, with.Region)
	if name == "" {
		return Block{}
	}
	out := s.blockNamed(name)
	s.record(step, operands(append([]any{b, i, string(scope)}, with.operands()...)...), out)
	return out
}

// readThrough adds a cache of buf that readers, which stand in a level, read instead, and a block in the level that fills
// it. It returns the name of the block, or "" when it refuses.
func (s *Schedule) readThrough(step string, b Block, buf *tir.Buffer, scope tir.Scope, readers, users []*place, l *level, own bool) string {
	first, last := len(l.stmts), 0
	var below []*place
	for _, c := range readers {
		if writes(c.realize.Block, buf) {
			s.refuse(step, c.realize.Block.Name, "reads %s and writes it; wanted cache_inplace", buf.Name)
			return ""
		}
		n := l.index(c)
		first, last = min(first, n), max(last, n)
		below = append(below, l.below(c))
	}
	for _, w := range users {
		if n := l.index(w); writes(w.realize.Block, buf) && n >= first && n <= last {
			s.refuse(step, b.name, "block %s writes %s between the copy and its use", w.realize.Block.Name, buf.Name)
			return ""
		}
	}
	box := whole(buf)
	written := s.writtenBefore(l, first, users, buf, box)
	if own || len(l.loops) > 0 || !written {
		part, ok := partsOf(analyzer(l.loops), below, buf, false)
		if !ok {
			s.refuse(step, b.name, "the part of %s that is read has no constant extent, or is empty", buf.Name)
			return ""
		}
		box = part.box
		written = written || s.writtenBefore(l, first, users, buf, box)
	}
	c := s.newCache(step, buf, box, scope, own)
	if c == nil {
		return ""
	}
	for _, r := range readers {
		l.replace(r.realize, c.use(r.realize))
	}
	name := s.blockName(c.to.Name)
	l.insert(first, s.copy(name, c, buf, c.to, l.loops))
	s.setLevel(l, c.to)
	if !s.unshared(step, b.name, c.to) || !written && !s.needs(step, b.name, name) {
		return ""
	}
	return name
}
