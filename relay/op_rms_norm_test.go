package relay

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/texel-ml/texel/diag"
	"github.com/texel-ml/texel/tensor"
)

// TestRMSNormRefuses goes through operands that do not fit.
func TestRMSNormRefuses(t *testing.T) {
	op := Core().Lookup("nn.rms_norm")
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
