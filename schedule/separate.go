package schedule

import (
	"slices"

	"github.com/texel-ml/texel/tir"
	"github.com/texel-ml/texel/tir/arith"
)

// sweep is a loop of an index: it steps by k, extent times.
type sweep struct{ k, extent int64 }

// gapless reports whether steps and a run of elements at each place take every value between the first and the last:
// sorted by their size, no step jumps over what the smaller ones reach.
func gapless(steps []sweep, run int64) bool {
	slices.SortFunc(steps, func(x, y sweep) int { return int(x.k - y.k) })
	for _, s := range steps {
		if s.extent > 1 && s.k > run {
			return false
		}
		run += s.k * max(0, s.extent-1)
	}
	return true
}

// touch is a region that is touched in each iteration of some loops: its ranges use the variables of those loops and of
// the loops inside.
type touch struct {
	ranges []tir.Range
	inside []*tir.For
}

// apart reports whether what x touches in one iteration of loops and what y touches in another one certainly have no
// element in common. Where later is set, only iterations of x after that of y count. The analyzer knows all loops.
//
// Two iterations differ first in some loop: that loop's variable has other values, the loops outside have the same, and
// nothing is known of the loops inside. On some axis, the distance that the variable makes must exceed what the loops
// inside sweep.
func apart(a *arith.Analyzer, loops []*tir.For, x, y touch, later bool) bool {
	leave := a.Scope()
	defer leave()
	loops, x, y = joined(a, loops, x, y, later)
	loops, x, y = digits(a, loops, x, y, false)
	for k := range loops {
		if n, ok := tir.AsInt(loops[k].Extent); ok && n <= 1 {
			continue
		}
		bx, okx := sweptBox(a, x, loops[k+1:])
		by, oky := sweptBox(a, y, loops[k+1:])
		if !okx || !oky || !slices.ContainsFunc(axes(bx), func(d int) bool { return distant(a, loops[k].Var, bx[d], by[d], later) }) {
			return false
		}
	}
	return true
}

func axes(box []tir.Range) []int {
	out := make([]int, len(box))
	for i := range out {
		out[i] = i
	}
	return out
}

// sweptBox is what t touches while the given loops and those inside run.
func sweptBox(a *arith.Analyzer, t touch, loops []*tir.For) ([]tir.Range, bool) {
	over := rangesOf(append(slices.Clone(loops), t.inside...))
	out := make([]tir.Range, len(t.ranges))
	for i, g := range t.ranges {
		var ok bool
		if out[i], ok = swept(a, g, over); !ok {
			return nil, false
		}
	}
	return out, true
}

// rangesOf are the ranges of the variables of loops.
func rangesOf(loops []*tir.For) map[*tir.Var]tir.Range {
	over := map[*tir.Var]tir.Range{}
	for _, l := range loops {
		over[l.Var] = tir.Range{Min: l.Min, Extent: l.Extent}
	}
	return over
}

// swept is the range around what g is while variables run over their ranges. It reports false where that is not known.
func swept(a *arith.Analyzer, g tir.Range, over map[*tir.Var]tir.Range) (tir.Range, bool) {
	_, extent, ok := a.Bounds(g.Extent)
	if !ok || tir.ReadsMemory(g.Min) {
		return tir.Range{}, false
	}
	box, ok := a.Touched([]tir.Expr{g.Min}, over)
	if !ok {
		return tir.Range{}, false
	}
	n, _ := tir.AsInt(box[0].Extent)
	return tir.Range{Min: box[0].Min, Extent: tir.I(int(n + extent - 1))}, true
}

// distant reports whether x at one value of v and y at another are apart on one axis.
func distant(a *arith.Analyzer, v *tir.Var, x, y tir.Range, later bool) bool {
	cx, restX, okx := a.Linear(x.Min)
	cy, restY, oky := a.Linear(y.Min)
	k := cx[v]
	if !okx || !oky || cy[v] != k || tir.Uses(restX, v) || tir.Uses(restY, v) {
		return false
	}
	lo, hi, ok := a.Bounds(a.Simplify(tir.Minus(x.Min, y.Min))) // v is gone
	if !ok {
		return false
	}
	nx, _ := tir.AsInt(x.Extent)
	ny, _ := tir.AsInt(y.Extent)
	if k == 0 { // for all values of v
		return lo >= ny || -hi >= nx
	}
	if later { // x is behind y's end, or ends before y, by at least one step
		return k > 0 && k+lo >= ny || k < 0 && -k-hi >= nx
	}
	k = max(k, -k)
	return k+lo >= ny && k-hi >= nx
}

