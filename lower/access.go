package lower

import (
	"slices"

	"github.com/texel-ml/texel/tir"
	"github.com/texel-ml/texel/tir/arith"
)

// access is one load or store of a block: how far it moves in memory, in elements, with each of the block's variables.
type access struct {
	buf       *tir.Buffer
	store     bool
	at        tir.Expr // the place in memory
	step      map[*tir.Var]int64
	irregular map[*tir.Var]bool // moves by no fixed step
}

// accessesOf returns the accesses of a block's body.
func accessesOf(b *tir.Block) []access {
	a := arith.New()
	for _, iv := range b.Iters {
		a.Bind(iv.Var, 0, int64(iv.Extent))
	}
	var list []access
	note := func(buf *tir.Buffer, indices []tir.Expr, store bool) {
		var flat tir.Expr = tir.I(0)
		for n, step := range buf.StrideList() {
			flat = tir.Plus(flat, scaled(indices[n], step))
		}
		x := access{buf: buf, store: store, at: a.Simplify(flat), irregular: map[*tir.Var]bool{}}
		coeffs, rest, _ := a.Linear(x.at)
		x.step = coeffs
		for _, iv := range b.Iters {
			if tir.Uses(rest, iv.Var) {
				x.irregular[iv.Var] = true
			}
		}
		list = append(list, x)
	}
	tir.Walk(b.Body, func(n any) bool {
		switch n := n.(type) {
		case *tir.Load:
			note(n.Buffer, n.Indices, false)
		case *tir.Store:
			note(n.Buffer, n.Indices, true)
		}
		return true
	})
	return list
}

// windows returns how many stretches of memory, each as long as a vector, hold the elements that a vector of lanes along v
// touches; 1 when they lie side by side or are one. It is the number of lanes when their distances are not the same in
// each vector.
func (x access) windows(b *tir.Block, v tir.IterVar, lanes int) int {
	offsets := make([]int64, lanes)
	if !x.irregular[v.Var] {
		for k := range offsets {
			offsets[k] = int64(k) * x.step[v.Var]
		}
	} else {
		a := arith.New()
		for _, iv := range b.Iters {
			a.Bind(iv.Var, 0, int64(iv.Extent))
		}
		block := tir.NewVar("v")
		a.Bind(block, 0, int64(ceilDiv(v.Extent, lanes)))
		place := func(k int) tir.Expr {
			return a.Simplify(tir.Subst(x.at, map[*tir.Var]tir.Expr{v.Var: offset(scaled(block, lanes), k)}))
		}
		first := place(0)
		for k := range offsets {
			d, ok := tir.AsInt(a.Simplify(tir.Minus(place(k), first)))
			if !ok {
				return lanes
			}
			offsets[k] = d
		}
	}
	slices.Sort(offsets)
	n, end := 0, int64(0)
	for k, o := range offsets {
		if k == 0 || o >= end {
			n, end = n+1, o+int64(lanes)
		}
	}
	return n
}

// vectorCost estimates what a vector of the given lanes along v costs: one for each access that is contiguous or the same
// for all lanes, and one a lane for others. self is left out.
func vectorCost(list []access, v *tir.Var, lanes int, self *tir.Buffer) (cost float64, contiguous bool) {
	for _, x := range list {
		if x.buf == self {
			continue
		}
		switch step := x.step[v]; {
		case x.irregular[v]:
			cost += float64(lanes)
		case step == 0:
			cost++
		case step == 1:
			cost++
			contiguous = true
		default:
			cost += float64(lanes)
		}
	}
	return cost, contiguous
}

// weightOf estimates the instructions of one instance of a block: its accesses and operations, functions counting more.
func weightOf(b *tir.Block) float64 {
	w := 0.0
	tir.Walk(b.Body, func(n any) bool {
		switch n := n.(type) {
		case *tir.Call:
			w += 12
		case *tir.Load, *tir.Select:
			w++
		case *tir.Binary:
			if n.A.Type() != tir.Index {
				w++
			}
		}
		return true
	})
	return max(w, 1)
}

// loadsOf calls f for each load of buf in a block.
func loadsOf(b *tir.Block, buf *tir.Buffer, f func(indices []tir.Expr)) {
	tir.Walk(b.Body, func(n any) bool {
		if l, ok := n.(*tir.Load); ok && l.Buffer == buf {
			f(l.Indices)
		}
		return true
	})
}

func sizeOf(root any) int {
	n := 0
	tir.Walk(root, func(any) bool {
		n++
		return true
	})
	return n
}
