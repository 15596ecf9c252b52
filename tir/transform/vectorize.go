package transform

import (
	"math/bits"
	"slices"

	"github.com/texel-ml/texel/diag"
	"github.com/texel-ml/texel/tensor"
	"github.com/texel-ml/texel/tir"
	"github.com/texel-ml/texel/tir/arith"
	"github.com/texel-ml/texel/tir/verify"
)

// Vectorize carries out vectorized loops of constant extent: the variable becomes Ramp(min, 1, lanes), statements run
// once for all lanes, and a buffer allocated inside gets an axis of lanes. Lanes are powers of two: an extent of 7 is
// done as 4, 2 and 1, and what is longer than MaxLanes is done in steps of 16.
//
// Since the iterations are independent, each statement is done for all lanes before the next. One that cannot be a
// vector statement is done lane by lane: an If, a While or loop bounds that differ between lanes, a store whose vector
// index is not that of the last axis longer than 1 or has no constant stride, and a lazy operand (of a Select, an And, an Or) that might load out
// of bounds. A store of different lanes to one element is an error: lanes may not be reduced.
func Vectorize(k *tir.Kernel, opts Options) (*tir.Kernel, error) {
	v := &vectorizer{a: newSimplifier(k).a, max: int64(opts.withDefaults().MaxLanes)}
	body := v.stmt(k.Body)
	if v.err != nil {
		return nil, v.err
	}
	return withBody(k, body), nil
}

type vectorizer struct {
	a   *arith.Analyzer
	max int64
	err error
}

// stmt vectorizes the loops below s, inner ones first.
func (v *vectorizer) stmt(s tir.Stmt) tir.Stmt {
	m := &tir.Mapper{}
	m.Enter = func(s tir.Stmt) (tir.Stmt, bool) {
		switch n := s.(type) {
		case *tir.Let:
			leave := v.a.Scope()
			defer leave()
			v.a.BindValue(n.Var, n.Value)
			if body := m.MapStmt(n.Body); body != n.Body {
				return &tir.Let{Var: n.Var, Value: n.Value, Body: body}, true
			}
			return n, true
		case *tir.If:
			leave := v.a.Assume(n.Cond)
			then := m.MapStmt(n.Then)
			leave()
			leave = v.a.Assume(&tir.Not{A: n.Cond})
			els := m.MapStmt(n.Else)
			leave()
			if then == n.Then && els == n.Else {
				return n, true
			}
			return &tir.If{Cond: n.Cond, Then: then, Else: els}, true
		case *tir.For:
			leave := v.a.Scope()
			v.a.BindLoop(n)
			body := m.MapStmt(n.Body)
			leave()
			if body != n.Body {
				c := *n
				c.Body = body
				n = &c
			}
			if n.Kind != tir.Vectorized || v.err != nil {
				return n, true
			}
			return v.loop(n), true
		}
		return s, false
	}
	return m.MapStmt(s)
}

func (v *vectorizer) loop(n *tir.For) tir.Stmt {
	extent, ok := tir.AsInt(n.Extent)
	scalar := func(kind tir.LoopKind) tir.Stmt {
		c := *n
		c.Kind = kind
		return &c
	}
	switch {
	case !ok:
		return scalar(tir.Serial)
	case hasVectors(n.Body) && extent <= maxScalarised:
		return scalar(tir.Unrolled)
	case hasVectors(n.Body):
		return scalar(tir.Serial)
	}
	var list []tir.Stmt
	done := int64(0)
	if extent > v.max {
		step := min(int64(maxScalarised), v.max)
		outer := tir.NewVar(n.Var.Name + "o")
		leave := v.a.Scope()
		v.a.Bind(outer, 0, extent/step)
		base := tir.Plus(n.Min, tir.Times(outer, tir.I(int(step))))
		list = append(list, &tir.For{Var: outer, Min: tir.I(0), Extent: tir.I(int(extent / step)), Body: v.lanes(n, base, int(step))})
		leave()
		done = extent / step * step
	}
	for done < extent {
		lanes := int64(1) << (bits.Len64(uint64(extent-done)) - 1)
		list = append(list, v.lanes(n, tir.Plus(n.Min, tir.I(int(done))), int(lanes)))
		done += lanes
	}
	return tir.Block1(list...)
}

// maxScalarised is the longest loop over lanes that is unrolled instead of run.
const maxScalarised = 16

func hasVectors(s tir.Stmt) bool {
	found := false
	tir.Walk(s, func(n any) bool {
		switch n.(type) {
		case *tir.Ramp, *tir.Broadcast:
			found = true
		}
		return !found
	})
	return found
}

// lanes does the iterations from base as one vector iteration.
func (v *vectorizer) lanes(n *tir.For, base tir.Expr, lanes int) tir.Stmt {
	if lanes == 1 {
		return tir.SubstStmt(n.Body, map[*tir.Var]tir.Expr{n.Var: base})
	}
	leave := v.a.Scope()
	defer leave()
	l := &laneBody{v: v, lane: n.Var, base: v.a.Simplify(base), n: lanes, wide: map[*tir.Buffer]*tir.Buffer{}}
	v.a.BindExpr(n.Var, base, tir.I(lanes))
	return l.stmt(n.Body)
}

