package cpu

import (
	"errors"
	goruntime "runtime"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/ebitengine/purego"

	"github.com/texel-ml/texel/artifact"
	"github.com/texel-ml/texel/diag"
	"github.com/texel-ml/texel/runtime"
)

// launch and call are texel_launch and texel_run.
type launch struct {
	fn      uintptr
	bufs    uintptr
	scalars uintptr
	grid    int64
	chunk   int64
}

type call struct {
	launches uintptr
	n        int64
	scratch  uintptr
	stride   int64
	threads  int64
	cancel   uintptr
	ticks    uintptr
	pool     [32]uint64
}

// slot is a place in the table where the address of an external tensor stands.
type slot struct {
	at     *uintptr
	offset uintptr
}

// runner is a program with memory and threads.
type runner struct {
	program *program
	threads int
	arenas  []*region // pool → its memory
	scratch *region
	table   *region
	call    *call
	table0  []launch // kernel launches in the order of positions
	index   []int    // position → its kernel launch, or that of the next position that has one
	cancel  *int32
	ticks   []uint64 // two for each kernel launch
	places  []place  // tensor → where it is
	ports   [2][][]slot
	bound   [2][][]byte // keeps what is bound alive
	ops     []op
	runArgs []uintptr
	workers sync.WaitGroup
	profile profile
}

// place says where a tensor lies.
type place struct {
	port   int    // of the root, -1 when it is none
	dir    int    // of the port: 0 input, 1 output
	memory []byte // of the root's pool or weight, when it is no port
	offset int64
	bytes  int64
}

func newRunner(p *program, threads int) (_ *runner, err error) {
	r := &runner{program: p, threads: threads}
	defer func() {
		if err != nil {
			r.free()
		}
	}()
	r.arenas = make([]*region, len(p.plan.Pools))
	for i, pool := range p.plan.Pools {
		if pool.Kind == artifact.Arena {
			if r.arenas[i], err = allocate(pool.Name, pool.Bytes); err != nil {
				return nil, err
			}
		}
	}
	stride := (p.plan.ScratchBytes + 63) &^ 63
	if r.scratch, err = allocate("scratch", stride*int64(threads)); err != nil {
		return nil, err
	}
	r.locate()
	if err := r.build(stride); err != nil {
		return nil, err
	}
	r.compile()
	r.lend()
	return r, nil
}

// locate finds where each tensor lies.
func (r *runner) locate() {
	plan := r.program.plan
	index := make(map[string]int, len(plan.Tensors))
	for i := range plan.Tensors {
		index[plan.Tensors[i].Name] = i
	}
	type end struct{ dir, port int }
	ends := map[int]end{}
	for dir, list := range [2][]artifact.Port{plan.Inputs, plan.Outputs} {
		r.ports[dir] = make([][]slot, len(list))
		r.bound[dir] = make([][]byte, len(list))
		for i, port := range list {
			ends[index[port.Tensor]] = end{dir, i}
		}
	}
	pools := map[string]int{}
	for i, pool := range plan.Pools {
		pools[pool.Name] = i
	}
	r.places = make([]place, len(plan.Tensors))
	for i := range plan.Tensors {
		t := &plan.Tensors[i]
		root := i
		for plan.Tensors[root].AliasOf != "" {
			root = index[plan.Tensors[root].AliasOf]
		}
		where := place{port: -1, offset: t.Offset, bytes: t.Bytes}
		switch pool := pools[t.Pool]; plan.Pools[pool].Kind {
		case artifact.Arena:
			where.memory = r.arenas[pool].data
		case artifact.WeightPool:
			where.memory = r.program.weights[plan.Tensors[root].Name]
		default:
			where.dir, where.port = ends[root].dir, ends[root].port
		}
		r.places[i] = where
	}
}

// build makes the launch table: everything that the driver reads, in one piece of memory outside Go's heap.
func (r *runner) build(stride int64) error {
	plan, steps := r.program.plan, r.program.steps
	index := make(map[string]int, len(plan.Tensors))
	for i := range plan.Tensors {
		index[plan.Tensors[i].Name] = i
	}
	kernels, words := 0, 0
	for _, s := range steps {
		if s.Launch.Kind == artifact.KernelLaunch {
			kernels++
			words += len(s.Launch.Buffers) + len(s.Launch.Scalars)
		}
	}
	const round = 64
	size := int(unsafe.Sizeof(call{})) + kernels*int(unsafe.Sizeof(launch{})) + kernels*16 + words*8 + 64 + 5*round
	var err error
	if r.table, err = allocate("launch table", int64(size)); err != nil {
		return err
	}
	c := carver{data: r.table.data}
	r.call = &as[call](c.take(int(unsafe.Sizeof(call{}))))[0]
	r.cancel = &as[int32](c.take(64))[0] // a cache line of its own: another thread writes it
	r.table0 = as[launch](c.take(kernels * int(unsafe.Sizeof(launch{}))))
	r.ticks = as[uint64](c.take(kernels * 16))
	operands := as[uintptr](c.take(words * 8))
	r.index = make([]int, len(steps)+1)
	k := 0
	for pos, s := range steps {
		r.index[pos] = k
		l := s.Launch
		if l.Kind != artifact.KernelLaunch {
			continue
		}
		chunk := l.Chunk
		if chunk == 0 {
			chunk = max(1, l.Grid[0])
		}
		r.table0[k] = launch{fn: r.program.kernels[l.Kernel], grid: l.Grid[0], chunk: chunk}
		if n := len(l.Buffers); n > 0 {
			r.table0[k].bufs = uintptr(unsafe.Pointer(&operands[0]))
			for j, name := range l.Buffers {
				r.point(&operands[j], &r.places[index[name]])
			}
			operands = operands[n:]
		}
		if n := len(l.Scalars); n > 0 {
			r.table0[k].scalars = uintptr(unsafe.Pointer(&operands[0]))
			for j, v := range l.Scalars {
				operands[j] = uintptr(v)
			}
			operands = operands[n:]
		}
		k++
	}
	r.index[len(steps)] = k
	*r.call = call{scratch: address(r.scratch.data), stride: stride, threads: int64(r.threads), cancel: uintptr(unsafe.Pointer(r.cancel))}
	r.runArgs = []uintptr{uintptr(unsafe.Pointer(r.call))}
	return nil
}

