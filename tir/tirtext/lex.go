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

// lex splits text in tokens; the depth of a line's blanks becomes indents and dedents.
func lex(file, text string) ([]token, error) {
	if len(text) > maxText {
		return nil, invalidAt(file, 1, 1, "the text has %d bytes, wanted at most %d", len(text), maxText)
	}
	out := make([]token, 0, min(len(text)/4+8, 1<<16))
	levels := []int{0}
	brackets := 0
	line, start := 1, 0
	i, fresh := 0, true
	emit := func(k tokenKind, s string, at int) {
		out = append(out, token{kind: k, text: s, line: int32(line), col: int32(at - start + 1)})
	}
	first := 0 // token of the statement
	for i < len(text) {
		if len(out)-first > maxWords {
			last := out[len(out)-1]
			return nil, invalidAt(file, int(last.line), int(last.col), "a line has more than %d words", maxWords)
		}
		if fresh && brackets == 0 {
			j := i
			for j < len(text) && text[j] == ' ' {
				j++
			}
			if j == len(text) || text[j] == '\n' || text[j] == '#' || text[j] == '\r' {
				i = j
				fresh = false
				continue
			}
			depth := j - i
			i, fresh = j, false
			if depth > levels[len(levels)-1] {
				levels = append(levels, depth)
				emit(tokIndent, "", i)
			}
			for depth < levels[len(levels)-1] {
				levels = levels[:len(levels)-1]
				emit(tokDedent, "", i)
			}
			if depth != levels[len(levels)-1] {
				return nil, invalidAt(file, line, i-start+1, "indentation of %d blanks matches no line above; wanted %d", depth, levels[len(levels)-1])
			}
			continue
		}
		switch c := text[i]; {
		case c == '\n':
			if n := len(out); brackets == 0 && n > 0 && out[n-1].kind != tokNewline && out[n-1].kind != tokDedent && out[n-1].kind != tokIndent {
				emit(tokNewline, "", i)
				first = len(out)
			}
			i++
			line, start, fresh = line+1, i, true
		case c == ' ' || c == '\r':
			i++
		case c == '#':
			for i < len(text) && text[i] != '\n' {
				i++
			}
		case c == '"':
			s, n, ok := quotedAt(text[i:])
			if !ok {
				return nil, invalidAt(file, line, i-start+1, "string has no end on its line or a bad escape")
			}
			emit(tokString, s, i)
			i += n
		case c == '$' || isLetter(c):
			n, err := nameLen(text[i:])
			if err != "" {
				return nil, invalidAt(file, line, i-start+1, "%s", err)
			}
			emit(tokName, text[i:i+n], i)
			i += n
		case isDigit(c):
			n := numberLen(text[i:])
			emit(tokNumber, text[i:i+n], i)
			i += n
		default:
			m := ""
			for _, o := range marks {
				if strings.HasPrefix(text[i:], o) {
					m = o
					break
				}
			}
			if m == "" {
				r, _ := utf8.DecodeRuneInString(text[i:])
				return nil, invalidAt(file, line, i-start+1, "character %q is not part of the language", r)
			}
			switch m {
			case "(", "[", "{":
				brackets++
			case ")", "]", "}":
				brackets = max(brackets-1, 0)
			}
			emit(tokMark, m, i)
			i += len(m)
		}
	}
	if n := len(out); n > 0 && out[n-1].kind != tokNewline {
		emit(tokNewline, "", i)
	}
	for range levels[1:] {
		emit(tokDedent, "", i)
	}
	emit(tokEnd, "", i)
	return out, nil
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
