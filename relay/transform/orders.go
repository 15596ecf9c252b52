package transform

import (
	"cmp"
	"slices"
	"strings"

	"github.com/texel-ml/texel/relay"
	"github.com/texel-ml/texel/tensor"
)

// An order says where the axes of a value lie: axis i of the value in the model is axis at[i] of the value as it is kept.
// Nil is the model's own order. NCHW kept as NHWC is 0, 3, 1, 2.

func order(at []int, rank int) []int {
	if at != nil {
		return at
	}
	plain := make([]int, rank)
	for i := range plain {
		plain[i] = i
	}
	return plain
}

func sameOrder(a, b []int, rank int) bool { return slices.Equal(order(a, rank), order(b, rank)) }

// tidy returns nil for the model's own order.
func tidy(at []int) []int {
	for i, a := range at {
		if a != i {
			return at
		}
	}
	return nil
}

// orderOf returns where the axes of layout old lie in layout now; an empty one leaves them.
func orderOf(old, now string) []int {
	if now == "" {
		return nil
	}
	at := make([]int, len(old))
	for i := range old {
		at[i] = strings.IndexByte(now, old[i])
	}
	return tidy(at)
}

// turnedBy returns the order of a transpose's result whose operand is kept in order at: nothing moves.
func turnedBy(a *relay.TransposeAttrs, at []int, rank int) []int {
	from, out := order(at, rank), make([]int, rank)
	for i := range rank {
		out[i] = from[transposed(a, i, rank)]
	}
	return tidy(out)
}

// turnedBack returns the order of a transpose's operand whose result is kept in order at.
func turnedBack(a *relay.TransposeAttrs, at []int, rank int) []int {
	to, in := order(at, rank), make([]int, rank)
	for i := range rank {
		in[transposed(a, i, rank)] = to[i]
	}
	return tidy(in)
}

// transposed returns which axis of its operand is axis i of a transpose's result.
func transposed(a *relay.TransposeAttrs, i, rank int) int {
	if a.Axes == nil {
		return rank - 1 - i
	}
	return relay.NormalAxis(a.Axes[i], rank)
}

// turn returns the axes of the transpose that takes a value from one order to another.
func turn(from, to []int, rank int) []int {
	from, to = order(from, rank), order(to, rank)
	axes := make([]int, rank)
	for i := range rank {
		axes[to[i]] = from[i]
	}
	return axes
}

// onlyUnitsMove reports whether a transpose leaves the order of the axes longer than 1 as it is, so that memory stays.
func onlyUnitsMove(axes []int, shape tensor.Shape) bool {
	last := -1
	for _, a := range axes {
		if shape[a] == 1 {
			continue
		}
		if a < last {
			return false
		}
		last = a
	}
	return true
}

// reshapedOrder returns the order of a reshape's result whose operand lies in order at, so that memory stays: axes longer than
// 1 follow each other as they do in the operand. Of the others, those in front of the first stay in front, and each lies before
// the longer axis behind it, so that (N, C, W) in N, W, C becomes (N, C, 1, W) in N, H, W, C. It is false where the reshape does more
// than add and take axes of extent 1.
func reshapedOrder(from, to tensor.Shape, at []int) ([]int, bool) {
	var place []int // in the operand, of the axes longer than 1
	var long tensor.Shape
	for i, n := range from {
		if n != 1 {
			place, long = append(place, at[i]), append(long, n)
		}
	}
	// Where each axis goes: by the place of the longer axis that it belongs to, and then as in the model.
	keys, k := make([]int, len(to)), 0
	for i, n := range to {
		switch {
		case n != 1 && (k == len(long) || long[k] != n):
			return nil, false
		case n != 1:
			keys[i] = place[k]
			k++
		case k == 0:
			keys[i] = -1
		case k < len(long):
			keys[i] = place[k]
		default:
			keys[i] = place[k-1]
		}
	}
	if k < len(long) {
		return nil, false
	}
	axes := order(nil, len(to))
	slices.SortStableFunc(axes, func(a, b int) int { return cmp.Compare(keys[a], keys[b]) })
	out := make([]int, len(to))
	for n, axis := range axes {
		out[axis] = n
	}
	return tidy(out), true
}

// kept returns the shape of a value that is kept in an order.
func kept(shape tensor.Shape, at []int) tensor.Shape {
	if at == nil {
		return shape
	}
	out := make(tensor.Shape, len(shape))
	for i, n := range shape {
		out[at[i]] = n
	}
	return out
}

// raised returns a shape with leading axes of extent 1, so that it has the given rank.
func raised(shape tensor.Shape, rank int) tensor.Shape {
	out := make(tensor.Shape, rank)
	for i := range out {
		out[i] = 1
	}
	copy(out[rank-len(shape):], shape)
	return out
}

// relaid returns layout name with its letters in an order.
func relaid(name string, at []int) (string, bool) {
	if len(name) != len(at) || strings.ToUpper(name) != name {
		return "", false
	}
	out := make([]byte, len(at))
	for i := range at {
		out[at[i]] = name[i]
	}
	return string(out), true
}

// inOrder reports whether the spatial letters of a layout stand in the order D, H, W that attribute lists follow.
func inOrder(layout string) bool {
	spatial := strings.Map(func(r rune) rune {
		if r == 'N' || r == 'C' {
			return -1
		}
		return r
	}, layout)
	return strings.HasSuffix("DHW", spatial)
}
