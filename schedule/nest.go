package schedule

import (
	"slices"

	"github.com/texel-ml/texel/tensor"
	"github.com/texel-ml/texel/tir"
)

// swap puts statement to in old's place in the function.
func (s *Schedule) swap(old, to tir.Stmt) {
	s.setRoot(swap(s.fn.Root().Body, old, to), s.fn.Root().Allocs)
}

// replaceIn puts statement to in the place of old, which stands in the scope of p, and gives the block around more
// buffers. Sequences in sequences become one.
func (s *Schedule) replaceIn(p *place, old, to tir.Stmt, allocs ...*tir.Buffer) {
	root := s.fn.Root()
	around := p.scope()
	if around == nil {
		s.setRoot(flat(swap(root.Body, old, to)), append(slices.Clip(root.Allocs), allocs...))
		return
	}
	b := *around.Block
	if b.Body = flat(swap(b.Body, old, to)); b.Body == nil {
		b.Body = &tir.Seq{}
	}
	if b.Init != nil {
		b.Init = flat(swap(b.Init, old, to))
	}
	b.Allocs = append(slices.Clip(b.Allocs), allocs...)
	s.setRoot(swap(root.Body, around, &tir.BlockRealize{Values: around.Values, Where: around.Where, Block: &b}), root.Allocs)
}

// flat makes one sequence of sequences that stand in each other.
func flat(st tir.Stmt) tir.Stmt {
	m := &tir.Mapper{
		Enter: func(st tir.Stmt) (tir.Stmt, bool) {
			_, leaf := st.(*tir.BlockRealize)
			return st, leaf
		},
		Stmt: func(st tir.Stmt) tir.Stmt {
			seq, ok := st.(*tir.Seq)
			if !ok || !slices.ContainsFunc(seq.Stmts, func(c tir.Stmt) bool { _, is := c.(*tir.Seq); return is }) {
				return st
			}
			var list []tir.Stmt
			for _, c := range seq.Stmts {
				if inner, ok := c.(*tir.Seq); ok {
					list = append(list, inner.Stmts...)
				} else {
					list = append(list, c)
				}
			}
			return &tir.Seq{Stmts: list}
		},
	}
	return m.MapStmt(st)
}

// alone returns the number of the outermost loop around p's block that holds nothing but loops and that block; it is the
// number of loops when there is none.
func (p *place) alone() int {
	at := len(p.loops)
	for i := len(p.path) - 2; i >= 0 && at > 0; i-- {
		if p.path[i] != tir.Stmt(p.loops[at-1]) {
			break
		}
		at--
	}
	return at
}

// nestOf returns st inside loops, outermost first.
func nestOf(loops []*tir.For, st tir.Stmt) tir.Stmt {
	for i := len(loops) - 1; i >= 0; i-- {
		c := *loops[i]
		c.Body = st
		st = &c
	}
	return st
}

// copiesOf returns loops over new variables, one for each of the given loops, and what the old variables become. Bounds
// over old variables follow.
func (s *Schedule) copiesOf(loops []*tir.For) ([]*tir.For, map[*tir.Var]tir.Expr) {
	to := map[*tir.Var]tir.Expr{}
	list := make([]*tir.For, len(loops))
	for i, f := range loops {
		c := *f
		c.Min, c.Extent = tir.Subst(f.Min, to), tir.Subst(f.Extent, to)
		c.Var = s.newVar(f.Var.Name)
		to[f.Var] = c.Var
		list[i] = &c
	}
	return list, to
}

// simplified returns a guard of p's block in canonical form, nil where it always holds.
func (p *place) simplified(where tir.Expr) tir.Expr {
	return tir.All(p.analyzer().Simplify(where))
}

// maxMade bounds the elements of a buffer that a step makes larger than the program's.
const maxMade = 1 << 31

// tooLarge reports whether a buffer of that shape would have more than maxMade elements.
func tooLarge(shape []int) bool {
	n := tensor.Shape(shape).Elems()
	return n < 0 || n > maxMade
}
