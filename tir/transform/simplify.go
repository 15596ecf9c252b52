package transform

import (
	"github.com/texel-ml/texel/tensor"
	"github.com/texel-ml/texel/tir"
	"github.com/texel-ml/texel/tir/arith"
)

// Simplify simplifies every expression under the loop bounds and guards around it, and the statements:
//
//   - a loop of extent 1 becomes its body, one of extent 0 and an If that never holds go;
//   - a condition that does not depend on a loop is tested outside of it;
//   - neighbouring Ifs of the same condition become one;
//   - a let of a variable or a constant is put in, an unused let or allocation goes.
//
// Loops bound to a grid axis keep their place and their extent, which the launch needs.
func Simplify(k *tir.Kernel, _ Options) (*tir.Kernel, error) {
	s := newSimplifier(k)
	body := s.stmt(k.Body)
	if body == nil {
		body = &tir.Seq{}
	}
	return withBody(k, body), nil
}

type simplifier struct{ a *arith.Analyzer }

func newSimplifier(k *tir.Kernel) *simplifier {
	a := arith.New()
	if k.Grid != nil {
		a.Bind(k.Grid, 0, int64(k.GridExtent))
	}
	return &simplifier{a}
}

// stmt returns nil for a statement that does nothing.
func (s *simplifier) stmt(st tir.Stmt) tir.Stmt {
	switch n := st.(type) {
	case nil:
		return nil
	case *tir.For:
		return s.loop(n)
	case *tir.Seq:
		return s.seq(n)
	case *tir.If:
		return s.ifs(n)
	case *tir.Store:
		idx, changed := s.list(n.Indices)
		if v := s.a.Simplify(n.Value); changed || v != n.Value {
			return &tir.Store{Buffer: n.Buffer, Indices: idx, Value: v}
		}
		return n
	case *tir.While:
		cond := s.a.Simplify(n.Cond)
		if tir.IsConst(cond, 0) {
			return nil
		}
		body := s.stmt(n.Body)
		if cond == n.Cond && body == n.Body {
			return n
		}
		if body == nil {
			body = &tir.Seq{}
		}
		return &tir.While{Cond: cond, Body: body}
	case *tir.Let:
		return s.let(n)
	case *tir.Allocate:
		body := s.stmt(n.Body)
		if body == nil {
			return nil
		}
		if read, written := accesses(body, n.Buffer); !read && !written {
			return body
		}
		if body == n.Body {
			return n
		}
		return n.WithBody(body)
	case *tir.Evaluate:
		if v := s.a.Simplify(n.Value); v != n.Value {
			return &tir.Evaluate{Value: v}
		}
		return n
	}
	return st
}

func (s *simplifier) list(list []tir.Expr) ([]tir.Expr, bool) {
	changed := false
	out := make([]tir.Expr, len(list))
	for i, e := range list {
		out[i] = s.a.Simplify(e)
		changed = changed || out[i] != e
	}
	if !changed {
		return list, false
	}
	return out, true
}

func (s *simplifier) loop(n *tir.For) tir.Stmt {
	lo, extent := s.a.Simplify(n.Min), s.a.Simplify(n.Extent)
	if _, hi, ok := s.a.Bounds(extent); ok && hi <= 0 {
		return nil
	}
	if tir.IsConst(extent, 1) && n.Kind != tir.Bound {
		return s.stmt(tir.SubstStmt(n.Body, map[*tir.Var]tir.Expr{n.Var: lo}))
	}
	leave := s.a.Scope()
	s.a.BindExpr(n.Var, lo, extent)
	body := s.stmt(n.Body)
	leave()
	if body == nil {
		return nil
	}
	wrap := func(body tir.Stmt) tir.Stmt {
		if lo == n.Min && extent == n.Extent && body == n.Body {
			return n
		}
		c := *n
		c.Min, c.Extent, c.Body = lo, extent, body
		return &c
	}
	cond, ok := body.(*tir.If)
	if !ok || n.Kind == tir.Bound {
		return wrap(body)
	}
	invariant := func(e tir.Expr) bool { return arith.Pure(e) && !tir.Uses(e, n.Var) }
	if cond.Else != nil {
		if !invariant(cond.Cond) {
			return wrap(body)
		}
		return &tir.If{Cond: cond.Cond, Then: wrap(cond.Then), Else: wrap(cond.Else)}
	}
	var outer, inner tir.Expr
	for _, part := range tir.Conjuncts(cond.Cond) {
		if inner == nil && invariant(part) || invariant(part) && arith.Pure(inner) {
			outer = tir.All(outer, part)
		} else {
			inner = tir.All(inner, part)
		}
	}
	if outer == nil {
		return wrap(body)
	}
	body = cond.Then
	if inner != nil {
		body = &tir.If{Cond: inner, Then: body}
	}
	return &tir.If{Cond: outer, Then: wrap(body)}
}

