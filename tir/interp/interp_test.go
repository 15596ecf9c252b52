package interp_test

import (
	"context"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/texel-ml/texel/tensor"
	"github.com/texel-ml/texel/tir"
	"github.com/texel-ml/texel/tir/interp"
	"github.com/texel-ml/texel/tir/tirtext"
)

func kernel(t *testing.T, text string) *tir.Kernel {
	t.Helper()
	k, err := tirtext.ParseKernel("kernel", text)
	require.NoError(t, err)
	return k
}

const product = `func product(A: float32[3, 4], B: float32[4, 2], out C: float32[3, 2]):
  block root():
    alloc T: float32[3, 2] local
    for i in range(0, 3):
      for j in range(0, 2):
        for k in range(0, 4):
          block T(vi: spatial[3] = i, vj: spatial[2] = j, vk: reduce[4] = k):
            reads A[vi +: 1, vk +: 1], B[vk +: 1, vj +: 1]
            writes T[vi +: 1, vj +: 1]
            init:
              T[vi, vj] = 0.0
            T[vi, vj] = T[vi, vj] + A[vi, vk] * B[vk, vj]
    for i in range(0, 3):
      for j in range(0, 2):
        block C(wi: spatial[3] = i, wj: spatial[2] = j):
          reads T[wi +: 1, wj +: 1]
          writes C[wi +: 1, wj +: 1]
          C[wi, wj] = max(T[wi, wj], 1.0)
`

func runProduct(text string, opts interp.Options) (*tensor.Tensor, error) {
	f, err := tirtext.Parse("product", text)
	if err != nil {
		return nil, err
	}
	a := tensor.Of[float32](tensor.Float32, tensor.Shape{3, 4}, 1, 2, 3, 4, 5, 6, 7, 8, -1, -1, -1, -1)
	b := tensor.Of[float32](tensor.Float32, tensor.Shape{4, 2}, 1, 0, 0, 1, 1, 0, 0, 2)
	c := tensor.New(tensor.Float32, tensor.Shape{3, 2})
	return c, interp.Run(context.Background(), f, []*tensor.Tensor{a, b, c}, opts)
}

func TestBlocks(t *testing.T) {
	for _, opts := range []interp.Options{{}, {Float64: true}, {Races: true}} {
		c, err := runProduct(product, opts)
		require.NoError(t, err)
		require.Equal(t, []float32{4, 10, 12, 22, 1, 1}, tensor.View[float32](c))
	}
}

// Each edit of the product is refused, with the place.
func TestRefusals(t *testing.T) {
	for _, c := range []struct{ from, to, want string }{
		{"A[vi, vk] *", "A[vi + 1, vk] *", "interp: T: element [1 0] of A is in no region that the block declares, at i = 0, j = 0, k = 0, vi = 0, vj = 0, vk = 0"},
		{"reads A[vi +: 1, vk +: 1], B[vk +: 1, vj +: 1]", "reads A[0 +: 3, 0 +: 5], B[vk +: 1, vj +: 1]", ""},
		{"C[wi, wj] = max(T[wi, wj], 1.0)", "C[wi + 1, wj] = max(T[wi, wj], 1.0)", "interp: C: element [1 0] of C is in no region that the block declares, at i = 0, j = 0, wi = 0, wj = 0"},
		{"            init:\n              T[vi, vj] = 0.0\n", "", "interp: T: element [0 0] is read before it is written, at i = 0, j = 0, k = 0, vi = 0, vj = 0, vk = 0"},
		{"range(0, 4)", "range(0, 5)", "interp: T: iteration variable vk = 4 is outside [0, 4) at i = 0, j = 0, k = 4"},
		{"range(0, 4)", "range(0, 4, kind=parallel)", "interp: T: element [0 0] is written and read by different iterations of a parallel loop, at i = 0, j = 0, k = 1, vi = 0, vj = 0, vk = 1"},
		{"max(T[wi, wj], 1.0)", "float32(1 // wi)", "interp: product: division by zero at i = 0, j = 0, wi = 0, wj = 0"},
	} {
		text := strings.Replace(product, c.from, c.to, 1)
		require.NotEqual(t, product, text)
		_, err := runProduct(text, interp.Options{Races: true})
		if c.want == "" {
			require.NoError(t, err)
			continue
		}
		require.EqualError(t, err, c.want)
	}
	_, err := runProduct(product, interp.Options{MaxSteps: 10})
	require.ErrorContains(t, err, "above the limit of 10 steps")
}

