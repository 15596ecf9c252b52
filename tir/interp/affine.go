package interp

import (
	"github.com/texel-ml/texel/tensor"
	"github.com/texel-ml/texel/tir"
)

// affine is an index: base + Σ k·variable + rest. Most have no rest.
type affine struct {
	base  int64
	terms []term
	rest  func(*frame) int64
}

type term struct {
	slot int
	k    int64
}

// value evaluates one lane of the index.
func (a *affine) value(f *frame) int64 {
	v := a.base
	for _, t := range a.terms {
		v += t.k * f.ints[t.slot]
	}
	if a.rest != nil {
		v += a.rest(f)
	}
	return v
}

// affine compiles an index.
func (c *compiler) affine(e tir.Expr) affine {
	var a affine
	if !c.collect(&a, e, 1) {
		return affine{rest: c.int(e)}
	}
	return a
}

// collect adds k·e to a, and reports whether e is made of sums and products with constants alone.
func (c *compiler) collect(a *affine, e tir.Expr, k int64) bool {
	switch n := e.(type) {
	case *tir.Int:
		a.base += k * n.Value
		return n.DType == tensor.Int64
	case *tir.Var:
		slot, ok := c.vars[n]
		if !ok || n.DType != tensor.Int64 {
			return false
		}
		a.terms = append(a.terms, term{slot, k})
		return true
	case *tir.Binary:
		switch n.Op {
		case tir.Add:
			return c.collect(a, n.A, k) && c.collect(a, n.B, k)
		case tir.Sub:
			return c.collect(a, n.A, k) && c.collect(a, n.B, -k)
		case tir.Mul:
			if x, ok := n.B.(*tir.Int); ok && x.DType == tensor.Int64 {
				return c.collect(a, n.A, k*x.Value)
			}
			if x, ok := n.A.(*tir.Int); ok && x.DType == tensor.Int64 {
				return c.collect(a, n.B, k*x.Value)
			}
		}
	}
	return false
}
