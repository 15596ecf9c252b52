package transform

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/texel-ml/texel/cost"
	"github.com/texel-ml/texel/diag"
	"github.com/texel-ml/texel/relay"
	"github.com/texel-ml/texel/tensor"
)

// ChooseLayout gives operators the layouts in which they are fast. Each value is kept in the order of axes in which it
// was made, and is only turned where a user cannot take it so: a transpose of the model becomes part of that order and
// costs nothing until somebody needs it. Weights are packed; packing of constants is folded later.
//
// An operator with candidates takes the one whose cost with the copies of its operand is least. Elementwise operators,
// pools, reductions, concatenation and other operators with axes follow their operand.
func ChooseLayout(_ context.Context, m *relay.Module, o *Options) (*relay.Module, error) {
	if o.Candidates == nil {
		return m, nil
	}
	main := m.Main()
	l := &layouter{o: o, values: map[relay.Expr]placed{}}
	for e := range relay.PostOrder(main, false) {
		if e == relay.Expr(main) {
			break
		}
		p, err := l.place(e)
		if err != nil {
			return nil, err
		}
		l.values[e] = p
	}
	body, err := l.plain(l.values[main.Body])
	if err != nil {
		return nil, err
	}
	return m.WithMain(relay.NewFunction(main.Params, body, main.Primitive, main.Attrs, main.Pos())), nil
}

// placed is a value of the old graph in the new one: axis i of the old value is axis at[i] of expr. A nil at is the old
// order. A tuple has its fields instead.
type placed struct {
	expr   relay.Expr
	at     []int
	fields []placed
}

type layouter struct {
	o      *Options
	values map[relay.Expr]placed
}

func (l *layouter) place(e relay.Expr) (placed, error) {
	switch e := e.(type) {
	case *relay.Tuple:
		p := placed{fields: make([]placed, len(e.Fields))}
		for i, f := range e.Fields {
			p.fields[i] = l.values[f]
		}
		return p, nil
	case *relay.TupleGet:
		t := l.values[e.Tuple]
		if t.fields != nil {
			return t.fields[e.Index], nil
		}
		g, err := relay.NewTupleGet(t.expr, e.Index, e.Pos())
		return placed{expr: g}, err
	case *relay.Call:
		return l.call(e)
	case *relay.Var, *relay.Constant, *relay.Function:
		return placed{expr: e}, nil
	}
	return l.asIs(e)
}

// asIs rebuilds e over plain operands.
func (l *layouter) asIs(e relay.Expr) (placed, error) {
	done := map[relay.Expr]relay.Expr{}
	for _, op := range relay.Operands(e) {
		plain, err := l.plain(l.values[op])
		if err != nil {
			return placed{}, err
		}
		done[op] = plain
	}
	out, err := relay.Rebuild(e, done)
	return placed{expr: out}, err
}

// plain returns a value in the old order of axes.
func (l *layouter) plain(p placed) (relay.Expr, error) {
	if p.fields != nil {
		list := make([]relay.Expr, len(p.fields))
		for i, f := range p.fields {
			e, err := l.plain(f)
			if err != nil {
				return nil, err
			}
			list[i] = e
		}
		return relay.NewTuple(list, list[0].Pos()), nil
	}
	return l.turned(p, nil)
}

// turned returns a value with its axes in order at.
func (l *layouter) turned(p placed, at []int) (relay.Expr, error) {
	t := relay.Tensor(p.expr)
	if t == nil || sameOrder(p.at, at, len(t.Shape)) {
		return p.expr, nil
	}
	rank := len(t.Shape)
	from, to := order(p.at, rank), order(at, rank)
	axes := make([]int, rank) // new axis to[i] is the present axis from[i]
	for i := range rank {
		axes[to[i]] = from[i]
	}
	pos := p.expr.Pos()
	if onlyUnitsMove(axes, t.Shape) {
		shape := make(tensor.Shape, rank)
		for i, a := range axes {
			shape[i] = t.Shape[a]
		}
		return l.op("reshape", &relay.ReshapeAttrs{NewShape: shape}, pos, p.expr)
	}
	return l.op("transpose", &relay.TransposeAttrs{Axes: axes}, pos, p.expr)
}

func (l *layouter) op(name string, attrs any, pos diag.Pos, args ...relay.Expr) (relay.Expr, error) {
	return relay.NewCall(l.o.Ops.Lookup(name), args, attrs, pos)
}

