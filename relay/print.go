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

// Print returns m in Relay's text form. Scalars stand in the text; other constants are meta[relay.Constant][k], and
// the metadata section lists their type, name and the SHA-256 of their data, which is kept elsewhere. Equal modules
// print equally.
func Print(m *Module) string {
	p := newPrinter()
	p.text.WriteString("#[version = \"0.0.5\"]\n")
	for _, name := range slices.Sorted(maps.Keys(m.Funcs)) {
		p.define(name, m.Funcs[name])
	}
	p.metadata(m)
	return p.text.String()
}

// PrintFunction returns one function in Relay's text form, without the metadata section.
func PrintFunction(name string, f *Function) string {
	p := newPrinter()
	p.define(name, f)
	return p.text.String()
}

type printer struct {
	text      strings.Builder
	constants []*Constant
	index     map[*Constant]int

	// of the function that is being printed
	scopes *scopes
	inline map[Expr]bool   // printed where they are used
	names  map[Expr]string // %x, %0
	taken  map[string]int  // names of variables, with the last suffix that was tried for each
	next   int             // number of the next name
	todo   []printTask     // what is still to be written; the last one first
}

// printTask is a piece of text, or a scope whose nodes from number at on are to be written.
type printTask struct {
	text   string
	scope  *scope
	at     int
	indent string
}

func newPrinter() *printer { return &printer{index: map[*Constant]int{}} }

func (p *printer) define(name string, f *Function) {
	p.scopes, p.inline, p.names, p.taken, p.next = newScopes(f), map[Expr]bool{}, map[Expr]string{}, map[string]int{}, 0
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
		switch e.(type) {
		case *Var, *Constant:
			continue
		}
		if e != Expr(f) && !p.inline[e] {
			s := p.scopes.of[e]
			s.nodes = append(s.nodes, e)
		}
	}
	p.text.WriteString("def @" + name + p.signature(f) + " {\n")
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
		value = p.simple(l.Value) + typeComment(l.Value)
	}
	p.text.WriteString(indent + "let " + p.name(l.Var) + ": " + l.Var.Type().String() + " = " + value + ";\n")
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
		p.todo = append(p.todo, printTask{text: indent + "}" + typeComment(e) + after}, printTask{scope: below[1], indent: inner},
			printTask{text: indent + "} else {\n"}, printTask{scope: below[0], indent: inner})
	case *Let:
		p.text.WriteString(indent + before + "{\n")
		p.todo = append(p.todo, printTask{text: indent + "}" + after})
		p.let(e, inner)
	default:
		p.text.WriteString(indent + before + p.simple(e) + typeComment(e) + after)
	}
}

func typeComment(e Expr) string { return " /* ty=" + e.Type().String() + " */" }

// signature prints (%x: T, Primitive=1) -> R.
func (p *printer) signature(f *Function) string {
	var parts []string
	for _, v := range f.Params {
		parts = append(parts, p.name(v)+": "+v.Type().String())
	}
	if f.Primitive {
		parts = append(parts, "Primitive=1")
	}
	for _, key := range slices.Sorted(maps.Keys(f.Attrs)) {
		parts = append(parts, key+"="+strconv.Quote(f.Attrs[key]))
	}
	return "(" + strings.Join(parts, ", ") + ") -> " + f.Body.Type().String()
}

// simple prints a call, tuple or projection.
func (p *printer) simple(e Expr) string {
	var b strings.Builder
	switch e := e.(type) {
	case *Call:
		if e.Fn != nil {
			b.WriteString(p.ref(e.Fn))
		} else {
			b.WriteString(e.Op.Name)
		}
		b.WriteByte('(')
		for i, a := range e.Args {
			if i > 0 {
				b.WriteString(", ")
			}
			b.WriteString(p.ref(a))
		}
		if e.Op != nil {
			for i, f := range changedAttrs(e.Op, e.Attrs) {
				if i > 0 || len(e.Args) > 0 {
					b.WriteString(", ")
				}
				b.WriteString(f.Name + "=" + FormatAttr(f.Value))
			}
		}
		b.WriteByte(')')
	case *Tuple:
		b.WriteByte('(')
		for i, f := range e.Fields {
			if i > 0 {
				b.WriteString(", ")
			}
			b.WriteString(p.ref(f))
		}
		if len(e.Fields) == 1 {
			b.WriteByte(',')
		}
		b.WriteByte(')')
	case *TupleGet:
		b.WriteString(p.ref(e.Tuple) + "." + strconv.Itoa(e.Index))
	}
	return b.String()
}

