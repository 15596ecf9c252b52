// Package lower turns fused functions of the graph into scheduled loop functions. Each operator family has one file
// that writes its definition as tensor expressions; each class of target has one that shapes the loops. Both are
// tables of rows, to which callers may add.
package lower

import (
	"fmt"
	"slices"

	"github.com/texel-ml/texel/diag"
	"github.com/texel-ml/texel/relay"
	"github.com/texel-ml/texel/schedule"
	"github.com/texel-ml/texel/schedule/te"
	"github.com/texel-ml/texel/target"
	"github.com/texel-ml/texel/tensor"
	"github.com/texel-ml/texel/tir"
)

// Result is a lowered function. Parameters are those of the fused function in order, then the tables that the lowering
// made, then one buffer for each tensor of its result.
type Result struct {
	Func   *tir.Func
	Trace  *schedule.Trace
	Rule   string                         // the schedule rule that was taken
	Consts map[*tir.Buffer]*tensor.Tensor // the contents of parameters that are tables
}

// Tables holds the rows that Func uses.
type Tables struct {
	Ops        map[string]OpRule    // by the Lower key of an operator's row
	Schedules  []ScheduleRule       // the first whose Takes accepts is used
	Extra      []ScheduleRule       // rules of an extension: asked first, and each of their steps is proven
	Primitives []schedule.Primitive // that rules use beside the built-in ones
	Intrinsics []schedule.Intrinsic // likewise
}

// OpRule writes the definition of one operator.
type OpRule func(s *Site) ([]Operand, error)

// ScheduleRule shapes the loops of a function on one class of targets.
type ScheduleRule struct {
	Name  string
	Takes func(d *Definition, t *target.Target) bool
	Apply func(s *schedule.Schedule, d *Definition, t *target.Target)
}

// Core returns the built-in rows.
func Core() *Tables {
	ops := map[string]OpRule{}
	for _, family := range []map[string]OpRule{
		elementwiseRules, convRules, denseRules, convTransposeRules, shapeRules, sliceRules, createRules, indexRules, imageRules,
		reduceRules, softmaxRules, normRules, rmsNormRules, poolRules, squeezeExciteRules, attentionRules, sortRules, visionRules,
	} {
		for key, rule := range family {
			ops[key] = rule
		}
	}
	return &Tables{Ops: ops, Schedules: append(gpuRules(), cpuRules()...)}
}

// Definition is a function as tensor expressions, before its loops are shaped.
type Definition struct {
	Inputs  []*te.Tensor
	Outputs []*te.Tensor
	Stages  []*te.Tensor        // everything computed, in order
	Anchor  *Anchor             // the heavy operator, nil when there is none
	Then    []*Anchor           // heavy operators behind it, each of which reads the one before (see fuse-blocks)
	Consts  []Const             // tables that stages read
	Kept    map[*te.Tensor]bool // stages that are computed once and not put into their readers

	attention *attended // the stages of an attention, nil when there is none
}

// Const is a stage whose elements are known.
type Const struct {
	Tensor *te.Tensor
	Value  *tensor.Tensor
}

// Anchor is the operator whose loops decide the schedule.
type Anchor struct {
	Kind   string     // "conv", "depthwise", "dense", …
	Stage  *te.Tensor // its result
	Data   *te.Tensor // the operand that a convolution reads
	Pad    *te.Tensor // that operand when it is padded or computed on the way, else nil
	Widens bool       // Pad is the operand as it is, in a wider type
	Weight *te.Tensor // its constant operand, or nil
	Panel  *te.Tensor // its second operand in a wider type, where that is kept in fewer bits, or nil
	Block  int        // channels in one packed panel of the weight; 0: not packed
}

// Site is one operator inside the function that is being lowered.
type Site struct {
	Call *relay.Call
	In   []Operand
	def  *Definition
	t    *target.Target
}

// Operand is a value inside the function: a tensor, a scalar constant, or the fields of a tuple. Elements of a storage type
// are held in their carrier, an int8 or uint8.
type Operand struct {
	Tensor *te.Tensor
	Scalar tir.Expr
	Shape  tensor.Shape
	DType  tensor.DType // the graph's; a storage type is not the tensor's own
	Tuple  []Operand
}

