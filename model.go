package texel

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"

	"github.com/texel-ml/texel/artifact"
	"github.com/texel-ml/texel/diag"
	"github.com/texel-ml/texel/runtime"
	"github.com/texel-ml/texel/tensor"
)

// LoadOptions say how an artifact is loaded. The zero value uses every core and verifies every byte.
type LoadOptions struct {
	// Threads is how many threads work on one inference; 0 is one for each core that the process may use.
	Threads int
	// Device is "cpu", "opencl" or "opencl:i" with the number of a device. Empty takes the processor's variants and
	// those of the first OpenCL device, in the order of the artifact.
	Device string
	// Shapes chooses among the variants of the artifact by the shapes of inputs. Empty takes the first usable one.
	Shapes map[string]tensor.Shape
	// Batch is how many rows a run has where the artifact leaves its batch open, up to artifact.MaxBatch. 0 takes for each Run what
	// its inputs have, and 1 for a Session.
	Batch int
	// Target takes only a variant for this target record. Empty takes any.
	Target string
	// CacheDir is a folder that remembers which files were verified, so that weights are digested once. Empty
	// remembers nothing.
	CacheDir string
	// TrustWeights leaves the weights unverified. Manifest, plan and kernels are verified always.
	TrustWeights bool
}

// Model is a loaded artifact. Its methods may be called by several goroutines at once.
type Model struct {
	module   *runtime.Module
	threads  int
	batch    int
	inputs   []artifact.Port // with Batch rows
	outputs  []artifact.Port
	defaults map[string]*tensor.Tensor

	mu     sync.Mutex
	idle   []*runtime.Instance
	closed bool
}

// Load maps the artifact at path and makes the first variant that this machine can run ready.
//
// Errors are *diag.Error: ErrInvalid names the entry of a damaged file, ErrMissing says what the machine lacks.
func Load(path string, o LoadOptions) (*Model, error) {
	if o.Threads < 0 {
		return nil, diag.Invalid("load", "threads", "wanted a number from 0, found %d", o.Threads)
	}
	devices, err := devices(o.Device)
	if err != nil {
		return nil, err
	}
	module, err := runtime.Open(path, runtime.Options{Devices: devices, Shapes: o.Shapes, Target: o.Target,
		CacheDir: o.CacheDir, TrustWeights: o.TrustWeights})
	if err != nil {
		return nil, err
	}
	if o.Batch != 0 {
		if err := module.CheckBatch(o.Batch); err != nil {
			return nil, errors.Join(err, module.Close())
		}
	}
	m := &Model{module: module, threads: o.Threads, batch: o.Batch, inputs: batched(module.Inputs(), o.Batch), outputs: batched(module.Outputs(), o.Batch), defaults: map[string]*tensor.Tensor{}}
	for _, in := range module.Inputs() {
		for _, w := range module.Plan().Weights {
			if in.Default != "" && w.Tensor == in.Default {
				data, _ := module.File().Segment(w.Digest)
				m.defaults[in.Name] = &tensor.Tensor{DType: in.DType, Shape: in.Shape, Data: data}
			}
		}
	}
	return m, nil
}

// batched returns the ports with n rows; 0 is one.
func batched(ports []artifact.Port, n int) []artifact.Port {
	ports = slices.Clone(ports)
	for i := range ports {
		ports[i].Shape = ports[i].Batched(max(1, n))
	}
	return ports
}

// Inputs returns the inputs of the model: names, element types, shapes with LoadOptions.Batch rows. One with a Default may be left
// out of Run. Where Open is set and LoadOptions.Batch is not, Run takes any number of rows along that axis, of all such inputs
// the same.
func (m *Model) Inputs() []artifact.Port { return m.inputs }

// Outputs returns the outputs of the model, with LoadOptions.Batch rows. Where Extent is set, the shape is an upper limit.
func (m *Model) Outputs() []artifact.Port { return m.outputs }

// Plan returns what the model does. It must not be changed.
func (m *Model) Plan() *artifact.Plan { return m.module.Plan() }

// Run does one inference on inputs by name and returns new outputs by name. Inputs are read in place and must not be
// changed until it returns. When ctx is done, Run returns its error within about 100 ms.
//
// Concurrent calls work side by side, each with its own intermediate memory; the weights are shared.
func (m *Model) Run(ctx context.Context, inputs map[string]*tensor.Tensor) (map[string]*tensor.Tensor, error) {
	in, err := m.acquire()
	if err != nil {
		return nil, err
	}
	defer m.release(in)
	if len(m.defaults) > 0 { // an instance would keep what an earlier call gave
		all := maps.Clone(m.defaults)
		maps.Copy(all, inputs)
		inputs = all
	}
	return in.Infer(ctx, inputs)
}

// Session returns an instance of its own for callers that bind memory once and run often: nothing is allocated or
// copied on its path. Close it before the model.
func (m *Model) Session() (*runtime.Instance, error) { return m.session(m.batch) }

// session is Session with a number of rows; 0 takes those of the inputs.
func (m *Model) session(batch int) (*runtime.Instance, error) {
	return m.module.New(runtime.InstanceOptions{Threads: m.threads, Batch: batch})
}

func (m *Model) acquire() (*runtime.Instance, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return nil, diag.Invalid("run", "", "the model is closed")
	}
	if n := len(m.idle); n > 0 {
		in := m.idle[n-1]
		m.idle = m.idle[:n-1]
		return in, nil
	}
	return m.Session()
}

func (m *Model) release(in *runtime.Instance) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		in.Close()
		return
	}
	m.idle = append(m.idle, in)
}

// Close releases the model. Calls of Run that are in progress finish first.
func (m *Model) Close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return nil
	}
	m.closed = true
	var errs []error
	for _, in := range m.idle {
		errs = append(errs, in.Close())
	}
	m.idle = nil
	return errors.Join(append(errs, m.module.Close())...)
}
