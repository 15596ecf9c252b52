package schedule_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/texel-ml/texel/internal/golden"
	"github.com/texel-ml/texel/schedule"
	"github.com/texel-ml/texel/tir"
	"github.com/texel-ml/texel/tir/tirtext"
	"github.com/texel-ml/texel/tir/verify"
)

const pages = "../docs/schedules"

// fence is a fenced block of a page: ```tir name, ```trace name, ```out name or ```err name.
type fence struct {
	kind, name string
	text       string
	line       int // of the first line of the text
}

// fences returns the blocks of a page that have a kind and a name.
func fences(lines []string) []fence {
	var list []fence
	for i := 0; i < len(lines); i++ {
		head, ok := strings.CutPrefix(lines[i], "```")
		kind, name, named := strings.Cut(head, " ")
		if !ok || head == "" {
			continue
		}
		from := i + 1
		for i++; i < len(lines) && lines[i] != "```"; i++ {
		}
		if named {
			text := ""
			if i > from {
				text = strings.Join(lines[from:i], "\n") + "\n"
			}
			list = append(list, fence{kind, name, text, from})
		}
	}
	return list
}

// TestPages executes the pages of docs/schedules: a trace applies to the program of its name, or to what the traces of that
// name before it made; an out is the function then, an err the error of the last trace.
func TestPages(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(pages, "*.md"))
	require.NoError(t, err)
	for _, path := range files {
		t.Run(filepath.Base(path), func(t *testing.T) {
			data, err := os.ReadFile(path)
			require.NoError(t, err)
			lines := strings.Split(string(data), "\n")
			p := &page{t: t, path: path, program: map[string]*tir.Func{}, trace: map[string]string{}}
			made := map[int]string{}
			list := fences(lines)
			for _, f := range list {
				if got := p.run(f); got != "" && got != f.text {
					if golden.Updating() {
						made[f.line] = got
					} else {
						require.Equal(t, f.text, got, "%s:%d", path, f.line)
					}
				}
			}
			if len(made) > 0 {
				require.NoError(t, os.WriteFile(path, []byte(replaced(lines, list, made)), 0o644))
			}
		})
	}
}

// replaced returns the page with the texts of some fences, which are named by their first lines.
func replaced(lines []string, list []fence, made map[int]string) string {
	var out []string
	at := 0
	for _, f := range list {
		if text, ok := made[f.line]; ok {
			out = append(append(out, lines[at:f.line]...), strings.Split(strings.TrimSuffix(text, "\n"), "\n")...)
			at = f.line + strings.Count(f.text, "\n")
		}
	}
	return strings.Join(append(out, lines[at:]...), "\n")
}

// page is the state of a page that is being executed.
type page struct {
	t       *testing.T
	path    string
	program map[string]*tir.Func
	trace   map[string]string
	now     *tir.Func
	err     error
}

// run executes a block and returns what an out or err must hold.
func (p *page) run(f fence) string {
	switch f.kind {
	case "tir":
		p.program[f.name], p.trace[f.name] = parseTir(p.t, p.path, f.text), ""
		return ""
	case "trace":
		program := p.program[f.name]
		require.NotNil(p.t, program, "%s:%d: no program is named %s", p.path, f.line, f.name)
		trace, err := schedule.ParseTrace(filepath.Base(p.path), p.trace[f.name]+f.text)
		s := schedule.New(program)
		if err == nil {
			err = s.Replay(trace)
		}
		if p.err = err; err != nil {
			return ""
		}
		p.trace[f.name] += f.text
		p.now = s.Func()
		require.NoError(p.t, verify.Verify(p.now))
		sameResults(p.t, program, p.now)
		return ""
	case "out":
		require.NoError(p.t, p.err, "%s:%d", p.path, f.line)
		return tirtext.Print(p.now)
	case "err":
		require.Error(p.t, p.err, "%s:%d", p.path, f.line)
		return p.err.Error() + "\n"
	}
	return ""
}
