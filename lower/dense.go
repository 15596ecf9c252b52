package lower

import (
	"github.com/texel-ml/texel/relay"
	"github.com/texel-ml/texel/tensor"
	"github.com/texel-ml/texel/tir"
)

var denseRules = map[string]OpRule{"matmul": lowerMatmul}

// lowerMatmul defines the matrix products. nn.dense has its weight in a layout of N and K, such as NK or NK32n;
// nn.matmul and nn.batch_matmul broadcast their batch axes.
//
//	dense:  out[…, n] = Σ_k a[…, k] · w[n, k]
//	matmul: out[…, m, n] = Σ_k a[…, m, k] · b[…, k, n]
func lowerMatmul(s *Site) ([]Operand, error) {
	x, w := s.In[0], s.In[1]
	d := working(s.Out().DType)
	k := x.Shape[len(x.Shape)-1]
	anchor := &Anchor{Kind: "dense"}
	if s.widens(x) {
		x = s.widened(x)
		anchor.Pad, anchor.Widens = x.Tensor, true
	}
	if s.widens(w) {
		w = s.widened(w)
		anchor.Panel = w.Tensor
	}
	var read func(i []tir.Expr, r tir.Expr) (a, b tir.Expr)
	if attrs, dense := s.Call.Attrs.(*relay.DenseAttrs); dense {
		layout := tensor.MustLayout("NK")
		if attrs.WeightLayout != "" {
			layout = tensor.MustLayout(attrs.WeightLayout)
		}
		anchor.Block = layout.Block('N')
		if anchor.Block == 1 {
			anchor.Block = 0
		}
		read = func(i []tir.Expr, r tir.Expr) (tir.Expr, tir.Expr) {
			at := append(append([]tir.Expr{}, i[:len(i)-1]...), r)
			return x.At(at...), w.At(physicalIndex(layout, map[byte]tir.Expr{'N': i[len(i)-1], 'K': r})...)
		}
	} else {
		attrs := s.Call.Attrs.(*relay.MatmulAttrs)
		if attrs.TransposeA && len(x.Shape) > 1 {
			k = x.Shape[len(x.Shape)-2]
		}
		read = matmulReader(x, w, attrs)
	}
	shape := s.Out().Shape
	if anchor.Block > 1 {
		shape = wholeVectors(s, shape, w.Shape[0]*anchor.Block)
	}
	result := s.Reduce(shape, d, []int{k}, tir.Const(d, 0), tir.Plus, func(i, r []tir.Expr) tir.Expr {
		a, b := read(i, r[0])
		return tir.Times(tir.As(d, a), tir.As(d, b))
	})
	anchor.Stage, anchor.Weight = result.Tensor, w.Tensor
	s.SetAnchor(anchor)
	return s.accumulated(result), nil
}

// matmulReader reads operands of any rank as NumPy's matmul does: a vector on the left is a row, on the right a column,
// and its axis is missing in the result.
func matmulReader(x, w Operand, attrs *relay.MatmulAttrs) func(i []tir.Expr, r tir.Expr) (a, b tir.Expr) {
	return func(i []tir.Expr, r tir.Expr) (tir.Expr, tir.Expr) {
		batch := i
		var m, n tir.Expr = tir.I(0), tir.I(0)
		if len(w.Shape) > 1 {
			n, batch = batch[len(batch)-1], batch[:len(batch)-1]
		}
		if len(x.Shape) > 1 {
			m, batch = batch[len(batch)-1], batch[:len(batch)-1]
		}
		pair := func(o Operand, outer, inner tir.Expr, transpose bool) tir.Expr {
			if len(o.Shape) == 1 {
				return o.At(r)
			}
			if transpose {
				outer, inner = inner, outer
			}
			lead := max(0, len(o.Shape)-2)
			return o.At(append(append([]tir.Expr{}, batch[len(batch)-lead:]...), outer, inner)...)
		}
		return pair(x, m, r, attrs.TransposeA), pair(w, r, n, attrs.TransposeB)
	}
}
