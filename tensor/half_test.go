package tensor

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestHalvesAreEncodedAsFloats compares the fast forms with the general ones: all bit patterns of both types, the
// neighbours of every boundary between two of them, and float32 patterns at a stride that is prime.
func TestHalvesAreEncodedAsFloats(t *testing.T) {
	for _, d := range []DType{Float16, BFloat16} {
		encode := func(v float32) {
			if want, got := EncodeFloat(d, float64(v)), EncodeHalf(d, v); want != got {
				require.Equal(t, want, got, "%v of %v (%#x)", d, v, math.Float32bits(v))
			}
		}
		for i := range 1 << 16 {
			bits := uint16(i)
			want, got := DecodeFloat(d, bits), DecodeHalf(d, bits)
			if math.IsNaN(want) {
				require.True(t, math.IsNaN(float64(got)), "%#x", bits)
				continue
			}
			require.Equal(t, math.Float64bits(want), math.Float64bits(float64(got)), "%#x", bits)
			middle := float32((want + DecodeFloat(d, bits+1)) / 2)
			for _, v := range []float32{got, middle} {
				encode(v)
				encode(math.Nextafter32(v, float32(math.Inf(1))))
				encode(math.Nextafter32(v, float32(math.Inf(-1))))
			}
		}
		for u := uint64(0); u < 1<<32; u += 4099 {
			encode(math.Float32frombits(uint32(u)))
		}
	}
}
