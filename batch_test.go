package texel_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/texel-ml/texel"
	"github.com/texel-ml/texel/artifact"
	"github.com/texel-ml/texel/diag"
	"github.com/texel-ml/texel/internal/numtest"
	"github.com/texel-ml/texel/relay/eval"
	"github.com/texel-ml/texel/tensor"
)

func batchModel(name string) string { return filepath.Join("testdata", "batch", name+".onnx") }

// rowsOf draws n rows for every input.
func rowsOf(ports []artifact.Port, n int, seed uint64) map[string]*tensor.Tensor {
	rng := rand.New(rand.NewPCG(seed, 3))
	feeds := map[string]*tensor.Tensor{}
	for _, p := range ports {
		w := tensor.NewWide(p.DType, p.Batched(n))
		for i := range w.F {
			w.F[i] = rng.NormFloat64()
		}
		for i := range w.I {
			w.I[i] = int64(rng.IntN(9))
		}
		feeds[p.Name] = w.Narrow()
	}
	return feeds
}

// fixedAt are the options that compile a model for n rows.
func fixedAt(name string, n int) texel.Options {
	if name == "unnamed" {
		return texel.Options{InputShapes: map[string][]int{"x": {n, 4}}}
	}
	return texel.Options{Dims: map[string]int{"N": n}}
}

// TestOneArtifactServesEveryBatch holds the rows of an artifact whose batch is open to the model compiled for that number of rows,
// and to the float64 evaluation of the model imported so.
func TestOneArtifactServesEveryBatch(t *testing.T) {
	for _, c := range []struct {
		name string
		axes map[string]int // of the outputs
	}{
		{"classifier", map[string]int{"y": 0, "r": 0}}, {"chain", map[string]int{"y": 0}}, {"vit", map[string]int{"y": 0}},
		{"recurrent", map[string]int{"y": 2, "last": 1}}, {"loop", map[string]int{"y": 2, "last": 1}},
		{"words", map[string]int{"y": 0, "same": -1}}, {"unnamed", map[string]int{"y": 0}},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := load(t, compiled(t, batchModel(c.name), texel.Options{}), texel.LoadOptions{Threads: 2})
			require.Len(t, m.Outputs(), len(c.axes))
			for _, out := range m.Outputs() {
				if axis := c.axes[out.Name]; axis < 0 {
					require.Nil(t, out.Open, out.Name)
				} else {
					require.NotNil(t, out.Open, out.Name)
					require.Equal(t, axis, out.Open.Axis, out.Name)
				}
			}
			for _, n := range []int{3, 1, 2, 7} {
				feeds := rowsOf(m.Inputs(), n, uint64(n))
				got, err := m.Run(t.Context(), feeds)
				require.NoError(t, err)
				fixed := load(t, compiled(t, batchModel(c.name), fixedAt(c.name, n)), texel.LoadOptions{Threads: 2})
				same, err := fixed.Run(t.Context(), feeds)
				require.NoError(t, err)
				source, err := texel.Import(t.Context(), batchModel(c.name), fixedAt(c.name, n), nil)
				require.NoError(t, err)
				var inputs []*tensor.Tensor
				for _, p := range source.Main().Params {
					inputs = append(inputs, feeds[p.Name])
				}
				want, err := eval.Tensors(t.Context(), source.Main(), inputs)
				require.NoError(t, err)
				for i, out := range source.Outputs {
					require.NoError(t, numtest.Compare(got[out], want[i], numtest.Documented(want[i].DType)), "%s of %d rows", out, n)
					require.NoError(t, numtest.Compare(got[out], same[out], numtest.Documented(want[i].DType)), "%s of %d rows", out, n)
				}
				require.NoError(t, source.Close())
			}
		})
	}
}

