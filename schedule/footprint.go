package schedule

import (
	"github.com/texel-ml/texel/tir"
	"github.com/texel-ml/texel/tir/arith"
)

// Footprint is what one iteration of a loop touches: of each buffer a box, its elements and bytes. A cache that holds the sum
// keeps everything that the iteration uses.
type Footprint struct {
	Loop       string
	Kind       tir.LoopKind
	Depth      int   // loops around it
	Iterations int64 // of the loop; 0 when that is not known
	Buffers    []Touched
	Bytes      int64 // of all buffers
}

// Touched is the part of a buffer that is touched.
type Touched struct {
	Buffer *tir.Buffer
	Elems  int64
	Bytes  int64
}

// Footprints returns the footprint of each loop around a block with statements, in the order of the text.
func Footprints(f *tir.Func) []Footprint {
	var list []Footprint
	at := map[*tir.Var]int{}
	runs := gather(f, nil).runs
	for _, x := range runs {
		for depth, l := range x.loops {
			if _, done := at[l.Var]; done {
				continue
			}
			at[l.Var] = len(list)
			fp := Footprint{Loop: l.Var.Name, Kind: l.Kind, Depth: depth}
			fp.Iterations, _ = tir.AsInt(l.Extent)
			fp.Buffers = touchedInside(runs, l)
			for _, b := range fp.Buffers {
				fp.Bytes += b.Bytes
			}
			list = append(list, fp)
		}
	}
	return list
}

// touchedInside returns what one iteration of loop l touches: of each buffer the box of all accesses inside.
func touchedInside(runs []*instances, l *tir.For) []Touched {
	var order []*tir.Buffer
	boxes := map[*tir.Buffer][]tir.Range{}
	whole := map[*tir.Buffer]bool{}
	for _, x := range runs {
		depth := -1
		a := arith.New()
		over := map[*tir.Var]tir.Range{}
		for i, f := range x.loops {
			a.BindExpr(f.Var, f.Min, f.Extent)
			if f.Var == l.Var {
				depth = i
			} else if depth >= 0 {
				over[f.Var] = tir.Range{Min: f.Min, Extent: f.Extent}
			}
		}
		if depth < 0 {
			continue
		}
		for _, e := range x.effects {
			swept := map[*tir.Var]tir.Range{}
			for v, r := range over {
				swept[v] = r
			}
			for _, v := range e.side.Vars {
				a.Bind(v.Var, v.Min, v.Extent)
				swept[v.Var] = tir.Range{Min: tir.I(int(v.Min)), Extent: tir.I(int(v.Extent))}
			}
			if _, seen := boxes[e.buffer]; !seen {
				order = append(order, e.buffer)
				boxes[e.buffer] = nil
			}
			box, ok := a.Touched(e.side.Map, swept)
			switch {
			case !ok:
				whole[e.buffer] = true
			case boxes[e.buffer] == nil:
				boxes[e.buffer] = box
			default:
				if boxes[e.buffer], ok = a.Union(boxes[e.buffer], box); !ok {
					whole[e.buffer] = true
				}
			}
		}
	}
	out := make([]Touched, len(order))
	for i, b := range order {
		out[i] = Touched{Buffer: b, Elems: elemsOf(b, boxes[b], whole[b])}
		out[i].Bytes = (out[i].Elems*int64(b.DType.Bits()) + 7) / 8
	}
	return out
}

// elemsOf is the number of elements of a box, at most those of the buffer.
func elemsOf(b *tir.Buffer, box []tir.Range, whole bool) int64 {
	n := int64(1)
	for axis, size := range b.Shape {
		extent := int64(size)
		if !whole && axis < len(box) {
			if e, ok := tir.AsInt(box[axis].Extent); ok {
				extent = min(extent, e)
			}
		}
		n *= extent
	}
	return n
}
