package relay

import (
	"math"

	"github.com/texel-ml/texel/diag"
	"github.com/texel-ml/texel/tensor"
)

// maxElems bounds the elements of one tensor, so that sizes in bytes and offsets cannot overflow and a plan
// can state them.
const maxElems = 1 << 42

// Tensor returns the type of operand i, every axis of which must have a known extent.
func (s *Site) Tensor(i int) (*TensorType, error) {
	t, ok := s.Types[i].(*TensorType)
	if !ok {
		return nil, s.Illegal("operand %s has type %v, wanted a tensor", s.operand(i), s.Types[i])
	}
	for axis, d := range t.Shape {
		if d < 0 {
			return nil, diag.Unsupported("infer-type", s.Op.Name,
				"axis %d of operand %s has no known extent in %v; bind it before type inference", axis, s.operand(i), t)
		}
	}
	if n := t.Shape.Elems(); n < 0 || n > maxElems {
		return nil, diag.Unsupported("infer-type", s.Op.Name, "operand %s of type %v is too large", s.operand(i), t)
	}
	return t, nil
}

// Arith returns the type of operand i, which must not be a storage type.
func (s *Site) Arith(i int) (*TensorType, error) {
	t, err := s.Tensor(i)
	if err == nil && t.DType.IsStorage() {
		return nil, diag.Unsupported("infer-type", s.Op.Name,
			"operand %s has storage type %v, which is not computed in; cast it first", s.operand(i), t.DType)
	}
	return t, err
}

// Float returns the type of operand i, which must be a floating-point type that is computed in.
func (s *Site) Float(i int) (*TensorType, error) {
	t, err := s.Arith(i)
	if err == nil && !t.DType.IsFloat() {
		return nil, s.Illegal("operand %s has type %v, wanted a floating-point type", s.operand(i), t.DType)
	}
	return t, err
}

// Tensors returns the types of all operands, which must be tensors of one element type that is computed in.
func (s *Site) Tensors() ([]*TensorType, error) {
	all := make([]*TensorType, len(s.Types))
	for i := range s.Types {
		t, err := s.Arith(i)
		if err != nil {
			return nil, err
		}
		if i > 0 && t.DType != all[0].DType {
			return nil, s.Illegal("operand %s has element type %v, operand %s has %v",
				s.operand(i), t.DType, s.operand(0), all[0].DType)
		}
		all[i] = t
	}
	return all, nil
}

// factors returns the attributes and the operands of a product: of one element type, or floats of any types when that of the
// result is given and is a float.
func factors[T any](s *Site, out func(a *T) tensor.DType) (*T, []*TensorType, error) {
	a, err := attrsOf[T](s)
	if err != nil {
		return nil, nil, err
	}
	if out(a).IsFloat() {
		x, err := s.Float(0)
		if err != nil {
			return nil, nil, err
		}
		w, err := s.Float(1)
		return a, []*TensorType{x, w}, err
	}
	t, err := s.Tensors()
	return a, t, err
}

// Fields returns the tensor types of the tuple that is operand i.
func (s *Site) Fields(i int) ([]*TensorType, error) {
	tuple, ok := s.Types[i].(*TupleType)
	if !ok {
		return nil, s.Illegal("operand %s has type %v, wanted a tuple of tensors", s.operand(i), s.Types[i])
	}
	if len(tuple.Fields) == 0 {
		return nil, s.Illegal("operand %s is an empty tuple", s.operand(i))
	}
	field := &Site{Op: s.Op, Types: tuple.Fields, Attrs: s.Attrs}
	all := make([]*TensorType, len(tuple.Fields))
	for i := range all {
		t, err := field.Tensor(i)
		if err != nil {
			return nil, err
		}
		if i > 0 && t.DType != all[0].DType {
			return nil, s.Illegal("field %d has element type %v, field 0 has %v", i, t.DType, all[0].DType)
		}
		all[i] = t
	}
	return all, nil
}

// Result returns a tensor type, or an error when it is too large.
func (s *Site) Result(d tensor.DType, shape tensor.Shape) (Type, error) {
	for _, extent := range shape {
		if extent < 0 {
			return nil, s.Illegal("result would have shape %v", []int(shape))
		}
	}
	if n := shape.Elems(); n < 0 || n > maxElems {
		return nil, diag.Unsupported("infer-type", s.Op.Name, "result of shape %v is too large", shape)
	}
	return &TensorType{Shape: shape, DType: d}, nil
}

