package relay

import (
	"math"

	"github.com/texel-ml/texel/tensor"
)

// poolProblem is a pool with its operand brought to NC layout.
type poolProblem struct {
	data          *tensor.Wide
	shape         tensor.Shape // of the result, in NC layout
	layout, plain tensor.Layout
}

func newPoolProblem(s *EvalSite, layout string, result tensor.Shape) (*poolProblem, error) {
	p := &poolProblem{layout: tensor.MustLayout(layout)}
	letters := ""
	for _, letter := range "NCDHW" {
		if p.layout.Index(byte(letter)) >= 0 {
			letters += string(letter)
		}
	}
	p.plain = tensor.MustLayout(letters)
	var err error
	if p.data, err = canonical(s.Wide(0), p.layout, p.plain); err != nil {
		return nil, err
	}
	p.shape, err = p.layout.Logical(result, letters)
	return p, err
}

// planes calls f for each plane of the spatial axes, with its part of data and of out.
func planes[T number](s *EvalSite, p *poolProblem, data, out []T, f func(data, out []T, plane int)) {
	in, n := p.data.Shape[2:].Elems(), p.shape[2:].Elems()
	s.parallel(p.shape[0]*p.shape[1], in+n, func(begin, end int) {
		for i := begin; i < end; i++ {
			f(data[i*in:][:in], out[i*n:][:n], i)
		}
	})
}

func (p *poolProblem) window(a *PoolAttrs) window {
	return newWindow(p.data.Shape[2:], p.shape[2:], tensor.Shape(a.PoolSize), a.Strides, a.Padding, a.Dilation)
}

// eachWindow calls f for each output of a plane with the offsets that its window reads inside the input, and cells, the
// number of its cells inside the input and its padding. The slice is reused.
func (w *window) eachWindow(f func(at int, inside []int, cells int)) {
	var inside []int
	at := 0
	for z := range w.out[0] {
		for y := range w.out[1] {
			for x := range w.out[2] {
				inside = inside[:0]
				cells := 0
				origin := [3]int{z*w.stride[0] - w.begin[0], y*w.stride[1] - w.begin[1], x*w.stride[2] - w.begin[2]}
				for kz := range w.size[0] {
					iz := origin[0] + kz*w.dilation[0]
					for ky := range w.size[1] {
						iy := origin[1] + ky*w.dilation[1]
						for kx := range w.size[2] {
							ix := origin[2] + kx*w.dilation[2]
							if iz >= w.in[0]+w.end[0] || iy >= w.in[1]+w.end[1] || ix >= w.in[2]+w.end[2] {
								continue
							}
							cells++
							if iz >= 0 && iz < w.in[0] && iy >= 0 && iy < w.in[1] && ix >= 0 && ix < w.in[2] {
								inside = append(inside, (iz*w.in[1]+iy)*w.in[2]+ix)
							}
						}
					}
				}
				f(at, inside, cells)
				at++
			}
		}
	}
}

func evalMaxPool(s *EvalSite) (Value, error) {
	a, t := s.Attrs.(*PoolAttrs), s.Type.(*TensorType)
	out, _, _, err := maxPool(s, a, t)
	return out, err
}

func evalMaxPoolArgmax(s *EvalSite) (Value, error) {
	a, t := s.Attrs.(*PoolAttrs), s.Type.(*TupleType).Fields[0].(*TensorType)
	out, best, p, err := maxPool(s, a, t)
	if err != nil {
		return nil, err
	}
	// best holds offsets in NC layout: give them as offsets in the operand's own.
	m, err := tensor.NewIndexMap(p.data.Shape, p.plain, p.layout)
	if err != nil {
		return nil, err
	}
	own, at := make([]int64, p.data.Shape.Elems()), int64(0)
	m.Each(func(row []int) {
		for _, from := range row {
			if from >= 0 {
				own[from] = at
			}
			at++
		}
	})
	for i, from := range best.I {
		best.I[i] = own[from]
	}
	places, err := canonical(best, p.plain, p.layout)
	return Values{out, places}, err
}