func order(at []int, rank int) []int {
	if at != nil {
		return at
	}
	plain := make([]int, rank)
	for i := range plain {
		plain[i] = i
	}
	return plain
}

func sameOrder(a, b []int, rank int) bool { return slices.Equal(order(a, rank), order(b, rank)) }

// onlyUnitsMove reports whether a transpose leaves the order of the axes longer than 1 as it is, so that memory stays.
func onlyUnitsMove(axes []int, shape tensor.Shape) bool {
	last := -1
	for _, a := range axes {
		if shape[a] == 1 {
			continue
		}
		if a < last {
			return false
		}
		last = a
	}
	return true
}

func (l *layouter) call(c *relay.Call) (placed, error) {
	if c.Op == nil {
		return l.asIs(c)
	}
	switch c.Op.Name {
	case "transpose":
		return l.transpose(c)
	case "reshape", "squeeze", "expand_dims":
		return l.asIs(c)
	}
	if list := l.o.Candidates(c); len(list) > 0 {
		return l.choose(c, list)
	}
	if c.Op.Name == "nn.squeeze_excite" {
		return l.squeezeExcite(c)
	}
	if c.Op.Class <= relay.Broadcast && len(c.Args) > 0 {
		return l.elementwise(c)
	}
	if follow := followers[c.Op.Name]; follow != nil {
		return l.follow(c, follow)
	}
	return l.asIs(c)
}

// transpose turns the order instead of the data.
func (l *layouter) transpose(c *relay.Call) (placed, error) {
	p := l.values[c.Args[0]]
	rank := len(relay.Tensor(c).Shape)
	axes := c.Attrs.(*relay.TransposeAttrs).Axes
	from := order(p.at, rank)
	at := make([]int, rank)
	for i := range rank {
		a := rank - 1 - i
		if axes != nil {
			a = relay.NormalAxis(axes[i], rank)
		}
		at[i] = from[a]
	}
	return placed{expr: p.expr, at: at}, nil
}

// choose takes the candidate that is cheapest with the copies of its operand.
func (l *layouter) choose(c *relay.Call, list []cost.Candidate) (placed, error) {
	data := l.values[c.Args[0]]
	old := dataLayout(c)
	best, least := -1, 0.0
	var others []diag.Option
	for i, k := range list {
		price := k.Cost
		if k.Data != "" && !sameOrder(data.at, orderOf(old, k.Data), len(old)) {
			t := relay.Tensor(data.expr)
			price += cost.Micros(cost.Copy(int64(t.DType.Bytes(t.Shape.Elems()))), l.o.Target)
		}
		others = append(others, diag.Option{Name: k.String(), Cost: price})
		if best < 0 || price < least {
			best, least = i, price
		}
	}
	k := list[best]
	l.o.Notes.Append(diag.Note{Kind: diag.Chose, Step: "choose-layout", Node: nodeName(c), Text: fmt.Sprintf("%v, %.1f µs", k, least),
		Other: slices.Delete(others, best, best+1)})
	args := make([]relay.Expr, len(c.Args))
	for i, a := range c.Args {
		var at []int
		if i == 0 && k.Data != "" {
			at = orderOf(old, k.Data)
		}
		arg, err := l.turned(l.values[a], at)
		if err != nil {
			return placed{}, err
		}
		args[i] = arg
	}
	var attrs any
	var at []int
	switch a := c.Attrs.(type) {
	case *relay.ConvAttrs:
		n := *a
		from := n.KernelLayout
		n.DataLayout, n.KernelLayout, n.OutLayout = k.Data, k.Kernel, k.Out
		n.Channels = tensor.MustLayout(from).Extent(relay.Tensor(c.Args[1]).Shape, 'O')
		packed, err := l.op("layout_transform", &relay.LayoutTransformAttrs{SrcLayout: from, DstLayout: k.Kernel}, c.Pos(), args[1])
		if err != nil {
			return placed{}, err
		}
		args[1], attrs = packed, &n
		at = orderOf(old, k.Out)
	case *relay.ConvTransposeAttrs:
		n := *a
		n.DataLayout, n.KernelLayout, n.OutLayout = k.Data, k.Kernel, k.Out
		packed, err := l.op("layout_transform", &relay.LayoutTransformAttrs{SrcLayout: a.KernelLayout, DstLayout: k.Kernel}, c.Pos(), args[1])
		if err != nil {
			return placed{}, err
		}
		args[1], attrs = packed, &n
		at = orderOf(old, k.Out)
	case *relay.DenseAttrs:
		n := *a
		n.WeightLayout = k.Kernel
		n.Units = relay.Tensor(c.Args[1]).Shape[0]
		packed, err := l.op("layout_transform", &relay.LayoutTransformAttrs{SrcLayout: "NK", DstLayout: k.Kernel}, c.Pos(), args[1])
		if err != nil {
			return placed{}, err
		}
		args[1], attrs = packed, &n
	default:
		return l.asIs(c)
	}
	out, err := relay.NewCall(c.Op, args, attrs, c.Pos())
	return placed{expr: out, at: at}, err
}

