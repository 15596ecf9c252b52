package schedule

import (
	"github.com/texel-ml/texel/tir"
)

// RFactor splits the reduction below loop l in two: a new block reduces over all loops but l, into a buffer with one more
// axis for the iterations of l, and the old block reduces over that axis. It returns the new block, whose nest is the old
// one; the old block's nest stands behind it.
//
//	for i                         for i, ko, ki: P_rf(i, ki, ko): R[i, ki] += A[i, 4·ko + ki]
//	  for ko          l = ki      for i
//	    for ki          →           for ki
//	      P(i, 4·ko + ki)             P(i, ki): P[i] += R[i, ki]
//
// The iterations of l may then run as lanes of a vector, or at the same time. axis is the place of the new axis in the new
// buffer, negative ones count from behind the last. The block must stand alone in its nest, at the top of the function,
// and combine by an associative and commutative operation.
func (s *Schedule) RFactor(l Loop, axis int) Block {
	const step = "rfactor"
	at := s.loop(step, l)
	if at == nil {
		return Block{}
	}
	inside := realizesIn(at.loop.Body)
	if len(inside) != 1 {
		s.refuse(step, l.v.Name, "has %d blocks inside, wanted one", len(inside))
		return Block{}
	}
	p := s.block(step, Block{name: inside[0].realize.Block.Name})
	block := p.realize.Block
	store, op, term := s.reduction(step, block)
	if store == nil {
		return Block{}
	}
	spatial := spatialIters(block)
	rank := len(spatial)
	if axis < 0 {
		axis += rank + 1
	}
	if axis < 0 || axis > rank {
		s.refuse(step, block.Name, "axis %d is outside the %d axes of the new buffer", axis, rank+1)
		return Block{}
	}
	extent, ok := tir.AsInt(at.loop.Extent)
	if !ok || !tir.IsConst(at.loop.Min, 0) || len(realizesIn(s.topOf(block.Name))) != 1 {
		s.refuse(step, l.v.Name, "wants a loop from 0 with a constant extent around a block that stands alone in its nest")
		return Block{}
	}

	// The new block reduces over the loops of the reduction but l.
	rf := &tir.Block{Name: s.blockName(block.Name + "_rf")}
	bind, iters := map[*tir.Var]tir.Expr{}, map[*tir.Var]tir.Expr{}
	var values, index []tir.Expr
	add := func(name string, extent int, kind tir.IterKind, value tir.Expr) *tir.Var {
		v := s.newVar(name)
		rf.Iters = append(rf.Iters, tir.IterVar{Var: v, Extent: extent, Kind: kind})
		values = append(values, value)
		return v
	}
	for i, iv := range block.Iters {
		if iv.Kind == tir.Spatial {
			v := add(iv.Var.Name, iv.Extent, tir.Spatial, p.realize.Values[i])
			bind[iv.Var], index = v, append(index, v)
		}
	}
	lane := add(l.v.Name, int(extent), tir.Spatial, l.v)
	iters[l.v] = lane
	index = append(index[:axis:axis], append([]tir.Expr{lane}, index[axis:]...)...)
	first := map[*tir.Var]tir.Expr{} // the first instance of each lane
	for _, f := range p.loops {
		if f.Var == l.v || !s.drives(p.realize, f.Var, tir.Reduce) {
			continue
		}
		n, ok := tir.AsInt(f.Extent)
		if !ok || !tir.IsConst(f.Min, 0) || s.drives(p.realize, f.Var, tir.Spatial) {
			s.refuse(step, f.Var.Name, "drives a reduce variable and has a computed bound, or drives a spatial one too")
			return Block{}
		}
		iters[f.Var] = add(f.Var.Name, int(n), tir.Reduce, f.Var)
		first[f.Var] = tir.I(0)
	}
	if len(first) == 0 || s.drives(p.realize, l.v, tir.Spatial) || !s.drives(p.realize, l.v, tir.Reduce) {
		s.refuse(step, l.v.Name, "wants one of several loops that drive reduce variables only")
		return Block{}
	}
	if where := tir.Subst(p.realize.Where, first); where != nil && !analyzer(p.loops).Prove(needsOf(where, l.v)) {
		s.refuse(step, l.v.Name, "has iterations without any instance of %s", block.Name)
		return Block{}
	}
	for i, iv := range block.Iters {
		if iv.Kind != tir.Spatial {
			bind[iv.Var] = tir.Subst(p.realize.Values[i], iters)
		}
	}
	shape := append([]int{}, store.Buffer.Shape...)
	shape = append(shape[:axis:axis], append([]int{int(extent)}, shape[axis:]...)...)
	name := store.Buffer.Name + "_rf"
	for s.bufferNamed(name) {
		name += "_"
	}
	buf := &tir.Buffer{Name: name, DType: store.Buffer.DType, Shape: shape, Scope: tir.Global}
	init := block.Init.(*tir.Store)
	rf.Init = &tir.Store{Buffer: buf, Indices: index, Value: init.Value}
	rf.Body = &tir.Store{Buffer: buf, Indices: index, Value: tir.Bin(op, &tir.Load{Buffer: buf, Indices: index}, tir.Subst(term, bind))}
	rf.Reads, rf.Writes = tir.Accesses(rf)

	// The old block reduces over the lanes, in new loops.
	rest := &tir.Block{Name: block.Name, Attrs: block.Attrs}
	var loops []*tir.For
	var restValues, out []tir.Expr
	loop := func(name string, extent int, kind tir.IterKind) *tir.Var {
		v, f := s.newVar(name), s.newVar(name)
		rest.Iters = append(rest.Iters, tir.IterVar{Var: v, Extent: extent, Kind: kind})
		loops = append(loops, &tir.For{Var: f, Min: tir.I(0), Extent: tir.I(extent)})
		restValues = append(restValues, f)
		return v
	}
	for _, iv := range spatial {
		out = append(out, loop(iv.Var.Name, iv.Extent, tir.Spatial))
	}
	var from tir.Expr = loop(l.v.Name, int(extent), tir.Reduce)
	lanes := append(append(append([]tir.Expr{}, out[:axis]...), from), out[axis:]...)
	rest.Init = &tir.Store{Buffer: store.Buffer, Indices: out, Value: init.Value}
	rest.Body = &tir.Store{Buffer: store.Buffer, Indices: out,
		Value: tir.Bin(op, &tir.Load{Buffer: store.Buffer, Indices: out}, &tir.Load{Buffer: buf, Indices: lanes})}
	rest.Reads, rest.Writes = tir.Accesses(rest)
	var nest tir.Stmt = &tir.BlockRealize{Values: restValues, Block: rest}
	for i := len(loops) - 1; i >= 0; i-- {
		loops[i].Body = nest
		nest = loops[i]
	}

	top := s.topOf(block.Name)
	made := swap(top, p.realize, &tir.BlockRealize{Values: values, Where: p.realize.Where, Block: rf})
	s.setRoot(swap(s.fn.Root().Body, top, &tir.Seq{Stmts: []tir.Stmt{made, nest}}), append(append([]*tir.Buffer{}, s.fn.Root().Allocs...), buf))
	s.flattenRoot()
	b := Block{rf.Name, s.id("b")}
	s.record(step, []string{l.id}, []string{itoa(axis)}, b.id)
	return b
}

