package schedule

import "github.com/texel-ml/texel/tir"

// Reorder puts the given loops into the given order, outermost first, in the places that they hold now. They must lie
// on one chain: from the outermost to the innermost, each loop's body is the next loop.
//
// The iterations of a block may run in any order: its spatial instances are independent, and its reduce instances
// combine by an associative and commutative operation. So only the shape of the nest is checked.
func (s *Schedule) Reorder(loops ...Loop) {
	want := map[*tir.Var]bool{}
	for _, l := range loops {
		if s.loop("reorder", l) == nil {
			return
		}
		if want[l.v] {
			s.refuse("reorder", l.v.Name, "is given twice")
			return
		}
		want[l.v] = true
	}
	if len(loops) < 2 {
		return
	}
	top := s.find(func(st tir.Stmt) bool {
		f, ok := st.(*tir.For)
		return ok && want[f.Var]
	}).loop
	var chain []*tir.For
	left := len(loops)
	for f := top; ; {
		chain = append(chain, f)
		if want[f.Var] {
			left--
		}
		if left == 0 {
			break
		}
		next, ok := f.Body.(*tir.For)
		if !ok {
			s.refuse("reorder", f.Var.Name, "has more than one loop in its body; wanted a single chain")
			return
		}
		f = next
	}
	byVar := map[*tir.Var]*tir.For{}
	for _, f := range chain {
		byVar[f.Var] = f
		if _, ok := tir.AsInt(f.Extent); !ok {
			s.refuse("reorder", f.Var.Name, "has an extent that depends on another loop")
			return
		}
	}
	body := chain[len(chain)-1].Body
	place := len(loops) - 1
	order := make([]*tir.For, len(chain))
	for i := len(chain) - 1; i >= 0; i-- {
		order[i] = chain[i]
		if want[chain[i].Var] {
			order[i] = byVar[loops[place].v]
			place--
		}
	}
	for i := len(order) - 1; i >= 0; i-- {
		c := *order[i]
		c.Body = body
		body = &c
	}
	s.setRoot(swap(s.fn.Root().Body, top, body), s.fn.Root().Allocs)
	s.record("reorder", listOf(loops))
}
