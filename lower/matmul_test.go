package lower

import (
	"testing"

	"github.com/texel-ml/texel/relay"
	"github.com/texel-ml/texel/tensor"
)

func TestMatmul(t *testing.T) {
	var cases []opCase
	for _, ta := range []bool{false, true} {
		for _, tb := range []bool{false, true} {
			for _, m := range [][3]int{{40, 20, 40}, {4, 5, 9}, {17, 3, 33}, {1, 64, 40}, {33, 6, 128}} {
				a, b := []int{m[0], m[1]}, []int{m[1], m[2]}
				if ta {
					a[0], a[1] = a[1], a[0]
				}
				if tb {
					b[0], b[1] = b[1], b[0]
				}
				attrs := &relay.MatmulAttrs{TransposeA: ta, TransposeB: tb}
				cases = append(cases,
					opCase{op: "nn.matmul", attrs: attrs, in: one(f32(a...), f32(b...))},
					opCase{op: "nn.batch_matmul", attrs: attrs, in: one(f32(append([]int{3}, a...)...), f32(append([]int{3}, b...)...))},
					opCase{op: "nn.matmul", attrs: attrs, in: one(f32(append([]int{2, 1}, a...)...), f32(append([]int{2}, b...)...))})
			}
		}
	}
	cases = append(cases,
		opCase{op: "nn.dense", attrs: &relay.DenseAttrs{}, in: one(f32(20, 30), f32(40, 30))},
		opCase{op: "nn.dense", attrs: &relay.DenseAttrs{}, in: one(f32(2, 1, 30), f32(40, 30))},
		opCase{op: "nn.matmul", attrs: &relay.MatmulAttrs{}, in: one(f32(20, 0), f32(0, 40))})
	runCases(t, cases)
}

// TestHalfSums has sums of 4,096 ones in float16 and bfloat16: their parts are held in float32, or they would stop at 2,048.
func TestHalfSums(t *testing.T) {
	ones := func(_ int, w *tensor.Wide) {
		for i := range w.F {
			w.F[i] = 1
		}
	}
	conv := &relay.ConvAttrs{Strides: []int{1, 1}, Padding: []int{0, 0, 0, 0}, Dilation: []int{1, 1}, Groups: 1, DataLayout: "NHWC",
		KernelLayout: "OHWI16o"}
	var cases []opCase
	for _, d := range []tensor.DType{tensor.Float16, tensor.BFloat16} {
		cases = append(cases,
			opCase{op: "nn.dense", attrs: &relay.DenseAttrs{}, in: one(typ(d, 2, 4096), typ(d, 3, 4096)), fill: ones},
			opCase{op: "nn.dense", attrs: &relay.DenseAttrs{WeightLayout: "NK16n"}, in: one(typ(d, 2, 4096), typ(d, 1, 4096, 16)), fill: ones},
			opCase{op: "nn.matmul", attrs: &relay.MatmulAttrs{}, in: one(typ(d, 2, 4096), typ(d, 4096, 3)), fill: ones},
			opCase{op: "nn.conv2d", attrs: conv, in: one(typ(d, 1, 2, 2, 1024), typ(d, 1, 2, 2, 1024, 16)), fill: ones})
	}
	runCases(t, cases)
}
