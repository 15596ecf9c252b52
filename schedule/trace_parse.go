package schedule

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/texel-ml/texel/diag"
)

// ParseTrace reads the text form of a trace; file is named in errors. A first line "trace 1" says the version, and may
// be left out. Empty lines, and what follows a #, are left out.
func ParseTrace(file, text string) (*Trace, error) {
	t := &Trace{}
	for n, line := range strings.Split(text, "\n") {
		p := &stepParser{src: line, pos: diag.Pos{File: file, Line: n + 1}}
		p.space()
		if p.done() {
			continue
		}
		if p.version() {
			if p.err == nil && len(t.Steps) > 0 {
				p.fail(0, "the version stands after a step, wanted it in the first line")
			}
		} else {
			t.Steps = append(t.Steps, p.step())
		}
		if p.err != nil {
			return nil, p.err
		}
	}
	return t, nil
}

// maxNesting bounds lists within lists.
const maxNesting = 16

// stepParser reads one line.
type stepParser struct {
	src  string
	at   int
	deep int
	pos  diag.Pos
	err  error
}

func (p *stepParser) fail(at int, format string, args ...any) {
	if p.err == nil {
		pos := p.pos
		pos.Col = utf8.RuneCountInString(p.src[:at]) + 1
		p.err = diag.Invalid("trace", "", format, args...).At(pos)
	}
	p.at = len(p.src)
}

func (p *stepParser) space() {
	for p.at < len(p.src) && strings.IndexByte(" \t\r", p.src[p.at]) >= 0 {
		p.at++
	}
	if p.at < len(p.src) && p.src[p.at] == '#' {
		p.at = len(p.src)
	}
}

func (p *stepParser) done() bool { return p.at >= len(p.src) }

// found is what stands at the current place, for errors.
func (p *stepParser) found() string {
	if p.done() {
		return "the end of the line"
	}
	_, size := utf8.DecodeRuneInString(p.src[p.at:])
	end := p.at + size
	for isWord(p.src[p.at]) && end < len(p.src) && isWord(p.src[end]) && end < p.at+40 {
		end++
	}
	return strconv.Quote(p.src[p.at:end])
}

func (p *stepParser) take(c byte) bool {
	p.space()
	if p.at < len(p.src) && p.src[p.at] == c {
		p.at++
		p.space()
		return true
	}
	return false
}

func (p *stepParser) want(c byte) {
	if !p.take(c) {
		p.fail(p.at, "wanted %q, found %s", string(c), p.found())
	}
}

func isWord(c byte) bool {
	return c == '_' || c == '.' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
}

func (p *stepParser) word(what string) string {
	p.space()
	begin := p.at
	for p.at < len(p.src) && isWord(p.src[p.at]) {
		p.at++
	}
	if p.at == begin || p.src[begin] >= '0' && p.src[begin] <= '9' || p.src[begin] == '.' {
		p.at = begin
		p.fail(begin, "wanted %s, found %s", what, p.found())
		return ""
	}
	word := p.src[begin:p.at]
	p.space()
	return word
}

// version reads the line that says the version, and reports whether this is it.
func (p *stepParser) version() bool {
	rest, ok := strings.CutPrefix(p.src[p.at:], "trace ")
	if !ok {
		return false
	}
	at := p.at + len("trace ")
	n, err := strconv.Atoi(strings.TrimSpace(rest))
	if err != nil || n != TraceVersion {
		p.fail(at, "the version is %q, wanted %d", strings.TrimSpace(rest), TraceVersion)
	}
	return true
}

// step reads outs = name(values) @ decision.
func (p *stepParser) step() Step {
	s := Step{Pos: p.pos}
	s.Pos.Col = p.at + 1
	name := p.word("a step such as l1, l2 = split(l0, [0, 8])")
	if p.err == nil && !p.starts('(') {
		for at := 0; ; {
			s.Outs = append(s.Outs, p.handle(name, at))
			if !p.take(',') {
				break
			}
			at = p.at
			name = p.word("a handle such as b0, l3 or v1")
		}
		p.want('=')
		name = p.word("the name of a primitive")
	}
	s.Name = name
	p.want('(')
	s.Args = p.list(')')
	if p.take('@') {
		s.Decision = p.value()
	}
	if p.err == nil && !p.done() {
		p.fail(p.at, "wanted the end of the line, found %s", p.found())
	}
	return s
}

func (p *stepParser) starts(c byte) bool { return p.at < len(p.src) && p.src[p.at] == c }

func (p *stepParser) handle(word string, at int) Handle {
	if p.err == nil && !isHandle(word) {
		p.fail(at, "%q is no handle; wanted b, l or v and a number, such as b0, l3 or v1", word)
	}
	return Handle(word)
}

func isHandle(s string) bool {
	if len(s) < 2 || strings.IndexByte("blv", s[0]) < 0 {
		return false
	}
	_, err := strconv.ParseUint(s[1:], 10, 31)
	return err == nil
}

// list reads values up to the closing byte.
func (p *stepParser) list(end byte) []Value {
	list := []Value{}
	if p.take(end) {
		return list
	}
	for p.err == nil {
		list = append(list, p.value())
		if p.take(end) {
			break
		}
		if !p.take(',') {
			p.fail(p.at, "wanted \",\" or %q, found %s", string(end), p.found())
		}
	}
	return list
}

func (p *stepParser) value() Value {
	p.space()
	if p.err != nil {
		return nil
	}
	begin := p.at
	switch {
	case p.take('['):
		if p.deep++; p.deep > maxNesting {
			p.fail(begin, "lists nest deeper than %d", maxNesting)
			return nil
		}
		list := p.list(']')
		p.deep--
		return list
	case p.starts('"'):
		quoted, err := strconv.QuotedPrefix(p.src[p.at:])
		if err != nil {
			p.fail(begin, "the quoted text has no end, or holds an unknown escape")
			return nil
		}
		p.at += len(quoted)
		text, err := strconv.Unquote(quoted)
		if err != nil {
			p.fail(begin, "the quoted text cannot be read")
		}
		p.space()
		return text
	}
	for p.at < len(p.src) && (isWord(p.src[p.at]) || p.src[p.at] == '-' || p.src[p.at] == '+') {
		p.at++
	}
	word := p.src[begin:p.at]
	p.space()
	if isHandle(word) {
		return Handle(word)
	}
	n, err := strconv.ParseInt(word, 10, 32)
	if err == nil {
		return int(n)
	}
	if errors.Is(err, strconv.ErrRange) {
		p.fail(begin, "the number %s is outside -2147483648 to 2147483647", word)
		return nil
	}
	if f, err := strconv.ParseFloat(word, 64); err == nil && strings.ContainsAny(word, ".e") && !math.IsInf(f, 0) {
		return f
	}
	if word == "" {
		p.at = begin
		word = p.found()
	} else {
		word = fmt.Sprintf("%q", word)
	}
	p.fail(begin, "wanted a handle, a number, a quoted text or a list, found %s", word)
	return nil
}
