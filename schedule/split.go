package schedule

import (
	"strconv"

	"github.com/texel-ml/texel/tir"
)

// Split cuts l into nested loops, outermost first, one for each factor; at most one factor may be 0 and is then chosen
// so that the product covers the loop. Where the product exceeds the extent, the iterations past the end are guarded:
//
//	for i in 0..10                for o in 0..3
//	  B(i)             →            for i in 0..4
//	                                  B(4·o+i)  where 4·o+i < 10
func (s *Schedule) Split(l Loop, factors ...int) []Loop {
	p := s.loop("split", l)
	if p == nil {
		return make([]Loop, len(factors))
	}
	extent, ok := tir.AsInt(p.loop.Extent)
	if !ok || !tir.IsConst(p.loop.Min, 0) {
		s.refuse("split", l.v.Name, "wants a loop from 0 with a constant extent, found one with a computed bound")
		return make([]Loop, len(factors))
	}
	if p.loop.Kind == tir.Bound {
		s.refuse("split", l.v.Name, "is bound to %s; split it first, then bind its parts", p.loop.Thread)
		return make([]Loop, len(factors))
	}
	product, open := 1, -1
	list := append([]int{}, factors...)
	for i, f := range list {
		switch {
		case f == 0 && open < 0:
			open = i
		case f <= 0:
			s.refuse("split", l.v.Name, "factor %d is %d; wanted a positive number, and at most one 0", i, f)
			return make([]Loop, len(factors))
		default:
			product *= f
		}
	}
	if open >= 0 {
		list[open] = max(1, (int(extent)+product-1)/product)
		product *= list[open]
	}
	if product < int(extent) {
		s.refuse("split", l.v.Name, "factors %v cover %d iterations of %d", factors, product, extent)
		return make([]Loop, len(factors))
	}
	fors := make([]*tir.For, len(list))
	var index tir.Expr = tir.I(0)
	for i, f := range list {
		v := s.newVar(l.v.Name)
		fors[i] = &tir.For{Var: v, Min: tir.I(0), Extent: tir.I(f), Kind: p.loop.Kind}
		index = tir.Plus(tir.Times(index, tir.I(f)), v)
	}
	body := tir.SubstStmt(p.loop.Body, map[*tir.Var]tir.Expr{l.v: index})
	if product > int(extent) {
		body = guard(body, tir.Bin(tir.LT, index, tir.I(int(extent))))
	}
	around := append(append([]*tir.For{}, p.loops...), fors...)
	body = simplifyBindings(body, around)
	for i := len(fors) - 1; i >= 0; i-- {
		fors[i].Body = body
		body = fors[i]
	}
	s.setRoot(swap(s.fn.Root().Body, p.loop, body), s.fn.Root().Allocs)
	out := s.handles(fors)
	s.record("split", []string{l.id}, []string{ints(factors)}, loopIDs(out)...)
	return out
}

// guard adds a condition to each block below st.
func guard(st tir.Stmt, cond tir.Expr) tir.Stmt {
	m := &tir.Mapper{Enter: func(n tir.Stmt) (tir.Stmt, bool) {
		if r, ok := n.(*tir.BlockRealize); ok {
			return &tir.BlockRealize{Values: r.Values, Where: tir.All(r.Where, cond), Block: r.Block}, true
		}
		return nil, false
	}}
	return m.MapStmt(st)
}

// simplifyBindings simplifies the values and guards of the blocks below st, which stands inside the loops around.
func simplifyBindings(st tir.Stmt, around []*tir.For) tir.Stmt {
	a := analyzer(around)
	m := &tir.Mapper{Enter: func(n tir.Stmt) (tir.Stmt, bool) {
		switch n := n.(type) {
		case *tir.For:
			a.BindExpr(n.Var, n.Min, n.Extent)
		case *tir.BlockRealize:
			values := make([]tir.Expr, len(n.Values))
			for i, v := range n.Values {
				values[i] = a.Simplify(v)
			}
			where := n.Where
			if where != nil {
				where = tir.All(a.Simplify(where))
			}
			return &tir.BlockRealize{Values: values, Where: where, Block: n.Block}, true
		}
		return nil, false
	}}
	return m.MapStmt(st)
}

// Fuse makes one loop of directly nested ones, outermost first:
//
//	for i in 0..N                 for f in 0..N·M
//	  for j in 0..M      →          B(f // M, f %% M)
//	    B(i, j)
func (s *Schedule) Fuse(loops ...Loop) Loop {
	if len(loops) == 0 {
		s.refuse("fuse", "", "wants at least one loop")
		return Loop{}
	}
	first := s.loop("fuse", loops[0])
	if first == nil {
		return Loop{}
	}
	chain := []*tir.For{first.loop}
	total := int64(1)
	for i := range loops {
		f := chain[i]
		n, ok := tir.AsInt(f.Extent)
		if !ok || !tir.IsConst(f.Min, 0) {
			s.refuse("fuse", f.Var.Name, "wants loops from 0 with constant extents")
			return Loop{}
		}
		total *= n
		if f.Kind == tir.Bound {
			s.refuse("fuse", f.Var.Name, "is bound to %s; fuse loops first, then bind", f.Thread)
			return Loop{}
		}
		if f.Kind != chain[0].Kind {
			s.refuse("fuse", f.Var.Name, "is %v, the first loop is %v; wanted one kind", f.Kind, chain[0].Kind)
			return Loop{}
		}
		if i+1 < len(loops) {
			next, ok := f.Body.(*tir.For)
			if !ok || next.Var != loops[i+1].v {
				s.refuse("fuse", loops[i+1].v.Name, "does not stand directly inside %s", f.Var.Name)
				return Loop{}
			}
			chain = append(chain, next)
		}
	}
	v := s.newVar(loops[0].v.Name)
	to := map[*tir.Var]tir.Expr{}
	var rest tir.Expr = v
	for i := len(chain) - 1; i >= 0; i-- {
		if i == 0 {
			to[chain[0].Var] = rest
			break
		}
		to[chain[i].Var] = tir.Bin(tir.FloorMod, rest, chain[i].Extent)
		rest = tir.Bin(tir.FloorDiv, rest, chain[i].Extent)
	}
	f := &tir.For{Var: v, Min: tir.I(0), Extent: tir.I(int(total)), Kind: chain[0].Kind}
	body := tir.SubstStmt(chain[len(chain)-1].Body, to)
	f.Body = simplifyBindings(body, append(append([]*tir.For{}, first.loops...), f))
	s.setRoot(swap(s.fn.Root().Body, first.loop, f), s.fn.Root().Allocs)
	out := s.handles([]*tir.For{f})
	s.record("fuse", loopIDs(loops), nil, out[0].id)
	return out[0]
}

func itoa(n int) string { return strconv.Itoa(n) }
