package transform

import (
	"context"
	"slices"
	"strings"

	"github.com/texel-ml/texel/relay"
	"github.com/texel-ml/texel/tensor"
)

// FlattenAtrousConv makes a dilated convolution of a plain one between a space to batch and a batch to space, and less
// padding of a slice of a convolution's result:
//
//	batch_to_space(conv(space_to_batch(pad(x, 0), b), w), b)  →  conv(x, w, dilation · b)
//	strided_slice(conv(x, w), rows and columns cut off)        →  conv(x, w) with less padding
//
// Exporters write the two rearrangements as reshapes, transposes and pads, in many ways. They are found by what they do: the
// numbers of the elements are sent through them.
func FlattenAtrousConv(_ context.Context, m *relay.Module, o *Options) (*relay.Module, error) {
	return rewrite("flatten-atrous-conv", m, o, atrous, croppedConv)
}

// mostProbed bounds the elements whose numbers are sent through a chain of moves.
const mostProbed = 1 << 24

// movesElements are the operators that may make up a rearrangement.
var movesElements = map[string]bool{"reshape": true, "transpose": true, "nn.space_to_depth": true, "nn.depth_to_space": true}

// movesFrom goes down from e through moves that only the next one reads, and pads by zero. It returns them, the first first,
// and what they move.
func (r *rewriter) movesFrom(e relay.Expr, pad bool) (chain []*relay.Call, from relay.Expr) {
	for {
		c, ok := e.(*relay.Call)
		if !ok || c.Op == nil || !(movesElements[c.Op.Name] || pad && c.Op.Name == "nn.pad" && c.Attrs.(*relay.PadAttrs).PadMode == "constant" && pads(c, 0)) {
			slices.Reverse(chain)
			return chain, e
		}
		chain, e = append(chain, c), c.Args[0]
	}
}

// numbered holds the numbers 1, 2, … of the elements of a shape.
func numbered(shape tensor.Shape) *tensor.Wide {
	w := tensor.NewWide(tensor.Int64, shape)
	for i := range w.I {
		w.I[i] = int64(i + 1)
	}
	return w
}

// movedBy sends numbers through one move; a pad adds 0. It gives nil when the move fails.
func movedBy(op *relay.Op, attrs any, w *tensor.Wide, out tensor.Shape) *tensor.Wide {
	args := []relay.Value{w}
	if len(op.Args) > 1 {
		args = append(args, tensor.NewWide(tensor.Int64, tensor.Shape{}))
	}
	v, err := op.Eval(&relay.EvalSite{Op: op, Args: args, Attrs: attrs, Type: &relay.TensorType{Shape: out, DType: tensor.Int64}})
	if err != nil {
		return nil
	}
	return v.(*tensor.Wide)
}

// moved sends the numbers of the elements of a shape through moves.
func moved(chain []*relay.Call, shape tensor.Shape) *tensor.Wide {
	w := numbered(shape)
	for _, c := range chain {
		if w = movedBy(c.Op, c.Attrs, w, relay.Tensor(c).Shape); w == nil {
			return nil
		}
	}
	return w
}

// blocks is a space to batch of an image: rows and columns are taken apart by their places in blocks, which become batches.
// Padded row h·rows + i of batch n is row h of batch (i·columns + j)·batches + n.
type blocks struct{ rows, columns, batches, top, left int }

// number returns which element of an image of the given extents, laid out by order, is at a place of the result; 0 is none.
func (b blocks) number(batch, c, h, w int, order string, extent func(letter byte) int) int64 {
	n, block := batch%b.batches, batch/b.batches
	at := map[byte]int{'N': n, 'C': c, 'H': h*b.rows + block/b.columns - b.top, 'W': w*b.columns + block%b.columns - b.left}
	flat := 0
	for i := range len(order) {
		v := at[order[i]]
		if v < 0 || v >= extent(order[i]) {
			return 0
		}
		flat = flat*extent(order[i]) + v
	}
	return int64(flat + 1)
}

