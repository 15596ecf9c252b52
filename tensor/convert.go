package tensor

import (
	"math"
)

// Widen returns the elements of t as float64 or int64.
func Widen(t *Tensor) *Wide {
	w := NewWide(t.DType, t.Shape)
	switch t.DType {
	case Float32:
		for i, v := range View[float32](t) {
			w.F[i] = float64(v)
		}
	case Float64:
		copy(w.F, View[float64](t))
	case Float16, BFloat16:
		for i, v := range View[uint16](t) {
			w.F[i] = DecodeFloat(t.DType, v)
		}
	case Int8:
		widenInts(w.I, View[int8](t))
	case Int16:
		widenInts(w.I, View[int16](t))
	case Int32:
		widenInts(w.I, View[int32](t))
	case Int64:
		copy(w.I, View[int64](t))
	case Uint8:
		widenInts(w.I, View[uint8](t))
	case Uint16:
		widenInts(w.I, View[uint16](t))
	case Uint32:
		widenInts(w.I, View[uint32](t))
	case Uint64:
		widenInts(w.I, View[uint64](t))
	case Bool:
		for i, b := range t.Data[:len(w.I)] {
			w.I[i] = int64(min(b, 1))
		}
	default: // a byte or less an element
		for i := range t.Elems() {
			b := t.Data[i*t.DType.Bits()/8]
			if t.DType.Bits() < 8 {
				b = t.bits(i)
			}
			switch {
			case t.DType.IsFloat():
				w.F[i] = DecodeFloat(t.DType, uint16(b))
			case t.DType.Kind() == Signed:
				shift := 8 - t.DType.Bits()
				w.I[i] = int64(int8(b<<shift) >> shift)
			default:
				w.I[i] = int64(b)
			}
		}
	}
	return w
}

func widenInts[T ~int8 | ~int16 | ~int32 | ~uint8 | ~uint16 | ~uint32 | ~uint64](to []int64, from []T) {
	for i, v := range from {
		to[i] = int64(v)
	}
}

// Narrow returns the elements of w in its element type: floats rounded to nearest, ties to even, as EncodeFloat does;
// integers wrapped to their width.
func (w *Wide) Narrow() *Tensor {
	t := New(w.DType, w.Shape)
	switch w.DType {
	case Float32:
		to := View[float32](t)
		for i, v := range w.F {
			to[i] = float32(v)
		}
	case Float64:
		copy(View[float64](t), w.F)
	case Float16, BFloat16:
		to := View[uint16](t)
		for i, v := range w.F {
			to[i] = EncodeFloat(w.DType, v)
		}
	case Int16, Uint16:
		narrowInts(View[uint16](t), w.I)
	case Int32, Uint32:
		narrowInts(View[uint32](t), w.I)
	case Int64, Uint64:
		narrowInts(View[uint64](t), w.I)
	default:
		for i := range w.Shape.Elems() {
			var b uint8
			if w.DType.IsFloat() {
				b = uint8(EncodeFloat(w.DType, w.F[i]))
			} else {
				b = uint8(w.I[i])
			}
			if w.DType.Bits() < 8 {
				t.setBits(i, b)
			} else {
				t.Data[i] = b
			}
		}
	}
	return t
}

func narrowInts[T ~uint16 | ~uint32 | ~uint64](to []T, from []int64) {
	for i, v := range from {
		to[i] = T(v)
	}
}

// FloatForm describes a float type of up to 16 bits. Its bits are, from the top, a sign, the exponent and the mantissa:
//
//	(−1)^sign · 2^(exponent − Bias) · (1 + mantissa/2^Mantissa)     exponent > 0
//	(−1)^sign · 2^(1 − Bias) · mantissa/2^Mantissa                  exponent = 0
//
// An unsigned form (float8_e8m0fnu) has neither sign nor mantissa and is 2^(exponent − Bias) for every exponent.
type FloatForm struct {
	Exponent, Mantissa int // their widths in bits
	Bias               int
	Inf                bool // the largest exponent is infinity and NaN; otherwise it counts
	NaN                int  // the bits of a NaN, without a sign where it may have one; -1: none
	Signed             bool
}

