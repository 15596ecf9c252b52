// Package relaytext reads Relay's text form, that of package relay's printer and that of Apache TVM 0.7 to 0.19.
//
// A generated parser drives a builder, which makes each node where its text ends and infers its type at once: nothing
// of a text is kept but the graph. docs/relay.md describes the language, what is translated and what is refused.
package relaytext

import (
	"cmp"
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/antlr4-go/antlr/v4"

	"github.com/texel-ml/texel/diag"
	"github.com/texel-ml/texel/relay"
	"github.com/texel-ml/texel/relay/relaytext/grammar"
	"github.com/texel-ml/texel/tensor"
)

//go:generate ../../scripts/grammar.sh

// step is that of every error of this package.
const step = "relaytext"

const (
	// maxErrors is how many errors are collected before reading stops.
	maxErrors = 20
	// maxDepth bounds how deep rules of the grammar lie within each other, and with them the stack.
	maxDepth = 20_000
	// maxNested bounds how many functions of the module are read within each other, each because the last one calls it.
	maxNested = 200
)

// Options of Parse. The zero value takes the operators of relay.Core and knows the data of no constant but those that
// stand in the text.
type Options struct {
	// Ops are the operators; nil takes relay.Core.
	Ops *relay.Table
	// Constant returns the value of a constant of the metadata section, or nil when it has none.
	Constant func(info relay.ConstantInfo) (*tensor.Tensor, error)
	// Values are the values of parameters of main, by name. These parameters become constants.
	Values map[string]*tensor.Tensor
	// Params are values of parameters of main by the names that an older tool chain kept them under: a text may write them
	// with a v in front, or with _ for what it cannot have. Those that main does not have are passed over with a note.
	Params map[string]*tensor.Tensor
	// FreezeDefaults makes constants of the parameters that have a default value.
	FreezeDefaults bool
	// Shapes are the shapes of parameters of main, by name, for those whose type leaves extents open.
	Shapes map[string][]int
	// Batch is the extent of axis 0 of parameters of main that leave it open and have no shape in Shapes; 0 is 1.
	Batch int
	// Notes gets a note for everything that is passed over; nil drops them.
	Notes *diag.Notes
}

// Parse returns the module that a text describes; file stands in positions. A text is one of definitions, of which one
// is named main, or a lone expression: a function, or one whose free variables become the parameters of main.
//
// Errors are *diag.Error, several of them joined, in the order of their positions: ErrInvalid for what is no Relay text
// (with what was wanted at its place), a name that is not bound, operands, attributes or annotated types that do not fit;
// ErrUnsupported for what the language has and package relay cannot hold, and for an operator that is not known.
func Parse(file, text string, o Options) (*relay.Module, error) {
	r := newReader(file, text, o)
	m := r.read()
	if err := r.errors(); err != nil {
		return nil, err
	}
	return m, nil
}

func newReader(file, text string, o Options) *reader {
	r := &reader{o: o, file: file, text: text, ops: o.Ops, funcs: map[string]*relay.Function{}, open: map[string]bool{}, generics: map[string]bool{},
		taken: map[string]bool{}, openInputs: map[string]bool{}, sizes: map[*relay.TupleType]int{}, params: map[string]string{}}
	if r.ops == nil {
		r.ops = relay.Core()
	}
	for _, key := range slices.Sorted(maps.Keys(o.Params)) {
		r.params[relay.TextIdent(key)] = key
	}
	return r
}

// read returns the module of the text; it is nil when there are errors.
func (r *reader) read() (m *relay.Module) {
	r.guard(func() {
		r.cutMetadata()
		if r.module(); len(r.errs) == 0 {
			m = r.finish()
		}
	})
	return m
}

// reader is one call of Parse.
type reader struct {
	o          Options
	file, text string // the text without its metadata section
	ops        *relay.Table
	meta       metadata
	funcs      map[string]*relay.Function // those that were read; nil for one with errors
	open       map[string]bool            // those that are being read
	starts     map[string]place           // where definitions start; nil until one is looked for
	openInputs map[string]bool            // parameters of main whose axis 0 is open, by name
	inputs     []string                   // the names of main's parameters, those with a value too
	params     map[string]string          // keys of Options.Params, by their names in a text
	taken      map[string]bool            // keys of Options.Params that a parameter of main has
	generics   map[string]bool            // names of types that are left open, which are refused where they are declared
	sizes      map[*relay.TupleType]int   // how many tensors are in a tuple, of those that were made
	tensors    int                        // in all tuples that were made
	errs       []*diag.Error
}

