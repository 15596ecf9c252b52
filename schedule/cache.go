package schedule

import (
	"fmt"
	"slices"
	"strings"

	"github.com/texel-ml/texel/diag"
	"github.com/texel-ml/texel/texture"
	"github.com/texel-ml/texel/tir"
	"github.com/texel-ml/texel/tir/tirtext"
)

// A scope of CacheWrite, CacheRead, SetScope and the like is one of tir's, or the name of a folding (texture.Aliases),
// which stands for tir.Texture with that folding.

// Caching says more about a cache than its scope. The zero value is a cache of one block, with the shape of the buffer.
type Caching struct {
	// Consumers are blocks that use the cache too.
	Consumers []Block
	// Region gives the cache the size of the part that is used, not that of the buffer. The part must be a constant one: at
	// the top of the function it is, inside a loop that moves it, it is not.
	Region bool
}

// operands are those of a trace, after the scope.
func (c Caching) operands() []any {
	var list []any
	if len(c.Consumers) > 0 || c.Region {
		list = append(list, c.Consumers)
	}
	if c.Region {
		list = append(list, "region")
	}
	return list
}

// caching reads the operands of a trace from i on.
func caching(c *Call, i int) (w Caching) {
	if i < c.Len() {
		list, ok := c.operand(i).([]Block)
		if !ok {
			list = listAs(c, operandAs[[]any](c, i, "a list of blocks"), "blocks", func(sub *Call, n int) Block { return sub.Block(n) })
		}
		w.Consumers = list
	}
	if i+1 < c.Len() {
		if word := c.Text(i + 1); word != "region" {
			c.Refuse("operand %d is %q, wanted %q", i+2, word, "region")
		}
		w.Region = true
	}
	return w
}

// operand returns the i-th distinct buffer that b reads.
func operand(b *tir.Block, i int) *tir.Buffer { return nth(b.Reads, i) }

// result returns the i-th distinct buffer that b writes.
func result(b *tir.Block, i int) *tir.Buffer { return nth(b.Writes, i) }

func nth(list []tir.Region, i int) *tir.Buffer {
	seen := map[*tir.Buffer]bool{}
	for _, r := range list {
		if !seen[r.Buffer] {
			if len(seen) == i {
				return r.Buffer
			}
			seen[r.Buffer] = true
		}
	}
	return nil
}

// cacheOf returns a new buffer with the shape of buf in another scope, or nil when it cannot be there.
func (s *Schedule) cacheOf(step string, buf *tir.Buffer, shape []int, scope tir.Scope) *tir.Buffer {
	c := &tir.Buffer{DType: buf.DType, Shape: shape}
	if !s.inScope(step, c, scope) {
		return nil
	}
	c.Name = s.freeName(buf.Name + "_" + string(c.Scope))
	return c
}

// freeName returns a name that no buffer has: the wanted one, or one with a number behind it.
func (s *Schedule) freeName(name string) string {
	base := name
	for n := 1; s.bufferNamed(name); n++ {
		name = fmt.Sprintf("%s%d", base, n)
	}
	return name
}

// inScope puts b into a scope, which may be the name of a folding. The limits of a device are for its code generator.
func (s *Schedule) inScope(step string, b *tir.Buffer, scope tir.Scope) bool {
	b.Scope, b.Folding = scope, nil
	known := []tir.Scope{tir.Global, tir.Shared, tir.Local, tir.Scratch}
	switch {
	case slices.Contains(known, scope):
		return true
	case scope == tir.Texture:
		s.refuse(step, string(scope), "a texture needs a folding; wanted one of %v", texture.Aliases())
		return false
	case !texture.IsAlias(string(scope)):
		s.refuse(step, string(scope), "no scope has this name; wanted one of %v or of %v", known, texture.Aliases())
		return false
	}
	f, err := texture.Alias(string(scope), len(b.Shape))
	if err == nil {
		_, err = texture.Fold(b.Shape, b.DType, f, texture.Limits{})
	}
	if err != nil {
		s.refuseBy(step, string(scope), err)
		return false
	}
	folding := tir.Folding(f)
	b.Scope, b.Folding = tir.Texture, &folding
	return true
}

func (s *Schedule) bufferNamed(name string) bool {
	found := false
	note := func(list []*tir.Buffer) {
		for _, b := range list {
			found = found || b.Name == name
		}
	}
	note(s.fn.Params)
	note(s.fn.Root().Allocs)
	tir.Walk(s.fn.Root().Body, func(n any) bool {
		switch n := n.(type) {
		case *tir.BlockRealize:
			note(n.Block.Allocs)
		case *tir.Allocate:
			found = found || n.Buffer.Name == name
		}
		return !found
	})
	return found
}

