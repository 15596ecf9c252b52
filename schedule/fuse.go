package schedule

import "github.com/texel-ml/texel/tir"

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
	out := s.loopOver(f.Var)
	s.record("fuse", listOf(loops), out)
	return out
}
