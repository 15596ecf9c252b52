package schedule

import (
	"slices"

	"github.com/texel-ml/texel/diag"
	"github.com/texel-ml/texel/tir"
	"github.com/texel-ml/texel/tir/arith"
	"github.com/texel-ml/texel/tir/proof"
)

// Reindex lets block b reach one of its buffers, the n-th that it reads or writes, through a new global buffer whose indices
// are b's own iteration variables: those that the old index uses, in the block's order. A new block copies between the two.
// It returns the new block.
//
//	for n, k: C(n, k): C[n] += X[n + k]·W[k]     →     for a, k: X_reindex(a, k): X_reindex[a, k] = X[a + k]
//	                                                   for n, k: C(n, k): C[n] += X_reindex[n, k]·W[k]
//
// Of a convolution that makes the columns matrix of im2col; what follows is a plain product. Where an index leaves the
// buffer, as in a border of padding, nothing is copied: b reads nothing there.
//
// The copy stands before b's nest (behind it, of what b writes) and covers all instances of b. It refuses a block that
// reaches the buffer at more than one place, an index that is read from a buffer, a buffer that is used inside b's own
// nest, and a write that two instances make to one element.
func (s *Schedule) Reindex(b Block, side Side, n int) Block {
	const step = "reindex"
	p := s.plainBlock(step, b)
	if p == nil {
		return Block{}
	}
	if side != Read && side != Write {
		s.refuse(step, b.name, "the side is %q; wanted \"read\" or \"write\"", side)
		return Block{}
	}
	block := p.realize.Block
	buf := operand(block, n)
	if side == Write {
		buf = result(block, n)
	}
	if buf == nil {
		s.refuse(step, b.name, "has no buffer number %d on the side %q", n, side)
		return Block{}
	}
	r := &reindexing{s: s, step: step, b: b, p: p, buf: buf, side: side}
	if !r.find() || !r.apart() {
		return Block{}
	}
	name := r.rewrite()
	if name == "" {
		return Block{}
	}
	out := s.blockNamed(name)
	s.record(step, operands(b, string(side), n), out)
	return out
}

// reindexing is one application of Reindex.
type reindexing struct {
	s     *Schedule
	step  string
	b     Block
	p     *place
	buf   *tir.Buffer
	side  Side
	index []tir.Expr    // where the block reaches buf
	iters []tir.IterVar // of the block that index uses
	level *level        // where the copy goes
	users []*place
}

// find finds the only index at which the block reaches the buffer.
func (r *reindexing) find() bool {
	block := r.p.realize.Block
	places := 0
	note := func(idx []tir.Expr) {
		if r.index == nil || !sameIndices(r.index, idx) {
			places++
		}
		if r.index == nil {
			r.index = append([]tir.Expr{}, idx...)
		}
	}
	for _, st := range []tir.Stmt{block.Init, block.Body} {
		if st == nil {
			continue
		}
		tir.Walk(st, func(n any) bool {
			switch n := n.(type) {
			case *tir.Load:
				if n.Buffer == r.buf {
					note(n.Indices)
				}
			case *tir.Store:
				if n.Buffer == r.buf {
					note(n.Indices)
				}
			case *tir.For, *tir.BlockRealize, *tir.Let, *tir.While:
				places = 2 // an index may use what is bound inside
			}
			return true
		})
	}
	if places != 1 {
		r.s.refuse(r.step, r.b.name, "reaches %s at more than one place, or binds variables of its own; wanted one place", r.buf.Name)
		return false
	}
	own := map[*tir.Var]bool{}
	for _, iv := range block.Iters {
		own[iv.Var] = true
		if slices.ContainsFunc(r.index, func(e tir.Expr) bool { return tir.Uses(e, iv.Var) }) {
			r.iters = append(r.iters, iv)
		}
	}
	for _, e := range r.index {
		if hasLoad(e) || e.Type() != tir.Index || usesOthers(e, own) {
			r.s.refuse(r.step, r.b.name, "an index of %s is read from a buffer, is a vector or uses a variable from outside", r.buf.Name)
			return false
		}
	}
	return true
}

