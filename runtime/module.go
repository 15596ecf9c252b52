package runtime

import (
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/texel-ml/texel/artifact"
	"github.com/texel-ml/texel/diag"
	"github.com/texel-ml/texel/tensor"
)

// ErrCancelled is what a Runner returns for a run that was cancelled. Instance turns it into the context's error.
var ErrCancelled = errors.New("cancelled")

// Options say how a file is opened.
type Options struct {
	// Devices are tried in order for each variant; none is an error.
	Devices []Device
	// Shapes chooses among variants by the shape of inputs, by name. Empty takes the first usable variant.
	Shapes map[string]tensor.Shape
	// Target takes only variants compiled for this target record. Empty takes any.
	Target string
	// CacheDir and TrustWeights are those of artifact.OpenOptions.
	CacheDir     string
	TrustWeights bool
}

// Module is an open file and its loaded variant. Its methods may be called by several goroutines.
type Module struct {
	file    *artifact.File
	variant *artifact.Variant
	plan    *artifact.Plan
	program Program
	device  Device

	mu     sync.Mutex
	users  int // the module itself and its instances
	closed bool
}

// Open maps and verifies the file, and loads the first variant in ladder order that is wanted and usable here. When
// there is none, the error is diag.ErrMissing and says for each variant why.
func Open(path string, opt Options) (*Module, error) {
	file, err := artifact.Open(path, artifact.OpenOptions{CacheDir: opt.CacheDir, TrustWeights: opt.TrustWeights})
	if err != nil {
		return nil, err
	}
	m, err := load(file, opt)
	if err != nil {
		file.Close()
		var e *diag.Error
		if errors.As(err, &e) && e.Pos == (diag.Pos{}) {
			return nil, e.At(diag.Pos{File: path})
		}
		return nil, err
	}
	return m, nil
}

func load(file *artifact.File, opt Options) (*Module, error) {
	index, device, err := choose(file.Manifest(), opt)
	if err != nil {
		return nil, err
	}
	v := &file.Manifest().Variants[index]
	plan, err := file.Plan(index)
	if err != nil {
		return nil, err
	}
	if err := checkExtents(plan); err != nil {
		return nil, err
	}
	in := Loading{Variant: v, Plan: plan, Code: map[string][]byte{}, Weights: make(map[string][]byte, len(plan.Weights))}
	for _, name := range v.Kernels {
		data, _ := file.Entry(name)
		in.Code[name[strings.LastIndexByte(name, '/')+1:]] = data
	}
	for _, w := range plan.Weights {
		in.Weights[w.Tensor], _ = file.Segment(w.Digest)
	}
	program, err := device.Load(in)
	if err != nil {
		return nil, err
	}
	file.Release()
	return &Module{file: file, variant: v, plan: plan, program: program, device: device, users: 1}, nil
}

// choose returns the variant to load and its device.
func choose(m *artifact.Manifest, opt Options) (int, Device, error) {
	var reasons []string
	missing := false
	for i := range m.Variants {
		v := &m.Variants[i]
		device, err := usable(v, opt)
		if err == nil {
			return i, device, nil
		}
		missing = missing || errors.Is(err, diag.ErrMissing)
		reasons = append(reasons, fmt.Sprintf("variant %s (%s): %v", v.Name, v.Target, err))
	}
	kind := diag.Invalid
	if missing {
		kind = diag.Missing
	}
	return 0, nil, kind("runtime", "", "no variant is usable here: %s", strings.Join(reasons, "; "))
}

func usable(v *artifact.Variant, opt Options) (Device, error) {
	if opt.Target != "" && opt.Target != v.Target {
		return nil, diag.Invalid("runtime", v.Name, "wanted target %s", opt.Target)
	}
	for name, shape := range opt.Shapes {
		found := false
		for _, in := range v.Inputs {
			if in.Name == name {
				found = true
				if _, rows := in.Rows(shape); !rows && !in.Shape.Equal(shape) {
					return nil, diag.Invalid("runtime", name, "wanted shape %v, compiled for %v", shape, in.Shape)
				}
			}
		}
		if !found {
			return nil, diag.Invalid("runtime", name, "no such input, the inputs are %s", portNames(v.Inputs))
		}
	}
	var last error = diag.Missing("runtime", v.Name, "no device for api %q is linked in", v.API)
	for _, d := range opt.Devices {
		if d.API() != v.API {
			continue
		}
		err := d.Usable(v)
		if err == nil {
			return d, nil
		}
		last = err
	}
	return nil, last
}

// Manifest returns the file's table of contents.
func (m *Module) Manifest() *artifact.Manifest { return m.file.Manifest() }

// File returns the open file; it stays open until the module and its instances are closed.
func (m *Module) File() *artifact.File { return m.file }

// Variant returns the loaded variant.
func (m *Module) Variant() *artifact.Variant { return m.variant }

// Plan returns the plan that instances follow. It must not be changed.
func (m *Module) Plan() *artifact.Plan { return m.plan }

// Inputs returns the inputs of the loaded variant.
func (m *Module) Inputs() []artifact.Port { return m.plan.Inputs }

// Outputs returns the outputs of the loaded variant.
func (m *Module) Outputs() []artifact.Port { return m.plan.Outputs }

// retain counts a user.
func (m *Module) retain() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return diag.Invalid("runtime", "", "module is closed")
	}
	m.users++
	return nil
}

// release frees the module when nobody uses it any more.
func (m *Module) release() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.users--; m.users > 0 {
		return nil
	}
	return errors.Join(m.program.Close(), m.file.Close())
}

// Close gives the module up. Instances that are still open keep what they need until they are closed.
func (m *Module) Close() error {
	m.mu.Lock()
	if m.closed {
		m.mu.Unlock()
		return nil
	}
	m.closed = true
	m.mu.Unlock()
	return m.release()
}

func portNames(ports []artifact.Port) string {
	names := make([]string, len(ports))
	for i, p := range ports {
		names[i] = p.Name
	}
	return strings.Join(names, ", ")
}
