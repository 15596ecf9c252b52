// Package arith simplifies index expressions and proves facts about them.
//
// An Analyzer knows the ranges of variables. It brings each int64 expression into the form Σ kᵢ·tᵢ + c, where the
// terms tᵢ are variables, quotients x//c, remainders x%%c, products of those, minima, maxima, selects and loads, sorted
// by the order in which their variables were bound (outer first). Two index expressions that are equal as linear forms
// become the same tree, quotients and remainders of sums are split where the ranges show that nothing is carried, and
// comparisons that the ranges decide become constants.
//
// # What may be relied on
//
// A simplified expression has the value of the original wherever that has one. It is a law of 64-bit arithmetic that wraps
// around: where the known ranges let a sum or a product leave int64, and for values loaded from buffers of 64-bit
// integers, only ring laws are used. A variable of unknown range counts as an index, at most 2⁴⁰ in either direction, and
// index arithmetic on such is taken not to overflow, as tir requires of accesses. A range that reaches an end of int64
// counts as unknown at that end. Where the analyzer's own arithmetic would overflow, it leaves the expression as it is.
//
// Each rewrite is one of the rules of rules.go.
package arith

import (
	"slices"

	"github.com/texel-ml/texel/tensor"
	"github.com/texel-ml/texel/tir"
)

// Analyzer simplifies and proves under what it was told of variables. It is not safe for concurrent use.
type Analyzer struct {
	vars   map[*tir.Var]interval
	trail  []saved // what leaving a scope puts back
	order  map[*tir.Var]int
	bufs   map[*tir.Buffer]int
	facts  []linear   // each is known to be below zero
	truths []tir.Expr // conditions known to hold that are no linear facts
	memo   map[tir.Expr]linear
	spare  []map[tir.Expr]linear // empty ones, for memo
	depth  int                   // of facts used by bounds
	splits int                   // of minima and maxima taken apart by bounds
	wide   bool                  // a variable was given a range beyond maxIndex
	fired  [numRules]uint32
}

type saved struct {
	v   *tir.Var
	old interval
	had bool
}

// New returns an analyzer that knows nothing.
func New() *Analyzer {
	return &Analyzer{
		vars:  map[*tir.Var]interval{},
		order: map[*tir.Var]int{},
		bufs:  map[*tir.Buffer]int{},
	}
}

// Scope starts a scope: leave forgets what was bound and assumed since. Leave scopes in the reverse order.
func (a *Analyzer) Scope() (leave func()) {
	mark, facts, truths := len(a.trail), a.facts[:len(a.facts):len(a.facts)], a.truths[:len(a.truths):len(a.truths)]
	memo := a.memo
	a.memo = nil
	return func() {
		for i := len(a.trail) - 1; i >= mark; i-- {
			if s := a.trail[i]; s.had {
				a.vars[s.v] = s.old
			} else {
				delete(a.vars, s.v)
			}
		}
		a.trail, a.facts, a.truths = a.trail[:mark], facts, truths
		if a.memo != nil {
			clear(a.memo)
			a.spare = append(a.spare, a.memo)
		}
		a.memo = memo // of the same state
	}
}

// remember keeps the canonical form of e until something new is told.
func (a *Analyzer) remember(e tir.Expr, l linear) {
	if a.memo == nil {
		if n := len(a.spare); n > 0 {
			a.memo, a.spare = a.spare[n-1], a.spare[:n-1]
		} else {
			a.memo = map[tir.Expr]linear{}
		}
	}
	a.memo[e] = l
}

func (a *Analyzer) set(v *tir.Var, b interval) {
	old, had := a.vars[v]
	a.trail = append(a.trail, saved{v, old, had})
	a.vars[v] = b
	a.wide = a.wide || b.assumed().within(interval{-maxIndex, maxIndex}) != b.assumed()
	clear(a.memo)
}

// forget drops the facts about v, which gets a new range.
func (a *Analyzer) forget(v *tir.Var) {
	a.rank(v)
	uses := func(f linear) bool {
		return slices.ContainsFunc(f.terms, func(t term) bool { return tir.Uses(t.atom, v) })
	}
	if slices.ContainsFunc(a.facts, uses) {
		a.facts = slices.DeleteFunc(slices.Clone(a.facts), uses)
	}
	stale := func(c tir.Expr) bool { return tir.Uses(c, v) }
	if slices.ContainsFunc(a.truths, stale) {
		a.truths = slices.DeleteFunc(slices.Clone(a.truths), stale)
	}
}

