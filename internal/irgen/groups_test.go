package irgen_test

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/texel-ml/texel/diag"
	"github.com/texel-ml/texel/internal/irgen"
	"github.com/texel-ml/texel/schedule"
	"github.com/texel-ml/texel/tensor"
	"github.com/texel-ml/texel/tir"
	"github.com/texel-ml/texel/tir/interp"
	"github.com/texel-ml/texel/tir/tirtext"
	"github.com/texel-ml/texel/tir/transform"
)

// sameKernels lowers a scheduled function for a device and runs the kernels behind some of the passes: on one with work-groups
// group by group, from barrier to barrier, with races told. What the kernels have in them is counted in seen, and so is why a
// pass refuses: a schedule may ask for what no kernel can do, such as a value that passes between work-groups.
func sameKernels(f *tir.Func, s *schedule.Schedule, device transform.Device, seed uint64, seen map[string]int) error {
	want := irgen.Args(f, seed)
	if err := interp.Run(context.Background(), f, want, interp.Options{}); err != nil {
		return fmt.Errorf("the program: %w", err)
	}
	var wrong error
	passes, done := len(transform.Passes()), 0
	dump := func(p *tir.Program) {
		done++
		if looked := done == passes || uint64(done) == seed/3%uint64(passes) || strings.HasSuffix(p.Stage, "lift-threads"); looked && wrong == nil {
			wrong = sameProgram(p, f, want, seed)
		}
	}
	p, err := transform.LowerProgram(s.Func(), transform.Options{Device: device, Verify: true, Dump: dump, MaxLanes: 16})
	var refused *diag.Error
	switch {
	case err == nil && wrong != nil:
		return wrong
	case err == nil:
		note(p, device, seen)
		return nil
	case errors.Is(err, diag.ErrUnsupported) && errors.As(err, &refused):
		what := refused.Message
		if refused.Step == "verify" {
			what = regexp.MustCompile(`texture \S+`).ReplaceAllString(what, "a texture")
		}
		seen[string(device)+" refused, "+refused.Step+": "+what]++
		return nil
	}
	return err
}

// sameProgram runs kernels and compares their results. Before lift-threads, loops over work-items are loops.
func sameProgram(p *tir.Program, f *tir.Func, want []*tensor.Tensor, seed uint64) error {
	args := irgen.Args(f, seed)
	buffers := map[*tir.Buffer]*tensor.Tensor{}
	for i, b := range p.Params {
		buffers[b] = args[i]
	}
	for _, k := range p.Kernels {
		o := interp.Options{Races: racesShow(k), SerialThreads: !transform.Lifted(k)}
		if err := interp.RunKernels(context.Background(), []*tir.Kernel{k}, buffers, o); err != nil {
			return fmt.Errorf("behind %s: %w\n%s", p.Stage, err, tirtext.PrintProgram(p))
		}
	}
	for i, b := range f.Params {
		if !equal(want[i], args[i]) {
			return fmt.Errorf("behind %s: %s differs\n%s", p.Stage, b.Name, tirtext.PrintProgram(p))
		}
	}
	return nil
}

// racesShow reports whether races can be told in a kernel: a shared buffer is one for each work-group, and one for each lane or
// virtual thread inside which it is allocated, which shows when the loops over these are carried out.
func racesShow(k *tir.Kernel) bool {
	shared := func(root any) bool {
		found := false
		tir.Walk(root, func(n any) bool {
			a, ok := n.(*tir.Allocate)
			found = found || ok && a.Buffer.Scope == tir.Shared
			return !found
		})
		return found
	}
	if !shared(k.Body) {
		return true
	}
	apart := false
	tir.Walk(k.Body, func(n any) bool {
		f, ok := n.(*tir.For)
		apart = apart || ok && f.Kind == tir.Vectorized && shared(f.Body)
		return !apart
	})
	return transform.Lifted(k) && !apart
}

// note counts the programs whose kernels have something in them.
func note(p *tir.Program, device transform.Device, seen map[string]int) {
	has := map[string]bool{"lowered": true}
	for _, b := range p.Between {
		has["between kernels, "+string(b.Scope)] = true
	}
	for _, k := range p.Kernels {
		tir.Walk(k.Body, func(n any) bool {
			switch n := n.(type) {
			case *tir.For:
				if n.Kind == tir.Bound {
					has[n.Thread] = true
				}
			case *tir.Barrier:
				has["barrier "+string(n.Scope)] = true
			case *tir.Ramp:
				has["vectors"] = true
			case *tir.Allocate:
				has["allocate "+string(n.Buffer.Scope)] = true
				has["room between rows"] = has["room between rows"] || n.Buffer.Strides != nil
			}
			return true
		})
	}
	for what, is := range has {
		if is {
			seen[string(device)+" "+what]++
		}
	}
}

// covers wants what lowered functions had in them, each in a good share.
func (c *tallies) covers(t *testing.T) {
	t.Helper()
	for device, list := range map[string][]string{
		"gpu": {"blockIdx.x", "blockIdx.y", "threadIdx.x", "threadIdx.y", "threadIdx.z", "barrier shared", "barrier global", "allocate shared",
			"allocate local", "room between rows", "vectors", "between kernels, global", "between kernels, texture"},
		"cpu": {"allocate local", "allocate scratch", "vectors", "between kernels, global"},
	} {
		lowered, refused := c.seen[device+" lowered"], 0
		for _, what := range list {
			require.Greater(t, 100*c.seen[device+" "+what], lowered, "fewer than one in a hundred for a %s has %s", device, what)
		}
		for what, n := range c.seen {
			if strings.HasPrefix(what, device+" refused") {
				refused += n
			}
		}
		require.Greater(t, lowered, refused, "most are refused for a %s", device)
	}
}
