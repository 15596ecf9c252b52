package lower

import (
	"github.com/texel-ml/texel/relay"
	"github.com/texel-ml/texel/tensor"
	"github.com/texel-ml/texel/tir"
)

var squeezeExciteRules = map[string]OpRule{"squeeze_excite": lowerSqueezeExcite}

// lowerSqueezeExcite defines the channel scale of a squeeze-and-excite block, in four stages:
//
//	p[n, c] = mean of data over its spatial axes
//	h[n, r] = activation(Σ_c w1[r, c] · p[n, c] + b1[r])
//	out[n, c] = gate(Σ_r w2[c, r] · h[n, r] + b2[c]), 0 for channels that are padding
func lowerSqueezeExcite(s *Site) ([]Operand, error) {
	a := attrs[relay.SqueezeExciteAttrs](s)
	layout := tensor.MustLayout(a.Layout)
	x, w1, b1, w2, b2 := s.In[0], s.In[1], s.In[2], s.In[3], s.In[4]
	d := working(x.DType)
	axes := spatialPlaces(layout)
	batch, hidden, channels := layout.Extent(x.Shape, 'N'), b1.Shape[0], b2.Shape[0]
	weight := func(w Operand, out, in tir.Expr) tir.Expr {
		if a.WeightLayout == "IO" {
			return w.wide(in, out)
		}
		return w.wide(out, in)
	}
	w := wholeAxes(x, axes)
	pool := w.sum(s, s.Out().Shape) // in the layout of data, its spatial axes of extent 1
	count := tensor.Shape(w.extents).Elems()
	mean := s.keep(s.Compute(pool.Shape, d, func(i []tir.Expr) tir.Expr { return meanOf(pool.At(i...), count) }))

	squeezed := s.Reduce(tensor.Shape{batch, hidden}, d, []int{channels}, num(d, 0), tir.Plus, func(i, k []tir.Expr) tir.Expr {
		at := map[byte]tir.Expr{'N': i[0], 'C': k[0]}
		for _, axis := range axes {
			at[layout.Axes()[axis].Letter] = tir.I(0)
		}
		return tir.Times(weight(w1, i[1], k[0]), mean.At(physicalIndex(layout, at)...))
	})
	activation := map[string]element{"relu": elemRelu, "swish": elemSwish, "hard_swish": elemHardSwish}[a.Activation]
	active := s.keep(s.Compute(squeezed.Shape, d, func(i []tir.Expr) tir.Expr {
		return activation(&relay.SwishAttrs{Beta: 1}, d, []tir.Expr{tir.Plus(squeezed.At(i...), b1.wide(i[1]))})
	}))
	excited := s.Reduce(tensor.Shape{batch, channels}, d, []int{hidden}, num(d, 0), tir.Plus, func(i, k []tir.Expr) tir.Expr {
		return tir.Times(weight(w2, i[1], k[0]), active.At(i[0], k[0]))
	})
	gate := call(tir.Sigmoid)
	if a.Gate == "hard_sigmoid" {
		gate = elemHardSigmoid
	}
	return s.Result(func(i []tir.Expr) tir.Expr {
		at := logicalIndex(layout, i)
		c := at['C']
		e := gate(&relay.HardSigmoidAttrs{Alpha: a.GateAlpha, Beta: a.GateBeta}, d, []tir.Expr{
			tir.Plus(excited.At(at['N'], c), b2.wide(c))})
		e = tir.As(s.Out().DType, e)
		if layout.Extent(s.Out().Shape, 'C') == channels {
			return e
		}
		return tir.Sel(tir.Lt(c, tir.I(channels)), e, num(s.Out().DType, 0))
	})
}
