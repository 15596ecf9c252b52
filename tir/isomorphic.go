package tir

import (
	"maps"
	"math"
	"slices"
)

// Isomorphic reports whether two trees are the same but for the identity of variables and buffers: the variables and
// buffers of the one stand for those of the other one to one, with the same names, types, shapes and scopes, and every
// attribute is the same. Each of a and b is a *Func, a *Program, a *Kernel, a []*Kernel, a Stmt or an Expr. All NaNs are
// one.
func Isomorphic(a, b any) bool { return newMatcher().root(a, b) }

type matcher struct {
	to, from map[any]any // *Var and *Buffer of the left side, and back
}

func newMatcher() *matcher { return &matcher{map[any]any{}, map[any]any{}} }

func (m *matcher) root(a, b any) bool {
	switch a := a.(type) {
	case *Func:
		b, ok := b.(*Func)
		return ok && a.Name == b.Name && a.Outputs == b.Outputs && m.buffers(a.Params, b.Params) && m.vars(a.Scalars, b.Scalars) &&
			sameAttrs(a.Attrs, b.Attrs) && m.stmt(a.Body, b.Body)
	case *Program:
		b, ok := b.(*Program)
		return ok && a.Name == b.Name && a.Outputs == b.Outputs && a.Stage == b.Stage && m.buffers(a.Params, b.Params) &&
			m.vars(a.Scalars, b.Scalars) && m.buffers(a.Between, b.Between) && slices.EqualFunc(a.Kernels, b.Kernels, m.kernel)
	case *Kernel:
		b, ok := b.(*Kernel)
		return ok && m.kernel(a, b)
	case []*Kernel:
		b, ok := b.([]*Kernel)
		return ok && slices.EqualFunc(a, b, m.kernel)
	case Stmt:
		b, ok := b.(Stmt)
		return ok && m.stmt(a, b)
	case Expr:
		b, ok := b.(Expr)
		return ok && m.expr(a, b)
	}
	return a == nil && b == nil
}

func (m *matcher) kernel(a, b *Kernel) bool {
	return a.Name == b.Name && a.Outputs == b.Outputs && a.GridExtent == b.GridExtent && a.Group == b.Group && a.Scratch == b.Scratch &&
		m.buffers(a.Params, b.Params) && m.vars(a.Scalars, b.Scalars) && (a.Grid == nil) == (b.Grid == nil) &&
		(a.Grid == nil || m.variable(a.Grid, b.Grid)) && m.stmt(a.Body, b.Body)
}

// pair notes that a stands for b, and reports whether that agrees with what was noted before.
func (m *matcher) pair(a, b any) (fresh, ok bool) {
	to, known := m.to[a]
	from, taken := m.from[b]
	if known || taken {
		return false, known && taken && to == b && from == a
	}
	m.to[a], m.from[b] = b, a
	return true, true
}

func (m *matcher) variable(a, b *Var) bool {
	_, ok := m.pair(a, b)
	return ok && a.Name == b.Name && a.DType == b.DType
}

func (m *matcher) buffer(a, b *Buffer) bool {
	fresh, ok := m.pair(a, b)
	if !fresh || !ok {
		return ok
	}
	return a.Name == b.Name && a.DType == b.DType && slices.Equal(a.Shape, b.Shape) && (a.Strides == nil) == (b.Strides == nil) &&
		slices.Equal(a.Strides, b.Strides) && a.Scope == b.Scope && sameFolding(a.Folding, b.Folding)
}

func sameFolding(a, b *Folding) bool {
	if a == nil || b == nil {
		return a == b
	}
	return slices.Equal(a.Width, b.Width) && slices.Equal(a.Height, b.Height) && slices.Equal(a.Layers, b.Layers)
}

func sameAttrs(a, b map[string]string) bool { return (a == nil) == (b == nil) && maps.Equal(a, b) }

func (m *matcher) buffers(a, b []*Buffer) bool { return slices.EqualFunc(a, b, m.buffer) }
func (m *matcher) vars(a, b []*Var) bool       { return slices.EqualFunc(a, b, m.variable) }
func (m *matcher) exprs(a, b []Expr) bool      { return slices.EqualFunc(a, b, m.expr) }

