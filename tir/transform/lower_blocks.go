package transform

import (
	"fmt"
	"slices"

	"github.com/texel-ml/texel/diag"
	"github.com/texel-ml/texel/tir"
	"github.com/texel-ml/texel/tir/arith"
)

// LowerBlocks replaces each block by its body with the iteration variables' values put in, guarded by Where. A block
// with Init becomes
//
//	if (all reduce values are 0) { init }
//	body
//
// and its buffers are allocated around the innermost statement that has all their accesses and each loop of which one
// iteration leaves values in them to the next (see feeds). A shared buffer, which is one of the group, stays around the
// innermost loop of work-items.
//
// Each loop nest directly below the root becomes a kernel, except that neighbours that share a buffer which is not
// global or a texture stay together. Global buffers of the root pass values between kernels and are returned in the
// order of their first use, unless all their uses lie within one iteration of a loop (see privatize).
func LowerBlocks(f *tir.Func, opts Options) ([]*tir.Kernel, []*tir.Buffer, error) {
	opts = opts.withDefaults()
	b := &blockLowerer{a: arith.New(), sealed: map[tir.Stmt]bool{}, pins: map[*tir.Buffer][]*tir.Var{}, begun: map[*tir.Store]bool{},
		attrs: map[*tir.Buffer]map[string]string{}}
	body, allocs := f.Body, []*tir.Buffer(nil)
	if root := f.Root(); root != nil && len(root.Iters) == 0 {
		body, allocs = root.Body, root.Allocs
		if root.Init != nil || f.Body.(*tir.BlockRealize).Where != nil {
			return nil, nil, diag.Invalid("lower-blocks", root.Name, "the root block has an init or a condition")
		}
	}
	var nests []tir.Stmt
	for _, s := range flatten(body) {
		low, err := b.stmt(s)
		if err != nil {
			return nil, nil, err
		}
		if low != nil {
			nests = append(nests, low)
		}
	}
	if len(nests) == 0 {
		return nil, nil, diag.Invalid("lower-blocks", f.Name, "the function computes nothing")
	}
	shared := func(buf *tir.Buffer) bool { return buf.Scope == tir.Global || buf.Scope == tir.Texture }
	groups := group(nests, slices.DeleteFunc(slices.Clone(allocs), shared))
	private := map[*tir.Buffer]bool{}
	for i, g := range groups {
		for _, buf := range allocs {
			if read, written := accesses(g, buf); !read && !written {
				continue
			}
			switch {
			case !shared(buf):
				groups[i] = b.place(groups[i], buf)
				private[buf] = true
			case buf.Scope == tir.Global && opts.Device == CPU && onlyIn(groups, i, buf):
				if to, ok := b.privatize(groups[i], buf); ok {
					groups[i] = to
					private[buf] = true
				}
			}
		}
	}
	var between []*tir.Buffer
	var kernels []*tir.Kernel
	for _, g := range groups {
		name := f.Name
		if len(kernels) > 0 {
			name = fmt.Sprintf("%s_%d", f.Name, len(kernels))
		}
		k := kernelOf(name, f, g, allocs, private)
		if k.Outputs == 0 {
			continue // it fills private buffers that nothing reads any more
		}
		kernels = append(kernels, k)
		for _, buf := range k.Params {
			if slices.Contains(allocs, buf) && !slices.Contains(between, buf) {
				between = append(between, buf)
			}
		}
	}
	return kernels, between, nil
}

// flatten returns the statements of nested Seqs.
func flatten(s tir.Stmt) []tir.Stmt {
	switch n := s.(type) {
	case nil:
		return nil
	case *tir.Seq:
		var out []tir.Stmt
		for _, c := range n.Stmts {
			out = append(out, flatten(c)...)
		}
		return out
	}
	return []tir.Stmt{s}
}

// inOrder returns statements one after the other as one statement, without nested Seqs.
func inOrder(list ...tir.Stmt) tir.Stmt { return tir.Block1(flatten(&tir.Seq{Stmts: list})...) }

