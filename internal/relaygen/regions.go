package relaygen

import (
	"fmt"
	"slices"

	"github.com/texel-ml/texel/relay"
	"github.com/texel-ml/texel/tensor"
)

// mostRounds bounds the rounds of a loop that stacks.
const mostRounds = 4

// region draws a branch or a loop.
func (g *Gen) region() relay.Expr {
	if g.flip() {
		return g.loop()
	}
	return g.decision()
}

// decision takes the values of one of two functions by a condition, which is sometimes known.
func (g *Gen) decision() relay.Expr {
	cond := g.exactly(tensor.Bool, tensor.Shape{})
	if g.one(6) {
		cond = g.constant(tensor.Bool, tensor.Shape{})
	}
	like := []relay.Expr{g.movable(0, 4)}
	for range g.n(3) {
		like = append(like, g.movable(0, 4))
	}
	one := len(like) == 1 && g.flip()
	side := func() relay.Expr {
		in, given := g.inside(like...)
		in.draw(1 + in.n(4))
		results := make([]relay.Expr, len(like))
		for i, e := range like {
			results[i] = in.next(given[i], relay.Tensor(e))
		}
		body := results[0]
		if !one {
			body = in.tuple(results...)
		}
		fn, rest := g.closed(in, len(like), body)
		call, err := relay.NewCallFn(fn, append(append([]relay.Expr{}, like...), rest...), g.pos("side"))
		if err != nil {
			panic(fmt.Sprintf("relaygen: %v", err))
		}
		return call
	}
	then, otherwise := side(), side()
	e, err := relay.NewIf(cond, then, otherwise, g.pos("if"))
	if err != nil {
		panic(fmt.Sprintf("relaygen: %v", err))
	}
	return e
}

// loop draws rounds over one to three values, with a trip count, a condition or both, and with what is stacked.
func (g *Gen) loop() relay.Expr {
	l := relay.Loop{State: []relay.Expr{g.movable(0, 3)}}
	for range g.n(3) {
		l.State = append(l.State, g.movable(0, 3))
	}
	if g.one(4) { // the condition says when the loop ends
		l.Cond = g.exactly(tensor.Bool, tensor.Shape{})
	} else {
		l.Trip = g.trip()
		if g.one(3) {
			l.Cond = g.exactly(tensor.Bool, tensor.Shape{})
		}
	}
	in, given := g.inside(append([]relay.Expr{g.same(tensor.Int64, tensor.Shape{}, 0)}, l.State...)...)
	round, state := given[0], given[1:]
	in.draw(1 + in.n(5))
	var results []relay.Expr
	if l.Cond != nil {
		results = append(results, in.another(round))
	}
	for i, s := range l.State {
		results = append(results, in.next(state[i], relay.Tensor(s)))
	}
	if in.flip() {
		l.Max = mostRounds
		for range in.n(3) {
			results = append(results, in.movable(0, 3))
		}
	}
	l.Body, l.Captured = g.closed(in, len(given), in.tuple(results...))
	made, err := relay.NewLoop(l, g.pos("loop"))
	if err != nil {
		panic(fmt.Sprintf("relaygen: %v", err))
	}
	return made
}

// trip is a number of rounds that a loop that stacks has room for: known, an input, or computed.
func (g *Gen) trip() relay.Expr {
	switch g.n(4) {
	case 0:
		return g.integers(tensor.Int64, tensor.Shape{}, 0, mostRounds)
	case 1:
		return g.input(tensor.Int64, tensor.Shape{})
	}
	return g.call("clip", &relay.ClipAttrs{AMin: float64(-g.n(2)), AMax: mostRounds}, g.exactly(tensor.Int64, tensor.Shape{}))
}

// another is whether another round follows: before the last one that there is room for, and sometimes by a value.
func (g *Gen) another(round relay.Expr) relay.Expr {
	more := g.call("less", nil, round, g.integers(tensor.Int64, tensor.Shape{}, 0, mostRounds-1))
	if g.flip() {
		return more
	}
	return g.call("logical_and", nil, more, g.exactly(tensor.Bool, tensor.Shape{}))
}

// next is a value of the type of a state, or of what the other side of a branch gives: the same, another one, or computed
// of both. Floats are mostly kept small, so that rounds do not add up to what has no value.
func (g *Gen) next(old relay.Expr, t *relay.TensorType) relay.Expr {
	if g.one(6) {
		return old
	}
	e := g.exactly(t.DType, t.Shape)
	if g.flip() && t.DType.IsFloat() && !t.DType.IsStorage() {
		e = g.call(pick(g, "add", "multiply", "maximum"), nil, e, old)
	}
	if t.DType.IsStorage() {
		return e
	}
	return g.clipped(e, -2, 2)
}

// inside begins a function, and gives it a parameter for each value, of its type.
func (g *Gen) inside(like ...relay.Expr) (in *Gen, params []relay.Expr) {
	in = &Gen{ops: g.ops, choose: g.choose, o: g.o, float: g.float, depth: g.depth + 1, careful: g.careful}
	for _, e := range like {
		t := relay.Tensor(e)
		params = append(params, in.input(t.DType, t.Shape))
	}
	return in, params
}

// closed returns what in drew as a function, and values of g for its parameters from number first on.
func (g *Gen) closed(in *Gen, first int, body relay.Expr) (fn *relay.Function, args []relay.Expr) {
	for _, wrap := range slices.Backward(in.wrap) {
		body = wrap(body)
	}
	for _, p := range in.params[first:] {
		t := relay.Tensor(p)
		args = append(args, g.exactly(t.DType, t.Shape))
	}
	return relay.NewFunction(in.params, body, false, nil, g.pos("region")), args
}
