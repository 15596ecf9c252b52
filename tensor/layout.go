package tensor

import (
	"fmt"
	"strconv"
	"strings"
)

// Layout says in which order the axes of a tensor lie in memory, and which of them are split in blocks. Axes have
// one-letter names. NCHW16c is the axes N, C, H, W and, innermost, a block of 16 channels: element (n, c, h, w) lies
// at (n, c/16, h, w, c%16). OIHW16i16o has two blocks. An extent that its block does not divide is padded.
//
// Axes are given in logical order by a string of letters such as "NCHW".
type Layout struct {
	name string
	axes []LayoutAxis
}

// LayoutAxis is one physical axis.
type LayoutAxis struct {
	Letter byte // the upper-case name of the logical axis
	Factor int  // the block's extent; 0 for the outer axis, which has what the blocks leave
}

// maxBlock bounds the blocks of one axis together, so that extents cannot overflow.
const maxBlock = 1 << 16

// ParseLayout reads a layout such as NCHW, NHWC, NCHW16c, OIHW16i16o or HWIO4o. Upper-case letters are axes, each at
// most once; a number and a lower-case letter is a block of an axis that stands before it.
func ParseLayout(s string) (Layout, error) {
	l := Layout{name: s}
	for i := 0; i < len(s); {
		c := s[i]
		switch {
		case c >= 'A' && c <= 'Z':
			if l.Index(c) >= 0 {
				return Layout{}, fmt.Errorf("layout %q names axis %c twice", s, c)
			}
			l.axes = append(l.axes, LayoutAxis{Letter: c})
			i++
		case c >= '1' && c <= '9':
			j := i
			for j < len(s) && s[j] >= '0' && s[j] <= '9' {
				j++
			}
			n, err := strconv.Atoi(s[i:j])
			if err != nil {
				n = maxBlock + 1 // more digits than an int holds
			}
			if j == len(s) || s[j] < 'a' || s[j] > 'z' {
				return Layout{}, fmt.Errorf("layout %q: a lower-case letter must follow block %q", s, s[i:j])
			}
			letter := s[j] - 'a' + 'A'
			if l.Index(letter) < 0 {
				return Layout{}, fmt.Errorf("layout %q splits axis %c, which does not stand before its block", s, letter)
			}
			if n > maxBlock || n*l.Block(letter) > maxBlock {
				return Layout{}, fmt.Errorf("layout %q: block %s is above %d", s, s[i:j], maxBlock)
			}
			l.axes = append(l.axes, LayoutAxis{letter, n})
			i = j + 1
		default:
			return Layout{}, fmt.Errorf("layout %q: %q is no axis and no block", s, s[i:i+1])
		}
	}
	if len(l.axes) == 0 {
		return Layout{}, fmt.Errorf("layout is empty")
	}
	return l, nil
}

// MustLayout is ParseLayout for layouts written in the program; it panics when s is none.
func MustLayout(s string) Layout {
	l, err := ParseLayout(s)
	if err != nil {
		panic("tensor: " + err.Error())
	}
	return l
}

// String returns the text that was parsed.
func (l Layout) String() string { return l.name }

// Axes returns the physical axes, outermost first.
func (l Layout) Axes() []LayoutAxis { return append([]LayoutAxis(nil), l.axes...) }

// Rank returns the number of physical axes.
func (l Layout) Rank() int { return len(l.axes) }

// Letters returns the logical axes in the order in which their outer parts lie in memory: NCHW for NCHW16c.
func (l Layout) Letters() string {
	var b strings.Builder
	for _, a := range l.axes {
		if a.Factor == 0 {
			b.WriteByte(a.Letter)
		}
	}
	return b.String()
}

// Plain reports whether no axis is split.
func (l Layout) Plain() bool {
	for _, a := range l.axes {
		if a.Factor != 0 {
			return false
		}
	}
	return true
}

// Index returns the position of the outer part of an axis, or -1 when there is no such axis.
func (l Layout) Index(letter byte) int {
	for i, a := range l.axes {
		if a.Letter == letter && a.Factor == 0 {
			return i
		}
	}
	return -1
}

// Block returns the product of the blocks of an axis, 1 when it is not split.
func (l Layout) Block(letter byte) int {
	n := 1
	for _, a := range l.axes {
		if a.Letter == letter && a.Factor != 0 {
			n *= a.Factor
		}
	}
	return n
}

// SameAxes reports whether both layouts have the same logical axes, in any order.
func (l Layout) SameAxes(o Layout) bool {
	a, b := l.Letters(), o.Letters()
	if len(a) != len(b) {
		return false
	}
	for i := range len(a) {
		if strings.IndexByte(b, a[i]) < 0 {
			return false
		}
	}
	return true
}

