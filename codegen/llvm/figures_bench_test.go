package llvm

import (
	"math/rand"
	"runtime"
	"slices"
	"testing"
	"time"
	"unsafe"

	"github.com/ebitengine/purego"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/texel-ml/texel/target"
	"github.com/texel-ml/texel/tensor"
	"github.com/texel-ml/texel/tir"
)

// fmaPeak is a kernel of multiply-adds alone: chains of them in registers, enough of them that none waits for its own
// last result.
func fmaPeak(lanes int) (k *tir.Kernel, flops int) {
	const chains, steps = 12, 1 << 19
	in, out, acc := buffer("in", tensor.Float32, 2, lanes), buffer("out", tensor.Float32, chains, lanes), local("acc", tensor.Float32, chains, lanes)
	vector := span1(tir.I(0), lanes)
	var first, step, last []tir.Stmt
	for c := range chains {
		first = append(first, put(acc, at(in, tir.I(0), vector), tir.I(c), vector))
		step = append(step, put(acc, tir.Plus(at(acc, tir.I(c), vector), tir.Times(at(in, tir.I(0), vector), at(in, tir.I(1), vector))), tir.I(c), vector))
		last = append(last, put(out, at(acc, tir.I(c), vector), tir.I(c), vector))
	}
	loop := &tir.For{Var: tir.NewVar("i"), Min: tir.I(0), Extent: tir.I(steps), Body: &tir.Seq{Stmts: step}}
	return &tir.Kernel{Name: "peak", Params: []*tir.Buffer{in, out}, Outputs: 1, GridExtent: 1,
		Body: &tir.Allocate{Buffer: acc, Body: &tir.Seq{Stmts: append(append(first, loop), last...)}}}, 2 * chains * steps * lanes
}

// bench is a compiled kernel with its buffers, ready to be called again and again.
type bench struct {
	fn, scratch uintptr
	bufs        []unsafe.Pointer
	grid        int
	memory      [][]byte
}

func newBench(b *testing.B, tgt *target.Target, k *tir.Kernel) *bench {
	m := &bench{fn: load(b, build(b, tgt, k).SO).symbol(b, k.Name), grid: k.GridExtent}
	aligned := func(n int) unsafe.Pointer {
		mem := make([]byte, n+128)
		m.memory = append(m.memory, mem)
		return unsafe.Pointer(&mem[-uintptr(unsafe.Pointer(&mem[0]))%64])
	}
	for i, x := range smallInputs(rand.New(rand.NewSource(1)), k) {
		m.bufs = append(m.bufs, aligned(len(x.Data)))
		copy(m.memory[i][uintptr(m.bufs[i])-uintptr(unsafe.Pointer(&m.memory[i][0])):], x.Data)
	}
	m.bufs = append(m.bufs, nil)
	m.scratch = uintptr(aligned(scratchOf(k)))
	return m
}

// time runs the kernel once and returns operations a nanosecond of its thread: what others take of the core does not count,
// though their traces in the caches do.
func (m *bench) time(b *testing.B, flops int) float64 {
	var pin runtime.Pinner
	defer pin.Unpin()
	for _, p := range m.bufs {
		pin.Pin(p)
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var from, to unix.Timespec
	require.NoError(b, unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &from))
	purego.SyscallN(m.fn, uintptr(unsafe.Pointer(&m.bufs[0])), 0, m.scratch, 0, uintptr(m.grid))
	require.NoError(b, unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &to))
	return float64(flops) / float64(to.Nano()-from.Nano())
}

// BenchmarkFigures times the traces for x86-64 on one thread, and in turn with each run the multiply-adds that the core
// does when it does nothing else. It shows the best run and its share of the best peak, for whatever else runs here only
// takes time away, and the spread: the median, and what nine runs in ten are faster than.
func BenchmarkFigures(b *testing.B) {
	for _, f := range figures() {
		tgt := f.record(b)
		if tgt.RunsHere() != nil {
			continue
		}
		b.Run(f.String(), func(b *testing.B) {
			fn, _ := f.scheduled(b, f.program())
			kernel := newBench(b, tgt, f.kernel(b, fn))
			k, flops := fmaPeak(tgt.Lanes(32))
			peak := newBench(b, tgt, k)
			var rates, peaks []float64
			for range b.N {
				for begin := time.Now(); time.Since(begin) < 3*time.Second; {
					peaks = append(peaks, peak.time(b, flops))
					rates = append(rates, kernel.time(b, f.flops))
				}
			}
			slices.Sort(rates)
			slices.Sort(peaks)
			at := func(list []float64, share float64) float64 { return list[int(share*float64(len(list)-1))] }
			b.ReportMetric(at(rates, 1), "GFLOP/s")
			b.ReportMetric(at(rates, 0.5), "median")
			b.ReportMetric(at(rates, 0.1), "slow-tenth")
			b.ReportMetric(at(peaks, 1), "peak")
			b.ReportMetric(100*at(rates, 1)/at(peaks, 1), "%")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// BenchmarkFigureInstructions counts the instructions of all of the product, under an emulator.
func BenchmarkFigureInstructions(b *testing.B) {
	for _, f := range figures() {
		if f.name != "matmul" || f.record(b).Arch != "aarch64" {
			continue
		}
		b.Run(f.String(), func(b *testing.B) {
			for range b.N {
				ours, asItStands, vectorised := instructionsPerOutput(b, f, 1024)
				b.ReportMetric(ours, "instructions/output")
				b.ReportMetric(asItStands, "clang")
				b.ReportMetric(vectorised, "clang-reordered")
				b.ReportMetric(0, "ns/op")
			}
		})
	}
}
