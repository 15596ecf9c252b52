package tensor

import (
	"fmt"
	"unsafe"
)

// Tensor is a dense row-major host array. Data may be a view of a mapped file: whoever did not make it must not
// write to it.
type Tensor struct {
	DType DType
	Shape Shape
	Data  []byte // DType.Bytes(Shape.Elems()) bytes
}

// New returns a zeroed tensor.
func New(d DType, s Shape) *Tensor {
	return &Tensor{DType: d, Shape: s, Data: make([]byte, d.Bytes(s.Elems()))}
}

// Elems returns the number of elements.
func (t *Tensor) Elems() int { return t.Shape.Elems() }

// Check returns an error when the data does not have the size that type and shape need.
func (t *Tensor) Check() error {
	n := t.Shape.Elems()
	if n < 0 {
		return fmt.Errorf("shape %v has no known size", t.Shape)
	}
	if want := t.DType.Bytes(n); len(t.Data) != want {
		return fmt.Errorf("shape %v of %v needs %d bytes, found %d", t.Shape, t.DType, want, len(t.Data))
	}
	return nil
}

// Native is a Go type whose memory is that of an element type.
type Native interface {
	~float32 | ~float64 | ~int8 | ~int16 | ~int32 | ~int64 | ~uint8 | ~uint16 | ~uint32 | ~uint64 | ~bool
}

// View returns the elements of t as a Go slice over the same memory. T must have the width of the element type;
// float16 and bfloat16 are viewed as uint16. It panics on a width that does not fit.
func View[T Native](t *Tensor) []T {
	var zero T
	size := int(unsafe.Sizeof(zero))
	if t.DType.Bits() != 8*size {
		panic(fmt.Sprintf("tensor: view of %v as %d-byte elements", t.DType, size))
	}
	if len(t.Data) == 0 {
		return nil
	}
	if uintptr(unsafe.Pointer(&t.Data[0]))%uintptr(size) != 0 {
		aligned := make([]T, t.Elems()) // a mapped file may hold a weight at an odd offset
		copy(unsafe.Slice((*byte)(unsafe.Pointer(&aligned[0])), len(t.Data)), t.Data)
		return aligned
	}
	return unsafe.Slice((*T)(unsafe.Pointer(&t.Data[0])), t.Elems())
}

// Of returns a tensor that holds a copy of values.
func Of[T Native](d DType, s Shape, values ...T) *Tensor {
	t := New(d, s)
	copy(View[T](t), values)
	return t
}
