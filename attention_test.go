package texel_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/texel-ml/texel"
	"github.com/texel-ml/texel/artifact"
	"github.com/texel-ml/texel/diag"
)

// attentionText is one operator on places of 6 heads of 64 elements.
func attentionText(t *testing.T, places int) string {
	typ := fmt.Sprintf("Tensor[(1, 6, %d, 64), float32]", places)
	path := filepath.Join(t.TempDir(), "attention.relay")
	text := strings.ReplaceAll(`#[version = "0.0.5"]
def @main(%q: T, %k: T, %v: T) -> T {
  nn.attention(%q, %k, %v, 0f, scale=0.125f)
}
`, ": T", ": "+typ)
	require.NoError(t, os.WriteFile(path, []byte(strings.ReplaceAll(text, "-> T", "-> "+typ)), 0o644))
	return path
}

// TestAttentionOnEachDevice holds the operator, and what is written out, to the evaluator in every precision.
func TestAttentionOnEachDevice(t *testing.T) {
	targets := map[string]string{"cpu": "host"}
	if to, err := texel.DeviceTarget("opencl"); err == nil {
		targets["opencl"] = to
	} else {
		require.ErrorIs(t, err, diag.ErrMissing)
	}
	for device, to := range targets {
		for _, precision := range []texel.Precision{texel.Float32, texel.Float16, texel.BFloat16} {
			for _, model := range []string{fixture("attention"), attentionText(t, 50)} {
				where := fmt.Sprintf("%s on %s in %s", filepath.Base(model), device, precision)
				c, err := texel.Compile(context.Background(), model, texel.Options{Targets: []string{to}, Precision: precision})
				require.NoError(t, err, where)
				report, err := c.Check(context.Background(), texel.CheckOptions{Device: device})
				require.NoError(t, err, where)
				require.NoError(t, report.Err(), where)
				require.NoError(t, c.Close())
			}
		}
	}
}

// TestAttentionTakesNoScores has the memory of scores that would take 6 MB.
func TestAttentionTakesNoScores(t *testing.T) {
	m := load(t, compiled(t, attentionText(t, 512), texel.Options{}), texel.LoadOptions{})
	plan := m.Plan()
	require.Len(t, plan.Launches, 3, "panels of keys, panels of values, and the rest")
	i := slices.IndexFunc(plan.Pools, func(p artifact.Pool) bool { return p.Name == "arena" })
	require.GreaterOrEqual(t, i, 0)
	require.Equal(t, int64(2*6*512*64*4), plan.Pools[i].Bytes)
}
