package transform

import (
	"slices"

	"github.com/texel-ml/texel/diag"
	"github.com/texel-ml/texel/tir"
)

// DoubleBuffer gives each buffer whose allocation carries the attribute double_buffer two halves, and fills the next one
// while the present one is used:
//
//	for k in range(0, n)                 allocate S[2, …]
//	  allocate S[…]                        S[0] = A(0)
//	    S = A(k)                    →      for k in range(0, n)
//	    use S                                if k + 1 < n: S[(k + 1) %% 2] = A(k + 1)
//	                                         use S[k %% 2]
//
// so that the transfer overlaps with the use, and one barrier an iteration is enough. What fills the buffer must depend on
// nothing else that the loop computes. An allocation that does not stand directly in a serial loop has no next iteration,
// as when the loop had one and went, and stays as it is.
func DoubleBuffer(k *tir.Kernel, _ Options) (*tir.Kernel, error) {
	if !anyDouble(k.Body) {
		return k, nil
	}
	var err error
	m := &tir.Mapper{Stmt: func(s tir.Stmt) tir.Stmt {
		f, ok := s.(*tir.For)
		if !ok || f.Kind == tir.Bound || f.Kind == tir.Parallel || f.Kind == tir.Vectorized || err != nil {
			return s
		}
		var to tir.Stmt
		to, err = doubleIn(f)
		return to
	}}
	body := m.MapStmt(k.Body)
	if err != nil {
		return nil, err
	}
	body = (&tir.Mapper{Stmt: func(s tir.Stmt) tir.Stmt { // what is left has no next iteration
		if a, ok := s.(*tir.Allocate); ok && a.Attrs[tir.DoubleBuffer] != "" {
			return &tir.Allocate{Buffer: a.Buffer, Body: a.Body}
		}
		return s
	}}).MapStmt(body)
	return withBody(k, body), nil
}

func anyDouble(s tir.Stmt) bool {
	found := false
	tir.Walk(s, func(n any) bool {
		a, ok := n.(*tir.Allocate)
		found = found || ok && a.Attrs[tir.DoubleBuffer] != ""
		_, isExpr := n.(tir.Expr)
		return !found && !isExpr
	})
	return found
}

// doubleIn carries out the allocations that stand directly in a loop.
func doubleIn(f *tir.For) (tir.Stmt, error) {
	var before []tir.Stmt // what fills the first halves
	var halves []*tir.Buffer
	for {
		a := ownDouble(f.Body)
		if a == nil {
			break
		}
		first, to, half, err := doubleOne(f, a)
		if err != nil {
			return nil, err
		}
		before, halves, f = append(before, first...), append(halves, half), to
	}
	if len(halves) == 0 {
		return f, nil
	}
	out := tir.Block1(append(before, f)...)
	for _, h := range slices.Backward(halves) {
		out = &tir.Allocate{Buffer: h, Body: out}
	}
	return out, nil
}

// ownDouble returns the allocation with the attribute that only allocations and lets part from the loop's body.
func ownDouble(s tir.Stmt) *tir.Allocate {
	chain, _ := wrappers(s)
	for _, w := range chain {
		if a, ok := w.(*tir.Allocate); ok && a.Attrs[tir.DoubleBuffer] != "" {
			return a
		}
	}
	return nil
}

