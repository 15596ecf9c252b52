package interp

import (
	"fmt"
	"slices"

	"github.com/texel-ml/texel/diag"
	"github.com/texel-ml/texel/tensor"
	"github.com/texel-ml/texel/tir"
)

// compiler turns statements and expressions into closures.
type compiler struct {
	name    string
	opts    Options
	buffers []*tir.Buffer
	slots   map[*tir.Buffer]int
	vars    map[*tir.Var]int // in frame.ints or frame.floats, by type
	ints    int
	floats  int
	boxes   int
	loops   []loopRef
	block   *blockRef // innermost block around, nil outside
	err     error
}

// blockRef is a block whose regions bound the accesses inside.
type blockRef struct {
	name    string
	own     []*tir.Buffer         // allocated inside
	regions map[*tir.Buffer][]int // boxes
	written map[*tir.Buffer][]int
}

func newCompiler(name string, opts Options) *compiler {
	return &compiler{name: name, opts: opts, slots: map[*tir.Buffer]int{}, vars: map[*tir.Var]int{}}
}

func (c *compiler) fail(format string, args ...any) {
	if c.err == nil {
		c.err = diag.Invalid("interp", c.name, format, args...)
	}
}

func (c *compiler) params(params []*tir.Buffer, outputs int, scalars []*tir.Var, args []*tensor.Tensor) error {
	if len(args) != len(params) || outputs > len(params) {
		return diag.Invalid("interp", c.name, "wanted %d tensors, found %d", len(params), len(args))
	}
	for _, v := range scalars {
		if _, ok := c.opts.Scalars[v]; !ok || v.DType.IsFloat() {
			return diag.Invalid("interp", c.name, "scalar argument %s of %v has no value", v.Name, v.DType)
		}
	}
	for i, b := range params {
		if args[i] == nil || args[i].DType != b.DType || !slices.Equal(args[i].Shape, b.Shape) {
			found := "none"
			if args[i] != nil {
				found = fmt.Sprintf("%v of shape %v", args[i].DType, args[i].Shape)
			}
			return diag.Invalid("interp", b.Name, "wanted a tensor of %v and shape %v, found %s", b.DType, tensor.Shape(b.Shape), found)
		}
		if err := args[i].Check(); err != nil {
			return diag.Invalid("interp", b.Name, "tensor is damaged").By(err)
		}
		c.slot(b)
	}
	for _, v := range scalars {
		c.variable(v)
	}
	return nil
}

func (c *compiler) slot(b *tir.Buffer) int {
	s, ok := c.slots[b]
	if !ok {
		s = len(c.buffers)
		c.slots[b] = s
		c.buffers = append(c.buffers, b)
	}
	return s
}

// variable gives v a place.
func (c *compiler) variable(v *tir.Var) int {
	if s, ok := c.vars[v]; ok {
		return s
	}
	if v.DType.IsFloat() {
		c.floats++
		c.vars[v] = c.floats - 1
	} else {
		c.ints++
		c.vars[v] = c.ints - 1
	}
	return c.vars[v]
}

// compile compiles a whole body; root is the block whose regions are not checked.
func (c *compiler) compile(body tir.Stmt, root *tir.Block) (func(*frame), error) {
	code := c.stmt(body, root)
	if c.err != nil {
		return nil, c.err
	}
	return code, nil
}

func (c *compiler) stmt(s tir.Stmt, root *tir.Block) func(*frame) {
	if c.err != nil {
		return func(*frame) {}
	}
	switch n := s.(type) {
	case nil:
		return func(*frame) {}
	case *tir.For:
		return c.loop(n)
	case *tir.BlockRealize:
		return c.realize(n, n.Block == root)
	case *tir.Store:
		return c.store(n)
	case *tir.Seq:
		list := make([]func(*frame), len(n.Stmts))
		for i, s := range n.Stmts {
			list[i] = c.stmt(s, nil)
		}
		return func(f *frame) {
			for _, s := range list {
				s(f)
			}
		}
	case *tir.If:
		cond, then, els := c.int(n.Cond), c.stmt(n.Then, nil), c.stmt(n.Else, nil)
		return func(f *frame) {
			if cond(f) != 0 {
				then(f)
			} else {
				els(f)
			}
		}
	case *tir.While:
		cond, body := c.int(n.Cond), c.stmt(n.Body, nil)
		return func(f *frame) {
			for cond(f) != 0 {
				f.step()
				body(f)
			}
		}
	case *tir.Let:
		value, slot := c.expr(n.Value), c.variable(n.Var)
		body := c.stmt(n.Body, nil)
		if n.Var.DType.IsFloat() {
			return func(f *frame) {
				f.floats[slot] = value.f(f)
				body(f)
			}
		}
		return func(f *frame) {
			f.ints[slot] = value.i(f)
			body(f)
		}
	case *tir.Allocate:
		if c.block != nil {
			c.block.own = append(c.block.own, n.Buffer)
		}
		alloc, body := c.allocate(n.Buffer), c.stmt(n.Body, nil)
		return func(f *frame) {
			alloc(f)
			body(f)
		}
	case *tir.Evaluate:
		value := c.expr(n.Value)
		if value.f != nil {
			return func(f *frame) { value.f(f) }
		}
		return func(f *frame) { value.i(f) }
	}
	c.fail("unknown statement %T", s)
	return func(*frame) {}
}

// allocate gives a buffer fresh memory, none of it written.
func (c *compiler) allocate(b *tir.Buffer) func(*frame) {
	slot, elems := c.slot(b), b.Elems()
	if elems < 0 || elems > maxElems {
		c.fail("buffer %s of shape %v is above %d elements", b.Name, tensor.Shape(b.Shape), maxElems)
		return nil
	}
	races := c.opts.Races
	return func(f *frame) {
		m := &f.mem[slot]
		if len(m.ready) != elems || m.ready == nil {
			*m = newMemory(b.DType, elems, true, races)
			return
		}
		clear(m.ready)
		clear(m.writers)
		clear(m.readers)
	}
}

