package texel

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/texel-ml/texel/diag"
	"github.com/texel-ml/texel/relay"
	"github.com/texel-ml/texel/tensor"
)

// Elements that are equal have no variance, and what is left of them is the rounding of their mean, times 1/√ε. The bound is of
// that box; of data that varies, it is as narrow as a few roundings.
func TestNormsOfEqualElements(t *testing.T) {
	for _, c := range []struct {
		name  string
		attrs any
		shape tensor.Shape
		extra int // operands behind data
	}{
		{"nn.layer_norm", &relay.NormAttrs{Axis: 1, Epsilon: 1e-6, Center: true, Scale: true}, tensor.Shape{2, 512, 16}, 512},
		{"nn.instance_norm", &relay.NormAttrs{Axis: 1, Epsilon: 1e-6, Center: true, Scale: true}, tensor.Shape{2, 4, 16, 16}, 4},
		{"nn.group_norm", &relay.GroupNormAttrs{NumGroups: 2, Axis: 1, Epsilon: 1e-6, Center: true, Scale: true}, tensor.Shape{2, 4, 8, 8}, 4},
		{"nn.rms_norm", &relay.RMSNormAttrs{Axis: -1, Epsilon: 1e-6}, tensor.Shape{4, 512}, 512},
	} {
		t.Run(c.name, func(t *testing.T) {
			ones := make([]float32, c.extra)
			for i := range ones {
				ones[i] = 1
			}
			g := newGraph(t)
			x := g.typed("x", tensor.Float32, c.shape...)
			args := []relay.Expr{x, relay.NewConstant(tensor.Of(tensor.Float32, tensor.Shape{c.extra}, ones...), "", diag.Pos{})}
			if c.name != "nn.rms_norm" {
				args = append(args, relay.NewConstant(tensor.New(tensor.Float32, tensor.Shape{c.extra}), "", diag.Pos{}))
			}
			call := g.call(c.name, c.attrs, args...)
			bounds := map[bool]float64{}
			for _, equal := range []bool{true, false} {
				data := make([]float32, c.shape.Elems())
				for i := range data {
					data[i] = 48.7
					if !equal {
						data[i] += float32(i*7919%101) / 10
					}
				}
				m := g.module(call, []string{"y"}, x)
				_, report := compared(t, m, "cpu", map[string]*tensor.Tensor{"x": tensor.Of(tensor.Float32, c.shape, data...)})
				require.Zero(t, report.Layers[0].Wrong, report)
				bounds[equal] = report.Layers[0].Bound
			}
			require.Less(t, bounds[false], 1e-3)
			if c.name != "nn.rms_norm" { // which subtracts nothing
				require.Greater(t, bounds[true], 10*bounds[false])
			}
		})
	}
}
