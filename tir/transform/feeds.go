package transform

import (
	"slices"

	"github.com/texel-ml/texel/tir"
	"github.com/texel-ml/texel/tir/arith"
)

// privatize turns a global buffer of the root into scratch memory when all its uses lie within one iteration of a loop
// that leaves nothing in it to the next. Such a buffer comes from a stage computed at a loop of its consumer; as a global
// buffer it would cost memory of the whole tensor.
func (b *blockLowerer) privatize(s tir.Stmt, buf *tir.Buffer) (tir.Stmt, bool) {
	to := *buf
	to.Scope = tir.Scratch
	return b.inside(s, buf, false, func(in tir.Stmt, inLoop bool) (tir.Stmt, bool) {
		if !inLoop || !b.feeds(in, buf) {
			return in, false
		}
		out := b.allocate(buf, tir.ReplaceBuffer(in, buf, &to, nil))
		out.Buffer = &to
		return out, true
	})
}

// feeds reports whether each run of s certainly writes all of buf that it reads before it reads it: what other runs of s
// left there does not matter.
func (b *blockLowerer) feeds(s tir.Stmt, buf *tir.Buffer) bool {
	f := &feeder{b: b, buf: buf}
	return f.stmt(s)
}

// feeder walks statements in the order in which they run.
type feeder struct {
	b       *blockLowerer
	buf     *tir.Buffer
	written [][]tir.Range // before this place
	reduced *tir.Store    // around this place: its element is begun
}

// stmt reports whether all that s reads is written before.
func (f *feeder) stmt(s tir.Stmt) bool {
	if read, _ := accesses(s, f.buf); !read {
		return true
	}
	switch n := s.(type) {
	case *tir.Seq:
		before := f.written
		defer func() { f.written = before }()
		for _, c := range n.Stmts {
			if !f.stmt(c) {
				return false
			}
			f.written = append(f.written[:len(f.written):len(f.written)], f.b.writes(c, f.buf)...)
		}
		return true
	case *tir.For:
		leave := f.b.a.Scope()
		defer leave()
		f.b.a.BindLoop(n)
		return f.loads(n.Min) && f.loads(n.Extent) && f.stmt(n.Body)
	case *tir.If:
		return f.loads(n.Cond) && f.under(n.Cond, n.Then) && f.under(&tir.Not{A: n.Cond}, n.Else)
	case *tir.Let:
		leave := f.b.a.Scope()
		defer leave()
		f.b.a.BindValue(n.Var, n.Value)
		return f.loads(n.Value) && f.stmt(n.Body)
	case *tir.Allocate:
		return f.stmt(n.Body)
	case *tir.Store:
		if f.b.begun[n] && n.Buffer == f.buf {
			f.reduced = n
			defer func() { f.reduced = nil }()
		}
		for _, i := range n.Indices {
			if !f.loads(i) {
				return false
			}
		}
		return f.loads(n.Value)
	}
	return false
}

// under is stmt for a statement that runs under a condition.
func (f *feeder) under(cond tir.Expr, s tir.Stmt) bool {
	if s == nil {
		return true
	}
	leave := f.b.a.Assume(cond)
	defer leave()
	return f.stmt(s)
}

// loads reports whether all that e reads is written before.
func (f *feeder) loads(e tir.Expr) bool {
	ok := true
	tir.Walk(e, func(n any) bool {
		switch n := n.(type) {
		case *tir.Select: // reads what it takes
			ok = ok && f.loads(n.Cond) && f.taken(n.Cond, n.Then) && f.taken(&tir.Not{A: n.Cond}, n.Else)
			return false
		case *tir.Load:
			ok = ok && (n.Buffer != f.buf || f.has(n.Indices))
		}
		return ok
	})
	return ok
}

// taken is loads for a value that is taken under a condition.
func (f *feeder) taken(cond, e tir.Expr) bool {
	leave := f.b.a.Assume(cond)
	defer leave()
	return f.loads(e)
}

// has reports whether an element is written before.
func (f *feeder) has(indices []tir.Expr) bool {
	if f.reduced != nil && slices.EqualFunc(indices, f.reduced.Indices, tir.Equal) {
		return true
	}
	box, ok := f.b.a.Touched(indices, nil)
	return ok && slices.ContainsFunc(f.written, func(w []tir.Range) bool { return f.b.a.Covers(w, box) })
}