func (c *compiler) loop(n *tir.For) func(*frame) {
	lo, extent, slot := c.int(n.Min), c.int(n.Extent), c.variable(n.Var)
	c.loops = append(c.loops[:len(c.loops):len(c.loops)], loopRef{n.Var.Name, slot})
	body := c.stmt(n.Body, nil)
	c.loops = c.loops[:len(c.loops)-1]
	if c.opts.Races && (n.Kind == tir.Parallel || n.Kind == tir.Vectorized || n.Kind == tir.Bound) {
		return func(f *frame) {
			from := lo(f)
			end := from + extent(f)
			outer := f.at
			f.loops++
			loop, depth := f.loops, 0
			if outer != nil {
				depth = outer.depth + 1
			}
			for v := from; v < end; v++ {
				f.at = &iteration{outer, depth, loop}
				f.ints[slot] = v
				f.step()
				body(f)
			}
			f.at = outer
		}
	}
	return func(f *frame) {
		v := lo(f)
		end := v + extent(f)
		for ; v < end; v++ {
			f.ints[slot] = v
			f.step()
			body(f)
		}
	}
}

func (c *compiler) realize(n *tir.BlockRealize, root bool) func(*frame) {
	b := n.Block
	if len(n.Values) != len(b.Iters) {
		c.fail("block %s has %d values for %d iteration variables", b.Name, len(n.Values), len(b.Iters))
		return nil
	}
	var cond func(*frame) int64
	if n.Where != nil {
		cond = c.int(n.Where)
	}
	values := make([]func(*frame) int64, len(n.Values))
	for i, v := range n.Values {
		values[i] = c.int(v)
	}
	slots := make([]int, len(b.Iters))
	loops := c.loops
	var refs []loopRef
	for i, iv := range b.Iters {
		slots[i] = c.variable(iv.Var)
		refs = append(refs, loopRef{iv.Var.Name, slots[i]})
	}
	c.loops = append(loops[:len(loops):len(loops)], refs...)
	outer := c.block
	var open func(*frame)
	if !root {
		open = c.open(b)
	}
	allocs := make([]func(*frame), len(b.Allocs))
	for i, a := range b.Allocs {
		allocs[i] = c.allocate(a)
	}
	init, body := c.stmt(b.Init, nil), c.stmt(b.Body, nil)
	hasInit := b.Init != nil
	c.block, c.loops = outer, loops
	iters := b.Iters
	name := b.Name
	return func(f *frame) {
		if cond != nil && cond(f) == 0 {
			return
		}
		first := true
		var vals [16]int64
		for i, v := range values {
			x := v(f)
			if x < 0 || x >= int64(iters[i].Extent) {
				panic(stop{diag.Invalid("interp", name, "iteration variable %s = %d is outside [0, %d) %s", iters[i].Var.Name, x,
					iters[i].Extent, where(f, loops))})
			}
			first = first && (iters[i].Kind != tir.Reduce || x == 0)
			if i < len(vals) {
				vals[i] = x
			} else {
				f.ints[slots[i]] = x
			}
		}
		for i := range min(len(slots), len(vals)) { // after all were evaluated
			f.ints[slots[i]] = vals[i]
		}
		if open != nil {
			open(f)
		}
		for _, a := range allocs {
			a(f)
		}
		if hasInit && first {
			init(f)
		}
		body(f)
	}
}

// open starts the checking of a block's regions: the code computes their boxes for one instance.
func (c *compiler) open(b *tir.Block) func(*frame) {
	ref := &blockRef{name: b.Name, own: slices.Clone(b.Allocs), regions: map[*tir.Buffer][]int{}, written: map[*tir.Buffer][]int{}}
	type box struct {
		id         int
		lo, extent []func(*frame) int64
	}
	var all []box
	for i, r := range append(slices.Clone(b.Writes), b.Reads...) {
		bx := box{id: c.boxes}
		c.boxes++
		if len(r.Ranges) != len(r.Buffer.Shape) {
			c.fail("block %s has a region of %d axes of %s, which has %d", b.Name, len(r.Ranges), r.Buffer.Name, len(r.Buffer.Shape))
			return nil
		}
		for d, g := range r.Ranges {
			if loads(g.Min) || loads(g.Extent) { // where a lazy access is not made, its index may not be loaded
				g = tir.Range{Min: tir.I(0), Extent: tir.I(r.Buffer.Shape[d])}
			}
			bx.lo = append(bx.lo, c.int(g.Min))
			bx.extent = append(bx.extent, c.int(g.Extent))
		}
		all = append(all, bx)
		ref.regions[r.Buffer] = append(ref.regions[r.Buffer], bx.id)
		if i < len(b.Writes) {
			ref.written[r.Buffer] = append(ref.written[r.Buffer], bx.id)
		}
	}
	c.block = ref
	return func(f *frame) {
		for i := range all {
			b := &all[i]
			if f.boxes[b.id] == nil {
				f.boxes[b.id] = make([]int64, 2*len(b.lo))
			}
			to := f.boxes[b.id]
			for d, lo := range b.lo {
				to[2*d] = lo(f)
				to[2*d+1] = to[2*d] + b.extent[d](f)
			}
		}
	}
}

func loads(e tir.Expr) bool {
	found := false
	tir.Walk(e, func(n any) bool {
		_, isLoad := n.(*tir.Load)
		found = found || isLoad
		return !found
	})
	return found
}
