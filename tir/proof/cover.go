package proof

import (
	"errors"
	"fmt"

	"github.com/texel-ml/texel/tir"
)

// cover decides whether each value of the claim's side is a value of one of the others. Axes are grouped so that on every
// side no variable is shared between groups; a side's values are then the product of its groups' values. Each group must be
// covered by each of the others, but for one group, which their union has to cover.
func (k *checker) cover() error {
	c := k.claim
	if len(c.By) == 0 {
		return fmt.Errorf("nothing is written before it is read")
	}
	for n := range c.By { // often one of them does
		err := k.coverAll(c.By[n])
		if err == nil || len(c.By) == 1 {
			return err
		}
	}
	groups, sides := groupsOf(len(c.Map), append([]Side{c.Side}, c.By...)...)
	if len(groups) == 0 {
		return k.coverGroup(nil, sides[0], sides[1:])
	}
	free := -1 // the group that needs the union
	for g, axes := range groups {
		for n := range c.By {
			err := k.coverGroup(axes, sides[0], sides[n+1:n+2])
			if err == nil {
				continue
			}
			if free >= 0 && free != g {
				return err
			}
			free = g
			break
		}
	}
	if free >= 0 {
		return k.coverGroup(groups[free], sides[0], sides[1:])
	}
	return nil
}

// coverAll decides the claim against one side: of each group of axes.
func (k *checker) coverAll(by Side) error {
	groups, sides := groupsOf(len(k.claim.Map), k.claim.Side, by)
	if len(groups) == 0 {
		groups = [][]int{nil}
	}
	for _, axes := range groups {
		if err := k.coverGroup(axes, sides[0], sides[1:]); err != nil {
			return err
		}
	}
	return nil
}

// inParts is a side with its parts.
type inParts struct {
	Side
	parts []part
}

// groupsOf joins axes that some side links, and cuts the sides so that the axes of a group are in one part.
func groupsOf(axes int, sides ...Side) ([][]int, []inParts) {
	groups := make([][]int, axes)
	for i := range groups {
		groups[i] = []int{i}
	}
	out := make([]inParts, len(sides))
	for changed := true; changed; {
		changed = false
		for i, s := range sides {
			out[i] = inParts{s, split(s, groups)}
			for _, p := range out[i].parts {
				if merged := merge(groups, p.exprs); len(merged) < len(groups) {
					groups, changed = merged, true
				}
			}
		}
	}
	return groups, out
}

// merge joins the groups that hold one of the axes.
func merge(groups [][]int, axes []int) [][]int {
	if len(axes) < 2 {
		return groups
	}
	var out [][]int
	var joined []int
	for _, g := range groups {
		if overlap(g, axes) {
			joined = append(joined, g...)
		} else {
			out = append(out, g)
		}
	}
	if joined != nil {
		out = append(out, joined)
	}
	return out
}

func overlap(a, b []int) bool {
	for _, x := range a {
		for _, y := range b {
			if x == y {
				return true
			}
		}
	}
	return false
}

// coverGroup decides the claim for some axes, against the union of by. A condition on variables that make no axis counts
// where it narrows by, and not where it narrows the claim's own side.
func (k *checker) coverGroup(axes []int, side inParts, by []inParts) error {
	own := k.partOf(side, axes, false)
	exprs := side.at(axes)
	all := [][]tir.Expr{exprs, own.conds}
	writers := make([]part, len(by))
	for i, s := range by {
		w := k.partOf(s, axes, true)
		if len(axes) == 1 && coveredByForm(exprs[0], own, s.Map[axes[0]], w, k.claim.Fixed) {
			return nil
		}
		if coveredAlike(exprs, own, s.at(axes), w) {
			return nil
		}
		writers[i] = w
		all = append(all, s.at(axes), w.conds)
	}
	fixed := used(k.claim.Fixed, all...)
	reader, err := k.newWalk(fixed, own.vars, own.conds, exprs)
	if err != nil {
		return err
	}
	walks := make([]*walk, len(by))
	for i, s := range by {
		if walks[i], err = k.newWalk(fixed, writers[i].vars, writers[i].conds, s.at(axes)); err != nil {
			return err
		}
	}
	outer, err := k.newWalk(nil, fixed, nil, nil)
	if err != nil {
		return err
	}
	return outer.each(nil, func([]int64) error {
		within, err := boxOf(len(axes), outer.point, walks...)
		if err != nil {
			return err
		}
		written := newSeen(within)
		for _, w := range walks {
			if err := w.each(outer.point, func(value []int64) error {
				at, _ := written.place(value)
				written.put(at, 0)
				return nil
			}); err != nil {
				return err
			}
		}
		return reader.each(outer.point, func(value []int64) error {
			if at, inside := written.place(value); !inside || !written.has(at) {
				return fmt.Errorf("%s reads %v, which is not written before", join(outer.describe(), reader.describe()), value)
			}
			return nil
		})
	})
}

func join(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + ", " + b
}

// partOf returns the part of a side that makes the given axes, with the conditions on fixed variables alone. With the parts
// that make no axis, where these may be empty, it is exact; without them it holds more points.
func (k *checker) partOf(s inParts, axes []int, exact bool) part {
	var out part
	for _, p := range s.parts {
		if overlap(p.exprs, axes) || len(p.vars) == 0 && len(p.exprs) == 0 || exact && len(p.exprs) == 0 && k.mayBeEmpty(p) {
			out.vars = append(out.vars, p.vars...)
			out.conds = append(out.conds, p.conds...)
		}
	}
	return out
}

