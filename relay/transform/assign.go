package transform

import (
	"context"
	"errors"
	"fmt"

	"github.com/texel-ml/texel/diag"
	"github.com/texel-ml/texel/internal/pbqp"
	"github.com/texel-ml/texel/relay"
	"github.com/texel-ml/texel/tensor"
)

// Assign chooses, for the whole graph at once, how each operator is computed and how each value is kept: an operator with
// candidates takes one of them, with the order of axes of its data, weight and result; elementwise operators, pools, joins
// and others that can do so run in the order that suits their neighbours; and where Options.Precision says so, values and
// weights are kept in half precision. A copy is made where an operator wants another order than its operand has: a transpose of the
// model is part of that order and costs nothing until somebody needs it. Weights are packed; packing of constants is folded later.
//
// The choices are a partitioned boolean quadratic problem. A label costs what the kernel takes by the cost model, an edge
// what it takes to copy and to read what one operator makes for another; the labels taken have the least sum. Where the
// search for them is given up, the notes say how far above the optimum the sum is at most.
func Assign(_ context.Context, m *relay.Module, o *Options) (*relay.Module, error) {
	if o.Candidates == nil && o.Precision.Store == tensor.Invalid {
		return m, nil
	}
	if d := o.Precision.Store; d != tensor.Invalid && !o.Target.Stores(d) {
		return nil, diag.Unsupported("assign", o.Target.String(), "the target does not convert %v", d)
	}
	main := m.Main()
	a := newAssignment(main, o)
	a.findOrders()
	if o.Precision.Store != tensor.Invalid {
		a.findStores()
		a.findHalves()
	}
	a.findLabels()
	if err := a.solve(); err != nil {
		return nil, err
	}
	body, err := a.place()
	if err != nil {
		return nil, err
	}
	return m.WithMain(relay.NewFunction(main.Params, body, main.Primitive, main.Attrs, main.Pos())), nil
}

// solve gives every choice its label.
func (a *assignment) solve() error {
	p := a.problem()
	greedy := a.oneByOne(p)
	s, err := p.Solve(pbqp.Options{Start: greedy})
	if err != nil {
		var e *pbqp.InfeasibleError
		if errors.As(err, &e) {
			return diag.Internal("assign", a.nodeOf(e.Node), "no choice goes together with the others").By(err)
		}
		return diag.Internal("assign", "main", "the problem is not well formed").By(err)
	}
	for _, c := range a.choices {
		c.label = c.labels[s.Labels[c.node]]
	}
	a.note(p, s, p.Cost(greedy))
	return nil
}

// nodeOf names the operator that a node of the problem stands for.
func (a *assignment) nodeOf(node int) string {
	for _, c := range a.choices {
		if (c.node == node || c.shared == node) && c.call != nil {
			return nodeName(c.call)
		}
	}
	return "main"
}

// note says what was chosen, what it costs and what the others would have cost with everything else as it is; greedy is what
// choices one by one cost together.
func (a *assignment) note(p *pbqp.Problem, s *pbqp.Solution, greedy float64) {
	all := p.Alternatives(s.Labels)
	for _, c := range a.choices {
		if c.how != byCandidate {
			continue
		}
		costs, taken := all[c.node], s.Labels[c.node]
		n := diag.Note{Kind: diag.Chose, Step: "assign", Node: nodeName(c.call), Text: fmt.Sprintf("%v, %.1f µs", c.label, costs[taken])}
		for i, l := range c.labels {
			if i != taken && costs[i] < pbqp.Infinite {
				n.Other = append(n.Other, diag.Option{Name: l.String(), Cost: costs[i]})
			}
		}
		a.o.Notes.Append(n)
	}
	if a.o.Precision.Store != tensor.Invalid {
		a.notePrecision()
	}
	t := s.Stats
	how := fmt.Sprintf("optimal; reductions R0 %d, RI %d, RII %d, fixed %d", t.R0, t.RI, t.RII, t.Fixed)
	if t.Searched > 0 {
		how += fmt.Sprintf(", %d searched in %d visits", t.Searched, t.Visits)
	}
	if gap := s.Gap(); gap > 0 {
		how = fmt.Sprintf("at most %.1f µs above the optimum: the search of %d operators ended after %d visits", gap, t.Searched, t.Visits)
	}
	a.o.Notes.Add(diag.Chose, "assign", "main", "%d nodes, %d edges, %.1f µs in all (choosing one by one: %.1f µs), gap %.1f µs: %s", p.Nodes(), p.Edges(),
		s.Cost, greedy, s.Gap(), how)
}

// String names a label as explain shows it.
func (l label) String() string {
	text := "as it comes"
	if l.pick != nil {
		text = l.pick.String()
	}
	if l.weight != tensor.Invalid {
		text += ", weight in " + l.weight.String()
	}
	if l.store != tensor.Invalid {
		text += ", result in " + l.store.String()
	}
	return text
}

// oneByOne labels the choices in order of execution, each with what is best behind those before it: the search gives nothing
// that is worse.
func (a *assignment) oneByOne(p *pbqp.Problem) []int {
	labels := make([]int, p.Nodes())
	for _, c := range a.choices {
		least := pbqp.Infinite
		for i, l := range c.labels {
			sum := a.own(c, l)
			for n, r := range c.reads {
				if r.from != nil {
					sum += a.taking(r.from.labels[labels[r.from.node]], c, l, n)
				} else {
					sum += a.taking(label{}, c, l, n)
				}
			}
			if sum < least {
				least, labels[c.node] = sum, i
			}
		}
	}
	for _, c := range a.choices {
		least := pbqp.Infinite
		for i, v := range c.values {
			sum := a.making(c.labels[labels[c.node]], c, v)
			for _, u := range c.users {
				sum += a.sharing(v, u, u.by.labels[labels[u.by.node]])
			}
			if sum < least {
				least, labels[c.shared] = sum, i
			}
		}
	}
	return labels
}

// nodeName is the name of an operator in the model, or else that of its row.
func nodeName(c *relay.Call) string {
	if n := c.Pos().Node; n != "" {
		return n
	}
	return c.Op.Name
}
