package opencl

import (
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/ebitengine/purego"

	"github.com/texel-ml/texel/artifact"
	"github.com/texel-ml/texel/diag"
	"github.com/texel-ml/texel/runtime"
)

// runner is a program with memory of its own, a queue, and a kernel object for each launch.
type runner struct {
	program *program
	lib     *library
	queue   uintptr
	memory  []uintptr // buffers, sub-buffers and images, parents before their parts
	kernels []uintptr
	places  []place // tensor → where it is
	ports   [2][]port
	launch  []launch // by position
	ops     []op
	bytes   runtime.Memory

	cancel  atomic.Bool
	queued  int       // launches since the device was last waited for
	batch   int       // after how many launches it is waited for
	since   time.Time // when the first of them was queued
	sync    []uintptr // arguments of clFinish
	copies  []uintptr // of reads and writes, one call at a time
	turn    []byte    // an int64: the turn of a loop
	profile bool
	events  []uintptr // by position, while profiling: of launches that are not accounted for
	spent   []account // by position
}

// account is what one launch took in all turns of the loops around it, in the device's nanoseconds.
type account struct {
	first, spent uint64
	runs         int
}

// place says where a tensor lies.
type place struct {
	memory uintptr
	bytes  int64
	image  bool
	host   []byte // what Read gave last
}

// port is an input or output: a buffer on the device and the caller's memory.
type port struct {
	memory uintptr
	data   []byte
}

// launch is one clEnqueueNDRangeKernel.
type launch struct {
	grid, group [3]uintptr
	args        []uintptr
}

func (r *runner) setup() error {
	if err := r.newQueue(0); err != nil {
		return err
	}
	r.batch = 1
	if err := r.locate(); err != nil {
		return err
	}
	r.launch = make([]launch, len(r.program.steps))
	r.events, r.spent = make([]uintptr, len(r.program.steps)), make([]account, len(r.program.steps))
	for _, s := range r.program.steps {
		if err := r.prepare(s); err != nil {
			return err
		}
	}
	r.copies, r.turn = make([]uintptr, 9), make([]byte, 8)
	r.ops = r.compile()
	return nil
}

func (r *runner) newQueue(props uint64) error {
	if r.queue != 0 {
		r.lib.releaseQueue(r.queue)
	}
	var code int32
	r.queue = r.lib.createQueue(r.program.context, r.program.info.device, props, &code)
	r.sync = []uintptr{r.queue}
	for i := range r.launch {
		if len(r.launch[i].args) > 0 {
			r.launch[i].args[0] = r.queue
		}
	}
	return failed("", "clCreateCommandQueue", code)
}

func (r *runner) buffer(name string, bytes int64) (uintptr, error) {
	var code int32
	m := r.lib.createBuffer(r.program.context, readWrite, uintptr(max(4, bytes)), nil, &code)
	if code != 0 {
		return 0, failed(name, "clCreateBuffer", code)
	}
	r.memory = append(r.memory, m)
	return m, nil
}

