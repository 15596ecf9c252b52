package onnx

import (
	"slices"

	"github.com/texel-ml/texel/relay"
	"github.com/texel-ml/texel/tensor"
)

// batchNorm is (x - mean) / √(var + epsilon) · scale + bias for each channel, axis 1. In training mode mean and
// variance are those of the operand, and the running ones are updated.
func batchNorm(n *node) []relay.Expr {
	x, scale, bias, mean, variance := n.in(0), n.in(1), n.in(2), n.in(3), n.in(4)
	if s := n.known(x); len(s) == 1 { // one channel
		flat := *n
		flat.args = append([]relay.Expr{n.reshape(x, tensor.Shape{s[0], 1})}, n.args[1:]...)
		out := batchNorm(&flat)
		out[0] = n.reshape(out[0], s)
		return out
	}
	n.wants(n.rank(x) >= 2, "an operand of shape %v, wanted an axis or more", n.shape(x))
	epsilon := n.float("epsilon", 1e-5)
	d := n.dtype(x)
	if n.opset >= 14 && n.flag("training_mode", false) {
		return n.batchNormTraining(x, epsilon)
	}
	if n.opset < 7 && !n.flag("is_test", false) && n.wantsOutput(1) {
		n.failUnsupported("training mode")
	}
	for _, e := range []*relay.Expr{&scale, &bias, &mean, &variance} {
		*e = n.cast(*e, d)
	}
	if n.opset < 9 && !n.flag("spatial", true) {
		y := n.div(n.sub(x, mean), n.call("sqrt", nil, n.add(variance, n.like(x, epsilon))))
		return one(n.add(n.mul(y, scale), bias))
	}
	attrs := &relay.BatchNormAttrs{Axis: 1, Epsilon: epsilon, Center: true, Scale: true}
	return one(n.field(n.call("nn.batch_norm", attrs, x, scale, bias, mean, variance), 0))
}

func (n *node) batchNormTraining(x relay.Expr, epsilon float64) []relay.Expr {
	var axes []int
	for a := range n.rank(x) {
		if a != 1 {
			axes = append(axes, a)
		}
	}
	mean := n.reduce("mean", x, axes, true)
	centred := n.sub(x, mean)
	variance := n.reduce("mean", n.mul(centred, centred), axes, true)
	channels := tensor.Shape{n.known(x)[1]}
	wide := func(e relay.Expr) relay.Expr {
		return n.reshape(n.cast(e, n.dtype(x)), slopeShape(channels[0], n.rank(x)))
	}
	y := n.div(centred, n.call("sqrt", nil, n.add(variance, n.like(x, epsilon))))
	y = n.add(n.mul(y, wide(n.in(1))), wide(n.in(2)))
	momentum := n.float("momentum", 0.9)
	running := func(old, batch relay.Expr) relay.Expr {
		batch = n.cast(n.reshape(batch, channels), n.dtype(old))
		return n.add(n.mul(old, n.like(old, momentum)), n.mul(batch, n.like(old, 1-momentum)))
	}
	return []relay.Expr{y, running(n.in(3), mean), running(n.in(4), variance)}
}

func instanceNorm(n *node) []relay.Expr {
	attrs := &relay.NormAttrs{Axis: 1, Epsilon: n.float("epsilon", 1e-5), Center: true, Scale: true}
	return one(n.call("nn.instance_norm", attrs, n.in(0), n.in(1), n.in(2)))
}

// groupNorm normalises groups of channels. Scale and bias were one a group before opset 21.
func groupNorm(n *node) []relay.Expr {
	x, scale, bias := n.in(0), n.in(1), n.in(2)
	groups := n.int("num_groups", 0)
	n.wants(n.rank(x) >= 2 && groups >= 1, "num_groups %d for an operand of shape %v", groups, n.shape(x))
	channels := n.known(x)[1]
	n.wants(channels%groups == 0, "num_groups %d for %d channels", groups, channels)
	if n.opset < 21 {
		each := &relay.RepeatAttrs{Repeats: channels / groups}
		scale, bias = n.call("repeat", each, scale), n.call("repeat", each, bias)
	}
	attrs := &relay.GroupNormAttrs{NumGroups: groups, Axis: 1, Epsilon: n.float("epsilon", 1e-5), Center: true, Scale: true}
	return one(n.call("nn.group_norm", attrs, x, scale, bias))
}

