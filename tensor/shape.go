package tensor

import (
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Shape is the extent of each axis, outermost first. A scalar has an empty shape. Unknown marks an axis whose
// extent is not known before it is bound.
type Shape []int

// Unknown is the extent of an axis that is not known yet.
const Unknown = -1

// Elems returns the number of elements. It returns -1 when an axis is Unknown or the product overflows.
func (s Shape) Elems() int {
	n := 1
	for _, d := range s {
		if d < 0 {
			return -1
		}
		if d != 0 && n > math.MaxInt/d {
			return -1
		}
		n *= d
	}
	return n
}

// Known reports whether every axis has a known extent.
func (s Shape) Known() bool { return !slices.ContainsFunc(s, func(d int) bool { return d < 0 }) }

// Equal reports whether s and o have the same rank and extents.
func (s Shape) Equal(o Shape) bool { return slices.Equal(s, o) }

// Clone returns a copy that shares nothing with s.
func (s Shape) Clone() Shape { return append(Shape{}, s...) }

// Strides returns the row-major strides of s in elements.
func (s Shape) Strides() []int {
	strides := make([]int, len(s))
	step := 1
	for i := len(s) - 1; i >= 0; i-- {
		strides[i] = step
		step *= s[i]
	}
	return strides
}

// String prints the shape as Relay text does: (1, 3, 224, 224), (5,) and ().
func (s Shape) String() string {
	var b strings.Builder
	b.WriteByte('(')
	for i, d := range s {
		if i > 0 {
			b.WriteString(", ")
		}
		if d < 0 {
			b.WriteByte('?')
		} else {
			b.WriteString(strconv.Itoa(d))
		}
	}
	if len(s) == 1 {
		b.WriteByte(',')
	}
	b.WriteByte(')')
	return b.String()
}

// MarshalJSON prints the shape as a list, a scalar's as an empty one.
func (s Shape) MarshalJSON() ([]byte, error) {
	if len(s) == 0 {
		return []byte("[]"), nil
	}
	return json.Marshal([]int(s))
}
