package relay

import (
	"math"
	"math/bits"

	"github.com/texel-ml/texel/tensor"
)

type evalFunc = func(*EvalSite) (Value, error)

// evalFloat evaluates f on each element.
func evalFloat(f func(float64) float64) evalFunc {
	return func(s *EvalSite) (Value, error) {
		x, out := s.Wide(0), s.out()
		s.parallel(len(x.F), 8, func(begin, end int) {
			for i := begin; i < end; i++ {
				out.F[i] = f(x.F[i])
			}
		})
		return out, nil
	}
}

// evalNumber evaluates f on floats and g on integers, of element type d.
func evalNumber(f func(float64) float64, g func(d tensor.DType, v int64) int64) evalFunc {
	float := evalFloat(f)
	return func(s *EvalSite) (Value, error) {
		x := s.Wide(0)
		if x.F != nil {
			return float(s)
		}
		out := s.out()
		for i, v := range x.I {
			out.I[i] = tensor.Wrap(out.DType, g(out.DType, v))
		}
		return out, nil
	}
}

// evalStep is evalNumber for functions with steps: the operand is rounded to its element type first, so that a value
// that differs from an integer only by what float32 does not hold is not taken for one below it.
func evalStep(f func(float64) float64) evalFunc {
	return func(s *EvalSite) (Value, error) {
		d := s.Wide(0).DType
		return evalNumber(func(v float64) float64 { return f(tensor.Round(d, v)) }, keep)(s)
	}
}

func keep(_ tensor.DType, v int64) int64 { return v }

func absInt(d tensor.DType, v int64) int64 {
	if d == tensor.Uint64 {
		return v
	}
	return max(v, -v)
}

func negInt(_ tensor.DType, v int64) int64 { return -v }

func signFloat(v float64) float64 {
	switch {
	case v > 0:
		return 1
	case v < 0:
		return -1
	}
	return v // 0, −0 or NaN
}

func signInt(d tensor.DType, v int64) int64 {
	switch {
	case v > 0, d == tensor.Uint64 && v != 0:
		return 1
	case v < 0:
		return -1
	}
	return 0
}

func sigmoid(v float64) float64 { return 1 / (1 + math.Exp(-v)) }

func softplus(v float64) float64 { return math.Max(v, 0) + math.Log1p(math.Exp(-math.Abs(v))) }

func relu(v float64) float64 {
	if v < 0 {
		return 0
	}
	return v
}

func hardSigmoid(alpha, beta, v float64) float64 { return math.Max(0, math.Min(1, alpha*v+beta)) }

func hardSwish(v float64) float64 {
	if math.IsInf(v, -1) {
		return 0
	}
	return v * hardSigmoid(1.0/6, 0.5, v)
}

func swish(beta, v float64) float64 {
	if math.IsInf(v, 0) && beta*v < 0 {
		return 0
	}
	return v * sigmoid(beta*v)
}

func elu(alpha, v float64) float64 {
	if v < 0 {
		return alpha * math.Expm1(v)
	}
	return v
}

// evalActivation evaluates an activation whose function is made from the attributes.
func evalActivation[A any](make func(a *A) func(float64) float64) evalFunc {
	return func(s *EvalSite) (Value, error) { return evalFloat(make(s.Attrs.(*A)))(s) }
}

func gelu(a *GeluAttrs) func(float64) float64 {
	if a.Approximate == "tanh" {
		return func(v float64) float64 {
			return v / 2 * (1 + math.Tanh(math.Sqrt(2/math.Pi)*(v+0.044715*v*v*v)))
		}
	}
	return func(v float64) float64 { return v / 2 * math.Erfc(-v/math.Sqrt2) }
}

func shrink(a *ShrinkAttrs) func(float64) float64 {
	return func(v float64) float64 {
		switch {
		case v < -a.Lambd:
			return v + a.Bias
		case v > a.Lambd:
			return v - a.Bias
		}
		return 0
	}
}

