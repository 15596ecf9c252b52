package schedule

import (
	"github.com/texel-ml/texel/tir"
)

// TransformLayout changes the order in which the axes of the buffer that block b writes lie in memory: axis n of the new
// buffer is axis order[n] of the old one. Every access is rewritten; the loops stay. The buffer must be an intermediate
// one.
//
//	B[i, j] = A[i, j]; C[i, j] = B[i, j]   →   order [1, 0]   →   B[j, i] = A[i, j]; C[i, j] = B[j, i]
func (s *Schedule) TransformLayout(b Block, order ...int) {
	const step = "transform_layout"
	p := s.block(step, b)
	if p == nil {
		return
	}
	block := p.realize.Block
	if len(block.Writes) != 1 {
		s.refuse(step, b.name, "writes %d regions, wanted one", len(block.Writes))
		return
	}
	buf := block.Writes[0].Buffer
	for _, q := range s.fn.Params {
		if q == buf {
			s.refuse(step, b.name, "writes the parameter %s; wanted an intermediate buffer", buf.Name)
			return
		}
	}
	if !permutes(order, len(buf.Shape)) || buf.Strides != nil || buf.Folding != nil {
		s.refuse(step, b.name, "order %v does not permute the %d axes of %s, or it has strides of its own", order, len(buf.Shape), buf.Name)
		return
	}
	for _, c := range realizesIn(s.fn.Root().Body) {
		if c.realize.Block.Opaque && (reads(c.realize.Block, buf) || writes(c.realize.Block, buf)) {
			s.refuse(step, b.name, "block %s accesses %s and is opaque", c.realize.Block.Name, buf.Name)
			return
		}
	}
	to := *buf
	to.Shape = make([]int, len(order))
	for n, axis := range order {
		to.Shape[n] = buf.Shape[axis]
	}
	turned := func(idx []tir.Expr) []tir.Expr {
		out := make([]tir.Expr, len(order))
		for n, axis := range order {
			out[n] = idx[axis]
		}
		return out
	}
	regions := func(list []tir.Region) []tir.Region {
		out := append([]tir.Region{}, list...)
		for i, r := range out {
			if r.Buffer != buf {
				continue
			}
			ranges := make([]tir.Range, len(order))
			for n, axis := range order {
				ranges[n] = r.Ranges[axis]
			}
			out[i] = tir.Region{Buffer: &to, Ranges: ranges}
		}
		return out
	}
	m := &tir.Mapper{
		Expr: func(e tir.Expr) tir.Expr {
			if l, ok := e.(*tir.Load); ok && l.Buffer == buf {
				return &tir.Load{Buffer: &to, Indices: turned(l.Indices)}
			}
			return e
		},
		Stmt: func(st tir.Stmt) tir.Stmt {
			switch n := st.(type) {
			case *tir.Store:
				if n.Buffer == buf {
					return &tir.Store{Buffer: &to, Indices: turned(n.Indices), Value: n.Value}
				}
			case *tir.BlockRealize:
				c := *n.Block
				c.Reads, c.Writes = regions(c.Reads), regions(c.Writes)
				return &tir.BlockRealize{Values: n.Values, Where: n.Where, Block: &c}
			}
			return st
		},
	}
	allocs := append([]*tir.Buffer{}, s.fn.Root().Allocs...)
	for i, a := range allocs {
		if a == buf {
			allocs[i] = &to
		}
	}
	s.setRoot(m.MapStmt(s.fn.Root().Body), allocs)
	s.record(step, operands(b, order))
}

// permutes reports whether order holds each of 0 to n-1 once.
func permutes(order []int, n int) bool {
	seen := make([]bool, n)
	for _, axis := range order {
		if axis < 0 || axis >= n || seen[axis] {
			return false
		}
		seen[axis] = true
	}
	return len(order) == n
}
