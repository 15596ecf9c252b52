// Package transform lowers a scheduled function to kernels: blocks become statements, buffers shrink to what is used of
// them, guards of imperfect tiles become loops of the right length, vector and unrolled loops are carried out, and the
// outermost parallel loops become the grid.
//
// The passes stand in one list, in Passes. Each is a pure function of a kernel and options; the first makes the kernels
// from the function. A variable or a buffer may be declared again in a sibling scope after a pass copied a statement.
package transform

import (
	"github.com/texel-ml/texel/diag"
	"github.com/texel-ml/texel/tir"
)

// Device is the kind of machine that kernels are lowered for.
type Device string

// The devices.
const (
	CPU Device = "cpu" // parallel loops become the grid
	GPU Device = "gpu" // loops bound to grid axes stay loops, and the emitter reads them
)

// Options of lowering. The zero value lowers for a CPU.
type Options struct {
	// Device is CPU or GPU; empty is CPU.
	Device Device
	// MaxGrowth bounds the nodes that partition-loops may add to a kernel by copying; guards that would need more stay.
	// 0 is 40,000.
	MaxGrowth int
	// MaxUnroll bounds the statements that unroll may make in a kernel; above it is an error. 0 is 20,000.
	MaxUnroll int
	// MaxLanes bounds the lanes of a vector; a longer vectorized loop is cut. 0 is 64.
	MaxLanes int
	// StopAfter names the last pass to run. Empty runs all, and only then are the kernels checked.
	StopAfter string
	// Observe, where set, gets the kernels after each pass.
	Observe func(pass string, kernels []*tir.Kernel)
}

func (o Options) withDefaults() Options {
	if o.Device == "" {
		o.Device = CPU
	}
	if o.MaxGrowth == 0 {
		o.MaxGrowth = 40_000
	}
	if o.MaxUnroll == 0 {
		o.MaxUnroll = 20_000
	}
	if o.MaxLanes == 0 {
		o.MaxLanes = 64
	}
	return o
}

// Pass is one step of lowering. The first has Split, the others have Run.
type Pass struct {
	Name  string
	Why   string // why it stands where it stands
	Split func(*tir.Func, Options) ([]*tir.Kernel, []*tir.Buffer, error)
	Run   func(*tir.Kernel, Options) (*tir.Kernel, error)
}

// Passes returns the passes in order.
func Passes() []Pass {
	return []Pass{
		{Name: "lower-blocks", Split: LowerBlocks, Why: "everything below works on plain statements"},
		{Name: "simplify", Run: Simplify, Why: "the passes below read canonical conditions and constant bounds"},
		{Name: "compact-buffers", Run: CompactBuffers, Why: "before loops are cut, while a region is one sweep of each loop"},
		{Name: "lift-grid", Run: LiftGrid, Why: "before loops are cut, so that the parallel nest is still perfect"},
		{Name: "partition-loops", Run: PartitionLoops, Why: "before vectors are made, so that tails become shorter vectors"},
		{Name: "vectorize", Run: Vectorize, Why: "before unrolling, while a loop body is there once; what it must scalarise is unrolled"},
		{Name: "unroll", Run: Unroll, Why: "last of the copies"},
		{Name: "simplify", Run: Simplify, Why: "folds the indices of the copies"},
		{Name: "size-scratch", Run: SizeScratch, Why: "all buffers have their last shape"},
	}
}

// Lower runs the passes on a function in block form and returns its kernels, in the order in which they run, and the
// buffers that pass values between them.
func Lower(f *tir.Func, opts Options) ([]*tir.Kernel, []*tir.Buffer, error) {
	opts = opts.withDefaults()
	var kernels []*tir.Kernel
	var between []*tir.Buffer
	for _, p := range Passes() {
		if p.Split != nil {
			var err error
			if kernels, between, err = p.Split(f, opts); err != nil {
				return nil, nil, err
			}
		} else {
			for i, k := range kernels {
				to, err := p.Run(k, opts)
				if err != nil {
					return nil, nil, err
				}
				kernels[i] = to
			}
		}
		if opts.Observe != nil {
			opts.Observe(p.Name, append([]*tir.Kernel(nil), kernels...))
		}
		if p.Name == opts.StopAfter {
			return kernels, between, nil
		}
	}
	if opts.StopAfter != "" {
		return nil, nil, diag.Invalid("lower", f.Name, "no pass is named %q", opts.StopAfter)
	}
	for _, k := range kernels {
		if err := CheckLowered(k, opts); err != nil {
			return nil, nil, err
		}
	}
	return kernels, between, nil
}

// nodes counts the statements and expressions below root.
func nodes(root any) int {
	n := 0
	tir.Walk(root, func(any) bool {
		n++
		return true
	})
	return n
}

// withBody returns k with another body.
func withBody(k *tir.Kernel, body tir.Stmt) *tir.Kernel {
	if body == k.Body {
		return k
	}
	c := *k
	c.Body = body
	return &c
}

// accesses reports whether b is read and whether it is written below root.
func accesses(root any, b *tir.Buffer) (read, written bool) {
	tir.Walk(root, func(n any) bool {
		switch n := n.(type) {
		case *tir.Load:
			read = read || n.Buffer == b
		case *tir.Store:
			written = written || n.Buffer == b
		}
		return true
	})
	return read, written
}
