package arith

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/texel-ml/texel/diag"
	"github.com/texel-ml/texel/tir"
)

// How says what a proof rests on.
type How uint8

// The ways of a proof.
const (
	Algebra     How = iota // the form of the expressions
	Enumeration            // all points were counted through
)

// String returns the way's name.
func (h How) String() string { return [...]string{"algebra", "enumeration"}[h] }

// maxPoints bounds the points of a domain that is counted through.
const maxPoints = 1 << 16

// Bijective returns nil when it proves that values map d one to one onto the box [0, target[0]) × [0, target[1]) × …, and
// how. Otherwise the error says why: one of kind diag.ErrInvalid why it is none, one of kind diag.ErrUnsupported why that
// cannot be told, which only happens when d has more than 2¹⁶ points or when values depend on more than its variables.
func Bijective(d IterDomain, values []tir.Expr, target []int64) (How, error) {
	return decide(d, values, func(m *IterMap) error { return m.Bijective(target) }, func(c *counting) error { return c.bijective(target) })
}

// Injective is Bijective without a box: it proves that no two points of d have the same values.
func Injective(d IterDomain, values []tir.Expr) (How, error) {
	return decide(d, values, (*IterMap).Injective, (*counting).injective)
}

func decide(d IterDomain, values []tir.Expr, algebra func(*IterMap) error, count func(*counting) error) (How, error) {
	m, err := DetectIterMap(nil, d, values)
	if err == nil {
		err = algebra(m)
	}
	if err == nil || !errors.Is(err, diag.ErrUnsupported) {
		return Algebra, err
	}
	if n, fits := d.points(); !fits || n > maxPoints {
		return Algebra, err
	}
	c := &counting{d: d, values: values}
	return Enumeration, count(c)
}

// Bijective is the package's Bijective for a map that was found already, by algebra alone.
func (m *IterMap) Bijective(target []int64) error {
	if len(target) != len(m.Values) {
		return diag.Invalid(iterStep, "", "wanted an extent for each of %d values, found %d", len(m.Values), len(target))
	}
	err := m.fillsAll(target)
	if len(m.partial) == 0 {
		return err
	}
	if err != nil { // what is wrong in the box may be right in the part of it that the domain is
		return diag.Unsupported(iterStep, "", "%s", err)
	}
	p := m.partial[0]
	return diag.Invalid(iterStep, "", "gap: %s takes %d values; cut into its parts it would fill a box of %d", spell(p.what), p.points, p.box)
}

// fillsAll returns an error unless the digits, taken as independent, fill the box of target.
func (m *IterMap) fillsAll(target []int64) error {
	uses := m.uses()
	if err := m.unused(uses); err != nil {
		return err
	}
	for i := range m.Values {
		if err := m.fills(i, target[i], uses); err != nil {
			return err
		}
	}
	return nil
}

// uses returns, for each digit, the values that it stands in.
func (m *IterMap) uses() map[*tir.Var][]int {
	uses := map[*tir.Var][]int{}
	for i, l := range m.linear {
		for _, t := range l.terms {
			if v, ok := t.atom.(*tir.Var); ok {
				uses[v] = append(uses[v], i)
			}
		}
	}
	return uses
}

// unused returns an error when a digit of several values is in no value.
func (m *IterMap) unused(uses map[*tir.Var][]int) error {
	for _, x := range m.digits {
		if x.extent > 1 && len(uses[x.v]) == 0 {
			return diag.Invalid(iterStep, "", "overlap: %s takes %d values and none of the results depends on it", x.name(), x.extent)
		}
	}
	return nil
}

// step is a digit in a value.
type step struct {
	x *digit
	k int64
}

// steps returns the digits of value i, the largest step first, and what else is in it.
func (m *IterMap) steps(i int) (list []step, base linear) {
	base = constant(m.linear[i].c)
	for _, t := range m.linear[i].terms {
		at := slices.IndexFunc(m.digits, func(x *digit) bool { return t.atom == tir.Expr(x.v) })
		if at < 0 {
			base.terms = append(base.terms, t)
			continue
		}
		list = append(list, step{m.digits[at], t.k})
	}
	slices.SortStableFunc(list, func(p, q step) int { return cmp.Compare(abs(q.k), abs(p.k)) })
	return list, base
}

// name spells value i for an error.
func (m *IterMap) name(i int) string { return fmt.Sprintf("value %d, %s,", i, spell(m.exprs[i])) }

