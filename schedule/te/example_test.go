package te_test

import (
	"context"
	"fmt"
	"math"

	"github.com/texel-ml/texel/schedule"
	"github.com/texel-ml/texel/schedule/te"
	"github.com/texel-ml/texel/tensor"
	"github.com/texel-ml/texel/tir"
	"github.com/texel-ml/texel/tir/interp"
)

// show runs what a schedule made on given inputs and prints its only output.
func show(s *schedule.Schedule, inputs ...[]float32) {
	if s.Err() != nil {
		fmt.Println(s.Err())
		return
	}
	f := s.Func()
	args := make([]*tensor.Tensor, len(f.Params))
	for n, b := range f.Params {
		args[n] = tensor.New(b.DType, b.Shape)
		if n < len(inputs) {
			copy(tensor.View[float32](args[n]), inputs[n])
		}
	}
	if err := interp.Run(context.Background(), f, args, interp.Options{}); err != nil {
		fmt.Println(err)
		return
	}
	out := args[len(args)-1]
	row := max(1, out.Shape[len(out.Shape)-1])
	for n, v := range tensor.View[float32](out) {
		fmt.Printf("%8.3f", v)
		if n%row == row-1 {
			fmt.Println()
		}
	}
}

// counting returns 0, step, 2·step, …
func counting(n int, step float32) []float32 {
	list := make([]float32, n)
	for i := range list {
		list[i] = float32(i) * step
	}
	return list
}

// A matrix product in blocks of 2 × 4, a row of each in a vector.
func Example_matmul() {
	const m, n, k = 4, 8, 3
	a, b := te.Placeholder("A", tensor.Float32, m, k), te.Placeholder("B", tensor.Float32, k, n)
	c := te.Sum("C", tensor.Float32, []int{m, n}, []int{k}, func(i, r []tir.Expr) tir.Expr {
		return tir.Times(a.At(i[0], r[0]), b.At(r[0], i[1]))
	})
	s := schedule.New(te.Func("matmul", []*te.Tensor{a, b}, []*te.Tensor{c}))

	l := s.Loops(s.Block("C")).Want(3)
	y, x := s.Split(l[0], 0, 2), s.Split(l[1], 0, 4)
	s.Reorder(y[0], x[0], l[2], y[1], x[1])
	s.DecomposeReduction(s.Block("C"), l[2])
	s.Vectorize(x[1])
	s.Unroll(y[1])
	show(s, counting(m*k, 1), counting(k*n, 0.1))
	// Output:
	//    4.000   4.300   4.600   4.900   5.200   5.500   5.800   6.100
	//   11.200  12.400  13.600  14.800  16.000  17.200  18.400  19.600
	//   18.400  20.500  22.600  24.700  26.800  28.900  31.000  33.100
	//   25.600  28.600  31.600  34.600  37.600  40.600  43.600  46.600
}

// A 3 × 3 convolution with a border of zeros. The padded image is inlined; the channels of the result are a vector.
func Example_conv2d() {
	const h, w, c, k, taps = 3, 4, 2, 4, 3
	x, weight := te.Placeholder("X", tensor.Float32, h, w, c), te.Placeholder("W", tensor.Float32, taps, taps, c, k)
	padded := te.Compute("padded", tensor.Float32, []int{h + 2, w + 2, c}, func(i []tir.Expr) tir.Expr {
		y, z := tir.Minus(i[0], tir.I(1)), tir.Minus(i[1], tir.I(1))
		inside := tir.All(tir.Within(y, 0, h), tir.Within(z, 0, w))
		return tir.Sel(inside, x.At(y, z, i[2]), tir.Const(tensor.Float32, 0))
	})
	conv := te.Sum("conv", tensor.Float32, []int{h, w, k}, []int{taps, taps, c}, func(i, r []tir.Expr) tir.Expr {
		return tir.Times(padded.At(tir.Plus(i[0], r[0]), tir.Plus(i[1], r[1]), r[2]), weight.At(r[0], r[1], r[2], i[2]))
	})
	s := schedule.New(te.Func("conv2d", []*te.Tensor{x, weight}, []*te.Tensor{conv}, padded))

	s.ComputeInline(s.Block("padded"))
	l := s.Loops(s.Block("conv")).Want(6)
	s.Reorder(l[0], l[1], l[3], l[4], l[5], l[2])
	s.Parallel(l[0])
	s.Vectorize(l[2])
	show(s, counting(h*w*c, 1), counting(taps*taps*c*k, 0.01))
	// Output:
	//   26.240  26.680  27.120  27.560
	//   43.040  43.820  44.600  45.380
	//   54.080  55.100  56.120  57.140
	//   36.160  36.920  37.680  38.440
	//   59.280  60.420  61.560  62.700
	//   89.400  91.290  93.180  95.070
	//  101.640 103.890 106.140 108.390
	//   64.560  66.180  67.800  69.420
	//   32.320  33.400  34.480  35.560
	//   45.440  47.180  48.920  50.660
	//   50.720  52.700  54.680  56.660
	//   29.440  30.840  32.240  33.640
}

