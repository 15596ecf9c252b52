package tir

import (
	"github.com/texel-ml/texel/tensor"
)

// Scope is where a buffer lives.
type Scope string

// The scopes. Texture needs a Folding. Scratch is memory private to a worker that is too large for registers: on a
// CPU it is carved from the kernel's scratch argument.
const (
	Global  Scope = "global"
	Shared  Scope = "shared"
	Local   Scope = "local" // registers: with constant indices its elements become SSA values
	Scratch Scope = "scratch"
	Texture Scope = "texture"
)

// Folding says which axes of a buffer make the width, the height and the layers of an image. The last axis is the
// pixel and is in none of them.
type Folding struct{ Width, Height, Layers []int }

// Buffer is a multi-dimensional array with fixed extents. Identity is the pointer.
type Buffer struct {
	Name    string
	DType   tensor.DType
	Shape   []int
	Strides []int // in elements; nil is row-major
	Scope   Scope
	Folding *Folding // for Texture
}

// Elems returns the number of elements of the shape.
func (b *Buffer) Elems() int { return tensor.Shape(b.Shape).Elems() }

// StrideList returns the strides in elements, row-major when none are set.
func (b *Buffer) StrideList() []int {
	if b.Strides != nil {
		return b.Strides
	}
	return tensor.Shape(b.Shape).Strides()
}

// Range is a half-open interval of Extent values from Min.
type Range struct{ Min, Extent Expr }

// Region is a box of a buffer.
type Region struct {
	Buffer *Buffer
	Ranges []Range
}

// Stmt is a statement: *For, *BlockRealize, *Store, *Seq, *If, *While, *Let, *Allocate, *Barrier or *Evaluate.
type Stmt interface{ isStmt() }

// LoopKind says how a loop's iterations run.
type LoopKind uint8

// The kinds of loop.
const (
	Serial LoopKind = iota
	Parallel
	Vectorized
	Unrolled
	Bound // to a grid axis, named by For.Thread
)

var loopKindNames = [...]string{"serial", "parallel", "vectorized", "unrolled", "bound"}

// String returns the kind's name in the text form.
func (k LoopKind) String() string { return loopKindNames[k] }

// Partition and Prefetch are attributes of a loop that ask for something and change no result. Partition, of any value,
// lets partition-loops cut the loop where the guard of a Select changes. Prefetch names a buffer: what the loop's body
// reads of it, it also fetches ahead, one step further along the buffer's outermost axis.
const (
	Partition = "partition"
	Prefetch  = "prefetch"
)

// For runs Body for Var in [Min, Min+Extent).
type For struct {
	Var         *Var
	Min, Extent Expr
	Kind        LoopKind
	Thread      string // for Bound: blockIdx.x … threadIdx.z, vthread
	Attrs       map[string]string
	Body        Stmt
}

// IterKind says what a block's iteration variable is.
type IterKind uint8

// The kinds of iteration variable.
const (
	Spatial IterKind = iota // each value is one independent instance
	Reduce                  // instances update the same element, in any order
	Ordered                 // each instance may read what those of smaller values wrote: they run in order
)

var iterKindNames = [...]string{"spatial", "reduce", "ordered"}

// String returns the kind's name in the text form.
func (k IterKind) String() string { return iterKindNames[k] }

// IterVar is an iteration variable of a block, over [0, Extent).
type IterVar struct {
	Var    *Var
	Extent int
	Kind   IterKind
}

// Block is a unit of computation: for each value of its iteration variables it reads and writes the declared regions
// and nothing else. A block with a reduce variable has Init, run before the first reduce instance of each element.
type Block struct {
	Name   string
	Iters  []IterVar
	Reads  []Region
	Writes []Region
	Allocs []*Buffer // buffers that live as long as one instance
	Init   Stmt
	Body   Stmt
	Opaque bool // primitives may move it whole, not enter it
	Attrs  map[string]string
}

// BlockRealize runs one instance of a block with its iteration variables bound to Values, where Where holds.
type BlockRealize struct {
	Values []Expr
	Where  Expr // nil: always
	Block  *Block
}

// Store writes a buffer; the value's lanes are those of the indices.
type Store struct {
	Buffer  *Buffer
	Indices []Expr
	Value   Expr
}

// Seq runs statements in order.
type Seq struct{ Stmts []Stmt }

// If runs Then where Cond holds, else Else, which may be nil.
type If struct {
	Cond       Expr
	Then, Else Stmt
}

// While runs Body as long as Cond holds; only inside opaque blocks.
type While struct {
	Cond Expr
	Body Stmt
}

// Let binds Var to Value in Body.
type Let struct {
	Var   *Var
	Value Expr
	Body  Stmt
}

// DoubleBuffer is an attribute, of any value, of a block and, after blocks are lowered, of the allocation of what it
// writes: the buffer gets two halves, so that one is filled while the other is read.
const DoubleBuffer = "double_buffer"

// Allocate gives Buffer memory during Body. It exists after blocks are lowered. Its contents are undefined at first. A
// shared buffer is one for each work-group, wherever in the loops over work-items it is allocated; a local or scratch
// buffer is one for each work-item or worker.
type Allocate struct {
	Buffer *Buffer
	Attrs  map[string]string
	Body   Stmt
}

// WithBody returns the allocation with another body.
func (a *Allocate) WithBody(body Stmt) *Allocate { return &Allocate{a.Buffer, a.Attrs, body} }

// Barrier lets no work-item of a group go on before all have come to it. What they wrote before to buffers of Scope,
// Shared or Global, is then seen by all; Global includes Shared. All work-items of a group come to the same barrier the
// same number of times. It exists in kernels of a GPU.
type Barrier struct{ Scope Scope }

// Evaluate evaluates an expression; nothing follows from its value.
type Evaluate struct{ Value Expr }

func (*For) isStmt()          {}
func (*BlockRealize) isStmt() {}
func (*Store) isStmt()        {}
func (*Seq) isStmt()          {}
func (*If) isStmt()           {}
func (*While) isStmt()        {}
func (*Let) isStmt()          {}
func (*Allocate) isStmt()     {}
func (*Barrier) isStmt()      {}
func (*Evaluate) isStmt()     {}

// Func is a function: Params are its buffers in order (inputs, then outputs), Scalars its integer arguments. In the
// block form the body is the realization of a root block without iteration variables, whose Allocs are the
// intermediate buffers.
type Func struct {
	Name    string
	Params  []*Buffer
	Outputs int // how many of the last Params are written
	Scalars []*Var
	Body    Stmt
	Attrs   map[string]string
}

// Kernel is a function after the loop passes: no blocks are left, and the grid is explicit. The body runs once for each
// value of Grid in [0, GridExtent); GridExtent 1 has Grid nil.
type Kernel struct {
	Name       string
	Params     []*Buffer
	Outputs    int
	Scalars    []*Var
	Grid       *Var
	GridExtent int
	Group      int // work-group size on devices that have one
	Scratch    int // bytes of scratch a worker needs
	Body       Stmt
}

// Root returns the root block of a function in block form, or nil.
func (f *Func) Root() *Block {
	if r, ok := f.Body.(*BlockRealize); ok {
		return r.Block
	}
	return nil
}
