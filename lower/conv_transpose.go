package lower

import (
	"strings"

	"github.com/texel-ml/texel/relay"
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
// so a loop over y that is cut at multiples of s is left without a division. Otherwise every k is tried.
func lowerConvTranspose(s *Site) ([]Operand, error) {
	a := attrs[relay.ConvTransposeAttrs](s)
	data, kernel := tensor.MustLayout(a.DataLayout), tensor.MustLayout(a.KernelLayout)
	out := data
	if a.OutLayout != "" {
		out = tensor.MustLayout(a.OutLayout)
	}
	spatial := strings.Trim(data.Letters(), "NC")
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
	sum := s.Reduce(s.Out().Shape, d, extents, num(d, 0), tir.Plus, func(i, r []tir.Expr) tir.Expr {
		at := logicalIndex(out, i)
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
			from[l], tap[l], ok = axes[n].at(at[l], r[n])
			inside = tir.All(inside, ok)
		}
		term := tir.Times(as(d, x.At(physicalIndex(data, from)...)), as(d, w.At(physicalIndex(kernel, tap)...)))
		if inside == nil {
			return term
		}
		return tir.Sel(inside, term, num(d, 0))
	})
	anchor.Stage = sum.Tensor
	s.SetAnchor(anchor)
	return finish(s, sum, nil)
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
		ok = tir.All(equal(floorMod(reach, t.stride), tir.I(0)), within(from, t.extent))
		return from, k, ok
	}
	first := floorMod(scaled(offset(y, t.padding), t.inverse), t.stride)
	k = tir.Plus(first, scaled(j, t.stride))
	from = tir.Minus(floorDiv(tir.Minus(offset(y, t.padding), scaled(first, t.dilation)), t.stride), scaled(j, t.dilation))
	if t.window%t.stride != 0 {
		ok = less(k, tir.I(t.window))
	}
	if !t.tight {
		ok = tir.All(ok, within(from, t.extent))
	}
	return from, k, ok
}
