package relay

import (
	"github.com/texel-ml/texel/diag"
	"github.com/texel-ml/texel/tensor"
)

// BatchNormAttrs are the attributes of nn.batch_norm.
type BatchNormAttrs struct {
	Axis    int     `relay:"axis"`
	Epsilon float64 `relay:"epsilon"`
	Center  bool    `relay:"center"` // add beta
	Scale   bool    `relay:"scale"`  // multiply by gamma
}

// NormAttrs are the attributes of nn.layer_norm and nn.instance_norm.
type NormAttrs struct {
	Axis    int     `relay:"axis"`
	Epsilon float64 `relay:"epsilon"`
	Center  bool    `relay:"center"` // add beta
	Scale   bool    `relay:"scale"`  // multiply by gamma
}

// GroupNormAttrs are the attributes of nn.group_norm.
type GroupNormAttrs struct {
	NumGroups int     `relay:"num_groups"`
	Axis      int     `relay:"axis"`
	Epsilon   float64 `relay:"epsilon"`
	Center    bool    `relay:"center"`
	Scale     bool    `relay:"scale"`
}

// LRNAttrs are the attributes of nn.lrn.
type LRNAttrs struct {
	Size  int     `relay:"size"`
	Axis  int     `relay:"axis"`
	Bias  float64 `relay:"bias"`
	Alpha float64 `relay:"alpha"`
	Beta  float64 `relay:"beta"`
}

// L2NormalizeAttrs are the attributes of nn.l2_normalize.
type L2NormalizeAttrs struct {
	Eps  float64 `relay:"eps"`
	Axis []int   `relay:"axis"`
}

// SqueezeExciteAttrs are the attributes of nn.squeeze_excite.
type SqueezeExciteAttrs struct {
	Activation string  `relay:"activation"` // after the first layer: "relu", "swish", "hard_swish"
	Gate       string  `relay:"gate"`       // after the second: "sigmoid" or "hard_sigmoid"
	GateAlpha  float64 `relay:"gate_alpha"` // the hard sigmoid's slope
	GateBeta   float64 `relay:"gate_beta"`  // and offset
	Layout     string  `relay:"layout"`     // of data and result

	WeightLayout string `relay:"weight_layout"` // of w1 and w2: "OI" (also when empty), or "IO" with the outputs innermost
}

