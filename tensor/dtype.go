// Package tensor holds what every other package agrees on: element types, shapes, layouts and host arrays.
//
// A host array is little endian and dense in row-major order; types narrower than a byte are bit-packed, the
// first element in the low bits. Nothing here knows of graphs, loops or devices.
package tensor

import "fmt"

// DType is the type of one element.
type DType uint8

// The element types. The float8, float4 and the integer types below eight bits are storage types: they are
// converted, never computed in.
const (
	Invalid DType = iota
	Float32
	Float16
	BFloat16
	Float64
	Int8
	Int16
	Int32
	Int64
	Uint8
	Uint16
	Uint32
	Uint64
	Bool
	Float8E4M3FN
	Float8E4M3FNUZ
	Float8E5M2
	Float8E5M2FNUZ
	Float8E8M0
	Float4E2M1
	Int4
	Uint4
	Int2
	Uint2
)

// Kind groups element types by their arithmetic.
type Kind uint8

// The kinds.
const (
	NoKind Kind = iota
	Float
	Signed
	Unsigned
	Boolean
)

type dtypeInfo struct {
	name string
	bits int
	kind Kind
}

var dtypes = [...]dtypeInfo{
	Invalid:        {"invalid", 0, NoKind},
	Float32:        {"float32", 32, Float},
	Float16:        {"float16", 16, Float},
	BFloat16:       {"bfloat16", 16, Float},
	Float64:        {"float64", 64, Float},
	Int8:           {"int8", 8, Signed},
	Int16:          {"int16", 16, Signed},
	Int32:          {"int32", 32, Signed},
	Int64:          {"int64", 64, Signed},
	Uint8:          {"uint8", 8, Unsigned},
	Uint16:         {"uint16", 16, Unsigned},
	Uint32:         {"uint32", 32, Unsigned},
	Uint64:         {"uint64", 64, Unsigned},
	Bool:           {"bool", 8, Boolean},
	Float8E4M3FN:   {"float8_e4m3fn", 8, Float},
	Float8E4M3FNUZ: {"float8_e4m3fnuz", 8, Float},
	Float8E5M2:     {"float8_e5m2", 8, Float},
	Float8E5M2FNUZ: {"float8_e5m2fnuz", 8, Float},
	Float8E8M0:     {"float8_e8m0fnu", 8, Float},
	Float4E2M1:     {"float4_e2m1", 4, Float},
	Int4:           {"int4", 4, Signed},
	Uint4:          {"uint4", 4, Unsigned},
	Int2:           {"int2", 2, Signed},
	Uint2:          {"uint2", 2, Unsigned},
}

// DTypes returns every element type, Invalid left out.
func DTypes() []DType {
	all := make([]DType, 0, len(dtypes)-1)
	for d := range dtypes[1:] {
		all = append(all, DType(d+1))
	}
	return all
}

// ParseDType returns the element type named s, as String prints it.
func ParseDType(s string) (DType, error) {
	for d, info := range dtypes {
		if info.name == s && d != int(Invalid) {
			return DType(d), nil
		}
	}
	return Invalid, fmt.Errorf("unknown element type %q", s)
}

// String returns the name of d, for example "float32".
func (d DType) String() string {
	if int(d) < len(dtypes) {
		return dtypes[d].name
	}
	return fmt.Sprintf("dtype(%d)", uint8(d))
}

// Bits returns the width of one element in bits. A bool takes a byte.
func (d DType) Bits() int {
	if int(d) < len(dtypes) {
		return dtypes[d].bits
	}
	return 0
}

// Kind returns the arithmetic of d.
func (d DType) Kind() Kind {
	if int(d) < len(dtypes) {
		return dtypes[d].kind
	}
	return NoKind
}

// IsFloat reports whether d is a floating-point type.
func (d DType) IsFloat() bool { return d.Kind() == Float }

// IsInt reports whether d is a signed or unsigned integer type; bool is not.
func (d DType) IsInt() bool { return d.Kind() == Signed || d.Kind() == Unsigned }

// IsStorage reports whether d is only stored and converted, never computed in.
func (d DType) IsStorage() bool { return d >= Float8E4M3FN }

// Bytes returns the size of n elements in bytes, packed types rounded up to a whole byte.
func (d DType) Bytes(n int) int { return (n*d.Bits() + 7) / 8 }

// MarshalText makes a DType print as its name in JSON.
func (d DType) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalText reads the name of an element type.
func (d *DType) UnmarshalText(text []byte) (err error) {
	*d, err = ParseDType(string(text))
	return err
}
