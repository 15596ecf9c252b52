package proof

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/texel-ml/texel/tir"
)

// ErrUndecided is the cause of an error of Check when a claim has too many points, or expressions that are not known.
var ErrUndecided = errors.New("undecided")

// Budget is how many points Check goes through for one claim.
const Budget = 1 << 22

// Check returns nil when the claim is true, an error that shows a point where it is not, or ErrUndecided.
func Check(c *Claim) error {
	if empty(c.Fixed) || empty(c.Vars) && c.Kind != Bijection && c.Kind != Onto && c.Kind != Distinct {
		return nil
	}
	c = apartVars(withoutEmpty(c))
	cut, loops := inDigits(c)
	err := decide(cut, loops)
	if err != nil && cut != c { // in the variables of the claim it reads better
		if plain := decide(c, []*tir.Var{c.Loop}); plain != nil && !errors.Is(plain, ErrUndecided) {
			err = plain
		}
	}
	if err != nil {
		return fmt.Errorf("%v of %s: %w", c.Kind, c.Subject, err)
	}
	return nil
}

// decide decides a claim of which Distinct means the given variables.
func decide(c *Claim, loops []*tir.Var) error {
	k := &checker{claim: c, left: Budget, loops: loops}
	if len(c.By) > 0 || c.Kind == Distinct {
		alike := *c
		sides := unshifted(append([]Side{c.Side}, c.By...))
		alike.Side, alike.By = sides[0], sides[1:]
		k.claim = &alike
	}
	switch c.Kind {
	case Cover:
		return k.cover()
	case Distinct, Disjoint:
		return k.distinct()
	case Monotone:
		return k.monotone()
	case Constant:
		return k.constant()
	}
	return k.image()
}

// withoutEmpty leaves out sides without a point.
func withoutEmpty(c *Claim) *Claim {
	if !empty(c.Vars) && !slices.ContainsFunc(c.By, func(s Side) bool { return empty(s.Vars) }) {
		return c
	}
	out := *c
	out.By = nil
	for _, s := range c.By {
		if !empty(s.Vars) {
			out.By = append(out.By, s)
		}
	}
	if c.Kind == Distinct && empty(c.Vars) && len(out.By) > 0 {
		out.Side, out.By = out.By[0], out.By[1:]
	}
	return &out
}

// apartVars gives the variables of By names of their own where they have another range than on a side before: a claim about a
// function before and after a step names the same loop twice.
func apartVars(c *Claim) *Claim {
	ranges := map[*tir.Var]Var{}
	for _, v := range c.Vars {
		ranges[v.Var] = v
	}
	var out *Claim
	for i, s := range c.By {
		to := map[*tir.Var]tir.Expr{}
		for _, v := range s.Vars {
			if was, met := ranges[v.Var]; met && was != v && v.Var != c.Loop {
				to[v.Var] = tir.NewVar(v.Var.Name)
			} else {
				ranges[v.Var] = v
			}
		}
		if len(to) == 0 {
			continue
		}
		if out == nil {
			copied := *c
			copied.By = append([]Side{}, c.By...)
			out = &copied
		}
		s.Vars = slices.Clone(s.Vars)
		for n, v := range s.Vars {
			if w := to[v.Var]; w != nil {
				s.Vars[n].Var = w.(*tir.Var)
			}
		}
		out.By[i] = s.Subst(to)
	}
	if out == nil {
		return c
	}
	return out
}

type checker struct {
	claim *Claim
	left  int
	loops []*tir.Var // the claim's loop, or its digits
}

// part is a piece of a side: the variables that are linked by conditions and expressions, and those. No other piece uses
// its variables.
type part struct {
	vars  []Var
	conds []tir.Expr
	exprs []int // of Map
}

