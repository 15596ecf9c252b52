// Package opencl runs the variants that are OpenCL C, on a device of the machine's OpenCL library.
//
// A variant is one source a kernel. At load each is built, the weights are uploaded, once for all instances. An instance
// has one buffer for each arena of the plan, with a sub-buffer for each tensor in it, an image for each image pool, a
// buffer for each input and output, and one kernel object for each launch, whose arguments are set once. A run writes the
// inputs, walks over the launches in the plan's order and reads the outputs. It waits for the device every few launches,
// at intervals of about 20 ms, so that it can be cancelled.
package opencl

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"unsafe"

	"github.com/texel-ml/texel/artifact"
	"github.com/texel-ml/texel/diag"
	"github.com/texel-ml/texel/runtime"
	"github.com/texel-ml/texel/target"
)

// Device is one OpenCL device of this machine. The zero value is the first one.
type Device struct {
	// Library is the OpenCL library; empty tries the usual ones.
	Library string
	// Index chooses among the devices, in the order of List.
	Index int
}

// Info describes a device.
type Info struct {
	Platform, Name, Vendor, Version, Driver string
	Extensions                              []string
	Units                                   int   // compute units
	WorkGroup                               int   // work-items a group
	LocalBytes                              int64 // of a work-group
	MaxAllocBytes                           int64 // of one buffer
	ImageWidth, ImageHeight, ImageLayers    int   // 0: no images
	BufferAlignment                         int64 // bytes, of a tensor in an arena

	platform, device uintptr
}

// List returns the devices of all platforms. When the library is not installed the error is diag.ErrMissing.
func List(path string) ([]Info, error) {
	l, err := openLibrary(path)
	if err != nil {
		return nil, err
	}
	return l.devices()
}

func (l *library) devices() ([]Info, error) {
	var n uint32
	if code := l.getPlatformIDs(0, nil, &n); code != 0 && code != -1001 {
		return nil, failed("", "clGetPlatformIDs", code)
	}
	if n == 0 {
		return nil, diag.Missing("opencl", "", "there is no OpenCL platform; %s", install)
	}
	platforms := make([]uintptr, n)
	if code := l.getPlatformIDs(n, &platforms[0], nil); code != 0 {
		return nil, failed("", "clGetPlatformIDs", code)
	}
	var all []Info
	for _, p := range platforms {
		if code := l.getDeviceIDs(p, deviceTypeAll, 0, nil, &n); code != 0 || n == 0 {
			continue
		}
		ids := make([]uintptr, n)
		if code := l.getDeviceIDs(p, deviceTypeAll, n, &ids[0], nil); code != 0 {
			continue
		}
		for _, d := range ids {
			all = append(all, l.info(p, d))
		}
	}
	if len(all) == 0 {
		return nil, diag.Missing("opencl", "", "no OpenCL platform has a device; %s", install)
	}
	return all, nil
}

func (l *library) info(p, d uintptr) Info {
	info := Info{platform: p, device: d, Name: l.deviceText(d, deviceName), Vendor: l.deviceText(d, deviceVendor), Version: l.deviceText(d, deviceVersion),
		Driver: l.deviceText(d, driverVersion), Extensions: strings.Fields(l.deviceText(d, deviceExtensions)), Units: int(l.deviceNumber(d, deviceUnits)),
		WorkGroup: int(l.deviceNumber(d, deviceGroup)), LocalBytes: l.deviceNumber(d, deviceLocalMemory), MaxAllocBytes: l.deviceNumber(d, deviceMaxAlloc),
		BufferAlignment: max(1, l.deviceNumber(d, deviceBaseAlign)/8)}
	info.Platform = text(func(size uintptr, value unsafe.Pointer, got *uintptr) int32 {
		return l.getPlatformInfo(p, platformName, size, value, got)
	})
	if l.deviceNumber(d, deviceImages) != 0 {
		info.ImageWidth, info.ImageHeight = int(l.deviceNumber(d, deviceImageWidth)), int(l.deviceNumber(d, deviceImageHeight))
		info.ImageLayers = int(l.deviceNumber(d, deviceLayers))
	}
	return info
}

// open finds the device.
func (d Device) open() (*library, *Info, error) {
	l, err := openLibrary(d.Library)
	if err != nil {
		return nil, nil, err
	}
	all, err := l.devices()
	if err != nil {
		return nil, nil, err
	}
	if d.Index < 0 || d.Index >= len(all) {
		return nil, nil, diag.Missing("opencl", "", "there is no device %d, this machine has %d", d.Index, len(all))
	}
	return l, &all[d.Index], nil
}

// API returns "opencl".
func (Device) API() string { return string(target.OpenCL) }

// Usable checks that the device is here and has the extensions that the variant needs.
func (d Device) Usable(v *artifact.Variant) error {
	_, info, err := d.open()
	if err != nil {
		return err
	}
	var lacking []string
	for _, f := range v.Features {
		if !slices.Contains(info.Extensions, f) {
			lacking = append(lacking, f)
		}
	}
	if len(lacking) > 0 {
		return diag.Missing("opencl", v.Target, "device %s lacks %s", info.Name, strings.Join(lacking, ", "))
	}
	return nil
}

// Load builds the kernels and uploads the weights.
func (d Device) Load(in runtime.Loading) (runtime.Program, error) {
	l, info, err := d.open()
	if err != nil {
		return nil, err
	}
	p := &program{lib: l, info: info, plan: in.Plan, weights: map[string]uintptr{}, built: map[string]uintptr{}}
	if err := p.load(in); err != nil {
		p.Close()
		return nil, err
	}
	return p, nil
}

