package llvm

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/texel-ml/texel/diag"
	"github.com/texel-ml/texel/target"
	"github.com/texel-ml/texel/tensor"
	"github.com/texel-ml/texel/tir"
)

// copyKernel is out[g] = in[g] over n elements.
func copyKernel(name string, n int) *tir.Kernel {
	in, out, g := buffer("in", tensor.Float32, n), buffer("out", tensor.Float32, n), tir.NewVar("g")
	return &tir.Kernel{Name: name, Params: []*tir.Buffer{in, out}, Outputs: 1, Grid: g, GridExtent: n, Body: put(out, at(in, g), g)}
}

func TestTheObjectIsFreestanding(t *testing.T) {
	kernels := []*tir.Kernel{copyKernel("copy", 8), elementwise("pow", tir.Pow, tensor.Float64, 64, 8, 2),
		elementwise("sin", tir.Sin, tensor.Float32, 64, 16, 1), elementwise("mod", tir.FloatMod, tensor.Float16, 64, 8, 2)}
	for _, name := range []string{"x86-64-v3", "x86-64-v4", "cortex-a55"} {
		tgt, err := target.Parse(name)
		require.NoError(t, err)
		o := build(t, tgt, kernels...)
		requireFreestanding(t, o.SO, "copy", "pow", "sin", "mod", "texel_run", "texel_worker", "texel_quit")
		require.Equal(t, "kernels000", o.In["copy"])
		require.Contains(t, o.LL["kernels000"], "define void @copy(")
	}
}

// TestNothingElseIsTouched puts the buffers at the ends of pages that may not be touched, and pads: lanes and elements
// beyond an image are not loaded, only left out.
func TestNothingElseIsTouched(t *testing.T) {
	const n, lanes = 64, 16
	in, out, scalar, even := buffer("in", tensor.Float32, n), buffer("out", tensor.Float32, n+2*lanes), buffer("scalar", tensor.Float32, n+2*lanes),
		buffer("even", tensor.Float32, n/2)
	g := tir.NewVar("g")
	k := &tir.Kernel{Name: "pad", Params: []*tir.Buffer{in, out, scalar, even}, Outputs: 3, Grid: g, GridExtent: (n + 2*lanes) / lanes}
	inside := func(i tir.Expr) tir.Expr {
		return tir.Bin(tir.And, tir.Bin(tir.GE, i, tir.I(0)), tir.Bin(tir.LT, i, tir.I(n)))
	}
	base := tir.Minus(tir.Times(g, tir.I(lanes)), tir.I(lanes-3))
	ramp := span1(base, lanes)
	j := tir.NewVar("j")
	one := tir.Plus(base, j)
	k.Body = &tir.Seq{Stmts: []tir.Stmt{
		put(out, &tir.Select{Cond: inside(ramp), Then: at(in, ramp), Else: &tir.Broadcast{A: f32(-1), Lanes: lanes}}, span1(tir.Times(g, tir.I(lanes)), lanes)),
		&tir.For{Var: j, Min: tir.I(0), Extent: tir.I(lanes), Body: put(scalar, &tir.Select{Cond: inside(one), Then: at(in, one), Else: f32(-1)},
			tir.Plus(tir.Times(g, tir.I(lanes)), j))},
		&tir.If{Cond: tir.Bin(tir.LT, g, tir.I(2)), Then: put(even, at(in, &tir.Ramp{Base: tir.Plus(tir.Times(g, tir.I(2*lanes)), tir.I(1)), Stride: tir.I(2), Lanes: lanes}),
			span1(tir.Times(g, tir.I(lanes)), lanes))},
	}}
	for _, tgt := range []*target.Target{hostTarget(t), avx2(t)} {
		if tgt.RunsHere() != nil {
			continue
		}
		lib := load(t, build(t, tgt, k).SO)
		for _, atEnd := range []bool{true, false} {
			x := guarded(t, n, atEnd)
			y, z, w := guarded(t, n+2*lanes, atEnd), guarded(t, n+2*lanes, atEnd), guarded(t, n/2, atEnd)
			for i := range x {
				x[i] = float32(i)
			}
			call(t, lib, k, 0, int64(k.GridExtent), unsafe.Pointer(&x[0]), unsafe.Pointer(&y[0]), unsafe.Pointer(&z[0]), unsafe.Pointer(&w[0]))
			for i := range y {
				want := float32(i - lanes + 3)
				if want < 0 || want >= n {
					want = -1
				}
				require.Equal(t, want, y[i], "lane %d", i)
				require.Equal(t, want, z[i], "element %d", i)
			}
			for i := range w {
				require.Equal(t, float32(2*i+1), w[i])
			}
		}
	}
}

