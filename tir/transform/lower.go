// Package transform lowers a scheduled function to kernels: blocks become statements, buffers shrink to what is used of
// them, guards of imperfect tiles become loops of the right length, vector and unrolled loops are carried out, and the
// outermost parallel loops become the grid.
//
// The passes stand in one list, in Passes. Each is a pure function of a kernel and options; the first makes the kernels
// from the function. A variable or a buffer may be declared again in a sibling scope after a pass copied a statement.
package transform

import (
	"slices"

	"github.com/texel-ml/texel/diag"
	"github.com/texel-ml/texel/tir"
	"github.com/texel-ml/texel/tir/verify"
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
	// StartAt names the first pass to run, for Continue: a pass behind the first, by its name or by what PassName returns.
	// Empty is the one behind the program's stage.
	StartAt string
	// StopAfter names the last pass to run, by its name or by what PassName returns. Empty runs all, and then the kernels
	// are checked.
	StopAfter string
	// Verify checks the function before the first pass, and the kernels behind each pass against the row of that pass in
	// verify.Stages. Without it only the final kernels are checked.
	Verify bool
	// Observe, where set, gets the kernels after each pass.
	Observe func(pass string, kernels []*tir.Kernel)
	// Dump, where set, gets the program after each pass of LowerProgram and Continue. What tirtext.PrintProgram makes of it
	// is an input of Continue, by way of ReadDump.
	Dump func(*tir.Program)
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
		{Name: "expand-vthreads", Run: ExpandVthreads, Why: "what they share is done once before buffers get halves and barriers are counted"},
		{Name: "double-buffer", Run: DoubleBuffer, Why: "after buffers have shrunk to one iteration's part; its conditions go when loops are partitioned"},
		{Name: "insert-barriers", Run: InsertBarriers, Why: "while each loop over work-items still stands by itself, so that what passes between two of them is seen"},
		{Name: "lift-threads", Run: LiftThreads, Why: "after barriers, which stand between the loops; before loops are cut, since a body is one work-item's from here on"},
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
	g, err := LowerProgram(f, opts)
	if err != nil {
		return nil, nil, err
	}
	return g.Kernels, g.Between, nil
}

// LowerProgram is Lower with the kernels and what they share as one program.
func LowerProgram(f *tir.Func, opts Options) (*tir.Program, error) {
	if opts.StartAt != "" {
		return nil, diag.Invalid("lower", f.Name, "the passes of a function cannot start at %q; wanted kernels", opts.StartAt)
	}
	opts = opts.withDefaults()
	if opts.Verify {
		if err := verify.Verify(f); err != nil {
			return nil, err
		}
	}
	kernels, between, err := LowerBlocks(f, opts)
	if err != nil {
		return nil, err
	}
	g := &tir.Program{Name: f.Name, Params: f.Params, Outputs: f.Outputs, Scalars: f.Scalars, Between: between, Kernels: kernels}
	return run(g, 0, opts)
}

// run does the passes of the list on a program: from the given place on, which for the first means that it was done.
func run(g *tir.Program, place int, opts Options) (*tir.Program, error) {
	passes := Passes()
	last := len(passes) - 1
	if opts.StopAfter != "" {
		var err error
		if last, err = FindPass(opts.StopAfter); err != nil {
			return nil, err
		}
	}
	for i := place; i <= last; i++ {
		if passes[i].Run != nil {
			list := make([]*tir.Kernel, len(g.Kernels))
			for j, k := range g.Kernels {
				to, err := passes[i].Run(k, opts)
				if err != nil {
					return nil, err
				}
				list[j] = to
			}
			g = withKernels(g, list)
		}
		g.Stage = PassName(i)
		if opts.Observe != nil {
			opts.Observe(passes[i].Name, slices.Clone(g.Kernels))
		}
		if opts.Dump != nil {
			opts.Dump(withKernels(g, g.Kernels))
		}
		if opts.Verify || i == len(passes)-1 && opts.StopAfter == "" {
			if err := check(g.Kernels, i, opts); err != nil {
				return nil, err
			}
		}
	}
	return g, nil
}

func withKernels(g *tir.Program, kernels []*tir.Kernel) *tir.Program {
	c := *g
	c.Kernels = kernels
	return &c
}

// check holds kernels against the row of the pass at a place of the list.
func check(kernels []*tir.Kernel, place int, opts Options) error {
	on := verify.CPU
	if opts.Device == GPU {
		on = verify.GPU
	}
	for _, k := range kernels {
		if err := verify.Kernel(k, verify.Stages()[place], on); err != nil {
			return err
		}
	}
	return nil
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

// copiesOf returns a buffer of n copies of b: with one more axis in front.
func copiesOf(b *tir.Buffer, n int) *tir.Buffer {
	to := *b
	to.Shape = append([]int{n}, b.Shape...)
	if b.Strides != nil {
		to.Strides = append([]int{footprint(b)}, b.Strides...)
	}
	return &to
}

// inCopy returns s with copy at of the buffer to, of copies of from, in place of from.
func inCopy(s tir.Stmt, from, to *tir.Buffer, at tir.Expr) tir.Stmt {
	return tir.ReplaceBuffer(s, from, to, func(idx []tir.Expr) []tir.Expr { return slices.Insert(slices.Clone(idx), 0, at) })
}