// program is a loaded variant.
type program struct {
	lib     *library
	info    *Info
	context uintptr
	plan    *artifact.Plan
	steps   []artifact.Step
	index   map[string]int     // tensor → its place in the plan
	built   map[string]uintptr // kernel → cl_program
	weights map[string]uintptr // tensor → buffer
	memory  []uintptr          // every buffer of the program
}

func (p *program) load(in runtime.Loading) (err error) {
	if p.steps, err = p.plan.Steps(); err != nil {
		return err
	}
	p.index = make(map[string]int, len(p.plan.Tensors))
	for i := range p.plan.Tensors {
		p.index[p.plan.Tensors[i].Name] = i
	}
	for _, pool := range p.plan.Pools {
		if err := p.checkPool(&pool); err != nil {
			return err
		}
	}
	var code int32
	props := []uintptr{0x1084, p.info.platform, 0} // CL_CONTEXT_PLATFORM
	p.context = p.lib.createContext(&props[0], 1, &p.info.device, 0, 0, &code)
	if code != 0 {
		return failed(p.info.Name, "clCreateContext", code)
	}
	for i := range p.plan.Weights {
		w := &p.plan.Weights[i]
		data := in.Weights[w.Tensor]
		if p.weights[w.Tensor], err = p.upload(w.Tensor, data); err != nil {
			return err
		}
	}
	return p.build(in)
}

// checkPool refuses memory that the device does not have.
func (p *program) checkPool(pool *artifact.Pool) error {
	switch {
	case pool.Device != "":
		return diag.Unsupported("opencl", pool.Name, "pool on device %q", pool.Device)
	case pool.Kind == artifact.ImageOverBuffer:
		return diag.Unsupported("opencl", pool.Name, "images over a buffer")
	case pool.Bytes > p.info.MaxAllocBytes:
		return diag.Unsupported("opencl", pool.Name, "pool has %d bytes, device %s gives at most %d at once", pool.Bytes, p.info.Name, p.info.MaxAllocBytes)
	case pool.Width > int64(p.info.ImageWidth) || pool.Height > int64(p.info.ImageHeight):
		return diag.Unsupported("opencl", pool.Name, "image of %d x %d, device %s has at most %d x %d", pool.Width, pool.Height, p.info.Name, p.info.ImageWidth, p.info.ImageHeight)
	}
	return nil
}

// upload makes a buffer with the given content. OpenCL has no empty buffers.
func (p *program) upload(name string, data []byte) (uintptr, error) {
	if len(data) == 0 {
		data = make([]byte, 4)
	}
	var code int32
	m := p.lib.createBuffer(p.context, readOnly|copyHostPointer, uintptr(len(data)), unsafe.Pointer(&data[0]), &code)
	if code != 0 {
		return 0, failed(name, "clCreateBuffer", code)
	}
	p.memory = append(p.memory, m)
	return m, nil
}

// build compiles every kernel, several at once.
func (p *program) build(in runtime.Loading) error {
	programs := make([]uintptr, len(p.plan.Kernels))
	errs := make([]error, len(p.plan.Kernels))
	var group sync.WaitGroup
	slots := make(chan struct{}, max(1, p.info.Units))
	for i := range p.plan.Kernels {
		group.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			k := &p.plan.Kernels[i]
			source, ok := in.Code[k.File]
			if !ok {
				errs[i] = diag.Invalid("opencl", k.Name, "there is no file %q with its source", k.File)
				return
			}
			programs[i], errs[i] = p.compile(k.Name, source)
		})
	}
	group.Wait()
	for i, k := range p.plan.Kernels {
		if programs[i] != 0 {
			p.built[k.Name] = programs[i]
		}
	}
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// compile builds one source. A device that refuses it is shown with its log.
func (p *program) compile(name string, source []byte) (uintptr, error) {
	if len(source) == 0 {
		return 0, diag.Invalid("opencl", name, "its source is empty")
	}
	var code int32
	at, size := &source[0], uintptr(len(source))
	built := p.lib.createProgram(p.context, 1, &at, &size, &code)
	if code != 0 {
		return 0, failed(name, "clCreateProgramWithSource", code)
	}
	options := append([]byte(buildOptions), 0)
	if code := p.lib.buildProgram(built, 1, &p.info.device, &options[0], 0, 0); code != 0 {
		log := text(func(size uintptr, value unsafe.Pointer, got *uintptr) int32 {
			return p.lib.getBuildInfo(built, p.info.device, buildLog, size, value, got)
		})
		p.lib.releaseProgram(built)
		return 0, diag.Internal("opencl", name, "device %s does not build the kernel: %s", p.info.Name, log).By(failed(name, "clBuildProgram", code))
	}
	var n uint32
	if code := p.lib.createKernels(built, 0, nil, &n); code != 0 || n != 1 {
		p.lib.releaseProgram(built)
		if code != 0 {
			return 0, failed(name, "clCreateKernelsInProgram", code)
		}
		return 0, diag.Invalid("opencl", name, "its source has %d kernels, wanted one", n)
	}
	return built, nil
}

// buildOptions are those that codegen/opencl states in BuildOptions.
const buildOptions = "-cl-std=CL1.2"

// New makes a runner.
func (p *program) New(runtime.InstanceOptions) (runtime.Runner, error) {
	r := &runner{program: p, lib: p.lib}
	if err := r.setup(); err != nil {
		r.Close()
		return nil, err
	}
	return r, nil
}

// Close frees the program.
func (p *program) Close() error {
	for _, m := range p.memory {
		p.lib.releaseMemory(m)
	}
	for _, b := range p.built {
		p.lib.releaseProgram(b)
	}
	if p.context != 0 {
		p.lib.releaseContext(p.context)
	}
	p.memory, p.built, p.context = nil, nil, 0
	return nil
}

// String names the device.
func (i Info) String() string { return fmt.Sprintf("%s (%s)", i.Name, i.Platform) }
