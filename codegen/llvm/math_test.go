package llvm

import (
	"fmt"
	"math"
	"math/rand"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/texel-ml/texel/tensor"
	"github.com/texel-ml/texel/tir"
)

// elementwise is out[i] = f(x[i]) over n elements in vectors; binary functions get y[i] too.
func elementwise(name string, f tir.Intrinsic, d tensor.DType, n, lanes, operands int) *tir.Kernel {
	out := buffer("out", d, n)
	var params []*tir.Buffer
	var args []tir.Expr
	g := tir.NewVar("g")
	var i tir.Expr = g
	if lanes > 1 {
		i = span1(tir.Times(g, tir.I(lanes)), lanes)
	}
	for k := range operands {
		params = append(params, buffer(fmt.Sprintf("x%d", k), d, n))
		args = append(args, at(params[k], i))
	}
	return &tir.Kernel{Name: name, Params: append(params, out), Outputs: 1, Grid: g, GridExtent: n / lanes,
		Body: put(out, &tir.Call{Fn: f, Args: args}, i)}
}

// ulps is the distance of got from the exact value want in units of the last place of want in a type with the given
// mantissa bits and least exponent.
func ulps(got, want float64, wantLow float64, mantissa, least int) float64 {
	if math.IsNaN(want) || math.IsInf(want, 0) || math.IsNaN(got) || math.IsInf(got, 0) {
		if math.IsNaN(want) && math.IsNaN(got) || got == want {
			return 0
		}
		return math.Inf(1)
	}
	_, e := math.Frexp(want)
	unit := math.Ldexp(1, max(e-mantissa, least))
	return math.Abs((got-want)-wantLow) / unit
}

// inputs32 covers all magnitudes of float32, denser where functions bend, and the special values.
func inputs32(n int) []float32 {
	r := rand.New(rand.NewSource(1))
	out := []float32{0, float32(math.Copysign(0, -1)), float32(math.Inf(1)), float32(math.Inf(-1)), float32(math.NaN()), 1, -1,
		math.SmallestNonzeroFloat32, -math.SmallestNonzeroFloat32, 0x1p-126, -0x1p-126, math.MaxFloat32, -math.MaxFloat32, 0.5, -0.5, 2, -2,
		88.72283, 88.72284, -87.33655, -103.97, -103.98, -104, 89, 0x1p30, 0x1p31, -0x1p100, 1e22}
	for len(out) < n {
		switch r.Intn(4) {
		case 0:
			out = append(out, math.Float32frombits(r.Uint32()))
		case 1:
			out = append(out, float32(r.NormFloat64()))
		case 2:
			out = append(out, float32(r.NormFloat64()*30))
		case 3:
			out = append(out, 1+float32(r.NormFloat64()*0.01))
		}
	}
	return out
}

func inputs64(n int) []float64 {
	r := rand.New(rand.NewSource(2))
	out := []float64{0, math.Copysign(0, -1), math.Inf(1), math.Inf(-1), math.NaN(), 1, -1, math.SmallestNonzeroFloat64, 0x1p-1022, -0x1p-1022,
		math.MaxFloat64, -math.MaxFloat64, 709.78, 709.79, -745.1, -745.2, -708.5, 710.4, 710.5, 0x1p30, 0x1p31, 1e22, 6381956970095103 * 0x1p797}
	for len(out) < n {
		switch r.Intn(4) {
		case 0:
			out = append(out, math.Float64frombits(r.Uint64()))
		case 1:
			out = append(out, r.NormFloat64())
		case 2:
			out = append(out, r.NormFloat64()*100)
		case 3:
			out = append(out, 1+r.NormFloat64()*0.01)
		}
	}
	return out
}

// reference is the exact value of a function as a sum of two floats.
func reference(f tir.Intrinsic, x, y float64) (float64, float64) {
	switch f {
	case tir.Exp:
		return math.Exp(x), 0
	case tir.Log:
		return math.Log(x), 0
	case tir.Tanh:
		return math.Tanh(x), 0
	case tir.Erf:
		return math.Erf(x), 0
	case tir.Sigmoid:
		if x < -40 {
			return math.Exp(x), 0
		}
		return 1 / (1 + math.Exp(-x)), 0
	case tir.Rsqrt:
		return 1 / math.Sqrt(x), 0
	case tir.Sin:
		return math.Sin(x), 0
	case tir.Cos:
		return math.Cos(x), 0
	case tir.Tan:
		return math.Tan(x), 0
	case tir.Asin:
		return math.Asin(x), 0
	case tir.Acos:
		return math.Acos(x), 0
	case tir.Atan:
		return math.Atan(x), 0
	case tir.Sinh:
		return math.Sinh(x), 0
	case tir.Cosh:
		return math.Cosh(x), 0
	case tir.Asinh:
		return math.Asinh(x), 0
	case tir.Acosh:
		return math.Acosh(x), 0
	case tir.Atanh:
		return math.Atanh(x), 0
	case tir.Pow:
		return math.Pow(x, y), 0
	case tir.Sqrt:
		return math.Sqrt(x), 0
	case tir.Floor:
		return math.Floor(x), 0
	case tir.Ceil:
		return math.Ceil(x), 0
	case tir.Round:
		return math.RoundToEven(x), 0
	case tir.Trunc:
		return math.Trunc(x), 0
	case tir.Abs:
		return math.Abs(x), 0
	case tir.FloatMod:
		return math.Mod(x, y), 0
	}
	panic(f.String())
}

