package texel

import (
	"math"

	"github.com/texel-ml/texel/relay"
	"github.com/texel-ml/texel/tensor"
)

// norm is what a normalisation, (x − mean) / √(var + ε) · gamma + beta, does to errors: an error of x grows by scale, the largest
// of gamma / √(var + ε); the mean and the variance are sums of n elements. Where the elements of a box are nearly equal, var
// vanishes and the rounding of the mean alone, u·|x|, comes out as u·|x|·gamma/√ε.
type norm struct {
	scale float64
	n     int
}

// normOf returns what a normalisation of x does; it reports false for other operators.
func (b *deviation) normOf(c *relay.Call, x *tensor.Wide) (norm, bool) {
	gamma, epsilon, centred := 1.0, 0.0, true
	var box func(i int) int
	count := 1
	along := func(axis int) {
		axis = relay.NormalAxis(axis, len(x.Shape))
		inner := x.Shape[axis+1:].Elems()
		whole := x.Shape[axis] * inner
		count = x.Shape[:axis].Elems() * inner
		box = func(i int) int { return i/whole*inner + i%inner }
	}
	groups := func(axis, groups int) {
		axis = relay.NormalAxis(axis, len(x.Shape))
		image, inner, each := x.Shape[1:].Elems(), x.Shape[axis+1:].Elems(), max(1, x.Shape[axis]/max(1, groups))
		count = x.Shape[0] * groups
		box = func(i int) int { return i/image*groups + i/inner%x.Shape[axis]/each }
	}
	scaled := false
	switch a := c.Attrs.(type) {
	case *relay.NormAttrs:
		epsilon, scaled = a.Epsilon, a.Scale
		if c.Op.Name == "nn.instance_norm" {
			groups(a.Axis, x.Shape[relay.NormalAxis(a.Axis, len(x.Shape))])
		} else {
			along(a.Axis)
		}
	case *relay.GroupNormAttrs:
		epsilon, scaled = a.Epsilon, a.Scale
		groups(a.Axis, a.NumGroups)
	case *relay.RMSNormAttrs:
		epsilon, scaled, centred = a.Epsilon, true, false
		along(a.Axis)
	default:
		return norm{}, false
	}
	if len(x.F) == 0 || count == 0 {
		return norm{}, false
	}
	if scaled {
		gamma = b.size[c.Args[1]]
	}
	n := len(x.F) / count
	means, squares := make([]float64, count), make([]float64, count)
	if centred {
		for i, v := range x.F {
			means[box(i)] += v / float64(n)
		}
	}
	for i, v := range x.F {
		d := v - means[box(i)]
		squares[box(i)] += d * d
	}
	least := math.Inf(1)
	for _, s := range squares {
		if !math.IsNaN(s) { // a box with a NaN has no bound to hold
			least = math.Min(least, s/float64(n))
		}
	}
	return norm{gamma / math.Sqrt(least+epsilon), n}, true
}
