package proof

import (
	"fmt"
	"slices"

	"github.com/texel-ml/texel/tir"
)

// A fused loop runs over a product, and what it drives are its digits: f // 24, f %% 24. inDigits writes such a variable as
// the sum of its digits, each a variable of its own, so that a claim falls into parts which do not share it.
func inDigits(c *Claim) (*Claim, []*tir.Var) {
	loops := []*tir.Var{}
	if c.Loop != nil {
		loops = append(loops, c.Loop)
	}
	all := c.exprs()
	if !slices.ContainsFunc(all, divides) {
		return c, loops
	}
	d := &digits{to: map[*tir.Var]tir.Expr{}, extent: map[*tir.Var]int64{}}
	cut := map[*tir.Var][]Var{}
	replace := func(list []Var) []Var {
		var out []Var
		for _, v := range list {
			parts, done := cut[v.Var]
			if !done {
				parts = d.cut(v, all)
				cut[v.Var] = parts
			}
			out = append(out, parts...)
		}
		return out
	}
	out := *c
	out.Fixed = replace(c.Fixed)
	out.Side.Vars = replace(c.Vars)
	out.By = slices.Clone(c.By)
	for i := range out.By {
		out.By[i].Vars = replace(out.By[i].Vars)
	}
	if len(d.to) == 0 {
		return c, loops
	}
	if parts := cut[c.Loop]; c.Loop != nil && len(parts) > 1 {
		loops = nil
		for _, p := range parts {
			loops = append(loops, p.Var)
		}
	}
	out.Side = out.mapped(d.rewrite)
	for i, s := range out.By {
		out.By[i] = s.mapped(d.rewrite)
	}
	return &out, loops
}

// divides reports whether something is divided below e.
func divides(e tir.Expr) bool {
	found := false
	tir.Walk(e, func(n any) bool {
		b, ok := n.(*tir.Binary)
		found = found || ok && (b.Op == tir.FloorDiv || b.Op == tir.FloorMod)
		return !found
	})
	return found
}

// exprs returns all expressions of a claim.
func (c *Claim) exprs() []tir.Expr {
	var list []tir.Expr
	for _, s := range append([]Side{c.Side}, c.By...) {
		if s.Where != nil {
			list = append(list, s.Where)
		}
		list = append(list, s.Map...)
	}
	return list
}

type digits struct {
	to     map[*tir.Var]tir.Expr // a variable as the sum of its digits
	extent map[*tir.Var]int64    // of the digits
}

// cut returns the digits of a variable, the highest first, or the variable itself. The divisors that stand under it must
// divide each other and its extent.
func (d *digits) cut(v Var, exprs []tir.Expr) []Var {
	same := []Var{v}
	if v.Min != 0 || v.Extent < 4 {
		return same
	}
	divisors := []int64{v.Extent}
	for _, e := range exprs {
		d.divisors(e, v.Var, &divisors)
	}
	slices.Sort(divisors)
	divisors = slices.Compact(divisors)
	if len(divisors) < 2 {
		return same
	}
	last := int64(1)
	for _, n := range divisors {
		if n%last != 0 || n > v.Extent {
			return same
		}
		last = n
	}
	var parts []Var
	var sum tir.Expr
	for i := len(divisors) - 1; i >= 0; i-- {
		low := int64(1)
		if i > 0 {
			low = divisors[i-1]
		}
		w := Var{Var: tir.NewVar(fmt.Sprintf("%s_d%d", v.Var.Name, len(parts))), Extent: divisors[i] / low}
		d.extent[w.Var] = w.Extent
		parts = append(parts, w)
		term := tir.Times(w.Var, tir.I(int(low)))
		if sum == nil {
			sum = term
		} else {
			sum = tir.Plus(sum, term)
		}
	}
	d.to[v.Var] = sum
	return parts
}

// divisors adds the numbers by which v is divided: d of v // d and v %% d, and d·e of v // d %% e.
func (d *digits) divisors(e tir.Expr, v *tir.Var, list *[]int64) {
	tir.Walk(e, func(n any) bool {
		b, ok := n.(*tir.Binary)
		if !ok || b.Op != tir.FloorDiv && b.Op != tir.FloorMod {
			return true
		}
		by, isConst := tir.AsInt(b.B)
		if !isConst || by <= 1 {
			return true
		}
		if b.A == tir.Expr(v) {
			*list = append(*list, by)
			return false
		}
		inner, ok := b.A.(*tir.Binary)
		if ok && inner.Op == tir.FloorDiv && inner.A == tir.Expr(v) && b.Op == tir.FloorMod {
			if by2, isConst := tir.AsInt(inner.B); isConst && by2 > 1 && by2 < 1<<31 && by < 1<<31 {
				*list = append(*list, by2, by*by2)
				return false
			}
		}
		return true
	})
}

// rewrite puts digits in, and takes divisions of their sums apart.
func (d *digits) rewrite(e tir.Expr) tir.Expr {
	m := &tir.Mapper{Expr: func(e tir.Expr) tir.Expr {
		switch n := e.(type) {
		case *tir.Var:
			if to := d.to[n]; to != nil {
				return to
			}
		case *tir.Binary:
			if by, ok := tir.AsInt(n.B); ok && by > 1 && (n.Op == tir.FloorDiv || n.Op == tir.FloorMod) {
				if q, r, ok := d.divide(n.A, by); ok {
					if n.Op == tir.FloorDiv {
						return q
					}
					return r
				}
			}
		}
		return e
	}}
	return m.MapExpr(e)
}

// divide splits a sum of digits into multiples of by and a rest in [0, by).
func (d *digits) divide(e tir.Expr, by int64) (quotient, rest tir.Expr, ok bool) {
	quotient, rest = tir.I(0), tir.I(0)
	most := int64(0)
	for _, t := range addends(e) {
		factor := t.factor
		n, digit := int64(1), false
		if v, isVar := t.expr.(*tir.Var); isVar {
			n, digit = d.extent[v], d.extent[v] > 0
		} else if k, isConst := tir.AsInt(t.expr); isConst && k >= 0 && k < 1<<31 && factor > -1<<31 && factor < 1<<31 {
			factor, n, digit = factor*k, 2, true
			t.expr = tir.I(1)
		}
		switch {
		case factor%by == 0:
			quotient = tir.Plus(quotient, tir.Times(t.expr, tir.I(int(factor/by))))
		case digit && factor > 0 && n < 1<<31 && factor < 1<<31:
			rest = tir.Plus(rest, tir.Times(t.expr, tir.I(int(factor))))
			most += factor * (n - 1)
		default:
			return nil, nil, false
		}
	}
	return quotient, rest, most < by
}
