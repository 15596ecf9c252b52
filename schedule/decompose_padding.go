package schedule

import (
	"slices"

	"github.com/texel-ml/texel/tir"
	"github.com/texel-ml/texel/tir/arith"
)

// DecomposePadding cuts block b, which copies the inside of a padded buffer and fills its border, in two: a new block fills
// everything right before loop l, and b copies the inside alone. It returns the block that fills.
//
//	for i in 0..10                                   for i in 0..10: X_pad_fill: X_pad[i] = 0
//	  X_pad[i] = select(1 ≤ i < 9, X[i - 1], 0)  →   for i in 0..8
//	                                                   X_pad[i + 1] = X[i]
//
// Neither has a condition in its innermost loop then. The value outside is a constant, and what is inside is a matter of b's
// variables alone, each of which is an index of the buffer. A loop that b has for itself runs over the inside where the
// condition is one bound of it; other conditions guard b.
func (s *Schedule) DecomposePadding(b Block, l Loop) Block {
	const step = "decompose_padding"
	p := s.block(step, b)
	at := s.loop(step, l)
	if p == nil || at == nil {
		return Block{}
	}
	level := slices.Index(p.loops, at.loop)
	if level < 0 {
		s.refuse(step, b.name, "does not stand inside %s", l.v.Name)
		return Block{}
	}
	pad := s.padding(step, p)
	if pad == nil {
		return Block{}
	}
	if why := pad.alone(at.loop); why != "" {
		s.refuse(step, b.name, "%s, and would find the border there earlier; wanted decompose_padding at a loop further inside", why)
		return Block{}
	}
	if tir.IsConst(pad.condition(), 0) {
		s.refuse(step, b.name, "has no inside: its condition never holds")
		return Block{}
	}
	fill := pad.fill(level)
	k := max(p.alone(), level)
	loops, inner := pad.inside(k)
	nest := nestOf(loops, inner)
	switch {
	case k == len(p.loops):
		nest = swap(at.loop, p.realize, nest)
	case k > level:
		nest = swap(at.loop, p.loops[k], nest)
	}
	s.replaceIn(at, at.loop, &tir.Seq{Stmts: []tir.Stmt{fill, nest}})
	out := s.blockNamed(pad.name)
	s.record(step, operands(b, l), out)
	return out
}

// padded is a block that copies what is inside and fills the border.
type padded struct {
	s      *Schedule
	p      *place
	store  *tir.Store
	cond   tir.Expr // over the block's variables
	value  tir.Expr // inside
	border tir.Expr
	name   string // of the block that fills
}

// alone says what inside a loop sees when the border is filled: it is empty when nothing does.
func (d *padded) alone(l *tir.For) string {
	buf, before := d.store.Buffer, true
	for _, r := range runsOf(l) {
		switch b := r.realize.Block; {
		case r.realize == d.p.realize:
			before = false
		case writes(b, buf):
			return "block " + b.Name + " in loop " + l.Var.Name + " writes " + buf.Name + ", too"
		case before && loadsOf(b, buf):
			return "block " + b.Name + " in loop " + l.Var.Name + " reads " + buf.Name + " before"
		}
	}
	for _, st := range d.p.path[slices.Index(d.p.path, tir.Stmt(l)):] {
		if _, is := st.(*tir.If); is {
			return "it stands under a condition in loop " + l.Var.Name
		}
	}
	return ""
}

// padding takes a padding block apart; nil when it refuses.
func (s *Schedule) padding(step string, p *place) *padded {
	block := p.realize.Block
	store, ok := block.Body.(*tir.Store)
	if !ok || block.Init != nil || block.Opaque {
		s.refuse(step, block.Name, "is no block of one plain store")
		return nil
	}
	sel, ok := store.Value.(*tir.Select)
	if !ok {
		s.refuse(step, block.Name, "does not choose between an inside and a border")
		return nil
	}
	d := &padded{s: s, p: p, store: store, cond: sel.Cond, value: sel.Then, border: sel.Else, name: s.blockName(block.Name + "_fill")}
	constant := func(e tir.Expr) bool {
		switch e.(type) {
		case *tir.Int, *tir.Float:
			return true
		}
		return false
	}
	if !constant(d.border) && constant(d.value) {
		d.cond, d.value, d.border = tir.Negate(sel.Cond), sel.Else, sel.Then
	}
	if !constant(d.border) || hasLoad(d.cond) || loads(d.value, store.Buffer) {
		s.refuse(step, block.Name, "wants a constant border, a condition without loads, and an inside that is another buffer's")
		return nil
	}
	left := map[*tir.Var]bool{}
	for _, iv := range block.Iters {
		if iv.Kind != tir.Spatial {
			s.refuse(step, block.Name, "has the %v variable %s; wanted spatial ones", iv.Kind, iv.Var.Name)
			return nil
		}
		left[iv.Var] = iv.Extent > 1
	}
	for _, e := range store.Indices {
		if v, ok := e.(*tir.Var); ok {
			delete(left, v)
		}
	}
	for _, iv := range block.Iters {
		if left[iv.Var] {
			s.refuse(step, block.Name, "variable %s is no index of %s: an element may be inside and on the border", iv.Var.Name, store.Buffer.Name)
			return nil
		}
	}
	return d
}

