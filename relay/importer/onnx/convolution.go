package onnx

import (
	"slices"
	"strconv"

	"github.com/texel-ml/texel/relay"
	"github.com/texel-ml/texel/tensor"
)

// window is what convolutions and pools share: lists with an entry for each spatial axis, padding as all begins, then
// all ends.
type window struct {
	rank                                int
	kernel, strides, padding, dilations []int
}

// window reads the attributes for an operand (N, C, spatial) and a kernel of the given extents.
func (n *node) window(x relay.Expr, kernel []int, ceil bool) window {
	s := n.known(x)
	rank := len(s) - 2
	if rank < 1 || rank > 3 {
		n.failUnsupported("an operand of shape %v: 1 to 3 spatial axes are done here", s)
	}
	n.wants(len(kernel) == rank, "a kernel of shape %v for %d spatial axes", kernel, rank)
	for _, k := range kernel {
		n.wants(k >= 1 && k <= 1<<20, "a kernel of shape %v", kernel)
	}
	w := window{rank: rank, kernel: kernel, strides: n.intsLen("strides", rank, 1, 1), dilations: n.intsLen("dilations", rank, 1, 1)}
	auto := n.str("auto_pad", "NOTSET")
	switch auto {
	case "NOTSET", "":
		w.padding = n.intsLen("pads", 2*rank, 0, 0)
	case "VALID":
		w.padding = make([]int, 2*rank)
	case "SAME_UPPER", "SAME_LOWER":
		w.padding = make([]int, 2*rank)
		for i := range rank {
			out := (s[2+i] + w.strides[i] - 1) / w.strides[i]
			total := max(0, (out-1)*w.strides[i]+w.extent(i)-s[2+i])
			less, more := total/2, total-total/2
			if auto == "SAME_LOWER" {
				less, more = more, less
			}
			w.padding[i], w.padding[rank+i] = less, more
		}
	default:
		n.failInvalid("auto_pad %q", auto)
	}
	return w
}

// extent is the extent of the dilated kernel.
func (w window) extent(i int) int { return w.dilations[i]*(w.kernel[i]-1) + 1 }

func (w window) layout() string { return "NC" + spatialOf(w.rank) }

func spatialOf(rank int) string { return []string{"", "W", "HW", "DHW"}[rank] }

// conv is a convolution of (N, C, spatial) with weights (O, C/groups, kernel) and a bias (O).
func conv(n *node) []relay.Expr {
	x, w := n.in(0), n.in(1)
	n.sameType(x, w)
	return one(n.biased(n.conv(x, w, tensor.Invalid), n.opt(2)))
}

func (n *node) conv(x, w relay.Expr, out tensor.DType) relay.Expr {
	ws := n.known(w)
	n.wants(len(ws) >= 3, "weights of shape %v", ws)
	if n.has("kernel_shape") {
		n.wants(slices.Equal(n.ints("kernel_shape", nil), ws[2:]), "kernel_shape %v for weights of shape %v", n.ints("kernel_shape", nil), ws)
	}
	win := n.window(x, ws[2:], false)
	return n.convolve(x, w, win, n.int("group", 1), out)
}

func (n *node) convolve(x, w relay.Expr, win window, groups int, out tensor.DType) relay.Expr {
	return n.call("nn.conv"+strconv.Itoa(win.rank)+"d", &relay.ConvAttrs{Strides: win.strides, Padding: win.padding, Dilation: win.dilations,
		Groups: groups, Channels: n.known(w)[0], KernelSize: win.kernel, DataLayout: win.layout(), KernelLayout: "OI" + spatialOf(win.rank), OutDType: out}, x, w)
}

// biased adds a bias (C) along axis 1, if there is one.
func (n *node) biased(x, bias relay.Expr) relay.Expr {
	if bias == nil {
		return x
	}
	n.sameType(x, bias)
	return n.call("nn.bias_add", &relay.AxisAttrs{Axis: 1}, x, bias)
}

