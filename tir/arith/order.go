package arith

import (
	"cmp"
	"fmt"
	"math"

	"github.com/texel-ml/texel/tir"
)

// compareAtoms orders terms: by the outermost variable, plain variables first, then by structure.
func (a *Analyzer) compareAtoms(x, y tir.Expr) int {
	if x == y {
		return 0
	}
	if c := cmp.Compare(a.outermost(x), a.outermost(y)); c != 0 {
		return c
	}
	return a.compareTrees(x, y)
}

func (a *Analyzer) outermost(e tir.Expr) int {
	switch n := e.(type) {
	case *tir.Var:
		return a.rank(n)
	case *tir.Int:
		return math.MaxInt
	case *tir.Binary:
		return min(a.outermost(n.A), a.outermost(n.B))
	}
	first := math.MaxInt
	tir.Walk(e, func(n any) bool {
		if v, ok := n.(*tir.Var); ok {
			first = min(first, a.rank(v))
		}
		return true
	})
	return first
}

// compareTrees is a total order of expressions.
func (a *Analyzer) compareTrees(x, y tir.Expr) int {
	if x == y {
		return 0
	}
	if c := cmp.Compare(kindOf(x), kindOf(y)); c != 0 {
		return c
	}
	switch x := x.(type) {
	case *tir.Var:
		return cmp.Compare(a.rank(x), a.rank(y.(*tir.Var)))
	case *tir.Int:
		y := y.(*tir.Int)
		return cmp.Or(cmp.Compare(x.DType, y.DType), cmp.Compare(x.Value, y.Value))
	case *tir.Float:
		y := y.(*tir.Float)
		return cmp.Or(cmp.Compare(x.DType, y.DType), cmp.Compare(math.Float64bits(x.Value), math.Float64bits(y.Value)))
	case *tir.Binary:
		y := y.(*tir.Binary)
		return cmp.Or(cmp.Compare(x.Op, y.Op), a.compareTrees(x.A, y.A), a.compareTrees(x.B, y.B))
	case *tir.Not:
		return a.compareTrees(x.A, y.(*tir.Not).A)
	case *tir.Select:
		y := y.(*tir.Select)
		return cmp.Or(a.compareTrees(x.Cond, y.Cond), a.compareTrees(x.Then, y.Then), a.compareTrees(x.Else, y.Else))
	case *tir.Cast:
		y := y.(*tir.Cast)
		return cmp.Or(cmp.Compare(x.DType, y.DType), a.compareTrees(x.A, y.A))
	case *tir.Load:
		y := y.(*tir.Load)
		return cmp.Or(cmp.Compare(a.bufferRank(x.Buffer), a.bufferRank(y.Buffer)), a.compareLists(x.Indices, y.Indices))
	case *tir.Call:
		y := y.(*tir.Call)
		return cmp.Or(cmp.Compare(x.Fn, y.Fn), a.compareLists(x.Args, y.Args))
	case *tir.Ramp:
		y := y.(*tir.Ramp)
		return cmp.Or(cmp.Compare(x.Lanes, y.Lanes), a.compareTrees(x.Base, y.Base), a.compareTrees(x.Stride, y.Stride))
	case *tir.Broadcast:
		y := y.(*tir.Broadcast)
		return cmp.Or(cmp.Compare(x.Lanes, y.Lanes), a.compareTrees(x.A, y.A))
	}
	panic("arith: unknown expression")
}

func (a *Analyzer) compareLists(x, y []tir.Expr) int {
	if c := cmp.Compare(len(x), len(y)); c != 0 {
		return c
	}
	for i := range x {
		if c := a.compareTrees(x[i], y[i]); c != 0 {
			return c
		}
	}
	return 0
}

func (a *Analyzer) bufferRank(b *tir.Buffer) int {
	n, ok := a.bufs[b]
	if !ok {
		n = len(a.bufs)
		a.bufs[b] = n
	}
	return n
}

func kindOf(e tir.Expr) int {
	switch e.(type) {
	case *tir.Var:
		return 0
	case *tir.Binary:
		return 1
	case *tir.Select:
		return 2
	case *tir.Cast:
		return 3
	case *tir.Load:
		return 4
	case *tir.Call:
		return 5
	case *tir.Not:
		return 6
	case *tir.Ramp:
		return 7
	case *tir.Broadcast:
		return 8
	case *tir.Int:
		return 9
	case *tir.Float:
		return 10
	}
	panic(fmt.Sprintf("arith: unknown expression %T", e))
}