// apart checks that nobody else uses the buffer in the block's nest, and on the side of what it writes that it is the only
// writer and writes each element once.
func (r *reindexing) apart() bool {
	s := r.s
	r.level = s.rootLevel()
	r.users = s.users(r.buf)
	at := r.level.index(r.p)
	for _, u := range r.users {
		if u.realize == r.p.realize {
			continue
		}
		if r.level.index(u) == at {
			s.refuse(r.step, r.b.name, "block %s uses %s in the same nest; wanted reindex before compute_at", u.realize.Block.Name, r.buf.Name)
			return false
		}
		if r.side == Write && (writes(u.realize.Block, r.buf) || r.level.index(u) < at) {
			s.refuse(r.step, r.b.name, "block %s writes %s too, or reads it before", u.realize.Block.Name, r.buf.Name)
			return false
		}
	}
	if r.side == Read {
		if writes(r.p.realize.Block, r.buf) {
			s.refuse(r.step, r.b.name, "writes %s too; wanted the side \"write\"", r.buf.Name)
			return false
		}
		return true
	}
	claim := &proof.Claim{Kind: proof.Injection, Subject: "index of " + r.buf.Name, Side: proof.Side{Map: r.index}}
	for _, iv := range r.p.realize.Block.Iters {
		if iv.Kind == tir.Spatial {
			claim.Vars = append(claim.Vars, proof.Var{Var: iv.Var, Extent: int64(iv.Extent)})
		} else if slices.ContainsFunc(r.index, func(e tir.Expr) bool { return tir.Uses(e, iv.Var) }) {
			s.refuse(r.step, r.b.name, "the index of %s uses the %v variable %s", r.buf.Name, iv.Kind, iv.Var.Name)
			return false
		}
	}
	if err := proof.Check(claim); err != nil {
		s.fail(diag.Invalid(r.step, r.b.name, "two instances write one element of %s", r.buf.Name).By(err))
		return false
	}
	return true
}

// rewrite puts the new buffer into the block and the copy beside its nest.
func (r *reindexing) rewrite() string {
	s := r.s
	to := &tir.Buffer{Name: s.freeName(r.buf.Name + "_reindex"), DType: r.buf.DType, Scope: tir.Global}
	copied := &tir.Block{Name: s.blockName(to.Name)}
	if r.side == Write {
		copied.Name = s.blockName(to.Name + "_back")
	}
	a := arith.New()
	fresh := map[*tir.Var]tir.Expr{}
	var own, values []tir.Expr
	var loops []*tir.For
	var where tir.Expr
	bound := map[*tir.Var]tir.Expr{}
	for _, iv := range r.iters {
		to.Shape = append(to.Shape, iv.Extent)
		own = append(own, iv.Var)
		v, loop := s.newVar(iv.Var.Name), s.newVar(iv.Var.Name)
		f := &tir.For{Var: loop, Min: tir.I(0), Extent: tir.I(iv.Extent)}
		a.BindLoop(f)
		fresh[iv.Var], bound[iv.Var] = v, loop
		copied.Iters = append(copied.Iters, tir.IterVar{Var: v, Extent: iv.Extent, Kind: tir.Spatial})
		values, loops = append(values, loop), append(loops, f)
	}
	if to.Shape == nil {
		to.Shape = []int{}
	}
	size := int64(1)
	for _, n := range to.Shape {
		if size *= int64(n); size > 1<<31 {
			s.refuse(r.step, r.b.name, "the new buffer would have the shape %v, more than 2^31 elements", to.Shape)
			return ""
		}
	}
	at, there := make([]tir.Expr, len(r.index)), make([]tir.Expr, len(own))
	for i, e := range r.index {
		at[i] = tir.Subst(e, fresh)
		v := tir.Subst(e, bound)
		for _, in := range []tir.Expr{tir.Bin(tir.GE, v, tir.I(0)), tir.Bin(tir.LT, v, tir.I(r.buf.Shape[i]))} {
			where = tir.All(where, a.Simplify(in))
		}
	}
	for i, e := range own {
		there[i] = tir.Subst(e, fresh)
	}
	source, sourceAt, target, targetAt := r.buf, at, to, there
	if r.side == Write {
		source, sourceAt, target, targetAt = to, there, r.buf, at
	}
	copied.Body = &tir.Store{Buffer: target, Indices: targetAt, Value: &tir.Load{Buffer: source, Indices: sourceAt}}
	copied.Reads, copied.Writes = tir.Accesses(copied)
	st := nestOf(loops, &tir.BlockRealize{Values: values, Where: where, Block: copied})
	w := rewriting{from: r.buf, to: to}
	w.indices = func([]tir.Expr) []tir.Expr { return own }
	w.box = func([]tir.Range) []tir.Range { return tir.Point(to, own).Ranges }
	l := r.level
	at0 := l.index(r.p)
	written := r.side == Read && s.writtenBefore(l, at0, r.users, r.buf, whole(r.buf))
	l.replace(r.p.realize, w.in(r.p.realize))
	if r.side == Write {
		at0++
	}
	l.insert(at0, st)
	s.setLevel(l, to)
	if !written && !s.needs(r.step, r.b.name, copied.Name) {
		return ""
	}
	return copied.Name
}
