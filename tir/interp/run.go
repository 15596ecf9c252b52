// Package interp executes functions and kernels of the loop IR. It is the oracle of the passes and of every back end:
// slow and simple, but it computes in the real element types, checks every access and detects reads of memory that was
// never written.
//
// What it refuses, with the buffer, the index and the values of the loops around: an index outside a buffer, an access
// outside the regions that a block declares, a read of an element of allocated memory (or of a function's output) before
// it is written, a division by zero, and with Races, iterations of one parallel, vectorized or bound loop that touch the
// same element with at least one write.
//
// Floats are rounded to their type after each operation, so that a sum in float16 is one of float16; with Float64 no
// operation is rounded except conversions to integers. Shifts by the width or more give 0, or the sign.
package interp

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/texel-ml/texel/diag"
	"github.com/texel-ml/texel/tensor"
	"github.com/texel-ml/texel/tir"
)

// Options of a run. The zero value computes in the real types without a limit.
type Options struct {
	Float64  bool               // compute floats in float64; buffers between are float64 too
	Races    bool               // check that iterations of parallel loops are independent; several times slower
	MaxSteps int64              // iterations of all loops together; 0 is no limit
	Scalars  map[*tir.Var]int64 // the values of the scalar arguments
}

// maxElems bounds a buffer.
const maxElems = 1 << 28

// Run executes a function on tensors in the order of its parameters; those of the outputs are overwritten.
func Run(ctx context.Context, f *tir.Func, args []*tensor.Tensor, opts Options) error {
	c := newCompiler(f.Name, opts)
	if err := c.params(f.Params, f.Outputs, f.Scalars, args); err != nil {
		return err
	}
	body, err := c.compile(f.Body, f.Root())
	if err != nil {
		return err
	}
	return c.run(ctx, f.Name, body, args, f.Outputs, true)
}

// RunKernel executes a kernel on tensors in the order of its parameters; those of the outputs are overwritten.
func RunKernel(ctx context.Context, k *tir.Kernel, args []*tensor.Tensor, opts Options) error {
	c := newCompiler(k.Name, opts)
	if err := c.params(k.Params, k.Outputs, k.Scalars, args); err != nil {
		return err
	}
	whole := k.Body
	if k.Grid != nil {
		whole = &tir.For{Var: k.Grid, Min: tir.I(0), Extent: tir.I(k.GridExtent), Kind: tir.Parallel, Body: k.Body}
	}
	body, err := c.compile(whole, nil)
	if err != nil {
		return err
	}
	return c.run(ctx, k.Name, body, args, k.Outputs, false)
}

// RunKernels executes the kernels of one function in order. Buffers that have no tensor are made and added to buffers.
func RunKernels(ctx context.Context, kernels []*tir.Kernel, buffers map[*tir.Buffer]*tensor.Tensor, opts Options) error {
	for _, k := range kernels {
		args := make([]*tensor.Tensor, len(k.Params))
		for i, b := range k.Params {
			if buffers[b] == nil {
				if n := b.Elems(); n < 0 || n > maxElems {
					return diag.Unsupported("interp", b.Name, "buffer of shape %v is above %d elements", b.Shape, maxElems)
				}
				buffers[b] = tensor.New(b.DType, b.Shape)
			}
			args[i] = buffers[b]
		}
		if err := RunKernel(ctx, k, args, opts); err != nil {
			return err
		}
	}
	return nil
}

// memory is the contents of a buffer; f for floats, i for the rest.
type memory struct {
	f       []float64
	i       []int64
	ready   []bool       // which elements were written; nil when all are
	writers []*iteration // for Races
	readers []*iteration
}

func newMemory(d tensor.DType, elems int, track, races bool) memory {
	var m memory
	if d.IsFloat() {
		m.f = make([]float64, elems)
	} else {
		m.i = make([]int64, elems)
	}
	if track {
		m.ready = make([]bool, elems)
	}
	if races {
		m.writers, m.readers = make([]*iteration, elems), make([]*iteration, elems)
	}
	return m
}

// frame is the state of a run.
type frame struct {
	ctx    context.Context
	ints   []int64   // variables that are not floats
	floats []float64 // variables that are
	lane   int64     // of the vector expression being evaluated
	mem    []memory  // by buffer
	boxes  [][]int64 // regions of the open blocks: lo, hi for each axis
	steps  int64
	limit  int64
	at     *iteration
	loops  int64 // executions of parallel loops, to number them
}

// iteration is one iteration of a parallel loop.
type iteration struct {
	parent *iteration
	depth  int
	loop   int64 // the execution of the loop that it belongs to
}

// concurrent reports whether two iterations are different ones of the same execution of a loop, or inside such.
func concurrent(a, b *iteration) bool {
	if a == nil || b == nil || a == b {
		return false
	}
	for a.depth > b.depth {
		a = a.parent
	}
	for b.depth > a.depth {
		b = b.parent
	}
	if a == b {
		return false
	}
	for a.parent != b.parent {
		a, b = a.parent, b.parent
	}
	return a.loop == b.loop
}

func (f *frame) step() {
	f.steps++
	if f.steps&4095 == 0 {
		if err := f.ctx.Err(); err != nil {
			panic(stop{err})
		}
	}
	if f.limit > 0 && f.steps > f.limit {
		panic(stop{fmt.Errorf("above the limit of %d steps", f.limit)})
	}
}

// stop ends a run from inside; run recovers it.
type stop struct{ err error }

func (c *compiler) run(ctx context.Context, name string, body func(*frame), args []*tensor.Tensor, outputs int, fresh bool) (err error) {
	f := &frame{ctx: ctx, ints: make([]int64, c.ints), floats: make([]float64, c.floats), mem: make([]memory, len(c.buffers)),
		boxes: make([][]int64, c.boxes), limit: c.opts.MaxSteps}
	for v, n := range c.opts.Scalars {
		if slot, ok := c.vars[v]; ok && !v.DType.IsFloat() {
			f.ints[slot] = n
		}
	}
	for i, t := range args {
		f.mem[i] = newMemory(t.DType, t.Elems(), fresh && i >= len(args)-outputs, c.opts.Races)
		w := tensor.Widen(t)
		copy(f.mem[i].f, w.F)
		copy(f.mem[i].i, w.I)
	}
	defer func() {
		switch r := recover().(type) {
		case nil:
		case stop:
			var d *diag.Error
			if errors.As(r.err, &d) {
				err = d
			} else {
				err = diag.Invalid("interp", name, "run stopped").By(r.err)
			}
		default:
			panic(r)
		}
	}()
	body(f)
	for i := len(args) - outputs; i < len(args); i++ {
		w := &tensor.Wide{DType: args[i].DType, Shape: args[i].Shape, F: f.mem[i].f, I: f.mem[i].i}
		copy(args[i].Data, w.Narrow().Data)
	}
	return nil
}

// loopRef is a loop around a statement, for messages.
type loopRef struct {
	name string
	slot int
}

// where prints the values of the loops around.
func where(f *frame, loops []loopRef) string {
	if len(loops) == 0 {
		return "outside any loop"
	}
	parts := make([]string, len(loops))
	for i, l := range loops {
		parts[i] = fmt.Sprintf("%s = %d", l.name, f.ints[l.slot])
	}
	return "at " + strings.Join(parts, ", ")
}
