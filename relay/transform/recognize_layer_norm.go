package transform

import (
	"context"
	"slices"

	"github.com/texel-ml/texel/relay"
	"github.com/texel-ml/texel/tensor"
)

// RecognizeLayerNorm finds layer normalisation over one axis that is written as reductions.
//
//	d = x - mean(x); d / √(mean(d²) + ε)  →  layer_norm(x, 1, 0)
//	s = 1 / √(mean(d²) + ε) [· γ]; x · s + ([β] - mean(x) · s), as TensorFlow writes it  →  the same, then · γ and + β
//	layer_norm(x, 1, 0) · γ               →  layer_norm(x, γ, 0)
//	layer_norm(x, γ, 0) + β               →  layer_norm(x, γ, β)
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

// meanOf matches the mean over axes that are kept.
func meanOf(e relay.Expr) (x relay.Expr, axes []int, ok bool) {
	c, ok := is(e, "mean")
	if !ok {
		return nil, nil, false
	}
	a := c.Attrs.(*relay.ReduceAttrs)
	return c.Args[0], axesOf(a.Axis, a.Exclude, len(relay.Tensor(c.Args[0]).Shape)), a.Keepdims
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

// meanSquare matches mean(d²) + ε.
func meanSquare(v relay.Expr) (d relay.Expr, axes []int, epsilon float64, ok bool) {
	commuted(v, "add", func(a, b relay.Expr) bool {
		e, known := number(b)
		square, over, isMean := meanOf(a)
		if !known || !isMean {
			return false
		}
		if c, isCall := square.(*relay.Call); isCall && len(c.Args) > 0 {
			if n, k, power := powerOf(square, c.Args[0]); power && n == 2 && k == 1 {
				d, axes, epsilon, ok = c.Args[0], over, e, true
			}
		}
		return ok
	})
	return
}

// deviation matches x - mean(x).
func deviation(d relay.Expr) (x, mean relay.Expr, axes []int, ok bool) {
	c, ok := is(d, "subtract")
	if !ok {
		return nil, nil, nil, false
	}
	x, axes, ok = meanOf(c.Args[1])
	return x, c.Args[1], axes, ok && x == c.Args[0]
}

// varianceOf matches mean((x - mean(x))²) + ε, both over the same axes.
func varianceOf(v relay.Expr) (x, mean, d relay.Expr, axes []int, epsilon float64, ok bool) {
	d, axes, epsilon, ok = meanSquare(v)
	if !ok {
		return
	}
	var over []int
	x, mean, over, ok = deviation(d)
	return x, mean, d, axes, epsilon, ok && slices.Equal(axes, over)
}

// norm finds a normalisation; which names its operator and the axis of its channels by the axes that it goes over.
func (r *rewriter) norm(c *relay.Call, which func(axes []int, rank int) (name string, axis int)) (relay.Expr, error) {
	if d, v := overRoot(c); d != nil {
		x, _, centred, axes, epsilon, ok := varianceOf(v)
		if !ok || centred != d {
			return nil, nil
		}
		return r.plainNorm(x, axes, epsilon, which)
	}
	return r.affineNorm(c, which)
}

// plainNorm makes a normalisation without scale and offset.
func (r *rewriter) plainNorm(x relay.Expr, axes []int, epsilon float64, which func(axes []int, rank int) (string, int)) (relay.Expr, error) {
	t := relay.Tensor(x)
	name, axis := which(axes, len(t.Shape))
	if name == "" {
		return nil, nil
	}
	n := t.Shape[axis]
	r.note("%s was written as several operators", name)
	return r.call(name, &relay.NormAttrs{Axis: axis, Epsilon: epsilon}, x, r.vector(t.DType, n, 1), r.vector(t.DType, n, 0))
}

// vector is a constant of n times v.
func (r *rewriter) vector(d tensor.DType, n int, v float64) *relay.Constant {
	return r.constantAs(d, tensor.Shape{n}, slices.Repeat([]float64{v}, n))
}

// affineNorm matches x · s + (β - mean(x) · s) and x · s - mean(x) · s, s = 1/√(variance) or γ times it.
func (r *rewriter) affineNorm(c *relay.Call, which func(axes []int, rank int) (string, int)) (relay.Expr, error) {
	var scaled, shift, beta relay.Expr
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
		return nil, nil
	}
	var x, s relay.Expr
	if !commuted(scaled, "multiply", func(a, b relay.Expr) bool {
		x, s = a, b
		return commuted(shift, "multiply", func(mean, again relay.Expr) bool {
			from, _, isMean := meanOf(mean)
			return again == b && isMean && from == a
		})
	}) {
		return nil, nil
	}
	var gamma relay.Expr
	v, inverse, ok := rootOf(s)
	if !ok {
		commuted(s, "multiply", func(a, b relay.Expr) bool {
			v, inverse, ok = rootOf(a)
			gamma = b
			return ok
		})
	}
	if !ok || !inverse {
		return nil, nil
	}
	from, mean, _, axes, epsilon, ok := varianceOf(v)
	if !ok || from != x || !commuted(shift, "multiply", func(a, _ relay.Expr) bool { return a == mean }) {
		return nil, nil
	}
	y, err := r.plainNorm(x, axes, epsilon, which)
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
