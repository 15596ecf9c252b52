package tensor

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestSmallFloatsGoBackToTheirBits(t *testing.T) {
	for d, f := range floatForms {
		for b := range 1 << d.Bits() {
			v := DecodeFloat(d, uint16(b))
			if math.IsNaN(v) {
				require.True(t, math.IsNaN(DecodeFloat(d, EncodeFloat(d, v))), "%v %#x", d, b)
				continue
			}
			require.Equal(t, uint16(b), EncodeFloat(d, v), "%v %#x = %g (%+v)", d, b, v, f)
		}
	}
}

func TestSmallFloatsRoundToNearest(t *testing.T) {
	for d := range floatForms {
		if d == Float8E8M0 {
			continue
		}
		var last float64
		for b := range 1 << (d.Bits() - 1) {
			v := DecodeFloat(d, uint16(b))
			if math.IsNaN(v) || math.IsInf(v, 0) {
				break
			}
			if b > 0 {
				mid := (last + v) / 2
				require.Equal(t, uint16(b), EncodeFloat(d, math.Nextafter(mid, math.Inf(1))), "%v above the middle of %g and %g", d, last, v)
				require.Equal(t, uint16(b-1), EncodeFloat(d, math.Nextafter(mid, 0)), "%v below the middle of %g and %g", d, last, v)
				require.Zero(t, EncodeFloat(d, mid)&1, "%v at the middle of %g and %g", d, last, v)
			}
			last = v
		}
	}
	for d, want := range map[DType]float64{Float8E4M3FN: 448, Float8E4M3FNUZ: 240, Float8E5M2: 57344, Float8E5M2FNUZ: 57344, Float4E2M1: 6,
		Float16: math.Inf(1), BFloat16: math.Inf(1)} {
		require.Equal(t, want, DecodeFloat(d, EncodeFloat(d, 1e300)), "%v of 1e300", d)
		require.Equal(t, -want, DecodeFloat(d, EncodeFloat(d, -1e300)), "%v of -1e300", d)
	}
}

func TestPowersOfTwoRoundToTheNearest(t *testing.T) {
	for _, c := range []struct {
		v    float64
		want uint16
	}{
		{0, 0}, {-3, 0}, {1e-300, 0}, {0x1p-127, 0}, {0x1.7fp-127, 0}, {0x1.8p-127, 1}, {0x1p-126, 1}, {1, 127}, {1.5, 128}, {1.49, 127},
		{0x1p127, 254}, {0x1.8p127, 254}, {math.Inf(1), 254}, {math.NaN(), 255},
	} {
		require.Equal(t, c.want, EncodeFloat(Float8E8M0, c.v), "%g", c.v)
	}
}

func TestWidenAndNarrowAreInverse(t *testing.T) {
	for _, d := range DTypes() {
		x := New(d, Shape{3, 5})
		for i := range x.Data {
			x.Data[i] = byte(37*i + 11)
			if d == Bool {
				x.Data[i] = byte(i & 1)
			}
		}
		if d.IsFloat() && d.Bits() >= 8 { // no NaN, whose other bits are not kept
			for i := range x.Data {
				x.Data[i] &= 0x3f
			}
		}
		if n := d.Bits() * 15 % 8; n != 0 {
			x.Data[len(x.Data)-1] &= 1<<n - 1
		}
		w := Widen(x)
		require.Equal(t, x.Data, w.Narrow().Data, "%v", d)
	}
	require.Equal(t, []int64{-8, 7}, Widen(&Tensor{DType: Int4, Shape: Shape{2}, Data: []byte{0x78}}).I)
}