// Bind tells that v is in [min, min+extent). Variables bound earlier count as outer ones.
func (a *Analyzer) Bind(v *tir.Var, min, extent int64) {
	a.forget(v)
	a.set(v, between(min, addSat(min, max(extent, 0)-1)))
}

// BindExpr tells that v is in [min, min+extent), where both may depend on variables bound before.
func (a *Analyzer) BindExpr(v *tir.Var, min, extent tir.Expr) {
	if from, ok := tir.AsInt(min); ok {
		if n, ok := tir.AsInt(extent); ok {
			a.Bind(v, from, n)
			return
		}
	}
	lo := a.lin(min)
	last := lo.plus(a.lin(extent), 1).shifted(-1)
	b := interval{a.bounds(lo).lo, a.bounds(a.sorted(last)).hi}
	a.forget(v)
	a.set(v, anything)
	self := linear{terms: []term{{v, 1}}}
	if len(lo.terms) > 0 && lasting(lo) && a.exact(lo) { // min - v - 1 < 0
		a.addFact(lo.plus(self, -1).shifted(-1))
	}
	if len(last.terms) > 0 && lasting(last) && a.exact(last) { // v - last - 1 < 0
		a.addFact(self.plus(last, -1).shifted(-1))
	}
	a.set(v, b)
}

// lasting reports whether what is known of l stays true: what is loaded may be overwritten.
func lasting(l linear) bool {
	return !slices.ContainsFunc(l.terms, func(t term) bool { return tir.ReadsMemory(t.atom) })
}

// BindValue tells that v has the value of e, as a let does.
func (a *Analyzer) BindValue(v *tir.Var, e tir.Expr) {
	if v.DType != tensor.Int64 {
		return
	}
	a.BindExpr(v, e, tir.I(1))
}

// BindLoop tells the range of a loop's variable.
func (a *Analyzer) BindLoop(f *tir.For) { a.BindExpr(f.Var, f.Min, f.Extent) }

// BindSpan tells where a loop's variable lies if the loop has an iteration at all, and nothing of the variables in its bounds:
// BindLoop of a loop from 0 to n says that n is positive, which is so inside of it alone.
func (a *Analyzer) BindSpan(f *tir.For) {
	first, _, _ := a.Bounds(f.Min)
	_, last, _ := a.Bounds(tir.Bin(tir.Add, f.Min, f.Extent))
	a.forget(f.Var)
	a.set(f.Var, between(first, addSat(last, -1)))
}

// Assume starts a scope in which cond holds; nil says nothing. What cond says of loaded values is not used, because a
// statement in the scope may overwrite them.
func (a *Analyzer) Assume(cond tir.Expr) (leave func()) {
	leave = a.Scope()
	if cond != nil {
		a.assume(a.Simplify(cond), true)
	}
	return leave
}

// under is Assume of a simplified condition, or of its opposite, for the time of evaluating one expression, in which
// nothing is overwritten.
func (a *Analyzer) under(cond tir.Expr, holds bool) (leave func()) {
	leave = a.Scope()
	if !holds {
		cond = a.negate(cond, &tir.Not{A: cond})
	}
	a.assume(cond, false)
	return leave
}

// assume records a simplified condition, or of it what lasts.
func (a *Analyzer) assume(cond tir.Expr, lasts bool) {
	b, ok := cond.(*tir.Binary)
	if ok && b.Op == tir.And {
		a.assume(b.A, lasts)
		a.assume(b.B, lasts)
		return
	}
	if lasts && tir.ReadsMemory(cond) {
		return
	}
	if ok && (b.Op == tir.LT || b.Op == tir.EQ) && b.A.Type() == tir.Index && a.assumeLinear(b) {
		return
	}
	if _, ok := tir.AsInt(cond); !ok {
		a.truths = append(a.truths, cond)
		clear(a.memo)
	}
}

// assumeLinear records a comparison of sums as facts. It reports false where a side may wrap around.
func (a *Analyzer) assumeLinear(b *tir.Binary) bool {
	p, q := a.lin(b.A), a.lin(b.B)
	d := p.plus(q, -1)
	if d.over || !a.exact(p) || !a.exact(q) {
		return false
	}
	if b.Op == tir.LT {
		a.fact(d)
		return true
	}
	a.fact(d.shifted(-1)) // d <= 0 and -d <= 0
	a.fact(d.scale(-1).shifted(-1))
	return true
}

