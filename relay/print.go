package relay

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/texel-ml/texel/tensor"
)

// Print returns m in Relay's text form, which package relaytext reads. Scalars stand in the text; other constants are
// meta[relay.Constant][k], and the metadata section lists their type, name and the SHA-256 of their data, which is kept
// elsewhere. Equal modules print equally.
func Print(m *Module) string { return PrintOptions{}.Print(m) }

// PrintOptions say what the text of a module has. The zero value is that of Print.
type PrintOptions struct {
	// Spans writes the names of the model's nodes, span=NAME:0:0 behind the type.
	Spans bool
	// Digest returns the SHA-256 of a constant's data, in hexadecimal; nil is the function Digest.
	Digest func(*tensor.Tensor) string
}

// Print returns m in Relay's text form; see the function Print.
func (o PrintOptions) Print(m *Module) string { return o.print(m, nil) }

// print is Print with the nodes of the same model at another batch, by those of m: what differs is written as open.
func (o PrintOptions) print(m *Module, beside map[Expr]Expr) string {
	p := newPrinter()
	p.spans, p.beside = o.Spans, beside
	digest := o.Digest
	if digest == nil {
		digest = Digest
	}
	for name, f := range m.Funcs {
		p.globals[f] = global(name)
	}
	p.text.WriteString("#[version = \"0.0.5\"]\n")
	for _, name := range slices.Sorted(maps.Keys(m.Funcs)) {
		p.define(name, m.Funcs[name])
	}
	p.metadata(m, digest)
	return p.text.String()
}

// PrintFunction returns one function in Relay's text form, without the metadata section.
func PrintFunction(name string, f *Function) string {
	p := newPrinter()
	p.define(name, f)
	return p.text.String()
}

// Digest returns the SHA-256 of the data of t in hexadecimal.
func Digest(t *tensor.Tensor) string {
	sum := sha256.Sum256(t.Data)
	return hex.EncodeToString(sum[:])
}

type printer struct {
	text      strings.Builder
	spans     bool // PrintOptions.Spans
	beside    map[Expr]Expr
	constants []*Constant
	index     map[*Constant]int
	globals   map[*Function]string // functions of the module, @f

	defined *Function // the function that is being printed
	scopes  *scopes
	inline  map[Expr]bool   // printed where they are used
	names   map[Expr]string // %x, %0
	taken   map[string]int  // names of variables, with the last suffix that was tried for each
	next    int             // number of the next name
	todo    []printTask     // what is still to be written; the last one first
}

// printTask is a piece of text, or a scope whose nodes from number at on are to be written.
type printTask struct {
	text   string
	scope  *scope
	at     int
	indent string
}

func newPrinter() *printer {
	return &printer{index: map[*Constant]int{}, globals: map[*Function]string{}}
}

func (p *printer) define(name string, f *Function) {
	p.defined = f
	p.scopes, p.inline, p.names, p.taken, p.next = newScopes(f, p.globals), map[Expr]bool{}, map[Expr]string{}, map[string]int{}, 0
	for _, e := range p.scopes.order {
		for _, below := range p.scopes.below[e] {
			if below != nil && p.scopes.uses[below.result] == 1 {
				p.inline[below.result] = true
			}
		}
		if l, ok := e.(*Let); ok && p.scopes.uses[l.Value] == 1 {
			switch l.Value.(type) {
			case *Call, *Tuple, *TupleGet:
				p.inline[l.Value] = true
			}
		}
	}
	for _, e := range p.scopes.order {
		if p.isAtom(e) {
			continue
		}
		if e != Expr(f) && !p.inline[e] {
			s := p.scopes.of[e]
			s.nodes = append(s.nodes, e)
		}
	}
	p.text.WriteString("def " + global(name) + p.signature(f) + " {\n")
	p.todo = []printTask{{text: "}\n"}, {scope: p.scopes.below[f][0], indent: "  "}}
	for len(p.todo) > 0 {
		t := p.todo[len(p.todo)-1]
		p.todo = p.todo[:len(p.todo)-1]
		switch {
		case t.scope == nil:
			p.text.WriteString(t.text)
		case t.at < len(t.scope.nodes):
			e := t.scope.nodes[t.at]
			t.at++
			p.todo = append(p.todo, t)
			p.names[e] = "%" + strconv.Itoa(p.next)
			p.next++
			p.statement(e, t.indent, p.names[e]+" = ", ";\n")
		default:
			p.result(t.scope.result, t.indent)
		}
	}
}

