package relaygen

import (
	"slices"

	"github.com/texel-ml/texel/relay"
	"github.com/texel-ml/texel/tensor"
)

// heavyPatterns are convolutions and products with what stands before and behind them.
func heavyPatterns() map[string]func(g *Gen) relay.Expr {
	return map[string]func(g *Gen) relay.Expr{
		"combine-constants": func(g *Gen) relay.Expr {
			y := g.heavy(g.planes())
			if g.flip() {
				y = g.real(1, 4)
			}
			for range g.from(1, 3) {
				y = g.affine(y)
			}
			return y
		},
		"fold-scale-axis":          (*Gen).scaledHeavy,
		"fold-pad":                 (*Gen).paddedWindow,
		"recognize-dense":          (*Gen).constantProduct,
		"recognize-squeeze-excite": (*Gen).squeezeExcite,
		"combine-parallel":         (*Gen).parallel,
		"assign":                   (*Gen).chain,
		"flatten-atrous-conv":      (*Gen).atrous,
		"recognize-embedding":      (*Gen).embedding,
	}
}

// planes is an image in NCHW.
func (g *Gen) planes() relay.Expr {
	return g.want(func(t *relay.TensorType) bool {
		return t.DType == g.float && len(t.Shape) == 4 && t.Shape.Elems() > 0
	}, func() relay.Expr {
		return g.leaf(g.float, tensor.Shape{g.from(1, 2), pick(g, 4, 2, 3), g.from(2, 5), g.from(2, 5)})
	})
}

// heavy is a convolution of planes, plain, grouped or transposed, or a product with its last axis.
func (g *Gen) heavy(x relay.Expr) relay.Expr {
	s := relay.Tensor(x).Shape
	c, o := s[1], g.from(1, 4)
	pad := g.n(2)
	k := pick(g, 1, 3)
	if k > min(s[2], s[3])+2*pad {
		k = 1
	}
	switch g.n(4) {
	case 0:
		w := g.weight("OI", map[byte]int{'O': o, 'I': s[3]})
		return g.mid(g.call("nn.dense", nil, x, w))
	case 1:
		groups := g.divisor(c)
		a := &relay.ConvTransposeAttrs{Strides: []int{1, 2}, Padding: []int{0, 0, 0, 0}, OutputPadding: []int{0, 0}, Dilation: []int{1, 1}, Groups: groups,
			DataLayout: "NCHW", KernelLayout: "IOHW"}
		return g.mid(g.call("nn.conv2d_transpose", a, x, g.weight("IOHW", map[byte]int{'O': o, 'I': c, 'H': 2, 'W': 2})))
	}
	groups := 1
	if g.one(3) {
		groups = g.divisor(c)
	}
	a := &relay.ConvAttrs{Strides: []int{1, 1}, Padding: []int{pad, pad, pad, pad}, Dilation: []int{1, 1}, Groups: groups, DataLayout: "NCHW", KernelLayout: "OIHW"}
	return g.mid(g.call("nn.conv2d", a, x, g.weight("OIHW", map[byte]int{'O': o * groups, 'I': c / groups, 'H': k, 'W': k})))
}

// vectorAlong is a constant for each place along an axis: the channels, or rarely another one; or one number.
func (g *Gen) vectorAlong(x relay.Expr, axis int) relay.Expr {
	shape := relay.Tensor(x).Shape
	if g.miss() {
		axis = g.n(len(shape))
	}
	if g.one(4) {
		return g.numbers(g.float, tensor.Shape{}, 0.5, 2)
	}
	low := 0.5
	if g.one(3) {
		low = -2
	}
	return g.numbers(g.float, vector(shape, axis), low, 2)
}

// affine adds, subtracts, multiplies or divides by a constant.
func (g *Gen) affine(x relay.Expr) relay.Expr {
	axis := g.channels(x)
	switch g.n(5) {
	case 0:
		return g.mul(x, g.vectorAlong(x, axis))
	case 1:
		return g.div(x, g.numbers(g.float, vector(relay.Tensor(x).Shape, axis), 0.5, 2))
	case 2:
		return g.sub(x, g.vectorAlong(x, axis))
	case 3:
		return g.mid(g.call("nn.bias_add", &relay.AxisAttrs{Axis: axis}, x, g.constant(g.float, tensor.Shape{relay.Tensor(x).Shape[axis]})))
	}
	return g.add(x, g.vectorAlong(x, axis))
}