// laneBody rewrites the body of one vectorized loop.
type laneBody struct {
	v    *vectorizer
	lane *tir.Var
	base tir.Expr
	n    int
	wide map[*tir.Buffer]*tir.Buffer // buffers allocated inside, with their axis of lanes
}

func (l *laneBody) varies(root any) bool {
	found := false
	tir.Walk(root, func(n any) bool {
		switch n := n.(type) {
		case *tir.Var:
			found = found || n == l.lane
		case *tir.Load:
			found = found || l.wide[n.Buffer] != nil
		}
		return !found
	})
	return found
}

func (l *laneBody) stmt(s tir.Stmt) tir.Stmt {
	switch n := s.(type) {
	case *tir.Seq:
		list := make([]tir.Stmt, len(n.Stmts))
		for i, c := range n.Stmts {
			list[i] = l.stmt(c)
		}
		return &tir.Seq{Stmts: list}
	case *tir.Store:
		return l.store(n)
	case *tir.For:
		if l.varies(n.Min) || l.varies(n.Extent) {
			break
		}
		leave := l.v.a.Scope()
		defer leave()
		l.v.a.BindLoop(n)
		c := *n
		c.Body = l.stmt(n.Body)
		return &c
	case *tir.If:
		if l.varies(n.Cond) {
			break
		}
		leave := l.v.a.Assume(n.Cond)
		out := &tir.If{Cond: n.Cond, Then: l.stmt(n.Then)}
		leave()
		if n.Else != nil {
			leave := l.v.a.Assume(&tir.Not{A: n.Cond})
			out.Else = l.stmt(n.Else)
			leave()
		}
		return out
	case *tir.Let:
		if l.varies(n.Value) { // a variable is a scalar
			return l.stmt(l.spelledOut(n))
		}
		leave := l.v.a.Scope()
		defer leave()
		l.v.a.BindValue(n.Var, n.Value)
		return &tir.Let{Var: n.Var, Value: n.Value, Body: l.stmt(n.Body)}
	case *tir.Allocate:
		to := *n.Buffer
		to.Shape = append(slices.Clone(to.Shape), l.n)
		if to.Strides != nil {
			to.Strides = slices.Clone(to.Strides)
			for i := range to.Strides {
				to.Strides[i] *= l.n
			}
			to.Strides = append(to.Strides, 1)
		}
		l.wide[n.Buffer] = &to
		return &tir.Allocate{Buffer: &to, Attrs: n.Attrs, Body: l.stmt(n.Body)}
	case *tir.Evaluate:
		if !l.varies(n.Value) {
			return n
		}
	}
	return l.scalarise(s)
}

// spelledOut returns a let without its variable: the value of an index stands where it is used, any other value, and one
// that reads what the body writes, is stored first.
func (l *laneBody) spelledOut(n *tir.Let) tir.Stmt {
	stays := n.Var.DType == tensor.Int64
	tir.Walk(n.Value, func(e any) bool {
		if ld, ok := e.(*tir.Load); ok && stays {
			_, written := accesses(n.Body, ld.Buffer)
			stays = !written
		}
		return stays
	})
	if stays {
		return tir.SubstStmt(n.Body, map[*tir.Var]tir.Expr{n.Var: n.Value})
	}
	held := &tir.Buffer{Name: n.Var.Name, DType: n.Var.DType, Shape: []int{}, Scope: tir.Local}
	body := tir.SubstStmt(n.Body, map[*tir.Var]tir.Expr{n.Var: &tir.Load{Buffer: held}})
	return &tir.Allocate{Buffer: held, Body: inOrder(&tir.Store{Buffer: held, Value: n.Value}, body)}
}

// scalarise runs a statement lane by lane.
func (l *laneBody) scalarise(s tir.Stmt) tir.Stmt {
	for from, to := range l.wide {
		s = tir.ReplaceBuffer(s, from, to, func(idx []tir.Expr) []tir.Expr {
			return append(slices.Clone(idx), l.v.a.Simplify(tir.Minus(l.lane, l.base)))
		})
	}
	kind := tir.Unrolled
	if l.n > maxScalarised {
		kind = tir.Serial
	}
	return &tir.For{Var: l.lane, Min: l.base, Extent: tir.I(l.n), Kind: kind, Body: s}
}

