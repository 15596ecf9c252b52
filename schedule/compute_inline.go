package schedule

import (
	"slices"

	"github.com/texel-ml/texel/tir"
	"github.com/texel-ml/texel/tir/arith"
)

// ComputeInline puts what block b computes into every block that reads it, and removes b and its buffers:
//
//	for i: T[i] = X[i] + 1
//	for i: Y[i] = T[i] * T[9 - i]      →      for i: Y[i] = (X[i] + 1) * (X[9 - i] + 1)
//
// b stores one value to each of its buffers, at places that its variables follow from: at its own variables, in an order of
// theirs, or at a sum that counts through them. A condition of b falls away: nobody reads what it did not write. It refuses
// reductions and opaque blocks; results of the function; readers that are opaque, or read in vectors; and a reader that would
// find something else in what b reads, because that is changed in between.
func (s *Schedule) ComputeInline(b Block) {
	const step = "compute_inline"
	p := s.block(step, b)
	if p == nil {
		return
	}
	block := p.realize.Block
	stores := storesOf(block.Body)
	if stores == nil || block.Init != nil || block.Opaque || len(spatialIters(block)) != len(block.Iters) || changed(block) != nil {
		s.refuse(step, b.name, "is a reduction, opaque or changes what it reads; wanted one that stores a value")
		return
	}
	in := &inlining{s: s, step: step, block: block, values: map[*tir.Buffer]*tir.Store{}}
	for _, st := range stores {
		if in.values[st.Buffer] != nil {
			s.refuse(step, b.name, "writes %s at several places; wanted one", st.Buffer.Name)
			return
		}
		in.values[st.Buffer] = st
		if !s.writesAlone(step, block, st.Buffer) || !in.readers(st) {
			return
		}
	}
	body := in.mapper().MapStmt(swap(s.fn.Root().Body, p.realize, nil))
	if in.refused {
		return
	}
	root := *s.fn.Root()
	root.Body = body
	s.setBody(withoutAllocs(&tir.BlockRealize{Block: &root}, in.values))
	if why := s.sharedBy(func(buf *tir.Buffer) bool { return reads(block, buf) }); why != "" {
		in.refuse("%s", why)
		return
	}
	s.record(step, operands(b))
}

// inlining is one application of ComputeInline.
type inlining struct {
	s       *Schedule
	step    string
	block   *tir.Block
	values  map[*tir.Buffer]*tir.Store // what the block stores
	refused bool
}

func (in *inlining) refuse(format string, args ...any) bool {
	in.refused = true
	in.s.refuse(in.step, in.block.Name, format, args...)
	return false
}

// readers checks the blocks that read what a store writes.
func (in *inlining) readers(st *tir.Store) bool {
	if in.s.strayLoads(st.Buffer) {
		return in.refuse("%s is read outside of blocks, by a bound, a condition or the value of a variable", st.Buffer.Name)
	}
	if _, ok := invert(in.block, st.Indices, st.Indices, st.Buffer.Shape); !ok {
		return in.refuse("writes %s at places that its variables do not follow from", st.Buffer.Name)
	}
	runs := runsOf(in.s.fn.Root().Body)
	for i, r := range runs {
		reader := r.realize.Block
		if reader == in.block || !loadsOf(reader, st.Buffer) {
			continue
		}
		for _, v := range foreign(in.block) {
			if !slices.Contains(in.s.fn.Scalars, v) && !r.knows(v) {
				return in.refuse("uses the variable %s of what stands around it, which block %s does not know", v.Name, reader.Name)
			}
		}
		if reader.Opaque {
			return in.refuse("block %s reads it and is opaque", reader.Name)
		}
		if why := in.s.moveOf(in.block, i, r.loops).inputs(in.sameIteration(r, st.Buffer)); why != "" {
			return in.refuse("in block %s, %s", reader.Name, why)
		}
	}
	return true
}

// sameIteration reports whether a block reads of a buffer only what was written in the same iteration of the loops that it
// shares with the writer.
func (in *inlining) sameIteration(r *run, buf *tir.Buffer) bool {
	p := in.s.block(in.step, Block{name: in.block.Name})
	all := in.s.beside(p)
	w, c := all.at(p.realize), all.at(r.realize)
	return w != nil && c != nil && !slices.ContainsFunc(c.realize.Block.Reads, func(g tir.Region) bool {
		return g.Buffer == buf && !all.covers(w, c, g)
	})
}

