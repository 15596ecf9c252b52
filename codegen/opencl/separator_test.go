package opencl

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/texel-ml/texel/internal/numtest"
	"github.com/texel-ml/texel/schedule"
	"github.com/texel-ml/texel/tensor"
	"github.com/texel-ml/texel/tir"
	"github.com/texel-ml/texel/tir/transform"
)

// TestAxisSeparators reads the padded operand of a convolution through images whose height and width are other axes than
// those of the named foldings, with layers, and with the axes of the buffer in another order.
func TestAxisSeparators(t *testing.T) {
	for _, c := range []struct {
		layout     string
		separators []int
		fold       tir.Folding
	}{
		{"", []int{2}, tir.Folding{Height: []int{0, 1}, Width: []int{2, 3}}},
		{"", []int{1, 2}, tir.Folding{Layers: []int{0}, Height: []int{1}, Width: []int{2, 3}}},
		{"n, c, h, w, l -> h, n, w, c, l", []int{1}, tir.Folding{Height: []int{0}, Width: []int{1, 2, 3}}},
	} {
		s := schedule.New(conv3x3(8, 12, 5, 7))
		pad, conv := s.Block("pad"), s.Block("conv")
		if c.layout != "" {
			s.TransformLayout(pad, schedule.Write, 0, c.layout)
		}
		s.SetScope(pad, "global.texture")
		s.SetAxisSeparator(pad, schedule.Write, 0, c.separators...)
		grid := func(b schedule.Block) schedule.Loop {
			l := s.Loops(b).Slice()
			parts := s.Split(s.Fuse(l[0], l[1], l[2], l[3]), 0, 16)
			s.Bind(parts[0], "blockIdx.x")
			s.Bind(parts[1], "threadIdx.x")
			return parts[1]
		}
		s.Vectorize(s.Loops(pad).At(4))
		grid(pad)
		out := s.CacheWrite(conv, tir.Local)
		s.Vectorize(s.Loops(out).At(4))
		s.ComputeAt(conv, grid(out))
		require.NoError(t, s.Err())
		kernels, between, err := transform.Lower(s.Func(), transform.Options{Device: transform.GPU})
		require.NoError(t, err)
		require.Len(t, between, 1)
		require.Equal(t, c.fold, *between[0].Folding)
		args := map[*tir.Buffer]*tensor.Tensor{}
		for _, b := range s.Func().Params[:2] {
			args[b] = ramp(b.DType, b.Shape...)
		}
		agree(t, kernels, between, args, numtest.Tolerance{Rel: 1e-5, Abs: 1e-5})
	}
}
