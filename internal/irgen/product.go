package irgen

import (
	"github.com/texel-ml/texel/schedule/te"
	"github.com/texel-ml/texel/tensor"
	"github.com/texel-ml/texel/tir"
)

// Product makes a matrix product with an epilogue, of float32 or of bytes that are summed up in int32: what tensor instructions
// are for.
func Product(d Draw) *tir.Func {
	in, sum := tensor.Float32, tensor.Float32
	if d.IntN(2) == 1 {
		in, sum = tensor.Int8, tensor.Int32
	}
	m, n, k := oneOf(d, 2, 1, 3), oneOf(d, 16, 32, 17), oneOf(d, 4, 8, 5)
	a, b := te.Placeholder("A", in, m, k), te.Placeholder("B", in, k, n)
	wide := func(e tir.Expr) tir.Expr {
		if in == sum {
			return e
		}
		return tir.As(sum, e)
	}
	c := te.Sum("C", sum, []int{m, n}, []int{k}, func(i, r []tir.Expr) tir.Expr {
		return tir.Times(wide(a.At(i[0], r[0])), wide(b.At(r[0], i[1])))
	})
	y := te.Compute("Y", sum, []int{m, n}, func(i []tir.Expr) tir.Expr { return tir.Bin(tir.Max, c.At(i...), tir.Const(sum, 0)) })
	return te.Func("product", []*te.Tensor{a, b}, []*te.Tensor{y}, c)
}
