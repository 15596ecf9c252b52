package lower

import (
	"github.com/texel-ml/texel/relay"
	"github.com/texel-ml/texel/tensor"
	"github.com/texel-ml/texel/tir"
)

// Reductions over axes, and running ones along an axis.
var reduceRules = map[string]OpRule{"reduce": lowerReduce, "scan": lowerScan}

// over describes a reduction of a tensor of the given shape over the axes of mask.
type over struct {
	shape   tensor.Shape
	mask    []bool
	outer   tensor.Shape // the axes that stay
	extents []int        // the axes reduced
}

func reduceOver(shape tensor.Shape, mask []bool) over {
	r := over{shape: shape, mask: mask, outer: tensor.Shape{}}
	for n, extent := range shape {
		if mask[n] {
			r.extents = append(r.extents, extent)
		} else {
			r.outer = append(r.outer, extent)
		}
	}
	return r
}

// count returns the number of elements reduced to one.
func (r over) count() int { return tensor.Shape(r.extents).Elems() }

// join returns the index of the operand from that of the axes that stay and that of the axes reduced.
func (r over) join(i, k []tir.Expr) []tir.Expr {
	at := make([]tir.Expr, 0, len(r.shape))
	for _, reduced := range r.mask {
		if reduced {
			at, k = append(at, k[0]), k[1:]
		} else {
			at, i = append(at, i[0]), i[1:]
		}
	}
	return at
}

// kept returns the part of an operand's index that stays.
func (r over) kept(at []tir.Expr) []tir.Expr {
	i := make([]tir.Expr, 0, len(r.outer))
	for n, reduced := range r.mask {
		if !reduced {
			i = append(i, at[n])
		}
	}
	return i
}

// outOf returns the index of the axes that stay from that of the result, which may have axes of extent 1 for the others.
func (r over) outOf(i []tir.Expr) []tir.Expr {
	if len(i) == len(r.outer) {
		return i
	}
	return r.kept(i)
}

// fold adds the stage of a reduction: f of each element, combined.
func (r over) fold(s *Site, d tensor.DType, init tir.Expr, combine func(acc, x tir.Expr) tir.Expr, f func(i, k []tir.Expr) tir.Expr) Operand {
	return s.Reduce(r.outer, d, r.extents, init, combine, f)
}

func (r over) sum(s *Site, d tensor.DType, f func(i, k []tir.Expr) tir.Expr) Operand {
	return r.fold(s, d, num(d, 0), tir.Plus, f)
}

// peak adds the stage of the largest or the smallest element.
func (r over) peak(s *Site, x Operand, smallest bool) Operand {
	d := working(x.DType)
	f := func(i, k []tir.Expr) tir.Expr { return x.wide(r.join(i, k)...) }
	switch {
	case d == tensor.Bool && smallest:
		return r.fold(s, d, tir.True, both, f)
	case d == tensor.Bool:
		return r.fold(s, d, tir.False, either, f)
	case smallest:
		return r.fold(s, d, tir.Highest(d), tir.Minimum, f)
	}
	return r.fold(s, d, tir.Lowest(d), tir.Maximum, f)
}

func lowerReduce(s *Site) ([]Operand, error) {
	x := s.In[0]
	if a, ok := s.Call.Attrs.(*relay.ArgReduceAttrs); ok {
		return argReduce(s, reduceOver(x.Shape, relay.ReducedAxes(a.Axis, a.Exclude, len(x.Shape))), a)
	}
	a := attrs[relay.ReduceAttrs](s)
	r := reduceOver(x.Shape, relay.ReducedAxes(a.Axis, a.Exclude, len(x.Shape)))
	d := working(x.DType)
	each := func(i, k []tir.Expr) tir.Expr { return x.wide(r.join(i, k)...) }
	finish := func(acc Operand, f func(e tir.Expr) tir.Expr) ([]Operand, error) {
		if f == nil && d == s.Out().DType && len(s.Out().Shape) == len(r.outer) {
			return []Operand{acc}, nil
		}
		return s.Result(func(i []tir.Expr) tir.Expr {
			e := acc.At(r.outOf(i)...)
			if f != nil {
				e = f(e)
			}
			return tir.As(s.Out().DType, e)
		})
	}
	switch s.Call.Op.Name {
	case "sum":
		return finish(r.sum(s, d, each), nil)
	case "mean":
		d := totalling(x.DType)
		sum := r.sum(s, d, func(i, k []tir.Expr) tir.Expr { return tir.As(d, x.At(r.join(i, k)...)) })
		return finish(sum, func(e tir.Expr) tir.Expr { return meanOf(e, r.count()) })
	case "prod":
		return finish(r.fold(s, d, num(d, 1), tir.Times, each), nil)
	case "max", "min":
		return finish(r.peak(s, x, s.Call.Op.Name == "min"), nil)
	case "all":
		return finish(r.peak(s, x, true), nil)
	case "any":
		return finish(r.peak(s, x, false), nil)
	}
	m := r.peak(s, x, false)
	base := func(i []tir.Expr) tir.Expr { // a finite number to subtract
		e := m.At(i...)
		return tir.Sel(fn(tir.IsInf, e), like(e, 0), e)
	}
	sum := r.sum(s, d, func(i, k []tir.Expr) tir.Expr { return fn(tir.Exp, tir.Minus(each(i, k), base(i))) })
	return s.Result(func(i []tir.Expr) tir.Expr {
		at := r.outOf(i)
		return tir.As(s.Out().DType, tir.Plus(fn(tir.Log, sum.At(at...)), base(at)))
	})
}