// TestMixedRowsAreNamed compiles models whose rows depend on each other: their batch is 1, and a note says which node mixes.
func TestMixedRowsAreNamed(t *testing.T) {
	const bound = ": the batch is bound to 1; compile with --dim N=4 for 4 rows"
	mixes := func(node, op string) string {
		return node + ": " + op + " mixes the rows of the batch, or is not known to keep them apart" + bound
	}
	for name, want := range map[string]string{
		"softmax": mixes("over_rows", "nn.softmax"), "mean": mixes("mean_of_all", "mean"), "gram": mixes("products", "nn.matmul"),
		"nms": mixes("nms", "vision.non_max_suppression"), "flatten": mixes("softmax", "nn.softmax"), "running": mixes("running", "cumsum"),
		"reverse": mixes("backwards", "strided_slice"),
		"slice":   "head: is an input of type Tensor[(1, 4), float32] with 1 row, and strided_slice of type Tensor[(1, 4), float32] with 2" + bound,
		"capped":  "last_few: is an input of type Tensor[(1, 4), float32] with 1 row, and strided_slice of type Tensor[(4, 4), float32] with 7" + bound,
		"count":   "number: a value of type Tensor[(1,), float32] depends on the batch" + bound,
		"place":   "column: a value of type Tensor[(2, 1), float32] depends on the batch" + bound,
		"fixed":   "one_row: the model of 2 rows is refused, as 8 elements of shape (2, 4) do not fill target [1 4]" + bound,
	} {
		t.Run(name, func(t *testing.T) {
			path := compiled(t, batchModel("mixes/"+name), texel.Options{})
			m := load(t, path, texel.LoadOptions{})
			found := ""
			for _, n := range m.Plan().Notes {
				if n.Step == "batch" {
					found += n.String()
				}
			}
			require.Equal(t, "default: batch: "+want, found)
			for _, p := range append(m.Inputs(), m.Outputs()...) {
				require.Nil(t, p.Open, p.Name)
			}
			_, err := m.Run(t.Context(), rowsOf(m.Inputs(), 1, 1))
			require.NoError(t, err)
			_, err = texel.Load(path, texel.LoadOptions{Batch: 2})
			require.ErrorIs(t, err, diag.ErrUnsupported)
			require.ErrorContains(t, err, "batch: 2 rows are wanted, and the model is compiled for its shapes only")
			load(t, path, texel.LoadOptions{Batch: 1})
		})
	}
	c, err := texel.Compile(t.Context(), batchModel("mixes/gram"), fixedAt("", 4))
	require.NoError(t, err)
	defer c.Close()
	require.Equal(t, tensor.Shape{4, 4}, c.Plan().Outputs[0].Shape)
}

func TestRowsThatDoNotFitAreRefused(t *testing.T) {
	path := compiled(t, batchModel("words"), texel.Options{})
	m := load(t, path, texel.LoadOptions{})
	ids := func(shape ...int) *tensor.Tensor { return tensor.New(tensor.Int64, shape) }
	mask := func(shape ...int) *tensor.Tensor { return tensor.New(tensor.Float32, shape) }
	for want, in := range map[string]map[string]*tensor.Tensor{
		"mask: 2 rows along axis 0, N, but input ids has 3":                             {"ids": ids(3, 6), "mask": mask(2, 6)},
		"batch: wanted 1 to 1048576 rows, found 0":                                      {"ids": ids(0, 6), "mask": mask(0, 6)},
		"ids: wanted int64 of shape (1, 6), with any number of rows along axis 0":       {"ids": ids(2, 5), "mask": mask(2, 6)},
		"found float32 of shape (2, 6)":                                                 {"ids": mask(2, 6), "mask": mask(2, 6)},
		"mask: input is missing, the inputs are ids, mask":                              {"ids": ids(2, 6)},
		"ids: wanted int64 of shape (1, 6), with any number of rows along axis 0 up to": {"ids": {DType: tensor.Int64, Shape: tensor.Shape{1<<20 + 1, 6}}, "mask": mask(2, 6)},
		"ids: int64 of shape (5, 6) needs 240 bytes, found 8":                           {"ids": {DType: tensor.Int64, Shape: tensor.Shape{5, 6}, Data: make([]byte, 8)}, "mask": mask(5, 6)},
	} {
		_, err := m.Run(t.Context(), in)
		require.ErrorIs(t, err, diag.ErrInvalid, want)
		require.ErrorContains(t, err, want)
	}
	for _, n := range []int{-1, artifact.MaxBatch + 1} {
		_, err := texel.Load(path, texel.LoadOptions{Batch: n})
		require.ErrorIs(t, err, diag.ErrInvalid)
		require.ErrorContains(t, err, "batch: wanted 1 to 1048576 rows")
	}
	three := load(t, path, texel.LoadOptions{Batch: 3})
	require.Equal(t, tensor.Shape{3, 6}, three.Inputs()[0].Shape)
	require.Equal(t, tensor.Shape{3, 4}, three.Outputs()[0].Shape)
	require.Equal(t, tensor.Shape{3, 4}, three.Outputs()[1].Shape, "no rows, but 3")
	_, err := three.Run(t.Context(), rowsOf(m.Inputs(), 2, 1))
	require.ErrorIs(t, err, diag.ErrInvalid)
	require.ErrorContains(t, err, "ids: wanted 3 rows, as was asked for, found 2")
	_, err = three.Run(t.Context(), rowsOf(m.Inputs(), 3, 1))
	require.NoError(t, err)
	_, err = texel.Load(path, texel.LoadOptions{Shapes: map[string]tensor.Shape{"ids": {1, 7}}})
	require.ErrorContains(t, err, "wanted shape (1, 7), compiled for (1, 6)")
	load(t, path, texel.LoadOptions{Shapes: map[string]tensor.Shape{"ids": {5, 6}}})
}