// group joins neighbouring nests from the first to the last use of each private buffer.
func group(nests []tir.Stmt, private []*tir.Buffer) []tir.Stmt {
	last := make([]int, len(nests)) // the last nest that must be with nest i
	for i := range last {
		last[i] = i
	}
	for _, buf := range private {
		first := -1
		for i, n := range nests {
			if read, written := accesses(n, buf); read || written {
				if first < 0 {
					first = i
				}
				last[first] = max(last[first], i)
			}
		}
	}
	var out []tir.Stmt
	for i := 0; i < len(nests); {
		end := i
		for j := i; j <= end; j++ {
			end = max(end, last[j])
		}
		out = append(out, tir.Block1(nests[i:end+1:end+1]...))
		i = end + 1
	}
	return out
}

func onlyIn(groups []tir.Stmt, at int, buf *tir.Buffer) bool {
	for i, g := range groups {
		if read, written := accesses(g, buf); i != at && (read || written) {
			return false
		}
	}
	return true
}

// kernelOf makes a kernel with the buffers that its body uses: what is only read first, then what is written; each in
// the function's order, the buffers between kernels after it in the order of use.
func kernelOf(name string, f *tir.Func, body tir.Stmt, allocs []*tir.Buffer, private map[*tir.Buffer]bool) *tir.Kernel {
	order := slices.Clone(f.Params)
	tir.Walk(body, func(n any) bool {
		var buf *tir.Buffer
		switch n := n.(type) {
		case *tir.Load:
			buf = n.Buffer
		case *tir.Store:
			buf = n.Buffer
		}
		if buf != nil && slices.Contains(allocs, buf) && !private[buf] && !slices.Contains(order, buf) {
			order = append(order, buf)
		}
		return true
	})
	k := &tir.Kernel{Name: name, GridExtent: 1, Body: body}
	var outputs []*tir.Buffer
	for _, buf := range order {
		switch read, written := accesses(body, buf); {
		case written:
			outputs = append(outputs, buf)
		case read:
			k.Params = append(k.Params, buf)
		}
	}
	k.Params, k.Outputs = append(k.Params, outputs...), len(outputs)
	for _, v := range f.Scalars {
		if tir.Uses(body, v) {
			k.Scalars = append(k.Scalars, v)
		}
	}
	return k
}

type blockLowerer struct {
	a      *arith.Analyzer
	path   []any                             // *tir.For and conditions around, outer first
	sealed map[tir.Stmt]bool                 // bodies of opaque blocks: no allocation goes inside
	pins   map[*tir.Buffer][]*tir.Var        // loops over which a reduction with an initial value runs
	begun  map[*tir.Store]bool               // stores of such reductions: they read what they began, in those loops
	attrs  map[*tir.Buffer]map[string]string // what a block that writes it says of it
}

// allocate returns the allocation of a buffer around s.
func (b *blockLowerer) allocate(buf *tir.Buffer, s tir.Stmt) *tir.Allocate {
	return &tir.Allocate{Buffer: buf, Attrs: b.attrs[buf], Body: s}
}

// note keeps what a block says of a buffer that it writes, for the allocation.
func (b *blockLowerer) note(block *tir.Block, buf *tir.Buffer) {
	set := func(key, value string) {
		if b.attrs[buf] == nil {
			b.attrs[buf] = map[string]string{}
		}
		b.attrs[buf][key] = value
	}
	if v := block.Attrs[tir.DoubleBuffer]; v != "" {
		set(tir.DoubleBuffer, v)
	}
	if v := block.Attrs[tir.StorageAlign]; v != "" && buf.Strides != nil {
		set(tir.StorageAlign, v)
	}
}

