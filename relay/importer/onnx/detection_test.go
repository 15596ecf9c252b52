package onnx

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/texel-ml/texel/tensor"
)

// TestLimitsOfSuppressionMayBeComputed gives the limits as inputs: the result has room for every box then.
func TestLimitsOfSuppressionMayBeComputed(t *testing.T) {
	boxes := tensor.Of(tensor.Float32, tensor.Shape{1, 3, 4}, []float32{0, 0, 1, 1, 0, 0.1, 1, 1.1, 5, 5, 6, 6}...)
	scores := tensor.Of(tensor.Float32, tensor.Shape{1, 1, 3}, []float32{0.8, 0.9, 0.3}...)
	m := model(11, graphOf(values(value("boxes", 1, 1, 3, 4), value("scores", 1, 1, 1, 3), value("most", 7, 1), value("overlap", 1), value("least", 1, 1)),
		values(value("y", 7, nil, 3)), op("NonMaxSuppression", names("boxes", "scores", "most", "overlap", "least"), names("y"))))
	module, _ := load(t, m, Options{})
	for _, c := range []struct {
		most           int64
		overlap, least float32
		want           []int64 // the boxes taken
	}{
		{9, 0.5, 0, []int64{1, 2}},
		{9, 0.95, 0, []int64{1, 0, 2}},
		{2, 0.95, 0, []int64{1, 0}},
		{9, 0.95, 0.5, []int64{1, 0}},
		{0, 0.5, 0, nil},
		{-1, 0.5, 0, nil},
	} {
		got := compute(t, module, boxes, scores, tensor.Of(tensor.Int64, tensor.Shape{1}, c.most), tensor.Of(tensor.Float32, tensor.Shape{}, c.overlap),
			tensor.Of(tensor.Float32, tensor.Shape{1}, c.least))
		require.Equal(t, tensor.Shape{3, 3}, got[0].Shape)
		rows := tensor.View[int64](got[0])
		for i := range 3 {
			want := []int64{-1, -1, -1}
			if i < len(c.want) {
				want = []int64{0, 0, c.want[i]}
			}
			require.Equal(t, want, append([]int64{}, rows[3*i:3*i+3]...), "%+v", c)
		}
	}
}

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
