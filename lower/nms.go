package lower

import (
	"math"

	"github.com/texel-ml/texel/relay"
	"github.com/texel-ml/texel/tensor"
	"github.com/texel-ml/texel/tir"
)

var visionRules = map[string]OpRule{"nms": lowerNonMaxSuppression}

// lowerNonMaxSuppression takes the boxes of each batch and class above the score threshold, sorts them by score, and goes
// through them once, comparing each with those taken before. Boxes are compared in float64, so that a box right at the
// threshold is treated as the reference treats it.
func lowerNonMaxSuppression(s *Site) ([]Operand, error) {
	a := attrs[relay.NonMaxSuppressionAttrs](s)
	boxes, scores := s.stored(0), s.stored(1)
	n := boxes.Shape[1]
	room := min(n, a.MostBoxes)
	read := []Operand{boxes, scores}
	for _, limit := range s.In[2:] {
		if limit.Scalar == nil {
			read = append(read, limit)
		}
	}
	most := tir.Minimum(s.In[2].At(), tir.I(room))
	iou, least := tir.As(tensor.Float64, s.In[3].At()), tir.As(tensor.Float64, s.In[4].At())
	above := func(score tir.Expr) tir.Expr {
		enough, every := tir.Gt(tir.As(tensor.Float64, score), least), tir.Eq(least, num(tensor.Float64, math.Inf(-1)))
		if known, ok := s.In[4].Scalar.(*tir.Float); ok {
			if math.IsInf(known.Value, -1) {
				return tir.True
			}
			return enough
		}
		return either(every, enough)
	}
	rows := s.resultType(0)
	index := func(name string) variable { return register(name, tensor.Int64) }
	count, found, at, taken, q := index("count"), index("found"), index("at"), index("taken"), index("q")
	free := register("free", tensor.Bool)
	sorter := newSorter(n)
	kept := temporary("kept", tensor.Float64, max(room, 1), 4)
	box := make([]variable, 4)
	temp := append(sorter.temp(), kept, count.buf, found.buf, at.buf, taken.buf, q.buf, free.buf)
	for k, name := range []string{"top", "left", "bottom", "right"} {
		box[k] = register(name, tensor.Float64)
		temp = append(temp, box[k].buf)
	}
	next := func(v variable) tir.Stmt { return v.set(offset(v.get(), 1)) }
	types := []*relay.TensorType{rows, s.resultType(1)}
	return s.Opaque(types, read, temp, func(out []*tir.Buffer) tir.Stmt {
		class := func(i []tir.Expr) tir.Stmt { // i: batch, class
			score := func(p tir.Expr) tir.Expr { return scores.wide(i[0], i[1], p) }
			candidates := loop("p", tir.I(n), func(p tir.Expr) tir.Stmt {
				return when(above(score(p)), store(sorter.places, p, found.get()), next(found))
			})
			candidate := load(sorter.places, at.get())
			four := corners(func(k int) tir.Expr { return tir.As(tensor.Float64, boxes.At(i[0], candidate, tir.I(k))) }, a.CenterPointBox)
			var held [4]tir.Expr
			var body []tir.Stmt
			for k := range box {
				held[k] = box[k].get()
				body = append(body, box[k].set(four[k]))
			}
			var other [4]tir.Expr
			for k := range other {
				other[k] = load(kept, q.get(), tir.I(k))
			}
			over := tir.Gt(overlap(other, held), iou)
			body = append(body, free.set(tir.True), q.set(tir.I(0)),
				&tir.While{Cond: both(free.get(), tir.Lt(q.get(), taken.get())), Body: tir.Block1(when(over, free.set(tir.False)), next(q))})
			take := []tir.Stmt{}
			for k := range box {
				take = append(take, store(kept, held[k], taken.get(), tir.I(k)))
			}
			take = append(take, store(out[0], i[0], count.get(), tir.I(0)), store(out[0], i[1], count.get(), tir.I(1)),
				store(out[0], candidate, count.get(), tir.I(2)), next(taken), next(count))
			body = append(body, when(free.get(), take...), next(at))
			going := both(tir.Lt(at.get(), found.get()), tir.Lt(taken.get(), most))
			return tir.Block1(found.set(tir.I(0)), candidates, sorter.sort(found.get(), score, false), at.set(tir.I(0)),
				taken.set(tir.I(0)), &tir.While{Cond: going, Body: tir.Block1(body...)})
		}
		return tir.Block1(
			nest(rows.Shape, func(i []tir.Expr) tir.Stmt { return store(out[0], tir.I(-1), i...) }),
			count.set(tir.I(0)),
			nest(scores.Shape[:2], class),
			store(out[1], count.get(), tir.I(0)))
	}), nil
}

// corners returns a box as its least y and x and its largest y and x.
func corners(b func(k int) tir.Expr, center bool) [4]tir.Expr {
	if !center {
		return [4]tir.Expr{tir.Minimum(b(0), b(2)), tir.Minimum(b(1), b(3)), tir.Maximum(b(0), b(2)), tir.Maximum(b(1), b(3))}
	}
	half := func(e tir.Expr) tir.Expr { return tir.Times(e, like(e, 0.5)) }
	x, y, w, h := b(0), b(1), half(b(2)), half(b(3))
	return [4]tir.Expr{tir.Minus(y, h), tir.Minus(x, w), tir.Plus(y, h), tir.Plus(x, w)}
}

// overlap returns intersection over union of two boxes; 0 when either is empty.
func overlap(a, b [4]tir.Expr) tir.Expr {
	zero := num(tensor.Float64, 0)
	side := func(k int) tir.Expr {
		return tir.Maximum(tir.Minus(tir.Minimum(a[k+2], b[k+2]), tir.Maximum(a[k], b[k])), zero)
	}
	area := func(c [4]tir.Expr) tir.Expr { return tir.Times(tir.Minus(c[2], c[0]), tir.Minus(c[3], c[1])) }
	shared := tir.Times(side(0), side(1))
	none := either(tir.Bin(tir.LE, area(a), zero), tir.Bin(tir.LE, area(b), zero))
	return tir.Sel(none, zero, tir.Over(shared, tir.Minus(tir.Plus(area(a), area(b)), shared)))
}