// normOps are the normalisations and softmax.
func normOps() []*Op {
	axis := func() any { return &AxisAttrs{-1} }
	return []*Op{
		{
			Name: "nn.softmax", Args: []string{"data"}, NewAttrs: axis, Infer: inferSoftmax, Eval: evalSoftmax(false), Class: Opaque, Lower: "softmax",
			Doc: "e^(x − m) / Σ e^(x − m) along the axis, m the largest along it.",
		},
		{
			Name: "nn.log_softmax", Args: []string{"data"}, NewAttrs: axis, Infer: inferSoftmax, Eval: evalSoftmax(true), Class: Opaque, Lower: "softmax",
			Doc: "x − m − log Σ e^(x − m) along the axis, m the largest along it.",
		},
		{
			Name: "nn.batch_norm", Args: []string{"data", "gamma", "beta", "moving_mean", "moving_var"},
			NewAttrs: func() any { return &BatchNormAttrs{1, 1e-5, true, true} }, Infer: inferBatchNorm, Eval: evalBatchNorm, Class: Opaque, Lower: "norm",
			Doc: "a tuple: (data − mean) / √(var + epsilon) · gamma + beta along the axis, the mean and the variance. The other operands are (C).",
		},
		{
			Name: "nn.layer_norm", Args: []string{"data", "gamma", "beta"},
			NewAttrs: func() any { return &NormAttrs{-1, 1e-5, true, true} }, Infer: inferNorm, Eval: evalLayerNorm, Class: Opaque, Lower: "norm",
			Doc: "(data − mean) / √(var + epsilon) · gamma + beta, mean and (biased) variance along the axis; gamma and beta have its extent.",
		},
		{
			Name: "nn.instance_norm", Args: []string{"data", "gamma", "beta"},
			NewAttrs: func() any { return &NormAttrs{1, 1e-5, true, true} }, Infer: inferNorm, Eval: evalInstanceNorm, Class: Opaque, Lower: "norm",
			Doc: "(data − mean) / √(var + epsilon) · gamma + beta, mean and (biased) variance over all axes but the first and the given one.",
		},
		{
			Name: "nn.group_norm", Args: []string{"data", "gamma", "beta"},
			NewAttrs: func() any { return &GroupNormAttrs{1, 1, 1e-5, true, true} }, Infer: inferGroupNorm, Eval: evalGroupNorm, Class: Opaque, Lower: "norm",
			Doc: "as nn.instance_norm, but mean and variance are taken over num_groups groups of channels; gamma and beta are (C).",
		},
		{
			Name: "nn.lrn", Args: []string{"data"},
			NewAttrs: func() any { return &LRNAttrs{5, 1, 2, 1e-5, 0.75} }, Infer: inferLRN, Eval: evalLRN, Class: Opaque, Lower: "norm",
			Doc: "x / (bias + alpha/size · Σ x²)^beta, the sum over the size channels around x: from −⌊(size−1)/2⌋ to ⌈(size−1)/2⌉.",
		},
		{
			Name: "nn.l2_normalize", Args: []string{"data"},
			NewAttrs: func() any { return &L2NormalizeAttrs{Eps: 1e-12} }, Infer: inferL2Normalize, Eval: evalL2Normalize, Class: Opaque, Lower: "norm",
			Doc: "x / √max(Σ x², eps), the sum over the axes; nil means every axis.",
		},
		{
			Name: "nn.squeeze_excite", Args: []string{"data", "w1", "b1", "w2", "b2"},
			NewAttrs: func() any { return &SqueezeExciteAttrs{"relu", "hard_sigmoid", 1.0 / 6, 0.5, "NCHW", ""} },
			Infer:    inferSqueezeExcite, Eval: evalSqueezeExcite, Class: Opaque, Lower: "squeeze_excite",
			Doc: "the channel scale gate(w2 · activation(w1 · p + b1) + b2), p the mean of data over its spatial axes. data is (N, C, spatial) in " +
				"layout, w1 (R, C), b1 (R), w2 (C, R), b2 (C), the result (N, C, 1, 1) in layout. It does not multiply data. When the layout pads " +
				"the channels, C may be below the padded count; the scale of padding is 0.",
		},
	}
}

func inferSoftmax(s *Site) (Type, error) {
	a, err := attrsOf[AxisAttrs](s)
	if err != nil {
		return nil, err
	}
	t, err := s.Float(0)
	if err != nil {
		return nil, err
	}
	if _, err := s.axis(a.Axis, len(t.Shape)); err != nil {
		return nil, err
	}
	return t, nil
}

func (s *Site) normTypes(axis int) ([]*TensorType, error) {
	t, err := s.Tensors()
	if err != nil {
		return nil, err
	}
	if _, err := s.Float(0); err != nil {
		return nil, err
	}
	return t, s.perChannel(t[0], axis, t[1:], 1)
}

func inferBatchNorm(s *Site) (Type, error) {
	a, err := attrsOf[BatchNormAttrs](s)
	if err != nil {
		return nil, err
	}
	t, err := s.normTypes(a.Axis)
	if err != nil {
		return nil, err
	}
	return &TupleType{[]Type{t[0], t[3], t[4]}}, nil
}

func inferNorm(s *Site) (Type, error) {
	a, err := attrsOf[NormAttrs](s)
	if err != nil {
		return nil, err
	}
	t, err := s.normTypes(a.Axis)
	if err != nil {
		return nil, err
	}
	if s.Op.Name == "nn.instance_norm" && (len(t[0].Shape) < 2 || NormalAxis(a.Axis, len(t[0].Shape)) == 0) {
		return nil, s.Illegal("axis %d of %v, wanted a batch axis before it", a.Axis, t[0])
	}
	return t[0], nil
}