// Illegal returns an error that names the operator.
func (s *Site) Illegal(format string, args ...any) error {
	return diag.Invalid("infer-type", s.Op.Name, format, args...)
}

func (s *Site) operand(i int) string {
	if i < len(s.Op.Args) {
		return s.Op.Args[i]
	}
	return s.Op.Args[len(s.Op.Args)-1]
}

// attrsOf returns the attributes as the struct that the row declares.
func attrsOf[T any](s *Site) (*T, error) {
	a, ok := s.Attrs.(*T)
	if !ok || a == nil {
		return nil, diag.Internal("infer-type", s.Op.Name, "attributes have type %T, wanted %T", s.Attrs, a)
	}
	return a, nil
}

// operandOf returns the attributes and the first operand.
func operandOf[T any](s *Site) (*T, *TensorType, error) {
	a, err := attrsOf[T](s)
	if err != nil {
		return nil, nil, err
	}
	t, err := s.Tensor(0)
	return a, t, err
}

// operandsOf returns the attributes and all operands.
func operandsOf[T any](s *Site) (*T, []*TensorType, error) {
	a, err := attrsOf[T](s)
	if err != nil {
		return nil, nil, err
	}
	t, err := s.Tensors()
	return a, t, err
}

// axis returns an axis of a tensor of the given rank counted from the front; a negative one counts from the end.
func (s *Site) axis(axis, rank int) (int, error) {
	if axis < -rank || axis >= rank {
		return 0, s.Illegal("axis %d is outside rank %d", axis, rank)
	}
	return NormalAxis(axis, rank), nil
}

// NormalAxis returns axis counted from the front: a negative one counts from the end.
func NormalAxis(axis, rank int) int {
	if axis < 0 {
		return axis + rank
	}
	return axis
}

// axes returns a set of axes as a mask over the rank; a repeated axis is an error.
func (s *Site) axes(axes []int, rank int) ([]bool, error) {
	mask := make([]bool, rank)
	for _, axis := range axes {
		a, err := s.axis(axis, rank)
		if err != nil {
			return nil, err
		}
		if mask[a] {
			return nil, s.Illegal("axis %d is given twice in %v", axis, axes)
		}
		mask[a] = true
	}
	return mask, nil
}

// BroadcastShape returns the shape of an elementwise operation on shapes that align at their last axes; extents must
// be equal or 1. ok is false when they do not fit.
func BroadcastShape(shapes ...tensor.Shape) (out tensor.Shape, ok bool) {
	for _, s := range shapes {
		if len(s) > len(out) {
			grown := make(tensor.Shape, len(s))
			for i := range grown {
				grown[i] = 1
			}
			copy(grown[len(s)-len(out):], out)
			out = grown
		}
		for i, d := range s {
			switch at := len(out) - len(s) + i; {
			case out[at] == 1:
				out[at] = d
			case d != 1 && d != out[at]:
				return nil, false
			}
		}
	}
	if out == nil {
		out = tensor.Shape{}
	}
	return out, true
}

func (s *Site) broadcast(types ...*TensorType) (tensor.Shape, error) {
	shapes := make([]tensor.Shape, len(types))
	for i, t := range types {
		shapes[i] = t.Shape
	}
	out, ok := BroadcastShape(shapes...)
	if !ok {
		return nil, s.Illegal("shapes %v do not broadcast together", shapes)
	}
	return out, nil
}

// layout parses a layout and checks that a shape can have it; an empty one takes the fallback.
func (s *Site) layout(name, fallback string, shape tensor.Shape) (tensor.Layout, error) {
	if name == "" {
		name = fallback
	}
	l, err := tensor.ParseLayout(name)
	if err == nil {
		err = l.Fits(shape)
	}
	if err != nil {
		return l, s.Illegal("%v", err)
	}
	return l, nil
}

// count checks that an attribute list has n entries, none below least.
func (s *Site) count(name string, list []int, n, least int) error {
	if len(list) != n {
		return s.Illegal("%s=%v has %d entries, wanted %d", name, list, len(list), n)
	}
	for _, v := range list {
		if v < least || v > math.MaxInt32 {
			return s.Illegal("%s=%v has an entry outside %d…%d", name, list, least, math.MaxInt32)
		}
	}
	return nil
}

// sameFloat infers the type of the first operand, a floating-point tensor.
func sameFloat(s *Site) (Type, error) {
	t, err := s.Float(0)
	if err != nil {
		return nil, err
	}
	return t, nil
}

func ints(n, v int) []int {
	list := make([]int, n)
	for i := range list {
		list[i] = v
	}
	return list
}