// At reads the element at idx, whose rank may exceed the operand's: axes align at the last one, and an axis of extent 1
// is read at 0, as NumPy broadcasts.
func (o Operand) At(idx ...tir.Expr) tir.Expr {
	if o.Scalar != nil {
		return o.Scalar
	}
	at := make([]tir.Expr, len(o.Shape))
	skip := len(idx) - len(o.Shape)
	for i, extent := range o.Shape {
		at[i] = idx[skip+i]
		if extent == 1 {
			at[i] = tir.I(0)
		}
	}
	return o.Tensor.At(at...)
}

// Out returns the type of the operator's only result.
func (s *Site) Out() *relay.TensorType { return relay.Tensor(s.Call) }

// Target returns the target.
func (s *Site) Target() *target.Target { return s.t }

// Compute adds a stage whose element at i is f(i), in the carrier of d when that is a storage type.
func (s *Site) Compute(shape tensor.Shape, d tensor.DType, f func(i []tir.Expr) tir.Expr) Operand {
	return s.add(te.Compute(s.name(), carrier(d), shape, f), d)
}

// Result is Compute over the operator's result type.
func (s *Site) Result(f func(i []tir.Expr) tir.Expr) ([]Operand, error) {
	return []Operand{s.Compute(s.Out().Shape, s.Out().DType, f)}, nil
}

// Reduce adds a stage that folds f over the box of extents. Over one element, or none, it is no reduction.
func (s *Site) Reduce(shape tensor.Shape, d tensor.DType, extents []int, init tir.Expr, combine func(acc, x tir.Expr) tir.Expr,
	f func(i, r []tir.Expr) tir.Expr) Operand {
	switch tensor.Shape(extents).Elems() {
	case 0:
		return s.Compute(shape, d, func([]tir.Expr) tir.Expr { return init })
	case 1:
		if !s.heavy() {
			return s.Compute(shape, d, func(i []tir.Expr) tir.Expr { return combine(init, f(i, zeros(len(extents)))) })
		}
	}
	return s.add(te.Reduce(s.name(), d, shape, extents, init, combine, f), d)
}

// heavy reports whether the operator may become an anchor, whose stage is a reduction always.
func (s *Site) heavy() bool { return s.Call.Op.Class == relay.OutFusable }

// Opaque adds a stage with several outputs that is written as a statement.
func (s *Site) Opaque(outs []*relay.TensorType, ins []Operand, temp []*tir.Buffer, body func(out []*tir.Buffer) tir.Stmt) []Operand {
	tensors := make([]*te.Tensor, len(outs))
	buffers := make([]*tir.Buffer, len(outs))
	for i, o := range outs {
		tensors[i] = te.Placeholder(s.name(), carrier(o.DType), o.Shape...)
		buffers[i] = tensors[i].Buffer
	}
	var read []*te.Tensor
	for _, in := range ins {
		read = append(read, in.Tensor)
	}
	te.Extern(tensors, read, te.Statement{Body: body(buffers), Temps: temp})
	result := make([]Operand, len(outs))
	for i, t := range tensors {
		result[i] = s.add(t, outs[i].DType)
	}
	return result
}

// Tensor returns operand i as a tensor, adding a stage when it is a scalar constant.
func (s *Site) Tensor(i int) *te.Tensor {
	o := s.In[i]
	if o.Tensor != nil {
		return o.Tensor
	}
	return s.Compute(o.Shape, o.DType, func([]tir.Expr) tir.Expr { return o.Scalar }).Tensor
}

// Table adds a constant array, which becomes a parameter of the lowered function.
func (s *Site) Table(value *tensor.Tensor) Operand {
	t := te.Placeholder("table", value.DType, value.Shape...)
	s.def.Consts = append(s.def.Consts, Const{t, value})
	return operandOf(t, value.DType)
}

