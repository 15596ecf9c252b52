package onnx

import (
	"cmp"
	"errors"
	"math"
	"slices"

	"github.com/texel-ml/texel/diag"
	"github.com/texel-ml/texel/relay"
	pb "github.com/texel-ml/texel/relay/importer/onnx/onnxpb"
	"github.com/texel-ml/texel/tensor"
)

// unrollNodes bounds what a loop of known length is unrolled to, in nodes of the model; a round counts as 16 itself. Longer
// ones, and those whose length is known only when the model runs, are loops of the compiled model.
const unrollNodes = 512

// rounds is a loop on its way: of Loop, Scan, or a recurrent layer.
type rounds struct {
	n     *node
	trip  relay.Expr // int64 (); nil: no limit
	cond  relay.Expr // bool (), before the first round; nil: it holds
	state []relay.Expr
	names []string // of the round and the state
	// step converts one round in r, and returns whether another one may follow, nil being always; the state; and parts.
	step     func(r *region, round relay.Expr, state []relay.Expr) (holds relay.Expr, next, parts []relay.Expr)
	collects bool   // step gives parts
	axes     []int  // where the stack of each part has the axis of the rounds; nil: in front
	back     []bool // whether its last round comes first; nil: never
}

// Why a loop is not unrolled.
var (
	errLong = errors.New("it is too long")
	errOpen = errors.New("its length is known only when the model runs")
)

// run returns the last state, a stack of each part, and the number of rounds, int64 (1), where the stacks have room for
// more; else nil. Short loops of known length are unrolled.
func (l *rounds) run() (state, stacks []relay.Expr, count relay.Expr) {
	n := l.n
	trips, known := l.trips()
	if known && !n.im.loops[n.proto] {
		err := n.attempt(func() { state, stacks = l.unroll(trips, unrollNodes) })
		if err == nil {
			return state, stacks, nil
		}
		if err != errLong && err != errOpen {
			n.fail(err)
		}
	}
	n.im.loops[n.proto] = true // and in what is around, which may be tried again, it is not tried to unroll it again
	err := n.attempt(func() { state, stacks, count = l.convert() })
	if err == nil {
		return state, stacks, count
	}
	if known && trips < maxNodes && n.attempt(func() { state, stacks = l.unroll(trips, maxNodes) }) == nil {
		n.im.notes.Add(diag.Fallback, step, n.pos.Node, "unrolled, though that makes many nodes: %v", err)
		return state, stacks, nil
	}
	n.fail(err)
	return nil, nil, nil
}

// trips returns the trip count, if it is known.
func (l *rounds) trips() (int, bool) {
	if l.trip == nil {
		return math.MaxInt, true
	}
	v, err := l.n.im.evaluate(l.trip)
	if err != nil {
		return 0, false
	}
	return max(0, int(v.(*tensor.Wide).I[0])), true
}

// most returns a limit of the number of rounds, if there is one.
func (l *rounds) most() (int, bool) {
	trips, known := l.trips()
	if known && trips <= math.MaxInt32 { // a larger count says that there is none
		return trips, true
	}
	return l.n.im.opts.MaxTrips, l.collects && l.n.im.opts.MaxTrips > 0
}

// axis returns where the rounds lie in a stack of part k with the given number of axes.
func (l *rounds) axis(k, rank int) int {
	if l.axes == nil {
		return 0
	}
	return l.n.axis(l.axes[k], rank)
}

func (l *rounds) backward(k int) bool { return l.back != nil && l.back[k] }

// unroll converts every round by itself.
func (l *rounds) unroll(trips, limit int) (state, stacks []relay.Expr) {
	n, cond, before := l.n, l.cond, l.n.im.nodes
	state = l.state
	var parts [][]relay.Expr
	for i := range trips {
		if cond != nil {
			if yes, known := n.knownBool(cond); !known {
				n.fail(errOpen)
			} else if !yes {
				break
			}
		}
		n.step()
		var given []relay.Expr
		cond, state, given = l.step(&region{n: n, open: true}, n.scalar(tensor.Int64, float64(i)), state)
		if i == 0 {
			parts = make([][]relay.Expr, len(given))
		}
		for k, e := range given {
			parts[k] = append(parts[k], n.reshape(e, slices.Insert(n.known(e).Clone(), l.axis(k, n.rank(e)+1), 1)))
		}
		if used := n.im.nodes - before; used > limit || i == 0 && cond == nil && used > limit/trips {
			n.fail(errLong)
		}
	}
	if parts == nil { // no round says what the stacks would hold
		n.fail(errOpen)
	}
	for k, list := range parts {
		if l.backward(k) {
			slices.Reverse(list)
		}
		stacks = append(stacks, n.concat(list, l.axis(k, n.rank(list[0]))))
	}
	return state, stacks
}

