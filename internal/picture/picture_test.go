package picture

import (
	"image"
	"image/color"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/texel-ml/texel/diag"
	"github.com/texel-ml/texel/tensor"
)

// ramp is a picture whose pixel (x, y) is (10x, 10y, 7).
func ramp(w, h int) *image.NRGBA {
	img := image.NewNRGBA(image.Rect(0, 0, w, h))
	for y := range h {
		for x := range w {
			img.SetNRGBA(x, y, color.NRGBA{uint8(10 * x), uint8(10 * y), 7, 255})
		}
	}
	return img
}

func TestAreaIsTheMean(t *testing.T) {
	x, err := Convert(ramp(6, 6), tensor.Float32, tensor.Shape{1, 3, 2, 2}, Options{})
	require.NoError(t, err)
	require.InDeltaSlice(t, []float32{10, 40, 10, 40, 10, 10, 40, 40, 7, 7, 7, 7}, tensor.View[float32](x), 1e-4)
	// three pixels onto two: each new one covers one and a half
	x, err = Convert(ramp(3, 1), tensor.Float32, tensor.Shape{1, 2, 3}, Options{})
	require.NoError(t, err)
	require.InDelta(t, 10.0/3, float64(tensor.View[float32](x)[0]), 1e-4)
	require.InDelta(t, 50.0/3, float64(tensor.View[float32](x)[3]), 1e-4)
}

func TestGrowingInterpolates(t *testing.T) {
	x, err := Convert(ramp(2, 1), tensor.Float32, tensor.Shape{1, 4, 3}, Options{})
	require.NoError(t, err)
	v := tensor.View[float32](x)
	require.InDeltaSlice(t, []float32{0, 2.5, 7.5, 10}, []float32{v[0], v[3], v[6], v[9]}, 1e-4)
}

func TestStepsInOrder(t *testing.T) {
	// the centred square of 4 x 2 is columns 1 and 2
	o := Options{Crop: "center", Resize: "nearest", Channels: "bgr", Scale: 2, Mean: []float32{1, 2, 3}, Std: []float32{1, 2, 4}}
	x, err := Convert(ramp(4, 2), tensor.Float32, tensor.Shape{1, 3, 2, 2}, o)
	require.NoError(t, err)
	require.Equal(t, []float32{
		13, 13, 13, 13, // blue: 7·2 − 1
		-1, -1, 9, 9, // green: (10y·2 − 2) / 2
		17.0 / 4, 37.0 / 4, 17.0 / 4, 37.0 / 4, // red: (10x·2 − 3) / 4 at x = 1, 2
	}, tensor.View[float32](x))
}

func TestChannelsInnermostAndIntegers(t *testing.T) {
	x, err := Convert(ramp(2, 2), tensor.Uint8, tensor.Shape{1, 2, 2, 3}, Options{Mean: []float32{5}})
	require.NoError(t, err)
	require.Equal(t, []byte{0, 0, 2, 5, 0, 2, 0, 5, 2, 5, 5, 2}, x.Data)
	x, err = Convert(ramp(1, 1), tensor.Float32, tensor.Shape{1, 1, 1}, Options{})
	require.NoError(t, err)
	require.InDelta(t, 7*0.114, float64(tensor.View[float32](x)[0]), 1e-4)
}

func TestWhatDoesNotFitIsRefused(t *testing.T) {
	dir := t.TempDir()
	text := filepath.Join(dir, "x.png")
	require.NoError(t, os.WriteFile(text, []byte("not a picture"), 0o644))
	_, err := ReadFile(text, tensor.Float32, tensor.Shape{1, 3, 2, 2}, Options{})
	require.ErrorIs(t, err, diag.ErrInvalid)
	require.ErrorContains(t, err, "is not a JPEG or PNG picture")
	_, err = ReadFile(filepath.Join(dir, "none.png"), tensor.Float32, tensor.Shape{1, 3, 2, 2}, Options{})
	require.ErrorIs(t, err, diag.ErrInvalid)
	for want, f := range map[string]func() (*tensor.Tensor, error){
		"the input is (1, 5, 2, 2)": func() (*tensor.Tensor, error) {
			return Convert(ramp(2, 2), tensor.Float32, tensor.Shape{1, 5, 2, 2}, Options{})
		},
		"does not become elements of bool": func() (*tensor.Tensor, error) {
			return Convert(ramp(2, 2), tensor.Bool, tensor.Shape{1, 3, 2, 2}, Options{})
		},
		`crop: wanted one of [center none], found "left"`: func() (*tensor.Tensor, error) {
			return Convert(ramp(2, 2), tensor.Float32, tensor.Shape{1, 3, 2, 2}, Options{Crop: "left"})
		},
		"mean: wanted 1 or 3 values": func() (*tensor.Tensor, error) {
			return Convert(ramp(2, 2), tensor.Float32, tensor.Shape{1, 3, 2, 2}, Options{Mean: []float32{1, 2}})
		},
		"std: wanted values other than 0": func() (*tensor.Tensor, error) {
			return Convert(ramp(2, 2), tensor.Float32, tensor.Shape{1, 3, 2, 2}, Options{Std: []float32{0}})
		},
	} {
		_, err := f()
		require.ErrorIs(t, err, diag.ErrInvalid)
		require.ErrorContains(t, err, want)
	}
}

// TestALargePictureIsNotHeldAsFloats counts what converting a picture takes, a pixel.
func TestALargePictureIsNotHeldAsFloats(t *testing.T) {
	img := image.NewGray(image.Rect(0, 0, 1000, 1000))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := Convert(img, tensor.Float32, tensor.Shape{1, 3, 10, 10}, Options{})
	runtime.ReadMemStats(&after)
	require.NoError(t, err)
	require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(9*1000*1000))
}