// match reports whether the numbers in w, an image laid out as layout, are those that the blocks give of an image laid out
// as order.
func (b blocks) match(w *tensor.Wide, layout, order string, extent func(letter byte) int) bool {
	index := make(map[byte]int, 4)
	for flat, v := range w.I {
		for i := len(layout) - 1; i >= 0; i-- {
			index[layout[i]], flat = flat%w.Shape[i], flat/w.Shape[i]
		}
		if b.number(index['N'], index['C'], index['H'], index['W'], order, extent) != v {
			return false
		}
	}
	return true
}

// orders are the layouts of images that exporters use.
var orders = []string{"NCHW", "NHWC"}

func extents(shape tensor.Shape, order string) func(letter byte) int {
	return func(letter byte) int { return shape[strings.IndexByte(order, letter)] }
}

// atrous matches the end of a batch to space.
func atrous(r *rewriter, c *relay.Call) (relay.Expr, error) {
	after, below := r.movesFrom(c, false)
	conv, ok := below.(*relay.Call)
	if !ok || len(after) < 2 || conv.Op == nil || conv.Op.Name != "nn.conv2d" || !r.lonely(append([]*relay.Call{conv}, after[:len(after)-1]...)) {
		return nil, nil
	}
	a := conv.Attrs.(*relay.ConvAttrs)
	layout := a.DataLayout
	if !slices.Contains(orders, layout) || a.OutLayout != "" && a.OutLayout != layout || a.Strides[0] != 1 || a.Strides[1] != 1 {
		return nil, nil
	}
	before, x := r.movesFrom(conv.Args[0], true)
	in, out := relay.Tensor(x).Shape, relay.Tensor(c).Shape
	data, result := relay.Tensor(conv.Args[0]).Shape, relay.Tensor(conv).Shape
	if len(in) != 4 || len(out) != 4 || out[0] != in[0] || in.Elems() == 0 || data[0] <= in[0] || max(data.Elems(), result.Elems(), in.Elems()) > mostProbed {
		return nil, nil
	}
	read := moved(before, in)
	written := moved(after, result)
	if read == nil || written == nil {
		return nil, nil
	}
	for _, order := range orders {
		b, ok := findBlocks(read, layout, order, in)
		if !ok {
			continue
		}
		if end := endOrder(written, layout, b, out, result); end != "" {
			return r.dilated(conv, x, b, order, end, c)
		}
	}
	return nil, nil
}

// lonely reports whether each of the calls has one reader.
func (r *rewriter) lonely(list []*relay.Call) bool {
	return !slices.ContainsFunc(list, func(c *relay.Call) bool { return !r.single(c) })
}

// findBlocks returns the space to batch of an image of shape in, laid out as order, that gave read, laid out as layout.
func findBlocks(read *tensor.Wide, layout, order string, in tensor.Shape) (blocks, bool) {
	extent := extents(in, order)
	at, first := extents(read.Shape, layout), slices.Index(read.I, 1)
	if read.Shape[0]%in[0] != 0 || at('C') != extent('C') || first < 0 {
		return blocks{}, false
	}
	place := map[byte]int{}
	for i := 3; i >= 0; i-- {
		place[layout[i]], first = first%read.Shape[i], first/read.Shape[i]
	}
	all := read.Shape[0] / in[0]
	for rows := 1; rows <= all; rows++ {
		if all%rows != 0 {
			continue
		}
		b := blocks{rows: rows, columns: all / rows, batches: in[0]}
		block := place['N'] / b.batches
		b.top, b.left = place['H']*b.rows+block/b.columns, place['W']*b.columns+block%b.columns
		if b.match(read, layout, order, extent) {
			return b, true
		}
	}
	return blocks{}, false
}

// endOrder returns how an image is laid out that batch to space, the inverse of b without padding, made of a convolution's
// result; "" when it is not that.
func endOrder(written *tensor.Wide, layout string, b blocks, out, result tensor.Shape) string {
	b.top, b.left = 0, 0
	for _, order := range orders {
		at, from := extents(out, order), extents(result, layout)
		if at('H') != from('H')*b.rows || at('W') != from('W')*b.columns || at('C') != from('C') {
			continue
		}
		inverse := tensor.NewWide(tensor.Int64, result) // where each element of the result went
		for to, number := range written.I {
			inverse.I[number-1] = int64(to + 1)
		}
		if b.match(inverse, layout, order, at) {
			return order
		}
	}
	return ""
}

