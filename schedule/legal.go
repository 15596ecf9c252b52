package schedule

import (
	"fmt"
	"slices"

	"github.com/texel-ml/texel/diag"
	"github.com/texel-ml/texel/tir"
	"github.com/texel-ml/texel/tir/proof"
)

// A scheduled function means the same as its program when
//
//   - each block takes every point of its iteration variables that is needed, and for an element of a reduction each
//     reduce instance once between the initial value and the result;
//   - what a block reads of a buffer that the function writes is written before, whole, in the same iteration of the
//     loops around both, and is what was written last: other instances, iterations and blocks leave it alone (beside.go);
//   - of a result, what the program writes is written, and nothing else;
//   - iterations of a parallel, vectorized or bound loop touch different elements, or buffers of their own.
//
// Obligations states this of a function as claims that can be checked one by one. A claim that holds of the program may
// not cease to hold: a step after which it does is refused.

// Obligation is a claim that a function must fulfil, or why it cannot be stated.
type Obligation struct {
	Claim *proof.Claim
	Or    []*proof.Claim // all of them do as well
	Key   string         // the kind of claim and what it is about: the same before and after a step
	Fault error          // why there is no claim

	runs []*instances // what it is about: where these stay as they are, so does a claim that does not hold
}

// neutral reports whether a step changes nothing of what is proven.
func neutral(step string) bool {
	return step == "unroll" || step == "annotate" || step == "unannotate"
}

// keepsOrder reports whether a step leaves instances in the order in which they run.
func keepsOrder(step string, args []Value) bool {
	switch step {
	case "fuse", "add_unit_loop":
		return true
	}
	return step == "split" && len(args) == 2 // with a guard, not another tail
}

// prove decides whether the step that was taken keeps the meaning of the function: each obligation holds. One that did not
// hold before either must be the same still, unless the step leaves everything in its order.
func (s *Schedule) prove(step string, ordered bool) {
	p := s.proven
	if err := p.verify(s.fn); err != nil {
		s.fail(diag.Internal(step, "", "the step made an illegal function").By(err))
		return
	}
	before := p.of(s.legal)
	now := gather(s.fn, before)
	var failed []*Obligation
	var why []error
	for _, o := range p.lawyer(s.program, before, now).obligations() {
		if err := p.check(o); err != nil {
			failed, why = append(failed, o), append(why, err)
		}
	}
	if len(failed) > 0 {
		s.judge(step, ordered, failed, why)
	}
	if p.last = before; s.err == nil {
		now.holds = len(failed) == 0
		p.last, p.verified = now, s.fn
	}
}

// judge refuses a step because of obligations that fail, unless they failed before it, too.
func (s *Schedule) judge(step string, ordered bool, failed []*Obligation, why []error) {
	known := map[string][]string{}
	for _, o := range Obligations(s.program, s.legal, s.legal) {
		if s.proven.check(o) != nil {
			known[o.Key] = append(known[o.Key], s.proven.text(o))
		}
	}
	for i, o := range failed {
		texts, was := known[o.Key]
		switch {
		case !was:
			s.fail(diag.Invalid(step, "", "the function would not mean the same").By(why[i]))
		case !ordered && !slices.Contains(texts, s.proven.text(o)):
			s.fail(diag.Invalid(step, "", "the program itself is not proven here, so its loops must stay as they are").By(why[i]))
		}
	}
}

// Check returns nil when the obligation is fulfilled.
func (o *Obligation) Check() error {
	_, err := o.Discharge()
	return err
}

// Discharge returns the claims that fulfil the obligation, or why none do.
func (o *Obligation) Discharge() ([]*proof.Claim, error) { return newProven().discharge(o) }

// Obligations returns what must be true of f, in block form, which a step made of before, and steps made of program.
func Obligations(program, before, f *tir.Func) []*Obligation {
	return newProven().lawyer(program, gather(before, nil), gather(f, nil)).obligations()
}

// lawyer states the obligations of a function.
type lawyer struct {
	*gathered                              // the function
	before    *gathered                    // of which a step made it
	program   *gathered                    // of which steps made that
	were      map[*tir.Buffer][]*instances // the users of before, where all was fulfilled; nil leaves nothing out
	results   []*tir.Buffer
	proven    *proven
	list      []*Obligation
	about     []*instances // the run that is looked at
}

