package schedule

import "github.com/texel-ml/texel/tir"

// DecomposeReduction separates the initial value of the reduction b from its updates: a new block writes it right before
// loop l, and b only updates. l must enclose b and every loop that drives one of b's reduce variables. It returns the
// initialising block.
//
//	for i                         for i
//	  for k            l = k        C_init(i): C[i] = 0
//	    C(i, k)          →          for k
//	                                  C(i, k): C[i] = C[i] + …
func (s *Schedule) DecomposeReduction(b Block, l Loop) Block {
	p := s.block("decompose_reduction", b)
	at := s.loop("decompose_reduction", l)
	if p == nil || at == nil {
		return Block{}
	}
	block := p.realize.Block
	if block.Init == nil {
		s.refuse("decompose_reduction", b.name, "has no initial value: it is no reduction, or was decomposed before")
		return Block{}
	}
	level := -1
	for i, f := range p.loops {
		if f.Var == l.v {
			level = i
		}
	}
	if level < 0 {
		s.refuse("decompose_reduction", b.name, "does not stand inside %s", l.v.Name)
		return Block{}
	}
	init := &tir.Block{Name: s.blockName(block.Name + "_init")}
	bind, rename := map[*tir.Var]tir.Expr{}, map[*tir.Var]tir.Expr{}
	var values []tir.Expr
	reduceVars := map[*tir.Var]bool{}
	for i, iv := range block.Iters {
		if iv.Kind != tir.Spatial {
			for _, f := range p.loops {
				if tir.Uses(p.realize.Values[i], f.Var) {
					reduceVars[f.Var] = true
				}
			}
			continue
		}
		v := s.newVar(iv.Var.Name)
		bind[iv.Var] = v
		init.Iters = append(init.Iters, tir.IterVar{Var: v, Extent: iv.Extent, Kind: tir.Spatial})
		values = append(values, p.realize.Values[i])
	}
	for i, f := range p.loops {
		if i < level && reduceVars[f.Var] {
			s.refuse("decompose_reduction", b.name, "loop %s outside %s drives a reduce variable; wanted all of them inside", f.Var.Name, l.v.Name)
			return Block{}
		}
	}
	where := conjunctsWithout(p.realize.Where, reduceVars)
	init.Body = tir.SubstStmt(block.Init, bind)
	init.Reads, init.Writes = tir.Accesses(init)
	var copies []*tir.For
	for _, f := range p.loops[level:] {
		used := where != nil && tir.Uses(where, f.Var)
		for _, v := range values {
			used = used || tir.Uses(v, f.Var)
		}
		if !used {
			continue
		}
		c := *f
		c.Var = s.newVar(f.Var.Name)
		rename[f.Var] = c.Var
		copies = append(copies, &c)
	}
	for i, v := range values {
		values[i] = tir.Subst(v, rename)
	}
	var nest tir.Stmt = &tir.BlockRealize{Values: values, Where: tir.Subst(where, rename), Block: init}
	for i := len(copies) - 1; i >= 0; i-- {
		copies[i].Body = nest
		nest = copies[i]
	}
	update := *block
	update.Init = nil
	loop := swap(at.loop, p.realize, &tir.BlockRealize{Values: p.realize.Values, Where: p.realize.Where, Block: &update})
	s.setRoot(swap(s.fn.Root().Body, at.loop, &tir.Seq{Stmts: []tir.Stmt{nest, loop}}), s.fn.Root().Allocs)
	out := s.blockNamed(init.Name)
	s.record("decompose_reduction", operands(b, l), out)
	return out
}

// conjunctsWithout returns the conjuncts of cond that use none of vars; nil stands for true.
func conjunctsWithout(cond tir.Expr, vars map[*tir.Var]bool) tir.Expr {
	if cond == nil {
		return nil
	}
	if b, ok := cond.(*tir.Binary); ok && b.Op == tir.And {
		return tir.All(conjunctsWithout(b.A, vars), conjunctsWithout(b.B, vars))
	}
	if tir.UsesAny(cond, vars) {
		return nil
	}
	return cond
}
