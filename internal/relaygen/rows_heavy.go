package relaygen

import (
	"slices"
	"strconv"

	"github.com/texel-ml/texel/relay"
	"github.com/texel-ml/texel/tensor"
)

var spatialLetters = [...]string{1: "W", 2: "HW", 3: "DHW"}

// image returns a value with batch, channels and spatial axes, and its layout.
func (g *Gen) image(spatial int) (relay.Expr, string) {
	layout := "NC" + spatialLetters[spatial]
	if g.one(3) {
		layout = "N" + spatialLetters[spatial] + "C"
	}
	x := g.want(func(t *relay.TensorType) bool {
		return t.DType == g.float && len(t.Shape) == spatial+2 && t.Shape.Elems() > 0
	}, func() relay.Expr {
		shape := tensor.Shape{g.from(1, 2)}
		for _, letter := range layout[1:] {
			if letter == 'C' {
				shape = append(shape, pick(g, 4, 3, 1, 2, 6))
			} else {
				shape = append(shape, pick(g, 4, 5, 3, 6, 1))
			}
		}
		return g.leaf(g.float, shape)
	})
	return x, layout
}

// windowed draws window, stride, dilation and padding for extents, such that a window fits.
func (g *Gen) windowed(in []int) (window, strides, dilation, padding []int) {
	n := len(in)
	padding = make([]int, 2*n)
	for i, d := range in {
		k := pick(g, 3, 1, 2)
		begin, end, gap := g.n(min(k, 2)+1), g.n(min(k, 2)+1), 1+g.n(2)
		for gap > 1 && gap*(k-1)+1 > d+begin+end {
			gap--
		}
		k = min(k, d+begin+end)
		window, strides, dilation = append(window, k), append(strides, g.from(1, 2)), append(dilation, gap)
		padding[i], padding[n+i] = begin, end
	}
	return
}

// spatialOf returns the extents of the spatial axes of a shape in a layout.
func spatialOf(layout string, shape tensor.Shape) []int {
	var in []int
	l := tensor.MustLayout(layout)
	for _, letter := range "DHW" {
		if i := l.Index(byte(letter)); i >= 0 {
			in = append(in, shape[i])
		}
	}
	return in
}

// heavyRows are the convolutions and products.
func heavyRows() map[string]func(g *Gen) relay.Expr {
	all := map[string]func(g *Gen) relay.Expr{
		"nn.dense":        (*Gen).dense,
		"nn.matmul":       func(g *Gen) relay.Expr { return g.matmul("nn.matmul") },
		"nn.batch_matmul": func(g *Gen) relay.Expr { return g.matmul("nn.batch_matmul") },
		"nn.attention":    (*Gen).attentionRow,
	}
	for rank := 1; rank <= 3; rank++ {
		name := "nn.conv" + strconv.Itoa(rank) + "d"
		all[name] = func(g *Gen) relay.Expr { return g.conv(name, rank) }
		all[name+"_transpose"] = func(g *Gen) relay.Expr { return g.convTranspose(name+"_transpose", rank) }
	}
	return all
}

// weight is a constant mostly, with its letters in the order of the layout.
func (g *Gen) weight(layout string, extents map[byte]int) relay.Expr {
	shape := tensor.Shape{}
	for i := range len(layout) {
		shape = append(shape, extents[layout[i]])
	}
	if g.one(6) {
		return g.input(g.float, shape)
	}
	return g.constant(g.float, shape)
}

// extents names the extents of a weight.
func extents(o, i int, spatial string, window []int) map[byte]int {
	m := map[byte]int{'O': o, 'I': i}
	for n := range len(spatial) {
		m[spatial[n]] = window[n]
	}
	return m
}

func (g *Gen) wide() tensor.DType { return pick(g, tensor.Invalid, tensor.Invalid, tensor.Float64) }

func (g *Gen) conv(name string, rank int) relay.Expr {
	x, layout := g.image(rank)
	shape := relay.Tensor(x).Shape
	a := &relay.ConvAttrs{DataLayout: layout, KernelLayout: pick(g, "OI"+spatialLetters[rank], spatialLetters[rank]+"IO"), OutDType: g.wide()}
	c := shape[tensor.MustLayout(layout).Index('C')]
	a.Groups = 1
	if g.one(3) {
		a.Groups = g.divisor(c)
	}
	var window []int
	window, a.Strides, a.Dilation, a.Padding = g.windowed(spatialOf(layout, shape))
	o := a.Groups * g.from(1, 3)
	if g.flip() {
		a.Channels, a.KernelSize = o, window
	}
	if g.one(5) {
		a.OutLayout = pick(g, "NC"+spatialLetters[rank], "N"+spatialLetters[rank]+"C")
	}
	return g.call(name, a, x, g.weight(a.KernelLayout, extents(o, c/a.Groups, spatialLetters[rank], window)))
}

