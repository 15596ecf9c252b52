package relay

import "github.com/texel-ml/texel/tensor"

// ConcatAttrs are the attributes of concatenate and stack.
type ConcatAttrs struct {
	Axis int `relay:"axis"`
}

// SplitAttrs are the attributes of split.
type SplitAttrs struct {
	Indices []int `relay:"indices_or_sections"` // where along the axis a new part begins, not decreasing
	Axis    int   `relay:"axis"`
}

// StridedSliceAttrs are the attributes of strided_slice. Use Ranges to read them.
type StridedSliceAttrs struct {
	Begin   []int `relay:"begin"`   // negative: from the end; then clamped
	End     []int `relay:"end"`     // exclusive; negative: from the end; then clamped
	Strides []int `relay:"strides"` // nil: 1; a negative one walks back
	Axes    []int `relay:"axes"`    // nil: the first ones
}

// PadAttrs are the attributes of nn.pad.
type PadAttrs struct {
	PadWidth []int  `relay:"pad_width"` // before and after each axis: before 0, after 0, before 1, …; negative: cut off
	PadMode  string `relay:"pad_mode"`  // "constant", "edge", "reflect" or "wrap"
}

// SliceRange is the part of one axis that a slice takes: element i of the result is element Begin + i·Stride.
type SliceRange struct{ Begin, Stride, Extent int }

// sliceOps join, cut and pad tensors.
func sliceOps() []*Op {
	return []*Op{
		{
			Name: "concatenate", Args: []string{"data"}, NewAttrs: func() any { return &ConcatAttrs{} }, Infer: inferConcatenate,
			Eval: evalConcatenate, Class: Injective, Lower: "concatenate", Doc: "the tensors of a tuple one after the other along the axis.",
		},
		{
			Name: "stack", Args: []string{"data"}, NewAttrs: func() any { return &ConcatAttrs{} }, Infer: inferStack,
			Eval: evalConcatenate, Class: Injective, Lower: "concatenate", Doc: "the tensors of a tuple, equal in shape, along a new axis.",
		},
		{
			Name: "split", Args: []string{"data"}, NewAttrs: func() any { return &SplitAttrs{} }, Infer: inferSplit,
			Eval: evalSplit, Class: Injective, Lower: "split", Doc: "a tuple of the parts of data along the axis, cut before each index.",
		},
		{
			Name: "strided_slice", Args: []string{"data"}, NewAttrs: func() any { return &StridedSliceAttrs{} }, Infer: inferStridedSlice,
			Eval: evalPicked(sliceTables), Class: Injective, Lower: "strided_slice",
			Doc: "every stride-th element from begin to before end along the axes. A negative begin or end counts from the end of the axis; both " +
				"are then clamped: to [0, extent], and for a negative stride to [−1, extent − 1], −1 being before the first element.",
		},
		{
			Name: "nn.pad", Args: []string{"data", "pad_value"}, NewAttrs: func() any { return &PadAttrs{PadMode: "constant"} }, Infer: inferPad,
			Eval: evalPad, Class: Injective, Lower: "pad",
			Doc: "data widened by pad_width. Outside is pad_value (a scalar; constant), the nearest element (edge), the mirror image without the " +
				"border (reflect), or the other end (wrap). A negative width cuts elements off, before the mode is applied.",
		},
	}
}

func inferConcatenate(s *Site) (Type, error) {
	a, err := attrsOf[ConcatAttrs](s)
	if err != nil {
		return nil, err
	}
	t, err := s.Fields(0)
	if err != nil {
		return nil, err
	}
	axis, err := s.axis(a.Axis, len(t[0].Shape))
	if err != nil {
		return nil, err
	}
	out := t[0].Shape.Clone()
	for i, f := range t[1:] {
		rest := f.Shape.Clone()
		if len(rest) == len(out) {
			rest[axis] = out[axis]
		}
		if !rest.Equal(out) {
			return nil, s.Illegal("field %d has type %v, field 0 has %v; they may differ only along axis %d", i+1, f, t[0], axis)
		}
		out[axis] += f.Shape[axis]
	}
	return s.Result(t[0].DType, out)
}

func inferStack(s *Site) (Type, error) {
	a, err := attrsOf[ConcatAttrs](s)
	if err != nil {
		return nil, err
	}
	t, err := s.Fields(0)
	if err != nil {
		return nil, err
	}
	axis, err := s.axis(a.Axis, len(t[0].Shape)+1)
	if err != nil {
		return nil, err
	}
	for i, f := range t {
		if !f.Shape.Equal(t[0].Shape) {
			return nil, s.Illegal("field %d has type %v, field 0 has %v", i, f, t[0])
		}
	}
	out := append(t[0].Shape[:axis:axis], len(t))
	return s.Result(t[0].DType, append(out, t[0].Shape[axis:]...))
}