// place is a position in the text.
type place struct{ offset, line, col int }

// stop ends reading; the errors say why.
type stop struct{}

// guard runs f, which may panic with stop.
func (r *reader) guard(f func()) {
	defer func() {
		if p := recover(); p != nil {
			if _, ok := p.(stop); !ok {
				panic(p)
			}
		}
	}()
	f()
}

// fail records an error; reading goes on, unless there are too many.
func (r *reader) fail(err *diag.Error) {
	if r.errs = append(r.errs, err); len(r.errs) >= maxErrors {
		panic(stop{})
	}
}

// errors returns what was recorded as one error.
func (r *reader) errors() error {
	if len(r.errs) == 0 {
		return nil
	}
	slices.SortStableFunc(r.errs, func(a, b *diag.Error) int {
		return cmp.Or(cmp.Compare(a.Pos.Line, b.Pos.Line), cmp.Compare(a.Pos.Col, b.Pos.Col))
	})
	if len(r.errs) == 1 {
		return r.errs[0]
	}
	all := make([]error, len(r.errs))
	for i, err := range r.errs {
		all[i] = err
	}
	return errors.Join(all...)
}

func (r *reader) pos(t antlr.Token) diag.Pos {
	return diag.Pos{File: r.file, Line: t.GetLine(), Col: t.GetColumn() + 1}
}

// node returns the position of a node that stands between two tokens. The comment behind it may have its name in the model
// that the text was made of, span=NAME:0:0.
func (r *reader) node(first, last antlr.Token) diag.Pos {
	pos := r.pos(first)
	if rest := strings.TrimLeft(r.text[min(last.GetStop()+1, len(r.text)):], " "); strings.HasPrefix(rest, "/*") {
		pos.Node = spanOf(comment(rest))
	}
	return pos
}

// spanOf returns the name in a comment; that of several is the first one. A place in another text is no name.
func spanOf(comment string) string {
	_, span, _ := strings.Cut(comment, "span=")
	if quoted, err := strconv.QuotedPrefix(span); err == nil {
		if name, err := strconv.Unquote(quoted); err == nil {
			return name
		}
	}
	span, _, _ = strings.Cut(strings.TrimRight(strings.TrimSuffix(span, "*/"), " "), ", ")
	name, _ := strings.CutSuffix(span, ":0:0")
	if name == span {
		return ""
	}
	return name
}

// parser returns a parser of the text from a place on that reports to b.
func (r *reader) parser(from place, b *builder) *window {
	lexer := grammar.NewRelayLexer(&chars{file: r.file, text: r.text})
	lexer.RemoveErrorListeners()
	lexer.GetInputStream().Seek(from.offset)
	at := lexer.Interpreter.(*antlr.LexerATNSimulator)
	at.Line, at.CharPositionInLine = from.line, from.col
	w := &window{lexer: lexer}
	p := grammar.NewRelayParser(w)
	p.BuildParseTrees = false
	p.RemoveErrorListeners()
	errs := &syntax{DefaultErrorStrategy: antlr.NewDefaultErrorStrategy(), r: r}
	p.AddErrorListener(errs)
	p.SetErrorHandler(errs)
	p.AddParseListener(b)
	b.parser = p
	return w
}

