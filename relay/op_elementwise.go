package relay

import (
	"math"

	"github.com/texel-ml/texel/tensor"
)

// CastAttrs are the attributes of cast and reinterpret.
type CastAttrs struct {
	DType     tensor.DType `relay:"dtype"`
	Saturate  bool         `relay:"saturate"`   // float8 only: values beyond the range become the largest one
	RoundMode string       `relay:"round_mode"` // float8_e8m0fnu only: "up", "down" or "nearest"
}

// ClipAttrs are the attributes of clip.
type ClipAttrs struct {
	AMin float64 `relay:"a_min"` // −∞: no lower bound
	AMax float64 `relay:"a_max"` // +∞: no upper bound
}

// IsInfAttrs are the attributes of isinf.
type IsInfAttrs struct {
	DetectNegative bool `relay:"detect_negative"`
	DetectPositive bool `relay:"detect_positive"`
}

// unaryOps are the operators of one operand that work on each element alone.
func unaryOps() []*Op {
	float := func(name, doc string, f func(float64) float64) *Op {
		return &Op{Name: name, Args: []string{"data"}, Infer: sameFloat, Eval: evalFloat(f), Class: Elementwise, Lower: "elementwise", Doc: doc}
	}
	number := func(name, doc string, eval evalFunc) *Op {
		return &Op{Name: name, Args: []string{"data"}, Infer: inferNumber, Eval: eval, Class: Elementwise, Lower: "elementwise", Doc: doc}
	}
	return []*Op{
		number("abs", "|x|; the smallest integer stays itself.", evalNumber(math.Abs, absInt)),
		number("negative", "−x.", evalNumber(func(v float64) float64 { return -v }, negInt)),
		number("sign", "−1, 0 or 1 as x is below, equal to or above 0; NaN stays NaN.", evalNumber(signFloat, signInt)),
		float("exp", "e^x.", math.Exp),
		float("log", "the natural logarithm; NaN below 0.", math.Log),
		float("sqrt", "√x; NaN below 0.", math.Sqrt),
		float("rsqrt", "1/√x.", func(v float64) float64 { return 1 / math.Sqrt(v) }),
		float("reciprocal", "1/x.", func(v float64) float64 { return 1 / v }),
		float("sigmoid", "1/(1 + e^−x).", sigmoid),
		float("tanh", "the hyperbolic tangent.", math.Tanh),
		float("erf", "2/√π ∫_0^x e^−t² dt.", math.Erf),
		float("sin", "the sine of radians.", math.Sin),
		float("cos", "the cosine of radians.", math.Cos),
		float("tan", "the tangent of radians.", math.Tan),
		float("asin", "the inverse sine; NaN outside [−1, 1].", math.Asin),
		float("acos", "the inverse cosine; NaN outside [−1, 1].", math.Acos),
		float("atan", "the inverse tangent.", math.Atan),
		float("sinh", "the hyperbolic sine.", math.Sinh),
		float("cosh", "the hyperbolic cosine.", math.Cosh),
		float("asinh", "the inverse hyperbolic sine.", math.Asinh),
		float("acosh", "the inverse hyperbolic cosine; NaN below 1.", math.Acosh),
		float("atanh", "the inverse hyperbolic tangent; NaN outside [−1, 1].", math.Atanh),
		number("ceil", "the least integer ≥ x.", evalStep(math.Ceil)),
		number("floor", "the greatest integer ≤ x.", evalStep(math.Floor)),
		number("round", "the nearest integer, a tie to the even one.", evalStep(math.RoundToEven)),
		number("trunc", "the integer part.", evalStep(math.Trunc)),
		{Name: "logical_not", Args: []string{"data"}, Infer: inferBool, Eval: evalNot, Class: Elementwise, Lower: "elementwise", Doc: "¬x for bool."},
		{Name: "bitwise_not", Args: []string{"data"}, Infer: inferInteger, Eval: evalNot, Class: Elementwise, Lower: "elementwise",
			Doc: "every bit flipped, for integers."},
		{Name: "isnan", Args: []string{"data"}, Infer: inferPredicate, Eval: evalIsNaN, Class: Elementwise, Lower: "elementwise",
			Doc: "bool: x is not a number."},
		{Name: "isinf", Args: []string{"data"}, NewAttrs: func() any { return &IsInfAttrs{true, true} }, Infer: inferPredicate,
			Eval: evalIsInf, Class: Elementwise, Lower: "elementwise",
			Doc: "bool: x is +∞ (with detect_positive) or −∞ (with detect_negative)."},
		{Name: "copy", Args: []string{"data"}, Infer: inferMoved, Eval: evalReshaped, Class: Elementwise, Lower: "elementwise", Doc: "x, of any element type."},
		{Name: "cast", Args: []string{"data"},
			NewAttrs: func() any { return &CastAttrs{Saturate: true, RoundMode: "up"} }, Infer: inferCast,
			Eval: evalCast, Class: Elementwise, Lower: "elementwise",
			Doc: "x in another element type. Float to float rounds to nearest even; float to integer truncates toward zero and saturates, NaN " +
				"gives 0; integer to integer keeps the low bits; to bool is x ≠ 0. A float8 becomes the largest of its sign beyond the range with " +
				"saturate, else infinity where it has one and NaN where not; a float4 always saturates and takes NaN for 0; a float8_e8m0fnu rounds " +
				"|x| to a power of two by round_mode, a tie of nearest up, and what is outside 2^−127 to 2^127 is NaN without saturate. ONNX Cast."},
		{Name: "reinterpret", Args: []string{"data"}, NewAttrs: func() any { return &CastAttrs{Saturate: true, RoundMode: "up"} },
			Infer: inferReinterpret, Eval: evalReinterpret, Class: Elementwise, Lower: "elementwise", Doc: "the bits of x as another element type of equal width."},
		{Name: "clip", Args: []string{"a"}, NewAttrs: func() any { return &ClipAttrs{math.Inf(-1), math.Inf(1)} }, Infer: inferClip,
			Eval: evalClip, Class: Elementwise, Lower: "elementwise",
			Doc: "min(a_max, max(a, a_min)): a_max wins when a_min is above it. NaN stays NaN. Bounds of an integer type are integers."},
	}
}

