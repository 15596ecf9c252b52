package onnx

import (
	"math"
	"slices"
	"strconv"

	"github.com/texel-ml/texel/diag"
	"github.com/texel-ml/texel/relay"
	pb "github.com/texel-ml/texel/relay/importer/onnx/onnxpb"
	"github.com/texel-ml/texel/tensor"
)

// node is one node as its row sees it. Its methods that find the model at fault leave the row by a panic with a
// failure, which convert recovers: rows stay as short as the specification's text.
type node struct {
	im     *importer
	scope  *scope
	proto  *pb.NodeProto
	domain string
	opset  int          // the version of the node's domain
	args   []relay.Expr // nil where an optional operand is left out
	attrs  map[string]*pb.AttributeProto
	pos    diag.Pos
}

// failure carries an error from a row to convert.
type failure struct{ err error }

func (n *node) invalid(format string, args ...any) *diag.Error {
	return diag.Invalid(step, n.proto.GetOpType(), format, args...).At(n.pos)
}

func (n *node) unsupported(format string, args ...any) *diag.Error {
	return diag.Unsupported(step, n.proto.GetOpType(), format, args...).At(n.pos)
}

func (n *node) fail(err error) { panic(failure{err}) }

func (n *node) failInvalid(format string, args ...any)     { n.fail(n.invalid(format, args...)) }
func (n *node) failUnsupported(format string, args ...any) { n.fail(n.unsupported(format, args...)) }

// readAttributes indexes the node's attributes by name, references to the function's attributes resolved.
func (n *node) readAttributes() error {
	n.attrs = map[string]*pb.AttributeProto{}
	for _, a := range n.proto.GetAttribute() {
		name := a.GetName()
		if n.attrs[name] != nil {
			return n.invalid("two attributes are named %q", name)
		}
		if ref := a.GetRefAttrName(); ref != "" {
			from := n.scope.attrs[ref]
			if from == nil {
				continue // the caller leaves an optional attribute out
			}
			a = from
		}
		n.attrs[name] = a
	}
	return nil
}

// attr returns the attribute when it is there, and checks its type.
func (n *node) attr(name string, want pb.AttributeProto_Type) *pb.AttributeProto {
	a := n.attrs[name]
	if a == nil {
		return nil
	}
	got := a.GetType()
	if got == pb.AttributeProto_UNDEFINED {
		got = want // files of the first IR version do not say
	}
	if got != want {
		n.failInvalid("attribute %q has type %v, wanted %v", name, got, want)
	}
	return a
}

func (n *node) has(name string) bool { return n.attrs[name] != nil }

func (n *node) int(name string, otherwise int) int {
	if a := n.attr(name, pb.AttributeProto_INT); a != nil {
		return int(a.GetI())
	}
	return otherwise
}

func (n *node) flag(name string, otherwise bool) bool {
	d := 0
	if otherwise {
		d = 1
	}
	return n.int(name, d) != 0
}

func (n *node) float(name string, otherwise float64) float64 {
	if a := n.attr(name, pb.AttributeProto_FLOAT); a != nil {
		return float64(a.GetF())
	}
	return otherwise
}

func (n *node) str(name, otherwise string) string {
	if a := n.attr(name, pb.AttributeProto_STRING); a != nil {
		return string(a.GetS())
	}
	return otherwise
}

// ints returns the list, or otherwise when the attribute is left out.
func (n *node) ints(name string, otherwise []int) []int {
	a := n.attr(name, pb.AttributeProto_INTS)
	if a == nil {
		return otherwise
	}
	return intsOf(a.GetInts())
}

// intsLen is ints with a list of exactly length values, each at least least.
func (n *node) intsLen(name string, length, fill, least int) []int {
	list := n.ints(name, slices.Repeat([]int{fill}, length))
	if len(list) != length {
		n.failInvalid("attribute %q has %d values %v, wanted %d", name, len(list), list, length)
	}
	for _, v := range list {
		if v < least || v > math.MaxInt32 {
			n.failInvalid("attribute %q: %d is out of range", name, v)
		}
	}
	return list
}

func (n *node) floats(name string) []float64 {
	a := n.attr(name, pb.AttributeProto_FLOATS)
	out := make([]float64, len(a.GetFloats()))
	for i, f := range a.GetFloats() {
		out[i] = float64(f)
	}
	return out
}

