// Package tir is the loop IR: statements and expressions over multi-dimensional buffers, and blocks that say what a
// loop nest computes.
//
// # Semantics, once for every user
//
// Index expressions are int64. Integer Add, Sub and Mul wrap around in their type. Div and Mod on integers round
// toward zero, FloorDiv and FloorMod round toward minus infinity; division by zero is undefined and may not be
// reached (the interpreter refuses it). Float arithmetic is IEEE; a multiply and an add may be contracted to one
// fma in every back end, nothing else is reassociated. Min and Max on floats give NaN when an operand is NaN.
// Comparisons give bool lanes. Select is lazy: only the chosen side is evaluated, so a load in the other side may be
// out of bounds. And and Or are lazy in the second operand.
//
// Casts: float to integer truncates toward zero and saturates, NaN gives 0; integer to narrower integer wraps; to
// bool is "not equal to zero"; float to narrower float rounds to nearest even.
//
// Distinct buffers never overlap unless the plan says that an output is computed in place. Every access is within
// the buffer's shape. The order of iterations of serial loops is the program's order; iterations of parallel,
// vectorized, unrolled and thread-bound loops are independent of each other.
//
// In a kernel for a device with work-groups, a loop bound to a grid axis is one iteration of each work-item or group, each
// of which runs what stands around too, where only the first along the axis stores what others see. A shared buffer is one
// for each group. What work-items write is seen by others of the group behind a barrier, by other groups never.
//
// Nodes never change after construction, and a rewriter returns the same pointer when nothing changed.
package tir

import "github.com/texel-ml/texel/tensor"

// Type is the type of an expression: an element type and a number of lanes (1 for a scalar).
type Type struct {
	DType tensor.DType
	Lanes int
}

// The usual scalar types.
var (
	Index = Type{tensor.Int64, 1}
	Bool  = Type{tensor.Bool, 1}
	F32   = Type{tensor.Float32, 1}
)

// WithLanes returns t with another number of lanes.
func (t Type) WithLanes(n int) Type { return Type{t.DType, n} }

// Expr is an expression: *Var, *Int, *Float, *Binary, *Not, *Select, *Cast, *Load, *Call, *Ramp or *Broadcast.
type Expr interface {
	Type() Type
	isExpr()
}

// Var is a scalar variable: a loop's, a block's, a let's or a function's scalar argument. Identity is the pointer.
type Var struct {
	Name  string
	DType tensor.DType
}

// Int is an integer or bool constant.
type Int struct {
	DType tensor.DType
	Value int64
}

// Float is a floating-point constant, already rounded to its type.
type Float struct {
	DType tensor.DType
	Value float64
}

// BinaryOp is the operator of a Binary.
type BinaryOp uint8

// The binary operators. Those from EQ on give bool.
const (
	Add BinaryOp = iota
	Sub
	Mul
	Div
	Mod
	FloorDiv
	FloorMod
	Min
	Max
	BitAnd
	BitOr
	BitXor
	Shl
	Shr // arithmetic for signed, logical for unsigned types
	EQ
	NE
	LT
	LE
	GT
	GE
	And
	Or
)

var binaryNames = [...]string{"+", "-", "*", "/", "%", "//", "%%", "min", "max", "&", "|", "^", "<<", ">>",
	"==", "!=", "<", "<=", ">", ">=", "and", "or"}

// String returns the operator's spelling in the text form.
func (op BinaryOp) String() string { return binaryNames[op] }

// IsCompare reports whether op compares, from EQ to GE.
func (op BinaryOp) IsCompare() bool { return op >= EQ && op <= GE }

// IsLogical reports whether op is And or Or.
func (op BinaryOp) IsLogical() bool { return op >= And }

// Binary applies Op to operands of one type.
type Binary struct {
	Op   BinaryOp
	A, B Expr
}

// Not negates a bool.
type Not struct{ A Expr }

// Select is Then where Cond holds, else Else; lazy. Cond is a scalar, or has the lanes of the sides.
type Select struct{ Cond, Then, Else Expr }

// Cast converts A to another element type, lane by lane.
type Cast struct {
	DType tensor.DType
	A     Expr
}

// Load reads a buffer. At most the last index may be a vector (Ramp or Broadcast), unless the buffer is gathered from.
type Load struct {
	Buffer  *Buffer
	Indices []Expr
}

// Call applies an intrinsic, lane by lane.
type Call struct {
	Fn   Intrinsic
	Args []Expr
}

