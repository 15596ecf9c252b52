package schedule

import "github.com/texel-ml/texel/tir"

// SetScope moves the buffer that block b writes to another scope. The buffer must be an intermediate one.
//
//	alloc T: float32[5, 7, 4]   →   "local"            →   alloc T: float32[5, 7, 4] local
//	                            →   "global.texture"   →   alloc T: float32[5, 7, 4] texture fold [1] [0] []
//
// It refuses a buffer with strides of its own, or of a block around, where the scope is global or a texture, a rolling buffer
// where it is global, a last axis that no texel holds, and a buffer that iterations which run at the same time would share.
func (s *Schedule) SetScope(b Block, scope tir.Scope) {
	s.setScope(b, 0, scope, operands(b, string(scope)))
}

// SetScopeOf is SetScope for the n-th of the buffers that block b writes.
func (s *Schedule) SetScopeOf(b Block, n int, scope tir.Scope) {
	s.setScope(b, n, scope, operands(b, n, string(scope)))
}

// setScopeCall reads the operands of a trace: the number of the buffer may be left out.
func setScopeCall(c *Call) {
	if c.Len() > 1 {
		if scope, short := c.operand(1).(string); short {
			c.S.SetScope(c.Block(0), tir.Scope(scope))
			return
		}
	}
	c.S.SetScopeOf(c.Block(0), c.Number(1), tir.Scope(c.Text(2)))
}

func (s *Schedule) setScope(b Block, n int, scope tir.Scope, args []Value) {
	const step = "set_scope"
	p := s.block(step, b)
	if p == nil {
		return
	}
	buf := result(p.realize.Block, n)
	if buf == nil {
		s.refuse(step, b.name, "writes no buffer number %d", n)
		return
	}
	for _, q := range s.fn.Params {
		if q == buf {
			s.refuse(step, b.name, "writes the parameter %s; wanted an intermediate buffer", buf.Name)
			return
		}
	}
	if scope == tir.Global && p.realize.Block.Attrs[tir.RollingBuffer] != "" {
		s.refuse(step, b.name, "%s is a rolling buffer; wanted shared, local or scratch memory", buf.Name)
		return
	}
	to := *buf
	if !s.inScope(step, &to, scope) {
		return
	}
	if to.Scope == tir.Texture || to.Scope == tir.Global {
		if to.Strides != nil {
			s.refuse(step, b.name, "%s has strides; wanted a buffer without, to be global or a texture", buf.Name)
			return
		}
		if !s.isIntermediate(buf) {
			s.refuse(step, b.name, "%s is of a block around; wanted scope shared, local or scratch: kernels pass on what the function allocates", buf.Name)
			return
		}
	}
	s.replaceBuffer(buf, &to)
	if !s.unshared(step, b.name, &to) {
		return
	}
	s.record(step, args)
}
