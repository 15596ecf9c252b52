package relay

import (
	"math"

	"github.com/texel-ml/texel/tensor"
)

func evalQuantize(s *EvalSite) (Value, error) {
	a, x, scale, zero, out := s.Attrs.(*QuantizeAttrs), s.Wide(0), s.Wide(1), s.Wide(2), s.out()
	cast := &CastAttrs{Saturate: a.Saturate, RoundMode: "up"}
	perChannel(x.Shape, a.Axis, func(i, c int) {
		v := 0.0
		if x.F != nil {
			v = tensor.Round(x.DType, x.F[i])
		} else {
			v = float64(x.I[i])
		}
		v /= tensor.Round(scale.DType, scale.F[min(c, len(scale.F)-1)])
		if scale.DType != tensor.Float64 {
			v = float64(float32(v)) // the quotient that devices compute, so that a tie is a tie
		}
		if out.F != nil {
			v += zero.F[min(c, len(zero.F)-1)]
			if scale.DType != tensor.Float64 {
				v = float64(float32(v))
			}
			out.F[i] = castFloat(out.DType, v, cast)
			return
		}
		out.I[i] = floatToInt(out.DType, math.RoundToEven(v)+intToFloat(zero.DType, zero.I[min(c, len(zero.I)-1)]))
	})
	return out, nil
}

func evalDequantize(s *EvalSite) (Value, error) {
	a, x, scale, zero, out := s.Attrs.(*DequantizeAttrs), s.Wide(0), s.Wide(1), s.Wide(2), s.out()
	perChannel(x.Shape, a.Axis, func(i, c int) {
		factor := scale.F[min(c, len(scale.F)-1)]
		if x.F != nil {
			out.F[i] = (x.F[i] - zero.F[min(c, len(zero.F)-1)]) * factor
		} else {
			out.F[i] = float64(x.I[i]-zero.I[min(c, len(zero.I)-1)]) * factor
		}
	})
	return out, nil
}

// perChannel calls f for each element with its place along an axis; 0 when the axis does not exist.
func perChannel(shape tensor.Shape, axis int, f func(i, c int)) {
	if axis = NormalAxis(axis, len(shape)); axis < 0 || axis >= len(shape) {
		for i := range shape.Elems() {
			f(i, 0)
		}
		return
	}
	_, n, inner := splitAxis(shape, axis)
	for i := range shape.Elems() {
		f(i, i/inner%n)
	}
}
