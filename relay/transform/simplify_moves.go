package transform

import (
	"context"
	"slices"

	"github.com/texel-ml/texel/relay"
	"github.com/texel-ml/texel/tensor"
)

// SimplifyMoves joins operators that only move elements, and removes those whose readers need them not. Each rule is exact.
//
//	concatenate of concatenates along one axis       →  one concatenate
//	concatenate of neighbouring slices of x          →  a slice of x, or x
//	slice of one part of a concatenate               →  slice of that part, or the part; fields of a split of it likewise
//	slice of a slice                                 →  one slice
//	pad of a pad with the same value                 →  one pad
//	take at known places in equal steps              →  slice
//	f(broadcast_to(x), y), y of the result's shape   →  f(x, y)
//	matmul of operands whose matrices are transposed →  matmul with other attributes
//	reverse of reverse, depth_to_space of space_to_depth and the like → x
func SimplifyMoves(_ context.Context, m *relay.Module, o *Options) (*relay.Module, error) {
	r := &rewriter{step: "simplify-moves", o: o}
	rules := onCalls([]rule{joins, sliceOfJoin, sliceOfSlice, padOfPad, knownPlaces, needlessBroadcast, transposedOperands, inverses,
		(*rewriter).identity})
	return r.settleExpr(m, func(r *rewriter, e relay.Expr) (relay.Expr, error) {
		if g, ok := e.(*relay.TupleGet); ok {
			return r.partOfJoin(g)
		}
		return rules(r, e)
	})
}

// joins flattens a concatenate and joins slices in it that are neighbours.
func joins(r *rewriter, c *relay.Call) (relay.Expr, error) {
	list, axis, ok := joined(c)
	if !ok {
		return nil, nil
	}
	var fields []relay.Expr
	for _, f := range list {
		inner, at, ok := joined(f)
		switch n := len(fields) - 1; {
		case ok && at == axis && r.single(f):
			fields = append(fields, inner...)
		case relay.Tensor(f).Shape[axis] == 0 && len(list) > 1:
		case n >= 0 && r.neighbours(fields[n], f, axis) != nil:
			fields[n] = r.neighbours(fields[n], f, axis)
		default:
			fields = append(fields, f)
		}
	}
	switch {
	case len(fields) == 1:
		return fields[0], nil
	case len(fields) == 0 || len(fields) == len(list) && slices.Equal(fields, list):
		return nil, nil
	}
	return r.call("concatenate", c.Attrs, relay.NewTuple(fields, r.pos))
}

// joined returns the parts of a concatenate and its axis from the front.
func joined(e relay.Expr) (fields []relay.Expr, axis int, ok bool) {
	c, ok := is(e, "concatenate")
	if !ok {
		return nil, 0, false
	}
	t, ok := c.Args[0].(*relay.Tuple)
	if !ok {
		return nil, 0, false
	}
	return t.Fields, relay.NormalAxis(c.Attrs.(*relay.ConcatAttrs).Axis, len(relay.Tensor(c).Shape)), true
}

// stretch is a part of x along one axis, in steps of 1.
type stretch struct {
	x          relay.Expr
	begin, end int
}

// stretchOf returns what a slice along axis alone, or a field of a split along it, takes.
func stretchOf(e relay.Expr, axis int) (stretch, bool) {
	if g, ok := e.(*relay.TupleGet); ok {
		c, ok := is(g.Tuple, "split")
		if !ok {
			return stretch{}, false
		}
		a, shape := c.Attrs.(*relay.SplitAttrs), relay.Tensor(c.Args[0]).Shape
		begin, end := a.Part(g.Index, shape[axis])
		return stretch{c.Args[0], begin, end}, relay.NormalAxis(a.Axis, len(shape)) == axis
	}
	c, ok := is(e, "strided_slice")
	if !ok {
		return stretch{}, false
	}
	shape := relay.Tensor(c.Args[0]).Shape
	ranges := c.Attrs.(*relay.StridedSliceAttrs).Ranges(shape)
	for i, s := range ranges {
		if i != axis && s != (relay.SliceRange{Stride: 1, Extent: shape[i]}) {
			return stretch{}, false
		}
	}
	s := ranges[axis]
	return stretch{c.Args[0], s.Begin, s.Begin + s.Extent}, s.Stride == 1
}

