package schedule_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/texel-ml/texel/diag"
	"github.com/texel-ml/texel/internal/golden"
	"github.com/texel-ml/texel/schedule"
	"github.com/texel-ml/texel/tir/verify"
)

// FuzzTrace replays any text on a program: it is refused with a typed error, or gives a legal function, and what was taken
// prints as a trace that gives the same one.
func FuzzTrace(f *testing.F) {
	files, err := filepath.Glob(filepath.Join(pages, "*", "*.trace"))
	require.NoError(f, err)
	for _, path := range files {
		text, err := os.ReadFile(path)
		require.NoError(f, err)
		f.Add(string(text))
	}
	goldens, err := filepath.Glob("testdata/*/*.txtar")
	require.NoError(f, err)
	for _, path := range goldens {
		for _, s := range golden.Sections(f, path) {
			if s.Name == "in trace" {
				f.Add(s.Text)
			}
		}
	}
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 2000 {
			return
		}
		trace, err := schedule.ParseTrace("t", text)
		if err != nil {
			require.ErrorIs(t, err, diag.ErrInvalid)
			return
		}
		again, err := schedule.ParseTrace("t", trace.String())
		require.NoError(t, err)
		require.Equal(t, trace.String(), again.String())
		s := schedule.New(reluOfProduct())
		if err := s.Replay(trace); err != nil {
			require.NotErrorIs(t, err, diag.ErrInternal)
			return
		}
		require.NoError(t, verify.Verify(s.Func()))
		b := schedule.New(reluOfProduct())
		require.NoError(t, b.Replay(s.Trace()))
		require.Equal(t, s.Trace().String(), b.Trace().String())
	})
}
