package transform

import (
	"bytes"
	"context"
	"math"
	"slices"

	"github.com/texel-ml/texel/relay"
	"github.com/texel-ml/texel/tensor"
)

// Canonicalize writes what can be written in several ways in one.
//
//	k + x, k · x, k < x, …                       →  x + k, x · k, x > k     constants stand on the right
//	x - k                                        →  x + (-k)
//	x / 2ⁿ                                       →  x · 2⁻ⁿ
//	x · -1, 1 / x, 1/√x                          →  negative(x), reciprocal(x), rsqrt(x)
//	x^1, x^2, x^-1; √ and 1/√ as powers of x ≥ 0 →  x, x · x, reciprocal(x); sqrt(x), rsqrt(x)
//	Σ x / n over the n elements summed           →  mean(x)
//	an operand of equal elements                 →  one element, where the other one has the result's shape
//	prelu(x, v) with equal elements              →  leaky_relu(x, v)
//	max(x, 0), min(max(x, low), high)            →  relu(x), clip(x)
//	tile of axes of extent 1                     →  broadcast_to
//	reshape that gives a reduction its axes back →  the reduction with kept axes
//	batch_matmul, reductions over axes from the end or all but some → matmul, axes from the front
//
// Equal nodes become one first, so that a pattern that names a value twice finds it. Exact, but for 1/√x and the mean,
// which round once less.
func Canonicalize(_ context.Context, m *relay.Module, o *Options) (*relay.Module, error) {
	r := &rewriter{step: "canonicalize", o: o}
	m, err := r.walk(m, newCommon().node)
	if err != nil {
		return nil, err
	}
	return r.settle(m, constantRight, subtraction, division, uniform, factors1, powers, meanOfSum, slopes, bounds, tiles, productForm, reducedAxes, keptAxes)
}

// mirrored is the operator that gives the same with its operands exchanged.
var mirrored = map[string]string{"add": "add", "multiply": "multiply", "maximum": "maximum", "minimum": "minimum", "equal": "equal",
	"not_equal": "not_equal", "less": "greater", "greater": "less", "less_equal": "greater_equal", "greater_equal": "less_equal",
	"logical_and": "logical_and", "logical_or": "logical_or", "logical_xor": "logical_xor", "bitwise_and": "bitwise_and",
	"bitwise_or": "bitwise_or", "bitwise_xor": "bitwise_xor"}

func constantRight(r *rewriter, c *relay.Call) (relay.Expr, error) {
	name := mirrored[c.Op.Name]
	if name == "" || !isConstant(c.Args[0]) || isConstant(c.Args[1]) {
		return nil, nil
	}
	return r.call(name, nil, c.Args[1], c.Args[0])
}

// subtraction adds the negated constant. A large one that others use too would be there twice.
func subtraction(r *rewriter, c *relay.Call) (relay.Expr, error) {
	if c.Op.Name != "subtract" {
		return nil, nil
	}
	k, ok := c.Args[1].(*relay.Constant)
	if !ok || isConstant(c.Args[0]) || len(k.Value.Data) > foldGrowth {
		return nil, nil
	}
	w := tensor.Widen(k.Value)
	for i := range w.F {
		w.F[i] = -w.F[i]
	}
	for i := range w.I {
		w.I[i] = tensor.Wrap(w.DType, -w.I[i])
	}
	return r.call("add", nil, c.Args[0], r.constant(w))
}

// division multiplies by the reciprocals of powers of two, which is exact.
func division(r *rewriter, c *relay.Call) (relay.Expr, error) {
	if c.Op.Name != "divide" || isConstant(c.Args[0]) {
		return nil, nil
	}
	inverse := inverted(c.Args[1], func(d tensor.DType, v float64) bool {
		fraction, _ := math.Frexp(v)
		return math.Abs(fraction) == 0.5 && tensor.Round(d, 1/v) == 1/v && !math.IsInf(1/v, 0)
	})
	if inverse == nil {
		return nil, nil
	}
	return r.call("multiply", nil, c.Args[0], r.constant(inverse))
}

