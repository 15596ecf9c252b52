package lower

import (
	"strings"

	"github.com/texel-ml/texel/relay"
	"github.com/texel-ml/texel/target"
	"github.com/texel-ml/texel/tensor"
	"github.com/texel-ml/texel/tir"
)

var convRules = map[string]OpRule{"conv": lowerConv}

// lowerConv defines a convolution of one to three spatial axes, any layout, stride, dilation and grouping:
//
//	out[n, o, x] = Σ_{k, c} data[n, g·C/G + c, x·stride + k·dilation − pad] · weight[o, c, k]
//
// The reduce variables are the window's axes, then the channel. A depthwise convolution leaves out the
// taps outside its operand; others read from a padded copy of their operand, which the schedule keeps small. An operand that is computed on the
// way is held in the same place.
func lowerConv(s *Site) ([]Operand, error) {
	a := s.Call.Attrs.(*relay.ConvAttrs)
	data, kernel := tensor.MustLayout(a.DataLayout), tensor.MustLayout(a.KernelLayout)
	out := data
	if a.OutLayout != "" {
		out = tensor.MustLayout(a.OutLayout)
	}
	spatial := spatialOf(data)
	x, w := s.In[0], s.In[1]
	perGroup := kernel.Extent(w.Shape, 'I')
	channels := out.Extent(s.Out().Shape, 'C')
	each := channels / a.Groups
	depthwise := a.Groups > 1 && perGroup == 1
	extents := make([]int, 0, len(spatial)+1)
	for _, l := range spatial {
		extents = append(extents, kernel.Extent(w.Shape, byte(l)))
	}
	extents = append(extents, perGroup)
	padded := hasPadding(a.Padding)
	d := working(s.Out().DType)
	source, begin, strides := x, a.Padding[:len(spatial)], a.Strides
	anchor := &Anchor{Kind: "conv", Block: kernel.Block('O')}
	if depthwise {
		anchor.Kind = "depthwise"
	} else if padded {
		source = padSpatial(s, x, data, spatial, a.Padding)
		anchor.Pad = source.Tensor
		begin = make([]int, len(spatial))
	} else if s.widens(x) {
		source, strides = widenedData(s, x, data, spatial, extents, a.Strides)
		anchor.Pad, anchor.Widens = source.Tensor, true // once a block, not once a use
	} else if x.Tensor != nil && !x.Tensor.IsInput() && !x.Tensor.IsCopy() {
		anchor.Pad = x.Tensor // computed on the way: once a block, not once a use
	}
	weight := s.Tensor(1)
	tapped := w
	if s.widens(w) && anchor.Block > 1 && !depthwise {
		tapped = s.widened(w)
		anchor.Panel = tapped.Tensor
	}
	position := func(i, r []tir.Expr, n int) tir.Expr {
		pos := tir.Plus(tir.Times(logicalIndex(out, i)[spatial[n]], tir.I(strides[n])), tir.Times(r[n], tir.I(a.Dilation[n])))
		return tir.Minus(pos, tir.I(begin[n]))
	}
	shape := s.Out().Shape
	if anchor.Kind == "conv" && anchor.Block > 1 && a.Groups == 1 && out.Index('C') == len(shape)-1 {
		shape = wholeVectors(s, shape, kernel.Extent(w.Shape, 'O'))
	}
	result := s.Reduce(shape, d, extents, tir.Const(d, 0), tir.Plus, func(i, r []tir.Expr) tir.Expr {
		at := logicalIndex(out, i)
		channel := r[len(spatial)]
		o := at['C']
		if a.Groups > 1 {
			channel = tir.Plus(tir.Times(tir.Bin(tir.FloorDiv, o, tir.I(each)), tir.I(perGroup)), channel)
		}
		from := map[byte]tir.Expr{'N': at['N'], 'C': channel}
		tap := map[byte]tir.Expr{'O': o, 'I': r[len(spatial)]}
		for n := range spatial {
			from[spatial[n]], tap[spatial[n]] = position(i, r, n), r[n]
		}
		return tir.Times(tir.As(d, source.At(physicalIndex(data, from)...)), tir.As(d, tapped.At(physicalIndex(kernel, tap)...)))
	})
	if depthwise && padded {
		result.Tensor.Where(func(i, r []tir.Expr) tir.Expr {
			var inside tir.Expr
			for n := range spatial {
				inside = tir.All(inside, within(position(i, r, n), data.Extent(x.Shape, spatial[n])))
			}
			return inside
		})
	}
	anchor.Stage, anchor.Weight, anchor.Data = result.Tensor, weight, source.Tensor
	s.SetAnchor(anchor)
	return s.accumulated(result), nil
}

// accumulated returns the result of an operator whose sum is wider than its result: in shape, padded to whole vectors, or
// in type.
func (s *Site) accumulated(sum Operand) []Operand {
	sum.Shape = s.Out().Shape
	if d := s.Out().DType; sum.DType != d {
		wide := sum
		sum = s.Compute(wide.Shape, d, func(i []tir.Expr) tir.Expr { return tir.As(d, wide.At(i...)) })
	}
	return []Operand{sum}
}

