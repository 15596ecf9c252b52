package transform

import (
	"github.com/texel-ml/texel/diag"
	"github.com/texel-ml/texel/tir"
	"github.com/texel-ml/texel/tir/arith"
)

// gridOf returns the extents of a kernel's grid: along each axis, the largest of the loops bound to it, or 1.
func gridOf(k *tir.Kernel) (extents [tir.GridAxes]int64, err error) {
	for i := range extents {
		extents[i] = 1
	}
	tir.Walk(k.Body, func(n any) bool {
		if f, ok := n.(*tir.For); ok {
			if axis := f.Axis(); axis >= 0 {
				if n, ok := tir.AsInt(f.Extent); ok && n >= 1 {
					extents[axis] = max(extents[axis], n)
				} else if err == nil {
					err = diag.Invalid("lower", f.Var.Name, "the loop is bound to %s; wanted a constant, positive extent", f.Thread)
				}
			}
		}
		_, isExpr := n.(tir.Expr)
		return !isExpr
	})
	return extents, err
}

// hasBarrier reports whether a barrier stands below s.
func hasBarrier(s tir.Stmt) bool {
	found := false
	tir.Walk(s, func(n any) bool {
		_, ok := n.(*tir.Barrier)
		found = found || ok
		_, isExpr := n.(tir.Expr)
		return !found && !isExpr
	})
	return found
}

// guarded returns s done only where cond holds, with the condition inside of every barrier, so that all work-items come to
// those. It reports false when that cannot be said: cond or the bounds of a loop around a barrier read memory.
func guarded(cond tir.Expr, s tir.Stmt) (tir.Stmt, bool) {
	if s == nil {
		return nil, true
	}
	if !hasBarrier(s) {
		return &tir.If{Cond: cond, Then: s}, true
	}
	if !arith.Pure(cond) {
		return nil, false
	}
	switch n := s.(type) {
	case *tir.Barrier:
		return n, true
	case *tir.Seq:
		var list, together []tir.Stmt
		flush := func() {
			if len(together) > 0 {
				list = append(list, &tir.If{Cond: cond, Then: tir.Block1(together...)})
				together = nil
			}
		}
		for _, c := range n.Stmts {
			if !hasBarrier(c) {
				together = append(together, c)
				continue
			}
			flush()
			to, ok := guarded(cond, c)
			if !ok {
				return nil, false
			}
			list = append(list, to)
		}
		flush()
		return tir.Block1(list...), true
	case *tir.For:
		body, ok := guarded(cond, n.Body)
		c := *n
		c.Body = body
		return &c, ok && arith.Pure(n.Min) && arith.Pure(n.Extent)
	case *tir.Let:
		body, ok := guarded(cond, n.Body)
		return &tir.Let{Var: n.Var, Value: n.Value, Body: body}, ok && arith.Pure(n.Value)
	case *tir.Allocate:
		body, ok := guarded(cond, n.Body)
		return n.WithBody(body), ok
	case *tir.If:
		then, ok := guarded(tir.Bin(tir.And, cond, n.Cond), n.Then)
		if n.Else == nil || !ok {
			return then, ok
		}
		els, ok := guarded(tir.Bin(tir.And, cond, &tir.Not{A: n.Cond}), n.Else)
		return inOrder(then, els), ok
	}
	return nil, false
}
