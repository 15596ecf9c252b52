package llvm

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/texel-ml/texel/diag"
	"github.com/texel-ml/texel/internal/irgen"
	"github.com/texel-ml/texel/schedule"
	"github.com/texel-ml/texel/target"
	"github.com/texel-ml/texel/tir"
	"github.com/texel-ml/texel/tir/tirtext"
	"github.com/texel-ml/texel/tir/transform"
)

// TestRandomScheduledFunctions compares randomly scheduled functions, as machine code, with the program that they are
// schedules of. Functions with loops that are bound to a grid, or
// with textures, are for other devices.
func TestRandomScheduledFunctions(t *testing.T) {
	const want = 100
	var list, plain []*tir.Func
	steps, refused := 0, 0
	seed := uint64(1)
	for ; len(list) < want; seed++ {
		require.Less(t, seed, uint64(4*want), "most functions should be code")
		d := irgen.Seed(seed)
		f := irgen.Make(d, irgen.Options{Points: 600, MaxStages: 4, Tuples: true, Scans: true})
		s := schedule.NewWith(f, schedule.Options{Seed: seed})
		if err := irgen.Steps(d, s, 16, map[string]*irgen.Tally{}); err != nil || !forProcessor(s.Func()) {
			continue
		}
		if _, _, err := transform.Lower(s.Func(), transform.Options{}); err != nil { // a double buffer without a use for it, say
			require.False(t, errors.Is(err, diag.ErrInternal), "seed %d: %v", seed, err)
			refused++
			continue
		}
		for _, st := range s.Trace().Steps {
			if irgen.Draws(st.Name) {
				steps++
			}
		}
		list, plain = append(list, s.Func()), append(plain, f)
	}
	t.Logf("seeds 1 to %d: %d functions, %d steps; %d more do not lower", seed-1, len(list), steps, refused)
	require.Less(t, refused, want/10)
	all, kernels := programs(t, list)
	machines(t, kernels, func(t *testing.T, m machine) {
		for n, p := range all {
			p.f = plain[n] // the results are those of the program
			p.requireRuns(t, m, irgen.Args(p.f, uint64(n)), fmt.Sprint("function ", n))
		}
	})
}

// forProcessor reports whether no loop is bound to a grid, and nothing lies in a texture.
func forProcessor(f *tir.Func) bool {
	free := true
	tir.Walk(f.Body, func(n any) bool {
		switch n := n.(type) {
		case *tir.For:
			free = free && n.Kind != tir.Bound
		case *tir.Store:
			free = free && n.Buffer.Scope != tir.Texture
		}
		return free
	})
	return free
}

// TestReplayGivesTheSameCode replays the text of a trace on the text of its program: loops and machine code are the same to the
// byte.
func TestReplayGivesTheSameCode(t *testing.T) {
	text, err := os.ReadFile("../../docs/schedules/conv2d/conv2d.tir")
	require.NoError(t, err)
	steps, err := os.ReadFile("../../docs/schedules/conv2d/avx512.trace")
	require.NoError(t, err)
	tgt, err := target.Parse("x86-64-v4")
	require.NoError(t, err)
	build := func(program, steps string) (*schedule.Schedule, []byte) {
		f, err := tirtext.Parse("conv2d.tir", program)
		require.NoError(t, err)
		trace, err := schedule.ParseTrace("conv2d.trace", steps)
		require.NoError(t, err)
		s := schedule.New(f)
		require.NoError(t, s.Replay(trace))
		kernels, _, err := transform.Lower(s.Func(), transform.Options{})
		require.NoError(t, err)
		tl := tools(t)
		o, err := Build(context.Background(), kernels, tgt, Options{Tools: &tl})
		require.NoError(t, err)
		return s, o.SO
	}
	s, code := build(string(text), string(steps))
	f, err := tirtext.Parse("again", string(text))
	require.NoError(t, err)
	again, same := build(tirtext.Print(f), s.Trace().String())
	require.Equal(t, tirtext.Print(s.Func()), tirtext.Print(again.Func()))
	require.True(t, bytes.Equal(code, same), "%d and %d bytes", len(code), len(same))
}
