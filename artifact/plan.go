// Package artifact holds the compiled module: the types of its plan with their independent checker, and the .texel
// file with its writer and reader.
//
// A plan says everything that a runtime does: which tensors exist and where they lie, which kernels are launched in
// which order on which of them, and what goes in and out. A runtime infers nothing from it. The checker (Check) knows
// neither the planner nor any operator: it walks the launches over an abstract memory and proves that each read finds
// what was written for it.
//
// Positions. Launches are numbered in the order in which they stand: the main list first to last, a control launch
// counted before the launches of its regions, which follow it in the order body, otherwise. Life is stated in these
// numbers; -1 is before the first launch and Positions() is after the last.
package artifact

import (
	"github.com/texel-ml/texel/diag"
	"github.com/texel-ml/texel/tensor"
)

// PlanFormat is the version of the plan's form that this package reads and writes.
const PlanFormat = 1

// Plan is everything that a runtime needs to run one variant.
type Plan struct {
	Format       int         `json:"format"`        // PlanFormat
	Function     string      `json:"function"`      // the compiled function, "main"
	Target       string      `json:"target"`        // the target record, for people
	ArenaBytes   int64       `json:"arena_bytes"`   // sum of the arena and image pools
	ScratchBytes int64       `json:"scratch_bytes"` // private memory of one thread, the largest need of any kernel
	WeightsBytes int64       `json:"weights_bytes"` // sum of the weights
	Memory       Memory      `json:"memory"`        // how good the memory plan is
	Inputs       []Port      `json:"inputs"`
	Outputs      []Port      `json:"outputs"`
	Pools        []Pool      `json:"pools"`
	Tensors      []Tensor    `json:"tensors"`
	Weights      []Weight    `json:"weights"`
	Kernels      []Kernel    `json:"kernels"`
	Launches     []Launch    `json:"launches"`
	Regions      []Region    `json:"regions,omitempty"`   // launch lists that control launches name
	Constants    []Constant  `json:"constants,omitempty"` // tensors of the model that were computed at compile time
	Notes        []diag.Note `json:"notes,omitempty"`     // every default taken, every fallback, every choice
}

// Memory reports on the memory plan. LowerBound is the largest sum of bytes alive at one launch, alignment not
// counted: no plan for the same launches with the same in-place pairs is smaller.
type Memory struct {
	Naive      int64  `json:"naive"`       // every tensor with memory of its own
	LowerBound int64  `json:"lower_bound"` // bytes
	Planned    int64  `json:"planned"`     // bytes of the arena before padding
	Padding    int64  `json:"padding"`     // bytes added against cache aliasing
	Strategy   string `json:"strategy"`    // the strategy that won
}

// Port is one input or output of the model.
type Port struct {
	Name   string       `json:"name"`
	DType  tensor.DType `json:"dtype"`
	Shape  tensor.Shape `json:"shape"`
	Tensor string       `json:"tensor"` // the tensor of the plan, in a pool of kind external
	// Default names a weight whose data stands for an input that the caller does not bind.
	Default string `json:"default,omitempty"`
	// Extent names tensors that hold the true extent of some axes of an output; Shape is then an upper limit.
	Extent []Extent `json:"extent,omitempty"`
	// Open is set where an axis has as many rows as a run wants. Shape is that of one row.
	Open *OpenAxis `json:"open,omitempty"`
}

// Extent says that an axis of an output has as many valid elements as an int64 scalar tensor holds after the run.
type Extent struct {
	Axis   int    `json:"axis"`
	Tensor string `json:"tensor"`
}

// PoolKind says what memory a pool is.
type PoolKind string

// The kinds of pool.
const (
	Arena           PoolKind = "arena"             // one allocation, tensors at offsets
	ImagePool       PoolKind = "image"             // one 2-D image, tensors from its corner
	ImageOverBuffer PoolKind = "image-over-buffer" // one allocation, images as views at offsets
	External        PoolKind = "external"          // memory of the caller, bound for a run without a copy
	WeightPool      PoolKind = "weights"           // read-only data of the artifact
)

// Pool is memory on one device.
type Pool struct {
	Name   string   `json:"name"`
	Device string   `json:"device,omitempty"` // "" is the variant's own device
	Kind   PoolKind `json:"kind"`
	Bytes  int64    `json:"bytes,omitempty"`  // arena and image pools
	Width  int64    `json:"width,omitempty"`  // image pools: texels
	Height int64    `json:"height,omitempty"` // image pools: rows
}

// Tensor is a value of the plan and its memory. In a pool of kind external or weights each tensor that is not an
// alias is a memory of its own and has offset 0.
type Tensor struct {
	Name   string       `json:"name"`
	DType  tensor.DType `json:"dtype"`
	Shape  tensor.Shape `json:"shape"`            // logical
	Layout string       `json:"layout,omitempty"` // physical order of the axes, "" is that of Shape
	Scope  string       `json:"scope,omitempty"`  // "" is global
	Pool   string       `json:"pool"`
	Offset int64        `json:"offset"` // bytes from the start of the pool
	Bytes  int64        `json:"bytes"`  // physical size
	Image  *Image       `json:"image,omitempty"`
	// AliasOf names the tensor whose memory this one is a view of, AliasOffset bytes behind its start; Offset is
	// then the sum. Aliases may be chained.
	AliasOf     string `json:"alias_of,omitempty"`
	AliasOffset int64  `json:"alias_offset,omitempty"`
	Life        Life   `json:"life"` // set by SetLives
}

