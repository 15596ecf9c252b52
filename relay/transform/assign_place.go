package transform

import (
	"fmt"
	"slices"

	"github.com/texel-ml/texel/diag"
	"github.com/texel-ml/texel/relay"
	"github.com/texel-ml/texel/tensor"
)

// placed is a value of the old graph in the new one: axis i of the old value is axis at[i] of expr. A nil at is the old
// order. A half value is kept in half precision and was float32. A tuple has its fields instead.
type placed struct {
	expr   relay.Expr
	at     []int
	half   bool
	fields []placed
}

// kind is in which type an operator takes a value of float32.
type kind uint8

const (
	wide   kind = iota // in float32
	half               // in half precision
	either             // as it is kept
)

// placer makes the graph that the labels describe.
type placer struct {
	*assignment
	values map[relay.Expr]placed
	copies map[turnedCopy]relay.Expr
}

// turnedCopy names a copy of a value in another order.
type turnedCopy struct {
	of   relay.Expr
	axes string
}

// place returns the body of main with every choice as its label says.
func (a *assignment) place() (relay.Expr, error) {
	p := &placer{a, map[relay.Expr]placed{}, map[turnedCopy]relay.Expr{}}
	for e := range relay.PostOrder(a.main, false) {
		if e == relay.Expr(a.main) {
			break
		}
		v, err := p.expr(e)
		if err != nil {
			return nil, err
		}
		p.values[e] = v
	}
	return p.each(p.values[a.main.Body], p.plain)
}

func (p *placer) expr(e relay.Expr) (placed, error) {
	switch e := e.(type) {
	case *relay.Tuple:
		v := placed{fields: make([]placed, len(e.Fields))}
		for i, f := range e.Fields {
			v.fields[i] = p.values[f]
		}
		return v, nil
	case *relay.TupleGet:
		t := p.values[e.Tuple]
		if t.fields != nil {
			return t.fields[e.Index], nil
		}
		g, err := relay.NewTupleGet(t.expr, e.Index, e.Pos())
		return placed{expr: g}, err
	case *relay.Call:
		if e.Op != nil {
			return p.call(p.of[e])
		}
	case *relay.Var, *relay.Constant, *relay.Function:
		return placed{expr: e}, nil
	}
	return p.rebuilt(e)
}

// rebuilt is e over operands as the model has them.
func (p *placer) rebuilt(e relay.Expr) (placed, error) {
	done := map[relay.Expr]relay.Expr{}
	for _, op := range relay.Operands(e) {
		plain, err := p.each(p.values[op], p.plain)
		if err != nil {
			return placed{}, err
		}
		done[op] = plain
	}
	out, err := relay.Rebuild(e, done)
	return placed{expr: out}, err
}

// each applies f to a value, or to the fields of a tuple.
func (p *placer) each(v placed, f func(v placed) (relay.Expr, error)) (relay.Expr, error) {
	if v.fields == nil {
		return f(v)
	}
	list := make([]relay.Expr, len(v.fields))
	for i, field := range v.fields {
		e, err := p.each(field, f)
		if err != nil {
			return nil, err
		}
		list[i] = e
	}
	var pos diag.Pos
	if len(list) > 0 {
		pos = list[0].Pos()
	}
	return relay.NewTuple(list, pos), nil
}

// plain returns a tensor in the order and the type that it has in the model.
func (p *placer) plain(v placed) (relay.Expr, error) {
	e, err := p.turned(v, nil)
	if err != nil {
		return nil, err
	}
	return p.typed(placed{expr: e, half: v.half}, wide)
}

// turned returns a tensor with its axes in order at.
func (p *placer) turned(v placed, at []int) (relay.Expr, error) {
	t := relay.Tensor(v.expr)
	if t == nil || sameOrder(v.at, at, len(t.Shape)) {
		return v.expr, nil
	}
	axes := turn(v.at, at, len(t.Shape))
	key := turnedCopy{v.expr, fmt.Sprint(axes)}
	if e := p.copies[key]; e != nil {
		return e, nil
	}
	name, attrs := "transpose", any(&relay.TransposeAttrs{Axes: axes})
	if onlyUnitsMove(axes, t.Shape) {
		shape := make(tensor.Shape, len(axes))
		for i, axis := range axes {
			shape[i] = t.Shape[axis]
		}
		name, attrs = "reshape", &relay.ReshapeAttrs{NewShape: shape}
	}
	e, err := p.op(name, attrs, v.expr.Pos(), v.expr)
	p.copies[key] = e
	return e, err
}

