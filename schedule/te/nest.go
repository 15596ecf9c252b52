package te

import (
	"fmt"

	"github.com/texel-ml/texel/tir"
)

// block returns the block of a stage, without the regions that it touches.
func (d *definition) block(name string) *tir.Block {
	b := &tir.Block{Name: name, Iters: d.iters}
	at, reduce := d.vars()
	store := func(list []tir.Expr) tir.Stmt {
		stores := make([]tir.Stmt, len(list))
		for n, e := range list {
			stores[n] = &tir.Store{Buffer: d.outs[n].Buffer, Indices: at, Value: e}
		}
		return tir.Block1(stores...)
	}
	switch {
	case d.init == nil:
		b.Body = store(d.values)
		return b
	case d.isEmpty():
		b.Iters, b.Body = d.iters[:d.spatial], store(d.init)
		return b
	case len(d.terms) == 0:
		b.Body = store(d.values)
	default:
		b.Body = d.folded(store)
	}
	if d.where != nil { // around the body alone: the initial value is there in any case
		b.Body = &tir.If{Cond: d.where, Then: b.Body}
	}
	b.Init = store(d.init)
	if len(reduce) == 0 { // one element, and no variable whose first value would start the fold
		b.Body, b.Init = tir.Block1(flat(b.Init, b.Body)...), nil
	}
	return b
}

// flat returns statements as one list.
func flat(list ...tir.Stmt) []tir.Stmt {
	var out []tir.Stmt
	for _, s := range list {
		if seq, ok := s.(*tir.Seq); ok {
			out = append(out, seq.Stmts...)
		} else {
			out = append(out, s)
		}
	}
	return out
}

// isEmpty reports whether a reduction has no element.
func (d *definition) isEmpty() bool {
	for _, iv := range d.iters[d.spatial:] {
		if iv.Extent == 0 {
			return true
		}
	}
	return false
}

// folded returns the body of a reduction of several results: the terms, then the combinations, then the stores.
func (d *definition) folded(store func([]tir.Expr) tir.Stmt) tir.Stmt {
	list := append([]term{}, d.terms...)
	next := make([]tir.Expr, len(d.values))
	for n, e := range d.values {
		v := &tir.Var{Name: fmt.Sprintf("n%d", n), DType: e.Type().DType}
		list, next[n] = append(list, term{v, e}), v
	}
	s := store(next)
	for n := len(list) - 1; n >= 0; n-- {
		s = &tir.Let{Var: list[n].v, Value: list[n].value, Body: s}
	}
	return s
}

// nest returns loops over all iteration variables around a block, and declares what it touches.
func nest(b *tir.Block) tir.Stmt {
	b.Reads, b.Writes = tir.Accesses(b)
	var values []tir.Expr
	var loops []*tir.Var
	for _, iv := range b.Iters {
		loop := tir.NewVar(iv.Var.Name)
		loops = append(loops, loop)
		values = append(values, loop)
	}
	var s tir.Stmt = &tir.BlockRealize{Values: values, Block: b}
	for n := len(loops) - 1; n >= 0; n-- {
		s = &tir.For{Var: loops[n], Min: tir.I(0), Extent: tir.I(b.Iters[n].Extent), Body: s}
	}
	return s
}

// exprs calls f for each expression of a definition that is not a statement's.
func (d *definition) exprs(f func(e tir.Expr)) {
	for _, list := range [][]tir.Expr{d.init, d.values} {
		for _, e := range list {
			f(e)
		}
	}
	for _, t := range d.terms {
		f(t.value)
	}
	if d.where != nil {
		f(d.where)
	}
}
