package tirtext

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/texel-ml/texel/diag"
)

type tokenKind uint8

const (
	tokEnd tokenKind = iota
	tokNewline
	tokIndent
	tokDedent
	tokName   // text is the spelling: quotes and number with it
	tokNumber // text as written
	tokString // text is unquoted
	tokMark   // an operator or punctuation
)

type token struct {
	text      string
	line, col int32
	kind      tokenKind
}

// quoted reports whether a name is written in quotes.
func (t token) quoted() bool { return strings.HasPrefix(t.text, "$") }

// name returns a name without its quotes and its number.
func (t token) name() string {
	if t.quoted() {
		name, _, _ := quotedAt(t.text[1:])
		return name
	}
	name, _, _ := strings.Cut(t.text, "@")
	return name
}

func (t token) String() string {
	switch t.kind {
	case tokEnd:
		return "the end of the text"
	case tokNewline:
		return "the end of the line"
	case tokIndent:
		return "a deeper indentation"
	case tokDedent:
		return "the end of the indented lines"
	case tokString:
		return strconv.Quote(t.text)
	}
	return fmt.Sprintf("%q", t.text)
}

func invalidAt(file string, line, col int, format string, args ...any) error {
	return diag.Invalid("tirtext", "", format, args...).At(diag.Pos{File: file, Line: line, Col: col})
}

// marks are the operators and punctuation, longer ones first.
var marks = []string{"+:", "//", "%%", "==", "!=", "<=", ">=", "<<", ">>", "+", "-", "*", "/", "%", "&", "|", "^", "<", ">",
	"=", "(", ")", "[", "]", "{", "}", ",", ":"}

// maxWords bounds the tokens of a line, and with them the depth of a chain such as 1 + 1 + 1: trees are walked by
// functions that call themselves.
const maxWords = 250_000

// maxText bounds a text, in bytes; a token takes up to 32 times as many.
const maxText = 64 << 20

// lexer splits a text in tokens; the depth of a line's blanks becomes indents and dedents.
type lexer struct {
	file, text  string
	out         []token
	levels      []int // of indentation, open ones
	brackets    int   // open ones: lines end only outside
	line, start int   // and where it starts
	at          int
	first       int  // token of the line
	fresh       bool // nothing of the line was read
}

func lex(file, text string) ([]token, error) {
	if len(text) > maxText {
		return nil, invalidAt(file, 1, 1, "the text has %d bytes, wanted at most %d", len(text), maxText)
	}
	l := &lexer{file: file, text: text, out: make([]token, 0, min(len(text)/4+8, 1<<16)), levels: []int{0}, line: 1, fresh: true}
	for l.at < len(text) {
		if len(l.out)-l.first > maxWords {
			last := l.out[len(l.out)-1]
			return nil, invalidAt(file, int(last.line), int(last.col), "a line has more than %d words", maxWords)
		}
		next := l.word
		if l.fresh && l.brackets == 0 {
			next = l.indentation
		}
		if err := next(); err != nil {
			return nil, err
		}
	}
	if n := len(l.out); n > 0 && l.out[n-1].kind != tokNewline {
		l.emit(tokNewline, 0)
	}
	for range l.levels[1:] {
		l.emit(tokDedent, 0)
	}
	l.emit(tokEnd, 0)
	return l.out, nil
}

// emit adds a token of the next n bytes and goes behind them.
func (l *lexer) emit(k tokenKind, n int) {
	l.out = append(l.out, token{kind: k, text: l.text[l.at : l.at+n], line: int32(l.line), col: int32(l.at - l.start + 1)})
	l.at += n
}

func (l *lexer) fail(format string, args ...any) error {
	return invalidAt(l.file, l.line, l.at-l.start+1, format, args...)
}

