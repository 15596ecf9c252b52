package opencl

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/texel-ml/texel/internal/numtest"
	"github.com/texel-ml/texel/schedule"
	"github.com/texel-ml/texel/schedule/te"
	"github.com/texel-ml/texel/tensor"
	"github.com/texel-ml/texel/tir"
	"github.com/texel-ml/texel/tir/transform"
)

// conv3x3 is a convolution over blocked channels with a border of zeros:
//
//	out[n, o, y, x, b] = Σ_{ky, kx, c, l} data[n, c, y+ky-1, x+kx-1, l] · weight[o, c, ky, kx, l, b]
//
// data (1, C/4, H, W, 4), weight (O/4, C/4, 3, 3, 4, 4).
func conv3x3(c, o, h, w int) *tir.Func {
	data := te.Placeholder("data", tensor.Float32, 1, c/4, h, w, 4)
	weight := te.Placeholder("weight", tensor.Float32, o/4, c/4, 3, 3, 4, 4)
	pad := te.Compute("pad", tensor.Float32, []int{1, c / 4, h + 2, w + 2, 4}, func(i []tir.Expr) tir.Expr {
		y, x := tir.Minus(i[2], tir.I(1)), tir.Minus(i[3], tir.I(1))
		inside := tir.All(tir.Bin(tir.GE, y, tir.I(0)), tir.Bin(tir.LT, y, tir.I(h)), tir.Bin(tir.GE, x, tir.I(0)), tir.Bin(tir.LT, x, tir.I(w)))
		return tir.Sel(inside, data.At(i[0], i[1], y, x, i[4]), tir.Const(tensor.Float32, 0))
	})
	conv := te.Sum("conv", tensor.Float32, []int{1, o / 4, h, w, 4}, []int{3, 3, c / 4, 4}, func(i, r []tir.Expr) tir.Expr {
		return tir.Times(pad.At(i[0], r[2], tir.Plus(i[2], r[0]), tir.Plus(i[3], r[1]), r[3]), weight.At(i[1], r[2], r[0], r[1], r[3], i[4]))
	})
	return te.Func("conv3x3", []*te.Tensor{data, weight}, []*te.Tensor{conv}, pad)
}

// schedule3x3 gives four channels of one pixel to a work-item. With a folding the operand is read through an image: the
// padded one, or with read, the operand as it is, whose border the convolution then leaves out itself.
func schedule3x3(t *testing.T, f *tir.Func, folding string, read bool) *tir.Func {
	s := schedule.New(f)
	conv := s.Block("conv")
	grid := func(b schedule.Block) schedule.Loop {
		l := s.Loops(b).Slice()
		fused := s.Fuse(l[0], l[1], l[2], l[3])
		parts := s.Split(fused, 0, 16)
		s.Bind(parts[0], "blockIdx.x")
		s.Bind(parts[1], "threadIdx.x")
		return parts[1]
	}
	fill := func(b schedule.Block) {
		l := s.Loops(b).Slice()
		s.Vectorize(l[4])
		grid(b)
	}
	switch {
	case folding == "":
		s.ComputeInline(s.Block("pad"))
	case read:
		s.ComputeInline(s.Block("pad"))
		fill(s.CacheRead(conv, 0, tir.Scope(folding)))
	default:
		s.SetScope(s.Block("pad"), tir.Scope(folding))
		fill(s.Block("pad"))
	}
	out := s.CacheWrite(conv, tir.Local)
	s.Vectorize(s.Loops(out).At(4))
	s.ComputeAt(conv, grid(out))
	inner := s.Loops(conv).Slice()
	lanes, reduce := inner[len(inner)-5], inner[len(inner)-4:]
	s.Reorder(reduce[0], reduce[1], reduce[2], reduce[3], lanes)
	zero := s.Loops(s.DecomposeReduction(conv, reduce[0])).Slice()
	s.Vectorize(zero[len(zero)-1])
	s.Vectorize(lanes)
	s.Unroll(reduce[3])
	require.NoError(t, s.Err())
	return s.Func()
}

func TestConv(t *testing.T) {
	for _, c := range []struct {
		folding string
		read    bool
	}{{"", false}, {"global.texture", true}, {"global.texture", false}, {"global.texture-nhwc", false}, {"global.texture-weight", true}} {
		f := schedule3x3(t, conv3x3(8, 12, 5, 7), c.folding, c.read)
		kernels, between, err := transform.Lower(f, transform.Options{Device: transform.GPU})
		require.NoError(t, err)
		args := map[*tir.Buffer]*tensor.Tensor{}
		for _, b := range f.Params[:2] {
			args[b] = ramp(b.DType, b.Shape...)
		}
		agree(t, kernels, between, args, numtest.Tolerance{Rel: 1e-5, Abs: 1e-5})
	}
}

// compiles gives a source to clang, where it is installed. A cache that nothing reads is a schedule's affair.
func compiles(t testing.TB, source string) {
	t.Helper()
	clang, err := exec.LookPath("clang-19")
	if err != nil {
		return
	}
	path := filepath.Join(t.TempDir(), "kernel.cl")
	require.NoError(t, os.WriteFile(path, []byte(source), 0o644))
	out, err := exec.CommandContext(context.Background(), clang, "-fsyntax-only", "-target", "spir64", BuildOptions, "-Wall", "-Werror", "-Wno-unused-but-set-variable", "-x", "cl", path).CombinedOutput()
	require.NoError(t, err, "%s\n%s", out, source)
}
