package relay

import (
	"github.com/texel-ml/texel/tensor"
)

func evalTake(s *EvalSite) (Value, error) {
	a, x, idx, out := s.Attrs.(*TakeAttrs), s.Wide(0), s.Wide(1), s.out()
	outer, n, inner := splitAxis(x.Shape, NormalAxis(a.Axis, len(x.Shape)))
	places := make([]int, len(idx.I))
	for i, v := range idx.I {
		at, ok := index(v, n)
		if !ok && a.Mode == "wrap" {
			at = int((v%int64(n) + int64(n)) % int64(n))
		}
		places[i] = at * inner
	}
	pick(out, x, tensor.Shape{outer, len(places), inner}, [][]int{table(outer, 0, n*inner), places, table(inner, 0, 1)})
	return out, nil
}

// places calls f for each index of an operator that addresses data along one axis: i is the index's offset, at the
// offset in data of the element that it stands for, and ok tells whether it lies inside (at is clamped).
func places(data, idx *tensor.Wide, axis int, f func(i, at int, ok bool)) {
	strides := data.Shape.Strides()
	step := strides[axis]
	strides[axis] = 0
	last := lastStride(strides)
	eachRow(idx.Shape, [][]int{strides}, func(at, n int, from []int) {
		for i := range n {
			place, ok := index(idx.I[at+i], data.Shape[axis])
			f(at+i, from[0]+i*last+place*step, ok)
		}
	})
}

func evalGather(s *EvalSite) (Value, error) {
	x, idx, out := s.Wide(0), s.Wide(1), s.out()
	places(x, idx, NormalAxis(s.Attrs.(*AxisAttrs).Axis, len(x.Shape)), func(i, at int, _ bool) { set(out, i, x, at) })
	return out, nil
}

// tuples returns, for each index tuple of (M, Y…) that addresses axes first … first+M of data, the offset of the slice
// that it stands for, and whether all its entries lie inside (they are clamped).
func tuples(data, idx *tensor.Wide, first int) (offsets []int, inside []bool) {
	m := idx.Shape[0]
	count := idx.Shape[1:].Elems()
	strides := data.Shape.Strides()
	offsets, inside = make([]int, count), make([]bool, count)
	for i := range offsets {
		inside[i] = true
		for k := range m {
			place, ok := index(idx.I[k*count+i], data.Shape[first+k])
			offsets[i] += place * strides[first+k]
			inside[i] = inside[i] && ok
		}
	}
	return offsets, inside
}

func evalGatherND(s *EvalSite) (Value, error) {
	a, x, idx, out := s.Attrs.(*GatherNDAttrs), s.Wide(0), s.Wide(1), s.out()
	if out.Shape.Elems() == 0 {
		return out, nil
	}
	offsets, _ := tuples(x, idx, a.BatchDims)
	batch := x.Shape[:a.BatchDims].Elems()
	size := x.Shape[a.BatchDims+idx.Shape[0]:].Elems()
	whole := x.Shape[a.BatchDims:].Elems() // elements of one batch
	for i, at := range offsets {
		from := i/(len(offsets)/batch)*whole + at
		move(part(out, i*size, (i+1)*size), part(x, from, from+size))
	}
	return out, nil
}

// join combines element i of dst with element j of src.
func join(mode string, dst *tensor.Wide, i int, src *tensor.Wide, j int) {
	if dst.F != nil {
		a, b := dst.F[i], src.F[j]
		switch mode {
		case "add":
			b = a + b
		case "mul":
			b = a * b
		case "min":
			b = fmin(a, b)
		case "max":
			b = fmax(a, b)
		}
		dst.F[i] = b
		return
	}
	a, b := dst.I[i], src.I[j]
	switch mode {
	case "add":
		b = a + b
	case "mul":
		b = a * b
	case "min":
		b = minInt(dst.DType, a, b)
	case "max":
		b = maxInt(dst.DType, a, b)
	}
	dst.I[i] = tensor.Wrap(dst.DType, b)
}

func evalScatterElements(s *EvalSite) (Value, error) {
	a, x, idx, updates, out := s.Attrs.(*ScatterElementsAttrs), s.Wide(0), s.Wide(1), s.Wide(2), s.out()
	move(out, x)
	places(x, idx, NormalAxis(a.Axis, len(x.Shape)), func(i, at int, ok bool) {
		if ok {
			join(a.Reduction, out, at, updates, i)
		}
	})
	return out, nil
}

func evalScatterND(s *EvalSite) (Value, error) {
	a, x, idx, updates, out := s.Attrs.(*ScatterNDAttrs), s.Wide(0), s.Wide(1), s.Wide(2), s.out()
	move(out, x)
	size := x.Shape[idx.Shape[0]:].Elems()
	offsets, inside := tuples(x, idx, 0)
	for i, at := range offsets {
		for k := 0; inside[i] && k < size; k++ {
			join(a.Mode, out, at+k, updates, i*size+k)
		}
	}
	return out, nil
}

func evalArgwhere(s *EvalSite) (Value, error) {
	x, rows, count := s.Wide(0), s.field(0), s.field(1)
	rank, strides := len(x.Shape), x.Shape.Strides()
	for i := range rows.I {
		rows.I[i] = -1
	}
	for i := range x.Shape.Elems() {
		if x.F != nil && x.F[i] == 0 || x.F == nil && x.I[i] == 0 {
			continue
		}
		row := rows.I[int(count.I[0])*rank:]
		for axis, step := range strides {
			row[axis] = int64(i / step % x.Shape[axis])
		}
		count.I[0]++
	}
	return Values{rows, count}, nil
}

func evalReverseSequence(s *EvalSite) (Value, error) {
	a, x, lengths, out := s.Attrs.(*ReverseSequenceAttrs), s.Wide(0), s.Wide(1), s.out()
	seq, batch := NormalAxis(a.SeqAxis, len(x.Shape)), NormalAxis(a.BatchAxis, len(x.Shape))
	strides := x.Shape.Strides()
	for i := range x.Shape.Elems() {
		at := i / strides[seq] % x.Shape[seq]
		n := int(min(max(lengths.I[i/strides[batch]%x.Shape[batch]], 0), int64(x.Shape[seq])))
		from := i
		if at < n {
			from += (n - 1 - 2*at) * strides[seq]
		}
		set(out, i, x, from)
	}
	return out, nil
}
