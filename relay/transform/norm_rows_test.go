package transform

import (
	"github.com/texel-ml/texel/relay"
	"github.com/texel-ml/texel/tensor"
)

func (g *graph) meanOver(x relay.Expr, axes ...int) relay.Expr {
	return g.call("mean", &relay.ReduceAttrs{Axis: axes, Keepdims: true}, x)
}

func (g *graph) sub(a, b relay.Expr) relay.Expr { return g.call("subtract", nil, a, b) }

// standardised is (x - mean) / √(variance + ε) over axes.
func (g *graph) standardised(x relay.Expr, axes ...int) relay.Expr {
	d := g.sub(x, g.meanOver(x, axes...))
	return g.div(d, g.call("sqrt", nil, g.add(g.meanOver(g.mul(d, d), axes...), g.scalar(1e-3))))
}

// asTensorFlow is x · s + (β - mean · s), s = γ / √(variance + ε).
func (g *graph) asTensorFlow(x relay.Expr, gamma, beta relay.Expr, axes ...int) relay.Expr {
	mean := g.meanOver(x, axes...)
	d := g.sub(x, mean)
	s := g.mul(g.call("rsqrt", nil, g.add(g.meanOver(g.mul(d, d), axes...), g.scalar(1e-3))), gamma)
	return g.add(g.mul(x, s), g.sub(beta, g.mul(mean, s)))
}

var tensorFlowNormRows = []row{
	{name: "as_tensorflow_writes_it", why: "scale and offset are computed first", build: func(g *graph) relay.Expr {
		return g.asTensorFlow(g.input("x", 2, 3, 8), g.weights(8), g.weights(8), -1)
	}},
	{name: "without_gamma_and_beta", why: "x · s - mean · s", build: func(g *graph) relay.Expr {
		x := g.input("x", 2, 8)
		mean := g.meanOver(x, 1)
		d := g.sub(x, mean)
		s := g.call("rsqrt", nil, g.add(g.meanOver(g.mul(d, d), 1), g.scalar(1e-3)))
		return g.sub(g.mul(x, s), g.mul(mean, s))
	}},
	{name: "as_jax_writes_it", why: "the variance as a difference of squares, cut at 0; axes are dropped and brought back", build: func(g *graph) relay.Expr {
		x := g.input("x", 2, 8, 3)
		over := func(e relay.Expr) relay.Expr { return g.call("mean", &relay.ReduceAttrs{Axis: []int{1}}, e) }
		mean := over(x)
		v := g.call("nn.relu", nil, g.sub(over(g.mul(x, x)), g.mul(mean, mean)))
		s := g.mul(g.call("rsqrt", nil, g.add(g.reshape(v, 2, 1, 3), g.scalar(1e-3))), g.weights(8, 1))
		return g.add(g.mul(g.sub(x, g.reshape(mean, 2, 1, 3)), s), g.weights(8, 1))
	}},
	{name: "sum_of_squares", why: "a sum of squares is no variance", keeps: true, build: func(g *graph) relay.Expr {
		x := g.input("x", 2, 8)
		mean := g.meanOver(x, 1)
		return g.mul(g.sub(x, mean), g.call("rsqrt", nil, g.add(g.add(g.meanOver(g.mul(x, x), 1), g.mul(mean, mean)), g.scalar(1e-3))))
	}},
	{name: "another_mean", why: "the mean over another axis is not the one of the variance", keeps: true, build: func(g *graph) relay.Expr {
		x := g.input("x", 2, 8)
		d := g.sub(x, g.meanOver(x, 1))
		s := g.call("rsqrt", nil, g.add(g.meanOver(g.mul(d, d), 1), g.scalar(1e-3)))
		return g.sub(g.mul(x, s), g.mul(g.meanOver(x, 0), s))
	}},
}

var instanceNormRows = []row{
	{name: "planes", why: "over rows and columns, with a scale and an offset for each channel", build: func(g *graph) relay.Expr {
		return g.add(g.mul(g.standardised(g.input("x", 2, 3, 4, 5), 2, 3), g.weights(3, 1, 1)), g.weights(1, 3, 1, 1))
	}},
	{name: "channels_last", why: "the axis that is left is that of the channels", build: func(g *graph) relay.Expr {
		return g.asTensorFlow(g.input("x", 2, 4, 5, 3), g.weights(3), g.weights(3), 1, 2)
	}},
	{name: "over_the_batch", why: "statistics of the whole batch are no instance norm", keeps: true, build: func(g *graph) relay.Expr {
		return g.standardised(g.input("x", 2, 3, 4, 5), 0, 2, 3)
	}},
	{name: "over_fewer_axes", why: "an axis between is left", keeps: true, build: func(g *graph) relay.Expr {
		return g.standardised(g.input("x", 2, 3, 2, 4, 5), 3, 4)
	}},
}

