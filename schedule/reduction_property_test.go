package schedule_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/texel-ml/texel/diag"
	"github.com/texel-ml/texel/schedule"
	"github.com/texel-ml/texel/tir"
	"github.com/texel-ml/texel/tir/tirtext"
)

// TestRandomReductions takes random steps of the primitives of reductions, blocks, padding and sampling, with split and
// reorder between them, on the programs of testdata. A step is taken or refused, never a panic or an illegal function; what
// comes out computes the same, without races, and its trace replays.
func TestRandomReductions(t *testing.T) {
	files, err := filepath.Glob("testdata/programs/*.tir")
	require.NoError(t, err)
	var programs []*tir.Func
	for _, path := range files {
		f := readTir(t, path)
		switch {
		case !isProven(f), f.Name == "firstmax": // which says reduce of what depends on the order
			continue
		case strings.Contains(path, "staircase"): // whose bounds the verifier does not follow through several splits
			continue
		}
		programs = append(programs, f)
		if strings.Contains(path, "gemm") || strings.Contains(path, "padded") { // what instructions fit, and a border
			programs = append(programs, f, f, f)
		}
	}
	require.Greater(t, len(programs), 8)
	taken := map[string]int{}
	missing := func() (list []string) {
		for _, name := range randomSteps {
			if taken[name] == 0 {
				list = append(list, name)
			}
		}
		return list
	}
	for round := 0; round < 4 && len(missing()) > 0; round++ { // one, but for bad luck
		rapid.Check(t, func(rt *rapid.T) { randomReductions(rt, programs, taken) })
	}
	t.Logf("steps taken: %v", taken)
	require.Empty(t, missing(), "never taken")
}

// randomReductions takes random steps on a few programs.
func randomReductions(rt *rapid.T, programs []*tir.Func, taken map[string]int) {
	for range 3 {
		program := rapid.SampledFrom(programs).Draw(rt, "program")
		s := schedule.NewWith(program, schedule.Options{Seed: rapid.Uint64().Draw(rt, "seed")})
		w := &walker{t: rt, s: s}
		for range rapid.IntRange(1, 8).Draw(rt, "steps") {
			name := rapid.SampledFrom(randomSteps).Draw(rt, "primitive")
			if w.step(name) {
				taken[name]++
			}
		}
		rt.Log(s.Trace())
		sameResults(rt, program, s.Func())
		trace, err := schedule.ParseTrace("trace", s.Trace().String())
		require.NoError(rt, err)
		r := schedule.New(program)
		require.NoError(rt, r.Replay(trace))
		require.Equal(rt, tirtext.Print(s.Func()), tirtext.Print(r.Func()))
	}
}

// isProven reports whether all that a step must keep true of a function is shown of it. Of one that is not, such as a loop that
// carries a value from one iteration to the next, a step may break what was not known to hold.
func isProven(f *tir.Func) bool {
	for _, o := range schedule.Obligations(f, f, f) {
		if o.Check() != nil {
			return false
		}
	}
	return true
}

var randomSteps = []string{"split", "reorder", "rfactor", "rfactor", "decompose_reduction", "decompose_reduction", "blockize", "tensorize", "tensorize",
	"tensorize", "pad_einsum", "decompose_padding", "decompose_padding", "sample_perfect_tile", "sample_partitioned_tile",
	"sample_categorical", "sample_compute_location", "parallel"}

// walker draws the operands of steps.
type walker struct {
	t *rapid.T
	s *schedule.Schedule
}

func (w *walker) number(least, most int) int { return rapid.IntRange(least, most).Draw(w.t, "n") }

// step takes a step on a block: the first that accepts it, from a random one on. It reports whether one did.
func (w *walker) step(name string) bool {
	var names []string
	tir.Walk(w.s.Func().Root().Body, func(n any) bool {
		if r, ok := n.(*tir.BlockRealize); ok {
			names = append(names, r.Block.Name)
		}
		return true
	})
	first := w.number(0, len(names)-1)
	for i := range names {
		b := w.s.Block(names[(first+i)%len(names)])
		if w.onLoop(name, b) {
			return true
		}
	}
	return false
}