// typed returns a tensor in the type that a kind of reader takes; one that is not float32 in the model stays as it is.
func (p *placer) typed(v placed, k kind) (relay.Expr, error) {
	t := relay.Tensor(v.expr)
	switch {
	case t == nil:
	case v.half && k == wide:
		return p.cast(v.expr, tensor.Float32)
	case !v.half && k == half && t.DType == tensor.Float32:
		if c, ok := v.expr.(*relay.Constant); ok {
			return p.narrow(c).constant, nil
		}
		return p.cast(v.expr, p.o.Precision.Store)
	}
	return v.expr, nil
}

func (p *placer) cast(e relay.Expr, d tensor.DType) (relay.Expr, error) {
	attrs := p.o.Ops.Lookup("cast").NewAttrs().(*relay.CastAttrs)
	attrs.DType = d
	return p.op("cast", attrs, e.Pos(), e)
}

func (p *placer) op(name string, attrs any, pos diag.Pos, args ...relay.Expr) (relay.Expr, error) {
	return relay.NewCall(p.o.Ops.Lookup(name), args, attrs, pos)
}

// call places an operator.
func (p *placer) call(c *choice) (placed, error) {
	args := make([]relay.Expr, len(c.call.Args))
	for i := range args {
		var err error
		if args[i], err = p.operand(c, i); err != nil {
			return placed{}, err
		}
	}
	if c.how == turning {
		return placed{expr: args[0], at: c.label.out, half: c.label.store != tensor.Invalid}, nil
	}
	attrs, err := p.attrs(c, args)
	if err != nil {
		return placed{}, err
	}
	var out relay.Expr = c.call
	if attrs != c.call.Attrs || !slices.Equal(args, c.call.Args) {
		if out, err = relay.NewCall(c.call.Op, args, attrs, c.call.Pos()); err != nil {
			return placed{}, err
		}
	}
	return p.result(c, out)
}

// result is what an operator made, in the type in which it is to be kept.
func (p *placer) result(c *choice, out relay.Expr) (placed, error) {
	v := placed{expr: out, at: c.label.out, half: c.label.store != tensor.Invalid}
	t, tuple := out.Type().(*relay.TupleType)
	if !tuple {
		var err error
		if v.half && relay.Tensor(out).DType == tensor.Float32 {
			v.expr, err = p.cast(out, c.label.store)
		}
		return v, err
	}
	all := placed{}
	for i := range t.Fields {
		g, err := relay.NewTupleGet(out, i, c.call.Pos())
		if err != nil {
			return placed{}, err
		}
		all.fields = append(all.fields, placed{expr: g, at: v.at, half: v.half})
	}
	return all, nil
}

// operand returns operand i of an operator in the order and the type in which it takes it.
func (p *placer) operand(c *choice, i int) (relay.Expr, error) {
	n := slices.IndexFunc(c.reads, func(r read) bool { return r.arg == i })
	if n < 0 { // an empty tuple
		return c.call.Args[i], nil
	}
	at, k := c.takes(c.label, n), c.takesKind(i)
	return p.each(p.values[c.call.Args[i]], func(v placed) (relay.Expr, error) {
		_, constant := v.expr.(*relay.Constant)
		e, err := v.expr, error(nil)
		if constant { // rounded once, then copied
			e, err = p.typed(v, k)
		}
		if err == nil {
			e, err = p.turned(placed{expr: e, at: v.at}, at)
		}
		if err == nil && c.how == elementwise && at == nil && c.label.at != nil && !c.takesVector(n) {
			e, err = p.raised(e, c.label.at)
		}
		if err == nil && !constant {
			e, err = p.typed(placed{expr: e, half: v.half}, k)
		}
		return e, err
	})
}

// raised gives an operand of fewer axes leading ones, and then the order of the others. One of a single element needs none.
func (p *placer) raised(e relay.Expr, at []int) (relay.Expr, error) {
	t := relay.Tensor(e)
	if t.Shape.Elems() == 1 && len(t.Shape) <= 1 {
		return e, nil
	}
	more, err := p.op("reshape", &relay.ReshapeAttrs{NewShape: raised(t.Shape, len(at))}, e.Pos(), e)
	if err != nil {
		return nil, err
	}
	return p.turned(placed{expr: more}, at)
}

// takesKind returns in which type an operator takes operand i, if that is float32 in the model.
func (c *choice) takesKind(i int) kind {
	switch {
	case c.keeping() == follow && c.label.store != tensor.Invalid:
		return half
	case c.product() && i == 1 && c.label.weight != tensor.Invalid:
		return half
	case c.product():
		return either
	}
	return wide
}

