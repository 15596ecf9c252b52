package onnx

import (
	"math"

	"github.com/texel-ml/texel/relay"
	"github.com/texel-ml/texel/tensor"
)

// attention is softmax(Q·Kᵀ·scale + bias)·V with heads. The bias is the sum of the mask, of the causal mask, of the
// window and of the padding of the keys; a row of it that is -∞ everywhere attends nothing and gives 0.
func attention(n *node) []relay.Expr {
	q, k, v := n.in(0), n.in(1), n.in(2)
	packed := n.rank(q) == 3
	q, k, v = n.heads(q, n.int("q_num_heads", 0)), n.heads(k, n.int("kv_num_heads", 0)), n.heads(v, n.int("kv_num_heads", 0))
	pastKey, pastValue := n.opt(4), n.opt(5)
	n.wants((pastKey == nil) == (pastValue == nil), "past_key and past_value belong together")
	past := 0
	if pastKey != nil {
		past = n.known(pastKey)[2]
		k, v = n.concat([]relay.Expr{pastKey, k}, 2), n.concat([]relay.Expr{pastValue, v}, 2)
	}
	sq, sk, sv := n.known(q), n.known(k), n.known(v)
	n.wants(len(sq) == 4 && len(sk) == 4 && len(sv) == 4 && sk[1] > 0 && sv[1] == sk[1] && sq[1]%sk[1] == 0, "operands of shapes %v, %v and %v", sq, sk, sv)
	presentKey, presentValue := k, v
	if group := sq[1] / sk[1]; group > 1 {
		each := &relay.RepeatAttrs{Repeats: group, Axis: 1}
		k, v = n.call("repeat", each, k), n.call("repeat", each, v)
	}
	d := n.dtype(q)
	root := math.Sqrt(n.float("scale", 1/math.Sqrt(float64(max(sq[3], 1)))))
	scores := n.matmulT(n.mul(q, n.scalar(d, root)), n.mul(k, n.scalar(d, root)), false, true)
	if c := n.float("softcap", 0); c > 0 {
		scores = n.mul(n.call("tanh", nil, n.div(scores, n.scalar(d, c))), n.scalar(d, c))
	}
	shown, mode := scores, n.int("qk_matmul_output_mode", 0)
	bias := n.attentionBias(d, sq[2], sk[2], past, sq[0])
	if bias != nil {
		scores = n.add(scores, bias)
	}
	if mode == 2 {
		shown = scores
	}
	precision := d
	if number := n.int("softmax_precision", 0); number != 0 {
		precision = n.dtypeOf(number)
	}
	weights := n.call("nn.softmax", &relay.AxisAttrs{Axis: -1}, n.cast(scores, precision))
	if bias != nil {
		none := n.call("equal", nil, n.reduce("max", bias, []int{n.rank(bias) - 1}, true), n.scalar(d, math.Inf(-1)))
		weights = n.where(none, n.scalar(precision, 0), weights)
	}
	weights = n.cast(weights, d)
	if mode == 3 {
		shown = weights
	}
	y := n.matmul(weights, n.cast(v, d)) // values may have a type of their own
	if packed {
		y = n.merge(y)
	}
	return []relay.Expr{y, presentKey, presentValue, shown}
}

// heads splits (B, S, heads·D) to (B, heads, S, D).
func (n *node) heads(x relay.Expr, heads int) relay.Expr {
	if n.rank(x) != 3 {
		return x
	}
	s := n.known(x)
	n.wants(heads > 0 && s[2]%heads == 0, "%d heads for an operand of shape %v", heads, s)
	return n.transpose(n.reshape(x, tensor.Shape{s[0], s[1], heads, s[2] / heads}), []int{0, 2, 1, 3})
}

// merge is the inverse of heads.
func (n *node) merge(x relay.Expr) relay.Expr {
	s := n.known(x)
	return n.reshape(n.transpose(x, []int{0, 2, 1, 3}), tensor.Shape{s[0], s[2], s[1] * s[3]})
}

