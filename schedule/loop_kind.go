package schedule

import "github.com/texel-ml/texel/tir"

// setKind changes a loop's kind. Parallel and vectorized loops may bind only spatial variables: their iterations are
// then independent.
func (s *Schedule) setKind(step string, l Loop, kind tir.LoopKind) {
	p := s.loop(step, l)
	if p == nil {
		return
	}
	if kind != tir.Parallel {
		if _, ok := tir.AsInt(p.loop.Extent); !ok {
			s.refuse(step, l.v.Name, "wants a constant extent")
			return
		}
	}
	if kind != tir.Unrolled {
		for _, r := range realizesIn(p.loop.Body) {
			for i, value := range r.realize.Values {
				iv := r.realize.Block.Iters[i]
				if iv.Kind != tir.Spatial && tir.Uses(value, l.v) {
					s.refuse(step, l.v.Name, "drives the %v variable %s of block %s; wanted only spatial ones",
						iv.Kind, iv.Var.Name, r.realize.Block.Name)
					return
				}
			}
			if r.realize.Block.Opaque && kind == tir.Vectorized {
				s.refuse(step, l.v.Name, "block %s is opaque", r.realize.Block.Name)
				return
			}
		}
	}
	c := *p.loop
	c.Kind = kind
	s.setRoot(swap(s.fn.Root().Body, p.loop, &c), s.fn.Root().Allocs)
	s.record(step, operands(l))
}
