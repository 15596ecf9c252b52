package schedule

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
	s.record("annotate", operands(l, key, value))
}