// onLoop takes a step on a block and one of its loops, in the same way.
func (w *walker) onLoop(name string, b schedule.Block) bool {
	list := w.s.Loops(b).Slice()
	first, n := 0, max(1, len(list))
	if len(list) > 1 {
		first = w.number(0, len(list)-1)
	}
	for i := range n {
		var l schedule.Loop
		if len(list) > 0 {
			l = list[(first+i)%n]
		}
		var refused error
		if w.s.Attempt(func() { w.take(name, b, list, l); refused = w.s.Err() }) {
			return true
		}
		require.NotErrorIs(w.t, refused, diag.ErrInternal, "%s of %s\n%s", name, b.Name(), w.s.Trace())
	}
	return false
}

func (w *walker) take(name string, b schedule.Block, list []schedule.Loop, l schedule.Loop) {
	s := w.s
	switch name {
	case "split":
		s.Split(l, 0, w.number(2, 5))
	case "reorder":
		if len(list) > 1 {
			i := w.number(0, len(list)-2)
			s.Reorder(list[i+1], list[i])
		}
	case "parallel":
		s.Parallel(l)
	case "rfactor":
		if w.number(0, 1) == 0 {
			l = s.Split(l, 0, w.number(2, 5))[1]
		}
		s.RFactor(l, w.number(-1, 1))
	case "decompose_reduction":
		s.DecomposeReduction(b, l)
	case "blockize":
		s.Blockize(l)
	case "tensorize":
		w.tensorize(b)
	case "pad_einsum":
		padding := make([]int, len(s.Definition(b).Iters))
		for i := range padding {
			padding[i] = w.number(1, 6)
		}
		s.PadEinsum(b, padding...)
	case "decompose_padding":
		s.DecomposePadding(b, l)
	case "sample_perfect_tile":
		f := s.SamplePerfectTile(l, 2, 8)
		s.Split(l, f[0].Value(), f[1].Value())
	case "sample_partitioned_tile":
		f := s.SamplePartitionedTile(l, 3, 1, w.number(1, 4))
		s.Split(l, f[0].Value(), f[1].Value(), f[2].Value())
	case "sample_categorical":
		s.Split(l, 0, s.SampleCategorical([]int{2, 3, 4}, []float64{1, 2, 1}).Value())
	case "sample_compute_location":
		s.ComputeAt(b, s.SampleComputeLocation(b))
	}
}

// tensorize cuts the last loops of a matrix product for an instruction: the first that fits, from a random one on.
func (w *walker) tensorize(b schedule.Block) {
	first := w.number(0, 3)
	for n := range 4 {
		if w.s.Attempt(func() { w.instruction(b, (first+n)%4) }) {
			return
		}
	}
	w.s.Tensorize(b, "dot4")
}

func (w *walker) instruction(b schedule.Block, n int) {
	s := w.s
	list := s.Loops(b).Slice()
	if len(list) < 3 {
		s.Tensorize(b, "fma16")
		return
	}
	i, j, k := list[len(list)-3], list[len(list)-2], list[len(list)-1]
	switch n {
	case 0:
		f := s.Split(j, 0, 16)
		s.Reorder(k, f[1])
		s.DecomposeReduction(b, k)
		s.TensorizeLoop(f[1], "fma16")
	case 1:
		f, g := s.Split(i, 0, 4), s.Split(j, 0, 4)
		s.Reorder(g[0], k, f[1], g[1])
		s.DecomposeReduction(b, k)
		s.TensorizeLoop(f[1], "outer4x4")
	case 2:
		f, g := s.Split(j, 0, 16), s.Split(k, 0, 4)
		s.Reorder(f[0], g[0], f[1], g[1])
		s.DecomposeReduction(b, g[0])
		s.TensorizeLoop(f[1], "dot4x16")
	default:
		f := s.Split(k, 0, 4)
		s.DecomposeReduction(b, f[0])
		s.TensorizeLoop(f[1], "dot4")
	}
}
