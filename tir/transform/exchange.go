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
			if x.buf != y.buf || !x.write && !y.write || scope == tir.Global || scope != "" && x.buf.Scope == tir.Shared {
				continue
			}
			private := isPrivate(x.buf)
			if private && (y.write || carried != nil) {
				continue // each work-item overwrites its own; what it left, it finds again
			}
			items, groups, sure := b.meet(x, y, c, carried)
			switch {
			case groups && x.buf.Scope != tir.Shared:
				b.fail(diag.Unsupported("insert-barriers", x.buf.Name, "values of the buffer pass between work-groups of one kernel"))
			case groups && x.write && !y.write:
				b.fail(diag.Unsupported("insert-barriers", x.buf.Name, "values of the shared buffer pass between work-groups of one kernel; each has its own"))
			case private && !sure:
			case items && private:
				b.fail(diag.Unsupported("insert-barriers", x.buf.Name, "values of the %s buffer pass between work-items, which each have their own; wanted scope shared",
					x.buf.Scope))
			case items && x.buf.Scope == tir.Shared:
				scope = tir.Shared
			case items:
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
)

// maxPoints bounds the points that are gone through for two accesses; beyond, they are taken to meet.
const maxPoints = 1 << 20

// meet reports whether different work-items of one group, and whether work-items of different groups, touch one element
// by x and then y, and whether that is sure.
func (b *barriers) meet(x, y *use, c *around, carried *tir.For) (items, groups, sure bool) {
	var rel [gridAxes]relation
	free, private := false, isPrivate(x.buf)
	for axis, n := range b.extents {
		if n > 1 && (c.bound[axis] == nil || x.bound[axis] != c.bound[axis] || y.bound[axis] != c.bound[axis]) {
			if private && (x.bound[axis] == nil || y.bound[axis] == nil) {
				continue // each work-item does it for itself
			}
			rel[axis], free = anyIterations, true
		}
	}
	if !free {
		return false, false, true
	}
	m := &meeting{b: b, c: c, carried: carried, rel: rel}
	items, groups, sure = m.find(x, y, false) // guards only take points away
	if !items && !groups || len(x.guards)+len(y.guards) == 0 {
		return items, groups, sure
	}
	return m.find(x, y, true)
}

// meeting goes through the points of two accesses.
type meeting struct {
	b       *barriers
	c       *around
	carried *tir.For
	rel     [gridAxes]relation
	guards  bool // whether points where a guard does not hold are left out
	points  int
}

// find compares two accesses. What cannot be told, or would take too long, is taken to meet, and is not sure.
func (m *meeting) find(x, y *use, guards bool) (items, groups, sure bool) {
	m.guards, m.points = guards, 0
	dims := len(x.indices)
	if len(y.indices) != dims {
		items, groups = m.perhaps()
		return items, groups, false
	}
	x, y = m.settle(x, y)
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
	common := m.common(x, y, rest)
	by, ok := m.owners(x, rest, common)
	ok = ok && m.each(y, rest, common, func(at key, who owner) bool {
		if own, used := by[at]; used {
			items = items || own.manyItems || own.manyGroups || own.group == who.group && own.item != who.item
			groups = groups || own.manyGroups || own.group != who.group
		}
		return !(items && groups)
	})
	if !ok {
		items, groups = m.perhaps()
	}
	return items, groups, ok
}

// perhaps is the answer where nothing is known.
func (m *meeting) perhaps() (items, groups bool) {
	for axis, r := range m.rel {
		if r == anyIterations {
			items = items || axis >= threadAxis
			groups = groups || axis < threadAxis
		}
	}
	return items, groups
}

// conditions are the guards that count.
func (m *meeting) conditions(u *use) []tir.Expr {
	if m.guards {
		return u.guards
	}
	return nil
}

