package schedule_test

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/texel-ml/texel/internal/golden"
	"github.com/texel-ml/texel/schedule"
	"github.com/texel-ml/texel/tensor"
	"github.com/texel-ml/texel/tir"
	"github.com/texel-ml/texel/tir/interp"
	"github.com/texel-ml/texel/tir/transform"
)

// TestNestedBlocksLower takes the goldens of primitives that make blocks of blocks, or blocks of vectors, through the loop
// passes: the kernels compute what the program does.
func TestNestedBlocksLower(t *testing.T) {
	lowered := 0
	for _, dir := range []string{"blockize", "tensorize", "rfactor", "pad_einsum", "decompose_padding"} {
		files, err := filepath.Glob("testdata/" + dir + "/*.txtar")
		require.NoError(t, err)
		for _, path := range files {
			program := readProgram(t, path)
			trace, err := schedule.ParseTrace(path, golden.In(t, path, "in trace"))
			require.NoError(t, err)
			s := schedule.New(program)
			if s.Replay(trace) != nil {
				continue
			}
			lowered++
			t.Run(strings.TrimSuffix(strings.TrimPrefix(path, "testdata/"), ".txtar"), func(t *testing.T) {
				kernels, between, err := transform.Lower(s.Func(), transform.Options{})
				require.NoError(t, err)
				want, got := arguments(program), arguments(program)
				require.NoError(t, interp.Run(context.Background(), program, want, interp.Options{}))
				buffers := map[*tir.Buffer]*tensor.Tensor{}
				for i, p := range s.Func().Params {
					buffers[p] = got[i]
				}
				for _, b := range between {
					buffers[b] = tensor.New(b.DType, b.Shape)
				}
				require.NoError(t, interp.RunKernels(context.Background(), kernels, buffers, interp.Options{}))
				for i := len(want) - program.Outputs; i < len(want); i++ {
					require.Equal(t, want[i], got[i], "output %s", program.Params[i].Name)
				}
			})
		}
	}
	require.Greater(t, lowered, 10)
}
