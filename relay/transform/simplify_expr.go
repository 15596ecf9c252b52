package transform

import (
	"context"
	"math"
	"slices"

	"github.com/texel-ml/texel/relay"
	"github.com/texel-ml/texel/tensor"
)

// SimplifyExpr removes operators that other operators make needless, behind canonicalize. Each rule is exact.
//
//	x + 0                                             →  x            integers, and a float zero that keeps the sign of x's
//	x + (-y), x - (-y)                                →  x - y, x + y
//	-(-x), |-x|, not(not x)                           →  x, |x|, x
//	f(f(x)), f one of abs, relu, floor, ceil, round, trunc, sign; f(g(x)) with f, g roundings → f(x), g(x)
//	clips and relus of each other                     →  one clip
//	max(x, x), min(x, x), x ∧ x, x ∨ x                →  x
//	max(max(x, a), b), min(min(x, a), b)              →  max(x, max(a, b)), min(x, min(a, b))
//	cast(cast(x)), the first to a type that holds all values of x's  →  one cast
//	not(x = y), not(x ≠ y); not(x < y), … of integers →  x ≠ y, x = y; x ≥ y, …
//	where(c, x, x), where(not c, x, y)                →  x, where(c, y, x)
//	sums of sums, maxima of maxima, means of means …  →  one reduction
//	a reduction over axes of extent 1                 →  a reshape
func SimplifyExpr(_ context.Context, m *relay.Module, o *Options) (*relay.Module, error) {
	r := &rewriter{step: "simplify-expr", o: o}
	return r.settle(m, addedZero, negated, repeated, clips, extremes, casts, negations, choices, reductions, (*rewriter).identity)
}

// addedZero removes the sum with a zero. Of floats it is the negative zero: with the positive one, -0 would become 0.
func addedZero(_ *rewriter, c *relay.Call) (relay.Expr, error) {
	if c.Op.Name != "add" || !sameShape(c.Args[0], c) {
		return nil, nil
	}
	if v, ok := number(c.Args[1]); ok && v == 0 && math.Signbit(v) {
		return c.Args[0], nil
	}
	if v, ok := integer(c.Args[1]); ok && v == 0 {
		return c.Args[0], nil
	}
	return nil, nil
}

func negated(r *rewriter, c *relay.Call) (relay.Expr, error) {
	inner := func(i int) relay.Expr {
		if n, ok := is(c.Args[i], "negative"); ok {
			return n.Args[0]
		}
		return nil
	}
	switch c.Op.Name {
	case "negative":
		return inner(0), nil
	case "abs":
		if x := inner(0); x != nil && relay.Tensor(c).DType.Kind() != tensor.Unsigned {
			return r.call("abs", nil, x)
		}
	case "add":
		if y := inner(1); y != nil {
			return r.call("subtract", nil, c.Args[0], y)
		}
		if y := inner(0); y != nil {
			return r.call("subtract", nil, c.Args[1], y)
		}
	case "subtract":
		if y := inner(1); y != nil {
			return r.call("add", nil, c.Args[0], y)
		}
	}
	return nil, nil
}

// rounds are the operators whose results are whole numbers, which the others of them keep.
var rounds = map[string]bool{"floor": true, "ceil": true, "round": true, "trunc": true}

func repeated(_ *rewriter, c *relay.Call) (relay.Expr, error) {
	inner, ok := c, len(c.Args) == 1
	if ok {
		inner, ok = c.Args[0].(*relay.Call)
	}
	if !ok || inner.Op == nil {
		return nil, nil
	}
	switch f, g := c.Op.Name, inner.Op.Name; {
	case rounds[f] && (rounds[g] || g == "sign"), f == g && (f == "abs" || f == "sign" || f == "nn.relu"):
		return inner, nil
	case f == "logical_not" && g == f:
		return inner.Args[0], nil
	}
	return nil, nil
}

// clipOf returns the bounds of a clip or relu.
func clipOf(e relay.Expr) (c *relay.Call, low, high float64, ok bool) {
	if c, ok = is(e, "clip"); ok {
		a := c.Attrs.(*relay.ClipAttrs)
		return c, a.AMin, a.AMax, true
	}
	c, ok = is(e, "nn.relu")
	return c, 0, math.Inf(1), ok
}