// attentionBias is what is added to the scores (B, H, rows, columns), or nil.
func (n *node) attentionBias(d tensor.DType, rows, columns, past, batch int) relay.Expr {
	var bias relay.Expr
	plus := func(b relay.Expr) {
		if bias == nil {
			bias = b
		} else {
			bias = n.add(bias, b)
		}
	}
	allow := func(ok relay.Expr) { plus(n.where(ok, n.scalar(d, 0), n.scalar(d, math.Inf(-1)))) }
	if mask := n.opt(3); mask != nil {
		n.wants(n.rank(mask) >= 1, "a mask without an axis")
		if n.dtype(mask) == tensor.Bool {
			mask = n.where(mask, n.scalar(d, 0), n.scalar(d, math.Inf(-1)))
		}
		last := n.rank(mask) - 1
		if have := n.known(mask)[last]; have < columns && have != 1 || have < columns && columns > 1 && have == 1 && rows > 0 {
			after := make([]int, n.rank(mask))
			after[last] = columns - have
			mask = n.padAny(mask, make([]int, n.rank(mask)), after, "constant", n.scalar(d, math.Inf(-1)))
		}
		plus(mask)
	}
	lens := n.opt(6)
	if lens != nil {
		lens = n.reshape(n.cast(lens, tensor.Int64), tensor.Shape{batch, 1, 1, 1})
	}
	// query i stands at position i + offset among the keys
	position := n.iota(rows, 1)
	switch {
	case lens != nil && past == 0:
		position = n.add(position, n.sub(lens, n.scalar(tensor.Int64, float64(rows))))
	case past > 0:
		position = n.add(position, n.scalar(tensor.Int64, float64(past)))
	}
	key := n.iota(columns, 0)
	if n.flag("is_causal", false) {
		allow(n.call("less_equal", nil, key, position))
	}
	if left := n.int("left_window_size", -1); left >= 0 {
		allow(n.call("less_equal", nil, n.sub(position, key), n.scalar(tensor.Int64, float64(left))))
	}
	if right := n.int("right_window_size", -1); right >= 0 {
		allow(n.call("less_equal", nil, n.sub(key, position), n.scalar(tensor.Int64, float64(right))))
	}
	if lens != nil {
		allow(n.call("less", nil, key, lens))
	}
	return bias
}

// rotaryEmbedding turns pairs of features by angles that depend on the position.
func rotaryEmbedding(n *node) []relay.Expr {
	x, cosines, sines := n.in(0), n.in(1), n.in(2)
	s := n.known(x)
	packed := len(s) == 3
	heads := n.int("num_heads", 0)
	if packed { // to (B, S, heads, D)
		n.wants(heads > 0 && s[2]%heads == 0, "%d heads for an operand of shape %v", heads, s)
		x = n.reshape(x, tensor.Shape{s[0], s[1], heads, s[2] / heads})
	} else {
		n.wants(len(s) == 4, "an operand of shape %v", s)
		x = n.transpose(x, []int{0, 2, 1, 3})
	}
	shape := n.shape(x)
	size := shape[3]
	rotated := n.int("rotary_embedding_dim", 0)
	if rotated == 0 {
		rotated = size
	}
	n.wants(rotated > 0 && rotated <= size && rotated%2 == 0, "rotary_embedding_dim %d for %d features", rotated, size)
	half := rotated / 2
	if at := n.opt(3); at != nil {
		cosines, sines = n.take(cosines, n.wrapped(at, n.known(cosines)[0]), 0), n.take(sines, n.wrapped(at, n.known(sines)[0]), 0)
	}
	angles := func(e relay.Expr) relay.Expr { // (B, S, half) to (B, S, 1, half)
		es := n.known(e)
		n.wants(len(es) == 3 && es[2] == half, "angles of shape %v, wanted %d for each position", es, half)
		return n.reshape(e, tensor.Shape{es[0], es[1], 1, half})
	}
	c, sn := angles(cosines), angles(sines)
	turn := n.sliceAxis(x, 3, 0, rotated)
	var a, b relay.Expr
	interleaved := n.flag("interleaved", false)
	if interleaved {
		pairs := n.reshape(turn, append(shape[:3].Clone(), half, 2))
		part := func(i int) relay.Expr {
			return n.reshape(n.sliceAxis(pairs, 4, i, i+1), append(shape[:3].Clone(), half))
		}
		a, b = part(0), part(1)
	} else {
		a, b = n.sliceAxis(turn, 3, 0, half), n.sliceAxis(turn, 3, half, rotated)
	}
	re := n.sub(n.mul(c, a), n.mul(sn, b))
	im := n.add(n.mul(sn, a), n.mul(c, b))
	if interleaved {
		wide := append(shape[:3].Clone(), half, 1)
		turn = n.reshape(n.concat([]relay.Expr{n.reshape(re, wide), n.reshape(im, wide)}, 4), append(shape[:3].Clone(), rotated))
	} else {
		turn = n.concat([]relay.Expr{re, im}, 3)
	}
	if rotated < size {
		turn = n.concat([]relay.Expr{turn, n.sliceAxis(x, 3, rotated, size)}, 3)
	}
	if packed {
		return one(n.reshape(turn, s))
	}
	return one(n.transpose(turn, []int{0, 2, 1, 3}))
}

