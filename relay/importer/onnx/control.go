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
	n.wants(len(g.GetInput()) == len(inputs), "the body takes %d values, wanted %d", len(g.GetInput()), len(inputs))
	sc := n.scope.inner()
	for i, v := range g.GetInput() {
		sc.values[v.GetName()] = inputs[i]
	}
	outputs, err := n.im.graph(sc, g)
	if err != nil {
		n.fail(err)
	}
	return outputs
}

// ifElse takes the branch of a condition that is known.
func ifElse(n *node) []relay.Expr {
	condition := n.value(n.in(0), "the condition")
	n.wants(len(condition.I) == 1, "a condition of shape %v", condition.Shape)
	if condition.I[0] != 0 {
		return n.inline(n.subgraph("then_branch"))
	}
	return n.inline(n.subgraph("else_branch"))
}

// loop unrolls rounds whose number is known: the trip count, as long as the condition, which must be known too, holds.
func loop(n *node) []relay.Expr {
	body := n.subgraph("body")
	trips := int(^uint(0) >> 1)
	if n.opt(0) != nil {
		trips = n.intAt(0, "the trip count", 0)
	}
	condition := n.opt(1)
	state := slices.Clone(n.args[min(2, len(n.args)):])
	for i := range state {
		n.in(2 + i)
	}
	n.wants(len(body.GetOutput()) > len(state), "the body gives %d values for %d", len(body.GetOutput()), len(state))
	collected := make([][]relay.Expr, len(body.GetOutput())-1-len(state))
	for i := 0; i < trips; i++ {
		n.step()
		if condition != nil {
			c := n.value(condition, "the condition of a loop")
			n.wants(len(c.I) == 1, "a condition of shape %v", c.Shape)
			if c.I[0] == 0 {
				break
			}
		}
		keepGoing := condition
		if keepGoing == nil {
			keepGoing = n.scalar(tensor.Bool, 1)
		}
		out := n.inline(body, append([]relay.Expr{n.scalar(tensor.Int64, float64(i)), keepGoing}, state...)...)
		condition = out[0]
		for k, e := range out[1+len(state):] {
			collected[k] = append(collected[k], n.reshape(e, append(tensor.Shape{1}, n.known(e)...)))
		}
		state = out[1 : 1+len(state)]
	}
	results := state
	for _, list := range collected {
		if len(list) == 0 {
			n.failUnsupported("a loop of no rounds that collects values")
		}
		results = append(results, n.concat(list, 0))
	}
	return results
}

// scan unrolls one round for each slice of the scanned operands.
func scan(n *node) []relay.Expr {
	if n.opset < 9 {
		return n.batchedScan()
	}
	body := n.subgraph("body")
	count := n.int("num_scan_inputs", 0)
	n.wants(count >= 1 && count <= len(n.args), "num_scan_inputs %d for %d operands", count, len(n.args))
	args := n.all(1)
	state, scanned := slices.Clone(args[:len(args)-count]), args[len(args)-count:]
	n.wants(len(body.GetOutput()) >= len(state), "the body gives %d values for %d", len(body.GetOutput()), len(state))
	outs := len(body.GetOutput()) - len(state)
	inAxes, inBack := n.listOf("scan_input_axes", count), n.listOf("scan_input_directions", count)
	outAxes, outBack := n.listOf("scan_output_axes", outs), n.listOf("scan_output_directions", outs)
	rounds := -1
	for i, e := range scanned {
		inAxes[i] = n.axis(inAxes[i], n.rank(e))
		extent := n.known(e)[inAxes[i]]
		n.wants(rounds < 0 || rounds == extent, "scanned operands have %d and %d rounds", rounds, extent)
		rounds = extent
	}
	collected := make([][]relay.Expr, outs)
	for t := range rounds {
		n.step()
		inputs := slices.Clone(state)
		for i, e := range scanned {
			at := t
			if inBack[i] != 0 {
				at = rounds - 1 - t
			}
			part := n.sliceAxis(e, inAxes[i], at, at+1)
			inputs = append(inputs, n.reshape(part, slices.Delete(n.shape(part).Clone(), inAxes[i], inAxes[i]+1)))
		}
		out := n.inline(body, inputs...)
		state = out[:len(state)]
		for k, e := range out[len(state):] {
			axis := n.axis(outAxes[k], n.rank(e)+1)
			collected[k] = append(collected[k], n.reshape(e, slices.Insert(n.known(e).Clone(), axis, 1)))
		}
	}
	results := slices.Clone(state)
	for k, list := range collected {
		if len(list) == 0 {
			n.failUnsupported("a scan of no rounds")
		}
		if outBack[k] != 0 {
			slices.Reverse(list)
		}
		results = append(results, n.concat(list, n.axis(outAxes[k], n.rank(list[0]))))
	}
	return results
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

// listOf is a list attribute of count integers, zeros by default.
func (n *node) listOf(name string, count int) []int {
	list := slices.Clone(n.ints(name, make([]int, count)))
	n.wants(len(list) == count, "attribute %q has %d values, wanted %d", name, len(list), count)
	return list
}