func (g *Gen) convTranspose(name string, rank int) relay.Expr {
	x, layout := g.image(rank)
	shape := relay.Tensor(x).Shape
	a := &relay.ConvTransposeAttrs{DataLayout: layout, KernelLayout: pick(g, "IO"+spatialLetters[rank], spatialLetters[rank]+"IO"), OutDType: g.wide()}
	c := shape[tensor.MustLayout(layout).Index('C')]
	a.Groups = 1
	if g.one(3) {
		a.Groups = g.divisor(c)
	}
	in := spatialOf(layout, shape)
	window := g.list(rank, 1, 3)
	a.Strides, a.Dilation, a.OutputPadding = g.list(rank, 1, 2), g.list(rank, 1, 2), g.list(rank, 0, 1)
	a.Padding = make([]int, 2*rank)
	for i := range rank {
		out := (in[i]-1)*a.Strides[i] + a.Dilation[i]*(window[i]-1) + 1 + a.OutputPadding[i]
		a.Padding[i] = g.n(min(out, 3))
		a.Padding[rank+i] = g.n(min(out-a.Padding[i], 3))
	}
	o := g.from(1, 3)
	if g.flip() {
		a.Channels, a.KernelSize = o*a.Groups, window
	}
	if g.one(5) {
		a.OutLayout = pick(g, "NC"+spatialLetters[rank], "N"+spatialLetters[rank]+"C")
	}
	return g.call(name, a, x, g.weight(a.KernelLayout, extents(o, c, spatialLetters[rank], window)))
}

func (g *Gen) dense() relay.Expr {
	x := g.real(1, 4)
	shape := relay.Tensor(x).Shape
	n, k := pick(g, 4, 3, 1, 6), shape[len(shape)-1]
	a := &relay.DenseAttrs{OutDType: g.wide()}
	w := tensor.Shape{n, k}
	if g.one(4) { // panels of four, the last one filled up
		a.WeightLayout, w = "NK4n", tensor.Shape{(n + 3) / 4, k, 4}
	}
	if g.flip() || a.WeightLayout != "" {
		a.Units = n
	}
	return g.call("nn.dense", a, x, g.constant(g.float, w))
}

func (g *Gen) matmul(name string) relay.Expr {
	x := g.real(2, 4)
	shape := relay.Tensor(x).Shape
	a := &relay.MatmulAttrs{OutDType: g.wide(), TransposeA: g.one(3), TransposeB: g.flip()}
	rank := len(shape)
	k, n := shape[rank-1], g.extent()
	if a.TransposeA {
		k = shape[rank-2]
	}
	w := tensor.Shape{k, n}
	if a.TransposeB {
		w = tensor.Shape{n, k}
	}
	batch := shape[:rank-2].Clone()
	if g.one(3) {
		batch = nil
	}
	return g.call(name, a, x, g.exactly(g.float, append(batch, w...)))
}

// poolRows are the pools.
func poolRows() map[string]func(g *Gen) relay.Expr {
	all := map[string]func(g *Gen) relay.Expr{"nn.max_pool2d_with_argmax": func(g *Gen) relay.Expr { return g.pool("nn.max_pool2d_with_argmax", 2) }}
	for rank := 1; rank <= 3; rank++ {
		for _, name := range []string{"nn.max_pool" + strconv.Itoa(rank) + "d", "nn.avg_pool" + strconv.Itoa(rank) + "d"} {
			all[name] = func(g *Gen) relay.Expr { return g.pool(name, rank) }
		}
	}
	for _, kind := range []string{"avg", "max"} {
		all["nn.global_"+kind+"_pool2d"] = func(g *Gen) relay.Expr {
			x, layout := g.image(g.from(1, 3))
			return g.call("nn.global_"+kind+"_pool2d", &relay.GlobalPoolAttrs{Layout: layout}, x)
		}
		all["nn.adaptive_"+kind+"_pool2d"] = func(g *Gen) relay.Expr {
			rank := g.from(1, 3)
			x, layout := g.image(rank)
			return g.call("nn.adaptive_"+kind+"_pool2d", &relay.AdaptivePoolAttrs{OutputSize: g.list(rank, 1, 3), Layout: layout}, x)
		}
	}
	return all
}

func (g *Gen) pool(name string, rank int) relay.Expr {
	x, layout := g.image(rank)
	a := &relay.PoolAttrs{Layout: layout, CeilMode: g.one(3), CountIncludePad: g.flip()}
	a.PoolSize, a.Strides, a.Dilation, a.Padding = g.windowed(spatialOf(layout, relay.Tensor(x).Shape))
	for i, k := range a.PoolSize { // a window of padding alone has no mean
		a.Padding[i], a.Padding[rank+i] = min(a.Padding[i], k-1), min(a.Padding[rank+i], k-1)
		if in := spatialOf(layout, relay.Tensor(x).Shape)[i]; a.Dilation[i]*(k-1)+1 > in+a.Padding[i]+a.Padding[rank+i] {
			a.PoolSize[i], a.Padding[i], a.Padding[rank+i] = 1, 0, 0
		}
	}
	return g.call(name, a, x)
}

