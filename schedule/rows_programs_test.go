package schedule_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/texel-ml/texel/schedule/te"
	"github.com/texel-ml/texel/tensor"
	"github.com/texel-ml/texel/tir"
	"github.com/texel-ml/texel/tir/tirtext"
)

// im2col is a convolution with a window of 3 × 3 and a border of one pixel as a product of matrices: a row of col for each
// channel and tap, a column for each pixel.
//
//	col[(c, ky, kx), (y, x)] = X[c, y + ky - 1, x + kx - 1], and 0 at the border
//	Y[k, (y, x)]             = Σ_q W[k, q]·col[q, (y, x)]
func im2col(in, out, height, width int) *tir.Func {
	x := te.Placeholder("X", tensor.Float32, in, height, width)
	w := te.Placeholder("W", tensor.Float32, out, in*9)
	div, mod := func(e tir.Expr, n int) tir.Expr { return tir.Bin(tir.FloorDiv, e, tir.I(n)) }, func(e tir.Expr, n int) tir.Expr { return tir.Bin(tir.FloorMod, e, tir.I(n)) }
	col := te.Compute("col", tensor.Float32, []int{in * 9, height * width}, func(i []tir.Expr) tir.Expr {
		q, p := i[0], i[1]
		row := tir.Minus(tir.Plus(div(p, width), mod(div(q, 3), 3)), tir.I(1))
		column := tir.Minus(tir.Plus(mod(p, width), mod(q, 3)), tir.I(1))
		return tir.Sel(tir.All(tir.Within(row, 0, height), tir.Within(column, 0, width)), x.At(div(q, 9), row, column), tir.Const(tensor.Float32, 0))
	})
	y := te.Sum("Y", tensor.Float32, []int{out, height * width}, []int{in * 9}, func(i, r []tir.Expr) tir.Expr {
		return tir.Times(w.At(i[0], r[0]), col.At(r[0], i[1]))
	})
	return te.Func("conv2d", []*te.Tensor{x, w}, []*te.Tensor{y}, col)
}

// square is C[i, j] = Σ_k A[i, k]·B[k, j] with as many columns as rows.
func square(n, depth int) *tir.Func {
	a, b := te.Placeholder("A", tensor.Float32, n, depth), te.Placeholder("B", tensor.Float32, depth, n)
	c := te.Sum("C", tensor.Float32, []int{n, n}, []int{depth}, func(i, r []tir.Expr) tir.Expr {
		return tir.Times(a.At(i[0], r[0]), b.At(r[0], i[1]))
	})
	return te.Func("matmul", []*te.Tensor{a, b}, []*te.Tensor{c})
}

// adaptivePool is the mean of windows that cut each channel's rows and columns in parts, as even as can be: of rows that is
// window i from ⌊i·height/rows⌋ to ⌈(i + 1)·height/rows⌉.
func adaptivePool(channels, height, width, rows, columns int) *tir.Func {
	begin := func(i tir.Expr, in, out int) tir.Expr {
		return tir.Bin(tir.FloorDiv, tir.Times(i, tir.I(in)), tir.I(out))
	}
	length := func(i tir.Expr, in, out int) tir.Expr {
		end := tir.Bin(tir.FloorDiv, tir.Plus(tir.Times(i, tir.I(in)), tir.I(in+out-1)), tir.I(out))
		return tir.Minus(end, begin(i, in, out))
	}
	longest := func(in, out int) int {
		most := 0
		for i := range out {
			most = max(most, (i*in+in+out-1)/out-i*in/out)
		}
		return most
	}
	x := te.Placeholder("X", tensor.Float32, channels, height, width)
	shape := []int{channels, rows, columns}
	sum := te.Sum("sum", tensor.Float32, shape, []int{longest(height, rows), longest(width, columns)}, func(i, r []tir.Expr) tir.Expr {
		return x.At(i[0], tir.Plus(begin(i[1], height, rows), r[0]), tir.Plus(begin(i[2], width, columns), r[1]))
	})
	if height%rows != 0 || width%columns != 0 {
		sum.Where(func(i, r []tir.Expr) tir.Expr {
			return tir.All(tir.Lt(r[0], length(i[1], height, rows)), tir.Lt(r[1], length(i[2], width, columns)))
		})
	}
	mean := te.Compute("mean", tensor.Float32, shape, func(i []tir.Expr) tir.Expr {
		count := tir.Times(length(i[1], height, rows), length(i[2], width, columns))
		return tir.Over(sum.At(i...), tir.As(tensor.Float32, count))
	})
	return te.Func("pool", []*te.Tensor{x}, []*te.Tensor{mean}, sum)
}

// TestRowPrograms holds the programs of the pages against their definitions; go test -update writes them.
func TestRowPrograms(t *testing.T) {
	programs := map[string]*tir.Func{
		"im2col/conv2d":              im2col(64, 64, 56, 56),
		"im2col/small":               im2col(3, 16, 8, 56),
		"adaptive-pooling/global-7":  adaptivePool(1024, 7, 7, 1, 1),
		"adaptive-pooling/global-56": adaptivePool(64, 56, 56, 1, 1),
		"adaptive-pooling/parts":     adaptivePool(8, 35, 44, 3, 4),
		"output-split/small":         square(37, 5),
	}
	for _, n := range []int{112, 113, 127, 128, 131, 132} {
		programs[fmt.Sprintf("output-split/matmul-%d", n)] = square(n, 256)
	}
	for name, f := range programs {
		path := filepath.Join(pages, name+".tir")
		if flag.Lookup("update").Value.String() == "true" {
			require.NoError(t, os.WriteFile(path, []byte(tirtext.Print(f)), 0o644))
		}
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		require.Equal(t, tirtext.Print(f), string(text), "%s", path)
	}
}
