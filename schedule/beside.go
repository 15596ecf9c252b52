package schedule

import (
	"fmt"
	"slices"

	"github.com/texel-ml/texel/tir"
	"github.com/texel-ml/texel/tir/proof"
)

// What a block reads is not only written before it: it is what was written last. The claims below say so where several
// blocks write a buffer, or a block reads what it writes.

// touching returns the runs that access a buffer that x accesses.
func (l *lawyer) touching(x *instances) []*instances {
	own := map[*tir.Buffer]bool{}
	for _, a := range x.effects {
		own[a.buffer] = true
	}
	var list []*instances
	for _, y := range l.runs {
		if slices.ContainsFunc(y.effects, func(a access) bool { return own[a.buffer] && len(l.writers[a.buffer]) > 0 }) {
			list = append(list, y)
		}
	}
	return list
}

// independent states that instances with other spatial variables write other elements, and read of what they write only
// elements of their own, as the kind of the variables says.
func (l *lawyer) independent(x *instances) {
	if x.rolls() >= 0 {
		return
	}
	own := &instances{block: x.block} // in the variables of the block, not of its loops
	own.access(nil)
	seen := map[*tir.Buffer]bool{}
	for _, w := range x.block.Writes {
		if !seen[w.Buffer] {
			seen[w.Buffer] = true
			l.apart(x, own, w.Buffer)
		}
	}
}

// apart states it of one buffer.
func (l *lawyer) apart(x, own *instances, b *tir.Buffer) {
	key := "instances of " + x.block.Name + " in " + b.Name
	fixed, spatial, reduce := x.identity(b)
	var stores, loads []proof.Side
	spread := false // over reduce variables, too
	for _, a := range own.effects {
		s := a.side
		s.Vars = append(append([]proof.Var{}, spatial...), s.Vars...)
		switch {
		case a.buffer != b:
		case !a.store && !a.init && !own.own(a):
			s.Vars = append(s.Vars, reduce...)
			loads = append(loads, s)
		case a.store && !a.known:
			l.fault(key, "block %s writes %s at places that are not known", x.block.Name, b.Name)
			return
		case a.store:
			for _, v := range reduce {
				spread = spread || slices.ContainsFunc(s.Map, func(e tir.Expr) bool { return tir.Uses(e, v.Var) })
			}
			if !slices.ContainsFunc(stores, func(o proof.Side) bool { return alike(o, s) }) {
				stores = append(stores, s)
			}
		}
	}
	if len(stores) == 0 {
		return
	}
	if len(loads) > 0 {
		by := slices.Clone(stores)
		for i := range by {
			by[i].Vars = append(slices.Clone(by[i].Vars), reduce...)
		}
		for _, r := range loads {
			l.claim(key+", read by others", &proof.Claim{Kind: proof.Disjoint, Subject: key + ", read by others", Fixed: fixed, Side: r, By: by})
		}
	}
	if len(spatial) == 0 {
		return
	}
	if len(stores) == 1 && len(stores[0].Vars) == len(spatial) && !(spread && x.block.Init != nil) {
		l.claim(key, &proof.Claim{Kind: proof.Injection, Subject: key, Fixed: append(fixed, reduce...), Side: stores[0]})
		return
	}
	if spread && x.block.Init != nil {
		for i := range stores {
			stores[i].Vars = append(slices.Clone(stores[i].Vars), reduce...)
		}
	} else {
		fixed = append(fixed, reduce...)
	}
	for _, v := range spatial {
		if v.Extent > 1 {
			l.claim(key, &proof.Claim{Kind: proof.Distinct, Subject: key, Fixed: fixed, Loop: v.Var, Side: stores[0], By: stores[1:]})
		}
	}
}

