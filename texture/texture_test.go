package texture

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/texel-ml/texel/diag"
	"github.com/texel-ml/texel/target"
	"github.com/texel-ml/texel/tensor"
)

func TestAliases(t *testing.T) {
	for _, c := range []struct {
		name          string
		shape         tensor.Shape
		width, height int
		text          string
	}{
		{RowAlias, tensor.Shape{1, 8, 40, 40, 4}, 40, 320, "width 3, height 0·1·2"},
		{NHWCAlias, tensor.Shape{1, 24, 20, 20, 4}, 400, 24, "width 2·3, height 0·1"},
		{NHWCAlias, tensor.Shape{1, 160, 160, 8, 4}, 1280, 160, "width 2·3, height 0·1"},
		{WeightAlias, tensor.Shape{128, 512, 3, 3, 4}, 4608, 128, "width 1·2·3, height 0"},
		{NHWCAlias, tensor.Shape{6, 5, 4}, 5, 6, "width 1, height 0"},
		{RowAlias, tensor.Shape{7, 4}, 7, 1, "width 0"},
		{WeightAlias, tensor.Shape{7, 4}, 1, 7, "height 0"},
	} {
		f, err := Alias(c.name, len(c.shape))
		require.NoError(t, err)
		require.Equal(t, c.text, f.String())
		m, err := Fold(c.shape, tensor.Float32, f, Limits{Width: 8192, Height: 8192})
		require.NoError(t, err)
		require.Equal(t, []int{c.width, c.height, 0}, []int{m.Width, m.Height, m.Layers}, "%s of %v", c.name, c.shape)
		require.Equal(t, int64(4*c.shape.Elems()), m.Bytes())
	}
}

// Every element has a place of its own, within the image.
func TestFoldIsOneToOne(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rank := rapid.IntRange(1, 5).Draw(t, "rank")
		shape := make(tensor.Shape, rank)
		for i := range shape {
			shape[i] = rapid.IntRange(1, 5).Draw(t, "extent")
		}
		shape[rank-1] = rapid.SampledFrom([]int{1, 4, 8}).Draw(t, "lanes")
		var f Folding
		axes := make([]int, rank-1)
		for i := range axes {
			axes[i] = i
		}
		for _, axis := range rapid.Permutation(axes).Draw(t, "axes") {
			to := rapid.SampledFrom([]*[]int{&f.Width, &f.Height, &f.Layers}).Draw(t, "direction")
			*to = append(*to, axis)
		}
		m, err := Fold(shape, tensor.Float16, f, Limits{})
		require.NoError(t, err)
		require.Equal(t, int64(2*shape.Elems()), m.Bytes())
		seen := map[[4]int]bool{}
		index := make([]int, rank)
		for n := range shape.Elems() {
			for i, rest := rank-1, n; i >= 0; i-- {
				index[i], rest = rest%shape[i], rest/shape[i]
			}
			x, y, layer, lane := m.At(index...)
			at := [4]int{x, y, layer, lane}
			require.False(t, seen[at], "%v at %v", index, at)
			seen[at] = true
			require.True(t, x >= 0 && x < m.Width && y >= 0 && y < m.Height && layer >= 0 && layer < max(1, m.Layers) && lane < m.Texel.Lanes)
		}
	})
}

func TestTexels(t *testing.T) {
	for _, c := range []struct {
		d     tensor.DType
		n     int
		want  Texel
		bytes int
		name  string
	}{
		{tensor.Float32, 4, Texel{tensor.Float32, 4, 4}, 16, "rgba32f"},
		{tensor.Float16, 4, Texel{tensor.Float16, 4, 4}, 8, "rgba16f"},
		{tensor.Float16, 8, Texel{tensor.Uint32, 4, 8}, 16, "rgba32ui"},
		{tensor.Int8, 16, Texel{tensor.Uint32, 4, 16}, 16, "rgba32ui"},
		{tensor.Int8, 8, Texel{tensor.Uint16, 4, 8}, 8, "rgba16ui"},
		{tensor.Bool, 4, Texel{tensor.Uint8, 4, 4}, 4, "rgba8ui"},
		{tensor.Int32, 1, Texel{tensor.Int32, 1, 1}, 4, "r32i"},
	} {
		got, err := texelOf(c.d, c.n)
		require.NoError(t, err)
		require.Equal(t, c.want, got)
		require.Equal(t, c.bytes, got.Bytes())
		require.Equal(t, c.name, got.Format())
		require.Equal(t, c.n != 1 && c.n != 4, got.Packed())
	}
}

