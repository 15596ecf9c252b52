package schedule

import (
	"fmt"

	"github.com/texel-ml/texel/tir"
)

// copyOf returns a copy of st that may stand beside it: blocks have new names, the given name with a number where it is
// taken, and loops, blocks and the buffers of blocks have variables and buffers of their own.
func (s *Schedule) copyOf(st tir.Stmt, name func(old string) string) tir.Stmt {
	c := &copier{s: s, name: name, vars: map[*tir.Var]tir.Expr{}, taken: map[string]bool{}}
	for _, r := range allRealizes(s.fn.Body) {
		c.taken[r.Block.Name] = true
		for _, b := range r.Block.Allocs {
			c.taken[b.Name] = true
		}
	}
	for _, b := range s.fn.Params {
		c.taken[b.Name] = true
	}
	out := tir.SubstStmt(c.stmt(st), c.vars)
	for _, b := range c.allocs {
		out = tir.ReplaceBuffer(out, b[0], b[1], nil)
	}
	return out
}

type copier struct {
	s      *Schedule
	name   func(string) string
	vars   map[*tir.Var]tir.Expr
	allocs [][2]*tir.Buffer
	taken  map[string]bool
}

func (c *copier) stmt(st tir.Stmt) tir.Stmt {
	m := &tir.Mapper{}
	m.Enter = func(st tir.Stmt) (tir.Stmt, bool) {
		switch n := st.(type) {
		case *tir.For:
			f := *n
			f.Var = c.variable(n.Var)
			f.Body = m.MapStmt(n.Body)
			return &f, true
		case *tir.Let:
			return &tir.Let{Var: c.variable(n.Var), Value: n.Value, Body: m.MapStmt(n.Body)}, true
		case *tir.Allocate:
			a := *n
			a.Buffer, a.Body = c.buffer(n.Buffer), m.MapStmt(n.Body)
			return &a, true
		case *tir.BlockRealize:
			return c.realize(n, m), true
		}
		return st, false
	}
	return m.MapStmt(st)
}

func (c *copier) variable(v *tir.Var) *tir.Var {
	w := &tir.Var{Name: c.s.newVar(v.Name).Name, DType: v.DType}
	c.vars[v] = w
	return w
}

func (c *copier) realize(n *tir.BlockRealize, m *tir.Mapper) tir.Stmt {
	b := *n.Block
	b.Name = c.unique(c.name(b.Name))
	b.Iters = make([]tir.IterVar, len(n.Block.Iters))
	for i, iv := range n.Block.Iters {
		b.Iters[i] = tir.IterVar{Var: c.variable(iv.Var), Extent: iv.Extent, Kind: iv.Kind}
	}
	b.Allocs = nil
	for _, buf := range n.Block.Allocs {
		b.Allocs = append(b.Allocs, c.buffer(buf))
	}
	b.Init, b.Body = m.MapStmt(b.Init), m.MapStmt(b.Body)
	return &tir.BlockRealize{Values: n.Values, Where: n.Where, Block: &b}
}

func (c *copier) buffer(b *tir.Buffer) *tir.Buffer {
	to := *b
	to.Name = c.unique(b.Name)
	c.allocs = append(c.allocs, [2]*tir.Buffer{b, &to})
	return &to
}

func (c *copier) unique(name string) string {
	base := name
	for n := 1; c.taken[name]; n++ {
		name = fmt.Sprintf("%s%d", base, n)
	}
	c.taken[name] = true
	return name
}
