package relay

import "slices"

// scope is a stretch of text in which nodes are bound to names: a function's body, a branch of an If, or what follows
// a Let. A node belongs to the innermost scope around all its uses.
type scope struct {
	parent *scope
	depth  int
	result Expr
	nodes  []Expr // that get a name here, operands first

	primitive bool // the body of a primitive function
}

// scopes says which node belongs to which scope of a function.
type scopes struct {
	order []Expr             // every node, nested functions' too, operands first
	of    map[Expr]*scope    // the node's scope
	below map[Expr][2]*scope // the scopes that a Function (one), If (two) or Let (one) opens
	uses  map[Expr]int
	bound map[*Var]*scope // where each variable is known
	twice *Var            // a variable that is bound more than once, or nil
}

func newScopes(f *Function) *scopes {
	s := &scopes{of: map[Expr]*scope{}, below: map[Expr][2]*scope{}, uses: map[Expr]int{}, bound: map[*Var]*scope{}}
	s.order = slices.Collect(PostOrder(f, true))
	s.of[f] = &scope{}
	for _, e := range slices.Backward(s.order) {
		at := s.of[e]
		switch e := e.(type) {
		case *Function:
			body := s.open(at, e.Body)
			body.primitive = e.Primitive
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
			for _, o := range Operands(e) {
				s.use(o, at)
			}
		}
	}
	return s
}

func (s *scopes) open(parent *scope, result Expr) *scope {
	c := &scope{parent: parent, depth: parent.depth + 1, result: result}
	s.use(result, c)
	return c
}

func (s *scopes) use(e Expr, at *scope) {
	s.uses[e]++
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

// within reports whether a is b or lies in it.
func within(a, b *scope) bool {
	for a.depth > b.depth {
		a = a.parent
	}
	return a == b
}