// wholeVectors returns the shape in which a product with a packed weight is accumulated: its last axis goes up to whole
// vectors, as far as the weight's padding reaches. A short vector costs as much as a whole one, and three short ones more
// registers than two whole ones.
func wholeVectors(s *Site, shape tensor.Shape, packed int) tensor.Shape {
	last := len(shape) - 1
	lanes := s.t.Lanes(working(s.Out().DType).Bits())
	if s.t.Kind != target.CPU || lanes <= 1 {
		return shape
	}
	shape = shape.Clone()
	shape[last] = max(shape[last], min(packed, (shape[last]+lanes-1)/lanes*lanes))
	return shape
}

// widenedData adds a stage that holds x in the type in which it is computed, and returns it with the strides from one place of
// the result to the next there: an axis along which the window is 1 keeps only the places that are read.
func widenedData(s *Site, x Operand, layout tensor.Layout, spatial string, window, strides []int) (Operand, []int) {
	shape, step := x.Shape.Clone(), make([]int, len(x.Shape))
	strides = append([]int(nil), strides...)
	for n := range step {
		step[n] = 1
	}
	for n := range spatial {
		if at := layout.Index(spatial[n]); window[n] == 1 {
			shape[at], step[at], strides[n] = (shape[at]-1)/strides[n]+1, strides[n], 1
		}
	}
	return s.Compute(shape, working(x.DType), func(i []tir.Expr) tir.Expr {
		from := make([]tir.Expr, len(i))
		for n := range i {
			from[n] = scaled(i[n], step[n])
		}
		return x.wide(from...)
	}), strides
}

// widens reports whether an operand should be widened by a stage of its own, once a block and not once a use.
func (s *Site) widens(x Operand) bool { return s.t.Kind == target.CPU && working(x.DType) != x.DType }

// widened adds a stage that holds x in the type in which it is computed.
func (s *Site) widened(x Operand) Operand {
	return s.Compute(x.Shape, working(x.DType), func(i []tir.Expr) tir.Expr { return x.wide(i...) })
}

// spatialOf returns the spatial axes of a layout in the order in which attributes list them, wherever they stand in it.
func spatialOf(l tensor.Layout) string {
	letters := l.Letters()
	return strings.Map(func(r rune) rune {
		if strings.ContainsRune(letters, r) {
			return r
		}
		return -1
	}, "DHW")
}

func hasPadding(padding []int) bool {
	for _, p := range padding {
		if p != 0 {
			return true
		}
	}
	return false
}

// within returns 0 ≤ pos < extent.
func within(pos tir.Expr, extent int) tir.Expr {
	return tir.Bin(tir.And, tir.Bin(tir.GE, pos, tir.I(0)), tir.Bin(tir.LT, pos, tir.I(extent)))
}

// padSpatial adds a stage that holds x with zeros around its spatial axes.
func padSpatial(s *Site, x Operand, layout tensor.Layout, spatial string, padding []int) Operand {
	shape := x.Shape.Clone()
	for n := range spatial {
		at := layout.Index(spatial[n])
		shape[at] += padding[n] + padding[n+len(spatial)]
	}
	d := x.DType
	if s.t.Kind == target.CPU {
		d = working(d) // widened once, where it is read many times
	}
	return s.Compute(shape, d, func(i []tir.Expr) tir.Expr {
		from := append([]tir.Expr{}, i...)
		var inside tir.Expr
		for n := range spatial {
			at := layout.Index(spatial[n])
			from[at] = tir.Minus(i[at], tir.I(padding[n]))
			inside = tir.All(inside, within(from[at], x.Shape[at]))
		}
		return tir.Sel(inside, tir.As(d, x.At(from...)), tir.Const(d, 0))
	})
}

// logicalIndex returns, for each axis of a layout, the logical index that physical indices stand for.
func logicalIndex(l tensor.Layout, physical []tir.Expr) map[byte]tir.Expr {
	at := map[byte]tir.Expr{}
	for n, axis := range l.Axes() {
		if axis.Factor == 0 {
			at[axis.Letter] = tir.Plus(tir.I(0), physical[n])
			continue
		}
		at[axis.Letter] = tir.Plus(tir.Times(at[axis.Letter], tir.I(axis.Factor)), physical[n])
	}
	return at
}

// physicalIndex returns the indices at which a layout keeps the element with the given logical index.
func physicalIndex(l tensor.Layout, at map[byte]tir.Expr) []tir.Expr {
	axes := l.Axes()
	out := make([]tir.Expr, len(axes))
	step := map[byte]int{}
	for n := len(axes) - 1; n >= 0; n-- {
		letter, factor := axes[n].Letter, axes[n].Factor
		if step[letter] == 0 {
			step[letter] = 1
		}
		e := tir.Bin(tir.FloorDiv, at[letter], tir.I(step[letter]))
		if factor > 0 {
			e = tir.Bin(tir.FloorMod, e, tir.I(factor))
			step[letter] *= factor
		}
		out[n] = e
	}
	return out
}