func inferNumber(s *Site) (Type, error) {
	t, err := s.Arith(0)
	if err != nil {
		return nil, err
	}
	if t.DType == tensor.Bool {
		return nil, s.Illegal("operand %s is bool, wanted a number", s.operand(0))
	}
	return t, nil
}

func inferInteger(s *Site) (Type, error) {
	t, err := s.Arith(0)
	if err != nil {
		return nil, err
	}
	if !t.DType.IsInt() {
		return nil, s.Illegal("operand %s has type %v, wanted an integer type", s.operand(0), t.DType)
	}
	return t, nil
}

func inferBool(s *Site) (Type, error) {
	t, err := s.Arith(0)
	if err != nil {
		return nil, err
	}
	if t.DType != tensor.Bool {
		return nil, s.Illegal("operand %s has type %v, wanted bool", s.operand(0), t.DType)
	}
	return t, nil
}

func inferMoved(s *Site) (Type, error) {
	t, err := s.Tensor(0)
	if err != nil {
		return nil, err
	}
	return t, nil
}

func inferPredicate(s *Site) (Type, error) {
	t, err := s.Tensor(0)
	if err != nil {
		return nil, err
	}
	if !t.DType.IsFloat() {
		return nil, s.Illegal("operand %s has type %v, wanted a floating-point type", s.operand(0), t.DType)
	}
	return s.Result(tensor.Bool, t.Shape)
}

