package transform

import (
	"context"

	"github.com/texel-ml/texel/relay"
	"github.com/texel-ml/texel/tensor"
)

// FastMath takes faster operators that round differently, where the user asked for it (Options.FastMath); each is a note.
//
//	x + 0               →  x                  -0 stays -0
//	x / k, k constant   →  x · 1/k            one rounding more; 1/k must be a normal number
//	x / y, y smaller    →  x · reciprocal(y)  one division an element of y instead of one an element of x
//	x / √y              →  x · rsqrt(y)       one rounding less
//
// Functions such as tanh have one implementation, so there is nothing to choose for them.
func FastMath(_ context.Context, m *relay.Module, o *Options) (*relay.Module, error) {
	if !o.FastMath {
		return m, nil
	}
	r := &rewriter{step: "fast-math", o: o}
	return r.settle(m, lostZero, reciprocalFactor, inverseRoot, smallDivisor)
}

func lostZero(r *rewriter, c *relay.Call) (relay.Expr, error) {
	if c.Op.Name != "add" || !sameShape(c.Args[0], c) {
		return nil, nil
	}
	if v, ok := number(c.Args[1]); !ok || v != 0 {
		return nil, nil
	}
	r.note("x + 0 is x, whatever the sign of a zero")
	return c.Args[0], nil
}

func reciprocalFactor(r *rewriter, c *relay.Call) (relay.Expr, error) {
	if c.Op.Name != "divide" {
		return nil, nil
	}
	inverse := inverted(c.Args[1], func(d tensor.DType, v float64) bool { return normal(d, 1/v) })
	if inverse == nil {
		return nil, nil
	}
	r.note("a division by a constant is a multiplication")
	return r.call("multiply", nil, c.Args[0], r.constant(inverse))
}

func inverseRoot(r *rewriter, c *relay.Call) (relay.Expr, error) {
	if c.Op.Name != "divide" {
		return nil, nil
	}
	root, ok := is(c.Args[1], "sqrt")
	if !ok || !r.single(root) {
		return nil, nil
	}
	inverse, err := r.call("rsqrt", nil, root.Args[0])
	if err != nil {
		return nil, err
	}
	r.note("a division by a root is a multiplication by its inverse")
	return r.call("multiply", nil, c.Args[0], inverse)
}

func smallDivisor(r *rewriter, c *relay.Call) (relay.Expr, error) {
	if c.Op.Name != "divide" || !relay.Tensor(c).DType.IsFloat() || 2*relay.Tensor(c.Args[1]).Shape.Elems() > relay.Tensor(c).Shape.Elems() {
		return nil, nil
	}
	if isConstant(c.Args[1]) { // reciprocalFactor did not take it
		return nil, nil
	}
	inverse, err := r.call("reciprocal", nil, c.Args[1])
	if err != nil {
		return nil, err
	}
	r.note("a division by fewer elements than the result has is a multiplication by their reciprocals")
	return r.call("multiply", nil, c.Args[0], inverse)
}
