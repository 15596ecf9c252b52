package batch

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/texel-ml/texel/diag"
	"github.com/texel-ml/texel/relay"
	"github.com/texel-ml/texel/relay/eval"
	"github.com/texel-ml/texel/tensor"
)

// drawn is a random graph in two sizes: pair.one has one row, pair.many n.
type drawn struct {
	*rand.Rand
	n      int
	ops    *relay.Table
	params []pair
	at     map[pair]place // of parameters
}

func (g *drawn) one(in int) bool { return g.IntN(in) == 0 }

func pickOf[T any](g *drawn, list ...T) T { return list[g.IntN(len(list))] }

func (g *drawn) shape(rank int) tensor.Shape {
	s := tensor.Shape{}
	for range rank {
		s = append(s, pickOf(g, 1, 2, 2, 3, 4))
	}
	return s
}

// param adds a parameter that has the batch in an axis of extent 1, or is shared where axis is -1.
func (g *drawn) param(d tensor.DType, shape tensor.Shape, axis int) pair {
	many := shape.Clone()
	if axis >= 0 {
		many[axis] *= g.n
	}
	p := pair{relay.NewVar("x", &relay.TensorType{Shape: shape, DType: d}, diag.Pos{}), relay.NewVar("x", &relay.TensorType{Shape: many, DType: d}, diag.Pos{})}
	g.params, g.at[p] = append(g.params, p), place{axis, 1}
	return p
}

// want makes a value of a shape: shared, or with the batch in some axis, in any number of parts.
func (g *drawn) want(d tensor.DType, shape tensor.Shape) pair {
	if len(shape) == 0 || g.one(5) || slices.Contains(shape, 0) {
		return g.param(d, shape, -1)
	}
	return g.wantAt(d, shape, g.IntN(len(shape)))
}

func (g *drawn) wantAt(d tensor.DType, shape tensor.Shape, axis int) pair {
	outer := 1
	if e := shape[axis]; e > 1 {
		outer = pickOf(g, 1, 1, 1, e)
	}
	if outer == 1 && shape[axis] == 1 {
		return g.param(d, shape, axis)
	}
	p := g.param(d, slices.Concat(shape[:axis], tensor.Shape{outer, 1, shape[axis] / outer}, shape[axis+1:]), axis+1)
	many := shape.Clone()
	many[axis] *= g.n
	return g.must("reshape", &relay.ReshapeAttrs{NewShape: shape}, &relay.ReshapeAttrs{NewShape: many}, p)
}

func (g *drawn) must(op string, one, many any, args ...pair) pair {
	p, err := g.call(op, one, many, args...)
	if err != nil {
		panic(err)
	}
	return p
}

// call applies an operator in both sizes.
func (g *drawn) call(op string, one, many any, args ...pair) (pair, error) {
	var a, b []relay.Expr
	for _, x := range args {
		a, b = append(a, x.one), append(b, x.many)
	}
	row := g.ops.Lookup(op)
	p, err := relay.NewCall(row, a, one, diag.Pos{Node: op})
	if err != nil {
		return pair{}, err
	}
	q, err := relay.NewCall(row, b, many, diag.Pos{Node: op})
	return pair{p, q}, err
}

func (g *drawn) constant(d tensor.DType, shape tensor.Shape, high int) pair {
	w := tensor.NewWide(d, shape)
	g.fill(w, high)
	c := relay.NewConstant(w.Narrow(), "", diag.Pos{})
	return pair{c, c}
}

func (g *drawn) fill(w *tensor.Wide, high int) {
	for i := range w.F {
		w.F[i] = math.Round(64*g.NormFloat64()) / 64
	}
	for i := range w.I {
		w.I[i] = int64(g.IntN(high))
	}
}

func extents(p pair) tensor.Shape { return relay.Tensor(p.one).Shape }

const f32 = tensor.Float32

// attrs returns an operator's attributes, filled in by set, for both sizes.
func attrs[T any](g *drawn, op string, set func(a *T)) (any, any) {
	a := g.ops.Lookup(op).NewAttrs().(*T)
	set(a)
	b := *a
	return a, &b
}

