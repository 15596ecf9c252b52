package onnx

import (
	"slices"

	"github.com/texel-ml/texel/relay"
	"github.com/texel-ml/texel/tensor"
)

// negativeLogLikelihood is -x[n, target[n, …], …] · weight[target], reduced; targets equal to ignore_index count nothing.
func negativeLogLikelihood(n *node) []relay.Expr { return one(n.likelihoodLoss(n.in(0))) }

// softmaxCrossEntropy is the same of the logarithm of the softmax over axis 1, which is the second result.
func softmaxCrossEntropy(n *node) []relay.Expr {
	logs := n.call("nn.log_softmax", &relay.AxisAttrs{Axis: 1}, n.in(0))
	return []relay.Expr{n.likelihoodLoss(logs), logs}
}

func (n *node) likelihoodLoss(x relay.Expr) relay.Expr {
	target, weight := n.in(1), n.opt(2)
	s, ts, d := n.known(x), n.known(target), n.dtype(x)
	n.wants(len(s) >= 2 && ts.Equal(slices.Concat(s[:1], s[2:])), "scores of shape %v and targets of shape %v", s, ts)
	n.wants(n.dtype(target).IsInt(), "targets of type %v", n.dtype(target))
	var factor relay.Expr // of each target
	var ignored relay.Expr
	if n.has("ignore_index") {
		ignored = n.call("equal", nil, target, n.like(target, float64(n.int("ignore_index", 0))))
		target = n.where(ignored, n.like(target, 0), target)
	}
	index := n.wrapped(target, s[1])
	if weight != nil {
		factor = n.take(weight, index, 0)
	}
	if ignored != nil {
		if factor == nil {
			factor = n.broadcastTo(n.scalar(d, 1), ts)
		}
		factor = n.where(ignored, n.scalar(d, 0), factor)
	}
	picked := n.gather(x, n.reshape(index, slices.Insert(ts.Clone(), 1, 1)), 1)
	loss := n.call("negative", nil, n.reshape(picked, ts))
	if factor != nil {
		loss = n.mul(loss, factor)
	}
	axes := []int{}
	for a := range ts {
		axes = append(axes, a)
	}
	switch r := n.str("reduction", "mean"); r {
	case "none":
		return loss
	case "sum":
		return n.reduce("sum", loss, axes, false)
	case "mean":
		if factor != nil {
			return n.div(n.reduce("sum", loss, axes, false), n.reduce("sum", factor, axes, false))
		}
		return n.reduce("mean", loss, axes, false)
	default:
		n.failInvalid("reduction %q", r)
		return nil
	}
}

// einsum sums products over the letters that the result lacks. Each operand is brought to the axes of all letters; two
// operands at a time are multiplied as matrices.
func einsum(n *node) []relay.Expr {
	inputs, output := n.einsumTerms()
	var letters []byte
	for _, term := range inputs {
		for _, c := range term {
			if !slices.Contains(letters, c) {
				letters = append(letters, c)
			}
		}
	}
	operands := make([]relay.Expr, len(inputs))
	terms := make([][]byte, len(inputs))
	for i, term := range inputs {
		operands[i], terms[i] = n.diagonal(n.in(i), term)
	}
	x, have := operands[0], terms[0]
	x, have = n.sumAway(x, have, func(c byte) bool { return slices.Contains(output, c) || inLater(terms[1:], c) })
	for i := 1; i < len(operands); i++ {
		needed := func(c byte) bool { return slices.Contains(output, c) || inLater(terms[i+1:], c) }
		y, term := n.sumAway(operands[i], terms[i], func(c byte) bool { return needed(c) || slices.Contains(have, c) })
		x, have = n.contract(x, have, y, term, needed)
	}
	x, have = n.sumAway(x, have, func(c byte) bool { return slices.Contains(output, c) })
	perm := make([]int, len(output))
	for i, c := range output {
		perm[i] = slices.Index(have, c)
		n.wants(perm[i] >= 0, "the result has an axis that no operand has")
	}
	return one(n.transpose(x, perm))
}

func inLater(terms [][]byte, c byte) bool {
	return slices.ContainsFunc(terms, func(t []byte) bool { return slices.Contains(t, c) })
}

