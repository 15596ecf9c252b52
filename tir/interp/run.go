// Package interp executes functions and kernels of the loop IR. It is the oracle of the passes and of every back end:
// slow and simple, but it computes in the real element types, checks every access and detects reads of memory that was
// never written.
//
// What it refuses, with the buffer, the index and the values of the loops around: an index outside a buffer, an access
// outside the regions that a block declares, a read of an element of allocated memory (or of a function's output) before
// it is written, a division by zero, arguments that overlap in memory, a barrier that not all work-items of a group come
// to, and with Races, iterations of one parallel, vectorized or bound loop that touch the same element with at least one
// write, and vectors that store two lanes to one element.
//
// A kernel whose loops are bound to grid axes runs as a device runs it: group by group, each work-item by itself from
// barrier to barrier, with its own copy of local memory; a loop bound to an axis is one iteration of each work-item.
// What stands outside the loops of an axis every work-item along it runs, but only the first stores what others see. A
// function, and a kernel with SerialThreads, runs its bound loops as loops.
//
// Floats are rounded to their type after each operation, so that a sum in float16 is one of float16; with Float64 no
// operation is rounded except conversions to integers. Shifts by the width or more give 0, or the sign.
package interp

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"unsafe"

	"github.com/texel-ml/texel/diag"
	"github.com/texel-ml/texel/tensor"
	"github.com/texel-ml/texel/tir"
)

// Options of a run. The zero value computes in the real types without a limit.
type Options struct {
	// Float64 computes floats in float64; buffers between are float64 too.
	Float64 bool
	// Races checks that iterations of parallel loops are independent; it takes about twice as long.
	Races bool
	// SerialThreads runs the loops of a kernel that are bound to grid axes one iteration after the other: what a kernel
	// means before insert-barriers.
	SerialThreads bool
	// MaxSteps bounds the iterations of all loops together; 0 is no limit.
	MaxSteps int64
	// Scalars are the values of the scalar arguments.
	Scalars map[*tir.Var]int64
}

// maxElems bounds the elements of a buffer, and those of all buffers that a kernel or function allocates together.
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
	return c.run(ctx, body, args, f.Outputs, true)
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
	if !opts.SerialThreads {
		c.device = deviceOf(k)
	}
	body, err := c.compile(whole, nil)
	if err != nil {
		return err
	}
	return c.run(ctx, body, args, k.Outputs, false)
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

// apart reports an output that shares memory with another argument.
func apart(params []*tir.Buffer, outputs int, args []*tensor.Tensor) error {
	ends := func(t *tensor.Tensor) (from, to uintptr) {
		from = uintptr(unsafe.Pointer(unsafe.SliceData(t.Data)))
		return from, from + uintptr(len(t.Data))
	}
	for i := len(args) - outputs; i < len(args); i++ {
		from, to := ends(args[i])
		for j := range i {
			if lo, hi := ends(args[j]); lo < to && from < hi {
				return diag.Invalid("interp", params[i].Name, "the output shares memory with %s", params[j].Name)
			}
		}
	}
	return nil
}

// memory is the contents of a buffer; f for floats, i for the rest.
type memory struct {
	f     []float64
	i     []int64
	ready []bool  // which elements were written; nil when all are
	users []users // for Races
	fence int     // which barriers order it

	own     bool    // one for each iteration of a loop
	written []int64 // of those, what the iteration wrote
}

func newMemory(b *tir.Buffer, elems int, track, races bool) memory {
	m := memory{fence: globalFence}
	if b.Scope == tir.Shared {
		m.fence = sharedFence
	}
	if b.DType.IsFloat() {
		m.f = make([]float64, elems)
	} else {
		m.i = make([]int64, elems)
	}
	if track {
		m.ready = make([]bool, elems)
	}
	if races {
		m.users = make([]users, elems)
	}
	return m
}

// forget makes the memory as if it were new.
func (m *memory) forget() {
	clear(m.ready)
	clear(m.users)
}

// frame is the state of a run, or of one work-item where those take turns.
type frame struct {
	*meter
	ints   []int64   // variables that are not floats
	floats []float64 // variables that are
	lane   int64     // of the vector expression being evaluated
	mem    []memory  // by buffer
	boxes  [][]int64 // regions of the open blocks: lo, hi for each axis
	at     *iteration
	ids    [tir.GridAxes]int64 // of the work-item
	stop   func(*barrier) bool
}

// meter counts what all work-items do together.
type meter struct {
	ctx   context.Context
	steps int64
	limit int64
	work  int64 // since the context was asked
	loops int64 // executions of parallel loops, to number them
}

// step counts an iteration.
func (m *meter) step() {
	m.steps++
	if m.limit > 0 && m.steps > m.limit {
		panic(stop{fmt.Errorf("above the limit of %d steps", m.limit)})
	}
	m.spend(1)
}

// spend counts work, and asks the context about every 10,000 stores.
func (m *meter) spend(n int64) {
	if m.work += n; m.work >= 1<<14 {
		m.work = 0
		if err := m.ctx.Err(); err != nil {
			panic(stop{err})
		}
	}
}

// stop ends a run from inside; run recovers it.
type stop struct{ err error }

func (c *compiler) run(ctx context.Context, body func(*frame), args []*tensor.Tensor, outputs int, fresh bool) (err error) {
	if err := ctx.Err(); err != nil {
		return diag.Invalid("interp", c.name, "run stopped").By(err)
	}
	if err := apart(c.buffers[:len(args)], outputs, args); err != nil {
		return err
	}
	f := &frame{meter: &meter{ctx: ctx, limit: c.opts.MaxSteps}, ints: make([]int64, c.ints), floats: make([]float64, c.floats),
		mem: make([]memory, len(c.buffers)), boxes: make([][]int64, c.boxes)}
	for v, n := range c.opts.Scalars {
		if slot, ok := c.vars[v]; ok && !v.DType.IsFloat() {
			f.ints[slot] = n
		}
	}
	for i, t := range args {
		f.mem[i] = newMemory(c.buffers[i], t.Elems(), fresh && i >= len(args)-outputs, c.opts.Races)
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
				err = diag.Invalid("interp", c.name, "run stopped").By(r.err)
			}
		default:
			panic(r)
		}
	}()
	if c.device != nil {
		c.device.run(c, f, body)
	} else {
		body(f)
	}
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
