package arith

import (
	"cmp"
	"slices"

	"github.com/texel-ml/texel/diag"
	"github.com/texel-ml/texel/tir"
)

// iterSolver changes the variables of a domain until its values are linear in them.
type iterSolver struct {
	a      *Analyzer
	m      *IterMap
	digits []*digit
	where  []tir.Expr // conditions that are not used up
	values []tir.Expr
	loops  []tir.Expr
	empty  bool // no point fulfils the condition
}

// start makes each loop a variable from 0.
func (s *iterSolver) start() {
	d := s.m.Domain
	to := map[*tir.Var]tir.Expr{}
	for i, v := range d.Vars {
		src := &IterSource{Var: v, Min: d.min(i), Extent: d.Extents[i]}
		x := s.variable(v.Name, IterTerm{Source: src, Lower: 1, Extent: src.Extent, Scale: 1})
		to[v] = tir.Plus(x.v, tir.I(int(src.Min)))
		s.loops = append(s.loops, to[v])
	}
	if d.Where != nil {
		s.where = []tir.Expr{d.Where}
	}
	s.replace(to)
}

// variable returns a new counter.
func (s *iterSolver) variable(name string, t IterTerm) *digit {
	x := &digit{v: tir.NewVar(name), extent: t.Extent, term: t}
	s.a.Bind(x.v, 0, x.extent)
	s.digits = append(s.digits, x)
	return x
}

// replace puts expressions for variables, and simplifies.
func (s *iterSolver) replace(to map[*tir.Var]tir.Expr) {
	put := func(list []tir.Expr) {
		for i, e := range list {
			list[i] = s.a.Simplify(tir.Subst(e, to))
		}
	}
	put(s.values)
	put(s.loops)
	if len(s.where) > 0 {
		all := s.a.Simplify(tir.Subst(tir.All(s.where...), to))
		s.where = s.where[:0]
		for _, c := range tir.Conjuncts(all) {
			switch v, ok := tir.AsInt(c); {
			case !ok:
				s.where = append(s.where, c)
			case v == 0:
				s.empty = true
			}
		}
	}
	s.digits = slices.DeleteFunc(s.digits, func(x *digit) bool { return to[x.v] != nil })
}

// solve changes variables until none of the changes applies, and takes the values from the result.
func (s *iterSolver) solve() error {
	// Conditions go first, the simple ones before those that they make simple. What loses a form is last.
	changes := []func() bool{
		func() bool { return s.cutEvenly(s.where) }, s.narrow, s.fuseCondition, s.turn, s.fuseDividend,
		func() bool { return s.cutEvenly(s.values) }, s.tighten, s.cutUnevenly,
	}
	change := func(f func() bool) bool { return f() }
	for steps := 16 + 4*(len(s.digits)+len(s.values)); steps > 0 && !s.empty && slices.ContainsFunc(changes, change); steps-- {
	}
	if s.empty {
		return diag.Invalid(iterStep, "", "no point fulfils %s", spell(s.m.Domain.Where))
	}
	if len(s.where) > 0 {
		return diag.Unsupported(iterStep, "", "the condition %s does not end a number that loops count", s.named(s.where[0]))
	}
	m := s.m
	m.digits, m.loops = s.digits, s.loops
	for i, e := range s.values {
		l := s.a.lin(e)
		sum := IterSum{}
		base := constant(l.c)
		for _, t := range l.terms {
			if x := s.find(t.atom); x != nil {
				term := x.term
				term.Scale = t.k
				sum.Terms = append(sum.Terms, term)
				continue
			}
			if s.uses(t.atom) {
				return diag.Unsupported(iterStep, "", "value %d, %s, is no sum of split loops%s", i, spell(m.exprs[i]), s.because(t.atom))
			}
			base.terms = append(base.terms, t)
		}
		slices.SortStableFunc(sum.Terms, func(p, q IterTerm) int { return cmp.Compare(abs(q.Scale), abs(p.Scale)) })
		sum.Base = base.expr()
		m.Values = append(m.Values, sum)
		m.linear = append(m.linear, l)
	}
	return nil
}

func abs(k int64) int64 { return max(k, -k) }

// find returns the digit that e is, or nil.
func (s *iterSolver) find(e tir.Expr) *digit {
	for _, x := range s.digits {
		if e == tir.Expr(x.v) {
			return x
		}
	}
	return nil
}

