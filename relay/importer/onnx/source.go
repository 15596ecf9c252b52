package onnx

import (
	"encoding/binary"
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"strconv"

	"github.com/texel-ml/texel/diag"
	pb "github.com/texel-ml/texel/relay/importer/onnx/onnxpb"
	"github.com/texel-ml/texel/tensor"
)

// source is the bytes of a model and of the files beside it.
type source struct {
	name     string
	data     []byte
	dir      string // the model's folder, "" when the model is not a file
	root     *os.Root
	external map[string][]byte
	closers  []io.Closer
}

func (s *source) close() {
	for _, c := range s.closers {
		c.Close()
	}
}

// dtypes are the element types by their number in the format.
var dtypes = map[int32]tensor.DType{
	1: tensor.Float32, 2: tensor.Uint8, 3: tensor.Int8, 4: tensor.Uint16, 5: tensor.Int16, 6: tensor.Int32, 7: tensor.Int64,
	9: tensor.Bool, 10: tensor.Float16, 11: tensor.Float64, 12: tensor.Uint32, 13: tensor.Uint64, 16: tensor.BFloat16,
	17: tensor.Float8E4M3FN, 18: tensor.Float8E4M3FNUZ, 19: tensor.Float8E5M2, 20: tensor.Float8E5M2FNUZ,
	21: tensor.Uint4, 22: tensor.Int4, 23: tensor.Float4E2M1, 24: tensor.Float8E8M0, 25: tensor.Uint2, 26: tensor.Int2,
}

// otherTypes are the element types that are not done here.
var otherTypes = map[int32]string{8: "string", 14: "complex64", 15: "complex128", 27: "float6e2m3", 28: "float6e3m2"}

// dtype returns the element type with the format's number.
func dtype(number int32, what string, pos diag.Pos) (tensor.DType, error) {
	if d, ok := dtypes[number]; ok {
		return d, nil
	}
	if name, ok := otherTypes[number]; ok {
		return tensor.Invalid, diag.Unsupported(step, what, "elements of type %s are not supported", name).At(pos)
	}
	return tensor.Invalid, diag.Invalid(step, what, "element type %d does not exist", number).At(pos)
}

// tensor returns the tensor that p describes. Raw and external data are views, other data is converted.
func (s *source) tensor(p *pb.TensorProto, what string, pos diag.Pos) (*tensor.Tensor, error) {
	d, err := dtype(p.GetDataType(), what, pos)
	if err != nil {
		return nil, err
	}
	shape := tensor.Shape{}
	for _, dim := range p.GetDims() {
		if dim < 0 || dim > math.MaxInt {
			return nil, diag.Invalid(step, what, "shape %v: dimension %d is out of range", p.GetDims(), dim).At(pos)
		}
		shape = append(shape, int(dim))
	}
	elems := shape.Elems()
	if elems < 0 || elems > math.MaxInt/64-1 {
		return nil, diag.Invalid(step, what, "shape %v of %v is larger than memory", shape, d).At(pos)
	}
	want := d.Bytes(elems)
	t := &tensor.Tensor{DType: d, Shape: shape}
	switch {
	case p.GetDataLocation() == 1:
		t.Data, err = s.externalData(p.GetExternalData(), want, what, pos)
	case p.RawOffset != nil:
		lo, size := p.GetRawOffset(), p.GetRawSize()
		if lo > uint64(len(s.data)) || size > uint64(len(s.data))-lo {
			return nil, diag.Internal(step, what, "raw data lies outside the file").At(pos)
		}
		t.Data = s.data[lo : lo+size : lo+size]
	default:
		t.Data, err = typedData(p, d, elems, what, pos)
	}
	if err != nil {
		return nil, err
	}
	if len(t.Data) != want {
		return nil, diag.Invalid(step, what, "shape %v of %v needs %d bytes, found %d bytes of data", shape, d, want, len(t.Data)).At(pos)
	}
	if d == tensor.Bool {
		t.Data = canonicalBools(t.Data)
	}
	return t, nil
}