// fact records d < 0, and narrows the range of a lone variable.
func (a *Analyzer) fact(d linear) {
	d = a.sorted(d)
	if len(d.terms) == 1 && !d.over {
		if v, ok := d.terms[0].atom.(*tir.Var); ok {
			b, known := a.vars[v]
			if !known {
				b = typeBounds(v.DType)
			}
			b = b.within(below(d.terms[0].k, d.c))
			a.set(v, between(b.lo, b.hi))
			return
		}
	}
	a.addFact(d)
	clear(a.memo)
}

// addFact records d < 0, unless it says nothing.
func (a *Analyzer) addFact(d linear) {
	if !d.over && len(d.terms) > 0 {
		a.facts = append(a.facts, a.sorted(d))
	}
}

// Simplify returns an expression of the same value in canonical form; the same pointer when it already is. nil stays
// nil.
func (a *Analyzer) Simplify(e tir.Expr) tir.Expr {
	if e == nil {
		return nil
	}
	out := a.simp(e)
	if out == e || tir.Equal(out, e) {
		return e
	}
	return out
}

// Prove reports whether cond certainly holds.
func (a *Analyzer) Prove(cond tir.Expr) bool {
	v, ok := tir.AsInt(a.Simplify(cond))
	return ok && v != 0
}

// Bounds returns the smallest and the largest value that the ranges allow e, both inclusive.
func (a *Analyzer) Bounds(e tir.Expr) (lo, hi int64, ok bool) {
	var b interval
	if e.Type() == tir.Index {
		b = a.bounds(a.lin(e))
	} else {
		b = a.atomBounds(e)
	}
	return b.lo, b.hi, b.lo > minInt && b.hi < maxInt
}

// Linear splits an index expression into Σ coeffs[v]·v + rest. It reports false when rest depends on a variable that
// also is in coeffs.
func (a *Analyzer) Linear(e tir.Expr) (coeffs map[*tir.Var]int64, rest tir.Expr, ok bool) {
	coeffs = map[*tir.Var]int64{}
	l := a.lin(e)
	left := linear{c: l.c}
	for _, t := range l.terms {
		if v, isVar := t.atom.(*tir.Var); isVar {
			coeffs[v] = t.k
		} else {
			left.terms = append(left.terms, t)
		}
	}
	rest = left.expr()
	ok = true
	tir.Walk(rest, func(n any) bool {
		if v, isVar := n.(*tir.Var); isVar && coeffs[v] != 0 {
			ok = false
		}
		return ok
	})
	return coeffs, rest, ok
}

func (a *Analyzer) rank(v *tir.Var) int {
	n, ok := a.order[v]
	if !ok {
		n = len(a.order)
		a.order[v] = n
	}
	return n
}

func (a *Analyzer) simp(e tir.Expr) tir.Expr {
	switch n := e.(type) {
	case *tir.Var:
		if b, ok := a.vars[n]; ok && b.lo == b.hi && n.DType == tensor.Int64 {
			a.hit(foldVar)
			return tir.I(int(b.lo))
		}
		return e
	case *tir.Int, *tir.Float:
		return e
	case *tir.Binary:
		return a.simpBinary(n)
	case *tir.Not:
		return a.negate(a.Simplify(n.A), n)
	case *tir.Select:
		return a.simpSelect(n)
	case *tir.Cast:
		return a.simpCast(n)
	case *tir.Load:
		idx, changed := a.simpList(n.Indices)
		if !changed {
			return e
		}
		return &tir.Load{Buffer: n.Buffer, Indices: idx}
	case *tir.Call:
		args, changed := a.simpList(n.Args)
		if !changed {
			return e
		}
		return &tir.Call{Fn: n.Fn, Args: args}
	case *tir.Ramp:
		base, stride := a.Simplify(n.Base), a.Simplify(n.Stride)
		if tir.IsConst(stride, 0) {
			a.hit(rampStill)
			return &tir.Broadcast{A: base, Lanes: n.Lanes}
		}
		return &tir.Ramp{Base: base, Stride: stride, Lanes: n.Lanes}
	case *tir.Broadcast:
		return &tir.Broadcast{A: a.Simplify(n.A), Lanes: n.Lanes}
	}
	panic("arith: unknown expression")
}

