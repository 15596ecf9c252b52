package transform

import (
	"slices"

	"github.com/texel-ml/texel/diag"
	"github.com/texel-ml/texel/tir"
)

// exchange returns the scope of the barrier that must stand between accesses, "" for none: where one of before and one
// of after touch one element of memory that work-items share, at least one writes, and different work-items of a group
// do it. c is what stands around the place in between; carried, where set, is a loop around it of which after belongs to a
// later iteration.
func (b *barriers) exchange(before, after []*use, c *around, carried *tir.For) tir.Scope {
	scope := tir.Scope("")
	for _, x := range before {
		for _, y := range after {
			private := isPrivate(x.buf)
			if x.buf != y.buf || !x.write && !y.write || private && y.write {
				continue // what each work-item has for itself, it overwrites for itself
			}
			m := b.meeting(x, y, c, carried)
			inItems, inGroups := m.perhaps()
			done := scope == tir.Global || scope != "" && x.buf.Scope == tir.Shared || x.ordered || y.ordered
			if !inItems && !inGroups || done && !inGroups && !private {
				continue
			}
			items, groups, sure := m.meet(x, y)
			switch {
			case groups && x.buf.Scope != tir.Shared:
				b.fail(diag.Unsupported("insert-barriers", x.buf.Name, "values of the buffer pass between work-groups of one kernel"))
			case groups && x.write && !y.write:
				b.fail(diag.Unsupported("insert-barriers", x.buf.Name, "values of the shared buffer pass between work-groups of one kernel; each has its own"))
			case items && private && !sure:
				b.fail(diag.Unsupported("insert-barriers", x.buf.Name, "values of the %s buffer may pass between work-items, which each have their own; it cannot be told which elements they use", x.buf.Scope))
			case items && private: // whether there is a barrier or not
				b.fail(diag.Unsupported("insert-barriers", x.buf.Name, "values of the %s buffer pass between work-items, which each have their own; wanted scope shared",
					x.buf.Scope))
			case !items || x.ordered || y.ordered:
			case x.buf.Scope == tir.Texture:
				b.fail(diag.Unsupported("insert-barriers", x.buf.Name, "different work-items write the same texel of the image, in an order that matters; wanted one writer"))
			case x.buf.Scope == tir.Shared:
				scope = stronger(scope, tir.Shared)
			default:
				scope = tir.Global
			}
		}
	}
	return scope
}

// isPrivate reports whether each work-item has a copy of a buffer.
func isPrivate(b *tir.Buffer) bool { return b.Scope == tir.Local || b.Scope == tir.Scratch }

// The relation of the iterations of one axis that make two accesses.
type relation uint8

const (
	sameIteration relation = iota // of one execution of a loop: others do not meet
	anyIterations                 // of two executions
	forItself                     // the first is made by each work-item along the axis for itself: whichever makes the second finds it
)

// maxPoints bounds the points that are gone through for two accesses; beyond, they are taken to meet.
const maxPoints = 1 << 20

// meeting is of two accesses: it goes through their points.
type meeting struct {
	b       *barriers
	c       *around
	carried *tir.For
	rel     [tir.GridAxes]relation
	guards  bool // whether points where a guard does not hold are left out
	points  int
}

// meeting relates the work-items that make two accesses.
func (b *barriers) meeting(x, y *use, c *around, carried *tir.For) *meeting {
	m := &meeting{b: b, c: c, carried: carried}
	for axis, n := range b.extents {
		switch {
		case n == 1 || c.bound[axis] != nil && x.bound[axis] == c.bound[axis] && y.bound[axis] == c.bound[axis]:
		case isPrivate(x.buf) && x.bound[axis] == nil:
			m.rel[axis] = forItself
		default:
			m.rel[axis] = anyIterations
		}
	}
	return m
}

// perhaps reports whether different work-items of one group, and whether work-items of different groups, could make the two
// accesses.
func (m *meeting) perhaps() (items, groups bool) {
	for axis, r := range m.rel {
		if r == anyIterations {
			items = items || axis >= tir.ThreadAxis
			groups = groups || axis < tir.ThreadAxis
		}
	}
	return items, groups
}

// meet reports whether different work-items of one group, and whether work-items of different groups, touch one element by x
// and then y, and whether that is sure.
func (m *meeting) meet(x, y *use) (items, groups, sure bool) {
	items, groups, sure = m.find(x, y, false) // guards only take points away
	if !items && !groups || len(x.guards)+len(y.guards) == 0 {
		return items, groups, sure
	}
	return m.find(x, y, true)
}

