package tensor

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestLayoutsAreParsed(t *testing.T) {
	l, err := ParseLayout("OIHW16i4o")
	require.NoError(t, err)
	require.Equal(t, []LayoutAxis{{'O', 0}, {'I', 0}, {'H', 0}, {'W', 0}, {'I', 16}, {'O', 4}}, l.Axes())
	require.Equal(t, "OIHW", l.Letters())
	require.Equal(t, 16, l.Block('I'))
	require.Equal(t, 1, l.Block('H'))
	require.Equal(t, 2, l.Index('H'))
	require.Equal(t, -1, l.Index('N'))
	require.False(t, l.Plain())
	require.True(t, MustLayout("NHWC").Plain())
	require.True(t, MustLayout("NHWC").SameAxes(MustLayout("NCHW4c")))
	require.False(t, MustLayout("NHWC").SameAxes(MustLayout("NCH")))

	for s, want := range map[string]string{
		"":                        "layout is empty",
		"NCC":                     `layout "NCC" names axis C twice`,
		"NC16":                    `layout "NC16": a lower-case letter must follow block "16"`,
		"NC16H":                   `layout "NC16H": a lower-case letter must follow block "16"`,
		"N16cC":                   `layout "N16cC" splits axis C, which does not stand before its block`,
		"NC-HW":                   `layout "NC-HW": "-" is no axis and no block`,
		"NC0c":                    `layout "NC0c": "0" is no axis and no block`,
		"NC70000c":                `layout "NC70000c": block 70000 is above 65536`,
		"NC400c400c":              `layout "NC400c400c": block 400 is above 65536`,
		"NC99999999999999999999c": `layout "NC99999999999999999999c": block 99999999999999999999 is above 65536`,
	} {
		_, err := ParseLayout(s)
		require.EqualError(t, err, want)
	}
	require.Panics(t, func() { MustLayout("?") })
}

func TestShapesOfLayouts(t *testing.T) {
	nchw, blocked, nhwc := MustLayout("NCHW"), MustLayout("NCHW16c"), MustLayout("NHWC")
	shape, err := blocked.Physical(Shape{1, 40, 7, 5}, "NCHW")
	require.NoError(t, err)
	require.Equal(t, Shape{1, 3, 7, 5, 16}, shape)
	logical, err := blocked.Logical(shape, "NHWC")
	require.NoError(t, err)
	require.Equal(t, Shape{1, 7, 5, 48}, logical)
	require.Equal(t, 48, blocked.Extent(shape, 'C'))
	shape, err = Transform(Shape{1, 40, 7, 5}, nchw, nhwc)
	require.NoError(t, err)
	require.Equal(t, Shape{1, 7, 5, 40}, shape)
	shape, err = blocked.Physical(Shape{Unknown, 40, 7, 5}, "NCHW")
	require.NoError(t, err)
	require.Equal(t, Shape{Unknown, 3, 7, 5, 16}, shape)

	_, err = Transform(Shape{1, 2}, MustLayout("NC"), nchw)
	require.EqualError(t, err, "layouts NC and NCHW have different axes")
	require.EqualError(t, blocked.Fits(Shape{1, 3, 7, 5}), "layout NCHW16c has 5 axes, shape (1, 3, 7, 5) has 4")
	require.EqualError(t, blocked.Fits(Shape{1, 3, 7, 5, 8}), "layout NCHW16c wants extent 16 at axis 4 of shape (1, 3, 7, 5, 8)")
	_, err = blocked.Physical(Shape{1, 2}, "NC")
	require.Error(t, err)
}

// Relayout is compared with the definition: element (n, c, h, w) lies at the place that the layout says.
func TestRelayoutFollowsTheDefinition(t *testing.T) {
	n, c, h, w := 2, 5, 3, 4
	src := New(Int32, Shape{n, c, h, w})
	for i := range View[int32](src) {
		View[int32](src)[i] = int32(i + 1)
	}
	at := func(s Shape, index ...int) int {
		offset := 0
		for i, step := range s.Strides() {
			offset += index[i] * step
		}
		return offset
	}
	for name, place := range map[string]func(n, c, h, w int) []int{
		"NHWC":     func(n, c, h, w int) []int { return []int{n, h, w, c} },
		"NCHW4c":   func(n, c, h, w int) []int { return []int{n, c / 4, h, w, c % 4} },
		"NHWC2c":   func(n, c, h, w int) []int { return []int{n, h, w, c / 2, c % 2} },
		"CNHW3w2c": func(n, c, h, w int) []int { return []int{c / 2, n, h, w / 3, w % 3, c % 2} },
		"NCHW2c3c": func(n, c, h, w int) []int { return []int{n, c / 6, h, w, c / 3 % 2, c % 3} },
	} {
		to := MustLayout(name)
		out, err := Relayout(src, MustLayout("NCHW"), to)
		require.NoError(t, err, name)
		want := New(Int32, out.Shape)
		for i := range n * c * h * w {
			in, ic, ih, iw := i/(c*h*w), i/(h*w)%c, i/w%h, i%w
			View[int32](want)[at(out.Shape, place(in, ic, ih, iw)...)] = int32(i + 1)
		}
		require.Equal(t, View[int32](want), View[int32](out), name)

		// And back: what was padded is cut off again by the reader of the first c channels.
		back, err := Relayout(out, to, MustLayout("NCHW"))
		require.NoError(t, err)
		for i, v := range View[int32](src) {
			index := []int{i / (c * h * w), i / (h * w) % c, i / w % h, i % w}
			require.Equal(t, v, View[int32](back)[at(back.Shape, index...)], name)
		}
	}
}

