package arith

import (
	"github.com/texel-ml/texel/tensor"
	"github.com/texel-ml/texel/tir"
)

// vector simplifies a binary on int64 vectors: what is affine in the lane becomes a Ramp or a Broadcast.
func (a *Analyzer) vector(n *tir.Binary) tir.Expr {
	lanes := n.A.Type().Lanes
	if n.Op.IsCompare() {
		if out, ok := a.compareLanes(n, lanes); ok {
			a.hit(laneCompare)
			return &tir.Broadcast{A: out, Lanes: lanes}
		}
		return tir.Bin(n.Op, a.Simplify(n.A), a.Simplify(n.B))
	}
	if base, stride, ok := a.affine(n); ok {
		a.hit(laneAffine)
		if stride == 0 {
			return &tir.Broadcast{A: base, Lanes: lanes}
		}
		return &tir.Ramp{Base: base, Stride: tir.I(int(stride)), Lanes: lanes}
	}
	return tir.Bin(n.Op, a.Simplify(n.A), a.Simplify(n.B))
}

// compareLanes returns the comparison of the first lanes, when all lanes agree.
func (a *Analyzer) compareLanes(n *tir.Binary, lanes int) (tir.Expr, bool) {
	x, sx, okx := a.affine(n.A)
	y, sy, oky := a.affine(n.B)
	if !okx || !oky {
		return nil, false
	}
	equality := n.Op == tir.EQ || n.Op == tir.NE
	if sx == sy && (equality || sx == 0 || a.exactLanes(x, sx, lanes) && a.exactLanes(y, sy, lanes)) {
		return a.Simplify(&tir.Binary{Op: n.Op, A: x, B: y}), true
	}
	if equality || !a.exactLanes(x, sx, lanes) || !a.exactLanes(y, sy, lanes) {
		return nil, false
	}
	endX, endY := tir.I(int(sx*int64(lanes-1))), tir.I(int(sy*int64(lanes-1)))
	first := a.Simplify(&tir.Binary{Op: n.Op, A: x, B: y})
	last := a.Simplify(&tir.Binary{Op: n.Op, A: tir.Plus(x, endX), B: tir.Plus(y, endY)})
	f, okf := tir.AsInt(first)
	l, okl := tir.AsInt(last)
	return first, okf && okl && f == l // monotone in the lane
}

// exactLanes reports whether no lane of base + stride·lane wraps around.
func (a *Analyzer) exactLanes(base tir.Expr, stride int64, lanes int) bool {
	reach, fits := mul(stride, int64(lanes-1))
	l := a.lin(base)
	return fits && a.exact(l) && a.exact(l.shifted(reach))
}

// affine writes an int64 vector as base + stride·lane with a constant stride.
func (a *Analyzer) affine(e tir.Expr) (base tir.Expr, stride int64, ok bool) {
	switch n := e.(type) {
	case *tir.Broadcast:
		return a.Simplify(n.A), 0, true
	case *tir.Ramp:
		stride, ok = tir.AsInt(a.Simplify(n.Stride))
		return a.Simplify(n.Base), stride, ok
	case *tir.Binary:
		if n.A.Type().DType == tensor.Int64 {
			return a.affineBinary(n)
		}
	}
	return nil, 0, false
}

func (a *Analyzer) affineBinary(n *tir.Binary) (base tir.Expr, stride int64, ok bool) {
	x, sx, okx := a.affine(n.A)
	y, sy, oky := a.affine(n.B)
	if !okx || !oky {
		return nil, 0, false
	}
	c, isConst := tir.AsInt(y)
	isConst = isConst && sy == 0
	switch n.Op {
	case tir.Add: // these three keep to ring laws, in which wrapping around does no harm
		return a.Simplify(tir.Plus(x, y)), sx + sy, true
	case tir.Sub:
		return a.Simplify(tir.Minus(x, y)), sx - sy, true
	case tir.Mul:
		if d, ok := tir.AsInt(x); ok && sx == 0 {
			return a.Simplify(tir.Times(x, y)), sy * d, true
		}
		if isConst || sx == 0 && sy == 0 {
			return a.Simplify(tir.Times(x, y)), sx * c, true
		}
	case tir.FloorDiv, tir.FloorMod, tir.Div, tir.Mod:
		lanes := n.A.Type().Lanes
		if !isConst || c <= 0 || !a.exactLanes(x, sx, lanes) {
			return nil, 0, false
		}
		if n.Op == tir.Div || n.Op == tir.Mod { // toward zero is toward minus infinity where nothing is negative
			if lo := a.bounds(a.lin(x)).lo; lo < 0 || addSat(lo, sx*int64(lanes-1)) < 0 {
				return nil, 0, false
			}
		}
		return a.affineDivide(n.Op == tir.FloorDiv || n.Op == tir.Div, x, sx, c, int64(lanes))
	case tir.Min, tir.Max:
		if sx == 0 && sy == 0 {
			return a.Simplify(tir.Bin(n.Op, x, y)), 0, true
		}
	}
	return nil, 0, false
}

// affineDivide divides base + s·lane by c; its lanes are exact.
func (a *Analyzer) affineDivide(quotient bool, base tir.Expr, s, c, lanes int64) (tir.Expr, int64, bool) {
	hit, op := laneMod, tir.FloorMod
	if quotient {
		hit, op = laneDiv, tir.FloorDiv
	}
	out, stride := a.Simplify(&tir.Binary{Op: op, A: base, B: tir.I(int(c))}), int64(0)
	switch {
	case s%c == 0:
		if quotient {
			stride = s / c
		}
	default:
		r := a.bounds(a.lin(&tir.Binary{Op: tir.FloorMod, A: base, B: tir.I(int(c))}))
		reach := s * (lanes - 1)
		if !r.finite() || addSat(r.lo, min(reach, 0)) < 0 || addSat(r.hi, max(reach, 0)) >= c {
			return nil, 0, false
		}
		if !quotient {
			stride = s
		}
	}
	a.hit(hit)
	return out, stride, true
}
