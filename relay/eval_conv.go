package relay

import (
	"github.com/texel-ml/texel/tensor"
)

// window is a sliding window over three spatial axes; images with fewer have leading extents of 1.
type window struct {
	in, out, size, stride, begin, end, dilation [3]int
}

// newWindow fills a window from attribute lists of one to three entries.
func newWindow(in, out, size tensor.Shape, stride, padding, dilation []int) window {
	w := window{in: [3]int{1, 1, 1}, out: [3]int{1, 1, 1}, size: [3]int{1, 1, 1}, stride: [3]int{1, 1, 1}, dilation: [3]int{1, 1, 1}}
	n := len(in)
	for i := range n {
		k := 3 - n + i
		w.in[k], w.out[k], w.size[k], w.stride[k], w.dilation[k] = in[i], out[i], size[i], stride[i], dilation[i]
		w.begin[k], w.end[k] = padding[i], padding[n+i]
	}
	return w
}

func (w *window) inElems() int   { return w.in[0] * w.in[1] * w.in[2] }
func (w *window) outElems() int  { return w.out[0] * w.out[1] * w.out[2] }
func (w *window) sizeElems() int { return w.size[0] * w.size[1] * w.size[2] }

// pointwise reports whether the window is one element that visits each input element once, in order.
func (w *window) pointwise() bool {
	return w.sizeElems() == 1 && w.in == w.out && w.stride == [3]int{1, 1, 1}
}

// valid returns which outputs along an axis read inside the input at tap k of the window: [lo, hi).
func (w *window) valid(axis, k int) (lo, hi int) {
	at := k*w.dilation[axis] - w.begin[axis] // what output 0 reads
	s := w.stride[axis]
	if at < 0 {
		lo = (-at + s - 1) / s
	}
	if at >= w.in[axis] {
		return 0, 0
	}
	hi = (w.in[axis]-1-at)/s + 1
	return lo, min(hi, w.out[axis])
}

func evalConv(s *EvalSite) (Value, error) {
	a := s.Attrs.(*ConvAttrs)
	p, err := newConvProblem(s, a.DataLayout, a.KernelLayout, a.OutLayout)
	if err != nil {
		return nil, err
	}
	n, c, o := p.data.Shape[0], p.data.Shape[1], p.out.Shape[1] // the weight's last block may be padded
	w := newWindow(p.data.Shape[2:], p.out.Shape[2:], p.kernel.Shape[2:], a.Strides, a.Padding, a.Dilation)
	if p.out.F != nil {
		convolve(s, p.out.F, p.data.F, p.kernel.F, n, c, o, a.Groups, &w)
	} else {
		convolve(s, p.out.I, p.data.I, p.kernel.I, n, c, o, a.Groups, &w)
	}
	return p.finish(s)
}

func evalConvTranspose(s *EvalSite) (Value, error) {
	a := s.Attrs.(*ConvTransposeAttrs)
	p, err := newConvProblem(s, a.DataLayout, a.KernelLayout, a.OutLayout)
	if err != nil {
		return nil, err
	}
	n, c, o := p.data.Shape[0], p.data.Shape[1], p.out.Shape[1]
	// The window walks over the result and each of its positions is one element of data.
	w := newWindow(p.out.Shape[2:], p.data.Shape[2:], p.kernel.Shape[2:], a.Strides, a.Padding, a.Dilation)
	if p.out.F != nil {
		convolveTransposed(s, p.out.F, p.data.F, p.kernel.F, n, c, o, a.Groups, &w)
	} else {
		convolveTransposed(s, p.out.I, p.data.I, p.kernel.I, n, c, o, a.Groups, &w)
	}
	return p.finish(s)
}

// convProblem is a convolution with its operands brought to NC and OI layouts.
type convProblem struct {
	data, kernel, out *tensor.Wide
	plain, outLayout  tensor.Layout
}

func newConvProblem(s *EvalSite, dataLayout, kernelLayout, outLayout string) (*convProblem, error) {
	if outLayout == "" {
		outLayout = dataLayout
	}
	data, kernel := tensor.MustLayout(dataLayout), tensor.MustLayout(kernelLayout)
	spatial := spatialLetters[len(data.Letters())-2]
	p := &convProblem{plain: tensor.MustLayout("NC" + spatial), outLayout: tensor.MustLayout(outLayout)}
	var err error
	if p.data, err = canonical(s.Wide(0), data, p.plain); err != nil {
		return nil, err
	}
	if p.kernel, err = canonical(s.Wide(1), kernel, tensor.MustLayout("OI"+spatial)); err != nil {
		return nil, err
	}
	t := s.Type.(*TensorType)
	shape, err := p.outLayout.Logical(t.Shape, p.plain.Letters())
	if err != nil {
		return nil, err
	}
	p.out = tensor.NewWide(p.data.DType, shape)
	return p, nil
}

