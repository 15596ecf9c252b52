package llvm

import (
	"math"

	"github.com/llir/llvm/ir"

	"github.com/texel-ml/texel/tensor"
	"github.com/texel-ml/texel/tir"
)

type instruction = ir.Instruction

// stmt emits a statement.
func (e *emitter) stmt(s tir.Stmt) {
	switch s := s.(type) {
	case *tir.For:
		if s.Kind != tir.Serial {
			e.fail("%s loop %s is left; lowered kernels have serial loops only", s.Kind, s.Var.Name)
		}
		e.noMask("loop " + s.Var.Name)
		e.loop(s)
	case *tir.Store:
		e.store(s)
	case *tir.Seq:
		for _, c := range s.Stmts {
			e.stmt(c)
		}
	case *tir.If:
		e.ifStmt(s)
	case *tir.While:
		e.noMask("while")
		e.while(s)
	case *tir.Let:
		old := e.vars[s.Var]
		e.vars[s.Var] = e.expr(s.Value)
		e.stmt(s.Body)
		e.vars[s.Var] = old
	case *tir.Allocate:
		e.allocate(s)
	case *tir.Evaluate:
	case *tir.Barrier:
		e.fail("a barrier stands in a kernel of a processor, which has no work-groups")
	case *tir.BlockRealize:
		e.fail("block %s is left; kernels must be lowered first", s.Block.Name)
	case nil:
	default:
		e.fail("unknown statement %T", s)
	}
}

func (e *emitter) noMask(what string) {
	if e.mask != nil {
		e.unsupported("%s under a condition of several lanes", what)
	}
}

// forget makes the slots of a buffer undefined.
func (e *emitter) forget(b *tir.Buffer) {
	set := e.ssa[b]
	if set == nil {
		e.wrote(b)
		return
	}
	for i := range set.lanes {
		e.slots[set.first+i] = nil
	}
}

// ifStmt emits a branch; a condition of several lanes becomes a mask.
func (e *emitter) ifStmt(s *tir.If) {
	c := e.expr(s.Cond)
	if c.splat != nil {
		c = c.splat
	}
	if _, n := split(c.t); n > 1 {
		e.masked(c, func() *val { e.stmt(s.Then); return nil })
		if s.Else != nil {
			e.masked(e.not(c), func() *val { e.stmt(s.Else); return nil })
		}
		return
	}
	if c.isInt {
		if c.n != 0 {
			e.stmt(s.Then)
		} else if s.Else != nil {
			e.stmt(s.Else)
		}
		return
	}
	var els func() *val
	if s.Else != nil {
		els = func() *val { e.stmt(s.Else); return nil }
	}
	e.branch(c, func() *val { e.stmt(s.Then); return nil }, els)
}

// masked emits body for the lanes of c only, and not at all when there is none.
func (e *emitter) masked(c *val, body func() *val) *val {
	old := e.mask
	if old != nil {
		c = e.narrow(old, c)
	}
	v := e.branch(e.any(c), func() *val {
		e.mask = c
		v := body()
		e.mask = old
		return v
	}, nil)
	return v
}

// narrow is the lanes of mask in which c holds. A select and not an and: c is undefined in the other lanes.
func (e *emitter) narrow(mask, c *val) *val {
	return e.op(c.t, "select $0, $1, $2", mask, c, e.int(c.t, 0))
}

// effects are what a statement may change.
type effects struct {
	slots   []int // sorted
	buffers map[*tir.Buffer]bool
}

// effectsOf looks for stores. Buffers that are allocated inside do not count.
func (e *emitter) effectsOf(body tir.Stmt) effects {
	out := effects{buffers: map[*tir.Buffer]bool{}}
	look := newSurvey()
	look.storesOnly = true
	whole := map[*slotSet]bool{} // promoted buffers
	for v, x := range e.vars {   // what is constant here, so that the survey sees the same indices
		if x != nil && x.isInt && x.t == i64 {
			look.consts[v] = x.n
		}
	}
	tir.Walk(body, func(n any) bool {
		if n, ok := n.(*tir.Store); ok {
			out.buffers[n.Buffer] = true
			set := e.ssa[n.Buffer]
			switch {
			case set == nil:
			case set.base != nil:
				whole[set] = true
			default:
				look.live[n.Buffer] = &use{spans: map[span]int{}}
			}
		}
		return true
	})
	stored := map[*slotSet]*use{}
	for b, u := range look.live {
		stored[e.ssa[b]] = u
	}
	look.stmt(body)
	seen := map[int]bool{}
	for set := range whole {
		for i := range set.lanes {
			seen[set.first+i] = true
		}
	}
	for set, u := range stored {
		if u.bad {
			e.fail("stores to a local buffer are not what the survey saw")
		}
		for s := range u.spans {
			for i := range s.lanes {
				seen[set.of[s.start+i]] = true
			}
		}
	}
	for id := range e.slots {
		if seen[id] {
			out.slots = append(out.slots, id)
		}
	}
	return out
}