// identity returns what tells the instances of a block apart: its spatial variables, and what else its statements use of
// the spatial variables and the loops around; its reduce variables; and the others, which stay as they are. A buffer that
// lives in a block around is another one for each instance of that.
func (x *instances) identity(b *tir.Buffer) (fixed, spatial, reduce []proof.Var) {
	used := func(v *tir.Var) bool {
		return tir.Uses(x.block.Body, v) || x.block.Init != nil && tir.Uses(x.block.Init, v)
	}
	last := -1 // the block in which the buffer lives
	for i, o := range x.around {
		if slices.Contains(o.block.Allocs, b) {
			last = i
		}
	}
	for i, o := range append(slices.Clone(x.around), x) {
		for _, iv := range o.block.Iters {
			v := proof.Var{Var: iv.Var, Extent: int64(iv.Extent)}
			switch {
			case iv.Kind == tir.Spatial && (o == x || i > last && used(iv.Var)):
				spatial = append(spatial, v)
			case iv.Kind == tir.Reduce && o == x:
				reduce = append(reduce, v)
			default:
				fixed = append(fixed, v)
			}
		}
	}
	for _, v := range x.vars {
		if used(v.Var) {
			spatial = append(spatial, v)
		}
	}
	return fixed, spatial, reduce
}

// own reports whether a load is of an element, or a box, that the same instance writes.
func (x *instances) own(a access) bool {
	return slices.ContainsFunc(x.effects, func(w access) bool { return w.store && w.buffer == a.buffer && alike(w.side, a.side) })
}

// alike reports whether two sides take the same values, whatever their conditions.
func alike(a, b proof.Side) bool {
	if len(a.Vars) != len(b.Vars) || len(a.Map) != len(b.Map) {
		return false
	}
	to := map[*tir.Var]tir.Expr{}
	for i, v := range a.Vars {
		w := b.Vars[i]
		if v.Min != w.Min || v.Extent != w.Extent {
			return false
		}
		to[w.Var] = v.Var
	}
	for i := range a.Map {
		if !tir.Equal(a.Map[i], tir.Subst(b.Map[i], to)) {
			return false
		}
	}
	return true
}

// undisturbed states that what run x reads by access a is what was written last. Where it is written, whole, in each
// iteration of the first so many loops, iterations of those do not matter. Within one of them, other iterations of the
// loops that x shares with a writer leave alone what it reads.
func (l *lawyer) undisturbed(at int, x *instances, a access) {
	var writers, before []*instances
	lo, hi := len(x.loops), 0
	late := false
	for n, w := range l.runs {
		if n == at || !w.stores(a.buffer) {
			continue
		}
		if o, _ := recurrence(x, w); o != nil {
			return // they come in order
		}
		writers = append(writers, w)
		lo, hi = min(lo, common(x, w)), max(hi, common(x, w))
		if late = late || n > at; n < at {
			before = append(before, w)
		}
	}
	fresh := hi
	if lo < hi || late {
		fresh = l.fresh(x, a, before, hi)
	}
	for _, w := range writers {
		n := common(x, w)
		if n <= fresh || !w.known {
			continue
		}
		side := x.over(fresh, a.side)
		key := fmt.Sprintf("%s reads %s beside %s", x.block.Name, a.buffer.Name, w.block.Name)
		if slices.Contains(before, w) || !inOrder(x.loops[fresh:n]...) {
			l.beside(key, x.vars[:n], fresh, side, w.writes(a.buffer, fresh))
			continue
		}
		c := &proof.Claim{Kind: proof.Disjoint, Subject: key, Fixed: x.vars[:fresh], Side: side, By: w.writes(a.buffer, fresh)}
		l.claim(key, c)
		l.list[len(l.list)-1].Or = []*proof.Claim{overtaken(c, x.vars[:n], fresh)}
	}
	l.overwritten(x.block.Name+" reads "+a.buffer.Name, a.buffer, before, x.vars[:fresh])
}

// inOrder reports whether the iterations of loops run one after the other.
func inOrder(loops ...*tir.For) bool {
	return !slices.ContainsFunc(loops, func(f *tir.For) bool { return f.Kind != tir.Serial && f.Kind != tir.Unrolled })
}