// lawyer returns one for what a step made of before, and steps of the program.
func (p *proven) lawyer(program *tir.Func, before, now *gathered) *lawyer {
	if p.program == nil {
		p.program = gather(program, nil)
	}
	l := &lawyer{gathered: now, before: before, program: p.program, results: program.Params[len(program.Params)-program.Outputs:], proven: p}
	if before.holds {
		l.were = before.users
	}
	return l
}

// obligations states all of them, but those that are about what stays as it is. An obligation is about a run or about a
// buffer, and depends on the runs that touch the same buffers alone, and on what these were before the step.
func (l *lawyer) obligations() []*Obligation {
	for i, x := range l.runs {
		if l.same(x) {
			continue
		}
		l.lookAt(i)
		l.domain(x)
		l.reads(i, x)
	}
	l.about = nil
	for _, b := range l.results {
		if !l.stays(b) {
			l.result(b)
			l.overwritten("result "+b.Name, b, l.writers[b], nil)
		}
	}
	l.nothingElse()
	l.inTurn()
	l.races()
	return l.list
}

// stays reports whether a buffer is touched by the very runs of before in the same order, so that what is stated of it holds.
func (l *lawyer) stays(b *tir.Buffer) bool {
	return l.were != nil && slices.Equal(l.were[b], l.users[b])
}

// same reports whether all buffers that a run touches stay, so that it is a run of before too, and what is stated of it holds.
func (l *lawyer) same(x *instances) bool {
	return len(x.effects) > 0 && !slices.ContainsFunc(x.effects, func(a access) bool { return !l.stays(a.buffer) })
}

// lookAt says what the obligations that follow are about.
func (l *lawyer) lookAt(i int) {
	l.about = l.runs[i : i+1]
	if x := l.runs[i]; !x.known { // nothing is claimed of its loops: what touches its buffers must stay as it is
		l.about = l.touching(x)
	}
}

// result states that what the program writes of a result is still written.
func (l *lawyer) result(b *tir.Buffer) {
	var now []proof.Side
	for _, w := range l.writers[b] {
		now = append(now, w.writes(b, 0)...)
	}
	for _, x := range l.program.runs {
		for _, s := range x.writes(b, 0) {
			key := "result " + b.Name + " of " + x.block.Name
			l.claim(key, &proof.Claim{Kind: proof.Cover, Subject: key, Side: s, By: now})
		}
	}
}

// over is what a side of a run's access is over the loops of the run from the given one on.
func (x *instances) over(from int, s proof.Side) proof.Side {
	s.Vars = slices.Concat(x.vars[from:], s.Vars)
	s.Where = tir.All(x.where, s.Where)
	return s
}

// writes returns what a run writes of a buffer, over its loops from the given one on.
func (x *instances) writes(b *tir.Buffer, from int) []proof.Side {
	var list []proof.Side
	for _, a := range x.effects {
		if a.store && a.buffer == b && a.known && x.known {
			s := x.over(from, a.side)
			if !slices.ContainsFunc(list, func(o proof.Side) bool { return sameSide(o, s) }) {
				list = append(list, s)
			}
		}
	}
	return list
}

// sameSide reports whether two sides over the same variables are written alike.
func sameSide(a, b proof.Side) bool {
	if len(a.Vars) != len(b.Vars) || !tir.Equal(a.Where, b.Where) {
		return false
	}
	for i := range a.Vars {
		if a.Vars[i] != b.Vars[i] {
			return false
		}
	}
	return slices.EqualFunc(a.Map, b.Map, tir.Equal)
}

func (l *lawyer) claim(key string, c *proof.Claim) {
	l.list = append(l.list, &Obligation{Claim: c, Key: key, runs: l.about})
}

func (l *lawyer) fault(key, format string, args ...any) {
	l.list = append(l.list, &Obligation{Key: key, Fault: fmt.Errorf(format, args...), runs: l.about})
}

// domain states that a block takes the points of its iteration variables.
func (l *lawyer) domain(x *instances) {
	key := "domain of " + x.block.Name
	if !x.known {
		l.fault(key, "a loop around %s has bounds that are not known", x.block.Name)
		return
	}
	l.order(x)
	l.independent(x)
	c := &proof.Claim{Kind: proof.Bijection, Subject: "block " + x.block.Name, Side: proof.Side{Vars: x.vars, Where: x.where, Map: x.values}}
	reduces := false
	for _, iv := range x.block.Iters {
		c.Range = append(c.Range, int64(iv.Extent))
		reduces = reduces || iv.Kind != tir.Spatial
	}
	switch {
	case reduces:
		l.reduction(key, x, c)
	case x.updates():
		l.each(key, c, x)
	}
	// A block of spatial variables may compute an element again; which it must compute is what its readers demand.
}

