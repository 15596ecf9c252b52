package transform

import (
	"github.com/texel-ml/texel/diag"
	"github.com/texel-ml/texel/tir"
)

// Unroll replaces each unrolled loop of constant extent by one copy of its body per iteration, inner loops first. A loop
// whose extent is not constant becomes serial. More statements than MaxUnroll are an error.
func Unroll(k *tir.Kernel, opts Options) (*tir.Kernel, error) {
	u := &unroller{left: opts.withDefaults().MaxUnroll, max: opts.withDefaults().MaxUnroll}
	m := &tir.Mapper{Stmt: u.stmt}
	body := m.MapStmt(k.Body)
	if u.err != nil {
		return nil, u.err
	}
	return withBody(k, body), nil
}

type unroller struct {
	left, max int
	err       error
}

func (u *unroller) stmt(s tir.Stmt) tir.Stmt {
	f, ok := s.(*tir.For)
	if !ok || f.Kind != tir.Unrolled || u.err != nil {
		return s
	}
	n, ok := tir.AsInt(f.Extent)
	if !ok {
		c := *f
		c.Kind = tir.Serial
		return &c
	}
	size := int64(0)
	tir.Walk(f.Body, func(n any) bool {
		if _, ok := n.(tir.Stmt); ok {
			size++
		}
		_, expr := n.(tir.Expr)
		return !expr
	})
	if n > int64(u.left)/max(size, 1) {
		u.err = diag.Unsupported("unroll", f.Var.Name, "%d copies of %d statements; a kernel may have %d unrolled statements in all",
			n, size, u.max)
		return s
	}
	u.left -= int(n * size)
	list := make([]tir.Stmt, n)
	for i := range list {
		list[i] = tir.SubstStmt(f.Body, map[*tir.Var]tir.Expr{f.Var: tir.Plus(f.Min, tir.I(i))})
	}
	return tir.Block1(list...)
}
