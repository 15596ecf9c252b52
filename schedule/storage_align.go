package schedule

import (
	"fmt"
	"math"

	"github.com/texel-ml/texel/tir"
)

// StorageAlign leaves room between the rows of a buffer: the stride of one of its axes, in elements, becomes the least that
// is offset more than a multiple of factor. The buffer is the n-th of those that block b writes, an intermediate one; a
// negative axis counts from behind the last. Indices stay as they are.
//
//	alloc S: float32[16, 32] shared   →   axis 0, factor 32, offset 1   →   alloc S: float32[16, 32] strides [33, 1] shared
//
// so that the elements of a column of S, 33 apart, lie in different banks. Loop passes that shrink the buffer to what is
// used of it keep the alignment.
//
// It refuses the last axis, whose elements lie side by side for vectors, a texture, a global buffer, and one with strides
// already.
func (s *Schedule) StorageAlign(b Block, n, axis, factor, offset int) {
	const step = "storage_align"
	buf := s.bufferOf(step, b, Write, n)
	if buf == nil {
		return
	}
	if buf.Scope == tir.Global || buf.Scope == tir.Texture {
		s.refuse(step, b.name, "%s is in scope %s; wanted shared, local or scratch memory (see set_scope): kernels pass buffers on without room between rows", buf.Name, buf.Scope)
		return
	}
	if buf.Strides != nil {
		s.refuse(step, b.name, "%s has strides already", buf.Name)
		return
	}
	rank := len(buf.Shape)
	if axis < 0 {
		axis += rank
	}
	if axis < 0 || axis >= rank-1 {
		s.refuse(step, b.name, "axis %d of %s, which has %d; wanted one before the last", axis, buf.Name, rank)
		return
	}
	if factor < 1 || factor > math.MaxInt16 || offset < 0 || offset >= factor {
		s.refuse(step, b.name, "factor %d and offset %d; wanted a factor from 1 to %d and an offset from 0 to below it", factor, offset, math.MaxInt16)
		return
	}
	to := *buf
	to.Strides = tir.AlignedStrides(buf.Shape, axis, factor, offset)
	s.replaceBuffer(buf, &to)
	p := s.block(step, b)
	s.setAttrs(p, func(attrs map[string]string) {
		attrs[tir.StorageAlign] = fmt.Sprintf("%d %d %d %d", n, axis, factor, offset)
	})
	s.record(step, operands(b, n, axis, factor, offset))
}
