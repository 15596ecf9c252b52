package transform

import (
	"context"
	"math"
	"slices"

	"github.com/texel-ml/texel/relay"
	"github.com/texel-ml/texel/tensor"
)

// RecognizeLayerNorm finds layer normalisation over one axis that is written as reductions.
//
//	d = x - mean(x); d / √(v + ε), v = mean(d²)        →  layer_norm(x, 1, 0)
//	v = max(mean(x²) - mean(x)², 0), as JAX writes it  →  the same
//	s = 1 / √(v + ε) [· γ]; d · s, or x · s + ([β] - mean(x) · s), as TensorFlow writes it  →  the same, then · γ and + β
//	layer_norm(x, 1, 0) · γ                            →  layer_norm(x, γ, 0)
//	layer_norm(x, γ, 0) + β                            →  layer_norm(x, γ, β)
//
// Axes that a mean drops may come back by a reshape. The variance of JAX loses digits where the mean is large, those of the
// operator does not.
func RecognizeLayerNorm(_ context.Context, m *relay.Module, o *Options) (*relay.Module, error) {
	return rewrite("recognize-layer-norm", m, o, func(r *rewriter, c *relay.Call) (relay.Expr, error) {
		return r.norm(c, func(axes []int, rank int) (string, int) {
			if len(axes) == 1 {
				return "nn.layer_norm", axes[0]
			}
			return "", 0
		})
	}, normScale, normCenter)
}

// statistic is a mean over some axes of x.
type statistic struct {
	x    relay.Expr
	axes []int
}

func (s statistic) equal(o statistic) bool { return s.x == o.x && slices.Equal(s.axes, o.axes) }

// meanOf matches the mean over axes that are kept, or dropped and brought back.
func meanOf(e relay.Expr) (s statistic, ok bool) {
	c, ok := is(unshaped(e), "mean")
	if !ok {
		return s, false
	}
	a := c.Attrs.(*relay.ReduceAttrs)
	shape := relay.Tensor(c.Args[0]).Shape
	s = statistic{c.Args[0], axesOf(a.Axis, a.Exclude, len(shape))}
	return s, s.kept(e)
}

// kept reports whether e has the shape of the statistic with its axes kept.
func (s statistic) kept(e relay.Expr) bool {
	shape := relay.Tensor(s.x).Shape.Clone()
	for _, axis := range s.axes {
		shape[axis] = 1
	}
	return relay.Tensor(e).Shape.Equal(shape)
}

// rootOf matches √v below a quotient, or 1/√v; inverse says which.
func rootOf(e relay.Expr) (v relay.Expr, inverse, ok bool) {
	if root, ok := is(e, "sqrt"); ok {
		return root.Args[0], false, true
	}
	if root, ok := is(e, "rsqrt"); ok {
		return root.Args[0], true, true
	}
	for _, name := range []string{"reciprocal", "divide"} {
		c, is1 := is(e, name)
		if !is1 || name == "divide" && !near(c.Args[0], 1) {
			continue
		}
		if root, ok := is(c.Args[len(c.Args)-1], "sqrt"); ok {
			return root.Args[0], true, true
		}
	}
	return nil, false, false
}

// overRoot matches d / √v and d · 1/√v.
func overRoot(c *relay.Call) (d, v relay.Expr) {
	if c.Op.Name == "divide" {
		if v, inverse, ok := rootOf(c.Args[1]); ok && !inverse {
			return c.Args[0], v
		}
	}
	commuted(c, "multiply", func(a, b relay.Expr) bool {
		under, inverse, ok := rootOf(b)
		if ok = ok && inverse; ok {
			d, v = a, under
		}
		return ok
	})
	return d, v
}

// squareOf matches d².
func squareOf(e relay.Expr) (d relay.Expr, ok bool) {
	c, isCall := e.(*relay.Call)
	if !isCall || len(c.Args) == 0 {
		return nil, false
	}
	n, k, power := powerOf(e, c.Args[0])
	return c.Args[0], power && n == 2 && k == 1
}

// meanSquare matches mean(d²): the mean of d, over the same axes, is not part of it.
func meanSquare(e relay.Expr) (s statistic, ok bool) {
	s, ok = meanOf(e)
	if !ok {
		return s, false
	}
	s.x, ok = squareOf(s.x)
	return s, ok
}

