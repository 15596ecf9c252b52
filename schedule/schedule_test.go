package schedule_test

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/texel-ml/texel/diag"
	"github.com/texel-ml/texel/internal/golden"
	"github.com/texel-ml/texel/schedule"
	"github.com/texel-ml/texel/schedule/te"
	"github.com/texel-ml/texel/tensor"
	"github.com/texel-ml/texel/tir"
	"github.com/texel-ml/texel/tir/tirtext"
)

// reluOfProduct is R[i, j] = max(Σ_k A[i, k]·B[k, j], 0) over a 10 × 24 result.
func reluOfProduct() *tir.Func {
	a, b := te.Placeholder("A", tensor.Float32, 10, 32), te.Placeholder("B", tensor.Float32, 32, 24)
	c := te.Sum("C", tensor.Float32, []int{10, 24}, []int{32}, func(i, r []tir.Expr) tir.Expr {
		return tir.Times(a.At(i[0], r[0]), b.At(r[0], i[1]))
	})
	relu := te.Compute("R", tensor.Float32, []int{10, 24}, func(i []tir.Expr) tir.Expr {
		return tir.Bin(tir.Max, c.At(i...), tir.Const(tensor.Float32, 0))
	})
	return te.Func("product", []*te.Tensor{a, b}, []*te.Tensor{relu}, c)
}

// primitives has one legal use of each primitive.
var primitives = []struct {
	name  string
	apply func(s *schedule.Schedule)
}{
	{"split", func(s *schedule.Schedule) { s.Split(s.Loops(s.Block("R"))[1], 0, 16) }},
	{"fuse", func(s *schedule.Schedule) { s.Fuse(s.Loops(s.Block("R"))...) }},
	{"reorder", func(s *schedule.Schedule) {
		l := s.Loops(s.Block("C"))
		s.Reorder(l[2], l[0])
	}},
	{"parallel", func(s *schedule.Schedule) { s.Parallel(s.Loops(s.Block("R"))[0]) }},
	{"vectorize", func(s *schedule.Schedule) { s.Vectorize(s.Loops(s.Block("R"))[1]) }},
	{"unroll", func(s *schedule.Schedule) { s.Unroll(s.Loops(s.Block("C"))[2]) }},
	{"annotate", func(s *schedule.Schedule) { s.Annotate(s.Loops(s.Block("R"))[0], "partition", "border") }},
	{"bind", func(s *schedule.Schedule) { s.Bind(s.Loops(s.Block("R"))[0], "blockIdx.x") }},
	{"compute_at", func(s *schedule.Schedule) {
		tiles := s.Split(s.Loops(s.Block("R"))[0], 0, 4)
		s.ComputeAt(s.Block("C"), tiles[0])
	}},
	{"compute_inline", func(s *schedule.Schedule) {
		copied := s.CacheRead(s.Block("R"), 0, tir.Global)
		s.ComputeInline(copied)
	}},
	{"cache_write", func(s *schedule.Schedule) { s.CacheWrite(s.Block("R"), tir.Local) }},
	{"cache_read", func(s *schedule.Schedule) { s.CacheRead(s.Block("C"), 1, tir.Scratch) }},
	{"set_scope", func(s *schedule.Schedule) { s.SetScope(s.Block("C"), tir.Scratch) }},
	{"rfactor", func(s *schedule.Schedule) {
		parts := s.Split(s.Loops(s.Block("C"))[2], 0, 4)
		s.RFactor(parts[1], -1)
	}},
	{"transform_layout", func(s *schedule.Schedule) { s.TransformLayout(s.CacheRead(s.Block("C"), 1, tir.Scratch), 1, 0) }},
	{"add_unit_loop", func(s *schedule.Schedule) { s.AddUnitLoop(s.Block("R")) }},
	{"decompose_reduction", func(s *schedule.Schedule) {
		c := s.Block("C")
		s.DecomposeReduction(c, s.Loops(c)[2])
	}},
}

// TestPrimitives shows what each primitive makes, and that its trace replays to the same function.
func TestPrimitives(t *testing.T) {
	for _, p := range primitives {
		t.Run(p.name, func(t *testing.T) {
			s := schedule.New(reluOfProduct())
			p.apply(s)
			require.NoError(t, s.Err())
			golden.Check(t, filepath.Join("testdata", p.name+".txtar"),
				golden.Section{Name: "trace", Text: s.Trace().String()},
				golden.Section{Name: "out", Text: tirtext.Print(s.Func())})
			trace, err := schedule.ParseTrace("trace", s.Trace().String())
			require.NoError(t, err)
			again := schedule.New(reluOfProduct())
			require.NoError(t, again.Replay(trace))
			require.Equal(t, tirtext.Print(s.Func()), tirtext.Print(again.Func()))
		})
	}
}

