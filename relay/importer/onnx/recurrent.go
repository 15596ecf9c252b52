package onnx

import (
	"slices"

	"github.com/texel-ml/texel/relay"
	"github.com/texel-ml/texel/tensor"
)

// recurrence is one direction of RNN, GRU or LSTM. X is (T, B, I), the weights W (gates·H, I) and R (gates·H, H), the state
// (B, H).
type recurrence struct {
	n           *node
	x           relay.Expr // (T, B, I)
	lens        relay.Expr // (B), or nil
	hidden      int
	activations []func(relay.Expr) relay.Expr
	clip        float64
	w, r        relay.Expr
	wb, rb      relay.Expr // biases (gates·H), or nil
	peep        relay.Expr // (3·H), or nil
	h, c        relay.Expr
	before      bool // linear_before_reset
	coupled     bool // input_forget
}

// recurrent makes the row of an operator with the given number of gates.
func recurrent(gates int, defaults []string, cell func(*recurrence, relay.Expr) (h, c relay.Expr)) func(*node) []relay.Expr {
	return func(n *node) []relay.Expr {
		x := n.in(0)
		batchFirst := n.int("layout", 0) == 1
		if batchFirst {
			x = n.transpose(x, []int{1, 0, 2})
		}
		s := n.known(x)
		n.wants(len(s) == 3 && s[0] > 0, "an operand of shape %v", s)
		ws, rs := n.known(n.in(1)), n.known(n.in(2))
		directions := []bool{false} // reversed or not
		switch d := n.str("direction", "forward"); d {
		case "forward":
		case "reverse":
			directions = []bool{true}
		case "bidirectional":
			directions = []bool{false, true}
		default:
			n.failInvalid("direction %q", d)
		}
		count := len(directions)
		n.wants(len(rs) == 3 && rs[0] == count && rs[1] == gates*rs[2] && ws.Equal(tensor.Shape{count, rs[1], s[2]}), "weights of shapes %v and %v for an operand of shape %v", ws, rs, s)
		hidden := rs[2]
		n.wants(n.int("hidden_size", hidden) == hidden, "hidden_size %d for weights of shape %v", n.int("hidden_size", 0), rs)
		activations := n.activations(defaults, count)
		var ys, hs, cs []relay.Expr
		for i, reversed := range directions {
			part := func(k int, shape tensor.Shape) relay.Expr {
				e := n.opt(k)
				if e == nil {
					return nil
				}
				if batchFirst && (k == 5 || k == 6) {
					e = n.transpose(e, []int{1, 0, 2})
				}
				return n.reshape(n.sliceAxis(e, 0, i, i+1), shape)
			}
			state := tensor.Shape{s[1], hidden}
			rec := &recurrence{n: n, x: x, lens: n.opt(4), hidden: hidden, clip: n.float("clip", 0), before: n.flag("linear_before_reset", false), coupled: n.flag("input_forget", false)}
			rec.activations = activations[i*len(defaults):]
			rec.w, rec.r = part(1, tensor.Shape{rs[1], s[2]}), part(2, tensor.Shape{rs[1], hidden})
			if b := part(3, tensor.Shape{2 * rs[1]}); b != nil {
				rec.wb, rec.rb = n.sliceAxis(b, 0, 0, rs[1]), n.sliceAxis(b, 0, rs[1], 2*rs[1])
			}
			if rec.h = part(5, state); rec.h == nil {
				rec.h = n.zeros(state, n.dtype(x))
			}
			if gates == 4 {
				if rec.c = part(6, state); rec.c == nil {
					rec.c = n.zeros(state, n.dtype(x))
				}
				rec.peep = part(7, tensor.Shape{3 * hidden})
			}
			y := rec.run(cell, reversed, s)
			ys = append(ys, n.reshape(y, tensor.Shape{s[0], 1, s[1], hidden}))
			hs = append(hs, n.reshape(rec.h, tensor.Shape{1, s[1], hidden}))
			if gates == 4 {
				cs = append(cs, n.reshape(rec.c, tensor.Shape{1, s[1], hidden}))
			}
		}
		out := []relay.Expr{n.concat(ys, 1), n.concat(hs, 0)}
		if gates == 4 {
			out = append(out, n.concat(cs, 0))
		}
		if batchFirst {
			out[0] = n.transpose(out[0], []int{2, 0, 1, 3})
			for i := 1; i < len(out); i++ {
				out[i] = n.transpose(out[i], []int{1, 0, 2})
			}
		}
		return out
	}
}

