package texel

import (
	"iter"

	"github.com/texel-ml/texel/diag"
	"github.com/texel-ml/texel/relay"
)

// region is a function whose calls are planned one by one: main, a branch, or the body of a loop. Its memory is planned with
// that of the function around it.
type region struct {
	fn    *relay.Function
	args  []relay.Expr // what a branch is called with, or a function that is planned where it is called
	sites []*site      // in launch order
}

// site is one call of a unit, or a branch or a loop with its regions.
type site struct {
	call  relay.Expr      // *relay.Call, *relay.If or *relay.Loop
	fn    *relay.Function // what is called; nil for control flow
	unit  *unit
	args  []relay.Expr
	view  bool    // only another shape: no kernel
	parts []place // of a concatenation whose parts are written in place: no kernel either

	regions []*region // of an If the two branches, of a Loop its body, of a call of a function that is no kernel that function
	zeros   []*site   // of a Loop: what fills each stack before the first round
}

// work is what the site computes.
func (s *site) work() work {
	if s.unit == nil {
		return measure(s.fn)
	}
	return s.unit.work
}

// inlined reports whether s is a call of a function that is planned where it is called.
func (s *site) inlined() bool {
	_, isCall := s.call.(*relay.Call)
	return isCall && s.fn == nil
}

// all yields the sites of r and of the regions in it, in launch order.
func (r *region) all() iter.Seq[*site] {
	return func(yield func(*site) bool) { r.each(yield) }
}

func (r *region) each(yield func(*site) bool) bool {
	for _, s := range r.sites {
		for _, z := range s.zeros {
			if !yield(z) {
				return false
			}
		}
		if !yield(s) {
			return false
		}
		for _, inner := range s.regions {
			if !inner.each(yield) {
				return false
			}
		}
	}
	return true
}

// newRegion lists the calls of fn in launch order, and those of the regions in it. align is that of every tensor, in bytes.
func newRegion(fn *relay.Function, args []relay.Expr, align int64) (*region, error) {
	r := &region{fn: fn, args: args}
	branches, err := branchesOf(fn)
	if err != nil {
		return nil, err
	}
	for e := range relay.PostOrder(fn, false) {
		var s *site
		switch e := e.(type) {
		case *relay.Call:
			if !branches[e] {
				s, err = callSite(e, align)
			}
		case *relay.If:
			s, err = ifSite(e, align)
		case *relay.Loop:
			s, err = loopSite(e, align)
		case *relay.Let:
			err = diag.Unsupported("plan", "let", "a name that is bound to a value").At(e.Pos())
		}
		if err != nil {
			return nil, err
		}
		if s != nil {
			r.sites = append(r.sites, s)
		}
	}
	markJoins(r.sites, align)
	return r, nil
}

// branchesOf returns the calls that are branches of an If in fn, and so are made only when their branch is taken.
func branchesOf(fn *relay.Function) (map[*relay.Call]bool, error) {
	branches := map[*relay.Call]bool{}
	for e := range relay.PostOrder(fn, false) {
		i, ok := e.(*relay.If)
		if !ok {
			continue
		}
		for _, b := range []relay.Expr{i.Then, i.Else} {
			c, ok := b.(*relay.Call)
			if !ok || branches[c] {
				return nil, diag.Unsupported("plan", "if", "a branch that is no call of a function of its own").At(i.Pos())
			}
			branches[c] = true
		}
	}
	if len(branches) == 0 {
		return nil, nil
	}
	users := relay.Users(fn)
	for c := range branches {
		if users[c] > 1 {
			return nil, diag.Unsupported("plan", "if", "a branch whose value is used elsewhere too").At(c.Pos())
		}
	}
	return branches, nil
}

func callSite(c *relay.Call, align int64) (*site, error) {
	fn, args := (*relay.Function)(nil), c.Args
	switch f := c.Fn.(type) {
	case nil:
		var err error
		if fn, args, err = asFunction(c); err != nil {
			return nil, err
		}
	case *relay.Function:
		if !f.Primitive {
			r, err := newRegion(f, args, align)
			return &site{call: c, args: args, regions: []*region{r}}, err
		}
		fn = f
	default:
		return nil, diag.Unsupported("plan", "call", "a call of a function that is a value").At(c.Pos())
	}
	return &site{call: c, fn: fn, args: args, view: isView(fn)}, nil
}

func ifSite(i *relay.If, align int64) (*site, error) {
	s := &site{call: i, args: []relay.Expr{i.Cond}}
	for _, b := range []relay.Expr{i.Then, i.Else} {
		c := b.(*relay.Call) // branchesOf has looked
		fn, ok := c.Fn.(*relay.Function)
		if !ok || fn.Primitive {
			return nil, diag.Unsupported("plan", "if", "a branch that is no call of a function of its own").At(i.Pos())
		}
		r, err := newRegion(fn, c.Args, align)
		if err != nil {
			return nil, err
		}
		s.regions, s.args = append(s.regions, r), append(s.args, c.Args...)
	}
	return s, nil
}

func loopSite(l *relay.Loop, align int64) (*site, error) {
	body, err := newRegion(l.Body, nil, align)
	if err != nil {
		return nil, err
	}
	s := &site{call: l, regions: []*region{body}}
	for _, operands := range l.Operands() {
		s.args = append(s.args, operands...)
	}
	types := l.Type().(*relay.TupleType).Fields
	for _, t := range types[len(l.State) : len(types)-1] {
		stack := t.(*relay.TensorType)
		fill, err := relay.NewCall(relay.Core().Lookup("zeros"), nil, &relay.FullAttrs{Shape: stack.Shape, DType: stack.DType}, l.Pos())
		if err != nil {
			return nil, err
		}
		z, err := callSite(fill, align)
		if err != nil {
			return nil, err
		}
		s.zeros = append(s.zeros, z)
	}
	return s, nil
}