// dilated makes the convolution of x, laid out as order, whose result is laid out as end.
func (r *rewriter) dilated(conv *relay.Call, x relay.Expr, b blocks, order, end string, c *relay.Call) (relay.Expr, error) {
	a := *conv.Attrs.(*relay.ConvAttrs)
	x, err := r.inOrder(x, order, a.DataLayout)
	if err != nil {
		return nil, err
	}
	in, out := extents(relay.Tensor(x).Shape, a.DataLayout), extents(relay.Tensor(c).Shape, end)
	kernel := tensor.MustLayout(a.KernelLayout)
	dilation, padding := make([]int, 2), make([]int, 4)
	for i, letter := range []byte("HW") {
		by, begin := []int{b.rows, b.columns}[i], []int{b.top, b.left}[i]
		dilation[i] = a.Dilation[i] * by
		padding[i] = begin + a.Padding[i]*by
		window := dilation[i] * (kernel.Extent(relay.Tensor(conv.Args[1]).Shape, letter) - 1)
		padding[2+i] = out(letter) + window - in(letter) - padding[i]
	}
	if slices.Min(padding) < 0 {
		return nil, nil
	}
	a.Dilation, a.Padding = dilation, padding
	y, err := r.call("nn.conv2d", &a, x, conv.Args[1])
	if err != nil {
		return nil, err
	}
	r.note("space to batch, %s and batch to space are one with dilation %d×%d", conv.Op.Name, dilation[0], dilation[1])
	return r.inOrder(y, a.DataLayout, end)
}

// inOrder transposes an image from one layout to another.
func (r *rewriter) inOrder(x relay.Expr, from, to string) (relay.Expr, error) {
	if from == to {
		return x, nil
	}
	axes := make([]int, len(to))
	for i := range to {
		axes[i] = strings.IndexByte(from, to[i])
	}
	return r.call("transpose", &relay.TransposeAttrs{Axes: axes}, x)
}

// croppedConv pads a convolution less where a slice cuts off rows or columns of its result.
func croppedConv(r *rewriter, c *relay.Call) (relay.Expr, error) {
	if c.Op.Name != "strided_slice" {
		return nil, nil
	}
	conv, ok := c.Args[0].(*relay.Call)
	if !ok || conv.Op == nil || !r.single(conv) {
		return nil, nil
	}
	attrs, ok := conv.Attrs.(*relay.ConvAttrs)
	axis, plain := heavyAxis(conv)
	if !ok || !plain {
		return nil, nil
	}
	a := *attrs
	a.Padding = slices.Clone(a.Padding)
	layout := tensor.MustLayout(a.DataLayout)
	if a.OutLayout != "" {
		layout = tensor.MustLayout(a.OutLayout)
	}
	shape := relay.Tensor(conv).Shape
	ranges := c.Attrs.(*relay.StridedSliceAttrs).Ranges(shape)
	spatial := 0
	for _, letter := range "DHW" {
		at := layout.Index(byte(letter))
		if at < 0 {
			continue
		}
		s := ranges[at]
		a.Padding[spatial] -= s.Begin * a.Strides[spatial]
		a.Padding[len(a.Strides)+spatial] -= (shape[at] - s.Begin - s.Extent) * a.Strides[spatial]
		spatial++
		if s.Stride != 1 || s.Extent == 0 {
			return nil, nil
		}
	}
	batch := layout.Index('N')
	if slices.Min(a.Padding) < 0 || ranges[batch].Extent != shape[batch] || ranges[axis] != (relay.SliceRange{Stride: 1, Extent: shape[axis]}) || ranges[batch].Stride != 1 {
		return nil, nil
	}
	y, err := r.call(conv.Op.Name, &a, conv.Args...)
	if err != nil || !relay.TypeEqual(y.Type(), c.Type()) {
		return nil, nil
	}
	r.note("what is cut off of %s is not computed", conv.Op.Name)
	return y, nil
}
