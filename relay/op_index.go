package relay

import (
	"github.com/texel-ml/texel/diag"
	"github.com/texel-ml/texel/tensor"
)

// TakeAttrs are the attributes of take.
type TakeAttrs struct {
	Axis int    `relay:"axis"`
	Mode string `relay:"mode"` // "clip" or "wrap": what happens to an index outside [−extent, extent)
}

// GatherNDAttrs are the attributes of gather_nd.
type GatherNDAttrs struct {
	BatchDims int `relay:"batch_dims"`
}

// ScatterElementsAttrs are the attributes of scatter_elements.
type ScatterElementsAttrs struct {
	Axis      int    `relay:"axis"`
	Reduction string `relay:"reduction"` // "update", "add", "mul", "min" or "max"
}

// ScatterNDAttrs are the attributes of scatter_nd.
type ScatterNDAttrs struct {
	Mode string `relay:"mode"` // "update", "add", "mul", "min" or "max"
}

// ReverseSequenceAttrs are the attributes of reverse_sequence.
type ReverseSequenceAttrs struct {
	SeqAxis   int `relay:"seq_axis"`
	BatchAxis int `relay:"batch_axis"`
}

// indexOps read and write elements at computed places.
func indexOps() []*Op {
	return []*Op{
		{
			Name: "take", Args: []string{"data", "indices"}, NewAttrs: func() any { return &TakeAttrs{Mode: "clip"} }, Infer: inferTake,
			Eval: evalTake, Class: Injective, Lower: "gather",
			Doc: "out[a…, i…, b…] = data[a…, indices[i…], b…], i… in place of the axis. ONNX Gather. A negative index counts from the end; then " +
				"it is clamped (clip) or taken modulo the extent (wrap).",
		},
		{
			Name: "gather", Args: []string{"data", "indices"}, NewAttrs: func() any { return &AxisAttrs{} }, Infer: inferGather,
			Eval: evalGather, Class: Injective, Lower: "gather",
			Doc: "out[…, i, …] = data[…, indices[…, i, …], …] along the axis; out has the shape of indices, which exceeds data along no other axis. " +
				"ONNX GatherElements. A negative index counts from the end, then it is clamped.",
		},
		{
			Name: "gather_nd", Args: []string{"data", "indices"}, NewAttrs: func() any { return &GatherNDAttrs{} }, Infer: inferGatherND,
			Eval: evalGatherND, Class: Injective, Lower: "gather",
			Doc: "out[y…, x…] = data[y_0 … y_{B−1}, indices[0, y…], …, indices[M−1, y…], x…] with B = batch_dims. data is (X…), indices (M, Y…): as " +
				"in Relay the index tuple lies along the first axis (ONNX GatherND has it along the last one). A negative index counts from the " +
				"end, then it is clamped.",
		},
		{
			Name: "scatter_elements", Args: []string{"data", "indices", "updates"},
			NewAttrs: func() any { return &ScatterElementsAttrs{Reduction: "update"} }, Infer: inferScatterElements, Eval: evalScatterElements, Class: Opaque, Lower: "scatter",
			Doc: "data, in which each updates[…, i, …] replaces, or joins by the reduction, element […, indices[…, i, …], …] along the axis, in " +
				"row-major order of updates. A negative index counts from the end; an update still outside is dropped.",
		},
		{
			Name: "scatter_nd", Args: []string{"data", "indices", "updates"}, NewAttrs: func() any { return &ScatterNDAttrs{"update"} },
			Infer: inferScatterND, Eval: evalScatterND, Class: Opaque, Lower: "scatter",
			Doc: "data, in which updates[y…, x…] replaces, or joins by the mode, data[indices[0, y…], …, indices[M−1, y…], x…]. indices is (M, Y…): " +
				"as in Relay the index tuple lies along the first axis. A negative index counts from the end; an update still outside is dropped.",
		},
		{
			Name: "argwhere", Args: []string{"condition"}, Infer: inferArgwhere, Eval: evalArgwhere, Class: Opaque, Lower: "nonzero",
			Doc: "a tuple: the indices of the elements that are not 0, row-major, as int64 (size, rank), rows beyond their number filled with −1; " +
				"and that number as int64 (1).",
		},
		{
			Name: "reverse_sequence", Args: []string{"data", "seq_lengths"}, NewAttrs: func() any { return &ReverseSequenceAttrs{1, 0} },
			Infer: inferReverseSequence, Eval: evalReverseSequence, Class: Injective, Lower: "gather",
			Doc: "the first seq_lengths[b] elements along seq_axis in reverse order, b the position along batch_axis; the others stay.",
		},
	}
}

