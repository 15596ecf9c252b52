package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/texel-ml/texel/internal/browser"
	"github.com/texel-ml/texel/schedule/te"
	"github.com/texel-ml/texel/tensor"
	"github.com/texel-ml/texel/tir"
	"github.com/texel-ml/texel/tir/tirtext"
)

func TestScheduleReplaysATrace(t *testing.T) {
	x := newTool(t)
	tirPath, tracePath := x.matmulFiles(20, 24, 33)
	printed := x.ok("schedule", tirPath, "--trace", tracePath)
	require.Contains(t, printed, "kind=vectorized")
	out := filepath.Join(t.TempDir(), "out.tir")
	require.Empty(t, x.ok("schedule", tirPath, "--trace", tracePath, "-o", out))
	text, err := os.ReadFile(out)
	require.NoError(t, err)
	require.Equal(t, printed, string(text))
	_, err = tirtext.Parse("out", string(text))
	require.NoError(t, err)
}

func TestScheduleRefusesWithPlaceAndReason(t *testing.T) {
	x := newTool(t)
	tirPath, _ := x.matmulFiles(20, 24, 33)
	for want, text := range map[string]string{
		`bad.trace:2:5: trace: "get_loops" is no handle; wanted b, l or v and a number, such as b0, l3 or v1`:                             "b0 = get_block(\"C\")\nl0, get_loops(b0)\n",
		`bad.trace:3:1: trace: vectorize: step 3 of 3: vectorize: r0: drives the reduce variable r0 of block C; wanted only spatial ones`: "b0 = get_block(\"C\")\nl0, l1, l2 = get_loops(b0)\nvectorize(l2)\n",
		`bad.trace:1:7: trace: the version is "7", wanted 1`:                                                                              "trace 7\n",
	} {
		bad := x.file("bad.trace", text)
		code, out, err := x.run("schedule", tirPath, "--trace", bad)
		require.Equal(t, 3, code)
		require.Contains(t, strings.ReplaceAll(err, filepath.Dir(bad)+"/", ""), want)
		require.Empty(t, out)
	}
	x.refused(2, "--trace FILE is required", "schedule", tirPath)
	x.refused(3, "holds kernels, wanted a function in block form", "schedule", x.file("two.tir", twoKernels), "--trace", x.file("t.trace", ""))
}

func TestScheduleRefusesWhatIsNotLegal(t *testing.T) {
	x := newTool(t)
	trace := x.file("t.trace", "b0 = get_block(\"C\")\n")
	noRoot := x.file("f.tir", "func f(A: float32[4], out C: float32[4]):\n  for i in range(0, 4):\n    C[i] = A[i]\n")
	beyond := x.file("g.tir", `func g(A: float32[4], out C: float32[4]):
  block root():
    for i in range(0, 4):
      block C(v: spatial[4] = i):
        reads A[v +: 1]
        writes C[v +: 1]
        C[v] = A[v + 1]
`)
	page := filepath.Join(t.TempDir(), "page.html")
	for _, flags := range [][]string{nil, {"--certify"}, {"--bisect"}, {"--html", page}} {
		x.refused(3, "f.tir:1:6: verify: f: the body is no root block", append([]string{"schedule", noRoot, "--trace", trace}, flags...)...)
		x.refused(3, "g.tir:4:13: verify: C: the block reads A outside the regions that it declares", append([]string{"schedule", beyond, "--trace", trace}, flags...)...)
		require.NoFileExists(t, page)
	}
	x.refused(3, "f.tir:1:6: verify: f: the body is no root block", "reduce", noRoot, "--trace", trace)
	axis := x.file("h.tir", `func h(A: float32[4], out C: float32[4]):
  block root():
    for i in range(0, 4, kind=bound, thread="blockIdx.w"):
      block C(v: spatial[4] = i):
        reads A[v +: 1]
        writes C[v +: 1]
        C[v] = A[v]
`)
	for _, line := range [][]string{{"schedule", axis, "--trace", trace}, {"build", axis}, {"interp", axis}} {
		x.refused(3, `h.tir:3:9: verify: i: the loop is bound to "blockIdx.w", which is no grid axis`, line...)
	}
	for _, flags := range [][]string{{"--certify"}, {"--html", page}, {"-o", page}} {
		x.refused(2, "--bisect prints the step at fault", append([]string{"schedule", noRoot, "--trace", trace, "--bisect"}, flags...)...)
	}
	x.refused(2, "--max-steps wants a number from 1, found 0", "schedule", noRoot, "--trace", trace, "--bisect", "--max-steps", "0")
	x.refused(2, "--max-steps wants a number from 1, found -1", "reduce", noRoot, "--trace", trace, "--max-steps", "-1")
	large := x.file("large.tir", tirtext.Print(matmul(20000, 20000, 20000)))
	x.refused(4, "the parameters have more than 67108864 elements together", "schedule", large, "--trace", trace, "--bisect")
	x.refused(4, "the parameters have more than 67108864 elements together", "reduce", large, "--trace", trace)
}

