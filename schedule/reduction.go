package schedule

import (
	"slices"

	"github.com/texel-ml/texel/tensor"
	"github.com/texel-ml/texel/tir"
)

// reduction is a block taken apart that folds terms into accumulators, one for each of its results:
//
//	init:
//	  out₀[at] = init₀; out₁[at] = init₁; …
//	if (where):
//	  out₀[at], out₁[at], … = combine(out₀[at], out₁[at], …, term₀, term₁, …)
//
// where at are the block's spatial variables, and terms do not read the results.
type reduction struct {
	block   *tir.Block
	outs    []*tir.Buffer
	at      []tir.Expr // the index of every access of a result
	inits   []tir.Expr
	where   tir.Expr // nil: always
	acc     []*tir.Var
	x       []*tir.Var
	combine []tir.Expr // over acc and x
	terms   []tir.Expr // over the block's variables
	unit    []tir.Expr // the identity of combine, when it was proven
}

// reduction takes a block apart, and refuses one that is no reduction.
func (s *Schedule) reduction(step string, block *tir.Block) *reduction {
	r := &reduction{block: block}
	inits, body := storesOf(block.Init), block.Body
	if c, ok := body.(*tir.If); ok && c.Else == nil {
		r.where, body = c.Cond, c.Then
	}
	lets, body := letsOf(body)
	stores := storesOf(body)
	if block.Opaque || len(block.Allocs) > 0 || len(stores) == 0 || len(inits) != len(stores) {
		s.refuse(step, block.Name, "is no reduction with an initial value")
		return nil
	}
	for i, st := range stores {
		if inits[i].Buffer != st.Buffer || !sameIndices(inits[i].Indices, st.Indices) || !sameIndices(st.Indices, stores[0].Indices) {
			s.refuse(step, block.Name, "has an initial value at another place than the updates of %s", st.Buffer.Name)
			return nil
		}
		r.outs, r.inits = append(r.outs, st.Buffer), append(r.inits, inits[i].Value)
		r.acc = append(r.acc, &tir.Var{Name: "a", DType: st.Buffer.DType})
		r.x = append(r.x, &tir.Var{Name: "x", DType: st.Buffer.DType})
	}
	r.at = stores[0].Indices
	if !s.atSpatial(step, r) {
		return nil
	}
	if why := r.takeApart(lets, stores); why != "" {
		s.refuse(step, block.Name, "does not fold terms into its results: %s", why)
		return nil
	}
	return r
}

// atSpatial checks that each spatial variable of more than one value is an index of the results, and that the other
// indices use none of the block's variables.
func (s *Schedule) atSpatial(step string, r *reduction) bool {
	left, own := map[*tir.Var]bool{}, map[*tir.Var]bool{}
	for _, iv := range r.block.Iters {
		own[iv.Var] = true
		switch iv.Kind {
		case tir.Spatial:
			left[iv.Var] = iv.Extent > 1
		case tir.Ordered:
			s.refuse(step, r.block.Name, "has the ordered variable %s; wanted reduce variables", iv.Var.Name)
			return false
		}
	}
	for i, e := range r.at {
		v, isVar := e.(*tir.Var)
		_, spatial := left[v]
		if tir.UsesAny(e, own) && !(isVar && spatial) {
			s.refuse(step, r.block.Name, "writes axis %d at a computed place; wanted a spatial variable of its own", i)
			return false
		}
		left[v] = false
	}
	for _, iv := range r.block.Iters {
		if left[iv.Var] {
			s.refuse(step, r.block.Name, "writes the same place for every value of %s; wanted it among the indices", iv.Var.Name)
			return false
		}
	}
	return true
}

// storesOf returns the stores that a statement is made of, nil when it has anything else.
func storesOf(st tir.Stmt) []*tir.Store {
	switch n := st.(type) {
	case *tir.Store:
		return []*tir.Store{n}
	case *tir.Seq:
		var list []*tir.Store
		for _, c := range n.Stmts {
			one, ok := c.(*tir.Store)
			if !ok {
				return nil
			}
			list = append(list, one)
		}
		return list
	}
	return nil
}

// letsOf returns the lets around a statement, outermost first, and the statement.
func letsOf(st tir.Stmt) ([]*tir.Let, tir.Stmt) {
	var list []*tir.Let
	for {
		l, ok := st.(*tir.Let)
		if !ok {
			return list, st
		}
		list, st = append(list, l), l.Body
	}
}

func sameIndices(a, b []tir.Expr) bool {
	return slices.EqualFunc(a, b, tir.Equal)
}

