package verify

import "github.com/texel-ml/texel/tir"

// On says for which kind of device something may be in a kernel.
type On uint8

// The kinds of device: processors, and those with work-groups.
const (
	None On = 0
	CPU  On = 1
	GPU  On = 2
	Both On = CPU | GPU
)

// Stage is a row of what a kernel may hold behind a loop pass. What every kernel may hold, and how, Kernel says.
type Stage struct {
	After      string // the pass, by its name in transform.Passes
	Parallel   On     // parallel loops
	Vectorized On     // vectorized loops
	Unrolled   On     // unrolled loops
	Vthread    On     // loops bound to vthread
	Bound      On     // loops bound to a grid axis
	Nested     On     // these anywhere; otherwise they are outermost, one for each axis
	Halves     On     // allocations that ask for a double buffer
	Barriers   On     // barriers
	Grid       On     // a grid variable
	Final      On     // what emitters take: vectors along the last axis of what is stored, whole texels
}

// loops says for which devices a loop like f may be there.
func (s Stage) loops(f *tir.For) On {
	switch f.Kind {
	case tir.Serial:
		return Both
	case tir.Parallel:
		return s.Parallel
	case tir.Vectorized:
		return s.Vectorized
	case tir.Unrolled:
		return s.Unrolled
	case tir.Bound:
		if f.Thread == tir.Vthread {
			return s.Vthread
		}
		return s.Bound
	}
	return None
}

// stages are the rows in the order of the passes. A row differs from the one above by what its pass carries out. Parallel
// loops are the grid of a processor; for a device with work-groups lift-grid refuses them.
var stages = []Stage{
	{"lower-blocks", Both, Both, Both, Both, Both, Both, Both, None, None, None},
	{"simplify", Both, Both, Both, Both, Both, Both, Both, None, None, None},
	{"compact-buffers", Both, Both, Both, Both, Both, Both, Both, None, None, None},
	{"expand-vthreads", Both, Both, Both, None, Both, Both, Both, None, None, None},
	{"double-buffer", Both, Both, Both, None, Both, Both, None, None, None, None},
	{"insert-barriers", Both, Both, Both, None, Both, Both, None, GPU, None, None},
	{"lift-threads", Both, Both, Both, None, Both, CPU, None, GPU, None, None},
	{"lift-grid", None, Both, Both, None, GPU, None, None, GPU, CPU, None},
	{"partition-loops", None, Both, Both, None, GPU, None, None, GPU, CPU, None},
	{"vectorize", None, None, Both, None, GPU, None, None, GPU, CPU, None},
	{"unroll", None, None, None, None, GPU, None, None, GPU, CPU, None},
	{"simplify", None, None, None, None, GPU, None, None, GPU, CPU, None},
	{"size-scratch", None, None, None, None, GPU, None, None, GPU, CPU, Both},
}

// Stages returns the rows in the order of the passes.
func Stages() []Stage { return append([]Stage(nil), stages...) }

// Final returns the row behind the last pass.
func Final() Stage { return stages[len(stages)-1] }