// draw applies an operator to values of its own. An error is a draw that the operator refuses in one of the sizes.
func (g *drawn) draw(op string) (pair, error) {
	x := func(rank int) pair { return g.want(f32, g.shape(rank)) }
	any4 := func() pair { return x(1 + g.IntN(4)) }
	along := func(p pair, more ...pair) (pair, error) {
		axis := g.IntN(len(extents(p)))
		var a, b any
		switch g.ops.Lookup(op).NewAttrs().(type) {
		case *relay.AxisAttrs:
			a, b = attrs(g, op, func(a *relay.AxisAttrs) { a.Axis = axis - pickOf(g, 0, len(extents(p))) })
		case *relay.NormAttrs:
			a, b = attrs(g, op, func(a *relay.NormAttrs) { a.Axis = axis })
		case *relay.RMSNormAttrs:
			a, b = attrs(g, op, func(a *relay.RMSNormAttrs) { a.Axis = axis })
		case *relay.GroupNormAttrs:
			a, b = attrs(g, op, func(a *relay.GroupNormAttrs) { a.Axis, a.NumGroups = axis, pickOf(g, 1, 2) })
		case *relay.BatchNormAttrs:
			a, b = attrs(g, op, func(a *relay.BatchNormAttrs) { a.Axis = axis })
		case *relay.LRNAttrs:
			a, b = attrs(g, op, func(a *relay.LRNAttrs) { a.Axis, a.Size = axis, 3 })
		case *relay.SortAttrs:
			a, b = attrs(g, op, func(a *relay.SortAttrs) { a.Axis = axis })
		case *relay.TopKAttrs:
			a, b = attrs(g, op, func(a *relay.TopKAttrs) { a.Axis = axis })
		case *relay.ScanAttrs:
			a, b = attrs(g, op, func(a *relay.ScanAttrs) { a.Axis, a.Reverse = axis, g.one(2) })
		case *relay.ChannelShuffleAttrs:
			a, b = attrs(g, op, func(a *relay.ChannelShuffleAttrs) { a.Axis, a.Groups = axis, pickOf(g, 1, 2) })
		case *relay.QuantizeAttrs:
			a, b = attrs(g, op, func(a *relay.QuantizeAttrs) { a.Axis = axis })
		case *relay.DequantizeAttrs:
			a, b = attrs(g, op, func(a *relay.DequantizeAttrs) { a.Axis = axis })
		}
		for i := range more {
			if more[i].one == nil {
				more[i] = g.constant(f32, tensor.Shape{extents(p)[axis]}, 4)
			}
		}
		return g.call(op, a, b, append([]pair{p}, more...)...)
	}
	field := func(p pair, err error) (pair, error) {
		if err != nil {
			return p, err
		}
		i := g.IntN(len(p.one.Type().(*relay.TupleType).Fields))
		a, _ := relay.NewTupleGet(p.one, i, diag.Pos{})
		b, err := relay.NewTupleGet(p.many, i, diag.Pos{})
		return pair{a, b}, err
	}
	same := func(a, b any, args ...pair) (pair, error) { return g.call(op, a, b, args...) }
	switch {
	case strings.HasPrefix(op, "nn.conv"):
		rank := 3 + int(op[7]-'1')
		channels := pickOf(g, 2, 4)
		shape := append(tensor.Shape{pickOf(g, 1, 1, 2), channels}, 3, 3, 3)[:rank]
		letters := "NC" + "DHW"[5-rank:]
		weight := append(tensor.Shape{2, channels}, 2, 2, 2)[:rank]
		to := pickOf(g, "", "", letters[2:]+"NC")
		if strings.HasSuffix(op, "transpose") {
			weight[0], weight[1] = channels, 2
			a, b := attrs(g, op, func(a *relay.ConvTransposeAttrs) { a.OutLayout = to })
			return same(a, b, g.want(f32, shape), g.constant(f32, weight, 4))
		}
		a, b := attrs(g, op, func(a *relay.ConvAttrs) { a.OutLayout = to })
		return same(a, b, g.want(f32, shape), g.constant(f32, weight, 4))
	case strings.Contains(op, "_pool"):
		rank := 4
		var a, b any
		if _, ok := g.ops.Lookup(op).NewAttrs().(*relay.PoolAttrs); ok {
			rank = 3 + int(op[len("nn.max_pool")]-'1')
			a, b = attrs(g, op, func(a *relay.PoolAttrs) { a.PoolSize[0] = 2 })
		}
		if op == "nn.max_pool2d_with_argmax" {
			return field(same(a, b, x(rank)))
		}
		return same(a, b, x(rank))
	}
	switch op {
	case "nn.bias_add", "nn.layer_norm", "nn.instance_norm", "nn.group_norm", "nn.rms_norm", "nn.prelu", "nn.batch_norm":
		p := any4()
		if op == "nn.instance_norm" || op == "nn.group_norm" {
			p = x(4)
		}
		n := len(g.ops.Lookup(op).Args) - 1
		made, err := along(p, make([]pair, n)...)
		if op == "nn.batch_norm" {
			return field(made, err)
		}
		return made, err
	case "nn.softmax", "nn.log_softmax", "reverse", "sort", "argsort", "cumsum", "cumprod", "nn.lrn", "channel_shuffle":
		return along(any4())
	case "topk":
		return field(along(any4()))
	case "nn.l2_normalize":
		p := any4()
		a, b := attrs(g, op, func(a *relay.L2NormalizeAttrs) {
			a.Axis = pickOf(g, []int{0}, []int{-1}, nil, []int{len(extents(p)) - 1})
		})
		return same(a, b, p)
	case "qnn.quantize":
		zero := g.constant(tensor.Int8, tensor.Shape{}, 1)
		if g.one(2) {
			return along(any4(), pair{}, zero)
		}
		return along(any4(), g.constant(f32, tensor.Shape{}, 2), zero)
	case "qnn.dequantize":
		p := g.want(tensor.Int8, g.shape(3))
		return along(p, pair{}, g.constant(tensor.Int8, tensor.Shape{}, 2))
	case "nn.dense":
		p := any4()
		s := extents(p)
		return same(nil, nil, p, g.want(f32, tensor.Shape{2, s[len(s)-1]}))
	case "nn.matmul", "nn.batch_matmul":
		k := pickOf(g, 1, 2, 3)
		a, b := g.shape(pickOf(g, 2, 3, 4)), g.shape(pickOf(g, 2, 3, 4))
		for i := range min(len(a), len(b)) - 2 { // so that they broadcast
			b[len(b)-3-i] = pickOf(g, 1, a[len(a)-3-i])
		}
		ta, tb := g.one(2), g.one(2)
		at := func(s tensor.Shape, inner, turned bool) *int {
			if inner != turned {
				return &s[len(s)-1]
			}
			return &s[len(s)-2]
		}
		*at(a, true, ta), *at(b, false, tb) = k, k
		l, r := attrs(g, op, func(x *relay.MatmulAttrs) { x.TransposeA, x.TransposeB = ta, tb })
		return same(l, r, g.want(f32, a), g.want(f32, b))
	case "nn.attention":
		x := relay.AttentionAttrs{Scale: 0.5, TransposeQ: g.one(3), TransposeK: g.one(3), TransposeV: g.one(3)}
		outer := g.shape(pickOf(g, 0, 1, 2))
		m, n, d, e := pickOf(g, 1, 2, 3), pickOf(g, 1, 2, 3), pickOf(g, 1, 2), pickOf(g, 1, 2)
		matrices := func(rows, columns int, turned bool) pair {
			if turned {
				rows, columns = columns, rows
			}
			lead := outer.Clone()
			for i := range lead {
				lead[i] = pickOf(g, lead[i], lead[i], 1)
			}
			return g.want(f32, append(lead[g.IntN(len(lead)+1):], rows, columns))
		}
		mask := pickOf(g, tensor.Shape{}, tensor.Shape{n}, tensor.Shape{m, 1}, append(outer.Clone(), m, n), append(outer.Clone(), 1, n))
		l, r := attrs(g, op, func(a *relay.AttentionAttrs) { *a = x })
		return same(l, r, matrices(m, d, x.TransposeQ), matrices(n, d, x.TransposeK), matrices(n, e, x.TransposeV), g.want(f32, mask))
	case "nn.squeeze_excite":
		return same(nil, nil, g.want(f32, tensor.Shape{1, 4, 2, 2}), g.constant(f32, tensor.Shape{2, 4}, 1), g.constant(f32, tensor.Shape{2}, 1), g.constant(f32, tensor.Shape{4, 2}, 1), g.constant(f32, tensor.Shape{4}, 1))
	case "nn.space_to_depth", "nn.depth_to_space":
		a, b := attrs(g, op, func(a *relay.BlockAttrs) { a.BlockSize = 2 })
		return same(a, b, g.want(f32, tensor.Shape{pickOf(g, 1, 4), 4, 2, 2}))
	case "image.resize2d":
		a, b := attrs(g, op, func(a *relay.ResizeAttrs) { a.Size = []int{3, 5} })
		return same(a, b, x(4))
	case "image.resize":
		a, b := attrs(g, op, func(a *relay.ResizeAttrs) { a.Axes, a.Size = []int{1}, []int{5} })
		return same(a, b, x(3))
	case "image.grid_sample":
		rows := pickOf(g, 1, 2)
		return same(nil, nil, g.wantAt(f32, tensor.Shape{rows, 2, 3, 3}, pickOf(g, 0, 0, 1)), g.wantAt(f32, tensor.Shape{rows, 2, 2, 2}, pickOf(g, 0, 0, 1)))
	case "sum", "mean", "prod", "max", "min", "logsumexp", "all", "any", "argmax", "argmin":
		p := any4()
		if op == "all" || op == "any" {
			p = g.must("greater", nil, nil, p, g.constant(f32, tensor.Shape{}, 1))
		}
		axis := pickOf(g, nil, []int{0}, []int{-1}, []int{0, -1}, []int{len(extents(p)) - 1})
		if len(extents(p)) == 1 && len(axis) == 2 {
			axis = nil
		}
		keep, exclude := g.one(2), g.one(3)
		if strings.HasPrefix(op, "arg") {
			a, b := attrs(g, op, func(a *relay.ArgReduceAttrs) { a.Axis, a.Keepdims, a.Exclude = axis, keep, exclude })
			return same(a, b, p)
		}
		a, b := attrs(g, op, func(a *relay.ReduceAttrs) { a.Axis, a.Keepdims, a.Exclude = axis, keep, exclude })
		return same(a, b, p)
	case "reshape":
		p := any4()
		s := extents(p).Clone()
		if at := g.IntN(len(s)); at > 0 && g.one(2) {
			s = slices.Concat(s[:at-1], tensor.Shape{s[at-1] * s[at]}, s[at+1:])
		} else if s[at]%2 == 0 {
			s = slices.Concat(s[:at], tensor.Shape{2, s[at] / 2}, s[at+1:])
		}
		if g.one(4) {
			g.Shuffle(len(s), func(i, j int) { s[i], s[j] = s[j], s[i] })
		}
		many := s.Clone()
		if p.many.Type().String() != p.one.Type().String() {
			many[g.IntN(len(s))] *= g.n
		}
		return same(&relay.ReshapeAttrs{NewShape: s}, &relay.ReshapeAttrs{NewShape: many}, p)
	case "expand_dims":
		a, b := attrs(g, op, func(a *relay.ExpandDimsAttrs) { a.Axis = g.IntN(2) })
		return same(a, b, any4())
	case "squeeze":
		p := any4()
		a, b := attrs(g, op, func(a *relay.SqueezeAttrs) { a.Axis = pickOf(g, nil, []int{0}, []int{-1}) })
		return same(a, b, p)
	case "transpose":
		p := any4()
		a, b := attrs(g, op, func(a *relay.TransposeAttrs) { a.Axes = pickOf(g, nil, g.Perm(len(extents(p)))) })
		return same(a, b, p)
	case "trilu":
		return same(nil, nil, x(3))
	case "broadcast_to":
		p := x(1 + g.IntN(3))
		s := slices.Concat(g.shape(g.IntN(2)), extents(p))
		for i := range s {
			if s[i] == 1 && g.one(2) {
				s[i] = 2
			}
		}
		many := s.Clone()
		if !g.one(4) {
			many[g.IntN(len(s))] *= g.n
		}
		return same(&relay.ShapeAttrs{Shape: s}, &relay.ShapeAttrs{Shape: many}, p)
	case "full", "zeros", "ones":
		s := g.shape(3)
		many := s.Clone()
		many[g.IntN(3)] *= g.n
		a, b := &relay.FullAttrs{Shape: s, DType: f32}, &relay.FullAttrs{Shape: many, DType: f32}
		if op != "full" {
			return same(a, b)
		}
		return same(a, b, g.param(f32, tensor.Shape{}, -1))
	case "arange", "eye":
		if op == "eye" {
			return same(&relay.EyeAttrs{Shape: []int{2, 3}, DType: f32}, &relay.EyeAttrs{Shape: []int{2 * g.n, 3}, DType: f32})
		}
		return same(&relay.ArangeAttrs{Stop: 2, Step: 1, DType: f32}, &relay.ArangeAttrs{Stop: 2 * float64(g.n), Step: 1, DType: f32})
	case "tile":
		p := x(2)
		reps := pickOf(g, []int{2, 1}, []int{1, 2}, []int{1, 1}, []int{2, 1, 1}, []int{2})
		many := slices.Clone(reps)
		if g.one(2) {
			many[g.IntN(len(many))] *= g.n
		}
		return same(&relay.TileAttrs{Reps: reps}, &relay.TileAttrs{Reps: many}, p)
	case "repeat":
		p := any4()
		a, b := attrs(g, op, func(a *relay.RepeatAttrs) { a.Repeats, a.Axis = 2, g.IntN(len(extents(p))) })
		return same(a, b, p)
	case "concatenate", "stack":
		s := g.shape(3)
		axis := g.IntN(3)
		p, q := g.wantAt(f32, s, axis), g.wantAt(f32, s, axis)
		tuple := pair{relay.NewTuple([]relay.Expr{p.one, q.one}, diag.Pos{}), relay.NewTuple([]relay.Expr{p.many, q.many}, diag.Pos{})}
		a, b := attrs(g, op, func(a *relay.ConcatAttrs) { a.Axis = g.IntN(3) })
		return same(a, b, tuple)
	case "split":
		p := any4()
		a, b := attrs(g, op, func(a *relay.SplitAttrs) { a.Axis, a.Indices = g.IntN(len(extents(p))), []int{1} })
		return field(same(a, b, p))
	case "strided_slice":
		p := x(3)
		begin, end, step := []int{0, 0, 0}, []int{9, 9, 9}, []int{1, 1, 1}
		at := g.IntN(3)
		begin[at], end[at] = pickOf(g, 0, 1, -2), pickOf(g, 99, 2, -1)
		if g.one(3) {
			begin[at], end[at], step[at] = 99, -99, -1
		}
		wide := slices.Clone(end)
		for i := range wide {
			if wide[i] == 9 {
				wide[i] *= g.n
			}
		}
		later := slices.Clone(begin)
		if g.one(4) {
			later[at] = begin[at] + 1
			wide[at] = end[at] + 1
		}
		return same(&relay.StridedSliceAttrs{Begin: begin, End: end, Strides: step}, &relay.StridedSliceAttrs{Begin: later, End: wide, Strides: step}, p)
	case "nn.pad":
		p := x(2)
		a, b := attrs(g, op, func(a *relay.PadAttrs) {
			a.PadWidth, a.PadMode = pickOf(g, []int{0, 0, 1, 0}, []int{1, 1, 0, 0}, []int{1, -1, 0, 0}, []int{0, 0, 0, 0}), pickOf(g, "constant", "edge", "wrap")
		})
		return same(a, b, p, g.param(f32, tensor.Shape{}, -1))
	case "one_hot":
		p := g.want(tensor.Int64, g.shape(2))
		a, b := attrs(g, op, func(a *relay.OneHotAttrs) { a.Depth, a.Axis = 3, g.IntN(3) })
		return same(a, b, p, g.constant(f32, tensor.Shape{}, 1), g.constant(f32, tensor.Shape{}, 1))
	case "take":
		p := x(3)
		index := g.want(tensor.Int64, g.shape(g.IntN(3)))
		a, b := attrs(g, op, func(a *relay.TakeAttrs) { a.Axis, a.Mode = g.IntN(3), pickOf(g, "clip", "wrap") })
		return same(a, b, p, index)
	case "gather":
		s := g.shape(3)
		axis := g.IntN(3)
		index := s.Clone()
		index[g.IntN(3)] = 1
		p := g.want(f32, s)
		a, b := attrs(g, op, func(a *relay.AxisAttrs) { a.Axis = g.IntN(3) })
		return same(a, b, p, g.wantAt(tensor.Int64, index, axis))
	case "gather_nd":
		dims := g.IntN(2)
		s, y := g.shape(3), g.shape(2)
		y[0] = s[0]
		a, b := attrs(g, op, func(a *relay.GatherNDAttrs) { a.BatchDims = dims })
		p, at := g.want(f32, s), 0
		if dims == 1 && g.one(2) {
			p, at = g.wantAt(f32, s, 0), 1
		}
		index := slices.Concat(tensor.Shape{pickOf(g, 1, 2)}, y)
		if at == 1 {
			return same(a, b, p, g.wantAt(tensor.Int64, index, 1))
		}
		return same(a, b, p, g.want(tensor.Int64, index))
	case "scatter_elements":
		s := g.shape(2)
		axis := g.IntN(2)
		index := s.Clone()
		if g.one(2) {
			index[g.IntN(2)] = 1
		}
		a, b := attrs(g, op, func(a *relay.ScatterElementsAttrs) { a.Axis, a.Reduction = g.IntN(2), pickOf(g, "update", "add") })
		return same(a, b, g.wantAt(f32, s, axis), g.wantAt(tensor.Int64, index, axis), g.wantAt(f32, index, axis))
	case "reverse_sequence":
		s := g.shape(3)
		axes := g.Perm(3)
		a, b := attrs(g, op, func(a *relay.ReverseSequenceAttrs) { a.SeqAxis, a.BatchAxis = axes[0], axes[1] })
		return same(a, b, g.want(f32, s), g.want(tensor.Int64, tensor.Shape{s[axes[1]]}))
	case "argwhere", "unique":
		return field(same(nil, nil, x(2)))
	case "where":
		s := g.shape(3)
		c := g.must("greater", nil, nil, g.want(f32, s), g.constant(f32, tensor.Shape{}, 1))
		return same(nil, nil, c, g.want(f32, s), g.want(f32, tensor.Shape{1, s[2]}))
	case "cast":
		a, b := attrs(g, op, func(a *relay.CastAttrs) { a.DType = tensor.Int32 })
		return same(a, b, any4())
	}
	p := any4()
	if len(g.ops.Lookup(op).Args) == 2 {
		s := extents(p).Clone()
		if g.one(2) {
			s = s[g.IntN(len(s)):]
		}
		if g.one(2) {
			s[g.IntN(len(s))] = 1
		}
		q := g.want(f32, s)
		if g.one(2) {
			p, q = q, p
		}
		return same(nil, nil, p, q)
	}
	return same(nil, nil, p)
}

