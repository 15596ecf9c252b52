package irgen_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/texel-ml/texel/internal/irgen"
	"github.com/texel-ml/texel/schedule"
	"github.com/texel-ml/texel/tir/interp"
	"github.com/texel-ml/texel/tir/tirtext"
	"github.com/texel-ml/texel/tir/verify"
)

// TestRandomNests takes random steps on functions of random loops, those that can be interpreted: half as many as
// TestRandomSchedules.
func TestRandomNests(t *testing.T) {
	start := time.Now()
	var next, legal, steps, failed atomic.Uint64
	var lock sync.Mutex
	total := map[string]*irgen.Tally{}
	var wait sync.WaitGroup
	for range 2 {
		wait.Go(func() {
			count := map[string]*irgen.Tally{}
			for n := next.Add(1) - 1; n < uint64(*schedules)/2; n = next.Add(1) - 1 {
				seed := *firstSeed + n
				k, ok, err := randomNest(seed, count)
				steps.Add(uint64(k))
				if ok {
					legal.Add(1)
				}
				if err != nil && failed.Add(1) < 6 {
					t.Errorf("seed %d: %v", seed, err)
				}
			}
			lock.Lock()
			defer lock.Unlock()
			for name, c := range count {
				if total[name] == nil {
					total[name] = &irgen.Tally{}
				}
				total[name].Taken += c.Taken
				total[name].Refused += c.Refused
			}
		})
	}
	wait.Wait()
	t.Logf("seeds %d to %d: %d programs of %d, %d steps, %d differ, %v", *firstSeed, *firstSeed+uint64(*schedules)/2-1, legal.Load(), *schedules/2, steps.Load(), failed.Load(), time.Since(start).Round(time.Millisecond))
	for _, p := range schedule.Primitives() {
		if c := total[p.Name]; c != nil {
			t.Logf("%-22s %7d taken %7d refused", p.Name, c.Taken, c.Refused)
		}
	}
	require.Greater(t, 4*legal.Load(), uint64(*schedules)/2, "too few programs can be interpreted")
}

func randomNest(seed uint64, count map[string]*irgen.Tally) (steps int, legal bool, err error) {
	var s *schedule.Schedule
	d := irgen.Seed(seed)
	f := irgen.Nests(d)
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v", r)
		}
		if err != nil {
			err = fmt.Errorf("%w\n%s", err, tirtext.Print(f))
		}
		if err != nil && s != nil {
			err = fmt.Errorf("%w\n%s\n%s", err, s.Trace(), tirtext.Print(s.Func()))
		}
	}()
	if err := verify.Verify(f); err != nil {
		return 0, false, nil
	}
	if interp.Run(context.Background(), f, irgen.Args(f, seed), interp.Options{}) != nil {
		return 0, false, nil // it reads what nothing wrote
	}
	s = schedule.NewWith(f, schedule.Options{Seed: seed})
	if err := irgen.Steps(d, s, 4+d.IntN(16), count); err != nil {
		return 0, true, err
	}
	return len(s.Trace().Steps), true, sameFunction(f, s, seed)
}