// neighbours returns the slice that a and b, two slices of one value, are together; nil when they are not that.
func (r *rewriter) neighbours(a, b relay.Expr, axis int) relay.Expr {
	first, ok := stretchOf(a, axis)
	second, also := stretchOf(b, axis)
	if !ok || !also || first.x != second.x || first.end != second.begin {
		return nil
	}
	if first.begin == 0 && second.end == relay.Tensor(first.x).Shape[axis] {
		return first.x
	}
	both, err := r.sliceOf(first.x, axis, first.begin, second.end)
	if err != nil {
		return nil
	}
	return both
}

// partOf returns the stretch of a concatenate from begin to before end, where it lies in one part.
func (r *rewriter) partOf(fields []relay.Expr, axis, begin, end int) (relay.Expr, error) {
	at := 0
	for _, f := range fields {
		n := relay.Tensor(f).Shape[axis]
		if begin >= at && end <= at+n && end > begin {
			if end-begin == n {
				return f, nil
			}
			return r.sliceOf(f, axis, begin-at, end-at)
		}
		at += n
	}
	return nil, nil
}

func sliceOfJoin(r *rewriter, c *relay.Call) (relay.Expr, error) {
	if c.Op.Name != "strided_slice" {
		return nil, nil
	}
	fields, axis, ok := joined(c.Args[0])
	if !ok {
		return nil, nil
	}
	s, ok := stretchOf(c, axis)
	if !ok {
		return nil, nil
	}
	return r.partOf(fields, axis, s.begin, s.end)
}

// partOfJoin takes a field of a split of a concatenate from its parts.
func (r *rewriter) partOfJoin(g *relay.TupleGet) (relay.Expr, error) {
	c, ok := is(g.Tuple, "split")
	if !ok {
		return nil, nil
	}
	fields, axis, ok := joined(c.Args[0])
	if !ok {
		return nil, nil
	}
	s, ok := stretchOf(g, axis)
	if !ok {
		return nil, nil
	}
	return r.partOf(fields, axis, s.begin, s.end)
}

// sliceOfSlice makes one slice. A stretch of begin, stride and extent of a stretch is one too.
func sliceOfSlice(r *rewriter, c *relay.Call) (relay.Expr, error) {
	if c.Op.Name != "strided_slice" {
		return nil, nil
	}
	inner, ok := is(c.Args[0], "strided_slice")
	if !ok || relay.Tensor(c).Shape.Elems() == 0 {
		return nil, nil
	}
	shape := relay.Tensor(inner.Args[0]).Shape
	a := &relay.StridedSliceAttrs{}
	first := inner.Attrs.(*relay.StridedSliceAttrs).Ranges(shape)
	for i, s := range c.Attrs.(*relay.StridedSliceAttrs).Ranges(relay.Tensor(inner).Shape) {
		begin, stride := first[i].Begin+s.Begin*first[i].Stride, first[i].Stride*s.Stride
		end := begin + (s.Extent-1)*stride + 1
		if stride < 0 {
			if end -= 2; end < 0 {
				end = -shape[i] - 1 // before the first element
			}
		}
		a.Begin, a.End, a.Strides, a.Axes = append(a.Begin, begin), append(a.End, end), append(a.Strides, stride), append(a.Axes, i)
	}
	return r.call("strided_slice", a, inner.Args[0])
}

func padOfPad(r *rewriter, c *relay.Call) (relay.Expr, error) {
	if c.Op.Name != "nn.pad" {
		return nil, nil
	}
	inner, ok := is(c.Args[0], "nn.pad")
	if !ok {
		return nil, nil
	}
	a, b := inner.Attrs.(*relay.PadAttrs), c.Attrs.(*relay.PadAttrs)
	v, known := inner.Args[1].(*relay.Constant)
	w, also := c.Args[1].(*relay.Constant)
	if a.PadMode != "constant" || b.PadMode != "constant" || inner.Args[1] != c.Args[1] && !(known && also && slices.Equal(v.Value.Data, w.Value.Data)) {
		return nil, nil
	}
	width := slices.Clone(a.PadWidth)
	for i, n := range b.PadWidth {
		if n < 0 || width[i] < 0 {
			return nil, nil
		}
		width[i] += n
	}
	return r.call("nn.pad", &relay.PadAttrs{PadMode: "constant", PadWidth: width}, inner.Args[0], inner.Args[1])
}

