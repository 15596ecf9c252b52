package arith

import (
	"math"
	"slices"

	"github.com/texel-ml/texel/diag"
	"github.com/texel-ml/texel/tir"
)

// IterDomain is a set of points: each variable runs through [Mins[i], Mins[i]+Extents[i]), where Where holds.
type IterDomain struct {
	Vars    []*tir.Var
	Mins    []int64 // nil: all 0
	Extents []int64
	Where   tir.Expr // nil: everywhere
}

// IterSource is a counter from 0 to Extent-1 that the values of an IterMap are made of: a loop less its minimum, or
// several fused to one number.
type IterSource struct {
	Var    *tir.Var // nil of a fused source
	Min    int64    // of Var
	Fused  IterSum  // of a fused source
	Extent int64    // less than that of Var or Fused where the domain's condition ends it before
}

// IterTerm is Scale·((Source // Lower) %% Extent).
type IterTerm struct {
	Source        *IterSource
	Lower, Extent int64
	Scale         int64
}

// IterSum is a sum of terms and of Base, which does not depend on the domain's variables.
type IterSum struct {
	Terms []IterTerm
	Base  tir.Expr
}

// IterMap is the affine form of expressions over a domain: each is a sum of split sources. The points of the domain are
// the combinations of the values that the terms take; only terms that cut a source unevenly are tied to each other.
//
//	(i, j) in 3 × 4 where i·4 + j < 10; values (i·4 + j)//5, (i·4 + j)%%5
//	→ one source s = i·4 + j of extent 10; values (s//5)%%2 and s%%5
type IterMap struct {
	Domain IterDomain
	Values []IterSum

	digits  []*digit   // independent counters that the values are linear in
	linear  []linear   // the values
	loops   []tir.Expr // the domain's variables by digits
	partial []partial
	exprs   []tir.Expr // the values as they were given
}

// digit is a counter from 0 to extent-1, the part of a source that term (of scale 1) says.
type digit struct {
	v      *tir.Var
	extent int64
	term   IterTerm
}

// name spells a digit for an error.
func (x *digit) name() string { return spell(x.term.expr()) }

// partial says that of the product of some digits only a beginning is in the domain: points of box.
type partial struct {
	what        tir.Expr
	points, box int64
}

const iterStep = "iter-map"

// DetectIterMap writes values as sums of split sources over d. a tells the ranges of variables outside of the domain; nil
// knows nothing. The error says which part of the condition or of the values has no such form.
//
// It changes variables until every value is linear. A condition Σ kᵢ·vᵢ < n whose left side counts through its variables
// as the digits of a number makes that number the variable, of extent n, and vᵢ its digits. A quotient of such a number
// does the same. A variable of which quotients and remainders are used is cut into its digits. Each of these steps is a
// bijection between the points before and after it, and the Analyzer puts the new variables in.
func DetectIterMap(a *Analyzer, d IterDomain, values []tir.Expr) (*IterMap, error) {
	if err := d.check(); err != nil {
		return nil, err
	}
	if a == nil {
		a = New()
	}
	leave := a.Scope()
	defer leave()
	s := &iterSolver{a: a, m: &IterMap{Domain: d, exprs: values}, values: slices.Clone(values)}
	s.start()
	if err := s.solve(); err != nil {
		return nil, err
	}
	return s.m, nil
}

func (d IterDomain) check() error {
	if len(d.Vars) != len(d.Extents) || d.Mins != nil && len(d.Mins) != len(d.Vars) {
		return diag.Invalid(iterStep, "", "wanted an extent for each of %d variables, found %d and %d minima", len(d.Vars), len(d.Extents), len(d.Mins))
	}
	for i, v := range d.Vars {
		lo, ext := d.min(i), d.Extents[i]
		if ext < 1 || ext > maxIndex || lo < -maxIndex || lo > maxIndex {
			return diag.Invalid(iterStep, v.Name, "wanted an extent from 1 to 2^40 and a minimum within 2^40, found %d and %d", ext, lo)
		}
		if slices.Contains(d.Vars[:i], v) {
			return diag.Invalid(iterStep, v.Name, "the variable stands in the domain twice")
		}
	}
	return nil
}

func (d IterDomain) min(i int) int64 {
	if d.Mins == nil {
		return 0
	}
	return d.Mins[i]
}

// points is the number of points of the box without the condition; false when that is no int64.
func (d IterDomain) points() (int64, bool) {
	n, fits := int64(1), true
	for _, e := range d.Extents {
		var ok bool
		n, ok = mul(n, e)
		fits = fits && ok
	}
	return n, fits && n < math.MaxInt64
}

// Points returns how many points the domain has; false when that is no int64.
func (m *IterMap) Points() (int64, bool) {
	n, fits := int64(1), true
	for _, d := range m.digits {
		var ok bool
		n, ok = mul(n, d.extent)
		fits = fits && ok
	}
	for _, p := range slices.Backward(m.partial) { // the last cut is the innermost
		n = n / p.box * p.points
	}
	return n, fits
}

// expr returns a term as an expression of the domain's variables.
func (t IterTerm) expr() tir.Expr {
	e := t.Source.expr()
	if t.Lower > 1 {
		e = &tir.Binary{Op: tir.FloorDiv, A: e, B: tir.I(int(t.Lower))}
	}
	if t.Lower*t.Extent < t.Source.Extent {
		e = &tir.Binary{Op: tir.FloorMod, A: e, B: tir.I(int(t.Extent))}
	}
	return tir.Times(e, tir.I(int(t.Scale)))
}

func (s *IterSource) expr() tir.Expr {
	if s.Var != nil {
		return tir.Minus(s.Var, tir.I(int(s.Min)))
	}
	return s.Fused.Expr()
}

// Expr returns the sum as an expression of the domain's variables.
func (s IterSum) Expr() tir.Expr {
	out := s.Base
	for i, t := range s.Terms {
		if i == 0 && tir.IsConst(out, 0) {
			out = t.expr()
			continue
		}
		out = tir.Plus(out, t.expr())
	}
	return out
}
