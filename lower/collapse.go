package lower

import (
	"github.com/texel-ml/texel/relay"
	"github.com/texel-ml/texel/tensor"
)

// collapse returns a function in which the spatial axes of a pointwise convolution, and of everything around it, are one:
// (N, H, W, C) becomes (N, 1, H·W, C). The memory of the parameters is the same, and a tile of pixels may then run over
// the ends of rows. A function of another form is returned as it is.
func collapse(fn *relay.Function) *relay.Function {
	var conv *relay.Call
	for e := range relay.PostOrder(fn.Body, false) {
		c, ok := e.(*relay.Call)
		switch {
		case !ok:
		case c.Op == nil || c.Op.Class > relay.Broadcast && c.Op.Lower != "conv":
			return fn
		case c.Op.Lower == "conv":
			if conv != nil {
				return fn
			}
			conv = c
		}
	}
	if conv == nil || !isPointwise(conv) {
		return fn
	}
	pixels := relay.Tensor(conv.Args[0]).Shape
	to := map[relay.Expr]relay.Expr{}
	params := make([]*relay.Var, len(fn.Params))
	for i, p := range fn.Params {
		params[i] = p
		t := relay.Tensor(p)
		if t == nil || p == conv.Args[1] {
			continue
		}
		shape, ok := collapsed(t.Shape, pixels)
		if !ok {
			return fn
		}
		if !shape.Equal(t.Shape) {
			params[i] = relay.NewVar(p.Name, &relay.TensorType{Shape: shape, DType: t.DType}, p.Pos())
			to[p] = params[i]
		}
	}
	body, err := relay.Rewrite(fn.Body, func(old, rebuilt relay.Expr) (relay.Expr, error) {
		if v, ok := to[old]; ok {
			return v, nil
		}
		return rebuilt, nil
	})
	if err != nil {
		return fn
	}
	return relay.NewFunction(params, body, fn.Primitive, fn.Attrs, fn.Pos())
}

// isPointwise reports whether a convolution of images is a matrix product a pixel: window 1, stride 1, no border, one
// group, channels innermost.
func isPointwise(c *relay.Call) bool {
	a := c.Attrs.(*relay.ConvAttrs)
	if a.DataLayout != "NHWC" || a.OutLayout != "" && a.OutLayout != "NHWC" || a.Groups != 1 || hasPadding(a.Padding) {
		return false
	}
	kernel := tensor.MustLayout(a.KernelLayout)
	shape := relay.Tensor(c.Args[1]).Shape
	for n, l := range "HW" {
		if a.Strides[n] != 1 || kernel.Extent(shape, byte(l)) != 1 {
			return false
		}
	}
	return true
}

// collapsed returns shape with its two spatial axes made one, where it has those of pixels or none.
func collapsed(shape, pixels tensor.Shape) (tensor.Shape, bool) {
	n := len(shape)
	if n < 2 || n == 2 && shape[0] == 1 {
		return shape, true
	}
	h, w := 1, shape[n-2]
	if n > 2 {
		h = shape[n-3]
	}
	switch {
	case h == 1 && w == 1:
		return shape, true
	case n == 4 && h == pixels[1] && w == pixels[2]:
		return tensor.Shape{shape[0], 1, h * w, shape[3]}, true
	}
	return nil, false
}