// totalling returns the type in which elements are added before a division.
func totalling(d tensor.DType) tensor.DType {
	if d.IsInt() && d != tensor.Uint64 {
		return tensor.Int64
	}
	return working(d)
}

// meanOf returns a sum divided by the number of its terms; over nothing a float gives NaN and an integer 0.
func meanOf(sum tir.Expr, n int) tir.Expr {
	d := sum.Type().DType
	switch {
	case d.IsFloat() && n > 0:
		return tir.Times(sum, num(d, 1/float64(n)))
	case d.IsFloat():
		return tir.Over(sum, num(d, 0))
	}
	return tir.Over(sum, &tir.Int{DType: d, Value: int64(max(n, 1))})
}

// argReduce defines argmax and argmin in two passes: the extreme value, then the first place that has it. A NaN counts as
// larger than any number.
func argReduce(s *Site, r over, a *relay.ArgReduceAttrs) ([]Operand, error) {
	x := s.keep(s.In[0])
	best := r.extreme(s, x, s.Call.Op.Name == "argmin")
	place := func(k []tir.Expr) tir.Expr {
		var at tir.Expr = tir.I(0)
		for n, step := range tensor.Shape(r.extents).Strides() {
			at = tir.Plus(at, scaled(k[n], step))
		}
		return tir.As(a.DType, at)
	}
	none := float64(r.count())
	first, combine := 0.0, tir.Minimum
	if a.SelectLastIndex {
		none, first, combine = -1, none-1, tir.Maximum
	}
	init := num(a.DType, none)
	at := r.fold(s, a.DType, init, combine, func(i, k []tir.Expr) tir.Expr {
		e := x.wide(r.join(i, k)...)
		hit := tir.Eq(e, best.At(i...))
		if x.DType.IsFloat() {
			hit = either(hit, both(fn(tir.IsNaN, e), fn(tir.IsNaN, best.At(i...))))
		}
		return tir.Sel(hit, place(k), init)
	})
	return s.Result(func(i []tir.Expr) tir.Expr { // nothing is hit when argmin finds only NaN
		e := at.At(r.outOf(i)...)
		return tir.Sel(tir.Eq(e, init), num(a.DType, first), e)
	})
}

// extreme is peak, except that the smallest of several elements is a NaN only when all are.
func (r over) extreme(s *Site, x Operand, smallest bool) Operand {
	if !smallest || !x.DType.IsFloat() {
		return r.peak(s, x, smallest)
	}
	d := working(x.DType)
	low := r.fold(s, d, tir.Highest(d), tir.Minimum, func(i, k []tir.Expr) tir.Expr {
		e := x.wide(r.join(i, k)...)
		return tir.Sel(fn(tir.IsNaN, e), tir.Highest(d), e)
	})
	return low
}

// lowerScan defines cumsum and cumprod as loops along the axis.
func lowerScan(s *Site) ([]Operand, error) {
	a := attrs[relay.ScanAttrs](s)
	x := s.stored(0)
	d := working(x.DType)
	axis := relay.NormalAxis(a.Axis, len(x.Shape))
	n := x.Shape[axis]
	init, combine := num(d, 0), tir.Plus
	if s.Call.Op.Name == "cumprod" {
		init, combine = num(d, 1), tir.Times
	}
	acc := register("acc", d)
	rest := append(append(tensor.Shape{}, x.Shape[:axis]...), x.Shape[axis+1:]...)
	return s.opaque1([]Operand{x}, []*tir.Buffer{acc.buf}, func(out *tir.Buffer) tir.Stmt {
		return nest(rest, func(i []tir.Expr) tir.Stmt {
			return tir.Block1(acc.set(init), loop("k", tir.I(n), func(k tir.Expr) tir.Stmt {
				if a.Reverse {
					k = tir.Minus(tir.I(n-1), k)
				}
				at := inserted(i, axis, k)
				put := store(out, tir.As(x.DType, acc.get()), at...)
				step := acc.set(combine(acc.get(), x.wide(at...)))
				if a.Exclusive {
					return tir.Block1(put, step)
				}
				return tir.Block1(step, put)
			}))
		})
	})
}
