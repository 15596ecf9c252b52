package schedule

import (
	"slices"

	"github.com/texel-ml/texel/tir"
)

// CacheInplace lets block b, which changes a buffer in place, work on a copy in the given scope: the n-th of the buffers
// that it writes. One new block fills the copy before b, another copies it back behind. It returns both.
//
//	for i: U(i): A[i] = A[i] + …     →     for c0: A_local(c0): A_local[c0] = A[c0]
//	                                       for i: U(i): A_local[i] = A_local[i] + …
//	                                       for c0: A_local_back(c0): A[c0] = A_local[c0]
//
// The copies stand around b's nest; where another block of the nest uses the buffer, they stand around b there. It refuses
// an opaque block and one that does not read what it writes: that is for CacheWrite, as is a reduction with its initial
// value.
func (s *Schedule) CacheInplace(b Block, n int, scope tir.Scope) (fill, back Block) {
	const step = "cache_inplace"
	p := s.plainBlock(step, b)
	if p == nil {
		return Block{}, Block{}
	}
	block := p.realize.Block
	buf := result(block, n)
	if buf == nil || block.Init != nil || !loads(block.Body, buf) {
		s.refuse(step, b.name, "does not change a buffer number %d in place; wanted a block that reads what it writes, without an initial value", n)
		return Block{}, Block{}
	}
	users := s.users(buf)
	others := slices.DeleteFunc(slices.Clone(users), func(u *place) bool { return u.realize == p.realize })
	l := s.levelAround([]*place{p}, others)
	at := l.index(p)
	for _, u := range others {
		if l.index(u) == at {
			s.refuse(step, b.name, "block %s uses %s inside the copies", u.realize.Block.Name, buf.Name)
			return Block{}, Block{}
		}
	}
	a := analyzer(l.loops)
	below := []*place{l.below(p)}
	part, ok := partsOf(a, below, buf, true)
	if ok && reads(block, buf) {
		if read, fine := partsOf(a, below, buf, false); fine {
			part.box, ok = a.Union(part.box, read.box)
		} else {
			ok = false
		}
	}
	if !ok {
		s.refuse(step, b.name, "the part of %s that is changed has no constant extent, or is empty", buf.Name)
		return Block{}, Block{}
	}
	c := s.newCache(step, buf, part.box, scope, false)
	if c == nil {
		return Block{}, Block{}
	}
	written := s.writtenBefore(l, at, users, buf, part.box)
	in, out := s.blockName(c.to.Name), s.blockName(c.to.Name+"_back")
	l.replace(p.realize, c.use(p.realize))
	l.insert(at+1, s.copy(out, c, c.to, buf, l.loops))
	l.insert(at, s.copy(in, c, buf, c.to, l.loops))
	s.setLevel(l, c.to)
	if !s.unshared(step, b.name, c.to) || !written && !s.needs(step, b.name, in) {
		return Block{}, Block{}
	}
	fill, back = s.blockNamed(in), s.blockNamed(out)
	s.record(step, operands(b, n, string(scope)), fill, back)
	return fill, back
}

// copiesBack reports whether run x, which is number at, fills a copy of buf and w copies it back, with nothing between
// them that touches buf: the blocks between work on the copy in place of buf.
func (l *lawyer) copiesBack(at int, x, w *instances, buf *tir.Buffer) bool {
	from, to := copied(x.block)
	again, back := copied(w.block)
	if from != buf || back != buf || to == nil || to != again {
		return false
	}
	for _, r := range l.runs[at+1:] {
		if r == w {
			return true
		}
		for _, a := range r.effects {
			if a.buffer == buf {
				return false
			}
		}
	}
	return false
}

// copied returns the buffers of a block that copies elements to the same place of another buffer, or nil.
func copied(b *tir.Block) (from, to *tir.Buffer) {
	st, ok := b.Body.(*tir.Store)
	if !ok {
		return nil, nil
	}
	ld, ok := st.Value.(*tir.Load)
	if !ok || len(ld.Indices) != len(st.Indices) || len(ld.Indices) != len(b.Iters) {
		return nil, nil
	}
	for i, iv := range b.Iters {
		if st.Indices[i] != tir.Expr(iv.Var) || ld.Indices[i] != tir.Expr(iv.Var) {
			return nil, nil
		}
	}
	return ld.Buffer, st.Buffer
}
