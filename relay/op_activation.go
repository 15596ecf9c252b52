package relay

import (
	"math"

	"github.com/texel-ml/texel/tensor"
)

// AlphaAttrs are the attributes of activations with one factor: nn.leaky_relu, nn.elu, nn.celu, nn.thresholded_relu.
type AlphaAttrs struct {
	Alpha float64 `relay:"alpha"`
}

// SeluAttrs are the attributes of nn.selu.
type SeluAttrs struct {
	Alpha float64 `relay:"alpha"`
	Gamma float64 `relay:"gamma"`
}

// HardSigmoidAttrs are the attributes of nn.hard_sigmoid.
type HardSigmoidAttrs struct {
	Alpha float64 `relay:"alpha"`
	Beta  float64 `relay:"beta"`
}

// SwishAttrs are the attributes of nn.swish.
type SwishAttrs struct {
	Beta float64 `relay:"beta"`
}

// GeluAttrs are the attributes of nn.gelu.
type GeluAttrs struct {
	Approximate string `relay:"approximate"` // "none" or "tanh"
}

// ShrinkAttrs are the attributes of nn.shrink.
type ShrinkAttrs struct {
	Bias  float64 `relay:"bias"`
	Lambd float64 `relay:"lambd"`
}

// AxisAttrs are the attributes of operators that work along one axis: nn.bias_add, nn.prelu, nn.softmax and others.
type AxisAttrs struct {
	Axis int `relay:"axis"` // negative: from the end
}

// activationOps are the activations and the addition of a bias.
func activationOps() []*Op {
	row := func(name string, attrs func() any, doc string, eval evalFunc) *Op {
		return &Op{Name: "nn." + name, Args: []string{"data"}, NewAttrs: attrs, Infer: sameFloat, Eval: eval, Class: Elementwise, Lower: "elementwise", Doc: doc}
	}
	alpha := func(v float64) func() any { return func() any { return &AlphaAttrs{v} } }
	reluRow := row("relu", nil, "max(x, 0); NaN stays NaN. Integers too.",
		evalNumber(relu, func(d tensor.DType, v int64) int64 {
			if d == tensor.Uint64 {
				return v
			}
			return max(v, 0)
		}))
	reluRow.Infer = inferNumber
	geluRow := row("gelu", func() any { return &GeluAttrs{"none"} },
		"x/2 · (1 + erf(x/√2)); approximate=\"tanh\": x/2 · (1 + tanh(√(2/π) (x + 0.044715 x³))).", evalActivation(gelu))
	geluRow.Infer = inferGelu
	return []*Op{
		reluRow,
		row("leaky_relu", alpha(0.01), "x above 0, else alpha·x.", evalActivation(func(a *AlphaAttrs) func(float64) float64 {
			return func(v float64) float64 {
				if v < 0 {
					return a.Alpha * v
				}
				return v
			}
		})),
		row("elu", alpha(1), "x above 0, else alpha·(e^x − 1).", evalActivation(func(a *AlphaAttrs) func(float64) float64 {
			return func(v float64) float64 { return elu(a.Alpha, v) }
		})),
		row("selu", func() any { return &SeluAttrs{1.67326319217681884765625, 1.05070102214813232421875} },
			"gamma·x above 0, else gamma·alpha·(e^x − 1).", evalActivation(func(a *SeluAttrs) func(float64) float64 {
				return func(v float64) float64 { return a.Gamma * elu(a.Alpha, v) }
			})),
		row("celu", alpha(1), "max(0, x) + min(0, alpha·(e^(x/alpha) − 1)).", evalActivation(func(a *AlphaAttrs) func(float64) float64 {
			return func(v float64) float64 {
				if v < 0 {
					return a.Alpha * math.Expm1(v/a.Alpha)
				}
				return v
			}
		})),
		row("thresholded_relu", alpha(1), "x above alpha, else 0.", evalActivation(func(a *AlphaAttrs) func(float64) float64 {
			return func(v float64) float64 {
				if v > a.Alpha || math.IsNaN(v) {
					return v
				}
				return 0
			}
		})),
		row("hard_sigmoid", func() any { return &HardSigmoidAttrs{0.2, 0.5} }, "max(0, min(1, alpha·x + beta)).", evalActivation(func(a *HardSigmoidAttrs) func(float64) float64 {
			return func(v float64) float64 { return hardSigmoid(a.Alpha, a.Beta, v) }
		})),
		row("hard_swish", nil, "x · max(0, min(1, x/6 + 1/2)).", evalFloat(hardSwish)),
		row("swish", func() any { return &SwishAttrs{1} }, "x · sigmoid(beta·x).", evalActivation(func(a *SwishAttrs) func(float64) float64 {
			return func(v float64) float64 { return swish(a.Beta, v) }
		})),
		geluRow,
		row("softplus", nil, "log(e^x + 1).", evalFloat(softplus)),
		row("softsign", nil, "x / (1 + |x|).", evalFloat(func(v float64) float64 { return v / (1 + math.Abs(v)) })),
		row("mish", nil, "x · tanh(log(e^x + 1)).", evalFloat(func(v float64) float64 { return v * math.Tanh(softplus(v)) })),
		row("shrink", func() any { return &ShrinkAttrs{0, 0.5} }, "x + bias below −lambd, x − bias above lambd, else 0.", evalActivation(shrink)),
		{Name: "nn.bias_add", Args: []string{"data", "bias"}, NewAttrs: func() any { return &AxisAttrs{1} }, Infer: inferPerChannel,
			Eval:  evalPerChannel(func(a, b float64) float64 { return a + b }, func(_ tensor.DType, a, b int64) int64 { return a + b }),
			Class: Broadcast, Lower: "elementwise", Doc: "data + bias, where bias is (C) and C the extent of data's axis."},
		{Name: "nn.prelu", Args: []string{"data", "alpha"}, NewAttrs: func() any { return &AxisAttrs{1} }, Infer: inferPrelu,
			Eval: evalPerChannel(func(a, b float64) float64 {
				if a < 0 {
					return a * b
				}
				return a
			}, nil),
			Class: Broadcast, Lower: "elementwise", Doc: "x above 0, else alpha·x, where alpha is (C) and C the extent of data's axis."},
	}
}

func inferGelu(s *Site) (Type, error) {
	a, err := attrsOf[GeluAttrs](s)
	if err != nil {
		return nil, err
	}
	if a.Approximate != "none" && a.Approximate != "tanh" {
		return nil, s.Illegal("approximate=%q, wanted none or tanh", a.Approximate)
	}
	return sameFloat(s)
}

func inferPerChannel(s *Site) (Type, error) {
	a, t, err := operandsOf[AxisAttrs](s)
	if err != nil {
		return nil, err
	}
	if err := s.perChannel(t[0], a.Axis, t[1:], 1); err != nil {
		return nil, err
	}
	return t[0], nil
}

func inferPrelu(s *Site) (Type, error) {
	if _, err := s.Float(0); err != nil {
		return nil, err
	}
	return inferPerChannel(s)
}

// perChannel checks that the operands from position first on are vectors as long as an axis of data.
func (s *Site) perChannel(data *TensorType, axis int, vectors []*TensorType, first int) error {
	at, err := s.axis(axis, len(data.Shape))
	if err != nil {
		return err
	}
	for i, v := range vectors {
		if len(v.Shape) != 1 || v.Shape[0] != data.Shape[at] {
			return s.Illegal("operand %s has shape %v, wanted (%d,), the extent of axis %d of %v",
				s.operand(first+i), v.Shape, data.Shape[at], at, data)
		}
	}
	return nil
}
