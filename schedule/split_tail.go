package schedule

import (
	"slices"

	"github.com/texel-ml/texel/tir"
	"github.com/texel-ml/texel/tir/arith"
)

// shiftInwards lets the last tile end where the loop ends.
func (c *cut) shiftInwards() (tir.Stmt, bool) {
	f := c.loop
	extent, known := tir.AsInt(f.Extent)
	if !known || c.tile > int(extent) {
		return nil, c.refuse("a tile of %d iterations does not fit into the loop; wanted a constant extent of at least that", c.tile)
	}
	if f.Kind != tir.Serial && f.Kind != tir.Unrolled {
		return nil, c.refuse("is %v, and tiles that are shifted inwards share iterations; wanted a serial loop", f.Kind)
	}
	if why := insideOf(c.p).mayRepeat(); why != "" {
		return nil, c.refuse("tiles that are shifted inwards share iterations, and %s", why)
	}
	start := tir.Times(c.fors[0].Var, tir.I(c.tile))
	var inner tir.Expr = tir.I(0)
	for _, l := range c.fors[1:] {
		inner = tir.Plus(tir.Times(inner, l.Extent), l.Var)
	}
	return c.bind(f.Body, tir.Plus(tir.Minimum(start, tir.I(int(extent)-c.tile)), inner)), true
}

// rounding is a split of a loop that is rounded up.
type rounding struct {
	*cut
	extent int                                     // of the loop as it was
	made   map[*tir.BlockRealize]*tir.BlockRealize // the blocks inside, over more iterations
	vars   map[*tir.Block]*tir.Var                 // of each of them, the variable that the loop drives
	longer map[*tir.Buffer]*tir.Buffer             // what they write, longer
}

// roundUp gives the blocks inside, and the buffers that they write, room for the iterations past the end.
func (c *cut) roundUp() (tir.Stmt, bool) {
	r := &rounding{cut: c, made: map[*tir.BlockRealize]*tir.BlockRealize{}, vars: map[*tir.Block]*tir.Var{},
		longer: map[*tir.Buffer]*tir.Buffer{}}
	extent, known := tir.AsInt(c.loop.Extent)
	if !known || !tir.IsConst(c.loop.Min, 0) || len(c.p.blocks) > 0 {
		return nil, c.refuse("wants a loop from 0 with a constant extent, outside of other blocks, to round it up")
	}
	r.extent = int(extent)
	for _, p := range realizesIn(c.loop.Body) {
		if !r.lengthen(p.realize) {
			return nil, false
		}
	}
	r.replaceBuffers()
	r.guardLoads()
	return c.bind(c.loop.Body, c.index), true
}

// lengthen makes the block of a realization one over the rounded extent, and its buffers longer.
func (r *rounding) lengthen(n *tir.BlockRealize) bool {
	own := -1
	for i, v := range n.Values {
		if !tir.Uses(v, r.loop.Var) {
			continue
		}
		if iv := n.Block.Iters[i]; own >= 0 || v != tir.Expr(r.loop.Var) || iv.Kind != tir.Spatial || iv.Extent != r.extent {
			return r.refuse("drives the %v variable %s of block %s, of extent %d; to round it up it must be the whole value of one spatial variable of extent %d",
				iv.Kind, iv.Var.Name, n.Block.Name, iv.Extent, r.extent)
		}
		own = i
	}
	if own < 0 || !plainStores(n.Block.Init) || !plainStores(n.Block.Body) || n.Block.Opaque {
		return r.refuse("block %s has no variable that the loop drives, or holds more than stores; wanted blocks of stores over it", n.Block.Name)
	}
	b := *n.Block
	b.Iters = slices.Clone(b.Iters)
	b.Iters[own].Extent = r.total
	v := b.Iters[own].Var
	for _, w := range b.Writes {
		if !r.room(&b, w, v) {
			return false
		}
	}
	r.made[n] = &tir.BlockRealize{Values: n.Values, Where: n.Where, Block: &b}
	r.vars[n.Block] = v
	return true
}

