// Package memplan decides at compile time where each tensor of a plan lies.
//
// Tensors that are views of each other, and tensors that take an operand's memory in place, form a block: a piece of
// memory with parts that are alive at different times. Each block gets an offset in its arena such that no two parts
// that are alive at the same position overlap. Two greedy orders are tried, by size and by breadth, with and without
// in-place; the best is then improved by a bounded search over orders that is the same on every machine. The lower
// bound (the largest sum of live bytes at one position) is stated beside the result.
//
// Sources: Y. Pisarchyk, J. Lee, "Efficient Memory Management for Deep Neural Net Inference", arXiv:2001.03288, for
// the two greedy orders and the bound.
package memplan

import (
	"cmp"
	"slices"

	"github.com/texel-ml/texel/artifact"
	"github.com/texel-ml/texel/diag"
)

// Options of the planner. The zero value is right.
type Options struct {
	// SearchWork bounds the local search, in visits of placed parts; 0 is 20 million, about 50 ms. Negative is none.
	SearchWork int
	// NoInPlace drops every in-place pair.
	NoInPlace bool
	// Alignment is that of every tensor, in bytes, where a device wants more than artifact.Alignment; a power of two.
	Alignment int64
	// Stagger is how many bytes a block may move up so that the operands of one launch do not start at the same
	// place modulo 4 KiB; a multiple of 64. 0 leaves the arena as small as it was planned. It costs at most this much
	// for each block that is alive at the peak.
	Stagger int64
}

// Assign sets offsets, lives, the in-place pairs that are used, the size of each arena, the totals and Memory of p.
// Tensors outside pools of kind arena and image-over-buffer get their offset from what they are a view of.
//
// A plan whose tensors together are larger than any memory is unsupported.
func Assign(p *artifact.Plan, opt Options) error {
	if err := checkSizes(p); err != nil {
		return err
	}
	if err := p.SetLives(); err != nil {
		return err
	}
	g, err := newGroups(p)
	if err != nil {
		return err
	}
	if g.align = max(opt.Alignment, artifact.Alignment); g.align&(g.align-1) != 0 {
		return diag.Internal("memplan", p.Function, "alignment %d is no power of two", opt.Alignment)
	}
	if opt.Stagger < 0 || opt.Stagger%artifact.Alignment != 0 || opt.Stagger > 0 && g.align > artifact.Alignment {
		return diag.Internal("memplan", p.Function, "stagger %d is not a multiple of %d, or tensors have the larger alignment %d", opt.Stagger, artifact.Alignment, g.align)
	}
	p.Memory = artifact.Memory{}
	steps, err := p.Steps()
	if err != nil {
		return err
	}
	taken := map[*artifact.Launch][]artifact.InPlace{}
	for i := range p.Pools {
		pool := &p.Pools[i]
		if pool.Kind != artifact.Arena && pool.Kind != artifact.ImageOverBuffer {
			continue
		}
		separate := g.blocks(pool.Name, nil, nil)
		for _, b := range separate {
			p.Memory.Naive += align(b.size())
		}
		best := place(separate, opt)
		var pairs map[*artifact.Launch][]artifact.InPlace
		if !opt.NoInPlace {
			trial := map[*artifact.Launch][]artifact.InPlace{}
			joined := g.blocks(pool.Name, steps, trial)
			if l := place(joined, opt); len(trial) > 0 && l.size <= best.size {
				best, pairs = l, trial
			}
		}
		p.Memory.LowerBound += best.bound
		p.Memory.Planned += best.size
		if p.Memory.Strategy == "" || best.size > 0 {
			p.Memory.Strategy = best.strategy
		}
		if opt.Stagger > 0 {
			best = stagger(best, opt, steps, g)
		}
		pool.Bytes = best.size
		for i, b := range best.blocks {
			for _, m := range b.members {
				p.Tensors[m.tensor].Offset = best.offsets[i] + m.at
			}
		}
		for l, list := range pairs {
			taken[l] = append(taken[l], list...)
		}
	}
	for _, s := range steps {
		s.Launch.InPlace = taken[s.Launch]
	}
	g.settle()
	p.SetTotals()
	p.Memory.Padding = 0
	for _, pool := range p.Pools {
		if pool.Kind == artifact.Arena || pool.Kind == artifact.ImageOverBuffer {
			p.Memory.Padding += pool.Bytes
		}
	}
	p.Memory.Padding -= p.Memory.Planned
	return nil
}

// checkSizes refuses what no machine holds, before sums of sizes are taken.
func checkSizes(p *artifact.Plan) error {
	left := int64(artifact.MaxBytes)
	for i := range p.Tensors {
		t := &p.Tensors[i]
		if t.Bytes > left {
			return diag.Unsupported("memplan", t.Name, "the tensors up to this one, of shape %v, have more than %d bytes", t.Shape, int64(artifact.MaxBytes))
		}
		left -= t.Bytes
	}
	for _, k := range p.Kernels {
		if k.Scratch > artifact.MaxBytes {
			return diag.Unsupported("memplan", k.Name, "the kernel needs %d bytes of scratch, at most %d are planned", k.Scratch, int64(artifact.MaxBytes))
		}
	}
	return nil
}

