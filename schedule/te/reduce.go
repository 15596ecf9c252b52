package te

import (
	"fmt"
	"math"
	"slices"

	"github.com/texel-ml/texel/tensor"
	"github.com/texel-ml/texel/tir"
)

// A reduction over a box without a point, one with an axis of extent 0, gives its initial value.

// Reduce returns the stage whose element at i starts as init and is folded by combine(accumulator, f(i, r)) over all
// r in the box of extents; combine must be associative and commutative.
func Reduce(name string, d tensor.DType, shape, extents []int, init tir.Expr, combine func(acc, x tir.Expr) tir.Expr,
	f func(i, r []tir.Expr) tir.Expr) *Tensor {
	def := define("", []string{name}, []tensor.DType{d}, shape)
	spatial := def.axes("i", shape, tir.Spatial)
	reduce := def.axes("r", extents, tir.Reduce)
	def.init = []tir.Expr{init}
	def.setValues(combine(def.outs[0].At(spatial...), f(spatial, reduce)))
	return def.outs[0]
}

// Where limits the reduction t to the instances where cond(i, r) holds, and returns t; of several results, it limits all.
// What the other instances would read need not exist.
func (t *Tensor) Where(cond func(i, r []tir.Expr) tir.Expr) *Tensor {
	if t.def == nil || t.def.init == nil {
		if t.def == nil { // the error has a place only in a definition
			t.def = &definition{outs: []*Tensor{t}}
		}
		t.def.fail("it is limited by a condition but is no reduction")
		return t
	}
	t.def.where = cond(t.def.vars())
	return t
}

// Sum is Reduce by addition, from 0.
func Sum(name string, d tensor.DType, shape, extents []int, f func(i, r []tir.Expr) tir.Expr) *Tensor {
	return Reduce(name, d, shape, extents, tir.Const(d, 0), tir.Plus, f)
}

// Prod is Reduce by multiplication, from 1.
func Prod(name string, d tensor.DType, shape, extents []int, f func(i, r []tir.Expr) tir.Expr) *Tensor {
	return Reduce(name, d, shape, extents, tir.Const(d, 1), tir.Times, f)
}

// Max is Reduce to the largest element, from the least value of the type (minus infinity). A NaN among floats gives NaN;
// the largest of bools is their disjunction.
func Max(name string, d tensor.DType, shape, extents []int, f func(i, r []tir.Expr) tir.Expr) *Tensor {
	combine := tir.Maximum
	if d == tensor.Bool {
		combine = func(a, b tir.Expr) tir.Expr { return tir.Bin(tir.Or, a, b) }
	}
	return Reduce(name, d, shape, extents, tir.Lowest(d), combine, f)
}

// Min is Reduce to the least element, from the largest value of the type (infinity). A NaN among floats gives NaN; the
// least of bools is their conjunction.
func Min(name string, d tensor.DType, shape, extents []int, f func(i, r []tir.Expr) tir.Expr) *Tensor {
	combine := tir.Minimum
	if d == tensor.Bool {
		combine = func(a, b tir.Expr) tir.Expr { return tir.Bin(tir.And, a, b) }
	}
	return Reduce(name, d, shape, extents, tir.Highest(d), combine, f)
}

// CommReducer folds values, or tuples of values, by an operation that is associative and commutative: the order in which
// elements are combined is the schedule's. That it is, is for the writer to know.
type CommReducer struct {
	// Identity returns a tuple of the given types that changes nothing it is combined with.
	Identity func(ds []tensor.DType) []tir.Expr
	// Combine returns the tuple that x and y make, component by component.
	Combine func(x, y []tir.Expr) []tir.Expr
}

// term is a component of the tuple that a reduction folds in: a variable, which the combination names, and its value.
type term struct {
	v     *tir.Var
	value tir.Expr
}