func (n *node) strs(name string) []string {
	var out []string
	for _, s := range n.attr(name, pb.AttributeProto_STRINGS).GetStrings() {
		out = append(out, string(s))
	}
	return out
}

func (n *node) tensorAttr(name string) *tensor.Tensor {
	a := n.attr(name, pb.AttributeProto_TENSOR)
	if a == nil {
		return nil
	}
	t, err := n.im.src.tensor(a.GetT(), "attribute "+quote(name), n.pos)
	if err != nil {
		n.fail(err)
	}
	return t
}

// in returns operand i, which must be there.
func (n *node) in(i int) relay.Expr {
	if i >= len(n.args) || n.args[i] == nil {
		n.failInvalid("operand %d is missing", i)
	}
	return n.args[i]
}

// opt returns operand i, or nil when it is left out.
func (n *node) opt(i int) relay.Expr {
	if i >= len(n.args) {
		return nil
	}
	return n.args[i]
}

// all returns every operand; at least least of them must be there.
func (n *node) all(least int) []relay.Expr {
	if len(n.args) < least {
		n.failInvalid("wants %d operands or more, found %d", least, len(n.args))
	}
	for i := range n.args {
		n.in(i)
	}
	return n.args
}

func (n *node) typ(e relay.Expr) *relay.TensorType {
	t := relay.Tensor(e)
	if t == nil {
		n.failInvalid("an operand is no tensor")
	}
	return t
}

func (n *node) shape(e relay.Expr) tensor.Shape { return n.typ(e).Shape }
func (n *node) dtype(e relay.Expr) tensor.DType { return n.typ(e).DType }
func (n *node) rank(e relay.Expr) int           { return len(n.typ(e).Shape) }
func (n *node) isFloat(e relay.Expr) bool       { return n.typ(e).DType.IsFloat() }
func (n *node) wants(ok bool, format string, args ...any) {
	if !ok {
		n.failInvalid(format, args...)
	}
}

// known returns e's shape, every axis of which must be known.
func (n *node) known(e relay.Expr) tensor.Shape {
	s := n.shape(e)
	if !s.Known() {
		n.failUnsupported("the shape %v of an operand is not known before the model runs", s)
	}
	return s
}

// axis returns axis counted from the front, for rank axes.
func (n *node) axis(axis, rank int) int {
	if axis < -rank || axis >= rank {
		n.failInvalid("axis %d is out of range for %d axes", axis, rank)
	}
	if axis < 0 {
		axis += rank
	}
	return axis
}

// axes normalises a list of axes and refuses one that comes twice.
func (n *node) axes(list []int, rank int) []int {
	out := make([]int, len(list))
	for i, a := range list {
		out[i] = n.axis(a, rank)
		if slices.Contains(out[:i], out[i]) {
			n.failInvalid("axis %d is given twice in %v", a, list)
		}
	}
	return out
}

// call applies a relay operator. A result that is small and known is a constant already.
func (n *node) call(name string, attrs any, args ...relay.Expr) relay.Expr {
	op := n.im.opts.Table.Lookup(name)
	if op == nil {
		n.failUnsupported("operator %s needs relay operator %s, which the table does not have", n.proto.GetOpType(), name)
	}
	c, err := relay.NewCall(op, args, attrs, n.pos)
	if err != nil {
		n.fail(err)
	}
	return n.im.fold(c)
}

// field takes one result of a call that gives several.
func (n *node) field(e relay.Expr, i int) relay.Expr {
	g, err := relay.NewTupleGet(e, i, n.pos)
	if err != nil {
		n.fail(err)
	}
	return n.im.fold(g)
}

// fields takes every result of a call that gives a tuple.
func (n *node) fields(e relay.Expr) []relay.Expr {
	t, ok := e.Type().(*relay.TupleType)
	if !ok {
		return []relay.Expr{e}
	}
	out := make([]relay.Expr, len(t.Fields))
	for i := range out {
		out[i] = n.field(e, i)
	}
	return out
}

func (n *node) tuple(list ...relay.Expr) relay.Expr { return relay.NewTuple(list, n.pos) }

