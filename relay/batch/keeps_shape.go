package batch

import (
	"slices"

	"github.com/texel-ml/texel/relay"
)

// grown returns the axis of the result that has n times the extent of one row, if it is one.
func (s *site) grown() (int, bool) {
	at, ok := (&prover{n: s.n}).scaled(s.result[0], s.result[1])
	return at.axis, ok && at.axis >= 0
}

// reshape keeps the order of elements. What lies before the batch, outer parts times the axes before, must still lie before it.
func reshape(s *site) (places, bool) {
	at := s.in[0][0]
	axis, ok := s.grown()
	if !ok || at == shared {
		return nil, false
	}
	out := s.result[0].(*relay.TensorType).Shape
	before := s.from[0].Shape[:at.axis].Elems() * at.outer
	outer := before / out[:axis].Elems()
	if outer == 0 || outer*out[:axis].Elems() != before || out[axis]%outer != 0 {
		return nil, false
	}
	return places{{axis, outer}}, true
}

func transpose(s *site) (places, bool) {
	at := s.in[0][0]
	return places{{slices.Index(relay.Permutation(attr[[]int](s, "axes"), s.rank()), at.axis), at.outer}}, true
}

// trilu looks at the last two axes.
func trilu(s *site) (places, bool) { return places{s.in[0][0]}, s.in[0][0].axis < s.rank()-2 }

// broadcastTo gives each row what is shared, or keeps rows where they are.
func broadcastTo(s *site) (places, bool) {
	at := s.in[0][0]
	rank := len(s.result[0].(*relay.TensorType).Shape)
	if at != shared {
		return places{{at.axis + rank - s.rank(), at.outer}}, true
	}
	axis, ok := s.grown()
	before := axis - rank + s.rank()
	return places{{axis, 1}}, ok && (before < 0 || s.from[0].Shape[before] == 1)
}

// filled is of operators whose elements are all one shared number.
func filled(s *site) (places, bool) {
	axis, ok := s.grown()
	return places{{axis, 1}}, ok && (len(s.in) == 0 || s.in[0][0] == shared)
}

// tile repeats what is shared once a row, or keeps rows apart along an axis that it does not repeat.
func tile(s *site) (places, bool) {
	at, reps := s.in[0][0], attr[[]int](s, "reps")
	rank := max(s.rank(), len(reps))
	full := func(reps []int) []int { return slices.Concat(slices.Repeat([]int{1}, rank-len(reps)), reps) }
	one, many := full(nil), full(reps)
	if s.one != nil {
		one = full(s.one.Attrs.(*relay.TileAttrs).Reps)
	}
	if at != shared {
		at.axis += rank - s.rank()
		return places{at}, slices.Equal(one, many) && many[at.axis] == 1
	}
	axis, ok := s.grown()
	return places{{axis, 1}}, ok
}

// repeat follows each element with its copies, which are of the same row.
func repeat(s *site) (places, bool) { return places{s.in[0][0]}, true }

func concatenate(s *site) (places, bool) {
	at := s.in[0][0]
	for _, in := range s.in[0] {
		if in != at {
			return nil, false
		}
	}
	return places{at}, relay.NormalAxis(attr[int](s, "axis"), s.rank()) != at.axis
}

func stack(s *site) (places, bool) {
	at := s.in[0][0]
	for _, in := range s.in[0] {
		if in != at {
			return nil, false
		}
	}
	return places{{inserted(at.axis, relay.NormalAxis(attr[int](s, "axis"), s.rank()+1)), at.outer}}, true
}

// inserted returns where an axis is when a new one stands at the given place.
func inserted(axis, at int) int {
	if at <= axis {
		return axis + 1
	}
	return axis
}

// slice takes the whole of the batch's axis, and of the others the same.
func slice(s *site) (places, bool) {
	at := s.in[0][0]
	one := s.one.Attrs.(*relay.StridedSliceAttrs).Ranges(s.from[0].Shape)
	many := s.many.Attrs.(*relay.StridedSliceAttrs).Ranges(s.to[0].Shape)
	for i := range many {
		if i == at.axis {
			if many[i] != (relay.SliceRange{Begin: 0, Stride: 1, Extent: s.to[0].Shape[i]}) || one[i] != (relay.SliceRange{Begin: 0, Stride: 1, Extent: s.from[0].Shape[i]}) {
				return nil, false
			}
		} else if one[i] != many[i] {
			return nil, false
		}
	}
	return places{at}, true
}

func pad(s *site) (places, bool) {
	at, ok := s.data()
	width := attr[[]int](s, "pad_width")
	return places{at}, ok && at != shared && width[2*at.axis] == 0 && width[2*at.axis+1] == 0
}

func oneHot(s *site) (places, bool) {
	at, ok := s.data()
	return places{{inserted(at.axis, relay.NormalAxis(attr[int](s, "axis"), s.rank()+1)), at.outer}}, ok
}

// take picks along an axis: by indices of each row from shared data, or by shared indices from each row.
func take(s *site) (places, bool) {
	data, index := s.in[0][0], s.in[1][0]
	axis := relay.NormalAxis(attr[int](s, "axis"), s.rank())
	switch {
	case data == shared:
		return places{{axis + index.axis, index.outer}}, true
	case index != shared || data.axis == axis:
		return nil, false
	case data.axis > axis:
		data.axis += len(s.from[1].Shape) - 1
	}
	return places{data}, true
}

// gather picks along an axis at the same place along the others.
func gather(s *site) (places, bool) {
	data, index := s.in[0][0], s.in[1][0]
	axis := relay.NormalAxis(attr[int](s, "axis"), s.rank())
	if data == shared {
		return places{index}, index.axis == axis
	}
	return places{index}, data == index && data.axis != axis && s.sameExtents(data.axis)
}

// sameExtents reports whether all operands have the same extent along an axis: a row is at the same place in each.
func (s *site) sameExtents(axis int) bool {
	for _, t := range s.from {
		if t.Shape[axis] != s.from[0].Shape[axis] {
			return false
		}
	}
	return true
}

// gatherND has the index of axes (X_B …) along axis 0 of the indices (M, Y…), where the first B of Y are those of X.
func gatherND(s *site) (places, bool) {
	data, index := s.in[0][0], s.in[1][0]
	b, m := attr[int](s, "batch_dims"), s.from[1].Shape[0]
	switch {
	case index == shared:
		return places{{len(s.from[1].Shape) - 1 + data.axis - b - m, data.outer}}, data.axis >= b+m
	case data == shared:
		return places{{index.axis - 1, index.outer}}, index.axis-1 >= b
	}
	return places{data}, data.axis < b && index == place{data.axis + 1, data.outer}
}

func scatterElements(s *site) (places, bool) {
	at := s.in[0][0]
	same := s.in[1][0] == at && s.in[2][0] == at
	return places{at}, at != shared && same && relay.NormalAxis(attr[int](s, "axis"), s.rank()) != at.axis && s.sameExtents(at.axis)
}

// reverseSequence has a length for each place along batch_axis.
func reverseSequence(s *site) (places, bool) {
	at, lengths := s.in[0][0], s.in[1][0]
	sequence, rows := relay.NormalAxis(attr[int](s, "seq_axis"), s.rank()), relay.NormalAxis(attr[int](s, "batch_axis"), s.rank())
	if at == shared || at.axis == sequence {
		return nil, false
	}
	if at.axis == rows {
		return places{at}, lengths == place{0, at.outer}
	}
	return places{at}, lengths == shared
}
