package lower

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/texel-ml/texel/target"
	"github.com/texel-ml/texel/tir/tirtext"
)

func TestGPUPlain(t *testing.T) {
	pocl, err := target.Parse("pocl")
	require.NoError(t, err)
	r, err := Func(convCase{1, 14, 14, 8, 24, 3, 1, 1, 1, true}.function(t, 8), "conv", Core(), pocl, nil)
	require.NoError(t, err)
	require.Equal(t, "gpu-plain", r.Rule)
	text := tirtext.Print(r.Func)
	require.NotContains(t, text, "alloc conv2d_1: float32[1, 14, 14, 24]\n", "the sum stays in the work-item")
	require.Equal(t, 1, strings.Count(text, `thread="blockIdx.x"`))
	require.Equal(t, 1, strings.Count(text, `thread="threadIdx.x"`))
	require.Contains(t, text, "alloc conv2d_1: float32[1, 14, 14, 24] local")
}