// run makes the steps, sets the state to the last one and returns the outputs (T, B, H). A sequence that has ended keeps its
// state and gives 0.
func (r *recurrence) run(cell func(*recurrence, relay.Expr) (h, c relay.Expr), reversed bool, s tensor.Shape) relay.Expr {
	n := r.n
	wide := n.call("nn.dense", &relay.DenseAttrs{}, n.reshape(r.x, tensor.Shape{s[0] * s[1], s[2]}), r.w)
	if r.wb != nil {
		wide = n.call("nn.bias_add", &relay.AxisAttrs{Axis: 1}, wide, r.wb)
	}
	wide = n.reshape(wide, tensor.Shape{s[0], s[1], n.known(r.w)[0]})
	l := &rounds{n: n, trip: n.scalar(tensor.Int64, float64(s[0])), state: []relay.Expr{r.h}, names: []string{"round", "h", "c"}, axes: []int{0}, back: []bool{reversed}}
	if r.c != nil {
		l.state = append(l.state, r.c)
	}
	l.step = func(in *region, round relay.Expr, state []relay.Expr) (relay.Expr, []relay.Expr, []relay.Expr) {
		one := r.inside(in, state)
		h, c := cell(one, in.part(wide, 0, s[0], reversed, round))
		y := h
		if r.lens != nil {
			if reversed {
				round = n.sub(n.scalar(tensor.Int64, float64(s[0]-1)), round)
			}
			alive := n.call("greater", nil, n.reshape(one.lens, tensor.Shape{s[1], 1}), n.cast(round, n.dtype(r.lens)))
			y = n.where(alive, h, n.like(h, 0))
			h = n.where(alive, h, one.h)
			if c != nil {
				c = n.where(alive, c, one.c)
			}
		}
		next := []relay.Expr{h}
		if c != nil {
			next = append(next, c)
		}
		return nil, next, []relay.Expr{y}
	}
	state, stacks, _ := l.run()
	r.h = state[0]
	if r.c != nil {
		r.c = state[1]
	}
	return stacks[0]
}

// inside returns r as a step in a region sees it, with the state before the step.
func (r *recurrence) inside(in *region, state []relay.Expr) *recurrence {
	one := *r
	for _, x := range []struct {
		name string
		e    *relay.Expr
	}{{"r", &one.r}, {"rb", &one.rb}, {"p", &one.peep}, {"lens", &one.lens}} {
		if *x.e != nil {
			*x.e = in.capture(x.name, *x.e)
		}
	}
	one.h = state[0]
	if r.c != nil {
		one.c = state[1]
	}
	return &one
}

// gate is columns i·H to (i+1)·H.
func (r *recurrence) gate(e relay.Expr, i int) relay.Expr {
	return r.n.sliceAxis(e, r.n.rank(e)-1, i*r.hidden, (i+1)*r.hidden)
}

// act bounds and activates.
func (r *recurrence) act(i int, e relay.Expr) relay.Expr {
	if r.clip > 0 {
		e = r.n.clip(e, -r.clip, r.clip)
	}
	return r.activations[i](e)
}

// recur is h·Rᵀ with its bias.
func (r *recurrence) recur(h, weights, bias relay.Expr) relay.Expr {
	y := r.n.call("nn.dense", &relay.DenseAttrs{}, h, weights)
	if bias != nil {
		y = r.n.call("nn.bias_add", &relay.AxisAttrs{Axis: 1}, y, bias)
	}
	return y
}

// rnnCell is H ← f(X·Wᵀ + H·Rᵀ + b).
func rnnCell(r *recurrence, x relay.Expr) (relay.Expr, relay.Expr) {
	return r.act(0, r.n.add(x, r.recur(r.h, r.r, r.rb))), nil
}

// gruCell has the gates update z, reset r and candidate h: H ← (1 - z)·h + z·H.
func gruCell(r *recurrence, x relay.Expr) (relay.Expr, relay.Expr) {
	n := r.n
	rows := func(e relay.Expr, from, to int) relay.Expr {
		if e == nil {
			return nil
		}
		return n.sliceAxis(e, 0, from*r.hidden, to*r.hidden)
	}
	gates := r.recur(r.h, rows(r.r, 0, 2), rows(r.rb, 0, 2))
	z := r.act(0, n.add(r.gate(x, 0), r.gate(gates, 0)))
	reset := r.act(0, n.add(r.gate(x, 1), r.gate(gates, 1)))
	var candidate relay.Expr
	if r.before {
		candidate = n.mul(reset, r.recur(r.h, rows(r.r, 2, 3), rows(r.rb, 2, 3)))
	} else {
		candidate = r.recur(n.mul(reset, r.h), rows(r.r, 2, 3), rows(r.rb, 2, 3))
	}
	candidate = r.act(1, n.add(r.gate(x, 2), candidate))
	return n.add(n.mul(n.sub(n.like(z, 1), z), candidate), n.mul(z, r.h)), nil
}

