package tir

import "slices"

// Mapper rewrites trees. Expr and Stmt, where set, get each node after its children were rewritten (the same pointer
// when none changed) and return what stands there. Enter, where set, may replace a statement before its children are
// visited: when it returns true its result is taken as it is.
type Mapper struct {
	Expr  func(Expr) Expr
	Stmt  func(Stmt) Stmt
	Enter func(Stmt) (Stmt, bool)
}

// MapExpr rewrites an expression. nil stays nil.
func (m *Mapper) MapExpr(e Expr) Expr {
	if e == nil {
		return nil
	}
	out := e
	switch n := e.(type) {
	case *Var, *Int, *Float:
	case *Binary:
		if a, b := m.MapExpr(n.A), m.MapExpr(n.B); a != n.A || b != n.B {
			out = Bin(n.Op, a, b)
		}
	case *Not:
		if a := m.MapExpr(n.A); a != n.A {
			out = &Not{a}
		}
	case *Select:
		if c, t, f := m.MapExpr(n.Cond), m.MapExpr(n.Then), m.MapExpr(n.Else); c != n.Cond || t != n.Then || f != n.Else {
			out = Sel(c, t, f)
		}
	case *Cast:
		if a := m.MapExpr(n.A); a != n.A {
			out = &Cast{n.DType, a}
		}
	case *Load:
		if idx, changed := m.mapList(n.Indices); changed {
			out = &Load{n.Buffer, idx}
		}
	case *Call:
		if args, changed := m.mapList(n.Args); changed {
			out = &Call{n.Fn, args}
		}
	case *Ramp:
		if b, s := m.MapExpr(n.Base), m.MapExpr(n.Stride); b != n.Base || s != n.Stride {
			out = &Ramp{b, s, n.Lanes}
		}
	case *Broadcast:
		if a := m.MapExpr(n.A); a != n.A {
			out = &Broadcast{a, n.Lanes}
		}
	default:
		panic("tir: unknown expression")
	}
	if m.Expr != nil {
		return m.Expr(out)
	}
	return out
}

func (m *Mapper) mapList(list []Expr) ([]Expr, bool) { return mapped(list, m.MapExpr) }

// mapped returns the list with f of each element, and whether one is another than before: without that, it is the same list.
func mapped[T comparable](list []T, f func(T) T) (out []T, changed bool) {
	out = list
	for i, e := range list {
		to := f(e)
		if to != e && !changed {
			out, changed = slices.Clone(list), true
		}
		if changed {
			out[i] = to
		}
	}
	return out, changed
}

// MapStmt rewrites a statement. nil stays nil.
func (m *Mapper) MapStmt(s Stmt) Stmt {
	if s == nil {
		return nil
	}
	if m.Enter != nil {
		if to, done := m.Enter(s); done {
			return to
		}
	}
	out := s
	switch n := s.(type) {
	case *For:
		if lo, ext, body := m.MapExpr(n.Min), m.MapExpr(n.Extent), m.MapStmt(n.Body); lo != n.Min || ext != n.Extent || body != n.Body {
			c := *n
			c.Min, c.Extent, c.Body = lo, ext, body
			out = &c
		}
	case *BlockRealize:
		out = m.mapRealize(n)
	case *Store:
		idx, changed := m.mapList(n.Indices)
		if v := m.MapExpr(n.Value); changed || v != n.Value {
			out = &Store{n.Buffer, idx, v}
		}
	case *Seq:
		changed := false
		list := make([]Stmt, 0, len(n.Stmts))
		for _, c := range n.Stmts {
			to := m.MapStmt(c)
			changed = changed || to != c
			if to != nil {
				list = append(list, to)
			}
		}
		if changed {
			out = Block1(list...)
		}
	case *If:
		if c, t, e := m.MapExpr(n.Cond), m.MapStmt(n.Then), m.MapStmt(n.Else); c != n.Cond || t != n.Then || e != n.Else {
			out = &If{c, t, e}
		}
	case *While:
		if c, b := m.MapExpr(n.Cond), m.MapStmt(n.Body); c != n.Cond || b != n.Body {
			out = &While{c, b}
		}
	case *Let:
		if v, b := m.MapExpr(n.Value), m.MapStmt(n.Body); v != n.Value || b != n.Body {
			out = &Let{n.Var, v, b}
		}
	case *Allocate:
		if b := m.MapStmt(n.Body); b != n.Body {
			out = n.WithBody(b)
		}
	case *Barrier:
	case *Evaluate:
		if v := m.MapExpr(n.Value); v != n.Value {
			out = &Evaluate{v}
		}
	default:
		panic("tir: unknown statement")
	}
	if m.Stmt != nil {
		return m.Stmt(out)
	}
	return out
}