func (l *laneBody) store(n *tir.Store) tir.Stmt {
	value, ok := l.expr(n.Value)
	if !ok {
		return l.scalarise(n)
	}
	idx, ok := l.list(n.Indices)
	if !ok {
		return l.scalarise(n)
	}
	buf := n.Buffer
	if to := l.wide[buf]; to != nil {
		buf, idx = to, append(idx, &tir.Ramp{Base: tir.I(0), Stride: tir.I(1), Lanes: l.n})
	}
	vector := false
	for i, e := range idx {
		if e.Type().Lanes == 1 {
			continue
		}
		vector = true
		if _, ok := e.(*tir.Ramp); !ok || !verify.UnitBehind(buf, i) {
			return l.scalarise(n)
		}
	}
	if !vector {
		read, _ := accesses(n.Value, n.Buffer)
		if value.Type().Lanes > 1 || read {
			if l.v.err == nil {
				l.v.err = diag.Invalid("vectorize", l.lane.Name, "the lanes of the loop all store to one element of %s; a vectorized loop may not reduce",
					n.Buffer.Name)
			}
		}
		return &tir.Store{Buffer: buf, Indices: idx, Value: value}
	}
	return &tir.Store{Buffer: buf, Indices: idx, Value: l.widen(value)}
}

func (l *laneBody) widen(e tir.Expr) tir.Expr {
	if e.Type().Lanes == 1 {
		return &tir.Broadcast{A: e, Lanes: l.n}
	}
	return e
}

func (l *laneBody) list(list []tir.Expr) ([]tir.Expr, bool) {
	out := make([]tir.Expr, len(list))
	for i, e := range list {
		to, ok := l.expr(e)
		if !ok {
			return nil, false
		}
		if to.Type().Lanes > 1 && to.Type().DType == tensor.Int64 {
			to = l.v.a.Simplify(to)
			if b, ok := to.(*tir.Broadcast); ok {
				to = b.A
			}
		}
		out[i] = to
	}
	return out, true
}

// expr returns e for all lanes, or e itself when it does not vary. It reports false when e must be done lane by lane.
func (l *laneBody) expr(e tir.Expr) (tir.Expr, bool) {
	if !l.varies(e) {
		return e, true
	}
	switch n := e.(type) {
	case *tir.Var:
		return &tir.Ramp{Base: l.base, Stride: tir.I(1), Lanes: l.n}, true
	case *tir.Binary:
		if n.Op.IsLogical() && l.varies(n.A) && !l.inBounds(n.B) {
			return nil, false
		}
		a, oka := l.expr(n.A)
		b, okb := l.expr(n.B)
		if !oka || !okb {
			return nil, false
		}
		return tir.Bin(n.Op, a, b), true
	case *tir.Not:
		a, ok := l.expr(n.A)
		return &tir.Not{A: a}, ok
	case *tir.Select:
		if l.varies(n.Cond) && !(l.inBounds(n.Then) && l.inBounds(n.Else)) {
			return nil, false
		}
		c, okc := l.expr(n.Cond)
		t, okt := l.expr(n.Then)
		f, okf := l.expr(n.Else)
		if !okc || !okt || !okf {
			return nil, false
		}
		return &tir.Select{Cond: c, Then: l.widen(t), Else: l.widen(f)}, true
	case *tir.Cast:
		a, ok := l.expr(n.A)
		return &tir.Cast{DType: n.DType, A: a}, ok
	case *tir.Load:
		return l.load(n)
	case *tir.Call:
		args := make([]tir.Expr, len(n.Args))
		for i, a := range n.Args {
			to, ok := l.expr(a)
			if !ok {
				return nil, false
			}
			args[i] = l.widen(to)
		}
		return &tir.Call{Fn: n.Fn, Args: args}, true
	}
	return nil, false
}

func (l *laneBody) load(n *tir.Load) (tir.Expr, bool) {
	idx, ok := l.list(n.Indices)
	if !ok {
		return nil, false
	}
	if n.Buffer.Scope == tir.Texture {
		for _, i := range idx[:len(idx)-1] {
			if i.Type().Lanes > 1 {
				return nil, false // a read gives one pixel
			}
		}
	}
	if to := l.wide[n.Buffer]; to != nil {
		return &tir.Load{Buffer: to, Indices: append(idx, &tir.Ramp{Base: tir.I(0), Stride: tir.I(1), Lanes: l.n})}, true
	}
	out := &tir.Load{Buffer: n.Buffer, Indices: idx}
	if out.Type().Lanes == 1 {
		return &tir.Broadcast{A: out, Lanes: l.n}, true
	}
	return out, true
}

// inBounds reports whether every load and division of e is safe wherever the statement runs.
func (l *laneBody) inBounds(e tir.Expr) bool {
	ok := true
	tir.Walk(e, func(n any) bool {
		switch n := n.(type) {
		case *tir.Load:
			for i, x := range n.Indices {
				lo, hi, bounded := l.v.a.Bounds(x)
				ok = ok && bounded && lo >= 0 && hi < int64(n.Buffer.Shape[i])
			}
		case *tir.Binary:
			if n.Op >= tir.Div && n.Op <= tir.FloorMod && !n.A.Type().DType.IsFloat() {
				c, isConst := tir.AsInt(n.B)
				ok = ok && isConst && c != 0
			}
		}
		return ok
	})
	return ok
}