func TestFoldRefuses(t *testing.T) {
	row, err := Alias(RowAlias, 3)
	require.NoError(t, err)
	lim := Limits{Width: 16, Height: 8, Layers: 2, PitchAlignment: 64}
	for _, c := range []struct {
		shape tensor.Shape
		d     tensor.DType
		f     Folding
		kind  error
		want  string
	}{
		{tensor.Shape{8, 17, 4}, tensor.Float32, row, diag.ErrUnsupported, "texture: width 1, height 0: width of the image of float32 (8, 17, 4) is 17, the limit is 16"},
		{tensor.Shape{9, 16, 4}, tensor.Float32, row, diag.ErrUnsupported, "height of the image of float32 (9, 16, 4) is 9, the limit is 8"},
		{tensor.Shape{3, 16, 4}, tensor.Float32, Folding{Width: []int{1}, Layers: []int{0}}, diag.ErrUnsupported, "number of layers of the image of float32 (3, 16, 4) is 3, the limit is 2"},
		{tensor.Shape{1 << 40, 1 << 40, 4}, tensor.Float32, Folding{Height: []int{0, 1}}, diag.ErrUnsupported, "height"},
		{tensor.Shape{8, 16, 3}, tensor.Float32, row, diag.ErrUnsupported, "no texel holds 3 elements of type float32"},
		{tensor.Shape{8, 16, 4}, tensor.Float64, row, diag.ErrUnsupported, "no texel holds 4 elements of type float64"},
		{tensor.Shape{8, 0, 4}, tensor.Float32, row, diag.ErrInvalid, "axis 1 of shape (8, 0, 4) has extent 0"},
		{tensor.Shape{8, 4}, tensor.Float32, row, diag.ErrInvalid, "axis 1 is out of range"},
		{tensor.Shape{8, 4, 4, 4}, tensor.Float32, row, diag.ErrInvalid, "folds 2 axes of a tensor of rank 4; wanted all but the last"},
		{tensor.Shape{8, 16, 4}, tensor.Float32, Folding{Width: []int{1, 1}}, diag.ErrInvalid, "axis 1 is out of range or given twice"},
		{tensor.Shape{}, tensor.Float32, Folding{}, diag.ErrInvalid, "rank 0"},
	} {
		_, err := Fold(c.shape, c.d, c.f, lim)
		require.ErrorIs(t, err, c.kind)
		require.ErrorContains(t, err, c.want)
	}
	_, err = Alias("global.texture-nchw", 4)
	require.ErrorContains(t, err, "no folding has this name, known are global.texture, global.texture-nhwc, global.texture-weight")
	_, err = Alias(RowAlias, 1)
	require.ErrorContains(t, err, "rank 1")
}

func TestPitch(t *testing.T) {
	adreno, err := target.Parse("adreno-660")
	require.NoError(t, err)
	f, err := Alias(RowAlias, 4)
	require.NoError(t, err)
	m, err := Fold(tensor.Shape{4, 10, 65, 4}, tensor.Float16, f, LimitsOf(adreno))
	require.NoError(t, err)
	require.Equal(t, 128*8, m.RowPitch)
	require.Equal(t, int64(128*8*40), m.PitchedBytes())

	host, err := target.Host()
	require.NoError(t, err)
	_, err = Fold(tensor.Shape{1, 4}, tensor.Float32, Folding{Width: []int{0}}, LimitsOf(host))
	require.ErrorIs(t, err, diag.ErrUnsupported)
}