// turn is one round as a function of its number, the state, and what it captures.
type turn struct {
	r           *region
	round       *relay.Var
	state       []*relay.Var
	holds       relay.Expr // nil: always
	next, parts []relay.Expr
}

// convert makes a loop of the compiled model.
func (l *rounds) convert() (state, stacks []relay.Expr, count relay.Expr) {
	n := l.n
	n.step()
	t := l.turn()
	for i, e := range t.next {
		l.fixed(e, l.names[1+i])
		if a, b := n.typ(l.state[i]), n.typ(e); !relay.TypeEqual(a, b) {
			n.failUnsupported("%q has type %v before a round and %v behind it, which must be the same", l.names[1+i], a, b)
		}
	}
	for _, e := range t.parts {
		l.fixed(e, "a value that is collected")
	}
	if trips, known := l.trips(); known && trips == 0 || n.decided(l.cond, false) {
		return l.state, l.none(t.parts), nil
	}
	return l.loop(t, n.decided(l.cond, true) && n.decided(t.holds, true))
}

// turn converts a round whose number and state are not known.
func (l *rounds) turn() *turn {
	n := l.n
	t := &turn{r: n.region()}
	t.round = t.r.changing(l.names[0], &relay.TensorType{Shape: tensor.Shape{}, DType: tensor.Int64})
	if most, known := l.most(); known && most > 0 {
		n.im.ranges[t.round] = interval{0, most - 1}
	}
	before := make([]relay.Expr, len(l.state))
	for i, e := range l.state {
		l.fixed(e, l.names[1+i])
		t.state = append(t.state, t.r.changing(l.names[1+i], e.Type()))
		before[i] = t.state[i]
	}
	t.holds, t.next, t.parts = l.step(t.r, t.round, before)
	return t
}

// decided reports whether a condition is known to be yes; none always holds.
func (n *node) decided(condition relay.Expr, yes bool) bool {
	if condition == nil {
		return yes
	}
	value, known := n.knownBool(condition)
	return known && value == yes
}

// fixed refuses a value whose shape is known only when the model runs.
func (l *rounds) fixed(e relay.Expr, name string) {
	l.n.known(e)
	if x, ok := l.n.im.extents[e]; ok {
		l.n.failUnsupported("the extent of axis %d of %q is known only when the model runs, and must be the same in every round", x.axis, name)
	}
}

// none returns the stacks of no rounds.
func (l *rounds) none(parts []relay.Expr) (stacks []relay.Expr) {
	n := l.n
	for k, e := range parts {
		shape := slices.Insert(n.known(e).Clone(), l.axis(k, n.rank(e)+1), 0)
		stacks = append(stacks, n.constant(tensor.New(n.dtype(e), shape)))
	}
	return stacks
}