// convTranspose is the transposed convolution, with weights (C, O/groups, kernel). output_shape decides the padding.
func convTranspose(n *node) []relay.Expr {
	x, w := n.in(0), n.in(1)
	n.sameType(x, w)
	s, ws := n.known(x), n.known(w)
	n.wants(len(ws) == len(s) && len(s) >= 3, "weights of shape %v for an operand of shape %v", ws, s)
	rank := len(s) - 2
	if rank > 3 {
		n.failUnsupported("an operand of shape %v: 1 to 3 spatial axes are done here", s)
	}
	win := window{rank: rank, kernel: ws[2:], strides: n.intsLen("strides", rank, 1, 1), dilations: n.intsLen("dilations", rank, 1, 1)}
	extra := slices.Clone(n.intsLen("output_padding", rank, 0, 0))
	auto := n.str("auto_pad", "NOTSET")
	win.padding = slices.Clone(n.intsLen("pads", 2*rank, 0, 0))
	if auto == "VALID" {
		win.padding = make([]int, 2*rank)
	}
	if target := n.ints("output_shape", nil); target != nil || auto == "SAME_UPPER" || auto == "SAME_LOWER" {
		if len(target) == rank+2 {
			target = target[2:]
		}
		if target == nil {
			for i := range rank {
				target = append(target, s[2+i]*win.strides[i])
			}
		}
		n.wants(len(target) == rank, "output_shape %v for %d spatial axes", target, rank)
		for i := range rank {
			total := win.strides[i]*(s[2+i]-1) + extra[i] + win.extent(i) - target[i]
			if total < 0 {
				n.wants(target[i] < 1<<30, "output_shape %v", target)
				extra[i], total = extra[i]-total, 0
			}
			less, more := total/2, total-total/2
			if auto != "SAME_UPPER" {
				less, more = more, less
			}
			win.padding[i], win.padding[rank+i] = less, more
		}
	}
	groups := n.int("group", 1)
	n.wants(groups >= 1, "%d groups", groups)
	y := n.call("nn.conv"+strconv.Itoa(rank)+"d_transpose", &relay.ConvTransposeAttrs{Strides: win.strides, Padding: win.padding, OutputPadding: extra,
		Dilation: win.dilations, Groups: groups, Channels: ws[1] * groups, KernelSize: win.kernel, DataLayout: win.layout(), KernelLayout: "IO" + spatialOf(rank)}, x, w)
	return one(n.biased(y, n.opt(2)))
}

// col2Im adds the columns of an image's blocks up: a transposed convolution with a kernel that only places values.
func col2Im(n *node) []relay.Expr {
	x, d := n.in(0), n.dtype(n.in(0))
	if d == tensor.Bool { // true where any is
		x = n.cast(x, tensor.Int32)
	}
	s := n.known(x)
	image, _ := n.intsAt(1, "the image's shape")
	kernel, ok := n.intsAt(2, "the block's shape")
	rank := len(image)
	n.wants(ok && len(s) == 3 && rank >= 1 && len(kernel) == rank, "columns of shape %v, an image %v and blocks %v", s, image, kernel)
	if rank > 3 {
		n.failUnsupported("an image with %d axes", rank)
	}
	win := window{rank: rank, kernel: kernel, strides: n.intsLen("strides", rank, 1, 1), dilations: n.intsLen("dilations", rank, 1, 1), padding: n.intsLen("pads", 2*rank, 0, 0)}
	places, blocks := 1, tensor.Shape{}
	extra := make([]int, rank)
	for i := range rank {
		n.wants(kernel[i] >= 1 && kernel[i] <= 1<<12 && image[i] >= 1, "an image %v and blocks %v", image, kernel)
		places *= kernel[i]
		room := image[i] + win.padding[i] + win.padding[rank+i] - win.extent(i)
		n.wants(room >= 0, "blocks %v do not fit an image %v", kernel, image)
		blocks = append(blocks, room/win.strides[i]+1)
		extra[i] = room % win.strides[i]
	}
	n.wants(places <= 1<<16 && s[1]%places == 0 && blocks.Elems() == s[2], "columns of shape %v, an image %v and blocks %v", s, image, kernel)
	channels := s[1] / places
	n.wants(places*places*channels <= 1<<20, "blocks %v of %d channels", kernel, channels)
	w := make([]float64, 0, channels*places*places)
	for range channels {
		for i := range places {
			for j := range places {
				w = append(w, map[bool]float64{true: 1}[i == j])
			}
		}
	}
	weight := n.constShape(n.dtype(x), append(tensor.Shape{channels * places, 1}, kernel...), w)
	x = n.reshape(x, append(tensor.Shape{s[0], s[1]}, blocks...))
	y := n.call("nn.conv"+strconv.Itoa(rank)+"d_transpose", &relay.ConvTransposeAttrs{Strides: win.strides, Padding: win.padding, OutputPadding: extra,
		Dilation: win.dilations, Groups: channels, Channels: channels, KernelSize: kernel, DataLayout: win.layout(), KernelLayout: "IO" + spatialOf(rank)}, x, weight)
	return one(n.cast(y, d))
}

