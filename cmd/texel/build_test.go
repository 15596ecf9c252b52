package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/texel-ml/texel/target"
	"github.com/texel-ml/texel/tensor"
	"github.com/texel-ml/texel/tir/tirtext"
	looppasses "github.com/texel-ml/texel/tir/transform"
)

func TestBuild(t *testing.T) {
	x := newTool(t)
	path, trace := x.matmulFiles(24, 20, 32)
	require.Regexp(t, `^matmul for host.*: kernels 1, code [0-9.]+ kB, [0-9]+ ms\nkernel matmul: grid 1, scratch 0 bytes\n$`, x.ok("build", path))
	out := filepath.Join(t.TempDir(), "m.so")
	require.Contains(t, x.ok("build", path, "--trace", trace, "-o", out), "kernel matmul: grid 8, ")
	require.Equal(t, "\x7fELF", string(read(t, out)[:4]))

	dir := t.TempDir()
	v := decode(t, x.ok("build", path, "--trace", trace, "--emit", "tir,llvm,asm="+dir, "--json"))
	require.Equal(t, "matmul", v["function"])
	require.Equal(t, 2.0*24*20*32, v["flops"])
	require.Equal(t, 8.0, v["kernels"].([]any)[0].(map[string]any)["grid"])
	require.NotContains(t, v, "bench")
	require.NotContains(t, v, "stats")
	require.Contains(t, string(read(t, dir+"/code/matmul.tir")), "kernel matmul(A: float32[24, 20], B: float32[20, 32], out C: float32[24, 32]) grid ")
	require.Contains(t, string(read(t, dir+"/code/kernels000.ll")), "define void @matmul(")
	require.Contains(t, string(read(t, dir+"/code/kernels000.s")), "\nmatmul:")

	// Code for another processor, in the form of its own.
	require.Empty(t, emittedFor(t, x, path, trace, "cortex-a76", "asm", ".s", `fmla\s`))
	require.Empty(t, emittedFor(t, x, path, "", "pocl", "opencl", ".cl", `__kernel`))
}

// emittedFor builds for a target and returns what is wrong with the form that it wrote.
func emittedFor(t *testing.T, x *tool, path, trace, to, form, end, wanted string) string {
	dir := t.TempDir()
	args := []string{"build", path, "--target", to, "--emit", form + "=" + dir}
	if trace != "" {
		args = append(args, "--trace", trace)
	}
	x.ok(args...)
	files, err := filepath.Glob(filepath.Join(dir, "code", "*"+end))
	require.NoError(t, err)
	for _, f := range files {
		if regexp.MustCompile(wanted).Match(read(t, f)) {
			return ""
		}
	}
	return "no " + wanted + " in " + strings.Join(files, ", ")
}

// TestEveryDumpBuilds takes up each dump behind the pass that made it, and wants the same kernels in the end.
func TestEveryDumpBuilds(t *testing.T) {
	x := newTool(t)
	path, trace := x.matmulFiles(20, 12, 18) // tiles that do not fit
	dumps, last := t.TempDir(), t.TempDir()
	x.ok("build", path, "--trace", trace, "--dump", dumps, "--emit", "tir,asm="+last)
	passes := looppasses.Passes()
	for i := range passes {
		dump := filepath.Join(dumps, looppasses.PassName(i)+".tir")
		again := t.TempDir()
		args := []string{"build", dump, "--emit", "tir,asm=" + again}
		if i%2 == 1 && i+1 < len(passes) { // what the dump says of itself is enough, and may be said again
			args = append(args, "--start-at", looppasses.PassName(i+1))
		}
		x.ok(args...)
		require.Equal(t, string(read(t, last+"/code/matmul.tir")), string(read(t, again+"/code/matmul.tir")), dump)
		require.Equal(t, string(read(t, last+"/code/kernels000.s")), string(read(t, again+"/code/kernels000.s")), dump)
	}
	// The function behind the trace is one too.
	again := t.TempDir()
	x.ok("build", filepath.Join(dumps, "schedule.tir"), "--emit", "tir="+again)
	require.Equal(t, string(read(t, last+"/code/matmul.tir")), string(read(t, again+"/code/matmul.tir")))

	// --stop-after prints what --dump writes.
	require.Equal(t, string(read(t, dumps+"/07_lift-grid.tir")), x.ok("build", path, "--trace", trace, "--stop-after", "lift-grid"))
	out := filepath.Join(t.TempDir(), "k.tir")
	require.Empty(t, x.ok("build", path, "--trace", trace, "--stop-after", "11_simplify", "-o", out))
	require.Equal(t, string(read(t, dumps+"/11_simplify.tir")), string(read(t, out)))
	require.Equal(t, string(read(t, dumps+"/00_lower-blocks.tir")), x.ok("build", path, "--trace", trace, "--stop-after", "lower-blocks"))
}