// Physical returns the shape in memory of a tensor whose logical extents are given in the order of letters. An extent
// that its block does not divide is rounded up.
func (l Layout) Physical(logical Shape, letters string) (Shape, error) {
	if len(logical) != len(letters) || len(letters) != len(l.Letters()) {
		return nil, fmt.Errorf("layout %v does not fit shape %v of axes %q", l, logical, letters)
	}
	out := make(Shape, len(l.axes))
	for i, a := range l.axes {
		at := strings.IndexByte(letters, a.Letter)
		if at < 0 {
			return nil, fmt.Errorf("layout %v has axis %c, which is not among %q", l, a.Letter, letters)
		}
		switch block := l.Block(a.Letter); {
		case a.Factor != 0:
			out[i] = a.Factor
		case logical[at] < 0:
			out[i] = Unknown
		default:
			out[i] = logical[at]/block + min(logical[at]%block, 1)
		}
	}
	return out, nil
}

// Logical returns the extents, in the order of letters, of a tensor with the given shape in memory. Padding of split
// axes counts.
func (l Layout) Logical(physical Shape, letters string) (Shape, error) {
	if err := l.Fits(physical); err != nil {
		return nil, err
	}
	out := make(Shape, len(letters))
	for i := range len(letters) {
		at := l.Index(letters[i])
		if at < 0 {
			return nil, fmt.Errorf("layout %v has no axis %c", l, letters[i])
		}
		if physical[at] < 0 {
			out[i] = Unknown
			continue
		}
		out[i] = physical[at] * l.Block(letters[i])
	}
	return out, nil
}

// Extent returns the logical extent of one axis of a tensor with the given shape in memory.
func (l Layout) Extent(physical Shape, letter byte) int {
	return physical[l.Index(letter)] * l.Block(letter)
}

// Fits returns an error when a tensor of the given shape cannot have this layout.
func (l Layout) Fits(physical Shape) error {
	if len(physical) != len(l.axes) {
		return fmt.Errorf("layout %v has %d axes, shape %v has %d", l, len(l.axes), physical, len(physical))
	}
	for i, a := range l.axes {
		if a.Factor != 0 && physical[i] != a.Factor {
			return fmt.Errorf("layout %v wants extent %d at axis %d of shape %v", l, a.Factor, i, physical)
		}
	}
	return nil
}

// Transform returns the shape in layout to of a tensor that has the given shape in layout from.
func Transform(shape Shape, from, to Layout) (Shape, error) {
	if !from.SameAxes(to) {
		return nil, fmt.Errorf("layouts %v and %v have different axes", from, to)
	}
	letters := from.Letters()
	logical, err := from.Logical(shape, letters)
	if err != nil {
		return nil, err
	}
	return to.Physical(logical, letters)
}

// IndexMap computes where the elements of one layout lie in another. It holds one table for each logical axis, so
// that a source offset is a sum of table entries.
type IndexMap struct {
	To      Shape   // the destination's shape in memory
	letters string  // logical axes
	offset  [][]int // offset[a][i]: what logical index i of axis a adds to the source offset
	axis    []int   // for each destination axis, its logical axis
	step    []int   // for each destination axis, what one step adds to the logical index
}

// NewIndexMap returns the map from a tensor of the given shape in layout from to layout to.
func NewIndexMap(shape Shape, from, to Layout) (*IndexMap, error) {
	dst, err := Transform(shape, from, to)
	if err != nil {
		return nil, err
	}
	m := &IndexMap{To: dst, letters: from.Letters()}
	strides := shape.Strides()
	for a := range len(m.letters) {
		letter := m.letters[a]
		table := make([]int, from.Extent(shape, letter))
		for _, part := range from.parts(letter) {
			stride, extent := strides[part.axis], shape[part.axis]
			for i := range table {
				table[i] += i / part.step % extent * stride
			}
		}
		m.offset = append(m.offset, table)
	}
	m.axis, m.step = make([]int, len(dst)), make([]int, len(dst))
	for a := range len(m.letters) {
		for _, part := range to.parts(m.letters[a]) {
			m.axis[part.axis], m.step[part.axis] = a, part.step
		}
	}
	return m, nil
}

// Each calls f once for each row of the destination along its last axis, in memory order, with the source offset of
// each element of the row; -1 marks padding. The slice is reused.
func (m *IndexMap) Each(f func(row []int)) {
	rank := len(m.To)
	row, step := make([]int, m.To[rank-1]), m.step[rank-1]
	m.rows(func(base, at int, table []int) {
		for i := range row {
			if row[i] = -1; base >= 0 && at < len(table) {
				row[i] = base + table[at]
			}
			at += step
		}
		f(row)
	})
}