// pools

func (n *node) poolAttrs(x relay.Expr) *relay.PoolAttrs {
	n.wants(n.has("kernel_shape"), "kernel_shape is missing")
	ceil := n.flag("ceil_mode", false)
	w := n.window(x, n.ints("kernel_shape", nil), ceil)
	return &relay.PoolAttrs{PoolSize: w.kernel, Strides: w.strides, Padding: w.padding, Dilation: w.dilations, CeilMode: ceil,
		CountIncludePad: n.flag("count_include_pad", false), Layout: w.layout()}
}

func averagePool(n *node) []relay.Expr {
	a := n.poolAttrs(n.in(0))
	return one(n.call("nn.avg_pool"+strconv.Itoa(len(a.PoolSize))+"d", a, n.in(0)))
}

// maxPool gives the maxima and, when asked, their places in the flat operand, in column-major order of the spatial axes
// with storage_order=1.
func maxPool(n *node) []relay.Expr {
	x := n.in(0)
	a := n.poolAttrs(x)
	a.CountIncludePad = false
	if !n.wantsOutput(1) {
		return one(n.call("nn.max_pool"+strconv.Itoa(len(a.PoolSize))+"d", a, x))
	}
	if len(a.PoolSize) != 2 {
		n.failUnsupported("the places of maxima with %d spatial axes", len(a.PoolSize))
	}
	both := n.fields(n.call("nn.max_pool2d_with_argmax", a, x))
	if n.int("storage_order", 0) == 1 {
		s := n.known(x)
		at := func(op string, a relay.Expr, by int) relay.Expr {
			return n.call(op, nil, a, n.scalar(tensor.Int64, float64(by)))
		}
		inner := at("mod", both[1], s[2]*s[3])
		row, col := at("divide", inner, s[3]), at("mod", inner, s[3])
		both[1] = n.add(n.sub(both[1], inner), n.add(at("multiply", col, s[2]), row))
	}
	return both
}

// wantsOutput reports whether output i is used.
func (n *node) wantsOutput(i int) bool {
	return i < len(n.proto.GetOutput()) && n.proto.GetOutput()[i] != ""
}