// order states that instances of which each needs the one before come in order. Of a rolling block, the claims about what
// is read of its buffer say more.
func (l *lawyer) order(x *instances) {
	if x.rolls() >= 0 {
		return
	}
	for _, o := range append(x.around[:len(x.around):len(x.around)], x) {
		for i, iv := range o.block.Iters {
			if iv.Kind == tir.Ordered {
				l.claim("order of "+o.block.Name+" around "+x.block.Name, &proof.Claim{Kind: proof.Monotone, Subject: "block " + o.block.Name,
					Side: proof.Side{Vars: x.vars, Where: x.where, Map: o.values[i : i+1]}})
			}
		}
	}
}

// each states that a block takes the points of some variables once: all points of their range, or those that it took before;
// of a block that the step made, its condition says which points there are.
func (l *lawyer) each(key string, c *proof.Claim, x *instances) {
	l.claim(key, c)
	once := *c
	once.Kind, once.Range = proof.Injection, nil
	if len(c.Fixed) == 0 {
		once.Map = x.trail()
	}
	or := []*proof.Claim{&once}
	if b := l.before.named[x.block.Name]; b != nil && b.known && sameIters(b, x) {
		or = append(or, &proof.Claim{Kind: proof.Cover, Subject: c.Subject, Side: proof.Side{Vars: b.vars, Where: b.where, Map: b.trail()},
			By: []proof.Side{{Vars: x.vars, Where: x.where, Map: x.trail()}}})
	}
	l.list[len(l.list)-1].Or = or
}

// sameIters reports whether two runs have the same iteration variables, and the blocks around them too.
func sameIters(a, b *instances) bool {
	if len(a.around) != len(b.around) || len(a.block.Iters) != len(b.block.Iters) {
		return false
	}
	for i, iv := range a.block.Iters {
		if iv != b.block.Iters[i] {
			return false
		}
	}
	for i := range a.around {
		if !sameIters(a.around[i], b.around[i]) {
			return false
		}
	}
	return true
}

// updates reports whether a block reads what it writes.
func (x *instances) updates() bool {
	for _, w := range x.effects {
		for _, r := range x.effects {
			if w.store && !r.store && w.buffer == r.buffer {
				return true
			}
		}
	}
	return false
}

// reduction states that each element gets each reduce instance once. Where spatial and reduce variables have loops of their
// own, spatial ones may be computed again, as long as no such loop lies inside a loop of the reduction.
func (l *lawyer) reduction(key string, x *instances, whole *proof.Claim) {
	spatial, reduce := map[*tir.Var]bool{}, map[*tir.Var]bool{}
	var valuesS, valuesR []tir.Expr
	var rangeR []int64
	for i, iv := range x.block.Iters {
		uses := reduce
		if iv.Kind == tir.Spatial {
			uses, valuesS = spatial, append(valuesS, x.values[i])
		} else {
			valuesR, rangeR = append(valuesR, x.values[i]), append(rangeR, int64(iv.Extent))
		}
		for _, v := range x.vars {
			if tir.Uses(x.values[i], v.Var) {
				uses[v.Var] = true
			}
		}
	}
	first, mixed := len(x.vars), false
	for i, v := range x.vars {
		if reduce[v.Var] {
			first = min(first, i)
			mixed = mixed || spatial[v.Var]
		}
	}
	if x.block.Init == nil { // loops that do not start it anew would add to what is there
		first = min(first, l.restarts(x))
	}
	again := false // spatial loops, or loops of nothing, around the reduction: they may compute elements again
	for _, v := range x.vars[:first] {
		again = again || v.Extent > 1
	}
	if mixed || !again {
		l.each(key, whole, x)
		return
	}
	var others, loopsR, inner, outer []proof.Var
	for i, v := range x.vars {
		switch {
		case reduce[v.Var]:
			loopsR = append(loopsR, v)
			continue
		case i < first:
			outer = append(outer, v)
		default:
			inner = append(inner, v)
		}
		others = append(others, v)
	}
	var whereR, whereS tir.Expr
	for _, c := range tir.Conjuncts(x.where) {
		if tir.UsesAny(c, reduce) {
			whereR = tir.All(whereR, c)
		} else {
			whereS = tir.All(whereS, c)
		}
	}
	l.each(key+" (reduce)", &proof.Claim{Kind: proof.Bijection, Subject: whole.Subject, Fixed: others,
		Side: proof.Side{Vars: loopsR, Where: whereR, Map: valuesR}, Range: rangeR}, x)
	if len(inner) > 0 {
		l.claim(key+" (inside the reduction)", &proof.Claim{Kind: proof.Injection, Subject: whole.Subject, Fixed: outer,
			Side: proof.Side{Vars: inner, Where: whereS, Map: valuesS}})
	}
}