// locate gives each tensor its memory object.
func (r *runner) locate() error {
	plan, index := r.program.plan, r.program.index
	ports := map[int]uintptr{}
	for dir, list := range [2][]artifact.Port{plan.Inputs, plan.Outputs} {
		r.ports[dir] = make([]port, len(list))
		for i, p := range list {
			root := index[p.Tensor]
			if ports[root] == 0 {
				m, err := r.buffer(p.Name, plan.Tensors[root].Bytes)
				if err != nil {
					return err
				}
				ports[root] = m
				r.bytes.Tables += plan.Tensors[root].Bytes
			}
			r.ports[dir][i].memory = ports[root]
		}
	}
	pools := make(map[string]*artifact.Pool, len(plan.Pools))
	memory := map[string]uintptr{}
	for i := range plan.Pools {
		pool := &plan.Pools[i]
		pools[pool.Name] = pool
		if pool.Kind == artifact.Arena {
			m, err := r.buffer(pool.Name, pool.Bytes)
			if err != nil {
				return err
			}
			memory[pool.Name] = m
			r.bytes.Arena += pool.Bytes
		}
	}
	parts := map[part]uintptr{}
	r.places = make([]place, len(plan.Tensors))
	for i := range plan.Tensors {
		t := &plan.Tensors[i]
		root := i
		for plan.Tensors[root].AliasOf != "" {
			root = index[plan.Tensors[root].AliasOf]
		}
		at := place{bytes: t.Bytes}
		var err error
		whole := int64(-1)
		switch pool := pools[t.Pool]; pool.Kind {
		case artifact.Arena:
			at.memory = memory[pool.Name]
		case artifact.WeightPool:
			at.memory, whole = r.program.weights[plan.Tensors[root].Name], plan.Tensors[root].Bytes
		case artifact.ImagePool:
			if memory[pool.Name] == 0 {
				if memory[pool.Name], err = r.image(pool, t); err != nil {
					return err
				}
			}
			at.memory, at.image = memory[pool.Name], true
		default:
			at.memory, whole = ports[root], plan.Tensors[root].Bytes
		}
		if !at.image && (t.Offset != 0 || whole < 0) {
			key := part{at.memory, t.Offset, t.Bytes}
			if parts[key] == 0 {
				if parts[key], err = r.sub(t, key); err != nil {
					return err
				}
			}
			at.memory = parts[key]
		}
		r.places[i] = at
	}
	return nil
}

// part is a range of bytes of a buffer.
type part struct {
	memory        uintptr
	offset, bytes int64
}

// sub makes a buffer of a part of another one.
func (r *runner) sub(t *artifact.Tensor, p part) (uintptr, error) {
	if align := r.program.info.BufferAlignment; p.offset%align != 0 {
		return 0, diag.Unsupported("opencl", t.Name, "tensor is at byte %d of its pool, device %s wants multiples of %d", t.Offset, r.program.info.Name, align)
	}
	if p.bytes == 0 {
		return r.buffer(t.Name, 0)
	}
	var code int32
	region := [2]uintptr{uintptr(p.offset), uintptr(p.bytes)}
	m := r.lib.createSubBuffer(p.memory, readWrite, subRegion, &region, &code)
	if code == 0 {
		r.memory = append(r.memory, m)
	}
	return m, failed(t.Name, "clCreateSubBuffer", code)
}

// image makes the image of a pool, in the format of the tensor that it holds.
func (r *runner) image(pool *artifact.Pool, t *artifact.Tensor) (uintptr, error) {
	format, ok := imageFormats[t.Image.Format]
	if !ok {
		return 0, diag.Invalid("opencl", t.Name, "unknown image format %q", t.Image.Format)
	}
	desc := imageDesc{kind: image2D, width: uintptr(pool.Width), height: uintptr(pool.Height)}
	if t.Image.Layers > 0 {
		desc.kind, desc.layers = image2DArray, uintptr(t.Image.Layers)
	}
	var code int32
	m := r.lib.createImage(r.program.context, readWrite, &format, &desc, nil, &code)
	if code != 0 {
		return 0, failed(pool.Name, "clCreateImage", code)
	}
	r.memory = append(r.memory, m)
	r.bytes.Arena += pool.Bytes
	return m, nil
}

