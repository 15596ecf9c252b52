package relaytext

import (
	"math"

	"github.com/texel-ml/texel/diag"
	"github.com/texel-ml/texel/relay"
	"github.com/texel-ml/texel/tensor"
)

// methods are the names of interpolations in Relay's operators.
var methods = map[string]string{"nearest_neighbor": "nearest_neighbor", "nearest": "nearest_neighbor", "bilinear": "linear", "trilinear": "linear",
	"linear": "linear", "bicubic": "cubic", "cubic": "cubic"}

// method returns our name of an interpolation.
func (c *call) method(name string) string {
	m, ok := methods[name]
	if !ok {
		c.fail(diag.Invalid, "method=%q, wanted nearest_neighbor, linear or cubic", name)
	}
	return m
}

// rounding returns our name of a rounding: round goes up from the middle, and no name is the nearest one for corners
// and down otherwise.
func rounding(name, mode string) string {
	switch {
	case name == "round", name == "" && mode == "align_corners":
		return "round_prefer_ceil"
	case name == "":
		return "floor"
	}
	return name
}

// sampled applies a resize with attributes in Relay's words.
func (c *call) sampled(name string, a *relay.ResizeAttrs) relay.Expr {
	a.Method, a.RoundingMethod = c.method(a.Method), rounding(a.RoundingMethod, a.CoordinateTransform)
	if a.CoordinateTransform != "tf_crop_and_resize" {
		a.Roi = nil
	}
	return c.cast(c.op(name, a, c.args[0]), attr(c, "out_dtype", tensor.Invalid))
}

// resize2D is our operator of that name; Relay's texts have other words for some attributes.
func (c *call) resize2D() relay.Expr {
	a := textAttrs[relay.ResizeAttrs](c, "image.resize2d")
	a.Size = spread(a.Size, 2)
	return c.sampled("image.resize2d", a)
}

// resize resizes the spatial axes of a layout with our operator for any axes.
func resize(layout string) func(c *call) relay.Expr {
	return func(c *call) relay.Expr {
		a := textAttrs[relay.ResizeAttrs](c, "image.resize2d")
		a.Size = spread(a.Size, len(layout)-2)
		if a.Layout == "NCHW" { // the default of the operator for pictures
			a.Layout = layout
		}
		c.spatial(a, layout[2:])
		return c.sampled("image.resize", a)
	}
}

// spatial turns a layout into the axes that letters have in it.
func (c *call) spatial(a *relay.ResizeAttrs, letters string) {
	l, err := tensor.ParseLayout(a.Layout)
	if err != nil || l.Fits(c.tensorOf(0).Shape) != nil || !l.Plain() {
		c.fail(diag.Invalid, "layout=%q does not fit %v", a.Layout, c.tensorOf(0))
		return
	}
	for _, letter := range letters {
		a.Axes = append(a.Axes, l.Index(byte(letter)))
	}
	a.Layout = ""
}

// isOldResize tells the operator of older texts, which resizes pictures, from ours, which resizes any axes.
func (c *call) isOldResize() bool {
	t := relay.Tensor(c.args[0])
	if t == nil || len(t.Shape) == 2 {
		return false
	}
	for _, a := range c.attrs {
		if list, ok := a.value.([]any); a.name == "axes" || a.name == "size" && (!ok || len(list) != 2) {
			return false
		}
	}
	return true
}

// oldResize is image.resize2d by its former name.
func (c *call) oldResize() relay.Expr {
	alpha, exclude := attr(c, "bicubic_alpha", -0.5), attr(c, "bicubic_exclude", false)
	a := textAttrs[relay.ResizeAttrs](c, "image.resize2d")
	a.CubicAlpha, a.CubicExclude = alpha, exclude
	return c.sampled("image.resize2d", a)
}