// restarts is how many loops around a reduction without an initial value are around the blocks that write it too.
func (l *lawyer) restarts(x *instances) int {
	n := len(x.loops)
	found := false
	for _, w := range l.runs {
		if w == x {
			break // what comes later does not start it
		}
		for _, a := range x.effects {
			if a.store && w.stores(a.buffer) && !w.updates() {
				n, found = min(n, common(x, w)), true
			}
		}
	}
	if !found {
		return 0
	}
	return n
}

// common is how many loops two runs share.
func common(a, b *instances) int {
	n := 0
	for n < len(a.loops) && n < len(b.loops) && a.loops[n].Var == b.loops[n].Var {
		n++
	}
	return n
}

// reads states that what a block reads is written before, and complete.
func (l *lawyer) reads(at int, x *instances) {
	for _, a := range x.effects {
		if a.store || a.init || x.block.Init != nil && x.own(a) {
			continue
		}
		if o := l.startedBy(x, a.buffer); o != nil {
			l.started(x, a, o)
			continue
		}
		l.covered(at, x, a)
	}
}

// startedBy returns the block around x whose initial value, a nest of blocks, writes b.
func (l *lawyer) startedBy(x *instances, b *tir.Buffer) *instances {
	for _, w := range l.runs {
		if w.starts == nil || w.starts == x.starts || !w.stores(b) {
			continue
		}
		for _, o := range x.around {
			if o == w.starts {
				return o
			}
		}
	}
	return nil
}

// started states that the initial value of block o around x writes what x updates by access a, whichever reduce instance of o
// that is, and, in the first of them, nothing else.
func (l *lawyer) started(x *instances, a access, o *instances) {
	if !x.known {
		return // said of its domain
	}
	n := len(o.loops)
	var fixed, reduce []proof.Var // the loops around o
	var first tir.Expr
	for i, iv := range o.block.Iters {
		if iv.Kind == tir.Reduce {
			first = tir.All(first, tir.Bin(tir.EQ, o.values[i], tir.I(0)))
		}
	}
	for _, v := range x.vars[:n] {
		if first != nil && tir.Uses(first, v.Var) {
			reduce = append(reduce, v)
		} else {
			fixed = append(fixed, v)
		}
	}
	key := fmt.Sprintf("%s starts with the initial value of %s", x.block.Name, o.block.Name)
	update := x.over(n, a.side)
	c := &proof.Claim{Kind: proof.Cover, Subject: key, Fixed: fixed, Side: update}
	c.Vars = slices.Concat(reduce, c.Vars)
	update.Where = tir.All(update.Where, first)
	for _, w := range l.runs {
		if w.starts != o || !w.stores(a.buffer) {
			continue
		}
		for _, s := range w.writes(a.buffer, n) {
			only := &proof.Claim{Kind: proof.Cover, Subject: key + " alone", Fixed: x.vars[:n], Side: s, By: []proof.Side{update}}
			l.claim(key+" alone", only)
			s.Vars = slices.Concat(reduce, s.Vars)
			c.By = append(c.By, s)
		}
	}
	l.claim(key, c)
}