func nodeName(c *relay.Call) string {
	if n := c.Pos().Node; n != "" {
		return n
	}
	return c.Op.Name
}

func dataLayout(c *relay.Call) string {
	switch a := c.Attrs.(type) {
	case *relay.ConvAttrs:
		return a.DataLayout
	case *relay.ConvTransposeAttrs:
		return a.DataLayout
	}
	return ""
}

// orderOf returns where the axes of layout old lie in layout now: NCHW in NHWC is 0, 3, 1, 2.
func orderOf(old, now string) []int {
	at := make([]int, len(old))
	for i := range old {
		at[i] = strings.IndexByte(now, old[i])
	}
	return at
}

// elementwise runs in the order of its largest operand; the others follow.
func (l *layouter) elementwise(c *relay.Call) (placed, error) {
	rank := len(relay.Tensor(c).Shape)
	var at []int
	most := -1
	for _, a := range c.Args {
		p := l.values[a]
		t := relay.Tensor(a)
		if p.at == nil || t == nil || len(t.Shape) != rank || sameOrder(p.at, nil, rank) {
			continue
		}
		if n := t.Shape.Elems(); n > most {
			at, most = p.at, n
		}
	}
	if at == nil {
		return l.asIs(c)
	}
	attrs := c.Attrs
	if a, ok := attrs.(*relay.AxisAttrs); ok { // bias_add, prelu: the second operand is a vector
		first, err := l.turned(l.values[c.Args[0]], at)
		if err != nil {
			return placed{}, err
		}
		vector, err := l.plain(l.values[c.Args[1]])
		if err != nil {
			return placed{}, err
		}
		out, err := relay.NewCall(c.Op, []relay.Expr{first, vector}, &relay.AxisAttrs{Axis: at[relay.NormalAxis(a.Axis, rank)]}, c.Pos())
		return placed{expr: out, at: at}, err
	}
	args := make([]relay.Expr, len(c.Args))
	for i, a := range c.Args {
		arg, err := l.aligned(a, at, rank)
		if err != nil {
			return placed{}, err
		}
		args[i] = arg
	}
	out, err := relay.NewCall(c.Op, args, attrs, c.Pos())
	return placed{expr: out, at: at}, err
}

// aligned returns operand a of an elementwise operator of the given rank with its axes in order at. An operand of lower
// rank gets leading axes of extent 1 first.
func (l *layouter) aligned(a relay.Expr, at []int, rank int) (relay.Expr, error) {
	t := relay.Tensor(a)
	if t.Shape.Elems() == 1 && len(t.Shape) <= 1 {
		return l.plain(l.values[a])
	}
	if len(t.Shape) == rank {
		return l.turned(l.values[a], at)
	}
	plain, err := l.plain(l.values[a])
	if err != nil {
		return nil, err
	}
	shape := make(tensor.Shape, rank)
	for i := range shape {
		shape[i] = 1
	}
	copy(shape[rank-len(t.Shape):], t.Shape)
	wide, err := l.op("reshape", &relay.ReshapeAttrs{NewShape: shape}, a.Pos(), plain)
	if err != nil {
		return nil, err
	}
	return l.turned(placed{expr: wide}, at)
}

// follower returns the attributes of an operator whose operand has axis i at at[i], and the order of its result: false
// when it cannot take the operand so.
type follower func(c *relay.Call, at []int) (attrs any, result []int, ok bool)

