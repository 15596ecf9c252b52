package interp

import (
	"iter"
	"slices"
	"strings"

	"github.com/texel-ml/texel/diag"
	"github.com/texel-ml/texel/tir"
)

// device is the grid of a kernel whose loops are bound to grid axes.
type device struct {
	extents [tir.GridAxes]int64
	bound   [tir.GridAxes]int // loops around what is being compiled
	shared  []*tir.Buffer     // one of each for a group
	sites   int               // barriers
}

// maxItems bounds the work-items of a group.
const maxItems = 1 << 16

// deviceOf returns the grid of a kernel, nil when no loop is bound to a grid axis.
func deviceOf(k *tir.Kernel) *device {
	d := &device{}
	found := false
	for i := range d.extents {
		d.extents[i] = 1
	}
	tir.Walk(k.Body, func(n any) bool {
		if f, ok := n.(*tir.For); ok {
			if axis := f.Axis(); axis >= 0 {
				found = true
				if n, ok := tir.AsInt(f.Extent); ok { // one that is not constant is refused when it is compiled
					d.extents[axis] = max(d.extents[axis], n)
				}
			}
		}
		_, isExpr := n.(tir.Expr)
		return !isExpr
	})
	if !found {
		return nil
	}
	return d
}

// items is the number of work-items of a group.
func (d *device) items() int64 {
	total := int64(1)
	for _, n := range d.extents[tir.ThreadAxis:] {
		if n > maxItems {
			return n
		}
		total *= n
	}
	return total
}

// boundLoop compiles a loop of which each work-item along its axis runs one iteration.
func (c *compiler) boundLoop(n *tir.For, axis int, lo func(*frame) int64, slot int, body func(*frame)) func(*frame) {
	extent, ok := tir.AsInt(n.Extent)
	if !ok {
		c.fail("loop %s is bound to %s and has no constant extent", n.Var.Name, n.Thread)
		return nil
	}
	return func(f *frame) {
		if id := f.ids[axis]; id < extent {
			f.ints[slot] = lo(f) + id
			f.step()
			body(f)
		}
	}
}

// onlyFirst returns the axes that no loop around is bound to, along which only the first work-item may store to b.
func (c *compiler) onlyFirst(b *tir.Buffer) []int {
	if c.device == nil || c.private[b] {
		return nil
	}
	var axes []int
	for axis, n := range c.device.extents {
		if n > 1 && c.device.bound[axis] == 0 && (b.Scope != tir.Shared || axis >= tir.ThreadAxis) {
			axes = append(axes, axis)
		}
	}
	return axes
}

// barrier is a barrier of the program.
type barrier struct {
	site  int
	scope tir.Scope
	loops []loopRef
}

func (c *compiler) barrier(n *tir.Barrier) func(*frame) {
	if n.Scope != tir.Shared && n.Scope != tir.Global {
		c.fail("a barrier of scope %s, wanted shared or global", n.Scope)
		return nil
	}
	if c.device == nil { // loops one iteration after the other are in order
		return func(*frame) {}
	}
	b := &barrier{c.device.sites, n.Scope, c.loops}
	c.device.sites++
	return func(f *frame) {
		if f.stop != nil && !f.stop(b) {
			panic(aborted{})
		}
	}
}

// aborted unwinds a work-item that another's error left behind.
type aborted struct{}

// run runs the kernel's body for every work-item of every group.
func (d *device) run(c *compiler, f *frame, body func(*frame)) {
	for _, b := range d.shared {
		f.mem[c.slots[b]] = newMemory(b, b.Elems(), true, c.opts.Races)
	}
	f.loops++
	grid, place := f.loops, int64(0)
	var frames []*frame
	if d.sites > 0 {
		for range d.items() {
			frames = append(frames, f.split())
		}
	}
	d.each(0, func(x, y, z int64) {
		f.ids[0], f.ids[1], f.ids[2] = x, y, z
		for _, b := range d.shared {
			f.mem[c.slots[b]].forget()
		}
		var group *iteration
		if c.opts.Races {
			place++
			group = &iteration{loop: grid, place: place}
		}
		f.loops++
		loop, item := f.loops, int64(0)
		d.each(tir.ThreadAxis, func(x, y, z int64) {
			f.ids[tir.ThreadAxis], f.ids[tir.ThreadAxis+1], f.ids[tir.ThreadAxis+2] = x, y, z
			f.spend(1)
			item++
			if frames == nil {
				f.enter(group, loop, item)
				body(f)
				return
			}
			frames[item-1].ids = f.ids
			frames[item-1].enter(group, loop, item)
		})
		if frames != nil {
			d.inTurns(c, frames, body)
		}
	})
}

// split returns a frame for one work-item: variables and private memory of its own, the same arguments and shared memory.
func (f *frame) split() *frame {
	to := *f
	to.ints, to.floats, to.mem = slices.Clone(f.ints), slices.Clone(f.floats), slices.Clone(f.mem)
	to.boxes = make([][]int64, len(f.boxes))
	return &to
}

// enter begins a work-item's share of a group.
func (f *frame) enter(group *iteration, loop, item int64) {
	if group != nil {
		f.at = &iteration{parent: group, depth: 1, loop: loop, place: item}
	}
}

// each calls f for each point of three axes from the given one on, x fastest.
func (d *device) each(first int, f func(x, y, z int64)) {
	for z := range d.extents[first+2] {
		for y := range d.extents[first+1] {
			for x := range d.extents[first] {
				f(x, y, z)
			}
		}
	}
}

// inTurns runs the work-items of a group, each from barrier to barrier.
func (d *device) inTurns(c *compiler, frames []*frame, body func(*frame)) {
	next := make([]func() (*barrier, bool), len(frames))
	for i, f := range frames {
		var end func()
		next[i], end = iter.Pull(func(yield func(*barrier) bool) {
			defer func() {
				if r := recover(); r != nil && r != (aborted{}) {
					panic(r)
				}
			}()
			f.stop = yield
			body(f)
		})
		defer end()
	}
	for {
		first, going := next[0]()
		for i := 1; i < len(next); i++ {
			b, ok := next[i]()
			if ok == going && b == first {
				continue
			}
			if !going {
				first = b
			}
			panic(stop{diag.Invalid("interp", c.name, "work-items %v and %v of a group do not come to the same barrier %s",
				frames[0].item(), frames[i].item(), strings.TrimSpace(where(frames[0], first.loops)))})
		}
		if !going {
			return
		}
		for _, f := range frames {
			f.pass(first)
		}
	}
}

// item returns the numbers of a work-item along the axes x, y and z.
func (f *frame) item() []int64 { return f.ids[tir.ThreadAxis:] }

// pass notes that the work-item has come behind a barrier.
func (f *frame) pass(b *barrier) {
	if f.at == nil {
		return
	}
	to := *f.at
	to.epoch[sharedFence]++
	if b.scope == tir.Global {
		to.epoch[globalFence]++
	}
	f.at = &to
}
