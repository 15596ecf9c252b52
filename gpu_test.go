package texel_test

import (
	"context"
	"errors"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/texel-ml/texel"
	"github.com/texel-ml/texel/diag"
	"github.com/texel-ml/texel/internal/picture"
	"github.com/texel-ml/texel/tensor"
)

// TestSqueezenetOnOpenCL runs a plan for PoCL on the first OpenCL device: as right as on the processor.
func TestSqueezenetOnOpenCL(t *testing.T) {
	to, err := texel.DeviceTarget("opencl")
	if errors.Is(err, diag.ErrMissing) {
		t.Skip(err)
	}
	require.NoError(t, err)
	path := compiled(t, squeezenet+"/model.onnx", texel.Options{Targets: []string{to, "host"}})
	run := func(device string) []float32 {
		m := load(t, path, texel.LoadOptions{Device: device})
		in := m.Inputs()[0]
		x, err := picture.ReadFile(filepath.Join(squeezenet, "picture.png"), in.DType, in.Shape,
			picture.Options{Crop: "center", Channels: "bgr", Mean: []float32{104, 117, 123}})
		require.NoError(t, err)
		out, err := m.Run(context.Background(), map[string]*tensor.Tensor{in.Name: x})
		require.NoError(t, err)
		require.Equal(t, device == "opencl", len(m.Plan().Launches[0].Group) > 0)
		return tensor.View[float32](out["probabilities"])
	}
	want, got := run("cpu"), run("opencl")
	for i := range want {
		require.InDelta(t, want[i], got[i], 1e-5)
	}
}

func TestLayersOnOpenCL(t *testing.T) {
	to, err := texel.DeviceTarget("opencl")
	if errors.Is(err, diag.ErrMissing) {
		t.Skip(err)
	}
	require.NoError(t, err)
	for _, name := range []string{"net", "mlp", "relu", "narrow", "attention"} {
		c, err := texel.Compile(context.Background(), fixture(name), texel.Options{Targets: []string{to}})
		require.NoError(t, err, name)
		report, err := c.Check(context.Background(), texel.CheckOptions{Device: "opencl"})
		require.NoError(t, err, name)
		require.NoError(t, report.Err(), name)
		require.NoError(t, c.Close())
	}
}

func TestDevicesByName(t *testing.T) {
	path := compiled(t, fixture("relu"), texel.Options{})
	for _, device := range []string{"tpu", "cpu:0", "opencl:x", "opencl:-1"} {
		_, err := texel.Load(path, texel.LoadOptions{Device: device})
		require.ErrorIs(t, err, diag.ErrInvalid, device)
		require.ErrorContains(t, err, "wanted cpu, opencl or opencl:NUMBER")
	}
	_, err := texel.Load(path, texel.LoadOptions{Device: "opencl"})
	require.ErrorIs(t, err, diag.ErrMissing)
	require.ErrorContains(t, err, `no device for api "cpu" is linked in`)
	to, err := texel.DeviceTarget("cpu")
	require.NoError(t, err)
	require.Equal(t, "host", to)
}
