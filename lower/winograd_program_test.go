package lower

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/texel-ml/texel/schedule/te"
	"github.com/texel-ml/texel/tensor"
	"github.com/texel-ml/texel/tir"
	"github.com/texel-ml/texel/tir/tirtext"
)

// winogradFunc is a convolution with a window of 3 × 3 and a border of one pixel by F(tile×tile, 3×3), NHWC, with transformed
// weights in panels of 32 channels as its second operand.
func winogradFunc(t require.TestingT, tile, in, out, height, width int) *tir.Func {
	w := winograd(t, tile, 3)
	c := WinogradConv{Layout: "NHWC", Kernel: "OHWI", Transformed: "OI32o", Channels: out, Padding: [4]int{1, 1, 1, 1}}
	x := te.Placeholder("X", tensor.Float32, 1, height, width, in)
	u := te.Placeholder("U", tensor.Float32, w.Size(), w.Size(), ceilDiv(out, 32), in, 32)
	stages, err := w.Conv(x, u, c)
	require.NoError(t, err)
	f, err := te.Build("winograd", []*te.Tensor{x, u}, stages[len(stages)-1:], stages...)
	require.NoError(t, err)
	return f
}

// winogradWeights is the transformation of the weights of a convolution by F(tile×tile, 3×3).
func winogradWeights(t require.TestingT, tile, in, out int) *tir.Func {
	w := winograd(t, tile, 3)
	g := te.Placeholder("G", tensor.Float32, out, 3, 3, in)
	stages, err := w.Kernel(g, WinogradConv{Layout: "NHWC", Kernel: "OHWI", Transformed: "OI32o", Channels: out})
	require.NoError(t, err)
	f, err := te.Build("weights", []*te.Tensor{g}, stages[1:], stages...)
	require.NoError(t, err)
	return f
}

// TestWinogradPrograms holds the programs of the page against the definition; go test -update writes them. The small ones have
// tails and are what tests run.
func TestWinogradPrograms(t *testing.T) {
	for name, f := range map[string]*tir.Func{
		"f2":       winogradFunc(t, 2, 64, 64, 56, 56),
		"f4":       winogradFunc(t, 4, 64, 64, 56, 56),
		"f6":       winogradFunc(t, 6, 64, 64, 56, 56),
		"f2-small": winogradFunc(t, 2, 16, 64, 10, 57),
		"f4-small": winogradFunc(t, 4, 16, 64, 10, 57),
		"f6-small": winogradFunc(t, 6, 16, 64, 10, 57),
		"weights":  winogradWeights(t, 4, 64, 64),
	} {
		path := filepath.Join("../docs/schedules/winograd", name+".tir")
		if flag.Lookup("update").Value.String() == "true" {
			require.NoError(t, os.WriteFile(path, []byte(tirtext.Print(f)), 0o644))
		}
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		require.Equal(t, tirtext.Print(f), string(text), "%s", path)
	}
}
