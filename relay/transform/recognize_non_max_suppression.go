package transform

import (
	"context"
	"math"
	"slices"

	"github.com/texel-ml/texel/diag"
	"github.com/texel-ml/texel/relay"
	"github.com/texel-ml/texel/tensor"
)

// RecognizeNonMaxSuppression finds greedy non-maximum suppression that is written out step by step, as the post-processing of
// detectors is where a format or a device has no such operator, or where a loop of known length was unrolled. Each step takes
// the box of the best score and takes out those that overlap it:
//
//	bₖ = argmax(sₖ), or topk(sₖ, 1)
//	i = max(min(upper, upper[bₖ]) - max(lower, lower[bₖ]), 0) for both sides, their product
//	sₖ₊₁ = where(i / (area + area[bₖ] - i) > threshold [or place = bₖ], fill, sₖ), or sₖ · (… ≤ threshold) with fill 0
//
// Runs over the same boxes, as those of the classes are, become one vision.non_max_suppression, whose rows are sorted out to
// what each step would have taken: when no box is left, the first one with the score fill. A box without area does not
// overlap itself, and where no step takes it out it is taken again and again; that is kept. Scores must be proven not to lie
// below fill; with a NaN among them any box may be chosen.
func RecognizeNonMaxSuppression(_ context.Context, m *relay.Module, o *Options) (*relay.Module, error) {
	r := &rewriter{step: "recognize-non-max-suppression", o: o}
	for {
		runs := findRuns(m.Main())
		if len(runs) == 0 || o.MaxRewrites > 0 && r.count >= o.MaxRewrites {
			return m, nil
		}
		next, err := r.suppress(m, runs)
		if err != nil {
			return nil, err
		}
		m = next
	}
}

// greedyRun is a chain of steps on one vector of scores.
type greedyRun struct {
	scores relay.Expr // of N boxes
	n      int
	steps  []*greedyStep
	overlapRule
}

// overlapRule is when a box takes out another.
type overlapRule struct {
	lower, upper [2]corner
	threshold    float64
	fill         float64
	explicit     bool // the box itself is taken out too, whatever it overlaps
}

// greedyStep is what reads one state of the scores.
type greedyStep struct {
	state relay.Expr
	picks []relay.Expr // the place of the best score
	tops  []relay.Expr // the best score
	next  relay.Expr   // the scores behind the step; nil: the last
	rule  overlapRule
}

// mostRules bounds the operators between a state and the next.
const mostRules = 4

// findRuns returns the runs over the first boxes for which there are any: all that have the same rule and number of steps.
func findRuns(main *relay.Function) []*greedyRun {
	f := &runFinder{readers: map[relay.Expr][]relay.Expr{}, steps: map[relay.Expr]*greedyStep{}}
	var order []relay.Expr
	for e := range relay.PostOrder(main, false) {
		for _, a := range relay.Operands(e) {
			f.readers[a] = append(f.readers[a], e)
		}
		f.reads(e)
		order = append(order, e)
	}
	if len(f.steps) < 2 {
		return nil
	}
	behind := map[relay.Expr]bool{} // states that a step made
	for _, e := range order {
		if s := f.suppression(e); s != nil {
			s.next = e
			behind[e] = true
		}
	}
	var runs []*greedyRun
	for _, e := range order {
		s := f.steps[e]
		if s == nil || s.next == nil || behind[e] {
			continue
		}
		run := f.follow(s)
		if run == nil || len(runs) > 0 && (run.overlapRule != runs[0].overlapRule || len(run.steps) != len(runs[0].steps) || run.n != runs[0].n) {
			continue
		}
		runs = append(runs, run)
	}
	return runs
}

// runFinder looks for steps.
type runFinder struct {
	readers map[relay.Expr][]relay.Expr
	steps   map[relay.Expr]*greedyStep // by their state
}

func (f *runFinder) step(state relay.Expr) *greedyStep {
	state = unshaped(state)
	if f.steps[state] == nil {
		f.steps[state] = &greedyStep{state: state}
	}
	return f.steps[state]
}

// size returns the number of elements of a tensor.
func size(e relay.Expr) int {
	if t := relay.Tensor(e); t != nil {
		return t.Shape.Elems()
	}
	return -1
}