func TestBuildOfSeveralKernels(t *testing.T) {
	x := newTool(t)
	out := x.ok("build", x.file("k.tir", twoKernels), "--bench", "--rounds", "3")
	require.Contains(t, out, "both for host")
	require.Contains(t, out, "kernel second: grid 1")
	require.Contains(t, out, "results checked against the interpreter")
	require.Contains(t, out, "(16 operations a call)")
}

func TestBuildBench(t *testing.T) {
	x := newTool(t)
	path, trace := x.matmulFiles(48, 64, 32)
	out := x.ok("build", path, "--trace", trace, "--bench", "--rounds", "20")
	require.Contains(t, out, "drawn inputs: A, B\n")
	require.Regexp(t, `(?m)^threads 1: median [0-9.e-]+ ms, min [0-9.e-]+, p95 [0-9.e-]+ \(20 samples`, out)
	require.Regexp(t, `(?m)^[0-9.]+ GFLOP/s, best [0-9.]+ \(196608 operations a call\)$`, out)
	require.Regexp(t, `(?m)^peak of multiply-adds measured here [0-9.]+ GFLOP/s float32: [0-9.]+ % of it, best [0-9.]+ %$`, out)
	require.Regexp(t, `(?m)^peak of the units in record host, at [0-9.]+ GHz measured here, [0-9.]+ GFLOP/s: [0-9.]+ % of it$`, out)
	require.Contains(t, out, "results checked against the interpreter\n")

	v := decode(t, x.ok("build", path, "--trace", trace, "--bench", "--json", "--rounds", "10", "--max-steps", "1000", "--threads", "2"))
	b := v["bench"].(map[string]any)
	require.Regexp(t, "^the code of the function before the trace, as the interpreter would take [0-9]+ steps, more than 1000$", b["checked"])
	require.Equal(t, 2.0, b["threads"])
	require.LessOrEqual(t, b["min_ms"], b["median_ms"])
	require.LessOrEqual(t, b["median_ms"], b["p95_ms"])
	require.Positive(t, b["measured_peak_gflops"])
	require.InDelta(t, b["gflops"].(float64)/b["measured_peak_gflops"].(float64), b["of_measured_peak"], 1e-9)
	host, err := target.Host()
	require.NoError(t, err)
	units := host.FlopsPerCycle(32) * float64(min(2, host.Cores)) * b["clock_ghz"].(float64)
	require.InEpsilon(t, units, b["record_peak_gflops"], 1e-9)
	require.InDelta(t, b["gflops"].(float64)/units, b["of_record_peak"], 1e-9)
	require.Equal(t, []any{"A", "B"}, v["drawn_inputs"])

	// Without a trace there is nothing else to compare with.
	b = decode(t, x.ok("build", path, "--bench", "--json", "--rounds", "3", "--max-steps", "1000"))["bench"].(map[string]any)
	require.Regexp(t, "^not compared: the interpreter would take", b["checked"])

	given := x.npy("a.npy", tensor.New(tensor.Float32, tensor.Shape{48, 64}))
	require.Contains(t, x.ok("build", path, "--bench", "--rounds", "3", "--input", "A="+given), "drawn inputs: B\n")

	// the interpreter is not given the time
	slow := []string{"build", path, "--bench", "--rounds", "3", "--check-time", "1ns"}
	require.Contains(t, x.ok(slow...), "results not compared: the interpreter did not end within 1ns (--check-time); it has ")
	require.Contains(t, x.ok(append(slow, "--trace", trace)...), "results checked against the code of the function before the trace, as the interpreter did not end within 1ns (--check-time)")
	require.Contains(t, x.ok(append(slow, "--max-steps", "10")...), "results not compared: the interpreter would take ")
	require.Contains(t, x.ok("build", path, "--bench", "--rounds", "3", "--check-time", "0"), "results checked against the interpreter\n")
	x.refused(2, "--check-time wants a time from 0", "build", path, "--bench", "--check-time", "-1s")

	// Integers have no peak, and scalars come from a flag.
	const ints = "func f(A: int32[64], out B: int32[64], scalar n: int64):\n  block root():\n    for i in range(0, 64):\n" +
		"      block B(v: spatial[64] = i):\n        reads A[v +: 1]\n        writes B[v +: 1]\n        B[v] = A[v] * 3_int32 + int32(n)\n"
	out = x.ok("build", x.file("i.tir", ints), "--bench", "--rounds", "3", "--scalar", "n=4")
	require.Regexp(t, `(?m)^[0-9.]+ Gop/s of integers \(128 operations a call\)$`, out)
	require.NotContains(t, out, "peak")
}

