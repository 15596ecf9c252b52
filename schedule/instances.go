package schedule

import (
	"slices"

	"github.com/texel-ml/texel/tir"
	"github.com/texel-ml/texel/tir/arith"
	"github.com/texel-ml/texel/tir/proof"
)

// instances are the runs of a block that holds statements (no other block): its variables as expressions of all loops
// around it, through the blocks around it.
type instances struct {
	realize *tir.BlockRealize
	block   *tir.Block
	loops   []*tir.For // outermost first
	values  []tir.Expr
	around  []*instances // of the blocks around it: block, values, loops
	starts  *instances   // the one of them whose initial value this is a part of
	under   tir.Expr     // the conditions around its realization
	where   tir.Expr     // those, its own, and those of loops whose bounds depend on others
	known   bool         // every loop has bounds that are known
	vars    []proof.Var
	effects []access
}

// access is an element, or a box of elements, that a block touches.
type access struct {
	buffer *tir.Buffer
	side   proof.Side // over variables of the box; the loops are not in it
	store  bool
	known  bool // the index can be computed from the loops
	init   bool // belongs to the initial value
}

// gatherer walks a function in the order of execution.
type gatherer struct {
	list  []*instances
	was   map[any]*instances // of the function before: by realization, and those of blocks around others by name
	loops []*tir.For
	env   map[*tir.Var]tir.Expr
	where tir.Expr
	outer []*instances
	init  *instances // the block whose initial value is being walked
}

// gather returns the runs of all blocks with statements, in the order of execution. A run of a function before that stands
// in f as it did is the same pointer: its realization is, and its loops, blocks and conditions around are alike.
func gather(f *tir.Func, before *gathered) *gathered {
	g := &gatherer{env: map[*tir.Var]tir.Expr{}, was: map[any]*instances{}}
	if before != nil {
		for _, x := range before.runs {
			g.was[x.realize] = x
			for _, o := range x.around {
				g.was[o.block.Name] = o
			}
		}
	}
	g.stmt(f.Root().Body)
	return newGathered(f, g.list)
}

// gathered is a function with its runs.
type gathered struct {
	fn      *tir.Func
	runs    []*instances // in the order of execution
	named   map[string]*instances
	users   map[*tir.Buffer][]*instances // which runs touch a buffer, in order
	writers map[*tir.Buffer][]*instances
	holds   bool // every obligation is fulfilled
}

func newGathered(f *tir.Func, runs []*instances) *gathered {
	g := &gathered{fn: f, runs: runs, named: map[string]*instances{}, users: map[*tir.Buffer][]*instances{}, writers: map[*tir.Buffer][]*instances{}}
	for _, x := range runs {
		g.named[x.block.Name] = x
		for _, a := range x.effects {
			note(g.users, a.buffer, x)
			if a.store {
				note(g.writers, a.buffer, x)
			}
		}
	}
	return g
}

// note adds a run to those of a buffer, once.
func note(to map[*tir.Buffer][]*instances, b *tir.Buffer, x *instances) {
	if list := to[b]; len(list) == 0 || list[len(list)-1] != x {
		to[b] = append(list, x)
	}
}

func (g *gatherer) stmt(s tir.Stmt) {
	switch n := s.(type) {
	case *tir.For:
		g.loops = append(g.loops, n)
		g.stmt(n.Body)
		g.loops = g.loops[:len(g.loops)-1]
	case *tir.Seq:
		for _, c := range n.Stmts {
			g.stmt(c)
		}
	case *tir.If:
		old := g.where
		g.where = tir.All(old, tir.Subst(n.Cond, g.env))
		g.stmt(n.Then)
		g.where = tir.All(old, &tir.Not{A: tir.Subst(n.Cond, g.env)})
		if n.Else != nil {
			g.stmt(n.Else)
		}
		g.where = old
	case *tir.BlockRealize:
		g.realize(n)
	}
}

func (g *gatherer) realize(r *tir.BlockRealize) {
	if x := g.again(r); x != nil {
		g.list = append(g.list, x)
		return
	}
	values := make([]tir.Expr, len(r.Values))
	for i, v := range r.Values {
		values[i] = tir.Subst(v, g.env)
	}
	where := tir.All(g.where, tir.Subst(r.Where, g.env))
	b := r.Block
	for i, iv := range b.Iters {
		g.env[iv.Var] = values[i]
	}
	if b.Opaque || !holdsBlock(b.Body) {
		x := &instances{realize: r, block: b, loops: slices.Clone(g.loops), values: values, around: g.outer, starts: g.init, under: g.where, where: where}
		x.ranges(g.env)
		x.access(g.env)
		g.list = append(g.list, x)
		return
	}
	old, outer, init := g.where, g.outer, g.init
	self := g.enclosing(b, values)
	g.outer = append(outer[:len(outer):len(outer)], self)
	defer func() { g.where, g.outer, g.init = old, outer, init }()
	if b.Init != nil {
		g.where, g.init = where, self
		for i, iv := range b.Iters { // the initial value is written by the first of the instances
			if iv.Kind == tir.Reduce {
				g.where = tir.All(g.where, tir.Bin(tir.EQ, values[i], tir.I(0)))
			}
		}
		g.stmt(b.Init)
	}
	g.where, g.init = where, init
	g.stmt(b.Body)
}