// inverted returns the reciprocals of a constant whose elements all fit, or nil.
func inverted(e relay.Expr, fits func(d tensor.DType, v float64) bool) *tensor.Wide {
	k, ok := e.(*relay.Constant)
	if !ok || !computable(k) || len(k.Value.Data) > foldGrowth {
		return nil
	}
	w := tensor.Widen(k.Value)
	for i, v := range w.F {
		if !fits(w.DType, v) {
			return nil
		}
		w.F[i] = 1 / v
	}
	return w
}

// uniform makes one element of a constant operand of equal ones.
func uniform(r *rewriter, c *relay.Call) (relay.Expr, error) {
	if c.Op.Class != relay.Broadcast || c.Op.Lower != "elementwise" || c.Attrs != nil {
		return nil, nil
	}
	for i, a := range c.Args {
		v, ok := equalElements(a)
		if !ok {
			continue
		}
		args := slices.Clone(c.Args)
		args[i] = relay.NewConstant(v, "", r.pos)
		to, err := r.call(c.Op.Name, nil, args...)
		if err != nil {
			return nil, err
		}
		if relay.TypeEqual(to.Type(), c.Type()) {
			return to, nil
		}
	}
	return nil, nil
}

// equalElements returns the one element that all of a constant of several are.
func equalElements(e relay.Expr) (*tensor.Tensor, bool) {
	k, ok := e.(*relay.Constant)
	if !ok || k.Value.DType.Bits() < 8 || k.Value.Elems() < 2 {
		return nil, false
	}
	each, data := k.Value.DType.Bits()/8, k.Value.Data
	if !bytes.Equal(data[each:], data[:len(data)-each]) {
		return nil, false
	}
	return &tensor.Tensor{DType: k.Value.DType, Shape: tensor.Shape{}, Data: slices.Clone(data[:each])}, true
}

// factors1 gives the factor -1 and the quotients of 1 their own operators.
func factors1(r *rewriter, c *relay.Call) (relay.Expr, error) {
	switch c.Op.Name {
	case "multiply":
		if v, ok := number(c.Args[1]); ok && v == -1 && sameShape(c.Args[0], c) {
			return r.call("negative", nil, c.Args[0])
		}
	case "divide":
		if v, ok := number(c.Args[0]); ok && v == 1 && sameShape(c.Args[1], c) {
			return r.call("reciprocal", nil, c.Args[1])
		}
	case "reciprocal":
		if root, ok := is(c.Args[0], "sqrt"); ok {
			return r.call("rsqrt", nil, root.Args[0])
		}
	}
	return nil, nil
}

func powers(r *rewriter, c *relay.Call) (relay.Expr, error) {
	if c.Op.Name != "power" || !sameShape(c.Args[0], c) {
		return nil, nil
	}
	x := c.Args[0]
	k, ok := number(c.Args[1])
	switch {
	case !ok:
	case k == 1:
		return x, nil
	case k == 2:
		return r.call("multiply", nil, x, x)
	case k == -1:
		return r.call("reciprocal", nil, x)
	case k == 0.5 && neverNegative(x):
		return r.call("sqrt", nil, x)
	case k == -0.5 && neverNegative(x):
		return r.call("rsqrt", nil, x)
	}
	return nil, nil
}

func meanOfSum(r *rewriter, c *relay.Call) (relay.Expr, error) {
	x, k, ok := times(c)
	if !ok {
		return nil, nil
	}
	sum, ok := is(x, "sum")
	if !ok || !r.single(sum) {
		return nil, nil
	}
	from := relay.Tensor(sum.Args[0]).Shape
	n := from.Elems() / max(1, relay.Tensor(sum).Shape.Elems())
	if n == 0 || !within(c, k, 1/float64(n)) {
		return nil, nil
	}
	return r.call("mean", sum.Attrs, sum.Args[0])
}

func slopes(r *rewriter, c *relay.Call) (relay.Expr, error) {
	if c.Op.Name != "nn.prelu" {
		return nil, nil
	}
	slope := c.Args[1]
	if v, ok := equalElements(slope); ok {
		slope = relay.NewConstant(v, "", r.pos)
	}
	v, ok := number(slope)
	if !ok {
		return nil, nil
	}
	return r.call("nn.leaky_relu", &relay.AlphaAttrs{Alpha: v}, c.Args[0])
}