// joined replaces loops whose sum is divided, as the parts of a split of fused loops are, by one loop of that sum.
func joined(a *arith.Analyzer, loops []*tir.For, x, y touch, later bool) ([]*tir.For, touch, touch) {
	for range 8 { // each time some loops become one
		parts := dividedSum(a, x, y)
		at := slices.IndexFunc(loops, func(l *tir.For) bool { return slices.Contains(parts, l.Var) })
		if at < 0 {
			break
		}
		if later && !slices.Equal(parts, order(parts, loops, x)) {
			break
		}
		f := &tir.For{Var: tir.NewVar("sum"), Min: tir.I(0)}
		to, units := map[*tir.Var]tir.Expr{}, map[*tir.Var]int64{}
		var sum tir.Expr = tir.I(0)
		unit := int64(1)
		for i := len(parts) - 1; i >= 0; i-- {
			_, hi, _ := a.Bounds(parts[i])
			units[parts[i]] = unit
			sum = tir.Plus(tir.Times(parts[i], tir.I(int(unit))), sum)
			to[parts[i]] = tir.Bin(tir.FloorDiv, f.Var, tir.I(int(unit)))
			if i > 0 {
				to[parts[i]] = tir.Bin(tir.FloorMod, to[parts[i]], tir.I(int(hi+1)))
			}
			unit *= hi + 1
		}
		f.Extent = tir.I(int(unit))
		a.BindLoop(f)
		whole := &sumOf{a: a, sum: sum, units: units, f: f.Var}
		isPart := func(l *tir.For) bool { return slices.Contains(parts, l.Var) }
		loops = slices.Concat(loops[:at], []*tir.For{f}, slices.DeleteFunc(slices.Clone(loops[at:]), isPart))
		for _, t := range []*touch{&x, &y} {
			t.ranges = substRanges(a, whole.in(t.ranges), to)
			t.inside = slices.DeleteFunc(slices.Clone(t.inside), isPart)
		}
	}
	return loops, x, y
}

// sumOf is a sum of loops that stands for one loop.
type sumOf struct {
	a     *arith.Analyzer
	sum   tir.Expr
	units map[*tir.Var]int64
	by    []int64 // what it may have been divided by before
	f     *tir.Var
}

// in writes what is a quotient of the sum, or a remainder of one, as that of f. The simplifier has split them: of
// a·32 + b, the quotient by 4 is a·8 + b // 4.
func (s *sumOf) in(list []tir.Range) []tir.Range {
	out := make([]tir.Range, len(list))
	for i, g := range list {
		e := s.a.Simplify(g.Min)
		s.by = []int64{1}
		tir.Walk(e, func(n any) bool {
			if b, ok := n.(*tir.Binary); ok && b.Op == tir.FloorDiv {
				if v, isVar := b.A.(*tir.Var); isVar && s.units[v] > 0 {
					if c, known := tir.AsInt(b.B); known && c > 0 {
						s.by = append(s.by, c*s.units[v])
					}
				}
			}
			return true
		})
		for _, u := range s.units {
			s.by = append(s.by, u)
		}
		slices.Sort(s.by)
		out[i] = tir.Range{Min: s.expr(e), Extent: g.Extent}
	}
	return out
}

func (s *sumOf) expr(e tir.Expr) tir.Expr {
	b, ok := e.(*tir.Binary)
	if !ok || !tir.UsesAny(e, s.units) {
		return e
	}
	c, known := tir.AsInt(b.B)
	for _, d := range s.by {
		whole, f := tir.Bin(tir.FloorDiv, s.sum, tir.I(int(d))), tir.Bin(tir.FloorDiv, s.f, tir.I(int(d)))
		if known && c > 0 && (b.Op == tir.FloorDiv || b.Op == tir.FloorMod) {
			whole, f = tir.Bin(b.Op, whole, b.B), tir.Bin(b.Op, f, b.B)
		}
		if tir.Equal(s.a.Simplify(whole), e) {
			return f
		}
	}
	return tir.Bin(b.Op, s.expr(b.A), s.expr(b.B))
}

// order returns the variables as their loops stand: those that are fixed first, then those of loops, then those inside.
func order(vars []*tir.Var, loops []*tir.For, t touch) []*tir.Var {
	place := func(v *tir.Var) int {
		return slices.IndexFunc(append(slices.Clone(loops), t.inside...), func(l *tir.For) bool { return l.Var == v })
	}
	out := slices.Clone(vars)
	slices.SortStableFunc(out, func(v, w *tir.Var) int { return place(v) - place(w) })
	return out
}