// overtaken is a claim that two accesses have no element in common as it is needed when the second of them comes later in
// each iteration of the loops that they share: of earlier iterations alone.
func overtaken(c *proof.Claim, shared []proof.Var, from int) *proof.Claim {
	to := map[*tir.Var]tir.Expr{}
	var steps []proof.Var
	var earlier, same tir.Expr
	for _, v := range shared[from:] {
		again := v
		again.Var = tir.NewVar(v.Var.Name)
		to[v.Var] = again.Var
		steps = append(steps, again)
		is := tir.All(same, tir.Lt(again.Var, v.Var))
		if same = tir.All(same, tir.Eq(again.Var, v.Var)); earlier == nil {
			earlier = is
		} else {
			earlier = tir.Any(earlier, is)
		}
	}
	out := *c
	out.Fixed = shared
	out.Vars = slices.DeleteFunc(slices.Clone(c.Vars), func(v proof.Var) bool { return slices.Contains(shared, v) })
	out.By = slices.Clone(c.By)
	for i, s := range c.By {
		s = s.Subst(to)
		s.Vars = append(slices.Clone(steps), slices.DeleteFunc(slices.Clone(s.Vars), func(v proof.Var) bool { return slices.Contains(shared, v) })...)
		s.Where = tir.All(s.Where, earlier)
		out.By[i] = s
	}
	return &out
}

// fresh is in how many loops around run x each iteration writes, whole, what x reads, at most so many.
func (l *lawyer) fresh(x *instances, a access, before []*instances, most int) int {
	for n := most; n > 0; n-- {
		c := &proof.Claim{Kind: proof.Cover, Fixed: x.vars[:n], Side: x.over(n, a.side)}
		for _, w := range before {
			if common(x, w) >= n {
				c.By = append(c.By, w.writes(a.buffer, n)...)
			}
		}
		if l.proven.holds(c) {
			return n
		}
	}
	return 0
}

// beside states that two accesses have no element in common, or none in different iterations of the loops that they share,
// from the given one on.
func (l *lawyer) beside(key string, shared []proof.Var, from int, side proof.Side, by []proof.Side) {
	c := &proof.Claim{Kind: proof.Disjoint, Subject: key, Fixed: shared[:from], Side: side, By: by}
	l.claim(key, c)
	o := l.list[len(l.list)-1]
	for _, v := range shared[from:] {
		if v.Extent > 1 {
			d := *c
			d.Kind, d.Loop = proof.Distinct, v.Var
			o.Or = append(o.Or, &d)
		}
	}
	if len(o.Or) == 0 { // one iteration alone
		l.list = l.list[:len(l.list)-1]
	}
}

// overwritten states that of two blocks that write a buffer in the same loops, each iteration of these, inside the fixed
// ones, writes elements of its own, or all anew: which of them wrote last does not change when the iterations change their
// order.
func (l *lawyer) overwritten(key string, b *tir.Buffer, writers []*instances, fixed []proof.Var) {
	from := len(fixed)
	for i, v := range writers {
		for _, w := range writers[:i] {
			n := common(v, w)
			if o, _ := recurrence(v, w); o != nil || n <= from || !v.known || !w.known {
				continue
			}
			if w.starts != nil && slices.Contains(v.around, w.starts) {
				continue // see started
			}
			about := fmt.Sprintf("%s by %s and %s", key, w.block.Name, v.block.Name)
			var own *access
			for _, a := range v.effects {
				if !a.store && !a.init && a.buffer == b && v.own(a) {
					own = &a
				}
			}
			for _, s := range v.writes(b, from) {
				if own == nil || w.updates() {
					l.beside(about, v.vars[:n], from, s, w.writes(b, from))
					continue
				}
				anew := []*proof.Claim{{Kind: proof.Cover, Subject: about, Fixed: v.vars[:n], Side: v.over(n, own.side), By: w.writes(b, n)}}
				for _, first := range w.writes(b, n) {
					anew = append(anew, &proof.Claim{Kind: proof.Cover, Subject: about, Fixed: v.vars[:n], Side: first, By: v.writes(b, n)})
				}
				if slices.ContainsFunc(anew, func(c *proof.Claim) bool { return !l.proven.holds(c) }) { // as where no term reaches an element
					l.beside(about, v.vars[:n], from, s, w.writes(b, from))
					continue
				}
				l.claim(about, &proof.Claim{Kind: proof.Disjoint, Subject: about, Fixed: fixed, Side: s, By: w.writes(b, from)})
				l.list[len(l.list)-1].Or = anew
			}
		}
	}
}