func inferSplit(s *Site) (Type, error) {
	a, t, err := operandOf[SplitAttrs](s)
	if err != nil {
		return nil, err
	}
	axis, err := s.axis(a.Axis, len(t.Shape))
	if err != nil {
		return nil, err
	}
	parts := make([]Type, len(a.Indices)+1)
	for i := range parts {
		begin, end := a.Part(i, t.Shape[axis])
		if begin < 0 || end < begin || end > t.Shape[axis] {
			return nil, s.Illegal("indices_or_sections=%v do not cut the %d elements of axis %d", a.Indices, t.Shape[axis], axis)
		}
		shape := t.Shape.Clone()
		shape[axis] = end - begin
		parts[i] = &TensorType{shape, t.DType}
	}
	return &TupleType{parts}, nil
}

// Part returns which elements of an axis of the given extent part i takes.
func (a *SplitAttrs) Part(i, extent int) (begin, end int) {
	if i > 0 {
		begin = a.Indices[i-1]
	}
	if i < len(a.Indices) {
		return begin, a.Indices[i]
	}
	return begin, extent
}

func inferStridedSlice(s *Site) (Type, error) {
	a, t, err := operandOf[StridedSliceAttrs](s)
	if err != nil {
		return nil, err
	}
	n := len(a.Begin)
	if len(a.End) != n || a.Strides != nil && len(a.Strides) != n || a.Axes != nil && len(a.Axes) != n || n > len(t.Shape) {
		return nil, s.Illegal("begin=%v, end=%v, strides=%v, axes=%v do not fit each other and %v", a.Begin, a.End, a.Strides, a.Axes, t)
	}
	if _, err := s.axes(a.Axes, len(t.Shape)); err != nil {
		return nil, err
	}
	for _, stride := range a.Strides {
		if stride == 0 {
			return nil, s.Illegal("strides=%v, wanted none that is 0", a.Strides)
		}
	}
	out := make(tensor.Shape, len(t.Shape))
	for i, r := range a.Ranges(t.Shape) {
		out[i] = r.Extent
	}
	return s.Result(t.DType, out)
}

// Ranges returns the part of each axis of a tensor of the given shape that the slice takes.
func (a *StridedSliceAttrs) Ranges(shape tensor.Shape) []SliceRange {
	all := make([]SliceRange, len(shape))
	for i, d := range shape {
		all[i] = SliceRange{0, 1, d}
	}
	for i := range a.Begin {
		axis := i
		if a.Axes != nil {
			axis = NormalAxis(a.Axes[i], len(shape))
		}
		stride := 1
		if a.Strides != nil {
			stride = a.Strides[i]
		}
		all[axis] = sliceRange(a.Begin[i], a.End[i], stride, shape[axis])
	}
	return all
}

func sliceRange(begin, end, stride, extent int) SliceRange {
	if begin < 0 {
		begin += extent
	}
	if end < 0 {
		end += extent
	}
	if stride > 0 {
		begin, end = min(max(begin, 0), extent), min(max(end, 0), extent)
		if end <= begin {
			return SliceRange{begin, stride, 0}
		}
		return SliceRange{begin, stride, (end-begin-1)/stride + 1}
	}
	begin, end = min(max(begin, -1), extent-1), min(max(end, -1), extent-1)
	if begin <= end {
		return SliceRange{max(begin, 0), stride, 0}
	}
	if stride < -extent {
		stride = -extent // the same single element; its negation cannot overflow
	}
	return SliceRange{begin, stride, (begin-end-1)/-stride + 1}
}

func inferPad(s *Site) (Type, error) {
	a, err := attrsOf[PadAttrs](s)
	if err != nil {
		return nil, err
	}
	t, err := s.Tensor(0)
	if err != nil {
		return nil, err
	}
	v, err := s.Tensor(1)
	if err != nil {
		return nil, err
	}
	if v.DType != t.DType || v.Shape.Elems() != 1 {
		return nil, s.Illegal("pad_value is %v, wanted one element of %v", v, t.DType)
	}
	if err := s.count("pad_width", a.PadWidth, 2*len(t.Shape), -1<<31); err != nil {
		return nil, err
	}
	out := t.Shape.Clone()
	for i := range out {
		before, after := a.PadWidth[2*i], a.PadWidth[2*i+1]
		inner := out[i] + min(before, 0) + min(after, 0)
		out[i] += before + after
		if inner < 0 || out[i] < 0 {
			return nil, s.Illegal("pad_width=%v cuts more than axis %d of %v has", a.PadWidth, i, t)
		}
		if a.PadMode != "constant" && inner == 0 && out[i] > 0 {
			return nil, s.Illegal("axis %d of %v is empty, which pad_mode=%q cannot widen", i, t, a.PadMode)
		}
	}
	switch a.PadMode {
	case "constant", "edge", "reflect", "wrap":
	default:
		return nil, s.Illegal("pad_mode=%q, wanted constant, edge, reflect or wrap", a.PadMode)
	}
	return s.Result(t.DType, out)
}
