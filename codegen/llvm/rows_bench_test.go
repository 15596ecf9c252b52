package llvm

import (
	"runtime"
	"slices"
	"testing"
	"time"
	"unsafe"

	"github.com/ebitengine/purego"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/texel-ml/texel/target"
)

// times runs the kernel so many times and returns operations a nanosecond of its thread: a call of some microseconds is too
// short for the clock.
func (m *bench) times(b *testing.B, flops, calls int) float64 {
	var pin runtime.Pinner
	defer pin.Unpin()
	for _, p := range m.bufs {
		pin.Pin(p)
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var from, to unix.Timespec
	require.NoError(b, unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &from))
	for range calls {
		purego.SyscallN(m.fn, uintptr(unsafe.Pointer(&m.bufs[0])), 0, m.scratch, 0, uintptr(m.grid))
	}
	require.NoError(b, unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &to))
	return float64(flops) * float64(calls) / float64(to.Nano()-from.Nano())
}

// BenchmarkFigureRows times the traces of the pages on one thread, each in turn with the multiply-adds that the core does
// when it does nothing else. GFLOP/s count the operations of the direct computation, whatever the algorithm does, so their share
// of the peak may be above 100 %.
func BenchmarkFigureRows(b *testing.B) {
	tgt, err := target.Parse("x86-64-v4")
	require.NoError(b, err)
	if err := tgt.RunsHere(); err != nil {
		b.Skip(err)
	}
	for _, r := range rows() {
		b.Run(r.String(), func(b *testing.B) {
			kernel := newBench(b, tgt, r.kernel(b, r.program))
			k, flops := fmaPeak(tgt.Lanes(32))
			peak := newBench(b, tgt, k)
			var rates, peaks []float64
			for range b.N {
				for begin := time.Now(); time.Since(begin) < time.Second; {
					peaks = append(peaks, peak.time(b, flops))
					rates = append(rates, kernel.times(b, r.flops, 1+windowFlops/r.flops))
				}
			}
			slices.Sort(rates)
			slices.Sort(peaks)
			best, most := rates[len(rates)-1], peaks[len(peaks)-1]
			b.ReportMetric(best, "GFLOP/s")
			b.ReportMetric(rates[len(rates)/2], "median")
			b.ReportMetric(float64(r.flops)/best/1e3, "µs")
			b.ReportMetric(most, "peak")
			b.ReportMetric(100*best/most, "%")
			b.ReportMetric(0, "ns/op")
		})
	}
}
