package llvm

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"github.com/ebitengine/purego"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/texel-ml/texel/target"
)

// library is a loaded shared object.
type library struct{ handle uintptr }

// load maps a shared object from memory.
func load(t testing.TB, so []byte) *library {
	fd, err := unix.MemfdCreate("texel-test", 0)
	require.NoError(t, err)
	t.Cleanup(func() { unix.Close(fd) }) // the loader takes a second object of the same path for the first
	_, err = unix.Write(fd, so)
	require.NoError(t, err)
	h, err := purego.Dlopen(fmt.Sprintf("/proc/self/fd/%d", fd), purego.RTLD_NOW|purego.RTLD_LOCAL)
	require.NoError(t, err)
	t.Cleanup(func() { purego.Dlclose(h) })
	return &library{h}
}

func (l *library) symbol(t testing.TB, name string) uintptr {
	p, err := purego.Dlsym(l.handle, name)
	require.NoError(t, err)
	return p
}

func hostTarget(t testing.TB) *target.Target {
	host, err := target.Host()
	require.NoError(t, err)
	return host
}

func tools(t testing.TB) Tools {
	tools, err := Find()
	if err != nil {
		t.Skip(err)
	}
	return tools
}

type launch struct {
	fn, bufs, scalars uintptr
	grid, chunk       int64
}

type runState struct {
	launches *launch
	n        int64
	scratch  unsafe.Pointer
	stride   int64
	threads  int64
	cancel   *int32
	ticks    *uint64
	pool     [32]uint64
	_        [9]uint64
}

// countKernel adds 1 to each element of its range of buffer 0, after a wait of scalar 0 steps, and writes begin to its
// scratch and reads it back.
const countKernel = `
define void @count(ptr %bufs, ptr %scalars, ptr %scratch, i64 %begin, i64 %end) {
entry:
  %out = load ptr, ptr %bufs, align 8
  %wait = load i64, ptr %scalars, align 8
  store i64 %begin, ptr %scratch, align 8
  br label %spin
spin:
  %s = phi i64 [ 0, %entry ], [ %s1, %spin ]
  %s1 = add i64 %s, 1
  call void asm sideeffect "", "~{memory}"()
  %more = icmp slt i64 %s1, %wait
  br i1 %more, label %spin, label %pre
pre:
  %from = load i64, ptr %scratch, align 8
  br label %loop
loop:
  %i = phi i64 [ %from, %pre ], [ %i1, %loop ]
  %p = getelementptr i32, ptr %out, i64 %i
  %v = load i32, ptr %p, align 4
  %v1 = add i32 %v, 1
  store i32 %v1, ptr %p, align 4
  %i1 = add i64 %i, 1
  %again = icmp slt i64 %i1, %end
  br i1 %again, label %loop, label %out1
out1:
  ret void
}
`

func poolLibrary(t *testing.T) *library {
	host := hostTarget(t)
	m := newModule("pool", host)
	buildPool(m.Module, host)
	so, err := tools(t).assemble(context.Background(), []*unit{
		{name: "pool", ll: m.String()},
		{name: "count", ll: "target triple = \"" + host.Triple + "\"\n" + countKernel},
	}, 2, false)
	require.NoError(t, err)
	return load(t, so)
}

// pooled is a run with its workers.
type pooled struct {
	*runState
	lib     *library
	entry   uintptr
	quit    uintptr
	workers sync.WaitGroup
	pin     runtime.Pinner
}

func startPool(t *testing.T, lib *library, threads int) *pooled {
	memory := make([]byte, int(unsafe.Sizeof(runState{}))+64)
	at := unsafe.Pointer(&memory[0])
	at = unsafe.Add(at, (64-uintptr(at)%64)%64)
	p := &pooled{runState: (*runState)(at), lib: lib, entry: lib.symbol(t, "texel_run"), quit: lib.symbol(t, "texel_quit")}
	p.pin.Pin(&memory[0])
	scratch := make([]byte, 64*threads)
	p.pin.Pin(&scratch[0])
	p.scratch, p.stride, p.threads = unsafe.Pointer(&scratch[0]), 64, int64(threads)
	worker := lib.symbol(t, "texel_worker")
	for id := 1; id < threads; id++ {
		p.workers.Add(1)
		go func() {
			defer p.workers.Done()
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			purego.SyscallN(worker, uintptr(unsafe.Pointer(p.runState)), uintptr(id))
		}()
	}
	return p
}

