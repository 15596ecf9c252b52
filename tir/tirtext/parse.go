package tirtext

import (
	"maps"
	"strconv"

	"github.com/texel-ml/texel/tensor"
	"github.com/texel-ml/texel/tir"
)

// maxDepth bounds nested statements and parentheses.
const maxDepth = 2000

// Parse reads the text of one function; file is named in errors.
func Parse(file, text string) (*tir.Func, error) {
	p, err := newParser(file, text)
	if err != nil {
		return nil, err
	}
	f := &tir.Func{}
	p.word("func")
	f.Name = p.anyName()
	f.Params, f.Outputs, f.Scalars = p.signature()
	f.Attrs = p.attrs()
	f.Body = p.suite()
	p.end()
	if p.err != nil {
		return nil, p.err
	}
	return f, nil
}

// ParseKernel reads the text of one kernel; file is named in errors.
func ParseKernel(file, text string) (*tir.Kernel, error) {
	p, err := newParser(file, text)
	if err != nil {
		return nil, err
	}
	k := p.kernel()
	p.end()
	if p.err != nil {
		return nil, p.err
	}
	return k, nil
}

// ParseProgram reads the text of a program; file is named in errors.
func ParseProgram(file, text string) (*tir.Program, error) {
	p, err := newParser(file, text)
	if err != nil {
		return nil, err
	}
	g := &tir.Program{}
	p.word("program")
	g.Name = p.anyName()
	g.Params, g.Outputs, g.Scalars = p.signature()
	if p.took("after") {
		g.Stage = p.quoted("a pass")
	}
	p.newline()
	for p.took("between") {
		b, _ := p.declareBuffer()
		g.Between = append(g.Between, b)
		p.newline()
	}
	vars, bufs, decl := p.vars, p.bufs, p.decl
	for p.err == nil && p.peek().kind != tokEnd {
		// What the program declares, the kernels may declare again, and it is the same then.
		p.vars, p.bufs, p.decl, p.open = maps.Clone(vars), maps.Clone(bufs), maps.Clone(decl), map[string]int{}
		g.Kernels = append(g.Kernels, p.kernel())
	}
	if p.err != nil {
		return nil, p.err
	}
	return g, nil
}

func (p *parser) kernel() *tir.Kernel {
	k := &tir.Kernel{GridExtent: 1}
	p.word("kernel")
	k.Name = p.anyName()
	k.Params, k.Outputs, k.Scalars = p.signature()
	if p.took("grid") {
		k.Grid = p.declareVar()
		p.mark("=")
		k.GridExtent = p.count()
	}
	if p.took("group") {
		k.Group = p.count()
	}
	if p.took("scratch") {
		k.Scratch = p.count()
	}
	k.Body = p.suite()
	return k
}

type parser struct {
	file  string
	toks  []token
	at    int
	depth int
	err   error
	vars  map[string]*tir.Var    // by spelling
	bufs  map[string]*tir.Buffer // by spelling
	open  map[string]int         // spellings in scope
	decl  map[string]string      // a buffer's declaration, printed
}

func newParser(file, text string) (*parser, error) {
	toks, err := lex(file, text)
	if err != nil {
		return nil, err
	}
	return &parser{file: file, toks: toks, vars: map[string]*tir.Var{}, bufs: map[string]*tir.Buffer{}, open: map[string]int{},
		decl: map[string]string{}}, nil
}

func (p *parser) peek() token {
	if p.err != nil {
		return token{kind: tokEnd}
	}
	return p.toks[p.at]
}

func (p *parser) next() token {
	t := p.peek()
	if p.err == nil && p.at < len(p.toks)-1 {
		p.at++
	}
	return t
}

func (p *parser) fail(t token, format string, args ...any) {
	if p.err == nil {
		p.err = invalidAt(p.file, int(t.line), int(t.col), format, args...)
	}
}

func (p *parser) wanted(what string) { p.fail(p.peek(), "wanted %s, found %v", what, p.peek()) }

func (p *parser) is(kind tokenKind, text string) bool {
	t := p.peek()
	return t.kind == kind && t.text == text
}

// mark takes a mark that must be there.
func (p *parser) mark(m string) {
	if !p.is(tokMark, m) {
		p.wanted(strconv.Quote(m))
		return
	}
	p.next()
}

// tookMark takes a mark if it is there.
func (p *parser) tookMark(m string) bool {
	ok := p.is(tokMark, m)
	if ok {
		p.next()
	}
	return ok
}

// took takes a word if it is there.
func (p *parser) took(word string) bool {
	ok := p.is(tokName, word)
	if ok {
		p.next()
	}
	return ok
}

func (p *parser) word(w string) {
	if !p.took(w) {
		p.wanted(strconv.Quote(w))
	}
}

func (p *parser) newline() {
	if p.peek().kind != tokNewline {
		p.wanted("the end of the line")
		return
	}
	p.next()
}

func (p *parser) end() {
	if p.peek().kind != tokEnd {
		p.wanted("the end of the text")
	}
}

// anyName takes the name of a function or a block.
func (p *parser) anyName() string {
	if p.peek().kind != tokName {
		p.wanted("a name")
		return ""
	}
	return p.next().name()
}

// quoted takes a text in quotes; what says for the error what it is.
func (p *parser) quoted(what string) string {
	if p.peek().kind != tokString {
		p.wanted(what + " in quotes")
	}
	return p.next().text
}

