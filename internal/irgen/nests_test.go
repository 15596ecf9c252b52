package irgen_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/texel-ml/texel/internal/irgen"
	"github.com/texel-ml/texel/tir/interp"
	"github.com/texel-ml/texel/tir/verify"
)

// TestRandomNests takes random steps on functions of random loops, those that can be interpreted: half as many as
// TestRandomSchedules.
func TestRandomNests(t *testing.T) {
	all := campaign(t, *schedules/2, func(seed uint64, c *tallies) error {
		d := irgen.Seed(seed)
		f := irgen.Nests(d)
		if verify.Verify(f) != nil || interp.Run(context.Background(), f, irgen.Args(f, seed), interp.Options{}) != nil {
			return nil // it reads what nothing wrote
		}
		c.seen["can be interpreted"]++
		return c.scheduled(d, f, seed, 4+d.IntN(16))
	})
	all.log(t)
	require.Greater(t, 4*all.seen["can be interpreted"], *schedules/2, "too few programs can be interpreted")
}
