package relay

import (
	"math"

	"github.com/texel-ml/texel/tensor"
)

// ResizeAttrs are the attributes of image.resize and image.resize2d. Lists have one entry for each resized axis.
type ResizeAttrs struct {
	Size                []int     `relay:"size"`   // the result's extents
	Scales              []float64 `relay:"scales"` // what maps coordinates; nil: result extent / data extent
	Roi                 []float64 `relay:"roi"`    // tf_crop_and_resize: all starts, then all ends, as fractions
	Axes                []int     `relay:"axes"`   // image.resize only; nil: every axis
	Layout              string    `relay:"layout"` // image.resize2d only
	Method              string    `relay:"method"` // "nearest_neighbor", "linear" or "cubic"
	CoordinateTransform string    `relay:"coordinate_transformation_mode"`
	RoundingMethod      string    `relay:"rounding_method"` // nearest: "round_prefer_floor", "round_prefer_ceil", "floor", "ceil"
	CubicAlpha          float64   `relay:"cubic_alpha"`
	CubicExclude        bool      `relay:"cubic_exclude"` // weights outside are dropped and the others made to sum to 1; linear too
	Antialias           bool      `relay:"antialias"`     // widen the filter when an axis shrinks
	ExtrapolationValue  float64   `relay:"extrapolation_value"`
}

// GridSampleAttrs are the attributes of image.grid_sample.
type GridSampleAttrs struct {
	Method       string `relay:"method"`       // "nearest", "bilinear" or "bicubic"
	PaddingMode  string `relay:"padding_mode"` // "zeros", "border" or "reflection"
	AlignCorners bool   `relay:"align_corners"`
	Layout       string `relay:"layout"` // "NCHW" or "NCDHW"
}

// imageOps are the operators on pictures.
func imageOps() []*Op {
	const doc = " ONNX Resize, whose attribute names map one to one: coordinate_transformation_mode is half_pixel, half_pixel_symmetric, " +
		"pytorch_half_pixel, tf_half_pixel_for_nn, align_corners, asymmetric or tf_crop_and_resize."
	attrs := func(layout string) func() any {
		return func() any {
			return &ResizeAttrs{Layout: layout, Method: "linear", CoordinateTransform: "half_pixel", RoundingMethod: "round_prefer_floor",
				CubicAlpha: -0.75}
		}
	}
	return []*Op{
		{
			Name: "image.resize2d", Args: []string{"data"}, NewAttrs: attrs("NCHW"), Infer: inferResize, Eval: evalResize, Class: Injective, Lower: "resize",
			Doc: "data resampled along the axes H and W of the layout, which may be blocked." + doc,
		},
		{
			Name: "image.resize", Args: []string{"data"}, NewAttrs: attrs(""), Infer: inferResize, Eval: evalResize, Class: Injective, Lower: "resize",
			Doc: "data resampled along any axes." + doc,
		},
		{
			Name: "image.grid_sample", Args: []string{"data", "grid"},
			NewAttrs: func() any { return &GridSampleAttrs{Method: "bilinear", PaddingMode: "zeros", Layout: "NCHW"} },
			Infer:    inferGridSample, Eval: evalGridSample, Class: Injective, Lower: "grid_sample",
			Doc: "data sampled at the places that grid gives. data is (N, C, H, W), grid (N, H', W', 2) with x and y in [−1, 1], the result " +
				"(N, C, H', W'); or with one more axis D and z last. ONNX GridSample.",
		},
	}
}

// ResizedAxes returns the physical axes that the operator named op resizes, in the order of the attribute lists.
func (a *ResizeAttrs) ResizedAxes(op string, rank int) ([]int, error) {
	if op == "image.resize2d" {
		l, err := tensor.ParseLayout(a.Layout)
		if err != nil {
			return nil, err
		}
		return []int{l.Index('H'), l.Index('W')}, nil
	}
	axes := make([]int, 0, rank)
	if a.Axes == nil {
		for i := range rank {
			axes = append(axes, i)
		}
	}
	for _, axis := range a.Axes {
		axes = append(axes, NormalAxis(axis, rank))
	}
	return axes, nil
}

