package opencl

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/texel-ml/texel/diag"
	"github.com/texel-ml/texel/internal/golden"
	"github.com/texel-ml/texel/internal/numtest"
	"github.com/texel-ml/texel/target"
	"github.com/texel-ml/texel/tensor"
	"github.com/texel-ml/texel/tir"
	"github.com/texel-ml/texel/tir/tirtext"
	"github.com/texel-ml/texel/tir/transform"
)

func kernels(t *testing.T, folder string, f func(t *testing.T, path string, k *tir.Kernel)) {
	files, err := filepath.Glob(filepath.Join("testdata", folder, "*.txtar"))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, path := range files {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar"), func(t *testing.T) {
			k, err := tirtext.ParseKernel(path, golden.In(t, path, "in.tir"))
			require.NoError(t, err)
			f(t, path, k)
		})
	}
}

// Every golden is also run and compared with the interpreter.
func TestEmit(t *testing.T) {
	kernels(t, "emit", func(t *testing.T, path string, k *tir.Kernel) {
		out, err := Emit(k, pocl(t))
		require.NoError(t, err)
		golden.Check(t, path, golden.Section{Name: "out.cl", Text: out.Source})
		args := map[*tir.Buffer]*tensor.Tensor{}
		for _, b := range k.Params[:len(k.Params)-k.Outputs] {
			args[b] = ramp(b.DType, b.Shape...)
		}
		var scalars []int64
		for i := range k.Scalars {
			scalars = append(scalars, []int64{40, 3}[i])
		}
		agree(t, []*tir.Kernel{k}, nil, args, numtest.Tolerance{Rel: 2e-3, Abs: 1e-6}, scalars...)
	})
}

func TestRefuse(t *testing.T) {
	kernels(t, "refuse", func(t *testing.T, path string, k *tir.Kernel) {
		_, err := Emit(k, pocl(t))
		require.Error(t, err)
		require.Equal(t, 1, strings.Count(diagKind(err), "|"), "one kind: %s", diagKind(err))
		golden.Check(t, path, golden.Section{Name: "err", Text: diagKind(err) + " " + err.Error()})
	})
	host, err := target.Host()
	require.NoError(t, err)
	_, err = Emit(&tir.Kernel{Name: "k"}, host)
	require.ErrorContains(t, err, "target host has no OpenCL")
}

func diagKind(err error) string {
	switch diag.Exit(err) {
	case 3:
		return "invalid |"
	case 4:
		return "unsupported |"
	}
	return "other"
}

// TestConvGolden shows the 3x3 convolution, reading its operand from a buffer and from an image.
func TestConvGolden(t *testing.T) {
	for name, scope := range map[string]string{"buffer": "", "texture": "global.texture"} {
		list, _, err := transform.Lower(schedule3x3(t, conv3x3(8, 12, 5, 7), scope, true), transform.Options{Device: transform.GPU})
		require.NoError(t, err)
		var sections []golden.Section
		for _, k := range list {
			out, err := Emit(k, pocl(t))
			require.NoError(t, err)
			sections = append(sections, golden.Section{Name: k.Name + ".tir", Text: tirtext.PrintKernel(k)}, golden.Section{Name: k.Name + ".cl", Text: out.Source})
		}
		golden.Check(t, filepath.Join("testdata", "conv3x3_"+name+".txtar"), sections...)
	}
}

// TestHalfArithmetic emits for a device that computes in half. Nothing here can run it; clang checks it.
func TestHalfArithmetic(t *testing.T) {
	adreno, err := target.Parse("adreno-660")
	require.NoError(t, err)
	k, err := tirtext.ParseKernel("half", `kernel half(x: float16[32], w: float16[8, 8] texture fold [0] [] [], v: float16[8, 4] texture fold [0] [] [], out y: float16[32]):
  for i in range(0, 8, kind=bound, thread="threadIdx.x"):
    y[ramp(i * 4, 1, 4)] = max(x[ramp(i * 4, 1, 4)] * v[i, ramp(0, 1, 4)] + broadcast(0.5_float16, 4), w[i, ramp(0, 1, 4)])
`)
	require.NoError(t, err)
	out, err := Emit(k, adreno)
	require.NoError(t, err)
	compiles(t, out.Source)
	for _, want := range []string{"#pragma OPENCL EXTENSION cl_khr_fp16 : enable", "read_imageh(v, ", "as_half8(read_imageui(w, ", "(half4)(0.5h)", "texel_max_half4("} {
		require.Contains(t, out.Source, want)
	}
}
