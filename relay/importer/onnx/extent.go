package onnx

import (
	"slices"
	"strings"

	"github.com/texel-ml/texel/relay"
)

// extent says that only the first count rows of a value along axis are real: their number is known when the model
// runs, the value has room for the most there can be.
type extent struct {
	axis  int
	count relay.Expr // int64 (1)
}

// bounded marks e.
func (n *node) bounded(e relay.Expr, axis int, count relay.Expr) relay.Expr {
	n.im.extents[e] = extent{axis, count}
	return e
}

// keepsRows are the operators that a value with a bounded axis may go through: no real row of a result depends on one that
// is not. Each says which axis of the results has the bound of axis a of operand i.
var keepsRows = map[string]func(n *node, i, a int) (axis int, ok bool){
	"Gather": func(n *node, i, a int) (int, bool) {
		g := n.axis(n.int("axis", 0), n.rank(n.in(0)))
		switch {
		case i == 1: // indices behind the last real one pick something, too
			return g + a, true
		case a < g:
			return a, true
		}
		return a - 1 + n.rank(n.in(1)), a > g
	},
	"GatherND": func(n *node, i, a int) (int, bool) {
		return a, i == 1 && a < n.rank(n.in(1))-1 && n.int("batch_dims", 0) == 0
	},
	"Slice": func(n *node, i, a int) (int, bool) {
		list, ok := n.attrOrInts("axes", 3, 10)
		return a, ok && i == 0 && !slices.Contains(n.axes(list, n.rank(n.in(0))), a)
	},
	"Transpose": func(n *node, _, a int) (int, bool) {
		perm := n.ints("perm", nil)
		if perm == nil {
			return n.rank(n.in(0)) - 1 - a, true
		}
		return slices.Index(n.axes(perm, n.rank(n.in(0))), a), true
	},
	"Unsqueeze": func(n *node, i, a int) (int, bool) {
		list, ok := n.attrOrInts("axes", 1, 13)
		list = n.axes(list, n.rank(n.in(0))+len(list))
		slices.Sort(list)
		for _, at := range list {
			if at <= a {
				a++
			}
		}
		return a, ok && i == 0
	},
	"Squeeze": func(n *node, i, a int) (int, bool) {
		list, ok := n.attrOrInts("axes", 1, 13)
		return without(n.axes(list, n.rank(n.in(0))), a, ok && i == 0)
	},
	"MatMul": func(n *node, i, a int) (int, bool) {
		x, w := n.rank(n.in(0)), n.rank(n.in(1))
		return max(x, w) - x + a, i == 0 && x >= 2 && w >= 2 && a == x-2
	},
	"Softmax":    alongOthers,
	"LogSoftmax": alongOthers,
	"ArgMax":     reducesOthers,
	"ArgMin":     reducesOthers,
}

// elementwise are the operators whose results broadcast their operands, each element by itself.
const elementwise = " Abs Acos Acosh Add And Asin Asinh Atan Atanh BitShift BitwiseAnd BitwiseNot BitwiseOr BitwiseXor Cast CastLike Ceil Celu Clip " +
	"Cos Cosh Div Elu Equal Erf Exp Floor Gelu Greater GreaterOrEqual HardSigmoid HardSwish Identity IsInf IsNaN LeakyRelu Less LessOrEqual Log Max Mean " +
	"Min Mish Mod Mul Neg Not Or Pow Reciprocal Relu Round Selu Shrink Sigmoid Sign Sin Sinh Softplus Softsign Sqrt Sub Sum Swish Tan Tanh " +
	"ThresholdedRelu Where Xor "

// without returns where axis a is when those in list are gone.
func without(list []int, a int, ok bool) (int, bool) {
	if !ok || slices.Contains(list, a) {
		return 0, false
	}
	at := a
	for _, gone := range list {
		if gone < a {
			at--
		}
	}
	return at, true
}

// alongOthers is of an operator along one axis, as since opset 13.
func alongOthers(n *node, _, a int) (int, bool) {
	return a, n.opset >= 13 && n.axis(n.int("axis", -1), n.rank(n.in(0))) != a
}

// reducesOthers is of an operator that reduces one axis.
func reducesOthers(n *node, _, a int) (int, bool) {
	axis := n.axis(n.int("axis", 0), n.rank(n.in(0)))
	if n.flag("keepdims", true) {
		return a, axis != a
	}
	return without([]int{axis}, a, true)
}

// reduces is of the reductions, whose axes were an attribute before they were operand 1.
func reduces(n *node, i, a int) (int, bool) {
	list := n.ints("axes", nil)
	if n.opt(1) != nil {
		list, _ = n.intsAt(1, "axes")
	}
	list = n.axes(list, n.rank(n.in(0)))
	if n.flag("keepdims", true) {
		return a, i == 0 && len(list) > 0 && !slices.Contains(list, a)
	}
	return without(list, a, i == 0 && len(list) > 0)
}

// keeping returns the rule for the node's operator, or nil.
func (n *node) keeping() func(n *node, i, a int) (int, bool) {
	name := n.proto.GetOpType()
	switch {
	case n.domain != "":
		return nil
	case strings.Contains(elementwise, " "+name+" "):
		return (*node).alignedRows
	case strings.HasPrefix(name, "Reduce"):
		return reduces
	}
	return keepsRows[name]
}

// alignedRows is of elementwise operators: the others must have one element, or the same rows, along the axis.
func (n *node) alignedRows(i, a int) (int, bool) {
	rank := 0
	for _, e := range n.args {
		if e != nil {
			rank = max(rank, n.rank(e))
		}
	}
	x := n.im.extents[n.args[i]]
	axis := rank - n.rank(n.args[i]) + a
	for _, e := range n.args {
		if e == nil {
			continue
		}
		at := axis - rank + n.rank(e)
		y, bounded := n.im.extents[e]
		same := bounded && y.axis == at && y.count == x.count
		if at >= 0 && !same && n.known(e)[at] != 1 {
			return 0, false
		}
	}
	return axis, true
}

// checkRows refuses operators that would compute with the rows that are not real. Others pass the bound on.
func (n *node) checkRows(results []relay.Expr) {
	if name := n.proto.GetOpType(); n.domain == "" && (name == "Shape" || name == "Size") {
		return // they know
	}
	var bound *extent
	for i, a := range n.args {
		x, ok := n.im.extents[a]
		if a == nil || !ok {
			continue
		}
		keeps := n.keeping()
		axis, ok := 0, keeps != nil
		if ok {
			axis, ok = keeps(n, i, x.axis)
		}
		if ok && bound != nil {
			ok = bound.axis == axis && bound.count == x.count
		}
		if !ok {
			e := n.unsupported("the extent of axis %d of operand %d is known only when the model runs", x.axis, i)
			if d := n.im.number(x.count); d != nil {
				e = n.unsupported("the extent of axis %d of operand %d must be known to compile; give the input's value with --input %s=… when compiling",
					x.axis, i, d.Input).By(d)
			}
			n.fail(e)
		}
		bound = &extent{axis, x.count}
	}
	if bound != nil {
		for _, r := range results {
			n.im.extents[r] = *bound
		}
	}
}