// imageRows resample images.
func imageRows() map[string]func(g *Gen) relay.Expr {
	return map[string]func(g *Gen) relay.Expr{
		"image.resize2d": func(g *Gen) relay.Expr {
			x, layout := g.image(2)
			a := g.resize(2, spatialOf(layout, relay.Tensor(x).Shape))
			a.Layout = layout
			return g.call("image.resize2d", a, x)
		},
		"image.resize": func(g *Gen) relay.Expr {
			x := g.real(1, 4)
			shape := relay.Tensor(x).Shape
			if g.one(3) {
				return g.call("image.resize", g.resize(len(shape), shape), x)
			}
			axes := g.permutation(len(shape))[:g.from(1, min(2, len(shape)))]
			var in []int
			for _, a := range axes {
				in = append(in, shape[a])
			}
			a := g.resize(len(axes), in)
			for i := range axes {
				axes[i] = g.signed(axes[i], len(shape))
			}
			a.Axes = axes
			return g.call("image.resize", a, x)
		},
		"image.grid_sample": func(g *Gen) relay.Expr {
			rank := 2 + g.n(2)
			a := &relay.GridSampleAttrs{Method: pick(g, "bilinear", "nearest", "bicubic"), PaddingMode: pick(g, "zeros", "border", "reflection"),
				AlignCorners: g.flip(), Layout: "NC" + spatialLetters[rank]}
			if rank == 3 && a.Method == "bicubic" {
				a.Method = "nearest"
			}
			x := g.exactly(g.float, append(tensor.Shape{g.from(1, 2), 2}, g.list(rank, 2, 4)...))
			grid := append(tensor.Shape{relay.Tensor(x).Shape[0]}, g.list(rank, 1, 3)...)
			return g.call("image.grid_sample", a, x, g.clipped(g.exactly(g.float, append(grid, rank)), -1.25, 1.25))
		},
	}
}

func (g *Gen) resize(n int, in []int) *relay.ResizeAttrs {
	a := &relay.ResizeAttrs{Size: g.list(n, 1, 5), Method: pick(g, "linear", "nearest_neighbor", "cubic"),
		CoordinateTransform: pick(g, "half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel", "half_pixel_symmetric", "tf_half_pixel_for_nn", "tf_crop_and_resize"),
		RoundingMethod:      pick(g, "round_prefer_floor", "floor", "ceil", "round_prefer_ceil"), CubicAlpha: pick(g, -0.75, -0.5),
		CubicExclude: g.one(3), Antialias: g.one(3)}
	if g.one(3) {
		for i := range n {
			a.Scales = append(a.Scales, float64(a.Size[i])/float64(in[i]))
		}
	}
	if a.CoordinateTransform == "tf_crop_and_resize" {
		a.Roi = append(slices.Repeat([]float64{0.125}, n), slices.Repeat([]float64{pick(g, 0.75, 1.25)}, n)...)
		a.ExtrapolationValue = pick(g, 0, 0.5)
	}
	return a
}

// quantizeRows convert to integers and back.
func quantizeRows() map[string]func(g *Gen) relay.Expr {
	quantized := []tensor.DType{tensor.Int8, tensor.Uint8, tensor.Int16, tensor.Int4}
	return map[string]func(g *Gen) relay.Expr{
		"qnn.quantize": func(g *Gen) relay.Expr {
			x := g.of([]tensor.DType{tensor.Float32, tensor.Int32}, 1, 4)
			a := &relay.QuantizeAttrs{OutDType: pick(g, quantized...), Saturate: !g.one(4)}
			scale, zero := g.quantum(relay.Tensor(x).Shape, &a.Axis, a.OutDType)
			return g.call("qnn.quantize", a, x, scale, zero)
		},
		"qnn.dequantize": func(g *Gen) relay.Expr {
			x := g.of(quantized, 1, 4)
			t := relay.Tensor(x)
			a := &relay.DequantizeAttrs{OutDType: pick(g, tensor.Invalid, tensor.Float16)}
			scale, zero := g.quantum(t.Shape, &a.Axis, t.DType)
			return g.call("qnn.dequantize", a, x, scale, zero)
		},
	}
}

// quantum draws scale and zero point, of all or along an axis.
func (g *Gen) quantum(shape tensor.Shape, axis *int, d tensor.DType) (scale, zero relay.Expr) {
	s := tensor.Shape{}
	*axis = -1
	if g.flip() {
		at := g.n(len(shape))
		*axis, s = g.signed(at, len(shape)), tensor.Shape{shape[at]}
	}
	return g.numbers(tensor.Float32, s, 0.05, 0.5), g.integers(d, s, 0, 3)
}