// mayBeEmpty reports whether a part may have no point, at some values of the fixed variables.
func (k *checker) mayBeEmpty(p part) bool {
	if len(p.conds) == 0 {
		return empty(p.vars)
	}
	w, err := k.newWalk(nil, p.vars, p.conds, nil)
	if err != nil {
		return true // the conditions use fixed variables
	}
	return !errors.Is(w.each(nil, func([]int64) error { return errFound }), errFound)
}

var errFound = errors.New("a point was found")

// using returns the conditions that use one of vars.
func using(conds []tir.Expr, vars []Var) []tir.Expr {
	var out []tir.Expr
	for _, e := range conds {
		for _, v := range vars {
			if tir.Uses(e, v.Var) {
				out = append(out, e)
				break
			}
		}
	}
	return out
}

func empty(list []Var) bool {
	for _, v := range list {
		if v.Extent <= 0 {
			return true
		}
	}
	return false
}

// distinct decides that no value is taken at two values of Loop, by the claim's side or the others, or by the claim's
// side and one of the others. It holds when it holds of one group of axes.
func (k *checker) distinct() error {
	c := k.claim
	if c.Kind == Disjoint && len(c.By) == 0 || c.Kind == Distinct && empty(c.Vars) {
		return nil
	}
	groups, sides := groupsOf(len(c.Map), append([]Side{c.Side}, c.By...)...)
	loops := k.loops
	if c.Kind == Disjoint {
		loops = []*tir.Var{nil}
	}
	for _, loop := range loops { // two values differ in some digit, and that must tell them apart
		if loop != nil && (extentOf(c.Vars, loop) < 2 || k.single(loop, sides)) {
			continue
		}
		err := fmt.Errorf("all touch the only element")
		for _, axes := range groups {
			if err = k.distinctIn(loop, axes, sides); err == nil {
				break
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func extentOf(list []Var, v *tir.Var) int64 {
	for _, x := range list {
		if x.Var == v {
			return x.Extent
		}
	}
	return 0
}

// single reports whether the conditions leave at most one value of a loop, the same on all sides.
func (k *checker) single(loop *tir.Var, sides []inParts) bool {
	only, any := int64(0), false
	for _, s := range sides {
		for _, p := range split(s.Side, nil) {
			if !has(p.vars, loop) {
				continue
			}
			conds := usingOnly(p.conds, p.vars)
			if len(conds) == 0 {
				return false
			}
			w, err := k.newWalk(nil, p.vars, conds, []tir.Expr{loop})
			if err != nil || w.each(nil, func(value []int64) error {
				if any && value[0] != only {
					return errMany
				}
				only, any = value[0], true
				return nil
			}) != nil {
				return false
			}
		}
	}
	return true
}

var errMany = errors.New("more than one value")

// usingOnly returns the conditions that use no other variables than vars.
func usingOnly(conds []tir.Expr, vars []Var) []tir.Expr {
	var out []tir.Expr
	for _, e := range conds {
		only := true
		tir.Walk(e, func(n any) bool {
			if v, ok := n.(*tir.Var); ok {
				only = only && has(vars, v)
			}
			return only
		})
		if only {
			out = append(out, e)
		}
	}
	return out
}

// distinctIn decides it of some axes, for one variable of the loop.
func (k *checker) distinctIn(loop *tir.Var, axes []int, sides []inParts) error {
	c := k.claim
	var walks []*walk
	var all [][]tir.Expr
	parts := make([]part, len(sides))
	for i, s := range sides {
		parts[i] = k.partOf(s, axes, false)
		if loop != nil && !has(parts[i].vars, loop) {
			return fmt.Errorf("the same is touched at each value of %s", loop.Name)
		}
		parts[i].conds = using(parts[i].conds, s.Vars) // without the others it says more
		all = append(all, s.at(axes), parts[i].conds)
	}
	if loop != nil && len(axes) == 1 {
		exprs := make([]tir.Expr, len(sides))
		for i, s := range sides {
			exprs[i] = s.Map[axes[0]]
		}
		if distinctByForm(loop, exprs, parts) {
			return nil
		}
	}
	fixed := used(c.Fixed, all...)
	for i, s := range sides {
		vars, mark := []Var{}, -1
		if i > 0 {
			mark = -2
		}
		for _, v := range s.Vars {
			if v.Var == loop || has(parts[i].vars, v.Var) {
				if v.Var == loop {
					mark = len(fixed) + len(vars)
				}
				vars = append(vars, v)
			}
		}
		w, err := k.newWalk(fixed, vars, parts[i].conds, s.at(axes))
		if err != nil {
			return err
		}
		w.mark = mark
		walks = append(walks, w)
	}
	outer, err := k.newWalk(nil, fixed, nil, nil)
	if err != nil {
		return err
	}
	return outer.each(nil, func([]int64) error {
		within, err := boxOf(len(axes), outer.point, walks...)
		if err != nil {
			return err
		}
		taken := newSeen(within)
		for _, w := range walks {
			if err := w.each(outer.point, func(value []int64) error {
				mark := int64(w.mark)
				if mark >= 0 {
					mark = w.point[mark]
				}
				at, _ := taken.place(value)
				was, twice := taken.put(at, mark)
				switch {
				case !twice || was == mark:
				case w.mark < 0:
					return fmt.Errorf("both touch %v", value)
				default:
					return fmt.Errorf("%s = %d and %s = %d both touch %v", loop.Name, was, loop.Name, mark, value)
				}
				return nil
			}); err != nil {
				return err
			}
		}
		return nil
	})
}
