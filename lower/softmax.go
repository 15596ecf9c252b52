package lower

import (
	"github.com/texel-ml/texel/relay"
	"github.com/texel-ml/texel/tir"
)

var softmaxRules = map[string]OpRule{"softmax": lowerSoftmax}

// lowerSoftmax defines nn.softmax and nn.log_softmax along one axis:
//
//	m = max x, e = e^(x − m), s = Σ e; softmax = e / s; log_softmax = x − m − log s
//
// The exponentials of softmax are kept, so that each is computed once.
func lowerSoftmax(s *Site) ([]Operand, error) {
	x := s.In[0]
	d := working(x.DType)
	mask := make([]bool, len(x.Shape))
	mask[relay.NormalAxis(attrs[relay.AxisAttrs](s).Axis, len(x.Shape))] = true
	r := reduceOver(x.Shape, mask)
	if s.Call.Op.Name == "nn.log_softmax" {
		x = s.keep(x)
	}
	m := r.peak(s, x, false)
	exp := func(at []tir.Expr) tir.Expr {
		return fn(tir.Exp, tir.Minus(x.wide(at...), m.At(r.kept(at)...)))
	}
	if s.Call.Op.Name == "nn.log_softmax" {
		sum := r.sum(s, d, func(i, k []tir.Expr) tir.Expr { return exp(r.join(i, k)) })
		return s.Result(func(i []tir.Expr) tir.Expr {
			at := r.kept(i)
			return tir.As(s.Out().DType, tir.Minus(tir.Minus(x.wide(i...), m.At(at...)), fn(tir.Log, sum.At(at...))))
		})
	}
	e := s.keep(s.Compute(x.Shape, d, exp))
	sum := r.sum(s, d, func(i, k []tir.Expr) tir.Expr { return e.At(r.join(i, k)...) })
	inverse := s.keep(s.Compute(r.outer, d, func(i []tir.Expr) tir.Expr { return reciprocal(sum.At(i...)) }))
	return s.Result(func(i []tir.Expr) tir.Expr {
		return tir.As(s.Out().DType, tir.Times(e.At(i...), inverse.At(r.kept(i)...)))
	})
}