func (a *Analyzer) simpList(list []tir.Expr) ([]tir.Expr, bool) {
	changed := false
	out := make([]tir.Expr, len(list))
	for i, e := range list {
		out[i] = a.Simplify(e)
		changed = changed || out[i] != e
	}
	return out, changed
}

func (a *Analyzer) simpBinary(n *tir.Binary) tir.Expr {
	switch t := n.A.Type(); {
	case n.Op == tir.And || n.Op == tir.Or:
		return a.known(a.logical(n))
	case t == tir.Index && n.Op.IsCompare():
		return a.known(a.compare(n.Op, n.A, n.B))
	case t == tir.Index:
		return a.lin(n).expr()
	case t.DType == tensor.Int64 && t.Lanes > 1:
		return a.vector(n)
	case t.DType.IsFloat():
		x, y := a.Simplify(n.A), a.Simplify(n.B)
		switch {
		case isOne(y) && n.Op == tir.Mul:
			a.hit(mulFloatOne)
			return x
		case isOne(x) && n.Op == tir.Mul:
			a.hit(mulFloatOne)
			return y
		case isOne(y) && n.Op == tir.Div:
			a.hit(divFloatOne)
			return x
		}
		return tir.Bin(n.Op, x, y)
	}
	out := tir.Bin(n.Op, a.Simplify(n.A), a.Simplify(n.B))
	if n.Op.IsCompare() {
		return a.known(out)
	}
	return out
}

func isOne(e tir.Expr) bool {
	if b, ok := e.(*tir.Broadcast); ok {
		e = b.A
	}
	f, ok := e.(*tir.Float)
	return ok && f.Value == 1
}

func (a *Analyzer) simpSelect(n *tir.Select) tir.Expr {
	cond := a.Simplify(n.Cond)
	if v, ok := tir.AsInt(cond); ok {
		a.hit(selectDecided)
		if v != 0 {
			return a.Simplify(n.Then)
		}
		return a.Simplify(n.Else)
	}
	undo := a.under(cond, true)
	then := a.Simplify(n.Then)
	undo()
	undo = a.under(cond, false)
	els := a.Simplify(n.Else)
	undo()
	if tir.Equal(then, els) {
		a.hit(selectSame)
		return then
	}
	return &tir.Select{Cond: cond, Then: then, Else: els}
}

// simpCast folds constants and drops an inner conversion that loses nothing.
func (a *Analyzer) simpCast(n *tir.Cast) tir.Expr {
	x := a.Simplify(n.A)
	for {
		if x.Type().DType == n.DType {
			a.hit(castSame)
			return x
		}
		inner, ok := x.(*tir.Cast)
		if !ok || !widens(inner.A.Type().DType, inner.DType) {
			break
		}
		a.hit(castWidened)
		x = inner.A
	}
	switch c := x.(type) {
	case *tir.Int:
		if n.DType.IsInt() && c.DType != tensor.Uint64 {
			a.hit(castInt)
			return &tir.Int{DType: n.DType, Value: tensor.Wrap(n.DType, c.Value)}
		}
		if n.DType == tensor.Float32 && c.DType != tensor.Uint64 {
			a.hit(castFloat)
			return &tir.Float{DType: n.DType, Value: float64(float32(c.Value))}
		}
	case *tir.Broadcast:
		a.hit(castBroadcast)
		return &tir.Broadcast{A: a.Simplify(&tir.Cast{DType: n.DType, A: c.A}), Lanes: c.Lanes}
	}
	return &tir.Cast{DType: n.DType, A: x}
}

// widens reports whether every value of from is one of to, so that a conversion through to is none.
func widens(from, to tensor.DType) bool {
	switch {
	case from.IsStorage() || to.IsStorage() || from.Bits() >= to.Bits():
		return false
	case from == tensor.Bool:
		return to.IsInt()
	case from == tensor.BFloat16 && to == tensor.Float32, from == tensor.Float16 && to == tensor.Float32:
		return true
	case from.IsFloat():
		return to == tensor.Float64
	case from.Kind() == tensor.Signed:
		return to.Kind() == tensor.Signed
	}
	return to.IsInt()
}