// split cuts a side into its parts; axes that stand in one group of together are kept in one part. Fixed variables link
// nothing, since a claim must hold for each of their values. A condition without variables of the side is a part of its own.
func split(s Side, together [][]int) []part {
	conds := tir.Conjuncts(s.Where)
	n := len(s.Vars)
	root := make([]int, n+len(conds)+len(s.Map)) // union-find over variables, conditions, expressions
	for i := range root {
		root[i] = i
	}
	find := func(i int) int {
		for root[i] != i {
			i = root[i]
		}
		return i
	}
	link := func(e tir.Expr, node int) {
		tir.Walk(e, func(x any) bool {
			if v, ok := x.(*tir.Var); ok {
				if i := index(s.Vars, v); i >= 0 {
					root[find(i)] = find(node)
				}
			}
			return true
		})
	}
	for i, e := range conds {
		link(e, n+i)
	}
	for i, e := range s.Map {
		link(e, n+len(conds)+i)
	}
	for _, group := range together {
		for i := 1; i < len(group); i++ {
			root[find(n+len(conds)+group[i])] = find(n + len(conds) + group[0])
		}
	}
	var parts []part
	place := make([]int, len(root)) // of the part of a root, plus one
	at := func(node int) *part {
		r := find(node)
		if place[r] == 0 {
			parts = append(parts, part{})
			place[r] = len(parts)
		}
		return &parts[place[r]-1]
	}
	for i, v := range s.Vars {
		p := at(i)
		p.vars = append(p.vars, v)
	}
	for i, e := range conds {
		p := at(n + i)
		p.conds = append(p.conds, e)
	}
	for i := range s.Map {
		p := at(n + len(conds) + i)
		p.exprs = append(p.exprs, i)
	}
	return parts
}

// walk is a loop over the points of some variables, with conditions and expressions compiled.
type walk struct {
	k     *checker
	ev    *evaluator
	vars  []Var
	point []int64
	conds []number
	exprs []number
	value []int64
	mark  int // the slot of the claim's loop for Distinct; -1 the claim's side, -2 another for Disjoint
}

// newWalk prepares a walk over vars, whose slots come after those of outer.
func (k *checker) newWalk(outer, vars []Var, conds []tir.Expr, exprs []tir.Expr) (*walk, error) {
	slots := slices.Concat(outer, vars)
	w := &walk{k: k, ev: &evaluator{slots: slots}, vars: vars, point: make([]int64, len(slots)), value: make([]int64, len(exprs))}
	for _, list := range []struct {
		from []tir.Expr
		to   *[]number
	}{{conds, &w.conds}, {exprs, &w.exprs}} {
		for _, e := range list.from {
			f, ok := w.ev.compile(e)
			if !ok {
				return nil, fmt.Errorf("%w: the checker does not know %s", ErrUndecided, Side{Map: []tir.Expr{e}})
			}
			*list.to = append(*list.to, f)
		}
	}
	return w, nil
}

// each calls f with the values of the expressions at each point where the conditions hold.
func (w *walk) each(outer []int64, f func(value []int64) error) error {
	copy(w.point, outer)
	base := len(w.point) - len(w.vars)
	for i, v := range w.vars {
		w.point[base+i] = v.Min
		if v.Extent <= 0 {
			return nil
		}
	}
	for {
		if w.k.left--; w.k.left < 0 {
			return fmt.Errorf("%w: more than %d points", ErrUndecided, Budget)
		}
		holds := true
		for _, c := range w.conds {
			if holds = c(w.point) != 0; !holds {
				break
			}
		}
		if holds {
			for i, e := range w.exprs {
				w.value[i] = e(w.point)
			}
		}
		if w.ev.bad {
			return fmt.Errorf("a division by zero at %s", w.describe())
		}
		if holds {
			if err := f(w.value); err != nil {
				return err
			}
		}
		i := len(w.vars) - 1
		for ; i >= 0; i-- {
			at := &w.point[base+i]
			if *at++; *at < w.vars[i].Min+w.vars[i].Extent {
				break
			}
			*at = w.vars[i].Min
		}
		if i < 0 {
			return nil
		}
	}
}

func (w *walk) describe() string {
	base := len(w.point) - len(w.vars)
	texts := make([]string, 0, len(w.vars))
	for i, v := range w.vars {
		texts = append(texts, fmt.Sprintf("%s = %d", v.Var.Name, w.point[base+i]))
	}
	return strings.Join(texts, ", ")
}

