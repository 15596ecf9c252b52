package proof

import (
	"cmp"
	"math"
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
	for _, t := range addends(e, 1, nil) {
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

// below returns the bound that conditions set to the values of an expression, all of them saying that it is below a number.
func below(conds []tir.Expr, e tir.Expr) (int64, bool) {
	bound := int64(math.MaxInt64)
	for _, c := range conds {
		b, ok := c.(*tir.Binary)
		if !ok || b.Op != tir.LT || !tir.Equal(b.A, e) {
			return 0, false
		}
		n, ok := tir.AsInt(b.B)
		if !ok {
			return 0, false
		}
		bound = min(bound, n)
	}
	return bound, true
}

// imageByForm decides the claim of a part of one expression, when that is such a sum and nothing limits it.
func (k *checker) imageByForm(p part) bool {
	c := k.claim
	if len(p.exprs) != 1 {
		return false
	}
	bound, ok := below(p.conds, c.Map[p.exprs[0]])
	if !ok && c.Kind != Injection {
		return false
	}
	f, ok := formOf(c.Map[p.exprs[0]], p.vars)
	if !ok || len(f.terms) != len(p.vars) {
		return false
	}
	switch c.Kind {
	case Injection:
		return f.once()
	case Bijection, Onto:
		return f.lo == 0 && min(f.last(), bound-1) == c.Range[p.exprs[0]]-1 && f.whole() && (c.Kind == Onto || f.once())
	}
	return false
}

// coveredByForm decides that one axis is covered: what the reader takes lies between the ends of what the writer takes.
func coveredByForm(read tir.Expr, reader part, write tir.Expr, writer part) bool {
	bound, ok := below(writer.conds, write)
	if !ok || empty(writer.vars) {
		return false
	}
	r, ok := formOf(read, reader.vars)
	if !ok {
		return false
	}
	w, ok := formOf(write, writer.vars)
	if !ok || !w.whole() || r.lo < w.lo {
		return false
	}
	end := r.lo + r.last()
	if own, ok := below(reader.conds, read); ok {
		end = min(end, own-1)
	}
	return end <= min(w.lo+w.last(), bound-1)
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