func (p *pooled) run() int64 {
	r, _, _ := purego.SyscallN(p.entry, uintptr(unsafe.Pointer(p.runState)))
	return int64(r)
}

func (p *pooled) stop() {
	purego.SyscallN(p.quit, uintptr(unsafe.Pointer(p.runState)))
	p.workers.Wait()
	p.pin.Unpin()
}

// table sets the launches: each adds 1 to all elements of out.
func (p *pooled) table(t *testing.T, out []int32, wait int64, launches ...launch) {
	bufs, scalars := []unsafe.Pointer{unsafe.Pointer(&out[0])}, []int64{wait}
	p.pin.Pin(&out[0])
	p.pin.Pin(&bufs[0])
	p.pin.Pin(&scalars[0])
	p.pin.Pin(&launches[0])
	for i := range launches {
		launches[i].fn = p.lib.symbol(t, "count")
		launches[i].bufs, launches[i].scalars = uintptr(unsafe.Pointer(&bufs[0])), uintptr(unsafe.Pointer(&scalars[0]))
	}
	p.launches, p.n = &launches[0], int64(len(launches))
}

func TestPoolRunsEveryChunkOnce(t *testing.T) {
	lib := poolLibrary(t)
	for _, threads := range []int{1, 2, 4} {
		t.Run(fmt.Sprint(threads), func(t *testing.T) {
			p := startPool(t, lib, threads)
			defer p.stop()
			out := make([]int32, 1000)
			ticks := make([]uint64, 12)
			p.pin.Pin(&ticks[0])
			p.ticks = &ticks[0]
			p.table(t, out, 20, launch{grid: 1000, chunk: 7}, launch{grid: 1000, chunk: 1}, launch{grid: 1000, chunk: 0},
				launch{grid: 1000, chunk: 500}, launch{grid: 0, chunk: 3}, launch{grid: 1000, chunk: 1 << 40})
			const rounds = 300
			for i := range rounds {
				require.Equal(t, int64(6), p.run())
				if i%100 == 0 {
					time.Sleep(3 * time.Millisecond) // the workers fall asleep
				}
			}
			for i := range out {
				require.Equal(t, int32(5*rounds), out[i], "element %d", i)
			}
			for i := 1; i < len(ticks); i++ {
				require.GreaterOrEqual(t, ticks[i], ticks[i-1])
			}
		})
	}
}

func TestPoolStopsOnCancel(t *testing.T) {
	lib := poolLibrary(t)
	for _, threads := range []int{1, 3} {
		p := startPool(t, lib, threads)
		out := make([]int32, 100)
		var cancel int32
		p.pin.Pin(&cancel)
		p.cancel = &cancel
		p.table(t, out, 1_000_000, launch{grid: 100, chunk: 1}, launch{grid: 100, chunk: 1}, launch{grid: 100, chunk: 1}, launch{grid: 100, chunk: 1})
		atomic.StoreInt32(&cancel, 1)
		require.Equal(t, int64(0), p.run())
		require.Equal(t, make([]int32, 100), out)
		best := time.Hour // of several tries: on a busy machine one may be interrupted
		for try := 0; try < 10 && best > 90*time.Millisecond; try++ {
			atomic.StoreInt32(&cancel, 0)
			go func() {
				time.Sleep(20 * time.Millisecond)
				atomic.StoreInt32(&cancel, 1)
			}()
			start := time.Now()
			require.Less(t, p.run(), int64(4))
			best = min(best, time.Since(start))
		}
		require.Less(t, best, 90*time.Millisecond)
		atomic.StoreInt32(&cancel, 0)
		p.n = 1
		require.Equal(t, int64(1), p.run())
		p.stop()
	}
}

// TestPoolForBothArchitectures compiles the driver for a phone and looks at the shared object.
func TestPoolForBothArchitectures(t *testing.T) {
	tools := tools(t)
	for _, name := range []string{"x86-64-v3", "cortex-a76"} {
		tgt, err := target.Parse(name)
		require.NoError(t, err)
		m := newModule("pool", tgt)
		buildPool(m.Module, tgt)
		u := &unit{name: "pool", ll: m.String()}
		so, err := tools.assemble(context.Background(), []*unit{u}, 1, true)
		require.NoError(t, err)
		requireFreestanding(t, so, "texel_quit", "texel_run", "texel_worker")
		if tgt.Arch == "aarch64" {
			require.Contains(t, u.asm, "svc\t#0")
			require.True(t, strings.Contains(strings.ToLower(u.asm), "cntvct_el0"))
		}
	}
}
