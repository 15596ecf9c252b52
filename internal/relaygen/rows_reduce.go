package relaygen

import (
	"math"

	"github.com/texel-ml/texel/relay"
	"github.com/texel-ml/texel/tensor"
)

var posInf, negInf = math.Inf(1), math.Inf(-1)

// reduceRows are the reductions.
func reduceRows() map[string]func(g *Gen) relay.Expr {
	all := map[string]func(g *Gen) relay.Expr{}
	reduce := func(operand func(g *Gen) relay.Expr, names ...string) {
		for _, name := range names {
			all[name] = func(g *Gen) relay.Expr {
				x := operand(g)
				a := &relay.ReduceAttrs{Axis: g.axes(len(relay.Tensor(x).Shape)), Keepdims: g.flip(), Exclude: g.one(5)}
				return g.call(name, a, x)
			}
		}
	}
	reduce(func(g *Gen) relay.Expr { return g.number(0, 5) }, "sum", "mean", "max", "min")
	reduce(func(g *Gen) relay.Expr { return g.clipped(g.number(0, 4), -1.5, 1.5) }, "prod")
	reduce(func(g *Gen) relay.Expr { return g.real(0, 5) }, "logsumexp")
	reduce(func(g *Gen) relay.Expr { return g.of([]tensor.DType{tensor.Bool}, 0, 5) }, "all", "any")
	for _, name := range []string{"argmax", "argmin"} {
		all[name] = func(g *Gen) relay.Expr {
			x := g.number(1, 4)
			a := &relay.ArgReduceAttrs{Axis: g.axes(len(relay.Tensor(x).Shape)), Keepdims: g.flip(), Exclude: g.one(5), SelectLastIndex: g.one(3),
				DType: pick(g, indices...)}
			return g.call(name, a, x)
		}
	}
	return all
}

// axes draws the axes of a reduction: one, some, or nil for all.
func (g *Gen) axes(rank int) []int {
	switch {
	case rank > 0 && !g.one(3):
		return []int{g.axis(rank)}
	case g.flip():
		return g.some(rank)
	}
	return nil
}

// normRows are the normalisations and softmax.
func normRows() map[string]func(g *Gen) relay.Expr {
	all := map[string]func(g *Gen) relay.Expr{}
	for _, name := range []string{"nn.softmax", "nn.log_softmax"} {
		all[name] = func(g *Gen) relay.Expr {
			x := g.real(1, 4)
			return g.call(name, &relay.AxisAttrs{Axis: g.axis(len(relay.Tensor(x).Shape))}, x)
		}
	}
	for _, name := range []string{"nn.layer_norm", "nn.instance_norm"} {
		all[name] = func(g *Gen) relay.Expr {
			x := g.real(2, 4)
			shape := relay.Tensor(x).Shape
			axis := g.from(1, len(shape)-1)
			a := &relay.NormAttrs{Axis: g.signed(axis, len(shape)), Epsilon: g.epsilon(), Center: g.flip(), Scale: g.flip()}
			return g.call(name, a, x, g.perChannel(shape[axis]), g.perChannel(shape[axis]))
		}
	}
	all["nn.group_norm"] = func(g *Gen) relay.Expr {
		x := g.real(2, 4)
		shape := relay.Tensor(x).Shape
		axis := g.from(1, len(shape)-1)
		a := &relay.GroupNormAttrs{NumGroups: g.divisor(shape[axis]), Axis: g.signed(axis, len(shape)), Epsilon: g.epsilon(), Center: g.flip(), Scale: g.flip()}
		return g.call("nn.group_norm", a, x, g.perChannel(shape[axis]), g.perChannel(shape[axis]))
	}
	all["nn.batch_norm"] = func(g *Gen) relay.Expr {
		x := g.real(2, 4)
		shape := relay.Tensor(x).Shape
		axis := g.n(len(shape))
		n := tensor.Shape{shape[axis]}
		a := &relay.BatchNormAttrs{Axis: g.signed(axis, len(shape)), Epsilon: g.epsilon(), Center: g.flip(), Scale: g.flip()}
		return g.call("nn.batch_norm", a, x, g.perChannel(n[0]), g.perChannel(n[0]), g.perChannel(n[0]), g.numbers(g.float, n, 0.5, 2))
	}
	all["nn.rms_norm"] = func(g *Gen) relay.Expr {
		x := g.real(1, 4)
		shape := relay.Tensor(x).Shape
		axis := g.n(len(shape))
		return g.call("nn.rms_norm", &relay.RMSNormAttrs{Axis: g.signed(axis, len(shape)), Epsilon: g.epsilon()}, x, g.perChannel(shape[axis]))
	}
	all["nn.lrn"] = func(g *Gen) relay.Expr {
		x := g.real(2, 4)
		a := &relay.LRNAttrs{Size: g.from(1, 5), Axis: g.axis(len(relay.Tensor(x).Shape)), Bias: pick(g, 2., 1), Alpha: pick(g, 1e-5, 0.5), Beta: pick(g, 0.75, 0.5)}
		return g.call("nn.lrn", a, x)
	}
	all["nn.l2_normalize"] = func(g *Gen) relay.Expr {
		x := g.real(1, 4)
		return g.call("nn.l2_normalize", &relay.L2NormalizeAttrs{Eps: pick(g, 1e-12, 1e-2), Axis: g.axes(len(relay.Tensor(x).Shape))}, x)
	}
	all["nn.squeeze_excite"] = func(g *Gen) relay.Expr {
		x, layout := g.image(2)
		c := tensor.MustLayout(layout).Extent(relay.Tensor(x).Shape, 'C')
		r := g.from(1, 3)
		a := &relay.SqueezeExciteAttrs{Activation: pick(g, "relu", "swish", "hard_swish"), Gate: pick(g, "sigmoid", "hard_sigmoid"),
			GateAlpha: pick(g, 1./6, 0.2), GateBeta: pick(g, 0.5, 0.25), Layout: layout, WeightLayout: pick(g, "", "OI", "IO")}
		first, second := tensor.Shape{r, c}, tensor.Shape{c, r}
		if a.WeightLayout == "IO" {
			first, second = second, first
		}
		return g.call("nn.squeeze_excite", a, x, g.constant(g.float, first), g.perChannel(r), g.constant(g.float, second), g.perChannel(c))
	}
	return all
}

func (g *Gen) epsilon() float64 { return pick(g, 1e-5, 1e-3) }

// perChannel is a vector of n numbers.
func (g *Gen) perChannel(n int) relay.Expr { return g.leaf(g.float, tensor.Shape{n}) }

// divisor returns a divisor of n.
func (g *Gen) divisor(n int) int {
	var list []int
	for d := 1; d <= n; d++ {
		if n%d == 0 {
			list = append(list, d)
		}
	}
	return pick(g, list...)
}
