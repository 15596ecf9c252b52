package interp

import (
	"math"

	"github.com/texel-ml/texel/diag"
	"github.com/texel-ml/texel/tensor"
	"github.com/texel-ml/texel/tir"
)

// access is one load or store.
type access struct {
	buf   *tir.Buffer
	slot  int
	dims  []dim
	boxes []int  // the regions of the block around, one of which must have the element
	check bool   // whether boxes count
	again bool   // whether to write what is there already is no use of it
	block string // for messages
	loops []loopRef
}

// dim is the index of one axis.
type dim struct {
	index          affine
	extent, stride int64
}

func (c *compiler) access(b *tir.Buffer, indices []tir.Expr, store bool) *access {
	a := &access{buf: b, slot: c.slot(b), loops: c.loops, again: b.Scope == tir.Shared && c.device == nil}
	if len(indices) != len(b.Shape) {
		c.fail("%d indices for buffer %s of shape %v", len(indices), b.Name, tensor.Shape(b.Shape))
		return a
	}
	strides := tensor.Shape(b.Shape).Strides() // logical: where the elements lie does not matter here
	a.dims = make([]dim, len(indices))
	for i, e := range indices {
		a.dims[i] = dim{c.affine(e), int64(b.Shape[i]), int64(strides[i])}
	}
	if c.block != nil {
		a.check = !c.declared(a, indices, store)
	}
	return a
}

// declared reports whether an access is in a region of the block around, as far as that is seen beforehand: the region
// begins at the very indices, or is the whole axis. Otherwise it notes the regions that the element must be looked for in.
func (c *compiler) declared(a *access, indices []tir.Expr, store bool) bool {
	for _, own := range c.block.own {
		if own == a.buf {
			return true
		}
	}
	regions := c.block.regions
	if store {
		regions = regions[:c.block.writes]
	}
	for _, r := range regions {
		if r.Buffer != a.buf {
			continue
		}
		inside := true
		for d, g := range r.Ranges {
			n, constant := tir.AsInt(g.Extent)
			point := constant && n >= 1 && tir.Equal(g.Min, indices[d])
			inside = inside && (point || constant && tir.IsConst(g.Min, 0) && n >= a.dims[d].extent)
		}
		if inside {
			return true
		}
	}
	a.block = c.block.name
	for i := range regions {
		if regions[i].Buffer == a.buf {
			regions[i].used = true
			a.boxes = append(a.boxes, regions[i].box)
		}
	}
	return false
}

// offset returns the element, after the checks.
func (a *access) offset(f *frame) int64 {
	off := int64(0)
	for i := range a.dims {
		d := &a.dims[i]
		v := d.index.value(f)
		if uint64(v) >= uint64(d.extent) {
			a.outside(f, i, v)
		}
		off += v * d.stride
	}
	if a.check {
		a.inBoxes(f, off)
	}
	return off
}

// inBoxes checks that an element is in a region that the block declares.
func (a *access) inBoxes(f *frame, off int64) {
	for _, id := range a.boxes {
		box, in := f.boxes[id], true
		for i, d := range a.dims {
			at := off / d.stride % d.extent
			in = in && at >= box[2*i] && at < box[2*i+1]
		}
		if in {
			return
		}
	}
	panic(stop{diag.Invalid("interp", a.block, "element %v of %s is in no region that the block declares, %s", a.at(off), a.buf.Name, where(f, a.loops))})
}

// at returns the indices of an element.
func (a *access) at(off int64) []int64 {
	at := make([]int64, len(a.dims))
	for i, d := range a.dims {
		if d.stride > 0 && d.extent > 0 {
			at[i] = off / d.stride % d.extent
		}
	}
	return at
}

func (a *access) outside(f *frame, axis int, v int64) {
	panic(stop{diag.Invalid("interp", a.buf.Name, "index %d of axis %d is outside [0, %d) %s", v, axis, a.dims[axis].extent, where(f, a.loops))})
}

func (a *access) fault(f *frame, off int64, what string) {
	panic(stop{diag.Invalid("interp", a.buf.Name, "element %v %s, %s", a.at(off), what, where(f, a.loops))})
}

