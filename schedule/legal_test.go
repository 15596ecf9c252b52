package schedule_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/tools/txtar"

	"github.com/texel-ml/texel/schedule"
	"github.com/texel-ml/texel/tir/tirtext"
)

// TestGoldensAreProven checks every obligation of what the goldens' traces make.
func TestGoldensAreProven(t *testing.T) {
	files, err := filepath.Glob("testdata/*/*.txtar")
	require.NoError(t, err)
	for _, path := range files {
		data, err := os.ReadFile(path)
		require.NoError(t, err)
		for _, f := range txtar.Parse(data).Files {
			if f.Name != "trace" {
				continue
			}
			t.Run(path, func(t *testing.T) {
				program := readProgram(t, path)
				trace, err := schedule.ParseTrace(path, string(f.Data))
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
