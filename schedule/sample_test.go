package schedule_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/texel-ml/texel/diag"
	"github.com/texel-ml/texel/schedule"
	"github.com/texel-ml/texel/tir"
	"github.com/texel-ml/texel/tir/tirtext"
)

// drawn is a schedule that draws a tile, a number and a place.
func drawn(s *schedule.Schedule) {
	c := s.Block("C")
	l := s.Loops(c).Want(3)
	s.SamplePerfectTile(l[1], 3, 16)
	s.SampleCategorical([]int{0, 16, 64, 512}, []float64{1, 1, 1, 1})
	s.ComputeAt(c, s.SampleComputeLocation(c))
}

// TestSeeds shows that a seed fixes what is drawn, and that a fork draws something else.
func TestSeeds(t *testing.T) {
	take := func(s *schedule.Schedule) string {
		drawn(s)
		require.NoError(t, s.Err())
		return s.Trace().String()
	}
	f := reluOfProduct()
	traces := map[string]bool{}
	for seed := range uint64(20) {
		a := take(schedule.NewWith(f, schedule.Options{Seed: seed}))
		require.Equal(t, a, take(schedule.NewWith(f, schedule.Options{Seed: seed})))
		require.Equal(t, a, take(schedule.New(f).Fork(seed)))
		traces[a] = true
	}
	require.Greater(t, len(traces), 10)
}

// TestDecisionsReplay shows that a trace replays without drawing, whatever the seed.
func TestDecisionsReplay(t *testing.T) {
	f := reluOfProduct()
	for seed := range uint64(20) {
		s := schedule.NewWith(f, schedule.Options{Seed: seed})
		drawn(s)
		trace, err := schedule.ParseTrace("trace", s.Trace().String())
		require.NoError(t, err)
		r := schedule.NewWith(f, schedule.Options{Seed: seed + 1})
		require.NoError(t, r.Replay(trace))
		require.Equal(t, s.Trace().String(), r.Trace().String())
		require.Equal(t, tirtext.Print(s.Func()), tirtext.Print(r.Func()))
	}
}

// TestWithDecision changes what a step of a trace drew: the split that takes it changes with it.
func TestWithDecision(t *testing.T) {
	trace, err := schedule.ParseTrace("trace", `b0 = get_block("C")
l0, l1, l2 = get_loops(b0)
v0, v1 = sample_perfect_tile(l1, 2, 16) @ [2, 12]
l3, l4 = split(l1, [v0, v1])
`)
	require.NoError(t, err)
	inner := func(trace *schedule.Trace) (int64, error) {
		s := schedule.New(reluOfProduct())
		if err := s.Replay(trace); err != nil {
			return 0, err
		}
		var extents []int64
		tir.Walk(s.Func().Body, func(n any) bool {
			if f, ok := n.(*tir.For); ok {
				e, _ := tir.AsInt(f.Extent)
				extents = append(extents, e)
			}
			return true
		})
		return extents[2], nil
	}
	got, err := inner(trace)
	require.NoError(t, err)
	require.EqualValues(t, 12, got)
	got, err = inner(trace.WithDecision(2, []schedule.Value{6, 4}))
	require.NoError(t, err)
	require.EqualValues(t, 4, got)
	require.Contains(t, trace.String(), "@ [2, 12]", "the trace itself stays")
	got, err = inner(trace.WithDecision(2, nil))
	require.NoError(t, err)
	require.LessOrEqual(t, got, int64(16))
	_, err = inner(trace.WithDecision(2, []schedule.Value{5, 5}))
	require.ErrorIs(t, err, diag.ErrInvalid)
}

// TestDecisionsOfOwnPrimitives shows that a primitive of the options that draws keeps its decisions in its own step.
func TestDecisionsOfOwnPrimitives(t *testing.T) {
	opts := schedule.Options{Seed: 3, Primitives: []schedule.Primitive{{Name: "tile_two", Usage: "loop, loop", Apply: func(c *schedule.Call) {
		for n := range 2 {
			f := c.S.SamplePerfectTile(c.Loop(n), 2, 8)
			c.Give(c.S.Split(c.Loop(n), f[0].Value(), f[1].Value()))
		}
	}}}}
	f := reluOfProduct()
	s := schedule.NewWith(f, opts)
	l := s.Loops(s.Block("C")).Want(3)
	require.Equal(t, 4, s.Do("tile_two", l[0], l[2]).Len())
	require.NoError(t, s.Err())
	text := s.Trace().String()
	require.Regexp(t, `l3, l4, l5, l6 = tile_two\(l0, l2\) @ \[\[\d+, \d+\], \[\d+, \d+\]\]`, text)
	trace, err := schedule.ParseTrace("trace", text)
	require.NoError(t, err)
	r := schedule.NewWith(f, schedule.Options{Seed: 4, Primitives: opts.Primitives})
	require.NoError(t, r.Replay(trace))
	require.Equal(t, text, r.Trace().String())
	require.Equal(t, tirtext.Print(s.Func()), tirtext.Print(r.Func()))
	for _, wrong := range []schedule.Value{7, []schedule.Value{[]schedule.Value{10, 1}}, []schedule.Value{[]schedule.Value{10, 1}, []schedule.Value{8, 4}, 3}} {
		require.ErrorIs(t, schedule.NewWith(f, opts).Replay(trace.WithDecision(2, wrong)), diag.ErrInvalid, "%v", wrong)
	}
}
