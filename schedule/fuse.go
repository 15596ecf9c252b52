package schedule

import (
	"maps"

	"github.com/texel-ml/texel/tir"
)

// Fuse makes one loop of directly nested ones, outermost first:
//
//	for i in 0..N                 for f in 0..N·M
//	  for j in 0..M      →          B(f // M, f %% M)
//	    B(i, j)
//
// The loops need constant extents, one kind and different attributes; the fused loop runs from 0 and has the attributes of
// all. Nothing is run in another order, so that it is always legal.
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
	attrs := map[string]string{}
	for i := range loops {
		f := chain[i]
		n, known := tir.AsInt(f.Extent)
		switch {
		case !known || n <= 0:
			s.refuse("fuse", f.Var.Name, "has no constant extent above 0")
			return Loop{}
		case total > maxIterations/n:
			s.refuse("fuse", f.Var.Name, "makes more than %d iterations", maxIterations)
			return Loop{}
		case f.Kind == tir.Bound:
			s.refuse("fuse", f.Var.Name, "is bound to %s; fuse loops first, then bind", f.Thread)
			return Loop{}
		case f.Kind != chain[0].Kind:
			s.refuse("fuse", f.Var.Name, "is %v, the first loop is %v; wanted one kind", f.Kind, chain[0].Kind)
			return Loop{}
		case tir.ReadsMemory(f.Min):
			s.refuse("fuse", f.Var.Name, "starts at a place that is read from a buffer")
			return Loop{}
		}
		if o := first.decided(f); o != nil {
			s.refuse("fuse", f.Var.Name, "drives a reduction and starts where loop %s is, whose iterations are independent; wanted to fuse it first", o.Var.Name)
			return Loop{}
		}
		total *= n
		for key, value := range f.Attrs {
			if old, twice := attrs[key]; twice && old != value {
				s.refuse("fuse", f.Var.Name, "attribute %q is %q, on a loop around %q; wanted one value", key, value, old)
				return Loop{}
			}
		}
		maps.Copy(attrs, f.Attrs)
		if i+1 < len(loops) {
			next, ok := f.Body.(*tir.For)
			if !ok || next.Var != loops[i+1].v {
				name := ""
				if loops[i+1].v != nil {
					name = loops[i+1].v.Name
				}
				s.refuse("fuse", name, "does not stand directly inside %s", f.Var.Name)
				return Loop{}
			}
			chain = append(chain, next)
		}
	}
	f := &tir.For{Var: s.newVar(loops[0].v.Name), Min: tir.I(0), Extent: tir.I(int(total)), Kind: chain[0].Kind}
	if len(attrs) > 0 {
		f.Attrs = attrs
	}
	body := tir.SubstStmt(chain[len(chain)-1].Body, parts(f.Var, chain))
	f.Body = simplifyBindings(body, first, f)
	s.swap(first.loop, f)
	out := s.loopOver(f.Var)
	s.record("fuse", listOf(loops), out)
	return out
}

// parts returns what the variables of nested loops are when v counts their iterations from 0.
func parts(v *tir.Var, chain []*tir.For) map[*tir.Var]tir.Expr {
	to := map[*tir.Var]tir.Expr{}
	counts := make([]tir.Expr, len(chain))
	var rest tir.Expr = v
	for i := len(chain) - 1; i >= 0; i-- {
		counts[i] = rest
		if i > 0 {
			counts[i] = tir.Bin(tir.FloorMod, rest, chain[i].Extent)
			rest = tir.Bin(tir.FloorDiv, rest, chain[i].Extent)
		}
	}
	for i, f := range chain { // a loop may start where those around it say
		to[f.Var] = tir.Plus(tir.Subst(f.Min, to), counts[i])
	}
	return to
}
