package proof

import (
	"slices"

	"github.com/texel-ml/texel/tir"
)

// Often a reader's loops are cut as the writer's are, and both are the same but for the names of their variables. Then each
// point that is read is one that is written, whatever the expressions say.

// coveredAlike decides that a reader's axes are covered because a writer's become the same under a renaming.
func coveredAlike(read []tir.Expr, reader part, write []tir.Expr, writer part) bool {
	m := &matcher{to: map[*tir.Var]*tir.Var{}, own: writer.vars, into: reader.vars}
	for i := range read {
		if !m.match(write[i], read[i]) {
			return false
		}
	}
	to := map[*tir.Var]tir.Expr{}
	for v, r := range m.to {
		to[v] = r
	}
	for _, c := range writer.conds {
		if !slices.ContainsFunc(reader.conds, func(r tir.Expr) bool { return tir.Equal(r, tir.Subst(c, to)) }) {
			return false
		}
	}
	for _, v := range writer.vars { // the others must have a value
		if m.to[v.Var] == nil && v.Extent < 1 {
			return false
		}
	}
	return true
}

// matcher finds the reader's variable for each of the writer's.
type matcher struct {
	to   map[*tir.Var]*tir.Var
	own  []Var // the writer's
	into []Var // the reader's
}

// match makes the writer's expression w the reader's r.
func (m *matcher) match(w, r tir.Expr) bool {
	switch n := w.(type) {
	case *tir.Var:
		i := index(m.own, n)
		if i < 0 {
			return w == r // fixed
		}
		v, ok := r.(*tir.Var)
		if !ok {
			return false
		}
		if was := m.to[n]; was != nil {
			return was == v
		}
		k := index(m.into, v)
		if k < 0 || m.into[k].Min < m.own[i].Min || m.into[k].Min+m.into[k].Extent > m.own[i].Min+m.own[i].Extent {
			return false // it takes values that the writer's does not
		}
		m.to[n] = v
		return true
	case *tir.Binary:
		o, ok := r.(*tir.Binary)
		return ok && o.Op == n.Op && m.match(n.A, o.A) && m.match(n.B, o.B)
	}
	own := map[*tir.Var]bool{}
	for _, v := range m.own {
		own[v.Var] = true
	}
	return !tir.UsesAny(w, own) && tir.Equal(w, r) // equal where each of its variables is its own, but they may have got another
}