// module reads the whole text, item by item.
func (r *reader) module() {
	b := newBuilder(r)
	w := r.parser(place{line: 1}, b)
	if t := w.LT(1); t.GetTokenType() == grammar.RelayLexerVERSION {
		r.version(t)
		w.Consume()
	}
	items, defined := 0, map[string]bool{}
	for ; w.LA(1) != antlr.TokenEOF; items++ {
		switch w.LA(1) {
		case grammar.RelayLexerDEF:
			name := globalName(w.LT(2).GetText())
			if defined[name] {
				r.fail(diag.Invalid(step, "@"+name, "the function is defined twice").At(r.pos(w.LT(2))))
			}
			defined[name] = w.LA(2) == grammar.RelayLexerGLOBAL
			if _, read := r.funcs[name]; read && defined[name] { // another one calls it
				skipDefinition(w)
				continue
			}
			b.parser.Item()
		case grammar.RelayLexerTYPE, grammar.RelayLexerEXTERN:
			b.parser.Item()
		default:
			if items > 0 {
				r.fail(r.unexpected(w.LT(1), `"def", "type", "extern" or the end of the text`))
				panic(stop{})
			}
			r.lone(b)
		}
	}
	if items == 0 {
		r.fail(r.unexpected(w.LT(1), `"def" or an expression`))
	}
}

// lone reads a text that is one expression.
func (r *reader) lone(b *builder) {
	b.lone = true
	b.parser.Body()
	if t := b.parser.GetCurrentToken(); t.GetTokenType() != antlr.TokenEOF {
		r.fail(r.unexpected(t, "the end of the text"))
		panic(stop{})
	}
	e := b.pop()
	if e == nil {
		return
	}
	if f, ok := e.(*relay.Function); ok && len(b.free) == 0 {
		r.funcs["main"] = f
		return
	}
	r.funcs["main"] = relay.NewFunction(b.free, e, false, nil, e.Pos())
}

// version checks the header.
func (r *reader) version(t antlr.Token) {
	const want = "0.0.5"
	if found := strings.Split(t.GetText(), `"`)[1]; found != want {
		r.fail(diag.Unsupported(step, "version", "wanted %q, found %q", want, found).At(r.pos(t)))
	}
}

// skipDefinition passes over a definition, from its def to the end of its body.
func skipDefinition(w *window) {
	for depth := 0; w.LA(1) != antlr.TokenEOF; {
		switch w.LA(1) {
		case grammar.RelayLexerLEFT_BRACE, grammar.RelayLexerLEFT_PAREN:
			depth++
		case grammar.RelayLexerRIGHT_PAREN:
			depth--
		case grammar.RelayLexerRIGHT_BRACE:
			if depth--; depth == 0 {
				w.Consume()
				return
			}
		}
		w.Consume()
	}
}

// function returns a function of the module, which is read if it was not yet; nil when it has errors.
func (r *reader) function(name string, pos diag.Pos) *relay.Function {
	if f, ok := r.funcs[name]; ok {
		return f
	}
	if r.open[name] {
		r.fail(diag.Unsupported(step, "@"+name, "the function calls itself, directly or through others").At(pos))
		return nil
	}
	if r.starts == nil {
		r.findDefinitions()
	}
	at, ok := r.starts[name]
	if !ok {
		names := make([]string, 0, len(r.starts))
		for n := range r.starts {
			names = append(names, "@"+n)
		}
		r.fail(diag.Invalid(step, "@"+name, "no function has this name%s", diag.Meant("@"+name, names)).At(pos))
		r.funcs[name] = nil
		return nil
	}
	if len(r.open) >= maxNested {
		r.fail(diag.Unsupported(step, "@"+name, "more than %d functions that call each other are read within each other", maxNested).At(pos))
		panic(stop{})
	}
	b := newBuilder(r)
	r.parser(at, b)
	b.parser.Definition()
	return r.funcs[name]
}

// findDefinitions goes over the tokens for the places where functions are defined.
func (r *reader) findDefinitions() {
	r.starts = map[string]place{}
	lexer := grammar.NewRelayLexer(&chars{file: r.file, text: r.text})
	lexer.RemoveErrorListeners()
	for t := lexer.NextToken(); t.GetTokenType() != antlr.TokenEOF; {
		next := lexer.NextToken()
		if t.GetTokenType() == grammar.RelayLexerDEF && next.GetTokenType() == grammar.RelayLexerGLOBAL {
			if name := globalName(next.GetText()); r.starts[name] == (place{}) {
				r.starts[name] = place{t.GetStart(), t.GetLine(), t.GetColumn()}
			}
		}
		t = next
	}
}
