package numtest

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/texel-ml/texel/tensor"
)

func floats(v ...float32) *tensor.Tensor {
	return tensor.Of(tensor.Float32, tensor.Shape{len(v)}, v...)
}

func TestUnitIsHalfAStepAtOne(t *testing.T) {
	for _, d := range tensor.DTypes() {
		switch u := Unit(d); {
		case d == tensor.Float64:
			require.Equal(t, math.Nextafter(1, 2)-1, 2*u)
		case d == tensor.Float32:
			require.Equal(t, float64(math.Nextafter32(1, 2)-1), 2*u)
		case d == tensor.Float8E8M0: // powers of two only
			require.Equal(t, 0.5, u)
		case d.IsFloat():
			require.Equal(t, tensor.DecodeFloat(d, tensor.EncodeFloat(d, 1)+1)-1, 2*u, "%v", d)
		default:
			require.Zero(t, u)
			require.Zero(t, Relative(d, 1000, 10))
		}
	}
}

func TestRelativeGrowsWithTheRootOfTheSum(t *testing.T) {
	require.InDelta(t, 0x1p-24*(4+2*32), Relative(tensor.Float32, 1024, 0), 1e-12)
	require.Greater(t, Relative(tensor.Float16, 1, 0), Unit(tensor.Float16))
	require.Less(t, Relative(tensor.Float16, 4096, 0), 3*Unit(tensor.Float16))
}

func TestCompare(t *testing.T) {
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	tol := Tolerance{Rel: 0.01, Abs: 0.1}
	require.NoError(t, Compare(floats(1, nan, inf, -inf), floats(1.1, nan, inf, -inf), tol))
	require.ErrorContains(t, Compare(floats(1, 2), floats(1, 3), tol), "1 of 2 elements are outside the tolerance, the worst at [1]: 2, wanted 3")
	require.ErrorContains(t, Compare(floats(inf), floats(-inf), tol), "1 of 1")
	require.ErrorContains(t, Compare(floats(1), floats(nan), tol), "1 of 1")
	require.ErrorContains(t, Compare(floats(nan), floats(1), tol), "1 of 1")
	require.ErrorContains(t, Compare(floats(1), tensor.New(tensor.Float64, tensor.Shape{1}), tol), "type is float32, wanted float64")
	require.ErrorContains(t, Compare(floats(1), floats(1, 2), tol), "shape is (1,), wanted (2,)")
	zero := float32(math.Copysign(0, -1))
	require.NoError(t, Compare(floats(zero), floats(0), Tolerance{}))
	require.Error(t, Compare(floats(zero), floats(0), Tolerance{SignedZero: true}))
	ints := tensor.Of[int32](tensor.Int32, tensor.Shape{2, 2}, 1, 2, 3, 4)
	require.NoError(t, Compare(ints, ints, Tolerance{}))
	require.ErrorContains(t, Compare(ints, tensor.Of[int32](tensor.Int32, tensor.Shape{2, 2}, 1, 2, 4, 4), tol), "the first at [1 0]: 3, wanted 4")
	require.NoError(t, Compare(floats(100, 0.5), floats(100, 0.4), Tolerance{Max: 0.002}))
}

func TestTurnsHaveTheStepsOfTheNarrowType(t *testing.T) {
	require.Equal(t, []float64{0, 0.5, 1, 1.5, 2, 3, 4, 6}, tensor.Widen(Codes(tensor.Float4E2M1)).F[:8])
	require.Equal(t, []int64{0, 1, -2, -1}, tensor.Widen(Codes(tensor.Int2)).I)
	w := tensor.Widen(Turns(tensor.Float32, tensor.Float4E2M1))
	up := float64(math.Nextafter32(2.5, 3))
	for _, v := range []float64{2.5, up, -up, 6, 7, 0.25, math.Inf(-1)} { // the middle of 2 and 3, what is beyond the largest
		require.Contains(t, w.F, v)
	}
	require.Contains(t, tensor.Widen(Turns(tensor.Int8, tensor.Int4)).I, int64(-128))
	require.Contains(t, tensor.Widen(Turns(tensor.Float16, tensor.Int4)).F, 1.5)
}
