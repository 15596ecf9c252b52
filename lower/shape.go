package lower

import (
	"github.com/texel-ml/texel/relay"
	"github.com/texel-ml/texel/tensor"
	"github.com/texel-ml/texel/tir"
)

// Operators that rearrange elements are index maps: out[i] = data[map(i)].
var shapeRules = map[string]OpRule{
	"reshape": lowerReshape, "transpose": lowerTranspose, "broadcast": lowerBroadcast, "tile": lowerTile,
	"layout_transform": lowerLayoutTransform, "space_to_depth": lowerSpaceToDepth, "depth_to_space": lowerDepthToSpace,
	"channel_shuffle": lowerChannelShuffle,
}

// moved defines out[i] = data[index(i)].
func moved(s *Site, index func(i []tir.Expr) []tir.Expr) ([]Operand, error) {
	return s.Result(func(i []tir.Expr) tir.Expr { return s.In[0].At(index(i)...) })
}

func lowerReshape(s *Site) ([]Operand, error) {
	return moved(s, func(i []tir.Expr) []tir.Expr { return reshaped(s.In[0].Shape, s.Out().Shape, i) })
}

// reshaped returns the index in shape from of the element that has index i in shape to. Axes are matched in groups of
// equal size, so that quotients and remainders appear only where axes are really cut or joined.
func reshaped(from, to tensor.Shape, i []tir.Expr) []tir.Expr {
	out := zeros(len(from))
	if from.Elems() == 0 {
		return out
	}
	for a, b := 0, 0; a < len(from) && b < len(to); {
		endA, endB := a+1, b+1
		sizeA, sizeB := from[a], to[b]
		for sizeA != sizeB {
			if sizeA < sizeB {
				sizeA *= from[endA]
				endA++
			} else {
				sizeB *= to[endB]
				endB++
			}
		}
		regroup(out[a:endA], from[a:endA], to[b:endB], i[b:endB])
		a, b = endA, endB
	}
	return out
}

// regroup fills out with the index in shape from, of as many elements as shape to, of the element i of to.
func regroup(out []tir.Expr, from, to tensor.Shape, i []tir.Expr) {
	var linear tir.Expr = tir.I(0)
	for n, step := range to.Strides() {
		if to[n] != 1 {
			linear = tir.Plus(linear, scaled(i[n], step))
		}
	}
	size := from.Elems()
	for n, step := range from.Strides() {
		e := floorDiv(linear, step)
		if from[n]*step != size {
			e = floorMod(e, from[n])
		}
		if from[n] == 1 {
			e = tir.I(0)
		}
		out[n] = e
	}
}

func lowerTranspose(s *Site) ([]Operand, error) {
	axes := relay.Permutation(attrs[relay.TransposeAttrs](s).Axes, len(s.Out().Shape))
	return moved(s, func(i []tir.Expr) []tir.Expr {
		from := make([]tir.Expr, len(i))
		for n, axis := range axes {
			from[axis] = i[n]
		}
		return from
	})
}

// lowerBroadcast defines broadcast_to and full.
func lowerBroadcast(s *Site) ([]Operand, error) {
	if x := s.In[0]; x.Shape.Elems() == 1 {
		return s.Result(func([]tir.Expr) tir.Expr { return x.first() })
	}
	return moved(s, func(i []tir.Expr) []tir.Expr { return i })
}

// lowerTile defines tile and repeat.
func lowerTile(s *Site) ([]Operand, error) {
	from, to := s.In[0].Shape, s.Out().Shape
	if a, repeat := s.Call.Attrs.(*relay.RepeatAttrs); repeat {
		axis := relay.NormalAxis(a.Axis, len(from))
		return moved(s, func(i []tir.Expr) []tir.Expr { return with(i, axis, floorDiv(i[axis], max(a.Repeats, 1))) })
	}
	return moved(s, func(i []tir.Expr) []tir.Expr {
		idx := append([]tir.Expr{}, i[len(to)-len(from):]...)
		for n, extent := range from {
			if at := len(to) - len(from) + n; to[at] != extent && extent > 0 {
				idx[n] = floorMod(idx[n], extent)
			}
		}
		return idx
	})
}

// lowerLayoutTransform reads 0 where the result's blocks reach past the true extent.
func lowerLayoutTransform(s *Site) ([]Operand, error) {
	a := attrs[relay.LayoutTransformAttrs](s)
	src, dst := tensor.MustLayout(a.SrcLayout), tensor.MustLayout(a.DstLayout)
	x := s.In[0]
	return s.Result(func(i []tir.Expr) tir.Expr {
		at := logicalIndex(dst, i)
		var inside tir.Expr
		for n := range len(src.Letters()) {
			letter := src.Letters()[n]
			extent := src.Extent(x.Shape, letter)
			if letter == 'C' && a.Channels != 0 {
				extent = a.Channels
			}
			if dst.Extent(s.Out().Shape, letter) > extent {
				inside = tir.All(inside, tir.Lt(at[letter], tir.I(extent)))
			}
		}
		read := x.At(physicalIndex(src, at)...)
		if inside == nil {
			return read
		}
		return tir.Sel(inside, read, num(x.DType, 0))
	})
}

// blockAxes returns the positions of the channels, rows and columns in a layout without blocks.
func blockAxes(layout string) (c, h, w int) {
	l := tensor.MustLayout(layout)
	return l.Index('C'), l.Index('H'), l.Index('W')
}

func lowerSpaceToDepth(s *Site) ([]Operand, error) {
	a := attrs[relay.BlockAttrs](s)
	c, h, w := blockAxes(a.Layout)
	b, channels := a.BlockSize, s.In[0].Shape[c]
	return moved(s, func(i []tir.Expr) []tir.Expr {
		cell, channel := floorDiv(i[c], max(channels, 1)), floorMod(i[c], max(channels, 1))
		if a.Mode == "CRD" {
			cell, channel = floorMod(i[c], b*b), floorDiv(i[c], b*b)
		}
		idx := with(i, c, channel)
		idx[h] = tir.Plus(scaled(i[h], b), floorDiv(cell, b))
		idx[w] = tir.Plus(scaled(i[w], b), floorMod(cell, b))
		return idx
	})
}

func lowerDepthToSpace(s *Site) ([]Operand, error) {
	a := attrs[relay.BlockAttrs](s)
	c, h, w := blockAxes(a.Layout)
	b, channels := a.BlockSize, s.Out().Shape[c]
	return moved(s, func(i []tir.Expr) []tir.Expr {
		cell := tir.Plus(scaled(floorMod(i[h], b), b), floorMod(i[w], b))
		idx := with(i, c, tir.Plus(scaled(cell, channels), i[c]))
		if a.Mode == "CRD" {
			idx[c] = tir.Plus(scaled(i[c], b*b), cell)
		}
		idx[h], idx[w] = floorDiv(i[h], b), floorDiv(i[w], b)
		return idx
	})
}

func lowerChannelShuffle(s *Site) ([]Operand, error) {
	a := attrs[relay.ChannelShuffleAttrs](s)
	axis := relay.NormalAxis(a.Axis, len(s.Out().Shape))
	each := s.Out().Shape[axis] / a.Groups
	return moved(s, func(i []tir.Expr) []tir.Expr {
		group, c := floorMod(i[axis], a.Groups), floorDiv(i[axis], a.Groups)
		return with(i, axis, tir.Plus(scaled(group, each), c))
	})
}