// result writes the value of a scope.
func (p *printer) result(e Expr, indent string) {
	if !p.inline[e] || p.isAtom(e) {
		p.text.WriteString(indent + p.ref(e) + "\n")
		return
	}
	if l, ok := e.(*Let); ok {
		p.let(l, indent)
		return
	}
	p.statement(e, indent, "", "\n")
}

func (p *printer) let(l *Let, indent string) {
	value := p.ref(l.Value)
	if p.inline[l.Value] {
		value = p.simple(l.Value) + p.comment(l.Value)
	}
	p.text.WriteString(indent + "let " + p.name(l.Var) + ": " + p.typeOf(l.Var) + " = " + value + ";\n")
	p.todo = append(p.todo, printTask{scope: p.scopes.below[l][0], indent: indent})
}

// statement writes before, the expression and after.
func (p *printer) statement(e Expr, indent, before, after string) {
	inner := indent + "  "
	below := p.scopes.below[e]
	switch e := e.(type) {
	case *Function:
		p.text.WriteString(indent + before + "fn " + p.signature(e) + " {\n")
		p.todo = append(p.todo, printTask{text: indent + "}" + after}, printTask{scope: below[0], indent: inner})
	case *If:
		p.text.WriteString(indent + before + "if (" + p.ref(e.Cond) + ") {\n")
		p.todo = append(p.todo, printTask{text: indent + "}" + p.comment(e) + after}, printTask{scope: below[1], indent: inner},
			printTask{text: indent + "} else {\n"}, printTask{scope: below[0], indent: inner})
	case *Let:
		p.text.WriteString(indent + before + "{\n")
		p.todo = append(p.todo, printTask{text: indent + "}" + after})
		p.let(e, inner)
	default:
		p.text.WriteString(indent + before + p.simple(e) + p.comment(e) + after)
	}
}

// comment says the type of a node, and its name in the model.
func (p *printer) comment(e Expr) string {
	text := " /* ty=" + p.typeOf(e)
	if node := e.Pos().Node; p.spans && node != "" {
		text += " span=" + spanName(node) + ":0:0"
	}
	return text + " */"
}

// spanName returns the name of a node as a comment can have it: in quotes where it would not end where it does.
func spanName(node string) string {
	quoted := strconv.Quote(node)
	if quoted[1:len(quoted)-1] == node && !strings.ContainsAny(node, " *,:") {
		return node
	}
	return strings.ReplaceAll(quoted, "*", `\x2a`)
}

// signature prints (%x: T, Primitive=1) -> R.
func (p *printer) signature(f *Function) string {
	var parts []string
	for _, v := range f.Params {
		parts = append(parts, p.name(v)+": "+p.typeOf(v))
	}
	if f.Primitive {
		parts = append(parts, "Primitive=1")
	}
	for _, key := range slices.Sorted(maps.Keys(f.Attrs)) {
		parts = append(parts, key+"="+strconv.Quote(f.Attrs[key]))
	}
	return "(" + strings.Join(parts, ", ") + ") -> " + p.typeOf(f.Body)
}

