package lower

import (
	"github.com/texel-ml/texel/relay"
	"github.com/texel-ml/texel/tensor"
	"github.com/texel-ml/texel/tir"
)

var poolRules = map[string]OpRule{"pool": lowerPool, "global_pool": lowerGlobalPool, "adaptive_pool": lowerAdaptivePool}

// windows are the boxes that a pool reduces, one for each place of its result.
type windows struct {
	x       Operand
	axes    []int // the spatial axes
	extents []int // the largest window
	begin   func(n int, i tir.Expr) tir.Expr
	step    []int // between the elements of a window
	inside  func(n int, i, k, place tir.Expr) tir.Expr
	whole   bool // every element of every window is inside
}

// spatialPlaces returns the positions of the spatial axes of a layout in the order D, H, W.
func spatialPlaces(l tensor.Layout) []int {
	var axes []int
	for _, letter := range "DHW" {
		if n := l.Index(byte(letter)); n >= 0 {
			axes = append(axes, n)
		}
	}
	return axes
}

// at returns the place of element k of the window at i, and the condition that it is inside; nil: it always is.
func (w windows) at(i, k []tir.Expr) (idx []tir.Expr, inside tir.Expr) {
	idx = append([]tir.Expr{}, i...)
	for n, axis := range w.axes {
		place := tir.Plus(w.begin(n, i[axis]), scaled(k[n], w.step[n]))
		idx[axis] = place
		if !w.whole {
			inside = tir.All(inside, w.inside(n, i[axis], k[n], place))
		}
	}
	return idx, inside
}

// fold adds the reduction of each window; outside is the value of elements that are not inside.
func (w windows) fold(s *Site, shape tensor.Shape, d tensor.DType, init tir.Expr, combine func(acc, x tir.Expr) tir.Expr,
	f func(at []tir.Expr) tir.Expr) Operand {
	return s.Reduce(shape, d, w.extents, init, combine, func(i, k []tir.Expr) tir.Expr {
		at, inside := w.at(i, k)
		if inside == nil {
			return f(at)
		}
		return tir.Sel(inside, f(at), init)
	})
}

func (w windows) max(s *Site, shape tensor.Shape) Operand {
	d := working(w.x.DType)
	if d == tensor.Bool {
		return w.fold(s, shape, d, tir.False, either, func(at []tir.Expr) tir.Expr { return w.x.At(at...) })
	}
	return w.fold(s, shape, d, tir.Lowest(d), tir.Maximum, func(at []tir.Expr) tir.Expr { return w.x.wide(at...) })
}

func (w windows) sum(s *Site, shape tensor.Shape) Operand {
	d := totalling(w.x.DType)
	return w.fold(s, shape, d, num(d, 0), tir.Plus, func(at []tir.Expr) tir.Expr { return tir.As(d, w.x.At(at...)) })
}

// finish converts the stage's elements by f, which may be nil, to the type of the result.
func finish(s *Site, acc Operand, f func(e tir.Expr, i []tir.Expr) tir.Expr) ([]Operand, error) {
	if f == nil && acc.DType == s.Out().DType {
		return []Operand{acc}, nil
	}
	return s.Result(func(i []tir.Expr) tir.Expr {
		e := acc.At(i...)
		if f != nil {
			e = f(e, i)
		}
		return tir.As(s.Out().DType, e)
	})
}

// poolWindows returns the windows of a pool with fixed sizes and strides.
func poolWindows(s *Site, a *relay.PoolAttrs, shape tensor.Shape) windows {
	x := s.In[0]
	axes := spatialPlaces(tensor.MustLayout(a.Layout))
	w := windows{x: x, axes: axes, extents: a.PoolSize, step: a.Dilation, whole: true}
	w.begin = func(n int, i tir.Expr) tir.Expr { return offset(scaled(i, a.Strides[n]), -a.Padding[n]) }
	w.inside = func(n int, _, _, place tir.Expr) tir.Expr { return within(place, x.Shape[axes[n]]) }
	for n, axis := range axes {
		last := (shape[axis]-1)*a.Strides[n] - a.Padding[n] + (a.PoolSize[n]-1)*a.Dilation[n]
		w.whole = w.whole && a.Padding[n] == 0 && last < x.Shape[axis]
	}
	return w
}

