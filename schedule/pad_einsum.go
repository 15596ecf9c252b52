package schedule

import (
	"fmt"
	"math"
	"slices"

	"github.com/texel-ml/texel/tir"
)

// PadEinsum makes the extents of block b, a product or contraction, multiples of the given numbers, one for each of its
// variables; 1 leaves one as it is. The operands are copied into larger buffers, filled with zeros, and the result is cut out
// of a larger one:
//
//	for i in 0..10, j in 0..24, k in 0..30            for i in 0..16, k in 0..32: A_pad = A[i, k] or 0
//	  C[i, j] += A[i, k] · B[k, j]                    for k in 0..32, j in 0..24: B_pad = B[k, j] or 0
//	                                           →      for i in 0..16, j in 0..24, k in 0..32
//	                                                    C_pad[i, j] += A_pad[i, k] · B_pad[k, j]
//	                                                  for i in 0..10, j in 0..24: C[i, j] = C_pad[i, j]
//
// Tiles then have no tail, and the copies can be moved or inlined. Every loop of the nest must be one variable of b, and b
// may read and write at its own variables and constants alone. Where a reduce variable is padded, what is folded in past its
// end must be shown to change nothing: for a sum, a product of which every factor is padded there.
func (s *Schedule) PadEinsum(b Block, padding ...int) {
	const step = "pad_einsum"
	p := s.block(step, b)
	if p == nil {
		return
	}
	e := &einsum{s: s, p: p, block: p.realize.Block, top: p.alone(), extent: map[*tir.Var]int{}}
	if !e.checkNest(step) || !e.checkPadding(step, padding) || !e.checkAccesses(step) || !e.checkTerms(step) {
		return
	}
	e.pad()
	s.record(step, operands(b, padding))
}

// einsum is one application of PadEinsum.
type einsum struct {
	s      *Schedule
	p      *place
	block  *tir.Block
	top    int              // the outermost loop of the nest
	extent map[*tir.Var]int // of the variables that are padded: the new extent
	loads  []*paddedOperand
	out    *paddedOperand // nil where the result has its old size
}

// paddedOperand is a buffer as the block accesses it, and the one that takes its place.
type paddedOperand struct {
	buf, pad *tir.Buffer
	at       []tir.Expr
}

// checkNest checks that each loop of the nest is one variable of the block.
func (e *einsum) checkNest(step string) bool {
	s, r := e.s, e.p.realize
	loops := e.p.loops[e.top:]
	ok := !e.block.Opaque && len(e.block.Allocs) == 0 && !holdsNest(e.block.Body) && r.Where == nil && len(loops) == len(r.Values)
	seen := map[*tir.Var]bool{}
	for i, v := range r.Values {
		n := slices.IndexFunc(loops, func(f *tir.For) bool { return tir.Expr(f.Var) == v })
		ok = ok && n >= 0 && !seen[loops[n].Var] && tir.IsConst(loops[n].Min, 0) && tir.IsConst(loops[n].Extent, int64(e.block.Iters[i].Extent))
		if !ok {
			break
		}
		seen[loops[n].Var] = true
	}
	if !ok {
		s.refuse(step, e.block.Name, "is no plain block, unguarded, that is alone in a nest of one loop for each variable")
	}
	return ok
}

func (e *einsum) checkPadding(step string, padding []int) bool {
	s := e.s
	if len(padding) != len(e.block.Iters) {
		s.refuse(step, e.block.Name, "%d numbers for %d variables; wanted one for each", len(padding), len(e.block.Iters))
		return false
	}
	for i, n := range padding {
		iv := e.block.Iters[i]
		if n < 1 || n > math.MaxInt32-iv.Extent {
			s.refuse(step, e.block.Name, "variable %s cannot have a multiple of %d iterations; wanted a positive number", iv.Var.Name, n)
			return false
		}
		if to := (iv.Extent + n - 1) / n * n; to != iv.Extent {
			e.extent[iv.Var] = to
		}
	}
	if len(e.extent) == 0 {
		s.refuse(step, e.block.Name, "every variable has a multiple of %v iterations already", padding)
		return false
	}
	return true
}