// plainStores reports whether st only stores, under conditions that read no buffer; nil does.
func plainStores(st tir.Stmt) bool {
	switch n := st.(type) {
	case nil:
		return true
	case *tir.Store:
		return !slices.ContainsFunc(n.Indices, func(e tir.Expr) bool { return tir.ReadsMemory(e) })
	case *tir.Seq:
		return !slices.ContainsFunc(n.Stmts, func(c tir.Stmt) bool { return !plainStores(c) })
	case *tir.If:
		return !tir.ReadsMemory(n.Cond) && plainStores(n.Then) && plainStores(n.Else)
	}
	return false
}

// room makes a buffer longer on the axis that v is the index of.
func (r *rounding) room(b *tir.Block, w tir.Region, v *tir.Var) bool {
	buf, axis := w.Buffer, -1
	for i, g := range w.Ranges {
		if !tir.Uses(g.Min, v) {
			continue
		}
		if axis >= 0 || g.Min != tir.Expr(v) || buf.Shape[i] != r.extent {
			return r.refuse("block %s writes axis %d of %s, of extent %d, not just at %s; padding would meet other elements", b.Name, i, buf.Name, buf.Shape[i], v.Name)
		}
		axis = i
	}
	if axis < 0 || !slices.Contains(r.s.fn.Root().Allocs, buf) || buf.Strides != nil || buf.Folding != nil {
		return r.refuse("block %s writes %s, which cannot be longer; wanted an intermediate buffer without strides or folding (see cache_write)", b.Name, buf.Name)
	}
	for _, c := range allRealizes(r.s.fn.Root().Body) {
		if c.Block.Opaque && (reads(c.Block, buf) || writes(c.Block, buf)) || indirect(c.Block, buf) {
			return r.refuse("block %s is opaque or reads %s at places that it loads; it would meet the padding", c.Block.Name, buf.Name)
		}
	}
	if r.longer[buf] == nil {
		to := *buf
		to.Shape = slices.Clone(buf.Shape)
		r.longer[buf] = &to
	}
	r.longer[buf].Shape[axis] = r.total
	return true
}

// allRealizes returns all block realizations below st, those inside blocks too.
func allRealizes(st tir.Stmt) []*tir.BlockRealize {
	var list []*tir.BlockRealize
	tir.Walk(st, func(n any) bool {
		if r, ok := n.(*tir.BlockRealize); ok {
			list = append(list, r)
		}
		return true
	})
	return list
}

// indirect reports whether a block accesses buf at an index that is loaded.
func indirect(b *tir.Block, buf *tir.Buffer) bool {
	found := false
	for _, st := range []tir.Stmt{b.Init, b.Body} {
		tir.Walk(st, func(n any) bool {
			l, ok := n.(*tir.Load)
			found = found || ok && l.Buffer == buf && slices.ContainsFunc(l.Indices, func(e tir.Expr) bool { return tir.ReadsMemory(e) })
			return !found
		})
	}
	return found
}

// replaceBuffers puts the longer blocks and buffers into the function.
func (r *rounding) replaceBuffers() {
	m := &tir.Mapper{Enter: func(st tir.Stmt) (tir.Stmt, bool) {
		n, ok := st.(*tir.BlockRealize)
		if !ok || r.made[n] == nil {
			return st, false
		}
		return r.made[n], true
	}}
	body := m.MapStmt(r.s.fn.Root().Body)
	allocs := slices.Clone(r.s.fn.Root().Allocs)
	for i, b := range allocs {
		if to := r.longer[b]; to != nil {
			body, allocs[i] = tir.ReplaceBuffer(body, b, to, nil), to
		}
	}
	r.s.setRoot(body, allocs)
	r.loop = findLoop(body, r.loop.Var)
}