// guarded returns n floats that end, or begin, at a page that may not be touched.
func guarded(t *testing.T, n int, atEnd bool) []float32 {
	page := unix.Getpagesize()
	memory, err := unix.Mmap(-1, 0, 3*page, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	require.NoError(t, err)
	t.Cleanup(func() { unix.Munmap(memory) })
	require.NoError(t, unix.Mprotect(memory[:page], unix.PROT_NONE))
	require.NoError(t, unix.Mprotect(memory[2*page:], unix.PROT_NONE))
	from := page
	if atEnd {
		from = 2*page - 4*n
	}
	return unsafe.Slice((*float32)(unsafe.Pointer(&memory[from])), n)
}

// TestOneInstruction looks for what a processor does in one instruction.
func TestOneInstruction(t *testing.T) {
	const n = 64
	for _, c := range []struct {
		target string
		lanes  int
		expr   func(x, y tir.Expr, lanes int) tir.Expr
		want   string // pattern
		count  int
		not    string
	}{
		{"x86-64-v3", 8, func(x, _ tir.Expr, l int) tir.Expr { return tir.Bin(tir.Max, x, &tir.Broadcast{A: f32(0), Lanes: l}) }, "vmaxps", 1, "vcmp"},
		{"x86-64-v4", 16, func(x, _ tir.Expr, l int) tir.Expr {
			return tir.Bin(tir.Min, &tir.Broadcast{A: f32(6), Lanes: l}, tir.Bin(tir.Max, x, &tir.Broadcast{A: f32(0), Lanes: l}))
		}, "v(max|min)ps", 2, "vcmp"},
		{"cortex-a76", 4, func(x, y tir.Expr, _ int) tir.Expr { return tir.Bin(tir.Max, x, y) }, "fmax\t", 1, "fcm"},
		{"cortex-a76", 4, func(x, y tir.Expr, _ int) tir.Expr { return tir.Minus(x, tir.Bin(tir.Mul, x, y)) }, "fmls\t", 1, "fmul|fsub"},
		{"x86-64-v3", 8, func(x, y tir.Expr, _ int) tir.Expr { return tir.Minus(tir.Bin(tir.Mul, x, y), x) }, "vfmsub", 1, "vmulps|vsubps"},
		{"x86-64-v3", 8, func(x, _ tir.Expr, _ int) tir.Expr { return &tir.Call{Fn: tir.Round, Args: []tir.Expr{x}} }, "vroundps", 1, "call"},
	} {
		x, y, out, g := buffer("x", tensor.Float32, n), buffer("y", tensor.Float32, n), buffer("out", tensor.Float32, n), tir.NewVar("g")
		i := span1(tir.Times(g, tir.I(c.lanes)), c.lanes)
		k := &tir.Kernel{Name: "one", Params: []*tir.Buffer{x, y, out}, Outputs: 1, Grid: g, GridExtent: n / c.lanes,
			Body: put(out, c.expr(at(x, i), at(y, i), c.lanes), i)}
		tgt, err := target.Parse(c.target)
		require.NoError(t, err)
		asm := build(t, tgt, k).Asm["kernels000"]
		require.Len(t, regexp.MustCompile(c.want).FindAllString(asm, -1), c.count, asm)
		require.NotRegexp(t, c.not, asm)
	}
}

func requireKind(t *testing.T, kind error, err error, parts ...string) {
	require.Error(t, err)
	var d *diag.Error
	require.True(t, errors.As(err, &d), "%v is not typed", err)
	require.ErrorIs(t, err, kind)
	for _, p := range parts {
		require.ErrorContains(t, err, p)
	}
}

func TestMissingTools(t *testing.T) {
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	missing := Tools{LLC: "/nowhere/llc-19", LLD: "/nowhere/ld.lld-19"}
	_, err := Build(t.Context(), []*tir.Kernel{copyKernel("copy", 4)}, hostTarget(t), Options{Tools: &missing})
	requireKind(t, diag.ErrMissing, err, "llc-19", Install)
	require.NotErrorIs(t, err, diag.ErrInternal)
	left, err := os.ReadDir(temp)
	require.NoError(t, err)
	require.Empty(t, left)
	t.Setenv("PATH", t.TempDir())
	_, err = find("llc", t.TempDir())
	requireKind(t, diag.ErrMissing, err, "llc-19", "found none", Install)
}

// TestNoRoomForTemporaryFiles has no temporary folder, and tools that find the disk full.
func TestNoRoomForTemporaryFiles(t *testing.T) {
	full := filepath.Join(t.TempDir(), "llc")
	require.NoError(t, os.WriteFile(full, []byte("#!/bin/sh\necho 'LLVM ERROR: IO failure on output stream: No space left on device' >&2\nexit 1\n"), 0o700))
	for _, these := range []Tools{{LLC: full, LLD: tools(t).LLD}, {LLC: tools(t).LLC, LLD: full}} {
		_, err := Build(t.Context(), []*tir.Kernel{copyKernel("copy", 4)}, hostTarget(t), Options{Tools: &these})
		requireKind(t, diag.ErrMissing, err, "the temporary folder", "No space left on device")
	}
	_, err := Build(t.Context(), []*tir.Kernel{copyKernel("copy", 4)}, hostTarget(t), Options{TempDir: filepath.Join(t.TempDir(), "nowhere")})
	requireKind(t, diag.ErrMissing, err, "no temporary folder can be made here")
}

// TestAToolMayLeaveAChild has a compiler that ends well while its child still holds the standard error.
func TestAToolMayLeaveAChild(t *testing.T) {
	slow := filepath.Join(t.TempDir(), "llc")
	require.NoError(t, os.WriteFile(slow, []byte("#!/bin/sh\nsleep 3 &\nexec "+tools(t).LLC+" \"$@\"\n"), 0o700))
	start := time.Now()
	_, err := Build(t.Context(), []*tir.Kernel{copyKernel("copy", 4)}, hostTarget(t), Options{Tools: &Tools{LLC: slow, LLD: tools(t).LLD}})
	require.NoError(t, err)
	require.Less(t, time.Since(start), 3*time.Second)
}

// TestVersions has tools under their plain names only.
func TestVersions(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "llc")
	for version, fits := range map[string]bool{"LLVM version 14.0.6": false, "LLVM version 19.1.7": true, "LLVM version 190.1": false} {
		require.NoError(t, os.WriteFile(path, []byte("#!/bin/sh\necho "+version+"\n"), 0o700))
		t.Setenv("PATH", dir)
		found, err := find("llc", t.TempDir())
		if fits {
			require.NoError(t, err)
			require.Equal(t, path, found)
			continue
		}
		requireKind(t, diag.ErrMissing, err, version, Install)
	}
}