// mapper puts the values in the place of loads, and declares what is read then.
func (in *inlining) mapper() *tir.Mapper {
	return &tir.Mapper{
		Expr: func(e tir.Expr) tir.Expr {
			l, ok := e.(*tir.Load)
			if !ok || in.values[l.Buffer] == nil {
				return e
			}
			if l.Type().Lanes > 1 {
				in.refuse("%s is read in vectors", l.Buffer.Name)
				return e
			}
			st := in.values[l.Buffer]
			bind, _ := invert(in.block, st.Indices, l.Indices, l.Buffer.Shape)
			return tir.Subst(st.Value, bind)
		},
		Stmt: func(st tir.Stmt) tir.Stmt {
			r, ok := st.(*tir.BlockRealize)
			gone := func(g tir.Region) bool { return in.values[g.Buffer] != nil }
			if !ok || !slices.ContainsFunc(r.Block.Reads, gone) && !slices.ContainsFunc(r.Block.Writes, gone) {
				return st
			}
			c := *r.Block
			if !holdsRealize(&c) && storesOf(c.Body) != nil {
				c.Reads, c.Writes = tir.Accesses(&c)
			} else {
				c.Reads, c.Writes = in.regions(c.Reads), slices.DeleteFunc(slices.Clone(c.Writes), gone)
			}
			return &tir.BlockRealize{Values: r.Values, Where: r.Where, Block: &c}
		},
	}
}

// regions returns declared regions with what the block reads in the place of what it wrote.
func (in *inlining) regions(list []tir.Region) []tir.Region {
	var out []tir.Region
	for _, r := range list {
		st := in.values[r.Buffer]
		if st == nil {
			out = append(out, r)
			continue
		}
		for _, g := range in.block.Reads {
			out = append(out, through(in.block, st, r, g))
		}
	}
	return out
}

// through returns what of region g, which block reads, is read for the region r of what the store writes; all of the buffer
// where that is not known.
func through(block *tir.Block, st *tir.Store, r, g tir.Region) tir.Region {
	over := map[*tir.Var]tir.Range{}
	for i, e := range st.Indices {
		if v, ok := e.(*tir.Var); ok {
			over[v] = r.Ranges[i]
		}
	}
	a := arith.New()
	out := tir.Whole(g.Buffer)
	for _, iv := range block.Iters {
		if _, known := over[iv.Var]; !known || iv.Extent == 1 { // of one value it is that one, as in invert
			over[iv.Var] = tir.Range{Min: tir.I(0), Extent: tir.I(iv.Extent)}
		}
	}
	for i, x := range g.Ranges {
		_, known := tir.AsInt(x.Extent)
		if t, ok := swept(a, x, over); ok && known {
			out.Ranges[i] = t
		}
	}
	return out
}

// writesAlone checks that buf is an intermediate buffer that no other block writes.
func (s *Schedule) writesAlone(step string, block *tir.Block, buf *tir.Buffer) bool {
	if slices.Contains(s.fn.Params, buf) {
		s.refuse(step, block.Name, "writes %s, a parameter of the function; wanted an intermediate buffer (see cache_write)", buf.Name)
		return false
	}
	for _, r := range runsOf(s.fn.Root().Body) {
		if c := r.realize.Block; c != block && writes(c, buf) && !inside(block, c) {
			s.refuse(step, block.Name, "%s is also written by block %s", buf.Name, c.Name)
			return false
		}
	}
	return true
}

// inside reports whether block c stands inside block b.
func inside(b, c *tir.Block) bool {
	for _, st := range []tir.Stmt{b.Init, b.Body} {
		for _, r := range allRealizes(st) {
			if r.Block == c {
				return true
			}
		}
	}
	return false
}

// withoutAllocs removes buffers from the blocks that hold them.
func withoutAllocs[V any](st tir.Stmt, bufs map[*tir.Buffer]V) tir.Stmt {
	m := &tir.Mapper{Stmt: func(st tir.Stmt) tir.Stmt {
		r, ok := st.(*tir.BlockRealize)
		if !ok {
			return st
		}
		gone := func(b *tir.Buffer) bool { _, is := bufs[b]; return is }
		if !slices.ContainsFunc(r.Block.Allocs, gone) {
			return st
		}
		b := *r.Block
		b.Allocs = slices.DeleteFunc(slices.Clone(b.Allocs), gone)
		return &tir.BlockRealize{Values: r.Values, Where: r.Where, Block: &b}
	}}
	return m.MapStmt(st)
}