// rowOf returns row r of a value with n rows.
func rowOf(w *tensor.Wide, at place, r, n int) *tensor.Wide {
	if at.axis < 0 {
		return w
	}
	shape := w.Shape.Clone()
	shape[at.axis] /= n
	out := tensor.NewWide(w.DType, shape)
	inner := shape[at.axis] / at.outer
	behind := w.Shape[at.axis+1:].Elems()
	k := 0
	for i := range w.Shape.Elems() {
		if e := i / behind % w.Shape[at.axis]; e/inner%n != r {
			continue
		}
		if w.F != nil {
			out.F[k] = w.F[i]
		} else {
			out.I[k] = w.I[i]
		}
		k++
	}
	return out
}

// same compares two values that are computed from the same numbers, sums in another order perhaps.
func sameWide(a, b *tensor.Wide) bool {
	for i := range a.F {
		x, y := a.F[i], b.F[i]
		if x != y && !(math.IsNaN(x) && math.IsNaN(y)) && !(math.Abs(x-y) <= 1e-9*(1+math.Abs(x))) {
			return false
		}
	}
	return a.Shape.Equal(b.Shape) && slices.Equal(a.I, b.I)
}

// TestWhatIsProvenIsSo draws operators on values that have the batch anywhere, and holds each that is said to keep rows apart to the
// evaluator: row by row, the model of n rows must give what the model of one row gives. Every operator of the table must have been
// proven with rows, and refused; elementwise ones at least proven.
func TestWhatIsProvenIsSo(t *testing.T) {
	proven, refused := map[string]int{}, map[string]int{}
	table := relay.Core()
	rounds := 400
	if testing.Short() {
		rounds = 80
	}
	for seed := range rounds {
		for _, op := range table.Ops() {
			g := &drawn{Rand: rand.New(rand.NewPCG(uint64(seed), 11)), n: 2 + seed%2, ops: table, at: map[pair]place{}}
			if op.Name == "reinterpret" || op.Name == "layout_transform" || op.Name == "scatter_nd" || op.Name == "vision.non_max_suppression" {
				continue // of layouts, and of indices that name rows: the table has none of them
			}
			x, err := g.draw(op.Name)
			if err != nil { // with n rows it has no type
				refused[op.Name]++
				continue
			}
			p := &prover{ctx: t.Context(), n: g.n, of: map[pair]places{}}
			for _, v := range g.params {
				p.of[v] = places{g.at[v]}
			}
			if err := p.prove(x); err != nil {
				require.ErrorIs(t, err, diag.ErrUnsupported)
				refused[op.Name]++
				continue
			}
			at := p.of[x][0]
			if at != shared {
				proven[op.Name]++
			}
			g.hold(t, op.Name, x, at)
		}
	}
	for _, op := range table.Ops() {
		if _, ok := keeps[op.Name]; ok {
			require.Positive(t, proven[op.Name], "%s was never proven", op.Name)
			if always := []string{"zeros", "ones", "full", "expand_dims", "transpose", "repeat", "one_hot"}; !slices.Contains(always, op.Name) {
				require.Positive(t, refused[op.Name], "%s was never refused", op.Name)
			}
		}
	}
	t.Logf("proven %v, refused %v", proven, refused)
}