// TestAFailingCompilerKeepsTheModule gives llc something that it refuses.
func TestAFailingCompilerKeepsTheModule(t *testing.T) {
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	_, err := tools(t).assemble(t.Context(), []*unit{{name: "bad", kernels: []string{"conv_7"}, ll: "define void @x() { nonsense }"}}, 1, false)
	requireKind(t, diag.ErrInternal, err, "conv_7", "reproducer", "nonsense")
	left, err := os.ReadDir(temp)
	require.NoError(t, err)
	require.Len(t, left, 1)
	require.True(t, strings.HasPrefix(left[0].Name(), "texel-bad-") && strings.HasSuffix(left[0].Name(), ".ll"))
}

func TestUndefinedSymbolsDoNotLink(t *testing.T) {
	ll := "target triple = \"x86_64-unknown-linux-gnu\"\ndeclare float @expf(float)\ndefine float @f(float %x) {\n %r = call float @expf(float %x)\n ret float %r\n}\n"
	_, err := tools(t).assemble(t.Context(), []*unit{{name: "undefined", ll: ll}}, 1, false)
	requireKind(t, diag.ErrInternal, err, "expf")
}

// TestCancel stops a compiler that would never end.
func TestCancel(t *testing.T) {
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	slow := filepath.Join(t.TempDir(), "llc")
	require.NoError(t, os.WriteFile(slow, []byte("#!/bin/sh\nexec sleep 60\n"), 0o700))
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	start := time.Now()
	_, err := Build(ctx, []*tir.Kernel{copyKernel("copy", 4)}, hostTarget(t), Options{Tools: &Tools{LLC: slow, LLD: tools(t).LLD}})
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.Less(t, time.Since(start), 5*time.Second)
	left, err := os.ReadDir(temp)
	require.NoError(t, err)
	require.Empty(t, left)
}

