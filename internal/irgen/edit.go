package irgen

import (
	"slices"

	"github.com/texel-ml/texel/tir"
)

// Edit changes one thing of a function, as a step with a mistake in it might: a loop, a block, a condition, the order of
// statements, what the root block allocates. What comes out may be illegal or compute something else. What did not change is
// the same pointer.
func Edit(d Draw, f *tir.Func) *tir.Func {
	c := *f
	if d.IntN(8) == 7 {
		c.Body = otherAllocs(d, f.Root())
		return &c
	}
	var all []tir.Stmt
	tir.Walk(f.Root().Body, func(n any) bool {
		if st, ok := n.(tir.Stmt); ok {
			all = append(all, st)
		}
		return true
	})
	at := all[d.IntN(len(all))]
	m := &tir.Mapper{Enter: func(st tir.Stmt) (tir.Stmt, bool) {
		if st != at {
			return st, false
		}
		return edited(d, st), true
	}}
	c.Body = m.MapStmt(f.Body)
	return &c
}

// otherAllocs returns the realization of the root block with a buffer less, or one more that a block inside allocates.
func otherAllocs(d Draw, root *tir.Block) tir.Stmt {
	c := *root
	var inside []*tir.Buffer
	tir.Walk(root.Body, func(n any) bool {
		if r, ok := n.(*tir.BlockRealize); ok {
			inside = append(inside, r.Block.Allocs...)
		}
		return true
	})
	if n := len(inside); n > 0 && d.IntN(2) == 1 {
		c.Allocs = append(slices.Clone(c.Allocs), inside[d.IntN(n)])
	} else if n := len(c.Allocs); n > 0 {
		at := d.IntN(n)
		c.Allocs = slices.Delete(slices.Clone(c.Allocs), at, at+1)
	}
	return &tir.BlockRealize{Block: &c}
}

func edited(d Draw, st tir.Stmt) tir.Stmt {
	switch n := st.(type) {
	case *tir.For:
		return otherLoop(d, n)
	case *tir.BlockRealize:
		return otherBlock(d, n)
	case *tir.Seq:
		c := slices.Clone(n.Stmts)
		if len(c) == 0 {
			return n
		}
		i, j := d.IntN(len(c)), d.IntN(len(c))
		if c[i], c[j] = c[j], c[i]; i == j {
			c = slices.Delete(c, i, i+1)
		}
		return tir.Block1(c...)
	case *tir.If:
		switch d.IntN(3) {
		case 0:
			return n.Then
		case 1:
			return &tir.If{Cond: &tir.Not{A: n.Cond}, Then: n.Then, Else: n.Else}
		}
		return &tir.If{Cond: n.Cond, Then: n.Then}
	}
	return st
}

func otherLoop(d Draw, n *tir.For) tir.Stmt {
	c := *n
	switch d.IntN(7) {
	case 0, 1:
		c.Kind = oneOf(d, tir.Serial, tir.Parallel, tir.Vectorized, tir.Unrolled)
	case 2:
		c.Extent = tir.I(d.IntN(9))
	case 3:
		c.Min = tir.I(d.IntN(3))
	case 4:
		return n.Body
	case 5:
		c.Var = tir.NewVar(n.Var.Name)
	case 6: // each iteration twice
		return &tir.For{Var: tir.NewVar("again"), Min: tir.I(0), Extent: tir.I(2), Body: n}
	}
	return &c
}

func otherBlock(d Draw, n *tir.BlockRealize) tir.Stmt {
	c, b := *n, *n.Block
	c.Block = &b
	iter := -1
	if len(b.Iters) > 0 {
		iter = d.IntN(len(b.Iters))
		b.Iters, c.Values = slices.Clone(b.Iters), slices.Clone(c.Values)
	}
	switch k := d.IntN(9); {
	case k == 0:
		c.Where = nil
	case k == 1:
		b.Reads = nil
	case k == 2:
		b.Writes = nil
	case k == 3:
		b.Init = nil
	case iter < 0:
		b.Opaque = !b.Opaque
	case k == 4:
		c.Where = tir.All(c.Where, tir.Ne(c.Values[iter], tir.I(d.IntN(4))))
	case k == 5:
		c.Values[iter] = tir.Over(c.Values[iter], tir.I(2))
	case k == 6:
		b.Iters[iter].Kind = oneOf(d, tir.Spatial, tir.Reduce, tir.Ordered)
	case k == 7:
		b.Iters[iter].Extent = 1 + d.IntN(6)
	case k == 8: // instances share what was of each
		v := b.Iters[iter].Var
		return tir.SubstStmt(&c, map[*tir.Var]tir.Expr{v: tir.Bin(tir.FloorDiv, v, tir.I(2))})
	}
	return &c
}
