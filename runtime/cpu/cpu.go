// Package cpu runs the variants that are native code for this machine's processor.
//
// A variant is one freestanding shared object that exports its kernels and the driver. At load the plan becomes a
// launch table; an inference is one call of the driver, which runs all launches on the calling thread and on threads
// that goroutines lend it for as long as the instance lives. Plans with copies or control launches take one call for
// each stretch of kernels between them.
//
// The driver's interface, all fields eight bytes:
//
//	struct texel_launch { void *fn; void *const *bufs; const int64_t *scalars; int64_t grid; int64_t chunk; };
//	struct texel_run { struct texel_launch *launches; int64_t n; char *scratch; int64_t scratch_stride; int64_t threads;
//	                   int32_t *cancel; uint64_t *ticks; uint64_t pool[32]; };
//	int64_t texel_run(struct texel_run *);                // launches completed
//	void    texel_worker(struct texel_run *, int64_t id); // a lent thread serves until texel_quit
//	void    texel_quit(struct texel_run *);
//
// A kernel may assume that a tensor of the arena or of the weights starts at a multiple of 64 bytes, and an input or
// output at a multiple of its element.
package cpu

import (
	"errors"

	"github.com/texel-ml/texel/artifact"
	"github.com/texel-ml/texel/diag"
	"github.com/texel-ml/texel/runtime"
	"github.com/texel-ml/texel/target"
)

// Device is this machine's processor. The zero value is right.
type Device struct {
	// TempDir is where code is put for the loader when the system has no memory files, or forbids running them. Empty
	// tries /dev/shm, /tmp and /data/local/tmp.
	TempDir string
}

// API returns "cpu".
func (Device) API() string { return string(target.Native) }

// Usable compares the variant's architecture and features with this host's.
func (Device) Usable(v *artifact.Variant) error {
	host, err := target.Host()
	if err != nil {
		return err
	}
	return target.Runs(host, v.Target, v.Arch, v.Features)
}

// Load maps the code and checks that it has every kernel of the plan.
func (d Device) Load(in runtime.Loading) (runtime.Program, error) {
	p := &program{plan: in.Plan, weights: in.Weights, kernels: make(map[string]uintptr, len(in.Plan.Kernels))}
	for _, pool := range in.Plan.Pools {
		if pool.Device != "" || pool.Kind == artifact.ImagePool || pool.Kind == artifact.ImageOverBuffer {
			return nil, diag.Unsupported("cpu", pool.Name, "pool of kind %s on device %q", pool.Kind, pool.Device)
		}
	}
	steps, err := in.Plan.Steps()
	if err != nil {
		return nil, err
	}
	p.steps = steps
	for _, s := range steps {
		if s.Launch.Kind == artifact.KernelLaunch && (len(s.Launch.Grid) != 1 || len(s.Launch.Group) != 0) {
			return nil, diag.Unsupported("cpu", s.Launch.Name, "grid %v with group %v, a processor takes one number", s.Launch.Grid, s.Launch.Group)
		}
	}
	if len(in.Plan.Kernels) == 0 {
		return p, nil
	}
	if len(in.Code) != 1 {
		return nil, diag.Invalid("cpu", in.Variant.Name, "variant has %d files of code, wanted one", len(in.Code))
	}
	for name, code := range in.Code {
		if p.library, err = openLibrary(name, code, d.TempDir); err != nil {
			return nil, err
		}
	}
	for name, to := range map[string]*uintptr{"texel_run": &p.run, "texel_worker": &p.worker, "texel_quit": &p.quit} {
		if *to, err = p.library.symbol(name); err != nil {
			return nil, errors.Join(err, p.Close())
		}
	}
	for _, k := range in.Plan.Kernels {
		if p.kernels[k.Name], err = p.library.symbol(k.Name); err != nil {
			return nil, errors.Join(err, p.Close())
		}
	}
	return p, nil
}

// program is a loaded variant.
type program struct {
	plan    *artifact.Plan
	steps   []artifact.Step
	weights map[string][]byte
	library *library
	kernels map[string]uintptr
	run     uintptr
	worker  uintptr
	quit    uintptr
}

// New makes a runner.
func (p *program) New(opt runtime.InstanceOptions) (runtime.Runner, error) {
	threads := opt.Threads
	if threads == 0 {
		host, err := target.Host()
		if err != nil {
			return nil, err
		}
		threads = host.Cores
	}
	if p.library == nil {
		threads = 1
	}
	return newRunner(p, threads)
}

// Close unloads the code.
func (p *program) Close() error {
	if p.library == nil {
		return nil
	}
	return p.library.close()
}
