package relay

import (
	"math"

	"github.com/texel-ml/texel/tensor"
)

// reduction walks over an operand: each is called for every stretch of its elements along the last axis, with the
// offset of the stretch, the offset of its result and by how much that moves an element, and the first element's index
// among the reduced axes and by how much that moves.
func reduction(shape tensor.Shape, mask []bool, each func(at, n, to, toStep, index, indexStep int)) {
	kept, among := make([]int, len(shape)), make([]int, len(shape))
	k, r := 1, 1
	for i := len(shape) - 1; i >= 0; i-- {
		if mask[i] {
			among[i] = r
			r *= shape[i]
		} else {
			kept[i] = k
			k *= shape[i]
		}
	}
	eachRow(shape, [][]int{kept, among}, func(at, n int, from []int) {
		each(at, n, from[0], lastStride(kept), from[1], lastStride(among))
	})
}

// evalReduce folds the operand with f (floats) or g (integers), starting from the given values; finish gets the folded
// value and the number of elements.
func evalReduce(first func(d tensor.DType) (float64, int64), f func(acc, v float64) float64, g func(d tensor.DType, acc, v int64) int64,
	finishF func(acc float64, n int) float64, finishI func(d tensor.DType, acc int64, n int) int64) evalFunc {
	return func(s *EvalSite) (Value, error) {
		a, x, out := s.Attrs.(*ReduceAttrs), s.Wide(0), s.out()
		mask := ReducedAxes(a.Axis, a.Exclude, len(x.Shape))
		startF, startI := first(x.DType)
		for i := range out.F {
			out.F[i] = startF
		}
		for i := range out.I {
			out.I[i] = startI
		}
		reduction(x.Shape, mask, func(at, n, to, step, _, _ int) {
			for i := range n {
				if x.F != nil {
					out.F[to] = f(out.F[to], x.F[at+i])
				} else {
					out.I[to] = g(x.DType, out.I[to], x.I[at+i])
				}
				to += step
			}
		})
		count := 1
		for i, reduced := range mask {
			if reduced {
				count *= x.Shape[i]
			}
		}
		for i := range out.F {
			if finishF != nil {
				out.F[i] = finishF(out.F[i], count)
			}
		}
		for i := range out.I {
			if finishI != nil {
				out.I[i] = finishI(x.DType, out.I[i], count)
			}
			out.I[i] = tensor.Wrap(out.DType, out.I[i])
		}
		return out, nil
	}
}

func startAt(v float64) func(tensor.DType) (float64, int64) {
	return func(tensor.DType) (float64, int64) { return v, int64(v) }
}

func leastValue(d tensor.DType) (float64, int64) {
	if d.IsFloat() {
		return math.Inf(-1), 0
	}
	lo, _ := tensor.IntRange(d)
	return 0, lo
}

func largestValue(d tensor.DType) (float64, int64) {
	if d.IsFloat() {
		return math.Inf(1), 0
	}
	_, hi := tensor.IntRange(d)
	return 0, hi
}

func evalSum(s *EvalSite) (Value, error) {
	return evalReduce(startAt(0), func(acc, v float64) float64 { return acc + v },
		func(_ tensor.DType, acc, v int64) int64 { return acc + v }, nil, nil)(s)
}

func evalMean(s *EvalSite) (Value, error) {
	return evalReduce(startAt(0), func(acc, v float64) float64 { return acc + v },
		func(_ tensor.DType, acc, v int64) int64 { return acc + v },
		func(acc float64, n int) float64 { return acc / float64(n) },
		func(d tensor.DType, acc int64, n int) int64 { return divInt(d, acc, int64(n)) })(s)
}

func evalProd(s *EvalSite) (Value, error) {
	return evalReduce(startAt(1), func(acc, v float64) float64 { return acc * v },
		func(_ tensor.DType, acc, v int64) int64 { return acc * v }, nil, nil)(s)
}

func evalMax(s *EvalSite) (Value, error) { return evalReduce(leastValue, fmax, maxInt, nil, nil)(s) }

func evalMin(s *EvalSite) (Value, error) { return evalReduce(largestValue, fmin, minInt, nil, nil)(s) }

func evalAll(s *EvalSite) (Value, error) {
	return evalReduce(startAt(1), nil, func(_ tensor.DType, acc, v int64) int64 { return acc & v }, nil, nil)(s)
}

func evalAny(s *EvalSite) (Value, error) {
	return evalReduce(startAt(0), nil, func(_ tensor.DType, acc, v int64) int64 { return acc | v }, nil, nil)(s)
}

func evalLogSumExp(s *EvalSite) (Value, error) {
	largest, err := evalMax(s)
	if err != nil {
		return nil, err
	}
	a, x, m, out := s.Attrs.(*ReduceAttrs), s.Wide(0), largest.(*tensor.Wide), s.out()
	reduction(x.Shape, ReducedAxes(a.Axis, a.Exclude, len(x.Shape)), func(at, n, to, step, _, _ int) {
		for i := range n {
			out.F[to] += math.Exp(x.F[at+i] - finite(m.F[to]))
			to += step
		}
	})
	for i, v := range out.F {
		out.F[i] = math.Log(v) + finite(m.F[i])
	}
	return out, nil
}

// finite returns what is subtracted before an exponential: the largest element, unless that is infinite.
func finite(v float64) float64 {
	if math.IsInf(v, 0) {
		return 0
	}
	return v
}

// evalArg evaluates argmax (sign 1) and argmin (sign −1).
func evalArg(sign float64) evalFunc {
	return func(s *EvalSite) (Value, error) {
		a, x, out := s.Attrs.(*ArgReduceAttrs), s.Wide(0), s.out()
		best := make([]int, len(out.I)) // offset + 1 of the best element so far
		better := func(i, than int) bool {
			c := compareAt(x, i, than)
			if sign < 0 {
				c = -c
			}
			return c > 0 || c == 0 && a.SelectLastIndex
		}
		reduction(x.Shape, ReducedAxes(a.Axis, a.Exclude, len(x.Shape)), func(at, n, to, step, index, indexStep int) {
			for i := at; i < at+n; i++ {
				if best[to] == 0 || better(i, best[to]-1) {
					best[to], out.I[to] = i+1, int64(index)
				}
				to, index = to+step, index+indexStep
			}
		})
		return out, nil
	}
}

// compareAt compares elements i and j of w, floats rounded to their type; NaN is larger than any number.
func compareAt(w *tensor.Wide, i, j int) int {
	if w.F == nil {
		switch a, b := w.I[i], w.I[j]; {
		case lessInt(w.DType, a, b):
			return -1
		case lessInt(w.DType, b, a):
			return 1
		}
		return 0
	}
	a, b := tensor.Round(w.DType, w.F[i]), tensor.Round(w.DType, w.F[j])
	switch {
	case a < b, !math.IsNaN(a) && math.IsNaN(b):
		return -1
	case a > b, math.IsNaN(a) && !math.IsNaN(b):
		return 1
	}
	return 0
}
