package lower

import (
	"strings"

	"github.com/texel-ml/texel/relay"
	"github.com/texel-ml/texel/target"
	"github.com/texel-ml/texel/tensor"
	"github.com/texel-ml/texel/tir"
)

var convTransposeRules = map[string]OpRule{"conv_transpose": lowerConvTranspose}

// lowerConvTranspose defines a transposed convolution by what each place of the result gathers. Place y along an axis of
// stride s, dilation d and padding p takes window element k from place x of data where x·s + k·d − p = y. With
// gcd(d, s) = 1 these are the elements k = k₀ + s·j, j = 0, 1, …, with k₀ = ((y + p)·d⁻¹) mod s, and
//
//	x = ⌊(y + p − k₀·d) / s⌋ − j·d
//
// Otherwise every k is tried. Where the channels lie innermost the sum is taken apart by y = q·s + p, so that each phase p
// is a convolution of its own, with a window of every s-th element: a stage with the axes (N, q, p, …, O), in which x is
// q plus what depends on p alone.
func lowerConvTranspose(s *Site) ([]Operand, error) {
	a := attrs[relay.ConvTransposeAttrs](s)
	data, kernel := tensor.MustLayout(a.DataLayout), tensor.MustLayout(a.KernelLayout)
	out := data
	if a.OutLayout != "" {
		out = tensor.MustLayout(a.OutLayout)
	}
	spatial := spatialOf(data)
	x, w := s.In[0], s.In[1]
	d := working(s.Out().DType)
	inputs, outputs := kernel.Extent(w.Shape, 'I')/a.Groups, kernel.Extent(w.Shape, 'O')
	axes := make([]transposedAxis, len(spatial))
	extents := make([]int, 0, len(spatial)+1)
	for n := range spatial {
		l := spatial[n]
		axes[n] = newTransposedAxis(a.Strides[n], a.Dilation[n], a.Padding[n], kernel.Extent(w.Shape, l), data.Extent(x.Shape, l),
			out.Extent(s.Out().Shape, l))
		extents = append(extents, axes[n].taps)
	}
	extents = append(extents, inputs)
	anchor := &Anchor{Kind: "conv_transpose", Weight: w.Tensor}
	apart := phased(out, kernel, axes, a.Groups, s.t)
	if apart && s.widens(x) {
		x = s.widened(x)
		anchor.Pad, anchor.Widens = x.Tensor, true
	}
	if apart && s.widens(w) {
		w = s.widened(w)
		anchor.Panel = w.Tensor
	}
	shape := s.Out().Shape
	if apart {
		shape = tensor.Shape{shape[0]}
		for n, t := range axes {
			shape = append(shape, ceilDiv(s.Out().Shape[n+1], t.stride), t.stride)
		}
		shape = append(shape, outputs)
	}
	sum := s.Reduce(shape, d, extents, num(d, 0), tir.Plus, func(i, r []tir.Expr) tir.Expr {
		var at map[byte]tir.Expr
		if apart {
			at = map[byte]tir.Expr{'N': i[0], 'C': i[len(i)-1]}
		} else {
			at = logicalIndex(out, i)
		}
		o, c := at['C'], r[len(spatial)]
		from := map[byte]tir.Expr{'N': at['N'], 'C': c}
		tap := map[byte]tir.Expr{'I': c, 'O': o}
		if a.Groups > 1 {
			c = tir.Plus(scaled(floorDiv(o, outputs), inputs), c)
			from['C'], tap['I'], tap['O'] = c, c, floorMod(o, outputs)
		}
		var inside tir.Expr
		for n := range spatial {
			l := spatial[n]
			var ok tir.Expr
			if apart {
				from[l], tap[l], ok = axes[n].phase(i[1+2*n], i[2+2*n], r[n])
			} else {
				from[l], tap[l], ok = axes[n].at(at[l], r[n])
			}
			inside = tir.All(inside, ok)
		}
		term := tir.Times(tir.As(d, x.At(physicalIndex(data, from)...)), tir.As(d, w.At(physicalIndex(kernel, tap)...)))
		if inside == nil {
			return term
		}
		return tir.Sel(inside, term, num(d, 0))
	})
	anchor.Stage = sum.Tensor
	s.SetAnchor(anchor)
	if !apart {
		return finish(s, sum, nil)
	}
	return s.Result(func(i []tir.Expr) tir.Expr {
		at := []tir.Expr{i[0]}
		for n, t := range axes {
			at = append(at, floorDiv(i[n+1], t.stride), floorMod(i[n+1], t.stride))
		}
		return tir.As(s.Out().DType, sum.At(append(at, i[len(i)-1])...))
	})
}

