package transform

import (
	"context"
	"fmt"
	"sort"
	"strings"

	"github.com/texel-ml/texel/relay"
)

// Culprit is the first pass that changes what a module computes.
type Culprit struct {
	Pass     string
	Rewrites int     // how many nodes the pass replaced; 0 when it does not work node by node
	Rewrite  Rewrite // the first one at fault, where there are any
	Fault    error   // what the pass, the check or same said
	Before   *relay.Module
	After    *relay.Module // nil when the pass failed
	Fine     []string      // the passes before it, which are right
}

// Bisect runs passes one by one and gives each result to same, which returns how it differs from what m computes, or nil.
// It returns the first pass whose result differs, or that fails, and inside it the first node replaced; nil when there is
// none. Between two rewrites it searches by halving, so that of several at fault it finds one whose predecessors are fine
// together.
func Bisect(ctx context.Context, m *relay.Module, passes []Pass, o *Options, same func(m *relay.Module) error) (*Culprit, error) {
	quiet := *o
	quiet.Notes, quiet.Observe, quiet.Rewrote, quiet.Verify = nil, nil, nil, true
	var fine []string
	for _, p := range passes {
		next, fault := quiet.try(ctx, m, p, same)
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if fault == nil {
			fine, m = append(fine, p.Name), next
			continue
		}
		c := &Culprit{Pass: p.Name, Fault: fault, Before: m, After: next, Fine: fine}
		return c, quiet.narrow(ctx, p, c, same)
	}
	return nil, nil
}

// try runs one pass and checks what it made, where it made something.
func (o *Options) try(ctx context.Context, m *relay.Module, p Pass, same func(m *relay.Module) error) (*relay.Module, error) {
	next, err := Run(ctx, m, []Pass{p}, o)
	if err != nil {
		return nil, err
	}
	if next.Main() == m.Main() {
		return next, nil
	}
	return next, same(next)
}

// narrow finds the first rewrite of the pass at fault.
func (o *Options) narrow(ctx context.Context, p Pass, c *Culprit, same func(m *relay.Module) error) error {
	with := *o
	var last Rewrite
	with.Rewrote = func(r Rewrite) { last = r }
	if _, err := Run(ctx, c.Before, []Pass{p}, &with); err != nil && last.Number == 0 {
		return ctx.Err() // it failed before the first
	}
	c.Rewrites = last.Number
	sort.Search(c.Rewrites, func(i int) bool { // the answer is in c: the last try that was at fault
		last = Rewrite{}
		with.MaxRewrites = i + 1
		next, fault := with.try(ctx, c.Before, p, same)
		if ctx.Err() != nil || fault == nil {
			return false
		}
		c.Rewrite, c.Fault, c.After = last, fault, next
		return true
	})
	return ctx.Err()
}

// Describe prints an expression on one line, with what it is made of down to a few operators.
func Describe(e relay.Expr) string { return describe(e, 4) }

func describe(e relay.Expr, depth int) string {
	list := func(fields []relay.Expr) string {
		var parts []string
		for _, f := range fields {
			parts = append(parts, describe(f, depth-1))
		}
		return strings.Join(parts, ", ")
	}
	switch e := e.(type) {
	case *relay.Var:
		return "%" + e.Name
	case *relay.Constant:
		if v, ok := number(e); ok {
			return relay.FormatAttr(v)
		}
		return fmt.Sprintf("constant%v", e.Value.Shape)
	case *relay.Tuple:
		return "(" + list(e.Fields) + ")"
	case *relay.TupleGet:
		return fmt.Sprintf("%s.%d", describe(e.Tuple, depth), e.Index)
	case *relay.Call:
		if e.Op == nil {
			return "fn(" + list(e.Args) + ")"
		}
		if depth == 0 {
			return e.Op.Name + "(…)"
		}
		args := list(e.Args)
		for i, f := range relay.AttrFields(e.Attrs) {
			if text := relay.FormatAttr(f.Value); text != relay.FormatAttr(relay.AttrFields(e.Op.NewAttrs())[i].Value) {
				args += fmt.Sprintf(", %s=%s", f.Name, text)
			}
		}
		return e.Op.Name + "(" + strings.TrimPrefix(args, ", ") + ")"
	}
	return fmt.Sprintf("%T", e)
}
