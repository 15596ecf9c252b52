package irgen_test

import (
	"context"
	"flag"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/texel-ml/texel/internal/irgen"
	"github.com/texel-ml/texel/schedule"
	"github.com/texel-ml/texel/tensor"
	"github.com/texel-ml/texel/tir"
	"github.com/texel-ml/texel/tir/interp"
	"github.com/texel-ml/texel/tir/tirtext"
	"github.com/texel-ml/texel/tir/verify"
)

var (
	schedules = flag.Int("schedules", 2000, "how many random schedules TestRandomSchedules interprets")
	firstSeed = flag.Uint64("seed", 1, "the seed of the first of them")
)

// TestRandomSchedules takes random steps on random functions. What comes out verifies, computes what the function computed,
// without a race, and its trace replays to the same text.
func TestRandomSchedules(t *testing.T) {
	start := time.Now()
	var next atomic.Uint64
	var wait sync.WaitGroup
	var lock sync.Mutex
	total := map[string]*irgen.Tally{}
	steps, failed := 0, 0
	for range 2 {
		wait.Go(func() {
			count := map[string]*irgen.Tally{}
			taken := 0
			for {
				n := next.Add(1) - 1
				if n >= uint64(*schedules) {
					break
				}
				seed := *firstSeed + n
				k, err := randomSchedule(seed, count)
				taken += k
				if err != nil {
					lock.Lock()
					if failed++; failed < 4 {
						t.Errorf("seed %d: %v", seed, err)
					}
					lock.Unlock()
				}
			}
			lock.Lock()
			defer lock.Unlock()
			steps += taken
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
	t.Logf("seeds %d to %d: %d schedules of %d steps, %d differ, %v", *firstSeed, *firstSeed+uint64(*schedules)-1, *schedules, steps, failed, time.Since(start).Round(time.Millisecond))
	names := []string{}
	for name := range total {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		t.Logf("%-22s %7d taken %7d refused", name, total[name].Taken, total[name].Refused)
	}
	for _, name := range names {
		if *schedules >= 20000 {
			require.NotZero(t, total[name].Taken, "%s is never taken", name)
		}
	}
}

func randomSchedule(seed uint64, count map[string]*irgen.Tally) (steps int, err error) {
	var s *schedule.Schedule
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v", r)
		}
		if err != nil && s != nil {
			err = fmt.Errorf("%w\n%s\n%s", err, s.Trace(), tirtext.Print(s.Func()))
		}
	}()
	d := irgen.Seed(seed)
	f := irgen.Make(d, irgen.Options{Points: 300, MaxStages: 4, Tuples: true, Scans: true})
	if seed%16 == 0 {
		f = irgen.Product(d)
	}
	s = schedule.NewWith(f, schedule.Options{Seed: seed})
	if err := irgen.Steps(d, s, 4+d.IntN(12), count); err != nil {
		return 0, err
	}
	for _, st := range s.Trace().Steps {
		if irgen.Draws(st.Name) {
			steps++
		}
	}
	return steps, sameFunction(f, s, seed)
}

func sameFunction(f *tir.Func, s *schedule.Schedule, seed uint64) error {
	if err := verify.Verify(s.Func()); err != nil {
		return err
	}
	want, got := irgen.Args(f, seed), irgen.Args(f, seed)
	if err := interp.Run(context.Background(), f, want, interp.Options{}); err != nil {
		return fmt.Errorf("the program: %w", err)
	}
	if err := interp.Run(context.Background(), s.Func(), got, interp.Options{Races: true}); err != nil {
		return err
	}
	for i, b := range f.Params {
		if !equal(want[i], got[i]) {
			return fmt.Errorf("%s differs", b.Name)
		}
	}
	text := s.Trace().String()
	trace, err := schedule.ParseTrace("trace", text)
	if err != nil {
		return err
	}
	again := schedule.NewWith(f, schedule.Options{Trust: true})
	if err := again.Replay(trace); err != nil {
		return err
	}
	if tirtext.Print(again.Func()) != tirtext.Print(s.Func()) || again.Trace().String() != text {
		return fmt.Errorf("the trace gives another function")
	}
	return nil
}

// equal compares numbers: the sign of a zero may differ.
func equal(a, b *tensor.Tensor) bool {
	if string(a.Data) == string(b.Data) {
		return true
	}
	x, y := tensor.Widen(a), tensor.Widen(b)
	return slices.Equal(x.F, y.F) && slices.Equal(x.I, y.I)
}

// Every primitive is drawn that is no query, and that keeps results as they are.
func TestStepsDrawEveryPrimitive(t *testing.T) {
	for _, p := range schedule.Primitives() {
		if strings.HasPrefix(p.Name, "get_") || strings.HasPrefix(p.Name, "unsafe_") {
			continue
		}
		require.True(t, irgen.Draws(p.Name), "%s has no operands to draw", p.Name)
	}
}
