package schedule

import "github.com/texel-ml/texel/tir"

// SetScope moves the buffer that block b writes to another scope. The buffer must be an intermediate one.
func (s *Schedule) SetScope(b Block, scope tir.Scope) {
	p := s.block("set_scope", b)
	if p == nil {
		return
	}
	buf := p.realize.Block.Writes[0].Buffer
	for _, q := range s.fn.Params {
		if q == buf {
			s.refuse("set_scope", b.name, "writes the parameter %s; wanted an intermediate buffer", buf.Name)
			return
		}
	}
	c := *buf
	if !s.inScope("set_scope", &c, scope) {
		return
	}
	s.replaceBuffer(buf, &c)
	s.record("set_scope", operands(b, string(scope)))
}