// keep says that an operand is read several times and expensive, or must be the same each time: a stage of its own
// computes it. Inputs, and rearrangements of them, are as good already.
func (s *Site) keep(o Operand) Operand {
	t := o.Tensor
	for t != nil && t.IsCopy() {
		t = s.def.stageOf(t.Source())
	}
	if t != nil && !t.IsInput() && !o.Tensor.IsExtern() && o.Tensor.ReduceAxes() == 0 {
		s.def.Kept[o.Tensor] = true
	}
	return o
}

// stageOf returns the stage that a buffer belongs to.
func (d *Definition) stageOf(b *tir.Buffer) *te.Tensor {
	for _, list := range [][]*te.Tensor{d.Stages, d.Inputs} {
		for _, t := range list {
			if t.Buffer == b {
				return t
			}
		}
	}
	return nil
}

// SetAnchor makes the operator the one whose loops decide the schedule, or one that follows it. A stage that sums up
// nothing, which has no reduction, decides nothing.
func (s *Site) SetAnchor(a *Anchor) {
	switch {
	case a.Stage.ReduceAxes() == 0:
	case s.def.Anchor == nil:
		s.def.Anchor = a
	default:
		s.def.Then = append(s.def.Then, a)
	}
}

func (s *Site) add(t *te.Tensor, d tensor.DType) Operand {
	s.def.Stages = append(s.def.Stages, t)
	return operandOf(t, d)
}

// operandOf returns a tensor whose elements are of type d.
func operandOf(t *te.Tensor, d tensor.DType) Operand {
	return Operand{Tensor: t, Shape: t.Shape(), DType: d}
}

func (s *Site) name() string {
	name := s.Call.Op.Name
	for i := len(name) - 1; i >= 0; i-- {
		if name[i] == '.' {
			name = name[i+1:]
			break
		}
	}
	return fmt.Sprintf("%s_%d", name, len(s.def.Stages))
}

// Unsupported returns the error for something that this operator's lowering does not do.
func (s *Site) Unsupported(format string, args ...any) error {
	return diag.Unsupported("lower", s.Call.Op.Name, format, args...).At(s.Call.Pos())
}

// Define writes fn as tensor expressions.
func Define(fn *relay.Function, tables *Tables, t *target.Target) (*Definition, error) {
	def := &Definition{Kept: map[*te.Tensor]bool{}}
	values := map[relay.Expr]Operand{}
	for i, p := range fn.Params {
		typ := relay.Tensor(p)
		if typ == nil {
			return nil, diag.Unsupported("lower", p.Name, "parameter of type %v; wanted a tensor", p.Type())
		}
		in, o := def.parameter(fmt.Sprintf("p%d", i), typ.DType, typ.Shape)
		def.Inputs = append(def.Inputs, in)
		values[p] = o
	}
	for e := range relay.PostOrder(fn.Body, false) {
		v, err := define(e, values, def, tables, t)
		if err != nil {
			return nil, err
		}
		values[e] = v
	}
	result := values[fn.Body]
	outs := result.Tuple
	if outs == nil {
		outs = []Operand{result}
	}
	made := map[*te.Tensor]bool{}
	for _, o := range outs {
		if o.Tensor == nil || o.Tensor.IsInput() || made[o.Tensor] || !o.Shape.Equal(o.Tensor.Shape()) {
			o = copyOf(o, def)
		}
		if perByte(o.DType) > 1 {
			o = def.packed(o)
		}
		made[o.Tensor] = true
		def.Outputs = append(def.Outputs, o.Tensor)
	}
	return def, nil
}

// copyOf adds a stage that copies an operand: results must be computed, each once.
func copyOf(o Operand, def *Definition) Operand {
	t := te.Compute(fmt.Sprintf("copy_%d", len(def.Stages)), carrier(o.DType), o.Shape, func(i []tir.Expr) tir.Expr { return o.At(i...) })
	def.Stages = append(def.Stages, t)
	return operandOf(t, o.DType)
}