func TestOutOfBounds(t *testing.T) {
	k := kernel(t, `kernel k(A: int8[4], out B: int8[4]) grid g = 2:
  for i in range(0, 3):
    B[g * 2 + i] = A[0]
`)
	err := interp.RunKernel(context.Background(), k, []*tensor.Tensor{tensor.New(tensor.Int8, tensor.Shape{4}), tensor.New(tensor.Int8, tensor.Shape{4})}, interp.Options{})
	require.EqualError(t, err, "interp: B: index 4 of axis 0 is outside [0, 4) at g = 1, i = 2")
	err = interp.RunKernel(context.Background(), k, []*tensor.Tensor{tensor.New(tensor.Int8, tensor.Shape{4}), tensor.New(tensor.Int8, tensor.Shape{4})}, interp.Options{Races: true})
	require.EqualError(t, err, "interp: B: element [2] is written by one and used by another iteration of a parallel loop, at g = 1, i = 0")
	err = interp.RunKernel(context.Background(), k, []*tensor.Tensor{tensor.New(tensor.Int8, tensor.Shape{4})}, interp.Options{})
	require.EqualError(t, err, "interp: k: wanted 2 tensors, found 1")
	require.Error(t, interp.RunKernel(context.Background(), kernel(t, "kernel s(out B: int64[], scalar n: int64):\n  B[] = n\n"),
		[]*tensor.Tensor{tensor.New(tensor.Int64, tensor.Shape{})}, interp.Options{}), "no value for n")
	err = interp.RunKernel(context.Background(), k, []*tensor.Tensor{tensor.New(tensor.Int8, tensor.Shape{3}), nil}, interp.Options{})
	require.EqualError(t, err, "interp: A: wanted a tensor of int8 and shape (4,), found int8 of shape (3,)")
}

// Vectors read all lanes before they write one.
func TestVectors(t *testing.T) {
	k := kernel(t, `kernel k(A: float32[8], scalar n: int64, scalar m: int64):
  A[ramp(1, 1, 4)] = A[ramp(0, 1, 4)] + broadcast(float32(n), 4)
  A[ramp(7, -2, 2)] = select(ramp(0, 1, 2) < broadcast(1, 2), broadcast(9.0, 2), A[ramp(m, 0, 2)])
`)
	k.Outputs = 1
	a := tensor.Of[float32](tensor.Float32, tensor.Shape{8}, 0, 1, 2, 3, 4, 5, 6, 7)
	require.NoError(t, interp.RunKernel(context.Background(), k, []*tensor.Tensor{a}, interp.Options{Scalars: map[*tir.Var]int64{k.Scalars[0]: 10, k.Scalars[1]: 2}}))
	require.Equal(t, []float32{0, 10, 11, 12, 13, 11, 6, 9}, tensor.View[float32](a))
}

// value evaluates an expression of type d over three scalar arguments.
func value(t *testing.T, d, text string, scalars ...int64) *tensor.Wide {
	t.Helper()
	k := kernel(t, "kernel k(out R: "+d+"[], scalar a: int64, scalar b: int64, scalar c: int64):\n  R[] = "+text+"\n")
	out := tensor.New(k.Params[0].DType, tensor.Shape{})
	opts := interp.Options{Scalars: map[*tir.Var]int64{}}
	for i, v := range k.Scalars {
		opts.Scalars[v] = 0
		if i < len(scalars) {
			opts.Scalars[v] = scalars[i]
		}
	}
	require.NoError(t, interp.RunKernel(context.Background(), k, []*tensor.Tensor{out}, opts), text)
	return tensor.Widen(out)
}

