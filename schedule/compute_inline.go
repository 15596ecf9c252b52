package schedule

import "github.com/texel-ml/texel/tir"

// ComputeInline puts the value that block b computes into every block that reads it, and removes b and its buffer. b
// must be elementwise in its own variables, without reduction, and write an intermediate buffer.
func (s *Schedule) ComputeInline(b Block) {
	p := s.block("compute_inline", b)
	if p == nil {
		return
	}
	block := p.realize.Block
	store, ok := block.Body.(*tir.Store)
	if !ok || block.Init != nil || block.Opaque || p.realize.Where != nil {
		s.refuse("compute_inline", b.name, "is a reduction, opaque or guarded; wanted one plain store")
		return
	}
	buf := store.Buffer
	if !s.producesAlone("compute_inline", block, buf, spatialIters(block)) {
		return
	}
	for _, c := range realizesIn(s.fn.Root().Body) {
		if reads(c.realize.Block, buf) && c.realize.Block.Opaque {
			s.refuse("compute_inline", b.name, "block %s reads it and is opaque", c.realize.Block.Name)
			return
		}
	}
	m := &tir.Mapper{Expr: func(e tir.Expr) tir.Expr {
		l, ok := e.(*tir.Load)
		if !ok || l.Buffer != buf {
			return e
		}
		bind := map[*tir.Var]tir.Expr{}
		for i, iv := range block.Iters {
			bind[iv.Var] = l.Indices[i]
		}
		return tir.Subst(store.Value, bind)
	}}
	m.Stmt = func(st tir.Stmt) tir.Stmt {
		r, ok := st.(*tir.BlockRealize)
		if !ok || !reads(r.Block, buf) {
			return st
		}
		c := *r.Block
		c.Reads, c.Writes = tir.Accesses(&c)
		return &tir.BlockRealize{Values: r.Values, Where: r.Where, Block: &c}
	}
	body := m.MapStmt(swap(s.fn.Root().Body, p.realize, nil))
	s.setRoot(body, without(s.fn.Root().Allocs, buf))
	s.record("compute_inline", operands(b))
}

func without(list []*tir.Buffer, buf *tir.Buffer) []*tir.Buffer {
	var out []*tir.Buffer
	for _, b := range list {
		if b != buf {
			out = append(out, b)
		}
	}
	return out
}
