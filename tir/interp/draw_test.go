package interp_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/texel-ml/texel/tensor"
	"github.com/texel-ml/texel/tir"
	"github.com/texel-ml/texel/tir/interp"
	"github.com/texel-ml/texel/tir/tirtext"
)

func TestDraw(t *testing.T) {
	f, err := tirtext.Parse("f", `func f(A: float32[200], S: int8[200], U: uint16[200], B: bool[200], out C: float16[3], out D: int32[3], out E: bool[3]):
  block root():
    C[0] = 0.0_float16
`)
	require.NoError(t, err)
	args := interp.Draw{Whole: true, Output: 77}.Tensors(f.Params, f.Outputs)
	values := func(x *tensor.Tensor) (seen map[float64]bool) {
		seen = map[float64]bool{}
		w := tensor.Widen(x)
		for _, v := range w.F {
			seen[v] = true
		}
		for _, v := range w.I {
			seen[float64(v)] = true
		}
		return seen
	}
	signed := map[float64]bool{-3: true, -2: true, -1: true, 0: true, 1: true, 2: true, 3: true}
	for n, want := range []map[float64]bool{signed, signed, {0: true, 1: true, 2: true, 3: true}, {0: true, 1: true}, {77: true}, {77: true}, {1: true}} {
		require.Equal(t, want, values(args[n]), f.Params[n].Name)
		require.Equal(t, f.Params[n].DType, args[n].DType)
		require.Equal(t, tensor.Shape(f.Params[n].Shape), args[n].Shape)
	}
	require.Equal(t, args, interp.Draw{Whole: true, Output: 77}.Tensors(f.Params, f.Outputs))
	require.NotEqual(t, args[0], interp.Draw{Whole: true, Seed: 1}.Tensors(f.Params, f.Outputs)[0])
	require.Greater(t, len(values(interp.Draw{}.Tensors(f.Params, f.Outputs)[0])), 150, "of a normal distribution")
}

// TestDrawIsLegal has what elements steer: those inputs are 0, and conditions steer nothing.
func TestDrawIsLegal(t *testing.T) {
	f, err := tirtext.Parse("f", `func f(A: float32[40], I: int32[40], N: int64[40], K: int64[40], V: int64[40], W: int32[40], M: int32[40], out C: float32[40]):
  block root():
    block all() opaque:
      reads A[0 +: 40], I[0 +: 40], N[0 +: 40], K[0 +: 40], V[0 +: 40], W[0 +: 40], M[0 +: 40]
      writes C[0 +: 40]
      for i in range(0, 40):
        C[i] = A[int64(I[i])]
        for j in range(0, N[i]):
          C[K[j]] = 1.0
        let n = V[i]:
          C[n] = 2.0
        while W[i] > 0_int32:
          C[i] = 3.0
        if M[i] > 1_int32:
          C[i] = 4.0
`)
	require.NoError(t, err)
	args := interp.Draw{Code: []tir.Stmt{f.Body}}.Tensors(f.Params, f.Outputs)
	for n, b := range f.Params {
		switch zero := tensor.New(b.DType, b.Shape); b.Name {
		case "A", "M":
			require.NotEqual(t, zero, args[n], b.Name)
		default:
			require.Equal(t, zero, args[n], b.Name)
		}
	}
	require.NoError(t, interp.Run(t.Context(), f, args, interp.Options{}))
}
