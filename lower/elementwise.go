package lower

import (
	"math"

	"github.com/texel-ml/texel/relay"
	"github.com/texel-ml/texel/tensor"
	"github.com/texel-ml/texel/tir"
)

var elementwiseRules = map[string]OpRule{"elementwise": lowerElementwise}

// element is the value of one element of an elementwise operator, from its operands' elements.
type element func(c *relay.Call, d tensor.DType, x []tir.Expr) tir.Expr

func lowerElementwise(s *Site) ([]Operand, error) {
	f := elements[s.Call.Op.Name]
	if f == nil {
		return nil, s.Unsupported("no element definition")
	}
	if s.Out().DType.IsStorage() {
		return nil, s.Unsupported("arithmetic in the storage type %v", s.Out().DType)
	}
	return s.Result(func(i []tir.Expr) tir.Expr {
		x := make([]tir.Expr, len(s.In))
		for n, in := range s.In {
			x[n] = in.At(i...)
		}
		return f(s.Call, s.In[0].DType, x)
	})
}

func call(fn tir.Intrinsic) element {
	return func(_ *relay.Call, _ tensor.DType, x []tir.Expr) tir.Expr { return &tir.Call{Fn: fn, Args: x} }
}

func binary(op tir.BinaryOp) element {
	return func(_ *relay.Call, _ tensor.DType, x []tir.Expr) tir.Expr { return tir.Bin(op, x[0], x[1]) }
}

// one, zero … in the operand's type
func num(d tensor.DType, v float64) tir.Expr { return tir.Const(d, v) }

func clamp(x tir.Expr, lo, hi float64) tir.Expr {
	d := x.Type().DType
	if !math.IsInf(lo, -1) && !math.IsNaN(lo) {
		x = tir.Bin(tir.Max, x, num(d, lo))
	}
	if !math.IsInf(hi, 1) && !math.IsNaN(hi) {
		x = tir.Bin(tir.Min, x, num(d, hi))
	}
	return x
}

var elements = map[string]element{
	"add": binary(tir.Add), "subtract": binary(tir.Sub), "multiply": binary(tir.Mul), "divide": binary(tir.Div),
	"maximum": binary(tir.Max), "minimum": binary(tir.Min),
	"equal": binary(tir.EQ), "not_equal": binary(tir.NE), "less": binary(tir.LT), "less_equal": binary(tir.LE),
	"greater": binary(tir.GT), "greater_equal": binary(tir.GE),
	"exp": call(tir.Exp), "log": call(tir.Log), "sqrt": call(tir.Sqrt), "rsqrt": call(tir.Rsqrt), "erf": call(tir.Erf),
	"sigmoid": call(tir.Sigmoid), "tanh": call(tir.Tanh), "abs": call(tir.Abs), "floor": call(tir.Floor), "ceil": call(tir.Ceil),
	"copy": func(_ *relay.Call, _ tensor.DType, x []tir.Expr) tir.Expr { return x[0] },
	"nn.relu": func(_ *relay.Call, d tensor.DType, x []tir.Expr) tir.Expr {
		return tir.Bin(tir.Max, x[0], num(d, 0))
	},
}