// lpPool is (Σ |x|^p)^(1/p) over each window, the sum as a depthwise convolution with ones.
func lpPool(n *node) []relay.Expr {
	x := n.in(0)
	a := n.poolAttrs(x)
	p := n.exponent()
	n.wants(p > 0, "p is %g", p)
	s, rank := n.known(x), len(a.PoolSize)
	w := window{rank, a.PoolSize, a.Strides, slices.Clone(a.Padding), a.Dilation}
	if a.CeilMode {
		for i := range rank {
			out := relay.PoolExtent(s[2+i], a.PoolSize[i], a.Strides[i], a.Padding[i], a.Padding[rank+i], a.Dilation[i], true)
			w.padding[rank+i] = max(w.padding[rank+i], (out-1)*a.Strides[i]+w.extent(i)-s[2+i]-a.Padding[i])
		}
	}
	ones := n.broadcastTo(n.like(x, 1), append(tensor.Shape{s[1], 1}, a.PoolSize...))
	sum := n.convolve(n.powerOf(absOf(n, x), p), ones, w, s[1], tensor.Invalid)
	return one(n.powerOf(sum, 1/p))
}

// exponent is the attribute p, which was a float in the first version.
func (n *node) exponent() float64 {
	if n.opset < 2 {
		return n.float("p", 2)
	}
	return float64(n.int("p", 2))
}

// powerOf is x^p for x ≥ 0.
func (n *node) powerOf(x relay.Expr, p float64) relay.Expr {
	switch p {
	case 1:
		return x
	case 2:
		return n.mul(x, x)
	case 0.5:
		return n.call("sqrt", nil, x)
	}
	return n.call("power", nil, x, n.like(x, p))
}

// globalPool pools over every spatial axis.
func globalPool(name, reduction string) func(*node) []relay.Expr {
	return func(n *node) []relay.Expr {
		x := n.in(0)
		n.wants(n.rank(x) >= 2, "an operand of shape %v", n.shape(x))
		if rank := n.rank(x) - 2; rank >= 1 && rank <= 3 {
			return one(n.call(name, &relay.GlobalPoolAttrs{Layout: "NC" + spatialOf(rank)}, x))
		}
		return one(n.reduce(reduction, x, n.spatialAxes(x), true))
	}
}

// spatialAxes are the axes from 2 on.
func (n *node) spatialAxes(x relay.Expr) []int {
	axes := []int{}
	for a := 2; a < n.rank(x); a++ {
		axes = append(axes, a)
	}
	return axes
}

func globalLpPool(n *node) []relay.Expr {
	x := n.in(0)
	p := n.exponent()
	n.wants(p > 0, "p is %g", p)
	return one(n.powerOf(n.reduce("sum", n.powerOf(absOf(n, x), p), n.spatialAxes(x), true), 1/p))
}

// maxUnpool puts values at the places that MaxPool gave, zeros elsewhere. output_shape may widen the result; the places
// are those of the result without it.
func maxUnpool(n *node) []relay.Expr {
	x, places := n.in(0), n.in(1)
	s := n.known(x)
	rank := len(s) - 2
	kernel := n.ints("kernel_shape", nil)
	n.wants(rank >= 1 && len(kernel) == rank && n.shape(places).Equal(s), "an operand of shape %v, places of shape %v, kernel_shape %v", s, n.shape(places), kernel)
	strides, pads := n.intsLen("strides", rank, 1, 1), n.intsLen("pads", 2*rank, 0, 0)
	out := s[:2].Clone()
	for i := range rank {
		out = append(out, (s[2+i]-1)*strides[i]-pads[i]-pads[rank+i]+kernel[i])
	}
	final := out
	if target, ok := n.intsAt(2, "the output's shape"); ok {
		n.wants(len(target) == len(out), "output_shape %v", target)
		final = target
	}
	for i := range out {
		n.wants(out[i] >= 0 && final[i] >= out[i], "a result of shape %v", final)
	}
	n.allocatable(final)
	flat := n.zeros(tensor.Shape{out.Elems()}, n.dtype(x))
	y := n.scatterElements(flat, n.reshape(places, tensor.Shape{s.Elems()}), n.reshape(x, tensor.Shape{s.Elems()}), 0, "update")
	y = n.reshape(y, out)
	if !final.Equal(out) {
		after := make([]int, len(out))
		for i := range out {
			after[i] = final[i] - out[i]
		}
		y = n.padAny(y, make([]int, len(out)), after, "constant", n.like(x, 0))
	}
	return one(y)
}