// phased reports whether the sum is taken apart by phases: on a processor, with the channels of the result and of the
// weight innermost.
func phased(out, kernel tensor.Layout, axes []transposedAxis, groups int, t *target.Target) bool {
	letters := out.Letters()
	if t.Kind != target.CPU || groups != 1 || !out.Plain() || !kernel.Plain() || letters[0] != 'N' || letters[len(letters)-1] != 'C' ||
		!strings.HasSuffix(kernel.Letters(), "O") {
		return false
	}
	for _, a := range axes {
		if a.inverse == 0 {
			return false
		}
	}
	return true
}

// phase is at for place q·stride + p.
func (t transposedAxis) phase(q, p, j tir.Expr) (from, k, ok tir.Expr) {
	first := floorMod(scaled(offset(p, t.padding), t.inverse), t.stride)
	k = tir.Plus(first, scaled(j, t.stride))
	from = tir.Plus(q, floorDiv(tir.Minus(offset(p, t.padding), scaled(first, t.dilation)), t.stride))
	from = tir.Minus(from, scaled(j, t.dilation))
	return from, k, t.exists(from, k)
}

// exists returns the condition that a place in data and a window element exist; nil: they always do.
func (t transposedAxis) exists(from, k tir.Expr) (ok tir.Expr) {
	if t.window%t.stride != 0 {
		ok = tir.Lt(k, tir.I(t.window))
	}
	if !t.tight {
		ok = tir.All(ok, within(from, t.extent))
	}
	return ok
}

// transposedAxis is one spatial axis of a transposed convolution.
type transposedAxis struct {
	stride, dilation, padding, window, extent int
	inverse                                   int  // of the dilation modulo the stride; 0: there is none
	taps                                      int  // window elements to try for one place
	tight                                     bool // every place of the result has its one element
}

func newTransposedAxis(stride, dilation, padding, window, extent, out int) transposedAxis {
	t := transposedAxis{stride, dilation, padding, window, extent, 0, window, false}
	t.tight = window == stride && dilation == 1 && padding == 0 && out <= extent*stride
	for inverse := 1; inverse <= stride; inverse++ {
		if dilation*inverse%stride == 1%stride {
			t.inverse, t.taps = inverse, ceilDiv(window, stride)
			break
		}
	}
	return t
}

// at returns the place in data and the window element of tap j of place y, and the condition that they exist; nil: always.
func (t transposedAxis) at(y, j tir.Expr) (from, k, ok tir.Expr) {
	if t.inverse == 0 {
		k = j
		reach := tir.Minus(offset(y, t.padding), scaled(k, t.dilation))
		from = floorDiv(reach, t.stride)
		ok = tir.All(tir.Eq(floorMod(reach, t.stride), tir.I(0)), within(from, t.extent))
		return from, k, ok
	}
	first := floorMod(scaled(offset(y, t.padding), t.inverse), t.stride)
	k = tir.Plus(first, scaled(j, t.stride))
	from = tir.Minus(floorDiv(tir.Minus(offset(y, t.padding), scaled(first, t.dilation)), t.stride), scaled(j, t.dilation))
	return from, k, t.exists(from, k)
}
