package opencl

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/texel-ml/texel/internal/numtest"
	"github.com/texel-ml/texel/schedule"
	"github.com/texel-ml/texel/tensor"
	"github.com/texel-ml/texel/tir"
	"github.com/texel-ml/texel/tir/tirtext"
	"github.com/texel-ml/texel/tir/transform"
)

// TestDynamicTexturesPage runs the convolution of the page on a device: its kernels read the images that two of them fill.
func TestDynamicTexturesPage(t *testing.T) {
	page, err := os.ReadFile("../../docs/schedules/dynamic-textures.md")
	require.NoError(t, err)
	blocks := func(head string) string {
		var all strings.Builder
		for _, m := range regexp.MustCompile("(?s)```"+head+"\n(.*?)```").FindAllStringSubmatch(string(page), -1) {
			all.WriteString(m[1])
		}
		return all.String()
	}
	f, err := tirtext.Parse("conv", blocks("tir conv"))
	require.NoError(t, err)
	trace, err := schedule.ParseTrace("conv", blocks("trace conv"))
	require.NoError(t, err)
	s := schedule.New(f)
	require.NoError(t, s.Replay(trace))
	kernels, between, err := transform.Lower(s.Func(), transform.Options{Device: transform.GPU})
	require.NoError(t, err)
	require.Len(t, kernels, 3)
	require.Len(t, between, 2)
	source := ""
	for _, k := range emit(t, kernels, pocl(t)) {
		source += k.Source
	}
	require.Equal(t, 2, strings.Count(source, "write_imagef("))
	require.Equal(t, 5, strings.Count(source, "read_imagef("), "a texel of the data, four of the weight")
	args := map[*tir.Buffer]*tensor.Tensor{}
	for _, b := range f.Params[:3] {
		args[b] = ramp(b.DType, b.Shape...)
	}
	agree(t, kernels, between, args, numtest.Tolerance{Rel: 1e-5, Abs: 1e-5})
}
