package opencl

import (
	"slices"

	"github.com/texel-ml/texel/tensor"
	"github.com/texel-ml/texel/tir"
)

// maxHoisted bounds the search for equal quotients in one kernel.
const maxHoisted = 64

// hoist names the quotients and remainders of the grid's variables that a body uses more than once: the coordinates that
// a work-item has from its number. Compilers find them too; readers should not have to.
func (e *emitter) hoist(body tir.Stmt) tir.Stmt {
	type candidate struct {
		x     tir.Expr
		count int
	}
	var list []*candidate
	tir.Walk(body, func(n any) bool {
		x, ok := n.(tir.Expr)
		if !ok || !e.coordinate(x) {
			return true
		}
		for _, c := range list {
			if tir.Equal(c.x, x) {
				c.count++
				return false
			}
		}
		if len(list) < maxHoisted {
			list = append(list, &candidate{x, 1})
		}
		return false
	})
	list = slices.DeleteFunc(list, func(c *candidate) bool { return c.count == 1 })
	var vars []*tir.Var
	var values []tir.Expr // each in terms of the ones before
	m := &tir.Mapper{Expr: func(x tir.Expr) tir.Expr {
		if i := slices.IndexFunc(values, func(v tir.Expr) bool { return tir.Equal(v, x) }); i >= 0 {
			return vars[i]
		}
		return x
	}}
	for len(list) > 0 {
		first := slices.IndexFunc(list, func(c *candidate) bool { // what is part of another one comes before it
			return !slices.ContainsFunc(list, func(o *candidate) bool { return o != c && contains(c.x, o.x) })
		})
		vars, values = append(vars, tir.NewVar("at")), append(values, m.MapExpr(list[first].x))
		list = slices.Delete(list, first, first+1)
	}
	if len(vars) == 0 {
		return body
	}
	body = m.MapStmt(body)
	for i := len(vars) - 1; i >= 0; i-- {
		body = &tir.Let{Var: vars[i], Value: values[i], Body: body}
	}
	return body
}

// contains reports whether an expression is another one, or has it inside.
func contains(x, part tir.Expr) bool {
	found := false
	tir.Walk(x, func(n any) bool {
		e, ok := n.(tir.Expr)
		found = found || ok && tir.Equal(e, part)
		return !found
	})
	return found
}

// coordinate reports whether x is a quotient or a remainder by a constant of what is declared around it.
func (e *emitter) coordinate(x tir.Expr) bool {
	b, ok := x.(*tir.Binary)
	if !ok || b.Op != tir.FloorDiv && b.Op != tir.FloorMod || b.Type() != tir.Index {
		return false
	}
	if c, ok := b.B.(*tir.Int); !ok || c.Value <= 0 {
		return false
	}
	known := true
	tir.Walk(b.A, func(n any) bool {
		switch n := n.(type) {
		case *tir.Var:
			_, declared := e.names[n]
			known = known && declared && n.DType == tensor.Int64
		case *tir.Int, *tir.Binary:
		default:
			known = false
		}
		return known
	})
	return known
}
