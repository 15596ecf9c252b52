package tir

import (
	"math"
	"slices"
)

// Whole returns the region that covers all of b.
func Whole(b *Buffer) Region {
	r := Region{Buffer: b}
	for _, d := range b.Shape {
		r.Ranges = append(r.Ranges, Range{I(0), I(d)})
	}
	return r
}

// Point returns the region of one element.
func Point(b *Buffer, indices []Expr) Region {
	r := Region{Buffer: b}
	for _, i := range indices {
		r.Ranges = append(r.Ranges, Range{i, I(1)})
	}
	return r
}

// Accesses returns the regions that a block without inner loops reads and writes, one point for each distinct access,
// in order of appearance. What a block reads where it also writes, as a reduction does, is left out: it is in the writes.
func Accesses(b *Block) (reads, writes []Region) {
	add := func(list []Region, buf *Buffer, idx []Expr) []Region {
		for _, r := range list {
			if r.Buffer == buf && samePoint(r, idx) {
				return list
			}
		}
		return append(list, Point(buf, idx))
	}
	note := func(s Stmt) {
		if s == nil {
			return
		}
		Walk(s, func(n any) bool {
			if st, ok := n.(*Store); ok {
				writes = add(writes, st.Buffer, st.Indices)
			}
			return true
		})
	}
	note(b.Init)
	note(b.Body)
	for _, s := range []Stmt{b.Init, b.Body} {
		if s == nil {
			continue
		}
		Walk(s, func(n any) bool {
			if l, ok := n.(*Load); ok && !slices.ContainsFunc(writes, func(w Region) bool { return w.Buffer == l.Buffer && samePoint(w, l.Indices) }) {
				reads = add(reads, l.Buffer, l.Indices)
			}
			return true
		})
	}
	return reads, writes
}

func samePoint(r Region, idx []Expr) bool {
	for i := range idx {
		if !Equal(r.Ranges[i].Min, idx[i]) {
			return false
		}
	}
	return true
}

// Equal reports whether two expressions are the same tree: variables and buffers by identity, constants by their bits.
func Equal(a, b Expr) bool {
	if a == b {
		return true
	}
	if a == nil || b == nil {
		return false
	}
	list := func(x, y []Expr) bool {
		if len(x) != len(y) {
			return false
		}
		for i := range x {
			if !Equal(x[i], y[i]) {
				return false
			}
		}
		return true
	}
	switch a := a.(type) {
	case *Int:
		b, ok := b.(*Int)
		return ok && *a == *b
	case *Float:
		b, ok := b.(*Float)
		return ok && a.DType == b.DType && math.Float64bits(a.Value) == math.Float64bits(b.Value)
	case *Binary:
		b, ok := b.(*Binary)
		return ok && a.Op == b.Op && Equal(a.A, b.A) && Equal(a.B, b.B)
	case *Not:
		b, ok := b.(*Not)
		return ok && Equal(a.A, b.A)
	case *Select:
		b, ok := b.(*Select)
		return ok && Equal(a.Cond, b.Cond) && Equal(a.Then, b.Then) && Equal(a.Else, b.Else)
	case *Cast:
		b, ok := b.(*Cast)
		return ok && a.DType == b.DType && Equal(a.A, b.A)
	case *Load:
		b, ok := b.(*Load)
		return ok && a.Buffer == b.Buffer && list(a.Indices, b.Indices)
	case *Call:
		b, ok := b.(*Call)
		return ok && a.Fn == b.Fn && list(a.Args, b.Args)
	case *Ramp:
		b, ok := b.(*Ramp)
		return ok && a.Lanes == b.Lanes && Equal(a.Base, b.Base) && Equal(a.Stride, b.Stride)
	case *Broadcast:
		b, ok := b.(*Broadcast)
		return ok && a.Lanes == b.Lanes && Equal(a.A, b.A)
	}
	return false
}
