package schedule

import (
	"github.com/texel-ml/texel/tir"
	"github.com/texel-ml/texel/tir/verify"
)

// declare widens what blocks say that they read, where a step left that too narrow: of a block around blocks to all of a
// buffer, of others to what their statements read. Conditions limit what is read, and not every box around that can be told.
func (s *Schedule) declare() {
	if s.err != nil || !s.nested() {
		return
	}
	s.declareAnew()
}

// declareAnew is declare for steps that make new variables for a block.
func (s *Schedule) declareAnew() {
	if s.err != nil || verify.Verify(s.fn) == nil {
		return
	}
	m := &tir.Mapper{Stmt: func(st tir.Stmt) tir.Stmt {
		r, ok := st.(*tir.BlockRealize)
		if !ok || r.Block.Opaque {
			return st
		}
		if !holdsBlock(r.Block.Body) {
			b := *r.Block
			b.Reads, _ = tir.Accesses(&b)
			return &tir.BlockRealize{Values: r.Values, Where: r.Where, Block: &b}
		}
		b := *r.Block
		b.Reads = nil
		seen := map[*tir.Buffer]bool{}
		for _, g := range r.Block.Reads {
			if !seen[g.Buffer] {
				b.Reads = append(b.Reads, tir.Whole(g.Buffer))
			}
			seen[g.Buffer] = true
		}
		return &tir.BlockRealize{Values: r.Values, Where: r.Where, Block: &b}
	}}
	wide := *s.fn
	root := *s.fn.Root()
	root.Body = m.MapStmt(root.Body)
	wide.Body = &tir.BlockRealize{Block: &root}
	if verify.Verify(&wide) == nil {
		s.fn = &wide
	}
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
