package relaytext

import (
	"reflect"
	"slices"
	"strings"

	"github.com/texel-ml/texel/diag"
	"github.com/texel-ml/texel/relay"
	"github.com/texel-ml/texel/tensor"
)

// call is one application of an operator of Relay.
type call struct {
	b     *builder
	name  string
	pos   diag.Pos
	args  []relay.Expr
	attrs []attribute
	used  []bool
	asked []string // names of attributes that the operator has
	err   *diag.Error
}

// applyOperator calls the operator that Relay's text calls name; nil has errors.
func (b *builder) applyOperator(name string, pos diag.Pos, args []relay.Expr, attrs []attribute) relay.Expr {
	c := &call{b: b, name: name, pos: pos, args: args, attrs: attrs, used: make([]bool, len(attrs))}
	row, translated := translations[name]
	op := b.r.ops.TextLookup(name)
	if op == nil && !translated {
		b.r.fail(diag.Unsupported(step, name, "the operator is not known%s", b.r.meantOperator(name)).At(pos))
		return nil
	}
	if anyNil(args) || slices.ContainsFunc(attrs, func(a attribute) bool { return isBroken(a.value) }) {
		return nil
	}
	c.checkTwice()
	var e relay.Expr
	if translated && (row.when == nil || row.when(c)) {
		if row.args >= 0 && len(args) != row.args {
			c.fail(diag.Invalid, "wants %d operands, found %d", row.args, len(args))
		} else {
			e = row.build(c)
		}
	} else if op == nil {
		c.fail(diag.Unsupported, "the operator is not known with %d operands", len(args))
	} else {
		e = c.plain(op)
	}
	c.checkUsed()
	if c.err != nil {
		b.r.fail(c.err)
		return nil
	}
	return e
}

// operators returns the names of all operators that are known.
func (r *reader) operators() []string {
	names := keys(translations)
	for _, op := range r.ops.Ops() {
		names = append(names, relay.TextName(op))
	}
	return names
}

// meantOperator is diag.Meant for operators, which may lack the beginning of their name: conv2d is nn.conv2d.
func (r *reader) meantOperator(name string) string {
	names := r.operators()
	slices.Sort(names)
	last := func(name string) string { return name[strings.LastIndexByte(name, '.')+1:] }
	ends := make([]string, len(names))
	for i, n := range names {
		ends[i] = last(n)
	}
	at := slices.Index(ends, last(name))
	if at < 0 {
		if meant := diag.Meant(name, names); meant != "" {
			return meant
		}
		meant := diag.Meant(last(name), ends)
		at = slices.IndexFunc(ends, func(end string) bool { return meant == diag.Meant(end, []string{end}) })
	}
	if at < 0 {
		return ""
	}
	return diag.Meant(names[at], names[at:at+1])
}

// plain applies an operator that our table has as Relay has it.
func (c *call) plain(op *relay.Op) relay.Expr {
	attrs := relay.TextAttrs(op)
	c.fill(attrs)
	return c.make(op, attrs, c.args)
}

// fail records the first error of a call.
func (c *call) fail(kind func(step, node, format string, args ...any) *diag.Error, format string, args ...any) {
	if c.err == nil {
		c.err = kind(step, c.name, format, args...).At(c.pos)
	}
}

// neutral are attributes of Relay that say how to compute something, or what follows from types; where they say
// nothing they are passed over.
var neutral = []string{"out_layout", "out_dtype", "auto_scheduler_rewritten_layout", "meta_schedule_original_shape", "index_rank", "tensor_format"}

// checkTwice refuses an attribute that is given twice.
func (c *call) checkTwice() {
	for i, a := range c.attrs {
		if slices.ContainsFunc(c.attrs[:i], func(b attribute) bool { return a.name == b.name }) {
			c.fail(diag.Invalid, "attribute %q is given twice", a.name)
			c.err = c.err.At(a.pos)
		}
	}
}

// checkUsed refuses attributes that nobody asked for.
func (c *call) checkUsed() {
	for i, a := range c.attrs {
		list, _ := a.value.([]any)
		empty := a.value == nil || a.value == "" || a.value == "void" || a.value != nil && list != nil && len(list) == 0
		if c.used[i] || c.err != nil || empty && slices.Contains(neutral, a.name) {
			continue
		}
		slices.Sort(c.asked)
		c.fail(diag.Invalid, "has no attribute %q; it has %s%s", a.name, listed(slices.Compact(c.asked)), diag.Meant(a.name, c.asked))
		c.err = c.err.At(a.pos)
	}
}

func listed(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}

// find returns an attribute of the text, or nil.
func (c *call) find(name string) *attribute {
	c.asked = append(c.asked, name)
	for i := range c.attrs {
		if c.attrs[i].name == name {
			c.used[i] = true
			return &c.attrs[i]
		}
	}
	return nil
}

// wrong is the error of an attribute's value.
func (c *call) wrong(a *attribute, wanted string) {
	c.fail(diag.Invalid, "%s=%s, wanted %s", a.name, valueText(a.value), wanted)
	c.err = c.err.At(a.pos)
}

// fill stores the attributes of the text in a struct of the table.
func (c *call) fill(attrs any) {
	if attrs == nil {
		return
	}
	v := reflect.ValueOf(attrs).Elem()
	for i := range v.NumField() {
		name := v.Type().Field(i).Tag.Get("relay")
		if name == "" {
			continue
		}
		if a := c.find(name); a != nil {
			if wanted := set(v.Field(i), a.value); wanted != "" {
				c.wrong(a, wanted)
			}
		}
	}
}

