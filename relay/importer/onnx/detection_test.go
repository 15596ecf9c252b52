package onnx

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/texel-ml/texel/tensor"
)

// TestMaxRoiPool holds it against its definition: regions inside, across the border, turned over, of one pixel and outside.
func TestMaxRoiPool(t *testing.T) {
	const h, w, rows, columns, factor = 6, 5, 2, 3, 0.5
	regions := [][5]float64{{0, 0, 0, 7, 9}, {1, 1.4, 2.6, 20, 20}, {1, 6, 6, 2, 2}, {0, 3, 3, 3, 3}, {0, 30, 30, 40, 40}}
	x, rois := normal(2, 2, h, w), tensor.New(tensor.Float32, tensor.Shape{len(regions), 5})
	for i, r := range regions {
		for k, v := range r {
			tensor.View[float32](rois)[5*i+k] = float32(v)
		}
	}
	m := model(16, graphOf(values(value("x", 1, 2, 2, h, w), value("rois", 1, len(regions), 5)), values(value("y", 1)),
		op("MaxRoiPool", names("x", "rois"), names("y"), attr("pooled_shape", []int{rows, columns}), attr("spatial_scale", factor))))
	module, _ := load(t, m, Options{})
	got := operandsOf(compute(t, module, x, rois))[0]
	require.Equal(t, tensor.Shape{len(regions), 2, rows, columns}, got.shape)
	image := operandsOf([]*tensor.Tensor{x})[0]
	pixel := func(v float64) float64 { return math.Floor(float64(float32(v))*factor + 0.5) }
	for i, r := range regions {
		cell := func(k, cells, first, last, extent int) (from, to int) {
			start := pixel(r[first])
			size := math.Max(pixel(r[last])-start+1, 1) / float64(cells)
			at := func(v float64) int { return int(math.Max(0, math.Min(float64(extent), v+start))) }
			return at(math.Floor(float64(k) * size)), at(math.Ceil(float64(k+1) * size))
		}
		for c := range 2 {
			for y := range rows {
				for z := range columns {
					want, found := math.Inf(-1), false
					y0, y1 := cell(y, rows, 2, 4, h)
					z0, z1 := cell(z, columns, 1, 3, w)
					for a := y0; a < y1; a++ {
						for b := z0; b < z1; b++ {
							want, found = math.Max(want, image.at(int(r[0]), c, a, b)), true
						}
					}
					if !found {
						want = 0
					}
					require.Equal(t, want, got.at(i, c, y, z), "region %d, channel %d, cell %d %d", i, c, y, z)
				}
			}
		}
	}
}