func (b *blockLowerer) stmt(s tir.Stmt) (tir.Stmt, error) {
	switch n := s.(type) {
	case nil:
		return nil, nil
	case *tir.BlockRealize:
		return b.realize(n)
	case *tir.For:
		leave := b.a.Scope()
		defer leave()
		b.a.BindLoop(n)
		defer b.within(n)()
		body, err := b.stmt(n.Body)
		if err != nil || body == nil || body == n.Body {
			return orNil(n, body), err
		}
		c := *n
		c.Body = body
		return &c, nil
	case *tir.Seq:
		var list []tir.Stmt
		for _, c := range n.Stmts {
			low, err := b.stmt(c)
			if err != nil {
				return nil, err
			}
			list = append(list, flatten(low)...)
		}
		if len(list) == 0 {
			return nil, nil
		}
		return tir.Block1(list...), nil
	case *tir.If:
		leave := b.within(n.Cond)
		then, err := b.stmt(n.Then)
		leave()
		if err != nil {
			return nil, err
		}
		leave = b.within(&tir.Not{A: n.Cond})
		els, err := b.stmt(n.Else)
		leave()
		if then == nil && els != nil {
			return &tir.If{Cond: &tir.Not{A: n.Cond}, Then: els}, err
		}
		return orNil(&tir.If{Cond: n.Cond, Then: then, Else: els}, then), err
	case *tir.While:
		body, err := b.stmt(n.Body)
		return &tir.While{Cond: n.Cond, Body: body}, err
	case *tir.Let:
		leave := b.a.Scope()
		defer leave()
		b.a.BindValue(n.Var, n.Value)
		body, err := b.stmt(n.Body)
		return orNil(&tir.Let{Var: n.Var, Value: n.Value, Body: body}, body), err
	case *tir.Allocate:
		body, err := b.stmt(n.Body)
		return orNil(n.WithBody(body), body), err
	}
	return s, nil
}

// orNil returns s, or nil when its body is.
func orNil(s, body tir.Stmt) tir.Stmt {
	if body == nil {
		return nil
	}
	return s
}

func (b *blockLowerer) realize(n *tir.BlockRealize) (tir.Stmt, error) {
	block := n.Block
	if len(n.Values) != len(block.Iters) {
		return nil, diag.Invalid("lower-blocks", block.Name, "%d values for %d iteration variables", len(n.Values), len(block.Iters))
	}
	values := map[*tir.Var]tir.Expr{}
	var first tir.Expr = tir.True // the first reduce instance
	var summed []*tir.Var         // the loops of the reduction
	reduces := false
	for i, iv := range block.Iters {
		v := b.a.Simplify(n.Values[i])
		values[iv.Var] = v
		if iv.Kind == tir.Spatial {
			continue
		}
		tir.Walk(v, func(e any) bool {
			if w, ok := e.(*tir.Var); ok && !slices.Contains(summed, w) {
				summed = append(summed, w)
			}
			return true
		})
		if iv.Kind == tir.Reduce {
			reduces = true
			first = tir.Bin(tir.And, first, b.isZero(v))
		}
	}
	if block.Init != nil && !reduces {
		return nil, diag.Invalid("lower-blocks", block.Name, "the block has an init but no reduce variable")
	}
	tir.Walk(block.Body, func(e any) bool {
		if s, ok := e.(*tir.Store); ok {
			b.note(block, s.Buffer)
		}
		return true
	})
	leave := b.a.Assume(n.Where)
	defer leave()
	if n.Where != nil {
		defer b.within(n.Where)()
	}
	body, err := b.stmt(tir.SubstStmt(block.Body, values))
	if err != nil {
		return nil, err
	}
	if block.Init != nil {
		init, err := b.stmt(tir.SubstStmt(block.Init, values))
		if err != nil {
			return nil, err
		}
		b.begin(init, body, summed, b.begins(first, summed))
		if first = b.a.Simplify(first); !tir.IsConst(first, 1) {
			init = &tir.If{Cond: first, Then: init}
		}
		if !tir.IsConst(first, 0) {
			body = inOrder(init, body)
		}
	}
	if body == nil {
		return nil, nil
	}
	for _, buf := range block.Allocs {
		if block.Opaque {
			body = b.allocate(buf, body)
		} else {
			body = b.place(body, buf)
		}
	}
	if block.Opaque {
		b.sealed[body] = true
	}
	if n.Where != nil && !tir.IsConst(n.Where, 1) {
		body = &tir.If{Cond: n.Where, Then: body}
	}
	return body, nil
}

