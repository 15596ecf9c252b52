package proof

import "fmt"

// box is where the values of some expressions lie.
type box struct{ lo, extent []int64 }

// boxOf returns the box of what walks take at the values of the outer variables.
func boxOf(axes int, outer []int64, walks ...*walk) (box, error) {
	b := box{make([]int64, axes), make([]int64, axes)}
	hi := make([]int64, axes)
	first := true
	for _, w := range walks {
		if err := w.each(outer, func(value []int64) error {
			for i, v := range value {
				if first || v < b.lo[i] {
					b.lo[i] = v
				}
				if first || v > hi[i] {
					hi[i] = v
				}
			}
			first = false
			return nil
		}); err != nil {
			return b, err
		}
	}
	size := int64(1)
	for i := range hi {
		if b.extent[i] = hi[i] - b.lo[i] + 1; first {
			b.extent[i] = 0
		}
		if b.extent[i] < 0 || b.extent[i] > 0 && size > (1<<62)/b.extent[i] {
			return b, fmt.Errorf("%w: the values are too far apart", ErrUndecided)
		}
		size *= b.extent[i]
	}
	return b, nil
}

// place is the number of a value in the box, and whether it lies inside.
func (b *box) place(value []int64) (int64, bool) {
	at := int64(0)
	for i, v := range value {
		v -= b.lo[i]
		if v < 0 || v >= b.extent[i] {
			return 0, false
		}
		at = at*b.extent[i] + v
	}
	return at, true
}

// seen is the set of values that were met, each with a mark.
type seen struct {
	box
	marks []int64 // by place, where the box is small: 0 is not met
	far   map[int64]int64
	count int64
}

// dense is the largest box that has a slice.
const dense = 1 << 22

func newSeen(b box) *seen {
	size := int64(1)
	for _, n := range b.extent {
		size *= n
	}
	if size <= dense {
		return &seen{box: b, marks: make([]int64, size)}
	}
	return &seen{box: b, far: map[int64]int64{}}
}

// put adds a value at its place, and returns its mark when it was there.
func (s *seen) put(at, mark int64) (was int64, twice bool) {
	code := mark<<1 | 1 // not 0
	if s.marks != nil {
		was, s.marks[at] = s.marks[at], code
		if twice = was != 0; twice {
			s.marks[at] = was
		}
	} else if was, twice = s.far[at]; !twice {
		s.far[at] = code
	}
	if !twice {
		s.count++
	}
	return was >> 1, twice
}

func (s *seen) has(at int64) bool {
	if s.marks != nil {
		return s.marks[at] != 0
	}
	_, ok := s.far[at]
	return ok
}
