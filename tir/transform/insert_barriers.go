package transform

import (
	"slices"

	"github.com/texel-ml/texel/diag"
	"github.com/texel-ml/texel/tensor"
	"github.com/texel-ml/texel/tir"
	"github.com/texel-ml/texel/tir/arith"
)

// InsertBarriers puts barriers where values pass between the work-items of a group through shared or global memory: what
// one writes and another reads, what one reads and another then overwrites, and what two write in an order that matters.
//
//	for t (threadIdx.x): S[t] = A[t]            for t (threadIdx.x): S[t] = A[t]
//	for u (threadIdx.x): C[u] = S[7 - u]   →    barrier shared
//	                                            for u (threadIdx.x): C[u] = S[7 - u]
//
// Statements are gone through in order with the accesses since the last barrier; one is put in front of a statement only
// when an element may be touched by different work-items on both sides, which is found by going through the work-items
// and the loops inside (see exchange). Iterations of one bound loop are independent of each other, so nothing passes
// within it except through loops that are bound to the same axis again. What passes from one iteration of a serial loop
// to the next takes one barrier: at the begin of its body when something before the loop must wait too, otherwise at the
// end. A let or a condition whose value is read of what the first work-item then changes takes one inside: each decides
// before that.
//
// All work-items of a group come to each barrier: a condition around that they may decide differently moves inside. Where
// that is impossible, and where a value would pass between groups, through memory that each work-item has for itself, or
// through an image of the kernel's own, the pass explains.
func InsertBarriers(k *tir.Kernel, opts Options) (*tir.Kernel, error) {
	if opts.Device != GPU {
		return k, nil
	}
	extents, err := gridOf(k)
	if err != nil {
		return nil, err
	}
	b := &barriers{extents: extents, a: arith.New(), written: map[*tir.Buffer]bool{}, crosses: crosses(k.Body, extents)}
	tir.Walk(k.Body, func(n any) bool {
		if s, ok := n.(*tir.Store); ok {
			b.written[s.Buffer] = true
		}
		return true
	})
	if image := b.readBack(k.Body); image != nil {
		return nil, diag.Unsupported("insert-barriers", image.Name, "the kernel writes the image and reads it; wanted a kernel that fills it before")
	}
	body, _ := b.stmt(k.Body, &around{}, nil)
	if b.err != nil {
		return nil, b.err
	}
	return withBody(k, body), nil
}

// readBack returns a texture that the kernel reads and writes, which no kernel can.
func (b *barriers) readBack(body tir.Stmt) *tir.Buffer {
	var image *tir.Buffer
	tir.Walk(body, func(n any) bool {
		if l, ok := n.(*tir.Load); ok && l.Buffer.Scope == tir.Texture && b.written[l.Buffer] {
			image = l.Buffer
		}
		return image == nil
	})
	return image
}

type barriers struct {
	extents [tir.GridAxes]int64
	a       *arith.Analyzer
	written map[*tir.Buffer]bool
	crosses bool // work-groups may touch what others do
	err     error
}

// crosses reports whether one work-group does what other ones do: something stands outside of the loops over work-groups, or
// in several of one axis.
func crosses(body tir.Stmt, extents [tir.GridAxes]int64) bool {
	accesses := func(root any) int {
		n := 0
		tir.Walk(root, func(x any) bool {
			switch x.(type) {
			case *tir.Load, *tir.Store:
				n++
			}
			return true
		})
		return n
	}
	all := accesses(body)
	for axis, n := range extents[:tir.ThreadAxis] {
		if n == 1 {
			continue
		}
		whole := false
		tir.Walk(body, func(x any) bool {
			f, ok := x.(*tir.For)
			whole = whole || ok && f.Axis() == axis && accesses(f.Body) == all
			_, isExpr := x.(tir.Expr)
			return !whole && !isExpr
		})
		if !whole {
			return true
		}
	}
	return false
}

// around is what stands around a statement.
type around struct {
	bound  [tir.GridAxes]*tir.For // the innermost loop bound to each axis
	loops  []*tir.For             // the others, outer first
	guards []tir.Expr
	lets   map[*tir.Var]tir.Expr // values, in terms of what is not let
	items  map[*tir.Var]bool     // variables that differ between the work-items of a group
}

