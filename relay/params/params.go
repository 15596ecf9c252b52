// Package params reads and writes the parameter files that Apache TVM keeps beside a model (.params): arrays by name.
//
// A file is little endian throughout:
//
//	list   u64 0xF7E58D4F05049CB7, u64 reserved,
//	       u64 count, then each name: u64 length, bytes
//	       u64 count, then each array
//	array  u64 0xDD5E40F096B4A13F, u64 reserved, i32 device type, i32 device number, i32 rank,
//	       u8 type code, u8 bits, u16 lanes, i64 extents…, i64 size of the data, data
//
// The type codes are 0 int, 1 uint, 2 float and 4 bfloat; a bool is uint of 1 bit in a byte of its own. What is written
// has the device CPU 0 and zeros where the format reserves room.
package params

import (
	"encoding/binary"
	"io"
	"math"
	"unicode/utf8"

	"github.com/texel-ml/texel/diag"
	"github.com/texel-ml/texel/tensor"
)

const (
	listMagic  = 0xF7E58D4F05049CB7
	arrayMagic = 0xDD5E40F096B4A13F
	cpu        = 1 // the device type of what is written

	// maxRank bounds the axes of an array.
	maxRank = 64
	// Sizes in bytes of the smallest name and of the smallest array, against which counts are checked.
	leastName  = 8
	leastArray = 8 + 8 + 4 + 4 + 4 + 4 + 8
)

// Param is an array with its name.
type Param struct {
	Name  string
	Value *tensor.Tensor
}

// kind is an element type as the format writes it.
type kind struct{ code, bits uint8 }

var kinds = map[tensor.DType]kind{
	tensor.Int8: {0, 8}, tensor.Int16: {0, 16}, tensor.Int32: {0, 32}, tensor.Int64: {0, 64},
	tensor.Uint8: {1, 8}, tensor.Uint16: {1, 16}, tensor.Uint32: {1, 32}, tensor.Uint64: {1, 64}, tensor.Bool: {1, 1},
	tensor.Float16: {2, 16}, tensor.Float32: {2, 32}, tensor.Float64: {2, 64}, tensor.BFloat16: {4, 16},
}

var dtypes = func() map[kind]tensor.DType {
	m := map[kind]tensor.DType{}
	for d, k := range kinds {
		m[k] = d
	}
	return m
}()

// Read returns the arrays of a file in their order. They are views of data, which must not change. Every count and size
// is checked against the bytes that are there before room is made for it. Errors are diag.ErrInvalid for a file that is
// cut off or damaged, names included that are not text or stand twice, and diag.ErrUnsupported for an element type that
// the format has and Texel does not.
func Read(data []byte) ([]Param, error) {
	r := &reader{rest: data, size: len(data)}
	if magic := r.u64(); r.err == nil && magic != listMagic {
		return nil, diag.Invalid("read-params", "", "starts with %#x, wanted %#x: it is no list of parameters", magic, uint64(listMagic))
	}
	r.u64()
	names := make([]string, r.count("names", leastName))
	seen := make(map[string]bool, len(names))
	for i := range names {
		names[i] = string(r.bytes("a name", r.u64()))
		if r.err == nil && (!utf8.ValidString(names[i]) || seen[names[i]]) {
			r.fail("the name %q is not text or stands twice", names[i])
		}
		seen[names[i]] = true
	}
	n := r.count("arrays", leastArray)
	if r.err == nil && n != len(names) {
		r.fail("%d arrays for %d names", n, len(names))
	}
	list := make([]Param, 0, len(names))
	for i := 0; i < n && r.err == nil; i++ {
		list = append(list, Param{names[i], r.array(names[i])})
	}
	if r.err == nil && len(r.rest) > 0 {
		r.fail("%d bytes follow the last array", len(r.rest))
	}
	if r.err != nil {
		return nil, r.err
	}
	return list, nil
}

// ReadArray returns the one array that data holds, as a view; errors are those of Read.
func ReadArray(data []byte) (*tensor.Tensor, error) {
	r := &reader{rest: data, size: len(data)}
	t := r.array("array")
	if r.err == nil && len(r.rest) > 0 {
		r.fail("%d bytes follow the array", len(r.rest))
	}
	if r.err != nil {
		return nil, r.err
	}
	return t, nil
}

// reader takes a file from its front; behind the first error everything is zero.
type reader struct {
	rest []byte
	size int // of the whole file
	err  error
}

func (r *reader) fail(format string, args ...any) {
	if r.err == nil {
		r.err = diag.Invalid("read-params", "", format, args...)
	}
}