// point sets an operand to the address of a tensor, now or when its port is bound.
func (r *runner) point(at *uintptr, p *place) {
	if p.port < 0 {
		*at = address(p.memory) + uintptr(p.offset)
		return
	}
	r.ports[p.dir][p.port] = append(r.ports[p.dir][p.port], slot{at, uintptr(p.offset)})
}

// BindInput and BindOutput write an address into every operand that is the port or a view of it.
func (r *runner) BindInput(i int, data []byte)  { r.bind(0, i, data) }
func (r *runner) BindOutput(i int, data []byte) { r.bind(1, i, data) }

func (r *runner) bind(dir, i int, data []byte) {
	r.bound[dir][i] = data
	base := address(data)
	for _, s := range r.ports[dir][i] {
		*s.at = base + s.offset
	}
}

// lend starts the threads.
func (r *runner) lend() {
	for id := 1; id < r.threads; id++ {
		args := []uintptr{uintptr(unsafe.Pointer(r.call)), uintptr(id)}
		r.workers.Go(func() {
			goruntime.LockOSThread()
			defer goruntime.UnlockOSThread()
			purego.SyscallN(r.program.worker, args...)
		})
	}
}

// Run does one inference.
func (r *runner) Run(visit func(pos int) error) error {
	if !r.profile.on {
		return r.runOps(r.ops, 0, visit)
	}
	r.profile.start()
	clear(r.ticks)
	err := r.runOps(r.ops, 0, visit)
	r.profile.calibrate(time.Now())
	return err
}

// kernels runs the kernel launches from, up to but without to.
func (r *runner) kernels(from, to int) error {
	if from == to {
		return nil
	}
	r.call.launches = uintptr(unsafe.Pointer(&r.table0[from]))
	r.call.n = int64(to - from)
	r.call.ticks = 0
	if r.profile.on {
		r.call.ticks = uintptr(unsafe.Pointer(&r.ticks[2*from]))
	}
	done, _, _ := purego.SyscallN(r.program.run, r.runArgs...)
	if r.profile.on {
		r.profile.add(from, r.ticks[2*from:2*to])
	}
	if int64(done) == r.call.n {
		return nil
	}
	if atomic.LoadInt32(r.cancel) != 0 {
		return runtime.ErrCancelled
	}
	return diag.Internal("cpu", "", "driver completed %d of %d launches", int64(done), r.call.n)
}

// Cancel sets or clears the word that the driver reads between chunks of work.
func (r *runner) Cancel(on bool) {
	v := int32(0)
	if on {
		v = 1
	}
	atomic.StoreInt32(r.cancel, v)
}

// data returns the bytes of a tensor, or nil when its port is not bound.
func (r *runner) data(i int) []byte {
	p := &r.places[i]
	whole := p.memory
	if p.port >= 0 {
		whole = r.bound[p.dir][p.port]
	}
	if int64(len(whole)) < p.offset+p.bytes {
		return nil
	}
	return whole[p.offset : p.offset+p.bytes : p.offset+p.bytes]
}

// Read returns a view of a tensor.
func (r *runner) Read(i int) ([]byte, error) {
	data := r.data(i)
	if data == nil && r.places[i].bytes > 0 {
		return nil, diag.Invalid("cpu", r.program.plan.Tensors[i].Name, "tensor is not bound")
	}
	return data, nil
}

// Memory returns what the runner has mapped.
func (r *runner) Memory() runtime.Memory {
	m := runtime.Memory{Scratch: int64(len(r.scratch.data)), Tables: int64(len(r.table.data))}
	for _, a := range r.arenas {
		if a != nil {
			m.Arena += int64(len(a.data))
		}
	}
	return m
}

// Close calls the threads back and frees the memory.
func (r *runner) Close() error {
	if r.threads > 1 {
		purego.SyscallN(r.program.quit, r.runArgs...)
		r.workers.Wait()
	}
	return r.free()
}

func (r *runner) free() error {
	errs := []error{r.scratch.free(), r.table.free()}
	for _, a := range r.arenas {
		errs = append(errs, a.free())
	}
	return errors.Join(errs...)
}
