package schedule

import (
	"slices"

	"github.com/texel-ml/texel/tir"
)

// DoubleBuffer lets the buffer that block b fills have two halves: while the blocks of one iteration of the loop around
// read one half, b fills the other for the next iteration. The function says so by an attribute of b, and means the same;
// the loop pass double-buffer makes the halves:
//
//	for k in 0..n                         b(0) → S[0]
//	  b(k) → S                   →        for k in 0..n
//	  C(k) reads S                          if k + 1 < n: b(k + 1) → S[(k + 1) %% 2]
//	                                        C(k) reads S[k %% 2]
//
// What is checked is that b may run an iteration earlier: the loop in which b and all that reads the buffer stand is
// serial, b stands alone in its part of the loop's body and is the only one to write the buffer, and nothing in the loop
// writes what b reads. The buffer must not be global: one that kernels share has no halves.
func (s *Schedule) DoubleBuffer(b Block) {
	const step = "double_buffer"
	buf := s.bufferOf(step, b, Write, 0)
	if buf == nil {
		return
	}
	if buf.Scope == tir.Global || buf.Scope == tir.Texture {
		s.refuse(step, b.name, "%s is in scope %s; wanted a buffer in shared, local or scratch memory (see set_scope)", buf.Name, buf.Scope)
		return
	}
	p := s.plainBlock(step, b)
	if len(p.realize.Block.Writes) != 1 {
		s.refuse(step, b.name, "writes %d regions; wanted one that fills %s alone", len(p.realize.Block.Writes), buf.Name)
		return
	}
	others := s.users(buf)
	others = slices.DeleteFunc(others, func(u *place) bool { return u.realize == p.realize })
	if len(others) == 0 {
		s.refuse(step, b.name, "nothing reads %s", buf.Name)
		return
	}
	l := s.levelAround([]*place{p}, others)
	loop := l.loop()
	if loop == nil || loop.Kind != tir.Serial {
		s.refuse(step, b.name, "%s is filled and read in no serial loop; wanted compute_at one of its reader", buf.Name)
		return
	}
	at := l.index(p)
	for _, u := range others {
		if writes(u.realize.Block, buf) || l.index(u) <= at {
			s.refuse(step, b.name, "block %s writes %s too, or reads it before it is filled or outside %s", u.realize.Block.Name, buf.Name, loop.Var.Name)
			return
		}
	}
	if reduces(p.realize, l.loops) != nil {
		s.refuse(step, b.name, "a loop around drives its reduction; wanted a block that fills %s in one iteration", buf.Name)
		return
	}
	for i, st := range l.stmts {
		for _, c := range realizesIn(st) {
			if i == at && c.realize != p.realize {
				s.refuse(step, b.name, "block %s stands in the same loops; wanted it to fill %s alone", c.realize.Block.Name, buf.Name)
				return
			}
			for _, r := range p.realize.Block.Reads {
				if writes(c.realize.Block, r.Buffer) {
					s.refuse(step, b.name, "reads %s, which block %s writes in the same loop: it cannot run an iteration earlier", r.Buffer.Name, c.realize.Block.Name)
					return
				}
			}
		}
	}
	s.setAttrs(p, func(attrs map[string]string) { attrs[tir.DoubleBuffer] = "1" })
	s.record(step, operands(b))
}

// loop is the loop whose body the level is, or nil.
func (l *level) loop() *tir.For {
	if len(l.path) < 2 {
		return nil
	}
	f, _ := l.path[len(l.path)-2].(*tir.For)
	return f
}
