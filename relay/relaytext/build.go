package relaytext

import (
	"errors"
	"strconv"
	"strings"

	"github.com/antlr4-go/antlr/v4"

	"github.com/texel-ml/texel/diag"
	"github.com/texel-ml/texel/relay"
	"github.com/texel-ml/texel/relay/relaytext/grammar"
	"github.com/texel-ml/texel/tensor"
)

// builder makes the graph of one definition, or of a lone expression, while the parser goes over it. What a rule stands
// for is on a stack when the rule ends; rules that hold lists mark where theirs begin. What has errors is nil, and what
// is made of it is nil without another error.
type builder struct {
	*grammar.BaseRelayListener
	r      *reader
	parser *grammar.RelayParser
	depth  int

	marks      []int
	exprs      []operand
	types      []relay.Type // nil: any, which is written _
	values     []any        // of attributes
	attrs      []attribute
	variables  []variable
	patterns   []pattern
	signatures []*signature
	matches    []match

	trailing bool     // a comma stands behind the last type of the list that ended last
	defining bool     // a data type, which is refused as a whole
	elements elements // of the parentheses that ended last
	number   number   // that was read last, as are the following
	meta     metaRef
	dims     tensor.Shape
	name     antlr.Token

	names      map[string]binding
	functions  map[*relay.Var]*relay.Function // that a let binds
	shadows    []shadow
	scopes     []scope
	primitives []bool       // for each function around: is it primitive?
	border     bool         // only the signature of main is read
	lone       bool         // the text is an expression
	free       []*relay.Var // its free variables
}

// operand is an expression, or the name of an operator that is about to be called.
type operand struct {
	e    relay.Expr
	name antlr.Token
}

// variable is a name where it is bound, with the type that is written beside it.
type variable struct {
	name  string
	typ   relay.Type // nil: any, or none
	typed bool       // a type is written, _ or another
	pos   diag.Pos
}

// elements are the expressions in parentheses.
type elements struct {
	list     []relay.Expr
	trailing bool // a comma stands behind the last one
}

// metaRef is meta[kind][index].
type metaRef struct {
	kind  string
	index string
	pos   diag.Pos
}

func newBuilder(r *reader) *builder {
	return &builder{r: r, names: map[string]binding{}, functions: map[*relay.Var]*relay.Function{}}
}

// EnterEveryRule bounds the depth of rules within each other.
func (b *builder) EnterEveryRule(ctx antlr.ParserRuleContext) {
	if b.depth++; b.depth > maxDepth {
		b.r.fail(diag.Unsupported(step, "", "the text is nested deeper than %d rules", maxDepth).At(b.r.pos(ctx.GetStart())))
		panic(stop{})
	}
}

// ExitEveryRule counts back.
func (b *builder) ExitEveryRule(antlr.ParserRuleContext) { b.depth-- }

func (b *builder) mark(at int) { b.marks = append(b.marks, at) }

func (b *builder) unmark() int {
	at := b.marks[len(b.marks)-1]
	b.marks = b.marks[:len(b.marks)-1]
	return at
}

func (b *builder) push(e relay.Expr) { b.exprs = append(b.exprs, operand{e: e}) }

// pop takes an expression off the stack. Operators can only be called.
func (b *builder) pop() relay.Expr {
	o := b.exprs[len(b.exprs)-1]
	b.exprs = b.exprs[:len(b.exprs)-1]
	if o.name != nil {
		b.r.fail(diag.Unsupported(step, o.name.GetText(), "an operator is a value here; it can only be called").At(b.r.pos(o.name)))
	}
	return o.e
}

// popFrom takes the expressions from position at on off the stack.
func (b *builder) popFrom(at int) []relay.Expr {
	list := make([]relay.Expr, len(b.exprs)-at)
	for i := len(list) - 1; i >= 0; i-- {
		list[i] = b.pop()
	}
	return list
}

