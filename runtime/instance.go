package runtime

import (
	"context"
	"errors"
	"slices"
	"sync"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/texel-ml/texel/artifact"
	"github.com/texel-ml/texel/diag"
	"github.com/texel-ml/texel/tensor"
)

// Instance runs a module. One goroutine at a time may use it; a second one gets an error, never wrong results.
type Instance struct {
	module  *Module
	runner  Runner
	inputs  []port
	outputs []port
	watch   watcher
	busy    sync.Mutex
	closed  bool

	batch    int  // rows of a run
	fixed    bool // by InstanceOptions
	row      int  // that is running
	profiled bool
	times    []Timing // of all rows of the last run
}

// port is one input or output and what is bound to it.
type port struct {
	info    *artifact.Port
	bytes   int
	data    []byte // bound; nil when nothing is
	own     bool   // data was allocated here
	extents []int  // of outputs: tensors of the plan, one for each of info.Extent
	shape   tensor.Shape
	rows    rows // where info.Open is set
}

// New makes an instance.
func (m *Module) New(opt InstanceOptions) (*Instance, error) {
	if opt.Threads < 0 || opt.Threads > 1024 {
		return nil, diag.Invalid("runtime", "threads", "wanted 0 to 1024, found %d", opt.Threads)
	}
	if opt.Batch != 0 {
		if err := m.CheckBatch(opt.Batch); err != nil {
			return nil, err
		}
	}
	if err := m.retain(); err != nil {
		return nil, err
	}
	runner, err := m.program.New(opt)
	if err != nil {
		m.release()
		return nil, err
	}
	in := &Instance{module: m, runner: runner, batch: 1, fixed: opt.Batch != 0}
	index := make(map[string]int, len(m.plan.Tensors))
	for i := range m.plan.Tensors {
		index[m.plan.Tensors[i].Name] = i
	}
	ports := func(list []artifact.Port) []port {
		out := make([]port, len(list))
		for i := range list {
			p := &list[i]
			out[i] = port{info: p, bytes: p.DType.Bytes(p.Shape.Elems()), shape: p.Shape.Clone()}
			for _, e := range p.Extent {
				out[i].extents = append(out[i].extents, index[e.Tensor])
			}
		}
		return out
	}
	in.inputs, in.outputs = ports(m.plan.Inputs), ports(m.plan.Outputs)
	for _, list := range [][]port{in.inputs, in.outputs} {
		for i := range list {
			if err := list[i].layOut(); err != nil {
				m.release()
				return nil, errors.Join(err, runner.Close())
			}
		}
	}
	in.resize(max(1, opt.Batch))
	for i := range in.inputs {
		if d := in.inputs[i].info.Default; d != "" {
			for _, w := range m.plan.Weights {
				if w.Tensor == d {
					data, _ := m.file.Segment(w.Digest)
					in.inputs[i].data = data
					runner.BindInput(i, data)
				}
			}
		}
	}
	in.watch.init(runner)
	return in, nil
}

// Module returns what the instance runs.
func (in *Instance) Module() *Module { return in.module }

// Input returns the memory of input i, to be filled by the caller. When nothing was bound it is allocated; a default
// of the model is copied into it. It is nil when there is not that much memory.
func (in *Instance) Input(i int) []byte {
	p := &in.inputs[i]
	if p.data == nil || !p.own && p.info.Default != "" && in.isDefault(p) {
		old := p.data
		data, err := aligned(p.info.Name, p.bytes)
		if err != nil {
			return nil
		}
		p.data, p.own = data, true
		copy(p.data, old)
		in.bindInput(i)
	}
	return p.data
}

// isDefault reports whether the port still has the model's own data, which is read-only.
func (in *Instance) isDefault(p *port) bool {
	for _, w := range in.module.plan.Weights {
		if w.Tensor == p.info.Default {
			data, _ := in.module.file.Segment(w.Digest)
			return len(data) > 0 && len(p.data) > 0 && &data[0] == &p.data[0]
		}
	}
	return false
}

// Output returns the result i of the last run, cut to its true extent. When nothing was bound before the first run it
// is memory of the instance, which the next run overwrites.
func (in *Instance) Output(i int) []byte {
	p := &in.outputs[i]
	if len(p.extents) == 0 {
		return p.data
	}
	return p.data[:p.info.DType.Bytes(p.shape.Elems())]
}

// OutputShape returns the shape of result i of the last run. It is overwritten by the next run.
func (in *Instance) OutputShape(i int) tensor.Shape { return in.outputs[i].shape }

