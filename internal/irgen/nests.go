package irgen

import (
	"fmt"
	"slices"

	"github.com/texel-ml/texel/tensor"
	"github.com/texel-ml/texel/tir"
	"github.com/texel-ml/texel/tir/arith"
)

// Nests makes a function of loops as people write them by hand, and as package te never does: several blocks in one loop,
// blocks and loops under conditions, loops that begin elsewhere or whose bounds depend on others, elements that are written
// twice, changed in place, or read before or across iterations, cells, blocks in blocks, opaque ones, several results of
// one block. It is legal, but may read what nothing wrote; interpret it to see. Whole numbers alone: they wrap around, so that
// sums are exact.
func Nests(d Draw) *tir.Func {
	g := &nester{Draw: d}
	for range 1 + g.IntN(2) {
		g.inputs = append(g.inputs, g.buffer("X", tir.Global))
	}
	for range 1 + g.IntN(2) {
		g.outs = append(g.outs, g.buffer("Y", tir.Global))
	}
	for range g.IntN(4) {
		g.temps = append(g.temps, g.buffer("T", oneOf(d, tir.Global, tir.Global, tir.Scratch, tir.Local)))
	}
	g.stored = append(slices.Clone(g.outs), g.temps...)
	var list []tir.Stmt
	for _, b := range g.stored {
		if g.IntN(4) > 0 {
			list = append(list, g.fill(b))
		}
	}
	for range 1 + g.IntN(3) {
		list = append(list, g.nest(0))
	}
	for _, b := range g.outs {
		if !g.written[b] {
			list = append(list, g.fill(b))
		}
	}
	if g.IntN(2) == 1 && len(g.temps) > 0 { // what is stored is seen
		list = append(list, g.copy(g.outs[0]))
	}
	used := map[*tir.Buffer]bool{}
	root := &tir.Block{Name: "root", Body: tir.Block1(list...)}
	tir.Walk(root.Body, func(n any) bool {
		switch n := n.(type) {
		case *tir.Load:
			used[n.Buffer] = true
		case *tir.Store:
			used[n.Buffer] = true
		}
		return true
	})
	for _, b := range g.temps {
		if used[b] {
			root.Allocs = append(root.Allocs, b)
		}
	}
	return &tir.Func{Name: "f", Params: append(g.inputs, g.outs...), Outputs: len(g.outs), Body: &tir.BlockRealize{Block: root}}
}

type nester struct {
	Draw
	inputs, outs, temps, stored []*tir.Buffer
	written                     map[*tir.Buffer]bool
	loops                       []*tir.For
	n                           int
}

func (g *nester) one(n int) bool { return g.IntN(n) == n-1 }

func (g *nester) name(prefix string) string {
	g.n++
	return fmt.Sprintf("%s%d", prefix, g.n)
}

func (g *nester) buffer(prefix string, scope tir.Scope) *tir.Buffer {
	shape := []int{oneOf(g, 6, 4, 5, 8)}
	if g.one(2) {
		shape = append(shape, oneOf(g, 4, 3, 6))
	}
	if g.one(12) {
		shape = nil
	}
	return &tir.Buffer{Name: g.name(prefix), DType: tensor.Int32, Shape: shape, Scope: scope}
}

func (g *nester) wrote(b *tir.Buffer) {
	if g.written == nil {
		g.written = map[*tir.Buffer]bool{}
	}
	g.written[b] = true
}