// checkAccesses notes the operands, whose indices must be variables or use none.
func (e *einsum) checkAccesses(step string) bool {
	own := map[*tir.Var]bool{}
	for _, iv := range e.block.Iters {
		own[iv.Var] = true
	}
	ok := true
	note := func(list []*paddedOperand, buf *tir.Buffer, at []tir.Expr) []*paddedOperand {
		for axis, i := range at {
			if _, plain := i.(*tir.Var); !plain && tir.UsesAny(i, own) && ok {
				e.s.refuse(step, e.block.Name, "index %d of %s is computed; wanted a variable or a constant", axis, buf.Name)
				ok = false
			}
		}
		for _, o := range list {
			if o.buf == buf && sameIndices(o.at, at) {
				return list
			}
		}
		return append(list, &paddedOperand{buf: buf, at: at})
	}
	var stores []*paddedOperand
	for _, st := range []tir.Stmt{e.block.Init, e.block.Body} {
		if st == nil {
			continue
		}
		tir.Walk(st, func(n any) bool {
			switch n := n.(type) {
			case *tir.Store:
				stores = note(stores, n.Buffer, n.Indices)
			case *tir.Load:
				e.loads = note(e.loads, n.Buffer, n.Indices)
			case *tir.Binary:
				d, isConst := tir.AsInt(n.B)
				divides := n.Op == tir.Div || n.Op == tir.Mod || n.Op == tir.FloorDiv || n.Op == tir.FloorMod
				if divides && n.A.Type().DType.IsInt() && (!isConst || d == 0) && ok {
					e.s.refuse(step, e.block.Name, "divides integers, which may be 0 past the end")
					ok = false
				}
			}
			return ok
		})
	}
	if ok && len(stores) != 1 {
		e.s.refuse(step, e.block.Name, "writes at %d places; wanted one", len(stores))
		return false
	}
	if !ok {
		return false
	}
	out := stores[0]
	e.loads = slices.DeleteFunc(e.loads, func(o *paddedOperand) bool { return !e.padded(o) || o.buf == out.buf && sameIndices(o.at, out.at) })
	if e.padded(out) {
		e.out = out
	}
	for _, o := range append(slices.Clip(e.loads), out) {
		if shape := e.shapeOf(o); tooLarge(shape) {
			e.s.refuse(step, e.block.Name, "needs a buffer of shape %v; wanted at most %d elements", shape, maxMade)
			return false
		}
	}
	return true
}

func (e *einsum) padded(o *paddedOperand) bool {
	return slices.ContainsFunc(o.at, func(i tir.Expr) bool { return tir.UsesAny(i, e.extent) })
}

// checkTerms checks that what a reduction folds in past the end of a variable changes nothing.
func (e *einsum) checkTerms(step string) bool {
	reduces := false
	for _, iv := range e.block.Iters {
		reduces = reduces || iv.Kind != tir.Spatial
	}
	if !reduces {
		if loadsAny(bodyValue(e.block.Body), writtenBy(e.block)) {
			e.s.refuse(step, e.block.Name, "reads what it writes and is no reduction")
			return false
		}
		return true
	}
	r := e.s.reduction(step, e.block)
	if r == nil {
		return false
	}
	if why := r.prove(); why != "" {
		e.s.refuse(step, e.block.Name, "cannot be padded: %s", why)
		return false
	}
	for _, iv := range e.block.Iters {
		if iv.Kind != tir.Reduce || e.extent[iv.Var] == 0 {
			continue
		}
		for i, t := range r.terms {
			v, known := atZero(t, iv.Var)
			if unit, ok := atZero(r.unit[i], iv.Var); !known || !ok || v != unit || r.where != nil {
				e.s.refuse(step, e.block.Name, "what it folds in past the end of %s is not shown to change nothing; wanted a product of which every factor has %s as an index",
					iv.Var.Name, iv.Var.Name)
				return false
			}
		}
	}
	return true
}

// bodyValue is the value of a block's only store, after lets.
func bodyValue(st tir.Stmt) tir.Expr {
	lets, st := letsOf(st)
	if store, ok := st.(*tir.Store); ok {
		env := map[*tir.Var]tir.Expr{}
		for _, l := range lets {
			env[l.Var] = tir.Subst(l.Value, env)
		}
		return tir.Subst(store.Value, env)
	}
	return tir.I(0)
}

