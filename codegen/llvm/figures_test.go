package llvm

import (
	"context"
	"math/rand"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/texel-ml/texel/schedule"
	"github.com/texel-ml/texel/schedule/te"
	"github.com/texel-ml/texel/target"
	"github.com/texel-ml/texel/tensor"
	"github.com/texel-ml/texel/tir"
	"github.com/texel-ml/texel/tir/interp"
	"github.com/texel-ml/texel/tir/tirtext"
	"github.com/texel-ml/texel/tir/transform"
	"github.com/texel-ml/texel/tir/verify"
)

// schedules is the folder of the pages whose programs and traces are tested here.
const schedules = "../../docs/schedules"

// product is C[i, j] = Σ_k A[i, k]·B[k, j].
func product(m, n, k int) *tir.Func {
	a, b := te.Placeholder("A", tensor.Float32, m, k), te.Placeholder("B", tensor.Float32, k, n)
	c := te.Sum("C", tensor.Float32, []int{m, n}, []int{k}, func(i, r []tir.Expr) tir.Expr {
		return tir.Times(a.At(i[0], r[0]), b.At(r[0], i[1]))
	})
	return te.Func("matmul", []*te.Tensor{a, b}, []*te.Tensor{c})
}

// conv3x3 is a convolution with a window of 3 × 3 and a border of one pixel, its channels in blocks of 16:
//
//	P[c, h, w, d] = X[c, h - 1, w - 1, d], and 0 at the border
//	Y[o, h, w, p] = Σ_{c, y, x, d} P[c, h + y, w + x, d]·W[o, c, y, x, d, p]
func conv3x3(in, out, height, width int) *tir.Func {
	const block = 16
	x := te.Placeholder("X", tensor.Float32, in/block, height, width, block)
	w := te.Placeholder("W", tensor.Float32, out/block, in/block, 3, 3, block, block)
	p := te.Compute("P", tensor.Float32, []int{in / block, height + 2, width + 2, block}, func(i []tir.Expr) tir.Expr {
		row, column := tir.Minus(i[1], tir.I(1)), tir.Minus(i[2], tir.I(1))
		within := tir.All(tir.Bin(tir.GE, row, tir.I(0)), tir.Bin(tir.LT, row, tir.I(height)),
			tir.Bin(tir.GE, column, tir.I(0)), tir.Bin(tir.LT, column, tir.I(width)))
		return &tir.Select{Cond: within, Then: x.At(i[0], row, column, i[3]), Else: tir.Const(tensor.Float32, 0)}
	})
	y := te.Sum("Y", tensor.Float32, []int{out / block, height, width, block}, []int{in / block, 3, 3, block}, func(i, r []tir.Expr) tir.Expr {
		return tir.Times(p.At(r[0], tir.Plus(i[1], r[1]), tir.Plus(i[2], r[2]), r[3]), w.At(i[0], r[0], r[1], r[2], r[3], i[3]))
	})
	return te.Func("conv2d", []*te.Tensor{x, w}, []*te.Tensor{y}, p)
}

// figure is a program of the pages with one of its traces, and what must come of it.
type figure struct {
	name    string // of folder and program
	trace   string
	target  string
	program func() *tir.Func
	reduced func() *tir.Func // small enough for the interpreter, with tails where the trace leaves some
	flops   int              // multiply-adds of the program, twice
	tile    [2]int           // rows and vectors of accumulators
	steps   int              // of the reduction in one iteration
	issue   float64          // the least share of multiply-adds in what llvm-mca lets the processor start
}

func matmul(trace, target string, rows, vectors int) figure {
	return figure{name: "matmul", trace: trace, target: target, tile: [2]int{rows, vectors}, steps: 1, issue: 0.85, flops: 2 * 1024 * 1024 * 1024,
		program: func() *tir.Func { return product(1024, 1024, 1024) },
		reduced: func() *tir.Func { return product(26, 44, 520) }}
}