func (m *Mapper) mapRealize(n *BlockRealize) Stmt {
	values, changed := m.mapList(n.Values)
	where := m.MapExpr(n.Where)
	b := n.Block
	reads, rc := m.mapRegions(b.Reads)
	writes, wc := m.mapRegions(b.Writes)
	init, body := m.MapStmt(b.Init), m.MapStmt(b.Body)
	if rc || wc || init != b.Init || body != b.Body {
		c := *b
		c.Reads, c.Writes, c.Init, c.Body = reads, writes, init, body
		b = &c
	}
	if changed || where != n.Where || b != n.Block {
		return &BlockRealize{values, where, b}
	}
	return n
}

func (m *Mapper) mapRegions(list []Region) ([]Region, bool) {
	changed := false
	out := list
	for i, r := range list {
		ranges, other := mapped(r.Ranges, func(g Range) Range { return Range{m.MapExpr(g.Min), m.MapExpr(g.Extent)} })
		if other && !changed {
			out, changed = slices.Clone(list), true
		}
		if other {
			out[i].Ranges = ranges
		}
	}
	return out, changed
}

// Subst replaces variables in an expression.
func Subst(e Expr, to map[*Var]Expr) Expr {
	if !UsesAny(e, to) {
		return e
	}
	return substituter(to).MapExpr(e)
}

// SubstStmt replaces variables in a statement.
func SubstStmt(s Stmt, to map[*Var]Expr) Stmt { return substituter(to).MapStmt(s) }

func substituter(to map[*Var]Expr) *Mapper {
	return &Mapper{Expr: func(e Expr) Expr {
		if v, ok := e.(*Var); ok {
			if n, ok := to[v]; ok {
				return n
			}
		}
		return e
	}}
}

// ReplaceBuffer returns s with buffer from replaced by to in loads, stores and allocations, and in what blocks declare.
// index maps the indices of loads and stores, nil keeps them; the ranges of regions stay.
func ReplaceBuffer(s Stmt, from, to *Buffer, index func([]Expr) []Expr) Stmt {
	at := func(idx []Expr) []Expr {
		if index == nil {
			return idx
		}
		return index(idx)
	}
	m := &Mapper{
		Expr: func(e Expr) Expr {
			if l, ok := e.(*Load); ok && l.Buffer == from {
				return &Load{to, at(l.Indices)}
			}
			return e
		},
	}
	m.Stmt = func(s Stmt) Stmt {
		switch s := s.(type) {
		case *Store:
			if s.Buffer == from {
				return &Store{to, at(s.Indices), s.Value}
			}
		case *Allocate:
			if s.Buffer == from {
				return &Allocate{to, s.Attrs, s.Body}
			}
		case *BlockRealize:
			if b := s.Block.WithBuffer(from, to); b != s.Block {
				return &BlockRealize{s.Values, s.Where, b}
			}
		}
		return s
	}
	return m.MapStmt(s)
}

// WithBuffer returns b with buffer from replaced by to in the regions and allocations that it declares; b itself where it
// declares none of from.
func (b *Block) WithBuffer(from, to *Buffer) *Block {
	c := *b
	changed := false
	replaced := func(list []Region) []Region {
		list = slices.Clone(list)
		for i := range list {
			if list[i].Buffer == from {
				list[i].Buffer, changed = to, true
			}
		}
		return list
	}
	c.Reads, c.Writes, c.Allocs = replaced(b.Reads), replaced(b.Writes), slices.Clone(b.Allocs)
	for i, a := range c.Allocs {
		if a == from {
			c.Allocs[i], changed = to, true
		}
	}
	if !changed {
		return b
	}
	return &c
}
