package study

import (
	"slices"

	"github.com/texel-ml/texel/tensor"
	"github.com/texel-ml/texel/tir"
)

// smallerProgram makes the program smaller: fewer stages, smaller extents, simpler expressions.
func (r *reducer) smallerProgram() (changed bool) {
	for again := true; again; {
		again = false
		for _, make := range []func(*tir.Func) []func() *tir.Func{withoutStages, withSmallerExtents, withSimplerStores} {
			for _, f := range make(r.best.program) {
				if p := f(); p != nil && r.accept(p, r.best.steps) {
					again, changed = true, true
					break
				}
			}
		}
	}
	return changed
}

// withRoot returns f with another body and other buffers.
func withRoot(f *tir.Func, params []*tir.Buffer, outputs int, allocs []*tir.Buffer, body tir.Stmt) *tir.Func {
	root := *f.Root()
	root.Body, root.Allocs = body, allocs
	out := *f
	out.Params, out.Outputs, out.Body = params, outputs, &tir.BlockRealize{Block: &root}
	return &out
}

func statements(f *tir.Func) []tir.Stmt {
	if seq, ok := f.Root().Body.(*tir.Seq); ok {
		return seq.Stmts
	}
	return []tir.Stmt{f.Root().Body}
}

// withoutStages leaves out one statement of the root each. What it wrote becomes an input when others read it, and goes when
// none does.
func withoutStages(f *tir.Func) []func() *tir.Func {
	list := statements(f)
	var out []func() *tir.Func
	if len(list) < 2 {
		return nil
	}
	for i := range list {
		out = append(out, func() *tir.Func {
			rest := append(slices.Clone(list[:i]), list[i+1:]...)
			return withStatements(f, rest)
		})
	}
	return out
}

// withStatements returns f with only the given statements of its root, with the buffers that they use.
func withStatements(f *tir.Func, list []tir.Stmt) *tir.Func {
	read, written := map[*tir.Buffer]bool{}, map[*tir.Buffer]bool{}
	for _, s := range list {
		tir.Walk(s, func(n any) bool {
			switch n := n.(type) {
			case *tir.Load:
				read[n.Buffer] = true
			case *tir.Store:
				written[n.Buffer] = true
			}
			return true
		})
	}
	inputs := len(f.Params) - f.Outputs
	var ins, outs, allocs []*tir.Buffer
	for i, b := range f.Params {
		switch {
		case i < inputs && read[b], i >= inputs && read[b] && !written[b]:
			ins = append(ins, b)
		case i >= inputs && written[b]:
			outs = append(outs, b)
		}
	}
	for _, b := range f.Root().Allocs {
		switch {
		case written[b] && read[b]:
			allocs = append(allocs, b)
		case written[b]:
			outs = append(outs, b)
		case read[b]:
			ins = append(ins, b)
		}
	}
	if len(outs) == 0 {
		return nil
	}
	return withRoot(f, append(ins, outs...), len(outs), allocs, tir.Block1(list...))
}

// withSmallerExtents replaces one extent, wherever it stands, by a smaller one.
func withSmallerExtents(f *tir.Func) []func() *tir.Func {
	var extents []int
	note := func(n int) {
		if n > 1 && !slices.Contains(extents, n) {
			extents = append(extents, n)
		}
	}
	for _, list := range [][]*tir.Buffer{f.Params, f.Root().Allocs} {
		for _, b := range list {
			for _, n := range b.Shape {
				note(n)
			}
		}
	}
	tir.Walk(f.Root().Body, func(n any) bool {
		if r, ok := n.(*tir.BlockRealize); ok {
			for _, iv := range r.Block.Iters {
				note(iv.Extent)
			}
		}
		return true
	})
	slices.Sort(extents)
	slices.Reverse(extents)
	var out []func() *tir.Func
	for _, n := range extents {
		for _, to := range []int{1, 2, n / 2, n - 1} {
			if to < n && to > 0 {
				out = append(out, func() *tir.Func { return withExtent(f, n, to) })
			}
		}
	}
	return out
}

// withExtent replaces the number from by to in shapes, domains, and index expressions.
func withExtent(f *tir.Func, from, to int) *tir.Func {
	body := f.Root().Body
	sized := func(list []*tir.Buffer) []*tir.Buffer {
		list = slices.Clone(list)
		for i, b := range list {
			if slices.Contains(b.Shape, from) {
				c := *b
				c.Shape = slices.Clone(b.Shape)
				for d, n := range c.Shape {
					if n == from {
						c.Shape[d] = to
					}
				}
				body, list[i] = tir.ReplaceBuffer(body, b, &c, nil), &c
			}
		}
		return list
	}
	params, allocs := sized(f.Params), sized(f.Root().Allocs)
	m := &tir.Mapper{
		Expr: func(e tir.Expr) tir.Expr {
			if n, ok := e.(*tir.Int); ok && n.DType == tensor.Int64 && n.Value == int64(from) {
				return tir.I(to)
			}
			return e
		},
		Stmt: func(s tir.Stmt) tir.Stmt {
			if n, ok := s.(*tir.BlockRealize); ok {
				b := *n.Block
				b.Iters = slices.Clone(b.Iters)
				for i := range b.Iters {
					if b.Iters[i].Extent == from {
						b.Iters[i].Extent = to
					}
				}
				return &tir.BlockRealize{Values: n.Values, Where: n.Where, Block: &b}
			}
			return s
		},
	}
	return withRoot(f, params, f.Outputs, allocs, m.MapStmt(body))
}

// withSimplerStores replaces the value of one store by one of its parts, or by a constant.
func withSimplerStores(f *tir.Func) []func() *tir.Func {
	var out []func() *tir.Func
	tir.Walk(f.Root().Body, func(n any) bool {
		st, ok := n.(*tir.Store)
		if !ok {
			return true
		}
		for _, e := range parts(st.Value) {
			out = append(out, func() *tir.Func {
				to := &tir.Store{Buffer: st.Buffer, Indices: st.Indices, Value: e}
				m := &tir.Mapper{
					Enter: func(s tir.Stmt) (tir.Stmt, bool) {
						if s == tir.Stmt(st) {
							return to, true
						}
						return nil, false
					},
					Stmt: func(s tir.Stmt) tir.Stmt {
						if r, ok := s.(*tir.BlockRealize); ok && !r.Block.Opaque {
							b := *r.Block
							if reads, writes := tir.Accesses(&b); len(writes) == len(b.Writes) {
								b.Reads, b.Writes = reads, writes
							}
							return &tir.BlockRealize{Values: r.Values, Where: r.Where, Block: &b}
						}
						return s
					},
				}
				list := make([]tir.Stmt, 0)
				for _, s := range statements(f) {
					list = append(list, m.MapStmt(s))
				}
				return withStatements(f, list)
			})
		}
		return true
	})
	return out
}

// parts returns simpler expressions of e's type: 1, and operands.
func parts(e tir.Expr) []tir.Expr {
	t := e.Type()
	var list []tir.Expr
	size := 0
	tir.Walk(e, func(n any) bool {
		size++
		if x, ok := n.(tir.Expr); ok && x != e && x.Type() == t {
			list = append(list, x)
		}
		_, load := n.(*tir.Load)
		return !load
	})
	if size > 1 && t.Lanes == 1 {
		list = append([]tir.Expr{tir.Const(t.DType, 1)}, list...)
	}
	return list
}