func (s *iterSolver) uses(e tir.Expr) bool {
	return slices.ContainsFunc(s.digits, func(x *digit) bool { return tir.Uses(e, x.v) })
}

// because names the part of a value that has no form, unless that is long.
func (s *iterSolver) because(e tir.Expr) string {
	if text := s.named(e); len(text) <= 60 {
		return ": " + text + " is left"
	}
	return ""
}

// named spells e by the domain's variables.
func (s *iterSolver) named(e tir.Expr) string {
	to := map[*tir.Var]tir.Expr{}
	for _, x := range s.digits {
		to[x.v] = x.term.expr()
	}
	return spell(tir.Subst(e, to))
}

// condition returns d for a condition d < 0.
func (s *iterSolver) condition(c tir.Expr) (linear, bool) {
	b, ok := c.(*tir.Binary)
	if !ok || b.Op != tir.LT || b.A.Type() != tir.Index {
		return linear{}, false
	}
	p, q := s.a.lin(b.A), s.a.lin(b.B)
	d := p.plus(q, -1)
	return d, !d.over && s.a.exact(p) && s.a.exact(q)
}

// narrow uses up a condition on one variable.
func (s *iterSolver) narrow() bool {
	for i, c := range s.where {
		lo, hi := int64(0), int64(0)
		var x *digit
		if d, ok := s.condition(c); ok && len(d.terms) == 1 {
			if x = s.find(d.terms[0].atom); x != nil {
				b := below(d.terms[0].k, d.c).within(interval{0, x.extent - 1})
				lo, hi = b.lo, b.hi
			}
		} else if b, ok := c.(*tir.Binary); ok && b.Op == tir.EQ && s.find(b.A) != nil {
			if v, isConst := tir.AsInt(b.B); isConst {
				x, lo, hi = s.find(b.A), v, v
			}
		}
		if x == nil {
			continue
		}
		s.where = slices.Delete(s.where, i, i+1)
		s.restrict(x, lo, hi)
		return true
	}
	return false
}

// restrict leaves of x the values from lo to hi.
func (s *iterSolver) restrict(x *digit, lo, hi int64) {
	if lo > hi || lo < 0 || hi >= x.extent {
		s.empty = true
		return
	}
	src := &IterSource{Fused: IterSum{Terms: []IterTerm{x.term}, Base: tir.I(int(-lo))}, Extent: hi - lo + 1}
	if t := x.term; lo == 0 && t.Source.Var != nil && t.Extent == t.Source.Extent {
		src = &IterSource{Var: t.Source.Var, Min: t.Source.Min, Extent: hi + 1}
	}
	w := s.variable(x.v.Name, IterTerm{Source: src, Lower: 1, Extent: src.Extent, Scale: 1})
	s.replace(map[*tir.Var]tir.Expr{x.v: tir.Plus(w.v, tir.I(int(lo)))})
}

// tighten shortens a variable that a condition on several ends early: v < n where k·v + … < k·n, and the rest is not
// negative.
func (s *iterSolver) tighten() bool {
	for _, c := range s.where {
		d, ok := s.condition(c)
		if !ok {
			continue
		}
		for _, t := range d.terms {
			x := s.find(t.atom)
			if x == nil {
				continue
			}
			rest := s.a.bounds(d.plus(linear{terms: []term{t}}, -1))
			if rest.lo == minInt {
				continue
			}
			if b := below(t.k, rest.lo).within(interval{0, x.extent - 1}); b != (interval{0, x.extent - 1}) {
				s.restrict(x, b.lo, b.hi)
				return true
			}
		}
	}
	return false
}

// turn turns a variable around that only runs backwards in what is divided.
func (s *iterSolver) turn() bool {
	divided := s.divisions(slices.Concat(s.where, s.values)...)
	for _, x := range s.digits {
		up, down := false, false
		for _, d := range divided {
			k := d.x.find(x.v)
			up, down = up || k > 0, down || k < 0
		}
		if !down || up {
			continue
		}
		t := x.term
		src := &IterSource{Fused: IterSum{Base: tir.I(int(x.extent - 1))}, Extent: x.extent}
		t.Scale = -1
		src.Fused.Terms = []IterTerm{t}
		w := s.variable(x.v.Name, IterTerm{Source: src, Lower: 1, Extent: x.extent, Scale: 1})
		s.replace(map[*tir.Var]tir.Expr{x.v: tir.Minus(tir.I(int(x.extent-1)), w.v)})
		return true
	}
	return false
}

