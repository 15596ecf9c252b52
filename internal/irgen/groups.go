package irgen

import (
	"slices"

	"github.com/texel-ml/texel/schedule"
	"github.com/texel-ml/texel/tir"
)

// GroupSteps shapes a function for a device with work-groups: loops are bound to work-groups, work-items and virtual threads,
// what blocks read comes through shared memory that work-items fill together, or through an image, sums are made of parts of
// several work-items, and up to n random steps stand before, between and behind. Steps that are refused leave nothing behind.
// How many of each primitive were taken and refused is added to count. A primitive that made an illegal function is an error.
func GroupSteps(d Draw, s *schedule.Schedule, n int, count map[string]*Tally) error {
	g := &stepper{Draw: d, s: s, count: count, groups: true}
	before, between := g.IntN(n+1)/2, g.IntN(n+1)/2
	g.steps(before)
	for range 1 + g.IntN(2) {
		g.sketch()
		g.steps(between / 2)
	}
	g.steps(n - before - between)
	if g.IntN(4) > 0 {
		g.bindRest()
	}
	return g.err
}

// sketch shapes a block and those that it reads.
func (g *stepper) sketch() {
	b := g.block()
	reduces := g.reduces(b)
	if reduces && g.IntN(4) == 3 {
		g.across(b)
		return
	}
	out := b
	if reduces && g.IntN(2) == 0 {
		if gave := g.take("cache_write", b, 0, oneOf(g, "local", "local", "shared")); gave != nil {
			out = gave[0].(schedule.Block)
		}
	}
	grid := g.grid(out)
	if len(grid) > 0 && out != b {
		g.take("compute_at", b, grid[g.IntN(len(grid))])
	}
	if loops := g.free(b, tir.Reduce); len(loops) > 0 && g.IntN(2) == 0 {
		g.take("split", loops[0], []int{0, oneOf(g, 2, 3, 4)})
	}
	for range g.IntN(3) {
		if g.IntN(3) == 0 {
			g.produce(b)
		} else {
			g.stage(b)
		}
	}
}

// loopsOf are the loops around a block, and what they are.
func (g *stepper) loopsOf(b schedule.Block) ([]schedule.Loop, []*tir.For, *tir.BlockRealize) {
	var fors []*tir.For
	var found *tir.BlockRealize
	var visit func(st tir.Stmt, loops []*tir.For)
	visit = func(st tir.Stmt, loops []*tir.For) {
		switch n := st.(type) {
		case *tir.For:
			visit(n.Body, append(slices.Clip(loops), n))
		case *tir.Seq:
			for _, c := range n.Stmts {
				visit(c, loops)
			}
		case *tir.If:
			visit(n.Then, loops)
			visit(n.Else, loops)
		case *tir.BlockRealize:
			if n.Block.Name == b.Name() {
				found, fors = n, loops
			} else if !n.Block.Opaque {
				visit(n.Block.Init, nil)
				visit(n.Block.Body, nil)
			}
		}
	}
	visit(g.s.Func().Root().Body, nil)
	return g.s.Loops(b).Slice(), fors, found
}

// free returns the serial loops around a block that drive variables of a kind, and of no other.
func (g *stepper) free(b schedule.Block, kind tir.IterKind) []schedule.Loop {
	loops, fors, r := g.loopsOf(b)
	if r == nil || len(fors) != len(loops) {
		return nil
	}
	var list []schedule.Loop
	for i, f := range fors {
		drives, others := false, false
		for n, iv := range r.Block.Iters {
			if tir.Uses(r.Values[n], f.Var) {
				drives, others = drives || iv.Kind == kind, others || iv.Kind != kind
			}
		}
		if f.Kind == tir.Serial && drives && !others {
			list = append(list, loops[i])
		}
	}
	return list
}

func (g *stepper) reduces(b schedule.Block) bool {
	d := g.s.Definition(b)
	return d != nil && slices.ContainsFunc(d.Iters, func(iv tir.IterVar) bool { return iv.Kind == tir.Reduce })
}

// grid cuts spatial loops of a block, brings the parts for groups outside of those for work-items, and binds them. It returns
// the loops of groups and work-items.
func (g *stepper) grid(b schedule.Block) []schedule.Loop {
	loops := g.free(b, tir.Spatial)
	if len(loops) > 1 && g.IntN(3) == 0 {
		if gave := g.take("fuse", loops[0], loops[1]); gave != nil {
			loops[1] = gave[0].(schedule.Loop)
			loops = loops[1:]
		}
	}
	if len(loops) == 0 {
		return nil
	}
	var groups, virtual, items, inner []any
	for _, l := range loops[:1+g.IntN(min(3, len(loops)))] {
		n := oneOf(g, 4, 2, 3, 8)
		factors := oneOf(g, []int{0, n}, []int{0, 2, n}, []int{0, n, 2}, nil)
		parts := []any{l}
		if factors != nil {
			if parts = g.take("split", l, factors); parts == nil {
				continue
			}
		}
		switch {
		case len(parts) == 2:
			groups, items = append(groups, parts[0]), append(items, parts[1])
		case len(parts) == 3 && factors[2] == n:
			groups, virtual, items = append(groups, parts[0]), append(virtual, parts[1]), append(items, parts[2])
		case len(parts) == 3:
			groups, items, inner = append(groups, parts[0]), append(items, parts[1]), append(inner, parts[2])
		case g.s.Extent(l) <= 16 && g.IntN(2) == 0:
			items = append(items, l)
		default:
			groups = append(groups, l)
		}
	}
	if all := slices.Concat(groups, virtual, items, inner); len(all) > 1 {
		g.take("reorder", all...)
	}
	var bound []schedule.Loop
	bind := func(list []any, axis string) {
		axes := []string{"x", "y", "z"}
		for i, l := range list {
			thread := axis
			if axis != tir.Vthread {
				thread += "." + axes[(len(list)-1-i)%3]
			}
			if g.take("bind", l, thread) != nil {
				bound = append(bound, l.(schedule.Loop))
			}
		}
	}
	bind(groups, "blockIdx")
	bind(virtual, tir.Vthread)
	bind(items, "threadIdx")
	return bound
}

