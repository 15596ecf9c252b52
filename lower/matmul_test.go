package lower

import (
	"testing"

	"github.com/texel-ml/texel/relay"
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
