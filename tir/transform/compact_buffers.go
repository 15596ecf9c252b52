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
	box, ok := c.touched(n.Body, n.Buffer)
	if !ok {
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
	t := &toucher{a: c.a, buf: buf, over: map[*tir.Var]tir.Range{}}
	if buf.Scope == tir.Shared {
		for _, f := range c.items {
			t.over[f.Var] = tir.Range{Min: f.Min, Extent: f.Extent}
		}
	}
	if !t.walk(s) || len(t.boxes) == 0 {
		return nil, false
	}
	box, ok := t.boxes[0], true
	for _, b := range t.boxes[1:] { // here, where nothing is known of what is so in a loop alone: that it has an iteration
		if box, ok = c.a.Union(box, b); !ok {
			return nil, false
		}
	}
	return box, true
}

// toucher gathers the boxes that the accesses of a buffer touch.
type toucher struct {
	a     *arith.Analyzer
	buf   *tir.Buffer
	over  map[*tir.Var]tir.Range // variables bound below the allocation
	boxes [][]tir.Range
}

// walk reports whether each access below root has a box.
func (t *toucher) walk(root any) bool {
	ok := true
	access := func(buf *tir.Buffer, indices []tir.Expr) {
		if buf != t.buf {
			return
		}
		var box []tir.Range
		box, ok = t.a.Touched(indices, t.over)
		t.boxes = append(t.boxes, box)
	}
	tir.Walk(root, func(n any) bool {
		if !ok {
			return false
		}
		switch n := n.(type) {
		case *tir.For:
			leave := t.a.Scope()
			defer leave()
			t.a.BindLoop(n)
			t.over[n.Var] = tir.Range{Min: n.Min, Extent: n.Extent}
			ok = t.walk(n.Min) && t.walk(n.Extent) && t.walk(n.Body)
			return false
		case *tir.Let:
			leave := t.a.Scope()
			defer leave()
			t.a.BindValue(n.Var, n.Value)
			t.over[n.Var] = tir.Range{Min: n.Value, Extent: tir.I(1)}
			ok = t.walk(n.Value) && t.walk(n.Body)
			return false
		case *tir.Load:
			access(n.Buffer, n.Indices)
		case *tir.Store:
			access(n.Buffer, n.Indices)
		}
		return ok
	})
	return ok
}