// over puts loops over a buffer's axes around what it makes of their variables.
func (g *nester) over(b *tir.Buffer, make func(v []tir.Expr) tir.Expr) tir.Stmt {
	block := &tir.Block{Name: g.name("S")}
	r := &tir.BlockRealize{Block: block}
	var loops []*tir.For
	var idx []tir.Expr
	for _, n := range b.Shape {
		l := &tir.For{Var: tir.NewVar(g.name("i")), Min: tir.I(0), Extent: tir.I(n)}
		v := tir.NewVar(g.name("v"))
		block.Iters = append(block.Iters, tir.IterVar{Var: v, Extent: n})
		r.Values = append(r.Values, l.Var)
		loops = append(loops, l)
		idx = append(idx, v)
	}
	block.Body = &tir.Store{Buffer: b, Indices: idx, Value: make(idx)}
	block.Reads, block.Writes = tir.Accesses(block)
	var st tir.Stmt = r
	for _, l := range slices.Backward(loops) {
		l.Body = st
		st = l
	}
	g.wrote(b)
	return st
}

func (g *nester) fill(b *tir.Buffer) tir.Stmt {
	return g.over(b, func(v []tir.Expr) tir.Expr {
		it := &site{g: g}
		for i, x := range v {
			it.vars, it.extents = append(it.vars, x), append(it.extents, b.Shape[i])
		}
		return it.term(g.inputs[g.IntN(len(g.inputs))])
	})
}

func (g *nester) copy(b *tir.Buffer) tir.Stmt {
	return g.over(b, func(v []tir.Expr) tir.Expr {
		it := &site{g: g}
		for i, x := range v {
			it.vars, it.extents = append(it.vars, x), append(it.extents, b.Shape[i])
		}
		return tir.Plus(it.term(g.stored[g.IntN(len(g.stored))]), &tir.Load{Buffer: b, Indices: v})
	})
}

// nest makes a statement in the loops around.
func (g *nester) nest(depth int) tir.Stmt {
	k := g.IntN(10)
	switch {
	case depth < 3 && (k < 5 || depth == 0):
		l := g.loop()
		g.loops = append(g.loops, l)
		l.Body = g.nest(depth + 1)
		if g.one(2) {
			l.Body = tir.Block1(l.Body, g.nest(depth+1))
		}
		g.loops = g.loops[:len(g.loops)-1]
		return l
	case k == 5 && len(g.loops) > 0:
		st := &tir.If{Cond: g.condition(g.vars()), Then: g.nest(depth + 1)}
		if g.one(2) {
			st.Else = g.nest(depth + 1)
		}
		return st
	case k == 6:
		return g.scope(depth)
	}
	return g.block()
}

func (g *nester) loop() *tir.For {
	l := &tir.For{Var: tir.NewVar(g.name("l")), Min: tir.I(0), Extent: tir.I(oneOf(g, 4, 2, 3, 6, 5, 1, 8))}
	switch k := g.IntN(10); {
	case k == 6:
		l.Min = tir.I(1 + g.IntN(2))
	case k == 7 && len(g.loops) > 0:
		l.Extent = tir.Plus(g.loops[len(g.loops)-1].Var, tir.I(g.IntN(2)))
	case k == 8 && len(g.loops) > 0:
		l.Min = g.loops[g.IntN(len(g.loops))].Var
	}
	return l
}

func (g *nester) vars() []tir.Expr {
	var list []tir.Expr
	for _, l := range g.loops {
		list = append(list, l.Var)
	}
	return list
}

func (g *nester) condition(v []tir.Expr) tir.Expr {
	if len(v) == 0 {
		return tir.Lt(tir.I(0), tir.I(1))
	}
	a, b := v[g.IntN(len(v))], v[g.IntN(len(v))]
	switch g.IntN(7) {
	case 0:
		return tir.Lt(a, tir.I(1+g.IntN(4)))
	case 1:
		return tir.Ge(a, tir.I(1+g.IntN(3)))
	case 2:
		return tir.Le(a, b)
	case 3:
		return tir.Lt(tir.Plus(a, b), tir.I(2+g.IntN(6)))
	case 4:
		return tir.Eq(tir.Bin(tir.FloorMod, a, tir.I(2)), tir.I(g.IntN(2)))
	case 5:
		return tir.Eq(a, b)
	}
	return tir.Any(tir.Eq(a, tir.I(0)), tir.Ge(b, tir.I(2)))
}

