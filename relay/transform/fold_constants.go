package transform

import (
	"context"

	"github.com/texel-ml/texel/diag"
	"github.com/texel-ml/texel/relay"
	"github.com/texel-ml/texel/tensor"
)

const (
	// foldGrowth bounds the bytes that folding one call may add to the module beyond those of its operands.
	foldGrowth = 64 << 10
	// foldTotal bounds what all calls that are no weights may add together.
	foldTotal = 16 << 20
	// foldWeight bounds a constant that is made because a heavy operator reads it as weights.
	foldWeight = 1 << 30
)

// FoldConstants evaluates calls whose operands are constants, with the operators' float64 reference. What would make the
// module larger by more than 64 KiB, or by more than 16 MiB together with the others, stays a call, as tile and full of
// many elements do. Weights of heavy operators, which must be packed, are made up to 1 GiB.
func FoldConstants(_ context.Context, m *relay.Module, o *Options) (*relay.Module, error) {
	weights := map[relay.Expr]bool{}
	for e := range relay.PostOrder(m.Main(), false) {
		if c, ok := e.(*relay.Call); ok && c.Op != nil && c.Op.Class == relay.OutFusable {
			for _, a := range c.Args[1:] {
				weights[a] = true
			}
		}
	}
	return rewriteExpr("fold-constants", m, o, func(r *rewriter, e relay.Expr) (relay.Expr, error) {
		switch e := e.(type) {
		case *relay.Call:
			if e.Op != nil && relay.Tensor(e) != nil {
				return r.fold(e, weights[r.old])
			}
		case *relay.TupleGet:
			c, ok := e.Tuple.(*relay.Call)
			if !ok || c.Op == nil || !r.mayFold(relay.Tensor(e), c, weights[r.old]) {
				return nil, nil
			}
			if list, ok := r.evaluate(c).(relay.Values); ok {
				return r.constant(list[e.Index].(*tensor.Wide)), nil
			}
		}
		return nil, nil
	})
}

// mayFold reports whether a constant of type t, which a call of constants gives, is not too large to be made.
func (r *rewriter) mayFold(t *relay.TensorType, c *relay.Call, weight bool) bool {
	operands, ok := constants(c)
	if t == nil || !ok {
		return false
	}
	size, have := t.DType.Bytes(t.Shape.Elems()), 0
	for _, k := range operands {
		have += len(k.Value.Data)
	}
	grows := max(0, size-have)
	switch {
	case weight && size <= foldWeight:
		return true
	case grows > foldGrowth:
		r.o.Notes.Add(diag.Unfused, r.step, r.pos.Node, "%s of constants stays: its %d bytes are more than %d", c.Op.Name, size, have+foldGrowth)
		return false
	case r.grown+grows > foldTotal:
		r.o.Notes.Add(diag.Unfused, r.step, r.pos.Node, "%s of constants stays: others made the module larger by %d bytes, %d is the most", c.Op.Name, r.grown, foldTotal)
		return false
	}
	r.grown += grows
	return true
}

// fold returns the constant that c is, or nil.
func (r *rewriter) fold(c *relay.Call, weight bool) (relay.Expr, error) {
	t := relay.Tensor(c)
	if !r.mayFold(t, c, weight) {
		return nil, nil
	}
	operands, _ := constants(c)
	switch a := c.Attrs.(type) {
	case *relay.ReshapeAttrs: // the same bytes
		return relay.NewConstant(&tensor.Tensor{DType: t.DType, Shape: t.Shape, Data: operands[0].Value.Data}, operands[0].Name, r.pos), nil
	case *relay.LayoutTransformAttrs:
		if a.Channels == 0 {
			return r.relayout(operands[0], a.SrcLayout, a.DstLayout)
		}
	case *relay.TransposeAttrs:
		if from := "ABCDEFGH"; len(t.Shape) > 0 && len(t.Shape) <= len(from) && t.DType.Bits() >= 8 {
			to := make([]byte, len(t.Shape))
			for i := range to {
				to[i] = from[transposed(a, i, len(to))]
			}
			return r.relayout(operands[0], from[:len(to)], string(to))
		}
	case *relay.FullAttrs:
		if c.Op.Name == "full" && t.DType.Bits() >= 8 {
			return relay.NewConstant(filled(operands[0].Value, t), "", r.pos), nil
		}
	}
	if w, ok := r.evaluate(c).(*tensor.Wide); ok {
		return r.constant(w), nil
	}
	return nil, nil
}

// constants returns the operands of c, fields of tuples one by one, when all of them are constants.
func constants(c *relay.Call) ([]*relay.Constant, bool) {
	var list []*relay.Constant
	for _, a := range c.Args {
		fields := []relay.Expr{a}
		if t, ok := a.(*relay.Tuple); ok {
			fields = t.Fields
		}
		for _, f := range fields {
			k, ok := f.(*relay.Constant)
			if !ok {
				return nil, false
			}
			list = append(list, k)
		}
	}
	return list, true
}

// evaluate computes a call of constants, or gives nil.
func (r *rewriter) evaluate(c *relay.Call) relay.Value {
	if _, ok := constants(c); !ok || c.Op.Eval == nil {
		return nil
	}
	args := make([]relay.Value, len(c.Args))
	for i, a := range c.Args {
		switch a := a.(type) {
		case *relay.Constant:
			args[i] = tensor.Widen(a.Value)
		case *relay.Tuple:
			list := make(relay.Values, len(a.Fields))
			for k, f := range a.Fields {
				list[k] = tensor.Widen(f.(*relay.Constant).Value)
			}
			args[i] = list
		}
	}
	v, err := c.Op.Eval(&relay.EvalSite{Op: c.Op, Args: args, Attrs: c.Attrs, Type: c.Type()})
	if err != nil {
		return nil // it fails when the model runs, and only if it is reached
	}
	return v
}

// relayout moves the bytes of a constant to another layout.
func (r *rewriter) relayout(k *relay.Constant, src, dst string) (relay.Expr, error) {
	from, err := tensor.ParseLayout(src)
	if err != nil {
		return nil, err
	}
	to, err := tensor.ParseLayout(dst)
	if err != nil {
		return nil, err
	}
	t, err := tensor.Relayout(k.Value, from, to)
	if err != nil {
		return nil, diag.Internal(r.step, "layout_transform", "cannot move a constant").By(err)
	}
	return relay.NewConstant(t, k.Name, r.pos), nil
}

// filled repeats the one element of v.
func filled(v *tensor.Tensor, t *relay.TensorType) *tensor.Tensor {
	out := tensor.New(t.DType, t.Shape)
	n := copy(out.Data, v.Data)
	for n > 0 && n < len(out.Data) {
		n += copy(out.Data[n:], out.Data[:n])
	}
	return out
}
