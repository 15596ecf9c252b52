package lower

import (
	"github.com/texel-ml/texel/relay"
	"github.com/texel-ml/texel/tensor"
	"github.com/texel-ml/texel/tir"
)

func lowerCast(s *Site) ([]Operand, error) {
	from, to := s.In[0].DType, s.Out().DType
	if from == to {
		return lowerCopy(s)
	}
	if err := s.computable(from, to); err != nil {
		return nil, err
	}
	return s.Result(func(i []tir.Expr) tir.Expr {
		x := s.In[0].At(i...)
		if from.Bits() == 16 && from.IsFloat() && to.Bits() == 16 && to.IsFloat() {
			x = widened(x)
		}
		return tir.As(to, x)
	})
}

// computable refuses storage types.
func (s *Site) computable(list ...tensor.DType) error {
	for _, d := range list {
		if d.IsStorage() {
			return s.Unsupported("conversion of the storage type %v", d)
		}
	}
	return nil
}

// lowerReinterpret keeps the bits: between integers of one width a conversion does.
func lowerReinterpret(s *Site) ([]Operand, error) {
	from, to := s.In[0].DType, s.Out().DType
	if from != to && (!from.IsInt() || !to.IsInt()) {
		return nil, s.Unsupported("the bits of %v as %v", from, to)
	}
	return s.Result(func(i []tir.Expr) tir.Expr { return tir.As(to, s.In[0].At(i...)) })
}

// channelAt returns how operand n of a quantizing operator is read for the element at i: a scalar, or one entry a channel.
func channelAt(s *Site, n, axis int, i []tir.Expr) tir.Expr {
	o := s.In[n]
	if o.Shape.Elems() == 1 {
		return o.first()
	}
	return o.At(i[relay.NormalAxis(axis, len(i))])
}

// lowerQuantize relies on the conversion to an integer, which saturates.
func lowerQuantize(s *Site) ([]Operand, error) {
	a := attrs[relay.QuantizeAttrs](s)
	if err := s.computable(a.OutDType); err != nil {
		return nil, err
	}
	if a.OutDType.IsFloat() {
		return nil, s.Unsupported("quantized type %v", a.OutDType)
	}
	return s.Result(func(i []tir.Expr) tir.Expr {
		scale := widened(channelAt(s, 1, a.Axis, i))
		d := scale.Type().DType
		x := s.In[0].wide(i...)
		if s.In[0].DType.IsInt() { // float64 holds the integer
			x = tir.As(d, tir.Over(tir.As(tensor.Float64, x), tir.As(tensor.Float64, scale)))
		} else {
			x = tir.Over(tir.As(d, x), scale)
		}
		x = fn(tir.Round, x)
		if a.OutDType.Bits() > 16 {
			x = tir.As(tensor.Float64, x) // and the sum with the zero point
		}
		return tir.As(a.OutDType, tir.Plus(x, tir.As(x.Type().DType, channelAt(s, 2, a.Axis, i))))
	})
}

func lowerDequantize(s *Site) ([]Operand, error) {
	a := attrs[relay.DequantizeAttrs](s)
	from := s.In[0].DType
	if err := s.computable(from); err != nil {
		return nil, err
	}
	return s.Result(func(i []tir.Expr) tir.Expr {
		scale := widened(channelAt(s, 1, a.Axis, i))
		d := scale.Type().DType
		x, zero := s.In[0].wide(i...), widened(channelAt(s, 2, a.Axis, i))
		if from.IsInt() {
			exact := tensor.Int32 // holds every difference
			if from.Bits() > 16 {
				exact = tensor.Int64
			}
			x, zero = tir.As(exact, x), tir.As(exact, zero)
		}
		return tir.As(s.Out().DType, tir.Times(tir.As(d, tir.Minus(x, zero)), scale))
	})
}
