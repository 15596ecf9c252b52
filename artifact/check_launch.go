package artifact

import (
	"math"
	"slices"

	"github.com/texel-ml/texel/tensor"
)

func (c *checker) launches() error {
	steps, err := c.plan.Steps()
	if err != nil {
		return err
	}
	if len(steps) > maxLaunches {
		return bad("", "%d launches, at most %d are allowed", len(steps), maxLaunches)
	}
	c.steps = steps
	var loops []Step // around the launch
	for i := range steps {
		for len(loops) > 0 && loops[len(loops)-1].End <= i {
			loops = loops[:len(loops)-1]
		}
		turns := int64(0)
		if len(loops) > 0 {
			turns = loops[len(loops)-1].Launch.Control.Max
		}
		l := steps[i].Launch
		if l.Control != nil && l.Control.Kind == Loop {
			loops = append(loops, steps[i])
		}
		if l.Name == "" {
			return bad("", "launch %d has no name", i)
		}
		if n := len(l.Reads) + len(l.Writes) + len(l.Buffers); n > maxOperands || len(l.InPlace) > maxInPlace {
			return bad(l.Name, "launch has %d operands and %d in-place pairs, at most %d and %d are allowed", n, len(l.InPlace), maxOperands, maxInPlace)
		}
		if c.work += 2*len(l.Buffers)*(len(l.Reads)+len(l.Writes)) + len(l.Writes)*(len(l.Writes)+len(l.Reads)); c.work > maxWork {
			return bad(l.Name, "plan is too intricate to be checked")
		}
		for _, names := range [][]string{l.Reads, l.Writes, l.Buffers} {
			for _, name := range names {
				if _, ok := c.tensor[name]; !ok {
					return bad(l.Name, "launch uses tensor %q, which does not exist", name)
				}
			}
		}
		for _, name := range l.Writes {
			t := c.tensor[name]
			if c.fixed[t] {
				return bad(l.Name, "launch writes %s, which is an input or a weight", name)
			}
			c.owned[t] = true
		}
		switch l.Kind {
		case KernelLaunch:
			err = c.kernelLaunch(l)
		case CopyLaunch:
			err = c.copyLaunch(l, turns)
		case ControlLaunch:
			err = c.controlLaunch(l)
		default:
			err = bad(l.Name, "unknown kind of launch %q", l.Kind)
		}
		if err != nil {
			return err
		}
		if err := c.apart(l); err != nil {
			return err
		}
	}
	return nil
}

func (c *checker) kernelLaunch(l *Launch) error {
	if _, ok := c.kernel[l.Kernel]; !ok {
		return bad(l.Name, "launch of kernel %q, which does not exist", l.Kernel)
	}
	if l.Control != nil || l.Stack {
		return bad(l.Name, "a kernel launch has no control and no stack")
	}
	if len(l.Grid) < 1 || len(l.Grid) > 3 || len(l.Group) != 0 && len(l.Group) != len(l.Grid) {
		return bad(l.Name, "grid %v and group %v need one to three numbers each", l.Grid, l.Group)
	}
	product := int64(1)
	for i, g := range l.Grid {
		if g < 0 || g > 0 && product > math.MaxInt64/2/g {
			return bad(l.Name, "grid %v is out of range", l.Grid)
		}
		product *= max(1, g)
		if len(l.Group) > 0 && (l.Group[i] < 1 || l.Group[i] > 1<<16 || g%l.Group[i] != 0) {
			return bad(l.Name, "group %v does not divide grid %v", l.Group, l.Grid)
		}
	}
	if l.Chunk < 0 || l.Flops < 0 || l.Traffic < 0 {
		return bad(l.Name, "chunk, flops and traffic must not be negative")
	}
	for _, names := range [][]string{l.Reads, l.Writes} {
		for _, name := range names {
			if !slices.Contains(l.Buffers, name) {
				return bad(l.Name, "launch uses %s, which is not among its buffers", name)
			}
		}
	}
	for _, name := range l.Buffers {
		if !slices.Contains(l.Reads, name) && !slices.Contains(l.Writes, name) {
			return bad(l.Name, "buffer %s is neither read nor written", name)
		}
		if pool := &c.plan.Pools[c.pool[c.plan.Tensors[c.tensor[name]].Pool]]; pool.Device != l.Device {
			return bad(l.Name, "launch on device %q uses %s, which is on device %q", l.Device, name, pool.Device)
		}
	}
	return nil
}

// copyLaunch checks a copy; turns is how often the innermost loop around it turns at most, 0 when that is not known.
func (c *checker) copyLaunch(l *Launch, turns int64) error {
	reads := 1
	if l.Stack {
		reads = 2
	}
	if len(l.Reads) != reads || len(l.Writes) != 1 || l.Kernel != "" || l.Control != nil || len(l.Buffers) != 0 || len(l.InPlace) != 0 {
		return bad(l.Name, "a copy has one read and one write and nothing else")
	}
	from, to := &c.plan.Tensors[c.tensor[l.Reads[0]]], &c.plan.Tensors[c.tensor[l.Writes[0]]]
	if l.Stack {
		return c.stack(l, from, to, turns)
	}
	if from.Bytes != to.Bytes || from.DType != to.DType {
		return bad(l.Name, "copy of %d bytes of %v to %d bytes of %v", from.Bytes, from.DType, to.Bytes, to.DType)
	}
	return nil
}