// BindInput makes data the memory of input i for all runs to come, without a copy. It is read during Run and must
// not be written then.
func (in *Instance) BindInput(i int, data []byte) error {
	if i < 0 || i >= len(in.inputs) {
		return diag.Invalid("runtime", "", "no input %d, there are %d", i, len(in.inputs))
	}
	p := &in.inputs[i]
	if err := p.fits(data); err != nil {
		return err
	}
	p.data, p.own = data, false
	in.bindInput(i)
	return nil
}

// bindInput and bindOutput hand memory to the runner, unless that is done row by row.
func (in *Instance) bindInput(i int) {
	if p := &in.inputs[i]; p.info.Open == nil || in.batch == 1 {
		in.runner.BindInput(i, p.data)
	}
}

func (in *Instance) bindOutput(i int) {
	if p := &in.outputs[i]; p.info.Open == nil || in.batch == 1 {
		in.runner.BindOutput(i, p.data)
	}
}

// BindOutput makes data the memory of output i for all runs to come, without a copy. With a true extent below the
// declared one, the result is at the start of data.
func (in *Instance) BindOutput(i int, data []byte) error {
	if i < 0 || i >= len(in.outputs) {
		return diag.Invalid("runtime", "", "no output %d, there are %d", i, len(in.outputs))
	}
	p := &in.outputs[i]
	if err := p.fits(data); err != nil {
		return err
	}
	p.data, p.own = data, false
	in.bindOutput(i)
	return nil
}

// fits checks size and alignment of memory to be bound.
func (p *port) fits(data []byte) error {
	if len(data) != p.bytes {
		return diag.Invalid("runtime", p.info.Name, "%v of shape %v needs %d bytes, found %d", p.info.DType, p.shape, p.bytes, len(data))
	}
	if size := p.info.DType.Bits() / 8; size > 1 && !isAligned(data, size) {
		return diag.Invalid("runtime", p.info.Name, "memory must start at a multiple of the element's %d bytes", size)
	}
	return nil
}

func isAligned(data []byte, size int) bool {
	return len(data) == 0 || uintptr(unsafe.Pointer(unsafe.SliceData(data)))%uintptr(size) == 0
}

// Run does one inference on what is bound. It returns the context's error soon after the context is done, and the
// outputs are then undefined. It allocates nothing once every port has memory.
func (in *Instance) Run(ctx context.Context) error { return in.RunSteps(ctx, nil) }

// RunSteps is Run launch by launch: visit is called after each with its position, with that of a loop before each of its
// turns too, and may read tensors by Tensor; of several rows, all this for one after the other.
// It is for checking and much slower than Run.
func (in *Instance) RunSteps(ctx context.Context, visit func(pos int) error) error {
	if err := in.lock(); err != nil {
		return err
	}
	defer in.busy.Unlock()
	return in.run(ctx, visit)
}

// lock takes the instance, or says why not.
func (in *Instance) lock() error {
	if !in.busy.TryLock() {
		return diag.Invalid("runtime", "", "instance is in use by another goroutine")
	}
	if in.closed {
		in.busy.Unlock()
		return diag.Invalid("runtime", "", "instance is closed")
	}
	return nil
}

// Tensor returns the present content of a tensor of the plan, by its place in it. It is meaningful within RunSteps
// while the tensor is alive.
func (in *Instance) Tensor(i int) ([]byte, error) {
	if i < 0 || i >= len(in.module.plan.Tensors) {
		return nil, diag.Invalid("runtime", "", "no tensor %d, there are %d", i, len(in.module.plan.Tensors))
	}
	return in.runner.Read(i)
}

func (in *Instance) run(ctx context.Context, visit func(pos int) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	for i := range in.inputs {
		if in.inputs[i].data == nil && in.inputs[i].bytes > 0 {
			return diag.Invalid("runtime", in.inputs[i].info.Name, "input is not bound")
		}
	}
	for i := range in.outputs {
		if p := &in.outputs[i]; p.data == nil {
			data, err := aligned(p.info.Name, p.bytes)
			if err != nil {
				return err
			}
			p.data, p.own = data, true
			in.bindOutput(i)
		}
	}
	in.watch.begin(ctx.Done())
	err := in.runRows(ctx, visit)
	in.watch.end()
	if errors.Is(err, ErrCancelled) {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if in.watch.isClosed() {
			return diag.Invalid("runtime", "", "instance was closed during the run")
		}
		return diag.Internal("runtime", "", "run ended early without being cancelled").By(err)
	}
	if err != nil {
		return err
	}
	for i := range in.outputs {
		if len(in.outputs[i].extents) > 0 {
			if err := in.trim(&in.outputs[i]); err != nil {
				return err
			}
		}
	}
	return nil
}

