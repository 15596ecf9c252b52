package transform

import (
	"fmt"
	"slices"

	"github.com/texel-ml/texel/tir"
	"github.com/texel-ml/texel/tir/arith"
)

// CompactBuffers shrinks each buffer allocated inside the kernel to the box that is touched while the statement below
// its allocation runs, and subtracts the box's minimum from the indices: a buffer of shape [N, H, W, C] of which a tile
// is used becomes [1, 1, 8, 32]. A shared buffer is one of the group: the box is that of all its work-items. An axis keeps
// its extent when the box has no constant extent below it. A buffer with strides of its own keeps its shape, unless an
// alignment says what they are (tir.StorageAlign).
func CompactBuffers(k *tir.Kernel, _ Options) (*tir.Kernel, error) {
	c := &compactor{a: newSimplifier(k).a}
	return withBody(k, c.stmt(k.Body)), nil
}

type compactor struct {
	a     *arith.Analyzer
	items []*tir.For // loops over work-items around
}

func (c *compactor) stmt(s tir.Stmt) tir.Stmt {
	m := &tir.Mapper{}
	m.Enter = func(s tir.Stmt) (tir.Stmt, bool) {
		switch n := s.(type) {
		case *tir.For:
			leave := c.a.Scope()
			defer leave()
			c.a.BindLoop(n)
			if n.Axis() >= tir.ThreadAxis {
				c.items = append(c.items, n)
				defer func() { c.items = c.items[:len(c.items)-1] }()
			}
			body := m.MapStmt(n.Body)
			if body == n.Body {
				return n, true
			}
			f := *n
			f.Body = body
			return &f, true
		case *tir.Let:
			leave := c.a.Scope()
			defer leave()
			c.a.BindValue(n.Var, n.Value)
			body := m.MapStmt(n.Body)
			if body == n.Body {
				return n, true
			}
			return &tir.Let{Var: n.Var, Value: n.Value, Body: body}, true
		case *tir.Allocate:
			body := m.MapStmt(n.Body)
			return c.shrink(n.WithBody(body)), true
		}
		return s, false
	}
	return m.MapStmt(s)
}

func (c *compactor) shrink(n *tir.Allocate) tir.Stmt {
	aligned, ok := alignment(n)
	if !ok || n.Buffer.Folding != nil {
		return n
	}
	leave := c.a.Scope()
	box, ok := c.touched(n.Body, n.Buffer)
	leave()
	if !ok || box == nil {
		return n
	}
	shape, less := slices.Clone(n.Buffer.Shape), make([]tir.Expr, len(box))
	changed := false
	for i, r := range box {
		extent, _ := tir.AsInt(r.Extent)
		less[i] = tir.I(0)
		if extent < int64(shape[i]) {
			shape[i], less[i], changed = int(extent), r.Min, true
		}
	}
	if !changed {
		return n
	}
	to := *n.Buffer
	to.Shape = shape
	if to.Strides != nil {
		to.Strides = aligned(shape)
	}
	body := tir.ReplaceBuffer(n.Body, n.Buffer, &to, func(indices []tir.Expr) []tir.Expr {
		out := make([]tir.Expr, len(indices))
		for i, e := range indices {
			out[i] = e
			if !tir.IsConst(less[i], 0) {
				out[i] = c.a.Simplify(tir.Minus(e, less[i]))
			}
		}
		return out
	})
	return &tir.Allocate{Buffer: &to, Attrs: n.Attrs, Body: body}
}

// alignment returns the strides that a buffer with strides has when its shape is another one; it reports false when
// nothing says which.
func alignment(n *tir.Allocate) (strides func(shape []int) []int, ok bool) {
	if n.Buffer.Strides == nil {
		return nil, true
	}
	var buf, axis, factor, offset int
	if _, err := fmt.Sscanf(n.Attrs[tir.StorageAlign], "%d %d %d %d", &buf, &axis, &factor, &offset); err != nil || factor < 1 {
		return nil, false
	}
	strides = func(shape []int) []int { return tir.AlignedStrides(shape, axis, factor, offset) }
	return strides, slices.Equal(strides(n.Buffer.Shape), n.Buffer.Strides)
}

// touched returns the box around all accesses of buf below s, with every variable bound below s swept.
func (c *compactor) touched(s tir.Stmt, buf *tir.Buffer) ([]tir.Range, bool) {
	over := map[*tir.Var]tir.Range{}
	if buf.Scope == tir.Shared {
		for _, f := range c.items {
			over[f.Var] = tir.Range{Min: f.Min, Extent: f.Extent}
		}
	}
	var box []tir.Range
	ok := true
	access := func(indices []tir.Expr) {
		t, fine := c.a.Touched(indices, over)
		switch {
		case !fine:
			ok = false
		case box == nil:
			box = t
		default:
			box, fine = c.a.Union(box, t)
			ok = ok && fine
		}
	}
	tir.Walk(s, func(n any) bool { // parents first: a variable is swept before its uses are met
		switch n := n.(type) {
		case *tir.For:
			c.a.BindLoop(n)
			over[n.Var] = tir.Range{Min: n.Min, Extent: n.Extent}
		case *tir.Let:
			c.a.BindValue(n.Var, n.Value)
			over[n.Var] = tir.Range{Min: n.Value, Extent: tir.I(1)}
		case *tir.Load:
			if n.Buffer == buf && ok {
				access(n.Indices)
			}
		case *tir.Store:
			if n.Buffer == buf && ok {
				access(n.Indices)
			}
		}
		return ok
	})
	return box, ok
}