var followers = map[string]follower{
	"nn.max_pool1d": followPool, "nn.max_pool2d": followPool, "nn.max_pool3d": followPool,
	"nn.avg_pool1d": followPool, "nn.avg_pool2d": followPool, "nn.avg_pool3d": followPool,
	"nn.global_avg_pool2d": followGlobalPool, "nn.global_max_pool2d": followGlobalPool,
	"nn.adaptive_avg_pool2d": followAdaptive, "nn.adaptive_max_pool2d": followAdaptive,
	"sum": followReduce, "mean": followReduce, "max": followReduce, "min": followReduce, "prod": followReduce,
	"nn.softmax": followAxis, "nn.log_softmax": followAxis,
	"nn.pad": followPad, "strided_slice": followSlice, "concatenate": followConcat, "split": followSplit,
	"channel_shuffle": followShuffle, "image.resize": followResize, "image.resize2d": followResize2D,
	"nn.conv1d_transpose": followConvTranspose, "nn.conv2d_transpose": followConvTranspose,
}

func (l *layouter) follow(c *relay.Call, f follower) (placed, error) {
	first := l.values[c.Args[0]]
	at := first.at
	for _, field := range first.fields {
		if at == nil {
			at = field.at
		}
	}
	if at == nil {
		return l.asIs(c)
	}
	attrs, result, ok := f(c, at)
	if !ok {
		return l.asIs(c)
	}
	args := make([]relay.Expr, len(c.Args))
	for i, a := range c.Args {
		var err error
		switch {
		case i > 0:
			args[i], err = l.plain(l.values[a])
		case first.fields != nil:
			fields := make([]relay.Expr, len(first.fields))
			for n, field := range first.fields {
				if fields[n], err = l.turned(field, at); err != nil {
					return placed{}, err
				}
			}
			args[i] = relay.NewTuple(fields, a.Pos())
		default:
			args[i], err = l.turned(first, at)
		}
		if err != nil {
			return placed{}, err
		}
	}
	out, err := relay.NewCall(c.Op, args, attrs, c.Pos())
	if err != nil {
		return placed{}, err
	}
	if t, ok := out.Type().(*relay.TupleType); ok {
		p := placed{}
		for i := range t.Fields {
			g, err := relay.NewTupleGet(out, i, c.Pos())
			if err != nil {
				return placed{}, err
			}
			p.fields = append(p.fields, placed{expr: g, at: result})
		}
		return p, nil
	}
	return placed{expr: out, at: result}, nil
}

// squeezeExcite follows its operand and turns its two weights, so that their outputs are innermost and become lanes.
func (l *layouter) squeezeExcite(c *relay.Call) (placed, error) {
	a := *c.Attrs.(*relay.SqueezeExciteAttrs)
	at := l.values[c.Args[0]].at
	if at != nil {
		layout, ok := relaid(a.Layout, at)
		if !ok {
			return l.asIs(c)
		}
		a.Layout = layout
	}
	args := make([]relay.Expr, len(c.Args))
	for i, arg := range c.Args {
		var order []int
		if i == 0 {
			order = at
		}
		e, err := l.turned(l.values[arg], order)
		if err != nil {
			return placed{}, err
		}
		args[i] = e
	}
	if a.WeightLayout != "IO" {
		a.WeightLayout = "IO"
		for _, i := range []int{1, 3} {
			turned, err := l.op("transpose", &relay.TransposeAttrs{Axes: []int{1, 0}}, c.Pos(), args[i])
			if err != nil {
				return placed{}, err
			}
			args[i] = turned
		}
	}
	out, err := relay.NewCall(c.Op, args, &a, c.Pos())
	return placed{expr: out, at: at}, err
}

// relaid returns layout name with its letters in order at.
func relaid(name string, at []int) (string, bool) {
	if len(name) != len(at) || strings.ToUpper(name) != name {
		return "", false
	}
	out := make([]byte, len(at))
	for i := range at {
		out[at[i]] = name[i]
	}
	return string(out), true
}

func followPool(c *relay.Call, at []int) (any, []int, bool) {
	n := *c.Attrs.(*relay.PoolAttrs)
	var ok bool
	n.Layout, ok = relaid(n.Layout, at)
	return &n, at, ok && inOrder(n.Layout)
}

// inOrder reports whether the spatial letters of a layout stand in the order D, H, W that attribute lists follow.
func inOrder(layout string) bool {
	spatial := strings.Map(func(r rune) rune {
		if r == 'N' || r == 'C' {
			return -1
		}
		return r
	}, layout)
	return strings.HasSuffix("DHW", spatial)
}

