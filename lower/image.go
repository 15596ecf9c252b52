package lower

import (
	"github.com/texel-ml/texel/relay"
	"github.com/texel-ml/texel/tensor"
	"github.com/texel-ml/texel/tir"
)

var imageRules = map[string]OpRule{"resize": lowerResize, "grid_sample": lowerGridSample}

// resized is one axis that is resampled: place y of the result is the sum of the operand's elements at(y, t), each times
// weight(y, t).
type resized struct {
	axis    int
	taps    int
	at      func(y, t tir.Expr) tir.Expr
	weight  func(y, t tir.Expr) tir.Expr // nil: 1
	outside func(y tir.Expr) tir.Expr    // nil: never
}

// lowerResize defines image.resize and image.resize2d. What each place of an axis reads, and with which weights, is
// computed here in float64 and becomes tables of the kernel, unless it is a simple quotient. Two taps along two axes at
// most are summed in place; more are summed one axis after the other.
func lowerResize(s *Site) ([]Operand, error) {
	a := attrs[relay.ResizeAttrs](s)
	x := s.In[0]
	axes, err := a.ResizedAxes(s.Call.Op.Name, len(x.Shape))
	if err != nil {
		return nil, s.Unsupported("%v", err)
	}
	d := working(x.DType)
	if !d.IsFloat() {
		d = tensor.Float64
	}
	var list []resized
	all := 1
	for n, axis := range axes {
		r, identity := s.resizedAxis(a, n, axis, x.Shape[axis], d)
		if !identity {
			list = append(list, r)
			all *= r.taps
		}
	}
	const inPlace = 4
	for all > inPlace && len(list) > 1 { // the last axis first: its neighbours lie side by side
		r := list[len(list)-1]
		list = list[:len(list)-1]
		shape := x.Shape.Clone()
		shape[r.axis] = s.Out().Shape[r.axis]
		x = s.resample(a, x, shape, d, []resized{r})
		s.def.Kept[x.Tensor] = x.Tensor.ReduceAxes() == 0
		all /= r.taps
	}
	if x = s.resample(a, x, s.Out().Shape, d, list); x.DType == s.Out().DType {
		return []Operand{x}, nil
	}
	return s.Result(func(i []tir.Expr) tir.Expr {
		if e := x.At(i...); s.Out().DType.IsFloat() {
			return tir.As(s.Out().DType, e)
		} else {
			return tir.As(s.Out().DType, fn(tir.Round, e))
		}
	})
}

// resample adds the stage that resamples x along the axes of list.
func (s *Site) resample(a *relay.ResizeAttrs, x Operand, shape tensor.Shape, d tensor.DType, list []resized) Operand {
	var extents []int
	weighted := false
	for _, r := range list {
		if r.taps > 1 || r.weight != nil {
			weighted = true
			extents = append(extents, r.taps)
		} else {
			extents = append(extents, 1)
		}
	}
	term := func(i, t []tir.Expr) tir.Expr {
		at := append([]tir.Expr{}, i...)
		var w tir.Expr
		for n, r := range list {
			at[r.axis] = r.at(i[r.axis], t[n])
			if r.weight == nil {
				continue
			}
			if e := r.weight(i[r.axis], t[n]); w == nil {
				w = e
			} else {
				w = tir.Times(w, e)
			}
		}
		e := tir.As(d, x.At(at...))
		if w != nil {
			e = tir.Times(e, w)
		}
		return e
	}
	bounded := func(e tir.Expr, i []tir.Expr) tir.Expr {
		var outside tir.Expr
		for _, r := range list {
			if r.outside == nil {
				continue
			}
			if o := r.outside(i[r.axis]); outside == nil {
				outside = o
			} else {
				outside = either(outside, o)
			}
		}
		if outside == nil {
			return e
		}
		return tir.Sel(outside, num(d, a.ExtrapolationValue), e)
	}
	if !weighted {
		return s.Compute(shape, d, func(i []tir.Expr) tir.Expr { return bounded(term(i, zeros(len(list))), i) })
	}
	if tensor.Shape(extents).Elems() <= 4 {
		return s.Compute(shape, d, func(i []tir.Expr) tir.Expr {
			var sum tir.Expr
			for _, t := range boxOf(extents) {
				if e := term(i, t); sum == nil {
					sum = e
				} else {
					sum = tir.Plus(sum, e)
				}
			}
			return bounded(sum, i)
		})
	}
	sum := s.Reduce(shape, d, extents, num(d, 0), tir.Plus, term)
	for _, r := range list {
		if r.outside != nil {
			return s.Compute(shape, d, func(i []tir.Expr) tir.Expr { return bounded(sum.At(i...), i) })
		}
	}
	return sum
}

