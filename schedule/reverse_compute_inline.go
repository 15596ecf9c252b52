package schedule

import (
	"slices"

	"github.com/texel-ml/texel/tir"
	"github.com/texel-ml/texel/tir/arith"
)

// ReverseComputeInline puts what block b, a consumer, computes into the block that writes what it reads, and removes b and
// the buffer between them:
//
//	for i, j: T[i, j] = X[i, j] + 1
//	for k: Y[k] = T[k // 4, k %% 4] * 2      →      for i, j: Y[4·i + j] = (X[i, j] + 1) * 2
//
// b reads one element of the buffer for each of its instances, at a place that its variables follow from: at its own
// variables, at a sum that counts through them, or at quotients and remainders of them, less a number. Instances of the
// producer that b reads nothing of get a condition. The producer stores one value and is no reduction; nobody else reads the
// buffer. It refuses opaque blocks and reductions, and a b that would find something else in its other operands, or that other
// blocks would find too early.
func (s *Schedule) ReverseComputeInline(b Block) {
	const step = "reverse_compute_inline"
	p := s.block(step, b)
	if p == nil {
		return
	}
	m := &folding{s: s, step: step, p: p, block: p.realize.Block}
	if !m.plan() || !m.invert() || !m.moves() {
		return
	}
	body := swap(s.fn.Root().Body, p.realize, nil)
	body = swap(body, m.producer.realize, m.folded())
	root := *s.fn.Root()
	root.Body = withoutRegions(body, m.buf)
	s.setBody(withoutAllocs(&tir.BlockRealize{Block: &root}, map[*tir.Buffer]bool{m.buf: true}))
	if why := s.kindsAround(m.producer.realize.Block.Name); why != "" {
		m.refuse("%s", why)
		return
	}
	s.record(step, operands(b))
}

// folding is one application of ReverseComputeInline.
type folding struct {
	s        *Schedule
	step     string
	p        *place
	block    *tir.Block
	stores   []*tir.Store
	buf      *tir.Buffer // what goes
	producer *place
	value    *tir.Store // what the producer stores to it
	inv      inverse
}

func (m *folding) refuse(format string, args ...any) bool {
	m.s.refuse(m.step, m.block.Name, format, args...)
	return false
}

// plan finds the producer and checks both blocks.
func (m *folding) plan() bool {
	m.stores = storesOf(m.block.Body)
	if m.stores == nil || m.block.Init != nil || m.block.Opaque || len(spatialIters(m.block)) != len(m.block.Iters) || changed(m.block) != nil {
		return m.refuse("is a reduction, opaque or changes what it reads; wanted one that stores a value")
	}
	producers := producersOf(m.s.scopeOf(m.p), m.block)
	if len(producers) != 1 {
		return m.refuse("has %d producers beside it, wanted one", len(producers))
	}
	m.producer = m.s.block(m.step, Block{name: producers[0].realize.Block.Name})
	q := m.producer.realize.Block
	for _, w := range q.Writes {
		if reads(m.block, w.Buffer) {
			if m.buf != nil && m.buf != w.Buffer {
				return m.refuse("reads %s and %s, which block %s writes; wanted one", m.buf.Name, w.Buffer.Name, q.Name)
			}
			m.buf = w.Buffer
		}
	}
	stores := storesOf(q.Body)
	if len(stores) != 1 || q.Init != nil || q.Opaque || len(spatialIters(q)) != len(q.Iters) || changed(q) != nil {
		return m.refuse("its producer %s is a reduction, opaque, changes what it reads, or stores several values; wanted one that stores a value", q.Name)
	}
	m.value = stores[0]
	for _, w := range m.block.Writes {
		if !m.s.distinct(m.block, w.Buffer, m.p.blocks) {
			return m.refuse("different instances of it may write one element of %s, and the last decides", w.Buffer.Name)
		}
	}
	return m.s.writesAlone(m.step, q, m.buf)
}