// fuseCondition uses up a condition whose variables are the digits of a number: that number becomes the variable.
func (s *iterSolver) fuseCondition() bool {
	for i, c := range s.where {
		d, ok := s.condition(c)
		if !ok {
			continue
		}
		n, ok := s.number(d, false)
		if !ok {
			continue
		}
		// d is sign·g·S + n.c for the number S
		b := below(n.sign*n.step, n.c).within(interval{0, n.extent - 1})
		if b.empty() {
			s.empty = true
			return true
		}
		s.where = slices.Delete(s.where, i, i+1)
		s.fuse(n, b.lo, b.hi)
		return true
	}
	return false
}

// number is sign·step·S + c, where S counts from 0 to extent-1 through its digits, the first of which moves it most. A
// digit that runs against the others is turned around.
type number struct {
	digits  []*digit
	weights []int64 // of the digits in S
	turned  []bool
	sign    int64
	step, c int64
	extent  int64
}

// number writes l as a number of two digits at least; up asks for a positive sign.
func (s *iterSolver) number(l linear, up bool) (number, bool) {
	if len(l.terms) < 2 || l.over {
		return number{}, false
	}
	terms := slices.Clone(l.terms)
	slices.SortStableFunc(terms, func(p, q term) int { return cmp.Compare(abs(q.k), abs(p.k)) })
	n := number{sign: 1, step: abs(terms[len(terms)-1].k), extent: 1}
	if terms[0].k < 0 && !up {
		n.sign = -1
	}
	c := l
	for i := len(terms) - 1; i >= 0; i-- {
		x, k := s.find(terms[i].atom), terms[i].k
		weight, fits := mul(n.step, n.extent)
		if x == nil || !fits || abs(k) != weight {
			return number{}, false
		}
		turned := (k > 0) != (n.sign > 0)
		if turned { // k·x is k·(extent-1) - k·x'
			c = c.shifted(c.product(k, x.extent-1))
		}
		n.digits = append([]*digit{x}, n.digits...)
		n.weights = append([]int64{n.extent}, n.weights...)
		n.turned = append([]bool{turned}, n.turned...)
		if n.extent, fits = mul(n.extent, x.extent); !fits {
			return number{}, false
		}
	}
	n.c = c.c
	size := 0
	for _, x := range n.digits {
		size += x.term.Source.size()
	}
	return n, !c.over && n.extent <= maxIndex && size <= maxSource
}

// maxSource bounds how often loops stand in a source, so that changing variables back and forth ends.
const maxSource = 128

// again reports whether n is just what was cut into its digits.
func (n *number) again() bool {
	again := true
	for i, x := range n.digits {
		if i > 0 {
			before := n.digits[i-1].term
			again = again && before.Source == x.term.Source && before.Lower == x.term.Lower*x.extent && n.turned[i] == n.turned[0]
		}
	}
	return again
}

// size returns how often loops stand in s, at most a little more than maxSource.
func (s *IterSource) size() int {
	n := 1
	for _, t := range s.Fused.Terms {
		if n += t.Source.size(); n > maxSource {
			break
		}
	}
	return n
}

// fuse makes the number n a variable, which runs from lo to hi.
func (s *iterSolver) fuse(n number, lo, hi int64) {
	src := &IterSource{Extent: hi - lo + 1}
	base := -lo
	for i, x := range n.digits {
		t := x.term
		t.Scale = n.weights[i]
		if n.turned[i] {
			base += t.Scale * (x.extent - 1)
			t.Scale = -t.Scale
		}
		src.Fused.Terms = append(src.Fused.Terms, t)
	}
	src.Fused.Base = tir.I(int(base))
	w := s.variable("fused", IterTerm{Source: src, Lower: 1, Extent: src.Extent, Scale: 1})
	whole := tir.Plus(w.v, tir.I(int(lo)))
	to := map[*tir.Var]tir.Expr{}
	for i, x := range n.digits {
		e := tir.Bin(tir.FloorDiv, whole, tir.I(int(n.weights[i])))
		if i > 0 {
			e = tir.Bin(tir.FloorMod, e, tir.I(int(x.extent)))
		}
		if n.turned[i] {
			e = tir.Minus(tir.I(int(x.extent-1)), e)
		}
		to[x.v] = e
	}
	s.replace(to)
}

