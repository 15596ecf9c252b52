package irgen_test

import (
	"context"
	"flag"
	"fmt"
	"maps"
	"runtime"
	"runtime/debug"
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
	"github.com/texel-ml/texel/tir/transform"
	"github.com/texel-ml/texel/tir/verify"
)

var (
	schedules = flag.Int("schedules", 2000, "how many random schedules TestRandomSchedules interprets")
	firstSeed = flag.Uint64("seed", 1, "the seed of the first of them")
)

// TestRandomSchedules takes random steps on random functions, a third of them for a device with work-groups. What comes out
// verifies, computes what the function computed, without a race, and its trace replays to the same text; the kernels that
// the loop passes make of it compute the same.
func TestRandomSchedules(t *testing.T) {
	all := campaign(t, *schedules, func(seed uint64, c *tallies) error {
		d := irgen.Seed(seed)
		f := irgen.Make(d, irgen.Options{Points: 300, MaxStages: 4, Tuples: true, Scans: true})
		if seed%16 == 0 {
			f = irgen.Product(d)
		}
		return c.scheduled(d, f, seed, 4+d.IntN(12))
	})
	all.log(t)
	if *schedules >= 1000 { // fewer say nothing
		all.covers(t)
	}
	if *schedules >= 20000 {
		for name, c := range all.steps {
			require.NotZero(t, c.Taken, "%s is never taken", name)
		}
	}
}

// tallies are what a test counts.
type tallies struct {
	steps map[string]*irgen.Tally // of each primitive
	seen  map[string]int          // what kernels had in them, and why there were none
	taken int                     // steps in traces
}

func newTallies() *tallies { return &tallies{steps: map[string]*irgen.Tally{}, seen: map[string]int{}} }

func (c *tallies) add(o *tallies) {
	for name, n := range o.steps {
		if c.steps[name] == nil {
			c.steps[name] = &irgen.Tally{}
		}
		c.steps[name].Taken += n.Taken
		c.steps[name].Refused += n.Refused
	}
	for what, n := range o.seen {
		c.seen[what] += n
	}
	c.taken += o.taken
}

// campaign runs a check for each of n seeds, tells the first that fail, and returns what was counted.
func campaign(t *testing.T, n int, check func(seed uint64, c *tallies) error) *tallies {
	t.Helper()
	start := time.Now()
	var next, failed atomic.Uint64
	var wait sync.WaitGroup
	var lock sync.Mutex
	all := newTallies()
	for range runtime.GOMAXPROCS(0) {
		wait.Go(func() {
			c := newTallies()
			for i := next.Add(1) - 1; i < uint64(n); i = next.Add(1) - 1 {
				seed := *firstSeed + i
				err := check(seed, c)
				if err == nil {
					continue
				}
				text := err.Error()
				if failed.Add(1) > 4 { // the rest in one line each
					text, _, _ = strings.Cut(text, "\n")
				}
				t.Errorf("seed %d: %s", seed, text)
			}
			lock.Lock()
			defer lock.Unlock()
			all.add(c)
		})
	}
	wait.Wait()
	t.Logf("seeds %d to %d: %d functions, %d steps, %d differ, %v", *firstSeed, *firstSeed+uint64(n)-1, n, all.taken, failed.Load(), time.Since(start).Round(time.Millisecond))
	return all
}

// log prints how often each primitive was taken.
func (c *tallies) log(t *testing.T) {
	t.Helper()
	for _, p := range schedule.Primitives() {
		if n := c.steps[p.Name]; n != nil {
			t.Logf("%-22s %7d taken %7d refused", p.Name, n.Taken, n.Refused)
		}
	}
	for _, what := range slices.Sorted(maps.Keys(c.seen)) {
		t.Logf("%7d %s", c.seen[what], what)
	}
}

// scheduled takes about n random steps on a function, and checks what comes out.
func (c *tallies) scheduled(d irgen.Draw, f *tir.Func, seed uint64, n int) (err error) {
	s := schedule.NewWith(f, schedule.Options{Seed: seed})
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v\n%s", r, debug.Stack())
		}
		if err != nil {
			err = fmt.Errorf("%w\n%s\n%s\n%s", err, tirtext.Print(f), s.Trace(), tirtext.Print(s.Func()))
		}
	}()
	shape, device := irgen.Steps, transform.CPU
	if seed%3 == 2 {
		shape, device = irgen.GroupSteps, transform.GPU
	}
	if err := shape(d, s, n, c.steps); err != nil {
		return err
	}
	for _, st := range s.Trace().Steps {
		if irgen.Draws(st.Name) {
			c.taken++
		}
	}
	if err := sameFunction(f, s, seed); err != nil {
		return err
	}
	return sameKernels(f, s, device, seed, c.seen)
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