// indentation takes the blanks at the start of a line.
func (l *lexer) indentation() error {
	l.fresh = false
	j := l.at
	for j < len(l.text) && l.text[j] == ' ' {
		j++
	}
	depth := j - l.at
	l.at = j
	if j == len(l.text) || l.text[j] == '\n' || l.text[j] == '#' || l.text[j] == '\r' {
		return nil // an empty line
	}
	if depth > l.levels[len(l.levels)-1] {
		l.levels = append(l.levels, depth)
		l.emit(tokIndent, 0)
	}
	for depth < l.levels[len(l.levels)-1] {
		l.levels = l.levels[:len(l.levels)-1]
		l.emit(tokDedent, 0)
	}
	if want := l.levels[len(l.levels)-1]; depth != want {
		return l.fail("indentation of %d blanks matches no line above; wanted %d", depth, want)
	}
	return nil
}

// word takes one token, or what is none.
func (l *lexer) word() error {
	rest := l.text[l.at:]
	switch c := rest[0]; {
	case c == '\n':
		if n := len(l.out); l.brackets == 0 && n > 0 && l.out[n-1].kind != tokNewline && l.out[n-1].kind != tokDedent && l.out[n-1].kind != tokIndent {
			l.emit(tokNewline, 0)
			l.first = len(l.out)
		}
		l.at++
		l.line, l.start, l.fresh = l.line+1, l.at, true
	case c == ' ' || c == '\r':
		l.at++
	case c == '#':
		if n := strings.IndexByte(rest, '\n'); n >= 0 {
			l.at += n
		} else {
			l.at = len(l.text)
		}
	case c == '"':
		s, n, ok := quotedAt(rest)
		if !ok {
			return l.fail("string has no end on its line or a bad escape")
		}
		l.emit(tokString, n)
		l.out[len(l.out)-1].text = s
	case c == '$' || isLetter(c):
		n, err := nameLen(rest)
		if err != "" {
			return l.fail("%s", err)
		}
		l.emit(tokName, n)
	case isDigit(c):
		l.emit(tokNumber, numberLen(rest))
	default:
		return l.mark(rest)
	}
	return nil
}

// mark takes an operator or punctuation.
func (l *lexer) mark(rest string) error {
	for _, m := range marks {
		if !strings.HasPrefix(rest, m) {
			continue
		}
		switch m {
		case "(", "[", "{":
			l.brackets++
		case ")", "]", "}":
			l.brackets = max(l.brackets-1, 0)
		}
		l.emit(tokMark, len(m))
		return nil
	}
	r, _ := utf8.DecodeRuneInString(rest)
	return l.fail("character %q is not part of the language", r)
}

// quotedAt reads a Go string literal at the start of s.
func quotedAt(s string) (value string, n int, ok bool) {
	q, err := strconv.QuotedPrefix(s)
	if err != nil {
		return "", 0, false
	}
	value, err = strconv.Unquote(q)
	return value, len(q), err == nil
}

// nameLen returns the length of the name at the start of s with its number, or what is wrong with it.
func nameLen(s string) (n int, wrong string) {
	if s[0] == '$' {
		_, k, ok := quotedAt(s[1:])
		if !ok || s[1] != '"' {
			return 0, "wanted a quoted name after $"
		}
		n = k + 1
	} else {
		for n < len(s) && (isLetter(s[n]) || isDigit(s[n]) || s[n] == '.' && n+1 < len(s) && (isLetter(s[n+1]) || isDigit(s[n+1]))) {
			n++
		}
	}
	if n < len(s) && s[n] == '@' {
		k := n + 1
		for k < len(s) && isDigit(s[k]) {
			k++
		}
		if k == n+1 {
			return 0, "wanted a number after @"
		}
		n = k
	}
	return n, ""
}

// numberLen returns the length of the number at the start of s with its type.
func numberLen(s string) int {
	n := 0
	digits := func() {
		for n < len(s) && isDigit(s[n]) {
			n++
		}
	}
	digits()
	if n+1 < len(s) && s[n] == '.' && isDigit(s[n+1]) {
		n++
		digits()
	}
	if n < len(s) && (s[n] == 'e' || s[n] == 'E') {
		k := n + 1
		if k < len(s) && (s[k] == '+' || s[k] == '-') {
			k++
		}
		if k < len(s) && isDigit(s[k]) {
			n = k
			digits()
		}
	}
	for n < len(s) && (isLetter(s[n]) || isDigit(s[n])) {
		n++
	}
	return n
}
