package te_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/texel-ml/texel/diag"
	"github.com/texel-ml/texel/schedule"
	"github.com/texel-ml/texel/schedule/te"
	"github.com/texel-ml/texel/tensor"
	"github.com/texel-ml/texel/tir"
)

// recurrentCell has a reduction, a stage between and an update in each step, and a stage before and one behind.
func recurrentCell() *tir.Func {
	const m, n = 6, 8
	x, w := te.Placeholder("X", tensor.Float32, m, n), te.Placeholder("W", tensor.Float32, n, n)
	h := te.Placeholder("H", tensor.Float32, m, n)
	twice := te.Compute("twice", tensor.Float32, dims(m, n), func(i []tir.Expr) tir.Expr { return tir.Times(x.At(i...), f32(2)) })
	first := te.Compute("first", tensor.Float32, dims(1, n), func(i []tir.Expr) tir.Expr { return twice.At(i...) })
	dot := te.Sum("dot", tensor.Float32, dims(m, n), dims(n), func(i, r []tir.Expr) tir.Expr {
		return tir.Times(w.At(i[1], r[0]), h.At(before(i[0], 1), r[0]))
	})
	half := te.Compute("half", tensor.Float32, dims(m, n), func(i []tir.Expr) tir.Expr { return tir.Times(dot.At(i...), f32(0.5)) })
	next := te.Compute("next", tensor.Float32, dims(m, n), func(i []tir.Expr) tir.Expr {
		return tir.Maximum(tir.Minimum(tir.Plus(half.At(i...), twice.At(i...)), f32(4)), f32(-4))
	})
	te.Scan("cell", te.Recurrence{State: h, Init: first, Update: next})
	out := te.Compute("out", tensor.Float32, dims(m, n), func(i []tir.Expr) tir.Expr { return tir.Plus(h.At(i...), f32(1)) })
	return te.Func("rnn", tensors{x, w}, tensors{out}, h, twice, dot, half)
}

// TestPrimitivesInAStep shapes what lies within a step of a recurrence, and the loop over the steps. The results stay. A
// primitive that does not look into blocks may refuse.
func TestPrimitivesInAStep(t *testing.T) {
	mayRefuse := map[string]bool{"inline": true, "inline what is before": true, "compute at": true, "a stage at the step": true,
		"read through a cache": true, "write through a cache": true}
	want := run(t, recurrentCell())[2].F
	for name, apply := range map[string]func(s *schedule.Schedule){
		"split, reorder, vectorize": func(s *schedule.Schedule) {
			l := s.Loops(s.Block("dot"))
			parts := s.Split(l.At(0), 0, 4)
			s.Reorder(parts[0], l.At(1), parts[1])
			s.Vectorize(parts[1])
		},
		"decompose":             func(s *schedule.Schedule) { s.DecomposeReduction(s.Block("dot"), s.Loops(s.Block("dot")).At(1)) },
		"unroll":                func(s *schedule.Schedule) { s.Unroll(s.Loops(s.Block("next")).At(0)) },
		"parallel":              func(s *schedule.Schedule) { s.Parallel(s.Loops(s.Block("half")).At(0)) },
		"inline":                func(s *schedule.Schedule) { s.ComputeInline(s.Block("half")) },
		"inline what is before": func(s *schedule.Schedule) { s.ComputeInline(s.Block("twice")) },
		"compute at":            func(s *schedule.Schedule) { s.ComputeAt(s.Block("half"), s.Loops(s.Block("next")).At(0)) },
		"split the steps":       func(s *schedule.Schedule) { s.Split(s.Loops(s.Block("cell")).At(0), 0, 2) },
		"unroll the steps":      func(s *schedule.Schedule) { s.Unroll(s.Loops(s.Block("cell")).At(0)) },
		"a stage at the step":   func(s *schedule.Schedule) { s.ComputeAt(s.Block("twice"), s.Loops(s.Block("cell")).At(0)) },
		"layout":                func(s *schedule.Schedule) { s.TransformLayout(s.Block("twice"), schedule.Write, 0, "i, j -> j, i") },
		"read through a cache":  func(s *schedule.Schedule) { s.CacheRead(s.Block("dot"), 0, tir.Global) },
		"write through a cache": func(s *schedule.Schedule) { s.CacheWrite(s.Block("dot"), tir.Scratch) },
	} {
		t.Run(name, func(t *testing.T) {
			s := schedule.New(recurrentCell())
			apply(s)
			if s.Err() != nil && mayRefuse[name] {
				require.ErrorIs(t, s.Err(), diag.ErrInvalid)
				return
			}
			require.NoError(t, s.Err())
			require.Equal(t, want, run(t, s.Func())[2].F)
		})
	}
}

// TestStepsStayInOrder refuses what would run the steps in another order or at the same time.
func TestStepsStayInOrder(t *testing.T) {
	for name, apply := range map[string]func(s *schedule.Schedule){
		"parallel":  func(s *schedule.Schedule) { s.Parallel(s.Loops(s.Block("cell")).At(0)) },
		"vectorize": func(s *schedule.Schedule) { s.Vectorize(s.Loops(s.Block("cell")).At(0)) },
		"bind":      func(s *schedule.Schedule) { s.Bind(s.Loops(s.Block("cell")).At(0), "blockIdx.x") },
		"reorder": func(s *schedule.Schedule) {
			parts := s.Split(s.Loops(s.Block("cell")).At(0), 0, 2)
			s.Reorder(parts[1], parts[0])
		},
		"reorder with a loop inside": func(s *schedule.Schedule) {
			s.Reorder(s.Loops(s.Block("next")).At(0), s.Loops(s.Block("cell")).At(0))
		},
		"fuse with a loop inside": func(s *schedule.Schedule) {
			s.Fuse(s.Loops(s.Block("cell")).At(0), s.Loops(s.Block("next")).At(0))
		},
		"cache what a step wrote": func(s *schedule.Schedule) { s.CacheRead(s.Block("dot"), 1, tir.Global) },
		"cache the state":         func(s *schedule.Schedule) { s.CacheWrite(s.Block("next"), tir.Global) },
	} {
		t.Run(name, func(t *testing.T) {
			s := schedule.New(recurrentCell())
			apply(s)
			require.ErrorIs(t, s.Err(), diag.ErrInvalid)
		})
	}
}
