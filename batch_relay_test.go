package texel_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/texel-ml/texel"
	"github.com/texel-ml/texel/diag"
	"github.com/texel-ml/texel/internal/numtest"
)

// TestTextsHaveABatch compiles Relay text whose axis 0 is open for any number of rows, as a model of ONNX.
func TestTextsHaveABatch(t *testing.T) {
	write := func(text string) string {
		path := filepath.Join(t.TempDir(), "m.relay")
		require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
		return path
	}
	path := write(`def @main(%x: Tensor[(?, 2, 3), float32], %w: Tensor[(4, 6), float32]) -> (Tensor[(?, 4), float32], Tensor[(4, ?), float32]) {
  %0 = nn.dense(nn.batch_flatten(%x), %w);
  (nn.softmax(%0), transpose(%0))
}`)
	m := load(t, compiled(t, path, texel.Options{}), texel.LoadOptions{Threads: 2})
	require.Equal(t, 0, m.Inputs()[0].Open.Axis)
	require.Nil(t, m.Inputs()[1].Open)
	require.Equal(t, []int{0, 1}, []int{m.Outputs()[0].Open.Axis, m.Outputs()[1].Open.Axis})
	require.Equal(t, "batch", m.Outputs()[0].Open.Name)
	three := load(t, compiled(t, path, texel.Options{}), texel.LoadOptions{Threads: 2, Batch: 3})
	for _, n := range []int{1, 2, 3, 7} {
		feeds := rowsOf(m.Inputs(), n, uint64(n))
		got, err := m.Run(t.Context(), feeds)
		require.NoError(t, err)
		fixed := load(t, compiled(t, path, texel.Options{InputShapes: map[string][]int{"x": {n, 2, 3}}}), texel.LoadOptions{Threads: 2})
		require.Nil(t, fixed.Inputs()[0].Open)
		want, err := fixed.Run(t.Context(), feeds)
		require.NoError(t, err)
		for name := range want {
			require.NoError(t, numtest.Compare(got[name], want[name], numtest.Documented(want[name].DType)), "%s of %d rows", name, n)
		}
		_, err = three.Run(t.Context(), feeds)
		require.Equal(t, n != 3, err != nil)
	}

	c, err := texel.Compile(t.Context(), write("def @main(%x: Tensor[(?, 4), float32]) { nn.softmax(%x, axis=0) }"), texel.Options{})
	require.NoError(t, err)
	defer c.Close()
	require.Nil(t, c.Plan().Inputs[0].Open)
	var said []string
	for _, n := range c.Notes() {
		if n.Step == "batch" && n.Kind == diag.Default {
			said = append(said, n.Text)
		}
	}
	require.Len(t, said, 1)
	require.Contains(t, said[0], "nn.softmax mixes the rows of the batch, or is not known to keep them apart: the batch is bound to 1")
}
