package llvm

import (
	"context"
	"fmt"
	"math/rand"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/texel-ml/texel/internal/numtest"
	"github.com/texel-ml/texel/schedule"
	"github.com/texel-ml/texel/target"
	"github.com/texel-ml/texel/tensor"
	"github.com/texel-ml/texel/tir"
	"github.com/texel-ml/texel/tir/interp"
	"github.com/texel-ml/texel/tir/tirtext"
	"github.com/texel-ml/texel/tir/transform"
)

// row is a program of a page with one of its traces, both files.
type row struct {
	page, program, trace string
	small                string // the same computation, small enough for the interpreter and with tails
	flops                int    // multiply-adds of the direct computation, twice
	fmas                 int    // multiply-adds of one iteration of the loop that does most of the work
}

// windowFlops are those of a convolution with a window of 3 × 3 of 64 to 64 channels and 56 × 56 pixels.
const windowFlops = 2 * 64 * 64 * 9 * 56 * 56

func rows() []row {
	list := []row{
		{"winograd", "f2", "f2", "f2-small", windowFlops, 28},
		{"winograd", "f4", "f4", "f4-small", windowFlops, 28},
		{"winograd", "f6", "f6", "f6-small", windowFlops, 20},
		{"im2col", "conv2d", "one-pass", "small", windowFlops, 16},
		{"im2col", "conv2d", "blocks", "small", windowFlops, 16},
		{"im2col", "conv2d", "two-pass", "small", windowFlops, 16},
	}
	for _, trace := range []string{"guard", "shift-inwards", "round-up"} {
		for _, n := range []int{112, 113, 127, 128, 131, 132} {
			list = append(list, row{"output-split", fmt.Sprintf("matmul-%d", n), trace, "small", 2 * 256 * n * n, 16})
		}
	}
	return list
}

func (r row) String() string { return r.page + "/" + r.program + "/" + r.trace }

// read reads a program of the page.
func (r row) read(t testing.TB, name string) *tir.Func {
	file := filepath.Join(schedules, r.page, name+".tir")
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	f, err := tirtext.Parse(file, string(text))
	require.NoError(t, err)
	return f
}

// scheduled applies the row's trace to one of the programs.
func (r row) scheduled(t testing.TB, program string) *tir.Func {
	file := filepath.Join(schedules, r.page, r.trace+".trace")
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	trace, err := schedule.ParseTrace(file, string(text))
	require.NoError(t, err)
	s := schedule.New(r.read(t, program))
	require.NoError(t, s.Replay(trace))
	require.Equal(t, trace.String(), s.Trace().String(), "%s is not what it would be if it was recorded", file)
	return s.Func()
}

// kernel is the row's program as the only kernel that its trace makes of it.
func (r row) kernel(t testing.TB, program string) *tir.Kernel {
	kernels, between, err := transform.Lower(r.scheduled(t, program), transform.Options{})
	require.NoError(t, err)
	require.Empty(t, between)
	require.Len(t, kernels, 1)
	return kernels[0]
}

// TestRows runs the small programs with and without their traces in the interpreter, and with them as machine code of both
// levels of x86-64.
func TestRows(t *testing.T) {
	done := map[string]bool{}
	for _, r := range rows() {
		name := strings.Join([]string{r.page, r.small, r.trace}, "/")
		if done[name] {
			continue
		}
		done[name] = true
		t.Run(name, func(t *testing.T) {
			plain, fn := r.read(t, r.small), r.scheduled(t, r.small)
			args := smallInputs(rand.New(rand.NewSource(1)), &tir.Kernel{Params: plain.Params})
			want, got := clone(args), clone(args)
			require.NoError(t, interp.Run(context.Background(), plain, want, interp.Options{}))
			require.NoError(t, interp.Run(context.Background(), fn, got, interp.Options{}))
			last := len(args) - 1
			requireSame(t, want[last], got[last], "interpreted")
			for _, level := range []string{"x86-64-v3", "x86-64-v4"} {
				tgt, err := target.Parse(level)
				require.NoError(t, err)
				if tgt.RunsHere() != nil {
					t.Logf("%s does not run here", level)
					continue
				}
				run := clone(args)
				newNative(t, tgt, []*tir.Kernel{r.kernel(t, r.small)}).run(t, 0, run, nil)
				require.NoError(t, numtest.Compare(run[last], want[last], numtest.Documented(tensor.Float32)), level)
			}
		})
	}
}

// TestRowLoops looks at the machine code of the whole programs: the loop that does most of the work holds its multiply-adds
// and does not touch the stack.
func TestRowLoops(t *testing.T) {
	tgt, err := target.Parse("x86-64-v4")
	require.NoError(t, err)
	for _, r := range rows() {
		if r.page == "output-split" && r.program != "matmul-113" {
			continue // the same loops for other sizes
		}
		t.Run(r.String(), func(t *testing.T) {
			k := r.kernel(t, r.program)
			stats, err := build(t, tgt, k).Stats(context.Background(), []string{k.Name}, tgt, StatsOptions{})
			require.NoError(t, err)
			issue := 0.0 // of the best such loop; tails have loops of their own
			for _, l := range stats.Kernels[0].Loops {
				if l.FMAs == r.fmas && l.Stores == 0 {
					require.Zero(t, l.StackReferences)
					issue = max(issue, l.FMAIssue)
				}
			}
			require.GreaterOrEqual(t, issue, 0.85, "%+v", stats.Kernels[0].Loops)
		})
	}
}

// TestRowMemory holds what the page of im2col says of memory.
func TestRowMemory(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(schedules, "im2col.md"))
	require.NoError(t, err)
	for _, r := range rows() {
		if r.page == "im2col" {
			require.Contains(t, string(page), fmt.Sprintf("| `%s.trace` | %d KiB |", r.trace, r.kernel(t, r.program).Scratch/1024))
		}
	}
}