func (s *Site) indices(i int) (*TensorType, error) {
	t, err := s.Tensor(i)
	if err != nil {
		return nil, err
	}
	if t.DType != tensor.Int64 && t.DType != tensor.Int32 {
		return nil, s.Illegal("operand %s has type %v, wanted int64 or int32", s.operand(i), t.DType)
	}
	return t, nil
}

func inferTake(s *Site) (Type, error) {
	a, t, err := operandOf[TakeAttrs](s)
	if err != nil {
		return nil, err
	}
	idx, err := s.indices(1)
	if err != nil {
		return nil, err
	}
	axis, err := s.axis(a.Axis, len(t.Shape))
	if err != nil {
		return nil, err
	}
	if a.Mode != "clip" && a.Mode != "wrap" {
		return nil, s.Illegal("mode=%q, wanted clip or wrap", a.Mode)
	}
	if t.Shape[axis] == 0 && idx.Shape.Elems() != 0 {
		return nil, s.Illegal("axis %d of %v is empty", axis, t)
	}
	out := append(t.Shape[:axis:axis], idx.Shape...)
	return s.Result(t.DType, append(out, t.Shape[axis+1:]...))
}

func inferGather(s *Site) (Type, error) {
	a, t, err := operandOf[AxisAttrs](s)
	if err != nil {
		return nil, err
	}
	idx, err := s.indices(1)
	if err != nil {
		return nil, err
	}
	axis, err := s.axis(a.Axis, len(t.Shape))
	if err != nil {
		return nil, err
	}
	if err := s.within(idx.Shape, t.Shape, axis); err != nil {
		return nil, err
	}
	return s.Result(t.DType, idx.Shape)
}

// within checks that indices of the given shape address data of the given shape along the axis.
func (s *Site) within(idx, data tensor.Shape, axis int) error {
	if len(idx) != len(data) {
		return s.Illegal("indices of shape %v, wanted rank %d", idx, len(data))
	}
	for i, d := range idx {
		if i != axis && d > data[i] {
			return s.Illegal("indices of shape %v exceed data of shape %v along axis %d", idx, data, i)
		}
	}
	if data[axis] == 0 && idx.Elems() != 0 {
		return s.Illegal("axis %d of data of shape %v is empty", axis, data)
	}
	return nil
}

func inferGatherND(s *Site) (Type, error) {
	a, t, err := operandOf[GatherNDAttrs](s)
	if err != nil {
		return nil, err
	}
	idx, err := s.indices(1)
	if err != nil {
		return nil, err
	}
	if len(idx.Shape) < 1 || a.BatchDims < 0 || a.BatchDims >= len(idx.Shape) || a.BatchDims+idx.Shape[0] > len(t.Shape) {
		return nil, s.Illegal("indices of shape %v with batch_dims=%d do not address data of shape %v", idx.Shape, a.BatchDims, t.Shape)
	}
	m, batch := idx.Shape[0], a.BatchDims
	if !idx.Shape[1 : 1+batch].Equal(t.Shape[:batch]) {
		return nil, s.Illegal("the first %d axes of data %v and of indices %v differ", batch, t.Shape, idx.Shape[1:])
	}
	for i := batch; i < batch+m; i++ {
		if t.Shape[i] == 0 && idx.Shape.Elems() != 0 {
			return nil, s.Illegal("axis %d of data of shape %v is empty", i, t.Shape)
		}
	}
	return s.Result(t.DType, append(idx.Shape[1:].Clone(), t.Shape[batch+m:]...))
}