// bytes takes n bytes of something.
func (r *reader) bytes(what string, n uint64) []byte {
	if r.err == nil && n > uint64(len(r.rest)) {
		r.fail("%s has %d bytes, but %d are left at byte %d", what, n, len(r.rest), r.size-len(r.rest))
	}
	if r.err != nil {
		return nil
	}
	b := r.rest[:n:n]
	r.rest = r.rest[n:]
	return b
}

func (r *reader) u64() uint64 {
	if b := r.bytes("a number", 8); b != nil {
		return binary.LittleEndian.Uint64(b)
	}
	return 0
}

func (r *reader) u32() uint32 {
	if b := r.bytes("a number", 4); b != nil {
		return binary.LittleEndian.Uint32(b)
	}
	return 0
}

// count takes a number of things, each of which needs at least the given bytes.
func (r *reader) count(what string, least int) int {
	n := r.u64()
	if r.err == nil && n > uint64(len(r.rest)/least) {
		r.fail("%d %s need more than the %d bytes that are left", n, what, len(r.rest))
	}
	if r.err != nil {
		return 0
	}
	return int(n)
}

// array takes one array.
func (r *reader) array(name string) *tensor.Tensor {
	if magic := r.u64(); r.err == nil && magic != arrayMagic {
		r.fail("%q starts with %#x, wanted %#x: it is no array", name, magic, uint64(arrayMagic))
	}
	r.u64()          // reserved
	r.bytes("", 4+4) // the device
	rank := r.u32()
	head := r.bytes("a type", 4)
	if r.err == nil && rank > maxRank {
		r.fail("%q has %d axes, wanted at most %d", name, rank, maxRank)
	}
	if r.err != nil {
		return nil
	}
	k, lanes := kind{head[0], head[1]}, binary.LittleEndian.Uint16(head[2:])
	d, ok := dtypes[k]
	if !ok || lanes != 1 {
		r.err = diag.Unsupported("read-params", name, "element type of code %d with %d bits and %d lanes", k.code, k.bits, lanes)
		return nil
	}
	shape := make(tensor.Shape, rank)
	for i := range shape {
		extent := r.u64()
		if extent > math.MaxInt32 {
			r.fail("%q has an axis of extent %d", name, int64(extent))
		}
		shape[i] = int(extent)
	}
	size := r.u64()
	if n := shape.Elems(); r.err == nil && (n < 0 || n > r.size || uint64(d.Bytes(n)) != size) {
		r.fail("%q has %d bytes of data, which does not fit %v of shape %v", name, size, d, shape)
	}
	t := &tensor.Tensor{DType: d, Shape: shape, Data: r.bytes("the data of "+name, size)}
	if d == tensor.Bool && r.err == nil {
		for _, b := range t.Data {
			if b > 1 {
				r.fail("%q holds %d, wanted 0 or 1 in a bool", name, b)
				break
			}
		}
	}
	return t
}

// Write writes a file of the given arrays. Errors are diag.ErrUnsupported for an element type that the format does not
// have (float8, float4, integers below a byte), diag.ErrInvalid for data that does not fit its shape, and those of w.
func Write(w io.Writer, list []Param) error {
	head := binary.LittleEndian.AppendUint64(nil, listMagic)
	head = binary.LittleEndian.AppendUint64(head, 0)
	head = binary.LittleEndian.AppendUint64(head, uint64(len(list)))
	for _, p := range list {
		head = binary.LittleEndian.AppendUint64(head, uint64(len(p.Name)))
		head = append(head, p.Name...)
	}
	head = binary.LittleEndian.AppendUint64(head, uint64(len(list)))
	if _, err := w.Write(head); err != nil {
		return err
	}
	for _, p := range list {
		if err := WriteArray(w, p.Name, p.Value); err != nil {
			return err
		}
	}
	return nil
}

// WriteArray writes one array; name stands in errors, which are those of Write.
func WriteArray(w io.Writer, name string, t *tensor.Tensor) error {
	k, ok := kinds[t.DType]
	if !ok {
		return diag.Unsupported("write-params", name, "the format has no element type %v", t.DType)
	}
	if err := t.Check(); err != nil {
		return diag.Invalid("write-params", name, "the array is damaged").By(err)
	}
	b := binary.LittleEndian.AppendUint64(nil, arrayMagic)
	b = binary.LittleEndian.AppendUint64(b, 0)
	for _, v := range []uint32{cpu, 0, uint32(len(t.Shape))} {
		b = binary.LittleEndian.AppendUint32(b, v)
	}
	b = append(b, k.code, k.bits, 1, 0)
	for _, extent := range t.Shape {
		b = binary.LittleEndian.AppendUint64(b, uint64(extent))
	}
	b = binary.LittleEndian.AppendUint64(b, uint64(len(t.Data)))
	if _, err := w.Write(b); err != nil {
		return err
	}
	_, err := w.Write(t.Data)
	return err
}