// fills returns an error unless value i takes each of [0, extent) once, by digits that no other value has.
func (m *IterMap) fills(i int, extent int64, uses map[*tir.Var][]int) error {
	list, base := m.steps(i)
	if len(base.terms) > 0 {
		return diag.Unsupported(iterStep, "", "%s depends on %s, which is not in the domain", m.name(i), spell(base.expr()))
	}
	lo, hi := base.c, base.c
	for _, s := range list {
		if in := uses[s.x.v]; len(in) > 1 {
			return diag.Unsupported(iterStep, "", "%s is in values %d and %d", s.x.name(), in[0], in[1])
		}
		reach, fits := mul(s.k, s.x.extent-1)
		ok, ok2 := true, true
		if reach < 0 {
			lo, ok = add(lo, reach)
		} else {
			hi, ok2 = add(hi, reach)
		}
		if !fits || !ok || !ok2 {
			return diag.Unsupported(iterStep, "", "%s leaves the range of int64", m.name(i))
		}
	}
	want := int64(1)
	for n := len(list) - 1; n >= 0; n-- {
		s := list[n]
		switch k := abs(s.k); {
		case k < want:
			return diag.Invalid(iterStep, "", "overlap: %s moves by %d with %s, and what moves it less takes %d values", m.name(i), k, s.x.name(), want)
		case k > want && n == len(list)-1:
			return diag.Invalid(iterStep, "", "gap: %s moves by %d at least, with %s", m.name(i), k, s.x.name())
		case k > want:
			return diag.Invalid(iterStep, "", "gap: %s moves by %d with %s, and what moves it less takes %d values", m.name(i), k, s.x.name(), want)
		}
		var fits bool
		if want, fits = mul(want, s.x.extent); !fits {
			return diag.Unsupported(iterStep, "", "%s leaves the range of int64", m.name(i))
		}
	}
	if lo != 0 || hi != extent-1 {
		return diag.Invalid(iterStep, "", "extent: %s takes %d values from %d to %d, wanted %d from 0 to %d", m.name(i), want, lo, hi, extent, extent-1)
	}
	return nil
}

// Injective is the package's Injective for a map that was found already, by algebra alone: it finds the digits one after
// the other, each from a value in which it moves further than the unknown ones below it.
func (m *IterMap) Injective() error {
	if err := m.unused(m.uses()); err != nil {
		if len(m.partial) > 0 { // the digit may have one value only where the others are what they are
			return diag.Unsupported(iterStep, "", "%s", err)
		}
		return err
	}
	known := map[*digit]bool{}
	for again := true; again; {
		again = false
		for i := range m.Values {
			list, _ := m.steps(i)
			list = slices.DeleteFunc(list, func(s step) bool { return known[s.x] })
			if len(list) > 0 && separable(list) {
				for _, s := range list {
					known[s.x] = true
				}
				again = true
			}
		}
	}
	for _, x := range m.digits {
		if x.extent > 1 && !known[x] {
			return diag.Unsupported(iterStep, "", "%s cannot be told from the values", x.name())
		}
	}
	return nil
}

// separable reports whether the sum of the steps tells each of them.
func separable(list []step) bool {
	reach := int64(0) // of the smaller steps
	for n := len(list) - 1; n >= 0; n-- {
		k := abs(list[n].k)
		if k <= reach {
			return false
		}
		more, fits := mul(k, list[n].x.extent-1)
		sum, fits2 := add(reach, more)
		if reach = sum; !fits || !fits2 {
			return false
		}
	}
	return true
}

// Inverse returns each variable of the domain as an expression of the values, which to names: a map that Bijective proves
// for target, undone.
//
//	(i, j) in 3 × 8, values j//4 and i·4 + j%%4, named y and x → i is x//4, j is y·4 + x%%4
func (m *IterMap) Inverse(target []int64, to []*tir.Var) ([]tir.Expr, error) {
	if err := m.Bijective(target); err != nil {
		return nil, err
	}
	if len(to) != len(m.Values) {
		return nil, diag.Invalid(iterStep, "", "wanted a variable for each of %d values, found %d", len(m.Values), len(to))
	}
	a := New()
	for i, v := range to {
		a.Bind(v, 0, target[i])
	}
	back := map[*tir.Var]tir.Expr{}
	for i := range m.Values {
		list, _ := m.steps(i)
		for n, s := range list {
			e := tir.Bin(tir.FloorDiv, to[i], tir.I(int(abs(s.k))))
			if n > 0 {
				e = tir.Bin(tir.FloorMod, e, tir.I(int(s.x.extent)))
			}
			if s.k < 0 { // counts down from its last value
				e = tir.Minus(tir.I(int(s.x.extent-1)), e)
			}
			back[s.x.v] = e
		}
	}
	for _, x := range m.digits {
		if x.extent == 1 {
			back[x.v] = tir.I(0)
		}
	}
	out := make([]tir.Expr, len(m.loops))
	for i, e := range m.loops {
		out[i] = a.Simplify(tir.Subst(e, back))
	}
	return out, nil
}

// Inverse returns each variable of d as an expression of the values, which to names, when values map d one to one onto
// the box of target; the error says why not, as that of Bijective.
func Inverse(d IterDomain, values []tir.Expr, target []int64, to []*tir.Var) ([]tir.Expr, error) {
	m, err := DetectIterMap(nil, d, values)
	if err != nil {
		return nil, err
	}
	return m.Inverse(target, to)
}
