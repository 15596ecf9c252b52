package schedule_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/texel-ml/texel/schedule"
	"github.com/texel-ml/texel/tir"
	"github.com/texel-ml/texel/tir/tirtext"
	"github.com/texel-ml/texel/tir/verify"
)

// TestRandomLoops takes random steps on loops and places of the programs in testdata/programs, and of those in testdata/strange,
// which are legal and have what few programs have: stores outside of blocks, no iterations, loops backwards. What comes out must verify,
// compute what the program computes, without a race, and replay. Most of the schedules trust: what a step must check, it
// checks by itself, without the proof of the whole function.
func TestRandomLoops(t *testing.T) {
	files, err := filepath.Glob("testdata/programs/*.tir")
	require.NoError(t, err)
	more, err := filepath.Glob("testdata/strange/*.tir")
	require.NoError(t, err)
	require.NotEmpty(t, more)
	files = slices.Concat(files, more, more) // what few programs have
	var programs []*tir.Func
	for _, path := range files {
		if f := readTir(t, path); f.Name != "firstmax" { // which says reduce of what depends on the order
			programs = append(programs, f)
		}
	}
	require.Greater(t, len(programs), 20)
	taken := map[string]int{}
	rapid.Check(t, func(rt *rapid.T) {
		for range 16 { // so that each step is taken many times
			program := rapid.SampledFrom(programs).Draw(rt, "program")
			s := schedule.NewWith(program, schedule.Options{Trust: rapid.IntRange(0, 3).Draw(rt, "trust") > 0})
			d := &loopDraw{t: rt, s: s}
			for range rapid.IntRange(1, 8).Draw(rt, "steps") {
				step := rapid.SampledFrom(loopSteps).Draw(rt, "step")
				if s.Attempt(func() { step.take(d) }) {
					taken[step.name]++
				}
			}
			rt.Log(s.Trace(), tirtext.Print(s.Func()))
			require.NoError(rt, verify.Verify(s.Func()))
			sameResults(rt, program, s.Func())
			trace, err := schedule.ParseTrace("trace", s.Trace().String())
			require.NoError(rt, err)
			r := schedule.NewWith(program, schedule.Options{Trust: true})
			require.NoError(rt, r.Replay(trace))
			require.Equal(rt, tirtext.Print(s.Func()), tirtext.Print(r.Func()))
		}
	})
	t.Logf("steps taken: %v", taken)
	for _, step := range loopSteps {
		require.NotZero(t, taken[step.name], "%s was never taken", step.name)
	}
}

// loopDraw draws the operands of steps. A draw that finds none refuses, as a step does.
type loopDraw struct {
	t *rapid.T
	s *schedule.Schedule
}

func (d *loopDraw) number(least, most int) int { return rapid.IntRange(least, most).Draw(d.t, "n") }

func (d *loopDraw) block() schedule.Block {
	var names []string
	tir.Walk(d.s.Func().Root().Body, func(n any) bool {
		if r, ok := n.(*tir.BlockRealize); ok {
			names = append(names, r.Block.Name)
		}
		return true
	})
	return d.s.Block(rapid.SampledFrom(names).Draw(d.t, "block"))
}

// one is one of a list of loops, and an empty loop, which no step takes, when there are none.
func (d *loopDraw) one(list []schedule.Loop) schedule.Loop {
	if len(list) == 0 {
		return schedule.Loop{}
	}
	return list[d.number(0, len(list)-1)]
}

func (d *loopDraw) loop() schedule.Loop { return d.one(d.s.Loops(d.block()).Slice()) }

// some are loops around a block, next to each other.
func (d *loopDraw) some() []schedule.Loop {
	list := d.s.Loops(d.block()).Slice()
	if len(list) == 0 {
		return nil
	}
	from := d.number(0, len(list)-1)
	return list[from : from+d.number(1, len(list)-from)]
}

// near is a loop around one of the blocks, or around any.
func (d *loopDraw) near(blocks []schedule.Block) schedule.Loop {
	if len(blocks) == 0 || d.number(0, 9) == 0 {
		return d.loop()
	}
	return d.one(d.s.Loops(blocks[d.number(0, len(blocks)-1)]).Slice())
}