// TestRefusals has illegal uses with the words that the error must hold.
func TestRefusals(t *testing.T) {
	for name, c := range map[string]struct {
		apply func(s *schedule.Schedule)
		words []string
	}{
		"split covers too little": {func(s *schedule.Schedule) { s.Split(s.Loops(s.Block("R"))[0], 2, 3) }, []string{"split", "i0", "[2 3]", "6", "10"}},
		"split with a bad factor": {func(s *schedule.Schedule) { s.Split(s.Loops(s.Block("R"))[0], -1, 3) }, []string{"split", "factor 0", "-1"}},
		"no such block":           {func(s *schedule.Schedule) { s.Block("X") }, []string{"get_block", "X"}},
		"vectorize a reduction":   {func(s *schedule.Schedule) { s.Vectorize(s.Loops(s.Block("C"))[2]) }, []string{"vectorize", "reduce", "C"}},
		"parallel reduction":      {func(s *schedule.Schedule) { s.Parallel(s.Loops(s.Block("C"))[2]) }, []string{"parallel", "reduce"}},
		"inline a reduction":      {func(s *schedule.Schedule) { s.ComputeInline(s.Block("C")) }, []string{"compute_inline", "C"}},
		"compute a result elsewhere": {func(s *schedule.Schedule) {
			s.ComputeAt(s.Block("R"), s.Loops(s.Block("C"))[0])
		}, []string{"compute_at", "R", "parameter"}},
		"compute outside the reader": {func(s *schedule.Schedule) {
			c := s.Block("C")
			s.ComputeAt(c, s.Loops(c)[0])
		}, []string{"compute_at", "C"}},
		"decompose too far inside": {func(s *schedule.Schedule) {
			c := s.Block("C")
			l := s.Loops(c)
			s.Reorder(l[2], l[1])
			s.DecomposeReduction(c, l[1])
		}, []string{"decompose_reduction", "C", "r0"}},
		"decompose twice": {func(s *schedule.Schedule) {
			c := s.Block("C")
			l := s.Loops(c)
			s.DecomposeReduction(c, l[2])
			s.DecomposeReduction(c, l[2])
		}, []string{"decompose_reduction", "initial value"}},
		"rfactor a spatial loop": {func(s *schedule.Schedule) { s.RFactor(s.Loops(s.Block("C"))[0], -1) }, []string{"rfactor", "i0", "reduce"}},
		"rfactor the only loop":  {func(s *schedule.Schedule) { s.RFactor(s.Loops(s.Block("C"))[2], -1) }, []string{"rfactor", "r0", "several"}},
		"rfactor no reduction": {func(s *schedule.Schedule) {
			s.RFactor(s.Split(s.Loops(s.Block("R"))[1], 0, 4)[1], -1)
		}, []string{"rfactor", "R", "initial value"}},
		"rfactor with empty lanes": {func(s *schedule.Schedule) {
			s.RFactor(s.Split(s.Loops(s.Block("C"))[2], 4, 20)[0], -1)
		}, []string{"rfactor", "r0", "without any instance"}},
		"transform a result":        {func(s *schedule.Schedule) { s.TransformLayout(s.Block("R"), 1, 0) }, []string{"transform_layout", "R", "parameter"}},
		"transform by no order":     {func(s *schedule.Schedule) { s.TransformLayout(s.Block("C"), 1, 1) }, []string{"transform_layout", "C", "[1 1]", "2 axes"}},
		"unit loop around nothing":  {func(s *schedule.Schedule) { s.AddUnitLoop(s.Block("X")) }, []string{"X"}},
		"set the scope of a result": {func(s *schedule.Schedule) { s.SetScope(s.Block("R"), tir.Local) }, []string{"set_scope", "R", "parameter"}},
		"fuse loops apart": {func(s *schedule.Schedule) {
			l := s.Loops(s.Block("C"))
			s.Fuse(l[0], l[2])
		}, []string{"fuse", "r0", "directly"}},
		"a loop that is gone": {func(s *schedule.Schedule) {
			l := s.Loops(s.Block("R"))
			s.Split(l[0], 0, 2)
			s.Unroll(l[0])
		}, []string{"unroll", "i0"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := schedule.New(reluOfProduct())
			c.apply(s)
			require.ErrorIs(t, s.Err(), diag.ErrInvalid)
			for _, w := range c.words {
				require.Contains(t, s.Err().Error(), w)
			}
		})
	}
}

// TestBadTraces has texts that are no traces.
func TestBadTraces(t *testing.T) {
	for _, text := range []string{"split", "l1 = split(", "x1 = get_block(\"C\")", "b0 = get_block(\"C\")\nl0 = get_loops(b7)",
		"b0 = get_block(C)", "b0 = nonsense(\"C\")", "b0, b1 = get_block(\"C\")", "b0 = get_block(\"C\")\nl0, l1, l2 = get_loops(b0)\nl3 = split(l0, [x])"} {
		trace, err := schedule.ParseTrace("trace", text)
		if err == nil {
			err = schedule.New(reluOfProduct()).Replay(trace)
		}
		require.ErrorIs(t, err, diag.ErrInvalid, text)
	}
}

// TestAttempt shows that a refused attempt leaves nothing behind.
func TestAttempt(t *testing.T) {
	s := schedule.New(reluOfProduct())
	before := tirtext.Print(s.Func())
	require.False(t, s.Attempt(func() {
		s.Split(s.Loops(s.Block("R"))[1], 0, 16)
		s.ComputeInline(s.Block("C"))
	}))
	require.NoError(t, s.Err())
	require.Empty(t, s.Trace().Steps)
	require.Equal(t, before, tirtext.Print(s.Func()))
	require.True(t, s.Attempt(func() { s.Fuse(s.Loops(s.Block("R"))...) }))
	require.NotEqual(t, before, tirtext.Print(s.Func()))
}
