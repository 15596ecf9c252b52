package schedule

import (
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
	out := s.loopsOver(fors)
	s.record("split", operands(l, factors), out)
	return out
}
