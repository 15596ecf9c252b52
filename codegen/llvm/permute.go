package llvm

import (
	"fmt"
	"slices"
	"strings"

	"github.com/texel-ml/texel/tir"
)

// A load whose lanes lie at constant distances from each other, such as the channels of a shuffle, repeated pixels or
// every third element, is put together of a few vector loads and shuffles.

// permuted returns a load of several lanes in that form, or nil when it would take more than one vector for four lanes.
func (e *emitter) permuted(b *tir.Buffer, m *memory, indices []tir.Expr, lanes int) *val {
	if lanes < 4 {
		return nil
	}
	base, at, ok := e.steadyOffsets(b, indices, lanes)
	if !ok {
		return nil
	}
	least, most := slices.Min(at), slices.Max(at)
	width := min(int64(lanes), most-least+1)
	var starts []int64 // of windows inside [least, most], which holds only elements of the buffer
	for _, o := range slices.Sorted(slices.Values(at)) {
		if k := len(starts); k == 0 || o >= starts[k-1]+width {
			starts = append(starts, min(o, most-width+1))
		}
	}
	if 4*len(starts) > lanes {
		return nil
	}
	if width == 1 {
		return e.broadcast(e.fetch(b, m, base.plus(linear{c: least}, 1), m.elem), lanes)
	}
	window := vec(m.elem, int(width))
	t := vec(m.elem, lanes)
	var out *val
	for k, start := range starts {
		w := e.fetch(b, m, base.plus(linear{c: start}, 1), window)
		first := out == nil
		if !first {
			w = e.widen(w, lanes)
		}
		pick := make([]string, lanes)
		for i, o := range at {
			mine := o >= start && o < start+width && (k == 0 || o >= starts[k-1]+width)
			switch {
			case mine && first:
				pick[i] = fmt.Sprintf("i32 %d", o-start)
			case mine:
				pick[i] = fmt.Sprintf("i32 %d", int64(lanes)+o-start)
			case first:
				pick[i] = "i32 poison"
			default:
				pick[i] = fmt.Sprintf("i32 %d", i)
			}
		}
		mask := fmt.Sprintf("<%d x i32> <%s>", lanes, strings.Join(pick, ", "))
		if first {
			out = e.op(t, fmt.Sprintf("shufflevector $0, %s poison, %s", window, mask), w)
		} else {
			out = e.op(t, "shufflevector $0, $1, "+mask, out, w)
		}
	}
	return out
}

// steadyOffsets takes the place of several lanes in a buffer apart into a scalar and what each lane adds to it.
func (e *emitter) steadyOffsets(b *tir.Buffer, indices []tir.Expr, lanes int) (base linear, at []int64, ok bool) {
	at = make([]int64, lanes)
	for d, step := range b.StrideList() {
		from, offsets, ok := e.steadyLanes(indices[d], lanes)
		if !ok {
			return linear{}, nil, false
		}
		base = base.plus(from, int64(step))
		for i, o := range offsets {
			at[i] += o * int64(step)
		}
	}
	return base, at, true
}

// inside reports whether all lanes certainly lie in the buffer, so that a load needs no mask.
func (e *emitter) inside(b *tir.Buffer, indices []tir.Expr, lanes int) bool {
	base, at, ok := e.steadyOffsets(b, indices, lanes)
	if !ok {
		return false
	}
	lo, hi := base.bounds()
	last := int64(bufferBytes(b) / max(1, b.DType.Bits()/8))
	low, okLow := addOK(lo, slices.Min(at))
	high, okHigh := addOK(hi, slices.Max(at))
	return okLow && okHigh && low >= 0 && high < last
}

// steadyLanes takes an index of several lanes apart into a scalar and what each lane adds to it, where that is constant.
func (e *emitter) steadyLanes(x tir.Expr, lanes int) (base linear, offsets []int64, ok bool) {
	offsets = make([]int64, lanes)
	if x.Type().Lanes == 1 {
		return linearOf(e.expr(x)), offsets, true
	}
	switch x := x.(type) {
	case *tir.Broadcast:
		return linearOf(e.expr(x.A)), offsets, true
	case *tir.Ramp:
		step, isConst := tir.AsInt(x.Stride)
		for i := range offsets {
			offsets[i] = int64(i) * step
		}
		return linearOf(e.expr(x.Base)), offsets, isConst
	case *tir.Binary:
		return e.steadyBinary(x, lanes)
	}
	return linear{}, nil, false
}

func (e *emitter) steadyBinary(x *tir.Binary, lanes int) (base linear, offsets []int64, ok bool) {
	a, left, okA := e.steadyLanes(x.A, lanes)
	b, right, okB := e.steadyLanes(x.B, lanes)
	if !okA || !okB {
		return linear{}, nil, false
	}
	offsets = make([]int64, lanes)
	switch x.Op {
	case tir.Add, tir.Sub:
		sign := int64(1)
		if x.Op == tir.Sub {
			sign = -1
		}
		for i := range offsets {
			offsets[i] = left[i] + sign*right[i]
		}
		return a.plus(b, sign), offsets, true
	case tir.Mul:
		if a.isConst() && constantLanes(left) {
			a, left, b, right = b, right, a, left
		}
		if !b.isConst() || !constantLanes(right) {
			return linear{}, nil, false
		}
		k := b.c + right[0]
		for i := range offsets {
			offsets[i] = left[i] * k
		}
		return a.times(k), offsets, true
	case tir.FloorDiv, tir.FloorMod:
		d := b.c + right[0]
		if !a.isConst() || !b.isConst() || !constantLanes(right) || d <= 0 {
			return linear{}, nil, false
		}
		for i := range offsets {
			n := a.c + left[i]
			if offsets[i] = floorDiv(n, d); x.Op == tir.FloorMod {
				offsets[i] = n - offsets[i]*d
			}
		}
		return linear{}, offsets, true
	}
	return linear{}, nil, false
}

func constantLanes(offsets []int64) bool {
	return !slices.ContainsFunc(offsets, func(o int64) bool { return o != offsets[0] })
}