// use is one access to memory that work-items may share.
type use struct {
	around
	buf     *tir.Buffer
	indices []tir.Expr
	write   bool
	first   [tir.GridAxes]bool // along an axis without a loop around, only the first work-item does it
	crosses bool               // another work-group may touch the same
	ordered bool               // by a barrier, within its work-group
}

// flow is what a statement does, as far as no barrier orders it inside.
type flow struct {
	first, last []*use    // that may be reached from its begin, and may reach its end, without a barrier
	cut         tir.Scope // the barrier that every way through it has; empty for none
}

func (f *flow) then(g flow) {
	f.first = append(f.first, past(g.first, f.cut)...)
	f.last = append(past(f.last, g.cut), g.last...)
	f.cut = stronger(f.cut, g.cut)
}

// stronger returns the scope of a barrier that does what two do.
func stronger(a, b tir.Scope) tir.Scope {
	if rank(a) >= rank(b) {
		return a
	}
	return b
}

// rank orders barriers by what they order.
func rank(barrier tir.Scope) int {
	switch barrier {
	case "":
		return 0
	case tir.Shared:
		return 1
	}
	return 2
}

// past returns the accesses as they are behind a barrier: one of shared memory orders no global memory, none brings back what
// another work-item has for itself, and none orders those of other work-groups.
func past(uses []*use, barrier tir.Scope) []*use {
	var list []*use
	for _, u := range uses {
		switch {
		case barrier == "" || isPrivate(u.buf) || barrier == tir.Shared && u.buf.Scope != tir.Shared || u.ordered:
			list = append(list, u)
		case u.crosses:
			to := *u
			to.ordered = true
			list = append(list, &to)
		}
	}
	return list
}

func (b *barriers) fail(err error) {
	if b.err == nil {
		b.err = err
	}
}

// inner returns a copy of c to add to.
func (c *around) inner() *around {
	to := *c
	to.loops, to.guards = slices.Clone(c.loops), slices.Clone(c.guards)
	return &to
}

// stmt puts barriers into s; before are the accesses that no barrier parts from its begin. Who calls puts the barrier
// between them and s, unless one in s is enough.
func (b *barriers) stmt(s tir.Stmt, c *around, before []*use) (tir.Stmt, flow) {
	if b.err != nil {
		return s, flow{}
	}
	switch n := s.(type) {
	case *tir.Seq:
		return b.seq(n, c, before)
	case *tir.For:
		return b.loop(n, c, before)
	case *tir.If:
		return b.ifs(n, c, before)
	case *tir.While:
		inner := c.inner()
		body, f := b.stmt(n.Body, inner, nil)
		uses := b.loads(n.Cond, c)
		whole := flow{first: append(uses, f.first...), last: append(slices.Clone(uses), f.last...)}
		if body != n.Body || b.exchange(whole.last, whole.first, c, nil) != "" {
			b.fail(diag.Unsupported("insert-barriers", b.name(c), "values pass between work-items inside a while loop"))
		}
		return n, whole
	case *tir.Let:
		inner := c.inner()
		inner.lets = extend(c.lets, n.Var, c.subst(n.Value))
		if b.differs(n.Value, c) {
			inner.items = extend(c.items, n.Var, true)
		}
		uses := b.loads(n.Value, c)
		body, f := b.stmt(n.Body, inner, append(slices.Clone(before), uses...))
		whole := flow{first: uses, last: uses}
		if scope := b.exchange(uses, f.first, inner, nil); scope != "" { // all read the value before one changes what it is made of
			body = inOrder(&tir.Barrier{Scope: scope}, body)
			whole.then(flow{cut: scope})
		}
		whole.then(f)
		if body == n.Body {
			return n, whole
		}
		return &tir.Let{Var: n.Var, Value: n.Value, Body: body}, whole
	case *tir.Allocate:
		body, f := b.stmt(n.Body, c, before)
		if body == n.Body {
			return n, f
		}
		return n.WithBody(body), f
	case *tir.Barrier:
		return n, flow{cut: n.Scope}
	case *tir.Store:
		uses := b.loads(n.Value, c)
		for _, i := range n.Indices {
			uses = append(uses, b.loads(i, c)...)
		}
		uses = append(uses, b.use(n.Buffer, n.Indices, true, c)...)
		for _, u := range uses {
			for axis := range u.first {
				u.first[axis] = !isPrivate(n.Buffer) && (axis >= tir.ThreadAxis || n.Buffer.Scope != tir.Shared)
			}
		}
		return n, flow{first: uses, last: uses}
	case *tir.Evaluate:
		uses := b.loads(n.Value, c)
		return n, flow{first: uses, last: uses}
	}
	return s, flow{}
}

