package relay

import "strconv"

// CloseBranches returns f with each branch of an If as a call of a function of its own, which takes what is made outside
// of the branch: the form in which a branch is planned and run only when it is taken. A node belongs to the innermost
// branch around all its uses. Branches that are such calls stay, and so does f when there are no others. The branches of
// functions in f are treated alike; none of these may read what is around it, as after inlining.
func CloseBranches(f *Function) (*Function, error) {
	c := &closer{scopes: newScopes(f, nil), to: map[Expr]Expr{}}
	c.scopes.number()
	body, err := Rewrite(f.Body, c.rewrite)
	if err != nil || body == f.Body {
		return f, err
	}
	return NewFunction(f.Params, body, f.Primitive, f.Attrs, f.pos), nil
}

// closer is one call of CloseBranches.
type closer struct {
	scopes *scopes
	to     map[Expr]Expr // what nodes became
}

func (c *closer) rewrite(old, rebuilt Expr) (Expr, error) {
	to := rebuilt
	var err error
	switch e := rebuilt.(type) {
	case *If:
		to, err = c.closed(old.(*If), e)
	case *Function:
		to, err = CloseBranches(e)
	}
	c.to[old] = to
	return to, err
}

// closed returns a branch whose sides are calls.
func (c *closer) closed(old, rebuilt *If) (Expr, error) {
	sides := [2]Expr{rebuilt.Then, rebuilt.Else}
	same := true
	for i, from := range []Expr{old.Then, old.Else} {
		if c.closedAlready(from) {
			continue
		}
		same = false
		call, err := c.side(c.scopes.below[old][i], from, sides[i])
		if err != nil {
			return nil, err
		}
		sides[i] = call
	}
	if same {
		return rebuilt, nil
	}
	return NewIf(rebuilt.Cond, sides[0], sides[1], rebuilt.pos)
}

// closedAlready reports whether a side is the call of a function that nothing but this branch uses.
func (c *closer) closedAlready(side Expr) bool {
	call, ok := side.(*Call)
	if !ok || c.scopes.uses[side] > 1 {
		return false
	}
	f, ok := call.Fn.(*Function)
	return ok && !f.Primitive
}

// side makes a function of the nodes in a scope and returns its call.
func (c *closer) side(in *scope, result, became Expr) (Expr, error) {
	s := &side{seeds: map[Expr]Expr{}}
	outside := func(e Expr) bool {
		switch v := e.(type) {
		case *Constant, *Function:
			return false
		case *Var:
			return c.scopes.bound[v] == nil || !within(c.scopes.bound[v], in)
		}
		return !within(c.scopes.of[e], in)
	}
	if outside(result) {
		s.seed(c.to[result])
	}
	for _, e := range c.scopes.order {
		if at := c.scopes.of[e]; at == nil || !within(at, in) || outside(e) {
			continue
		}
		for _, o := range Operands(e) {
			if outside(o) {
				s.seed(c.to[o])
			}
		}
	}
	body, err := s.substitute(became)
	if err != nil {
		return nil, err
	}
	return NewCallFn(NewFunction(s.params, body, false, nil, result.Pos()), s.args, result.Pos())
}

// side is a function that is being made: its parameters, what is given for them, and what stands for a node in it.
type side struct {
	params []*Var
	args   []Expr
	seeds  map[Expr]Expr
}

// seed makes a parameter for a value; of a tuple, one for each tensor in it.
func (s *side) seed(e Expr) {
	if s.seeds[e] == nil {
		s.seeds[e] = s.param(e)
	}
}

func (s *side) param(e Expr) Expr {
	t, ok := e.Type().(*TupleType)
	if !ok {
		name := "c" + strconv.Itoa(len(s.params))
		if v, isVar := e.(*Var); isVar {
			name = v.Name
		}
		p := NewVar(name, e.Type(), e.Pos())
		s.params, s.args = append(s.params, p), append(s.args, e)
		return p
	}
	fields := make([]Expr, len(t.Fields))
	for i := range fields {
		fields[i] = s.param(&TupleGet{node{t.Fields[i], e.Pos()}, e, i})
	}
	return NewTuple(fields, e.Pos())
}

// substitute returns root over the parameters. It does not go below what they stand for.
func (s *side) substitute(root Expr) (Expr, error) {
	if s.seeds[root] != nil {
		return s.seeds[root], nil
	}
	todo := []Expr{root}
	for len(todo) > 0 {
		e := todo[len(todo)-1]
		if s.seeds[e] != nil {
			todo = todo[:len(todo)-1]
			continue
		}
		ready := true
		if _, nested := e.(*Function); !nested {
			for _, o := range Operands(e) {
				if s.seeds[o] == nil {
					todo, ready = append(todo, o), false
				}
			}
		}
		if !ready {
			continue
		}
		to, err := Rebuild(e, s.seeds)
		if err != nil {
			return nil, err
		}
		s.seeds[e] = to
	}
	return s.seeds[root], nil
}
