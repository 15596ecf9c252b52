package transform

import (
	"fmt"
	"math"
	"slices"

	"github.com/texel-ml/texel/relay"
	"github.com/texel-ml/texel/tensor"
)

// What the rules of several passes ask about a node.

// is returns e as a call of the operator named name.
func is(e relay.Expr, name string) (*relay.Call, bool) {
	c, ok := e.(*relay.Call)
	return c, ok && c.Op != nil && c.Op.Name == name
}

// commuted calls f with both orders of the operands of a call of the operator until f is content.
func commuted(e relay.Expr, name string, f func(a, b relay.Expr) bool) bool {
	c, ok := is(e, name)
	if !ok {
		return false
	}
	return f(c.Args[0], c.Args[1]) || f(c.Args[1], c.Args[0])
}

// number returns the value of a floating-point constant of which every element is the same.
func number(e relay.Expr) (float64, bool) {
	c, ok := e.(*relay.Constant)
	if !ok || !computable(c) || c.Value.Elems() != 1 {
		return 0, false
	}
	return tensor.Widen(c.Value).F[0], true
}

// integer returns the value of a constant of one integer.
func integer(e relay.Expr) (int64, bool) {
	c, ok := e.(*relay.Constant)
	if !ok || !c.Value.DType.IsInt() || c.Value.Elems() != 1 {
		return 0, false
	}
	return tensor.Widen(c.Value).I[0], true
}

func isConstant(e relay.Expr) bool {
	_, ok := e.(*relay.Constant)
	return ok
}

// computable reports whether a constant is of a floating-point type that is computed in.
func computable(c *relay.Constant) bool { return c.Value.DType.IsFloat() && !c.Value.DType.IsStorage() }

// normal reports whether v is a normal number of type d.
func normal(d tensor.DType, v float64) bool {
	return math.Abs(v) <= tensor.MaxFinite(d) && math.Abs(v) >= smallest[d]
}

// smallest is the least normal number of a type.
var smallest = map[tensor.DType]float64{tensor.Float64: 0x1p-1022, tensor.Float32: 0x1p-126, tensor.BFloat16: 0x1p-126, tensor.Float16: 0x1p-14}

// near reports whether a constant is v, as far as its element type can say it.
func near(e relay.Expr, v float64) bool {
	x, ok := number(e)
	return ok && within(e, x, v)
}

// within reports whether x is v up to the rounding of e's element type.
func within(e relay.Expr, x, v float64) bool {
	return math.Abs(x-v) <= max(1e-6, tensor.Epsilon(relay.Tensor(e).DType))*math.Abs(v)
}

// plus matches x + k for a one-element constant k.
func plus(e relay.Expr, k float64) (x relay.Expr, ok bool) {
	commuted(e, "add", func(a, b relay.Expr) bool {
		if near(b, k) {
			x, ok = a, true
		}
		return ok
	})
	return x, ok && sameShape(x, e)
}

// times matches x · k, or x / (1/k), for a one-element constant k; it returns k.
func times(e relay.Expr) (x relay.Expr, k float64, ok bool) {
	commuted(e, "multiply", func(a, b relay.Expr) bool {
		if v, is := number(b); is {
			x, k, ok = a, v, true
		}
		return ok
	})
	if c, div := is(e, "divide"); div {
		if v, is := number(c.Args[1]); is && v != 0 {
			x, k, ok = c.Args[0], 1/v, true
		}
	}
	return x, k, ok && sameShape(x, e)
}

// scaledBy matches x · k.
func scaledBy(e relay.Expr, k float64) (x relay.Expr, ok bool) {
	x, v, ok := times(e)
	return x, ok && within(e, v, k)
}

func sameShape(a, b relay.Expr) bool {
	ta, tb := relay.Tensor(a), relay.Tensor(b)
	return ta != nil && tb != nil && ta.DType == tb.DType && ta.Shape.Equal(tb.Shape)
}