// used returns the variables of list that occur in the expressions.
func used(list []Var, exprs ...[]tir.Expr) []Var {
	var out []Var
	for _, v := range list {
		for _, es := range exprs {
			found := false
			for _, e := range es {
				found = found || tir.Uses(e, v.Var)
			}
			if found {
				out = append(out, v)
				break
			}
		}
	}
	return out
}

func (s Side) at(exprs []int) []tir.Expr {
	out := make([]tir.Expr, len(exprs))
	for i, n := range exprs {
		out[i] = s.Map[n]
	}
	return out
}

// image decides the claims about one side. A claim about a product of parts holds when it holds of each part; where a
// part is empty at some fixed values so is the product, and nothing is claimed of the other parts there but to be onto.
func (k *checker) image() error {
	c := k.claim
	for _, p := range split(c.Side, nil) {
		if err := k.imageOf(p); err != nil {
			return err
		}
	}
	return nil
}

// monotone decides that the value does not decrease in the order of the points. Trailing variables that the value and the
// condition do not use leave it as it is.
func (k *checker) monotone() error {
	c := k.claim
	vars := c.Vars
	for len(vars) > 0 && !tir.Uses(c.Map[0], vars[len(vars)-1].Var) && (c.Where == nil || !tir.Uses(c.Where, vars[len(vars)-1].Var)) {
		vars = vars[:len(vars)-1]
	}
	conds := tir.Conjuncts(c.Where)
	fixed := used(c.Fixed, c.Map, conds)
	w, err := k.newWalk(fixed, vars, conds, c.Map[:1])
	if err != nil {
		return err
	}
	outer, err := k.newWalk(nil, fixed, nil, nil)
	if err != nil {
		return err
	}
	return outer.each(nil, func([]int64) error {
		last, first := int64(0), true
		return w.each(outer.point, func(value []int64) error {
			if !first && value[0] < last {
				return fmt.Errorf("%s gives %d after %d", w.describe(), value[0], last)
			}
			last, first = value[0], false
			return nil
		})
	})
}

// constant decides that no expression uses a fixed variable.
func (k *checker) constant() error {
	for _, e := range k.claim.Map {
		for _, v := range k.claim.Fixed {
			if tir.Uses(e, v.Var) {
				return fmt.Errorf("%s depends on %s", Side{Map: []tir.Expr{e}}, v.Var.Name)
			}
		}
	}
	return nil
}

// index is where v stands in a list, or -1.
func index(list []Var, v *tir.Var) int {
	for i := range list {
		if list[i].Var == v {
			return i
		}
	}
	return -1
}

func has(list []Var, v *tir.Var) bool { return index(list, v) >= 0 }

func (k *checker) imageOf(p part) error {
	if k.imageByForm(p) {
		return nil
	}
	c := k.claim
	exprs := c.Side.at(p.exprs)
	fixed := used(c.Fixed, exprs, p.conds)
	w, err := k.newWalk(fixed, p.vars, p.conds, exprs)
	if err != nil {
		return err
	}
	outer, err := k.newWalk(nil, fixed, nil, nil)
	if err != nil {
		return err
	}
	points := int64(1)
	within := box{make([]int64, len(p.exprs)), make([]int64, len(p.exprs))}
	if c.Range != nil {
		for i, n := range p.exprs {
			within.extent[i] = c.Range[n]
			if points *= c.Range[n]; points > Budget {
				return fmt.Errorf("%w: a range of more than %d points", ErrUndecided, Budget)
			}
		}
	}
	return outer.each(nil, func([]int64) error {
		if c.Range == nil {
			if within, err = boxOf(len(p.exprs), outer.point, w); err != nil {
				return err
			}
		}
		seen := newSeen(within)
		err := w.each(outer.point, func(value []int64) error {
			at, inside := seen.place(value)
			if !inside {
				return fmt.Errorf("%s gives %v, outside the range", w.describe(), value)
			}
			if _, twice := seen.put(at, 0); twice && c.Kind != Onto {
				return fmt.Errorf("%s gives %v, which another point gives too", w.describe(), value)
			}
			return nil
		})
		if err == nil && (c.Kind == Bijection || c.Kind == Onto) && seen.count != points {
			err = fmt.Errorf("%d of the %d points of the range are taken", seen.count, points)
		}
		return err
	})
}
