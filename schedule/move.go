package schedule

import (
	"fmt"
	"slices"

	"github.com/texel-ml/texel/tir"
)

// run is a block that holds statements, with all loops around it, through the blocks around it.
type run struct {
	realize *tir.BlockRealize
	loops   []*tir.For
	around  []*tir.Block
}

// knows reports whether v is a variable of a block around.
func (r *run) knows(v *tir.Var) bool {
	return slices.ContainsFunc(r.around, func(b *tir.Block) bool {
		return slices.ContainsFunc(b.Iters, func(iv tir.IterVar) bool { return iv.Var == v })
	})
}

// runsOf returns the blocks below st that hold no others, in order of execution.
func runsOf(st tir.Stmt) []*run {
	var list []*run
	var visit func(st tir.Stmt, loops []*tir.For, around []*tir.Block)
	visit = func(st tir.Stmt, loops []*tir.For, around []*tir.Block) {
		switch n := st.(type) {
		case *tir.For:
			visit(n.Body, append(loops[:len(loops):len(loops)], n), around)
		case *tir.Seq:
			for _, c := range n.Stmts {
				visit(c, loops, around)
			}
		case *tir.If:
			visit(n.Then, loops, around)
			visit(n.Else, loops, around)
		case *tir.Let:
			visit(n.Body, loops, around)
		case *tir.BlockRealize:
			if n.Block.Opaque || !holdsRealize(n.Block) {
				list = append(list, &run{n, loops, around})
				return
			}
			around = append(around[:len(around):len(around)], n.Block)
			visit(n.Block.Init, loops, around)
			visit(n.Block.Body, loops, around)
		}
	}
	visit(st, nil, nil)
	return list
}

// move is a change of the place of a block: what it read it must find there, and what it wrote must be there in time.
type move struct {
	s     *Schedule
	block *tir.Block
	runs  []*run
	from  int        // the block's number among runs
	to    int        // how many of runs come before the new place
	loops []*tir.For // around the new place
}

// moveOf prepares the move of a block to the place before the run with the given number, inside loops.
func (s *Schedule) moveOf(b *tir.Block, to int, loops []*tir.For) *move {
	m := &move{s: s, block: b, runs: runsOf(s.fn.Root().Body), to: to, loops: loops}
	m.from = slices.IndexFunc(m.runs, m.own)
	return m
}

// own reports whether a run is the block, or stands inside it.
func (m *move) own(r *run) bool {
	return r.realize.Block == m.block || slices.Contains(r.around, m.block)
}

// numberOf is how many runs come before the first one below st, or how many there are when none is below it.
func numberOf(runs []*run, st tir.Stmt) int {
	inside := runsOf(st)
	if len(inside) == 0 {
		return len(runs)
	}
	return slices.IndexFunc(runs, func(r *run) bool { return r.realize == inside[0].realize })
}

// together is how many loops two blocks share, of those around each.
func together(x, y []*tir.For) int {
	n := 0
	for n < len(x) && n < len(y) && x[n].Var == y[n].Var {
		n++
	}
	return n
}

// stays reports whether another run stands to the block as it did: before or behind it, in an iteration of the same loops.
func (m *move) stays(i int) bool {
	r := m.runs[i]
	return (i < m.from) == (i < m.to) && together(r.loops, m.runs[m.from].loops) == together(r.loops, m.loops)
}

// inputs says why the block would find something else in what it reads. same says that each instance runs in the same
// iteration as before of the loops around both places. That an iteration of the loops around the new place has written what
// the block reads is for the caller to see (settled).
func (m *move) inputs(same bool) string {
	for i, r := range m.runs {
		for _, w := range r.realize.Block.Writes {
			if m.own(r) || !loadsOf(m.block, w.Buffer) {
				continue
			}
			was, is := together(r.loops, m.runs[m.from].loops), together(r.loops, m.loops)
			switch {
			case m.stays(i) && (same || is == 0):
			case (i < m.from) != (i < m.to) || i > m.from && was != is:
				return fmt.Sprintf("block %s writes %s, and would run on its other side", r.realize.Block.Name, w.Buffer.Name)
			case !m.s.functional(w.Buffer):
				return fmt.Sprintf("%s is written again by block %s", w.Buffer.Name, r.realize.Block.Name)
			}
		}
	}
	return ""
}

// outputs says why another block would find something else in what the block writes.
func (m *move) outputs() string {
	for i, r := range m.runs {
		for _, w := range m.block.Writes {
			b := r.realize.Block
			if m.own(r) || !writes(b, w.Buffer) && !loadsOf(b, w.Buffer) || m.stays(i) {
				continue
			}
			switch {
			case i < m.from || i < m.to || writes(b, w.Buffer):
				return fmt.Sprintf("block %s accesses %s, and would run on its other side", b.Name, w.Buffer.Name)
			case !m.s.functional(w.Buffer):
				return fmt.Sprintf("%s is written again, and block %s reads it", w.Buffer.Name, b.Name)
			}
		}
	}
	return ""
}

// strayLoads reports whether buf is read outside of blocks: by a bound, a condition, or the value of a variable.
func (s *Schedule) strayLoads(buf *tir.Buffer) bool {
	inBlocks := 0
	for _, r := range runsOf(s.fn.Root().Body) {
		inBlocks += loadCount(r.realize.Block.Init, buf) + loadCount(r.realize.Block.Body, buf)
	}
	return inBlocks != loadCount(s.fn.Root().Body, buf)
}

// loadCount is how many loads below root read buf, those in declared regions left out.
func loadCount(root tir.Stmt, buf *tir.Buffer) int {
	n := 0
	var walk func(root any)
	walk = func(root any) {
		tir.Walk(root, func(x any) bool {
			switch x := x.(type) {
			case *tir.Load:
				if x.Buffer == buf {
					n++
				}
			case *tir.BlockRealize:
				for _, v := range x.Values {
					walk(v)
				}
				if x.Where != nil {
					walk(x.Where)
				}
				if x.Block.Init != nil {
					walk(x.Block.Init)
				}
				walk(x.Block.Body)
				return false
			}
			return true
		})
	}
	if root != nil {
		walk(root)
	}
	return n
}
