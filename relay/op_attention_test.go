package relay

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/texel-ml/texel/diag"
	"github.com/texel-ml/texel/tensor"
)

// TestAttentionRefuses goes through operands that do not fit.
func TestAttentionRefuses(t *testing.T) {
	op := Core().Lookup("nn.attention")
	f := func(shape ...int) *TensorType { return &TensorType{shape, tensor.Float32} }
	for message, types := range map[string][]Type{
		"wanted three matrices":                      {f(3), f(5, 4), f(5, 2), f()},
		"queries of 4 elements, 5 keys of 3":         {f(3, 4), f(5, 3), f(5, 2), f()},
		"4 values":                                   {f(3, 4), f(5, 4), f(4, 2), f()},
		"no keys in (0, 4)":                          {f(3, 4), f(0, 4), f(0, 2), f()},
		"(2, 3, 4) and (3, 5, 4) do not":             {f(2, 3, 4), f(3, 5, 4), f(5, 2), f()},
		"(2,) of v does not broadcast to (1,)":       {f(1, 3, 4), f(5, 4), f(2, 5, 2), f()},
		"(2, 3, 5) of mask does not broadcast to (3": {f(3, 4), f(5, 4), f(5, 2), f(2, 3, 5)},
		"operand mask has element type float64":      {f(3, 4), f(5, 4), f(5, 2), &TensorType{tensor.Shape{}, tensor.Float64}},
		"wanted a floating-point type": {&TensorType{tensor.Shape{3, 4}, tensor.Int32}, &TensorType{tensor.Shape{5, 4}, tensor.Int32},
			&TensorType{tensor.Shape{5, 2}, tensor.Int32}, &TensorType{tensor.Shape{}, tensor.Int32}},
	} {
		_, err := op.Infer(&Site{Op: op, Types: types, Attrs: op.NewAttrs()})
		require.ErrorIs(t, err, diag.ErrInvalid)
		require.ErrorContains(t, err, message)
	}
}

// TestAttentionType has operands as they are and turned, and batch axes that broadcast.
func TestAttentionType(t *testing.T) {
	op := Core().Lookup("nn.attention")
	f := func(shape ...int) *TensorType { return &TensorType{shape, tensor.Float32} }
	for _, c := range []struct {
		attrs AttentionAttrs
		types []Type
		want  *TensorType
	}{
		{AttentionAttrs{}, []Type{f(3, 4), f(5, 4), f(5, 2), f()}, f(3, 2)},
		{AttentionAttrs{TransposeQ: true, TransposeK: true, TransposeV: true}, []Type{f(4, 3), f(4, 5), f(2, 5), f(3, 1)}, f(3, 2)},
		{AttentionAttrs{}, []Type{f(7, 1, 3, 4), f(6, 5, 4), f(6, 5, 2), f(7, 1, 1, 5)}, f(7, 6, 3, 2)},
		{AttentionAttrs{}, []Type{f(0, 4), f(5, 4), f(5, 2), f()}, f(0, 2)},
	} {
		got, err := op.Infer(&Site{Op: op, Types: c.types, Attrs: &c.attrs})
		require.NoError(t, err)
		require.Equal(t, c.want.String(), got.String())
	}
}
