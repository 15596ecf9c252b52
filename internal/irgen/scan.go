package irgen

import (
	"github.com/texel-ml/texel/schedule/te"
	"github.com/texel-ml/texel/tir"
)

// scan adds a recurrence along the first axis of src: a running sum, maximum or minimum, of the elements themselves, of
// the row's sum, or through a stage between.
func (g *generator) scan(src value) {
	d := src.DType()
	shape := src.Shape()
	r := reductions[g.IntN(3)]
	first := 1
	if shape[0] > 2 && g.one(3) {
		first = 2
	}
	name := g.name("T")
	state := te.Placeholder(name, d, shape...)
	element := func(i []tir.Expr) tir.Expr {
		at := make([]place, len(i))
		for n := range i {
			at[n] = func(vars) (tir.Expr, tir.Expr) { return i[n], nil }
		}
		return g.foldable(g.readAt(src, at, vars{}), r, 2*shape[0]).e
	}
	head := append([]int{first}, shape[1:]...)
	init := te.Compute(name+"_init", d, head, element)
	before := func(i []tir.Expr) tir.Expr {
		return state.At(append([]tir.Expr{tir.Minus(i[0], tir.I(first))}, i[1:]...)...)
	}
	kind := g.IntN(3)
	var update *te.Tensor
	switch {
	case kind == 1: // through a stage of the step
		last := te.Compute(name+"_last", d, shape, before)
		g.steps = append(g.steps, last)
		update = te.Compute(name+"_update", d, shape, func(i []tir.Expr) tir.Expr { return r.combine(last.At(i...), element(i)) })
	case kind == 2 && len(shape) > 1 && g.o.Points >= product(shape)*shape[1]: // of the whole row before
		row := te.Reduce(name+"_row", d, append([]int{shape[0]}, shape[2:]...), shape[1:2], tir.Lowest(d), tir.Maximum, func(i, k []tir.Expr) tir.Expr {
			return before(append([]tir.Expr{i[0], k[0]}, i[1:]...))
		})
		g.steps = append(g.steps, row)
		update = te.Compute(name+"_update", d, shape, func(i []tir.Expr) tir.Expr {
			return r.combine(row.At(append([]tir.Expr{i[0]}, i[2:]...)...), element(i))
		})
	default:
		update = te.Compute(name+"_update", d, shape, func(i []tir.Expr) tir.Expr { return r.combine(before(i), element(i)) })
	}
	te.Scan(name+"_scan", te.Recurrence{State: state, Init: init, Update: update})
	g.add(state, min(r.most(src.most, 2*shape[0]), exact(d)))
}