// reads notes e where it gives the best score of a vector or its place.
func (f *runFinder) reads(e relay.Expr) {
	switch e := e.(type) {
	case *relay.TupleGet:
		if c, ok := is(e.Tuple, "topk"); ok && size(e) == 1 {
			if a := c.Attrs.(*relay.TopKAttrs); a.K != 1 || a.IsAscend {
				return
			}
			s := f.step(c.Args[0])
			if e.Index == 1 {
				s.picks = append(s.picks, e)
			} else {
				s.tops = append(s.tops, e)
			}
		}
	case *relay.Call:
		if e.Op == nil || size(e) != 1 || len(e.Args) == 0 || size(e.Args[0]) < 2 || !relay.Tensor(e.Args[0]).DType.IsFloat() {
			return
		}
		switch e.Op.Name {
		case "argmax":
			if !e.Attrs.(*relay.ArgReduceAttrs).SelectLastIndex {
				s := f.step(e.Args[0])
				s.picks = append(s.picks, e)
			}
		case "max":
			s := f.step(e.Args[0])
			s.tops = append(s.tops, e)
		case "take":
			if s := f.steps[unshaped(e.Args[0])]; s != nil && s.isPick(e.Args[1]) {
				s.tops = append(s.tops, e)
			}
		}
	}
}

// isPick reports whether e is the place of the step's best score.
func (s *greedyStep) isPick(e relay.Expr) bool {
	e = unshaped(e)
	if c, ok := is(e, "cast"); ok && relay.Tensor(c).DType.IsInt() {
		e = unshaped(c.Args[0])
	}
	return slices.Contains(s.picks, e)
}

// suppression returns the step that makes e, with its rule, or nil.
func (f *runFinder) suppression(e relay.Expr) *greedyStep {
	c, ok := e.(*relay.Call)
	if !ok || f.steps[e] == nil || c.Op == nil || size(c) < 2 {
		return nil // nobody takes the best of it: it is not the end of a step
	}
	var tests []test
	state := e
	fill := math.NaN()
	for len(tests) < mostRules {
		t, v, below := takenOut(state)
		if below == nil || !math.IsNaN(fill) && fill != v || size(below) != size(e) {
			return nil
		}
		tests, fill, state = append(tests, t.parts()...), v, unshaped(below)
		if s := f.steps[state]; s != nil && len(s.picks) > 0 {
			rule, ok := s.ruleOf(tests)
			rule.fill = fill
			if !ok || s.next != nil {
				return nil
			}
			s.rule = rule
			return s
		}
	}
	return nil
}

// test is a condition, or its opposite; with place set, that a place is e.
type test struct {
	e       relay.Expr
	negated bool
	place   bool
}

// parts takes a disjunction apart.
func (t test) parts() []test {
	if t.place {
		return []test{t}
	}
	e := unshaped(t.e)
	if c, ok := is(e, "logical_not"); ok {
		return test{e: c.Args[0], negated: !t.negated}.parts()
	}
	if c, ok := is(e, map[bool]string{false: "logical_or", true: "logical_and"}[t.negated]); ok {
		return append(test{e: c.Args[0], negated: t.negated}.parts(), test{e: c.Args[1], negated: t.negated}.parts()...)
	}
	return []test{{e: e, negated: t.negated}}
}

// takenOut matches where(test, fill, s), where(not test, s, fill), s · cast(not test), and fill written to a place of s.
func takenOut(e relay.Expr) (t test, fill float64, s relay.Expr) {
	if c, ok := is(e, "where"); ok {
		if v, ok := number(c.Args[1]); ok {
			return test{e: c.Args[0]}, v, c.Args[2]
		}
		if v, ok := number(c.Args[2]); ok {
			return test{e: c.Args[0], negated: true}, v, c.Args[1]
		}
	}
	if c, ok := e.(*relay.Call); ok && c.Op != nil && len(c.Args) == 3 && writesOver(c) {
		if v, ok := number(c.Args[2]); ok {
			return test{e: c.Args[1], place: true}, v, c.Args[0]
		}
	}
	commuted(e, "multiply", func(a, b relay.Expr) bool {
		mask, ok := is(unshaped(b), "cast")
		if ok = ok && relay.Tensor(mask.Args[0]).DType == tensor.Bool; ok {
			t, fill, s = test{e: mask.Args[0], negated: true}, 0, a
		}
		return ok
	})
	return t, fill, s
}

