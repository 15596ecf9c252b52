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
	block   *blockRef                  // innermost block around, nil outside
	device  *device                    // nil: bound loops are loops
	private map[*tir.Buffer]bool       // allocated, and not shared
	homes   map[*tir.For][]*tir.Buffer // for Races: buffers that each iteration has for itself
	err     error
}

// blockRef is a block whose regions bound the accesses inside.
type blockRef struct {
	name    string
	own     []*tir.Buffer // allocated inside
	regions []region      // those written first
	writes  int
}

// region is one that a block declares.
type region struct {
	tir.Region
	box  int  // where its bounds are while the block is open
	used bool // some access inside is not seen to be in the region beforehand
}

func newCompiler(name string, opts Options) *compiler {
	return &compiler{name: name, opts: opts, slots: map[*tir.Buffer]int{}, vars: map[*tir.Var]int{}, private: map[*tir.Buffer]bool{}}
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
	if c.opts.Races {
		c.homes = homes(body)
	}
	code := c.stmt(body, root)
	items := int64(1)
	if c.device != nil {
		if items = c.device.items(); items > maxItems {
			c.fail("a group has %d work-items, the interpreter has at most %d", items, maxItems)
		}
		if c.device.sites == 0 {
			items = 1 // they run one after the other
		}
	}
	total := int64(0)
	for b := range c.private {
		if total += items * int64(b.Elems()); total > maxElems {
			c.fail("the allocated buffers have above %d elements together", maxElems)
		}
	}
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
		return c.seq(n)
	case *tir.If:
		return c.ifs(n)
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
	case *tir.Barrier:
		return c.barrier(n)
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

func (c *compiler) seq(n *tir.Seq) func(*frame) {
	list := make([]func(*frame), len(n.Stmts))
	for i, s := range n.Stmts {
		list[i] = c.stmt(s, nil)
	}
	if len(list) == 2 {
		first, second := list[0], list[1]
		return func(f *frame) {
			first(f)
			second(f)
		}
	}
	return func(f *frame) {
		for _, s := range list {
			s(f)
		}
	}
}

func (c *compiler) ifs(n *tir.If) func(*frame) {
	cond, then := c.int(n.Cond), c.stmt(n.Then, nil)
	if n.Else == nil {
		return func(f *frame) {
			if cond(f) != 0 {
				then(f)
			}
		}
	}
	els := c.stmt(n.Else, nil)
	return func(f *frame) {
		if cond(f) != 0 {
			then(f)
		} else {
			els(f)
		}
	}
}

// allocate gives a buffer fresh memory, none of it written.
func (c *compiler) allocate(b *tir.Buffer) func(*frame) {
	slot, elems := c.slot(b), b.Elems()
	if elems < 0 || elems > maxElems {
		c.fail("buffer %s of shape %v is above %d elements", b.Name, tensor.Shape(b.Shape), maxElems)
		return nil
	}
	races := c.opts.Races
	if c.device != nil && b.Scope == tir.Shared { // of the group, not of the work-item
		if !slices.Contains(c.device.shared, b) {
			c.device.shared = append(c.device.shared, b)
		}
		return func(*frame) {}
	}
	c.private[b] = true
	return func(f *frame) {
		m := &f.mem[slot]
		if len(m.ready) != elems || m.ready == nil {
			*m = newMemory(b, elems, true, races)
			return
		}
		m.forget()
	}
}

func (c *compiler) loop(n *tir.For) func(*frame) {
	lo, extent, slot := c.int(n.Min), c.int(n.Extent), c.variable(n.Var)
	axis := -1
	if c.device != nil {
		if axis = n.Axis(); axis >= 0 {
			c.device.bound[axis]++
		}
	}
	c.loops = append(c.loops[:len(c.loops):len(c.loops)], loopRef{n.Var.Name, slot})
	body := c.stmt(n.Body, nil)
	c.loops = c.loops[:len(c.loops)-1]
	if axis >= 0 {
		c.device.bound[axis]--
		return c.boundLoop(n, axis, lo, slot, body)
	}
	if c.opts.Races && (n.Kind == tir.Parallel || n.Kind == tir.Vectorized || n.Kind == tir.Bound) {
		var own []int
		for _, b := range c.homes[n] {
			own = append(own, c.slot(b))
		}
		return func(f *frame) {
			outer := f.at
			f.loops++
			loop, depth := f.loops, 0
			if outer != nil {
				depth = outer.depth + 1
			}
			v := lo(f)
			for left := extent(f); left > 0; left-- {
				f.at = &iteration{parent: outer, depth: depth, loop: loop, place: left}
				f.ints[slot] = v
				f.step()
				for _, b := range own {
					f.mem[b].own = true
					f.mem[b].begin()
				}
				body(f)
				v++
			}
			f.at = outer
		}
	}
	return func(f *frame) {
		v := lo(f)
		for left := extent(f); left > 0; left-- {
			f.ints[slot] = v
			f.step()
			body(f)
			v++
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
	var ref *blockRef
	if !root {
		ref = c.enter(b)
	}
	allocs := make([]func(*frame), len(b.Allocs))
	for i, a := range b.Allocs {
		allocs[i] = c.allocate(a)
	}
	init, body := c.stmt(b.Init, nil), c.stmt(b.Body, nil)
	var open func(*frame)
	if ref != nil {
		open = c.open(ref)
	}
	hasInit := b.Init != nil
	c.block, c.loops = outer, loops
	iters := b.Iters
	outside := func(f *frame, i int, x int64) {
		panic(stop{diag.Invalid("interp", b.Name, "iteration variable %s = %d is outside [0, %d) %s", iters[i].Var.Name, x,
			iters[i].Extent, where(f, loops))})
	}
	return func(f *frame) {
		if cond != nil && cond(f) == 0 {
			return
		}
		first := true
		var vals [16]int64
		for i, v := range values {
			x := v(f)
			if x < 0 || x >= int64(iters[i].Extent) {
				outside(f, i, x)
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

// enter makes b the block whose regions the accesses that follow are checked against.
func (c *compiler) enter(b *tir.Block) *blockRef {
	ref := &blockRef{name: b.Name, own: slices.Clone(b.Allocs), writes: len(b.Writes)}
	for _, list := range [][]tir.Region{b.Writes, b.Reads} {
		for _, r := range list {
			if len(r.Ranges) != len(r.Buffer.Shape) {
				c.fail("block %s has a region of %d axes of %s, which has %d", b.Name, len(r.Ranges), r.Buffer.Name, len(r.Buffer.Shape))
				return nil
			}
			ref.regions = append(ref.regions, region{r, c.boxes, false})
			c.boxes++
		}
	}
	c.block = ref
	return ref
}

// open returns what computes the boxes of the regions for one instance of a block, as far as accesses are compared with
// them; nil when none is.
func (c *compiler) open(ref *blockRef) func(*frame) {
	type box struct {
		id         int
		lo, extent []func(*frame) int64
	}
	var all []box
	for _, r := range ref.regions {
		if !r.used {
			continue
		}
		bx := box{id: r.box}
		for d, g := range r.Ranges {
			if tir.ReadsMemory(g.Min) || tir.ReadsMemory(g.Extent) { // where a lazy access is not made, its index may not be loaded
				g = tir.Range{Min: tir.I(0), Extent: tir.I(r.Buffer.Shape[d])}
			}
			bx.lo = append(bx.lo, c.int(g.Min))
			bx.extent = append(bx.extent, c.int(g.Extent))
		}
		all = append(all, bx)
	}
	if len(all) == 0 {
		return nil
	}
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