// hold compares n rows with one at a time.
func (g *drawn) hold(t *testing.T, what string, x pair, at place) {
	var one, many []*relay.Var
	var inputs []*tensor.Wide
	for _, v := range g.params {
		one, many = append(one, v.one.(*relay.Var)), append(many, v.many.(*relay.Var))
		w := tensor.NewWide(relay.Tensor(v.many).DType, relay.Tensor(v.many).Shape)
		g.fill(w, 4)
		inputs = append(inputs, w)
	}
	run := func(params []*relay.Var, body relay.Expr, value func(i int) *tensor.Wide) *tensor.Wide {
		var values []relay.Value
		for i := range params {
			values = append(values, value(i))
		}
		v, err := eval.Run(t.Context(), relay.NewFunction(params, body, false, nil, diag.Pos{}), values)
		require.NoError(t, err, what)
		return v.(*tensor.Wide)
	}
	whole := run(many, x.many, func(i int) *tensor.Wide { return inputs[i] })
	for r := range g.n {
		got := run(one, x.one, func(i int) *tensor.Wide { return rowOf(inputs[i], g.at[g.params[i]], r, g.n) })
		require.True(t, sameWide(got, rowOf(whole, at, r, g.n)), "%s: row %d of %d, batch at %v:\n%v\n%v", what, r, g.n, at, got, rowOf(whole, at, r, g.n))
	}
}
