package transform

import (
	"slices"

	"github.com/texel-ml/texel/tensor"
	"github.com/texel-ml/texel/tir"
	"github.com/texel-ml/texel/tir/arith"
)

// PartitionLoops removes guards by cutting loops where a guard starts or stops to hold. A loop over c in [0, 2) around
//
//	for i in range(0, 16, kind=vectorized): if c*16 + i < 24: S
//
// is cut into c = 0, where the guard always holds, and c = 1, where it leaves i < 8, so that the inner loop is cut too:
// to 8 iterations, and 8 that never run and go. Outer loops are cut first. What the grid decides is tested once for
// each of its values:
//
//	if c < 1: (full tiles) else: (the last tile)
//
// Guards are the conditions of Ifs, and in loops that carry the attribute "partition" and the loops inside, those of
// Selects (reads with padding: a prologue, a main part without conditions, an epilogue). A guard that no cut decides, because it depends on
// outer loops that could not be cut, shortens a serial loop to the iterations where it holds, or stays.
func PartitionLoops(k *tir.Kernel, opts Options) (*tir.Kernel, error) {
	s := newSimplifier(k)
	p := &partitioner{s: s, a: s.a, left: opts.withDefaults().MaxGrowth}
	body := k.Body
	if k.Grid != nil {
		body = p.decide(k.Grid, 0, int64(k.GridExtent), body)
	} else {
		body = p.stmt(body)
	}
	if body == nil {
		body = &tir.Seq{}
	}
	return withBody(k, body), nil
}

// maxCuts bounds the cuts of one loop.
const maxCuts = 6

type partitioner struct {
	s    *simplifier
	a    *arith.Analyzer
	left int // nodes that may still be added
	pads int // loops around that carry the attribute
}

func (p *partitioner) stmt(st tir.Stmt) tir.Stmt {
	switch n := st.(type) {
	case nil:
		return nil
	case *tir.For:
		return p.loop(n)
	case *tir.Seq:
		var list []tir.Stmt
		changed := false
		for _, c := range n.Stmts {
			to := p.stmt(c)
			changed = changed || to != c
			list = append(list, flatten(to)...)
		}
		if !changed {
			return n
		}
		if len(list) == 0 {
			return nil
		}
		return tir.Block1(list...)
	case *tir.If:
		leave := p.a.Assume(n.Cond)
		then := p.stmt(n.Then)
		leave()
		leave = p.a.Assume(&tir.Not{A: n.Cond})
		els := p.stmt(n.Else)
		leave()
		switch {
		case then == n.Then && els == n.Else:
			return n
		case then == nil && els == nil:
			return nil
		case then == nil:
			return &tir.If{Cond: &tir.Not{A: n.Cond}, Then: els}
		}
		return &tir.If{Cond: n.Cond, Then: then, Else: els}
	case *tir.Let:
		leave := p.a.Scope()
		defer leave()
		body := n.Body
		if n.Var.DType == tensor.Int64 {
			p.a.BindValue(n.Var, n.Value)
			if lo, hi, ok := p.a.Bounds(n.Var); ok {
				body = p.decide(n.Var, lo, hi+1, body)
			} else {
				body = p.stmt(body)
			}
		} else {
			body = p.stmt(body)
		}
		if body == n.Body || body == nil {
			return orNil(n, body)
		}
		return &tir.Let{Var: n.Var, Value: n.Value, Body: body}
	case *tir.Allocate:
		body := p.stmt(n.Body)
		if body == n.Body || body == nil {
			return orNil(n, body)
		}
		return n.WithBody(body)
	}
	return st
}

// loop cuts a loop with constant bounds; each part is simplified under its own range.
func (p *partitioner) loop(n *tir.For) tir.Stmt {
	lo, okLo := tir.AsInt(n.Min)
	extent, okExt := tir.AsInt(n.Extent)
	if n.Attrs[tir.Partition] != "" {
		p.pads++
		defer func() { p.pads-- }()
	}
	if okLo && okExt && n.Kind != tir.Bound {
		if cuts := p.cuts(n.Var, lo, lo+extent, n.Body, p.pads > 0); len(cuts) > 0 {
			var list []tir.Stmt
			for _, r := range pieces(lo, lo+extent, cuts) {
				c := *n
				c.Min, c.Extent = tir.I(int(r[0])), tir.I(int(r[1]-r[0]))
				list = append(list, flatten(p.stmt(p.s.stmt(&c)))...)
			}
			if len(list) == 0 {
				return nil
			}
			return tir.Block1(list...)
		}
	}
	leave := p.a.Scope()
	p.a.BindLoop(n)
	body := p.stmt(n.Body)
	leave()
	if body == nil {
		return nil
	}
	if body != n.Body {
		c := *n
		c.Body = body
		n = &c
	}
	if n.Kind == tir.Serial {
		return p.shorten(n)
	}
	return n
}

// pieces returns the half-open ranges between cuts.
func pieces(lo, hi int64, cuts []int64) [][2]int64 {
	var out [][2]int64
	for _, c := range append(slices.Clone(cuts), hi) {
		out = append(out, [2]int64{lo, c})
		lo = c
	}
	return out
}

