package transform

import (
	"context"
	"fmt"
	"slices"

	"github.com/texel-ml/texel/cost"
	"github.com/texel-ml/texel/diag"
	"github.com/texel-ml/texel/relay"
	"github.com/texel-ml/texel/tensor"
)

// CombineParallel makes one operator of convolutions, or of dense layers, that read the same operand, with the biases and the
// activation behind them that all have; their results are slices of its result. It does so where the cost model finds that
// cheaper: one product fills vectors better than several narrow ones, but each slice is a copy, unless all of them are
// joined again in the same order.
//
//	relu(conv(x, w₁) + b₁), relu(conv(x, w₂) + b₂)  →  y = relu(conv(x, [w₁ w₂]) + [b₁ b₂]), sliced in two
func CombineParallel(_ context.Context, m *relay.Module, o *Options) (*relay.Module, error) {
	if o.Candidates == nil {
		return m, nil
	}
	teams := findTeams(m, o)
	if len(teams) == 0 {
		return m, nil
	}
	r := &rewriter{step: "combine-parallel", o: o}
	m, err := r.walk(m, func(r *rewriter, e relay.Expr) (relay.Expr, error) {
		at, ok := teams[r.old]
		if !ok || r.made[e] {
			return nil, nil
		}
		return r.part(at, e)
	})
	if err != nil {
		return nil, err
	}
	return r.settle(m, joins)
}

// branch is a convolution or dense layer with what follows it, the last one first.
type branch struct {
	end   *relay.Call
	heavy anchor
	bias  *relay.Constant // nil: none
	act   *relay.Call     // nil: none
}

// team are branches that become one operator.
type team struct {
	branches []branch
	whole    relay.Expr // the operator, when the first of them has been visited
}

// member is a branch's place in its team.
type member struct {
	team *team
	at   int
}

// findTeams returns the teams that are worth it, by the last node of each branch.
func findTeams(m *relay.Module, o *Options) map[relay.Expr]member {
	readers := map[relay.Expr][]relay.Expr{}
	var order []relay.Expr // operands, in order of their first heavy reader
	branches := map[relay.Expr][]branch{}
	for e := range relay.PostOrder(m.Main(), false) {
		for _, a := range relay.Operands(e) {
			readers[a] = append(readers[a], e)
		}
	}
	for e := range relay.PostOrder(m.Main(), false) {
		a, ok := anchorOf(e)
		if !ok || a.transposeConv || a.groups != 1 {
			continue
		}
		x := a.call.Args[0]
		if branches[x] == nil {
			order = append(order, x)
		}
		branches[x] = append(branches[x], branchFrom(a, readers))
	}
	teams := map[relay.Expr]member{}
	for _, x := range order {
		for _, list := range alike(branches[x]) {
			if !worthwhile(list, readers, o) {
				continue
			}
			t := &team{branches: list}
			for i, b := range list {
				teams[b.end] = member{t, i}
			}
		}
	}
	return teams
}

// branchFrom follows the only readers of a heavy operator: a bias, then an activation.
func branchFrom(a anchor, readers map[relay.Expr][]relay.Expr) branch {
	b := branch{end: a.call, heavy: a}
	next := func() *relay.Call {
		if len(readers[b.end]) != 1 {
			return nil
		}
		c, ok := readers[b.end][0].(*relay.Call)
		if !ok || c.Op == nil || c.Args[0] != relay.Expr(b.end) {
			return nil
		}
		return c
	}
	if c := next(); c != nil && c.Op.Name == "nn.bias_add" {
		if axis, _ := heavyAxis(c); axis == a.channels {
			if k, ok := c.Args[1].(*relay.Constant); ok {
				b.end, b.bias = c, k
			}
		}
	}
	if c := next(); c != nil && c.Op.Class == relay.Elementwise && len(c.Args) == 1 && sameShape(c, a.call) {
		b.end, b.act = c, c
	}
	return b
}

// alike groups branches that differ in their weights alone.
func alike(list []branch) [][]branch {
	var keys []string
	groups := map[string][]branch{}
	for _, b := range list {
		shape := b.heavy.weight.Value.Shape.Clone()
		shape[b.heavy.out] = 0
		key := fmt.Sprintf("%s %v %v %v", b.heavy.call.Op.Name, shape, b.heavy.weight.Value.DType, b.bias != nil)
		switch a := b.heavy.call.Attrs.(type) {
		case *relay.ConvAttrs:
			n := *a
			n.Channels, n.KernelSize = 0, nil
			key += attrsKey(n)
		case *relay.DenseAttrs:
			n := *a
			n.Units = 0
			key += attrsKey(n)
		default:
			key += attrsKey(a)
		}
		if b.act != nil {
			key += b.act.Op.Name + attrsKey(b.act.Attrs)
		}
		if groups[key] == nil {
			keys = append(keys, key)
		}
		groups[key] = append(groups[key], b)
	}
	var all [][]branch
	for _, k := range keys {
		if len(groups[k]) > 1 {
			all = append(all, groups[k])
		}
	}
	return all
}