var groupNormRows = []row{
	{name: "as_pytorch_writes_it", why: "instance norm of groups that are rows, then scale and offset", build: func(g *graph) relay.Expr {
		x := g.input("x", 2, 6, 2, 2)
		y := g.call("nn.instance_norm", nil, g.reshape(x, 2, 3, 8), g.ones(3), g.zeros(3))
		return g.add(g.mul(g.reshape(y, 2, 6, 2, 2), g.weights(6, 1, 1)), g.weights(6, 1, 1))
	}},
	{name: "of_rows", why: "layer norm of all groups as rows", build: func(g *graph) relay.Expr {
		x := g.input("x", 2, 6, 2, 2)
		attrs := &relay.NormAttrs{Axis: -1, Epsilon: 1e-4}
		return g.reshape(g.call("nn.layer_norm", attrs, g.reshape(x, 4, 12), g.weights(12), g.weights(12)), 2, 6, 2, 2)
	}},
	{name: "with_a_scale_inside", why: "a scale for each group is none for each channel", keeps: true, build: func(g *graph) relay.Expr {
		y := g.call("nn.instance_norm", nil, g.reshape(g.input("x", 2, 6, 2, 2), 2, 3, 8), g.weights(3), g.zeros(3))
		return g.reshape(y, 2, 6, 2, 2)
	}},
	{name: "rows_across_channels", why: "five rows are no groups of six channels", keeps: true, build: func(g *graph) relay.Expr {
		attrs := &relay.NormAttrs{Axis: -1, Epsilon: 1e-4}
		return g.reshape(g.call("nn.layer_norm", attrs, g.reshape(g.input("x", 1, 6, 5, 2), 5, 12), g.weights(12), g.weights(12)), 1, 6, 5, 2)
	}},
}

func (g *graph) ones(n int) relay.Expr  { return g.same(n, 1) }
func (g *graph) zeros(n int) relay.Expr { return g.same(n, 0) }

func (g *graph) same(n int, v float32) relay.Expr {
	list := make([]float32, n)
	for i := range list {
		list[i] = v
	}
	return of(tensor.Float32, tensor.Shape{n}, list...)
}

// rms is x / √(mean(x²) + ε) over one axis.
func (g *graph) rms(x relay.Expr, axis int) relay.Expr {
	return g.mul(x, g.call("rsqrt", nil, g.add(g.meanOver(g.mul(x, x), axis), g.scalar(1e-3))))
}

var rmsNormRows = []row{
	{name: "with_gamma", why: "root, mean and gamma become one operator", build: func(g *graph) relay.Expr {
		return g.mul(g.weights(8), g.rms(g.input("x", 2, 3, 8), -1))
	}},
	{name: "of_rows", why: "a quotient by the root, along the first axis", build: func(g *graph) relay.Expr {
		x := g.input("x", 2, 3)
		return g.div(x, g.call("sqrt", nil, g.add(g.meanOver(g.call("power", nil, x, g.scalar(2)), 0), g.scalar(1e-3))))
	}},
	{name: "gamma_of_another_axis", why: "a factor along another axis stays outside", build: func(g *graph) relay.Expr {
		return g.mul(g.rms(g.input("x", 2, 3, 8), -1), g.weights(3, 1))
	}},
	{name: "of_another", why: "the root of something else's mean square", keeps: true, build: func(g *graph) relay.Expr {
		x, z := g.input("x", 2, 8), g.input("z", 2, 8)
		return g.div(x, g.call("sqrt", nil, g.add(g.meanOver(g.mul(z, z), 1), g.scalar(1e-3))))
	}},
	{name: "over_two_axes", why: "the operator has one", keeps: true, build: func(g *graph) relay.Expr {
		x := g.input("x", 2, 3, 4)
		return g.div(x, g.call("sqrt", nil, g.add(g.meanOver(g.mul(x, x), 1, 2), g.scalar(1e-3))))
	}},
}