// failWith records an error of package relay.
func (b *builder) failWith(err error) { b.r.fail(asError(err)) }

// asError returns an error as one of ours, which those of package relay and of the operators' rows are.
func asError(err error) *diag.Error {
	var e *diag.Error
	if !errors.As(err, &e) {
		e = diag.Internal(step, "", "an error of another kind").By(err)
	}
	return e
}

// unsupported records that package relay cannot hold something.
func (b *builder) unsupported(ctx antlr.ParserRuleContext, node, what string) {
	b.r.fail(diag.Unsupported(step, node, "%s", what).At(b.r.pos(ctx.GetStart())))
}

func anyNil(list []relay.Expr) bool {
	for _, e := range list {
		if e == nil {
			return true
		}
	}
	return false
}

// EnterBody opens a scope, in which the parameters of the function are bound whose body it is.
func (b *builder) EnterBody(ctx *grammar.BodyContext) {
	b.openScope()
	if _, block := ctx.GetParent().(*grammar.BlockContext); !block {
		return
	}
	switch ctx.GetParent().GetParent().(type) {
	case *grammar.FunctionContext, *grammar.DefinitionContext:
		b.enterFunction()
	}
}

// ExitBody closes the scope.
func (b *builder) ExitBody(*grammar.BodyContext) { b.push(b.closeScope(b.pop())) }

// EnterElements opens a scope: a let may stand in parentheses.
func (b *builder) EnterElements(*grammar.ElementsContext) {
	b.openScope()
	b.mark(len(b.exprs))
}

// ExitElements closes the scope.
func (b *builder) ExitElements(ctx *grammar.ElementsContext) {
	list := b.popFrom(b.unmark())
	statements := b.scopes[len(b.scopes)-1].statements > 0
	if statements && (len(list) != 1 || ctx.GetLast() != nil) {
		b.unsupported(ctx, "tuple", "statements stand before the first of several expressions; wanted parentheses around them")
		list = []relay.Expr{nil}
	}
	if len(list) == 1 {
		list[0] = b.closeScope(list[0])
	} else {
		b.closeScope(nil)
	}
	b.elements = elements{list, ctx.GetLast() != nil}
}

// ExitParentheses makes a tuple of several expressions, or of one with a comma behind it.
func (b *builder) ExitParentheses(ctx *grammar.ParenthesesContext) {
	if list := b.elements.list; len(list) == 1 && !b.elements.trailing {
		b.push(list[0])
	} else if anyNil(list) {
		b.push(nil)
	} else {
		pos := b.r.node(ctx.GetStart(), ctx.GetStop())
		b.push(b.bounded(relay.NewTuple(list, pos), pos))
	}
}

// ExitReference refuses references, which have no node.
func (b *builder) ExitReference(ctx *grammar.ReferenceContext) {
	b.unsupported(ctx, ctx.GetWord().GetText(), "references are not supported")
	b.push(nil)
}

// ExitLocal looks a name up.
func (b *builder) ExitLocal(ctx *grammar.LocalContext) { b.push(b.resolve(ctx.GetLocal())) }

// ExitGlobal looks a function of the module up.
func (b *builder) ExitGlobal(ctx *grammar.GlobalContext) {
	if f := b.r.function(globalName(ctx.GetGlobal().GetText()), b.r.pos(ctx.GetGlobal())); f != nil {
		b.push(f)
		return
	}
	b.push(nil)
}

// globalName returns the name behind an @.
func globalName(text string) string {
	if name, err := strconv.Unquote(strings.TrimPrefix(text, "@")); err == nil {
		return name
	}
	return strings.TrimPrefix(text, "@")
}

// ExitOperator keeps the name of an operator until its operands are there.
func (b *builder) ExitOperator(ctx *grammar.OperatorContext) {
	b.exprs = append(b.exprs, operand{name: ctx.GetCalled()})
}

