// Package page makes self-contained HTML pages: one file, one stylesheet, no request to anywhere. Every report of the
// command is such a page. It follows the colours of the reader's system, light or dark.
package page

import (
	"embed"
	"html/template"
	"io"
	"sync"
)

// Page is a report.
type Page struct {
	Title string
	Lead  string // what the page shows, in a sentence or two
	Parts []Part
}

// Part is a piece of a page: *Text, *Table, *Code or *Steps.
type Part interface{ kind() string }

// Text is a heading and paragraphs; either may be empty.
type Text struct {
	Heading    string
	Paragraphs []string
}

// Table is rows under a head. Columns that are named in Right are set to the right, as numbers are.
type Table struct {
	Caption string
	Head    []string
	Right   map[int]bool
	Rows    [][]string
}

// Code is lines of text, some of them marked.
type Code struct {
	Caption string
	Lines   []Line
}

// Line is a line of code.
type Line struct {
	Text string
	Mark Mark
}

// Mark says how a line differs from that of another text.
type Mark string

// The marks.
const (
	Same    Mark = ""
	Added   Mark = "added"
	Removed Mark = "removed"
)

// Steps is a sequence that the reader goes through with the arrow keys, by clicking, or by an address that ends with # and the
// step's number, from 0.
type Steps struct {
	List []Step
}

// Step is one of them: a short name for the list, and what is shown of it.
type Step struct {
	Name  string
	Note  string // a few words behind the name
	Parts []Part // shown side by side where there is room, when they are Code
}

func (*Text) kind() string  { return "text" }
func (*Table) kind() string { return "table" }
func (*Code) kind() string  { return "code" }
func (*Steps) kind() string { return "steps" }

//go:embed page.html page.css page.js
var files embed.FS

// tmpl is the template, parsed when the first page is written: most commands write none.
var tmpl = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("page.html").Funcs(template.FuncMap{
		"kind":  func(p Part) string { return p.kind() },
		"style": func() template.CSS { return template.CSS(text("page.css")) },
		"code":  func() template.JS { return template.JS(text("page.js")) },
	}).ParseFS(files, "page.html"))
})

func text(name string) string {
	data, err := files.ReadFile(name)
	if err != nil {
		panic(err) // embedded
	}
	return string(data)
}

// Write writes the page.
func (p *Page) Write(w io.Writer) error { return tmpl().Execute(w, p) }