// read checks that an element may be read.
func (a *access) read(f *frame, m *memory, off int64) {
	if m.ready != nil && !m.ready[off] {
		a.fault(f, off, "is read before it is written")
	}
	if m.users != nil && m.users[off].read(f.at, m.fence) {
		a.fault(f, off, "is written and read by different iterations of a parallel loop")
	}
}

// write notes that an element is written. One that stays as it is, of a shared buffer where bound loops run one after the
// other, is no race: each work-item's iterations fill the buffer for themselves there.
func (a *access) write(f *frame, m *memory, off int64, same bool) {
	if m.ready != nil {
		same = same && m.ready[off]
		m.ready[off] = true
	}
	if m.own {
		m.written = append(m.written, off)
	}
	switch {
	case m.users == nil:
	case same && a.again:
		m.users[off].writer = f.at
	case m.users[off].write(f.at, m.fence):
		a.fault(f, off, "is written by one and used by another iteration of a parallel loop")
	}
}

func (c *compiler) load(n *tir.Load) code {
	a := c.access(n.Buffer, n.Indices, false)
	slot := a.slot
	if n.Buffer.DType.IsFloat() {
		return code{f: func(f *frame) float64 {
			off, m := a.offset(f), &f.mem[slot]
			if m.ready != nil || m.users != nil {
				a.read(f, m, off)
			}
			return m.f[off]
		}}
	}
	return code{i: func(f *frame) int64 {
		off, m := a.offset(f), &f.mem[slot]
		if m.ready != nil || m.users != nil {
			a.read(f, m, off)
		}
		return m.i[off]
	}}
}

func (c *compiler) store(n *tir.Store) func(*frame) {
	a := c.access(n.Buffer, n.Indices, true)
	if c.err != nil {
		return nil
	}
	value := c.expr(n.Value)
	lanes := 1
	for _, e := range n.Indices {
		lanes = max(lanes, e.Type().Lanes)
	}
	if t, want := n.Value.Type(), (tir.Type{DType: n.Buffer.DType, Lanes: lanes}); t != want {
		c.fail("store of %v of %d lanes to %s, wanted %v of %d lanes", t.DType, t.Lanes, n.Buffer.Name, want.DType, lanes)
	}
	if c.err != nil {
		return nil
	}
	isFloat := n.Buffer.DType.IsFloat()
	slot := a.slot
	var store func(f *frame)
	switch {
	case lanes == 1 && isFloat:
		store = func(f *frame) {
			v, off, m := value.f(f), a.offset(f), &f.mem[slot]
			f.spend(1)
			a.write(f, m, off, math.Float64bits(m.f[off]) == math.Float64bits(v))
			m.f[off] = v
		}
	case lanes == 1:
		store = func(f *frame) {
			v, off, m := value.i(f), a.offset(f), &f.mem[slot]
			f.spend(1)
			a.write(f, m, off, m.i[off] == v)
			m.i[off] = v
		}
	default:
		store = a.vector(value, lanes, isFloat, c.opts.Races)
	}
	axes := c.onlyFirst(n.Buffer)
	if len(axes) == 0 {
		return store
	}
	return func(f *frame) {
		for _, axis := range axes {
			if f.ids[axis] != 0 {
				return
			}
		}
		store(f)
	}
}

// vector stores several lanes: all are read before one is written.
func (a *access) vector(value code, lanes int, isFloat, races bool) func(*frame) {
	floats, ints, places := make([]float64, lanes), make([]int64, lanes), make([]int64, lanes)
	slot := a.slot
	return func(f *frame) {
		outer := f.lane
		f.spend(int64(lanes))
		for l := range lanes {
			f.lane = int64(l)
			if isFloat {
				floats[l] = value.f(f)
			} else {
				ints[l] = value.i(f)
			}
			places[l] = a.offset(f)
		}
		f.lane = outer
		m := &f.mem[slot]
		if races {
			seen := make(map[int64]bool, lanes)
			for _, off := range places {
				if seen[off] {
					a.fault(f, off, "is written by two lanes of one vector")
				}
				seen[off] = true
			}
		}
		for l, off := range places {
			if isFloat {
				a.write(f, m, off, math.Float64bits(m.f[off]) == math.Float64bits(floats[l]))
				m.f[off] = floats[l]
			} else {
				a.write(f, m, off, m.i[off] == ints[l])
				m.i[off] = ints[l]
			}
		}
	}
}