// dividedSum returns the variables of a sum that is divided by a number and takes each value once as they run from 0:
// the one with the largest steps first. nil when there is none.
func dividedSum(a *arith.Analyzer, list ...touch) []*tir.Var {
	var found []*tir.Var
	for _, t := range list {
		for _, g := range t.ranges {
			tir.Walk(a.Simplify(g.Min), func(n any) bool {
				b, ok := n.(*tir.Binary)
				if !ok || b.Op != tir.FloorDiv && b.Op != tir.FloorMod || found != nil {
					return found == nil
				}
				coeffs, rest, ok := a.Linear(b.A)
				if !ok || len(coeffs) < 2 || !tir.IsConst(rest, 0) {
					return true
				}
				var vars []*tir.Var
				for v := range coeffs {
					vars = append(vars, v)
				}
				slices.SortFunc(vars, func(v, w *tir.Var) int { return int(coeffs[w] - coeffs[v]) })
				unit := int64(1)
				for i := len(vars) - 1; i >= 0; i-- {
					lo, hi, ok := a.Bounds(vars[i])
					if !ok || lo != 0 || coeffs[vars[i]] != unit || hi >= maxIterations/unit {
						return true
					}
					unit *= hi + 1
				}
				found = vars
				return false
			})
		}
	}
	return found
}

// digits replaces each loop whose variable is divided by constants, as fused loops' are, by one loop for each digit. The
// digits may count further than the loop does, unless exact is set.
func digits(a *arith.Analyzer, loops []*tir.For, x, y touch, exact bool) ([]*tir.For, touch, touch) {
	var out []*tir.For
	replace := func(l *tir.For) []*tir.For {
		n, ok := tir.AsInt(l.Extent)
		if !ok || !tir.IsConst(l.Min, 0) {
			return []*tir.For{l}
		}
		divisors := divisorsOf(a, l.Var, x, y)
		if len(divisors) == 0 {
			return []*tir.For{l}
		}
		var parts []*tir.For
		var sum tir.Expr = tir.I(0)
		top, last := n, int64(1)
		for _, d := range divisors {
			if d%last != 0 || d >= top {
				return []*tir.For{l}
			}
			last = d
		}
		if exact && n%last != 0 {
			return []*tir.For{l}
		}
		last = 1
		add := func(name string, unit, extent int64) {
			part := &tir.For{Var: tir.NewVar(name), Min: tir.I(0), Extent: tir.I(int(extent))}
			parts = append([]*tir.For{part}, parts...)
			sum = tir.Plus(tir.Times(part.Var, tir.I(int(unit))), sum)
		}
		for _, d := range divisors {
			add(l.Var.Name, last, d/last)
			last = d
		}
		add(l.Var.Name, last, (n+last-1)/last)
		for _, p := range parts {
			a.BindLoop(p)
		}
		to := map[*tir.Var]tir.Expr{l.Var: sum}
		x.ranges, y.ranges = substRanges(a, x.ranges, to), substRanges(a, y.ranges, to)
		return parts
	}
	for _, l := range loops {
		out = append(out, replace(l)...)
	}
	return out, x, y
}

func substRanges(a *arith.Analyzer, list []tir.Range, to map[*tir.Var]tir.Expr) []tir.Range {
	out := make([]tir.Range, len(list))
	for i, g := range list {
		out[i] = tir.Range{Min: a.Simplify(tir.Subst(g.Min, to)), Extent: g.Extent}
	}
	return out
}

// divisorsOf returns the numbers that v alone is divided by, ascending.
func divisorsOf(a *arith.Analyzer, v *tir.Var, list ...touch) []int64 {
	var out []int64
	var unit func(e tir.Expr) int64 // e is v // unit, or 0
	unit = func(e tir.Expr) int64 {
		if e == tir.Expr(v) {
			return 1
		}
		if b, ok := e.(*tir.Binary); ok && b.Op == tir.FloorDiv {
			if c, known := tir.AsInt(b.B); known && c > 0 {
				return c * unit(b.A)
			}
		}
		return 0
	}
	for _, t := range list {
		for _, g := range t.ranges {
			tir.Walk(a.Simplify(g.Min), func(n any) bool {
				b, ok := n.(*tir.Binary)
				if !ok || b.Op != tir.FloorDiv && b.Op != tir.FloorMod {
					return true
				}
				c, known := tir.AsInt(b.B)
				if u := unit(b.A); known && c > 0 && u > 0 && !slices.Contains(out, c*u) {
					out = append(out, c*u)
				}
				return true
			})
		}
	}
	slices.Sort(out)
	return out
}
