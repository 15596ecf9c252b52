package tir

// Walk calls f for each statement and expression below root, parents first; root is a Stmt or an Expr. When f returns
// false the children of that node are skipped.
func Walk(root any, f func(node any) bool) {
	if root == nil || !f(root) {
		return
	}
	exprs := func(list []Expr) {
		for _, e := range list {
			Walk(e, f)
		}
	}
	expr := func(e Expr) {
		if e != nil {
			Walk(e, f)
		}
	}
	stmt := func(s Stmt) {
		if s != nil {
			Walk(s, f)
		}
	}
	switch n := root.(type) {
	case *Var, *Int, *Float:
	case *Binary:
		Walk(n.A, f)
		Walk(n.B, f)
	case *Not:
		Walk(n.A, f)
	case *Select:
		Walk(n.Cond, f)
		Walk(n.Then, f)
		Walk(n.Else, f)
	case *Cast:
		Walk(n.A, f)
	case *Load:
		exprs(n.Indices)
	case *Call:
		exprs(n.Args)
	case *Ramp:
		Walk(n.Base, f)
		Walk(n.Stride, f)
	case *Broadcast:
		Walk(n.A, f)
	case *For:
		Walk(n.Min, f)
		Walk(n.Extent, f)
		stmt(n.Body)
	case *BlockRealize:
		exprs(n.Values)
		expr(n.Where)
		for _, r := range append(append([]Region{}, n.Block.Reads...), n.Block.Writes...) {
			for _, g := range r.Ranges {
				Walk(g.Min, f)
				Walk(g.Extent, f)
			}
		}
		stmt(n.Block.Init)
		stmt(n.Block.Body)
	case *Store:
		exprs(n.Indices)
		Walk(n.Value, f)
	case *Seq:
		for _, s := range n.Stmts {
			Walk(s, f)
		}
	case *If:
		Walk(n.Cond, f)
		stmt(n.Then)
		stmt(n.Else)
	case *While:
		Walk(n.Cond, f)
		stmt(n.Body)
	case *Let:
		Walk(n.Value, f)
		stmt(n.Body)
	case *Allocate:
		stmt(n.Body)
	case *Evaluate:
		Walk(n.Value, f)
	default:
		panic("tir: unknown node")
	}
}

// UsesAny reports whether one of the variables that are keys of vars occurs below root.
func UsesAny[V any](root any, vars map[*Var]V) bool {
	found := false
	Walk(root, func(n any) bool {
		if v, ok := n.(*Var); ok && !found {
			_, found = vars[v]
		}
		return !found
	})
	return found
}

// Uses reports whether v occurs below root.
func Uses(root any, v *Var) bool {
	found := false
	Walk(root, func(n any) bool {
		found = found || n == any(v)
		return !found
	})
	return found
}
