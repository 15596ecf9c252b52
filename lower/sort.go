package lower

import (
	"github.com/texel-ml/texel/relay"
	"github.com/texel-ml/texel/tensor"
	"github.com/texel-ml/texel/tir"
)

var sortRules = map[string]OpRule{"sort": lowerSort, "unique": lowerUnique}

// before reports that value a stands before b: below it when ascending, above it otherwise. NaN is larger than any number.
func before(a, b tir.Expr, ascend bool) tir.Expr {
	if !ascend {
		a, b = b, a
	}
	first := tir.Lt(a, b)
	if a.Type().DType.IsFloat() {
		first = either(first, both(&tir.Not{A: fn(tir.IsNaN, a)}, fn(tir.IsNaN, b)))
	}
	return first
}

// sorter holds what sorting a line of places needs.
type sorter struct {
	places, other                *tir.Buffer // the order so far, and room to merge into
	width, lo, mid, hi, i, j, k_ variable
	right                        variable
}

func newSorter(n int) *sorter {
	index := func(name string) variable { return register(name, tensor.Int64) }
	return &sorter{
		places: temporary("places", tensor.Int64, max(n, 1)), other: temporary("other", tensor.Int64, max(n, 1)),
		width: index("width"), lo: index("lo"), mid: index("mid"), hi: index("hi"), i: index("i"), j: index("j"), k_: index("k"),
		right: register("right", tensor.Bool),
	}
}

func (s *sorter) temp() []*tir.Buffer {
	list := []*tir.Buffer{s.places, s.other}
	for _, v := range []variable{s.width, s.lo, s.mid, s.hi, s.i, s.j, s.k_, s.right} {
		list = append(list, v.buf)
	}
	return list
}

// sort orders the first n places by their keys; equal ones stay in their order.
func (s *sorter) sort(n tir.Expr, key func(at tir.Expr) tir.Expr, ascend bool) tir.Stmt {
	left, right := s.next()
	return s.merge(n, s.right.set(both(tir.Lt(s.j.get(), s.hi.get()),
		either(tir.Bin(tir.GE, s.i.get(), s.mid.get()), before(key(right), key(left), ascend)))))
}

// next returns the places at the front of the two runs that are merged.
func (s *sorter) next() (left, right tir.Expr) {
	return load(s.places, s.i.get()), load(s.places, s.j.get())
}

// merge merges runs of 1, 2, 4, … of the first n places. decide sets right where the next one comes from the right run:
// where that is not empty, and the left one is or the place at its front belongs behind.
func (s *sorter) merge(n tir.Expr, decide tir.Stmt) tir.Stmt {
	next := func(v variable) tir.Stmt { return v.set(offset(v.get(), 1)) }
	left, right := s.next()
	step := tir.Block1(
		decide,
		&tir.If{Cond: s.right.get(),
			Then: tir.Block1(store(s.other, right, s.k_.get()), next(s.j)),
			Else: tir.Block1(store(s.other, left, s.k_.get()), next(s.i))},
		next(s.k_))
	merge := tir.Block1(
		s.mid.set(tir.Minimum(tir.Plus(s.lo.get(), s.width.get()), n)),
		s.hi.set(tir.Minimum(tir.Plus(s.mid.get(), s.width.get()), n)),
		s.i.set(s.lo.get()), s.j.set(s.mid.get()), s.k_.set(s.lo.get()),
		&tir.While{Cond: tir.Lt(s.k_.get(), s.hi.get()), Body: step},
		s.lo.set(s.hi.get()))
	round := tir.Block1(
		s.lo.set(tir.I(0)),
		&tir.While{Cond: tir.Lt(s.lo.get(), n), Body: merge},
		loop("c", n, func(c tir.Expr) tir.Stmt { return store(s.places, load(s.other, c), c) }),
		s.width.set(scaled(s.width.get(), 2)))
	return tir.Block1(s.width.set(tir.I(1)), &tir.While{Cond: tir.Lt(s.width.get(), n), Body: round})
}

// few finds the first k of n places without sorting the others: those found so far are kept in order, and a new one is
// moved down to its place.
func (s *sorter) few(n, k int, key func(at tir.Expr) tir.Expr, ascend bool) tir.Stmt {
	at := func(e tir.Expr) tir.Expr { return key(load(s.places, e)) }
	return tir.Block1(s.k_.set(tir.I(0)), loop("n", tir.I(n), func(i tir.Expr) tir.Stmt {
		last := offset(s.j.get(), -1)
		moving := both(tir.Gt(s.j.get(), tir.I(0)), before(key(i), at(last), ascend))
		full := tir.Bin(tir.GE, s.k_.get(), tir.I(k))
		return when(either(&tir.Not{A: full}, before(key(i), at(tir.I(k-1)), ascend)),
			&tir.If{Cond: full, Then: s.j.set(tir.I(k - 1)), Else: tir.Block1(s.j.set(s.k_.get()), s.k_.set(offset(s.k_.get(), 1)))},
			&tir.While{Cond: moving, Body: tir.Block1(store(s.places, load(s.places, last), s.j.get()), s.j.set(last))},
			store(s.places, i, s.j.get()))
	}))
}

// lowerSort defines sort, argsort and topk: each line along the axis is sorted by places.
func lowerSort(s *Site) ([]Operand, error) {
	x := s.stored(0)
	rank := len(x.Shape)
	outs := []*relay.TensorType{}
	var axis, k int
	var ascend, values, places bool
	switch a := s.Call.Attrs.(type) {
	case *relay.SortAttrs:
		axis, ascend = relay.NormalAxis(a.Axis, rank), a.IsAscend
		k, values = x.Shape[axis], s.Call.Op.Name == "sort"
		places = !values
		outs = append(outs, s.Out())
	case *relay.TopKAttrs:
		axis, ascend, k = relay.NormalAxis(a.Axis, rank), a.IsAscend, a.K
		values, places = true, true
		outs = append(outs, s.resultType(0), s.resultType(1))
	}
	n := x.Shape[axis]
	rest := append(append(tensor.Shape{}, x.Shape[:axis]...), x.Shape[axis+1:]...)
	sorter := newSorter(n)
	return s.Opaque(outs, []Operand{x}, sorter.temp(), func(out []*tir.Buffer) tir.Stmt {
		return nest(rest, func(i []tir.Expr) tir.Stmt {
			key := func(at tir.Expr) tir.Expr { return x.wide(inserted(i, axis, at)...) }
			write := loop("w", tir.I(k), func(w tir.Expr) tir.Stmt {
				var list []tir.Stmt
				from, to := load(sorter.places, w), inserted(i, axis, w)
				if values {
					list = append(list, store(out[0], x.At(inserted(i, axis, from)...), to...))
				}
				if places {
					b := out[len(out)-1]
					list = append(list, store(b, tir.As(b.DType, from), to...))
				}
				return tir.Block1(list...)
			})
			if few := 64; k > 0 && k <= few && k < n {
				return tir.Block1(sorter.few(n, k, key, ascend), write)
			}
			numbered := loop("p", tir.I(n), func(p tir.Expr) tir.Stmt { return store(sorter.places, p, p) })
			return tir.Block1(numbered, sorter.sort(tir.I(n), key, ascend), write)
		})
	}), nil
}