func (s *Schedule) blockName(name string) string {
	base := name
	for n := 1; s.findBlock(name) != nil; n++ {
		name = fmt.Sprintf("%s%d", base, n)
	}
	return name
}

// plainBlock finds a block of the function's own scope, which is not opaque.
func (s *Schedule) plainBlock(step string, b Block) *place {
	p := s.block(step, b)
	switch {
	case p == nil:
		return nil
	case p.scope() != nil:
		s.refuse(step, b.name, "stands inside block %s; wanted one that stands in no other block", p.scope().Block.Name)
		return nil
	case p.realize.Block.Opaque:
		s.refuse(step, b.name, "is opaque; wanted a block that can be entered")
		return nil
	}
	return p
}

// isInput reports whether buf is a parameter that the function does not write.
func (s *Schedule) isInput(buf *tir.Buffer) bool {
	return slices.Contains(s.fn.Params[:len(s.fn.Params)-s.fn.Outputs], buf)
}

// isIntermediate reports whether buf is allocated by the root.
func (s *Schedule) isIntermediate(buf *tir.Buffer) bool {
	return slices.Contains(s.fn.Root().Allocs, buf)
}

// users returns the blocks of the function's own scope that read or write buf, with the path to each.
func (s *Schedule) users(buf *tir.Buffer) []*place {
	var list []*place
	for _, c := range realizesIn(s.fn.Root().Body) {
		if reads(c.realize.Block, buf) || writes(c.realize.Block, buf) {
			list = append(list, s.find(func(st tir.Stmt) bool { return st == tir.Stmt(c.realize) }))
		}
	}
	return list
}

// level is a list of statements that run one after the other: the root's, or those of a loop's body.
type level struct {
	stmts []tir.Stmt
	whole tir.Stmt   // the statement that they make
	path  []tir.Stmt // from the root's body to whole
	loops []*tir.For // around
}

// rootLevel is the level of the root's body.
func (s *Schedule) rootLevel() *level {
	body := s.fn.Root().Body
	return levelOf([]tir.Stmt{body})
}

// levelOf returns the level of the last statement of a path from the root's body. Sequences within sequences are one.
func levelOf(path []tir.Stmt) *level {
	for len(path) > 1 {
		_, in := path[len(path)-1].(*tir.Seq)
		_, around := path[len(path)-2].(*tir.Seq)
		if !in || !around {
			break
		}
		path = path[:len(path)-1]
	}
	l := &level{whole: path[len(path)-1], path: path, stmts: statementsOf(path[len(path)-1])}
	for _, st := range path[:len(path)-1] {
		if f, ok := st.(*tir.For); ok {
			l.loops = append(l.loops, f)
		}
	}
	return l
}

// statementsOf returns the statements of nested sequences.
func statementsOf(st tir.Stmt) []tir.Stmt {
	seq, ok := st.(*tir.Seq)
	if !ok {
		return []tir.Stmt{st}
	}
	var list []tir.Stmt
	for _, c := range seq.Stmts {
		list = append(list, statementsOf(c)...)
	}
	return list
}

// meeting returns the innermost level that holds all places in different statements; of a single place, or where all
// stand in one statement of no level, the root's.
func (s *Schedule) meeting(places []*place) *level {
	shared := places[0].path
	for _, p := range places[1:] {
		n := 0
		for n < len(shared) && n < len(p.path) && shared[n] == p.path[n] {
			n++
		}
		shared = shared[:n]
	}
	if len(shared) == 0 {
		return s.rootLevel()
	}
	if _, ok := shared[len(shared)-1].(*tir.Seq); !ok {
		return s.rootLevel()
	}
	return levelOf(shared)
}

// levelAround returns the outermost level where the places of list stand in other statements than those of others: the root's
// where none of others is in their nest. Where there is no such level it is the innermost that they share.
func (s *Schedule) levelAround(list, others []*place) *level {
	l := s.rootLevel()
	for {
		at := l.index(list[0])
		var same []*place
		for _, p := range append(slices.Clone(list[1:]), others...) {
			if l.index(p) == at {
				same = append(same, p)
			}
		}
		if len(same) < len(list)-1 || !slices.ContainsFunc(others, func(o *place) bool { return l.index(o) == at }) {
			return l
		}
		next := s.meeting(append(same, list[0]))
		if next.whole == l.whole || len(next.path) <= len(l.path) {
			return l
		}
		l = next
	}
}

