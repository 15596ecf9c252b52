// Package runtime loads a .texel file and runs it. It follows the plan, decides nothing by itself and holds no
// operator code.
//
// Module is an open file with one variant loaded on one device; it may be shared. Instance is what runs: it has its
// own intermediate memory and threads and is used by one goroutine at a time, while any number of instances share the
// weights and the code of their module. On the path of an inference nothing is allocated, looked up by name or
// copied: inputs and outputs are bound once and stay bound. Where the plan leaves the number of rows open, a run follows it
// once a row, on that row of what is bound.
//
// Devices are given to Open as values, so that a program links only those that it names.
package runtime

import (
	"time"

	"github.com/texel-ml/texel/artifact"
)

// Device runs the variants of one API.
type Device interface {
	// API returns the api of the variants that this device runs, as the manifest names it.
	API() string
	// Usable returns nil when the variant can run here, else a diag.ErrMissing that lists what is lacking.
	Usable(v *artifact.Variant) error
	// Load makes the variant ready for instances. What it is given stays valid until Program.Close has returned.
	Load(in Loading) (Program, error)
}

// Loading is what a device loads. Code and weights are views of the mapped file and read-only.
type Loading struct {
	Variant *artifact.Variant
	Plan    *artifact.Plan
	Code    map[string][]byte // by the file's own name
	Weights map[string][]byte // by tensor
}

// Program is a loaded variant.
type Program interface {
	// New makes a runner with intermediate memory of its own.
	New(opt InstanceOptions) (Runner, error)
	// Close frees the program. All its runners are closed before.
	Close() error
}

// Runner runs a plan. Its methods are called by one goroutine at a time, except Cancel.
type Runner interface {
	// BindInput and BindOutput set the memory of a port, by its place in the plan, until they are called again. The
	// data has the port's size and its address is a multiple of the element's size. The runner keeps a reference.
	BindInput(i int, data []byte)
	BindOutput(i int, data []byte)
	// Run does one inference. With visit, it is called after each launch by its position, when the launch's results
	// can be read, and with that of a loop before each turn too, when the turn's number can; an error from it ends the run. A run that was cancelled returns ErrCancelled.
	Run(visit func(pos int) error) error
	// Read returns the bytes of a tensor by its place in the plan, as they are now; valid until the next Run.
	Read(tensor int) ([]byte, error)
	// Cancel ends a run that is in progress between two launches or parts of one; it may be called at any time. The
	// request stays until it is taken back with false.
	Cancel(on bool)
	// Profile turns time stamps of launches on or off. Times returns those of the last run.
	Profile(on bool)
	Times() []Timing
	// Memory returns what the runner has allocated.
	Memory() Memory
	// Close frees the runner; no run is in progress.
	Close() error
}

// InstanceOptions say how an instance runs. The zero value is right.
type InstanceOptions struct {
	// Threads is how many threads work on one inference, the caller's included; 0 is one for each core that the
	// process may use. Devices with threads of their own ignore it.
	Threads int
	// Batch is how many rows a run has where the plan leaves that open, up to artifact.MaxBatch: inputs and outputs that are open
	// have as many. 0 is 1, and lets Infer take what its inputs have.
	Batch int
}

// Timing is the time of one launch.
type Timing struct {
	Pos      int           // position in the plan
	Name     string        // of the launch
	Kernel   string        // "" for a copy or control launch
	Runs     int           // how often it ran: in a loop, once a turn; of several rows, once a row
	Start    time.Duration // since the run began, the first time
	Duration time.Duration // all times together
}

// Memory is what an instance takes, in bytes. Weights are those of the module, shared by its instances.
type Memory struct {
	Arena   int64
	Scratch int64 // of all threads
	Weights int64
	Tables  int64 // launch tables and what else the device needs
	Ports   int64 // buffers of inputs and outputs that the caller did not bind
}