// finish returns the result in its layout and element type.
func (p *convProblem) finish(s *EvalSite) (Value, error) {
	out, err := canonical(p.out, p.plain, p.outLayout)
	if err != nil {
		return nil, err
	}
	return retype(out, s.Type.(*TensorType).DType), nil
}

// retype returns w as another element type: integers are wrapped, floats keep their value.
func retype(w *tensor.Wide, d tensor.DType) *tensor.Wide {
	if d.IsFloat() && w.I != nil {
		out := tensor.NewWide(d, w.Shape)
		for i, v := range w.I {
			out.F[i] = intToFloat(w.DType, v)
		}
		return out
	}
	if !d.IsFloat() && w.F != nil {
		out := tensor.NewWide(d, w.Shape)
		for i, v := range w.F {
			out.I[i] = floatToInt(d, v)
		}
		return out
	}
	for i, v := range w.I {
		w.I[i] = tensor.Wrap(d, v)
	}
	return &tensor.Wide{DType: d, Shape: w.Shape, F: w.F, I: w.I}
}

// convolve computes out (n, o, w.out) from data (n, c, w.in) and kernel (o, c/groups, w.size): for each image and
// group the windows are laid out as columns, and the kernel is multiplied with them.
func convolve[T number](s *EvalSite, out, data, kernel []T, n, c, o, groups int, w *window) {
	const maxColumns = 1 << 20 // elements of the columns of one part
	in, outN, taps := w.inElems(), w.outElems(), w.sizeElems()
	cg, og := c/groups, o/groups
	k := cg * taps
	rows := w.out[0] * w.out[1] // of outputs
	part := min(rows, max(1, maxColumns/max(k*w.out[2], 1)))
	parts := 0
	if rows > 0 {
		parts = (rows + part - 1) / part
	}
	s.parallel(n*groups*parts, og*k*part*w.out[2], func(begin, end int) {
		var columns []T
		for job := begin; job < end; job++ {
			image, g, first := job/(groups*parts), job/parts%groups, job%parts*part
			count := min(part, rows-first)
			src := data[(image*c+g*cg)*in:][:cg*in]
			weights := kernel[g*og*k:][:og*k]
			width := count * w.out[2]
			var b []T
			stride := width
			if w.pointwise() {
				b, stride = src[first*w.out[2]:], in
			} else {
				if columns == nil {
					columns = make([]T, k*part*w.out[2])
				}
				w.columns(func(row, at, from, n, step int) {
					dst := columns[row*width+at:][:n]
					for i := range dst {
						dst[i] = src[from+i*step]
					}
				}, func(row int) { clear(columns[row*width:][:width]) }, cg, first, count)
				b = columns
			}
			for m := range og {
				dst := out[(image*o+g*og+m)*outN+first*w.out[2]:][:width]
				multiplyRow(dst, weights[m*k:][:k], b, stride)
			}
		}
	})
}

// columns walks over the matrix of windows of outputs in rows first … first+count: row r = (channel, tap) holds, for
// each output, what that tap reads. clear is called for each row, then run for its stretches inside the input.
func (w *window) columns(run func(row, at, from, n, step int), clear func(row int), channels, first, count int) {
	taps, in := w.sizeElems(), w.inElems()
	for tap := range taps {
		kz, ky, kx := tap/(w.size[1]*w.size[2]), tap/w.size[2]%w.size[1], tap%w.size[2]
		zlo, zhi := w.valid(0, kz)
		ylo, yhi := w.valid(1, ky)
		xlo, xhi := w.valid(2, kx)
		for c := range channels {
			row := c*taps + tap
			clear(row)
			for r := range count {
				z, y := (first+r)/w.out[1], (first+r)%w.out[1]
				if z < zlo || z >= zhi || y < ylo || y >= yhi || xlo >= xhi {
					continue
				}
				from := ((z*w.stride[0]+kz*w.dilation[0]-w.begin[0])*w.in[1]+y*w.stride[1]+ky*w.dilation[1]-w.begin[1])*w.in[2] +
					xlo*w.stride[2] + kx*w.dilation[2] - w.begin[2]
				run(row, r*w.out[2]+xlo, c*in+from, xhi-xlo, w.stride[2])
			}
		}
	}
}

// convolveTransposed computes out (n, o, w.in) from data (n, c, w.out) and kernel (c, o/groups, w.size) given as
// (o/groups, c, w.size): each element of data adds its multiple of the kernel at its window.
func convolveTransposed[T number](s *EvalSite, out, data, kernel []T, n, c, o, groups int, w *window) {
	full, small, taps := w.inElems(), w.outElems(), w.sizeElems()
	cg, og := c/groups, o/groups
	s.parallel(n*o, cg*taps*small, func(begin, end int) {
		for job := begin; job < end; job++ {
			image, m := job/o, job%o
			g := m / og
			dst := out[job*full:][:full]
			for ci := range cg {
				ch := g*cg + ci
				src := data[(image*c+ch)*small:][:small]
				weights := kernel[(m%og*c+ch)*taps:][:taps]
				w.columns(func(row, at, from, n, step int) {
					v := weights[row]
					for i := range n {
						dst[from+i*step] += v * src[at+i]
					}
				}, func(int) {}, 1, 0, w.out[0]*w.out[1])
			}
		}
	})
}