// find compares two accesses. What cannot be told, or would take too long, is taken to meet, and is not sure.
func (m *meeting) find(x, y *use, guards bool) (items, groups, sure bool) {
	m.guards, m.points = guards, 0
	dims := len(x.indices)
	if len(y.indices) != dims {
		items, groups = m.perhaps()
		return items, groups, false
	}
	x, y, box := m.settle(x, y)
	var uniform, rest []int // axes of the buffer whose index depends on the loops around both alone, and others
	for d := range dims {
		if m.uniform(x.indices[d]) && m.uniform(y.indices[d]) {
			uniform = append(uniform, d)
		} else {
			rest = append(rest, d)
		}
	}
	if !m.canAgree(x, y, uniform) {
		return false, false, true
	}
	items, groups, ok := m.compare(x, y, rest, picked(box, rest))
	if !ok {
		items, groups = m.perhaps()
	}
	return items, groups, ok
}

// conditions are the guards that count.
func (m *meeting) conditions(u *use) []tir.Expr {
	if m.guards {
		return u.guards
	}
	return nil
}

// decides reports whether it depends on v how often an access is made: by its guards, or the bounds of the loops around.
func (m *meeting) decides(v *tir.Var, u *use) bool {
	return slices.ContainsFunc(m.conditions(u), func(g tir.Expr) bool { return tir.Uses(g, v) }) ||
		slices.ContainsFunc(u.loops, func(f *tir.For) bool { return tir.Uses(f.Min, v) || tir.Uses(f.Extent, v) })
}

// span is what the indices of one axis of a buffer may be.
type span struct{ from, n int64 }

// settle replaces variables around both accesses that shift both alike by their first value. The box around the elements that
// the buffer has grows by that shift.
func (m *meeting) settle(x, y *use) (*use, *use, []span) {
	to := map[*tir.Var]tir.Expr{}
	box := make([]span, len(x.indices))
	for i, n := range x.buf.Shape {
		box[i].n = int64(n)
	}
	try := func(f *tir.For) {
		n, known := tir.AsInt(f.Extent)
		if !known || m.decides(f.Var, x) || m.decides(f.Var, y) {
			return
		}
		shifts := make([]int64, len(x.indices))
		for i := range x.indices {
			kx, restX, okX := m.b.a.Linear(x.indices[i])
			ky, restY, okY := m.b.a.Linear(y.indices[i])
			if !okX || !okY || kx[f.Var] != ky[f.Var] || tir.Uses(restX, f.Var) || tir.Uses(restY, f.Var) {
				return
			}
			shifts[i] = kx[f.Var] * (n - 1)
		}
		to[f.Var] = f.Min
		for i, k := range shifts {
			box[i].from -= max(k, 0)
			box[i].n += max(k, -k)
		}
	}
	for axis, f := range m.c.bound {
		if f != nil && m.rel[axis] == sameIteration {
			try(f)
		}
	}
	for _, f := range m.c.loops {
		if f == m.carried {
			break // it and the loops inside have other values for y
		}
		try(f)
	}
	if len(to) == 0 {
		return x, y, box
	}
	put := func(u *use) *use {
		c := *u
		c.indices = make([]tir.Expr, len(u.indices))
		for i, e := range u.indices {
			c.indices[i] = tir.Subst(e, to)
		}
		return &c
	}
	return put(x), put(y), box
}

// uniform reports whether an index depends on nothing but serial loops around the place in between.
func (m *meeting) uniform(e tir.Expr) bool {
	ok := true
	tir.Walk(e, func(n any) bool {
		switch n := n.(type) {
		case *tir.Var:
			ok = ok && slices.ContainsFunc(m.c.loops, func(f *tir.For) bool { return f.Var == n })
		case *tir.Load:
			ok = false
		}
		return ok
	})
	return ok
}

