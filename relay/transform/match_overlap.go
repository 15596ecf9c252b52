package transform

import (
	"slices"

	"github.com/texel-ml/texel/relay"
)

// What recognize-non-max-suppression asks about intersection over union.

// corner is one coordinate of all boxes: column of a tensor along axis, or a vector of its own (axis -1).
type corner struct {
	of           relay.Expr
	axis, column int
}

// cornerOf returns the coordinate that a vector of n numbers is.
func cornerOf(e relay.Expr, n int) (corner, bool) {
	e = unshaped(e)
	if size(e) != n {
		return corner{}, false
	}
	if s, axis, ok := columnOf(e); ok {
		return corner{s.x, axis, s.begin}, true
	}
	return corner{e, -1, 0}, true
}

// columnOf matches one place along an axis of something larger.
func columnOf(e relay.Expr) (s stretch, axis int, ok bool) {
	t := relay.Tensor(e)
	if t == nil {
		return s, 0, false
	}
	for axis := range t.Shape {
		if t.Shape[axis] != 1 {
			continue
		}
		if s, ok := stretchOf(e, axis); ok && relay.Tensor(s.x).Shape[axis] > 1 {
			return s, axis, true
		}
	}
	return s, 0, false
}

// vectorOf makes the vector of a coordinate.
func (b *suppressor) vectorOf(c corner) relay.Expr {
	if c.axis < 0 {
		return c.of
	}
	return b.call("strided_slice", &relay.StridedSliceAttrs{Begin: []int{c.column}, End: []int{c.column + 1}, Axes: []int{c.axis}}, c.of)
}

// picked returns the coordinate of which e is the best box's.
func (s *greedyStep) picked(e relay.Expr) (corner, bool) {
	e = unshaped(e)
	n := size(s.state)
	if size(e) != 1 {
		return corner{}, false
	}
	if c, ok := s.taken(e); ok {
		return cornerOf(c.Args[0], n)
	}
	column, axis, ok := columnOf(e)
	if !ok {
		return corner{}, false
	}
	c, ok := s.taken(unshaped(column.x))
	if !ok {
		return corner{}, false
	}
	// a column of the row that was taken is that column of all boxes: find its axis there
	boxes := relay.Tensor(c.Args[0]).Shape
	rows := relay.NormalAxis(c.Attrs.(*relay.TakeAttrs).Axis, len(boxes))
	wide := relay.Tensor(column.x).Shape[axis]
	for i, d := range boxes {
		if i != rows && d == wide && boxes.Elems() == n*wide && boxes[rows] == n {
			return corner{c.Args[0], i, column.begin}, true
		}
	}
	return corner{}, false
}

// taken matches what is taken at the place of the best box.
func (s *greedyStep) taken(e relay.Expr) (*relay.Call, bool) {
	c, ok := is(e, "take")
	return c, ok && s.isPick(c.Args[1])
}

// both matches f(v, v[best]) for a coordinate v.
func (s *greedyStep) both(e relay.Expr, f string) (c corner, ok bool) {
	if size(e) != size(s.state) {
		return c, false
	}
	ok = commuted(unshaped(e), f, func(a, b relay.Expr) bool {
		all, isVector := cornerOf(a, size(s.state))
		one, isPicked := s.picked(b)
		c = all
		return isVector && isPicked && all == one
	})
	return c, ok
}

// aboveZero matches max(x, 0).
func aboveZero(e relay.Expr) (relay.Expr, bool) {
	e = unshaped(e)
	if c, low, high, ok := clipOf(e); ok && low == 0 && high > 1e30 {
		return c.Args[0], true
	}
	var x relay.Expr
	ok := commuted(e, "maximum", func(a, b relay.Expr) bool {
		x = a
		return near(b, 0)
	})
	return x, ok
}

// shared matches the extent of an intersection along one side: max(min(upper, upper[best]) - max(lower, lower[best]), 0).
func (s *greedyStep) shared(e relay.Expr) (lower, upper corner, ok bool) {
	d, ok := aboveZero(e)
	if !ok {
		return
	}
	c, ok := is(unshaped(d), "subtract")
	if !ok {
		return
	}
	upper, ok = s.both(c.Args[0], "minimum")
	if !ok {
		return
	}
	lower, ok = s.both(c.Args[1], "maximum")
	return
}