// invert finds which instance of the block reads what an instance of the producer writes.
func (m *folding) invert() bool {
	var at []tir.Expr
	same := true
	for _, st := range m.stores {
		tir.Walk(st, func(n any) bool {
			if l, ok := n.(*tir.Load); ok && l.Buffer == m.buf {
				same = same && (at == nil || sameIndices(at, l.Indices))
				at = l.Indices
			}
			return true
		})
	}
	if !same {
		return m.refuse("reads %s at several places; wanted one", m.buf.Name)
	}
	for _, r := range runsOf(m.s.fn.Root().Body) {
		if c := r.realize.Block; c != m.block && loadsOf(c, m.buf) {
			return m.refuse("block %s reads %s too", c.Name, m.buf.Name)
		}
	}
	if m.s.strayLoads(m.buf) {
		return m.refuse("%s is read outside of blocks, by a bound, a condition or the value of a variable", m.buf.Name)
	}
	if !m.readsWritten() {
		return m.refuse("does not read, for each of its instances, what %s has written in the same iteration of the loops around both: some would not be computed", m.producer.realize.Block.Name)
	}
	inv, ok := invertWhere(m.block, at, m.value.Indices, m.buf.Shape)
	if !ok {
		return m.refuse("reads %s at places that its variables do not follow from", m.buf.Name)
	}
	m.inv = inv
	a := m.p.analyzer()
	for _, cond := range tir.Conjuncts(m.p.realize.Where) {
		if outOfRange(a, m.p.realize, cond) {
			continue
		}
		own := map[*tir.Var]tir.Expr{}
		for i, v := range m.p.realize.Values {
			if w, ok := v.(*tir.Var); ok {
				own[w] = inv.bind[m.block.Iters[i].Var]
			}
		}
		if usesOthers(cond, own) || tir.ReadsMemory(cond) {
			return m.refuse("its guard is not over its own variables; wanted %s before its loops are split", m.step)
		}
		m.inv.where = tir.All(m.inv.where, tir.Subst(cond, own))
	}
	return true
}

// readsWritten reports whether each instance of the block reads what an instance of the producer wrote: it has one to run
// with.
func (m *folding) readsWritten() bool {
	all := m.s.beside(m.p)
	q, c := all.at(m.producer.realize), all.at(m.p.realize)
	return q != nil && c != nil && !slices.ContainsFunc(m.block.Reads, func(r tir.Region) bool { return r.Buffer == m.buf && !(inBuffer(m.block, r) && all.covers(q, c, r)) })
}

// moves checks that the block may run where the producer does.
func (m *folding) moves() bool {
	runs := runsOf(m.s.fn.Root().Body)
	at := slices.IndexFunc(runs, func(r *run) bool { return r.realize == m.producer.realize })
	move := m.s.moveOf(m.block, at+1, runs[at].loops)
	if why := move.inputs(false); why != "" {
		return m.refuse("%s", why)
	}
	if why := move.outputs(); why != "" {
		return m.refuse("%s", why)
	}
	return true
}

// folded is the producer with what the block stores in the place of what it stored.
func (m *folding) folded() tir.Stmt {
	r := m.producer.realize
	a := arith.New()
	bindIters(a, r.Block)
	for v, e := range m.inv.bind {
		m.inv.bind[v] = a.Simplify(e)
	}
	own := &tir.Mapper{Expr: func(e tir.Expr) tir.Expr {
		if l, ok := e.(*tir.Load); ok && l.Buffer == m.buf {
			return m.value.Value
		}
		return e
	}}
	var list []tir.Stmt
	for _, st := range m.stores { // the variables of the block first: the producer's value has its own
		out := &tir.Store{Buffer: st.Buffer, Value: own.MapExpr(tir.Subst(st.Value, m.inv.bind))}
		for _, e := range st.Indices {
			out.Indices = append(out.Indices, own.MapExpr(tir.Subst(e, m.inv.bind)))
		}
		list = append(list, out)
	}
	b := *r.Block
	b.Body = tir.Block1(list...)
	b.Reads, b.Writes = tir.Accesses(&b)
	where := r.Where
	if m.inv.where != nil {
		where = tir.All(where, m.producer.simplified(tir.Subst(m.inv.where, bindings(r))))
	}
	return &tir.BlockRealize{Values: r.Values, Where: where, Block: &b}
}

// withoutRegions removes what blocks declare of a buffer.
func withoutRegions(st tir.Stmt, buf *tir.Buffer) tir.Stmt {
	gone := func(r tir.Region) bool { return r.Buffer == buf }
	m := &tir.Mapper{Stmt: func(st tir.Stmt) tir.Stmt {
		r, ok := st.(*tir.BlockRealize)
		if !ok || !slices.ContainsFunc(r.Block.Reads, gone) && !slices.ContainsFunc(r.Block.Writes, gone) {
			return st
		}
		b := *r.Block
		b.Reads = slices.DeleteFunc(slices.Clone(b.Reads), gone)
		b.Writes = slices.DeleteFunc(slices.Clone(b.Writes), gone)
		return &tir.BlockRealize{Values: r.Values, Where: r.Where, Block: &b}
	}}
	return m.MapStmt(st)
}
