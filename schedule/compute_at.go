package schedule

import (
	"github.com/texel-ml/texel/tir"
	"github.com/texel-ml/texel/tir/arith"
)

// ComputeAt moves the block b, a producer, into the body of loop l: each iteration computes just the part of b's output
// that its consumers inside l read.
//
//	for i in 0..64: A(i)          for io in 0..8
//	for io in 0..8            →     for a in 0..8: A(8·io + a)
//	  for ii in 0..8                for ii in 0..8: B(8·io + ii)
//	    B(8·io + ii)
//
// It refuses when b's output is a result of the function, is written elsewhere, is read outside l, or is not written at
// exactly b's own variables. Parts past the end of the buffer are guarded; parts that iterations share are computed in
// each of them.
func (s *Schedule) ComputeAt(b Block, l Loop) {
	if s.placed("compute_at", b, l) {
		return
	}
	p := s.block("compute_at", b)
	at := s.loop("compute_at", l)
	if p == nil || at == nil {
		return
	}
	block := p.realize.Block
	if block.Opaque || len(block.Writes) == 0 {
		s.refuse("compute_at", b.name, "is opaque")
		return
	}
	buf := block.Writes[0].Buffer
	spatial := spatialIters(block)
	if !s.producesAlone("compute_at", block, buf, spatial) {
		return
	}
	consumers := 0
	for _, c := range realizesIn(s.fn.Root().Body) {
		if c.realize.Block != block && reads(c.realize.Block, buf) {
			consumers++
		}
	}
	around := append(append([]*tir.For{}, at.loops...), at.loop)
	a := analyzer(around)
	var box []tir.Range
	inside := 0
	for _, c := range realizesIn(at.loop.Body) {
		if c.realize.Block == block || !reads(c.realize.Block, buf) {
			continue
		}
		inside++
		for _, f := range c.loops {
			a.BindExpr(f.Var, f.Min, f.Extent)
		}
		for _, r := range c.realize.Block.Reads {
			if r.Buffer != buf {
				continue
			}
			part, ok := touched(a, c, r)
			if !ok {
				s.refuse("compute_at", b.name, "the part of %s that block %s reads has no constant extent", buf.Name, c.realize.Block.Name)
				return
			}
			if box == nil {
				box = part
			} else if box, ok = a.Union(box, part); !ok {
				s.refuse("compute_at", b.name, "the parts of %s that are read inside %s have no common box", buf.Name, l.v.Name)
				return
			}
		}
	}
	if inside == 0 || inside != consumers {
		s.refuse("compute_at", b.name, "%d of the %d blocks that read %s stand inside %s; wanted all", inside, consumers, buf.Name, l.v.Name)
		return
	}
	nest, ok := s.nestOver(p.realize, box, a)
	if !ok {
		s.refuse("compute_at", b.name, "its guard is not over its own variables; wanted compute_at before its loops are split")
		return
	}
	body := swap(s.fn.Root().Body, p.realize, nil)
	target := findLoop(body, l.v)
	c := *target
	c.Body = insertBefore(target.Body, nest, func(st tir.Stmt) bool { return readsBuffer(st, buf) })
	s.setRoot(swap(body, target, &c), s.fn.Root().Allocs)
	s.record("compute_at", operands(b, l))
}

// producesAlone checks that block is the only writer of buf, that buf is no parameter, and that the block writes it at
// its own spatial variables.
func (s *Schedule) producesAlone(step string, block *tir.Block, buf *tir.Buffer, spatial []tir.IterVar) bool {
	for _, p := range s.fn.Params {
		if p == buf {
			s.refuse(step, block.Name, "writes %s, a parameter of the function; wanted an intermediate buffer (see cache_write)", buf.Name)
			return false
		}
	}
	for _, c := range realizesIn(s.fn.Root().Body) {
		if c.realize.Block != block && writes(c.realize.Block, buf) {
			s.refuse(step, block.Name, "%s is also written by block %s", buf.Name, c.realize.Block.Name)
			return false
		}
	}
	w := block.Writes[0]
	if len(block.Writes) != 1 || len(w.Ranges) != len(spatial) {
		s.refuse(step, block.Name, "writes %d places; wanted one, at the block's own variables", len(block.Writes))
		return false
	}
	for i, r := range w.Ranges {
		if r.Min != tir.Expr(spatial[i].Var) {
			s.refuse(step, block.Name, "writes axis %d of %s at a computed place; wanted the variable %s", i, buf.Name, spatial[i].Var.Name)
			return false
		}
	}
	return true
}

