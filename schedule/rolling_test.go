package schedule

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/texel-ml/texel/tensor"
	"github.com/texel-ml/texel/tir"
	"github.com/texel-ml/texel/tir/interp"
	"github.com/texel-ml/texel/tir/tirtext"
)

const rolledBlur = `func blur(X: float32[10], out Y: float32[8]):
  block root():
    alloc H: float32[3] scratch
    for t in range(0, 2):
      for y in range(0, 4):
        for a in range(0, 3):
          block H(i: spatial[10] = t * 4 + y + a, s: ordered[4] = y) where y == 0 or 1 < a attrs {"rolling_buffer": "0"}:
            reads X[i +: 1]
            writes H[i %% 3 +: 1]
            H[i %% 3] = X[i] * 2.0
        block Y(j: spatial[8] = t * 4 + y):
          reads H[j %% 3 +: 1], H[(j + 1) %% 3 +: 1], H[(j + 2) %% 3 +: 1]
          writes Y[j +: 1]
          Y[j] = H[j %% 3] + H[(j + 1) %% 3] - H[(j + 2) %% 3]
`

// TestRollingClaims breaks a function with a rolling buffer in ways that change its result, and wants a claim that says so.
func TestRollingClaims(t *testing.T) {
	parse := func(text string) *tir.Func {
		f, err := tirtext.Parse("rolled", text)
		require.NoError(t, err)
		return f
	}
	result := func(f *tir.Func) []float64 {
		x, y := tensor.New(tensor.Float32, []int{10}), tensor.New(tensor.Float32, []int{8})
		wide := tensor.Widen(x)
		for i := range wide.F {
			wide.F[i] = float64(i*i + 1)
		}
		if err := interp.Run(context.Background(), f, []*tensor.Tensor{wide.Narrow(), y}, interp.Options{Races: true}); err != nil {
			return nil
		}
		return tensor.Widen(y).F
	}
	failed := func(f *tir.Func) (keys []string) {
		for _, o := range Obligations(f, f, f) {
			if o.Check() != nil {
				keys = append(keys, o.Key)
			}
		}
		return keys
	}
	right := parse(rolledBlur)
	require.Empty(t, failed(right))
	want := result(right)
	require.NotNil(t, want)
	for _, c := range []struct {
		name, from, to string
		same           bool // the result happens to be the same: what carries it is not what the claims allow
	}{
		{"a window that is too small", "%% 3", "%% 2", false},
		{"a row that is not computed", "1 < a", "2 < a", false},
		{"nothing computed at first", "y == 0", "y < 0", false},
		{"the window of the next tile is not begun anew", "where y == 0 or", "where t * 4 + y == 0 or", true},
		{"a carrying loop that is parallel", "range(0, 4):", "range(0, 4, kind=parallel):", false},
		{"an order that is not that of the loop", "s: ordered[4] = y)", "s: ordered[4] = 3 - y)", true},
		{"a row that is read when it is overwritten", "j + 2", "j + 3", false},
		{"rows that are not modulo the window", "H[(j + 1) %% 3]", "H[min(j + 1, 2)]", true},
	} {
		text := strings.ReplaceAll(rolledBlur, c.from, c.to)
		if c.from == "%% 3" {
			text = strings.Replace(text, "float32[3]", "float32[2]", 1)
		}
		require.NotEqual(t, rolledBlur, text)
		broken := parse(text)
		require.NotEmpty(t, failed(broken), c.name)
		require.True(t, strings.HasPrefix(failed(broken)[0], "Y reads H"), "%s: %v", c.name, failed(broken))
		if !c.same {
			require.NotEqual(t, want, result(broken), c.name)
		}
	}
}