func floatFunctions() []tir.Intrinsic {
	var list []tir.Intrinsic
	for _, f := range tir.Intrinsics() {
		switch f {
		case tir.FMA, tir.IsNaN, tir.IsInf, tir.BitNot:
		default:
			list = append(list, f)
		}
	}
	return list
}

func operandsOf(f tir.Intrinsic) int {
	switch f {
	case tir.Pow, tir.FloatMod:
		return 2
	case tir.FMA:
		return 3
	}
	return 1
}

// TestFloat32Functions measures each function against Go's float64 functions and holds it to the documented error.
func TestFloat32Functions(t *testing.T) {
	host := hostTarget(t)
	const n = 1 << 16
	x, y := inputs32(n), inputs32(n)
	rand.New(rand.NewSource(3)).Shuffle(n, func(i, j int) { y[i], y[j] = y[j], y[i] })
	var kernels []*tir.Kernel
	for _, f := range floatFunctions() {
		kernels = append(kernels, elementwise(f.String(), f, tensor.Float32, n, host.Lanes(32), operandsOf(f)))
	}
	lib := load(t, build(t, host, kernels...).SO)
	for i, f := range floatFunctions() {
		t.Run(f.String(), func(t *testing.T) {
			out := make([]float32, n)
			bufs := []unsafe.Pointer{unsafe.Pointer(&x[0]), unsafe.Pointer(&y[0]), unsafe.Pointer(&out[0])}
			if operandsOf(f) == 1 {
				bufs = append(bufs[:1], bufs[2])
			}
			call(t, lib, kernels[i], 0, int64(kernels[i].GridExtent), bufs...)
			limit, _ := MathError(f, tensor.Float32)
			worst, where := 0.0, 0
			for j := range out {
				want, low := reference(f, float64(x[j]), float64(y[j]))
				if math.Abs(want) >= 0x1.ffffffp127 && !math.IsInf(want, 0) {
					want = math.Copysign(math.Inf(1), want)
				}
				if limit == 0 {
					want = float64(float32(want))
				}
				if u := ulps(float64(out[j]), want, low, 24, -149); u > worst {
					worst, where = u, j
				}
			}
			t.Logf("%s float32: %.3f ulp at x = %g, y = %g: %g", f, worst, x[where], y[where], out[where])
			require.LessOrEqual(t, worst, limit, "x = %g, y = %g, got %g", x[where], y[where], out[where])
			for j := range out { // the sign of zero
				if want, _ := reference(f, float64(x[j]), float64(y[j])); want == 0 && out[j] == 0 {
					require.Equal(t, math.Signbit(want), math.Signbit(float64(out[j])), "x = %g", x[j])
				}
			}
		})
	}
}

// TestFloat64Functions measures against exact values.
func TestFloat64Functions(t *testing.T) {
	host := hostTarget(t)
	const n = 1 << 10
	x, y := inputs64(n), inputs64(n)
	rand.New(rand.NewSource(3)).Shuffle(n, func(i, j int) { y[i], y[j] = y[j], y[i] })
	var kernels []*tir.Kernel
	for _, f := range floatFunctions() {
		kernels = append(kernels, elementwise(f.String(), f, tensor.Float64, n, host.Lanes(64), operandsOf(f)))
	}
	lib := load(t, build(t, host, kernels...).SO)
	for i, f := range floatFunctions() {
		t.Run(f.String(), func(t *testing.T) {
			out := make([]float64, n)
			bufs := []unsafe.Pointer{unsafe.Pointer(&x[0]), unsafe.Pointer(&y[0]), unsafe.Pointer(&out[0])}
			if operandsOf(f) == 1 {
				bufs = append(bufs[:1], bufs[2])
			}
			call(t, lib, kernels[i], 0, int64(kernels[i].GridExtent), bufs...)
			limit, _ := MathError(f, tensor.Float64)
			worst, where := 0.0, 0
			for j := range out {
				want, low, ok := exact(f, x[j], y[j])
				if !ok {
					want, low = reference(f, x[j], y[j])
				}
				if u := ulps(out[j], want, low, 53, -1074); u > worst {
					worst, where = u, j
				}
			}
			t.Logf("%s float64: %.3f ulp at x = %g, y = %g: %g", f, worst, x[where], y[where], out[where])
			require.LessOrEqual(t, worst, limit, "x = %g, y = %g, got %g", x[where], y[where], out[where])
		})
	}
}