// simple prints a call, loop, tuple or projection.
func (p *printer) simple(e Expr) string {
	var b strings.Builder
	switch e := e.(type) {
	case *Call:
		if e.Fn != nil {
			b.WriteString(p.ref(e.Fn))
		} else {
			b.WriteString(TextName(e.Op))
		}
		b.WriteByte('(')
		for i, a := range e.Args {
			if i > 0 {
				b.WriteString(", ")
			}
			b.WriteString(p.ref(a))
		}
		if e.Op != nil {
			for i, attr := range writtenAttrs(e.Op, p.attrsOf(e)) {
				if i > 0 || len(e.Args) > 0 {
					b.WriteString(", ")
				}
				b.WriteString(attr)
			}
		}
		b.WriteByte(')')
	case *Loop:
		b.WriteString(LoopName + "(" + p.ref(e.Body))
		for _, operands := range e.Operands() {
			b.WriteString(", " + p.tuple(operands))
		}
		b.WriteString(", max_rounds=" + strconv.Itoa(e.Max) + ")")
	case *Tuple:
		b.WriteString(p.tuple(e.Fields))
	case *TupleGet:
		tuple, field := p.ref(e.Tuple), "."+strconv.Itoa(e.Index)
		if _, ambiguous := p.taken[tuple[1:]+field]; ambiguous { // a variable is named so
			tuple = "(" + tuple + ")"
		}
		b.WriteString(tuple + field)
	}
	return b.String()
}

// tuple prints (%a, %b), and (%a,) for a single field.
func (p *printer) tuple(fields []Expr) string {
	parts := make([]string, len(fields))
	for i, f := range fields {
		parts[i] = p.ref(f)
	}
	if len(fields) == 1 {
		parts[0] += ","
	}
	return "(" + strings.Join(parts, ", ") + ")"
}

// global returns the name of a function of the module as the text has it: in quotes where it could not be read.
func global(name string) string {
	if TextIdent(name) == name {
		return "@" + name
	}
	return "@" + strconv.Quote(name)
}

// isAtom reports whether e stands for itself wherever it is used.
func (p *printer) isAtom(e Expr) bool {
	switch e := e.(type) {
	case *Var, *Constant:
		return true
	case *Function:
		return p.globals[e] != "" && e != p.defined
	}
	return false
}

// ref prints a use of a node: its name, or a constant.
func (p *printer) ref(e Expr) string {
	switch e := e.(type) {
	case *Var:
		return p.name(e)
	case *Constant:
		if text, ok := literal(e.Value); ok {
			return text
		}
		at, ok := p.index[e]
		if !ok {
			at = len(p.constants)
			p.index[e] = at
			p.constants = append(p.constants, e)
		}
		return fmt.Sprintf("meta[relay.Constant][%d]", at)
	case *Function:
		if name := p.globals[e]; name != "" {
			return name
		}
	}
	return p.names[e]
}

// name returns the name of a variable, made unique within the function.
func (p *printer) name(v *Var) string {
	if n, ok := p.names[v]; ok {
		return n
	}
	base := TextIdent(v.Name)
	name := base
	for used := true; used; {
		if _, used = p.taken[name]; used {
			p.taken[base]++
			name = base + "_" + strconv.Itoa(p.taken[base])
		}
	}
	p.taken[name] = 0
	p.names[v] = "%" + name
	return p.names[v]
}

// TextIdent returns a name as Relay's text can have it, without the sign: letters, digits, _, and . and / between them,
// beginning with a letter. It is name where that is so.
func TextIdent(name string) string {
	b := []byte(name)
	plain := func(i int) bool {
		return i < len(b) && (b[i] >= 'a' && b[i] <= 'z' || b[i] >= 'A' && b[i] <= 'Z' || b[i] >= '0' && b[i] <= '9' || b[i] == '_')
	}
	for i, c := range b {
		if !plain(i) && !((c == '.' || c == '/') && i > 0 && plain(i+1)) {
			b[i] = '_'
		}
	}
	if len(b) == 0 || b[0] >= '0' && b[0] <= '9' {
		return "v" + string(b)
	}
	return string(b)
}

// InText reports whether the text of a module holds the data of a constant; that of others is kept by its digest.
func InText(t *tensor.Tensor) bool {
	_, ok := literal(t)
	return ok
}

// suffixes of the numbers of element types that are computed in; an int32 needs none.
var suffixes = map[tensor.DType]string{
	tensor.Float32: "f", tensor.Float64: "f64", tensor.Float16: "f16", tensor.BFloat16: "bf16",
	tensor.Int8: "i8", tensor.Int16: "i16", tensor.Int32: "", tensor.Int64: "i64",
	tensor.Uint8: "u8", tensor.Uint16: "u16", tensor.Uint32: "u32", tensor.Uint64: "u64",
}

