package tir

import (
	"math"

	"github.com/texel-ml/texel/tensor"
)

// The constructors below fold constants and identities at once, so that what is built stays small.

// I returns an index constant.
func I(v int) *Int { return &Int{tensor.Int64, int64(v)} }

// True and False are the bool constants.
var (
	True  = &Int{tensor.Bool, 1}
	False = &Int{tensor.Bool, 0}
)

// NewVar returns an index variable.
func NewVar(name string) *Var { return &Var{name, tensor.Int64} }

// Const returns a constant of type d, rounded to it.
func Const(d tensor.DType, v float64) Expr {
	if d.IsFloat() {
		return &Float{d, tensor.Round(d, v)}
	}
	return &Int{d, int64(v)}
}

// Lowest returns the least value of a type, Highest the largest: the infinities of a floating-point type. They are the
// identities of Max and Min.
func Lowest(d tensor.DType) Expr {
	if d.IsFloat() {
		return &Float{d, math.Inf(-1)}
	}
	lo, _ := tensor.IntRange(d)
	return &Int{d, lo}
}

// Highest returns the largest value of a type; see Lowest.
func Highest(d tensor.DType) Expr {
	if d.IsFloat() {
		return &Float{d, math.Inf(1)}
	}
	_, hi := tensor.IntRange(d)
	return &Int{d, hi}
}

// As converts e to another element type; e itself when it has that type.
func As(d tensor.DType, e Expr) Expr {
	if e.Type().DType == d {
		return e
	}
	return &Cast{d, e}
}

// AsInt returns the value of an integer constant.
func AsInt(e Expr) (int64, bool) {
	switch e := e.(type) {
	case *Int:
		return e.Value, true
	case *Broadcast:
		return AsInt(e.A)
	}
	return 0, false
}

// IsConst reports whether e is the integer constant v.
func IsConst(e Expr, v int64) bool {
	n, ok := AsInt(e)
	return ok && n == v
}

// Bin applies op, broadcasting a scalar operand to the other's lanes and folding integer constants and identities
// (x+0, x·1, x·0, 0/x, x//1, x%%1, true and x …).
func Bin(op BinaryOp, a, b Expr) Expr {
	if la, lb := a.Type().Lanes, b.Type().Lanes; la != lb {
		if la == 1 {
			a = &Broadcast{a, lb}
		} else if lb == 1 {
			b = &Broadcast{b, la}
		}
	}
	x, xok := a.(*Int)
	y, yok := b.(*Int)
	if xok && yok {
		if v, ok := foldInt(op, x.DType, x.Value, y.Value); ok {
			if op >= EQ {
				return &Int{tensor.Bool, v}
			}
			return &Int{x.DType, wrap(x.DType, v)}
		}
	}
	switch op {
	case Add:
		if xok && x.Value == 0 {
			return b
		}
		if yok && y.Value == 0 {
			return a
		}
	case Sub:
		if yok && y.Value == 0 {
			return a
		}
	case Mul:
		if xok && x.Value == 1 || yok && y.Value == 0 {
			return b
		}
		if yok && y.Value == 1 || xok && x.Value == 0 {
			return a
		}
	case Div, FloorDiv:
		if yok && y.Value == 1 {
			return a
		}
	case Mod, FloorMod:
		if yok && y.Value == 1 {
			return &Int{y.DType, 0}
		}
	case And:
		if xok {
			if x.Value != 0 {
				return b
			}
			return a
		}
		if yok && y.Value != 0 {
			return a
		}
	case Or:
		if xok {
			if x.Value == 0 {
				return b
			}
			return a
		}
		if yok && y.Value == 0 {
			return a
		}
	case Min, Max:
		if a == b {
			return a
		}
	}
	return &Binary{op, a, b}
}

