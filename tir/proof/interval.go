package proof

import (
	"cmp"
	"slices"

	"github.com/texel-ml/texel/tir"
)

// Most axes are sums such as io·32 + ii, of which the answer is known without counting: the sums of variables with
// factors that build on each other, like digits, take an interval, each number once.

// form is lo plus the sum of factor·variable over terms, each variable counted from its minimum, all factors positive.
type form struct {
	lo    int64
	terms []formTerm
}

type formTerm struct {
	v      *tir.Var
	factor int64
	count  int64 // values of the variable
	down   bool  // counted from the variable's last value, its factor being negative
}

// most bounds what is computed with, far from overflow.
const most = int64(1) << 40

// formOf returns e as a form over variables; it reports false for anything else.
func formOf(e tir.Expr, vars []Var) (form, bool) {
	var f form
	for _, t := range addends(e) {
		switch x := t.expr.(type) {
		case *tir.Int:
			if x.Value > most || x.Value < -most || t.factor > 1<<20 || t.factor < -1<<20 {
				return f, false
			}
			f.lo += x.Value * t.factor
		case *tir.Var:
			i := index(vars, x)
			if i < 0 || vars[i].Extent > 1<<31 || t.factor > 1<<31 || t.factor < -1<<31 || vars[i].Min > 1<<20 || vars[i].Min < -1<<20 {
				return f, false
			}
			if n := slices.IndexFunc(f.terms, func(o formTerm) bool { return o.v == x }); n >= 0 {
				return f, false // twice
			}
			v := vars[i]
			f.lo += t.factor * v.Min
			switch {
			case t.factor > 0:
				f.terms = append(f.terms, formTerm{x, t.factor, v.Extent, false})
			case t.factor < 0: // counted from its other end
				f.lo += t.factor * (v.Extent - 1)
				f.terms = append(f.terms, formTerm{x, -t.factor, v.Extent, true})
			}
		default:
			return f, false
		}
	}
	slices.SortFunc(f.terms, func(a, b formTerm) int { return cmp.Compare(a.factor, b.factor) })
	return f, f.last() < most && f.lo < most && f.lo > -most
}

// last is how far the values reach above lo.
func (f form) last() int64 {
	n := int64(0)
	for _, t := range f.terms {
		if t.count < 1 || t.factor*(t.count-1) > most {
			return most
		}
		n += t.factor * (t.count - 1)
	}
	return n
}

// whole reports whether the values are all numbers from lo to lo + last.
func (f form) whole() bool {
	reach := int64(0)
	for _, t := range f.terms {
		if t.count > 1 && t.factor > reach+1 {
			return false
		}
		reach += t.factor * (t.count - 1)
	}
	return true
}

// once reports whether no two points give one value.
func (f form) once() bool {
	reach := int64(0)
	for _, t := range f.terms {
		if t.count > 1 && t.factor <= reach {
			return false
		}
		reach += t.factor * (t.count - 1)
	}
	return true
}

// bound is what a condition says of an expression: with what fixed variables add to it, it is below a number.
type bound struct {
	shift []addend
	limit int64
}

// boundOf returns what a condition says of the values of e, a form over vars, where that says all: it is that a sum S is below
// n, and e is k·S plus what other variables add, less than k, as lower digits do. Then S < n just where e < k·n.
func boundOf(cond tir.Expr, e form, vars, fixed []Var) (bound, bool) {
	c, ok := cond.(*tir.Binary)
	if !ok || c.Op != tir.LT {
		return bound{}, false
	}
	n, ok := tir.AsInt(c.B)
	if !ok {
		return bound{}, false
	}
	own := map[*tir.Var]bool{}
	for _, v := range vars {
		own[v.Var] = true
	}
	rest, shift := apart(c.A, own)
	s, ok := formOf(rest, vars)
	k, inS := s.times(e)
	if n -= s.lo; !ok || k == 0 || n > 1<<31 || n < -1<<31 {
		return bound{}, false
	}
	below := int64(0) // what the lower digits add at most
	for i, t := range e.terms {
		if !inS[i] {
			below += t.factor * (t.count - 1)
		}
	}
	for i, t := range shift {
		v, isVar := t.expr.(*tir.Var)
		if !isVar || !has(fixed, v) || t.factor > 1<<20 || t.factor < -1<<20 {
			return bound{}, false
		}
		shift[i].factor *= k
	}
	return bound{shift, k*n + e.lo}, below < k
}