func (l *lawyer) covered(at int, x *instances, a access) {
	key := fmt.Sprintf("%s reads %s", x.block.Name, a.buffer.Name)
	if len(l.writers[a.buffer]) == 0 {
		if !slices.Contains(l.program.fn.Params, a.buffer) {
			l.fault(key, "block %s reads %s, which nothing writes", x.block.Name, a.buffer.Name)
		}
		return
	}
	if !x.known {
		return // said of its domain
	}
	if l.rolled(key, x, a) {
		return
	}
	var before, after []*instances
	shared := 0
	for n, w := range l.runs {
		switch {
		case n == at || !w.stores(a.buffer):
		case n < at:
			before = append(before, w)
			shared = max(shared, common(x, w))
		default:
			after = append(after, w)
		}
	}
	for _, w := range l.runs {
		if o, _ := recurrence(x, w); o != nil && w.stores(a.buffer) {
			shared = max(shared, len(o.loops)) // of each step
		}
	}
	c := &proof.Claim{Kind: proof.Cover, Subject: key, Fixed: x.vars[:shared], Side: x.over(shared, a.side)}
	for _, w := range before {
		c.By = append(c.By, w.writes(a.buffer, common(x, w))...)
		l.complete(key, w, x, a.buffer)
	}
	for _, w := range l.runs {
		c.By = append(c.By, earlier(x, w, a.buffer)...)
	}
	l.claim(key, c)
	l.undisturbed(at, x, a)
	if x.own(a) {
		return // parts of a reduction come in any order
	}
	for _, w := range after {
		if l.copiesBack(at, x, w, a.buffer) {
			continue
		}
		n := common(x, w)
		l.claim(key+" when complete", &proof.Claim{Kind: proof.Disjoint, Subject: key + " before " + w.block.Name + " writes it",
			Fixed: x.vars[:n], Side: x.over(n, a.side), By: w.writes(a.buffer, n)})
	}
}

// earlier returns what w writes of b in earlier steps of a recurrence that x is in too: at smaller values of an ordered
// variable, which are run before (see order).
func earlier(x, w *instances, b *tir.Buffer) []proof.Side {
	o, value := recurrence(x, w)
	if o == nil || !w.stores(b) || !w.known {
		return nil
	}
	to := map[*tir.Var]tir.Expr{}
	var steps []proof.Var
	for _, v := range w.vars[:len(o.loops)] {
		again := v
		again.Var = tir.NewVar(v.Var.Name)
		to[v.Var] = again.Var
		steps = append(steps, again)
	}
	before := tir.Bin(tir.LT, tir.Subst(value, to), value)
	sides := w.writes(b, len(o.loops))
	for i, s := range sides {
		s = s.Subst(to)
		s.Vars = slices.Concat(steps, s.Vars)
		s.Where = tir.All(s.Where, before)
		sides[i] = s
	}
	return sides
}

// recurrence returns the block around both runs, or that is both, whose instances come in order, and the value of its ordered
// variable.
func recurrence(x, w *instances) (*instances, tir.Expr) {
	for n, o := range append(x.around[:len(x.around):len(x.around)], x) {
		if o != w && (n >= len(w.around) || w.around[n] != o) {
			return nil, nil
		}
		for i, iv := range o.block.Iters {
			if iv.Kind == tir.Ordered {
				return o, o.values[i]
			}
		}
	}
	return nil, nil
}

func (x *instances) stores(b *tir.Buffer) bool {
	for _, a := range x.effects {
		if a.store && a.buffer == b {
			return true
		}
	}
	return false
}

// complete states that a reduction is finished where its result b is read, and that an initial value is not written again
// between the updates that read it.
func (l *lawyer) complete(key string, w, x *instances, b *tir.Buffer) {
	n := common(x, w)
	if n == 0 {
		return
	}
	for _, run := range []*instances{w, x} {
		var values []tir.Expr
		for i, iv := range run.block.Iters {
			if iv.Kind != tir.Spatial {
				values = append(values, run.values[i])
			}
		}
		// Of the reader this matters when it updates what w writes first.
		if len(values) == 0 || run == x && !x.stores(b) {
			continue
		}
		values = append(values, run.parts(n)...)
		l.claim(key+" when complete", &proof.Claim{Kind: proof.Constant, Subject: "reduction " + run.block.Name, Fixed: run.vars[:n], Side: proof.Side{Vars: run.vars[n:], Map: values}})
	}
}