// loadsAny reports whether e reads one of the buffers.
func loadsAny(e tir.Expr, bufs []*tir.Buffer) bool {
	return slices.ContainsFunc(bufs, func(b *tir.Buffer) bool { return loads(e, b) })
}

// accumulator returns which result e is the load of, where the block writes it, or -1. What is read of a result elsewhere,
// as a step of a scan does, is no accumulator: instances do not depend on each other.
func (r *reduction) accumulator(e any) int {
	if l, ok := e.(*tir.Load); ok && sameIndices(l.Indices, r.at) {
		return slices.Index(r.outs, l.Buffer)
	}
	return -1
}

// accumulates reports whether e reads an accumulator.
func (r *reduction) accumulates(e tir.Expr) bool {
	found := false
	tir.Walk(e, func(n any) bool {
		found = found || r.accumulator(n) >= 0
		return !found
	})
	return found
}

// takeApart finds what is combined and how; the answer says why it cannot.
func (r *reduction) takeApart(lets []*tir.Let, stores []*tir.Store) (why string) {
	if r.where != nil && loadsAny(r.where, r.outs) {
		return "its condition reads a result"
	}
	env := map[*tir.Var]tir.Expr{}   // what lets stand for that read a result
	terms := map[*tir.Var]tir.Expr{} // what the others stand for
	for _, l := range lets {
		value := tir.Subst(l.Value, env)
		if r.accumulates(value) {
			env[l.Var] = value
		} else {
			terms[l.Var] = tir.Subst(value, terms)
		}
	}
	values := make([]tir.Expr, len(stores))
	for i, st := range stores {
		if i > 0 && loadsAny(st.Value, r.outs[:i]) {
			return "a result is read after it is written"
		}
		values[i] = tir.Subst(st.Value, env)
	}
	if len(values) == 1 && r.plain(values[0], terms) {
		return ""
	}
	t := &taker{r: r, named: terms}
	for _, l := range lets { // terms with a name come in the order of their lets
		for _, v := range values {
			if terms[l.Var] != nil && tir.Uses(v, l.Var) {
				t.term(l.Var, l.Var)
			}
		}
	}
	for i, v := range values {
		values[i] = t.expr(v)
	}
	if t.why != "" {
		return t.why
	}
	list := t.resolve(values)
	if len(list) != len(stores) {
		return "it has not one term for each result"
	}
	to := map[*tir.Var]tir.Expr{}
	for i, a := range list {
		if a.v.DType != r.x[i].DType {
			return "its terms are not of the types of its results"
		}
		to[a.v] = r.x[i]
		r.terms = append(r.terms, tir.Subst(a.value, terms))
	}
	for _, v := range values {
		r.combine = append(r.combine, tir.Subst(v, to))
	}
	return ""
}

// plain takes apart op(out, term), which has one result.
func (r *reduction) plain(value tir.Expr, terms map[*tir.Var]tir.Expr) bool {
	b, ok := value.(*tir.Binary)
	if !ok || unitOf(b.Op, r.outs[0].DType) == nil {
		return false
	}
	combine, term := &tir.Binary{Op: b.Op, A: r.acc[0], B: r.x[0]}, b.B
	if r.accumulator(b.A) < 0 {
		if r.accumulator(b.B) < 0 {
			return false
		}
		combine, term = &tir.Binary{Op: b.Op, A: r.x[0], B: r.acc[0]}, b.A
	}
	if r.accumulates(term) {
		return false
	}
	r.combine, r.terms = []tir.Expr{combine}, []tir.Expr{tir.Subst(term, terms)}
	return true
}

// taker replaces what is no result in the values of a reduction by variables.
type taker struct {
	r     *reduction
	named map[*tir.Var]tir.Expr // terms that a let names
	found []taken
	why   string
}

// taken is a term.
type taken struct {
	v     *tir.Var
	value tir.Expr
}

// expr returns e with results and terms as variables.
func (t *taker) expr(e tir.Expr) tir.Expr {
	if i := t.r.accumulator(e); i >= 0 {
		return t.r.acc[i]
	}
	switch n := e.(type) {
	case *tir.Int, *tir.Float:
		return e
	case *tir.Var:
		if _, ok := t.named[n]; ok {
			return t.term(n, n)
		}
	}
	if !t.r.accumulates(e) && (usesOthers(e, t.named) || tir.ReadsMemory(e)) { // more than terms with a name
		return t.term(nil, e)
	}
	return t.children(e)
}

// term returns the variable of a term, the same for equal ones.
func (t *taker) term(v *tir.Var, value tir.Expr) tir.Expr {
	for _, f := range t.found {
		if tir.Equal(f.value, value) {
			return f.v
		}
	}
	if v == nil {
		v = &tir.Var{Name: "x", DType: value.Type().DType}
	}
	t.found = append(t.found, taken{v, value})
	return v
}

