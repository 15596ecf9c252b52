package lower

import (
	"github.com/texel-ml/texel/relay"
	"github.com/texel-ml/texel/tensor"
	"github.com/texel-ml/texel/tir"
)

// lowerGridSample defines image.grid_sample. Places are computed in float64, so that they are rounded as the reference
// rounds them; the place along each axis is a stage of its own, shared by all channels.
func lowerGridSample(s *Site) ([]Operand, error) {
	a := attrs[relay.GridSampleAttrs](s)
	x, grid := s.In[0], s.In[1]
	spatial := x.Shape[2:]
	rank := len(spatial)
	d := working(x.DType)
	points := grid.Shape[:rank+1]
	places := make([]Operand, rank)
	for axis, n := range spatial { // the grid holds x, y, z: the last axis first
		places[axis] = s.keep(s.Compute(points, tensor.Float64, func(i []tir.Expr) tir.Expr {
			v := tir.As(tensor.Float64, grid.At(append(append([]tir.Expr{}, i...), tir.I(rank-1-axis))...))
			return gridPlace(a, v, n)
		}))
	}
	return s.Result(func(i []tir.Expr) tir.Expr {
		point := append([]tir.Expr{i[0]}, i[2:]...)
		taps := make([][]gridTap, rank)
		extents := make([]int, rank)
		for axis, n := range spatial {
			taps[axis] = gridTaps(a, places[axis].At(point...), n, d)
			extents[axis] = len(taps[axis])
		}
		var sum tir.Expr
		for _, box := range boxOf(extents) {
			at := append([]tir.Expr{}, i[:2]...)
			var inside, weight tir.Expr
			for axis, k := range box {
				n, _ := tir.AsInt(k)
				t := taps[axis][n]
				at = append(at, t.at)
				inside = tir.All(inside, t.inside)
				switch {
				case t.weight == nil:
				case weight == nil:
					weight = t.weight
				default:
					weight = tir.Times(weight, t.weight)
				}
			}
			e := x.wide(at...)
			if weight != nil {
				e = tir.Times(e, weight)
			}
			if inside != nil {
				e = tir.Sel(inside, e, num(d, 0))
			}
			if sum == nil {
				sum = e
			} else {
				sum = tir.Plus(sum, e)
			}
		}
		return tir.As(s.Out().DType, sum)
	})
}

// gridBounds returns the ends at which reflection turns.
func gridBounds(a *relay.GridSampleAttrs, n int) (lo, hi float64) {
	if a.AlignCorners {
		return 0, float64(n - 1)
	}
	return -0.5, float64(n) - 0.5
}

// gridPlace returns the place along an axis of extent n of a normalised coordinate, moved inside as the padding mode
// says.
func gridPlace(a *relay.GridSampleAttrs, v tir.Expr, n int) tir.Expr {
	at := tir.Times(tir.Minus(tir.Times(tir.Plus(v, like(v, 1)), like(v, float64(n))), like(v, 1)), like(v, 0.5))
	if a.AlignCorners {
		at = tir.Times(tir.Times(tir.Plus(v, like(v, 1)), like(v, 0.5)), like(v, float64(n-1)))
	}
	if a.Method == "nearest" {
		at = fn(tir.Round, at)
	}
	lo, hi := gridBounds(a, n)
	outside := either(tir.Lt(at, like(v, lo)), tir.Gt(at, like(v, hi)))
	none := fn(tir.IsNaN, at)
	switch a.PaddingMode {
	case "border":
		at = tir.Sel(outside, tir.Maximum(tir.Minimum(at, like(v, float64(n-1))), like(v, 0)), at)
	case "reflection":
		at = tir.Sel(outside, mirrored(at, lo, hi), at)
	}
	at = tir.Sel(none, like(v, -2), at)
	return tir.Maximum(tir.Minimum(at, like(v, float64(n+4))), like(v, -4))
}

// mirrored reflects v at lo and hi until it lies between them.
func mirrored(v tir.Expr, lo, hi float64) tir.Expr {
	size := hi - lo
	if size <= 0 {
		return like(v, lo)
	}
	d := fn(tir.FloatMod, fn(tir.Abs, tir.Minus(v, like(v, lo))), like(v, 2*size))
	at := tir.Plus(tir.Minimum(d, tir.Minus(like(v, 2*size), d)), like(v, lo))
	return tir.Sel(fn(tir.IsInf, v), like(v, lo), at)
}

// gridTap is one element that a sample reads along an axis.
type gridTap struct {
	at     tir.Expr
	weight tir.Expr // nil: 1
	inside tir.Expr // nil: always
}

// gridTaps returns the taps of a place along an axis of extent n, weights in type d.
func gridTaps(a *relay.GridSampleAttrs, at tir.Expr, n int, d tensor.DType) []gridTap {
	floor := fn(tir.Floor, at)
	frac := tir.Minus(at, floor)
	tap := func(k int, weight tir.Expr) gridTap {
		place := tir.Plus(floor, like(at, float64(k)))
		t := gridTap{at: toIndex(place)}
		if weight != nil {
			t.weight = tir.As(d, weight)
		}
		switch a.PaddingMode {
		case "zeros":
			t.inside = within(t.at, n)
		case "reflection":
			lo, hi := gridBounds(a, n)
			outside := either(tir.Lt(place, like(at, 0)), tir.Gt(place, like(at, float64(n-1))))
			t.at = toIndex(tir.Sel(outside, mirrored(place, lo, hi), place))
		}
		t.at = clampedTo(t.at, n)
		return t
	}
	switch a.Method {
	case "nearest":
		return []gridTap{tap(0, nil)}
	case "bilinear":
		return []gridTap{tap(0, tir.Minus(like(at, 1), frac)), tap(1, frac)}
	}
	var list []gridTap
	for k := -1; k <= 2; k++ {
		list = append(list, tap(k, keys(fn(tir.Abs, tir.Minus(frac, like(at, float64(k)))), k == 0 || k == 1)))
	}
	return list
}

// keys is the cubic kernel of Keys with a = −0.75 at distance x, which is at most 1 for the two near taps and from 1 to 2
// for the others.
func keys(x tir.Expr, near bool) tir.Expr {
	const a = -0.75
	c := []float64{a + 2, -(a + 3), 0, 1}
	if !near {
		c = []float64{a, -5 * a, 8 * a, -4 * a}
	}
	y := like(x, c[0])
	for _, k := range c[1:] {
		y = tir.Plus(tir.Times(y, x), like(x, k))
	}
	return y
}
