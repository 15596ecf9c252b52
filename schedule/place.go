package schedule

import (
	"maps"
	"slices"

	"github.com/texel-ml/texel/diag"
	"github.com/texel-ml/texel/tir"
	"github.com/texel-ml/texel/tir/arith"
)

// place is where a statement stands: the statements from the root's body down to it, and its loops outermost first. A
// statement inside a block stands in that block's scope: its loops are those of the scope, which know the variables of
// the blocks around, not the loops that those stand in.
type place struct {
	realize *tir.BlockRealize
	loop    *tir.For
	loops   []*tir.For
	blocks  []*tir.BlockRealize // the blocks around, outermost first, without the root
	outer   []*tir.For          // the loops that the blocks around stand in
	path    []tir.Stmt          // from the root block's body to the statement itself
}

// scope is the innermost block around, nil in the root's.
func (p *place) scope() *tir.BlockRealize {
	if len(p.blocks) == 0 {
		return nil
	}
	return p.blocks[len(p.blocks)-1]
}

// analyzer returns an analyzer that knows the variables of the blocks around and of the loops.
func (p *place) analyzer() *arith.Analyzer {
	a := arith.New()
	for _, r := range p.blocks {
		bindIters(a, r.Block)
	}
	for _, f := range p.loops {
		a.BindLoop(f)
	}
	return a
}

// bindIters tells an analyzer the ranges of a block's variables.
func bindIters(a *arith.Analyzer, b *tir.Block) {
	for _, iv := range b.Iters {
		a.Bind(iv.Var, 0, int64(iv.Extent))
	}
}

// find returns the place of the first statement that match accepts, or nil.
func (s *Schedule) find(match func(tir.Stmt) bool) *place {
	var found *place
	var visit func(st tir.Stmt, at place)
	visit = func(st tir.Stmt, at place) { // statements beside each other share the memory of the lists
		if found != nil || st == nil {
			return
		}
		at.path = append(at.path, st)
		if match(st) {
			found = &place{path: slices.Clone(at.path), outer: slices.Clone(at.outer), loops: slices.Clone(at.loops), blocks: slices.Clone(at.blocks)}
			found.realize, _ = st.(*tir.BlockRealize)
			found.loop, _ = st.(*tir.For)
			return
		}
		switch n := st.(type) {
		case *tir.For:
			at.loops = append(at.loops, n)
			visit(n.Body, at)
		case *tir.Seq:
			for _, c := range n.Stmts {
				visit(c, at)
			}
		case *tir.If:
			visit(n.Then, at)
			visit(n.Else, at)
		case *tir.BlockRealize:
			if !n.Block.Opaque {
				at.outer = append(at.outer, at.loops...)
				at.loops = nil
				at.blocks = append(at.blocks, n)
				visit(n.Block.Init, at)
				visit(n.Block.Body, at)
			}
		}
	}
	visit(s.fn.Root().Body, place{path: make([]tir.Stmt, 0, 16), loops: make([]*tir.For, 0, 16)})
	return found
}

// findBlock returns the place of the block with that name, or nil.
func (s *Schedule) findBlock(name string) *place {
	return s.find(func(st tir.Stmt) bool {
		r, ok := st.(*tir.BlockRealize)
		return ok && r.Block.Name == name
	})
}

// findLoop returns the place of the loop over v, or nil.
func (s *Schedule) findLoop(v *tir.Var) *place {
	return s.find(func(st tir.Stmt) bool {
		f, ok := st.(*tir.For)
		return ok && f.Var == v
	})
}

// empty is the error of a step that is given the zero value of a handle, which no trace has.
func empty(step, kind string) error {
	return diag.Invalid(step, "", "the %s is empty: it comes from a step that gave none", kind)
}

func (s *Schedule) block(step string, b Block) *place {
	if s.err != nil {
		return nil
	}
	if b.name == "" {
		s.fail(empty(step, "block"))
		return nil
	}
	p := s.findBlock(b.name)
	if p == nil {
		s.refuse(step, b.name, "no block has this name; it was inlined or never existed")
	}
	return p
}