// inTurn states that blocks that write one buffer still come one after the other as they did.
func (l *lawyer) inTurn() {
	at := map[string]int{}
	for i, x := range l.before.runs {
		at[x.block.Name] = i + 1
	}
	for i, v := range l.runs {
		for _, w := range l.runs[:i] {
			was, is := at[w.block.Name], at[v.block.Name]
			if was == 0 || is == 0 || was <= is {
				continue
			}
			seen := map[*tir.Buffer]bool{}
			for _, a := range v.effects {
				if !a.store || seen[a.buffer] || !w.stores(a.buffer) || l.stays(a.buffer) {
					continue
				}
				seen[a.buffer] = true
				key := fmt.Sprintf("%s before %s in %s", v.block.Name, w.block.Name, a.buffer.Name)
				for _, s := range v.writes(a.buffer, 0) {
					l.claim(key, &proof.Claim{Kind: proof.Disjoint, Subject: key, Side: s, By: w.writes(a.buffer, 0)})
				}
			}
		}
	}
}

// nothingElse states that blocks write no more than they did, where that shows: elements of results that the program leaves
// alone, and elements that other blocks write, too.
func (l *lawyer) nothingElse() {
	for _, b := range l.results {
		if l.stays(b) {
			continue
		}
		var by []proof.Side
		for _, x := range l.program.runs {
			by = append(by, x.writes(b, 0)...)
		}
		for _, x := range l.writers[b] {
			key := fmt.Sprintf("result %s only of %s", b.Name, x.block.Name)
			for _, s := range x.writes(b, 0) {
				l.claim(key, &proof.Claim{Kind: proof.Cover, Subject: key, Side: s, By: by})
			}
		}
	}
	for _, x := range l.runs {
		o := l.before.named[x.block.Name]
		if o == nil || l.same(x) || !o.known || !x.known || !slices.ContainsFunc(x.effects, func(a access) bool { return a.store && len(l.writers[a.buffer]) > 1 }) {
			continue
		}
		if sameIters(o, x) {
			key := x.block.Name + " beside others"
			l.claim(key, &proof.Claim{Kind: proof.Cover, Subject: key, Side: proof.Side{Vars: x.vars, Where: x.where, Map: x.trail()},
				By: []proof.Side{{Vars: o.vars, Where: o.where, Map: o.trail()}}})
		}
		if o.block.Init != nil && x.block.Init == nil {
			l.begun(x, o)
		}
	}
}

// begun states that a new block that writes the initial value for run x does so where x had an instance that did.
func (l *lawyer) begun(x, was *instances) {
	first := *was
	first.effects = slices.DeleteFunc(slices.Clone(first.effects), func(a access) bool { return !a.init })
	for i, iv := range first.block.Iters {
		if iv.Kind == tir.Reduce {
			first.where = tir.All(first.where, tir.Eq(first.values[i], tir.I(0)))
		}
	}
	for _, a := range x.effects {
		for _, w := range l.writers[a.buffer] {
			if !a.store || !first.stores(a.buffer) || w == x || l.before.named[w.block.Name] != nil {
				continue
			}
			key := fmt.Sprintf("%s begins %s", w.block.Name, x.block.Name)
			for _, s := range w.writes(a.buffer, 0) {
				l.claim(key, &proof.Claim{Kind: proof.Cover, Subject: key, Side: s, By: first.writes(a.buffer, 0)})
			}
		}
	}
}