// fill returns the nest of the block that fills, over copies of the loops from the given one on.
func (d *padded) fill(level int) tir.Stmt {
	s, r := d.s, d.p.realize
	b := &tir.Block{Name: d.name}
	bind := map[*tir.Var]tir.Expr{}
	for _, iv := range r.Block.Iters {
		v := s.newVar(iv.Var.Name)
		bind[iv.Var] = v
		b.Iters = append(b.Iters, tir.IterVar{Var: v, Extent: iv.Extent, Kind: tir.Spatial})
	}
	b.Body = &tir.Store{Buffer: d.store.Buffer, Indices: substAll(d.store.Indices, bind), Value: d.border}
	b.Reads, b.Writes = tir.Accesses(b)
	loops, to := s.copiesOf(d.p.loops[level:])
	return nestOf(loops, &tir.BlockRealize{Values: substAll(r.Values, to), Where: tir.Subst(r.Where, to), Block: b})
}

// condition is where the inside is, over the loops.
func (d *padded) condition() tir.Expr {
	return d.p.analyzer().Simplify(tir.Subst(d.cond, bindings(d.p.realize)))
}

// inside returns the realization of the block that copies, and the loops around it from number k on, cut to the inside
// where the condition bounds one of them.
func (d *padded) inside(k int) ([]*tir.For, *tir.BlockRealize) {
	r, a := d.p.realize, d.p.analyzer()
	b := *r.Block
	b.Body = &tir.Store{Buffer: d.store.Buffer, Indices: d.store.Indices, Value: d.value}
	b.Reads, b.Writes = tir.Accesses(&b)
	loops := slices.Clone(d.p.loops[k:])
	ranges := map[*tir.Var]*span{}
	for _, f := range loops {
		lo, okLo := tir.AsInt(f.Min)
		n, okN := tir.AsInt(f.Extent)
		if okLo && okN {
			ranges[f.Var] = &span{lo, lo + n}
		}
	}
	var where tir.Expr
	for _, c := range tir.Conjuncts(d.condition()) {
		if !bounds(a, c, ranges) {
			where = tir.All(where, c)
		}
	}
	to := map[*tir.Var]tir.Expr{}
	for i, f := range loops {
		t := ranges[f.Var]
		if t == nil || tir.IsConst(f.Min, t.lo) && tir.IsConst(f.Extent, t.hi-t.lo) {
			continue
		}
		c := *f
		c.Min, c.Extent = tir.I(0), tir.I(int(max(0, t.hi-t.lo)))
		to[f.Var] = tir.Plus(f.Var, tir.I(int(t.lo)))
		loops[i] = &c
	}
	for i, f := range loops {
		if tir.UsesAny(f.Min, to) || tir.UsesAny(f.Extent, to) {
			c := *f
			c.Min, c.Extent = tir.Subst(f.Min, to), tir.Subst(f.Extent, to)
			loops[i] = &c
		}
	}
	known := (&place{blocks: d.p.blocks, loops: append(slices.Clone(d.p.loops[:k]), loops...)}).analyzer()
	values := substAll(r.Values, to)
	for i, v := range values {
		values[i] = known.Simplify(v)
	}
	where = tir.All(known.Simplify(tir.Subst(tir.All(r.Where, where), to)))
	return loops, &tir.BlockRealize{Values: values, Where: where, Block: &b}
}

// span is the values lo ≤ v < hi of a loop.
type span struct{ lo, hi int64 }

// bounds narrows the range of a loop by a condition, and reports whether the condition says no more than that.
func bounds(a *arith.Analyzer, cond tir.Expr, ranges map[*tir.Var]*span) bool {
	b, ok := cond.(*tir.Binary)
	if !ok || !b.Op.IsCompare() || b.A.Type() != tir.Index {
		return false
	}
	var v *tir.Var
	var k, c int64 // k·v + c is compared with 0
	for _, t := range termsOf(a.Simplify(tir.Minus(b.A, b.B)), 1) {
		if n, ok := tir.AsInt(t.atom); ok {
			c += t.k * n
			continue
		}
		w, ok := t.atom.(*tir.Var)
		if !ok || v != nil {
			return false
		}
		v, k = w, t.k
	}
	r := ranges[v]
	if r == nil || k != 1 && k != -1 {
		return false
	}
	op := b.Op
	if k < 0 { // -v + c op 0 is v op' c
		op = map[tir.BinaryOp]tir.BinaryOp{tir.LT: tir.GT, tir.LE: tir.GE, tir.GT: tir.LT, tir.GE: tir.LE}[op]
	} else {
		c = -c
	}
	switch op {
	case tir.LT:
		r.hi = min(r.hi, c)
	case tir.LE:
		r.hi = min(r.hi, c+1)
	case tir.GT:
		r.lo = max(r.lo, c+1)
	case tir.GE:
		r.lo = max(r.lo, c)
	default:
		return false
	}
	return true
}