func spatialIters(b *tir.Block) []tir.IterVar {
	var list []tir.IterVar
	for _, iv := range b.Iters {
		if iv.Kind == tir.Spatial {
			list = append(list, iv)
		}
	}
	return list
}

// touched returns the box of r that the realization c touches as its loops run.
func touched(a *arith.Analyzer, c *place, r tir.Region) ([]tir.Range, bool) {
	bind := map[*tir.Var]tir.Expr{}
	for i, iv := range c.realize.Block.Iters {
		bind[iv.Var] = c.realize.Values[i]
	}
	over := map[*tir.Var]tir.Range{}
	for _, f := range c.loops {
		over[f.Var] = tir.Range{Min: f.Min, Extent: f.Extent}
	}
	indices := make([]tir.Expr, len(r.Ranges))
	for i, g := range r.Ranges {
		indices[i] = a.Simplify(tir.Subst(g.Min, bind))
	}
	box, ok := a.Touched(indices, over)
	if !ok {
		return nil, false
	}
	for i, g := range r.Ranges {
		box[i].Extent = a.Simplify(tir.Minus(tir.Plus(box[i].Extent, g.Extent), tir.I(1)))
		if _, ok := tir.AsInt(box[i].Extent); !ok {
			return nil, false
		}
	}
	return box, true
}

// nestOver returns new loops around the realized block that compute box of its output, one loop for each variable in the
// block's order. It reports false when the guard of the present realization cannot be said over the new loops.
func (s *Schedule) nestOver(r *tir.BlockRealize, box []tir.Range, a *arith.Analyzer) (tir.Stmt, bool) {
	block := r.Block
	var loops []*tir.For
	var where tir.Expr
	values := make([]tir.Expr, len(block.Iters))
	axis := 0
	for i, iv := range block.Iters {
		extent := iv.Extent
		var lo tir.Expr = tir.I(0)
		if iv.Kind == tir.Spatial {
			n, _ := tir.AsInt(box[axis].Extent)
			if int(n) < extent {
				extent, lo = int(n), box[axis].Min
			}
			axis++
		}
		v := s.newVar(iv.Var.Name)
		f := &tir.For{Var: v, Min: tir.I(0), Extent: tir.I(extent)}
		a.BindExpr(v, f.Min, f.Extent)
		loops = append(loops, f)
		values[i] = a.Simplify(tir.Plus(lo, v))
		if iv.Kind == tir.Spatial && extent < iv.Extent {
			where = tir.All(where, a.Simplify(tir.Bin(tir.GE, values[i], tir.I(0))), a.Simplify(tir.Bin(tir.LT, values[i], tir.I(iv.Extent))))
		}
	}
	if r.Where != nil {
		own := map[*tir.Var]tir.Expr{}
		for i, old := range r.Values {
			if v, ok := old.(*tir.Var); ok {
				own[v] = values[i]
			}
		}
		foreign := false
		tir.Walk(r.Where, func(n any) bool {
			if v, ok := n.(*tir.Var); ok && own[v] == nil {
				foreign = true
			}
			return !foreign
		})
		if foreign {
			return nil, false
		}
		where = tir.All(where, a.Simplify(tir.Subst(r.Where, own)))
	}
	var st tir.Stmt = &tir.BlockRealize{Values: values, Where: where, Block: block}
	for i := len(loops) - 1; i >= 0; i-- {
		loops[i].Body = st
		st = loops[i]
	}
	return st, true
}

func findLoop(body tir.Stmt, v *tir.Var) *tir.For {
	var found *tir.For
	tir.Walk(body, func(n any) bool {
		if f, ok := n.(*tir.For); ok && f.Var == v {
			found = f
		}
		return found == nil
	})
	return found
}

// insertBefore puts st before the first statement of body that match accepts.
func insertBefore(body, st tir.Stmt, match func(tir.Stmt) bool) tir.Stmt {
	seq, ok := body.(*tir.Seq)
	if !ok {
		return tir.Block1(st, body)
	}
	list := append([]tir.Stmt{}, seq.Stmts...)
	for i, c := range list {
		if match(c) {
			return &tir.Seq{Stmts: append(append(append([]tir.Stmt{}, list[:i]...), st), list[i:]...)}
		}
	}
	return &tir.Seq{Stmts: append(list, st)}
}

func readsBuffer(st tir.Stmt, buf *tir.Buffer) bool {
	for _, c := range realizesIn(st) {
		if reads(c.realize.Block, buf) {
			return true
		}
	}
	return false
}
