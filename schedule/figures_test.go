package schedule_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/texel-ml/texel/schedule"
	"github.com/texel-ml/texel/tir"
	"github.com/texel-ml/texel/tir/tirtext"
)

// TestFigurePages holds the pages that walk through a trace file against it. A block
//
//	```steps NAME
//
// is the next paragraph of NAME.trace without its comments, and a block of loops behind it is what they look like then. The
// programs are too large for the interpreter; the traces are tested where their code is.
func TestFigurePages(t *testing.T) {
	for _, name := range []string{"matmul", "conv2d"} {
		file := filepath.Join(pages, name+".md")
		data, err := os.ReadFile(file)
		require.NoError(t, err)
		program, err := os.ReadFile(filepath.Join(pages, name, name+".tir"))
		require.NoError(t, err)
		require.Contains(t, string(data), "\n    "+strings.ReplaceAll(strings.TrimSpace(string(program)), "\n", "\n    ")+"\n", "%s shows the program", file)
		w := &walk{t: t, dir: filepath.Join(pages, name), program: string(program)}
		lines := strings.Split(string(data), "\n")
		list, made := fences(lines), map[int]string{}
		for _, f := range list {
			if got := w.block(f); got != "" && got != f.text {
				require.Equal(t, "true", flag.Lookup("update").Value.String(), "%s:%d is\n%swanted\n%s", file, f.line, f.text, got)
				made[f.line] = got
			}
		}
		require.Empty(t, w.rest, "%s leaves out the end of a trace", file)
		if len(made) > 0 {
			require.NoError(t, os.WriteFile(file, []byte(replaced(lines, list, made)), 0o644))
		}
	}
}

// walk is a page's way through a trace.
type walk struct {
	t       *testing.T
	dir     string
	program string
	name    string   // of the trace
	rest    []string // paragraphs of it that the page has not shown yet
	shown   string
}

// block returns what a block of the page must hold.
func (w *walk) block(f fence) string {
	switch f.kind {
	case "steps":
	case "loops":
		return w.loops()
	default:
		return ""
	}
	if f.name != w.name {
		require.Empty(w.t, w.rest, "the end of %s is left out", w.name)
		text, err := os.ReadFile(filepath.Join(w.dir, f.name+".trace"))
		require.NoError(w.t, err)
		w.name, w.shown, w.rest = f.name, "", strings.Split(strings.TrimSpace(string(text)), "\n\n")
	}
	require.NotEmpty(w.t, w.rest, "%s has no more paragraphs", w.name)
	var steps strings.Builder
	for line := range strings.Lines(w.rest[0] + "\n") {
		if !strings.HasPrefix(line, "#") && !strings.HasPrefix(line, "trace ") {
			steps.WriteString(line)
		}
	}
	w.shown, w.rest = w.shown+steps.String(), w.rest[1:]
	return steps.String()
}

// loops applies what was shown of the trace to the program and draws the loops.
func (w *walk) loops() string {
	fn, err := tirtext.Parse("program", w.program)
	require.NoError(w.t, err)
	trace, err := schedule.ParseTrace(w.name, w.shown)
	require.NoError(w.t, err)
	s := schedule.New(fn)
	require.NoError(w.t, s.Replay(trace))
	var b strings.Builder
	draw(&b, s.Func().Root().Body, 0, "")
	return b.String()
}

// draw writes one line for each nest of loops: of each the part of its name that it has from its axis, and how often it
// runs, if that is more than once.
func draw(b *strings.Builder, st tir.Stmt, depth int, line string) {
	switch st := st.(type) {
	case *tir.For:
		axis, _, _ := strings.Cut(st.Var.Name, "_")
		if n, _ := tir.AsInt(st.Extent); n > 1 {
			if line != "" {
				line += ", "
			}
			line += fmt.Sprintf("%s ×%d", axis, n)
			if st.Kind != tir.Serial {
				line += " " + st.Kind.String()
			}
		}
		draw(b, st.Body, depth, line)
	case *tir.Seq:
		if line != "" {
			fmt.Fprintf(b, "%s%s\n", strings.Repeat("  ", depth), line)
			depth++
		}
		for _, c := range st.Stmts {
			draw(b, c, depth, "")
		}
	case *tir.BlockRealize:
		guarded := ""
		if st.Where != nil {
			guarded = ", guarded"
		}
		fmt.Fprintf(b, "%s%s: %s%s\n", strings.Repeat("  ", depth), line, st.Block.Name, guarded)
	}
}
