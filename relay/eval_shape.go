package relay

import (
	"github.com/texel-ml/texel/tensor"
)

// evalPicked makes an injective operator's reference from the tables of pick; t is the operand's type.
func evalPicked(tables func(s *EvalSite, in tensor.Shape) [][]int) evalFunc {
	return func(s *EvalSite) (Value, error) {
		x, out := s.Wide(0), s.out()
		if out.Shape.Elems() == 0 {
			return out, nil
		}
		pick(out, x, out.Shape, tables(s, x.Shape))
		return out, nil
	}
}

func transposeTables(s *EvalSite, in tensor.Shape) [][]int {
	own, tables := flat(in), make([][]int, len(in))
	for i, axis := range Permutation(s.Attrs.(*TransposeAttrs).Axes, len(in)) {
		tables[i] = own[axis]
	}
	return tables
}

func broadcastTables(s *EvalSite, in tensor.Shape) [][]int {
	out := s.Type.(*TensorType).Shape
	tables := make([][]int, len(out))
	for i, step := range broadcastStrides(in, out) {
		tables[i] = table(out[i], 0, step)
	}
	return tables
}

func tileTables(s *EvalSite, in tensor.Shape) [][]int {
	out := s.Type.(*TensorType).Shape
	tables, strides := make([][]int, len(out)), in.Strides()
	for i := range out {
		tables[i] = make([]int, out[i])
		axis := i - (len(out) - len(in))
		if axis < 0 {
			continue
		}
		for k := range tables[i] {
			tables[i][k] = k % in[axis] * strides[axis]
		}
	}
	return tables
}

func repeatTables(s *EvalSite, in tensor.Shape) [][]int {
	a, tables := s.Attrs.(*RepeatAttrs), flat(in)
	axis := NormalAxis(a.Axis, len(in))
	step := in.Strides()[axis]
	t := make([]int, in[axis]*a.Repeats)
	for k := range t {
		t[k] = k / a.Repeats * step
	}
	tables[axis] = t
	return tables
}

func reverseTables(s *EvalSite, in tensor.Shape) [][]int {
	tables, axis := flat(in), NormalAxis(s.Attrs.(*AxisAttrs).Axis, len(in))
	step := in.Strides()[axis]
	tables[axis] = table(in[axis], (in[axis]-1)*step, -step)
	return tables
}

func shuffleTables(s *EvalSite, in tensor.Shape) [][]int {
	a, tables := s.Attrs.(*ChannelShuffleAttrs), flat(in)
	axis := NormalAxis(a.Axis, len(in))
	step := in.Strides()[axis]
	for k := range tables[axis] {
		c, g := k/a.Groups, k%a.Groups
		tables[axis][k] = (g*(in[axis]/a.Groups) + c) * step
	}
	return tables
}

func spaceToDepthTables(s *EvalSite, in tensor.Shape) [][]int {
	a := s.Attrs.(*BlockAttrs)
	l, tables, strides := tensor.MustLayout(a.Layout), flat(in), in.Strides()
	c, h, w := l.Index('C'), l.Index('H'), l.Index('W')
	b, channels := a.BlockSize, in[c]
	tables[h], tables[w] = table(in[h]/b, 0, b*strides[h]), table(in[w]/b, 0, b*strides[w])
	tables[c] = make([]int, channels*b*b)
	for k := range tables[c] {
		block, channel := k/channels, k%channels
		if a.Mode == "CRD" {
			block, channel = k%(b*b), k/(b*b)
		}
		tables[c][k] = channel*strides[c] + block/b*strides[h] + block%b*strides[w]
	}
	return tables
}

func depthToSpaceTables(s *EvalSite, in tensor.Shape) [][]int {
	a := s.Attrs.(*BlockAttrs)
	l, tables, strides := tensor.MustLayout(a.Layout), flat(in), in.Strides()
	c, h, w := l.Index('C'), l.Index('H'), l.Index('W')
	b := a.BlockSize
	channels := in[c] / (b * b)
	outer, inner := channels*strides[c], strides[c] // of one step of the block and of the channel
	if a.Mode == "CRD" {
		outer, inner = strides[c], b*b*strides[c]
	}
	tables[c] = table(channels, 0, inner)
	for _, axis := range []int{h, w} {
		step := outer
		if axis == h {
			step *= b
		}
		t := make([]int, in[axis]*b)
		for k := range t {
			t[k] = k/b*strides[axis] + k%b*step
		}
		tables[axis] = t
	}
	return tables
}

func evalLayoutTransform(s *EvalSite) (Value, error) {
	a, x, t := s.Attrs.(*LayoutTransformAttrs), s.Wide(0), s.Type.(*TensorType)
	src, dst := tensor.MustLayout(a.SrcLayout), tensor.MustLayout(a.DstLayout)
	if a.Channels != 0 { // drop the source's padding first
		plain := tensor.MustLayout(src.Letters())
		flatX, err := canonical(x, src, plain)
		if err != nil {
			return nil, err
		}
		shape := flatX.Shape.Clone()
		shape[plain.Index('C')] = a.Channels
		cut, tables := tensor.NewWide(x.DType, shape), flat(flatX.Shape)
		for i := range tables {
			tables[i] = tables[i][:shape[i]]
		}
		pick(cut, flatX, shape, tables)
		x, src = cut, plain
	}
	out, err := canonical(x, src, dst)
	if err != nil {
		return nil, err
	}
	return &tensor.Wide{DType: t.DType, Shape: t.Shape, F: out.F, I: out.I}, nil
}

func evalTrilu(s *EvalSite) (Value, error) {
	a, x, out := s.Attrs.(*TriluAttrs), s.Wide(0), s.out()
	rank := len(x.Shape)
	rows, columns := x.Shape[rank-2], x.Shape[rank-1]
	for i := range x.Shape.Elems() {
		row, column := i/columns%rows, i%columns
		if a.Upper && column-row >= a.K || !a.Upper && column-row <= a.K {
			set(out, i, x, i)
		}
	}
	return out, nil
}

// set copies element j of src to element i of dst.
func set(dst *tensor.Wide, i int, src *tensor.Wide, j int) {
	if dst.F != nil {
		dst.F[i] = src.F[j]
	} else {
		dst.I[i] = src.I[j]
	}
}

// part returns elements begin to end.
func part(w *tensor.Wide, begin, end int) *tensor.Wide {
	p := &tensor.Wide{DType: w.DType, Shape: tensor.Shape{end - begin}}
	if w.F != nil {
		p.F = w.F[begin:end]
	} else {
		p.I = w.I[begin:end]
	}
	return p
}

// move copies src over the beginning of dst.
func move(dst, src *tensor.Wide) {
	copy(dst.F, src.F)
	copy(dst.I, src.I)
}

// fill sets every element of w to element 0 of v.
func fill(w, v *tensor.Wide) {
	for i := range w.F {
		w.F[i] = v.F[0]
	}
	for i := range w.I {
		w.I[i] = v.I[0]
	}
}
