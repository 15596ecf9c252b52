package texel_test

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/texel-ml/texel"
	"github.com/texel-ml/texel/artifact"
	"github.com/texel-ml/texel/diag"
	"github.com/texel-ml/texel/tensor"
)

// An artifact is checked as the compiled model is: the same layers, with the same figures.
func TestArtifactsAreChecked(t *testing.T) {
	for _, c := range []struct {
		model string
		o     texel.Options
	}{
		{model: "mlp"}, {model: "net"}, {model: "nms"}, {model: "walk"}, {model: "lstm"}, {model: "default"}, {model: "narrow"}, {model: "constant"},
		{model: "net", o: texel.Options{OptLevel: texel.Opt0}},
		{model: "net", o: texel.Options{Precision: texel.Float16}},
		{model: "mlp", o: texel.Options{Targets: []string{"cortex-a76", "host"}}},
	} {
		compiled, err := texel.Compile(context.Background(), fixture(c.model), c.o)
		require.NoError(t, err, c.model)
		path := filepath.Join(t.TempDir(), "model.texel")
		require.NoError(t, compiled.WriteFile(path))
		got, err := texel.CheckArtifact(context.Background(), path, texel.CheckOptions{Seed: 3})
		require.NoError(t, err, c.model)
		require.NoError(t, got.Err(), c.model)
		if len(c.o.Targets) == 0 { // Check takes the first
			want, err := compiled.Check(context.Background(), texel.CheckOptions{Seed: 3})
			require.NoError(t, err, c.model)
			require.Equal(t, want.Layers, got.Layers, c.model)
			require.Len(t, got.Outputs, len(want.Outputs), c.model)
		}
		require.NoError(t, compiled.Close())
	}
}

// rewritten copies an artifact of one variant with another graph; without one where that is empty.
func rewritten(t *testing.T, path string, options []artifact.Setting, graph func(string) string) string {
	t.Helper()
	f, err := artifact.Open(path, artifact.OpenOptions{})
	require.NoError(t, err)
	defer f.Close()
	m := f.Manifest()
	out := filepath.Join(t.TempDir(), "other.texel")
	w, err := artifact.Create(out, artifact.Header{Producer: m.Producer, Model: m.Model, Options: options})
	require.NoError(t, err)
	defer w.Close()
	for _, s := range m.Segments {
		data, ok := f.Segment(s.Digest)
		require.True(t, ok)
		_, err := w.Weight(data)
		require.NoError(t, err)
	}
	text, ok := f.Entry("graph/0.relay")
	require.True(t, ok)
	if other := graph(string(text)); other != "" {
		require.NoError(t, w.File("graph/0.relay", []byte(other)))
	}
	v := m.Variants[0]
	plan, err := f.Plan(0)
	require.NoError(t, err)
	code, ok := f.Entry(v.Kernels[0])
	require.True(t, ok)
	require.NoError(t, w.Variant(v.Target, v.API, v.Arch, v.Features, plan, []artifact.Code{{Name: filepath.Base(v.Kernels[0]), Data: code}}))
	require.NoError(t, w.Commit())
	return out
}

func TestArtifactsThatAreNotTheirGraph(t *testing.T) {
	path := compiled(t, fixture("relu"), texel.Options{})
	check := func(path string, o texel.CheckOptions) error {
		r, err := texel.CheckArtifact(context.Background(), path, o)
		if err != nil {
			return err
		}
		return r.Err()
	}
	keep := func(s string) string { return s }
	require.NoError(t, check(rewritten(t, path, nil, keep), texel.CheckOptions{}))

	other := func(old, new string) func(string) string {
		return func(s string) string {
			require.Contains(t, s, old)
			return strings.ReplaceAll(s, old, new)
		}
	}
	err := check(rewritten(t, path, nil, other("nn.relu", "sigmoid")), texel.CheckOptions{})
	require.ErrorIs(t, err, diag.ErrUnsupported)
	require.ErrorContains(t, err, "planned the graph otherwise than this one; check the model")
	err = check(rewritten(t, path, nil, func(string) string { return "" }), texel.CheckOptions{})
	require.ErrorIs(t, err, diag.ErrUnsupported)
	require.ErrorContains(t, err, "graph/0.relay: the artifact holds no graph; check the model")
	err = check(rewritten(t, path, []artifact.Setting{{Name: "extension", Value: "mine"}}, keep), texel.CheckOptions{})
	require.ErrorIs(t, err, diag.ErrUnsupported)
	require.ErrorContains(t, err, `compiled with the extension "mine", which is not here`)
	err = check(rewritten(t, path, nil, other("}", "")), texel.CheckOptions{})
	require.ErrorIs(t, err, diag.ErrInvalid)
	require.ErrorContains(t, err, "graph/0.relay:")

	err = check(path, texel.CheckOptions{Inputs: map[string]*tensor.Tensor{"nothing": floats(tensor.Shape{1}, 1)}})
	require.ErrorIs(t, err, diag.ErrInvalid)
	require.ErrorContains(t, err, "nothing: no input has this name; the inputs are x")
	require.NoError(t, check(path, texel.CheckOptions{Inputs: map[string]*tensor.Tensor{"": floats(tensor.Shape{1, 3}, 1, -2, 3)}}))
	require.ErrorIs(t, check("none.texel", texel.CheckOptions{}), diag.ErrInvalid)
}

// Kernels that compute something else than the graph says are found: a number of a kernel is no part of the plan.
func TestWrongKernelsOfAnArtifactAreFound(t *testing.T) {
	path := compiled(t, fixture("net"), texel.Options{})
	wrong := rewritten(t, path, nil, func(s string) string {
		require.Contains(t, s, "a_max=6f")
		return strings.Replace(s, "a_max=6f", "a_max=5f", 1)
	})
	r, err := texel.CheckArtifact(context.Background(), wrong, texel.CheckOptions{Inputs: map[string]*tensor.Tensor{"": ramp(1, 3, 17, 15)}})
	require.NoError(t, err)
	require.ErrorIs(t, r.Err(), diag.ErrNumeric)
}

// ramp is a tensor of growing numbers.
func ramp(shape ...int) *tensor.Tensor {
	x := tensor.New(tensor.Float32, shape)
	for i := range tensor.View[float32](x) {
		tensor.View[float32](x)[i] = float32(i)
	}
	return x
}