func (s *simplifier) seq(n *tir.Seq) tir.Stmt {
	var list []tir.Stmt
	changed := false
	for _, c := range n.Stmts {
		to := s.stmt(c)
		changed = changed || to != c
		list = append(list, flatten(to)...)
	}
	merged := mergeIfs(list)
	if !changed && len(merged) == len(n.Stmts) && len(merged) > 1 {
		return n
	}
	if len(merged) == 0 {
		return nil
	}
	return tir.Block1(merged...)
}

// mergeIfs joins neighbouring Ifs whose condition is the same and reads nothing that they write.
func mergeIfs(list []tir.Stmt) []tir.Stmt {
	var out []tir.Stmt
	for _, c := range list {
		if len(out) > 0 {
			a, oka := out[len(out)-1].(*tir.If)
			b, okb := c.(*tir.If)
			if oka && okb && arith.Pure(a.Cond) && tir.Equal(a.Cond, b.Cond) {
				out[len(out)-1] = &tir.If{Cond: a.Cond, Then: joined(a.Then, b.Then), Else: joined(a.Else, b.Else)}
				continue
			}
		}
		out = append(out, c)
	}
	return out
}

func joined(a, b tir.Stmt) tir.Stmt {
	list := mergeIfs(append(flatten(a), flatten(b)...))
	if len(list) == 0 {
		return nil
	}
	return tir.Block1(list...)
}

func (s *simplifier) ifs(n *tir.If) tir.Stmt {
	cond := s.a.Simplify(n.Cond)
	if v, ok := tir.AsInt(cond); ok {
		if v != 0 {
			return s.stmt(n.Then)
		}
		return s.stmt(n.Else)
	}
	leave := s.a.Assume(cond)
	then := s.stmt(n.Then)
	leave()
	var els tir.Stmt
	if n.Else != nil {
		leave := s.a.Assume(&tir.Not{A: cond})
		els = s.stmt(n.Else)
		leave()
	}
	switch {
	case then == nil && els == nil:
		return nil
	case then == nil:
		return &tir.If{Cond: s.a.Simplify(&tir.Not{A: cond}), Then: els}
	}
	if in, ok := then.(*tir.If); ok && els == nil && in.Else == nil {
		return &tir.If{Cond: tir.Bin(tir.And, cond, in.Cond), Then: in.Then}
	}
	if cond == n.Cond && then == n.Then && els == n.Else {
		return n
	}
	return &tir.If{Cond: cond, Then: then, Else: els}
}

func (s *simplifier) let(n *tir.Let) tir.Stmt {
	value := s.a.Simplify(n.Value)
	switch value.(type) {
	case *tir.Var, *tir.Int, *tir.Float:
		return s.stmt(tir.SubstStmt(n.Body, map[*tir.Var]tir.Expr{n.Var: value}))
	}
	leave := s.a.Scope()
	if n.Var.DType == tensor.Int64 {
		s.a.BindValue(n.Var, value)
	}
	body := s.stmt(n.Body)
	leave()
	switch {
	case body == nil:
		return nil
	case !tir.Uses(body, n.Var):
		return body
	case value == n.Value && body == n.Body:
		return n
	}
	return &tir.Let{Var: n.Var, Value: value, Body: body}
}