// writesOver reports whether c writes numbers over some of a vector's, at their places.
func writesOver(c *relay.Call) bool {
	switch a := c.Attrs.(type) {
	case *relay.ScatterElementsAttrs:
		return a.Reduction == "update" && size(c.Args[0]) == relay.Tensor(c.Args[0]).Shape[relay.NormalAxis(a.Axis, len(relay.Tensor(c.Args[0]).Shape))]
	case *relay.ScatterNDAttrs:
		return a.Mode == "update" && len(relay.Tensor(c.Args[0]).Shape) == 1
	}
	return false
}

// ruleOf reads the conditions under which a step takes a box out: it overlaps the best one, or is it.
func (s *greedyStep) ruleOf(tests []test) (rule overlapRule, ok bool) {
	found := 0
	for _, t := range tests {
		if s.isSelf(t) {
			rule.explicit = true
			continue
		}
		more := map[bool]string{false: "greater", true: "less_equal"}[t.negated]
		c, is1 := is(t.e, more)
		if !is1 {
			return rule, false
		}
		lower, upper, threshold, overlaps := s.overlap(c)
		if !overlaps {
			return rule, false
		}
		rule.lower, rule.upper, rule.threshold = lower, upper, threshold
		found++
	}
	return rule, found == 1 && rule.threshold >= 0 && rule.threshold < 1
}

// isSelf matches place = best.
func (s *greedyStep) isSelf(t test) bool {
	if t.place {
		return s.isPick(t.e)
	}
	return commuted(t.e, map[bool]string{false: "equal", true: "not_equal"}[t.negated], func(a, b relay.Expr) bool {
		k, ok := unshaped(a).(*relay.Constant)
		if !ok || !k.Value.DType.IsInt() || k.Value.Elems() != size(s.state) {
			return false
		}
		for i, v := range tensor.Widen(k.Value).I {
			if v != int64(i) {
				return false
			}
		}
		return s.isPick(b)
	})
}

// follow returns the run that begins with a step, nil where it cannot be replaced.
func (f *runFinder) follow(s *greedyStep) *greedyRun {
	run := &greedyRun{scores: s.state, n: size(s.state), overlapRule: s.rule}
	for ; s != nil; s = f.steps[unshapedOrNil(s.next)] {
		if len(s.picks) == 0 {
			break // the scores that are left, which nobody looks at
		}
		if s.next != nil && s.rule != run.overlapRule || !f.closed(s, len(run.steps) > 0) {
			return nil
		}
		run.steps = append(run.steps, s)
	}
	if len(run.steps) < 2 || !(math.IsInf(run.fill, -1) || run.fill <= 0 && neverNegative(run.scores)) {
		return nil
	}
	return run
}

func unshapedOrNil(e relay.Expr) relay.Expr {
	if e == nil {
		return nil
	}
	return unshaped(e)
}

// closed reports whether nobody but the step reads its state, apart from that of the first step: else it would be computed
// all the same.
func (f *runFinder) closed(s *greedyStep, inner bool) bool {
	todo := []relay.Expr{s.state}
	for inner && len(todo) > 0 {
		e := todo[0]
		todo = todo[1:]
		for _, reader := range f.readers[e] {
			c, ok := reader.(*relay.Call)
			if reader == s.next || slices.Contains(s.picks, reader) || slices.Contains(s.tops, reader) || ok && c.Op != nil && c.Op.Name == "topk" {
				continue
			}
			if _, _, below := takenOut(reader); below == nil && unshaped(reader) == reader {
				return false
			}
			todo = append(todo, reader)
		}
	}
	return true
}

