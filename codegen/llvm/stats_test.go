package llvm

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/texel-ml/texel/diag"
	"github.com/texel-ml/texel/target"
	"github.com/texel-ml/texel/tensor"
	"github.com/texel-ml/texel/tir"
)

func parsed(t testing.TB, name string) *target.Target {
	tgt, err := target.Parse(name)
	require.NoError(t, err)
	return tgt
}

// mca returns the path of llvm-mca, without which these tests cannot say anything.
func mca(t testing.TB) string {
	path, err := find("llvm-mca", installed)
	if err != nil {
		t.Skip(err)
	}
	return path
}

// TestStatsOfRegisterTiles knows what the reduction loop of a register tile holds: a multiply-add for each of its
// vectors, nothing of it on the stack, and the model's units busy.
func TestStatsOfRegisterTiles(t *testing.T) {
	mca(t)
	for _, c := range []struct {
		target            string
		rows, vecs, lanes int
		model, standsFor  string
		issue             float64 // at least
	}{
		{"x86-64-v4", 12, 2, 16, "skylake-avx512", "x86-64-v4", 0.9},
		{"x86-64-v3", 6, 2, 8, "haswell", "x86-64-v3", 0.9},
		{"cortex-a76", 8, 2, 4, "neoverse-n1", "cortex-a76", 0.9},
		{"cortex-x1", 6, 4, 4, "neoverse-v1", "cortex-x1", 0.85},
		{"neoverse-n2", 6, 4, 4, "neoverse-n2", "", 0.9},
		{"cortex-a55", 7, 3, 4, "cortex-a55", "", 0.7},
	} {
		t.Run(fmt.Sprintf("%s/%dx%dx%d", c.target, c.rows, c.vecs, c.lanes), func(t *testing.T) {
			tgt := parsed(t, c.target)
			o := build(t, tgt, panelMatmul(c.rows*4, 256, c.rows, c.vecs, c.lanes))
			s, err := o.Stats(t.Context(), []string{"matmul"}, tgt, StatsOptions{})
			require.NoError(t, err)
			require.Equal(t, c.model, s.Model)
			require.Equal(t, c.standsFor, s.StandsFor)
			require.Len(t, s.Kernels, 1)
			require.Len(t, s.Kernels[0].Loops, 1)
			k, l := s.Kernels[0], s.Kernels[0].Loops[0]
			require.Equal(t, c.rows*c.vecs, l.FMAs)
			require.Equal(t, 1, l.Blocks)
			require.Zero(t, l.StackReferences)
			require.Zero(t, l.Stores)
			require.Positive(t, l.Loads)
			require.GreaterOrEqual(t, l.VectorRegisters, c.rows*c.vecs+1)
			require.LessOrEqual(t, l.VectorRegisters, tgt.VectorRegisters)
			require.GreaterOrEqual(t, k.VectorRegisters, l.VectorRegisters)
			require.Greater(t, k.Instructions, l.Instructions)
			require.GreaterOrEqual(t, l.FMAIssue, c.issue, "%+v", l)
			require.LessOrEqual(t, l.FMAIssue, 1.0001)
			require.LessOrEqual(t, float64(l.FMAs)/l.Cycles, 4.0)
		})
	}
}

// TestStatsFindSpills has more accumulators than the processor has registers.
func TestStatsFindSpills(t *testing.T) {
	mca(t)
	tgt := parsed(t, "x86-64-v3")
	o := build(t, tgt, panelMatmul(32, 256, 8, 3, 8))
	s, err := o.Stats(t.Context(), []string{"matmul"}, tgt, StatsOptions{})
	require.NoError(t, err)
	k := s.Kernels[0]
	require.Positive(t, k.Loops[0].StackReferences)
	require.Positive(t, k.StackReferences)
	require.Positive(t, k.Spills)
	require.Positive(t, k.Reloads)
	require.Less(t, k.Loops[0].FMAIssue, 0.9)
}