// worthwhile compares what the branches cost apart and together, and notes it.
func worthwhile(list []branch, readers map[relay.Expr][]relay.Expr, o *Options) bool {
	shape := list[0].heavy.weight.Value.Shape.Clone()
	shape[list[0].heavy.out] = 0
	for _, b := range list {
		shape[b.heavy.out] += b.width()
	}
	weight := relay.NewVar("weight", &relay.TensorType{Shape: shape, DType: list[0].heavy.weight.Value.DType}, diag.Pos{}) // nothing is copied to ask
	whole, err := combined(list[0].heavy.call, list[0].heavy.call.Args[0], weight)
	if err != nil {
		return false
	}
	together, ok := cheapest(whole, o)
	apart, copies := 0.0, 0.0
	for _, b := range list {
		each, priced := cheapest(b.heavy.call, o)
		ok, apart = ok && priced, apart+each
		t := relay.Tensor(b.end)
		copies += cost.Micros(cost.Copy(int64(t.DType.Bytes(t.Shape.Elems()))), o.Target)
	}
	if rejoined(list, readers) {
		copies = 0
	}
	if !ok {
		return false
	}
	n := diag.Note{Kind: diag.Chose, Step: "combine-parallel", Node: nodeName(list[0].heavy.call), Text: fmt.Sprintf("%d of %s on one operand together, %.1f µs", len(list),
		list[0].heavy.call.Op.Name, together+copies), Other: []diag.Option{{Name: "apart", Cost: apart}}}
	if apart <= together+copies {
		n.Text = fmt.Sprintf("%d of %s on one operand apart, %.1f µs", len(list), list[0].heavy.call.Op.Name, apart)
		n.Other = []diag.Option{{Name: "together", Cost: together + copies}}
	}
	o.Notes.Append(n)
	return apart > together+copies
}

// cheapest is the cost of a heavy operator in its best layout.
func cheapest(c *relay.Call, o *Options) (float64, bool) {
	list := o.Candidates(c, tensor.Invalid)
	if len(list) == 0 {
		return 0, false
	}
	return slices.MinFunc(list, func(a, b cost.Candidate) int { return int(1e6 * (a.Cost - b.Cost)) }).Cost, true
}

// rejoined reports whether the branches' results are only joined again, in their order.
func rejoined(list []branch, readers map[relay.Expr][]relay.Expr) bool {
	var tuple relay.Expr
	for i, b := range list {
		if len(readers[b.end]) != 1 || i > 0 && readers[b.end][0] != tuple {
			return false
		}
		tuple = readers[b.end][0]
	}
	t, ok := tuple.(*relay.Tuple)
	if !ok || len(readers[t]) != 1 {
		return false
	}
	fields, axis, ok := joined(readers[t][0])
	first := 0
	if ok {
		first = slices.Index(fields, relay.Expr(list[0].end))
	}
	for i, b := range list {
		if !ok || axis != b.heavy.channels || first+i >= len(fields) || fields[first+i] != relay.Expr(b.end) {
			return false
		}
	}
	return true
}

// part returns the slice of the team's operator that stands for e, the rebuilt end of a branch.
func (r *rewriter) part(at member, e relay.Expr) (relay.Expr, error) {
	if at.team.whole == nil {
		x := e // down to the operand, as it is now
		for c := relay.Expr(at.team.branches[at.at].end); ; c = c.(*relay.Call).Args[0] {
			x = x.(*relay.Call).Args[0]
			if c == relay.Expr(at.team.branches[at.at].heavy.call) {
				break
			}
		}
		whole, err := r.whole(at.team.branches, x)
		if err != nil {
			return nil, err
		}
		at.team.whole = whole
	}
	begin := 0
	for _, b := range at.team.branches[:at.at] {
		begin += b.width()
	}
	b := at.team.branches[at.at]
	r.note("is part of the result of %d of %s as one", len(at.team.branches), b.heavy.call.Op.Name)
	return r.sliceOf(at.team.whole, b.heavy.channels, begin, begin+b.width())
}

func (b branch) width() int { return b.heavy.weight.Value.Shape[b.heavy.out] }

// combined makes the heavy operator of all branches, like the first of them.
func combined(first *relay.Call, x, weight relay.Expr) (*relay.Call, error) {
	attrs := first.Attrs
	switch a := attrs.(type) {
	case *relay.ConvAttrs:
		n := *a
		n.Channels = 0
		attrs = &n
	case *relay.DenseAttrs:
		n := *a
		n.Units = 0
		attrs = &n
	}
	return relay.NewCall(first.Op, []relay.Expr{x, weight}, attrs, first.Pos())
}

// whole makes the operator of all branches, with biases and activation.
func (r *rewriter) whole(list []branch, x relay.Expr) (relay.Expr, error) {
	first := list[0].heavy
	var weights, biases []*tensor.Tensor
	for _, b := range list {
		weights = append(weights, b.heavy.weight.Value)
		if b.bias != nil {
			biases = append(biases, b.bias.Value)
		}
	}
	heavy, err := combined(first.call, x, relay.NewConstant(concatenated(weights, first.out), "", r.pos))
	y := relay.Expr(heavy)
	if err == nil && biases != nil {
		y, err = r.call("nn.bias_add", &relay.AxisAttrs{Axis: first.channels}, y, relay.NewConstant(concatenated(biases, 0), "", r.pos))
	}
	if act := list[0].act; err == nil && act != nil {
		y, err = r.call(act.Op.Name, act.Attrs, y)
	}
	return y, err
}

// concatenated joins arrays of whole bytes along an axis.
func concatenated(list []*tensor.Tensor, axis int) *tensor.Tensor {
	shape := list[0].Shape.Clone()
	shape[axis] = 0
	for _, t := range list {
		shape[axis] += t.Shape[axis]
	}
	out := tensor.New(list[0].DType, shape)
	rows, at := shape[:axis].Elems(), 0
	for row := range rows {
		for _, t := range list {
			n := len(t.Data) / rows
			at += copy(out.Data[at:], t.Data[row*n:][:n])
		}
	}
	return out
}