// settle replaces variables around both accesses that shift both alike by their first value.
func (m *meeting) settle(x, y *use) (*use, *use) {
	to := map[*tir.Var]tir.Expr{}
	try := func(v *tir.Var, first tir.Expr) {
		if v == nil {
			return
		}
		for i := range x.indices {
			kx, restX, okX := m.b.a.Linear(x.indices[i])
			ky, restY, okY := m.b.a.Linear(y.indices[i])
			if !okX || !okY || kx[v] != ky[v] || tir.Uses(restX, v) || tir.Uses(restY, v) {
				return
			}
		}
		for _, g := range append(slices.Clone(m.conditions(x)), m.conditions(y)...) {
			if tir.Uses(g, v) {
				return
			}
		}
		for _, f := range append(slices.Clone(x.loops), y.loops...) {
			if tir.Uses(f.Min, v) || tir.Uses(f.Extent, v) {
				return
			}
		}
		to[v] = first
	}
	for axis, f := range m.c.bound {
		if f != nil && m.rel[axis] == sameIteration {
			try(f.Var, f.Min)
		}
	}
	for _, f := range m.c.loops {
		if f == m.carried {
			break // it and the loops inside have other values for y
		}
		try(f.Var, f.Min)
	}
	if len(to) == 0 {
		return x, y
	}
	put := func(u *use) *use {
		c := *u
		c.indices = make([]tir.Expr, len(u.indices))
		for i, e := range u.indices {
			c.indices[i] = tir.Subst(e, to)
		}
		return &c
	}
	return put(x), put(y)
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
			for _, g := range m.conditions(u) {
				if tir.Uses(g, v) {
					return true
				}
			}
			for _, f := range u.loops {
				if tir.Uses(f.Min, v) || tir.Uses(f.Extent, v) {
					return true
				}
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
	points, agree := 0, false
	compare := func(at, later *env) bool { // false ends the search
		points++
		for _, d := range dims {
			here, ok := at.value(x.indices[d])
			there, known := later.value(y.indices[d])
			if !ok || !known || points > maxPoints/64 {
				agree = true // as far as is known
				return false
			}
			if here != there {
				return true
			}
		}
		agree = true
		return false
	}
	e := &env{vars: map[*tir.Var]int64{}}
	ended := e.sweep(loops, func() bool {
		if m.carried == nil {
			return compare(e, e)
		}
		return e.later(m.carried, loops, func(later *env) bool { return compare(e, later) })
	})
	return agree || !ended
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

// key is an element, the values of the common loops and the iterations of same axes, as numbers.
type key struct{ element, common int64 }

// owner is who touches: the work-item in its group, along the axes that are not the same, and the group.
type owner struct {
	item, group           int64
	manyItems, manyGroups bool // others of one group too; of other groups
}

// owners returns who touches each element by u.
func (m *meeting) owners(u *use, dims []int, common []*tir.For) (map[key]owner, bool) {
	by := map[key]owner{}
	ok := m.each(u, dims, common, func(at key, who owner) bool {
		if old, used := by[at]; used {
			old.manyItems = old.manyItems || old.item != who.item && old.group == who.group
			old.manyGroups = old.manyGroups || old.group != who.group
			who = old
		}
		by[at] = who
		return true
	})
	return by, ok
}

// each calls f for each element that u touches and each work-item that does. It reports false when that cannot be told, or
// takes too long; f may end it by returning false, which is no failure.
func (m *meeting) each(u *use, dims []int, common []*tir.For, f func(key, owner) bool) bool {
	strides := make([]int64, len(dims))
	n := int64(1)
	for i := len(dims) - 1; i >= 0; i-- {
		strides[i] = n
		n *= int64(u.buf.Shape[dims[i]])
	}
	e := &env{vars: map[*tir.Var]int64{}}
	ended := false
	point := func(who owner, same int64) bool {
		m.points++
		if m.points > maxPoints {
			return false
		}
		for _, g := range m.conditions(u) {
			if v, ok := e.value(g); ok && v == 0 {
				return true
			}
		}
		at := key{common: same}
		for i, d := range dims {
			v, ok := e.value(u.indices[d])
			if !ok {
				return false
			}
			at.element += v * strides[i]
		}
		if !f(at, who) {
			ended = true
		}
		return !ended
	}
	inner := u.loops[min(len(m.c.loops), len(u.loops)):]
	if m.carried != nil { // its iterations differ, and those of the loops inside
		inner = u.loops[slices.Index(u.loops, m.carried):]
	}
	var values int64
	ok := e.sweep(common, func() bool {
		values = 0
		for _, f := range common {
			values = values*31 + e.vars[f.Var] // told apart well enough: a clash only adds a barrier
		}
		return m.items(u, e, func(who owner) bool {
			return e.sweep(inner, func() bool { return point(who, values) })
		})
	})
	return ok || ended
}

// items calls f for each work-item that makes the access, with the variables of its bound loops set. Along an axis that no
// loop around is bound to, the first does what it stores for all, and all do the rest.
func (m *meeting) items(u *use, e *env, f func(owner) bool) bool {
	var axes func(axis int, who owner) bool
	axes = func(axis int, who owner) bool {
		if axis == gridAxes {
			return f(who)
		}
		loop := u.bound[axis]
		if m.rel[axis] == sameIteration { // among the common loops, if anything depends on it
			return axes(axis+1, who)
		}
		n := m.b.extents[axis]
		lo := int64(0)
		switch {
		case loop != nil:
			n, _ = tir.AsInt(loop.Extent)
			var ok bool
			if lo, ok = e.value(loop.Min); !ok {
				return false
			}
		case u.first[axis]:
			n = 1
		}
		for i := range n {
			next := who
			if axis < threadAxis {
				next.group = next.group*m.b.extents[axis] + i
			} else {
				next.item = next.item*m.b.extents[axis] + i
			}
			if loop != nil {
				e.vars[loop.Var] = lo + i
			}
			if !axes(axis+1, next) {
				return false
			}
		}
		return true
	}
	return axes(0, owner{})
}
