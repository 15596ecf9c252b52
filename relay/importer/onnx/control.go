package onnx

import (
	"slices"

	"github.com/texel-ml/texel/relay"
	pb "github.com/texel-ml/texel/relay/importer/onnx/onnxpb"
	"github.com/texel-ml/texel/tensor"
)

// subgraph returns a graph in an attribute.
func (n *node) subgraph(name string) *pb.GraphProto {
	a := n.attr(name, pb.AttributeProto_GRAPH)
	if a == nil || a.GetG() == nil {
		n.failInvalid("attribute %q is missing", name)
	}
	return a.GetG()
}

// inline converts a subgraph whose inputs are the given values and returns its outputs.
func (n *node) inline(g *pb.GraphProto, inputs ...relay.Expr) []relay.Expr {
	return n.subgraphIn(n.scope.inner(), g, inputs)
}

// subgraphIn is inline in a scope.
func (n *node) subgraphIn(sc *scope, g *pb.GraphProto, inputs []relay.Expr) []relay.Expr {
	n.wants(len(g.GetInput()) == len(inputs), "the body takes %d values, wanted %d", len(g.GetInput()), len(inputs))
	for i, v := range g.GetInput() {
		sc.values[v.GetName()] = inputs[i]
	}
	outputs, err := n.im.graph(sc, g)
	if err != nil {
		n.fail(err)
	}
	return outputs
}

// condition returns a bool of shape ().
func (n *node) condition(e relay.Expr) relay.Expr {
	n.wants(n.dtype(e) == tensor.Bool && n.shape(e).Elems() == 1, "a condition of type %v, wanted one bool", n.typ(e))
	return n.reshape(e, tensor.Shape{})
}

// knownBool returns what a condition is, if that is known.
func (n *node) knownBool(condition relay.Expr) (value, known bool) {
	v, err := n.im.evaluate(condition)
	if err != nil {
		return false, false
	}
	return v.(*tensor.Wide).I[0] != 0, true
}

// ifElse takes the branch of a condition that is known; others are computed when the model runs, when they are taken.
func ifElse(n *node) []relay.Expr {
	condition := n.condition(n.in(0))
	then, els := n.subgraph("then_branch"), n.subgraph("else_branch")
	if yes, known := n.knownBool(condition); known {
		if yes {
			return n.inline(then)
		}
		return n.inline(els)
	}
	n.wants(len(then.GetOutput()) == len(els.GetOutput()) && len(then.GetOutput()) > 0, "the branches give %d and %d values", len(then.GetOutput()), len(els.GetOutput()))
	sides := [2]*region{n.region(), n.region()}
	given := [2][]relay.Expr{sides[0].graph(then), sides[1].graph(els)}
	count := len(given[0])
	bounds := n.boundSides(&given)
	for i := range given[0] {
		if a, b := n.typ(given[0][i]), n.typ(given[1][i]); !relay.TypeEqual(a, b) {
			n.failUnsupported("output %q has type %v in one branch and %v in the other, and which one is taken is known only when the model runs",
				n.proto.GetOutput()[min(i, len(n.proto.GetOutput())-1)], a, b)
		}
	}
	var calls [2]relay.Expr
	for i, r := range sides {
		body := given[i][0]
		if len(given[i]) > 1 {
			body = n.tuple(given[i]...)
		}
		c, err := relay.NewCallFn(r.function(nil, body), r.captured, n.pos)
		if err != nil {
			n.fail(err)
		}
		calls[i] = c
	}
	branch, err := relay.NewIf(condition, calls[0], calls[1], n.pos)
	if err != nil {
		n.fail(err)
	}
	results := n.fields(branch)
	for i, x := range bounds {
		n.bounded(results[i], x.axis, results[x.count])
	}
	return results[:count]
}

// boundOf says that an output of a branch has a bounded axis, and which further output has the count.
type boundOf struct{ axis, count int }

// boundSides adds the counts of outputs with a bounded axis to what both branches give.
func (n *node) boundSides(given *[2][]relay.Expr) map[int]boundOf {
	bounds := map[int]boundOf{}
	for i := range len(given[0]) {
		axis, found := 0, false
		for _, side := range given {
			if x, ok := n.im.extents[side[i]]; ok {
				if found && x.axis != axis {
					n.failUnsupported("axes %d and %d of output %d have an extent that is known only when the model runs", axis, x.axis, i)
				}
				axis, found = x.axis, true
			}
		}
		if !found {
			continue
		}
		bounds[i] = boundOf{axis, len(given[0])}
		for k, side := range given {
			x, ok := n.im.extents[side[i]]
			if !ok {
				n.wants(axis < n.rank(side[i]), "output %d has %d axes in one branch, and more in the other", i, n.rank(side[i]))
				x.count = n.constInts(n.known(side[i])[axis])
			}
			given[k] = append(side, x.count)
		}
	}
	return bounds
}

// listOf is a list attribute of count integers, zeros by default.
func (n *node) listOf(name string, count int) []int {
	list := slices.Clone(n.ints(name, make([]int, count)))
	n.wants(len(list) == count, "attribute %q has %d values, wanted %d", name, len(list), count)
	return list
}
