package main

import (
	"io"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/texel-ml/texel/diag"
	"github.com/texel-ml/texel/relay/relaytext"
)

func (a *app) fmtCommand() *cobra.Command {
	write := false
	c := &cobra.Command{
		Use:   "fmt X.relay·X.tir…",
		Short: "prints .relay and .tir files canonically",
		Args: func(c *cobra.Command, given []string) error {
			if len(given) == 0 {
				return usage("%s wants .relay or .tir files, found no arguments", c.CommandPath())
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error { return a.format(args, write) },
	}
	c.Flags().BoolVarP(&write, "write", "w", false, "write each file in place instead of printing it")
	return c
}

// format prints files canonically, or rewrites those that differ. Nothing is written unless all of them parse.
func (a *app) format(paths []string, write bool) error {
	texts := make([]string, len(paths))
	changed := make([]bool, len(paths))
	for i, path := range paths {
		text, canonical, err := canonicalText(path)
		if err != nil {
			return err
		}
		texts[i], changed[i] = canonical, canonical != text
	}
	for i, path := range paths {
		if !write {
			if _, err := io.WriteString(a.out, texts[i]); err != nil {
				return err
			}
		} else if changed[i] {
			if err := writeText(path, texts[i]); err != nil {
				return err
			}
		}
	}
	return nil
}

// canonicalText returns the text of a file and its canonical form.
func canonicalText(path string) (text, canonical string, err error) {
	if strings.EqualFold(filepath.Ext(path), ".relay") {
		if text, err = readText(".relay file", path); err == nil {
			canonical, err = relaytext.Format(path, text)
		}
		return text, canonical, err
	}
	p, err := readLoops(path)
	if err != nil {
		return "", "", err
	}
	canonical, err = withComments(path, p.text, p.print())
	return p.text, canonical, err
}

// cutComment cuts the comment off a line; a # in a quoted text is none.
func cutComment(line string) (code, comment string) {
	for i := 0; i < len(line); i++ {
		switch line[i] {
		case '#':
			return strings.TrimRight(line[:i], " \r"), strings.TrimRight(line[i:], " \r\n")
		case '"':
			q, err := strconv.QuotedPrefix(line[i:])
			if err != nil {
				return strings.TrimRight(line, " \r\n"), ""
			}
			i += len(q) - 1
		}
	}
	return strings.TrimRight(line, " \r\n"), ""
}

// remark is a comment and the statement that it belongs to, by the statement's number.
type remark struct {
	text   string
	at     int
	behind bool // on the statement's own line; else on a line before it
	line   int  // in the file, from 1
}

// remarks returns the comments of a .tir text and the number of its statements: a statement is a line, or several where
// brackets stay open.
func remarks(text string) (list []remark, statements int) {
	depth, line := 0, 0
	var held []remark // comments inside open brackets go before their statement, that of the last line behind it
	for l := range strings.Lines(text) {
		line++
		code, comment := cutComment(l)
		if code = strings.TrimSpace(code); code != "" {
			depth = max(0, depth+openBrackets(code))
		}
		closes := code != "" && depth == 0
		if comment != "" {
			held = append(held, remark{text: comment, at: statements, behind: closes, line: line})
		}
		if closes {
			statements++
		}
		if depth == 0 {
			list, held = append(list, held...), nil
		}
	}
	return append(list, held...), statements
}

// openBrackets counts the brackets that a line opens more than it closes, outside of quoted texts.
func openBrackets(code string) (n int) {
	for i := 0; i < len(code); i++ {
		switch code[i] {
		case '(', '[', '{':
			n++
		case ')', ']', '}':
			n--
		case '"':
			if q, err := strconv.QuotedPrefix(code[i:]); err == nil {
				i += len(q) - 1
			}
		}
	}
	return n
}

// withComments puts the comments of a text into its canonical form, statement by statement.
func withComments(path, text, canonical string) (string, error) {
	list, statements := remarks(text)
	if len(list) == 0 {
		return canonical, nil
	}
	if _, n := remarks(canonical); n != statements {
		return "", diag.Unsupported("fmt", path, "the text has %d statements and its canonical form %d, so that comments have no place in it", statements, n).
			At(diag.Pos{File: path, Line: list[0].line, Col: 1})
	}
	var b strings.Builder
	at := 0
	for l := range strings.Lines(canonical) {
		code := strings.TrimRight(l, "\n")
		if code == "" {
			b.WriteString(l)
			continue
		}
		indent := code[:len(code)-len(strings.TrimLeft(code, " "))]
		for len(list) > 0 && list[0].at == at && !list[0].behind {
			b.WriteString(indent + list[0].text + "\n")
			list = list[1:]
		}
		b.WriteString(code)
		for len(list) > 0 && list[0].at == at {
			b.WriteString("  " + list[0].text)
			list = list[1:]
		}
		b.WriteString("\n")
		at++
	}
	for _, r := range list {
		b.WriteString(r.text + "\n")
	}
	return b.String(), nil
}
