package relay

import "github.com/texel-ml/texel/tensor"

// QuantizeAttrs are the attributes of qnn.quantize.
type QuantizeAttrs struct {
	Axis     int          `relay:"axis"` // of a scale that is a vector
	OutDType tensor.DType `relay:"out_dtype"`
	Saturate bool         `relay:"saturate"` // float8 only: values beyond the range become the largest one
}

// DequantizeAttrs are the attributes of qnn.dequantize.
type DequantizeAttrs struct {
	Axis     int          `relay:"axis"`
	OutDType tensor.DType `relay:"out_dtype"` // Invalid: the scale's
}

// qnnOps convert between real numbers and their quantized form.
func qnnOps() []*Op {
	return []*Op{
		{
			Name: "qnn.quantize", Args: []string{"data", "output_scale", "output_zero_point"},
			NewAttrs: func() any { return &QuantizeAttrs{Axis: -1, OutDType: tensor.Int8, Saturate: true} }, Infer: inferQuantize,
			Eval: evalQuantize, Class: Broadcast, Lower: "elementwise",
			Doc: "saturate(round(data / scale) + zero_point), a tie to the even integer, clamped to the range of out_dtype; a float8 or float4 " +
				"out_dtype rounds data / scale + zero_point to it. scale and zero point are scalars or (C) along the axis; the zero point has " +
				"type out_dtype.",
		},
		{
			Name: "qnn.dequantize", Args: []string{"data", "input_scale", "input_zero_point"},
			NewAttrs: func() any { return &DequantizeAttrs{Axis: -1} }, Infer: inferDequantize, Eval: evalDequantize, Class: Broadcast, Lower: "elementwise",
			Doc: "(data − zero_point) · scale. scale and zero point are scalars or (C) along the axis; the zero point has the type of data.",
		},
	}
}

func inferQuantize(s *Site) (Type, error) {
	a, err := attrsOf[QuantizeAttrs](s)
	if err != nil {
		return nil, err
	}
	t, err := s.Arith(0)
	if err != nil {
		return nil, err
	}
	if !t.DType.IsFloat() && t.DType != tensor.Int32 {
		return nil, s.Illegal("data has type %v, wanted a floating-point type or int32", t.DType)
	}
	if err := s.quantum(t, a.Axis, a.OutDType); err != nil {
		return nil, err
	}
	return s.Result(a.OutDType, t.Shape)
}

func inferDequantize(s *Site) (Type, error) {
	a, t, err := operandOf[DequantizeAttrs](s)
	if err != nil {
		return nil, err
	}
	if err := s.quantum(t, a.Axis, t.DType); err != nil {
		return nil, err
	}
	scale, err := s.Tensor(1)
	if err != nil {
		return nil, err
	}
	return s.Result(outDType(scale.DType, a.OutDType), t.Shape)
}

// quantum checks scale and zero point, operands 1 and 2.
func (s *Site) quantum(t *TensorType, axis int, zeroType tensor.DType) error {
	scale, err := s.Float(1)
	if err != nil {
		return err
	}
	zero, err := s.Tensor(2)
	if err != nil {
		return err
	}
	switch zeroType.Bits() {
	case 2, 4, 8, 16, 32:
	default:
		return s.Illegal("%v is no quantized type", zeroType)
	}
	if zero.DType != zeroType || zeroType == tensor.Bool {
		return s.Illegal("zero point has type %v, wanted %v", zero.DType, zeroType)
	}
	for i, v := range []*TensorType{scale, zero} {
		if v.Shape.Elems() == 1 && len(v.Shape) <= 1 {
			continue
		}
		if err := s.perChannel(t, axis, []*TensorType{v}, 1+i); err != nil {
			return err
		}
	}
	return nil
}