// phis starts a loop's header in a new block: one phi for each slot that the loop changes, with its value on entry.
func (e *emitter) phis(fx effects, from *ir.Block) []*ir.InstPhi {
	list := make([]*ir.InstPhi, len(fx.slots))
	for i, id := range fx.slots {
		t := e.plan.types[id]
		list[i] = e.phi(t)
		start := e.slots[id]
		if start == nil {
			start = e.poison(t)
		}
		incoming(list[i], start.Value, from)
		e.slots[id] = e.wrap(list[i], t, e.top())
	}
	for b := range fx.buffers {
		e.wrote(b)
	}
	return list
}

// close adds the back edge of a loop's phis from the current block.
func (e *emitter) close(fx effects, phis []*ir.InstPhi) {
	for i, id := range fx.slots {
		v := e.slots[id]
		if v == nil {
			v = e.poison(phis[i].Typ.(tok))
		}
		incoming(phis[i], v.Value, e.b)
	}
}

// loop emits a serial loop, tested at its end: pre → body → body … → exit, with a guard before it unless the extent is
// known to be positive.
func (e *emitter) loop(s *tir.For) {
	start, extent := e.expr(s.Min), e.expr(s.Extent)
	old, had := e.vars[s.Var]
	defer func() {
		if delete(e.vars, s.Var); had {
			e.vars[s.Var] = old
		}
	}()
	if extent.isInt && extent.n <= 0 {
		return
	}
	if extent.isInt && extent.n == 1 {
		e.vars[s.Var] = start
		e.stmt(s.Body)
		return
	}
	end := e.value(linearOf(start).plus(linearOf(extent), 1))
	if extent.lo >= 1 {
		e.repeatPromoted(s, start, end)
		return
	}
	e.branch(e.op(i1, "icmp sgt $0, 0", extent), func() *val {
		e.repeatPromoted(s, start, end)
		return nil
	}, nil)
}

// repeatPromoted is repeat with the buffers that the loop updates in place as values.
func (e *emitter) repeatPromoted(s *tir.For, start, end *val) {
	list := e.promote(s.Var, s.Body)
	e.repeat(s, start, end)
	e.demote(list)
}

// repeat runs a loop's body for start ≤ Var < end, once at least.
func (e *emitter) repeat(s *tir.For, start, end *val) {
	fx := e.effectsOf(s.Body)
	pre, body, exit := e.b, e.newBlock(), e.newBlock()
	e.br(body)
	e.push(newFrame(pre))
	e.at(body)
	phi := e.phi(i64)
	incoming(phi, start.Value, pre)
	phis := e.phis(fx, pre)
	v := e.wrap(phi, i64, e.top())
	v.lo = start.lo
	if v.hi = end.hi; v.hi > math.MinInt64 {
		v.hi--
	}
	if s.Var.DType != tensor.Int64 {
		e.fail("loop variable %s is %v, wanted int64", s.Var.Name, s.Var.DType)
	}
	e.vars[s.Var] = v
	ahead := e.ahead
	e.ahead = s.Attrs[tir.Prefetch]
	e.stmt(s.Body)
	e.ahead = ahead
	next := e.emit(i64, "add nuw nsw $0, 1", phi)
	if v.lo < 0 {
		next.(*raw).tmpl = "add nsw $0, 1"
	}
	incoming(phi, next, e.b)
	e.close(fx, phis)
	e.condBr(e.emit(i1, "icmp slt $0, %1", next, end.Value), body, exit)
	e.pop()
	e.at(exit)
	e.leave(fx)
	e.closeEpochs(fx)
}

// leave lets the slots that a loop changed be seen outside it.
func (e *emitter) leave(fx effects) {
	for _, id := range fx.slots {
		if v := e.slots[id]; v != nil && v.level > e.top() {
			e.slots[id] = again(v, e.top())
		}
	}
}

func (e *emitter) closeEpochs(fx effects) {
	for b := range fx.buffers {
		e.wrote(b)
	}
}

// while emits a loop that is tested at its start.
func (e *emitter) while(s *tir.While) {
	fx := e.effectsOf(s.Body)
	pre, head, body, exit := e.b, e.newBlock(), e.newBlock(), e.newBlock()
	e.br(head)
	e.push(newFrame(pre))
	e.at(head)
	phis := e.phis(fx, pre)
	entered := append([]*val(nil), e.slots...)
	e.condBr(e.expr(s.Cond).Value, body, exit)
	e.push(newFrame(nil))
	e.at(body)
	e.stmt(s.Body)
	e.close(fx, phis)
	e.br(head)
	e.pop()
	e.pop()
	e.at(exit)
	copy(e.slots, entered)
	e.leave(fx)
	e.closeEpochs(fx)
}
