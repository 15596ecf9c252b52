// Package npy reads and writes NumPy's array files: .npy, one array, and .npz, an archive of them.
//
// Arrays come back dense, little endian and in row-major order, whatever the file has. Element types that NumPy does
// not have are written as the next one that holds them: bfloat16, float8 and float4 as float32, integers below a byte
// as int8 or uint8.
package npy

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/texel-ml/texel/diag"
	"github.com/texel-ml/texel/tensor"
)

const magic = "\x93NUMPY"

// maxHeader bounds the text that describes an array.
const maxHeader = 1 << 16

var names = map[string]tensor.DType{
	"f2": tensor.Float16, "f4": tensor.Float32, "f8": tensor.Float64, "i1": tensor.Int8, "i2": tensor.Int16, "i4": tensor.Int32,
	"i8": tensor.Int64, "u1": tensor.Uint8, "u2": tensor.Uint16, "u4": tensor.Uint32, "u8": tensor.Uint64, "b1": tensor.Bool,
}

// ReadFile reads the array in the file at path.
func ReadFile(path string) (*tensor.Tensor, error) {
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return nil, diag.Invalid("read-npy", path, "is not a regular file")
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, diag.Invalid("read-npy", path, "cannot read the array").By(err)
	}
	defer f.Close()
	return Read(f, path)
}

// Read reads one array; name stands in errors. What it allocates grows with what r really holds.
func Read(r io.Reader, name string) (*tensor.Tensor, error) {
	bad := func(format string, args ...any) error { return diag.Invalid("read-npy", name, format, args...) }
	head := make([]byte, 8)
	if _, err := io.ReadFull(r, head); err != nil || string(head[:6]) != magic {
		return nil, bad("is not an array file of NumPy")
	}
	length := 0
	switch {
	case head[6] == 1:
		var n uint16
		if err := binary.Read(r, binary.LittleEndian, &n); err != nil {
			return nil, bad("ends within its header")
		}
		length = int(n)
	case head[6] == 2 || head[6] == 3:
		var n uint32
		if err := binary.Read(r, binary.LittleEndian, &n); err != nil || n > maxHeader {
			return nil, bad("its header is cut off or longer than %d bytes", maxHeader)
		}
		length = int(n)
	default:
		return nil, bad("format version %d.%d, wanted 1 to 3", head[6], head[7])
	}
	text := make([]byte, length)
	if _, err := io.ReadFull(r, text); err != nil {
		return nil, bad("ends within its header")
	}
	h, err := parseHeader(string(text))
	if err != nil {
		return nil, bad("%v in its header %q", err, strings.TrimSpace(string(text)))
	}
	elems := h.shape.Elems()
	if elems < 0 || elems > 1<<40 {
		return nil, bad("shape %v is larger than memory", h.shape)
	}
	want := h.dtype.Bytes(elems)
	data, err := io.ReadAll(io.LimitReader(r, int64(want)))
	if err != nil {
		return nil, bad("cannot be read: %v", err)
	}
	if len(data) != want {
		return nil, bad("shape %v of %v needs %d bytes, found %d", h.shape, h.dtype, want, len(data))
	}
	t := &tensor.Tensor{DType: h.dtype, Shape: h.shape, Data: data}
	if h.big {
		swap(data, h.dtype.Bits()/8)
	}
	if h.fortran {
		t = transpose(t)
	}
	return t, nil
}

type header struct {
	dtype   tensor.DType
	shape   tensor.Shape
	fortran bool
	big     bool
}

// parseHeader reads a Python dictionary such as {'descr': '<f4', 'fortran_order': False, 'shape': (1, 3), }.
func parseHeader(text string) (header, error) {
	var h header
	descr, err := field(text, "descr")
	if err != nil {
		return h, err
	}
	end := strings.IndexByte(descr[min(1, len(descr)):], '\'')
	if len(descr) < 4 || descr[0] != '\'' || end < 2 {
		return h, errors.New("a type that is not a plain one")
	}
	name := descr[1 : end+1]
	var ok bool
	if h.dtype, ok = names[name[1:]]; !ok || !strings.ContainsRune("<>|=", rune(name[0])) {
		return h, fmt.Errorf("element type %q", name)
	}
	h.big = name[0] == '>'
	order, err := field(text, "fortran_order")
	if err != nil {
		return h, err
	}
	switch {
	case strings.HasPrefix(order, "True"):
		h.fortran = true
	case !strings.HasPrefix(order, "False"):
		return h, errors.New("an order that is neither True nor False")
	}
	shape, err := field(text, "shape")
	if err != nil {
		return h, err
	}
	inner, _, closed := strings.Cut(strings.TrimPrefix(shape, "("), ")")
	if !strings.HasPrefix(shape, "(") || !closed {
		return h, errors.New("a shape that is not a tuple")
	}
	h.shape = tensor.Shape{}
	for _, part := range strings.Split(inner, ",") {
		if part = strings.TrimSpace(part); part == "" {
			continue
		}
		n, err := strconv.Atoi(strings.TrimSuffix(part, "L"))
		if err != nil || n < 0 || len(h.shape) == 64 {
			return h, fmt.Errorf("extent %q", part)
		}
		h.shape = append(h.shape, n)
	}
	return h, nil
}