// scaled returns an extent times a factor, rounded as Relay does.
func (c *call) scaled(extent int, factor float64) int {
	n := math.Round(float64(extent) * factor)
	if !(n >= 0 && n <= math.MaxInt32) {
		c.fail(diag.Invalid, "an extent of %d scaled by %v has no size", extent, factor)
		return 0
	}
	return int(n)
}

// upsampling is a resize of H and W by factors.
func (c *call) upsampling() relay.Expr {
	a := defaults[relay.ResizeAttrs](c, "image.resize2d")
	h, w := attr(c, "scale_h", 1.0), attr(c, "scale_w", 1.0)
	a.Layout, a.Method, a.CubicAlpha = attr(c, "layout", "NCHW"), attr(c, "method", "nearest_neighbor"), -0.5
	a.CoordinateTransform, a.RoundingMethod = "asymmetric", ""
	if attr(c, "align_corners", false) {
		a.CoordinateTransform = "align_corners"
	}
	l, err := tensor.ParseLayout(a.Layout)
	if err != nil || l.Fits(c.tensorOf(0).Shape) != nil {
		c.fail(diag.Invalid, "layout=%q does not fit %v", a.Layout, c.tensorOf(0))
		return nil
	}
	shape := c.tensorOf(0).Shape
	a.Size = []int{c.scaled(l.Extent(shape, 'H'), h), c.scaled(l.Extent(shape, 'W'), w)}
	return c.sampled("image.resize2d", a)
}

// upsampling3D is a resize of D, H and W by factors.
func (c *call) upsampling3D() relay.Expr {
	a := defaults[relay.ResizeAttrs](c, "image.resize")
	scales := []float64{attr(c, "scale_d", 1.0), attr(c, "scale_h", 1.0), attr(c, "scale_w", 1.0)}
	a.Layout, a.Method = attr(c, "layout", "NCDHW"), attr(c, "method", "nearest_neighbor")
	a.CoordinateTransform, a.RoundingMethod = attr(c, "coordinate_transformation_mode", "half_pixel"), ""
	c.spatial(a, "DHW")
	if c.err != nil {
		return nil
	}
	for i, axis := range a.Axes {
		a.Size = append(a.Size, c.scaled(c.tensorOf(0).Shape[axis], scales[i]))
	}
	return c.sampled("image.resize", a)
}

// gridSample has the coordinates along the second axis, ours along the last.
func (c *call) gridSample() relay.Expr {
	a := defaults[relay.GridSampleAttrs](c, "image.grid_sample")
	a.AlignCorners = true
	c.fill(a)
	order := []int{0, 2, 3, 1}
	if a.Layout == "NCDHW" {
		order = []int{0, 2, 3, 4, 1}
	}
	return c.op("image.grid_sample", a, c.args[0], c.transpose(c.args[1], order...))
}

// allClassNonMaxSuppression says how much room its result needs with its operands alone.
func (c *call) allClassNonMaxSuppression() relay.Expr {
	if format := attr(c, "output_format", "onnx"); format != "onnx" {
		c.fail(diag.Unsupported, "output_format=%q; onnx is supported", format)
	}
	a := &relay.NonMaxSuppressionAttrs{}
	if t := relay.Tensor(c.args[0]); t != nil && len(t.Shape) == 3 {
		a.MostBoxes = t.Shape[1]
	}
	limit := func(i int, d tensor.DType, what string) relay.Expr {
		if _, known := c.args[i].(*relay.Constant); known {
			return c.scalar(d, c.number(i, what))
		}
		return c.reshape(c.cast(c.args[i], d))
	}
	most := limit(2, tensor.Int64, "number of boxes")
	if k, known := most.(*relay.Constant); known {
		a.MostBoxes = int(min(max(tensor.Widen(k.Value).I[0], 0), int64(a.MostBoxes)))
	}
	return c.op("vision.non_max_suppression", a, c.args[0], c.args[1], most, limit(3, tensor.Float32, "overlap"), limit(4, tensor.Float32, "score"))
}