func foldInt(op BinaryOp, d tensor.DType, a, b int64) (int64, bool) {
	truth := func(t bool) (int64, bool) {
		if t {
			return 1, true
		}
		return 0, true
	}
	if d == tensor.Uint64 {
		return 0, false // the int64 arithmetic below is not its
	}
	switch op {
	case Add:
		return a + b, true
	case Sub:
		return a - b, true
	case Mul:
		return a * b, true
	case Div, Mod, FloorDiv, FloorMod:
		if b == 0 || b == -1 {
			return 0, false
		}
		q, r := a/b, a%b
		if (op == FloorDiv || op == FloorMod) && r != 0 && (r < 0) != (b < 0) {
			q, r = q-1, r+b
		}
		if op == Div || op == FloorDiv {
			return q, true
		}
		return r, true
	case Min:
		return min(a, b), true
	case Max:
		return max(a, b), true
	case EQ:
		return truth(a == b)
	case NE:
		return truth(a != b)
	case LT:
		return truth(a < b)
	case LE:
		return truth(a <= b)
	case GT:
		return truth(a > b)
	case GE:
		return truth(a >= b)
	case And:
		return truth(a != 0 && b != 0)
	case Or:
		return truth(a != 0 || b != 0)
	}
	return 0, false
}

func wrap(d tensor.DType, v int64) int64 {
	bits := d.Bits()
	if bits >= 64 || d == tensor.Bool {
		return v
	}
	shift := 64 - bits
	if d.Kind() == tensor.Unsigned {
		return int64(uint64(v) << shift >> shift)
	}
	return v << shift >> shift
}

// Plus returns the sum of its operands.
func Plus(a, b Expr) Expr { return Bin(Add, a, b) }

// Minus returns a - b.
func Minus(a, b Expr) Expr { return Bin(Sub, a, b) }

// Times returns a · b.
func Times(a, b Expr) Expr { return Bin(Mul, a, b) }

// Over returns a / b; for integers it rounds toward zero.
func Over(a, b Expr) Expr { return Bin(Div, a, b) }

// Minimum returns the lesser operand.
func Minimum(a, b Expr) Expr { return Bin(Min, a, b) }

// Maximum returns the larger operand.
func Maximum(a, b Expr) Expr { return Bin(Max, a, b) }

// The comparisons, each named as its operator.

// Eq is a == b.
func Eq(a, b Expr) Expr { return Bin(EQ, a, b) }

// Ne is a != b.
func Ne(a, b Expr) Expr { return Bin(NE, a, b) }

// Lt is a < b.
func Lt(a, b Expr) Expr { return Bin(LT, a, b) }

// Le is a <= b.
func Le(a, b Expr) Expr { return Bin(LE, a, b) }

// Gt is a > b.
func Gt(a, b Expr) Expr { return Bin(GT, a, b) }

// Ge is a >= b.
func Ge(a, b Expr) Expr { return Bin(GE, a, b) }

// Of applies an intrinsic: tir.Exp.Of(x), tir.Pow.Of(x, y).
func (f Intrinsic) Of(args ...Expr) Expr { return &Call{f, args} }

// Negate returns "not a", folded when a is constant.
func Negate(a Expr) Expr {
	if c, ok := a.(*Int); ok {
		return &Int{tensor.Bool, 1 - min(c.Value, 1)}
	}
	return &Not{a}
}

// Within returns the condition lo <= e < hi.
func Within(e Expr, lo, hi int) Expr {
	return Bin(And, Ge(e, I(lo)), Lt(e, I(hi)))
}

// Any returns the disjunction of its operands; no operand at all gives False.
func Any(conds ...Expr) Expr {
	out := Expr(False)
	for _, c := range conds {
		out = Bin(Or, out, c)
	}
	return out
}

// All returns the conjunction of its operands; nil operands count as true, and no operand at all gives nil.
func All(conds ...Expr) Expr {
	var out Expr
	for _, c := range conds {
		switch {
		case c == nil || IsConst(c, 1):
		case out == nil:
			out = c
		default:
			out = Bin(And, out, c)
		}
	}
	return out
}

// Conjuncts returns the operands of a conjunction, from left to right: e itself where it is none, and nothing for nil.
func Conjuncts(e Expr) []Expr {
	if e == nil {
		return nil
	}
	if b, ok := e.(*Binary); ok && b.Op == And {
		return append(Conjuncts(b.A), Conjuncts(b.B)...)
	}
	return []Expr{e}
}

// Sel returns Select, folded when the condition is constant.
func Sel(cond, then, els Expr) Expr {
	if v, ok := AsInt(cond); ok {
		if v != 0 {
			return then
		}
		return els
	}
	return &Select{cond, then, els}
}

// Block1 returns the only statement of a list, or a Seq of it.
func Block1(stmts ...Stmt) Stmt {
	if len(stmts) == 1 {
		return stmts[0]
	}
	return &Seq{stmts}
}
