package relay

import "github.com/texel-ml/texel/tensor"

func evalConcatenate(s *EvalSite) (Value, error) {
	out, fields := s.out(), s.Args[0].(Values)
	axis := NormalAxis(s.Attrs.(*ConcatAttrs).Axis, len(out.Shape))
	outer, n, inner := splitAxis(out.Shape, axis)
	at := 0
	for _, f := range fields {
		x := f.(*tensor.Wide)
		size := inner // of stack's fields along the new axis
		if s.Op.Name == "concatenate" {
			size = x.Shape[axis] * inner
		}
		for o := range outer {
			begin := o*n*inner + at
			move(part(out, begin, begin+size), part(x, o*size, (o+1)*size))
		}
		at += size
	}
	return out, nil
}

func evalSplit(s *EvalSite) (Value, error) {
	a, x := s.Attrs.(*SplitAttrs), s.Wide(0)
	axis := NormalAxis(a.Axis, len(x.Shape))
	outer, n, inner := splitAxis(x.Shape, axis)
	parts := make(Values, len(a.Indices)+1)
	for i := range parts {
		begin, end := a.Part(i, n)
		out := s.field(i)
		size := (end - begin) * inner
		for o := range outer {
			from := (o*n + begin) * inner
			move(part(out, o*size, (o+1)*size), part(x, from, from+size))
		}
		parts[i] = out
	}
	return parts, nil
}

func sliceTables(s *EvalSite, in tensor.Shape) [][]int {
	tables, strides := make([][]int, len(in)), in.Strides()
	for i, r := range s.Attrs.(*StridedSliceAttrs).Ranges(in) {
		tables[i] = table(r.Extent, r.Begin*strides[i], r.Stride*strides[i])
	}
	return tables
}

func evalPad(s *EvalSite) (Value, error) {
	a, x, out := s.Attrs.(*PadAttrs), s.Wide(0), s.out()
	tables, strides := make([][]int, len(x.Shape)), x.Shape.Strides()
	for i, n := range x.Shape {
		before, after := a.PadWidth[2*i], a.PadWidth[2*i+1]
		cut := -min(before, 0) // elements that a negative width takes away
		inner := n - cut + min(after, 0)
		tables[i] = make([]int, out.Shape[i])
		for k := range tables[i] {
			at := PadSource(a.PadMode, k-max(before, 0), inner)
			if at >= 0 {
				at = (at + cut) * strides[i]
			}
			tables[i][k] = at
		}
	}
	fill(out, s.Wide(1))
	pick(out, x, out.Shape, tables)
	return out, nil
}

// PadSource returns which of n elements stands at place i, which may lie outside, under a mode of nn.pad; −1 is the
// constant.
func PadSource(mode string, i, n int) int {
	if i >= 0 && i < n {
		return i
	}
	switch mode {
	case "edge":
		return min(max(i, 0), n-1)
	case "wrap":
		return (i%n + n) % n
	case "reflect":
		if n == 1 {
			return 0
		}
		period := 2 * (n - 1)
		i = (i%period + period) % period
		return min(i, period-i)
	}
	return -1
}

func evalFull(s *EvalSite) (Value, error) {
	out := s.out()
	fill(out, s.Wide(0))
	return out, nil
}

func evalZeros(s *EvalSite) (Value, error) { return s.out(), nil }

func evalOnes(s *EvalSite) (Value, error) {
	out := s.out()
	fill(out, &tensor.Wide{F: []float64{1}, I: []int64{1}})
	return out, nil
}

func evalArange(s *EvalSite) (Value, error) {
	a, out := s.Attrs.(*ArangeAttrs), s.out()
	for i := range out.F {
		out.F[i] = tensor.Round(out.DType, a.Start+float64(i)*a.Step)
	}
	for i := range out.I {
		out.I[i] = floatToInt(out.DType, a.Start+float64(i)*a.Step)
	}
	return out, nil
}

func evalEye(s *EvalSite) (Value, error) {
	a, out := s.Attrs.(*EyeAttrs), s.out()
	one := &tensor.Wide{F: []float64{1}, I: []int64{1}}
	for row := range out.Shape[0] {
		if column := row + a.K; column >= 0 && column < out.Shape[1] {
			set(out, row*out.Shape[1]+column, one, 0)
		}
	}
	return out, nil
}

func evalOneHot(s *EvalSite) (Value, error) {
	a, idx, out := s.Attrs.(*OneHotAttrs), s.Wide(0), s.out()
	fill(out, s.Wide(2))
	axis := NormalAxis(a.Axis, len(out.Shape))
	_, n, inner := splitAxis(out.Shape, axis)
	for i, v := range idx.I {
		if at, ok := index(v, n); ok {
			set(out, (i/inner*n+at)*inner+i%inner, s.Wide(1), 0)
		}
	}
	return out, nil
}