func TestBuildStats(t *testing.T) {
	if _, err := os.Stat("/usr/bin/llvm-mca-19"); err != nil {
		t.Skip("no llvm-mca here")
	}
	x := newTool(t)
	f := matmul(28, 64, 24)
	path, trace := x.file("m.tir", tirtext.Print(f)), x.file("m.trace", tiled(t, f, 7, 4).String())
	out := x.ok("build", path, "--trace", trace, "--target", "cortex-a76", "--stats")
	require.Regexp(t, `(?m)^static matmul: [0-9]+ instructions, [0-9]+ vector registers, 0 spills, 0 reloads, 0 stack references$`, out)
	require.Regexp(t, `(?m)^  loop \S+: [0-9]+ instructions, 14 fma, [0-9]+ loads, 0 stores, [0-9]+ vector registers, 0 stack references; [0-9.]+ cycles an iteration, fma issue [0-9.]+ %$`, out)
	require.Contains(t, out, "cycles by llvm-mca's model of neoverse-n1, which stands for cortex-a76\n")
	v := decode(t, x.ok("build", path, "--trace", trace, "--target", "x86-64-v3", "--stats", "--json"))
	s := v["stats"].(map[string]any)
	require.Equal(t, "haswell", s["mca_model"])
	loops := s["kernels"].([]any)[0].(map[string]any)["inner_loops"].([]any)
	require.NotEmpty(t, loops)
	require.Contains(t, loops[0], "fma_issue")
}

func TestBuildOnOpenCL(t *testing.T) {
	x := newTool(t)
	const double = `func double(A: float32[64], out B: float32[64]):
  block root():
    for o in range(0, 4, kind=bound, thread="blockIdx.x"):
      for i in range(0, 16, kind=bound, thread="threadIdx.x"):
        block B(v: spatial[64] = o * 16 + i):
          reads A[v +: 1]
          writes B[v +: 1]
          B[v] = A[v] * 2.0
`
	path := x.file("d.tir", double)
	require.Contains(t, x.ok("build", path, "--target", "adreno-660"), "grid [64] in groups of [16]")
	x.refused(4, "stats: double: static cost is known of native code only", "build", path, "--target", "pocl", "--stats")
	x.refused(2, "-o wants a target with one shared object", "build", path, "--target", "pocl", "-o", "x.so")
	x.refused(2, "--emit asm: code for pocl does not go through it", "build", path, "--target", "pocl", "--emit", "asm="+t.TempDir())
	x.refused(4, "the loop is bound to blockIdx.x, and target host is a processor", "build", path)
	x.refused(4, "the loop is parallel, and target pocl wants it bound", "build", x.file("p.tir", strings.Replace(strings.Replace(double,
		`kind=bound, thread="blockIdx.x"`, "kind=parallel", 1), `, kind=bound, thread="threadIdx.x"`, "", 1)), "--target", "pocl")
	code, out, err := x.run("build", path, "--device", "opencl", "--bench", "--rounds", "3")
	if code == 6 || code == 4 {
		t.Skip(err)
	}
	require.Zero(t, code, err)
	require.Contains(t, out, "results checked against the interpreter")
	require.NotContains(t, out, "peak")
}