func inferGroupNorm(s *Site) (Type, error) {
	a, err := attrsOf[GroupNormAttrs](s)
	if err != nil {
		return nil, err
	}
	t, err := s.normTypes(a.Axis)
	if err != nil {
		return nil, err
	}
	axis := NormalAxis(a.Axis, len(t[0].Shape))
	if axis == 0 {
		return nil, s.Illegal("axis %d of %v, wanted a batch axis before it", a.Axis, t[0])
	}
	if a.NumGroups < 1 || t[0].Shape[axis]%a.NumGroups != 0 {
		return nil, s.Illegal("%d channels are no multiple of num_groups=%d", t[0].Shape[axis], a.NumGroups)
	}
	return t[0], nil
}

func inferLRN(s *Site) (Type, error) {
	a, err := attrsOf[LRNAttrs](s)
	if err != nil {
		return nil, err
	}
	t, err := s.Float(0)
	if err != nil {
		return nil, err
	}
	if _, err := s.axis(a.Axis, len(t.Shape)); err != nil {
		return nil, err
	}
	if a.Size < 1 {
		return nil, s.Illegal("size=%d, wanted at least 1", a.Size)
	}
	return t, nil
}

func inferL2Normalize(s *Site) (Type, error) {
	a, err := attrsOf[L2NormalizeAttrs](s)
	if err != nil {
		return nil, err
	}
	t, err := s.Float(0)
	if err != nil {
		return nil, err
	}
	if _, err := s.axes(a.Axis, len(t.Shape)); err != nil {
		return nil, err
	}
	return t, nil
}

func inferSqueezeExcite(s *Site) (Type, error) {
	a, t, err := operandsOf[SqueezeExciteAttrs](s)
	if err != nil {
		return nil, err
	}
	if _, err := s.Float(0); err != nil {
		return nil, err
	}
	l, err := s.layout(a.Layout, "", t[0].Shape)
	if err != nil {
		return nil, err
	}
	axes, ok := spatialAxes(l)
	if !ok {
		return nil, s.Illegal("layout %v, wanted one with the axes N, C and spatial ones", l)
	}
	switch a.Activation {
	case "relu", "swish", "hard_swish":
	default:
		return nil, diag.Unsupported("infer-type", s.Op.Name, "activation=%q, wanted relu, swish or hard_swish", a.Activation)
	}
	switch a.Gate {
	case "sigmoid", "hard_sigmoid":
	default:
		return nil, diag.Unsupported("infer-type", s.Op.Name, "gate=%q, wanted sigmoid or hard_sigmoid", a.Gate)
	}
	w1, b1, w2, b2 := t[1].Shape, t[2].Shape, t[3].Shape, t[4].Shape
	switch {
	case a.WeightLayout == "IO" && len(w1) == 2 && len(w2) == 2:
		w1, w2 = tensor.Shape{w1[1], w1[0]}, tensor.Shape{w2[1], w2[0]}
	case a.WeightLayout != "" && a.WeightLayout != "OI" && a.WeightLayout != "IO":
		return nil, s.Illegal("weight_layout=%q, wanted OI or IO", a.WeightLayout)
	}
	if len(w1) != 2 || len(b1) != 1 || len(w2) != 2 || len(b2) != 1 ||
		w1[0] != b1[0] || w2[1] != w1[0] || w2[0] != b2[0] || w2[0] != w1[1] {
		return nil, s.Illegal("layers of shapes %v, %v, %v, %v, wanted (R, C), (R), (C, R), (C)", w1, b1, w2, b2)
	}
	channels := l.Extent(t[0].Shape, 'C')
	if w1[1] > channels || channels-w1[1] >= l.Block('C') {
		return nil, s.Illegal("data has %d channels, the layers have %d", channels, w1[1])
	}
	out := t[0].Shape.Clone()
	for _, axis := range axes {
		if out[axis] == 0 {
			return nil, s.Illegal("axis %d of %v is empty", axis, t[0])
		}
		out[axis] = 1
	}
	return s.Result(t[0].DType, out)
}