// TestRefused lists what Build does not take.
func TestRefused(t *testing.T) {
	with := func(change func(k *tir.Kernel)) []*tir.Kernel {
		k := copyKernel("k", 8)
		change(k)
		return []*tir.Kernel{k}
	}
	host := hostTarget(t)
	plain := *host
	plain.Arch, plain.Features = "x86-64", []string{"sse4.2"}
	gpu := *host
	gpu.Kind = target.GPU
	for _, c := range []struct {
		name    string
		kernels []*tir.Kernel
		target  *target.Target
		kind    error
		want    string
	}{
		{"gpu", with(func(*tir.Kernel) {}), &gpu, diag.ErrUnsupported, "wanted a cpu"},
		{"old x86", with(func(*tir.Kernel) {}), &plain, diag.ErrUnsupported, "x86-64-v3"},
		{"no name", with(func(k *tir.Kernel) { k.Name = "" }), host, diag.ErrInternal, "without a name"},
		{"odd name", with(func(k *tir.Kernel) { k.Name = "a b" }), host, diag.ErrInternal, "character"},
		{"driver's name", with(func(k *tir.Kernel) { k.Name = "texel_run" }), host, diag.ErrInternal, "twice"},
		{"same name", append(with(func(*tir.Kernel) {}), copyKernel("k", 4)), host, diag.ErrInternal, "twice"},
		{"vectorized loop", with(func(k *tir.Kernel) {
			k.Body = &tir.For{Var: tir.NewVar("i"), Min: tir.I(0), Extent: tir.I(4), Kind: tir.Vectorized, Body: k.Body}
		}), host, diag.ErrInternal, "vectorized loop i is left"},
		{"block", with(func(k *tir.Kernel) { k.Body = &tir.BlockRealize{Block: &tir.Block{Name: "b"}} }), host, diag.ErrInternal, "block b is left"},
		{"unbound variable", with(func(k *tir.Kernel) { k.Body = put(k.Params[1], f32(1), tir.NewVar("stray")) }), host, diag.ErrInternal, "stray is not bound"},
		{"foreign buffer", with(func(k *tir.Kernel) { k.Body = put(buffer("other", tensor.Float32, 8), f32(1), k.Grid) }), host, diag.ErrInternal, "other is neither"},
		{"storage type", with(func(k *tir.Kernel) { k.Params[0] = buffer("in", tensor.Float8E4M3FN, 8) }), host, diag.ErrUnsupported, "float8_e4m3fn"},
		{"texture", with(func(k *tir.Kernel) {
			k.Params[0] = &tir.Buffer{Name: "in", DType: tensor.Float32, Shape: []int{8}, Scope: tir.Texture}
		}), host, diag.ErrUnsupported, "scope texture"},
		{"grid without variable", with(func(k *tir.Kernel) { k.Grid = nil }), host, diag.ErrInternal, "without a variable"},
		{"too few indices", with(func(k *tir.Kernel) { k.Body = put(k.Params[1], f32(1)) }), host, diag.ErrInternal, "0 indices"},
		{"large stack", with(func(k *tir.Kernel) {
			b := local("big", tensor.Float32, 1<<20)
			k.Body = &tir.Allocate{Buffer: b, Body: put(b, f32(1), k.Grid)}
		}), host, diag.ErrUnsupported, "scope scratch"},
	} {
		t.Run(c.name, func(t *testing.T) {
			tl := tools(t)
			_, err := Build(t.Context(), c.kernels, c.target, Options{Tools: &tl})
			requireKind(t, c.kind, err, c.want)
		})
	}
}

func TestScratchIsLaidOutLikeAStack(t *testing.T) {
	scratch := func(name string, n int) *tir.Buffer {
		return &tir.Buffer{Name: name, DType: tensor.Float32, Shape: []int{n}, Scope: tir.Scratch}
	}
	a, b, c := scratch("a", 10), scratch("b", 20), scratch("c", 100)
	nothing := &tir.Seq{}
	k := &tir.Kernel{Name: "k", Body: &tir.Seq{Stmts: []tir.Stmt{
		&tir.Allocate{Buffer: a, Body: &tir.Allocate{Buffer: b, Body: nothing}}, &tir.Allocate{Buffer: c, Body: nothing}}}}
	require.Equal(t, 448, scratchOf(k))
	k.Body = &tir.Allocate{Buffer: a, Body: &tir.Allocate{Buffer: b, Body: nothing}}
	require.Equal(t, 64+128, scratchOf(k))
}
