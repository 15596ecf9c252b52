package schedule

import "github.com/texel-ml/texel/tir"

// withOwnVars returns f with a variable of its own for each loop, let and iteration variable: primitives name loops by
// their variables. It is f itself where that is so already, as in all functions but those whose text or maker gives one
// variable to several loops that stand side by side.
func withOwnVars(f *tir.Func) *tir.Func {
	u := &owner{seen: map[*tir.Var]bool{}}
	for _, v := range f.Scalars {
		u.seen[v] = true
	}
	body := u.stmt(f.Body)
	if body == f.Body {
		return f
	}
	c := *f
	c.Body = body
	return &c
}

type owner struct{ seen map[*tir.Var]bool }

// own returns the variable to use for v in a new scope, and what to put for v there; nil when v can stay.
func (u *owner) own(v *tir.Var) (*tir.Var, map[*tir.Var]tir.Expr) {
	if !u.seen[v] {
		u.seen[v] = true
		return v, nil
	}
	w := &tir.Var{Name: v.Name, DType: v.DType}
	u.seen[w] = true
	return w, map[*tir.Var]tir.Expr{v: w}
}

func (u *owner) stmt(st tir.Stmt) tir.Stmt {
	m := &tir.Mapper{}
	m.Enter = func(st tir.Stmt) (tir.Stmt, bool) {
		switch n := st.(type) {
		case *tir.For:
			v, to := u.own(n.Var)
			body := n.Body
			if to != nil {
				body = tir.SubstStmt(body, to)
			}
			if body = m.MapStmt(body); body == n.Body {
				return n, true
			}
			c := *n
			c.Var, c.Body = v, body
			return &c, true
		case *tir.Let:
			v, to := u.own(n.Var)
			body := n.Body
			if to != nil {
				body = tir.SubstStmt(body, to)
			}
			if body = m.MapStmt(body); body == n.Body {
				return n, true
			}
			return &tir.Let{Var: v, Value: n.Value, Body: body}, true
		case *tir.BlockRealize:
			return u.realize(n, m), true
		}
		return st, false
	}
	return m.MapStmt(st)
}

func (u *owner) realize(n *tir.BlockRealize, m *tir.Mapper) tir.Stmt {
	b, to := *n.Block, map[*tir.Var]tir.Expr{}
	b.Iters = append([]tir.IterVar{}, b.Iters...)
	for i, iv := range b.Iters {
		v, put := u.own(iv.Var)
		b.Iters[i].Var = v
		for old, w := range put {
			to[old] = w
		}
	}
	if len(to) > 0 { // in the block, not in the values, which are over what is outside
		inner := tir.SubstStmt(&tir.BlockRealize{Block: &b}, to).(*tir.BlockRealize).Block
		b = *inner
	}
	init, body := m.MapStmt(b.Init), m.MapStmt(b.Body)
	if len(to) == 0 && init == n.Block.Init && body == n.Block.Body {
		return n
	}
	b.Init, b.Body = init, body
	return &tir.BlockRealize{Values: n.Values, Where: n.Where, Block: &b}
}