func (s *Schedule) loop(step string, l Loop) *place {
	if s.err != nil {
		return nil
	}
	if l.v == nil {
		s.fail(empty(step, "loop"))
		return nil
	}
	p := s.findLoop(l.v)
	if p == nil {
		s.refuse(step, l.v.Name, "no loop runs over this variable; it was split, fused or moved away")
	}
	return p
}

// swap replaces statement old by new, which may be nil to remove it.
func swap(body, old, new tir.Stmt) tir.Stmt {
	m := &tir.Mapper{Enter: func(st tir.Stmt) (tir.Stmt, bool) {
		if st == old {
			return new, true
		}
		_, leaf := st.(*tir.Store)
		return st, leaf
	}}
	return dropEmpty(m.MapStmt(body))
}

// dropEmpty removes loops, sequences, conditions and blocks that were left without a body.
func dropEmpty(s tir.Stmt) tir.Stmt {
	switch n := s.(type) {
	case *tir.For:
		b := dropEmpty(n.Body)
		if b == nil {
			return nil
		}
		if b != n.Body {
			c := *n
			c.Body = b
			return &c
		}
	case *tir.Seq:
		var list []tir.Stmt
		changed := false
		for _, c := range n.Stmts {
			b := dropEmpty(c)
			changed = changed || b != c
			if b != nil {
				list = append(list, b)
			}
		}
		if len(list) == 0 {
			return nil
		}
		if changed || len(list) == 1 {
			return tir.Block1(list...)
		}
	case *tir.If:
		then, els := dropEmpty(n.Then), dropEmpty(n.Else)
		switch {
		case then == nil && els == nil:
			return nil
		case then == nil:
			return &tir.If{Cond: tir.Negate(n.Cond), Then: els}
		case then != n.Then || els != n.Else:
			return &tir.If{Cond: n.Cond, Then: then, Else: els}
		}
	case *tir.BlockRealize:
		if n.Block.Opaque {
			return s
		}
		body := dropEmpty(n.Block.Body)
		if body == nil {
			return nil
		}
		if body != n.Block.Body {
			b := *n.Block
			b.Body = body
			return &tir.BlockRealize{Values: n.Values, Where: n.Where, Block: &b}
		}
	}
	return s
}

// analyzer returns an analyzer that knows the ranges of the given loops.
func analyzer(loops []*tir.For) *arith.Analyzer {
	a := arith.New()
	for _, l := range loops {
		a.BindExpr(l.Var, l.Min, l.Extent)
	}
	return a
}

// realizesIn returns the block realizations below st in order of execution, opaque ones too, each with the loops
// between st and it.
func realizesIn(st tir.Stmt) []*place {
	var list []*place
	var visit func(st tir.Stmt, loops []*tir.For)
	visit = func(st tir.Stmt, loops []*tir.For) {
		switch n := st.(type) {
		case *tir.For:
			visit(n.Body, append(loops[:len(loops):len(loops)], n))
		case *tir.Seq:
			for _, c := range n.Stmts {
				visit(c, loops)
			}
		case *tir.If:
			visit(n.Then, loops)
			if n.Else != nil {
				visit(n.Else, loops)
			}
		case *tir.BlockRealize:
			list = append(list, &place{realize: n, loops: loops})
		}
	}
	visit(st, nil)
	return list
}

// replaceBuffer puts to in from's place everywhere: parameters are never replaced this way, allocations are.
func (s *Schedule) replaceBuffer(from, to *tir.Buffer) {
	body := tir.ReplaceBuffer(s.fn.Root().Body, from, to, nil)
	allocs := append([]*tir.Buffer{}, s.fn.Root().Allocs...)
	for i, b := range allocs {
		if b == from {
			allocs[i] = to
		}
	}
	s.setRoot(body, allocs)
}

func reads(b *tir.Block, buf *tir.Buffer) bool {
	for _, r := range b.Reads {
		if r.Buffer == buf {
			return true
		}
	}
	return false
}

