package relay

import "slices"

// scope is a stretch of text in which nodes are bound to names: a function's body, a branch of an If, or what follows
// a Let. A node belongs to the innermost scope around all its uses.
type scope struct {
	parent *scope
	depth  int
	result Expr
	nodes  []Expr // that get a name here, operands first
	inner  []*scope

	closed     *scope // the innermost scope around this one, or it itself, that reads no variables of others
	from, till int    // number: scopes inside this one have numbers in [from, till); see scopes.number
}

// scopes says which node belongs to which scope of a function.
type scopes struct {
	order []Expr             // every node, nested functions' too, operands first
	of    map[Expr]*scope    // the node's scope; variables and constants have none, they stand in any
	below map[Expr][2]*scope // the scopes that a Function (one), If (two) or Let (one) opens
	uses  map[Expr]int
	root  *scope
	reads []read
	bound map[*Var]*scope    // where each variable is known
	twice *Var               // a variable that is bound more than once, or nil
	loops map[*Function]bool // bodies of loops
}

// read is one use of a variable.
type read struct {
	v  *Var
	at *scope
}

// newScopes looks at f and at the functions in it, except those that stand elsewhere under a name.
func newScopes(f *Function, named map[*Function]string) *scopes {
	s := &scopes{of: map[Expr]*scope{}, below: map[Expr][2]*scope{}, uses: map[Expr]int{}, root: &scope{}, bound: map[*Var]*scope{}, loops: map[*Function]bool{}}
	elsewhere := func(e *Function) bool { return e != f && named[e] != "" }
	s.order = slices.Collect(postOrder(f, func(e *Function) bool { return !elsewhere(e) }))
	s.of[f] = s.root
	for _, e := range slices.Backward(s.order) {
		at := s.of[e]
		switch e := e.(type) {
		case *Function:
			if elsewhere(e) {
				continue
			}
			body := s.open(at, e.Body)
			if e.Primitive || s.loops[e] {
				body.closed = body
			}
			s.below[e] = [2]*scope{body}
			for _, p := range e.Params {
				s.bind(p, body)
			}
		case *If:
			s.use(e.Cond, at)
			s.below[e] = [2]*scope{s.open(at, e.Then), s.open(at, e.Else)}
		case *Let:
			s.use(e.Value, at)
			body := s.open(at, e.Body)
			s.below[e] = [2]*scope{body}
			s.bind(e.Var, body)
		default:
			if l, ok := e.(*Loop); ok {
				s.loops[l.Body] = true
			}
			for _, o := range Operands(e) {
				s.use(o, at)
			}
		}
	}
	return s
}

func (s *scopes) open(parent *scope, result Expr) *scope {
	c := &scope{parent: parent, depth: parent.depth + 1, result: result, closed: parent.closed}
	parent.inner = append(parent.inner, c)
	s.use(result, c)
	return c
}

func (s *scopes) use(e Expr, at *scope) {
	s.uses[e]++
	switch e := e.(type) {
	case *Constant:
		return
	case *Var:
		s.reads = append(s.reads, read{e, at})
		return
	}
	if has := s.of[e]; has != nil {
		at = common(has, at)
	}
	s.of[e] = at
}

func (s *scopes) bind(v *Var, at *scope) {
	if s.bound[v] != nil {
		s.twice = v
	}
	s.bound[v] = at
}

// common returns the innermost scope around a and b.
func common(a, b *scope) *scope {
	for a != b {
		if a.depth >= b.depth {
			a = a.parent
		} else {
			b = b.parent
		}
	}
	return a
}

// number numbers the scopes so that within is one comparison.
func (s *scopes) number() {
	type visit struct {
		s    *scope
		next int
	}
	count := 1
	stack := []visit{{s: s.root}}
	for len(stack) > 0 {
		top := &stack[len(stack)-1]
		if top.next == len(top.s.inner) {
			top.s.till = count
			stack = stack[:len(stack)-1]
			continue
		}
		c := top.s.inner[top.next]
		top.next++
		c.from = count
		count++
		stack = append(stack, visit{s: c})
	}
}

// within reports whether a is b or lies in it, after number.
func within(a, b *scope) bool { return b.from <= a.from && a.from < b.till }
