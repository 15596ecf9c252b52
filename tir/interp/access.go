package interp

import (
	"github.com/texel-ml/texel/diag"
	"github.com/texel-ml/texel/tensor"
	"github.com/texel-ml/texel/tir"
)

// access is one load or store.
type access struct {
	buf     *tir.Buffer
	slot    int
	indices []func(*frame) int64
	shape   []int64
	strides []int64
	boxes   []int  // the regions of the block around, one of which must have the element
	checked bool   // whether boxes count
	block   string // for messages
	loops   []loopRef
}

func (c *compiler) access(b *tir.Buffer, indices []tir.Expr, store bool) *access {
	a := &access{buf: b, slot: c.slot(b), loops: c.loops}
	if len(indices) != len(b.Shape) {
		c.fail("%d indices for buffer %s of shape %v", len(indices), b.Name, tensor.Shape(b.Shape))
		return a
	}
	strides := tensor.Shape(b.Shape).Strides() // logical: where the elements lie does not matter here
	for i, e := range indices {
		a.indices = append(a.indices, c.int(e))
		a.shape = append(a.shape, int64(b.Shape[i]))
		a.strides = append(a.strides, int64(strides[i]))
	}
	if c.block == nil {
		return a
	}
	for _, own := range c.block.own {
		if own == b {
			return a
		}
	}
	a.checked, a.block = true, c.block.name
	a.boxes = c.block.regions[b]
	if store {
		a.boxes = c.block.written[b]
	}
	return a
}

// offset returns the element, after the checks.
func (a *access) offset(f *frame) int64 {
	off := int64(0)
	if !a.checked {
		for d, index := range a.indices {
			v := index(f)
			if uint64(v) >= uint64(a.shape[d]) {
				a.outside(f, d, v)
			}
			off += v * a.strides[d]
		}
		return off
	}
	var at [12]int64
	for d, index := range a.indices {
		v := index(f)
		if uint64(v) >= uint64(a.shape[d]) {
			a.outside(f, d, v)
		}
		if d < len(at) {
			at[d] = v
		}
		off += v * a.strides[d]
	}
	for _, id := range a.boxes {
		box, in := f.boxes[id], true
		for d := range min(len(a.indices), len(at)) {
			in = in && at[d] >= box[2*d] && at[d] < box[2*d+1]
		}
		if in {
			return off
		}
	}
	panic(stop{diag.Invalid("interp", a.block, "element %v of %s is in no region that the block declares, %s",
		at[:min(len(a.indices), len(at))], a.buf.Name, where(f, a.loops))})
}

func (a *access) outside(f *frame, axis int, v int64) {
	panic(stop{diag.Invalid("interp", a.buf.Name, "index %d of axis %d is outside [0, %d) %s", v, axis, a.shape[axis], where(f, a.loops))})
}

func (a *access) fault(f *frame, off int64, what string) {
	at := make([]int64, len(a.shape))
	for d, s := range a.strides {
		if s > 0 {
			at[d] = off / s % a.shape[d]
		}
	}
	panic(stop{diag.Invalid("interp", a.buf.Name, "element %v %s, %s", at, what, where(f, a.loops))})
}

// read checks that an element may be read.
func (a *access) read(f *frame, m *memory, off int64) {
	if m.ready != nil && !m.ready[off] {
		a.fault(f, off, "is read before it is written")
	}
	if m.writers != nil {
		if concurrent(m.writers[off], f.at) {
			a.fault(f, off, "is written and read by different iterations of a parallel loop")
		}
		m.readers[off] = f.at
	}
}

// write records that an element is written.
func (a *access) write(f *frame, m *memory, off int64) {
	if m.ready != nil {
		m.ready[off] = true
	}
	if m.writers != nil {
		if concurrent(m.writers[off], f.at) || concurrent(m.readers[off], f.at) {
			a.fault(f, off, "is written by one and used by another iteration of a parallel loop")
		}
		m.writers[off] = f.at
	}
}

func (c *compiler) load(n *tir.Load) code {
	a := c.access(n.Buffer, n.Indices, false)
	slot := a.slot
	if n.Buffer.DType.IsFloat() {
		return code{f: func(f *frame) float64 {
			off, m := a.offset(f), &f.mem[slot]
			if m.ready != nil || m.writers != nil {
				a.read(f, m, off)
			}
			return m.f[off]
		}}
	}
	return code{i: func(f *frame) int64 {
		off, m := a.offset(f), &f.mem[slot]
		if m.ready != nil || m.writers != nil {
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
	switch {
	case lanes == 1 && isFloat:
		return func(f *frame) {
			v, off, m := value.f(f), a.offset(f), &f.mem[slot]
			a.write(f, m, off)
			m.f[off] = v
		}
	case lanes == 1:
		return func(f *frame) {
			v, off, m := value.i(f), a.offset(f), &f.mem[slot]
			a.write(f, m, off)
			m.i[off] = v
		}
	}
	floats, ints := make([]float64, lanes), make([]int64, lanes)
	return func(f *frame) { // all lanes are read before one is written
		outer := f.lane
		for l := range lanes {
			f.lane = int64(l)
			if isFloat {
				floats[l] = value.f(f)
			} else {
				ints[l] = value.i(f)
			}
		}
		for l := range lanes {
			f.lane = int64(l)
			off, m := a.offset(f), &f.mem[slot]
			a.write(f, m, off)
			if isFloat {
				m.f[off] = floats[l]
			} else {
				m.i[off] = ints[l]
			}
		}
		f.lane = outer
	}
}