// softmax returns the stages of the softmax of each row of x, the last of which is the result.
func softmax(x *te.Tensor) []*te.Tensor {
	rows, n := x.Shape()[0], x.Shape()[1]
	top := te.Max("top", x.DType(), []int{rows}, []int{n}, func(i, r []tir.Expr) tir.Expr { return x.At(i[0], r[0]) })
	exp := te.Compute("exp", x.DType(), x.Shape(), func(i []tir.Expr) tir.Expr {
		return tir.Exp.Of(tir.Minus(x.At(i...), top.At(i[0])))
	})
	sum := te.Sum("sum", x.DType(), []int{rows}, []int{n}, func(i, r []tir.Expr) tir.Expr { return exp.At(i[0], r[0]) })
	out := te.Compute("softmax", x.DType(), x.Shape(), func(i []tir.Expr) tir.Expr { return tir.Over(exp.At(i...), sum.At(i[0])) })
	return []*te.Tensor{top, exp, sum, out}
}

// The softmax of each row; all of a row is computed together.
func Example_softmax() {
	x := te.Placeholder("X", tensor.Float32, 3, 4)
	stages := softmax(x)
	s := schedule.New(te.Func("softmax", []*te.Tensor{x}, stages[3:], stages...))

	row := s.Loops(s.Block("softmax")).At(0)
	for _, name := range []string{"sum", "exp", "top"} {
		s.ComputeAt(s.Block(name), row)
	}
	s.Parallel(row)
	show(s, counting(12, 0.5))
	// Output:
	//    0.102   0.167   0.276   0.455
	//    0.102   0.167   0.276   0.455
	//    0.102   0.167   0.276   0.455
}

// One head of attention, softmax(Q·Kᵀ / √d)·V, where a place sees itself and those before it: the mask is the condition of
// the sum, so that half of the products are never computed.
func Example_attention() {
	const n, d = 4, 3
	q, k, v := te.Placeholder("Q", tensor.Float32, n, d), te.Placeholder("K", tensor.Float32, n, d), te.Placeholder("V", tensor.Float32, n, d)
	score := te.Sum("score", tensor.Float32, []int{n, n}, []int{d}, func(i, r []tir.Expr) tir.Expr {
		return tir.Times(q.At(i[0], r[0]), k.At(i[1], r[0]))
	})
	scaled := te.Compute("scaled", tensor.Float32, []int{n, n}, func(i []tir.Expr) tir.Expr {
		seen := tir.Le(i[1], i[0])
		return tir.Sel(seen, tir.Times(score.At(i...), tir.Const(tensor.Float32, 1/math.Sqrt(d))), tir.Lowest(tensor.Float32))
	})
	weights := softmax(scaled)
	out := te.Sum("out", tensor.Float32, []int{n, d}, []int{n}, func(i, r []tir.Expr) tir.Expr {
		return tir.Times(weights[3].At(i[0], r[0]), v.At(r[0], i[1]))
	}).Where(func(i, r []tir.Expr) tir.Expr { return tir.Le(r[0], i[0]) })
	stages := append(weights, score, scaled)
	s := schedule.New(te.Func("attention", []*te.Tensor{q, k, v}, []*te.Tensor{out}, stages...))

	s.ComputeInline(s.Block("scaled"))
	row := s.Loops(s.Block("out")).At(0)
	for _, name := range []string{"softmax", "sum", "exp", "top", "score"} {
		s.ComputeAt(s.Block(name), row)
	}
	s.Parallel(row)
	show(s, counting(n*d, 0.1), counting(n*d, 0.2), counting(n*d, 1))
	// Output:
	//    0.000   1.000   2.000
	//    1.807   2.807   3.807
	//    4.340   5.340   6.340
	//    7.549   8.549   9.549
}