func (m *matcher) stmt(a, b Stmt) bool {
	switch a := a.(type) {
	case nil:
		return b == nil
	case *For:
		b, ok := b.(*For)
		return ok && m.expr(a.Min, b.Min) && m.expr(a.Extent, b.Extent) && m.variable(a.Var, b.Var) && a.Kind == b.Kind && a.Thread == b.Thread &&
			sameAttrs(a.Attrs, b.Attrs) && m.stmt(a.Body, b.Body)
	case *BlockRealize:
		b, ok := b.(*BlockRealize)
		return ok && m.exprs(a.Values, b.Values) && m.expr(a.Where, b.Where) && m.block(a.Block, b.Block)
	case *Store:
		b, ok := b.(*Store)
		return ok && m.buffer(a.Buffer, b.Buffer) && m.exprs(a.Indices, b.Indices) && m.expr(a.Value, b.Value)
	case *Seq:
		b, ok := b.(*Seq)
		return ok && slices.EqualFunc(a.Stmts, b.Stmts, m.stmt)
	case *If:
		b, ok := b.(*If)
		return ok && m.expr(a.Cond, b.Cond) && m.stmt(a.Then, b.Then) && m.stmt(a.Else, b.Else)
	case *While:
		b, ok := b.(*While)
		return ok && m.expr(a.Cond, b.Cond) && m.stmt(a.Body, b.Body)
	case *Let:
		b, ok := b.(*Let)
		return ok && m.expr(a.Value, b.Value) && m.variable(a.Var, b.Var) && m.stmt(a.Body, b.Body)
	case *Allocate:
		b, ok := b.(*Allocate)
		return ok && m.buffer(a.Buffer, b.Buffer) && sameAttrs(a.Attrs, b.Attrs) && m.stmt(a.Body, b.Body)
	case *Barrier:
		b, ok := b.(*Barrier)
		return ok && *a == *b
	case *Evaluate:
		b, ok := b.(*Evaluate)
		return ok && m.expr(a.Value, b.Value)
	}
	panic("tir: unknown statement")
}

func (m *matcher) block(a, b *Block) bool {
	iter := func(x, y IterVar) bool { return m.variable(x.Var, y.Var) && x.Extent == y.Extent && x.Kind == y.Kind }
	region := func(x, y Region) bool {
		return m.buffer(x.Buffer, y.Buffer) && slices.EqualFunc(x.Ranges, y.Ranges, func(x, y Range) bool {
			return m.expr(x.Min, y.Min) && m.expr(x.Extent, y.Extent)
		})
	}
	return a.Name == b.Name && a.Opaque == b.Opaque && sameAttrs(a.Attrs, b.Attrs) && slices.EqualFunc(a.Iters, b.Iters, iter) &&
		slices.EqualFunc(a.Reads, b.Reads, region) && slices.EqualFunc(a.Writes, b.Writes, region) && m.buffers(a.Allocs, b.Allocs) &&
		m.stmt(a.Init, b.Init) && m.stmt(a.Body, b.Body)
}

func (m *matcher) expr(a, b Expr) bool {
	switch a := a.(type) {
	case nil:
		return b == nil
	case *Var:
		b, ok := b.(*Var)
		return ok && m.variable(a, b)
	case *Int:
		b, ok := b.(*Int)
		return ok && *a == *b
	case *Float:
		b, ok := b.(*Float)
		return ok && a.DType == b.DType && (math.Float64bits(a.Value) == math.Float64bits(b.Value) || a.Value != a.Value && b.Value != b.Value)
	case *Binary:
		b, ok := b.(*Binary)
		return ok && a.Op == b.Op && m.expr(a.A, b.A) && m.expr(a.B, b.B)
	case *Not:
		b, ok := b.(*Not)
		return ok && m.expr(a.A, b.A)
	case *Select:
		b, ok := b.(*Select)
		return ok && m.expr(a.Cond, b.Cond) && m.expr(a.Then, b.Then) && m.expr(a.Else, b.Else)
	case *Cast:
		b, ok := b.(*Cast)
		return ok && a.DType == b.DType && m.expr(a.A, b.A)
	case *Load:
		b, ok := b.(*Load)
		return ok && m.buffer(a.Buffer, b.Buffer) && m.exprs(a.Indices, b.Indices)
	case *Call:
		b, ok := b.(*Call)
		return ok && a.Fn == b.Fn && m.exprs(a.Args, b.Args)
	case *Ramp:
		b, ok := b.(*Ramp)
		return ok && a.Lanes == b.Lanes && m.expr(a.Base, b.Base) && m.expr(a.Stride, b.Stride)
	case *Broadcast:
		b, ok := b.(*Broadcast)
		return ok && a.Lanes == b.Lanes && m.expr(a.A, b.A)
	}
	panic("tir: unknown expression")
}