// clips makes one clip of two. The second one's bounds are those of the first, clipped: both rise with x.
func clips(r *rewriter, c *relay.Call) (relay.Expr, error) {
	_, low, high, ok := clipOf(c)
	if !ok || !relay.Tensor(c).DType.IsFloat() {
		return nil, nil
	}
	inner, from, to, ok := clipOf(c.Args[0])
	if !ok {
		if c.Op.Name == "clip" && low == 0 && math.IsInf(high, 1) {
			return r.call("nn.relu", nil, c.Args[0])
		}
		return nil, nil
	}
	then := func(v float64) float64 { return math.Min(high, math.Max(low, v)) }
	if from > to { // everything is to
		from = to
	}
	return r.call("clip", &relay.ClipAttrs{AMin: then(from), AMax: then(to)}, inner.Args[0])
}

// extremes joins maxima and minima with one element, and removes those of a value with itself.
func extremes(r *rewriter, c *relay.Call) (relay.Expr, error) {
	switch c.Op.Name {
	case "maximum", "minimum", "logical_and", "logical_or", "bitwise_and", "bitwise_or":
	default:
		return nil, nil
	}
	if c.Args[0] == c.Args[1] {
		return c.Args[0], nil
	}
	inner, ok := is(c.Args[0], c.Op.Name)
	if !ok || !isConstant(c.Args[1]) || !isConstant(inner.Args[1]) || !sameShape(inner.Args[0], c) {
		return nil, nil
	}
	both, err := r.call(c.Op.Name, nil, inner.Args[1], c.Args[1])
	if err != nil {
		return nil, err
	}
	k, err := r.fold(both.(*relay.Call), false)
	if k == nil || err != nil {
		return nil, err
	}
	return r.call(c.Op.Name, nil, inner.Args[0], k)
}

func casts(r *rewriter, c *relay.Call) (relay.Expr, error) {
	if c.Op.Name != "cast" {
		return nil, nil
	}
	inner, ok := is(c.Args[0], "cast")
	if !ok {
		return nil, nil
	}
	from, by, to := relay.Tensor(inner.Args[0]).DType, relay.Tensor(inner).DType, relay.Tensor(c).DType
	switch {
	case holds(by, from) && (from.IsFloat() == by.IsFloat() || holds(to, from)):
	case from.IsInt() && by.IsInt() && to.IsInt() && !by.IsStorage() && !to.IsStorage() && by.Bits() >= to.Bits(): // the low bits are the same
	default:
		return nil, nil
	}
	return r.call("cast", c.Attrs, inner.Args[0])
}

// holds reports whether every value of type from is a value of type in.
func holds(in, from tensor.DType) bool {
	if in == from || from == tensor.Bool {
		return true
	}
	if in == tensor.Bool {
		return false
	}
	if from.IsFloat() {
		return in.IsFloat() && wider[in][from]
	}
	low, high := tensor.IntRange(from)
	if in.IsFloat() {
		return !in.IsStorage() && from.Bits() <= mantissa[in] && from.Bits() <= 32
	}
	l, h := tensor.IntRange(in)
	if from.Bits() == 64 || in.Bits() == 64 { // the range of uint64 is no int64
		return from.Bits() < 64 && (in.Kind() == tensor.Signed || from.Kind() == tensor.Unsigned)
	}
	return l <= low && high <= h
}

// mantissa is the number of bits of the whole numbers that a type holds all of.
var mantissa = map[tensor.DType]int{tensor.Float64: 53, tensor.Float32: 24, tensor.Float16: 11, tensor.BFloat16: 8}

// wider lists, for a floating-point type, those whose values it holds.
var wider = map[tensor.DType]map[tensor.DType]bool{
	tensor.Float64:  set(tensor.Float32, tensor.Float16, tensor.BFloat16, tensor.Float8E4M3FN, tensor.Float8E5M2, tensor.Float4E2M1),
	tensor.Float32:  set(tensor.Float16, tensor.BFloat16, tensor.Float8E4M3FN, tensor.Float8E5M2, tensor.Float4E2M1),
	tensor.Float16:  set(tensor.Float8E4M3FN, tensor.Float8E5M2, tensor.Float4E2M1),
	tensor.BFloat16: set(tensor.Float8E4M3FN, tensor.Float8E5M2, tensor.Float4E2M1),
}

