package schedule_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/texel-ml/texel/diag"
	"github.com/texel-ml/texel/internal/golden"
	"github.com/texel-ml/texel/schedule"
	"github.com/texel-ml/texel/tensor"
	"github.com/texel-ml/texel/tir"
	"github.com/texel-ml/texel/tir/interp"
	"github.com/texel-ml/texel/tir/tirtext"
	"github.com/texel-ml/texel/tir/verify"
)

// TestGoldens runs the files below testdata/<primitive>. Each names a program of testdata/programs ("in program") or
// holds one ("in tir"), and has a trace ("in trace"); what comes out is the trace, printed canonically, and the function, or the error.
//
// What comes out must verify, compute what the program computes, and replay from its own trace.
func TestGoldens(t *testing.T) {
	files, err := filepath.Glob("testdata/*/*.txtar")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, path := range files {
		t.Run(strings.TrimSuffix(strings.TrimPrefix(path, "testdata/"), ".txtar"), func(t *testing.T) {
			program := readProgram(t, path)
			trace, err := schedule.ParseTrace(filepath.Base(path), golden.In(t, path, "in trace"))
			s := schedule.New(program)
			if err == nil {
				err = s.Replay(trace)
			}
			if err != nil {
				require.True(t, errors.Is(err, diag.ErrInvalid) || errors.Is(err, diag.ErrUnsupported), "%v", err)
				require.Same(t, s.Func(), s.Func())
				golden.Check(t, path, golden.Section{Name: "err", Text: err.Error()})
				return
			}
			out := tirtext.Print(s.Func())
			golden.Check(t, path, golden.Section{Name: "trace", Text: s.Trace().String()}, golden.Section{Name: "out", Text: out})
			require.NoError(t, verify.Verify(s.Func()))
			sameResults(t, program, s.Func())
			again, err := schedule.ParseTrace("again", s.Trace().String())
			require.NoError(t, err)
			require.Equal(t, s.Trace().String(), again.String())
			r := schedule.New(program)
			require.NoError(t, r.Replay(again))
			require.Equal(t, out, tirtext.Print(r.Func()))
		})
	}
}

// readProgram returns the function that a golden file names or holds.
func readProgram(t *testing.T, path string) *tir.Func {
	t.Helper()
	for _, f := range golden.Sections(t, path) {
		switch f.Name {
		case "in program":
			return readTir(t, filepath.Join("testdata/programs", strings.TrimSpace(f.Text)+".tir"))
		case "in tir":
			return parseTir(t, path, f.Text)
		}
	}
	t.Fatalf("%s has no program", path)
	return nil
}

// tb is a test, of package testing or of rapid.
type tb interface {
	require.TestingT
	Helper()
}

func readTir(t tb, path string) *tir.Func {
	t.Helper()
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	return parseTir(t, path, string(text))
}

func parseTir(t tb, path, text string) *tir.Func {
	t.Helper()
	f, err := tirtext.Parse(path, text)
	require.NoError(t, err)
	require.NoError(t, verify.Verify(f))
	return f
}

// sameResults interprets two functions on the same inputs, small whole numbers, so that sums are exact in any order.
func sameResults(t require.TestingT, want, got *tir.Func) {
	require.Equal(t, len(want.Params), len(got.Params))
	a, b := arguments(want), arguments(got)
	require.NoError(t, interp.Run(context.Background(), want, a, interp.Options{}))
	require.NoError(t, interp.Run(context.Background(), got, b, interp.Options{Races: true}))
	for i := len(a) - want.Outputs; i < len(a); i++ {
		require.Equal(t, a[i], b[i], "output %s", want.Params[i].Name)
	}
}

// arguments are small whole numbers; of the outputs, what stays 77 was not written.
func arguments(f *tir.Func) []*tensor.Tensor {
	return interp.Draw{Seed: 1, Whole: true, Output: 77}.Tensors(f.Params, f.Outputs)
}

// TestEveryRefusalHasAGolden finds the messages that a primitive's file refuses with, and wants a golden for each.
func TestEveryRefusalHasAGolden(t *testing.T) {
	// The message is the first text with a space: what stands before it names the step and the node.
	call := regexp.MustCompile("(?s)\\.(?:refuse|Refuse)\\((?:[^\"`]|\"[^\" ]*\")*?\"((?:[^\"\\\\]|\\\\.)* (?:[^\"\\\\]|\\\\.)*)\"")
	verb := regexp.MustCompile(`%[a-z]`)
	var errs []string
	files, err := filepath.Glob("testdata/*/*.txtar")
	require.NoError(t, err)
	for _, path := range files {
		for _, f := range golden.Sections(t, path) {
			if f.Name == "err" {
				errs = append(errs, f.Text)
			}
		}
	}
	sources, err := filepath.Glob("*.go")
	require.NoError(t, err)
	for _, path := range sources {
		if strings.HasSuffix(path, "_test.go") || path == "schedule.go" || path == "list.go" {
			continue // lists are of programs in Go: TestLists has their refusals
		}
		src, err := os.ReadFile(path)
		require.NoError(t, err)
		for _, m := range call.FindAllStringSubmatch(string(src), -1) {
			text := strings.ReplaceAll(m[1], `\"`, `"`)
			parts := verb.Split(text, -1)
			for i := range parts {
				parts[i] = regexp.QuoteMeta(parts[i])
			}
			want := regexp.MustCompile("(?s)" + strings.Join(parts, ".*"))
			if !slices.ContainsFunc(errs, want.MatchString) {
				t.Errorf("%s: no golden shows the refusal %q", path, text)
			}
		}
	}
}

// TestEveryPrimitiveHasAGolden wants a file and a legal use of each primitive of the table.
func TestEveryPrimitiveHasAGolden(t *testing.T) {
	used := map[string]bool{}
	files, err := filepath.Glob("testdata/*/*.txtar")
	require.NoError(t, err)
	for _, path := range files {
		for _, f := range golden.Sections(t, path) {
			if f.Name != "trace" {
				continue
			}
			trace, err := schedule.ParseTrace(path, f.Text)
			require.NoError(t, err)
			for _, step := range trace.Steps {
				if dir := filepath.Base(filepath.Dir(path)); dir == step.Name {
					used[step.Name] = true
				}
			}
		}
	}
	for _, p := range schedule.Primitives() {
		if p.Name == "unannotate" || strings.HasPrefix(p.Name, "get_") {
			continue // in annotate.go and query.go
		}
		require.FileExists(t, p.Name+".go")
		if !used[p.Name] {
			t.Errorf("%s: no golden below testdata/%s shows a legal use", p.Name, p.Name)
		}
	}
}