func writtenBy(b *tir.Block) []*tir.Buffer {
	var list []*tir.Buffer
	for _, w := range b.Writes {
		list = append(list, w.Buffer)
	}
	return list
}

// atZero evaluates an expression where every load at variable v is 0; it reports false where that does not say what it is. A
// product with a 0 is not 0 when the other factor may be infinite.
func atZero(e tir.Expr, v *tir.Var) (float64, bool) {
	switch n := e.(type) {
	case *tir.Int:
		return float64(n.Value), true
	case *tir.Float:
		return n.Value, true
	case *tir.Load:
		for _, i := range n.Indices {
			if tir.Uses(i, v) {
				return 0, true
			}
		}
	case *tir.Cast:
		x, ok := atZero(n.A, v)
		return x, ok && x == 0
	case *tir.Binary:
		x, okx := atZero(n.A, v)
		y, oky := atZero(n.B, v)
		switch {
		case n.Op == tir.Mul && n.A.Type().DType.IsInt() && (okx && x == 0 || oky && y == 0):
			return 0, true
		case !okx || !oky:
		case n.Op == tir.Mul && (x == 0 || y == 0) && !math.IsInf(x, 0) && !math.IsInf(y, 0):
			return 0, true
		case (n.Op == tir.Add || n.Op == tir.Sub || n.Op == tir.Min || n.Op == tir.Max || n.Op == tir.And || n.Op == tir.Or) && x == 0 && y == 0:
			return 0, true
		}
	case *tir.Call:
		if x, ok := atZero(n.Args[0], v); ok && x == 0 && n.Fn == tir.Abs {
			return 0, true
		}
	}
	return 0, false
}

// pad makes the buffers, the copies and the larger nest.
func (e *einsum) pad() {
	s := e.s
	scope := tir.Global
	if e.p.scope() != nil {
		scope = tir.Scratch
	}
	var allocs []*tir.Buffer
	taken := map[string]bool{}
	operands := e.loads
	if e.out != nil {
		operands = append(slices.Clone(operands), e.out)
	}
	for _, o := range operands {
		o.pad = &tir.Buffer{Name: s.freeName(o.buf.Name + "_pad"), DType: o.buf.DType, Scope: scope, Shape: e.shapeOf(o)}
		for n := 1; taken[o.pad.Name]; n++ {
			o.pad.Name = s.freeName(fmt.Sprintf("%s_pad%d", o.buf.Name, n))
		}
		taken[o.pad.Name] = true
		allocs = append(allocs, o.pad)
	}
	var list []tir.Stmt
	for _, o := range e.loads {
		list = append(list, e.fill(o))
	}
	list = append(list, e.nest())
	if e.out != nil {
		list = append(list, e.cutOut())
	}
	s.replaceIn(e.p, e.p.loops[e.top], &tir.Seq{Stmts: list}, allocs...)
}

// own returns the variable of the block that an index is, nil for others.
func (e *einsum) own(index tir.Expr) *tir.IterVar {
	for i, iv := range e.block.Iters {
		if index == tir.Expr(iv.Var) {
			return &e.block.Iters[i]
		}
	}
	return nil
}

// shapeOf returns the shape of the buffer in an operand's place: the extents of the variables, the new ones where they are
// padded. The block needs one element of any other axis.
func (e *einsum) shapeOf(o *paddedOperand) []int {
	shape := make([]int, len(o.at))
	for axis, index := range o.at {
		shape[axis] = 1
		if iv := e.own(index); iv != nil {
			shape[axis] = max(iv.Extent, e.extent[iv.Var])
		}
	}
	return shape
}

// padAt returns the indices in the buffer in an operand's place.
func (e *einsum) padAt(o *paddedOperand) []tir.Expr {
	at := slices.Clone(o.at)
	for axis, index := range at {
		if e.own(index) == nil {
			at[axis] = tir.I(0)
		}
	}
	return at
}