// TestWritesBehindALink writes to a link: the file it leads to changes, and the link stays.
func TestWritesBehindALink(t *testing.T) {
	x := newTool(t)
	tirPath, tracePath := x.matmulFiles(4, 4, 4)
	dir := t.TempDir()
	file, link := filepath.Join(dir, "out.tir"), filepath.Join(dir, "link.tir")
	require.NoError(t, os.WriteFile(file, []byte("old"), 0o600))
	require.NoError(t, os.Symlink(file, link))
	x.ok("schedule", tirPath, "--trace", tracePath, "-o", link)
	info, err := os.Lstat(link)
	require.NoError(t, err)
	require.NotZero(t, info.Mode()&os.ModeSymlink)
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Contains(t, string(text), "func matmul(")
}

// TestInterruptEndsAReplay interrupts the command in the middle of steps that each look at a nest of thousands of loops.
func TestInterruptEndsAReplay(t *testing.T) {
	x := newTool(t)
	path, _ := x.matmulFiles(20, 24, 33)
	var steps strings.Builder
	steps.WriteString("b0 = get_block(\"C\")\n")
	for n := range 5000 {
		fmt.Fprintf(&steps, "l%d = add_unit_loop(b0)\n", n)
	}
	out := filepath.Join(t.TempDir(), "out.tir")
	self, err := os.Executable()
	require.NoError(t, err)
	c := exec.Command(self, "schedule", path, "--trace", x.file("long.trace", steps.String()), "-o", out)
	c.Env = append(os.Environ(), commandVariable+"=1")
	require.NoError(t, c.Start())
	time.Sleep(500 * time.Millisecond)
	begin := time.Now()
	require.NoError(t, c.Process.Signal(os.Interrupt))
	require.Error(t, c.Wait())
	require.Equal(t, 130, c.ProcessState.ExitCode())
	require.Less(t, time.Since(begin), 5*time.Second)
	require.NoFileExists(t, out)
}

func TestScheduleCertifies(t *testing.T) {
	x := newTool(t)
	tirPath, tracePath := x.matmulFiles(20, 24, 33)
	out := x.ok("schedule", tirPath, "--trace", tracePath, "--certify")
	require.Contains(t, out, "compute_at(")
	require.Contains(t, out, "\n  cover: C_local_back reads C_local: for each ")
	require.Contains(t, out, "\n  distinct: parallel loop ")
	require.Regexp(t, `\n\d+ steps, [1-9]\d+ claims, each checked again from its text\n$`, out)
}

