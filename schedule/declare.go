package schedule

import (
	"errors"

	"github.com/texel-ml/texel/diag"
	"github.com/texel-ml/texel/tir"
	"github.com/texel-ml/texel/tir/verify"
)

// declare widens what blocks say that they read, where a step left that too narrow: of a block around blocks to all of a
// buffer, of others to what their statements read. Conditions limit what is read, and not every box around that can be told.
// A step calls declareAnew itself only where it makes new variables for a block that may stand by itself.
func (s *Schedule) declare() {
	if s.fn != s.legal && s.nested() {
		s.declareAnew()
	}
}

// declareAnew is declare whether blocks stand in blocks or not. The blocks are those that the verifier names, one by one.
func (s *Schedule) declareAnew() {
	if s.err != nil {
		return
	}
	made, widened := s.fn, map[string]bool{}
	for {
		err := verify.Since(s.legal, s.fn)
		if err == nil {
			return
		}
		var e *diag.Error
		if !errors.As(err, &e) || widened[e.Node] {
			s.fn = made // it is not about what is declared
			return
		}
		widened[e.Node] = true
		s.widen(e.Node)
	}
}

// widen widens what a block says that it reads.
func (s *Schedule) widen(block string) {
	p := s.findBlock(block)
	if p == nil || p.realize.Block.Opaque {
		return
	}
	b := *p.realize.Block
	if holdsBlock(b.Body) {
		b.Reads = nil
		for _, r := range p.realize.Block.Reads {
			if !reads(&b, r.Buffer) {
				b.Reads = append(b.Reads, tir.Whole(r.Buffer))
			}
		}
	} else {
		b.Reads, _ = tir.Accesses(&b)
	}
	s.swap(p.realize, &tir.BlockRealize{Values: p.realize.Values, Where: p.realize.Where, Block: &b})
}

// nested reports whether a block stands around another one.
func (s *Schedule) nested() bool {
	found := false
	tir.Walk(s.fn.Root().Body, func(n any) bool {
		r, ok := n.(*tir.BlockRealize)
		found = found || ok && !r.Block.Opaque && holdsBlock(r.Block.Body)
		return !found && !ok
	})
	return found
}