// literal prints a scalar of an element type that is computed in. A NaN is none: its bits would be lost.
func literal(t *tensor.Tensor) (string, bool) {
	suffix, number := suffixes[t.DType]
	if len(t.Shape) != 0 || t.Check() != nil || !number && t.DType != tensor.Bool {
		return "", false
	}
	w := tensor.Widen(t)
	switch {
	case !number:
		return FormatAttr(w.I[0] != 0), true
	case t.DType == tensor.Uint64:
		return strconv.FormatUint(uint64(w.I[0]), 10) + suffix, true
	case w.I != nil:
		return strconv.FormatInt(w.I[0], 10) + suffix, true
	case math.IsNaN(w.F[0]):
		return "", false
	}
	bits := 32 // shorter types need no more digits
	if t.DType == tensor.Float64 {
		bits = 64
	}
	return formatNumber(w.F[0], bits) + suffix, true
}

// ConstantInfo is what the metadata section says of a constant.
type ConstantInfo struct {
	Name   string       `json:"name,omitempty"`
	DType  tensor.DType `json:"dtype"`
	Shape  tensor.Shape `json:"shape"`
	SHA256 string       `json:"sha256"` // of its data
}

// TextMetadata is the metadata section of a module's text, a JSON object: what its functions do not say.
type TextMetadata struct {
	Constants []ConstantInfo    `json:"relay.Constant,omitempty"` // meta[relay.Constant][k], in the order of k
	Defaults  []ConstantInfo    `json:"defaults,omitempty"`
	Extents   map[string]Extent `json:"extents,omitempty"`
	Inputs    []string          `json:"inputs,omitempty"` // the true names of main's parameters, where the text's differ
	Meta      map[string]string `json:"meta,omitempty"`
	Outputs   []string          `json:"outputs,omitempty"`
}

// metadata writes the metadata section: one line a constant and one for each other entry.
func (p *printer) metadata(m *Module, digest func(*tensor.Tensor) string) {
	info := func(name string, t *tensor.Tensor) ConstantInfo {
		return ConstantInfo{name, t.DType, append(tensor.Shape{}, t.Shape...), digest(t)}
	}
	var entries []string
	add := func(key, value string) { entries = append(entries, "  "+strconv.Quote(key)+": "+value) }
	list := func(key string, infos []ConstantInfo) {
		if len(infos) == 0 {
			return
		}
		lines := make([]string, len(infos))
		for i, info := range infos {
			lines[i] = "    " + toJSON(info)
		}
		add(key, "[\n"+strings.Join(lines, ",\n")+"\n  ]")
	}
	constants := make([]ConstantInfo, len(p.constants))
	for i, c := range p.constants {
		constants[i] = info(c.Name, c.Value)
	}
	list("relay.Constant", constants)
	defaults := make([]ConstantInfo, 0, len(m.Defaults))
	for _, name := range slices.Sorted(maps.Keys(m.Defaults)) {
		defaults = append(defaults, info(name, m.Defaults[name]))
	}
	list("defaults", defaults)
	if len(m.Extents) > 0 {
		add("extents", toJSON(m.Extents))
	}
	if names, differ := inputNames(m); differ {
		add("inputs", toJSON(names))
	}
	if len(m.Meta) > 0 {
		add("meta", toJSON(m.Meta))
	}
	if len(m.Outputs) > 0 {
		add("outputs", toJSON(m.Outputs))
	}
	if len(entries) > 0 {
		p.text.WriteString("#[metadata]\n{\n" + strings.Join(entries, ",\n") + "\n}\n")
	}
}

// inputNames returns the names of main's parameters, and whether the text has other ones.
func inputNames(m *Module) (names []string, differ bool) {
	main := m.Main()
	if main == nil {
		return nil, false
	}
	for _, v := range main.Params {
		names = append(names, v.Name)
		differ = differ || TextIdent(v.Name) != v.Name
	}
	return names, differ
}

// toJSON returns v, which always has a JSON form, on one line; maps in order of their keys.
func toJSON(v any) string {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return strconv.Quote(err.Error())
	}
	return strings.TrimSuffix(b.String(), "\n")
}
