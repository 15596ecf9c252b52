package tir

// Walk calls f for each statement and expression below root, parents first; root is a Stmt or an Expr. When f returns
// false the children of that node are skipped.
func Walk(root any, f func(node any) bool) {
	if root == nil || !f(root) {
		return
	}
	switch n := root.(type) {
	case *Var, *Int, *Float, *Barrier:
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
		walkList(n.Indices, f)
	case *Call:
		walkList(n.Args, f)
	case *Ramp:
		Walk(n.Base, f)
		Walk(n.Stride, f)
	case *Broadcast:
		Walk(n.A, f)
	case *For:
		Walk(n.Min, f)
		Walk(n.Extent, f)
		walkStmt(n.Body, f)
	case *BlockRealize:
		walkList(n.Values, f)
		if n.Where != nil {
			Walk(n.Where, f)
		}
		walkRegions(n.Block.Reads, f)
		walkRegions(n.Block.Writes, f)
		walkStmt(n.Block.Init, f)
		walkStmt(n.Block.Body, f)
	case *Store:
		walkList(n.Indices, f)
		Walk(n.Value, f)
	case *Seq:
		for _, s := range n.Stmts {
			walkStmt(s, f)
		}
	case *If:
		Walk(n.Cond, f)
		walkStmt(n.Then, f)
		walkStmt(n.Else, f)
	case *While:
		Walk(n.Cond, f)
		walkStmt(n.Body, f)
	case *Let:
		Walk(n.Value, f)
		walkStmt(n.Body, f)
	case *Allocate:
		walkStmt(n.Body, f)
	case *Evaluate:
		Walk(n.Value, f)
	default:
		panic("tir: unknown node")
	}
}

func walkList(list []Expr, f func(node any) bool) {
	for _, e := range list {
		Walk(e, f)
	}
}

func walkStmt(s Stmt, f func(node any) bool) {
	if s != nil {
		Walk(s, f)
	}
}

func walkRegions(list []Region, f func(node any) bool) {
	for _, r := range list {
		for _, g := range r.Ranges {
			Walk(g.Min, f)
			Walk(g.Extent, f)
		}
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

// ReadsMemory reports whether a buffer is read below root.
func ReadsMemory(root any) bool {
	found := false
	Walk(root, func(n any) bool {
		_, load := n.(*Load)
		found = found || load
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
