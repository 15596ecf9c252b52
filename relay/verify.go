package relay

import (
	"maps"
	"slices"

	"github.com/texel-ml/texel/diag"
	"github.com/texel-ml/texel/tensor"
)

// Verify checks that a module is well formed: main exists and takes named tensors; every output has a name of its own, and a bounded one the output with its extent;
// every variable is bound once, around all its uses; no primitive function and no body of a loop reads variables of others; every constant
// has the data that its type needs; and the type of every node is the one that inference gives.
func Verify(m *Module) error { return VerifyOps(m, nil) }

// VerifyOps is Verify that also checks that every operator is a row of ops.
func VerifyOps(m *Module, ops *Table) error {
	main := m.Main()
	if main == nil {
		return invalid("module", "no function is named main")
	}
	names := map[string]bool{}
	for i, p := range main.Params {
		if p.Name == "" || names[p.Name] {
			return invalid("main", "parameter %d is named %q, wanted a name of its own", i, p.Name)
		}
		if Tensor(p) == nil {
			return invalid("main", "parameter %q has type %v, wanted a tensor", p.Name, p.Type())
		}
		names[p.Name] = true
	}
	for name := range m.Defaults {
		if !names[name] {
			return invalid("main", "default value for %q, which is no parameter", name)
		}
	}
	if err := verifyOutputs(main.Body.Type(), m.Outputs); err != nil {
		return err
	}
	if err := verifyExtents(main.Body.Type(), m); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(m.Funcs)) {
		if m.Funcs[name] == nil {
			return invalid(name, "function is missing")
		}
		if err := verifyFunction(name, m.Funcs[name], ops); err != nil {
			return err
		}
	}
	return nil
}

func invalid(node, format string, args ...any) *diag.Error {
	return diag.Internal("verify", node, format, args...)
}

func verifyOutputs(result Type, outputs []string) error {
	fields := []Type{result}
	if t, ok := result.(*TupleType); ok {
		fields = t.Fields
	}
	if len(fields) != len(outputs) {
		return invalid("main", "%d results, but %d output names %q", len(fields), len(outputs), outputs)
	}
	names := map[string]bool{}
	for i, f := range fields {
		if _, ok := f.(*TensorType); !ok {
			return invalid("main", "output %q has type %v, wanted a tensor", outputs[i], f)
		}
		if outputs[i] == "" || names[outputs[i]] {
			return invalid("main", "output %d is named %q, wanted a name of its own", i, outputs[i])
		}
		names[outputs[i]] = true
	}
	return nil
}

// verifyExtents checks that each bounded output has the axis, and the output that says how much of it is real.
func verifyExtents(result Type, m *Module) error {
	fields := []Type{result}
	if t, ok := result.(*TupleType); ok {
		fields = t.Fields
	}
	for _, name := range slices.Sorted(maps.Keys(m.Extents)) {
		e, at := m.Extents[name], slices.Index(m.Outputs, name)
		if at < 0 {
			return invalid("main", "extent of %q, which is no output", name)
		}
		if rank := len(fields[at].(*TensorType).Shape); e.Axis < 0 || e.Axis >= rank {
			return invalid("main", "extent of output %q along axis %d of %d", name, e.Axis, rank)
		}
		want := &TensorType{tensor.Shape{1}, tensor.Int64}
		if e.Output < 0 || e.Output >= len(fields) || !TypeEqual(fields[e.Output], want) {
			return invalid("main", "extent of output %q is output %d, wanted one of type %v", name, e.Output, want)
		}
	}
	return nil
}

func verifyFunction(name string, f *Function, ops *Table) error {
	s := newScopes(f, nil)
	if s.twice != nil {
		return invalid(s.twice.Name, "variable is bound more than once in %q", name).At(s.twice.Pos())
	}
	s.number()
	for _, r := range s.reads {
		at := s.bound[r.v]
		if at == nil || !within(r.at, at) {
			return invalid(r.v.Name, "variable is used where it is not bound, in %q", name).At(r.v.Pos())
		}
		if p := r.at.closed; p != nil && !within(at, p) {
			return invalid(r.v.Name, "a primitive function, or the body of a loop, in %q reads a variable that is not its parameter", name).At(r.v.Pos())
		}
	}
	for _, e := range s.order {
		if e.Type() == nil {
			return invalid(name, "a %T has no type", e).At(e.Pos())
		}
		switch e := e.(type) {
		case *Constant:
			if err := e.Value.Check(); err != nil {
				return invalid("constant", "constant %q", e.Name).By(err).At(e.Pos())
			}
		case *Call:
			if err := verifyCall(e, ops); err != nil {
				return err
			}
		}
		if err := verifyType(e); err != nil {
			return err
		}
	}
	return nil
}

func verifyCall(e *Call, ops *Table) error {
	switch {
	case (e.Op == nil) == (e.Fn == nil):
		return invalid("call", "a call applies either an operator or a function").At(e.Pos())
	case e.Op != nil && ops != nil && ops.Lookup(e.Op.Name) == nil:
		return invalid(e.Op.Name, "operator is not in the table").At(e.Pos())
	}
	return nil
}

// verifyType builds e anew over its operands and compares the types.
func verifyType(e Expr) error {
	var again Expr
	var err error
	switch e := e.(type) {
	case *Constant:
		again = NewConstant(e.Value, e.Name, e.Pos())
	case *Call:
		if e.Fn != nil {
			again, err = NewCallFn(e.Fn, e.Args, e.Pos())
		} else {
			again, err = NewCall(e.Op, e.Args, e.Attrs, e.Pos())
		}
	case *Tuple:
		again = NewTuple(e.Fields, e.Pos())
	case *TupleGet:
		again, err = NewTupleGet(e.Tuple, e.Index, e.Pos())
	case *Function:
		again = NewFunction(e.Params, e.Body, e.Primitive, e.Attrs, e.Pos())
	case *Let:
		if !TypeEqual(e.Var.Type(), e.Value.Type()) {
			return invalid(e.Var.Name, "variable of type %v is bound to %v", e.Var.Type(), e.Value.Type()).At(e.Pos())
		}
		again = NewLet(e.Var, e.Value, e.Body, e.Pos())
	case *If:
		again, err = NewIf(e.Cond, e.Then, e.Else, e.Pos())
	case *Loop:
		again, err = NewLoop(*e, e.Pos())
	default:
		return nil
	}
	if err != nil {
		return invalid("node", "a node is illegal").By(err).At(e.Pos())
	}
	if !TypeEqual(again.Type(), e.Type()) {
		return invalid("node", "a %T has type %v, inferred is %v", e, e.Type(), again.Type()).At(e.Pos())
	}
	return nil
}