// bounds returns where an expression of the loops around lies.
func (g *nester) bounds(e tir.Expr) (lo, hi int, ok bool) {
	a := arith.New()
	for _, l := range g.loops {
		a.BindLoop(l)
	}
	first, last, ok := a.Bounds(e)
	return int(first), int(last), ok
}

// site is a place where elements are read: variables with their extents.
type site struct {
	g       *nester
	vars    []tir.Expr
	extents []int
	spatial []int // which of them may say where is written
}

// index returns an index below n over the variables listed.
func (s *site) index(n int, among []int) tir.Expr {
	g := s.g
	if len(among) == 0 || g.one(8) {
		return tir.I(g.IntN(n))
	}
	k := among[g.IntN(len(among))]
	v, e := s.vars[k], s.extents[k]
	switch {
	case e <= n && g.IntN(4) > 0:
		return tir.Plus(v, tir.I(g.IntN(n-e+1)))
	case e <= n:
		return tir.Minus(tir.I(n-1), v)
	case g.one(2):
		return tir.Bin(tir.FloorDiv, v, tir.I((e+n-1)/n))
	case g.one(2):
		return tir.Minimum(v, tir.I(n-1))
	}
	return tir.Bin(tir.FloorMod, v, tir.I(n))
}

func (s *site) indices(b *tir.Buffer, among []int) []tir.Expr {
	idx := make([]tir.Expr, len(b.Shape))
	left := slices.Clone(among)
	for i, n := range b.Shape {
		of := left
		if s.g.one(6) {
			of = among
		}
		idx[i] = s.index(n, of)
		left = slices.DeleteFunc(left, func(k int) bool { return tir.Uses(idx[i], s.vars[k].(*tir.Var)) })
	}
	return idx
}

func (s *site) all() []int {
	list := make([]int, len(s.vars))
	for i := range list {
		list[i] = i
	}
	return list
}

// moved moves an index by one, within the axis.
func (s *site) moved(idx []tir.Expr, b *tir.Buffer) []tir.Expr {
	out := slices.Clone(idx)
	if len(out) == 0 {
		return out
	}
	k := s.g.IntN(len(out))
	switch s.g.IntN(3) {
	case 0:
		out[k] = tir.Maximum(tir.Minus(out[k], tir.I(1)), tir.I(0))
	case 1:
		out[k] = tir.Minimum(tir.Plus(out[k], tir.I(1)), tir.I(b.Shape[k]-1))
	default:
		out[k] = tir.Bin(tir.FloorMod, tir.Plus(out[k], tir.I(1)), tir.I(b.Shape[k]))
	}
	return out
}

// term reads an element of b.
func (s *site) term(b *tir.Buffer) tir.Expr {
	g := s.g
	idx := s.indices(b, s.all())
	if g.one(4) {
		idx = s.moved(idx, b)
	}
	var e tir.Expr = &tir.Load{Buffer: b, Indices: idx}
	switch {
	case g.one(6):
		e = tir.Times(e, tir.Const(tensor.Int32, float64(2+g.IntN(3))))
	case g.one(6):
		e = tir.Sel(g.condition(s.vars), e, tir.Const(tensor.Int32, float64(g.IntN(5))))
	case g.one(8):
		e = tir.Plus(e, tir.As(tensor.Int32, s.index(7, s.all())))
	}
	return e
}

// value is a sum of some elements.
func (s *site) value() tir.Expr {
	g := s.g
	pick := func() *tir.Buffer {
		if g.IntN(3) == 0 {
			return g.inputs[g.IntN(len(g.inputs))]
		}
		return g.stored[g.IntN(len(g.stored))]
	}
	e := s.term(pick())
	for g.one(3) {
		e = tir.Bin(oneOf(g, tir.Add, tir.Sub, tir.Mul, tir.Max), e, s.term(pick()))
	}
	return e
}

