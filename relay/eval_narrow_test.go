package relay

import (
	"crypto/sha256"
	"encoding/hex"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/texel-ml/texel/tensor"
)

// TestNarrowFloatsRoundAsMLDtypes holds the casts of all 65,536 numbers of float16 and of bfloat16 against ml_dtypes 0.6.0,
// which ONNX's own tests are made with: the first bytes of SHA-256 over the results as float32, every NaN 0x7fc00000 and
// little endian. Saturating casts clip first, as onnx.numpy_helper.saturate_cast does.
func TestNarrowFloatsRoundAsMLDtypes(t *testing.T) {
	for _, c := range []struct {
		from, to tensor.DType
		saturate bool
		want     string
	}{
		{tensor.Float16, tensor.Float8E4M3FN, true, "5ad225cb6989a0fa"},
		{tensor.Float16, tensor.Float8E4M3FN, false, "cae4f06c0239c9b9"},
		{tensor.Float16, tensor.Float8E4M3FNUZ, true, "51095ac9be4cf2a5"},
		{tensor.Float16, tensor.Float8E4M3FNUZ, false, "80e5ca72b023e1ee"},
		{tensor.Float16, tensor.Float8E5M2, true, "22f9c3af5450830c"},
		{tensor.Float16, tensor.Float8E5M2, false, "ef02a48879582114"},
		{tensor.Float16, tensor.Float8E5M2FNUZ, true, "21f714f76ba6ef48"},
		{tensor.Float16, tensor.Float8E5M2FNUZ, false, "6c8370dccd6f0345"},
		{tensor.BFloat16, tensor.Float8E4M3FN, true, "ee75e4f991b91683"},
		{tensor.BFloat16, tensor.Float8E4M3FN, false, "5faeecc40feee94e"},
		{tensor.BFloat16, tensor.Float8E4M3FNUZ, true, "80e658c15bd82fd1"},
		{tensor.BFloat16, tensor.Float8E4M3FNUZ, false, "6feb321ecb519a9f"},
		{tensor.BFloat16, tensor.Float8E5M2, true, "2ce8e3f0ac8fe636"},
		{tensor.BFloat16, tensor.Float8E5M2, false, "28c23c52760f8737"},
		{tensor.BFloat16, tensor.Float8E5M2FNUZ, true, "d17435f8a0bf5619"},
		{tensor.BFloat16, tensor.Float8E5M2FNUZ, false, "f13ed4f0268db0bb"},
		{tensor.Float16, tensor.Float4E2M1, true, "d309f17508be49e4"},  // of NaN, where it gives a zero, 0
		{tensor.BFloat16, tensor.Float4E2M1, true, "3de7f501c0ed7b5a"}, // likewise
	} {
		var list []byte
		for bits := range 1 << 16 {
			v := castFloat(c.to, tensor.DecodeFloat(c.from, uint16(bits)), &CastAttrs{Saturate: c.saturate, RoundMode: "up"})
			v = tensor.DecodeFloat(c.to, tensor.EncodeFloat(c.to, v))
			b := math.Float32bits(float32(v))
			if math.IsNaN(v) {
				b = 0x7fc00000
			}
			list = append(list, byte(b), byte(b>>8), byte(b>>16), byte(b>>24))
		}
		sum := sha256.Sum256(list)
		require.Equal(t, c.want, hex.EncodeToString(sum[:8]), "%v to %v, saturate %v", c.from, c.to, c.saturate)
	}
}

// TestPowersOfTwo are the cases of ONNX's table of casts to float8_e8m0fnu, and the ways to round.
func TestPowersOfTwo(t *testing.T) {
	nan := math.NaN()
	for _, c := range []struct {
		v                 float64
		up, down, nearest float64 // saturated
		strict            float64 // nearest, not saturated
	}{
		{0, 0x1p-127, 0x1p-127, 0x1p-127, nan},
		{nan, nan, nan, nan, nan},
		{math.Inf(1), 0x1p127, 0x1p127, 0x1p127, nan},
		{0x1.1p127, 0x1p127, 0x1p127, 0x1p127, nan},
		{0x1.9p-128, 0x1p-127, 0x1p-127, 0x1p-127, nan},
		{0x1p-127, 0x1p-127, 0x1p-127, 0x1p-127, 0x1p-127},
		{0x1.7p-127, 0x1p-126, 0x1p-127, 0x1p-127, 0x1p-127},
		{0x1.8p-127, 0x1p-126, 0x1p-127, 0x1p-126, 0x1p-126},
		{1, 1, 1, 1, 1},
		{1.25, 2, 1, 1, 1},
		{1.5, 2, 1, 2, 2},
		{-3, 4, 2, 4, 4}, // it has no sign
	} {
		for mode, want := range map[string]float64{"up": c.up, "down": c.down, "nearest": c.nearest} {
			got := castFloat(tensor.Float8E8M0, c.v, &CastAttrs{Saturate: true, RoundMode: mode})
			require.True(t, got == want || math.IsNaN(got) && math.IsNaN(want), "%g %s: %g, wanted %g", c.v, mode, got, want)
		}
		got := castFloat(tensor.Float8E8M0, c.v, &CastAttrs{RoundMode: "nearest"})
		require.True(t, got == c.strict || math.IsNaN(got) && math.IsNaN(c.strict), "%g: %g, wanted %g", c.v, got, c.strict)
	}
}