func TestIntegerSemantics(t *testing.T) {
	for _, c := range []struct {
		d, text string
		args    []int64
		want    int64
	}{
		{"int64", "a // b", []int64{-7, 2}, -4},
		{"int64", "a / b", []int64{-7, 2}, -3},
		{"int64", "a %% b", []int64{-7, 2}, 1},
		{"int64", "a % b", []int64{-7, 2}, -1},
		{"int64", "a // b", []int64{7, -2}, -4},
		{"int64", "a %% b", []int64{7, -2}, -1},
		{"int64", "a / b", []int64{math.MinInt64, -1}, math.MinInt64},
		{"int8", "int8(a) + int8(b)", []int64{127, 1}, -128},
		{"int8", "int8(a) / int8(b)", []int64{-128, -1}, -128},
		{"int8", "abs(int8(a))", []int64{-128}, -128},
		{"uint8", "uint8(a) - uint8(b)", []int64{0, 1}, 255},
		{"uint8", "bitnot(uint8(a))", []int64{5}, 250},
		{"int32", "int32(a) * int32(b)", []int64{1 << 20, 1 << 12}, 0},
		{"bool", "uint64(a) < uint64(b)", []int64{-1, 1}, 0},
		{"uint64", "uint64(a) / uint64(b)", []int64{-1, 2}, math.MaxInt64},
		{"uint64", "max(uint64(a), uint64(b))", []int64{-1, 2}, -1},
		{"int8", "int8(a) >> 1_int8", []int64{-3}, -2},
		{"uint8", "uint8(a) >> 1_uint8", []int64{-3}, 126},
		{"int32", "int32(a) << 33_int32", []int64{1}, 0},
		{"int32", "pow(int32(a), int32(b))", []int64{3, 4}, 81},
		{"int32", "pow(int32(a), int32(b))", []int64{-1, -3}, -1},
		{"int8", "int8(1e9)", nil, 127},
		{"int8", "int8(-1e9)", nil, -128},
		{"uint8", "uint8(-3.5)", nil, 0},
		{"int32", "int32(nan)", nil, 0},
		{"int32", "int32(-2.9)", nil, -2},
		{"int64", "int64(inf)", nil, math.MaxInt64},
		{"uint64", "uint64(1e20)", nil, -1},
		{"bool", "bool(0.5)", nil, 1},
		{"bool", "bool(a)", []int64{2}, 1},
		{"int64", "select(a < 1, 5, 7 // a)", nil, 5},
		{"bool", "0 < a and 7 // a == 1", nil, 0},
		{"bool", "not (a == 0 or 7 // a == 1)", nil, 0},
		{"bool", "isnan(nan)", nil, 1},
		{"uint32", "bits(-1.5)", nil, 0xbfc00000},
		{"uint64", "bits(-1.5_float64)", nil, -0x4008000000000000},
		{"bool", "min(1.0, nan) == min(1.0, nan)", nil, 0},
		{"int32", "a_int32", nil, 0},
	} {
		if c.text == "a_int32" { // not a literal: the parser must refuse it
			_, err := tirtext.ParseKernel("k", "kernel k(out R: int32[]):\n  R[] = a_int32\n")
			require.Error(t, err)
			continue
		}
		require.Equal(t, c.want, value(t, c.d, c.text, c.args...).I[0], "%s %v", c.text, c.args)
	}
}

func TestFloatSemantics(t *testing.T) {
	for _, c := range []struct {
		d, text string
		args    []int64
		want    float64
	}{
		{"float32", "16777216.0 + 1.0", nil, 16777216},
		{"float64", "16777216.0_float64 + 1.0_float64", nil, 16777217},
		{"float16", "2048.0_float16 + 1.0_float16", nil, 2048},
		{"float32", "float32(a)", []int64{16777217}, 16777216},
		{"float32", "float32(uint64(a))", []int64{-1}, 18446744073709551616},
		{"float32", "exp(0.0) + erf(0.0) + sigmoid(0.0) + rsqrt(4.0)", nil, 2},
		{"float32", "round(2.5) + round(-3.5) + floor(-0.5) + trunc(-1.5)", nil, -4},
		{"float32", "fmod(-7.5, 2.0) + fma(2.0, 3.0, 4.0) + pow(2.0, 3.0)", nil, 16.5},
		{"float32", "-7.5 %% 2.0", nil, 0.5},
		{"float32", "fma(1.5, 161.10368, 1e-40)", nil, 241.65553283691406}, // beyond a tie by less than float64 holds
		{"float32", "-7.5 // 2.0", nil, -4},
		{"float32", "frombits(1_uint32)", nil, 0x1p-149},
		{"float64", "frombits(4613937818241073152_uint64)", nil, 3},
		{"float32", "max(-0.0, 0.0)", nil, 0},
		{"float32", "float32(float16(0.1))", nil, 0.0999755859375},
	} {
		require.Equal(t, c.want, value(t, c.d, c.text, c.args...).F[0], c.text)
	}
}

func TestCancelAndSpeed(t *testing.T) {
	k := kernel(t, `kernel k(A: float32[1024], out B: float32[1024]):
  for i in range(0, 1000):
    for j in range(0, 1000):
      B[j] = A[j] * 2.0 + A[j // 2] - float32(i)
`)
	args := []*tensor.Tensor{tensor.New(tensor.Float32, tensor.Shape{1024}), tensor.New(tensor.Float32, tensor.Shape{1024})}
	start := time.Now()
	require.NoError(t, interp.RunKernel(context.Background(), k, args, interp.Options{}))
	t.Logf("a million iterations took %v", time.Since(start))
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	err := interp.RunKernel(ctx, k, args, interp.Options{})
	require.ErrorIs(t, err, context.Canceled)
}
