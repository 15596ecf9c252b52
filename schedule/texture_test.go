package schedule_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/texel-ml/texel/diag"
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

func TestTextureAndBindRefuse(t *testing.T) {
	for want, apply := range map[string]func(s *schedule.Schedule){
		"cache_read: global.texture: the buffer cannot be there: texture: float32: no texel holds 3 elements": func(s *schedule.Schedule) { s.CacheRead(s.Block("T"), 0, "global.texture") },
		"cache_write: texture: a texture needs a folding; wanted one of [global.texture":                      func(s *schedule.Schedule) { s.CacheWrite(s.Block("T"), tir.Texture) },
		"set_scope: global.texture-weight: the buffer cannot be there":                                        func(s *schedule.Schedule) { s.SetScope(s.Block("T"), "global.texture-weight") },
		"bind: warpIdx.x: no such grid axis, wanted one of blockIdx.x":                                        func(s *schedule.Schedule) { s.Bind(s.Loops(s.Block("T"))[1], "warpIdx.x") },
		"loop i1 of the same nest is bound to threadIdx.x already": func(s *schedule.Schedule) {
			l := s.Loops(s.Block("T"))
			s.Bind(l[1], "threadIdx.x")
			s.Bind(l[2], "threadIdx.x")
		},
		"loop i2 of the same nest is bound to blockIdx.y already": func(s *schedule.Schedule) {
			l := s.Loops(s.Block("T"))
			s.Bind(l[2], "blockIdx.y")
			s.Bind(l[1], "blockIdx.y")
		},
		"split: i1: is bound to blockIdx.x; split it first, then bind its parts": func(s *schedule.Schedule) {
			l := s.Loops(s.Block("T"))
			s.Bind(l[1], "blockIdx.x")
			s.Split(l[1], 0, 2)
		},
		"fuse: i2: is bound to threadIdx.x; fuse loops first, then bind": func(s *schedule.Schedule) {
			l := s.Loops(s.Block("T"))
			s.Bind(l[2], "threadIdx.x")
			s.Fuse(l[1], l[2])
		},
	} {
		s := schedule.New(scaled(3))
		apply(s)
		require.ErrorIs(t, s.Err(), diag.ErrInvalid, want)
		require.ErrorContains(t, s.Err(), want)
	}
	s := schedule.New(reluOfProduct())
	s.Bind(s.Loops(s.Block("C"))[2], "threadIdx.x")
	require.ErrorContains(t, s.Err(), "bind: r0: drives the reduce variable r0 of block C; wanted only spatial ones")
}
