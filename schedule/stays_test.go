package schedule_test

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/texel-ml/texel/internal/irgen"
	"github.com/texel-ml/texel/schedule"
	"github.com/texel-ml/texel/tir/tirtext"
	"github.com/texel-ml/texel/tir/verify"
)

// TestWhatStaysIsLeftOut edits functions of which all is proven. What of the edited function is not proven is among what is
// stated of it since.
func TestWhatStaysIsLeftOut(t *testing.T) {
	held, failed, stated, left := 0, 0, 0, 0
	for seed := range uint64(1500) {
		d := rand.New(rand.NewPCG(seed, 1))
		before := irgen.Nests(d)
		if seed%2 == 0 {
			before = irgen.Make(d, irgen.Options{Points: 300, Tuples: true, Scans: true})
		}
		program := before
		if len(unproven(schedule.Obligations(program, program, program))) > 0 {
			continue
		}
		for range 8 {
			f := irgen.Edit(d, before)
			if verify.Verify(f) != nil {
				continue
			}
			whole, since := schedule.Obligations(program, before, f), schedule.ObligationsSince(program, before, f)
			want := unproven(whole)
			require.Equal(t, want, unproven(since), "seed %d:\n%s\n%s", seed, tirtext.Print(before), tirtext.Print(f))
			stated, left = stated+len(since), left+len(whole)-len(since)
			if len(want) > 0 {
				failed++
				continue
			}
			held++
			before = f
		}
	}
	t.Logf("%d edits kept what is proven, %d did not; %d claims were stated, %d left out", held, failed, stated, left)
	require.Greater(t, failed, 500)
	require.Greater(t, held, 1000)
	require.Greater(t, left, stated/4)
}

// unproven returns the keys of what is not proven.
func unproven(list []*schedule.Obligation) []string {
	var keys []string
	for _, o := range list {
		if o.Check() != nil {
			keys = append(keys, o.Key)
		}
	}
	return keys
}
