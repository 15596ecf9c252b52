// Package target holds what the compiler knows of machines: records as JSON data, and the record of this host.
//
// A record is a file data/NAME.json. It may inherit another record and then states only what differs; an object of
// the child is merged into the parent's, a list replaces it. Decoding is strict: an unknown field is an error. The
// field doc says where each number comes from. Code never asks which device it is; it asks what the record says.
package target

import (
	"slices"
	"strings"

	"github.com/texel-ml/texel/diag"
)

// Kind is the class of a device.
type Kind string

// The kinds.
const (
	CPU Kind = "cpu" // native code of this package's Arch
	GPU Kind = "gpu" // kernels through an API, see Target.GPU
)

// API is how kernels reach a device.
type API string

// The APIs.
const (
	Native API = "cpu"
	OpenCL API = "opencl"
	Vulkan API = "vulkan"
)

// Target is one device through one API.
type Target struct {
	Name     string   `json:"name"`               // the record's name, set by the loader
	Inherits string   `json:"inherits,omitempty"` // name of another record
	Abstract bool     `json:"abstract,omitempty"` // only to be inherited, not offered
	Kind     Kind     `json:"kind"`
	API      API      `json:"api"`               // the default of a record, the chosen one of a target
	APIs     []API    `json:"apis,omitempty"`    // all that the device has; empty is just API
	Devices  []string `json:"devices,omitempty"` // what OpenCL devices of the record call themselves, see ForDevice

	Arch     string   `json:"arch,omitempty"`   // "x86-64" or "aarch64"
	Triple   string   `json:"triple,omitempty"` // LLVM's
	CPU      string   `json:"cpu,omitempty"`    // LLVM's target-cpu: decides which instructions may be used
	Tune     string   `json:"tune,omitempty"`   // LLVM's tune-cpu: decides the scheduling model; "" is CPU
	Features []string `json:"features"`         // LLVM's feature names, sorted; all are needed to run

	VectorBits      int     `json:"vector_bits"`      // width of one vector register
	VectorRegisters int     `json:"vector_registers"` // architectural
	FMAsPerCycle    float64 `json:"fmas_per_cycle"`   // vector multiply-adds that one core starts a cycle
	ClockGHz        float64 `json:"clock_ghz"`        // of a busy core, as far as it is known; only turns cycles into time
	L1D             int64   `json:"l1d_bytes"`        // per core
	L2              int64   `json:"l2_bytes"`         // per core
	L3              int64   `json:"l3_bytes"`         // shared; 0 is none
	CacheLine       int     `json:"cache_line"`       // bytes
	Cores           int     `json:"cores"`            // usable at once

	GPU *GPULimits `json:"gpu,omitempty"`

	Doc map[string]string `json:"doc,omitempty"` // field → source
}

// GPULimits are the limits and properties of a device behind OpenCL or Vulkan.
type GPULimits struct {
	ImageWidth          int      `json:"image_width"`           // texels of a 2-D image
	ImageHeight         int      `json:"image_height"`          // rows of a 2-D image
	ImageLayers         int      `json:"image_layers"`          // of an image array
	ImagePitchAlignment int      `json:"image_pitch_alignment"` // texels, for images over buffers; 0 has none
	ImageBaseAlignment  int      `json:"image_base_alignment"`  // texels, of the offset of an image over a buffer
	ReadImages          int      `json:"read_images"`           // arguments of one kernel
	WriteImages         int      `json:"write_images"`          // arguments of one kernel
	WorkGroup           int      `json:"work_group"`            // work-items
	WorkGroupAxis       []int    `json:"work_group_axis"`       // work-items an axis
	LocalBytes          int      `json:"local_bytes"`           // of a work-group
	MaxAllocBytes       int64    `json:"max_alloc_bytes"`       // of one buffer
	BufferAlignment     int64    `json:"buffer_alignment"`      // bytes, of a tensor inside a buffer; a power of two
	MaxArguments        int      `json:"max_arguments"`         // of one kernel
	Wave                int      `json:"wave"`                  // work-items in lock step
	Registers           int      `json:"registers"`             // four-wide registers a lane slot; 0 is not known
	HalfArithmetic      bool     `json:"half_arithmetic"`
	HalfStorage         bool     `json:"half_storage"`
	Extensions          []string `json:"extensions"`
	Quirks              []string `json:"quirks"` // named behaviours that code generators ask for, from the list below
}

// The quirks.
const (
	Buffers         = "buffers"           // tensors stay in buffers: images are not known to be faster
	SlowImages      = "slow-images"       // a read of an image costs several of a buffer, so that tensors stay in buffers
	NoFMACall       = "no-fma-call"       // fma() is several times slower than a multiplication and an addition
	HalfStorageOnly = "half-storage-only" // OpenCL has half in vload_half, vstore_half and images only
)

// Images reports whether tensors gain by being images: on a GPU that has no quirk that says otherwise.
func (t *Target) Images() bool {
	return t.GPU != nil && !t.HasQuirk(Buffers) && !t.HasQuirk(SlowImages)
}

// Has reports whether the target has the feature f, by LLVM's name.
func (t *Target) Has(f string) bool { return slices.Contains(t.Features, f) }

// HasExtension reports whether the device has the API extension e.
func (t *Target) HasExtension(e string) bool {
	return t.GPU != nil && slices.Contains(t.GPU.Extensions, e)
}

// HasQuirk reports whether the device has the named behaviour q.
func (t *Target) HasQuirk(q string) bool { return t.GPU != nil && slices.Contains(t.GPU.Quirks, q) }

// Lanes returns how many elements of the given width one vector register holds, at least 1.
func (t *Target) Lanes(bits int) int { return max(1, t.VectorBits/max(1, bits)) }

// FlopsPerCycle returns how many operations on elements of the given width the multiply-adds of one core make of a cycle:
// 2 · lanes · FMAs a cycle.
func (t *Target) FlopsPerCycle(bits int) float64 { return 2 * float64(t.Lanes(bits)) * t.FMAsPerCycle }

// PeakGFLOPS returns the float32 peak of one core by the record: FlopsPerCycle · GHz.
func (t *Target) PeakGFLOPS() float64 { return t.FlopsPerCycle(32) * t.ClockGHz }

// String returns the name by which Parse finds the target: RECORD, or RECORD/API when the API is not the default of
// a record with several.
func (t *Target) String() string {
	if len(t.APIs) > 1 && t.API != t.APIs[0] {
		return t.Name + "/" + string(t.API)
	}
	return t.Name
}

// RunsHere returns nil when native code for t can run in this process. Otherwise the error is diag.ErrMissing and
// lists what this host lacks. Targets behind an API are for their device to judge.
func (t *Target) RunsHere() error {
	if t.Kind != CPU {
		return nil
	}
	host, err := Host()
	if err != nil {
		return err
	}
	return t.runsOn(host)
}

func (t *Target) runsOn(host *Target) error {
	return Runs(host, t.Name, t.Arch, t.Features)
}

// Runs returns nil when host can run native code of arch that needs the features; the code is called name in the
// error.
func Runs(host *Target, name, arch string, features []string) error {
	if arch != host.Arch {
		return diag.Missing("target", name, "needs a processor of architecture %s, this host is %s", arch, host.Arch)
	}
	var lacking []string
	for _, f := range features {
		if !host.Has(f) {
			lacking = append(lacking, f)
		}
	}
	if len(lacking) > 0 {
		return diag.Missing("target", name, "needs processor features that this host lacks: %s", strings.Join(lacking, ", "))
	}
	return nil
}
