package onnx

import (
	"math"
	"slices"

	"github.com/texel-ml/texel/relay"
	"github.com/texel-ml/texel/tensor"
)

// resize resamples axes to sizes or by scales.
func resize(n *node) []relay.Expr {
	x := n.in(0)
	s := n.known(x)
	axes := n.ints("axes", nil)
	if !n.has("axes") {
		for a := range s {
			axes = append(axes, a)
		}
	}
	axes = n.axes(axes, len(s))
	attrs := &relay.ResizeAttrs{Method: n.resizeMethod(n.str("mode", "nearest")), CoordinateTransform: n.str("coordinate_transformation_mode", "half_pixel"),
		RoundingMethod: n.str("nearest_mode", "round_prefer_floor"), CubicAlpha: n.float("cubic_coeff_a", -0.75), CubicExclude: n.flag("exclude_outside", false),
		Antialias: n.flag("antialias", false), ExtrapolationValue: n.float("extrapolation_value", 0)}
	var scales []float64
	var sizes []int
	if n.opset < 11 {
		attrs.CoordinateTransform, attrs.RoundingMethod = "asymmetric", "floor"
		scales, _ = n.floatsAt(1, "the scales")
	} else {
		if e := n.opt(1); e != nil && elems(n.typ(e)) > 0 && attrs.CoordinateTransform == "tf_crop_and_resize" {
			attrs.Roi, _ = n.floatsAt(1, "the region")
		}
		if e := n.opt(2); e != nil && elems(n.typ(e)) > 0 {
			scales, _ = n.floatsAt(2, "the scales")
		}
		if e := n.opt(3); e != nil && elems(n.typ(e)) > 0 {
			sizes, _ = n.intsAt(3, "the sizes")
		}
	}
	n.wants((scales == nil) != (sizes == nil), "wants either scales or sizes")
	return one(n.resample(x, axes, scales, sizes, attrs))
}

func (n *node) resizeMethod(mode string) string {
	switch mode {
	case "nearest":
		return "nearest_neighbor"
	case "linear", "cubic":
		return mode
	case "bilinear": // the name in early files
		return "linear"
	}
	n.failInvalid("mode %q, wanted nearest, linear or cubic", mode)
	return ""
}

// resample fills sizes, scales and axes into attrs and makes the call; axes that keep their extent are left out.
func (n *node) resample(x relay.Expr, axes []int, scales []float64, sizes []int, attrs *relay.ResizeAttrs) relay.Expr {
	s := n.known(x)
	n.wants(scales == nil || len(scales) == len(axes), "%d scales for %d axes", len(scales), len(axes))
	n.wants(sizes == nil || len(sizes) == len(axes), "%d sizes for %d axes", len(sizes), len(axes))
	given := scales != nil
	if !given {
		sizes, scales = n.keepAspect(s, axes, sizes)
	} else {
		for i, a := range axes {
			n.wants(scales[i] > 0 && scales[i] <= 1<<20, "scale %g", scales[i])
			sizes = append(sizes, int(math.Floor(float64(float32(s[a])*float32(scales[i]))))) // 20 · 0.7 is 14 in this precision only
		}
	}
	roi := attrs.Roi
	n.wants(roi == nil || len(roi) == 2*len(axes), "a region of %d numbers for %d axes", len(roi), len(axes))
	attrs.Roi = nil
	var starts, ends []float64
	for i, a := range axes {
		n.wants(sizes[i] >= 0 && sizes[i] <= math.MaxInt32, "sizes %v", sizes)
		if sizes[i] == s[a] && scales[i] == 1 && roi == nil {
			continue
		}
		attrs.Axes, attrs.Size = append(attrs.Axes, a), append(attrs.Size, sizes[i])
		attrs.Scales = append(attrs.Scales, scales[i])
		if roi != nil {
			starts, ends = append(starts, roi[i]), append(ends, roi[len(axes)+i])
		}
	}
	if roi != nil {
		attrs.Roi = append(starts, ends...)
	}
	if len(attrs.Axes) == 0 {
		return x
	}
	if len(s) == 4 && slices.Equal(attrs.Axes, []int{2, 3}) {
		attrs.Axes, attrs.Layout = nil, "NCHW"
		return n.call("image.resize2d", attrs, x)
	}
	if len(s) == 4 && len(attrs.Axes) == 1 && attrs.Axes[0] >= 2 && roi == nil { // one of rows and columns stays
		other := 5 - attrs.Axes[0]
		attrs.Size, attrs.Scales = append(attrs.Size, s[other]), append(attrs.Scales, 1)
		if other == 2 {
			slices.Reverse(attrs.Size)
			slices.Reverse(attrs.Scales)
		}
		attrs.Axes, attrs.Layout = nil, "NCHW"
		return n.call("image.resize2d", attrs, x)
	}
	return n.call("image.resize", attrs, x)
}