// canonicalBools returns data with every byte 0 or 1.
func canonicalBools(data []byte) []byte {
	for _, b := range data {
		if b > 1 {
			out := make([]byte, len(data))
			for i, b := range data {
				out[i] = min(b, 1)
			}
			return out
		}
	}
	return data
}

// typedData packs the fields that hold a number an element. Types below a byte are packed as they are, one byte an
// entry of int32_data.
func typedData(p *pb.TensorProto, d tensor.DType, elems int, what string, pos diag.Pos) ([]byte, error) {
	fail := func(field string, found, wanted int) error {
		return diag.Invalid(step, what, "shape %v of %v needs %d entries of %s (%d bytes), found %d (%d bytes)",
			tensor.Shape(intsOf(p.GetDims())), d, wanted, field, d.Bytes(elems), found, found*max(d.Bits(), 8)/8).At(pos)
	}
	out := []byte{}
	switch d {
	case tensor.Float32:
		if v := p.GetFloatData(); len(v) == elems {
			for _, x := range v {
				out = binary.LittleEndian.AppendUint32(out, math.Float32bits(x))
			}
			return out, nil
		}
		return nil, fail("float_data", len(p.GetFloatData()), elems)
	case tensor.Float64:
		if v := p.GetDoubleData(); len(v) == elems {
			for _, x := range v {
				out = binary.LittleEndian.AppendUint64(out, math.Float64bits(x))
			}
			return out, nil
		}
		return nil, fail("double_data", len(p.GetDoubleData()), elems)
	case tensor.Int64:
		if v := p.GetInt64Data(); len(v) == elems {
			for _, x := range v {
				out = binary.LittleEndian.AppendUint64(out, uint64(x))
			}
			return out, nil
		}
		return nil, fail("int64_data", len(p.GetInt64Data()), elems)
	case tensor.Uint32, tensor.Uint64:
		v := p.GetUint64Data()
		if len(v) != elems {
			return nil, fail("uint64_data", len(v), elems)
		}
		for _, x := range v {
			out = appendBits(out, x, d.Bits())
		}
		return out, nil
	}
	v, wanted := p.GetInt32Data(), elems
	if d.Bits() < 8 {
		wanted = d.Bytes(elems)
	}
	if len(v) != wanted {
		return nil, fail("int32_data", len(v), wanted)
	}
	for _, x := range v {
		if bits := max(d.Bits(), 8); bits < 32 && (x < -(1<<(bits-1)) || x >= 1<<bits) {
			return nil, diag.Invalid(step, what, "%d in int32_data does not fit %v", x, d).At(pos)
		}
		out = appendBits(out, uint64(uint32(x)), max(d.Bits(), 8))
	}
	return out, nil
}

func appendBits(out []byte, x uint64, bits int) []byte {
	for b := 0; b < bits; b += 8 {
		out = append(out, byte(x>>b))
	}
	return out
}

// externalData returns the bytes of a tensor that lies in another file, which must be inside the model's folder.
func (s *source) externalData(entries []*pb.StringStringEntryProto, want int, what string, pos diag.Pos) ([]byte, error) {
	location, offset, length := "", 0, want
	for _, e := range entries {
		var err error
		switch e.GetKey() {
		case "location":
			location = e.GetValue()
		case "offset":
			offset, err = strconv.Atoi(e.GetValue())
		case "length":
			length, err = strconv.Atoi(e.GetValue())
		}
		if err != nil || offset < 0 || length < 0 {
			return nil, diag.Invalid(step, what, "external data: %s %q is not a number of bytes", e.GetKey(), e.GetValue()).At(pos)
		}
	}
	data, err := s.open(location, what, pos)
	if err != nil {
		return nil, err
	}
	if offset > len(data) || length > len(data)-offset {
		return nil, diag.Invalid(step, what, "external data %q has %d bytes, wanted %d at offset %d", location, len(data), length, offset).At(pos)
	}
	return data[offset : offset+length : offset+length], nil
}

