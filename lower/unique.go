package lower

import (
	"github.com/texel-ml/texel/relay"
	"github.com/texel-ml/texel/tensor"
	"github.com/texel-ml/texel/tir"
)

// slicer compares the slices of a tensor along an axis.
type slicer struct {
	read  func(slice, k tir.Expr) tir.Expr // element k, in row-major order, of a slice
	elems int                              // in a slice
	k     variable
	order variable // of the last two compared: 0 equal, 1 the first belongs before, 2 behind
}

func newSlicer(x Operand, axis int) *slicer {
	rest := append(append(tensor.Shape{}, x.Shape[:axis]...), x.Shape[axis+1:]...)
	read := func(slice, k tir.Expr) tir.Expr {
		idx := zeros(len(rest))
		if rest.Elems() > 0 {
			regroup(idx, rest, tensor.Shape{rest.Elems()}, []tir.Expr{k})
		}
		e := x.wide(inserted(idx, axis, slice)...)
		if x.DType == tensor.Bool { // which have an order as numbers
			e = tir.As(tensor.Uint8, e)
		}
		return e
	}
	return &slicer{read: read, elems: rest.Elems(), k: register("element", tensor.Int64), order: register("order", tensor.Int64)}
}

// compare sets order for two slices: by the first element in which they differ.
func (s *slicer) compare(a, b tir.Expr) tir.Stmt {
	x, y := s.read(a, s.k.get()), s.read(b, s.k.get())
	decide := tir.Sel(before(x, y, true), tir.I(1), tir.Sel(before(y, x, true), tir.I(2), tir.I(0)))
	return tir.Block1(s.k.set(tir.I(0)), s.order.set(tir.I(0)),
		&tir.While{Cond: both(tir.Eq(s.order.get(), tir.I(0)), tir.Lt(s.k.get(), tir.I(s.elems))),
			Body: tir.Block1(s.order.set(decide), s.k.set(offset(s.k.get(), 1)))})
}

// lowerUnique sorts the slices, equal ones in their order, so that the first of each run of equal ones is where it occurs
// first. Unless the result is to be sorted, the runs are then numbered by that.
func lowerUnique(s *Site) ([]Operand, error) {
	a := attrs[relay.UniqueAttrs](s)
	x := s.stored(0)
	axis := relay.NormalAxis(a.Axis, len(x.Shape))
	n := x.Shape[axis]
	sorter, slices := newSorter(n), newSlicer(x, axis)
	run, found := temporary("run", tensor.Int64, max(n, 1)), temporary("found", tensor.Int64, max(n, 1))
	number := temporary("number", tensor.Int64, max(n, 1)) // of a run in the result
	count := register("count", tensor.Int64)
	temp := append(sorter.temp(), slices.k.buf, slices.order.buf, run, found, number, count.buf)
	types := make([]*relay.TensorType, 4)
	for i := range types {
		types[i] = s.resultType(i)
	}
	all := tir.I(n)
	return s.Opaque(types, []Operand{x}, temp, func(out []*tir.Buffer) tir.Stmt {
		first, inverse, counts := out[0], out[1], out[2]
		left, right := sorter.next()
		decide := tir.Block1(
			sorter.right.set(tir.Lt(sorter.j.get(), sorter.hi.get())),
			when(both(sorter.right.get(), tir.Lt(sorter.i.get(), sorter.mid.get())),
				slices.compare(right, left), sorter.right.set(tir.Eq(slices.order.get(), tir.I(1)))))
		last := offset(count.get(), -1)
		runs := loop("p", all, func(p tir.Expr) tir.Stmt {
			at := load(sorter.places, p)
			return tir.Block1(
				slices.order.set(tir.I(1)),
				when(tir.Gt(p, tir.I(0)), slices.compare(load(sorter.places, offset(p, -1)), at)),
				when(tir.Ne(slices.order.get(), tir.I(0)), store(found, at, count.get()), store(number, count.get(), count.get()),
					count.set(offset(count.get(), 1))),
				store(run, last, at))
		})
		steps := []tir.Stmt{
			loop("p", all, func(p tir.Expr) tir.Stmt {
				return tir.Block1(store(sorter.places, p, p), store(first, tir.I(-1), p), store(counts, tir.I(0), p))
			}),
			sorter.merge(all, decide), count.set(tir.I(0)), runs,
		}
		if !a.Sorted {
			mine := func(p tir.Expr) tir.Expr { return load(run, p) }
			steps = append(steps, count.set(tir.I(0)), loop("p", all, func(p tir.Expr) tir.Stmt {
				return when(tir.Eq(load(found, mine(p)), p), store(number, count.get(), mine(p)), count.set(offset(count.get(), 1)))
			}))
		}
		steps = append(steps, loop("p", all, func(p tir.Expr) tir.Stmt {
			to := load(inverse, p)
			return tir.Block1(store(inverse, load(number, load(run, p)), p), store(first, load(found, load(run, p)), to),
				store(counts, offset(load(counts, to), 1), to))
		}), store(out[3], count.get(), tir.I(0)))
		return tir.Block1(steps...)
	}), nil
}