// guardLoads puts a condition around what the blocks would read in the padding, where nothing may be there.
func (r *rounding) guardLoads() {
	long := *r.loop // the loop as it will run
	long.Extent = tir.I(r.total)
	body := swap(r.s.fn.Root().Body, r.loop, &long)
	all := flowOf(body, arith.New())
	guarded := map[*tir.BlockRealize]tir.Stmt{}
	for _, at := range all.places {
		b := at.realize.Block
		var v *tir.Var
		for old, w := range r.vars {
			if old.Name == b.Name {
				v = w
			}
		}
		if v == nil {
			continue
		}
		m := &tir.Mapper{Stmt: func(st tir.Stmt) tir.Stmt {
			if n, ok := st.(*tir.Store); ok && r.unsafe(all, at, n, v) {
				return r.guarded(b, n, v)
			}
			return st
		}}
		c := *b
		c.Body, c.Init = m.MapStmt(b.Body), m.MapStmt(b.Init)
		c.Reads, c.Writes = tir.Accesses(&c)
		guarded[at.realize] = &tir.BlockRealize{Values: at.realize.Values, Where: at.realize.Where, Block: &c}
	}
	m := &tir.Mapper{Enter: func(st tir.Stmt) (tir.Stmt, bool) {
		if n, ok := st.(*tir.BlockRealize); ok && guarded[n] != nil {
			return guarded[n], true
		}
		return st, false
	}}
	r.s.setRoot(m.MapStmt(r.s.fn.Root().Body), r.s.fn.Root().Allocs)
	r.loop = findLoop(r.s.fn.Root().Body, r.loop.Var)
}

// unsafe reports whether the value of a store may, in the padding, read what is not there or divide by what it finds.
func (r *rounding) unsafe(all *flow, at *place, st *tir.Store, v *tir.Var) bool {
	b := at.realize.Block
	bad := false
	a := arith.New()
	bindIters(a, b)
	tir.Walk(st.Value, func(n any) bool {
		switch n := n.(type) {
		case *tir.Binary:
			if n.Op == tir.Div || n.Op == tir.Mod || n.Op == tir.FloorDiv || n.Op == tir.FloorMod {
				_, isConst := tir.AsInt(n.B)
				bad = bad || !isConst && !n.A.Type().DType.IsFloat()
			}
		case *tir.Load:
			if own := n.Buffer == st.Buffer && b.Init != nil && sameIndices(n.Indices, st.Indices); own || !tir.UsesAny(n, map[*tir.Var]bool{v: true}) {
				return true
			}
			for i, e := range n.Indices {
				lo, hi, ok := a.Bounds(e)
				bad = bad || !ok || lo < 0 || hi >= int64(n.Buffer.Shape[i]) || tir.ReadsMemory(e)
			}
			bad = bad || !r.there(all, at, tir.Point(n.Buffer, n.Indices))
		}
		return !bad
	})
	return bad
}

// there reports whether the block at a place finds a region written: it is an input, or a block before it covers it.
func (r *rounding) there(all *flow, at *place, region tir.Region) bool {
	written := false
	for _, w := range all.places {
		if w == at {
			break
		}
		if writes(w.realize.Block, region.Buffer) {
			written = true
			if all.covers(w, at, region) {
				return true
			}
		}
	}
	return !written && slices.Contains(r.s.fn.Params[:len(r.s.fn.Params)-r.s.fn.Outputs], region.Buffer)
}

// guarded is a store of what it stored, and of 0 in the padding. Of a reduction only what is folded in is guarded, so that
// it stays one.
func (r *rounding) guarded(b *tir.Block, st *tir.Store, v *tir.Var) tir.Stmt {
	under := func(e tir.Expr) tir.Expr {
		return tir.Sel(tir.Lt(v, tir.I(r.extent)), e, tir.Const(e.Type().DType, 0))
	}
	if op, ok := st.Value.(*tir.Binary); ok && b.Init != nil {
		if l, ok := op.A.(*tir.Load); ok && l.Buffer == st.Buffer && sameIndices(l.Indices, st.Indices) && !op.Op.IsCompare() && !loads(op.B, st.Buffer) {
			return &tir.Store{Buffer: st.Buffer, Indices: st.Indices, Value: tir.Bin(op.Op, op.A, under(op.B))}
		}
	}
	return &tir.Store{Buffer: st.Buffer, Indices: st.Indices, Value: under(st.Value)}
}