// suppress replaces runs by one operator.
func (r *rewriter) suppress(m *relay.Module, runs []*greedyRun) (*relay.Module, error) {
	first := runs[0].steps[0].picks[0]
	r.pos, r.uses = first.Pos(), map[relay.Expr]int{}
	b := &suppressor{r: r, runs: runs, n: runs[0].n, most: len(runs[0].steps)}
	b.build()
	if b.err != nil {
		return nil, b.err
	}
	r.count++
	r.o.Notes.Add(diag.Rewrote, r.step, r.pos.Node, "%d runs of %d steps of non-maximum suppression over %d boxes were written out", len(runs), b.most, b.n)
	if r.o.Rewrote != nil {
		r.o.Rewrote(Rewrite{Pass: r.step, Number: r.count, Node: r.pos.Node, Before: first, After: b.to[first]})
	}
	body, err := relay.Rewrite(m.Main(), func(old, rebuilt relay.Expr) (relay.Expr, error) {
		if to := b.to[old]; to != nil {
			return to, nil
		}
		return rebuilt, nil
	})
	if err != nil {
		return nil, err
	}
	return m.WithMain(body.(*relay.Function)), nil
}

// suppressor makes the operator and what its rows mean. G is the number of runs, K that of steps, N that of boxes.
type suppressor struct {
	r       *rewriter
	runs    []*greedyRun
	n, most int
	to      map[relay.Expr]relay.Expr // what stands for the places and scores of each step
	err     error
}

func (b *suppressor) call(name string, attrs any, args ...relay.Expr) relay.Expr {
	if b.err != nil {
		return args[0]
	}
	e, err := b.r.call(name, attrs, args...)
	if err != nil {
		b.err = err
		return args[0]
	}
	return e
}

func (b *suppressor) reshape(e relay.Expr, shape ...int) relay.Expr {
	return b.call("reshape", &relay.ReshapeAttrs{NewShape: shape}, e)
}

func (b *suppressor) join(axis int, list ...relay.Expr) relay.Expr {
	return b.call("concatenate", &relay.ConcatAttrs{Axis: axis}, relay.NewTuple(list, b.r.pos))
}

// places is 0, 1, … n-1 in a shape.
func (b *suppressor) places(n int, shape ...int) relay.Expr {
	w := tensor.NewWide(tensor.Int64, shape)
	for i := range n {
		w.I[i] = int64(i)
	}
	return b.r.constant(w)
}

func (b *suppressor) index(v int) relay.Expr {
	return b.r.constant(&tensor.Wide{DType: tensor.Int64, Shape: tensor.Shape{}, I: []int64{int64(v)}})
}

func (b *suppressor) number(v float64) relay.Expr {
	return b.r.constant(&tensor.Wide{DType: tensor.Float64, Shape: tensor.Shape{}, F: []float64{v}})
}

func (b *suppressor) field(tuple relay.Expr, i int) relay.Expr {
	g, err := relay.NewTupleGet(tuple, i, b.r.pos)
	if err != nil {
		b.err = err
		return tuple
	}
	return g
}

// column is column i of the rows, as (1, M).
func (b *suppressor) column(rows relay.Expr, i, m int) relay.Expr {
	return b.reshape(b.call("strided_slice", &relay.StridedSliceAttrs{Begin: []int{i}, End: []int{i + 1}, Axes: []int{1}}, rows), 1, m)
}

