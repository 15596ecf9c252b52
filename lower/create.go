package lower

import (
	"math"

	"github.com/texel-ml/texel/relay"
	"github.com/texel-ml/texel/tensor"
	"github.com/texel-ml/texel/tir"
)

// Operators that make tensors from attributes.
var createRules = map[string]OpRule{"create": lowerCreate, "one_hot": lowerOneHot}

func lowerCreate(s *Site) ([]Operand, error) {
	d := s.Out().DType
	fill := 0.0
	switch a := s.Call.Attrs.(type) {
	case *relay.ArangeAttrs:
		return s.Result(func(i []tir.Expr) tir.Expr { return arange(a, d, i[0]) })
	case *relay.EyeAttrs:
		return s.Result(func(i []tir.Expr) tir.Expr {
			return tir.Sel(tir.Eq(i[1], offset(i[0], a.K)), num(d, 1), num(d, 0))
		})
	default:
		if s.Call.Op.Name == "ones" {
			fill = 1
		}
	}
	return s.Result(func([]tir.Expr) tir.Expr { return num(d, fill) })
}

// arange returns start + i·step, in integers when all are and in float64 otherwise.
func arange(a *relay.ArangeAttrs, d tensor.DType, i tir.Expr) tir.Expr {
	whole := func(v float64) bool { return v == math.Trunc(v) && math.Abs(v) < 1<<53 }
	if d.IsInt() && !d.IsStorage() && whole(a.Start) && whole(a.Step) {
		return tir.As(d, offset(scaled(i, int(a.Step)), int(a.Start)))
	}
	f := tensor.Float64
	return converted(tir.Plus(tir.Times(tir.As(f, i), num(f, a.Step)), num(f, a.Start)), d, &relay.CastAttrs{Saturate: true, RoundMode: "nearest"})
}

func lowerOneHot(s *Site) ([]Operand, error) {
	a := attrs[relay.OneHotAttrs](s)
	axis := relay.NormalAxis(a.Axis, len(s.Out().Shape))
	return s.Result(func(i []tir.Expr) tir.Expr {
		at := toIndex(s.In[0].At(append(append([]tir.Expr{}, i[:axis]...), i[axis+1:]...)...))
		hit := either(tir.Eq(at, i[axis]), tir.Eq(offset(at, a.Depth), i[axis]))
		return tir.Sel(hit, s.In[1].first(), s.In[2].first())
	})
}