func inferResize(s *Site) (Type, error) {
	a, err := attrsOf[ResizeAttrs](s)
	if err != nil {
		return nil, err
	}
	t, err := s.Arith(0)
	if err != nil {
		return nil, err
	}
	if s.Op.Name == "image.resize2d" {
		l, err := s.layout(a.Layout, "", t.Shape)
		if err != nil {
			return nil, err
		}
		if axes, ok := spatialAxes(l); !ok || len(axes) != 2 || l.Index('D') >= 0 {
			return nil, s.Illegal("layout %v, wanted one with the axes NCHW", l)
		}
	} else if _, err := s.axes(a.Axes, len(t.Shape)); err != nil {
		return nil, err
	}
	axes, err := a.ResizedAxes(s.Op.Name, len(t.Shape))
	if err != nil {
		return nil, s.Illegal("%v", err)
	}
	if err := s.count("size", a.Size, len(axes), 0); err != nil {
		return nil, err
	}
	if a.Scales != nil && len(a.Scales) != len(axes) {
		return nil, s.Illegal("scales=%v, wanted %d entries", a.Scales, len(axes))
	}
	for _, v := range a.Scales {
		if !(v > 0) || math.IsInf(v, 0) {
			return nil, s.Illegal("scales=%v, wanted positive numbers", a.Scales)
		}
	}
	if a.CoordinateTransform == "tf_crop_and_resize" && len(a.Roi) != 2*len(axes) {
		return nil, s.Illegal("roi=%v, wanted %d entries", a.Roi, 2*len(axes))
	}
	for _, c := range []struct {
		name, value string
		legal       []string
	}{
		{"method", a.Method, []string{"nearest_neighbor", "linear", "cubic"}},
		{"coordinate_transformation_mode", a.CoordinateTransform, []string{"half_pixel", "half_pixel_symmetric", "pytorch_half_pixel",
			"tf_half_pixel_for_nn", "align_corners", "asymmetric", "tf_crop_and_resize"}},
		{"rounding_method", a.RoundingMethod, []string{"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"}},
	} {
		if err := s.oneOf(c.name, c.value, c.legal...); err != nil {
			return nil, err
		}
	}
	out := t.Shape.Clone()
	for i, axis := range axes {
		if out[axis] == 0 && a.Size[i] != 0 {
			return nil, s.Illegal("axis %d of %v is empty", axis, t)
		}
		out[axis] = a.Size[i]
	}
	return s.Result(t.DType, out)
}

// oneOf checks that an attribute has one of the legal values.
func (s *Site) oneOf(name, value string, legal ...string) error {
	for _, l := range legal {
		if value == l {
			return nil
		}
	}
	return s.Illegal("%s=%q, wanted one of %q", name, value, legal)
}

func inferGridSample(s *Site) (Type, error) {
	a, err := attrsOf[GridSampleAttrs](s)
	if err != nil {
		return nil, err
	}
	data, err := s.Float(0)
	if err != nil {
		return nil, err
	}
	grid, err := s.Float(1)
	if err != nil {
		return nil, err
	}
	rank := len(a.Layout)
	if err := s.oneOf("layout", a.Layout, "NCHW", "NCDHW"); err != nil {
		return nil, err
	}
	if err := s.oneOf("method", a.Method, "nearest", "bilinear", "bicubic"); err != nil {
		return nil, err
	}
	if err := s.oneOf("padding_mode", a.PaddingMode, "zeros", "border", "reflection"); err != nil {
		return nil, err
	}
	if len(data.Shape) != rank || len(grid.Shape) != rank || grid.Shape[0] != data.Shape[0] || grid.Shape[rank-1] != rank-2 {
		return nil, s.Illegal("data %v and grid %v do not fit layout %s", data, grid, a.Layout)
	}
	if data.Shape.Elems() == 0 && grid.Shape.Elems() != 0 {
		return nil, s.Illegal("data %v is empty", data)
	}
	return s.Result(data.DType, append(data.Shape[:2:2], grid.Shape[1:rank-1]...))
}
