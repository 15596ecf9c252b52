package relay

import (
	"strings"

	"github.com/texel-ml/texel/tensor"
)

// Type is the type of an expression: *TensorType, *TupleType or *FuncType.
type Type interface {
	String() string
	isType()
}

// TensorType is a tensor with an element type and a shape, whose axes may be tensor.Unknown before binding.
type TensorType struct {
	Shape tensor.Shape
	DType tensor.DType
}

// TupleType is a fixed list of types.
type TupleType struct{ Fields []Type }

// FuncType is the type of a function.
type FuncType struct {
	Params []Type
	Result Type
}

func (*TensorType) isType() {}
func (*TupleType) isType()  {}
func (*FuncType) isType()   {}

// String prints Tensor[(1, 3), float32].
func (t *TensorType) String() string {
	return "Tensor[" + t.Shape.String() + ", " + t.DType.String() + "]"
}

// String prints (A, B), and (A,) for a single field.
func (t *TupleType) String() string {
	if len(t.Fields) == 1 {
		return "(" + t.Fields[0].String() + ",)"
	}
	return "(" + joinTypes(t.Fields) + ")"
}

// String prints fn (A, B) -> R.
func (t *FuncType) String() string { return "fn (" + joinTypes(t.Params) + ") -> " + t.Result.String() }

func joinTypes(list []Type) string {
	var b strings.Builder
	for i, t := range list {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(t.String())
	}
	return b.String()
}

// TypeEqual reports whether a and b are the same type.
func TypeEqual(a, b Type) bool {
	switch a := a.(type) {
	case *TensorType:
		b, ok := b.(*TensorType)
		return ok && a.DType == b.DType && a.Shape.Equal(b.Shape)
	case *TupleType:
		b, ok := b.(*TupleType)
		return ok && typesEqual(a.Fields, b.Fields)
	case *FuncType:
		b, ok := b.(*FuncType)
		return ok && typesEqual(a.Params, b.Params) && TypeEqual(a.Result, b.Result)
	}
	return false
}

func typesEqual(a, b []Type) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if !TypeEqual(a[i], b[i]) {
			return false
		}
	}
	return true
}
