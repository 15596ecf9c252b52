package texture

import (
	"strconv"

	"github.com/texel-ml/texel/diag"
	"github.com/texel-ml/texel/target"
	"github.com/texel-ml/texel/tensor"
)

// Limits are those of the images of a device. A limit of 0 is none.
type Limits struct {
	Width, Height, Layers int // texels, rows, layers
	PitchAlignment        int // texels, of the rows of an image over a buffer
}

// LimitsOf returns the limits of a target; one without images has limits of which every image is too large.
func LimitsOf(t *target.Target) Limits {
	if t.GPU == nil {
		return Limits{Width: -1, Height: -1, Layers: -1}
	}
	g := t.GPU
	return Limits{g.ImageWidth, g.ImageHeight, g.ImageLayers, g.ImagePitchAlignment}
}

// Texel is what one read of an image delivers: Lanes elements in Channels channels. Where the two differ the elements
// are packed: a texel of 8 float16 or 16 int8 is read as 4 uint32 and taken apart by its bits.
type Texel struct {
	Channel  tensor.DType // the format of one channel
	Channels int          // 1 (R) or 4 (RGBA)
	Lanes    int          // elements
}

// Bytes returns the size of a texel.
func (t Texel) Bytes() int { return t.Channel.Bytes(t.Channels) }

// Packed reports whether the elements are not the channels.
func (t Texel) Packed() bool { return t.Lanes != t.Channels }

// Term is one summand of a texel's coordinate: the index along Axis times Stride.
type Term struct{ Axis, Stride int }

// Format names the texel as the plan does: channels, bits of one and its kind, such as rgba16f, rgba32ui or r8i.
func (t Texel) Format() string {
	channels := map[int]string{1: "r", 4: "rgba"}[t.Channels]
	kind := map[tensor.Kind]string{tensor.Float: "f", tensor.Signed: "i", tensor.Unsigned: "ui"}[t.Channel.Kind()]
	return channels + strconv.Itoa(t.Channel.Bits()) + kind
}

// Image is the 2-D form of a tensor.
type Image struct {
	Width, Height int // texels, rows; at least 1
	Layers        int // 0: a plain image; else an image array
	RowPitch      int // bytes of a row where the image lies over a buffer
	Texel         Texel
	X, Y, Layer   []Term // coordinates as sums over the tensor's indices; the lane is the last index
}

// Fold returns the image of a tensor of the given shape and element type. It is diag.ErrInvalid when the folding does not
// fit the tensor, and diag.ErrUnsupported when no texel holds the last axis or the image exceeds a limit.
func Fold(shape tensor.Shape, d tensor.DType, f Folding, lim Limits) (*Image, error) {
	if err := f.check(len(shape)); err != nil {
		return nil, err
	}
	for axis, n := range shape {
		if n < 1 {
			return nil, diag.Invalid("texture", f.String(), "axis %d of shape %v has extent %d; wanted at least 1", axis, shape, n)
		}
	}
	texel, err := texelOf(d, shape[len(shape)-1])
	if err != nil {
		return nil, err
	}
	m := &Image{Texel: texel}
	fold := func(what string, axes []int, limit int) (extent int, terms []Term) {
		extent = 1
		terms = make([]Term, len(axes))
		for i := len(axes) - 1; i >= 0; i-- {
			terms[i] = Term{axes[i], extent}
			if extent > maxExtent/shape[axes[i]] {
				extent = maxExtent // only to say that it is too much
			} else {
				extent *= shape[axes[i]]
			}
		}
		if err == nil && (limit != 0 && extent > limit || extent >= maxExtent) {
			err = diag.Unsupported("texture", f.String(), "%s of the image of %v %v is %d, the limit is %d", what, d, shape, extent, limit)
		}
		return extent, terms
	}
	m.Width, m.X = fold("width", f.Width, lim.Width)
	m.Height, m.Y = fold("height", f.Height, lim.Height)
	if len(f.Layers) > 0 {
		m.Layers, m.Layer = fold("number of layers", f.Layers, lim.Layers)
	}
	if err != nil {
		return nil, err
	}
	align := max(1, lim.PitchAlignment)
	m.RowPitch = (m.Width + align - 1) / align * align * texel.Bytes()
	return m, nil
}

// maxExtent is above what any device has, so that the product of two extents and a texel fits an int64.
const maxExtent = 1 << 28

// texelOf returns the texel that holds n elements of type d.
func texelOf(d tensor.DType, n int) (Texel, error) {
	channel := d
	if d == tensor.Bool {
		channel = tensor.Uint8
	}
	bits := d.Bits()
	switch {
	case d.IsStorage() || d == tensor.BFloat16 || bits > 32:
	case n == 1 || n == 4:
		return Texel{channel, n, n}, nil
	case n > 4 && n*bits == 128:
		return Texel{tensor.Uint32, 4, n}, nil
	case n > 4 && n*bits == 64:
		return Texel{tensor.Uint16, 4, n}, nil
	}
	return Texel{}, diag.Unsupported("texture", d.String(), "no texel holds %d elements of type %v; wanted 1 or 4 of at most 32 bits, or 64 or 128 bits in all", n, d)
}

// Bytes returns the size of the image without padding of its rows.
func (m *Image) Bytes() int64 {
	return int64(m.Width) * int64(m.Height) * int64(max(1, m.Layers)) * int64(m.Texel.Bytes())
}

// PitchedBytes returns the size of the image over a buffer, whose rows are RowPitch bytes apart.
func (m *Image) PitchedBytes() int64 {
	return int64(m.RowPitch) * int64(m.Height) * int64(max(1, m.Layers))
}

// At returns where the element with the given index lies.
func (m *Image) At(index ...int) (x, y, layer, lane int) {
	sum := func(terms []Term) int {
		n := 0
		for _, t := range terms {
			n += index[t.Axis] * t.Stride
		}
		return n
	}
	return sum(m.X), sum(m.Y), sum(m.Layer), index[len(index)-1]
}