// channelVector returns the elements of a floating-point constant that has extent 1, or none, on every axis but axis of
// a value of the given shape: a number for each channel. A constant of one element gives it for every channel.
func channelVector(e relay.Expr, shape tensor.Shape, axis int) ([]float64, bool) {
	c, ok := e.(*relay.Constant)
	if !ok || !computable(c) {
		return nil, false
	}
	s := c.Value.Shape
	if s.Elems() == 1 && len(s) <= len(shape) {
		return slices.Repeat([]float64{tensor.Widen(c.Value).F[0]}, shape[axis]), true
	}
	at := axis - (len(shape) - len(s)) // the constant's axis, aligned at the last one
	if len(s) > len(shape) || at < 0 || s.Elems() != shape[axis] || s[at] != shape[axis] {
		return nil, false
	}
	return tensor.Widen(c.Value).F, true
}

// along is the shape of a vector of extent n that broadcasts along axis of rank axes: (n, 1, …, 1).
func along(n, axis, rank int) tensor.Shape {
	s := tensor.Shape{n}
	for range rank - axis - 1 {
		s = append(s, 1)
	}
	return s
}

// attrsKey prints attributes, so that equal ones are equal texts.
func attrsKey(attrs any) string {
	if attrs == nil {
		return ""
	}
	return fmt.Sprintf("%+v", attrs)
}

// sliceOf makes a slice of x from begin to before end along axis.
func (r *rewriter) sliceOf(x relay.Expr, axis, begin, end int) (relay.Expr, error) {
	return r.call("strided_slice", &relay.StridedSliceAttrs{Begin: []int{begin}, End: []int{end}, Axes: []int{axis}}, x)
}

// neverNegative reports whether no element of e is below 0. It may hold NaN.
func neverNegative(e relay.Expr) bool { return neverBelow(e, 12) }

// keepsSign are the operators whose results are elements of the first operand, or means or sums of them.
var keepsSign = map[string]bool{"reshape": true, "transpose": true, "strided_slice": true, "broadcast_to": true, "channel_shuffle": true,
	"reverse": true, "copy": true, "take": true, "gather": true, "sum": true, "mean": true, "max": true, "min": true, "prod": true, "concatenate": true, "expand_dims": true,
	"squeeze": true, "nn.max_pool1d": true, "nn.max_pool2d": true, "nn.max_pool3d": true, "nn.avg_pool1d": true, "nn.avg_pool2d": true,
	"nn.avg_pool3d": true, "nn.global_avg_pool2d": true, "nn.global_max_pool2d": true, "nn.adaptive_avg_pool2d": true,
	"nn.adaptive_max_pool2d": true, "ceil": true, "round": true, "trunc": true, "floor": true, "sqrt": true, "tanh": true}

func neverBelow(e relay.Expr, depth int) bool {
	if depth == 0 {
		return false
	}
	switch e := e.(type) {
	case *relay.Constant:
		return computable(e) && len(e.Value.Data) <= foldGrowth && !slices.ContainsFunc(tensor.Widen(e.Value).F, func(v float64) bool { return v < 0 })
	case *relay.Tuple:
		return !slices.ContainsFunc(e.Fields, func(f relay.Expr) bool { return !neverBelow(f, depth-1) })
	case *relay.TupleGet:
		c, ok := is(e.Tuple, "split")
		return ok && neverBelow(c.Args[0], depth-1)
	case *relay.Call:
		if e.Op == nil {
			return false
		}
		if _, low, _, ok := clipOf(e); ok && low >= 0 {
			return relay.Tensor(e).DType.IsFloat()
		}
		operands := func(list ...relay.Expr) bool {
			return !slices.ContainsFunc(list, func(a relay.Expr) bool { return !neverBelow(a, depth-1) })
		}
		switch name := e.Op.Name; {
		case name == "sigmoid", name == "exp", name == "abs" && relay.Tensor(e).DType.IsFloat(), name == "nn.softplus", name == "nn.hard_sigmoid",
			name == "nn.softmax", name == "nn.squeeze_excite":
			return true
		case name == "multiply" && e.Args[0] == e.Args[1]:
			return relay.Tensor(e).DType.IsFloat()
		case name == "maximum":
			return neverBelow(e.Args[0], depth-1) || neverBelow(e.Args[1], depth-1)
		case name == "add" || name == "multiply" || name == "divide" || name == "minimum":
			return operands(e.Args...)
		case keepsSign[name]:
			return operands(e.Args[0])
		}
	}
	return false
}
