package transform

import "github.com/texel-ml/texel/relay"

// trim returns f without what its branches and loops give that nobody uses: fields of a branch, parts that a loop stacks,
// and values that its rounds hand on to each other for nothing.
func trim(f *relay.Function) (*relay.Function, error) {
	used := usedFields(f)
	if len(used) == 0 {
		return f, nil
	}
	done := map[relay.Expr]relay.Expr{}
	at := map[relay.Expr][]int{} // branch or loop → where each field is now
	for e := range relay.PostOrder(f, false) {
		var to relay.Expr
		var err error
		switch x := e.(type) {
		case *relay.TupleGet:
			if now := at[x.Tuple]; now != nil {
				to, err = relay.NewTupleGet(done[x.Tuple], now[x.Index], x.Pos())
			} else {
				to, err = relay.Rebuild(x, done)
			}
		case *relay.If, *relay.Loop:
			if to, err = relay.Rebuild(x, done); err == nil && used[x] != nil {
				to, at[x], err = trimmed(to, used[x])
			}
		default:
			to, err = relay.Rebuild(x, done)
		}
		if err != nil {
			return nil, err
		}
		done[e] = to
	}
	return done[f].(*relay.Function), nil
}

// usedFields returns which fields are used of each branch and each loop in f of which some are not.
func usedFields(f *relay.Function) map[relay.Expr][]bool {
	used := map[relay.Expr][]bool{}
	for e := range relay.PostOrder(f, false) {
		if get, ok := e.(*relay.TupleGet); ok {
			if list := used[get.Tuple]; list != nil {
				list[get.Index] = true
			}
			continue
		}
		for _, o := range relay.Operands(e) {
			delete(used, o) // as a whole
		}
		switch e.(type) {
		case *relay.If, *relay.Loop:
			if t, ok := e.Type().(*relay.TupleType); ok {
				used[e] = make([]bool, len(t.Fields))
			}
		}
	}
	for e, list := range used {
		all := true
		for i, u := range list {
			_, loop := e.(*relay.Loop)
			all = all && (u || loop && i == len(list)-1) // the number of rounds stays
		}
		if all {
			delete(used, e)
		}
	}
	return used
}

// trimmed returns a branch or a loop with the used fields, and where each of the old ones is.
func trimmed(e relay.Expr, used []bool) (relay.Expr, []int, error) {
	if l, ok := e.(*relay.Loop); ok {
		return trimLoop(l, used)
	}
	i := e.(*relay.If)
	var sides [2]relay.Expr
	for k, side := range []relay.Expr{i.Then, i.Else} {
		c, ok := side.(*relay.Call)
		if !ok {
			return e, places(used, true), nil
		}
		fn, ok := c.Fn.(*relay.Function)
		given, tuple := (*relay.Tuple)(nil), false
		if ok {
			given, tuple = fn.Body.(*relay.Tuple)
		}
		if !tuple {
			return e, places(used, true), nil
		}
		body := relay.NewTuple(chosen(given.Fields, used), given.Pos())
		call, err := relay.NewCallFn(relay.NewFunction(fn.Params, body, fn.Primitive, fn.Attrs, fn.Pos()), c.Args, c.Pos())
		if err != nil {
			return nil, nil, err
		}
		sides[k] = call
	}
	to, err := relay.NewIf(i.Cond, sides[0], sides[1], i.Pos())
	return to, places(used, false), err
}

// trimLoop keeps, of the state, what is used behind the loop and what this, the condition and the used parts depend on.
func trimLoop(l *relay.Loop, used []bool) (relay.Expr, []int, error) {
	given, ok := l.Body.Body.(*relay.Tuple)
	if !ok {
		return l, places(used, true), nil
	}
	first, states := l.FirstPart(), len(l.State)
	used = append([]bool{}, used...)
	used[len(used)-1] = true        // the number of rounds
	needed := func() []relay.Expr { // of what the body gives
		list := append([]relay.Expr{}, given.Fields[:first-states]...)
		return append(list, chosen(given.Fields[first-states:], used[:len(used)-1])...)
	}
	for grown := true; grown; {
		grown = false
		reached := map[relay.Expr]bool{}
		for e := range relay.PostOrder(relay.NewTuple(needed(), given.Pos()), false) {
			reached[e] = true
		}
		for i, v := range l.Body.Params[1 : 1+states] {
			if reached[v] && !used[i] {
				used[i], grown = true, true
			}
		}
	}
	to := *l
	to.State = chosen(l.State, used[:states])
	params := append([]*relay.Var{l.Body.Params[0]}, chosen(l.Body.Params[1:1+states], used[:states])...)
	to.Body = relay.NewFunction(append(params, l.Body.Params[1+states:]...), relay.NewTuple(needed(), given.Pos()), false, l.Body.Attrs, l.Body.Pos())
	if len(needed()) == 0 { // only the number of rounds is used, and it depends on the trip count alone
		return l, places(used, true), nil
	}
	made, err := relay.NewLoop(to, l.Pos())
	return made, places(used, false), err
}

// chosen returns the elements of list that are used.
func chosen[T any](list []T, used []bool) (some []T) {
	for i, x := range list {
		if used[i] {
			some = append(some, x)
		}
	}
	return some
}

// places returns where each field is when only the used ones, or all, are left.
func places(used []bool, all bool) []int {
	at, n := make([]int, len(used)), 0
	for i, u := range used {
		at[i] = n
		if u || all {
			n++
		}
	}
	return at
}