// boxOf returns the indices of a box in row-major order.
func boxOf(extents []int) [][]tir.Expr {
	list := [][]tir.Expr{{}}
	for _, n := range extents {
		var next [][]tir.Expr
		for _, head := range list {
			for k := range n {
				next = append(next, append(append([]tir.Expr{}, head...), tir.I(k)))
			}
		}
		list = next
	}
	return list
}

// resizedAxis returns how axis number n of the attribute lists is resampled, and whether it stays as it is.
func (s *Site) resizedAxis(a *relay.ResizeAttrs, n, axis, extent int, d tensor.DType) (r resized, identity bool) {
	r.axis, r.taps = axis, 1
	if a.Size[n] == 0 || extent == 0 {
		return r, true
	}
	taps := a.Taps(n, extent)
	plain, outside, places := true, false, make([]int, len(taps))
	identity = extent == len(taps)
	for y, t := range taps {
		r.taps = max(r.taps, len(t.At))
		outside = outside || t.At == nil
		plain = plain && len(t.At) == 1 && t.Weight[0] == 1
		if len(t.At) > 0 {
			places[y] = t.At[0]
		}
		identity = identity && plain && places[y] == y
	}
	if identity {
		return r, true
	}
	if plain && !outside {
		if at := quotient(places, extent); at != nil {
			r.at = func(y, _ tir.Expr) tir.Expr { return at(y) }
			return r, false
		}
	}
	at := tensor.NewWide(tensor.Int32, tensor.Shape{len(taps), r.taps})
	weight := tensor.NewWide(d, at.Shape)
	valid := tensor.NewWide(tensor.Bool, tensor.Shape{len(taps)})
	for y, t := range taps {
		if len(t.At) == 0 {
			continue
		}
		valid.I[y] = 1
		for k := range r.taps {
			at.I[y*r.taps+k] = int64(t.At[min(k, len(t.At)-1)])
			if k < len(t.At) {
				weight.F[y*r.taps+k] = t.Weight[k]
			}
		}
	}
	places1 := s.Table(at.Narrow())
	r.at = func(y, t tir.Expr) tir.Expr { return clampedTo(toIndex(places1.At(y, t)), extent) }
	if !plain {
		weights := s.Table(weight.Narrow())
		r.weight = func(y, t tir.Expr) tir.Expr { return weights.At(y, t) }
	}
	if outside {
		inside := s.Table(valid.Narrow())
		r.outside = func(y tir.Expr) tir.Expr { return &tir.Not{A: inside.At(y)} }
	}
	return r, false
}

// clampedTo tells the analysis of bounds that a place read from a table lies in [0, n).
func clampedTo(at tir.Expr, n int) tir.Expr {
	return tir.Minimum(tir.Maximum(at, tir.I(0)), tir.I(n-1))
}

// quotient returns places[y] as min(⌊(y·p + r) / q⌋, n − 1), or nil when no small p, q and r give it.
func quotient(places []int, n int) func(y tir.Expr) tir.Expr {
	for q := 1; q <= 16; q++ {
		for p := 1; p <= 16; p++ {
			for r := range q {
				fits := true
				for y := 0; y < len(places) && fits; y++ {
					fits = places[y] == min((y*p+r)/q, n-1)
				}
				if fits {
					return func(y tir.Expr) tir.Expr {
						at := floorDiv(offset(scaled(y, p), r), q)
						if ((len(places)-1)*p+r)/q > n-1 {
							at = tir.Minimum(at, tir.I(n-1))
						}
						return at
					}
				}
			}
		}
	}
	return nil
}