// Reduce returns the results of a stage that folds the tuples f(i, r) over all r in the box of extents, one result for
// each type of ds. They are named as those of ComputeMany, and so is their block, whose body has the form
//
//	let x0 = f₀(i, r): let x1 = f₁(i, r):
//	  let n0 = combine₀((acc0[i], acc1[i]), (x0, x1)): let n1 = combine₁(…):
//	    acc0[i] = n0
//	    acc1[i] = n1
//
// so that all components are read before one is written. A single value is stored without a let, and its block has the
// name of the result.
func (c CommReducer) Reduce(name string, ds []tensor.DType, shape, extents []int, f func(i, r []tir.Expr) []tir.Expr) []*Tensor {
	def := define(name, resultNames(name, len(ds)), ds, shape)
	if len(ds) == 1 {
		def.name, def.outs[0].Buffer.Name = "", name
	}
	spatial := def.axes("i", shape, tir.Spatial)
	reduce := def.axes("r", extents, tir.Reduce)
	if c.Identity == nil || c.Combine == nil {
		def.fail("its reducer has no identity or no combination")
		return def.outs
	}
	def.init = c.Identity(ds)
	x := slices.Clone(f(spatial, reduce))
	if !def.typed("element", x) {
		return def.outs
	}
	acc := make([]tir.Expr, len(ds))
	for n, t := range def.outs {
		acc[n] = t.At(spatial...)
	}
	if len(ds) > 1 {
		for n, e := range x {
			v := &tir.Var{Name: fmt.Sprintf("x%d", n), DType: ds[n]}
			def.terms = append(def.terms, term{v, e})
			x[n] = v
		}
	}
	def.setValues(c.Combine(acc, x)...)
	return def.outs
}

// ArgMax returns the place of the largest element and the element itself: the place is of type index and counts the box
// of extents in row-major order.
//
// Elements are ordered as numbers, with NaN above all of them; among equal ones the smallest place wins, whatever the
// order in which they are combined. So the first NaN is the largest element where there is one. -0 equals 0, and the
// value is that of the place. Over no element, the place is the largest value of its type.
func ArgMax(name string, index, d tensor.DType, shape, extents []int, f func(i, r []tir.Expr) tir.Expr) (place, value *Tensor) {
	return argReduce(name, index, d, shape, extents, tir.Lowest(d), above, f)
}

// ArgMin returns the place of the least element and the element itself; see ArgMax. NaN is above all numbers here too:
// it is the least element only where there is nothing else.
func ArgMin(name string, index, d tensor.DType, shape, extents []int, f func(i, r []tir.Expr) tir.Expr) (place, value *Tensor) {
	worst := tir.Highest(d)
	if d.IsFloat() {
		worst = &tir.Float{DType: d, Value: math.NaN()}
	}
	return argReduce(name, index, d, shape, extents, worst, func(a, b tir.Expr) tir.Expr { return above(b, a) }, f)
}

// above reports a > b in the order with NaN above all numbers.
func above(a, b tir.Expr) tir.Expr {
	if !a.Type().DType.IsFloat() {
		return tir.Gt(a, b)
	}
	return tir.Any(tir.Gt(a, b), tir.All(tir.IsNaN.Of(a), tir.Negate(tir.IsNaN.Of(b))))
}

// argReduce folds pairs of place and element: the better element, and of equal ones that at the smaller place. better is
// a strict weak order, so that the fold is associative and commutative; its identity is the worst element at the last
// place.
func argReduce(name string, index, d tensor.DType, shape, extents []int, worst tir.Expr, better func(a, b tir.Expr) tir.Expr,
	f func(i, r []tir.Expr) tir.Expr) (place, value *Tensor) {
	best := CommReducer{
		Identity: func([]tensor.DType) []tir.Expr { return []tir.Expr{tir.Highest(index), worst} },
		Combine: func(x, y []tir.Expr) []tir.Expr {
			take := tir.Any(better(y[1], x[1]), tir.All(tir.Negate(better(x[1], y[1])), tir.Lt(y[0], x[0])))
			return []tir.Expr{tir.Sel(take, y[0], x[0]), tir.Sel(take, y[1], x[1])}
		},
	}
	out := best.Reduce(name, []tensor.DType{index, d}, shape, extents, func(i, r []tir.Expr) []tir.Expr {
		return []tir.Expr{tir.As(index, rowMajor(r, extents)), f(i, r)}
	})
	switch n := tensor.Shape(extents).Elems(); {
	case !index.IsInt():
		out[0].def.fail("the place is %v, wanted an integer", index)
	case n > 0 && index.Bits() < 64 && !fits(index, n-1):
		out[0].def.fail("the place of one of %d elements does not fit into %v", n, index)
	}
	return out[0], out[1]
}

func fits(d tensor.DType, n int) bool {
	_, most := tensor.IntRange(d)
	return int64(n) <= most
}

// rowMajor returns the number of a point of a box, the last axis counting fastest.
func rowMajor(at []tir.Expr, extents []int) tir.Expr {
	var n tir.Expr = tir.I(0)
	for axis, e := range at {
		n = tir.Plus(tir.Times(n, tir.I(extents[axis])), e)
	}
	return n
}