func define(e relay.Expr, values map[relay.Expr]Operand, def *Definition, tables *Tables, t *target.Target) (Operand, error) {
	switch e := e.(type) {
	case *relay.Var:
		v, ok := values[e]
		if !ok {
			return Operand{}, diag.Internal("lower", e.Name, "variable is not a parameter of the fused function")
		}
		return v, nil
	case *relay.Constant:
		return constant(e)
	case *relay.Tuple:
		fields := make([]Operand, len(e.Fields))
		for i, f := range e.Fields {
			fields[i] = values[f]
		}
		return Operand{Tuple: fields}, nil
	case *relay.TupleGet:
		return values[e.Tuple].Tuple[e.Index], nil
	case *relay.Call:
		if e.Op == nil {
			return Operand{}, diag.Unsupported("lower", "call", "a call of a function inside a fused function").At(e.Pos())
		}
		rule := tables.Ops[e.Op.Lower]
		if rule == nil {
			return Operand{}, diag.Unsupported("lower", e.Op.Name, "no lowering for family %q", e.Op.Lower).At(e.Pos())
		}
		in := make([]Operand, 0, len(e.Args))
		for _, a := range e.Args {
			in = append(in, values[a])
		}
		out, err := rule(&Site{Call: e, In: in, def: def, t: t})
		if err != nil {
			return Operand{}, err
		}
		if _, tuple := e.Type().(*relay.TupleType); tuple {
			return Operand{Tuple: out}, nil
		}
		return out[0], nil
	}
	return Operand{}, diag.Unsupported("lower", fmt.Sprintf("%T", e), "not allowed inside a fused function").At(e.Pos())
}

// constant returns a constant of one element as a scalar. Larger ones are parameters of the fused function.
func constant(c *relay.Constant) (Operand, error) {
	t := c.Value
	if t.Elems() != 1 {
		return Operand{}, diag.Internal("lower", c.Name, "constant of shape %v inside a fused function; wanted a parameter", t.Shape).At(c.Pos())
	}
	w := tensor.Widen(t)
	o := Operand{Shape: t.Shape, DType: t.DType}
	if t.DType.IsFloat() {
		o.Scalar = carried(t.DType, w.F[0])
	} else {
		o.Scalar = &tir.Int{DType: carrier(t.DType), Value: w.I[0]}
	}
	return o, nil
}

// prune drops the stages that f, which is made of them, does not need.
func (d *Definition) prune(f *tir.Func) {
	used := map[*tir.Buffer]bool{}
	for _, b := range append(append([]*tir.Buffer{}, f.Params...), f.Root().Allocs...) {
		used[b] = true
	}
	d.Stages = slices.DeleteFunc(d.Stages, func(t *te.Tensor) bool { return !used[t.Buffer] })
}

// Func lowers a fused function for a target.
func Func(fn *relay.Function, name string, tables *Tables, t *target.Target, notes *diag.Notes) (*Result, error) {
	fn = collapse(fn)
	if t.Kind == target.CPU {
		fn = coalesce(straighten(fn))
	}
	def, err := Define(fn, tables, t)
	if err != nil {
		return nil, err
	}
	inputs := append([]*te.Tensor{}, def.Inputs...)
	consts := map[*tir.Buffer]*tensor.Tensor{}
	for _, c := range def.Consts {
		inputs = append(inputs, c.Tensor)
		consts[c.Tensor.Buffer] = c.Value
	}
	f, err := te.Build(name, inputs, def.Outputs, def.Stages...)
	if err != nil {
		return nil, diag.Internal("lower", name, "the definition is wrong").By(err)
	}
	def.prune(f)
	for i, rule := range slices.Concat(tables.Extra, tables.Schedules) {
		if !rule.Takes(def, t) {
			continue
		}
		ours := i >= len(tables.Extra) // tests prove what these do, step by step
		s := schedule.NewWith(f, schedule.Options{Trust: ours, Primitives: tables.Primitives, Intrinsics: tables.Intrinsics})
		rule.Apply(s, def, t)
		switch {
		case s.Err() != nil && ours:
			return nil, diag.Internal("lower", name, "schedule rule %q does not fit", rule.Name).By(s.Err())
		case s.Err() != nil:
			return nil, diag.Invalid("lower", name, "schedule rule %q of the extension does not fit", rule.Name).By(s.Err())
		}
		return &Result{Func: s.Func(), Trace: s.Trace(), Rule: rule.Name, Consts: consts}, nil
	}
	return nil, diag.Unsupported("lower", name, "no schedule rule for target %s", t.Name)
}