// channels returns the axis along which a heavy operator's channels lie.
func (g *Gen) channels(x relay.Expr) int {
	rank := len(relay.Tensor(x).Shape)
	if c, ok := x.(*relay.Call); ok && c.Op != nil && c.Op.Name == "nn.dense" || rank < 2 {
		return rank - 1
	}
	return 1
}

func (g *Gen) scaledHeavy() relay.Expr {
	x := g.planes()
	if g.flip() {
		for range g.from(1, 2) {
			x = g.affine(x)
		}
		return g.heavy(x)
	}
	y := g.heavy(x)
	for range g.from(1, 3) {
		switch g.n(6) {
		case 0:
			y = g.unary(pick(g, "nn.relu", "tanh"), y)
		case 1:
			a := &relay.PoolAttrs{PoolSize: []int{1, 1}, Strides: []int{1, 1}, Padding: []int{0, 0, 0, 0}, Dilation: []int{1, 1}, Layout: "NCHW"}
			if g.miss() {
				a.Layout = "NHWC"
			}
			for i, d := range spatialOf(a.Layout, relay.Tensor(y).Shape) {
				a.PoolSize[i] = min(2, d)
			}
			y = g.mid(g.call(pick(g, "nn.max_pool2d", "nn.avg_pool2d"), a, y))
		case 2:
			y = g.mid(g.call("nn.leaky_relu", &relay.AlphaAttrs{Alpha: 0.25}, y))
		}
		y = g.affine(y)
	}
	return y
}

func (g *Gen) paddedWindow() relay.Expr {
	x := g.planes()
	if g.flip() {
		x = g.unary(pick(g, "nn.relu", "sigmoid"), x)
	}
	width := []int{0, 0, 0, 0, g.n(3), g.n(3), g.n(3), g.n(3)}
	if g.miss() {
		width[2] = 1
	}
	value := g.same(g.float, tensor.Shape{}, pick(g, 0, 0, 0, 1, negInf))
	p := g.mid(g.call("nn.pad", &relay.PadAttrs{PadWidth: width, PadMode: pick(g, "constant", "constant", "constant", "edge")}, x, value))
	if g.one(3) {
		return g.heavy(p)
	}
	s := relay.Tensor(p).Shape
	a := &relay.PoolAttrs{PoolSize: []int{min(s[2], g.from(1, 3)), min(s[3], g.from(1, 3))}, Strides: g.list(2, 1, 2), Padding: []int{0, 0, 0, 0}, Dilation: []int{1, 1},
		Layout: "NCHW", CountIncludePad: g.flip(), CeilMode: g.one(4)}
	if g.one(3) {
		a.Padding = []int{g.n(a.PoolSize[0]), g.n(a.PoolSize[1]), g.n(a.PoolSize[0]), g.n(a.PoolSize[1])}
	}
	return g.call(pick(g, "nn.max_pool2d", "nn.avg_pool2d"), a, p)
}

func (g *Gen) constantProduct() relay.Expr {
	x := g.real(2, 4)
	s := relay.Tensor(x).Shape
	a := &relay.MatmulAttrs{TransposeB: g.flip(), TransposeA: g.miss()}
	k := s[len(s)-1]
	if a.TransposeA {
		k = s[len(s)-2]
	}
	w := tensor.Shape{k, 3}
	if a.TransposeB {
		w = tensor.Shape{3, k}
	}
	if g.miss() {
		w = append(tensor.Shape{1}, w...)
	}
	return g.call(pick(g, "nn.matmul", "nn.batch_matmul"), a, x, g.constant(g.float, w))
}

// embedding takes rows of a constant table, by their numbers or by a product with zeros and one 1, and computes of them.
func (g *Gen) embedding() relay.Expr {
	n, m := g.from(1, 4), g.from(1, 3)
	table := g.constant(g.float, tensor.Shape{n, m})
	var rows relay.Expr
	if g.flip() {
		rows = g.mid(g.call("take", &relay.TakeAttrs{Mode: pick(g, "clip", "wrap")}, table, g.index(g.shape(g.n(3)), n)))
	} else {
		rows = g.chosen(table)
	}
	for range g.n(4) {
		axis := len(relay.Tensor(rows).Shape) - 1
		if g.miss() {
			axis = 0
		}
		switch g.n(4) {
		case 0:
			rows = g.unary(pick(g, "tanh", "nn.relu", "negative"), rows)
		case 1:
			rows = g.add(rows, g.numbers(g.float, vector(relay.Tensor(rows).Shape, axis), -2, 2))
		case 2:
			rows = g.mid(g.call("nn.bias_add", &relay.AxisAttrs{Axis: axis}, rows, g.constant(g.float, relay.Tensor(rows).Shape[axis:axis+1])))
		case 3:
			rows = g.mul(rows, g.k(0.5))
		}
	}
	return rows
}