// reduction takes apart a block whose body is buf[spatial variables] = op(buf[spatial variables], term), and refuses
// others with a nil store.
func (s *Schedule) reduction(step string, block *tir.Block) (*tir.Store, tir.BinaryOp, tir.Expr) {
	store, ok := block.Body.(*tir.Store)
	_, okInit := block.Init.(*tir.Store)
	spatial := spatialIters(block)
	if !ok || !okInit || block.Opaque || len(store.Indices) != len(spatial) {
		s.refuse(step, block.Name, "is no reduction with an initial value")
		return nil, 0, nil
	}
	for i, iv := range spatial {
		if store.Indices[i] != tir.Expr(iv.Var) {
			s.refuse(step, block.Name, "writes axis %d at a computed place; wanted the variable %s", i, iv.Var.Name)
			return nil, 0, nil
		}
	}
	if b, ok := store.Value.(*tir.Binary); ok {
		switch b.Op {
		case tir.Add, tir.Mul, tir.Min, tir.Max, tir.And, tir.Or, tir.BitAnd, tir.BitOr, tir.BitXor:
			if l, ok := b.A.(*tir.Load); ok && l.Buffer == store.Buffer {
				return store, b.Op, b.B
			}
		}
	}
	s.refuse(step, block.Name, "does not combine by an associative and commutative operation")
	return nil, 0, nil
}

// drives reports whether a loop variable appears in the value of an iteration variable of the given kind.
func (s *Schedule) drives(r *tir.BlockRealize, v *tir.Var, kind tir.IterKind) bool {
	for i, iv := range r.Block.Iters {
		if iv.Kind == kind && tir.Uses(r.Values[i], v) {
			return true
		}
	}
	return false
}

// needsOf returns the conjuncts of cond that use v.
func needsOf(cond tir.Expr, v *tir.Var) tir.Expr {
	var list tir.Expr = tir.True
	if b, ok := cond.(*tir.Binary); ok && b.Op == tir.And {
		return tir.Bin(tir.And, needsOf(b.A, v), needsOf(b.B, v))
	}
	if tir.Uses(cond, v) {
		list = cond
	}
	return list
}