// ExitScalar makes a constant of a number.
func (b *builder) ExitScalar(ctx *grammar.ScalarContext) {
	value, err := b.number.scalar()
	if err != nil {
		b.r.fail(diag.Invalid(step, b.number.String(), "%v", err).At(b.number.pos))
		b.push(nil)
		return
	}
	b.push(relay.NewConstant(value, "", b.number.pos))
}

// ExitTruth makes a constant of True or False.
func (b *builder) ExitTruth(ctx *grammar.TruthContext) {
	t := ctx.GetTruth()
	b.push(relay.NewConstant(tensor.Of(tensor.Bool, tensor.Shape{}, t.GetTokenType() == grammar.RelayLexerTRUE), "", b.r.pos(t)))
}

// ExitMeta keeps a reference to the metadata section.
func (b *builder) ExitMeta(ctx *grammar.MetaContext) {
	b.meta = metaRef{strings.Trim(ctx.GetKind().GetText(), `"`), ctx.GetIndex().GetText(), b.r.pos(ctx.GetStart())}
}

// ExitConstant looks a constant of the metadata section up.
func (b *builder) ExitConstant(*grammar.ConstantContext) { b.push(b.r.constant(b.meta)) }

// ExitProjection takes a field.
func (b *builder) ExitProjection(ctx *grammar.ProjectionContext) {
	t := ctx.GetField()
	index, err := strconv.Atoi(t.GetText()[1:])
	if err != nil {
		b.r.fail(diag.Invalid(step, t.GetText(), "no tuple has this field").At(b.r.pos(t)))
		b.pop()
		b.push(nil)
		return
	}
	b.push(b.field(b.pop(), index, b.r.node(t, ctx.GetStop())))
}

// ExitIf joins the condition and two branches.
func (b *builder) ExitIf(ctx *grammar.IfContext) {
	list := b.popFrom(len(b.exprs) - 3)
	if anyNil(list) {
		b.push(nil)
		return
	}
	e, err := relay.NewIf(list[0], list[1], list[2], b.r.node(ctx.GetStart(), ctx.GetStop()))
	if err != nil {
		b.failWith(err)
		b.push(nil)
		return
	}
	b.push(b.bounded(e, e.Pos()))
}

// ExitLet binds a variable; the node is made when its scope ends.
func (b *builder) ExitLet(ctx *grammar.LetContext) {
	value, v := b.pop(), b.popVariable()
	if value != nil && v.typed && !fits(v.typ, value.Type()) {
		b.r.fail(diag.Invalid(step, "%"+v.name, "is annotated %s, its value has type %v", typeText(v.typ), value.Type()).At(v.pos))
		value = nil
	}
	s := &b.scopes[len(b.scopes)-1]
	s.statements++
	l := let{value: value, pos: b.r.pos(ctx.GetStart())}
	if value == nil {
		b.bind(v.name, nil)
	} else {
		l.v = relay.NewVar(v.name, value.Type(), v.pos)
		b.bounded(l.v, v.pos)
		b.bind(v.name, l.v)
		switch f := value.(type) {
		case *relay.Function:
			b.functions[l.v] = f
		case *relay.Var:
			if f := b.functions[f]; f != nil {
				b.functions[l.v] = f
			}
		}
	}
	s.lets = append(s.lets, l)
}

// ExitBinding lets a name stand for a node: nothing is made.
func (b *builder) ExitBinding(ctx *grammar.BindingContext) {
	name := ctx.GetLocal().GetText()[1:]
	if old, ok := b.names[name]; ok && old.scope == len(b.scopes) {
		b.r.fail(diag.Invalid(step, "%"+name, "is bound twice").At(b.r.pos(ctx.GetLocal())))
	}
	b.bind(name, b.pop())
	b.scopes[len(b.scopes)-1].statements++
}

