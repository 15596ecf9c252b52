// Package relay is the graph IR: an immutable graph of calls of operators on tensors.
//
// Nodes never change after construction and are shared by pointer: a node that is used twice is one node, so a
// function body is a directed acyclic graph, of up to 100,000 nodes and of any depth; no walk over it may recurse
// along arguments (use PostOrder and Rewrite). Every node carries its type from construction: NewCall infers it
// from the operator's row in the Table and refuses illegal operands.
package relay

import (
	"errors"
	"io"

	"github.com/texel-ml/texel/diag"
	"github.com/texel-ml/texel/tensor"
)

// Expr is a node: *Var, *Constant, *Call, *Tuple, *TupleGet, *Function, *Let, *If or *Loop.
type Expr interface {
	Type() Type
	Pos() diag.Pos
	isExpr()
}

type node struct {
	typ Type
	pos diag.Pos
}

func (n *node) Type() Type    { return n.typ }
func (n *node) Pos() diag.Pos { return n.pos }
func (*node) isExpr()         {}

// Var is a parameter of a function, or a name bound by a Let.
type Var struct {
	node
	Name string
}

// Constant is a tensor known at compile time. Its data may be mapped from the model's file.
type Constant struct {
	node
	Value *tensor.Tensor
	Name  string // the initialiser's name in the model, or ""
}

// Call applies an operator (Op set), or a function (Fn set: a *Function, such as a fused one, or a *Var).
type Call struct {
	node
	Op    *Op
	Fn    Expr
	Args  []Expr
	Attrs any // what Op.NewAttrs returns, or nil
}

// Tuple groups expressions.
type Tuple struct {
	node
	Fields []Expr
}

// TupleGet takes a field of a tuple.
type TupleGet struct {
	node
	Tuple Expr
	Index int
}

// Function is a function of the module, or a nested one. A fused function has Primitive set: it is lowered to
// kernels as a whole.
type Function struct {
	node
	Params    []*Var
	Body      Expr
	Primitive bool
	Attrs     map[string]string
}

// Let binds Var to Value in Body.
type Let struct {
	node
	Var   *Var
	Value Expr
	Body  Expr
}

// If takes one of two branches by a scalar bool.
type If struct {
	node
	Cond, Then, Else Expr
}

// Module is a set of functions; "main" is the model. Output i of main's result (the fields of a tuple, or the one
// tensor) is named Outputs[i].
type Module struct {
	Funcs   map[string]*Function
	Outputs []string
	Meta    map[string]string // the model's metadata, for example producer or labels

	// Defaults are the values of parameters of main that a caller may leave out, by the parameter's name.
	Defaults map[string]*tensor.Tensor
	// Batch names the dimension along axis 0 of inputs that the model leaves open and the importer took for a batch: "?" where
	// it has no name, "" where there is none.
	Batch string
	// Extents are the outputs that have room for more than they hold, by name.
	Extents map[string]Extent
	// Backing holds the files that constants are views of.
	Backing []io.Closer
}

// Extent says that only a part of an output is real: along Axis, as many elements as output number Output, an int64
// of shape (1,), says when the model has run.
type Extent struct {
	Axis   int `json:"axis"`
	Output int `json:"output"`
}

// Close releases the files behind the module's constants. Neither m nor a module made from it may be used
// afterwards; a module without files needs no Close.
func (m *Module) Close() error {
	var errs []error
	for _, c := range m.Backing {
		errs = append(errs, c.Close())
	}
	m.Backing = nil
	return errors.Join(errs...)
}

// Main returns the entry function.
func (m *Module) Main() *Function { return m.Funcs["main"] }

// WithMain returns a copy of m whose entry function is f.
func (m *Module) WithMain(f *Function) *Module {
	c := *m
	c.Funcs = make(map[string]*Function, len(m.Funcs))
	for name, fn := range m.Funcs {
		c.Funcs[name] = fn
	}
	c.Funcs["main"] = f
	return &c
}

// NewVar returns a variable.
func NewVar(name string, t Type, pos diag.Pos) *Var { return &Var{node{t, pos}, name} }