func followGlobalPool(c *relay.Call, at []int) (any, []int, bool) {
	n := *c.Attrs.(*relay.GlobalPoolAttrs)
	var ok bool
	n.Layout, ok = relaid(n.Layout, at)
	return &n, at, ok
}

func followAdaptive(c *relay.Call, at []int) (any, []int, bool) {
	n := *c.Attrs.(*relay.AdaptivePoolAttrs)
	var ok bool
	n.Layout, ok = relaid(n.Layout, at)
	return &n, at, ok && inOrder(n.Layout)
}

func followConvTranspose(c *relay.Call, at []int) (any, []int, bool) {
	n := *c.Attrs.(*relay.ConvTransposeAttrs)
	var ok bool
	n.DataLayout, ok = relaid(n.DataLayout, at)
	n.OutLayout = n.DataLayout
	return &n, at, ok && inOrder(n.DataLayout)
}

// followReduce turns the axes; without kept axes the rest must stay in order.
func followReduce(c *relay.Call, at []int) (any, []int, bool) {
	n := *c.Attrs.(*relay.ReduceAttrs)
	if n.Axis == nil || n.Exclude {
		return nil, nil, false
	}
	n.Axis = slices.Clone(n.Axis)
	gone := map[int]bool{}
	for i, a := range n.Axis {
		a = relay.NormalAxis(a, len(at))
		gone[a] = true
		n.Axis[i] = at[a]
	}
	slices.Sort(n.Axis)
	if n.Keepdims {
		return &n, at, true
	}
	last := -1
	for i := range at {
		if gone[i] {
			continue
		}
		if at[i] < last {
			return nil, nil, false
		}
		last = at[i]
	}
	return &n, nil, true
}

func followAxis(c *relay.Call, at []int) (any, []int, bool) {
	return &relay.AxisAttrs{Axis: at[relay.NormalAxis(c.Attrs.(*relay.AxisAttrs).Axis, len(at))]}, at, true
}

func followShuffle(c *relay.Call, at []int) (any, []int, bool) {
	n := *c.Attrs.(*relay.ChannelShuffleAttrs)
	n.Axis = at[relay.NormalAxis(n.Axis, len(at))]
	return &n, at, true
}

func followConcat(c *relay.Call, at []int) (any, []int, bool) {
	return &relay.ConcatAttrs{Axis: at[relay.NormalAxis(c.Attrs.(*relay.ConcatAttrs).Axis, len(at))]}, at, true
}

func followSplit(c *relay.Call, at []int) (any, []int, bool) {
	n := *c.Attrs.(*relay.SplitAttrs)
	n.Axis = at[relay.NormalAxis(n.Axis, len(at))]
	return &n, at, true
}

func followPad(c *relay.Call, at []int) (any, []int, bool) {
	n := *c.Attrs.(*relay.PadAttrs)
	width := make([]int, len(n.PadWidth))
	for i := range at {
		width[2*at[i]], width[2*at[i]+1] = n.PadWidth[2*i], n.PadWidth[2*i+1]
	}
	n.PadWidth = width
	return &n, at, true
}

func followSlice(c *relay.Call, at []int) (any, []int, bool) {
	n := *c.Attrs.(*relay.StridedSliceAttrs)
	n.Axes = turnedAxes(n.Axes, len(n.Begin), at)
	return &n, at, true
}

func followResize(c *relay.Call, at []int) (any, []int, bool) {
	n := *c.Attrs.(*relay.ResizeAttrs)
	n.Axes = turnedAxes(n.Axes, len(n.Size), at)
	return &n, at, true
}

// turnedAxes returns where n axes lie in order at; nil axes are the first ones.
func turnedAxes(axes []int, n int, at []int) []int {
	turned := make([]int, n)
	for i := range turned {
		a := i
		if axes != nil {
			a = relay.NormalAxis(axes[i], len(at))
		}
		turned[i] = at[a]
	}
	return turned
}

func followResize2D(c *relay.Call, at []int) (any, []int, bool) {
	n := *c.Attrs.(*relay.ResizeAttrs)
	var ok bool
	n.Layout, ok = relaid(n.Layout, at)
	return &n, at, ok && inOrder(n.Layout)
}