func conv2d(trace, target string, rows, vectors int) figure {
	return figure{name: "conv2d", trace: trace, target: target, tile: [2]int{rows, vectors}, steps: 1, issue: 0.85, flops: 2 * 64 * 64 * 9 * 56 * 56,
		program: func() *tir.Func { return conv3x3(64, 64, 56, 56) },
		reduced: func() *tir.Func { return conv3x3(16, 32, 15, 20) }}
}

func figures() []figure {
	little := matmul("cortex-a55", "cortex-a55", 8, 3)
	little.steps = 4
	return []figure{
		matmul("avx512", "x86-64-v4", 8, 2),
		matmul("avx2", "x86-64-v3", 6, 2),
		matmul("neoverse", "neoverse-n1", 8, 3),
		matmul("neoverse", "neoverse-v1", 8, 3),
		matmul("neoverse", "neoverse-n2", 8, 3),
		little,
		conv2d("avx512", "x86-64-v4", 14, 2),
		conv2d("avx2", "x86-64-v3", 6, 2),
	}
}

func (f figure) String() string { return f.name + "/" + f.target }

// scheduled applies the figure's trace to a function, and returns it with the trace that was recorded.
func (f figure) scheduled(t testing.TB, fn *tir.Func) (*tir.Func, *schedule.Trace) {
	file := filepath.Join(schedules, f.name, f.trace+".trace")
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	trace, err := schedule.ParseTrace(file, string(text))
	require.NoError(t, err)
	s := schedule.New(fn)
	require.NoError(t, s.Replay(trace))
	require.Equal(t, trace.String(), s.Trace().String(), "%s is not what it would be if it was recorded", file)
	return s.Func(), s.Trace()
}

// kernel lowers a scheduled function, which is one kernel without buffers between.
func (f figure) kernel(t testing.TB, fn *tir.Func) *tir.Kernel {
	kernels, between, err := transform.Lower(fn, transform.Options{})
	require.NoError(t, err)
	require.Empty(t, between)
	require.Len(t, kernels, 1)
	return kernels[0]
}

func (f figure) record(t testing.TB) *target.Target {
	tgt, err := target.Parse(f.target)
	require.NoError(t, err)
	return tgt
}

// TestFigurePrograms compares the programs of the pages with their definitions.
func TestFigurePrograms(t *testing.T) {
	for _, f := range figures() {
		text, err := os.ReadFile(filepath.Join(schedules, f.name, f.name+".tir"))
		require.NoError(t, err)
		require.Equal(t, tirtext.Print(f.program()), string(text), f.name)
	}
}

// TestFigureTraces applies each trace to the program of its page and to a smaller one with tails, and runs the smaller
// one in the interpreter and as machine code.
func TestFigureTraces(t *testing.T) {
	for _, f := range figures() {
		t.Run(f.String(), func(t *testing.T) {
			whole, _ := f.scheduled(t, f.program())
			require.NoError(t, verify.Verify(whole))
			plain := f.reduced()
			fn, trace := f.scheduled(t, f.reduced())
			require.NoError(t, verify.Verify(fn))

			want := smallInputs(rand.New(rand.NewSource(1)), &tir.Kernel{Params: plain.Params})
			got, run := clone(want), clone(want)
			require.NoError(t, interp.Run(context.Background(), plain, want, interp.Options{}))
			require.NoError(t, interp.Run(context.Background(), fn, got, interp.Options{}))
			requireSame(t, want[2], got[2], "interpreted with the trace\n%s", trace)
			k := f.kernel(t, fn)
			tgt := f.record(t)
			var m machine
			if tgt.Arch == "aarch64" {
				m = newEmulated(t, tgt, []*tir.Kernel{k})
			} else {
				m = newNative(t, tgt, []*tir.Kernel{k})
			}
			m.run(t, 0, run, nil)
			requireSame(t, want[2], run[2], "compiled with the trace\n%s", trace)
		})
	}
}