// times returns the k for which the terms of f, each times k, are among those of e, and which of these they are; 0 for none.
func (f form) times(e form) (k int64, among []bool) {
	among = make([]bool, len(e.terms))
	for _, t := range f.terms {
		i := slices.IndexFunc(e.terms, func(o formTerm) bool { return o.v == t.v && o.down == t.down })
		if i < 0 || e.terms[i].factor%t.factor != 0 || k != 0 && k != e.terms[i].factor/t.factor {
			return 0, nil
		}
		k, among[i] = e.terms[i].factor/t.factor, true
	}
	return k, among
}

// boundsOf returns what conditions say of e, and whether all of them say something of it alone.
func boundsOf(conds []tir.Expr, e form, vars, fixed []Var) (list []bound, all bool) {
	all = true
	for _, c := range conds {
		if b, ok := boundOf(c, e, vars, fixed); ok {
			list = append(list, b)
		} else {
			all = false
		}
	}
	return list, all
}

// end returns the last value of e under bounds, of those that fixed variables do not shift.
func (f form) end(bounds []bound) int64 {
	end := f.lo + f.last()
	for _, b := range bounds {
		if len(b.shift) == 0 {
			end = min(end, b.limit-1)
		}
	}
	return end
}

// imageByForm decides the claim of a part of one expression, when that is such a sum, and what limits it is a bound of it.
func (k *checker) imageByForm(p part) bool {
	c := k.claim
	if len(p.exprs) != 1 {
		return false
	}
	e := c.Map[p.exprs[0]]
	if c.Kind == Injection { // what fixed variables add to it is the same for all points
		own := map[*tir.Var]bool{}
		for _, v := range p.vars {
			own[v.Var] = true
		}
		e, _ = apart(e, own)
	}
	f, ok := formOf(e, p.vars)
	if !ok || len(f.terms) != len(p.vars) {
		return false
	}
	if c.Kind == Injection {
		return f.once()
	}
	bounds, all := boundsOf(p.conds, f, p.vars, nil)
	return all && f.lo == 0 && f.end(bounds) == c.Range[p.exprs[0]]-1 && f.whole() && (c.Kind == Onto || f.once())
}

// coveredByForm decides that one axis is covered: what the reader takes lies between the ends of what the writer takes, and
// where a bound of the writer depends on fixed variables, the reader has one that is no wider.
func coveredByForm(read tir.Expr, reader part, write tir.Expr, writer part, fixed []Var) bool {
	r, ok := formOf(read, reader.vars)
	if !ok || empty(writer.vars) {
		return false
	}
	w, ok := formOf(write, writer.vars)
	if !ok || !w.whole() || r.lo < w.lo {
		return false
	}
	limits, all := boundsOf(writer.conds, w, writer.vars, fixed)
	own, _ := boundsOf(reader.conds, r, reader.vars, fixed)
	if !all || r.end(own) > w.end(limits) {
		return false
	}
	for _, l := range limits {
		within := func(o bound) bool { return o.limit <= l.limit && sameAddends(o.shift, l.shift) }
		if len(l.shift) > 0 && !slices.ContainsFunc(own, within) {
			return false
		}
	}
	return true
}

// distinctByForm decides that an axis is touched at different places by the values of a loop: what else moves the places
// moves them by less than the loop does.
func distinctByForm(loop *tir.Var, exprs []tir.Expr, parts []part) bool {
	var step formTerm
	lo, hi := int64(0), int64(0)
	for i, e := range exprs {
		f, ok := formOf(e, parts[i].vars)
		if !ok {
			return false
		}
		own := slices.IndexFunc(f.terms, func(t formTerm) bool { return t.v == loop })
		if own < 0 || i > 0 && f.terms[own] != step {
			return false
		}
		first, last := f.lo, f.lo+f.last()-f.terms[own].factor*(f.terms[own].count-1)
		if i == 0 {
			step, lo, hi = f.terms[own], first, last
		}
		lo, hi = min(lo, first), max(hi, last)
	}
	return step.factor > hi-lo
}
