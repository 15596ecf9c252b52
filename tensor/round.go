package tensor

import "math"

// Round returns v rounded to the nearest value of a floating-point type, ties to even; see EncodeFloat for values
// that are too large.
func Round(d DType, v float64) float64 {
	switch d {
	case Float64:
		return v
	case Float32:
		return float64(float32(v))
	}
	return DecodeFloat(d, EncodeFloat(d, v))
}

// MaxFinite returns the largest finite value of a floating-point type.
func MaxFinite(d DType) float64 {
	switch d {
	case Float64:
		return math.MaxFloat64
	case Float32:
		return math.MaxFloat32
	case Float16:
		return 65504
	case BFloat16:
		return 0x1.fep127
	}
	return DecodeFloat(d, EncodeFloat(d, math.MaxFloat64))
}

// Wrap returns v modulo 2^width in an integer type: its low bits, sign-extended for a signed type. A uint64 is held as
// its bits.
func Wrap(d DType, v int64) int64 {
	shift := 64 - d.Bits()
	if d.Kind() == Signed {
		return v << shift >> shift
	}
	if d == Bool {
		return min(v&math.MaxInt64|v>>63&1, 1)
	}
	return int64(uint64(v) << shift >> shift)
}

// IntRange returns the least and the largest value of an integer type; those of uint64 are given as bits.
func IntRange(d DType) (lo, hi int64) {
	switch d.Kind() {
	case Signed:
		return -1 << (d.Bits() - 1), 1<<(d.Bits()-1) - 1
	case Boolean:
		return 0, 1
	}
	return 0, int64(^uint64(0) >> (64 - d.Bits()))
}

// Unit returns u(d), half the distance from 1 to the next larger number of a floating-point type; 0 for integers.
func Unit(d DType) float64 {
	if !d.IsFloat() {
		return 0
	}
	return Epsilon(d) / 2
}

// Relative returns the relative error that a result of element type d may have which sums up n products and passes
// steps other roundings, relative to the largest magnitude that the sum passes through:
//
//	u(d) · (4·(steps + 1) + 2·√n)
//
// √n stands for n roundings of a sum that go either way; the factors leave room for reciprocals and functions that are
// right to a few units in the last place. Types below 32 bits are stored, not computed in: their 2·u counts once, that
// of float32 for the rest. Integer results are exact.
func Relative(d DType, n, steps int) float64 {
	u := Unit(d)
	if u == 0 {
		return 0
	}
	inner, stored := u, 0.0
	if d.Bits() < 32 {
		inner, stored = Unit(Float32), 2*u
	}
	return stored + inner*(4*float64(steps+1)+2*math.Sqrt(float64(max(n, 1))))
}

// toleranceSteps is how many roundings besides those of its sum Tolerance allows a result.
const toleranceSteps = 16

// Tolerance returns by how much a result of element type d, a sum of n products of magnitude 1, may differ from the
// exact one: |got − want| ≤ atol + rtol·|want|. It is Relative with 16 steps.
func Tolerance(d DType, n int) (rtol, atol float64) {
	r := Relative(d, n, toleranceSteps)
	return r, r
}

// Epsilon returns the distance from 1 to the next value of a floating-point type.
func Epsilon(d DType) float64 {
	switch d {
	case Float64:
		return 0x1p-52
	case Float32:
		return 0x1p-23
	}
	return math.Ldexp(1, -floatForms[d].Mantissa)
}

// Difference says how far two arrays are apart.
type Difference struct {
	MaxAbs  float64 // largest |got − want|
	MaxRel  float64 // largest |got − want| / |want| where want is not 0
	At      int     // the element with the largest excess over the tolerance
	Got     float64 // and its two values
	Want    float64
	Excess  float64 // |got − want| / (atol + rtol·|want|) there; at most 1 is within the tolerance
	Outside int     // elements outside
}

// Compare compares got with want, element by element: |got − want| ≤ atol + rtol·|want|. A NaN equals a NaN and an
// infinity itself; either against anything else is outside. The arrays must have equal lengths; otherwise every
// element counts as outside.
func Compare(got, want *Wide, rtol, atol float64) Difference {
	n := want.Shape.Elems()
	d := Difference{At: -1}
	if got.Shape.Elems() != n || got.DType.IsFloat() != want.DType.IsFloat() {
		d.Outside, d.Excess = max(n, 1), math.Inf(1)
		return d
	}
	for i := range n {
		g, w, err := 0.0, 0.0, 0.0
		if want.DType.IsFloat() {
			g, w = got.F[i], want.F[i]
			switch {
			case g == w || math.IsNaN(g) && math.IsNaN(w):
			case math.IsNaN(g) || math.IsNaN(w) || math.IsInf(g, 0) || math.IsInf(w, 0):
				err = math.Inf(1)
			default:
				err = math.Abs(g - w)
			}
		} else if a, b := got.I[i], want.I[i]; a != b {
			g, w = float64(a), float64(b)
			err = math.Max(math.Abs(g-w), 1)
		}
		if err == 0 {
			continue
		}
		excess := math.Inf(1)
		if limit := atol + rtol*math.Abs(w); limit > 0 && !math.IsInf(err, 1) {
			excess = err / limit
		}
		d.MaxAbs = max(d.MaxAbs, err)
		if w != 0 && !math.IsNaN(w) {
			d.MaxRel = max(d.MaxRel, err/math.Abs(w))
		}
		if excess > 1 {
			d.Outside++
		}
		if excess > d.Excess {
			d.At, d.Got, d.Want, d.Excess = i, g, w, excess
		}
	}
	return d
}