// writes returns boxes of buf that each run of s certainly writes.
func (b *blockLowerer) writes(s tir.Stmt, buf *tir.Buffer) [][]tir.Range {
	w := &writer{b: b, buf: buf, env: map[*tir.Var]tir.Expr{}, inner: map[*tir.Var]bool{}}
	w.stmt(s)
	return w.boxes
}

// writer looks for stores that sweep a box.
type writer struct {
	b      *blockLowerer
	buf    *tir.Buffer
	loops  arith.IterDomain      // around this place
	env    map[*tir.Var]tir.Expr // variables by those loops
	inner  map[*tir.Var]bool     // variables of loops that count to no constant
	guards []tir.Expr
	boxes  [][]tir.Range
}

func (w *writer) stmt(s tir.Stmt) {
	if _, written := accesses(s, w.buf); !written {
		return
	}
	leave := w.b.a.Scope()
	defer leave()
	switch n := s.(type) {
	case *tir.For:
		if least, _, ok := w.b.a.Bounds(n.Extent); !ok || least < 1 {
			return // it may not run
		}
		w.b.a.BindLoop(n)
		outer := w.loops
		w.loop(n)
		w.stmt(n.Body)
		w.loops = outer
	case *tir.If:
		w.under(n.Cond, n.Then)
		w.under(&tir.Not{A: n.Cond}, n.Else)
	case *tir.Seq:
		for _, c := range n.Stmts {
			w.stmt(c)
		}
	case *tir.Let:
		w.b.a.BindValue(n.Var, n.Value)
		w.env[n.Var] = tir.Subst(n.Value, w.env)
		w.stmt(n.Body)
	case *tir.Allocate:
		w.stmt(n.Body)
	case *tir.Store:
		w.store(n)
	}
}

// loop takes a loop into the domain, as one that counts from 0.
func (w *writer) loop(n *tir.For) {
	extent, ok := tir.AsInt(w.b.a.Simplify(n.Extent))
	if !ok {
		w.inner[n.Var] = true
		return
	}
	count := tir.NewVar(n.Var.Name)
	w.env[n.Var] = tir.Plus(tir.Subst(n.Min, w.env), count)
	w.loops.Vars = append(slices.Clip(w.loops.Vars), count)
	w.loops.Extents = append(slices.Clip(w.loops.Extents), extent)
}

func (w *writer) under(cond tir.Expr, s tir.Stmt) {
	if s != nil {
		w.guards = append(w.guards, cond)
		w.stmt(s)
		w.guards = w.guards[:len(w.guards)-1]
	}
}

func (w *writer) store(n *tir.Store) {
	indices := make([]tir.Expr, len(n.Indices))
	for i, e := range n.Indices {
		indices[i] = tir.Subst(e, w.env)
		if tir.UsesAny(indices[i], w.inner) {
			return
		}
	}
	loops := w.loops
	for _, g := range w.guards {
		for _, part := range tir.Conjuncts(g) {
			if !w.harmless(part, n.Indices) {
				loops.Where = tir.All(loops.Where, tir.Subst(part, w.env))
			}
		}
	}
	if m, err := arith.DetectIterMap(w.b.a, loops, indices); err == nil {
		if box, err := m.Box(); err == nil {
			w.boxes = append(w.boxes, box)
		}
	}
}

// harmless reports whether a condition only keeps a store inside the buffer, if anything: where it does not hold, an index
// is out of bounds, and no load is there.
func (w *writer) harmless(cond tir.Expr, indices []tir.Expr) bool {
	if w.b.a.Prove(cond) {
		return true
	}
	leave := w.b.a.Assume(&tir.Not{A: cond})
	defer leave()
	for i, e := range indices {
		if w.b.a.Prove(&tir.Binary{Op: tir.GE, A: e, B: tir.I(w.buf.Shape[i])}) || w.b.a.Prove(&tir.Binary{Op: tir.LT, A: e, B: tir.I(0)}) {
			return true
		}
	}
	return false
}