// overEpsilon calls f with both readings of v = a + ε until it is content.
func overEpsilon(v relay.Expr, f func(a relay.Expr) bool) (epsilon float64, ok bool) {
	ok = commuted(v, "add", func(a, b relay.Expr) bool {
		e, known := number(b)
		epsilon = e
		return known && f(a)
	})
	return epsilon, ok
}

// deviation matches x - mean(x).
func deviation(d relay.Expr) (s statistic, ok bool) {
	c, ok := is(d, "subtract")
	if !ok {
		return s, false
	}
	s, ok = meanOf(c.Args[1])
	return s, ok && s.x == c.Args[0]
}

// varianceOf matches mean((x - mean(x))²) + ε and max(mean(x²) - mean(x)², 0) + ε.
func varianceOf(v relay.Expr) (s statistic, epsilon float64, ok bool) {
	epsilon, ok = overEpsilon(v, func(a relay.Expr) bool {
		if square, is := meanSquare(a); is {
			var centred bool
			s, centred = deviation(square.x)
			return centred && slices.Equal(s.axes, square.axes)
		}
		var is bool
		s, is = differenceOfSquares(a)
		return is
	})
	return s, epsilon, ok
}

// differenceOfSquares matches max(mean(x²) - mean(x)², 0), or without the maximum.
func differenceOfSquares(e relay.Expr) (s statistic, ok bool) {
	inner := unshaped(e)
	if c, low, high, clipped := clipOf(inner); clipped && low == 0 && math.IsInf(high, 1) {
		inner = unshaped(c.Args[0])
	}
	c, ok := is(inner, "subtract")
	if !ok || !sameShape(c.Args[0], c.Args[1]) {
		return s, false
	}
	of := func(e relay.Expr) (statistic, bool) { // its axes may be dropped here
		m, ok := is(unshaped(e), "mean")
		if !ok {
			return statistic{}, false
		}
		a := m.Attrs.(*relay.ReduceAttrs)
		return statistic{m.Args[0], axesOf(a.Axis, a.Exclude, len(relay.Tensor(m.Args[0]).Shape))}, true
	}
	squares, ok := of(c.Args[0])
	mean, isSquare := squareOf(unshaped(c.Args[1]))
	if !ok || !isSquare {
		return s, false
	}
	s, ok = of(mean)
	x, isSquare := squareOf(squares.x)
	return s, ok && isSquare && s.equal(statistic{x, squares.axes}) && s.kept(e)
}

// norm finds a normalisation; which names its operator and the axis of its channels by the axes that it goes over.
func (r *rewriter) norm(c *relay.Call, which func(axes []int, rank int) (name string, axis int)) (relay.Expr, error) {
	if d, v := overRoot(c); d != nil {
		s, epsilon, ok := varianceOf(v)
		if from, centred := deviation(d); !ok || !centred || !from.equal(s) {
			return nil, nil
		}
		return r.plainNorm(s, epsilon, which)
	}
	return r.affineNorm(c, which)
}

// plainNorm makes a normalisation without scale and offset.
func (r *rewriter) plainNorm(s statistic, epsilon float64, which func(axes []int, rank int) (string, int)) (relay.Expr, error) {
	t := relay.Tensor(s.x)
	name, axis := which(s.axes, len(t.Shape))
	if name == "" {
		return nil, nil
	}
	n := t.Shape[axis]
	r.note("%s was written as several operators", name)
	return r.call(name, &relay.NormAttrs{Axis: axis, Epsilon: epsilon}, s.x, r.vector(t.DType, n, 1), r.vector(t.DType, n, 0))
}

// vector is a constant of n times v.
func (r *rewriter) vector(d tensor.DType, n int, v float64) *relay.Constant {
	return r.constantAs(d, tensor.Shape{n}, slices.Repeat([]float64{v}, n))
}

// affineNorm matches (x - mean(x)) · s, x · s + (β - mean(x) · s) and x · s - mean(x) · s, s = 1/√(variance) · γ.
func (r *rewriter) affineNorm(c *relay.Call, which func(axes []int, rank int) (string, int)) (relay.Expr, error) {
	of, factor, beta, ok := centredTimes(c)
	if !ok {
		return nil, nil
	}
	var gamma relay.Expr
	v, inverse, ok := rootOf(factor)
	if !ok {
		commuted(factor, "multiply", func(a, b relay.Expr) bool {
			v, inverse, ok = rootOf(a)
			gamma = b
			return ok
		})
	}
	if !ok || !inverse {
		return nil, nil
	}
	s, epsilon, ok := varianceOf(v)
	if !ok || !s.equal(of) {
		return nil, nil
	}
	y, err := r.plainNorm(s, epsilon, which)
	for _, then := range []struct {
		name string
		by   relay.Expr
	}{{"multiply", gamma}, {"add", beta}} {
		if y == nil || err != nil || then.by == nil {
			continue
		}
		y, err = r.call(then.name, nil, y, then.by)
	}
	return y, err
}