// bounds makes relu and clip of minimum and maximum with constants.
func bounds(r *rewriter, c *relay.Call) (relay.Expr, error) {
	if t := relay.Tensor(c); t == nil || !t.DType.IsFloat() {
		return nil, nil
	}
	var x relay.Expr
	var v float64
	found := func(name string, e relay.Expr) bool {
		return commuted(e, name, func(a, b relay.Expr) bool {
			k, ok := number(b)
			if ok = ok && !math.IsNaN(k) && sameShape(a, e); ok {
				x, v = a, k
			}
			return ok
		})
	}
	switch {
	case found("maximum", c):
		switch {
		case v == 0:
			return r.call("nn.relu", nil, x)
		case math.IsInf(v, -1):
			return x, nil
		}
		return r.call("clip", &relay.ClipAttrs{AMin: v, AMax: math.Inf(1)}, x)
	case found("minimum", c):
		high := v
		if math.IsInf(high, 1) {
			return x, nil
		}
		if inner, ok := is(x, "clip"); ok && inner.Attrs.(*relay.ClipAttrs).AMax >= high {
			return r.call("clip", &relay.ClipAttrs{AMin: inner.Attrs.(*relay.ClipAttrs).AMin, AMax: high}, inner.Args[0])
		}
		if inner, ok := is(x, "nn.relu"); ok && high >= 0 {
			return r.call("clip", &relay.ClipAttrs{AMin: 0, AMax: high}, inner.Args[0])
		}
		return r.call("clip", &relay.ClipAttrs{AMin: math.Inf(-1), AMax: high}, x)
	}
	return nil, nil
}

func tiles(r *rewriter, c *relay.Call) (relay.Expr, error) {
	a, ok := c.Attrs.(*relay.TileAttrs)
	if !ok {
		return nil, nil
	}
	from, to := relay.Tensor(c.Args[0]).Shape, relay.Tensor(c).Shape
	for i := range from {
		if rep := len(a.Reps) - len(from) + i; rep >= 0 && a.Reps[rep] != 1 && from[i] != 1 {
			return nil, nil
		}
	}
	return r.call("broadcast_to", &relay.ShapeAttrs{Shape: to.Clone()}, c.Args[0])
}

func productForm(r *rewriter, c *relay.Call) (relay.Expr, error) {
	if c.Op.Name != "nn.batch_matmul" {
		return nil, nil
	}
	return r.call("nn.matmul", c.Attrs, c.Args...)
}

// reducedAxes lists the axes of a reduction from the front.
func reducedAxes(r *rewriter, c *relay.Call) (relay.Expr, error) {
	a, ok := c.Attrs.(*relay.ReduceAttrs)
	if !ok {
		return nil, nil
	}
	axes := axesOf(a.Axis, a.Exclude, len(relay.Tensor(c.Args[0]).Shape))
	if !a.Exclude && a.Axis != nil && slices.Equal(axes, a.Axis) {
		return nil, nil
	}
	return r.call(c.Op.Name, &relay.ReduceAttrs{Axis: axes, Keepdims: a.Keepdims}, c.Args[0])
}

// keptAxes keeps the axes of a reduction that is reshaped to have them.
func keptAxes(r *rewriter, c *relay.Call) (relay.Expr, error) {
	if c.Op.Name != "reshape" && c.Op.Name != "expand_dims" {
		return nil, nil
	}
	sum, ok := c.Args[0].(*relay.Call)
	if !ok || sum.Op == nil || !r.single(sum) {
		return nil, nil
	}
	var attrs any
	switch a := sum.Attrs.(type) {
	case *relay.ReduceAttrs:
		attrs = &relay.ReduceAttrs{Axis: a.Axis, Exclude: a.Exclude, Keepdims: true}
	case *relay.ArgReduceAttrs:
		n := *a
		n.Keepdims = true
		attrs = &n
	default:
		return nil, nil
	}
	kept, err := r.call(sum.Op.Name, attrs, sum.Args[0])
	if err != nil || !relay.TypeEqual(kept.Type(), c.Type()) {
		return nil, err
	}
	return kept, nil
}

// axesOf lists the axes that a reduction runs over, from the front.
func axesOf(axis []int, exclude bool, rank int) []int {
	axes := []int{}
	for i, reduced := range relay.ReducedAxes(axis, exclude, rank) {
		if reduced {
			axes = append(axes, i)
		}
	}
	return axes
}