func inferCast(s *Site) (Type, error) {
	a, t, err := operandOf[CastAttrs](s)
	if err != nil {
		return nil, err
	}
	if a.DType.Bits() == 0 {
		return nil, s.Illegal("dtype is not set")
	}
	switch a.RoundMode {
	case "up", "down", "nearest":
	default:
		return nil, s.Illegal("round_mode=%q, wanted up, down or nearest", a.RoundMode)
	}
	return s.Result(a.DType, t.Shape)
}

func inferReinterpret(s *Site) (Type, error) {
	a, t, err := operandOf[CastAttrs](s)
	if err != nil {
		return nil, err
	}
	if a.DType.Bits() != t.DType.Bits() {
		return nil, s.Illegal("%v has %d bits, %v has %d", t.DType, t.DType.Bits(), a.DType, a.DType.Bits())
	}
	return s.Result(a.DType, t.Shape)
}

func inferClip(s *Site) (Type, error) {
	a, err := attrsOf[ClipAttrs](s)
	if err != nil {
		return nil, err
	}
	if math.IsNaN(a.AMin) || math.IsNaN(a.AMax) {
		return nil, s.Illegal("a_min=%v, a_max=%v, wanted numbers", a.AMin, a.AMax)
	}
	return inferNumber(s)
}

// binaryOps are the operators of two operands, and where, with broadcasting.
func binaryOps() []*Op {
	type float = func(a, b float64) float64
	type integer = func(d tensor.DType, a, b int64) int64
	row := func(name, doc string, infer func(*Site) (Type, error), eval evalFunc) *Op {
		return &Op{Name: name, Args: []string{"lhs", "rhs"}, Infer: infer, Eval: eval, Class: Broadcast, Lower: "elementwise", Doc: doc}
	}
	arith := func(name, doc string, f float, g integer) *Op {
		return row(name, doc, inferArithmetic, evalBinary(f, g))
	}
	compare := func(name, doc string, f func(a, b float64) bool, g func(d tensor.DType, a, b int64) bool) *Op {
		return row(name, doc, inferCompare, evalCompare(f, g))
	}
	logic := func(name, doc string, g integer) *Op { return row(name, doc, inferLogical, evalBinary(nil, g)) }
	bits := func(name, doc string, g integer) *Op { return row(name, doc, inferBitwise, evalBinary(nil, g)) }
	return []*Op{
		arith("add", "x + y.",
			func(a, b float64) float64 { return a + b }, func(_ tensor.DType, a, b int64) int64 { return a + b }),
		arith("subtract", "x − y.",
			func(a, b float64) float64 { return a - b }, func(_ tensor.DType, a, b int64) int64 { return a - b }),
		arith("multiply", "x · y.",
			func(a, b float64) float64 { return a * b }, func(_ tensor.DType, a, b int64) int64 { return a * b }),
		arith("divide", "x / y; integers truncate toward zero, and by 0 give 0.",
			func(a, b float64) float64 { return a / b }, divInt),
		arith("power", "x^y; integers by repeated multiplication, a negative exponent truncates 1/x^|y|.",
			math.Pow, powInt),
		arith("mod", "x − y·⌊x/y⌋, the sign of y, Relay's floor_mod; integers modulo 0 give 0.",
			modFloat, modInt),
		arith("fmod", "x − y·trunc(x/y), the sign of x; integers modulo 0 give 0.",
			math.Mod, fmodInt),
		arith("maximum", "the larger; NaN when either is NaN.",
			fmax, maxInt),
		arith("minimum", "the smaller; NaN when either is NaN.",
			fmin, minInt),
		compare("equal", "bool: x = y.",
			func(a, b float64) bool { return a == b }, func(_ tensor.DType, a, b int64) bool { return a == b }),
		compare("not_equal", "bool: x ≠ y.",
			func(a, b float64) bool { return a != b }, func(_ tensor.DType, a, b int64) bool { return a != b }),
		compare("less", "bool: x < y.",
			func(a, b float64) bool { return a < b }, func(d tensor.DType, a, b int64) bool { return lessInt(d, a, b) }),
		compare("less_equal", "bool: x ≤ y.",
			func(a, b float64) bool { return a <= b }, func(d tensor.DType, a, b int64) bool { return !lessInt(d, b, a) }),
		compare("greater", "bool: x > y.",
			func(a, b float64) bool { return a > b }, func(d tensor.DType, a, b int64) bool { return lessInt(d, b, a) }),
		compare("greater_equal", "bool: x ≥ y.",
			func(a, b float64) bool { return a >= b }, func(d tensor.DType, a, b int64) bool { return !lessInt(d, a, b) }),
		logic("logical_and", "x ∧ y for bool.", func(_ tensor.DType, a, b int64) int64 { return a & b }),
		logic("logical_or", "x ∨ y for bool.", func(_ tensor.DType, a, b int64) int64 { return a | b }),
		logic("logical_xor", "x ⊻ y for bool.", func(_ tensor.DType, a, b int64) int64 { return a ^ b }),
		bits("bitwise_and", "the bits set in both, for integers.", func(_ tensor.DType, a, b int64) int64 { return a & b }),
		bits("bitwise_or", "the bits set in either, for integers.", func(_ tensor.DType, a, b int64) int64 { return a | b }),
		bits("bitwise_xor", "the bits set in exactly one, for integers.", func(_ tensor.DType, a, b int64) int64 { return a ^ b }),
		bits("left_shift", "x · 2^y for integers; 0 when y reaches the width.", shiftLeft),
		bits("right_shift", "⌊x / 2^y⌋ for integers; 0 or −1 when y reaches the width.", shiftRight),
		{Name: "where", Args: []string{"condition", "x", "y"}, Infer: inferWhere, Eval: evalWhere, Class: Broadcast, Lower: "elementwise",
			Doc: "x where the condition holds, else y; all three broadcast. Elements may be of any type."},
	}
}