// doubleOne carries out one allocation: it returns what goes before the loop, the loop, and the buffer of the halves.
func doubleOne(f *tir.For, a *tir.Allocate) (before []tir.Stmt, loop *tir.For, halves *tir.Buffer, err error) {
	chain, list := wrappers(f.Body)
	var fills, uses []tir.Stmt
	for _, s := range list {
		if _, written := accesses(s, a.Buffer); written {
			fills = append(fills, s)
		} else {
			uses = append(uses, s)
		}
	}
	if err := fillsAlone(a.Buffer, fills, uses); err != nil {
		return nil, nil, nil, err
	}
	halves = copiesOf(a.Buffer, 2)
	in := func(s tir.Stmt, half tir.Expr) tir.Stmt { return inCopy(s, a.Buffer, halves, half) }
	turn := tir.Minus(f.Var, f.Min)
	next := tir.Plus(f.Var, tir.I(1))
	more := tir.Bin(tir.LT, tir.Plus(turn, tir.I(1)), f.Extent)
	lets := letsOf(chain)
	var body []tir.Stmt
	for _, s := range list {
		if _, written := accesses(s, a.Buffer); !written {
			body = append(body, in(s, tir.Bin(tir.FloorMod, turn, tir.I(2))))
			continue
		}
		s = tir.SubstStmt(s, lets)
		before = append(before, in(tir.SubstStmt(s, map[*tir.Var]tir.Expr{f.Var: f.Min}), tir.I(0)))
		filled := in(tir.SubstStmt(s, map[*tir.Var]tir.Expr{f.Var: next}), tir.Bin(tir.FloorMod, tir.Plus(turn, tir.I(1)), tir.I(2)))
		body = append(body, &tir.If{Cond: more, Then: filled})
	}
	if n, constant := tir.AsInt(f.Extent); !constant || n < 1 {
		before = []tir.Stmt{&tir.If{Cond: tir.Bin(tir.LT, tir.I(0), f.Extent), Then: tir.Block1(before...)}}
	}
	c := *f
	c.Body = tir.Block1(body...)
	for _, w := range slices.Backward(chain) {
		switch n := w.(type) {
		case *tir.Let:
			c.Body = &tir.Let{Var: n.Var, Value: n.Value, Body: c.Body}
		case *tir.Allocate:
			if n != a {
				c.Body = n.WithBody(c.Body)
			}
		}
	}
	return before, &c, halves, nil
}

// wrappers returns the lets and allocations around the statements of a loop's body, and the statements.
func wrappers(s tir.Stmt) (chain, list []tir.Stmt) {
	for {
		switch n := s.(type) {
		case *tir.Let:
			chain, s = append(chain, n), n.Body
		case *tir.Allocate:
			chain, s = append(chain, n), n.Body
		default:
			return chain, flatten(s)
		}
	}
}

// fillsAlone checks that what fills a buffer may run an iteration earlier: it reads nothing that the loop writes, and
// writes nothing else that is there longer.
func fillsAlone(b *tir.Buffer, fills, uses []tir.Stmt) error {
	if len(uses) == 0 {
		return diag.Unsupported("double-buffer", b.Name, "nothing but what fills the buffer is in the loop")
	}
	written, own := map[*tir.Buffer]bool{}, map[*tir.Buffer]bool{}
	for _, s := range append(slices.Clone(uses), fills...) {
		tir.Walk(s, func(n any) bool {
			if st, ok := n.(*tir.Store); ok {
				written[st.Buffer] = true
			}
			return true
		})
	}
	for _, s := range fills {
		tir.Walk(s, func(n any) bool {
			if a, ok := n.(*tir.Allocate); ok {
				own[a.Buffer] = true
			}
			return true
		})
	}
	var err error
	for _, s := range fills {
		tir.Walk(s, func(n any) bool {
			switch n := n.(type) {
			case *tir.Store:
				if n.Buffer != b && !own[n.Buffer] {
					err = diag.Unsupported("double-buffer", b.Name, "what fills the buffer also writes %s", n.Buffer.Name)
				}
			case *tir.Load:
				if written[n.Buffer] && !own[n.Buffer] && n.Buffer != b {
					err = diag.Unsupported("double-buffer", b.Name, "what fills the buffer reads %s, which the same loop writes", n.Buffer.Name)
				}
			}
			return err == nil
		})
	}
	return err
}

// letsOf returns the values of the lets of a chain, in terms of what is outside of it.
func letsOf(chain []tir.Stmt) map[*tir.Var]tir.Expr {
	lets := map[*tir.Var]tir.Expr{}
	for _, s := range chain {
		if n, ok := s.(*tir.Let); ok {
			lets[n.Var] = tir.Subst(n.Value, lets)
		}
	}
	return lets
}
