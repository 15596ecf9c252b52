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
	a := attrs[relay.CastAttrs](s)
	return s.Result(func(i []tir.Expr) tir.Expr {
		x := s.In[0].At(i...)
		if from.IsStorage() || from.Bits() == 16 && from.IsFloat() && to.Bits() == 16 && to.IsFloat() {
			x = s.In[0].wide(i...)
		}
		return converted(x, to, a)
	})
}

// converted returns x, of a type that is computed in, in the carrier of type d.
func converted(x tir.Expr, d tensor.DType, a *relay.CastAttrs) tir.Expr {
	from := x.Type().DType
	switch {
	case !d.IsStorage():
		return tir.As(d, x)
	case d.IsFloat():
		return tir.As(tensor.Uint8, encoded(d, single(x), a))
	case from.IsFloat():
		x = widened(x)
		lo, hi := tensor.IntRange(d)
		return tir.As(carrier(d), tir.Minimum(tir.Maximum(x, like(x, float64(lo))), like(x, float64(hi))))
	case d.Kind() == tensor.Signed: // the low bits, the highest of which is the sign
		return extended(d, tir.Bin(tir.Shl, tir.As(tensor.Int8, x), num(tensor.Int8, float64(8-d.Bits()))))
	}
	return tir.Bin(tir.BitAnd, tir.As(tensor.Uint8, x), num(tensor.Uint8, float64(int(1)<<d.Bits()-1)))
}

// single returns x as a float32 that rounds to a narrower type as x itself does.
func single(x tir.Expr) tir.Expr {
	d := x.Type().DType
	switch {
	case d == tensor.Float64:
		return toOdd(x)
	case d.IsInt() && d.Bits() > 16:
		return toOdd(tir.As(tensor.Float64, x))
	}
	return tir.As(tensor.Float32, x)
}

// lowerReinterpret keeps the bits, but for those of a NaN of 16 bits beyond its sign.
func lowerReinterpret(s *Site) ([]Operand, error) {
	from, to := s.In[0].DType, s.Out().DType
	if from == to {
		return lowerCopy(s)
	}
	return s.Result(func(i []tir.Expr) tir.Expr { return withBits(to, bitsOf(from, s.In[0].At(i...))) })
}

// exactly rounds nothing: the value is one of the type.
var exactly = &relay.CastAttrs{RoundMode: "up"}

// bitsOf returns the bits of a carrier of type d as an unsigned integer of at least d's width, those above it 0.
func bitsOf(d tensor.DType, x tir.Expr) tir.Expr {
	switch {
	case d == tensor.Float32 || d == tensor.Float64:
		return fn(tir.Bits, x)
	case d == tensor.Float16:
		return encoded(d, widened(x), exactly)
	case d == tensor.BFloat16:
		return dropped(fn(tir.Bits, widened(x)), 16)
	case d.IsStorage() && d.Kind() == tensor.Signed:
		return tir.Bin(tir.BitAnd, tir.As(tensor.Uint8, x), num(tensor.Uint8, float64(int(1)<<d.Bits()-1)))
	}
	return tir.As(unsigned[max(8, d.Bits())], x)
}

// withBits returns the carrier of the value of type d that has the bits b.
func withBits(d tensor.DType, b tir.Expr) tir.Expr {
	switch {
	case d == tensor.Float32 || d == tensor.Float64:
		return fn(tir.FromBits, b)
	case d == tensor.Float16:
		return tir.As(d, decoded(d, tir.As(tensor.Uint32, b)))
	case d == tensor.BFloat16:
		return tir.As(d, fn(tir.FromBits, raised(tir.As(tensor.Uint32, b), 16)))
	case d.IsStorage() && d.Kind() == tensor.Signed:
		return converted(b, d, exactly)
	}
	return tir.As(carrier(d), b)
}

// unsigned are the unsigned integers by their width.
var unsigned = map[int]tensor.DType{8: tensor.Uint8, 16: tensor.Uint16, 32: tensor.Uint32, 64: tensor.Uint64}

// channelAt returns how operand n of a quantizing operator is read for the element at i: a scalar, or one entry a channel.
func channelAt(s *Site, n, axis int, i []tir.Expr) tir.Expr {
	o := s.In[n]
	if o.Shape.Elems() == 1 {
		return o.wide(zeros(len(o.Shape))...)
	}
	return o.wide(i[relay.NormalAxis(axis, len(i))])
}

// lowerQuantize divides in the type of the scale, which must not be narrower than float32 here.
func lowerQuantize(s *Site) ([]Operand, error) {
	a := attrs[relay.QuantizeAttrs](s)
	to := &relay.CastAttrs{Saturate: a.Saturate, RoundMode: "up"}
	return s.Result(func(i []tir.Expr) tir.Expr {
		scale := channelAt(s, 1, a.Axis, i)
		d := scale.Type().DType
		x := s.In[0].wide(i...)
		if s.In[0].DType.IsInt() { // float64 holds the integer
			x = tir.As(d, tir.Over(tir.As(tensor.Float64, x), tir.As(tensor.Float64, scale)))
		} else {
			x = tir.Over(tir.As(d, x), scale)
		}
		if !a.OutDType.IsFloat() {
			x = fn(tir.Round, x)
			if a.OutDType.Bits() > 16 {
				x = tir.As(tensor.Float64, x) // and the sum with the zero point
			}
		}
		return converted(tir.Plus(x, tir.As(x.Type().DType, channelAt(s, 2, a.Axis, i))), a.OutDType, to)
	})
}

func lowerDequantize(s *Site) ([]Operand, error) {
	a := attrs[relay.DequantizeAttrs](s)
	from := s.In[0].DType
	return s.Result(func(i []tir.Expr) tir.Expr {
		scale := channelAt(s, 1, a.Axis, i)
		d := scale.Type().DType
		x, zero := s.In[0].wide(i...), channelAt(s, 2, a.Axis, i)
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
