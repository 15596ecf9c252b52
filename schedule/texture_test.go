package schedule_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/texel-ml/texel/schedule"
	"github.com/texel-ml/texel/schedule/te"
	"github.com/texel-ml/texel/tensor"
	"github.com/texel-ml/texel/tir"
	"github.com/texel-ml/texel/tir/tirtext"
)

// scaled is Y = 2·(X + 1) over a blocked tensor.
func scaled(lanes int) *tir.Func {
	x := te.Placeholder("X", tensor.Float32, 1, 3, 5, 7, lanes)
	t := te.Compute("T", tensor.Float32, x.Shape(), func(i []tir.Expr) tir.Expr { return tir.Plus(x.At(i...), tir.Const(tensor.Float32, 1)) })
	y := te.Compute("Y", tensor.Float32, x.Shape(), func(i []tir.Expr) tir.Expr { return tir.Times(t.At(i...), tir.Const(tensor.Float32, 2)) })
	return te.Func("scaled", []*te.Tensor{x}, []*te.Tensor{y}, t)
}

// The names of foldings are scopes; the buffer says which axes make width and height, and the trace replays.
func TestTextureScopes(t *testing.T) {
	for scope, fold := range map[tir.Scope]string{
		"global.texture": "texture fold [3] [0, 1, 2] []", "global.texture-nhwc": "texture fold [2, 3] [0, 1] []", "global.texture-weight": "texture fold [1, 2, 3] [0] []",
	} {
		s := schedule.New(scaled(4))
		s.CacheRead(s.Block("T"), 0, scope)
		s.SetScope(s.Block("T"), scope)
		s.CacheWrite(s.Block("Y"), scope)
		require.NoError(t, s.Err())
		text := tirtext.Print(s.Func())
		for _, b := range []string{"X_texture", "T", "Y_texture"} {
			require.Contains(t, text, "alloc "+b+": float32[1, 3, 5, 7, 4] "+fold)
		}
		trace, err := schedule.ParseTrace("trace", s.Trace().String())
		require.NoError(t, err)
		again := schedule.New(scaled(4))
		require.NoError(t, again.Replay(trace))
		require.Equal(t, text, tirtext.Print(again.Func()))
	}
}
