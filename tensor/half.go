package tensor

import "math"

// EncodeHalf returns the bits of v in float16 or bfloat16, rounded to nearest, ties to even: what EncodeFloat returns, from
// the bits alone.
func EncodeHalf(d DType, v float32) uint16 {
	u := math.Float32bits(v)
	sign := uint16(u>>16) & 0x8000
	u &= 0x7fffffff
	switch {
	case u > 0x7f800000: // NaN
		return EncodeFloat(d, float64(v))
	case d == BFloat16:
		return sign | uint16((u+0x7fff+u>>16&1)>>16)
	case u >= 0x47800000: // 65536 and more
		return sign | 0x7c00
	case u < 0x38800000: // below 2⁻¹⁴: adding ½ leaves the bits of the result in the lowest places
		return sign | uint16(math.Float32bits(math.Float32frombits(u)+0.5)-0x3f000000)
	}
	return sign | uint16((u-0x38000000+0xfff+u>>13&1)>>13)
}

// DecodeHalf returns the value of bits in float16 or bfloat16, as DecodeFloat does.
func DecodeHalf(d DType, bits uint16) float32 {
	if d == BFloat16 {
		return math.Float32frombits(uint32(bits) << 16)
	}
	sign, u := uint32(bits&0x8000)<<16, uint32(bits&0x7fff)
	if u >= 0x7c00 { // infinity, NaN
		return math.Float32frombits(sign | u<<13 | 0x7f800000)
	}
	return math.Float32frombits(sign | math.Float32bits(math.Float32frombits(u<<13)*0x1p112))
}