func (b *suppressor) build() {
	groups, rule := len(b.runs), b.runs[0].overlapRule
	var scores, sides []relay.Expr
	for _, run := range b.runs {
		scores = append(scores, b.reshape(run.scores, 1, 1, b.n))
	}
	vector := func(c corner) relay.Expr { return b.reshape(b.vectorOf(c), 1, b.n, 1) }
	for k := range 2 {
		sides = append(sides, vector(rule.lower[k]))
	}
	for k := range 2 { // a box turned inside out has no area
		sides = append(sides, b.call("maximum", nil, vector(rule.upper[k]), sides[k]))
	}
	boxes, all := b.join(2, sides...), b.join(1, scores...)
	least := rule.fill
	if math.IsInf(least, -1) { // the operator takes every box then, also those with a score of -∞
		least = max(-math.MaxFloat64, -tensor.MaxFinite(relay.Tensor(all).DType)*(1+0x1p-30))
	}
	both := b.call("vision.non_max_suppression", &relay.NonMaxSuppressionAttrs{MostBoxes: b.most}, boxes, all, b.index(b.most), b.number(rule.threshold), b.number(least))
	if b.err != nil {
		return
	}
	m := groups * min(b.n, b.most)
	rows := b.field(both, 0)
	// Rows of a class follow those of the classes before it: how many there are, and where they begin.
	own := b.call("equal", nil, b.column(rows, 1, m), b.places(groups, groups, 1)) // (G, M)
	count := b.call("sum", &relay.ReduceAttrs{Axis: []int{1}, Keepdims: true}, b.call("cast", b.castTo(tensor.Int64), own))
	begin := b.call("cumsum", &relay.ScanAttrs{Axis: 0, Exclusive: true}, count)
	step := b.places(b.most, 1, b.most)
	at := b.call("minimum", nil, b.call("add", nil, step, begin), b.index(m-1))                                               // (G, K)
	place := b.call("take", &relay.TakeAttrs{Mode: "clip"}, b.reshape(b.column(rows, 2, m), m), at)                           // (G, K)
	there := b.call("less", nil, step, count)                                                                                 // (G, K)
	place = b.call("where", nil, there, place, b.index(0))                                                                    // (G, K)
	score := b.call("gather", &relay.AxisAttrs{Axis: 1}, b.reshape(all, groups, b.n), place)                                  // (G, K)
	score = b.call("where", nil, there, score, b.r.constantAs(relay.Tensor(all).DType, tensor.Shape{}, []float64{rule.fill})) // (G, K)
	if !rule.explicit {
		place, score = b.again(boxes, place, score, step)
	}
	b.hand(place, score)
}

func (b *suppressor) castTo(d tensor.DType) *relay.CastAttrs {
	return &relay.CastAttrs{DType: d, Saturate: true, RoundMode: "up"}
}

// again repeats what the first box without area gave: it takes nothing out, not even itself.
func (b *suppressor) again(boxes, place, score, step relay.Expr) (relay.Expr, relay.Expr) {
	side := func(k int) relay.Expr { // (N) upper - lower
		column := func(i int) relay.Expr {
			return b.call("strided_slice", &relay.StridedSliceAttrs{Begin: []int{i}, End: []int{i + 1}, Axes: []int{2}}, boxes)
		}
		return b.reshape(b.call("subtract", nil, column(k+2), column(k)), b.n)
	}
	area := b.call("multiply", nil, side(0), side(1))
	zero := b.r.constantAs(relay.Tensor(boxes).DType, tensor.Shape{}, []float64{0})
	none := b.call("cast", b.castTo(tensor.Int64), b.call("less_equal", nil, b.call("take", &relay.TakeAttrs{Mode: "clip"}, area, place), zero))
	// the running number of boxes without area before a step; the first of them is at the number of steps without any
	before := b.call("cumsum", &relay.ScanAttrs{Axis: 1, Exclusive: true}, none)
	clean := b.call("cast", b.castTo(tensor.Int64), b.call("equal", nil, before, b.index(0)))
	first := b.call("sum", &relay.ReduceAttrs{Axis: []int{1}, Keepdims: true}, clean) // steps up to the first such box, itself counted
	at := b.call("minimum", nil, step, b.call("subtract", nil, first, b.index(1)))
	return b.call("gather", &relay.AxisAttrs{Axis: 1}, place, at), b.call("gather", &relay.AxisAttrs{Axis: 1}, score, at)
}

// hand gives each step its place and score.
func (b *suppressor) hand(place, score relay.Expr) {
	b.to = map[relay.Expr]relay.Expr{}
	for g, run := range b.runs {
		for k, s := range run.steps {
			one := func(e relay.Expr, t *relay.TensorType) relay.Expr {
				e = b.call("strided_slice", &relay.StridedSliceAttrs{Begin: []int{g, k}, End: []int{g + 1, k + 1}}, e)
				if relay.Tensor(e).DType != t.DType {
					e = b.call("cast", b.castTo(t.DType), e)
				}
				return b.reshape(e, t.Shape.Clone()...)
			}
			for _, e := range s.picks {
				b.to[e] = one(place, relay.Tensor(e))
			}
			for _, e := range s.tops {
				b.to[e] = one(score, relay.Tensor(e))
			}
		}
	}
}