// groups knows the aliases of a plan.
type groups struct {
	plan  *artifact.Plan
	index map[string]int
	root  []int
	at    []int64 // tensor → bytes behind its root
	align int64   // of every tensor
	order []int   // roots first, then each view after what it is a view of
}

func newGroups(p *artifact.Plan) (*groups, error) {
	n := len(p.Tensors)
	g := &groups{plan: p, index: make(map[string]int, n), root: make([]int, n), at: make([]int64, n)}
	for i := range p.Tensors {
		g.index[p.Tensors[i].Name] = i
	}
	for i := range p.Tensors {
		g.root[i] = -1
	}
	var chain []int
	for i := range p.Tensors {
		chain = chain[:0]
		t := i
		for g.root[t] < 0 {
			if len(chain) > n {
				return nil, diag.Internal("memplan", p.Tensors[i].Name, "alias of itself")
			}
			chain = append(chain, t)
			if p.Tensors[t].AliasOf == "" {
				g.root[t] = t
				break
			}
			parent, ok := g.index[p.Tensors[t].AliasOf]
			if !ok {
				return nil, diag.Internal("memplan", p.Tensors[t].Name, "alias of %q, which does not exist", p.Tensors[t].AliasOf)
			}
			t = parent
		}
		for _, c := range slices.Backward(chain) {
			if c != g.root[t] {
				parent := g.index[p.Tensors[c].AliasOf]
				g.root[c], g.at[c] = g.root[parent], g.at[parent]+p.Tensors[c].AliasOffset
			}
			g.order = append(g.order, c)
		}
	}
	for i := range p.Tensors { // a view lies where its root lies
		p.Tensors[i].Pool = p.Tensors[g.root[i]].Pool
	}
	return g, nil
}

// settle sets the offsets of views outside the arenas.
func (g *groups) settle() {
	for _, t := range g.order {
		if g.root[t] != t {
			g.plan.Tensors[t].Offset = g.plan.Tensors[g.root[t]].Offset + g.at[t]
		}
	}
}

// blocks returns the blocks of a pool, in the order of their first tensor. With steps, in-place pairs that are legal
// are joined and noted in taken.
func (g *groups) blocks(pool string, steps []artifact.Step, taken map[*artifact.Launch][]artifact.InPlace) []*block {
	of := make([]*block, len(g.plan.Tensors))
	var all []*block
	for t := range g.plan.Tensors {
		if g.plan.Tensors[t].Pool != pool {
			continue
		}
		r := g.root[t]
		if of[r] == nil {
			of[r] = &block{align: g.align}
			all = append(all, of[r])
		}
		of[t] = of[r]
		x := &g.plan.Tensors[t]
		of[t].members = append(of[t].members, member{tensor: t, group: r, at: g.at[t], bytes: x.Bytes, first: x.Life.First, last: x.Life.Last})
	}
	for _, s := range steps {
		g.join(of, s, taken)
	}
	all = slices.DeleteFunc(all, func(b *block) bool { return len(b.members) == 0 })
	for _, b := range all {
		b.cut()
	}
	return all
}

// join merges the blocks of the launch's in-place pairs where the read tensor dies here and the written one is born
// here. Of several candidates for one written tensor the largest that is no larger is taken, else the smallest.
func (g *groups) join(of []*block, s artifact.Step, taken map[*artifact.Launch][]artifact.InPlace) {
	pairs := slices.Clone(s.Launch.InPlace)
	bytes := func(name string) int64 {
		if t, ok := g.index[name]; ok {
			return g.plan.Tensors[t].Bytes
		}
		return 0
	}
	slices.SortStableFunc(pairs, func(a, b artifact.InPlace) int {
		fit := func(x artifact.InPlace) int64 {
			if d := bytes(x.Write) - bytes(x.Read); d >= 0 {
				return d
			}
			return 1<<50 - (bytes(x.Write) - bytes(x.Read))
		}
		return cmp.Compare(fit(a), fit(b))
	})
	used := map[int]bool{}
	for _, pair := range pairs {
		w, okW := g.index[pair.Write]
		r, okR := g.index[pair.Read]
		if !okW || !okR || used[w] || used[r] || of[w] == nil || of[r] == nil || of[w] == of[r] {
			continue
		}
		from, into := of[w], of[r]
		shift := into.where(r) - from.where(w)
		if shift%g.align != 0 || !g.legal(into, from, shift, r, w, s) {
			continue
		}
		used[w], used[r] = true, true
		for _, m := range from.members {
			m.at += shift
			into.members = append(into.members, m)
			of[m.tensor] = into
		}
		from.members = nil
		taken[s.Launch] = append(taken[s.Launch], pair)
	}
}

// legal reports whether from, moved by shift, may share memory with into: where members overlap, the old one must be
// dead before the new one is born, or be just the pair; and the launch must not read the old memory otherwise.
func (g *groups) legal(into, from *block, shift int64, r, w int, s artifact.Step) bool {
	for _, y := range from.members {
		for _, x := range into.members {
			if !x.overlaps(y, shift) || x.tensor == r && y.tensor == w && x.last == s.Pos && y.first == s.Pos {
				continue
			}
			if x.last >= y.first {
				return false
			}
		}
	}
	return true
}

func align(n int64) int64 { return roundUp(n, artifact.Alignment) }

func roundUp(n, to int64) int64 { return (n + to - 1) / to * to }