// realize begins a block over some of the loops around; of a reduction, some variables reduce.
func (g *nester) realize(reduces bool) (*tir.BlockRealize, *site) {
	block := &tir.Block{Name: g.name("S")}
	r := &tir.BlockRealize{Block: block}
	s := &site{g: g}
	add := func(value tir.Expr, kind tir.IterKind) {
		lo, hi, ok := g.bounds(value)
		if !ok || lo < 0 || hi > 60 {
			return
		}
		v := tir.NewVar(g.name("v"))
		block.Iters = append(block.Iters, tir.IterVar{Var: v, Extent: max(hi+1, 1), Kind: kind})
		r.Values = append(r.Values, value)
		if kind != tir.Reduce {
			s.spatial = append(s.spatial, len(s.vars))
		}
		s.vars, s.extents = append(s.vars, v), append(s.extents, max(hi+1, 1))
	}
	for i := 0; i < len(g.loops); i++ {
		l := g.loops[i]
		var value tir.Expr = l.Var
		kind := tir.Spatial
		if reduces && (i == len(g.loops)-1 || g.one(4)) {
			kind = tir.Reduce
		}
		if n, ok := tir.AsInt(l.Min); ok && n > 0 && (kind == tir.Reduce || g.one(2)) {
			value = tir.Minus(value, l.Min)
		}
		switch k := g.IntN(12); {
		case k == 0 && !reduces: // computed again
			continue
		case k == 1 && i+1 < len(g.loops):
			if n, ok := tir.AsInt(g.loops[i+1].Extent); ok {
				value = tir.Plus(tir.Times(value, tir.I(int(n))), g.loops[i+1].Var)
				i++
			}
		case k == 2 && kind == tir.Spatial:
			value = tir.Plus(value, tir.I(1))
		case k == 3 && kind == tir.Spatial:
			value = tir.Bin(tir.FloorDiv, value, tir.I(2))
		case k == 4 && kind == tir.Spatial && g.one(3):
			kind = tir.Ordered
		}
		add(value, kind)
	}
	if g.one(6) && len(g.loops) > 0 {
		r.Where = g.condition(g.vars())
	}
	return r, s
}

func (g *nester) target() *tir.Buffer {
	b := g.stored[g.IntN(len(g.stored))]
	g.wrote(b)
	return b
}

func (g *nester) block() tir.Stmt {
	kind := g.IntN(12)
	if len(g.loops) == 0 {
		kind = 0
	}
	r, s := g.realize(kind == 3 || kind == 4 || kind == 5)
	b := r.Block
	w := g.target()
	idx := s.indices(w, s.spatial)
	at := &tir.Load{Buffer: w, Indices: idx}
	store := func(e tir.Expr) tir.Stmt { return &tir.Store{Buffer: w, Indices: idx, Value: e} }
	op := oneOf(g, tir.Add, tir.Add, tir.Max)
	reduces := slices.ContainsFunc(b.Iters, func(iv tir.IterVar) bool { return iv.Kind == tir.Reduce })
	if (kind == 3 || kind == 4 || kind == 5) && !reduces {
		kind = 0
	}
	// The parts of a sum may come in any order: none reads what another one writes.
	part := func() tir.Expr {
		for range 8 {
			if e := s.value(); !loads(e, w) {
				return e
			}
		}
		return s.term(g.inputs[0])
	}
	switch kind {
	case 1: // in place
		b.Body = store(tir.Bin(op, at, s.value()))
	case 2: // from the neighbour
		b.Body = store(tir.Plus(&tir.Load{Buffer: w, Indices: s.moved(idx, w)}, s.value()))
	case 3, 4:
		b.Init = store(tir.Const(tensor.Int32, float64(g.IntN(3))))
		b.Body = store(tir.Bin(op, at, part()))
		if g.one(4) {
			b.Body = &tir.If{Cond: g.condition(s.vars), Then: b.Body}
		}
	case 5:
		b.Body = store(tir.Bin(op, at, part()))
	case 6:
		st := &tir.If{Cond: g.condition(s.vars), Then: store(s.value())}
		if g.one(2) {
			st.Else = store(s.value())
		}
		b.Body = st
	case 7:
		o := g.target()
		b.Body = tir.Block1(store(s.value()), &tir.Store{Buffer: o, Indices: s.indices(o, s.spatial), Value: s.value()})
	case 8:
		v := &tir.Var{Name: g.name("x"), DType: tensor.Int32}
		b.Body = &tir.Let{Var: v, Value: s.value(), Body: store(tir.Plus(v, s.value()))}
	case 9:
		return g.opaque(r, s, w, idx)
	default:
		b.Body = store(s.value())
	}
	b.Reads, b.Writes = tir.Accesses(b)
	return r
}