// rows calls f once for each row of the destination along its last axis, in memory order: element i comes from offset
// base + table[at + i·step], step that of the last axis; a negative base, or a place behind the table, is padding.
func (m *IndexMap) rows(f func(base, at int, table []int)) {
	rank := len(m.To)
	rows := 1
	for _, d := range m.To[:rank-1] {
		rows *= d
	}
	index := make([]int, rank-1)
	logical := make([]int, len(m.letters))
	for range rows {
		clear(logical)
		for i, x := range index {
			logical[m.axis[i]] += x * m.step[i]
		}
		base, moving := 0, m.axis[rank-1]
		for a, x := range logical {
			if a == moving {
				continue
			}
			if x >= len(m.offset[a]) {
				base = -1
				break
			}
			base += m.offset[a][x]
		}
		f(base, logical[moving], m.offset[moving])
		for i := rank - 2; i >= 0; i-- {
			if index[i]++; index[i] < m.To[i] {
				break
			}
			index[i] = 0
		}
	}
}

type layoutPart struct{ axis, step int }

// parts returns the physical axes that make up a logical one, with the number of logical elements of one step.
func (l Layout) parts(letter byte) []layoutPart {
	var parts []layoutPart
	step := 1
	for i := len(l.axes) - 1; i >= 0; i-- {
		if a := l.axes[i]; a.Letter == letter && a.Factor != 0 {
			parts = append(parts, layoutPart{i, step})
			step *= a.Factor
		}
	}
	return append(parts, layoutPart{l.Index(letter), step})
}

// Relayout returns t, which lies in layout from, in layout to. Padding is zero. The result shares no memory with t.
func Relayout(t *Tensor, from, to Layout) (*Tensor, error) {
	m, err := NewIndexMap(t.Shape, from, to)
	if err != nil {
		return nil, err
	}
	if m.To.Elems() < 0 {
		return nil, fmt.Errorf("layout %v of shape %v has no known size", to, t.Shape)
	}
	out := New(t.DType, m.To)
	switch t.DType.Bits() {
	case 8:
		relayout(m, View[uint8](out), View[uint8](t))
	case 16:
		relayout(m, View[uint16](out), View[uint16](t))
	case 32:
		relayout(m, View[uint32](out), View[uint32](t))
	case 64:
		relayout(m, View[uint64](out), View[uint64](t))
	default:
		at := 0
		m.Each(func(row []int) {
			for _, from := range row {
				if from >= 0 {
					out.setBits(at, t.bits(from))
				}
				at++
			}
		})
	}
	return out, nil
}

func relayout[T any](m *IndexMap, dst, src []T) {
	if len(dst) == 0 {
		return
	}
	rank := len(m.To)
	n, step := m.To[rank-1], m.step[rank-1]
	stride, even := evenly(m.offset[m.axis[rank-1]], step)
	m.rows(func(base, at int, table []int) {
		row := dst[:n]
		dst = dst[n:]
		if base < 0 || at >= len(table) {
			return // the destination is zero
		}
		row = row[:min(n, (len(table)-at+step-1)/step)]
		if even {
			from := base + table[at]
			for i := range row {
				row[i] = src[from]
				from += stride
			}
			return
		}
		for i := range row {
			row[i] = src[base+table[at+i*step]]
		}
	})
}

// evenly returns by how much the entries of a table grow in steps, where that is always the same.
func evenly(table []int, step int) (stride int, ok bool) {
	for i := step; i < len(table); i++ {
		d := table[i] - table[i-step]
		if i > step && d != stride {
			return 0, false
		}
		stride = d
	}
	return stride, true
}

// bits returns the bits of element i of a tensor whose elements are narrower than a byte.
func (t *Tensor) bits(i int) uint8 {
	width := t.DType.Bits()
	at := i * width
	return t.Data[at/8] >> (at % 8) & (1<<width - 1)
}

// setBits stores the bits of element i of a tensor whose elements are narrower than a byte.
func (t *Tensor) setBits(i int, v uint8) {
	width := t.DType.Bits()
	at := i * width
	mask := uint8(1<<width-1) << (at % 8)
	t.Data[at/8] = t.Data[at/8]&^mask | v<<(at%8)&mask
}

// RelayoutWide is Relayout for the arrays of oracles.
func RelayoutWide(w *Wide, from, to Layout) (*Wide, error) {
	m, err := NewIndexMap(w.Shape, from, to)
	if err != nil {
		return nil, err
	}
	out := NewWide(w.DType, m.To)
	if w.F != nil {
		relayout(m, out.F, w.F)
	} else {
		relayout(m, out.I, w.I)
	}
	return out, nil
}
