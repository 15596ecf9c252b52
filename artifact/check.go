package artifact

import (
	"encoding/hex"
	"math"

	"github.com/texel-ml/texel/diag"
	"github.com/texel-ml/texel/tensor"
)

// Limits of a plan. They are far above any real one and keep a hostile plan from costing more than its text.
const (
	maxTensors  = 1 << 18
	maxLaunches = 1 << 18
	maxPools    = 1 << 10
	maxOperands = 1 << 13 // reads, writes and buffers of one launch
	maxInPlace  = 1 << 6  // in-place pairs of one launch
	maxWork     = 1 << 30 // cells that the walk over the abstract memory visits

	// MaxBytes bounds the bytes of one tensor, one pool and the scratch of one thread.
	MaxBytes = 1 << 46
	// Alignment is that of every tensor in an arena that is not an alias, in bytes.
	Alignment = 64
)

// Check proves that a runtime can follow the plan blindly: names are unique and refer to what exists, sizes, offsets
// and alignments are in range, inputs and weights are never written, each launch's reads and writes are apart except
// for its in-place pairs, and each read finds, in every byte and on every path through the control launches, what was
// written for it and not overwritten since. Outputs that depend on rows of open inputs have rows. The lives that the plan states must be those of its launches.
//
// It takes nothing from the planner. A plan from a hostile file costs time bounded by a constant and memory bounded
// by the plan's own size.
func (p *Plan) Check() error {
	c := &checker{plan: p}
	for _, step := range []func() error{c.pools, c.tensors, c.weights, c.kernels, c.ports, c.launches, c.open, c.lives, c.memory} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

type checker struct {
	plan   *Plan
	pool   map[string]int
	tensor map[string]int
	kernel map[string]int
	root   []int32 // tensor → the tensor at the end of its chain of aliases
	space  []int32 // tensor → memory: pools first, then one for each external or weight root
	fixed  []bool  // tensor → an input or a weight, or an alias of one
	owned  []bool  // tensor → some launch writes it by this name
	steps  []Step
	cells  cells
	work   int
}

func bad(node, format string, args ...any) error { return diag.Invalid("plan", node, format, args...) }

func (c *checker) pools() error {
	p := c.plan
	if p.Format != PlanFormat {
		return bad("", "format is %d, wanted %d", p.Format, PlanFormat)
	}
	if len(p.Pools) > maxPools {
		return bad("", "%d pools, at most %d are allowed", len(p.Pools), maxPools)
	}
	c.pool = make(map[string]int, len(p.Pools))
	arena := int64(0)
	for i, pool := range p.Pools {
		if _, twice := c.pool[pool.Name]; twice || pool.Name == "" {
			return bad(pool.Name, "name of a pool must be there and be unique")
		}
		c.pool[pool.Name] = i
		if pool.Bytes < 0 || pool.Bytes > MaxBytes || pool.Width < 0 || pool.Height < 0 || pool.Width > math.MaxInt32 || pool.Height > math.MaxInt32 {
			return bad(pool.Name, "size of the pool is out of range")
		}
		switch pool.Kind {
		case Arena, ImageOverBuffer:
			arena += pool.Bytes
		case ImagePool:
			arena += pool.Bytes
			if pool.Width == 0 || pool.Height == 0 {
				return bad(pool.Name, "image pool needs width and height")
			}
		case External, WeightPool:
			if pool.Bytes != 0 {
				return bad(pool.Name, "pool of kind %s has no size of its own, found %d", pool.Kind, pool.Bytes)
			}
		default:
			return bad(pool.Name, "unknown kind of pool %q", pool.Kind)
		}
	}
	if p.ArenaBytes != arena {
		return bad("", "arena_bytes is %d, the pools have %d", p.ArenaBytes, arena)
	}
	return nil
}

func (c *checker) tensors() error {
	p := c.plan
	if len(p.Tensors) > maxTensors {
		return bad("", "%d tensors, at most %d are allowed", len(p.Tensors), maxTensors)
	}
	c.tensor = make(map[string]int, len(p.Tensors))
	for i := range p.Tensors {
		t := &p.Tensors[i]
		if _, twice := c.tensor[t.Name]; twice || t.Name == "" {
			return bad(t.Name, "name of a tensor must be there and be unique")
		}
		c.tensor[t.Name] = i
		if err := checkSize(t); err != nil {
			return err
		}
		if _, ok := c.pool[t.Pool]; !ok {
			return bad(t.Name, "tensor is in pool %q, which does not exist", t.Pool)
		}
	}
	if err := c.roots(); err != nil {
		return err
	}
	c.space = make([]int32, len(p.Tensors))
	c.fixed = make([]bool, len(p.Tensors))
	c.owned = make([]bool, len(p.Tensors))
	next := len(p.Pools)
	for i := range p.Tensors {
		if int(c.root[i]) != i {
			continue
		}
		t, pool := &p.Tensors[i], &p.Pools[c.pool[p.Tensors[i].Pool]]
		c.space[i] = int32(c.pool[t.Pool])
		switch pool.Kind {
		case External, WeightPool:
			if t.Offset != 0 {
				return bad(t.Name, "tensor in a pool of kind %s must have offset 0, found %d", pool.Kind, t.Offset)
			}
			c.space[i] = int32(next)
			next++
		case Arena, ImageOverBuffer:
			if t.Offset%Alignment != 0 {
				return bad(t.Name, "offset %d is not a multiple of %d", t.Offset, Alignment)
			}
			if t.Offset > pool.Bytes-t.Bytes {
				return bad(t.Name, "tensor ends at byte %d of pool %s, which has %d", t.Offset+t.Bytes, pool.Name, pool.Bytes)
			}
		case ImagePool:
			if t.Offset != 0 || t.Image == nil || max(t.Image.Width, t.Image.AllocWidth) > pool.Width || max(t.Image.Height, t.Image.AllocHeight) > pool.Height {
				return bad(t.Name, "tensor does not fit into image pool %s of %d x %d", pool.Name, pool.Width, pool.Height)
			}
		}
	}
	for i, r := range c.root {
		c.space[i] = c.space[r]
		if err := checkImage(&p.Tensors[i], &p.Pools[c.pool[p.Tensors[i].Pool]]); err != nil {
			return err
		}
	}
	return nil
}

// checkSize checks what a tensor says of itself.
func checkSize(t *Tensor) error {
	if t.DType.Bits() == 0 {
		return bad(t.Name, "tensor has no element type")
	}
	elems := t.Shape.Elems()
	if elems < 0 || int64(elems) > MaxBytes/8 {
		return bad(t.Name, "shape %v is unknown or too large", t.Shape)
	}
	logical := int64(t.DType.Bytes(elems))
	if t.Bytes < logical || t.Bytes > MaxBytes {
		return bad(t.Name, "tensor of shape %v and type %v needs at least %d bytes, found %d", t.Shape, t.DType, logical, t.Bytes)
	}
	if t.Offset < 0 || t.Offset > MaxBytes || t.AliasOffset < 0 || t.AliasOffset > MaxBytes {
		return bad(t.Name, "offset is out of range")
	}
	if t.AliasOf == "" && t.AliasOffset != 0 {
		return bad(t.Name, "alias_offset without alias_of")
	}
	return nil
}

// checkImage checks the 2-D form of a tensor.
func checkImage(t *Tensor, pool *Pool) error {
	m := t.Image
	if m == nil {
		return nil
	}
	const limit = 1 << 20
	for _, v := range []int64{m.Width, m.Height, m.Layers, m.AllocWidth, m.AllocHeight} {
		if v < 0 || v > limit {
			return bad(t.Name, "image extent %d is out of range", v)
		}
	}
	if m.AllocWidth != 0 && m.AllocWidth < m.Width || m.AllocHeight != 0 && m.AllocHeight < m.Height {
		return bad(t.Name, "image of %d x %d is served by a smaller one of %d x %d", m.Width, m.Height, m.AllocWidth, m.AllocHeight)
	}
	if pool.Kind == ImageOverBuffer {
		texel := int64(4*t.DType.Bits()+7) / 8
		if m.RowPitch < m.Width*texel || m.RowPitch > MaxBytes/limit || m.RowPitch*m.Height*max(1, m.Layers) > t.Bytes {
			return bad(t.Name, "row pitch %d does not hold %d texels of %d bytes, or %d rows exceed %d bytes", m.RowPitch, m.Width, texel, m.Height, t.Bytes)
		}
	}
	return nil
}

// roots follows the chains of aliases and checks that each view lies in what it views.
func (c *checker) roots() error {
	p := c.plan
	c.root = make([]int32, len(p.Tensors))
	const unknown, open = -1, -2
	for i := range c.root {
		c.root[i] = unknown
	}
	var chain []int
	for i := range p.Tensors {
		at := i
		chain = chain[:0]
		for c.root[at] == unknown {
			c.root[at] = open
			chain = append(chain, at)
			if p.Tensors[at].AliasOf == "" {
				c.root[at] = int32(at)
				break
			}
			parent, ok := c.tensor[p.Tensors[at].AliasOf]
			if !ok {
				return bad(p.Tensors[at].Name, "alias of %q, which does not exist", p.Tensors[at].AliasOf)
			}
			at = parent
		}
		if c.root[at] == open {
			return bad(p.Tensors[at].Name, "alias of itself")
		}
		for _, t := range chain {
			c.root[t] = c.root[at]
		}
	}
	for i := range p.Tensors {
		t := &p.Tensors[i]
		if t.AliasOf == "" {
			continue
		}
		parent := &p.Tensors[c.tensor[t.AliasOf]]
		if t.Pool != parent.Pool {
			return bad(t.Name, "tensor is in pool %s, what it is a view of is in %s", t.Pool, parent.Pool)
		}
		if t.AliasOffset > parent.Bytes-t.Bytes {
			return bad(t.Name, "view ends at byte %d of %s, which has %d", t.AliasOffset+t.Bytes, parent.Name, parent.Bytes)
		}
		if t.Offset != parent.Offset+t.AliasOffset {
			return bad(t.Name, "offset is %d, that of %s and alias_offset sum to %d", t.Offset, parent.Name, parent.Offset+t.AliasOffset)
		}
		if size := int64(t.DType.Bits()) / 8; size > 1 && t.AliasOffset%size != 0 {
			return bad(t.Name, "alias_offset %d is not a multiple of the element's %d bytes", t.AliasOffset, size)
		}
	}
	return nil
}

func (c *checker) weights() error {
	p := c.plan
	seen := make([]bool, len(p.Tensors))
	sum := int64(0)
	for _, w := range p.Weights {
		t, ok := c.tensor[w.Tensor]
		if !ok {
			return bad(w.Tensor, "weight of a tensor that does not exist")
		}
		if p.Pools[c.pool[p.Tensors[t].Pool]].Kind != WeightPool || int(c.root[t]) != t || seen[t] {
			return bad(w.Tensor, "a weight belongs to one tensor of a pool of kind weights that is no alias")
		}
		seen[t] = true
		if w.Bytes != p.Tensors[t].Bytes {
			return bad(w.Tensor, "weight has %d bytes, its tensor %d", w.Bytes, p.Tensors[t].Bytes)
		}
		if raw, err := hex.DecodeString(w.Digest); err != nil || len(raw) != 32 {
			return bad(w.Tensor, "digest %q is not that of SHA-256", w.Digest)
		}
		if sum += w.Bytes; sum > MaxBytes {
			return bad(w.Tensor, "weights are too large")
		}
	}
	if sum != p.WeightsBytes {
		return bad("", "weights_bytes is %d, the weights have %d", p.WeightsBytes, sum)
	}
	for i := range p.Tensors {
		if p.Pools[c.pool[p.Tensors[i].Pool]].Kind != WeightPool {
			continue
		}
		c.fixed[i] = true
		if int(c.root[i]) == i && !seen[i] {
			return bad(p.Tensors[i].Name, "tensor of pool %s has no weight", p.Tensors[i].Pool)
		}
	}
	return nil
}

func (c *checker) kernels() error {
	c.kernel = make(map[string]int, len(c.plan.Kernels))
	for i, k := range c.plan.Kernels {
		if _, twice := c.kernel[k.Name]; twice || k.Name == "" {
			return bad(k.Name, "name of a kernel must be there and be unique")
		}
		c.kernel[k.Name] = i
		if k.Scratch < 0 || k.Scratch > c.plan.ScratchBytes {
			return bad(k.Name, "kernel needs %d bytes of scratch, scratch_bytes is %d", k.Scratch, c.plan.ScratchBytes)
		}
	}
	if c.plan.ScratchBytes < 0 || c.plan.ScratchBytes > MaxBytes {
		return bad("", "scratch_bytes %d is out of range", c.plan.ScratchBytes)
	}
	return nil
}

// ports checks inputs and outputs: each is a memory of its own, and nothing else is external.
func (c *checker) ports() error {
	p := c.plan
	bound := make([]bool, len(p.Tensors))
	port := func(what string, names map[string]bool, port *Port) (int, error) {
		if port.Name == "" || names[port.Name] {
			return 0, bad(port.Name, "name of an %s must be there and be unique", what)
		}
		names[port.Name] = true
		i, ok := c.tensor[port.Tensor]
		if !ok {
			return 0, bad(port.Name, "%s has tensor %q, which does not exist", what, port.Tensor)
		}
		t := &p.Tensors[i]
		if p.Pools[c.pool[t.Pool]].Kind != External || int(c.root[i]) != i {
			return 0, bad(port.Name, "tensor %s of an %s must be in a pool of kind external and no alias", t.Name, what)
		}
		if bound[i] {
			return 0, bad(port.Name, "tensor %s is bound twice", t.Name)
		}
		bound[i] = true
		if t.DType != port.DType || !t.Shape.Equal(port.Shape) {
			return 0, bad(port.Name, "%s is %v %v, its tensor %v %v", what, port.DType, port.Shape, t.DType, t.Shape)
		}
		if want := int64(t.DType.Bytes(t.Shape.Elems())); t.Bytes != want || t.Layout != "" || t.Image != nil {
			return 0, bad(port.Name, "tensor of an %s must be dense: %d bytes and no layout, found %d", what, want, t.Bytes)
		}
		return i, nil
	}
	inputs, outputs := map[string]bool{}, map[string]bool{}
	for i := range p.Inputs {
		in := &p.Inputs[i]
		t, err := port("input", inputs, in)
		if err != nil {
			return err
		}
		c.fixed[t] = true
		if len(in.Extent) > 0 {
			return bad(in.Name, "an input has no extent")
		}
		if in.Default != "" {
			d, ok := c.tensor[in.Default]
			if !ok || p.Pools[c.pool[p.Tensors[d].Pool]].Kind != WeightPool || p.Tensors[d].Bytes != p.Tensors[t].Bytes || p.Tensors[d].DType != in.DType {
				return bad(in.Name, "default %q is not a weight of %d bytes", in.Default, p.Tensors[t].Bytes)
			}
		}
	}
	for i := range p.Outputs {
		out := &p.Outputs[i]
		if _, err := port("output", outputs, out); err != nil {
			return err
		}
		axes := map[int]bool{}
		for _, e := range out.Extent {
			if e.Axis < 0 || e.Axis >= len(out.Shape) || axes[e.Axis] {
				return bad(out.Name, "extent of axis %d, which shape %v lacks or which has one", e.Axis, out.Shape)
			}
			axes[e.Axis] = true
			if err := c.scalar(out.Name, "extent", e.Tensor, tensor.Int64); err != nil {
				return err
			}
		}
		if out.Default != "" {
			return bad(out.Name, "an output has no default")
		}
	}
	for i := range p.Tensors {
		c.fixed[i] = c.fixed[i] || c.fixed[c.root[i]]
		if int(c.root[i]) == i && !bound[i] && p.Pools[c.pool[p.Tensors[i].Pool]].Kind == External {
			return bad(p.Tensors[i].Name, "external tensor is neither an input nor an output")
		}
	}
	return nil
}

// scalar checks that name is a tensor of one element of type d.
func (c *checker) scalar(node, what, name string, d tensor.DType) error {
	t, ok := c.tensor[name]
	if !ok || c.plan.Tensors[t].DType != d || c.plan.Tensors[t].Shape.Elems() != 1 {
		return bad(node, "%s %q is not a tensor of one %v", what, name, d)
	}
	return nil
}

// lives compares what the plan states with its launches.
func (c *checker) lives() error {
	lives, _, err := c.plan.Lives()
	if err != nil {
		return err
	}
	for i := range c.plan.Tensors {
		if t := &c.plan.Tensors[i]; t.Life != lives[i] {
			return bad(t.Name, "life is stated as %d to %d, the launches give %d to %d", t.Life.First, t.Life.Last, lives[i].First, lives[i].Last)
		}
	}
	return nil
}