// Ramp is the vector Base, Base+Stride, …, Base+(Lanes-1)·Stride.
type Ramp struct {
	Base, Stride Expr
	Lanes        int
}

// Broadcast is Lanes copies of a scalar.
type Broadcast struct {
	A     Expr
	Lanes int
}

// Intrinsic is a function that every back end provides.
type Intrinsic uint8

// The intrinsics. Each takes and gives one type; Result says which of them give another.
const (
	Exp Intrinsic = iota
	Log
	Sqrt
	Rsqrt
	Sin
	Cos
	Tan
	Asin
	Acos
	Atan
	Sinh
	Cosh
	Tanh
	Asinh
	Acosh
	Atanh
	Erf
	Sigmoid
	Pow
	Floor
	Ceil
	Round // to nearest, ties to even
	Trunc
	Abs
	FMA // a·b + c, one rounding
	IsNaN
	IsInf
	BitNot
	FloatMod // C's fmod
	Bits     // the bits of a float32 or float64 as an unsigned integer of its width; those of a NaN are unspecified but for its sign
	FromBits // the float32 or float64 that has the bits of an unsigned integer
)

var intrinsicNames = [...]string{"exp", "log", "sqrt", "rsqrt", "sin", "cos", "tan", "asin", "acos", "atan", "sinh",
	"cosh", "tanh", "asinh", "acosh", "atanh", "erf", "sigmoid", "pow", "floor", "ceil", "round", "trunc", "abs", "fma",
	"isnan", "isinf", "bitnot", "fmod", "bits", "frombits"}

// String returns the intrinsic's name in the text form.
func (f Intrinsic) String() string { return intrinsicNames[f] }

// Result returns the element type of f applied to type d; Invalid when f cannot tell one from another by d.
func (f Intrinsic) Result(d tensor.DType) tensor.DType {
	switch f {
	case IsNaN, IsInf:
		return tensor.Bool
	case Bits:
		return map[tensor.DType]tensor.DType{tensor.Float32: tensor.Uint32, tensor.Float64: tensor.Uint64}[d]
	case FromBits:
		return map[tensor.DType]tensor.DType{tensor.Uint32: tensor.Float32, tensor.Uint64: tensor.Float64}[d]
	}
	return d
}

// Intrinsics returns all intrinsics.
func Intrinsics() []Intrinsic {
	all := make([]Intrinsic, len(intrinsicNames))
	for i := range all {
		all[i] = Intrinsic(i)
	}
	return all
}

func (*Var) isExpr()       {}
func (*Int) isExpr()       {}
func (*Float) isExpr()     {}
func (*Binary) isExpr()    {}
func (*Not) isExpr()       {}
func (*Select) isExpr()    {}
func (*Cast) isExpr()      {}
func (*Load) isExpr()      {}
func (*Call) isExpr()      {}
func (*Ramp) isExpr()      {}
func (*Broadcast) isExpr() {}

// Type is the variable's type.
func (v *Var) Type() Type { return Type{v.DType, 1} }

// Type is the constant's type.
func (i *Int) Type() Type { return Type{i.DType, 1} }

// Type is the constant's type.
func (f *Float) Type() Type { return Type{f.DType, 1} }

// Type is the operands' type, or bool for comparisons.
func (b *Binary) Type() Type {
	t := b.A.Type()
	if b.Op >= EQ {
		return Type{tensor.Bool, t.Lanes}
	}
	return t
}

// Type is bool.
func (n *Not) Type() Type { return n.A.Type() }

// Type is the sides' type.
func (s *Select) Type() Type { return s.Then.Type() }

// Type is the type converted to.
func (c *Cast) Type() Type { return Type{c.DType, c.A.Type().Lanes} }

// Type is the buffer's element type with the lanes of the indices.
func (l *Load) Type() Type { return Type{l.Buffer.DType, lanesOf(l.Indices)} }

// Type is the first operand's type with the element type that the intrinsic gives.
func (c *Call) Type() Type {
	t := c.Args[0].Type()
	t.DType = c.Fn.Result(t.DType)
	return t
}

// Type is a vector of the base's type.
func (r *Ramp) Type() Type { return r.Base.Type().WithLanes(r.Lanes) }

// Type is a vector of the scalar's type.
func (b *Broadcast) Type() Type { return b.A.Type().WithLanes(b.Lanes) }

func lanesOf(indices []Expr) int {
	lanes := 1
	for _, i := range indices {
		lanes = max(lanes, i.Type().Lanes)
	}
	return lanes
}