// NewConstant returns a constant with the value's type.
func NewConstant(v *tensor.Tensor, name string, pos diag.Pos) *Constant {
	return &Constant{node{&TensorType{v.Shape, v.DType}, pos}, v, name}
}

// NewTuple groups fields.
func NewTuple(fields []Expr, pos diag.Pos) *Tuple {
	types := make([]Type, len(fields))
	for i, f := range fields {
		types[i] = f.Type()
	}
	return &Tuple{node{&TupleType{types}, pos}, fields}
}

// NewTupleGet takes field index of tuple.
func NewTupleGet(tuple Expr, index int, pos diag.Pos) (*TupleGet, error) {
	t, ok := tuple.Type().(*TupleType)
	if !ok || index < 0 || index >= len(t.Fields) {
		return nil, diag.Invalid("infer-type", "tuple", "field %d of %v does not exist", index, tuple.Type()).At(pos)
	}
	return &TupleGet{node{t.Fields[index], pos}, tuple, index}, nil
}

// NewFunction returns a function; its type follows from parameters and body.
func NewFunction(params []*Var, body Expr, primitive bool, attrs map[string]string, pos diag.Pos) *Function {
	types := make([]Type, len(params))
	for i, p := range params {
		types[i] = p.Type()
	}
	return &Function{node{&FuncType{types, body.Type()}, pos}, params, body, primitive, attrs}
}

// NewLet binds v to value in body.
func NewLet(v *Var, value, body Expr, pos diag.Pos) *Let {
	return &Let{node{body.Type(), pos}, v, value, body}
}

// NewIf returns a branch; the condition is a bool of shape (), and both sides must have one type.
func NewIf(cond, then, els Expr, pos diag.Pos) (*If, error) {
	if !isScalar(cond, tensor.Bool) {
		return nil, diag.Invalid("infer-type", "if", "condition of type %v, wanted a bool of shape ()", cond.Type()).At(pos)
	}
	if !TypeEqual(then.Type(), els.Type()) {
		return nil, diag.Invalid("infer-type", "if", "branches differ: %v and %v", then.Type(), els.Type()).At(pos)
	}
	return &If{node{then.Type(), pos}, cond, then, els}, nil
}

// NewCall applies op to args and infers the result's type. attrs is what op.NewAttrs returns, filled in; nil takes
// the defaults.
func NewCall(op *Op, args []Expr, attrs any, pos diag.Pos) (*Call, error) {
	if attrs == nil && op.NewAttrs != nil {
		attrs = op.NewAttrs()
	}
	types := make([]Type, len(args))
	for i, a := range args {
		types[i] = a.Type()
	}
	if len(args) != len(op.Args) {
		return nil, diag.Invalid("infer-type", op.Name, "wants %d operands %v, found %d", len(op.Args), op.Args, len(args)).At(pos)
	}
	t, err := op.Infer(&Site{Op: op, Types: types, Args: args, Attrs: attrs})
	if err != nil {
		if e, ok := err.(*diag.Error); ok && e.Pos == (diag.Pos{}) {
			return nil, e.At(pos)
		}
		return nil, err
	}
	return &Call{node{t, pos}, op, nil, args, attrs}, nil
}

// NewCallFn applies a function.
func NewCallFn(fn Expr, args []Expr, pos diag.Pos) (*Call, error) {
	t, ok := fn.Type().(*FuncType)
	if !ok || len(t.Params) != len(args) {
		return nil, diag.Invalid("infer-type", "call", "%v cannot be applied to %d operands", fn.Type(), len(args)).At(pos)
	}
	for i, a := range args {
		if !TypeEqual(a.Type(), t.Params[i]) {
			return nil, diag.Invalid("infer-type", "call", "operand %d has type %v, wanted %v", i, a.Type(), t.Params[i]).At(pos)
		}
	}
	return &Call{node{t.Result, pos}, nil, fn, args, nil}, nil
}

// Tensor returns the tensor type of e, or nil when e is not a tensor.
func Tensor(e Expr) *TensorType {
	t, _ := e.Type().(*TensorType)
	return t
}
