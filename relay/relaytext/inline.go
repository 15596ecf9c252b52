package relaytext

import (
	"slices"

	"github.com/texel-ml/texel/diag"
	"github.com/texel-ml/texel/relay"
	"github.com/texel-ml/texel/tensor"
)

// maxInlined bounds the nodes of a module once its functions are inlined.
const maxInlined = 400_000

// Inline returns m with only main, which holds no let and calls no function: names stand for their values, and calls
// for the bodies of what they call, primitive functions too, so that the graph passes see all operators. A branch whose
// condition is a constant is the one that it takes; others, and loops, stay, with what is in them inlined.
//
// An error is diag.ErrUnsupported: a function that is left over as a value, or more than 400,000 nodes.
func Inline(m *relay.Module) (*relay.Module, error) {
	in := &inliner{}
	main := m.Main()
	body, err := in.body(main, nil, nil)
	if err != nil {
		return nil, err
	}
	out := *m
	out.Funcs = map[string]*relay.Function{"main": main}
	if body != main.Body {
		out.Funcs["main"] = relay.NewFunction(main.Params, body, false, main.Attrs, main.Pos())
	}
	return &out, nil
}

type inliner struct{ nodes int }

// frame is one application of a function: what its variables and nodes became. A node that the function has from the
// one around it is found there.
type frame struct {
	around   *frame
	done     map[relay.Expr]relay.Expr
	closures map[relay.Expr]*closure // instead of done, where a value is a function
}

// closure is a function and the application in which it was met.
type closure struct {
	f    *relay.Function
	from *frame
}

// find returns what a node became, in this application or one around it.
func (f *frame) find(e relay.Expr) (relay.Expr, *closure) {
	for ; f != nil; f = f.around {
		if to := f.done[e]; to != nil {
			return to, nil
		}
		if c := f.closures[e]; c != nil {
			return nil, c
		}
	}
	return nil, nil
}

// argument is a value or a function.
type argument struct {
	e relay.Expr
	c *closure
}

// body returns the body of f with its parameters bound; nil args leave them as they are.
func (in *inliner) body(f *relay.Function, around *frame, args []argument) (relay.Expr, error) {
	fr := &frame{around, map[relay.Expr]relay.Expr{}, map[relay.Expr]*closure{}}
	for i, p := range f.Params {
		switch {
		case args == nil:
			fr.done[p] = p
		case args[i].c != nil:
			fr.closures[p] = args[i].c
		default:
			fr.done[p] = args[i].e
		}
	}
	if err := in.run(fr, f.Body); err != nil {
		return nil, err
	}
	return in.value(fr, f.Body)
}

// value returns what an operand became, which must not be a function.
func (in *inliner) value(fr *frame, e relay.Expr) (relay.Expr, error) {
	to, c := fr.find(e)
	if c != nil {
		return nil, diag.Unsupported(step, "function", "a function is a value here; it can only be called").At(e.Pos())
	}
	return to, nil
}

// run goes over what lies below root, operands first, without calling itself.
func (in *inliner) run(fr *frame, root relay.Expr) error {
	todo := []relay.Expr{root}
	for len(todo) > 0 {
		e := todo[len(todo)-1]
		if to, c := fr.find(e); to != nil || c != nil {
			todo = todo[:len(todo)-1]
			continue
		}
		ready := true
		for _, o := range slices.Backward(in.needs(fr, e)) {
			if to, c := fr.find(o); to == nil && c == nil {
				todo, ready = append(todo, o), false
			}
		}
		if !ready {
			continue
		}
		todo = todo[:len(todo)-1]
		if in.nodes++; in.nodes > maxInlined {
			return diag.Unsupported(step, "function", "more than %d nodes when functions are inlined", maxInlined).At(e.Pos())
		}
		if err := in.node(fr, e); err != nil {
			return err
		}
	}
	return nil
}

// needs returns the operands that a node has to wait for. The body of a let waits for its value.
func (in *inliner) needs(fr *frame, e relay.Expr) []relay.Expr {
	switch e := e.(type) {
	case *relay.Function:
		return nil
	case *relay.Let:
		to, c := fr.find(e.Value)
		if to == nil && c == nil {
			return []relay.Expr{e.Value}
		}
		if to != nil {
			fr.done[e.Var] = to
		} else {
			fr.closures[e.Var] = c
		}
		return []relay.Expr{e.Body}
	case *relay.If:
		if to, _ := fr.find(e.Cond); to == nil {
			return []relay.Expr{e.Cond}
		} else if branch := taken(e, to); branch != nil {
			return []relay.Expr{branch}
		}
	case *relay.Loop:
		return relay.Operands(e)[:len(relay.Operands(e))-1] // the body is a function
	}
	return relay.Operands(e)
}

// taken returns the branch that a known condition takes, or nil.
func taken(e *relay.If, cond relay.Expr) relay.Expr {
	c, ok := cond.(*relay.Constant)
	if !ok {
		return nil
	}
	if tensor.View[uint8](c.Value)[0] != 0 {
		return e.Then
	}
	return e.Else
}

// node makes what a node becomes, whose operands are there.
func (in *inliner) node(fr *frame, e relay.Expr) error {
	same := func(from relay.Expr) error {
		to, c := fr.find(from)
		if c != nil {
			fr.closures[e] = c
		} else {
			fr.done[e] = to
		}
		return nil
	}
	switch e := e.(type) {
	case *relay.Var, *relay.Constant:
		fr.done[e] = e
		return nil
	case *relay.Function:
		fr.closures[e] = &closure{e, fr}
		return nil
	case *relay.Let:
		return same(e.Body)
	case *relay.If:
		if cond, _ := fr.find(e.Cond); taken(e, cond) != nil {
			return same(taken(e, cond))
		}
	case *relay.Call:
		if e.Fn != nil {
			return in.call(fr, e)
		}
	case *relay.Loop:
		body, err := in.body(e.Body, fr, nil)
		if err != nil {
			return err
		}
		f := relay.NewFunction(e.Body.Params, body, e.Body.Primitive, e.Body.Attrs, e.Body.Pos())
		if body == e.Body.Body {
			f = e.Body
		}
		return in.rebuild(fr, e, map[relay.Expr]relay.Expr{e.Body: f})
	}
	return in.rebuild(fr, e, map[relay.Expr]relay.Expr{})
}

// rebuild makes a node over what its operands became, those in done included.
func (in *inliner) rebuild(fr *frame, e relay.Expr, done map[relay.Expr]relay.Expr) error {
	for _, o := range relay.Operands(e) {
		if done[o] != nil {
			continue
		}
		to, err := in.value(fr, o)
		if err != nil {
			return err
		}
		done[o] = to
	}
	to, err := relay.Rebuild(e, done)
	fr.done[e] = to
	return err
}

// call makes the body of what is called take the place of a call.
func (in *inliner) call(fr *frame, e *relay.Call) error {
	_, c := fr.find(e.Fn)
	if c == nil { // the reader lets functions be written or named only
		return diag.Internal(step, "call", "a call of %v", e.Fn.Type()).At(e.Pos())
	}
	args := make([]argument, len(e.Args))
	for i, a := range e.Args {
		args[i].e, args[i].c = fr.find(a)
	}
	to, err := in.body(c.f, c.from, args)
	fr.done[e] = to
	return err
}
