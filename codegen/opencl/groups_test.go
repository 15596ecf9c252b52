package opencl

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/texel-ml/texel/internal/golden"
	"github.com/texel-ml/texel/internal/numtest"
	"github.com/texel-ml/texel/tensor"
	"github.com/texel-ml/texel/tir"
	"github.com/texel-ml/texel/tir/tirtext"
	"github.com/texel-ml/texel/tir/transform"
)

// TestGroups lowers functions whose work-items exchange values through shared memory, and runs them on a device: barriers,
// double buffers and virtual threads are what the loop passes made of them.
func TestGroups(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("testdata", "groups", "*.txtar"))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, path := range files {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar"), func(t *testing.T) {
			f, err := tirtext.Parse(path, golden.In(t, path, "in.tir"))
			require.NoError(t, err)
			list, between, err := transform.Lower(f, transform.Options{Device: transform.GPU, MaxLanes: 16, Verify: true})
			require.NoError(t, err)
			var source string
			for _, k := range emit(t, list, pocl(t)) {
				source += k.Source
			}
			require.Contains(t, source, "barrier(")
			golden.Check(t, path, golden.Section{Name: "out.cl", Text: source})
			args := map[*tir.Buffer]*tensor.Tensor{}
			for _, b := range f.Params[:len(f.Params)-f.Outputs] {
				args[b] = ramp(b.DType, b.Shape...)
			}
			agree(t, list, between, args, numtest.Tolerance{Rel: 1e-5, Abs: 1e-5})
		})
	}
}