func TestScheduleBisectsAPlantedFault(t *testing.T) {
	x := newTool(t)
	in := te.Placeholder("X", tensor.Float32, 6, 32)
	third := te.Compute("B", tensor.Float32, in.Shape(), func(i []tir.Expr) tir.Expr { return tir.Times(in.At(i...), tir.Const(tensor.Float32, 0.3)) })
	sum := te.Compute("Y", tensor.Float32, in.Shape(), func(i []tir.Expr) tir.Expr { return tir.Plus(third.At(i...), in.At(i...)) })
	tirPath := x.file("f.tir", tirtext.Print(te.Func("f", []*te.Tensor{in}, []*te.Tensor{sum}, third)))
	planted := x.file("planted.trace", `b0 = get_block("B")
b1 = get_block("Y")
l0, l1 = get_loops(b1)
l2, l3 = split(l0, [0, 4])
unsafe_set_dtype(b0, 0, "float16")
vectorize(l1)
`)
	code, out, _ := x.run("schedule", tirPath, "--trace", planted, "--bisect")
	require.Equal(t, 5, code)
	require.Contains(t, out, `step 5 of 6 is the first that fails: unsafe_set_dtype(b0, 0, "float16")`)
	require.Contains(t, out, "planted.trace:5\n")
	require.Contains(t, out, "another result: ")
	require.Contains(t, out, "\n- ")
	require.Contains(t, out, "\n+ ")
	good := x.file("good.trace", "b0 = get_block(\"B\")\nl0, l1 = get_loops(b0)\nl2, l3 = split(l1, [0, 5])\nparallel(l0)\n")
	require.Regexp(t, `^all \d+ steps keep what the function computes\n$`, x.ok("schedule", tirPath, "--trace", good, "--bisect"))

	base := filepath.Join(t.TempDir(), "small")
	code, out, _ = x.run("reduce", tirPath, "--trace", planted, "-o", base)
	require.Zero(t, code)
	require.Empty(t, out)
	trace, err := os.ReadFile(base + ".trace")
	require.NoError(t, err)
	require.LessOrEqual(t, strings.Count(string(trace), "\n"), 4, string(trace))
	x.refused(5, "", "schedule", base+".tir", "--trace", base+".trace", "--bisect")
	x.refused(3, "nothing fails", "reduce", tirPath, "--trace", good)
}

// TestBisectNamesTheStepsThatItNeeds has a function, and a function behind a step, that take more than the limit.
func TestBisectNamesTheStepsThatItNeeds(t *testing.T) {
	x := newTool(t)
	tirPath, _ := x.matmulFiles(20, 24, 33) // 20 + 20·33 + 20·33·24 iterations in their order, and the steps between blocks
	trace := x.file("t.trace", "b0 = get_block(\"C\")\nl0, l1, l2 = get_loops(b0)\nl3, l4 = split(l2, [0, 7])\n")
	_, _, complaint := x.run("schedule", tirPath, "--trace", trace, "--bisect", "--max-steps", "100")
	m := regexp.MustCompile(`interp: matmul: above the limit of 100 steps, as it needs (\d+): give --max-steps (\d+), or a smaller function`).FindStringSubmatch(complaint)
	require.NotNil(t, m, complaint)
	require.Equal(t, m[1], m[2])
	x.ok("interp", tirPath, "--max-steps", m[1])
	x.refused(4, "interp: matmul: above the limit of 100 steps", "schedule", tirPath, "--trace", trace, "--bisect", "--max-steps", "100")
	x.refused(4, "give --max-steps "+m[1], "reduce", tirPath, "--trace", trace, "--max-steps", "100")
	x.refused(4, "bisect: the function behind step 3: interp: matmul: above the limit of "+m[1]+" steps, as it needs ", "schedule", tirPath, "--trace", trace,
		"--bisect", "--max-steps", m[1])
}

func TestScheduleShowsItsStepsInABrowser(t *testing.T) {
	x := newTool(t)
	tirPath, tracePath := x.matmulFiles(20, 24, 33)
	path := filepath.Join(t.TempDir(), "steps.html")
	require.Empty(t, x.ok("schedule", tirPath, "--trace", tracePath, "--html", path))
	first := browser.Document(t, "file://"+path)
	require.Contains(t, first, `<section id="shown-0">`)
	require.Contains(t, first, "one iteration of a loop touches")
	second := browser.Document(t, "file://"+path+"#1")
	require.Contains(t, second, `<section id="shown-1">`)
	require.Contains(t, second, `<section id="shown-0" hidden="">`)
	require.Contains(t, second, `class="line added"`)
	require.Contains(t, second, "cache_write(")
}