// isZero returns the condition v == 0; a sum of parts that are never negative is zero when each is, which lets a
// condition on an outer loop stand outside the inner ones.
func (b *blockLowerer) isZero(v tir.Expr) tir.Expr {
	coeffs, rest, ok := b.a.Linear(v)
	whole := &tir.Binary{Op: tir.EQ, A: v, B: tir.I(0)}
	if !ok || !tir.IsConst(rest, 0) {
		return whole
	}
	var vars []*tir.Var // in the order of the expression
	tir.Walk(v, func(n any) bool {
		if w, isVar := n.(*tir.Var); isVar && !slices.Contains(vars, w) {
			vars = append(vars, w)
		}
		return true
	})
	var all tir.Expr = tir.True
	for _, w := range vars {
		if lo, _, bounded := b.a.Bounds(w); coeffs[w] <= 0 || !bounded || lo < 0 {
			return whole
		}
		all = tir.Bin(tir.And, all, &tir.Binary{Op: tir.EQ, A: w, B: tir.I(0)})
	}
	return all
}

// within notes a loop or a condition around, for the time until leave is called.
func (b *blockLowerer) within(outer any) (leave func()) {
	b.path = append(b.path, outer)
	return func() { b.path = b.path[:len(b.path)-1] }
}

// begins reports whether a reduction over some loops around, of which first is the instance that begins, surely begins in each
// run of these loops in which it has an instance.
func (b *blockLowerer) begins(first tir.Expr, summed []*tir.Var) bool {
	leave := b.a.Scope()
	defer leave()
	of := func(e tir.Expr) bool {
		return slices.ContainsFunc(summed, func(v *tir.Var) bool { return tir.Uses(e, v) })
	}
	starts := map[*tir.Var]tir.Expr{}
	conds := []tir.Expr{first}
	for _, outer := range b.path {
		switch n := outer.(type) {
		case *tir.For:
			sum := slices.Contains(summed, n.Var)
			if of(n.Extent) || !sum && of(n.Min) {
				return false // the first iterations of the loops around may have none of this one
			}
			if sum {
				starts[n.Var] = tir.Subst(n.Min, starts)
			}
		case tir.Expr:
			if of(n) {
				b.a.Assume(n) // for what has an instance; ends with the scope
				conds = append(conds, n)
			}
		}
	}
	return len(starts) == len(summed) && !slices.ContainsFunc(conds, func(c tir.Expr) bool { return !b.a.Prove(tir.Subst(c, starts)) })
}

// begin notes that body reduces, over loops, what init begins, and whether it does so in each run of these.
func (b *blockLowerer) begin(init, body tir.Stmt, loops []*tir.Var, sure bool) {
	tir.Walk(body, func(n any) bool {
		if s, ok := n.(*tir.Store); ok {
			if _, begins := accesses(init, s.Buffer); begins {
				b.begun[s] = sure
				b.pins[s.Buffer] = append(b.pins[s.Buffer], loops...)
			}
		}
		return true
	})
}

// place allocates buf in s, as far inside as it may be.
func (b *blockLowerer) place(s tir.Stmt, buf *tir.Buffer) tir.Stmt {
	to, _ := b.inside(s, buf, false, func(in tir.Stmt, _ bool) (tir.Stmt, bool) { return b.allocate(buf, in), true })
	return to
}