// TestFigureLoops looks at the machine code of the whole programs: no inner loop touches the stack, the longest holds the
// register tile and little else, and llvm-mca says what share of the multiply-adds that the processor could start it does
// start. That is by a model which knows no caches.
func TestFigureLoops(t *testing.T) {
	for _, f := range figures() {
		t.Run(f.String(), func(t *testing.T) {
			fn, _ := f.scheduled(t, f.program())
			k := f.kernel(t, fn)
			tgt := f.record(t)
			stats, err := build(t, tgt, k).Stats(context.Background(), []string{k.Name}, tgt, StatsOptions{})
			require.NoError(t, err)
			var longest LoopStats
			for _, l := range stats.Kernels[0].Loops {
				require.Zero(t, l.StackReferences, "loop at %s", l.Label)
				if l.FMAs > longest.FMAs {
					longest = l
				}
			}
			model := stats.Model
			if stats.StandsFor != "" {
				model += " for " + stats.StandsFor
			}
			t.Logf("%d multiply-adds in %d instructions, %.2f cycles: %.1f %% by the model of %s", longest.FMAs, longest.Instructions,
				longest.Cycles, 100*longest.FMAIssue, model)
			require.Equal(t, f.steps*f.tile[0]*f.tile[1], longest.FMAs)
			require.LessOrEqual(t, longest.Instructions-longest.FMAs, f.steps*(f.tile[0]+f.tile[1])+6, "instructions that are no multiply-adds")
			require.GreaterOrEqual(t, longest.FMAIssue, f.issue)
			require.Equal(t, 1, longest.Blocks)
			if tgt.CPU == "cortex-a55" {
				requireInOrder(t, tgt, longest)
			}
		})
	}
}

// requireInOrder asks again for a Cortex-A55. LLVM's model of it starts two vectors of multiply-adds a cycle where the core
// starts one, so they seem to leave room for all else. The integer mla has the pipes and the latency that fmla has there.
func requireInOrder(t *testing.T, tgt *target.Target, l LoopStats) {
	strict := LoopStats{Label: l.Label}
	for _, line := range l.text {
		strict.text = append(strict.text, strings.Replace(line, "fmla", "mla", 1))
	}
	require.NoError(t, runMCA(context.Background(), []*LoopStats{&strict}, tgt, tgt.CPU, true, StatsOptions{}))
	share := float64(l.FMAs) / strict.Cycles
	t.Logf("with one multiply-add a cycle in the model: %.1f %%", 100*share)
	require.GreaterOrEqual(t, share, 0.8)
}

// TestFigureBlocks derives the blocks of the products from the processor's record: what is used again most stays in the
// first cache, the copied block in half of the second.
func TestFigureBlocks(t *testing.T) {
	const depth, float = 1024, 4
	for _, f := range figures() {
		if f.name != "matmul" {
			continue
		}
		t.Run(f.String(), func(t *testing.T) {
			tgt := f.record(t)
			fn, _ := f.scheduled(t, f.program())
			sizes := map[string]int{}
			tir.Walk(f.kernel(t, fn).Body, func(n any) bool {
				if a, ok := n.(*tir.Allocate); ok {
					sizes[a.Buffer.Name] = a.Buffer.Elems() * float
				}
				return true
			})
			rows, columns := f.tile[0], f.tile[1]*tgt.Lanes(32)
			if tgt.Arch == "x86-64" { // the panels of B that half of the second cache holds
				panels := 1
				for 2*panels*columns*depth*float <= int(tgt.L2)/2 {
					panels *= 2
				}
				require.Equal(t, panels*columns*depth*float, sizes["B_scratch"])
				return
			}
			block := 1 // how deep a panel of A and one of B may be to fill three quarters of the first cache
			for 2*block*(rows+columns)*float <= int(tgt.L1D)*3/4 {
				block *= 2
			}
			require.Equal(t, block*columns*float, sizes["B_scratch"])
			tall := int(tgt.L2) / 2 / (block * float) / rows * rows // how many rows of A half of the second cache holds
			require.Equal(t, block*tall*float, sizes["A_scratch"])
		})
	}
}
