package schedule

import (
	"github.com/texel-ml/texel/diag"
	"github.com/texel-ml/texel/tensor"
	"github.com/texel-ml/texel/tir"
	"github.com/texel-ml/texel/tir/arith"
)

// TransformBlockLayout gives block b other iteration variables: an index map sends the old ones to the new ones. Its loops
// become one for each new variable, in their order, and the old variables become expressions of the new ones. It returns
// the new loops.
//
//	for i, j: B(i, j): B[i, j] = …   →   "i, j -> i * 8 + j"   →   for f: B(f): B[f // 8, f %% 8] = …
//
// Where the new variables take more points than the old ones did (i -> i // 4, i %% 4 of an extent that 4 does not divide),
// a condition leaves the others out.
//
// The block's variables must be those of the loops around it, one each, over their whole range, in one nest without
// anything between. A new variable is made of spatial or of reduce variables, not of both. It refuses ordered variables,
// which would come in another order, a map that cannot be undone, and loops that are parallel, vectorized, unrolled or
// bound already.
func (s *Schedule) TransformBlockLayout(b Block, indexMap string) List[Loop] {
	const step = "transform_block_layout"
	p := s.plainBlock(step, b)
	if p == nil {
		return List[Loop]{}
	}
	nest := s.ownLoops(step, p)
	if nest == nil {
		return List[Loop]{}
	}
	block := p.realize.Block
	extents := make([]int, len(block.Iters))
	for i, iv := range block.Iters {
		extents[i] = iv.Extent
	}
	m := s.indexMap(step, b, indexMap, extents)
	if m == nil {
		return List[Loop]{}
	}
	kinds, ok := s.kindsOf(step, b, m, block)
	if !ok {
		return List[Loop]{}
	}
	u, err := m.undo(extents)
	if err != nil {
		s.fail(diag.Invalid(step, b.name, "the map %q of %v cannot be undone", m, tensor.Shape(extents)).By(err))
		return List[Loop]{}
	}
	if u.inside != nil && holdsBlock(block.Body) {
		s.refuse(step, b.name, "holds blocks, which would run at points that are left out; wanted a map that fills its space")
		return List[Loop]{}
	}
	made := &reshaping{s: s, block: block, u: u, kinds: kinds}
	realize, loops := made.over(p.realize.Where, nest)
	if !made.startsInside() {
		s.refuse(step, b.name, "the first of the new reduce instances is none of the old ones; wanted a map that sends 0 to 0")
		return List[Loop]{}
	}
	old := p.path[len(p.path)-1-len(nest.loops)]
	s.swap(old, nestOf(loops, realize))
	out := s.loopsOver(loops)
	s.declareAnew()
	s.record(step, operands(b, m.String()), out)
	return List[Loop]{s, step, b.name, out}
}

// kindsOf returns the kinds of the new variables.
func (s *Schedule) kindsOf(step string, b Block, m *IndexMap, block *tir.Block) ([]tir.IterKind, bool) {
	kinds := make([]tir.IterKind, len(m.To))
	for i, e := range m.To {
		known := false
		for n, v := range m.From {
			if !tir.Uses(e, v) {
				continue
			}
			kind := block.Iters[n].Kind
			if kind == tir.Ordered {
				s.refuse(step, b.name, "variable %s is ordered; its instances keep their order", block.Iters[n].Var.Name)
				return nil, false
			}
			if known && kinds[i] != kind {
				s.refuse(step, b.name, "result %d of the map is made of spatial and reduce variables; wanted one kind", i)
				return nil, false
			}
			kinds[i], known = kind, true
		}
	}
	return kinds, true
}

// ownNest is the loops of a block's variables.
type ownNest struct {
	loops []*tir.For // the innermost ones around the block
	of    []*tir.For // the loop of each variable, nil of one that is always 0
}

// ownLoops returns the loops of a block's variables, when they are those right around it and drive nothing else.
func (s *Schedule) ownLoops(step string, p *place) *ownNest {
	block := p.realize.Block
	n := &ownNest{of: make([]*tir.For, len(block.Iters))}
	refuse := func(format string, args ...any) *ownNest {
		s.refuse(step, block.Name, format, args...)
		return nil
	}
	used := map[*tir.Var]bool{}
	for i, value := range p.realize.Values {
		iv := block.Iters[i]
		if tir.IsConst(value, 0) && iv.Extent == 1 {
			continue
		}
		for _, f := range p.loops {
			if value == tir.Expr(f.Var) {
				n.of[i] = f
			}
		}
		f := n.of[i]
		switch {
		case f == nil || used[f.Var]:
			return refuse("variable %s has no loop of its own; wanted the loops as they were made", iv.Var.Name)
		case !tir.IsConst(f.Min, 0) || !tir.IsConst(f.Extent, int64(iv.Extent)):
			return refuse("loop %s does not run through the %d values of variable %s", f.Var.Name, iv.Extent, iv.Var.Name)
		case f.Kind != tir.Serial || len(f.Attrs) > 0:
			return refuse("loop %s is %v, or has attributes; wanted a serial loop without", f.Var.Name, f.Kind)
		}
		used[f.Var] = true
	}
	n.loops = p.loops[len(p.loops)-len(used):]
	for i, f := range n.loops {
		if !used[f.Var] || p.path[len(p.path)-1-len(used)+i] != tir.Stmt(f) {
			return refuse("loop %s stands between the loops of its variables, or something else does", f.Var.Name)
		}
	}
	return n
}