// lstmCell has the gates input, output, forget and cell: C ← f·C + i·c, H ← o·h(C), with peepholes P to the gates.
func lstmCell(r *recurrence, x relay.Expr) (relay.Expr, relay.Expr) {
	n := r.n
	sum := n.add(x, r.recur(r.h, r.r, r.rb))
	peep := func(e relay.Expr, k int, c relay.Expr) relay.Expr {
		if r.peep == nil {
			return e
		}
		return n.add(e, n.mul(n.sliceAxis(r.peep, 0, k*r.hidden, (k+1)*r.hidden), c))
	}
	i := r.act(0, peep(r.gate(sum, 0), 0, r.c))
	f := n.sub(n.like(i, 1), i)
	if !r.coupled {
		f = r.act(0, peep(r.gate(sum, 2), 2, r.c))
	}
	c := n.add(n.mul(f, r.c), n.mul(i, r.act(1, r.gate(sum, 3))))
	o := r.act(0, peep(r.gate(sum, 1), 1, c))
	return n.mul(o, r.activations[2](c)), c // clip bounds the gates alone, as ONNX Runtime has it
}

// activationParams are the activations that take alpha, or alpha and beta, with what they are by default.
var activationParams = map[string][]float64{
	"LeakyRelu": {0.01}, "ThresholdedRelu": {1}, "Elu": {1}, "HardSigmoid": {0.2, 0.5}, "Affine": {1, 0}, "ScaledTanh": {1, 1},
}

// activations are those of every direction, by the attributes or the defaults. Those that take an alpha or a beta take the
// next one of its list, in order; a list with one value for every activation has values for the others too.
func (n *node) activations(defaults []string, directions int) []func(relay.Expr) relay.Expr {
	names := n.strs("activations")
	if len(names) == 0 {
		names = slices.Repeat(defaults, directions)
	}
	n.wants(len(names) == len(defaults)*directions, "%d activations, wanted %d", len(names), len(defaults)*directions)
	lists := [2][]float64{n.floats("activation_alpha"), n.floats("activation_beta")}
	out := make([]func(relay.Expr) relay.Expr, len(names))
	taken := [2]int{}
	for i, name := range names {
		params := slices.Clone(activationParams[name])
		for k := range params {
			at := taken[k]
			if len(lists[k]) == len(names) {
				at = i
			}
			if at < len(lists[k]) {
				params[k] = lists[k][at]
			}
			taken[k]++
		}
		out[i] = n.activation(name, params)
	}
	return out
}

// activation returns an activation of a recurrent layer with its alpha and beta.
func (n *node) activation(name string, params []float64) func(relay.Expr) relay.Expr {
	op := func(op string, attrs any) func(relay.Expr) relay.Expr {
		return func(e relay.Expr) relay.Expr { return n.call(op, attrs, e) }
	}
	switch name {
	case "Sigmoid":
		return op("sigmoid", nil)
	case "Tanh":
		return op("tanh", nil)
	case "Relu":
		return op("nn.relu", nil)
	case "Softsign":
		return op("nn.softsign", nil)
	case "Softplus":
		return op("nn.softplus", nil)
	case "LeakyRelu":
		return op("nn.leaky_relu", &relay.AlphaAttrs{Alpha: params[0]})
	case "ThresholdedRelu":
		return op("nn.thresholded_relu", &relay.AlphaAttrs{Alpha: params[0]})
	case "Elu":
		return op("nn.elu", &relay.AlphaAttrs{Alpha: params[0]})
	case "HardSigmoid":
		return op("nn.hard_sigmoid", &relay.HardSigmoidAttrs{Alpha: params[0], Beta: params[1]})
	case "Affine":
		return func(e relay.Expr) relay.Expr { return n.add(n.mul(e, n.like(e, params[0])), n.like(e, params[1])) }
	case "ScaledTanh":
		return func(e relay.Expr) relay.Expr {
			return n.mul(n.call("tanh", nil, n.mul(e, n.like(e, params[1]))), n.like(e, params[0]))
		}
	}
	n.failUnsupported("activation %q", name)
	return nil
}
