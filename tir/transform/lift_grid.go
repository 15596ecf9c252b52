package transform

import (
	"math"

	"github.com/texel-ml/texel/diag"
	"github.com/texel-ml/texel/tir"
)

// LiftGrid makes the outermost parallel loops, as far as they are directly nested and have constant bounds, the grid of
// the kernel. Several loops become one axis in row-major order, and their variables are let:
//
//	parallel n in range(0, 2): parallel h in range(0, 56): S   →   grid g = 112: let n = g//56: let h = g%%56: S
//
// Parallel loops further inside become serial. A loop bound to a grid axis is an error: a processor has no work-items.
// On a GPU nothing is lifted: its loops are bound to grid axes, and a parallel one is an error.
func LiftGrid(k *tir.Kernel, opts Options) (*tir.Kernel, error) {
	if opts.Device == GPU {
		if f := firstLoop(k.Body, tir.Parallel); f != nil {
			return nil, diag.Unsupported("lift-grid", f.Var.Name, "the loop is parallel, and a device with work-groups has no workers; wanted one that is bound to a grid axis")
		}
		return k, nil
	}
	if f := firstLoop(k.Body, tir.Bound); f != nil {
		return nil, diag.Unsupported("lift-grid", f.Var.Name, "the loop is bound to %s, and a processor has no work-items; wanted a parallel loop", f.Thread)
	}
	var loops []*tir.For
	body, total := k.Body, int64(1)
	for {
		f, ok := body.(*tir.For)
		if !ok || f.Kind != tir.Parallel {
			break
		}
		n, constant := tir.AsInt(f.Extent)
		if _, ok := tir.AsInt(f.Min); !ok || !constant || n < 1 || n > math.MaxInt32/total {
			break
		}
		loops, body, total = append(loops, f), f.Body, total*n
	}
	body = (&tir.Mapper{Stmt: func(s tir.Stmt) tir.Stmt {
		if f, ok := s.(*tir.For); ok && f.Kind == tir.Parallel {
			c := *f
			c.Kind = tir.Serial
			return &c
		}
		return s
	}}).MapStmt(body)
	if len(loops) == 0 {
		return withBody(k, body), nil
	}
	c := *k
	c.GridExtent = int(total)
	if len(loops) == 1 && tir.IsConst(loops[0].Min, 0) {
		c.Grid, c.Body = loops[0].Var, body
		return &c, nil
	}
	c.Grid = tir.NewVar("g")
	step := int64(1)
	for i := len(loops) - 1; i >= 0; i-- {
		n, _ := tir.AsInt(loops[i].Extent)
		value := tir.Bin(tir.FloorDiv, c.Grid, tir.I(int(step)))
		if i > 0 {
			value = tir.Bin(tir.FloorMod, value, tir.I(int(n)))
		}
		body = &tir.Let{Var: loops[i].Var, Value: tir.Plus(value, loops[i].Min), Body: body}
		step *= n
	}
	c.Body = body
	return &c, nil
}

// firstLoop returns the first loop of a kind, or nil.
func firstLoop(body tir.Stmt, kind tir.LoopKind) *tir.For {
	var found *tir.For
	tir.Walk(body, func(n any) bool {
		if f, ok := n.(*tir.For); ok && f.Kind == kind && found == nil {
			found = f
		}
		_, isExpr := n.(tir.Expr)
		return found == nil && !isExpr
	})
	return found
}
