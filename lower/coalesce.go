package lower

import (
	"github.com/texel-ml/texel/relay"
	"github.com/texel-ml/texel/tensor"
)

// coalesce returns a function of elementwise and broadcast operators in which neighbouring axes are one wherever every
// parameter has both or neither: x (1, 56, 56, 64) + b (64) becomes x (3136, 64) + b (64), and a function of parameters of
// one shape has one axis. The memory is the same, and the loops are as long as they can be. A function of another form is
// returned as it is.
func coalesce(fn *relay.Function) *relay.Function {
	out := relay.Tensor(fn.Body)
	if out == nil || len(out.Shape) < 2 || out.Shape.Elems() == 0 {
		return fn
	}
	for e := range relay.PostOrder(fn.Body, false) {
		switch e := e.(type) {
		case *relay.Call:
			if e.Op == nil || e.Op.Class > relay.Broadcast || e.Op.Lower != "elementwise" || !axisFree(e) {
				return fn
			}
		case *relay.Var, *relay.Constant:
		default:
			return fn
		}
	}
	groups := joinedAxes(fn.Params, out.Shape)
	if groups == nil {
		return fn
	}
	to := map[relay.Expr]relay.Expr{}
	params := make([]*relay.Var, len(fn.Params))
	for i, p := range fn.Params {
		t := relay.Tensor(p)
		params[i] = relay.NewVar(p.Name, &relay.TensorType{Shape: groups.shape(t.Shape), DType: t.DType}, p.Pos())
		to[p] = params[i]
	}
	body, err := relay.Rewrite(fn.Body, func(old, rebuilt relay.Expr) (relay.Expr, error) {
		if v, ok := to[old]; ok {
			return v, nil
		}
		if c, ok := rebuilt.(*relay.Constant); ok && c.Value.Elems() == 1 {
			return relay.NewConstant(&tensor.Tensor{DType: c.Value.DType, Shape: tensor.Shape{}, Data: c.Value.Data}, c.Name, c.Pos()), nil
		}
		return rebuilt, nil
	})
	if err != nil || relay.Tensor(body) == nil || relay.Tensor(body).Shape.Elems() != out.Shape.Elems() {
		return fn
	}
	return relay.NewFunction(params, body, fn.Primitive, fn.Attrs, fn.Pos())
}

// axisFree reports whether an elementwise operator treats all axes alike.
func axisFree(c *relay.Call) bool {
	switch c.Attrs.(type) {
	case *relay.AxisAttrs, *relay.TriluAttrs:
		return false
	case *relay.QuantizeAttrs, *relay.DequantizeAttrs:
		return relay.Tensor(c.Args[1]).Shape.Elems() == 1 && relay.Tensor(c.Args[2]).Shape.Elems() == 1
	}
	return true
}

// axisGroups are ranges of axes of the full shape that become one axis each: group g ends before axis ends[g].
type axisGroups struct {
	full tensor.Shape
	ends []int
}

// joinedAxes returns the groups of axes that may be one, or nil when none may.
func joinedAxes(params []*relay.Var, full tensor.Shape) *axisGroups {
	g := &axisGroups{full: full}
	last := -1 // the last axis of the group that is longer than 1
	for axis, extent := range full {
		for _, p := range params {
			t := relay.Tensor(p)
			if t == nil || len(t.Shape) > len(full) {
				return nil
			}
			if last >= 0 && extent != 1 && spans(t.Shape, full, last) != spans(t.Shape, full, axis) {
				g.ends = append(g.ends, axis)
				break
			}
		}
		if extent != 1 {
			last = axis
		}
	}
	g.ends = append(g.ends, len(full))
	if len(g.ends) == len(full) {
		return nil
	}
	return g
}

// spans reports whether a tensor of the given shape, aligned at the last axis, has an axis of the full shape.
func spans(shape, full tensor.Shape, axis int) bool {
	at := axis - (len(full) - len(shape))
	return at >= 0 && shape[at] == full[axis]
}

// shape returns the shape of a parameter after its axes are joined; leading axes that it does not have are left out.
func (g *axisGroups) shape(shape tensor.Shape) tensor.Shape {
	out := tensor.Shape{}
	begin := 0
	for _, end := range g.ends {
		n := 1
		for axis := begin; axis < end; axis++ {
			if at := axis - (len(g.full) - len(shape)); at >= 0 {
				n *= shape[at]
			}
		}
		out = append(out, n)
		begin = end
	}
	for len(out) > 0 && out[0] == 1 && len(out) > 1 {
		out = out[1:]
	}
	if len(shape) == 0 {
		return tensor.Shape{}
	}
	return out
}
