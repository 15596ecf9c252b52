package te

import (
	"fmt"

	"github.com/texel-ml/texel/tir"
	"github.com/texel-ml/texel/tir/arith"
	"github.com/texel-ml/texel/tir/verify"
)

// scanNests returns the nests that write the first rows of the states, and the loop over the steps.
func (b *builder) scanNests(d *definition, scope *verify.Scope) ([]tir.Stmt, error) {
	plan := b.plans[d]
	var nests []tir.Stmt
	for n, init := range plan.inits {
		out := init.outs[0].Buffer
		undo, err := scope.Buffer(out)
		if err != nil {
			return nil, b.invalid(init.String(), "%s", err)
		}
		err = b.check(init, scope)
		undo()
		if err != nil {
			return nil, err
		}
		b.rename(&out.Name)
		blk := init.block(out.Name)
		blk.Init = tir.ReplaceBuffer(blk.Init, out, d.scan.states[n].State.Buffer, nil)
		blk.Body = tir.ReplaceBuffer(blk.Body, out, d.scan.states[n].State.Buffer, nil)
		nests = append(nests, nest(blk))
	}
	steps := d.outs[0].Shape()[0] - d.scan.first
	if steps == 0 {
		return nests, nil
	}
	s := &stepBuilder{b: b, d: d, t: tir.NewVar("t"), a: arith.New(), state: map[*tir.Buffer]*tir.Buffer{}, local: map[*tir.Buffer]*tir.Buffer{}}
	s.time = tir.Plus(s.t, tir.I(d.scan.first))
	s.a.Bind(s.t, 0, int64(steps))
	s.block = &tir.Block{Name: b.blockName(d), Iters: []tir.IterVar{{Var: s.t, Extent: steps, Kind: tir.Ordered}}}
	if err := s.stages(plan.step, scope); err != nil {
		return nil, err
	}
	loop := tir.NewVar("t")
	realize := &tir.BlockRealize{Values: []tir.Expr{loop}, Block: s.block}
	return append(nests, &tir.For{Var: loop, Min: tir.I(0), Extent: tir.I(steps), Body: realize}), nil
}

// stepBuilder makes the block of one step of a scan.
type stepBuilder struct {
	b     *builder
	d     *definition
	t     *tir.Var // the block's variable, from 0
	time  tir.Expr // the row
	a     *arith.Analyzer
	block *tir.Block
	state map[*tir.Buffer]*tir.Buffer // of the updates' results, the states
	local map[*tir.Buffer]*tir.Buffer // of other results of the step, the buffers of one step
}

// stages puts the stages of a step into the block.
func (s *stepBuilder) stages(list []*definition, scope *verify.Scope) error {
	for _, r := range s.d.scan.states {
		s.state[r.Update.Buffer] = r.State.Buffer
	}
	for _, m := range list {
		for _, o := range m.outs {
			undo, err := scope.Buffer(o.Buffer)
			if err != nil {
				return s.b.invalid(m.String(), "%s", err)
			}
			defer undo()
			s.b.rename(&o.Buffer.Name)
			if s.state[o.Buffer] == nil {
				own := &tir.Buffer{Name: o.Buffer.Name, DType: o.DType(), Shape: o.Shape()[1:], Scope: tir.Scratch}
				s.local[o.Buffer] = own
				s.block.Allocs = append(s.block.Allocs, own)
			}
		}
	}
	var nests []tir.Stmt
	for _, m := range list {
		if err := s.b.check(m, scope); err != nil {
			return err
		}
		if err := s.times(m); err != nil {
			return err
		}
		blk := s.at(m)
		nests = append(nests, nest(blk))
		s.declare(blk)
	}
	s.block.Body = tir.Block1(nests...)
	return nil
}

// at returns the block of stage m in a step, without its axis of the time.
func (s *stepBuilder) at(m *definition) *tir.Block {
	blk := m.block(s.b.blockName(m))
	blk.Iters = blk.Iters[1:]
	axis := m.iters[0].Var
	place := func(b *tir.Buffer, idx []tir.Expr) (*tir.Buffer, []tir.Expr) {
		switch {
		case s.local[b] != nil:
			return s.local[b], idx[1:]
		case s.state[b] != nil:
			return s.state[b], idx
		case s.isState(b):
			return b, append([]tir.Expr{s.a.Simplify(idx[0])}, idx[1:]...)
		}
		return b, idx
	}
	to := &tir.Mapper{
		Expr: func(e tir.Expr) tir.Expr {
			if e == tir.Expr(axis) {
				return s.time
			}
			l, ok := e.(*tir.Load)
			if !ok {
				return e
			}
			buf, idx := place(l.Buffer, l.Indices)
			if buf == l.Buffer && !s.isState(buf) {
				return e
			}
			return &tir.Load{Buffer: buf, Indices: idx}
		},
		Stmt: func(st tir.Stmt) tir.Stmt {
			n, ok := st.(*tir.Store)
			if !ok {
				return st
			}
			buf, idx := place(n.Buffer, n.Indices)
			return &tir.Store{Buffer: buf, Indices: idx, Value: n.Value}
		},
	}
	blk.Init, blk.Body = to.MapStmt(blk.Init), to.MapStmt(blk.Body)
	return blk
}

