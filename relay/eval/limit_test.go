package eval_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/texel-ml/texel/diag"
	"github.com/texel-ml/texel/relay"
	"github.com/texel-ml/texel/relay/eval"
	"github.com/texel-ml/texel/tensor"
)

// A value that the memory of no machine holds is refused before it is made.
func TestLargeValues(t *testing.T) {
	one := relay.NewConstant(tensor.Of(tensor.Float32, tensor.Shape{}, float32(1)), "", diag.Pos{})
	c, err := relay.NewCall(relay.Core().Lookup("full"), []relay.Expr{one}, &relay.FullAttrs{Shape: []int{1 << 40}, DType: tensor.Float32}, diag.Pos{})
	require.NoError(t, err)
	_, err = eval.Run(context.Background(), relay.NewFunction(nil, c, false, nil, diag.Pos{}), nil)
	require.EqualError(t, err, "eval: full: the value has 1099511627776 elements; the reference holds at most 2147483648")
	require.ErrorIs(t, err, diag.ErrUnsupported)
}
