package schedule

import (
	"slices"

	"github.com/texel-ml/texel/tir"
)

// RFactor splits the reduction below loop l in two: a new block reduces over all loops but l, into a buffer with one more
// axis for the iterations of l, and the old block reduces over that axis. It returns the new block, whose nest is the old
// one; the old block's nest stands behind it, with the loops that drive spatial variables.
//
//	for i                         for i, ko, ki: P_rf(i, ki, ko): R[i, ki] += A[i, 4·ko + ki]
//	  for ko          l = ki      for i
//	    for ki          →           for ki
//	      P(i, 4·ko + ki)             P(i, ki): P[i] += R[i, ki]
//
// The iterations of l may then run as lanes of a vector, or at the same time. axis is the place of the new axis in the new
// buffer, negative ones count from behind the last.
//
// Loops outside that hold other blocks too are shared by both parts; they may drive no reduce variable. A reduction of a
// tuple, such as argmax, gets a buffer for each component. The combination must be shown to be associative and
// commutative; Associative says how.
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
	r := s.reduction(step, block)
	if r == nil {
		return Block{}
	}
	if why := r.prove(); why != "" {
		s.refuse(step, block.Name, "cannot be cut into parts: %s", why)
		return Block{}
	}
	rank := len(r.at)
	if axis < 0 {
		axis += rank + 1
	}
	if axis < 0 || axis > rank {
		s.refuse(step, block.Name, "axis %d is outside the %d axes of the new buffer", axis, rank+1)
		return Block{}
	}
	f := &factoring{s: s, p: p, r: r, lane: at.loop, axis: axis, top: p.alone(), zero: map[*tir.Var]tir.Expr{}}
	if !f.checkLoops(step) || !f.checkGuard(step) {
		return Block{}
	}
	if shape := f.lanesShape(r.outs[0]); tooLarge(shape) {
		s.refuse(step, block.Name, "needs a buffer of shape %v; wanted at most %d elements", shape, maxMade)
		return Block{}
	}
	f.makeBuffers()
	rf := f.partial()
	top := p.loops[f.top]
	s.replaceIn(p, top, &tir.Seq{Stmts: []tir.Stmt{swap(top, p.realize, rf), f.rest()}}, f.bufs...)
	b := s.blockNamed(rf.Block.Name)
	s.record(step, operands(l, axis), b)
	return b
}

// factoring is one application of RFactor.
type factoring struct {
	s    *Schedule
	p    *place // of the reduction
	r    *reduction
	lane *tir.For              // the loop whose iterations become partial results
	n    int                   // how many there are
	axis int                   // of the lanes in the new buffers
	top  int                   // the outermost loop that holds the reduction alone
	zero map[*tir.Var]tir.Expr // the loops that drive reduce variables, with their first value
	bufs []*tir.Buffer         // of the partial results
}

// checkLoops finds the loops that drive reduce variables, and checks that they do that alone.
func (f *factoring) checkLoops(step string) bool {
	s, r := f.s, f.p.realize
	if f.top == len(f.p.loops) || !slices.Contains(f.p.loops[f.top:], f.lane) {
		s.refuse(step, f.lane.Var.Name, "wants %s alone below the loop, found conditions or lets between", r.Block.Name)
		return false
	}
	for i, l := range f.p.loops {
		reduces, spatial := drives(r, l.Var, tir.Reduce), drives(r, l.Var, tir.Spatial)
		if !reduces {
			continue
		}
		n, ok := tir.AsInt(l.Extent)
		switch {
		case i < f.top:
			s.refuse(step, l.Var.Name, "drives a reduce variable of %s and holds other blocks too; wanted %s alone in its reduction", r.Block.Name, r.Block.Name)
			return false
		case !ok || !tir.IsConst(l.Min, 0) || n < 1 || spatial:
			s.refuse(step, l.Var.Name, "drives a reduce variable, wanted constant bounds from 0 and no spatial variable that it drives too")
			return false
		}
		f.zero[l.Var] = tir.I(0)
		if l == f.lane {
			f.n = int(n)
		}
	}
	if len(f.zero) < 2 || f.n == 0 {
		s.refuse(step, f.lane.Var.Name, "wants one of several loops that drive reduce variables only")
		return false
	}
	for _, l := range f.p.loops {
		if f.zero[l.Var] == nil && (tir.UsesAny(l.Min, f.zero) || tir.UsesAny(l.Extent, f.zero)) {
			s.refuse(step, l.Var.Name, "has bounds that depend on a loop of the reduction")
			return false
		}
	}
	return true
}

// checkGuard checks that each lane of an element that is computed has its first instance, which writes the initial value.
func (f *factoring) checkGuard(step string) bool {
	where := f.p.realize.Where
	if where == nil {
		return true
	}
	lanes := map[*tir.Var]tir.Expr{}
	for v, e := range f.zero {
		if v != f.lane.Var {
			lanes[v] = e
		}
	}
	a := f.p.analyzer()
	defer a.Assume(tir.Subst(where, f.zero))()
	if !a.Prove(tir.Subst(where, lanes)) {
		f.s.refuse(step, f.lane.Var.Name, "has iterations without any instance of %s", f.r.block.Name)
		return false
	}
	return true
}

func (f *factoring) makeBuffers() {
	scope := tir.Global
	if f.p.scope() != nil {
		scope = tir.Scratch // it lives for one instance of the block around
	}
	for _, out := range f.r.outs {
		f.bufs = append(f.bufs, &tir.Buffer{Name: f.s.freeName(out.Name + "_rf"), DType: out.DType, Scope: scope,
			Shape: f.lanesShape(out)})
	}
}

