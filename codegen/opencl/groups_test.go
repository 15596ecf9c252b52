package opencl

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/texel-ml/texel/internal/golden"
	"github.com/texel-ml/texel/internal/numtest"
	"github.com/texel-ml/texel/schedule"
	"github.com/texel-ml/texel/schedule/te"
	"github.com/texel-ml/texel/tensor"
	"github.com/texel-ml/texel/tir"
	"github.com/texel-ml/texel/tir/interp"
	"github.com/texel-ml/texel/tir/tirtext"
	"github.com/texel-ml/texel/tir/transform"
)

// TestGroups lowers functions whose work-items exchange values through shared memory, and runs them on a device: barriers,
// double buffers and virtual threads are what the loop passes made of them.
func TestGroups(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("testdata", "groups", "*.txtar"))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, path := range files {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar"), func(t *testing.T) {
			f, err := tirtext.Parse(path, golden.In(t, path, "in.tir"))
			require.NoError(t, err)
			list, between, err := transform.Lower(f, transform.Options{Device: transform.GPU, MaxLanes: 16, Verify: true})
			require.NoError(t, err)
			var source string
			for _, k := range emit(t, list, pocl(t)) {
				source += k.Source
			}
			require.Contains(t, source, "barrier(")
			golden.Check(t, path, golden.Section{Name: "out.cl", Text: source})
			args := map[*tir.Buffer]*tensor.Tensor{}
			for _, b := range f.Params[:len(f.Params)-f.Outputs] {
				args[b] = ramp(b.DType, b.Shape...)
			}
			agree(t, list, between, args, numtest.Tolerance{Rel: 1e-5, Abs: 1e-5})
		})
	}
}

// scheduledMatmul is C[i, j] = Σ A[i, k]·B[k, j], scheduled with primitives alone: a group computes 8 × 16 elements, its
// work-items bring 4 columns of A and rows of B at a time into shared memory. With double, each into two halves, with room
// between their rows.
func scheduledMatmul(t *testing.T, m, n, depth int, double bool) *tir.Func {
	a, b := te.Placeholder("A", tensor.Float32, m, depth), te.Placeholder("B", tensor.Float32, depth, n)
	product := te.Sum("C", tensor.Float32, []int{m, n}, []int{depth}, func(i, r []tir.Expr) tir.Expr {
		return tir.Times(a.At(i[0], r[0]), b.At(r[0], i[1]))
	})
	s := schedule.New(te.Func("matmul", []*te.Tensor{a, b}, []*te.Tensor{product}))
	c := s.Block("C")
	out := s.CacheWrite(c, tir.Local)
	fills := []schedule.Block{s.CacheRead(c, 0, tir.Shared), s.CacheRead(c, 1, tir.Shared)}
	l := s.Loops(out).Slice()
	y, x := s.Split(l[0], 0, 8), s.Split(l[1], 0, 16)
	s.Reorder(y[0], x[0], y[1], x[1])
	s.Bind(y[0], "blockIdx.y")
	s.Bind(x[0], "blockIdx.x")
	s.ComputeAt(c, x[0])
	inner := s.Loops(c).Slice()[2:]
	k := s.Split(inner[2], 0, 4)
	s.Reorder(k[0], inner[0], inner[1], k[1])
	for _, fill := range fills {
		s.ComputeAt(fill, k[0])
		own := s.Loops(fill).Slice()[3:]
		parts := s.Split(s.Fuse(own[0], own[1]), 0, 16)
		s.Bind(parts[1], "threadIdx.x")
		if e := s.Extent(parts[0]); e <= 8 {
			s.Bind(parts[0], "threadIdx.y")
		}
	}
	for _, pair := range [][2]schedule.Loop{{inner[0], inner[1]}, {y[1], x[1]}} {
		s.Bind(pair[0], "threadIdx.y")
		s.Bind(pair[1], "threadIdx.x")
	}
	for _, fill := range fills {
		if double {
			s.StorageAlign(fill, 0, 0, 8, 1)
			s.DoubleBuffer(fill)
		}
	}
	require.NoError(t, s.Err())
	return s.Func()
}

// TestScheduledMatmul runs products whose sizes the tiles divide or not.
func TestScheduledMatmul(t *testing.T) {
	for _, c := range []struct {
		m, n, depth int
		double      bool
		barriers    int
	}{{16, 32, 12, false, 2}, {16, 32, 12, true, 1}, {13, 37, 11, false, 2}, {13, 37, 11, true, 1}} {
		f := scheduledMatmul(t, c.m, c.n, c.depth, c.double)
		list, between, err := transform.Lower(f, transform.Options{Device: transform.GPU, MaxLanes: 16, Verify: true})
		require.NoError(t, err)
		require.Len(t, list, 1)
		whole, _, err := transform.Lower(f, transform.Options{Device: transform.GPU, StopAfter: "lift-threads"})
		require.NoError(t, err)
		require.Equal(t, c.barriers, strings.Count(tirtext.PrintKernel(whole[0]), "barrier"), "a step needs one to use and one to fill; with two halves one")
		args := map[*tir.Buffer]*tensor.Tensor{}
		for _, b := range f.Params[:2] {
			args[b] = ramp(b.DType, b.Shape...)
		}
		agree(t, list, between, args, numtest.Tolerance{Rel: 1e-5, Abs: 1e-5})
		races := map[*tir.Buffer]*tensor.Tensor{f.Params[0]: args[f.Params[0]], f.Params[1]: args[f.Params[1]]}
		require.NoError(t, interp.RunKernels(context.Background(), list, races, interp.Options{Races: true}))
	}
}

// TestScheduledReduction sums rows by work-groups: rfactor gives each work-item a part, and again, until one adds the rest.
func TestScheduledReduction(t *testing.T) {
	x := te.Placeholder("x", tensor.Float32, 5, 96)
	sum := te.Sum("sum", tensor.Float32, []int{5}, []int{96}, func(i, r []tir.Expr) tir.Expr { return x.At(i[0], r[0]) })
	s := schedule.New(te.Func("rows", []*te.Tensor{x}, []*te.Tensor{sum}))
	b := s.Block("sum")
	s.Bind(s.Loops(b).At(0), "blockIdx.x")
	parts := s.Split(s.Loops(b).At(1), 4, 4, 0)
	wide := s.RFactor(s.Fuse(parts[0], parts[1]), 1)
	s.SetScope(wide, tir.Shared)
	again := s.Split(s.Loops(b).At(1), 4, 0)
	narrow := s.RFactor(again[0], 1)
	s.SetScope(narrow, tir.Shared)
	for _, part := range []schedule.Block{narrow, wide} {
		s.ComputeAt(part, s.Loops(b).At(0))
		for _, l := range s.Loops(part).Slice() {
			if n := s.Extent(l); n == 4 && part == narrow || n == 16 {
				s.Bind(l, "threadIdx.x")
				break
			}
		}
	}
	require.NoError(t, s.Err())
	list, between, err := transform.Lower(s.Func(), transform.Options{Device: transform.GPU, Verify: true})
	require.NoError(t, err)
	text := tirtext.PrintKernel(list[0])
	require.Equal(t, 2, strings.Count(text, "barrier shared"), text)
	args := map[*tir.Buffer]*tensor.Tensor{s.Func().Params[0]: ramp(tensor.Float32, 5, 96)}
	agree(t, list, between, args, numtest.Tolerance{Rel: 1e-5, Abs: 1e-5})
}
