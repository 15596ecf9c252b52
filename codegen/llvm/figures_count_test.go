package llvm

import (
	"fmt"
	"math/rand"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/texel-ml/texel/target"
	"github.com/texel-ml/texel/tir"
)

// clang runs clang 19, which makes the plugin that counts and the code that is compared with.
func clang(t testing.TB, args ...string) {
	path, err := exec.LookPath("clang-19")
	if err != nil {
		t.Skip("clang-19 is not installed: apt-get install clang-19")
	}
	out, err := exec.Command(path, args...).CombinedOutput()
	require.NoError(t, err, string(out))
}

// instructions runs kernel number i of a program under an emulator that counts the instructions of its function. Vectors of
// SVE are as long as those of the processor: 256 bits on a Neoverse V1, else 128.
func instructions(t testing.TB, tgt *target.Target, e *emulated, i int) int {
	plugin := filepath.Join(t.TempDir(), "icount.so")
	clang(t, "-O2", "-shared", "-fPIC", "-nostdlib", "-fvisibility=hidden", "-fno-builtin", "-w", "-o", plugin, "testdata/icount.c")
	k := e.kernels[i]
	args := smallInputs(rand.New(rand.NewSource(1)), k)
	cpu := "max,sve-default-vector-length=16"
	if tgt.CPU == "neoverse-v1" {
		cpu = "max,sve-default-vector-length=32"
	}
	said := e.runUnder(t, []string{"-cpu", cpu, "-plugin", plugin + ",sym=" + k.Name, "-d", "plugin"}, i, args, nil)
	n := 0
	_, err := fmt.Sscanf(said[max(0, strings.Index(said, "instructions ")):], "instructions %d", &n)
	require.NoError(t, err, said)
	require.Positive(t, n)
	return n
}

// plainMatmul is the program of the pages as clang -O3 compiles it, with its loops as they stand and in another order.
func plainMatmul(t testing.TB, tgt *target.Target, rows int) *emulated {
	dir := t.TempDir()
	object := filepath.Join(dir, "plain.o")
	clang(t, "--target=aarch64-linux-gnu", "-mcpu="+tgt.CPU, "-O3", "-ffreestanding", fmt.Sprintf("-DM=%d", rows), "-DN=1024", "-DK=1024",
		"-c", "-o", object, "testdata/plain_matmul.c")
	e := &emulated{}
	for _, name := range []string{"plain_ijk", "plain_ikj"} {
		k := *figures()[0].kernel(t, product(rows, 1024, 1024))
		k.Name = name
		e.kernels = append(e.kernels, &k)
	}
	e.path = linkEmulated(t, dir, tgt, []string{"plain_ijk", "plain_ikj"}, []string{object})
	return e
}

// instructionsPerOutput counts what a trace's code and clang's execute for one element of the result. rows is how many
// rows of the product are computed; all rows cost clang the same.
func instructionsPerOutput(t testing.TB, f figure, rows int) (ours, asItStands, vectorised float64) {
	tgt := f.record(t)
	fn, _ := f.scheduled(t, product(rows, 1024, 1024))
	ours = float64(instructions(t, tgt, newEmulated(t, tgt, []*tir.Kernel{f.kernel(t, fn)}), 0)) / float64(rows*1024)
	plain := plainMatmul(t, tgt, 4)
	return ours, float64(instructions(t, tgt, plain, 0)) / (4 * 1024), float64(instructions(t, tgt, plain, 1)) / (4 * 1024)
}

// TestFigureInstructions holds the code of the traces for AArch64 against what clang makes of the plain loops.
func TestFigureInstructions(t *testing.T) {
	for _, f := range figures() {
		if f.name != "matmul" || f.record(t).Arch != "aarch64" {
			continue
		}
		t.Run(f.String(), func(t *testing.T) {
			ours, asItStands, vectorised := instructionsPerOutput(t, f, 64)
			t.Logf("instructions for one output: %.0f; clang -O3: %.0f, with the loops reordered %.0f", ours, asItStands, vectorised)
			require.Less(t, 2*ours, asItStands)
			require.Less(t, 2*ours, vectorised)
		})
	}
}
