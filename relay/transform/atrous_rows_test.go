package transform

import "github.com/texel-ml/texel/relay"

// toBatch takes rows and columns of an image (N, C, H, W) apart by their places in blocks of b × b.
func (g *graph) toBatch(x relay.Expr, b int) relay.Expr {
	s := relay.Tensor(x).Shape
	y := g.transpose(g.reshape(x, s[0], s[1], s[2]/b, b, s[3]/b, b), 3, 5, 0, 1, 2, 4)
	return g.reshape(y, s[0]*b*b, s[1], s[2]/b, s[3]/b)
}

// toSpace is the inverse of toBatch.
func (g *graph) toSpace(x relay.Expr, b int) relay.Expr {
	s := relay.Tensor(x).Shape
	n := s[0] / b / b
	return g.reshape(g.transpose(g.reshape(x, b, b, n, s[1], s[2], s[3]), 2, 3, 4, 0, 5, 1), n, s[1], s[2]*b, s[3]*b)
}

func (g *graph) zeroPad(x relay.Expr, width ...int) relay.Expr {
	return g.call("nn.pad", &relay.PadAttrs{PadWidth: width, PadMode: "constant"}, x, g.scalar(0))
}

var atrousRows = []row{
	{name: "same_size", why: "as TensorFlow writes a dilation of 2 that keeps the size: pad, space to batch, convolution, batch to space, crop", build: func(g *graph) relay.Expr {
		y := g.toSpace(g.conv(g.toBatch(g.zeroPad(g.input("x", 1, 2, 5, 5), 0, 0, 0, 0, 2, 3, 2, 3), 2), 3, 2, 3, 0, 1), 2)
		return g.call("strided_slice", &relay.StridedSliceAttrs{Begin: []int{0, 0}, End: []int{5, 5}, Axes: []int{2, 3}}, y)
	}},
	{name: "channels_last", why: "with the images of TensorFlow: the convolution's layout is reached by transposes, and the blocks by depth to space", build: func(g *graph) relay.Expr {
		depth := &relay.BlockAttrs{BlockSize: 2, Layout: "NHWC", Mode: "DCR"}
		x := g.transpose(g.input("x", 2, 4, 6, 3), 3, 1, 2, 0) // the batch becomes the channels
		y := g.transpose(g.call("nn.space_to_depth", depth, x), 3, 0, 1, 2)
		y = g.transpose(g.conv(y, 3, 3, 2, 0, 1), 1, 2, 3, 0)
		return g.transpose(g.call("nn.depth_to_space", depth, y), 3, 1, 2, 0)
	}},
	{name: "other_order", why: "rows and columns are exchanged on the way back", keeps: true, build: func(g *graph) relay.Expr {
		x := g.conv(g.toBatch(g.input("x", 1, 2, 6, 6), 2), 3, 2, 2, 0, 1)
		return g.reshape(g.transpose(g.reshape(x, 2, 2, 1, 3, 2, 2), 2, 3, 4, 1, 5, 0), 1, 3, 4, 4)
	}},
	{name: "strided", why: "a stride inside would leave out places of each block", keeps: true, build: func(g *graph) relay.Expr {
		attrs := g.ops.Lookup("nn.conv2d").NewAttrs().(*relay.ConvAttrs)
		attrs.Strides = []int{2, 2}
		return g.toSpace(g.call("nn.conv2d", attrs, g.toBatch(g.input("x", 1, 2, 8, 8), 2), g.weights(3, 2, 2, 2)), 2)
	}},
	{name: "padded_by_ones", why: "a convolution pads by zeros: the pad stays, the blocks go", build: func(g *graph) relay.Expr {
		x := g.call("nn.pad", &relay.PadAttrs{PadWidth: []int{0, 0, 0, 0, 1, 1, 1, 1}, PadMode: "constant"}, g.reshape(g.input("x", 32), 1, 2, 4, 4), g.scalar(1))
		return g.tuple(g.toSpace(g.conv(g.toBatch(x, 2), 3, 2, 2, 0, 1), 2), x)
	}},
	{name: "crop", why: "rows and columns that are cut off need no padding to be computed", build: func(g *graph) relay.Expr {
		y := g.conv(g.input("x", 1, 2, 5, 5), 3, 2, 3, 2, 1)
		return g.call("strided_slice", &relay.StridedSliceAttrs{Begin: []int{1, 2}, End: []int{7, -1}, Axes: []int{2, 3}}, y)
	}},
	{name: "crop_of_more", why: "what is cut off is not only of padding", keeps: true, build: func(g *graph) relay.Expr {
		return g.slice(g.conv(g.input("x", 1, 2, 5, 5), 3, 2, 3, 1, 1), 2, 2, 5)
	}},
	{name: "crop_of_channels", why: "channels are no padding", keeps: true, build: func(g *graph) relay.Expr {
		return g.slice(g.conv(g.input("x", 1, 2, 5, 5), 3, 2, 3, 1, 1), 1, 1, 3)
	}},
}