func extend[V any](m map[*tir.Var]V, v *tir.Var, value V) map[*tir.Var]V {
	to := map[*tir.Var]V{v: value}
	for k, x := range m {
		if k != v {
			to[k] = x
		}
	}
	return to
}

// name is that of the innermost loop, for errors.
func (b *barriers) name(c *around) string {
	if n := len(c.loops); n > 0 {
		return c.loops[n-1].Var.Name
	}
	for _, f := range slices.Backward(c.bound[:]) {
		if f != nil {
			return f.Var.Name
		}
	}
	return ""
}

func (c *around) subst(e tir.Expr) tir.Expr {
	if len(c.lets) == 0 {
		return e
	}
	return tir.Subst(e, c.lets)
}

// differs reports whether an expression may have different values for the work-items of a group.
func (b *barriers) differs(e tir.Expr, c *around) bool {
	found := false
	tir.Walk(e, func(n any) bool {
		switch n := n.(type) {
		case *tir.Var:
			found = found || c.items[n]
		case *tir.Load: // what the kernel does not write is the same for all
			found = found || b.written[n.Buffer]
		}
		return !found
	})
	return found
}

// use notes an access, unless no other work-item can see it.
func (b *barriers) use(buf *tir.Buffer, indices []tir.Expr, write bool, c *around) []*use {
	if !b.written[buf] {
		return nil
	}
	u := &use{around: *c.inner(), buf: buf, write: write, crosses: b.crosses}
	for _, e := range indices {
		u.indices = append(u.indices, c.subst(e))
	}
	return []*use{u}
}

func (b *barriers) loads(e tir.Expr, c *around) []*use {
	var uses []*use
	tir.Walk(e, func(n any) bool {
		if l, ok := n.(*tir.Load); ok {
			uses = append(uses, b.use(l.Buffer, l.Indices, false, c)...)
		}
		return true
	})
	return uses
}

func (b *barriers) seq(n *tir.Seq, c *around, before []*use) (tir.Stmt, flow) {
	var list []tir.Stmt
	var whole flow
	var latest *tir.Barrier // put in here, and nothing else since that orders anything
	var old, pending []*use // accesses before it that it does not order, and those since
	changed := false
	for _, s := range n.Stmts {
		to, f := b.stmt(s, c, slices.Concat(before, old, pending))
		need := b.exchange(pending, f.first, c, nil)
		late := b.exchange(old, f.first, c, nil)
		switch {
		case need == "" && late != "" && latest != nil: // the barrier that is there can order that too
			latest.Scope = stronger(latest.Scope, late)
			before, old = past(before, latest.Scope), past(old, latest.Scope)
		case need != "" || late != "":
			latest, changed = &tir.Barrier{Scope: stronger(need, late)}, true
			list = append(list, latest)
			whole.then(flow{cut: latest.Scope})
			before, old, pending = past(before, latest.Scope), past(slices.Concat(old, pending), latest.Scope), nil
		}
		list, changed = append(list, to), changed || to != s
		whole.then(f)
		if f.cut != "" {
			before, old, pending, latest = past(before, f.cut), past(slices.Concat(old, pending), f.cut), nil, nil
		}
		pending = append(pending, f.last...)
	}
	if !changed {
		return n, whole
	}
	return &tir.Seq{Stmts: list}, whole
}

