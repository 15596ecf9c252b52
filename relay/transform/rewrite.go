package transform

import (
	"fmt"

	"github.com/texel-ml/texel/diag"
	"github.com/texel-ml/texel/relay"
	"github.com/texel-ml/texel/tensor"
)

// rewriter is one pass over main, operands first.
type rewriter struct {
	step  string
	o     *Options
	uses  map[relay.Expr]int  // how many operand places refer to a node of the new graph
	made  map[relay.Expr]bool // the nodes made for the node that is rewritten
	old   relay.Expr          // the node of the graph before this walk
	pos   diag.Pos            // of the node that is rewritten: new nodes get it
	count int                 // rewrites so far
	notes []diag.Note         // of the rewrite that is tried
	grown int                 // bytes that constants made the module larger by
}

// Rewrite is one replacement of a node by a pass.
type Rewrite struct {
	Pass          string
	Number        int // from 1, in the pass
	Node          string
	Before, After relay.Expr
}

const (
	// mostRounds bounds the walks of a pass that goes on until nothing changes. Each rule leaves less to do than it found.
	mostRounds = 32
	// mostSteps bounds the rewrites of one node in one walk.
	mostSteps = 64
)

// rule replaces a call whose operands have been rewritten; nil keeps it.
type rule func(r *rewriter, c *relay.Call) (relay.Expr, error)

// rewrite applies rules to every call of an operator in main, once over the graph; the first that gives something counts,
// and what it gives is tried again.
func rewrite(step string, m *relay.Module, o *Options, rules ...rule) (*relay.Module, error) {
	return rewriteExpr(step, m, o, onCalls(rules))
}

// settle applies rules as rewrite does, walk by walk, until nothing changes.
func (r *rewriter) settle(m *relay.Module, rules ...rule) (*relay.Module, error) {
	return r.settleExpr(m, onCalls(rules))
}

// settleExpr is settle for a function of every node.
func (r *rewriter) settleExpr(m *relay.Module, f func(r *rewriter, e relay.Expr) (relay.Expr, error)) (*relay.Module, error) {
	for range mostRounds {
		before := r.count
		next, err := r.walk(m, f)
		if err != nil || r.count == before {
			return next, err
		}
		m = next
	}
	r.o.Notes.Add(diag.Fallback, r.step, "", "stopped after %d walks with rewrites left", mostRounds)
	return m, nil
}

func onCalls(rules []rule) func(r *rewriter, e relay.Expr) (relay.Expr, error) {
	return func(r *rewriter, e relay.Expr) (relay.Expr, error) {
		c, ok := e.(*relay.Call)
		if !ok || c.Op == nil {
			return nil, nil
		}
		for _, f := range rules {
			if to, err := f(r, c); to != nil || err != nil {
				return to, err
			}
		}
		return nil, nil
	}
}

// rewriteExpr applies f to every node in main, once over the graph.
func rewriteExpr(step string, m *relay.Module, o *Options, f func(r *rewriter, e relay.Expr) (relay.Expr, error)) (*relay.Module, error) {
	return (&rewriter{step: step, o: o}).walk(m, f)
}

func (r *rewriter) walk(m *relay.Module, f func(r *rewriter, e relay.Expr) (relay.Expr, error)) (*relay.Module, error) {
	main := m.Main()
	users := relay.Users(main)
	r.uses = make(map[relay.Expr]int, len(users))
	body, err := relay.Rewrite(main, func(old, rebuilt relay.Expr) (relay.Expr, error) {
		if old == relay.Expr(main) {
			return rebuilt, nil
		}
		r.old, r.pos, r.made = old, old.Pos(), nil
		to, err := r.replaced(rebuilt, f)
		if err != nil {
			return nil, err
		}
		if r.made[to] {
			r.uses[to] = 0 // it stands for the old node: that one's users are its users
		}
		r.uses[to] += users[old]
		return to, nil
	})
	if err != nil {
		return nil, err
	}
	return m.WithMain(body.(*relay.Function)), nil
}

// replaced applies f to e, and to what it gives.
func (r *rewriter) replaced(e relay.Expr, f func(r *rewriter, e relay.Expr) (relay.Expr, error)) (relay.Expr, error) {
	for range mostSteps {
		if r.o.MaxRewrites > 0 && r.count >= r.o.MaxRewrites {
			return e, nil
		}
		r.notes = r.notes[:0]
		to, err := f(r, e)
		if err != nil {
			return nil, err
		}
		if to == nil || to == e {
			return e, nil
		}
		r.count++
		for _, n := range r.notes {
			r.o.Notes.Append(n)
		}
		if r.o.Rewrote != nil {
			r.o.Rewrote(Rewrite{Pass: r.step, Number: r.count, Node: r.pos.Node, Before: e, After: to})
		}
		e = to
	}
	return e, nil
}

// note records that a pattern was replaced.
func (r *rewriter) note(format string, args ...any) {
	r.notes = append(r.notes, diag.Note{Kind: diag.Rewrote, Step: r.step, Node: r.pos.Node, Text: fmt.Sprintf(format, args...)})
}

// single reports whether only one operand place refers to e.
func (r *rewriter) single(e relay.Expr) bool { return r.uses[e] == 1 }

// call makes a call of an operator at the position of the node that is rewritten.
func (r *rewriter) call(name string, attrs any, args ...relay.Expr) (relay.Expr, error) {
	op := r.o.Ops.Lookup(name)
	if op == nil {
		return nil, diag.Internal(r.step, name, "the table has no such operator")
	}
	c, err := relay.NewCall(op, args, attrs, r.pos)
	if err != nil {
		return nil, err
	}
	r.uses[c] = 1
	if r.made == nil {
		r.made = map[relay.Expr]bool{}
	}
	r.made[c] = true
	return c, nil
}

// constant makes a constant of an array.
func (r *rewriter) constant(w *tensor.Wide) *relay.Constant {
	return relay.NewConstant(w.Narrow(), "", r.pos)
}

// constantAs makes a constant of floats in an element type and shape.
func (r *rewriter) constantAs(d tensor.DType, shape tensor.Shape, list []float64) *relay.Constant {
	return r.constant(&tensor.Wide{DType: d, Shape: shape, F: list})
}