// index returns which statement of the level holds p, or -1.
func (l *level) index(p *place) int {
	for i, st := range l.stmts {
		if slices.Contains(p.path, st) {
			return i
		}
	}
	return -1
}

// below returns p with only the loops that lie inside the level.
func (l *level) below(p *place) *place {
	return &place{realize: p.realize, loops: p.loops[len(l.loops):], path: p.path}
}

// replace puts new in old's place within the statements of the level, which insert then puts into the function.
func (l *level) replace(old, new tir.Stmt) {
	l.stmts = slices.Clone(l.stmts)
	for i, st := range l.stmts {
		l.stmts[i] = swap(st, old, new)
	}
}

// insert puts a statement before statement at of the level.
func (l *level) insert(at int, st tir.Stmt) {
	l.stmts = slices.Insert(slices.Clone(l.stmts), at, st)
}

// setLevel puts the changed statements of a level into the function, with more buffers. Sequences in the root's become one.
func (s *Schedule) setLevel(l *level, allocs ...*tir.Buffer) {
	body := swap(s.fn.Root().Body, l.whole, tir.Block1(l.stmts...))
	s.setRoot(tir.Block1(statementsOf(body)...), append(slices.Clip(s.fn.Root().Allocs), allocs...))
}

// rewriting rewrites the accesses of one buffer: the indices of loads and stores, and the boxes of declared regions.
type rewriting struct {
	from, to *tir.Buffer
	indices  func([]tir.Expr) []tir.Expr
	box      func([]tir.Range) []tir.Range
}

// in returns st with its accesses rewritten.
func (w rewriting) in(st tir.Stmt) tir.Stmt {
	regions := func(list []tir.Region) []tir.Region {
		out := slices.Clone(list)
		for i, r := range out {
			if r.Buffer == w.from {
				out[i] = tir.Region{Buffer: w.to, Ranges: w.box(r.Ranges)}
			}
		}
		return out
	}
	m := &tir.Mapper{
		Expr: func(e tir.Expr) tir.Expr {
			if l, ok := e.(*tir.Load); ok && l.Buffer == w.from {
				return &tir.Load{Buffer: w.to, Indices: w.indices(l.Indices)}
			}
			return e
		},
		Stmt: func(st tir.Stmt) tir.Stmt {
			switch n := st.(type) {
			case *tir.Store:
				if n.Buffer == w.from {
					return &tir.Store{Buffer: w.to, Indices: w.indices(n.Indices), Value: n.Value}
				}
			case *tir.BlockRealize:
				if reads(n.Block, w.from) || writes(n.Block, w.from) {
					b := *n.Block
					b.Reads, b.Writes = regions(b.Reads), regions(b.Writes)
					return &tir.BlockRealize{Values: n.Values, Where: n.Where, Block: &b}
				}
			}
			return st
		},
	}
	return m.MapStmt(st)
}

// shifted is the rewriting that takes from indices what a box begins at.
func shifted(from, to *tir.Buffer, less []tir.Range) rewriting {
	w := rewriting{from: from, to: to}
	w.indices = func(idx []tir.Expr) []tir.Expr {
		out := make([]tir.Expr, len(idx))
		for i, e := range idx {
			out[i] = minus(e, less[i].Min)
		}
		return out
	}
	w.box = func(box []tir.Range) []tir.Range {
		out := make([]tir.Range, len(box))
		for i, r := range box {
			out[i] = tir.Range{Min: minus(r.Min, less[i].Min), Extent: r.Extent}
		}
		return out
	}
	return w
}

// minus subtracts a number from an index, which may be a vector.
func minus(e, n tir.Expr) tir.Expr {
	if tir.IsConst(n, 0) {
		return e
	}
	if r, ok := e.(*tir.Ramp); ok {
		return &tir.Ramp{Base: minus(r.Base, n), Stride: r.Stride, Lanes: r.Lanes}
	}
	k, _ := tir.AsInt(n)
	if b, ok := e.(*tir.Binary); ok && b.Op == tir.Add {
		if c, isConst := tir.AsInt(b.B); isConst {
			return tir.Plus(b.A, tir.I(int(c-k)))
		}
	}
	if k < 0 {
		return tir.Plus(e, tir.I(int(-k)))
	}
	return tir.Minus(e, n)
}

// cache is a new buffer that stands for a part of another one.
type cache struct {
	buf, to *tir.Buffer
	box     []tir.Range // the part of buf
	own     bool        // to has the size of the part
}

