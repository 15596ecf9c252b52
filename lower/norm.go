package lower

import (
	"math"

	"github.com/texel-ml/texel/relay"
	"github.com/texel-ml/texel/tensor"
	"github.com/texel-ml/texel/tir"
)

var normRules = map[string]OpRule{"norm": lowerNorm}

func lowerNorm(s *Site) ([]Operand, error) {
	switch a := s.Call.Attrs.(type) {
	case *relay.BatchNormAttrs:
		return batchNorm(s, a)
	case *relay.NormAttrs:
		rank := len(s.In[0].Shape)
		axis := relay.NormalAxis(a.Axis, rank)
		mask := make([]bool, rank)
		for n := range mask {
			mask[n] = n == axis
			if s.Call.Op.Name == "nn.instance_norm" {
				mask[n] = n != 0 && n != axis
			}
		}
		r := reduceOver(s.In[0].Shape, mask)
		return standardized(s, a, axis, r.outer, r.extents, r.join, r.kept)
	case *relay.GroupNormAttrs:
		return groupNorm(s, a)
	case *relay.LRNAttrs:
		return lrn(s, a)
	}
	return l2Normalize(s)
}

// batchNorm defines a tuple: (data − mean) / √(var + epsilon) · gamma + beta, the mean and the variance.
func batchNorm(s *Site, a *relay.BatchNormAttrs) ([]Operand, error) {
	t := s.resultType(0)
	axis := relay.NormalAxis(a.Axis, len(t.Shape))
	out := s.Compute(t.Shape, t.DType, func(i []tir.Expr) tir.Expr {
		c := i[axis]
		y := tir.Minus(s.In[0].wide(i...), s.In[3].wide(c))
		scale := fn(tir.Rsqrt, tir.Plus(s.In[4].wide(c), like(y, a.Epsilon)))
		if a.Scale {
			scale = tir.Times(scale, s.In[1].wide(c))
		}
		y = tir.Times(y, scale)
		if a.Center {
			y = tir.Plus(y, s.In[2].wide(c))
		}
		return tir.As(t.DType, y)
	})
	return []Operand{out, s.In[3], s.In[4]}, nil
}

// standardized defines (x − mean) / √(var + epsilon) · gamma + beta. Mean and variance are of the given outer shape, each
// over a box of extents; join gives the place of an element of a box, kept the box of a place.
//
//	mean = Σ x / n; scale = 1 / √(Σ (x − mean)² / n + epsilon)
func standardized(s *Site, a *relay.NormAttrs, axis int, outer tensor.Shape, extents []int, join func(i, k []tir.Expr) []tir.Expr,
	kept func(at []tir.Expr) []tir.Expr) ([]Operand, error) {
	x := s.keep(s.In[0])
	d := working(x.DType)
	n := tensor.Shape(extents).Elems()
	zero := num(d, 0)
	sum := s.Reduce(outer, d, extents, zero, tir.Plus, func(i, k []tir.Expr) tir.Expr { return x.wide(join(i, k)...) })
	mean := s.keep(s.Compute(outer, d, func(i []tir.Expr) tir.Expr { return meanOf(sum.At(i...), n) }))
	squares := s.Reduce(outer, d, extents, zero, tir.Plus, func(i, k []tir.Expr) tir.Expr {
		return square(tir.Minus(x.wide(join(i, k)...), mean.At(i...)))
	})
	scale := s.keep(s.Compute(outer, d, func(i []tir.Expr) tir.Expr {
		return fn(tir.Rsqrt, tir.Plus(meanOf(squares.At(i...), n), num(d, a.Epsilon)))
	}))
	return s.Result(func(i []tir.Expr) tir.Expr {
		box := kept(i)
		y := tir.Times(tir.Minus(x.wide(i...), mean.At(box...)), scale.At(box...))
		if a.Scale {
			y = tir.Times(y, s.In[1].wide(i[axis]))
		}
		if a.Center {
			y = tir.Plus(y, s.In[2].wide(i[axis]))
		}
		return tir.As(s.Out().DType, y)
	})
}

// groupNorm reduces over the channels of a group and the axes behind the batch.
func groupNorm(s *Site, a *relay.GroupNormAttrs) ([]Operand, error) {
	shape := s.In[0].Shape
	axis := relay.NormalAxis(a.Axis, len(shape))
	each := shape[axis] / a.NumGroups
	extents := append([]int{}, shape[1:]...)
	extents[axis-1] = each
	join := func(i, k []tir.Expr) []tir.Expr {
		at := append([]tir.Expr{i[0]}, k...)
		at[axis] = tir.Plus(scaled(i[1], each), k[axis-1])
		return at
	}
	kept := func(at []tir.Expr) []tir.Expr { return []tir.Expr{at[0], floorDiv(at[axis], max(each, 1))} }
	norm := &relay.NormAttrs{Epsilon: a.Epsilon, Center: a.Center, Scale: a.Scale}
	return standardized(s, norm, axis, tensor.Shape{shape[0], a.NumGroups}, extents, join, kept)
}

// lrn defines x / (bias + alpha/size · Σ x²)^beta, the sum over size channels from ⌊(size−1)/2⌋ before x.
func lrn(s *Site, a *relay.LRNAttrs) ([]Operand, error) {
	x := s.keep(s.In[0])
	d := working(x.DType)
	axis := relay.NormalAxis(a.Axis, len(x.Shape))
	reach := max(x.Shape[axis]-1, 0) // a window is no longer than what it can reach
	before, after := min((a.Size-1)/2, reach), min(a.Size/2, reach)
	sum := s.Reduce(x.Shape, d, []int{before + 1 + after}, num(d, 0), tir.Plus, func(i, k []tir.Expr) tir.Expr {
		at := offset(tir.Plus(i[axis], k[0]), -before)
		return tir.Sel(within(at, x.Shape[axis]), square(x.wide(with(i, axis, at)...)), num(d, 0))
	})
	return s.Result(func(i []tir.Expr) tir.Expr {
		base := tir.Plus(tir.Times(sum.At(i...), num(d, a.Alpha/float64(a.Size))), num(d, a.Bias))
		return tir.As(s.Out().DType, tir.Times(x.wide(i...), inversePower(base, a.Beta)))
	})
}

// inversePower returns x^−p, for the usual p without logarithms.
func inversePower(x tir.Expr, p float64) tir.Expr {
	r := fn(tir.Rsqrt, x)
	switch p {
	case 0.5:
		return r
	case 0.75:
		return tir.Times(r, fn(tir.Sqrt, r))
	case 1:
		return reciprocal(x)
	}
	return fn(tir.Pow, x, like(x, -p))
}

// l2Normalize defines x / √max(Σ x², eps).
func l2Normalize(s *Site) ([]Operand, error) {
	a := attrs[relay.L2NormalizeAttrs](s)
	x := s.keep(s.In[0])
	d := working(x.DType)
	r := reduceOver(x.Shape, relay.ReducedAxes(a.Axis, false, len(x.Shape)))
	sum := r.sum(s, d, func(i, k []tir.Expr) tir.Expr { return square(x.wide(r.join(i, k)...)) })
	scale := s.keep(s.Compute(r.outer, d, func(i []tir.Expr) tir.Expr {
		return fn(tir.Rsqrt, tir.Maximum(sum.At(i...), num(d, math.Max(a.Eps, 0))))
	}))
	return s.Result(func(i []tir.Expr) tir.Expr {
		return tir.As(s.Out().DType, tir.Times(x.wide(i...), scale.At(r.kept(i)...)))
	})
}
