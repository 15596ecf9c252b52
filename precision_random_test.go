package texel_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/texel-ml/texel"
	"github.com/texel-ml/texel/artifact"
	"github.com/texel-ml/texel/internal/npy"
	"github.com/texel-ml/texel/internal/relaygen"
	"github.com/texel-ml/texel/relay"
	"github.com/texel-ml/texel/relay/relaytext"
	"github.com/texel-ml/texel/tensor"
)

// rounded are operators whose results are mostly in memory, and others that read and move them.
var rounded = []string{"nn.conv2d", "nn.conv2d", "nn.dense", "nn.matmul", "nn.batch_matmul", "nn.conv2d_transpose", "nn.max_pool2d", "nn.avg_pool2d",
	"max", "sum", "mean", "nn.layer_norm", "nn.softmax", "nn.relu", "tanh", "add", "multiply", "where", "concatenate", "split", "strided_slice",
	"transpose", "reshape", "nn.pad", "take", "tile", "image.resize2d", "nn.depth_to_space", "nn.lrn", "cumsum"}

// TestPrecisionOfRandomGraphs compiles random graphs in each half precision, runs them, and holds every layer and the outputs to
// the evaluator.
func TestPrecisionOfRandomGraphs(t *testing.T) {
	const graphs = 60
	halves := 0
	for seed := range uint64(graphs) {
		m := relaygen.Module(relay.Core(), relaygen.Seeded(seed), relaygen.Options{Operators: 6 + int(seed%8), DType: tensor.Float32, Rows: rounded})
		if strings.Contains(relay.Print(m), "float64") { // what is folded is rounded to float32, and an output of float64 tells
			continue
		}
		path := filepath.Join(t.TempDir(), "model.relay")
		var arrays bytes.Buffer
		require.NoError(t, npy.WriteArchive(&arrays, relaytext.Arrays(m)))
		require.NoError(t, os.WriteFile(path, []byte(relay.Print(m)), 0o600))
		require.NoError(t, os.WriteFile(path+".npz", arrays.Bytes(), 0o600))
		p := []texel.Precision{texel.Float16, texel.BFloat16, texel.Mixed}[seed%3]
		c, err := texel.Compile(context.Background(), path, texel.Options{Precision: p, Verify: true})
		require.NoError(t, err, "seed %d in %v", seed, p)
		r, err := c.Check(context.Background(), texel.CheckOptions{Seed: seed})
		require.NoError(t, err, "seed %d in %v", seed, p)
		require.NoError(t, r.Err(), "seed %d in %v\n%v\n%s", seed, p, r, relay.Print(m))
		if slices.ContainsFunc(c.Plan().Tensors, func(x artifact.Tensor) bool { return x.DType.Bits() == 16 }) {
			halves++
		}
		require.NoError(t, c.Close())
	}
	require.Greater(t, halves, graphs/6)
}
