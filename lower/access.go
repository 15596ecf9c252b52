package lower

import (
	"github.com/texel-ml/texel/tir"
	"github.com/texel-ml/texel/tir/arith"
)

// access is one load or store of a block: how far it moves in memory, in elements, with each of the block's variables.
type access struct {
	buf       *tir.Buffer
	store     bool
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
		x := access{buf: buf, store: store, irregular: map[*tir.Var]bool{}}
		coeffs, rest, _ := a.Linear(a.Simplify(flat))
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
