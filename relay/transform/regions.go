package transform

import (
	"context"

	"github.com/texel-ml/texel/relay"
	"github.com/texel-ml/texel/tensor"
)

// A region is a function that is called in another one and becomes no kernel, such as the branch of an If, or the body of a
// loop. Passes rewrite main alone; everywhere runs them on the regions too.

// everywhere runs p on main, and then on each region in it as if that were main. On the way, constants that a region is
// given move into it, so that p sees them; what it is given, or gives, for nothing goes; and a branch whose condition has
// become a constant is the side that is taken. infer-type goes into regions by itself.
func everywhere(ctx context.Context, p Pass, m *relay.Module, o *Options) (*relay.Module, error) {
	if p.Name == "infer-type" {
		return p.Run(ctx, m, o)
	}
	e := &everyRegion{ctx: ctx, pass: p, module: m, o: o}
	main, err := e.run(m.Main())
	if err != nil {
		return nil, err
	}
	if main == m.Main() {
		return m, nil
	}
	return m.WithMain(main), nil
}

type everyRegion struct {
	ctx    context.Context
	pass   Pass
	module *relay.Module
	o      *Options
	count  int // rewrites so far
}

// run runs the pass on f, and on the regions in it.
func (e *everyRegion) run(f *relay.Function) (*relay.Function, error) {
	f, err := e.alone(f)
	if err != nil {
		return nil, err
	}
	if f, err = trim(f); err != nil {
		return nil, err
	}
	to, err := relay.Rewrite(f, func(_, x relay.Expr) (relay.Expr, error) {
		switch x := x.(type) {
		case *relay.Call:
			if fn, ok := x.Fn.(*relay.Function); ok && !fn.Primitive {
				fn, args, err := e.region(fn, 0, x.Args)
				if err != nil || fn == x.Fn {
					return x, err
				}
				return relay.NewCallFn(fn, args, x.Pos())
			}
		case *relay.If:
			return decided(x)
		case *relay.Loop:
			body, captured, err := e.region(x.Body, 1+len(x.State), x.Captured)
			if err != nil || body == x.Body {
				return x, err
			}
			l := *x
			l.Body, l.Captured = body, captured
			return relay.NewLoop(l, x.Pos())
		}
		return x, nil
	})
	if err != nil {
		return nil, err
	}
	return to.(*relay.Function), nil
}

// decided returns the side of a branch that a constant condition takes.
func decided(i *relay.If) (relay.Expr, error) {
	k, ok := i.Cond.(*relay.Constant)
	if !ok {
		return i, nil
	}
	side := i.Else
	if tensor.Widen(k.Value).I[0] != 0 {
		side = i.Then
	}
	c, ok := side.(*relay.Call)
	if !ok {
		return i, nil
	}
	fn, ok := c.Fn.(*relay.Function)
	if !ok || fn.Primitive {
		return i, nil
	}
	given, inner := map[relay.Expr]relay.Expr{}, readInside(fn)
	for k, p := range fn.Params {
		if given[p] = c.Args[k]; inner[p] {
			return i, nil // a function in the side reads it
		}
	}
	return relay.Rewrite(fn.Body, func(_, x relay.Expr) (relay.Expr, error) {
		if a := given[x]; a != nil {
			return a, nil
		}
		return x, nil
	})
}

// alone runs the pass on f without the regions in it.
func (e *everyRegion) alone(f *relay.Function) (*relay.Function, error) {
	o, before := *e.o, e.count
	if o.MaxRewrites > 0 {
		if o.MaxRewrites -= before; o.MaxRewrites <= 0 {
			return f, nil
		}
	}
	o.Rewrote = func(r Rewrite) {
		r.Number += before
		e.count = max(e.count, r.Number)
		if e.o.Rewrote != nil {
			e.o.Rewrote(r)
		}
	}
	m, err := e.pass.Run(e.ctx, e.module.WithMain(f), &o)
	if err != nil {
		return nil, err
	}
	return m.Main(), nil
}

// region runs the pass on a region whose parameters from number first on are given as args, and returns it with what
// it is to be given.
func (e *everyRegion) region(f *relay.Function, first int, args []relay.Expr) (*relay.Function, []relay.Expr, error) {
	f, args, err := specialize(f, first, args)
	if err != nil {
		return nil, nil, err
	}
	f, err = e.run(f)
	return f, args, err
}

// specialize returns f with the constants among args in place of their parameters, and without the parameters that are not
// used; and what is left of args. Parameters before number first stay, and so do those that functions in f read.
func specialize(f *relay.Function, first int, args []relay.Expr) (*relay.Function, []relay.Expr, error) {
	uses, inner := relay.Users(f), readInside(f)
	params := append([]*relay.Var{}, f.Params[:first]...)
	var rest []relay.Expr
	constants := map[relay.Expr]relay.Expr{}
	for i, a := range args {
		p := f.Params[first+i]
		_, constant := a.(*relay.Constant)
		switch {
		case inner[p] || uses[p] > 0 && !constant:
			params, rest = append(params, p), append(rest, a)
		case constant:
			constants[p] = a
		}
	}
	if len(rest) == len(args) {
		return f, args, nil
	}
	body, err := relay.Rewrite(f.Body, func(_, e relay.Expr) (relay.Expr, error) {
		if c := constants[e]; c != nil {
			return c, nil
		}
		return e, nil
	})
	if err != nil {
		return nil, nil, err
	}
	return relay.NewFunction(params, body, false, f.Attrs, f.Pos()), rest, nil
}

// readInside returns the variables that functions in f read.
func readInside(f *relay.Function) map[relay.Expr]bool {
	read := map[relay.Expr]bool{}
	for e := range relay.PostOrder(f, false) {
		if nested, ok := e.(*relay.Function); ok && nested != f {
			for v := range relay.PostOrder(nested, true) {
				if _, ok := v.(*relay.Var); ok {
					read[v] = true
				}
			}
		}
	}
	return read
}