// linearAttention carries a state S (B, H, K, V) over the time steps: S ← e^decay·S + k ⊗ v, read by the query. With
// the delta rule v is beta·(v − Sᵀk).
func linearAttention(n *node) []relay.Expr {
	heads, kvHeads := n.int("q_num_heads", 0), n.int("kv_num_heads", 0)
	rule := n.str("update_rule", "gated_delta")
	gated, delta := rule == "gated" || rule == "gated_delta", rule == "delta" || rule == "gated_delta"
	n.wants(gated || delta || rule == "linear", "update_rule %q", rule)
	n.wants(kvHeads > 0 && heads > 0 && heads%kvHeads == 0, "%d and %d heads", heads, kvHeads)
	const d = tensor.Float32
	for i := range 3 {
		n.wants(n.rank(n.in(i)) == 3, "operand %d has shape %v, wanted three axes", i, n.shape(n.in(i)))
	}
	q, k, v := n.heads(n.cast(n.in(0), d), heads), n.heads(n.cast(n.in(1), d), kvHeads), n.heads(n.cast(n.in(2), d), kvHeads)
	sq, sk, sv := n.shape(q), n.shape(k), n.shape(v)
	batch, steps, dk, dv := sq[0], sq[2], sq[3], sv[3]
	n.wants(sk[3] == dk && sk[2] == steps && sv[2] == steps, "operands of shapes %v, %v and %v", sq, sk, sv)
	var decay, beta relay.Expr
	if gated {
		decay = n.heads(n.cast(n.in(4), d), kvHeads) // (B, H, T, 1 or K)
	}
	if delta {
		e := n.cast(n.in(5), d)
		n.wants(n.rank(e) == 3, "beta of shape %v", n.shape(e))
		beta = n.transpose(n.reshape(e, append(n.known(e).Clone(), 1)), []int{0, 2, 1, 3})
	}
	stateType := n.dtype(n.in(0))
	state := n.zeros(tensor.Shape{batch, kvHeads, dk, dv}, d)
	if past := n.opt(3); past != nil {
		stateType, state = n.dtype(past), n.cast(past, d)
	}
	scale := n.float("scale", 0)
	if scale == 0 {
		scale = 1 / math.Sqrt(float64(dk))
	}
	at := func(e relay.Expr, t int) relay.Expr { return n.sliceAxis(e, 2, t, t+1) } // (B, H, 1, …)
	column := func(e relay.Expr) relay.Expr {                                       // (B, H, 1, D) to (B, H, D, 1)
		s := n.shape(e)
		return n.reshape(e, tensor.Shape{s[0], s[1], s[3], 1})
	}
	var outputs []relay.Expr
	for t := range steps {
		n.step()
		kt, vt := column(at(k, t)), at(v, t)
		if gated {
			state = n.mul(state, n.exp(column(at(decay, t))))
		}
		if delta {
			vt = n.mul(at(beta, t), n.sub(vt, n.matmulT(kt, state, true, false)))
		}
		state = n.add(state, n.mul(kt, vt))
		read := state
		if group := heads / kvHeads; group > 1 {
			read = n.call("repeat", &relay.RepeatAttrs{Repeats: group, Axis: 1}, state)
		}
		outputs = append(outputs, n.mul(n.matmul(at(q, t), read), n.scalar(d, scale)))
	}
	n.wants(len(outputs) > 0, "no time steps")
	y := n.cast(n.merge(n.concat(outputs, 2)), n.dtype(n.in(0)))
	return []relay.Expr{y, n.cast(state, stateType)}
}

// step counts the nodes of one round of an unrolled loop.
func (n *node) step() {
	if err := n.count(16); err != nil {
		n.fail(err)
	}
}

// causalConvWithState is a depthwise convolution along time whose first taps are the state that the last call left.
func causalConvWithState(n *node) []relay.Expr {
	x, w := n.in(0), n.in(1)
	s, ws := n.known(x), n.known(w)
	n.wants(len(s) == 3 && len(ws) == 3 && ws[0] == s[1] && ws[1] == 1 && ws[2] >= 1, "an operand of shape %v with weights of shape %v", s, ws)
	taps := ws[2] - 1
	padded := x
	if taps > 0 {
		past := n.opt(3)
		if past == nil {
			past = n.zeros(tensor.Shape{s[0], s[1], taps}, n.dtype(x))
		}
		padded = n.concat([]relay.Expr{past, x}, 2)
	}
	y := n.convolve(padded, w, window{rank: 1, kernel: ws[2:], strides: []int{1}, padding: []int{0, 0}, dilations: []int{1}}, s[1], tensor.Invalid)
	y = n.biased(y, n.opt(2))
	switch a := n.str("activation", "none"); a {
	case "none":
	case "silu", "swish":
		y = n.call("nn.swish", &relay.SwishAttrs{Beta: 1}, y)
	default:
		n.failInvalid("activation %q, wanted none, silu or swish", a)
	}
	length := n.shape(padded)[2]
	return []relay.Expr{y, n.sliceAxis(padded, 2, length-taps, length)}
}
