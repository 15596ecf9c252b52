package transform

import (
	"maps"

	"github.com/texel-ml/texel/diag"
	"github.com/texel-ml/texel/tir"
	"github.com/texel-ml/texel/tir/arith"
)

// ExpandVthreads carries out loops bound to vthread: one work-item does their iterations side by side, statement by
// statement, so that what does not depend on the iteration is done once for all:
//
//	for v in range(0, 2, vthread)                S = A[k]
//	  S = A[k]                            →      for v unrolled: T[v] = B[v]
//	  T = B[v]                                   for v unrolled: C[v] = S·T[v]
//	  C[v] = S·T
//
// The iterations are independent, as those of every bound loop. A buffer that is allocated inside and differs between
// them gets an axis in front; a statement whose condition or bounds differ is done iteration by iteration, as a whole.
func ExpandVthreads(k *tir.Kernel, _ Options) (*tir.Kernel, error) {
	var err error
	m := &tir.Mapper{Stmt: func(s tir.Stmt) tir.Stmt {
		f, ok := s.(*tir.For)
		if !ok || f.Kind != tir.Bound || f.Thread != tir.Vthread || err != nil {
			return s
		}
		n, constant := tir.AsInt(f.Extent)
		if !constant || n < 0 || n > maxVthreads {
			err = diag.Unsupported("expand-vthreads", f.Var.Name, "the loop is bound to vthread; wanted a constant extent of at most %d", maxVthreads)
			return s
		}
		e := &vthreads{loop: f, n: int(n), wide: map[*tir.Buffer]*tir.Buffer{}}
		e.findWide()
		return e.stmt(f.Body)
	}}
	body := m.MapStmt(k.Body)
	if err != nil {
		return nil, err
	}
	return withBody(k, body), nil
}

// maxVthreads bounds the copies of a statement.
const maxVthreads = 256

// vthreads rewrites the body of one loop.
type vthreads struct {
	loop *tir.For
	n    int
	wide map[*tir.Buffer]*tir.Buffer // buffers allocated inside that differ, with their axis of iterations
}

// findWide finds the allocated buffers into which something is stored that depends on the iteration, also by way of
// other buffers.
func (e *vthreads) findWide() {
	inside := map[*tir.Buffer]bool{}
	tir.Walk(e.loop.Body, func(n any) bool {
		if a, ok := n.(*tir.Allocate); ok {
			inside[a.Buffer] = true
		}
		_, isExpr := n.(tir.Expr)
		return !isExpr
	})
	for grown := true; grown; {
		grown = false
		var walk func(s tir.Stmt, differs bool)
		walk = func(s tir.Stmt, differs bool) {
			switch n := s.(type) {
			case *tir.Store:
				if inside[n.Buffer] && e.wide[n.Buffer] == nil && (differs || e.differs(n)) {
					e.wide[n.Buffer] = copiesOf(n.Buffer, e.n)
					grown = true
				}
			case *tir.For:
				walk(n.Body, differs || e.differs(n.Min) || e.differs(n.Extent))
			case *tir.Seq:
				for _, c := range n.Stmts {
					walk(c, differs)
				}
			case *tir.If:
				differs = differs || e.differs(n.Cond)
				walk(n.Then, differs)
				walk(n.Else, differs)
			case *tir.While:
				walk(n.Body, differs || e.differs(n.Cond))
			case *tir.Let:
				walk(n.Body, differs || e.differs(n.Value)) // the value may be anywhere in the body
			case *tir.Allocate:
				walk(n.Body, differs)
			}
		}
		walk(e.loop.Body, false)
	}
}

// differs reports whether something depends on the iteration.
func (e *vthreads) differs(root any) bool {
	found := false
	tir.Walk(root, func(n any) bool {
		switch n := n.(type) {
		case *tir.Var:
			found = found || n == e.loop.Var
		case *tir.Load:
			found = found || e.wide[n.Buffer] != nil
		case *tir.Store:
			found = found || e.wide[n.Buffer] != nil
		}
		return !found
	})
	return found
}

func (e *vthreads) stmt(s tir.Stmt) tir.Stmt {
	if s == nil || !e.differs(s) {
		return s
	}
	switch n := s.(type) {
	case *tir.Seq:
		list := make([]tir.Stmt, len(n.Stmts))
		for i, c := range n.Stmts {
			list[i] = e.stmt(c)
		}
		return &tir.Seq{Stmts: list}
	case *tir.For:
		if !e.differs(n.Min) && !e.differs(n.Extent) {
			c := *n
			c.Body = e.stmt(n.Body)
			return &c
		}
	case *tir.If:
		if !e.differs(n.Cond) {
			return &tir.If{Cond: n.Cond, Then: e.stmt(n.Then), Else: e.stmt(n.Else)}
		}
	case *tir.Let:
		if !e.differs(n.Value) {
			return &tir.Let{Var: n.Var, Value: n.Value, Body: e.stmt(n.Body)}
		}
		if arith.Pure(n.Value) { // one that reads memory may read what the body writes: the let is done as a whole
			return e.stmt(tir.SubstStmt(n.Body, map[*tir.Var]tir.Expr{n.Var: n.Value}))
		}
	case *tir.Allocate:
		to := e.wide[n.Buffer]
		if to == nil {
			return n.WithBody(e.stmt(n.Body))
		}
		attrs := maps.Clone(n.Attrs)
		delete(attrs, tir.StorageAlign) // it counts the axes without the new one
		return &tir.Allocate{Buffer: to, Attrs: attrs, Body: e.stmt(n.Body)}
	}
	return e.each(s)
}

// each does a statement iteration by iteration.
func (e *vthreads) each(s tir.Stmt) tir.Stmt {
	at := tir.Minus(e.loop.Var, e.loop.Min)
	for from, to := range e.wide {
		s = inCopy(s, from, to, at)
	}
	return &tir.For{Var: e.loop.Var, Min: e.loop.Min, Extent: tir.I(e.n), Kind: tir.Unrolled, Body: s}
}
