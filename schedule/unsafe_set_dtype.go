package schedule

import (
	"github.com/texel-ml/texel/tensor"
	"github.com/texel-ml/texel/tir"
)

// UnsafeSetDType changes the element type of the buffer that block b writes, its n-th: what is stored is converted to
// it, what is loaded is converted back.
//
//	for i: B[i] = f(A[i])         for i: B[i] = float16(f(A[i]))
//	for i: C[i] = g(B[i])    →    for i: C[i] = g(float32(B[i]))
//
// It is the one primitive that may change results, by rounding: what is proven of other steps is not of it. The buffer must
// be an intermediate one, and no opaque block may touch it.
func (s *Schedule) UnsafeSetDType(b Block, n int, d tensor.DType) {
	const step = "unsafe_set_dtype"
	p := s.block(step, b)
	if p == nil {
		return
	}
	if n < 0 || n >= len(p.realize.Block.Writes) {
		s.refuse(step, b.name, "writes %d regions, wanted number %d of them", len(p.realize.Block.Writes), n)
		return
	}
	from := p.realize.Block.Writes[n].Buffer
	for _, q := range s.fn.Params {
		if q == from {
			s.refuse(step, b.name, "writes the parameter %s; wanted an intermediate buffer (see cache_write)", from.Name)
			return
		}
	}
	if d.IsFloat() != from.DType.IsFloat() {
		s.refuse(step, b.name, "%s holds %v; wanted a type of the same kind, found %v", from.Name, from.DType, d)
		return
	}
	for _, c := range realizesIn(s.fn.Root().Body) {
		if c.realize.Block.Opaque && (reads(c.realize.Block, from) || writes(c.realize.Block, from)) {
			s.refuse(step, b.name, "block %s touches %s and is opaque", c.realize.Block.Name, from.Name)
			return
		}
	}
	to := *from
	to.DType = d
	m := &tir.Mapper{
		Expr: func(e tir.Expr) tir.Expr {
			if l, ok := e.(*tir.Load); ok && l.Buffer == from {
				return &tir.Cast{DType: from.DType, A: &tir.Load{Buffer: &to, Indices: l.Indices}}
			}
			return e
		},
		Stmt: func(st tir.Stmt) tir.Stmt {
			switch x := st.(type) {
			case *tir.Store:
				if x.Buffer == from {
					return &tir.Store{Buffer: &to, Indices: x.Indices, Value: &tir.Cast{DType: d, A: x.Value}}
				}
			case *tir.BlockRealize:
				return &tir.BlockRealize{Values: x.Values, Where: x.Where, Block: x.Block.WithBuffer(from, &to)}
			}
			return st
		},
	}
	allocs := append([]*tir.Buffer{}, s.fn.Root().Allocs...)
	for i, a := range allocs {
		if a == from {
			allocs[i] = &to
		}
	}
	s.setRoot(m.MapStmt(s.fn.Root().Body), allocs)
	s.record(step, operands(b, n, d.String()))
}

func unsafeSetDType(c *Call) {
	d, err := tensor.ParseDType(c.Text(2))
	if err != nil {
		c.Refuse("%q is no element type", c.Text(2))
		return
	}
	c.S.UnsafeSetDType(c.Block(0), c.Number(1), d)
}