func evalNot(s *EvalSite) (Value, error) {
	x, out := s.Wide(0), s.out()
	for i, v := range x.I {
		if out.DType == tensor.Bool {
			out.I[i] = 1 - v
		} else {
			out.I[i] = tensor.Wrap(out.DType, ^v)
		}
	}
	return out, nil
}

func evalIsNaN(s *EvalSite) (Value, error) {
	x, out := s.Wide(0), s.out()
	for i, v := range x.F {
		out.I[i] = truth(math.IsNaN(v))
	}
	return out, nil
}

func evalIsInf(s *EvalSite) (Value, error) {
	a, x, out := s.Attrs.(*IsInfAttrs), s.Wide(0), s.out()
	for i, v := range x.F {
		v = tensor.Round(x.DType, v)
		out.I[i] = truth(a.DetectPositive && math.IsInf(v, 1) || a.DetectNegative && math.IsInf(v, -1))
	}
	return out, nil
}

func truth(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// evalReshaped returns the operand's elements under the result's shape.
func evalReshaped(s *EvalSite) (Value, error) {
	x, t := s.Wide(0), s.Type.(*TensorType)
	return &tensor.Wide{DType: t.DType, Shape: t.Shape, F: x.F, I: x.I}, nil
}

func evalReinterpret(s *EvalSite) (Value, error) {
	t := s.Wide(0).Narrow()
	t.DType = s.Type.(*TensorType).DType
	return tensor.Widen(t), nil
}

func evalClip(s *EvalSite) (Value, error) {
	a, x, out := s.Attrs.(*ClipAttrs), s.Wide(0), s.out()
	for i, v := range x.F {
		if v < a.AMin {
			v = a.AMin
		}
		if v > a.AMax {
			v = a.AMax
		}
		out.F[i] = v
	}
	if x.F == nil {
		lo, hi := floatToInt(out.DType, a.AMin), floatToInt(out.DType, a.AMax)
		for i, v := range x.I {
			out.I[i] = minInt(out.DType, maxInt(out.DType, v, lo), hi)
		}
	}
	return out, nil
}

func evalCast(s *EvalSite) (Value, error) {
	a, x, out := s.Attrs.(*CastAttrs), s.Wide(0), s.out()
	from, to := x.DType, out.DType
	switch {
	case from == to:
		return x, nil
	case x.F != nil && out.F != nil:
		for i, v := range x.F {
			if to.IsStorage() { // its steps are wide: the operand is what a device holds
				v = tensor.Round(from, v)
			}
			out.F[i] = castFloat(to, v, a)
		}
	case x.F != nil:
		for i, v := range x.F {
			out.I[i] = floatToInt(to, tensor.Round(from, v))
		}
	case out.F != nil:
		for i, v := range x.I {
			out.F[i] = castFloat(to, intToFloat(from, v), a)
		}
	default:
		for i, v := range x.I {
			if out.I[i] = tensor.Wrap(to, v); to == tensor.Bool {
				out.I[i] = truth(v != 0)
			}
		}
	}
	return out, nil
}

// castFloat rounds v to a floating-point type. The narrow ones saturate or not, as ONNX's Cast has it.
func castFloat(d tensor.DType, v float64, a *CastAttrs) float64 {
	switch {
	case d == tensor.Float8E8M0:
		return castE8M0(v, a)
	case math.IsNaN(v) || !d.IsStorage() || d == tensor.Float4E2M1:
		return tensor.Round(d, v)
	}
	largest := tensor.MaxFinite(d)
	if a.Saturate {
		return tensor.Round(d, math.Max(-largest, math.Min(largest, v)))
	}
	ulp := math.Ldexp(tensor.Epsilon(d), math.Ilogb(largest))
	if math.Abs(v) < largest+ulp/2 || math.Abs(v) == largest+ulp/2 && math.Mod(largest/ulp, 2) == 0 {
		return tensor.Round(d, v)
	}
	if tensor.FormOf(d).Inf {
		return math.Copysign(math.Inf(1), v)
	}
	return math.NaN()
}

// castE8M0 rounds the magnitude of v to a power of two from 2^−127 to 2^127. What lies outside becomes the nearer end when
// the cast saturates, else NaN.
func castE8M0(v float64, a *CastAttrs) float64 {
	const least, largest = 0x1p-127, 0x1p127
	switch v = math.Abs(v); {
	case math.IsNaN(v), !a.Saturate && (v < least || v > largest):
		return math.NaN()
	case v <= least:
		return least
	case v >= largest:
		return largest
	}
	m, e := math.Frexp(v) // m in [0.5, 1)
	if a.RoundMode == "up" && m > 0.5 || a.RoundMode == "nearest" && m >= 0.75 {
		e++
	}
	return math.Ldexp(1, e-1)
}

// floatToInt truncates v toward zero and saturates; a NaN becomes 0.
func floatToInt(d tensor.DType, v float64) int64 {
	if d == tensor.Bool {
		return truth(v != 0)
	}
	lo, hi := tensor.IntRange(d)
	switch v = math.Trunc(v); {
	case math.IsNaN(v):
		return 0
	case d == tensor.Uint64 && v >= 0x1p63 && v < 0x1p64:
		return int64(uint64(v))
	case v <= float64(lo):
		return lo
	case v >= intToFloat(d, hi):
		return hi
	}
	return int64(v)
}

func intToFloat(d tensor.DType, v int64) float64 {
	if d == tensor.Uint64 {
		return float64(uint64(v))
	}
	return float64(v)
}

// lessInt compares integers of element type d.
func lessInt(d tensor.DType, a, b int64) bool {
	if d == tensor.Uint64 {
		return uint64(a) < uint64(b)
	}
	return a < b
}

func maxInt(d tensor.DType, a, b int64) int64 {
	if lessInt(d, a, b) {
		return b
	}
	return a
}

func minInt(d tensor.DType, a, b int64) int64 {
	if lessInt(d, b, a) {
		return b
	}
	return a
}

// evalBinary evaluates f on floats and g on integers of element type d, with broadcasting.
func evalBinary(f func(a, b float64) float64, g func(d tensor.DType, a, b int64) int64) evalFunc {
	return func(s *EvalSite) (Value, error) {
		x, y, out := s.Wide(0), s.Wide(1), s.out()
		sx, sy := broadcastStrides(x.Shape, out.Shape), broadcastStrides(y.Shape, out.Shape)
		dx, dy := lastStride(sx), lastStride(sy)
		eachRow(out.Shape, [][]int{sx, sy}, func(at, n int, from []int) {
			i, j := from[0], from[1]
			for k := at; k < at+n; k++ {
				if x.F != nil {
					out.F[k] = f(x.F[i], y.F[j])
				} else {
					out.I[k] = tensor.Wrap(out.DType, g(out.DType, x.I[i], y.I[j]))
				}
				i, j = i+dx, j+dy
			}
		})
		return out, nil
	}
}

// evalCompare evaluates a comparison: f of floats and g of integers of element type d. Floats are rounded to their
// type first.
func evalCompare(f func(a, b float64) bool, g func(d tensor.DType, a, b int64) bool) evalFunc {
	return func(s *EvalSite) (Value, error) {
		x, y, out := s.Wide(0), s.Wide(1), s.out()
		sx, sy := broadcastStrides(x.Shape, out.Shape), broadcastStrides(y.Shape, out.Shape)
		dx, dy := lastStride(sx), lastStride(sy)
		eachRow(out.Shape, [][]int{sx, sy}, func(at, n int, from []int) {
			i, j := from[0], from[1]
			for k := at; k < at+n; k++ {
				if x.F != nil {
					out.I[k] = truth(f(tensor.Round(x.DType, x.F[i]), tensor.Round(x.DType, y.F[j])))
				} else {
					out.I[k] = truth(g(x.DType, x.I[i], y.I[j]))
				}
				i, j = i+dx, j+dy
			}
		})
		return out, nil
	}
}

func divInt(d tensor.DType, a, b int64) int64 {
	switch {
	case b == 0:
		return 0
	case d == tensor.Uint64:
		return int64(uint64(a) / uint64(b))
	case b == -1:
		return -a // the least integer has no positive counterpart: it wraps
	}
	return a / b
}

func modFloat(a, b float64) float64 {
	r := math.Mod(a, b)
	if r != 0 && (r < 0) != (b < 0) {
		return r + b
	}
	if r == 0 {
		return math.Copysign(0, b)
	}
	return r
}

func modInt(d tensor.DType, a, b int64) int64 {
	r := fmodInt(d, a, b)
	if d != tensor.Uint64 && r != 0 && (r < 0) != (b < 0) {
		return r + b
	}
	return r
}

func fmodInt(d tensor.DType, a, b int64) int64 {
	switch {
	case b == 0, b == -1 && d != tensor.Uint64:
		return 0
	case d == tensor.Uint64:
		return int64(uint64(a) % uint64(b))
	}
	return a % b
}

func powInt(d tensor.DType, a, b int64) int64 {
	if b < 0 && d != tensor.Uint64 {
		switch a {
		case 1:
			return 1
		case -1:
			return 1 - 2*(b&1)
		}
		return 0
	}
	r := int64(1)
	for e := uint64(b); e != 0; e >>= 1 {
		if e&1 == 1 {
			r *= a
		}
		a *= a
	}
	return r
}

func shiftLeft(d tensor.DType, a, b int64) int64 {
	if uint64(b) >= uint64(d.Bits()) {
		return 0
	}
	return a << b
}

func shiftRight(d tensor.DType, a, b int64) int64 {
	if d.Kind() == tensor.Signed {
		return a >> min(uint64(b), 63)
	}
	if uint64(b) >= bits.UintSize {
		return 0
	}
	return int64(uint64(a) >> b)
}

// fmax and fmin give NaN when an operand is one, as math's do, and order −0 before 0.
func fmax(a, b float64) float64 {
	if math.IsNaN(a) || math.IsNaN(b) {
		return math.NaN()
	}
	return math.Max(a, b)
}

func fmin(a, b float64) float64 {
	if math.IsNaN(a) || math.IsNaN(b) {
		return math.NaN()
	}
	return math.Min(a, b)
}

func evalWhere(s *EvalSite) (Value, error) {
	c, x, y, out := s.Wide(0), s.Wide(1), s.Wide(2), s.out()
	strides := [][]int{broadcastStrides(c.Shape, out.Shape), broadcastStrides(x.Shape, out.Shape), broadcastStrides(y.Shape, out.Shape)}
	dc, dx, dy := lastStride(strides[0]), lastStride(strides[1]), lastStride(strides[2])
	eachRow(out.Shape, strides, func(at, n int, from []int) {
		for k := range n {
			side, i := x, from[1]+k*dx
			if c.I[from[0]+k*dc] == 0 {
				side, i = y, from[2]+k*dy
			}
			if out.F != nil {
				out.F[at+k] = side.F[i]
			} else {
				out.I[at+k] = side.I[i]
			}
		}
	})
	return out, nil
}

// evalPerChannel evaluates f on each element and its channel's entry of the second operand.
func evalPerChannel(f func(a, b float64) float64, g func(d tensor.DType, a, b int64) int64) evalFunc {
	binary := evalBinary(f, g)
	return func(s *EvalSite) (Value, error) {
		x, v := s.Wide(0), *s.Wide(1)
		axis := NormalAxis(s.Attrs.(*AxisAttrs).Axis, len(x.Shape))
		shape := tensor.Shape(ints(len(x.Shape)-axis, 1))
		shape[0] = v.Shape[0]
		v.Shape = shape
		return binary(&EvalSite{Op: s.Op, Args: []Value{x, &v}, Type: s.Type, Done: s.Done})
	}
}
