package lower

import (
	"fmt"

	"github.com/texel-ml/texel/relay"
	"github.com/texel-ml/texel/tensor"
	"github.com/texel-ml/texel/tir"
)

// The parts of stages that are written as statements.

// stored returns operand i as a tensor in memory, which a statement may read anywhere.
func (s *Site) stored(i int) Operand {
	return operandOf(s.Tensor(i), s.In[i].DType)
}

// variable is a value that statements change.
type variable struct{ buf *tir.Buffer }

func register(name string, d tensor.DType) variable {
	return variable{&tir.Buffer{Name: name, DType: d, Shape: []int{1}, Scope: tir.Local}}
}

func (v variable) get() tir.Expr { return &tir.Load{Buffer: v.buf, Indices: []tir.Expr{tir.I(0)}} }

func (v variable) set(e tir.Expr) tir.Stmt {
	return &tir.Store{Buffer: v.buf, Indices: []tir.Expr{tir.I(0)}, Value: e}
}

// temporary returns an array that lives as long as one run of a statement.
func temporary(name string, d tensor.DType, shape ...int) *tir.Buffer {
	return &tir.Buffer{Name: name, DType: d, Shape: shape, Scope: tir.Scratch}
}

func load(b *tir.Buffer, idx ...tir.Expr) tir.Expr { return &tir.Load{Buffer: b, Indices: idx} }

func store(b *tir.Buffer, value tir.Expr, idx ...tir.Expr) tir.Stmt {
	return &tir.Store{Buffer: b, Indices: idx, Value: value}
}

// loop runs body for each of n values.
func loop(name string, n tir.Expr, body func(i tir.Expr) tir.Stmt) tir.Stmt {
	v := tir.NewVar(name)
	return &tir.For{Var: v, Min: tir.I(0), Extent: n, Body: body(v)}
}

// nest runs body for each index of shape in row-major order.
func nest(shape tensor.Shape, body func(i []tir.Expr) tir.Stmt) tir.Stmt {
	vars := make([]*tir.Var, len(shape))
	idx := make([]tir.Expr, len(shape))
	for n := range shape {
		vars[n] = tir.NewVar(fmt.Sprintf("n%d", n))
		idx[n] = vars[n]
	}
	st := body(idx)
	for n := len(shape) - 1; n >= 0; n-- {
		st = &tir.For{Var: vars[n], Min: tir.I(0), Extent: tir.I(shape[n]), Body: st}
	}
	return st
}

// when runs then where cond holds.
func when(cond tir.Expr, then ...tir.Stmt) tir.Stmt {
	return &tir.If{Cond: cond, Then: tir.Block1(then...)}
}

// opaque1 is Opaque for the operator's only result.
func (s *Site) opaque1(ins []Operand, temp []*tir.Buffer, body func(out *tir.Buffer) tir.Stmt) ([]Operand, error) {
	return s.Opaque([]*relay.TensorType{s.Out()}, ins, temp, func(o []*tir.Buffer) tir.Stmt { return body(o[0]) }), nil
}
