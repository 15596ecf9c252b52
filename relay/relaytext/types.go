package relaytext

import (
	"strconv"
	"strings"

	"github.com/texel-ml/texel/diag"
	"github.com/texel-ml/texel/relay"
	"github.com/texel-ml/texel/relay/relaytext/grammar"
	"github.com/texel-ml/texel/tensor"
)

// refused stands for a type that was refused: it fits every type, and nothing of that type is made.
var refused = &relay.TensorType{}

func (b *builder) popType() relay.Type {
	t := b.types[len(b.types)-1]
	b.types = b.types[:len(b.types)-1]
	return t
}

func (b *builder) popTypesFrom(at int) []relay.Type {
	list := append([]relay.Type(nil), b.types[at:]...)
	b.types = b.types[:at]
	return list
}

// EnterVariable marks where the attributes and the type of a variable begin.
func (b *builder) EnterVariable(*grammar.VariableContext) {
	b.mark(len(b.attrs))
	b.mark(len(b.types))
}

// ExitVariable keeps a variable for what binds it. Its attributes say on which device it is, which is not ours to keep.
func (b *builder) ExitVariable(ctx *grammar.VariableContext) {
	t := ctx.GetLocal()
	v := variable{name: t.GetText()[1:], pos: b.r.pos(t)}
	if at := b.unmark(); len(b.types) > at {
		v.typ, v.typed = b.popType(), true
	}
	for _, a := range b.popAttrs(b.unmark()) {
		if a.name != "virtual_device" {
			b.r.fail(diag.Invalid(step, a.name, "variables have no such attribute").At(a.pos))
		}
	}
	b.variables = append(b.variables, v)
}

func (b *builder) popVariable() variable {
	v := b.variables[len(b.variables)-1]
	b.variables = b.variables[:len(b.variables)-1]
	return v
}

// EnterShape begins the extents of a tensor.
func (b *builder) EnterShape(*grammar.ShapeContext) { b.dims = tensor.Shape{} }

// ExitDimension adds an extent.
func (b *builder) ExitDimension(ctx *grammar.DimensionContext) {
	t := ctx.GetExtent()
	text := t.GetText()
	n, err := strconv.ParseInt(strings.TrimSuffix(text, "i64"), 10, 32)
	switch {
	case text == "?" || text == "Any":
		n = tensor.Unknown
	case t.GetTokenType() == grammar.RelayLexerNAME:
		b.r.fail(diag.Unsupported(step, text, "an extent has a name; wanted a number or ?").At(b.r.pos(t)))
		n = tensor.Unknown
	case err != nil || ctx.GetMinus() != nil:
		if ctx.GetMinus() != nil {
			text = "-" + text
		}
		b.r.fail(diag.Invalid(step, text, "wanted an extent from 0 to 2147483647").At(b.r.pos(ctx.GetStart())))
		n = tensor.Unknown
	}
	b.dims = append(b.dims, int(n))
}

// ExitTensorType makes the type of a tensor.
func (b *builder) ExitTensorType(ctx *grammar.TensorTypeContext) {
	t := ctx.GetElement()
	d, ok := elementType(t.GetText())
	if !ok {
		b.r.fail(diag.Invalid(step, t.GetText(), "wanted an element type%s", diag.Meant(t.GetText(), dtypeNames())).At(b.r.pos(t)))
		b.types = append(b.types, refused)
		return
	}
	b.types = append(b.types, &relay.TensorType{Shape: b.dims, DType: d})
}

// elementType returns the element type of a name; uint1 is Relay's other name of bool.
func elementType(name string) (tensor.DType, bool) {
	if name == "uint1" {
		name = "bool"
	}
	d, err := tensor.ParseDType(name)
	return d, err == nil
}

func dtypeNames() []string {
	var names []string
	for _, d := range tensor.DTypes() {
		names = append(names, d.String())
	}
	return names
}

// ExitNamedType makes the type of a scalar, or any type. Others are data types.
func (b *builder) ExitNamedType(ctx *grammar.NamedTypeContext) {
	name := ctx.GetNamed().GetText()
	if ctx.GetBracket() != nil {
		b.popTypesFrom(b.unmark())
	}
	d, ok := elementType(name)
	switch {
	case name == "_":
		b.types = append(b.types, nil)
		return
	case ok && ctx.GetBracket() == nil:
		b.types = append(b.types, &relay.TensorType{Shape: tensor.Shape{}, DType: d})
		return
	case !b.defining && !b.r.generics[name]:
		b.unsupported(ctx, name, "the type is not supported"+diag.Meant(name, dtypeNames()))
	}
	b.types = append(b.types, refused)
}