// parts returns the conditions that leave an iteration of the first n loops a part of a reduction alone: those over a loop that
// drives it and one of the first that does not say which element is meant.
func (x *instances) parts(n int) []tir.Expr {
	reduces, says := map[*tir.Var]bool{}, map[*tir.Var]bool{}
	for i, iv := range x.block.Iters {
		for _, v := range x.vars {
			if tir.Uses(x.values[i], v.Var) {
				reduces[v.Var] = reduces[v.Var] || iv.Kind != tir.Spatial
				says[v.Var] = says[v.Var] || iv.Kind == tir.Spatial
			}
		}
	}
	var list []tir.Expr
	for _, c := range tir.Conjuncts(x.where) {
		for _, v := range x.vars[:n] {
			if !says[v.Var] && tir.Uses(c, v.Var) && slices.ContainsFunc(x.vars[n:], func(r proof.Var) bool { return reduces[r.Var] && tir.Uses(c, r.Var) }) {
				list = append(list, c)
			}
		}
	}
	return list
}

// races states that iterations that run at the same time touch different elements.
func (l *lawyer) races() {
	type group struct {
		loop *tir.For
		at   int // its place among the loops of each run
		runs []*instances
	}
	var groups []*group
	byLoop := map[*tir.Var]*group{}
	for _, x := range l.runs {
		for i, f := range x.loops {
			if f.Kind == tir.Serial || f.Kind == tir.Unrolled {
				continue
			}
			g := byLoop[f.Var]
			if g == nil {
				g = &group{loop: f, at: i}
				byLoop[f.Var] = g
				groups = append(groups, g)
			}
			g.runs = append(g.runs, x)
		}
	}
	for _, g := range groups {
		inside := map[*instances]bool{}
		for _, x := range g.runs {
			inside[x] = true
			if !l.same(x) {
				l.drives(g.loop, x)
			}
		}
		for _, b := range buffersWritten(g.runs) {
			if !l.stays(b) && !l.private(b, g.loop, inside) {
				l.distinct(g.loop, g.at, b, g.runs)
			}
		}
	}
}

// drives states that a loop drives no reduce variable: their instances update one element.
func (l *lawyer) drives(f *tir.For, x *instances) {
	var values []tir.Expr
	for i, iv := range x.block.Iters {
		if iv.Kind != tir.Spatial {
			values = append(values, x.values[i])
		}
	}
	if len(values) > 0 && x.known {
		var own, others []proof.Var
		for _, v := range x.vars {
			if v.Var == f.Var {
				own = append(own, v)
			} else {
				others = append(others, v)
			}
		}
		l.claim(fmt.Sprintf("%v loop %s and reduction %s", f.Kind, f.Var.Name, x.block.Name),
			&proof.Claim{Kind: proof.Constant, Subject: "reduction " + x.block.Name, Fixed: own, Side: proof.Side{Vars: others, Map: values}})
	}
}

func buffersWritten(runs []*instances) []*tir.Buffer {
	var list []*tir.Buffer
	seen := map[*tir.Buffer]bool{}
	for _, x := range runs {
		for _, a := range x.effects {
			if a.store && !seen[a.buffer] {
				seen[a.buffer] = true
				list = append(list, a.buffer)
			}
		}
	}
	return list
}

// private reports whether each iteration of a loop has a buffer for itself, which is no result and is touched inside only: what
// it reads of it, it has written.
func (l *lawyer) private(b *tir.Buffer, f *tir.For, inside map[*instances]bool) bool {
	if slices.Contains(l.results, b) || !ownsMemory(f.Kind, f.Thread, b.Scope) {
		return false
	}
	return !slices.ContainsFunc(l.users[b], func(x *instances) bool { return !inside[x] })
}

func (l *lawyer) distinct(f *tir.For, at int, b *tir.Buffer, runs []*instances) {
	key := fmt.Sprintf("%v loop %s and %s", f.Kind, f.Var.Name, b.Name)
	c := &proof.Claim{Kind: proof.Distinct, Subject: fmt.Sprintf("%v loop %s, buffer %s", f.Kind, f.Var.Name, b.Name), Loop: f.Var}
	var sides []proof.Side
	for _, x := range runs {
		for _, a := range x.effects {
			if a.buffer == b && a.store && !(a.known && x.known) {
				l.fault(key, "block %s writes %s at places that are not known", x.block.Name, b.Name)
				return
			}
		}
		if x.stores(b) {
			c.Fixed = x.vars[:at]
			sides = append(sides, x.writes(b, at)...)
		}
	}
	c.Side, c.By = sides[0], sides[1:]
	l.claim(key, c)
}