func TestBuildRefuses(t *testing.T) {
	x := newTool(t)
	path, trace := x.matmulFiles(24, 20, 32)
	other := x.file("other.tir", strings.ReplaceAll(string(read(t, path)), "block C(", "block D("))
	kernel := x.file("k.tir", x.ok("build", path, "--trace", trace, "--stop-after", "partition-loops"))
	for _, line := range []struct {
		code    int
		message string
		args    []string
	}{
		{2, "--start-at wants a loop pass, found \"fuse\"", []string{path, "--start-at", "fuse"}},
		{2, "--stop-after wants a loop pass, found \"99_unroll\"", []string{path, "--stop-after", "99_unroll"}},
		{2, "--stop-after leaves no code", []string{path, "--stop-after", "unroll", "--bench"}},
		{2, "--threads wants 1 to 1024, found 0", []string{path, "--threads", "0"}},
		{2, "--rounds wants", []string{path, "--rounds", "-1"}},
		{2, "--max-steps wants", []string{path, "--max-steps", "0"}},
		{2, "--jobs wants", []string{path, "--jobs", "-1"}},
		{2, "--device wants", []string{path, "--bench", "--device", "tpu"}},
		{2, "--emit wants tir,llvm,asm,opencl=DIR", []string{path, "--emit", "llvm"}},
		{2, "--emit wants tir, llvm, asm or opencl, found \"relay\"", []string{path, "--emit", "relay=" + t.TempDir()}},
		{2, "--emit opencl: code for host does not go through it", []string{path, "--emit", "opencl=" + t.TempDir()}},
		{3, "no such target", []string{path, "--target", "nonsense"}},
		{3, "cannot read the trace", []string{path, "--trace", "none.trace"}},
		{3, "bad.trace:2:", []string{path, "--trace", x.file("bad.trace", "trace 1\nb0 = get_block(\n")}},
		{3, "get_block", []string{other, "--trace", trace}},
		{3, "a function in block form enters the loop passes at the first, not at vectorize", []string{path, "--start-at", "vectorize"}},
		{3, "lower-blocks takes a function in block form, and these are kernels", []string{kernel, "--start-at", "lower-blocks"}},
		{3, "a trace shapes a function in block form, and these are kernels", []string{kernel, "--trace", trace, "--start-at", "vectorize"}},
		{3, "verify: matmul: behind size-scratch: loop", []string{x.file("half.tir", strings.Replace(string(read(t, kernel)), ` after "08_partition-loops"`, "", 1))}},
		{3, "verify: matmul: behind vectorize: loop", []string{kernel, "--start-at", "unroll"}},
		{3, "no parameter of the program", []string{x.file("k.tir", strings.Replace(twoKernels, "between T: float32[8]\n", "", 1))}},
		{3, "second: two kernels have this name", []string{x.file("k.tir", strings.Replace(twoKernels, "kernel first", "kernel second", 1))}},
		{3, "verify: C: the value of r0 may be outside [0, 20): it is in [0, 20]", []string{x.file("v.tir", strings.Replace(string(read(t, path)), "range(0, 20)", "range(0, 21)", 1))}},
		{3, "the code is for host, and device opencl takes code for opencl", []string{path, "--target", "host", "--device", "opencl", "--bench"}},
		{6, "needs a processor of architecture aarch64", []string{path, "--target", "cortex-a76", "--bench"}},
		{3, "the scalar argument has no value", []string{x.file("s.tir", "kernel s(out B: int64[], scalar n: int64):\n  B[] = n\n"), "--bench"}},
		{3, "cannot be written", []string{path, "-o", filepath.Join(t.TempDir(), "none", "m.so")}},
		{3, "cannot be written", []string{path, "--dump", "/proc/nowhere"}},
		{4, "a parameter of scope global with strides [8 1]", []string{x.file("st.tir", "kernel s(A: float32[4, 4] strides [8, 1], out B: float32[4]):\n  B[0] = A[3, 3]\n"), "--bench"}},
		{3, "build: s: a program of 1 kernels with 0 outputs of 1 parameters", []string{x.file("n.tir", "kernel s(A: float32[4]):\n  pass\n")}},
	} {
		if line.code == 6 {
			if host, err := target.Host(); err != nil || host.Arch != "x86-64" {
				continue
			}
		}
		x.refused(line.code, line.message, append([]string{"build"}, line.args...)...)
	}
}
