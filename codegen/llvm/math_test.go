package llvm

import (
	"fmt"
	"math"
	"math/rand"
	"testing"
	"time"
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

// reference is Go's function.
func reference(f tir.Intrinsic, x, y float64) float64 {
	switch f {
	case tir.Exp:
		return math.Exp(x)
	case tir.Log:
		return math.Log(x)
	case tir.Tanh:
		return math.Tanh(x)
	case tir.Erf:
		return math.Erf(x)
	case tir.Sigmoid:
		if x < -40 {
			return math.Exp(x)
		}
		return 1 / (1 + math.Exp(-x))
	case tir.Rsqrt:
		return 1 / math.Sqrt(x)
	case tir.Sin:
		return math.Sin(x)
	case tir.Cos:
		return math.Cos(x)
	case tir.Tan:
		return math.Tan(x)
	case tir.Asin:
		return math.Asin(x)
	case tir.Acos:
		return math.Acos(x)
	case tir.Atan:
		return math.Atan(x)
	case tir.Sinh:
		return math.Sinh(x)
	case tir.Cosh:
		return math.Cosh(x)
	case tir.Asinh:
		return math.Asinh(x)
	case tir.Acosh:
		return math.Acosh(x)
	case tir.Atanh:
		return math.Atanh(x)
	case tir.Pow:
		return math.Pow(x, y)
	case tir.Sqrt:
		return math.Sqrt(x)
	case tir.Floor:
		return math.Floor(x)
	case tir.Ceil:
		return math.Ceil(x)
	case tir.Round:
		return math.RoundToEven(x)
	case tir.Trunc:
		return math.Trunc(x)
	case tir.Abs:
		return math.Abs(x)
	case tir.FloatMod:
		return math.Mod(x, y)
	}
	panic(f.String())
}

func floatFunctions() []tir.Intrinsic {
	var list []tir.Intrinsic
	for _, f := range tir.Intrinsics() {
		switch f {
		case tir.FMA, tir.IsNaN, tir.IsInf, tir.BitNot, tir.Bits, tir.FromBits:
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

// functionKernels is a kernel for each function of floats.
func functionKernels(d tensor.DType, n, lanes int) []*tir.Kernel {
	var kernels []*tir.Kernel
	for _, f := range floatFunctions() {
		kernels = append(kernels, elementwise(f.String(), f, d, n, lanes, operandsOf(f)))
	}
	return kernels
}

// measure runs each function on x, and y in another order, and returns its results to check.
func measure(t *testing.T, m machine, x *tensor.Tensor, check func(t *testing.T, f tir.Intrinsic, x, y, out []float64)) {
	y := clone([]*tensor.Tensor{x})[0]
	size := x.DType.Bits() / 8
	rand.New(rand.NewSource(3)).Shuffle(x.Elems(), func(i, j int) {
		a, b := y.Data[i*size:(i+1)*size], y.Data[j*size:(j+1)*size]
		for k := range a {
			a[k], b[k] = b[k], a[k]
		}
	})
	for i, f := range floatFunctions() {
		t.Run(f.String(), func(t *testing.T) {
			out := tensor.New(x.DType, x.Shape)
			args := []*tensor.Tensor{x, y, out}
			if operandsOf(f) == 1 {
				args = []*tensor.Tensor{x, out}
			}
			m.run(t, i, args, nil)
			check(t, f, tensor.Widen(x).F, tensor.Widen(y).F, tensor.Widen(out).F)
		})
	}
}

// checkFloat32 compares with Go's functions of float64 and holds results to the documented error.
func checkFloat32(t *testing.T, f tir.Intrinsic, x, y, out []float64) {
	limit, _ := MathError(f, tensor.Float32)
	worst, where := 0.0, 0
	for j := range out {
		want := reference(f, x[j], y[j])
		if math.Abs(want) >= 0x1.ffffffp127 && !math.IsInf(want, 0) {
			want = math.Copysign(math.Inf(1), want)
		}
		if limit == 0 {
			want = float64(float32(want))
		}
		if u := ulps(out[j], want, 0, 24, -149); u > worst {
			worst, where = u, j
		}
		if want == 0 && out[j] == 0 {
			require.Equal(t, math.Signbit(want), math.Signbit(out[j]), "sign of zero at x = %g", x[j])
		}
	}
	t.Logf("%s float32: %.3f ulp at x = %g, y = %g: %g", f, worst, x[where], y[where], out[where])
	require.LessOrEqual(t, worst, limit, "x = %g, y = %g, got %g", x[where], y[where], out[where])
}

func TestFloat32Functions(t *testing.T) {
	const n = 1 << 16
	x := tensor.Of(tensor.Float32, tensor.Shape{n}, inputs32(n)...)
	host := hostTarget(t)
	t.Run("native", func(t *testing.T) {
		measure(t, newNative(t, host, functionKernels(tensor.Float32, n, host.Lanes(32))), x, checkFloat32)
	})
	t.Run("scalar", func(t *testing.T) {
		measure(t, newNative(t, host, functionKernels(tensor.Float32, n, 1)), x, checkFloat32)
	})
	const few = 1 << 13
	t.Run("aarch64", func(t *testing.T) {
		small := tensor.Of(tensor.Float32, tensor.Shape{few}, inputs32(few)...)
		measure(t, newEmulated(t, bigCore(t), functionKernels(tensor.Float32, few, 4)), small, checkFloat32)
	})
}

// checkFloat64 compares with exact values.
func checkFloat64(t *testing.T, f tir.Intrinsic, x, y, out []float64) {
	limit, _ := MathError(f, tensor.Float64)
	worst, where := 0.0, 0
	for j := range out {
		want, low, ok := exact(f, x[j], y[j])
		if !ok {
			want, low = reference(f, x[j], y[j]), 0
		}
		if u := ulps(out[j], want, low, 53, -1074); u > worst {
			worst, where = u, j
		}
	}
	t.Logf("%s float64: %.3f ulp at x = %g, y = %g: %g", f, worst, x[where], y[where], out[where])
	require.LessOrEqual(t, worst, limit, "x = %g, y = %g, got %g", x[where], y[where], out[where])
}

func TestFloat64Functions(t *testing.T) {
	const n = 1 << 10
	x := tensor.Of(tensor.Float64, tensor.Shape{n}, inputs64(n)...)
	host := hostTarget(t)
	t.Run("native", func(t *testing.T) {
		measure(t, newNative(t, host, functionKernels(tensor.Float64, n, host.Lanes(64))), x, checkFloat64)
	})
	t.Run("aarch64", func(t *testing.T) {
		few := tensor.Of(tensor.Float64, tensor.Shape{256}, inputs64(256)...)
		measure(t, newEmulated(t, bigCore(t), functionKernels(tensor.Float64, 256, 2)), few, checkFloat64)
	})
}

// BenchmarkFunctions times the functions of float32 on data in the second-level cache.
func BenchmarkFunctions(b *testing.B) {
	host := hostTarget(b)
	const n = 1 << 14
	x := make([]float32, n)
	r := rand.New(rand.NewSource(1))
	for i := range x {
		x[i] = float32(r.Float64()*8 + 0.01)
	}
	kernels := functionKernels(tensor.Float32, n, host.Lanes(32))
	lib := load(b, build(b, host, kernels...).SO)
	for i, f := range floatFunctions() {
		b.Run(f.String(), func(b *testing.B) {
			out := make([]float32, n)
			bufs := []unsafe.Pointer{unsafe.Pointer(&x[0]), unsafe.Pointer(&x[0]), unsafe.Pointer(&out[0])}
			if operandsOf(f) == 1 {
				bufs = append(bufs[:1], bufs[2])
			}
			best := math.Inf(1)
			for range b.N {
				for range 20 {
					start := time.Now()
					call(b, lib, kernels[i], 0, int64(kernels[i].GridExtent), bufs...)
					best = min(best, float64(time.Since(start).Nanoseconds()))
				}
			}
			b.ReportMetric(best/n, "ns/element")
			b.ReportMetric(0, "ns/op")
		})
	}
}
