package transform

import (
	"context"
	"math"
	"slices"

	"github.com/texel-ml/texel/relay"
	"github.com/texel-ml/texel/tensor"
)

// RemoveIdentities removes operators that change nothing and joins movements of data that follow each other.
//
//	copy(x), cast to the same type, x · 1, clip without bounds                →  x
//	reshape, squeeze and expand_dims                                         →  one reshape, or x
//	transpose(transpose(x))                                                  →  one transpose, or x
//	transposes between reshapes that add or drop axes of extent 1            →  reshape, transpose, reshape, or fewer
//	a slice of everything, a pad by nothing, concatenate of one, split in one →  x
//	field i of a tuple                                                       →  that field
func RemoveIdentities(_ context.Context, m *relay.Module, o *Options) (*relay.Module, error) {
	return rewriteExpr("remove-identities", m, o, func(r *rewriter, e relay.Expr) (relay.Expr, error) {
		switch e := e.(type) {
		case *relay.TupleGet:
			if t, ok := e.Tuple.(*relay.Tuple); ok {
				return t.Fields[e.Index], nil
			}
			if s, ok := is(e.Tuple, "split"); ok && len(s.Attrs.(*relay.SplitAttrs).Indices) == 0 {
				return s.Args[0], nil
			}
		case *relay.Call:
			if e.Op != nil {
				return r.identity(e)
			}
		}
		return nil, nil
	})
}

func (r *rewriter) identity(c *relay.Call) (relay.Expr, error) {
	switch c.Op.Name {
	case "copy":
		return c.Args[0], nil
	case "multiply":
		for i, a := range c.Args {
			if v, ok := number(a); ok && v == 1 && sameShape(c.Args[1-i], c) {
				return c.Args[1-i], nil
			}
		}
	case "divide":
		if v, ok := number(c.Args[1]); ok && v == 1 && sameShape(c.Args[0], c) {
			return c.Args[0], nil
		}
	case "clip":
		if a := c.Attrs.(*relay.ClipAttrs); math.IsInf(a.AMin, -1) && math.IsInf(a.AMax, 1) {
			return c.Args[0], nil
		}
	case "reshape", "squeeze", "expand_dims":
		if to, err := r.reshaped(c); to != nil || err != nil {
			return to, err
		}
		return r.turned(c)
	case "transpose":
		if to, err := r.transposed(c); to != nil || err != nil {
			return to, err
		}
		return r.turned(c)
	case "concatenate":
		if t, ok := c.Args[0].(*relay.Tuple); ok && len(t.Fields) == 1 {
			return t.Fields[0], nil
		}
	case "strided_slice":
		whole := true
		for axis, s := range c.Attrs.(*relay.StridedSliceAttrs).Ranges(relay.Tensor(c.Args[0]).Shape) {
			whole = whole && s.Begin == 0 && s.Stride == 1 && s.Extent == relay.Tensor(c.Args[0]).Shape[axis]
		}
		if whole {
			return c.Args[0], nil
		}
	case "nn.pad":
		if !slices.ContainsFunc(c.Attrs.(*relay.PadAttrs).PadWidth, func(w int) bool { return w != 0 }) {
			return c.Args[0], nil
		}
	case "cast", "broadcast_to", "tile", "layout_transform", "reverse", "sum", "mean", "max", "min":
		return r.sameResult(c)
	}
	return nil, nil
}

// sameResult removes operators that give their operand when the type stays.
func (r *rewriter) sameResult(c *relay.Call) (relay.Expr, error) {
	if !sameShape(c.Args[0], c) {
		return nil, nil
	}
	switch a := c.Attrs.(type) {
	case *relay.CastAttrs, *relay.ShapeAttrs, *relay.TileAttrs:
		return c.Args[0], nil
	case *relay.LayoutTransformAttrs:
		if a.SrcLayout == a.DstLayout && a.Channels == 0 { // else it clears the padding
			return c.Args[0], nil
		}
	case *relay.AxisAttrs: // reverse
		if s := relay.Tensor(c).Shape; s[relay.NormalAxis(a.Axis, len(s))] <= 1 {
			return c.Args[0], nil
		}
	case *relay.ReduceAttrs: // over axes of extent 1, which are kept
		if s := relay.Tensor(c).Shape; s.Elems() > 0 {
			return c.Args[0], nil
		}
	}
	return nil, nil
}

