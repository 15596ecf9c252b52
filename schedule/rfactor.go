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
	rank := len(spatialIters(block))
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

	f := &factoring{s: s, p: p, block: block, lane: at.loop, extent: int(extent), axis: axis, store: store, op: op, term: term}
	rf := f.partial(step)
	if rf == nil {
		return Block{}
	}
	top := s.topOf(block.Name)
	made := &tir.Seq{Stmts: []tir.Stmt{swap(top, p.realize, rf), f.rest()}}
	s.setRoot(swap(s.fn.Root().Body, top, made), append(append([]*tir.Buffer{}, s.fn.Root().Allocs...), f.buf))
	s.flattenRoot()
	b := s.blockNamed(rf.Block.Name)
	s.record(step, operands(l, axis), b)
	return b
}

// factoring is one application of RFactor.
type factoring struct {
	s      *Schedule
	p      *place // of the reduction
	block  *tir.Block
	lane   *tir.For // the loop whose iterations become partial results
	extent int
	axis   int // of the lanes in the new buffer
	store  *tir.Store
	op     tir.BinaryOp
	term   tir.Expr
	buf    *tir.Buffer // of the partial results
}

// lanes puts the index of the lane into the indices of the result.
func (f *factoring) lanes(index []tir.Expr, lane tir.Expr) []tir.Expr {
	return append(append(append([]tir.Expr{}, index[:f.axis]...), lane), index[f.axis:]...)
}

// partial returns the realization of the block that reduces over all loops of the reduction but the lanes, in the old
// nest, and makes its buffer; nil when it refuses.
func (f *factoring) partial(step string) *tir.BlockRealize {
	s, realize := f.s, f.p.realize
	rf := &tir.Block{Name: s.blockName(f.block.Name + "_rf")}
	bind, iters := map[*tir.Var]tir.Expr{}, map[*tir.Var]tir.Expr{}
	var values, index []tir.Expr
	add := func(name string, extent int, kind tir.IterKind, value tir.Expr) *tir.Var {
		v := s.newVar(name)
		rf.Iters = append(rf.Iters, tir.IterVar{Var: v, Extent: extent, Kind: kind})
		values = append(values, value)
		return v
	}
	for i, iv := range f.block.Iters {
		if iv.Kind == tir.Spatial {
			v := add(iv.Var.Name, iv.Extent, tir.Spatial, realize.Values[i])
			bind[iv.Var], index = v, append(index, v)
		}
	}
	lane := add(f.lane.Var.Name, f.extent, tir.Spatial, f.lane.Var)
	iters[f.lane.Var] = lane
	first := map[*tir.Var]tir.Expr{} // the first instance of each lane
	for _, l := range f.p.loops {
		if l == f.lane || !s.drives(realize, l.Var, tir.Reduce) {
			continue
		}
		n, ok := tir.AsInt(l.Extent)
		if !ok || !tir.IsConst(l.Min, 0) || s.drives(realize, l.Var, tir.Spatial) {
			s.refuse(step, l.Var.Name, "drives a reduce variable and has a computed bound, or drives a spatial one too")
			return nil
		}
		iters[l.Var] = add(l.Var.Name, int(n), tir.Reduce, l.Var)
		first[l.Var] = tir.I(0)
	}
	if len(first) == 0 || s.drives(realize, f.lane.Var, tir.Spatial) || !s.drives(realize, f.lane.Var, tir.Reduce) {
		s.refuse(step, f.lane.Var.Name, "wants one of several loops that drive reduce variables only")
		return nil
	}
	if where := tir.Subst(realize.Where, first); where != nil && !analyzer(f.p.loops).Prove(needsOf(where, f.lane.Var)) {
		s.refuse(step, f.lane.Var.Name, "has iterations without any instance of %s", f.block.Name)
		return nil
	}
	for i, iv := range f.block.Iters {
		if iv.Kind != tir.Spatial {
			bind[iv.Var] = tir.Subst(realize.Values[i], iters)
		}
	}
	name := f.store.Buffer.Name + "_rf"
	for s.bufferNamed(name) {
		name += "_"
	}
	shape := f.store.Buffer.Shape
	f.buf = &tir.Buffer{Name: name, DType: f.store.Buffer.DType, Scope: tir.Global,
		Shape: append(append(append([]int{}, shape[:f.axis]...), f.extent), shape[f.axis:]...)}
	at := f.lanes(index, lane)
	rf.Init = &tir.Store{Buffer: f.buf, Indices: at, Value: f.block.Init.(*tir.Store).Value}
	rf.Body = &tir.Store{Buffer: f.buf, Indices: at, Value: tir.Bin(f.op, &tir.Load{Buffer: f.buf, Indices: at}, tir.Subst(f.term, bind))}
	rf.Reads, rf.Writes = tir.Accesses(rf)
	return &tir.BlockRealize{Values: values, Where: realize.Where, Block: rf}
}

// rest returns the nest of the block that reduces over the lanes.
func (f *factoring) rest() tir.Stmt {
	s, out := f.s, f.store.Buffer
	rest := &tir.Block{Name: f.block.Name, Attrs: f.block.Attrs}
	var loops []*tir.For
	var values, index []tir.Expr
	loop := func(name string, extent int, kind tir.IterKind) *tir.Var {
		v, l := s.newVar(name), s.newVar(name)
		rest.Iters = append(rest.Iters, tir.IterVar{Var: v, Extent: extent, Kind: kind})
		loops = append(loops, &tir.For{Var: l, Min: tir.I(0), Extent: tir.I(extent)})
		values = append(values, l)
		return v
	}
	for _, iv := range spatialIters(f.block) {
		index = append(index, loop(iv.Var.Name, iv.Extent, tir.Spatial))
	}
	at := f.lanes(index, loop(f.lane.Var.Name, f.extent, tir.Reduce))
	rest.Init = &tir.Store{Buffer: out, Indices: index, Value: f.block.Init.(*tir.Store).Value}
	rest.Body = &tir.Store{Buffer: out, Indices: index,
		Value: tir.Bin(f.op, &tir.Load{Buffer: out, Indices: index}, &tir.Load{Buffer: f.buf, Indices: at})}
	rest.Reads, rest.Writes = tir.Accesses(rest)
	var nest tir.Stmt = &tir.BlockRealize{Values: values, Block: rest}
	for i := len(loops) - 1; i >= 0; i-- {
		loops[i].Body = nest
		nest = loops[i]
	}
	return nest
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