// attrs returns the attributes of an operator with its label, and replaces operands that are packed or turned for it.
func (p *placer) attrs(c *choice, args []relay.Expr) (any, error) {
	attrs, at := c.call.Attrs, c.label.at
	var err error
	switch c.how {
	case byCandidate:
		attrs, err = p.packed(c, args)
	case exciting:
		return p.excited(c, args)
	case following:
		if at != nil {
			attrs, _, _ = followers[c.call.Op.Name](c.call, at)
		}
	case elementwise:
		if at != nil {
			attrs = turnedAxis(attrs, at)
		}
	}
	if err == nil && c.product() && slices.ContainsFunc(args, func(e relay.Expr) bool { return narrower(e, c.e) }) {
		attrs = inFloat32(attrs)
	}
	return attrs, err
}

// turnedAxis returns the attributes of an elementwise operator whose data gets order at. An axis that the data does not have
// stays: then the operands are of one element.
func turnedAxis(attrs any, at []int) any {
	axis, ok := axisOf(attrs)
	if axis = relay.NormalAxis(axis, len(at)); !ok || axis < 0 || axis >= len(at) {
		return attrs
	}
	switch a := attrs.(type) {
	case *relay.QuantizeAttrs:
		n := *a
		n.Axis = at[axis]
		return &n
	case *relay.DequantizeAttrs:
		n := *a
		n.Axis = at[axis]
		return &n
	}
	return &relay.AxisAttrs{Axis: at[axis]}
}

// narrower reports whether a tensor of float32 in the model has operand e in half precision.
func narrower(e, of relay.Expr) bool {
	t := relay.Tensor(e)
	return is32(of) && t != nil && t.DType != tensor.Float32
}

// inFloat32 returns the attributes of a product whose result is float32 whatever its operands are.
func inFloat32(attrs any) any {
	switch a := attrs.(type) {
	case *relay.ConvAttrs:
		n := *a
		n.OutDType = tensor.Float32
		return &n
	case *relay.ConvTransposeAttrs:
		n := *a
		n.OutDType = tensor.Float32
		return &n
	case *relay.DenseAttrs:
		n := *a
		n.OutDType = tensor.Float32
		return &n
	case *relay.MatmulAttrs:
		n := *a
		n.OutDType = tensor.Float32
		return &n
	}
	return attrs
}

// packed returns the attributes of the candidate taken; its weight becomes a copy in the candidate's layout.
func (p *placer) packed(c *choice, args []relay.Expr) (any, error) {
	k, from := c.label.pick, weightLayout(c.call)
	var attrs any
	switch a := c.call.Attrs.(type) {
	case *relay.ConvAttrs:
		n := *a
		n.DataLayout, n.KernelLayout, n.OutLayout = k.Data, k.Kernel, k.Out
		n.Channels = tensor.MustLayout(from).Extent(relay.Tensor(c.call.Args[1]).Shape, 'O')
		attrs = &n
	case *relay.ConvTransposeAttrs:
		n := *a
		n.DataLayout, n.KernelLayout, n.OutLayout = k.Data, k.Kernel, k.Out
		attrs = &n
	case *relay.DenseAttrs:
		n := *a
		n.WeightLayout, n.Units = k.Kernel, tensor.MustLayout(from).Extent(relay.Tensor(c.call.Args[1]).Shape, 'N')
		attrs = &n
	default:
		return nil, diag.Internal("assign", nodeName(c.call), "candidate %v of %s, which has no layouts", k, c.call.Op.Name)
	}
	var err error
	args[1], err = p.op("layout_transform", &relay.LayoutTransformAttrs{SrcLayout: from, DstLayout: k.Kernel}, c.call.Pos(), args[1])
	return attrs, err
}

// excited returns the attributes of squeeze-and-excite, and turns its two weights, so that their outputs are innermost and
// become lanes.
func (p *placer) excited(c *choice, args []relay.Expr) (any, error) {
	a := *c.call.Attrs.(*relay.SqueezeExciteAttrs)
	if c.label.at != nil {
		a.Layout, _ = relaid(a.Layout, c.label.at)
	}
	if a.WeightLayout == "IO" {
		return &a, nil
	}
	a.WeightLayout = "IO"
	for _, i := range []int{1, 3} {
		var err error
		if args[i], err = p.op("transpose", &relay.TransposeAttrs{Axes: []int{1, 0}}, c.call.Pos(), args[i]); err != nil {
			return nil, err
		}
	}
	return &a, nil
}
