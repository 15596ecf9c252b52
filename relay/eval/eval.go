// Package eval computes what a relay function means: every operator by the float64 reference of its row, without
// rounding in between (see relay.Core). It is the oracle of the compiled code and the tool of constant folding, simple
// before fast.
//
// Evaluation does not recurse, whatever the depth of the graph. A node is computed once for each call of the function
// that it belongs to, and only when it is needed: of an If the branch that is taken. A value is dropped after its last
// use.
package eval

import (
	"context"

	"github.com/texel-ml/texel/diag"
	"github.com/texel-ml/texel/relay"
	"github.com/texel-ml/texel/tensor"
)

const step = "eval"

// Options choose how to evaluate. The zero value is right.
type Options struct {
	// Observe is called with each node that is computed and its value, operands first; parameters and function
	// literals are left out. The value must not be changed. An error ends the evaluation.
	Observe func(e relay.Expr, v relay.Value) error
}

// Run applies fn to inputs and returns its result: a *tensor.Wide, or relay.Values for a tuple. It takes inputs as
// Widen makes them and shares them with the result where an operator passes its operand through.
func Run(ctx context.Context, fn *relay.Function, inputs []relay.Value) (relay.Value, error) {
	return Options{}.Run(ctx, fn, inputs)
}

// Run is the package's Run with options.
func (o Options) Run(ctx context.Context, fn *relay.Function, inputs []relay.Value) (relay.Value, error) {
	if len(inputs) != len(fn.Params) {
		return nil, diag.Invalid(step, "inputs", "function takes %d inputs, found %d", len(fn.Params), len(inputs))
	}
	for i, p := range fn.Params {
		if err := check(inputs[i], p.Type()); err != nil {
			return nil, diag.Invalid(step, p.Name, "input does not have type %v", p.Type()).By(err)
		}
	}
	m := &machine{ctx: ctx, observe: o.Observe, plans: map[*relay.Function]*plan{}}
	if err := m.enter(&closure{fn: fn}, inputs, nil); err != nil {
		return nil, err
	}
	return m.run()
}

// Tensors is Run on host arrays: it widens the inputs and rounds the results to their element types, a tuple's fields
// in order.
func Tensors(ctx context.Context, fn *relay.Function, inputs []*tensor.Tensor) ([]*tensor.Tensor, error) {
	values := make([]relay.Value, len(inputs))
	for i, t := range inputs {
		if err := t.Check(); err != nil {
			return nil, diag.Invalid(step, "inputs", "input %d", i).By(err)
		}
		values[i] = tensor.Widen(t)
	}
	v, err := Run(ctx, fn, values)
	if err != nil {
		return nil, err
	}
	var out []*tensor.Tensor
	todo := []relay.Value{v}
	for len(todo) > 0 {
		v, todo = todo[0], todo[1:]
		switch v := v.(type) {
		case *tensor.Wide:
			out = append(out, v.Narrow())
		case relay.Values:
			todo = append(append([]relay.Value{}, v...), todo...)
		default:
			return nil, diag.Unsupported(step, "result", "a function is no result")
		}
	}
	return out, nil
}

// check returns an error when v is no value of type t.
func check(v relay.Value, t relay.Type) error {
	switch t := t.(type) {
	case *relay.TensorType:
		w, ok := v.(*tensor.Wide)
		if !ok {
			return diag.Invalid(step, "", "found %T, wanted a tensor", v)
		}
		fits := len(w.Shape) == len(t.Shape) && w.DType == t.DType
		for i := range w.Shape {
			fits = fits && (w.Shape[i] == t.Shape[i] || t.Shape[i] == tensor.Unknown)
		}
		if n := w.Shape.Elems(); !fits || n < 0 || w.DType.IsFloat() && len(w.F) != n || !w.DType.IsFloat() && len(w.I) != n {
			return diag.Invalid(step, "", "found %v of %v with %d elements", w.Shape, w.DType, len(w.F)+len(w.I))
		}
	case *relay.TupleType:
		list, ok := v.(relay.Values)
		if !ok || len(list) != len(t.Fields) {
			return diag.Invalid(step, "", "found %T, wanted a tuple of %d", v, len(t.Fields))
		}
		for i, f := range t.Fields { // tuples nest no deeper than their type's text
			if err := check(list[i], f); err != nil {
				return err
			}
		}
	case *relay.FuncType:
		if _, ok := v.(*closure); !ok {
			return diag.Invalid(step, "", "found %T, wanted a function", v)
		}
	}
	return nil
}