// stack checks that every part has room in the stack.
func (c *checker) stack(l *Launch, part, stack *Tensor, turns int64) error {
	if l.Reads[1] != l.Writes[0] || part.DType != stack.DType {
		return bad(l.Name, "a stack of %v is written and read, found %v of %v and %v", part.DType, stack.DType, l.Writes, l.Reads)
	}
	if turns == 0 {
		return bad(l.Name, "a stack outside a loop whose turns have a limit")
	}
	if part.Bytes > 0 && stack.Bytes/part.Bytes < turns {
		return bad(l.Name, "%d parts of %d bytes do not fit into %s of %d bytes", turns, part.Bytes, stack.Name, stack.Bytes)
	}
	return nil
}

func (c *checker) controlLaunch(l *Launch) error {
	k := l.Control
	if k == nil || l.Kernel != "" || l.Stack || len(l.Buffers) != 0 || len(l.InPlace) != 0 {
		return bad(l.Name, "a control launch has control and no kernel")
	}
	var reads, writes []string
	if k.Cond != "" {
		reads = append(reads, k.Cond)
		if err := c.scalar(l.Name, "cond", k.Cond, tensor.Bool); err != nil {
			return err
		}
	}
	switch k.Kind {
	case If:
		if k.Cond == "" || k.Trip != "" || k.Iter != "" || k.Count != "" || k.Max != 0 || k.Body == "" {
			return bad(l.Name, "an if has cond and body, and no trip, iter, count or max")
		}
	case Loop:
		if k.Else != "" || k.Body == "" || k.Max < 0 {
			return bad(l.Name, "a loop has body and no else, its max is not negative")
		}
		if k.Trip != "" {
			reads = append(reads, k.Trip)
			if err := c.scalar(l.Name, "trip", k.Trip, tensor.Int64); err != nil {
				return err
			}
		}
		for _, x := range []struct{ what, name string }{{"iter", k.Iter}, {"count", k.Count}} {
			if x.name == "" {
				continue
			}
			writes = append(writes, x.name)
			if err := c.scalar(l.Name, x.what, x.name, tensor.Int64); err != nil {
				return err
			}
		}
	default:
		return bad(l.Name, "unknown kind of control %q", k.Kind)
	}
	if !slices.Equal(l.Reads, reads) || !slices.Equal(l.Writes, writes) {
		return bad(l.Name, "a control launch reads cond and trip and writes iter and count: wanted %v and %v, found %v and %v", reads, writes, l.Reads, l.Writes)
	}
	return nil
}

// apart checks that what a launch writes overlaps nothing else that it writes or reads, but for the in-place pairs.
func (c *checker) apart(l *Launch) error {
	for _, pair := range l.InPlace {
		w, okW := c.tensor[pair.Write]
		r, okR := c.tensor[pair.Read]
		if !okW || !okR || !slices.Contains(l.Writes, pair.Write) || !slices.Contains(l.Reads, pair.Read) {
			return bad(l.Name, "in-place pair %s, %s is not a write and a read of the launch", pair.Write, pair.Read)
		}
		if c.space[w] != c.space[r] || c.plan.Tensors[w].Offset != c.plan.Tensors[r].Offset {
			return bad(l.Name, "in-place pair %s, %s does not start at the same byte", pair.Write, pair.Read)
		}
	}
	for i, write := range l.Writes {
		w := c.tensor[write]
		for _, other := range l.Writes[i+1:] {
			if c.overlap(w, c.tensor[other]) {
				return bad(l.Name, "launch writes %s and %s, which overlap", write, other)
			}
		}
		for _, read := range l.Reads {
			if read != write && c.overlap(w, c.tensor[read]) && !slices.Contains(l.InPlace, InPlace{Write: write, Read: read}) {
				return bad(l.Name, "launch writes %s over %s, which it reads", write, read)
			}
		}
	}
	return nil
}

// span returns the bytes of a tensor in its space; a tensor in an image pool takes the whole of it.
func (c *checker) span(t int) (lo, hi int64) {
	x := &c.plan.Tensors[t]
	if c.plan.Pools[c.pool[x.Pool]].Kind == ImagePool {
		return 0, 1
	}
	return x.Offset, x.Offset + x.Bytes
}

func (c *checker) overlap(a, b int) bool {
	if c.space[a] != c.space[b] {
		return false
	}
	aLo, aHi := c.span(a)
	bLo, bHi := c.span(b)
	return aLo < bHi && bLo < aHi && aLo < aHi && bLo < bHi
}