// again returns the run of a realization when it stood in the function before as it stands here.
func (g *gatherer) again(r *tir.BlockRealize) *instances {
	x := g.was[r]
	if x == nil || x.starts != g.init || !slices.Equal(x.around, g.outer) || !sameLoops(x.loops, g.loops) || !tir.Equal(x.under, g.where) {
		return nil
	}
	delete(g.was, r)
	return x
}

// enclosing returns what is known of a block around others, the same as before where it stands as it did.
func (g *gatherer) enclosing(b *tir.Block, values []tir.Expr) *instances {
	x := g.was[b.Name]
	if x == nil || !slices.Equal(x.block.Iters, b.Iters) || !slices.Equal(x.block.Allocs, b.Allocs) ||
		!slices.EqualFunc(x.values, values, tir.Equal) || !sameLoops(x.loops, g.loops) {
		return &instances{block: b, values: values, loops: slices.Clone(g.loops)}
	}
	delete(g.was, b.Name)
	return x
}

// sameLoops reports whether loops run over the same in the same order; to be unrolled changes nothing of that.
func sameLoops(a, b []*tir.For) bool {
	return slices.EqualFunc(a, b, func(f, h *tir.For) bool {
		return f == h || f.Var == h.Var && (f.Kind == h.Kind || inOrder(f, h)) && f.Thread == h.Thread && tir.Equal(f.Min, h.Min) && tir.Equal(f.Extent, h.Extent)
	})
}

// trail is the values of the iteration variables of the blocks around and of the block itself.
func (x *instances) trail() []tir.Expr {
	var list []tir.Expr
	for _, o := range x.around {
		list = append(list, o.values...)
	}
	return append(list, x.values...)
}

func holdsBlock(s tir.Stmt) bool {
	found := false
	tir.Walk(s, func(n any) bool {
		_, is := n.(*tir.BlockRealize)
		found = found || is
		return !found
	})
	return found
}

// ranges makes variables of the loops. A loop whose bounds depend on another has the range of all its values, and a
// condition.
func (x *instances) ranges(env map[*tir.Var]tir.Expr) {
	var a *arith.Analyzer // for bounds that depend on other loops
	x.known = true
	x.vars = make([]proof.Var, 0, len(x.loops))
	for _, l := range x.loops {
		from, extent := tir.Subst(l.Min, env), tir.Subst(l.Extent, env)
		lo, okLo := tir.AsInt(from)
		n, okN := tir.AsInt(extent)
		if (!okLo || !okN) && a == nil {
			a = arith.New()
			for _, v := range x.vars {
				a.Bind(v.Var, v.Min, v.Extent)
			}
		}
		if !okLo || !okN {
			first, _, ok := a.Bounds(from)
			_, last, ok2 := a.Bounds(tir.Minus(tir.Plus(from, extent), tir.I(1)))
			if !ok || !ok2 || last-first > proof.Budget {
				x.known = false
				return
			}
			lo, n = first, max(0, last-first+1)
			x.where = tir.All(x.where, tir.Bin(tir.GE, l.Var, from), tir.Bin(tir.LT, l.Var, tir.Plus(from, extent)))
		}
		if a != nil {
			a.BindExpr(l.Var, from, extent)
		}
		x.vars = append(x.vars, proof.Var{Var: l.Var, Min: lo, Extent: n})
	}
}

// access notes what the block touches: of a block of plain statements each load and store under its conditions, of others
// the declared regions.
func (x *instances) access(env map[*tir.Var]tir.Expr) {
	plain := !x.block.Opaque
	inner := map[*tir.Var]bool{}
	for _, s := range []tir.Stmt{x.block.Init, x.block.Body} {
		if s == nil {
			continue
		}
		tir.Walk(s, func(n any) bool {
			switch n := n.(type) {
			case *tir.For, *tir.While, *tir.Allocate:
				plain = false
			case *tir.Let:
				inner[n.Var] = true
			}
			return plain
		})
	}
	if !plain {
		for _, r := range x.block.Reads {
			x.effects = append(x.effects, regionAccess(r, env, false))
		}
		for _, r := range x.block.Writes {
			x.effects = append(x.effects, regionAccess(r, env, true))
		}
		return
	}
	v := &accessVisitor{x: x, env: env, inner: inner}
	if x.block.Init != nil {
		v.init = true
		v.stmt(x.block.Init, nil)
		v.init = false
	}
	v.stmt(x.block.Body, nil)
}

