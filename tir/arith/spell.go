package arith

import (
	"fmt"
	"strings"

	"github.com/texel-ml/texel/tir"
)

// spell writes an index expression or a condition for an error, as the text form does.
func spell(e tir.Expr) string { return spellIn(e, 0) }

// binding returns how tightly an operator binds: products before sums before comparisons before and before or.
func binding(op tir.BinaryOp) int {
	switch {
	case op == tir.Or:
		return 1
	case op == tir.And:
		return 2
	case op.IsCompare():
		return 3
	case op == tir.Add || op == tir.Sub:
		return 4
	}
	return 5
}

func spellIn(e tir.Expr, least int) string {
	switch n := e.(type) {
	case *tir.Var:
		return n.Name
	case *tir.Int:
		return fmt.Sprint(n.Value)
	case *tir.Not:
		return "not " + spellIn(n.A, 6)
	case *tir.Select:
		return fmt.Sprintf("select(%s, %s, %s)", spell(n.Cond), spell(n.Then), spell(n.Else))
	case *tir.Cast:
		return fmt.Sprintf("%v(%s)", n.DType, spell(n.A))
	case *tir.Load:
		return n.Buffer.Name + "[" + spellList(n.Indices) + "]"
	case *tir.Call:
		return n.Fn.String() + "(" + spellList(n.Args) + ")"
	case *tir.Binary:
		if n.Op == tir.Min || n.Op == tir.Max {
			return fmt.Sprintf("%v(%s, %s)", n.Op, spell(n.A), spell(n.B))
		}
		b := binding(n.Op)
		out := fmt.Sprintf("%s %v %s", spellIn(n.A, b), n.Op, spellIn(n.B, b+1))
		if b < least {
			return "(" + out + ")"
		}
		return out
	}
	return fmt.Sprintf("%T", e)
}

func spellList(list []tir.Expr) string {
	out := make([]string, len(list))
	for i, e := range list {
		out[i] = spell(e)
	}
	return strings.Join(out, ", ")
}