func writes(b *tir.Block, buf *tir.Buffer) bool {
	for _, r := range b.Writes {
		if r.Buffer == buf {
			return true
		}
	}
	return false
}

func cloneAttrs(m map[string]string) map[string]string {
	if m == nil {
		return map[string]string{}
	}
	return maps.Clone(m)
}

// usesOthers reports whether e uses a variable that is not among the keys of own.
func usesOthers[V any](e tir.Expr, own map[*tir.Var]V) bool {
	found := false
	tir.Walk(e, func(n any) bool {
		if v, ok := n.(*tir.Var); ok && !found {
			_, is := own[v]
			found = !is
		}
		return !found
	})
	return found
}

// guard adds a condition to each block below st.
func guard(st tir.Stmt, cond tir.Expr) tir.Stmt {
	m := &tir.Mapper{Enter: func(n tir.Stmt) (tir.Stmt, bool) {
		if r, ok := n.(*tir.BlockRealize); ok {
			return &tir.BlockRealize{Values: r.Values, Where: tir.All(r.Where, cond), Block: r.Block}, true
		}
		return nil, false
	}}
	return m.MapStmt(st)
}

// decided returns a loop around p whose iterations are independent and which decides where l, at p or inside, starts, where l
// drives a variable that is not spatial: counted from 0, it would leave that variable to the other loop, too. It returns nil
// when there is none.
func (p *place) decided(l *tir.For) *tir.For {
	for _, f := range p.loops {
		independent := f.Kind == tir.Parallel || f.Kind == tir.Vectorized || f.Kind == tir.Bound
		if independent && tir.Uses(l.Min, f.Var) && slices.ContainsFunc(allRealizes(l.Body), func(r *tir.BlockRealize) bool {
			return drives(r, l.Var, tir.Reduce) || drives(r, l.Var, tir.Ordered)
		}) {
			return f
		}
	}
	return nil
}

// simplifyBindings simplifies the values and guards of the blocks below st, which stands at p inside some more loops.
func simplifyBindings(st tir.Stmt, p *place, inside ...*tir.For) tir.Stmt {
	a := p.analyzer()
	for _, f := range inside {
		a.BindLoop(f)
	}
	m := &tir.Mapper{}
	m.Enter = func(n tir.Stmt) (tir.Stmt, bool) {
		switch n := n.(type) {
		case *tir.For: // what it says of the variables in its bounds is true inside alone
			leave := a.Scope()
			defer leave()
			a.BindLoop(n)
			body := m.MapStmt(n.Body)
			if body == n.Body {
				return n, true
			}
			f := *n
			f.Body = body
			return &f, true
		case *tir.BlockRealize:
			values := make([]tir.Expr, len(n.Values))
			for i, v := range n.Values {
				values[i] = a.Simplify(v)
			}
			where := tir.All(a.Simplify(n.Where))
			if where != nil && tir.IsConst(where, 0) { // never: the values do not matter, but must be in their ranges
				for i, v := range values {
					last := tir.I(n.Block.Iters[i].Extent - 1)
					values[i] = a.Simplify(tir.Maximum(tir.I(0), tir.Minimum(v, last)))
				}
			}
			return &tir.BlockRealize{Values: values, Where: tir.All(where, ranges(a, n.Block, values, where)), Block: n.Block}, true
		}
		return nil, false
	}
	return m.MapStmt(st)
}

// ranges says of the values of a block's variables that they are in their ranges, as far as that is not known under the
// block's condition: it is so, but the condition may say it in other words.
func ranges(a *arith.Analyzer, b *tir.Block, values []tir.Expr, where tir.Expr) tir.Expr {
	leave := a.Assume(where)
	defer leave()
	var out tir.Expr
	for i, v := range values {
		if least := tir.Ge(v, tir.I(0)); !a.Prove(least) {
			out = tir.All(out, least)
		}
		if most := tir.Lt(v, tir.I(b.Iters[i].Extent)); !a.Prove(most) {
			out = tir.All(out, most)
		}
	}
	return out
}