// regionAccess is a declared region as a box with one variable an axis.
func regionAccess(r tir.Region, env map[*tir.Var]tir.Expr, store bool) access {
	a := access{buffer: r.Buffer, store: store, known: true}
	for i, g := range r.Ranges {
		lo, n := tir.Subst(g.Min, env), tir.Subst(g.Extent, env)
		extent, ok := tir.AsInt(n)
		if !ok || hasLoad(lo) {
			if store {
				a.known = false
			}
			lo, extent = tir.I(0), int64(r.Buffer.Shape[i])
		}
		if extent != 1 {
			v := tir.NewVar("e")
			a.side.Vars = append(a.side.Vars, proof.Var{Var: v, Extent: extent})
			lo = tir.Plus(lo, v)
		}
		a.side.Map = append(a.side.Map, lo)
	}
	return a
}

func hasLoad(e tir.Expr) bool {
	found := false
	tir.Walk(e, func(n any) bool {
		switch n.(type) {
		case *tir.Load, *tir.Call, *tir.Float:
			found = true
		}
		return !found
	})
	return found
}

// accessVisitor notes the loads and stores of plain statements.
type accessVisitor struct {
	x     *instances
	env   map[*tir.Var]tir.Expr
	inner map[*tir.Var]bool // bound by a Let: not known
	init  bool
}

func (v *accessVisitor) stmt(s tir.Stmt, where tir.Expr) {
	switch n := s.(type) {
	case *tir.Store:
		for _, e := range n.Indices {
			v.expr(e, where)
		}
		v.expr(n.Value, where)
		v.note(n.Buffer, n.Indices, where, true)
	case *tir.Seq:
		for _, c := range n.Stmts {
			v.stmt(c, where)
		}
	case *tir.If:
		v.expr(n.Cond, where)
		v.stmt(n.Then, v.and(where, n.Cond))
		if n.Else != nil {
			v.stmt(n.Else, v.and(where, &tir.Not{A: n.Cond}))
		}
	case *tir.Let:
		v.expr(n.Value, where)
		v.stmt(n.Body, where)
	case *tir.Evaluate:
		v.expr(n.Value, where)
	}
}

// and adds a condition that can be computed from the loops; others are left out, which demands more of loads. A store under
// such a condition may not happen: it is then not known.
func (v *accessVisitor) and(where, cond tir.Expr) tir.Expr {
	if hasLoad(cond) || tir.UsesAny(cond, v.inner) {
		return tir.All(where, maybe)
	}
	return tir.All(where, tir.Subst(cond, v.env))
}

// maybe stands for a condition that depends on data.
var maybe tir.Expr = tir.NewVar("maybe")

func (v *accessVisitor) expr(e tir.Expr, where tir.Expr) {
	switch n := e.(type) {
	case *tir.Select:
		v.expr(n.Cond, where)
		v.expr(n.Then, v.and(where, n.Cond))
		v.expr(n.Else, v.and(where, &tir.Not{A: n.Cond}))
	case *tir.Binary:
		v.expr(n.A, where)
		switch n.Op {
		case tir.And:
			where = v.and(where, n.A)
		case tir.Or:
			where = v.and(where, &tir.Not{A: n.A})
		}
		v.expr(n.B, where)
	case *tir.Not:
		v.expr(n.A, where)
	case *tir.Cast:
		v.expr(n.A, where)
	case *tir.Call:
		for _, a := range n.Args {
			v.expr(a, where)
		}
	case *tir.Ramp:
		v.expr(n.Base, where)
		v.expr(n.Stride, where)
	case *tir.Broadcast:
		v.expr(n.A, where)
	case *tir.Load:
		for _, i := range n.Indices {
			v.expr(i, where)
		}
		v.note(n.Buffer, n.Indices, where, false)
	}
}

// note adds an access. An index that is not known may be anywhere on its axis; a vector index is a box.
func (v *accessVisitor) note(b *tir.Buffer, indices []tir.Expr, where tir.Expr, store bool) {
	a := access{buffer: b, store: store, known: true, init: v.init}
	a.side.Map = make([]tir.Expr, 0, len(indices))
	for _, c := range tir.Conjuncts(where) {
		if c == maybe {
			a.known = a.known && !store
			continue
		}
		a.side.Where = tir.All(a.side.Where, c)
	}
	for axis, e := range indices {
		lanes := int64(1)
		var stride tir.Expr = tir.I(0)
		switch n := e.(type) {
		case *tir.Ramp:
			e, stride, lanes = n.Base, n.Stride, int64(n.Lanes)
		case *tir.Broadcast:
			e = n.A
		}
		e = tir.Subst(e, v.env)
		if hasLoad(e) || tir.UsesAny(e, v.inner) || hasLoad(stride) {
			if store {
				a.known = false
			}
			e, stride, lanes = tir.I(0), tir.I(1), int64(b.Shape[axis])
		}
		if lanes > 1 {
			w := tir.NewVar("e")
			a.side.Vars = append(a.side.Vars, proof.Var{Var: w, Extent: lanes})
			e = tir.Plus(e, tir.Times(w, tir.Subst(stride, v.env)))
		}
		a.side.Map = append(a.side.Map, e)
	}
	v.x.effects = append(v.x.effects, a)
}
