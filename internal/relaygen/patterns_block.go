package relaygen

import (
	"fmt"

	"github.com/texel-ml/texel/relay"
	"github.com/texel-ml/texel/tensor"
)

func blockPatterns() map[string]func(g *Gen) relay.Expr {
	return map[string]func(g *Gen) relay.Expr{"fuse-blocks": (*Gen).invertedResidual}
}

// invertedResidual is a pointwise, a depthwise and a pointwise convolution, channels innermost and weights in panels.
func (g *Gen) invertedResidual() relay.Expr {
	in, mid := 4, pick(g, 8, 12) // whole panels: other passes may unpack them
	rows := 28
	if g.miss() {
		rows = 9
	}
	x := g.exactly(g.float, tensor.Shape{pick(g, 1, 2), rows * pick(g, 1, 2), pick(g, 4, 3), in})
	window := 1
	if g.miss() {
		window = 3
	}
	y := g.panelConv(x, mid, window, 1, 1)
	y = g.panelConv(y, mid, pick(g, 3, 5), pick(g, 1, 2), mid)
	if g.one(3) {
		return y
	}
	y = g.panelConv(y, in, 1, 1, 1)
	if relay.Tensor(y).Shape.Equal(relay.Tensor(x).Shape) && g.flip() {
		return g.add(y, x)
	}
	return y
}

// panelConv is a convolution whose weight is packed in panels of n outputs, with a bias and perhaps an activation.
func (g *Gen) panelConv(x relay.Expr, out, window, stride, groups int) relay.Expr {
	const n = 4
	pad := window / 2
	weight := g.constant(g.float, tensor.Shape{(out + n - 1) / n, window, window, relay.Tensor(x).Shape[3] / groups, n})
	y := g.mid(g.call("nn.conv2d", &relay.ConvAttrs{Strides: []int{stride, stride}, Padding: []int{pad, pad, pad, pad}, Dilation: []int{1, 1},
		Groups: groups, Channels: out, DataLayout: "NHWC", KernelLayout: fmt.Sprintf("OHWI%do", n)}, x, weight))
	y = g.add(y, g.constant(g.float, tensor.Shape{out}))
	if g.flip() {
		y = g.unary("nn.relu", y)
	}
	return y
}