// lanesShape is the shape of a result with the axis of the lanes.
func (f *factoring) lanesShape(out *tir.Buffer) []int {
	return slices.Insert(slices.Clone(out.Shape), f.axis, f.n)
}

// lanes puts the index of the lane into the indices of the results.
func (f *factoring) lanes(index []tir.Expr, lane tir.Expr) []tir.Expr {
	return slices.Insert(slices.Clone(index), f.axis, lane)
}

// partial returns the realization of the block that reduces over all loops of the reduction but the lanes, which stands
// in the old nest.
func (f *factoring) partial() *tir.BlockRealize {
	s, realize := f.s, f.p.realize
	rf := &tir.Block{Name: s.blockName(f.r.block.Name + "_rf")}
	bind, iters := map[*tir.Var]tir.Expr{}, map[*tir.Var]tir.Expr{}
	var values []tir.Expr
	add := func(name string, extent int, kind tir.IterKind, value tir.Expr) *tir.Var {
		v := s.newVar(name)
		rf.Iters = append(rf.Iters, tir.IterVar{Var: v, Extent: extent, Kind: kind})
		values = append(values, value)
		return v
	}
	for i, iv := range f.r.block.Iters {
		if iv.Kind == tir.Spatial {
			bind[iv.Var] = add(iv.Var.Name, iv.Extent, tir.Spatial, realize.Values[i])
		}
	}
	lane := add(f.lane.Var.Name, f.n, tir.Spatial, f.lane.Var)
	iters[f.lane.Var] = lane
	for _, l := range f.p.loops {
		if f.zero[l.Var] != nil && l != f.lane {
			n, _ := tir.AsInt(l.Extent)
			iters[l.Var] = add(l.Var.Name, int(n), tir.Reduce, l.Var)
		}
	}
	for i, iv := range f.r.block.Iters {
		if iv.Kind != tir.Spatial {
			bind[iv.Var] = tir.Subst(realize.Values[i], iters)
		}
	}
	at := f.lanes(substAll(f.r.at, bind), lane)
	rf.Init = initial(f.bufs, at, f.r.unit)
	rf.Body = s.update(f.r, f.bufs, at, substAll(f.r.terms, bind))
	if f.r.where != nil {
		rf.Body = &tir.If{Cond: tir.Subst(f.r.where, bind), Then: rf.Body}
	}
	rf.Reads, rf.Writes = tir.Accesses(rf)
	return &tir.BlockRealize{Values: values, Where: realize.Where, Block: rf}
}

// rest returns the nest of the block that reduces over the lanes.
func (f *factoring) rest() tir.Stmt {
	s, realize := f.s, f.p.realize
	where := f.p.simplified(tir.Subst(realize.Where, f.zero))
	var loops []*tir.For
	for _, l := range f.p.loops[f.top:] {
		if f.zero[l.Var] == nil && (drives(realize, l.Var, tir.Spatial) || where != nil && tir.Uses(where, l.Var)) {
			loops = append(loops, l)
		}
	}
	loops, to := s.copiesOf(loops)
	rest := &tir.Block{Name: f.r.block.Name, Attrs: f.r.block.Attrs}
	var values []tir.Expr
	bind := map[*tir.Var]tir.Expr{}
	at := 0 // the loops before this one drive the variables that were looked at
	for i, iv := range f.r.block.Iters {
		if iv.Kind != tir.Spatial {
			continue
		}
		v, value := s.newVar(iv.Var.Name), tir.Subst(realize.Values[i], to)
		bind[iv.Var] = v
		rest.Iters = append(rest.Iters, tir.IterVar{Var: v, Extent: iv.Extent, Kind: tir.Spatial})
		for n := at; n < len(loops); n++ {
			if tir.Uses(value, loops[n].Var) {
				at = n + 1
			}
		}
		if iv.Extent == 1 && tir.IsConst(value, 0) { // a loop of its own, as before its value was simplified
			l := s.newVar(iv.Var.Name)
			loops = slices.Insert(loops, at, &tir.For{Var: l, Min: tir.I(0), Extent: tir.I(1)})
			at, value = at+1, l
		}
		values = append(values, value)
	}
	lane := s.newVar(f.lane.Var.Name)
	loops = append(loops, &tir.For{Var: lane, Min: tir.I(0), Extent: tir.I(f.n)})
	v := s.newVar(f.lane.Var.Name)
	rest.Iters = append(rest.Iters, tir.IterVar{Var: v, Extent: f.n, Kind: tir.Reduce})
	values = append(values, lane)

	index := substAll(f.r.at, bind)
	partial := make([]tir.Expr, len(f.bufs))
	for i, b := range f.bufs {
		partial[i] = &tir.Load{Buffer: b, Indices: f.lanes(index, v)}
	}
	rest.Init = initial(f.r.outs, index, substAll(f.r.inits, bind))
	rest.Body = s.update(f.r, f.r.outs, index, partial)
	rest.Reads, rest.Writes = tir.Accesses(rest)
	return nestOf(loops, &tir.BlockRealize{Values: values, Where: tir.Subst(where, to), Block: rest})
}

func substAll(list []tir.Expr, to map[*tir.Var]tir.Expr) []tir.Expr {
	out := make([]tir.Expr, len(list))
	for i, e := range list {
		out[i] = tir.Subst(e, to)
	}
	return out
}

// drives reports whether a loop variable appears in the value of an iteration variable of the given kind.
func drives(r *tir.BlockRealize, v *tir.Var, kind tir.IterKind) bool {
	for i, iv := range r.Block.Iters {
		if iv.Kind == kind && tir.Uses(r.Values[i], v) {
			return true
		}
	}
	return false
}