func loads(e tir.Expr, b *tir.Buffer) bool {
	found := false
	tir.Walk(e, func(n any) bool {
		l, ok := n.(*tir.Load)
		found = found || ok && l.Buffer == b
		return !found
	})
	return found
}

// opaque makes a block with a loop of its own along the last axis.
func (g *nester) opaque(r *tir.BlockRealize, s *site, w *tir.Buffer, idx []tir.Expr) tir.Stmt {
	b := r.Block
	b.Opaque = true
	if len(idx) == 0 {
		b.Body = &tir.Store{Buffer: w, Indices: idx, Value: s.value()}
		b.Reads, b.Writes = tir.Accesses(b)
		return r
	}
	n := w.Shape[len(idx)-1]
	k := tir.NewVar(g.name("k"))
	inner := &site{g: g, vars: append(slices.Clone(s.vars), k), extents: append(slices.Clone(s.extents), n)}
	idx = append(slices.Clone(idx[:len(idx)-1]), k)
	body := &tir.Store{Buffer: w, Indices: idx, Value: inner.value()}
	b.Body = &tir.For{Var: k, Min: tir.I(0), Extent: tir.I(n), Body: body}
	seen := map[*tir.Buffer]bool{}
	tir.Walk(body.Value, func(n any) bool {
		if l, ok := n.(*tir.Load); ok && !seen[l.Buffer] {
			seen[l.Buffer] = true
			b.Reads = append(b.Reads, tir.Whole(l.Buffer))
		}
		return true
	})
	to := tir.Point(w, idx)
	to.Ranges[len(idx)-1] = tir.Range{Min: tir.I(0), Extent: tir.I(n)}
	b.Writes = []tir.Region{to}
	return r
}

// scope makes a block around a nest of its own, with some of the loops around as its variables.
func (g *nester) scope(depth int) tir.Stmt {
	r, s := g.realize(false)
	outer := g.loops
	g.loops = nil
	for i, v := range s.vars {
		g.loops = append(g.loops, &tir.For{Var: v.(*tir.Var), Min: tir.I(0), Extent: tir.I(s.extents[i])})
	}
	kept := len(g.loops)
	var st tir.Stmt
	if kept > 0 || depth > 0 {
		l := g.loop()
		g.loops = append(g.loops, l)
		l.Body = g.inner()
		if g.one(2) {
			l.Body = tir.Block1(l.Body, g.inner())
		}
		st = l
	} else {
		st = g.block()
	}
	g.loops = outer
	b := r.Block
	b.Body = st
	reads, writes := map[*tir.Buffer]bool{}, map[*tir.Buffer]bool{}
	tir.Walk(st, func(n any) bool {
		switch n := n.(type) {
		case *tir.Load:
			if !reads[n.Buffer] {
				reads[n.Buffer] = true
				b.Reads = append(b.Reads, tir.Whole(n.Buffer))
			}
		case *tir.Store:
			if !writes[n.Buffer] {
				writes[n.Buffer] = true
				b.Writes = append(b.Writes, tir.Whole(n.Buffer))
			}
		}
		return true
	})
	return r
}

// inner makes a block in a scope; scopes in scopes would be too many.
func (g *nester) inner() tir.Stmt { return g.block() }