func TestRelayoutOfEveryElementType(t *testing.T) {
	for _, d := range DTypes() {
		src := New(d, Shape{2, 3})
		for i := range src.Elems() {
			switch {
			case d.Bits() < 8:
				src.setBits(i, uint8(i+1))
			default:
				src.Data[i*d.Bits()/8] = byte(i + 1)
			}
		}
		out, err := Relayout(src, MustLayout("NC"), MustLayout("CN"))
		require.NoError(t, err)
		want := New(d, Shape{3, 2})
		for i := range want.Elems() {
			from := i%2*3 + i/2
			switch {
			case d.Bits() < 8:
				want.setBits(i, src.bits(from))
			default:
				size := d.Bits() / 8
				copy(want.Data[i*size:(i+1)*size], src.Data[from*size:])
			}
		}
		require.Equal(t, want, out, "%v", d)
	}
	empty, err := Relayout(New(Float32, Shape{0, 3}), MustLayout("NC"), MustLayout("CN"))
	require.NoError(t, err)
	require.Equal(t, Shape{3, 0}, empty.Shape)
}

func TestNumbersAreRoundedAndWrapped(t *testing.T) {
	require.Equal(t, 0.1, Round(Float64, 0.1))
	require.Equal(t, float64(float32(0.1)), Round(Float32, 0.1))
	require.Equal(t, 4096.0, Round(Float16, 4097))
	for d, want := range map[DType]float64{Float16: 65504, Float8E4M3FN: 448, Float8E5M2: 57344, Float4E2M1: 6, Float8E8M0: 0x1p127, BFloat16: 0x1.fep127} {
		require.Equal(t, want, MaxFinite(d), "%v", d)
		require.Equal(t, want, Round(d, want), "%v", d)
	}
	for _, c := range []struct {
		d    DType
		v    int64
		want int64
	}{{Int8, 128, -128}, {Int8, -129, 127}, {Uint8, -1, 255}, {Int4, 8, -8}, {Uint2, 5, 1}, {Int64, -1, -1}, {Uint64, -1, -1}, {Bool, 2, 1}, {Bool, 0, 0}} {
		require.Equal(t, c.want, Wrap(c.d, c.v), fmt.Sprint(c))
	}
	lo, hi := IntRange(Int4)
	require.Equal(t, []int64{-8, 7}, []int64{lo, hi})
	lo, hi = IntRange(Uint64)
	require.Equal(t, []int64{0, -1}, []int64{lo, hi})
}

func TestCompareFindsTheWorst(t *testing.T) {
	wide := func(v ...float64) *Wide { return &Wide{DType: Float32, Shape: Shape{len(v)}, F: v} }
	d := Compare(wide(1, 2.2, 3), wide(1, 2, 3.1), 0.01, 0.02)
	require.Equal(t, 2, d.Outside)
	require.Equal(t, 1, d.At)
	require.InDelta(t, 0.2, d.MaxAbs, 1e-12)
	require.InDelta(t, 0.1, d.MaxRel, 1e-12)
	require.InDelta(t, 5, d.Excess, 1e-9)
	nan, inf := DecodeFloat(Float16, 0x7e00), DecodeFloat(Float16, 0x7c00)
	require.Zero(t, Compare(wide(nan, inf), wide(nan, inf), 0, 0).Outside)
	require.Equal(t, 3, Compare(wide(nan, 1, inf), wide(1, nan, -inf), 1, 1).Outside)
	require.Equal(t, 1, Compare(wide(), wide(1), 1, 1).Outside)
	ints := &Wide{DType: Int64, Shape: Shape{1}, I: []int64{1 << 60}}
	other := &Wide{DType: Int64, Shape: Shape{1}, I: []int64{1<<60 + 1}}
	require.Equal(t, 1, Compare(ints, other, 0, 0).Outside) // a difference that float64 does not hold
	rtol, atol := Tolerance(Float32, 4096)
	require.Equal(t, rtol, atol)
	require.InDelta(t, 0x1p-24*(4*17+2*64), rtol, 1e-12)
	rtol, _ = Tolerance(Int32, 10)
	require.Zero(t, rtol)
}