var floatForms = map[DType]FloatForm{
	Float16:        {5, 10, 15, true, 0x7e00, true},
	BFloat16:       {8, 7, 127, true, 0x7fc0, true},
	Float8E4M3FN:   {4, 3, 7, false, 0x7f, true},
	Float8E4M3FNUZ: {4, 3, 8, false, 0x80, true},
	Float8E5M2:     {5, 2, 15, true, 0x7f, true},
	Float8E5M2FNUZ: {5, 2, 16, false, 0x80, true},
	Float8E8M0:     {8, 0, 127, false, 0xff, false},
	Float4E2M1:     {2, 1, 1, false, -1, true},
}

// FormOf returns the form of a float type of up to 16 bits, the zero form of other types.
func FormOf(d DType) FloatForm { return floatForms[d] }

// SignBit returns the bits of −0; in a type that has no negative zero they are its only NaN's. An unsigned form has none: 0.
func (f FloatForm) SignBit() int {
	if !f.Signed {
		return 0
	}
	return 1 << (f.Exponent + f.Mantissa)
}

// NoNegativeZero reports whether the bits of −0 are the only NaN.
func (f FloatForm) NoNegativeZero() bool { return f.Signed && f.NaN == f.SignBit() }

// Largest returns the bits of the largest finite number.
func (f FloatForm) Largest() int {
	top := 1<<(f.Exponent+f.Mantissa) - 1
	switch {
	case f.Inf:
		return (1<<f.Exponent-1)<<f.Mantissa - 1
	case f.NaN == top:
		return top - 1
	}
	return top
}

// DecodeFloat returns the value of the bits of a float type of up to 16 bits.
func DecodeFloat(d DType, bits uint16) float64 {
	f, v := floatForms[d], int(bits)
	sign, magnitude := 1.0, v
	if f.Signed {
		magnitude = v & (f.SignBit() - 1)
		if magnitude != v {
			sign = -1
		}
	}
	e, m := magnitude>>f.Mantissa, magnitude&(1<<f.Mantissa-1)
	last := 1<<f.Exponent - 1
	switch {
	case f.Inf && e == last && m != 0, f.NoNegativeZero() && v == f.NaN, !f.Inf && magnitude == f.NaN:
		return math.NaN()
	case f.Inf && e == last:
		return sign * math.Inf(1)
	case f.Signed && e == 0:
		return sign * math.Ldexp(float64(m), 1-f.Bias-f.Mantissa)
	}
	return sign * math.Ldexp(float64(m|1<<f.Mantissa), e-f.Bias-f.Mantissa)
}

// EncodeFloat returns the bits of v in a float type of up to 16 bits, rounded to nearest, ties to even. What is too
// large becomes infinity in float16 and bfloat16 and the largest finite value in the narrower types, as the formats'
// saturating conversion has it; an infinity stays one where the type has it.
func EncodeFloat(d DType, v float64) uint16 {
	f := floatForms[d]
	if !f.Signed { // powers of two only: the nearest one, halves to the larger
		switch {
		case math.IsNaN(v):
			return uint16(f.NaN)
		case v <= 0:
			return 0
		case math.IsInf(v, 1):
			return uint16(f.Largest())
		}
		m, e := math.Frexp(v) // v = m·2^e, m in [0.5, 1)
		if m >= 0.75 {
			e++
		}
		return uint16(min(max(e-1+f.Bias, 0), f.Largest()))
	}
	sign := 0
	if math.Signbit(v) {
		sign = f.SignBit()
	}
	if math.IsNaN(v) {
		switch {
		case f.NaN < 0:
			return 0
		case f.NoNegativeZero():
			sign = 0
		}
		return uint16(sign | f.NaN)
	}
	largest := f.Largest()
	over := largest // what stands for values beyond it
	if f.Inf && (d.Bits() == 16 || math.IsInf(v, 0)) {
		over = largest + 1
	}
	a := math.Abs(v)
	if math.IsInf(a, 0) {
		return uint16(sign | over)
	}
	_, e := math.Frexp(a) // a in [2^(e-1), 2^e)
	e = max(e-1+f.Bias, 1)
	bits := int(math.RoundToEven(math.Ldexp(a, f.Bias+f.Mantissa-e))) + (e-1)<<f.Mantissa
	if a == 0 {
		bits = 0
	}
	if bits > largest {
		bits = over
	}
	if bits == 0 && f.NoNegativeZero() {
		return 0
	}
	return uint16(sign | bits)
}