// division is x//c or x%%c, of an x that does not wrap around.
type division struct {
	x linear
	b *tir.Binary
	c int64
}

// divisions returns the divisions by constants below some expressions, inner ones first.
func (s *iterSolver) divisions(list ...tir.Expr) (out []division) {
	seen := map[*tir.Binary]bool{}
	var visit func(e tir.Expr)
	visit = func(e tir.Expr) {
		tir.Walk(e, func(n any) bool {
			b, ok := n.(*tir.Binary)
			if !ok || b.Op != tir.FloorDiv && b.Op != tir.FloorMod || seen[b] {
				return true
			}
			seen[b] = true
			visit(b.A)
			if c, ok := tir.AsInt(b.B); ok && c > 1 && b.Type() == tir.Index {
				if x := s.a.lin(b.A); s.a.exact(x) {
					out = append(out, division{x, b, c})
				}
			}
			return false
		})
	}
	for _, e := range list {
		visit(e)
	}
	return out
}

// fuseDividend makes a number that is divided a variable.
func (s *iterSolver) fuseDividend() bool {
	for _, d := range s.divisions(slices.Concat(s.where, s.values)...) {
		if n, ok := s.number(d.x, true); ok && n.step == 1 && n.c%d.c == 0 && !n.again() {
			s.fuse(n, 0, n.extent-1)
			return true
		}
	}
	return false
}

// cuts returns the places at which divisions in list cut x, in order. It reports false without any, and when one is no
// multiple of the one before.
func (s *iterSolver) cuts(x *digit, list []tir.Expr) ([]int64, bool) {
	var out []int64
	for _, d := range s.divisions(list...) {
		if len(d.x.terms) == 1 && d.x.terms[0].atom == tir.Expr(x.v) && d.x.terms[0].k == 1 && d.x.c == 0 {
			out = append(out, d.c)
			continue
		}
		// (x//l)%%c cuts at l·c
		if q, ok := d.b.A.(*tir.Binary); ok && q.Op == tir.FloorDiv && q.A == tir.Expr(x.v) {
			l, ok := tir.AsInt(q.B)
			if at, fits := mul(l, d.c); ok && l > 0 && fits {
				out = append(out, at)
			}
		}
	}
	slices.Sort(out)
	out = slices.Compact(out)
	for len(out) > 0 && out[len(out)-1] >= x.extent {
		out = out[:len(out)-1]
	}
	for i := 1; i < len(out); i++ {
		if out[i]%out[i-1] != 0 {
			return nil, false
		}
	}
	return out, len(out) > 0
}

// cutEvenly cuts a variable into the digits that list uses, where they fill it.
func (s *iterSolver) cutEvenly(list []tir.Expr) bool {
	for _, x := range s.digits {
		if at, ok := s.cuts(x, list); ok && x.extent%at[len(at)-1] == 0 {
			s.cut(x, at)
			return true
		}
	}
	return false
}

// cutUnevenly cuts a variable into digits of which the first is not always followed by all values of the others.
func (s *iterSolver) cutUnevenly() bool {
	if len(s.where) > 0 {
		return false // it could tell the digits apart that are cut here
	}
	for _, x := range s.digits {
		if at, ok := s.cuts(x, s.values); ok {
			last := at[len(at)-1]
			s.m.partial = append(s.m.partial, partial{what: x.term.expr(), points: x.extent, box: ceilDiv(x.extent, last) * last})
			s.cut(x, at)
			return true
		}
	}
	return false
}

// cut makes variables of the digits of x between the places at.
func (s *iterSolver) cut(x *digit, at []int64) {
	var whole tir.Expr = tir.I(0)
	for i := len(at); i >= 0; i-- {
		lower := int64(1)
		if i > 0 {
			lower = at[i-1]
		}
		extent := ceilDiv(x.extent, lower)
		if i < len(at) {
			extent = at[i] / lower
		}
		t := x.term
		t.Lower, t.Extent = t.Lower*lower, extent
		w := s.variable(x.v.Name, t)
		whole = tir.Plus(whole, tir.Times(w.v, tir.I(int(lower))))
	}
	s.replace(map[*tir.Var]tir.Expr{x.v: whole})
}