func (s *source) open(location, what string, pos diag.Pos) ([]byte, error) {
	if s.dir == "" {
		return nil, diag.Invalid(step, what, "its data is in %q, but the model is not a file and has no folder", location).At(pos)
	}
	if !filepath.IsLocal(location) {
		return nil, diag.Invalid(step, what, "external data location %q leaves the model's folder", location).At(pos)
	}
	location = filepath.Clean(location)
	if data, ok := s.external[location]; ok {
		return data, nil
	}
	if s.root == nil {
		root, err := os.OpenRoot(s.dir)
		if err != nil {
			return nil, diag.Invalid(step, what, "cannot open the model's folder").By(err).At(pos)
		}
		s.root, s.external, s.closers = root, map[string][]byte{}, append(s.closers, root)
	}
	info, err := s.root.Stat(location) // Root refuses symbolic links that leave the folder
	if err == nil && !info.Mode().IsRegular() {
		return nil, diag.Invalid(step, what, "external data location %q is not a regular file", location).At(pos)
	}
	var f *os.File
	if err == nil {
		f, err = s.root.Open(location)
	}
	if err != nil {
		if errors.Is(err, os.ErrNotExist) {
			return nil, diag.Invalid(step, what, "external data file %q does not exist beside the model", location).At(pos)
		}
		return nil, diag.Invalid(step, what, "external data location %q cannot be opened inside the model's folder", location).By(err).At(pos)
	}
	defer f.Close()
	data, closer, err := mapOpen(f)
	if err != nil {
		return nil, diag.Invalid(step, what, "external data file %q cannot be mapped", location).By(err).At(pos)
	}
	s.external[location], s.closers = data, append(s.closers, closer)
	return data, nil
}

// sparse returns the dense tensor of a sparse one: values of shape (N,) at indices of shape (N,), flat, or (N, rank).
func (s *source) sparse(p *pb.SparseTensorProto, what string, pos diag.Pos) (*tensor.Tensor, error) {
	values, err := s.tensor(p.GetValues(), what, pos)
	if err != nil {
		return nil, err
	}
	indices, err := s.tensor(p.GetIndices(), what+" (indices)", pos)
	if err != nil {
		return nil, err
	}
	shape := tensor.Shape(intsOf(p.GetDims()))
	if !shape.Known() {
		return nil, diag.Invalid(step, what, "shape %v of a sparse tensor", shape).At(pos)
	}
	elems, n, rank := shape.Elems(), values.Elems(), len(shape)
	if elems < 0 || values.DType.Bits()/8*elems > 64*(len(s.data)+1<<20) || values.DType.Bits() < 8 {
		return nil, diag.Unsupported(step, what, "a sparse tensor of shape %v of %v", shape, values.DType).At(pos)
	}
	flat := indices.Shape.Equal(tensor.Shape{n})
	if indices.DType != tensor.Int64 || !flat && !indices.Shape.Equal(tensor.Shape{n, rank}) {
		return nil, diag.Invalid(step, what, "%d values of a sparse tensor of shape %v with indices of shape %v of %v", n, shape, indices.Shape, indices.DType).At(pos)
	}
	out, size, strides := tensor.New(values.DType, shape), values.DType.Bits()/8, shape.Strides()
	at := tensor.View[int64](indices)
	for i := range n {
		to := 0
		if flat {
			to = int(at[i])
		} else {
			for a := range rank {
				x := at[i*rank+a]
				if x < 0 || x >= int64(shape[a]) {
					return nil, diag.Invalid(step, what, "index %d is outside axis %d of extent %d", x, a, shape[a]).At(pos)
				}
				to += int(x) * strides[a]
			}
		}
		if to < 0 || to >= elems {
			return nil, diag.Invalid(step, what, "index %d is outside %d elements", to, elems).At(pos)
		}
		copy(out.Data[to*size:(to+1)*size], values.Data[i*size:])
	}
	return out, nil
}

func intsOf(list []int64) []int {
	out := make([]int, len(list))
	for i, v := range list {
		out[i] = int(v)
	}
	return out
}