// attr returns an attribute that our struct does not have; absent is what the text means without it.
func attr[T any](c *call, name string, absent T) T {
	a := c.find(name)
	if a == nil {
		return absent
	}
	var v T
	if wanted := set(reflect.ValueOf(&v).Elem(), a.value); wanted != "" {
		c.wrong(a, wanted)
	}
	return v
}

// none reports whether an attribute is missing or None, and takes it if so.
func (c *call) none(name string) bool {
	for i, a := range c.attrs {
		if a.name == name {
			if a.value == nil {
				c.used[i] = true
			}
			return a.value == nil
		}
	}
	c.asked = append(c.asked, name)
	return true
}

// make applies an operator of the table.
func (c *call) make(op *relay.Op, attrs any, args []relay.Expr) relay.Expr {
	if c.err != nil || anyNil(args) {
		return nil
	}
	e, err := relay.NewCall(op, args, attrs, c.pos)
	if err != nil {
		c.failWith(err)
		return nil
	}
	return e
}

// failWith records an error of package relay, if it is the first.
func (c *call) failWith(err error) {
	if c.err == nil {
		c.err = asError(err)
	}
}

// op applies an operator of the table by its name there; attrs nil takes the table's defaults.
func (c *call) op(name string, attrs any, args ...relay.Expr) relay.Expr {
	op := c.b.r.ops.Lookup(name)
	if op == nil {
		c.fail(diag.Unsupported, "is written as %s, which is not in the table of operators", name)
		return nil
	}
	return c.make(op, attrs, args)
}

// defaults returns the attributes of an operator of the table as the table has them.
func defaults[T any](c *call, name string) *T {
	if op := c.b.r.ops.Lookup(name); op != nil && op.NewAttrs != nil {
		if attrs, ok := op.NewAttrs().(*T); ok {
			return attrs
		}
	}
	c.fail(diag.Unsupported, "is written as %s, which is not in the table of operators", name)
	return new(T)
}

// tensorOf returns the type of operand i, which must be a tensor.
func (c *call) tensorOf(i int) *relay.TensorType {
	if i < len(c.args) {
		if t := relay.Tensor(c.args[i]); t != nil {
			return t
		}
		c.fail(diag.Invalid, "operand %d has type %v, wanted a tensor", i, c.args[i].Type())
	} else {
		c.fail(diag.Invalid, "operand %d is missing", i)
	}
	return &relay.TensorType{Shape: tensor.Shape{}, DType: tensor.Float32}
}

// typeOf returns the type of an expression that this call made, which may have failed.
func (c *call) typeOf(e relay.Expr) *relay.TensorType {
	if e != nil {
		if t := relay.Tensor(e); t != nil {
			return t
		}
		c.fail(diag.Invalid, "an operand has type %v, wanted a tensor", e.Type())
	}
	return &relay.TensorType{Shape: tensor.Shape{}, DType: tensor.Float32}
}

// constant returns the value of operand i, which must be a constant.
func (c *call) constant(i int, what string) *tensor.Wide {
	if k, ok := c.args[i].(*relay.Constant); !ok {
		c.fail(diag.Unsupported, "the %s is computed; wanted a constant", what)
	} else if k.Value.Check() != nil {
		c.fail(diag.Unsupported, "the %s is a constant whose data is not here", what)
	} else {
		return tensor.Widen(k.Value)
	}
	return tensor.NewWide(tensor.Float32, tensor.Shape{})
}

// number returns the only element of operand i, a constant.
func (c *call) number(i int, what string) float64 {
	w := c.constant(i, what)
	switch {
	case len(w.F) == 1:
		return w.F[0]
	case len(w.I) == 1:
		return float64(w.I[0])
	}
	c.fail(diag.Invalid, "the %s has shape %v, wanted one element", what, w.Shape)
	return 0
}

// scalar returns a constant of one element.
func (c *call) scalar(d tensor.DType, v float64) relay.Expr {
	w := tensor.NewWide(d, tensor.Shape{})
	if d.IsFloat() {
		w.F[0] = v
	} else {
		w.I[0] = int64(v)
	}
	return relay.NewConstant(w.Narrow(), "", c.pos)
}

// integers returns a constant vector.
func (c *call) integers(d tensor.DType, shape tensor.Shape, values ...int) relay.Expr {
	w := tensor.NewWide(d, shape)
	for i, v := range values {
		w.I[i] = int64(v)
	}
	return relay.NewConstant(w.Narrow(), "", c.pos)
}

// cast returns e in an element type; it is e where that is its own or none is given.
func (c *call) cast(e relay.Expr, d tensor.DType) relay.Expr {
	if e == nil || d == tensor.Invalid || c.typeOf(e).DType == d {
		return e
	}
	attrs := defaults[relay.CastAttrs](c, "cast")
	attrs.DType = d
	return c.op("cast", attrs, e)
}

// reshape returns e under another shape.
func (c *call) reshape(e relay.Expr, shape ...int) relay.Expr {
	return c.op("reshape", &relay.ReshapeAttrs{NewShape: shape}, e)
}

// transpose returns e with its axes in another order.
func (c *call) transpose(e relay.Expr, axes ...int) relay.Expr {
	return c.op("transpose", &relay.TransposeAttrs{Axes: axes}, e)
}

// tuple groups expressions.
func (c *call) tuple(fields ...relay.Expr) relay.Expr {
	if anyNil(fields) {
		return nil
	}
	return relay.NewTuple(fields, c.pos)
}

// get takes a field of a tuple.
func (c *call) get(e relay.Expr, i int) relay.Expr {
	if e == nil || c.err != nil {
		return nil
	}
	get, err := relay.NewTupleGet(e, i, c.pos)
	if err != nil {
		c.fail(diag.Internal, "%v", err)
		return nil
	}
	return get
}