func lowerPool(s *Site) ([]Operand, error) {
	a := attrs[relay.PoolAttrs](s)
	switch name := s.Call.Op.Name; {
	case name == "nn.max_pool2d_with_argmax":
		return poolArgmax(s, a)
	case name[:len("nn.max")] == "nn.max":
		return finish(s, poolWindows(s, a, s.Out().Shape).max(s, s.Out().Shape), nil)
	}
	w := poolWindows(s, a, s.Out().Shape)
	return finish(s, w.sum(s, s.Out().Shape), func(e tir.Expr, i []tir.Expr) tir.Expr {
		d, count := e.Type().DType, 1
		var divisor tir.Expr = tir.I(1)
		for n, axis := range w.axes {
			c := poolCount(a, n, w.x.Shape[axis], s.Out().Shape[axis])
			if c.constant() {
				count *= c.at(0)
			} else {
				divisor = tir.Times(divisor, c.expr(i[axis]))
			}
		}
		if tir.IsConst(divisor, 1) {
			return meanOf(e, count)
		}
		return tir.Over(e, tir.As(d, scaled(divisor, count)))
	})
}

// windowCount says how many elements of a window along one axis count: those in [lo, hi).
type windowCount struct{ lo, hi, size, step, stride, begin, windows int }

func poolCount(a *relay.PoolAttrs, n, in, out int) windowCount {
	c := windowCount{0, in, a.PoolSize[n], a.Dilation[n], a.Strides[n], a.Padding[n], out}
	if a.CountIncludePad {
		c.lo, c.hi = -a.Padding[n], in+a.Padding[len(a.Padding)/2+n]
	}
	return c
}

func (c windowCount) at(i int) int {
	n := 0
	for k := range c.size {
		if p := i*c.stride - c.begin + k*c.step; p >= c.lo && p < c.hi {
			n++
		}
	}
	return n
}

// constant reports whether all windows count alike.
func (c windowCount) constant() bool {
	first := -c.begin
	last := (c.windows-1)*c.stride - c.begin + (c.size-1)*c.step
	return first >= c.lo && last < c.hi
}

// expr returns the count of window i: of the elements k with lo ≤ start + k·step < hi, and at least 1.
func (c windowCount) expr(i tir.Expr) tir.Expr {
	start := offset(scaled(i, c.stride), -c.begin)
	first := tir.Maximum(floorDiv(tir.Minus(tir.I(c.lo+c.step-1), start), c.step), tir.I(0))
	last := tir.Minimum(floorDiv(tir.Minus(tir.I(c.hi-1), start), c.step), tir.I(c.size-1))
	return tir.Maximum(offset(tir.Minus(last, first), 1), tir.I(1)) // the sum over nothing is 0
}