// TestASessionOfRowsAllocatesNothing binds memory once, of outputs whose rows do not lie in one piece too.
func TestASessionOfRowsAllocatesNothing(t *testing.T) {
	for _, name := range []string{"classifier", "loop"} {
		m := load(t, compiled(t, batchModel(name), texel.Options{}), texel.LoadOptions{Batch: 4, Threads: 1})
		s, err := m.Session()
		require.NoError(t, err)
		require.Equal(t, 4, s.Batch())
		feeds := rowsOf(m.Plan().Inputs, 4, 5)
		require.NoError(t, s.BindInput(0, feeds["x"].Data))
		ctx := context.Background()
		require.NoError(t, s.Run(ctx))
		require.Zero(t, testing.AllocsPerRun(20, func() { err = errors.Join(err, s.Run(ctx)) }))
		require.NoError(t, err)
		want, err := m.Run(ctx, feeds)
		require.NoError(t, err)
		for i, out := range m.Outputs() {
			require.Equal(t, want[out.Name].Data, s.Output(i))
			require.Equal(t, want[out.Name].Shape, s.OutputShape(i))
		}
		s.Profile(true)
		require.NoError(t, s.Run(ctx))
		require.NotEmpty(t, s.Times())
		for _, x := range s.Times() {
			require.Zero(t, x.Runs%4, x.Name)
		}
		require.NoError(t, s.Close())
	}
}

func TestLayersOfEveryRow(t *testing.T) {
	for _, name := range []string{"classifier", "loop", "words"} {
		c, err := texel.Compile(t.Context(), batchModel(name), texel.Options{})
		require.NoError(t, err)
		defer c.Close()
		r, err := c.Check(t.Context(), texel.CheckOptions{Batch: 3, Seed: 2})
		require.NoError(t, err)
		require.NoError(t, r.Err(), "%v", r)
		require.Zero(t, r.Layers[0].Runs%3)
		path := filepath.Join(t.TempDir(), "model.texel")
		require.NoError(t, c.WriteFile(path))
		r, err = texel.CheckArtifact(t.Context(), path, texel.CheckOptions{Inputs: rowsOf(c.Plan().Inputs, 2, 1)})
		require.NoError(t, err)
		require.NoError(t, r.Err(), "%v", r)
		require.Zero(t, r.Layers[0].Runs%2)
	}
}

func TestRowsOnOpenCL(t *testing.T) {
	to, err := texel.DeviceTarget("opencl")
	if errors.Is(err, diag.ErrMissing) {
		t.Skip(err)
	}
	require.NoError(t, err)
	for _, name := range []string{"classifier", "recurrent", "words"} {
		path := compiled(t, batchModel(name), texel.Options{Targets: []string{to, "host"}})
		gpu, cpu := load(t, path, texel.LoadOptions{Device: "opencl"}), load(t, path, texel.LoadOptions{Device: "cpu"})
		for _, n := range []int{3, 1, 2} {
			feeds := rowsOf(cpu.Inputs(), n, 9)
			got, err := gpu.Run(t.Context(), feeds)
			require.NoError(t, err)
			want, err := cpu.Run(t.Context(), feeds)
			require.NoError(t, err)
			for out := range want {
				require.NoError(t, numtest.Compare(got[out], want[out], numtest.Documented(want[out].DType)), "%s of %s", out, name)
			}
		}
	}
}
