package relay

import "github.com/texel-ml/texel/tensor"

// ReduceAttrs are the attributes of the reductions.
type ReduceAttrs struct {
	Axis     []int `relay:"axis"` // nil: every axis; an empty list: none
	Keepdims bool  `relay:"keepdims"`
	Exclude  bool  `relay:"exclude"` // reduce the axes that are not listed
}

// ArgReduceAttrs are the attributes of argmax and argmin.
type ArgReduceAttrs struct {
	Axis            []int        `relay:"axis"` // nil: every axis
	Keepdims        bool         `relay:"keepdims"`
	Exclude         bool         `relay:"exclude"`
	SelectLastIndex bool         `relay:"select_last_index"`
	DType           tensor.DType `relay:"dtype"` // int64 or int32
}

// reduceOps are the reductions.
func reduceOps() []*Op {
	row := func(name, doc string, infer func(*Site) (Type, error), eval evalFunc) *Op {
		return &Op{Name: name, Args: []string{"data"}, NewAttrs: func() any { return &ReduceAttrs{} }, Infer: infer, Eval: eval, Class: Reduce,
			Lower: "reduce", Doc: doc}
	}
	arg := func(name, doc string, sign float64) *Op {
		return &Op{Name: name, Args: []string{"data"}, NewAttrs: func() any { return &ArgReduceAttrs{DType: tensor.Int64} },
			Infer: inferArgReduce, Eval: evalArg(sign), Class: Reduce, Lower: "reduce", Doc: doc}
	}
	return []*Op{
		row("sum", "Σ x over the axes; 0 over nothing.", inferReduce, evalSum),
		row("mean", "Σ x / count over the axes; integers truncate toward zero.", inferReduce, evalMean),
		row("prod", "Π x over the axes; 1 over nothing.", inferReduce, evalProd),
		row("max", "the largest over the axes, NaN if there is one; over nothing −∞ or the type's least value.", inferReduce, evalMax),
		row("min", "the smallest over the axes, NaN if there is one; over nothing +∞ or the type's largest value.", inferReduce, evalMin),
		row("logsumexp", "log Σ e^x over the axes, computed after the largest is subtracted; −∞ over nothing.", inferReduceFloat, evalLogSumExp),
		row("all", "bool: every element over the axes holds; true over nothing.", inferReduceBool, evalAll),
		row("any", "bool: some element over the axes holds; false over nothing.", inferReduceBool, evalAny),
		arg("argmax", "the index of the largest element; of equal ones the first, or the last with select_last_index. Over several axes the "+
			"index is row-major among them. NaN is larger than any number.", 1),
		arg("argmin", "the index of the smallest element; otherwise as argmax.", -1),
	}
}

func inferReduce(s *Site) (Type, error) {
	t, err := s.Arith(0)
	if err != nil {
		return nil, err
	}
	if t.DType == tensor.Bool && s.Op.Name != "max" && s.Op.Name != "min" {
		return nil, s.Illegal("operand %s is bool, wanted a number", s.operand(0))
	}
	return s.reduced(t)
}

func inferReduceFloat(s *Site) (Type, error) {
	t, err := s.Float(0)
	if err != nil {
		return nil, err
	}
	return s.reduced(t)
}

func inferReduceBool(s *Site) (Type, error) {
	t, err := s.Arith(0)
	if err != nil {
		return nil, err
	}
	if t.DType != tensor.Bool {
		return nil, s.Illegal("operand %s has type %v, wanted bool", s.operand(0), t.DType)
	}
	return s.reduced(t)
}

func (s *Site) reduced(t *TensorType) (Type, error) {
	a, err := attrsOf[ReduceAttrs](s)
	if err != nil {
		return nil, err
	}
	if _, err := s.axes(a.Axis, len(t.Shape)); err != nil {
		return nil, err
	}
	return s.Result(t.DType, reducedShape(t.Shape, ReducedAxes(a.Axis, a.Exclude, len(t.Shape)), a.Keepdims))
}

func inferArgReduce(s *Site) (Type, error) {
	a, err := attrsOf[ArgReduceAttrs](s)
	if err != nil {
		return nil, err
	}
	t, err := s.Arith(0)
	if err != nil {
		return nil, err
	}
	if _, err := s.axes(a.Axis, len(t.Shape)); err != nil {
		return nil, err
	}
	mask := ReducedAxes(a.Axis, a.Exclude, len(t.Shape))
	for axis, reduced := range mask {
		if reduced && t.Shape[axis] == 0 {
			return nil, s.Illegal("axis %d of %v is empty", axis, t)
		}
	}
	if a.DType != tensor.Int64 && a.DType != tensor.Int32 {
		return nil, s.Illegal("dtype=%v, wanted int64 or int32", a.DType)
	}
	return s.Result(a.DType, reducedShape(t.Shape, mask, a.Keepdims))
}

// ReducedAxes returns which axes of a tensor a reduction runs over: those listed, or the others with exclude; a nil
// list means every axis.
func ReducedAxes(axis []int, exclude bool, rank int) []bool {
	mask := make([]bool, rank)
	for _, a := range axis {
		mask[NormalAxis(a, rank)] = true
	}
	for i := range mask {
		if axis == nil {
			mask[i] = true
		} else if exclude {
			mask[i] = !mask[i]
		}
	}
	return mask
}

func reducedShape(shape tensor.Shape, mask []bool, keep bool) tensor.Shape {
	out := tensor.Shape{}
	for i, d := range shape {
		switch {
		case !mask[i]:
			out = append(out, d)
		case keep:
			out = append(out, 1)
		}
	}
	return out
}