// prepare makes the kernel object of a launch and sets its arguments, which stay set.
func (r *runner) prepare(s artifact.Step) error {
	l := s.Launch
	if l.Kind == artifact.CopyLaunch {
		index := r.program.index
		if r.places[index[l.Reads[0]]].image || r.places[index[l.Writes[0]]].image {
			return diag.Unsupported("opencl", l.Name, "a copy from or to an image")
		}
	}
	if l.Kind != artifact.KernelLaunch {
		return nil
	}
	built, ok := r.program.built[l.Kernel]
	if !ok {
		return diag.Invalid("opencl", l.Name, "there is no kernel %q", l.Kernel)
	}
	var k uintptr
	if code := r.lib.createKernels(built, 1, &k, nil); code != 0 {
		return failed(l.Kernel, "clCreateKernelsInProgram", code)
	}
	r.kernels = append(r.kernels, k)
	index := r.program.index
	arg := uint32(0)
	for _, b := range l.Buffers {
		m := r.places[index[b]].memory
		if code := r.lib.setArg(k, arg, unsafe.Sizeof(m), unsafe.Pointer(&m)); code != 0 {
			return failed(l.Name, "clSetKernelArg of "+b, code)
		}
		arg++
	}
	for _, v := range l.Scalars {
		if code := r.lib.setArg(k, arg, 8, unsafe.Pointer(&v)); code != 0 {
			return failed(l.Name, "clSetKernelArg of a scalar", code)
		}
		arg++
	}
	to := &r.launch[s.Pos]
	for i, g := range l.Grid {
		to.grid[i] = uintptr(g)
	}
	to.args = []uintptr{r.queue, k, uintptr(len(l.Grid)), 0, uintptr(unsafe.Pointer(&to.grid)), 0, 0, 0, 0}
	if len(l.Group) > 0 {
		for i, g := range l.Group {
			to.group[i] = uintptr(g)
		}
		to.args[5] = uintptr(unsafe.Pointer(&to.group))
	}
	return nil
}

// BindInput and BindOutput set the caller's memory.
func (r *runner) BindInput(i int, data []byte)  { r.ports[0][i].data = data }
func (r *runner) BindOutput(i int, data []byte) { r.ports[1][i].data = data }

// Run does one inference.
func (r *runner) Run(visit func(pos int) error) error {
	r.queued = 0
	if r.profile {
		r.releaseEvents()
		clear(r.spent)
	}
	for i := range r.ports[0] {
		p := &r.ports[0][i]
		if err := r.transfer(r.lib.enqueueWrite, "clEnqueueWriteBuffer", p.memory, p.data, false); err != nil {
			return err
		}
	}
	err := r.runOps(r.ops, 0, visit)
	if err == nil {
		for i := range r.ports[1] {
			p := &r.ports[1][i]
			if err = r.transfer(r.lib.enqueueRead, "clEnqueueReadBuffer", p.memory, p.data, false); err != nil {
				break
			}
		}
	}
	// The device may still read and write the caller's memory, whatever happened.
	if done := r.wait(); err == nil {
		err = done
	}
	return err
}

// transfer copies between a buffer and host memory.
func (r *runner) transfer(fn uintptr, call string, memory uintptr, data []byte, block bool) error {
	if len(data) == 0 {
		return nil
	}
	a := r.copies
	a[0], a[1], a[2], a[3], a[4], a[5] = r.queue, memory, 0, 0, uintptr(len(data)), uintptr(unsafe.Pointer(&data[0]))
	if block {
		a[2] = 1
	}
	code, _, _ := purego.SyscallN(fn, a...)
	return failed("", call, int32(code))
}

// wait blocks until the device has done all that was queued.
func (r *runner) wait() error {
	r.queued = 0
	code, _, _ := purego.SyscallN(r.lib.finish, r.sync...)
	return failed("", "clFinish", int32(code))
}

// pause is about how long a run may not look at Cancel.
const pause = 20 * time.Millisecond

// kernel queues the launch at a position.
func (r *runner) kernel(pos int) error {
	if r.events[pos] != 0 { // an earlier turn of a loop
		if err := r.wait(); err != nil {
			return err
		}
		r.account(pos)
	}
	r.queueing()
	code, _, _ := purego.SyscallN(r.lib.enqueueKernel, r.launch[pos].args...)
	if int32(code) != 0 {
		return failed(r.program.steps[pos].Launch.Name, "clEnqueueNDRangeKernel", int32(code))
	}
	return r.pace()
}