// TestStatsOfNests counts the innermost loops only, of kernels in several modules.
func TestStatsOfNests(t *testing.T) {
	mca(t)
	out, g := buffer("out", tensor.Float32, 4, 8, 16), tir.NewVar("g")
	i, j, k := tir.NewVar("i"), tir.NewVar("j"), tir.NewVar("k")
	loop := func(v *tir.Var, n int, body tir.Stmt) tir.Stmt {
		return &tir.For{Var: v, Min: tir.I(0), Extent: tir.I(n), Body: body}
	}
	nest := &tir.Kernel{Name: "nest", Params: []*tir.Buffer{out}, Outputs: 1, Grid: g, GridExtent: 4, Body: loop(i, 8, &tir.Seq{Stmts: []tir.Stmt{
		loop(j, 16, put(out, f32(1), g, i, j)),
		loop(k, 16, put(out, tir.Plus(at(out, g, i, k), f32(2)), g, i, k)),
	}})}
	for _, name := range []string{"x86-64-v4", "neoverse-n1"} {
		tgt := parsed(t, name)
		o := build(t, tgt, nest, copyKernel("copy", 8))
		s, err := o.Stats(t.Context(), []string{"copy", "nest"}, tgt, StatsOptions{})
		require.NoError(t, err)
		require.Equal(t, "copy", s.Kernels[0].Kernel)
		require.Len(t, s.Kernels[0].Loops, 1)
		require.Equal(t, []int{1, 1}, []int{s.Kernels[0].Loops[0].Loads, s.Kernels[0].Loops[0].Stores})
		require.Len(t, s.Kernels[1].Loops, 2)
		require.Equal(t, []int{0, 1}, []int{s.Kernels[1].Loops[0].Loads, s.Kernels[1].Loops[0].Stores})
		require.Equal(t, []int{1, 1}, []int{s.Kernels[1].Loops[1].Loads, s.Kernels[1].Loops[1].Stores})
	}
}

// The functions below are written as llc writes them.
func TestInnerLoopsInAssembly(t *testing.T) {
	const x86 = `	.text
other:                                  # @other
	retq
.Lfunc_end0:
f:                                      # @f
# %bb.0:
	pushq	%rbp
	movq	%rsp, %rbp
	testq	%rdi, %rdi
	jle	.LBB1_5
	jmp	.LBB1_2
.LBB1_1:                                # the outer loop goes on
	incq	%rax
	cmpq	%rax, %rdi
	je	.LBB1_5
.LBB1_2:
	vmovups	%zmm1, -64(%rbp)                # 64-byte Spill
.LBB1_3:
	prefetcht0	64(%rcx)
	vfmadd231ps	(%rcx){1to16}, %zmm2, %zmm17
	testb	%dl, %dl
	jne	.LBB1_4
	callq	texel_exp
.LBB1_4:
	vmovups	-64(%rbp), %zmm1                # 64-byte Reload
	decq	%rsi
	jne	.LBB1_3
	jmp	.LBB1_1
.LBB1_5:
	popq	%rbp
	retq
.Lfunc_end1:
`
	f, err := parseAsm(x86, "f", "x86-64")
	require.NoError(t, err)
	k := f.stats("f")
	require.Equal(t, []int{20, 1, 1, 2, 3}, []int{k.Instructions, k.Spills, k.Reloads, k.StackReferences, k.VectorRegisters})
	require.Len(t, k.Loops, 1)
	l := k.Loops[0]
	require.Equal(t, ".LBB1_3", l.Label)
	require.Equal(t, []int{3, 8, 1, 1, 1, 1, 3}, []int{l.Blocks, l.Instructions, l.FMAs, l.Prefetches, l.Calls, l.StackReferences, l.VectorRegisters})

	const arm = `
f:                                      // @f
// %bb.0:
	sub	sp, sp, #32
	cbz	x0, .LBB0_3
.LBB0_1:                                // an outer loop whose only block besides is the inner one
.LBB0_2:
	ldr	q1, [sp, #16]                   // 16-byte Reload
	fmla	v0.4s, v1.4s, v2.s[0]
	prfm	pldl2keep, [x1]
	tbnz	w3, #0, .LBB0_2
	sub	x0, x0, #1
	cbnz	x0, .LBB0_1
.LBB0_3:
	b	.LBB0_4
.LBB0_4:
	fmadd	s0, s1, s2, s3
	ret
.Lfunc_end0:
`
	f, err = parseAsm(arm, "f", "aarch64")
	require.NoError(t, err)
	k = f.stats("f")
	require.Equal(t, []int{11, 0, 1, 1, 4}, []int{k.Instructions, k.Spills, k.Reloads, k.StackReferences, k.VectorRegisters})
	require.Len(t, k.Loops, 1)
	l = k.Loops[0]
	require.Equal(t, []int{1, 4, 1, 1, 0, 1, 3}, []int{l.Blocks, l.Instructions, l.FMAs, l.Prefetches, l.Calls, l.StackReferences, l.VectorRegisters})

	_, err = parseAsm(arm, "g", "aarch64")
	requireKind(t, diag.ErrInternal, err, "no such function")
}

