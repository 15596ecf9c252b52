package schedule

import "github.com/texel-ml/texel/tir"

// Attempt takes steps, and undoes all of them when one is refused. It reports whether they stand. A rule that knows a
// better and a simpler form tries the better one this way.
func (s *Schedule) Attempt(steps func()) bool {
	if s.err != nil {
		return false
	}
	before, taken := *s, len(s.trace.Steps)
	steps()
	if s.err == nil {
		return true
	}
	s.trace.Steps = s.trace.Steps[:taken]
	*s = before
	return false
}

// Definition returns block b as it is now: what was inlined stands in its body.
func (s *Schedule) Definition(b Block) *tir.Block {
	p := s.block("definition", b)
	if p == nil {
		return nil
	}
	return p.realize.Block
}

// Has reports whether the function still has a block named name.
func (s *Schedule) Has(name string) bool {
	return s.err == nil && s.findBlock(name) != nil
}