// decide tests a variable of the grid once, instead of guards further inside.
func (p *partitioner) decide(v *tir.Var, lo, hi int64, body tir.Stmt) tir.Stmt {
	cuts := p.cuts(v, lo, hi, body, p.pads > 0)
	if len(cuts) == 0 {
		return p.stmt(body)
	}
	cut := cuts[0]
	if len(cuts) > 1 && cuts[1]-cuts[0] > cuts[0]-lo {
		cut = cuts[1] // the long part first
	}
	cond := &tir.Binary{Op: tir.LT, A: v, B: tir.I(int(cut))}
	part := func(cond tir.Expr, lo, hi int64) tir.Stmt {
		leave := p.a.Assume(cond)
		defer leave()
		to := p.s.stmt(body)
		if to == nil {
			return nil
		}
		return p.decide(v, lo, hi, to)
	}
	then, els := part(cond, lo, cut), part(&tir.Not{A: cond}, cut, hi)
	switch {
	case then == nil && els == nil:
		return nil
	case then == nil:
		return &tir.If{Cond: p.a.Simplify(&tir.Not{A: cond}), Then: els}
	}
	return &tir.If{Cond: cond, Then: then, Else: els}
}

// cuts returns the values of v, inside (lo, hi), where a guard in body changes between holding for all inner
// iterations, for some, and for none.
func (p *partitioner) cuts(v *tir.Var, lo, hi int64, body tir.Stmt, selects bool) []int64 {
	leave := p.a.Scope()
	defer leave()
	p.a.Bind(v, lo, hi-lo)
	var cuts []int64
	add := func(at int64) {
		if at > lo && at < hi && !slices.Contains(cuts, at) {
			cuts = append(cuts, at)
		}
	}
	tir.Walk(body, func(n any) bool {
		switch n := n.(type) {
		case *tir.For:
			p.a.BindLoop(n)
		case *tir.Let:
			p.a.BindValue(n.Var, n.Value)
		case *tir.If:
			p.guard(v, n.Cond, add)
		case *tir.Select:
			if selects {
				p.guard(v, n.Cond, add)
			}
		}
		return true
	})
	slices.Sort(cuts)
	if len(cuts) == 0 || len(cuts) > maxCuts {
		return nil
	}
	cost := nodes(body) * len(cuts)
	if cost > p.left {
		return nil
	}
	p.left -= cost
	return cuts
}

// guard reports the cuts of each comparison in a condition.
func (p *partitioner) guard(v *tir.Var, cond tir.Expr, add func(int64)) {
	switch n := cond.(type) {
	case *tir.Not:
		p.guard(v, n.A, add)
	case *tir.Binary:
		if n.Op.IsLogical() {
			p.guard(v, n.A, add)
			p.guard(v, n.B, add)
			return
		}
		if !n.Op.IsCompare() || n.A.Type() != tir.Index || !tir.Uses(n, v) {
			return
		}
		d := p.a.Simplify(tir.Minus(n.A, n.B))
		coeffs, _, _ := p.a.Linear(d)
		k := coeffs[v]
		if k == 0 {
			return
		}
		rest := p.a.Simplify(tir.Minus(d, tir.Times(v, tir.I(int(k)))))
		least, most, ok := p.a.Bounds(rest)
		if !ok || tir.Uses(rest, v) {
			return
		}
		zero := func(rest int64) int64 { return floorDiv(-rest, k) } // the last v with k·v + rest <= 0, for k > 0
		if k < 0 {
			zero = func(rest int64) int64 { return -floorDiv(-rest, -k) - 1 } // the last v with k·v + rest > 0
		}
		switch n.Op {
		case tir.EQ, tir.NE:
			if least == most && least%k == 0 {
				add(-least / k)
				add(-least/k + 1)
			}
		case tir.LT, tir.GE: // k·v + rest < 0, rest + 1 in place of rest for <= 0
			add(zero(least+1) + 1)
			add(zero(most+1) + 1)
		case tir.LE, tir.GT:
			add(zero(least) + 1)
			add(zero(most) + 1)
		}
	}
}

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b != 0 && (a < 0) != (b < 0) {
		q--
	}
	return q
}

// shorten turns a guard around the whole body of a serial loop, ±v + rest < 0, into the loop's bounds.
func (p *partitioner) shorten(n *tir.For) tir.Stmt {
	cond, ok := n.Body.(*tir.If)
	if !ok || cond.Else != nil {
		return n
	}
	lo, end := n.Min, tir.Plus(n.Min, n.Extent)
	var keep tir.Expr
	changed := false
	for _, part := range tir.Conjuncts(cond.Cond) {
		b, ok := part.(*tir.Binary)
		if !ok || b.Op != tir.LT || b.A.Type() != tir.Index || !arith.Pure(part) {
			keep = tir.All(keep, part)
			continue
		}
		d := tir.Minus(b.A, b.B)
		coeffs, _, _ := p.a.Linear(d)
		k := coeffs[n.Var]
		rest := p.a.Simplify(tir.Minus(d, tir.Times(n.Var, tir.I(int(k)))))
		switch {
		case tir.Uses(rest, n.Var) || k != 1 && k != -1:
			keep = tir.All(keep, part)
		case k == 1: // v < -rest
			end, changed = tir.Bin(tir.Min, end, tir.Minus(tir.I(0), rest)), true
		default: // v > rest
			lo, changed = tir.Bin(tir.Max, lo, tir.Plus(rest, tir.I(1))), true
		}
	}
	if !changed {
		return n
	}
	c := *n
	c.Min = p.a.Simplify(lo)
	c.Extent = p.a.Simplify(tir.Bin(tir.Max, tir.Minus(end, c.Min), tir.I(0)))
	c.Body = cond.Then
	if keep != nil {
		c.Body = &tir.If{Cond: keep, Then: cond.Then}
	}
	return &c
}