// inside applies f to the innermost statement of s around which buf may be allocated, and says whether that stands in a
// loop; where f reports false, s stays.
func (b *blockLowerer) inside(s tir.Stmt, buf *tir.Buffer, inLoop bool, f func(s tir.Stmt, inLoop bool) (tir.Stmt, bool)) (tir.Stmt, bool) {
	child, with := b.holder(s, buf)
	if child == nil {
		return f(s, inLoop)
	}
	if loop, ok := s.(*tir.For); ok {
		leave := b.a.Scope()
		defer leave()
		b.a.BindLoop(loop)
		defer b.within(loop)()
		if slices.Contains(b.pins[buf], loop.Var) || buf.Scope == tir.Shared && lastItems(loop) || !b.fresh(loop, child, buf) {
			return f(s, inLoop)
		}
		inLoop = true
	}
	to, ok := b.inside(child, buf, inLoop, f)
	if !ok {
		return s, false
	}
	return with(to), true
}

// lastItems reports whether the iterations of a loop are work-items, or virtual ones, and each has all of its body for itself:
// no loop inside is bound to work-items again.
func lastItems(f *tir.For) bool {
	if f.Axis() < tir.ThreadAxis && (f.Kind != tir.Bound || f.Thread != tir.Vthread) {
		return false
	}
	again := false
	tir.Walk(f.Body, func(n any) bool {
		inner, ok := n.(*tir.For)
		again = again || ok && inner.Axis() >= tir.ThreadAxis
		_, isExpr := n.(tir.Expr)
		return !again && !isExpr
	})
	return !again
}

// fresh reports whether no iteration of a loop needs what another one left in buf, all of whose accesses are in child.
func (b *blockLowerer) fresh(loop *tir.For, child tir.Stmt, buf *tir.Buffer) bool {
	n, known := tir.AsInt(loop.Extent)
	return known && n <= 1 || independent(loop) || b.feeds(child, buf) || b.fills(child, buf)
}

// independent reports whether no iteration of a loop may need another one.
func independent(f *tir.For) bool {
	return f.Kind == tir.Parallel || f.Kind == tir.Vectorized || f.Kind == tir.Bound
}

// holder returns the one child of s that has all accesses of buf, and s with another one in its place; or nil.
func (b *blockLowerer) holder(s tir.Stmt, buf *tir.Buffer) (child tir.Stmt, with func(tir.Stmt) tir.Stmt) {
	if b.sealed[s] {
		return nil, nil
	}
	used := func(root any) bool {
		read, written := accesses(root, buf)
		return read || written
	}
	switch n := s.(type) {
	case *tir.For:
		if used(n.Min) || used(n.Extent) {
			return nil, nil
		}
		return n.Body, func(to tir.Stmt) tir.Stmt {
			c := *n
			c.Body = to
			return &c
		}
	case *tir.Seq:
		at := -1
		for i, c := range n.Stmts {
			if used(c) {
				if at >= 0 {
					return nil, nil
				}
				at = i
			}
		}
		if at < 0 {
			return nil, nil
		}
		return n.Stmts[at], func(to tir.Stmt) tir.Stmt {
			list := slices.Clone(n.Stmts)
			list[at] = to
			return &tir.Seq{Stmts: list}
		}
	case *tir.If:
		inThen, inElse := used(n.Then), n.Else != nil && used(n.Else)
		switch {
		case used(n.Cond) || inThen == inElse:
			return nil, nil
		case inThen:
			return n.Then, func(to tir.Stmt) tir.Stmt { return &tir.If{Cond: n.Cond, Then: to, Else: n.Else} }
		}
		return n.Else, func(to tir.Stmt) tir.Stmt { return &tir.If{Cond: n.Cond, Then: n.Then, Else: to} }
	case *tir.Let:
		if used(n.Value) {
			return nil, nil
		}
		return n.Body, func(to tir.Stmt) tir.Stmt { return &tir.Let{Var: n.Var, Value: n.Value, Body: to} }
	case *tir.Allocate:
		return n.Body, func(to tir.Stmt) tir.Stmt { return n.WithBody(to) }
	}
	return nil, nil
}