// queueing is called before something is queued.
func (r *runner) queueing() {
	if r.queued == 0 {
		r.since = time.Now()
	}
}

// pace waits for the device where it has been a while since it was waited for.
func (r *runner) pace() error {
	if r.queued++; r.queued < r.batch {
		return nil
	}
	if err := r.wait(); err != nil {
		return err
	}
	switch took := time.Since(r.since); {
	case took > pause:
		r.batch = max(1, r.batch/2)
	case took < pause/4:
		r.batch = min(1<<12, 2*r.batch)
	}
	return nil
}

// Cancel ends a run between launches.
func (r *runner) Cancel(on bool) { r.cancel.Store(on) }

// Read returns a copy of a tensor.
func (r *runner) Read(i int) ([]byte, error) {
	p := &r.places[i]
	if p.image {
		return nil, diag.Unsupported("opencl", r.program.plan.Tensors[i].Name, "reading back an image")
	}
	if p.host == nil {
		p.host = make([]byte, p.bytes)
	}
	return p.host, r.transfer(r.lib.enqueueRead, "clEnqueueReadBuffer", p.memory, p.host, true)
}

// Memory returns what the runner has allocated; Tables are the buffers of inputs and outputs on the device.
func (r *runner) Memory() runtime.Memory { return r.bytes }

// Profile turns time stamps on or off: a queue with stamps is a different queue.
func (r *runner) Profile(on bool) {
	if on == r.profile {
		return
	}
	r.releaseEvents()
	props := uint64(0)
	if on {
		props = queueProfiling
	}
	if r.newQueue(props) != nil {
		return
	}
	r.profile = on
	for i := range r.launch {
		if a := r.launch[i].args; len(a) > 0 {
			a[8] = 0
			if on {
				a[8] = uintptr(unsafe.Pointer(&r.events[i]))
			}
		}
	}
}

func (r *runner) releaseEvents() {
	for i, e := range r.events {
		if e != 0 {
			r.lib.releaseEvent(e)
			r.events[i] = 0
		}
	}
}

// account reads the stamps of the launch at a position, which is done, and lets its event go.
func (r *runner) account(pos int) {
	e, a := r.events[pos], &r.spent[pos]
	var start, end uint64
	if r.lib.getProfilingInfo(e, profilingStart, 8, unsafe.Pointer(&start), nil) == 0 && r.lib.getProfilingInfo(e, profilingEnd, 8, unsafe.Pointer(&end), nil) == 0 {
		if a.runs == 0 {
			a.first = start
		}
		a.spent += end - start
		a.runs++
	}
	r.lib.releaseEvent(e)
	r.events[pos] = 0
}

// Times returns the device's stamps of the last run's kernels.
func (r *runner) Times() []runtime.Timing {
	if !r.profile {
		return nil
	}
	var times []runtime.Timing
	var zero uint64
	for pos := range r.events {
		if r.events[pos] != 0 {
			r.account(pos)
		}
		if a := r.spent[pos]; a.runs > 0 && (zero == 0 || a.first < zero) {
			zero = a.first
		}
	}
	for pos, a := range r.spent {
		if a.runs > 0 {
			l := r.program.steps[pos].Launch
			times = append(times, runtime.Timing{Pos: pos, Name: l.Name, Kernel: l.Kernel, Runs: a.runs, Start: time.Duration(a.first - zero), Duration: time.Duration(a.spent)})
		}
	}
	return times
}

// Close frees the runner.
func (r *runner) Close() error {
	r.releaseEvents()
	for _, k := range r.kernels {
		r.lib.releaseKernel(k)
	}
	for i := len(r.memory) - 1; i >= 0; i-- {
		r.lib.releaseMemory(r.memory[i])
	}
	if r.queue != 0 {
		r.lib.releaseQueue(r.queue)
	}
	r.kernels, r.memory, r.queue = nil, nil, 0
	return nil
}