// reshaping is a block over other iteration variables.
type reshaping struct {
	s     *Schedule
	block *tir.Block
	u     *undoing
	kinds []tir.IterKind
}

// over returns the block over new variables, and new loops for them. where is the old condition, over the old loops.
func (r *reshaping) over(where tir.Expr, nest *ownNest) (*tir.BlockRealize, []*tir.For) {
	s := r.s
	b := *r.block
	b.Iters = nil
	var loops []*tir.For
	var values, vars []tir.Expr
	a, outer := arith.New(), arith.New()
	for i, n := range r.u.shape {
		v, loop := s.newVar(r.u.vars[i].Name), s.newVar(r.u.vars[i].Name)
		b.Iters = append(b.Iters, tir.IterVar{Var: v, Extent: n, Kind: r.kinds[i]})
		a.Bind(v, 0, int64(n))
		f := &tir.For{Var: loop, Min: tir.I(0), Extent: tir.I(n)}
		outer.BindLoop(f)
		values, vars, loops = append(values, loop), append(vars, v), append(loops, f)
	}
	_, old := r.u.at(vars)
	bind := map[*tir.Var]tir.Expr{}
	for i, iv := range r.block.Iters {
		bind[iv.Var] = a.Simplify(old[i])
	}
	b.Reads, b.Writes = regionsWith(a, r.block.Reads, bind), regionsWith(a, r.block.Writes, bind)
	b.Init, b.Body = bodyWith(a, r.block.Init, bind), bodyWith(a, r.block.Body, bind)
	condition, oldLoops := r.u.at(values)
	moved := map[*tir.Var]tir.Expr{}
	for i, f := range nest.of {
		if f != nil {
			moved[f.Var] = outer.Simplify(oldLoops[i])
		}
	}
	where = tir.Subst(where, moved)
	for _, c := range tir.Conjuncts(condition) {
		where = tir.All(where, outer.Simplify(c))
	}
	return &tir.BlockRealize{Values: values, Where: where, Block: &b}, loops
}

// startsInside reports whether the instance whose new reduce variables are all 0, which writes the initial value, is one of
// the old ones wherever another instance of its element is.
func (r *reshaping) startsInside() bool {
	if r.u.inside == nil || r.block.Init == nil {
		return true
	}
	a := arith.New()
	first := make([]tir.Expr, len(r.u.vars))
	for i, v := range r.u.vars {
		a.Bind(v, 0, int64(r.u.shape[i]))
		first[i] = v
		if r.kinds[i] == tir.Reduce {
			first[i] = tir.I(0)
		}
	}
	_, old := r.u.at(first)
	for i, iv := range r.block.Iters {
		if iv.Kind == tir.Reduce && !a.Prove(tir.Bin(tir.LT, old[i], tir.I(iv.Extent))) {
			return false
		}
	}
	return true
}

// regionsWith puts expressions in the place of a block's variables, in regions.
func regionsWith(a *arith.Analyzer, list []tir.Region, bind map[*tir.Var]tir.Expr) []tir.Region {
	out := make([]tir.Region, len(list))
	for i, r := range list {
		out[i] = tir.Region{Buffer: r.Buffer, Ranges: make([]tir.Range, len(r.Ranges))}
		for n, g := range r.Ranges {
			out[i].Ranges[n] = tir.Range{Min: a.Simplify(tir.Subst(g.Min, bind)), Extent: a.Simplify(tir.Subst(g.Extent, bind))}
		}
	}
	return out
}

// bodyWith puts expressions in the place of a block's variables, and simplifies the indices and conditions that they make.
func bodyWith(a *arith.Analyzer, st tir.Stmt, bind map[*tir.Var]tir.Expr) tir.Stmt {
	all := func(list []tir.Expr) []tir.Expr {
		out := make([]tir.Expr, len(list))
		for i, e := range list {
			out[i] = a.Simplify(e)
		}
		return out
	}
	m := &tir.Mapper{
		Expr: func(e tir.Expr) tir.Expr {
			switch n := e.(type) {
			case *tir.Load:
				return &tir.Load{Buffer: n.Buffer, Indices: all(n.Indices)}
			case *tir.Select:
				return tir.Sel(a.Simplify(n.Cond), n.Then, n.Else)
			}
			return e
		},
		Stmt: func(st tir.Stmt) tir.Stmt {
			if n, ok := st.(*tir.Store); ok {
				return &tir.Store{Buffer: n.Buffer, Indices: all(n.Indices), Value: n.Value}
			}
			return st
		},
	}
	return m.MapStmt(tir.SubstStmt(st, bind))
}