// multiplyRow adds to dst the rows of b, each a multiple stride apart, weighted by a.
func multiplyRow[T number](dst, a, b []T, stride int) {
	n := len(dst)
	k := 0
	for ; k+4 <= len(a); k += 4 {
		a0, a1, a2, a3 := a[k], a[k+1], a[k+2], a[k+3]
		b0, b1, b2, b3 := b[k*stride:][:n], b[(k+1)*stride:][:n], b[(k+2)*stride:][:n], b[(k+3)*stride:][:n]
		for i := range dst {
			dst[i] += a0*b0[i] + a1*b1[i] + a2*b2[i] + a3*b3[i]
		}
	}
	for ; k < len(a); k++ {
		v := a[k]
		for i, x := range b[k*stride:][:n] {
			dst[i] += v * x
		}
	}
}

func evalDense(s *EvalSite) (Value, error) {
	x, w := s.Wide(0), s.Wide(1)
	shape := s.Type.(*TensorType).Shape
	k, rows := x.Shape[len(x.Shape)-1], x.Shape[:len(x.Shape)-1].Elems()
	if l := s.Attrs.(*DenseAttrs).WeightLayout; l != "" {
		var err error
		if w, err = canonical(w, tensor.MustLayout(l), tensor.MustLayout("NK")); err != nil {
			return nil, err
		}
	}
	if units := shape[len(shape)-1]; w.Shape[0] > units { // its last block is padded
		c := *w
		c.Shape = tensor.Shape{units, k}
		if c.F != nil {
			c.F = c.F[:units*k]
		} else {
			c.I = c.I[:units*k]
		}
		w = &c
	}
	x = &tensor.Wide{DType: x.DType, Shape: tensor.Shape{rows, k}, F: x.F, I: x.I}
	return evalProduct(s, x, w, false, true, tensor.Shape{rows, w.Shape[0]})
}

func evalMatmul(s *EvalSite) (Value, error) {
	a := s.Attrs.(*MatmulAttrs)
	return evalProduct(s, s.Wide(0), s.Wide(1), a.TransposeA, a.TransposeB, s.Type.(*TensorType).Shape)
}

// evalProduct multiplies matrices with broadcast batch axes; shape is the result's, which may be flattened.
func evalProduct(s *EvalSite, a, b *tensor.Wide, transposeA, transposeB bool, shape tensor.Shape) (Value, error) {
	if transposeA {
		a = swapLast(a)
	}
	if transposeB {
		b = swapLast(b)
	}
	out := tensor.NewWide(a.DType, shape)
	if out.F != nil {
		product(s, out.F, a.F, b.F, a.Shape, b.Shape, shape)
	} else {
		product(s, out.I, a.I, b.I, a.Shape, b.Shape, shape)
	}
	t := s.Type.(*TensorType)
	out.Shape = t.Shape
	return retype(out, t.DType), nil
}

func product[T number](s *EvalSite, out, a, b []T, sa, sb, shape tensor.Shape) {
	rank := len(shape)
	m, columns, k := shape[rank-2], shape[rank-1], sa[len(sa)-1]
	batch := shape[:rank-2]
	var starts [][2]int // offsets of the matrices of each batch
	strides := [][]int{broadcastStrides(sa[:len(sa)-2], batch), broadcastStrides(sb[:len(sb)-2], batch)}
	eachRow(batch, strides, func(_, n int, from []int) {
		for i := range n {
			starts = append(starts, [2]int{(from[0] + i*lastStride(strides[0])) * m * k, (from[1] + i*lastStride(strides[1])) * k * columns})
		}
	})
	s.parallel(len(starts)*m, columns*k, func(begin, end int) {
		for row := begin; row < end; row++ {
			at := starts[row/m]
			multiplyRow(out[row*columns:][:columns], a[at[0]+row%m*k:][:k], b[at[1]:], columns)
		}
	})
}

// swapLast transposes the last two axes.
func swapLast(w *tensor.Wide) *tensor.Wide {
	rank := len(w.Shape)
	shape, tables := w.Shape.Clone(), flat(w.Shape)
	shape[rank-1], shape[rank-2] = shape[rank-2], shape[rank-1]
	tables[rank-1], tables[rank-2] = tables[rank-2], tables[rank-1]
	out := tensor.NewWide(w.DType, shape)
	pick(out, w, shape, tables)
	return out
}