// loop makes the loop whose body is t. always says that its condition holds whatever happens.
func (l *rounds) loop(t *turn, always bool) (state, stacks []relay.Expr, count relay.Expr) {
	n := l.n
	made := relay.Loop{Trip: l.trip}
	first, given := []*relay.Var{t.round}, []relay.Expr(nil)
	if !always {
		yes := n.scalar(tensor.Bool, 1)
		made.Cond = cmp.Or(l.cond, yes)
		given = append(given, cmp.Or(t.holds, yes))
	}
	at := make([]int, len(t.next)) // state → field of the loop's value, -1 when it stays what it is
	for i, e := range t.next {
		if at[i] = -1; e == relay.Expr(t.state[i]) {
			t.r.params, t.r.captured = append(t.r.params, t.state[i]), append(t.r.captured, l.state[i])
			continue
		}
		at[i] = len(made.State)
		made.State, first, given = append(made.State, l.state[i]), append(first, t.state[i]), append(given, e)
	}
	exact := true
	if len(t.parts) > 0 {
		made.Max, exact = l.room(always)
	}
	if len(made.State)+len(t.parts) == 0 {
		return l.state, nil, nil // whatever the rounds compute, nothing comes of it
	}
	made.Captured, made.Body = t.r.captured, t.r.function(first, n.tuple(append(given, t.parts...)...))
	loop, err := relay.NewLoop(made, n.pos)
	if err != nil {
		n.fail(err)
	}
	fields := n.fields(loop)
	for i, e := range l.state {
		if at[i] >= 0 {
			e = fields[at[i]]
		}
		state = append(state, e)
	}
	if !exact {
		count = fields[len(fields)-1]
	}
	for k, e := range fields[len(made.State) : len(fields)-1] {
		stacks = append(stacks, l.placed(e, k))
	}
	return state, stacks, count
}

// room returns for how many rounds the stacks have room, and whether each is taken.
func (l *rounds) room(always bool) (room int, exact bool) {
	trips, known := l.trips()
	most := l.n.im.opts.MaxTrips
	switch {
	case known && trips <= math.MaxInt32 && (always || most == 0 || trips <= most): // a larger count says that there is none
		return trips, always
	case most > 0:
		return most, false
	}
	l.n.failUnsupported("values are collected, and the number of rounds is known only when the model runs: give a limit with --max-trips N")
	return 0, false
}

// placed turns a stack, whose rounds are in front, so that they are where they belong.
func (l *rounds) placed(e relay.Expr, k int) relay.Expr {
	n := l.n
	if l.backward(k) {
		e = n.call("reverse", &relay.AxisAttrs{Axis: 0}, e)
	}
	perm := make([]int, n.rank(e))
	for i := range perm {
		perm[i] = i
	}
	return n.transpose(e, slices.Insert(perm[1:], l.axis(k, len(perm)), 0))
}

// part returns what a round gets of a value that is scanned along an axis.
func (r *region) part(x relay.Expr, axis, extent int, backward bool, round relay.Expr) relay.Expr {
	n := r.n
	if extent == 0 { // there is no round
		return n.zeros(slices.Delete(n.shape(x).Clone(), axis, axis+1), n.dtype(x))
	}
	if c, ok := round.(*relay.Constant); ok {
		t := int(tensor.Widen(c.Value).I[0])
		if backward {
			t = extent - 1 - t
		}
		return n.reshape(n.sliceAxis(x, axis, t, t+1), slices.Delete(n.shape(x).Clone(), axis, axis+1))
	}
	if backward {
		round = n.sub(n.scalar(tensor.Int64, float64(extent-1)), round)
	}
	return n.take(r.capture("scanned", x), round, axis)
}

// loop runs its body while fewer rounds than the trip count have run and the condition holds. A body gives a condition
// even where the node has none, and it counts.
func loop(n *node) []relay.Expr {
	body := n.subgraph("body")
	l := &rounds{n: n}
	if e := n.opt(0); e != nil {
		n.wants(n.dtype(e) == tensor.Int64 && n.shape(e).Elems() == 1, "a trip count of type %v, wanted one int64", n.typ(e))
		l.trip = n.reshape(e, tensor.Shape{})
	}
	if e := n.opt(1); e != nil {
		l.cond = n.condition(e)
	}
	for i := 2; i < len(n.args); i++ {
		l.state = append(l.state, n.in(i))
	}
	count := len(l.state)
	n.wants(len(body.GetInput()) == 2+count && len(body.GetOutput()) > count, "the body takes %d values and gives %d, for a state of %d", len(body.GetInput()), len(body.GetOutput()), count)
	l.collects = len(body.GetOutput()) > 1+count
	for i, v := range body.GetInput() {
		if i != 1 {
			l.names = append(l.names, v.GetName())
		}
	}
	l.step = func(r *region, round relay.Expr, state []relay.Expr) (relay.Expr, []relay.Expr, []relay.Expr) {
		out := r.graph(body, append([]relay.Expr{round, n.scalar(tensor.Bool, 1)}, state...)...)
		return n.condition(out[0]), out[1 : 1+count], out[1+count:]
	}
	state, stacks, rounds := l.run()
	if rounds != nil {
		for _, e := range stacks {
			n.bounded(e, 0, rounds)
		}
	}
	return append(slices.Clone(state), stacks...)
}

