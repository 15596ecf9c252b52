package schedule

import (
	"slices"

	"github.com/texel-ml/texel/tir"
)

// CacheWrite lets block b write to a new buffer in the given scope, and adds a block that copies it to where b wrote
// before. It returns the copying block.
//
//	for i, j: C(i, j): C[i, j] = …     →     for i, j: C(i, j): C_local[i, j] = …
//	                                         for c0, c1: C_local_back(c0, c1): C[c0, c1] = C_local[c0, c1]
//
// The copying block stands behind b's nest and copies what b wrote; where another block of the nest reads the buffer, it
// stands there, before that block, and copies what b wrote in one iteration of the loops that both share.
//
// It refuses an opaque block, a buffer that another block also writes (a reduction is cached before it is decomposed), and
// a copy inside a loop that drives a reduction of b.
func (s *Schedule) CacheWrite(b Block, scope tir.Scope) Block {
	return s.cacheWrite(b, 0, scope, Caching{}, operands(b, string(scope)))
}

// CacheWriteWith is CacheWrite for the n-th of the buffers that b writes. The consumers read the cache, all others the
// buffer.
func (s *Schedule) CacheWriteWith(b Block, n int, scope tir.Scope, with Caching) Block {
	return s.cacheWrite(b, n, scope, with, operands(append([]any{b, n, string(scope)}, with.operands()...)...))
}

// cacheWriteCall reads the operands of a trace: the number of the buffer may be left out.
func cacheWriteCall(c *Call) {
	if c.Len() > 1 {
		if scope, short := c.operand(1).(string); short {
			c.Give(c.S.CacheWrite(c.Block(0), tir.Scope(scope)))
			return
		}
	}
	c.Give(c.S.CacheWriteWith(c.Block(0), c.Number(1), tir.Scope(c.Text(2)), caching(c, 3)))
}

func (s *Schedule) cacheWrite(b Block, n int, scope tir.Scope, with Caching, args []Value) Block {
	const step = "cache_write"
	p := s.plainBlock(step, b)
	if p == nil {
		return Block{}
	}
	buf := result(p.realize.Block, n)
	if buf == nil {
		s.refuse(step, b.name, "writes no buffer number %d", n)
		return Block{}
	}
	var takers, rest []*place // who reads the cache, and who reads the buffer
	for _, c := range with.Consumers {
		q := s.plainBlock(step, c)
		if q == nil {
			return Block{}
		}
		if !reads(q.realize.Block, buf) || q.realize == p.realize {
			s.refuse(step, c.name, "does not read %s; wanted consumers of it", buf.Name)
			return Block{}
		}
		takers = append(takers, q)
	}
	for _, u := range s.users(buf) {
		switch {
		case u.realize == p.realize:
		case writes(u.realize.Block, buf):
			s.refuse(step, b.name, "%s is also written by block %s; wanted one writer (cache_write before decompose_reduction)", buf.Name, u.realize.Block.Name)
			return Block{}
		case !slices.ContainsFunc(takers, func(t *place) bool { return t.realize == u.realize }):
			rest = append(rest, u)
		}
	}
	l := s.levelAround([]*place{p}, rest)
	at := l.index(p)
	for _, r := range rest {
		if l.index(r) <= at {
			s.refuse(step, b.name, "block %s reads %s before the copy could be made; wanted it among the consumers", r.realize.Block.Name, buf.Name)
			return Block{}
		}
	}
	name := s.writeThrough(step, b, buf, scope, []*place{p}, takers, l, at, with.Region)
	if name == "" {
		return Block{}
	}
	out := s.blockNamed(name)
	s.record(step, args, out)
	return out
}

// writeThrough adds a cache of buf that writers use instead, and readers too, and a block behind statement at of the level
// that copies it to buf. It returns the name of the block, or "" when it refuses.
func (s *Schedule) writeThrough(step string, b Block, buf *tir.Buffer, scope tir.Scope, writers, readers []*place, l *level, at int, own bool) string {
	var below []*place
	for _, w := range writers {
		if loop := reduces(w.realize, l.loops); loop != nil {
			s.refuse(step, b.name, "loop %s around the copy drives a reduction of block %s; wanted a copy of the result", loop.Var.Name, w.realize.Block.Name)
			return ""
		}
		below = append(below, l.below(w))
	}
	part, ok := partsOf(analyzer(l.loops), below, buf, true)
	if !ok {
		s.refuse(step, b.name, "the part of %s that is written has no constant extent, or is empty", buf.Name)
		return ""
	}
	c := s.newCache(step, buf, part.box, scope, own)
	if c == nil {
		return ""
	}
	var outside []*place // of the level
	for _, u := range append(slices.Clone(writers), readers...) {
		if !slices.Contains(u.path, l.whole) {
			outside = append(outside, u)
			continue
		}
		l.replace(u.realize, c.use(u.realize))
	}
	name := s.blockName(c.to.Name + "_back")
	l.insert(at+1, s.copy(name, c, c.to, buf, l.loops))
	s.setLevel(l, c.to)
	for _, u := range outside {
		s.swap(u.realize, c.use(u.realize))
	}
	if !s.unshared(step, b.name, c.to) || !part.exact && !s.needs(step, b.name, name) {
		return ""
	}
	return name
}

// reduces returns the first of loops that drives a variable of r's block that is not spatial, or nil.
func reduces(r *tir.BlockRealize, loops []*tir.For) *tir.For {
	for i, iv := range r.Block.Iters {
		if iv.Kind == tir.Spatial {
			continue
		}
		for _, f := range loops {
			if tir.Uses(r.Values[i], f.Var) {
				return f
			}
		}
	}
	return nil
}