// Image is the 2-D form of a tensor in a texture scope.
type Image struct {
	Width       int64  `json:"width"` // texels that are used
	Height      int64  `json:"height"`
	Layers      int64  `json:"layers,omitempty"`
	AllocWidth  int64  `json:"alloc_width,omitempty"` // texels of the image that serves it, when larger
	AllocHeight int64  `json:"alloc_height,omitempty"`
	RowPitch    int64  `json:"row_pitch,omitempty"` // bytes, image-over-buffer
	Folding     string `json:"folding"`             // which axes make width and height
	Format      string `json:"format"`              // of a texel: channels, bits and kind, such as rgba16f, rgba32ui, r8i
}

// Life is the first and the last position that uses a tensor itself (not its aliases). See the package comment.
type Life struct {
	First int `json:"first"`
	Last  int `json:"last"`
}

// Weight is the data of one tensor in a pool of kind weights: a segment of the artifact, by digest.
type Weight struct {
	Tensor string `json:"tensor"`
	Digest string `json:"digest"` // SHA-256, hexadecimal
	Bytes  int64  `json:"bytes"`
}

// Kernel is one compiled kernel.
type Kernel struct {
	Name    string `json:"name"`
	File    string `json:"file,omitempty"`    // the variant's file that holds it; "" when there is just one
	Scratch int64  `json:"scratch,omitempty"` // bytes private to a worker
}

// LaunchKind says what a launch does.
type LaunchKind string

// The kinds of launch.
const (
	KernelLaunch  LaunchKind = "kernel"
	CopyLaunch    LaunchKind = "copy"    // the bytes of Reads[0] to Writes[0], also between devices; see Stack
	ControlLaunch LaunchKind = "control" // runs regions, see Control
)

// Launch is one step of the plan.
//
// Kernel arguments are Buffers in order, then Scalars in order. Reads and Writes say which tensors the kernel reads
// and writes; a tensor that the kernel updates stands in both.
type Launch struct {
	Kind    LaunchKind `json:"kind"`
	Name    string     `json:"name"` // for profiles and errors, the fused function
	Device  string     `json:"device,omitempty"`
	Kernel  string     `json:"kernel,omitempty"`
	Grid    []int64    `json:"grid,omitempty"`  // cpu: one number; others: work-items an axis
	Group   []int64    `json:"group,omitempty"` // opencl, vulkan: work-items a group
	Chunk   int64      `json:"chunk,omitempty"` // cpu: grid steps that one claim takes
	Buffers []string   `json:"buffers,omitempty"`
	Scalars []int64    `json:"scalars,omitempty"`
	Reads   []string   `json:"reads,omitempty"`
	Writes  []string   `json:"writes,omitempty"`
	// InPlace lists pairs in which the written tensor lies at the start of the read tensor's memory. Before memory
	// is planned it lists the pairs that the kernel allows; the planner keeps those that it used.
	InPlace []InPlace `json:"in_place,omitempty"`
	// Stack is of a copy in a loop: in turn t, the bytes of Reads[0] become part t of Writes[0], which has room for as
	// many parts as the innermost loop around has turns at most. The other parts stay, so Reads[1] is Writes[0].
	Stack   bool     `json:"stack,omitempty"`
	Control *Control `json:"control,omitempty"`
	Nodes   []string `json:"nodes,omitempty"`   // the model's nodes that it computes
	Flops   int64    `json:"flops,omitempty"`   // floating-point operations, a multiply-add counted as two
	Traffic int64    `json:"traffic,omitempty"` // bytes read and written when nothing is cached
}

// InPlace says that Write takes the memory of Read.
type InPlace struct {
	Write string `json:"write"`
	Read  string `json:"read"`
}

// ControlKind says how a control launch runs its regions.
type ControlKind string

// The kinds of control.
const (
	If   ControlKind = "if"   // Cond chooses between Body and Else
	Loop ControlKind = "loop" // Body runs while the number of turns is below Trip and Cond holds
)

// Control is a step that decides. Values carried through a loop are moved by launches of its body.
type Control struct {
	Kind ControlKind `json:"kind"`
	Cond string      `json:"cond,omitempty"` // bool scalar tensor; loop: "" holds always, read before every turn
	Trip string      `json:"trip,omitempty"` // loop: int64 scalar tensor; "" is no limit
	Iter string      `json:"iter,omitempty"` // loop: int64 scalar tensor, set to the turn's number before each turn
	// Count is of a loop: an int64 scalar tensor, set to the number of turns behind the last one.
	Count string `json:"count,omitempty"`
	Max   int64  `json:"max,omitempty"`  // loop: more turns than this are an error; 0 is no limit
	Body  string `json:"body"`           // region
	Else  string `json:"else,omitempty"` // region; if: "" does nothing
}

// Region is a named list of launches.
type Region struct {
	Name     string   `json:"name"`
	Launches []Launch `json:"launches"`
}

// Constant is a tensor of the model that was computed at compile time and exists no more.
type Constant struct {
	Name  string       `json:"name"`
	DType tensor.DType `json:"dtype"`
	Shape tensor.Shape `json:"shape"`
}