func (p *printer) isAtom(e Expr) bool {
	switch e.(type) {
	case *Var, *Constant:
		return true
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
	}
	return p.names[e]
}

// name returns the name of a variable, made unique within the function.
func (p *printer) name(v *Var) string {
	if n, ok := p.names[v]; ok {
		return n
	}
	base := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '_', r == '.', r == '/':
			return r
		}
		return '_'
	}, v.Name)
	if base == "" || !(base[0] >= 'a' && base[0] <= 'z' || base[0] >= 'A' && base[0] <= 'Z' || base[0] == '_') {
		base = "v" + base
	}
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

// literal prints a scalar of a type that Relay's text has numbers for.
func literal(t *tensor.Tensor) (string, bool) {
	if len(t.Shape) != 0 || t.Check() != nil {
		return "", false
	}
	switch t.DType {
	case tensor.Float32, tensor.Float64, tensor.Float16, tensor.Int32, tensor.Int64, tensor.Bool:
	default:
		return "", false
	}
	w := tensor.Widen(t)
	if w.F != nil && (math.IsNaN(w.F[0]) || math.IsInf(w.F[0], 0)) {
		return "", false
	}
	switch t.DType {
	case tensor.Float32:
		return strconv.FormatFloat(w.F[0], 'g', -1, 32) + "f", true
	case tensor.Float64:
		return strconv.FormatFloat(w.F[0], 'g', -1, 64) + "f64", true
	case tensor.Float16:
		return strconv.FormatFloat(w.F[0], 'g', -1, 32) + "f16", true
	case tensor.Int32:
		return strconv.FormatInt(w.I[0], 10), true
	case tensor.Int64:
		return strconv.FormatInt(w.I[0], 10) + "i64", true
	}
	return FormatAttr(w.I[0] != 0), true
}

// constantInfo is what the metadata section says of a constant.
type constantInfo struct {
	Name   string       `json:"name,omitempty"`
	DType  tensor.DType `json:"dtype"`
	Shape  tensor.Shape `json:"shape"`
	SHA256 string       `json:"sha256"`
}

func newConstantInfo(name string, t *tensor.Tensor) constantInfo {
	sum := sha256.Sum256(t.Data)
	return constantInfo{name, t.DType, append(tensor.Shape{}, t.Shape...), hex.EncodeToString(sum[:])}
}

func (p *printer) metadata(m *Module) {
	var entries []string
	if len(p.constants) > 0 {
		lines := make([]string, len(p.constants))
		for i, c := range p.constants {
			lines[i] = "    " + toJSON(newConstantInfo(c.Name, c.Value))
		}
		entries = append(entries, "  \"relay.Constant\": [\n"+strings.Join(lines, ",\n")+"\n  ]")
	}
	if len(m.Defaults) > 0 {
		var lines []string
		for _, name := range slices.Sorted(maps.Keys(m.Defaults)) {
			lines = append(lines, "    "+toJSON(newConstantInfo(name, m.Defaults[name])))
		}
		entries = append(entries, "  \"defaults\": [\n"+strings.Join(lines, ",\n")+"\n  ]")
	}
	if len(m.Extents) > 0 {
		entries = append(entries, "  \"extents\": "+toJSON(m.Extents))
	}
	if len(m.Meta) > 0 {
		entries = append(entries, "  \"meta\": "+toJSON(m.Meta))
	}
	if len(m.Outputs) > 0 {
		entries = append(entries, "  \"outputs\": "+toJSON(m.Outputs))
	}
	if len(entries) > 0 {
		p.text.WriteString("#[metadata]\n{\n" + strings.Join(entries, ",\n") + "\n}\n")
	}
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
