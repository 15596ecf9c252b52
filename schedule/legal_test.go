package schedule_test

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/texel-ml/texel/internal/golden"
	"github.com/texel-ml/texel/schedule"
	"github.com/texel-ml/texel/tir/tirtext"
)

// TestGoldensAreProven checks every obligation of what the goldens' traces make.
func TestGoldensAreProven(t *testing.T) {
	files, err := filepath.Glob("testdata/*/*.txtar")
	require.NoError(t, err)
	for _, path := range files {
		for _, f := range golden.Sections(t, path) {
			if f.Name != "trace" {
				continue
			}
			t.Run(path, func(t *testing.T) {
				program := readProgram(t, path)
				trace, err := schedule.ParseTrace(path, f.Text)
				require.NoError(t, err)
				s := schedule.New(program)
				require.NoError(t, s.Replay(trace))
				for _, o := range schedule.Obligations(program, program, s.Func()) {
					if err := o.Check(); err != nil {
						t.Errorf("%v\n%s", err, o.Claim)
					} else {
						t.Log(o.Claim)
					}
				}
				if t.Failed() {
					t.Log(tirtext.Print(s.Func()))
				}
			})
		}
	}
}
