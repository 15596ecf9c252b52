package schedule_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/texel-ml/texel/diag"
	"github.com/texel-ml/texel/schedule"
	"github.com/texel-ml/texel/tir/tirtext"
)

// TestProgramsReachTheirEndAfterARefusal has programs that take what steps give by its number, each behind a refusal of
// every kind. They must not panic, change nothing, and leave the first refusal as the error.
func TestProgramsReachTheirEndAfterARefusal(t *testing.T) {
	refusals := map[string]func(s *schedule.Schedule){
		"get_block: nobody: no block":                      func(s *schedule.Schedule) { s.Block("nobody") },
		"split: i1: factors [3 3] cover 9":                 func(s *schedule.Schedule) { s.Split(s.Loops(s.Block("C")).At(1), 3, 3) },
		"get_loops: C: gives 3 results, wanted 4":          func(s *schedule.Schedule) { s.Loops(s.Block("C")).Want(4) },
		"get_loops: R: gives 2 results, wanted number":     func(s *schedule.Schedule) { s.Vectorize(s.Loops(s.Block("R")).At(2)) },
		"get_consumers: R: gives 0 results, wanted number": func(s *schedule.Schedule) { s.Consumers(s.Block("R")).At(0) },
		"no primitive has this name":                       func(s *schedule.Schedule) { s.Do("nothing") },
	}
	programs := map[string]func(s *schedule.Schedule){
		"lists": func(s *schedule.Schedule) {
			l := s.Loops(s.Block("C")).Want(3)
			x, y := s.Split(l[0], 0, 4), s.Split(l[1], 0, 8)
			s.Reorder(x[0], y[0], l[2], x[1], y[1])
			s.Unroll(s.Loops(s.DecomposeReduction(s.Block("C"), l[2])).At(-1))
			s.Parallel(s.Fuse(x[0], y[0]))
		},
		"numbers": func(s *schedule.Schedule) {
			b := s.Producers(s.Block("R")).At(0)
			s.ComputeAt(b, s.Loops(s.Consumers(b).At(0)).At(0))
			s.Vectorize(s.Split(s.Loops(b).At(-1), 0, 4)[1])
			s.Unroll(s.LoopPartition(s.Loops(s.OutputBlocks().At(-1)).At(1), 1, 0)[0])
		},
		"sizes": func(s *schedule.Schedule) {
			tile := []int{2, 4, 8}
			for i, l := range s.Loops(s.Block("C")).Slice() {
				s.Split(l, 0, tile[i])
			}
			s.Fuse(s.Loops(s.Block("R")).Slice()...)
		},
		"results": func(s *schedule.Schedule) {
			b := s.Do("get_block", "C").Block(0)
			l := s.Do("get_loops", b)
			v := s.Do("sample_perfect_tile", l.Loop(2), 2, 8)
			parts := s.Do("split", l.Loop(2), []any{v.Int(0), v.Int(1)})
			s.Unroll(parts.Loop(-1))
			s.Tile(l.Loop(0), l.Loop(1), 2, 8)
		},
		"blocks": func(s *schedule.Schedule) {
			b := s.CacheRead(s.Block("C"), 0, "scratch")
			s.ComputeAt(b, s.Loops(s.Block("C")).At(0))
			s.Vectorize(s.Loops(s.ChildBlocks(s.Blockize(s.Loops(b).At(1))).At(0)).At(0))
			s.Vectorize(s.Merge(s.Loops(b).At(0), s.Loops(s.Block("R")).At(0)).At(0))
			s.Unroll(s.TransformBlockLayout(s.Block("R"), "i, j -> j, i").Want(2)[1])
			s.Unroll(s.Loops(s.LoopBlocks(s.Loops(b).At(0)).At(0)).At(0))
		},
	}
	for name, program := range programs { // they may be refused themselves
		require.NotPanics(t, func() { program(schedule.New(reluOfProduct())) }, name)
	}
	for want, refuse := range refusals {
		for name, program := range programs {
			t.Run(name+" after "+want, func(t *testing.T) {
				s := schedule.New(reluOfProduct())
				before := tirtext.Print(s.Func())
				refuse(s)
				first := s.Err()
				require.ErrorIs(t, first, diag.ErrInvalid)
				require.ErrorContains(t, first, want)
				steps := len(s.Trace().Steps)
				require.NotPanics(t, func() { program(s) })
				require.Same(t, first, s.Err())
				require.Len(t, s.Trace().Steps, steps)
				require.Equal(t, before, tirtext.Print(s.Func()))
			})
		}
	}
}

