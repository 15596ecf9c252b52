package transform

import (
	"context"
	"crypto/sha256"
	"fmt"
	"strings"

	"github.com/texel-ml/texel/relay"
)

// hashed bounds the bytes of constants that are compared: large ones are rarely equal, and hashing them takes time.
const hashed = 64 << 10

// EliminateCommonSubexpressions makes one node of nodes that compute the same: equal operators with equal attributes on
// the same operands, and equal constants.
func EliminateCommonSubexpressions(_ context.Context, m *relay.Module, o *Options) (*relay.Module, error) {
	known := map[string]relay.Expr{}
	number := map[relay.Expr]int{}
	id := func(e relay.Expr) int {
		if _, ok := number[e]; !ok {
			number[e] = len(number)
		}
		return number[e]
	}
	same := func(key string, e relay.Expr) relay.Expr {
		if first, ok := known[key]; ok && relay.TypeEqual(first.Type(), e.Type()) {
			return first
		}
		known[key] = e
		return e
	}
	return rewriteExpr("eliminate-common-subexpressions", m, o, func(r *rewriter, e relay.Expr) (relay.Expr, error) {
		var key strings.Builder
		switch e := e.(type) {
		case *relay.Constant:
			if len(e.Value.Data) > hashed {
				return nil, nil
			}
			fmt.Fprintf(&key, "constant %v %v %x", e.Value.DType, e.Value.Shape, sha256.Sum256(e.Value.Data))
		case *relay.Call:
			if e.Op == nil {
				return nil, nil
			}
			fmt.Fprintf(&key, "call %s %s", e.Op.Name, attrsKey(e.Attrs))
			for _, a := range e.Args {
				fmt.Fprintf(&key, " %d", id(a))
			}
		case *relay.Tuple:
			key.WriteString("tuple")
			for _, f := range e.Fields {
				fmt.Fprintf(&key, " %d", id(f))
			}
		case *relay.TupleGet:
			fmt.Fprintf(&key, "field %d of %d", e.Index, id(e.Tuple))
		default:
			return nil, nil
		}
		to := same(key.String(), e)
		if _, isCall := e.(*relay.Call); isCall && to != e {
			r.note("computes what %s computes", to.Pos().Node)
		}
		return to, nil
	})
}