// keepAspect applies keep_aspect_ratio_policy: one scale for every axis, the smallest or the largest that sizes ask for.
func (n *node) keepAspect(s tensor.Shape, axes, sizes []int) ([]int, []float64) {
	scales := make([]float64, len(sizes))
	for i, a := range axes {
		n.wants(s[a] > 0, "axis %d is empty", a)
		scales[i] = float64(sizes[i]) / float64(s[a])
	}
	policy := n.str("keep_aspect_ratio_policy", "stretch")
	var all float64
	switch policy {
	case "stretch":
		return sizes, scales
	case "not_larger":
		all = slices.Min(append(slices.Clone(scales), math.Inf(1)))
	case "not_smaller":
		all = slices.Max(append(slices.Clone(scales), 0))
	default:
		n.failInvalid("keep_aspect_ratio_policy %q", policy)
	}
	out := make([]int, len(sizes))
	for i, a := range axes {
		out[i] = int(math.Round(all * float64(s[a])))
		scales[i] = all
	}
	return out, scales
}

// upsample is resize as it was before opset 10.
func upsample(n *node) []relay.Expr {
	x := n.in(0)
	s := n.known(x)
	var scales []float64
	switch {
	case n.opset >= 9:
		scales, _ = n.floatsAt(1, "the scales")
	case n.opset >= 7:
		scales = n.floats("scales")
	default:
		scales = []float64{1, 1, n.float("height_scale", 1), n.float("width_scale", 1)}
	}
	n.wants(len(scales) == len(s), "%d scales for %d axes", len(scales), len(s))
	axes := make([]int, len(s))
	for a := range axes {
		axes[a] = a
	}
	attrs := &relay.ResizeAttrs{Method: n.resizeMethod(n.str("mode", "nearest")), CoordinateTransform: "asymmetric", RoundingMethod: "floor", CubicAlpha: -0.75}
	return one(n.resample(x, axes, scales, nil, attrs))
}

func gridSample(n *node) []relay.Expr {
	x := n.in(0)
	layout := map[int]string{4: "NCHW", 5: "NCDHW"}[n.rank(x)]
	if layout == "" {
		n.failUnsupported("an operand of shape %v", n.shape(x))
	}
	method := n.str("mode", "linear")
	if renamed := map[string]string{"linear": "bilinear", "cubic": "bicubic"}[method]; renamed != "" {
		method = renamed
	}
	grid, d := n.in(1), n.dtype(x)
	if !d.IsFloat() { // computed as float64
		x, grid = n.cast(x, tensor.Float64), n.cast(grid, tensor.Float64)
	}
	return one(n.cast(n.call("image.grid_sample", &relay.GridSampleAttrs{Method: method, PaddingMode: n.str("padding_mode", "zeros"),
		AlignCorners: n.flag("align_corners", false), Layout: layout}, x, grid), d))
}

// affineGrid gives the places that affine maps theta (N, r, r+1) send a regular grid in [-1, 1] to.
func affineGrid(n *node) []relay.Expr {
	theta := n.in(0)
	size, ok := n.intsAt(1, "the size")
	rank := len(size) - 2
	n.wants(ok && (rank == 2 || rank == 3) && n.shape(theta).Equal(tensor.Shape{size[0], rank, rank + 1}), "theta of shape %v for size %v", n.shape(theta), size)
	align := n.flag("align_corners", false)
	n.allocatable(size)
	points := tensor.Shape(size[2:]).Elems()
	n.wants(points >= 0 && points <= 1<<20, "size %v", size)
	base := make([]float64, 0, points*(rank+1))
	for p := range points {
		row := make([]float64, rank+1)
		row[rank] = 1
		for a, rest := rank-1, p; a >= 0; a-- {
			extent := size[2+a]
			i := rest % extent
			rest /= extent
			v := (2*float64(i)+1)/float64(extent) - 1
			if align {
				v = -1
				if extent > 1 {
					v = 2*float64(i)/float64(extent-1) - 1
				}
			}
			row[rank-1-a] = v // x first
		}
		base = append(base, row...)
	}
	grid := n.constShape(n.dtype(theta), tensor.Shape{points, rank + 1}, base)
	y := n.matmulT(n.broadcastTo(n.reshape(grid, tensor.Shape{1, points, rank + 1}), tensor.Shape{size[0], points, rank + 1}), theta, false, true)
	return one(n.reshape(y, append(append(tensor.Shape{size[0]}, size[2:]...), rank)))
}