// poolArgmax defines the largest elements, and the least place in the flattened data of an element of the window that
// equals it; a window without elements has the first place of its plane.
func poolArgmax(s *Site, a *relay.PoolAttrs) ([]Operand, error) {
	t := s.resultType(0)
	s.In[0] = s.keep(s.In[0])
	x := s.In[0]
	w := poolWindows(s, a, t.Shape)
	best := w.max(s, t.Shape)
	strides := x.Shape.Strides()
	place := func(at []tir.Expr) tir.Expr {
		var e tir.Expr = tir.I(0)
		for n, step := range strides {
			e = tir.Plus(e, scaled(at[n], step))
		}
		return e
	}
	none := tir.I(x.Shape.Elems())
	at := s.Reduce(t.Shape, tensor.Int64, w.extents, none, tir.Minimum, func(i, k []tir.Expr) tir.Expr {
		idx, inside := w.at(i, k)
		e, m := x.wide(idx...), best.At(i...)
		hit := tir.Eq(e, m)
		if x.DType.IsFloat() {
			hit = either(hit, fn(tir.IsNaN, e))
		}
		return tir.Sel(tir.All(inside, hit), place(idx), none)
	})
	values := best
	if best.DType != t.DType {
		values = s.Compute(t.Shape, t.DType, func(i []tir.Expr) tir.Expr { return tir.As(t.DType, best.At(i...)) })
	}
	found := s.Compute(t.Shape, tensor.Int64, func(i []tir.Expr) tir.Expr {
		idx := append([]tir.Expr{}, i...)
		for _, axis := range w.axes {
			idx[axis] = tir.I(0)
		}
		return tir.Sel(tir.Eq(at.At(i...), none), place(idx), at.At(i...))
	})
	return []Operand{values, found}, nil
}

func lowerGlobalPool(s *Site) ([]Operand, error) {
	x := s.In[0]
	axes := spatialPlaces(tensor.MustLayout(attrs[relay.GlobalPoolAttrs](s).Layout))
	return boxPool(s, wholeAxes(x, axes), s.Call.Op.Name == "nn.global_max_pool2d")
}

// wholeAxes returns the window that is all of the given axes.
func wholeAxes(x Operand, axes []int) windows {
	w := windows{x: x, axes: axes, whole: true}
	w.begin = func(int, tir.Expr) tir.Expr { return tir.I(0) }
	for _, axis := range axes {
		w.extents, w.step = append(w.extents, x.Shape[axis]), append(w.step, 1)
	}
	return w
}

// boxPool defines the largest element or the mean of windows that are all of one size.
func boxPool(s *Site, w windows, largest bool) ([]Operand, error) {
	if largest {
		return finish(s, w.max(s, s.Out().Shape), nil)
	}
	n := tensor.Shape(w.extents).Elems()
	return finish(s, w.sum(s, s.Out().Shape), func(e tir.Expr, _ []tir.Expr) tir.Expr { return meanOf(e, n) })
}

// lowerAdaptivePool cuts an axis of extent I in O parts: window i is [⌊i·I/O⌋, ⌈(i+1)·I/O⌉).
func lowerAdaptivePool(s *Site) ([]Operand, error) {
	a := attrs[relay.AdaptivePoolAttrs](s)
	x := s.In[0]
	w := windows{x: x, axes: spatialPlaces(tensor.MustLayout(a.Layout)), whole: true}
	ratio := func(n int) (in, out int) { return x.Shape[w.axes[n]], a.OutputSize[n] }
	w.begin = func(n int, i tir.Expr) tir.Expr {
		in, out := ratio(n)
		return floorDiv(scaled(i, in), out)
	}
	size := func(n int, i tir.Expr) tir.Expr {
		in, out := ratio(n)
		return tir.Minus(floorDiv(offset(scaled(i, in), in+out-1), out), w.begin(n, i))
	}
	w.inside = func(n int, i, k, _ tir.Expr) tir.Expr { return tir.Lt(k, size(n, i)) }
	for n := range w.axes {
		in, out := ratio(n)
		longest := 0
		for i := range out {
			longest = max(longest, (i*in+in+out-1)/out-i*in/out)
		}
		w.extents, w.step = append(w.extents, longest), append(w.step, 1)
		w.whole = w.whole && in%out == 0
	}
	isMax := s.Call.Op.Name == "nn.adaptive_max_pool2d"
	if w.whole || isMax {
		return boxPool(s, w, isMax)
	}
	return finish(s, w.sum(s, s.Out().Shape), func(e tir.Expr, i []tir.Expr) tir.Expr {
		var count tir.Expr = tir.I(1)
		for n, axis := range w.axes {
			count = tir.Times(count, size(n, i[axis]))
		}
		return tir.Over(e, tir.As(e.Type().DType, count))
	})
}
