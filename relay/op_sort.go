package relay

import "github.com/texel-ml/texel/tensor"

// SortAttrs are the attributes of sort and argsort.
type SortAttrs struct {
	Axis     int          `relay:"axis"`
	IsAscend bool         `relay:"is_ascend"`
	DType    tensor.DType `relay:"dtype"` // argsort's result: int64 or int32
}

// TopKAttrs are the attributes of topk.
type TopKAttrs struct {
	K        int          `relay:"k"`
	Axis     int          `relay:"axis"`
	IsAscend bool         `relay:"is_ascend"` // the smallest ones
	DType    tensor.DType `relay:"dtype"`     // of the indices: int64 or int32
}

// UniqueAttrs are the attributes of unique.
type UniqueAttrs struct {
	Axis   int  `relay:"axis"`
	Sorted bool `relay:"sorted"` // distinct slices in order; otherwise as they first occur
}

// sortOps order elements.
func sortOps() []*Op {
	attrs := func() any { return &SortAttrs{Axis: -1, IsAscend: true, DType: tensor.Int64} }
	return []*Op{
		{Name: "sort", Args: []string{"data"}, NewAttrs: attrs, Infer: inferSort, Eval: evalSort, Class: Opaque, Lower: "sort",
			Doc: "the elements in order along the axis; NaN is larger than any number."},
		{Name: "argsort", Args: []string{"data"}, NewAttrs: attrs, Infer: inferSort, Eval: evalSort, Class: Opaque, Lower: "sort",
			Doc: "the indices that sort would take; the lower index first among equal elements."},
		{Name: "topk", Args: []string{"data"}, NewAttrs: func() any { return &TopKAttrs{K: 1, Axis: -1, DType: tensor.Int64} },
			Infer: inferTopK, Eval: evalTopK, Class: Opaque, Lower: "sort",
			Doc: "a tuple: the k largest (is_ascend: smallest) elements in order along the axis, and their indices; the lower index first among " +
				"equal elements."},
		{Name: "unique", Args: []string{"data"}, NewAttrs: func() any { return &UniqueAttrs{Sorted: true} }, Infer: inferUnique,
			Eval: evalUnique, Class: Opaque, Lower: "unique",
			Doc: "a tuple that describes the distinct ones of the n slices along the axis, which are compared element by element in row-major " +
				"order, NaN being larger than any number and equal to itself: for each the place where it first occurs, int64 (n), the places " +
				"beyond their number −1; for each slice which of them it is, int64 (n); how often each occurs, int64 (n), 0 beyond their number; " +
				"and that number, int64 (1). ONNX Unique, whose Y is take(data, the first)."},
	}
}

func inferUnique(s *Site) (Type, error) {
	a, err := attrsOf[UniqueAttrs](s)
	if err != nil {
		return nil, err
	}
	t, err := s.Arith(0)
	if err != nil {
		return nil, err
	}
	axis, err := s.axis(a.Axis, len(t.Shape))
	if err != nil {
		return nil, err
	}
	list := &TensorType{tensor.Shape{t.Shape[axis]}, tensor.Int64}
	return &TupleType{[]Type{list, list, list, &TensorType{tensor.Shape{1}, tensor.Int64}}}, nil
}

func inferSort(s *Site) (Type, error) {
	a, err := attrsOf[SortAttrs](s)
	if err != nil {
		return nil, err
	}
	t, err := s.Arith(0)
	if err != nil {
		return nil, err
	}
	if _, err := s.axis(a.Axis, len(t.Shape)); err != nil {
		return nil, err
	}
	if s.Op.Name == "sort" {
		return t, nil
	}
	if a.DType != tensor.Int64 && a.DType != tensor.Int32 {
		return nil, s.Illegal("dtype=%v, wanted int64 or int32", a.DType)
	}
	return s.Result(a.DType, t.Shape)
}

func inferTopK(s *Site) (Type, error) {
	a, err := attrsOf[TopKAttrs](s)
	if err != nil {
		return nil, err
	}
	t, err := s.Arith(0)
	if err != nil {
		return nil, err
	}
	axis, err := s.axis(a.Axis, len(t.Shape))
	if err != nil {
		return nil, err
	}
	if a.K < 0 || a.K > t.Shape[axis] {
		return nil, s.Illegal("k=%d is outside the %d elements of axis %d of %v", a.K, t.Shape[axis], axis, t)
	}
	if a.DType != tensor.Int64 && a.DType != tensor.Int32 {
		return nil, s.Illegal("dtype=%v, wanted int64 or int32", a.DType)
	}
	shape := t.Shape.Clone()
	shape[axis] = a.K
	return &TupleType{[]Type{&TensorType{shape, t.DType}, &TensorType{shape, a.DType}}}, nil
}