// maxPool returns the maxima in the operand's layout, and their offsets in data, both in NC layout.
func maxPool(s *EvalSite, a *PoolAttrs, t *TensorType) (out, best *tensor.Wide, p *poolProblem, err error) {
	if p, err = newPoolProblem(s, a.Layout, t.Shape); err != nil {
		return
	}
	out, best = tensor.NewWide(t.DType, p.shape), tensor.NewWide(tensor.Int64, p.shape)
	w := p.window(a)
	in, n := w.inElems(), w.outElems()
	if out.F != nil {
		planes(s, p, p.data.F, out.F, func(data, dst []float64, plane int) {
			w.eachWindow(func(at int, inside []int, _ int) {
				v, from := math.Inf(-1), -1
				for _, i := range inside {
					if from < 0 || data[i] > v || math.IsNaN(data[i]) && !math.IsNaN(v) {
						v, from = data[i], i
					}
				}
				dst[at], best.I[plane*n+at] = v, int64(plane*in+max(from, 0))
			})
		})
	} else {
		lo, _ := tensor.IntRange(t.DType)
		planes(s, p, p.data.I, out.I, func(data, dst []int64, plane int) {
			w.eachWindow(func(at int, inside []int, _ int) {
				v, from := lo, -1
				for _, i := range inside {
					if from < 0 || lessInt(t.DType, v, data[i]) {
						v, from = data[i], i
					}
				}
				dst[at], best.I[plane*n+at] = v, int64(plane*in+max(from, 0))
			})
		})
	}
	out, err = canonical(out, p.plain, p.layout)
	return
}

func evalAvgPool(s *EvalSite) (Value, error) {
	a, t := s.Attrs.(*PoolAttrs), s.Type.(*TensorType)
	p, err := newPoolProblem(s, a.Layout, t.Shape)
	if err != nil {
		return nil, err
	}
	out, w := tensor.NewWide(t.DType, p.shape), p.window(a)
	if out.F != nil {
		planes(s, p, p.data.F, out.F, func(data, dst []float64, _ int) {
			w.eachWindow(func(at int, inside []int, cells int) {
				if !a.CountIncludePad {
					cells = len(inside)
				}
				dst[at] = sumAt(data, inside) / float64(max(cells, 1))
			})
		})
	} else {
		planes(s, p, p.data.I, out.I, func(data, dst []int64, _ int) {
			w.eachWindow(func(at int, inside []int, cells int) {
				if !a.CountIncludePad {
					cells = len(inside)
				}
				dst[at] = divInt(t.DType, sumAt(data, inside), int64(max(cells, 1)))
			})
		})
	}
	return canonical(out, p.plain, p.layout)
}

func sumAt[T number](data []T, at []int) T {
	var sum T
	for _, i := range at {
		sum += data[i]
	}
	return sum
}

// evalWholePool evaluates the global and adaptive pools: f reduces the elements of a window, which is never empty.
func evalWholePool(f func([]float64) float64, g func(tensor.DType, []int64) int64) evalFunc {
	return func(s *EvalSite) (Value, error) {
		var layout string
		switch a := s.Attrs.(type) {
		case *GlobalPoolAttrs:
			layout = a.Layout
		case *AdaptivePoolAttrs:
			layout = a.Layout
		}
		t := s.Type.(*TensorType)
		p, err := newPoolProblem(s, layout, t.Shape)
		if err != nil {
			return nil, err
		}
		out := tensor.NewWide(t.DType, p.shape)
		if out.F != nil {
			planes(s, p, p.data.F, out.F, func(data, dst []float64, _ int) { adaptive(p, data, dst, f) })
		} else {
			planes(s, p, p.data.I, out.I, func(data, dst []int64, _ int) {
				adaptive(p, data, dst, func(v []int64) int64 { return g(t.DType, v) })
			})
		}
		return canonical(out, p.plain, p.layout)
	}
}

// adaptive reduces a plane over windows [⌊i·I/O⌋, ⌈(i+1)·I/O⌉) of each axis.
func adaptive[T number](p *poolProblem, data, dst []T, f func([]T) T) {
	in, out := p.data.Shape[2:], p.shape[2:]
	strides := in.Strides()
	var cells []T
	index := make([]int, len(out))
	for at := range dst {
		cells = cells[:0]
		var walk func(axis, base int) // over at most three axes
		walk = func(axis, base int) {
			if axis == len(in) {
				cells = append(cells, data[base])
				return
			}
			i, o := in[axis], out[axis]
			for k := index[axis] * i / o; k < ((index[axis]+1)*i+o-1)/o; k++ {
				walk(axis+1, base+k*strides[axis])
			}
		}
		walk(0, 0)
		dst[at] = f(cells)
		for i := len(index) - 1; i >= 0; i-- {
			if index[i]++; index[i] < out[i] {
				break
			}
			index[i] = 0
		}
	}
}

func meanFloats(v []float64) float64 {
	sum := 0.0
	for _, x := range v {
		sum += x
	}
	return sum / float64(len(v))
}

func meanInts(d tensor.DType, v []int64) int64 {
	var sum int64
	for _, x := range v {
		sum += x
	}
	return divInt(d, sum, int64(len(v)))
}

func maxFloats(v []float64) float64 {
	best := math.Inf(-1)
	for _, x := range v {
		best = fmax(best, x)
	}
	return best
}

func maxInts(d tensor.DType, v []int64) int64 {
	best, _ := tensor.IntRange(d)
	for _, x := range v {
		best = maxInt(d, best, x)
	}
	return best
}