// TestLists has what a list says of numbers that it has and has not.
func TestLists(t *testing.T) {
	s := schedule.New(reluOfProduct())
	l := s.Loops(s.Block("C"))
	require.Equal(t, 3, l.Len())
	require.Equal(t, l.Slice(), l.Want(3))
	require.True(t, l.At(-1).Same(l.Slice()[2]))
	require.True(t, l.At(-3).Same(l.At(0)))
	require.Equal(t, 32, s.Extent(l.At(2)))
	require.NoError(t, s.Err())
	for want, take := range map[string]func(s *schedule.Schedule){
		"get_loops: C: gives 3 results, wanted number 3, counted from 0":  func(s *schedule.Schedule) { s.Loops(s.Block("C")).At(3) },
		"get_loops: C: gives 3 results, wanted number -4, counted from 0": func(s *schedule.Schedule) { s.Loops(s.Block("C")).At(-4) },
		"get_loops: C: gives 3 results, wanted 2":                         func(s *schedule.Schedule) { require.Len(t, s.Loops(s.Block("C")).Want(2), 2) },
		"get_loops: C: gives 3 results, wanted -1":                        func(s *schedule.Schedule) { require.Empty(t, s.Loops(s.Block("C")).Want(-1)) },
		"get_producers: C: gives 0 results, wanted number 0, counted from 0": func(s *schedule.Schedule) {
			require.Empty(t, s.Producers(s.Block("C")).At(0).Name())
		},
		"get_output_blocks: gives 1 results, wanted 2":         func(s *schedule.Schedule) { s.OutputBlocks().Want(2) },
		"get_block: result 0 is block b0, wanted a loop":       func(s *schedule.Schedule) { s.Do("get_block", "C").Loop(0) },
		"get_block: gives 1 results, wanted number 1":          func(s *schedule.Schedule) { s.Do("get_block", "C").Block(1) },
		"vectorize: the loop is empty: it comes from a step":   func(s *schedule.Schedule) { s.Vectorize(schedule.Loop{}) },
		"compute_inline: the block is empty: it comes from a":  func(s *schedule.Schedule) { s.ComputeInline(schedule.Block{}) },
		"unroll: the loop is empty: it comes from a step":      func(s *schedule.Schedule) { s.Unroll(schedule.List[schedule.Loop]{}.At(0)) },
		`reoder: no primitive has this name; did you mean reo`: func(s *schedule.Schedule) { s.Do("reoder") },
	} {
		s := schedule.New(reluOfProduct())
		take(s)
		require.ErrorIs(t, s.Err(), diag.ErrInvalid)
		require.ErrorContains(t, s.Err(), want)
	}
}

// TestListsInAttempts shows that a number that is not there undoes an attempt, and leaves nothing behind.
func TestListsInAttempts(t *testing.T) {
	s := schedule.New(reluOfProduct())
	var inside schedule.List[schedule.Loop]
	require.False(t, s.Attempt(func() {
		inside = s.Loops(s.Block("R"))
		s.Parallel(inside.At(0))
		s.Vectorize(inside.At(2))
	}))
	require.NoError(t, s.Err())
	require.Empty(t, s.Trace().Steps)
	s.Vectorize(inside.At(1))
	require.NoError(t, s.Err())
}
