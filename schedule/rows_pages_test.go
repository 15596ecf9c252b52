package schedule_test

import (
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/texel-ml/texel/schedule"
	"github.com/texel-ml/texel/tir/verify"
)

// rowPage is a page whose programs and traces are the files of its folder.
type rowPage struct {
	name   string
	shown  string            // the program that the page shows, if it shows one
	traces map[string]string // the program that each trace is walked through on
	others map[string]string // more programs, by trace, separated by spaces
}

func rowPages() []rowPage {
	sizes := "matmul-112 matmul-127 matmul-128 matmul-131 matmul-132 small"
	return []rowPage{
		{name: "winograd", traces: map[string]string{"f2": "f2", "f4": "f4", "f6": "f6"},
			others: map[string]string{"f2": "f2-small", "f4": "f4-small", "f6": "f6-small"}},
		{name: "im2col", shown: "conv2d", traces: map[string]string{"one-pass": "conv2d", "blocks": "conv2d", "two-pass": "conv2d"},
			others: map[string]string{"one-pass": "small", "blocks": "small", "two-pass": "small"}},
		{name: "output-split", shown: "matmul-113", traces: map[string]string{"guard": "matmul-113", "shift-inwards": "matmul-113", "round-up": "matmul-113"},
			others: map[string]string{"guard": sizes, "shift-inwards": sizes, "round-up": sizes}},
		{name: "adaptive-pooling", shown: "parts", traces: map[string]string{"item": "parts", "group": "parts"},
			others: map[string]string{"item": "global-7 global-56", "group": "global-56"}},
	}
}

// TestRowPages holds the pages against their files. Blocks of steps and loops are those of TestFigurePages; a block
//
//	```part NAME
//
// is some lines of NAME.tir, in its order, and
//
//	```rest NAME N
//
// the last N paragraphs of NAME.trace, which begins like others that the page shows.
func TestRowPages(t *testing.T) {
	for _, page := range rowPages() {
		t.Run(page.name, func(t *testing.T) {
			file, dir := filepath.Join(pages, page.name+".md"), filepath.Join(pages, page.name)
			data, err := os.ReadFile(file)
			require.NoError(t, err)
			read := func(name string) string {
				text, err := os.ReadFile(filepath.Join(dir, name))
				require.NoError(t, err)
				return string(text)
			}
			if page.shown != "" {
				text := strings.TrimSpace(read(page.shown + ".tir"))
				require.Contains(t, string(data), "\n    "+strings.ReplaceAll(text, "\n", "\n    ")+"\n", "the page shows %s.tir", page.shown)
			}
			w := &walk{t: t, dir: dir}
			lines := strings.Split(string(data), "\n")
			list, made := fences(lines), map[int]string{}
			for _, f := range list {
				switch f.kind {
				case "steps", "rest":
					name, count, rest := strings.Cut(f.name, " ")
					require.Contains(t, page.traces, name, "%s:%d", file, f.line)
					w.program = read(page.traces[name] + ".tir")
					if rest {
						if got := w.last(name, count); got != f.text {
							made[f.line] = got
						}
					}
				case "part":
					requireLines(t, read(f.name+".tir"), f.text)
				}
				if got := w.block(f); got != "" && got != f.text {
					made[f.line] = got
				}
				if got, differs := made[f.line]; differs {
					require.Equal(t, "true", flag.Lookup("update").Value.String(), "%s:%d is\n%swanted\n%s", file, f.line, f.text, got)
				}
			}
			require.Empty(t, w.rest, "%s leaves out the end of a trace", file)
			if len(made) > 0 {
				require.NoError(t, os.WriteFile(file, []byte(replaced(lines, list, made)), 0o644))
			}
			for trace := range page.traces {
				require.Contains(t, string(data), trace+".trace", "the page names each trace")
			}
		})
	}
}

// last goes to the end of a trace and returns the steps of its last paragraphs.
func (w *walk) last(name, paragraphs string) string {
	n, err := strconv.Atoi(paragraphs)
	require.NoError(w.t, err)
	require.Empty(w.t, w.rest, "the end of %s is left out", w.name)
	text, err := os.ReadFile(filepath.Join(w.dir, name+".trace"))
	require.NoError(w.t, err)
	list := strings.Split(strings.TrimSpace(string(text)), "\n\n")
	require.Greater(w.t, len(list), n)
	var shown []string
	w.name, w.shown, w.rest = name, "", list
	for len(w.rest) > 0 {
		shown = append(shown, w.block(fence{kind: "steps", name: name}))
	}
	return strings.Join(shown[len(shown)-n:], "\n")
}

// requireLines wants the lines of part among those of text, in their order; … stands for what is left out of a line.
func requireLines(t *testing.T, text, part string) {
	lines := strings.Split(text, "\n")
	for line := range strings.Lines(part) {
		pieces := strings.Split(strings.TrimSpace(line), "…")
		for i := range pieces {
			pieces[i] = regexp.QuoteMeta(strings.TrimSpace(pieces[i]))
		}
		want := regexp.MustCompile("^ *" + strings.Join(pieces, ".*") + "$")
		for len(lines) > 0 && !want.MatchString(lines[0]) {
			lines = lines[1:]
		}
		require.NotEmpty(t, lines, "the program has no line %q", line)
	}
}

// TestRowTraces applies each trace of the pages to each of its programs, and computes the small ones.
func TestRowTraces(t *testing.T) {
	for _, page := range rowPages() {
		for name, program := range page.traces {
			file := filepath.Join(pages, page.name, name+".trace")
			text, err := os.ReadFile(file)
			require.NoError(t, err)
			trace, err := schedule.ParseTrace(file, string(text))
			require.NoError(t, err)
			for _, p := range append(strings.Fields(page.others[name]), program) {
				t.Run(page.name+"/"+p+"/"+name, func(t *testing.T) {
					f := readTir(t, filepath.Join(pages, page.name, p+".tir"))
					s := schedule.New(f)
					require.NoError(t, s.Replay(trace))
					require.Equal(t, trace.String(), s.Trace().String(), "%s is not what it would be if it was recorded", file)
					require.NoError(t, verify.Verify(s.Func()))
					if p == "small" || p == "parts" {
						sameResults(t, f, s.Func())
					}
				})
			}
		}
	}
}

// TestRowBelowTheThreshold wants the trace of a group refused for windows that have fewer elements than it has work-items.
func TestRowBelowTheThreshold(t *testing.T) {
	dir := filepath.Join(pages, "adaptive-pooling")
	text, err := os.ReadFile(filepath.Join(dir, "group.trace"))
	require.NoError(t, err)
	trace, err := schedule.ParseTrace("group.trace", string(text))
	require.NoError(t, err)
	s := schedule.New(readTir(t, filepath.Join(dir, "global-7.tir")))
	require.ErrorContains(t, s.Replay(trace), "rfactor: r0_1_3: wants one of several loops that drive reduce variables only")
}

// TestWinogradTraces holds the traces of Winograd's convolution against each other: they differ in the sizes of tiles and
// blocks alone.
func TestWinogradTraces(t *testing.T) {
	factors := regexp.MustCompile(`\[0(, \d+)+\]`)
	var first string
	for _, name := range []string{"f2", "f4", "f6"} {
		file := filepath.Join(pages, "winograd", name+".trace")
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		trace, err := schedule.ParseTrace(file, string(text))
		require.NoError(t, err)
		steps := factors.ReplaceAllString(trace.String(), "[…]")
		if first == "" {
			first = steps
		}
		require.Equal(t, first, steps, file)
	}
}