// Infer runs on inputs by name and returns fresh outputs by name. Inputs are used without a copy where their memory
// is aligned; one with a default may be left out. The number of rows is what the open inputs have. It is the convenient form;
// it allocates.
func (in *Instance) Infer(ctx context.Context, inputs map[string]*tensor.Tensor) (map[string]*tensor.Tensor, error) {
	if err := in.lock(); err != nil {
		return nil, err
	}
	defer in.busy.Unlock()
	for name := range inputs {
		if !slices.ContainsFunc(in.inputs, func(p port) bool { return p.info.Name == name }) {
			return nil, diag.Invalid("runtime", name, "no such input, the inputs are %s", portNames(in.module.plan.Inputs))
		}
	}
	if err := in.solve(inputs); err != nil {
		return nil, err
	}
	for i := range in.inputs {
		p := &in.inputs[i]
		t, ok := inputs[p.info.Name]
		if !ok || t == nil {
			if p.info.Default != "" {
				continue
			}
			return nil, diag.Invalid("runtime", p.info.Name, "input is missing, the inputs are %s", portNames(in.module.plan.Inputs))
		}
		if t.DType != p.info.DType || !t.Shape.Equal(p.shape) {
			return nil, diag.Invalid("runtime", p.info.Name, "wanted %v of shape %v, found %v of shape %v", p.info.DType, p.shape, t.DType, t.Shape)
		}
		data := t.Data
		if size := p.info.DType.Bits() / 8; size > 1 && !isAligned(data, size) {
			var err error
			if data, err = aligned(p.info.Name, len(t.Data)); err != nil {
				return nil, err
			}
			copy(data, t.Data)
		}
		if err := in.BindInput(i, data); err != nil {
			return nil, err
		}
	}
	for i := range in.outputs {
		data, err := aligned(in.outputs[i].info.Name, in.outputs[i].bytes)
		if err != nil {
			return nil, err
		}
		if err := in.BindOutput(i, data); err != nil {
			return nil, err
		}
	}
	if err := in.run(ctx, nil); err != nil {
		return nil, err
	}
	results := make(map[string]*tensor.Tensor, len(in.outputs))
	for i := range in.outputs {
		p := &in.outputs[i]
		results[p.info.Name] = &tensor.Tensor{DType: p.info.DType, Shape: p.shape.Clone(), Data: in.Output(i)}
		p.data = nil // the caller's now
	}
	return results, nil
}

// Profile turns the measuring of launches on or off for the runs to come.
func (in *Instance) Profile(on bool) {
	in.profiled = on
	in.runner.Profile(on)
}

// Times returns the time of each launch of the last run, while Profile is on; of several rows, of all together.
func (in *Instance) Times() []Timing {
	if in.batch > 1 && in.profiled {
		return in.times
	}
	return in.runner.Times()
}

// Memory returns what the instance takes.
func (in *Instance) Memory() Memory {
	m := in.runner.Memory()
	m.Weights = in.module.plan.WeightsBytes
	for _, ports := range [][]port{in.inputs, in.outputs} {
		for i := range ports {
			if ports[i].own {
				m.Ports += int64(ports[i].bytes)
			}
			m.Ports += int64(len(ports[i].rows.stage))
		}
	}
	return m
}

// Close ends a run that is in progress, waits for it, and frees the instance.
func (in *Instance) Close() error {
	in.watch.close()
	in.busy.Lock()
	defer in.busy.Unlock()
	if in.closed {
		return nil
	}
	in.closed = true
	return errors.Join(in.runner.Close(), in.module.release())
}

// aligned returns zeroed memory that starts at a multiple of 64 bytes. Go ends the program when it cannot have a piece, so
// the system is asked first for a large one.
func aligned(what string, n int) ([]byte, error) {
	const large = 64 << 20
	if n >= large {
		probe, err := unix.Mmap(-1, 0, n, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
		if err != nil {
			return nil, diag.Missing("runtime", what, "%d bytes of memory are not to be had", n).By(err)
		}
		unix.Munmap(probe)
	}
	raw := make([]byte, n+63)
	at := int(-uintptr(unsafe.Pointer(unsafe.SliceData(raw))) % 64)
	return raw[at : at+n : at+n], nil
}
