package main

import (
	"context"
	"fmt"
	"slices"
	"syscall"
	"time"

	"github.com/texel-ml/texel/diag"
	"github.com/texel-ml/texel/relay"
	"github.com/texel-ml/texel/relay/transform"
)

// timedRounds is how often --times runs the passes.
const timedRounds = 5

// timePasses prints what each pass costs: the processor time of all threads, best and median of some rounds, the rewrites and how
// many nodes it leaves.
func (a *app) timePasses(ctx context.Context, m *relay.Module, passes []transform.Pass, o *transform.Options) error {
	took, rewrites, nodes := make([][]time.Duration, len(passes)), make([]int, len(passes)), make([]int, len(passes))
	var whole []time.Duration
	for range timedRounds {
		round, now := *o, 0
		round.Notes = &diag.Notes{}
		clear(rewrites)
		var spent time.Duration
		began := processorTime()
		round.Rewrote = func(transform.Rewrite) { rewrites[now]++ }
		round.Observe = func(i int, _ transform.Pass, m *relay.Module) error {
			t := processorTime() - began
			took[i] = append(took[i], t)
			spent += t
			nodes[i], now = count(m), i+1
			began = processorTime()
			return nil
		}
		if _, err := transform.Run(ctx, m, passes, &round); err != nil {
			return err
		}
		whole = append(whole, spent)
	}
	line := func(name string, times []time.Duration, rewrites, nodes string) {
		slices.Sort(times)
		ms := func(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
		fmt.Fprintf(a.out, "%-32s %9.2f %9.2f %9s %7s\n", name, ms(times[0]), ms(times[len(times)/2]), rewrites, nodes)
	}
	fmt.Fprintf(a.out, "%-32s %9s %9s %9s %7s\n", fmt.Sprintf("pass, %d nodes", count(m)), "best ms", "median", "rewrites", "nodes")
	for i, p := range passes {
		line(p.Name, took[i], fmt.Sprint(rewrites[i]), fmt.Sprint(nodes[i]))
	}
	line("all", whole, "", "")
	return nil
}

// processorTime is what all threads of this process have used.
func processorTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// count returns how many calls of operators a module has, those in functions included.
func count(m *relay.Module) (n int) {
	for e := range relay.PostOrder(m.Main(), true) {
		if c, ok := e.(*relay.Call); ok && c.Op != nil {
			n++
		}
	}
	return n
}