// common returns the loops around both accesses, serial ones and those of same axes, on whose variables the given indices
// or the guards depend: of one value for both. With a carried loop only those outside of it count.
func (m *meeting) common(x, y *use, dims []int) []*tir.For {
	var list []*tir.For
	uses := func(v *tir.Var) bool {
		for _, u := range []*use{x, y} {
			for _, d := range dims {
				if tir.Uses(u.indices[d], v) {
					return true
				}
			}
			if m.decides(v, u) {
				return true
			}
		}
		return false
	}
	for axis, f := range m.c.bound {
		if f != nil && m.rel[axis] == sameIteration && uses(f.Var) {
			list = append(list, f)
		}
	}
	for _, f := range m.c.loops {
		if f == m.carried {
			break
		}
		if uses(f.Var) {
			list = append(list, f)
		}
	}
	return list
}

// canAgree reports whether the indices of the given axes, which depend on serial loops around alone, can be equal.
func (m *meeting) canAgree(x, y *use, dims []int) bool {
	if len(dims) == 0 {
		return true
	}
	for _, d := range dims {
		if m.apart(x.indices[d], y.indices[d]) {
			return false
		}
	}
	var loops []*tir.For
	for _, f := range m.c.loops {
		used := f == m.carried
		for _, d := range dims {
			used = used || tir.Uses(x.indices[d], f.Var) || tir.Uses(y.indices[d], f.Var)
		}
		if used {
			loops = append(loops, f)
		}
	}
	at := func(u *use) (e *env, n *nest, values []func() int64, ok bool) {
		e = newEnv()
		if n, ok = e.nest(loops); !ok {
			return nil, nil, nil, false
		}
		values, ok = e.points(picked(u.indices, dims))
		return e, n, values, ok
	}
	e, here, valuesX, okX := at(x)
	there, after, valuesY, okY := at(y)
	if !okX || !okY {
		return true
	}
	points, agree := 0, false
	compare := func() bool { // false ends the search
		points++
		agree = true
		for i := range dims {
			agree = agree && valuesX[i]() == valuesY[i]()
		}
		return !agree && points < maxPoints/64
	}
	carried := slices.Index(loops, m.carried)
	ended := here.sweep(func() bool {
		copy(there.vals, e.vals) // the same loops have the same places
		if carried < 0 {
			return compare()
		}
		return after.later(carried, compare)
	})
	return agree || !ended
}

// picked returns the members of list at the given places.
func picked[T any](list []T, places []int) []T {
	out := make([]T, len(places))
	for i, d := range places {
		out[i] = list[d]
	}
	return out
}

// apart reports whether an index is k·v + rest of the same k and rest for both, where v is of different iterations: it
// is then never equal.
func (m *meeting) apart(x, y tir.Expr) bool {
	if m.carried == nil {
		return false
	}
	v := m.carried.Var
	kx, restX, okX := m.b.a.Linear(x)
	ky, restY, okY := m.b.a.Linear(y)
	_, constant := tir.AsInt(restX)
	return okX && okY && kx[v] != 0 && kx[v] == ky[v] && len(kx) == 1 && len(ky) == 1 && constant && tir.Equal(restX, restY)
}

// owner is who touches an element: the work-item in its group, along the axes that are not the same, and the group.
type owner struct {
	item, group           int64
	round                 int64 // of the loops around both; of an earlier one it counts for nothing
	manyItems, manyGroups bool  // others of one group too; of other groups
}

// owners holds who touched each element, in a list, or where that would be long by number.
type owners struct {
	list []owner
	more map[int64]*owner
}

const maxOwners = 1 << 20

func newOwners(elems int64) *owners {
	if elems <= maxOwners {
		return &owners{list: make([]owner, elems)}
	}
	return &owners{more: map[int64]*owner{}}
}

// at returns what is known of an element.
func (o *owners) at(element int64) *owner {
	if o.more == nil {
		return &o.list[element]
	}
	w := o.more[element]
	if w == nil {
		w = &owner{}
		o.more[element] = w
	}
	return w
}

// compare goes through the points of x and then those of y, for each value of the loops around both. Elements outside of the
// box are none of the buffer.
func (m *meeting) compare(x, y *use, dims []int, box []span) (items, groups, ok bool) {
	elems := int64(1)
	for _, s := range box {
		elems *= s.n
	}
	common := m.common(x, y, dims)
	first, okX := m.visit(x, dims, box, common)
	second, okY := m.visit(y, dims, box, common)
	if !okX || !okY {
		return false, false, false
	}
	by, round := newOwners(elems), int64(0)
	ok = first.common.sweep(func() bool {
		round++
		done := first.each(func(element int64, who owner) bool {
			w := by.at(element)
			if w.round != round {
				*w = who
				w.round = round
			}
			w.manyItems = w.manyItems || w.item != who.item && w.group == who.group
			w.manyGroups = w.manyGroups || w.group != who.group
			return true
		})
		copy(second.e.vals, first.e.vals[:first.shared])
		return done && second.each(func(element int64, who owner) bool {
			if w := by.at(element); w.round == round {
				items = items || w.manyItems || w.manyGroups || w.group == who.group && w.item != who.item
				groups = groups || w.manyGroups || w.group != who.group
			}
			return !(items && groups || items && !m.across())
		})
	})
	return items, groups, ok || items && (groups || !m.across())
}

