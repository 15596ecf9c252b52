package onnx

import (
	"fmt"

	"github.com/texel-ml/texel/relay"
	"github.com/texel-ml/texel/tensor"
)

const (
	// foldElems bounds the result of a call that is folded as soon as it is made; larger known results stay calls,
	// for the pass fold-constants to weigh.
	foldElems = 4096
	// evaluateElems bounds each value of a computation that must be known to import.
	evaluateElems = 1 << 20
)

// NeedsValue is the cause of the error for a model in which an input decides something that must be known to compile,
// such as a shape. Giving that input in Options.Values helps.
type NeedsValue struct{ Input string }

// Error names the input.
func (n *NeedsValue) Error() string { return fmt.Sprintf("it depends on input %q", n.Input) }

// fold returns the constant that e is, when its operands are constants and it is small.
func (im *importer) fold(e relay.Expr) relay.Expr {
	var args []relay.Expr
	switch e := e.(type) {
	case *relay.Call:
		args = e.Args
	case *relay.TupleGet:
		if call, ok := e.Tuple.(*relay.Call); ok {
			args = call.Args
		} else if t, ok := e.Tuple.(*relay.Tuple); ok && e.Index < len(t.Fields) {
			return t.Fields[e.Index]
		}
	}
	t := relay.Tensor(e)
	if t == nil || elems(t) > foldElems {
		return e
	}
	for _, a := range args {
		if t, ok := a.(*relay.Tuple); ok {
			for _, f := range t.Fields {
				if !smallConstant(f) {
					return e
				}
			}
		} else if !smallConstant(a) {
			return e
		}
	}
	v, err := im.evaluate(e)
	w, ok := v.(*tensor.Wide)
	if err != nil || !ok {
		return e
	}
	return relay.NewConstant(w.Narrow(), "", e.Pos())
}

func smallConstant(e relay.Expr) bool {
	c, ok := e.(*relay.Constant)
	return ok && elems(relay.Tensor(c)) <= 16*foldElems
}

// elems is the number of elements, huge when it is not known.
func elems(t *relay.TensorType) int {
	if n := t.Shape.Elems(); n >= 0 {
		return n
	}
	return 1 << 62
}

// evaluate computes e with the operators' own float64 reference. It fails with a *NeedsValue when e needs an input.
func (im *importer) evaluate(e relay.Expr) (relay.Value, error) {
	if v, ok := im.static[e]; ok {
		return v, nil
	}
	for x := range relay.PostOrder(e, false) {
		if _, ok := im.static[x]; ok {
			continue
		}
		switch x := x.(type) {
		case *relay.Var:
			if err := im.unknown[x]; err != nil {
				return nil, err
			}
			return nil, &NeedsValue{x.Name}
		case *relay.Call:
			if t := relay.Tensor(x); t != nil && elems(t) > evaluateElems {
				return nil, fmt.Errorf("%s gives %v, more than %d elements", x.Op.Name, t, evaluateElems)
			}
		}
	}
	for x := range relay.PostOrder(e, false) {
		if _, ok := im.static[x]; ok {
			continue
		}
		v, err := im.apply(x)
		if err != nil {
			return nil, err
		}
		im.static[x] = v
	}
	return im.static[e], nil
}

// number returns the input that an extent needs, when that is a single number, which a user may know before the model runs.
func (im *importer) number(e relay.Expr) *NeedsValue {
	_, err := im.evaluate(e)
	d, ok := err.(*NeedsValue)
	for x := range relay.PostOrder(e, false) {
		if v, isVar := x.(*relay.Var); isVar && ok && (v.Name != d.Input || elems(relay.Tensor(v)) != 1) {
			return nil
		}
	}
	return d
}

// apply computes one node from its operands' values.
func (im *importer) apply(e relay.Expr) (relay.Value, error) {
	switch e := e.(type) {
	case *relay.Constant:
		return tensor.Widen(e.Value), nil
	case *relay.Tuple:
		list := make(relay.Values, len(e.Fields))
		for i, f := range e.Fields {
			list[i] = im.static[f]
		}
		return list, nil
	case *relay.TupleGet:
		return im.static[e.Tuple].(relay.Values)[e.Index], nil
	case *relay.Call:
		if e.Op == nil || e.Op.Eval == nil {
			return nil, fmt.Errorf("a call that has no reference")
		}
		args := make([]relay.Value, len(e.Args))
		for i, a := range e.Args {
			args[i] = im.static[a]
		}
		return e.Op.Eval(&relay.EvalSite{Op: e.Op, Args: args, Attrs: e.Attrs, Type: e.Type()})
	}
	return nil, fmt.Errorf("%T has no value when importing", e)
}
