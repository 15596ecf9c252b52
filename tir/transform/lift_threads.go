package transform

import (
	"github.com/texel-ml/texel/diag"
	"github.com/texel-ml/texel/tir"
)

// LiftThreads gives the kernel of a GPU one loop for each grid axis, outermost: those of work-groups, then those of
// work-items. Each work-item then runs one body:
//
//	for b (blockIdx.x)                         for b (blockIdx.x)
//	  for k in range(0, 16)                      for t (threadIdx.x)
//	    for t (threadIdx.x): S[t] = A[k, t]  →     for k in range(0, 16)
//	    barrier shared                               S[t] = A[k, t]
//	    for u (threadIdx.x): C[u] += S[u]            barrier shared
//	    barrier shared                               C[t] += S[t]
//	                                                 barrier shared
//
// A loop with fewer iterations than its axis becomes a condition, which moves inside of barriers. A loop inside one that
// is bound to the same axis is that work-item's own iteration: the body may not depend on the outer one. What stood outside
// the loops of an axis every work-item does, but only the first stores what others see. Buffers that were allocated
// outside of the loops shrink to what one work-item uses.
func LiftThreads(k *tir.Kernel, opts Options) (*tir.Kernel, error) {
	if opts.Device != GPU {
		return k, nil
	}
	extents, err := gridOf(k)
	if err != nil {
		return nil, err
	}
	l := &lifter{extents: extents, private: map[*tir.Buffer]bool{}}
	if l.lifted(k.Body) {
		return k, nil
	}
	tir.Walk(k.Body, func(n any) bool {
		if a, ok := n.(*tir.Allocate); ok && a.Buffer.Scope != tir.Shared {
			l.private[a.Buffer] = true
		}
		return true
	})
	l.name(k.Body)
	body := l.stmt(k.Body, [tir.GridAxes]*tir.For{})
	if l.err != nil {
		return nil, l.err
	}
	for axis := tir.GridAxes - 1; axis >= 0; axis-- {
		if f := l.loops[outward[axis]]; f != nil {
			c := *f
			c.Body = body
			body = &c
		}
	}
	return CompactBuffers(withBody(k, body), opts)
}

// outward lists the axes as their loops nest, outer first.
var outward = [tir.GridAxes]int{2, 1, 0, 5, 4, 3}

type lifter struct {
	extents [tir.GridAxes]int64
	loops   [tir.GridAxes]*tir.For // of the result, without bodies
	private map[*tir.Buffer]bool
	err     error
}

// Lifted reports whether the loops of a kernel that are bound to grid axes are outermost, one for each axis, as they are
// behind lift-threads: only then is the body one work-item's, and barriers stand where values pass between them. Before,
// loops over work-items are loops (see interp.Options.SerialThreads).
func Lifted(k *tir.Kernel) bool {
	extents, err := gridOf(k)
	return err == nil && (&lifter{extents: extents}).lifted(k.Body)
}

// lifted reports whether all bound loops nest at the top, each of its own axis and all of its extent.
func (l *lifter) lifted(s tir.Stmt) bool {
	var seen [tir.GridAxes]bool
	items := false
	for {
		f, ok := s.(*tir.For)
		if !ok {
			break
		}
		axis := f.Axis()
		if axis < 0 {
			break
		}
		if n, _ := tir.AsInt(f.Extent); seen[axis] || n != l.extents[axis] || axis < tir.ThreadAxis && items {
			return false
		}
		seen[axis], items, s = true, items || axis >= tir.ThreadAxis, f.Body
	}
	below := false
	tir.Walk(s, func(n any) bool {
		f, ok := n.(*tir.For)
		below = below || ok && f.Axis() >= 0
		_, isExpr := n.(tir.Expr)
		return !below && !isExpr
	})
	return !below
}

// name makes the loops of the result: each has the variable of the first loop of its axis that begins at 0.
func (l *lifter) name(s tir.Stmt) {
	tir.Walk(s, func(n any) bool {
		if f, ok := n.(*tir.For); ok {
			if axis := f.Axis(); axis >= 0 && (l.loops[axis] == nil || !tir.IsConst(l.loops[axis].Min, 0)) {
				c := *f
				c.Extent, c.Body = tir.I(int(l.extents[axis])), nil
				l.loops[axis] = &c
			}
		}
		_, isExpr := n.(tir.Expr)
		return !isExpr
	})
	for _, f := range l.loops {
		if f != nil && !tir.IsConst(f.Min, 0) {
			f.Var, f.Min = tir.NewVar(f.Var.Name), tir.I(0)
		}
	}
}

// stmt rewrites what stands in the given bound loops.
func (l *lifter) stmt(s tir.Stmt, around [tir.GridAxes]*tir.For) tir.Stmt {
	m := &tir.Mapper{}
	m.Enter = func(s tir.Stmt) (tir.Stmt, bool) {
		switch n := s.(type) {
		case *tir.For:
			if axis := n.Axis(); axis >= 0 {
				return l.loop(n, axis, around), true
			}
		case *tir.Store:
			if l.private[n.Buffer] {
				return n, true
			}
			var first tir.Expr
			for axis, f := range l.loops {
				if f != nil && around[axis] == nil && l.extents[axis] > 1 && (n.Buffer.Scope != tir.Shared || axis >= tir.ThreadAxis) {
					first = tir.All(first, &tir.Binary{Op: tir.EQ, A: f.Var, B: tir.I(0)})
				}
			}
			if first != nil {
				return &tir.If{Cond: first, Then: n}, true
			}
			return n, true
		}
		return s, false
	}
	return m.MapStmt(s)
}

// loop returns the body of a bound loop for the work-item's own iteration.
func (l *lifter) loop(n *tir.For, axis int, around [tir.GridAxes]*tir.For) tir.Stmt {
	if outer := around[axis]; outer != nil {
		switch {
		case tir.Uses(n.Body, outer.Var):
			l.fail(diag.Invalid("lift-threads", n.Var.Name, "the loop and %s around it are bound to %s, and the body depends on both", outer.Var.Name, n.Thread))
			return n
		case !tir.Equal(n.Extent, outer.Extent):
			l.fail(diag.Invalid("lift-threads", n.Var.Name, "the loop and %s around it are bound to %s, with different extents", outer.Var.Name, n.Thread))
			return n
		}
	}
	inside := around
	inside[axis] = n
	body := l.stmt(n.Body, inside)
	id := l.loops[axis].Var
	if n.Var != id || !tir.IsConst(n.Min, 0) {
		body = tir.SubstStmt(body, map[*tir.Var]tir.Expr{n.Var: tir.Plus(id, n.Min)})
	}
	extent, _ := tir.AsInt(n.Extent)
	if extent == l.extents[axis] || l.err != nil {
		return body
	}
	to, ok := guarded(&tir.Binary{Op: tir.LT, A: id, B: tir.I(int(extent))}, body)
	if !ok {
		l.fail(diag.Unsupported("lift-threads", n.Var.Name, "the loop has %d of the %d iterations of %s, and a barrier inside that cannot be moved out", extent,
			l.extents[axis], n.Thread))
		return n
	}
	return to
}

func (l *lifter) fail(err error) {
	if l.err == nil {
		l.err = err
	}
}