// newCache makes the buffer that holds the part box of buf. With own it has the size of the part.
func (s *Schedule) newCache(step string, buf *tir.Buffer, box []tir.Range, scope tir.Scope, own bool) *cache {
	c := &cache{buf: buf, box: box, own: own}
	shape := buf.Shape
	if own {
		shape = make([]int, len(box))
		for i, r := range box {
			n, fits := tir.AsInt(r.Extent)
			if _, fixed := tir.AsInt(r.Min); !fixed || !fits {
				s.refuse(step, buf.Name, "the part that is used begins at %s on axis %d, which changes; wanted a constant part, or a cache without \"region\"", tirtext.PrintExpr(r.Min), i)
				return nil
			}
			shape[i] = int(n)
		}
	}
	if c.to = s.cacheOf(step, buf, shape, scope); c.to == nil {
		return nil
	}
	return c
}

// use returns st with the cache in place of the buffer.
func (c *cache) use(st tir.Stmt) tir.Stmt {
	if c.own {
		return shifted(c.buf, c.to, c.box).in(st)
	}
	return tir.ReplaceBuffer(st, c.buf, c.to, nil)
}

// copy returns the loops of a block that copies the part of from into to, element by element; one of them is the cache
// and the other the buffer. around are the loops that the statement will stand in.
func (s *Schedule) copy(name string, c *cache, from, to *tir.Buffer, around []*tir.For) tir.Stmt {
	a := analyzer(around)
	b := &tir.Block{Name: name}
	var cached, plain, values []tir.Expr
	var where tir.Expr
	var loops []*tir.For
	for n, r := range c.box {
		iv, loop := s.newVar(fmt.Sprintf("c%d", n)), s.newVar(fmt.Sprintf("c%d", n))
		f := &tir.For{Var: loop, Min: tir.I(0), Extent: r.Extent}
		a.BindLoop(f)
		loops = append(loops, f)
		extent := c.buf.Shape[n]
		if c.own {
			extent = c.to.Shape[n]
			values, cached, plain = append(values, loop), append(cached, iv), append(plain, tir.Plus(iv, r.Min))
		} else {
			v := tir.Plus(r.Min, loop)
			if !tir.IsConst(r.Min, 0) {
				v = a.Simplify(v)
			}
			for _, in := range []tir.Expr{tir.Bin(tir.GE, v, tir.I(0)), tir.Bin(tir.LT, v, tir.I(extent))} {
				where = tir.All(where, a.Simplify(in))
			}
			values, cached, plain = append(values, v), append(cached, iv), append(plain, iv)
		}
		b.Iters = append(b.Iters, tir.IterVar{Var: iv, Extent: extent, Kind: tir.Spatial})
	}
	at := func(buf *tir.Buffer) []tir.Expr {
		if buf == c.to {
			return cached
		}
		return plain
	}
	b.Body = &tir.Store{Buffer: to, Indices: at(to), Value: &tir.Load{Buffer: from, Indices: at(from)}}
	b.Reads, b.Writes = tir.Accesses(b)
	return nestOf(loops, &tir.BlockRealize{Values: values, Where: where, Block: b})
}

// writtenBefore reports whether the box of buf is certainly written by a block that runs before statement at of the level,
// in each iteration of the loops around both.
func (s *Schedule) writtenBefore(l *level, at int, users []*place, buf *tir.Buffer, box []tir.Range) bool {
	if s.isInput(buf) {
		return true
	}
	for n, st := range l.path {
		around, before := l, at
		if n < len(l.path)-1 {
			if _, ok := st.(*tir.Seq); !ok {
				continue
			}
			around = levelOf(l.path[:n+1])
			before = around.index(&place{path: l.path})
		}
		a := analyzer(around.loops)
		for _, w := range users {
			if n := around.index(w); n < 0 || n >= before || !writes(w.realize.Block, buf) {
				continue
			}
			if p, ok := partsOf(a, []*place{around.below(w)}, buf, true); ok && p.exact && a.Covers(p.box, box) {
				return true
			}
		}
	}
	return false
}

// needs checks that what block name reads, which a step has just added, is written before. Where regions do not show it,
// the claims about the whole function do.
func (s *Schedule) needs(step, node, name string) bool {
	now := gather(s.fn, s.proven.last)
	l := s.proven.lawyer(s.program, now, now)
	for i, x := range now.runs {
		if x.block.Name == name {
			l.reads(i, x)
		}
	}
	for _, o := range l.list {
		if !strings.HasPrefix(o.Key, name+" reads ") {
			continue
		}
		if err := s.proven.check(o); err != nil {
			s.fail(diag.Invalid(step, node, "the copy %s would read what is not written before it", name).By(err))
			return false
		}
	}
	return true
}