// count takes a number that is not negative and fits in 32 bits.
func (p *parser) count() int {
	t := p.peek()
	n, err := strconv.ParseInt(t.text, 10, 32)
	if t.kind != tokNumber || err != nil {
		p.wanted("a count")
		return 0
	}
	p.next()
	return int(n)
}

// counts takes [n, n, …].
func (p *parser) counts() []int {
	out := []int{}
	p.mark("[")
	for !p.tookMark("]") && p.err == nil {
		if len(out) > 0 {
			p.mark(",")
		}
		out = append(out, p.count())
	}
	return out
}

func (p *parser) dtype() tensor.DType {
	t := p.peek()
	d, err := tensor.ParseDType(t.text)
	if t.kind != tokName || err != nil {
		p.wanted("an element type")
		return tensor.Float32
	}
	p.next()
	return d
}

// declare opens a spelling; a spelling may be declared again when it is not in scope.
func (p *parser) declare(t token) {
	if t.kind != tokName {
		p.fail(t, "wanted a name, found %v", t)
		return
	}
	if !t.quoted() && quote(t.name()) != t.name() {
		p.fail(t, "%s is a word of the language; wanted a name", t.text)
	}
	if p.open[t.text] > 0 {
		p.fail(t, "%s is in scope already", t.text)
	}
	p.open[t.text]++
}

func (p *parser) close(spelling string) { p.open[spelling]-- }

// declareVar takes NAME or NAME: DTYPE.
func (p *parser) declareVar() *tir.Var {
	t := p.next()
	d := tensor.Int64
	if p.tookMark(":") {
		d = p.dtype()
	}
	return p.newVar(t, d)
}

func (p *parser) newVar(t token, d tensor.DType) *tir.Var {
	p.declare(t)
	if v := p.vars[t.text]; v != nil {
		if v.DType != d {
			p.fail(t, "%s was declared as %v before, now as %v", t.text, v.DType, d)
		}
		return v
	}
	if p.bufs[t.text] != nil {
		p.fail(t, "%s is a buffer", t.text)
	}
	v := &tir.Var{Name: t.name(), DType: d}
	p.vars[t.text] = v
	return v
}

// declareBuffer takes NAME: DTYPE[SHAPE] and what follows; it returns the spelling too.
func (p *parser) declareBuffer() (*tir.Buffer, string) {
	t := p.next()
	p.declare(t)
	p.mark(":")
	b := &tir.Buffer{Name: t.name(), DType: p.dtype(), Shape: p.counts(), Scope: tir.Global}
	if p.took("strides") {
		at := p.peek()
		if b.Strides = p.counts(); len(b.Strides) != len(b.Shape) {
			p.fail(at, "wanted %d strides, found %d", len(b.Shape), len(b.Strides))
		}
	}
	b.Scope = p.scope(tir.Global)
	if p.took("fold") {
		b.Folding = &tir.Folding{Width: p.axes(len(b.Shape)), Height: p.axes(len(b.Shape)), Layers: p.axes(len(b.Shape))}
	}
	if p.err != nil {
		return b, t.text
	}
	w := newPrinter()
	w.buffer(b)
	if old := p.bufs[t.text]; old != nil {
		if p.decl[t.text] != w.b.String() {
			p.fail(t, "%s was declared as %q before, now as %q", t.text, p.decl[t.text], w.b.String())
		}
		return old, t.text
	}
	if p.vars[t.text] != nil {
		p.fail(t, "%s is a variable", t.text)
	}
	p.bufs[t.text], p.decl[t.text] = b, w.b.String()
	return b, t.text
}

// scope takes a scope if it is there.
func (p *parser) scope(otherwise tir.Scope) tir.Scope {
	switch s := p.peek(); {
	case s.kind == tokName && (s.text == "shared" || s.text == "local" || s.text == "scratch" || s.text == "texture" || s.text == "global"):
		return tir.Scope(p.next().text)
	case p.took("scope"):
		return tir.Scope(p.quoted("a scope"))
	}
	return otherwise
}

func (p *parser) axes(rank int) []int {
	at := p.peek()
	list := p.counts()
	for _, a := range list {
		if a >= rank {
			p.fail(at, "axis %d of a buffer with %d axes", a, rank)
		}
	}
	if len(list) == 0 {
		return nil
	}
	return list
}

func (p *parser) signature() (params []*tir.Buffer, outputs int, scalars []*tir.Var) {
	p.mark("(")
	for !p.tookMark(")") && p.err == nil {
		if len(params)+len(scalars) > 0 {
			p.mark(",")
		}
		at := p.peek()
		switch {
		case p.took("scalar"):
			scalars = append(scalars, p.declareVar())
			continue
		case len(scalars) > 0:
			p.fail(at, "wanted a scalar, found a buffer: scalars come last")
		case p.took("out"):
			outputs++
		case outputs > 0:
			p.fail(at, "wanted an output, found an input: outputs come after inputs")
		}
		b, _ := p.declareBuffer()
		params = append(params, b)
	}
	return params, outputs, scalars
}

func (p *parser) attrs() map[string]string {
	if !p.took("attrs") {
		return nil
	}
	out := map[string]string{}
	p.mark("{")
	for !p.tookMark("}") && p.err == nil {
		if len(out) > 0 {
			p.mark(",")
		}
		at := p.peek()
		key := p.quoted("a key")
		if _, twice := out[key]; twice {
			p.fail(at, "key %q is there twice", key)
		}
		p.mark(":")
		out[key] = p.quoted("a value")
	}
	return out
}
