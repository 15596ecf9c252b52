package tirtext_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/texel-ml/texel/tir/tirtext"
)

// long is a function of about the given number of lines, of the kind that lowering makes.
func long(lines int) string {
	var b strings.Builder
	b.WriteString("func long(A: float32[64, 64], B: float32[64, 64], out C: float32[64, 64]):\n  block root():\n")
	for n := 2; n < lines; n += 10 {
		fmt.Fprintf(&b, `    for i@%[1]d in range(0, 8, kind=parallel):
      for j@%[1]d in range(0, 8):
        for k@%[1]d in range(0, 64):
          block C@%[1]d(vi@%[1]d: spatial[64] = i@%[1]d * 8 + j@%[1]d // 2, vk@%[1]d: reduce[64] = k@%[1]d) where i@%[1]d * 8 + j@%[1]d < 60:
            reads A[vi@%[1]d +: 1, vk@%[1]d +: 1], B[vk@%[1]d +: 1, 0 +: 1]
            writes C[vi@%[1]d +: 1, 0 +: 1]
            init:
              C[vi@%[1]d, 0] = 0.0
            C[vi@%[1]d, 0] = C[vi@%[1]d, 0] + select(1 <= vi@%[1]d and vi@%[1]d < 63, A[vi@%[1]d, vk@%[1]d], 0.0) * max(B[vk@%[1]d, 0], 0.5)
            C[vi@%[1]d, 63] = exp(C[vi@%[1]d, 0] - 1.5)
`, n)
	}
	// the names with numbers are not the printer's: print once
	f, err := tirtext.Parse("long", strings.ReplaceAll(b.String(), "block C@", "block C"))
	if err != nil {
		panic(err)
	}
	return tirtext.Print(f)
}

// BenchmarkRoundTrip parses and prints; the bound for 10,000 lines is 200 ms.
func BenchmarkRoundTrip(b *testing.B) {
	for _, lines := range []int{10_000, 100_000} {
		text := long(lines)
		b.Run(fmt.Sprint(lines), func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				f, err := tirtext.Parse("long", text)
				if err != nil {
					b.Fatal(err)
				}
				if len(tirtext.Print(f)) != len(text) {
					b.Fatal("printed something else")
				}
			}
		})
	}
}

// Twenty times the lines take about twenty times as long, not four hundred times.
func TestLinear(t *testing.T) {
	took := func(text string) time.Duration {
		best := time.Hour
		for range 3 {
			start := time.Now()
			f, err := tirtext.Parse("long", text)
			require.NoError(t, err)
			require.Equal(t, len(text), len(tirtext.Print(f)))
			best = min(best, time.Since(start))
		}
		return best
	}
	short, longer := took(long(2_000)), took(long(40_000))
	t.Logf("2,000 lines: %v; 40,000 lines: %v", short, longer)
	require.Less(t, longer, 100*short)
}