// field returns what follows the key in the dictionary.
func field(text, key string) (string, error) {
	_, rest, ok := strings.Cut(text, "'"+key+"'")
	rest, colon := strings.CutPrefix(strings.TrimSpace(rest), ":")
	if !ok || !colon {
		return "", fmt.Errorf("no %s", key)
	}
	return strings.TrimSpace(rest), nil
}

func swap(data []byte, size int) {
	for i := 0; size > 1 && i+size <= len(data); i += size {
		slices.Reverse(data[i : i+size])
	}
}

// transpose brings an array in column-major order into row-major order.
func transpose(t *tensor.Tensor) *tensor.Tensor {
	out := tensor.New(t.DType, t.Shape)
	size := t.DType.Bits() / 8
	index := make([]int, len(t.Shape))
	for to := range t.Elems() {
		from, step := 0, 1
		for a, i := range index {
			from += i * step
			step *= t.Shape[a]
		}
		copy(out.Data[to*size:(to+1)*size], t.Data[from*size:])
		for a := len(index) - 1; a >= 0; a-- {
			if index[a]++; index[a] < t.Shape[a] {
				break
			}
			index[a] = 0
		}
	}
	return out
}

// Write writes one array.
func Write(w io.Writer, t *tensor.Tensor) error {
	t = plain(t)
	descr := ""
	for name, d := range names {
		if d == t.DType {
			descr = "<" + name
			if d.Bits() == 8 {
				descr = "|" + name
			}
		}
	}
	var shape strings.Builder
	for i, n := range t.Shape {
		if i > 0 {
			shape.WriteByte(' ')
		}
		fmt.Fprintf(&shape, "%d,", n)
	}
	dims := shape.String()
	if len(t.Shape) > 1 {
		dims = strings.TrimSuffix(dims, ",")
	}
	text := fmt.Sprintf("{'descr': '%s', 'fortran_order': False, 'shape': (%s), }", descr, dims)
	for (10+len(text)+1)%64 != 0 {
		text += " "
	}
	text += "\n"
	head := binary.LittleEndian.AppendUint16([]byte(magic+"\x01\x00"), uint16(len(text)))
	if _, err := w.Write(append(head, text...)); err != nil {
		return err
	}
	_, err := w.Write(t.Data)
	return err
}

// plain returns t in an element type that NumPy has.
func plain(t *tensor.Tensor) *tensor.Tensor {
	to := t.DType
	switch {
	case t.DType == tensor.BFloat16, t.DType.IsFloat() && t.DType.Bits() <= 8:
		to = tensor.Float32
	case t.DType.Bits() < 8 && t.DType.Kind() == tensor.Signed:
		to = tensor.Int8
	case t.DType.Bits() < 8:
		to = tensor.Uint8
	}
	if to == t.DType {
		return t
	}
	w := tensor.Widen(t)
	w.DType = to
	return w.Narrow()
}

// Named is an array of an archive.
type Named struct {
	Name   string
	Tensor *tensor.Tensor
}

// ReadArchive reads the arrays of the .npz file at path, in the file's order.
func ReadArchive(path string) ([]Named, error) {
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return nil, diag.Invalid("read-npz", path, "is not a regular file")
	}
	z, err := zip.OpenReader(path)
	if err != nil {
		return nil, diag.Invalid("read-npz", path, "cannot read the archive").By(err)
	}
	defer z.Close()
	var all []Named
	for _, f := range z.File {
		name, ok := strings.CutSuffix(f.Name, ".npy")
		if !ok {
			return nil, diag.Invalid("read-npz", path, "entry %q is not an array", f.Name)
		}
		r, err := f.Open()
		if err != nil {
			return nil, diag.Invalid("read-npz", path, "entry %q", f.Name).By(err)
		}
		t, err := Read(r, path+": "+name)
		r.Close()
		if err != nil {
			return nil, err
		}
		all = append(all, Named{name, t})
	}
	return all, nil
}

// WriteArchive writes arrays as an .npz archive without compression.
func WriteArchive(w io.Writer, arrays []Named) error {
	z := zip.NewWriter(w)
	for _, a := range arrays {
		e, err := z.CreateHeader(&zip.FileHeader{Name: a.Name + ".npy", Method: zip.Store})
		if err != nil {
			return err
		}
		if err := Write(e, a.Tensor); err != nil {
			return err
		}
	}
	return z.Close()
}

// Bytes returns the .npy form of t.
func Bytes(t *tensor.Tensor) []byte {
	var b bytes.Buffer
	if err := Write(&b, t); err != nil {
		panic(err) // a buffer takes all
	}
	return b.Bytes()
}