// stash is the type in which a normalisation computes.
func (n *node) stash(x relay.Expr) tensor.DType {
	d := n.dtype(x)
	if n.int("stash_type", 1) == 1 && d.Bits() < 32 {
		return tensor.Float32
	}
	return d
}

// layerNorm normalises over the axes from axis on; it also gives the mean and 1/√(var + epsilon).
func layerNorm(n *node) []relay.Expr {
	x, scale := n.in(0), n.in(1)
	s := n.known(x)
	axis := n.axis(n.int("axis", -1), len(s))
	epsilon, d, compute := n.float("epsilon", 1e-5), n.dtype(x), n.stash(x)
	inner := s[axis:]
	bias := n.opt(2)
	fits := func(e relay.Expr) bool { return e == nil || n.shape(e).Equal(inner) }
	if !n.wantsOutput(1) && !n.wantsOutput(2) && compute == d && fits(scale) && fits(bias) && inner.Elems() > 0 {
		flat := tensor.Shape{inner.Elems()}
		attrs := &relay.NormAttrs{Axis: -1, Epsilon: epsilon, Center: bias != nil, Scale: true}
		if bias == nil {
			bias = n.zeros(flat, d)
		}
		rows := x
		if len(inner) > 1 {
			rows = n.reshape(x, tensor.Shape{s[:axis].Elems(), inner.Elems()})
		}
		return one(n.reshape(n.call("nn.layer_norm", attrs, rows, n.reshape(scale, flat), n.reshape(bias, flat)), s))
	}
	axes := []int{}
	for a := axis; a < len(s); a++ {
		axes = append(axes, a)
	}
	v := n.cast(x, compute)
	mean := n.reduce("mean", v, axes, true)
	centred := n.sub(v, mean)
	inverse := n.call("rsqrt", nil, n.add(n.reduce("mean", n.mul(centred, centred), axes, true), n.scalar(compute, epsilon)))
	y := n.mul(n.cast(n.mul(centred, inverse), d), scale)
	if bias != nil {
		y = n.add(y, bias)
	}
	return []relay.Expr{y, mean, inverse}
}

// rmsNorm is x / √(mean of x² + epsilon) · scale over the axes from axis on.
func rmsNorm(n *node) []relay.Expr {
	x, scale := n.in(0), n.in(1)
	s := n.known(x)
	axes := []int{}
	for a := n.axis(n.int("axis", -1), len(s)); a < len(s); a++ {
		axes = append(axes, a)
	}
	compute := n.stash(x)
	v := n.cast(x, compute)
	inverse := n.call("rsqrt", nil, n.add(n.reduce("mean", n.mul(v, v), axes, true), n.scalar(compute, n.float("epsilon", 1e-5))))
	y := n.cast(n.mul(v, inverse), n.dtype(scale))
	return one(n.mul(y, scale))
}

// meanVarianceNorm is (x - mean) / (σ + 1e-9) over the axes.
func meanVarianceNorm(n *node) []relay.Expr {
	x := n.in(0)
	axes := n.axes(n.ints("axes", []int{0, 2, 3}), n.rank(x))
	centred := n.sub(x, n.reduce("mean", x, axes, true))
	deviation := n.call("sqrt", nil, n.reduce("mean", n.mul(centred, centred), axes, true))
	return one(n.div(centred, n.add(deviation, n.like(x, 1e-9))))
}

func lrn(n *node) []relay.Expr {
	n.wants(n.has("size"), "size is missing")
	attrs := &relay.LRNAttrs{Size: n.int("size", 0), Axis: 1, Bias: n.float("bias", 1), Alpha: n.float("alpha", 1e-4), Beta: n.float("beta", 0.75)}
	return one(n.call("nn.lrn", attrs, n.in(0)))
}

// dropout does nothing outside training; the mask is true everywhere.
func dropout(n *node) []relay.Expr {
	x := n.in(0)
	training := n.opset < 7 && !n.flag("is_test", true)
	ratio := n.float("ratio", 0.5)
	if n.opset >= 12 {
		if training = n.opt(2) != nil && n.scalarAt(2, "the training mode", 0) != 0; training {
			ratio = n.scalarAt(1, "the ratio", 0.5)
		}
	}
	if training && ratio != 0 {
		n.failUnsupported("training mode: the mask is a random draw")
	}
	out := []relay.Expr{x}
	if n.wantsOutput(1) {
		d := tensor.Bool
		if n.opset < 10 {
			d = n.dtype(x)
		}
		out = append(out, n.broadcastTo(n.scalar(d, 1), n.known(x)))
	}
	return out
}