func (b *barriers) loop(n *tir.For, c *around, before []*use) (tir.Stmt, flow) {
	inner := c.inner()
	axis := n.Axis()
	switch {
	case axis >= 0:
		inner.bound[axis] = n
		if axis >= tir.ThreadAxis {
			inner.items = extend(c.items, n.Var, true)
		}
	case b.differs(n.Min, c):
		inner.items = extend(c.items, n.Var, true)
		fallthrough
	default:
		inner.loops = append(inner.loops, n)
	}
	bounds := append(b.loads(n.Min, c), b.loads(n.Extent, c)...)
	entry := append(slices.Clone(before), bounds...)
	if axis < 0 {
		entry = nil // a barrier in the body would also be there in later iterations
	}
	body, f := b.stmt(n.Body, inner, entry)
	count, constant := tir.AsInt(n.Extent)
	sure := constant && count > 0
	if axis < 0 && !(constant && count <= 1) {
		if scope := b.exchange(f.last, f.first, inner, n); scope != "" {
			stop := &tir.Barrier{Scope: scope}
			if outer := b.exchange(before, f.first, c, nil); outer != "" && sure {
				stop.Scope = stronger(scope, outer)
				body = inOrder(stop, body)
				f.first = past(f.first, stop.Scope)
			} else {
				body = inOrder(body, stop)
				f.last = past(f.last, stop.Scope)
			}
			f.cut = stronger(f.cut, stop.Scope)
		}
	}
	if !sure {
		f.cut = ""
	}
	whole := flow{first: bounds, last: bounds}
	if b.exchange(bounds, f.first, c, nil) != "" {
		b.fail(diag.Unsupported("insert-barriers", n.Var.Name, "values pass between work-items from the bounds of a loop to its body"))
	}
	whole.then(f)
	if body == n.Body {
		return n, whole
	}
	if n.Kind == tir.Vectorized || n.Kind == tir.Parallel {
		b.fail(diag.Unsupported("insert-barriers", n.Var.Name, "values pass between work-items inside a %v loop; wanted a serial one", n.Kind))
	}
	if axis < 0 && (b.differs(n.Min, c) || b.differs(n.Extent, c)) {
		b.fail(diag.Unsupported("insert-barriers", n.Var.Name, "values pass between work-items inside a loop whose bounds they may decide differently"))
	}
	to := *n
	to.Body = body
	return &to, whole
}

func (b *barriers) ifs(n *tir.If, c *around, before []*use) (tir.Stmt, flow) {
	side := func(s tir.Stmt, cond tir.Expr) (tir.Stmt, flow) {
		if s == nil {
			return nil, flow{}
		}
		inner := c.inner()
		inner.guards = append(inner.guards, c.subst(cond))
		return b.stmt(s, inner, before)
	}
	uses := b.loads(n.Cond, c)
	then, f := side(n.Then, n.Cond)
	els, g := side(n.Else, &tir.Not{A: n.Cond})
	branch := flow{first: slices.Concat(f.first, g.first), last: slices.Concat(f.last, g.last)}
	if weaker := min(rank(f.cut), rank(g.cut)); weaker > 0 {
		branch.cut = [...]tir.Scope{"", tir.Shared, tir.Global}[weaker]
	}
	whole := flow{first: uses, last: uses}
	if scope := b.exchange(uses, branch.first, c, nil); scope != "" { // all decide before one changes what they decide by
		whole.then(flow{cut: scope})
		whole.then(branch)
		decided := &tir.Var{Name: "decided", DType: tensor.Bool}
		to := b.taken(&tir.If{Cond: decided, Then: then, Else: els}, b.differs(n.Cond, c), c)
		return &tir.Let{Var: decided, Value: n.Cond, Body: inOrder(&tir.Barrier{Scope: scope}, to)}, whole
	}
	whole.then(branch)
	if then == n.Then && els == n.Else {
		return n, whole
	}
	return b.taken(&tir.If{Cond: n.Cond, Then: then, Else: els}, b.differs(n.Cond, c), c), whole
}

// taken returns a condition around statements with barriers; one that work-items may decide differently moves inside of those.
func (b *barriers) taken(n *tir.If, differs bool, c *around) tir.Stmt {
	if !differs || !hasBarrier(n) {
		return n
	}
	to, ok := guarded(n.Cond, n.Then)
	if n.Else != nil && ok {
		var other tir.Stmt
		other, ok = guarded(&tir.Not{A: n.Cond}, n.Else)
		to = inOrder(to, other)
	}
	if !ok {
		b.fail(diag.Unsupported("insert-barriers", b.name(c), "values pass between work-items under a condition that they may decide differently and that reads memory"))
	}
	return to
}
