package opencl

import (
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
	var vars []*tir.Var
	var values []tir.Expr
	for _, c := range list {
		if c.count > 1 {
			vars, values = append(vars, tir.NewVar("at")), append(values, c.x)
		}
	}
	if len(vars) == 0 {
		return body
	}
	m := &tir.Mapper{Expr: func(x tir.Expr) tir.Expr {
		for i, v := range values {
			if tir.Equal(v, x) {
				return vars[i]
			}
		}
		return x
	}}
	body = m.MapStmt(body)
	for i := len(vars) - 1; i >= 0; i-- {
		body = &tir.Let{Var: vars[i], Value: values[i], Body: body}
	}
	return body
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