// chosen is a product of zeros and one 1 with a table.
func (g *Gen) chosen(table relay.Expr) relay.Expr {
	n := relay.Tensor(table).Shape[0]
	shape := g.shape(g.from(1, 2))
	d := pick(g, tensor.Int32, tensor.Int64, tensor.Uint8, tensor.Int8)
	var hot relay.Expr
	if g.one(3) {
		a := &relay.OneHotAttrs{Depth: n, Axis: -1}
		hot = g.call("one_hot", a, g.exactly(d, shape), g.k(1), g.same(g.float, tensor.Shape{}, 0))
	} else {
		k := tensor.NewWide(d, tensor.Shape{n})
		first := g.n(3)
		for i := range k.I {
			k.I[i] = int64(first + i)
		}
		if g.miss() {
			k.I[0]++
		}
		x := g.exactly(d, append(slices.Clone(shape), 1))
		hot = g.call("cast", &relay.CastAttrs{DType: g.float, Saturate: true, RoundMode: "up"}, g.binary("equal", x, relay.NewConstant(k.Narrow(), "", g.pos("numbers"))))
	}
	if g.one(3) {
		hot = g.reshaped(hot, 1, shape.Elems(), n)
	}
	hot = g.mid(hot)
	if g.flip() {
		return g.mid(g.call("nn.matmul", &relay.MatmulAttrs{}, hot, table))
	}
	return g.mid(g.call("nn.dense", &relay.DenseAttrs{}, hot, g.call("transpose", &relay.TransposeAttrs{Axes: []int{1, 0}}, table)))
}

func (g *Gen) squeezeExcite() relay.Expr {
	x := g.planes()
	c, r := relay.Tensor(x).Shape[1], g.from(1, 3)
	dense := g.flip()
	pooled := g.mid(g.call("nn.global_avg_pool2d", nil, g.other(x)))
	if dense || g.flip() {
		axes := []int{2, 3}
		if g.miss() {
			axes = []int{2}
		}
		pooled = g.mid(g.call("mean", &relay.ReduceAttrs{Axis: axes, Keepdims: !dense || len(axes) == 1}, g.other(x)))
	}
	layer := func(y relay.Expr, in, out int) relay.Expr {
		if dense && len(relay.Tensor(y).Shape) == 2 {
			y = g.mid(g.call("nn.dense", nil, y, g.weight("OI", map[byte]int{'O': out, 'I': in})))
		} else {
			a := &relay.ConvAttrs{Strides: []int{1, 1}, Padding: []int{0, 0, 0, 0}, Dilation: []int{1, 1}, Groups: 1, DataLayout: "NCHW", KernelLayout: "OIHW"}
			y = g.mid(g.call("nn.conv2d", a, y, g.weight("OIHW", map[byte]int{'O': out, 'I': in, 'H': 1, 'W': 1})))
		}
		if g.flip() {
			y = g.mid(g.call("nn.bias_add", &relay.AxisAttrs{Axis: 1}, y, g.constant(g.float, tensor.Shape{out})))
		}
		return y
	}
	y := g.unary(pick(g, "nn.relu", "nn.hard_swish", "nn.relu", "tanh"), layer(pooled, c, r))
	y = layer(y, r, c)
	if g.flip() {
		y = g.unary("sigmoid", y)
	} else {
		y = g.mid(g.call("nn.hard_sigmoid", &relay.HardSigmoidAttrs{Alpha: 1. / 6, Beta: 0.5}, y))
	}
	if s := relay.Tensor(y).Shape; len(s) == 2 {
		y = g.reshaped(y, s[0], s[1], 1, 1)
	}
	return g.mul(x, y)
}

// chain is a few convolutions with pools, joins and transposes between them.
func (g *Gen) chain() relay.Expr {
	x := g.planes()
	for range g.from(2, 4) {
		switch g.n(4) {
		case 0:
			x = g.unary("nn.relu", x)
		case 1:
			x = g.call("transpose", &relay.TransposeAttrs{Axes: g.permutation(len(relay.Tensor(x).Shape))}, x)
		case 2:
			x = g.mid(g.call("concatenate", &relay.ConcatAttrs{Axis: 1}, g.tuple(x, g.unary("tanh", x))))
		default:
			x = g.heavy(x)
		}
	}
	return x
}