// ExitFreeVariable declares a variable that the text does not bind: a parameter of the lone expression.
func (b *builder) ExitFreeVariable(ctx *grammar.FreeVariableContext) {
	v := b.popVariable()
	b.scopes[len(b.scopes)-1].statements++
	if !b.lone {
		b.unsupported(ctx, "free_var", "a function of a module has a free variable")
		b.bind(v.name, nil)
		return
	}
	e := b.parameter(v, true)
	b.bind(v.name, e)
	if p, ok := e.(*relay.Var); ok {
		b.free = append(b.free, p)
	}
}

// Infix operators by their tokens.
var infix = map[int]string{
	grammar.RelayLexerEQUAL: "equal", grammar.RelayLexerNOT_EQUAL: "not_equal", grammar.RelayLexerLESS: "less",
	grammar.RelayLexerLESS_EQUAL: "less_equal", grammar.RelayLexerGREATER: "greater", grammar.RelayLexerGREATER_EQUAL: "greater_equal",
	grammar.RelayLexerPLUS: "add", grammar.RelayLexerMINUS: "subtract", grammar.RelayLexerTIMES: "multiply", grammar.RelayLexerDIVIDE: "divide",
}

// fold joins the last operands from the left.
func (b *builder) fold(operators []antlr.Token) {
	if len(operators) == 0 {
		return
	}
	list := b.popFrom(len(b.exprs) - len(operators) - 1)
	left := list[0]
	for i, t := range operators {
		left = b.applyOperator(infix[t.GetTokenType()], b.r.pos(t), []relay.Expr{left, list[i+1]}, nil)
	}
	b.push(left)
}

// ExitExpression folds == and !=.
func (b *builder) ExitExpression(ctx *grammar.ExpressionContext) { b.fold(ctx.GetOperators()) }

// ExitRelation folds comparisons.
func (b *builder) ExitRelation(ctx *grammar.RelationContext) { b.fold(ctx.GetOperators()) }

// ExitSum folds + and -.
func (b *builder) ExitSum(ctx *grammar.SumContext) { b.fold(ctx.GetOperators()) }

// ExitProduct folds * and /.
func (b *builder) ExitProduct(ctx *grammar.ProductContext) { b.fold(ctx.GetOperators()) }

// EnterArguments marks where the operands of a call begin.
func (b *builder) EnterArguments(*grammar.ArgumentsContext) {
	b.mark(len(b.exprs))
	b.mark(len(b.attrs))
}

// ExitArguments applies an operator or a function to its operands.
func (b *builder) ExitArguments(ctx *grammar.ArgumentsContext) {
	attrs := b.popAttrs(b.unmark())
	args := b.popFrom(b.unmark())
	pos := b.r.node(ctx.GetParent().(antlr.ParserRuleContext).GetStart(), ctx.GetStop())
	callee := b.exprs[len(b.exprs)-1]
	if callee.name != nil {
		b.exprs = b.exprs[:len(b.exprs)-1]
		b.push(b.bounded(b.applyOperator(callee.name.GetText(), pos, args, attrs), pos))
		return
	}
	b.push(b.bounded(b.applyFunction(b.pop(), pos, args, attrs), pos))
}

// applyFunction calls a function.
func (b *builder) applyFunction(f relay.Expr, pos diag.Pos, args []relay.Expr, attrs []attribute) relay.Expr {
	for _, a := range attrs {
		if a.name != "attrs_type_key" { // which says what kind of object holds them
			b.r.fail(diag.Invalid(step, a.name, "a call of a function has no attributes").At(a.pos))
		}
	}
	if f == nil || anyNil(args) {
		return nil
	}
	switch f.(type) {
	case *relay.Function, *relay.Var:
	default:
		if _, ok := f.Type().(*relay.FuncType); ok {
			b.r.fail(diag.Unsupported(step, "call", "the function is computed; wanted one that is written or named").At(pos))
			return nil
		}
	}
	e, err := relay.NewCallFn(f, args, pos)
	if err != nil {
		b.failWith(err)
		return nil
	}
	return e
}
