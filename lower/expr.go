package lower

import (
	"github.com/texel-ml/texel/relay"
	"github.com/texel-ml/texel/tensor"
	"github.com/texel-ml/texel/tir"
)

// Short forms of definitions, besides those of package tir. Operands have one type.

func both(a, b tir.Expr) tir.Expr   { return tir.Bin(tir.And, a, b) }
func either(a, b tir.Expr) tir.Expr { return tir.Bin(tir.Or, a, b) }

func floorDiv(a tir.Expr, b int) tir.Expr { return tir.Bin(tir.FloorDiv, a, tir.I(b)) }
func floorMod(a tir.Expr, b int) tir.Expr { return tir.Bin(tir.FloorMod, a, tir.I(b)) }
func offset(a tir.Expr, by int) tir.Expr  { return tir.Plus(a, tir.I(by)) }
func scaled(a tir.Expr, by int) tir.Expr  { return tir.Times(a, tir.I(by)) }

func fn(f tir.Intrinsic, args ...tir.Expr) tir.Expr { return f.Of(args...) }

// num returns v in type d, or its carrier.
func num(d tensor.DType, v float64) tir.Expr { return carried(d, v) }

// like returns v in the type of x.
func like(x tir.Expr, v float64) tir.Expr { return num(x.Type().DType, v) }

func square(x tir.Expr) tir.Expr     { return tir.Times(x, x) }
func reciprocal(x tir.Expr) tir.Expr { return tir.Over(like(x, 1), x) }

// toIndex converts an integer to the type of indices.
func toIndex(e tir.Expr) tir.Expr {
	if c, ok := e.(*tir.Int); ok {
		return tir.I(int(c.Value))
	}
	return tir.As(tensor.Int64, e)
}

// working returns the type in which values of type d are computed: floats below 32 bits in float32, integers below a byte
// in their carrier, others in their own.
func working(d tensor.DType) tensor.DType {
	if d.IsFloat() && d.Bits() < 32 {
		return tensor.Float32
	}
	return carrier(d)
}

// widened converts e to the type in which it is computed.
func widened(e tir.Expr) tir.Expr { return tir.As(working(e.Type().DType), e) }

// wide reads operand o at idx in the type in which it is computed.
func (o Operand) wide(idx ...tir.Expr) tir.Expr {
	x := o.At(idx...)
	if o.DType.IsStorage() && o.DType.IsFloat() {
		return decoded(o.DType, tir.As(tensor.Uint32, x))
	}
	return widened(x)
}

// oneOf returns f's values of the places 0 to n-1, chosen by the condition that at is below a place's end; a balanced
// tree, so that each element decides log n times.
func oneOf(at tir.Expr, ends []int, f func(n int) tir.Expr) tir.Expr {
	var pick func(lo, hi int) tir.Expr
	pick = func(lo, hi int) tir.Expr {
		if hi-lo == 1 {
			return f(lo)
		}
		mid := (lo + hi) / 2
		return tir.Sel(tir.Lt(at, tir.I(ends[mid-1])), pick(lo, mid), pick(mid, hi))
	}
	return pick(0, len(ends))
}

// with returns a copy of idx with position n replaced by e.
func with(idx []tir.Expr, n int, e tir.Expr) []tir.Expr {
	out := append([]tir.Expr{}, idx...)
	out[n] = e
	return out
}

// inserted returns a copy of idx with e before position n.
func inserted(idx []tir.Expr, n int, e ...tir.Expr) []tir.Expr {
	return append(append(append([]tir.Expr{}, idx[:n]...), e...), idx[n:]...)
}

// zeros returns n indices that are 0.
func zeros(n int) []tir.Expr {
	list := make([]tir.Expr, n)
	for i := range list {
		list[i] = tir.I(0)
	}
	return list
}

// first reads the only element of an operand of one element.
func (o Operand) first() tir.Expr { return o.At(zeros(len(o.Shape))...) }

// attrs returns the attributes of the call as the struct that its row declares.
func attrs[T any](s *Site) *T { return s.Call.Attrs.(*T) }

// resultType returns field i of a result that is a tuple.
func (s *Site) resultType(i int) *relay.TensorType {
	return s.Call.Type().(*relay.TupleType).Fields[i].(*relay.TensorType)
}