func inferArithmetic(s *Site) (Type, error) {
	t, err := s.Tensors()
	if err != nil {
		return nil, err
	}
	if t[0].DType == tensor.Bool {
		return nil, s.Illegal("operands are bool, wanted numbers")
	}
	shape, err := s.broadcast(t...)
	if err != nil {
		return nil, err
	}
	return s.Result(t[0].DType, shape)
}

func inferCompare(s *Site) (Type, error) {
	t, err := s.Tensors()
	if err != nil {
		return nil, err
	}
	shape, err := s.broadcast(t...)
	if err != nil {
		return nil, err
	}
	return s.Result(tensor.Bool, shape)
}

func inferLogical(s *Site) (Type, error) {
	t, err := s.Tensors()
	if err != nil {
		return nil, err
	}
	if t[0].DType != tensor.Bool {
		return nil, s.Illegal("operands have type %v, wanted bool", t[0].DType)
	}
	shape, err := s.broadcast(t...)
	if err != nil {
		return nil, err
	}
	return s.Result(tensor.Bool, shape)
}

func inferBitwise(s *Site) (Type, error) {
	t, err := s.Tensors()
	if err != nil {
		return nil, err
	}
	if !t[0].DType.IsInt() {
		return nil, s.Illegal("operands have type %v, wanted an integer type", t[0].DType)
	}
	shape, err := s.broadcast(t...)
	if err != nil {
		return nil, err
	}
	return s.Result(t[0].DType, shape)
}

func inferWhere(s *Site) (Type, error) {
	c, err := s.Tensor(0)
	if err != nil {
		return nil, err
	}
	x, err := s.Tensor(1)
	if err != nil {
		return nil, err
	}
	y, err := s.Tensor(2)
	if err != nil {
		return nil, err
	}
	if c.DType != tensor.Bool {
		return nil, s.Illegal("condition has type %v, wanted bool", c.DType)
	}
	if x.DType != y.DType {
		return nil, s.Illegal("x has type %v, y has %v", x.DType, y.DType)
	}
	shape, err := s.broadcast(c, x, y)
	if err != nil {
		return nil, err
	}
	return s.Result(x.DType, shape)
}