func TestMCAModels(t *testing.T) {
	require.Contains(t, standIns, "cortex-a78")
	tgt := parsed(t, "cortex-a76")
	tgt.CPU, tgt.Tune = "cortex-a78", ""
	model, standsFor := mcaModel(tgt)
	require.Equal(t, []string{"neoverse-n1", "cortex-a78"}, []string{model, standsFor})
	tgt = parsed(t, "x86-64-v4")
	tgt.Name, tgt.Tune = "host", "znver4"
	model, standsFor = mcaModel(tgt)
	require.Equal(t, []string{"znver4", ""}, []string{model, standsFor})
	tgt.Tune = "znver5"
	model, standsFor = mcaModel(tgt)
	require.Equal(t, []string{"znver4", "znver5"}, []string{model, standsFor})
	tgt.Tune = ""
	model, standsFor = mcaModel(tgt)
	require.Equal(t, []string{"skylake-avx512", "this host"}, []string{model, standsFor})
}

func TestStatsRefuse(t *testing.T) {
	tgt := parsed(t, "x86-64-v3")
	o := build(t, tgt, copyKernel("copy", 8))
	_, err := o.Stats(t.Context(), []string{"copy"}, tgt, StatsOptions{MCA: "/nowhere/llvm-mca-19"})
	requireKind(t, diag.ErrMissing, err, "llvm-mca-19", Install)
	_, err = o.Stats(t.Context(), []string{"other"}, tgt, StatsOptions{})
	requireKind(t, diag.ErrInternal, err, "no assembly")
	_, err = o.Stats(t.Context(), []string{"copy"}, parsed(t, "pocl"), StatsOptions{})
	requireKind(t, diag.ErrUnsupported, err, "wanted a cpu")
	fake := filepath.Join(t.TempDir(), "llvm-mca")
	for script, kind := range map[string]error{
		"echo 'error: found an unsupported instruction' >&2; exit 1":        diag.ErrUnsupported,
		"echo {} > $(echo \"$@\" | sed 's/.*-o \\([^ ]*\\) .*/\\1/')":       diag.ErrInternal,
		"echo nonsense > $(echo \"$@\" | sed 's/.*-o \\([^ ]*\\) .*/\\1/')": diag.ErrInternal,
	} {
		require.NoError(t, os.WriteFile(fake, []byte("#!/bin/sh\n"+script+"\n"), 0o700))
		_, err = o.Stats(t.Context(), []string{"copy"}, tgt, StatsOptions{MCA: fake})
		requireKind(t, kind, err, "llvm-mca")
	}
	require.False(t, strings.Contains(err.Error(), "panic"))
}
