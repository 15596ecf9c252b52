package schedule

import (
	"github.com/texel-ml/texel/tir"
	"github.com/texel-ml/texel/tir/verify"
)

// declare widens what blocks around blocks say that they read, where a step left that too narrow: to all of a buffer. What
// such a block reads is what the blocks inside read where their conditions hold, and not every box around that can be told.
func (s *Schedule) declare() {
	if s.err != nil || !s.nested() || verify.Verify(s.fn) == nil {
		return
	}
	m := &tir.Mapper{Stmt: func(st tir.Stmt) tir.Stmt {
		r, ok := st.(*tir.BlockRealize)
		if !ok || r.Block.Opaque || !holdsBlock(r.Block.Body) {
			return st
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