// stage lets a block read an operand through other memory: shared memory that work-items fill together, local memory, or an
// image, which a kernel of its own fills.
func (g *stepper) stage(b schedule.Block) {
	if g.IntN(4) == 3 {
		var fill schedule.Block
		if g.attempt("set_axis_separator", func() []any {
			list := g.image()
			if list != nil {
				fill = list[0].(schedule.Block)
			}
			return list
		}) != nil {
			g.grid(fill)
		}
		return
	}
	gave := g.take("cache_read", b, g.IntN(2), oneOf(g, "shared", "shared", "shared", "local", "global"))
	if gave == nil {
		return
	}
	fill := gave[0].(schedule.Block)
	if around := g.s.Loops(b).Slice(); len(around) > 0 {
		g.take("compute_at", fill, around[g.IntN(len(around))])
	}
	g.together(fill)
}

// produce computes what a block reads where it is needed, in shared or local memory.
func (g *stepper) produce(b schedule.Block) {
	p := g.s.Producers(b).Slice()
	if len(p) == 0 {
		return
	}
	from := p[g.IntN(len(p))]
	g.take("set_scope", from, 0, oneOf(g, "shared", "shared", "local"))
	if around := g.s.Loops(b).Slice(); len(around) > 0 {
		g.take("compute_at", from, around[g.IntN(len(around))])
	}
	g.together(from)
}

// together gives the loops of a block that fills a buffer, as far as they are free, to the work-items of a group.
func (g *stepper) together(b schedule.Block) {
	if g.IntN(2) == 0 {
		g.take("storage_align", b, 0, oneOf(g, 0, -2), oneOf(g, 4, 8, 3), g.IntN(3))
	}
	if g.IntN(3) == 0 {
		g.take("double_buffer", b)
	}
	loops := g.free(b, tir.Spatial)
	if len(loops) > 1 && g.IntN(2) == 0 {
		if gave := g.take("fuse", loops[len(loops)-2], loops[len(loops)-1]); gave != nil {
			loops = append(loops[:len(loops)-2], gave[0].(schedule.Loop))
		}
	}
	if len(loops) == 0 {
		return
	}
	l := loops[len(loops)-1]
	switch n := oneOf(g, 4, 2, 3, 8); g.IntN(4) {
	case 1:
		if parts := g.take("split", l, []int{n, 0}); parts != nil {
			g.take("bind", parts[0], "threadIdx.x")
		}
	case 2:
		if parts := g.take("split", l, []int{0, n, 2}); parts != nil {
			g.take("bind", parts[1], oneOf(g, "threadIdx.x", "threadIdx.y"))
			g.take("vectorize", parts[2])
		}
	case 3:
		if len(loops) > 1 {
			g.take("bind", loops[len(loops)-2], "threadIdx.y")
		}
		g.take("bind", l, "threadIdx.x")
	default:
		if parts := g.take("split", l, []int{0, n}); parts != nil {
			g.take("bind", parts[1], "threadIdx.x")
		}
	}
}

// across makes a sum of parts, one for each work-item of a group.
func (g *stepper) across(b schedule.Block) {
	loops := g.free(b, tir.Reduce)
	if len(loops) == 0 {
		return
	}
	l := loops[0]
	if len(loops) > 1 && g.IntN(2) == 0 {
		if gave := g.take("fuse", loops[0], loops[1]); gave != nil {
			l = gave[0].(schedule.Loop)
		}
	}
	n := oneOf(g, 4, 2, 3, 8)
	parts := g.take("split", l, oneOf(g, []int{0, n}, []int{n, 0}))
	if parts == nil {
		return
	}
	gave := g.take("rfactor", parts[g.IntN(2)], g.IntN(2))
	if gave == nil {
		return
	}
	part := gave[0].(schedule.Block)
	g.take("set_scope", part, 0, oneOf(g, "shared", "shared", "local", "global"))
	around := g.grid(b)
	if len(around) > 0 {
		g.take("compute_at", part, around[g.IntN(len(around))])
	}
	if own := g.free(part, tir.Spatial); len(own) > 0 {
		g.take("bind", own[g.IntN(len(own))], oneOf(g, "threadIdx.x", "threadIdx.x", "threadIdx.y"))
	}
}

// bindRest binds loops of the nests in which none is bound.
func (g *stepper) bindRest() {
	list := []tir.Stmt{g.s.Func().Root().Body}
	if seq, ok := list[0].(*tir.Seq); ok {
		list = seq.Stmts
	}
	for _, nest := range list {
		bound := false
		var first string
		tir.Walk(nest, func(n any) bool {
			switch n := n.(type) {
			case *tir.For:
				bound = bound || n.Kind == tir.Bound
			case *tir.BlockRealize:
				if first == "" {
					first = n.Block.Name
				}
			}
			return true
		})
		if !bound && first != "" && g.s.Has(first) {
			g.grid(g.s.Block(first))
		}
	}
}
