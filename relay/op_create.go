package relay

import (
	"math"

	"github.com/texel-ml/texel/tensor"
)

// FullAttrs are the attributes of full, zeros and ones.
type FullAttrs struct {
	Shape []int        `relay:"shape"`
	DType tensor.DType `relay:"dtype"` // full: Invalid takes fill_value's
}

// ArangeAttrs are the attributes of arange.
type ArangeAttrs struct {
	Start float64      `relay:"start"`
	Stop  float64      `relay:"stop"`
	Step  float64      `relay:"step"`
	DType tensor.DType `relay:"dtype"`
}

// EyeAttrs are the attributes of eye.
type EyeAttrs struct {
	Shape []int        `relay:"shape"` // rows, columns
	K     int          `relay:"k"`     // the diagonal: above 0 to the right
	DType tensor.DType `relay:"dtype"`
}

// OneHotAttrs are the attributes of one_hot.
type OneHotAttrs struct {
	Depth int          `relay:"depth"`
	Axis  int          `relay:"axis"`  // the new axis, in the result
	DType tensor.DType `relay:"dtype"` // Invalid: on_value's
}

// createOps make tensors from attributes.
func createOps() []*Op {
	full := func() any { return &FullAttrs{} }
	filled := func() any { return &FullAttrs{DType: tensor.Float32} }
	return []*Op{
		{Name: "full", Args: []string{"fill_value"}, NewAttrs: full, Infer: inferFull, Eval: evalFull, Class: Broadcast, Lower: "broadcast",
			Doc: "a tensor of which every element is fill_value, a scalar."},
		{Name: "zeros", NewAttrs: filled, Infer: inferFilled, Eval: evalZeros, Class: Injective, Lower: "create", Doc: "a tensor of zeros."},
		{Name: "ones", NewAttrs: filled, Infer: inferFilled, Eval: evalOnes, Class: Injective, Lower: "create", Doc: "a tensor of ones."},
		{Name: "arange", NewAttrs: func() any { return &ArangeAttrs{Step: 1, DType: tensor.Float32} }, Infer: inferArange,
			Eval: evalArange, Class: Injective, Lower: "create", Doc: "start + i·step for the ⌈(stop − start) / step⌉ indices i."},
		{Name: "eye", NewAttrs: func() any { return &EyeAttrs{DType: tensor.Float32} }, Infer: inferEye,
			Eval: evalEye, Class: Injective, Lower: "create", Doc: "1 where column = row + k, else 0."},
		{Name: "one_hot", Args: []string{"indices", "on_value", "off_value"}, NewAttrs: func() any { return &OneHotAttrs{Axis: -1} },
			Infer: inferOneHot, Eval: evalOneHot, Class: Injective, Lower: "one_hot",
			Doc: "on_value where the position along the new axis equals the index, else off_value; both are scalars. A negative index counts from " +
				"depth; one that is still outside sets nothing."},
	}
}

func (s *Site) filled(d tensor.DType, shape []int) (Type, error) {
	if d.Bits() == 0 {
		return nil, s.Illegal("dtype is not set")
	}
	return s.Result(d, tensor.Shape(shape).Clone())
}

func inferFull(s *Site) (Type, error) {
	a, t, err := operandOf[FullAttrs](s)
	if err != nil {
		return nil, err
	}
	if t.Shape.Elems() != 1 || a.DType != tensor.Invalid && a.DType != t.DType {
		return nil, s.Illegal("fill_value is %v, wanted one element of %v", t, a.DType)
	}
	return s.filled(t.DType, a.Shape)
}

func inferFilled(s *Site) (Type, error) {
	a, err := attrsOf[FullAttrs](s)
	if err != nil {
		return nil, err
	}
	return s.filled(a.DType, a.Shape)
}

func inferArange(s *Site) (Type, error) {
	a, err := attrsOf[ArangeAttrs](s)
	if err != nil {
		return nil, err
	}
	n := math.Ceil((a.Stop - a.Start) / a.Step)
	if math.IsNaN(n) || n > maxElems {
		return nil, s.Illegal("from %v to %v by %v has no size", a.Start, a.Stop, a.Step)
	}
	return s.filled(a.DType, []int{int(max(n, 0))})
}

func inferEye(s *Site) (Type, error) {
	a, err := attrsOf[EyeAttrs](s)
	if err != nil {
		return nil, err
	}
	if err := s.count("shape", a.Shape, 2, 0); err != nil {
		return nil, err
	}
	return s.filled(a.DType, a.Shape)
}

func inferOneHot(s *Site) (Type, error) {
	a, err := attrsOf[OneHotAttrs](s)
	if err != nil {
		return nil, err
	}
	t, err := s.Arith(0)
	if err != nil {
		return nil, err
	}
	on, err := s.Arith(1)
	if err != nil {
		return nil, err
	}
	off, err := s.Arith(2)
	if err != nil {
		return nil, err
	}
	if on.DType != off.DType || on.Shape.Elems() != 1 || off.Shape.Elems() != 1 || a.DType != tensor.Invalid && a.DType != on.DType {
		return nil, s.Illegal("on_value is %v, off_value %v, wanted two scalars of one type", on, off)
	}
	if !t.DType.IsInt() {
		return nil, s.Illegal("indices have type %v, wanted an integer type", t.DType)
	}
	axis, err := s.axis(a.Axis, len(t.Shape)+1)
	if err != nil {
		return nil, err
	}
	if a.Depth < 0 {
		return nil, s.Illegal("depth=%d, wanted at least 0", a.Depth)
	}
	out := append(t.Shape[:axis:axis], a.Depth)
	return s.Result(on.DType, append(out, t.Shape[axis:]...))
}
