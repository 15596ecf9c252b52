package schedule

import (
	"fmt"
	"slices"

	"github.com/texel-ml/texel/tir"
)

// LoopPartition cuts l into consecutive loops of the given extents; at most one extent may be 0 and is then the rest. The
// first loop keeps the blocks; the others have copies, named with a suffix _p1, _p2 and so on:
//
//	for i in 0..10                     for i0 in 0..1: B(i0)
//	  B(i)             extents    →    for i1 in 0..8: B_p1(i1 + 1)
//	                   1, 0, 1         for i2 in 0..1: B_p2(i2 + 9)
//
// It returns the loops, in order. A border can then be shaped apart from the middle: what a part's bounds decide of the
// conditions of its blocks is decided. Nothing is run in another order. It refuses
//   - a loop of a reduction that writes its initial value itself: decompose_reduction first, so that the parts only add to it;
//   - a part of a reduce variable, and a loop that runs a block in order;
//   - a parallel, vectorized or bound loop, itself or inside, whose iterations have a buffer for themselves: the parts would
//     share it.
func (s *Schedule) LoopPartition(l Loop, extents ...int) []Loop {
	return s.LoopPartitionBy(l, Ints(extents...)...)
}

// LoopPartitionBy is LoopPartition with extents that may have been drawn.
func (s *Schedule) LoopPartitionBy(l Loop, extents ...Int) []Loop {
	const step = "loop_partition"
	none := make([]Loop, len(extents))
	p := s.loop(step, l)
	if p == nil {
		return none
	}
	list := s.partExtents(step, p.loop, extents)
	if list == nil {
		return none
	}
	if !s.partReductions(step, p.loop) {
		return none
	}
	var parts []tir.Stmt
	var loops []*tir.For
	at := 0
	for i, n := range list {
		f := *p.loop
		f.Var, f.Min, f.Extent = s.newVar(l.v.Name), tir.I(0), tir.I(n)
		body := p.loop.Body
		if i > 0 {
			body = s.copyOf(body, func(old string) string { return fmt.Sprintf("%s_p%d", old, i) })
		}
		body = reducePart(body, l.v, at, n)
		body = tir.SubstStmt(body, map[*tir.Var]tir.Expr{l.v: tir.Plus(f.Var, tir.Plus(p.loop.Min, tir.I(at)))})
		f.Body = simplifyBindings(body, p, &f)
		parts, loops = append(parts, &f), append(loops, &f)
		at += n
	}
	s.replaceIn(p, p.loop, &tir.Seq{Stmts: parts})
	for _, f := range loops {
		if why := s.kindsInside(f); why != "" {
			s.refuse(step, l.v.Name, "in its parts, %s", why)
			return none
		}
	}
	out := s.loopsOver(loops)
	s.record(step, operands(l, extents), out)
	return out
}

// partReductions checks the blocks inside that the loop drives a variable of that is not spatial.
func (s *Schedule) partReductions(step string, f *tir.For) bool {
	for _, c := range realizesIn(f.Body) {
		b := c.realize.Block
		for i, iv := range b.Iters {
			switch v := c.realize.Values[i]; {
			case iv.Kind == tir.Spatial || !tir.Uses(v, f.Var):
			case iv.Kind == tir.Ordered:
				s.refuse(step, f.Var.Name, "runs block %s in order, where each part would read what the part before wrote; wanted a loop of spatial or reduce variables", b.Name)
				return false
			case b.Init != nil:
				s.refuse(step, f.Var.Name, "drives the reduction of block %s, which writes its initial value itself; wanted decompose_reduction first", b.Name)
				return false
			case v != tir.Expr(f.Var) || !tir.IsConst(f.Min, 0) || !tir.IsConst(f.Extent, int64(iv.Extent)):
				s.refuse(step, f.Var.Name, "is a part of the %v variable %s of block %s; wanted a loop that is all of it", iv.Kind, iv.Var.Name, b.Name)
				return false
			}
		}
	}
	return true
}

// reducePart makes each reduce variable of the blocks below st that v is the value of one over n values from
// the given one on: each part then is a reduction of its own.
func reducePart(st tir.Stmt, v *tir.Var, from, n int) tir.Stmt {
	m := &tir.Mapper{Enter: func(st tir.Stmt) (tir.Stmt, bool) {
		r, ok := st.(*tir.BlockRealize)
		if !ok {
			return st, false
		}
		out, shift := *r.Block, map[*tir.Var]tir.Expr{}
		values := slices.Clone(r.Values)
		out.Iters = slices.Clone(out.Iters)
		for i, iv := range out.Iters {
			if iv.Kind == tir.Reduce && values[i] == tir.Expr(v) {
				out.Iters[i].Extent, values[i] = n, tir.Minus(v, tir.I(from))
				shift[iv.Var] = tir.Plus(iv.Var, tir.I(from))
			}
		}
		if len(shift) == 0 {
			return r, true
		}
		in := tir.SubstStmt(&tir.BlockRealize{Block: &out}, shift).(*tir.BlockRealize)
		return &tir.BlockRealize{Values: values, Where: r.Where, Block: in.Block}, true
	}}
	return m.MapStmt(st)
}

// partExtents checks the loop and the extents, and fills in the rest.
func (s *Schedule) partExtents(step string, f *tir.For, extents []Int) []int {
	total, known := tir.AsInt(f.Extent)
	switch {
	case !known || tir.ReadsMemory(f.Min):
		s.refuse(step, f.Var.Name, "wants a loop with a constant extent from a place that is known")
		return nil
	case f.Kind == tir.Bound:
		s.refuse(step, f.Var.Name, "is bound to %s; cut it first, then bind its parts", f.Thread)
		return nil
	}
	list, open, sum := values(extents), -1, 0
	for i, n := range list {
		switch {
		case n == 0 && open < 0:
			open = i
		case n <= 0 || n > int(total)-sum:
			s.refuse(step, f.Var.Name, "the extents %v do not make the loop's %d; wanted positive numbers of that sum, and at most one 0", list, total)
			return nil
		default:
			sum += n
		}
	}
	if rest := int(total) - sum; open >= 0 && rest > 0 {
		list = slices.Clone(list)
		list[open] = rest
	} else if rest != 0 || open >= 0 || len(list) == 0 {
		s.refuse(step, f.Var.Name, "the extents %v do not make the loop's %d; wanted positive numbers of that sum, and at most one 0", list, total)
		return nil
	}
	return list
}