func (s *Site) scatter(reduction string) (data, idx, updates *TensorType, err error) {
	if data, err = s.Tensor(0); err != nil {
		return
	}
	if idx, err = s.indices(1); err != nil {
		return
	}
	if updates, err = s.Tensor(2); err != nil {
		return
	}
	if data.DType != updates.DType {
		return nil, nil, nil, s.Illegal("updates have type %v, data has %v", updates.DType, data.DType)
	}
	switch reduction {
	case "update":
	case "add", "mul", "min", "max":
		if data.DType.IsStorage() || data.DType == tensor.Bool {
			return nil, nil, nil, diag.Unsupported("infer-type", s.Op.Name, "elements of %v are not joined by %q", data.DType, reduction)
		}
	default:
		return nil, nil, nil, s.Illegal("reduction %q, wanted update, add, mul, min or max", reduction)
	}
	return
}

func inferScatterElements(s *Site) (Type, error) {
	a, err := attrsOf[ScatterElementsAttrs](s)
	if err != nil {
		return nil, err
	}
	data, idx, updates, err := s.scatter(a.Reduction)
	if err != nil {
		return nil, err
	}
	axis, err := s.axis(a.Axis, len(data.Shape))
	if err != nil {
		return nil, err
	}
	if !idx.Shape.Equal(updates.Shape) {
		return nil, s.Illegal("updates have shape %v, indices %v", updates.Shape, idx.Shape)
	}
	if err := s.within(idx.Shape, data.Shape, axis); err != nil {
		return nil, err
	}
	return data, nil
}

func inferScatterND(s *Site) (Type, error) {
	a, err := attrsOf[ScatterNDAttrs](s)
	if err != nil {
		return nil, err
	}
	data, idx, updates, err := s.scatter(a.Mode)
	if err != nil {
		return nil, err
	}
	if len(idx.Shape) < 1 || idx.Shape[0] > len(data.Shape) {
		return nil, s.Illegal("indices of shape %v do not address data of shape %v", idx.Shape, data.Shape)
	}
	want := append(idx.Shape[1:].Clone(), data.Shape[idx.Shape[0]:]...)
	if !updates.Shape.Equal(want) {
		return nil, s.Illegal("updates have shape %v, wanted %v", updates.Shape, want)
	}
	return data, nil
}

func inferArgwhere(s *Site) (Type, error) {
	t, err := s.Arith(0)
	if err != nil {
		return nil, err
	}
	rows, err := s.Result(tensor.Int64, tensor.Shape{t.Shape.Elems(), len(t.Shape)})
	if err != nil {
		return nil, err
	}
	return &TupleType{[]Type{rows, &TensorType{tensor.Shape{1}, tensor.Int64}}}, nil
}

func inferReverseSequence(s *Site) (Type, error) {
	a, t, err := operandOf[ReverseSequenceAttrs](s)
	if err != nil {
		return nil, err
	}
	n, err := s.indices(1)
	if err != nil {
		return nil, err
	}
	seq, err := s.axis(a.SeqAxis, len(t.Shape))
	if err != nil {
		return nil, err
	}
	batch, err := s.axis(a.BatchAxis, len(t.Shape))
	if err != nil {
		return nil, err
	}
	if seq == batch || len(n.Shape) != 1 || n.Shape[0] != t.Shape[batch] {
		return nil, s.Illegal("seq_lengths %v, seq_axis=%d, batch_axis=%d do not fit %v", n, a.SeqAxis, a.BatchAxis, t)
	}
	return t, nil
}
