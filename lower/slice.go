package lower

import (
	"github.com/texel-ml/texel/relay"
	"github.com/texel-ml/texel/tir"
)

// Operators that join, cut and widen tensors.
var sliceRules = map[string]OpRule{
	"concatenate": lowerConcatenate, "split": lowerSplit, "strided_slice": lowerStridedSlice, "pad": lowerPad,
}

// lowerConcatenate defines concatenate and stack. The operand is chosen by the place along the axis, which a schedule
// makes constant in each vector by cutting the loop over it.
func lowerConcatenate(s *Site) ([]Operand, error) {
	fields := s.In[0].Tuple
	rank := len(s.Out().Shape)
	axis := relay.NormalAxis(attrs[relay.ConcatAttrs](s).Axis, rank)
	stack := s.Call.Op.Name == "stack"
	var parts []Operand
	var ends, begins []int
	at := 0
	for _, f := range fields {
		n := 1
		if !stack {
			n = f.Shape[axis]
		}
		if n > 0 {
			parts, begins, ends = append(parts, f), append(begins, at), append(ends, at+n)
		}
		at += n
	}
	return s.Result(func(i []tir.Expr) tir.Expr {
		if len(parts) == 0 {
			return num(s.Out().DType, 0) // of nothing
		}
		return oneOf(i[axis], ends, func(n int) tir.Expr {
			if stack {
				return parts[n].At(append(append([]tir.Expr{}, i[:axis]...), i[axis+1:]...)...)
			}
			return parts[n].At(with(i, axis, offset(i[axis], -begins[n]))...)
		})
	})
}

func lowerSplit(s *Site) ([]Operand, error) {
	a := attrs[relay.SplitAttrs](s)
	x := s.In[0]
	axis := relay.NormalAxis(a.Axis, len(x.Shape))
	parts := make([]Operand, len(a.Indices)+1)
	for n := range parts {
		begin, _ := a.Part(n, x.Shape[axis])
		parts[n] = s.Compute(s.resultType(n).Shape, x.DType, func(i []tir.Expr) tir.Expr {
			return x.At(with(i, axis, offset(i[axis], begin))...)
		})
	}
	return parts, nil
}

// lowerStridedSlice defines strided_slice and reverse.
func lowerStridedSlice(s *Site) ([]Operand, error) {
	x := s.In[0]
	ranges := make([]relay.SliceRange, len(x.Shape))
	for n, extent := range x.Shape {
		ranges[n] = relay.SliceRange{Begin: 0, Stride: 1, Extent: extent}
	}
	switch a := s.Call.Attrs.(type) {
	case *relay.AxisAttrs:
		axis := relay.NormalAxis(a.Axis, len(x.Shape))
		ranges[axis] = relay.SliceRange{Begin: x.Shape[axis] - 1, Stride: -1, Extent: x.Shape[axis]}
	case *relay.StridedSliceAttrs:
		ranges = a.Ranges(x.Shape)
	}
	return moved(s, func(i []tir.Expr) []tir.Expr {
		idx := make([]tir.Expr, len(i))
		for n, r := range ranges {
			idx[n] = offset(scaled(i[n], r.Stride), r.Begin)
		}
		return idx
	})
}

// lowerPad first cuts what negative widths take away, then reads outside as the mode says.
func lowerPad(s *Site) ([]Operand, error) {
	a := attrs[relay.PadAttrs](s)
	x := s.In[0]
	return s.Result(func(i []tir.Expr) tir.Expr {
		idx := make([]tir.Expr, len(i))
		var inside tir.Expr
		for n, extent := range x.Shape {
			before, after := a.PadWidth[2*n], a.PadWidth[2*n+1]
			cut, inner := -min(before, 0), extent+min(before, 0)+min(after, 0)
			place := offset(i[n], -max(before, 0))
			if before > 0 || after > 0 {
				if a.PadMode == "constant" {
					inside = tir.All(inside, within(place, inner))
				} else {
					place = padded(place, inner, max(before, 0), max(after, 0), a.PadMode)
				}
			}
			idx[n] = offset(place, cut)
		}
		if inside == nil {
			return x.At(idx...)
		}
		return tir.Sel(inside, x.At(idx...), s.In[1].first())
	})
}

// padded returns the place in [0, n) that stands for place p in [−before, n + after).
func padded(p tir.Expr, n, before, after int, mode string) tir.Expr {
	switch {
	case n <= 1 || mode == "edge":
		return tir.Minimum(tir.Maximum(p, tir.I(0)), tir.I(max(n-1, 0)))
	case mode == "wrap":
		return floorMod(p, n)
	case before < n && after < n: // reflect, once at most
		return tir.Sel(tir.Lt(p, tir.I(0)), scaled(p, -1), tir.Sel(tir.Lt(p, tir.I(n)), p, tir.Minus(tir.I(2*n-2), p)))
	}
	m := floorMod(p, 2*n-2)
	return tir.Minimum(m, tir.Minus(tir.I(2*n-2), m))
}