func set(types ...tensor.DType) map[tensor.DType]bool {
	m := map[tensor.DType]bool{}
	for _, d := range types {
		m[d] = true
	}
	return m
}

// opposite is the comparison that holds where another does not. NaN is neither less nor greater.
var opposite = map[string]string{"equal": "not_equal", "not_equal": "equal", "less": "greater_equal", "less_equal": "greater", "greater": "less_equal",
	"greater_equal": "less"}

func negations(r *rewriter, c *relay.Call) (relay.Expr, error) {
	if c.Op.Name != "logical_not" {
		return nil, nil
	}
	test, ok := c.Args[0].(*relay.Call)
	if !ok || test.Op == nil || opposite[test.Op.Name] == "" || !r.single(test) {
		return nil, nil
	}
	ordered := test.Op.Name != "equal" && test.Op.Name != "not_equal"
	if ordered && relay.Tensor(test.Args[0]).DType.IsFloat() {
		return nil, nil
	}
	return r.call(opposite[test.Op.Name], nil, test.Args...)
}

func choices(r *rewriter, c *relay.Call) (relay.Expr, error) {
	if c.Op.Name != "where" {
		return nil, nil
	}
	if c.Args[1] == c.Args[2] && sameShape(c.Args[1], c) {
		return c.Args[1], nil
	}
	if not, ok := is(c.Args[0], "logical_not"); ok {
		return r.call("where", nil, not.Args[0], c.Args[2], c.Args[1])
	}
	if v, ok := truth(c.Args[0]); ok {
		if x := c.Args[2-v]; sameShape(x, c) {
			return x, nil
		}
	}
	return nil, nil
}

// truth returns 1 or 0 for a constant of booleans that are all so.
func truth(e relay.Expr) (int, bool) {
	k, ok := e.(*relay.Constant)
	if !ok || k.Value.DType != tensor.Bool || k.Value.Elems() == 0 {
		return 0, false
	}
	v := int(k.Value.Data[0])
	return v, !slices.ContainsFunc(k.Value.Data, func(b byte) bool { return int(b) != v })
}

// reductions joins a reduction of the same reduction.
func reductions(r *rewriter, c *relay.Call) (relay.Expr, error) {
	outer, ok := c.Attrs.(*relay.ReduceAttrs)
	if !ok {
		return nil, nil
	}
	if to, err := r.reducesUnits(c, outer); to != nil || err != nil {
		return to, err
	}
	switch c.Op.Name {
	case "sum", "prod", "max", "min", "all", "any":
	case "mean":
		if !relay.Tensor(c).DType.IsFloat() { // each mean of integers truncates
			return nil, nil
		}
	default:
		return nil, nil
	}
	inner, ok := is(c.Args[0], c.Op.Name)
	if !ok || !r.single(inner) {
		return nil, nil
	}
	a := inner.Attrs.(*relay.ReduceAttrs)
	if a.Keepdims != outer.Keepdims {
		return nil, nil
	}
	rank := len(relay.Tensor(inner.Args[0]).Shape)
	first := relay.ReducedAxes(a.Axis, a.Exclude, rank)
	var left []int // the axes of x that the outer one sees
	for axis := range rank {
		if a.Keepdims || !first[axis] {
			left = append(left, axis)
		}
	}
	axes := axesOf(a.Axis, a.Exclude, rank)
	for _, at := range axesOf(outer.Axis, outer.Exclude, len(left)) {
		if !first[left[at]] {
			axes = append(axes, left[at])
		}
	}
	slices.Sort(axes)
	return r.call(c.Op.Name, &relay.ReduceAttrs{Axis: axes, Keepdims: a.Keepdims}, inner.Args[0])
}

// reducesUnits makes a reshape of a reduction that joins no elements.
func (r *rewriter) reducesUnits(c *relay.Call, a *relay.ReduceAttrs) (relay.Expr, error) {
	if c.Op.Name == "logsumexp" {
		return nil, nil
	}
	shape := relay.Tensor(c.Args[0]).Shape
	for axis, reduced := range relay.ReducedAxes(a.Axis, a.Exclude, len(shape)) {
		if reduced && shape[axis] != 1 {
			return nil, nil
		}
	}
	if shape.Elems() == 0 {
		return nil, nil
	}
	return r.call("reshape", &relay.ReshapeAttrs{NewShape: relay.Tensor(c).Shape.Clone()}, c.Args[0])
}