// EnterTypes marks where a list of types begins; the rule around it takes it.
func (b *builder) EnterTypes(*grammar.TypesContext) { b.mark(len(b.types)) }

// ExitTypes notes a comma behind the last one.
func (b *builder) ExitTypes(ctx *grammar.TypesContext) { b.trailing = ctx.GetLast() != nil }

// ExitConstructor drops the types of a constructor.
func (b *builder) ExitConstructor(ctx *grammar.ConstructorContext) {
	if ctx.GetBracket() != nil {
		b.popTypesFrom(b.unmark())
	}
}

// ExitTupleType makes the type of a tuple; one type in parentheses is itself.
func (b *builder) ExitTupleType(*grammar.TupleTypeContext) {
	list := b.popTypesFrom(b.unmark())
	if len(list) == 1 && !b.trailing {
		b.types = append(b.types, list[0])
		return
	}
	b.types = append(b.types, &relay.TupleType{Fields: list})
}

// ExitFunctionType makes the type of a function.
func (b *builder) ExitFunctionType(*grammar.FunctionTypeContext) {
	result := b.popType()
	b.types = append(b.types, &relay.FuncType{Params: b.popTypesFrom(b.unmark()), Result: result})
}

// ExitReferenceType refuses references.
func (b *builder) ExitReferenceType(ctx *grammar.ReferenceTypeContext) {
	b.popType()
	b.unsupported(ctx, "ref", "references are not supported")
	b.types = append(b.types, refused)
}

// each calls f for t and the types in it.
func each(t relay.Type, f func(relay.Type)) {
	f(t)
	switch t := t.(type) {
	case *relay.TupleType:
		for _, field := range t.Fields {
			each(field, f)
		}
	case *relay.FuncType:
		for _, p := range t.Params {
			each(p, f)
		}
		each(t.Result, f)
	}
}

// complete reports whether a written type leaves nothing open.
func complete(t relay.Type) bool {
	ok := true
	each(t, func(t relay.Type) {
		tt, tensor := t.(*relay.TensorType)
		ok = ok && t != nil && !(tensor && (tt == refused || !tt.Shape.Known()))
	})
	return ok
}

// isRefused reports whether a written type has a part that was refused.
func isRefused(t relay.Type) bool {
	found := false
	each(t, func(t relay.Type) { found = found || t == relay.Type(refused) })
	return found
}

// fits reports whether a written type, which may leave types and extents open, is that of an expression.
func fits(written, t relay.Type) bool {
	switch w := written.(type) {
	case nil:
		return true
	case *relay.TensorType:
		t, ok := t.(*relay.TensorType)
		if w == refused {
			return true
		}
		if !ok || w.DType != t.DType || len(w.Shape) != len(t.Shape) {
			return false
		}
		for i, d := range w.Shape {
			if d != tensor.Unknown && d != t.Shape[i] {
				return false
			}
		}
		return true
	case *relay.TupleType:
		t, ok := t.(*relay.TupleType)
		return ok && allFit(w.Fields, t.Fields)
	case *relay.FuncType:
		t, ok := t.(*relay.FuncType)
		return ok && allFit(w.Params, t.Params) && fits(w.Result, t.Result)
	}
	return false
}

func allFit(written, list []relay.Type) bool {
	if len(written) != len(list) {
		return false
	}
	for i, w := range written {
		if !fits(w, list[i]) {
			return false
		}
	}
	return true
}

// typeText prints a written type.
func typeText(t relay.Type) string {
	list := func(types []relay.Type) string {
		var parts []string
		for _, t := range types {
			parts = append(parts, typeText(t))
		}
		return strings.Join(parts, ", ")
	}
	switch t := t.(type) {
	case nil:
		return "_"
	case *relay.TupleType:
		if len(t.Fields) == 1 {
			return "(" + list(t.Fields) + ",)"
		}
		return "(" + list(t.Fields) + ")"
	case *relay.FuncType:
		return "fn (" + list(t.Params) + ") -> " + typeText(t.Result)
	}
	return t.String()
}
