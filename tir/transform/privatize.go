package transform

import (
	"slices"

	"github.com/texel-ml/texel/tir"
)

// privatize turns a global buffer of the root into scratch memory when all its uses lie within one iteration of a loop
// and every element read there was written before, in the same iteration, by a dense sweep. Such a buffer comes from a
// stage computed at a loop of its consumer; as a global buffer it would cost memory of the whole tensor.
func (b *blockLowerer) privatize(s tir.Stmt, buf *tir.Buffer) (tir.Stmt, bool) {
	to := *buf
	to.Scope = tir.Scratch
	done := false
	var descend func(s tir.Stmt, inLoop bool) tir.Stmt
	descend = func(s tir.Stmt, inLoop bool) tir.Stmt {
		leave := b.a.Scope()
		defer leave()
		f, isLoop := s.(*tir.For)
		if isLoop {
			b.a.BindLoop(f)
		}
		if out, ok := b.within(s, buf, func(c tir.Stmt) tir.Stmt { return descend(c, inLoop || isLoop) }); ok {
			return out
		}
		if !inLoop || !b.producedHere(s, buf) {
			return s
		}
		done = true
		out := b.allocate(buf, tir.ReplaceBuffer(s, buf, &to, nil))
		out.Buffer = &to
		return out
	}
	out := descend(s, false)
	return out, done
}

// producedHere reports whether s, a sequence, writes all of buf that it reads before it reads it.
func (b *blockLowerer) producedHere(s tir.Stmt, buf *tir.Buffer) bool {
	seq, ok := s.(*tir.Seq)
	if !ok {
		return false
	}
	var written [][]tir.Range
	for i, c := range seq.Stmts {
		read, wrote := accesses(c, buf)
		switch {
		case !read && !wrote:
		case read && len(written) == 0 && !(wrote && b.inits[buf] && i < len(seq.Stmts)-1):
			return false
		case read && len(written) > 0:
			if !b.sweepAccesses(c, buf, func(indices []tir.Expr, over map[*tir.Var]tir.Range, load bool, _ []tir.Expr) bool {
				if !load {
					return true
				}
				box, ok := b.a.Touched(indices, over)
				return ok && slices.ContainsFunc(written, func(w []tir.Range) bool { return b.a.Covers(w, box) })
			}) {
				return false
			}
		}
		if wrote {
			b.sweepAccesses(c, buf, func(indices []tir.Expr, over map[*tir.Var]tir.Range, load bool, guards []tir.Expr) bool {
				if load || !b.dense(indices, over) || !b.harmless(guards, indices, buf) {
					return true
				}
				if box, ok := b.a.Touched(indices, over); ok {
					written = append(written, box)
				}
				return true
			})
		}
	}
	return len(written) > 0
}

// sweepAccesses calls f for each access of buf below s with the loops inside s and the guards around the access, until
// f returns false.
func (b *blockLowerer) sweepAccesses(s tir.Stmt, buf *tir.Buffer,
	f func(indices []tir.Expr, over map[*tir.Var]tir.Range, load bool, guards []tir.Expr) bool) bool {
	over := map[*tir.Var]tir.Range{}
	var guards []tir.Expr
	ok := true
	loads := func(e any) {
		tir.Walk(e, func(n any) bool {
			if l, isLoad := n.(*tir.Load); isLoad && l.Buffer == buf {
				ok = ok && f(l.Indices, over, true, guards)
			}
			return ok
		})
	}
	var walk func(s tir.Stmt)
	walk = func(s tir.Stmt) {
		if !ok {
			return
		}
		switch n := s.(type) {
		case nil:
		case *tir.For:
			leave := b.a.Scope()
			defer leave()
			b.a.BindLoop(n)
			over[n.Var] = tir.Range{Min: n.Min, Extent: n.Extent}
			walk(n.Body)
			delete(over, n.Var)
		case *tir.If:
			loads(n.Cond)
			guards = append(guards, n.Cond)
			walk(n.Then)
			guards[len(guards)-1] = &tir.Not{A: n.Cond}
			walk(n.Else)
			guards = guards[:len(guards)-1]
		case *tir.Seq:
			for _, c := range n.Stmts {
				walk(c)
			}
		case *tir.Let:
			loads(n.Value)
			walk(tir.SubstStmt(n.Body, map[*tir.Var]tir.Expr{n.Var: n.Value}))
		case *tir.Allocate:
			walk(n.Body)
		case *tir.Store:
			loads(n.Value)
			for _, i := range n.Indices {
				loads(i)
			}
			if n.Buffer == buf {
				ok = ok && f(n.Indices, over, false, guards)
			}
		default:
			if read, written := accesses(s, buf); read || written {
				ok = false
			}
		}
	}
	walk(s)
	return ok
}

// dense reports whether the indices, swept over loops, take every value of their box: each is Σ kᵢ·vᵢ + rest over its
// own loops, and the coefficients, sorted, start at 1 and never jump over the reach of the smaller ones.
func (b *blockLowerer) dense(indices []tir.Expr, over map[*tir.Var]tir.Range) bool {
	type step struct{ k, extent int64 }
	used := map[*tir.Var]bool{}
	for _, e := range indices {
		coeffs, rest, ok := b.a.Linear(e)
		if !ok || tir.UsesAny(rest, over) {
			return false
		}
		var steps []step
		for v, k := range coeffs {
			r, swept := over[v]
			if !swept {
				continue
			}
			n, isConst := tir.AsInt(b.a.Simplify(r.Extent))
			if used[v] || !isConst || tir.UsesAny(r.Min, over) {
				return false
			}
			used[v] = true
			if n > 1 {
				steps = append(steps, step{max(k, -k), n})
			}
		}
		slices.SortFunc(steps, func(x, y step) int { return int(x.k - y.k) })
		reach := int64(1)
		for _, s := range steps {
			if s.k > reach {
				return false
			}
			reach += s.k * (s.extent - 1)
		}
	}
	return true
}

// harmless reports whether guards only keep a write from leaving the buffer: where one does not hold, an index is out
// of bounds, and no read is there.
func (b *blockLowerer) harmless(guards, indices []tir.Expr, buf *tir.Buffer) bool {
	for _, g := range guards {
		for _, part := range tir.Conjuncts(g) {
			leave := b.a.Assume(&tir.Not{A: part})
			out := false
			for i, e := range indices {
				out = out || b.a.Prove(&tir.Binary{Op: tir.GE, A: e, B: tir.I(buf.Shape[i])}) ||
					b.a.Prove(&tir.Binary{Op: tir.LT, A: e, B: tir.I(0)})
			}
			leave()
			if !out {
				return false
			}
		}
	}
	return true
}
