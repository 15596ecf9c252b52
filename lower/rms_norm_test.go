package lower

import (
	"testing"

	"github.com/texel-ml/texel/relay"
	"github.com/texel-ml/texel/tensor"
)

// TestRMSNorm goes through axes, lengths that fill no vector, and element types.
func TestRMSNorm(t *testing.T) {
	var cases []opCase
	for _, d := range []tensor.DType{tensor.Float32, tensor.Float16, tensor.Float64} {
		for axis, n := range map[int]int{-1: 40, 0: 2, 1: 3} {
			cases = append(cases, opCase{op: "nn.rms_norm", attrs: &relay.RMSNormAttrs{Axis: axis, Epsilon: 1e-5}, in: one(typ(d, 2, 3, 40), typ(d, n))})
		}
	}
	for _, n := range []int{1, 7, 16, 33, 1000} {
		cases = append(cases, opCase{op: "nn.rms_norm", attrs: &relay.RMSNormAttrs{Axis: -1, Epsilon: 1e-3}, in: one(f32(5, n), f32(n))})
	}
	runCases(t, cases)
}