// centredTimes matches (x - mean(x)) · s, x · s - mean(x) · s and x · s + (β - mean(x) · s).
func centredTimes(c *relay.Call) (of statistic, s, beta relay.Expr, ok bool) {
	if commuted(c, "multiply", func(a, b relay.Expr) bool {
		of, ok = deviation(a)
		s = b
		return ok
	}) {
		return of, s, nil, true
	}
	var scaled, shift relay.Expr
	switch c.Op.Name {
	case "subtract":
		scaled, shift = c.Args[0], c.Args[1]
	case "add":
		commuted(c, "add", func(a, b relay.Expr) bool {
			minus, ok := is(b, "subtract")
			if ok {
				scaled, beta, shift = a, minus.Args[0], minus.Args[1]
			}
			return ok
		})
	}
	if scaled == nil {
		return of, nil, nil, false
	}
	ok = commuted(scaled, "multiply", func(x, factor relay.Expr) bool {
		s = factor
		return commuted(shift, "multiply", func(mean, again relay.Expr) bool {
			var is bool
			of, is = meanOf(mean)
			return is && again == factor && of.x == x
		})
	})
	return of, s, beta, ok
}

// normed is a normalisation that a scale and an offset may join.
type normed struct {
	call          *relay.Call
	axis          int
	scale, center bool
}

// normOf returns a normalisation of which e is the only reader's operand.
func (r *rewriter) normOf(e relay.Expr) (n normed, ok bool) {
	c, ok := e.(*relay.Call)
	if !ok || c.Op == nil || !r.single(c) {
		return n, false
	}
	rank := 0
	if t := relay.Tensor(c); t != nil {
		rank = len(t.Shape)
	}
	switch a := c.Attrs.(type) {
	case *relay.NormAttrs:
		return normed{c, relay.NormalAxis(a.Axis, rank), a.Scale, a.Center}, true
	case *relay.GroupNormAttrs:
		return normed{c, relay.NormalAxis(a.Axis, rank), a.Scale, a.Center}, true
	}
	return n, false
}

// with returns the normalisation with other vectors.
func (r *rewriter) with(n normed, gamma, beta relay.Expr, scale, center bool) (relay.Expr, error) {
	var attrs any
	switch a := n.call.Attrs.(type) {
	case *relay.NormAttrs:
		attrs = &relay.NormAttrs{Axis: a.Axis, Epsilon: a.Epsilon, Scale: scale, Center: center}
	case *relay.GroupNormAttrs:
		attrs = &relay.GroupNormAttrs{NumGroups: a.NumGroups, Axis: a.Axis, Epsilon: a.Epsilon, Scale: scale, Center: center}
	}
	return r.call(n.call.Op.Name, attrs, n.call.Args[0], gamma, beta)
}

// joined returns the normalisation that an operand of c is, when the other one is a constant along its channels.
func (r *rewriter) joinedNorm(c *relay.Call, name string, free func(n normed) bool) (n normed, v *relay.Constant) {
	commuted(c, name, func(a, b relay.Expr) bool {
		at, ok := r.normOf(a)
		if !ok || !free(at) || !sameShape(a, c) {
			return false
		}
		list, ok := channelVector(b, relay.Tensor(a).Shape, at.axis)
		if ok {
			n, v = at, r.constantAs(relay.Tensor(c).DType, tensor.Shape{len(list)}, list)
		}
		return ok
	})
	return n, v
}

func normScale(r *rewriter, c *relay.Call) (relay.Expr, error) {
	n, gamma := r.joinedNorm(c, "multiply", func(n normed) bool { return !n.scale && !n.center })
	if n.call == nil {
		return nil, nil
	}
	return r.with(n, gamma, n.call.Args[2], true, false)
}

func normCenter(r *rewriter, c *relay.Call) (relay.Expr, error) {
	n, beta := r.joinedNorm(c, "add", func(n normed) bool { return !n.center })
	if n.call == nil {
		return nil, nil
	}
	return r.with(n, n.call.Args[1], beta, n.scale, true)
}