// across reports whether work-items of different groups could meet.
func (m *meeting) across() bool {
	_, groups := m.perhaps()
	return groups
}

// visitor goes through the points of one access.
type visitor struct {
	m       *meeting
	u       *use
	e       *env
	common  *nest
	shared  int // how many variables the common loops and those of the same axes have: they come first
	inner   *nest
	guards  []func() int64
	indices []func() int64
	box     []span
	axes    [tir.GridAxes]struct {
		slot  int // of the loop's variable, -1 for none
		lo    func() int64
		count int64
	}
}

// visit compiles an access. It reports false when an index depends on something that is not known here.
func (m *meeting) visit(u *use, dims []int, box []span, common []*tir.For) (*visitor, bool) {
	v := &visitor{m: m, u: u, e: newEnv(), box: box}
	var ok bool
	if v.common, ok = v.e.nest(common); !ok {
		return nil, false
	}
	v.shared = len(v.e.vals)
	for axis := range v.axes {
		a, loop := &v.axes[axis], u.bound[axis]
		a.slot, a.count = -1, 1
		switch {
		case m.rel[axis] == sameIteration: // among the common loops, if anything depends on it
		case loop != nil:
			if a.lo, ok = v.e.compile(loop.Min); !ok {
				return nil, false
			}
			a.slot = v.e.slot(loop.Var)
			a.count, _ = tir.AsInt(loop.Extent)
		case !u.first[axis] && m.rel[axis] != forItself:
			a.count = m.b.extents[axis]
		}
	}
	inner := u.loops[min(len(m.c.loops), len(u.loops)):]
	if m.carried != nil { // its iterations differ, and those of the loops inside
		inner = u.loops[slices.Index(u.loops, m.carried):]
	}
	if v.inner, ok = v.e.nest(inner); !ok {
		return nil, false
	}
	for _, g := range m.conditions(u) {
		if f, known := v.e.compile(g); known { // what is not known takes no point away
			v.guards = append(v.guards, f)
		}
	}
	v.indices, ok = v.e.points(picked(u.indices, dims))
	return v, ok
}

// each calls f for each element that the access touches and each work-item that does, until f returns false. It reports
// false then too, and when it takes too long.
func (v *visitor) each(f func(element int64, who owner) bool) bool {
	return v.along(0, owner{}, func(who owner) bool {
		return v.inner.sweep(func() bool {
			if v.m.points++; v.m.points > maxPoints || v.e.bad {
				return false
			}
			for _, g := range v.guards {
				if g() == 0 {
					return true
				}
			}
			element := int64(0)
			for i, index := range v.indices {
				s := v.box[i]
				at := index() - s.from
				if at < 0 || at >= s.n {
					return true
				}
				element = element*s.n + at
			}
			return f(element, who)
		})
	})
}

// along calls f for each work-item that makes the access, with the variables of its bound loops set. Along an axis that no
// loop around is bound to, the first does what it stores for all, and all do the rest.
func (v *visitor) along(axis int, who owner, f func(owner) bool) bool {
	if axis == tir.GridAxes {
		return f(who)
	}
	a := &v.axes[axis]
	if v.m.rel[axis] == sameIteration {
		return v.along(axis+1, who, f)
	}
	lo := int64(0)
	if a.lo != nil {
		lo = a.lo()
	}
	for i := range a.count {
		next := who
		switch {
		case v.m.rel[axis] == forItself:
		case axis < tir.ThreadAxis:
			next.group = next.group*v.m.b.extents[axis] + i
		default:
			next.item = next.item*v.m.b.extents[axis] + i
		}
		if a.slot >= 0 {
			v.e.vals[a.slot] = lo + i
		}
		if !v.along(axis+1, next, f) {
			return false
		}
	}
	return true
}
