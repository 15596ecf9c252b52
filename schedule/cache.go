package schedule

import (
	"fmt"

	"github.com/texel-ml/texel/texture"
	"github.com/texel-ml/texel/tir"
)

// A scope of CacheWrite, CacheRead and SetScope is one of tir's, or the name of a folding (texture.Aliases), which stands
// for tir.Texture with that folding.

// operand returns the i-th distinct buffer that b reads.
func operand(b *tir.Block, i int) *tir.Buffer {
	seen := map[*tir.Buffer]bool{}
	for _, r := range b.Reads {
		if !seen[r.Buffer] {
			if len(seen) == i {
				return r.Buffer
			}
			seen[r.Buffer] = true
		}
	}
	return nil
}

// cacheOf returns a new buffer with the shape of buf in another scope, or nil when it cannot be there.
func (s *Schedule) cacheOf(step string, buf *tir.Buffer, scope tir.Scope) *tir.Buffer {
	c := &tir.Buffer{DType: buf.DType, Shape: buf.Shape}
	if !s.inScope(step, c, scope) {
		return nil
	}
	c.Name = buf.Name + "_" + string(c.Scope)
	for n := 1; s.bufferNamed(c.Name); n++ {
		c.Name = fmt.Sprintf("%s_%s%d", buf.Name, c.Scope, n)
	}
	return c
}

// inScope puts b into a scope, which may be the name of a folding. The limits of a device are for its code generator.
func (s *Schedule) inScope(step string, b *tir.Buffer, scope tir.Scope) bool {
	b.Scope, b.Folding = scope, nil
	if !texture.IsAlias(string(scope)) {
		if scope == tir.Texture {
			s.refuse(step, string(scope), "a texture needs a folding; wanted one of %v", texture.Aliases())
			return false
		}
		return true
	}
	f, err := texture.Alias(string(scope), len(b.Shape))
	if err == nil {
		_, err = texture.Fold(b.Shape, b.DType, f, texture.Limits{})
	}
	if err != nil {
		s.refuseBy(step, string(scope), err)
		return false
	}
	folding := tir.Folding(f)
	b.Scope, b.Folding = tir.Texture, &folding
	return true
}

func (s *Schedule) bufferNamed(name string) bool {
	for _, list := range [][]*tir.Buffer{s.fn.Params, s.fn.Root().Allocs} {
		for _, b := range list {
			if b.Name == name {
				return true
			}
		}
	}
	return false
}

func (s *Schedule) blockName(name string) string {
	base := name
	for n := 1; s.find(func(st tir.Stmt) bool { r, ok := st.(*tir.BlockRealize); return ok && r.Block.Name == name }) != nil; n++ {
		name = fmt.Sprintf("%s%d", base, n)
	}
	return name
}

// changeBlock replaces buffer from by to inside one block.
func (s *Schedule) changeBlock(r *tir.BlockRealize, from, to *tir.Buffer) {
	s.setRoot(swap(s.fn.Root().Body, r, withBuffer(r, from, to)), s.fn.Root().Allocs)
}

// topOf returns the statement of the root's sequence that holds the named block.
func (s *Schedule) topOf(block string) tir.Stmt {
	body := s.fn.Root().Body
	seq, ok := body.(*tir.Seq)
	if !ok {
		return body
	}
	for _, st := range seq.Stmts {
		for _, c := range realizesIn(st) {
			if c.realize.Block.Name == block {
				return st
			}
		}
	}
	return body
}

// copyNest returns loops that copy from into to, element by element.
func (s *Schedule) copyNest(name string, from, to *tir.Buffer) tir.Stmt {
	b := &tir.Block{Name: name}
	var idx, values []tir.Expr
	var loops []*tir.For
	for n, extent := range to.Shape {
		iv := s.newVar(fmt.Sprintf("c%d", n))
		loop := s.newVar(fmt.Sprintf("c%d", n))
		b.Iters = append(b.Iters, tir.IterVar{Var: iv, Extent: extent, Kind: tir.Spatial})
		idx, values = append(idx, iv), append(values, loop)
		loops = append(loops, &tir.For{Var: loop, Min: tir.I(0), Extent: tir.I(extent)})
	}
	b.Body = &tir.Store{Buffer: to, Indices: idx, Value: &tir.Load{Buffer: from, Indices: idx}}
	b.Reads, b.Writes = tir.Accesses(b)
	var st tir.Stmt = &tir.BlockRealize{Values: values, Block: b}
	for n := len(loops) - 1; n >= 0; n-- {
		loops[n].Body = st
		st = loops[n]
	}
	return st
}

// flattenRoot makes one flat sequence of the root's nested ones.
func (s *Schedule) flattenRoot() {
	var list []tir.Stmt
	var add func(st tir.Stmt)
	add = func(st tir.Stmt) {
		if seq, ok := st.(*tir.Seq); ok {
			for _, c := range seq.Stmts {
				add(c)
			}
			return
		}
		list = append(list, st)
	}
	add(s.fn.Root().Body)
	s.setRoot(tir.Block1(list...), s.fn.Root().Allocs)
}