func (t *taker) children(e tir.Expr) tir.Expr {
	switch n := e.(type) {
	case *tir.Binary:
		return &tir.Binary{Op: n.Op, A: t.expr(n.A), B: t.expr(n.B)}
	case *tir.Not:
		return &tir.Not{A: t.expr(n.A)}
	case *tir.Select:
		return &tir.Select{Cond: t.expr(n.Cond), Then: t.expr(n.Then), Else: t.expr(n.Else)}
	case *tir.Cast:
		return &tir.Cast{DType: n.DType, A: t.expr(n.A)}
	case *tir.Call:
		args := make([]tir.Expr, len(n.Args))
		for i, a := range n.Args {
			args[i] = t.expr(a)
		}
		return &tir.Call{Fn: n.Fn, Args: args}
	}
	t.why = "it has vectors"
	return e
}

// resolve leaves out terms that are made of others: in max(acc, x) with isnan(x) beside it, x alone is one. It rewrites
// values so.
func (t *taker) resolve(values []tir.Expr) []taken {
	list := t.found
	for i := 0; i < len(list); i++ {
		one := &tir.Mapper{Expr: func(e tir.Expr) tir.Expr {
			for j, f := range list {
				if j != i && tir.Equal(f.value, e) {
					return f.v
				}
			}
			return e
		}}
		made := one.MapExpr(list[i].value)
		others := map[*tir.Var]bool{}
		for j, f := range list {
			if j != i {
				others[f.v] = true
			}
		}
		if usesOthers(made, others) || tir.ReadsMemory(made) || len(list) <= len(values) {
			continue
		}
		for n := range values {
			values[n] = tir.Subst(values[n], map[*tir.Var]tir.Expr{list[i].v: made})
		}
		list = append(append([]taken{}, list[:i]...), list[i+1:]...)
		i = -1
	}
	return list
}

// unitOf returns the value that changes nothing under op, nil where op is not known to be associative and commutative.
func unitOf(op tir.BinaryOp, d tensor.DType) tir.Expr {
	isBool, isInt := d == tensor.Bool, d.IsInt() && d != tensor.Bool
	switch op {
	case tir.Add:
		if !isBool {
			return tir.Const(d, 0)
		}
	case tir.Mul:
		if !isBool {
			return tir.Const(d, 1)
		}
	case tir.Max:
		return tir.Lowest(d)
	case tir.Min:
		return tir.Highest(d)
	case tir.And:
		if isBool {
			return tir.True
		}
	case tir.Or:
		if isBool {
			return tir.False
		}
	case tir.BitOr, tir.BitXor:
		if isInt {
			return tir.Const(d, 0)
		}
	case tir.BitAnd:
		if isInt {
			return &tir.Int{DType: d, Value: tensor.Wrap(d, -1)}
		}
	}
	return nil
}

// update returns the statement that folds terms into buffers at the given index.
func (s *Schedule) update(r *reduction, bufs []*tir.Buffer, at, terms []tir.Expr) tir.Stmt {
	to := map[*tir.Var]tir.Expr{}
	for i, b := range bufs {
		to[r.acc[i]] = &tir.Load{Buffer: b, Indices: at}
		to[r.x[i]] = terms[i]
	}
	if len(bufs) == 1 {
		return &tir.Store{Buffer: bufs[0], Indices: at, Value: tir.Subst(r.combine[0], to)}
	}
	var lets []*tir.Let
	let := func(name string, value tir.Expr) *tir.Var {
		v := s.newVar(name)
		v.DType = value.Type().DType
		lets = append(lets, &tir.Let{Var: v, Value: value})
		return v
	}
	for i, e := range terms {
		to[r.x[i]] = let("x", e)
	}
	var stores []tir.Stmt
	for i, b := range bufs {
		stores = append(stores, &tir.Store{Buffer: b, Indices: at, Value: let("n", tir.Subst(r.combine[i], to))})
	}
	var st tir.Stmt = &tir.Seq{Stmts: stores}
	for i := len(lets) - 1; i >= 0; i-- {
		lets[i].Body = st
		st = lets[i]
	}
	return st
}

// initial returns the statement that stores values to buffers at an index.
func initial(bufs []*tir.Buffer, at, values []tir.Expr) tir.Stmt {
	list := make([]tir.Stmt, len(bufs))
	for i, b := range bufs {
		list[i] = &tir.Store{Buffer: b, Indices: at, Value: values[i]}
	}
	return tir.Block1(list...)
}
