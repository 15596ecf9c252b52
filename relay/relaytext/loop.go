package relaytext

import (
	"github.com/texel-ml/texel/diag"
	"github.com/texel-ml/texel/relay"
)

// loop makes the node that is written loop(%body, (%trip,), (%cond,), (%state0, %state1), (%captured0,), max_rounds=8).
func (c *call) loop() relay.Expr {
	body, ok := c.args[0].(*relay.Function)
	if v, named := c.args[0].(*relay.Var); named {
		body, ok = c.b.functions[v]
	}
	if !ok {
		c.fail(diag.Invalid, "the body has type %v, wanted a function that is written or named", c.args[0].Type())
		return nil
	}
	if v := freeVariable(body); v != nil {
		c.fail(diag.Invalid, "the body reads %%%s, which is bound outside of it; wanted a captured value", v.Name)
		return nil
	}
	var groups [4][]relay.Expr
	for i := range groups {
		t, ok := c.args[1+i].(*relay.Tuple)
		if !ok || i < 2 && len(t.Fields) > 1 {
			c.fail(diag.Invalid, "operand %d has type %v, wanted a tuple of a trip count, of a condition, of the state, of captured values",
				1+i, c.args[1+i].Type())
			return nil
		}
		groups[i] = t.Fields
	}
	l := relay.Loop{State: groups[2], Captured: groups[3], Max: attr(c, "max_rounds", 0), Body: body}
	if len(groups[0]) > 0 {
		l.Trip = groups[0][0]
	}
	if len(groups[1]) > 0 {
		l.Cond = groups[1][0]
	}
	if c.err != nil {
		return nil
	}
	e, err := relay.NewLoop(l, c.pos)
	if err != nil {
		c.failWith(err)
		return nil
	}
	return e
}

// freeVariable returns a variable that f reads and does not bind, or nil.
func freeVariable(f *relay.Function) *relay.Var {
	bound := map[*relay.Var]bool{}
	var read []*relay.Var
	for e := range relay.PostOrder(f, true) {
		switch e := e.(type) {
		case *relay.Var:
			read = append(read, e)
		case *relay.Let:
			bound[e.Var] = true
		case *relay.Function:
			for _, p := range e.Params {
				bound[p] = true
			}
		}
	}
	for _, v := range read {
		if !bound[v] {
			return v
		}
	}
	return nil
}
