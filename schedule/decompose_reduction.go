package schedule

import (
	"slices"

	"github.com/texel-ml/texel/tir"
)

// DecomposeReduction separates the initial value of the reduction b from its updates: a new block writes it right before
// loop l, and b only updates. l must enclose b and every loop that drives one of b's reduce variables, and compute no
// element more than once. It returns the initialising block.
//
//	for i                         for i
//	  for k            l = k        C_init(i): C[i] = 0
//	    C(i, k)          →          for k
//	                                  C(i, k): C[i] = C[i] + …
//
// A block of several results, such as argmax, initialises all of them. Only the elements that b computes are initialised:
// what b's guard says of spatial variables guards the new block too.
func (s *Schedule) DecomposeReduction(b Block, l Loop) Block {
	const step = "decompose_reduction"
	p := s.block(step, b)
	at := s.loop(step, l)
	if p == nil || at == nil {
		return Block{}
	}
	block := p.realize.Block
	if block.Init == nil {
		s.refuse(step, b.name, "has no initial value: it is no reduction, or was decomposed before")
		return Block{}
	}
	level := -1
	for i, f := range p.loops {
		if f.Var == l.v {
			level = i
		}
	}
	if level < 0 {
		s.refuse(step, b.name, "does not stand inside %s", l.v.Name)
		return Block{}
	}
	for _, iv := range block.Iters {
		if iv.Kind == tir.Ordered {
			s.refuse(step, b.name, "has the ordered variable %s; wanted spatial and reduce ones", iv.Var.Name)
			return Block{}
		}
	}
	if slices.ContainsFunc(p.path[slices.Index(p.path, tir.Stmt(at.loop)):], func(st tir.Stmt) bool { _, is := st.(*tir.If); return is }) {
		s.refuse(step, b.name, "stands under a condition inside %s; wanted one that always runs", l.v.Name)
		return Block{}
	}
	where, ok := s.firstGuard(step, p, level)
	if !ok {
		return Block{}
	}
	init := &tir.Block{Name: s.blockName(block.Name + "_init")}
	bind := map[*tir.Var]tir.Expr{}
	var values []tir.Expr
	for i, iv := range block.Iters {
		if iv.Kind != tir.Spatial {
			continue
		}
		v := s.newVar(iv.Var.Name)
		bind[iv.Var] = v
		init.Iters = append(init.Iters, tir.IterVar{Var: v, Extent: iv.Extent, Kind: tir.Spatial})
		values = append(values, p.realize.Values[i])
	}
	init.Body = tir.SubstStmt(block.Init, bind)
	init.Reads, init.Writes = initRegions(block, init, bind)
	var loops []*tir.For
	for _, f := range p.loops[level:] {
		used := where != nil && tir.Uses(where, f.Var)
		for _, v := range values {
			used = used || tir.Uses(v, f.Var)
		}
		for _, g := range p.loops[level:] {
			used = used || tir.Uses(g.Min, f.Var) || tir.Uses(g.Extent, f.Var)
		}
		if used {
			loops = append(loops, f)
		}
	}
	loops, to := s.copiesOf(loops)
	nest := nestOf(loops, &tir.BlockRealize{Values: substAll(values, to), Where: tir.Subst(where, to), Block: init})
	update := *block
	update.Init = nil
	loop := swap(at.loop, p.realize, &tir.BlockRealize{Values: p.realize.Values, Where: p.realize.Where, Block: &update})
	s.replaceIn(at, at.loop, &tir.Seq{Stmts: []tir.Stmt{nest, loop}})
	out := s.blockNamed(init.Name)
	s.record(step, operands(b, l), out)
	return out
}

// firstGuard returns the guard of the initial value: that of the first instance of each element. It refuses when the
// reduction is not whole inside loop number level, or when that loop computes an element again.
func (s *Schedule) firstGuard(step string, p *place, level int) (where tir.Expr, ok bool) {
	node := p.realize.Block.Name
	first := map[*tir.Var]tir.Expr{}
	for i, f := range p.loops {
		reduces, spatial := drives(p.realize, f.Var, tir.Reduce), drives(p.realize, f.Var, tir.Spatial)
		switch {
		case reduces && i < level:
			s.refuse(step, node, "loop %s outside %s drives a reduce variable; wanted all of them inside", f.Var.Name, p.loops[level].Var.Name)
			return nil, false
		case reduces && !spatial:
			first[f.Var] = f.Min
		case !reduces && !spatial && i >= level && !tir.IsConst(f.Extent, 1):
			s.refuse(step, node, "loop %s computes every element again; wanted decompose_reduction at a loop inside", f.Var.Name)
			return nil, false
		}
	}
	for _, f := range p.loops {
		for _, g := range p.loops {
			if first[g.Var] != nil && first[f.Var] == nil && (tir.Uses(f.Min, g.Var) || tir.Uses(f.Extent, g.Var)) {
				s.refuse(step, node, "the bounds of loop %s depend on loop %s, which drives a reduce variable: the first of these may not have all elements", f.Var.Name, g.Var.Name)
				return nil, false
			}
		}
	}
	return p.simplified(tir.Subst(p.realize.Where, first)), true
}

// initRegions returns what the initial value of block, now the body of init, reads and writes. A nest of blocks, as Blockize
// makes it, touches no more of the results than the block does.
func initRegions(block, init *tir.Block, bind map[*tir.Var]tir.Expr) (reads, writes []tir.Region) {
	if !holdsBlock(init.Body) {
		return tir.Accesses(init)
	}
	for _, r := range block.Writes {
		writes = append(writes, substRegion(r, bind))
	}
	seen := map[*tir.Buffer]bool{}
	for _, c := range realizesIn(init.Body) {
		for _, r := range c.realize.Block.Reads {
			if !seen[r.Buffer] {
				seen[r.Buffer] = true
				reads = append(reads, tir.Whole(r.Buffer))
			}
		}
	}
	return reads, writes
}