// deformConv is a convolution whose taps are moved by offsets (N, groups·K·2, rows, columns), y first, and weighed by a
// mask. The moved taps are sampled first; what remains is a convolution over one element.
func deformConv(n *node) []relay.Expr {
	x, w := n.in(0), n.in(1)
	s, ws := n.known(x), n.known(w)
	if len(s) != 4 {
		n.failUnsupported("an operand of shape %v: two spatial axes are done here", s)
	}
	n.wants(len(ws) == 4, "weights of shape %v", ws)
	win := n.window(x, ws[2:], false)
	groups, parts := n.int("group", 1), n.int("offset_group", 1)
	taps := ws[2] * ws[3]
	rows := (s[2]+win.padding[0]+win.padding[2]-win.extent(0))/win.strides[0] + 1
	columns := (s[3]+win.padding[1]+win.padding[3]-win.extent(1))/win.strides[1] + 1
	n.wants(parts > 0 && s[1]%parts == 0 && groups > 0 && rows > 0 && columns > 0, "%d offset groups for an operand of shape %v", parts, s)
	offset := n.in(2)
	n.wants(n.shape(offset).Equal(tensor.Shape{s[0], parts * taps * 2, rows, columns}), "offsets of shape %v", n.shape(offset))
	d := n.dtype(x)
	var base []float64 // (taps, 2, rows, columns)
	for k := range taps {
		for axis := range 2 {
			for i := range rows * columns {
				at := [2]int{i / columns, i % columns}[axis]
				tap := [2]int{k / ws[3], k % ws[3]}[axis]
				base = append(base, float64(at*win.strides[axis]-win.padding[axis]+tap*win.dilations[axis]))
			}
		}
	}
	n.wants(len(base) <= 1<<20, "%d taps of %d places", taps, rows*columns)
	places := n.reshape(offset, tensor.Shape{s[0], parts, taps, 2, rows, columns})
	places = n.add(places, n.constShape(d, tensor.Shape{taps, 2, rows, columns}, base))
	// to [-1, 1], x first
	unit := func(axis, extent int) relay.Expr {
		return n.sub(n.mul(n.sliceAxis(places, 3, axis, axis+1), n.scalar(d, 2/float64(max(extent-1, 1)))), n.scalar(d, 1))
	}
	grid := n.concat([]relay.Expr{unit(1, s[3]), unit(0, s[2])}, 3)
	grid = n.transpose(grid, []int{0, 1, 2, 4, 5, 3}) // (N, parts, taps, rows, columns, 2)
	attrs := &relay.GridSampleAttrs{Method: "bilinear", PaddingMode: "zeros", AlignCorners: true, Layout: "NCHW"}
	var sampled []relay.Expr
	for part := range parts {
		data := n.sliceAxis(x, 1, part*s[1]/parts, (part+1)*s[1]/parts)
		at := n.reshape(n.sliceAxis(grid, 1, part, part+1), tensor.Shape{s[0], taps * rows, columns, 2})
		e := n.call("image.grid_sample", attrs, data, at)
		e = n.reshape(e, tensor.Shape{s[0], s[1] / parts, taps, rows, columns})
		if mask := n.opt(4); mask != nil {
			m := n.reshape(mask, tensor.Shape{s[0], parts, taps, rows, columns})
			e = n.mul(e, n.sliceAxis(m, 1, part, part+1))
		}
		sampled = append(sampled, e)
	}
	y := n.reshape(n.concat(sampled, 1), tensor.Shape{s[0], s[1] * taps, rows, columns})
	flat := n.reshape(w, tensor.Shape{ws[0], ws[1] * taps, 1, 1})
	one1 := window{rank: 2, kernel: []int{1, 1}, strides: []int{1, 1}, padding: make([]int, 4), dilations: []int{1, 1}}
	return one(n.biased(n.convolve(y, flat, one1, groups, tensor.Invalid), n.opt(3)))
}