// knownPlaces makes a slice of a take whose indices are known and rise or fall in equal steps.
func knownPlaces(r *rewriter, c *relay.Call) (relay.Expr, error) {
	a, ok := c.Attrs.(*relay.TakeAttrs)
	if !ok {
		return nil, nil
	}
	k, ok := c.Args[1].(*relay.Constant)
	if !ok {
		return nil, nil
	}
	shape, out := relay.Tensor(c.Args[0]).Shape, relay.Tensor(c).Shape
	axis := relay.NormalAxis(a.Axis, len(shape))
	places := tensor.Widen(k.Value).I
	n := len(places)
	if n == 0 || n > 1 && len(k.Value.Shape) != 1 {
		return nil, nil
	}
	for i, v := range places {
		if places[i] = v + int64(shape[axis]); v >= 0 {
			places[i] = v
		}
		if places[i] < 0 || places[i] >= int64(shape[axis]) { // clamped, or taken modulo the extent
			return nil, nil
		}
	}
	step := int64(1)
	if n > 1 {
		step = places[1] - places[0]
	}
	for i := 1; i < n; i++ {
		if step == 0 || places[i]-places[i-1] != step {
			return nil, nil
		}
	}
	begin, end := int(places[0]), int(places[n-1]+1)
	if step < 0 {
		if end -= 2; end < 0 {
			end = -shape[axis] - 1
		}
	}
	y, err := r.call("strided_slice", &relay.StridedSliceAttrs{Begin: []int{begin}, End: []int{end}, Strides: []int{int(step)}, Axes: []int{axis}}, c.Args[0])
	if err != nil || relay.Tensor(y).Shape.Equal(out) {
		return y, err
	}
	return r.call("reshape", &relay.ReshapeAttrs{NewShape: out.Clone()}, y)
}

// needlessBroadcast lets an operator that broadcasts read what its operand was made from.
func needlessBroadcast(r *rewriter, c *relay.Call) (relay.Expr, error) {
	if c.Op.Class != relay.Broadcast || c.Op.Lower != "elementwise" || c.Attrs != nil {
		return nil, nil
	}
	for i, a := range c.Args {
		from, ok := is(a, "broadcast_to")
		if !ok {
			continue
		}
		args := slices.Clone(c.Args)
		args[i] = from.Args[0]
		to, err := r.call(c.Op.Name, nil, args...)
		if err != nil {
			return nil, err
		}
		if relay.TypeEqual(to.Type(), c.Type()) {
			return to, nil
		}
	}
	return nil, nil
}

// transposedOperands reads the matrices of a product as they were before they were transposed. Where a transpose moves other
// axes too, what was innermost stays so: rows are moved, not single elements.
func transposedOperands(r *rewriter, c *relay.Call) (relay.Expr, error) {
	a, ok := c.Attrs.(*relay.MatmulAttrs)
	if !ok {
		return nil, nil
	}
	n, args, found := *a, slices.Clone(c.Args), false
	for i, transposed := range []*bool{&n.TransposeA, &n.TransposeB} {
		t, ok := is(args[i], "transpose")
		if !ok {
			continue
		}
		rank := len(relay.Tensor(t).Shape)
		axes := relay.Permutation(t.Attrs.(*relay.TransposeAttrs).Axes, rank)
		if axes[rank-2] != rank-1 {
			continue
		}
		axes[rank-2], axes[rank-1] = axes[rank-1], axes[rank-2]
		*transposed, found = !*transposed, true
		if args[i] = t.Args[0]; !slices.IsSorted(axes) {
			moved, err := r.call("transpose", &relay.TransposeAttrs{Axes: axes}, t.Args[0])
			if err != nil {
				return nil, err
			}
			args[i] = moved
		}
	}
	if !found {
		return nil, nil
	}
	return r.call(c.Op.Name, &n, args...)
}

// undoes names the operator that an operator with the same attributes undoes.
var undoes = map[string]string{"reverse": "reverse", "nn.depth_to_space": "nn.space_to_depth", "nn.space_to_depth": "nn.depth_to_space"}

func inverses(_ *rewriter, c *relay.Call) (relay.Expr, error) {
	if len(c.Args) != 1 {
		return nil, nil
	}
	inner, ok := c.Args[0].(*relay.Call)
	if !ok || inner.Op == nil || len(inner.Args) != 1 || !sameShape(inner.Args[0], c) {
		return nil, nil
	}
	if a, ok := c.Attrs.(*relay.LayoutTransformAttrs); ok && inner.Op == c.Op {
		b := inner.Attrs.(*relay.LayoutTransformAttrs)
		if a.SrcLayout == b.DstLayout && a.DstLayout == b.SrcLayout && a.Channels == 0 && b.Channels == 0 {
			return inner.Args[0], nil
		}
		return nil, nil
	}
	if undoes[c.Op.Name] == inner.Op.Name && attrsKey(c.Attrs) == attrsKey(inner.Attrs) {
		return inner.Args[0], nil
	}
	return nil, nil
}