// atrous is a convolution between a space to batch and a batch to space.
func (g *Gen) atrous() relay.Expr {
	n, c, o := g.from(1, 2), g.from(1, 3), g.from(1, 3)
	rows, columns := g.from(1, 2), g.from(1, 3)
	h, w := rows*g.from(3, 4), columns*g.from(3, 4)
	top, left := g.n(rows+1), g.n(columns+1)
	x := g.exactly(g.float, tensor.Shape{n, c, h - top, w - left})
	p := g.mid(g.call("nn.pad", &relay.PadAttrs{PadMode: "constant", PadWidth: []int{0, 0, 0, 0, top, 0, left, 0}}, x, g.k(0)))
	axes := []int{3, 5, 0, 1, 2, 4}
	if g.miss() {
		axes = []int{5, 3, 0, 1, 2, 4}
	}
	y := g.mid(g.call("transpose", &relay.TransposeAttrs{Axes: axes}, g.reshaped(p, n, c, h/rows, rows, w/columns, columns)))
	y = g.mid(g.reshaped(y, n*rows*columns, c, h/rows, w/columns))
	pad := g.n(2)
	a := &relay.ConvAttrs{Strides: []int{1, 1}, Padding: []int{pad, 0, pad, 1}, Dilation: []int{1, g.from(1, 2)}, Groups: 1, DataLayout: "NCHW", KernelLayout: "OIHW"}
	if g.miss() {
		a.Strides = []int{1, 2}
	}
	y = g.mid(g.call("nn.conv2d", a, y, g.weight("OIHW", map[byte]int{'O': o, 'I': c, 'H': g.from(1, 2), 'W': g.from(1, 2)})))
	s := relay.Tensor(y).Shape
	back := []int{2, 3, 4, 0, 5, 1}
	if g.miss() {
		back = []int{2, 3, 4, 1, 5, 0}
	}
	y = g.mid(g.call("transpose", &relay.TransposeAttrs{Axes: back}, g.reshaped(y, rows, columns, n, o, s[2], s[3])))
	t := relay.Tensor(y).Shape
	y = g.mid(g.reshaped(y, n, o, t[2]*t[3], t[4]*t[5]))
	s = relay.Tensor(y).Shape
	return g.call("strided_slice", &relay.StridedSliceAttrs{Begin: []int{g.n(min(2, s[2])), g.n(min(2, s[3]))}, End: []int{s[2], s[3]}, Axes: []int{2, 3}}, y)
}

// parallel is a few convolutions or dense layers of one operand, with biases and activations.
func (g *Gen) parallel() relay.Expr {
	x := g.planes()
	s := relay.Tensor(x).Shape
	dense, biased, act := g.flip(), g.flip(), g.flip()
	a := &relay.ConvAttrs{Strides: []int{1, 1}, Padding: []int{0, 0, 0, 0}, Dilation: []int{1, 1}, Groups: 1, DataLayout: "NCHW", KernelLayout: "OIHW"}
	var list []relay.Expr
	for range g.from(2, 3) {
		o := g.from(1, 3)
		y, axis := g.other(x), 1
		if dense {
			y, axis = g.mid(g.call("nn.dense", nil, y, g.weight("OI", map[byte]int{'O': o, 'I': s[3]}))), 3
		} else {
			n := *a
			if g.miss() {
				n.Strides = []int{1, 2}
			}
			y = g.mid(g.call("nn.conv2d", &n, y, g.weight("OIHW", map[byte]int{'O': o, 'I': s[1], 'H': 1, 'W': 1})))
		}
		if biased != g.miss() {
			y = g.mid(g.call("nn.bias_add", &relay.AxisAttrs{Axis: axis}, y, g.constant(g.float, tensor.Shape{o})))
		}
		if act {
			y = g.unary(pick(g, "nn.relu", "nn.relu", "nn.relu", "tanh"), y)
		}
		list = append(list, y)
	}
	axis := 1
	if dense {
		axis = 3
	}
	if g.flip() && joinable(list, axis) {
		return g.call("concatenate", &relay.ConcatAttrs{Axis: axis}, g.tuple(list...))
	}
	g.values = append(g.values, list...)
	return list[0]
}
