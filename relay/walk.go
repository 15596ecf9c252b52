package relay

import (
	"iter"
	"slices"
)

// Operands returns the expressions that e is made of, in evaluation order. A function's operand is its body; its
// parameters are not operands.
func Operands(e Expr) []Expr {
	switch e := e.(type) {
	case *Var, *Constant:
		return nil
	case *Call:
		if e.Fn != nil {
			return append([]Expr{e.Fn}, e.Args...)
		}
		return e.Args
	case *Tuple:
		return e.Fields
	case *TupleGet:
		return []Expr{e.Tuple}
	case *Function:
		return []Expr{e.Body}
	case *Let:
		return []Expr{e.Value, e.Body}
	case *If:
		return []Expr{e.Cond, e.Then, e.Else}
	case *Loop:
		groups := e.Operands()
		return append(slices.Concat(groups[:]...), e.Body)
	}
	panic("relay: unknown expression")
}

// PostOrder yields each node below root once, operands before users. It does not recurse and, unless into is set,
// does not enter the bodies of functions below root (root's own body is entered when root is a function).
func PostOrder(root Expr, into bool) iter.Seq[Expr] {
	return postOrder(root, func(*Function) bool { return into })
}

// postOrder is PostOrder that enters the bodies of those functions below root that enter accepts.
func postOrder(root Expr, enter func(*Function) bool) iter.Seq[Expr] {
	return func(yield func(Expr) bool) {
		type frame struct {
			e    Expr
			next []Expr
		}
		seen := map[Expr]bool{root: true}
		open := func(e Expr) []Expr {
			if f, nested := e.(*Function); nested && e != root && !enter(f) {
				return nil
			}
			return Operands(e)
		}
		stack := []frame{{root, open(root)}}
		for len(stack) > 0 {
			top := &stack[len(stack)-1]
			if len(top.next) == 0 {
				if !yield(top.e) {
					return
				}
				stack = stack[:len(stack)-1]
				continue
			}
			e := top.next[0]
			top.next = top.next[1:]
			if !seen[e] {
				seen[e] = true
				stack = append(stack, frame{e, open(e)})
			}
		}
	}
}

// Users returns, for each node below root, how many operand places refer to it.
func Users(root Expr) map[Expr]int {
	n := map[Expr]int{}
	for e := range PostOrder(root, false) {
		if _, nested := e.(*Function); nested && e != root {
			continue
		}
		for _, o := range Operands(e) {
			n[o]++
		}
	}
	return n
}

// Rewrite returns root with each node below it replaced by f, operands first. f gets the original node and the node
// rebuilt over the rewritten operands (the same pointer when no operand changed), and returns the node to stand
// there. Functions below root are not entered. A node on which f returns its second argument stays shared.
func Rewrite(root Expr, f func(old, rebuilt Expr) (Expr, error)) (Expr, error) {
	done := map[Expr]Expr{}
	for e := range PostOrder(root, false) {
		rebuilt, err := Rebuild(e, done)
		if err != nil {
			return nil, err
		}
		to, err := f(e, rebuilt)
		if err != nil {
			return nil, err
		}
		done[e] = to
	}
	return done[root], nil
}

// Rebuild returns e over the operands in done, or e itself when none differs.
func Rebuild(e Expr, done map[Expr]Expr) (Expr, error) {
	same := true
	to := func(o Expr) Expr {
		if n, ok := done[o]; ok && n != o {
			same = false
			return n
		}
		return o
	}
	list := func(from []Expr) []Expr {
		out := make([]Expr, len(from))
		for i, o := range from {
			out[i] = to(o)
		}
		return out
	}
	switch e := e.(type) {
	case *Call:
		args := list(e.Args)
		if e.Fn != nil {
			fn := to(e.Fn)
			if same {
				return e, nil
			}
			return NewCallFn(fn, args, e.pos)
		}
		if same {
			return e, nil
		}
		return NewCall(e.Op, args, e.Attrs, e.pos)
	case *Tuple:
		if fields := list(e.Fields); !same {
			return NewTuple(fields, e.pos), nil
		}
	case *TupleGet:
		if t := to(e.Tuple); !same {
			return NewTupleGet(t, e.Index, e.pos)
		}
	case *Function:
		if body := to(e.Body); !same {
			return NewFunction(e.Params, body, e.Primitive, e.Attrs, e.pos), nil
		}
	case *Let:
		if v, b := to(e.Value), to(e.Body); !same {
			return NewLet(e.Var, v, b, e.pos), nil
		}
	case *If:
		if c, t, f := to(e.Cond), to(e.Then), to(e.Else); !same {
			return NewIf(c, t, f, e.pos)
		}
	case *Loop:
		l := *e
		if l.Trip != nil {
			l.Trip = to(l.Trip)
		}
		if l.Cond != nil {
			l.Cond = to(l.Cond)
		}
		l.State, l.Captured = list(l.State), list(l.Captured)
		l.Body = to(l.Body).(*Function)
		if !same {
			return NewLoop(l, e.pos)
		}
	}
	return e, nil
}