// constant is a constant without a name.
func (n *node) constant(t *tensor.Tensor) relay.Expr { return relay.NewConstant(t, "", n.pos) }

// scalar is a constant of rank 0.
func (n *node) scalar(d tensor.DType, v float64) relay.Expr {
	w := tensor.NewWide(d, tensor.Shape{})
	if d.IsFloat() {
		w.F[0] = v
	} else {
		w.I[0] = int64(v)
	}
	return n.constant(w.Narrow())
}

// like is a scalar of e's element type.
func (n *node) like(e relay.Expr, v float64) relay.Expr { return n.scalar(n.dtype(e), v) }

// constInts is a constant of rank 1 of int64.
func (n *node) constInts(list ...int) relay.Expr {
	v := make([]int64, len(list))
	for i, x := range list {
		v[i] = int64(x)
	}
	return n.constant(tensor.Of(tensor.Int64, tensor.Shape{len(list)}, v...))
}

// known values

// value returns what e is, which must not depend on an input of the model.
func (n *node) value(e relay.Expr, what string) *tensor.Wide {
	v, err := n.im.evaluate(e)
	if err != nil {
		if d, ok := err.(*NeedsValue); ok {
			e := n.unsupported("%s must be known to compile; give the input's value with --input %s=… when compiling", what, d.Input)
			n.fail(e.By(d))
		}
		n.fail(diag.Unsupported(step, n.proto.GetOpType(), "%s cannot be computed when importing", what).By(err).At(n.pos))
	}
	w, ok := v.(*tensor.Wide)
	if !ok {
		n.failInvalid("%s is no tensor", what)
	}
	return w
}

// intsAt returns the known integers of operand i, or nil and false when it is left out.
func (n *node) intsAt(i int, what string) ([]int, bool) {
	e := n.opt(i)
	if e == nil {
		return nil, false
	}
	w := n.value(e, what)
	if w.I == nil && len(w.Shape) > 0 && w.Shape.Elems() > 0 || w.DType.IsFloat() {
		n.failInvalid("%s has type %v, wanted integers", what, w.DType)
	}
	out := make([]int, len(w.I))
	for i, v := range w.I {
		out[i] = int(v)
	}
	return out, true
}

// floatsAt returns the known numbers of operand i, or false when it is left out.
func (n *node) floatsAt(i int, what string) ([]float64, bool) {
	e := n.opt(i)
	if e == nil {
		return nil, false
	}
	w := n.value(e, what)
	if w.DType.IsFloat() {
		return slices.Clone(w.F), true
	}
	out := make([]float64, len(w.I))
	for i, v := range w.I {
		out[i] = float64(v)
	}
	return out, true
}

// scalarAt returns the one known number of operand i, or otherwise when it is left out.
func (n *node) scalarAt(i int, what string, otherwise float64) float64 {
	list, ok := n.floatsAt(i, what)
	if !ok {
		return otherwise
	}
	if len(list) != 1 {
		n.failInvalid("%s has %d values, wanted one", what, len(list))
	}
	return list[0]
}

// intAt is scalarAt for an integer, which a float64 need not hold; a number that is none is cut off and clamped.
func (n *node) intAt(i int, what string, otherwise int) int {
	e := n.opt(i)
	if e == nil {
		return otherwise
	}
	if w := n.value(e, what); len(w.I) == 1 {
		return int(w.I[0])
	}
	const most = 1 << 62
	v := n.scalarAt(i, what, 0)
	n.wants(!math.IsNaN(v), "%s is NaN", what)
	return int(min(max(v, -most), most))
}

// knownAt reports whether operand i is left out or a value that is known to compile.
func (n *node) knownAt(i int) bool {
	e := n.opt(i)
	if e == nil {
		return true
	}
	_, err := n.im.evaluate(e)
	return err == nil
}

// attrOrInts returns a list that was an attribute before opset since, and is operand i from it on.
func (n *node) attrOrInts(name string, i, since int) ([]int, bool) {
	if n.opset >= since {
		return n.intsAt(i, name)
	}
	return n.ints(name, nil), n.has(name)
}

// one returns a lone result.
func one(e relay.Expr) []relay.Expr { return []relay.Expr{e} }

func tensorInt(v int64) string { return strconv.FormatInt(v, 10) }
