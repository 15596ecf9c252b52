package schedule_test

import (
	"fmt"
	"go/ast"
	"go/doc"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/texel-ml/texel/internal/golden"
	"github.com/texel-ml/texel/schedule"
)

const referenceHead = `# The primitives

What each primitive takes, does and refuses. This page is made from the table in ` + "`schedule/primitives.go`" + ` and the comments of the methods;
` + "`go test ./schedule -run Reference -update`" + ` makes it anew. Below each heading stands the step as a trace writes it; ` + "`?`" + ` marks an operand that
may be left out. Every refusal has an example in ` + "`schedule/testdata/PRIMITIVE/refuse_*.txtar`" + `. How a trace is written: [language.md](language.md);
who uses what: [the table](README.md#primitives).

Before a step is accepted, the function as a whole must still be proven, whatever the primitive: a step may be refused for
what it does to other blocks, see [faults.md](faults.md#what-is-proven).
`

// TestReferenceOfPrimitives makes docs/schedules/primitives.md: the operands of each primitive from the table, and what it does
// from the comments of its methods.
func TestReferenceOfPrimitives(t *testing.T) {
	pkg := documentation(t)
	methods := map[string]*doc.Func{}
	for _, typ := range pkg.Types {
		if typ.Name == "Schedule" {
			for _, m := range typ.Methods {
				methods[m.Name] = m
			}
		}
	}
	var b strings.Builder
	b.WriteString(referenceHead)
	for _, p := range schedule.Primitives() {
		name := methodOf(p.Name)
		require.Contains(t, methods, name, "no method is that of %s", p.Name)
		fmt.Fprintf(&b, "\n## %s\n\n    %s(%s)\n\n", p.Name, p.Name, p.Usage)
		var others []string
		for _, suffix := range []string{"", "By", "With", "Of", "Loop", "Place"} {
			m := methods[name+suffix]
			if m == nil || suffix == "" && m.Doc == "" {
				continue
			}
			if suffix != "" {
				others = append(others, "`"+m.Name+"`")
				continue
			}
			b.WriteString(markdown(pkg, m.Doc))
		}
		b.WriteString("\nIn Go: `" + name + "`")
		if len(others) > 0 {
			b.WriteString(", with more operands " + strings.Join(others, ", "))
		}
		b.WriteString(".\n")
		if p.Name == "split" {
			b.WriteString("\nThe tails:\n\n")
			for _, c := range pkg.Types {
				if c.Name == "Tail" {
					b.WriteString(tails(pkg, c))
				}
			}
		}
	}
	path := filepath.Join(pages, "primitives.md")
	if golden.Updating() {
		require.NoError(t, os.WriteFile(path, []byte(b.String()), 0o644))
	}
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, b.String(), string(text))
}

// tails describes the values of Tail by their comments.
func tails(pkg *doc.Package, tail *doc.Type) string {
	var b strings.Builder
	for _, group := range tail.Consts {
		for _, spec := range group.Decl.Specs {
			v := spec.(*ast.ValueSpec)
			value := v.Values[0].(*ast.BasicLit).Value
			fmt.Fprintf(&b, "`%s`: %s\n", value, markdown(pkg, v.Doc.Text()))
		}
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// markdown prints a comment with its pictures indented by blanks.
func markdown(pkg *doc.Package, text string) string {
	p := pkg.Printer()
	p.DocLinkURL = nil
	return strings.ReplaceAll(string(p.Markdown(pkg.Parser().Parse(text))), "\t", "    ")
}

// documentation reads the comments of the package.
func documentation(t *testing.T) *doc.Package {
	files, err := filepath.Glob("*.go")
	require.NoError(t, err)
	files = slices.DeleteFunc(files, func(path string) bool { return strings.HasSuffix(path, "_test.go") })
	set := token.NewFileSet()
	var list []*ast.File
	for _, path := range files {
		f, err := parser.ParseFile(set, path, nil, parser.ParseComments)
		require.NoError(t, err)
		list = append(list, f)
	}
	pkg, err := doc.NewFromFiles(set, list, "github.com/texel-ml/texel/schedule")
	require.NoError(t, err)
	return pkg
}