// intersection matches the product of both shared extents.
func (s *greedyStep) intersection(e relay.Expr) (lower, upper [2]corner, ok bool) {
	c, ok := is(unshaped(e), "multiply")
	if !ok {
		return
	}
	for k := range 2 {
		if lower[k], upper[k], ok = s.shared(c.Args[k]); !ok {
			return
		}
	}
	return
}

// area matches (upper - lower) of both sides, multiplied; coordinate reads one of them. Sides may be cut at 0, or have to be.
func area(e relay.Expr, lower, upper [2]corner, cut bool, coordinate func(e relay.Expr) (corner, bool)) bool {
	side := func(e relay.Expr, k int) bool {
		if x, ok := aboveZero(e); ok {
			e = x
		} else if cut {
			return false
		}
		c, ok := is(unshaped(e), "subtract")
		if !ok {
			return false
		}
		u, isUpper := coordinate(c.Args[0])
		l, isLower := coordinate(c.Args[1])
		return isUpper && isLower && u == upper[k] && l == lower[k]
	}
	return commuted(unshaped(e), "multiply", func(a, b relay.Expr) bool { return side(a, 0) && side(b, 1) })
}

// union matches area + area[best] - i, the terms in any order, with a summand below what counts to avoid a division by 0.
func (s *greedyStep) union(e, i relay.Expr, lower, upper [2]corner, cut bool) bool {
	const nothing = 1e-8
	all := func(e relay.Expr) (corner, bool) { return cornerOf(e, size(s.state)) }
	plus, minus := sumOf(unshaped(e), 4)
	found := map[string]int{}
	for _, t := range plus {
		v, isNumber := number(t)
		row, isTaken := s.taken(unshaped(t))
		switch {
		case isNumber && v >= 0 && v <= nothing:
		case size(t) == size(s.state) && area(t, lower, upper, cut, all):
			found["all"]++
		case size(t) == 1 && (isTaken && area(row.Args[0], lower, upper, cut, all) || area(t, lower, upper, cut, s.picked)):
			found["best"]++
		default:
			return false
		}
	}
	return found["all"] == 1 && found["best"] == 1 && len(minus) == 1 && unshaped(minus[0]) == unshaped(i)
}

// sumOf takes sums and differences apart, a few levels deep.
func sumOf(e relay.Expr, depth int) (plus, minus []relay.Expr) {
	e = unshaped(e)
	for _, name := range []string{"add", "subtract"} {
		c, ok := is(e, name)
		if !ok || depth == 0 {
			continue
		}
		p, m := sumOf(c.Args[0], depth-1)
		q, n := sumOf(c.Args[1], depth-1)
		if name == "subtract" {
			q, n = n, q
		}
		return slices.Concat(p, q), slices.Concat(m, n)
	}
	return []relay.Expr{e}, nil
}

// overlap matches i / union > threshold and i > union · threshold, c being the comparison. Boxes that are turned inside out
// share nothing, and the quotient says so whatever the sign of their areas; the product does where these are cut at 0.
func (s *greedyStep) overlap(c *relay.Call) (lower, upper [2]corner, threshold float64, ok bool) {
	if size(c) != size(s.state) {
		return
	}
	i, union := relay.Expr(nil), relay.Expr(nil)
	v, isNumber := number(c.Args[1])
	if isNumber {
		q, isQuotient := is(unshaped(c.Args[0]), "divide")
		if !isQuotient {
			return
		}
		i, union, threshold = q.Args[0], q.Args[1], v
	} else {
		x, k, isProduct := times(unshaped(c.Args[1]))
		if !isProduct {
			return
		}
		i, union, threshold = c.Args[0], x, k
	}
	lower, upper, ok = s.intersection(i)
	return lower, upper, threshold, ok && s.union(union, i, lower, upper, !isNumber)
}
