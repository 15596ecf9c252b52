package transform

import "github.com/texel-ml/texel/tir"

// maxFills bounds the accesses and iterations that fills goes through.
const maxFills = 1 << 16

// fills is feeds, found by going through s for each iteration of the loops around it: each element that is read was written
// before in the same iteration. What cannot be told is none of what is written, and all of what is read.
func (b *blockLowerer) fills(s tir.Stmt, buf *tir.Buffer) bool {
	if buf.Elems() > maxFills {
		return false
	}
	var loops []*tir.For
	for _, outer := range b.path {
		if f, ok := outer.(*tir.For); ok {
			loops = append(loops, f)
		}
	}
	f := &filler{env: newEnv(), buf: buf, round: make([]int, buf.Elems())}
	around, ok := f.env.nest(loops)
	if !ok {
		return false
	}
	run, ok := f.stmt(s, true)
	return ok && around.sweep(func() bool {
		f.now++
		return f.counts() && run()
	})
}

// filler compiles statements into functions that note what is written and report whether all that is read was.
type filler struct {
	env   *env
	buf   *tir.Buffer
	round []int // the iteration that wrote an element last
	now   int   // the present one, from 1
	count int   // of accesses and iterations
}

func nothing() bool { return true }

// stmt compiles a statement; sure says whether it runs whenever its function is called. It reports false for one of which
// nothing can be told.
func (f *filler) stmt(s tir.Stmt, sure bool) (func() bool, bool) {
	if read, written := accesses(s, f.buf); !read && !written {
		return nothing, true
	}
	switch n := s.(type) {
	case *tir.Seq:
		var list []func() bool
		for _, c := range n.Stmts {
			run, ok := f.stmt(c, sure)
			if !ok {
				return nil, false
			}
			list = append(list, run)
		}
		return inTurn(list), true
	case *tir.For:
		nest, ok := f.env.nest([]*tir.For{n})
		if !ok {
			return nil, false
		}
		body, ok := f.stmt(n.Body, sure)
		return func() bool { return nest.sweep(func() bool { return f.counts() && body() }) }, ok
	case *tir.If:
		before, ok1 := f.loads(n.Cond)
		cond, known := f.env.compile(n.Cond)
		then, ok2 := f.stmt(n.Then, sure && known)
		els, ok3 := f.stmt(n.Else, sure && known)
		return inTurn([]func() bool{before, either(cond, known, then, els)}), ok1 && ok2 && ok3
	case *tir.Let:
		before, ok := f.loads(n.Value)
		if value, known := f.env.compile(n.Value); known && n.Var.Type() == tir.Index {
			slot, loads := f.env.slot(n.Var), before
			before = func() bool {
				f.env.vals[slot] = value()
				return loads()
			}
		}
		body, ok2 := f.stmt(n.Body, sure)
		return inTurn([]func() bool{before, body}), ok && ok2
	case *tir.Allocate:
		return f.stmt(n.Body, sure)
	case *tir.Store:
		list := make([]func() bool, 0, len(n.Indices)+2)
		for _, e := range append([]tir.Expr{n.Value}, n.Indices...) {
			run, ok := f.loads(e)
			if !ok {
				return nil, false
			}
			list = append(list, run)
		}
		if at, ok := f.element(n.Indices); ok && sure && n.Buffer == f.buf {
			list = append(list, func() bool {
				if i, inside := at(); inside {
					f.round[i] = f.now
				}
				return f.counts()
			})
		}
		return inTurn(list), true
	}
	return nil, false
}

// loads compiles the reads of an expression.
func (f *filler) loads(e tir.Expr) (func() bool, bool) {
	var list []func() bool
	ok := true
	tir.Walk(e, func(n any) bool {
		switch n := n.(type) {
		case *tir.Select: // reads what it takes
			before, ok1 := f.loads(n.Cond)
			cond, known := f.env.compile(n.Cond)
			then, ok2 := f.loads(n.Then)
			els, ok3 := f.loads(n.Else)
			ok = ok && ok1 && ok2 && ok3
			list = append(list, before, either(cond, known, then, els))
			return false
		case *tir.Load:
			if n.Buffer != f.buf {
				return ok
			}
			at, known := f.element(n.Indices)
			ok = ok && known
			list = append(list, func() bool {
				i, inside := at()
				return inside && f.round[i] == f.now && f.counts()
			})
		}
		return ok
	})
	return inTurn(list), ok
}

// element compiles the number of an element, and whether there is one.
func (f *filler) element(indices []tir.Expr) (func() (int, bool), bool) {
	points, ok := f.env.points(indices)
	return func() (int, bool) {
		at := 0
		for d, index := range points {
			i, n := index(), f.buf.Shape[d]
			if i < 0 || i >= int64(n) {
				return 0, false
			}
			at = at*n + int(i)
		}
		return at, true
	}, ok
}

// counts counts one more, and reports whether that is few enough.
func (f *filler) counts() bool {
	f.count++
	return f.count <= maxFills && !f.env.bad
}

// inTurn runs functions until one reports false.
func inTurn(list []func() bool) func() bool {
	return func() bool {
		for _, run := range list {
			if !run() {
				return false
			}
		}
		return true
	}
}

// either runs one of two functions; both, where it is not known which.
func either(cond func() int64, known bool, then, els func() bool) func() bool {
	return func() bool {
		switch {
		case !known:
			return then() && els()
		case cond() != 0:
			return then()
		}
		return els()
	}
}