func (s *stepBuilder) isState(b *tir.Buffer) bool {
	for _, r := range s.d.scan.states {
		if r.State.Buffer == b {
			return true
		}
	}
	return false
}

// declare adds what a block of the step touches, whatever the values of its own variables, to the regions of the step.
func (s *stepBuilder) declare(blk *tir.Block) {
	over := map[*tir.Var]tir.Range{}
	for _, iv := range blk.Iters {
		over[iv.Var] = tir.Range{Min: tir.I(0), Extent: tir.I(iv.Extent)}
	}
	add := func(list []tir.Region, r tir.Region) []tir.Region {
		for _, own := range s.block.Allocs {
			if own == r.Buffer {
				return list
			}
		}
		box := tir.Whole(r.Buffer)
		for n, g := range r.Ranges {
			part, ok := s.a.Touched([]tir.Expr{g.Min}, over)
			if ok && s.a.Covers(box.Ranges[n:n+1], part) { // else a read under a condition: all of the axis
				box.Ranges[n] = part[0]
			}
		}
		for _, have := range list {
			if have.Buffer == r.Buffer && s.a.Covers(have.Ranges, box.Ranges) {
				return list
			}
		}
		return append(list, box)
	}
	for _, r := range blk.Writes {
		s.block.Writes = add(s.block.Writes, r)
	}
	for _, r := range blk.Reads {
		s.block.Reads = add(s.block.Reads, r)
	}
}

// times checks which rows stage m reads: earlier ones of the states, and that of its own step of other stages.
func (s *stepBuilder) times(m *definition) error {
	c := &timeCheck{s: s, axis: m.iters[0].Var, a: arith.New()}
	for n, iv := range m.iters {
		if n == 0 {
			c.a.Bind(iv.Var, int64(s.d.scan.first), int64(iv.Extent-s.d.scan.first))
		} else {
			c.a.Bind(iv.Var, 0, int64(iv.Extent))
		}
	}
	for _, e := range m.init {
		c.expr(e)
	}
	if m.where != nil {
		c.expr(m.where)
	}
	c.under(m.where, func() {
		for _, t := range m.terms {
			c.expr(t.value)
		}
		for _, e := range m.values {
			c.expr(e)
		}
	})
	if c.err != nil {
		return s.b.invalid(m.String(), "%s", c.err)
	}
	return nil
}

// timeCheck goes through the expressions of one stage of a step.
type timeCheck struct {
	s    *stepBuilder
	axis *tir.Var
	a    *arith.Analyzer
	err  error
}

func (c *timeCheck) under(cond tir.Expr, f func()) {
	leave := c.a.Assume(cond)
	f()
	leave()
}

// expr checks the loads of e; lazy operands under their conditions.
func (c *timeCheck) expr(e tir.Expr) {
	tir.Walk(e, func(n any) bool {
		switch n := n.(type) {
		case *tir.Select:
			c.expr(n.Cond)
			c.under(n.Cond, func() { c.expr(n.Then) })
			c.under(&tir.Not{A: n.Cond}, func() { c.expr(n.Else) })
			return false
		case *tir.Binary:
			if n.Op.IsLogical() {
				c.expr(n.A)
				cond := n.A
				if n.Op == tir.Or {
					cond = &tir.Not{A: n.A}
				}
				c.under(cond, func() { c.expr(n.B) })
				return false
			}
		case *tir.Load:
			c.load(n)
		}
		return c.err == nil
	})
}

func (c *timeCheck) load(l *tir.Load) {
	row := l.Indices
	if len(row) == 0 || c.err != nil {
		return
	}
	switch own := c.s.local[l.Buffer] != nil || c.s.state[l.Buffer] != nil; {
	case own && !c.a.Prove(tir.Eq(row[0], c.axis)):
		c.err = fmt.Errorf("it reads %s at another time than its own", l.Buffer.Name)
	case own || !c.s.isState(l.Buffer):
	case !c.a.Prove(tir.Ge(row[0], tir.I(0))) || !c.a.Prove(tir.Lt(row[0], c.axis)):
		c.err = fmt.Errorf("it reads a row of %s that may not be computed yet; wanted one from 0 to the time - 1", l.Buffer.Name)
	}
}
