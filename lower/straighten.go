package lower

import (
	"github.com/texel-ml/texel/relay"
	"github.com/texel-ml/texel/tensor"
)

// straighten returns a function in which a convolution along rows of one pixel runs along one row instead: (N, H, 1, C)
// becomes (N, 1, H, C), its window (K, 1) becomes (1, K). The memory is the same, and tiles of pixels lie along the last
// spatial axis. A function of another form is returned as it is.
func straighten(fn *relay.Function) *relay.Function {
	var conv *relay.Call
	for e := range relay.PostOrder(fn.Body, false) {
		c, ok := e.(*relay.Call)
		switch {
		case !ok:
		case c.Op == nil:
			return fn
		case c.Op.Lower == "conv" && conv == nil && isColumn(c):
			conv = c
		case c.Op.Class > relay.Broadcast || c.Op.Lower != "elementwise" || !alongLast(c):
			return fn
		}
	}
	if conv == nil {
		return fn
	}
	a := conv.Attrs.(*relay.ConvAttrs)
	done := map[relay.Expr]relay.Expr{}
	params := make([]*relay.Var, len(fn.Params))
	for i, p := range fn.Params {
		t := relay.Tensor(p)
		if t == nil {
			return fn
		}
		shape, ok := laid(t.Shape)
		if p == conv.Args[1] {
			kernel := tensor.MustLayout(a.KernelLayout)
			shape, ok = swapped(t.Shape, kernel.Index('H'), kernel.Index('W')), true
		}
		if !ok {
			return fn
		}
		params[i] = relay.NewVar(p.Name, &relay.TensorType{Shape: shape, DType: t.DType}, p.Pos())
		done[p] = params[i]
	}
	if done[conv.Args[1]] == nil {
		return fn
	}
	for e := range relay.PostOrder(fn.Body, false) {
		if done[e] != nil {
			continue
		}
		to, err := relay.Rebuild(e, done)
		if e == relay.Expr(conv) {
			n := *a
			n.Strides, n.Dilation = swapped(a.Strides, 0, 1), swapped(a.Dilation, 0, 1)
			n.Padding = swapped(swapped(a.Padding, 0, 1), 2, 3)
			if a.KernelSize != nil {
				n.KernelSize = swapped(a.KernelSize, 0, 1)
			}
			to, err = relay.NewCall(conv.Op, []relay.Expr{operandOr(done, conv.Args[0]), done[conv.Args[1]]}, &n, conv.Pos())
		}
		if err != nil {
			return fn
		}
		done[e] = to
	}
	return relay.NewFunction(params, done[fn.Body], fn.Primitive, fn.Attrs, fn.Pos())
}

func operandOr(done map[relay.Expr]relay.Expr, e relay.Expr) relay.Expr {
	if to := done[e]; to != nil {
		return to
	}
	return e
}

// isColumn reports whether a convolution of images with channels innermost has one column and several rows, and a window
// of one column.
func isColumn(c *relay.Call) bool {
	a, ok := c.Attrs.(*relay.ConvAttrs)
	if !ok || a.DataLayout != "NHWC" || a.OutLayout != "" && a.OutLayout != "NHWC" || len(a.Strides) != 2 {
		return false
	}
	data, out := relay.Tensor(c.Args[0]).Shape, relay.Tensor(c).Shape
	kernel := tensor.MustLayout(a.KernelLayout)
	return data[2] == 1 && out[2] == 1 && out[1] > 1 && kernel.Extent(relay.Tensor(c.Args[1]).Shape, 'W') == 1
}

// alongLast reports whether an elementwise operator treats all axes alike, or works along the last one.
func alongLast(c *relay.Call) bool {
	if a, ok := c.Attrs.(*relay.AxisAttrs); ok {
		rank := len(relay.Tensor(c).Shape)
		return relay.NormalAxis(a.Axis, rank) == rank-1
	}
	return axisFree(c)
}

// laid returns (…, H, 1, C) as (…, 1, H, C); false when the axis of columns is longer.
func laid(shape tensor.Shape) (tensor.Shape, bool) {
	n := len(shape)
	if n < 2 {
		return shape, true
	}
	if shape[n-2] != 1 {
		return nil, false
	}
	if n == 2 {
		return shape, true
	}
	return swapped(shape, n-3, n-2), true
}

// swapped returns a copy of list with two entries exchanged.
func swapped[L ~[]int](list L, i, j int) L {
	out := append(L{}, list...)
	out[i], out[j] = out[j], out[i]
	return out
}