// einsumTerms parses the equation. An ellipsis becomes digits, one for each axis that it covers, counted from the last.
func (n *node) einsumTerms() (inputs [][]byte, output []byte) {
	equation := []byte{}
	for _, c := range []byte(n.str("equation", "")) {
		if c != ' ' {
			equation = append(equation, c)
		}
	}
	left, right, explicit := cut(string(equation), "->")
	widest := 0
	parse := func(term string, rank int) []byte {
		var out []byte
		for i := 0; i < len(term); i++ {
			switch c := term[i]; {
			case c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z':
				out = append(out, c)
			case c == '.' && i+2 < len(term) && term[i:i+3] == "...":
				covered := widest
				if rank >= 0 {
					covered = rank - (len(term) - 3)
				}
				n.wants(covered >= 0 && covered <= 9, "equation %q does not fit an operand of %d axes", equation, rank)
				widest = max(widest, covered)
				for k := covered; k > 0; k-- {
					out = append(out, byte('0'+k))
				}
				i += 2
			default:
				n.failInvalid("equation %q", equation)
			}
		}
		n.wants(rank < 0 || len(out) == rank, "equation %q does not fit an operand of %d axes", equation, rank)
		return out
	}
	list := split2(left)
	n.wants(len(list) == len(n.args) && len(list) > 0, "equation %q for %d operands", equation, len(n.args))
	counts := map[byte]int{}
	for i, term := range list {
		inputs = append(inputs, parse(term, n.rank(n.in(i))))
		n.sameType(n.in(0), n.in(i))
		for _, c := range inputs[i] {
			counts[c]++
		}
	}
	if explicit {
		output = parse(right, -1)
	} else {
		for k := widest; k > 0; k-- {
			output = append(output, byte('0'+k))
		}
		for c := byte('A'); c <= 'z'; c++ {
			if counts[c] == 1 {
				output = append(output, c)
			}
		}
	}
	return inputs, output
}

func cut(s, sep string) (before, after string, found bool) {
	for i := 0; i+len(sep) <= len(s); i++ {
		if s[i:i+len(sep)] == sep {
			return s[:i], s[i+len(sep):], true
		}
	}
	return s, "", false
}

func split2(s string) []string {
	list := []string{""}
	for _, c := range s {
		if c == ',' {
			list = append(list, "")
		} else {
			list[len(list)-1] += string(c)
		}
	}
	return list
}

// diagonal takes the diagonal over axes of one letter, by comparing their places: Σ over the second one.
func (n *node) diagonal(x relay.Expr, term []byte) (relay.Expr, []byte) {
	term = slices.Clone(term)
	for i := 0; i < len(term); i++ {
		j := slices.Index(term[i+1:], term[i])
		if j < 0 {
			continue
		}
		j += i + 1
		s := n.known(x)
		n.wants(s[i] == s[j], "axes of letter %c have extents %d and %d", term[i], s[i], s[j])
		row, column := n.iota(s[i], len(s)-1-i), n.iota(s[j], len(s)-1-j)
		x = n.reduce("sum", n.where(n.call("equal", nil, row, column), x, n.like(x, 0)), []int{j}, false)
		term = slices.Delete(term, j, j+1)
		i--
	}
	return x, term
}

// sumAway sums the axes that are not kept.
func (n *node) sumAway(x relay.Expr, term []byte, keep func(byte) bool) (relay.Expr, []byte) {
	var axes []int
	var left []byte
	for a, c := range term {
		if keep(c) {
			left = append(left, c)
		} else {
			axes = append(axes, a)
		}
	}
	if len(axes) == 0 {
		return x, term
	}
	return n.reduce("sum", x, axes, false), left
}

// contract multiplies two operands and sums the letters that both have and nobody needs: batch letters first, then
// those of one operand, then the summed ones, as a product of matrices.
func (n *node) contract(x relay.Expr, tx []byte, y relay.Expr, ty []byte, needed func(byte) bool) (relay.Expr, []byte) {
	var batch, onlyX, onlyY, sum []byte
	for _, c := range tx {
		switch {
		case !slices.Contains(ty, c):
			onlyX = append(onlyX, c)
		case needed(c):
			batch = append(batch, c)
		default:
			sum = append(sum, c)
		}
	}
	for _, c := range ty {
		if !slices.Contains(tx, c) {
			onlyY = append(onlyY, c)
		}
	}
	extents := map[byte]int{}
	for _, o := range []struct {
		e    relay.Expr
		term []byte
	}{{x, tx}, {y, ty}} {
		for a, c := range o.term {
			d := n.known(o.e)[a]
			old, seen := extents[c]
			n.wants(!seen || old == d || c <= '9' && (old == 1 || d == 1), "axes of letter %c have extents %d and %d", c, old, d)
			extents[c] = max(d, old)
			if d == 0 {
				extents[c] = 0
			}
		}
	}
	product := func(list []byte) int {
		p := 1
		for _, c := range list {
			p *= extents[c]
		}
		return p
	}
	arrange := func(e relay.Expr, term, order []byte, shape tensor.Shape) relay.Expr {
		full := make(tensor.Shape, len(term))
		perm := make([]int, len(order))
		for a, c := range term {
			full[a] = extents[c]
		}
		for i, c := range order {
			perm[i] = slices.Index(term, c)
		}
		return n.reshape(n.transpose(n.broadcastTo(e, full), perm), shape)
	}
	b, k := product(batch), product(sum)
	left := arrange(x, tx, slices.Concat(batch, onlyX, sum), tensor.Shape{b, product(onlyX), k})
	right := arrange(y, ty, slices.Concat(batch, sum, onlyY), tensor.Shape{b, k, product(onlyY)})
	out := slices.Concat(batch, onlyX, onlyY)
	shape := tensor.Shape{}
	for _, c := range out {
		shape = append(shape, extents[c])
	}
	return n.reshape(n.matmul(left, right), shape), out
}
