package texel_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/texel-ml/texel"
	"github.com/texel-ml/texel/diag"
	"github.com/texel-ml/texel/internal/irgen"
	"github.com/texel-ml/texel/internal/numtest"
	"github.com/texel-ml/texel/schedule"
	"github.com/texel-ml/texel/tir/interp"
	"github.com/texel-ml/texel/tir/tirtext"
)

// TestBuiltRandomFunctions builds random functions with random traces, calls them, and wants the results of the
// interpreter, exactly: their arithmetic rounds nothing.
func TestBuiltRandomFunctions(t *testing.T) {
	const programs = 30
	steps, ran := 0, 0
	for seed := range uint64(programs) {
		f := irgen.Make(irgen.Seed(seed), irgen.Options{Tuples: true})
		s := schedule.New(f)
		require.NoError(t, irgen.Steps(irgen.Seed(seed), s, 4*int(seed%8), map[string]*irgen.Tally{}))
		steps += len(s.Trace().Steps)
		b, err := texel.Build(t.Context(), f, texel.BuildOptions{Trace: s.Trace()})
		if err != nil { // a trace may bind loops, which no processor has
			require.ErrorIs(t, err, diag.ErrUnsupported, "seed %d", seed)
			continue
		}
		call, err := b.Load(texel.CallOptions{Threads: 2})
		require.NoError(t, err, "seed %d", seed)
		args, want := irgen.Args(f, seed), irgen.Args(f, seed)
		require.NoError(t, call.Run(t.Context(), args...))
		require.NoError(t, call.Close())
		require.NoError(t, interp.Run(t.Context(), f, want, interp.Options{}))
		for i := len(args) - f.Outputs; i < len(args); i++ {
			require.NoError(t, numtest.Compare(args[i], want[i], numtest.Tolerance{}), "seed %d, %s\n%s\n%s", seed, f.Params[i].Name, s.Trace(), tirtext.Print(f))
		}
		ran++
	}
	require.Greater(t, ran, programs/2)
	require.Greater(t, steps, programs)
	t.Logf("%d functions ran, shaped by %d steps", ran, steps)
}