func (d *loopDraw) place() int { return rapid.SampledFrom([]int{-1, -1, -2, 0, 1}).Draw(d.t, "place") }

var loopSteps = []struct {
	name string
	take func(d *loopDraw)
}{
	{"split", func(d *loopDraw) {
		tail := rapid.SampledFrom([]schedule.Tail{schedule.Guard, schedule.ShiftInwards, schedule.RoundUp}).Draw(d.t, "tail")
		factors := [][]int{{0, 2}, {0, 3}, {0, 4}, {2, 0}, {3, 0}, {0, 2, 2}, {0, 7}, {1, 0}, {0, 16}}
		d.s.SplitBy(d.loop(), tail, schedule.Ints(factors[d.number(0, len(factors)-1)]...)...)
	}},
	{"tile", func(d *loopDraw) {
		if l := d.some(); len(l) > 1 {
			d.s.Tile(l[0], l[len(l)-1], d.number(1, 4), d.number(1, 5))
		}
	}},
	{"fuse", func(d *loopDraw) { d.s.Fuse(d.some()...) }},
	{"reorder", func(d *loopDraw) { d.s.Reorder(rapid.Permutation(d.some()).Draw(d.t, "order")...) }},
	{"add_unit_loop", func(d *loopDraw) { d.s.AddUnitLoop(d.block()) }},
	{"loop_partition", func(d *loopDraw) {
		extents := [][]int{{1, 0}, {0, 1}, {1, 0, 1}, {3, 0}, {0, 5}}
		d.s.LoopPartition(d.loop(), extents[d.number(0, len(extents)-1)]...)
	}},
	{"merge", func(d *loopDraw) {
		b := d.block()
		at := d.number(0, 3)
		loops := d.s.Loops(b).Slice()
		for _, c := range append(d.s.Producers(b).Slice(), d.s.Consumers(b).Slice()...) {
			if other := d.s.Loops(c).Slice(); at < len(loops) && at < len(other) {
				d.s.Merge(loops[at], other[at])
				return
			}
		}
		d.s.Merge(d.loop(), d.loop())
	}},
	{"compute_at", func(d *loopDraw) {
		b := d.block()
		d.s.ComputeAtPlace(b, d.near(d.s.Consumers(b).Slice()), d.place())
	}},
	{"reverse_compute_at", func(d *loopDraw) {
		b := d.block()
		d.s.ReverseComputeAtPlace(b, d.near(d.s.Producers(b).Slice()), d.place())
	}},
	{"compute_inline", func(d *loopDraw) { d.s.ComputeInline(d.block()) }},
	{"reverse_compute_inline", func(d *loopDraw) { d.s.ReverseComputeInline(d.block()) }},
	{"set_scope", func(d *loopDraw) {
		d.s.SetScope(d.block(), rapid.SampledFrom([]tir.Scope{tir.Scratch, tir.Local}).Draw(d.t, "scope"))
	}},
	{"parallel", func(d *loopDraw) { d.s.Parallel(d.loop()) }},
	{"vectorize", func(d *loopDraw) { d.s.Vectorize(d.loop()) }},
	{"unroll", func(d *loopDraw) { d.s.Unroll(d.loop()) }},
	{"bind", func(d *loopDraw) {
		axis := rapid.SampledFrom([]string{"blockIdx.x", "threadIdx.x", "threadIdx.y", "vthread"}).Draw(d.t, "axis")
		d.s.Bind(d.loop(), axis)
	}},
}

// TestLoopStepsAreDrawn wants each primitive of this file's kind among the random steps.
func TestLoopStepsAreDrawn(t *testing.T) {
	var names []string
	for _, step := range loopSteps {
		names = append(names, step.name)
	}
	for _, want := range []string{"split", "tile", "fuse", "reorder", "merge", "loop_partition", "add_unit_loop", "parallel", "vectorize", "unroll",
		"bind", "compute_at", "reverse_compute_at", "compute_inline", "reverse_compute_inline"} {
		require.True(t, slices.Contains(names, want), fmt.Sprintf("%s is not drawn", want))
	}
}