// products of matrices

// matMul is numpy's: operands of one axis are a row and a column, which the result does not have.
func matMul(n *node) []relay.Expr {
	n.sameType(n.in(0), n.in(1))
	return one(n.matmulAny(n.in(0), n.in(1)))
}

func (n *node) matmulAny(a, b relay.Expr) relay.Expr {
	sa, sb := n.known(a), n.known(b)
	n.wants(len(sa) > 0 && len(sb) > 0, "operands of shapes %v and %v", sa, sb)
	if len(sa) == 1 {
		a = n.reshape(a, tensor.Shape{1, sa[0]})
	}
	if len(sb) == 1 {
		b = n.reshape(b, tensor.Shape{sb[0], 1})
	}
	y := n.matmul(a, b)
	shape := n.shape(y).Clone()
	if len(sb) == 1 {
		shape = shape[:len(shape)-1]
	}
	if len(sa) == 1 {
		at := len(shape) - 1 // of the row: the last axis when the column is gone, else the one before
		if len(sb) > 1 {
			at--
		}
		shape = slices.Delete(shape, at, at+1)
	}
	return n.reshape(y, shape)
}

// gemm is alpha · A · B + beta · C, with A and B transposed or not.
func gemm(n *node) []relay.Expr {
	a, b := n.in(0), n.in(1)
	n.sameType(a, b)
	n.wants(n.rank(a) == 2 && n.rank(b) == 2, "operands of shapes %v and %v, wanted matrices", n.shape(a), n.shape(b))
	transA, transB := n.flag("transA", false), n.flag("transB", false)
	var y relay.Expr
	if !transA && transB {
		y = n.call("nn.dense", &relay.DenseAttrs{Units: n.known(b)[0]}, a, b)
	} else {
		y = n.matmulT(a, b, transA, transB)
	}
	y = n.scaled(y, n.float("alpha", 1))
	c := n.opt(2)
	if c == nil {
		return one(y)
	}
	n.sameType(y, c)
	c = n.scaled(c, n.float("beta", 1))
	s, sc := n.shape(y), n.known(c)
	if sc.Equal(tensor.Shape{s[1]}) && s[1] != 1 {
		return one(n.call("nn.bias_add", &relay.AxisAttrs{Axis: 1}, y, c))
	}
	if len(sc) == 1 && n.opset < 7 && sc[0] != s[1] { // C with broadcast, aligned at the first axis
		c = n.reshape(c, tensor.Shape{sc[0], 1})
	}
	n.wants(n.broadcast(s, n.shape(c)).Equal(s), "C of shape %v does not broadcast to %v", sc, s)
	return one(n.add(y, c))
}

// scaled multiplies by a factor other than 1.
func (n *node) scaled(x relay.Expr, by float64) relay.Expr {
	if by == 1 {
		return x
	}
	return n.mul(x, n.like(x, by))
}

// det is the determinant of small matrices, expanded along rows: Σ over columns j of ± x[0, j] det(minor).
func det(n *node) []relay.Expr {
	x := n.in(0)
	s := n.known(x)
	n.wants(len(s) >= 2 && s[len(s)-1] == s[len(s)-2], "an operand of shape %v, wanted square matrices", s)
	size := s[len(s)-1]
	if size < 1 || size > 4 {
		n.failUnsupported("a determinant of %d rows; up to 4 are done here", size)
	}
	rank := len(s)
	at := func(i, j int) relay.Expr {
		e := n.sliceAxis(n.sliceAxis(x, rank-2, i, i+1), rank-1, j, j+1)
		return n.reshape(e, s[:rank-2])
	}
	var minor func(row int, columns []int) relay.Expr
	minor = func(row int, columns []int) relay.Expr {
		var sum relay.Expr
		for k, j := range columns {
			term := at(row, j)
			if row+1 < size {
				term = n.mul(term, minor(row+1, slices.Delete(slices.Clone(columns), k, k+1)))
			}
			switch {
			case sum == nil:
				sum = term
			case k%2 == 0:
				sum = n.add(sum, term)
			default:
				sum = n.sub(sum, term)
			}
		}
		return sum
	}
	columns := []int{0, 1, 2, 3}[:size]
	return one(minor(0, columns))
}
