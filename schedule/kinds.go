package schedule

import "github.com/texel-ml/texel/tir"

// Parallel lets the iterations of l run at the same time on several workers.
func (s *Schedule) Parallel(l Loop) { s.setKind("parallel", l, tir.Parallel) }

// Vectorize runs the iterations of l as lanes of vectors.
func (s *Schedule) Vectorize(l Loop) { s.setKind("vectorize", l, tir.Vectorized) }

// Unroll writes the body of l once for each iteration.
func (s *Schedule) Unroll(l Loop) { s.setKind("unroll", l, tir.Unrolled) }

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
	s.record(step, []string{l.id}, nil)
}

// Annotate sets an attribute of a loop, which the loop passes may read.
func (s *Schedule) Annotate(l Loop, key, value string) {
	p := s.loop("annotate", l)
	if p == nil {
		return
	}
	c := *p.loop
	c.Attrs = cloneAttrs(c.Attrs)
	c.Attrs[key] = value
	s.setRoot(swap(s.fn.Root().Body, p.loop, &c), s.fn.Root().Allocs)
	s.record("annotate", []string{l.id}, []string{`"` + key + `"`, `"` + value + `"`})
}
