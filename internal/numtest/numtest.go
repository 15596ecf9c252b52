// Package numtest says how far computed numbers may lie from exact ones, and compares.
//
// A result of element type d that sums up K products and passes s other roundings is allowed the relative error
//
//	Relative(d, K, s) = u(d) · (4·(s+1) + 2·√K)
//
// where u is half the distance of 1 to the next number. √K stands for K roundings of a sum that go either way; the
// factors leave room for reciprocals and functions that are right to a few units in the last place. It is relative to
// the largest magnitude that the sum passes through, which Scale of the caller bounds.
//
// Types below 32 bits are stored, not computed in: their u counts once, that of float32 for the rest.
package numtest

import (
	"fmt"
	"math"

	"github.com/texel-ml/texel/tensor"
)

// Unit returns u(d); see tensor.Unit.
func Unit(d tensor.DType) float64 { return tensor.Unit(d) }

// Relative returns the allowed relative error of a result; see tensor.Relative.
func Relative(d tensor.DType, reduction, steps int) float64 {
	return tensor.Relative(d, reduction, steps)
}

// Unknown is the reduction length that is assumed where none is known.
const Unknown = 4096

// Tolerance is how near two tensors must be: |got − want| ≤ Abs + Rel·|want| + Max·max|want|.
type Tolerance struct {
	Rel, Abs   float64
	Max        float64 // relative to the largest magnitude of the wanted tensor
	SignedZero bool    // the sign of a zero counts
}

// Documented returns the tolerance of results of type d whose model is not known.
func Documented(d tensor.DType) Tolerance {
	r := Relative(d, Unknown, 16)
	return Tolerance{Rel: r, Max: r}
}

// Compare returns an error that describes the worst difference when got is not want. Types, shapes, integers and
// booleans are exact; NaN equals NaN and an infinity one of the same sign.
func Compare(got, want *tensor.Tensor, tol Tolerance) error {
	if got.DType != want.DType {
		return fmt.Errorf("type is %v, wanted %v", got.DType, want.DType)
	}
	if !got.Shape.Equal(want.Shape) {
		return fmt.Errorf("shape is %v, wanted %v", got.Shape, want.Shape)
	}
	g, w := tensor.Widen(got), tensor.Widen(want)
	if w.F == nil {
		wrong, first := 0, -1
		for i := range w.I {
			if g.I[i] != w.I[i] {
				if wrong++; first < 0 {
					first = i
				}
			}
		}
		if wrong > 0 {
			return fmt.Errorf("%d of %d elements differ, the first at %v: %d, wanted %d", wrong, len(w.I), index(want.Shape, first), g.I[first], w.I[first])
		}
		return nil
	}
	largest := 0.0
	for _, v := range w.F {
		if !math.IsInf(v, 0) && !math.IsNaN(v) {
			largest = math.Max(largest, math.Abs(v))
		}
	}
	wrong, worst, at := 0, 0.0, -1
	for i, v := range w.F {
		excess := 0.0
		x := g.F[i]
		switch {
		case math.IsNaN(v) || math.IsNaN(x) || math.IsInf(v, 0) || math.IsInf(x, 0):
			if !(math.IsNaN(v) && math.IsNaN(x)) && x != v {
				excess = math.Inf(1)
			}
		case tol.SignedZero && v == 0 && x == 0 && math.Signbit(v) != math.Signbit(x):
			excess = math.Inf(1)
		default:
			if d, allowed := math.Abs(x-v), tol.Abs+tol.Rel*math.Abs(v)+tol.Max*largest; d > allowed {
				excess = d / math.Max(allowed, math.SmallestNonzeroFloat64)
			}
		}
		if excess > 0 {
			wrong++
			if excess > worst {
				worst, at = excess, i
			}
		}
	}
	if wrong > 0 {
		return fmt.Errorf("%d of %d elements are outside the tolerance, the worst at %v: %g, wanted %g", wrong, len(w.F), index(want.Shape, at), g.F[at], w.F[at])
	}
	return nil
}

// index returns the position of element i.
func index(shape tensor.Shape, i int) []int {
	at := make([]int, len(shape))
	for a := len(shape) - 1; a >= 0; a-- {
		at[a] = i % shape[a]
		i /= shape[a]
	}
	return at
}
