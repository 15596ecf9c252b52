package lower

import (
	"github.com/texel-ml/texel/relay"
	"github.com/texel-ml/texel/tir"
)

var rmsNormRules = map[string]OpRule{"rms_norm": lowerRMSNorm}

// lowerRMSNorm defines nn.rms_norm along one axis of n elements:
//
//	scale = 1 / √(Σ x² / n + epsilon); x · scale · gamma
func lowerRMSNorm(s *Site) ([]Operand, error) {
	a := attrs[relay.RMSNormAttrs](s)
	x := s.keep(s.In[0])
	d := working(x.DType)
	axis := relay.NormalAxis(a.Axis, len(x.Shape))
	mask := make([]bool, len(x.Shape))
	mask[axis] = true
	r := reduceOver(x.Shape, mask)
	squares := r.sum(s, d, func(i, k []tir.Expr) tir.Expr { return square(x.wide(r.join(i, k)...)) })
	scale := s.keep(s.Compute(r.outer, d, func(i []tir.Expr) tir.Expr {
		return fn(tir.Rsqrt, tir.Plus(meanOf(squares.At(i...), r.count()), num(d, a.Epsilon)))
	}))
	return s.Result(func(i []tir.Expr) tir.Expr {
		y := tir.Times(x.wide(i...), scale.At(r.kept(i)...))
		return tir.As(s.Out().DType, tir.Times(y, s.In[1].wide(i[axis])))
	})
}
