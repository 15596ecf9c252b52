package schedule

import (
	"slices"
	"strings"

	"github.com/texel-ml/texel/tir"
)

// threadAxes are the grid axes that a loop may be bound to. vthread is a serial loop whose iterations stand for
// work-items.
var threadAxes = []string{"blockIdx.x", "blockIdx.y", "blockIdx.z", "threadIdx.x", "threadIdx.y", "threadIdx.z", "vthread"}

// Bind gives each iteration of l to one work-group (blockIdx) or one work-item (threadIdx) of the grid:
//
//	for b in 0..64                   bound to blockIdx.x
//	  for t in 0..128      →           bound to threadIdx.x
//	    B(128·b + t)                     B(128·b + t)
//
// The loop must start at 0, have a constant extent and an iteration, drive only spatial variables, and not stand in one nest
// with a loop that is bound to the same axis; a virtual thread may. Iterations run at the same time: they must touch different
// elements, or a buffer whose every use is inside the loop and which each iteration fills for itself.
func (s *Schedule) Bind(l Loop, thread string) {
	if s.err == nil && !slices.Contains(threadAxes, thread) {
		s.refuse("bind", thread, "no such grid axis, wanted one of %s", strings.Join(threadAxes, ", "))
		return
	}
	p := s.loop("bind", l)
	if p == nil {
		return
	}
	n, known := tir.AsInt(p.loop.Extent)
	if !known || !tir.IsConst(p.loop.Min, 0) {
		s.refuse("bind", l.v.Name, "wants a loop from 0 with a constant extent, found one with a computed bound")
		return
	}
	if n < 1 {
		s.refuse("bind", l.v.Name, "has no iteration; wanted one at least, since no grid is empty")
		return
	}
	if thread != "vthread" {
		for _, f := range slices.Concat(p.outer, p.loops, allLoops(p.loop.Body)) {
			if f.Kind == tir.Bound && f.Thread == thread {
				s.refuse("bind", l.v.Name, "loop %s of the same nest is bound to %s already", f.Var.Name, thread)
				return
			}
		}
	}
	if why := s.mayNotOverlap(p, tir.Bound, thread); why != "" {
		s.refuse("bind", l.v.Name, "%s", why)
		return
	}
	c := *p.loop
	c.Kind, c.Thread = tir.Bound, thread
	s.swap(p.loop, &c)
	s.record("bind", operands(l, thread))
}

// allLoops returns the loops below st, those inside blocks too.
func allLoops(st tir.Stmt) []*tir.For {
	var list []*tir.For
	tir.Walk(st, func(n any) bool {
		if f, ok := n.(*tir.For); ok {
			list = append(list, f)
		}
		_, expr := n.(tir.Expr)
		return !expr
	})
	return list
}
