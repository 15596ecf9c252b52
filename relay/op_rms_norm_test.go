package relay

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/texel-ml/texel/diag"
	"github.com/texel-ml/texel/tensor"
)

// TestRMSNorm holds the reference to numbers computed by hand, and refuses what does not fit.
func TestRMSNorm(t *testing.T) {
	op := Core().Lookup("nn.rms_norm")
	x, gamma := f32(dims(2, 2), 3, 4, 0, -2), vec(2, 10)
	y, err := op.Eval(&EvalSite{Op: op, Args: []Value{x, gamma}, Attrs: &RMSNormAttrs{Axis: -1}, Type: &TensorType{x.Shape, x.DType}})
	require.NoError(t, err)
	first, second := math.Sqrt(12.5), math.Sqrt(2)
	require.InDeltaSlice(t, []float64{6 / first, 40 / first, 0, -20 / second}, y.(*tensor.Wide).F, 1e-12)

	for message, types := range map[string][]Type{
		"wanted (2,), the extent of axis 1": {&TensorType{tensor.Shape{3, 2}, tensor.Float32}, &TensorType{tensor.Shape{3}, tensor.Float32}},
		"wanted a floating-point type":      {&TensorType{tensor.Shape{3, 2}, tensor.Int32}, &TensorType{tensor.Shape{2}, tensor.Int32}},
		"axis -1 is outside rank 0":         {&TensorType{tensor.Shape{}, tensor.Float32}, &TensorType{tensor.Shape{}, tensor.Float32}},
	} {
		_, err := op.Infer(&Site{Op: op, Types: types, Attrs: op.NewAttrs()})
		require.ErrorIs(t, err, diag.ErrInvalid)
		require.ErrorContains(t, err, message)
	}
}
