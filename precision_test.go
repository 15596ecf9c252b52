package texel_test

import (
	"context"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/texel-ml/texel"
	"github.com/texel-ml/texel/artifact"
	"github.com/texel-ml/texel/diag"
	"github.com/texel-ml/texel/internal/picture"
	"github.com/texel-ml/texel/tensor"
)

// inPrecision compiles SqueezeNet, whose picture is the input.
func inPrecision(t *testing.T, o texel.Options) (*texel.Compiled, map[string]*tensor.Tensor) {
	o.Verify = true
	c, err := texel.Compile(context.Background(), squeezenet+"/model.onnx", o)
	require.NoError(t, err)
	t.Cleanup(func() { c.Close() })
	if o.StopAfter != "" {
		return c, nil
	}
	in := c.Plan().Inputs[0]
	x, err := picture.ReadFile(filepath.Join(squeezenet, "picture.png"), in.DType, in.Shape,
		picture.Options{Crop: "center", Channels: "bgr", Mean: []float32{104, 117, 123}})
	require.NoError(t, err)
	return c, map[string]*tensor.Tensor{in.Name: x}
}

// TestPrecisions holds every layer of a real model in half precision to its bound and to the figures that are documented,
// and its answer to that in float32.
func TestPrecisions(t *testing.T) {
	whole, _ := inPrecision(t, texel.Options{})
	for _, x := range []struct {
		precision texel.Precision
		store     tensor.DType
		rms, max  float64 // of a layer's errors, in standard deviations of its result
		weights   float64 // of the bytes in float32
	}{
		{texel.Float16, tensor.Float16, 5e-4, 1e-2, 0.51},
		{texel.BFloat16, tensor.BFloat16, 4e-3, 8e-2, 0.51},
		{texel.Mixed, tensor.Float16, 5e-4, 1e-2, 1},
	} {
		t.Run(x.precision.String(), func(t *testing.T) {
			c, inputs := inPrecision(t, texel.Options{Precision: x.precision})
			r, err := c.Check(context.Background(), texel.CheckOptions{Inputs: inputs})
			require.NoError(t, err)
			require.NoError(t, r.Err(), "%v", r)
			for _, l := range r.Layers {
				require.LessOrEqual(t, l.RMS, x.rms, l.Name)
				require.LessOrEqual(t, l.Max, x.max, l.Name)
			}
			p := c.Plan()
			require.LessOrEqual(t, float64(p.WeightsBytes), x.weights*float64(whole.Plan().WeightsBytes))
			require.Less(t, p.ArenaBytes, whole.Plan().ArenaBytes)
			require.Equal(t, len(whole.Plan().Launches), len(p.Launches), "conversions are part of the kernels")
			require.Equal(t, whole.Plan().Inputs[0].DType, p.Inputs[0].DType)
			require.Equal(t, whole.Plan().Outputs[0].DType, p.Outputs[0].DType)
			require.True(t, slices.ContainsFunc(p.Tensors, func(p artifact.Tensor) bool { return p.DType == x.store }))

			path := filepath.Join(t.TempDir(), "model.texel")
			require.NoError(t, c.WriteFile(path))
			out, err := load(t, path, texel.LoadOptions{}).Run(context.Background(), inputs)
			require.NoError(t, err)
			probabilities := tensor.View[float32](out["probabilities"])
			best := slices.Index(probabilities, slices.Max(probabilities))
			require.Equal(t, 967, best, "espresso")
			require.InDelta(t, 0.984, probabilities[best], 0.01)
		})
	}
}

// TestAssignIsOptimal reads what the pass assign says of a real model: the labels are optimal, and no dearer than those chosen
// one by one.
func TestAssignIsOptimal(t *testing.T) {
	said := regexp.MustCompile(`([0-9.]+) µs in all \(choosing one by one: ([0-9.]+) µs\), gap 0.0 µs: optimal`)
	for p := texel.Float32; p <= texel.Mixed; p++ {
		c, _ := inPrecision(t, texel.Options{Precision: p, StopAfter: "assign"})
		found := false
		for _, n := range c.Notes() {
			if m := said.FindStringSubmatch(n.Text); m != nil {
				all, err := strconv.ParseFloat(m[1], 64)
				require.NoError(t, err)
				greedy, err := strconv.ParseFloat(m[2], 64)
				require.NoError(t, err)
				require.LessOrEqual(t, all, greedy)
				require.Positive(t, all)
				found = true
			}
		}
		require.True(t, found, "%v", p)
	}
}

// TestKeepFloat32 keeps what a pattern names, and says so.
func TestKeepFloat32(t *testing.T) {
	c, _ := inPrecision(t, texel.Options{Precision: texel.Float16, KeepFloat32: regexp.MustCompile("^conv10")})
	kept := 0
	for _, n := range c.Notes() {
		if n.Kind == diag.Kept && strings.HasPrefix(n.Node, "conv10") {
			kept++
			require.Contains(t, n.Text, "as asked for")
		}
	}
	require.Positive(t, kept)
}

// TestOptionsOfPrecisionGoTogether refuses what says nothing.
func TestOptionsOfPrecisionGoTogether(t *testing.T) {
	for _, x := range []struct {
		o    texel.Options
		want string
	}{
		{texel.Options{Precision: texel.Mixed + 1}, "wanted Float32, Float16, BFloat16 or Mixed, found 4"},
		{texel.Options{Precision: texel.Float16, OptLevel: texel.Opt2}, "float16 is chosen by the pass assign, which level 2 leaves out"},
		{texel.Options{KeepFloat32: regexp.MustCompile("x")}, "everything is kept in float32 already"},
	} {
		_, err := texel.Compile(context.Background(), fixture("net"), x.o)
		require.ErrorIs(t, err, diag.ErrInvalid)
		require.ErrorContains(t, err, x.want)
	}
	_, err := texel.ParsePrecision("float8")
	require.ErrorContains(t, err, `wanted float32, float16, bfloat16 or mixed, found "float8"`)
	_, err = texel.KeepPattern("(")
	require.ErrorContains(t, err, "is no regular expression")
}

// TestPrecisionIsPartOfTheKey tells artifacts of different precisions apart.
func TestPrecisionIsPartOfTheKey(t *testing.T) {
	require.Empty(t, texel.Options{}.Settings())
	o := texel.Options{Precision: texel.Mixed, KeepFloat32: regexp.MustCompile("head")}
	require.Equal(t, []artifact.Setting{{Name: "keep-float32", Value: "head"}, {Name: "precision", Value: "mixed"}}, o.Settings())
}

// TestPrecisionOfEveryFixture holds the fixtures in all precisions.
func TestPrecisionOfEveryFixture(t *testing.T) {
	for _, name := range []string{"relu", "mlp", "net", "nms", "external", "default", "constant", "narrow", "lstm"} {
		for p := texel.Float16; p <= texel.Mixed; p++ {
			c, err := texel.Compile(context.Background(), fixture(name), texel.Options{Precision: p, Verify: true})
			require.NoError(t, err, "%s in %v", name, p)
			r, err := c.Check(context.Background(), texel.CheckOptions{Seed: 7})
			require.NoError(t, err, "%s in %v", name, p)
			require.NoError(t, r.Err(), "%s in %v\n%v", name, p, r)
			require.NoError(t, c.Close())
		}
	}
}