// reshaped joins reshapes, and drops one that keeps the shape. All of them become reshape.
func (r *rewriter) reshaped(c *relay.Call) (relay.Expr, error) {
	from := c.Args[0]
	for {
		inner, ok := from.(*relay.Call)
		if !ok || inner.Op == nil || inner.Op.Name != "reshape" {
			break
		}
		from = inner.Args[0]
	}
	if sameShape(from, c) {
		return from, nil
	}
	if from == c.Args[0] && c.Op.Name == "reshape" {
		return nil, nil
	}
	return r.call("reshape", &relay.ReshapeAttrs{NewShape: relay.Tensor(c).Shape.Clone()}, from)
}

// transposed joins transposes, drops one that changes no order, and makes a reshape of one that only moves axes of
// extent 1.
func (r *rewriter) transposed(c *relay.Call) (relay.Expr, error) {
	from := c.Args[0]
	perm := relay.Permutation(c.Attrs.(*relay.TransposeAttrs).Axes, len(relay.Tensor(c).Shape))
	joined := false
	for {
		inner, ok := is(from, "transpose")
		if !ok {
			break
		}
		before := relay.Permutation(inner.Attrs.(*relay.TransposeAttrs).Axes, len(perm))
		next := make([]int, len(perm))
		for i, a := range perm {
			next[i] = before[a]
		}
		perm, from, joined = next, inner.Args[0], true
	}
	if slices.IsSorted(perm) {
		return from, nil
	}
	if s := relay.Tensor(from).Shape; onlyUnitsMove(perm, s) {
		shape := make(tensor.Shape, len(s))
		for i, a := range perm {
			shape[i] = s[a]
		}
		e, err := r.call("reshape", &relay.ReshapeAttrs{NewShape: shape}, from)
		if err != nil {
			return nil, err
		}
		if again, err := r.reshaped(e.(*relay.Call)); again != nil || err != nil {
			return again, err
		}
		return e, nil
	}
	if !joined {
		return nil, nil
	}
	return r.call("transpose", &relay.TransposeAttrs{Axes: perm}, from)
}

// turned joins transposes with reshapes between them that only add or drop axes of extent 1. What counts is the order of the
// other axes.
func (r *rewriter) turned(c *relay.Call) (relay.Expr, error) {
	var chain []*relay.Call // the last first
	transposes := 0
	x := relay.Expr(c)
	for {
		m, ok := x.(*relay.Call)
		if !ok || m.Op == nil || m.Op.Name != "transpose" && (m.Op.Name != "reshape" || unshaped(m) == x) {
			break
		}
		if m.Op.Name == "transpose" {
			transposes++
		}
		chain, x = append(chain, m), m.Args[0]
	}
	if transposes == 0 || len(chain) < 2 {
		return nil, nil
	}
	order := wideAxes(relay.Tensor(x).Shape) // axes of x, in the order in which they lie
	for _, m := range slices.Backward(chain) {
		if m.Op.Name == "transpose" {
			order = turnedOrder(order, m)
		}
	}
	out := relay.Tensor(c).Shape
	if slices.IsSorted(order) {
		return r.inShape(x, out)
	}
	if transposes == 1 { // there is no better form
		return nil, nil
	}
	from := relay.Tensor(x).Shape
	wide := wideAxes(from)
	x, err := r.inShape(x, unitless(from))
	if err != nil {
		return nil, err
	}
	for i, axis := range order {
		order[i] = slices.Index(wide, axis)
	}
	if x, err = r.call("transpose", &relay.TransposeAttrs{Axes: order}, x); err != nil {
		return nil, err
	}
	return r.inShape(x, out)
}

// wideAxes lists the axes that are not of extent 1.
func wideAxes(shape tensor.Shape) []int {
	axes := []int{}
	for axis, d := range shape {
		if d != 1 {
			axes = append(axes, axis)
		}
	}
	return axes
}

// turnedOrder is the order of wide axes behind a transpose, from that before it.
func turnedOrder(order []int, m *relay.Call) []int {
	shape := relay.Tensor(m.Args[0]).Shape
	wide := wideAxes(shape)
	next := make([]int, 0, len(order))
	for _, axis := range relay.Permutation(m.Attrs.(*relay.TransposeAttrs).Axes, len(shape)) {
		if i := slices.Index(wide, axis); i >= 0 {
			next = append(next, order[i])
		}
	}
	return next
}

// inShape reshapes x, where it has another shape.
func (r *rewriter) inShape(x relay.Expr, shape []int) (relay.Expr, error) {
	if relay.Tensor(x).Shape.Equal(shape) {
		return x, nil
	}
	return r.call("reshape", &relay.ReshapeAttrs{NewShape: slices.Clone(shape)}, x)
}