// fill copies an operand, with zeros past its end.
func (e *einsum) fill(o *paddedOperand) tir.Stmt {
	b := &tir.Block{Name: e.s.blockName(o.pad.Name)}
	var to, from, values []tir.Expr
	var loops []*tir.For
	var inside tir.Expr
	for axis, index := range o.at {
		iv := e.own(index)
		if iv == nil {
			to, from = append(to, tir.I(0)), append(from, index)
			continue
		}
		v, l := e.s.newVar(iv.Var.Name), e.s.newVar(iv.Var.Name)
		b.Iters = append(b.Iters, tir.IterVar{Var: v, Extent: o.pad.Shape[axis], Kind: tir.Spatial})
		loops = append(loops, &tir.For{Var: l, Min: tir.I(0), Extent: tir.I(o.pad.Shape[axis])})
		to, from, values = append(to, v), append(from, v), append(values, l)
		// A block that asks first whether an element exists may have more iterations than the operand has elements.
		if n := min(iv.Extent, o.buf.Shape[axis]); n < o.pad.Shape[axis] {
			inside = tir.All(inside, tir.Lt(v, tir.I(n)))
		}
	}
	b.Body = &tir.Store{Buffer: o.pad, Indices: to, Value: tir.Sel(inside, &tir.Load{Buffer: o.buf, Indices: from}, tir.Const(o.buf.DType, 0))}
	b.Reads, b.Writes = tir.Accesses(b)
	return nestOf(loops, &tir.BlockRealize{Values: values, Block: b})
}

// nest is the old nest with the new extents and buffers.
func (e *einsum) nest() tir.Stmt {
	b := *e.block
	b.Iters = slices.Clone(b.Iters)
	for i, iv := range b.Iters {
		if n := e.extent[iv.Var]; n > 0 {
			b.Iters[i].Extent = n
		}
	}
	operand := func(buf *tir.Buffer, at []tir.Expr) (*tir.Buffer, []tir.Expr) {
		for _, o := range append(slices.Clip(e.loads), e.out) {
			if o != nil && o.buf == buf && sameIndices(o.at, at) {
				return o.pad, e.padAt(o)
			}
		}
		return buf, at
	}
	m := &tir.Mapper{
		Expr: func(x tir.Expr) tir.Expr {
			if l, ok := x.(*tir.Load); ok {
				if to, at := operand(l.Buffer, l.Indices); to != l.Buffer {
					return &tir.Load{Buffer: to, Indices: at}
				}
			}
			return x
		},
		Stmt: func(st tir.Stmt) tir.Stmt {
			if n, ok := st.(*tir.Store); ok {
				to, at := operand(n.Buffer, n.Indices)
				return &tir.Store{Buffer: to, Indices: at, Value: n.Value}
			}
			return st
		},
	}
	b.Init, b.Body = m.MapStmt(b.Init), m.MapStmt(b.Body)
	b.Reads, b.Writes = tir.Accesses(&b)
	loops := slices.Clone(e.p.loops[e.top:])
	for i, f := range loops {
		n := slices.Index(e.p.realize.Values, tir.Expr(f.Var))
		c := *f
		c.Extent = tir.I(b.Iters[n].Extent)
		loops[i] = &c
	}
	return nestOf(loops, &tir.BlockRealize{Values: e.p.realize.Values, Block: &b})
}

// cutOut copies the result out of the larger one.
func (e *einsum) cutOut() tir.Stmt {
	b := &tir.Block{Name: e.s.blockName(e.out.buf.Name + "_cut")}
	to := map[*tir.Var]tir.Expr{}
	var values []tir.Expr
	var loops []*tir.For
	for _, iv := range spatialIters(e.block) {
		v, l := e.s.newVar(iv.Var.Name), e.s.newVar(iv.Var.Name)
		to[iv.Var] = v
		b.Iters = append(b.Iters, tir.IterVar{Var: v, Extent: iv.Extent, Kind: tir.Spatial})
		loops = append(loops, &tir.For{Var: l, Min: tir.I(0), Extent: tir.I(iv.Extent)})
		values = append(values, l)
	}
	b.Body = &tir.Store{Buffer: e.out.buf, Indices: substAll(e.out.at, to),
		Value: &tir.Load{Buffer: e.out.pad, Indices: substAll(e.padAt(e.out), to)}}
	b.Reads, b.Writes = tir.Accesses(b)
	return nestOf(loops, &tir.BlockRealize{Values: values, Block: b})
}
