package lower

import (
	"github.com/texel-ml/texel/relay"
	"github.com/texel-ml/texel/tensor"
	"github.com/texel-ml/texel/tir"
)

// Operators that read elements at computed places.
var indexRules = map[string]OpRule{"gather": lowerGather, "scatter": lowerScatter, "nonzero": lowerArgwhere}

// counted returns a place along an axis of extent n: a negative one counts from the end.
func counted(at tir.Expr, n int) tir.Expr { return tir.Sel(tir.Lt(at, tir.I(0)), offset(at, n), at) }

// clamped returns counted(at, n), moved into [0, n).
func clamped(at tir.Expr, n int) tir.Expr {
	return tir.Minimum(tir.Maximum(counted(at, n), tir.I(0)), tir.I(max(n-1, 0)))
}

// lowerGather defines take, gather, gather_nd and reverse_sequence.
func lowerGather(s *Site) ([]Operand, error) {
	x, idx := s.In[0], s.In[1]
	switch a := s.Call.Attrs.(type) {
	case *relay.TakeAttrs:
		axis, rank := relay.NormalAxis(a.Axis, len(x.Shape)), len(idx.Shape)
		n := x.Shape[axis]
		return moved(s, func(i []tir.Expr) []tir.Expr {
			at := toIndex(idx.At(i[axis : axis+rank]...))
			if a.Mode == "wrap" && n > 0 {
				at = floorMod(at, n)
			} else {
				at = clamped(at, n)
			}
			return append(append(append([]tir.Expr{}, i[:axis]...), at), i[axis+rank:]...)
		})
	case *relay.AxisAttrs:
		axis := relay.NormalAxis(a.Axis, len(x.Shape))
		return moved(s, func(i []tir.Expr) []tir.Expr {
			return with(i, axis, clamped(toIndex(idx.At(i...)), x.Shape[axis]))
		})
	case *relay.GatherNDAttrs:
		m, y := idx.Shape[0], len(idx.Shape)-1
		return moved(s, func(i []tir.Expr) []tir.Expr {
			at := append([]tir.Expr{}, i[:a.BatchDims]...)
			for k := range m {
				place := toIndex(idx.At(append([]tir.Expr{tir.I(k)}, i[:y]...)...))
				at = append(at, clamped(place, x.Shape[a.BatchDims+k]))
			}
			return append(at, i[y:]...)
		})
	}
	a := attrs[relay.ReverseSequenceAttrs](s)
	seq, batch := relay.NormalAxis(a.SeqAxis, len(x.Shape)), relay.NormalAxis(a.BatchAxis, len(x.Shape))
	return moved(s, func(i []tir.Expr) []tir.Expr {
		n := tir.Minimum(toIndex(idx.At(i[batch])), tir.I(x.Shape[seq]))
		return with(i, seq, tir.Sel(tir.Lt(i[seq], n), tir.Minus(offset(n, -1), i[seq]), i[seq]))
	})
}

// lowerScatter defines scatter_elements and scatter_nd: a copy of data, then one update after the other.
func lowerScatter(s *Site) ([]Operand, error) {
	ins := []Operand{s.stored(0), s.stored(1), s.stored(2)}
	data, idx, updates := ins[0], ins[1], ins[2]
	var place func(u []tir.Expr) (at []tir.Expr, checked []int)
	var mode string
	switch a := s.Call.Attrs.(type) {
	case *relay.ScatterElementsAttrs:
		mode = a.Reduction
		axis := relay.NormalAxis(a.Axis, len(data.Shape))
		place = func(u []tir.Expr) ([]tir.Expr, []int) {
			return with(u, axis, counted(toIndex(idx.At(u...)), data.Shape[axis])), []int{axis}
		}
	case *relay.ScatterNDAttrs:
		mode = a.Mode
		m, y := idx.Shape[0], len(idx.Shape)-1
		place = func(u []tir.Expr) (at []tir.Expr, checked []int) {
			for k := range m {
				e := toIndex(idx.At(append([]tir.Expr{tir.I(k)}, u[:y]...)...))
				at, checked = append(at, counted(e, data.Shape[k])), append(checked, k)
			}
			return append(at, u[y:]...), checked
		}
	}
	return s.opaque1(ins, nil, func(out *tir.Buffer) tir.Stmt {
		copied := nest(data.Shape, func(i []tir.Expr) tir.Stmt { return store(out, data.At(i...), i...) })
		updated := nest(updates.Shape, func(u []tir.Expr) tir.Stmt {
			at, checked := place(u)
			named := make([]*tir.Var, len(at))
			values := append([]tir.Expr{}, at...)
			var inside tir.Expr
			for _, axis := range checked {
				named[axis] = tir.NewVar("at")
				at[axis] = named[axis]
				inside = tir.All(inside, within(at[axis], data.Shape[axis]))
			}
			st := store(out, joined(mode, load(out, at...), updates.At(u...)), at...)
			if inside != nil {
				st = when(inside, st)
			}
			for _, axis := range checked {
				st = &tir.Let{Var: named[axis], Value: values[axis], Body: st}
			}
			return st
		})
		return tir.Block1(copied, updated)
	})
}

// joined returns what an update makes of an element.
func joined(mode string, old, update tir.Expr) tir.Expr {
	op, ok := map[string]tir.BinaryOp{"add": tir.Add, "mul": tir.Mul, "min": tir.Min, "max": tir.Max}[mode]
	if !ok {
		return update
	}
	return tir.As(update.Type().DType, tir.Bin(op, widened(old), widened(update)))
}

// lowerArgwhere walks the elements in order and notes where one is not 0.
func lowerArgwhere(s *Site) ([]Operand, error) {
	x := s.stored(0)
	shape := s.resultType(0).Shape
	count := register("count", tensor.Int64)
	types := []*relay.TensorType{s.resultType(0), s.resultType(1)}
	return s.Opaque(types, []Operand{x}, []*tir.Buffer{count.buf}, func(out []*tir.Buffer) tir.Stmt {
		noted := nest(x.Shape, func(i []tir.Expr) tir.Stmt {
			body := make([]tir.Stmt, 0, len(i)+1)
			for n, e := range i {
				body = append(body, store(out[0], e, count.get(), tir.I(n)))
			}
			body = append(body, count.set(offset(count.get(), 1)))
			return when(tir.Bin(tir.NE, x.wide(i...), num(working(x.DType), 0)), body...)
		})
		return tir.Block1(
			nest(shape, func(i []tir.Expr) tir.Stmt { return store(out[0], tir.I(-1), i...) }),
			count.set(tir.I(0)), noted, store(out[1], count.get(), tir.I(0)))
	}), nil
}
