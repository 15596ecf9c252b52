package relaytext

import (
	"github.com/texel-ml/texel/diag"
	"github.com/texel-ml/texel/relay"
	"github.com/texel-ml/texel/relay/relaytext/grammar"
)

// signature is what stands before a function's body.
type signature struct {
	main      bool
	bound     []param
	attrs     []attribute
	result    relay.Type
	typed     bool // a type of the result is written
	variables int  // how many variables, attributes and types lay on their stacks before it
	types     int
}

// param is a parameter and what it is bound to: a variable, or for main the constant that takes its place; nil has errors.
type param struct {
	variable
	e relay.Expr
}

// EnterSignature begins a function.
func (b *builder) EnterSignature(ctx *grammar.SignatureContext) {
	s := &signature{variables: len(b.variables), types: len(b.types)}
	if d, ok := ctx.GetParent().(*grammar.DefinitionContext); ok {
		name := globalName(d.GetGlobal().GetText())
		s.main = name == "main"
		b.r.open[name] = true
	} else {
		s.main = b.lone && len(b.scopes) == 1
	}
	b.mark(len(b.attrs))
	b.signatures = append(b.signatures, s)
}

// ExitParameter adds a parameter; attributes are left for the end of the signature.
func (b *builder) ExitParameter(*grammar.ParameterContext) {
	s := b.signatures[len(b.signatures)-1]
	if len(b.variables) == s.variables {
		return
	}
	v := b.popVariable()
	for _, other := range s.bound {
		if other.name == v.name {
			b.r.fail(diag.Invalid(step, "%"+v.name, "two parameters have this name").At(v.pos))
		}
	}
	s.bound = append(s.bound, param{variable: v})
}

// parameter returns the variable of a parameter, or what takes its place in main.
func (b *builder) parameter(v variable, main bool) relay.Expr {
	if main {
		return b.r.input(v)
	}
	if isRefused(v.typ) {
		return nil
	}
	if !complete(v.typ) {
		b.r.fail(diag.Unsupported(step, "%"+v.name, "the parameter has type %s; wanted one that is written in full", typeText(v.typ)).At(v.pos))
		return nil
	}
	return relay.NewVar(v.name, v.typ, v.pos)
}

// ExitSignature takes the type of the result and the attributes.
func (b *builder) ExitSignature(*grammar.SignatureContext) {
	s := b.signatures[len(b.signatures)-1]
	s.attrs = b.popAttrs(b.unmark())
	if len(b.types) > s.types {
		s.result, s.typed = b.popType(), true
	}
	if s.main && b.border {
		panic(stop{}) // nothing else is asked for
	}
	for i := range s.bound {
		s.bound[i].e = b.parameter(s.bound[i].variable, s.main)
	}
}

// enterFunction binds the parameters in the scope of the body.
func (b *builder) enterFunction() {
	s := b.signatures[len(b.signatures)-1]
	primitive := false
	for _, a := range s.attrs {
		primitive = primitive || a.name == "Primitive" && a.value == int64(1)
	}
	b.primitives = append(b.primitives, primitive)
	for _, p := range s.bound {
		b.bind(p.name, p.e)
	}
}

// exitFunction makes the function whose body is on the stack, or returns nil.
func (b *builder) exitFunction(pos diag.Pos) *relay.Function {
	s := b.signatures[len(b.signatures)-1]
	b.signatures = b.signatures[:len(b.signatures)-1]
	primitive := b.primitives[len(b.primitives)-1]
	b.primitives = b.primitives[:len(b.primitives)-1]
	attrs := b.functionAttrs(s.attrs)
	body := b.pop()
	var params []*relay.Var
	for _, p := range s.bound {
		if p.e == nil {
			return nil
		}
		if v, ok := p.e.(*relay.Var); ok {
			params = append(params, v)
		}
	}
	if body == nil {
		return nil
	}
	if s.typed && !fits(s.result, body.Type()) {
		b.r.fail(diag.Invalid(step, "function", "the result is annotated %s, the body has type %v", typeText(s.result), body.Type()).At(pos))
		return nil
	}
	return relay.NewFunction(params, body, primitive, attrs, pos)
}

// functionAttrs returns the attributes of a function but Primitive, each as its text; nil has none.
func (b *builder) functionAttrs(list []attribute) map[string]string {
	attrs := map[string]string{}
	for _, a := range list {
		text, ok := attrText(a.value)
		switch {
		case isBroken(a.value):
		case a.name == "Primitive":
			if a.value != int64(1) && a.value != int64(0) {
				b.r.fail(diag.Invalid(step, a.name, "wanted 0 or 1, found %s", valueText(a.value)).At(a.pos))
			}
		case !ok:
			b.r.o.Notes.Add(diag.Default, step, a.name, "an attribute of a function that is an object of its compiler is passed over")
		default:
			attrs[a.name] = text
		}
	}
	if len(attrs) == 0 {
		return nil
	}
	return attrs
}

// ExitFunction makes a function in an expression.
func (b *builder) ExitFunction(ctx *grammar.FunctionContext) {
	if f := b.exitFunction(b.r.pos(ctx.GetStart())); f != nil {
		b.push(f)
		return
	}
	b.push(nil)
}

// ExitDefinition adds a function to the module.
func (b *builder) ExitDefinition(ctx *grammar.DefinitionContext) {
	name := globalName(ctx.GetGlobal().GetText())
	if len(b.signatures) == 0 {
		b.unsupported(ctx, "@"+name, "the function is an object of another compiler")
		b.r.funcs[name] = nil
		return
	}
	b.r.funcs[name] = b.exitFunction(b.r.pos(ctx.GetStart()))
	delete(b.r.open, name)
}

// ExitTypeParameters refuses functions and types that are generic.
func (b *builder) ExitTypeParameters(ctx *grammar.TypeParametersContext) {
	switch ctx.GetParent().(type) {
	case *grammar.TypeDefinitionContext, *grammar.ExternTypeContext: // refused as a whole
	default:
		b.unsupported(ctx, "type parameters", "functions of types that are left open are not supported")
	}
	for _, t := range ctx.GetNames() {
		b.r.generics[t.GetText()] = true
	}
}

// EnterTypeDefinition leaves what is in a data type to ExitTypeDefinition.
func (b *builder) EnterTypeDefinition(*grammar.TypeDefinitionContext) { b.defining = true }

// ExitTypeDefinition refuses data types, once for all that is in them.
func (b *builder) ExitTypeDefinition(ctx *grammar.TypeDefinitionContext) {
	b.unsupported(ctx, ctx.GetDefined().GetText(), "algebraic data types are not supported")
	b.defining = false
}

// ExitExternType refuses types that are defined elsewhere.
func (b *builder) ExitExternType(ctx *grammar.ExternTypeContext) {
	b.unsupported(ctx, ctx.GetDefined().GetText(), "types that are defined elsewhere are not supported")
}