// scan runs its body once for each slice of the scanned operands.
func scan(n *node) []relay.Expr {
	if n.opset < 9 {
		return n.batchedScan()
	}
	body := n.subgraph("body")
	scanned := n.int("num_scan_inputs", 0)
	n.wants(scanned >= 1 && scanned <= len(n.args), "num_scan_inputs %d for %d operands", scanned, len(n.args))
	args := n.all(1)
	l := &rounds{n: n, state: args[:len(args)-scanned], names: []string{"round"}}
	args = args[len(l.state):]
	count := len(l.state)
	n.wants(len(body.GetInput()) == count+scanned && len(body.GetOutput()) >= count, "the body takes %d values and gives %d, for a state of %d and %d scanned operands",
		len(body.GetInput()), len(body.GetOutput()), count, scanned)
	for _, v := range body.GetInput()[:count] {
		l.names = append(l.names, v.GetName())
	}
	outs := len(body.GetOutput()) - count
	axes, backward := n.listOf("scan_input_axes", scanned), n.listOf("scan_input_directions", scanned)
	l.axes = n.listOf("scan_output_axes", outs)
	for _, d := range n.listOf("scan_output_directions", outs) {
		l.back = append(l.back, d != 0)
	}
	extent := -1
	for i, e := range args {
		axes[i] = n.axis(axes[i], n.rank(e))
		d := n.known(e)[axes[i]]
		n.wants(extent < 0 || extent == d, "scanned operands have %d and %d rounds", extent, d)
		extent = d
	}
	l.trip = n.scalar(tensor.Int64, float64(extent))
	l.step = func(r *region, round relay.Expr, state []relay.Expr) (relay.Expr, []relay.Expr, []relay.Expr) {
		inputs := slices.Clone(state)
		for i, e := range args {
			inputs = append(inputs, r.part(e, axes[i], extent, backward[i] != 0, round))
		}
		out := r.graph(body, inputs...)
		return nil, out[:count], out[count:]
	}
	state, stacks, _ := l.run()
	return append(slices.Clone(state), stacks...)
}

// batchedScan is Scan as it was in opset 8: every operand has a batch axis in front, the scanned ones the rounds behind
// it, and operand 0 gives the lengths of the sequences.
func (n *node) batchedScan() []relay.Expr {
	if n.opt(0) != nil {
		n.failUnsupported("lengths of sequences in Scan of opset 8")
	}
	n.wants(len(n.args) > 1, "no operands")
	args := n.args[1:]
	batch := n.known(n.in(1))[0]
	var rounds [][]relay.Expr
	for b := range batch {
		one := *n
		one.opset, one.args = 9, nil
		one.attrs = map[string]*pb.AttributeProto{"body": n.attrs["body"], "num_scan_inputs": n.attrs["num_scan_inputs"]}
		if d := n.attrs["directions"]; d != nil {
			one.attrs["scan_input_directions"] = d
		}
		for i := range args {
			e := n.in(1 + i)
			n.wants(n.rank(e) >= 1 && n.known(e)[0] == batch, "operands of shapes %v and %v", n.shape(e), n.shape(n.in(1)))
			one.args = append(one.args, n.reshape(n.sliceAxis(e, 0, b, b+1), n.shape(e)[1:]))
		}
		rounds = append(rounds, scan(&one))
	}
	n.wants(len(rounds) > 0, "an empty batch")
	out := make([]relay.Expr, len(rounds[0]))
	for k := range out {
		var parts []relay.Expr
		for b := range rounds {
			parts = append(parts, n.reshape(rounds[b][k], slices.Insert(n.known(rounds[b][k]).Clone(), 0, 1)))
		}
		out[k] = n.concat(parts, 0)
	}
	return out
}