// Adaptive average pooling of 7 × 5 to 3 × 2: the windows differ in size, so the sum runs over the largest one, as far as
// the window of the result reaches.
func Example_adaptiveAveragePooling() {
	const h, w, oh, ow = 7, 5, 3, 2
	x := te.Placeholder("X", tensor.Float32, h, w)
	from := func(i tir.Expr, in, out int) tir.Expr { // ⌊i·in / out⌋
		return tir.Bin(tir.FloorDiv, tir.Times(i, tir.I(in)), tir.I(out))
	}
	to := func(i tir.Expr, in, out int) tir.Expr { // ⌈(i + 1)·in / out⌉
		return tir.Bin(tir.FloorDiv, tir.Plus(tir.Times(tir.Plus(i, tir.I(1)), tir.I(in)), tir.I(out-1)), tir.I(out))
	}
	sum := te.Sum("sum", tensor.Float32, []int{oh, ow}, []int{(h+oh-1)/oh + 1, (w+ow-1)/ow + 1}, func(i, r []tir.Expr) tir.Expr {
		return x.At(tir.Plus(from(i[0], h, oh), r[0]), tir.Plus(from(i[1], w, ow), r[1]))
	}).Where(func(i, r []tir.Expr) tir.Expr {
		return tir.All(
			tir.Lt(tir.Plus(from(i[0], h, oh), r[0]), to(i[0], h, oh)),
			tir.Lt(tir.Plus(from(i[1], w, ow), r[1]), to(i[1], w, ow)))
	})
	mean := te.Compute("mean", tensor.Float32, []int{oh, ow}, func(i []tir.Expr) tir.Expr {
		count := tir.Times(tir.Minus(to(i[0], h, oh), from(i[0], h, oh)), tir.Minus(to(i[1], w, ow), from(i[1], w, ow)))
		return tir.Over(sum.At(i...), tir.As(tensor.Float32, count))
	})
	s := schedule.New(te.Func("pool", []*te.Tensor{x}, []*te.Tensor{mean}, sum))

	s.ComputeAt(s.Block("sum"), s.Loops(s.Block("mean")).At(1))
	s.Parallel(s.Fuse(s.Loops(s.Block("mean")).Slice()...))
	show(s, counting(h*w, 1))
	// Output:
	//    6.000   8.000
	//   16.000  18.000
	//   26.000  28.000
}

// A definition and the loops that it stands for.
func ExampleFunc() {
	x := te.Placeholder("X", tensor.Float32, 4, 8)
	place, most := te.ArgMax("argmax", tensor.Int32, tensor.Float32, []int{4}, []int{8}, func(i, r []tir.Expr) tir.Expr {
		return x.At(i[0], r[0])
	})
	f := te.Func("argmax", []*te.Tensor{x}, []*te.Tensor{place, most})
	fmt.Println(f.Name, len(f.Params), f.Outputs)
	// Output: argmax 3 2
}

// What is wrong with a definition is found when it is built.
func ExampleBuild() {
	a, b := te.Placeholder("A", tensor.Float32, 4), te.Placeholder("B", tensor.Float16, 4)
	c := te.Compute("C", tensor.Float32, []int{4}, func(i []tir.Expr) tir.Expr { return tir.Plus(a.At(i...), b.At(i...)) })
	_, err := te.Build("add", []*te.Tensor{a, b}, []*te.Tensor{c})
	fmt.Println(err)
	// Output: te: C: operands of + are float32 and float16, wanted one type
}
